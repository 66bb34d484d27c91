package singbox

import (
	cryptotls "crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	sshkey "golang.org/x/crypto/ssh"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert/doc"
	f "github.com/sandrone-gateway/sandrone/convert/field"
	"github.com/sandrone-gateway/sandrone/convert/table"
	"github.com/sandrone-gateway/sandrone/convert/value"
)

// The client refuses a whole file for one value that it does not take, so what
// is known to be refused counts as not expressible.

// Conditions on the node.
var (
	bare        = table.Not(wrapped)
	webSocket   = func(n *sandrone.Node) bool { return is(n, sandrone.TransportWebSocket) }
	httpUpgrade = func(n *sandrone.Node) bool { return is(n, sandrone.TransportHTTPUpgrade) }
	http2       = func(n *sandrone.Node) bool { return is(n, sandrone.TransportHTTP) }
	grpc        = func(n *sandrone.Node) bool { return is(n, sandrone.TransportGRPC) }
	pinged      = func(n *sandrone.Node) bool { return http2(n) || grpc(n) }
	overQUIC    = func(n *sandrone.Node) bool { return is(n, sandrone.TransportQUIC) }
	framed      = func(n *sandrone.Node) bool {
		return webSocket(n) || httpUpgrade(n) || http2(n) || grpc(n) || overQUIC(n)
	}

	addressed = func(n *sandrone.Node) bool { return bare(n) || tlsOn(n) }
	tlsOn     = func(n *sandrone.Node) bool { return n.TLS != nil && n.TLS.Enabled }
	ownRoots  = func(n *sandrone.Node) bool { return n.TLS != nil && n.TLS.CA == "" && n.TLS.CAPath == "" }

	// Over QUIC the client does not imitate a browser.
	reality = func(n *sandrone.Node) bool {
		return n.TLS != nil && n.TLS.Reality != nil && n.TLS.Reality.Enabled && !overQUIC(n)
	}

	// ECH and REALITY exclude each other; a configuration that cannot be
	// written would make the client ask DNS for another one.
	echUsable = func(n *sandrone.Node) bool {
		if n.TLS == nil || n.TLS.ECH == nil || !n.TLS.ECH.Enabled || n.TLS.Reality != nil && n.TLS.Reality.Enabled {
			return false
		}
		_, ok := echBase64(n.TLS.ECH.Config)
		return ok || len(n.TLS.ECH.Config) == 0
	}

	// A server of mux.cool would not understand what the client calls
	// multiplex.
	sessions = func(n *sandrone.Node) bool {
		return n.Multiplex != nil && n.Multiplex.Enabled && slices.Contains([]string{"", "h2mux", "smux", "yamux"}, n.Multiplex.Protocol)
	}
	brutal = func(n *sandrone.Node) bool {
		if n.Multiplex == nil || n.Multiplex.Brutal == nil {
			return false
		}
		b := n.Multiplex.Brutal
		return b.UpMbps > 0 && b.DownMbps > 0
	}

	datagrams = func(n *sandrone.Node) bool { return n.TUIC == nil || !n.TUIC.UDPOverStream }
	unchained = func(n *sandrone.Node) bool { return n.Dialer == nil || n.Dialer.Proxy == "" }
	snell4    = func(n *sandrone.Node) bool { return n.Snell == nil || n.Snell.Version != 6 }
	onePeer   = func(n *sandrone.Node) bool { return n.WireGuard == nil || len(n.WireGuard.Peers) <= 1 }
)

func is(n *sandrone.Node, transport string) bool {
	return n.Transport != nil && n.Transport.Type == transport
}

// take reads an item into a field.
func take[T any](to f.Field[T], c table.Codec[T]) table.ReadFunc {
	return func(r *table.Reader, i int) bool {
		v, ok := c.Read(r.Doc, i)
		if ok {
			table.Set(r, to, v)
		}
		return ok
	}
}

// text makes a codec that reads any text and writes what form accepts; only
// says what that is.
func text(only string, form func(v string) (string, bool)) table.Codec[string] {
	return table.Codec[string]{
		Only: only,
		Read: table.Text.Read,
		Write: func(o *doc.Items, key, v string) bool {
			s, ok := form(v)
			if ok {
				o.AddStr(key, s)
			}
			return ok
		},
	}
}

// list makes a codec that reads any list and writes it when form accepts every
// item.
func list(only string, form func(v string) (string, bool)) table.Codec[[]string] {
	return table.Codec[[]string]{
		Only: only,
		Read: table.Words.Read,
		Write: func(o *doc.Items, key string, v []string) bool {
			i := o.Open(key, doc.List)
			for _, s := range v {
				s, ok := form(s)
				if !ok {
					*o = (*o)[:i]
					return false
				}
				o.AddStr("", s)
			}
			o.Close(i)
			return true
		},
	}
}

