// Package probe observes, at one moment, whether nodes are reachable and how
// fast.
//
// A [Service] takes a batch of nodes and returns a result for each, in their
// order, with a report. A dead node is a result and never fails the call. What
// is found is no property of a node: it lives in the answer and, if asked for,
// in a cache.
package probe

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net"
	"strings"
	"time"

	"github.com/sandrone-gateway/sandrone"
)

// Limits of one batch.
const (
	MaxNodes       = 5000
	MaxAttempts    = 10
	MaxConcurrency = 256

	maxTimeout = 10 * time.Minute
)

// Cache keeps the results of a batch. A value that is gone is a miss.
type Cache interface {
	Get(ctx context.Context, key string) ([]byte, bool)
	Put(ctx context.Context, key string, value []byte, ttl time.Duration) error
}

// Options make a [Service].
type Options struct {
	Defaults        sandrone.ProbeSettings // used where a request is silent
	CacheTTLSeconds int64                  // the same for its cache time; 0 is no cache

	Cache Cache                                                             // nil means none
	Dial  func(ctx context.Context, network, addr string) (net.Conn, error) // nil means a net.Dialer
	Now   func() time.Time                                                  // nil means time.Now
}

// Service probes nodes. It is safe for concurrent use.
type Service struct {
	defaults sandrone.ProbeSettings
	cacheTTL int64
	cache    Cache
	dial     func(ctx context.Context, network, addr string) (net.Conn, error)
	now      func() time.Time
}

// New makes a service.
func New(o Options) *Service {
	s := &Service{defaults: o.Defaults, cacheTTL: o.CacheTTLSeconds, cache: o.Cache, dial: o.Dial, now: o.Now}
	if s.dial == nil {
		s.dial = new(net.Dialer).DialContext
	}
	if s.now == nil {
		s.now = time.Now
	}
	return s
}

// Backend is a way of probing that this process has.
type Backend struct {
	Method  string `json:"method"`
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	Core    string `json:"core,omitempty"`
}

// Backends lists the ways of probing, by method.
func (s *Service) Backends() []Backend {
	return []Backend{{Method: sandrone.ProbeTCP, Name: sandrone.ProbeTCP}}
}

// Probe probes a batch. The nodes are not changed. Errors are of the whole
// call:
//
//   - invalid_argument: unknown method or core, a number out of its range, or
//     more than [MaxNodes] nodes; the field is that of the option;
//   - probe_core_unavailable: the method needs a core that is not there.
//
// When ctx ends, the nodes that were not probed are dead with
// probe_context_canceled.
func (s *Service) Probe(ctx context.Context, nodes []sandrone.Node, o sandrone.ProbeOptions) (sandrone.ProbeAnswer, error) {
	if err := s.fill(&o); err != nil {
		return sandrone.ProbeAnswer{}, err
	}
	if len(nodes) > MaxNodes {
		return sandrone.ProbeAnswer{}, sandrone.Errorf(sandrone.InvalidArgument, "a batch has at most %d nodes", MaxNodes)
	}
	if o.Method != sandrone.ProbeTCP {
		return sandrone.ProbeAnswer{}, sandrone.Errorf(sandrone.ProbeCoreUnavailable, "%s needs a client core, and this build does not probe through %s; tcp_connect needs none", o.Method, o.Core)
	}
	o.Core = "" // a connection needs none
	var warnings []sandrone.Warning
	if strings.TrimSpace(o.ExpectedStatus) != "" {
		warnings = append(warnings, sandrone.Warning{
			Code: "probe_expected_status_unsupported", Message: "tcp_connect has no status to expect", Field: "expected_status", Source: "probe",
		})
	}
	key := ""
	if s.cache != nil && o.CacheTTLSeconds > 0 {
		key = cacheKey(nodes, &o)
		if results, ok := s.cached(ctx, key, nodes, &o); ok {
			return s.answer(nodes, results, &o, warnings), nil
		}
	}
	results := s.connectAll(ctx, nodes, &o)
	answer := s.answer(nodes, results, &o, warnings)
	if key != "" && ctx.Err() == nil {
		if value, err := json.Marshal(results); err != nil || s.cache.Put(ctx, key, value, time.Duration(o.CacheTTLSeconds)*time.Second) != nil {
			answer.Report.Warnings = append(answer.Report.Warnings, sandrone.Warning{
				Code: "probe_cache_write_failed", Message: "the results could not be cached", Source: "probe",
			})
		}
	}
	return answer, nil
}

