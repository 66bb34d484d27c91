package uri

import (
	"strings"

	"github.com/sandrone-gateway/sandrone"
	f "github.com/sandrone-gateway/sandrone/convert/field"
	"github.com/sandrone-gateway/sandrone/convert/table"
)

// What each protocol is in a link. A key that begins with @ is a part of the
// link outside its query, # is the name; the others are parameters. The first
// key of a row is the one that is written.

var (
	key     = table.Key[string]
	flag    = table.KeyAs[bool]
	number  = table.Key[int]
	rows    = table.Group
	in      = table.In
	ignored = table.Ignore("flag") // a hint for an icon
)

var dialect = table.Dialect{
	Family: "uri",
	Raw:    "uri.query.",
	Source: sandrone.SourceRef{
		Kind: "protocol", Name: "VMessAEAD / VLESS share link standard", Revision: "spec",
		URL: "https://github.com/XTLS/Xray-core/discussions/716",
	},
	Link:    true,
	Repeats: true,
	NoType:  sandrone.WarnNoShareLink,

	Protocols: []table.Protocol{
		{Type: sandrone.Shadowsocks, Rows: defined(sip002, rows(ss, ssd)), ReadOnly: true},
		{Type: sandrone.Shadowsocks, Rows: defined(sip002, ss), WriteOnly: true},
		{Type: sandrone.ShadowsocksR, Rows: defined(client("ShadowsocksR link", "https://github.com/shadowsocksrr/shadowsocks-rss/wiki/SSR-QRcode-scheme"), ssr)},
		{Type: sandrone.VMess, Rows: vmess},
		{Type: sandrone.VLESS, Rows: vless},
		{Type: sandrone.Trojan, Rows: trojan},
		{Type: sandrone.Hysteria, Rows: defined(protocol("Hysteria 1 URI scheme", "https://v1.hysteria.network/docs/uri-scheme/"), hysteria)},
		{Type: sandrone.Hysteria2, Rows: defined(protocol("Hysteria 2 URI scheme", "https://v2.hysteria.network/docs/developers/URI-Scheme/"), hysteria2)},
		{Type: sandrone.TUIC, Rows: defined(client("TUIC share link", "https://github.com/daeuniverse/dae/discussions/182"), tuic), Fold: underscores},
		{Type: sandrone.WireGuard, Rows: defined(client("v2rayN WireGuard link", "https://github.com/2dust/v2rayN"), wireguard), Fold: bare},
		{Type: sandrone.Snell, Rows: defined(client("Surge Snell parameters", "https://manual.nssurge.com/policy/proxy.html"), snell)},
		{Type: sandrone.AnyTLS, Rows: defined(protocol("AnyTLS URI scheme", "https://github.com/anytls/anytls-go/blob/main/docs/uri_scheme.md"), anytls), Fold: underscores},
		{Type: sandrone.Mieru, Rows: defined(protocol("mieru sharing link", "https://github.com/enfein/mieru/blob/main/docs/client-install.md"), mieru)},
		{Type: sandrone.SOCKS, Rows: rows(socks, oldSOCKS), ReadOnly: true},
		{Type: sandrone.SOCKS, Rows: socks, WriteOnly: true},
		{Type: sandrone.HTTP, Rows: http},
		{Type: sandrone.SSH, Rows: ssh},
		{Type: sandrone.Naive, Rows: defined(protocol("NaiveProxy URI draft", "https://github.com/klzgrad/naiveproxy/issues/86"), naive)},
		{Type: sandrone.Juicity, Rows: juicity, ReadOnly: true},
	},
}

var sip002 = protocol("SIP002", "https://shadowsocks.org/doc/sip002.html")

func protocol(name, url string) sandrone.SourceRef {
	return sandrone.SourceRef{Kind: "protocol", Name: name, URL: url, Revision: "spec"}
}

func client(name, url string) sandrone.SourceRef {
	return sandrone.SourceRef{Kind: "client-doc", Name: name, URL: url}
}

