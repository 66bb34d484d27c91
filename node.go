package sandrone

import "encoding/json"

// Node is one proxy server in the neutral model. A zero field means "not
// stated by the source" and is left out of the JSON form; fields of type [Tri]
// tell "not stated" from "false".
//
// Text is stored decoded: no percent-encoding, no IPv6 brackets. Nodes keep
// the order of their source.
type Node struct {
	ID             string         `json:"id,omitempty"`              // stable identity chosen by the caller; parsers leave it empty, except SIP008's
	Name           string         `json:"name,omitempty"`            // display name; never empty after normalisation
	Type           Type           `json:"type,omitempty"`            // canonical protocol
	Server         string         `json:"server,omitempty"`          // host name, IPv4 or bare IPv6
	Port           uint16         `json:"port,omitempty"`            // 1–65535; with port hopping the first usable port
	Network        string         `json:"network,omitempty"`         // "tcp" or "udp": the node carries only that; empty means both
	Username       string         `json:"username,omitempty"`        // login name
	Password       string         `json:"password,omitempty"`        // password, pre-shared key or authentication text
	UUID           string         `json:"uuid,omitempty"`            // user id, lower-case with dashes
	Cipher         string         `json:"cipher,omitempty"`          // method (ss, ssr) or security (vmess)
	AlterID        int            `json:"alter_id,omitempty"`        // VMess: 0 is AEAD
	Flow           string         `json:"flow,omitempty"`            // VLESS: "xtls-rprx-vision" or empty
	Encryption     string         `json:"encryption,omitempty"`      // VLESS: "none" or a post-quantum profile, verbatim
	Token          string         `json:"token,omitempty"`           // TUIC v4, exclusive with UUID and Password
	PacketEncoding string         `json:"packet_encoding,omitempty"` // "xudp", "packetaddr", "none"
	Plugin         string         `json:"plugin,omitempty"`          // canonical SIP003 plugin name
	PluginOptions  map[string]any `json:"plugin_options,omitempty"`  // values: string, bool, int, []string, map[string]string

	Headers map[string]string `json:"headers,omitempty"` // extra HTTP CONNECT headers
	Path    string            `json:"path,omitempty"`    // HTTP CONNECT path override

	TLS        *TLS        `json:"tls,omitempty"`
	Transport  *Transport  `json:"transport,omitempty"`
	Multiplex  *Multiplex  `json:"multiplex,omitempty"`
	UDPOverTCP *UDPOverTCP `json:"udp_over_tcp,omitempty"`
	Dialer     *Dialer     `json:"dialer,omitempty"`
	ShadowTLS  *ShadowTLS  `json:"shadow_tls,omitempty"`

	ShadowsocksR *ShadowsocksROptions `json:"shadowsocksr,omitempty"`
	Snell        *SnellOptions        `json:"snell,omitempty"`
	AnyTLS       *AnyTLSOptions       `json:"anytls,omitempty"`
	Hysteria     *HysteriaOptions     `json:"hysteria,omitempty"`
	TUIC         *TUICOptions         `json:"tuic,omitempty"`
	Mieru        *MieruOptions        `json:"mieru,omitempty"`
	WireGuard    *WireGuardOptions    `json:"wireguard,omitempty"`
	SSH          *SSHOptions          `json:"ssh,omitempty"`
	Naive        *NaiveOptions        `json:"naive,omitempty"`
	Trojan       *TrojanOptions       `json:"trojan,omitempty"`
	VMess        *VMessOptions        `json:"vmess,omitempty"`
	Opaque       *Opaque              `json:"opaque,omitempty"`

	Tags         []string          `json:"tags,omitempty"`
	Meta         map[string]string `json:"meta,omitempty"`
	Raw          Raw               `json:"raw,omitempty"`
	Lossy        bool              `json:"lossy,omitempty"` // a parser had to drop meaning that it could name
	Warnings     []Warning         `json:"warnings,omitempty"`
	SourceFormat string            `json:"source_format,omitempty"`
}

// Raw keeps what a source said and the model has no field for, under a key
// that begins with the source ("mihomo.ws-opts.x", "uri.query.y"). A value is
// compact JSON. Raw members are as secret as the node.
type Raw map[string]json.RawMessage

