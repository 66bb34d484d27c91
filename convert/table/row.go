// Package table is the heart of every format: rows that say which field of a
// node is which key of a client, and the programs made from them.
//
// A [Dialect] is one client's notation: for each protocol a list of rows. From
// the rows come the parser's read (with aliases, conflicts and unknown keys),
// the renderer's write (in a stable order, for a client version), the loss
// report (a leaf that the node carries and no row wrote) and the lines of the
// capability catalogue. Nothing of that is written a second time anywhere.
//
// Rows are plain values built by generic constructors, so the compiler checks
// that a row for a list holds a list field. They are compiled once a protocol
// and version, when first used.
package table

import (
	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert/doc"
	"github.com/sandrone-gateway/sandrone/convert/field"
)

// ReadFunc takes item i of the document into the node. It returns false when
// it does not understand the value, which then goes to raw.
type ReadFunc func(r *Reader, i int) bool

// WriteFunc writes a field under key, if the node carries it. It returns false
// when the value is not expressible; the field then counts as lost.
type WriteFunc func(w *Writer, key string) bool

// Cond is a condition on the node. When reading it sees what earlier rows set,
// so the rows it depends on must stand before it in the table.
type Cond func(n *sandrone.Node) bool

// Not is the opposite of a condition.
func Not(c Cond) Cond { return func(n *sandrone.Node) bool { return !c(n) } }

// Row is one line of a table. The zero Row is not usable; see [Key] and the
// other constructors. Modifiers return a changed copy.
//
// A row is a pointer, since a table puts its rows through many lists on the
// way to a program.
type Row struct{ *row }

type row struct {
	keys   []string
	fields []*field.Info
	read   ReadFunc
	write  WriteFunc
	rows   []Row // of a section
	kind   kind
	cond   Cond
	wcond  Cond // of writing alone

	since, until Version
	always       bool
	kept         Cond
	unless       string
	rawAs        string // raw prefix of a section, if it is not its place
	notes        string
	skips        bool // for the catalogue: a value that the notes exclude leaves the node out
	source       *sandrone.SourceRef
}

type kind uint8

const (
	plain    kind = iota
	section       // a nested object
	each          // a list of objects
	raw           // documented, but kept in raw
	ignored       // a documented no-op
	noted         // writes no key, but settles fields
	refuse        // leaves the node out
	limited       // says in the catalogue what conditions of other rows add up to
	restKind      // takes what no row took
)

// Key is the common row: field f is the value of the first key. The other
// keys are aliases that a reader accepts, in order of preference.
func Key[T any](f field.Field[T], keys ...string) Row { return KeyAs(f, codecOf[T](), keys...) }

// KeyAs is [Key] with the client's own spelling of the value.
func KeyAs[T any](f field.Field[T], c Codec[T], keys ...string) Row {
	row := Row{&row{keys: keys, fields: []*field.Info{f.Info}, notes: c.Only}}
	if c.Read != nil {
		row.read = func(r *Reader, i int) bool {
			v, ok := c.Read(r.Doc, i)
			if ok {
				set(f, r.Node, v)
			}
			return ok
		}
	}
	if c.Write != nil {
		row.write = func(w *Writer, key string) bool {
			p := f.At(w.Node)
			if p == nil {
				return false
			}
			return c.Write(w.Out, key, *p)
		}
	}
	return row
}

// set stores a value, but creates no parent object to hold a zero value in.
func set[T any](f field.Field[T], n *sandrone.Node, v T) {
	if !isZero(&v) {
		*f.Make(n) = v
	} else if p := f.At(n); p != nil {
		*p = v
	}
}

// Set stores v in field f of the node being read, without creating objects
// for a zero value.
func Set[T any](r *Reader, f field.Field[T], v T) { set(f, r.Node, v) }

// MetaKey is the row of a reserved member of the node's meta map.
func MetaKey(f field.MetaField, keys ...string) Row {
	return Row{&row{keys: keys, fields: []*field.Info{f.Info},
		read: func(r *Reader, i int) bool {
			v, ok := r.Doc.Scalar(i)
			if ok && v != "" {
				r.SetMeta(f.Key, v)
			}
			return ok
		},
		write: func(w *Writer, key string) bool {
			w.Out.AddStr(key, w.Node.Meta[f.Key])
			return true
		}}}
}

