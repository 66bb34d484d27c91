package region

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits of what a user may add.
const (
	MaxExtra = 64 // regions
	maxTexts = 64 // of one kind in one region
	maxText  = 64 // characters of one text
)

// Extra adds to the region of its id, or makes a new one.
type Extra struct {
	ID      string
	Flag    string
	Terms   []string
	Codes   []string
	Exclude []string
}

// ExtraError says which part of which extra region cannot be used.
type ExtraError struct {
	Index  int    // of the region
	Member string // "terms[2]"; empty for the list itself
	Reason string
}

func (e *ExtraError) Error() string { return e.Reason }

// With returns a table with more regions, which come before those of t where
// both would do. Blank texts are ignored. The error is an [*ExtraError].
func (t *Table) With(extra []Extra) (*Table, error) {
	if len(extra) == 0 {
		return t, nil
	}
	if len(extra) > MaxExtra {
		return nil, &ExtraError{Reason: fmt.Sprintf("there are more than %d regions", MaxExtra)}
	}
	u := &Table{
		regions: slices.Clone(t.regions),
		byID:    maps.Clone(t.byID),
		flags:   maps.Clone(t.flags),
		terms:   maps.Clone(t.terms),
		codes:   maps.Clone(t.codes),
		single:  t.single,
		odd:     slices.Clone(t.odd),
	}
	for i, x := range extra {
		if err := u.extend(i, x); err != nil {
			return nil, err
		}
	}
	return u, nil
}

func (t *Table) extend(index int, x Extra) error {
	id := strings.ToLower(strings.TrimSpace(x.ID))
	if id == "" || utf8.RuneCountInString(id) > maxText {
		return &ExtraError{index, "id", "id is required and has at most 64 characters"}
	}
	r := t.extendable(id)
	if flag := strings.TrimSpace(x.Flag); flag != "" {
		if utf8.RuneCountInString(flag) > maxText {
			return &ExtraError{index, "flag", "flag is longer than 64 characters"}
		}
		r.Flag = flag
		t.flag(r, flag)
	}
	for _, list := range []struct {
		name  string
		texts []string
		take  func(string) string // the reason why it cannot be used
	}{
		{"terms", x.Terms, func(s string) string {
			r.Terms = append(r.Terms, s)
			t.term(r, s, false, true)
			return ""
		}},
		{"codes", x.Codes, func(s string) string {
			for i := 0; i < len(s); i++ {
				if !letter(s[i]) {
					return "a code has letters A to Z only"
				}
			}
			s = strings.ToUpper(s)
			r.Codes = append(r.Codes, s)
			t.codes[s] = code{region: r}
			return ""
		}},
		{"exclude", x.Exclude, func(s string) string {
			r.Exclude = append(r.Exclude, s)
			return ""
		}},
	} {
		if len(list.texts) > maxTexts {
			return &ExtraError{index, list.name, fmt.Sprintf("%s has more than %d texts", list.name, maxTexts)}
		}
		for i, s := range list.texts {
			s = strings.TrimSpace(s)
			if s == "" {
				continue
			}
			reason := "the text is longer than 64 characters"
			if utf8.RuneCountInString(s) <= maxText {
				reason = list.take(s)
			}
			if reason != "" {
				return &ExtraError{index, fmt.Sprintf("%s[%d]", list.name, i), reason}
			}
		}
	}
	return nil
}

// extendable returns the region of an id as one that may be changed: a new one,
// or a copy that takes the place of the table's.
func (t *Table) extendable(id string) *Region {
	old := t.byID[id]
	if old == nil {
		r := &Region{ID: id, English: id, Chinese: id}
		t.add(r)
		return r
	}
	copied := *old
	r := &copied
	r.Terms, r.Codes, r.Exclude = slices.Clip(old.Terms), slices.Clip(old.Codes), slices.Clip(old.Exclude)
	t.byID[id] = r
	t.regions[slices.Index(t.regions, old)] = r
	for k, v := range t.flags {
		if v == old {
			t.flags[k] = r
		}
	}
	for k, v := range t.codes {
		if v.region == old {
			v.region = r
			t.codes[k] = v
		}
	}
	for k, list := range t.terms {
		for i := range list {
			if list[i].region != old {
				continue
			}
			list = slices.Clone(list)
			for j := i; j < len(list); j++ {
				if list[j].region == old {
					list[j].region = r
				}
			}
			t.terms[k] = list
			break
		}
	}
	return r
}
