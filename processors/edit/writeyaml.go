package edit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/sandrone-gateway/sandrone/convert/doc"
)

// YAML writes the document: the text with the changed values in their places,
// and without line breaks at its end, unless they belong to the last value. An
// error is a [*Fault].
func (d *Document) YAML() (string, error) {
	if !d.root.dirty && !d.broken {
		return d.finish(d.text, d.root), nil
	}
	if s, ok := d.splice(); ok {
		text := s.apply(0, len(s.text), s.changes)
		if end, ok := s.checked(); ok {
			if end > 0 {
				end += len(text) - len(s.text)
			}
			return d.trimmed(text, end), nil
		}
		if text, ok := d.check(text); ok {
			return text, nil
		}
	}
	// A layout that cannot be changed in parts: the values are written anew.
	w := yamlWriter{d: d}
	w.root(d.root)
	if text, ok := d.check(w.String()); ok {
		return text, nil
	}
	return "", &Fault{Reason: "the document cannot be written as YAML"}
}

// check reads a text again and reports whether it is what the tree says.
func (d *Document) check(text string) (string, bool) {
	again, err := ReadYAML(text)
	if err != nil || !equal(again.root, d.root) {
		return "", false
	}
	return d.finish(text, again.root), true
}

// finish takes the line breaks off the end of a text with the value root. Those
// of a block scalar stay.
func (d *Document) finish(text string, root *node) string {
	return d.trimmed(text, endOf(root, text))
}

// endOf returns where the last scalar of a value ends if that is a block scalar
// with line breaks of its own at the end, 0 otherwise.
func endOf(n *node, text string) int {
	for len(n.items) > 0 {
		n = n.items[len(n.items)-1]
	}
	if n.kind == str && n.at != nil && strings.HasSuffix(n.text, "\n") && n.at.end <= len(text) {
		return n.at.end
	}
	return 0
}

// trimmed takes the line breaks off the end of a text, as far as a byte.
func (d *Document) trimmed(text string, end int) string {
	cut := strings.TrimRight(text, "\r\n")
	if end > len(cut) {
		cut = text[:end]
	}
	if d.bom {
		cut = bom + cut
	}
	return cut
}

// change replaces a part of the text.
type change struct {
	start, end int
	text       string
}

// splicer collects the changes of a text.
type splicer struct {
	d       *Document
	text    string // with a line break at its end
	changes []change
}

// splice finds the changes of the text that write the changed values into it.
// It reports whether the layout of the text allows that.
func (d *Document) splice() (*splicer, bool) {
	s := &splicer{d: d, text: d.text}
	newline := "\n"
	if i := strings.IndexByte(s.text, '\n'); i > 0 && s.text[i-1] == '\r' {
		newline = "\r\n"
	}
	if s.text != "" && !strings.HasSuffix(s.text, "\n") {
		s.text += newline
	}
	switch {
	case d.misread:
		return nil, false
	case d.broken:
		if d.root.at != nil || strings.TrimLeft(removeComments(s.text), " \t\r\n") != "" {
			return nil, false
		}
		w := yamlWriter{d: d} // comments alone
		w.root(d.root)
		s.add(len(s.text), len(s.text), w.String())
	case !s.parts(d.root):
		n := d.root
		w := yamlWriter{d: d}
		w.root(n)
		if n.flow {
			s.add(n.at.start, n.at.end, strings.TrimSuffix(w.String(), "\n"))
		} else if at := lineStart(s.text, n.at.start); strings.TrimLeft(s.text[at:n.at.start], " ") == "" {
			s.add(at, s.after(n.at.end), w.String())
		} else {
			return nil, false
		}
	default:
		s.container(d.root)
	}
	slices.SortStableFunc(s.changes, func(a, b change) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end)) })
	at := 0
	for i, c := range s.changes {
		if c.start < at {
			return nil, false
		}
		at = c.end
		if newline != "\n" {
			s.changes[i].text = strings.ReplaceAll(c.text, "\n", newline)
		}
	}
	return s, true
}

// apply makes changes to a part of the text.
func (s *splicer) apply(from, to int, changes []change) string {
	var b strings.Builder
	for _, c := range changes {
		b.WriteString(s.text[from:c.start])
		b.WriteString(c.text)
		from = c.end
	}
	b.WriteString(s.text[from:to])
	return b.String()
}

