package shadowrocket

import (
	"strconv"
	"strings"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert/doc"
	f "github.com/sandrone-gateway/sandrone/convert/field"
	"github.com/sandrone-gateway/sandrone/convert/table"
)

// What each protocol is in a line of the client. The keys are those of the
// client's manual for nodes in a file; there is no key that it does not name.

var dialect = table.Dialect{
	Family: "shadowrocket",
	Raw:    "shadowrocket.",
	Source: sandrone.SourceRef{Kind: "client-doc", Name: "Shadowrocket manual, local nodes", URL: "https://lowertop.github.io/Shadowrocket/", Revision: "2.2"},

	Protocols: []table.Protocol{
		{Type: sandrone.Shadowsocks, Rows: shadowsocks},
		{Type: sandrone.VMess, Rows: vmess},
		{Type: sandrone.VLESS, Rows: vless},
		{Type: sandrone.Trojan, Rows: trojan},
		{Type: sandrone.Hysteria, Rows: hysteria},
		{Type: sandrone.Hysteria2, Rows: hysteria2},
		{Type: sandrone.TUIC, Rows: tuic},
		{Type: sandrone.WireGuard, Rows: wireguard},
		{Type: sandrone.Snell, Rows: snell},
		{Type: sandrone.SOCKS, Rows: socks},
		{Type: sandrone.HTTP, Rows: http},
	},
}

var rows = table.Group

// key is a text under a key; text that the line has no form for is lost.
func key(field f.Field[string], name string) table.Row { return table.KeyAs(field, word, name) }

var word = table.Codec[string]{Only: "text without commas and quotes", Write: func(o *doc.Items, key, v string) bool {
	if !line.Fits(v) {
		return false
	}
	o.AddStr(key, v)
	return true
}}

// place is a text that stands without a key.
var place = table.Codec[string]{Only: "text without commas, quotes and equals signs", Write: func(o *doc.Items, key, v string) bool {
	if !line.FitsPlace(v) {
		return false
	}
	o.AddStr(key, v)
	return true
}}

// head is the beginning of a line. A node of several names for its type has a
// row of its own for it.
func head(typ table.Row) []table.Row {
	return rows(table.Name(doc.Place(0)), typ, table.KeyAs(f.Server, place, doc.Place(2)), table.Key(f.Port, doc.Place(3)))
}

func typed(t string) []table.Row { return head(table.Const(doc.Place(1), t)) }

// typedTLS is the head where TLS is a word of its own.
func typedTLS(plain, secure string) []table.Row {
	return head(table.Derived(func(w *table.Writer, _ string) bool {
		if on := w.Node.TLS != nil && w.Node.TLS.Enabled; on {
			w.Out.AddStr(doc.Place(1), secure)
			return true
		}
		w.Out.AddStr(doc.Place(1), plain)
		return false
	}, f.TLS.Enabled.Info).Always())
}

// one writes a switch that is a digit for the client.
func one(field f.Field[bool], name string) table.Row {
	return table.KeyAs(field, table.Codec[bool]{Write: func(o *doc.Items, key string, v bool) bool {
		if v {
			o.AddInt(key, 1)
		}
		return v
	}}, name)
}

// oneName is a list with one element: a comma would end the value.
var oneName = table.Codec[[]string]{Only: "one protocol", Write: func(o *doc.Items, key string, v []string) bool {
	return len(v) == 1 && word.Write(o, key, v[0])
}}

var (
	tlsOn      = table.KeyAs(f.TLS.Enabled, table.Flag, "tls")
	tlsAlways  = table.Implied(f.TLS.Enabled, true)
	peer       = key(f.TLS.ServerName, "peer")
	alpn       = table.KeyAs(f.TLS.ALPN, oneName, "alpn")
	tfo        = one(f.Dialer.TFO, "tfo")
	password   = key(f.Password, "password")
	uuid       = key(f.UUID, "password")
	obfsParam  = key(f.Hysteria.ObfsPassword, "obfsParam")
	cipherWord = key(f.Cipher, "method")

	// verifiesServer: with no key for a server name the client verifies the
	// server's own.
	verifiesServer = table.Derived(func(w *table.Writer, _ string) bool {
		return w.Node.TLS.ServerName == w.Node.Server
	}, f.TLS.ServerName.Info).Only("the server itself")
)

