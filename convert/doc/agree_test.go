package doc_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sandrone-gateway/sandrone/convert/doc"
)

// pieces are what YAML texts are made of. Random rows of them come closer to
// the odd corners of the syntax than random bytes do.
var pieces = append(strings.Split(`proxies:|proxies: |Proxy:|x:|x: |a: |b:|"c": |'d': |: |:|- |-|-- |---|...|? |`+
	`[|]|{|}|, |,|a|b c|0088|1e3|-1|~|null|True|"|'|"e"|'f'|"g\"h"|'i''j'|\n|\x41|\|#| #| # x|#x|&y |*y|!z |!!str |<<: *y|<<: | ||| >|%|@|`+"`"+
	`|k#l|m?n|::|http://o/p|=|香|.|/|+|`+"\t|\r\n|\r|\u00a0|\u0085", "|"), "|", ">-", "|")

func randomYAML(r *rand.Rand) string {
	var b strings.Builder
	if r.IntN(4) > 0 {
		b.WriteString([]string{"proxies:\n", "x: 1\nproxies:\n", "- ", "x: ", "proxies: "}[r.IntN(5)])
	}
	for range 1 + r.IntN(6) {
		b.WriteString("        "[:r.IntN(3)*r.IntN(3)])
		if r.IntN(2) > 0 {
			b.WriteString("- ")
		}
		for range r.IntN(6) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestYAMLReadersAgreeOnRandomText(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	both := 0
	for range agreeRounds {
		text := randomYAML(r)
		if checkReadersAgree(t, text) {
			both++
		}
		if t.Failed() {
			return
		}
	}
	if both < agreeRounds/20 {
		t.Errorf("only %d of %d texts are read by both: the test has lost its point", both, agreeRounds)
	}
	t.Logf("%d of %d texts are read by both", both, agreeRounds)
}

const agreeRounds = 20_000

// checkReadersAgree holds the subset reader to the library: where both read a
// text, they find the same. It tells whether both do.
func checkReadersAgree(t *testing.T, text string) bool {
	t.Helper()
	keys := []string{"proxies", "Proxy"}
	var subset, library collector
	found, ok, err := doc.EachSubset(text, keys, subset.add)
	wantFound, wantErr := doc.EachByLibrary(text, keys, library.add)
	if wantErr != nil {
		if _, syntax := errors.AsType[*doc.SyntaxError](wantErr); ok && !syntax {
			t.Errorf("%q\nsubset  %q\nlibrary %v", text, subset.entries, wantErr)
		}
		return false // broken rules cost no nodes: the subset reader may accept it
	}
	if ok && err == nil && (subset.String() != library.String() || !slices.Equal(found, wantFound)) {
		t.Errorf("%q\nsubset  %q %q\nlibrary %q %q", text, found, subset.entries, wantFound, library.entries)
	}
	if n := len(subset.entries); !ok && !slices.Equal(subset.entries, library.entries[:min(n, len(library.entries))]) {
		t.Errorf("%q\nbefore it gave up, the subset reader found %q\nlibrary %q", text, subset.entries, library.entries)
	}
	return ok
}
