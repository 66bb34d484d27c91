package mihomo

import (
	"github.com/sandrone-gateway/sandrone"
	f "github.com/sandrone-gateway/sandrone/convert/field"
	"github.com/sandrone-gateway/sandrone/convert/table"
)

// What each protocol is in a mihomo file. Keys are those of the client's own
// documentation; further keys of a row are spellings that files in the wild
// and Stash use.

var (
	key     = table.Key[string]
	flag    = table.Key[bool]
	number  = table.Key[int]
	words   = table.Key[[]string]
	rows    = table.Group
	in      = table.In
	ignored = table.Ignore("country", "delay", "alive")
)

var dialect = table.Dialect{
	Family: "mihomo",
	Raw:    "mihomo.",
	Source: sandrone.SourceRef{Kind: "client-doc", Name: "Mihomo proxies", URL: "https://wiki.metacubex.one/config/proxies/", Revision: "v1.19.28"},
	Sorted: true,
	First:  []string{"name", "type", "server", "port"},

	Reserved: []string{"DIRECT", "REJECT", "REJECT-DROP", "COMPATIBLE", "PASS", "PASS-RULE", "GLOBAL"},

	Versions: []table.Version{table.V("1.18"), table.V("1.19")},
	Default:  table.V("1.19"),

	Protocols: []table.Protocol{
		{Type: sandrone.Shadowsocks, Rows: shadowsocks},
		{Type: sandrone.ShadowsocksR, Rows: shadowsocksR},
		{Type: sandrone.VMess, Rows: vmess},
		{Type: sandrone.VLESS, Rows: vless},
		{Type: sandrone.Trojan, Rows: trojan},
		{Type: sandrone.Hysteria, Rows: hysteria},
		{Type: sandrone.Hysteria2, Rows: hysteria2},
		{Type: sandrone.TUIC, Rows: tuic},
		{Type: sandrone.WireGuard, Rows: wireguard},
		{Type: sandrone.Snell, Rows: snell},
		{Type: sandrone.AnyTLS, Rows: anytls, Since: "1.19"},
		{Type: sandrone.Mieru, Rows: mieru, Since: "1.19"},
		{Type: sandrone.SOCKS, Rows: socks},
		{Type: sandrone.HTTP, Rows: http},
		{Type: sandrone.SSH, Rows: ssh},
		{Type: sandrone.Direct, Rows: direct},
		{Type: sandrone.MASQUE, Rows: carried(sandrone.MASQUE), Since: "1.19"},
		{Type: sandrone.TrustTunnel, Rows: carried(sandrone.TrustTunnel), Since: "1.19"},
		{Type: sandrone.OpenVPN, Rows: carried(sandrone.OpenVPN), Since: "1.19"},
		{Type: sandrone.Tailscale, Rows: carried(sandrone.Tailscale), Since: "1.19"},
		{Type: sandrone.Sudoku, Rows: carried(sandrone.Sudoku), Since: "1.19"},
		{Type: sandrone.GOSTRelay, Rows: carried(sandrone.GOSTRelay), Since: "1.19"},
		{Type: sandrone.Juicity, Rows: carried(sandrone.Juicity), ReadOnly: true},
		{Type: sandrone.ZeroTier, Rows: carried(sandrone.ZeroTier), ReadOnly: true},
		{Type: sandrone.ShadowQUIC, Rows: carried(sandrone.ShadowQUIC), ReadOnly: true},
	},
}

// head is what every proxy begins with; word is the client's name of the type.
func head(word string) []table.Row {
	return rows(table.Name("name"), table.Const("type", word), key(f.Server, "server"), table.Port("port"))
}

// dial is how the client makes the proxy's own connection.
func dial(fastOpen ...string) []table.Row {
	return rows(
		flag(f.Dialer.TFO, fastOpen...),
		flag(f.Dialer.MPTCP, "mptcp"),
		key(f.Dialer.Interface, "interface-name"),
		number(f.Dialer.RoutingMark, "routing-mark"),
		table.KeyAs(f.Dialer.IPVersion, table.Among("dual", "ipv4", "ipv6", "ipv4-prefer", "ipv6-prefer"), "ip-version"),
		table.ViaProxy("dialer-proxy", "underlying-proxy"),
		table.MetaKey(f.MetaTestURL, "benchmark-url", "test-url").ReadOnly(),
		table.MetaKey(f.MetaTestTimeout, "benchmark-timeout").ReadOnly(),
		ignored,
	)
}

