package edit

import (
	"errors"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

const bom = "\ufeff"

// ReadYAML reads the first document of a text. An error is a [*Fault].
func ReadYAML(text string) (*Document, error) {
	d := &Document{mapStep: 2, listStep: 2}
	if err := d.begin(text); err != nil {
		return nil, err
	}
	root, err := parseYAML(d.text)
	if err != nil {
		return nil, err
	}
	if root == nil {
		d.root, d.empty = &node{kind: null}, true
		return d, nil
	}
	r := &reader{d: d, known: make(map[*yaml.Node]*node), budget: min(10*len(text)+1<<16, maxNodes)}
	if d.root, err = r.node(root, -1, 0); err != nil {
		return nil, err
	}
	d.empty = d.root.kind == null
	if d.anchors {
		if _, err := r.expand(d.root, 0); err != nil {
			return nil, err
		}
	}
	d.isJSON = root.Style&yaml.FlowStyle != 0 && validJSON(d.text)
	return d, nil
}

// begin makes a text that is within the limits that of the document.
func (d *Document) begin(text string) error {
	d.text, d.bom = strings.CutPrefix(text, bom)
	switch {
	case len(text) > maxBytes:
		return &Fault{Reason: "the document is larger than " + strconv.Itoa(maxBytes>>20) + " MiB"}
	case !utf8.ValidString(d.text):
		return &Fault{Reason: "the document is not UTF-8"}
	case tooMany(d.text):
		return &Fault{Reason: "the document has too many values"}
	}
	return nil
}

// tooMany reports whether a text has more marks than values are allowed. The
// library spends about 200 bytes on a value, so this is asked before.
func tooMany(text string) bool {
	count := 0
	for i := range len(text) {
		switch text[i] {
		case '\n', ',', ':', '[', '{':
			count++
		}
	}
	return count > 2*maxNodes
}

var libraryLine = regexp.MustCompile(`line (\d+): `)

// parseYAML runs the library. The root is nil for a text without a value.
func parseYAML(text string) (root *yaml.Node, err error) {
	defer func() {
		// The library has panicked on malformed texts before.
		if recover() != nil {
			root, err = nil, &Fault{Reason: "the document is no YAML"}
		}
	}()
	var n yaml.Node
	err = yaml.NewDecoder(strings.NewReader(text)).Decode(&n)
	switch {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		f := &Fault{Reason: "the document is no YAML"}
		if m := libraryLine.FindStringSubmatch(err.Error()); m != nil {
			f.Line, _ = strconv.Atoi(m[1])
		}
		return nil, f
	case len(n.Content) == 0:
		return nil, nil
	}
	return n.Content[0], nil
}

// reader makes the tree of a document out of the library's, and finds out
// where everything stands. It asks the library for the places where values
// begin, and the text for those where they end.
type reader struct {
	d      *Document
	known  map[*yaml.Node]*node // by the anchored node
	open   []*yaml.Node         // containers around the present one
	budget int                  // values that aliases may add

	plain            bool // lines end with line feeds alone
	line, column, at int  // the cursor: one-based line and column of a byte
}

// offset returns the byte at which a library node begins. Nodes come in the
// order of the text.
func (r *reader) offset(n *yaml.Node) int {
	text := r.d.text
	if r.line == 0 {
		r.line, r.column = 1, 1
		r.plain = !strings.ContainsAny(text, "\r\u0085\u2028\u2029")
	}
	for r.plain && r.line < n.Line { // whole lines at once
		next := nextLine(text, r.at)
		if next == len(text) && !strings.HasSuffix(text, "\n") {
			break
		}
		r.at, r.line, r.column = next, r.line+1, 1
	}
	for r.at < len(text) && (r.line < n.Line || r.line == n.Line && r.column < n.Column) {
		c, size := utf8.DecodeRuneInString(text[r.at:])
		r.column++
		switch c {
		case '\r':
			if strings.HasPrefix(text[r.at:], "\r\n") {
				size = 2
			}
			fallthrough
		case '\n', '\u0085', '\u2028', '\u2029':
			if r.line == n.Line { // the value is past the end of its line
				r.d.misread = true
				return r.at
			}
			r.line, r.column = r.line+1, 1
		}
		r.at += size
	}
	if r.line != n.Line || r.column != n.Column {
		r.d.misread = true
	}
	return r.at
}

// node reads a node. column is the zero-based column of the block container
// around it, -1 for none.
func (r *reader) node(n *yaml.Node, column, depth int) (*node, error) {
	if depth > MaxDepth {
		return nil, &Fault{Line: n.Line, Column: n.Column, Reason: "the document is nested too deeply"}
	}
	start := r.offset(n)
	m := &node{at: &place{start: start, end: start}}
	if n.Anchor != "" {
		r.d.anchors = true
		r.known[n] = m
	}
	switch n.Kind {
	case yaml.AliasNode:
		if n.Alias == nil || slices.Contains(r.open, n.Alias) || r.known[n.Alias] == nil {
			return nil, &Fault{Line: n.Line, Column: n.Column, Reason: "an alias leads nowhere or into itself"}
		}
		m.kind, m.target = alias, r.known[n.Alias]
		m.target.refs = append(m.target.refs, m)
		m.at.end = r.expect(start, "*"+n.Value)
	case yaml.ScalarNode:
		r.scalar(m, n, column)
	case yaml.SequenceNode, yaml.MappingNode:
		r.open = append(r.open, n)
		err := r.container(m, n, column, depth)
		r.open = r.open[:len(r.open)-1]
		return m, err
	}
	return m, nil
}

// expect steps over a text that must stand at a byte.
func (r *reader) expect(at int, text string) int {
	if !strings.HasPrefix(r.d.text[at:], text) {
		r.d.misread = true
		return at
	}
	return at + len(text)
}

// properties steps over the anchor and the tag of a node.
func (r *reader) properties(n *yaml.Node, at int) (start, end int) {
	end = at
	if n.Anchor == "" && n.Style&yaml.TaggedStyle == 0 {
		return at, at
	}
	for at < len(r.d.text) && (r.d.text[at] == '&' || r.d.text[at] == '!') {
		for at < len(r.d.text) && !strings.ContainsRune(" \t\r\n,[]{}", rune(r.d.text[at])) {
			at++
		}
		end = at
		at = r.blank(at)
	}
	return at, end
}

// blank steps over white space, line breaks and comments.
func (r *reader) blank(at int) int {
	text := r.d.text
	for at < len(text) {
		switch c := text[at]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			at++
		case c == '#' && (at == 0 || strings.IndexByte(" \t\r\n", text[at-1]) >= 0):
			for at < len(text) && text[at] != '\n' && text[at] != '\r' {
				at++
			}
		default:
			return at
		}
	}
	return at
}