// checked is [Document.check] for a text whose top-level members each begin a
// line of their own: only those that were changed are read again, since each
// is a document by itself. It reports false where that cannot be said. end is
// that of the last scalar, as by endOf, had the changed text the length of the
// old one.
func (s *splicer) checked() (end int, ok bool) {
	d, n := s.d, s.d.root
	if d.broken || d.anchors || n.kind != object || n.flow || n.was == nil || n.at.opaque || !slices.Contains(s.survivors(n), true) {
		return 0, false
	}
	keys, survives := n.was.keys, s.survivors(n)
	for _, k := range keys {
		if k.at.start != lineStart(s.text, k.at.start) {
			return 0, false
		}
	}
	changes, next := s.changes, 0 // the present member
	for i, k := range keys {
		from, to := k.at.start, len(s.text)
		if i+1 < len(keys) {
			to = keys[i+1].at.start
		}
		count := 0
		for _, c := range changes {
			if c.start > to || c.start == to && c.end > to {
				break
			}
			if c.start < from || c.end > to {
				return 0, false
			}
			count++
		}
		own := changes[:count]
		changes = changes[count:]
		first := next
		if survives[i] {
			next++
		}
		last := i == len(keys)-1
		if last {
			next = len(n.keys)
		}
		if len(own) == 0 {
			if next != first+1 || n.items[first] != n.was.items[i] || n.items[first].dirty {
				return 0, false
			}
			if last {
				end = endOf(n.items[first], s.text)
			}
			continue
		}
		text := s.apply(from, to, own)
		part, err := ReadYAML(text)
		if err != nil || part.misread || part.anchors {
			return 0, false
		}
		want := &node{kind: object, keys: n.keys[first:next], items: n.items[first:next]}
		if part.empty && first == next && !last {
			continue
		}
		if part.root.kind != object || part.root.flow || len(part.root.keys) != next-first || !equal(part.root, want) {
			return 0, false
		}
		if last {
			if end = endOf(part.root, text); end > 0 {
				end += len(s.text) - len(text)
			}
		}
	}
	return end, len(changes) == 0
}

// removeComments blanks the comments of a text without values.
func removeComments(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if before, _, ok := strings.Cut(line, "#"); ok {
			line = before
		}
		if line = strings.TrimSpace(line); line != "---" {
			b.WriteString(line)
		}
	}
	return b.String()
}

func (s *splicer) add(start, end int, text string) {
	s.changes = append(s.changes, change{start, end, text})
}

// parts reports whether a changed container can be changed in parts.
func (s *splicer) parts(n *node) bool {
	if n.was == nil || n.at.opaque {
		return false
	}
	survives := s.survivors(n)
	if !slices.Contains(survives, true) {
		return false
	}
	return n.kind != list || n.flow || survives[0] || s.ownLine(n.at.dashes[0])
}

// survivors tells which of the former children are still there.
func (s *splicer) survivors(n *node) []bool {
	survives := make([]bool, len(n.was.items))
	if n.kind == object {
		have := make(map[*key]bool, len(n.keys))
		for _, k := range n.keys {
			have[k] = true
		}
		for i, k := range n.was.keys {
			survives[i] = have[k]
		}
		return survives
	}
	have := make(map[*node]bool, len(n.items))
	for _, item := range n.items {
		have[item] = true
	}
	for i, item := range n.was.items {
		survives[i] = have[item]
	}
	return survives
}

// ownLine reports whether nothing but spaces stands before a byte on its line.
func (s *splicer) ownLine(at int) bool {
	return strings.TrimLeft(s.text[lineStart(s.text, at):at], " ") == ""
}

// after returns the start of the line after the one where a value ends.
func (s *splicer) after(end int) int {
	if end > 0 && s.text[end-1] == '\n' {
		return end
	}
	return nextLine(s.text, end)
}

// stop returns the end of the last line of a value that ends at a byte.
func (s *splicer) stop(end int) int {
	if end > 0 && s.text[end-1] == '\n' {
		if end--; end > 0 && s.text[end-1] == '\r' {
			end--
		}
		return end
	}
	return lineEnd(s.text, end)
}

func (s *splicer) container(n *node) {
	switch {
	case n.flow:
		s.flow(n)
	case n.kind == object:
		s.blockObject(n)
	default:
		s.blockList(n)
	}
}

