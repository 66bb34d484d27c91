package table

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert/doc"
	"github.com/sandrone-gateway/sandrone/convert/field"
)

// Options are the choices of one rendering.
type Options struct {
	Target  string                 // name as asked for, with @version; it goes into warnings
	Version Version                // client version to write for; zero where the dialect has none
	DropRaw bool                   // leave out members that the model does not know
	Exists  func(name string) bool // tells names a dialer.proxy may use besides those of the batch; nil: none

	// Reserved are names that no node gets: those of other parts of the
	// document that it is written into.
	Reserved []string
}

// Result is what became of a batch.
type Result struct {
	Names    []string // for each node the name written, "" where it was left out
	Count    int      // nodes written
	Warnings []sandrone.Warning
}

// Writer writes one node at a time.
type Writer struct {
	Node    *sandrone.Node
	Out     *doc.Items
	Name    string // the name to write
	Version Version

	d      *Dialect
	o      *Options
	has    field.Set
	done   field.Set
	path   string   // raw prefix of the section being written
	at     int      // the section's item
	raw    []string // keys of the dialect's own, sorted, that are not written yet
	why    *field.Info
	clause string
	partly []*field.Info // written, but not whole
	chains *chains
	names  *names
	second string // the name of the second document, once one is asked for
}

// Refuse leaves the node out. The first call counts.
func (w *Writer) Refuse(f *field.Info, clause string) {
	if w.why == nil {
		w.why, w.clause = f, clause
	}
}

// Lose says that a field was written, but not all of it.
func (w *Writer) Lose(f *field.Info) { w.partly = append(w.partly, f) }

// Done settles fields besides those of the row that is writing.
func (w *Writer) Done(fields ...*field.Info) {
	for _, f := range fields {
		w.done.Add(f.ID)
	}
}

// Wrote reports whether the object being written has a member of this name.
func (w *Writer) Wrote(key string) bool { return w.childOf(w.at, len(*w.Out), key) }

// Has reports whether the node carries the field.
func (w *Writer) Has(f *field.Info) bool { return w.has.Has(f.ID) }

// ProxyName is the name under which the node's dialer.proxy was written.
func (w *Writer) ProxyName() string {
	name := w.Node.Dialer.Proxy
	if w.chains != nil {
		if final, ok := w.chains.final[name]; ok {
			return final
		}
	}
	return name
}

// SecondName is the name of the node's second document: its own with the
// suffix, and a number where that is taken.
func (w *Writer) SecondName(suffix string) string {
	switch {
	case w.names == nil:
		return w.Name + suffix
	case w.second == "":
		w.second = w.names.invent(w.Name + suffix)
	}
	return w.second
}

// WritesRaw reports whether a raw key, given in full, is still to be written
// back to where it came from.
func (w *Writer) WritesRaw(key string) bool { return holdsKey(w.raw, key) }

