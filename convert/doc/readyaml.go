package doc

import (
	"errors"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// EachYAML reads a large document entry by entry, with the contract of
// [EachJSON]: it calls f with the elements of the lists under the given
// top-level keys, or of a top-level list. Text that is JSON is read as such.
//
// Scalars keep their text; plain ones are Null, Bool or Num by the rule of
// YAML 1.2 and JSON (null, ~ and nothing; true and false in the usual
// spellings; JSON numbers), everything else is Str. Aliases and merge keys are
// resolved, tabs at the start of a line stand for two spaces.
//
// Errors are a [*SyntaxError], [ErrTooDeep], [ErrTooLarge], [ErrExpansion],
// [ErrNotList], and what f returns. Unlike in JSON, f may have seen entries
// before a fault further down is found.
func EachYAML(text string, keys []string, f func(key string, entry Items) error) (found []string, err error) {
	text = validUTF8(text)
	if looksLikeJSON(text) {
		r := jsonReader{text: text}
		if lists, err := r.lists(keys); err == nil {
			return r.each(lists, f)
		} else if !isSyntax(err) {
			return nil, err
		}
	}

	// A later reading of the same text passes over what f has seen: all of
	// them find the same entries as far as they come.
	seen := 0
	unseen := func() func(string, Items) error {
		n := 0
		return func(key string, entry Items) error {
			if n++; n <= seen {
				return nil
			}
			seen = n
			return f(key, entry)
		}
	}
	read := func(text string) (found []string, ok bool, err error) {
		if found, ok, err = eachSubset(text, keys, unseen()); ok {
			return found, true, err
		}
		root, err := parseYAML(text)
		if err != nil {
			return nil, false, err
		}
		found, err = eachLibrary(root, len(text), keys, unseen())
		return found, true, err
	}
	found, ok, err := read(text)
	if !ok && isSyntax(err) {
		if spaced := untab(text); spaced != text {
			if found, ok, err := read(spaced); ok {
				return found, err
			}
		}
	}
	return found, err
}

// ReadYAML appends the tree of a whole document, the first one of the text, to
// dst. An empty document is null. Scalars are read as by [EachYAML], and so
// are the errors; dst is then returned as it was.
func ReadYAML(dst Items, text string) (Items, error) {
	text = validUTF8(text)
	if looksLikeJSON(text) {
		if items, err := ReadJSON(dst, text); err == nil || !isSyntax(err) {
			return items, err
		}
	}
	root, err := parseYAML(text)
	if err != nil && isSyntax(err) {
		if spaced := untab(text); spaced != text {
			if again, err2 := parseYAML(spaced); err2 == nil {
				root, err = again, nil
			}
		}
	}
	if err != nil {
		return dst, err
	}
	lib := library{items: dst, base: len(dst), budget: budget(len(text))}
	if root == nil {
		lib.items.Add("", Null, "")
	} else if err := lib.node("", root, 0, false); err != nil {
		return dst, err
	}
	return lib.items, nil
}

// SecondDocument returns the line, counted from one, on which a second YAML
// document begins that holds anything, or 0. Readers of this package take the
// first one only.
func SecondDocument(text string) int {
	if !strings.Contains(text, "\n---") {
		return 0
	}
	number, marker, content := 0, 0, false
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimRight(line, " \t\r\n")
		switch {
		case line == "---" || strings.HasPrefix(line, "--- "):
			// At the start of a line it can be nothing else, whatever is open.
			if content {
				marker = number
			}
			content = content || len(line) > len("---")
			if marker > 0 && len(line) > len("---") {
				return marker
			}
		case line == "" || line == "..." || strings.HasPrefix(strings.TrimLeft(line, " \t"), "#") || !content && line[0] == '%':
		case marker > 0:
			return marker
		default:
			content = true
		}
	}
	return 0
}

// looksLikeJSON tells that the content begins with a bracket.
func looksLikeJSON(text string) bool {
	r := jsonReader{text: text}
	return r.space() == nil && (r.peek() == '{' || r.peek() == '[')
}

// untab replaces each tab at the start of a line by two spaces.
func untab(text string) string {
	if !strings.Contains(text, "\t") {
		return text
	}
	var b strings.Builder
	b.Grow(len(text) + len(text)/8)
	for line := range strings.Lines(text) {
		content := strings.TrimLeft(line, " \t")
		for _, c := range line[:len(line)-len(content)] {
			if c == '\t' {
				b.WriteString("  ")
			} else {
				b.WriteByte(' ')
			}
		}
		b.WriteString(content)
	}
	return b.String()
}

