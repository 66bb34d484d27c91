package probe_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/probe"
	"github.com/sandrone-gateway/sandrone/processors"
)

var _ processors.Prober = (*probe.Service)(nil)

// world dials by the host of the address.
func world(ctx context.Context, _, addr string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	switch host {
	case "slow.example":
		<-ctx.Done()
		return nil, ctx.Err()
	case "refuses.example":
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
	case "unknown.example":
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}}
	case "panics.example":
		panic("x")
	}
	client, server := net.Pipe()
	server.Close()
	return client, nil
}

// clock moves by a step with every look at it.
func clock(step time.Duration) func() time.Time {
	var n atomic.Int64
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return func() time.Time { return start.Add(time.Duration(n.Add(1)) * step) }
}

func nodes(hosts ...string) []sandrone.Node {
	list := make([]sandrone.Node, len(hosts))
	for i, host := range hosts {
		list[i] = sandrone.Node{Name: fmt.Sprint("n", i), Type: sandrone.Trojan, Server: host, Port: 443, SourceFormat: "uri"}
	}
	return list
}

var tcp = sandrone.ProbeOptions{Method: "tcp-connect", TimeoutMS: 20}

func TestTCPConnectTellsDeadFromAlive(t *testing.T) {
	s := probe.New(probe.Options{Dial: world, Now: clock(1500 * time.Microsecond)})
	batch := nodes("fine.example", "slow.example", "refuses.example", "unknown.example", "panics.example", "", "fine.example", "2001:db8::1")
	batch[6].Type = sandrone.Direct
	batch[0].ID = "id"
	o := tcp
	o.Concurrency, o.Core = 1, "anything"
	answer, err := s.Probe(t.Context(), batch, o)
	if err != nil {
		t.Fatal(err)
	}
	want := []struct{ target, code, text string }{
		{"fine.example:443", "", ""},
		{"slow.example:443", "probe_timeout", "no connection in time"},
		{"refuses.example:443", "probe_tcp_failed", "connection refused"},
		{"unknown.example:443", "probe_tcp_failed", "the server's name does not resolve"},
		{"panics.example:443", "probe_tcp_failed", "internal error"},
		{"", "probe_node_invalid", "the node has no server and port to connect to"},
		{"", "probe_node_invalid", "the node has no server and port to connect to"},
		{"[2001:db8::1]:443", "", ""},
	}
	for i, r := range answer.Results {
		w := want[i]
		if r.Target != w.target || r.ErrorCode != w.code || r.Error != w.text || r.Alive != (w.code == "") || r.NodeName != batch[i].Name {
			t.Errorf("%d: %+v, want %+v", i, r, w)
		}
		if (r.DurationMS == 2) != r.Alive || r.CheckedAt.IsZero() || r.Core != "" || r.Backend != "tcp_connect" {
			t.Errorf("%d: %+v", i, r)
		}
	}
	report := answer.Report
	counts := map[string]int{"probe_timeout": 1, "probe_tcp_failed": 3, "probe_node_invalid": 2}
	dimension := sandrone.ProbeDimension{Method: "tcp_connect", SuccessCount: 2, FailureCount: 6, ErrorCounts: counts}
	if p := report.Probe; report.Kind != "probe" || report.Status != "ok" || p.SuccessCount != 2 || p.FailureCount != 6 || !reflect.DeepEqual(p.ErrorCounts, counts) || !reflect.DeepEqual(p.Dimensions, []sandrone.ProbeDimension{dimension}) {
		t.Errorf("report %+v", p)
	}
	if len(report.Warnings) != 6 {
		t.Fatalf("warnings %+v", report.Warnings)
	}
	if w := report.Warnings[0]; w.Code != "probe_timeout" || w.Node != "n1" || *w.NodeIndex != 1 || w.NodeContext.Server != "slow.example" || w.NodeContext.Format != "uri" {
		t.Errorf("warning %+v", w)
	}
}

