package pattern_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/processors/pattern"
)

func compile(t *testing.T, expr string) *pattern.Pattern {
	t.Helper()
	p, err := pattern.Compile(expr)
	if err != nil {
		t.Fatalf("%s: %v", expr, err)
	}
	return p
}

func TestWhatRE2RefusesRunsOnTheOtherEngine(t *testing.T) {
	for _, c := range []struct {
		expr   string
		engine pattern.Engine
		text   string
		match  bool
	}{
		{`(?i)hk`, pattern.RE2, "HK 1", true},
		{`^(?!.*expire)`, pattern.Backtracking, "HK 1", true},
		{`^(?!.*expire)`, pattern.Backtracking, "expire soon", false},
		{`(?<=剩余)\d+`, pattern.Backtracking, "剩余12", true},
		{`(\w)\1`, pattern.Backtracking, "aab", true},
		{`(\w)\1`, pattern.Backtracking, "abc", false},
		{`(?P<a>x)(?=y)`, pattern.Backtracking, "xy", true},
		{`(?i)(?!us)hk`, pattern.Backtracking, "HK", true},
		{`\d(?=.)`, pattern.Backtracking, "٣x", false}, // digits are ASCII, as in RE2
	} {
		p := compile(t, c.expr)
		got, err := p.Match(c.text)
		if p.Engine() != c.engine || got != c.match || err != nil {
			t.Errorf("%s on %q: %v by %s (%v), want %v by %s", c.expr, c.text, got, p.Engine(), err, c.match, c.engine)
		}
	}
}

