package singbox

import (
	"github.com/sandrone-gateway/sandrone"
	f "github.com/sandrone-gateway/sandrone/convert/field"
	"github.com/sandrone-gateway/sandrone/convert/table"
)

// What each protocol is in a sing-box file. Keys and their order are those of
// the client's own documentation.

var (
	key    = table.Key[string]
	flag   = table.Key[bool]
	number = table.Key[int]
	words  = table.Key[[]string]
	rows   = table.Group
	in     = table.In
)

const rawPrefix = "sing-box."

var dialect = table.Dialect{
	Family: "sing-box",
	Raw:    rawPrefix,
	Source: sandrone.SourceRef{Kind: "client-doc", Name: "sing-box outbounds and endpoints", URL: "https://sing-box.sagernet.org/configuration/outbound/", Revision: "v1.13.14"},

	Versions: []table.Version{table.V("1.11"), table.V("1.12"), table.V("1.13"), table.V("1.14")},
	Default:  table.V("1.13"),

	Protocols: []table.Protocol{
		{Type: sandrone.Shadowsocks, Rows: shadowsocks, Also: wrapper(shadowTLSOfPlugin), AlsoRaw: wrapperRaw},
		{Type: sandrone.VMess, Rows: vmess, Also: wrapper(shadowTLS(f.ShadowTLS)), AlsoRaw: wrapperRaw},
		{Type: sandrone.VLESS, Rows: vless, Also: wrapper(shadowTLS(f.ShadowTLS)), AlsoRaw: wrapperRaw},
		{Type: sandrone.Trojan, Rows: trojan, Also: wrapper(shadowTLS(f.ShadowTLS)), AlsoRaw: wrapperRaw},
		{Type: sandrone.Hysteria, Rows: hysteria},
		{Type: sandrone.Hysteria2, Rows: hysteria2},
		{Type: sandrone.TUIC, Rows: tuic},
		{Type: sandrone.WireGuard, Rows: wireguard},
		{Type: sandrone.Snell, Rows: snell, Also: wrapper(shadowTLS(f.Snell.ShadowTLS)), AlsoRaw: wrapperRaw, Since: "1.14"},
		{Type: sandrone.AnyTLS, Rows: anytls, Also: wrapperBy(shadowTLS(f.ShadowTLS), flag(f.Dialer.TFO, "tcp_fast_open").Only("true inside shadow_tls")), AlsoRaw: wrapperRaw, Since: "1.12"},
		{Type: sandrone.SOCKS, Rows: socks, Also: wrapper(shadowTLS(f.ShadowTLS)), AlsoRaw: wrapperRaw},
		{Type: sandrone.HTTP, Rows: http, Also: wrapper(shadowTLS(f.ShadowTLS)), AlsoRaw: wrapperRaw},
		{Type: sandrone.SSH, Rows: ssh, Also: wrapper(shadowTLS(f.ShadowTLS)), AlsoRaw: wrapperRaw},
		{Type: sandrone.Naive, Rows: naive, Since: "1.13"},
		{Type: sandrone.Direct, Rows: direct},
		{Type: sandrone.Tailscale, Rows: carried("tailscale"), Since: "1.12"},
		{Type: sandrone.Tor, Rows: carried("tor")},
	},
}

// types are the client's words for protocols.
var types = map[string]sandrone.Type{
	"shadowsocks": sandrone.Shadowsocks,
	"vmess":       sandrone.VMess,
	"vless":       sandrone.VLESS,
	"trojan":      sandrone.Trojan,
	"hysteria":    sandrone.Hysteria,
	"hysteria2":   sandrone.Hysteria2,
	"tuic":        sandrone.TUIC,
	"wireguard":   sandrone.WireGuard,
	"snell":       sandrone.Snell,
	"anytls":      sandrone.AnyTLS,
	"socks":       sandrone.SOCKS,
	"http":        sandrone.HTTP,
	"ssh":         sandrone.SSH,
	"naive":       sandrone.Naive,
	"direct":      sandrone.Direct,
	"tailscale":   sandrone.Tailscale,
	"tor":         sandrone.Tor,
}

