package doc_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/sandrone-gateway/sandrone/convert/doc"
)

func TestEachYAMLReadsWhatListsAreWrittenIn(t *testing.T) {
	// fast: the subset reader must do it without the library (perhaps but for
	// single entries). Texts that it leaves alone are in the next test.
	tests := []struct{ name, text, want string }{
		{"block", "port: 1\nproxies:\n  - name: a\n    port: 443\n    udp: true\n  - name: b\nrules:\n  - MATCH,a\n",
			"{name:a port:n(443) udp:b(true)}\n{name:b}"},
		{"dashes below the key", "proxies:\n- name: a\n  x: 1\n- name: b\n", "{name:a x:n(1)}\n{name:b}"},
		{"dash alone", "proxies:\n  -\n    name: a\n  -\n  - name: c\n", "{name:a}\nnull\n{name:c}"},
		{"flow", "proxies:\n  - {name: \"a b\", port: 443, opts: {list: [h2, 'x,y', ], none: , e: {}}}\n",
			`{name:"a b" port:n(443) opts:{list:[h2 "x,y"] none:null e:{}}}`},
		{"flow like JSON", "proxies:\n  - {\"name\":\"a\",\"n\":[1,-2],\"t\":true}\n", `{name:"a" n:[n(1) n(-2)] t:b(true)}`},
		{"list in brackets", "proxies: [{a: 1}, x, [2]] # c\nx: 1\n", "{a:n(1)}\nx\n[n(2)]"},
		{"empty list in brackets", "proxies: []\n", ""},
		{"nested blocks", "proxies:\n- a:\n    b:\n      c: 1\n    d: 2\n  e:\n  - f: 3\n    g: 4\n  - h\n  i: 5\n",
			"{a:{b:{c:n(1)} d:n(2)} e:[{f:n(3) g:n(4)} h] i:n(5)}"},
		{"lists in lists", "proxies:\n- - a\n  - - b\n    - c\n- d\n", "[a [b c]]\nd"},
		{"comments and blank lines", "# c\nproxies: # c\n\n  # c\n  - a: b # c\n\n# c\n    c: 'd' # c\n  - e: [f] # c\n   # c\n", "{a:b c:\"d\"}\n{e:[f]}"},
		{"CRLF", "proxies:\r\n  - a: b\r\n    c: \"d\"\r\n\r\n  - e:\r\n", "{a:b c:\"d\"}\n{e:null}"},
		{"no line break at the end", "proxies:\n  - a:\n      b: c", "{a:{b:c}}"},
		{"document mark", "---\nproxies:\n  - a\n", "a"},
		{"text of scalars", "proxies:\n- [0088, 08, 81e3, 1e10, 0123, 0x1f, 0o7, 1_000, 12:30, .inf, -1, 1.50, ~, null, NULL, yes, on, True, FALSE, '', 2001-12-14]\n",
			"[0088 08 n(81e3) n(1e10) 0123 0x1f 0o7 1_000 12:30 .inf n(-1) n(1.50) null null null yes on b(True) b(FALSE) \"\" 2001-12-14]"},
		{"plain scalars", "proxies:\n- a: b c  d\n  url: http://x/y?z=1#f\n  ip: 2001:db8::1\n  q: it's \"so\"\n  m: A & B * C\n  cn: 香港 [1] {2}\n  e: a=b==\n",
			"{a:b c  d url:http://x/y?z=1#f ip:2001:db8::1 q:it's \"so\" m:A & B * C cn:香港 [1] {2} e:a=b==}"},
		{"quotes", `proxies:` + "\n" + `- ["\"\\\n\t\r\x41é\U0001F1ED", 'it''s \n', "", "a # b", 'c: d', "'", '"']` + "\n",
			`["\"\\\n\t\rAé🇭" "it's \\n" "" "a # b" "c: d" "'" "\""]`},
		{"quoted keys", "proxies:\n- \"a b\": 1\n  'c': 2\n- {\"d\": 3, 'e': 4}\n", "{a b:n(1) c:n(2)}\n{d:n(3) e:n(4)}"},
		{"repeated keys are kept in order", "proxies:\n- a: 1\n  a: 2\n", "{a:n(1) a:n(2)}"},
		{"odd text in other sections", "a: |\n  proxies: \"\n\n # [\nb: &x {c: [\"d\", 'e']} # it's\nf:\n  - !!str g: h\n  - >-\n    \"x\n  - i, 'j, [k\n  - l: *x\nproxies:\n  - m\nz: 'n'\n", "m"},
		{"comment with a colon in another section", "port: 1 # a: b\nx:\n  - DOMAIN,y # c: d\nproxies:\n- a\n", "a"},
		{"rare entry among others", "proxies:\n  - a: 1\n  - b: |\n      text\n\n      more\n  - c: \"x\n      y\"\n  - {d: 1,\n     e: 2}\n  - f: !<str> 0088\n    g: !!str 12\n  - h: 1\n",
			"{a:n(1)}\n{b:\"text\\n\\nmore\\n\"}\n{c:\"x y\"}\n{d:n(1) e:n(2)}\n{f:0088 g:12}\n{h:n(1)}"},
		{"top-level list", "# c\n- a: 1\n- {b: 2}\n", "{a:n(1)}\n{b:n(2)}"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			key := "proxies"
			if strings.HasPrefix(tt.name, "top-level") {
				key = ""
			}
			var want collector
			for line := range strings.Lines(tt.want) {
				want.entries = append(want.entries, key+"="+strings.TrimSuffix(line, "\n"))
			}
			var subset, library, both collector
			found, ok, err := doc.EachSubset(tt.text, []string{"proxies", "Proxy"}, subset.add)
			if !ok || err != nil || subset.String() != want.String() {
				t.Errorf("subset: %v, %v\n%s\nwant\n%s", ok, err, &subset, &want)
			}
			if !slices.Equal(found, []string{key}) {
				t.Errorf("found %q, want %q", found, key)
			}
			if _, err := doc.EachByLibrary(tt.text, []string{"proxies"}, library.add); err != nil || library.String() != want.String() {
				t.Errorf("library: %v\n%s\nwant\n%s", err, &library, &want)
			}
			if _, err := doc.EachYAML(tt.text, []string{"proxies"}, both.add); err != nil || both.String() != want.String() {
				t.Errorf("together: %v\n%s\nwant\n%s", err, &both, &want)
			}
		})
	}
}

