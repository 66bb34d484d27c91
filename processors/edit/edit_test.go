package edit_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sandrone-gateway/sandrone/processors/edit"
)

func override(t *testing.T, current, overlay string) (string, error) {
	t.Helper()
	d, err := edit.ReadYAML(current)
	if err != nil {
		return "", err
	}
	o, err := edit.ReadYAML(overlay)
	if err != nil {
		return "", err
	}
	if err := d.Override(o); err != nil {
		return "", err
	}
	return d.YAML()
}

func TestOverrideTouchesOnlyWhatTheOverlayNames(t *testing.T) {
	for _, c := range []struct{ name, current, overlay, want string }{
		{"scalar", "b: 1 # keep\na: 2\n", "a: 3\nz: new", "b: 1 # keep\na: 3\nz: new"},
		{"comment behind the value", "a: 'x'   # why\nb: \"y\"\n", "a: z", "a: z   # why\nb: \"y\""},
		{"operators", "rules: [mid]\ntun: {stack: mixed}\ndns: {enable: true, ipv6: true}\n",
			"+rules: [top]\nrules+: [end]\ntun!: {enable: true}\ndns: {ipv6: null}\n\"<+.ts.net>\": lit\n",
			"rules: [top, mid, end]\ntun: {enable: true}\ndns: {enable: true}\n\"+.ts.net\": lit"},
		{"block list", "rules:\n  # first\n  - a # one\n\n  - 'b'\n# end\n", "+rules: [x]\nrules+: [y]\n", "rules:\n  # first\n  - x\n  - a # one\n\n  - 'b'\n  - y\n# end"},
		{"list as deep as its key", "rules:\n- a\nz: 1\n", "rules+:\n  - n: 1\n    m: [2]\nl: [1]\nk:\n  - 1", "rules:\n- a\n- n: 1\n  m: [2]\nz: 1\nl: [1]\nk:\n- 1"},
		{"delete", "# top\na: 1 # gone\n# about b\nb:\n  c: 1\n  d: 2\n\ne: 3\n", "a:\nb: {c: null}\n", "# top\n# about b\nb:\n  d: 2\n\ne: 3"},
		{"delete all", "a:\n  b: 1\nc: 2", "a: {b: null}", "a: {}\nc: 2"},
		{"delete everything", "# x\na: 1\n", "a:", "# x\n{}"},
		{"first member of an item", "l:\n  - a: 1\n    # about\n    b: 2\n", "l!: [{b: 2}]", "l: [{b: 2}]"},
		{"object in place of a scalar", "a: 1 # c\nb: 2\n", "a:\n  x:\n    y: 1\n", "a: # c\n  x:\n    y: 1\nb: 2"},
		{"scalar in place of an object", "a: # c\n  x: 1\n\n  # in\n  y: 2\nb: 2\n", "a: 5", "a: 5\nb: 2"},
		{"null gets a value", "a:   # none\nb: ~\nc:", "a: 1\nb: {x: 1}\nc: [1]", "a: 1   # none\nb: {x: 1}\nc: [1]"},
		{"missing target of a list", "a: 1\n", "+l: [1]\nm+:\n- 2", "a: 1\nl: [1]\nm:\n  - 2"},
		{"null target of a list", "l:\n", "l+: [1]", "l: [1]"},
		{"signs alone are names", "a: 1", "'+': x\n'!': y\n<>: z", "a: 1\n'+': x\n'!': y\n<>: z"},
		{"precedence", "k+: [1]\n", "+k+: [0]\nk!!: {a: 1}\n", "k+: [0, 1]\n\"k!\": {a: 1}"},
		{"operators in a new object", "a: 1\n", "n:\n  x: null\n  y!: {z: null}\n  +l: [1]\n", "a: 1\nn:\n  \"y\": {z: null}\n  l: [1]"},
		{"an equal value stays", "a: \"1\"\nb: 0x10\nc: {d: [1,  2]}\n", "a: '1'\nc: {d: [1, 2]}\n", "a: \"1\"\nb: 0x10\nc: {d: [1,  2]}"},
		{"flow over lines", "a: {\n  b: 1,\n  c: 2 # two\n}\n", "a: {b: null, d: 3}", "a: {\n  c: 2,\n  d: 3 # two\n}"},
		{"json stays json", "{\"a\":1,\"b\":[1]}", "b+: [x]\nc: {d: no way}\n", "{\"a\":1,\"b\":[1, \"x\"], \"c\": {\"d\": \"no way\"}}"},
		{"json over lines", "{\n  \"a\": 1,\n  \"b\": {\"c\": 9007199254740993}\n}\n", "a:\nz: [1]", "{\n  \"b\": {\"c\": 9007199254740993},\n  \"z\": [1]\n}"},
		{"anchor of others", "base: &b {x: 1}\nu: *b\n", "base: {x: 2}", "base: &b {x: 2}\nu: {x: 1}"},
		{"behind an alias", "base: &b\n  x: 1\n  y: 2\nu: *b # c\nv: *b\n", "u: {x: 5}", "base: &b\n  x: 1\n  y: 2\nu: # c\n  x: 5\n  y: 2\nv: *b"},
		{"deleted anchor", "base: &b [1]\nu: *b\n", "base:", "u: [1]"},
		{"merged member", "p: &p\n  t: http\n  i: 1\nq:\n  <<: *p\n  u: x\n", "q: {i: 2}", "p: &p\n  t: http\n  i: 1\nq:\n  <<: *p\n  u: x\n  i: 2"},
		{"merged member deleted", "p: &p\n  t: http\n  i: 1\nq:\n  <<: *p # all\n  u: x\n", "q: {i: null}", "p: &p\n  t: http\n  i: 1\nq:\n  u: x\n  t: http"},
		{"carriage returns", "a: 1\r\nl:\r\n  - x\r\n", "l+: [y]\nb: {c: 1}\n", "a: 1\r\nl:\r\n  - x\r\n  - y\r\nb: {c: 1}"},
		{"byte order mark", "\ufeffa: 1\n", "a: 2", "\ufeffa: 2"},
		{"comments alone", "# only\n", "a: 1", "# only\na: 1"},
		{"nothing over nothing", "", "# nothing", "{}"},
		{"nothing", "a: 1 # c\n", "~", "a: 1 # c"},
		{"into nothing", "", "+rules: [x]\nd:\n  a: 1", "rules: [x]\nd:\n  a: 1"},
		{"literal text", "a: |\n  x\n   y\n\nb: 1\n", "b: 2\nc: |\n  p\n  q\n", "a: |\n  x\n   y\n\nb: 2\nc: |\n  p\n  q\n"},
		{"append behind a literal text", "a:\n  b: |-\n    x\n\n\nc: 1\n", "a: {d: 1}", "a:\n  b: |-\n    x\n  d: 1\n\n\nc: 1"},
		{"a literal text becomes the last", "a: |\n  x\nb: 1\n", "b: null", "a: |\n  x\n"},
		{"a new literal text at the end", "a: 1\n", "b: |\n  x\n", "a: 1\nb: |\n  x\n"},
		{"before a last literal text", "a: 1\nb: |\n  x\n\n", "a: 100", "a: 100\nb: |\n  x\n"},
		{"second document", "a: 1\n---\na: 1\n", "a: 2", "a: 2\n---\na: 1"},
		{"start of document", "--- # c\na: 1\n", "b: 2", "--- # c\na: 1\nb: 2"},
		{"characters of many bytes", "名: {香港: 1, 東京: \"🇯🇵\"}\n", "名: {香港: 2}\n列: [\"🇭🇰 x\"]", "名: {香港: 2, 東京: \"🇯🇵\"}\n列: [\"🇭🇰 x\"]"},
		{"list in place of an object", "a: {x: 1}\nb: 1", "[1, 2]", "[1, 2]"},
		{"number of another spelling", "a: 1e3\n", "a: 1000", "a: 1e3"},
		{"quoted key", "\"a\" : 1\n'b':\n    - c\n", "a: 2\nb+: [d]", "\"a\" : 2\n'b':\n    - c\n    - d"},
		{"explicit key", "? a\n: 1\nb: 2\n", "b: 3", "a: 1\nb: 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := override(t, c.current, c.overlay)
			if err != nil || got != c.want {
				t.Errorf("got  %q, %v\nwant %q", got, err, c.want)
			}
		})
	}
}

