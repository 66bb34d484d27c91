package server_test

import (
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/sandrone-gateway/sandrone"
)

// apiDocument is the OpenAPI document as a client reads it.
type apiDocument struct {
	OpenAPI    string
	Info       struct{ Version string }
	Paths      map[string]map[string]apiOperation
	Components struct{ Schemas map[string]json.RawMessage }

	mu       sync.Mutex
	resolved map[string]*jsonschema.Resolved // schema text -> ready to validate
}

type apiOperation struct {
	OperationID string `json:"operationId"`
	Summary     string
	Scope       string `json:"x-sandrone-scope"`
	Parameters  []struct{ Name, In string }
	RequestBody *struct {
		Required bool
		Content  map[string]apiMedia
	}
	Responses map[string]struct {
		Description string
		Content     map[string]apiMedia
	}
}

type apiMedia struct {
	Schema  json.RawMessage
	Example json.RawMessage
}

// document is read once from a server of its own: it is the same for all.
var document = sync.OnceValues(func() (*apiDocument, error) {
	s := setup{}.server(&testing.B{})
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest("GET", "http://localhost/v1/openapi.json", nil))
	d := &apiDocument{resolved: make(map[string]*jsonschema.Resolved)}
	return d, json.Unmarshal(w.Body.Bytes(), d)
})

func readDocument(t *testing.T) *apiDocument {
	t.Helper()
	d, err := document()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// find returns the operation of a request, and false if there is none.
func (d *apiDocument) find(method, target string) (apiOperation, bool) {
	path, _, _ := strings.Cut(target, "?")
	given := strings.Split(path, "/")
	if method == http.MethodHead {
		method = http.MethodGet
	}
	var found apiOperation
	ok, fixed := false, -1
	for pattern, methods := range d.Paths {
		op, has := methods[strings.ToLower(method)]
		segments := strings.Split(pattern, "/")
		if !has || len(segments) != len(given) {
			continue
		}
		same, literal := true, 0
		for i, segment := range segments {
			if strings.HasPrefix(segment, "{") {
				same = same && given[i] != ""
			} else if same = same && segment == given[i]; same {
				literal++
			}
		}
		if same && literal > fixed {
			found, ok, fixed = op, true, literal
		}
	}
	return found, ok
}

var componentName = regexp.MustCompile(`#/components/schemas/(\w+)`)

// validate holds a JSON text to a schema of the document.
func (d *apiDocument) validate(schema json.RawMessage, text []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	resolved := d.resolved[string(schema)]
	if resolved == nil {
		// Only what the schema needs, since making one ready takes its time.
		local := func(text string) json.RawMessage {
			return json.RawMessage(strings.ReplaceAll(text, "#/components/schemas/", "#/$defs/"))
		}
		defs := make(map[string]json.RawMessage)
		var need func(text string)
		need = func(text string) {
			for _, match := range componentName.FindAllStringSubmatch(text, -1) {
				if name := match[1]; defs[name] == nil {
					defs[name] = local(string(d.Components.Schemas[name]))
					need(string(d.Components.Schemas[name]))
				}
			}
		}
		need(string(schema))
		root, err := json.Marshal(map[string]any{"$defs": defs, "allOf": []any{local(string(schema))}})
		if err != nil {
			return err
		}
		var s jsonschema.Schema
		if err := json.Unmarshal(root, &s); err != nil {
			return err
		}
		if resolved, err = s.Resolve(nil); err != nil {
			return err
		}
		d.resolved[string(schema)] = resolved
	}
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		return err
	}
	return resolved.Validate(v)
}

// check holds an answer to what the document says of its operation.
func (d *apiDocument) check(c call, a answer) error {
	op, ok := d.find(c.method, c.path)
	if !ok {
		return nil
	}
	response, ok := op.Responses[fmt.Sprint(a.status)]
	if !ok {
		return fmt.Errorf("%s: status %d is not documented", op.OperationID, a.status)
	}
	if c.method == http.MethodHead || a.status == http.StatusNoContent || a.status == http.StatusNotModified {
		if a.body != "" {
			return fmt.Errorf("%s: an answer of this kind has no body", op.OperationID)
		}
		return nil
	}
	media, _, err := mime.ParseMediaType(a.header.Get("Content-Type"))
	if err != nil {
		return fmt.Errorf("%s: %w", op.OperationID, err)
	}
	content, ok := response.Content[media]
	if !ok {
		content, ok = response.Content["*/*"]
	}
	if !ok {
		return fmt.Errorf("%s: media type %s is not documented", op.OperationID, media)
	}
	if media != "application/json" {
		return nil
	}
	if err := d.validate(content.Schema, []byte(a.body)); err != nil {
		return fmt.Errorf("%s, status %d: %w", op.OperationID, a.status, err)
	}
	return nil
}