// tls is the TLS layer; name are the keys of the server name.
func tls(name ...string) []table.Row {
	return rows(
		key(f.TLS.ServerName, name...),
		flag(f.TLS.Insecure, "skip-cert-verify"),
		words(f.TLS.ALPN, "alpn"),
		table.KeyAs(f.TLS.Fingerprint, pin, "fingerprint", "server-cert-fingerprint"),
		table.KeyAs(f.TLS.Certificate, certificate, "certificate"),
		table.KeyAs(f.TLS.PrivateKey, certificate, "private-key"),
		readOnlyTLS, pairFits,
	)
}

// readOnlyTLS are keys that files carry and the client does not know.
var readOnlyTLS = rows(
	words(f.TLS.VerifyNames, "name-cert-verify").ReadOnly(),
	key(f.TLS.CAPath, "ca").ReadOnly(),
	key(f.TLS.CA, "ca-str").ReadOnly(),
)

var (
	hello       = table.KeyAs(f.TLS.ClientFingerprint, table.Lower, "client-fingerprint")
	helloIgnore = hello.ReadOnly()
	disableSNI  = flag(f.TLS.DisableSNI, "disable-sni").ReadOnly()
	always      = table.Implied(f.TLS.Enabled, true)

	ech = echOf(f.TLS)

	reality = realityOf(f.TLS)
)

func echOf(t f.TLSFields) table.Row {
	return in("ech-opts",
		flag(t.ECHEnabled, "enable"),
		table.KeyAs(t.ECHConfig, echConfig, "config"),
		key(t.ECHQueryServerName, "query-server-name"),
	).Since("1.19")
}

func realityOf(t f.TLSFields) table.Row {
	return in("reality-opts",
		table.States(t.RealityEnabled, true),
		table.KeyAs(t.RealityPublicKey, table.RealityKey, "public-key"),
		table.KeyAs(t.RealityShortID, table.Quoted, "short-id"),
		key(t.RealitySpiderX, "spider-x").ReadOnly(),
		table.RawKey("support-x25519mlkem768"),
	)
}

var smux = in("smux",
	flag(f.Multiplex.Enabled, "enabled"),
	table.KeyAs(f.Multiplex.Protocol, table.Among("smux", "yamux", "h2mux"), "protocol"),
	number(f.Multiplex.MaxConnections, "max-connections"),
	number(f.Multiplex.MinStreams, "min-streams"),
	number(f.Multiplex.MaxStreams, "max-streams"),
	flag(f.Multiplex.Padding, "padding"),
	flag(f.Multiplex.Statistic, "statistic"),
	flag(f.Multiplex.OnlyTCP, "only-tcp"),
	in("brutal-opts",
		flag(f.Multiplex.BrutalEnabled, "enabled"),
		table.KeyAs(f.Multiplex.BrutalUpMbps, mbps, "up"),
		table.KeyAs(f.Multiplex.BrutalDownMbps, mbps, "down"),
	),
).When(sessionMux).Only("smux, yamux and h2mux")

// transport is how the stream is framed. The network stands first: the
// conditions of the other rows read what it set.
func transport(networks ...string) []table.Row {
	return rows(
		network(networks...),
		in("ws-opts",
			upgrade,
			wsPath,
			headersWithHost("headers"),
			number(f.Transport.MaxEarlyData, "max-early-data"),
			key(f.Transport.EarlyDataHeader, "early-data-header-name"),
			flag(f.Transport.FastOpen, "v2ray-http-upgrade-fast-open").When(httpUpgrade),
		).When(webSocket),
		wsPathOld, wsHeadersOld,
		in("grpc-opts",
			key(f.Transport.ServiceName, "grpc-service-name"),
			table.KeyAs(f.Transport.GRPCMode, grpcMode, "grpc-mode").ReadOnly(),
			key(f.Transport.Authority, "grpc-authority").ReadOnly(),
			table.RawKey("grpc-user-agent", "ping-interval", "max-connections", "min-streams", "max-streams"),
		).When(grpc),
		in("h2-opts", hosts, key(f.Transport.Path, "path")).When(http2),
		in("http-opts",
			key(f.Transport.Method, "method"),
			firstPath,
			firstHeaders,
		).When(httpHeader),
		xhttpOpts,
		table.Limited("websocket, httpupgrade, xhttp and http headers over tcp", f.Transport.Headers.Info),
		table.Limited("http headers over tcp", f.Transport.Method.Info),
		table.Limited("http and http headers over tcp", f.Transport.Hosts.Info),
	)
}

