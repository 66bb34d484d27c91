package doc

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// subset reads the part of YAML that node lists are written in: block and flow
// maps and lists, one-line scalars, comments. It never guesses. Where a text
// uses anything else (anchors, tags, block scalars, scalars and flow values
// over several lines, tabs, documents, unusual keys), its methods return false
// and the library reads instead; what it does read, it reads as the library
// does. It must not grow into a YAML reader.
type subset struct {
	s      string // the text, up to the end of the section being read
	i      int    // next byte
	indent int    // spaces before the content of the current line, -1 after the last line
	depth  int
	items  Items
	rare   int // entries that the library has read
}

// section is the value of one of the wanted top-level keys.
type section struct {
	key        string
	start, end int // from the byte after the colon to the next top-level key
}

// eachSubset is [EachYAML] for the subset. ok is false where the library has
// to read the text, which may turn out after f has seen entries.
func eachSubset(text string, keys []string, f func(key string, entry Items) error) (found []string, ok bool, err error) {
	if !plainText(text) {
		return nil, false, nil
	}
	r := subset{s: text}
	sections, ok := r.outline(keys)
	if !ok {
		return nil, false, nil
	}
	for _, sec := range sections {
		found = append(found, sec.key)
	}
	for _, sec := range sections {
		r.s, r.i = text[:sec.end], sec.start
		if ok, err := r.list(sec.key, f); !ok || err != nil {
			return found, ok, err
		}
	}
	return found, true, nil
}

// plainText tells that the only line breaks are LF and CRLF.
func plainText(s string) bool {
	for _, odd := range [...]string{"\u0085", "\u2028", "\u2029", "\uFEFF"} {
		if strings.Contains(s, odd) {
			return false
		}
	}
	return strings.Count(s, "\r") == strings.Count(s, "\r\n")
}

// outline finds the wanted sections. Others are looked at only as far as it
// takes to know that their top-level lines are not inside a scalar or a flow
// value that began further up.
func (r *subset) outline(keys []string) (sections []section, ok bool) {
	r.line()
	if r.indent == 0 && strings.HasPrefix(r.s[r.i:], "---") {
		r.i += 3
		if !r.endLine() {
			return nil, false
		}
	}
	if r.indent > 0 {
		return nil, false
	}
	if r.indent == 0 && r.dash() {
		return []section{{"", r.i, len(r.s)}}, true
	}
	for r.indent == 0 {
		key, ok := r.key()
		if !ok {
			return nil, false
		}
		if !slices.Contains(keys, key) {
			if !r.skipSection() {
				return nil, false
			}
			continue
		}
		if slices.ContainsFunc(sections, func(s section) bool { return s.key == key }) {
			return nil, false
		}
		start := r.i
		r.topLevel()
		sections = append(sections, section{key, start, r.i})
		r.line()
	}
	return sections, true
}

// topLevel moves to the next line that can be a top-level key.
func (r *subset) topLevel() {
	for {
		n := strings.IndexByte(r.s[r.i:], '\n')
		if n < 0 {
			r.i = len(r.s)
			return
		}
		r.i += n + 1
		if r.i == len(r.s) {
			return
		}
		switch r.s[r.i] {
		case ' ', '\n', '\r', '#':
		case '-':
			if !r.dash() {
				return
			}
		default:
			return
		}
	}
}

// skipSection passes over the value of a top-level key.
func (r *subset) skipSection() bool {
	ok := r.skipLine(true)
	for ok && (r.indent > 0 || r.indent == 0 && r.dash()) {
		ok = r.skipLine(false)
	}
	return ok
}