// defined names the document that defines the rows.
func defined(ref sandrone.SourceRef, list []table.Row) []table.Row {
	out := make([]table.Row, len(list))
	for i, r := range list {
		out[i] = r.Ref(ref)
	}
	return out
}

// underscores makes the two spellings of a parameter one.
func underscores(key string) string {
	if strings.Contains(key, "-") {
		return strings.ReplaceAll(key, "-", "_")
	}
	return key
}

// bare makes all spellings of a WireGuard parameter one: PublicKey,
// public_key and public-key.
func bare(key string) string {
	for i := 0; i < len(key); i++ {
		if c := key[i]; c == '-' || c == '_' || 'A' <= c && c <= 'Z' {
			return strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(key))
		}
	}
	return key
}

// head is what every link of a scheme begins with.
func head(scheme string) []table.Row {
	return rows(table.Const("@scheme", scheme), body)
}

var (
	body     = rows(nameRow, endpoint)
	nameRow  = table.Name("#", "remarks", "remark", "tag", "name")
	endpoint = rows(serverRow, table.Port("@port"))
	group    = table.MetaKey(f.MetaGroup, "group")
)

// spelled is a row whose parameter is written under another key than the one
// that comes first when reading.
func spelled(row table.Row, key string) []table.Row {
	return rows(row.ReadOnly(), row.Written(key))
}

// tls is the TLS layer in full; reality among it.
var tls = rows(tlsNames, reality, ech, key(f.TLS.ECHForceQuery, "echForceQuery"))

var (
	serverName = key(f.TLS.ServerName, "sni", "peer", "servername", "serverName", "serverNameIndication")
	insecure   = flag(f.TLS.Insecure, one, "allowInsecure", "allowinsecure", "allow_insecure", "allow-insecure", "skip-cert-verify", "insecure")
	disableSNI = flag(f.TLS.DisableSNI, one, "disable_sni", "disable-sni")
	alpn       = table.KeyAs(f.TLS.ALPN, list, "alpn")
	hello      = table.KeyAs(f.TLS.ClientFingerprint, fingerprint, "fp", "client-fingerprint", "client_fingerprint")
	pin        = key(f.TLS.Fingerprint, "pinSHA256", "pcs", "fingerprint", "hpkp")
	names      = table.KeyAs(f.TLS.VerifyNames, list, "vcn")
	publicKey  = pbk.WriteWhen(hasReality)

	tlsNames = rows(
		serverName,
		insecure, verify,
		disableSNI.ReadOnly(),
		alpn,
		hello,
		spelled(pin, "pcs"),
		names,
	)
	reality = rows(
		publicKey,
		key(f.TLS.RealityShortID, "sid", "short-id", "shortId").When(hasReality),
		key(f.TLS.RealitySpiderX, "spx", "spider-x").When(hasReality),
		key(f.TLS.RealityMLDSA65Verify, "pqv").When(hasReality),
	)
	always = table.Implied(f.TLS.Enabled, true)
)

// tlsRead is the same for links that hold less of it than their readers take;
// written are the rows that they do hold, in place of those that only read.
func tlsRead(written ...any) []table.Row {
	return rows(rows(written...), readOnly(rows(security(false), tls)))
}

func readOnly(list []table.Row) []table.Row {
	out := make([]table.Row, len(list))
	for i, r := range list {
		out[i] = r.ReadOnly()
	}
	return out
}

// transport is how the stream is framed, in rows that depend on its type.
var transport = rows(
	headerType,
	key(f.Transport.Authority, "authority").When(grpc),
	host(true),
	path,
	key(f.Transport.ServiceName, "serviceName", "service_name", "grpc-service-name").When(grpc),
	mode,
	key(f.Transport.Method, "method").When(httpHeader).Only("with header_type http"),
	earlyHeader, earlyData,
	key(f.Transport.Seed, "seed").When(kcp),
	key(f.Transport.QUICSecurity, "quicSecurity").When(quic),
	key(f.Transport.QUICKey, "key").When(quic),
	noQUICSecurity,
	extra("extra"),
	table.RawKey("ed", "eh", "extra"), // what says nothing here, or no object
	table.Key(f.Transport.Headers, "@headers").ReadOnly().When(framed),
)

