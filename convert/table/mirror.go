package table

import (
	"encoding/json"
	"strings"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert/field"
)

// Mirror returns the rows of the notation that is the node model itself: every
// leaf under its own name, in contract order. special holds rows that stand in
// for, or beside, the usual one of a dotted path; at the path of an object it
// changes the object's row.
func Mirror(special map[string]func(Row) Row) []Row {
	root := &branch{}
	for id := range field.Len() {
		f := field.ByID(field.ID(id))
		if strings.HasPrefix(f.Path, "meta.") {
			continue // members of the map, which is a leaf itself
		}
		root.add(strings.Split(f.Path, "."), f)
	}
	for _, path := range sortedKeys(special) {
		root.add(strings.Split(path, "."), nil)
	}
	return root.rows("", special)
}

type branch struct {
	name string
	leaf *field.Info
	sub  []*branch
}

func (b *branch) add(path []string, f *field.Info) {
	if len(path) == 0 {
		if f != nil {
			b.leaf = f
		}
		return
	}
	for _, s := range b.sub {
		if s.name == path[0] {
			s.add(path[1:], f)
			return
		}
	}
	s := &branch{name: path[0]}
	b.sub = append(b.sub, s)
	s.add(path[1:], f)
}

func (b *branch) rows(prefix string, special map[string]func(Row) Row) []Row {
	var rows []Row
	for _, s := range b.sub {
		var row Row
		path := prefix + s.name
		switch {
		case s.leaf != nil:
			row = keyOf(s.leaf, s.name)
		case s.name == "peers":
			row = EachPeer(s.name, s.rows(path+".", special)...)
		case s.sub != nil:
			row = In(s.name, s.rows(path+".", special)...)
		}
		if f := special[path]; f != nil {
			row = f(row)
		}
		rows = append(rows, row)
	}
	return rows
}

// keyOf is [Key] for a leaf whose type is known at run time only.
func keyOf(f *field.Info, key string) Row {
	switch f := f.Typed().(type) {
	case field.Field[string]:
		return Key(f, key)
	case field.Field[bool]:
		return Key(f, key)
	case field.Field[int]:
		return Key(f, key)
	case field.Field[uint16]:
		return Key(f, key)
	case field.Field[sandrone.Tri]:
		return Key(f, key)
	case field.Field[sandrone.Type]:
		return Key(f, key)
	case field.Field[[]string]:
		return Key(f, key)
	case field.Field[[]int]:
		return Key(f, key)
	case field.Field[map[string]string]:
		return Key(f, key)
	case field.Field[map[string]any]:
		return Key(f, key)
	case field.Field[sandrone.Raw]:
		return Key(f, key)
	case field.Field[json.RawMessage]:
		return Key(f, key)
	case field.Field[[]sandrone.Warning]:
		return KeyAs(f, warningsCodec, key)
	}
	panic("table: no row for " + f.Path)
}
