package region

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Kind says by what a region was found.
type Kind string

// The kinds of evidence, the strongest first.
const (
	ByFlag Kind = "flag"
	ByTerm Kind = "term"
	ByCode Kind = "code"
)

// Match is a region and what named it.
type Match struct {
	Region *Region
	Kind   Kind
	Text   string // the flag, the term, or the code as the name has it
}

// Detect finds the region that a name speaks of: the first flag in it, else the
// longest term and of equal ones the first, else the first code. What one
// region excludes does not hide a flag. Time grows with the name only.
func (t *Table) Detect(name string) (Match, bool) {
	if m, ok := t.byFlag(name); ok {
		return m, true
	}
	folded := fold(name)
	if m, ok := t.byTerm(folded); ok {
		return m, true
	}
	return t.byCode(name, folded)
}

func (t *Table) byFlag(name string) (Match, bool) {
	at := len(name)
	var found Match
	for i := 0; i < len(name); {
		r, size := utf8.DecodeRuneInString(name[i:])
		if r != whiteFlag && !indicator(r) {
			i += size
			continue
		}
		flag := flagAt(name[i:])
		region := t.flags[flag]
		if region == nil && subdivision(flag) {
			region = t.byID["uk"]
		}
		if region != nil {
			at, found = i, Match{region, ByFlag, flag}
			break
		}
		// The halves of an unknown pair are not those of other pairs.
		i += max(size, len(flag))
	}
	for _, flag := range t.odd {
		if i := strings.Index(name, flag); i >= 0 && i < at {
			at, found = i, Match{t.flags[flag], ByFlag, flag}
		}
	}
	return found, found.Region != nil
}

func (t *Table) byTerm(folded string) (Match, bool) {
	var best term
	try := func(at int, list []term) {
		for i := range list {
			c := &list[i]
			// Earlier ones of the same length stay, unless a user's term stands
			// at the same place.
			if c.length < best.length || c.length == best.length && !(c.extra && !best.extra && strings.HasPrefix(folded[at:], best.text)) {
				continue
			}
			if strings.HasPrefix(folded[at:], c.text) && (!c.word || alone(folded, at, at+len(c.text))) && !excluded(c.region, folded) {
				best = *c
			}
		}
	}
	for at, r := range folded {
		h := headOf(folded[at:])
		if list := t.terms[h]; list != nil {
			try(at, list)
		}
		if t.single && h[1] != 0 {
			try(at, t.terms[head{r}])
		}
	}
	return Match{best.region, ByTerm, best.shown}, best.region != nil
}

// alone reports whether no Latin letter continues folded[from:to] on a side
// where that is Latin itself.
func alone(folded string, from, to int) bool {
	before, _ := utf8.DecodeLastRuneInString(folded[:from])
	first, _ := utf8.DecodeRuneInString(folded[from:])
	last, _ := utf8.DecodeLastRuneInString(folded[:to])
	after, _ := utf8.DecodeRuneInString(folded[to:])
	return !(latin(before) && latin(first)) && !(latin(last) && latin(after))
}

func latin(r rune) bool {
	return r != utf8.RuneError && r < 0x250 && unicode.IsLetter(r)
}

func excluded(r *Region, folded string) bool {
	for _, x := range r.Exclude {
		if strings.Contains(folded, fold(x)) {
			return true
		}
	}
	return false
}

func (t *Table) byCode(name, folded string) (Match, bool) {
	for i := 0; i < len(name); {
		if !letter(name[i]) {
			i++
			continue
		}
		end := i + 1
		for end < len(name) && letter(name[end]) {
			end++
		}
		token := name[i:end]
		c, ok := t.codes[strings.ToUpper(token)]
		if ok && (!c.upper || token == strings.ToUpper(token)) && !quantity(name, i, end) && !excluded(c.region, folded) {
			return Match{c.region, ByCode, token}, true
		}
		i = end
	}
	return Match{}, false
}

// quantity reports whether name[from:to] only looks like a code: a token that
// follows a digit, as in 2x or 50GB, the unit of traffic behind a space, and
// the network CN2.
func quantity(name string, from, to int) bool {
	if from > 0 && digit(name[from-1]) {
		return true
	}
	switch strings.ToUpper(name[from:to]) {
	case "GB":
		before := strings.TrimRight(name[:from], " ")
		return before != "" && digit(before[len(before)-1])
	case "CN":
		return strings.HasPrefix(name[to:], "2") && (to+1 == len(name) || !digit(name[to+1]))
	}
	return false
}

func letter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func digit(c byte) bool  { return '0' <= c && c <= '9' }
