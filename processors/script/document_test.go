package script_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/sandrone-gateway/sandrone/convert/nodetest"
	"github.com/sandrone-gateway/sandrone/processors/script"
)

type apiDocument struct {
	Version   int
	Config    *jsonschema.Schema `json:"config_schema"`
	Envelopes map[string]struct {
		Input  *jsonschema.Schema `json:"input_schema"`
		Output *jsonschema.Schema `json:"output_schema"`
	}
	Methods []struct {
		Name      string
		Stages    []string
		Arguments []map[string]any
		Arity     string `json:"recommended_arity"`
		Ignored   bool   `json:"extra_arguments_ignored"`
		Zero      string `json:"zero_arguments"`
		Runtime   string `json:"runtime_requirement"`
		Returns   map[string]any
		Codes     []string `json:"error_codes"`
	}
	Sources []map[string]any
	Sandbox map[string]any
}

func document(t *testing.T) apiDocument {
	t.Helper()
	form := script.APIDocument()
	if len(form) >= 64<<10 {
		t.Errorf("the document has %d bytes", len(form))
	}
	var d apiDocument
	if err := json.Unmarshal(form, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestAPIDocumentListsTheMethods(t *testing.T) {
	d := document(t)
	var got []string
	for _, m := range d.Methods {
		got = append(got, m.Name)
		kind := m.Returns["kind"]
		if _, ok := m.Returns["schema"]; ok == (kind == "void") {
			t.Errorf("%s returns %v", m.Name, m.Returns)
		}
		if (kind == "value_or_void") != strings.HasSuffix(m.Name, ".parse") {
			t.Errorf("%s returns %v", m.Name, kind)
		}
		if m.Ignored != (m.Name != "api.log") || (m.Runtime != "") != (m.Name == "api.file.content") || m.Zero == "" || m.Codes == nil {
			t.Errorf("%+v", m)
		}
		for i, a := range m.Arguments {
			if a["position"] != float64(i) || a["name"] == "" || a["schema"] == nil {
				t.Errorf("%s: argument %v", m.Name, a)
			}
		}
		// Every method that is described is there, and no other.
		path := strings.TrimPrefix(m.Name, "api.")
		nodes, _, err := runNodes(script.Env{Runner: pool}, params(`function main() { return {nodes: [{name: typeof `+m.Name+`, type: "ss"}]} }`), script.Input{})
		if err != nil || names(nodes) != "function" {
			t.Errorf("%s is %s in the nodes stage, %v", path, names(nodes), err)
		}
		if got := eval(t, script.Env{Runner: pool}, "typeof "+m.Name); (got == "function") != slices.Contains(m.Stages, "file") {
			t.Errorf("%s is %s in the file stage", path, got)
		}
	}
	want := "api.log api.warn api.yaml.parse api.yaml.stringify api.json.parse api.json.stringify api.ini.parse api.ini.stringify api.ini.override " +
		"api.base64.encode api.base64.decode api.hash.sha256 api.subscription.produce api.file.content api.probe"
	if strings.Join(got, " ") != want {
		t.Errorf("got %v", got)
	}
	all, _, err := runNodes(script.Env{Runner: pool}, params(`function main() { const all = []; const walk = (o, p) => { for (const k in o) typeof o[k] === "function" ? all.push(p + k) : walk(o[k], p + k + ".") }; walk(api, "api."); return {nodes: all.map(name => ({name, type: "ss"}))} }`), script.Input{})
	slices.Sort(got)
	there := strings.Split(names(all), ",")
	slices.Sort(there)
	if err != nil || !slices.Equal(there, got) {
		t.Errorf("the api has %v, %v", there, err)
	}
	if len(d.Sources) != 3 || d.Sources[0]["type"] != "inline" || d.Sources[1]["type"] != "file" || d.Sources[2]["type"] != "remote" || d.Sandbox["filesystem"] != false || d.Sandbox["process"] != false {
		t.Errorf("got %v, %v", d.Sources, d.Sandbox)
	}
}

// The schemas are true of what scripts get.
func TestAPIDocumentDescribesTheEnvelopes(t *testing.T) {
	d := document(t)
	check := func(s *jsonschema.Schema, form string, valid bool) {
		t.Helper()
		r, err := s.Resolve(nil)
		if err != nil {
			t.Fatal(err)
		}
		var v any
		if err := json.Unmarshal([]byte(form), &v); err != nil {
			t.Fatal(err)
		}
		if err := r.Validate(v); (err == nil) != valid {
			t.Errorf("%.200s: %v", form, err)
		}
	}
	nodes := nodetest.All(nodetest.Rand(3), 60)
	got, _, err := runNodes(script.Env{Runner: pool}, params(`function main(i) { const n = i.nodes; return {nodes: [{name: JSON.stringify(i), type: "ss"}]} }`, "args", map[string]any{"a": []int{1}}),
		script.Input{Target: "uri-list", Context: script.Context{InputName: "x"}, Request: script.Request{TraceID: "t"}}, nodes...)
	if err != nil {
		t.Fatal(err)
	}
	in := d.Envelopes["nodes"]
	check(in.Input, got[0].Name, true)
	check(in.Output, got[0].Name, true)
	check(in.Output, `{}`, true)
	check(in.Output, `{"nodes":[{"name":"n","type":"ss","ext":{"a":1}}],"warnings":[{"code":"c","message":"m"}]}`, true)
	check(in.Output, `{"nodes":[{"type":"ss"}]}`, false)
	check(in.Output, `{"nodes":[{"name":"n","type":"ss","port":"80"}]}`, false)
	check(in.Output, `{"nodes":[{"name":"n","type":"ss","tls":{"nothing":1}}]}`, false)
	check(in.Output, `{"stage":"file"}`, false)
	check(in.Input, `{}`, false)
	file := d.Envelopes["file"]
	form := eval(t, script.Env{Runner: pool}, "JSON.stringify(input)")
	check(file.Input, form, true)
	check(file.Output, `{"file":{"content":"x"}}`, true)
	check(file.Output, `{"file":{"content":5}}`, false)
	check(file.Input, `{"version":1,"stage":"nodes"}`, false)

	for form, valid := range map[string]bool{
		`{"source":{"type":"inline","content":"x"},"engine":"js","args":{"a":[1]},"timeout_ms":500,"id":"x","permissions":{"network":true,"resources":["a"]}}`: true,
		`{"source":{"type":"file","name":"x","args":{"a":"1"}}}`:                                                  true,
		`{"source":{"type":"remote","remote":{"url":"https://x/y"},"sha256":"` + strings.Repeat("aB", 32) + `"}}`: true,
		`{"source":{"content":"x"}}`:              false,
		`{"source":{"type":"inline","code":"x"}}`: false,
		`{"content":"x","timeout_ms":-1}`:         false,
		`{"content":"x","engine":"lua"}`:          false,
		`{"content":"x","more":1}`:                false,
	} {
		check(d.Config, form, valid)
	}
}