// TLS is the outer TLS layer.
type TLS struct {
	Enabled            bool     `json:"enabled"`
	ServerName         string   `json:"server_name,omitempty"` // SNI and the name verified
	DisableSNI         bool     `json:"disable_sni,omitempty"`
	InsecureSkipVerify bool     `json:"insecure_skip_verify,omitempty"`
	ALPN               []string `json:"alpn,omitempty"`
	ClientFingerprint  string   `json:"client_fingerprint,omitempty"` // uTLS profile: how the hello looks
	Fingerprint        string   `json:"fingerprint,omitempty"`        // SHA-256 pin of the certificate, verbatim
	PublicKeySHA256    []string `json:"public_key_sha256,omitempty"`  // SPKI pins, base64
	VerifyNames        []string `json:"verify_names,omitempty"`       // names accepted instead of ServerName
	Certificate        string   `json:"certificate,omitempty"`        // client certificate, PEM or path; both or neither
	PrivateKey         string   `json:"private_key,omitempty"`
	CA                 string   `json:"ca,omitempty"` // trust anchor, PEM
	CAPath             string   `json:"ca_path,omitempty"`
	MinVersion         string   `json:"min_version,omitempty"` // "1.0" … "1.3"
	MaxVersion         string   `json:"max_version,omitempty"`
	CipherSuites       []string `json:"cipher_suites,omitempty"` // names of crypto/tls
	CurvePreferences   []string `json:"curve_preferences,omitempty"`
	Fragment           bool     `json:"fragment,omitempty"`        // split the ClientHello over TCP segments
	RecordFragment     bool     `json:"record_fragment,omitempty"` // split it over TLS records
	SessionTicket      Tri      `json:"session_ticket,omitzero"`
	ECH                *ECH     `json:"ech,omitempty"`
	Reality            *Reality `json:"reality,omitempty"`
}

// ECH is Encrypted Client Hello (draft-ietf-tls-esni).
type ECH struct {
	Enabled         bool     `json:"enabled,omitempty"`
	Config          []string `json:"config,omitempty"`            // ECHConfigList in base64
	QueryServerName string   `json:"query_server_name,omitempty"` // name whose HTTPS record is asked
	DNS             string   `json:"dns,omitempty"`               // resolver URL to ask
	ForceQuery      string   `json:"force_query,omitempty"`       // "none", "half", "full"
}

// Reality is the REALITY handshake in place of a certificate.
type Reality struct {
	Enabled       bool   `json:"enabled,omitempty"`
	PublicKey     string `json:"public_key,omitempty"` // X25519, base64url without padding
	ShortID       string `json:"short_id,omitempty"`   // 0–16 hex digits, an even number
	SpiderX       string `json:"spider_x,omitempty"`
	MLDSA65Verify string `json:"mldsa65_verify,omitempty"`
}

// The transports of [Transport.Type].
const (
	TransportTCP         = "tcp"
	TransportWebSocket   = "websocket"
	TransportGRPC        = "grpc"
	TransportHTTP        = "http" // HTTP/2
	TransportHTTPUpgrade = "httpupgrade"
	TransportXHTTP       = "xhttp"
	TransportQUIC        = "quic"
	TransportKCP         = "kcp"
)

// Transport is how the protocol's bytes are framed.
type Transport struct {
	Type                     string            `json:"type,omitempty"`
	HeaderType               string            `json:"header_type,omitempty"` // obfuscation header: tcp "http"; kcp and quic "srtp", "utp", …
	Method                   string            `json:"method,omitempty"`
	Path                     string            `json:"path,omitempty"`
	Host                     string            `json:"host,omitempty"`
	Hosts                    []string          `json:"hosts,omitempty"` // all hosts, when there is more than one
	Headers                  map[string]string `json:"headers,omitempty"`
	ServiceName              string            `json:"service_name,omitempty"`
	GRPCMode                 string            `json:"grpc_mode,omitempty"` // "multi"; empty means gun
	Authority                string            `json:"authority,omitempty"`
	UserAgent                string            `json:"user_agent,omitempty"`
	IdleTimeout              string            `json:"idle_timeout,omitempty"`
	PingTimeout              string            `json:"ping_timeout,omitempty"`
	PermitWithoutStream      bool              `json:"permit_without_stream,omitempty"`
	MaxEarlyData             int               `json:"max_early_data,omitempty"` // bytes
	EarlyDataHeaderName      string            `json:"early_data_header_name,omitempty"`
	V2RayHTTPUpgradeFastOpen bool              `json:"v2ray_http_upgrade_fast_open,omitempty"`
	Seed                     string            `json:"seed,omitempty"`
	KCP                      *KCP              `json:"kcp,omitempty"`
	QUICSecurity             string            `json:"quic_security,omitempty"`
	QUICKey                  string            `json:"quic_key,omitempty"`
	XHTTP                    *XHTTP            `json:"xhttp,omitempty"`
}

