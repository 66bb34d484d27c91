package uri

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert/doc"
	f "github.com/sandrone-gateway/sandrone/convert/field"
	"github.com/sandrone-gateway/sandrone/convert/table"
	"github.com/sandrone-gateway/sandrone/convert/value"
)

// How links spell single values, and the rows that no codec fits.

// one writes a switch that is on as 1.
var one = table.Codec[bool]{
	Read: table.Flag.Read,
	Write: func(o *doc.Items, key string, v bool) bool {
		if v {
			o.AddStr(key, "1")
		}
		return v
	},
}

// tri writes a stated switch as 1 or 0, word as true or false.
var (
	tri  = triAs("1", "0")
	word = triAs("true", "false")
)

func triAs(on, off string) table.Codec[sandrone.Tri] {
	return table.Codec[sandrone.Tri]{
		Read: func(d doc.Items, i int) (sandrone.Tri, bool) {
			if d[i].Text == "" {
				return sandrone.Unset, true
			}
			return table.Switch.Read(d, i)
		},
		Write: func(o *doc.Items, key string, v sandrone.Tri) bool {
			b, stated := v.Bool()
			switch {
			case b:
				o.AddStr(key, on)
			case stated:
				o.AddStr(key, off)
			}
			return stated
		},
	}
}

// list reads every way in which links write lists, and writes commas.
var list = table.Codec[[]string]{
	Read: func(d doc.Items, i int) ([]string, bool) {
		if d[i].Kind == doc.List {
			return d.Strings(i)
		}
		s, ok := d.Scalar(i)
		return value.List(s), ok
	},
	Write: table.Comma.Write,
}

var fingerprint = table.Codec[string]{
	Read: func(d doc.Items, i int) (string, bool) {
		s, ok := d.Scalar(i)
		return value.ClientFingerprint(s), ok
	},
	Write: table.Text.Write,
}

var noneIsEmpty = table.Codec[string]{
	Read: func(d doc.Items, i int) (string, bool) {
		s, ok := table.Lower.Read(d, i)
		if s == "none" {
			s = ""
		}
		return s, ok
	},
	Write: table.Text.Write,
}

var congestion = table.Codec[string]{
	Read: func(d doc.Items, i int) (string, bool) {
		s, ok := table.Lower.Read(d, i)
		return strings.ReplaceAll(s, "-", "_"), ok
	},
	Write: table.Text.Write,
}

// seconds and milliseconds are durations whose bare numbers have that unit.
var (
	seconds      = table.Durations(time.Second)
	milliseconds = table.Durations(time.Millisecond)
)

var reserved = table.Codec[[]int]{
	Read: table.Bytes.Read,
	Write: func(o *doc.Items, key string, v []int) bool {
		text := make([]string, len(v))
		for i, n := range v {
			text[i] = strconv.Itoa(n)
		}
		return table.Comma.Write(o, key, text)
	},
}

var shadowTLSVersion = table.Codec[int]{
	Read: func(d doc.Items, i int) (int, bool) {
		s, ok := d.Scalar(i)
		if !ok || s == "" {
			return 0, ok
		}
		return value.ShadowTLSVersion(s)
	},
	Write: table.Whole.Write,
}

// Conditions on the node.

func hasTransport(n *sandrone.Node, kind string) bool {
	return n.Transport != nil && n.Transport.Type == kind
}

func grpc(n *sandrone.Node) bool  { return hasTransport(n, sandrone.TransportGRPC) }
func kcp(n *sandrone.Node) bool   { return hasTransport(n, sandrone.TransportKCP) }
func quic(n *sandrone.Node) bool  { return hasTransport(n, sandrone.TransportQUIC) }
func xhttp(n *sandrone.Node) bool { return hasTransport(n, sandrone.TransportXHTTP) }
func ws(n *sandrone.Node) bool    { return hasTransport(n, sandrone.TransportWebSocket) }

func takesEarlyData(n *sandrone.Node) bool {
	return ws(n) || hasTransport(n, sandrone.TransportHTTPUpgrade)
}

func httpHeader(n *sandrone.Node) bool {
	t := n.Transport
	return t != nil && (t.Type == sandrone.TransportTCP || t.Type == "") && t.HeaderType == "http"
}

// framed reports whether the stream is anything but plain TCP, whose host and
// path mean nothing.
func framed(n *sandrone.Node) bool {
	t := n.Transport
	return t != nil && (t.Type != sandrone.TransportTCP && t.Type != "" || t.HeaderType == "http")
}

// hasPath reports whether the transport has a path of its own.
func hasPath(n *sandrone.Node) bool {
	return framed(n) && !grpc(n) && !kcp(n) && !quic(n)
}

func hasReality(n *sandrone.Node) bool {
	return n.TLS != nil && n.TLS.Reality != nil && n.TLS.Reality.Enabled
}

func downloadReality(n *sandrone.Node) bool {
	if n.Transport == nil {
		return false
	}
	d := n.Transport.XHTTP
	if d == nil || d.DownloadSettings == nil || d.DownloadSettings.TLS == nil {
		return false
	}
	r := d.DownloadSettings.TLS.Reality
	return r != nil && r.Enabled
}

// security is the row that says whether there is TLS, and whether it is
// REALITY. Links of protocols that are always in TLS need it for REALITY only.
func security(optional bool) table.Row {
	row := table.Custom([]string{"security", "tls"}, readSecurity,
		func(w *table.Writer, key string) bool {
			switch {
			case hasReality(w.Node):
				w.Out.AddStr(key, "reality")
			case !optional && w.Node.Type != sandrone.Trojan:
				return false
			case w.Node.Type == sandrone.Trojan || w.Node.TLS != nil && w.Node.TLS.Enabled:
				w.Out.AddStr(key, "tls")
			default:
				w.Out.AddStr(key, "none")
			}
			return true
		}, f.TLS.Enabled.Info, f.TLS.RealityEnabled.Info)
	if optional {
		return row.Always()
	}
	return row
}