// head is what every entry begins with; word is the client's name of the type.
// A node inside ShadowTLS has its endpoint in the outbound it goes through; in
// the inner one only TLS looks at it, for a server name.
func head(word string) []table.Row {
	return rows(table.Const("type", word), table.Name("tag"),
		key(f.Server, "server").WriteWhen(addressed), table.Port("server_port").WriteWhen(addressed))
}

// dial is how the client makes the connection of a node.
func dial() []table.Row { return dialBy(flag(f.Dialer.TFO, "tcp_fast_open")) }

func dialBy(fastOpen table.Row) []table.Row {
	return rows(
		table.ViaProxy("detour").WriteWhen(bare),
		throughWrapper,
		connection(bare, fastOpen),
	)
}

// connection are the dial fields other than the detour, for nodes that meet
// the condition.
func connection(c table.Cond, fastOpen table.Row) []table.Row {
	return rows(
		key(f.Dialer.Interface, "bind_interface").WriteWhen(c),
		table.KeyAs(f.Dialer.RoutingMark, mark, "routing_mark").WriteWhen(c),
		fastOpen.WriteWhen(c),
		flag(f.Dialer.MPTCP, "tcp_multi_path").WriteWhen(c),
		table.KeyAs(f.Dialer.ConnectTimeout, duration, "connect_timeout").WriteWhen(c),
		ipVersion(c),
	)
}

// ipVersion is the address family. Since 1.12 it needs a resolver, which a
// list of nodes does not have, unless the node brought one.
func ipVersion(c table.Cond) []table.Row {
	return rows(
		table.KeyAs(f.Dialer.IPVersion, strategy, "domain_strategy").Until("1.12").WriteWhen(c),
		in("domain_resolver", resolverStrategy).Since("1.12").WriteWhen(c),
		table.Implied(f.Dialer.IPVersion, "dual").Only("dual"),
	)
}

// tls is the TLS layer of protocols over TCP.
func tls() table.Row {
	return in("tls", tlsRows(hello, ech, in("reality",
		flag(f.TLS.RealityEnabled, "enabled"),
		table.KeyAs(f.TLS.RealityPublicKey, table.RealityKey, "public_key"),
		key(f.TLS.RealityShortID, "short_id"),
	).WriteWhen(reality).Only("outside of the quic transport"))...).WriteWhen(tlsOn)
}

// quicTLS is the TLS layer of protocols over QUIC, which knows no imitated
// hello and no REALITY: the client takes the keys and then fails to connect.
func quicTLS() table.Row {
	return in("tls", tlsRows(helloRead, ech, realityUnwritten)...)
}

// naiveTLS is the TLS layer of naive, whose engine is a browser's.
var naiveTLS = in("tls",
	flag(f.TLS.Enabled, "enabled"),
	flag(f.TLS.DisableSNI, "disable_sni").ReadOnly(),
	key(f.TLS.ServerName, "server_name"),
	flag(f.TLS.Insecure, "insecure").ReadOnly(),
	words(f.TLS.ALPN, "alpn").ReadOnly(),
	table.KeyAs(f.TLS.CA, authority, "certificate"),
	key(f.TLS.CAPath, "certificate_path"),
	table.KeyAs(f.TLS.PublicKeySHA256, keyPins, "certificate_public_key_sha256").ReadOnly(),
	helloRead,
	ech,
	realityUnwritten,
)

