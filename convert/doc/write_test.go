package doc_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/sandrone-gateway/sandrone/convert/doc"
)

func readJSON(t *testing.T, text string) doc.Items {
	t.Helper()
	var d doc.Items
	if err := doc.AddJSON(&d, "", json.RawMessage(text)); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestAppendYAMLListWritesOneProxy(t *testing.T) {
	d := readJSON(t, `{"name":"🇭🇰 香港","type":"ss","port":8388,"udp":true,"none":null,"alpn":["h2","http/1.1",8443,""],
		"empty":{},"nothing":[],"lists":[["a"],[]],
		"ws-opts":{"path":"/","headers":{"Host":"a.example"}},
		"peers":[{"a":1,"b":{"c":[1]}},{"d":{}},"x",[{"e":1},{"f":2}]]}`)
	want := `  - name: "🇭🇰 香港"
    type: ss
    port: 8388
    udp: true
    none: null
    alpn: [h2, http/1.1, 8443, ""]
    empty: {}
    nothing: []
    lists: [[a], []]
    ws-opts:
      path: /
      headers:
        Host: a.example
    peers:
      - a: 1
        b:
          c: [1]
      - d: {}
      - x
      - - e: 1
        - f: 2
`
	if got := string(doc.AppendYAMLList([]byte("proxies:\n"), d, 0, 2)); got != "proxies:\n"+want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	back, err := doc.ReadYAML(nil, want)
	if err != nil {
		t.Fatal(err)
	}
	var again bytes.Buffer
	if err := json.Compact(&again, doc.AppendJSON(nil, back, 1)); err != nil || again.String() != string(doc.JSONOf(d, 0)) {
		t.Errorf("reads back as %s, %v", &again, err)
	}
}

func TestAppendYAMLListOfOtherValues(t *testing.T) {
	for text, want := range map[string]string{
		`"x"`: "- x\n", `{}`: "- {}\n", `[]`: "- []\n", `[1,"yes"]`: "- [1, \"yes\"]\n", `null`: "- null\n",
		`[{"a":1}]`: "- - a: 1\n", `{"a":[{"b":1}]}`: "- a:\n    - b: 1\n",
	} {
		if got := string(doc.AppendYAMLList(nil, readJSON(t, text), 0, 0)); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

func TestYAMLQuotesUnlessCertain(t *testing.T) {
	plain := strings.Fields(`a ss vless aes-128-gcm 2022-blake3-aes-128-gcm 192.0.2.1 hk1.example.com http/1.1 /path
		xtls-rprx-vision chacha20-ietf-poly1305 chrome Zk3vQ0m9rT1xYb7uLc2sWn5aHd8jPe4gKf6iOq0tVyA a@b c%20d e=f g$h i(j) k+l== infinity nullx yesno ex e1`)
	quoted := []string{
		"", "81e3", "yes", "Yes", "NO", "on", "y", "N", "true", "FALSE", "0123", "0088", "08", "null", "Null", "~", "1_000", "1_000.5",
		"🇭🇰 香港", "a: b # c", "a b", "a:b", "a#b", `"`, `'`, `a"b`, `a\b`, "0x1f", "0o7", "0b1", "017", "12:30", ".inf", "-.inf", "NaN", ".nan", "inf", "Inf",
		"1", "1.5", "-1", "+1", ".5", "1e3", "2001-12-14", "2001:db8::1", "9d50f116-0000-4000-8000-00000000abcd", "<<", "=", "---", "...", "-", "- a", "_x", "@a", "%a",
		"`a", "&a", "*a", "!a", "|", ">", "?", "{a", "[a", "a,b", "a]", "a}", "a;b", "a<b", "a\tb", "a\nb", "a\x00b", "\u0085", "a\u2028", "\uFEFFa", "é", " a", "a ", "1.2", "1.2.3e4",
	}
	for _, s := range plain {
		var d doc.Items
		d.AddStr("", s)
		if got := string(doc.AppendYAMLList(nil, d, 0, 0)); got != "- "+s+"\n" {
			t.Errorf("%s is written %s", s, got)
		}
	}
	for _, s := range quoted {
		var d doc.Items
		d.AddStr("", s)
		got := string(doc.AppendYAMLList(nil, d, 0, 0))
		if !strings.HasPrefix(got, `- "`) {
			t.Errorf("%q is written without quotes: %s", s, got)
		}
	}
	for _, s := range append(plain, quoted...) {
		checkScalar(t, s)
	}
	var d doc.Items
	d.AddQuoted("", "abcd")
	if got := string(doc.AppendYAMLList(nil, d, 0, 0)); got != "- \"abcd\"\n" {
		t.Errorf("a quoted item is written %s", got)
	}
}

func TestYAMLEscapes(t *testing.T) {
	for s, want := range map[string]string{
		"a\"b\\c":               `"a\"b\\c"`,
		"\n\t\r\x00\x1b\x7f":    `"\n\t\x0d\x00\x1b\x7f"`,
		"\u0080\u0085\u009f":    `"\x80\x85\x9f"`,
		"\u2028\u2029\uFEFF":    `"\u2028\u2029\ufeff"`,
		"\uFFFE\uFFFF\uFFFD":    `"\ufffe\uffff` + "\uFFFD" + `"`,
		"a\xffb\xc3":            `"a` + "\uFFFDb\uFFFD" + `"`,
		"🇭🇰 \u00a0\u200d\ufe0f": `"🇭🇰 ` + "\u00a0\u200d\ufe0f" + `"`,
	} {
		var d doc.Items
		d.AddStr("", s)
		if got := string(doc.AppendYAMLList(nil, d, 0, 0)); got != "- "+want+"\n" {
			t.Errorf("%q: got %s, want %s", s, got, want)
		}
	}
}

// checkScalar writes s as a key and as values, and reads it back with the
// library into Go values and with our readers.
func checkScalar(t *testing.T, s string) {
	t.Helper()
	want := string([]rune(s)) // each byte that is not UTF-8 is one U+FFFD
	var d doc.Items
	m := d.Open("", doc.Map)
	d.AddStr(s, s)
	inner := d.Open(s+"2", doc.Map)
	d.AddStrings("list", []string{s, s})
	d.Close(inner)
	d.Close(m)
	text := "proxies:\n" + string(doc.AppendYAMLList(nil, d, 0, 2)) + "x: 1\n"

	var loaded struct{ Proxies []map[string]any }
	if err := yaml.Unmarshal([]byte(text), &loaded); err != nil {
		t.Fatalf("%q: the library refuses\n%s\n%v", s, text, err)
	}
	proxy := loaded.Proxies[0]
	if got, ok := proxy[want].(string); !ok || got != want {
		t.Errorf("%q: the library reads %#v from\n%s", s, proxy, text)
	}
	second, _ := proxy[string([]rune(s+"2"))].(map[string]any)
	list, _ := second["list"].([]any)
	if len(list) != 2 || list[0] != any(want) || list[1] != any(want) {
		t.Errorf("%q: the library reads %#v from\n%s", s, proxy, text)
	}

	n := 0
	_, err := doc.EachYAML(text, []string{"proxies"}, func(_ string, e doc.Items) error {
		n++
		if len(e) != 6 || e[1].Kind != doc.Str || e[1].Key != want || e[1].Text != want || e[4].Kind != doc.Str || e[4].Text != want {
			t.Errorf("%q: reads back as %s from\n%s", s, dump(e, 0), text)
		}
		return nil
	})
	if err != nil || n != 1 {
		t.Errorf("%q: %d entries, %v from\n%s", s, n, err, text)
	}
}

func FuzzYAMLScalarRoundTrip(f *testing.F) {
	for _, s := range []string{
		"", "81e3", "yes", "0123", "null", "1_000", "~", "🇭🇰 香港", "a: b # c", `"'\`, "\x00\x7f\u0085", "0x1f", "12:30", ".inf", "<<", "2001-12-14", "1.2.3", "0B0", "a\xffb",
		strings.Repeat("long", 300), strings.Repeat("香", 600), "1e5g", "0o7", "=", "- -", "\u2028",
	} {
		f.Add(s)
	}
	f.Fuzz(checkScalar)
}

func TestAppendJSONMatchesTheStandardForm(t *testing.T) {
	for _, text := range []string{
		`{"a":[1,-2.50e3,true,null,"x"],"b":{},"c":[],"d":{"e":[{"f":[[]]}]},"<&>":"<&>"}`, `[]`, `{}`, `"x"`, `12`, `[[1],[2,3]]`,
	} {
		d := readJSON(t, text)
		if got := string(doc.JSONOf(d, 0)); got != text {
			t.Errorf("compact: got %s, want %s", got, text)
		}
		var want bytes.Buffer
		for depth, prefix := range []string{"", "  ", "    "} {
			want.Reset()
			if err := json.Indent(&want, []byte(text), prefix, "  "); err != nil {
				t.Fatal(err)
			}
			if got := string(doc.AppendJSONIndent(nil, d, 0, depth)); got != want.String() {
				t.Errorf("depth %d: got\n%s\nwant\n%s", depth, got, &want)
			}
		}
	}
}

func TestAppendJSONWritesEveryString(t *testing.T) {
	for _, s := range []string{"", "a\"b\\c/", "\x00\x1f\x7f\b\f\n\r\t", "🇭🇰\u2028\u2029\uFEFF", "a\xffb\xc3", "<script>&"} {
		var d doc.Items
		d.AddStr("", s)
		printed := doc.AppendJSON(nil, d, 0)
		var got string
		if err := json.Unmarshal(printed, &got); err != nil || got != string([]rune(s)) {
			t.Errorf("%q is written %s, which reads as %q, %v", s, printed, got, err)
		}
		if strings.Contains(string(printed), `\u003c`) {
			t.Errorf("HTML is escaped: %s", printed)
		}
	}
}

func TestJSONOfYAMLBooleansIsJSON(t *testing.T) {
	d, err := doc.ReadYAML(nil, "[True, FALSE, 'True', 007, 1_0, 0x1f, 1.0]")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(doc.JSONOf(d, 0)), `[true,false,"True","007","1_0","0x1f",1.0]`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestAddJSONBringsRawMembersBack(t *testing.T) {
	var d doc.Items
	m := d.Open("", doc.Map)
	for key, raw := range map[string]string{"x": `{"a":[1,"b","yes"]}`} {
		if err := doc.AddJSON(&d, key, json.RawMessage(raw)); err != nil {
			t.Fatal(err)
		}
	}
	before := len(d)
	if err := doc.AddJSON(&d, "y", json.RawMessage(`{"a":[1,}`)); err == nil || len(d) != before {
		t.Errorf("broken JSON: got %v and %d items, want an error and %d", err, len(d), before)
	}
	d.Close(m)
	if got, want := string(doc.AppendYAMLList(nil, d, 0, 0)), "- x:\n    a: [1, b, \"yes\"]\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