// KCP tunes the mKCP transport. Sizes are bytes (MTU) and MiB (buffers), the
// interval milliseconds, capacities MiB/s, as Xray documents them.
type KCP struct {
	MTU              int  `json:"mtu,omitempty"`
	TTI              int  `json:"tti,omitempty"`
	UplinkCapacity   int  `json:"uplink_capacity,omitempty"`
	DownlinkCapacity int  `json:"downlink_capacity,omitempty"`
	Congestion       bool `json:"congestion,omitempty"`
	ReadBufferSize   int  `json:"read_buffer_size,omitempty"`
	WriteBufferSize  int  `json:"write_buffer_size,omitempty"`
}

// XHTTP holds the options of the xhttp transport. Ranges are text, "N" or
// "A-B" ascending.
type XHTTP struct {
	Mode                 string         `json:"mode,omitempty"` // "auto", "packet-up", "stream-up", "stream-one"
	NoGRPCHeader         bool           `json:"no_grpc_header,omitempty"`
	XPaddingBytes        string         `json:"x_padding_bytes,omitempty"`
	SCMaxEachPostBytes   string         `json:"sc_max_each_post_bytes,omitempty"`
	SCMinPostsIntervalMS string         `json:"sc_min_posts_interval_ms,omitempty"`
	SCStreamUpServerSecs string         `json:"sc_stream_up_server_secs,omitempty"`
	ReuseSettings        *XHTTPReuse    `json:"reuse_settings,omitempty"`
	DownloadSettings     *XHTTPDownload `json:"download_settings,omitempty"`
	Extra                Raw            `json:"extra,omitempty"` // every other member of Xray's "extra", verbatim
}

// XHTTPReuse bounds how xhttp reuses connections (Xray's xmux).
type XHTTPReuse struct {
	MaxConcurrency   string `json:"max_concurrency,omitempty"`
	MaxConnections   string `json:"max_connections,omitempty"`
	CMaxReuseTimes   string `json:"c_max_reuse_times,omitempty"`
	HMaxRequestTimes string `json:"h_max_request_times,omitempty"`
	HMaxReusableSecs string `json:"h_max_reusable_secs,omitempty"`
	HKeepAlivePeriod int    `json:"h_keep_alive_period,omitempty"` // seconds
}

// XHTTPDownload is the separate way down of an xhttp node. What is absent is
// inherited from the outer transport.
type XHTTPDownload struct {
	Server        string            `json:"server,omitempty"`
	Port          uint16            `json:"port,omitempty"`
	Path          string            `json:"path,omitempty"`
	Host          string            `json:"host,omitempty"`
	Headers       map[string]string `json:"headers,omitempty"`
	Mode          string            `json:"mode,omitempty"`
	TLS           *TLS              `json:"tls,omitempty"`
	ReuseSettings *XHTTPReuse       `json:"reuse_settings,omitempty"`
}

// Multiplex carries several streams in one connection.
type Multiplex struct {
	Enabled         bool    `json:"enabled,omitempty"`
	Protocol        string  `json:"protocol,omitempty"` // "h2mux", "smux", "yamux", "mux.cool"
	MaxConnections  int     `json:"max_connections,omitempty"`
	MinStreams      int     `json:"min_streams,omitempty"`
	MaxStreams      int     `json:"max_streams,omitempty"`
	Padding         bool    `json:"padding,omitempty"`
	OnlyTCP         bool    `json:"only_tcp,omitempty"`
	Statistic       bool    `json:"statistic,omitempty"`
	Brutal          *Brutal `json:"brutal,omitempty"`
	Concurrency     int     `json:"concurrency,omitempty"`
	XUDPConcurrency int     `json:"xudp_concurrency,omitempty"`
	XUDPProxyUDP443 string  `json:"xudp_proxy_udp443,omitempty"` // "reject", "allow", "skip"
}