// whole makes a codec for whole numbers from 0 to most.
func whole(most int) table.Codec[int] {
	return table.Codec[int]{
		Only: "0 to " + strconv.Itoa(most),
		Read: table.Whole.Read,
		Write: func(o *doc.Items, key string, v int) bool {
			if v < 0 || v > most {
				return false
			}
			o.AddInt(key, v)
			return true
		},
	}
}

var (
	size       = whole(math.MaxUint32)
	portNumber = whole(math.MaxUint16)

	// mark is a number, or hexadecimal text.
	mark = table.Codec[int]{
		Only: size.Only,
		Read: func(d doc.Items, i int) (int, bool) {
			s, ok := d.Scalar(i)
			if !ok || s == "" {
				return 0, ok
			}
			n, err := strconv.ParseUint(s, 0, 32)
			return int(n), err == nil
		},
		Write: size.Write,
	}

	duration = table.Codec[string]{
		Only: "durations",
		Read: func(d doc.Items, i int) (string, bool) {
			s, ok := d.Scalar(i)
			if !ok || s == "" {
				return "", ok
			}
			return value.Duration(s, time.Second)
		},
		Write: text("", func(v string) (string, bool) { return value.Duration(v, time.Second) }).Write,
	}

	// path is one that the client can take apart: it refuses escapes that are
	// none.
	path = text("text without a percent sign that escapes nothing", func(v string) (string, bool) {
		for i := 0; i < len(v); i++ {
			if v[i] == '%' && (i+2 >= len(v) || !hexDigit(v[i+1]) || !hexDigit(v[i+2])) {
				return "", false
			}
		}
		return v, true
	})
)

