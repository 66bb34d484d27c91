package engine_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert/formats"
	"github.com/sandrone-gateway/sandrone/engine"
	"github.com/sandrone-gateway/sandrone/fetch"
)

func link(name string) string { return "trojan://hunter2@192.0.2.1:443#" + name }

// web is a network of texts by address. An address without one fails.
type web map[string]string

func (w web) Get(_ context.Context, req fetch.Request) (*fetch.Response, error) {
	text, ok := w[req.URL]
	if !ok {
		return nil, sandrone.Errorf(sandrone.FetchFailed, "remote returned status 404")
	}
	return &fetch.Response{Body: []byte(text), Ref: sandrone.SourceRef{Kind: "remote", Name: req.URL}}, nil
}

// fetchFunc answers fetches in place of the network.
type fetchFunc func(ctx context.Context, req fetch.Request) (*fetch.Response, error)

func (f fetchFunc) Get(ctx context.Context, req fetch.Request) (*fetch.Response, error) {
	return f(ctx, req)
}

func newEngine(t *testing.T, f engine.Fetcher) *engine.Engine {
	t.Helper()
	e, err := engine.New(engine.Options{
		Registry: formats.Registry(),
		Settings: sandrone.DefaultSettings(),
		Fetcher:  f,
		Now:      func() time.Time { return time.Unix(1_800_000_000, 0) },
		Getenv:   func(string) string { return "" },
	})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func batch(urls ...string) *engine.RemoteBatch {
	b := &engine.RemoteBatch{}
	for _, u := range urls {
		b.Sources = append(b.Sources, engine.BatchSource{Remote: engine.Remote{URL: u}})
	}
	return b
}

func TestConvertReportsTheWholeWalk(t *testing.T) {
	text := link("a") + "\nnonsense without a scheme\n" + link("b")
	r, err := newEngine(t, web{"https://a.example/x": text}).Convert(t.Context(), engine.ConvertRequest{
		ToFormat: "json-nodes", Remote: &engine.Remote{URL: "https://a.example/x"}})
	if err != nil {
		t.Fatal(err)
	}
	rep := r.Report
	if rep.Kind != "convert" || rep.Status != sandrone.StatusOK || rep.Render.SuccessCount != 2 || rep.Lossy ||
		!rep.CreatedAt.Equal(time.Unix(1_800_000_000, 0)) || rep.CreatedAt.Location() != time.UTC {
		t.Errorf("report: %+v", rep)
	}
	if !slices.ContainsFunc(rep.Warnings, func(w sandrone.Warning) bool { return w.Code == sandrone.WarnLineFailed }) {
		t.Errorf("warnings lack the bad line: %+v", rep.Warnings)
	}
	if len(rep.SourceRefs) < 2 || rep.SourceRefs[0].Kind != "remote" || rep.SourceRefs[1].Kind == "remote" {
		t.Errorf("source refs: got %+v, want the address and then the documents of the format", rep.SourceRefs)
	}
	if r.ContentType != "application/json" || !strings.Contains(string(r.Body), `"a"`) {
		t.Errorf("got %s %s", r.ContentType, r.Body)
	}
}

func TestLossIsCounted(t *testing.T) {
	text := "ss://YWVzLTEyOC1nY206cHc@192.0.2.1:8388#a\n" + "ssh://u:p@192.0.2.1:22#b"
	r, err := newEngine(t, nil).Convert(t.Context(), engine.ConvertRequest{
		ToFormat: "sip008", FromFormat: "uri-list", Content: &text})
	if err != nil {
		t.Fatal(err)
	}
	if !r.Report.Lossy || r.Report.Render.SuccessCount != 1 || len(r.Report.Render.Warnings) != 1 {
		t.Errorf("report: %+v", r.Report)
	}
}

func TestBatchJoinsNodesInTheOrderOfTheList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const sources = 12
		var running, most atomic.Int32
		slow := fetchFunc(func(_ context.Context, req fetch.Request) (*fetch.Response, error) {
			most.Store(max(most.Load(), running.Add(1)))
			defer running.Add(-1)
			var i int
			fmt.Sscanf(req.URL, "https://a.example/%d", &i)
			time.Sleep(time.Duration(sources-i) * time.Second) // of the bubble's clock: the last is done first
			return &fetch.Response{Body: []byte(link(fmt.Sprintf("node%02d", i)))}, nil
		})
		var urls []string
		for i := range sources {
			urls = append(urls, fmt.Sprintf("https://a.example/%d", i))
		}
		b := batch(urls...)
		b.Concurrency = 3
		r, err := newEngine(t, slow).Convert(t.Context(), engine.ConvertRequest{ToFormat: "json-nodes", RemoteBatch: b})
		if err != nil {
			t.Fatal(err)
		}
		last := -1
		for i := range sources {
			at := strings.Index(string(r.Body), fmt.Sprintf("node%02d", i))
			if at <= last {
				t.Errorf("node %d stands at %d, after %d", i, at, last)
			}
			last = at
		}
		if n := most.Load(); n != 3 {
			t.Errorf("got %d fetches at once, want 3", n)
		}
	})
}