// readSecurity takes the word for TLS, REALITY or neither.
func readSecurity(r *table.Reader, i int) bool {
	s, ok := r.Doc.Scalar(i)
	if !ok {
		return false
	}
	on, isReality, ok := securityWord(s)
	if isReality {
		table.Set(r, f.TLS.RealityEnabled, true)
	}
	if on {
		table.Set(r, f.TLS.Enabled, true)
	}
	return ok
}

func securityWord(s string) (on, isReality, ok bool) {
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "tls", "xtls", "true", "1":
		return true, false, true
	case "reality":
		return true, true, true
	case "", "none", "0", "false":
		return false, false, true
	}
	return false, false, false
}

// verify is trojan-gfw's opposite of allowInsecure.
var verify = table.Custom([]string{"verify"}, func(r *table.Reader, i int) bool {
	s, ok := r.Doc.Scalar(i)
	if s == "" {
		return ok
	}
	v, ok := value.Bool(s)
	if ok && !v {
		table.Set(r, f.TLS.Insecure, true)
	}
	return ok
}, nil, f.TLS.Insecure.Info)

// pbk is the key of REALITY, which also says that there is REALITY, unless the
// link says that there is no TLS.
var pbk = table.Custom([]string{"pbk", "public-key", "publicKey"},
	func(r *table.Reader, i int) bool {
		s, ok := r.Doc.Scalar(i)
		if !ok || s == "" {
			return ok
		}
		for _, key := range []string{"security", "tls"} {
			j, found := r.Find(key)
			if !found || r.Doc[j].Text == "" {
				continue
			}
			if on, _, _ := securityWord(r.Doc[j].Text); !on && !r.Node.Type.MandatoryTLS() {
				return false
			}
			break
		}
		table.Set(r, f.TLS.Enabled, true)
		table.Set(r, f.TLS.RealityEnabled, true)
		table.Set(r, f.TLS.RealityPublicKey, s)
		return true
	},
	func(w *table.Writer, key string) bool {
		w.Out.AddStr(key, w.Node.TLS.Reality.PublicKey)
		return true
	}, f.TLS.RealityPublicKey.Info)

// ech is Xray's text for Encrypted Client Hello: the configuration, or where
// to ask for it.
var ech = table.Custom([]string{"ech"},
	func(r *table.Reader, i int) bool {
		s, ok := r.Doc.Scalar(i)
		if !ok || s == "" {
			return ok
		}
		table.Set(r, f.TLS.ECHEnabled, true)
		if strings.Contains(s, "://") {
			name, dns, both := strings.Cut(s, "+")
			if both && strings.Contains(name, "://") { // h2c+https and the like begin with a scheme
				both = false
			}
			if both {
				table.Set(r, f.TLS.ECHQueryServerName, name)
				s = dns
			}
			table.Set(r, f.TLS.ECHDNS, s)
			return true
		}
		table.Set(r, f.TLS.ECHConfig, value.Commas(s))
		return true
	},
	func(w *table.Writer, key string) bool {
		e := w.Node.TLS.ECH
		switch {
		case !e.Enabled:
			return false
		case len(e.Config) > 0:
			w.Out.AddStr(key, strings.Join(e.Config, ","))
			w.Done(f.TLS.ECHEnabled.Info, f.TLS.ECHConfig.Info)
			return e.DNS == "" && e.QueryServerName == ""
		case e.DNS != "" && e.QueryServerName != "":
			w.Out.AddStr(key, e.QueryServerName+"+"+e.DNS)
		case e.DNS != "":
			w.Out.AddStr(key, e.DNS)
		default:
			return false
		}
		return true
	}, f.TLS.ECHEnabled.Info, f.TLS.ECHConfig.Info, f.TLS.ECHQueryServerName.Info, f.TLS.ECHDNS.Info).
	Only("a configuration, or a resolver with or without a name")

// transportType is the word for the framing. Plain TCP, which is also what a
// silent link means, is no transport.
var transportType = table.Custom([]string{"type", "net", "network", "transport", "obfs"},
	func(r *table.Reader, i int) bool {
		s, ok := r.Doc.Scalar(i)
		if !ok || s == "" {
			return ok
		}
		if r.Node.Type == sandrone.Trojan && strings.EqualFold(s, "h2+ws") {
			r.Fail(f.Transport.Type.Info, "its transport was retired")
			return true
		}
		kind, header, ok := value.Transport(s, r.Doc[i].Key == "obfs")
		setTransport(r, kind, header)
		return ok
	},
	func(w *table.Writer, key string) bool {
		kind := sandrone.TransportTCP
		if t := w.Node.Transport; t != nil {
			kind = t.Type
		}
		w.Out.AddStr(key, transportWord(kind, "http"))
		return true
	}, f.Transport.Type.Info).Always()

func setTransport(r *table.Reader, kind, header string) {
	if kind != "" && (kind != sandrone.TransportTCP || header != "") {
		r.Node.Transport = &sandrone.Transport{Type: kind, HeaderType: header}
	}
}

func transportWord(kind, http2 string) string {
	switch kind {
	case "":
		return sandrone.TransportTCP
	case sandrone.TransportWebSocket:
		return "ws"
	case sandrone.TransportHTTP:
		return http2
	}
	return kind
}