// Render writes every node that the dialect can express and hands its document
// to emit, in order. The items are reused after emit returns; a second
// document of the node, if it has one, follows the first in the same slice.
// clean, if not nil, makes a name fit the target's syntax.
func (d *Dialect) Render(nodes []sandrone.Node, o Options, clean func(string) string, emit func(n *sandrone.Node, out doc.Items)) Result {
	if o.Version.IsZero() {
		o.Version = d.Default
	}
	res := Result{Names: make([]string, len(nodes))}
	var names *names
	if !d.Repeats {
		names = reserve(nodes, clean, d.Reserved, o.Reserved)
	}
	var out doc.Items
	w := Writer{d: d, o: &o, Out: &out, Version: o.Version, chains: d.links(nodes, o)}
	programs := d.programsOf(true, o.Version)
	if w.chains != nil && names != nil {
		w.chains.settle(nodes, names, res.Names)
	}
	for i := range nodes {
		n := &nodes[i]
		if w.chains != nil {
			if clause, ok := w.chains.broken[i]; ok {
				res.Warnings = append(res.Warnings, o.skipped(n, i, field.Dialer.Proxy.Path, clause))
				continue
			}
		}
		p := programs.of(n.Type)
		if p == nil {
			if d.NoType != "" {
				res.Warnings = append(res.Warnings, o.warning(n, i, d.NoType, field.Type.Path, string(n.Type)+" has no share link"))
			}
			res.Warnings = append(res.Warnings, o.skipped(n, i, field.Type.Path, string(n.Type)))
			continue
		}
		name := res.Names[i] // settled, where other nodes go through this one
		res.Names[i] = ""
		switch {
		case name != "":
		case names != nil:
			name = names.claim(n.Name)
		default:
			name = n.Name
		}
		w.Name, w.names, w.second = name, names, ""
		out = out[:0]
		before := len(res.Warnings)
		res.Warnings = w.node(p, n, i, res.Warnings)
		if w.why != nil {
			if names != nil {
				names.release(name)
				names.release(w.second)
			}
			res.Warnings = append(res.Warnings[:before], o.skipped(n, i, w.why.Path, w.clause))
			continue
		}
		if name != n.Name {
			res.Warnings = append(res.Warnings, o.warning(n, i, sandrone.WarnNodeRenamed, field.Name.Path, "the name was changed to fit "+o.Target))
		}
		res.Names[i] = name
		res.Count++
		emit(n, out)
	}
	return res
}

// node writes one node and appends its warnings. Afterwards w.why says whether
// it must be left out.
func (w *Writer) node(p *program, n *sandrone.Node, index int, warnings []sandrone.Warning) []sandrone.Warning {
	w.Node, w.why, w.path, w.partly = n, nil, w.d.Raw, w.partly[:0]
	w.done = field.SetOf(field.Type.Info) // the dialect has the protocol
	w.has = field.Populated(n)
	w.raw = w.raw[:0]
	if len(n.Raw) > 0 && !w.o.DropRaw && !w.d.Lossless {
		for _, key := range sortedKeys(n.Raw) {
			if p.ownRaw(key) {
				w.raw = append(w.raw, key)
			}
		}
	}
	w.document(p)
	if p.also != nil && w.why == nil {
		w.path += p.alsoRaw
		w.document(p.also)
	}
	if w.why != nil {
		return warnings
	}
	if w.d.Lossless {
		return warnings
	}
	for _, f := range w.partly {
		warnings = append(warnings, w.o.lossy(n, index, f.Path))
	}
	if lost := w.has.And(p.applicable).Minus(w.done); !lost.IsEmpty() {
		warnings = w.loss(p, lost.Minus(field.Inert(n)), index, warnings)
	}
	if len(n.Raw) > 0 && w.why == nil {
		warnings = w.lostRaw(p, index, warnings)
	}
	return warnings
}

// document writes one root map, or nothing when no row wrote anything: raw
// keys alone are no document.
func (w *Writer) document(p *program) {
	root := w.Out.Open("", doc.Map)
	w.at = root
	if w.write(p); len(*w.Out) == root+1 {
		*w.Out = (*w.Out)[:root]
		return
	}
	w.rawOf(p, root)
	w.Out.Close(root)
}

// section writes the rows of p into the map that was opened at index at.
func (w *Writer) section(p *program, at int) {
	outer := w.at
	w.at = at
	w.write(p)
	w.rawOf(p, at)
	w.at = outer
}

func (w *Writer) rawOf(p *program, at int) {
	if w.why == nil && len(w.raw) > 0 {
		w.ownRaw(p, at)
	}
}

