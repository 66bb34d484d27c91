// Package nodetest makes random nodes for the tests of formats, and tells where
// two nodes differ.
//
// [Node] draws a valid, normalised node of a protocol: one that passes
// convert.Normalise unchanged and convert.Validate unharmed. The same random
// source gives the same node. How many leaves are filled differs from node to
// node, from next to none, which every target can write, to nearly all.
package nodetest

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/sandrone-gateway/sandrone"
)

// Rand returns a random source for a test: the same one for the same seed.
func Rand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

// Front is the only name that dialer.proxy of a drawn node can have. No node is
// drawn with it.
const Front = "front"

// Node draws a node of protocol t with what matters to its connection. What
// only the caller knows of it is not filled: id, tags, meta, raw, lossy,
// warnings and source_format; see [Full].
func Node(rng *rand.Rand, t sandrone.Type) sandrone.Node {
	m := maker{Rand: rng, density: pick(rng, 0.02, 0.15, 0.5, 0.9)}
	n := sandrone.Node{Name: m.name(), Type: t}
	if t.HasEndpoint() {
		n.Server = m.host()
		n.Port = m.port()
	}
	m.protocol(&n)
	if t.HasEndpoint() && !t.Carried() {
		m.opt(&n.Network, "tcp", "udp")
	}
	if d := m.dialer(); d != (sandrone.Dialer{}) {
		n.Dialer = &d
	}
	return n
}

// Full draws a node as [Node] does, with every member that the model has.
func Full(rng *rand.Rand, t sandrone.Type) sandrone.Node {
	n := Node(rng, t)
	m := maker{Rand: rng, density: 0.6}
	m.opt(&n.ID, "27b8a625-4f4b-4428-9f0f-8a2317db7c79", "a/b c")
	m.list(&n.Tags, "cheap", "日本", "a,b", `q"q`)
	if m.some() {
		n.Meta = map[string]string{}
		for _, key := range []string{"group", "test_url", "test_timeout", "test_udp", "source_index", "probe.latency_ms", "own key"} {
			if m.some() {
				n.Meta[key] = m.text()
			}
		}
		if len(n.Meta) == 0 {
			n.Meta = nil
		}
	}
	if m.some() {
		n.Raw = sandrone.Raw{"json-nodes.shiny": m.json(), "mihomo.ws-opts.x": m.json(), "uri.query.y&z": m.json()}
	}
	if n.Dialer != nil {
		m.opt(&n.Dialer.Network, "tcp", "udp")
	}
	n.Lossy = m.some()
	m.opt(&n.SourceFormat, "uri", "mihomo", "sing-box", "json-nodes", "surge", "xray", "sip008")
	if m.some() {
		index := m.IntN(3)
		n.Warnings = []sandrone.Warning{{
			Code: sandrone.WarnUnknownField, Message: "kept in raw: uri.query.y", Node: n.Name, NodeIndex: &index, Field: "uri.query.y",
			NodeContext: &sandrone.NodeContext{Format: "uri-list", Name: n.Name, Type: n.Type, Server: n.Server, Port: n.Port, Line: 7},
		}}
	}
	return n
}

// All draws count nodes of every protocol that there is, in catalogue order.
func All(rng *rand.Rand, count int) []sandrone.Node {
	nodes := make([]sandrone.Node, 0, count*len(sandrone.Types))
	for _, t := range sandrone.Types {
		for range count {
			nodes = append(nodes, Node(rng, t))
		}
	}
	return nodes
}

// maker draws the parts of one node.
type maker struct {
	*rand.Rand
	density float64 // chance of an optional leaf
}

func pick[T any](rng *rand.Rand, from ...T) T { return from[rng.IntN(len(from))] }

// some decides whether an optional leaf is filled.
func (m *maker) some() bool { return m.Float64() < m.density }

func (m *maker) opt(p *string, from ...string) {
	if m.some() {
		*p = pick(m.Rand, from...)
	}
}

func (m *maker) free(p *string) {
	if m.some() {
		*p = m.text()
	}
}

func (m *maker) number(p *int, low, high int) {
	if m.some() {
		*p = low + m.IntN(high-low+1)
	}
}

func (m *maker) flag(p *bool) { *p = m.some() }

func (m *maker) tri(p *sandrone.Tri) {
	if m.some() {
		*p = pick(m.Rand, sandrone.On, sandrone.Off)
	}
}

// list fills in one or several of the values, in order and without repetition.
func (m *maker) list(p *[]string, from ...string) {
	if !m.some() {
		return
	}
	for _, s := range from {
		if m.IntN(2) == 0 {
			*p = append(*p, s)
		}
	}
	if len(*p) == 0 {
		*p = []string{pick(m.Rand, from...)}
	}
}

