package processors_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/processors"
)

func replaced(t *testing.T, content, params string) (string, *sandrone.Error) {
	t.Helper()
	res, err := registry.File(t.Context(), processors.Run{}, []sandrone.ProcessorSpec{{Type: "replace", Params: []byte(params)}}, processors.File{Kind: sandrone.FileStatic, Content: content})
	if err != nil {
		return "", sandrone.AsError(err)
	}
	return res.File.Content, nil
}

func TestReplace(t *testing.T) {
	for _, c := range []struct{ name, content, params, want string }{
		{"every place", "a b a", `{"rules":[{"from":"a","to":"c"}]}`, "c b c"},
		{"rules in order, each on what came before", "a", `{"rules":[{"from":"a","to":"b"},{"from":"b","to":"c"}]}`, "c"},
		{"literal text is no pattern and no template", "a.b axb", `{"rules":[{"from":"a.b","to":"$0"}]}`, "$0 axb"},
		{"without to it is removed", "aba", `{"rules":[{"from":"a"}]}`, "b"},
		{"blanks are a text", "a b", `{"rules":[{"from":" ","to":"\n"}]}`, "a\nb"},
		{"a new text is not searched again", "aa", `{"rules":[{"from":"a","to":"aa"}]}`, "aaaa"},
		{"at most so many of each rule", "aa bb", `{"rules":[{"from":"a","to":"x"},{"from":"b","to":"y","regex":true}],"count":1}`, "xa yb"},
		{"groups", "k: v\nl: w\n", `{"rules":[{"from":"(?m)^(?P<key>\\w): (\\w)$","to":"${key}=$2$$","regex":true}]}`, "k=v$\nl=w$\n"},
		{"look-around", "ab cb", `{"rules":[{"from":"(?<=a)b","to":"x","regex":true}]}`, "ax cb"},
		{"count of look-around", "ab ab", `{"rules":[{"from":"(?<=a)b","to":"x","regex":true}],"count":1}`, "ax ab"},
		{"a text that grows", strings.Repeat("x", 10), `{"rules":[{"from":"x","to":"` + strings.Repeat("y", 4096) + `","regex":true}]}`, strings.Repeat("y", 40960)},
		{"nothing found", "a", `{"rules":[{"from":"b","to":"c"}]}`, "a"},
		{"an empty document", "", `{"rules":[{"from":"^$","to":"c","regex":true}]}`, "c"},
	} {
		if got, e := replaced(t, c.content, c.params); e != nil || got != c.want {
			t.Errorf("%s: got %q (%v), want %q", c.name, got, e, c.want)
		}
	}
}

func TestReplaceRefuses(t *testing.T) {
	const invalid, failed = sandrone.ProcessorConfigInvalid, sandrone.FileProcessorFailed
	long := strings.Repeat("x", 4096)
	for _, c := range []struct {
		name, content, params string
		code                  sandrone.Code
		field                 string
	}{
		{"no rules", "", `{}`, invalid, "rules"},
		{"an empty list", "", `{"rules":[]}`, invalid, "rules"},
		{"no from", "", `{"rules":[{"to":"a"}]}`, invalid, "rules[0].from"},
		{"an empty from", "", `{"rules":[{"from":"a"},{"from":""}]}`, invalid, "rules[1].from"},
		{"an unknown member", "", `{"rules":[{"from":"a","with":"b"}]}`, invalid, "rules[0].with"},
		{"a pattern that is none", "", `{"rules":[{"from":"(","regex":true}]}`, invalid, "rules[0].from"},
		{"no replacement at all", "", `{"rules":[{"from":"a"}],"count":0}`, invalid, "count"},
		{"a literal that grows without end", strings.Repeat("a", 9000), `{"rules":[{"from":"a","to":"` + long + `"}]}`, failed, "rules[0]"},
		{"a pattern that grows without end", strings.Repeat("a", 9000), `{"rules":[{"from":"b"},{"from":"a|$","to":"` + long + `","regex":true}]}`, failed, "rules[1]"},
		{"a pattern without end on the backtracking engine", strings.Repeat("a", 60) + "!", `{"rules":[{"from":"^(?=.)(a+)+$","regex":true}]}`, failed, "rules[0]"},
		{"look-around in a text that is too long for it", strings.Repeat("a", 5<<20), `{"rules":[{"from":"(?<=b)a","regex":true}]}`, failed, "rules[0]"},
		{"a large pattern in a large text", strings.Repeat("a", 2<<20), `{"rules":[{"from":"b{1000}c{1000}d{1000}e{1000}f{1000}","regex":true}]}`, failed, "rules[0]"},
	} {
		_, e := replaced(t, c.content, c.params)
		if e == nil || e.Code != c.code || e.Field != "processors[0].params."+c.field || e.Processor != "replace" {
			t.Errorf("%s: got %+v", c.name, e)
		}
	}
}

// Many matches in a document of megabytes are found one at a time, with the
// context that each has in the document.
func TestReplaceInALargeDocument(t *testing.T) {
	const lines = 200_000
	var in, want strings.Builder
	for i := range lines {
		fmt.Fprintf(&in, "- DOMAIN,a%d.example,PROXY\n", i)
		fmt.Fprintf(&want, "+ DOMAIN,a%d.test,Proxy\n", i)
	}
	got, e := replaced(t, in.String(), `{"rules":[{"from":"(?m)^-","to":"+","regex":true},{"from":"\\.example\\b","to":".test","regex":true},{"from":"PROXY","to":"Proxy"}]}`)
	if e != nil || got != want.String() {
		t.Errorf("%v; %d bytes, want %d", e, len(got), want.Len())
	}
}

func BenchmarkReplace(b *testing.B) {
	content := strings.Repeat("    url: https://raw.githubusercontent.com/owner/repo/main/geo.yaml\n", 160_000)
	for _, c := range []struct{ name, rule string }{
		{"literal", `{"from":"https://raw.githubusercontent.com/owner/repo/main/","to":"https://cdn.example/"}`},
		{"absent", `{"from":"https://raw.githubusercontent.com/other/","to":"https://cdn.example/"}`},
		{"pattern", `{"from":"https://raw\\.githubusercontent\\.com/(\\w+)/","to":"https://cdn.example/$1/","regex":true}`},
		{"lines", `{"from":"(?m)^ +url: (\\S+)$","to":"url: $1","regex":true}`},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(content)))
			for b.Loop() {
				_, err := registry.File(b.Context(), processors.Run{}, []sandrone.ProcessorSpec{{Type: "replace", Params: []byte(`{"rules":[` + c.rule + `]}`)}}, processors.File{Content: content})
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