// skipLine passes over one line of a section, and over the block scalar that
// it may introduce. afterKey tells that the top-level key was just read.
func (r *subset) skipLine(afterKey bool) bool {
	// A block scalar goes on as long as lines are deeper than parent, the
	// column of the key or dash that it belongs to.
	parent, col := -1, r.indent
	if afterKey {
		parent = 0
	}
	for !afterKey && (r.at('-') || r.at('?')) && blankAt(r.s, r.i+1) {
		dash := r.i
		r.i++
		if r.spaces(); r.lineEnd() {
			return r.endLine()
		}
		parent, col = col, col+r.i-dash
	}
	for {
		r.spaces()
		if r.lineEnd() {
			return r.endLine()
		}
		switch c := r.s[r.i]; c {
		case '&', '!', '*':
			for r.i < len(r.s) && !blank(r.s[r.i]) {
				r.i++
			}
			continue
		case '|', '>':
			if parent < 0 {
				return false
			}
			for {
				r.toNextLine()
				if r.line(); r.indent <= parent {
					return true
				}
			}
		case '"', '\'', '[', '{':
			r.items = r.items[:0]
			if c == '"' || c == '\'' {
				if _, ok := r.quoted(); !ok {
					return false
				}
			} else if !r.flow("") {
				return false
			}
			if !afterKey && r.colon() {
				parent, afterKey = col, true
				continue
			}
			return r.endLine()
		case '`', '@', '%', '\t':
			return false
		}
		// A plain scalar takes the rest of the line, unless it is a key.
		end := r.i
		for end < len(r.s) && r.s[end] != '\n' &&
			!(r.s[end] == ':' && blankAt(r.s, end+1)) && !(r.s[end] == '#' && blank(r.s[end-1])) {
			end++
		}
		if end < len(r.s) && r.s[end] == ':' {
			if afterKey {
				return false
			}
			r.i, parent, afterKey = end+1, col, true
			continue
		}
		r.i = end
		r.toNextLine()
		r.line()
		return true
	}
}

// list reads the value of a section and calls f with its elements.
func (r *subset) list(key string, f func(key string, entry Items) error) (ok bool, err error) {
	if key != "" {
		if r.spaces(); !r.lineEnd() {
			return r.flowList(key, f)
		}
		if !r.endLine() {
			return false, nil
		}
	} else {
		r.indent = 0
	}
	if r.indent < 0 {
		return true, nil // no value is null
	}
	for col := r.indent; r.indent == col && r.dash(); {
		start := r.i - col
		r.items, r.depth = r.items[:0], entryDepth(key)
		r.i++
		if !(r.element(col) && r.nextElement(col)) &&
			!(r.elementByLibrary(start, col, entryDepth(key)) && r.nextElement(col)) {
			return false, nil
		}
		if err := f(key, r.items); err != nil {
			return true, err
		}
	}
	return r.indent < 0, nil
}

// nextElement tells that the line after an element begins another one or ends
// the section. The library takes some other lines for a part of the element.
func (r *subset) nextElement(col int) bool {
	return r.indent < 0 || r.indent == col && r.dash()
}

// flowList reads a section whose value is on the line of the key: null, or a
// list in brackets.
func (r *subset) flowList(key string, f func(key string, entry Items) error) (ok bool, err error) {
	if r.s[r.i] != '[' {
		text, ok := r.plain(false)
		return ok && kindOf(text) == Null && r.endLine() && r.indent < 0, nil
	}
	for r.i++; ; r.i++ {
		r.spaces()
		if r.at(']') {
			break
		}
		r.items, r.depth = r.items[:0], entryDepth(key)
		if !r.flow("") {
			return false, nil
		}
		if r.spaces(); !r.at(',') && !r.at(']') {
			return false, nil
		}
		if err := f(key, r.items); err != nil {
			return true, err
		}
		if r.at(']') {
			break
		}
	}
	r.i++
	return r.endLine() && r.indent < 0, nil
}