func (r *reader) scalar(m *node, n *yaml.Node, column int) {
	m.text = n.Value
	switch n.ShortTag() {
	case "!!null":
		m.kind = null
	case "!!bool":
		m.kind = boolean
	case "!!int", "!!float":
		m.kind = number
	default:
		m.kind = str
	}
	text := r.d.text
	at, end := r.properties(n, m.at.start)
	m.at.end = end
	token := at
	switch {
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		m.block = n.Style&yaml.LiteralStyle != 0
		m.at.end = r.blockScalar(at, column)
		return
	case n.Style&yaml.DoubleQuotedStyle != 0:
		if at = r.expect(at, `"`); !r.d.misread {
			for at < len(text) && text[at] != '"' {
				if text[at] == '\\' {
					at++
				}
				at++
			}
			at = r.expect(min(at, len(text)), `"`)
		}
	case n.Style&yaml.SingleQuotedStyle != 0:
		if at = r.expect(at, `'`); !r.d.misread {
			for at < len(text) && (text[at] != '\'' || strings.HasPrefix(text[at:], "''")) {
				if text[at] == '\'' {
					at++
				}
				at++
			}
			at = r.expect(min(at, len(text)), `'`)
		}
	case n.Value == "":
		return
	default:
		// A plain scalar is its value but for the white space at its folds.
		for i := 0; i < len(n.Value) && !r.d.misread; {
			if c := n.Value[i]; c == ' ' || c == '\t' || c == '\n' {
				i++
				continue
			}
			for at < len(text) && strings.IndexByte(" \t\r\n", text[at]) >= 0 {
				at++
			}
			at = r.expect(at, n.Value[i:i+1])
			i++
		}
	}
	m.at.end = at
	if !r.d.misread && n.Style&yaml.TaggedStyle == 0 && !strings.ContainsAny(text[token:at], "\r\n") {
		m.raw = text[token:at]
	}
}

