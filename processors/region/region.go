// Package region tells which country a node is in from its name.
//
// [Default] knows every country of ISO 3166-1 by flag, names and code, and the
// popular ones by cities and airports too. [Table.With] adds what a user knows
// besides. [Table.Detect] also says what it found, so that a surprising answer
// explains itself.
package region

import (
	_ "embed"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// Region is a country, or what a user made of one. It must not be changed.
type Region struct {
	ID      string   // lower-case; the alpha-2 code, but "uk" for GB
	Flag    string   // emoji; empty where a user gave none
	English string   // display names
	Chinese string   // simplified
	Terms   []string // texts that name it, without regard to letter case
	Codes   []string // tokens that name it
	Exclude []string // texts that say that it is another one after all
	Popular bool     // of the short list that groups are made for
}

// Patterns returns what finds the region's nodes in a client's group, as
// regular expressions of RE2; exclude is empty where nothing is excluded.
func (r *Region) Patterns() (include, exclude string) {
	var b strings.Builder
	b.WriteString("(?i)(?:")
	for _, t := range r.Terms {
		b.WriteString(regexp.QuoteMeta(t))
		b.WriteByte('|')
	}
	b.WriteString(r.Flag)
	for _, c := range r.Codes {
		b.WriteString(`|\b` + c + `(?:\b|\d)`)
	}
	b.WriteByte(')')
	if len(r.Exclude) == 0 {
		return b.String(), ""
	}
	quoted := make([]string, len(r.Exclude))
	for i, t := range r.Exclude {
		quoted[i] = regexp.QuoteMeta(t)
	}
	return b.String(), "(?i)(?:" + strings.Join(quoted, "|") + ")"
}

// Table is a set of regions with what names them. It is safe for concurrent
// use.
type Table struct {
	regions []*Region
	byID    map[string]*Region
	flags   map[string]*Region // by emoji
	terms   map[head][]term    // by how they begin
	codes   map[string]code    // by upper-case token
	single  bool               // there is a term of one character
	odd     []string           // flags that are no pair of regional indicators
}

// term is a text that names a region.
type term struct {
	text   string // folded
	shown  string
	length int // characters
	region *Region
	word   bool // a Latin word, which counts only where no letter touches it
	extra  bool // a user's, which comes first at equal rank
}

// head is the first two characters of a folded text; the second is zero where
// there is one only.
type head [2]rune

func headOf(folded string) head {
	first, n := utf8.DecodeRuneInString(folded)
	if n == len(folded) {
		return head{first}
	}
	second, _ := utf8.DecodeRuneInString(folded[n:])
	return head{first, second}
}

// code is a token that names a region.
type code struct {
	region *Region
	upper  bool // counts in upper case only
}

// Regions lists the regions: the popular ones in their order, the other
// countries by code, then those that a user made.
func (t *Table) Regions() []*Region { return slices.Clone(t.regions) }

// Region returns the region with the given id, in any letter case, or nil.
func (t *Table) Region(id string) *Region { return t.byID[strings.ToLower(id)] }

// Default returns the table of all countries.
var Default = sync.OnceValue(func() *Table {
	t := newTable()
	countries := countries()
	for _, p := range popular {
		c := countries[p.code]
		r := &Region{
			ID: p.id, Flag: Flag(p.code), English: c.english, Chinese: c.hans, Popular: true,
			Terms: strings.Split(p.terms, "|"), Codes: strings.Fields(p.codes), Exclude: strings.Fields(p.exclude),
		}
		t.add(r)
		for _, name := range r.Terms {
			t.term(r, name, false, false)
		}
		for _, token := range r.Codes {
			t.codes[token] = code{r, wordCodes[token]}
		}
	}
	for _, c := range strings.Fields(order()) {
		id := idOf(c)
		r := t.byID[id]
		if r == nil {
			r = &Region{ID: id, Flag: Flag(c), English: countries[c].english, Chinese: countries[c].hans, Codes: []string{c}}
			t.add(r)
			if !protocolWords[c] {
				t.codes[c] = code{r, true}
			}
		}
		names := append(countries[c].names(), strings.Split(common[id], "|")...)
		for _, name := range names {
			if name != "" {
				t.term(r, name, true, false)
				if !r.Popular {
					r.Terms = append(r.Terms, name)
				}
			}
		}
	}
	return t
})

func newTable() *Table {
	return &Table{
		byID:  make(map[string]*Region),
		flags: make(map[string]*Region),
		terms: make(map[head][]term),
		codes: make(map[string]code),
	}
}

// add puts a region in. Its terms and codes are added by the caller, who knows
// their kind.
func (t *Table) add(r *Region) {
	t.regions = append(t.regions, r)
	t.byID[r.ID] = r
	t.flag(r, r.Flag)
}

func (t *Table) flag(r *Region, flag string) {
	if flag == "" {
		return
	}
	if pair, ok := firstPair(flag); !ok || pair != flag {
		t.odd = append(t.odd, flag)
	}
	t.flags[flag] = r
}

// term adds a text that names r. With word, Latin text counts as a word only:
// Oman is not in Romania, nor Iran in Tirana.
func (t *Table) term(r *Region, text string, word, extra bool) {
	folded := fold(text)
	n := term{text: folded, shown: text, length: utf8.RuneCountInString(folded), region: r, word: word, extra: extra}
	// The list of a table that was given out is shared, so it is never written to.
	h := headOf(folded)
	t.terms[h] = append(slices.Clip(t.terms[h]), n)
	t.single = t.single || n.length == 1
}

func fold(s string) string { return strings.ToLower(s) }

//go:embed countries.tsv
var tsv string

// country is a line of countries.tsv.
type country struct{ english, hans, hant string }

func countries() map[string]country {
	m := make(map[string]country, 250)
	for line := range strings.Lines(tsv) {
		if f := strings.Split(strings.TrimSpace(line), "\t"); len(f) == 4 {
			m[f[0]] = country{f[1], f[2], f[3]}
		}
	}
	return m
}

// order are the codes of all countries, in the order of the file.
func order() string {
	var b strings.Builder
	for line := range strings.Lines(tsv) {
		if c, _, ok := strings.Cut(line, "\t"); ok {
			b.WriteString(c + " ")
		}
	}
	return b.String()
}

// names are the texts that the country goes by.
func (c country) names() []string {
	names := []string{c.english, c.hans}
	if c.hant != c.hans {
		names = append(names, c.hant)
	}
	if s := strings.ReplaceAll(c.english, " & ", " and "); s != c.english {
		names = append(names, s)
	}
	if s, ok := strings.CutPrefix(c.english, "St. "); ok {
		names = append(names, "Saint "+s)
	}
	return names
}

func idOf(code string) string {
	if code == "GB" {
		return "uk"
	}
	return strings.ToLower(code)
}

// Flag returns the emoji of an alpha-2 code.
func Flag(code string) string {
	const a = '\U0001F1E6' - 'A'
	return string([]rune{a + rune(code[0]), a + rune(code[1])})
}
