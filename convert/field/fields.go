package field

import (
	"encoding/json"
	"slices"

	"github.com/sandrone-gateway/sandrone"
)

type (
	node = sandrone.Node
	list = []string
	text = map[string]string
)

// Protocols by what they can use.
var (
	every     = TypesOf(sandrone.Types...)
	endpoints = func() (s TypeSet) {
		for _, t := range sandrone.Types {
			if t.HasEndpoint() {
				s |= TypesOf(t)
			}
		}
		return s
	}()
	modelled = func() (s TypeSet) {
		for _, t := range sandrone.Types {
			if t.HasEndpoint() && !t.Carried() {
				s |= TypesOf(t)
			}
		}
		return s
	}()
	streams  = TypesOf(sandrone.Shadowsocks, sandrone.VMess, sandrone.VLESS, sandrone.Trojan)
	withTLS  = streams | TypesOf(sandrone.Hysteria, sandrone.Hysteria2, sandrone.TUIC, sandrone.AnyTLS, sandrone.SOCKS, sandrone.HTTP, sandrone.Naive)
	hysteria = TypesOf(sandrone.Hysteria, sandrone.Hysteria2)
)

// Identity, endpoint and credentials.
var (
	NodeID         = top("id", every, func(n *node) *string { return &n.ID }, silent)
	Name           = top("name", every, func(n *node) *string { return &n.Name }, critical)
	Type           = top("type", every, func(n *node) *sandrone.Type { return &n.Type }, critical, shown)
	Server         = top("server", endpoints, func(n *node) *string { return &n.Server }, critical)
	Port           = top("port", endpoints, func(n *node) *uint16 { return &n.Port }, critical)
	Network        = top("network", modelled, func(n *node) *string { return &n.Network }, shown)
	Username       = top("username", TypesOf(sandrone.Mieru, sandrone.SOCKS, sandrone.HTTP, sandrone.SSH, sandrone.Naive, sandrone.H2Connect, sandrone.TrustTunnel), func(n *node) *string { return &n.Username }, critical)
	Password       = top("password", TypesOf(sandrone.Shadowsocks, sandrone.ShadowsocksR, sandrone.Trojan, sandrone.Hysteria2, sandrone.TUIC, sandrone.Mieru, sandrone.SOCKS, sandrone.HTTP, sandrone.Snell, sandrone.AnyTLS, sandrone.SSH, sandrone.Naive, sandrone.Juicity, sandrone.TrustTunnel, sandrone.H2Connect), func(n *node) *string { return &n.Password }, critical)
	UUID           = top("uuid", TypesOf(sandrone.VMess, sandrone.VLESS, sandrone.TUIC, sandrone.Juicity), func(n *node) *string { return &n.UUID }, critical)
	Cipher         = top("cipher", TypesOf(sandrone.Shadowsocks, sandrone.ShadowsocksR, sandrone.VMess), func(n *node) *string { return &n.Cipher }, critical, shown)
	AlterID        = top("alter_id", TypesOf(sandrone.VMess), func(n *node) *int { return &n.AlterID }, critical)
	Flow           = top("flow", TypesOf(sandrone.VLESS), func(n *node) *string { return &n.Flow }, critical, shown)
	Encryption     = top("encryption", TypesOf(sandrone.VLESS), func(n *node) *string { return &n.Encryption }, critical)
	Token          = top("token", TypesOf(sandrone.TUIC), func(n *node) *string { return &n.Token }, critical)
	PacketEncoding = top("packet_encoding", TypesOf(sandrone.VMess, sandrone.VLESS, sandrone.Trojan), func(n *node) *string { return &n.PacketEncoding }, shown)
	Plugin         = top("plugin", TypesOf(sandrone.Shadowsocks, sandrone.ShadowsocksR), func(n *node) *string { return &n.Plugin }, critical, shown)
	PluginOptions  = top("plugin_options", TypesOf(sandrone.Shadowsocks, sandrone.ShadowsocksR), func(n *node) *map[string]any { return &n.PluginOptions }, critical)
	Headers        = top("headers", TypesOf(sandrone.SOCKS, sandrone.HTTP, sandrone.H2Connect, sandrone.Naive, sandrone.TrustTunnel), func(n *node) *text { return &n.Headers })
	Path           = top("path", TypesOf(sandrone.SOCKS, sandrone.HTTP), func(n *node) *string { return &n.Path })
	Opaque         = child("opaque", carried(), func(n *node) **sandrone.Opaque { return &n.Opaque })
	OpaqueFamily   = leaf(Opaque, "family", func(o *sandrone.Opaque) *string { return &o.Family }, critical, shown)
	OpaqueOptions  = leaf(Opaque, "options", func(o *sandrone.Opaque) *json.RawMessage { return &o.Options }, critical)
	Tags           = top("tags", every, func(n *node) *list { return &n.Tags }, silent)
	Meta           = top("meta", every, func(n *node) *text { return &n.Meta }, silent)
	Raw            = top("raw", every, func(n *node) *sandrone.Raw { return &n.Raw }, silent)
	Lossy          = top("lossy", every, func(n *node) *bool { return &n.Lossy }, silent)
	Warnings       = top("warnings", every, func(n *node) *[]sandrone.Warning { return &n.Warnings }, silent)
	SourceFormat   = top("source_format", every, func(n *node) *string { return &n.SourceFormat }, silent)
)

func carried() (s TypeSet) {
	for _, t := range sandrone.Types {
		if t.Carried() {
			s |= TypesOf(t)
		}
	}
	return s
}

// Members of meta that a client file can say.
var (
	MetaGroup       = meta("group")
	MetaTestURL     = meta("test_url")
	MetaTestTimeout = meta("test_timeout")
	MetaTestUDP     = meta("test_udp")
)

// MetaField is a reserved member of the node's meta map.
type MetaField struct {
	*Info
	Key string
}

func meta(key string) MetaField {
	f := declare[string]("meta."+key, every, nil, nil)
	return MetaField{f.Info, key}
}