// trojanWS is the old way to say websocket in a trojan link.
var trojanWS = table.Custom([]string{"ws"}, func(r *table.Reader, i int) bool {
	s, ok := r.Doc.Scalar(i)
	if !ok || s == "" {
		return ok
	}
	on, ok := value.Bool(s)
	if on && r.Node.Transport == nil {
		if _, stated := r.Find("type"); !stated {
			setTransport(r, sandrone.TransportWebSocket, "")
		}
	}
	return ok
}, nil, f.Transport.Type.Info)

// noTransport takes the statement that there is none.
var noTransport = table.Custom([]string{"type"}, func(r *table.Reader, i int) bool {
	s, ok := r.Doc.Scalar(i)
	if s == "" {
		return ok
	}
	kind, _, ok := value.Transport(s, false)
	return ok && kind == sandrone.TransportTCP
}, nil)

var headerType = table.Custom([]string{"headerType", "header_type"}, readHeaderType,
	func(w *table.Writer, key string) bool {
		if h := w.Node.Transport.HeaderType; h != "none" && (httpHeader(w.Node) || kcp(w.Node) || quic(w.Node)) {
			w.Out.AddStr(key, h)
			return true
		}
		return false
	}, f.Transport.HeaderType.Info)

func readHeaderType(r *table.Reader, i int) bool {
	s, ok := r.Doc.Scalar(i)
	if !ok {
		return false
	}
	switch s = strings.ToLower(s); {
	case s == "" || s == "none":
		return true
	case kcp(r.Node) || quic(r.Node):
		r.Node.Transport.HeaderType = s
		return true
	case s != "http":
		return false
	case r.Node.Transport == nil:
		setTransport(r, sandrone.TransportTCP, s)
		return true
	}
	return httpHeader(r.Node)
}

// host is the row of the host, or of several where the transport has them and
// all says that the link can hold them.
func host(all bool) table.Row {
	fields := []*f.Info{f.Transport.Host.Info}
	if all {
		fields = append(fields, f.Transport.Hosts.Info)
	}
	return table.Custom([]string{"host", "authority", "wsHost", "ws-host", "ws.host", "requestHost", "http-host", "obfsParam"},
		readHost,
		func(w *table.Writer, key string) bool {
			t := w.Node.Transport
			if !framed(w.Node) {
				return false
			}
			if all && len(t.Hosts) > 0 && (httpHeader(w.Node) || t.Type == sandrone.TransportHTTP) {
				w.Out.AddStr(key, strings.Join(t.Hosts, ","))
				return true
			}
			if t.Host == "" {
				return false
			}
			w.Out.AddStr(key, t.Host)
			w.Done(f.Transport.Host.Info)
			return !all || len(t.Hosts) == 0
		}, fields...)
}

func readHost(r *table.Reader, i int) bool {
	s, ok := r.Doc.Scalar(i)
	if !ok {
		return false
	}
	if r.Doc[i].Key == "obfsParam" && strings.HasPrefix(strings.TrimSpace(s), "{") {
		return readHeaders(r, s)
	}
	return takeHost(r, s)
}

func takeHost(r *table.Reader, s string) bool {
	if !framed(r.Node) || s == "" {
		return true // plain TCP has no host
	}
	t := r.Node.Transport
	if t.Type == sandrone.TransportHTTP || httpHeader(r.Node) {
		hosts := value.Commas(s)
		if len(hosts) > 0 {
			t.Host = hosts[0]
		}
		if len(hosts) > 1 {
			t.Hosts = hosts
		}
		return true
	}
	t.Host = s
	return true
}

// readHeaders takes the headers in Shadowrocket's obfsParam.
func readHeaders(r *table.Reader, text string) bool {
	var m map[string]string
	if json.Unmarshal([]byte(text), &m) != nil {
		return false
	}
	if !framed(r.Node) {
		return true
	}
	t := r.Node.Transport
	for k, v := range m {
		if strings.EqualFold(k, "host") {
			t.Host = v
			delete(m, k)
		}
	}
	if len(m) > 0 {
		t.Headers = m
	}
	return true
}

var path = table.Custom([]string{"path", "wspath", "wsPath", "ws-path", "obfs-uri"}, readPath,
	func(w *table.Writer, key string) bool {
		if !hasPath(w.Node) {
			return false
		}
		w.Out.AddStr(key, w.Node.Transport.Path)
		return true
	}, f.Transport.Path.Info)

func readPath(r *table.Reader, i int) bool {
	s, ok := r.Doc.Scalar(i)
	return ok && takePath(r, s)
}

// takePath takes the path, which is the service name of grpc where nothing
// else says that, and holds the early data of a websocket.
func takePath(r *table.Reader, s string) bool {
	t := r.Node.Transport
	switch {
	case s == "":
		return true
	case grpc(r.Node):
		for _, key := range []string{"serviceName", "service_name", "grpc-service-name"} {
			if j, ok := r.Find(key); ok && r.Doc[j].Text != "" {
				return s == "/"
			}
		}
		t.ServiceName = s
	case takesEarlyData(r.Node):
		path, n, ok := value.EarlyData(s)
		if t.Path = path; ok {
			t.MaxEarlyData = n
			if ws(r.Node) {
				t.EarlyDataHeaderName = value.EarlyDataHeader
			}
		}
	case httpHeader(r.Node):
		t.Path, _, _ = strings.Cut(s, ",")
	case hasPath(r.Node):
		t.Path = s
	default:
		return s == "/"
	}
	return true
}