func hexDigit(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

// strategies are the client's words for address families.
var strategies = map[string]string{
	"ipv4": "ipv4_only", "ipv6": "ipv6_only", "ipv4-prefer": "prefer_ipv4", "ipv6-prefer": "prefer_ipv6",
}

var strategy = table.Codec[string]{
	Only: "ipv4, ipv6, ipv4-prefer, ipv6-prefer",
	Read: func(d doc.Items, i int) (string, bool) {
		s, ok := d.Scalar(i)
		if !ok || s == "" {
			return "", ok
		}
		return value.IPVersion(s)
	},
	Write: text("", func(v string) (string, bool) {
		s, ok := strategies[v]
		return s, ok
	}).Write,
}

// resolverStrategy is the family that belongs to a resolver. The resolver
// itself is kept in raw; without it the client refuses the object.
var resolverStrategy = table.Custom([]string{"strategy"},
	func(r *table.Reader, i int) bool {
		v, ok := strategy.Read(r.Doc, i)
		if !ok || v == "" {
			return ok
		}
		if d := r.Node.Dialer; d != nil && d.IPVersion != "" && d.IPVersion != v {
			path := f.Dialer.IPVersion.Path
			r.Warn(sandrone.WarnAliasConflict, path, "two spellings of "+path+" disagree; domain_resolver comes first")
		}
		table.Set(r, f.Dialer.IPVersion, v)
		return true
	},
	func(w *table.Writer, key string) bool {
		return w.WritesRaw(rawPrefix+"domain_resolver.server") && strategy.Write(w.Out, key, w.Node.Dialer.IPVersion)
	}, f.Dialer.IPVersion.Info).Only("with the domain_resolver that it came with")

// method is the cipher of Shadowsocks, from the client's own list.
var method = table.KeyAs(f.Cipher, table.Codec[string]{
	Only: strings.Join(methods, ", "),
	Read: table.Lower.Read,
	Write: text("", func(v string) (string, bool) {
		if v == "plain" {
			return "none", true
		}
		return v, slices.Contains(methods, v)
	}).Write,
}, "method")

var methods = []string{
	"none", "aes-128-gcm", "aes-192-gcm", "aes-256-gcm", "chacha20-ietf-poly1305", "xchacha20-ietf-poly1305",
	"2022-blake3-aes-128-gcm", "2022-blake3-aes-256-gcm", "2022-blake3-chacha20-poly1305",
	"aes-128-ctr", "aes-192-ctr", "aes-256-ctr", "aes-128-cfb", "aes-192-cfb", "aes-256-cfb",
	"rc4-md5", "chacha20-ietf", "xchacha20",
}

// plugin is the SIP003 plugin with its text. The client knows two of them and
// some of their options; ShadowTLS is an outbound of its own.
var plugin = table.Custom([]string{"plugin"},
	func(r *table.Reader, i int) bool {
		name, ok := r.Doc.Scalar(i)
		if !ok || name == "" {
			return ok
		}
		name = value.Plugin(name)
		if name == value.PluginShadowTLS {
			return false
		}
		r.Node.Plugin = name
		if j, found := r.Find("plugin_opts"); found {
			text, ok := r.Doc.Scalar(j)
			if !ok {
				return true
			}
			r.Use(j)
			if r.Node.PluginOptions, ok = value.PluginOptions(name, text); !ok {
				r.Warn(sandrone.WarnUnknownField, f.PluginOptions.Path, "kept in raw: "+f.PluginOptions.Path)
			}
		}
		return true
	},
	func(w *table.Writer, key string) bool {
		n := w.Node
		if !pluginKnown(n.Plugin, n.PluginOptions) {
			return false
		}
		text, ok := value.PluginText(n.Plugin, n.PluginOptions)
		if !ok {
			return false
		}
		name := n.Plugin
		if name == value.PluginObfs {
			name = "obfs-local"
		}
		w.Out.AddStr(key, name)
		if text != "" {
			w.Out.AddStr("plugin_opts", text)
		}
		return true
	}, f.Plugin.Info, f.PluginOptions.Info).WriteWhen(bare).Only(plugins)

const plugins = "obfs, v2ray-plugin over websocket or quic, and shadow-tls, without options that the client lacks"

func pluginKnown(name string, options map[string]any) bool {
	var known []string
	switch mode, _ := options["mode"].(string); name {
	case value.PluginObfs:
		if mode != "http" && mode != "tls" {
			return false
		}
		known = []string{"mode", "host", "path"}
	case value.PluginV2Ray:
		if tls, _ := options["tls"].(bool); mode != "" && mode != "websocket" && (mode != "quic" || !tls) {
			return false
		}
		if path, _ := options["path"].(string); !isPath(path) {
			return false
		}
		known = []string{"mode", "host", "path", "tls", "mux", "headers"}
	default:
		return false
	}
	for key := range options {
		if !slices.Contains(known, key) {
			return false
		}
	}
	return true
}

// isPath reports whether the client, which parses paths as addresses, takes
// one.
func isPath(s string) bool {
	_, err := url.Parse(s)
	return err == nil
}

// network is tcp, udp, or a list of both, which is the same as none. A node
// that relays no UDP is one for tcp.
var network = rows(
	table.Custom([]string{"network"}, readNetwork, nil, f.Network.Info),
	table.Custom([]string{"network"}, nil, writeNetwork, f.Network.Info, f.Dialer.UDPRelay.Info),
	table.Limited("what network says", f.Dialer.UDPRelay.Info),
)

func readNetwork(r *table.Reader, i int) bool {
	list, ok := r.Doc.Strings(i)
	switch {
	case !ok:
		return false
	case len(list) == 1 && (list[0] == "tcp" || list[0] == "udp"):
		r.Node.Network = list[0]
		return true
	}
	return len(list) == 0 || len(list) == 1 && list[0] == "" || len(list) == 2 && slices.Contains(list, "tcp") && slices.Contains(list, "udp")
}

func writeNetwork(w *table.Writer, key string) bool {
	n := w.Node
	relay := sandrone.Unset
	if n.Dialer != nil {
		relay = n.Dialer.UDPRelay
	}
	network := n.Network
	if network == "" && relay == sandrone.Off {
		network = "tcp"
	}
	if network != "" {
		w.Out.AddStr(key, network)
		w.Done(f.Network.Info)
	}
	if relay == sandrone.TriOf(network != "tcp") {
		w.Done(f.Dialer.UDPRelay.Info)
	}
	return false // each of the two is settled by itself
}

// udpOverTCP is a switch, or an object where the version matters.
var udpOverTCP = table.Custom([]string{"udp_over_tcp"},
	func(r *table.Reader, i int) bool {
		on, version := i, -1
		if r.Doc[i].Kind == doc.Map {
			on, version = r.Doc.Find(i, "enabled"), r.Doc.Find(i, "version")
		}
		var u sandrone.UDPOverTCP
		ok := true
		if on >= 0 {
			u.Enabled, ok = table.Flag.Read(r.Doc, on)
		}
		if ok && version >= 0 {
			u.Version, ok = table.Whole.Read(r.Doc, version)
		}
		if ok && u.Enabled {
			r.Node.UDPOverTCP = &u
		}
		return ok
	},
	func(w *table.Writer, key string) bool {
		u := w.Node.UDPOverTCP
		if !u.Enabled {
			return false
		}
		w.Done(f.UDPOverTCP.Enabled.Info)
		if u.Version != 1 && u.Version != 2 {
			w.Out.AddBool(key, true)
			return u.Version == 0
		}
		at := w.Out.Open(key, doc.Map)
		w.Out.AddBool("enabled", true)
		w.Out.AddInt("version", u.Version)
		w.Out.Close(at)
		return true
	}, f.UDPOverTCP.Enabled.Info, f.UDPOverTCP.Version.Info)

// packetEncoding: the client's word for none is the empty one, which is not the
// same as silence: VLESS has another default.
var packetEncoding = table.Codec[string]{
	Only: "xudp, packetaddr, none",
	Read: func(d doc.Items, i int) (string, bool) {
		s, ok := d.Scalar(i)
		if ok && s == "" && d[i].Kind == doc.Str {
			return "none", true
		}
		return strings.ToLower(s), ok
	},
	Write: text("", func(v string) (string, bool) {
		if v == "none" {
			return "", true
		}
		return v, v == "xudp" || v == "packetaddr"
	}).Write,
}

// Values of the TLS layer.
var (
	suites = list("suites that the client names", func(v string) (string, bool) { return v, slices.Contains(cipherSuites, v) })
	curves = table.Codec[[]string]{
		Only: "CurveP256, CurveP384, CurveP521, X25519, X25519MLKEM768",
		Read: func(d doc.Items, i int) ([]string, bool) {
			list, ok := d.Strings(i)
			for k, s := range list {
				if len(s) == 4 && s[0] == 'P' {
					list[k] = "Curve" + s
				}
			}
			return list, ok
		},
		Write: list("", func(v string) (string, bool) {
			v = strings.TrimPrefix(v, "Curve")
			return v, slices.Contains([]string{"P256", "P384", "P521", "X25519", "X25519MLKEM768"}, v)
		}).Write,
	}

	keyPins = list("32 bytes in base64, without a trust anchor", func(v string) (string, bool) {
		b, ok := value.Base64(v)
		return base64.StdEncoding.EncodeToString(b), ok && len(b) == 32
	})

	// authority is a chain of certificates, as lines.
	authority = table.Codec[string]{
		Only: "certificates in PEM",
		Read: readLines,
		Write: func(o *doc.Items, key, v string) bool {
			if !x509.NewCertPool().AppendCertsFromPEM([]byte(v)) {
				return false
			}
			addLines(o, key, v)
			return true
		},
	}

	echConfig = table.Codec[[]string]{
		Only: "base64 or PEM",
		Read: func(d doc.Items, i int) ([]string, bool) {
			list, ok := d.Strings(i)
			if !ok || len(list) == 0 {
				return nil, ok
			}
			s, ok := echBase64(list)
			return []string{s}, ok
		},
		Write: func(o *doc.Items, key string, v []string) bool {
			s, ok := echBase64(v)
			if ok {
				o.AddStrings(key, []string{"-----BEGIN ECH CONFIGS-----", s, "-----END ECH CONFIGS-----"})
			}
			return ok
		},
	}
)

var cipherSuites = []string{
	"TLS_RSA_WITH_AES_128_CBC_SHA", "TLS_RSA_WITH_AES_256_CBC_SHA", "TLS_RSA_WITH_AES_128_GCM_SHA256", "TLS_RSA_WITH_AES_256_GCM_SHA384",
	"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256",
	"TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA", "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA",
	"TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA",
	"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
	"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
	"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
}

// echBase64 is the ECHConfigList of lines that are PEM or plain base64.
func echBase64(lines []string) (string, bool) {
	var body strings.Builder
	for _, text := range lines {
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); !strings.HasPrefix(line, "-----") {
				body.WriteString(line)
			}
		}
	}
	b, ok := value.Base64(body.String())
	if !ok || len(b) == 0 {
		return "", false
	}
	return base64.StdEncoding.EncodeToString(b), true
}