// TLSFields are the leaves of a TLS object.
type TLSFields struct {
	Enabled, DisableSNI, Insecure, Fragment, RecordFragment                Field[bool]
	ServerName, ClientFingerprint, Fingerprint, Certificate, PrivateKey    Field[string]
	CA, CAPath, MinVersion, MaxVersion                                     Field[string]
	ALPN, PublicKeySHA256, VerifyNames, CipherSuites, CurvePreferences     Field[list]
	SessionTicket                                                          Field[sandrone.Tri]
	ECHEnabled, RealityEnabled                                             Field[bool]
	ECHConfig                                                              Field[list]
	ECHQueryServerName, ECHDNS, ECHForceQuery                              Field[string]
	RealityPublicKey, RealityShortID, RealitySpiderX, RealityMLDSA65Verify Field[string]
}

type tls = sandrone.TLS

func tlsFields(o object[tls], under func(*node) *tls) TLSFields {
	pin := when(Tuning, "skip: with insecure_skip_verify", func(n *node) Class {
		if t := under(n); t != nil && t.InsecureSkipVerify {
			return Critical
		}
		return Tuning
	})
	ech := sub(o, "ech", func(t *tls) **sandrone.ECH { return &t.ECH })
	reality := sub(o, "reality", func(t *tls) **sandrone.Reality { return &t.Reality })
	return TLSFields{
		Enabled:    leaf(o, "enabled", func(t *tls) *bool { return &t.Enabled }, critical),
		ServerName: leaf(o, "server_name", func(t *tls) *string { return &t.ServerName }, critical),
		DisableSNI: leaf(o, "disable_sni", func(t *tls) *bool { return &t.DisableSNI }),
		Insecure:   leaf(o, "insecure_skip_verify", func(t *tls) *bool { return &t.InsecureSkipVerify }, critical),
		ALPN:       leaf(o, "alpn", func(t *tls) *list { return &t.ALPN }),
		// Not critical with REALITY either: clients without the option imitate a browser of their own choice.
		ClientFingerprint:    leaf(o, "client_fingerprint", func(t *tls) *string { return &t.ClientFingerprint }, shown),
		Fingerprint:          leaf(o, "fingerprint", func(t *tls) *string { return &t.Fingerprint }, pin),
		PublicKeySHA256:      leaf(o, "public_key_sha256", func(t *tls) *list { return &t.PublicKeySHA256 }, pin),
		VerifyNames:          leaf(o, "verify_names", func(t *tls) *list { return &t.VerifyNames }, pin),
		Certificate:          leaf(o, "certificate", func(t *tls) *string { return &t.Certificate }, critical),
		PrivateKey:           leaf(o, "private_key", func(t *tls) *string { return &t.PrivateKey }, critical),
		CA:                   leaf(o, "ca", func(t *tls) *string { return &t.CA }),
		CAPath:               leaf(o, "ca_path", func(t *tls) *string { return &t.CAPath }),
		MinVersion:           leaf(o, "min_version", func(t *tls) *string { return &t.MinVersion }, shown),
		MaxVersion:           leaf(o, "max_version", func(t *tls) *string { return &t.MaxVersion }, shown),
		CipherSuites:         leaf(o, "cipher_suites", func(t *tls) *list { return &t.CipherSuites }),
		CurvePreferences:     leaf(o, "curve_preferences", func(t *tls) *list { return &t.CurvePreferences }),
		Fragment:             leaf(o, "fragment", func(t *tls) *bool { return &t.Fragment }),
		RecordFragment:       leaf(o, "record_fragment", func(t *tls) *bool { return &t.RecordFragment }),
		SessionTicket:        leaf(o, "session_ticket", func(t *tls) *sandrone.Tri { return &t.SessionTicket }),
		ECHEnabled:           leaf(ech, "enabled", func(e *sandrone.ECH) *bool { return &e.Enabled }),
		ECHConfig:            leaf(ech, "config", func(e *sandrone.ECH) *list { return &e.Config }),
		ECHQueryServerName:   leaf(ech, "query_server_name", func(e *sandrone.ECH) *string { return &e.QueryServerName }),
		ECHDNS:               leaf(ech, "dns", func(e *sandrone.ECH) *string { return &e.DNS }, critical),
		ECHForceQuery:        leaf(ech, "force_query", func(e *sandrone.ECH) *string { return &e.ForceQuery }, shown),
		RealityEnabled:       leaf(reality, "enabled", func(r *sandrone.Reality) *bool { return &r.Enabled }, critical),
		RealityPublicKey:     leaf(reality, "public_key", func(r *sandrone.Reality) *string { return &r.PublicKey }, critical),
		RealityShortID:       leaf(reality, "short_id", func(r *sandrone.Reality) *string { return &r.ShortID }, critical),
		RealitySpiderX:       leaf(reality, "spider_x", func(r *sandrone.Reality) *string { return &r.SpiderX }),
		RealityMLDSA65Verify: leaf(reality, "mldsa65_verify", func(r *sandrone.Reality) *string { return &r.MLDSA65Verify }),
	}
}

var tlsObject = child("tls", withTLS, func(n *node) **tls { return &n.TLS })

// TLS are the leaves of the node's outer TLS layer.
var TLS = tlsFields(tlsObject, func(n *node) *tls { return n.TLS })

// TransportFields are the leaves of the transport object.
type TransportFields struct {
	Type, HeaderType, Method, Path, Host, ServiceName, GRPCMode, Authority Field[string]
	UserAgent, IdleTimeout, PingTimeout, EarlyDataHeader, Seed             Field[string]
	QUICSecurity, QUICKey                                                  Field[string]
	Hosts                                                                  Field[list]
	Headers                                                                Field[text]
	PermitWithoutStream, FastOpen                                          Field[bool]
	MaxEarlyData                                                           Field[int]

	KCPMTU, KCPTTI, KCPUplink, KCPDownlink, KCPReadBuffer, KCPWriteBuffer Field[int]
	KCPCongestion                                                         Field[bool]

	XHTTPMode, XPaddingBytes, SCMaxEachPostBytes, SCMinPostsIntervalMS, SCStreamUpServerSecs Field[string]
	NoGRPCHeader                                                                             Field[bool]
	Reuse                                                                                    ReuseFields
	Extra                                                                                    Field[sandrone.Raw]
}