func TestEachYAMLReadsTheRestWithTheLibrary(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"anchors", "x: &x {a: 1}\nproxies:\n- n: 1\n- o: *x\n- *x\n", "{n:n(1)}\n{o:{a:n(1)}}\n{a:n(1)}"},
		{"merge key", "x: &x {a: 1, b: 2}\nproxies:\n- <<: *x\n  b: 3\n- {b: 4, <<: *x}\n", "{b:n(3) a:n(1)}\n{b:n(4) a:n(1)}"},
		{"merge list", "x: &x {a: 1, b: 1}\ny: &y {b: 2, c: 2, <<: {d: 2}}\nproxies:\n- <<: [*x, *y]\n  e: 3\n", "{e:n(3) a:n(1) b:n(1) c:n(2) d:n(2)}"},
		{"quoted merge key is a key", "proxies:\n- \"<<\": 1\n", "{<<:n(1)}"},
		{"top-level merge key", "x: &x {proxies: [1]}\n<<: *x\n", "n(1)"},
		{"repeated key", "proxies:\n- a\nproxies:\n- b\n", "b"},
		{"explicit key", "? proxies\n: - a\n", "a"},
		{"quoted continuation that looks like a key", "x: \"a\nproxies:\n- wrong\n\"\ny: 1\nproxies:\n- right\n", "right"},
		{"flow that looks like a key", "x: [\na,\nproxies,\n]\nproxies:\n- right\n", "right"},
		{"flow over lines", "proxies: [\n  {a: 1},\n  {b: 2}\n]\n", "{a:n(1)}\n{b:n(2)}"},
		{"flow document", "{proxies: [a, {b: c}]}", "a\n{b:c}"},
		{"indented document", "  proxies:\n  - a\n", "a"},
		{"first document only", "proxies:\n- a\n---\nproxies:\n- b\n", "a"},
		{"plain scalar over lines", "proxies:\n- a: b\n    c\n- d: 1\n", "{a:b c}\n{d:n(1)}"},
		{"tabs as indentation", "proxies:\n\t- a: 1\n\t  b: 2\n\t- c:\n\t\t\td: 3\n", "{a:n(1) b:n(2)}\n{c:{d:n(3)}}"},
		{"tabs further down", "proxies:\n  - a: 1\n  - b: 2\n\t- c: 3\n", "{a:n(1)}\n{b:n(2)}\n{c:n(3)}"},
		{"lone CR", "proxies:\r- a: 1\r- b: 2\r", "{a:n(1)}\n{b:n(2)}"},
		{"JSON with surrogates", `{"proxies": [{"a": "\ud83c\udded"}]}`, `{a:"🇭"}`},
		{"JSON with comments", "// c\n{\"proxies\": [1, // d\n]}", "n(1)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var want, got collector
			for line := range strings.Lines(tt.want) {
				want.entries = append(want.entries, "proxies="+strings.TrimSuffix(line, "\n"))
			}
			if _, ok, _ := doc.EachSubset(tt.text, []string{"proxies"}, func(string, doc.Items) error { return nil }); ok &&
				!strings.Contains(tt.name, "quoted merge") && !strings.Contains(tt.name, "plain scalar over") {
				t.Error("the subset reader reads it: move the row")
			}
			if _, err := doc.EachYAML(tt.text, []string{"proxies"}, got.add); err != nil || got.String() != want.String() {
				t.Errorf("%v\n%s\nwant\n%s", err, &got, &want)
			}
		})
	}
}

