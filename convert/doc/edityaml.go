package doc

import (
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Member is a top-level member of a document: its key, and its text, which
// begins with the key and ends with a line break.
type Member struct {
	Key  string
	Text []byte
}

// ReplaceYAML puts members into a document that is a mapping, each in the place
// of the one with its key, or at the end. Every other line keeps its bytes:
// comments, order, quoting, anchors. An alias elsewhere to something in a
// replaced member becomes a copy of it. A document in brackets is written anew,
// in the same order; one that is empty or null counts as an empty mapping.
//
// Errors are those of [ReadYAML], and [ErrNotMap] for a document that is
// something else.
func ReplaceYAML(text string, members []Member) (string, error) {
	text = validUTF8(text)
	root, err := parseYAML(text)
	if err != nil {
		return "", err
	}
	for root != nil && root.Kind == yaml.AliasNode {
		root = root.Alias
	}
	switch {
	case root == nil || root.Kind == yaml.ScalarNode && scalarKind(root) == Null:
		if root != nil && root.Value != "" {
			text = "" // the word null
		}
	case root.Kind != yaml.MappingNode:
		return "", ErrNotMap
	default:
		e := yamlEditor{text: text, root: root, lines: yamlLines(text)}
		if !e.inLines() {
			return rewriteYAML(text, members)
		}
		return e.replace(members)
	}
	e := yamlEditor{text: text, lines: yamlLines(text)}
	return e.replace(members)
}

// rewriteYAML is [ReplaceYAML] for a document that has no line for each of its
// members.
func rewriteYAML(text string, members []Member) (string, error) {
	items, err := ReadYAML(nil, text)
	if err != nil {
		return "", err
	}
	var b []byte
	done := make([]bool, len(members))
	for i := 1; i < items.Next(0); i = items.Next(i) {
		if items.Find(0, items[i].Key) != i {
			continue // a later one counts
		}
		if k := slices.IndexFunc(members, func(m Member) bool { return m.Key == items[i].Key }); k >= 0 {
			b = append(b, members[k].Text...)
			done[k] = true
			continue
		}
		b = AppendYAMLMember(b, items, i, 0)
	}
	for k, m := range members {
		if !done[k] {
			b = append(b, m.Text...)
		}
	}
	return string(b), nil
}

// yamlEditor changes a block mapping by its lines.
type yamlEditor struct {
	text  string
	root  *yaml.Node // nil: nothing is there yet
	lines []int      // where each line begins
}

// yamlLines finds the lines as the library counts them.
func yamlLines(text string) []int {
	starts := []int{0}
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '\r' && i+1 < len(text) && text[i+1] == '\n':
			i++
		case c == '\n', c == '\r':
		case c < utf8.RuneSelf:
			i++
			continue
		default:
			r, n := utf8.DecodeRuneInString(text[i:])
			if i += n; r == 0x85 || r == 0x2028 || r == 0x2029 {
				starts = append(starts, i)
			}
			continue
		}
		i++
		starts = append(starts, i)
	}
	return starts
}

const byteOrderMark = "\ufeff"

// inLines tells that every key of the mapping begins a line, and that the
// mapping begins with the first of them.
func (e *yamlEditor) inLines() bool {
	if e.root.Style&yaml.FlowStyle != 0 || len(e.root.Content) == 0 ||
		e.root.Line != e.root.Content[0].Line || e.root.Column != e.root.Content[0].Column {
		return false
	}
	for i := range e.lines { // a key may stand below its question mark
		if l := e.line(i); strings.HasPrefix(strings.TrimLeft(l, " "), "?") && strings.IndexByte(l, '?') < e.root.Column {
			return false
		}
	}
	for i := 0; i < len(e.root.Content); i += 2 {
		k := e.root.Content[i]
		if k.Line < 1 || k.Line > len(e.lines) || k.Column != e.root.Content[0].Column || k.Style&yaml.TaggedStyle != 0 || k.Anchor != "" {
			return false
		}
		before := strings.TrimPrefix(e.text[e.lines[k.Line-1]:e.offset(k)], byteOrderMark)
		if strings.Trim(before, " ") != "" {
			return false
		}
	}
	return true
}

// offset is the byte at which a node begins.
func (e *yamlEditor) offset(n *yaml.Node) int {
	at := e.lines[n.Line-1]
	if n.Line == 1 && strings.HasPrefix(e.text, byteOrderMark) {
		at += len(byteOrderMark) // the library does not count it
	}
	for range n.Column - 1 {
		if at >= len(e.text) {
			break
		}
		_, size := utf8.DecodeRuneInString(e.text[at:])
		at += size
	}
	return at
}

type yamlEdit struct {
	from, to int
	text     []byte
}

