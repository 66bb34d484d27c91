package doc_test

import (
	"errors"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/sandrone-gateway/sandrone/convert/doc"
)

func TestReplaceYAMLTouchesItsMembersOnly(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", "p: [1]\nr: {}\n"},
		{"comments alone", "# a\n\n# b", "# a\n\n# b\np: [1]\nr: {}\n"},
		{"null", "~\n", "p: [1]\nr: {}\n"},
		{"missing ones at the end", "a: 1\nb: 2", "a: 1\nb: 2\np: [1]\nr: {}\n"},
		{"in their place", "r:\n  x: 1\na: 1\np:\n- 1\n- 2\nb: 2\n", "r: {}\na: 1\np: [1]\nb: 2\n"},
		{"comments before the next", "p:\n  - 1\n  # of p\n\n# of a\na: 1 # x\n", "p: [1]\n\n# of a\na: 1 # x\nr: {}\n"},
		{"quoted keys", "'p': 1\n\"r\": 2\n", "p: [1]\nr: {}\n"},
		{"repeated", "p: 1\na: 1\np: 2\nr: 1\n", "p: [1]\na: 1\nr: {}\n"},
		{"indented", "  a: 1\n  p:\n    - 1\n", "  a: 1\n  p: [1]\n  r: {}\n"},
		{"document marks", "---\na: 1\n...\n", "---\na: 1\np: [1]\nr: {}\n...\n"},
		{"further document", "a: 1\n---\nb: 2\n", "a: 1\np: [1]\nr: {}\n---\nb: 2\n"},
		{"block scalar before", "a: |\n  text\n  # text\n\np: 1\n", "a: |\n  text\n  # text\n\np: [1]\nr: {}\n"},
		{"brackets over lines", "p: [\n1,\n# x\n2\n]\na: 1\n", "p: [1]\na: 1\nr: {}\n"},
		{"byte order mark", "\ufeffp: 1\na: 2\n", "\ufeffp: [1]\na: 2\nr: {}\n"},
		{"line ends", "p: 1\r\na: 2\r\n", "p: [1]\na: 2\r\nr: {}\n"},
		{"flow", "{a: 1, p: [2], b: {c: d}}", "a: 1\np: [1]\nb:\n  c: d\nr: {}\n"},
		{"JSON", `{"p": 2, "a": "08"}`, "p: [1]\na: \"08\"\nr: {}\n"},
		{"anchors that stay", "x: &x {a: 1}\np: [*x]\ny: *x\n", "x: &x {a: 1}\np: [1]\ny: *x\nr: {}\n"},
		{"anchors that go", "p: &x\n  - é: &y 1\n    b: [2]\né: {k: *y, m: *x}\nm:\n  <<: *z\n", ""},
		{"copies of what goes", "p:\n  - &y {b: \"08\"}\né: {k: *y}\nm:\n  <<: *y\n", "p: [1]\né: {k: {\"b\":\"08\"}}\nm:\n  <<: {\"b\":\"08\"}\nr: {}\n"},
	} {
		got, err := doc.ReplaceYAML(c.text, []doc.Member{{Key: "p", Text: []byte("p: [1]\n")}, {Key: "r", Text: []byte("r: {}\n")}})
		if c.want == "" {
			if err == nil {
				t.Errorf("%s: no error, got %q", c.name, got)
			}
			continue
		}
		if err != nil || got != c.want {
			t.Errorf("%s: got %q, %v\nwant %q", c.name, got, err, c.want)
		}
	}
	for _, text := range []string{"[a]", "text", "- a\n"} {
		if _, err := doc.ReplaceYAML(text, nil); !errors.Is(err, doc.ErrNotMap) {
			t.Errorf("%q: got %v, want ErrNotMap", text, err)
		}
	}
}

// What is replaced reads as what it was replaced by, and all else as before.
func FuzzReplaceYAML(f *testing.F) {
	for _, text := range []string{"a: 1\np:\n  - &x 1\nb: *x\n", "# c\n---\np: |\n # x\na: >\n  b\n...\n", "{p: 1, a: [b]}", "? p\n: 1\na: 2\n", "p: 1\n\ta: 2\n", "a: &a [*a]\n", "a:\r  b: 1\rp: 2\r"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var before map[string]any
		if yaml.Unmarshal([]byte(text), &before) != nil || strings.ContainsRune(text, 0) {
			t.Skip()
		}
		got, err := doc.ReplaceYAML(text, []doc.Member{{Key: "p", Text: []byte("p: [1]\n")}})
		if err != nil {
			t.Skip()
		}
		var after map[string]any
		if err := yaml.Unmarshal([]byte(got), &after); err != nil {
			t.Fatalf("%q became %q: %v", text, got, err)
		}
		if list, ok := after["p"].([]any); !ok || len(list) != 1 || list[0] != 1 {
			t.Fatalf("%q became %q", text, got)
		}
		for key := range before {
			if _, ok := after[key]; !ok {
				t.Fatalf("%q lost %q: %q", text, key, got)
			}
		}
	})
}