// extra is the object with the options of xhttp, in Xray's own words.
func extra(name string) table.Row {
	return in(name,
		table.Key(f.Transport.Headers, "headers").Only("with xhttp"),
		flag(f.Transport.NoGRPCHeader, table.Flag, "noGRPCHeader"),
		key(f.Transport.XPaddingBytes, "xPaddingBytes"),
		key(f.Transport.SCMaxEachPostBytes, "scMaxEachPostBytes"),
		key(f.Transport.SCMinPostsIntervalMS, "scMinPostsIntervalMs"),
		key(f.Transport.SCStreamUpServerSecs, "scStreamUpServerSecs"),
		xmux(f.Transport.Reuse),
		downloadSettings,
		table.RestOf(f.Transport.Extra),
	).When(xhttp)
}

func xmux(r f.ReuseFields) table.Row {
	return in("xmux",
		key(r.MaxConcurrency, "maxConcurrency"),
		key(r.MaxConnections, "maxConnections"),
		key(r.CMaxReuseTimes, "cMaxReuseTimes"),
		key(r.HMaxRequestTimes, "hMaxRequestTimes"),
		key(r.HMaxReusableSecs, "hMaxReusableSecs"),
		number(r.HKeepAlivePeriod, "hKeepAlivePeriod"),
	)
}

var downloadSettings = in("downloadSettings",
	key(f.Download.Server, "address"),
	table.Key(f.Download.Port, "port"),
	table.Const("network", "xhttp"),
	downloadSecurity,
	in("tlsSettings", rows(
		key(f.Download.TLS.ServerName, "serverName"),
		table.Key(f.Download.TLS.ALPN, "alpn").Only("without reality"),
		table.KeyAs(f.Download.TLS.ClientFingerprint, fingerprint, "fingerprint"),
		flag(f.Download.TLS.Insecure, table.Flag, "allowInsecure").Only("without reality"),
		key(f.Download.TLS.Fingerprint, "pinnedPeerCertSha256").Only("without reality"),
		table.KeyAs(f.Download.TLS.VerifyNames, list, "verifyPeerCertByName").Only("without reality"),
	)...).When(table.Not(downloadReality)),
	in("realitySettings",
		key(f.Download.TLS.ServerName, "serverName"),
		table.KeyAs(f.Download.TLS.ClientFingerprint, fingerprint, "fingerprint"),
		key(f.Download.TLS.RealityPublicKey, "publicKey", "password"),
		key(f.Download.TLS.RealityShortID, "shortId"),
		key(f.Download.TLS.RealitySpiderX, "spiderX"),
		key(f.Download.TLS.RealityMLDSA65Verify, "mldsa65Verify"),
	).When(downloadReality),
	in("xhttpSettings",
		key(f.Download.Path, "path"),
		key(f.Download.Host, "host"),
		key(f.Download.Mode, "mode"),
		in("extra",
			table.Key(f.Download.Headers, "headers"),
			xmux(f.Download.Reuse),
		),
	),
)

// dial is how the client makes the node's own connection. Links say it, and
// no link standard has it, so it is read only.
var dial = rows(
	udp.ReadOnly(),
	tfo.ReadOnly(),
	flag(f.Dialer.MPTCP, one, "mptcp").ReadOnly(),
	ignored,
)

var (
	udp = table.KeyAs(f.Dialer.UDPRelay, tri, "udp")
	tfo = flag(f.Dialer.TFO, one, "tfo", "fastopen", "fast-open")
)

// stream is what the protocols over a framed stream have in common; more are
// rows that depend on the type of the transport and decide it with it.
func stream(packetEncoding table.Row, more ...table.Row) []table.Row {
	return rows(
		security(true),
		transportType, more, transport,
		tls,
		packetEncoding,
		mux, udpOverTCP.ReadOnly(),
		dial,
		group,
		table.RawKey("h2"),
	)
}