func TestEachYAMLOfTextWithoutAList(t *testing.T) {
	for _, text := range []string{"", "\n\n", "# c", "---", "a: 1", "proxies-x:\n- a", "just text", "vmess://abc\nss://def", "a:\n  proxies:\n  - b\n"} {
		found, err := doc.EachYAML(text, []string{"proxies"}, func(string, doc.Items) error { t.Errorf("%q: an entry", text); return nil })
		if err != nil || len(found) > 0 {
			t.Errorf("%q: found %q, %v", text, found, err)
		}
	}
	for _, text := range []string{"proxies:", "proxies: ~", "proxies: null # c\nx: 1", "proxies:\nx: 1", "proxies: !!null"} {
		found, err := doc.EachYAML(text, []string{"proxies"}, func(string, doc.Items) error { t.Errorf("%q: an entry", text); return nil })
		if err != nil || !slices.Equal(found, []string{"proxies"}) {
			t.Errorf("%q: found %q, %v", text, found, err)
		}
	}
}

func TestEachYAMLRefusesHostileAliases(t *testing.T) {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
	for i := 'b'; i <= 'i'; i++ {
		bomb += fmt.Sprintf("%c: &%c [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c,", i-1), 10), ","))
	}
	chain := "m0: &m0 {k0: 0}\n"
	for i := 1; i < 40; i++ {
		chain += fmt.Sprintf("m%d: &m%d {<<: *m%d, k%d: 0}\n", i, i, i-1, i)
	}
	keys := "big: &big {"
	for i := range 5_000 {
		keys += fmt.Sprintf("k%d: ,", i)
	}
	keys += "}\n"
	tests := []struct {
		name, text string
		want       error
	}{
		{"doubling lists", bomb + "proxies:\n- *i\n", doc.ErrExpansion},
		{"many large merges", keys + "proxies:\n- <<: [" + strings.Repeat("*big,", 5_000) + "]\n", doc.ErrExpansion},
		{"many copies", keys + "proxies:\n" + strings.Repeat("- *big\n", 500), doc.ErrExpansion},
		{"cycle", "proxies:\n- &x [*x, *x]\n", doc.ErrTooDeep},
		{"merge cycle", "proxies:\n- &x {<<: *x, a: 1}\n", doc.ErrTooDeep},
		{"long merge chain", chain + "proxies:\n- *m39\n", doc.ErrTooDeep},
		{"deep flow", "proxies:\n- " + strings.Repeat("[", 40) + strings.Repeat("]", 40), doc.ErrTooDeep},
		{"deep block", "proxies:\n" + strings.Repeat("- ", 40) + "x", doc.ErrTooDeep},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := doc.EachYAML(tt.text, []string{"proxies"}, func(string, doc.Items) error { return nil })
			if !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
	if _, err := doc.EachYAML(bomb+"proxies:\n- a: 1\n", []string{"proxies"}, func(string, doc.Items) error { return nil }); err != nil {
		t.Errorf("a bomb that nothing uses: %v", err)
	}
	if _, err := doc.ReadYAML(nil, bomb); !errors.Is(err, doc.ErrExpansion) {
		t.Errorf("whole document: got %v, want ErrExpansion", err)
	}
	normal := "base: &b {type: ss, cipher: aes-128-gcm, password: 0123456789abcdef, udp: true}\nproxies:\n" +
		strings.Repeat("- {<<: *b, name: n, server: a.example.com, port: 1}\n", 2_000)
	if _, err := doc.EachYAML(normal, []string{"proxies"}, func(string, doc.Items) error { return nil }); err != nil {
		t.Errorf("a normal use of merge keys: %v", err)
	}
}

