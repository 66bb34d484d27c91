package synth

import (
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// link writes the share link of n.
func link(n *Node) string {
	at := net.JoinHostPort(n.Server, strconv.Itoa(n.Port))
	name := escape(n.Name)
	// The common form: scheme, user info, address, query, name.
	common := func(scheme, user string, q query) string {
		return scheme + "://" + user + "@" + at + "?" + q.String() + "#" + name
	}
	switch n.Kind {
	case Shadowsocks:
		user := b64url([]byte(n.Method + ":" + n.Password))
		if strings.HasPrefix(n.Method, "2022") { // SIP022: percent-encoded, not base64
			user = n.Method + ":" + escape(n.Password)
		}
		return "ss://" + user + "@" + at + "#" + name
	case ShadowsocksR:
		field := func(s string) string { return b64url([]byte(s)) }
		return "ssr://" + field(fmt.Sprintf("%s:%s:%s:%s:%s/?obfsparam=%s&protoparam=%s&remarks=%s&group=%s",
			at, n.Protocol, n.Method, n.Obfs, field(n.Password),
			field(n.ObfsParam), field(n.ProtocolParam), field(n.Name), field("合成订阅")))
	case VMess:
		return "vmess://" + b64(vmessObject(n))
	case VLESSReality:
		return common("vless", n.UUID, query{{"encryption", "none"}, {"security", "reality"}, {"type", "tcp"}, {"flow", n.Flow},
			{"sni", n.SNI}, {"fp", n.Fingerprint}, {"pbk", n.PublicKey}, {"sid", n.ShortID}})
	case VLESSWS:
		return common("vless", n.UUID, query{{"encryption", "none"}, {"security", "tls"}, {"type", "ws"}, {"host", n.SNI},
			{"path", n.Path}, {"sni", n.SNI}, {"fp", n.Fingerprint}})
	case VLESSGRPC:
		return common("vless", n.UUID, query{{"encryption", "none"}, {"security", "tls"}, {"type", "grpc"},
			{"serviceName", n.Service}, {"mode", "gun"}, {"sni", n.SNI}, {"fp", n.Fingerprint}})
	case Trojan:
		q := query{{"security", "tls"}, {"sni", n.SNI}, {"type", n.Net}}
		if n.Net == "ws" {
			q = append(q, query{{"host", n.SNI}, {"path", n.Path}}...)
		}
		return common("trojan", escape(n.Password), q.flag(n.Insecure, "allowInsecure"))
	case Hysteria2:
		q := query{{"sni", n.SNI}}.flag(n.Insecure, "insecure")
		if n.Obfs != "" {
			q = append(q, query{{"obfs", "salamander"}, {"obfs-password", n.Obfs}}...)
		}
		if n.Ports != "" {
			q = append(q, parameter{"mport", n.Ports})
		}
		return common("hysteria2", escape(n.Password), q)
	case TUIC:
		return common("tuic", n.UUID+":"+escape(n.Password), query{{"sni", n.SNI}, {"congestion_control", n.Congestion},
			{"udp_relay_mode", n.UDPMode}, {"alpn", "h3"}})
	case AnyTLS:
		return common("anytls", escape(n.Password), query{{"sni", n.SNI}, {"fp", n.Fingerprint}}.flag(n.Insecure, "insecure"))
	case WireGuard:
		return common("wireguard", escape(n.PrivateKey), query{{"publickey", n.PeerKey}, {"presharedkey", n.PSK},
			{"address", n.IP + "/32," + n.IP6 + "/128"}, {"mtu", strconv.Itoa(n.MTU)},
			{"reserved", fmt.Sprintf("%d,%d,%d", n.Reserved[0], n.Reserved[1], n.Reserved[2])}})
	}
	panic("synth: no link for " + string(n.Kind))
}

// vmessObject is the JSON inside a vmess:// link, without spaces.
func vmessObject(n *Node) []byte {
	header, path, host, security, sni := "none", n.Path, "", "", ""
	switch n.Net {
	case "grpc":
		header, path = "gun", strings.TrimLeft(n.Path, "/")
	case "ws":
		host = n.SNI
	}
	if n.TLS {
		security, sni = "tls", n.SNI
	}
	dst := []byte{'{'}
	for i, p := range [][2]string{{"v", "2"}, {"ps", n.Name}, {"add", n.Server}, {"port", strconv.Itoa(n.Port)}, {"id", n.UUID},
		{"aid", "0"}, {"scy", "auto"}, {"net", n.Net}, {"type", header}, {"host", host}, {"path", path},
		{"tls", security}, {"sni", sni}} {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendText(dst, p[0]), ':')
		dst = appendText(dst, p[1])
	}
	return append(dst, '}')
}

// escape percent-encodes all but letters, digits and "_.-~".
func escape(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }

// query is the query of a link in the order given. No value of ours holds a
// space, for which link readers disagree.
type query []parameter

type parameter struct{ key, value string }

func (q query) flag(set bool, key string) query {
	if set {
		return append(q, parameter{key, "1"})
	}
	return q
}

func (q query) String() string {
	var b strings.Builder
	for i, p := range q {
		if i > 0 {
			b.WriteByte('&')
		}
		b.WriteString(url.QueryEscape(p.key) + "=" + url.QueryEscape(p.value))
	}
	return b.String()
}