// ReuseFields are the leaves of xhttp's connection reuse.
type ReuseFields struct {
	MaxConcurrency, MaxConnections, CMaxReuseTimes, HMaxRequestTimes, HMaxReusableSecs Field[string]
	HKeepAlivePeriod                                                                   Field[int]
}

func reuseFields(o object[sandrone.XHTTPReuse]) ReuseFields {
	type reuse = sandrone.XHTTPReuse
	return ReuseFields{
		MaxConcurrency:   leaf(o, "max_concurrency", func(r *reuse) *string { return &r.MaxConcurrency }),
		MaxConnections:   leaf(o, "max_connections", func(r *reuse) *string { return &r.MaxConnections }),
		CMaxReuseTimes:   leaf(o, "c_max_reuse_times", func(r *reuse) *string { return &r.CMaxReuseTimes }),
		HMaxRequestTimes: leaf(o, "h_max_request_times", func(r *reuse) *string { return &r.HMaxRequestTimes }),
		HMaxReusableSecs: leaf(o, "h_max_reusable_secs", func(r *reuse) *string { return &r.HMaxReusableSecs }),
		HKeepAlivePeriod: leaf(o, "h_keep_alive_period", func(r *reuse) *int { return &r.HKeepAlivePeriod }),
	}
}

type (
	transport = sandrone.Transport
	xhttp     = sandrone.XHTTP
	download  = sandrone.XHTTPDownload
)

var (
	transportObject = child("transport", streams, func(n *node) **transport { return &n.Transport })
	kcpObject       = sub(transportObject, "kcp", func(t *transport) **sandrone.KCP { return &t.KCP })
	xhttpObject     = sub(transportObject, "xhttp", func(t *transport) **xhttp { return &t.XHTTP })
	downloadObject  = sub(xhttpObject, "download_settings", func(x *xhttp) **download { return &x.DownloadSettings })
)

// Transport are the leaves of the node's transport.
var Transport = TransportFields{
	Type:                leaf(transportObject, "type", func(t *transport) *string { return &t.Type }, critical, shown),
	HeaderType:          leaf(transportObject, "header_type", func(t *transport) *string { return &t.HeaderType }, critical, shown),
	Method:              leaf(transportObject, "method", func(t *transport) *string { return &t.Method }, shown),
	Path:                leaf(transportObject, "path", func(t *transport) *string { return &t.Path }, critical),
	Host:                leaf(transportObject, "host", func(t *transport) *string { return &t.Host }, critical),
	Hosts:               leaf(transportObject, "hosts", func(t *transport) *list { return &t.Hosts }),
	Headers:             leaf(transportObject, "headers", func(t *transport) *text { return &t.Headers }),
	ServiceName:         leaf(transportObject, "service_name", func(t *transport) *string { return &t.ServiceName }, critical),
	GRPCMode:            leaf(transportObject, "grpc_mode", func(t *transport) *string { return &t.GRPCMode }, shown),
	Authority:           leaf(transportObject, "authority", func(t *transport) *string { return &t.Authority }),
	UserAgent:           leaf(transportObject, "user_agent", func(t *transport) *string { return &t.UserAgent }),
	IdleTimeout:         leaf(transportObject, "idle_timeout", func(t *transport) *string { return &t.IdleTimeout }),
	PingTimeout:         leaf(transportObject, "ping_timeout", func(t *transport) *string { return &t.PingTimeout }),
	PermitWithoutStream: leaf(transportObject, "permit_without_stream", func(t *transport) *bool { return &t.PermitWithoutStream }),
	MaxEarlyData:        leaf(transportObject, "max_early_data", func(t *transport) *int { return &t.MaxEarlyData }),
	EarlyDataHeader:     leaf(transportObject, "early_data_header_name", func(t *transport) *string { return &t.EarlyDataHeaderName }),
	FastOpen:            leaf(transportObject, "v2ray_http_upgrade_fast_open", func(t *transport) *bool { return &t.V2RayHTTPUpgradeFastOpen }),
	Seed:                leaf(transportObject, "seed", func(t *transport) *string { return &t.Seed }, critical),
	KCPMTU:              leaf(kcpObject, "mtu", func(k *sandrone.KCP) *int { return &k.MTU }),
	KCPTTI:              leaf(kcpObject, "tti", func(k *sandrone.KCP) *int { return &k.TTI }),
	KCPUplink:           leaf(kcpObject, "uplink_capacity", func(k *sandrone.KCP) *int { return &k.UplinkCapacity }),
	KCPDownlink:         leaf(kcpObject, "downlink_capacity", func(k *sandrone.KCP) *int { return &k.DownlinkCapacity }),
	KCPCongestion:       leaf(kcpObject, "congestion", func(k *sandrone.KCP) *bool { return &k.Congestion }),
	KCPReadBuffer:       leaf(kcpObject, "read_buffer_size", func(k *sandrone.KCP) *int { return &k.ReadBufferSize }),
	KCPWriteBuffer:      leaf(kcpObject, "write_buffer_size", func(k *sandrone.KCP) *int { return &k.WriteBufferSize }),
	QUICSecurity:        leaf(transportObject, "quic_security", func(t *transport) *string { return &t.QUICSecurity }, critical, shown),
	QUICKey:             leaf(transportObject, "quic_key", func(t *transport) *string { return &t.QUICKey }, critical),

	XHTTPMode:            leaf(xhttpObject, "mode", func(x *xhttp) *string { return &x.Mode }, shown),
	NoGRPCHeader:         leaf(xhttpObject, "no_grpc_header", func(x *xhttp) *bool { return &x.NoGRPCHeader }),
	XPaddingBytes:        leaf(xhttpObject, "x_padding_bytes", func(x *xhttp) *string { return &x.XPaddingBytes }),
	SCMaxEachPostBytes:   leaf(xhttpObject, "sc_max_each_post_bytes", func(x *xhttp) *string { return &x.SCMaxEachPostBytes }),
	SCMinPostsIntervalMS: leaf(xhttpObject, "sc_min_posts_interval_ms", func(x *xhttp) *string { return &x.SCMinPostsIntervalMS }),
	SCStreamUpServerSecs: leaf(xhttpObject, "sc_stream_up_server_secs", func(x *xhttp) *string { return &x.SCStreamUpServerSecs }),
	Reuse:                reuseFields(sub(xhttpObject, "reuse_settings", func(x *xhttp) **sandrone.XHTTPReuse { return &x.ReuseSettings })),
	Extra:                leaf(xhttpObject, "extra", func(x *xhttp) *sandrone.Raw { return &x.Extra }),
}