func TestABadPatternSaysWhatIsWrongAndNotWhatItIs(t *testing.T) {
	for expr, want := range map[string]string{
		`(secret`:                     "missing closing )",
		`[secret`:                     "missing closing ]",
		`(?<=secret`:                  "missing closing )",
		`secret**(?=`:                 "pattern does not compile",
		`(?=x)\p{Secret}`:             "pattern does not compile",
		strings.Repeat("a", 4097):     "longer than 4096 bytes",
		strings.Repeat("x{1000}", 30): "too large",
		strings.Repeat("x{1000}", 3):  "",
	} {
		_, err := pattern.Compile(expr)
		if want == "" {
			if err != nil {
				t.Errorf("%s: %v", expr, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%.40s: got %v, want words %q", expr, err, want)
		}
	}
}

func TestReplacementIsGoExpansionOnBothEngines(t *testing.T) {
	for _, c := range []struct{ expr, template, text, want string }{
		{`(\w+) (\d+)`, `$2/${1}_n`, "HK 01", "01/HK_n"},
		{`(\w)x`, `[$1x]`, "ax", "[]"},
		{`(?P<code>[A-Z]{2})`, `<${code}|$code|$$|$0|$9|${>`, "HK", "<HK|HK|$|HK||${>"},
		{`a*`, `-`, "baac", "-b-c-"},
		{`(?:)a*`, `-`, "", "-"},
		{`(a)|(b)`, `[$1$2]`, "ab", "[a][b]"},
		{`香(港)`, `$1`, "香港香港", "港港"},
		{`(?P<x>a)(b)`, `$1$2`, "ab", "ab"}, // named groups count in their place
		{`z`, `$0$0`, "abc", "abc"},
		{`(.)`, "$01", "a", ""},
	} {
		for _, expr := range []string{c.expr, c.expr + `(?=|x)`} {
			p := compile(t, expr)
			r, err := p.Replacement(c.template)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := r.In(c.text); got != c.want || err != nil {
				t.Errorf("%s -> %s in %q by %s: got %q (%v), want %q", expr, c.template, c.text, p.Engine(), got, err, c.want)
			}
		}
	}
}

func TestAReplacementCannotGrowWithoutEnd(t *testing.T) {
	for _, expr := range []string{`(.*)`, `(.*)(?=)`, ``, `(?=(.*))`} {
		r, err := compile(t, expr).Replacement(strings.Repeat("$1${0}xxxxxxxx", 250))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := r.In(strings.Repeat("a", 10_000)); !errors.Is(err, pattern.ErrResult) {
			t.Errorf("%s: %d bytes, %v", expr, len(got), err)
		}
	}
	if _, err := compile(t, `a`).Replacement(strings.Repeat("x", 4097)); err == nil {
		t.Error("a long template was taken")
	}
	// A text that is long itself may be edited.
	r, _ := compile(t, `^a`).Replacement("b")
	if got, err := r.In(strings.Repeat("a", 40_000)); err != nil || got[0] != 'b' {
		t.Error(err)
	}
}

func TestABacktrackingPatternEndsAtItsTimeLimit(t *testing.T) {
	p := compile(t, `^(?=.)(a+)+$`)
	hostile := strings.Repeat("a", 60) + "!"
	start := time.Now()
	if _, err := p.Match(hostile); !errors.Is(err, pattern.ErrSlow) {
		t.Errorf("match: %v", err)
	}
	if _, err := p.Spans(hostile); !errors.Is(err, pattern.ErrSlow) {
		t.Errorf("spans: %v", err)
	}
	r, _ := p.Replacement("")
	if _, err := r.In(hostile); !errors.Is(err, pattern.ErrSlow) {
		t.Errorf("replace: %v", err)
	}
	if took := time.Since(start); took > 3*time.Second {
		t.Errorf("three texts took %v", took)
	}
}

func TestSpansCountUTF16Units(t *testing.T) {
	for _, expr := range []string{`1|🇭🇰`, `1|🇭🇰(?=.)`} {
		got, err := compile(t, expr).Spans("香🇭🇰1 1")
		want := [][2]int{{1, 5}, {5, 6}, {7, 8}}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %v (%v), want %v", expr, got, err, want)
		}
	}
}

func TestTryAnswersAsTheContractSays(t *testing.T) {
	with := "[$1]"
	for _, c := range []struct {
		name, expr  string
		replacement *string
		texts       []string
		want        string
	}{
		{"look-ahead", `^(?!US)(..)`, &with, []string{"HK 1", "US 1"}, `{"valid":true,"engine":"backtracking","matched":1,"items":[{"index":0,"spans":[[0,2]],"replaced":"[HK] 1"}]}`},
		{"no match", `x`, nil, []string{"a"}, `{"valid":true,"engine":"re2","matched":0,"items":[]}`},
		{"no replacement", `b`, nil, []string{"a", "bb"}, `{"valid":true,"engine":"re2","matched":1,"items":[{"index":1,"spans":[[0,1],[1,2]]}]}`},
		{"does not compile", `(`, nil, []string{"a"}, `{"valid":false,"error":"pattern does not compile: missing closing )","matched":0,"items":[]}`},
		{"too slow", `^(?=.)(a+)+$`, nil, []string{strings.Repeat("a", 60) + "!"}, `{"valid":false,"error":"pattern exceeds its time limit","matched":0,"items":[]}`},
	} {
		trial, err := pattern.Try(context.Background(), c.expr, c.replacement, c.texts)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got, _ := json.Marshal(trial); string(got) != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

func TestTryHasLimits(t *testing.T) {
	long := strings.Repeat("x", 4097)
	for _, c := range []struct {
		field, expr string
		with        *string
		texts       []string
	}{
		{"pattern", long, nil, nil},
		{"replacement", "x", &long, nil},
		{"texts", "x", nil, make([]string, 2001)},
		{"texts[1]", "x", nil, []string{"", long}},
	} {
		_, err := pattern.Try(context.Background(), c.expr, c.with, c.texts)
		if e := sandrone.AsError(err); err == nil || e.Code != sandrone.InvalidArgument || e.Field != c.field {
			t.Errorf("%s: got %v", c.field, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := pattern.Try(ctx, "x", nil, []string{"x"}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// Any pattern and template: no panic, and on RE2 the result is that of the
// standard library.
func FuzzReplace(f *testing.F) {
	f.Add(`(\w+) (\d+)`, `$2/${1}_n$$`, "HK 01")
	f.Add(`(?<=a)(b)\1`, `$1x`, "abb")
	f.Add(`[[:alpha:]]*?|`, `-`, "ab香1")
	f.Add(`(?P<n>.)(?=x)`, `${n}${`, "axbx")
	f.Fuzz(func(t *testing.T, expr, template, text string) {
		if len(expr) > 200 || len(text) > 500 || len(template) > 200 {
			return
		}
		p, err := pattern.Compile(expr)
		if err != nil {
			return
		}
		r, err := p.Replacement(template)
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.In(text)
		if err != nil {
			return
		}
		if _, err := p.Spans(text); err != nil && !errors.Is(err, pattern.ErrSlow) {
			t.Fatal(err)
		}
		if p.Engine() == pattern.RE2 {
			if want := regexp.MustCompile(expr).ReplaceAllString(text, template); got != want {
				t.Fatalf("%q -> %q in %q: got %q, want %q", expr, template, text, got, want)
			}
		}
	})
}

func BenchmarkMatch(b *testing.B) {
	for _, expr := range []string{`(?i)expire|剩余|流量`, `^(?!.*expire)`} {
		p, err := pattern.Compile(expr)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(string(p.Engine()), func(b *testing.B) {
			for b.Loop() {
				p.Match("🇭🇰 HK 01 香港 IEPL 专线 2x")
			}
		})
	}
}