func (m *maker) headers(p *map[string]string) {
	if m.some() {
		*p = map[string]string{"X-Padding": "0011", "User-Agent": "Mozilla/5.0 (X11; Linux x86_64)"}
	}
}

func (m *maker) rate(mbps *int, text *string) {
	switch {
	case !m.some():
	case m.IntN(3) == 0:
		*text = strconv.Itoa(2*m.IntN(400)+1) + " Kbps"
	default:
		*mbps = 1 + m.IntN(1000)
	}
}

func (m *maker) name() string {
	head := pick(m.Rand, "Tokyo", "🇯🇵 東京", "HK · IEPL [x2]", "London, 1", "a=b", "- dash", "# hash", "it's", `say "hi"`, "0123", "yes", "null", "~", "a: b", "&x *y", "{z}", "100%", `back\slash`, "<a>&amp;", "a\u00a0b", "a|b", "Größe", "DIRECT up")
	return head + " " + strconv.Itoa(m.IntN(1_000_000))
}

func (m *maker) host() string {
	return pick(m.Rand, "a.example.com", "B.Example.net", "192.0.2.7", "2001:db8::7", "xn--fiq228c.example", "例え.example", "host_1.example.org.")
}

func (m *maker) serverName() string {
	return pick(m.Rand, "sni.example.com", "www.example.net", "a-b.example.org")
}

func (m *maker) port() uint16 { return uint16(1 + m.IntN(65535)) }

// text is free text that quoting has to survive.
func (m *maker) text() string {
	return pick(m.Rand, "plain", "with space", "a,b", "k=v", "p@ss:word", "100% #1?", `q"q`, "it's", `a\b`, "ключ", "007", "1e3", "true", "0x1F", "2024-01-01", "a;b", "+/=", "(x)", "[y]", "{z}", "&amp;<b>", "!x", "*", "|", ">", "@", "`", "-", "null")
}

func (m *maker) secret() string {
	if m.IntN(3) == 0 {
		return m.text()
	}
	return pick(m.Rand, "pw-", "Secret", "x") + strconv.Itoa(m.IntN(1_000_000))
}

func (m *maker) bytes(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(m.Uint32())
	}
	return b
}

func (m *maker) key32() string { return base64.StdEncoding.EncodeToString(m.bytes(32)) }