// udp says that the node carries UDP. The lines of these protocols always say
// it in the manual, since silence means off; so it is left out only where the
// node says that it does not, or comes from a file in which silence means off
// too.
var udp = table.Derived(func(w *table.Writer, _ string) bool {
	n := w.Node
	relay := sandrone.Unset
	if n.Dialer != nil {
		relay = n.Dialer.UDPRelay
	}
	switch relay {
	case sandrone.On:
		w.Out.AddInt("udp", 1)
	case sandrone.Off:
		w.Out.AddInt("udp", 0)
	default:
		// The QUIC protocols are UDP whatever a file says.
		silent := n.SourceFormat == "mihomo" || n.SourceFormat == "stash"
		if n.Network != "tcp" && (!silent || n.Type != sandrone.WireGuard && n.Type != sandrone.Snell) {
			w.Out.AddInt("udp", 1)
		}
		return false
	}
	return true
}, f.Dialer.UDPRelay.Info).Always()

func webSocket(n *sandrone.Node) bool {
	return n.Transport != nil && n.Transport.Type == sandrone.TransportWebSocket
}

// obfs is the one transport besides the plain stream.
var obfs = table.KeyAs(f.Transport.Type, table.Among("websocket"), "obfs").When(webSocket).Only("tcp, websocket")

// shadowsocks has a plugin of two words; any other would need an option text.
var shadowsocks = rows(
	typed("ss"), password, cipherWord,
	obfs,
	table.Custom([]string{"obfs"}, nil, func(w *table.Writer, key string) bool {
		n := w.Node
		mode, _ := n.PluginOptions["mode"].(string)
		host, hasHost := n.PluginOptions["host"].(string)
		if n.Plugin != "obfs" || mode != "http" && mode != "tls" || !line.Fits(host) {
			return false
		}
		for name := range n.PluginOptions {
			if name != "mode" && name != "host" {
				return false
			}
		}
		w.Out.AddStr(key, mode)
		if hasHost {
			w.Out.AddStr("obfs-host", host)
		}
		return true
	}, f.Plugin.Info, f.PluginOptions.Info).When(table.Not(webSocket)).Only("obfs with mode and host"),
	table.Derived(func(w *table.Writer, _ string) bool {
		w.Out.AddStr("plugin", "none")
		return false
	}).When(func(n *sandrone.Node) bool { return n.Plugin == "" }).Always(),
)

var vmess = rows(
	typed("vmess"), uuid,
	table.Key(f.AlterID, "alterId").Always(),
	cipherWord,
	tlsOn, peer,
	obfs,
	key(f.Transport.Host, "obfs-host").When(webSocket),
	key(f.Transport.Path, "obfs-uri").When(webSocket),
	tfo,
)

// vless has REALITY, for which the client always looks like Chrome.
var vless = rows(
	typed("vless"), uuid,
	table.Implied(f.Encryption, "none").Only("none"),
	tlsOn, peer,
	table.Flow("flow"),
	table.Implied(f.TLS.RealityEnabled, true),
	table.KeyAs(f.TLS.RealityPublicKey, table.RealityKey, "pbk"),
	key(f.TLS.RealityShortID, "sid"),
	table.Implied(f.TLS.ClientFingerprint, "chrome").When(func(n *sandrone.Node) bool {
		return n.TLS != nil && n.TLS.Reality != nil && n.TLS.Reality.Enabled
	}).Only("chrome, with reality"),
	obfs,
)

var trojan = rows(
	typed("trojan"), password, tlsAlways,
	one(f.TLS.Insecure, "allowInsecure"),
	peer,
)

// hysteria has one obfuscation, which needs no name.
var hysteria = rows(
	typed("hysteria"),
	key(f.Hysteria.AuthStr, "auth"),
	table.Implied(f.Hysteria.Obfs, "xplus"), obfsParam,
	table.KeyAs(f.Hysteria.Protocol, table.Among("udp", "wechat-video", "faketcp"), "protocol"),
	udp, tlsAlways, peer, alpn,
	table.Key(f.Hysteria.UpMbps, "upmbps"),
	table.Key(f.Hysteria.DownMbps, "downmbps"),
)

var hysteria2 = rows(
	typed("hysteria2"),
	key(f.Password, "auth"),
	table.Implied(f.Hysteria.Obfs, "salamander").Only("salamander"), obfsParam,
	udp, tlsAlways, peer, alpn,
)