// Brutal is the fixed-rate congestion control of multiplexed connections.
type Brutal struct {
	Enabled  bool `json:"enabled,omitempty"`
	UpMbps   int  `json:"up_mbps,omitempty"`
	DownMbps int  `json:"down_mbps,omitempty"`
}

// UDPOverTCP sends UDP through the TCP connection.
type UDPOverTCP struct {
	Enabled bool `json:"enabled,omitempty"`
	Version int  `json:"version,omitempty"` // 1 or 2; 0 is the client's default
}

// Dialer says how the node's own connection is made.
type Dialer struct {
	Proxy               string `json:"proxy,omitempty"` // name of the node or group to go through
	TFO                 bool   `json:"tfo,omitempty"`   // TCP Fast Open
	MPTCP               bool   `json:"mptcp,omitempty"`
	UDPRelay            Tri    `json:"udp_relay,omitzero"` // explicit UDP policy; not the same as [Node.Network]
	Interface           string `json:"interface,omitempty"`
	RoutingMark         int    `json:"routing_mark,omitempty"`
	IPVersion           string `json:"ip_version,omitempty"` // "dual", "ipv4", "ipv6", "ipv4-prefer", "ipv6-prefer"
	Network             string `json:"network,omitempty"`
	BlockQUIC           string `json:"block_quic,omitempty"` // "auto", "on", "off"
	ECN                 Tri    `json:"ecn,omitzero"`
	TOS                 int    `json:"tos,omitempty"`
	UDPPort             int    `json:"udp_port,omitempty"`
	NoErrorAlert        Tri    `json:"no_error_alert,omitzero"`
	AllowOtherInterface Tri    `json:"allow_other_interface,omitzero"`
	Hybrid              Tri    `json:"hybrid,omitzero"`
	ConnectTimeout      string `json:"connect_timeout,omitempty"` // Go duration
}

// ShadowTLS wraps a node in a TLS handshake with a decoy host.
type ShadowTLS struct {
	Password           string   `json:"password,omitempty"`
	Host               string   `json:"host,omitempty"`    // SNI of the decoy
	Version            int      `json:"version,omitempty"` // 1–3; absent means 2
	ALPN               []string `json:"alpn,omitempty"`
	Fingerprint        string   `json:"fingerprint,omitempty"`
	Certificate        string   `json:"certificate,omitempty"`
	PrivateKey         string   `json:"private_key,omitempty"`
	InsecureSkipVerify bool     `json:"insecure_skip_verify,omitempty"`
	ClientFingerprint  string   `json:"client_fingerprint,omitempty"`
}

// ShadowsocksROptions are the protocol and obfuscation of a ssr node.
type ShadowsocksROptions struct {
	Protocol      string `json:"protocol,omitempty"` // "origin" when the source is silent
	ProtocolParam string `json:"protocol_param,omitempty"`
	Obfs          string `json:"obfs,omitempty"` // "plain" when the source is silent
	ObfsParam     string `json:"obfs_param,omitempty"`
}

// SnellOptions are the options of a snell node.
type SnellOptions struct {
	Version           int        `json:"version,omitempty"` // 1–6; absent means 1
	Obfs              string     `json:"obfs,omitempty"`    // "http" or "tls"
	ObfsHost          string     `json:"obfs_host,omitempty"`
	ObfsURI           string     `json:"obfs_uri,omitempty"`
	Reuse             Tri        `json:"reuse,omitzero"`
	Mode              string     `json:"mode,omitempty"` // v6: "default", "unshaped", "unsafe-raw"
	UserKey           string     `json:"user_key,omitempty"`
	ClientFingerprint string     `json:"client_fingerprint,omitempty"`
	ShadowTLS         *ShadowTLS `json:"shadow_tls,omitempty"`
}

// AnyTLSOptions are the session options of an anytls node. Durations are Go
// durations of whole seconds ("30s", "1m0s").
type AnyTLSOptions struct {
	IdleSessionCheckInterval string `json:"idle_session_check_interval,omitempty"`
	IdleSessionTimeout       string `json:"idle_session_timeout,omitempty"`
	MinIdleSession           int    `json:"min_idle_session,omitempty"`
	MaxStreamCount           int    `json:"max_stream_count,omitempty"`
	Reuse                    Tri    `json:"reuse,omitzero"`
}