// memberEnd is where a member ends.
func memberEnd(k *key, v *node) int { return max(v.at.end, k.at.end, k.at.colon+1) }

func (s *splicer) blockObject(n *node) {
	was, survives := n.was, s.survivors(n)
	first := was.keys[0].at.start
	column := first - lineStart(s.text, first)
	next := 0 // the present member
	for i := 0; i < len(was.keys); i++ {
		k, old := was.keys[i], was.items[i]
		if survives[i] {
			now := n.items[next]
			next++
			switch {
			case now != old:
				s.value(k.at.colon+1, old, now, column)
			case old.dirty && s.parts(old):
				s.container(old)
			case old.dirty:
				s.value(k.at.colon+1, old, old, column)
			}
			continue
		}
		start := lineStart(s.text, k.at.start)
		if s.ownLine(k.at.start) {
			s.add(start, s.after(memberEnd(k, old)), "")
			continue
		}
		// The object begins behind a dash. What comes next moves up to it.
		for ; i+1 < len(was.keys) && !survives[i+1]; i++ {
		}
		end := s.after(memberEnd(was.keys[i], was.items[i]))
		for end < len(s.text) && s.text[end] == ' ' {
			end++
		}
		s.add(k.at.start, end, "")
	}
	last := len(was.keys) - 1
	at := s.after(memberEnd(was.keys[last], was.items[last]))
	w := yamlWriter{d: s.d}
	for ; next < len(n.keys); next++ {
		w.member(n.keys[next], n.items[next], column)
	}
	if w.Len() > 0 {
		s.add(at, at, w.String())
	}
}

// value puts a value in the place of another one, behind a colon. column is
// that of the object.
func (s *splicer) value(colon int, old, now *node, column int) {
	start, end := old.at.start, old.at.end
	beside := !strings.Contains(s.text[colon:max(colon, start)], "\n") && (old.flow || old.items == nil && (end == 0 || end == start || s.text[end-1] != '\n'))
	w := yamlWriter{d: s.d}
	w.value(now, column)
	text := w.String() // from the colon on, with a line break
	inline := now.flow || !strings.HasPrefix(text, "\n") && strings.Count(text, "\n") == 1
	switch {
	case beside && inline && start < end:
		s.add(start, end, strings.TrimSpace(text))
	case beside && inline:
		s.add(colon, colon, strings.TrimSuffix(text, "\n"))
	case beside && strings.HasPrefix(text, "\n"):
		// A comment behind the old value stays behind the colon.
		s.add(colon, max(colon, end), "")
		at := s.after(max(colon, end))
		s.add(at, at, text[1:])
	default:
		s.add(colon, s.stop(max(colon, end)), strings.TrimSuffix(text, "\n"))
	}
}

func (s *splicer) blockList(n *node) {
	was, survives := n.was, s.survivors(n)
	dashes := n.at.dashes
	column := dashes[0] - lineStart(s.text, dashes[0])
	next := 0
	for i, old := range was.items {
		end := s.after(max(old.at.end, dashes[i]+1))
		if !survives[i] {
			s.add(lineStart(s.text, dashes[i]), end, "")
			continue
		}
		w := yamlWriter{d: s.d}
		for ; n.items[next] != old; next++ {
			w.item(n.items[next], column)
		}
		next++
		switch {
		case w.Len() == 0:
		case s.ownLine(dashes[i]):
			at := lineStart(s.text, dashes[i])
			s.add(at, at, w.String())
		default: // the first item, behind another dash
			s.add(dashes[i], dashes[i], w.String()[column:]+strings.Repeat(" ", column))
		}
		switch {
		case !old.dirty:
		case s.parts(old):
			s.container(old)
		case old.flow:
			w := yamlWriter{d: s.d}
			w.flow(old)
			s.add(old.at.start, old.at.end, w.String())
		default:
			w := yamlWriter{d: s.d}
			w.item(old, column)
			s.add(dashes[i], s.stop(max(old.at.end, dashes[i]+1)), strings.TrimSuffix(w.String(), "\n")[column:])
		}
	}
	last := len(was.items) - 1
	at := s.after(max(was.items[last].at.end, dashes[last]+1))
	w := yamlWriter{d: s.d}
	for ; next < len(n.items); next++ {
		w.item(n.items[next], column)
	}
	if w.Len() > 0 {
		s.add(at, at, w.String())
	}
}

