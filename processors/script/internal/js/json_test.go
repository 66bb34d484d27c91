package js

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/dop251/goja"
)

// What is decoded and encoded again is the same value, and the same text but
// for the way of writing it.
func FuzzJSON(f *testing.F) {
	for _, s := range []string{
		`{"a":[1,-2.5e3,null,true,false,"x\"\\\u00e9\ud83d\ude00"],"":{}}`, ` [ ] `, `-0`, `1e400`, `12345678901234567890`, `{"a":1,"a":2}`, `{"__proto__":{"x":1}}`,
		`{"2":1,"1":2}`, `"\u2028<>&"`, `[[[[]]]]`, `01`, `"` + "\x01" + `"`, `nul`, `{"a":}`, "\"\xff\"",
	} {
		f.Add(s)
	}
	vm := goja.New()
	f.Fuzz(func(t *testing.T, s string) {
		d := newDecoder(vm)
		v, err := d.text(s)
		if err != nil {
			if json.Valid([]byte(s)) && !strings.Contains(err.Error(), "deep") {
				t.Fatalf("%q: %v", s, err)
			}
			return
		}
		var want any
		if json.Unmarshal([]byte(s), &want) != nil {
			return // it reads a little more than JSON: what it gets is always sound
		}
		r := &run{vm: vm}
		e := encoder{vm: vm, isArray: must(goja.AssertFunction(vm.Get("Array").(*goja.Object).Get("isArray")))}
		r.encode = e
		form := e.text(v, MaxResult)
		var got any
		if err := json.Unmarshal([]byte(form), &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%q became %q (%v)", s, form, err)
		}
		again, err := d.text(form)
		if err != nil {
			t.Fatal(err)
		}
		if second := e.text(again, MaxResult); second != form || !sameJSON([]byte(form), []byte(second)) {
			t.Fatalf("%q became %q", form, second)
		}
	})
}

func TestSameJSONKnowsNumbers(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{`{"a":1000}`, `{"a":1e3}`, true},
		{`[12345678901234567000]`, `[12345678901234567890]`, true},
		{`[1.5,"x"]`, `[1.50,"x"]`, true},
		{`[1]`, `[2]`, false},
		{`["1"]`, `["1.0"]`, false},
		{`["1e3"]`, `["1000"]`, false},
		{`["a"]`, `["a","b"]`, false},
		{`["a\"1"]`, `["a\"2"]`, false},
		{`[1`, `[1]`, false},
		{`"`, `"x"`, false},
		{`[true]`, `[1]`, false},
	} {
		if got := sameJSON([]byte(c.a), []byte(c.b)); got != c.same {
			t.Errorf("%s and %s: got %v", c.a, c.b, got)
		}
	}
}