// HysteriaOptions serve both hysteria and hysteria2.
type HysteriaOptions struct {
	Protocol     string         `json:"protocol,omitempty"`     // v1: "udp", "wechat-video", "faketcp"
	ServerPorts  []string       `json:"server_ports,omitempty"` // port hopping: items "N" or "A-B"
	HopInterval  string         `json:"hop_interval,omitempty"` // seconds, "30" or "15-30"
	UpMbps       int            `json:"up_mbps,omitempty"`
	DownMbps     int            `json:"down_mbps,omitempty"`
	Up           string         `json:"up,omitempty"` // "<int> <unit>" when it is no whole Mbit/s
	Down         string         `json:"down,omitempty"`
	AuthStr      string         `json:"auth_str,omitempty"` // v1: authentication text
	Auth         string         `json:"auth,omitempty"`     // v1: base64 of a payload that is no UTF-8
	Obfs         string         `json:"obfs,omitempty"`     // v1 "xplus"; v2 "salamander", "gecko"
	ObfsPassword string         `json:"obfs_password,omitempty"`
	Realm        *HysteriaRealm `json:"realm,omitempty"`
	BBRProfile   string         `json:"bbr_profile,omitempty"`
	CWND         int            `json:"cwnd,omitempty"`
	UDPMTU       int            `json:"udp_mtu,omitempty"`
	QUIC         *HysteriaQUIC  `json:"quic,omitempty"`
}

// HysteriaRealm is the rendezvous of a hysteria2 server behind NAT.
type HysteriaRealm struct {
	Enabled     bool     `json:"enabled,omitempty"`
	ServerURL   string   `json:"server_url,omitempty"`
	Token       string   `json:"token,omitempty"`
	RealmID     string   `json:"realm_id,omitempty"`
	STUNServers []string `json:"stun_servers,omitempty"`
}

// HysteriaQUIC are the QUIC windows (bytes) and switches of hysteria.
type HysteriaQUIC struct {
	RecvWindowConn                 int  `json:"recv_window_conn,omitempty"`
	RecvWindow                     int  `json:"recv_window,omitempty"`
	DisableMTUDiscovery            bool `json:"disable_mtu_discovery,omitempty"`
	InitialStreamReceiveWindow     int  `json:"initial_stream_receive_window,omitempty"`
	MaxStreamReceiveWindow         int  `json:"max_stream_receive_window,omitempty"`
	InitialConnectionReceiveWindow int  `json:"initial_connection_receive_window,omitempty"`
	MaxConnectionReceiveWindow     int  `json:"max_connection_receive_window,omitempty"`
	Keepalive                      int  `json:"keepalive,omitempty"` // seconds
}

// TUICOptions are the options of a tuic node. Durations are Go durations.
type TUICOptions struct {
	CongestionControl     string   `json:"congestion_control,omitempty"` // "cubic", "new_reno", "bbr"
	UDPRelayMode          string   `json:"udp_relay_mode,omitempty"`     // "native", "quic"
	ZeroRTTHandshake      bool     `json:"zero_rtt_handshake,omitempty"`
	ReduceRTT             bool     `json:"reduce_rtt,omitempty"`
	Heartbeat             string   `json:"heartbeat,omitempty"`
	UDPOverStream         bool     `json:"udp_over_stream,omitempty"`
	UDPOverStreamVersion  int      `json:"udp_over_stream_version,omitempty"`
	RequestTimeout        string   `json:"request_timeout,omitempty"`
	MaxUDPRelayPacketSize int      `json:"max_udp_relay_packet_size,omitempty"`
	MaxOpenStreams        int      `json:"max_open_streams,omitempty"`
	CWND                  int      `json:"cwnd,omitempty"`
	IP                    string   `json:"ip,omitempty"` // address that replaces the server's
	ServerPorts           []string `json:"server_ports,omitempty"`
	HopInterval           string   `json:"hop_interval,omitempty"`
	DisableMTUDiscovery   bool     `json:"disable_mtu_discovery,omitempty"`
	RecvWindow            int      `json:"recv_window,omitempty"`
	RecvWindowConn        int      `json:"recv_window_conn,omitempty"`
}

