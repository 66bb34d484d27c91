// Package edit changes values inside YAML and JSON documents and leaves the
// rest of the text as it stands.
//
// [ReadYAML] and [ReadJSON] make a [Document]: a tree whose nodes know where
// they stand in the text. [Document.Override], [Document.Overlay] and
// [Document.Patch] change the tree; [Document.YAML] then writes only what was
// changed into the old text, so that comments, anchors, order, quotes and white
// space of everything else keep every byte. [Document.JSON] writes the tree as
// indented JSON whose numbers and strings keep theirs.
//
// The tree means what the plain values mean. A change behind an alias or a
// merge key changes that one place: what would change along with it is written
// out first.
package edit

import (
	"fmt"
	"slices"
	"strings"
)

// Limits of a document.
const (
	MaxDepth = 64       // containers in containers, those behind aliases included
	maxNodes = 1 << 21  // values of a text, and values that changes may add
	maxBytes = 16 << 20 // of a text
)

// Fault is why a document cannot be read or changed. Its text never quotes the
// document.
type Fault struct {
	Overlay bool   // it lies in the text that is laid over the document
	Path    string // JSON Pointer of the value, if it lies in one
	Line    int    // one-based, if it lies in the text
	Column  int
	Reason  string
}

func (f *Fault) Error() string { return f.Reason }

func fault(path, format string, args ...any) *Fault {
	return &Fault{Path: path, Reason: fmt.Sprintf(format, args...)}
}

type kind uint8

const (
	null kind = iota
	boolean
	number
	str
	list
	object
	alias
)

// node is a value of the tree.
type node struct {
	kind  kind
	text  string  // of a scalar: what a string says, others as they stand
	raw   string  // the token in the text, where it can be written again
	json  bool    // raw is JSON
	block bool    // a string in literal style
	flow  bool    // a container in brackets
	keys  []*key  // of an object, one for each item
	items []*node // of a container

	merges []*node        // the values of an object's merge keys
	places map[string]int // of a large object: name to its last place
	twice  bool           // a name is in it twice
	gone   int            // members that are marked and not yet taken out

	parent *node
	target *node   // of an alias
	refs   []*node // the aliases that lead here

	dirty bool // it or something in it was changed
	was   *was // what it was before
	at    *place
}

// key is the key of a member. A member that survives keeps its key.
type key struct {
	text  string
	raw   string
	json  bool
	merge bool // <<
	gone  bool // the member was taken away
	at    *keyPlace
}

// was is what a container held in the text.
type was struct {
	keys  []*key
	items []*node
}

// place is where a node stands in the text.
type place struct {
	start, end int   // bytes; properties are inside
	opaque     bool  // written in a way that cannot be changed in parts
	dashes     []int // of a block list
}

type keyPlace struct{ start, end, colon int } // colon is -1 where there is none

// Document is a text and the values in it. It must not be used by two
// goroutines at once.
type Document struct {
	text     string
	bom      bool
	isJSON   bool // the text is JSON
	root     *node
	empty    bool // the text holds no value, or is YAML for null
	anchors  bool
	misread  bool // places are not known
	broken   bool // the root is another one
	listStep int  // by how much lists are indented below their key
	mapStep  int
	made     int // nodes that changes made
	work     int // steps that changes took beyond that
}

// maxWork bounds the steps that changes take on lists and objects which grow or
// shrink. One step is a few nanoseconds.
const maxWork = 1 << 29

// spend counts steps.
func (d *Document) spend(steps int) error {
	if d.work += steps; d.work > maxWork {
		return &Fault{Reason: "the change takes too much work"}
	}
	return nil
}

// Changed reports whether anything was changed since the text was read.
func (d *Document) Changed() bool { return d.root.dirty || d.broken }

// resolve follows an alias.
func (n *node) resolve() *node {
	for n.kind == alias {
		n = n.target
	}
	return n
}

// find returns the index of a member of an object, the last one of that name,
// or -1. Merged members are not looked at.
func (n *node) find(name string) int {
	if len(n.keys) > fewKeys {
		n.index()
		if i, ok := n.places[name]; ok {
			return i
		}
		return -1
	}
	for i := len(n.keys) - 1; i >= 0; i-- {
		if k := n.keys[i]; k.text == name && !k.merge && !k.gone {
			return i
		}
	}
	return -1
}

// fewKeys is up to how many members are looked through one by one.
const fewKeys = 16