// plain is a document as a JSON reader that knows nothing of it sees it.
func plain(t *testing.T, d *edit.Document) any {
	t.Helper()
	text, err := d.JSON()
	if err != nil {
		t.Skip(err)
	}
	in := json.NewDecoder(strings.NewReader(text))
	in.UseNumber()
	var v any
	if err := in.Decode(&v); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return v
}

// model overrides plain values.
func model(below, above map[string]any) map[string]any {
	for k, v := range above {
		name, op := k, ""
		switch n := len(k); {
		case n > 2 && k[0] == '<' && k[n-1] == '>':
			name = k[1 : n-1]
		case n > 1 && k[0] == '+':
			name, op = k[1:], "+x"
		case n > 1 && k[n-1] == '!':
			name, op = k[:n-1], "!"
		case n > 1 && k[n-1] == '+':
			name, op = k[:n-1], "x+"
		}
		object, isObject := v.(map[string]any)
		items, _ := v.([]any)
		switch there := below[name]; {
		case v == nil:
			delete(below, name)
		case op == "" && isObject:
			inner, ok := there.(map[string]any)
			if !ok {
				inner = map[string]any{}
			}
			below[name] = model(inner, object)
		case op == "+x" && there != nil:
			below[name] = append(append([]any{}, items...), there.([]any)...)
		case op == "x+" && there != nil:
			below[name] = append(append([]any{}, there.([]any)...), items...)
		default:
			below[name] = v
		}
	}
	return below
}