// fill puts the defaults in and checks what the caller said.
func (s *Service) fill(o *sandrone.ProbeOptions) error {
	d := &s.defaults
	o.Method = method(cmp.Or(strings.TrimSpace(o.Method), d.Method, sandrone.ProbeURL))
	o.Core = core(cmp.Or(strings.TrimSpace(o.Core), d.Core))
	o.URL = cmp.Or(strings.TrimSpace(o.URL), d.URL)
	o.NTPServer = cmp.Or(strings.TrimSpace(o.NTPServer), d.NTPServer)
	switch o.Method {
	case sandrone.ProbeTCP, sandrone.ProbeURL, sandrone.ProbeNTP:
	default:
		return sandrone.Errorf(sandrone.InvalidArgument, "unknown probe method").At("method")
	}
	switch o.Core {
	case "", "sing-box", "mihomo":
	default:
		if o.Method != sandrone.ProbeTCP { // which ignores it
			return sandrone.Errorf(sandrone.InvalidArgument, "unknown core").At("core")
		}
	}
	for _, n := range []struct {
		name     string
		value    *int
		fallback int64
		most     int
	}{
		{"timeout_ms", &o.TimeoutMS, d.TimeoutMS, 0},
		{"attempts", &o.Attempts, int64(d.Attempts), MaxAttempts},
		{"concurrency", &o.Concurrency, int64(d.Concurrency), MaxConcurrency},
		{"cache_ttl_seconds", &o.CacheTTLSeconds, s.cacheTTL, 0},
	} {
		if *n.value < 0 {
			return sandrone.Errorf(sandrone.InvalidArgument, "%s is negative", n.name).At(n.name)
		}
		if n.most > 0 && *n.value > n.most {
			return sandrone.Errorf(sandrone.InvalidArgument, "%s is more than %d", n.name, n.most).At(n.name)
		}
		if *n.value == 0 {
			*n.value = int(n.fallback)
		}
	}
	o.Attempts = min(max(o.Attempts, 1), MaxAttempts)
	o.Concurrency = min(cmp.Or(o.Concurrency, 10), MaxConcurrency)
	o.TimeoutMS = min(cmp.Or(o.TimeoutMS, 5000), int(maxTimeout/time.Millisecond))
	return nil
}

func method(s string) string {
	s = strings.ReplaceAll(strings.ToLower(s), "-", "_")
	if s == "urltest" {
		return sandrone.ProbeURL
	}
	return s
}

func core(s string) string {
	s = strings.ReplaceAll(strings.ToLower(s), "_", "-")
	if s == "singbox" {
		return "sing-box"
	}
	return s
}

// cacheKey is the hash of what a result depends on: every node, and what was
// asked of them. How many are in flight is no part of it.
func cacheKey(nodes []sandrone.Node, o *sandrone.ProbeOptions) string {
	h := sha256.New()
	e := json.NewEncoder(h)
	for i := range nodes {
		// A node that cannot be encoded, for broken raw JSON, still has its
		// connection; its name and endpoint stand for it.
		if err := e.Encode(&nodes[i]); err != nil {
			_ = e.Encode([]any{nodes[i].Name, nodes[i].Server, nodes[i].Port})
		}
	}
	_ = e.Encode([]any{o.Method, o.Core, o.URL, o.NTPServer, o.ExpectedStatus, o.TimeoutMS, o.Attempts})
	return hex.EncodeToString(h.Sum(nil))
}

// cached returns the results of the same batch, if they are held and whole.
func (s *Service) cached(ctx context.Context, key string, nodes []sandrone.Node, o *sandrone.ProbeOptions) ([]sandrone.ProbeResult, bool) {
	if o.Refresh {
		return nil, false
	}
	value, ok := s.cache.Get(ctx, key)
	if !ok {
		return nil, false
	}
	var results []sandrone.ProbeResult
	if json.Unmarshal(value, &results) != nil || len(results) != len(nodes) {
		return nil, false
	}
	for i := range results {
		results[i].CacheHit = true
		if o.Progress != nil {
			o.Progress(i, &results[i])
		}
	}
	return results, true
}

// answer makes the report of a batch.
func (s *Service) answer(nodes []sandrone.Node, results []sandrone.ProbeResult, o *sandrone.ProbeOptions, warnings []sandrone.Warning) sandrone.ProbeAnswer {
	dimension := sandrone.ProbeDimension{Method: o.Method, Core: o.Core}
	for i := range results {
		r := &results[i]
		if r.CacheHit {
			dimension.CacheHitCount++
		}
		if r.Alive {
			dimension.SuccessCount++
			continue
		}
		dimension.FailureCount++
		if dimension.ErrorCounts == nil {
			dimension.ErrorCounts = make(map[string]int)
		}
		dimension.ErrorCounts[r.ErrorCode]++
		n := &nodes[i]
		warnings = append(warnings, sandrone.Warning{
			Code: r.ErrorCode, Message: r.Error, Node: n.Name, NodeIndex: &i, Source: "probe",
			NodeContext: &sandrone.NodeContext{Format: n.SourceFormat, Name: n.Name, Type: n.Type, Server: n.Server, Port: n.Port},
		})
	}
	report := &sandrone.ProbeReport{
		Backend: o.Method, Method: o.Method, Core: o.Core,
		SuccessCount: dimension.SuccessCount, FailureCount: dimension.FailureCount,
		CacheHitCount: dimension.CacheHitCount, ErrorCounts: dimension.ErrorCounts,
	}
	if len(results) > 0 {
		report.Dimensions = []sandrone.ProbeDimension{dimension}
	}
	return sandrone.ProbeAnswer{
		Results: results,
		Report: sandrone.Report{
			Kind: "probe", Status: sandrone.StatusOK, CreatedAt: s.now().UTC(), Warnings: warnings, Probe: report,
		},
	}
}
