// Package pattern is the one dialect of regular expressions that steps and the
// pattern tester share.
//
// A pattern is RE2, as Go has it. What RE2 refuses (look-around,
// back-references) runs on a backtracking engine, which may spend [MatchTime]
// on a text and no more. Replacements are Go's expansion on both.
package pattern

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/dlclark/regexp2/v2"
	backtracking "github.com/dlclark/regexp2/v2/syntax"
)

// Limits of a pattern and of its use.
const (
	MaxPattern = 4096                  // bytes of a pattern, and of a replacement
	MaxResult  = 16 << 10              // bytes that a replacement may produce, unless the text was longer
	MatchTime  = 50 * time.Millisecond // for one text, on the backtracking engine

	// What a document may cost: the time for all matches together, on RE2; the
	// bytes of the text, on the backtracking engine; and for one search the
	// product of its bytes and the steps that RE2 may take for each.
	documentTime  = 5 * time.Second
	maxBackText   = 4 << 20
	maxSearchCost = 1 << 33

	// maxProgram bounds the steps that RE2 takes for each character. A pattern
	// of 4096 bytes may otherwise stand for millions by counted repetition.
	maxProgram = 20_000
)

// The errors of using a pattern. A compile error says in its own words what is
// wrong; none of them repeats the pattern or a text.
var (
	ErrSlow   = errors.New("pattern exceeds its time limit")
	ErrResult = errors.New("replacement grows beyond its limit")
	ErrLarge  = errors.New("pattern is too large for a text of this size")
)

// Engine names what a pattern runs on.
type Engine string

// The engines.
const (
	RE2          Engine = "re2"
	Backtracking Engine = "backtracking"
)

func init() {
	// The library reads the time from a clock of its own, which by default
	// ticks ten times a second: too coarse for a limit of 50 ms.
	regexp2.SetTimeoutCheckPeriod(5 * time.Millisecond)
}

// Pattern is a compiled pattern. It is safe for concurrent use.
type Pattern struct {
	linear *regexp.Regexp
	size   int                   // instructions of linear
	behind func() *regexp.Regexp // see eachLinear; nil if linear never looks at what is before a match
	back   *regexp2.Regexp       // nil where linear is not
}

// Compile compiles a pattern for the engine that takes it. The error's text is
// fit for a person and holds nothing of the pattern.
func Compile(expr string) (*Pattern, error) {
	if len(expr) > MaxPattern {
		return nil, errors.New("pattern is longer than 4096 bytes")
	}
	tree, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return compileBacktracking(expr, err)
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, errors.New("pattern does not compile")
	}
	if len(program.Inst) > maxProgram {
		return nil, errors.New("pattern is too large")
	}
	linear, err := regexp.Compile(expr)
	if err != nil {
		return nil, errors.New("pattern does not compile")
	}
	p := &Pattern{linear: linear, size: len(program.Inst)}
	if looksBehind(tree) {
		p.behind = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\A(?s:.)(` + expression(expr) + `)`) })
	}
	return p, nil
}

// expression is expr in a form that can stand in a group: a quotation that it
// opens is closed.
func expression(expr string) string {
	tree, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		panic(err) // it has been parsed before
	}
	return tree.String()
}

// looksBehind reports whether a pattern asks what stands before a place.
func looksBehind(tree *syntax.Regexp) bool {
	switch tree.Op {
	case syntax.OpBeginLine, syntax.OpBeginText, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return true
	}
	return slices.ContainsFunc(tree.Sub, looksBehind)
}

// compileBacktracking compiles what RE2 refused with the given error.
func compileBacktracking(expr string, refusal error) (p *Pattern, err error) {
	defer func() {
		// The library panics on some malformed classes.
		if recover() != nil {
			p, err = nil, explain(refusal)
		}
	}()
	re, err := regexp2.Compile(expr, regexp2.RE2, regexp2.OptionMaintainCaptureOrder())
	if err == nil {
		re.MatchTimeout = MatchTime
		return &Pattern{back: re}, nil
	}
	// Of two refusals the one is shown that speaks of the dialect in use.
	var linear *syntax.Error
	if e, ok := errors.AsType[*backtracking.Error](err); ok && errors.As(refusal, &linear) && perlOnly(linear.Code) {
		text := e.Code.String()
		if !strings.Contains(text, "%") {
			return nil, errors.New("pattern does not compile: " + text)
		}
	}
	return nil, explain(refusal)
}

func perlOnly(code syntax.ErrorCode) bool {
	switch code {
	case syntax.ErrInvalidPerlOp, syntax.ErrInvalidEscape, syntax.ErrInvalidNamedCapture, syntax.ErrInvalidRepeatOp:
		return true
	}
	return false
}

func explain(refusal error) error {
	var e *syntax.Error
	if errors.As(refusal, &e) {
		return errors.New("pattern does not compile: " + e.Code.String())
	}
	return errors.New("pattern does not compile")
}

// Engine tells what p runs on.
func (p *Pattern) Engine() Engine {
	if p.back != nil {
		return Backtracking
	}
	return RE2
}

// Match reports whether p matches anywhere in text. The error is [ErrSlow].
func (p *Pattern) Match(text string) (found bool, err error) {
	if p.linear != nil {
		return p.linear.MatchString(text), nil
	}
	defer guard(&err)
	found, err = p.back.MatchString(text)
	if err != nil {
		return false, ErrSlow
	}
	return found, nil
}

// guard turns a panic of the backtracking library into the error that its
// limits have: the pattern cannot be used on this text.
func guard(err *error) {
	if recover() != nil {
		*err = ErrSlow
	}
}

// each calls f with the byte offsets of every match and of its groups, in the
// form of regexp.FindStringSubmatchIndex, until f returns false.
func (p *Pattern) each(text string, f func(loc []int) bool) (err error) {
	if p.linear != nil {
		return p.eachLinear(text, func() error { return nil }, f)
	}
	defer guard(&err)
	start := time.Now()
	var loc []int
	end := -1 // of the match before
	for m, err := p.back.FindStringMatch(text); m != nil || err != nil; m, err = p.back.FindNextMatch(m) {
		// The limit is for the text, not for each of its matches.
		if err != nil || time.Since(start) > MatchTime {
			return ErrSlow
		}
		groups := m.Groups()
		loc = loc[:0]
		for i := range groups {
			if len(groups[i].Captures) == 0 {
				loc = append(loc, -1, -1)
				continue
			}
			at, length := groups[i].ByteRange()
			loc = append(loc, at, at+length)
		}
		// As in RE2, an empty match does not touch the match before it.
		if loc[0] == loc[1] && loc[0] == end {
			continue
		}
		end = loc[1]
		if !f(loc) {
			return nil
		}
	}
	return nil
}

// eachLinear is each on RE2. It holds one match at a time, so that a document of
// many matches costs no memory, and ends with the error of alive, which is
// asked between them.
//
// The standard library begins no search within a text. So what stands behind a
// match is searched as a text of its own, which is the same for all patterns
// that do not look behind; for the others the place right behind the match is
// tried with the character before it, and a find in that place which is due to
// its looking like the beginning of the text is none.
func (p *Pattern) eachLinear(text string, alive func() error, f func(loc []int) bool) error {
	end := -1 // of the match before
	for at := 0; at <= len(text); {
		if err := alive(); err != nil {
			return err
		}
		_, width := utf8.DecodeRuneInString(text[at:])
		var loc []int
		if at > 0 && p.behind != nil {
			_, before := utf8.DecodeLastRuneInString(text[:at])
			if loc = p.behind().FindStringSubmatchIndex(text[at-before:]); loc != nil {
				loc = shifted(loc[2:], at-before)
			}
		}
		if loc == nil {
			loc = shifted(p.linear.FindStringSubmatchIndex(text[at:]), at)
			if loc != nil && loc[0] == at && at > 0 && p.behind != nil {
				at += max(width, 1)
				continue
			}
		}
		if loc == nil {
			return nil
		}
		last := end
		if end = loc[1]; end == at {
			at += max(width, 1)
			if loc[0] == last {
				continue // an empty match does not touch the one before
			}
		} else {
			at = end
		}
		if !f(loc) {
			return nil
		}
	}
	return nil
}

func shifted(loc []int, by int) []int {
	for i := range loc {
		if loc[i] >= 0 {
			loc[i] += by
		}
	}
	return loc
}

// Spans returns where p matches in text, as pairs of offsets in UTF-16 units,
// which is how scripts and editors count. The error is [ErrSlow].
func (p *Pattern) Spans(text string) ([][2]int, error) {
	var spans [][2]int
	bytes, units := 0, 0
	unit := func(to int) int {
		for _, r := range text[bytes:to] {
			units++
			if r > 0xFFFF {
				units++
			}
		}
		bytes = to
		return units
	}
	err := p.each(text, func(loc []int) bool {
		spans = append(spans, [2]int{unit(loc[0]), unit(loc[1])})
		return true
	})
	if err != nil {
		return nil, err
	}
	return spans, nil
}
