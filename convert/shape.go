package convert

import (
	"iter"
	"slices"
	"strings"
)

// Shape is what a text looks like from a distance: enough to tell its format,
// found without parsing it. It is made once for a text and asked by all
// parsers; what it has found out it keeps.
//
// A Shape reads JSON with comments and trailing commas, and only as far as the
// questions need: the entries of a large document are skipped, not read. It
// never fails; of a broken document it tells what stands before the fault. A
// Shape belongs to one goroutine.
type Shape struct {
	Text string // the whole text

	start   int // first byte of content
	members []member
	next    int  // where the scan of the members goes on; 0 before the first
	done    bool // all members that can be read are known
	end     int  // the byte after the object, where the scan came to its end

	lined    bool
	first    string
	entry    string // of a list, the lines of its first entry
	keys     []string
	sections []string
}

// member is one member of a JSON object. Keys are as they stand, since no key
// that any format asks for has an escape.
type member struct {
	key string
	at  int // first byte of the value
}

// ShapeOf returns the shape of a text.
func ShapeOf(text string) *Shape {
	return &Shape{Text: text, start: skipSpace(text, 0)}
}

// JSON returns '{' for a text that begins like a JSON object, '[' for one that
// begins like a JSON array, and 0 for any other. A section of a profile
// ("[General]") begins like an array, hence it is none.
func (s *Shape) JSON() byte {
	if s.start >= len(s.Text) {
		return 0
	}
	switch c := s.Text[s.start]; c {
	case '{':
		return c
	case '[':
		i := skipSpace(s.Text, s.start+1)
		if i < len(s.Text) && strings.IndexByte(`{["]`, s.Text[i]) >= 0 {
			return c
		}
	}
	return 0
}

// deep reports whether a text that begins like JSON nests deeper than any
// format may.
func (s *Shape) deep() bool {
	if s.JSON() == 0 {
		return false
	}
	depth := 0
	for i := s.start; i < len(s.Text); i++ {
		switch s.Text[i] {
		case '"':
			i = skipString(s.Text, i) - 1
		case '{', '[':
			if depth++; depth > MaxDepth {
				return true
			}
		case '}', ']':
			depth--
		}
	}
	return false
}

// Has reports whether every key is a member of the top-level JSON object.
func (s *Shape) Has(keys ...string) bool {
	for _, key := range keys {
		if s.find(key) < 0 {
			return false
		}
	}
	return true
}

// HasAny reports whether one of the keys is a member of the top-level JSON
// object.
func (s *Shape) HasAny(keys ...string) bool {
	return slices.ContainsFunc(keys, func(key string) bool { return s.find(key) >= 0 })
}

// Kind tells what the value of a top-level member is by its first byte:
// '{', '[', '"', '0' for any number, 't', 'f' or 'n'; 0 if there is no such
// member.
func (s *Shape) Kind(key string) byte {
	i := s.find(key)
	if i < 0 || i >= len(s.Text) {
		return 0
	}
	c := s.Text[i]
	if c == '-' || '0' <= c && c <= '9' {
		return '0'
	}
	return c
}

// Elements runs over the objects in the array under a top-level key, or in the
// top-level array for the key "". Other elements are passed over. A shape is
// valid for one turn of the loop.
func (s *Shape) Elements(key string) iter.Seq[*Shape] {
	return func(yield func(*Shape) bool) {
		at := s.start
		if key != "" {
			at = s.find(key)
		}
		text := s.Text
		if at < 0 || at >= len(text) || text[at] != '[' || key == "" && s.JSON() != '[' {
			return
		}
		var e Shape
		for i := at + 1; ; {
			i = skipSpace(text, i)
			if i < len(text) && text[i] == ',' {
				i++
				continue
			}
			if i >= len(text) || text[i] == ']' {
				return
			}
			if text[i] == '{' {
				// The element is cut off only after the loop has seen it: most
				// loops end at the first.
				e = Shape{Text: text[i:], members: e.members[:0]}
				if !yield(&e) {
					return
				}
				if e.end > 0 {
					i += e.end
					continue
				}
			}
			j := skipValue(text, i)
			if j <= i {
				return
			}
			i = j
		}
	}
}

