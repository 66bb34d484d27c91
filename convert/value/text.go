package value

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// Unescape removes one layer of percent-encoding. What is no escape ("%",
// "%zz") stays as it is, and a plus is a plus. The result is made of bytes and
// need not be UTF-8; see [Name]. Without a percent sign it is s itself.
func Unescape(s string) string { return unescape(s, false) }

// UnescapeForm is [Unescape] for form-encoded text, where a plus is a space.
// Only mierus links are form-encoded.
func UnescapeForm(s string) string { return unescape(s, true) }

func unescape(s string, form bool) string {
	i := strings.IndexByte(s, '%')
	if form {
		if j := strings.IndexByte(s, '+'); j >= 0 && (i < 0 || j < i) {
			i = j
		}
	}
	if i < 0 {
		return s
	}
	buf := make([]byte, i, len(s))
	copy(buf, s)
	for ; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '%' && i+2 < len(s):
			hi, lo := hexDigit(s[i+1]), hexDigit(s[i+2])
			if hi|lo < 16 {
				c = hi<<4 | lo
				i += 2
			}
		case c == '+' && form:
			c = ' '
		}
		buf = append(buf, c)
	}
	return string(buf)
}

// hexDigit returns the value of a hexadecimal digit, or 0xFF.
func hexDigit(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10
	}
	return 0xFF
}

// Name makes a decoded display name UTF-8: bytes that are not are taken for
// Latin-1, which is what the old panels that write them mean.
func Name(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return Latin1(s)
}

// Latin1 reads each byte of s as the character of that number.
func Latin1(s string) string {
	buf := make([]byte, 0, len(s)+len(s)/2)
	for i := 0; i < len(s); i++ {
		buf = utf8.AppendRune(buf, rune(s[i]))
	}
	return string(buf)
}

// Link removes what copying leaves around a link: white space, zero-width
// characters, and one pair of matching quotes.
func Link(s string) string {
	s = trimInvisible(s)
	if len(s) >= 2 && s[0] == s[len(s)-1] && (s[0] == '"' || s[0] == '\'' || s[0] == '`') {
		s = trimInvisible(s[1 : len(s)-1])
	}
	return s
}

func trimInvisible(s string) string {
	// Most links begin and end with plain ASCII, which needs no look at runes.
	if s == "" || plainEdge(s[0]) && plainEdge(s[len(s)-1]) {
		return s
	}
	return strings.TrimFunc(s, func(r rune) bool {
		switch r {
		case '\u200B', '\u200C', '\u200D', '\uFEFF', '\u00A0', '\u3000':
			return true
		}
		return r <= ' '
	})
}

func plainEdge(c byte) bool { return ' ' < c && c < utf8.RuneSelf }

// List splits text that holds a list of words: separated by comma, semicolon
// or white space, or a JSON array of strings. Empty items are left out.
func List(s string) []string {
	s = strings.TrimSpace(s)
	if strings.HasPrefix(s, "[") && strings.HasSuffix(s, "]") {
		var list []string
		if json.Unmarshal([]byte(s), &list) == nil {
			return Words(list)
		}
		// A list as some panels print it: [h2, http/1.1].
		s = s[1 : len(s)-1]
	}
	return split(s, ",; \t\r\n")
}

// Commas splits text at its commas. Items are trimmed, empty ones left out.
func Commas(s string) []string {
	return split(s, ",")
}

func split(s, separators string) []string {
	var list []string
	for s != "" {
		item := s
		if i := strings.IndexAny(s, separators); i >= 0 {
			item, s = s[:i], s[i+1:]
		} else {
			s = ""
		}
		if item = strings.Trim(strings.TrimSpace(item), `"'`); item != "" {
			list = append(list, item)
		}
	}
	return list
}

// Words trims the items of list and removes empty ones. A list that is clean
// is returned as it is; otherwise a new one is made, since lists may be shared
// between nodes.
func Words(list []string) []string {
	for i, s := range list {
		if s != "" && strings.TrimSpace(s) == s {
			continue
		}
		clean := append([]string(nil), list[:i]...)
		for _, s := range list[i:] {
			if s = strings.TrimSpace(s); s != "" {
				clean = append(clean, s)
			}
		}
		return clean
	}
	return list
}