func (w *Writer) write(p *program) {
	turn := p.always
	if p.turnsOf != nil {
		w.has.Each(func(id field.ID) bool {
			turn.addAll(&p.turnsOf[id])
			return true
		})
	} else {
		for k := range p.rows {
			if p.rows[k].mask.Meets(&w.has) {
				turn.add(k)
			}
		}
	}
	if len(w.raw) > 0 {
		turn.addAll(&p.nested)
	}
	for k := turn.after(0); k >= 0; k = turn.after(k + 1) {
		s := &p.rows[k]
		if s.prog != nil && !s.eager && !s.mask.Meets(&w.has) && !w.ownsRaw(s) {
			continue
		}
		if s.cond != nil && !s.cond(w.Node) {
			continue
		}
		switch s.kind {
		case section:
			w.nested(s)
		case each:
			w.peers(s)
		case restKind:
			w.rest(s)
		case limited: // a word for the catalogue
		default:
			if s.write(w, s.key()) {
				w.done.AddAll(s.mask)
			}
		}
		if w.why != nil {
			return
		}
	}
}

func (r *row) key() string {
	if len(r.keys) == 0 {
		return ""
	}
	return r.keys[0]
}

func (w *Writer) nested(s *step) {
	done, outer := w.done, w.path
	w.path = s.rawPath(w.path)
	at := w.Out.Open(s.keys[0], doc.Map)
	w.section(s.prog, at)
	w.path = outer
	if len(*w.Out) == at+1 && (s.kept == nil || !s.kept(w.Node)) { // an empty object says nothing, so nothing in it is settled
		*w.Out = (*w.Out)[:at]
		w.done = done
		return
	}
	w.Out.Close(at)
}

// peers writes one object a peer, showing the rows one peer at a time. A leaf
// is settled only if it is for every peer that carries it.
func (w *Writer) peers(s *step) {
	n, outer := w.Node, w.path
	if n.WireGuard == nil || len(n.WireGuard.Peers) == 0 {
		return
	}
	options := *n.WireGuard
	one := sandrone.Node{Name: n.Name, Type: n.Type, WireGuard: &options}
	has, settled := w.has, w.done
	var lost field.Set
	w.Node, w.path = &one, s.rawPath(w.path)
	list := w.Out.Open(s.keys[0], doc.List)
	for k := range n.WireGuard.Peers {
		options.Peers = n.WireGuard.Peers[k : k+1 : k+1]
		w.has, w.done = field.Populated(&one).And(s.mask), field.Set{}
		at := w.Out.Open("", doc.Map)
		w.section(s.prog, at)
		w.Out.Close(at)
		lost.AddAll(w.has.Minus(w.done))
		settled.AddAll(w.done)
	}
	w.Out.Close(list)
	w.Node, w.path, w.has, w.done = n, outer, has, settled.Minus(lost)
}

func (w *Writer) rest(s *step) {
	o := w.Node.Opaque
	if o == nil || o.Family != w.d.Family {
		return
	}
	var tree doc.Items
	if doc.AddJSON(&tree, "", o.Options) != nil || tree[0].Kind != doc.Map {
		return
	}
	for i := 1; i < tree.Next(0); i = tree.Next(i) {
		if !w.Wrote(tree[i].Key) {
			w.Out.AddTree(tree[i].Key, tree, i)
		}
	}
	w.done.AddAll(s.mask)
}

// ownsRaw reports whether a raw key belongs into section s.
func (w *Writer) ownsRaw(s *step) bool {
	from, to := below(w.raw, s.rawPath(w.path))
	return from < to
}

// ownRaw writes back the raw keys of the section being written, after its
// rows, unless a row wrote that key.
func (w *Writer) ownRaw(p *program, at int) {
	from, to := below(w.raw, w.path)
	left := w.raw[:from]
	written := len(*w.Out) // by rows; raw keys differ among themselves
	for _, full := range w.raw[from:to] {
		key := full[len(w.path):]
		if p.inSection(key) || p.alsoRaw != "" && strings.HasPrefix(key, p.alsoRaw) {
			left = append(left, full)
			continue
		}
		if w.childOf(at, written, key) {
			continue // the modelled field says it
		}
		if w.d.Link && w.path == w.d.Raw && key != "" && (key[0] == '@' || key[0] == '#') {
			left = append(left, full) // would pass for a part of the link
			continue
		}
		if w.d.Link && w.path == w.d.Raw {
			w.linkRaw(key, full)
		} else if doc.AddJSON(w.Out, key, w.Node.Raw[full]) != nil {
			left = append(left, full)
		}
	}
	w.raw = append(left, w.raw[to:]...)
}