// In is a nested object under key. It is left out when no row in it wrote
// anything. Further keys are aliases on read.
func In(key string, rows ...Row) Row {
	return Row{&row{keys: []string{key}, kind: section, rows: rows}}
}

// Group joins lists of rows and rows into one list, so that shared parts of a
// table can be written once.
func Group(parts ...any) []Row {
	var rows []Row
	for _, p := range parts {
		switch p := p.(type) {
		case Row:
			rows = append(rows, p)
		case []Row:
			rows = append(rows, p...)
		default:
			panic("table: a group holds rows")
		}
	}
	return rows
}

// EachPeer is a list of objects under key, one for each wireguard peer; rows
// name the leaves of [field.Peer].
func EachPeer(key string, rows ...Row) Row {
	return Row{&row{keys: []string{key}, kind: each, rows: rows}}
}

// Const writes a fixed text under key and reads nothing from it.
func Const(key, value string) Row {
	return Row{&row{keys: []string{key}, always: true,
		read:  func(*Reader, int) bool { return true },
		write: func(w *Writer, key string) bool { w.Out.AddStr(key, value); return true }}}
}

// Implied says that these values need no key: the client assumes them.
func Implied[T comparable](f field.Field[T], values ...T) Row {
	return Row{&row{kind: noted, fields: []*field.Info{f.Info}, write: func(w *Writer, _ string) bool {
		p := f.At(w.Node)
		if p == nil {
			return false
		}
		for _, v := range values {
			if *p == v {
				return true
			}
		}
		return false
	}}}
}

// States says that the presence of the enclosing object means v.
func States[T any](f field.Field[T], v T) Row {
	return Row{&row{kind: noted, fields: []*field.Info{f.Info},
		read:  func(r *Reader, _ int) bool { set(f, r.Node, v); return true },
		write: func(*Writer, string) bool { return true }}}
}

// Custom is a row for what no codec fits: several fields in one value, or a
// value that depends on its neighbours. The functions may be nil for a row of
// one direction. write is called when the node carries one of the fields; true
// settles all of them.
func Custom(keys []string, read ReadFunc, write WriteFunc, fields ...*field.Info) Row {
	return Row{&row{keys: keys, read: read, write: write, fields: fields}}
}

// Derived is a row without a key of its own that settles fields: it writes
// what it wants through the writer.
func Derived(write WriteFunc, fields ...*field.Info) Row {
	return Row{&row{kind: noted, write: write, fields: fields}}
}

// RawKey documents keys that are not modelled: they stay in raw.
func RawKey(keys ...string) Row { return Row{&row{keys: keys, kind: raw}} }

// Ignore documents keys that mean nothing to a node.
func Ignore(keys ...string) Row { return Row{&row{keys: keys, kind: ignored}} }

// Refuse leaves a node out when why returns a text: a short clause that says
// what the client does not take, without any secret.
func Refuse(f *field.Info, why func(n *sandrone.Node) string) Row {
	return Row{&row{kind: refuse, fields: []*field.Info{f}, notes: "what the client takes together", write: func(w *Writer, _ string) bool {
		if clause := why(w.Node); clause != "" {
			w.Refuse(f, clause)
		}
		return false
	}}}
}

// Limited notes in the catalogue that fields can be carried in some nodes only,
// where that follows from the conditions of several rows.
func Limited(values string, fields ...*field.Info) Row {
	return Row{&row{kind: limited, notes: values, fields: fields}}
}

func (r Row) copy() Row {
	c := *r.row
	return Row{&c}
}

// When limits a row to nodes that meet the condition. On read a row whose
// condition fails leaves its key to another row, or to raw.
func (r Row) When(c Cond) Row {
	r = r.copy()
	if old := r.cond; old != nil {
		r.cond = func(n *sandrone.Node) bool { return old(n) && c(n) }
		return r
	}
	r.cond = c
	return r
}