// mode is one word for two transports.
var mode = table.Custom([]string{"mode"},
	func(r *table.Reader, i int) bool {
		s, ok := table.Lower.Read(r.Doc, i)
		switch {
		case !ok:
			return false
		case s == "":
		case grpc(r.Node) && s == "multi":
			r.Node.Transport.GRPCMode = s
		case grpc(r.Node):
			return s == "gun"
		case xhttp(r.Node):
			table.Set(r, f.Transport.XHTTPMode, s)
		default:
			return false
		}
		return true
	},
	func(w *table.Writer, key string) bool {
		t := w.Node.Transport
		switch {
		case grpc(w.Node) && t.GRPCMode != "":
			w.Out.AddStr(key, t.GRPCMode)
		case xhttp(w.Node) && t.XHTTP != nil && t.XHTTP.Mode != "":
			w.Out.AddStr(key, t.XHTTP.Mode)
		default:
			return false
		}
		return true
	}, f.Transport.GRPCMode.Info, f.Transport.XHTTPMode.Info)

// Early data beside the path. What the path said comes first; a parameter that
// disagrees goes to raw.
var (
	earlyHeader = table.Custom([]string{"eh"},
		func(r *table.Reader, i int) bool {
			s, ok := r.Doc.Scalar(i)
			if !ok || s == "" {
				return ok
			}
			if t := r.Node.Transport; t.MaxEarlyData == 0 {
				t.EarlyDataHeaderName = s
			} else {
				return t.EarlyDataHeaderName == s
			}
			return true
		},
		func(w *table.Writer, key string) bool {
			t := w.Node.Transport
			usual := ws(w.Node) && t.EarlyDataHeaderName == value.EarlyDataHeader && t.MaxEarlyData != 0
			if _, other := w.Node.Raw["uri.query.eh"]; !usual || other { // another one in raw would pass for it
				w.Out.AddStr(key, t.EarlyDataHeaderName)
			}
			return true
		}, f.Transport.EarlyDataHeader.Info).When(takesEarlyData)

	earlyData = table.Custom([]string{"ed"}, readEarlyData,
		func(w *table.Writer, key string) bool {
			w.Out.AddInt(key, w.Node.Transport.MaxEarlyData)
			return true
		}, f.Transport.MaxEarlyData.Info).When(takesEarlyData)
)

func readEarlyData(r *table.Reader, i int) bool {
	n, ok := table.Whole.Read(r.Doc, i)
	t := r.Node.Transport
	switch {
	case !ok || n < 0:
		return false
	case n == 0:
	case t.MaxEarlyData == 0:
		t.MaxEarlyData = n
		if ws(r.Node) && t.EarlyDataHeaderName == "" {
			t.EarlyDataHeaderName = value.EarlyDataHeader
		}
	default:
		return t.MaxEarlyData == n
	}
	return true
}

// noQUICSecurity takes the statement that there is none, whatever the
// transport.
var noQUICSecurity = table.Custom([]string{"quicSecurity"}, func(r *table.Reader, i int) bool {
	s, ok := r.Doc.Scalar(i)
	return ok && (s == "" || strings.EqualFold(s, "none"))
}, nil)

// downloadSecurity is the TLS layer of xhttp's way down.
var downloadSecurity = table.Custom([]string{"security"},
	func(r *table.Reader, i int) bool {
		s, ok := r.Doc.Scalar(i)
		if !ok {
			return false
		}
		on, isReality, ok := securityWord(s)
		if on {
			table.Set(r, f.Download.TLS.Enabled, true)
		}
		if isReality {
			table.Set(r, f.Download.TLS.RealityEnabled, true)
		}
		return ok
	},
	func(w *table.Writer, key string) bool {
		switch t := w.Node.Transport.XHTTP.DownloadSettings.TLS; {
		case downloadReality(w.Node):
			w.Out.AddStr(key, "reality")
		case t != nil && t.Enabled:
			w.Out.AddStr(key, "tls")
		default:
			return false
		}
		return true
	}, f.Download.TLS.Enabled.Info, f.Download.TLS.RealityEnabled.Info)

// mux is Xray's multiplexing: a switch, or how many streams a connection has.
var mux = table.Custom([]string{"mux"}, func(r *table.Reader, i int) bool {
	s, ok := r.Doc.Scalar(i)
	if !ok || s == "" {
		return ok
	}
	n, ok := table.Whole.Read(r.Doc, i)
	if !ok {
		on, isSwitch := value.Bool(s)
		if !isSwitch {
			return false
		}
		if on {
			n = 1
		}
	}
	switch {
	case n < 0:
		return false
	case n == 0:
		return true
	case n > 1:
		table.Set(r, f.Multiplex.Concurrency, n)
	}
	table.Set(r, f.Multiplex.Enabled, true)
	table.Set(r, f.Multiplex.Protocol, "mux.cool")
	return true
}, nil, f.Multiplex.Enabled.Info, f.Multiplex.Protocol.Info, f.Multiplex.Concurrency.Info)

// udpOverTCP is a switch; 2 is also a version.
var udpOverTCP = table.Custom([]string{"uot", "udp-over-tcp"},
	func(r *table.Reader, i int) bool {
		s, ok := r.Doc.Scalar(i)
		if !ok || s == "" {
			return ok
		}
		if s == "2" {
			table.Set(r, f.UDPOverTCP.Version, 2)
			s = "1"
		}
		on, ok := value.Bool(s)
		if on {
			table.Set(r, f.UDPOverTCP.Enabled, true)
		}
		return ok
	},
	func(w *table.Writer, key string) bool {
		if w.Node.UDPOverTCP.Enabled {
			w.Out.AddStr(key, "1")
		}
		return w.Node.UDPOverTCP.Enabled
	}, f.UDPOverTCP.Enabled.Info)

