package doc

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// ReadJSON reads the one value that text holds and appends its tree to dst.
// Comments (//, # and /* */) and commas before a closing bracket are accepted,
// since hand-written client files have them. Strings without escapes alias
// text; bytes that are not UTF-8 become U+FFFD.
//
// The error is a [*SyntaxError], [ErrTooDeep] or [ErrTooLarge]; dst is then
// returned as it was.
func ReadJSON(dst Items, text string) (Items, error) {
	return readJSON(dst, "", text, false)
}

// ReadStrictJSON is [ReadJSON] for places that must refuse what RFC 8259 does
// not allow.
func ReadStrictJSON(dst Items, text string) (Items, error) {
	return readJSON(dst, "", text, true)
}

// AddJSON appends the value of raw, strict JSON, under a key. Its strings are
// quoted in YAML only where they have to be. On an error of [ReadStrictJSON] d
// is left as it was.
func AddJSON(d *Items, key string, raw json.RawMessage) error {
	start := len(*d)
	items, err := readJSON(*d, key, string(raw), true)
	for i := start; i < len(items); i++ {
		items[i].Quoted = false
	}
	*d = items
	return err
}

func readJSON(dst Items, key, text string, strict bool) (Items, error) {
	r := jsonReader{text: validUTF8(text), items: dst, base: len(dst), strict: strict}
	if err := r.document(func() error { return r.value(key) }); err != nil {
		return dst, err
	}
	return r.items, nil
}

// EachJSON reads a large document entry by entry. For an object it calls f
// with every element of the arrays under the given top-level keys, in the
// order of the text; of a repeated key only the last counts, and other members
// are checked but not kept. For an array it calls f with its elements and an
// empty key. entry is the element at index 0, valid until f returns.
//
// found holds the keys that are present, in the order of the text; "" stands
// for a top-level array. A key whose value is null is found and has no
// elements, one with any other value gives [ErrNotList].
//
// The text is checked as a whole first, so that f never sees a part of a
// broken one. Errors are those of [ReadJSON], ErrNotList, and what f returns,
// which ends the reading.
func EachJSON(text string, keys []string, f func(key string, entry Items) error) (found []string, err error) {
	r := jsonReader{text: validUTF8(text)}
	lists, err := r.lists(keys)
	if err != nil {
		return nil, err
	}
	return r.each(lists, f)
}

// jsonReader is a recursive descent over text.
type jsonReader struct {
	text   string
	at     int // next byte
	items  Items
	base   int // len(items) at the start of the tree
	depth  int
	strict bool
	dry    bool // check only: nothing is added to items
}

// jsonList is one of the wanted arrays of a document.
type jsonList struct {
	key string
	at  int // its first byte
}

// lists checks the whole document and returns where the wanted arrays are.
func (r *jsonReader) lists(keys []string) (lists []jsonList, err error) {
	r.dry = true
	defer func() { r.dry = false }()
	err = r.document(func() error {
		switch at := r.at; r.text[at] {
		case '[':
			lists = append(lists, jsonList{"", at})
			return r.value("")
		case '{':
			return r.object(func(key string) error {
				if slices.Contains(keys, key) {
					lists = slices.DeleteFunc(lists, func(l jsonList) bool { return l.key == key })
					lists = append(lists, jsonList{key, r.at})
				}
				return r.value(key)
			})
		}
		return r.value("")
	})
	return lists, err
}

func (r *jsonReader) each(lists []jsonList, f func(key string, entry Items) error) (found []string, err error) {
	for _, l := range lists {
		if c := r.text[l.at]; c != '[' && c != 'n' {
			return nil, notList(l.key)
		}
		found = append(found, l.key)
	}
	for _, l := range lists {
		if r.text[l.at] == 'n' {
			continue
		}
		r.at, r.depth = l.at, entryDepth(l.key)-1
		err := r.array(func() error {
			r.items = r.items[:0]
			if err := r.value(""); err != nil {
				return err
			}
			return f(l.key, r.items)
		})
		if err != nil {
			return found, err
		}
	}
	return found, nil
}