var xhttpOpts = in("xhttp-opts",
	table.Refuse(f.Transport.XHTTPMode.Info, func(n *sandrone.Node) string {
		if x := n.Transport.XHTTP; x != nil && x.Mode == "stream-one" && x.DownloadSettings != nil {
			return "stream-one has no separate way down"
		}
		return ""
	}),
	key(f.Transport.Path, "path"),
	key(f.Transport.Host, "host"),
	headersWithoutHost("headers"),
	table.KeyAs(f.Transport.XHTTPMode, table.Among("auto", "packet-up", "stream-up", "stream-one"), "mode"),
	flag(f.Transport.NoGRPCHeader, "no-grpc-header"),
	key(f.Transport.XPaddingBytes, "x-padding-bytes"),
	key(f.Transport.SCMaxEachPostBytes, "sc-max-each-post-bytes"),
	key(f.Transport.SCMinPostsIntervalMS, "sc-min-posts-interval-ms"),
	reuse(f.Transport.Reuse),
	in("download-settings",
		key(f.Download.Server, "server"),
		table.Key(f.Download.Port, "port"),
		key(f.Download.Path, "path"),
		key(f.Download.Host, "host"),
		table.Key(f.Download.Headers, "headers"),
		key(f.Download.Mode, "mode").ReadOnly(),
		flag(f.Download.TLS.Enabled, "tls"),
		key(f.Download.TLS.ServerName, "servername", "sni"),
		flag(f.Download.TLS.Insecure, "skip-cert-verify"),
		words(f.Download.TLS.ALPN, "alpn"),
		table.KeyAs(f.Download.TLS.ClientFingerprint, table.Lower, "client-fingerprint"),
		table.KeyAs(f.Download.TLS.Fingerprint, pin, "fingerprint"),
		table.KeyAs(f.Download.TLS.Certificate, certificate, "certificate"),
		table.KeyAs(f.Download.TLS.PrivateKey, certificate, "private-key"),
		echOf(f.Download.TLS), realityOf(f.Download.TLS),
		reuse(f.Download.Reuse),
	),
).When(xhttp).Since("1.19")

func reuse(r f.ReuseFields) table.Row {
	return in("reuse-settings",
		key(r.MaxConcurrency, "max-concurrency"),
		key(r.MaxConnections, "max-connections"),
		key(r.CMaxReuseTimes, "c-max-reuse-times"),
		key(r.HMaxRequestTimes, "h-max-request-times"),
		key(r.HMaxReusableSecs, "h-max-reusable-secs"),
		number(r.HKeepAlivePeriod, "h-keep-alive-period"),
	)
}

var shadowsocks = rows(
	head("ss"),
	table.KeyAs(f.Cipher, ciphers(ssCiphers), "cipher"),
	table.KeyAs(f.Password, table.Text, "password").Always(),
	table.SS2022, pluginFits,
	plugin, pluginOptions, pluginHello, obfsOld, obfsHostOld,
	flag(f.UDPOverTCP.Enabled, "udp-over-tcp"),
	table.KeyAs(f.UDPOverTCP.Version, uotVersion, "udp-over-tcp-version"),
	udp, smux, dial("tfo"),
)

var shadowsocksR = rows(
	head("ssr"),
	table.KeyAs(f.Cipher, ciphers(ssrCiphers), "cipher"),
	key(f.Password, "password"),
	table.KeyAs(f.ShadowsocksR.Protocol, table.Among(ssrProtocols...), "protocol"),
	key(f.ShadowsocksR.ProtocolParam, "protocol-param", "protocolparam"),
	table.KeyAs(f.ShadowsocksR.Obfs, table.Among(ssrObfs...), "obfs"),
	key(f.ShadowsocksR.ObfsParam, "obfs-param", "obfsparam"),
	udp, dial("tfo"),
)