// Download are the leaves of xhttp's separate way down. Without them the node
// would download from somewhere else.
var Download = struct {
	Server, Path, Host, Mode Field[string]
	Port                     Field[uint16]
	Headers                  Field[text]
	TLS                      TLSFields
	Reuse                    ReuseFields
}{
	Server:  leaf(downloadObject, "server", func(d *download) *string { return &d.Server }, critical),
	Port:    leaf(downloadObject, "port", func(d *download) *uint16 { return &d.Port }, critical),
	Path:    leaf(downloadObject, "path", func(d *download) *string { return &d.Path }, critical),
	Host:    leaf(downloadObject, "host", func(d *download) *string { return &d.Host }, critical),
	Headers: leaf(downloadObject, "headers", func(d *download) *text { return &d.Headers }),
	Mode:    leaf(downloadObject, "mode", func(d *download) *string { return &d.Mode }, shown),
	TLS: tlsFields(sub(downloadObject, "tls", func(d *download) **tls { return &d.TLS }), func(n *node) *tls {
		if n.Transport == nil || n.Transport.XHTTP == nil || n.Transport.XHTTP.DownloadSettings == nil {
			return nil
		}
		return n.Transport.XHTTP.DownloadSettings.TLS
	}),
	Reuse: reuseFields(sub(downloadObject, "reuse_settings", func(d *download) **sandrone.XHTTPReuse { return &d.ReuseSettings })),
}

var multiplexObject = child("multiplex", streams|TypesOf(sandrone.HTTP), func(n *node) **sandrone.Multiplex { return &n.Multiplex })
var brutalObject = sub(multiplexObject, "brutal", func(m *sandrone.Multiplex) **sandrone.Brutal { return &m.Brutal })

// Multiplex are the leaves of the multiplex object.
var Multiplex = struct {
	Enabled, Padding, OnlyTCP, Statistic, BrutalEnabled                                                Field[bool]
	Protocol, XUDPProxyUDP443                                                                          Field[string]
	MaxConnections, MinStreams, MaxStreams, BrutalUpMbps, BrutalDownMbps, Concurrency, XUDPConcurrency Field[int]
}{
	Enabled:         leaf(multiplexObject, "enabled", func(m *sandrone.Multiplex) *bool { return &m.Enabled }),
	Protocol:        leaf(multiplexObject, "protocol", func(m *sandrone.Multiplex) *string { return &m.Protocol }, shown),
	MaxConnections:  leaf(multiplexObject, "max_connections", func(m *sandrone.Multiplex) *int { return &m.MaxConnections }),
	MinStreams:      leaf(multiplexObject, "min_streams", func(m *sandrone.Multiplex) *int { return &m.MinStreams }),
	MaxStreams:      leaf(multiplexObject, "max_streams", func(m *sandrone.Multiplex) *int { return &m.MaxStreams }),
	Padding:         leaf(multiplexObject, "padding", func(m *sandrone.Multiplex) *bool { return &m.Padding }),
	OnlyTCP:         leaf(multiplexObject, "only_tcp", func(m *sandrone.Multiplex) *bool { return &m.OnlyTCP }),
	Statistic:       leaf(multiplexObject, "statistic", func(m *sandrone.Multiplex) *bool { return &m.Statistic }),
	BrutalEnabled:   leaf(brutalObject, "enabled", func(b *sandrone.Brutal) *bool { return &b.Enabled }),
	BrutalUpMbps:    leaf(brutalObject, "up_mbps", func(b *sandrone.Brutal) *int { return &b.UpMbps }),
	BrutalDownMbps:  leaf(brutalObject, "down_mbps", func(b *sandrone.Brutal) *int { return &b.DownMbps }),
	Concurrency:     leaf(multiplexObject, "concurrency", func(m *sandrone.Multiplex) *int { return &m.Concurrency }),
	XUDPConcurrency: leaf(multiplexObject, "xudp_concurrency", func(m *sandrone.Multiplex) *int { return &m.XUDPConcurrency }),
	XUDPProxyUDP443: leaf(multiplexObject, "xudp_proxy_udp443", func(m *sandrone.Multiplex) *string { return &m.XUDPProxyUDP443 }, shown),
}

var uotObject = child("udp_over_tcp", TypesOf(sandrone.Shadowsocks, sandrone.SOCKS, sandrone.Naive), func(n *node) **sandrone.UDPOverTCP { return &n.UDPOverTCP })

// UDPOverTCP are the leaves of the udp_over_tcp object.
var UDPOverTCP = struct {
	Enabled Field[bool]
	Version Field[int]
}{
	Enabled: leaf(uotObject, "enabled", func(u *sandrone.UDPOverTCP) *bool { return &u.Enabled }),
	Version: leaf(uotObject, "version", func(u *sandrone.UDPOverTCP) *int { return &u.Version }),
}

var dialerObject = child("dialer", every, func(n *node) **sandrone.Dialer { return &n.Dialer })

type dialer = sandrone.Dialer