// groupBase64 is the group of Shadowsocks links, which is base64.
var groupBase64 = table.Custom([]string{"group"},
	func(r *table.Reader, i int) bool {
		s, ok := r.Doc.Scalar(i)
		if s = base64OrPlain(s); s != "" {
			r.SetMeta(f.MetaGroup.Key, s)
		}
		return ok
	},
	func(w *table.Writer, key string) bool {
		w.Out.AddStr(key, base64.RawURLEncoding.EncodeToString([]byte(w.Node.Meta[f.MetaGroup.Key])))
		return true
	}, f.MetaGroup.Info)

// Shadowsocks plugins.

// pluginNames are those that SIP003 programs have; the others go by the
// canonical name.
func pluginName(plugin string) string {
	if plugin == value.PluginObfs {
		return "obfs-local"
	}
	return plugin
}

// plugin is name and SIP003 text in one parameter.
var plugin = table.Custom([]string{"plugin"},
	func(r *table.Reader, i int) bool {
		s, ok := r.Doc.Scalar(i)
		if !ok {
			return false
		}
		name, text := value.SplitPlugin(s)
		if name == "" || name == "none" {
			return true
		}
		for _, key := range []string{"plugin-opts", "plugin_opts"} {
			if j, ok := r.Find(key); ok && text == "" {
				text, _ = r.Doc.Scalar(j)
				r.Use(j)
			}
		}
		r.Node.Plugin = name
		// Text that is not understood is kept; the normaliser warns about it.
		r.Node.PluginOptions, _ = value.PluginOptions(name, text)
		return true
	},
	func(w *table.Writer, key string) bool {
		n := w.Node
		text, ok := value.PluginText(n.Plugin, n.PluginOptions)
		if !ok || n.Plugin == "" || strings.Contains(n.Plugin, ";") {
			return false
		}
		if text != "" {
			text = ";" + text
		}
		w.Out.AddStr(key, pluginName(n.Plugin)+text)
		return true
	}, f.Plugin.Info, f.PluginOptions.Info).Only("with options that SIP003 text can say, which has no headers")

// pluginOptions stand beside a plugin that has none of its own. Without one
// they mean nothing.
var pluginOptions = table.RawKey("plugin-opts", "plugin_opts")

func noPlugin(n *sandrone.Node) bool { return n.Plugin == "" }

// Shadowrocket's plugins are base64 of JSON.
var (
	v2rayPlugin = jsonPlugin("v2ray-plugin", value.PluginV2Ray, func(m map[string]any) {})

	shadowTLSPlugin = jsonPlugin("shadow-tls", value.PluginShadowTLS, func(m map[string]any) {})

	gostPlugin = jsonPlugin("gost", value.PluginGOST, func(m map[string]any) {
		route, _ := m["route"].(string)
		delete(m, "route")
		switch strings.ToLower(route) {
		case "":
		case "ws":
			m["mode"] = "websocket"
		case "wss":
			m["mode"], m["tls"] = "websocket", true
		default:
			m["mode"] = route
		}
	})
)

// jsonPlugin reads the options of a plugin from base64 of a JSON object, in
// which address and port replace the node's.
func jsonPlugin(param, plugin string, fold func(map[string]any)) table.Row {
	return table.Custom([]string{param}, func(r *table.Reader, i int) bool {
		s, ok := r.Doc.Scalar(i)
		if !ok || s == "" {
			return ok
		}
		text, ok := value.Base64Text(s)
		if !ok {
			return false
		}
		d, err := doc.ReadStrictJSON(nil, text)
		if err != nil || d[0].Kind != doc.Map {
			return false
		}
		server, port := "", uint16(0)
		m := make(map[string]any)
		for j := 1; j < d.Next(0); j = d.Next(j) {
			v, scalar := d.Scalar(j)
			switch {
			case scalar && v == "" || d[j].Kind == doc.Null:
			case d[j].Key == "address":
				if server, ok = value.Host(v); !ok {
					return false
				}
			case d[j].Key == "port":
				if port, ok = value.Port(v); !ok {
					return false
				}
			case scalar:
				m[d[j].Key] = v
			case d[j].Kind == doc.Map:
				if m[d[j].Key], ok = table.Texts.Read(d, j); !ok {
					return false
				}
			default:
				if m[d[j].Key], ok = d.Strings(j); !ok {
					return false
				}
			}
		}
		fold(m)
		options, ok := value.CanonicalPlugin(plugin, m)
		if !ok {
			return false
		}
		r.Node.Plugin, r.Node.PluginOptions = plugin, options
		if server != "" {
			r.Node.Server = server
		}
		if port != 0 {
			r.Node.Port = port
		}
		return true
	}, nil, f.Plugin.Info, f.PluginOptions.Info).When(noPlugin)
}

// VLESS, trojan.

// encryptionNone says what a link without encryption means.
var encryptionNone = table.Derived(func(w *table.Writer, _ string) bool {
	if w.Node.Encryption == "" {
		w.Out.AddStr("encryption", "none")
	}
	return false
}, f.Encryption.Info).Always()

// xtls is Shadowrocket's number for the flow.
var xtls = table.Custom([]string{"xtls"}, func(r *table.Reader, i int) bool {
	s, _ := r.Doc.Scalar(i)
	flow := ""
	switch s {
	case "", "0":
	case "1":
		flow = "xtls-rprx-direct" // retired, which validation finds
	case "2":
		flow = "xtls-rprx-vision"
	default:
		return false
	}
	if r.Node.Flow == "" {
		r.Node.Flow = flow
	}
	return true
}, nil, f.Flow.Info)