// readLines joins the lines of a PEM text.
func readLines(d doc.Items, i int) (string, bool) {
	list, ok := d.Strings(i)
	return strings.Join(list, "\n"), ok
}

func addLines(o *doc.Items, key, s string) {
	i := o.Open(key, doc.List)
	for line := range strings.Lines(s) {
		o.AddStr("", strings.TrimRight(line, "\r\n"))
	}
	o.Close(i)
}

func isPEM(s string) bool { return strings.Contains(s, "-----BEGIN ") }

// pair is the client certificate with its key, each PEM or the path of a file.
// The client knows both since 1.13.
func pair(certificate, key f.Field[string]) []table.Row {
	read := func(to f.Field[string]) table.ReadFunc {
		return func(r *table.Reader, i int) bool {
			s, ok := readLines(r.Doc, i)
			if p := to.At(r.Node); ok && s != "" && p != nil && *p != "" {
				return false // said already
			}
			if ok {
				table.Set(r, to, s)
			}
			return ok
		}
	}
	write := func(w *table.Writer, _ string) bool {
		c, k := *certificate.At(w.Node), *key.At(w.Node)
		if c == "" || k == "" {
			return false
		}
		if isPEM(c) && isPEM(k) {
			if _, err := cryptotls.X509KeyPair([]byte(c), []byte(k)); err != nil {
				return false
			}
		}
		for _, part := range [...]struct{ key, text string }{{"client_certificate", c}, {"client_key", k}} {
			if isPEM(part.text) {
				addLines(w.Out, part.key, part.text)
			} else {
				w.Out.AddStr(part.key+"_path", part.text)
			}
		}
		return true
	}
	return rows(
		table.Custom([]string{"client_certificate"}, read(certificate), write, certificate.Info, key.Info).Since("1.13").Only("a certificate and its key in PEM, or paths"),
		table.Custom([]string{"client_key"}, read(key), nil, key.Info),
		table.Custom([]string{"client_certificate_path"}, read(certificate), nil, certificate.Info),
		table.Custom([]string{"client_key_path"}, read(key), nil, key.Info),
	)
}

// hello is the imitated hello of the TLS layer. The client wants one with
// REALITY.
var hello = helloOf(f.TLS.ClientFingerprint, reality).WriteWhen(table.Not(overQUIC))