// tlsRows are the rows that all of them share, and more.
func tlsRows(more ...table.Row) []table.Row {
	return append(rows(
		flag(f.TLS.Enabled, "enabled"),
		flag(f.TLS.DisableSNI, "disable_sni").WriteWhen(table.Not(reality)).Only("without reality"), // it is refused there
		key(f.TLS.ServerName, "server_name"),
		flag(f.TLS.Insecure, "insecure"),
		words(f.TLS.ALPN, "alpn"),
		table.KeyAs(f.TLS.MinVersion, table.Among("1.0", "1.1", "1.2", "1.3"), "min_version"),
		table.KeyAs(f.TLS.MaxVersion, table.Among("1.0", "1.1", "1.2", "1.3"), "max_version"),
		table.KeyAs(f.TLS.CipherSuites, suites, "cipher_suites"),
		table.KeyAs(f.TLS.CurvePreferences, curves, "curve_preferences").Since("1.13"),
		table.KeyAs(f.TLS.CA, authority, "certificate"),
		key(f.TLS.CAPath, "certificate_path"),
		table.KeyAs(f.TLS.PublicKeySHA256, keyPins, "certificate_public_key_sha256").Since("1.13").WriteWhen(ownRoots),
		pair(f.TLS.Certificate, f.TLS.PrivateKey),
		flag(f.TLS.Fragment, "fragment").Since("1.12"),
		flag(f.TLS.RecordFragment, "record_fragment").Since("1.12"),
	), more...)
}

var ech = in("ech",
	flag(f.TLS.ECHEnabled, "enabled"),
	table.KeyAs(f.TLS.ECHConfig, echConfig, "config"),
	key(f.TLS.ECHQueryServerName, "query_server_name").Since("1.13"),
	table.RawKey("config_path"),
	table.Ignore("pq_signature_schemes_enabled", "dynamic_record_sizing_disabled"),
).WriteWhen(echUsable).Only("without reality, with a configuration in base64 or PEM, if any")

var realityUnwritten = in("reality",
	flag(f.TLS.RealityEnabled, "enabled").ReadOnly(),
	key(f.TLS.RealityPublicKey, "public_key").ReadOnly(),
	key(f.TLS.RealityShortID, "short_id").ReadOnly(),
)

// transport is how the stream is framed. The type stands first: the conditions
// of the other rows read what it set.
var transport = rows(
	in("transport",
		transportType,
		hostList.When(http2),
		key(f.Transport.Host, "host").When(httpUpgrade),
		table.KeyAs(f.Transport.Path, path, "path").When(http2),
		table.KeyAs(f.Transport.Path, path, "path").When(httpUpgrade),
		earlyPath.When(webSocket),
		key(f.Transport.Method, "method").When(http2),
		headers.When(http2),
		headers.When(httpUpgrade),
		headersWithHost.When(webSocket),
		table.KeyAs(f.Transport.MaxEarlyData, size, "max_early_data").When(webSocket).Only("with websocket"),
		key(f.Transport.EarlyDataHeader, "early_data_header_name").When(webSocket).Only("with websocket"),
		key(f.Transport.ServiceName, "service_name").When(grpc),
		table.KeyAs(f.Transport.IdleTimeout, duration, "idle_timeout").When(pinged),
		table.KeyAs(f.Transport.PingTimeout, duration, "ping_timeout").When(pinged),
		flag(f.Transport.PermitWithoutStream, "permit_without_stream").When(grpc),
	).WriteWhen(framed),
	table.Implied(f.Transport.Type, sandrone.TransportTCP).Only(framings),
	quicNeedsTLS,
)

var multiplex = in("multiplex",
	flag(f.Multiplex.Enabled, "enabled"),
	table.KeyAs(f.Multiplex.Protocol, table.Among("h2mux", "smux", "yamux"), "protocol"),
	number(f.Multiplex.MaxConnections, "max_connections"),
	number(f.Multiplex.MinStreams, "min_streams"),
	number(f.Multiplex.MaxStreams, "max_streams"),
	flag(f.Multiplex.Padding, "padding"),
	in("brutal",
		flag(f.Multiplex.BrutalEnabled, "enabled"),
		number(f.Multiplex.BrutalUpMbps, "up_mbps"),
		number(f.Multiplex.BrutalDownMbps, "down_mbps"),
	).WriteWhen(brutal).Only("with both rates"),
).WriteWhen(sessions).Only("with h2mux, smux or yamux")

var shadowsocks = rows(
	head("shadowsocks"),
	method,
	table.KeyAs(f.Password, table.Text, "password").Always(),
	plugin,
	network,
	udpOverTCP,
	multiplex,
	dial(),
	table.SS2022,
)