// innerShadowsocks is trojan-go's Shadowsocks layer.
var innerShadowsocks = table.Custom([]string{"encryption"},
	func(r *table.Reader, i int) bool {
		s, ok := r.Doc.Scalar(i)
		if !ok || s == "" || strings.EqualFold(s, "none") {
			return ok
		}
		rest, ok := strings.CutPrefix(s, "ss;")
		if !ok {
			return false
		}
		j := strings.IndexAny(rest, ":;")
		if j < 0 {
			return false
		}
		r.Node.Trojan = &sandrone.TrojanOptions{SSEnabled: true, SSMethod: rest[:j], SSPassword: rest[j+1:]}
		return true
	},
	func(w *table.Writer, key string) bool {
		o := w.Node.Trojan
		if !o.SSEnabled || o.SSMethod == "" {
			return false
		}
		w.Out.AddStr(key, "ss;"+o.SSMethod+":"+o.SSPassword)
		return true
	}, f.Trojan.SSEnabled.Info, f.Trojan.SSMethod.Info, f.Trojan.SSPassword.Info)

// Hysteria.

// rate is a bandwidth in Mbit/s under the first key; under the second the unit
// may be stated, and the link is warned about if it is not.
func rate(whole f.Field[int], other f.Field[string], mbps, free string) table.Row {
	return table.Custom([]string{mbps, free},
		func(r *table.Reader, i int) bool {
			s, ok := r.Doc.Scalar(i)
			if !ok || s == "" {
				return ok
			}
			v, ok := value.ParseRate(s)
			if !ok {
				return false
			}
			if v.Bare && r.Doc[i].Key == free {
				r.Warn(sandrone.WarnImplicitRateUnit, whole.Path, free+" has no unit; Mbit/s is assumed")
			}
			if v.Text != "" {
				table.Set(r, other, v.Text)
			} else {
				table.Set(r, whole, v.Mbps)
			}
			return true
		},
		func(w *table.Writer, key string) bool {
			w.Out.AddInt(key, *whole.At(w.Node))
			w.Done(whole.Info)
			return false
		}, whole.Info)
}

// authBytes is an authentication that is bytes and no text.
var authBytes = table.Custom([]string{"auth"},
	func(r *table.Reader, i int) bool {
		s, _ := r.Doc.Scalar(i)
		if utf8.ValidString(s) {
			return false
		}
		table.Set(r, f.Hysteria.Auth, base64.StdEncoding.EncodeToString([]byte(s)))
		return true
	},
	func(w *table.Writer, key string) bool {
		b, ok := value.Base64(w.Node.Hysteria.Auth)
		if !ok || utf8.Valid(b) {
			return false
		}
		w.Out.AddStr(key, string(b))
		return true
	}, f.Hysteria.Auth.Info)

// xplus is the obfuscation of Hysteria 1. Some links give its password where
// its name belongs.
var xplus = table.Custom([]string{"obfs"},
	func(r *table.Reader, i int) bool {
		s, ok := r.Doc.Scalar(i)
		switch {
		case !ok:
			return false
		case s == "" || strings.EqualFold(s, "none"):
		case strings.EqualFold(s, "xplus"):
			table.Set(r, f.Hysteria.Obfs, "xplus")
		default:
			for _, key := range []string{"obfsParam", "obfs-password", "obfs_password"} {
				if j, ok := r.Find(key); ok && r.Doc[j].Text != "" {
					return false
				}
			}
			table.Set(r, f.Hysteria.Obfs, "xplus")
			table.Set(r, f.Hysteria.ObfsPassword, s)
		}
		return true
	},
	func(w *table.Writer, key string) bool {
		w.Out.AddStr(key, w.Node.Hysteria.Obfs)
		return true
	}, f.Hysteria.Obfs.Info)

// portSet is a set of ports in a parameter.
func portSet(ports f.Field[[]string], keys ...string) table.Row {
	return table.KeyAs(ports, table.Codec[[]string]{
		Read: func(d doc.Items, i int) ([]string, bool) {
			s, ok := d.Scalar(i)
			if !ok || s == "" {
				return nil, ok
			}
			return value.Ports(s)
		},
		Write: table.Comma.Write,
	}, keys...)
}

func hop(interval f.Field[string], keys ...string) table.Row {
	return table.KeyAs(interval, table.Codec[string]{
		Read: func(d doc.Items, i int) (string, bool) {
			s, ok := d.Scalar(i)
			if !ok || s == "" {
				return "", ok
			}
			return value.HopInterval(s)
		},
		Write: table.Text.Write,
	}, keys...)
}

// portSpec is the set of ports in a hysteria2 link's authority, and in the
// parameter that does the same; a parameter that disagrees goes to raw. The
// authority says the port too, so a node with another port needs the
// parameter.
var portSpec = []table.Row{
	table.Custom([]string{"@ports"}, func(r *table.Reader, i int) bool {
		ports, ok := value.Ports(r.Doc[i].Text)
		table.Set(r, f.Hysteria.ServerPorts, ports)
		return ok
	}, func(w *table.Writer, key string) bool {
		ports := w.Node.Hysteria.ServerPorts
		if _, ok := value.PortList(ports); !ok {
			return false
		}
		if value.FirstPort(ports) != w.Node.Port || len(ports) == 1 && !strings.Contains(ports[0], "-") {
			key = "mport"
		}
		w.Out.AddStr(key, strings.Join(ports, ","))
		return true
	}, f.Hysteria.ServerPorts.Info),
	table.Custom([]string{"mport", "ports"}, func(r *table.Reader, i int) bool {
		s, ok := r.Doc.Scalar(i)
		if !ok || s == "" {
			return ok
		}
		ports, ok := value.Ports(s)
		if h := r.Node.Hysteria; h != nil && len(h.ServerPorts) > 0 {
			return ok && slices.Equal(ports, h.ServerPorts)
		}
		if ok {
			table.Set(r, f.Hysteria.ServerPorts, ports)
		}
		return ok
	}, nil, f.Hysteria.ServerPorts.Info),
}

