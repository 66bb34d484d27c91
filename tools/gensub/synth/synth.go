// Package synth makes synthetic proxy subscriptions for tests and benchmarks.
//
// [Build] draws nodes from a seed and [Render] writes them in one format. The
// same options give the same bytes on every machine, and node i has the same
// name, server and credentials in all formats. Servers are documentation
// addresses only (192.0.2.0/24, 198.51.100.0/24, 203.0.113.0/24,
// 2001:db8::/32, example.com, .net and .org); every secret is made from the
// seed and none is real.
//
// The mihomo and sing-box documents are valid for mihomo 1.19 and sing-box
// 1.13, so a client that refuses a conversion of them found a fault of the
// conversion. The package knows nothing of the rest of the module: what it
// writes is evidence, not an echo of our own renderers.
package synth

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Options say which nodes to draw.
type Options struct {
	Nodes       int     // how many
	Seed        int     // which sequence
	Only        []Kind  // draw from these kinds only; empty: all, weighted like commercial subscriptions
	Dup         float64 // share of nodes that repeat an earlier server and credentials under another name
	RepeatNames float64 // share of nodes that reuse an earlier name
}

// Kind is the protocol of a node with its transport where that decides the
// fields.
type Kind string

// The kinds that [Build] draws.
const (
	Shadowsocks  Kind = "ss"
	VMess        Kind = "vmess"
	VLESSReality Kind = "vless-reality"
	VLESSWS      Kind = "vless-ws"
	VLESSGRPC    Kind = "vless-grpc"
	Trojan       Kind = "trojan"
	Hysteria2    Kind = "hysteria2"
	TUIC         Kind = "tuic"
	AnyTLS       Kind = "anytls"
	ShadowsocksR Kind = "ssr"
	WireGuard    Kind = "wireguard"
)

// Node is one drawn node, before any notation. Which fields are set depends
// on the kind; [Render] with [Model] shows exactly those.
type Node struct {
	Name   string
	Kind   Kind
	Server string // name, IPv4 or bare IPv6
	Port   int

	Method        string // ss, ssr
	Password      string
	Protocol      string // ssr
	Obfs          string // ssr: plug-in; hysteria2: salamander password or empty
	ObfsParam     string // ssr
	ProtocolParam string // ssr
	UUID          string
	Net           string // vmess, trojan: "tcp", "ws" or "grpc"
	TLS           bool   // vmess
	SNI           string
	Path          string // of ws; of vmess over grpc the service name after a slash
	PublicKey     string // Reality, base64url
	ShortID       string
	Fingerprint   string // uTLS profile
	Flow          string
	Service       string // vless over grpc
	Insecure      bool
	Ports         string // hysteria2: range to hop over, or empty
	Congestion    string // tuic
	UDPMode       string // tuic
	PrivateKey    string // wireguard: this and the next two in base64
	PeerKey       string
	PSK           string
	IP            string
	IP6           string
	MTU           int
	Reserved      []int
}

type weighted[T any] struct {
	value  T
	weight int
}

var mix = []weighted[Kind]{
	{Shadowsocks, 24}, {VMess, 18}, {VLESSReality, 12}, {VLESSWS, 6}, {VLESSGRPC, 4}, {Trojan, 14},
	{Hysteria2, 9}, {TUIC, 4}, {AnyTLS, 4}, {ShadowsocksR, 3}, {WireGuard, 2},
}

type region struct{ flag, name, code string }

var regions = []weighted[region]{
	{region{"🇭🇰", "香港", "HK"}, 22}, {region{"🇹🇼", "台湾", "TW"}, 9}, {region{"🇯🇵", "日本", "JP"}, 18},
	{region{"🇸🇬", "新加坡", "SG"}, 13}, {region{"🇺🇸", "美国", "US"}, 15}, {region{"🇰🇷", "韩国", "KR"}, 5},
	{region{"🇬🇧", "英国", "GB"}, 4}, {region{"🇩🇪", "德国", "DE"}, 4}, {region{"🇫🇷", "法国", "FR"}, 2},
	{region{"🇹🇷", "土耳其", "TR"}, 2}, {region{"🇦🇷", "阿根廷", "AR"}, 2}, {region{"🇮🇳", "印度", "IN"}, 2},
	{region{"🇲🇾", "马来西亚", "MY"}, 1}, {region{"🇦🇺", "澳大利亚", "AU"}, 1},
}