// addPlain appends a scalar that stood without quotes.
func (d *Items) addPlain(key, text string) {
	kind := kindOf(text)
	if kind == Null {
		text = ""
	}
	d.Add(key, kind, text)
}

// kindOf tells what a scalar without quotes is.
func kindOf(text string) Kind {
	if text == "" {
		return Null
	}
	switch c := text[0]; c {
	case '~':
		if len(text) == 1 {
			return Null
		}
	case 'n', 'N':
		switch text {
		case "null", "Null", "NULL":
			return Null
		}
	case 't', 'T', 'f', 'F':
		switch text {
		case "true", "True", "TRUE", "false", "False", "FALSE":
			return Bool
		}
	default:
		if (c == '-' || '0' <= c && c <= '9') && numberLen(text) == len(text) {
			return Num
		}
	}
	return Str
}

// parseYAML reads the first document of text with the library. It returns nil
// for an empty one.
func parseYAML(text string) (root *yaml.Node, err error) {
	if tooManyNodes(text) {
		return nil, ErrTooLarge
	}
	defer func() {
		if p := recover(); p != nil {
			root, err = nil, &SyntaxError{Msg: "not readable as YAML"}
		}
	}()
	var document, next yaml.Node
	in := yaml.NewDecoder(strings.NewReader(text))
	if err := in.Decode(&document); err != nil && !errors.Is(err, io.EOF) {
		return nil, yamlError(err)
	}
	// The library leaves unread what follows the first document, even where
	// that is no document of its own but text which belongs to none.
	if err := in.Decode(&next); err != nil && !errors.Is(err, io.EOF) {
		return nil, yamlError(err)
	}
	if document.Kind != yaml.DocumentNode || len(document.Content) == 0 {
		return nil, nil
	}
	return document.Content[0], nil
}

// tooManyNodes estimates from above how many nodes the library would make.
func tooManyNodes(text string) bool {
	if len(text) <= maxLibraryNodes {
		return false
	}
	n := 0
	for i := range len(text) {
		switch text[i] {
		case '\n', ',', '[', '{':
			n++
		case ':', '-', '?':
			if blankAt(text, i+1) || text[i+1] == '"' {
				n++
			}
		}
	}
	return n > maxLibraryNodes
}