// names reports whether two keys of an object are about one member, where the
// outcome depends on their order.
func names(v any) bool {
	m, _ := v.(map[string]any)
	seen := map[string]bool{}
	for k, inner := range m {
		n := strings.Trim(k, "+!<>")
		if seen[n] || names(inner) {
			return true
		}
		seen[n] = true
	}
	return false
}

var seeds = []string{
	"a: 1\nb: [x, 'y']\nc: {d: e}\n",
	"rules:\n- a\n- b # c\ndns:\n  enable: true\n",
	"x: &x {a: 1}\ny: *x\nz:\n  <<: *x\n  b: 2\n",
	"{\"a\": [1, 2, {\"b\": null}]}",
	"l: |\n  one\n  two\nk: >-\n  x\n  y\n\n",
	"+a: [1]\nb+: [2]\nc!: {x: y}\nd: null\n<e>: f\n",
	"- 1\n- - 2\n  - k: v\n    w: x\n", "? a\n: b\n", "# only\n", "a: 'x\n\n  y'\nb: \"q\\\n  r\"\n", "a:\r\n  b: 1\r\n",
	"a: !!str 5\nb: !x {c: d}\n", "a: [b: c, {d}]\n", "a: &a\n  - *b\n", "- &a [1]\n- *a\n",
}

