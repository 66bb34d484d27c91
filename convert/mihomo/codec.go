package mihomo

import (
	"encoding/base64"
	"encoding/hex"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert/doc"
	f "github.com/sandrone-gateway/sandrone/convert/field"
	"github.com/sandrone-gateway/sandrone/convert/table"
	"github.com/sandrone-gateway/sandrone/convert/value"
)

// Conditions on the node.
var (
	webSocket = func(n *sandrone.Node) bool {
		return is(n, sandrone.TransportWebSocket) || is(n, sandrone.TransportHTTPUpgrade)
	}
	httpUpgrade  = func(n *sandrone.Node) bool { return is(n, sandrone.TransportHTTPUpgrade) }
	grpc         = func(n *sandrone.Node) bool { return is(n, sandrone.TransportGRPC) }
	http2        = func(n *sandrone.Node) bool { return is(n, sandrone.TransportHTTP) }
	xhttp        = func(n *sandrone.Node) bool { return is(n, sandrone.TransportXHTTP) }
	httpHeader   = func(n *sandrone.Node) bool { return is(n, sandrone.TransportTCP) && n.Transport.HeaderType == "http" }
	sessionMux   = func(n *sandrone.Node) bool { return n.Multiplex == nil || n.Multiplex.Protocol != "mux.cool" }
	severalPeers = func(n *sandrone.Node) bool { return n.WireGuard == nil || len(n.WireGuard.Peers) != 1 }
	shadowTLS    = func(n *sandrone.Node) bool { return n.Snell != nil && n.Snell.ShadowTLS != nil }
	plainObfs    = table.Not(shadowTLS)
)

func is(n *sandrone.Node, transport string) bool {
	return n.Transport != nil && n.Transport.Type == transport
}

// udp adds the client's switch where nobody has said anything: a link
// does not say and people expect UDP, while in a file of this client silence
// means off.
var udp = table.Custom([]string{"udp"},
	func(r *table.Reader, i int) bool {
		v, ok := table.Switch.Read(r.Doc, i)
		if ok {
			table.Set(r, f.Dialer.UDPRelay, v)
		}
		return ok
	},
	func(w *table.Writer, key string) bool {
		n := w.Node
		if n.Dialer != nil && n.Dialer.UDPRelay != sandrone.Unset {
			if n.Dialer.UDPRelay == sandrone.On && !carriesUDP(n) {
				return false
			}
			return table.Switch.Write(w.Out, key, n.Dialer.UDPRelay)
		}
		if n.SourceFormat != "mihomo" && n.SourceFormat != "stash" && n.Network != "tcp" && carriesUDP(n) {
			w.Out.AddBool(key, true)
		}
		return false
	}, f.Dialer.UDPRelay.Info).Always()

// carriesUDP: the client refuses the switch on the first two versions of snell.
func carriesUDP(n *sandrone.Node) bool {
	return n.Type != sandrone.Snell || n.Snell != nil && n.Snell.Version > 2
}

// udpAssumed is the same switch on protocols that always carry UDP.
var udpAssumed = table.Custom([]string{"udp"}, func(r *table.Reader, i int) bool {
	v, ok := table.Switch.Read(r.Doc, i)
	return ok && v != sandrone.Off
}, nil)

// transportNames are the client's words as the model names them.
var transportNames = map[string]string{"tcp": "tcp", "ws": "websocket", "httpupgrade": "httpupgrade", "http": "tcp with http headers", "h2": "http", "grpc": "grpc", "xhttp": "xhttp"}

// network is the row of the stream's framing. The client's http is HTTP/1.1
// header obfuscation on a plain stream, its h2 is HTTP/2, and its ws serves
// HTTP upgrade as well.
func network(known ...string) table.Row {
	words := make(map[string]bool)
	var names []string
	for _, w := range known {
		words[w] = true
		names = append(names, transportNames[w])
	}
	return table.Custom([]string{"network"},
		func(r *table.Reader, i int) bool {
			s, ok := r.Doc.Scalar(i)
			if !ok {
				return false
			}
			if s == "" {
				return true
			}
			kind, header, ok := value.Transport(s, true)
			if ok {
				r.Node.Transport = &sandrone.Transport{Type: kind, HeaderType: header}
			}
			return ok
		},
		func(w *table.Writer, key string) bool {
			word := ""
			switch t := w.Node.Transport; t.Type {
			case sandrone.TransportTCP, "":
				word = "tcp"
				if t.HeaderType == "http" {
					word = "http"
				} else if t.HeaderType != "" && t.HeaderType != "none" {
					return false
				}
			case sandrone.TransportWebSocket:
				word = "ws"
			case sandrone.TransportHTTPUpgrade:
				if words["httpupgrade"] {
					w.Out.AddStr(key, "ws")
				}
				return words["httpupgrade"]
			case sandrone.TransportHTTP:
				word = "h2"
			default:
				word = t.Type
			}
			if words[word] && (word != "xhttp" || w.Version.Compare(table.V("1.19")) >= 0) {
				w.Out.AddStr(key, word)
				return true
			}
			return false
		}, f.Transport.Type.Info, f.Transport.HeaderType.Info).Only(strings.Join(names, ", "))
}

