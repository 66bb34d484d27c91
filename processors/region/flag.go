package region

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	whiteFlag = '\U0001F3F4' // begins the flags that are no pair: 🏴‍☠️ and those of England, Scotland, Wales
	joiner    = '\u200D'
	variant   = '\uFE0F'
	skull     = '\u2620'
	tagEnd    = '\U000E007F'
)

// Unknown is the flag of a node whose region nobody can tell.
const Unknown = "🏴‍☠️"

func indicator(r rune) bool { return '\U0001F1E6' <= r && r <= '\U0001F1FF' }

// firstPair returns the pair of regional indicators that s begins with.
func firstPair(s string) (string, bool) {
	a, n := utf8.DecodeRuneInString(s)
	b, m := utf8.DecodeRuneInString(s[n:])
	if indicator(a) && indicator(b) {
		return s[:n+m], true
	}
	return "", false
}

// flagAt returns the flag that s begins with, "" if it begins with none.
func flagAt(s string) string {
	if pair, ok := firstPair(s); ok {
		return pair
	}
	first, n := utf8.DecodeRuneInString(s)
	if first != whiteFlag {
		return ""
	}
	end := n
	for i, r := range s[n:] {
		if i == 0 && r == joiner || r == skull || r == variant || '\U000E0020' <= r && r <= tagEnd {
			end = n + i + utf8.RuneLen(r)
			if r == tagEnd {
				break
			}
			continue
		}
		break
	}
	return s[:end]
}

// subdivision reports whether a flag is that of a part of Great Britain.
func subdivision(flag string) bool {
	return strings.HasPrefix(flag, string(whiteFlag)+"\U000E0067\U000E0062")
}

// WithoutFlags removes the flags of a name and the white space around them.
// Between two texts that had a space there, one is left.
func WithoutFlags(name string) string {
	// Nearly every name has at most one flag, and many have none.
	if strings.IndexFunc(name, func(r rune) bool { return r == whiteFlag || indicator(r) }) < 0 {
		return name
	}
	var b strings.Builder
	for name != "" {
		at, flag := -1, ""
		for i, r := range name {
			if r == whiteFlag || indicator(r) {
				if flag = flagAt(name[i:]); flag != "" {
					at = i
					break
				}
			}
		}
		if at < 0 {
			b.WriteString(name)
			break
		}
		before := strings.TrimRightFunc(name[:at], unicode.IsSpace)
		after := strings.TrimLeftFunc(name[at+len(flag):], unicode.IsSpace)
		spaced := len(before) < at || len(after) < len(name)-at-len(flag)
		b.WriteString(before)
		if spaced && b.Len() > 0 && after != "" {
			after = " " + after
		}
		name = after
	}
	return b.String()
}