var packetEncoding = table.KeyAs(f.PacketEncoding, table.Lower, "packetEncoding", "packet-encoding", "packet_encoding")

var ss = rows(
	head("ss"),
	table.KeyAs(f.Cipher, noColon, "@method").Only("without a colon"),
	key(f.Password, "@pass"),
	plugin, pluginOptions, v2rayPlugin, shadowTLSPlugin, gostPlugin,
	udpOverTCP,
	tfo, udp.ReadOnly(), flag(f.Dialer.MPTCP, one, "mptcp").ReadOnly(),
	groupBase64,
	readOnly(rows(security(false), transportType, transport, tls, mux, packetEncoding)),
	ignored,
)

// ssd is a server of an ssd:// list, whose options are laid out like those of
// a link; what is new in it goes to raw.
var ssd = in("@ssd",
	table.Ignore("server", "port", "encryption", "password", "plugin", "plugin_options", "remarks", "id", "ratio"),
).RawAs("ssd.").ReadOnly()

var ssr = rows(
	table.Const("@scheme", "ssr"),
	table.Name("remarks").WriteOnly(), table.Name("#", "remarks").ReadOnly(),
	endpoint,
	table.KeyAs(f.Cipher, noColon, "@method").Only("without a colon"),
	key(f.Password, "@pass"),
	table.KeyAs(f.ShadowsocksR.Protocol, noColon, "@protocol").Only("without a colon"),
	table.KeyAs(f.ShadowsocksR.Obfs, noColon, "@obfs").Only("without a colon"),
	table.KeyAs(f.ShadowsocksR.ObfsParam, noSpace, "obfsparam").Only("without white space"),
	table.KeyAs(f.ShadowsocksR.ProtocolParam, noSpace, "protoparam").Only("without white space"),
	group,
	zero("udpport"), zero("uot"), table.RawKey("udpport", "uot"),
	ignored,
)

var vless = rows(
	head("vless"),
	key(f.UUID, "@user"),
	key(f.Encryption, "encryption"),
	encryptionNone,
	table.Flow("flow"), table.RawKey("flow"), // the older spelling of one value
	xtls,
	stream(packetEncoding),
)

var trojan = rows(
	head("trojan"),
	key(f.Password, "@user"),
	innerShadowsocks,
	table.RawKey("plugin"),
	stream(packetEncoding.ReadOnly(), trojanWS),
)

var hysteria = rows(
	head("hysteria"),
	key(f.Hysteria.Protocol, "protocol"),
	authBytes,
	key(f.Hysteria.AuthStr, "auth", "auth_str", "auth-str", "authString"),
	tlsRead(spelled(serverName, "peer"), spelled(insecure, "insecure"), alpn, always),
	rate(f.Hysteria.UpMbps, f.Hysteria.Up, "upmbps", "up"),
	rate(f.Hysteria.DownMbps, f.Hysteria.Down, "downmbps", "down"),
	xplus,
	key(f.Hysteria.ObfsPassword, "obfsParam", "obfs-password", "obfs_password"),
	portSet(f.Hysteria.ServerPorts, "mport", "ports"),
	hop(f.Hysteria.HopInterval, "hop_interval", "hop-interval", "mportHopInt"),
	tfo.ReadOnly(),
	number(f.Hysteria.RecvWindowConn, "recv_window_conn").ReadOnly(),
	number(f.Hysteria.RecvWindow, "recv_window").ReadOnly(),
	noTransport, table.RawKey("type"),
	ignored,
)

