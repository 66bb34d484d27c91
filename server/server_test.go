package server_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/catalog"
	"github.com/sandrone-gateway/sandrone/convert/formats"
	"github.com/sandrone-gateway/sandrone/engine"
	"github.com/sandrone-gateway/sandrone/fetch"
	"github.com/sandrone-gateway/sandrone/mcp"
	"github.com/sandrone-gateway/sandrone/processors"
	"github.com/sandrone-gateway/sandrone/processors/script"
	"github.com/sandrone-gateway/sandrone/server"
	"github.com/sandrone-gateway/sandrone/store"
)

const (
	token = "correct-horse-battery"
	link  = "trojan://hunter2@192.0.2.1:443#one"
)

// fetchFunc answers fetches in place of the network.
type fetchFunc func(ctx context.Context, req fetch.Request) (*fetch.Response, error)

func (f fetchFunc) Get(ctx context.Context, req fetch.Request) (*fetch.Response, error) {
	return f(ctx, req)
}

func noNetwork(context.Context, fetch.Request) (*fetch.Response, error) {
	return nil, sandrone.Errorf(sandrone.FetchFailed, "no network in tests")
}

// setup is a server to test; zero members have working defaults.
type setup struct {
	token    string
	settings func(*sandrone.Settings)
	fetch    fetchFunc
	now      func() time.Time
	log      io.Writer
	metrics  *server.Metrics
	logs     *server.Logs // nil means those of log
	prober   processors.Prober
	store    *store.Store // nil means an empty one

	extensions []mcp.Extension
}