func (e *yamlEditor) replace(members []Member) (string, error) {
	var edits []yamlEdit
	indent := 0
	owned := make(map[*yaml.Node]bool) // anchored nodes of replaced members
	var kept []*yaml.Node
	done := make([]bool, len(members))
	var content []*yaml.Node
	if e.root != nil {
		content = e.root.Content
		indent = content[0].Column - 1
	}
	for i := 0; i+1 < len(content); i += 2 {
		key := content[i]
		k := slices.IndexFunc(members, func(m Member) bool { return key.Kind == yaml.ScalarNode && m.Key == key.Value })
		if k < 0 {
			kept = append(kept, key, content[i+1])
			continue
		}
		anchors(content[i+1], owned)
		edit := yamlEdit{from: e.offset(key) - indent}
		var next int // the line after the member, from zero
		if i+2 < len(content) {
			next = content[i+2].Line - 1
		} else {
			next = e.end(key.Line)
		}
		edit.to = e.start(e.foreign(key.Line, next, indent))
		if !done[k] {
			edit.text = indented(members[k].Text, indent)
			done[k] = true
		}
		edits = append(edits, edit)
	}
	copies, err := e.copies(kept, owned)
	if err != nil {
		return "", err
	}
	edits = append(edits, copies...)
	last := 1
	if len(content) > 0 {
		last = content[len(content)-2].Line
	}
	end := e.start(e.end(last))
	slices.SortFunc(edits, func(a, b yamlEdit) int { return a.from - b.from })
	var b strings.Builder
	at := 0
	for _, edit := range edits {
		b.WriteString(e.text[at:edit.from])
		b.Write(edit.text)
		at = edit.to
	}
	b.WriteString(e.text[at:end])
	for k, m := range members {
		if done[k] {
			continue
		}
		if b.Len() > 0 && !strings.HasSuffix(b.String(), "\n") {
			b.WriteByte('\n')
		}
		b.Write(indented(m.Text, indent))
	}
	b.WriteString(e.text[end:])
	return b.String(), nil
}

// start is where a line begins, counted from zero; the line after the last one
// is the end of the text.
func (e *yamlEditor) start(line int) int {
	if line >= len(e.lines) {
		return len(e.text)
	}
	return e.lines[line]
}

// line is the text of a line, counted from zero.
func (e *yamlEditor) line(i int) string { return e.text[e.lines[i]:e.start(i+1)] }

// end is the line, counted from zero, after the last one of the document; from
// is a line in its content, counted from one.
func (e *yamlEditor) end(from int) int {
	for i := from; i < len(e.lines); i++ {
		l := e.line(i)
		if strings.HasPrefix(l, "---") || strings.HasPrefix(l, "...") {
			if len(l) == 3 || strings.ContainsRune(" \t\r\n", rune(l[3])) {
				return i
			}
		}
	}
	return len(e.lines)
}

// foreign is the first of the lines before next that do not belong to the
// member whose key is in line key, counted from one: blank ones, and comments
// that are not indented below it.
func (e *yamlEditor) foreign(key, next, indent int) int {
	first := next
	for i := next - 1; i >= key; i-- {
		l := e.line(i)
		content := strings.TrimSpace(l)
		if content != "" && (content[0] != '#' || strings.IndexByte(l, '#') > indent) {
			break
		}
		first = i
	}
	return first
}

// anchors collects the nodes below n that have an anchor.
func anchors(n *yaml.Node, found map[*yaml.Node]bool) {
	if n.Anchor != "" {
		found[n] = true
	}
	for _, c := range n.Content { // an alias has none
		anchors(c, found)
	}
}

// copies replaces the aliases in nodes that lead to anchors which go away.
func (e *yamlEditor) copies(nodes []*yaml.Node, owned map[*yaml.Node]bool) ([]yamlEdit, error) {
	if len(owned) == 0 {
		return nil, nil
	}
	lib := library{budget: budget(len(e.text))}
	var edits []yamlEdit
	var walk func(n *yaml.Node) error
	walk = func(n *yaml.Node) error {
		if n.Kind == yaml.AliasNode && owned[n.Alias] {
			lib.items = lib.items[:0]
			if err := lib.node("", n, 0, true); err != nil {
				return err
			}
			from := e.offset(n)
			to := from + len("*") + len(n.Value)
			if to > len(e.text) || e.text[from:to] != "*"+n.Value {
				return &SyntaxError{Line: n.Line, Msg: "alias to a part that is replaced"}
			}
			edits = append(edits, yamlEdit{from, to, AppendJSON(nil, lib.items, 0)})
			return nil
		}
		for _, c := range n.Content {
			if err := walk(c); err != nil {
				return err
			}
		}
		return nil
	}
	for _, n := range nodes {
		if err := walk(n); err != nil {
			return nil, err
		}
	}
	return edits, nil
}

// indented moves every line of text to the right.
func indented(text []byte, by int) []byte {
	if by == 0 {
		return text
	}
	var b []byte
	for l := range strings.Lines(string(text)) {
		b = append(appendSpaces(b, by), l...)
	}
	return b
}