// Dialer are the leaves of the dialer object.
var Dialer = struct {
	Proxy, Interface, IPVersion, Network, BlockQUIC, ConnectTimeout Field[string]
	TFO, MPTCP                                                      Field[bool]
	UDPRelay, ECN, NoErrorAlert, AllowOtherInterface, Hybrid        Field[sandrone.Tri]
	RoutingMark, TOS, UDPPort                                       Field[int]
}{
	Proxy:               leaf(dialerObject, "proxy", func(d *dialer) *string { return &d.Proxy }, critical),
	TFO:                 leaf(dialerObject, "tfo", func(d *dialer) *bool { return &d.TFO }),
	MPTCP:               leaf(dialerObject, "mptcp", func(d *dialer) *bool { return &d.MPTCP }),
	UDPRelay:            leaf(dialerObject, "udp_relay", func(d *dialer) *sandrone.Tri { return &d.UDPRelay }),
	Interface:           leaf(dialerObject, "interface", func(d *dialer) *string { return &d.Interface }),
	RoutingMark:         leaf(dialerObject, "routing_mark", func(d *dialer) *int { return &d.RoutingMark }),
	IPVersion:           leaf(dialerObject, "ip_version", func(d *dialer) *string { return &d.IPVersion }, shown),
	Network:             leaf(dialerObject, "network", func(d *dialer) *string { return &d.Network }, silent),
	BlockQUIC:           leaf(dialerObject, "block_quic", func(d *dialer) *string { return &d.BlockQUIC }, shown),
	ECN:                 leaf(dialerObject, "ecn", func(d *dialer) *sandrone.Tri { return &d.ECN }),
	TOS:                 leaf(dialerObject, "tos", func(d *dialer) *int { return &d.TOS }),
	UDPPort:             leaf(dialerObject, "udp_port", func(d *dialer) *int { return &d.UDPPort }),
	NoErrorAlert:        leaf(dialerObject, "no_error_alert", func(d *dialer) *sandrone.Tri { return &d.NoErrorAlert }),
	AllowOtherInterface: leaf(dialerObject, "allow_other_interface", func(d *dialer) *sandrone.Tri { return &d.AllowOtherInterface }),
	Hybrid:              leaf(dialerObject, "hybrid", func(d *dialer) *sandrone.Tri { return &d.Hybrid }),
	ConnectTimeout:      leaf(dialerObject, "connect_timeout", func(d *dialer) *string { return &d.ConnectTimeout }),
}

// ShadowTLSFields are the leaves of a shadow_tls object.
type ShadowTLSFields struct {
	Password, Host, Fingerprint, Certificate, PrivateKey, ClientFingerprint Field[string]
	Version                                                                 Field[int]
	ALPN                                                                    Field[list]
	Insecure                                                                Field[bool]
}

func shadowTLSFields(o object[sandrone.ShadowTLS]) ShadowTLSFields {
	type st = sandrone.ShadowTLS
	return ShadowTLSFields{
		Password:          leaf(o, "password", func(s *st) *string { return &s.Password }, critical),
		Host:              leaf(o, "host", func(s *st) *string { return &s.Host }, critical),
		Version:           leaf(o, "version", func(s *st) *int { return &s.Version }, critical),
		ALPN:              leaf(o, "alpn", func(s *st) *list { return &s.ALPN }),
		Fingerprint:       leaf(o, "fingerprint", func(s *st) *string { return &s.Fingerprint }, critical),
		Certificate:       leaf(o, "certificate", func(s *st) *string { return &s.Certificate }, critical),
		PrivateKey:        leaf(o, "private_key", func(s *st) *string { return &s.PrivateKey }, critical),
		Insecure:          leaf(o, "insecure_skip_verify", func(s *st) *bool { return &s.InsecureSkipVerify }, critical),
		ClientFingerprint: leaf(o, "client_fingerprint", func(s *st) *string { return &s.ClientFingerprint }),
	}
}

// ShadowTLS are the leaves of the node's ShadowTLS wrapper.
var ShadowTLS = shadowTLSFields(child("shadow_tls", TypesOf(sandrone.VMess, sandrone.Trojan, sandrone.HTTP, sandrone.SOCKS, sandrone.SSH, sandrone.AnyTLS, sandrone.VLESS), func(n *node) **sandrone.ShadowTLS { return &n.ShadowTLS }))

var ssrObject = child("shadowsocksr", TypesOf(sandrone.ShadowsocksR), func(n *node) **sandrone.ShadowsocksROptions { return &n.ShadowsocksR })

type ssr = sandrone.ShadowsocksROptions

// ShadowsocksR are the leaves of the shadowsocksr object.
var ShadowsocksR = struct{ Protocol, ProtocolParam, Obfs, ObfsParam Field[string] }{
	Protocol:      leaf(ssrObject, "protocol", func(o *ssr) *string { return &o.Protocol }, critical, shown),
	ProtocolParam: leaf(ssrObject, "protocol_param", func(o *ssr) *string { return &o.ProtocolParam }, critical),
	Obfs:          leaf(ssrObject, "obfs", func(o *ssr) *string { return &o.Obfs }, critical, shown),
	ObfsParam:     leaf(ssrObject, "obfs_param", func(o *ssr) *string { return &o.ObfsParam }, critical),
}

var snellObject = child("snell", TypesOf(sandrone.Snell), func(n *node) **sandrone.SnellOptions { return &n.Snell })

type snell = sandrone.SnellOptions

// Snell are the leaves of the snell object.
var Snell = struct {
	Version                                                   Field[int]
	Obfs, ObfsHost, ObfsURI, Mode, UserKey, ClientFingerprint Field[string]
	Reuse                                                     Field[sandrone.Tri]
	ShadowTLS                                                 ShadowTLSFields
}{
	Version:           leaf(snellObject, "version", func(s *snell) *int { return &s.Version }, critical, shown),
	Obfs:              leaf(snellObject, "obfs", func(s *snell) *string { return &s.Obfs }, critical, shown),
	ObfsHost:          leaf(snellObject, "obfs_host", func(s *snell) *string { return &s.ObfsHost }, critical),
	ObfsURI:           leaf(snellObject, "obfs_uri", func(s *snell) *string { return &s.ObfsURI }),
	Reuse:             leaf(snellObject, "reuse", func(s *snell) *sandrone.Tri { return &s.Reuse }),
	Mode:              leaf(snellObject, "mode", func(s *snell) *string { return &s.Mode }, shown),
	UserKey:           leaf(snellObject, "user_key", func(s *snell) *string { return &s.UserKey }, critical),
	ClientFingerprint: leaf(snellObject, "client_fingerprint", func(s *snell) *string { return &s.ClientFingerprint }, shown),
	ShadowTLS:         shadowTLSFields(sub(snellObject, "shadow_tls", func(s *snell) **sandrone.ShadowTLS { return &s.ShadowTLS })),
}