var upgrade = table.Custom([]string{"v2ray-http-upgrade"},
	func(r *table.Reader, i int) bool {
		v, ok := table.Flag.Read(r.Doc, i)
		if v {
			r.Node.Transport.Type = sandrone.TransportHTTPUpgrade
		}
		return ok
	},
	func(w *table.Writer, key string) bool {
		if httpUpgrade(w.Node) {
			w.Out.AddBool(key, true)
		}
		return false // the network row has settled the type
	}, f.Transport.Type.Info).Only("httpupgrade")

// wsPath takes early data out of the path. Where both say it, the path wins
// and the key goes to raw.
var wsPath = table.Custom([]string{"path"},
	func(r *table.Reader, i int) bool {
		path, ok := r.Doc.Scalar(i)
		if !ok {
			return false
		}
		rest, n, found := value.EarlyData(path)
		r.Node.Transport.Path = rest
		if found {
			r.Node.Transport.MaxEarlyData = n
			r.Node.Transport.EarlyDataHeaderName = value.EarlyDataHeader
			for _, key := range []string{"max-early-data", "early-data-header-name"} {
				if j, ok := r.Find(key); ok {
					r.Use(j)
					if s, _ := r.Doc.Scalar(j); s != strconv.Itoa(n) && s != value.EarlyDataHeader && s != "" {
						r.Keep(j)
					}
				}
			}
		}
		return true
	},
	func(w *table.Writer, key string) bool {
		w.Out.AddStr(key, w.Node.Transport.Path)
		return true
	}, f.Transport.Path.Info)

// The keys before ws-opts.
var (
	wsPathOld = table.Custom([]string{"ws-path"}, func(r *table.Reader, i int) bool {
		path, ok := r.Doc.Scalar(i)
		return ok && old(r, f.Transport.Path, path)
	}, nil, f.Transport.Path.Info).When(webSocket)
	wsHeadersOld = table.Custom([]string{"ws-headers"}, func(r *table.Reader, i int) bool {
		m, ok := table.Texts.Read(r.Doc, i)
		if !ok {
			return false
		}
		t := r.Node.Transport
		if len(t.Headers) > 0 || t.Host != "" {
			if host(m) != t.Host {
				conflict(r, f.Transport.Headers.Path)
			}
			return true
		}
		takeHeaders(t, m, true)
		return true
	}, nil, f.Transport.Headers.Info).When(webSocket)
)

// old takes an outdated key, unless its successor says something.
func old(r *table.Reader, field f.Field[string], v string) bool {
	if p := field.At(r.Node); p != nil && *p != "" {
		if *p != v {
			conflict(r, field.Path)
		}
		return true
	}
	table.Set(r, field, v)
	return true
}

func conflict(r *table.Reader, path string) {
	r.Warn(sandrone.WarnAliasConflict, path, "two spellings of "+path+" disagree; the modern one comes first")
}

func host(m map[string]string) string {
	for k, v := range m {
		if strings.EqualFold(k, "host") {
			return v
		}
	}
	return ""
}

// takeHeaders spreads a header map over host and headers.
func takeHeaders(t *sandrone.Transport, m map[string]string, keepHost bool) {
	for k, v := range m {
		if strings.EqualFold(k, "host") {
			delete(m, k)
			t.Host = v
		}
	}
	if keepHost && t.Host != "" {
		m["Host"] = t.Host
	}
	if len(m) > 0 {
		t.Headers = m
	}
}

// headersWithHost holds the host among the headers.
func headersWithHost(keys ...string) table.Row {
	return table.Custom(keys,
		func(r *table.Reader, i int) bool {
			m, ok := table.Texts.Read(r.Doc, i)
			if ok && m != nil {
				takeHeaders(r.Node.Transport, m, is(r.Node, sandrone.TransportWebSocket))
			}
			return ok
		},
		func(w *table.Writer, key string) bool {
			t := w.Node.Transport
			at := w.Out.Open(key, doc.Map)
			if t.Host != "" {
				w.Out.AddStr("Host", t.Host)
			}
			addHeaders(w.Out, t)
			if len(*w.Out) == at+1 {
				*w.Out = (*w.Out)[:at]
				return false
			}
			w.Out.Close(at)
			return true
		}, f.Transport.Host.Info, f.Transport.Headers.Info)
}