// ShadowsocksR, WireGuard, Snell, mieru, SOCKS, HTTP, naive.

// noSpace is text whose white space readers take out, so that it cannot be
// written with any.
var noSpace = table.Codec[string]{
	Read: table.Text.Read,
	Write: func(o *doc.Items, key, v string) bool {
		if strings.ContainsFunc(v, unicode.IsSpace) {
			return false
		}
		o.AddStr(key, v)
		return true
	},
}

// noColon is text between colons.
var noColon = table.Codec[string]{
	Read: table.Text.Read,
	Write: func(o *doc.Items, key, v string) bool {
		if strings.Contains(v, ":") {
			return false
		}
		o.AddStr(key, v)
		return true
	},
}

// mieruTransport is what a mieru link calls the protocol of a port.
var mieruTransport = table.Codec[string]{Read: table.Text.Read, Write: table.Among("TCP", "UDP").Write}

// zero takes a parameter that says nothing when it is 0.
func zero(param string) table.Row {
	return table.Custom([]string{param}, func(r *table.Reader, i int) bool {
		s, _ := r.Doc.Scalar(i)
		return s == "" || s == "0"
	}, nil)
}

// addressIPv6 is the second half of an address.
var addressIPv6 = table.Custom([]string{"ipv6"}, func(r *table.Reader, i int) bool {
	more, ok := list.Read(r.Doc, i)
	if !ok {
		return false
	}
	for _, a := range more {
		if w := r.Node.WireGuard; w == nil || !slices.Contains(w.Address, a) {
			p := f.WireGuard.Address.Make(r.Node)
			*p = append(*p, a)
		}
	}
	return true
}, nil, f.WireGuard.Address.Info)

// amneziaKeys are the options that a link has.
var amneziaKeys = []string{"jc", "jmin", "jmax", "s1", "s2", "h1", "h2", "h3", "h4"}

var amnezia = func() []table.Row {
	var list []table.Row
	for _, key := range amneziaKeys {
		list = append(list, table.Custom([]string{key}, func(r *table.Reader, i int) bool {
			s, ok := r.Doc.Scalar(i)
			if !ok || s == "" {
				return ok
			}
			m := f.WireGuard.Amnezia.Make(r.Node)
			if *m == nil {
				*m = make(map[string]any)
			}
			(*m)[key] = s
			if n, ok := table.Whole.Read(r.Doc, i); ok {
				(*m)[key] = n
			}
			return true
		}, nil, f.WireGuard.Amnezia.Info))
	}
	return append(list, table.Derived(func(w *table.Writer, _ string) bool {
		m := w.Node.WireGuard.Amnezia
		for key, v := range m {
			switch v.(type) {
			case int, string:
			default:
				return false
			}
			if !slices.Contains(amneziaKeys, key) {
				return false
			}
		}
		for _, key := range amneziaKeys {
			if v, ok := m[key]; ok {
				table.AddOption(w.Out, key, v)
			}
		}
		return true
	}, f.WireGuard.Amnezia.Info).Only(strings.Join(amneziaKeys, " ")))
}()

// tuicToken is the token of version 4. One with a colon would be taken for the
// user id and password of version 5.
var tuicToken = table.Custom([]string{"@token", "token"},
	func(r *table.Reader, i int) bool {
		s, ok := r.Doc.Scalar(i)
		r.Node.Token = s
		return ok
	},
	func(w *table.Writer, key string) bool {
		if strings.Contains(w.Node.Token, ":") {
			key = "token"
		}
		w.Out.AddStr(key, w.Node.Token)
		return true
	}, f.Token.Info)

func peerOf(n *sandrone.Node) *sandrone.WireGuardPeer {
	if n.WireGuard == nil || len(n.WireGuard.Peers) != 1 {
		return nil
	}
	return &n.WireGuard.Peers[0]
}

var onePeer = table.Refuse(f.Peer.PublicKey.Info, func(n *sandrone.Node) string {
	if n.WireGuard != nil && len(n.WireGuard.Peers) > 1 {
		return "it has several peers"
	}
	return ""
})

// samePeer is the endpoint of the one peer, which is the node's.
var samePeer = table.Derived(func(w *table.Writer, _ string) bool {
	p := peerOf(w.Node)
	return p != nil && (p.Server == "" || p.Server == w.Node.Server) && (p.Port == 0 || p.Port == w.Node.Port)
}, f.Peer.Server.Info, f.Peer.Port.Info)

// peerKeepalive has no parameter of its own. The interface's does the same for
// a node of one peer, so it serves where it is free.
var peerKeepalive = table.Derived(func(w *table.Writer, _ string) bool {
	p := peerOf(w.Node)
	if p == nil {
		return false
	}
	if own := w.Node.WireGuard.PersistentKeepalive; own != 0 {
		return own == p.PersistentKeepalive
	}
	w.Out.AddInt("keepalive", p.PersistentKeepalive)
	return true
}, f.Peer.PersistentKeepalive.Info).Only("where the interface has none or the same")

// sameReserved are the interface's bytes, which the one peer repeats.
var sameReserved = table.Derived(func(w *table.Writer, _ string) bool {
	p := peerOf(w.Node)
	if p == nil {
		return false
	}
	if len(p.Reserved) == 0 {
		return reserved.Write(w.Out, "reserved", w.Node.WireGuard.Reserved)
	}
	return slices.Equal(p.Reserved, w.Node.WireGuard.Reserved)
}, f.WireGuard.Reserved.Info)

