package mcp_test

import (
	"encoding/json"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/catalog"
	"github.com/sandrone-gateway/sandrone/convert/formats"
	"github.com/sandrone-gateway/sandrone/mcp"
	"github.com/sandrone-gateway/sandrone/processors"
	"github.com/sandrone-gateway/sandrone/store"
)

type listed struct {
	Resources []struct{ URI, Name, MimeType, Description string }
	Templates []struct{ URITemplate, Name, MimeType, Description string } `json:"resourceTemplates"`
}

func TestResourcesAndTemplatesAreListedByURI(t *testing.T) {
	d := setup{}.start(t)
	var got listed
	for _, method := range []string{"resources/list", "resources/templates/list"} {
		if err := json.Unmarshal(d.send(request{method: method}).Result, &got); err != nil {
			t.Fatal(err)
		}
	}
	var fixed, templates []string
	for _, r := range got.Resources {
		fixed = append(fixed, r.URI+" "+r.Name)
		if r.MimeType != "application/json" || r.Description == "" {
			t.Errorf("got %+v", r)
		}
		d.resource(r.URI)
	}
	for _, r := range got.Templates {
		templates = append(templates, r.URITemplate+" "+r.Name)
		if r.MimeType != "application/json" || r.Description == "" {
			t.Errorf("got %+v", r)
		}
	}
	if want := []string{
		"sandrone://capabilities/formats format-capabilities",
		"sandrone://schemas schemas",
		"sandrone://schemas/file-kinds file-kind-schemas",
		"sandrone://schemas/file-spec file-spec-schema",
		"sandrone://schemas/processors processor-schemas",
		"sandrone://schemas/script-api/v1 script-api-v1",
		"sandrone://schemas/subscription subscription-schema",
	}; !slices.Equal(fixed, want) {
		t.Errorf("got %v", fixed)
	}
	if want := []string{
		"sandrone://capabilities/formats/{direction}/{format} format-capability",
		"sandrone://files/{name} files",
		"sandrone://schemas/file-kinds/{kind} file-kind-schema",
		"sandrone://schemas/processors/{stage}/{type} processor-schema",
		"sandrone://subscriptions/{name} subscriptions",
	}; !slices.Equal(templates, want) {
		t.Errorf("got %v", templates)
	}
}

// TestEveryIndexLeadsToItsDetails follows each resource_uri.
func TestEveryIndexLeadsToItsDetails(t *testing.T) {
	d := setup{}.start(t)
	var follow func(uri string)
	seen := make(map[string]bool)
	follow = func(uri string) {
		if seen[uri] {
			return
		}
		seen[uri] = true
		text := d.resource(uri)
		if strings.Contains(string(text), `"href"`) {
			t.Errorf("%s has an address of another door", uri)
		}
		var lists map[string]json.RawMessage
		if err := json.Unmarshal(text, &lists); err != nil {
			t.Fatal(err)
		}
		for _, list := range lists {
			var items []struct {
				URI string `json:"resource_uri"`
			}
			if json.Unmarshal(list, &items) == nil {
				for _, i := range items {
					if i.URI != "" {
						follow(i.URI)
					}
				}
			}
		}
	}
	var inspection struct{ Catalogs map[string]string }
	d.must("sandrone_inspect", `{}`).as(t, &inspection)
	if len(inspection.Catalogs) != 4 {
		t.Errorf("got %v", inspection.Catalogs)
	}
	for _, uri := range inspection.Catalogs {
		follow(uri)
	}
	for _, uri := range []string{
		"sandrone://capabilities/formats/parse/uri", "sandrone://capabilities/formats/render/json-nodes",
		"sandrone://schemas/processors/nodes/sort", "sandrone://schemas/processors/file/script",
		"sandrone://schemas/file-kinds/static", "sandrone://schemas/subscription", "sandrone://schemas/file-spec", "sandrone://schemas/script-api/v1",
	} {
		if !seen[uri] {
			t.Errorf("nothing leads to %s", uri)
		}
	}
}

func TestSchemaResourcesAreTheInputsOfPuts(t *testing.T) {
	d := setup{}.start(t)
	for tool, uri := range map[string]string{"sandrone_put_subscription": "sandrone://schemas/subscription", "sandrone_put_file": "sandrone://schemas/file-spec"} {
		for _, info := range d.tools() {
			if info.Name != tool {
				continue
			}
			if info.InputSchema.Properties["dry_run"] == nil {
				t.Errorf("%s has no dry run", tool)
			}
			delete(info.InputSchema.Properties, "dry_run")
			text, err := json.Marshal(info.InputSchema)
			if err != nil {
				t.Fatal(err)
			}
			if !equalJSON(t, string(text), string(d.resource(uri))) {
				t.Errorf("%s is not the input of %s", uri, tool)
			}
		}
	}
}

func TestTheScriptAPIIsSmall(t *testing.T) {
	if n := len(setup{}.start(t).resource("sandrone://schemas/script-api/v1")); n >= 64<<10 {
		t.Errorf("it has %d bytes", n)
	}
}