// helloOf is the object that holds the profile of an imitated hello. A switch
// that is off says nothing; one that is on without a profile means chrome.
func helloOf(to f.Field[string], must table.Cond) table.Row {
	return in("utls",
		table.Custom([]string{"enabled"}, readHello(to), func(w *table.Writer, key string) bool {
			profile := ""
			if p := to.At(w.Node); p != nil {
				profile = *p
			}
			if profile == "" && must(w.Node) {
				profile = "chrome"
			}
			if !knownHello(profile) {
				return false
			}
			w.Out.AddBool(key, true)
			w.Out.AddStr("fingerprint", profile)
			return true
		}, to.Info).Always().Only("profiles that the client knows, over TCP"),
		table.Ignore("fingerprint"),
	).Always()
}

// helloRead is [helloOf] for a protocol that is written without.
var helloRead = in("utls",
	table.Custom([]string{"enabled"}, readHello(f.TLS.ClientFingerprint), nil, f.TLS.ClientFingerprint.Info),
	table.Ignore("fingerprint"),
)

func readHello(to f.Field[string]) table.ReadFunc {
	return func(r *table.Reader, i int) bool {
		on, ok := table.Flag.Read(r.Doc, i)
		if !on {
			return ok
		}
		profile := "chrome"
		if j, found := r.Find("fingerprint"); found {
			if s, ok := r.Doc.Scalar(j); ok && s != "" {
				profile = strings.ToLower(s)
			}
		}
		table.Set(r, to, profile)
		return true
	}
}

func knownHello(profile string) bool { return slices.Contains(value.ClientFingerprints, profile) }

// needsTLS: the client starts these protocols inside TLS only.
var needsTLS = table.Refuse(f.TLS.Enabled.Info, func(n *sandrone.Node) string {
	if tlsOn(n) {
		return ""
	}
	return "the client needs TLS"
})

// transportType is the word for the framing. An entry with another one would
// be a node that reaches nothing.
var transportType = table.Custom([]string{"type"},
	func(r *table.Reader, i int) bool {
		s, ok := r.Doc.Scalar(i)
		if ok && s == "" {
			return true
		}
		kind, _, ok := value.Transport(s, false)
		if !ok || kind == sandrone.TransportXHTTP || kind == sandrone.TransportKCP {
			r.Fail(f.Transport.Type.Info, "unknown transport")
			return true
		}
		r.Node.Transport = &sandrone.Transport{Type: kind}
		return true
	},
	func(w *table.Writer, key string) bool {
		word := w.Node.Transport.Type
		if word == sandrone.TransportWebSocket {
			word = "ws"
		}
		w.Out.AddStr(key, word)
		return true
	}, f.Transport.Type.Info).Only(framings)

const framings = "tcp, websocket, http, httpupgrade, grpc, quic"

var quicNeedsTLS = table.Refuse(f.TLS.Enabled.Info, func(n *sandrone.Node) string {
	if overQUIC(n) && !tlsOn(n) {
		return "the client needs TLS for the quic transport"
	}
	return ""
})

var hostList = table.Custom([]string{"host"},
	func(r *table.Reader, i int) bool {
		list, ok := r.Doc.Strings(i)
		if ok && len(list) > 0 {
			r.Node.Transport.Host = list[0]
		}
		if ok && len(list) > 1 {
			r.Node.Transport.Hosts = list
		}
		return ok
	},
	func(w *table.Writer, key string) bool {
		t := w.Node.Transport
		hosts := t.Hosts
		if len(hosts) == 0 {
			hosts = []string{t.Host}
		}
		w.Out.AddStrings(key, hosts)
		return true
	}, f.Transport.Host.Info, f.Transport.Hosts.Info)

// earlyPath takes the size of early data out of a path. Where the keys for it
// disagree, the path wins and they go to raw.
var earlyPath = table.Custom([]string{"path"},
	func(r *table.Reader, i int) bool {
		path, ok := r.Doc.Scalar(i)
		if !ok {
			return false
		}
		t := r.Node.Transport
		rest, n, found := value.EarlyData(path)
		t.Path = rest
		if !found {
			return true
		}
		t.MaxEarlyData, t.EarlyDataHeaderName = n, value.EarlyDataHeader
		for _, key := range [...]string{"max_early_data", "early_data_header_name"} {
			if j, ok := r.Find(key); ok {
				r.Use(j)
				if s, _ := r.Doc.Scalar(j); s != "" && s != "0" && s != strconv.Itoa(n) && s != value.EarlyDataHeader {
					r.Keep(j)
				}
			}
		}
		return true
	},
	func(w *table.Writer, key string) bool { return path.Write(w.Out, key, w.Node.Transport.Path) }, f.Transport.Path.Info).Only(path.Only)

var headers = table.Key(f.Transport.Headers, "headers")

