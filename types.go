package sandrone

// Type is the canonical name of a proxy protocol, as in [Node.Type].
type Type string

// The protocols, in the order in which catalogues list them. The first group
// is modelled in full; of the second only identity and endpoint are, and the
// options are carried in [Node.Opaque].
const (
	Shadowsocks  Type = "ss"
	ShadowsocksR Type = "ssr"
	VMess        Type = "vmess"
	VLESS        Type = "vless"
	Trojan       Type = "trojan"
	Hysteria     Type = "hysteria"
	Hysteria2    Type = "hysteria2"
	TUIC         Type = "tuic"
	WireGuard    Type = "wireguard"
	Snell        Type = "snell"
	AnyTLS       Type = "anytls"
	Mieru        Type = "mieru"
	SOCKS        Type = "socks"
	HTTP         Type = "http"
	SSH          Type = "ssh"
	Naive        Type = "naive"
	Direct       Type = "direct"

	Juicity     Type = "juicity"
	TrustTunnel Type = "trusttunnel"
	H2Connect   Type = "h2-connect"
	MASQUE      Type = "masque"
	OpenVPN     Type = "openvpn"
	Tailscale   Type = "tailscale"
	ZeroTier    Type = "zerotier"
	ShadowQUIC  Type = "shadowquic"
	Sudoku      Type = "sudoku"
	GOSTRelay   Type = "gost-relay"
	Tor         Type = "tor"
	External    Type = "external"
)

// Types lists every protocol in catalogue order. It must not be changed.
var Types = []Type{
	Shadowsocks, ShadowsocksR, VMess, VLESS, Trojan, Hysteria, Hysteria2, TUIC, WireGuard, Snell,
	AnyTLS, Mieru, SOCKS, HTTP, SSH, Naive, Direct,
	Juicity, TrustTunnel, H2Connect, MASQUE, OpenVPN, Tailscale, ZeroTier, ShadowQUIC, Sudoku, GOSTRelay, Tor, External,
}

var typeIndex = func() map[Type]int {
	m := make(map[Type]int, len(Types))
	for i, t := range Types {
		m[t] = i
	}
	return m
}()

// Index returns the place of t in [Types], or -1 for a name that is no
// canonical protocol.
func (t Type) Index() int {
	if i, ok := typeIndex[t]; ok {
		return i
	}
	return -1
}

// typeAliases are the spellings that sources use for a canonical name.
var typeAliases = map[string]Type{
	"shadowsocks":     Shadowsocks,
	"shadowsocksr":    ShadowsocksR,
	"trojan-go":       Trojan,
	"hy":              Hysteria,
	"hysteria1":       Hysteria,
	"hy2":             Hysteria2,
	"tuic-v5":         TUIC,
	"wg":              WireGuard,
	"wireguard-surge": WireGuard,
	"mierus":          Mieru,
	"socks5":          SOCKS,
	"socks5h":         SOCKS,
	"socks4":          SOCKS,
	"socks4a":         SOCKS,
	"https":           HTTP,
	"naive+https":     Naive,
	"naive+quic":      Naive,
	"freedom":         Direct,
	"bypass":          Direct,
	"trust-tunnel":    TrustTunnel,
}

// TypeOf folds a source's spelling (already lower-case) to the canonical
// name. It returns "" for a word that names no protocol.
func TypeOf(word string) Type {
	if t := Type(word); t.Index() >= 0 {
		return t
	}
	return typeAliases[word]
}

// Carried reports whether only identity and endpoint of t are modelled, so
// that its options travel in [Node.Opaque].
func (t Type) Carried() bool { return t.Index() >= Juicity.Index() }

// HasEndpoint reports whether nodes of this type have a server and a port.
func (t Type) HasEndpoint() bool {
	switch t {
	case Direct, Tailscale, ZeroTier, Tor, External:
		return false
	}
	return true
}

// MandatoryTLS reports whether the protocol always runs inside TLS, so that a
// source that is silent about it still means TLS on.
func (t Type) MandatoryTLS() bool {
	switch t {
	case Trojan, Hysteria, Hysteria2, TUIC, AnyTLS, Naive, Juicity, TrustTunnel, H2Connect:
		return true
	}
	return false
}