var hysteria2 = rows(
	head("hysteria2"),
	key(f.Password, "@user", "password", "auth"),
	portSpec,
	tlsRead(serverName, spelled(insecure, "insecure"), spelled(pin, "pinSHA256"), alpn, always),
	rate(f.Hysteria.UpMbps, f.Hysteria.Up, "upmbps", "up").ReadOnly(),
	rate(f.Hysteria.DownMbps, f.Hysteria.Down, "downmbps", "down").ReadOnly(),
	table.KeyAs(f.Hysteria.Obfs, noneIsEmpty, "obfs", "obfs-type"),
	key(f.Hysteria.ObfsPassword, "obfs-password", "obfs_password", "obfsParam"),
	hop(f.Hysteria.HopInterval, "hop_interval", "hop-interval", "mportHopInt"),
	number(f.Hysteria.Keepalive, "keepalive").ReadOnly(),
	tfo.ReadOnly(),
	table.Ignore("udp"),
	noTransport, table.RawKey("type"),
	ignored,
	table.RawKey("mport", "ports"), // beside ports of the authority
)

var tuic = rows(
	head("tuic"),
	key(f.UUID, "@user"),
	key(f.Password, "@pass"),
	tuicToken,
	tlsRead(serverName, spelled(insecure, "allow_insecure"), alpn, disableSNI, hello, spelled(pin, "pinSHA256"), names, always),
	table.KeyAs(f.TUIC.CongestionControl, congestion, "congestion_control", "congestion_controller", "congestion"),
	table.KeyAs(f.TUIC.UDPRelayMode, table.Lower, "udp_relay_mode"),
	flag(f.TUIC.ReduceRTT, one, "reduce_rtt"),
	flag(f.TUIC.ZeroRTT, one, "zero_rtt_handshake", "zero_rtt"),
	table.KeyAs(f.TUIC.Heartbeat, milliseconds, "heartbeat", "heartbeat_interval").ReadOnly(),
	flag(f.TUIC.UDPOverStream, one, "udp_over_stream").ReadOnly(),
	portSet(f.TUIC.ServerPorts, "mport"),
	hop(f.TUIC.HopInterval, "hop_interval"),
	flag(f.Dialer.TFO, one, "fast_open", "fastopen", "tfo").ReadOnly(),
	table.Ignore("version"),
	noTransport, table.RawKey("type"),
	ignored,
)

var anytls = rows(
	head("anytls"),
	key(f.Password, "@user"),
	security(false),
	serverName, spelled(insecure, "insecure"), verify, disableSNI, alpn, hello, spelled(pin, "pinSHA256"), names,
	reality, ech, key(f.TLS.ECHForceQuery, "echForceQuery"), always,
	table.KeyAs(f.AnyTLS.CheckInterval, seconds, "idle_session_check_interval"),
	table.KeyAs(f.AnyTLS.Timeout, seconds, "idle_session_timeout"),
	number(f.AnyTLS.MinIdle, "min_idle_session"),
	number(f.AnyTLS.MaxStreamCount, "max_stream_count"),
	table.KeyAs(f.AnyTLS.Reuse, tri, "reuse"),
	udp,
	noTransport, table.RawKey("type"),
	ignored,
)

var wireguard = rows(
	head("wireguard"),
	key(f.WireGuard.PrivateKey, "@user", "privatekey", "pk"),
	key(f.Peer.PublicKey, "publickey", "peerpublickey", "peerpk"),
	key(f.Peer.PreSharedKey, "presharedkey", "psk"),
	table.KeyAs(f.WireGuard.Address, list, "address", "ip", "localaddress"),
	addressIPv6,
	table.KeyAs(f.Peer.AllowedIPs, list, "allowedips"),
	table.KeyAs(f.Peer.Reserved, reserved, "reserved"),
	number(f.WireGuard.MTU, "mtu"),
	number(f.WireGuard.Workers, "workers"),
	number(f.WireGuard.PersistentKeepalive, "keepalive", "persistentkeepalive"),
	table.KeyAs(f.WireGuard.DNS, list, "dns"),
	amnezia,
	onePeer, samePeer, peerKeepalive, sameReserved,
	udp.ReadOnly(),
	table.RawKey("ifp"),
	ignored,
)