// headersWithHost holds the host among the headers.
var headersWithHost = table.Custom([]string{"headers"}, take(f.Transport.Headers, table.Texts),
	func(w *table.Writer, key string) bool {
		t := w.Node.Transport
		i := w.Out.Open(key, doc.Map)
		if t.Host != "" {
			w.Out.AddStr("Host", t.Host)
		}
		var others doc.Items
		if len(t.Headers) > 1 || t.Headers["Host"] != t.Host {
			table.Texts.Write(&others, "", t.Headers)
		}
		for k := 1; k < len(others); k++ {
			if t.Host == "" || !strings.EqualFold(others[k].Key, "Host") {
				w.Out.AddStr(others[k].Key, others[k].Text)
			}
		}
		if len(*w.Out) == i+1 {
			*w.Out = (*w.Out)[:i]
			return false
		}
		w.Out.Close(i)
		return true
	}, f.Transport.Host.Info, f.Transport.Headers.Info)

// rate is one direction of a hysteria rate: Mbit/s, or text with a unit. A
// number under the key without a unit is bytes a second. The client's reader
// does not know bits a second, though its documentation names them.
func rate(key string, mbps f.Field[int], other f.Field[string]) table.Row {
	return table.Custom([]string{key, key + "_mbps"},
		func(r *table.Reader, i int) bool {
			s, ok := r.Doc.Scalar(i)
			if !ok {
				return false
			}
			if s == "" || s == "0" {
				return true
			}
			var v value.Rate
			switch {
			case r.Doc[i].Key != key:
				v, ok = value.ParseRate(s)
				ok = ok && v.Bare
			case r.Doc[i].Kind == doc.Num:
				n, err := strconv.ParseUint(s, 10, 64)
				if err != nil {
					return false
				}
				v, ok = value.RateOfBytes(n)
			default:
				v, ok = value.ParseRate(s)
				ok = ok && !v.Bare
			}
			if ok {
				table.Set(r, mbps, v.Mbps)
				table.Set(r, other, v.Text)
			}
			return ok
		},
		func(w *table.Writer, _ string) bool {
			if n := *mbps.At(w.Node); n > 0 {
				w.Out.AddInt(key+"_mbps", n)
				return true
			}
			s, ok := rateText(*other.At(w.Node))
			if ok {
				w.Out.AddStr(key, s)
			}
			return ok
		}, mbps.Info, other.Info).Only("whole bytes a second")
}

func rateText(s string) (string, bool) {
	bits, ok := value.RateBits(0, s)
	if !ok {
		return "", false
	}
	if strings.HasSuffix(s, " bps") {
		return strconv.FormatUint(bits/8, 10) + " Bps", bits%8 == 0
	}
	return s, true
}

// bothRates: the client does not start without them, nor with one that is
// slower than 16 KiB a second.
var bothRates = table.Refuse(f.Hysteria.UpMbps.Info, func(n *sandrone.Node) string {
	h := n.Hysteria
	if h == nil {
		return "the client needs a rate for both directions"
	}
	for _, r := range [...]struct {
		mbps int
		text string
	}{{h.UpMbps, h.Up}, {h.DownMbps, h.Down}} {
		bits, ok := value.RateBits(r.mbps, r.text)
		if !ok {
			return "the client needs a rate for both directions"
		}
		if bits < 8*16384 {
			return "a rate below 16 KiB a second"
		}
		if _, ok := rateText(r.text); r.mbps <= 0 && !ok {
			return "a rate of no whole number of bytes a second"
		}
	}
	return ""
})

// obfsPassword is all that the client says of the obfuscation of version 1.
var obfsPassword = table.Custom([]string{"obfs"},
	func(r *table.Reader, i int) bool {
		s, ok := r.Doc.Scalar(i)
		if ok && s != "" {
			table.Set(r, f.Hysteria.Obfs, "xplus")
			table.Set(r, f.Hysteria.ObfsPassword, s)
		}
		return ok
	}, nil, f.Hysteria.Obfs.Info, f.Hysteria.ObfsPassword.Info)

// obfuscated reports whether a node has an obfuscation for its password; the
// client refuses the password alone.
func obfuscated(n *sandrone.Node) bool { return n.Hysteria != nil && n.Hysteria.Obfs != "" }

var obfsWritten = key(f.Hysteria.ObfsPassword, "obfs").WriteOnly()

// xplus is the one mode of version 1 and goes without saying.
var xplus = table.Derived(func(w *table.Writer, _ string) bool {
	return w.Node.Hysteria.Obfs == "xplus" && w.Node.Hysteria.ObfsPassword != ""
}, f.Hysteria.Obfs.Info).Only("xplus")

// portSet is the set of hopping ports. Without a single port the first of the
// set is the node's.
var portSet = table.Custom([]string{"server_ports"},
	func(r *table.Reader, i int) bool {
		list, ok := r.Doc.Strings(i)
		if !ok || len(list) == 0 {
			return ok
		}
		ports, ok := value.Ports(strings.Join(list, ","))
		if !ok {
			return false
		}
		table.Set(r, f.Hysteria.ServerPorts, ports)
		if r.Node.Port == 0 {
			r.Node.Port = value.FirstPort(ports)
		}
		return true
	},
	func(w *table.Writer, key string) bool {
		i := w.Out.Open(key, doc.List)
		for _, item := range w.Node.Hysteria.ServerPorts {
			w.Out.AddStr("", value.ColonRange(item))
		}
		w.Out.Close(i)
		return true
	}, f.Hysteria.ServerPorts.Info)

