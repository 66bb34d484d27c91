package sandrone

import "time"

// The methods of probing.
const (
	ProbeTCP = "tcp_connect" // a TCP connection to the node's endpoint; proves nothing about the protocol
	ProbeURL = "url_test"    // one HTTP request through the node, by way of a client core
	ProbeNTP = "udp_ntp"     // one NTP request through the node over UDP, by way of a client core
)

// ProbeOptions say how nodes are probed. A zero member means the setting of
// that name.
type ProbeOptions struct {
	Method          string            `json:"method,omitempty"`
	Core            string            `json:"core,omitempty"` // "sing-box", "mihomo"
	URL             string            `json:"url,omitempty"`
	NTPServer       string            `json:"ntp_server,omitempty"`
	ExpectedStatus  string            `json:"expected_status,omitempty"` // "204", "200-299/301"; empty is any
	TimeoutMS       int               `json:"timeout_ms,omitempty"`      // of one attempt
	Attempts        int               `json:"attempts,omitempty"`        // the first success wins
	Concurrency     int               `json:"concurrency,omitempty"`     // nodes in flight
	CacheTTLSeconds int               `json:"cache_ttl_seconds,omitempty"`
	Meta            map[string]string `json:"meta,omitempty"` // passed on
	Refresh         bool              `json:"-"`              // read no cache

	// Progress is called with every result as it comes, in order of completion,
	// by one goroutine at a time. index is the node's place in the batch.
	Progress func(index int, r *ProbeResult) `json:"-"`
}

// ProbeResult is what was observed of one node at one moment.
type ProbeResult struct {
	NodeID     string    `json:"node_id,omitempty"`
	NodeName   string    `json:"node_name"`
	Method     string    `json:"method"`
	Target     string    `json:"target,omitempty"`
	Core       string    `json:"core,omitempty"`
	Backend    string    `json:"backend,omitempty"`
	CacheHit   bool      `json:"cache_hit,omitempty"`
	Alive      bool      `json:"alive"`
	DurationMS int64     `json:"duration_ms,omitempty"` // at least 1 when alive
	CheckedAt  time.Time `json:"checked_at,omitzero"`
	ErrorCode  string    `json:"error_code,omitempty"` // one of ProbeNodeInvalid and its like
	Error      string    `json:"error,omitempty"`
}

// The codes of a dead node, which are also those of its warning.
const (
	ProbeNodeInvalid     = "probe_node_invalid"     // no server or port, or of type direct
	ProbeTimeout         = "probe_timeout"          // the attempt timed out
	ProbeContextCanceled = "probe_context_canceled" // the request ended first
	ProbeTCPFailed       = "probe_tcp_failed"       // no TCP connection
	ProbeCoreAPIFailed   = "probe_core_api_failed"  // the URL request failed, or its status was not expected
	ProbeUDPNTPFailed    = "probe_udp_ntp_failed"   // NTP over the node failed
)

// ProbeAnswer is the outcome of one batch: a result for each node, in input
// order, and the report with its Probe member.
type ProbeAnswer struct {
	Results []ProbeResult `json:"results"`
	Report  Report        `json:"report"`
}

// ProbeReport sums a batch up.
type ProbeReport struct {
	Backend        string           `json:"backend,omitempty"`
	BackendVersion string           `json:"backend_version,omitempty"`
	Method         string           `json:"method,omitempty"`
	Core           string           `json:"core,omitempty"`
	SuccessCount   int              `json:"success_count"`
	FailureCount   int              `json:"failure_count"`
	CacheHitCount  int              `json:"cache_hit_count,omitempty"`
	ErrorCounts    map[string]int   `json:"error_counts,omitempty"`
	Dimensions     []ProbeDimension `json:"dimensions,omitempty"` // in order of first appearance
}

// ProbeDimension are the figures of one method on one core.
type ProbeDimension struct {
	Method        string         `json:"method,omitempty"`
	Core          string         `json:"core,omitempty"`
	SuccessCount  int            `json:"success_count"`
	FailureCount  int            `json:"failure_count"`
	CacheHitCount int            `json:"cache_hit_count,omitempty"`
	ErrorCounts   map[string]int `json:"error_counts,omitempty"`
}