var anytlsObject = child("anytls", TypesOf(sandrone.AnyTLS), func(n *node) **sandrone.AnyTLSOptions { return &n.AnyTLS })

type anytls = sandrone.AnyTLSOptions

// AnyTLS are the leaves of the anytls object.
var AnyTLS = struct {
	CheckInterval, Timeout  Field[string]
	MinIdle, MaxStreamCount Field[int]
	Reuse                   Field[sandrone.Tri]
}{
	CheckInterval:  leaf(anytlsObject, "idle_session_check_interval", func(a *anytls) *string { return &a.IdleSessionCheckInterval }),
	Timeout:        leaf(anytlsObject, "idle_session_timeout", func(a *anytls) *string { return &a.IdleSessionTimeout }),
	MinIdle:        leaf(anytlsObject, "min_idle_session", func(a *anytls) *int { return &a.MinIdleSession }),
	MaxStreamCount: leaf(anytlsObject, "max_stream_count", func(a *anytls) *int { return &a.MaxStreamCount }),
	Reuse:          leaf(anytlsObject, "reuse", func(a *anytls) *sandrone.Tri { return &a.Reuse }),
}

var (
	hysteriaObject = child("hysteria", hysteria, func(n *node) **sandrone.HysteriaOptions { return &n.Hysteria })
	realmObject    = sub(hysteriaObject, "realm", func(h *hy) **sandrone.HysteriaRealm { return &h.Realm })
	quicObject     = sub(hysteriaObject, "quic", func(h *hy) **sandrone.HysteriaQUIC { return &h.QUIC })
)

type hy = sandrone.HysteriaOptions
type hq = sandrone.HysteriaQUIC

// unreachable: a set of ports matters only where no single port is stated.
var unreachable = when(Tuning, "", func(n *node) Class {
	if n.Port == 0 {
		return Critical
	}
	return Tuning
})

// Hysteria are the leaves of the hysteria object.
var Hysteria = struct {
	Protocol, HopInterval, Up, Down, AuthStr, Auth, Obfs, ObfsPassword, BBRProfile Field[string]
	ServerPorts                                                                    Field[list]
	UpMbps, DownMbps, CWND, UDPMTU                                                 Field[int]
	RealmEnabled                                                                   Field[bool]
	RealmServerURL, RealmToken, RealmID                                            Field[string]
	RealmSTUNServers                                                               Field[list]
	RecvWindowConn, RecvWindow, InitialStreamWindow, MaxStreamWindow               Field[int]
	InitialConnWindow, MaxConnWindow, Keepalive                                    Field[int]
	DisableMTUDiscovery                                                            Field[bool]
}{
	Protocol:            leaf(hysteriaObject, "protocol", func(h *hy) *string { return &h.Protocol }, critical, shown, only(sandrone.Hysteria)),
	ServerPorts:         leaf(hysteriaObject, "server_ports", func(h *hy) *list { return &h.ServerPorts }, unreachable),
	HopInterval:         leaf(hysteriaObject, "hop_interval", func(h *hy) *string { return &h.HopInterval }),
	UpMbps:              leaf(hysteriaObject, "up_mbps", func(h *hy) *int { return &h.UpMbps }),
	DownMbps:            leaf(hysteriaObject, "down_mbps", func(h *hy) *int { return &h.DownMbps }),
	Up:                  leaf(hysteriaObject, "up", func(h *hy) *string { return &h.Up }),
	Down:                leaf(hysteriaObject, "down", func(h *hy) *string { return &h.Down }),
	AuthStr:             leaf(hysteriaObject, "auth_str", func(h *hy) *string { return &h.AuthStr }, critical, only(sandrone.Hysteria)),
	Auth:                leaf(hysteriaObject, "auth", func(h *hy) *string { return &h.Auth }, critical, only(sandrone.Hysteria)),
	Obfs:                leaf(hysteriaObject, "obfs", func(h *hy) *string { return &h.Obfs }, critical, shown),
	ObfsPassword:        leaf(hysteriaObject, "obfs_password", func(h *hy) *string { return &h.ObfsPassword }, critical),
	RealmEnabled:        leaf(realmObject, "enabled", func(r *sandrone.HysteriaRealm) *bool { return &r.Enabled }, only(sandrone.Hysteria2)),
	RealmServerURL:      leaf(realmObject, "server_url", func(r *sandrone.HysteriaRealm) *string { return &r.ServerURL }, only(sandrone.Hysteria2)),
	RealmToken:          leaf(realmObject, "token", func(r *sandrone.HysteriaRealm) *string { return &r.Token }, only(sandrone.Hysteria2)),
	RealmID:             leaf(realmObject, "realm_id", func(r *sandrone.HysteriaRealm) *string { return &r.RealmID }, only(sandrone.Hysteria2)),
	RealmSTUNServers:    leaf(realmObject, "stun_servers", func(r *sandrone.HysteriaRealm) *list { return &r.STUNServers }, only(sandrone.Hysteria2)),
	BBRProfile:          leaf(hysteriaObject, "bbr_profile", func(h *hy) *string { return &h.BBRProfile }, shown, only(sandrone.Hysteria2)),
	CWND:                leaf(hysteriaObject, "cwnd", func(h *hy) *int { return &h.CWND }, only(sandrone.Hysteria2)),
	UDPMTU:              leaf(hysteriaObject, "udp_mtu", func(h *hy) *int { return &h.UDPMTU }, only(sandrone.Hysteria2)),
	RecvWindowConn:      leaf(quicObject, "recv_window_conn", func(q *hq) *int { return &q.RecvWindowConn }),
	RecvWindow:          leaf(quicObject, "recv_window", func(q *hq) *int { return &q.RecvWindow }),
	DisableMTUDiscovery: leaf(quicObject, "disable_mtu_discovery", func(q *hq) *bool { return &q.DisableMTUDiscovery }),
	InitialStreamWindow: leaf(quicObject, "initial_stream_receive_window", func(q *hq) *int { return &q.InitialStreamReceiveWindow }),
	MaxStreamWindow:     leaf(quicObject, "max_stream_receive_window", func(q *hq) *int { return &q.MaxStreamReceiveWindow }),
	InitialConnWindow:   leaf(quicObject, "initial_connection_receive_window", func(q *hq) *int { return &q.InitialConnectionReceiveWindow }),
	MaxConnWindow:       leaf(quicObject, "max_connection_receive_window", func(q *hq) *int { return &q.MaxConnectionReceiveWindow }),
	Keepalive:           leaf(quicObject, "keepalive", func(q *hq) *int { return &q.Keepalive }),
}