// The interval of port hopping. Since 1.14 version 2 picks one from a range.
var (
	hopInterval = hop(false)
	hopRange    = hop(true)
	hopRangeEnd = table.Custom([]string{"hop_interval_max"}, func(r *table.Reader, i int) bool {
		s, ok := r.Doc.Scalar(i)
		if !ok || r.Node.Hysteria == nil || r.Node.Hysteria.HopInterval == "" {
			return false
		}
		interval, ok := value.HopInterval(r.Node.Hysteria.HopInterval + "-" + s)
		if ok {
			r.Node.Hysteria.HopInterval = interval
		}
		return ok
	}, nil, f.Hysteria.HopInterval.Info)
)

func hop(ranges bool) table.Row {
	row := table.Custom([]string{"hop_interval"},
		func(r *table.Reader, i int) bool {
			s, ok := r.Doc.Scalar(i)
			if !ok || s == "" {
				return ok
			}
			interval, ok := value.HopInterval(s)
			if ok {
				table.Set(r, f.Hysteria.HopInterval, interval)
			}
			return ok
		},
		func(w *table.Writer, key string) bool {
			from, to, isRange := strings.Cut(w.Node.Hysteria.HopInterval, "-")
			low, ok := seconds(from)
			if !ok {
				return false
			}
			high := ""
			if isRange {
				if !ranges || w.Version.Compare(table.V("1.14")) < 0 {
					return false
				}
				if high, ok = seconds(to); !ok {
					return false
				}
			}
			w.Out.AddStr(key, low)
			if isRange {
				w.Out.AddStr(key+"_max", high)
			}
			return true
		}, f.Hysteria.HopInterval.Info)
	return row.Only("a number; in version 2 a range too, since 1.14")
}

// seconds spells a number of seconds, or a duration, as a duration.
func seconds(s string) (string, bool) {
	d, ok := value.ParseDuration(s, time.Second)
	if !ok || d == 0 {
		return "", false
	}
	if d%time.Second == 0 {
		return strconv.FormatInt(int64(d/time.Second), 10) + "s", true
	}
	return d.String(), true
}

// reduceRTT is the other name that the model has for what the client has one
// switch for.
var reduceRTT = table.Derived(func(w *table.Writer, _ string) bool {
	if !w.Wrote("zero_rtt_handshake") {
		w.Out.AddBool("zero_rtt_handshake", true)
	}
	return true
}, f.TUIC.ReduceRTT.Info).Only("as zero_rtt_handshake")

// socksVersion: the model has version 5 only.
var socksVersion = table.Custom([]string{"version"}, func(r *table.Reader, i int) bool {
	s, ok := r.Doc.Scalar(i)
	return ok && s == "5"
}, nil)

// privateKey is PEM for the client, with its passphrase; a node may hold base64
// of it. The client refuses a passphrase for a key that needs none.
var privateKey = rows(
	table.Custom([]string{"private_key"}, take(f.SSH.PrivateKey, table.Codec[string]{Read: readLines}),
		func(w *table.Writer, key string) bool {
			s := w.Node.SSH
			if s.PrivateKey != "" {
				pem, encrypted, ok := privatePEM(s.PrivateKey)
				if !ok || encrypted && s.PrivateKeyPassphrase == "" {
					return false
				}
				w.Out.AddStr(key, pem)
				if !encrypted {
					return true
				}
			}
			w.Out.AddStr(key+"_passphrase", s.PrivateKeyPassphrase)
			return true
		}, f.SSH.PrivateKey.Info, f.SSH.PrivateKeyPassphrase.Info).Only("keys in PEM, with the passphrase that they need"),
	key(f.SSH.PrivateKeyPassphrase, "private_key_passphrase").ReadOnly(),
	key(f.SSH.PrivateKeyPath, "private_key_path"),
)

func privatePEM(s string) (pem string, encrypted, ok bool) {
	if !isPEM(s) {
		if s, ok = value.Base64Text(s); !ok {
			return "", false, false
		}
	}
	_, err := sshkey.ParseRawPrivateKey([]byte(s))
	_, encrypted = errors.AsType[*sshkey.PassphraseMissingError](err)
	return s, encrypted, err == nil || encrypted
}

var hostKeys = list("keys of OpenSSH", func(v string) (string, bool) {
	_, _, _, _, err := sshkey.ParseAuthorizedKey([]byte(v))
	return v, err == nil
})

// naiveUDP: UDP goes through TCP, or not at all.
var naiveUDP = table.Derived(func(w *table.Writer, _ string) bool {
	u := w.Node.UDPOverTCP
	return w.Node.Dialer.UDPRelay == sandrone.TriOf(u != nil && u.Enabled)
}, f.Dialer.UDPRelay.Info).Only("what udp_over_tcp says")