// index makes the places of an object.
func (n *node) index() {
	if n.places != nil {
		return
	}
	n.places = make(map[string]int, len(n.keys))
	for i, k := range n.keys {
		if !k.merge && !k.gone {
			_, known := n.places[k.text]
			n.twice = n.twice || known
			n.places[k.text] = i
		}
	}
}

// append gives an object a member at its end.
func (n *node) append(k *key, v *node) {
	n.keys, n.items = append(n.keys, k), append(n.items, v)
	if n.places != nil {
		n.places[k.text] = len(n.keys) - 1
	}
}

// mark takes the member at a place out of what is found. Its place is taken
// away by settle, for all marked ones at once.
func (n *node) mark(i int) {
	k := n.keys[i]
	k.gone = true
	n.gone++
	switch {
	case n.places == nil:
	case n.twice:
		n.places = nil
	default:
		delete(n.places, k.text)
	}
}

// settle takes the marked members of an object away.
func (d *Document) settle(n *node) error {
	if n.gone == 0 {
		return nil
	}
	keys, items := n.keys[:0], n.items[:0]
	for i, k := range n.keys {
		if !k.gone {
			keys, items = append(keys, k), append(items, n.items[i])
		}
	}
	steps := len(n.keys)
	clear(n.keys[len(keys):])
	clear(n.items[len(items):])
	n.keys, n.items, n.places, n.gone = keys, items, nil, 0
	return d.spend(steps)
}

// merged calls f with the members that merge keys bring into an object and
// that none before hides, until f returns false.
func (n *node) merged(f func(k *key, v *node) bool) {
	var seen map[string]bool
	hidden := func(m *node) {
		for _, k := range m.keys {
			if !k.merge && !k.gone {
				seen[k.text] = true
			}
		}
	}
	var visit func(m *node, own bool) bool
	visit = func(m *node, own bool) bool {
		if !own {
			for i, k := range m.keys {
				if !k.merge && !seen[k.text] && m.find(k.text) == i && !f(k, m.items[i]) {
					return false
				}
			}
		}
		hidden(m)
		for i, k := range m.keys {
			if !k.merge {
				continue
			}
			sources := []*node{m.items[i].resolve()}
			if sources[0].kind == list {
				sources = sources[0].items
			}
			for _, s := range sources {
				if s = s.resolve(); s.kind == object && !visit(s, false) {
					return false
				}
			}
		}
		return true
	}
	if n.merges != nil {
		seen = make(map[string]bool)
		visit(n, true)
	}
}

// inherited returns the member that merge keys bring in, hidden or not, or nil.
// steps counts the objects that were looked at.
func (n *node) inherited(name string, steps *int) *node {
	for _, m := range n.merges {
		sources := []*node{m.resolve()}
		if sources[0].kind == list {
			sources = sources[0].items
		}
		*steps += len(sources)
		for _, s := range sources {
			if s = s.resolve(); s.kind != object {
				continue
			}
			if i := s.find(name); i >= 0 {
				return s.items[i].resolve()
			}
			if v := s.inherited(name, steps); v != nil {
				return v
			}
		}
	}
	return nil
}

// get returns a member of an object as plain values have it, or nil.
func (d *Document) get(n *node, name string) (*node, error) {
	if i := n.find(name); i >= 0 {
		return n.items[i].resolve(), nil
	}
	if !d.anchors {
		return nil, nil
	}
	steps := 0
	v := n.inherited(name, &steps)
	return v, d.spend(steps)
}

// each calls f with all members of an object as plain values have them: each
// name once, merged ones behind the others.
func (n *node) each(f func(k *key, v *node)) {
	for i, k := range n.keys {
		if k.merge || n.find(k.text) != i {
			continue
		}
		f(k, n.items[i].resolve())
	}
	n.merged(func(k *key, v *node) bool {
		f(k, v.resolve())
		return true
	})
}

// errTooLarge is what changes that multiply a document end in.
var errTooLarge = &Fault{Reason: "the document grows beyond its limit of values"}

// copy returns a copy of plain values, without aliases and merge keys.
func (d *Document) copy(n *node, depth int) (*node, error) {
	n = n.resolve()
	if d.made++; d.made > maxNodes {
		return nil, errTooLarge
	}
	if depth > MaxDepth {
		return nil, &Fault{Reason: "the document is nested too deeply"}
	}
	c := &node{kind: n.kind, text: n.text, raw: n.raw, json: n.json, block: n.block, flow: n.flow}
	var err error
	add := func(k *key, v *node) {
		var item *node
		if err == nil {
			if item, err = d.copy(v, depth+1); err == nil {
				item.parent = c
				c.items = append(c.items, item)
				if k != nil {
					c.keys = append(c.keys, &key{text: k.text, raw: k.raw, json: k.json})
				}
			}
		}
	}
	switch n.kind {
	case list:
		for _, item := range n.items {
			add(nil, item)
		}
	case object:
		n.each(add)
	}
	return c, err
}