// snellPlugin is Shadowsocks' way to say the obfuscation.
var snellPlugin = table.Custom([]string{"plugin"}, func(r *table.Reader, i int) bool {
	s, ok := r.Doc.Scalar(i)
	if !ok || s == "" {
		return ok
	}
	name, text := value.SplitPlugin(s)
	if name != value.PluginObfs {
		return name == "none"
	}
	options, ok := value.PluginOptions(name, text)
	if !ok {
		return false
	}
	for option, field := range map[string]f.Field[string]{"mode": f.Snell.Obfs, "host": f.Snell.ObfsHost, "path": f.Snell.ObfsURI} {
		if s, is := options[option].(string); is && s != "none" {
			if p := field.At(r.Node); p == nil || *p == "" {
				table.Set(r, field, s)
			}
		}
	}
	return true
}, nil, f.Snell.Obfs.Info, f.Snell.ObfsHost.Info, f.Snell.ObfsURI.Info)

// portOrRange is a mieru link's port, which may be a range.
var portOrRange = table.Custom([]string{"port"},
	func(r *table.Reader, i int) bool {
		item, first, ok := value.PortItem(r.Doc[i].Text)
		if strings.Contains(item, "-") {
			table.Set(r, f.Mieru.PortRange, item)
		} else {
			r.Node.Port = first
		}
		return ok
	},
	func(w *table.Writer, key string) bool {
		n := w.Node
		switch {
		case n.Mieru != nil && n.Mieru.PortRange != "":
			if item, _, ok := value.PortItem(n.Mieru.PortRange); !ok || item != n.Mieru.PortRange {
				return false // a reader would not find it
			}
			w.Out.AddStr(key, n.Mieru.PortRange)
		case n.Port != 0:
			w.Out.AddInt(key, int(n.Port))
		}
		return true
	}, f.Port.Info, f.Mieru.PortRange.Info)

// profile is the name of a mieru node without the end that every reader puts
// there.
var profile = table.Custom([]string{"profile"}, nil, func(w *table.Writer, key string) bool {
	name := strings.TrimSuffix(w.Name, mieruSuffix(w.Node))
	w.Out.AddStr(key, name)
	return true
}, f.Name.Info).Always()

// mieruSuffix is what readers of a mieru link add to its name, since a link may
// hold several nodes.
func mieruSuffix(n *sandrone.Node) string {
	m := n.Mieru
	if m == nil {
		m = new(sandrone.MieruOptions)
	}
	port := m.PortRange
	if port == "" {
		port = strconv.Itoa(int(n.Port))
	}
	return ":" + port + "/" + m.Transport
}

// schemeTLS tells TLS by the scheme.
func schemeTLS(plain, secure string) table.Row {
	return table.Custom([]string{"@scheme"},
		func(r *table.Reader, i int) bool {
			s := r.Doc[i].Text
			if s == secure || strings.HasSuffix(s, "+tls") {
				table.Set(r, f.TLS.Enabled, true)
			}
			if strings.HasPrefix(s, "socks4") { // the model has no version of SOCKS
				r.KeepAs(socks4Key, json.RawMessage(strconv.Quote(s)))
			}
			return true
		},
		func(w *table.Writer, key string) bool {
			scheme := plain
			if w.Node.TLS != nil && w.Node.TLS.Enabled {
				scheme = secure
			}
			w.Out.AddStr(key, scheme)
			return true
		}, f.TLS.Enabled.Info).Always()
}

// socks4Key is the raw key of the scheme of a SOCKS4 link.
const socks4Key = "uri.scheme"

// naiveScheme tells QUIC by the scheme.
var naiveScheme = table.Custom([]string{"@scheme"},
	func(r *table.Reader, i int) bool {
		if r.Doc[i].Text == "naive+quic" {
			table.Set(r, f.Naive.QUIC, true)
		}
		return true
	},
	func(w *table.Writer, key string) bool {
		scheme := "naive+https"
		if w.Node.Naive != nil && w.Node.Naive.QUIC {
			scheme = "naive+quic"
		}
		w.Out.AddStr(key, scheme)
		return true
	}, f.Naive.QUIC.Info).Always()

// extraHeaders are headers between line breaks, or vertical bars where there
// is none.
var extraHeaders = table.Custom([]string{"extra-headers"},
	func(r *table.Reader, i int) bool {
		s, ok := r.Doc.Scalar(i)
		if !ok || s == "" {
			return ok
		}
		separator := "\n"
		if !strings.Contains(s, separator) {
			separator = "|"
		}
		var m map[string]string
		for line := range strings.SplitSeq(s, separator) {
			if line = strings.TrimSpace(line); line == "" {
				continue
			}
			name, v, ok := strings.Cut(line, ":")
			if name = strings.TrimSpace(name); !ok || name == "" {
				return false
			}
			if m == nil {
				m = make(map[string]string)
			}
			m[name] = strings.TrimSpace(v)
		}
		table.Set(r, f.Headers, m)
		return true
	},
	func(w *table.Writer, key string) bool {
		var b strings.Builder
		names := make([]string, 0, len(w.Node.Headers))
		for name := range w.Node.Headers {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			v := w.Node.Headers[name]
			if name == "" || strings.ContainsAny(name, ":\r\n") || strings.ContainsAny(v, "\r\n") {
				return false
			}
			b.WriteString(name + ": " + v + "\r\n")
		}
		text := b.String()
		// A line break also says that a bar is no separator.
		if len(names) > 1 || !strings.Contains(text, "|") {
			text = strings.TrimSuffix(text, "\r\n")
		}
		w.Out.AddStr(key, text)
		return true
	}, f.Headers.Info)
