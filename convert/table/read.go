package table

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert/doc"
	"github.com/sandrone-gateway/sandrone/convert/field"
)

// Reader reads entries of one dialect into nodes. It holds the scratch space
// of a call and serves one goroutine.
type Reader struct {
	Node *sandrone.Node // the node being read
	Doc  doc.Items      // its document
	Line int            // of the entry in the source, 1-based; 0 when it has none

	d        *Dialect
	programs *programs
	warns    []sandrone.Warning
	slots    []slot
	used     []bool
	path     string // raw prefix of the section being read
	at       int    // the section's item
	fold     func(string) string
	fail     *EntryError
}

// EntryError says why an entry is no node.
type EntryError struct {
	Field  string
	Reason string // one clause, without any value
}

func (e *EntryError) Error() string { return e.Reason }

// slot is what the keys of an entry offer to a row.
type slot struct {
	item int32 // 0: nothing
	rank int32
}

// NewReader returns a reader for entries of d.
func (d *Dialect) NewReader() *Reader {
	return &Reader{d: d, programs: d.programsOf(false, Version{})}
}

// Read reads the map at index 0 of entry into n, whose Type says the protocol.
// It returns the warnings of the entry, with the node's name and the given
// index. The error is an [*EntryError]: the entry is no node.
func (r *Reader) Read(n *sandrone.Node, entry doc.Items, index int) ([]sandrone.Warning, error) {
	p := r.programs.of(n.Type)
	if p == nil {
		return nil, &EntryError{Field: field.Type.Path, Reason: "unknown type"}
	}
	r.Node, r.Doc, r.fold = n, entry, p.fold
	r.warns, r.fail, r.path = nil, nil, r.d.Raw
	r.slots = r.slots[:0]
	if cap(r.used) < len(entry) {
		r.used = make([]bool, len(entry))
	} else {
		r.used = r.used[:len(entry)]
		clear(r.used)
	}
	r.section(p, 0)
	if r.fail != nil {
		return nil, r.fail
	}
	label := n.Label()
	for i := range r.warns {
		w := &r.warns[i]
		w.Node, w.NodeIndex = label, &index
		if r.Line > 0 {
			w.NodeContext = &sandrone.NodeContext{Line: r.Line}
		}
	}
	return r.warns, nil
}

// Warn adds a warning about the node being read.
func (r *Reader) Warn(code string, path, message string) {
	r.warns = append(r.warns, sandrone.Warning{Code: code, Message: message, Field: path})
}

// Fail declares the entry to be no node. The reason is one clause without any
// value of the entry; the first one counts.
func (r *Reader) Fail(f *field.Info, reason string) {
	if r.fail == nil {
		r.fail = &EntryError{Field: f.Path, Reason: reason}
	}
}

// Find returns the item with this key in the section being read.
func (r *Reader) Find(key string) (i int, ok bool) {
	i = r.Doc.Find(r.at, key)
	return i, i >= 0
}

func (r *Reader) has(key string) bool {
	i, ok := r.Find(key)
	return ok && !r.empty(i)
}

// Use marks an item as taken, so that it neither reaches another row nor raw.
func (r *Reader) Use(i int) { r.used[i] = true }

// SetMeta stores a member of the node's meta map.
func (r *Reader) SetMeta(key, v string) {
	if r.Node.Meta == nil {
		r.Node.Meta = make(map[string]string)
	}
	r.Node.Meta[key] = v
}

// Keep puts item i into the node's raw map and says so in a warning.
func (r *Reader) Keep(i int) {
	key := r.path + r.Doc[i].Key
	r.KeepAs(key, doc.JSONOf(r.Doc, i))
}

// maxKept is how many warnings an entry may have before what it does not need
// to say costs too much.
const maxKept = 10_000

// KeepAs puts a value into the node's raw map under a full raw key and says so
// in a warning. In a link a second value of the same key makes a list.
func (r *Reader) KeepAs(key string, v json.RawMessage) {
	if len(r.warns) >= maxKept {
		r.fail = &EntryError{Reason: "it has too many unknown options"}
		return
	}
	if r.Node.Raw == nil {
		r.Node.Raw = make(sandrone.Raw)
	}
	if old, ok := r.Node.Raw[key]; ok && r.d.Link && r.at == 0 {
		r.Node.Raw[key] = another(old, v) // the first one has warned
		return
	}
	r.Node.Raw[key] = v
	r.Warn(sandrone.WarnUnknownField, key, "kept in raw: "+clip(key))
}

// another adds a value to a raw member that has one or more, unless it is
// there.
func another(old, v json.RawMessage) json.RawMessage {
	var list []json.RawMessage
	if json.Unmarshal(old, &list) != nil {
		list = []json.RawMessage{old}
	}
	if slices.ContainsFunc(list, func(have json.RawMessage) bool { return string(have) == string(v) }) {
		return old
	}
	all, _ := json.Marshal(append(list, v))
	return all
}

// clip bounds a name from outside that goes into a message.
func clip(s string) string {
	const most = 120
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f {
			return ' '
		}
		return c
	}, s)
}