func TestBatchGoesOnWithoutASourceThatFails(t *testing.T) {
	b := batch("https://u:hunter2@a.example/1?hunter2#hunter2", "https://b.example/2", "https://c.example/3", "https://d.example/4")
	b.Sources[0].Name = "first"
	b.Sources[3].Format = "uri-list"
	r, err := newEngine(t, web{
		"https://b.example/2": link("two"),
		"https://c.example/3": "<!doctype html><title>hunter2</title>",
		"https://d.example/4": link("four") + "\nnonsense without a scheme",
	}).Convert(t.Context(), engine.ConvertRequest{ToFormat: "json-nodes", RemoteBatch: b})
	if err != nil {
		t.Fatal(err)
	}
	rep := r.Report
	if rep.Status != sandrone.StatusPartial || rep.Render.SuccessCount != 2 {
		t.Errorf("report: %+v", rep)
	}
	got := rep.SourceResults
	if len(got) != 4 {
		t.Fatalf("got %d results, want 4", len(got))
	}
	if s := got[0]; s.Status != sandrone.StatusFailed || s.Name != "first" || s.URL != "https://a.example/1" || s.Error == nil || s.Error.Code != sandrone.FetchFailed || s.NodeCount != 0 {
		t.Errorf("failed fetch: %+v", s)
	}
	if s := got[1]; s.Status != sandrone.StatusOK || s.NodeCount != 1 || s.Error != nil || s.Index != 1 {
		t.Errorf("good source: %+v", s)
	}
	if s := got[2]; s.Status != sandrone.StatusFailed || s.Error == nil || s.Error.Code != sandrone.ParseFailed || s.Error.Field != "remote_batch.sources[2]" {
		t.Errorf("web page: %+v", s)
	}
	if s := got[3]; s.Status != sandrone.StatusOK || s.NodeCount != 1 || s.WarningsCount == 0 {
		t.Errorf("source with a bad line: %+v", s)
	}
	for _, w := range rep.Warnings {
		if w.Code == sandrone.WarnLineFailed && w.Source != "https://d.example" {
			t.Errorf("warning does not say which source: %+v", w)
		}
	}
	for _, s := range got {
		if text := fmt.Sprintf("%+v %+v", s, s.Error); strings.Contains(text, "hunter2") {
			t.Errorf("result holds a secret: %s", text)
		}
	}
}

func TestBatchOfFailuresIsAnErrorWithAReport(t *testing.T) {
	_, err := newEngine(t, web{}).Convert(t.Context(), engine.ConvertRequest{ToFormat: "json-nodes", RemoteBatch: batch("https://a.example", "https://b.example")})
	e, ok := errors.AsType[*engine.ReportError](err)
	if !ok {
		t.Fatalf("got %v, want an error with a report", err)
	}
	if e.Err.Code != sandrone.FetchFailed || e.Err.Field != "remote_batch.sources[0]" || e.Report.Status != sandrone.StatusFailed || len(e.Report.SourceResults) != 2 {
		t.Errorf("got %+v with %+v", e.Err, e.Report)
	}
	if coded, ok := errors.AsType[*sandrone.Error](err); !ok || coded != e.Err {
		t.Error("the coded error is not reachable")
	}
}