// document reads what is before and after the one value of a text.
func (r *jsonReader) document(value func() error) error {
	if err := r.space(); err != nil {
		return err
	}
	if r.at == len(r.text) {
		return r.fail("no JSON value")
	}
	if err := value(); err != nil {
		return err
	}
	if err := r.space(); err != nil {
		return err
	}
	if r.at < len(r.text) {
		return r.fail("text after the end of the JSON value")
	}
	return nil
}

func (r *jsonReader) fail(msg string) error { return syntaxError(r.text, r.at, msg) }

// peek is the next byte, or 0 at the end.
func (r *jsonReader) peek() byte {
	if r.at < len(r.text) {
		return r.text[r.at]
	}
	return 0
}

// space moves to the next byte that is no white space and no comment.
func (r *jsonReader) space() error {
	for r.at < len(r.text) {
		switch r.text[r.at] {
		case ' ', '\n', '\t', '\r':
			r.at++
			continue
		case '#':
		case '/':
			next := byte(0)
			if r.at+1 < len(r.text) {
				next = r.text[r.at+1]
			}
			if next != '*' && next != '/' {
				return nil // the caller finds the fault
			}
			if next == '*' && !r.strict {
				end := strings.Index(r.text[r.at+2:], "*/")
				if end < 0 {
					return r.fail("comment without an end")
				}
				r.at += 2 + end + 2
				continue
			}
		default:
			return nil
		}
		if r.strict {
			return r.fail("comment")
		}
		end := strings.IndexByte(r.text[r.at:], '\n')
		if end < 0 {
			end = len(r.text) - r.at
		}
		r.at += end
	}
	return nil
}

// add appends an item and returns its index.
func (r *jsonReader) add(key string, kind Kind, text string, quoted bool) (int, error) {
	n := len(r.items)
	if r.dry {
		return n, nil
	}
	if n-r.base >= maxItems {
		return n, ErrTooLarge
	}
	r.items = append(r.items, Item{Key: key, Text: text, End: int32(n + 1), Kind: kind, Quoted: quoted})
	return n, nil
}

func (r *jsonReader) close(i int) {
	if !r.dry {
		r.items.Close(i)
	}
}

// value reads a value that begins at the next byte.
func (r *jsonReader) value(key string) error {
	switch c := r.peek(); c {
	case '{':
		i, err := r.add(key, Map, "", false)
		if err != nil {
			return err
		}
		if err := r.object(r.value); err != nil {
			return err
		}
		r.close(i)
		return nil
	case '[':
		i, err := r.add(key, List, "", false)
		if err != nil {
			return err
		}
		if err := r.array(r.element); err != nil {
			return err
		}
		r.close(i)
		return nil
	case '"':
		text, err := r.str()
		if err != nil {
			return err
		}
		_, err = r.add(key, Str, text, true)
		return err
	case 't':
		return r.word(key, "true", Bool)
	case 'f':
		return r.word(key, "false", Bool)
	case 'n':
		return r.word(key, "null", Null)
	default:
		n := numberLen(r.text[r.at:])
		if n == 0 {
			return r.fail("no JSON value")
		}
		r.at += n
		_, err := r.add(key, Num, r.text[r.at-n:r.at], false)
		return err
	}
}

func (r *jsonReader) element() error { return r.value("") }

func (r *jsonReader) word(key, word string, kind Kind) error {
	if !strings.HasPrefix(r.text[r.at:], word) {
		return r.fail("no JSON value")
	}
	r.at += len(word)
	if kind == Null {
		word = ""
	}
	_, err := r.add(key, kind, word, false)
	return err
}

// object reads a map, calling member at each value.
func (r *jsonReader) object(member func(key string) error) error {
	return r.container('}', func() error {
		if r.peek() != '"' {
			return r.fail("no member name in quotes")
		}
		key, err := r.str()
		if err != nil {
			return err
		}
		if err := r.space(); err != nil {
			return err
		}
		if r.peek() != ':' {
			return r.fail("no colon after a member name")
		}
		r.at++
		if err := r.space(); err != nil {
			return err
		}
		return member(key)
	})
}

