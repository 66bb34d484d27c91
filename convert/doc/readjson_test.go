package doc_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/sandrone-gateway/sandrone/convert/doc"
)

func TestReadJSONKeepsTextAndOrder(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"scalars", `[null, true, false, -0.5e+10, "x"]`, `[null b(true) b(false) n(-0.5e+10) "x"]`},
		{"big number", `12345678901234567890123`, `n(12345678901234567890123)`},
		{"order and repeated keys", `{"b":1,"a":2,"b":3}`, `{b:n(1) a:n(2) b:n(3)}`},
		{"nesting", `{"a":{"b":[[],{}]}}`, `{a:{b:[[] {}]}}`},
		{"escapes", `"\"\\\/\b\f\n\r\tA"`, `"\"\\/\b\f\n\r\tA"`},
		{"surrogates", `"\ud83c\udded\uD83C\uDDF0"`, `"🇭🇰"`},
		{"half surrogates", `"\ud83cx\udded\ud83c\u0041"`, `"` + "\uFFFD" + `x` + "\uFFFD\uFFFD" + `A"`},
		{"not UTF-8", "\"a\xffb\"", `"a` + "\uFFFD" + `b"`},
		{"line comment", "// a\n{\"a\": 1, // b\n \"c\": 2}//", `{a:n(1) c:n(2)}`},
		{"hash comment", "# a\n[1, # b\n2] # c", `[n(1) n(2)]`},
		{"block comment", `/* a */[1,/* , */2/**/]`, `[n(1) n(2)]`},
		{"trailing commas", `{"a":[1,2,],}`, `{a:[n(1) n(2)]}`},
		{"comment marks in strings", `["// a", "# b", "/* c */"]`, `["// a" "# b" "/* c */"]`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d, err := doc.ReadJSON(nil, tt.text)
			if err != nil {
				t.Fatal(err)
			}
			if got := dump(d, 0); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestReadJSONSaysWhereTheFaultIs(t *testing.T) {
	tests := []struct {
		name, text   string
		line, column int
	}{
		{"empty", "", 1, 1},
		{"blank", " \n ", 2, 2},
		{"unclosed map", "{", 1, 2},
		{"unclosed list", "[1,\n", 2, 1},
		{"unclosed string", `["a`, 1, 4},
		{"no colon", `{"a" 1}`, 1, 6},
		{"no comma", "[\n \"香港\" 2]", 2, 7},
		{"key without quotes", `{a: 1}`, 1, 2},
		{"only a comma", `[,]`, 1, 2},
		{"two commas", `[1,,2]`, 1, 4},
		{"text after the end", `{} x`, 1, 4},
		{"second value", `1 2`, 1, 3},
		{"leading zero", `[01]`, 1, 3},
		{"no digits after the point", `[1.]`, 1, 2},
		{"plus sign", `[+1]`, 1, 2},
		{"hex", `[0x1f]`, 1, 3},
		{"wrong word", `[nul]`, 1, 2},
		{"upper case", `[True]`, 1, 2},
		{"control character", "[\"a\x01\"]", 1, 4},
		{"line break in a string", "[\"a\n\"]", 1, 4},
		{"bad escape", `["\x41"]`, 1, 3},
		{"bad hex", `["\u00g1"]`, 1, 3},
		{"escape at the end", `["\`, 1, 4},
		{"unclosed comment", `[1] /* x`, 1, 5},
		{"lone slash", `[1] /`, 1, 5},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dst := doc.Items{{Key: "kept", End: 1}}
			d, err := doc.ReadJSON(dst, tt.text)
			e, ok := errors.AsType[*doc.SyntaxError](err)
			if !ok {
				t.Fatalf("got error %v, want a SyntaxError", err)
			}
			if e.Line != tt.line || e.Column != tt.column {
				t.Errorf("got %v, want line %d, column %d", err, tt.line, tt.column)
			}
			if len(d) != 1 || d[0].Key != "kept" {
				t.Errorf("the items given are not returned as they were: %v", d)
			}
		})
	}
}

func TestReadStrictJSONRefusesWhatToleranceAllows(t *testing.T) {
	for _, text := range []string{"[1,]", `{"a":1,}`, "[1] # c", "[1] // c", "/* c */ [1]"} {
		if _, err := doc.ReadJSON(nil, text); err != nil {
			t.Errorf("%s: tolerant reader: %v", text, err)
		}
		if _, err := doc.ReadStrictJSON(nil, text); err == nil {
			t.Errorf("%s: strict reader accepts it", text)
		}
	}
	if _, err := doc.ReadStrictJSON(nil, ` {"a":[1,{}]} `); err != nil {
		t.Error(err)
	}
}

func TestReadJSONLimitsDepth(t *testing.T) {
	nest := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	if _, err := doc.ReadJSON(nil, nest(doc.MaxJSONDepth)); err != nil {
		t.Errorf("at the limit: %v", err)
	}
	for _, text := range []string{nest(doc.MaxJSONDepth + 1), strings.Repeat(`{"a":`, 1_000_000)} {
		if _, err := doc.ReadJSON(nil, text); !errors.Is(err, doc.ErrTooDeep) {
			t.Errorf("got %v, want ErrTooDeep", err)
		}
		if _, err := doc.EachJSON(text, nil, nil); !errors.Is(err, doc.ErrTooDeep) {
			t.Errorf("entries: got %v, want ErrTooDeep", err)
		}
		if _, err := doc.EachYAML(text, nil, nil); !errors.Is(err, doc.ErrTooDeep) {
			t.Errorf("as YAML: got %v, want ErrTooDeep", err)
		}
	}
	entry := func(n int) string { return `{"a":[` + nest(n) + `]}` }
	ignore := func(string, doc.Items) error { return nil }
	if _, err := doc.EachJSON(entry(doc.MaxJSONDepth-2), []string{"a"}, ignore); err != nil {
		t.Errorf("entry at the limit: %v", err)
	}
	if _, err := doc.EachJSON(entry(doc.MaxJSONDepth-1), []string{"a"}, ignore); !errors.Is(err, doc.ErrTooDeep) {
		t.Errorf("entry over the limit: got %v, want ErrTooDeep", err)
	}
}

func TestReadersLimitTheItemsOfOneTree(t *testing.T) {
	defer doc.SetMaxItems(1000)()
	for _, n := range []int{998, 1000} {
		text := "[" + strings.Repeat("0,", n) + "0]"
		want := error(nil)
		if n == 1000 {
			want = doc.ErrTooLarge
		}
		_, err := doc.ReadJSON(nil, text)
		_, err2 := doc.ReadYAML(nil, "- x: "+text[:len(text)-4]+"]")
		_, err3 := doc.EachYAML("a:\n- "+text, []string{"a"}, func(string, doc.Items) error { return nil })
		_, err4 := doc.EachJSON(`{"a":[`+text+`]}`, []string{"a"}, func(string, doc.Items) error { return nil })
		for i, err := range []error{err, err2, err3, err4} {
			if !errors.Is(err, want) {
				t.Errorf("%d items, reader %d: got %v, want %v", n+2, i, err, want)
			}
		}
		entries := 0
		_, err = doc.EachJSON(text, nil, func(string, doc.Items) error { entries++; return nil })
		if err != nil || entries != n+1 {
			t.Errorf("the limit is for one entry, not for all: %d entries, %v", entries, err)
		}
	}
}

func TestReadJSONAliasesStringsWithoutEscapes(t *testing.T) {
	text := `{"key": "value"}`
	d, err := doc.ReadJSON(nil, text)
	if err != nil {
		t.Fatal(err)
	}
	if unsafe.StringData(d[1].Text) != unsafe.StringData(text[9:]) {
		t.Error("the string is a copy")
	}
	items := make(doc.Items, 0, 16)
	if n := testing.AllocsPerRun(100, func() { items, _ = doc.ReadJSON(items[:0], text) }); n > 0 {
		t.Errorf("got %v allocations into a reused slice, want 0", n)
	}
}

func TestReadJSONAppends(t *testing.T) {
	d, err := doc.ReadJSON(nil, `[1]`)
	if err != nil {
		t.Fatal(err)
	}
	n := len(d)
	if d, err = doc.ReadJSON(d, `{"a":[2]}`); err != nil {
		t.Fatal(err)
	}
	if got, want := dump(d, 0)+dump(d, n), `[n(1)]{a:[n(2)]}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestEachFindsTheLists(t *testing.T) {
	// What both notations have in common: JSON texts, read by either door.
	tests := []struct {
		name, text, keys, found, want string
	}{
		{"one key", `{"x":[9],"a":[1,{"b":2}]}`, "a", "a", "a=n(1)\na={b:n(2)}"},
		{"two keys in the order of the text", `{"b":[1],"a":[2]}`, "a b", "b a", "b=n(1)\na=n(2)"},
		{"the last of a repeated key", `{"a":[1],"b":[2],"a":[3]}`, "a b", "b a", "b=n(2)\na=n(3)"},
		{"empty list", `{"a":[]}`, "a", "a", ""},
		{"null", `{"a":null}`, "a", "a", ""},
		{"absent", `{"b":[1]}`, "a", "", ""},
		{"not below the top", `{"x":{"a":[1]}}`, "a", "", ""},
		{"key with an escape", `{"\u0061":[1]}`, "a", "a", "a=n(1)"},
		{"top-level list", `[1,{"a":[2]}]`, "a", `""`, "=n(1)\n={a:[n(2)]}"},
		{"empty top-level list", `[]`, "a", `""`, ""},
		{"scalar", `"a"`, "a", "", ""},
	}
	doors := map[string]func(string, []string, func(string, doc.Items) error) ([]string, error){
		"json": doc.EachJSON, "yaml": doc.EachYAML, "library": doc.EachByLibrary,
	}
	for _, tt := range tests {
		for door, each := range doors {
			t.Run(tt.name+"/"+door, func(t *testing.T) {
				var got collector
				found, err := each(tt.text, strings.Fields(tt.keys), got.add)
				if err != nil {
					t.Fatal(err)
				}
				want := strings.Fields(strings.ReplaceAll(tt.found, `""`, ""))
				if tt.found == `""` {
					want = []string{""}
				}
				if !slices.Equal(found, want) {
					t.Errorf("found %q, want %q", found, want)
				}
				if got.String() != tt.want {
					t.Errorf("got\n%s\nwant\n%s", &got, tt.want)
				}
			})
		}
	}
}

func TestEachRefusesWhatIsNoList(t *testing.T) {
	ignore := func(string, doc.Items) error { t.Error("an entry was passed"); return nil }
	for _, text := range []string{`{"b":[1],"a":{}}`, `{"b":[1],"a":"x"}`, `{"b":[1],"a":0}`, `{"b":[1],"a":false}`, `{"b":[1],"a":"null"}`} {
		if _, err := doc.EachJSON(text, []string{"b", "a"}, ignore); !errors.Is(err, doc.ErrNotList) || !strings.HasPrefix(err.Error(), "a:") {
			t.Errorf("JSON %s: got %v, want ErrNotList naming a", text, err)
		}
	}
	for _, text := range []string{"a: {}", "a: x", "a: 0", "a:\n  b: 1", "a:\n  b", "a: 'null'", "a: |\n  - x", "x: &x {}\na: *x"} {
		if _, err := doc.EachYAML(text, []string{"a"}, ignore); !errors.Is(err, doc.ErrNotList) || !strings.HasPrefix(err.Error(), "a:") {
			t.Errorf("YAML %q: got %v, want ErrNotList naming a", text, err)
		}
	}
}

func TestEachJSONPassesNothingOfABrokenText(t *testing.T) {
	f := func(string, doc.Items) error { t.Error("an entry was passed"); return nil }
	for _, text := range []string{`{"a":[1,2}`, `{"a":[1],"b":nope}`, `{"a":[1]} x`, `[1,2`} {
		if _, err := doc.EachJSON(text, []string{"a"}, f); err == nil {
			t.Errorf("%s: no error", text)
		}
	}
}

func TestEachStopsWhereItsFunctionFails(t *testing.T) {
	stop := errors.New("enough")
	for _, text := range []string{`{"a":[1,2,3]}`, "a:\n- 1\n- 2\n- 3\n", "a: [1, 2, 3]", "a:\n- &x 1\n- 2\n- 3\n"} {
		n := 0
		_, err := doc.EachYAML(text, []string{"a"}, func(string, doc.Items) error {
			if n++; n == 2 {
				return stop
			}
			return nil
		})
		if !errors.Is(err, stop) || n != 2 {
			t.Errorf("%q: got %v after %d entries, want the error of the second", text, err, n)
		}
	}
}

func TestErrorsNeverQuoteTheText(t *testing.T) {
	const secret = "hunter2"
	for _, text := range []string{
		`{"password": "` + secret, `{"password": "` + secret + `" ` + secret + `}`, `{"password": ` + secret,
		"password: *" + secret, "password: !<" + secret, "a: [" + secret, "a: '" + secret, secret + ": @" + secret, "%" + secret + " x\n--- a",
		"a: !" + secret + "!x y", "<<: " + secret, "a: \"\\q" + secret + "\"", "&" + secret + " [*" + secret + "]",
	} {
		_, err := doc.ReadYAML(nil, text)
		_, err2 := doc.ReadJSON(nil, text)
		for _, err := range []error{err, err2} {
			if err != nil && strings.Contains(err.Error(), secret) {
				t.Errorf("%q: %v", text, err)
			}
		}
		if err == nil && !strings.HasPrefix(text, "&") {
			t.Errorf("%q: no error", text)
		}
	}
}

// plainValue is what encoding/json makes of the same text, numbers kept.
func plainValue(d doc.Items, i int) any {
	switch it := d[i]; it.Kind {
	case doc.Null:
		return nil
	case doc.Bool:
		return it.Text == "true"
	case doc.Num:
		return json.Number(it.Text)
	case doc.List:
		list := []any{}
		for j := i + 1; j < int(it.End); j = d.Next(j) {
			list = append(list, plainValue(d, j))
		}
		return list
	case doc.Map:
		m := map[string]any{}
		for j := i + 1; j < int(it.End); j = d.Next(j) {
			m[d[j].Key] = plainValue(d, j)
		}
		return m
	default:
		return it.Text
	}
}

// FuzzJSON holds the readers to encoding/json, and the printers to the
// readers.
func FuzzJSON(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,-2.5e3,true,null,"x\n\ud83c\udded"],"b":{}}`, `[1,]`, "// c\n[]", `"\ud800"`, `{"a":1,"a":2}`, "\"\xff\"", `[01]`, "", `{"proxies":[{"name":"a"}],"x":[[[]]]}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ToValidUTF8(text, "?")
		strict, strictErr := doc.ReadStrictJSON(nil, text)
		loose, looseErr := doc.ReadJSON(nil, text)
		if strictErr == nil {
			if looseErr != nil || dump(strict, 0) != dump(loose, 0) {
				t.Fatalf("the tolerant reader differs: %v", looseErr)
			}
			dec := json.NewDecoder(strings.NewReader(text))
			dec.UseNumber()
			var want any
			if err := dec.Decode(&want); err != nil {
				t.Fatalf("encoding/json refuses what the strict reader accepts: %v", err)
			}
			if got := plainValue(strict, 0); !reflect.DeepEqual(got, want) {
				t.Fatalf("got %#v, want %#v", got, want)
			}
		} else if json.Valid([]byte(text)) && !errors.Is(strictErr, doc.ErrTooDeep) {
			t.Fatalf("valid JSON is refused: %v", strictErr)
		}
		if looseErr != nil {
			return
		}
		for i, printed := range []string{
			string(doc.AppendJSON(nil, loose, 0)), string(doc.AppendJSONIndent(nil, loose, 0, 0)),
		} {
			again, err := doc.ReadStrictJSON(nil, printed)
			if err != nil || dump(again, 0) != dump(loose, 0) {
				t.Fatalf("printer %d: %s reads back as %v, %v", i, printed, again, err)
			}
		}

		var entries collector
		found, err := doc.EachJSON(text, []string{"proxies", "a"}, entries.add)
		if err != nil && !errors.Is(err, doc.ErrNotList) {
			t.Fatalf("entries of a readable text: %v", err)
		}
		if err == nil && loose[0].Kind == doc.Map {
			var want collector
			for _, key := range found {
				list := loose.Find(0, key)
				for j := list + 1; j < int(loose[list].End); j = loose.Next(j) {
					want.entries = append(want.entries, fmt.Sprint(key, "=", dump(loose, j)))
				}
			}
			if entries.String() != want.String() {
				t.Fatalf("entries\n%s\nwant\n%s", &entries, &want)
			}
		}
	})
}