func TestJoinedNodesAreLimited(t *testing.T) {
	many := strings.Repeat(link("n")+"\n", 51_000)
	_, err := newEngine(t, web{"https://a.example": many, "https://b.example": many}).Convert(t.Context(),
		engine.ConvertRequest{ToFormat: "json-nodes", RemoteBatch: batch("https://a.example", "https://b.example")})
	if e := sandrone.AsError(err); e == nil || e.Code != sandrone.ParseFailed {
		t.Errorf("got %v, want parse_failed", err)
	}
}

func TestConvertEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	f := fetchFunc(func(context.Context, fetch.Request) (*fetch.Response, error) {
		cancel()
		return &fetch.Response{Body: []byte(link("a"))}, nil
	})
	for _, req := range []engine.ConvertRequest{
		{ToFormat: "json-nodes", Remote: &engine.Remote{URL: "https://a.example"}},
		{ToFormat: "json-nodes", RemoteBatch: batch("https://a.example")},
	} {
		if _, err := newEngine(t, f).Convert(ctx, req); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want context.Canceled", err)
		}
	}
}

func TestRequestsAreCheckedBeforeAnythingIsFetched(t *testing.T) {
	f := fetchFunc(func(context.Context, fetch.Request) (*fetch.Response, error) {
		t.Error("something was fetched")
		return nil, errors.New("no")
	})
	text, negative := "x", int64(-1)
	remote := func() *engine.Remote { return &engine.Remote{URL: "https://a.example"} }
	sources := make([]string, 33)
	for i := range sources {
		sources[i] = "https://a.example"
	}
	tooParallel, badFormat, noURL := batch("https://a.example"), batch("https://a.example"), batch("https://a.example", " ")
	tooParallel.Concurrency = 9
	badFormat.Sources[0].Format = "nothing"
	steps := func(specs ...sandrone.ProcessorSpec) []sandrone.ProcessorSpec { return specs }
	for _, c := range []struct {
		name  string
		req   engine.ConvertRequest
		code  sandrone.Code
		field string
	}{
		{"target", engine.ConvertRequest{ToFormat: "nothing", Remote: remote()}, sandrone.InvalidArgument, "to_format"},
		{"version of a format without any", engine.ConvertRequest{ToFormat: "json-nodes@1.1", Remote: remote()}, sandrone.InvalidArgument, "to_format"},
		{"format", engine.ConvertRequest{ToFormat: "json-nodes", FromFormat: "nothing", Remote: remote()}, sandrone.InvalidArgument, "from_format"},
		{"two inputs", engine.ConvertRequest{ToFormat: "json-nodes", FromFormat: "auto", Content: &text, Remote: remote()}, sandrone.InvalidArgument, ""},
		{"negative time limit", engine.ConvertRequest{ToFormat: "json-nodes", Remote: &engine.Remote{URL: "https://a.example", TimeoutMS: -1}}, sandrone.InvalidArgument, "remote.timeout_ms"},
		{"negative cache time", engine.ConvertRequest{ToFormat: "json-nodes", Remote: &engine.Remote{URL: "https://a.example", CacheTTLSeconds: &negative}}, sandrone.InvalidArgument, "remote.cache_ttl_seconds"},
		{"too many sources", engine.ConvertRequest{ToFormat: "json-nodes", RemoteBatch: batch(sources...)}, sandrone.InvalidArgument, "remote_batch.sources"},
		{"too much at once", engine.ConvertRequest{ToFormat: "json-nodes", RemoteBatch: tooParallel}, sandrone.InvalidArgument, "remote_batch.concurrency"},
		{"format of a source", engine.ConvertRequest{ToFormat: "json-nodes", RemoteBatch: badFormat}, sandrone.InvalidArgument, "remote_batch.sources[0].format"},
		{"source without address", engine.ConvertRequest{ToFormat: "json-nodes", RemoteBatch: noURL}, sandrone.InvalidArgument, "remote_batch.sources[1].url"},
		{"step", engine.ConvertRequest{ToFormat: "json-nodes", Remote: remote(), ParseProcessors: steps(sandrone.ProcessorSpec{Type: "sort", Disabled: true}, sandrone.ProcessorSpec{Type: "sort"})}, sandrone.NotImplemented, "parse_processors[1]"},
		{"script without stage", engine.ConvertRequest{ToFormat: "json-nodes", Remote: remote(), ParseProcessors: steps(sandrone.ProcessorSpec{Type: "script"})}, sandrone.ProcessorConfigInvalid, "parse_processors[0].stage"},
		{"unknown stage", engine.ConvertRequest{ToFormat: "json-nodes", Remote: remote(), RenderProcessors: steps(sandrone.ProcessorSpec{Type: "sort", Stage: "files"})}, sandrone.ProcessorConfigInvalid, "render_processors[0].stage"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := newEngine(t, f).Convert(t.Context(), c.req)
			if e := sandrone.AsError(err); e == nil || e.Code != c.code || e.Field != c.field {
				t.Errorf("got %v at %q, want %s at %q", err, e.Field, c.code, c.field)
			}
		})
	}
}

