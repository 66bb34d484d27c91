package catalog_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/catalog"
	"github.com/sandrone-gateway/sandrone/convert/formats"
	"github.com/sandrone-gateway/sandrone/processors"
	"github.com/sandrone-gateway/sandrone/processors/script"
)

func whole(t *testing.T) *catalog.Catalog {
	t.Helper()
	schema, err := json.Marshal(script.ParamsSchema())
	if err != nil {
		t.Fatal(err)
	}
	return catalog.New(formats.Registry(), processors.New(processors.Options{Scripts: &processors.ScriptType{
		ParamsSchema: schema,
		Check: func(params json.RawMessage) error {
			_, err := script.Decode(params)
			return err
		},
	}}))
}

// validator makes a document that is a schema ready, which tells whether it
// is one.
func validator(t *testing.T, document any) func(text string) error {
	t.Helper()
	text, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return func(text string) error {
		var v any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			return err
		}
		return resolved.Validate(v)
	}
}

func TestSchemasTakeWhatIsStored(t *testing.T) {
	c := whole(t)
	subscription, file := validator(t, c.Subscription()), validator(t, c.FileSpec())
	for _, row := range []struct {
		name  string
		check func(string) error
		text  string
		ok    bool
	}{
		{"local", subscription, `{"name":"a","type":"local","content":"x","processors":[{"type":"sort","params":{"by":"name"}}],"meta":{"a":"b"}}`, true},
		{"remote", subscription, `{"name":"a","type":"remote","remote":{"url":"https://a.example"},"render_cache_ttl_seconds":0}`, true},
		{"collection", subscription, `{"name":"a","type":"collection","inputs":[{"type":"ref","ref":{"kind":"subscription","name":"b"},"required":true}]}`, true},
		{"nodes", subscription, `{"name":"a","type":"collection","nodes":[{"type":"trojan","name":"x","tls":{"enabled":true,"session_ticket":true},"raw":{"a.b":[1]}}]}`, true},
		{"as it was read", subscription, `{"name":"a","type":"local","created_at":"2026-01-01T00:00:00Z","updated_at":"2026-01-01T00:00:00Z"}`, true},
		{"no type", subscription, `{"name":"a"}`, false},
		{"surplus member", subscription, `{"name":"a","type":"local","colour":"x"}`, false},
		{"surplus member of an input", subscription, `{"name":"a","type":"collection","inputs":[{"type":"ref","x":1}]}`, false},
		{"unknown type of an input", subscription, `{"name":"a","type":"collection","inputs":[{"type":"x"}]}`, false},
		{"negative time", subscription, `{"name":"a","type":"local","render_cache_ttl_seconds":-1}`, false},
		{"params that are no object", subscription, `{"name":"a","type":"local","processors":[{"type":"sort","params":1}]}`, false},
		{"remote without address", subscription, `{"name":"a","type":"remote","remote":{}}`, false},

		{"static", file, `{"name":"a","kind":"static","source":{"type":"inline","content":""}}`, true},
		{"typed", file, `{"name":"a","kind":"sing-box@1.11","source":{},"config":{"subscriptions":["a"],"settings":{"any":1}}}`, true},
		{"no source", file, `{"name":"a","kind":"static"}`, false},
		{"unknown kind", file, `{"name":"a","kind":"x","source":{}}`, false},
		{"static of a version", file, `{"name":"a","kind":"static@1","source":{}}`, false},
		{"surplus member of the source", file, `{"name":"a","kind":"static","source":{"x":1}}`, false},
	} {
		if err := row.check(row.text); (err == nil) != row.ok {
			t.Errorf("%s: got %v, want ok %v", row.name, err, row.ok)
		}
	}
}

func TestTimesOfDefinitionsAreReadOnly(t *testing.T) {
	c := whole(t)
	for name, schema := range map[string]*jsonschema.Schema{"subscription": c.Subscription(), "file": c.FileSpec()} {
		for _, at := range []string{"created_at", "updated_at"} {
			if !schema.Properties[at].ReadOnly {
				t.Errorf("%s: %s is not readOnly", name, at)
			}
		}
		for member, m := range schema.Properties {
			if m.Description == "" {
				t.Errorf("%s: %s has no description", name, member)
			}
		}
	}
}