// blockScalar returns the end of a literal or folded scalar, which is the
// start of a line.
func (r *reader) blockScalar(at, column int) int {
	text := r.d.text
	header := r.lineEnd(at)
	indent, keep := -1, false
	for _, c := range text[at:header] {
		if c == ' ' || c == '#' {
			break
		}
		keep = keep || c == '+'
		if c >= '1' && c <= '9' {
			indent = max(column, 0) + int(c-'0')
		}
	}
	end := r.nextLine(header)
	for at := end; at < len(text); {
		stop := r.lineEnd(at)
		line := text[at:stop]
		spaces := len(line) - len(strings.TrimLeft(line, " "))
		next := r.nextLine(stop)
		switch blank := spaces == len(line); {
		case blank && (indent < 0 || spaces <= indent):
			if keep {
				end = next
			}
		case indent < 0 && spaces <= column || indent >= 0 && spaces < indent:
			return end
		default:
			if indent < 0 {
				indent = spaces
			}
			end = next
		}
		at = next
	}
	return end
}

// lineEnd returns the place of the line break at or after a byte.
func (r *reader) lineEnd(at int) int { return lineEnd(r.d.text, at) }

// nextLine returns the start of the line after the line break at a byte.
func (r *reader) nextLine(at int) int { return nextLine(r.d.text, at) }

func lineEnd(text string, at int) int {
	if i := strings.IndexByte(text[at:], '\n'); i >= 0 {
		at += i
		if i > 0 && text[at-1] == '\r' {
			at--
		}
		return at
	}
	return len(text)
}