// First returns the first object in the array under a key, as [Shape.Elements]
// finds it, or an empty shape.
func (s *Shape) First(key string) *Shape {
	for e := range s.Elements(key) {
		return e
	}
	return &Shape{done: true}
}

// TopKey reports whether a text that is no JSON has a line that begins with
// one of the keys, a colon, and a space or the end of the line, as the top
// level of a YAML mapping has.
func (s *Shape) TopKey(keys ...string) bool {
	s.lines()
	return slices.ContainsFunc(keys, func(key string) bool { return slices.Contains(s.keys, key) })
}

// Section reports whether a text that is no JSON has one of the sections: a
// line of its own such as "[Proxy]". Letter case does not matter.
func (s *Shape) Section(names ...string) bool {
	s.lines()
	return slices.ContainsFunc(names, func(name string) bool {
		return slices.ContainsFunc(s.sections, func(has string) bool { return strings.EqualFold(has, name) })
	})
}

// FirstLine returns the first line that is neither blank nor a comment of a
// profile (#, ;, //), trimmed.
func (s *Shape) FirstLine() string {
	s.lines()
	return s.first
}

// EntryHas reports whether a text that is no JSON begins with a YAML list
// whose first entry is a mapping with all of the keys.
func (s *Shape) EntryHas(keys ...string) bool {
	s.lines()
	for _, key := range keys {
		if !mentions(s.entry, key) {
			return false
		}
	}
	return s.entry != ""
}

// mentions reports whether a piece of YAML has a key: the word where a key may
// begin, with a colon and a blank after it.
func mentions(text, key string) bool {
	for {
		i := strings.Index(text, key)
		if i < 0 {
			return false
		}
		before := strings.TrimRight(text[:i], `"'`)
		text = text[i+len(key):]
		after := strings.TrimLeft(strings.TrimLeft(text, `"'`), " ")
		if (before == "" || strings.IndexByte("{,- \t\n", before[len(before)-1]) >= 0) &&
			strings.HasPrefix(after, ":") && (len(after) == 1 || strings.IndexByte(" \t\n", after[1]) >= 0 || text[0] != ':') {
			return true
		}
	}
}

// Limits of what lines keeps; a profile has a dozen of each.
const (
	maxTopKeys  = 256
	maxSections = 256
	maxEntry    = 16 << 10 // bytes
)

// lines notes once what the lines of a text that is no JSON begin with.
func (s *Shape) lines() {
	if s.lined {
		return
	}
	s.lined = true
	if s.JSON() != 0 {
		return
	}
	indent, inEntry := "", false
	for line := range Lines(s.Text) {
		if s.first != "" {
			line = strings.TrimPrefix(line, indent)
		}
		if inEntry {
			inEntry = (line == "" || line[0] == ' ' || line[0] == '\t') && len(s.entry)+len(line) < maxEntry
			if inEntry {
				s.entry += line + "\n"
			}
		}
		if line == "" || s.first != "" && (line[0] == ' ' || line[0] == '-' || line[0] == '#') {
			continue
		}
		trimmed := strings.TrimSpace(line)
		if trimmed == "" || trimmed[0] == '#' || trimmed[0] == ';' || strings.HasPrefix(trimmed, "//") {
			continue
		}
		if s.first == "" {
			s.first = trimmed
			indent = line[:len(line)-len(strings.TrimLeft(line, " "))]
			line = line[len(indent):]
			if trimmed == "-" || strings.HasPrefix(trimmed, "- ") {
				s.entry, inEntry = trimmed[1:min(len(trimmed), maxEntry)]+"\n", true
			}
		}
		if trimmed[0] == '[' && trimmed[len(trimmed)-1] == ']' {
			if len(s.sections) < maxSections {
				s.sections = append(s.sections, trimmed[1:len(trimmed)-1])
			}
			continue
		}
		if key, rest, ok := strings.Cut(line, ":"); ok && len(s.keys) < maxTopKeys && key != "" && len(key) < 64 && key[0] != ' ' && key[0] != '\t' {
			if rest == "" || rest[0] == ' ' || rest[0] == '\t' {
				s.keys = append(s.keys, strings.Trim(strings.TrimSpace(key), `"'`))
			}
		}
	}
}