func (o setup) server(t testing.TB) *server.Server {
	t.Helper()
	settings := sandrone.DefaultSettings()
	settings.PublicConvert.RequestsPerMinute = 0
	if o.settings != nil {
		o.settings(&settings)
	}
	if o.fetch == nil {
		o.fetch = noNetwork
	}
	if o.log == nil {
		o.log = io.Discard
	}
	if o.metrics == nil {
		o.metrics = server.NewMetrics()
	}
	if o.store == nil {
		o.store = store.New(store.Memory(), store.Options{CheckSettings: engine.CheckSettings, Now: o.now})
	}
	if err := o.store.Update(context.Background(), func(tx *store.Tx) error {
		_, err := tx.Settings().Put(settings, store.Precondition{})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	logs := o.logs
	if logs == nil {
		logs = server.NewLogs(slog.NewTextHandler(o.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	scripts := script.InProcess(script.Options{})
	t.Cleanup(func() { scripts.Close() })
	steps := processors.New(processors.Options{Scripts: engine.ScriptType()})
	e, err := engine.New(engine.Options{
		Registry: formats.Registry(),
		Settings: settings,
		Store:    o.store,
		Steps:    steps,
		Scripts:  scripts,
		Prober:   o.prober,
		Logger:   slog.New(logs),
		Metrics:  o.metrics,
		Fetcher:  o.fetch,
		Now:      o.now,
		Getenv:   func(string) string { return "" },
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.New(server.Options{
		Engine:  e,
		Catalog: catalog.New(formats.Registry(), steps),
		Token:   o.token,
		UI: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, "<!doctype html>page")
		}),
		Logger:  slog.New(logs),
		Logs:    logs,
		Metrics: o.metrics,
		Now:     o.now,

		MCPExtensions: o.extensions,
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// start serves on loopback until the test ends, and returns the address.
func (o setup) start(t *testing.T) string {
	t.Helper()
	s := o.server(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, ln) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return ln.Addr().String()
}

// call is one request, written as it stands: no client cleans the path.
type call struct {
	method, path string
	header       []string // "Name: value"
	body         string
}

type answer struct {
	status int
	header http.Header
	body   string
}

func (a answer) errorObject(t *testing.T) sandrone.Error {
	t.Helper()
	var v struct{ Error *sandrone.Error }
	if err := json.Unmarshal([]byte(a.body), &v); err != nil || v.Error == nil {
		t.Fatalf("body is no error object (%v): %q", err, a.body)
	}
	return *v.Error
}

func (c call) write(w io.Writer, host string) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\n", c.method, c.path)
	if !slices.ContainsFunc(c.header, func(h string) bool { return strings.HasPrefix(h, "Host:") }) {
		fmt.Fprintf(&b, "Host: %s\r\n", host)
	}
	for _, h := range c.header {
		b.WriteString(h + "\r\n")
	}
	if c.body != "" {
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(c.body))
	}
	io.WriteString(w, b.String()+"Connection: close\r\n\r\n"+c.body)
}

func (c call) read(t *testing.T, r io.Reader) answer {
	t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(r), &http.Request{Method: c.method})
	if err != nil {
		t.Fatalf("%s %s: no answer: %v", c.method, c.path, err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s %s: body cut: %v", c.method, c.path, err)
	}
	return answer{resp.StatusCode, resp.Header, string(body)}
}

func (c call) do(t *testing.T, address string) answer {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	c.write(conn, address)
	return c.read(t, conn)
}

func bearer(token string) []string { return []string{"Authorization: Bearer " + token} }

func convertBody(members string) string {
	return `{"to_format":"json-nodes","from_format":"uri-list","content":"` + link + `"` + members + `}`
}

// row is a request and what its answer must and must not hold.
type row struct {
	name   string
	call   call
	status int
	code   string   // of the error object
	field  string   // of the error object
	has    []string // words of the body
	hasNot []string // words of the body and the headers, besides the secrets below
	header []string // "Name: value"
}

// secrets of the tests, which no error may hold.
var secrets = []string{token, "hunter2", "wrong-token"}

func runRows(t *testing.T, address string, rows []row) {
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			a := r.call.do(t, address)
			if err := readDocument(t).check(r.call, a); err != nil {
				t.Errorf("the OpenAPI document says otherwise: %v", err)
			}
			if a.status != r.status {
				t.Errorf("status: got %d, want %d; body %s", a.status, r.status, a.body)
			}
			if r.code != "" && r.call.method != http.MethodHead {
				e := a.errorObject(t)
				if string(e.Code) != r.code || e.Field != r.field {
					t.Errorf("error: got code %q field %q, want code %q field %q", e.Code, e.Field, r.code, r.field)
				}
				if ct := a.header.Get("Content-Type"); ct != "application/json" {
					t.Errorf("content type of an error: got %q", ct)
				}
			}
			for _, word := range r.has {
				if !strings.Contains(a.body, word) {
					t.Errorf("body lacks %q: %s", word, a.body)
				}
			}
			all := a.body + fmt.Sprint(a.header)
			hasNot := r.hasNot
			if a.status >= 400 {
				hasNot = append(hasNot, secrets...)
			}
			for _, word := range hasNot {
				if strings.Contains(all, word) {
					t.Errorf("answer holds %q: %s", word, all)
				}
			}
			for _, h := range r.header {
				name, value, _ := strings.Cut(h, ": ")
				if got := a.header.Get(name); got != value {
					t.Errorf("header %s: got %q, want %q", name, got, value)
				}
			}
			for name := range a.header {
				if strings.HasPrefix(name, "Access-Control-") {
					t.Errorf("answer has header %s", name)
				}
			}
		})
	}
}

func TestRoutes(t *testing.T) {
	const noStore = "Cache-Control: no-store"
	runRows(t, setup{token: token}.start(t), []row{
		{name: "healthz", call: call{method: "GET", path: "/healthz"}, status: 200, has: []string{`"ok": true`}},
		{name: "healthz by HEAD", call: call{method: "HEAD", path: "/healthz"}, status: 200, header: []string{"Content-Type: application/json", "Content-Length: 17"}},
		{name: "version", call: call{method: "GET", path: "/version"}, status: 200, has: []string{`"name": "sandrone"`, `"version": "`, `"revision": "`}},
		{name: "page", call: call{method: "GET", path: "/"}, status: 200, has: []string{"page"}},
		{name: "page takes no POST", call: call{method: "POST", path: "/"}, status: 405, code: "method_not_allowed", header: []string{"Allow: GET, HEAD"}},

		{name: "inspect", call: call{method: "GET", path: "/v1/inspect", header: bearer(token)}, status: 200, header: []string{noStore, "Content-Type: application/json"},
			has: []string{`"scope": "owner"`, `"configured": true`, `"subscriptions": 0`, `"catalogs"`, `"json-nodes"`}, hasNot: []string{token}},
		{name: "inspect by HEAD", call: call{method: "HEAD", path: "/v1/inspect", header: bearer(token)}, status: 200, header: []string{noStore}},
		{name: "inspect without token", call: call{method: "GET", path: "/v1/inspect"}, status: 401, code: "unauthorized", header: []string{"WWW-Authenticate: Bearer", noStore}},
		{name: "inspect with wrong token", call: call{method: "GET", path: "/v1/inspect", header: bearer("wrong-token")}, status: 401, code: "unauthorized"},
		{name: "inspect with a longer token", call: call{method: "GET", path: "/v1/inspect", header: bearer(token + "x")}, status: 401, code: "unauthorized"},
		{name: "inspect with an empty token", call: call{method: "GET", path: "/v1/inspect", header: []string{"Authorization: Bearer "}}, status: 401, code: "unauthorized"},
		{name: "scheme in another case", call: call{method: "GET", path: "/v1/inspect", header: []string{"Authorization: bearer " + token}}, status: 401, code: "unauthorized"},
		{name: "bare token", call: call{method: "GET", path: "/v1/inspect", header: []string{"Authorization: " + token}}, status: 401, code: "unauthorized"},
		{name: "two tokens", call: call{method: "GET", path: "/v1/inspect", header: append(bearer(token), bearer("wrong-token")...)}, status: 401, code: "unauthorized"},
		{name: "token in the query", call: call{method: "GET", path: "/v1/inspect?token=" + token}, status: 401, code: "unauthorized"},
		{name: "inspect takes no DELETE", call: call{method: "DELETE", path: "/v1/inspect", header: bearer(token)}, status: 405, code: "method_not_allowed", header: []string{"Allow: GET, HEAD", noStore}},
		{name: "inspect takes no OPTIONS", call: call{method: "OPTIONS", path: "/v1/inspect", header: bearer(token)}, status: 405, code: "method_not_allowed", header: []string{"Allow: GET, HEAD"}},
		{name: "unknown method", call: call{method: "BREW", path: "/v1/inspect", header: bearer(token)}, status: 405, code: "method_not_allowed", header: []string{"Allow: GET, HEAD"}},
		{name: "unknown method of no path", call: call{method: "BREW", path: "/v1/nothing", header: bearer(token)}, status: 404, code: "route_not_found"},
		{name: "OPTIONS of everything", call: call{method: "OPTIONS", path: "*"}, status: 404, code: "route_not_found"},

		{name: "formats", call: call{method: "GET", path: "/v1/capabilities/formats", header: bearer(token)}, status: 200, has: []string{`"href": "/v1/capabilities/formats/parse/uri-list"`}, header: []string{noStore}},
		{name: "formats by HEAD", call: call{method: "HEAD", path: "/v1/capabilities/formats", header: bearer(token)}, status: 200},
		{name: "formats without token", call: call{method: "GET", path: "/v1/capabilities/formats"}, status: 401, code: "unauthorized"},
		{name: "format", call: call{method: "GET", path: "/v1/capabilities/formats/render/json-nodes", header: bearer(token)}, status: 200, has: []string{`"reversible": true`, `"raw_only": []`}},
		{name: "format by HEAD", call: call{method: "HEAD", path: "/v1/capabilities/formats/render/json-nodes", header: bearer(token)}, status: 200},
		{name: "format without token", call: call{method: "GET", path: "/v1/capabilities/formats/render/json-nodes"}, status: 401, code: "unauthorized"},
		{name: "unknown direction", call: call{method: "GET", path: "/v1/capabilities/formats/Render/json-nodes", header: bearer(token)}, status: 400, code: "invalid_argument"},
		{name: "unknown format", call: call{method: "GET", path: "/v1/capabilities/formats/parse/nothing", header: bearer(token)}, status: 400, code: "invalid_argument"},
		{name: "format in another case", call: call{method: "GET", path: "/v1/capabilities/formats/parse/URI-LIST", header: bearer(token)}, status: 400, code: "invalid_argument"},
		{name: "format with an encoded slash", call: call{method: "GET", path: "/v1/capabilities/formats/parse%2Furi-list", header: bearer(token)}, status: 404, code: "route_not_found"},
		{name: "features", call: call{method: "GET", path: "/v1/capabilities/ui", header: bearer(token)}, status: 200, has: []string{`"key": "core.mihomo"`, `"key": "scheduler.enabled"`}},
		{name: "features by HEAD", call: call{method: "HEAD", path: "/v1/capabilities/ui", header: bearer(token)}, status: 200},
		{name: "features without token", call: call{method: "GET", path: "/v1/capabilities/ui"}, status: 401, code: "unauthorized"},

		{name: "convert by POST", call: call{method: "POST", path: "/v1/convert", header: bearer(token), body: convertBody("")}, status: 200, has: []string{`"kind": "convert"`, `"cached": false`, "one"}, header: []string{noStore}},
		{name: "convert by POST without token", call: call{method: "POST", path: "/v1/convert", body: convertBody("")}, status: 401, code: "unauthorized"},
		{name: "convert by POST with wrong token", call: call{method: "POST", path: "/v1/convert", header: bearer("wrong-token"), body: convertBody("")}, status: 401, code: "unauthorized"},
		{name: "convert by POST takes no GET", call: call{method: "GET", path: "/v1/convert", header: bearer(token)}, status: 405, code: "method_not_allowed", header: []string{"Allow: POST"}},
		{name: "convert", call: call{method: "GET", path: "/convert?to_format=json-nodes&content=" + "trojan%3A%2F%2Fhunter2%40192.0.2.1%3A443%23one"}, status: 200, has: []string{"one"}},
		{name: "convert takes no POST", call: call{method: "POST", path: "/convert"}, status: 405, code: "method_not_allowed", header: []string{"Allow: GET, HEAD", noStore, "Referrer-Policy: no-referrer", "X-Content-Type-Options: nosniff"}},

		{name: "no route", call: call{method: "GET", path: "/nothing"}, status: 404, code: "route_not_found"},
		{name: "no route below v1 without token", call: call{method: "GET", path: "/v1/nothing"}, status: 401, code: "unauthorized"},
		{name: "no route below v1", call: call{method: "GET", path: "/v1/nothing", header: bearer(token)}, status: 404, code: "route_not_found", header: []string{noStore}},
		{name: "v1 itself without token", call: call{method: "GET", path: "/v1"}, status: 401, code: "unauthorized"},
		{name: "v1 itself", call: call{method: "GET", path: "/v1", header: bearer(token)}, status: 404, code: "route_not_found"},
		{name: "mcp without token", call: call{method: "POST", path: "/mcp"}, status: 401, code: "unauthorized"},
		{name: "below mcp without token", call: call{method: "POST", path: "/mcp/x"}, status: 401, code: "unauthorized"},
		{name: "metrics without token", call: call{method: "GET", path: "/metrics"}, status: 401, code: "unauthorized"},
		{name: "a page of the application", call: call{method: "GET", path: "/files/x.yaml"}, status: 404, code: "route_not_found"},
	})
}

func TestPathsAreExact(t *testing.T) {
	runRows(t, setup{token: token}.start(t), []row{
		{name: "slash at the end", call: call{method: "GET", path: "/version/"}, status: 404, code: "route_not_found"},
		{name: "slash at the end of v1", call: call{method: "GET", path: "/v1/inspect/", header: bearer(token)}, status: 404, code: "route_not_found"},
		{name: "two slashes at the start", call: call{method: "GET", path: "//version"}, status: 404, code: "route_not_found"},
		{name: "two slashes before v1", call: call{method: "GET", path: "//v1/inspect"}, status: 404, code: "route_not_found", hasNot: []string{"formats"}},
		{name: "empty segment", call: call{method: "GET", path: "/v1//inspect", header: bearer(token)}, status: 404, code: "route_not_found"},
		{name: "empty name", call: call{method: "GET", path: "/v1/capabilities/formats//json-nodes", header: bearer(token)}, status: 404, code: "route_not_found"},
		{name: "dot segment", call: call{method: "GET", path: "/./version"}, status: 404, code: "route_not_found"},
		{name: "parent segment", call: call{method: "GET", path: "/x/../v1/inspect"}, status: 404, code: "route_not_found"},
		{name: "another case", call: call{method: "GET", path: "/Version"}, status: 404, code: "route_not_found"},
		{name: "v1 in another case", call: call{method: "GET", path: "/V1/inspect"}, status: 404, code: "route_not_found"},
		{name: "encoded v1 without token", call: call{method: "GET", path: "/%76%31/inspect"}, status: 401, code: "unauthorized"},
		{name: "encoded v1", call: call{method: "GET", path: "/%76%31/inspect", header: bearer(token)}, status: 200, has: []string{`"scope": "owner"`}},
		{name: "encoded separator without token", call: call{method: "GET", path: "/v1%2Finspect"}, status: 401, code: "unauthorized"},
		{name: "encoded separator", call: call{method: "GET", path: "/v1%2Finspect", header: bearer(token)}, status: 404, code: "route_not_found"},
		{name: "encoded first separator", call: call{method: "GET", path: "/%2Fv1/inspect"}, status: 404, code: "route_not_found"},
		{name: "encoded twice", call: call{method: "GET", path: "/%2576%2531/inspect"}, status: 404, code: "route_not_found"},
		{name: "backslash", call: call{method: "GET", path: `/v1\inspect`}, status: 404, code: "route_not_found"},
		{name: "whole address without token", call: call{method: "GET", path: "http://example.com/v1/inspect"}, status: 401, code: "unauthorized"},
		{name: "encoded public route", call: call{method: "GET", path: "/%68ealthz"}, status: 200},
	})
}

func TestOriginGuard(t *testing.T) {
	origin := func(value string, more ...string) []string { return append(more, "Origin: "+value) }
	inspect := func(header ...string) call {
		return call{method: "GET", path: "/v1/inspect", header: append(header, bearer(token)...)}
	}
	address := setup{token: token, settings: func(s *sandrone.Settings) { s.HTTP.PublicURL = "https://sub.example.com/base" }}.start(t)
	runRows(t, address, []row{
		{name: "own origin", call: inspect(origin("http://gate.example.com:1137", "Host: gate.example.com:1137")...), status: 200},
		{name: "own origin behind a proxy that speaks TLS", call: inspect(origin("https://gate.example.com", "Host: gate.example.com")...), status: 200},
		{name: "default port stated once", call: inspect(origin("https://gate.example.com", "Host: gate.example.com:443")...), status: 200},
		{name: "own IPv6 origin", call: inspect(origin("http://[::1]:1137", "Host: [::1]:1137")...), status: 200},
		{name: "origin of the public address", call: inspect(origin("https://sub.example.com")...), status: 200},
		{name: "another host", call: inspect(origin("https://evil.example.net")...), status: 403, code: "forbidden"},
		{name: "another port", call: inspect(origin("http://gate.example.com:8080", "Host: gate.example.com:1137")...), status: 403, code: "forbidden"},
		{name: "another scheme of the public address", call: inspect(origin("http://sub.example.com")...), status: 403, code: "forbidden"},
		{name: "no origin at all", call: inspect(), status: 200},
		{name: "opaque origin", call: inspect(origin("null")...), status: 403, code: "forbidden"},
		{name: "empty origin", call: inspect(origin("")...), status: 403, code: "forbidden"},
		{name: "one bad of two", call: inspect(append(origin("https://evil.example.net"), origin("https://sub.example.com")...)...), status: 403, code: "forbidden"},
		{name: "public route", call: call{method: "GET", path: "/healthz", header: origin("https://evil.example.net")}, status: 200},
		{name: "no token and another host", call: call{method: "GET", path: "/v1/inspect", header: origin("https://evil.example.net")}, status: 401, code: "unauthorized"},
	})
}

func TestWithoutTokenOnlyLoopbackHostsAreServed(t *testing.T) {
	inspect := func(host string) call {
		return call{method: "GET", path: "/v1/inspect", header: []string{"Host: " + host}}
	}
	runRows(t, setup{}.start(t), []row{
		{name: "name", call: inspect("localhost:1137"), status: 200, has: []string{`"scope": "owner"`}},
		{name: "name without port", call: inspect("LOCALHOST"), status: 200},
		{name: "IPv4", call: inspect("127.8.9.1"), status: 200},
		{name: "IPv6", call: inspect("[::1]:1137"), status: 200},
		{name: "IPv6 without port", call: inspect("[::1]"), status: 200},
		{name: "rebound name", call: inspect("evil.example.net:1137"), status: 403, code: "forbidden"},
		{name: "name that begins like loopback", call: inspect("127.0.0.1.example.net"), status: 403, code: "forbidden"},
		{name: "address of the network", call: inspect("192.168.1.10"), status: 403, code: "forbidden"},
		{name: "empty host", call: inspect(""), status: 403, code: "forbidden"},
		{name: "public route", call: call{method: "GET", path: "/version", header: []string{"Host: evil.example.net"}}, status: 200},
		{name: "any token is as good as none", call: call{method: "GET", path: "/v1/inspect", header: append(bearer("x"), "Host: localhost")}, status: 200},
	})
}

func TestBodiesAreClosed(t *testing.T) {
	post := func(body string) call {
		return call{method: "POST", path: "/v1/convert", header: bearer(token), body: body}
	}
	address := setup{token: token}.start(t)
	runRows(t, address, []row{
		{name: "no body", call: call{method: "POST", path: "/v1/convert", header: bearer(token)}, status: 400, code: "invalid_argument", has: []string{"request body is required"}},
		{name: "blank body", call: post(" \n\t"), status: 400, code: "invalid_argument", has: []string{"request body is required"}},
		{name: "any content type", call: call{method: "POST", path: "/v1/convert", header: append(bearer(token), "Content-Type: image/png"), body: convertBody("")}, status: 200},
		{name: "unknown member", call: post(convertBody(`,"colour":1`)), status: 400, code: "invalid_argument", field: "colour"},
		{name: "member in another case", call: post(convertBody(`,"Meta":{}`)), status: 400, code: "invalid_argument", field: "Meta"},
		{name: "member of the program's own", call: post(convertBody(`,"Public":true`)), status: 400, code: "invalid_argument", field: "Public"},
		{name: "member given twice", call: post(convertBody(`,"content":"x"`)), status: 400, code: "invalid_argument", field: "content"},
		{name: "unknown member further down", call: post(convertBody(`,"options":{"drop_raw":true,"x":1}`)), status: 400, code: "invalid_argument", field: "options.x"},
		{name: "unknown member of a list item", call: post(convertBody(`,"parse_processors":[{"type":"sort"},{"type":"sort","x":1}]`)), status: 400, code: "invalid_argument", field: "parse_processors[1].x"},
		{name: "unknown member of a source", call: post(`{"to_format":"json-nodes","remote_batch":{"sources":[{"url":"https://a.example","x":1}]}}`), status: 400, code: "invalid_argument", field: "remote_batch.sources[0].x"},
		{name: "open member", call: post(convertBody(`,"meta":{"any":"thing"},"parse_processors":[{"type":"x","disabled":true,"params":{"any":{"thing":1}}}]`)), status: 200},
		{name: "wrong type", call: post(convertBody(`,"options":{"drop_raw":"hunter2"}`)), status: 400, code: "invalid_argument", field: "options.drop_raw"},
		{name: "wrong type of a map's value", call: post(convertBody(`,"meta":{"a":1}`)), status: 400, code: "invalid_argument", field: "meta.a"},
		{name: "member without a name", call: post(`{"":1}`), status: 400, code: "invalid_argument", field: `""`},
		{name: "list", call: post(`[]`), status: 400, code: "invalid_argument"},
		{name: "null", call: post(`null`), status: 400, code: "invalid_argument"},
		{name: "text after the end", call: post(convertBody("") + "{}"), status: 400, code: "invalid_argument", has: []string{`"line": 1`}},
		{name: "syntax error", call: post("{\n  \"to_format\": \"json-nodes\",\n  \"content\": hunter2\n}"), status: 400, code: "invalid_argument", has: []string{"invalid JSON body", `"line": 3`, `"column": 14`}},
		{name: "cut text", call: post(`{"to_format":"json-nodes"`), status: 400, code: "invalid_argument", has: []string{`"line": 1`}},
		{name: "text that is no UTF-8", call: post("{\"to_format\":\"\xff\"}"), status: 400, code: "invalid_argument"},
		{name: "long name", call: post(convertBody(`,"` + strings.Repeat("x", 5000) + `":1`)), status: 400, code: "invalid_argument", field: strings.Repeat("x", 200) + "…"},
	})
}

func TestConvertRequestsAreChecked(t *testing.T) {
	post := func(body string) call {
		return call{method: "POST", path: "/v1/convert", header: bearer(token), body: body}
	}
	address := setup{token: token}.start(t)
	runRows(t, address, []row{
		{name: "no target", call: post(`{"from_format":"uri-list","content":"` + link + `"}`), status: 400, code: "invalid_argument", field: "to_format", has: []string{"unsupported render format"}},
		{name: "unknown target", call: post(`{"to_format":"nothing","from_format":"uri-list","content":"` + link + `"}`), status: 400, code: "invalid_argument", field: "to_format"},
		{name: "content without format", call: post(`{"to_format":"json-nodes","content":"` + link + `"}`), status: 400, code: "invalid_argument", field: "from_format", has: []string{"node input format is required"}},
		{name: "detected content", call: post(`{"to_format":"json-nodes","from_format":"auto","content":"` + link + `"}`), status: 200, has: []string{"one"}},
		{name: "unknown format", call: post(`{"to_format":"json-nodes","from_format":"nothing","content":"x"}`), status: 400, code: "invalid_argument", field: "from_format"},
		{name: "no input", call: post(`{"to_format":"json-nodes"}`), status: 400, code: "invalid_argument"},
		{name: "two inputs", call: post(convertBody(`,"remote":{"url":"https://a.example"}`)), status: 400, code: "invalid_argument"},
		{name: "empty content is content", call: post(`{"to_format":"json-nodes","from_format":"uri-list","content":""}`), status: 422, code: "parse_failed"},
		{name: "remote without address", call: post(`{"to_format":"json-nodes","remote":{}}`), status: 400, code: "invalid_argument", field: "remote.url"},
		{name: "fetch fails", call: post(`{"to_format":"json-nodes","remote":{"url":"https://a.example"}}`), status: 502, code: "fetch_failed"},
		{name: "another format in options", call: post(convertBody(`,"options":{"format":"uri-list"}`)), status: 400, code: "invalid_argument", field: "options.format"},
		{name: "equal format in options", call: post(convertBody(`,"options":{"format":"json-nodes"}`)), status: 200},
		{name: "step to run", call: post(convertBody(`,"render_processors":[{"type":"sort","stage":"file"},{"type":"nothing"}]`)), status: 422, code: "processor_unknown", field: "render_processors[1].type"},
		{name: "step that runs", call: post(convertBody(`,"render_processors":[{"type":"rename","params":{"mode":"prefix","value":"EDGE "}}]`)), status: 200, has: []string{"EDGE one"}},
		{name: "steps of the other stage", call: post(convertBody(`,"render_processors":[{"type":"merge","stage":"file"}]`)), status: 200},
		{name: "batch without sources", call: post(`{"to_format":"json-nodes","remote_batch":{"sources":[]}}`), status: 400, code: "invalid_argument", field: "remote_batch.sources"},
		{name: "every source fails", call: post(`{"to_format":"json-nodes","remote_batch":{"sources":[{"url":"https://u:hunter2@a.example/x?hunter2"}]}}`), status: 502, code: "fetch_failed", field: "remote_batch.sources[0]",
			has: []string{`"report": {`, `"status": "failed"`, `"url": "https://a.example/x"`}},
	})
}

func TestPublicConvert(t *testing.T) {
	const content = "content=trojan%3A%2F%2Fhunter2%40192.0.2.1%3A443%23one"
	get := func(query string) call { return call{method: "GET", path: "/convert?" + query} }
	always := []string{"Cache-Control: no-store", "Referrer-Policy: no-referrer", "X-Content-Type-Options: nosniff"}
	rows := []row{
		{name: "raw", call: get("to_format=json-nodes&" + content), status: 200, header: []string{"Content-Type: application/json"}, has: []string{"one"}, hasNot: []string{"warnings"}},
		{name: "by HEAD", call: call{method: "HEAD", path: "/convert?to_format=json-nodes&" + content}, status: 200, header: []string{"Content-Type: application/json"}},
		{name: "target in another case", call: get("to_format=%20JSON-nodes&" + content), status: 200},
		{name: "stated format", call: get("to_format=json-nodes&from_format=auto&" + content), status: 200},
		{name: "envelope", call: get("to_format=json-nodes&response=JSON&" + content), status: 200,
			has: []string{`"content_type": "application/json"`, `"body": "`, `"response": {}`, `"warnings": [`, `"cached": false`}, hasNot: []string{"report"}},
		{name: "other responses are raw", call: get("to_format=json-nodes&response=xml&" + content), status: 200, has: []string{"["}},
		{name: "no target", call: get(content), status: 400, code: "invalid_argument", field: "to_format"},
		{name: "no input", call: get("to_format=json-nodes"), status: 400, code: "invalid_argument"},
		{name: "blank input", call: get("to_format=json-nodes&content=%20&url=%20"), status: 400, code: "invalid_argument"},
		{name: "both inputs", call: get("to_format=json-nodes&url=https://a.example&" + content), status: 400, code: "invalid_argument"},
		{name: "unknown parameter", call: get("to_format=json-nodes&proxy=x&" + content), status: 400, code: "invalid_argument", field: "proxy"},
		{name: "parameter in another case", call: get("To_format=json-nodes&" + content), status: 400, code: "invalid_argument", field: "To_format"},
		{name: "parameter given twice", call: get("to_format=json-nodes&to_format=json-nodes&" + content), status: 400, code: "invalid_argument", field: "to_format"},
		{name: "bad escape", call: get("to_format=%zz"), status: 400, code: "invalid_argument"},
		{name: "longest content", call: get("to_format=json-nodes&" + content + strings.Repeat("%0A", 65536-len(link))), status: 200},
		{name: "content too long", call: get("to_format=json-nodes&" + content + strings.Repeat("%0A", 65536-len(link)+1)), status: 400, code: "invalid_argument", field: "content", has: []string{"convert content is too large"}},
		{name: "fetch fails", call: get("to_format=json-nodes&url=https://u:hunter2@a.example/?hunter2"), status: 502, code: "fetch_failed"},
		{name: "fetch fails in an envelope", call: get("to_format=json-nodes&response=json&url=https://a.example"), status: 502, code: "fetch_failed"},
	}
	for i := range rows {
		rows[i].header = append(rows[i].header, always...)
	}
	runRows(t, setup{token: token}.start(t), rows)
}

func TestPublicConvertNamesItsOwnParameter(t *testing.T) {
	address := setup{fetch: func(context.Context, fetch.Request) (*fetch.Response, error) {
		return nil, sandrone.Errorf(sandrone.InvalidArgument, "remote url scheme must be http or https").At("url")
	}}.start(t)
	runRows(t, address, []row{
		{name: "query", call: call{method: "GET", path: "/convert?to_format=json-nodes&url=ftp://a.example"}, status: 400, code: "invalid_argument", field: "url"},
		{name: "body", call: call{method: "POST", path: "/v1/convert", body: `{"to_format":"json-nodes","remote":{"url":"ftp://a.example"}}`}, status: 400, code: "invalid_argument", field: "remote.url"},
	})
}

func TestPublicConvertFetchesWithThePublicPolicy(t *testing.T) {
	var got fetch.Request
	address := setup{fetch: func(_ context.Context, req fetch.Request) (*fetch.Response, error) {
		got = req
		return &fetch.Response{Body: []byte(link)}, nil
	}}.start(t)
	a := call{method: "GET", path: "/convert?to_format=json-nodes&url=%20https://a.example/x%20"}.do(t, address)
	if a.status != 200 || got.URL != "https://a.example/x" || got.Policy != fetch.Public {
		t.Errorf("got status %d and fetch %+v, want 200 and a public fetch of the trimmed address", a.status, got)
	}
	a = call{method: "POST", path: "/v1/convert", body: `{"to_format":"json-nodes","remote":{"url":"https://a.example/y","user_agent":"x","timeout_ms":7}}`}.do(t, address)
	if a.status != 200 || got.Policy != fetch.Managed || got.UserAgent != "x" || got.Timeout != 7*time.Millisecond {
		t.Errorf("got status %d and fetch %+v, want 200 and a managed fetch as asked", a.status, got)
	}
}

func TestPublicConvertSwitchedOffIsNoRoute(t *testing.T) {
	address := setup{settings: func(s *sandrone.Settings) { s.PublicConvert.Enabled = false }}.start(t)
	runRows(t, address, []row{
		{name: "GET", call: call{method: "GET", path: "/convert?to_format=json-nodes&content=x"}, status: 404, code: "route_not_found", header: []string{"Cache-Control: no-store"}},
		{name: "POST", call: call{method: "POST", path: "/convert"}, status: 404, code: "route_not_found"},
	})
}

func TestBodyTooLarge(t *testing.T) {
	address := setup{token: token}.start(t)
	a := announced(t, address, "POST", "/v1/convert", 16<<20+1)
	if e := a.errorObject(t); a.status != 413 || e.Code != sandrone.RequestTooLarge {
		t.Errorf("announced: got %d %s", a.status, e.Code)
	}

	body := io.MultiReader(strings.NewReader(`{"content":"`), io.LimitReader(zeroes{}, 16<<20), strings.NewReader(`"}`))
	req, _ := http.NewRequest("POST", "http://"+address+"/v1/convert", io.NopCloser(body))
	req.ContentLength = -1 // chunked
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	a = answer{resp.StatusCode, resp.Header, string(text)}
	if e := a.errorObject(t); a.status != 413 || e.Code != sandrone.RequestTooLarge {
		t.Errorf("chunked: got %d %s", a.status, e.Code)
	}
}

// TestBodyTooLargeIsAnsweredToAClientThatSendsAllOfIt has a client look for the
// answer when it has written everything, as most do.
func TestBodyTooLargeIsAnsweredToAClientThatSendsAllOfIt(t *testing.T) {
	address := setup{token: token}.start(t)
	const size = 20 << 20
	for name, length := range map[string]string{
		"announced": fmt.Sprintf("Content-Length: %d", size),
		"chunked":   "Transfer-Encoding: chunked",
	} {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "POST /v1/convert HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n%s\r\n\r\n", token, length)
		if name == "chunked" {
			fmt.Fprintf(conn, "%x\r\n", size)
		}
		if _, err := io.CopyN(conn, zeroes{}, size); err != nil {
			t.Errorf("%s: cut off: %v", name, err)
			continue
		}
		if name == "chunked" {
			fmt.Fprint(conn, "\r\n0\r\n\r\n")
		}
		a := call{method: "POST"}.read(t, conn)
		if e := a.errorObject(t); a.status != 413 || e.Code != sandrone.RequestTooLarge {
			t.Errorf("%s: got %d %s", name, a.status, e.Code)
		}
	}
}

// announced sends a request of which only the length of the body is sent: the
// answer must not wait for the rest.
func announced(t *testing.T, address, method, path string, length int) answer {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n", method, path, token, length)
	return call{method: method}.read(t, conn)
}

type zeroes struct{}

func (zeroes) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
}