// headersWithoutHost holds the headers alone; the host has a key of its own.
func headersWithoutHost(keys ...string) table.Row {
	return table.Custom(keys,
		func(r *table.Reader, i int) bool {
			m, ok := table.Texts.Read(r.Doc, i)
			if ok && m != nil {
				r.Node.Transport.Headers = m
			}
			return ok
		},
		func(w *table.Writer, key string) bool {
			at := w.Out.Open(key, doc.Map)
			addHeaders(w.Out, w.Node.Transport)
			w.Out.Close(at)
			return true
		}, f.Transport.Headers.Info)
}

func addHeaders(o *doc.Items, t *sandrone.Transport) {
	at := len(*o)
	if len(t.Headers) == 0 {
		return
	}
	table.Texts.Write(o, "", t.Headers)
	kept := (*o)[at+1:]
	*o = (*o)[:at]
	for _, it := range kept {
		if !strings.EqualFold(it.Key, "host") || t.Host == "" {
			o.Add(it.Key, it.Kind, it.Text)
		}
	}
}

var hosts = table.Custom([]string{"host"},
	func(r *table.Reader, i int) bool {
		list, ok := r.Doc.Strings(i)
		if ok {
			takeHosts(r.Node.Transport, list)
		}
		return ok
	},
	func(w *table.Writer, key string) bool {
		w.Out.AddStrings(key, allHosts(w.Node.Transport))
		return true
	}, f.Transport.Host.Info, f.Transport.Hosts.Info)

func takeHosts(t *sandrone.Transport, list []string) {
	if len(list) > 0 {
		t.Host = list[0]
	}
	if len(list) > 1 {
		t.Hosts = list
	}
}

func allHosts(t *sandrone.Transport) []string {
	if len(t.Hosts) > 0 {
		return t.Hosts
	}
	return []string{t.Host}
}

// firstPath is the path of HTTP header obfuscation, which the client picks
// from a list by chance. The model holds one; a longer list goes to raw too.
var firstPath = table.Custom([]string{"path"},
	func(r *table.Reader, i int) bool {
		list, ok := r.Doc.Strings(i)
		if ok && len(list) > 0 {
			r.Node.Transport.Path = list[0]
		}
		if len(list) > 1 {
			r.Keep(i)
		}
		return ok
	},
	func(w *table.Writer, key string) bool {
		w.Out.AddStrings(key, []string{w.Node.Transport.Path})
		return true
	}, f.Transport.Path.Info)

// firstHeaders are its headers, whose values are lists as well.
var firstHeaders = table.Custom([]string{"headers"},
	func(r *table.Reader, i int) bool {
		if r.Doc[i].Kind != doc.Map {
			return false
		}
		t, m, longer := r.Node.Transport, map[string]string{}, false
		for j := i + 1; j < r.Doc.Next(i); j = r.Doc.Next(j) {
			list, ok := r.Doc.Strings(j)
			if !ok {
				return false
			}
			if len(list) == 0 {
				continue
			}
			if strings.EqualFold(r.Doc[j].Key, "host") {
				takeHosts(t, list)
				continue
			}
			longer = longer || len(list) > 1
			m[r.Doc[j].Key] = list[0]
		}
		if len(m) > 0 {
			t.Headers = m
		}
		if longer {
			r.Keep(i)
		}
		return true
	},
	func(w *table.Writer, key string) bool {
		t := w.Node.Transport
		at := w.Out.Open(key, doc.Map)
		if list := allHosts(t); list[0] != "" {
			w.Out.AddStrings("Host", list)
		}
		var flat doc.Items
		addHeaders(&flat, t)
		for _, it := range flat {
			w.Out.AddStrings(it.Key, []string{it.Text})
		}
		if len(*w.Out) == at+1 {
			*w.Out = (*w.Out)[:at]
			return false
		}
		w.Out.Close(at)
		return true
	}, f.Transport.Host.Info, f.Transport.Hosts.Info, f.Transport.Headers.Info)

var grpcMode = table.Mapped([2]string{"gun", ""}, [2]string{"multi", "multi"})

// packetEncoding has a key of its own and two older switches.
var (
	packetEncoding = table.Custom([]string{"packet-encoding"},
		func(r *table.Reader, i int) bool {
			s, ok := r.Doc.Scalar(i)
			table.Set(r, f.PacketEncoding, packetWords(s))
			return ok
		},
		func(w *table.Writer, key string) bool {
			w.Out.AddStr(key, w.Node.PacketEncoding)
			return true
		}, f.PacketEncoding.Info)
	xudp       = packetSwitch("xudp", "xudp")
	packetAddr = packetSwitch("packet-addr", "packetaddr")
)