// Lines runs over the lines of a text, without their ends: LF, CRLF or a lone
// CR.
func Lines(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for text != "" {
			line := text
			i := strings.IndexByte(text, '\n')
			if i >= 0 {
				line, text = text[:i], text[i+1:]
			} else {
				text = ""
			}
			line = strings.TrimSuffix(line, "\r")
			for {
				i := strings.IndexByte(line, '\r')
				if i < 0 {
					break
				}
				if !yield(line[:i]) {
					return
				}
				line = line[i+1:]
			}
			if !yield(line) {
				return
			}
		}
	}
}

// find returns where the value of a top-level member begins, or -1. It scans
// on from where the last question stopped.
func (s *Shape) find(key string) int {
	for _, m := range s.members {
		if m.key == key {
			return m.at
		}
	}
	for !s.done {
		if m, ok := s.member(); ok && m.key == key {
			return m.at
		}
	}
	return -1
}

// maxMembers bounds the members that a shape remembers of one object.
const maxMembers = 1024

// member reads on to the next member. The value that it leaves behind is
// skipped only by the call after.
func (s *Shape) member() (member, bool) {
	text := s.Text
	i := s.next
	switch {
	case i == 0:
		if s.start >= len(text) || text[s.start] != '{' {
			s.done = true
			return member{}, false
		}
		i = s.start + 1
	case i < len(text):
		i = skipValue(text, i)
	}
	i = skipSpace(text, i)
	if i < len(text) && text[i] == ',' {
		i = skipSpace(text, i+1)
	}
	s.done = true // until a member is found
	if i >= len(text) || len(s.members) >= maxMembers {
		return member{}, false
	}
	if text[i] == '}' {
		s.end = i + 1
		return member{}, false
	}
	// YAML's flow style has the same shape, with keys that need no quotes.
	end := i
	for end < len(text) && keyByte(text[end]) {
		end++
	}
	key, quoted := text[i:end], text[i] == '"'
	if quoted {
		if end = skipString(text, i); end < i+2 {
			return member{}, false
		}
		key = text[i+1 : end-1]
	}
	i = skipSpace(text, end)
	if key == "" && !quoted || i >= len(text) || text[i] != ':' {
		return member{}, false
	}
	m := member{key, skipSpace(text, i+1)}
	s.members = append(s.members, m)
	s.next, s.done = m.at, false
	return m, true
}

func keyByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-'
}

// skipSpace returns the first byte from i on that is neither white space nor
// in a comment.
func skipSpace(text string, i int) int {
	for i < len(text) {
		switch text[i] {
		case ' ', '\t', '\r', '\n':
			i++
			continue
		case '#':
		case '/':
			if strings.HasPrefix(text[i:], "/*") {
				end := strings.Index(text[i+2:], "*/")
				if end < 0 {
					return len(text)
				}
				i += end + 4
				continue
			}
			if !strings.HasPrefix(text[i:], "//") {
				return i
			}
		default:
			return i
		}
		end := strings.IndexByte(text[i:], '\n')
		if end < 0 {
			return len(text)
		}
		i += end + 1
	}
	return i
}

// skipString returns the byte after a string that begins at i.
func skipString(text string, i int) int {
	for i++; i < len(text); i++ {
		switch text[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		}
	}
	return len(text)
}

// plainByte marks the bytes that skipValue need not look at.
var plainByte = func() (t [256]bool) {
	for i := range t {
		t[i] = true
	}
	for _, c := range []byte(`"{}[],/#`) {
		t[c] = false
	}
	return t
}()

// skipValue returns where the JSON value that begins at i ends: at the byte
// after its closing bracket, or at the comma or bracket that follows a scalar.
// It counts brackets and does not recurse, so nesting costs nothing.
func skipValue(text string, i int) int {
	depth := 0
	for i < len(text) {
		c := text[i]
		if plainByte[c] {
			i++
			continue
		}
		switch c {
		case '"':
			i = skipString(text, i)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth <= 0 {
				if depth < 0 {
					return i // the end of the container around a scalar
				}
				return i + 1
			}
		case ',':
			if depth == 0 {
				return i
			}
		case '/', '#':
			// Inside unquoted text there is no comment: a#b, a//b, http://.
			if p := text[max(i, 1)-1]; plainByte[p] && p > ' ' {
				break
			}
			if j := skipSpace(text, i); j > i {
				i = j
				continue
			}
		}
		i++
	}
	return len(text)
}
