package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

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

// setup is a server to test; zero members have working defaults.
type setup struct {
	token      string
	settings   func(*sandrone.Settings)
	fetch      fetchFunc
	store      *store.Store
	log        io.Writer
	extensions []mcp.Extension
}

// door is a running server.
type door struct {
	t       testing.TB
	address string // of the MCP endpoint
	engine  *engine.Engine
	token   string

	schemas func() map[string]*jsonschema.Resolved // of outputs, by tool
}

func (o setup) start(t testing.TB) *door {
	t.Helper()
	settings := sandrone.DefaultSettings()
	settings.PublicConvert.RequestsPerMinute = 0
	if o.settings != nil {
		o.settings(&settings)
	}
	if o.fetch == nil {
		o.fetch = func(context.Context, fetch.Request) (*fetch.Response, error) {
			return nil, sandrone.Errorf(sandrone.FetchFailed, "no network in tests")
		}
	}
	if o.store == nil {
		o.store = store.New(store.Memory(), store.Options{CheckSettings: engine.CheckSettings})
	}
	if o.log == nil {
		o.log = io.Discard
	}
	if err := o.store.Update(context.Background(), func(tx *store.Tx) error {
		_, err := tx.Settings().Put(settings, store.Precondition{})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	scripts := script.InProcess(script.Options{})
	t.Cleanup(func() { scripts.Close() })
	steps := processors.New(processors.Options{Scripts: engine.ScriptType()})
	metrics := server.NewMetrics()
	log := slog.New(slog.NewTextHandler(o.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	e, err := engine.New(engine.Options{
		Registry: formats.Registry(),
		Settings: settings,
		Store:    o.store,
		Steps:    steps,
		Scripts:  scripts,
		Logger:   log,
		Metrics:  metrics,
		Fetcher:  o.fetch,
		Getenv:   func(string) string { return "" },
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.New(server.Options{
		Engine:        e,
		Catalog:       catalog.New(formats.Registry(), steps),
		Token:         o.token,
		Logger:        log,
		Metrics:       metrics,
		MCPExtensions: o.extensions,
	})
	if err != nil {
		t.Fatal(err)
	}
	running := httptest.NewServer(s)
	t.Cleanup(running.Close)
	d := &door{t: t, address: running.URL + settings.MCP.Path, engine: e, token: o.token}
	d.schemas = sync.OnceValue(d.outputSchemas)
	return d
}

// request is one POST, and how it departs from a right one.
type request struct {
	method  string
	params  map[string]any
	id      string            // JSON; empty means 1
	header  map[string]string // set besides the right ones; "" removes one
	body    string            // in place of the message
	token   string            // in place of the server's
	without string            // a member of _meta that is left out
}

type response struct {
	status int
	header http.Header
	body   []byte
	ID     json.RawMessage `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
}

func goodMeta() map[string]any {
	return map[string]any{
		"io.modelcontextprotocol/protocolVersion":    mcp.Version,
		"io.modelcontextprotocol/clientInfo":         map[string]any{"name": "test", "version": "1"},
		"io.modelcontextprotocol/clientCapabilities": map[string]any{},
	}
}

func (r request) message(t testing.TB) []byte {
	if r.body != "" {
		return []byte(r.body)
	}
	params := map[string]any{"_meta": goodMeta()}
	for name, v := range r.params {
		params[name] = v
	}
	if meta, ok := params["_meta"].(map[string]any); ok {
		delete(meta, r.without)
	}
	if r.id == "" {
		r.id = "1"
	}
	text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": json.RawMessage("0"), "method": r.method, "params": params})
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Replace(text, []byte(`"id":0`), []byte(`"id":`+r.id), 1)
}

func (d *door) httpRequest(ctx context.Context, r request) *http.Request {
	d.t.Helper()
	req, err := http.NewRequestWithContext(ctx, "POST", d.address, bytes.NewReader(r.message(d.t)))
	if err != nil {
		d.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Mcp-Protocol-Version", mcp.Version)
	req.Header.Set("Mcp-Method", r.method)
	for _, member := range []string{"name", "uri"} {
		if name, ok := r.params[member].(string); ok {
			req.Header.Set("Mcp-Name", name)
		}
	}
	if t := r.token; t != "" {
		req.Header.Set("Authorization", "Bearer "+t)
	} else if d.token != "" {
		req.Header.Set("Authorization", "Bearer "+d.token)
	}
	for name, value := range r.header {
		if value == "" {
			req.Header.Del(name)
		} else {
			req.Header.Set(name, value)
		}
	}
	return req
}

// send posts a request.
func (d *door) send(r request) response {
	d.t.Helper()
	res, err := http.DefaultClient.Do(d.httpRequest(context.Background(), r))
	if err != nil {
		d.t.Fatal(err)
	}
	return d.read(res)
}

func (d *door) read(res *http.Response) response {
	d.t.Helper()
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		d.t.Fatal(err)
	}
	out := response{status: res.StatusCode, header: res.Header, body: body}
	if len(body) > 0 {
		if err := json.Unmarshal(body, &out); err != nil {
			d.t.Fatalf("%s is not JSON: %v", body, err)
		}
	}
	return out
}

// outcome is the result of a tool.
type outcome struct {
	Content []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"content"`
	Structured json.RawMessage `json:"structuredContent"`
	IsError    bool            `json:"isError"`
	ResultType string          `json:"resultType"`
}

// as decodes the structured content.
func (o outcome) as(t testing.TB, v any) {
	t.Helper()
	if err := json.Unmarshal(o.Structured, v); err != nil {
		t.Fatalf("%s: %v", o.Structured, err)
	}
}

func (o outcome) failure(t testing.TB) *sandrone.Error {
	t.Helper()
	var f struct{ Error *sandrone.Error }
	o.as(t, &f)
	if !o.IsError || f.Error == nil {
		t.Fatalf("got %s, want an error", o.Structured)
	}
	return f.Error
}

// call calls a tool and holds what comes back to what is published: one branch
// of the output schema, and the same JSON as text.
func (d *door) call(name string, args any) outcome {
	d.t.Helper()
	return d.callAs("", name, args)
}

func (d *door) callAs(token, name string, args any) outcome {
	d.t.Helper()
	if text, ok := args.(string); ok {
		args = json.RawMessage(text)
	}
	res := d.send(request{method: "tools/call", params: map[string]any{"name": name, "arguments": args}, token: token})
	if res.status != 200 || res.Error != nil {
		d.t.Fatalf("%s: got %d %s", name, res.status, res.body)
	}
	var out outcome
	if err := json.Unmarshal(res.Result, &out); err != nil {
		d.t.Fatal(err)
	}
	var value any
	if err := json.Unmarshal(out.Structured, &value); err != nil {
		d.t.Fatal(err)
	}
	if schema := d.schemas()[name]; schema == nil {
		d.t.Errorf("%s has no output schema", name)
	} else if err := schema.Validate(value); err != nil {
		d.t.Errorf("%s: %s is not of the output schema: %v", name, out.Structured, err)
	}
	if out.ResultType != "complete" || len(out.Content) != 1 || out.Content[0].Type != "text" {
		d.t.Fatalf("%s: got %s", name, res.Result)
	}
	if !out.IsError && !equalJSON(d.t, out.Content[0].Text, string(out.Structured)) {
		d.t.Errorf("%s: the text %s is not the structured content %s", name, out.Content[0].Text, out.Structured)
	}
	if out.IsError {
		if e := out.failure(d.t); out.Content[0].Text != string(e.Code)+": "+e.Message {
			d.t.Errorf("%s: got the text %q", name, out.Content[0].Text)
		}
	}
	return out
}

// must is call for a call that has to succeed.
func (d *door) must(name string, args any) outcome {
	d.t.Helper()
	out := d.call(name, args)
	if out.IsError {
		d.t.Fatalf("%s: %s", name, out.Structured)
	}
	return out
}

func equalJSON(t testing.TB, a, b string) bool {
	t.Helper()
	var x, y any
	for text, v := range map[string]*any{a: &x, b: &y} {
		if err := json.Unmarshal([]byte(text), v); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	return a == b || reflect.DeepEqual(x, y)
}

type toolInfo struct {
	Name         string             `json:"name"`
	Description  string             `json:"description"`
	InputSchema  *jsonschema.Schema `json:"inputSchema"`
	OutputSchema *jsonschema.Schema `json:"outputSchema"`
	Annotations  map[string]any     `json:"annotations"`
}

func (d *door) tools() []toolInfo {
	d.t.Helper()
	res := d.send(request{method: "tools/list"})
	var list struct{ Tools []toolInfo }
	if err := json.Unmarshal(res.Result, &list); err != nil {
		d.t.Fatalf("%s: %v", res.body, err)
	}
	return list.Tools
}

func (d *door) outputSchemas() map[string]*jsonschema.Resolved {
	d.t.Helper()
	all := make(map[string]*jsonschema.Resolved)
	for _, tool := range d.tools() {
		if tool.OutputSchema == nil {
			continue // not one of this program's
		}
		resolved, err := tool.OutputSchema.Resolve(nil)
		if err != nil {
			d.t.Fatalf("%s: %v", tool.Name, err)
		}
		all[tool.Name] = resolved
	}
	return all
}

// resource reads a resource that has to be there.
func (d *door) resource(uri string) json.RawMessage {
	d.t.Helper()
	res := d.send(request{method: "resources/read", params: map[string]any{"uri": uri}})
	var out struct {
		Contents []struct{ URI, MimeType, Text string }
	}
	if err := json.Unmarshal(res.Result, &out); err != nil || len(out.Contents) != 1 {
		d.t.Fatalf("%s: %d %s", uri, res.status, res.body)
	}
	c := out.Contents[0]
	if c.URI != uri || c.MimeType != "application/json" || !strings.HasPrefix(c.Text, "{") {
		d.t.Errorf("%s: got %+v", uri, c)
	}
	return json.RawMessage(c.Text)
}

// air stores the local subscription "air" with one node.
func (d *door) air() {
	d.t.Helper()
	d.must("sandrone_put_subscription", map[string]any{"name": "air", "type": "local", "content": link})
}

func (d *door) hello(content string) {
	d.t.Helper()
	d.must("sandrone_put_file", map[string]any{"name": "hello.txt", "kind": "static", "source": map[string]any{"type": "inline", "content": content}})
}

func (r response) code() string {
	if r.Error == nil {
		return fmt.Sprint(r.status)
	}
	return fmt.Sprint(r.status, " ", r.Error.Code)
}
