package sandrone

// Settings are the project's settings, with the JSON shape in which they are
// stored and served. [DefaultSettings] holds the defaults.
type Settings struct {
	SchemaVersion    int                  `json:"schema_version"`
	HTTP             HTTPSettings         `json:"http"`
	MCP              MCPSettings          `json:"mcp"`
	Log              LogSettings          `json:"log"`
	RemoteDefaults   RemoteSettings       `json:"remote_defaults"`
	ProbeDefaults    ProbeSettings        `json:"probe_defaults"`
	CacheDefaults    CacheSettings        `json:"cache_defaults"`
	PublicConvert    ConvertSettings      `json:"public_convert"`
	Shares           ShareSettings        `json:"shares"`
	Metrics          MetricsSettings      `json:"metrics"`
	Appearance       AppearanceSettings   `json:"appearance"`
	Subscriptions    SubscriptionSettings `json:"subscriptions"`
	ScheduledRefresh RefreshSettings      `json:"scheduled_refresh"`
}

// HTTPSettings concern the listener.
type HTTPSettings struct {
	Listen             string   `json:"listen"`               // host:port; takes effect at start
	PublicURL          string   `json:"public_url"`           // absolute http(s) address of share links; empty means the request's origin
	TrustedProxies     []string `json:"trusted_proxies"`      // addresses or CIDRs whose X-Forwarded-For counts
	BodyTimeoutSeconds int      `json:"body_timeout_seconds"` // 1–600, public routes; takes effect at start
}

// MCPSettings concern the MCP endpoint.
type MCPSettings struct {
	Path           string `json:"path"`
	MaxOutputBytes int    `json:"max_output_bytes"`
}

// LogSettings concern the log.
type LogSettings struct {
	Level string `json:"level"` // "debug", "info", "warn", "error"
}

// RemoteSettings are the defaults of fetches made for the operator.
type RemoteSettings struct {
	UserAgent           string   `json:"user_agent"`             // empty means sandrone/<version>
	Proxy               string   `json:"proxy"`                  // http, https or socks5 address
	AllowHosts          []string `json:"allow_hosts"`            // names, *.suffixes, addresses and CIDRs that may be fetched although not public
	StaleIfErrorSeconds int64    `json:"stale_if_error_seconds"` // how long a last good copy is kept; 0 turns it off
	TimeoutMS           int64    `json:"timeout_ms"`             // 0 means the default
}

// ProbeSettings are the defaults of probes.
type ProbeSettings struct {
	Method      string `json:"method"`
	Core        string `json:"core"`
	URL         string `json:"url"`
	NTPServer   string `json:"ntp_server"`
	TimeoutMS   int64  `json:"timeout_ms"`
	Attempts    int    `json:"attempts"`
	Concurrency int    `json:"concurrency"`
}

// CacheSettings bound the caches. Times are seconds, 0 turns a layer off.
type CacheSettings struct {
	RemoteFetchTTLSeconds         int64 `json:"remote_fetch_ttl_seconds"`
	ProbeTTLSeconds               int64 `json:"probe_ttl_seconds"`
	SubscriptionRenderTTLSeconds  int64 `json:"subscription_render_ttl_seconds"`
	FileRenderTTLSeconds          int64 `json:"file_render_ttl_seconds"`
	SubscriptionTrafficTTLSeconds int64 `json:"subscription_traffic_ttl_seconds"`
	CacheMaxBytes                 int64 `json:"cache_max_bytes"` // all layers together, at least 1 MiB
}

// ConvertSettings concern the public conversion route.
type ConvertSettings struct {
	Enabled           bool `json:"enabled"`
	RequestsPerMinute int  `json:"requests_per_minute"` // a client address; 0 is no limit
	MaxConcurrent     int  `json:"max_concurrent"`      // public productions at once, at least 1
}

// ShareSettings concern public shares.
type ShareSettings struct {
	RequestsPerMinute int `json:"requests_per_minute"` // a client address; 0 is no limit
}

// MetricsSettings concern /metrics.
type MetricsSettings struct {
	Public bool `json:"public"`
}

// AppearanceSettings concern the Web UI.
type AppearanceSettings struct {
	ThemeMode string `json:"theme_mode"` // "system", "light", "dark"
	Locale    string `json:"locale"`     // "auto", "zh-CN", "en-US"
}

// SubscriptionSettings concern subscriptions in the Web UI.
type SubscriptionSettings struct {
	AutoLoadTraffic bool `json:"auto_load_traffic"`
}

// RefreshSettings concern the schedule.
type RefreshSettings struct {
	Enabled  bool          `json:"enabled"`
	Schedule string        `json:"schedule"` // five-field cron or a descriptor
	Verify   bool          `json:"verify"`
	Targets  []ResourceRef `json:"targets"`
}

// DefaultSettings returns a fresh copy of the defaults.
func DefaultSettings() Settings {
	return Settings{
		SchemaVersion:    1,
		HTTP:             HTTPSettings{Listen: "127.0.0.1:1137", TrustedProxies: []string{}, BodyTimeoutSeconds: 10},
		MCP:              MCPSettings{Path: "/mcp", MaxOutputBytes: 1 << 20},
		Log:              LogSettings{Level: "info"},
		RemoteDefaults:   RemoteSettings{AllowHosts: []string{}, StaleIfErrorSeconds: 604800, TimeoutMS: 15000},
		ProbeDefaults:    ProbeSettings{Method: "url_test", Core: "sing-box", URL: "https://cp.cloudflare.com", NTPServer: "time.apple.com", TimeoutMS: 5000, Attempts: 1, Concurrency: 10},
		CacheDefaults:    CacheSettings{SubscriptionTrafficTTLSeconds: 60, CacheMaxBytes: 256 << 20},
		PublicConvert:    ConvertSettings{Enabled: true, RequestsPerMinute: 30, MaxConcurrent: 8},
		Shares:           ShareSettings{RequestsPerMinute: 120},
		Appearance:       AppearanceSettings{ThemeMode: "system", Locale: "auto"},
		ScheduledRefresh: RefreshSettings{Schedule: "@every 10m", Targets: []ResourceRef{}},
	}
}