func TestTheFirstSuccessfulAttemptWins(t *testing.T) {
	var calls atomic.Int64
	s := probe.New(probe.Options{Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
		if calls.Add(1) < 3 {
			return nil, errors.New("not yet")
		}
		return world(ctx, network, addr)
	}})
	o := tcp
	o.Attempts = 5
	answer, err := s.Probe(t.Context(), nodes("fine.example"), o)
	if err != nil || !answer.Results[0].Alive || answer.Results[0].ErrorCode != "" || calls.Load() != 3 {
		t.Errorf("%+v after %d calls, %v", answer.Results, calls.Load(), err)
	}
}

func TestNoMoreNodesThanAskedForAreInFlight(t *testing.T) {
	var flying, most atomic.Int64
	var here atomic.Int64
	all := make(chan struct{})
	s := probe.New(probe.Options{Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
		now := flying.Add(1)
		defer flying.Add(-1)
		for {
			m := most.Load()
			if now <= m || most.CompareAndSwap(m, now) {
				break
			}
		}
		// A service that runs fewer than three runs into the time limit.
		if here.Add(1) == 3 {
			close(all)
		}
		select {
		case <-all:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		return world(ctx, network, addr)
	}})
	o := tcp
	o.Concurrency, o.TimeoutMS = 3, 5000
	var mu sync.Mutex
	seen := make(map[int]bool)
	o.Progress = func(i int, r *sandrone.ProbeResult) {
		if !mu.TryLock() {
			t.Error("two calls of Progress at once")
			return
		}
		defer mu.Unlock()
		seen[i] = r.Alive
	}
	if _, err := s.Probe(t.Context(), nodes("a", "b", "c", "d", "e"), o); err != nil || most.Load() != 3 || len(seen) != 5 || !seen[0] {
		t.Errorf("%d in flight, %v seen, %v", most.Load(), seen, err)
	}
}

func TestWhenTheRequestEndsTheRestIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var calls atomic.Int64
	s := probe.New(probe.Options{Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
		calls.Add(1)
		cancel()
		<-ctx.Done()
		return nil, ctx.Err()
	}})
	o := tcp
	o.Concurrency, o.Attempts, o.TimeoutMS = 1, 5, 60_000
	answer, err := s.Probe(ctx, nodes("a", "b", "c"), o)
	if err != nil || calls.Load() != 1 {
		t.Fatalf("%d calls, %v", calls.Load(), err)
	}
	for _, r := range answer.Results {
		if r.ErrorCode != sandrone.ProbeContextCanceled {
			t.Errorf("%+v", r)
		}
	}
}

func TestCallsThatCannotRun(t *testing.T) {
	s := probe.New(probe.Options{Dial: world, Defaults: sandrone.DefaultSettings().ProbeDefaults})
	for _, c := range []struct {
		name  string
		o     sandrone.ProbeOptions
		nodes []sandrone.Node
		code  sandrone.Code
		field string
	}{
		{"unknown method", sandrone.ProbeOptions{Method: "icmp"}, nil, sandrone.InvalidArgument, "method"},
		{"unknown core", sandrone.ProbeOptions{Method: "url_test", Core: "x"}, nil, sandrone.InvalidArgument, "core"},
		{"negative", sandrone.ProbeOptions{Method: "tcp_connect", TimeoutMS: -1}, nil, sandrone.InvalidArgument, "timeout_ms"},
		{"many attempts", sandrone.ProbeOptions{Method: "tcp_connect", Attempts: 11}, nil, sandrone.InvalidArgument, "attempts"},
		{"much at once", sandrone.ProbeOptions{Method: "tcp_connect", Concurrency: 257}, nil, sandrone.InvalidArgument, "concurrency"},
		{"many nodes", sandrone.ProbeOptions{Method: "tcp_connect"}, make([]sandrone.Node, 5001), sandrone.InvalidArgument, ""},
		{"no core", sandrone.ProbeOptions{Method: "URLTest", Core: "singbox"}, nil, sandrone.ProbeCoreUnavailable, ""},
		{"the default needs a core", sandrone.ProbeOptions{}, nil, sandrone.ProbeCoreUnavailable, ""},
		{"ntp", sandrone.ProbeOptions{Method: "udp-ntp"}, nil, sandrone.ProbeCoreUnavailable, ""},
	} {
		_, err := s.Probe(t.Context(), c.nodes, c.o)
		if e := sandrone.AsError(err); err == nil || e.Code != c.code || e.Field != c.field {
			t.Errorf("%s: %+v", c.name, e)
		}
	}
	o := tcp
	o.ExpectedStatus = "204"
	answer, err := s.Probe(t.Context(), nil, o)
	if err != nil || len(answer.Report.Warnings) != 1 || answer.Report.Warnings[0].Code != "probe_expected_status_unsupported" {
		t.Errorf("a status for tcp_connect: %+v, %v", answer, err)
	}
}

