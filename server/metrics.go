package server

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/engine"
)

// Metrics counts what the engine and the server do, and shows it in the text
// form of Prometheus. It is given to both: as [engine.Options.Metrics] and as
// [Options.Metrics].
type Metrics struct {
	registry *prometheus.Registry

	requests    *prometheus.CounterVec
	durations   *prometheus.HistogramVec
	inFlight    prometheus.Gauge
	rateLimited *prometheus.CounterVec
	busy        *prometheus.CounterVec

	fetches        *prometheus.CounterVec
	fetchDurations prometheus.Histogram
	fetchBytes     prometheus.Counter
	fetchShared    prometheus.Counter
	conversions    *prometheus.CounterVec
	rendered       *prometheus.CounterVec
	skipped        *prometheus.CounterVec
	cacheRequests  *prometheus.CounterVec
	cacheEvictions *prometheus.CounterVec
	scripts        *prometheus.CounterVec
	scriptTimes    *prometheus.HistogramVec
	probed         *prometheus.CounterVec
	mcpCalls       *prometheus.CounterVec
	refreshed      *prometheus.CounterVec
	lastRefresh    prometheus.Gauge
}

// seconds are the bounds of the histograms: from a cached answer to one that
// waits for slow sources.
var seconds = []float64{.001, .005, .025, .1, .25, .5, 1, 2.5, 5, 10, 30}

// NewMetrics returns counters that stand at zero.
func NewMetrics() *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry()}
	counters := func(name, help string, labels ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
		m.registry.MustRegister(c)
		return c
	}
	counter := func(name, help string) prometheus.Counter {
		c := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
		m.registry.MustRegister(c)
		return c
	}
	gauge := func(name, help string) prometheus.Gauge {
		g := prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
		m.registry.MustRegister(g)
		return g
	}
	histograms := func(name, help string, labels ...string) *prometheus.HistogramVec {
		h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: seconds}, labels)
		m.registry.MustRegister(h)
		return h
	}
	m.requests = counters("sandrone_http_requests_total", "Answered requests.", "route", "method", "status")
	m.durations = histograms("sandrone_http_request_duration_seconds", "Time to answer a request.", "route", "method")
	m.inFlight = gauge("sandrone_http_in_flight_requests", "Requests that are being answered.")
	m.rateLimited = counters("sandrone_rate_limited_total", "Requests refused because their client sent too many.", "route")
	m.busy = counters("sandrone_busy_total", "Requests refused because too much was going on.", "route")

	m.fetches = counters("sandrone_fetch_total", "Needs of a remote text.", "result")
	m.fetchDurations = histograms("sandrone_fetch_duration_seconds", "Time until a remote text was there.").WithLabelValues().(prometheus.Histogram)
	m.fetchBytes = counter("sandrone_fetch_bytes_total", "Bytes of remote texts, decoded.")
	m.fetchShared = counter("sandrone_fetch_shared_total", "Needs of a remote text that another one's request served.")
	m.conversions = counters("sandrone_conversions_total", "Conversions.", "from", "to", "result")
	m.rendered = counters("sandrone_nodes_rendered_total", "Nodes written.", "to")
	m.skipped = counters("sandrone_nodes_skipped_total", "Nodes left out because the target cannot express them.", "to")
	m.cacheRequests = counters("sandrone_cache_requests_total", "Look-ups in the caches.", "layer", "result")
	m.cacheEvictions = counters("sandrone_cache_evictions_total", "Entries removed to make room.", "layer")
	m.scripts = counters("sandrone_script_runs_total", "Runs of user scripts.", "result")
	m.scriptTimes = histograms("sandrone_script_duration_seconds", "Time of a run of a user script.", "result")
	m.probed = counters("sandrone_probe_nodes_total", "Probed nodes.", "method", "core", "result")
	m.mcpCalls = counters("sandrone_mcp_calls_total", "Calls of MCP tools.", "tool", "result")
	m.refreshed = counters("sandrone_scheduled_refresh_targets_total", "Targets of the scheduled refresh.", "result")
	m.lastRefresh = gauge("sandrone_scheduled_refresh_last_success_timestamp_seconds", "When a scheduled refresh last ended without a failure.")

	build := sandrone.ThisBuild()
	info := prometheus.NewGauge(prometheus.GaugeOpts{Name: "sandrone_build_info", Help: "The running program; always 1.",
		ConstLabels: prometheus.Labels{"version": build.Version, "revision": build.Revision}})
	info.Set(1)
	m.registry.MustRegister(info, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Fetch counts one need of a remote text.
func (m *Metrics) Fetch(result string, took time.Duration, bytes int) {
	m.fetches.WithLabelValues(result).Inc()
	m.fetchDurations.Observe(took.Seconds())
	m.fetchBytes.Add(float64(max(bytes, 0)))
}

// FetchShared counts a need that another one's request served.
func (m *Metrics) FetchShared() { m.fetchShared.Inc() }

// Conversion counts one conversion.
func (m *Metrics) Conversion(from, to string, ok bool) {
	m.conversions.WithLabelValues(from, to, okOrError(ok)).Inc()
}

// Rendered counts the nodes of one rendering.
func (m *Metrics) Rendered(to string, nodes, skipped int) {
	m.rendered.WithLabelValues(to).Add(float64(max(nodes, 0)))
	m.skipped.WithLabelValues(to).Add(float64(max(skipped, 0)))
}

// Cache counts one look-up.
func (m *Metrics) Cache(layer string, hit bool) {
	result := "miss"
	if hit {
		result = "hit"
	}
	m.cacheRequests.WithLabelValues(layer, result).Inc()
}

// CacheEvicted counts entries that were removed to make room.
func (m *Metrics) CacheEvicted(layer string, entries int) {
	m.cacheEvictions.WithLabelValues(layer).Add(float64(max(entries, 0)))
}

// Script counts one run.
func (m *Metrics) Script(result string, took time.Duration) {
	m.scripts.WithLabelValues(result).Inc()
	m.scriptTimes.WithLabelValues(result).Observe(took.Seconds())
}

// Probed counts the nodes of one batch.
func (m *Metrics) Probed(method, core string, alive, dead int) {
	m.probed.WithLabelValues(method, core, "alive").Add(float64(max(alive, 0)))
	m.probed.WithLabelValues(method, core, "dead").Add(float64(max(dead, 0)))
}

// RefreshTarget counts one target of the schedule.
func (m *Metrics) RefreshTarget(ok bool) {
	result := "failed"
	if ok {
		result = "ok"
	}
	m.refreshed.WithLabelValues(result).Inc()
}

// RefreshDone notes a run of the schedule without a failure.
func (m *Metrics) RefreshDone(at time.Time) { m.lastRefresh.Set(float64(at.UnixMilli()) / 1000) }

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
	m.requests.WithLabelValues(route, method, strconv.Itoa(status)).Inc()
	m.durations.WithLabelValues(route, method).Observe(took.Seconds())
}

