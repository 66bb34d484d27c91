package mcp_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/engine"
	"github.com/sandrone-gateway/sandrone/fetch"
	"github.com/sandrone-gateway/sandrone/store"
)

// all are the tools, by what they touch.
var (
	reading  = []string{"sandrone_inspect", "sandrone_list_resources"}
	reaching = []string{"sandrone_convert", "sandrone_get_file", "sandrone_get_subscription_traffic", "sandrone_preview_subscription", "sandrone_render_subscription"}
	managing = []string{"sandrone_delete_file", "sandrone_delete_subscription", "sandrone_put_file", "sandrone_put_subscription"}
)

func TestToolsAreListedWithWhatTheyTouch(t *testing.T) {
	d := setup{}.start(t)
	res := d.send(request{method: "tools/list"})
	if len(res.body) >= 60<<10 {
		t.Errorf("the list has %d bytes", len(res.body))
	}
	want := slices.Sorted(slices.Values(slices.Concat(reading, reaching, managing)))
	var got []string
	for _, tool := range d.tools() {
		got = append(got, tool.Name)
		hints := map[string]any{"readOnlyHint": true, "openWorldHint": slices.Contains(reaching, tool.Name)}
		if slices.Contains(managing, tool.Name) {
			hints = map[string]any{"readOnlyHint": false, "destructiveHint": true, "idempotentHint": true, "openWorldHint": false}
		}
		for hint, value := range hints {
			if tool.Annotations[hint] != value {
				t.Errorf("%s: %s is %v, want %v", tool.Name, hint, tool.Annotations[hint], value)
			}
		}
		if tool.Description == "" || strings.Contains(tool.Description, "undo") || strings.Contains(tool.Description, "revision") {
			t.Errorf("%s: %q", tool.Name, tool.Description)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestInputSchemasAreClosedAndChecked holds that the published schemas have no
// word that the checker would pass over.
func TestInputSchemasAreClosedAndChecked(t *testing.T) {
	known := []string{"$defs", "$ref", "$schema", "title", "description", "examples", "default", "readOnly", "type", "enum", "pattern", "format", "minLength",
		"minimum", "maximum", "minItems", "maxItems", "items", "properties", "required", "additionalProperties", "oneOf", "dependentRequired"}
	var walk func(path string, v map[string]any)
	walk = func(path string, v map[string]any) {
		for word, value := range v {
			if !slices.Contains(known, word) {
				t.Errorf("%s: nobody checks %s", path, word)
			}
			switch value := value.(type) {
			case map[string]any:
				if word == "properties" || word == "$defs" {
					for name, member := range value {
						if m, ok := member.(map[string]any); ok {
							walk(path+"."+name, m)
						}
					}
				} else if word == "items" || word == "additionalProperties" {
					walk(path+"."+word, value)
				}
			}
		}
		if v["properties"] != nil && v["additionalProperties"] != false {
			t.Errorf("%s is open", path)
		}
	}
	for _, tool := range (setup{}).start(t).tools() {
		text, err := json.Marshal(tool.InputSchema)
		if err != nil {
			t.Fatal(err)
		}
		var v map[string]any
		if err := json.Unmarshal(text, &v); err != nil {
			t.Fatal(err)
		}
		walk(tool.Name, v)
		if v["type"] != "object" {
			t.Errorf("%s takes %v", tool.Name, v["type"])
		}
		if _, err := tool.InputSchema.Resolve(nil); err != nil {
			t.Errorf("%s: %v", tool.Name, err)
		}
	}
}

func TestOutputSchemasHaveTwoBranchesThatNeverBothMatch(t *testing.T) {
	for _, tool := range (setup{}).start(t).tools() {
		s := tool.OutputSchema
		if s.Type != "object" || len(s.OneOf) != 2 {
			t.Errorf("%s: got %v", tool.Name, s)
			continue
		}
		for i, branch := range s.OneOf {
			if branch.AdditionalProperties == nil || branch.AdditionalProperties.Not == nil {
				t.Errorf("%s: branch %d is open", tool.Name, i)
			}
		}
		if !slices.Contains(s.OneOf[1].Required, "error") || slices.Contains(s.OneOf[0].Required, "error") {
			t.Errorf("%s: the branches may both match", tool.Name)
		}
		_, hasReport := s.OneOf[1].Properties["report"]
		if hasReport != (tool.Name == "sandrone_convert") {
			t.Errorf("%s: an error has a report: %v", tool.Name, hasReport)
		}
		resolved, err := s.Resolve(nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := resolved.Validate(map[string]any{"error": map[string]any{"code": "not_found", "message": "x"}}); err != nil {
			t.Errorf("%s: %v", tool.Name, err)
		}
	}
}

func TestArgumentsAreHeldToTheirSchema(t *testing.T) {
	d := setup{}.start(t)
	d.air()
	for _, row := range []struct{ tool, args, field string }{
		{"sandrone_inspect", `{"x":1}`, "x"},
		{"sandrone_list_resources", `{"limit":0}`, "limit"},
		{"sandrone_list_resources", `{"limit":201}`, "limit"},
		{"sandrone_list_resources", `{"limit":1.5}`, "limit"},
		{"sandrone_list_resources", `{"limit":"1"}`, "limit"},
		{"sandrone_list_resources", `{"limit":null}`, "limit"},
		{"sandrone_list_resources", `{"kind":"share"}`, "kind"},
		{"sandrone_list_resources", `{"kind":"file","kind":"file"}`, "kind"},
		{"sandrone_convert", `{}`, "to_format"},
		{"sandrone_convert", `{"to_format":"uri-list"}`, ""},
		{"sandrone_convert", `{"to_format":"uri-list","content":"x","from_format":"uri","remote":{"url":"http://a.example"}}`, ""},
		{"sandrone_convert", `{"to_format":"uri-list","content":"x"}`, "from_format"},
		{"sandrone_convert", `{"to_format":"nothing","from_format":"uri","content":"x"}`, "to_format"},
		{"sandrone_convert", `{"to_format":"uri-list@1","from_format":"uri","content":"x"}`, "to_format"},
		{"sandrone_convert", `{"to_format":"sing-box-outbounds@0.1","from_format":"uri","content":"x"}`, "to_format"},
		{"sandrone_convert", `{"to_format":"uri-list","from_format":"nothing","content":"x"}`, "from_format"},
		{"sandrone_convert", `{"to_format":"uri-list","remote":{"url":"http://a.example","secret":"sesame"}}`, "remote.secret"},
		{"sandrone_convert", `{"to_format":"uri-list","remote":{"timeout_ms":1}}`, "remote.url"},
		{"sandrone_convert", `{"to_format":"uri-list","remote":{"url":"http://a.example","timeout_ms":-1}}`, "remote.timeout_ms"},
		{"sandrone_convert", `{"to_format":"uri-list","remote_batch":{"sources":[]}}`, "remote_batch.sources"},
		{"sandrone_convert", `{"to_format":"uri-list","remote_batch":{"sources":[{"url":"http://a.example"}],"concurrency":9}}`, "remote_batch.concurrency"},
		{"sandrone_convert", `{"to_format":"uri-list","remote_batch":{"sources":[{"url":"http://a.example","x":1}]}}`, "remote_batch.sources[0].x"},
		{"sandrone_convert", `{"to_format":"uri-list","from_format":"uri","content":"x","parse_processors":[{"params":{}}]}`, "parse_processors[0].type"},
		{"sandrone_convert", `{"to_format":"uri-list","from_format":"uri","content":"x","parse_processors":[{"type":"sort","stage":"x"}]}`, "parse_processors[0].stage"},
		{"sandrone_convert", `{"to_format":"uri-list","from_format":"uri","content":"x","render_processors":[{"type":"sort","params":"{}"}]}`, "render_processors[0].params"},
		{"sandrone_convert", `{"to_format":"uri-list","from_format":"uri","content":"x","meta":{"a":1}}`, "meta.a"},
		{"sandrone_preview_subscription", `{}`, "name"},
		{"sandrone_preview_subscription", `{"name":""}`, "name"},
		{"sandrone_preview_subscription", `{"name":" "}`, "name"},
		{"sandrone_preview_subscription", `{"name":"a/b"}`, "name"},
		{"sandrone_preview_subscription", `{"name":"air","args":{"a":true}}`, "args.a"},
		{"sandrone_preview_subscription", `{"name":"air","refresh":true}`, "refresh"},
		{"sandrone_render_subscription", `{"name":"air"}`, "format"},
		{"sandrone_render_subscription", `{"name":"..","format":"uri-list"}`, "name"},
		{"sandrone_get_file", `{"file":"..\\x"}`, "file"},
		{"sandrone_get_file", `{"file":"x","mode":"all"}`, "mode"},
		{"sandrone_get_file", `{"name":"x"}`, "file"},
		{"sandrone_delete_file", `{"name":"a/b"}`, "name"},
		{"sandrone_delete_subscription", `{"name":"."}`, "name"},
		{"sandrone_put_subscription", `{"name":"b"}`, "type"},
		{"sandrone_put_subscription", `{"name":"b","type":"local","colour":1}`, "colour"},
		{"sandrone_put_subscription", `{"name":"b","type":"nothing"}`, "type"},
		{"sandrone_put_subscription", `{"name":"b","type":"local","render_cache_ttl_seconds":-1}`, "render_cache_ttl_seconds"},
		{"sandrone_put_subscription", `{"name":"b","type":"collection","inputs":[{"name":"x","type":"y"}]}`, "inputs[0].type"},
		{"sandrone_put_subscription", `{"name":"a/b","type":"local"}`, "name"},
		{"sandrone_put_file", `{"name":"b","kind":"static"}`, "source"},
		{"sandrone_put_file", `{"name":"b","kind":"x","source":{}}`, "kind"},
		{"sandrone_put_file", `{"name":"b","kind":"static","source":{"type":"inline","path":"/etc/passwd"}}`, "source.path"},
		{"sandrone_put_file", `{"name":"b","kind":"mihomo","source":{},"config":{"settings":"{}"}}`, "config.settings"},
	} {
		out := d.call(row.tool, row.args)
		if !out.IsError {
			t.Errorf("%s %s: got %s", row.tool, row.args, out.Structured)
			continue
		}
		if e := out.failure(t); e.Code != sandrone.InvalidArgument || e.Field != row.field {
			t.Errorf("%s %s: got %s at %q, want at %q", row.tool, row.args, e, e.Field, row.field)
		}
	}
}

func TestStoredDefinitionsAreWrittenReadAndDeleted(t *testing.T) {
	d := setup{}.start(t)
	const name = "air é%"
	uri := "sandrone://subscriptions/air%20%C3%A9%25"
	var saved struct {
		OK  bool
		URI string `json:"resource_uri"`
	}
	d.must("sandrone_put_subscription", map[string]any{"name": name, "type": "local", "content": link, "created_at": "2001-01-01T00:00:00Z", "meta": map[string]string{"a": "b"}}).as(t, &saved)
	if !saved.OK || saved.URI != uri {
		t.Errorf("got %+v", saved)
	}
	var s sandrone.Subscription
	if err := json.Unmarshal(d.resource(uri), &s); err != nil || s.Name != name || s.Content != link || s.CreatedAt.Year() == 2001 {
		t.Errorf("got %v %+v", err, s)
	}
	d.must("sandrone_put_subscription", map[string]any{"name": name, "type": "local", "content": "x"}) // overwrites the whole
	if err := json.Unmarshal(d.resource(uri), &s); err != nil || s.Content != "x" {
		t.Errorf("got %v %+v", err, s)
	}
	before := string(d.resource(uri))
	d.must("sandrone_put_subscription", map[string]any{"name": name, "type": "local", "content": "x"})
	if after := string(d.resource(uri)); after != before {
		t.Errorf("an equal put changed %s to %s", before, after)
	}
	var gone struct{ OK, Deleted bool }
	d.must("sandrone_delete_subscription", map[string]any{"name": name}).as(t, &gone)
	if !gone.OK || !gone.Deleted {
		t.Errorf("got %+v", gone)
	}
	e := d.call("sandrone_delete_subscription", map[string]any{"name": name}).failure(t)
	if e.Code != sandrone.NotFound || e.Message != "requested resource was not found" || e.ResourceKind != "subscription" || e.ResourceName != name {
		t.Errorf("got %+v", e)
	}
	if res := d.send(request{method: "resources/read", params: map[string]any{"uri": uri}}); res.code() != "400 -32602" || !strings.Contains(string(res.Error.Data), `"not_found"`) {
		t.Errorf("got %s", res.body)
	}

	d.hello("hi")
	var file struct {
		Body        *string
		ContentType string `json:"content_type"`
		Cached      *bool
		Source      *struct{ Name, Kind, Content string }
		Spec        *sandrone.FileSpec
		URI         string `json:"resource_uri"`
		Report      *sandrone.Report
	}
	d.must("sandrone_get_file", `{"file":"hello.txt"}`).as(t, &file)
	if file.Body == nil || *file.Body != "hi" || file.Report == nil || file.Report.Kind != "file" || file.Cached == nil || file.Spec != nil || file.Source != nil {
		t.Errorf("render: got %+v", file)
	}
	source := d.must("sandrone_get_file", `{"file":"hello.txt","mode":"source"}`)
	source.as(t, &file)
	if file.Source == nil || file.Source.Content != "hi" || file.Source.Kind != "static" || strings.Contains(string(source.Structured), `"report"`) {
		t.Errorf("source: got %s", source.Structured)
	}
	spec := d.must("sandrone_get_file", `{"file":"hello.txt","mode":"spec"}`)
	spec.as(t, &file)
	if file.Spec == nil || file.Spec.Name != "hello.txt" || file.URI != "sandrone://files/hello.txt" || strings.Contains(string(spec.Structured), `"cached"`) {
		t.Errorf("spec: got %s", spec.Structured)
	}
	d.must("sandrone_delete_file", `{"name":"hello.txt"}`)
	if e := d.call("sandrone_get_file", `{"file":"hello.txt"}`).failure(t); e.Code != sandrone.NotFound || e.ResourceName != "hello.txt" {
		t.Errorf("got %+v", e)
	}
}

func TestClientFilesAreMade(t *testing.T) {
	d := setup{}.start(t)
	d.air()
	file := `{"name":"phone.yaml","kind":"mihomo","source":{},"config":{"subscriptions":["air"],"settings":{}}`
	var tried struct{ Nodes *engine.NodeCounts }
	d.must("sandrone_put_file", file+`,"dry_run":true}`).as(t, &tried)
	if tried.Nodes == nil || tried.Nodes.After != 1 {
		t.Errorf("got %+v", tried)
	}
	d.must("sandrone_put_file", file+`}`)
	var got struct{ Body string }
	d.must("sandrone_get_file", `{"file":"phone.yaml","target":"mihomo"}`).as(t, &got)
	if !strings.Contains(got.Body, "hunter2") {
		t.Errorf("got %s", got.Body)
	}
	e := d.call("sandrone_put_file", `{"name":"x","kind":"mihomo","source":{},"config":{"settings":{"groups":[{"name":1}]}}}`).failure(t)
	if e.Code != sandrone.InvalidArgument || !strings.HasPrefix(e.Field, "config.settings.groups[0]") {
		t.Errorf("got %s at %s", e, e.Field)
	}
	for _, kind := range []string{"mihomo", "sing-box", "shadowrocket"} {
		var about struct {
			Schema json.RawMessage `json:"settings_schema"`
		}
		if err := json.Unmarshal(d.resource("sandrone://schemas/file-kinds/"+kind), &about); err != nil || len(about.Schema) < 100 {
			t.Errorf("%s: got %s, %v", kind, about.Schema, err)
		}
	}
}

func TestDryRunsStoreNothing(t *testing.T) {
	d := setup{}.start(t)
	d.air()
	before := string(d.resource("sandrone://subscriptions/air"))
	var out struct {
		OK     bool
		DryRun bool `json:"dry_run"`
		Exists bool
		Diff   []engine.Change
		Nodes  *engine.NodeCounts
		Bytes  *engine.ByteCounts
		Error  *sandrone.Error
		URI    string `json:"resource_uri"`
	}
	d.must("sandrone_put_subscription", map[string]any{"name": "air", "type": "local", "content": link + "\n" + strings.Replace(link, "#one", "#two", 1), "dry_run": true}).as(t, &out)
	if !out.OK || !out.DryRun || !out.Exists || len(out.Diff) != 1 || out.Diff[0].Path != "/content" || out.Nodes == nil || *out.Nodes.Before != 1 || out.Nodes.After != 2 || out.URI != "sandrone://subscriptions/air" {
		t.Errorf("got %+v", out)
	}
	out.Error, out.Nodes = nil, nil
	d.must("sandrone_put_subscription", map[string]any{"name": "air", "type": "remote", "remote": map[string]any{"url": "http://a.example/sub"}, "dry_run": true}).as(t, &out)
	if out.Error == nil || out.Error.Code != sandrone.FetchFailed || out.Nodes != nil {
		t.Errorf("without a held copy: got %+v", out)
	}
	if after := string(d.resource("sandrone://subscriptions/air")); after != before {
		t.Errorf("a dry run changed %s to %s", before, after)
	}
	d.must("sandrone_put_file", `{"name":"f","kind":"static","source":{"type":"inline","content":"four"},"dry_run":true}`).as(t, &out)
	if out.Exists || out.Bytes == nil || out.Bytes.After != 4 {
		t.Errorf("got %+v", out)
	}
	if e := d.call("sandrone_put_file", `{"name":"f","kind":"static","source":{},"dry_run":true}`).failure(t); e.Code != sandrone.InvalidArgument {
		t.Errorf("got %+v", e)
	}
	if e := d.call("sandrone_get_file", `{"file":"f"}`).failure(t); e.Code != sandrone.NotFound {
		t.Errorf("got %+v", e)
	}
}

func TestReadTokensMayNotManage(t *testing.T) {
	d := setup{token: token}.start(t)
	d.air()
	d.hello("hi")
	secret := map[string]string{}
	for _, scope := range []string{sandrone.ScopeRead, sandrone.ScopeWrite} {
		_, text, err := d.engine.CreateToken(context.Background(), sandrone.Token{Name: scope, Scope: scope})
		if err != nil {
			t.Fatal(err)
		}
		secret[scope] = text
	}
	calls := map[string]string{
		"sandrone_put_subscription":    `{"name":"air","type":"local","content":"x","dry_run":true}`,
		"sandrone_put_file":            `{"bad":1}`,
		"sandrone_delete_subscription": `{"name":"air"}`,
		"sandrone_delete_file":         `{"name":"hello.txt"}`,
	}
	for tool, args := range calls {
		if e := d.callAs(secret["read"], tool, args).failure(t); e.Code != sandrone.Forbidden {
			t.Errorf("%s: got %+v", tool, e)
		}
	}
	if out := d.callAs(secret["read"], "sandrone_render_subscription", `{"name":"air","format":"uri-list"}`); out.IsError {
		t.Errorf("got %s", out.Structured)
	}
	calls["sandrone_put_file"] = `{"name":"hello.txt","kind":"static","source":{"type":"inline","content":"x"}}`
	for _, tool := range slices.Backward(slices.Sorted(func(yield func(string) bool) {
		for tool := range calls {
			if !yield(tool) {
				return
			}
		}
	})) { // puts before deletes
		if out := d.callAs(secret["write"], tool, calls[tool]); out.IsError {
			t.Errorf("%s: got %s", tool, out.Structured)
		}
	}
}

func TestPagesFollowWhatIsStored(t *testing.T) {
	d := setup{}.start(t)
	for i := range 5 {
		d.must("sandrone_put_subscription", map[string]any{"name": fmt.Sprint("s", i), "type": "local", "content": link})
		d.must("sandrone_put_file", map[string]any{"name": fmt.Sprint("f", i), "kind": "static", "source": map[string]any{"type": "inline", "content": "x"}})
	}
	type page struct {
		Items []struct{ Kind, Name, Type, Target, Warning string }
		Next  string `json:"next_cursor"`
	}
	list := func(d *door, args map[string]any) (names []string, next string) {
		var p page
		d.must("sandrone_list_resources", args).as(t, &p)
		for _, i := range p.Items {
			names = append(names, i.Name)
		}
		return names, p.Next
	}
	all, next := list(d, map[string]any{})
	if want := []string{"f0", "f1", "f2", "f3", "f4", "s0", "s1", "s2", "s3", "s4"}; !slices.Equal(all, want) || next != "" {
		t.Errorf("got %v, %q", all, next)
	}
	first, next := list(d, map[string]any{"limit": 4})
	d.must("sandrone_delete_file", `{"name":"f3"}`) // the last of the page, and one of the next
	d.must("sandrone_delete_file", `{"name":"f4"}`)
	d.must("sandrone_put_file", `{"name":"f1x","kind":"static","source":{"type":"inline","content":"x"}}`)
	second, last := list(d, map[string]any{"limit": 200, "cursor": next})
	if !slices.Equal(first, []string{"f0", "f1", "f2", "f3"}) || !slices.Equal(second, []string{"s0", "s1", "s2", "s3", "s4"}) || last != "" {
		t.Errorf("got %v then %v, %q", first, second, last)
	}
	if names, _ := list(d, map[string]any{"kind": "subscription", "limit": 2}); !slices.Equal(names, []string{"s0", "s1"}) {
		t.Errorf("got %v", names)
	}

	// Another process takes the cursor too.
	other := setup{}.start(t)
	other.air()
	if names, _ := list(other, map[string]any{"cursor": next}); !slices.Equal(names, []string{"air"}) {
		t.Errorf("got %v", names)
	}
}

func TestCursorsAreBoundToTheirKindAndMayNotBeAltered(t *testing.T) {
	d := setup{}.start(t)
	for i := range 3 {
		d.must("sandrone_put_subscription", map[string]any{"name": fmt.Sprint("s", i), "type": "local", "content": link})
	}
	cursor := func(args string) string {
		var p struct {
			Next string `json:"next_cursor"`
		}
		d.must("sandrone_list_resources", args).as(t, &p)
		return p.Next
	}
	all, bound := cursor(`{"limit":1}`), cursor(`{"limit":1,"kind":"subscription"}`)
	plain, err := base64.RawURLEncoding.DecodeString(all)
	if err != nil {
		t.Fatal(err)
	}
	altered := base64.RawURLEncoding.EncodeToString([]byte(strings.Replace(string(plain), "s0", "s1", 1)))
	for _, row := range []struct{ cursor, kind string }{
		{all, "subscription"}, {bound, ""}, {bound, "file"}, {altered, ""}, {all[1:], ""}, {all + "A", ""}, {"x", ""}, {"=", ""},
		{base64.RawURLEncoding.EncodeToString([]byte(`{}`)), ""}, {base64.RawURLEncoding.EncodeToString([]byte(`null`)), ""},
	} {
		args := map[string]any{"cursor": row.cursor}
		if row.kind != "" {
			args["kind"] = row.kind
		}
		e := d.call("sandrone_list_resources", args).failure(t)
		if e.Code != sandrone.InvalidArgument || e.Field != "cursor" || !strings.HasPrefix(e.Message, "resource cursor is invalid") {
			t.Errorf("%q with kind %q: got %+v", row.cursor, row.kind, e)
		}
	}
	d.must("sandrone_list_resources", map[string]any{"cursor": bound, "kind": "subscription", "limit": 200})
}

func TestBodiesOverTheLimitAreLeftOutWhole(t *testing.T) {
	const text = "0123456789"
	for _, row := range []struct {
		limit   int
		omitted bool
	}{{10, false}, {9, true}} {
		d := setup{settings: func(s *sandrone.Settings) { s.MCP.MaxOutputBytes = row.limit }}.start(t)
		d.hello(text)
		d.air()
		type answer struct {
			Body    *string
			Omitted *bool `json:"body_omitted"`
			Bytes   *int  `json:"body_bytes"`
			Max     *int  `json:"max_output_bytes"`
			Source  struct{ Content string }
		}
		var got answer
		d.must("sandrone_get_file", `{"file":"hello.txt"}`).as(t, &got)
		if row.omitted {
			if got.Body != nil || got.Omitted == nil || !*got.Omitted || *got.Bytes != len(text) || *got.Max != row.limit {
				t.Errorf("limit %d: got %+v", row.limit, got)
			}
		} else if got.Body == nil || *got.Body != text || got.Omitted != nil || got.Bytes != nil || got.Max != nil {
			t.Errorf("limit %d: got %+v", row.limit, got)
		}
		for tool, args := range map[string]string{
			"sandrone_convert":             `{"to_format":"uri-list","from_format":"uri-list","content":"` + link + `"}`,
			"sandrone_render_subscription": `{"name":"air","format":"uri-list"}`,
		} {
			var got answer
			d.must(tool, args).as(t, &got)
			if got.Body != nil || got.Omitted == nil || *got.Bytes <= row.limit || *got.Max != row.limit {
				t.Errorf("%s: got %+v", tool, got)
			}
		}
		got = answer{}
		d.must("sandrone_get_file", `{"file":"hello.txt","mode":"source"}`).as(t, &got)
		if got.Source.Content != text {
			t.Errorf("the source is limited: %+v", got)
		}
		var items struct{ Items []any }
		d.must("sandrone_list_resources", `{}`).as(t, &items)
		if len(items.Items) != 2 {
			t.Errorf("something was made besides: %v", items)
		}
	}
}

// sources answers by the path of the address.
func sources(ctx context.Context, req fetch.Request) (*fetch.Response, error) {
	switch {
	case strings.Contains(req.URL, "/good"):
		return &fetch.Response{Body: []byte(link), Status: 200}, nil
	case strings.Contains(req.URL, "/slow"):
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return nil, sandrone.Errorf(sandrone.FetchFailed, "the server answered with 500")
}

func TestBatchesTellOfEachSource(t *testing.T) {
	d := setup{fetch: sources}.start(t)
	batch := func(paths ...string) outcome {
		var list []any
		for _, p := range paths {
			list = append(list, map[string]any{"url": "http://a.example" + p + "?token=sesame"})
		}
		return d.call("sandrone_convert", map[string]any{"to_format": "uri-list", "remote_batch": map[string]any{"sources": list}})
	}
	var got struct {
		Body   *string
		Report sandrone.Report
		Error  *sandrone.Error
	}
	out := batch("/good", "/bad")
	out.as(t, &got)
	if out.IsError || got.Report.Status != sandrone.StatusPartial || len(got.Report.SourceResults) != 2 || got.Body == nil {
		t.Errorf("got %s", out.Structured)
	}
	got.Body = nil
	out = batch("/bad", "/bad2")
	out.as(t, &got)
	if !out.IsError || got.Error == nil || got.Error.Code != sandrone.FetchFailed || got.Report.Status != sandrone.StatusFailed || len(got.Report.SourceResults) != 2 || got.Body != nil {
		t.Errorf("got %s", out.Structured)
	}
	if strings.Contains(string(out.Structured), "sesame") {
		t.Errorf("a query is shown: %s", out.Structured)
	}
}

func TestErrorsShowNeitherSecretsNorPaths(t *testing.T) {
	dir := t.TempDir()
	s := store.Open(dir, store.Options{CheckSettings: engine.CheckSettings})
	if err := s.Create(context.Background()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	d := setup{token: token, store: s, fetch: sources}.start(t)
	d.must("sandrone_put_subscription", `{"name":"air","type":"remote","remote":{"url":"http://user:sesame@a.example/bad?token=sesame"}}`)
	d.must("sandrone_put_subscription", `{"name":"script","type":"local","content":"`+link+`","processors":[{"type":"script","stage":"nodes","params":{"source":{"type":"inline","content":"throw new Error('sesame')"}}}]}`)
	var seen []string
	for _, call := range [][2]string{
		{"sandrone_preview_subscription", `{"name":"air"}`},
		{"sandrone_render_subscription", `{"name":"air","format":"uri-list"}`},
		{"sandrone_get_subscription_traffic", `{"name":"air"}`},
		{"sandrone_convert", `{"to_format":"uri-list","remote":{"url":"http://user:sesame@a.example/bad?token=sesame"}}`},
		{"sandrone_convert", `{"to_format":"uri-list","from_format":"uri","content":"trojan://sesame@"}`},
		{"sandrone_get_file", `{"file":"nothing"}`},
	} {
		out := d.call(call[0], call[1])
		out.failure(t)
		seen = append(seen, string(out.Structured), out.Content[0].Text)
	}
	if err := s.Close(); err != nil { // from here on nothing can be read
		t.Fatal(err)
	}
	for _, call := range [][2]string{
		{"sandrone_inspect", `{}`}, {"sandrone_list_resources", `{}`}, {"sandrone_get_file", `{"file":"x"}`},
		{"sandrone_put_subscription", `{"name":"air","type":"local"}`}, {"sandrone_delete_file", `{"name":"x"}`},
	} {
		out := d.call(call[0], call[1])
		if e := out.failure(t); e.Code != sandrone.InternalError || e.Message != "tool execution failed" {
			t.Errorf("%s: got %+v", call[0], e)
		}
		seen = append(seen, string(out.Structured), out.Content[0].Text)
	}
	res := d.send(request{method: "resources/read", params: map[string]any{"uri": "sandrone://files/x"}})
	if res.Error == nil || res.Error.Code != -32603 || !strings.Contains(string(res.Error.Data), `"internal_error"`) {
		t.Errorf("got %s", res.body)
	}
	seen = append(seen, string(res.body))
	for _, text := range seen {
		for _, word := range []string{"sesame", dir, filepath.Base(dir), "sandrone.db", token} {
			if strings.Contains(text, word) {
				t.Errorf("%q is in %s", word, text)
			}
		}
	}
}

func TestAClosedRequestEndsWhatItStarted(t *testing.T) {
	started, ended := make(chan struct{}), make(chan struct{})
	d := setup{fetch: func(ctx context.Context, _ fetch.Request) (*fetch.Response, error) {
		close(started)
		<-ctx.Done()
		close(ended)
		return nil, ctx.Err()
	}}.start(t)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-started
		cancel()
	}()
	req := d.httpRequest(ctx, request{method: "tools/call", params: map[string]any{"name": "sandrone_convert", "arguments": map[string]any{"to_format": "uri-list", "remote": map[string]any{"url": "http://a.example/slow"}}}})
	if res, err := http.DefaultClient.Do(req); err == nil {
		res.Body.Close()
		t.Errorf("got an answer: %d", res.StatusCode)
	}
	<-ended
}

// lineFunc is called with every line of a log.
type lineFunc func(line string)

func (f lineFunc) Write(line []byte) (int, error) {
	f(string(line))
	return len(line), nil
}

func TestAClosedRequestEndsItsScript(t *testing.T) {
	started, ended := make(chan struct{}), make(chan struct{})
	d := setup{
		fetch: func(context.Context, fetch.Request) (*fetch.Response, error) { // asked for by the script, which then runs on
			close(started)
			return &fetch.Response{Body: []byte(link), Status: 200}, nil
		},
		log: lineFunc(func(line string) {
			if strings.Contains(line, "http request completed") && strings.Contains(line, "path=/mcp") {
				close(ended)
			}
		}),
	}.start(t)
	for _, s := range []*sandrone.Subscription{
		{Name: "far", Type: "remote", Remote: &sandrone.RemoteInput{URL: "http://a.example/far"}},
		{Name: "endless", Type: "local", Content: link, Processors: []sandrone.ProcessorSpec{{Type: "script", Stage: sandrone.NodesStage, Params: json.RawMessage(
			`{"source":{"type":"inline","content":"function main(input, api) { api.subscription.produce('far'); for (;;) {} }"},"timeout_ms":20000}`)}}},
	} {
		if _, err := d.engine.PutSubscription(context.Background(), s, store.Precondition{}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-started
		cancel()
	}()
	req := d.httpRequest(ctx, request{method: "tools/call", params: map[string]any{"name": "sandrone_preview_subscription", "arguments": map[string]any{"name": "endless"}}})
	if res, err := http.DefaultClient.Do(req); err == nil {
		text, _ := io.ReadAll(res.Body)
		res.Body.Close()
		t.Fatalf("got an answer: %d %s", res.StatusCode, text)
	}
	<-ended
	res, err := http.Get(strings.TrimSuffix(d.address, "/mcp") + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || !strings.Contains(string(text), "sandrone_mcp_calls_total") || strings.Contains(string(text), `sandrone_script_runs_total{result="timeout"}`) {
		t.Errorf("the script ran until its own limit: %v\n%s", err, text)
	}
}

func TestManyCallsAtOnceLoseNothing(t *testing.T) {
	d := setup{}.start(t)
	d.tools() // the first request makes the server
	var work sync.WaitGroup
	for i := range 200 {
		work.Go(func() {
			name := fmt.Sprintf("node-%d", i)
			out := d.call("sandrone_convert", map[string]any{"to_format": "json-nodes", "from_format": "uri-list", "content": strings.Replace(link, "#one", "#"+name, 1)})
			var got struct{ Body string }
			if err := json.Unmarshal(out.Structured, &got); err != nil || !strings.Contains(got.Body, `"`+name+`"`) {
				t.Errorf("%s: got %s", name, out.Structured)
			}
		})
	}
	work.Wait()
}

func TestTheOfficialClientCallsEveryTool(t *testing.T) {
	d := setup{fetch: sources, token: token}.start(t)
	ctx := context.Background()
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(ctx, &sdk.StreamableClientTransport{Endpoint: d.address, HTTPClient: &http.Client{Transport: bearer{}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	tools, err := session.ListTools(ctx, nil)
	if err != nil || len(tools.Tools) != 11 {
		t.Fatalf("got %v, %v", tools, err)
	}
	for _, call := range [][2]string{
		{"sandrone_put_subscription", `{"name":"air","type":"remote","remote":{"url":"http://a.example/good"}}`},
		{"sandrone_put_file", `{"name":"hello.txt","kind":"static","source":{"type":"inline","content":"hi"}}`},
		{"sandrone_inspect", `{}`},
		{"sandrone_list_resources", `{"limit":1}`},
		{"sandrone_convert", `{"to_format":"uri-list","from_format":"auto","content":"` + link + `"}`},
		{"sandrone_preview_subscription", `{"name":"air"}`},
		{"sandrone_render_subscription", `{"name":"air","format":"mihomo-proxies"}`},
		{"sandrone_get_subscription_traffic", `{"name":"air"}`},
		{"sandrone_get_file", `{"file":"hello.txt"}`},
		{"sandrone_delete_subscription", `{"name":"air"}`},
		{"sandrone_delete_file", `{"name":"hello.txt"}`},
	} {
		out, err := session.CallTool(ctx, &sdk.CallToolParams{Name: call[0], Arguments: json.RawMessage(call[1])})
		if err != nil || out.IsError {
			t.Errorf("%s: got %+v, %v", call[0], out, err)
		}
	}
	resources, err := session.ListResources(ctx, nil)
	if err != nil || len(resources.Resources) != 7 {
		t.Fatalf("got %v, %v", resources, err)
	}
	for _, r := range resources.Resources {
		if out, err := session.ReadResource(ctx, &sdk.ReadResourceParams{URI: r.URI}); err != nil || !json.Valid([]byte(out.Contents[0].Text)) {
			t.Errorf("%s: %v", r.URI, err)
		}
	}
	if templates, err := session.ListResourceTemplates(ctx, nil); err != nil || len(templates.ResourceTemplates) != 5 {
		t.Errorf("got %v, %v", templates, err)
	}
	prompts, err := session.ListPrompts(ctx, nil)
	if err != nil || len(prompts.Prompts) != 5 {
		t.Fatalf("got %v, %v", prompts, err)
	}
	for _, p := range prompts.Prompts {
		if out, err := session.GetPrompt(ctx, &sdk.GetPromptParams{Name: p.Name, Arguments: promptArguments[p.Name]}); err != nil || len(out.Messages) != 1 {
			t.Errorf("%s: %v", p.Name, err)
		}
	}
}

// bearer adds the token of tests to each request.
type bearer struct{}

func (bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+token)
	return http.DefaultTransport.RoundTrip(r)
}

func TestCallsAreCounted(t *testing.T) {
	d := setup{}.start(t)
	d.must("sandrone_inspect", `{}`)
	d.call("sandrone_inspect", `{"x":1}`)
	res, err := http.Get(strings.TrimSuffix(d.address, "/mcp") + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(res.Body)
	for _, line := range []string{`sandrone_mcp_calls_total{result="ok",tool="sandrone_inspect"} 1`, `sandrone_mcp_calls_total{result="error",tool="sandrone_inspect"} 1`} {
		if !strings.Contains(string(text), line) {
			t.Errorf("%s is missing", line)
		}
	}
}
