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
	"os"
	"sync"
	"time"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert"
	"github.com/sandrone-gateway/sandrone/fetch"
)

// Fetcher reads one remote address; [*fetch.Client] is the guarded one.
type Fetcher interface {
	Get(ctx context.Context, req fetch.Request) (*fetch.Response, error)
}

// Options make an [Engine].
type Options struct {
	Registry *convert.Registry // the formats; required
	Settings sandrone.Settings // checked by New

	// DataDir is where the program keeps its files. Empty means no disk: then
	// cores come from the environment only, and Doctor checks no directory.
	DataDir string

	Fetcher Fetcher             // nil means one made from Settings
	Now     func() time.Time    // nil means time.Now
	Getenv  func(string) string // nil means os.Getenv; tells where cores are
}

// Engine runs the use cases. It is safe for concurrent use.
type Engine struct {
	registry *convert.Registry
	settings sandrone.Settings
	dataDir  string
	fetcher  Fetcher
	now      func() time.Time
	getenv   func(string) string

	refs sync.Map // refsKey -> []sandrone.SourceRef
}

// New makes an engine. Settings that cannot be used are an invalid_argument
// error whose field is their path.
func New(o Options) (*Engine, error) {
	settings, err := CheckSettings(o.Settings)
	if err != nil {
		return nil, err
	}
	e := &Engine{
		registry: o.Registry,
		settings: settings,
		dataDir:  o.DataDir,
		fetcher:  o.Fetcher,
		now:      o.Now,
		getenv:   o.Getenv,
	}
	if e.fetcher == nil {
		if e.fetcher, err = fetch.New(fetchOptions(settings)); err != nil {
			return nil, err
		}
	}
	if e.now == nil {
		e.now = time.Now
	}
	if e.getenv == nil {
		e.getenv = os.Getenv
	}
	return e, nil
}

// Settings returns the settings in effect, normalised. Its lists must not be
// changed.
func (e *Engine) Settings() sandrone.Settings { return e.settings }

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