func TestErrorsOfOneAddressSayWhereTheyBelong(t *testing.T) {
	e := newEngine(t, nil) // with the real way out, which refuses these before it dials
	for _, c := range []struct {
		name   string
		remote engine.Remote
		public bool
		code   sandrone.Code
		field  string
	}{
		{"scheme", engine.Remote{URL: "ftp://a.example"}, false, sandrone.InvalidArgument, "remote.url"},
		{"scheme on the public route", engine.Remote{URL: "file:///etc/passwd"}, true, sandrone.InvalidArgument, "remote.url"},
		{"proxy scheme", engine.Remote{URL: "https://a.example", Proxy: "ftp://p.example"}, false, sandrone.InvalidArgument, "remote.proxy"},
		{"address of the machine", engine.Remote{URL: "http://127.0.0.1/"}, false, sandrone.FetchForbidden, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := e.Convert(t.Context(), engine.ConvertRequest{ToFormat: "json-nodes", Remote: &c.remote, Public: c.public})
			if e := sandrone.AsError(err); e == nil || e.Code != c.code || e.Field != c.field {
				t.Errorf("got %v, field %q; want %s, %q", err, e.Field, c.code, c.field)
			}
		})
	}
}

func TestEngineIsSafeForConcurrentUse(t *testing.T) {
	e := newEngine(t, web{"https://a.example": link("a")})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				if _, err := e.Convert(t.Context(), engine.ConvertRequest{ToFormat: "json-nodes", Remote: &engine.Remote{URL: "https://a.example"}}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

func TestCheckSettings(t *testing.T) {
	if _, err := engine.CheckSettings(sandrone.DefaultSettings()); err != nil {
		t.Fatalf("defaults: %v", err)
	}
	for _, c := range []struct {
		path string // of the member at fault; empty: none is
		set  func(*sandrone.Settings)
	}{
		{"schema_version", func(s *sandrone.Settings) { s.SchemaVersion = 2 }},
		{"", func(s *sandrone.Settings) { s.HTTP.Listen = ":1137" }},
		{"", func(s *sandrone.Settings) { s.HTTP.Listen = "[::1]:0" }},
		{"http.listen", func(s *sandrone.Settings) { s.HTTP.Listen = "127.0.0.1" }},
		{"http.listen", func(s *sandrone.Settings) { s.HTTP.Listen = "127.0.0.1:65536" }},
		{"http.listen", func(s *sandrone.Settings) { s.HTTP.Listen = "127.0.0.1:http" }},
		{"", func(s *sandrone.Settings) { s.HTTP.PublicURL = "https://sub.example.com/base" }},
		{"http.public_url", func(s *sandrone.Settings) { s.HTTP.PublicURL = "sub.example.com" }},
		{"http.public_url", func(s *sandrone.Settings) { s.HTTP.PublicURL = "https://sub.example.com/?x" }},
		{"", func(s *sandrone.Settings) { s.HTTP.TrustedProxies = []string{"10.0.0.0/8", "::1", "192.0.2.1"} }},
		{"http.trusted_proxies[1]", func(s *sandrone.Settings) { s.HTTP.TrustedProxies = []string{"10.0.0.0/8", "proxy"} }},
		{"http.body_timeout_seconds", func(s *sandrone.Settings) { s.HTTP.BodyTimeoutSeconds = 0 }},
		{"http.body_timeout_seconds", func(s *sandrone.Settings) { s.HTTP.BodyTimeoutSeconds = 601 }},
		{"", func(s *sandrone.Settings) { s.MCP.Path = "/tools/mcp" }},
		{"mcp.path", func(s *sandrone.Settings) { s.MCP.Path = "mcp" }},
		{"mcp.path", func(s *sandrone.Settings) { s.MCP.Path = "/" }},
		{"mcp.path", func(s *sandrone.Settings) { s.MCP.Path = "/mcp/" }},
		{"mcp.path", func(s *sandrone.Settings) { s.MCP.Path = "/a//b" }},
		{"mcp.path", func(s *sandrone.Settings) { s.MCP.Path = "/a/../v1" }},
		{"mcp.path", func(s *sandrone.Settings) { s.MCP.Path = "/v1/mcp" }},
		{"mcp.path", func(s *sandrone.Settings) { s.MCP.Path = "/convert" }},
		{"mcp.path", func(s *sandrone.Settings) { s.MCP.Path = "/m{x}" }},
		{"mcp.path", func(s *sandrone.Settings) { s.MCP.Path = "/m%41" }},
		{"mcp.path", func(s *sandrone.Settings) { s.MCP.Path = "/m cp" }},
		{"mcp.max_output_bytes", func(s *sandrone.Settings) { s.MCP.MaxOutputBytes = -1 }},
		{"", func(s *sandrone.Settings) { s.Log.Level = " WARN " }},
		{"log.level", func(s *sandrone.Settings) { s.Log.Level = "loud" }},
		{"remote_defaults.proxy", func(s *sandrone.Settings) { s.RemoteDefaults.Proxy = "ftp://p.example" }},
		{"", func(s *sandrone.Settings) {
			s.RemoteDefaults.AllowHosts = []string{"nas.lan", "*.home.arpa", "10.8.0.0/16", "192.168.1.10"}
		}},
		{"remote_defaults.allow_hosts[1]", func(s *sandrone.Settings) { s.RemoteDefaults.AllowHosts = []string{"nas.lan", "http://x"} }},
		{"remote_defaults.timeout_ms", func(s *sandrone.Settings) { s.RemoteDefaults.TimeoutMS = -1 }},
		{"remote_defaults.stale_if_error_seconds", func(s *sandrone.Settings) { s.RemoteDefaults.StaleIfErrorSeconds = -1 }},
		{"", func(s *sandrone.Settings) { s.ProbeDefaults.Method, s.ProbeDefaults.Core = "URL-Test", "SingBox" }},
		{"probe_defaults.method", func(s *sandrone.Settings) { s.ProbeDefaults.Method = "ping" }},
		{"probe_defaults.core", func(s *sandrone.Settings) { s.ProbeDefaults.Core = "xray" }},
		{"probe_defaults.url", func(s *sandrone.Settings) { s.ProbeDefaults.URL = "ftp://x" }},
		{"cache_defaults.probe_ttl_seconds", func(s *sandrone.Settings) { s.CacheDefaults.ProbeTTLSeconds = -1 }},
		{"cache_defaults.cache_max_bytes", func(s *sandrone.Settings) { s.CacheDefaults.CacheMaxBytes = 1 << 19 }},
		{"public_convert.requests_per_minute", func(s *sandrone.Settings) { s.PublicConvert.RequestsPerMinute = -1 }},
		{"public_convert.max_concurrent", func(s *sandrone.Settings) { s.PublicConvert.MaxConcurrent = 0 }},
		{"shares.requests_per_minute", func(s *sandrone.Settings) { s.Shares.RequestsPerMinute = -1 }},
		{"appearance.theme_mode", func(s *sandrone.Settings) { s.Appearance.ThemeMode = "pink" }},
		{"appearance.locale", func(s *sandrone.Settings) { s.Appearance.Locale = "fr-FR" }},
	} {
		s := sandrone.DefaultSettings()
		c.set(&s)
		_, err := engine.CheckSettings(s)
		switch e := sandrone.AsError(err); {
		case c.path == "" && err != nil:
			t.Errorf("%+v: got %v", s, err)
		case c.path != "" && (e == nil || e.Code != sandrone.InvalidArgument || e.Field != c.path):
			t.Errorf("%s: got %v", c.path, err)
		}
	}
}

func TestCheckSettingsNormalises(t *testing.T) {
	s := sandrone.DefaultSettings()
	s.Log.Level, s.MCP.MaxOutputBytes, s.RemoteDefaults.TimeoutMS, s.ProbeDefaults.Core = " Debug", 0, 0, "sing_box"
	got, err := engine.CheckSettings(s)
	if err != nil {
		t.Fatal(err)
	}
	if got.Log.Level != "debug" || got.MCP.MaxOutputBytes != 1<<20 || got.RemoteDefaults.TimeoutMS != 15000 || got.ProbeDefaults.Core != "sing-box" {
		t.Errorf("got %+v", got)
	}
}

func TestInspectListsSortedFormats(t *testing.T) {
	i, err := newEngine(t, nil).Inspect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, list := range map[string][]string{"parse": i.Formats.Parse, "render": i.Formats.Render} {
		if len(list) == 0 || !slices.IsSorted(list) {
			t.Errorf("%s formats: got %v", name, list)
		}
	}
	if i.Store.Configured {
		t.Error("there is no store yet")
	}
}

func doctor(t *testing.T, dir string) engine.Health {
	t.Helper()
	e, err := engine.New(engine.Options{Registry: formats.Registry(), Settings: sandrone.DefaultSettings(), DataDir: dir,
		Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	return e.Doctor(t.Context(), nil)
}

func TestDoctorFindsEveryFormatHealthy(t *testing.T) {
	h := doctor(t, "")
	if !h.OK || h.DataDirWritable != nil || len(h.ParseFormats) == 0 || len(h.RenderFormats) == 0 || len(h.Cores) != 3 {
		t.Errorf("got %+v", h)
	}
	for _, f := range append(h.ParseFormats, h.RenderFormats...) {
		if !f.OK {
			t.Errorf("%s: %s", f.Name, f.Error)
		}
	}
}

func TestDoctorLeavesNothingBehind(t *testing.T) {
	root := t.TempDir()
	if h := doctor(t, filepath.Join(root, "a", "b")); !h.OK || h.DataDirWritable == nil || !*h.DataDirWritable {
		t.Errorf("new directory: got %+v", h)
	}
	if h := doctor(t, root); !h.OK || !*h.DataDirWritable {
		t.Errorf("existing directory: got %+v", h)
	}
	left, err := os.ReadDir(root)
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func TestDoctorReportsADirectoryThatCannotBeWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	h := doctor(t, filepath.Join(file, "data"))
	if h.OK || h.DataDirWritable == nil || *h.DataDirWritable || h.DataDirError == "" || strings.Contains(h.DataDirError, file) {
		t.Errorf("got %+v", h)
	}
}