var vmess = rows(
	head("vmess"),
	key(f.UUID, "uuid"),
	table.KeyAs(f.Cipher, table.Among("auto", "none", "zero", "aes-128-gcm", "chacha20-poly1305", "aes-128-cfb"), "security"),
	number(f.AlterID, "alter_id"),
	flag(f.VMess.GlobalPadding, "global_padding"),
	flag(f.VMess.AuthenticatedLength, "authenticated_length"),
	network,
	tls(),
	table.KeyAs(f.PacketEncoding, packetEncoding, "packet_encoding"),
	transport,
	multiplex,
	dial(),
)

var vless = rows(
	head("vless"),
	key(f.UUID, "uuid"),
	table.Flow("flow"),
	table.Implied(f.Encryption, "none").Only("none"),
	network,
	tls(),
	table.KeyAs(f.PacketEncoding, packetEncoding, "packet_encoding"),
	transport,
	multiplex,
	dial(),
)

var trojan = rows(
	head("trojan"),
	key(f.Password, "password"),
	network,
	tls(),
	transport,
	multiplex,
	dial(),
)

var hysteria = rows(
	head("hysteria"),
	portSet.Since("1.12"), hopInterval.Since("1.12"),
	rate("up", f.Hysteria.UpMbps, f.Hysteria.Up),
	rate("down", f.Hysteria.DownMbps, f.Hysteria.Down),
	obfsPassword, obfsWritten, xplus,
	table.HysteriaAuth("auth"),
	key(f.Hysteria.AuthStr, "auth_str"),
	table.KeyAs(f.Hysteria.RecvWindowConn, size, "recv_window_conn"),
	table.KeyAs(f.Hysteria.RecvWindow, size, "recv_window"),
	flag(f.Hysteria.DisableMTUDiscovery, "disable_mtu_discovery"),
	table.Implied(f.Hysteria.Protocol, "udp").Only("udp"),
	network,
	quicTLS(),
	dial(),
	bothRates,
)

var hysteria2 = rows(
	head("hysteria2"),
	portSet, hopRange, hopRangeEnd,
	number(f.Hysteria.UpMbps, "up_mbps"),
	number(f.Hysteria.DownMbps, "down_mbps"),
	in("obfs",
		table.KeyAs(f.Hysteria.Obfs, table.Among("salamander", "gecko"), "type").Since("1.14"),
		table.KeyAs(f.Hysteria.Obfs, table.Among("salamander"), "type").Until("1.14").Only("salamander"),
		key(f.Hysteria.ObfsPassword, "password").WriteWhen(obfuscated),
	),
	key(f.Password, "password"),
	network,
	quicTLS(),
	table.Ignore("brutal_debug"),
	table.RawKey("realm", "bbr_profile", "initial_packet_size"),
	dial(),
)

var tuic = rows(
	head("tuic"),
	key(f.UUID, "uuid"),
	key(f.Password, "password"),
	table.KeyAs(f.TUIC.CongestionControl, table.Among("cubic", "new_reno", "bbr"), "congestion_control"),
	flag(f.TUIC.UDPOverStream, "udp_over_stream"),
	table.KeyAs(f.TUIC.UDPRelayMode, table.Among("native", "quic"), "udp_relay_mode").WriteWhen(datagrams).Only("native, quic, without udp_over_stream"),
	flag(f.TUIC.ZeroRTT, "zero_rtt_handshake"), reduceRTT,
	table.KeyAs(f.TUIC.Heartbeat, duration, "heartbeat"),
	network,
	quicTLS(),
	dial(),
)

var anytls = rows(
	head("anytls"),
	key(f.Password, "password"),
	table.KeyAs(f.AnyTLS.CheckInterval, duration, "idle_session_check_interval"),
	table.KeyAs(f.AnyTLS.Timeout, duration, "idle_session_timeout"),
	number(f.AnyTLS.MinIdle, "min_idle_session"),
	tls(),
	table.Implied(f.Dialer.UDPRelay, sandrone.On).Only("true"),
	dialBy(flag(f.Dialer.TFO, "tcp_fast_open").ReadOnly()), // the client refuses it here
	needsTLS,
)