// elementByLibrary reads the one list element whose lines begin at start with
// the library. That is safe without anchors and aliases: an element that ends
// before the next dash for itself also ends there inside the list. It is for
// rare elements: each call costs the library a few kilobytes to set up.
func (r *subset) elementByLibrary(start, col, depth int) bool {
	if r.rare++; r.rare > 16+start/4096 {
		return false
	}
	r.i = start
	for {
		r.toNextLine()
		if r.line(); r.indent <= col {
			break
		}
	}
	end := len(r.s)
	if r.indent >= 0 {
		end = r.i - r.indent
	}
	text := r.s[start:end]
	if strings.ContainsAny(text, "&*") || strings.Contains(text, "<<") {
		return false
	}
	root, err := parseYAML(text)
	if err != nil || root == nil || len(root.Content) != 1 {
		return false
	}
	lib := library{items: r.items[:0]}
	if lib.node("", root.Content[0], depth, false) != nil {
		return false
	}
	r.items = lib.items
	return true
}

// element reads what follows the dash at column col and moves to the next
// line.
func (r *subset) element(col int) bool {
	dash := r.i - 1
	if r.spaces(); r.lineEnd() {
		if !r.endLine() {
			return false
		}
		if r.indent > col {
			return r.block("", r.indent)
		}
		r.items.Add("", Null, "")
		return true
	}
	inner := col + r.i - dash
	start := r.i
	if r.dash() {
		return r.block("", inner)
	}
	if _, ok := r.key(); ok {
		r.i = start
		return r.block("", inner)
	}
	r.i = start
	return r.value("", col)
}

// block reads the block map or list whose first line begins at r.i, in column
// col, and moves to the first line after it.
func (r *subset) block(key string, col int) bool {
	if r.depth++; r.depth > MaxYAMLDepth {
		return false
	}
	var ok bool
	if r.dash() {
		i := r.items.Open(key, List)
		ok = r.blockList(col)
		r.items.Close(i)
	} else {
		i := r.items.Open(key, Map)
		ok = r.blockMap(col)
		r.items.Close(i)
	}
	r.depth--
	return ok && r.indent <= col
}

func (r *subset) blockList(col int) bool {
	for len(r.items) < maxItems {
		r.i++
		if !r.element(col) {
			return false
		}
		if r.indent != col || !r.dash() {
			return true
		}
	}
	return false
}

func (r *subset) blockMap(col int) bool {
	for len(r.items) < maxItems {
		key, ok := r.key()
		if !ok {
			return false
		}
		r.spaces()
		switch {
		case !r.lineEnd():
			if !r.value(key, col) {
				return false
			}
		case !r.endLine():
			return false
		case r.indent > col || r.indent == col && r.dash():
			if !r.block(key, r.indent) {
				return false
			}
		default:
			r.items.Add(key, Null, "")
		}
		if r.indent != col || r.dash() {
			return true
		}
	}
	return false
}

// key reads "name:" and stops after the colon. The plain names it knows are
// those that clients use.
func (r *subset) key() (string, bool) {
	if r.at('"') || r.at('\'') {
		key, ok := r.quoted()
		return key, ok && r.colon()
	}
	i := r.i
	for i < len(r.s) && class[r.s[i]]&nameByte != 0 {
		i++
	}
	key := r.s[r.i:i]
	if key == "" || class[key[0]]&plainFirst == 0 {
		return "", false
	}
	r.i = i
	return key, r.colon()
}

// colon passes over the colon of a block key.
func (r *subset) colon() bool {
	if r.at(':') && blankAt(r.s, r.i+1) {
		r.i++
		return true
	}
	return false
}

// value reads a value that must end on this line and moves to the next line,
// which must not be deeper than col: there it would be a continuation.
func (r *subset) value(key string, col int) bool {
	if c := r.s[r.i]; c == '{' || c == '[' || c == '"' || c == '\'' {
		if !r.flow(key) {
			return false
		}
	} else {
		text, ok := r.plain(false)
		if !ok {
			return false
		}
		r.items.addPlain(key, text)
	}
	return r.endLine() && r.indent <= col
}