var tuic = rows(
	typed("tuic"), password,
	key(f.UUID, "user"),
	udp, tlsAlways, peer, alpn,
)

var wireguard = rows(
	typed("wireguard"),
	table.KeyAs(f.WireGuard.PrivateKey, table.Key32, "privateKey"),
	table.Refuse(f.Peer.PublicKey.Info, func(n *sandrone.Node) string {
		if n.WireGuard != nil && len(n.WireGuard.Peers) > 1 {
			return "several peers"
		}
		return ""
	}),
	table.KeyAs(f.Peer.PublicKey, table.Key32, "publicKey"),
	table.Derived(func(w *table.Writer, _ string) bool {
		p := w.Node.WireGuard.Peers[0]
		return p.Server == w.Node.Server && p.Port == w.Node.Port
	}, f.Peer.Server.Info, f.Peer.Port.Info).Only("the node's own"),
	table.KeyAs(f.WireGuard.Address, oneAddress, "ip"),
	table.Key(f.WireGuard.MTU, "mtu"),
	table.KeyAs(f.Peer.Reserved, slashed, "reserved"),
	table.Derived(func(w *table.Writer, _ string) bool { return len(w.Node.WireGuard.Peers) == 1 }, f.WireGuard.Reserved.Info),
	table.Key(f.WireGuard.PersistentKeepalive, "keepalive"), peerKeepalive,
	allIPs,
	udp,
)

// oneAddress is the address of the interface without its prefix length.
var oneAddress = table.Codec[[]string]{Only: "one address", Write: func(o *doc.Items, key string, v []string) bool {
	if len(v) != 1 {
		return false
	}
	bare, _, _ := strings.Cut(v[0], "/")
	return word.Write(o, key, bare)
}}

// slashed are the reserved bytes as the client writes them, 1/2/3.
var slashed = table.Codec[[]int]{Write: func(o *doc.Items, key string, v []int) bool {
	texts := make([]string, len(v))
	for i, n := range v {
		texts[i] = strconv.Itoa(n)
	}
	o.AddStr(key, strings.Join(texts, "/"))
	return true
}}

// peerKeepalive: the client has one keepalive for all.
var peerKeepalive = table.Derived(func(w *table.Writer, _ string) bool {
	all := w.Node.WireGuard
	own := all.Peers[0].PersistentKeepalive
	if all.PersistentKeepalive == 0 {
		w.Out.AddInt("keepalive", own)
		return true
	}
	return own == all.PersistentKeepalive
}, f.Peer.PersistentKeepalive.Info).Only("the interface's")

// allIPs is what the client routes into the tunnel, since a line has no key
// for it.
var allIPs = table.Derived(func(w *table.Writer, _ string) bool {
	v4, v6 := false, false
	for _, prefix := range w.Node.WireGuard.Peers[0].AllowedIPs {
		switch prefix {
		case "0.0.0.0/0":
			v4 = true
		case "::/0":
			v6 = true
		default:
			return false
		}
	}
	return v4 && v6
}, f.Peer.AllowedIPs.Info).Only("0.0.0.0/0 and ::/0")

// snell has version 2 alone; a node that says none means version 1.
var snell = rows(
	typed("snell"),
	key(f.Password, "psk"),
	table.Refuse(f.Snell.Version.Info, func(n *sandrone.Node) string {
		if n.Snell == nil || n.Snell.Version != 2 {
			return "only version 2"
		}
		return ""
	}),
	table.Key(f.Snell.Version, "version").Only("2"),
	table.KeyAs(f.Snell.Obfs, table.Among("http", "tls"), "obfs"),
	key(f.Snell.ObfsHost, "obfs-host"),
	udp,
)

// login are the credentials, which stand by place: a password needs a name
// before it.
var login = rows(
	table.KeyAs(f.Username, place, doc.Place(4)),
	table.KeyAs(f.Password, place, doc.Place(5)).When(func(n *sandrone.Node) bool { return n.Username != "" }),
)

var socks = rows(
	typedTLS("socks5", "socks5-tls"), login,
	table.KeyAs(f.TLS.Insecure, table.Flag, "skip-common-name-verify").When(overTLS), verifiesServer,
)

var http = rows(typedTLS("http", "https"), login, verifiesServer)

func overTLS(n *sandrone.Node) bool { return n.TLS != nil && n.TLS.Enabled }