func nextLine(text string, at int) int {
	if i := strings.IndexByte(text[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(text)
}

// columnOf returns how far a byte is from the start of its line, if nothing
// but indentation and indicators of block lists stand before it.
func (r *reader) columnOf(at int) int { return at - lineStart(r.d.text, at) }

func lineStart(text string, at int) int { return strings.LastIndexByte(text[:at], '\n') + 1 }

// container reads the children of a list or an object.
func (r *reader) container(m *node, n *yaml.Node, column, depth int) error {
	text := r.d.text
	m.kind = list
	if n.Kind == yaml.MappingNode {
		m.kind = object
	}
	m.flow = n.Style&yaml.FlowStyle != 0
	at, end := r.properties(n, m.at.start)
	if m.flow {
		want := byte('[')
		if m.kind == object {
			want = '{'
		}
		m.at.opaque = at >= len(text) || text[at] != want // a lone pair in a list
		end = at
		if !m.at.opaque {
			end++
		}
	} else if len(n.Content) > 0 && m.kind == list {
		column = r.columnOf(at)
	}
	for i := 0; i < len(n.Content); i++ {
		child := n.Content[i]
		if m.kind == list {
			if !m.flow {
				dash := at
				if i > 0 {
					dash = r.blank(end)
				}
				m.at.dashes = append(m.at.dashes, dash)
				r.expect(dash, "-")
			}
			item, err := r.node(child, column, depth+1)
			if err != nil {
				return err
			}
			item.parent = m
			m.items = append(m.items, item)
			end = item.at.end
			continue
		}
		k, err := r.key(child)
		if err != nil {
			return err
		}
		if !m.flow {
			if i == 0 {
				column = r.columnOf(k.at.start)
			}
			before := strings.TrimRight(text[:k.at.start], " \t")
			if k.at.colon < 0 || strings.HasSuffix(before, "?") || strings.HasSuffix(before, "\n") && r.columnOf(k.at.start) != column {
				m.at.opaque = true
			}
		} else if strings.HasSuffix(strings.TrimRight(text[:k.at.start], " \t\r\n"), "?") {
			m.at.opaque = true
		}
		i++
		item, err := r.node(n.Content[i], column, depth+1)
		if err != nil {
			return err
		}
		item.parent = m
		m.keys, m.items = append(m.keys, k), append(m.items, item)
		if k.merge {
			m.merges = append(m.merges, item)
		}
		if end = item.at.end; end < k.at.end {
			end = k.at.end
		}
		if !m.flow && depth == 0 && item.at.dashes != nil {
			r.d.listStep = item.at.dashes[0] - lineStart(text, item.at.dashes[0]) - column
		}
	}
	if m.flow && !m.at.opaque {
		for end = r.blank(end); end < len(text) && strings.IndexByte(",:?", text[end]) >= 0; {
			end = r.blank(end + 1)
		}
		closing := "]"
		if m.kind == object {
			closing = "}"
		}
		end = r.expect(end, closing)
	}
	m.at.end = end
	return nil
}

// key reads the key of a member.
func (r *reader) key(n *yaml.Node) (*key, error) {
	start := r.offset(n)
	scalar := &node{at: &place{start: start, end: start}}
	k := &key{}
	switch {
	case n.Kind == yaml.AliasNode && n.Alias != nil && n.Alias.Kind == yaml.ScalarNode:
		k.text = n.Alias.Value
		scalar.at.end = r.expect(start, "*"+n.Value)
	case n.Kind == yaml.ScalarNode:
		if n.Anchor != "" {
			r.known[n] = scalar
			r.d.anchors = true
		}
		k.text, k.merge = n.Value, n.Value == "<<" && n.ShortTag() == "!!merge"
		r.scalar(scalar, n, -1)
		k.raw = scalar.raw
	default:
		return nil, &Fault{Line: n.Line, Column: n.Column, Reason: "a key is no scalar"}
	}
	k.at = &keyPlace{start: start, end: scalar.at.end, colon: -1}
	at := k.at.end
	for at < len(r.d.text) && (r.d.text[at] == ' ' || r.d.text[at] == '\t') {
		at++
	}
	if at < len(r.d.text) && r.d.text[at] == ':' {
		k.at.colon = at
	}
	return k, nil
}

// expand checks what the aliases add up to. It returns the number of values of
// a node as plain values have it.
func (r *reader) expand(root *node, depth int) (int, error) {
	type size struct{ values, depth int }
	sizes := make(map[*node]size) // of what aliases lead to
	var visit func(n *node) size
	visit = func(n *node) size {
		if n.kind == alias {
			s, ok := sizes[n.target]
			if !ok {
				s = visit(n.target)
				sizes[n.target] = s
			}
			r.budget -= s.values
			return s
		}
		total := size{1, 0}
		for _, item := range n.items {
			s := visit(item)
			total.values = min(total.values+s.values, maxNodes)
			total.depth = max(total.depth, s.depth+1)
		}
		return total
	}
	total := visit(root)
	switch {
	case r.budget < 0:
		return 0, &Fault{Reason: "aliases expand to far more than the document"}
	case total.depth > MaxDepth:
		return 0, &Fault{Reason: "the document is nested too deeply"}
	}
	return total.values, nil
}