func TestAnswersOfAnySizeAreTheSameJSON(t *testing.T) {
	s := setup{fetch: func(_ context.Context, req fetch.Request) (*fetch.Response, error) {
		n := 0
		fmt.Sscanf(req.URL, "https://a.example/%d", &n)
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "trojan://p%%3C%%3E%%26%%22%%5C@192.0.2.1:443?sni=a.example.com#%%E4%%B8%%AD%%0A%d\n", i)
		}
		return &fetch.Response{Body: []byte(b.String())}, nil
	}}.server(t)
	for _, nodes := range []int{1, 200, 9000} {
		post := func(target string) map[string]any {
			body := fmt.Sprintf(`{"to_format":%q,"remote":{"url":"https://a.example/%d"}}`, target, nodes)
			w := httptest.NewRecorder()
			r := httptest.NewRequest("POST", "http://localhost/v1/convert", strings.NewReader(body))
			s.ServeHTTP(w, r)
			if w.Code != 200 {
				t.Fatalf("%d nodes: status %d: %s", nodes, w.Code, w.Body)
			}
			var v map[string]any
			if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil {
				t.Fatalf("%d nodes: %v", nodes, err)
			}
			// The members stand in an order of their own, so only their form is compared.
			again, _ := json.MarshalIndent(v["body"], "", "  ")
			if !bytes.Contains(w.Body.Bytes(), append([]byte(`  "body": `), again...)) {
				t.Errorf("%d nodes: body is not written as encoding/json writes it", nodes)
			}
			return v
		}
		v := post("json-nodes")
		var list []sandrone.Node
		if err := json.Unmarshal([]byte(v["body"].(string)), &list); err != nil || len(list) != nodes {
			t.Errorf("got %d nodes, want %d (%v)", len(list), nodes, err)
		}
	}
}