var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?([^'"]*)`)

// yamlError keeps the line and the fixed part of a message of the library.
// Some of its messages quote the text.
func yamlError(err error) error {
	m := yamlLine.FindStringSubmatch(err.Error())
	if m == nil || strings.TrimSpace(m[2]) == "" {
		return &SyntaxError{Msg: "not readable as YAML"}
	}
	line, _ := strconv.Atoi(m[1])
	return &SyntaxError{Line: line, Msg: strings.TrimSpace(m[2])}
}

// eachLibrary is [EachYAML] on a document that the library has read.
func eachLibrary(root *yaml.Node, size int, keys []string, f func(key string, entry Items) error) (found []string, err error) {
	type list struct {
		key  string
		node *yaml.Node
	}
	var lists []list
	lib := library{budget: budget(size)}
	switch root, _ = lib.target(root); {
	case root == nil:
	case root.Kind == yaml.SequenceNode:
		lists = []list{{"", root}}
	case root.Kind == yaml.MappingNode:
		err := lib.members(root, 1, false, nil, func(key string, value *yaml.Node, shared bool) error {
			if slices.Contains(keys, key) {
				lists = slices.DeleteFunc(lists, func(l list) bool { return l.key == key })
				lists = append(lists, list{key, value})
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	for i, l := range lists {
		node, _ := lib.target(l.node)
		switch {
		case node.Kind == yaml.SequenceNode:
		case node.Kind == yaml.ScalarNode && scalarKind(node) == Null:
			node = nil
		default:
			return nil, notList(l.key)
		}
		lists[i].node = node
		found = append(found, l.key)
	}
	for _, l := range lists {
		if l.node == nil {
			continue
		}
		for _, n := range l.node.Content {
			lib.items = lib.items[:0]
			if err := lib.node("", n, entryDepth(l.key), false); err != nil {
				return found, err
			}
			if err := f(l.key, lib.items); err != nil {
				return found, err
			}
		}
	}
	return found, nil
}

func budget(size int) int { return maxExpansion*size + freeExpansion }

// library turns nodes of the YAML library into items.
type library struct {
	items  Items
	base   int // len(items) at the start of the tree
	budget int // bytes that aliases may still add
}

// target follows an alias. shared tells that there was one.
func (l *library) target(n *yaml.Node) (target *yaml.Node, shared bool) {
	for n != nil && n.Kind == yaml.AliasNode {
		n, shared = n.Alias, true
	}
	return n, shared
}

// spend accounts for a node that is read once more through an alias.
func (l *library) spend(n *yaml.Node) error {
	if l.budget -= len(n.Value) + 2; l.budget < 0 {
		return ErrExpansion
	}
	return nil
}

// node appends the tree of n. depth is the number of containers around it;
// shared tells that it is reached through an alias.
func (l *library) node(key string, n *yaml.Node, depth int, shared bool) error {
	n, alias := l.target(n)
	if n == nil {
		return &SyntaxError{Msg: "alias without an anchor"}
	}
	if shared = shared || alias; shared {
		if err := l.spend(n); err != nil {
			return err
		}
	}
	if len(l.items)-l.base >= maxItems {
		return ErrTooLarge
	}
	if n.Kind == yaml.ScalarNode {
		kind, text := scalarKind(n), n.Value
		if kind == Null {
			text = ""
		}
		l.items.Add(key, kind, text)
		l.items[len(l.items)-1].Quoted = isQuoted(n)
		return nil
	}
	if depth++; depth > MaxYAMLDepth {
		return ErrTooDeep
	}
	switch n.Kind {
	case yaml.SequenceNode:
		i := l.items.Open(key, List)
		for _, c := range n.Content {
			if err := l.node("", c, depth, shared); err != nil {
				return err
			}
		}
		l.items.Close(i)
	case yaml.MappingNode:
		i := l.items.Open(key, Map)
		err := l.members(n, depth, shared, nil, func(key string, value *yaml.Node, shared bool) error {
			return l.node(key, value, depth, shared)
		})
		if err != nil {
			return err
		}
		l.items.Close(i)
	default:
		return &SyntaxError{Line: n.Line, Msg: "unknown kind of node"}
	}
	return nil
}

// members calls f with the members of map n, and then with those of the maps
// that its merge keys name, the first of them first. Keys in hidden are left
// out, since a map nearer to the reader has them; the keys of n are added.
func (l *library) members(n *yaml.Node, depth int, shared bool, hidden map[string]bool,
	f func(key string, value *yaml.Node, shared bool) error) error {
	if depth > MaxYAMLDepth {
		return ErrTooDeep
	}
	var merges []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Kind == yaml.ScalarNode && n.Content[i].ShortTag() == "!!merge" {
			merges = append(merges, n.Content[i+1])
			continue
		}
		k, alias := l.target(n.Content[i])
		if k == nil || k.Kind != yaml.ScalarNode {
			return &SyntaxError{Line: n.Content[i].Line, Msg: "a key is no scalar"}
		}
		if alias || shared {
			if err := l.spend(k); err != nil {
				return err
			}
		}
		if hidden[k.Value] {
			continue
		}
		if err := f(k.Value, n.Content[i+1], shared); err != nil {
			return err
		}
	}
	if hidden == nil {
		if len(merges) == 0 {
			return nil
		}
		hidden = map[string]bool{}
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if k, _ := l.target(n.Content[i]); k.Kind == yaml.ScalarNode {
			hidden[k.Value] = true
		}
	}
	for _, m := range merges {
		m, alias := l.target(m)
		maps := []*yaml.Node{m}
		if m != nil && m.Kind == yaml.SequenceNode {
			maps = m.Content
		}
		for _, m := range maps {
			m, alias2 := l.target(m)
			if m == nil || m.Kind != yaml.MappingNode {
				return &SyntaxError{Line: n.Line, Msg: "a merge key has no map as its value"}
			}
			shared := shared || alias || alias2
			if shared {
				if err := l.spend(m); err != nil {
					return err
				}
			}
			if err := l.members(m, depth+1, shared, hidden, f); err != nil {
				return err
			}
		}
	}
	return nil
}

func isQuoted(n *yaml.Node) bool {
	const quotes = yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle
	return n.Style&quotes != 0
}

// scalarKind is the kind of a scalar by our own rule; of tags, only the one
// that says string counts.
func scalarKind(n *yaml.Node) Kind {
	if isQuoted(n) {
		return Str
	}
	if n.Style&yaml.TaggedStyle != 0 {
		switch n.Tag {
		case "!!str", "!str", "str", "tag:yaml.org,2002:str":
			return Str
		}
	}
	return kindOf(n.Value)
}
