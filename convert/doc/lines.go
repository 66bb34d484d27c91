package doc

import (
	"strings"
	"unicode"
)

// Line is the syntax of a client that writes a proxy on one line:
//
//	name = type, host, port, "value", key=value
//
// The children of a root map are the parts of the line. A child whose key
// begins with @ has no key in the line, only a place: "@0" is the head before
// the first equals sign, "@1" and so on follow it. Places are printed in the
// order in which they stand.
type Line struct {
	Assign string // between the head and what follows: "=" or " = "
	Comma  string // between the parts that follow: "," or ", "

	// Quotes says that a value may stand in double quotes. It does where it
	// needs them, and where its item is marked as quoted.
	Quotes bool
}

// Place returns the key of a part that has only a place.
func Place(n int) string { return "@" + itoa(n) }

// Fits reports whether value can stand behind a key: that the client reads it
// back as it is. There is no form for a line break or a double quote in it,
// and none for commas, quotes and unbalanced brackets where the syntax has no
// double quotes.
func (l Line) Fits(value string) bool {
	return !l.needsQuotes(value) || l.Quotes && !strings.ContainsFunc(value, unquotable)
}

// FitsPlace reports whether value can stand without a key. Unlike one with a
// key it must be there, and look like no key=value.
func (l Line) FitsPlace(value string) bool {
	if value == "" || strings.Contains(value, "=") {
		return l.Quotes && l.Fits(value)
	}
	return l.Fits(value)
}

// needsQuotes reports whether value, as it is, would not be read back: readers
// of these lines trim values and split at commas outside quotes and brackets,
// and some take // or # after a space for a comment.
func (l Line) needsQuotes(value string) bool {
	if value == "" {
		return false
	}
	var open []byte
	for i := 0; i < len(value); i++ {
		switch c := value[i]; c {
		case ',', '"', '\'':
			return true
		case '(', '[', '{':
			open = append(open, c)
		case ')', ']', '}':
			last := len(open) - 1
			if last < 0 || strings.IndexByte("([{", open[last]) != strings.IndexByte(")]}", c) {
				return true
			}
			open = open[:last]
		case ' ':
			if rest := value[i+1:]; strings.HasPrefix(rest, "//") || strings.HasPrefix(rest, "#") || strings.HasPrefix(rest, ";") {
				return true
			}
		}
	}
	return len(open) > 0 || strings.TrimSpace(value) != value || broken(value)
}

// broken reports whether s has a character that breaks a line.
func broken(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < ' ' || c >= 0x7F {
			return strings.ContainsFunc(s[i:], breaksLine)
		}
	}
	return false
}

func unquotable(r rune) bool { return r == '"' || breaksLine(r) }

// breaksLine reports whether r ends a line for some reader, or is no text.
func breaksLine(r rune) bool {
	return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || r == unicode.ReplacementChar
}

// CleanLineName makes a name fit the head of a line: what ends the name or the
// line becomes a space, and what would make the line a comment or a section
// goes. The result is "" for a name that is nothing else.
func CleanLineName(name string) string {
	clean := strings.TrimSpace(strings.Map(func(r rune) rune {
		if r == ',' || r == '=' || breaksLine(r) {
			return ' '
		}
		return r
	}, name))
	for {
		cut := strings.TrimLeft(clean, "#;[")
		cut = strings.TrimSpace(strings.TrimPrefix(cut, "//"))
		if cut == clean {
			return clean
		}
		clean = cut
	}
}

// Append appends the map at index i as one line, without a line break. The
// scalars of a list are joined by commas. Values are expected to fit; a
// character that would break the line is printed as a space all the same, so
// that no value can add a line of its own.
func (l Line) Append(dst []byte, d Items, i int) []byte {
	for j, part := i+1, 0; j < int(d[i].End); j, part = d.Next(j), part+1 {
		switch part {
		case 0:
		case 1:
			dst = append(dst, l.Assign...)
		default:
			dst = append(dst, l.Comma...)
		}
		if key := d[j].Key; !strings.HasPrefix(key, "@") {
			dst = append(appendOneLine(dst, key), '=')
		}
		text := d[j].Text
		if d[j].Kind == List {
			list, _ := d.Strings(j)
			text = strings.Join(list, ",")
		}
		if l.Quotes && part > 0 && (d[j].Quoted || l.needsQuotes(text)) {
			dst = append(dst, '"')
			dst = append(appendOneLine(dst, text), '"')
			continue
		}
		dst = appendOneLine(dst, text)
	}
	return dst
}

func appendOneLine(dst []byte, s string) []byte {
	if !broken(s) {
		return append(dst, s...)
	}
	return append(dst, strings.Map(func(r rune) rune {
		if breaksLine(r) {
			return ' '
		}
		return r
	}, s)...)
}