// WriteWhen limits only the writing to nodes that meet the condition.
func (r Row) WriteWhen(c Cond) Row {
	r = r.copy()
	if old := r.wcond; old != nil {
		r.wcond = func(n *sandrone.Node) bool { return old(n) && c(n) }
		return r
	}
	r.wcond = c
	return r
}

// Unless keeps the row from reading where the same object has this key too.
func (r Row) Unless(key string) Row { r = r.copy(); r.unless = key; return r }

// Since says that clients before this version do not know the row.
func (r Row) Since(v string) Row { r = r.copy(); r.since = V(v); return r }

// Until says that clients from this version on do not know the row.
func (r Row) Until(v string) Row { r = r.copy(); r.until = V(v); return r }

// Always runs the writer even when the node carries none of the fields, for a
// zero that the client must be told.
func (r Row) Always() Row { r = r.copy(); r.always = true; return r }

// Kept writes the object even when it is empty, for nodes that meet the
// condition.
func (r Row) Kept(c Cond) Row { r = r.copy(); r.kept = c; return r }

// ReadOnly keeps the row, or the rows of the object, from writing.
func (r Row) ReadOnly() Row {
	r = r.copy()
	r.write = nil
	rows := r.rows
	r.rows = nil
	for _, inner := range rows {
		r.rows = append(r.rows, inner.ReadOnly())
	}
	return r
}

// WriteOnly keeps the row from reading.
func (r Row) WriteOnly() Row { r = r.copy(); r.read = nil; return r }

// Written keeps the row from reading and writes it under another key.
func (r Row) Written(key string) Row { r = r.copy(); r.read, r.keys = nil, []string{key}; return r }

// Only notes the values that the row, or the rows of the object, can carry. The
// fields then stand among the supported and among the lossy ones of the
// catalogue. Codecs with a list of words note it themselves.
func (r Row) Only(values string) Row { r = r.copy(); r.notes = values; return r }

// Ref names the document that defines the row, where it is not the dialect's.
func (r Row) Ref(ref sandrone.SourceRef) Row { r = r.copy(); r.source = &ref; return r }

// RawAs gives the raw keys of a section a prefix of their own, where the name
// of the section is not the source's: "vmess." for the JSON in a link.
func (r Row) RawAs(prefix string) Row { r = r.copy(); r.rawAs = prefix; return r }

// Alias adds keys that a reader accepts.
func (r Row) Alias(keys ...string) Row {
	r = r.copy()
	r.keys = append(append([]string(nil), r.keys...), keys...)
	return r
}

// RestOf keeps the keys of the enclosing object that no other row took in a
// map of verbatim JSON, and writes them back there. It is the last row of its
// object.
func RestOf(f field.Field[sandrone.Raw]) Row {
	return Row{&row{kind: noted, fields: []*field.Info{f.Info},
		read: func(r *Reader, at int) bool {
			for i := at + 1; i < r.Doc.Next(at); i = r.Doc.Next(i) {
				if r.used[i] || r.empty(i) {
					continue
				}
				m := f.Make(r.Node)
				if *m == nil {
					*m = make(sandrone.Raw)
				}
				(*m)[r.Doc[i].Key] = doc.JSONOf(r.Doc, i)
				r.used[i] = true
			}
			return true
		},
		write: func(w *Writer, _ string) bool {
			m := *f.At(w.Node)
			for _, key := range sortedKeys(m) {
				if !w.Wrote(key) && doc.AddJSON(w.Out, key, m[key]) != nil {
					return false
				}
			}
			return true
		}}}
}

// Rest keeps every key that no other row took in the node's opaque options,
// and writes them back where they came from. It is the last row of a protocol
// that is carried and not modelled.
func Rest() Row {
	return Row{&row{kind: restKind, fields: []*field.Info{field.OpaqueFamily.Info, field.OpaqueOptions.Info}}}
}

// Writer returns the row's own writer, for a row that wraps another.
func (r Row) Writer() WriteFunc { return r.write }