func TestEachYAMLDepthIsTheSameInBothReaders(t *testing.T) {
	ignore := func(string, doc.Items) error { return nil }
	for n := doc.MaxYAMLDepth - 4; n <= doc.MaxYAMLDepth+2; n++ {
		for _, text := range []string{
			"proxies:\n- " + strings.Repeat("[", n) + strings.Repeat("]", n),
			"proxies:\n- " + strings.Repeat("- ", n) + "x\n",
			strings.Repeat("- ", n) + "x\n",
		} {
			_, ok, _ := doc.EachSubset(text, []string{"proxies"}, ignore)
			_, err := doc.EachByLibrary(text, []string{"proxies"}, ignore)
			if ok != (err == nil) {
				t.Errorf("%d levels: subset %v, library %v in %.20q", n, ok, err, text)
			}
		}
	}
}

func TestReadYAMLReadsWholeDocuments(t *testing.T) {
	for text, want := range map[string]string{
		"":                               "null",
		"a: 0088\nb: [x, \"1\"]":         `{a:0088 b:[x "1"]}`,
		`{"a": "\ud83c\udded", }`:        `{a:"🇭"}`,
		"\t- a":                          "[a]",
		"a: &x 1\nb: *x":                 "{a:n(1) b:n(1)}",
		"1: a\ntrue: b\n~: c\n'': d":     `{1:a true:b ~:c :d}`,
		"a: !!str\nb: !!int '3'\nc: ! 1": `{a: b:"3" c:n(1)}`,
	} {
		d, err := doc.ReadYAML(nil, text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
		} else if got := dump(d, 0); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
	for text, line := range map[string]int{"a: 1\nb: [": 2, "a: 1\n b: 2": 2, "a: *x": 0, "a: 'x": 0, "? [a]\n: b": 1, "<<: 1": 1} {
		d, err := doc.ReadYAML(doc.Items{{End: 1}}, text)
		e, ok := errors.AsType[*doc.SyntaxError](err)
		if !ok || len(d) != 1 {
			t.Errorf("%q: got %v and %d items", text, err, len(d))
		} else if e.Line != line {
			t.Errorf("%q: got %v, want line %d", text, err, line)
		}
	}
}

func TestReadersWithstandHostileText(t *testing.T) {
	const size = 1 << 18
	fill := func(s string) string { return strings.Repeat(s, size/len(s)) }
	ignore := func(string, doc.Items) error { return nil }
	for _, text := range []string{
		fill("["), fill("{"), fill("- "), fill("? "), fill("{a: "), fill("[["), fill("a: "), fill("\""), fill("'"), fill("\\"), fill("&a "), fill("*a "), fill("!a "),
		fill("-\n"), fill(" \n"), fill("\n"), fill("\t"), fill("\r"), fill("#\n"), fill("[]\n"), fill("a:\n"), fill("|\n"), fill("%\n"), fill("---\n"), fill("/*"), fill("//\n"),
		"proxies:\n" + fill("- {\n"), "proxies:\n" + fill("- \"\n"), "proxies:\n" + fill("- |\n"), "proxies:\n" + fill("- a: b\n  c\n"), "proxies:\n" + fill("- !a\n"),
		"proxies: " + fill("[1,"), "proxies:\n- " + fill("- "), "proxies:\n- a: " + fill("x "), "proxies:\n- ? " + fill("x "), "x: |\n" + fill(" a\n"), "x: " + fill("[a], "),
		"proxies:\n" + fill("- &a b\n") + fill("- *a\n"), `{"a":` + fill(`"\u0041`), fill("\x00"), fill("\xff"), fill("\u2028"),
	} {
		for door, each := range map[string]func(string, []string, func(string, doc.Items) error) ([]string, error){"YAML": doc.EachYAML, "JSON": doc.EachJSON} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, _ = each(text, []string{"proxies"}, ignore)
			runtime.ReadMemStats(&after)
			if spent := int(after.TotalAlloc - before.TotalAlloc); spent > 150*size {
				t.Errorf("%s of %.30q allocates %d times its size", door, text, spent/size)
			}
		}
	}
}