func (m *maker) uuid() string {
	b := m.bytes(16)
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// span is "N" or "A-B".
func (m *maker) span(p *string) {
	if !m.some() {
		return
	}
	low := 1 + m.IntN(500)
	*p = strconv.Itoa(low)
	if m.IntN(2) == 0 {
		*p += "-" + strconv.Itoa(low+m.IntN(500))
	}
}

func (m *maker) seconds(p *string) { m.opt(p, "10s", "30s", "1m0s", "1m30s", "5m0s") }

func (m *maker) ports(p *[]string, interval *string) {
	m.list(p, "2000-3000", "4443", "5000-5001")
	if *p != nil {
		m.opt(interval, "30", "15-30")
	}
}

func (m *maker) json() json.RawMessage {
	return json.RawMessage(pick(m.Rand, `"text"`, `"a\"b"`, `7`, `-1.5`, `true`, `null`, `[1,"2",{"k":[]}]`, `{"b":1,"a":{"c":"<&>"}}`, `["x","y"]`))
}

const (
	certificate = "-----BEGIN CERTIFICATE-----\nMIIBfake\n-----END CERTIFICATE-----\n"
	privateKey  = "-----BEGIN PRIVATE KEY-----\nMC4CAQfake\n-----END PRIVATE KEY-----\n"
)

// hostKey is a line of a known_hosts file (RFC 8709 §4).
func (m *maker) hostKey() string {
	const algorithm = "ssh-ed25519"
	b := binary.BigEndian.AppendUint32(nil, uint32(len(algorithm)))
	b = append(b, algorithm...)
	b = binary.BigEndian.AppendUint32(b, 32)
	return algorithm + " " + base64.StdEncoding.EncodeToString(append(b, m.bytes(32)...))
}

// pluginOptions are options that each plugin can have, as the model stores them.
var pluginOptions = map[string]map[string]any{
	"obfs":         {"mode": "tls", "host": "obfs.example.com", "path": "/o"},
	"v2ray-plugin": {"mode": "websocket", "host": "ws.example.com", "path": "/p?q=1", "tls": true, "mux": 4, "skip-cert-verify": true, "fingerprint": strings.Repeat("ab", 32), "headers": map[string]string{"X-A": "1"}, "v2ray-http-upgrade": true, "v2ray-http-upgrade-fast-open": true, "own": "x;y=z"},
	"gost-plugin":  {"mode": "websocket", "host": "ws.example.com", "path": "/p", "tls": true, "mux": 1, "skip-cert-verify": true, "headers": map[string]string{"X-A": "1"}},
	"shadow-tls":   {"host": "cloud.example.com", "password": "st,pw", "version": 3, "alpn": []string{"h2", "http/1.1"}, "client-fingerprint": "chrome", "fingerprint": strings.Repeat("cd", 32), "skip-cert-verify": true},
	"restls":       {"host": "r.example.com", "password": "rp", "version-hint": "tls13", "restls-script": "300?100<1,400~100"},
	"kcptun":       {"key": "k", "crypt": "aes", "mode": "fast", "conn": 2, "mtu": 1350, "nocomp": true},
	"custom":       {"raw": `a=1;b;c=x\;y`},
}

// needed are the options without which the plugin does nothing.
var needed = []string{"mode", "host", "password", "raw"}

func (m *maker) plugin(n *sandrone.Node) {
	if !m.some() {
		return
	}
	n.Plugin = pick(m.Rand, "obfs", "obfs", "v2ray-plugin", "v2ray-plugin", "gost-plugin", "shadow-tls", "restls", "kcptun", "custom")
	all := pluginOptions[n.Plugin]
	n.PluginOptions = make(map[string]any)
	for _, key := range sortedKeys(all) { // in order, so that the draw is the same each time
		if m.some() || slices.Contains(needed, key) {
			n.PluginOptions[key] = all[key]
		}
	}
}

func sortedKeys(in map[string]any) []string {
	keys := make([]string, 0, len(in))
	for k := range in {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func (m *maker) tls() *sandrone.TLS {
	t := &sandrone.TLS{Enabled: true}
	if m.IntN(4) > 0 {
		t.ServerName = m.serverName()
	}
	m.flag(&t.DisableSNI)
	t.InsecureSkipVerify = m.some() && m.IntN(2) == 0
	m.list(&t.ALPN, "h3", "h2", "http/1.1")
	m.opt(&t.ClientFingerprint, "chrome", "firefox", "safari", "ios", "random", "randomized")
	if m.some() {
		t.Fingerprint = hex.EncodeToString(m.bytes(32))
	}
	if m.some() {
		t.PublicKeySHA256 = []string{m.key32()}
	}
	m.list(&t.VerifyNames, "one.example.com", "two.example.com")
	switch {
	case !m.some():
	case m.IntN(2) == 0:
		t.Certificate, t.PrivateKey = certificate, privateKey
	default:
		t.Certificate, t.PrivateKey = "client.crt", "client.key"
	}
	if m.some() {
		t.CA = certificate
	}
	m.opt(&t.CAPath, "ca.pem")
	m.opt(&t.MinVersion, "1.2", "1.3")
	m.opt(&t.MaxVersion, "1.3")
	m.list(&t.CipherSuites, "TLS_AES_128_GCM_SHA256", "TLS_CHACHA20_POLY1305_SHA256")
	m.list(&t.CurvePreferences, "X25519", "CurveP256")
	m.flag(&t.Fragment)
	m.flag(&t.RecordFragment)
	m.tri(&t.SessionTicket)
	if m.some() {
		t.ECH = &sandrone.ECH{Enabled: true}
		if m.some() {
			t.ECH.Config = []string{base64.StdEncoding.EncodeToString(m.bytes(48))}
		}
		m.opt(&t.ECH.QueryServerName, "ech.example.com")
		m.opt(&t.ECH.DNS, "https://192.0.2.53/dns-query", "udp://192.0.2.53")
		m.opt(&t.ECH.ForceQuery, "none", "half", "full")
	}
	if m.some() {
		t.Reality = &sandrone.Reality{Enabled: true, PublicKey: base64.RawURLEncoding.EncodeToString(m.bytes(32))}
		if m.some() {
			t.Reality.ShortID = hex.EncodeToString(m.bytes(m.IntN(8) + 1))
		}
		m.opt(&t.Reality.SpiderX, "/", "/x?y=1")
		m.opt(&t.Reality.MLDSA65Verify, "bWxkc2E2NQ")
		if t.ClientFingerprint == "" {
			t.ClientFingerprint = "chrome"
		}
	}
	return t
}

func (m *maker) optionalTLS() *sandrone.TLS {
	if m.IntN(2) == 0 {
		return nil
	}
	return m.tls()
}

// hostHeader states the host as a header, as the normal form of some transports
// does.
func hostHeader(t *sandrone.Transport) {
	if t.Host == "" {
		return
	}
	if t.Headers == nil {
		t.Headers = map[string]string{}
	}
	t.Headers["Host"] = t.Host
}

func (m *maker) transport() *sandrone.Transport {
	if m.IntN(4) == 0 {
		return nil
	}
	t := &sandrone.Transport{Type: pick(m.Rand, "tcp", "tcp+http", "websocket", "websocket", "grpc", "http", "httpupgrade", "xhttp", "quic", "kcp")}
	web := func() {
		m.opt(&t.Path, "/", "/ws path", "/a?b=c", "/ü,x")
		m.opt(&t.Host, "host.example.com", "cdn.example.net")
		m.headers(&t.Headers)
	}
	hosts := func() {
		if m.some() && t.Host != "" {
			t.Hosts = []string{t.Host, "second.example.com"}
		}
		m.opt(&t.Method, "GET", "PUT")
	}
	early := func() {
		if m.some() {
			t.MaxEarlyData, t.EarlyDataHeaderName = 2048, pick(m.Rand, "Sec-WebSocket-Protocol", "X-Early")
		}
	}
	switch t.Type {
	case "tcp+http":
		t.Type, t.HeaderType = sandrone.TransportTCP, "http"
		web()
		hosts()
		hostHeader(t)
	case sandrone.TransportWebSocket:
		web()
		early()
		hostHeader(t)
	case sandrone.TransportGRPC:
		m.opt(&t.ServiceName, "GunService", "a/b c")
		m.opt(&t.GRPCMode, "multi")
		m.opt(&t.Authority, "authority.example.com")
		m.free(&t.UserAgent)
		m.seconds(&t.IdleTimeout)
		m.seconds(&t.PingTimeout)
		m.flag(&t.PermitWithoutStream)
	case sandrone.TransportHTTP:
		web()
		hosts()
		m.seconds(&t.IdleTimeout)
		m.seconds(&t.PingTimeout)
	case sandrone.TransportHTTPUpgrade:
		web()
		early()
		m.flag(&t.V2RayHTTPUpgradeFastOpen)
	case sandrone.TransportXHTTP:
		web()
		if x := m.xhttp(); x != nil {
			t.XHTTP = x
		}
	case sandrone.TransportQUIC:
		m.opt(&t.HeaderType, "srtp", "utp", "wechat-video", "dtls", "wireguard")
		if m.some() {
			t.QUICSecurity, t.QUICKey = pick(m.Rand, "aes-128-gcm", "chacha20-poly1305"), m.secret()
		}
	case sandrone.TransportKCP:
		m.opt(&t.HeaderType, "srtp", "utp", "wechat-video", "dtls", "wireguard", "dns")
		m.free(&t.Seed)
		var k sandrone.KCP
		m.number(&k.MTU, 576, 1460)
		m.number(&k.TTI, 10, 100)
		m.number(&k.UplinkCapacity, 1, 100)
		m.number(&k.DownlinkCapacity, 1, 100)
		m.flag(&k.Congestion)
		m.number(&k.ReadBufferSize, 1, 8)
		m.number(&k.WriteBufferSize, 1, 8)
		if k != (sandrone.KCP{}) {
			t.KCP = &k
		}
	}
	return t
}

func (m *maker) xhttp() *sandrone.XHTTP {
	if !m.some() {
		return nil
	}
	x := &sandrone.XHTTP{Mode: pick(m.Rand, "auto", "packet-up", "stream-up", "stream-one")}
	m.flag(&x.NoGRPCHeader)
	m.span(&x.XPaddingBytes)
	m.span(&x.SCMaxEachPostBytes)
	m.span(&x.SCMinPostsIntervalMS)
	m.span(&x.SCStreamUpServerSecs)
	x.ReuseSettings = m.reuse()
	if m.some() {
		x.Extra = sandrone.Raw{"xPaddingObfsMode": json.RawMessage("true"), "downloadX": json.RawMessage(`{"a":[1]}`)}
	}
	if x.Mode != "stream-one" && m.some() {
		d := &sandrone.XHTTPDownload{Server: "down.example.com", Port: m.port()}
		m.opt(&d.Path, "/down")
		m.opt(&d.Host, "down-host.example.com")
		m.headers(&d.Headers)
		m.opt(&d.Mode, "auto", "packet-up")
		if m.some() {
			d.TLS = m.tls()
		}
		d.ReuseSettings = m.reuse()
		x.DownloadSettings = d
	}
	return x
}

func (m *maker) reuse() *sandrone.XHTTPReuse {
	var r sandrone.XHTTPReuse
	m.span(&r.MaxConcurrency)
	m.span(&r.MaxConnections)
	m.span(&r.CMaxReuseTimes)
	m.span(&r.HMaxRequestTimes)
	m.span(&r.HMaxReusableSecs)
	m.number(&r.HKeepAlivePeriod, 1, 300)
	if r == (sandrone.XHTTPReuse{}) {
		return nil
	}
	return &r
}

func (m *maker) multiplex() *sandrone.Multiplex {
	if !m.some() {
		return nil
	}
	x := &sandrone.Multiplex{Enabled: true, Protocol: pick(m.Rand, "h2mux", "smux", "yamux", "mux.cool")}
	if x.Protocol == "mux.cool" {
		m.number(&x.Concurrency, 1, 8)
		m.number(&x.XUDPConcurrency, 1, 16)
		m.opt(&x.XUDPProxyUDP443, "reject", "allow", "skip")
		return x
	}
	m.number(&x.MaxConnections, 1, 8)
	m.number(&x.MinStreams, 1, 8)
	m.number(&x.MaxStreams, 1, 8)
	m.flag(&x.Padding)
	m.flag(&x.OnlyTCP)
	m.flag(&x.Statistic)
	if m.some() {
		x.Brutal = &sandrone.Brutal{Enabled: true, UpMbps: 1 + m.IntN(100), DownMbps: 1 + m.IntN(100)}
	}
	return x
}

func (m *maker) udpOverTCP() *sandrone.UDPOverTCP {
	if !m.some() {
		return nil
	}
	u := &sandrone.UDPOverTCP{Enabled: true}
	m.number(&u.Version, 1, 2)
	return u
}

func (m *maker) shadowTLS() *sandrone.ShadowTLS {
	s := &sandrone.ShadowTLS{Password: m.secret(), Host: m.serverName()}
	m.number(&s.Version, 1, 3)
	m.list(&s.ALPN, "h2", "http/1.1")
	if m.some() {
		s.Fingerprint = hex.EncodeToString(m.bytes(32))
	}
	if m.some() {
		s.Certificate, s.PrivateKey = certificate, privateKey
	}
	m.flag(&s.InsecureSkipVerify)
	m.opt(&s.ClientFingerprint, "chrome", "firefox")
	return s
}

// wrapped sometimes puts ShadowTLS around the node; it stands in for a rare
// thing, so it is rarer than other options.
func (m *maker) wrapped(n *sandrone.Node) {
	if m.some() && m.IntN(3) == 0 {
		n.ShadowTLS = m.shadowTLS()
	}
}

func (m *maker) dialer() (d sandrone.Dialer) {
	if m.IntN(4) == 0 {
		m.opt(&d.Proxy, Front)
	}
	m.flag(&d.TFO)
	m.flag(&d.MPTCP)
	m.tri(&d.UDPRelay)
	m.opt(&d.Interface, "eth0", "en0")
	m.number(&d.RoutingMark, 1, 1<<20)
	m.opt(&d.IPVersion, "dual", "ipv4", "ipv6", "ipv4-prefer", "ipv6-prefer")
	m.opt(&d.BlockQUIC, "auto", "on", "off")
	m.tri(&d.ECN)
	m.number(&d.TOS, 1, 255)
	m.number(&d.UDPPort, 1, 65535)
	m.tri(&d.NoErrorAlert)
	m.tri(&d.AllowOtherInterface)
	m.tri(&d.Hybrid)
	m.seconds(&d.ConnectTimeout)
	return d
}

func (m *maker) protocol(n *sandrone.Node) {
	switch n.Type {
	case sandrone.Shadowsocks:
		n.Cipher = pick(m.Rand, "aes-128-gcm", "aes-256-gcm", "chacha20-ietf-poly1305", "xchacha20-ietf-poly1305", "none", "2022-blake3-aes-128-gcm", "2022-blake3-aes-256-gcm")
		switch n.Cipher {
		case "2022-blake3-aes-128-gcm":
			n.Password = base64.StdEncoding.EncodeToString(m.bytes(16))
			if m.some() {
				n.Password += ":" + base64.StdEncoding.EncodeToString(m.bytes(16))
			}
		case "2022-blake3-aes-256-gcm":
			n.Password = m.key32()
		default:
			n.Password = m.secret()
		}
		m.plugin(n)
		if n.Plugin == "" && m.some() {
			n.Transport = m.transport()
			n.TLS = m.optionalTLS()
		}
		n.UDPOverTCP = m.udpOverTCP()
		n.Multiplex = m.multiplex()
	case sandrone.ShadowsocksR:
		n.Cipher = pick(m.Rand, "aes-256-cfb", "chacha20-ietf", "rc4-md5", "none")
		n.Password = m.secret()
		n.ShadowsocksR = &sandrone.ShadowsocksROptions{
			Protocol: pick(m.Rand, "origin", "auth_sha1_v4", "auth_aes128_md5", "auth_chain_a"),
			Obfs:     pick(m.Rand, "plain", "http_simple", "tls1.2_ticket_auth"),
		}
		m.opt(&n.ShadowsocksR.ProtocolParam, "12:user", "x y")
		m.opt(&n.ShadowsocksR.ObfsParam, "obfs.example.com")
		m.plugin(n)
	case sandrone.VMess:
		n.UUID = m.uuid()
		n.Cipher = pick(m.Rand, "auto", "auto", "aes-128-gcm", "chacha20-poly1305", "none", "zero")
		m.number(&n.AlterID, 1, 64)
		m.opt(&n.PacketEncoding, "xudp", "packetaddr", "none")
		m.stream(n)
		var o sandrone.VMessOptions
		m.flag(&o.GlobalPadding)
		m.flag(&o.AuthenticatedLength)
		if o != (sandrone.VMessOptions{}) {
			n.VMess = &o
		}
		m.wrapped(n)
	case sandrone.VLESS:
		n.UUID = m.uuid()
		n.Encryption = "none"
		m.opt(&n.Encryption, "mlkem768x25519plus.native.0rtt.bWxrZW0")
		m.opt(&n.PacketEncoding, "xudp", "packetaddr", "none")
		m.stream(n)
		if t := n.Transport; n.TLS != nil && (t == nil || t.Type == sandrone.TransportTCP && t.HeaderType == "") {
			m.opt(&n.Flow, "xtls-rprx-vision")
		}
		m.wrapped(n)
	case sandrone.Trojan:
		n.Password = m.secret()
		m.opt(&n.PacketEncoding, "xudp")
		m.stream(n)
		n.TLS = m.tls()
		if m.some() {
			n.Trojan = &sandrone.TrojanOptions{SSEnabled: true, SSMethod: pick(m.Rand, "aes-128-gcm", "chacha20-ietf-poly1305"), SSPassword: m.secret()}
		}
		m.wrapped(n)
	case sandrone.Hysteria, sandrone.Hysteria2:
		m.hysteria(n)
	case sandrone.TUIC:
		m.tuic(n)
	case sandrone.WireGuard:
		m.wireguard(n)
	case sandrone.Snell:
		m.snell(n)
	case sandrone.AnyTLS:
		n.Password = m.secret()
		n.TLS = m.tls()
		n.AnyTLS = new(sandrone.AnyTLSOptions)
		m.seconds(&n.AnyTLS.IdleSessionCheckInterval)
		m.seconds(&n.AnyTLS.IdleSessionTimeout)
		m.number(&n.AnyTLS.MinIdleSession, 1, 9)
		m.number(&n.AnyTLS.MaxStreamCount, 1, 99)
		m.tri(&n.AnyTLS.Reuse)
		m.wrapped(n)
	case sandrone.Mieru:
		n.Username, n.Password = m.secret(), m.secret()
		n.Mieru = &sandrone.MieruOptions{Transport: pick(m.Rand, "TCP", "UDP")}
		if m.some() {
			n.Port, n.Mieru.PortRange = 0, "2090-2099"
		}
		m.opt(&n.Mieru.Multiplexing, "MULTIPLEXING_OFF", "MULTIPLEXING_LOW", "MULTIPLEXING_MIDDLE", "MULTIPLEXING_HIGH", "MULTIPLEXING_DEFAULT")
		m.opt(&n.Mieru.HandshakeMode, "HANDSHAKE_STANDARD", "HANDSHAKE_NO_WAIT", "HANDSHAKE_DEFAULT")
		m.opt(&n.Mieru.TrafficPattern, "CCoQAQ==")
	case sandrone.SOCKS:
		m.login(n)
		n.TLS = m.optionalTLS()
		n.UDPOverTCP = m.udpOverTCP()
		m.headers(&n.Headers)
		m.opt(&n.Path, "/connect")
		m.wrapped(n)
	case sandrone.HTTP:
		m.login(n)
		n.TLS = m.optionalTLS()
		m.headers(&n.Headers)
		m.opt(&n.Path, "/connect")
		n.Multiplex = m.multiplex()
		m.wrapped(n)
	case sandrone.SSH:
		n.Username = m.secret()
		var o sandrone.SSHOptions
		switch m.IntN(4) {
		case 0:
			o.PrivateKey = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk=\n-----END OPENSSH PRIVATE KEY-----\n"
			m.free(&o.PrivateKeyPassphrase)
		case 1:
			o.PrivateKeyPath = "id_ed25519"
		default:
			n.Password = m.secret()
		}
		if m.some() {
			o.HostKeys = []string{m.hostKey()}
		}
		m.list(&o.HostKeyAlgorithms, "ssh-ed25519", "ecdsa-sha2-nistp256")
		m.opt(&o.ClientVersion, "SSH-2.0-OpenSSH_9.6")
		m.number(&o.IdleTimeout, 1, 600)
		if o.PrivateKey != "" || o.PrivateKeyPath != "" || o.HostKeys != nil || o.HostKeyAlgorithms != nil || o.ClientVersion != "" || o.IdleTimeout != 0 {
			n.SSH = &o
		}
		m.wrapped(n)
	case sandrone.Naive:
		m.login(n)
		n.TLS = m.tls()
		m.headers(&n.Headers)
		n.UDPOverTCP = m.udpOverTCP()
		var o sandrone.NaiveOptions
		m.flag(&o.QUIC)
		m.opt(&o.QUICCongestionControl, "bbr", "cubic")
		m.number(&o.InsecureConcurrency, 1, 4)
		m.tri(&o.Padding)
		if o != (sandrone.NaiveOptions{}) {
			n.Naive = &o
		}
	case sandrone.Direct:
	default:
		m.carried(n)
	}
}

func (m *maker) login(n *sandrone.Node) {
	if m.IntN(3) > 0 {
		n.Username = m.secret()
		if m.IntN(4) > 0 {
			n.Password = m.secret()
		}
	}
}

// stream fills what vmess, vless and trojan have in common.
func (m *maker) stream(n *sandrone.Node) {
	n.TLS = m.optionalTLS()
	n.Transport = m.transport()
	n.Multiplex = m.multiplex()
}

func (m *maker) hysteria(n *sandrone.Node) {
	n.TLS = m.tls()
	h := new(sandrone.HysteriaOptions)
	m.ports(&h.ServerPorts, &h.HopInterval)
	m.rate(&h.UpMbps, &h.Up)
	m.rate(&h.DownMbps, &h.Down)
	var q sandrone.HysteriaQUIC
	m.number(&q.RecvWindowConn, 1, 1<<24)
	m.number(&q.RecvWindow, 1, 1<<24)
	m.flag(&q.DisableMTUDiscovery)
	m.number(&q.InitialStreamReceiveWindow, 1, 1<<24)
	m.number(&q.MaxStreamReceiveWindow, 1, 1<<24)
	m.number(&q.InitialConnectionReceiveWindow, 1, 1<<24)
	m.number(&q.MaxConnectionReceiveWindow, 1, 1<<24)
	m.number(&q.Keepalive, 1, 60)
	if q != (sandrone.HysteriaQUIC{}) {
		h.QUIC = &q
	}
	if n.Type == sandrone.Hysteria {
		m.opt(&h.Protocol, "udp", "wechat-video", "faketcp")
		if m.IntN(4) == 0 {
			h.Auth = "/w=="
		} else {
			h.AuthStr = m.secret()
		}
		if m.some() {
			h.Obfs, h.ObfsPassword = "xplus", m.secret()
		}
		n.Hysteria = h
		return
	}
	n.Password = m.secret()
	if m.some() {
		h.Obfs, h.ObfsPassword = pick(m.Rand, "salamander", "salamander", "gecko"), m.secret()
	}
	if m.some() {
		h.Realm = &sandrone.HysteriaRealm{Enabled: true, ServerURL: "https://realm.example.com", Token: m.secret(), RealmID: "realm-1"}
		m.list(&h.Realm.STUNServers, "stun1.example.com:3478", "stun2.example.com:3478")
	}
	m.opt(&h.BBRProfile, "standard", "conservative", "aggressive")
	m.number(&h.CWND, 1, 64)
	m.number(&h.UDPMTU, 1200, 1500)
	// An object without any member is no object.
	if h.ServerPorts != nil || h.UpMbps != 0 || h.DownMbps != 0 || h.Up != "" || h.Down != "" || h.QUIC != nil || h.Obfs != "" || h.Realm != nil || h.BBRProfile != "" || h.CWND != 0 || h.UDPMTU != 0 {
		n.Hysteria = h
	}
}

func (m *maker) tuic(n *sandrone.Node) {
	n.TLS = m.tls()
	if m.IntN(4) == 0 {
		n.Token = m.secret()
	} else {
		n.UUID, n.Password = m.uuid(), m.secret()
	}
	// The options always say something, so that the object is never empty.
	t := &sandrone.TUICOptions{CongestionControl: pick(m.Rand, "cubic", "new_reno", "bbr")}
	m.opt(&t.UDPRelayMode, "native", "quic")
	m.flag(&t.ZeroRTTHandshake)
	m.flag(&t.ReduceRTT)
	m.seconds(&t.Heartbeat)
	m.flag(&t.UDPOverStream)
	m.number(&t.UDPOverStreamVersion, 1, 2)
	m.seconds(&t.RequestTimeout)
	m.number(&t.MaxUDPRelayPacketSize, 1200, 1500)
	m.number(&t.MaxOpenStreams, 1, 100)
	m.number(&t.CWND, 1, 64)
	m.opt(&t.IP, "192.0.2.9", "2001:db8::9")
	m.ports(&t.ServerPorts, &t.HopInterval)
	m.flag(&t.DisableMTUDiscovery)
	m.number(&t.RecvWindow, 1, 1<<24)
	m.number(&t.RecvWindowConn, 1, 1<<24)
	n.TUIC = t
}

func (m *maker) wireguard(n *sandrone.Node) {
	w := &sandrone.WireGuardOptions{PrivateKey: m.key32(), Address: []string{"10.0.0.2/32"}, IP: "10.0.0.2"}
	if m.some() {
		w.Address, w.IPv6 = append(w.Address, "fd00::2/128"), "fd00::2"
	}
	peers := 1
	if m.some() && m.IntN(2) == 0 {
		peers = 2
	}
	m.number(&w.MTU, 1280, 1500)
	m.number(&w.Workers, 1, 8)
	m.number(&w.PersistentKeepalive, 1, 60)
	m.number(&w.ListenPort, 1, 65535)
	m.list(&w.DNS, "192.0.2.53", "2001:db8::53")
	m.flag(&w.RemoteDNSResolve)
	m.flag(&w.System)
	if m.some() {
		w.Reserved = []int{1 + m.IntN(255), m.IntN(256), m.IntN(256)}
	}
	if m.some() {
		w.Amnezia = map[string]any{"jc": 3, "jmin": 40, "jmax": 70, "s1": 15, "h1": 123456, "i1": "<b 0xf6ab>"}
	}
	for range peers {
		p := sandrone.WireGuardPeer{Server: n.Server, Port: n.Port, PublicKey: m.key32()}
		if peers > 1 {
			p.Server, p.Port = m.host(), m.port()
		}
		if m.some() {
			p.PreSharedKey = m.key32()
		}
		m.list(&p.AllowedIPs, "0.0.0.0/0", "::/0")
		switch {
		case w.Reserved != nil:
			p.Reserved = slices.Clone(w.Reserved)
		case m.some():
			p.Reserved = []int{m.IntN(256), m.IntN(256), 1 + m.IntN(255)}
		}
		m.number(&p.PersistentKeepalive, 1, 60)
		w.Peers = append(w.Peers, p)
	}
	n.WireGuard = w
}

func (m *maker) snell(n *sandrone.Node) {
	n.Password = m.secret()
	s := &sandrone.SnellOptions{Version: pick(m.Rand, 1, 2, 3, 4, 5, 6)}
	switch {
	case !m.some():
	case m.IntN(3) == 0:
		s.ShadowTLS = m.shadowTLS()
	default:
		s.Obfs, s.ObfsHost = pick(m.Rand, "http", "tls"), "obfs.example.com"
		m.opt(&s.ObfsURI, "/o")
	}
	if s.Version == 2 || s.Version >= 4 {
		m.tri(&s.Reuse)
	}
	if s.Version == 6 {
		m.opt(&s.Mode, "default", "unshaped", "unsafe-raw")
	}
	if s.Version >= 4 {
		m.free(&s.UserKey)
	}
	m.opt(&s.ClientFingerprint, "chrome", "firefox")
	n.Snell = s
}

// carried fills a protocol of which only identity and endpoint are modelled.
func (m *maker) carried(n *sandrone.Node) {
	switch n.Type {
	case sandrone.Juicity:
		n.UUID, n.Password = m.uuid(), m.secret()
	case sandrone.TrustTunnel:
		n.Username, n.Password = m.secret(), m.secret()
		m.headers(&n.Headers)
	case sandrone.H2Connect:
		m.login(n)
		m.headers(&n.Headers)
	}
	if n.Type.MandatoryTLS() {
		n.TLS = &sandrone.TLS{Enabled: true}
	}
	n.Opaque = &sandrone.Opaque{
		Family:  pick(m.Rand, "mihomo", "sing-box", "surge", "uri"),
		Options: json.RawMessage(pick(m.Rand, `{}`, `{"zeta":1,"alpha":"x","list":[true,null]}`, `{"tls":{"sni":"a.example.com"},"n":1.5}`)),
	}
}