var snell = rows(
	head("snell"),
	key(f.Password, "@user"),
	number(f.Snell.Version, "version", "v"),
	table.KeyAs(f.Snell.Obfs, noneIsEmpty, "obfs"),
	key(f.Snell.ObfsHost, "obfs-host"),
	key(f.Snell.ObfsURI, "obfs-uri"),
	snellPlugin,
	table.KeyAs(f.Snell.Reuse, tri, "reuse"),
	key(f.Snell.Mode, "mode"),
	tfo, udp,
	in("shadow-tls",
		table.KeyAs(f.Snell.ShadowTLS.Version, shadowTLSVersion, "version"),
		key(f.Snell.ShadowTLS.Password, "password"),
		key(f.Snell.ShadowTLS.Host, "host"),
		table.Key(f.Snell.ShadowTLS.ALPN, "alpn"),
		key(f.Snell.ShadowTLS.Fingerprint, "fingerprint"),
		key(f.Snell.ShadowTLS.Certificate, "certificate"),
		key(f.Snell.ShadowTLS.PrivateKey, "private-key"),
		flag(f.Snell.ShadowTLS.Insecure, table.Flag, "skip-cert-verify"),
		key(f.Snell.ShadowTLS.ClientFingerprint, "client-fingerprint"),
	),
	group, ignored,
)

var mieru = rows(
	table.Const("@scheme", "mierus"),
	table.Name("#").ReadOnly(), profile,
	serverRow,
	key(f.Username, "@user"),
	key(f.Password, "@pass"),
	portOrRange,
	table.KeyAs(f.Mieru.Transport, mieruTransport, "protocol").Only("TCP, UDP"),
	key(f.Mieru.Multiplexing, "multiplexing"),
	key(f.Mieru.HandshakeMode, "handshake-mode"),
	key(f.Mieru.TrafficPattern, "traffic-pattern"),
	table.States(f.Dialer.UDPRelay, sandrone.On).ReadOnly(),
	table.Implied(f.Dialer.UDPRelay, sandrone.On).Only("true"),
	table.RawKey("mtu"),
	ignored,
)

var socks = rows(
	schemeTLS("socks5", "socks5+tls"),
	body, login,
	udpOverTCP.ReadOnly(),
	tlsRead(),
	dial,
	group,
)

// oldSOCKS notes the version of a SOCKS4 link, which the model has not.
var oldSOCKS = rows(in("@raw", table.RawKey("scheme")).RawAs("uri."))

var http = rows(
	schemeTLS("http", "https"),
	body, login,
	tlsRead(serverName, insecure),
	dial,
	group,
)

var login = rows(key(f.Username, "@user"), key(f.Password, "@pass"))

var ssh = rows(
	head("ssh"),
	login,
	key(f.SSH.PrivateKey, "private-key", "pk", "privateKey"),
	key(f.SSH.PrivateKeyPassphrase, "private-key-passphrase"),
	table.KeyAs(f.SSH.HostKeys, table.Comma, "host-key", "hk"),
	table.KeyAs(f.SSH.HostKeyAlgorithms, table.Comma, "host-key-algorithms"),
	ignored,
)

var naive = rows(
	naiveScheme,
	body, login,
	table.KeyAs(f.Naive.Padding, word, "padding"),
	extraHeaders,
	number(f.Naive.InsecureConcurrency, "insecure-concurrency").ReadOnly(),
	key(f.Naive.CongestionControl, "congestion_control"),
	udpOverTCP.ReadOnly(),
	security(false),
	serverName, insecure, verify, disableSNI, alpn, hello, spelled(pin, "pinSHA256"), names,
	reality, ech, key(f.TLS.ECHForceQuery, "echForceQuery"), always,
	dial,
)

// juicity is carried: what the model does not name stays in opaque.
var juicity = rows(
	nameRow,
	endpoint,
	key(f.UUID, "@user"),
	key(f.Password, "@pass"),
	table.Rest(),
)
