package doc

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// JSONOf returns the tree at index i as compact JSON of its own, for a node's
// raw members.
func JSONOf(d Items, i int) json.RawMessage { return AppendJSON(nil, d, i) }

// AppendJSON appends the tree at index i as compact JSON. Numbers stand as
// they are; bytes that are not UTF-8 become U+FFFD; HTML is not escaped.
func AppendJSON(dst []byte, d Items, i int) []byte { return appendJSON(dst, d, i, -1) }

// AppendJSONIndent is [AppendJSON] with two spaces for each level, for a value
// that itself stands depth levels deep. Its first line is not indented.
func AppendJSONIndent(dst []byte, d Items, i int, depth int) []byte {
	return appendJSON(dst, d, i, depth)
}

// appendJSON writes compact JSON where depth is negative.
func appendJSON(dst []byte, d Items, i, depth int) []byte {
	it := &d[i]
	switch it.Kind {
	case Null:
		return append(dst, "null"...)
	case Num:
		return append(dst, it.Text...)
	case Bool: // YAML also has True and TRUE
		return append(dst, strings.ToLower(it.Text)...)
	case Str:
		return appendJSONString(dst, it.Text)
	}
	open, end := byte('['), byte(']')
	if it.Kind == Map {
		open, end = '{', '}'
	}
	dst = append(dst, open)
	inner := depth
	if depth >= 0 {
		inner++
	}
	for j := i + 1; j < int(it.End); j = d.Next(j) {
		if j > i+1 {
			dst = append(dst, ',')
		}
		dst = appendBreak(dst, inner)
		if it.Kind == Map {
			dst = appendJSONString(dst, d[j].Key)
			dst = append(dst, ':')
			if depth >= 0 {
				dst = append(dst, ' ')
			}
		}
		dst = appendJSON(dst, d, j, inner)
	}
	if int(it.End) > i+1 {
		dst = appendBreak(dst, depth)
	}
	return append(dst, end)
}

func appendBreak(dst []byte, depth int) []byte {
	if depth < 0 {
		return dst
	}
	return appendSpaces(append(dst, '\n'), 2*depth)
}

func appendSpaces(dst []byte, n int) []byte {
	const spaces = "                                "
	for ; n > len(spaces); n -= len(spaces) {
		dst = append(dst, spaces...)
	}
	return append(dst, spaces[:n]...)
}

// AppendJSONString appends s as a JSON string; bytes that are not UTF-8 become
// U+FFFD, and HTML is not escaped.
func AppendJSONString(dst []byte, s string) []byte { return appendJSONString(dst, s) }

const hexDigits = "0123456789abcdef"

func appendJSONString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	done := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			switch {
			case r == utf8.RuneError && n == 1:
				dst = append(append(dst, s[done:i]...), "\uFFFD"...)
				done = i + n
			case r == '\u2028' || r == '\u2029': // line ends in old JavaScript
				dst = append(append(dst, s[done:i]...), `\u202`...)
				dst = append(dst, hexDigits[r&15])
				done = i + n
			}
			i += n
			continue
		}
		i++
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[done:i-1]...)
		done = i
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, `\n`...)
		case '\r':
			dst = append(dst, `\r`...)
		case '\t':
			dst = append(dst, `\t`...)
		case '\b':
			dst = append(dst, `\b`...)
		case '\f':
			dst = append(dst, `\f`...)
		default:
			dst = append(dst, `\u00`...)
			dst = append(dst, hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return append(append(dst, s[done:]...), '"')
}