// flow reads a value inside brackets, or one that begins with a bracket or a
// quote.
func (r *subset) flow(key string) bool {
	switch {
	case r.at('{') || r.at('['):
		if r.depth++; r.depth > MaxYAMLDepth {
			return false
		}
		var ok bool
		if r.at('{') {
			i := r.items.Open(key, Map)
			ok = r.flowItems('}')
			r.items.Close(i)
		} else {
			i := r.items.Open(key, List)
			ok = r.flowItems(']')
			r.items.Close(i)
		}
		r.depth--
		return ok
	case r.at('"') || r.at('\''):
		text, ok := r.quoted()
		r.items.AddQuoted(key, text)
		return ok
	}
	text, ok := r.plain(true)
	r.items.addPlain(key, text)
	return ok
}

// flowItems reads up to and with the closing bracket.
func (r *subset) flowItems(end byte) bool {
	for len(r.items) < maxItems {
		r.i++
		if r.spaces(); r.at(end) {
			r.i++
			return true
		}
		var key string
		if end == '}' {
			var ok bool
			if key, ok = r.flowKey(); !ok {
				return false
			}
		}
		if end == '}' && (r.at(',') || r.at('}')) {
			r.items.Add(key, Null, "")
		} else if !r.flow(key) {
			return false
		}
		if r.spaces(); r.at(end) {
			r.i++
			return true
		}
		if !r.at(',') {
			return false
		}
	}
	return false
}

// flowKey reads "name: " and stops at the value.
func (r *subset) flowKey() (key string, ok bool) {
	if r.at('"') || r.at('\'') {
		key, ok = r.quoted()
		ok = ok && r.at(':') // after a quote, no space is needed
	} else {
		key, ok = r.plain(true)
		ok = ok && key != "<<" && r.at(':') && blankAt(r.s, r.i+1)
	}
	if ok {
		r.i++
		r.spaces()
	}
	return key, ok
}

// plain reads a scalar without quotes up to where it ends on this line.
func (r *subset) plain(flow bool) (string, bool) {
	stop := blockStop
	if flow {
		stop = flowStop
	}
	i := r.i
	if i == len(r.s) {
		return "", false
	}
	if class[r.s[i]]&plainFirst == 0 && !(r.s[i] == '-' && i+1 < len(r.s) && class[r.s[i+1]]&nameByte != 0) {
		return "", false
	}
scan:
	for ; i < len(r.s); i++ {
		c := r.s[i]
		if class[c]&stop == 0 {
			continue
		}
		switch c {
		case ':':
			if blankAt(r.s, i+1) {
				if !flow {
					return "", false
				}
				break scan
			}
			if flow && strings.IndexByte(",[]{}", r.s[i+1]) >= 0 {
				return "", false
			}
		case '#':
			if r.s[i-1] == ' ' {
				if flow {
					return "", false
				}
				break scan
			}
		case '\n', '\r':
			if flow {
				return "", false
			}
			break scan
		case ',', ']', '}':
			break scan
		default:
			return "", false
		}
	}
	text := strings.TrimRight(r.s[r.i:i], " ")
	if r.i += len(text); flow {
		r.i = i
	}
	return text, true
}

// quoted reads a scalar in quotes that ends on this line.
func (r *subset) quoted() (string, bool) {
	quote := r.s[r.i]
	start := r.i + 1
	escapes := false
	i := start
	for ; i < len(r.s); i++ {
		c := r.s[i]
		if class[c]&quotedStop == 0 {
			continue
		}
		if c == quote {
			if quote == '"' || i+1 == len(r.s) || r.s[i+1] != quote {
				break
			}
			escapes = true
			i++
		} else if c == '\\' && quote == '"' {
			escapes = true
			i++
		} else if c != '"' && c != '\'' && c != '\\' {
			return "", false
		}
	}
	if i >= len(r.s) {
		return "", false
	}
	r.i = i + 1
	text := r.s[start:i]
	switch {
	case !escapes:
		return text, true
	case quote == '\'':
		return strings.ReplaceAll(text, "''", "'"), true
	}
	return unescape(text)
}

