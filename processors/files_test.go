package processors_test

import (
	"bufio"
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/processors"
)

// fileVector is a line of the corpus about a file.
type fileVector struct {
	ID        string                 `json:"id"`
	Stage     string                 `json:"stage"`
	Processor sandrone.ProcessorSpec `json:"processor"`
	Input     struct {
		File    processors.File    `json:"file"`
		Request processors.Request `json:"request"`
	} `json:"input"`
	Expect struct {
		Content     *string `json:"content"`
		ContentJSON any     `json:"content_json"`
		ContentYAML any     `json:"content_yaml"`
		Error       *struct{ Code, Processor, Part, Path string }
	} `json:"expect"`
}

func TestCorpusOfFiles(t *testing.T) {
	f, err := os.Open("testdata/corpus/processors.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	count := 0
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var head struct{ Stage string }
		if json.Unmarshal(lines.Bytes(), &head) != nil || head.Stage != sandrone.FileStage {
			continue
		}
		var v fileVector
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		if v.Processor.Type == "script" {
			continue // they have a package of their own
		}
		count++
		t.Run(v.ID, v.run)
	}
	if err := lines.Err(); err != nil || count < 10 {
		t.Errorf("%d vectors, %v", count, err)
	}
}

func (v fileVector) run(t *testing.T) {
	res, err := registry.File(t.Context(), processors.Run{Request: v.Input.Request}, []sandrone.ProcessorSpec{v.Processor}, v.Input.File)
	if want := v.Expect.Error; want != nil {
		e := sandrone.AsError(err)
		if err == nil || string(e.Code) != want.Code || e.Processor != want.Processor || e.Part != want.Part || e.Path != want.Path {
			t.Fatalf("got %+v, want %+v", e, want)
		}
		if res.File.Content != "" {
			t.Error("a failed step gave out a document")
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if want := v.Expect.Content; want != nil && res.File.Content != *want {
		t.Errorf("got %q, want %q", res.File.Content, *want)
	}
	for _, want := range []any{v.Expect.ContentJSON, v.Expect.ContentYAML} {
		if want == nil {
			continue
		}
		var got any
		if err := yaml.Unmarshal([]byte(res.File.Content), &got); err != nil || !reflect.DeepEqual(plain(t, got), plain(t, want)) {
			t.Errorf("got %v, %v; want %v", got, err, want)
		}
	}
}

func TestFileStepsRefuseWhatTheyCannotUse(t *testing.T) {
	for _, c := range []struct {
		kind, params, content string
		code                  sandrone.Code
		field, part, path     string
	}{
		{"merge", `{"mode":"sideways","content":"x"}`, "", sandrone.FileMergeFailed, "", "", ""},
		{"merge", `{}`, "", sandrone.FileMergeFailed, "", "overlay", ""},
		{"merge", `{"content":1}`, "", sandrone.ProcessorConfigInvalid, "processors[0].params.content", "", ""},
		{"merge", `{"mode":"yaml_override","content":"a: 1"}`, "a: [", sandrone.FileMergeFailed, "", "current", ""},
		{"merge", `{"mode":"json_override","content":"a: 1"}`, "{}", sandrone.FileMergeFailed, "", "overlay", ""},
		{"merge", `{"mode":"yaml_override","content":"a/b+: 1"}`, "a: 1", sandrone.FileMergeFailed, "", "overlay", "/a~1b"},
		{"json_patch", `{"ops":[]}`, "{}", sandrone.ProcessorConfigInvalid, "processors[0].params.ops", "", ""},
		{"json_patch", `{"ops":[{"op":"mend","path":"/a"}]}`, "{}", sandrone.ProcessorConfigInvalid, "processors[0].params.ops[0].op", "", ""},
		{"json_patch", `{"ops":[{"op":"add","path":"/a/1","value":1}]}`, `{"a":[]}`, sandrone.FileProcessorFailed, "", "", "/a/1"},
		{"yaml_patch", `{"ops":[{"op":"test","path":"a","value":2}]}`, "a: 1", sandrone.FileProcessorFailed, "", "", "/a"},
		{"json_patch", `{"ops":[{"op":"copy","path":"/a"}]}`, "{}", sandrone.ProcessorConfigInvalid, "processors[0].params.ops[0].from", "", ""},
		{"json_patch", `{"ops":[{"op":"add","path":"/a~2"}]}`, "{}", sandrone.FileProcessorFailed, "", "", "/a~2"},
		{"template", `{"vars":{"a":1}}`, "", sandrone.ProcessorConfigInvalid, "processors[0].params.vars.a", "", ""},
		{"template", `{}`, "{{ a", sandrone.FileProcessorFailed, "", "", ""},
		{"add_nodes", `{"subscriptions":[]}`, "", sandrone.ProcessorConfigInvalid, "processors[0].params.subscriptions", "", ""},
		{"add_nodes", `{"subscriptions":[" "]}`, "", sandrone.ProcessorConfigInvalid, "processors[0].params.subscriptions[0]", "", ""},
		{"add_nodes", `{"subscriptions":["a"],"position":"middle"}`, "", sandrone.ProcessorConfigInvalid, "processors[0].params.position", "", ""},
		{"add_nodes", `{"subscriptions":["a"],"args":{"n":1}}`, "", sandrone.ProcessorConfigInvalid, "processors[0].params.args.n", "", ""},
		{"add_nodes", `{"subscriptions":["a"]}`, "", sandrone.NotImplemented, "", "", ""},
	} {
		spec := sandrone.ProcessorSpec{Type: c.kind, Params: json.RawMessage(c.params)}
		_, err := registry.File(t.Context(), processors.Run{}, []sandrone.ProcessorSpec{spec}, processors.File{Content: c.content})
		e := sandrone.AsError(err)
		if err == nil || e.Code != c.code || e.Field != c.field || e.Part != c.part || e.Path != c.path {
			t.Errorf("%s %s: got %+v", c.kind, c.params, e)
		}
	}
}

func TestTemplatePutsTextInOnce(t *testing.T) {
	spec := sandrone.ProcessorSpec{Type: "template", Params: json.RawMessage(`{"vars":{"a":"{{b}}","b":"x"}}`)}
	res, err := registry.File(t.Context(), processors.Run{}, []sandrone.ProcessorSpec{spec}, processors.File{Content: "{{a}}{{ b }}"})
	if err != nil || res.File.Content != "{{b}}x" {
		t.Errorf("got %q, %v", res.File.Content, err)
	}
	_, err = registry.File(t.Context(), processors.Run{}, []sandrone.ProcessorSpec{spec}, processors.File{Content: "é\n é{{c}}"})
	if e := sandrone.AsError(err); err == nil || e.Line != 2 || e.Column != 3 || strings.Contains(e.Message, "c}}") {
		t.Errorf("got %+v", e)
	}
}

func TestExamplesOfFileStepsCanBeBuilt(t *testing.T) {
	for _, d := range registry.Descriptors() {
		if d.Stage != sandrone.FileStage || d.Type == "script" {
			continue
		}
		if len(d.Examples) == 0 || len(d.ErrorCodes) < 2 || d.Description == "" {
			t.Errorf("%s says too little of itself", d.Type)
		}
		if w := registry.Check(sandrone.FileStage, "", d.Examples); len(w) > 0 {
			t.Errorf("%s: %+v", d.Type, w)
		}
	}
}

func TestAnOverrideThatSaysNothingChangesNothing(t *testing.T) {
	for mode, texts := range map[string][2][]string{
		"yaml_override": {{"a:   1 # c\n\n# d", "", "- 1", "{\"a\":1}"}, {"{}", "# nothing", "null"}},
		"json_override": {{`{"a":1,  "b":[ ]}`, "{\n\t\"a\": 1\n}", "{ }"}, {"{}"}},
		"ini_override":  {{"[a]\r\nb=1\n\n", "", "x"}, {"# nothing", "\n"}},
	} {
		for _, current := range texts[0] {
			for _, overlay := range texts[1] {
				params, err := json.Marshal(map[string]string{"mode": mode, "content": overlay})
				if err != nil {
					t.Fatal(err)
				}
				res, err := registry.File(t.Context(), processors.Run{}, []sandrone.ProcessorSpec{{Type: "merge", Params: params}}, processors.File{Content: current})
				want := current
				switch {
				case mode == "yaml_override" && current == "":
					want = "{}"
				case mode == "yaml_override" && overlay == "{}" && current == "- 1":
					want = "{}" // it is no object, so it is replaced
				}
				if err != nil || res.File.Content != want {
					t.Errorf("%s of %q by %q: got %q, %v", mode, current, overlay, res.File.Content, err)
				}
			}
		}
	}
}