func TestSchemaIndexIsInOrder(t *testing.T) {
	var got []string
	for _, item := range whole(t).Schemas(func(name string) string { return "/" + name }).Schemas {
		got = append(got, item.Name)
		if item.Href != "/"+item.Name || item.Description == "" {
			t.Errorf("got %+v", item)
		}
	}
	if want := []string{"processors", "file_kinds", "script_api_v1", "subscription", "file_spec"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestProcessorsAreListedWithExamplesThatTheirSchemasTake(t *testing.T) {
	c := whole(t)
	index := c.Processors(func(stage, kind string) string { return stage + "/" + kind })
	if len(index.Processors) == 0 {
		t.Fatal("there are no processors")
	}
	last := ""
	for _, item := range index.Processors {
		if order := item.Stage + "/" + item.Type; order <= last {
			t.Errorf("%s stands after %s", order, last)
		} else {
			last = order
		}
		d, err := c.Processor(item.Stage, item.Type)
		if err != nil {
			t.Fatal(err)
		}
		if item.Href != last || item.Description == "" || len(d.Examples) == 0 {
			t.Errorf("%s lacks an address, a description or an example", last)
		}
		check := validator(t, d.ParamsSchema)
		for _, example := range d.Examples {
			params := string(example.Params)
			if params == "" {
				params = "{}"
			}
			if err := check(params); err != nil {
				t.Errorf("%s: example %s: %v", last, params, err)
			}
		}
	}
	for _, name := range [][2]string{{"nodes", "nothing"}, {"file", "sort"}, {"Nodes", "sort"}, {"nodes", "Sort"}, {"", ""}} {
		if _, err := c.Processor(name[0], name[1]); sandrone.AsError(err) == nil || sandrone.AsError(err).Code != sandrone.InvalidArgument {
			t.Errorf("%v: got %v", name, err)
		}
	}
}

func TestWithoutStepsThereAreNone(t *testing.T) {
	c := catalog.New(formats.Registry(), nil)
	if got := encode(t, c.Processors(nil)); got != `{"processors":[]}` {
		t.Errorf("got %s", got)
	}
	if _, err := c.Processor("nodes", "sort"); err == nil {
		t.Error("there is a step")
	}
}

func TestFileKindsHaveExamplesThatTheSchemaTakes(t *testing.T) {
	c := whole(t)
	check := validator(t, c.FileSpec())
	for _, item := range c.FileKinds(func(kind string) string { return "/" + kind }).FileKinds {
		k, err := c.FileKind(item.Kind)
		if err != nil {
			t.Fatal(err)
		}
		if item.Href != "/"+item.Kind || k.MediaType != item.MediaType || len(k.Examples) == 0 || !strings.HasPrefix(k.DefaultExtension, ".") {
			t.Errorf("got %+v and %+v", item, k)
		}
		for _, example := range k.Examples {
			if err := check(encode(t, example)); err != nil {
				t.Errorf("%s: %v", item.Kind, err)
			}
			if err := example.Normalise(); err != nil {
				t.Errorf("%s: %v", item.Kind, err)
			}
		}
	}
	if _, err := c.FileKind("Static"); err == nil {
		t.Error("a name in another case is taken")
	}
}

func TestScriptAPIIsADocument(t *testing.T) {
	var v struct {
		Version int
		Methods []any
	}
	if err := json.Unmarshal(whole(t).ScriptAPI(), &v); err != nil || v.Version != 1 || len(v.Methods) == 0 {
		t.Errorf("got %v and %+v", err, v)
	}
}

func TestTypeSchemaRefersToNamedTypes(t *testing.T) {
	type list struct {
		Node  *sandrone.Node  `json:"node,omitempty"`
		Nodes []sandrone.Node `json:"nodes"`
		Text  []byte          `json:"text,omitempty"`
	}
	schema, err := catalog.TypeSchema(reflect.TypeFor[list](), map[reflect.Type]*jsonschema.Schema{reflect.TypeFor[sandrone.Node](): {Ref: "#/x"}})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"type":"object","properties":{"node":{"$ref":"#/x"},"nodes":{"type":"array","items":{"$ref":"#/x"}},"text":{"type":"string","contentEncoding":"base64"}},"required":["nodes"],"additionalProperties":false}`
	if got := encode(t, schema); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if _, err := catalog.TypeSchema(reflect.TypeFor[chan int](), nil); err == nil {
		t.Error("a channel has a schema")
	}
}