func packetWords(s string) string {
	if s = strings.ToLower(s); s == "packet" || s == "packet-addr" {
		return "packetaddr"
	}
	return s
}

func packetSwitch(key, means string) table.Row {
	return table.Custom([]string{key}, func(r *table.Reader, i int) bool {
		on, ok := table.Flag.Read(r.Doc, i)
		if on && r.Node.PacketEncoding == "" {
			r.Node.PacketEncoding = means
		}
		return ok
	}, nil, f.PacketEncoding.Info)
}

// encryption leaves the usual none out: the client assumes it. Of the other
// values it refuses those that do not begin like the one method that there is;
// its keys are for the client to judge.
var encryption = table.Codec[string]{Read: table.Text.Read, Only: "none, mlkem768x25519plus", Write: func(o *doc.Items, key, v string) bool {
	if v == "none" {
		return true
	}
	if !encryptionMethod.MatchString(v) {
		return false
	}
	o.AddStr(key, v)
	return true
}}

var encryptionMethod = regexp.MustCompile(`^mlkem768x25519plus\.(native|xorpub|random)\.(1rtt|0rtt)\.[A-Za-z0-9._-]+$`)

// plugin is the SIP003 plugin under the client's name of it.
var plugin = table.KeyAs(f.Plugin, table.Codec[string]{
	Read: func(d doc.Items, i int) (string, bool) {
		s, ok := d.Scalar(i)
		return value.Plugin(s), ok
	},
	Write: plugins.Write,
	Only:  plugins.Only,
}, "plugin")

var plugins = table.Among("obfs", "v2ray-plugin", "gost-plugin", "shadow-tls", "restls", "kcptun")

// pluginFits leaves a node out whose plugin options the client refuses.
var pluginFits = table.Refuse(f.PluginOptions.Info, func(n *sandrone.Node) string {
	mode, _ := n.PluginOptions["mode"].(string)
	switch n.Plugin {
	case "obfs":
		if mode != "http" && mode != "tls" {
			return "the mode of obfs is http or tls"
		}
	case "v2ray-plugin", "gost-plugin":
		if mode != "" && mode != "websocket" {
			return "the plugin knows websocket only"
		}
	case "shadow-tls":
		if s, _ := n.PluginOptions["host"].(string); s == "" {
			return "shadow-tls needs a host"
		}
	case "restls":
		if s, _ := n.PluginOptions["version-hint"].(string); s != "tls12" && s != "tls13" {
			return "the version hint of restls is tls12 or tls13"
		}
	}
	return ""
}).Only("what the client takes of each plugin")

// pluginOptions are its options. The client's mux is a switch, ours a number.
var pluginOptions = table.Custom([]string{"plugin-opts"},
	func(r *table.Reader, i int) bool {
		m, ok := table.OptionMap.Read(r.Doc, i)
		if mux, isBool := m["mux"].(bool); isBool {
			m["mux"] = 0
			if mux {
				m["mux"] = 1
			}
		}
		if m != nil {
			r.Node.PluginOptions = m
		}
		return ok
	},
	func(w *table.Writer, key string) bool {
		n := w.Node
		if _, unread := n.PluginOptions["raw"]; unread {
			return false
		}
		at := w.Out.Open(key, doc.Map)
		if _, ok := n.PluginOptions["mode"]; !ok && (n.Plugin == "v2ray-plugin" || n.Plugin == "gost-plugin") {
			w.Out.AddStr("mode", "websocket") // what the plugin itself assumes
		}
		for _, k := range slices.Sorted(maps.Keys(n.PluginOptions)) {
			v := n.PluginOptions[k]
			switch {
			case k == "mux":
				if mux, ok := v.(int); ok {
					v = mux > 0
					if mux > 1 {
						w.Lose(f.PluginOptions.Info)
					}
				}
			case k == "client-fingerprint" && n.Plugin == "shadow-tls":
				continue
			}
			table.AddOption(w.Out, k, v)
		}
		w.Out.Close(at)
		return true
	}, f.PluginOptions.Info)

// pluginHello is the uTLS profile of a ShadowTLS node, which this client keeps
// beside the plugin.
var pluginHello = table.Custom([]string{"client-fingerprint"},
	func(r *table.Reader, i int) bool {
		s, ok := r.Doc.Scalar(i)
		if !ok || r.Node.Plugin != "shadow-tls" {
			return false
		}
		if r.Node.PluginOptions == nil {
			r.Node.PluginOptions = make(map[string]any)
		}
		r.Node.PluginOptions["client-fingerprint"] = strings.ToLower(s)
		return true
	},
	func(w *table.Writer, key string) bool {
		if s, ok := w.Node.PluginOptions["client-fingerprint"].(string); ok && w.Node.Plugin == "shadow-tls" {
			w.Out.AddStr(key, s)
		}
		return false // the options row has settled the field
	}, f.PluginOptions.Info)