var (
	lines         = []string{"IEPL", "IPLC", "BGP", "CN2 GIA", "专线", "直连", "中转", "家宽", "原生", "解锁流媒体"}
	rates         = []string{"", "", "", " | 0.5x", " | 1.5x", " | 2x", " 倍率:3", " [0.1x]"}
	notes         = []string{"", "", "", " ⚡", " 🎬 Netflix", " ChatGPT", ` "备用"`, " #限速", " 100% 可用", " A&B=C"}
	ssMethods     = []string{"aes-128-gcm", "aes-256-gcm", "chacha20-ietf-poly1305", "2022-blake3-aes-128-gcm", "2022-blake3-aes-256-gcm"}
	ssrMethods    = []string{"aes-256-cfb", "chacha20-ietf", "rc4-md5"}
	ssrProtocols  = []string{"origin", "auth_sha1_v4", "auth_aes128_md5", "auth_aes128_sha1", "auth_chain_a"}
	ssrObfs       = []string{"plain", "http_simple", "tls1.2_ticket_auth"}
	fingerprints  = []string{"chrome", "firefox", "safari", "ios"}
	serverNames   = []string{"www.example.com", "cdn.example.net", "static.example.org", "speed.example.com"}
	networks      = []string{"192.0.2", "198.51.100", "203.0.113"}
	domains       = []string{"com", "net", "org"}
	vmessNets     = []string{"tcp", "ws", "ws", "grpc"}
	trojanNets    = []string{"tcp", "tcp", "ws"}
	congestions   = []string{"bbr", "cubic"}
	udpRelayModes = []string{"native", "quic"}
)

// Build draws the nodes that o describes. The error names a kind in o.Only
// that there is not, or an option out of range.
func Build(o Options) ([]Node, error) {
	if o.Nodes < 0 || o.Dup < 0 || o.Dup > 1 || o.RepeatNames < 0 || o.RepeatNames > 1 {
		return nil, fmt.Errorf("synth: nodes must not be negative, shares must be within 0 and 1")
	}
	table := mix
	if len(o.Only) > 0 {
		table = nil
		for _, kind := range o.Only {
			i := slices.IndexFunc(mix, func(w weighted[Kind]) bool { return w.value == kind })
			if i < 0 {
				return nil, fmt.Errorf("synth: unknown kind %q", kind)
			}
			if !slices.Contains(table, mix[i]) {
				table = append(table, mix[i])
			}
		}
	}

	r := newRandom("gen-subscription/" + strconv.Itoa(o.Seed))
	nodes := make([]Node, 0, o.Nodes)
	recent := func() Node { return choice(r, nodes[max(0, len(nodes)-1000):]) }
	for i := range o.Nodes {
		if i > 0 && r.float() < o.Dup {
			n := recent()
			n.Name = fmt.Sprintf("%s 副本%d", n.Name, i)
			nodes = append(nodes, n)
			continue
		}
		// The order of the draws below is part of the format: every change
		// of it changes all bytes that follow.
		n := Node{Kind: pick(r, table)}
		at := pick(r, regions)
		line, rate, note := choice(r, lines), choice(r, rates), choice(r, notes)
		n.Name = fmt.Sprintf("%s %s %s %02d%s%s", at.flag, at.name, line, i+1, rate, note)
		if i > 0 && r.float() < o.RepeatNames {
			n.Name = recent().Name
		}
		n.Server = server(r, i, at.code)
		n.Port = choice(r, []int{443, 8443, 2053, r.between(1024, 65536)})
		credentials(r, i, &n)
		nodes = append(nodes, n)
	}
	return nodes, nil
}

func pick[T any](r *random, table []weighted[T]) T {
	total := 0
	for _, w := range table {
		total += w.weight
	}
	// The conversion keeps the product from being fused with the subtraction,
	// which would round differently on some processors.
	x := float64(r.float() * float64(total))
	for _, w := range table {
		if x -= float64(w.weight); x < 0 {
			return w.value
		}
	}
	return table[len(table)-1].value
}