func TestLibraryIsNotGivenMoreThanItCanHold(t *testing.T) {
	text := "proxies:\n- &x [" + strings.Repeat("a,", 5<<19) + "]\n"
	_, err := doc.EachYAML(text, []string{"proxies"}, func(string, doc.Items) error { return nil })
	if !errors.Is(err, doc.ErrTooLarge) {
		t.Errorf("got %v, want ErrTooLarge", err)
	}
}

func TestSubsetReaderAllocatesNoScalars(t *testing.T) {
	text := entries(2_000, "block")
	n := testing.AllocsPerRun(5, func() {
		if _, err := doc.EachYAML(text, []string{"proxies"}, func(string, doc.Items) error { return nil }); err != nil {
			t.Fatal(err)
		}
	})
	if n > 50 {
		t.Errorf("got %v allocations for 2,000 entries, want at most 50", n)
	}
}

func TestEachYAMLReadsClientFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var subset, library collector
		if _, ok, err := doc.EachSubset(string(text), []string{"proxies"}, subset.add); !ok || err != nil {
			t.Errorf("%s: the subset reader leaves it to the library: %v", file, err)
		}
		if _, err := doc.EachByLibrary(string(text), []string{"proxies"}, library.add); err != nil {
			t.Fatal(err)
		}
		if subset.String() != library.String() || len(library.entries) == 0 {
			t.Errorf("%s: the readers differ:\n%s\n\n%s", file, &subset, &library)
		}
	}
}

// FuzzYAMLReadersAgree holds the subset reader to the library: where both read
// a text, they find the same.
func FuzzYAMLReadersAgree(f *testing.F) {
	for _, seed := range []string{
		entries(2, "block"), entries(2, "flow"), entries(1, "json"),
		"proxies:\n- a: b\n  c:\n  - d\n  e: \"f\\x41\"\n", "- - a\n  - {b: [c, ], d: }\n", "x: \"a\nproxies:\n- b\"\nproxies: [a]\n",
		"a: |\n  x\nb: &c [d]\nproxies:\r\n  - 'e''f' # g\r\n", "Proxy:\n  -\n    a: 1\n  - b: >\n      c\n  - d\n", "---\n- a: 0B0\n- ~\n", "proxies:\n- a:b: c\n- ? x\n- [a: b]\n",
		"x:\n- a: |\n   y\n  b: \"\nproxies:\n- c\n", "proxies: {a: b}\nProxy: null\n", "proxies:\n- [a#b, \"c\"#d\n, e?f]\n", "k: v # a: b\nproxies:\n - x\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		checkReadersAgree(t, strings.ToValidUTF8(text, "?"))
	})
}

func TestASecondDocumentIsFound(t *testing.T) {
	for _, c := range []struct {
		name, text string
		line       int
	}{
		{"none", "a: 1\n", 0},
		{"a marker at the start", "---\na: 1\n", 0},
		{"a marker behind comments and directives", "# x\n%YAML 1.2\n--- # y\na: 1\n", 0},
		{"nothing behind the marker", "a: 1\n---\n# x\n\n...\n", 0},
		{"one more", "a: 1\n---\n\nb: 2\n", 2},
		{"one behind the end of the first", "a: 1\n...\n---\nb: 2\n", 3},
		{"one on the marker's line", "a: 1\n--- b\n", 2},
		{"a marker that is text", "a: |\n  x\n  ---\n  y\n", 0},
		{"a certificate", "a: 1\n-----BEGIN\nb: 2\n", 0},
		{"Windows lines", "a: 1\r\n---\r\nb: 2\r\n", 2},
	} {
		if got := doc.SecondDocument(c.text); got != c.line {
			t.Errorf("%s: line %d, want %d", c.name, got, c.line)
		}
	}
}
