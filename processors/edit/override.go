package edit

import (
	"cmp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Override lays an object over the document, member by member. The key of a
// member says what happens to the member k:
//
//	k     an object is laid over the object there, any other value replaces
//	k!    the value replaces
//	+k    the items of a list are put before those there
//	k+    they are put behind them
//	<k>   as k, whatever k looks like
//
// A null takes the member away, whatever the key. Where either document is no
// object, the overlay takes the place of the whole. A YAML text that holds
// nothing counts as an object without members.
//
// An error is a [*Fault]; the document is of no use then.
func (d *Document) Override(overlay *Document) error {
	if d.empty && (overlay.empty || overlay.root.kind == object) {
		d.replaceRoot(&node{kind: object, flow: overlay.root.flow})
	}
	if overlay.empty {
		return nil
	}
	if d.root.kind != object || overlay.root.resolve().kind != object {
		c, err := d.copy(overlay.root, 0)
		if err != nil {
			return err
		}
		d.replaceRoot(c)
		return nil
	}
	return d.override(d.root, overlay.root, "")
}

// operation is what a key of an overlay asks for.
type operation uint8

const (
	merge operation = iota
	replace
	prepend
	extend
)

// operator takes a key of an overlay apart. A sign alone is a name.
func operator(k string) (name string, op operation) {
	n := len(k)
	switch {
	case n > 2 && k[0] == '<' && k[n-1] == '>':
		return k[1 : n-1], merge
	case n > 1 && k[0] == '+':
		return k[1:], prepend
	case n > 1 && k[n-1] == '!':
		return k[:n-1], replace
	case n > 1 && k[n-1] == '+':
		return k[:n-1], extend
	}
	return k, merge
}

func (d *Document) override(below, above *node, path string) error {
	var err error
	above.each(func(k *key, v *node) {
		if err != nil {
			return
		}
		name, op := operator(k.text)
		err = d.overrideMember(below, k, v, name, op, path+"/"+escape(name))
	})
	return cmp.Or(err, d.settle(below))
}

func (d *Document) overrideMember(below *node, k *key, v *node, name string, op operation, path string) error {
	switch {
	case v.kind == null:
		_, err := d.remove(below, name)
		return err
	case op == merge && v.kind == object:
		there, err := d.own(below, name)
		if err != nil {
			return err
		}
		if there == nil || there.kind != object {
			there = &node{kind: object, flow: v.flow}
			if err := d.put(below, k, name, there); err != nil {
				return err
			}
		}
		return d.override(there, v, path)
	case op == prepend || op == extend:
		return d.join(below, k, v, name, op, path)
	}
	c, err := d.copy(v, 0)
	if err != nil {
		return err
	}
	return d.put(below, k, name, c)
}

// join puts the items of a list into the list of a member, which is made where
// there is none.
func (d *Document) join(below *node, k *key, v *node, name string, op operation, path string) error {
	if v.kind != list {
		return &Fault{Overlay: true, Path: path, Reason: "only a list can be put before or behind a list"}
	}
	c, err := d.copy(v, 0)
	if err != nil {
		return err
	}
	there, err := d.own(below, name)
	if err != nil {
		return err
	}
	switch {
	case there == nil || there.kind == null:
		return d.put(below, k, name, c)
	case there.kind != list:
		return &Fault{Overlay: true, Path: path, Reason: "a list cannot be put before or behind what is no list"}
	case op == prepend:
		return d.insert(there, 0, c.items)
	}
	return d.insert(there, len(there.items), c.items)
}

// put is set for a member of an overlay, whose key keeps its spelling.
func (d *Document) put(below *node, k *key, name string, v *node) error {
	if err := d.set(below, name, v); err != nil {
		return err
	}
	if i := below.find(name); i >= 0 && below.items[i] == v && below.keys[i].at == nil && k.text == name {
		below.keys[i].raw, below.keys[i].json = k.raw, k.json
	}
	return nil
}

// Overlay lays a value over the document: objects are laid over objects, any
// other value replaces, and a null inside an object takes the member away. A
// document that is null leaves everything as it is.
//
// An error is a [*Fault]; the document is of no use then.
func (d *Document) Overlay(overlay *Document) error {
	above := overlay.root.resolve()
	switch {
	case above.kind == null:
		return nil
	case above.kind == object && d.root.kind == object:
		return d.overlay(d.root, above)
	}
	c, err := d.stripped(above)
	if err != nil {
		return err
	}
	d.replaceRoot(c)
	return nil
}

func (d *Document) overlay(below, above *node) error {
	var err error
	above.each(func(k *key, v *node) {
		if err == nil {
			err = d.overlayMember(below, k, v)
		}
	})
	return cmp.Or(err, d.settle(below))
}

func (d *Document) overlayMember(below *node, k *key, v *node) error {
	switch v.kind {
	case null:
		_, err := d.remove(below, k.text)
		return err
	case object:
		there, err := d.own(below, k.text)
		if err != nil {
			return err
		}
		if there != nil && there.kind == object {
			return d.overlay(there, v)
		}
	}
	c, err := d.stripped(v)
	if err != nil {
		return err
	}
	return d.put(below, k, k.text, c)
}

// stripped copies a value without the nulls in its objects.
func (d *Document) stripped(n *node) (*node, error) {
	c, err := d.copy(n, 0)
	if err != nil {
		return nil, err
	}
	strip(c)
	return c, nil
}

func strip(n *node) {
	if n.kind != object {
		return
	}
	keys, items := n.keys[:0], n.items[:0]
	for i, item := range n.items {
		if item.kind != null {
			strip(item)
			keys, items = append(keys, n.keys[i]), append(items, item)
		}
	}
	n.keys, n.items, n.places = keys, items, nil
}

func escape(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

// Op is one operation of a patch.
type Op struct {
	Op    string // add, replace, remove, test, move or copy
	Path  string
	From  string // of move and copy
	Value *Document
}

// Patch applies operations in their order. Pointers are those of RFC 6901,
// whose first slash may be left out. Unlike RFC 6902 it makes the objects that
// are missing on the way to what is added, and to remove the whole document
// leaves null.
//
// An error is a [*Fault] with the path; the document is of no use then.
func (d *Document) Patch(ops []Op) error {
	for i := range ops {
		if err := d.apply(&ops[i]); err != nil {
			if f, ok := err.(*Fault); ok && f.Path == "" && f != errTooLarge {
				f.Path = slashed(ops[i].Path)
			}
			return err
		}
	}
	return nil
}

func slashed(path string) string {
	if path == "" || path[0] == '/' {
		return path
	}
	return "/" + path
}

func (d *Document) apply(op *Op) error {
	path := slashed(op.Path)
	for _, p := range []string{op.Path, op.From} {
		if strings.Contains(strings.NewReplacer("~0", "", "~1", "").Replace(p), "~") {
			return fault(slashed(p), "a ~ in a pointer is written ~0")
		}
		if !utf8.ValidString(p) {
			return fault("", "the pointer is not UTF-8")
		}
	}
	switch op.Op {
	case "test":
		v, err := d.at(path)
		if err != nil {
			return err
		}
		if !equal(v, op.Value.root) {
			return fault(path, "the test failed: the value is another one")
		}
		return nil
	case "remove":
		_, err := d.take(path)
		return err
	case "replace":
		if _, err := d.at(path); err != nil {
			return err
		}
		c, err := d.copy(op.Value.root, 0)
		if err != nil {
			return err
		}
		return d.place(path, c, true)
	case "add":
		c, err := d.copy(op.Value.root, 0)
		if err != nil {
			return err
		}
		return d.place(path, c, false)
	}
	from := slashed(op.From)
	v, err := d.at(from)
	if err != nil {
		return err
	}
	if op.Op == "move" && from == path {
		return nil
	}
	c, err := d.copy(v, 0)
	if err != nil {
		return err
	}
	if op.Op == "move" {
		if _, err := d.take(from); err != nil {
			return err
		}
	}
	return d.place(path, c, false)
}

// tokens takes a pointer apart.
func tokens(path string) []string {
	if path == "" {
		return nil
	}
	list := strings.Split(path[1:], "/")
	for i, t := range list {
		list[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(t)
	}
	return list
}

// index reads the index of an item; count is how many there may be.
func index(path, token string, count int) (int, error) {
	i, err := strconv.Atoi(token)
	if err != nil || strconv.Itoa(i) != token || i < 0 {
		return 0, fault(path, "it is no index of a list")
	}
	if i >= count {
		return 0, fault(path, "the index is out of range")
	}
	return i, nil
}

// at returns the value at a pointer, for reading.
func (d *Document) at(path string) (*node, error) {
	n := d.root.resolve()
	for _, token := range tokens(path) {
		switch n.kind {
		case object:
			v, err := d.get(n, token)
			if err != nil {
				return nil, err
			}
			if n = v; n == nil {
				return nil, fault(path, "there is no such value")
			}
		case list:
			i, err := index(path, token, len(n.items))
			if err != nil {
				return nil, err
			}
			n = n.items[i].resolve()
		default:
			return nil, fault(path, "the path leads through a value that holds none")
		}
	}
	return n, nil
}

// parentOf returns the container that the last token of a pointer is of, for
// being changed. Missing objects on the way are made if that is asked for.
func (d *Document) parentOf(path string, create bool) (*node, string, error) {
	list_ := tokens(path)
	n := d.root
	if create && n.kind == null && d.empty {
		d.replaceRoot(&node{kind: object})
		n = d.root
	}
	for _, token := range list_[:len(list_)-1] {
		switch n.kind {
		case object:
			there, err := d.own(n, token)
			if err != nil {
				return nil, "", err
			}
			if there == nil {
				if !create {
					return nil, "", fault(path, "there is no such value")
				}
				there = &node{kind: object}
				if err := d.set(n, token, there); err != nil {
					return nil, "", err
				}
			}
			n = there
		case list:
			i, err := index(path, token, len(n.items))
			if err != nil {
				return nil, "", err
			}
			if n, err = d.ownItem(n, i); err != nil {
				return nil, "", err
			}
		default:
			return nil, "", fault(path, "the path leads through a value that holds none")
		}
	}
	if n.kind != object && n.kind != list {
		return nil, "", fault(path, "the path leads through a value that holds none")
	}
	return n, list_[len(list_)-1], nil
}

// take removes the value at a pointer.
func (d *Document) take(path string) (*node, error) {
	if path == "" {
		d.replaceRoot(&node{kind: null})
		return nil, nil
	}
	if _, err := d.at(path); err != nil {
		return nil, err
	}
	n, last, err := d.parentOf(path, false)
	if err != nil {
		return nil, err
	}
	if n.kind == object {
		_, err := d.remove(n, last)
		return nil, cmp.Or(err, d.settle(n))
	}
	i, err := index(path, last, len(n.items))
	if err != nil {
		return nil, err
	}
	return nil, d.removeItem(n, i)
}

// place puts a value at a pointer: into an object, into a list before the item
// there, or, where it is to replace, in place of the item.
func (d *Document) place(path string, v *node, instead bool) error {
	if path == "" {
		d.replaceRoot(v)
		return nil
	}
	n, last, err := d.parentOf(path, !instead)
	if err != nil {
		return err
	}
	if n.kind == object {
		return d.set(n, last, v)
	}
	if last == "-" && !instead {
		return d.insert(n, len(n.items), []*node{v})
	}
	count := len(n.items)
	if !instead {
		count++
	}
	i, err := index(path, last, count)
	if err != nil {
		return err
	}
	if !instead {
		return d.insert(n, i, []*node{v})
	}
	if equal(n.items[i], v) {
		return nil
	}
	if err := d.removeItem(n, i); err != nil {
		return err
	}
	return d.insert(n, i, []*node{v})
}