// touch prepares a container for a change. What an alias elsewhere shows of it
// is written out there first, since it is to stay what it is.
func (d *Document) touch(n *node) error {
	for ; n != nil && !n.dirty; n = n.parent {
		n.dirty = true
		if n.was == nil && n.at != nil {
			n.was = &was{slices.Clone(n.keys), slices.Clone(n.items)}
		}
		if err := d.release(n); err != nil {
			return err
		}
	}
	return nil
}

// release gives every alias of n a copy of its own.
func (d *Document) release(n *node) error {
	refs := n.refs
	n.refs = nil
	done := make(map[*node]bool) // the containers of aliases
	for _, ref := range refs {
		p := ref.parent
		if done[p] {
			continue
		}
		done[p] = true
		if err := d.spend(len(p.items)); err != nil {
			return err
		}
		for i := 0; i < len(p.items); i++ {
			if p.items[i].kind != alias || p.items[i].target != n {
				continue
			}
			if p.kind == object && p.keys[i].merge || p.kind == list && d.merges(p) {
				if err := d.unmerge(p); err != nil {
					return err
				}
				if p.kind == list {
					break // the merge key that had it is gone
				}
				i = -1 // it has other items now
				continue
			}
			c, err := d.copy(n, 0)
			if err != nil {
				return err
			}
			if err := d.touch(p); err != nil {
				return err
			}
			c.parent = p
			p.items[i] = c
		}
	}
	return nil
}

// merges reports whether a list is the value of a merge key.
func (d *Document) merges(n *node) bool {
	p := n.parent
	if p == nil || p.kind != object {
		return false
	}
	i := slices.Index(p.items, n)
	return i >= 0 && p.keys[i].merge
}

// unmerge writes out what merge keys bring into an object, or into the object
// whose merge key has the list n.
func (d *Document) unmerge(n *node) error {
	if n.kind == list {
		n = n.parent
	}
	if n.merges == nil {
		return nil
	}
	if err := d.touch(n); err != nil {
		return err
	}
	var keys []*key
	var items []*node
	for i, k := range n.keys {
		if !k.merge && !k.gone {
			keys, items = append(keys, k), append(items, n.items[i])
		}
	}
	var err error
	n.merged(func(k *key, v *node) bool {
		var c *node
		if c, err = d.copy(v, 0); err != nil {
			return false
		}
		c.parent = n
		keys, items = append(keys, &key{text: k.text, raw: k.raw, json: k.json}), append(items, c)
		return true
	})
	if err != nil {
		return err
	}
	n.keys, n.items, n.merges, n.places, n.gone = keys, items, nil, nil, 0
	return nil
}

// discard prepares a value for being taken away.
func (d *Document) discard(n *node) error {
	if !d.anchors {
		return nil
	}
	if err := d.release(n); err != nil {
		return err
	}
	for _, item := range n.items {
		if err := d.discard(item); err != nil {
			return err
		}
	}
	return nil
}

// set gives an object a member. A value that is there already stays.
func (d *Document) set(n *node, name string, v *node) error {
	i := n.find(name)
	if i >= 0 {
		if equal(n.items[i], v) {
			return nil
		}
		if err := d.discard(n.items[i]); err != nil {
			return err
		}
	}
	if err := d.touch(n); err != nil {
		return err
	}
	v.parent = n
	if i = n.find(name); i >= 0 {
		n.items[i] = v
		return nil
	}
	n.append(&key{text: name}, v)
	return nil
}

// remove takes a member from an object and reports whether it was there. The
// object has to be settled afterwards.
func (d *Document) remove(n *node, name string) (bool, error) {
	if v, err := d.get(n, name); v == nil {
		return false, err
	}
	steps := 0
	if d.anchors && n.inherited(name, &steps) != nil {
		if err := d.unmerge(n); err != nil {
			return false, err
		}
	}
	for i := n.find(name); i >= 0; i = n.find(name) {
		if err := d.discard(n.items[i]); err != nil {
			return false, err
		}
		if err := d.touch(n); err != nil {
			return false, err
		}
		if n.twice { // its places are looked for anew
			if err := d.spend(len(n.keys)); err != nil {
				return false, err
			}
		}
		n.mark(n.find(name))
	}
	return true, d.spend(steps)
}

