package pattern

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Replacement is the text that takes the place of the matches of one pattern,
// in the form of Go's regexp.Expand: $1, ${1}, $name, ${name} and $$, where the
// longest run of word characters is the name.
type Replacement struct {
	pattern *Pattern
	parts   []part
}

// part is literal text, followed by a group unless that is negative.
type part struct {
	text  string
	group int
}

// Replacement prepares a template for p. A group that p does not have stands
// for nothing. The error says that the template is too long.
func (p *Pattern) Replacement(template string) (*Replacement, error) {
	if len(template) > MaxPattern {
		return nil, errors.New("replacement is longer than 4096 bytes")
	}
	r := &Replacement{pattern: p}
	var literal strings.Builder
	for template != "" {
		before, after, ok := strings.Cut(template, "$")
		literal.WriteString(before)
		if !ok {
			break
		}
		if strings.HasPrefix(after, "$") {
			literal.WriteByte('$')
			template = after[1:]
			continue
		}
		name, rest, ok := groupName(after)
		if !ok {
			literal.WriteByte('$')
			template = after
			continue
		}
		template = rest
		if g := p.group(name); g >= 0 {
			r.parts = append(r.parts, part{literal.String(), g})
			literal.Reset()
		}
	}
	r.parts = append(r.parts, part{literal.String(), -1})
	return r, nil
}

// groupName reads the name behind a dollar sign, as regexp.Expand does.
func groupName(s string) (name, rest string, ok bool) {
	braced := strings.HasPrefix(s, "{")
	if braced {
		s = s[1:]
	}
	i := 0
	for i < len(s) {
		r, size := utf8.DecodeRuneInString(s[i:])
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' {
			break
		}
		i += size
	}
	if i == 0 {
		return "", "", false
	}
	name, rest = s[:i], s[i:]
	if braced {
		if !strings.HasPrefix(rest, "}") {
			return "", "", false
		}
		rest = rest[1:]
	}
	return name, rest, true
}

// group returns the number of a group, -1 if p has none of that name.
func (p *Pattern) group(name string) int {
	if n, err := strconv.Atoi(name); err == nil && strconv.Itoa(n) == name {
		count := 0
		if p.linear != nil {
			count = p.linear.NumSubexp() + 1
		} else {
			count = len(p.back.GetGroupNumbers())
		}
		if n < count {
			return n
		}
		return -1
	}
	if p.linear != nil {
		return p.linear.SubexpIndex(name)
	}
	for i, number := range p.back.GetGroupNumbers() {
		if p.back.GroupNameFromNumber(number) == name {
			return i
		}
	}
	return -1
}

// In returns text with every match replaced. The error is [ErrSlow], or
// [ErrResult] when the result is longer than [MaxResult] and than text.
func (r *Replacement) In(text string) (string, error) {
	return r.some(text, 0, max(MaxResult, len(text)), func(f func([]int) bool) error { return r.pattern.each(text, f) })
}

// InDocument is [Replacement.In] for texts of many megabytes: it replaces the
// first count matches, all of them if count is 0, and makes a result of at most
// limit bytes, whatever the length of the text.
//
// The errors are [ErrResult]; [ErrLarge], for a text that would take the
// pattern too long to read once; [ErrSlow], if the matches together take too
// long, which on the backtracking engine is [MatchTime]; and that of ctx.
func (r *Replacement) InDocument(ctx context.Context, text string, count, limit int) (string, error) {
	p := r.pattern
	if p.linear == nil {
		if len(text) > maxBackText {
			return "", ErrLarge
		}
		if err := ctx.Err(); err != nil {
			return "", err
		}
		return r.some(text, count, limit, func(f func([]int) bool) error { return p.each(text, f) })
	}
	if len(text) > maxSearchCost/p.size {
		return "", ErrLarge
	}
	start := time.Now()
	alive := func() error {
		if time.Since(start) > documentTime {
			return ErrSlow
		}
		return ctx.Err()
	}
	return r.some(text, count, limit, func(f func([]int) bool) error { return p.eachLinear(text, alive, f) })
}

// some replaces the first count of the matches that each finds, all of them if
// count is 0.
func (r *Replacement) some(text string, count, limit int, each func(func(loc []int) bool) error) (string, error) {
	var out []byte
	copied, done, fits := 0, 0, true
	err := each(func(loc []int) bool {
		done++
		out = append(out, text[copied:loc[0]]...)
		copied = loc[1]
		for _, p := range r.parts {
			out = append(out, p.text...)
			if g := 2 * p.group; g >= 0 && loc[g] >= 0 {
				out = append(out, text[loc[g]:loc[g+1]]...)
			}
			if fits = len(out) <= limit; !fits {
				return false
			}
		}
		return done != count
	})
	switch {
	case err != nil:
		return "", err
	case done == 0 && len(text) <= limit:
		return text, nil
	case !fits || len(out)+len(text)-copied > limit:
		return "", ErrResult
	}
	return string(append(out, text[copied:]...)), nil
}
