package table

import (
	"encoding/json"
	"strings"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert/field"
)

// Mirror returns the rows of the notation that is the node model itself: every
// leaf that protocol t can use, under its own name, in contract order.
func Mirror() []Row {
	root := &branch{}
	for id := range field.Len() {
		f := field.ByID(field.ID(id))
		if strings.HasPrefix(f.Path, "meta.") {
			continue // members of the map, which is a leaf itself
		}
		root.add(strings.Split(f.Path, "."), f)
	}
	return root.rows()
}

type branch struct {
	name string
	leaf *field.Info
	sub  []*branch
}

func (b *branch) add(path []string, f *field.Info) {
	if len(path) == 0 {
		b.leaf = f
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

func (b *branch) rows() []Row {
	var rows []Row
	for _, s := range b.sub {
		switch {
		case s.leaf != nil:
			rows = append(rows, keyOf(s.leaf, s.name))
		case s.name == "peers":
			rows = append(rows, EachPeer(s.name, s.rows()...))
		default:
			rows = append(rows, In(s.name, s.rows()...))
		}
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
