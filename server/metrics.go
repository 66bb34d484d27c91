package server

import (
	"bytes"
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"github.com/sandrone-gateway/sandrone"
)

// Metrics counts what the engine and the server do, and shows it in the text
// form of Prometheus. It is given to both: as [engine.Options.Metrics] and as
// [Options.Metrics].
type Metrics struct {
	set      *metrics.Set
	inFlight *metrics.Gauge
}

// seconds are the bounds of the histograms: from a cached answer to one that
// waits for slow sources.
var seconds = []float64{.001, .005, .025, .1, .25, .5, 1, 2.5, 5, 10, 30}

// NewMetrics returns counters that stand at zero.
func NewMetrics() *Metrics {
	metrics.ExposeMetadata(true) // the type of a figure is said beside it
	m := &Metrics{set: metrics.NewSet()}
	m.inFlight = m.set.NewGauge("sandrone_http_in_flight_requests", nil)
	for _, name := range []string{"sandrone_fetch_bytes_total", "sandrone_fetch_shared_total"} {
		m.set.NewCounter(name)
	}
	m.set.NewPrometheusHistogramExt("sandrone_fetch_duration_seconds", seconds)
	m.set.NewGauge("sandrone_scheduled_refresh_last_success_timestamp_seconds", nil)
	build := sandrone.ThisBuild()
	m.set.NewGauge(labelled("sandrone_build_info", "revision", build.Revision, "version", build.Version), nil).Set(1)
	return m
}

// labelled is the full name of one figure of a family. pairs are labels in
// alphabetical order, each before its value.
func labelled(family string, pairs ...string) string {
	text := append([]byte(family), '{')
	for i := 0; i < len(pairs); i += 2 {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(append(text, pairs[i]...), '=', '"')
		for _, c := range []byte(pairs[i+1]) {
			switch c {
			case '\n':
				text = append(text, '\\', 'n')
				continue
			case '"', '\\':
				text = append(text, '\\')
			}
			text = append(text, c)
		}
		text = append(text, '"')
	}
	return string(append(text, '}'))
}

func (m *Metrics) add(n int, family string, pairs ...string) {
	m.set.GetOrCreateCounter(labelled(family, pairs...)).Add(max(n, 0))
}

func (m *Metrics) observe(took time.Duration, family string, pairs ...string) {
	m.set.GetOrCreatePrometheusHistogramExt(labelled(family, pairs...), seconds).Update(took.Seconds())
}

// Fetch counts one need of a remote text.
func (m *Metrics) Fetch(result string, took time.Duration, bytes int) {
	m.add(1, "sandrone_fetch_total", "result", result)
	m.set.GetOrCreatePrometheusHistogramExt("sandrone_fetch_duration_seconds", seconds).Update(took.Seconds())
	m.set.GetOrCreateCounter("sandrone_fetch_bytes_total").Add(max(bytes, 0))
}

// FetchShared counts a need that another one's request served.
func (m *Metrics) FetchShared() { m.set.GetOrCreateCounter("sandrone_fetch_shared_total").Inc() }

// Conversion counts one conversion.
func (m *Metrics) Conversion(from, to string, ok bool) {
	m.add(1, "sandrone_conversions_total", "from", from, "result", okOrError(ok), "to", to)
}

// Rendered counts the nodes of one rendering.
func (m *Metrics) Rendered(to string, nodes, skipped int) {
	m.add(nodes, "sandrone_nodes_rendered_total", "to", to)
	m.add(skipped, "sandrone_nodes_skipped_total", "to", to)
}

// Cache counts one look-up.
func (m *Metrics) Cache(layer string, hit bool) {
	result := "miss"
	if hit {
		result = "hit"
	}
	m.add(1, "sandrone_cache_requests_total", "layer", layer, "result", result)
}

// CacheEvicted counts entries that were removed to make room.
func (m *Metrics) CacheEvicted(layer string, entries int) {
	m.add(entries, "sandrone_cache_evictions_total", "layer", layer)
}

// Script counts one run.
func (m *Metrics) Script(result string, took time.Duration) {
	m.add(1, "sandrone_script_runs_total", "result", result)
	m.observe(took, "sandrone_script_duration_seconds", "result", result)
}

// Probed counts the nodes of one batch.
func (m *Metrics) Probed(method, core string, alive, dead int) {
	m.add(alive, "sandrone_probe_nodes_total", "core", core, "method", method, "result", "alive")
	m.add(dead, "sandrone_probe_nodes_total", "core", core, "method", method, "result", "dead")
}

// RefreshTarget counts one target of the schedule.
func (m *Metrics) RefreshTarget(ok bool) {
	result := "failed"
	if ok {
		result = "ok"
	}
	m.add(1, "sandrone_scheduled_refresh_targets_total", "result", result)
}

// RefreshDone notes a run of the schedule without a failure.
func (m *Metrics) RefreshDone(at time.Time) {
	m.set.GetOrCreateGauge("sandrone_scheduled_refresh_last_success_timestamp_seconds", nil).Set(float64(at.UnixMilli()) / 1000)
}

func okOrError(ok bool) string {
	if ok {
		return "ok"
	}
	return "error"
}

// answered counts a request. route is a pattern, or empty for a request that
// found none.
func (m *Metrics) answered(route, method string, status int, took time.Duration) {
	route = routeLabel(route)
	switch method {
	case "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS":
	default:
		method = "other" // a client may send any word, and each would be kept
	}
	m.add(1, "sandrone_http_requests_total", "method", method, "route", route, "status", strconv.Itoa(status))
	m.observe(took, "sandrone_http_request_duration_seconds", "method", method, "route", route)
}

// refused counts an answer that says that there is too much.
func (m *Metrics) refused(route string, code sandrone.Code) {
	switch code {
	case sandrone.RateLimited:
		m.add(1, "sandrone_rate_limited_total", "route", routeLabel(route))
	case sandrone.Busy:
		m.add(1, "sandrone_busy_total", "route", routeLabel(route))
	}
}

func routeLabel(route string) string {
	if route == "" {
		return "none"
	}
	return route
}

// getMetrics answers with all figures, and with what the store holds at that
// moment.
func (s *Server) getMetrics(w http.ResponseWriter, r *http.Request) error {
	var text bytes.Buffer
	s.metrics.set.WritePrometheus(&text)
	s.countStored(r.Context(), &text)
	metrics.WriteProcessMetrics(&text)
	send(w, http.StatusOK, "text/plain; version=0.0.4; charset=utf-8", text.Bytes())
	return nil
}

// countStored writes what the store can tell within five seconds; the other
// figures are of use without it.
func (s *Server) countStored(ctx context.Context, text *bytes.Buffer) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	stored := metrics.NewSet()
	if counts, err := s.engine.StoreCounts(ctx); err == nil {
		for kind, n := range map[string]int{
			sandrone.KindSubscription: counts.Subscriptions,
			sandrone.KindFile:         counts.Files,
			sandrone.KindShare:        counts.Shares,
		} {
			stored.NewGauge(labelled("sandrone_resources", "kind", kind), nil).Set(float64(n))
		}
	}
	if sizes, err := s.engine.CacheBytes(ctx); err == nil {
		for layer, bytes := range sizes {
			stored.NewGauge(labelled("sandrone_cache_bytes", "layer", string(layer)), nil).Set(float64(bytes))
		}
	}
	stored.WritePrometheus(text)
}
