package uri

import (
	"strconv"
	"strings"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert/doc"
	f "github.com/sandrone-gateway/sandrone/convert/field"
	"github.com/sandrone-gateway/sandrone/convert/table"
	"github.com/sandrone-gateway/sandrone/convert/value"
)

// VMess has two kinds of link: a URL, and v2rayN's JSON in base64, which is
// what nearly every reader takes. So a node is written as JSON unless it has
// something that the JSON has no member for.

func asURL(n *sandrone.Node) bool {
	if n.PacketEncoding != "" || xhttp(n) || hasReality(n) {
		return true
	}
	if t := n.TLS; t != nil && t.Enabled && t.ECH != nil && t.ECH.Enabled {
		return true
	}
	return grpc(n) && n.Transport.Authority != ""
}

func asJSON(n *sandrone.Node) bool { return !asURL(n) }

// inURL limits the writing of rows to nodes that are written as a URL.
func inURL(parts ...any) []table.Row {
	list := rows(parts...)
	for i, r := range list {
		list[i] = r.WriteWhen(asURL)
	}
	return list
}

var vmess = rows(
	inURL(
		head("vmess"),
		key(f.UUID, "@user"),
		table.KeyAs(f.Cipher, cipherAuto, "encryption"),
		alterID,
		security(true),
		transportType,
		headerType,
		key(f.Transport.Authority, "authority").When(grpc),
		host(false),
		path,
		key(f.Transport.ServiceName, "serviceName", "service_name", "grpc-service-name").When(grpc),
		mode,
		key(f.Transport.Method, "method").When(httpHeader).ReadOnly(),
		earlyHeader, earlyData,
		key(f.Transport.Seed, "seed").When(kcp),
		key(f.Transport.QUICSecurity, "quicSecurity").When(quic),
		key(f.Transport.QUICKey, "key").When(quic),
		noQUICSecurity,
		extra("extra"),
		table.Key(f.Transport.Headers, "@headers").ReadOnly().When(framed),
		serverName, insecure, verify, disableSNI.ReadOnly(), alpn, hello, spelled(pin, "pcs"), names.ReadOnly(),
		reality, ech, key(f.TLS.ECHForceQuery, "echForceQuery"),
		packetEncoding,
	),
	mux, udpOverTCP.ReadOnly(), dial,
	group.ReadOnly(),
	table.RawKey("h2"),

	in("@json", rows(
		table.Const("v", "2"),
		table.Custom([]string{"ps", "name", "remarks"}, taken, func(w *table.Writer, key string) bool {
			w.Out.AddStr(key, w.Name)
			return true
		}, f.Name.Info),
		table.Custom([]string{"add"}, taken, writeHost, f.Server.Info),
		table.Custom([]string{"port"}, taken, func(w *table.Writer, key string) bool {
			w.Out.AddStr(key, strconv.Itoa(int(w.Node.Port)))
			return true
		}, f.Port.Info),
		key(f.UUID, "id", "uuid"),
		table.KeyAs(f.AlterID, wholeText, "aid", "alterId", "alter_id").Always(),
		table.KeyAs(f.Cipher, cipherStated, "scy", "security", "cipher").Always(),
		jsonNet,
		jsonType,
		jsonHost,
		jsonPath,
		jsonTLS,
		orEmpty(key(f.TLS.ServerName, "sni", "servername", "peer"), "sni"),
		orEmpty(table.KeyAs(f.TLS.ALPN, list, "alpn"), "alpn"),
		orEmpty(table.KeyAs(f.TLS.ClientFingerprint, fingerprint, "fp"), "fp"),
		flag(f.TLS.Insecure, one, "allowInsecure", "skip-cert-verify", "insecure"),
		verifyCert,
		key(f.TLS.Fingerprint, "pcs", "fingerprint"),
		jsonEarlyHeader, jsonEarlyData,
		pbk.ReadOnly(),
		key(f.TLS.RealityShortID, "sid").When(hasReality).ReadOnly(),
		key(f.TLS.RealitySpiderX, "spx").When(hasReality).ReadOnly(),
		packetEncoding.ReadOnly(),
		key(f.Transport.Authority, "authority").When(grpc).ReadOnly(),
		key(f.Transport.ServiceName, "serviceName").When(grpc).ReadOnly(),
		mode.ReadOnly(),
		extra("extra").ReadOnly(),
		table.RawKey("tls", "mode", "extra"), // other words than those
	)...).RawAs("vmess.").WriteWhen(asJSON),
)

