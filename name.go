package sandrone

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// The kinds of stored resources, as in [ResourceRef.Kind] and
// [Error.ResourceKind].
const (
	KindSubscription = "subscription"
	KindFile         = "file"
	KindShare        = "share"
	KindRevision     = "revision"
	KindToken        = "token"
)

const maxName = 255 // bytes of a resource's name

// CheckName reports whether name can be the name of a stored resource: one
// path segment of at most 255 bytes that is not blank. Names are used
// verbatim, so case and outer blanks count. The error is invalid_argument and
// calls the name what, which is also its field.
func CheckName(what, name string) error {
	reason := ""
	switch {
	case strings.TrimSpace(name) == "":
		reason = "is required"
	case strings.ContainsAny(name, `/\`), name == ".", name == "..":
		reason = "must be a single path segment"
	case len(name) > maxName:
		reason = "must not be longer than 255 bytes"
	case !utf8.ValidString(name), strings.ContainsFunc(name, unicode.IsControl):
		reason = "must not contain control characters"
	case len(name) >= 2 && name[1] == ':' && isLetter(name[0]):
		// Some systems read it as a drive.
		reason = "must not start with a letter and a colon"
	default:
		return nil
	}
	return invalid(what, "%s %s", what, reason)
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func invalid(field, format string, args ...any) *Error {
	return Errorf(InvalidArgument, format, args...).At(field)
}

// word folds the spelling of a word that stands for a choice.
func word(s string) string { return strings.ToLower(strings.TrimSpace(s)) }
