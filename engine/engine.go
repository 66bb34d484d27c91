// Package engine is where the parts of the program meet: formats, the guarded
// way out, the settings. Every use case is one method of [Engine]; the doors
// (command line, HTTP) decode a request, call one method and encode the result.
//
// A program that embeds the gateway needs no server and no disk:
//
//	e, err := engine.New(engine.Options{Registry: formats.Registry(), Settings: sandrone.DefaultSettings()})
//	result, err := e.Convert(ctx, engine.ConvertRequest{ToFormat: "mihomo-proxies", FromFormat: "auto", Content: &text})
package engine

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert"
	"github.com/sandrone-gateway/sandrone/core"
	"github.com/sandrone-gateway/sandrone/fetch"
	"github.com/sandrone-gateway/sandrone/probe"
	"github.com/sandrone-gateway/sandrone/processors"
	"github.com/sandrone-gateway/sandrone/processors/resolve"
	"github.com/sandrone-gateway/sandrone/processors/script"
	"github.com/sandrone-gateway/sandrone/store"
)

// Fetcher reads one remote address; [*fetch.Client] is the guarded one.
type Fetcher interface {
	Get(ctx context.Context, req fetch.Request) (*fetch.Response, error)
}

// Options make an [Engine].
type Options struct {
	Registry *convert.Registry // the formats; required
	Settings sandrone.Settings // checked by New; with a Store, the stored ones count instead

	// DataDir is where the program keeps its files. Empty means no disk: then
	// cores come from the environment only, and Doctor checks no directory.
	DataDir string

	Store   *store.Store         // nil: nothing is stored or cached, and names resolve to nothing
	Steps   *processors.Registry // nil: a step that would run is not_implemented
	Scripts script.Runner        // nil: scripts are not_implemented
	Prober  processors.Prober    // nil: one made from Settings, and made again when they change
	Logger  *slog.Logger         // nil: nobody
	Metrics Metrics              // nil: nobody

	Overrides []Override // of the settings, for this process

	Fetcher Fetcher             // nil means one made from Settings, and made again when they change
	Now     func() time.Time    // nil means time.Now
	Getenv  func(string) string // nil means os.Getenv; tells where cores are
}

// Engine runs the use cases. It is safe for concurrent use.
type Engine struct {
	registry *convert.Registry
	dataDir  string
	cores    *core.Cores
	store    *store.Store
	steps    *processors.Registry
	scripts  script.Runner
	log      *slog.Logger
	metrics  Metrics
	now      func() time.Time

	fixedFetcher Fetcher           // the one of Options, if any
	fixedProber  processors.Prober // the same
	live         atomic.Pointer[live]

	process  startSettings
	changes  atomic.Uint64 // of definitions and settings, by this process
	schedule scheduler
	sharing  flights[store.Key, *Rendering] // public renders on their way
	accesses accessLog

	readings flights[readingKey, *reading]
	turns    turns
	checks   checks
	refs     sync.Map // refsKey -> []sandrone.SourceRef
}

// live is what follows the settings. It is replaced as a whole, never changed,
// so a request that has one is not disturbed by a change.
type live struct {
	settings sandrone.Settings
	fetcher  Fetcher
	prober   processors.Prober
	network  resolve.Network // nil: steps have none
	shut     bool            // nothing is asked: sources are their held copies, of any age
}

// New makes an engine. Settings that cannot be used are an invalid_argument
// error whose field is their path.
func New(o Options) (*Engine, error) {
	e := &Engine{
		registry:     o.Registry,
		dataDir:      o.DataDir,
		cores:        core.New(core.Options{DataDir: o.DataDir, Getenv: o.Getenv}),
		store:        o.Store,
		steps:        o.Steps,
		scripts:      o.Scripts,
		log:          o.Logger,
		metrics:      o.Metrics,
		now:          o.Now,
		fixedFetcher: o.Fetcher,
		fixedProber:  o.Prober,
		turns:        newTurns(),
		checks:       newChecks(),
	}
	if e.log == nil {
		e.log = slog.New(slog.DiscardHandler)
	}
	if e.metrics == nil {
		e.metrics = noMetrics{}
	}
	if e.now == nil {
		e.now = time.Now
	}
	if e.store != nil {
		e.store.Cache().OnEvict(func(layer store.Layer, entries int) { e.metrics.CacheEvicted(string(layer), entries) })
	}
	if err := e.start(o.Settings, o.Overrides); err != nil {
		return nil, err
	}
	return e, nil
}

// apply puts checked settings into effect. What runs keeps those it began
// with.
func (e *Engine) apply(settings sandrone.Settings) error {
	next := &live{settings: settings, fetcher: e.fixedFetcher, prober: e.fixedProber}
	if next.fetcher == nil {
		fetcher, err := fetch.New(fetchOptions(settings))
		if err != nil {
			return err
		}
		next.fetcher, next.network = fetcher, fetcher.Network()
	}
	if next.prober == nil {
		next.prober = probe.New(probe.Options{
			Defaults:        settings.ProbeDefaults,
			CacheTTLSeconds: settings.CacheDefaults.ProbeTTLSeconds,
			Cache:           e.bytes("probe"),
			Now:             e.now,
		})
	}
	if e.store != nil {
		e.store.Cache().SetLimit(settings.CacheDefaults.CacheMaxBytes)
	}
	e.live.Store(next)
	return nil
}

// Settings returns the settings in effect, normalised. Its lists must not be
// changed.
func (e *Engine) Settings() sandrone.Settings { return e.live.Load().settings }

func fetchOptions(s sandrone.Settings) fetch.Options {
	return fetch.Options{
		UserAgent:  s.RemoteDefaults.UserAgent,
		Proxy:      s.RemoteDefaults.Proxy,
		Timeout:    milliseconds(s.RemoteDefaults.TimeoutMS),
		AllowHosts: s.RemoteDefaults.AllowHosts,
	}
}

// milliseconds clamps, because a number from outside may not fit a Duration.
func milliseconds(ms int64) time.Duration {
	const most = int64(time.Hour / time.Millisecond)
	return time.Duration(max(0, min(ms, most))) * time.Millisecond
}