var socks = rows(
	head("socks"),
	socksVersion,
	table.RawKey("version"),
	key(f.Username, "username"),
	key(f.Password, "password"),
	network,
	udpOverTCP,
	dial(),
)

var http = rows(
	head("http"),
	key(f.Username, "username"),
	key(f.Password, "password"),
	key(f.Path, "path"),
	table.Key(f.Headers, "headers"),
	tls(),
	table.Implied(f.Dialer.UDPRelay, sandrone.Off).Only("false"),
	dial(),
)

var ssh = rows(
	head("ssh"),
	key(f.Username, "user"),
	key(f.Password, "password"),
	privateKey,
	table.KeyAs(f.SSH.HostKeys, hostKeys, "host_key"),
	words(f.SSH.HostKeyAlgorithms, "host_key_algorithms"),
	key(f.SSH.ClientVersion, "client_version"),
	table.Implied(f.Dialer.UDPRelay, sandrone.Off).Only("false"),
	dial(),
)

var naive = rows(
	head("naive"),
	key(f.Username, "username"),
	key(f.Password, "password"),
	number(f.Naive.InsecureConcurrency, "insecure_concurrency"),
	table.Key(f.Headers, "extra_headers"),
	udpOverTCP,
	flag(f.Naive.QUIC, "quic"),
	table.KeyAs(f.Naive.CongestionControl, table.Among("bbr", "bbr2", "cubic", "reno"), "quic_congestion_control"),
	naiveTLS,
	naiveUDP,
	dial(),
	needsTLS,
)

var snell = rows(
	head("snell"),
	snellVersion,
	snellKey,
	key(f.Snell.UserKey, "userkey"),
	table.Key(f.Snell.Reuse, "reuse"),
	snellNetwork,
	snellObfs.When(snell4),
	key(f.Snell.ObfsHost, "obfs_host").When(snell4),
	table.KeyAs(f.Snell.Mode, table.Among("default", "unshaped", "unsafe-raw"), "mode").When(table.Not(snell4)),
	dial(),
)

var direct = rows(
	table.Const("type", "direct"), table.Name("tag"),
	table.ViaProxy("detour").ReadOnly(), // the client refuses it here
	table.Implied(f.Dialer.UDPRelay, sandrone.On).Only("true"),
	connection(bare, flag(f.Dialer.TFO, "tcp_fast_open")),
)

var wireguard = rows(
	table.Const("type", "wireguard"), table.Name("tag"),
	legacyEndpoint,
	flag(f.WireGuard.System, "system", "system_interface"),
	table.KeyAs(f.WireGuard.MTU, size, "mtu"),
	table.KeyAs(f.WireGuard.Address, prefixes, "address", "local_address"),
	table.KeyAs(f.WireGuard.PrivateKey, table.Key32, "private_key"),
	table.KeyAs(f.WireGuard.ListenPort, portNumber, "listen_port").WriteWhen(unchained).Only("without dialer.proxy"),
	table.EachPeer("peers",
		key(f.Peer.Server, "address", "server"),
		table.Key(f.Peer.Port, "port", "server_port"),
		table.KeyAs(f.Peer.PublicKey, table.Key32, "public_key"),
		table.KeyAs(f.Peer.PreSharedKey, table.Key32, "pre_shared_key"),
		allowedIPs,
		keepalive,
		reserved,
	),
	legacyPeer,
	number(f.WireGuard.Workers, "workers"),
	table.Implied(f.Dialer.UDPRelay, sandrone.On).Only("true"),
	table.RawKey("udp_timeout"),
	dial(),
)

// carried is a protocol of which only the name and the dial fields are
// modelled.
func carried(word string) []table.Row {
	return rows(table.Const("type", word), table.Name("tag"), dial(), table.Rest())
}