// refused counts an answer that says that there is too much.
func (m *Metrics) refused(route string, code sandrone.Code) {
	switch code {
	case sandrone.RateLimited:
		m.rateLimited.WithLabelValues(routeLabel(route)).Inc()
	case sandrone.Busy:
		m.busy.WithLabelValues(routeLabel(route)).Inc()
	}
}

func routeLabel(route string) string {
	if route == "" {
		return "none"
	}
	return route
}

// resources counts what the store holds whenever the metrics are asked for.
type resources struct {
	engine *engine.Engine
	desc   *prometheus.Desc
	caches *prometheus.Desc
}

func newResources(e *engine.Engine) resources {
	return resources{e, prometheus.NewDesc("sandrone_resources", "Stored definitions.", []string{"kind"}, nil),
		prometheus.NewDesc("sandrone_cache_bytes", "What the caches hold.", []string{"layer"}, nil)}
}

func (c resources) Describe(ch chan<- *prometheus.Desc) {
	ch <- c.desc
	ch <- c.caches
}

func (c resources) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	counts, err := c.engine.StoreCounts(ctx)
	if err != nil {
		return // the other figures are of use without these
	}
	for kind, n := range map[string]int{
		sandrone.KindSubscription: counts.Subscriptions,
		sandrone.KindFile:         counts.Files,
		sandrone.KindShare:        counts.Shares,
	} {
		ch <- prometheus.MustNewConstMetric(c.desc, prometheus.GaugeValue, float64(n), kind)
	}
	sizes, err := c.engine.CacheBytes(ctx)
	if err != nil {
		return
	}
	for layer, bytes := range sizes {
		ch <- prometheus.MustNewConstMetric(c.caches, prometheus.GaugeValue, float64(bytes), string(layer))
	}
}

// getMetrics answers with all figures.
func (s *Server) getMetrics(w http.ResponseWriter, r *http.Request) error {
	s.showMetrics.ServeHTTP(w, r)
	return nil
}

// show makes the handler of the figures, those of an engine's store too.
func (m *Metrics) show(e *engine.Engine) http.Handler {
	stored := prometheus.NewRegistry() // of its own, since one Metrics may serve several servers
	stored.MustRegister(newResources(e))
	return promhttp.HandlerFor(prometheus.Gatherers{m.registry, stored}, promhttp.HandlerOpts{DisableCompression: true})
}