// The keys before plugin.
var (
	obfsOld = table.Custom([]string{"obfs"}, func(r *table.Reader, i int) bool {
		return oldObfs(r, i, "mode")
	}, nil, f.Plugin.Info)
	obfsHostOld = table.Custom([]string{"obfs-host"}, func(r *table.Reader, i int) bool {
		return oldObfs(r, i, "host")
	}, nil, f.PluginOptions.Info)
)

func oldObfs(r *table.Reader, i int, option string) bool {
	s, ok := r.Doc.Scalar(i)
	if !ok || s == "" || r.Node.Plugin != "" && r.Node.Plugin != "obfs" {
		return ok && s == ""
	}
	r.Node.Plugin = "obfs"
	if r.Node.PluginOptions == nil {
		r.Node.PluginOptions = make(map[string]any)
	}
	if _, said := r.Node.PluginOptions[option]; !said {
		r.Node.PluginOptions[option] = s
	}
	return true
}

// Words the client takes. A word of another list would make it refuse the file.
var (
	ssCiphers = append([][2]string{{"none", "none"}, {"none", "plain"}}, same("aes-128-gcm", "aes-192-gcm", "aes-256-gcm", "aes-128-ccm", "aes-192-ccm", "aes-256-ccm",
		"aes-128-gcm-siv", "aes-256-gcm-siv", "chacha20-ietf-poly1305", "xchacha20-ietf-poly1305", "chacha8-ietf-poly1305", "xchacha8-ietf-poly1305",
		"2022-blake3-aes-128-gcm", "2022-blake3-aes-256-gcm", "2022-blake3-chacha20-poly1305",
		"aes-128-ctr", "aes-192-ctr", "aes-256-ctr", "aes-128-cfb", "aes-192-cfb", "aes-256-cfb",
		"lea-128-gcm", "lea-192-gcm", "lea-256-gcm", "rabbit128-poly1305", "aegis-128l", "aegis-256", "aez-384", "deoxys-ii-256-128",
		"chacha20-ietf", "chacha20", "xchacha20", "rc4-md5")...)
	trojanCiphers = []string{"aes-128-gcm", "aes-192-gcm", "aes-256-gcm", "chacha20-ietf-poly1305", "xchacha20-ietf-poly1305"}
	ssrCiphers    = append([][2]string{{"dummy", "none"}}, same("aes-128-cfb", "aes-192-cfb", "aes-256-cfb", "aes-128-ctr", "aes-192-ctr", "aes-256-ctr",
		"rc4-md5", "chacha20-ietf", "chacha20", "xchacha20", "none")...)
	ssrProtocols = []string{"origin", "auth_sha1_v4", "auth_aes128_md5", "auth_aes128_sha1", "auth_chain_a", "auth_chain_b"}
	ssrObfs      = []string{"plain", "http_simple", "http_post", "random_head", "tls1.2_ticket_auth", "tls1.2_ticket_fastauth"}
)

// ciphers writes the words that the client knows and reads any: what this
// client refuses, another one may take.
func ciphers(known [][2]string) table.Codec[string] {
	c := table.Mapped(known...)
	read := c.Read
	c.Read = func(d doc.Items, i int) (string, bool) {
		if s, ok := read(d, i); ok {
			return s, true
		}
		return table.Lower.Read(d, i)
	}
	return c
}

func same(words ...string) (pairs [][2]string) {
	for _, w := range words {
		pairs = append(pairs, [2]string{w, w})
	}
	return pairs
}

// pin is a certificate pin. The client refuses one that is not 32 bytes.
var pin = table.Codec[string]{Read: table.Text.Read, Only: "SHA-256 in hex", Write: func(o *doc.Items, key, v string) bool {
	b, err := hex.DecodeString(strings.ReplaceAll(v, ":", ""))
	if err != nil || len(b) != 32 {
		return false
	}
	o.AddStr(key, v)
	return true
}}

// certificate is PEM text, or the path of a file below the client's folder.
var certificate = table.Codec[string]{Read: table.Text.Read, Only: "PEM, or a path below the client's folder", Write: func(o *doc.Items, key, v string) bool {
	if !value.IsPEM(v) && (path.IsAbs(v) || !filepath.IsLocal(v)) {
		return false
	}
	o.AddStr(key, v)
	return true
}}

// short64 is text that the client refuses beyond 64 bytes.
var short64 = table.Codec[string]{Read: table.Text.Read, Only: "at most 64 bytes", Write: func(o *doc.Items, key, v string) bool {
	if len(v) > 64 {
		return false
	}
	o.AddStr(key, v)
	return true
}}