// snellVersion: version 5 speaks as version 4 does, apart from a mode that the
// client leaves out.
var snellVersion = table.Custom([]string{"version"},
	take(f.Snell.Version, table.Whole),
	func(w *table.Writer, key string) bool {
		version := 1
		if s := w.Node.Snell; s != nil && s.Version != 0 {
			version = s.Version
		}
		switch version {
		case 4, 5:
			version = 4
		case 6:
		default:
			w.Refuse(f.Snell.Version.Info, strconv.Itoa(version))
			return false
		}
		w.Out.AddInt(key, version)
		return true
	}, f.Snell.Version.Info).Always().Only("4, 5 as 4, and 6")

// snellKey: version 6 takes keys from 12 to 255 bytes.
var snellKey = table.Custom([]string{"psk"},
	take(f.Password, table.Text),
	func(w *table.Writer, key string) bool {
		n := len(w.Node.Password)
		if !snell4(w.Node) && (n < 12 || n > 255) {
			return false
		}
		w.Out.AddStr(key, w.Node.Password)
		return true
	}, f.Password.Info).Only("12 to 255 bytes in version 6")

var snellObfs = table.KeyAs(f.Snell.Obfs, table.Codec[string]{
	Read: func(d doc.Items, i int) (string, bool) {
		s, ok := d.Scalar(i)
		if s == "none" {
			s = ""
		}
		return s, ok
	},
	Write: table.Among("http").Write,
}, "obfs_mode").Only("http")

// snellNetwork: a node for tcp alone is one that relays no UDP.
var snellNetwork = table.Custom([]string{"network"},
	func(r *table.Reader, i int) bool {
		list, ok := r.Doc.Strings(i)
		if ok && len(list) == 1 && list[0] == "tcp" {
			table.Set(r, f.Dialer.UDPRelay, sandrone.Off)
			return true
		}
		return ok && len(list) != 1
	},
	func(w *table.Writer, key string) bool {
		if w.Node.Dialer.UDPRelay == sandrone.Off {
			w.Out.AddStr(key, "tcp")
		}
		return true
	}, f.Dialer.UDPRelay.Info)

// legacyEndpoint is the address of the one peer in outbounds from before 1.11.
// In an endpoint the peers have addresses, and the node's own is one of them.
var legacyEndpoint = rows(
	key(f.Server, "server").ReadOnly(),
	table.Port("server_port").ReadOnly(),
	table.Derived(func(w *table.Writer, _ string) bool {
		g := w.Node.WireGuard
		return g != nil && slices.ContainsFunc(g.Peers, func(p sandrone.WireGuardPeer) bool { return p.Server != "" })
	}, f.Server.Info, f.Port.Info).Only("those of the peers"),
)

// legacyPeer are the other keys of that peer.
var legacyPeer = rows(
	key(f.Peer.PublicKey, "peer_public_key").ReadOnly().When(onePeer),
	key(f.Peer.PreSharedKey, "pre_shared_key").ReadOnly().When(onePeer),
	table.Key(f.WireGuard.Reserved, "reserved").ReadOnly(),
)

// prefixes are addresses with their lengths.
var prefixes = list("addresses", value.CIDR)

// The rows of a peer see one peer at a time beside the options of the
// interface, which count for every peer that has none of its own.
var (
	allowedIPs = table.Custom([]string{"allowed_ips"},
		take(f.Peer.AllowedIPs, table.Words),
		func(w *table.Writer, key string) bool {
			ips := w.Node.WireGuard.Peers[0].AllowedIPs
			if len(ips) == 0 {
				ips = []string{"0.0.0.0/0", "::/0"}
			}
			if !prefixes.Write(w.Out, key, ips) {
				w.Refuse(f.Peer.AllowedIPs.Info, "it has an address that is none")
			}
			return true
		}, f.Peer.AllowedIPs.Info).Always().Only(prefixes.Only)

	keepalive = table.Custom([]string{"persistent_keepalive_interval"},
		take(f.Peer.PersistentKeepalive, table.Whole),
		func(w *table.Writer, key string) bool {
			g := w.Node.WireGuard
			v := g.Peers[0].PersistentKeepalive
			if v == 0 {
				v = g.PersistentKeepalive
			}
			return portNumber.Write(w.Out, key, v)
		}, f.Peer.PersistentKeepalive.Info, f.WireGuard.PersistentKeepalive.Info).Only(portNumber.Only)

	reserved = table.Custom([]string{"reserved"},
		take(f.Peer.Reserved, table.Bytes),
		func(w *table.Writer, key string) bool {
			g := w.Node.WireGuard
			v := g.Peers[0].Reserved
			if len(v) == 0 {
				v = g.Reserved
			}
			return len(v) == 3 && table.Bytes.Write(w.Out, key, v)
		}, f.Peer.Reserved.Info, f.WireGuard.Reserved.Info).Only("three bytes")
)
