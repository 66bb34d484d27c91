package processors

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sandrone-gateway/sandrone"
)

type probeParams struct {
	method, core, url, ntpServer, expected   string
	timeout, attempts, concurrency, cacheTTL int
	failMode, sort                           string
	annotate                                 bool
}

// probe hands the batch to the probe service and acts on what it found.
func probe() *processor[[]entry] {
	return define(Descriptor{
		Type:        "probe",
		Description: "Probes the nodes and keeps, drops or orders them by the result. Left out where two nodes have one name. Members that are absent or 0 are those of the settings.",
		Effects:     Effects{Probes: true},
		ErrorCodes: []sandrone.Code{sandrone.ProcessorConfigInvalid, sandrone.ProbeBackendUnavailable, sandrone.ProbeCoreUnavailable, sandrone.ProbeCoreStartFailed,
			sandrone.ProbeCoreAPIFailed, sandrone.ProbeInvalidTarget, sandrone.ProbeTimeout, sandrone.ProbeTCPFailed, sandrone.ProbeUDPNTPFailed},
		Examples: []sandrone.ProcessorSpec{
			example("probe", `{"fail_mode":"drop","sort":"duration"}`),
			example("probe", `{"method":"tcp_connect","timeout_ms":2000,"annotate":true}`),
		},
	}, params[probeParams]{
		probeMethod(),
		text("core", "client program to probe with: sing-box or mihomo", func(p *probeParams) *string { return &p.core }),
		text("url", "address to fetch through the node, for url_test", func(p *probeParams) *string { return &p.url }),
		text("ntp_server", "server to ask for the time, for udp_ntp", func(p *probeParams) *string { return &p.ntpServer }),
		text("expected_status", "statuses that count as alive, as 204 or 200-299/301; empty is any", func(p *probeParams) *string { return &p.expected }),
		whole("timeout_ms", "time for one attempt", 0, 0, func(p *probeParams) *int { return &p.timeout }),
		whole("attempts", "attempts for a node; the first success wins", 0, 0, func(p *probeParams) *int { return &p.attempts }),
		whole("concurrency", "nodes in flight", 0, 0, func(p *probeParams) *int { return &p.concurrency }),
		whole("cache_ttl_seconds", "how long the result of this very batch is used again", 0, 0, func(p *probeParams) *int { return &p.cacheTTL }),
		word("fail_mode", "what becomes of dead nodes; error fails the step", func(p *probeParams) *string { return &p.failMode }, "keep", "drop", "error").or(`"keep"`),
		toggle("annotate", "write the result into the node's meta, under probe.*", func(p *probeParams) *bool { return &p.annotate }).or(`false`),
		word("sort", "order by duration, dead nodes last", func(p *probeParams) *string { return &p.sort }, "duration"),
	}, func(p *probeParams) (step[[]entry], error) { return p.run, nil })
}

// probeMethod reads a method in the spellings that probing knows.
func probeMethod() param[probeParams] {
	m := word("method", "tcp_connect opens a connection to the server only; url_test and udp_ntp go through the node", func(p *probeParams) *string { return &p.method },
		sandrone.ProbeTCP, sandrone.ProbeNTP, sandrone.ProbeURL)
	read := m.read
	m.read = func(c *probeParams, value json.RawMessage) error {
		var s string
		if json.Unmarshal(value, &s) == nil {
			s = strings.ReplaceAll(strings.ToLower(strings.TrimSpace(s)), "-", "_")
			if s == "urltest" {
				s = sandrone.ProbeURL
			}
			value, _ = json.Marshal(s)
		}
		return read(c, value)
	}
	return m
}

func (p *probeParams) run(ctx context.Context, s *scope, in []entry) ([]entry, error) {
	if s.dry() || len(in) == 0 {
		return in, nil
	}
	if w, ok := repeated(in); ok {
		s.warn(w)
		return in, nil
	}
	if s.Prober == nil {
		return nil, sandrone.Errorf(sandrone.ProbeBackendUnavailable, "probing is not available here")
	}
	nodes := make([]sandrone.Node, len(in))
	for i, e := range in {
		nodes[i] = *e.node
	}
	answer, err := s.Prober.Probe(ctx, nodes, sandrone.ProbeOptions{
		Method: p.method, Core: p.core, URL: p.url, NTPServer: p.ntpServer, ExpectedStatus: p.expected,
		TimeoutMS: p.timeout, Attempts: p.attempts, Concurrency: p.concurrency, CacheTTLSeconds: p.cacheTTL,
		Meta: s.Request.Meta,
	})
	if err != nil {
		return nil, err
	}
	if len(answer.Results) != len(in) {
		return nil, sandrone.Errorf(sandrone.NodeProcessorFailed, "%d results for %d nodes", len(answer.Results), len(in))
	}
	type probed struct {
		entry
		alive bool
		took  int64
	}
	out := make([]probed, 0, len(in))
	for i, e := range in {
		r := &answer.Results[i]
		if !r.Alive {
			switch p.failMode {
			case "error":
				return nil, sandrone.Errorf(sandrone.NodeProcessorFailed, "node %d is dead: %s", i, cmp.Or(r.ErrorCode, "no reason given"))
			case "drop":
				continue
			}
		}
		if p.annotate {
			e.node = annotated(e.node, r)
		}
		out = append(out, probed{e, r.Alive, r.DurationMS})
	}
	if p.sort == "duration" {
		slices.SortStableFunc(out, func(a, b probed) int {
			switch {
			case a.alive && b.alive:
				return cmp.Compare(a.took, b.took)
			case a.alive:
				return -1
			case b.alive:
				return 1
			}
			return 0
		})
	}
	for _, w := range answer.Report.Warnings {
		s.warn(w)
	}
	entries := make([]entry, len(out))
	for i := range out {
		entries[i] = out[i].entry
	}
	return entries, nil
}

// repeated returns the warning for a batch in which a name occurs twice: its
// results could not be told apart.
func repeated(in []entry) (w sandrone.Warning, found bool) {
	count := make(map[string]int, len(in))
	for _, e := range in {
		count[e.node.Name]++
	}
	groups, nodes := 0, 0
	for _, n := range count {
		if n > 1 {
			groups++
			nodes += n
		}
	}
	return sandrone.Warning{
		Code:    "probe_skipped_duplicate_node_names",
		Message: fmt.Sprintf("not probed: %d name(s) are shared by %d nodes", groups, nodes),
		Source:  "probe",
	}, groups > 0
}

// annotated is n with the result in its meta, in place of an older one.
func annotated(n *sandrone.Node, r *sandrone.ProbeResult) *sandrone.Node {
	meta := make(map[string]string, len(n.Meta)+6)
	for k, v := range n.Meta {
		if !strings.HasPrefix(k, "probe.") {
			meta[k] = v
		}
	}
	set := func(key, value string) {
		if value != "" {
			meta["probe."+key] = value
		}
	}
	set("method", r.Method)
	set("core", r.Core)
	set("target", r.Target)
	set("alive", strconv.FormatBool(r.Alive))
	if r.DurationMS > 0 {
		set("duration_ms", strconv.FormatInt(r.DurationMS, 10))
	}
	if !r.CheckedAt.IsZero() {
		set("checked_at", r.CheckedAt.UTC().Format(time.RFC3339Nano))
	}
	set("error_code", r.ErrorCode)
	if maps.Equal(meta, n.Meta) {
		return n
	}
	m := *n
	m.Meta = meta
	return &m
}