var vmess = rows(
	head("vmess"),
	key(f.UUID, "uuid"),
	number(f.AlterID, "alterId", "alterid").Always(),
	table.KeyAs(f.Cipher, table.Among("auto", "none", "zero", "aes-128-gcm", "chacha20-poly1305", "aes-128-cfb"), "cipher").Always(),
	packetEncoding, xudp, packetAddr,
	flag(f.VMess.GlobalPadding, "global-padding"),
	flag(f.VMess.AuthenticatedLength, "authenticated-length"),
	flag(f.TLS.Enabled, "tls"),
	tls("servername", "sni"), hello, ech, reality, disableSNI,
	transport("tcp", "ws", "httpupgrade", "http", "h2", "grpc"),
	udp, smux, dial("tfo", "fast-open"),
)

var vless = rows(
	head("vless"),
	key(f.UUID, "uuid"),
	table.Flow("flow"),
	table.KeyAs(f.Encryption, encryption, "encryption").Since("1.19"),
	packetEncoding, xudp, packetAddr,
	flag(f.TLS.Enabled, "tls"),
	tls("servername", "sni"), hello, ech, reality, disableSNI,
	transport("tcp", "ws", "httpupgrade", "http", "h2", "grpc", "xhttp"),
	udp, smux, dial("tfo"),
)

var trojan = rows(
	head("trojan"),
	key(f.Password, "password"),
	table.Ignore("tls"), always,
	tls("sni", "servername"), hello, ech, reality, disableSNI,
	transport("tcp", "ws", "httpupgrade", "grpc"),
	in("ss-opts",
		flag(f.Trojan.SSEnabled, "enabled"),
		table.KeyAs(f.Trojan.SSMethod, table.Among(trojanCiphers...), "method"),
		key(f.Trojan.SSPassword, "password"),
	),
	udp, smux, dial("tfo"),
)

var hysteria = rows(
	head("hysteria"),
	portSet, hopSeconds,
	key(f.Hysteria.Protocol, "protocol", "obfs-protocol"),
	rate("up", f.Hysteria.UpMbps, f.Hysteria.Up).Alias("up-speed"),
	rate("down", f.Hysteria.DownMbps, f.Hysteria.Down).Alias("down-speed"),
	table.HysteriaAuth("auth"),
	key(f.Hysteria.AuthStr, "auth-str", "auth_str"),
	obfsPassword,
	quicV1,
	table.Ignore("tls"), always,
	tls("sni", "servername"), helloIgnore, ech, disableSNI,
	udpAssumed, dial("fast-open", "tfo"),
	bothRates,
)

var hysteria2 = rows(
	head("hysteria2"),
	portSet, hopInterval,
	table.KeyAs(f.Password, table.Text, "password", "auth"),
	rate("up", f.Hysteria.UpMbps, f.Hysteria.Up).Alias("up-speed"),
	rate("down", f.Hysteria.DownMbps, f.Hysteria.Down).Alias("down-speed"),
	table.KeyAs(f.Hysteria.Obfs, table.Among("salamander", "gecko"), "obfs"),
	key(f.Hysteria.ObfsPassword, "obfs-password"),
	realmFits,
	number(f.Hysteria.CWND, "cwnd"),
	number(f.Hysteria.UDPMTU, "udp-mtu"),
	key(f.Hysteria.BBRProfile, "bbr-profile"),
	in("realm-opts",
		flag(f.Hysteria.RealmEnabled, "enable"),
		key(f.Hysteria.RealmServerURL, "server-url"),
		key(f.Hysteria.RealmToken, "token"),
		key(f.Hysteria.RealmID, "realm-id"),
		words(f.Hysteria.RealmSTUNServers, "stun-servers"),
	),
	number(f.Hysteria.InitialStreamWindow, "initial-stream-receive-window"),
	number(f.Hysteria.MaxStreamWindow, "max-stream-receive-window"),
	number(f.Hysteria.InitialConnWindow, "initial-connection-receive-window"),
	number(f.Hysteria.MaxConnWindow, "max-connection-receive-window"),
	number(f.Hysteria.RecvWindowConn, "recv-window-conn").ReadOnly(),
	number(f.Hysteria.RecvWindow, "recv-window").ReadOnly(),
	flag(f.Hysteria.DisableMTUDiscovery, "disable-mtu-discovery", "disable_mtu_discovery").ReadOnly(),
	table.RawKey("masquerade", "obfs-min-packet-size", "obfs-max-packet-size"),
	table.Ignore("tls"), always,
	tls("sni", "servername"), helloIgnore, ech, disableSNI,
	udpAssumed, dial("tfo", "fast-open"),
)