// taken is the read of a member that was looked at before the rows.
func taken(*table.Reader, int) bool { return true }

// orEmpty is a member that is always there, as v2rayN writes it.
func orEmpty(row table.Row, key string) []table.Row {
	return rows(row, table.Derived(func(w *table.Writer, _ string) bool {
		if !w.Wrote(key) {
			w.Out.AddStr(key, "")
		}
		return false
	}).Always())
}

func writeHost(w *table.Writer, key string) bool {
	host, ok := value.Host(w.Node.Server)
	w.Out.AddStr(key, host)
	return ok
}

// serverRow is the host of a link. A server that would break the link's
// syntax is not expressible.
var serverRow = table.Custom([]string{"@host"}, func(r *table.Reader, i int) bool {
	r.Node.Server = r.Doc[i].Text
	return true
}, writeHost, f.Server.Info)

var wholeText = table.Codec[int]{
	Read:  table.Whole.Read,
	Write: func(o *doc.Items, key string, v int) bool { o.AddStr(key, strconv.Itoa(v)); return true },
}

// cipherStated writes the usual cipher too, cipherAuto does not.
var (
	cipherStated = table.Codec[string]{Read: table.Text.Read, Write: func(o *doc.Items, key, v string) bool {
		if v == "" {
			v = "auto"
		}
		o.AddStr(key, v)
		return true
	}}
	cipherAuto = table.Codec[string]{Read: table.Text.Read, Write: func(o *doc.Items, key, v string) bool {
		if v != "auto" {
			o.AddStr(key, v)
		}
		return true
	}}
)

// alterID has two spellings, of which some links carry both.
var alterID = table.Custom([]string{"aid", "alterId"},
	func(r *table.Reader, i int) bool {
		n, ok := table.Whole.Read(r.Doc, i)
		if !ok || n < 0 {
			return false
		}
		if j, both := r.Find("alterId"); both && r.Doc[j].Text != "" && r.Doc[j].Text != r.Doc[i].Text {
			r.Warn(sandrone.WarnAliasConflict, f.AlterID.Path, "aid and alterId disagree; aid comes first")
		}
		r.Node.AlterID = n
		return true
	},
	func(w *table.Writer, key string) bool {
		w.Out.AddInt("alterId", w.Node.AlterID)
		return true
	}, f.AlterID.Info)