// MieruOptions are the options of a mieru node.
type MieruOptions struct {
	PortRange      string `json:"port_range,omitempty"` // "2090-2099", exclusive with Node.Port
	Transport      string `json:"transport,omitempty"`  // "TCP" or "UDP"
	Multiplexing   string `json:"multiplexing,omitempty"`
	HandshakeMode  string `json:"handshake_mode,omitempty"`
	TrafficPattern string `json:"traffic_pattern,omitempty"`
}

// WireGuardOptions are the interface and the peers of a wireguard node.
type WireGuardOptions struct {
	PrivateKey          string          `json:"private_key,omitempty"` // base64
	Address             []string        `json:"address,omitempty"`     // interface addresses with prefix length
	IP                  string          `json:"ip,omitempty"`          // first IPv4 of Address, without prefix
	IPv6                string          `json:"ipv6,omitempty"`        // first IPv6 of Address, without prefix
	Peers               []WireGuardPeer `json:"peers,omitempty"`
	MTU                 int             `json:"mtu,omitempty"`
	Workers             int             `json:"workers,omitempty"`
	PersistentKeepalive int             `json:"persistent_keepalive,omitempty"` // seconds
	ListenPort          int             `json:"listen_port,omitempty"`
	Reserved            []int           `json:"reserved,omitempty"` // three bytes; copied to every peer without its own
	DNS                 []string        `json:"dns,omitempty"`
	RemoteDNSResolve    bool            `json:"remote_dns_resolve,omitempty"`
	System              bool            `json:"system,omitempty"`
	Amnezia             map[string]any  `json:"amnezia,omitempty"` // AmneziaWG options; values: int or string
}

// WireGuardPeer is one peer of a wireguard node.
type WireGuardPeer struct {
	Server              string   `json:"server,omitempty"`
	Port                uint16   `json:"port,omitempty"`
	PublicKey           string   `json:"public_key,omitempty"`
	PreSharedKey        string   `json:"pre_shared_key,omitempty"`
	AllowedIPs          []string `json:"allowed_ips,omitempty"`
	Reserved            []int    `json:"reserved,omitempty"`
	PersistentKeepalive int      `json:"persistent_keepalive,omitempty"` // seconds
}

// SSHOptions are the options of an ssh node.
type SSHOptions struct {
	PrivateKey           string   `json:"private_key,omitempty"` // PEM or base64 of PEM
	PrivateKeyPath       string   `json:"private_key_path,omitempty"`
	PrivateKeyPassphrase string   `json:"private_key_passphrase,omitempty"`
	HostKeys             []string `json:"host_keys,omitempty"` // "algorithm base64"
	HostKeyAlgorithms    []string `json:"host_key_algorithms,omitempty"`
	ClientVersion        string   `json:"client_version,omitempty"`
	IdleTimeout          int      `json:"idle_timeout,omitempty"` // seconds
}

// NaiveOptions are the options of a naive node.
type NaiveOptions struct {
	QUIC                  bool   `json:"quic,omitempty"`
	QUICCongestionControl string `json:"quic_congestion_control,omitempty"`
	InsecureConcurrency   int    `json:"insecure_concurrency,omitempty"`
	Padding               Tri    `json:"padding,omitzero"`
}

// TrojanOptions describe a Shadowsocks layer inside Trojan.
type TrojanOptions struct {
	SSEnabled  bool   `json:"ss_enabled,omitempty"`
	SSMethod   string `json:"ss_method,omitempty"`
	SSPassword string `json:"ss_password,omitempty"`
}

// VMessOptions are sing-box's and mihomo's extra VMess switches.
type VMessOptions struct {
	GlobalPadding       bool `json:"global_padding,omitempty"`
	AuthenticatedLength bool `json:"authenticated_length,omitempty"`
}

// Opaque carries the options of a protocol that is not modelled, with the
// source's own key names. Only a renderer of the same family writes it back.
type Opaque struct {
	Family  string          `json:"family,omitempty"`  // "mihomo", "sing-box", "uri", "surge"
	Options json.RawMessage `json:"options,omitempty"` // one JSON object, in source order
}
