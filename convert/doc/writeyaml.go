package doc

import (
	"strings"
	"unicode/utf8"
)

// AppendYAMLList appends the tree at index i as one element of a block list
// whose dash stands after indent spaces, with the line break at its end:
//
//   - name: "香港 01"
//     type: trojan
//     alpn: [h2, http/1.1]
//     ws-opts:
//     path: /ray
//
// Maps are in block style, lists of scalars in brackets. Strings are quoted
// unless every YAML reader, old or new, surely takes them for the string they
// are; numbers and booleans stand as they are. Bytes that are not UTF-8 become
// U+FFFD.
func AppendYAMLList(dst []byte, d Items, i int, indent int) []byte {
	dst = append(appendSpaces(dst, indent), "- "...)
	if d.flat(i) {
		return append(appendFlow(dst, d, i), '\n')
	}
	return appendBlock(dst, d, i, indent+2)
}

// AppendYAMLMember appends the member at index i of a map as it stands in a
// block mapping, with the line break at its end. Its first line is not
// indented, the others stand deeper than indent.
func AppendYAMLMember(dst []byte, d Items, i int, indent int) []byte {
	dst = appendKey(dst, d[i].Key, indent)
	if d.flat(i) {
		dst = append(dst, ' ')
		return append(appendFlow(dst, d, i), '\n')
	}
	dst = append(dst, '\n')
	dst = appendSpaces(dst, indent+2)
	return appendBlock(dst, d, i, indent+2)
}

// AppendYAMLString appends s as a YAML scalar that every reader takes for the
// string s, inside brackets or outside: plain where that is certain, otherwise
// in double quotes.
func AppendYAMLString(dst []byte, s string) []byte {
	if plainSafe(s) {
		return append(dst, s...)
	}
	return appendQuoted(dst, s)
}

// appendBlock appends the children of a map or list that is not flat. The
// first line is already indented.
func appendBlock(dst []byte, d Items, i, indent int) []byte {
	for j := i + 1; j < int(d[i].End); j = d.Next(j) {
		if j > i+1 {
			dst = appendSpaces(dst, indent)
		}
		if d[i].Kind == List {
			dst = append(dst, "- "...)
			if d.flat(j) {
				dst = append(appendFlow(dst, d, j), '\n')
			} else {
				dst = appendBlock(dst, d, j, indent+2)
			}
			continue
		}
		dst = AppendYAMLMember(dst, d, j, indent)
	}
	return dst
}

// flat tells that item i is written on one line: no map in it has a member.
func (d Items) flat(i int) bool {
	for j := i; j < int(d[i].End); j++ {
		if d[j].Kind == Map && int(d[j].End) > j+1 {
			return false
		}
	}
	return true
}

// appendFlow appends a flat item.
func appendFlow(dst []byte, d Items, i int) []byte {
	it := &d[i]
	switch it.Kind {
	case Null:
		return append(dst, "null"...)
	case Num, Bool:
		return append(dst, it.Text...)
	case Str:
		if !it.Quoted && plainSafe(it.Text) {
			return append(dst, it.Text...)
		}
		return appendQuoted(dst, it.Text)
	case Map:
		return append(dst, "{}"...)
	}
	dst = append(dst, '[')
	for j := i + 1; j < int(it.End); j = d.Next(j) {
		if j > i+1 {
			dst = append(dst, ", "...)
		}
		dst = appendFlow(dst, d, j)
	}
	return append(dst, ']')
}

// appendKey appends a key and its colon.
func appendKey(dst []byte, key string, indent int) []byte {
	if plainSafe(key) && len(key) <= maxImplicitKey {
		return append(append(dst, key...), ':')
	}
	start := len(dst)
	dst = appendQuoted(dst, key)
	if len(dst)-start <= maxImplicitKey {
		return append(dst, ':')
	}
	// Readers look for the colon of a key on the first 1,024 characters only.
	dst = append(dst[:start], "? "...)
	dst = append(appendQuoted(dst, key), '\n')
	return append(appendSpaces(dst, indent), ':')
}

const maxImplicitKey = 1000

// plainSafe tells that no YAML reader, 1.1 or 1.2, takes s for anything but
// the string s where it stands without quotes, inside brackets or outside.
func plainSafe(s string) bool {
	if s == "" {
		return false
	}
	var seen uint8
	dots := 0
	for i := range len(s) {
		c := safe[s[i]]
		if c == 0 {
			return false
		}
		seen |= c
		if s[i] == '.' {
			dots++
		}
	}
	switch c := s[0]; {
	case safe[c]&safeDigit != 0:
		// 0x1f, 1e3, 1_000 and 2001-12-14 are numbers and dates to some. A
		// letter that no number has, or a second dot alone, rules them out.
		return seen&safeWord != 0 || dots >= 2 && seen&^(safeDigit|safeDot) == 0
	case safe[c]&(safeLetter|safeWord) == 0 && c != '/':
		return false
	}
	return len(s) > 5 || !reserved(s)
}

// reserved tells words that some YAML reader takes for a boolean, a null or a
// number.
func reserved(s string) bool {
	switch strings.ToLower(s) {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf":
		return true
	}
	return false
}

// Classes of the bytes that a plain scalar may have.
const (
	safeDigit  uint8 = 1 << iota
	safeLetter       // a letter that numbers use: a to f, o, x
	safeWord         // any other letter
	safeDot
	safeMark
)

var safe = func() (t [256]uint8) {
	for c := byte('a'); c <= 'z'; c++ {
		t[c] = safeWord
		if c <= 'f' || c == 'o' || c == 'x' {
			t[c] = safeLetter
		}
		t[c-'a'+'A'] = t[c]
	}
	for c := '0'; c <= '9'; c++ {
		t[c] = safeDigit
	}
	t['.'] = safeDot
	for _, c := range "-_/+@%=~^$()" {
		t[c] = safeMark
	}
	return t
}()

// appendQuoted appends s in double quotes.
func appendQuoted(dst []byte, s string) []byte {
	dst = append(dst, '"')
	done := 0
	for i := 0; i < len(s); {
		if c := s[i]; c >= ' ' && c < 0x7f {
			if i++; c == '"' || c == '\\' {
				dst = append(append(dst, s[done:i-1]...), '\\', c)
				done = i
			}
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if !printable(r) || r == utf8.RuneError && n == 1 {
			dst = append(dst, s[done:i]...)
			done = i + n
			switch {
			case r == '\n':
				dst = append(dst, `\n`...)
			case r == '\t':
				dst = append(dst, `\t`...)
			case r == utf8.RuneError:
				dst = append(dst, "\uFFFD"...)
			case r < 0x100:
				dst = append(dst, '\\', 'x', hexDigits[r>>4], hexDigits[r&15])
			default:
				dst = append(dst, '\\', 'u', hexDigits[r>>12], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
			}
		}
		i += n
	}
	return append(append(dst, s[done:]...), '"')
}

// printable tells that r may stand in a YAML text and is no line break in any
// version.
func printable(r rune) bool {
	switch {
	case r < ' ', 0x7f <= r && r <= 0x9f:
		return false
	case r == 0x2028, r == 0x2029, r == 0xfeff, r == 0xfffe, r == 0xffff:
		return false
	}
	return true
}