// flow changes a container in brackets.
func (s *splicer) flow(n *node) {
	was, survives := n.was, s.survivors(n)
	span := func(i int) (start, end int) {
		if n.kind == object {
			return was.keys[i].at.start, memberEnd(was.keys[i], was.items[i])
		}
		return was.items[i].at.start, was.items[i].at.end
	}
	write := func(i int) string {
		w := yamlWriter{d: s.d}
		if n.kind == object {
			w.flowKey(n.keys[i])
		}
		w.flow(n.items[i])
		return w.String()
	}
	// between is what goes between a new child and the one at a byte.
	between := func(at int) string {
		if line := lineStart(s.text, at); s.ownLine(at) && line > 0 {
			return ",\n" + s.text[line:at]
		}
		return ", "
	}
	next, kept, gone := 0, -1, -1 // the last survivor; the start of a run of others
	for i, old := range was.items {
		start, _ := span(i)
		if !survives[i] {
			if gone < 0 {
				gone = start
			}
			continue
		}
		if gone >= 0 {
			s.add(gone, start, "")
		}
		gone, kept = -1, i
		for ; n.kind == list && n.items[next] != old; next++ {
			s.add(start, start, write(next)+between(start))
		}
		now := n.items[next]
		next++
		if now == old && !old.dirty {
			continue
		}
		if now == old && s.parts(old) {
			s.container(old)
			continue
		}
		w := yamlWriter{d: s.d}
		w.flow(now)
		switch {
		case old.at.start < old.at.end:
			s.add(old.at.start, old.at.end, w.String())
		case n.kind == object && was.keys[i].at.colon < 0:
			s.add(was.keys[i].at.end, was.keys[i].at.end, ": "+w.String())
		case n.kind == object:
			s.add(was.keys[i].at.colon+1, was.keys[i].at.colon+1, " "+w.String())
		default:
			s.add(old.at.start, old.at.end, w.String())
		}
	}
	start, end := span(kept)
	if gone >= 0 {
		_, last := span(len(was.items) - 1)
		s.add(end, last, "")
		end = last
	}
	for ; next < len(n.items); next++ {
		s.add(end, end, between(start)+write(next))
	}
}

// yamlWriter writes values that the text does not have.
type yamlWriter struct {
	strings.Builder
	d *Document
}

func (w *yamlWriter) spaces(n int) {
	for range n {
		w.WriteByte(' ')
	}
}

// root writes a whole document.
func (w *yamlWriter) root(n *node) {
	n = n.resolve()
	switch {
	case n.kind == str && n.block && literal(n.text):
		w.value(n, 0)
	case len(n.items) == 0 || n.flow || w.d.isJSON:
		w.flow(n)
		w.WriteByte('\n')
	default:
		w.block(n, 0)
	}
}

// block writes the children of a container, each on lines of its own.
func (w *yamlWriter) block(n *node, column int) {
	if n.kind == list {
		for _, item := range n.items {
			w.item(item, column)
		}
		return
	}
	n.each(func(k *key, v *node) { w.member(k, v, column) })
}

// member writes a member of an object that stands in a column.
func (w *yamlWriter) member(k *key, v *node, column int) {
	w.spaces(column)
	if len(k.text) > longKey {
		w.WriteString("? ")
		w.key(k, false)
		w.WriteByte('\n')
		w.spaces(column)
	} else {
		w.key(k, false)
	}
	w.WriteByte(':')
	w.value(v, column)
}

// longKey is from how many bytes on a key needs a question mark: YAML has a
// limit of 1024 characters for others, escapes included.
const longKey = 128

// value writes what follows a colon, with the line break at its end.
func (w *yamlWriter) value(n *node, column int) {
	n = n.resolve()
	switch {
	case n.kind == str && n.block && literal(n.text):
		text, chomp := strings.TrimSuffix(n.text, "\n"), ""
		if text == n.text {
			chomp = "-"
		}
		w.WriteString(" |" + chomp + "\n")
		for line := range strings.SplitSeq(text, "\n") {
			if line != "" {
				w.spaces(column + 2)
			}
			w.WriteString(line + "\n")
		}
	case len(n.items) == 0 || n.flow:
		w.WriteByte(' ')
		w.flow(n)
		w.WriteByte('\n')
	case n.kind == list:
		w.WriteByte('\n')
		w.block(n, column+w.d.listStep)
	default:
		w.WriteByte('\n')
		w.block(n, column+w.d.mapStep)
	}
}