var tuic = rows(
	head("tuic"),
	key(f.Token, "token"),
	key(f.UUID, "uuid"),
	key(f.Password, "password"),
	key(f.TUIC.IP, "ip"),
	table.KeyAs(f.TUIC.Heartbeat, milliseconds, "heartbeat-interval"),
	flag(f.TUIC.ReduceRTT, "reduce-rtt"), zeroRTT,
	table.KeyAs(f.TUIC.RequestTimeout, milliseconds, "request-timeout"),
	table.KeyAs(f.TUIC.UDPRelayMode, table.Lower, "udp-relay-mode"),
	table.KeyAs(f.TUIC.CongestionControl, congestion, "congestion-controller"),
	number(f.TUIC.MaxUDPRelayPacketSize, "max-udp-relay-packet-size"),
	number(f.TUIC.MaxOpenStreams, "max-open-streams"),
	flag(f.TUIC.UDPOverStream, "udp-over-stream"),
	table.KeyAs(f.TUIC.UDPOverStreamVersion, uotVersion, "udp-over-stream-version"),
	number(f.TUIC.CWND, "cwnd"),
	number(f.TUIC.RecvWindow, "recv-window"),
	number(f.TUIC.RecvWindowConn, "recv-window-conn"),
	flag(f.TUIC.DisableMTUDiscovery, "disable-mtu-discovery", "disable_mtu_discovery"),
	table.RawKey("bbr-profile", "max-datagram-frame-size"),
	flag(f.TLS.DisableSNI, "disable-sni"),
	table.Ignore("tls", "version"), always,
	tls("sni", "servername"), helloIgnore, ech,
	udpAssumed, dial("fast-open", "tfo"),
)

var wireguard = rows(
	head("wireguard"),
	address,
	table.KeyAs(f.WireGuard.PrivateKey, table.Key32, "private-key"),
	onePeer(
		table.KeyAs(f.Peer.PublicKey, table.Key32, "public-key"),
		table.KeyAs(f.Peer.PreSharedKey, table.Key32, "pre-shared-key", "preshared-key"),
		table.Key(f.Peer.Reserved, "reserved"),
		words(f.Peer.AllowedIPs, "allowed-ips"),
	),
	peerEndpoint, peerKeepalive,
	table.Key(f.WireGuard.Reserved, "reserved").ReadOnly(), reservedByPeers,
	table.EachPeer("peers",
		key(f.Peer.Server, "server"),
		table.Key(f.Peer.Port, "port"),
		table.KeyAs(f.Peer.PublicKey, table.Key32, "public-key"),
		table.KeyAs(f.Peer.PreSharedKey, table.Key32, "pre-shared-key", "preshared-key"),
		table.Key(f.Peer.Reserved, "reserved"),
		words(f.Peer.AllowedIPs, "allowed-ips"), everywhere,
		number(f.Peer.PersistentKeepalive, "persistent-keepalive").ReadOnly(),
	).When(severalPeers),
	number(f.WireGuard.MTU, "mtu"),
	number(f.WireGuard.Workers, "workers"),
	number(f.WireGuard.PersistentKeepalive, "persistent-keepalive", "keepalive"),
	words(f.WireGuard.DNS, "dns"),
	flag(f.WireGuard.RemoteDNSResolve, "remote-dns-resolve"),
	table.Key(f.WireGuard.Amnezia, "amnezia-wg-option"),
	table.RawKey("refresh-server-ip-interval"),
	udp, dial("tfo"),
)

var snell = rows(
	head("snell"),
	key(f.Password, "psk"),
	table.KeyAs(f.Snell.Version, snellVersion, "version"),
	table.Key(f.Snell.Reuse, "reuse"),
	table.KeyAs(f.Snell.ClientFingerprint, table.Lower, "client-fingerprint"),
	in("obfs-opts",
		snellMode,
		key(f.Snell.ObfsHost, "host").When(plainObfs),
		key(f.Snell.ShadowTLS.Host, "host").When(shadowTLS),
		key(f.Snell.ShadowTLS.Password, "password").When(shadowTLS),
		number(f.Snell.ShadowTLS.Version, "version").When(shadowTLS),
		words(f.Snell.ShadowTLS.ALPN, "alpn").When(shadowTLS),
		table.KeyAs(f.Snell.ShadowTLS.Fingerprint, pin, "fingerprint").When(shadowTLS),
		table.KeyAs(f.Snell.ShadowTLS.Certificate, certificate, "certificate").When(shadowTLS),
		table.KeyAs(f.Snell.ShadowTLS.PrivateKey, certificate, "private-key").When(shadowTLS),
		flag(f.Snell.ShadowTLS.Insecure, "skip-cert-verify").When(shadowTLS),
	),
	udp, table.Limited("off, or on from version 3", f.Dialer.UDPRelay.Info), dial("tfo"),
)