func FuzzOverride(f *testing.F) {
	for _, a := range seeds {
		for _, b := range seeds {
			f.Add(a, b)
		}
	}
	f.Fuzz(func(t *testing.T, current, overlay string) {
		d, err := edit.ReadYAML(current)
		if err != nil {
			return
		}
		o, err := edit.ReadYAML(overlay)
		if err != nil {
			return
		}
		same, err := d.YAML()
		if err != nil || strings.TrimRight(same, "\r\n") != strings.TrimRight(current, "\r\n") {
			t.Fatalf("%q became %q (%v) by reading", current, same, err)
		}
		below, above := plain(t, d), plain(t, o)
		if err := d.Override(o); err != nil {
			return
		}
		text, err := d.YAML()
		if err != nil {
			t.Fatalf("%q over %q: %v", overlay, current, err)
		}
		again, err := edit.ReadYAML(text)
		if err != nil {
			t.Fatalf("%q over %q: %q is no YAML: %v", overlay, current, text, err)
		}
		base, ok := below.(map[string]any)
		patch, ok2 := above.(map[string]any)
		if below == nil && ok2 {
			base, ok = map[string]any{}, true
		}
		if !ok || !ok2 || names(patch) {
			return
		}
		if got, want := plain(t, again), any(model(base, patch)); !reflect.DeepEqual(got, want) {
			t.Fatalf("%q over %q: %q means %v, want %v", overlay, current, text, got, want)
		}
		if len(patch) == 0 && below != nil && strings.TrimRight(text, "\r\n") != strings.TrimRight(current, "\r\n") {
			t.Fatalf("an empty overlay made %q of %q", text, current)
		}
	})
}

// What is added and removed again leaves no trace.
func FuzzAddAndRemove(f *testing.F) {
	for _, s := range seeds {
		f.Add(s, "/zz")
		f.Add(s, "/b/0")
		f.Add(s, "/c/zz")
		f.Add(s, "/0")
	}
	f.Fuzz(func(t *testing.T, text, path string) {
		d, err := edit.ReadYAML(text)
		if err != nil || d.Patch([]edit.Op{{Op: "test", Path: path, Value: d}}) == nil && !strings.HasSuffix(path, "/0") {
			return
		}
		before := plain(t, d)
		if m, ok := before.(map[string]any); ok {
			if _, there := m[strings.NewReplacer("~1", "/", "~0", "~").Replace(strings.TrimPrefix(path, "/"))]; there {
				return
			}
		}
		value, _ := edit.ReadJSON(`{"k": [1, "x"]}`)
		if d.Patch([]edit.Op{{Op: "add", Path: path, Value: value}}) != nil {
			return
		}
		added, err := d.YAML()
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		again, err := edit.ReadYAML(added)
		if err != nil {
			t.Fatalf("%q is no YAML: %v", added, err)
		}
		if !reflect.DeepEqual(plain(t, again), plain(t, d)) {
			t.Fatalf("%q: %q is not what was meant", text, added)
		}
		if again.Patch([]edit.Op{{Op: "remove", Path: path}}) != nil {
			return
		}
		if _, err := again.YAML(); err != nil {
			t.Fatal(err)
		}
		if after := plain(t, again); before != nil && strings.LastIndexByte(path, '/') == 0 && !reflect.DeepEqual(after, before) {
			t.Fatalf("%q became %v", text, after)
		}
	})
}

func TestAddThenRemoveGivesTheTextBack(t *testing.T) {
	for _, c := range []struct{ text, path string }{
		{"a: 1 # c\nb:\n  - x\n  # y\n  - z\n# end", "/zz"},
		{"a: 1 # c\nb:\n  - x\n  # y\n  - z\n# end", "/b/0"},
		{"a: 1 # c\nb:\n  - x\n  # y\n  - z\n# end", "/b/1"},
		{"a: 1 # c\nb:\n  - x\n  # y\n  - z\n# end", "/b/2"},
		{"a: {b: 1, 'c': [1,2 ]}", "/a/c/1"},
		{"a: {b: 1, 'c': [1,2 ]}", "/a/d"},
		{"- - 1\n  - 2", "/0/1"},
		{"- k: v # c\n  l: w", "/0/m"},
		{"{\n  \"a\": 1\n}", "/b"},
	} {
		d, err := edit.ReadYAML(c.text)
		if err != nil {
			t.Fatal(err)
		}
		value, err := edit.ReadJSON(`{"k": [1, "x"], "e": {}}`)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Patch([]edit.Op{{Op: "add", Path: c.path, Value: value}}); err != nil {
			t.Fatal(err)
		}
		added, err := d.YAML()
		if err != nil || added == c.text {
			t.Fatalf("%q: %q, %v", c.text, added, err)
		}
		if d, err = edit.ReadYAML(added); err != nil {
			t.Fatal(err)
		}
		if err := d.Patch([]edit.Op{{Op: "remove", Path: strings.Replace(c.path, "-", "2", 1)}}); err != nil {
			t.Fatal(err)
		}
		if got, err := d.YAML(); err != nil || got != c.text {
			t.Errorf("%q %s: got %q by way of %q, %v", c.text, c.path, got, added, err)
		}
	}
}