var tuicObject = child("tuic", TypesOf(sandrone.TUIC), func(n *node) **sandrone.TUICOptions { return &n.TUIC })

type tuic = sandrone.TUICOptions

// TUIC are the leaves of the tuic object.
var TUIC = struct {
	CongestionControl, UDPRelayMode, Heartbeat, RequestTimeout, IP, HopInterval                   Field[string]
	ZeroRTT, ReduceRTT, UDPOverStream, DisableMTUDiscovery                                        Field[bool]
	UDPOverStreamVersion, MaxUDPRelayPacketSize, MaxOpenStreams, CWND, RecvWindow, RecvWindowConn Field[int]
	ServerPorts                                                                                   Field[list]
}{
	CongestionControl:     leaf(tuicObject, "congestion_control", func(t *tuic) *string { return &t.CongestionControl }, shown),
	UDPRelayMode:          leaf(tuicObject, "udp_relay_mode", func(t *tuic) *string { return &t.UDPRelayMode }, shown),
	ZeroRTT:               leaf(tuicObject, "zero_rtt_handshake", func(t *tuic) *bool { return &t.ZeroRTTHandshake }),
	ReduceRTT:             leaf(tuicObject, "reduce_rtt", func(t *tuic) *bool { return &t.ReduceRTT }),
	Heartbeat:             leaf(tuicObject, "heartbeat", func(t *tuic) *string { return &t.Heartbeat }),
	UDPOverStream:         leaf(tuicObject, "udp_over_stream", func(t *tuic) *bool { return &t.UDPOverStream }),
	UDPOverStreamVersion:  leaf(tuicObject, "udp_over_stream_version", func(t *tuic) *int { return &t.UDPOverStreamVersion }),
	RequestTimeout:        leaf(tuicObject, "request_timeout", func(t *tuic) *string { return &t.RequestTimeout }),
	MaxUDPRelayPacketSize: leaf(tuicObject, "max_udp_relay_packet_size", func(t *tuic) *int { return &t.MaxUDPRelayPacketSize }),
	MaxOpenStreams:        leaf(tuicObject, "max_open_streams", func(t *tuic) *int { return &t.MaxOpenStreams }),
	CWND:                  leaf(tuicObject, "cwnd", func(t *tuic) *int { return &t.CWND }),
	IP:                    leaf(tuicObject, "ip", func(t *tuic) *string { return &t.IP }),
	ServerPorts:           leaf(tuicObject, "server_ports", func(t *tuic) *list { return &t.ServerPorts }, unreachable),
	HopInterval:           leaf(tuicObject, "hop_interval", func(t *tuic) *string { return &t.HopInterval }),
	DisableMTUDiscovery:   leaf(tuicObject, "disable_mtu_discovery", func(t *tuic) *bool { return &t.DisableMTUDiscovery }),
	RecvWindow:            leaf(tuicObject, "recv_window", func(t *tuic) *int { return &t.RecvWindow }),
	RecvWindowConn:        leaf(tuicObject, "recv_window_conn", func(t *tuic) *int { return &t.RecvWindowConn }),
}

var mieruObject = child("mieru", TypesOf(sandrone.Mieru), func(n *node) **sandrone.MieruOptions { return &n.Mieru })

type mieru = sandrone.MieruOptions

// Mieru are the leaves of the mieru object.
var Mieru = struct{ PortRange, Transport, Multiplexing, HandshakeMode, TrafficPattern Field[string] }{
	PortRange:      leaf(mieruObject, "port_range", func(m *mieru) *string { return &m.PortRange }, critical),
	Transport:      leaf(mieruObject, "transport", func(m *mieru) *string { return &m.Transport }, critical, shown),
	Multiplexing:   leaf(mieruObject, "multiplexing", func(m *mieru) *string { return &m.Multiplexing }, shown),
	HandshakeMode:  leaf(mieruObject, "handshake_mode", func(m *mieru) *string { return &m.HandshakeMode }, shown),
	TrafficPattern: leaf(mieruObject, "traffic_pattern", func(m *mieru) *string { return &m.TrafficPattern }),
}

var wireguardObject = child("wireguard", TypesOf(sandrone.WireGuard), func(n *node) **sandrone.WireGuardOptions { return &n.WireGuard })

type wg = sandrone.WireGuardOptions

// WireGuard are the leaves of the wireguard object.
var WireGuard = struct {
	PrivateKey, IP, IPv6                          Field[string]
	Address, DNS                                  Field[list]
	MTU, Workers, PersistentKeepalive, ListenPort Field[int]
	Reserved                                      Field[[]int]
	RemoteDNSResolve, System                      Field[bool]
	Amnezia                                       Field[map[string]any]
}{
	PrivateKey:          leaf(wireguardObject, "private_key", func(w *wg) *string { return &w.PrivateKey }, critical),
	Address:             leaf(wireguardObject, "address", func(w *wg) *list { return &w.Address }, critical),
	IP:                  leaf(wireguardObject, "ip", func(w *wg) *string { return &w.IP }, silent),
	IPv6:                leaf(wireguardObject, "ipv6", func(w *wg) *string { return &w.IPv6 }, silent),
	MTU:                 leaf(wireguardObject, "mtu", func(w *wg) *int { return &w.MTU }),
	Workers:             leaf(wireguardObject, "workers", func(w *wg) *int { return &w.Workers }),
	PersistentKeepalive: leaf(wireguardObject, "persistent_keepalive", func(w *wg) *int { return &w.PersistentKeepalive }),
	ListenPort:          leaf(wireguardObject, "listen_port", func(w *wg) *int { return &w.ListenPort }),
	Reserved:            leaf(wireguardObject, "reserved", func(w *wg) *[]int { return &w.Reserved }, critical),
	DNS:                 leaf(wireguardObject, "dns", func(w *wg) *list { return &w.DNS }),
	RemoteDNSResolve:    leaf(wireguardObject, "remote_dns_resolve", func(w *wg) *bool { return &w.RemoteDNSResolve }),
	System:              leaf(wireguardObject, "system", func(w *wg) *bool { return &w.System }),
	Amnezia:             leaf(wireguardObject, "amnezia", func(w *wg) *map[string]any { return &w.Amnezia }, critical),
}