func (r *Reader) section(p *program, at int) {
	outerAt, base := r.at, len(r.slots)
	r.at = at
	for range p.rows {
		r.slots = append(r.slots, slot{})
	}
	end := r.Doc.Next(at)
	turn := p.always
	for i := at + 1; i < end; i = r.Doc.Next(i) {
		for _, pl := range p.places(r.Doc[i].Key) {
			r.offer(p, base, pl, i)
			turn.add(int(pl.row))
		}
	}
	for k := turn.after(0); k >= 0; k = turn.after(k + 1) {
		s := &p.rows[k]
		i := int(r.slots[base+k].item)
		if s.kind == noted {
			if s.cond == nil || s.cond(r.Node) {
				s.read(r, at)
			}
			continue
		}
		if i == 0 || r.used[i] || s.cond != nil && !s.cond(r.Node) || s.unless != "" && r.has(s.unless) {
			continue
		}
		switch s.kind {
		case plain:
			r.used[i] = s.read(r, i) || r.used[i]
		case section:
			r.used[i] = r.nested(s, i)
		case each:
			r.used[i] = r.peers(s, i)
		case ignored:
			r.used[i] = true
		}
	}
	r.leftovers(p, at, end)
	r.slots = r.slots[:base]
	r.at = outerAt
}

func (p *program) places(key string) []place {
	if p.fold != nil {
		key = p.fold(key)
	}
	return p.keys[key]
}

// offer gives item i to a row, unless the row has a better one.
func (r *Reader) offer(p *program, base int, pl place, i int) {
	s := &r.slots[base+int(pl.row)]
	old := int(s.item)
	switch {
	case old == 0:
	case r.empty(i):
		r.used[i] = true
		return
	case r.empty(old):
		r.used[old] = true
	case pl.rank == s.rank: // the same key again
		if !r.d.Link || r.at != 0 { // a section of a link is JSON
			r.used[old] = true
			break
		}
		r.used[i] = true
		if !r.same(old, i) {
			r.Keep(i)
		}
		return
	case pl.rank < s.rank:
		r.conflict(p, pl, i, old)
		r.used[old] = true
	default:
		r.conflict(p, pl, i, old)
		r.used[i] = true
		return
	}
	s.item, s.rank = int32(i), pl.rank
}

func (r *Reader) conflict(p *program, pl place, i, old int) {
	if row := &p.rows[pl.row]; !r.d.Link && len(row.fields) > 0 && !r.same(old, i) {
		path := row.fields[0].Path
		r.Warn(sandrone.WarnAliasConflict, path, "two spellings of "+path+" disagree; "+clip(row.keys[0])+" comes first")
	}
}

func (r *Reader) empty(i int) bool {
	it := &r.Doc[i]
	return it.Kind == doc.Null || it.Kind == doc.Str && it.Text == ""
}

// same reports whether two items hold the same value.
func (r *Reader) same(i, j int) bool {
	a, b := r.Doc[i:r.Doc.Next(i)], r.Doc[j:r.Doc.Next(j)]
	if len(a) != len(b) {
		return false
	}
	for k := range a {
		if a[k].Text != b[k].Text || k > 0 && a[k].Key != b[k].Key {
			return false
		}
	}
	return true
}

func (r *Reader) nested(s *step, i int) bool {
	switch r.Doc[i].Kind {
	case doc.Null:
		return true
	case doc.Map:
	default:
		return false
	}
	outer := r.path
	r.path = s.rawPath(r.path)
	r.section(s.prog, i)
	r.path = outer
	return true
}

func (r *Reader) peers(s *step, i int) bool {
	if r.Doc[i].Kind == doc.Null {
		return true
	}
	if r.Doc[i].Kind != doc.List {
		return false
	}
	for j := i + 1; j < r.Doc.Next(i); j = r.Doc.Next(j) {
		if r.Doc[j].Kind != doc.Map {
			return false
		}
	}
	outer := r.path
	r.path = s.rawPath(r.path)
	if r.Node.WireGuard == nil {
		r.Node.WireGuard = new(sandrone.WireGuardOptions)
	}
	w := r.Node.WireGuard
	w.Peers = nil
	for j := i + 1; j < r.Doc.Next(i); j = r.Doc.Next(j) {
		w.Peers = append(w.Peers, sandrone.WireGuardPeer{})
		r.section(s.prog, j)
	}
	r.path = outer
	return true
}

// leftovers keeps what no row took: in opaque where the protocol is carried,
// else in raw.
func (r *Reader) leftovers(p *program, at, end int) {
	var rest doc.Items
	for i := at + 1; i < end; i = r.Doc.Next(i) {
		if r.used[i] {
			continue
		}
		if p.rest && !(r.d.Link && holds(rest, r.Doc[i].Key)) {
			if rest == nil {
				rest.Open("", doc.Map)
			}
			rest.AddTree(r.Doc[i].Key, r.Doc, i)
			continue
		}
		if !r.empty(i) {
			r.Keep(i)
		}
	}
	if p.rest {
		if rest == nil {
			rest.Open("", doc.Map)
		}
		rest.Close(0)
		r.Node.Opaque = &sandrone.Opaque{Family: r.d.Family, Options: doc.JSONOf(rest, 0)}
	}
}

// holds reports whether the map that is being made at index 0 has a member.
func holds(d doc.Items, key string) bool {
	for i := 1; i < len(d); i = d.Next(i) {
		if d[i].Key == key {
			return true
		}
	}
	return false
}