func TestReadersHaveLimits(t *testing.T) {
	bomb := "a0: &a0 [x]\n"
	for i := range 30 {
		bomb += fmt.Sprintf("a%d: &a%d [*a%d, *a%d]\n", i+1, i+1, i, i)
	}
	for name, text := range map[string]string{
		"expansion": bomb,
		"depth":     strings.Repeat("[", 100) + strings.Repeat("]", 100),
		"values":    strings.Repeat("-\n", 9<<20/2),
		"size":      strings.Repeat("#", 16<<20+1),
		"cycle":     "a: &a [*a]",
		"encoding":  "a: \xff",
		"key":       "? [a]\n: b",
	} {
		if _, err := edit.ReadYAML(text); err == nil {
			t.Errorf("%s: it was read", name)
		}
	}
	if _, err := edit.ReadJSON(strings.Repeat("[", 100) + strings.Repeat("]", 100)); err == nil {
		t.Error("deep JSON was read")
	}
	_, err := edit.ReadJSON("{\n  \"é\": x\n}")
	if f, ok := err.(*edit.Fault); !ok || f.Line != 2 || f.Column != 8 {
		t.Errorf("got %+v", err)
	}
	_, err = edit.ReadYAML("a: 1\nb: [\n")
	if f, ok := err.(*edit.Fault); !ok || f.Line == 0 {
		t.Errorf("got %+v", err)
	}
}

func TestPatchCannotMultiplyADocumentWithoutEnd(t *testing.T) {
	d, err := edit.ReadJSON(`{"a": [1, 2, 3]}`)
	if err != nil {
		t.Fatal(err)
	}
	var ops []edit.Op
	for i := range 60 {
		ops = append(ops, edit.Op{Op: "copy", From: "", Path: fmt.Sprintf("/a%d", i)})
	}
	if err := d.Patch(ops); err == nil {
		t.Error("2^60 values were made")
	}
}

// A change of every member of a large object, or of everything that shares an
// anchor, takes time in proportion.
func TestChangesOfLargeObjects(t *testing.T) {
	var current, overlay, want, merging strings.Builder
	merging.WriteString("all: &all\n")
	for i := range 5_000 {
		fmt.Fprintf(&current, "k%d: {a: 1}\ng%d: 1\n", i, i)
		fmt.Fprintf(&overlay, "k%d: {a: 2}\ng%d: null\n", i, i)
		fmt.Fprintf(&want, "k%d: {a: 2}\n", i)
		fmt.Fprintf(&merging, "  k%d: {a: 1}\n  g%d: 1\n", i, i)
	}
	got, err := override(t, current.String(), overlay.String())
	if err != nil || got != strings.TrimSuffix(want.String(), "\n") {
		t.Errorf("got %.80q, %v", got, err)
	}
	merging.WriteString("own:\n  <<: *all\n")
	if got, err = override(t, merging.String(), "own:\n  "+strings.ReplaceAll(overlay.String(), "\n", "\n  ")); err != nil || !strings.HasSuffix(got, "k4999: {a: 2}") {
		t.Errorf("got %.80q, %v", got, err)
	}
	shared := "base: &b {a: 1}\nl:\n" + strings.Repeat("  - *b\n", 5_000)
	if got, err = override(t, shared, "base: {a: 2}"); err != nil || strings.Contains(got, "*") || strings.Count(got, "a: 1") != 5_000 {
		t.Errorf("got %.80q, %v", got, err)
	}
}