// unescape resolves the escapes that writers use.
func unescape(s string) (string, bool) {
	buf := make([]byte, 0, len(s))
	for {
		i := strings.IndexByte(s, '\\')
		if i < 0 {
			return string(append(buf, s...)), true
		}
		buf = append(buf, s[:i]...)
		c := s[i+1] // a backslash is never the last byte before the quote
		s = s[i+2:]
		digits := 0
		switch c {
		case '"', '\\', '/':
			buf = append(buf, c)
		case 'n':
			buf = append(buf, '\n')
		case 't':
			buf = append(buf, '\t')
		case 'r':
			buf = append(buf, '\r')
		case 'x':
			digits = 2
		case 'u':
			digits = 4
		case 'U':
			digits = 8
		default:
			return "", false
		}
		if digits > 0 {
			v, ok := hex(s, 0, digits)
			if !ok || !utf8.ValidRune(v) {
				return "", false
			}
			buf = utf8.AppendRune(buf, v)
			s = s[digits:]
		}
	}
}

// line moves from the start of a line to the next content and sets indent.
func (r *subset) line() {
	for r.i < len(r.s) {
		start := r.i
		r.spaces()
		if r.i == len(r.s) {
			break
		}
		if c := r.s[r.i]; c == '\n' || c == '\r' || c == '#' {
			r.toNextLine()
			continue
		}
		r.indent = r.i - start
		return
	}
	r.indent = -1
}

// endLine moves to the next content after a line of which nothing but a
// comment may be left.
func (r *subset) endLine() bool {
	start := r.i
	r.spaces()
	if r.i < len(r.s) {
		if c := r.s[r.i]; c != '\n' && c != '\r' && (c != '#' || r.i == start && r.s[start-1] != ' ') {
			return false
		}
	}
	r.toNextLine()
	r.line()
	return true
}

// lineEnd tells that nothing but a comment is left of a line, after spaces.
func (r *subset) lineEnd() bool {
	if r.i == len(r.s) {
		return true
	}
	c := r.s[r.i]
	return c == '\n' || c == '\r' || c == '#' && r.s[r.i-1] == ' '
}

func (r *subset) toNextLine() {
	n := strings.IndexByte(r.s[r.i:], '\n')
	if n < 0 {
		r.i = len(r.s)
		return
	}
	r.i += n + 1
}

func (r *subset) spaces() {
	for r.i < len(r.s) && r.s[r.i] == ' ' {
		r.i++
	}
}

func (r *subset) at(c byte) bool { return r.i < len(r.s) && r.s[r.i] == c }

// dash tells that a list element begins here.
func (r *subset) dash() bool { return r.at('-') && blankAt(r.s, r.i+1) }

func blank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// blankAt tells that s has white space or its end at i.
func blankAt(s string, i int) bool { return i >= len(s) || blank(s[i]) }

// Classes of bytes, as bits of class.
const (
	plainFirst uint8 = 1 << iota // may begin a plain scalar
	nameByte                     // may stand in a plain key
	blockStop                    // needs a look in a plain scalar
	flowStop                     // the same inside brackets
	quotedStop                   // the same inside quotes
	jsonStop                     // the same in a JSON string
)

var class = func() (t [256]uint8) {
	for c := range t {
		if c < ' ' || c == 0x7f {
			t[c] = blockStop | flowStop | quotedStop
			continue
		}
		if c > ' ' {
			t[c] = plainFirst
		}
		if '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' {
			t[c] |= nameByte
		}
	}
	t['\t'] &^= quotedStop
	for c := range ' ' {
		t[c] |= jsonStop
	}
	t['"'], t['\\'] = t['"']|jsonStop, t['\\']|jsonStop
	for _, c := range "_-./" {
		t[c] |= nameByte
	}
	for _, c := range ",[]{}#&*!|>'\"%@`-?:" {
		t[c] &^= plainFirst
	}
	for _, c := range ":#" {
		t[c] |= blockStop | flowStop
	}
	for _, c := range ",[]{}?" {
		t[c] |= flowStop
	}
	for _, c := range `"'\` {
		t[c] |= quotedStop
	}
	return t
}()