// array reads a list, calling element at each value.
func (r *jsonReader) array(element func() error) error { return r.container(']', element) }

func (r *jsonReader) container(end byte, each func() error) error {
	if r.depth++; r.depth > MaxJSONDepth {
		return ErrTooDeep
	}
	r.at++
	for first := true; ; first = false {
		if err := r.space(); err != nil {
			return err
		}
		if r.peek() == end && (first || !r.strict) {
			break
		}
		if err := each(); err != nil {
			return err
		}
		if err := r.space(); err != nil {
			return err
		}
		if c := r.peek(); c == end {
			break
		} else if c != ',' {
			return r.fail("no comma or closing bracket after a value")
		}
		r.at++
	}
	r.at++
	r.depth--
	return nil
}

// str reads a string in quotes. It aliases the text if it has no escapes.
func (r *jsonReader) str() (string, error) {
	start := r.at + 1
	rest := r.text[start:]
	for i := range len(rest) {
		if class[rest[i]]&jsonStop == 0 {
			continue
		}
		switch r.at = start + i; rest[i] {
		case '"':
			r.at++
			return rest[:i], nil
		case '\\':
			return r.escaped(start, r.at)
		}
		return "", r.fail("control character in a string")
	}
	r.at = len(r.text)
	return "", r.fail("string without an end")
}

// escaped reads on at i, the first backslash of a string that began at start.
func (r *jsonReader) escaped(start, i int) (string, error) {
	buf := []byte(r.text[start:i])
	for i < len(r.text) {
		c := r.text[i]
		i++
		switch {
		case c == '"':
			r.at = i
			return string(buf), nil
		case c < ' ':
			r.at = i - 1
			return "", r.fail("control character in a string")
		case c != '\\':
			buf = append(buf, c)
			continue
		}
		if i == len(r.text) {
			break
		}
		c = r.text[i]
		i++
		switch c {
		case '"', '\\', '/':
		case 'b':
			c = '\b'
		case 'f':
			c = '\f'
		case 'n':
			c = '\n'
		case 'r':
			c = '\r'
		case 't':
			c = '\t'
		case 'u':
			u, ok := hex(r.text, i, 4)
			if !ok {
				r.at = i - 2
				return "", r.fail("bad escape in a string")
			}
			i += 4
			if utf16.IsSurrogate(u) {
				// A surrogate without its other half is U+FFFD, and what
				// follows it is read for itself.
				low, ok := rune(0), false
				if strings.HasPrefix(r.text[i:], `\u`) {
					low, ok = hex(r.text, i+2, 4)
				}
				u = utf16.DecodeRune(u, low)
				if ok && u != utf8.RuneError {
					i += 6
				}
			}
			buf = utf8.AppendRune(buf, u)
			continue
		default:
			r.at = i - 2
			return "", r.fail("bad escape in a string")
		}
		buf = append(buf, c)
	}
	r.at = len(r.text)
	return "", r.fail("string without an end")
}

// hex reads n hexadecimal digits at i.
func hex(s string, i, n int) (v rune, ok bool) {
	if len(s) < i+n {
		return 0, false
	}
	for _, c := range []byte(s[i : i+n]) {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		v = v<<4 | rune(c)
	}
	return v, true
}

// numberLen returns the length of the JSON number that s begins with, or 0.
func numberLen(s string) int {
	i := 0
	digits := func() bool {
		start := i
		for i < len(s) && '0' <= s[i] && s[i] <= '9' {
			i++
		}
		return i > start
	}
	if i < len(s) && s[i] == '-' {
		i++
	}
	if i < len(s) && s[i] == '0' {
		i++
	} else if !digits() {
		return 0
	}
	if i < len(s) && s[i] == '.' {
		if i++; !digits() {
			return 0
		}
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		i++
		if i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		if !digits() {
			return 0
		}
	}
	return i
}

// validUTF8 replaces what is not UTF-8, so that no reader has to look again.
func validUTF8(text string) string {
	if utf8.ValidString(text) { // several times as fast as the replacing loop
		return text
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}