// uotVersion is 1 or 2; the client refuses others.
var uotVersion = table.Codec[int]{Read: table.Whole.Read, Only: "1, 2", Write: func(o *doc.Items, key string, v int) bool {
	if v != 1 && v != 2 {
		return false
	}
	o.AddInt(key, v)
	return true
}}

// trafficPattern is base64 text.
var trafficPattern = table.Codec[string]{Read: table.Text.Read, Only: "base64", Write: func(o *doc.Items, key, v string) bool {
	if _, err := base64.StdEncoding.DecodeString(v); err != nil {
		return false
	}
	o.AddStr(key, v)
	return true
}}

// echConfig is one base64 text for the client, a list of lines for the model.
var echConfig = table.Codec[[]string]{
	Only: "one list in base64",
	Read: table.Words.Read,
	Write: func(o *doc.Items, key string, v []string) bool {
		if len(v) != 1 {
			return false
		}
		b, ok := value.Base64(v[0])
		if !ok {
			return false
		}
		o.AddStr(key, base64.StdEncoding.EncodeToString(b)) // the only spelling that the client reads
		return true
	},
}

// mbps is a rate of the brutal options.
var mbps = table.Codec[int]{
	Read: func(d doc.Items, i int) (int, bool) {
		s, ok := d.Scalar(i)
		if !ok {
			return 0, false
		}
		r, ok := value.ParseRate(s)
		return r.Mbps, ok && r.Text == ""
	},
	Write: func(o *doc.Items, key string, v int) bool {
		o.AddStr(key, strconv.Itoa(v)+" Mbps")
		return true
	},
}

// rate is one direction of a hysteria rate.
func rate(key string, whole f.Field[int], other f.Field[string]) table.Row {
	return table.Custom([]string{key},
		func(r *table.Reader, i int) bool {
			s, ok := r.Doc.Scalar(i)
			if !ok {
				return false
			}
			if s == "" {
				return true
			}
			v, ok := value.ParseRate(s)
			if ok {
				table.Set(r, whole, v.Mbps)
				table.Set(r, other, v.Text)
			}
			return ok
		},
		func(w *table.Writer, key string) bool {
			if p := whole.At(w.Node); *p > 0 {
				w.Out.AddStr(key, strconv.Itoa(*p)+" Mbps")
				return true
			}
			w.Out.AddStr(key, *other.At(w.Node))
			return true
		}, whole.Info, other.Info)
}

// bothRates: the client does not start without them.
var bothRates = table.Refuse(f.Hysteria.UpMbps.Info, func(n *sandrone.Node) string {
	if h := n.Hysteria; h == nil || h.UpMbps == 0 && h.Up == "" || h.DownMbps == 0 && h.Down == "" {
		return "the client needs a rate for both directions"
	}
	return ""
}).Only("with a rate for both directions")

// portSet is the set of hopping ports. Without a single port the first of the
// set is the node's.
var portSet = table.Custom([]string{"ports", "server-ports"},
	func(r *table.Reader, i int) bool {
		list, ok := r.Doc.Strings(i)
		if !ok {
			return false
		}
		ports, ok := value.Ports(strings.Join(list, ","))
		if !ok {
			return false
		}
		if len(ports) == 0 {
			return true
		}
		table.Set(r, f.Hysteria.ServerPorts, ports)
		if r.Node.Port == 0 {
			r.Node.Port = value.FirstPort(ports)
		}
		return true
	},
	func(w *table.Writer, key string) bool {
		w.Out.AddStr(key, strings.Join(w.Node.Hysteria.ServerPorts, ","))
		return true
	}, f.Hysteria.ServerPorts.Info)

// hopInterval is a number of seconds or a range of them; hopSeconds knows
// numbers only.
var (
	hopInterval = table.KeyAs(f.Hysteria.HopInterval, hop(true), "hop-interval")
	hopSeconds  = table.KeyAs(f.Hysteria.HopInterval, hop(false), "hop-interval")
)

func hop(ranges bool) table.Codec[string] {
	only := "whole seconds"
	if ranges {
		only = "whole seconds and ranges of them"
	}
	return table.Codec[string]{
		Only: only,
		Read: func(d doc.Items, i int) (string, bool) {
			s, ok := d.Scalar(i)
			if !ok || s == "" {
				return "", ok
			}
			return value.HopInterval(s)
		},
		Write: func(o *doc.Items, key, v string) bool {
			if n, err := strconv.Atoi(v); err == nil {
				o.AddInt(key, n)
				return true
			}
			if !ranges || strings.Trim(v, "0123456789-") != "" {
				return false
			}
			o.AddStr(key, v)
			return true
		},
	}
}

