package ini

import (
	"slices"
	"strings"

	"github.com/sandrone-gateway/sandrone"
)

// Override applies patch to current and returns the new text.
//
// The header of a patch section says what happens to all sections of that name
// (upper and lower case are one):
//
//	[S]         merge line by line: an assignment replaces that of the same key
//	[+S] [S+]   put the lines before or after the present ones
//	[S!]        replace the lines
//	[S-]        delete the sections; only comments may stand below
//	[<S+>]      a name that looks like one of the above, merged
//
// Apart from a deletion the section exists once afterwards, at the place of
// its first occurrence, and a missing one is added at the end. Byte order
// mark, newline style and final newline are those of current, and lines that
// the patch does not name keep every byte.
//
// The error is a [*sandrone.Error] with code file_merge_failed, the part at
// fault ("current" or "overlay") and, where it is known, the path "/<section>".
func Override(current, patch string) (string, error) {
	base, err := readPart(current, "current")
	if err != nil {
		return "", err
	}
	p, err := readPart(patch, "overlay")
	if err != nil {
		return "", err
	}
	t := newPatched(base)
	for _, s := range p.sections {
		name, act, err := operation(s)
		if err != nil {
			return "", err
		}
		for i := range s.body {
			s.body[i].end = "" // the line break of current takes its place
		}
		if !t.apply(name, act, s.body) {
			return "", patchError(s, "too many sections for one name")
		}
	}
	return t.String(), nil
}

func readPart(s, part string) (text, *sandrone.Error) {
	t, err := read(s)
	if err != nil {
		err.Part = part
	}
	return t, err
}

func patchError(s section, why string) *sandrone.Error {
	e := fault("%s", why)
	e.Part, e.Path = "overlay", "/"+s.name
	return e
}

// action makes the new body of a section from the one it has and the patch's.
type action func(have, patch []line) []line

var (
	prepend = func(have, patch []line) []line { return slices.Concat(patch, have) }
	extend  = func(have, patch []line) []line { return append(have, patch...) }
	replace = func(_, patch []line) []line { return patch }
)

// operation reads a patch header. A nil action deletes.
func operation(s section) (name string, act action, err error) {
	invalid := func(why string) error { return patchError(s, why) }
	n := len(s.name)
	if n > 2 && s.name[0] == '<' && s.name[n-1] == '>' {
		if name = strings.TrimSpace(s.name[1 : n-1]); name == "" {
			return "", nil, invalid("empty section header")
		}
		return name, merge, nil
	}
	// A sign alone is a name: an operator needs something to work on.
	front := n > 1 && s.name[0] == '+'
	back := byte(0)
	if n > 1 && strings.IndexByte("+!-", s.name[n-1]) >= 0 {
		back = s.name[n-1]
	}
	switch {
	case front && back != 0:
		return "", nil, invalid("invalid section header: one operator at most")
	case front:
		name, act = s.name[1:], prepend
	case back == '+':
		name, act = s.name[:n-1], extend
	case back == '!':
		name, act = s.name[:n-1], replace
	case back == '-':
		name = s.name[:n-1]
		for _, l := range s.body {
			if !comment(l.text) && strings.TrimSpace(l.text) != "" {
				return "", nil, invalid("a section that deletes may hold only comments")
			}
		}
	default:
		return s.name, merge, nil
	}
	if name = strings.TrimSpace(name); name == "" {
		return "", nil, invalid("empty section header")
	}
	return name, act, nil
}

// patched is the state of a text under a patch. Sections are found by their
// folded name, so that the work does not grow with the number of sections.
type patched struct {
	text
	byName map[string][]int // indexes into sections, ascending
	gone   []bool           // sections that were deleted or joined to another one
	work   int              // lines that may still be looked at
}

// maxWork bounds the lines that one override looks at, where a patch of many
// sections for one large section would take quadratic time.
const maxWork = 1 << 21

func newPatched(t text) *patched {
	p := &patched{text: t, byName: make(map[string][]int, len(t.sections)), gone: make([]bool, len(t.sections)), work: maxWork}
	for i, s := range t.sections {
		key := strings.ToLower(s.name)
		p.byName[key] = append(p.byName[key], i)
	}
	return p
}

// apply runs act on all sections of a name; it reports whether that was within
// the limit of work.
func (p *patched) apply(name string, act action, patch []line) bool {
	key := strings.ToLower(name)
	all := p.byName[key]
	if act == nil {
		for _, i := range all {
			p.gone[i] = true
		}
		delete(p.byName, key)
		return true
	}
	if len(all) == 0 {
		all = []int{len(p.sections)}
		p.sections = append(p.sections, section{name: name, header: line{text: "[" + name + "]"}})
		p.gone = append(p.gone, false)
	}
	first := &p.sections[all[0]]
	for _, i := range all[1:] {
		first.body = append(first.body, p.sections[i].body...)
		p.gone[i] = true
	}
	p.byName[key] = all[:1]
	if p.work -= len(first.body) + len(patch); p.work < 0 {
		return false
	}
	first.body = act(first.body, patch)
	return true
}

func (p *patched) String() string {
	kept := p.text
	kept.sections = nil
	for i, s := range p.sections {
		if !p.gone[i] {
			kept.sections = append(kept.sections, s)
		}
	}
	return kept.text()
}

// merge puts each assignment of the patch in the place of the first one of its
// key and takes the later ones away; any other line is added unless it is
// there.
func merge(have, patch []line) []line {
	places := make(map[string][]int) // of the assignments to a key
	others := make(map[string]bool)  // lines that are none, trimmed
	for i, l := range have {
		if key, ok := assignment(l.text); ok {
			places[key] = append(places[key], i)
		} else {
			others[strings.TrimSpace(l.text)] = true
		}
	}
	have = slices.Clone(have)
	drop := make(map[int]bool)
	for _, l := range patch {
		key, ok := assignment(l.text)
		if !ok {
			if trimmed := strings.TrimSpace(l.text); !others[trimmed] {
				others[trimmed] = true
				have = append(have, l)
			}
			continue
		}
		at := places[key]
		if len(at) == 0 {
			places[key] = []int{len(have)}
			have = append(have, l)
			continue
		}
		have[at[0]].text = l.text
		for _, i := range at[1:] {
			drop[i] = true
		}
		places[key] = at[:1]
	}
	kept := have[:0]
	for i, l := range have {
		if !drop[i] {
			kept = append(kept, l)
		}
	}
	return kept
}

// assignment returns the key of a line that is key=value. Records have a comma
// in front of any equals sign.
func assignment(l string) (key string, ok bool) {
	key, _, ok = strings.Cut(l, "=")
	key = strings.TrimSpace(key)
	return key, ok && key != "" && !strings.Contains(key, ",") && !comment(key)
}

func comment(l string) bool {
	l = strings.TrimSpace(l)
	return l != "" && (l[0] == '#' || l[0] == ';')
}