// memory is a cache that may refuse to write.
type memory struct {
	values map[string][]byte
	ttl    time.Duration
	fails  bool
}

func (m *memory) Get(_ context.Context, key string) ([]byte, bool) {
	v, ok := m.values[key]
	return v, ok
}

func (m *memory) Put(_ context.Context, key string, value []byte, ttl time.Duration) error {
	if m.fails {
		return errors.New("full")
	}
	m.values[key], m.ttl = value, ttl
	return nil
}

func TestTheSameBatchIsAnsweredFromTheCache(t *testing.T) {
	cache := &memory{values: make(map[string][]byte)}
	var calls atomic.Int64
	s := probe.New(probe.Options{Cache: cache, Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
		calls.Add(1)
		return world(ctx, network, addr)
	}})
	o := tcp
	o.CacheTTLSeconds = 60
	ask := func(o sandrone.ProbeOptions, hosts ...string) sandrone.ProbeAnswer {
		t.Helper()
		answer, err := s.Probe(t.Context(), nodes(hosts...), o)
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	first := ask(o, "a", "refuses.example")
	if calls.Load() != 2 || cache.ttl != time.Minute || first.Results[0].CacheHit {
		t.Fatalf("%d calls, %v", calls.Load(), cache.ttl)
	}
	o.Concurrency = 7 // no part of the key
	hit := ask(o, "a", "refuses.example")
	if calls.Load() != 2 || !hit.Results[0].CacheHit || hit.Report.Probe.CacheHitCount != 2 || !hit.Results[1].CheckedAt.Equal(first.Results[1].CheckedAt) || len(hit.Report.Warnings) != 1 {
		t.Errorf("%d calls, %+v", calls.Load(), hit)
	}
	for _, other := range []func(){
		func() { ask(o, "a") },
		func() { o := o; o.Attempts = 2; ask(o, "a", "fine.example") },
		func() { o := o; o.Refresh = true; ask(o, "a", "refuses.example") },
		func() { ask(tcp, "a", "refuses.example") }, // does not ask the cache
	} {
		before := calls.Load()
		if other(); calls.Load() == before {
			t.Error("answered from the cache")
		}
	}
	for key := range cache.values {
		cache.values[key] = []byte("broken")
	}
	before := calls.Load()
	if ask(o, "a", "refuses.example"); calls.Load() == before {
		t.Error("a broken value was used")
	}
	cache.fails = true
	w := ask(o, "b").Report.Warnings
	if len(w) != 1 || w[0].Code != "probe_cache_write_failed" {
		t.Errorf("warnings %+v", w)
	}
}

func TestAResultHasTheFormOfTheContract(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	n := nodes("127.0.0.1")
	n[0].Port = uint16(l.Addr().(*net.TCPAddr).Port)
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s := probe.New(probe.Options{Now: func() time.Time { return at }})
	answer, err := s.Probe(t.Context(), n, sandrone.ProbeOptions{Method: "tcp_connect"})
	if err != nil {
		t.Fatal(err)
	}
	got, _ := json.Marshal(answer)
	want := fmt.Sprintf(`{"results":[{"node_name":"n0","method":"tcp_connect","target":"127.0.0.1:%d","backend":"tcp_connect","alive":true,"duration_ms":1,"checked_at":"2026-01-02T03:04:05Z"}],`+
		`"report":{"kind":"probe","status":"ok","created_at":"2026-01-02T03:04:05Z","render":{"success_count":0,"lost_fields":0},`+
		`"probe":{"backend":"tcp_connect","method":"tcp_connect","success_count":1,"failure_count":0,"dimensions":[{"method":"tcp_connect","success_count":1,"failure_count":0}]}}}`, n[0].Port)
	if string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if b := s.Backends(); len(b) != 1 || b[0].Name != "tcp_connect" {
		t.Errorf("backends %+v", b)
	}
}