// obfsPassword is the one obfuscation of hysteria 1; the client has its
// password only.
var obfsPassword = table.Custom([]string{"obfs"},
	func(r *table.Reader, i int) bool {
		s, ok := r.Doc.Scalar(i)
		if ok && s != "" {
			table.Set(r, f.Hysteria.Obfs, "xplus")
			table.Set(r, f.Hysteria.ObfsPassword, s)
		}
		return ok
	},
	func(w *table.Writer, key string) bool {
		h := w.Node.Hysteria
		if h.Obfs != "" && h.Obfs != "xplus" {
			return false
		}
		w.Out.AddStr(key, h.ObfsPassword)
		return true
	}, f.Hysteria.Obfs.Info, f.Hysteria.ObfsPassword.Info)

var quicV1 = rows(
	number(f.Hysteria.RecvWindowConn, "recv-window-conn", "recv_window_conn"),
	number(f.Hysteria.RecvWindow, "recv-window", "recv_window"),
	flag(f.Hysteria.DisableMTUDiscovery, "disable-mtu-discovery", "disable_mtu_discovery"),
)

// zeroRTT: the client has one switch for what the model has two names for.
var zeroRTT = table.Derived(func(w *table.Writer, _ string) bool {
	t := w.Node.TUIC
	if t.ZeroRTTHandshake && !t.ReduceRTT {
		w.Out.AddBool("reduce-rtt", true)
	}
	return true
}, f.TUIC.ZeroRTT.Info).Only("as reduce-rtt")

var congestion = table.Codec[string]{
	Read: func(d doc.Items, i int) (string, bool) {
		s, ok := d.Scalar(i)
		return strings.ReplaceAll(strings.ToLower(s), "-", "_"), ok
	},
	Write: congestions.Write,
	Only:  congestions.Only,
}

var congestions = table.Among("cubic", "new_reno", "bbr")

// milliseconds and seconds are durations as numbers.
var (
	milliseconds = table.Durations(time.Millisecond)
	seconds      = table.Durations(time.Second)
)

// address is spread over one key a family.
var address = rows(
	table.Custom([]string{"ip"}, takeAddress, writeAddress(false), f.WireGuard.Address.Info),
	table.Custom([]string{"ipv6"}, takeAddress, writeAddress(true), f.WireGuard.Address.Info),
	table.Custom([]string{"address"}, takeAddress, nil, f.WireGuard.Address.Info),
	table.Refuse(f.WireGuard.Address.Info, func(n *sandrone.Node) string {
		if four, six := families(n); len(four) > 1 || len(six) > 1 {
			return "it takes one address of each family"
		}
		return ""
	}).Only("one of each family"),
)

func takeAddress(r *table.Reader, i int) bool {
	list, ok := table.Comma.Read(r.Doc, i)
	if ok && len(list) > 0 {
		p := f.WireGuard.Address.Make(r.Node)
		*p = append(*p, list...)
	}
	return ok
}

func families(n *sandrone.Node) (four, six []string) {
	if n.WireGuard == nil {
		return nil, nil
	}
	for _, a := range n.WireGuard.Address {
		if strings.Contains(a, ":") {
			six = append(six, a)
		} else {
			four = append(four, a)
		}
	}
	return four, six
}

func writeAddress(six bool) table.WriteFunc {
	return func(w *table.Writer, key string) bool {
		list, other := families(w.Node)
		if six {
			list, other = other, list
		}
		if len(list) == 0 {
			return len(other) > 0
		}
		w.Out.AddStr(key, strings.TrimSuffix(strings.TrimSuffix(list[0], "/128"), "/32"))
		return true
	}
}

// onePeer writes the peer's rows beside the others when there is one peer.
func onePeer(list ...table.Row) []table.Row {
	one := func(n *sandrone.Node) bool { return n.WireGuard == nil || len(n.WireGuard.Peers) <= 1 }
	for i := range list {
		list[i] = list[i].When(one).Unless("peers")
	}
	return list
}

var (
	// peerEndpoint: the one peer is where the node is.
	peerEndpoint = table.Derived(func(w *table.Writer, _ string) bool {
		p := w.Node.WireGuard.Peers[0]
		return p.Server == w.Node.Server && p.Port == w.Node.Port
	}, f.Peer.Server.Info, f.Peer.Port.Info).When(singlePeer).Only("the endpoint of the node")

	// peerKeepalive: the client has one for all.
	peerKeepalive = table.Derived(func(w *table.Writer, _ string) bool {
		o := w.Node.WireGuard
		keep := o.Peers[0].PersistentKeepalive
		if o.PersistentKeepalive == 0 {
			w.Out.AddInt("persistent-keepalive", keep)
			return true
		}
		return o.PersistentKeepalive == keep
	}, f.Peer.PersistentKeepalive.Info).When(singlePeer).Only("one peer, as persistent-keepalive")

	// reservedByPeers: the normaliser has copied it to every peer.
	reservedByPeers = table.Derived(func(w *table.Writer, _ string) bool {
		return len(w.Node.WireGuard.Peers) > 0
	}, f.WireGuard.Reserved.Info)
)