// insert puts items into a list.
func (d *Document) insert(n *node, at int, items []*node) error {
	if len(items) == 0 {
		return nil
	}
	if err := d.spend(len(n.items)); err != nil {
		return err
	}
	if err := d.touch(n); err != nil {
		return err
	}
	for _, item := range items {
		item.parent = n
	}
	n.items = slices.Insert(n.items, at, items...)
	return nil
}

// removeItem takes an item from a list.
func (d *Document) removeItem(n *node, i int) error {
	if err := d.discard(n.items[i]); err != nil {
		return err
	}
	if err := d.touch(n); err != nil {
		return err
	}
	if err := d.spend(len(n.items)); err != nil {
		return err
	}
	n.items = slices.Delete(n.items, i, i+1)
	return nil
}

// own returns the member of an object for being changed: what is there through
// an alias or a merge key becomes a value of its own. It is nil for none.
func (d *Document) own(n *node, name string) (*node, error) {
	v, err := d.get(n, name)
	if v == nil {
		return nil, err
	}
	if i := n.find(name); i >= 0 && n.items[i].kind != alias {
		return n.items[i], nil
	}
	c, err := d.copy(v, 0)
	if err != nil {
		return nil, err
	}
	if err := d.touch(n); err != nil {
		return nil, err
	}
	c.parent = n
	if i := n.find(name); i >= 0 {
		n.items[i] = c
	} else {
		n.append(&key{text: name}, c)
	}
	return c, nil
}

// ownItem is own for a list.
func (d *Document) ownItem(n *node, i int) (*node, error) {
	if n.items[i].kind != alias {
		return n.items[i], nil
	}
	c, err := d.copy(n.items[i], 0)
	if err != nil {
		return nil, err
	}
	if err := d.touch(n); err != nil {
		return nil, err
	}
	c.parent = n
	n.items[i] = c
	return c, nil
}

// replaceRoot makes v the whole document.
func (d *Document) replaceRoot(v *node) {
	v.parent = nil
	d.root, d.broken, d.empty = v, true, false
}

// equal compares values as JSON does: the order of members is free, numbers
// are compared by what they are worth.
func equal(a, b *node) bool {
	a, b = a.resolve(), b.resolve()
	if a.kind != b.kind {
		return false
	}
	switch a.kind {
	case null:
		return true
	case boolean:
		return strings.EqualFold(a.text, b.text)
	case number:
		return a.text == b.text || sameNumber(a.text, b.text)
	case str:
		return a.text == b.text
	case list:
		return slices.EqualFunc(a.items, b.items, equal)
	}
	if sameKeys(a, b) {
		return slices.EqualFunc(a.items, b.items, equal)
	}
	have := make(map[string]*node, len(a.keys))
	a.each(func(k *key, v *node) { have[k.text] = v })
	count, same := 0, true
	b.each(func(k *key, v *node) {
		count++
		w := have[k.text]
		same = same && w != nil && equal(v, w)
	})
	return same && count == len(have)
}

// sameKeys reports whether two objects have the same members in the same order,
// none of them merged and none twice among a few; it may say no where it is so.
func sameKeys(a, b *node) bool {
	if len(a.keys) != len(b.keys) || len(a.keys) > 32 {
		return false
	}
	for i, k := range a.keys {
		if k.merge || b.keys[i].merge || k.text != b.keys[i].text || a.find(k.text) != i {
			return false
		}
	}
	return true
}

// sameNumber compares two numbers by value, whatever their size.
func sameNumber(a, b string) bool {
	x, ok := decimalOf(a)
	y, ok2 := decimalOf(b)
	return ok && ok2 && x == y
}

// decimal is a number without a second spelling: digits without zeros at the
// ends, times ten to the exponent.
type decimal struct {
	negative bool
	digits   string
	exponent int
}

func decimalOf(s string) (decimal, bool) {
	text, ok := jsonNumber(s)
	if !ok {
		return decimal{}, false
	}
	var d decimal
	text, d.negative = strings.CutPrefix(text, "-")
	mantissa, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	if exponent != "" {
		if _, err := fmt.Sscanf(exponent, "%d", &d.exponent); err != nil || len(exponent) > 9 {
			return decimal{}, false
		}
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	d.exponent -= len(fraction)
	d.digits = strings.TrimLeft(whole+fraction, "0")
	trimmed := strings.TrimRight(d.digits, "0")
	d.exponent += len(d.digits) - len(trimmed)
	if d.digits = trimmed; trimmed == "" {
		return decimal{}, true
	}
	return d, true
}