func TestChangesThatTakeTooMuchWorkAreRefused(t *testing.T) {
	d, err := edit.ReadJSON("[" + strings.Repeat("0,", 1_000_000) + "0]")
	if err != nil {
		t.Fatal(err)
	}
	one, _ := edit.ReadJSON("1")
	if err := d.Patch(slices.Repeat([]edit.Op{{Op: "add", Path: "/0", Value: one}}, 1000)); err == nil {
		t.Error("a thousand insertions before a million items were made")
	}
}

// proxies is a client file of n nodes.
func proxies(n int) string {
	var b bytes.Buffer
	b.WriteString("mode: rule # how\nproxies:\n")
	for i := range n {
		fmt.Fprintf(&b, "  - name: \"香港 %d\"\n    type: vless\n    server: a%d.example.com\n    port: 443\n    uuid: 11111111-2222-3333-4444-%012d\n    tls: true\n    network: ws\n    ws-opts:\n      path: /ray\n      headers:\n        Host: x.example.com\n", i, i, i)
	}
	b.WriteString("rules:\n  - MATCH,DIRECT\n")
	return b.String()
}

func BenchmarkOverrideOfTenThousandProxies(b *testing.B) {
	text := proxies(10_000)
	for name, overlay := range map[string]string{
		"beside them": "mode: global\n+rules: ['DOMAIN,a.example,DIRECT']\n",
		"and of them": "+proxies: [{name: z, type: direct}]\n",
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				o, err := edit.ReadYAML(overlay)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := edit.ChangeYAML(text, o.Members(), func(d *edit.Document) error { return d.Override(o) }); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// Lists that are left out come to the same text as lists that are read.
func FuzzLongLists(f *testing.F) {
	for _, a := range append([]string{
		"a: 1\nproxies:\n  - {name: x}\n  - {name: y}\n  # z\n\nrules:\n- a\n- b\n",
		"proxies:\n  - name: \"x\n  - y\"\n  - z\nl:\n    - 1\n    - 2\n",
		"l:\n- |\n  x\n- |\n  y\n\n", "0:\n- \n- |\n 0 \n", "l:\n- a\n- |\n  x\n  # y\n", "a: \"\nl:\n- 1\n- 2\nb: x\"\n", "a:\n- \n- \xe5",
	}, seeds...) {
		for _, b := range []string{"zz: 1", "+rules: [c]\nrules+: [d]", "a: null", "rules: null\na: {b: c}", "b: [{c: d}]", "{}"} {
			f.Add(a, b)
		}
	}
	f.Fuzz(func(t *testing.T, current, overlay string) {
		o, err := edit.ReadYAML(overlay)
		if err != nil {
			return
		}
		override := func(d *edit.Document) error { return d.Override(o) }
		short, err := edit.ChangeYAMLAbridged(current, o.Members(), 1, override)
		whole, wholeErr := edit.ChangeYAML(current, nil, override)
		if short != whole || (err == nil) != (wholeErr == nil) {
			t.Fatalf("%q over %q: %q, %v without the lists; %q, %v with them", overlay, current, short, err, whole, wholeErr)
		}
	})
}

func TestLongListsAreLeftOut(t *testing.T) {
	text := "# top\n" + proxies(1000) + "mode: rule # it\n"
	asked := 0
	got, err := edit.ChangeYAML(text, []string{"mode"}, func(d *edit.Document) error {
		asked++
		return d.Patch([]edit.Op{{Op: "add", Path: "/log-level", Value: must(t, "debug")}})
	})
	if want := text + "log-level: debug"; err != nil || got != want {
		t.Errorf("got %.80q… of %d bytes, %v; want %d", got, len(got), err, len(want))
	}
	if asked != 1 {
		t.Errorf("it was changed %d times", asked)
	}
}

func must(t *testing.T, text string) *edit.Document {
	t.Helper()
	d, err := edit.ReadYAML(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}