// everywhere is where a peer of several leads that does not say: the client
// wants it said.
var everywhere = table.Custom([]string{"allowed-ips"}, nil, func(w *table.Writer, key string) bool {
	if p := f.Peer.AllowedIPs.At(w.Node); p == nil || len(*p) == 0 {
		w.Out.AddStrings(key, []string{"0.0.0.0/0", "::/0"})
	}
	return false
}).Always()

func singlePeer(n *sandrone.Node) bool { return n.WireGuard != nil && len(n.WireGuard.Peers) == 1 }

// portRange is two ports, the first one not above the second.
var portRange = table.Codec[string]{Read: table.Text.Read, Only: "A-B", Write: func(o *doc.Items, key, v string) bool {
	if _, _, ok := value.PortItem(v); !ok || !strings.Contains(v, "-") || strings.Trim(v, "-0123456789") != "" {
		return false
	}
	o.AddStr(key, v)
	return true
}}

var upper = table.Codec[string]{
	Read: func(d doc.Items, i int) (string, bool) {
		s, ok := d.Scalar(i)
		return strings.ToUpper(s), ok
	},
	Write: table.Text.Write,
}

// oneOf is a word of a closed list with a common beginning, in upper case.
func oneOf(prefix string, words ...string) table.Codec[string] {
	for i, w := range words {
		words[i] = prefix + w
	}
	known := table.Among(words...)
	return table.Codec[string]{Read: upper.Read, Write: known.Write, Only: known.Only}
}

var snellVersion = table.Codec[int]{
	Only: "1 to 5",
	Read: table.Whole.Read,
	Write: func(o *doc.Items, key string, v int) bool {
		if v < 1 || v > 5 {
			return false
		}
		o.AddInt(key, v)
		return true
	},
}

// snellMode is the obfuscation, or the word for a ShadowTLS wrapper.
var snellMode = table.Custom([]string{"mode"},
	func(r *table.Reader, i int) bool {
		s, ok := r.Doc.Scalar(i)
		if !ok {
			return false
		}
		if s == "shadow-tls" {
			if r.Node.Snell == nil {
				r.Node.Snell = new(sandrone.SnellOptions)
			}
			r.Node.Snell.ShadowTLS = new(sandrone.ShadowTLS)
			return true
		}
		table.Set(r, f.Snell.Obfs, strings.ToLower(s))
		return true
	},
	func(w *table.Writer, key string) bool {
		if w.Node.Snell.ShadowTLS != nil {
			w.Out.AddStr(key, "shadow-tls")
			return true
		}
		if w.Node.Snell.Obfs != "http" && w.Node.Snell.Obfs != "tls" {
			return false
		}
		w.Out.AddStr(key, w.Node.Snell.Obfs)
		return true
	}, f.Snell.Obfs.Info, f.Snell.ShadowTLS.Host.Info).Only("http, tls")

// serverIsName: a server name that is the server's own needs no key.
var serverIsName = table.Derived(func(w *table.Writer, _ string) bool {
	return w.Node.TLS.ServerName == w.Node.Server
}, f.TLS.ServerName.Info).Only("the server's own name")

// pem is a private key: the client wants PEM or the path of a file.
var pem = table.Codec[string]{
	Only: "PEM, also in base64",
	Read: table.Text.Read,
	Write: func(o *doc.Items, key, v string) bool {
		text, _, ok := value.PrivateKey(v)
		if ok {
			o.AddStr(key, text)
		}
		return ok
	},
}

// pairFits leaves out a client certificate that is not its key's: the client
// opens both when it reads the file.
var pairFits = table.Refuse(f.TLS.Certificate.Info, func(n *sandrone.Node) string {
	if t := n.TLS; t != nil && t.Enabled && t.Certificate != "" && !value.CertificatePair(t.Certificate, t.PrivateKey) {
		return "the certificate and the key do not belong together"
	}
	return ""
}).Only("PEM with its key, or paths below the client's folder")

// realmFits: the client meets a server through a realm or hops ports, not both.
var realmFits = table.Refuse(f.Hysteria.RealmEnabled.Info, func(n *sandrone.Node) string {
	if h := n.Hysteria; h != nil && h.Realm != nil && h.Realm.Enabled && len(h.ServerPorts) > 0 {
		return "a realm and port hopping exclude each other"
	}
	return ""
}).Only("without port hopping")