// peerObject is the last peer of the list. A reader appends a peer and fills
// it; a writer shows a row one peer at a time by cutting the list after it.
var peerObject = object[sandrone.WireGuardPeer]{"wireguard.peers", TypesOf(sandrone.WireGuard), func(n *node, how access) *sandrone.WireGuardPeer {
	w := wireguardObject.at(n, how)
	if w == nil {
		return nil
	}
	if len(w.Peers) == 0 {
		if how == look {
			return nil
		}
		w.Peers = append(w.Peers, sandrone.WireGuardPeer{})
	} else if how == own {
		w.Peers = slices.Clone(w.Peers)
	}
	return &w.Peers[len(w.Peers)-1]
}}

type peer = sandrone.WireGuardPeer

// Peer are the leaves of one wireguard peer. Their place in a node is the last
// peer of the list.
var Peer = struct {
	Server, PublicKey, PreSharedKey Field[string]
	Port                            Field[uint16]
	AllowedIPs                      Field[list]
	Reserved                        Field[[]int]
	PersistentKeepalive             Field[int]
}{
	Server:              leaf(peerObject, "server", func(p *peer) *string { return &p.Server }, critical),
	Port:                leaf(peerObject, "port", func(p *peer) *uint16 { return &p.Port }, critical),
	PublicKey:           leaf(peerObject, "public_key", func(p *peer) *string { return &p.PublicKey }, critical),
	PreSharedKey:        leaf(peerObject, "pre_shared_key", func(p *peer) *string { return &p.PreSharedKey }, critical),
	AllowedIPs:          leaf(peerObject, "allowed_ips", func(p *peer) *list { return &p.AllowedIPs }),
	Reserved:            leaf(peerObject, "reserved", func(p *peer) *[]int { return &p.Reserved }, critical),
	PersistentKeepalive: leaf(peerObject, "persistent_keepalive", func(p *peer) *int { return &p.PersistentKeepalive }),
}

var sshObject = child("ssh", TypesOf(sandrone.SSH), func(n *node) **sandrone.SSHOptions { return &n.SSH })

type ssh = sandrone.SSHOptions

// SSH are the leaves of the ssh object. Without its host keys a node would
// trust any server, so their loss is critical.
var SSH = struct {
	PrivateKey, PrivateKeyPath, PrivateKeyPassphrase, ClientVersion Field[string]
	HostKeys, HostKeyAlgorithms                                     Field[list]
	IdleTimeout                                                     Field[int]
}{
	PrivateKey:           leaf(sshObject, "private_key", func(s *ssh) *string { return &s.PrivateKey }, critical),
	PrivateKeyPath:       leaf(sshObject, "private_key_path", func(s *ssh) *string { return &s.PrivateKeyPath }, critical),
	PrivateKeyPassphrase: leaf(sshObject, "private_key_passphrase", func(s *ssh) *string { return &s.PrivateKeyPassphrase }, critical),
	HostKeys:             leaf(sshObject, "host_keys", func(s *ssh) *list { return &s.HostKeys }, critical),
	HostKeyAlgorithms:    leaf(sshObject, "host_key_algorithms", func(s *ssh) *list { return &s.HostKeyAlgorithms }),
	ClientVersion:        leaf(sshObject, "client_version", func(s *ssh) *string { return &s.ClientVersion }),
	IdleTimeout:          leaf(sshObject, "idle_timeout", func(s *ssh) *int { return &s.IdleTimeout }),
}

var naiveObject = child("naive", TypesOf(sandrone.Naive), func(n *node) **sandrone.NaiveOptions { return &n.Naive })

type naive = sandrone.NaiveOptions

// Naive are the leaves of the naive object.
var Naive = struct {
	QUIC                Field[bool]
	CongestionControl   Field[string]
	InsecureConcurrency Field[int]
	Padding             Field[sandrone.Tri]
}{
	QUIC:                leaf(naiveObject, "quic", func(o *naive) *bool { return &o.QUIC }, critical),
	CongestionControl:   leaf(naiveObject, "quic_congestion_control", func(o *naive) *string { return &o.QUICCongestionControl }, shown),
	InsecureConcurrency: leaf(naiveObject, "insecure_concurrency", func(o *naive) *int { return &o.InsecureConcurrency }),
	Padding:             leaf(naiveObject, "padding", func(o *naive) *sandrone.Tri { return &o.Padding }),
}

var trojanObject = child("trojan", TypesOf(sandrone.Trojan), func(n *node) **sandrone.TrojanOptions { return &n.Trojan })

type trojan = sandrone.TrojanOptions

// Trojan are the leaves of the trojan object.
var Trojan = struct {
	SSEnabled            Field[bool]
	SSMethod, SSPassword Field[string]
}{
	SSEnabled:  leaf(trojanObject, "ss_enabled", func(o *trojan) *bool { return &o.SSEnabled }, critical),
	SSMethod:   leaf(trojanObject, "ss_method", func(o *trojan) *string { return &o.SSMethod }, critical, shown),
	SSPassword: leaf(trojanObject, "ss_password", func(o *trojan) *string { return &o.SSPassword }, critical),
}

var vmessObject = child("vmess", TypesOf(sandrone.VMess), func(n *node) **sandrone.VMessOptions { return &n.VMess })

// VMess are the leaves of the vmess object.
var VMess = struct{ GlobalPadding, AuthenticatedLength Field[bool] }{
	GlobalPadding:       leaf(vmessObject, "global_padding", func(o *sandrone.VMessOptions) *bool { return &o.GlobalPadding }),
	AuthenticatedLength: leaf(vmessObject, "authenticated_length", func(o *sandrone.VMessOptions) *bool { return &o.AuthenticatedLength }),
}