func server(r *random, i int, code string) string {
	switch k := r.float(); {
	case k < 0.45:
		return fmt.Sprintf("%s%d.node%d.example.%s", strings.ToLower(code), i%97, i, choice(r, domains))
	case k < 0.92:
		network := choice(r, networks)
		return fmt.Sprintf("%s.%d", network, r.between(1, 255))
	}
	subnet := r.below(65536)
	return fmt.Sprintf("2001:db8:%x:%x::%x", subnet, i&0xffff, r.between(1, 65536))
}

// credentials draws what a kind has beside its address.
func credentials(r *random, i int, n *Node) {
	uuid, password, sni := newUUID(r), b64url(r.bytes(12)), choice(r, serverNames)
	if n.Kind != Shadowsocks && n.Kind != ShadowsocksR && n.Kind != WireGuard {
		n.SNI = sni
	}
	switch n.Kind {
	case Shadowsocks:
		n.Method, n.Password = choice(r, ssMethods), password
		switch n.Method {
		case "2022-blake3-aes-128-gcm":
			n.Password = b64(r.bytes(16))
		case "2022-blake3-aes-256-gcm":
			n.Password = b64(r.bytes(32))
		}
	case ShadowsocksR:
		n.Method, n.Password = choice(r, ssrMethods), password
		n.Protocol, n.Obfs = choice(r, ssrProtocols), choice(r, ssrObfs)
		n.ObfsParam, n.ProtocolParam = sni, fmt.Sprintf("%d:user", 1000+i)
	case VMess:
		n.UUID, n.Net = uuid, choice(r, vmessNets)
		n.TLS = n.Net != "tcp" || r.float() < 0.3
		if n.Net != "tcp" {
			n.Path = "/" + b64url(r.bytes(6))
		}
	case VLESSReality:
		n.UUID, n.Flow = uuid, "xtls-rprx-vision"
		n.PublicKey, n.ShortID = b64url(r.bytes(32)), hex.EncodeToString(r.bytes(4))
		n.Fingerprint = choice(r, fingerprints)
	case VLESSWS:
		n.UUID, n.Path = uuid, "/ws/"+b64url(r.bytes(4))+"?ed=2048"
		n.Fingerprint = choice(r, fingerprints)
	case VLESSGRPC:
		n.UUID, n.Service = uuid, "grpc-"+b64url(r.bytes(4))
		n.Fingerprint = choice(r, fingerprints)
	case Trojan:
		n.Password, n.Net = password, choice(r, trojanNets)
		n.Insecure = r.float() < 0.4
		if n.Net == "ws" {
			n.Path = "/" + b64url(r.bytes(5))
		}
	case Hysteria2:
		n.Password, n.Insecure = password, r.float() < 0.5
		if r.float() < 0.5 {
			n.Obfs = b64url(r.bytes(9))
		}
		if r.float() < 0.3 {
			n.Ports = "20000-30000"
		}
	case TUIC:
		n.UUID, n.Password = uuid, password
		n.Congestion, n.UDPMode = choice(r, congestions), choice(r, udpRelayModes)
	case AnyTLS:
		n.Password, n.Insecure = password, r.float() < 0.5
		n.Fingerprint = choice(r, fingerprints)
	case WireGuard:
		n.PrivateKey, n.PeerKey, n.PSK = b64(r.bytes(32)), b64(r.bytes(32)), b64(r.bytes(32))
		n.IP = fmt.Sprintf("192.0.2.%d", r.between(1, 255))
		n.IP6 = fmt.Sprintf("2001:db8:ffff::%x", r.between(1, 65536))
		n.MTU = 1420
		for _, b := range r.bytes(3) {
			n.Reserved = append(n.Reserved, int(b))
		}
	}
}

// newUUID draws a version 4 UUID.
func newUUID(r *random) string {
	b := r.bytes(16)
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	h := hex.EncodeToString(b)
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

func b64(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

func b64url(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }
