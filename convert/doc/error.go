package doc

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Limits of one text, fixed. A container in a container counts as one level
// deeper; the outermost one is at level 1.
const (
	MaxJSONDepth = 64 // levels of JSON
	MaxYAMLDepth = 32 // levels of YAML, those behind aliases included

	// maxExpansion is how many bytes aliases may add for each byte of YAML;
	// freeExpansion is added for short texts, where one large anchor is normal.
	maxExpansion  = 10
	freeExpansion = 64 << 10

	// maxLibraryNodes bounds the memory of the YAML library, which spends
	// about 200 bytes on a node.
	maxLibraryNodes = 1 << 21
)

// maxItems bounds one tree. A variable, so that a test need not fill it.
var maxItems = 1 << 22

// entryDepth is the number of containers around an entry of the list under
// key.
func entryDepth(key string) int {
	if key == "" {
		return 1
	}
	return 2
}

// Errors of the readers besides [SyntaxError]; test with [errors.Is].
var (
	ErrTooDeep   = errors.New("nested too deeply")
	ErrTooLarge  = errors.New("too many values")
	ErrExpansion = errors.New("aliases expand to far more than the text")
	ErrNotMap    = errors.New("not a mapping")
	ErrNotList   = errors.New("not a list") // wrapped in an error that begins with the key
)

// SyntaxError is a text that its reader does not understand. Msg is a fixed
// sentence: it never quotes the text, which may hold credentials.
type SyntaxError struct {
	Line   int // one-based; 0 when not known
	Column int // one-based, in characters; 0 when not known
	Msg    string
}

func (e *SyntaxError) Error() string {
	var b strings.Builder
	if e.Line > 0 {
		b.WriteString("line " + strconv.Itoa(e.Line))
		if e.Column > 0 {
			b.WriteString(", column " + strconv.Itoa(e.Column))
		}
		b.WriteString(": ")
	}
	b.WriteString(e.Msg)
	return b.String()
}

// syntaxError places msg at a byte of the text.
func syntaxError(text string, at int, msg string) error {
	before := text[:min(at, len(text))]
	line := strings.LastIndexByte(before, '\n') + 1
	return &SyntaxError{
		Line:   strings.Count(before, "\n") + 1,
		Column: utf8.RuneCountInString(before[line:]) + 1,
		Msg:    msg,
	}
}

func isSyntax(err error) bool {
	_, ok := errors.AsType[*SyntaxError](err)
	return ok
}

func notList(key string) error { return &keyError{key, ErrNotList} }

// keyError says which of the wanted keys an error is about.
type keyError struct {
	key string
	err error
}

func (e *keyError) Error() string { return e.key + ": " + e.err.Error() }
func (e *keyError) Unwrap() error { return e.err }