var anytls = rows(
	head("anytls"),
	key(f.Password, "password"),
	table.KeyAs(f.AnyTLS.CheckInterval, seconds, "idle-session-check-interval"),
	table.KeyAs(f.AnyTLS.Timeout, seconds, "idle-session-timeout"),
	number(f.AnyTLS.MinIdle, "min-idle-session"),
	table.Ignore("tls"), always,
	tls("sni", "servername"), hello, ech, disableSNI,
	udp, dial("tfo"),
)

var mieru = rows(
	head("mieru"),
	table.KeyAs(f.Mieru.PortRange, portRange, "port-range"),
	table.KeyAs(f.Mieru.Transport, oneOf("", "TCP", "UDP"), "transport"),
	table.KeyAs(f.Username, short64, "username"),
	table.KeyAs(f.Password, short64, "password"),
	table.KeyAs(f.Mieru.Multiplexing, oneOf("MULTIPLEXING_", "OFF", "LOW", "MIDDLE", "HIGH", "DEFAULT"), "multiplexing"),
	table.KeyAs(f.Mieru.HandshakeMode, oneOf("HANDSHAKE_", "DEFAULT", "STANDARD", "NO_WAIT"), "handshake-mode"),
	table.KeyAs(f.Mieru.TrafficPattern, trafficPattern, "traffic-pattern"),
	udp, dial("tfo"),
)

// The client's socks5 has no server name of its own: it verifies the server's.
var socks = rows(
	head("socks5"),
	key(f.Username, "username"),
	key(f.Password, "password"),
	flag(f.TLS.Enabled, "tls"),
	key(f.TLS.ServerName, "sni", "servername").ReadOnly(), serverIsName,
	flag(f.TLS.Insecure, "skip-cert-verify"),
	table.KeyAs(f.TLS.Fingerprint, pin, "fingerprint", "server-cert-fingerprint"),
	table.KeyAs(f.TLS.Certificate, certificate, "certificate"),
	table.KeyAs(f.TLS.PrivateKey, certificate, "private-key"),
	words(f.TLS.ALPN, "alpn").ReadOnly(), helloIgnore, readOnlyTLS, pairFits, disableSNI,
	udp, dial("tfo"),
)

var http = rows(
	head("http"),
	key(f.Username, "username"),
	key(f.Password, "password"),
	flag(f.TLS.Enabled, "tls"),
	key(f.TLS.ServerName, "sni", "servername"),
	flag(f.TLS.Insecure, "skip-cert-verify"),
	table.KeyAs(f.TLS.Fingerprint, pin, "fingerprint", "server-cert-fingerprint"),
	table.KeyAs(f.TLS.Certificate, certificate, "certificate"),
	table.KeyAs(f.TLS.PrivateKey, certificate, "private-key"),
	words(f.TLS.ALPN, "alpn").ReadOnly(), helloIgnore, readOnlyTLS, pairFits, disableSNI,
	table.Key(f.Headers, "headers"),
	dial("tfo"),
)

var ssh = rows(
	head("ssh"),
	key(f.Username, "username"),
	key(f.Password, "password"),
	table.KeyAs(f.SSH.PrivateKey, pem, "private-key"),
	key(f.SSH.PrivateKeyPassphrase, "private-key-passphrase"),
	table.KeyAs(f.SSH.HostKeys, table.HostKeys, "host-key"),
	words(f.SSH.HostKeyAlgorithms, "host-key-algorithms"),
	dial("tfo"),
)

var direct = rows(
	table.Name("name"), table.Const("type", "direct"),
	table.Key(f.Dialer.UDPRelay, "udp"),
	dial("tfo"),
)

// carried is a protocol whose options are carried as they are.
func carried(t sandrone.Type) []table.Row {
	return table.Carried(t, rows(head(string(t)), table.Key(f.Dialer.UDPRelay, "udp"), dial("tfo"))...)
}