func TestDocumentListsEachRouteThatAnswers(t *testing.T) {
	d := readDocument(t)
	if d.OpenAPI != "3.1.0" || d.Info.Version != sandrone.ThisBuild().Version {
		t.Errorf("got OpenAPI %q of version %q", d.OpenAPI, d.Info.Version)
	}
	want := []string{
		"delete /v1/cache", "delete /v1/files/{name}", "delete /v1/revisions", "delete /v1/revisions/{id}",
		"delete /v1/shares/{id}", "delete /v1/subscriptions/{name}", "delete /v1/tokens/{id}",
		"get /convert", "get /healthz", "get /metrics", "get /s/{id}", "get /s/{id}/{filename}",
		"get /v1/backup", "get /v1/capabilities/formats", "get /v1/capabilities/formats/{direction}/{format}", "get /v1/capabilities/ui",
		"get /v1/files", "get /v1/files/{name}", "get /v1/inspect", "get /v1/logs", "get /v1/logs/stream", "get /v1/openapi.json", "get /v1/presets",
		"get /v1/revisions", "get /v1/revisions/{id}",
		"get /v1/rule-set-catalog", "get /v1/schemas", "get /v1/schemas/file-kinds", "get /v1/schemas/file-kinds/{kind}", "get /v1/schemas/file-spec",
		"get /v1/schemas/processors", "get /v1/schemas/processors/{stage}/{type}", "get /v1/schemas/script-api/v1", "get /v1/schemas/subscription",
		"get /v1/settings", "get /v1/settings/scheduled-refresh-status",
		"get /v1/shares", "get /v1/shares/{id}", "get /v1/shares/{id}/accesses", "get /v1/subscriptions", "get /v1/subscriptions/{name}",
		"get /v1/tokens", "get /version", "patch /v1/settings",
		"post /v1/backup/restore", "post /v1/convert", "post /v1/diagnose", "post /v1/files", "post /v1/files/{name}/verify", "post /v1/presets/add", "post /v1/presets/regions", "post /v1/preview/file", "post /v1/preview/subscription",
		"post /v1/regex/test", "post /v1/revisions/{id}/restore", "post /v1/shares", "post /v1/subscriptions",
		"post /v1/subscriptions/{name}/preview", "post /v1/subscriptions/{name}/probe", "post /v1/subscriptions/{name}/render",
		"post /v1/subscriptions/{name}/traffic", "post /v1/tokens", "put /v1/settings",
	}
	var got []string
	for path, methods := range d.Paths {
		for method := range methods {
			got = append(got, method+" "+path)
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("routes: got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	ids := make(map[string]bool)
	for _, methods := range d.Paths {
		for _, op := range methods {
			if op.Summary == "" || op.Scope == "" || ids[op.OperationID] {
				t.Errorf("operation %q lacks a summary or a scope, or is there twice", op.OperationID)
			}
			ids[op.OperationID] = true
		}
	}
}

func TestExamplesOfTheDocumentKeepItsSchemas(t *testing.T) {
	d := readDocument(t)
	// An archive, or nothing, is sent and answered by these.
	binary := []string{"getBackup", "postBackupRestore", "deleteCache", "deleteRevisions", "deleteRevisionsId"}
	for _, methods := range d.Paths {
		for _, op := range methods {
			all := make(map[string]apiMedia)
			if op.RequestBody != nil {
				for media, content := range op.RequestBody.Content {
					all["body "+media] = content
				}
			}
			for status, response := range op.Responses {
				for media, content := range response.Content {
					all[status+" "+media] = content
				}
			}
			shown := 0
			for where, content := range all {
				if content.Example == nil {
					continue
				}
				shown++
				if err := d.validate(content.Schema, content.Example); err != nil {
					t.Errorf("%s: example of %s: %v", op.OperationID, where, err)
				}
			}
			if shown == 0 && !slices.Contains(binary, op.OperationID) {
				t.Errorf("%s has no example", op.OperationID)
			}
		}
	}
}

func TestDocumentIsTaggedByItsText(t *testing.T) {
	address := setup{token: token}.start(t)
	get := call{method: "GET", path: "/v1/openapi.json", header: bearer(token)}
	a := get.do(t, address)
	etag := a.header.Get("ETag")
	if a.status != 200 || len(etag) != 34 {
		t.Fatalf("got status %d, ETag %q", a.status, etag)
	}
	runRows(t, address, []row{
		{name: "same", call: call{method: "GET", path: get.path, header: append(bearer(token), "If-None-Match: "+etag)}, status: 304, header: []string{"ETag: " + etag, "Cache-Control: private, no-cache"}},
		{name: "other", call: call{method: "GET", path: get.path, header: append(bearer(token), `If-None-Match: "x"`)}, status: 200},
		{name: "by HEAD", call: call{method: "HEAD", path: get.path, header: bearer(token)}, status: 200, header: []string{"ETag: " + etag}},
	})
}

// TestEveryRouteRefusesWhoMayNot walks through the document: whoever has no
// token, a wrong one or one of too small a scope gets nowhere, and a body that
// is no body gets no further.
func TestEveryRouteRefusesWhoMayNot(t *testing.T) {
	address := setup{token: token}.start(t)
	secret := map[string]string{"owner": token}
	for _, scope := range []string{"read", "write"} {
		secret[scope] = makeToken(t, address, scope)
	}
	d := readDocument(t)
	var rows []row
	for pattern, methods := range d.Paths {
		for method, op := range methods {
			method = strings.ToUpper(method)
			path := strings.NewReplacer("{direction}", "parse", "{format}", "base64", "{stage}", "nodes", "{type}", "sort",
				"{kind}", "static", "{name}", "none", "{id}", "none", "{filename}", "none").Replace(pattern)
			add := func(name string, c call, status int, code string) {
				rows = append(rows, row{name: op.OperationID + " " + name, call: c, status: status, code: code, hasNot: []string{secret["read"], secret["write"]}})
			}
			with := func(secret string) call { return call{method: method, path: path, header: bearer(secret), body: "{}"} }
			if op.Scope == "public" {
				continue
			}
			add("without token", call{method: method, path: path, body: "{}"}, 401, "unauthorized")
			add("with a wrong token", with("wrong-token"), 401, "unauthorized")
			add("with a wrong named token", with("sdt_wrong-token"), 401, "unauthorized")
			if op.Scope != "read" {
				add("with a read token", with(secret["read"]), 403, "forbidden")
			}
			if op.Scope == "owner" {
				add("with a write token", with(secret["write"]), 403, "forbidden")
			}
			add("from another origin", call{method: method, path: path, header: append(bearer(token), "Origin: https://evil.example.net"), body: "{}"}, 403, "forbidden")
			if op.RequestBody == nil || op.RequestBody.Content["application/json"].Schema == nil {
				continue
			}
			may := secret[op.Scope]
			add("with a body that is cut", call{method: method, path: path, header: bearer(may), body: `{"`}, 400, "invalid_argument")
			add("with a body that is no object", call{method: method, path: path, header: bearer(may), body: `[]`}, 400, "invalid_argument")
			add("with a member that is none", call{method: method, path: path, header: bearer(may), body: `{"surplus":1}`}, 400, "invalid_argument")
			rows[len(rows)-1].field = "surplus"
			if op.OperationID == "putSettings" {
				rows[len(rows)-1].field = "http" // which is missing
			}
			if op.RequestBody.Required {
				add("without a body", call{method: method, path: path, header: bearer(may)}, 400, "invalid_argument")
			}
		}
	}
	runRows(t, address, rows)
}

// makeToken makes a named token over the API and returns its secret.
func makeToken(t *testing.T, address, scope string) string {
	t.Helper()
	a := call{method: "POST", path: "/v1/tokens", header: bearer(token), body: `{"name":"` + scope + `","scope":"` + scope + `"}`}.do(t, address)
	var made struct{ Secret string }
	if err := json.Unmarshal([]byte(a.body), &made); err != nil || a.status != 201 || !strings.HasPrefix(made.Secret, "sdt_") {
		t.Fatalf("got status %d, %v: %s", a.status, err, a.body)
	}
	return made.Secret
}

func TestEveryBodyHasALimit(t *testing.T) {
	address := setup{token: token}.start(t)
	d := readDocument(t)
	for pattern, methods := range d.Paths {
		for method, op := range methods {
			if op.RequestBody == nil {
				continue
			}
			path := strings.NewReplacer("{name}", "none", "{id}", "none").Replace(pattern)
			length, code := 16<<20+1, "request_too_large"
			if path == "/v1/backup/restore" {
				length, code = 32<<20+1, "backup_too_large"
			}
			a := announced(t, address, strings.ToUpper(method), path, length)
			if e := a.errorObject(t); a.status != 413 || string(e.Code) != code {
				t.Errorf("%s: got %d %s, want 413 %s", op.OperationID, a.status, e.Code, code)
			}
		}
	}
}