func TestURIsNameNothingElse(t *testing.T) {
	backend := store.Memory()
	d := setup{store: store.New(backend, store.Options{})}.start(t)
	for _, row := range []struct{ uri, code string }{
		{"sandrone://subscriptions/nothing", "not_found"},
		{"sandrone://files/nothing", "not_found"},
		{"sandrone://subscriptions/", "invalid_argument"},
		{"sandrone://subscriptions/%20", "invalid_argument"},
		{"sandrone://subscriptions/a/b", "invalid_argument"},
		{"sandrone://subscriptions/a%2Fb", "invalid_argument"},
		{"sandrone://subscriptions/a%2fb", "invalid_argument"},
		{"sandrone://subscriptions/a%5Cb", "invalid_argument"},
		{"sandrone://subscriptions/a\\b", "invalid_argument"},
		{"sandrone://subscriptions/.", "invalid_argument"},
		{"sandrone://subscriptions/..", "invalid_argument"},
		{"sandrone://subscriptions/%2e%2e", "invalid_argument"},
		{"sandrone://files/%2e%2e%2fetc%2fpasswd", "invalid_argument"},
		{"sandrone://files/a%", "invalid_argument"},
		{"sandrone://files/a%zz", "invalid_argument"},
		{"sandrone://files/%ff", "invalid_argument"},
		{"sandrone://files/%252e%252e", "not_found"}, // decoded once: a name with percent signs
		{"sandrone://capabilities/formats/parse/nothing", "invalid_argument"},
		{"sandrone://capabilities/formats/Parse/uri", "invalid_argument"},
		{"sandrone://capabilities/formats/render/sing-box-outbounds@1.11", "invalid_argument"},
		{"sandrone://capabilities/formats/parse", "invalid_argument"},
		{"sandrone://schemas/processors/nodes/nothing", "invalid_argument"},
		{"sandrone://schemas/processors/Nodes/sort", "invalid_argument"},
		{"sandrone://schemas/processors/file/sort", "invalid_argument"},
		{"sandrone://schemas/file-kinds/Static", "invalid_argument"},
		{"sandrone://schemas/file-kinds/sing-box@1.11", "invalid_argument"},
		{"sandrone://nothing", ""},
		{"sandrone://subscriptions", ""},
		{"sandrone://schemas/", ""},
		{"Sandrone://schemas", ""},
		{"file:///etc/passwd", ""},
	} {
		res := d.send(request{method: "resources/read", params: map[string]any{"uri": row.uri}, header: map[string]string{"Mcp-Name": "=?base64?" + b64(row.uri) + "?="}})
		var data struct{ URI, Code string }
		if res.code() != "400 -32602" || json.Unmarshal(res.Error.Data, &data) != nil || data.URI != row.uri || data.Code != row.code || res.Error.Message == "" {
			t.Errorf("%s: got %s %s", row.uri, res.code(), res.body)
		}
	}
}

func TestNamesOutsideASCIIAreReadByTheirEncodedHeader(t *testing.T) {
	d := setup{}.start(t)
	d.must("sandrone_put_subscription", map[string]any{"name": "机场", "type": "local", "content": link})
	for _, uri := range []string{"sandrone://subscriptions/机场", "sandrone://subscriptions/%E6%9C%BA%E5%9C%BA"} {
		res := d.send(request{method: "resources/read", params: map[string]any{"uri": uri}, header: map[string]string{"Mcp-Name": "=?base64?" + b64(uri) + "?="}})
		if res.status != 200 || !strings.Contains(string(res.body), "机场") {
			t.Errorf("%s: got %s", uri, res.body)
		}
	}
}

func TestDefinitionsComeWithPlainObjects(t *testing.T) {
	d := setup{}.start(t)
	d.must("sandrone_put_subscription", `{"name":"air","type":"local","content":"`+link+`","processors":[{"type":"sort","params":{"by":"name"}}]}`)
	var got struct {
		Processors []struct{ Params map[string]any }
	}
	if err := json.Unmarshal(d.resource("sandrone://subscriptions/air"), &got); err != nil || got.Processors[0].Params["by"] != "name" {
		t.Errorf("got %v %+v", err, got)
	}
	var kind struct {
		Rules struct {
			Required bool
			Types    []string `json:"allowed_types"`
		} `json:"source_rules"`
		Settings *bool `json:"settings_supported"`
		Examples []sandrone.FileSpec
	}
	if err := json.Unmarshal(d.resource("sandrone://schemas/file-kinds/static"), &kind); err != nil || !kind.Rules.Required || len(kind.Rules.Types) != 2 || kind.Settings == nil || len(kind.Examples) == 0 {
		t.Errorf("got %v %+v", err, kind)
	}
}

func TestADocumentIsKeptOnceHoweverItsAddressIsSpelled(t *testing.T) {
	e := mcp.New(mcp.Options{Engine: setup{}.start(t).engine, Catalog: catalog.New(formats.Registry(), processors.New(processors.Options{}))})
	running := httptest.NewServer(e)
	defer running.Close()
	d := &door{t: t, address: running.URL}
	for _, name := range []string{"sort", "s%6Frt", "s%6frt", "%73ort"} {
		if res := d.send(request{method: "resources/read", params: map[string]any{"uri": "sandrone://schemas/processors/nodes/" + name}}); res.status != 200 {
			t.Fatalf("%s: %d %s", name, res.status, res.body)
		}
	}
	if n := e.Documents(); n != 1 {
		t.Errorf("%d documents are kept", n)
	}
}