// below returns the range of the keys that begin with prefix; keys is sorted.
// A node may come with a hundred thousand of them, and may ask once a peer.
func below(keys []string, prefix string) (from, to int) {
	from, _ = slices.BinarySearch(keys, prefix)
	n, _ := slices.BinarySearchFunc(keys[from:], prefix, func(key, prefix string) int {
		if strings.HasPrefix(key, prefix) {
			return -1
		}
		return 1
	})
	return from, from + n
}

func holdsKey(keys []string, key string) bool {
	_, ok := slices.BinarySearch(keys, key)
	return ok
}

func (p *program) inSection(key string) bool {
	head, _, dotted := strings.Cut(key, ".")
	return dotted && p.sections[head]
}

// childOf reports whether the map opened at an item has a member of this name
// before the item end.
func (w *Writer) childOf(at, end int, key string) bool {
	for i := at + 1; i < end; i = w.Out.Next(i) {
		if (*w.Out)[i].Key == key {
			return true
		}
	}
	return false
}

// linkRaw writes a raw value as query text; a list becomes one item each.
func (w *Writer) linkRaw(key, full string) {
	var tree doc.Items
	if doc.AddJSON(&tree, "", w.Node.Raw[full]) != nil {
		return
	}
	if list, ok := tree.Strings(0); ok {
		for _, s := range list {
			w.Out.AddStr(key, s)
		}
		return
	}
	w.Out.AddStr(key, string(w.Node.Raw[full]))
}

// loss turns the leaves that no row settled into warnings, or into a refusal
// when one of them is critical.
func (w *Writer) loss(p *program, lost field.Set, index int, warnings []sandrone.Warning) []sandrone.Warning {
	lost.Each(func(id field.ID) bool {
		f := field.ByID(id)
		switch f.Class(w.Node) {
		case field.Critical:
			w.Refuse(f, show(f, w.Node, p.written.Has(id)))
			return false
		case field.Tuning:
			warnings = append(warnings, w.o.lossy(w.Node, index, f.Path))
		}
		return true
	})
	return warnings
}

// show returns the value of f where it is a plain word, else a fixed clause,
// which differs for a field that the target knows.
func show(f *field.Info, n *sandrone.Node, known bool) string {
	if f.Shown {
		switch f := f.Typed().(type) {
		case field.Field[string]:
			if p := f.At(n); p != nil {
				return clip(*p)
			}
		case field.Field[int]:
			if p := f.At(n); p != nil {
				return fmt.Sprint(*p)
			}
		}
	}
	if known {
		return "it has no form for this value"
	}
	return "it has no such option"
}

func (w *Writer) lostRaw(p *program, index int, warnings []sandrone.Warning) []sandrone.Warning {
	for _, key := range sortedKeys(w.Node.Raw) {
		own := !w.o.DropRaw && p.ownRaw(key)
		if own && !holdsKey(w.raw, key) {
			continue
		}
		warnings = append(warnings, w.o.lossy(w.Node, index, key))
	}
	return warnings
}

func (o *Options) warning(n *sandrone.Node, index int, code, path, message string) sandrone.Warning {
	return sandrone.Warning{Code: code, Message: message, Node: n.Label(), NodeIndex: &index, Field: path, Target: o.Target}
}

func (o *Options) lossy(n *sandrone.Node, index int, path string) sandrone.Warning {
	return o.warning(n, index, sandrone.WarnLossyField, path, clip(path)+" is not expressible in "+o.Target)
}

func (o *Options) skipped(n *sandrone.Node, index int, path, clause string) sandrone.Warning {
	return o.warning(n, index, sandrone.WarnNodeSkipped, path, o.Target+" cannot express "+path+": "+clause)
}