// The members whose meaning depends on the transport.
var (
	jsonNet = table.Custom([]string{"net", "network"},
		func(r *table.Reader, i int) bool {
			s, ok := r.Doc.Scalar(i)
			if !ok || s == "" {
				return ok
			}
			kind, header, ok := value.Transport(s, false)
			setTransport(r, kind, header)
			return ok
		},
		func(w *table.Writer, key string) bool {
			kind := ""
			if t := w.Node.Transport; t != nil {
				kind = t.Type
			}
			w.Out.AddStr(key, transportWord(kind, "h2"))
			return true
		}, f.Transport.Type.Info).Always()

	jsonType = table.Custom([]string{"type", "headerType"},
		func(r *table.Reader, i int) bool {
			s, ok := table.Lower.Read(r.Doc, i)
			switch {
			case !ok:
				return false
			case s == "" || s == "none" || s == "auto" || s == "--":
			case grpc(r.Node) && s == "multi":
				r.Node.Transport.GRPCMode = s
			case grpc(r.Node):
				return s == "gun"
			case xhttp(r.Node):
				table.Set(r, f.Transport.XHTTPMode, s)
			default:
				return readHeaderType(r, i)
			}
			return true
		},
		func(w *table.Writer, key string) bool {
			word := "none"
			switch t := w.Node.Transport; {
			case grpc(w.Node):
				if word = t.GRPCMode; word == "" {
					word = "gun"
				}
			case (httpHeader(w.Node) || kcp(w.Node) || quic(w.Node)) && t.HeaderType != "":
				word = t.HeaderType
			}
			w.Out.AddStr(key, word)
			return true
		}, f.Transport.HeaderType.Info, f.Transport.GRPCMode.Info).Always()

	jsonHost = table.Custom([]string{"host", "wsHost", "requestHost"},
		func(r *table.Reader, i int) bool {
			s, ok := r.Doc.Scalar(i)
			switch {
			case !ok || s == "":
				return ok
			case quic(r.Node):
				r.Node.Transport.QUICSecurity = s
				return true
			case !firstVersion(r) || !strings.Contains(s, ";"):
				return takeHost(r, s)
			}
			// Version 1 had one member for both.
			host, path, _ := strings.Cut(s, ";")
			for _, key := range []string{"path", "wsPath", "wspath"} {
				if j, ok := r.Find(key); ok && r.Doc[j].Text != "" {
					path = ""
				}
			}
			if !strings.HasPrefix(path, "/") || strings.Contains(path, ";") {
				r.Fail(f.Transport.Host.Info, "host and path of its first version are malformed")
				return true
			}
			return takeHost(r, host) && takePath(r, path)
		},
		func(w *table.Writer, key string) bool {
			s := ""
			switch t := w.Node.Transport; {
			case quic(w.Node):
				s = t.QUICSecurity
				w.Done(f.Transport.QUICSecurity.Info)
			case framed(w.Node) && !kcp(w.Node):
				s = t.Host
				w.Done(f.Transport.Host.Info)
			}
			w.Out.AddStr(key, s)
			return false
		}, f.Transport.Host.Info, f.Transport.QUICSecurity.Info).Always()

	jsonPath = table.Custom([]string{"path", "wsPath", "wspath"},
		func(r *table.Reader, i int) bool {
			s, ok := r.Doc.Scalar(i)
			switch {
			case !ok || s == "":
				return ok
			case kcp(r.Node):
				r.Node.Transport.Seed = s
			case quic(r.Node):
				r.Node.Transport.QUICKey = s
			default:
				return takePath(r, s)
			}
			return true
		},
		func(w *table.Writer, key string) bool {
			s := ""
			switch t := w.Node.Transport; {
			case kcp(w.Node):
				s = t.Seed
				w.Done(f.Transport.Seed.Info)
			case quic(w.Node):
				s = t.QUICKey
				w.Done(f.Transport.QUICKey.Info)
			case grpc(w.Node):
				s = t.ServiceName
				w.Done(f.Transport.ServiceName.Info)
			case framed(w.Node):
				s = t.Path
				w.Done(f.Transport.Path.Info)
			}
			w.Out.AddStr(key, s)
			return false
		}, f.Transport.Path.Info, f.Transport.ServiceName.Info, f.Transport.Seed.Info, f.Transport.QUICKey.Info).Always()

	jsonTLS = table.Custom([]string{"tls", "streamSecurity"}, readSecurity,
		func(w *table.Writer, key string) bool {
			s := ""
			if t := w.Node.TLS; t != nil && t.Enabled {
				s = "tls"
			}
			w.Out.AddStr(key, s)
			return true
		}, f.TLS.Enabled.Info).Always()

	// Early data has no member of its own; these are the words of the URL, and
	// readers that do not know them connect without it.
	jsonEarlyHeader = earlyHeader
	jsonEarlyData   = table.Custom([]string{"ed"}, readEarlyData, func(w *table.Writer, key string) bool {
		w.Out.AddStr(key, strconv.Itoa(w.Node.Transport.MaxEarlyData))
		return true
	}, f.Transport.MaxEarlyData.Info).When(takesEarlyData)

	verifyCert = table.Custom([]string{"verify_cert"}, func(r *table.Reader, i int) bool {
		s, ok := r.Doc.Scalar(i)
		if !ok || s == "" {
			return ok
		}
		v, ok := value.Bool(s)
		if ok && !v {
			table.Set(r, f.TLS.Insecure, true)
		}
		return ok
	}, nil, f.TLS.Insecure.Info)
)

// firstVersion reports whether the JSON is of version 1, which is also what it
// is when it does not say.
func firstVersion(r *table.Reader) bool {
	i, ok := r.Find("v")
	return !ok || r.Doc[i].Text == "" || r.Doc[i].Text == "1"
}