// item writes an item of a list whose dashes stand in a column.
func (w *yamlWriter) item(n *node, column int) {
	n = n.resolve()
	w.spaces(column)
	w.WriteByte('-')
	if len(n.items) == 0 || n.flow {
		w.value(n, column)
		return
	}
	var inner yamlWriter
	inner.d = w.d
	inner.block(n, column+2)
	w.WriteString(" " + inner.String()[column+2:])
}

// literal reports whether a text can be written below a bar.
func literal(s string) bool {
	if s == "" || s[0] == ' ' || s[0] == '\n' || strings.HasSuffix(s, "\n\n") || !strings.Contains(s, "\n") {
		return false
	}
	for line := range strings.SplitSeq(s, "\n") {
		if strings.TrimRight(line, " \t") != line || strings.HasPrefix(line, "\t") {
			return false
		}
	}
	return !strings.ContainsFunc(s, func(r rune) bool {
		return r != '\n' && r != '\t' && (unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || r == '\ufeff')
	})
}

// flow writes a value on one line.
func (w *yamlWriter) flow(n *node) {
	n = n.resolve()
	switch n.kind {
	case list:
		w.WriteByte('[')
		for i, item := range n.items {
			if i > 0 {
				w.WriteString(", ")
			}
			w.flow(item)
		}
		w.WriteByte(']')
	case object:
		w.WriteByte('{')
		first := true
		n.each(func(k *key, v *node) {
			if !first {
				w.WriteString(", ")
			}
			first = false
			w.flowKey(k)
			w.flow(v)
		})
		w.WriteByte('}')
	default:
		w.scalar(n)
	}
}

func (w *yamlWriter) flowKey(k *key) {
	if len(k.text) > longKey && !w.d.isJSON {
		w.WriteString("? ")
		w.key(k, true)
		w.WriteString(" : ")
		return
	}
	w.key(k, true)
	w.WriteString(": ")
}

func (w *yamlWriter) key(k *key, flow bool) {
	switch {
	case w.d.isJSON:
		w.jsonString(k.text)
	case k.raw != "" && !k.json && !marks(k.raw) && (!flow || movable(k.raw)):
		w.WriteString(k.raw)
	default:
		w.WriteString(string(doc.AppendYAMLString(nil, k.text)))
	}
}

// marks reports whether a token would begin or end a document at the start of a
// line.
func marks(raw string) bool { return strings.HasPrefix(raw, "---") || strings.HasPrefix(raw, "...") }

// movable reports whether a token means the same inside brackets, outside and
// at the start of a line. Not every plain scalar does.
func movable(raw string) bool {
	switch {
	case raw[0] == '"' || raw[0] == '\'':
		return true
	case marks(raw):
		return false
	case strings.ContainsAny(raw, ",[]{}?") || raw[0] == ':' || strings.HasSuffix(raw, ":"):
		return false
	}
	return raw[0] != '-' || len(raw) > 1 && (raw[1] == '.' || raw[1] >= '0' && raw[1] <= '9')
}

// jsonString writes a string of a document that is YAML and JSON. YAML wants
// some characters escaped that JSON takes as they are.
func (w *yamlWriter) jsonString(s string) {
	for _, r := range string(doc.AppendJSONString(nil, s)) {
		if r >= 0x7F && r < 0xA0 || r == '\u2028' || r == '\u2029' || r == '\ufeff' || r == 0xFFFE || r == 0xFFFF {
			fmt.Fprintf(w, "\\u%04x", r)
			continue
		}
		w.WriteRune(r)
	}
}

func (w *yamlWriter) scalar(n *node) {
	switch {
	case w.d.isJSON && n.kind == str:
		w.jsonString(n.text)
	case n.kind == null:
		w.WriteString("null")
	case w.d.isJSON && n.kind == number:
		if text, ok := jsonNumber(n.text); ok {
			w.WriteString(text)
			return
		}
		w.WriteString(n.text)
	case n.kind != str:
		w.WriteString(n.text)
	case n.raw != "" && !n.json && movable(n.raw):
		w.WriteString(n.raw)
	default:
		w.WriteString(string(doc.AppendYAMLString(nil, n.text)))
	}
}
