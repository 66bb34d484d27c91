package field

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"strings"

	"github.com/sandrone-gateway/sandrone"
)

// Place is a dotted path that was looked up: a leaf, a member of a leaf that is
// a map ("meta.region", "transport.headers.Host"), or an object with all that
// it holds ("tls.reality"). Readers and writers of nodes by path share it, so
// that a path and its type mean the same to all.
type Place struct {
	Path string
	leaf *Info  // nil for an object
	key  string // of the map's member; "" for the leaf itself
	Set  Set    // the leaves it stands for
}

// Lookup finds the place that a path names. The rest of a path behind a map is
// one key, dots and all.
func Lookup(path string) (Place, bool) {
	if f := ByPath(path); f != nil && !strings.HasPrefix(path, "meta.") && !isPeer(path) {
		return Place{path, f, "", SetOf(f)}, true
	}
	if objects[path] != nil {
		p := Place{Path: path}
		for id, leaf := range paths {
			if strings.HasPrefix(leaf, path+".") {
				p.Set.Add(ID(id))
			}
		}
		return p, true
	}
	for i := 0; i < len(path); i++ {
		if path[i] != '.' {
			continue
		}
		if f := ByPath(path[:i]); f != nil && i+1 < len(path) && isMap(f) {
			return Place{path, f, path[i+1:], SetOf(f)}, true
		}
	}
	return Place{}, false
}

// isPeer keeps the leaves of a list out of the paths: they are of one peer, and
// a path cannot say of which.
func isPeer(path string) bool { return strings.HasPrefix(path, "wireguard.peers.") }

func isMap(f *Info) bool {
	switch f.typed.(type) {
	case Field[map[string]string], Field[map[string]any], Field[sandrone.Raw]:
		return true
	}
	return false
}

// IsObject reports whether p is an object, which has no value of its own.
func (p Place) IsObject() bool { return p.leaf == nil }

// Get returns the value at p as JSON has it: a string, bool, int, []string,
// []int, map or [json.RawMessage]. It is nil where the node states nothing,
// and for an object. What it returns belongs to n and must not be changed.
func (p Place) Get(n *sandrone.Node) any {
	if p.leaf == nil {
		return nil
	}
	if p.key != "" {
		switch f := p.leaf.typed.(type) {
		case Field[map[string]string]:
			if m := f.At(n); m != nil {
				if v, ok := (*m)[p.key]; ok {
					return v
				}
			}
		case Field[map[string]any]:
			if m := f.At(n); m != nil {
				return (*m)[p.key]
			}
		case Field[sandrone.Raw]:
			if m := f.At(n); m != nil && (*m)[p.key] != nil {
				return (*m)[p.key]
			}
		}
		return nil
	}
	return p.leaf.Get(n)
}

// Get returns the value of f in n as JSON has it, nil where the node states
// nothing. Of tls.enabled both positions are stated when there is a TLS object.
func (f *Info) Get(n *sandrone.Node) any {
	switch f := f.typed.(type) {
	case Field[string]:
		return stated(f.At(n))
	case Field[sandrone.Type]:
		if t := f.At(n); *t != "" {
			return string(*t)
		}
	case Field[bool]:
		v := f.At(n)
		if v != nil && (*v || f.Info == TLS.Enabled.Info) {
			return *v
		}
	case Field[int]:
		return stated(f.At(n))
	case Field[uint16]:
		if v := f.At(n); v != nil && *v != 0 {
			return int(*v)
		}
	case Field[sandrone.Tri]:
		if v := f.At(n); v != nil && *v != sandrone.Unset {
			return *v == sandrone.On
		}
	case Field[[]string]:
		if v := f.At(n); v != nil && len(*v) > 0 {
			return *v
		}
	case Field[[]int]:
		if v := f.At(n); v != nil && len(*v) > 0 {
			return *v
		}
	case Field[map[string]string]:
		if v := f.At(n); v != nil && len(*v) > 0 {
			return *v
		}
	case Field[map[string]any]:
		if v := f.At(n); v != nil && len(*v) > 0 {
			return *v
		}
	case Field[sandrone.Raw]:
		if v := f.At(n); v != nil && len(*v) > 0 {
			return *v
		}
	case Field[json.RawMessage]:
		if v := f.At(n); v != nil && len(*v) > 0 {
			return *v
		}
	case Field[[]sandrone.Warning]:
		if v := f.At(n); v != nil && len(*v) > 0 {
			return *v
		}
	}
	return nil
}

func stated[T comparable](p *T) any {
	var zero T
	if p == nil || *p == zero {
		return nil
	}
	return *p
}

// Errors of [Place.Read]. They hold no value.
var (
	ErrType   = errors.New("the value is not of the field's type")
	ErrObject = errors.New("an object has no value of its own; set its members")
)

// Read decodes a JSON value for p, strictly: it must be of the field's type.
// The result is a function that puts a copy of it into a node, which may share
// its objects with others. The error is [ErrType] or [ErrObject].
func (p Place) Read(value json.RawMessage) (func(*sandrone.Node), error) {
	if p.leaf == nil {
		return nil, ErrObject
	}
	if isNull(value) {
		return nil, ErrType
	}
	switch f := p.leaf.typed.(type) {
	case Field[string]:
		return reader(f, value, same)
	case Field[sandrone.Type]:
		return reader(f, value, same)
	case Field[bool]:
		return reader(f, value, same)
	case Field[int]:
		return reader(f, value, same)
	case Field[uint16]:
		return reader(f, value, same)
	case Field[sandrone.Tri]:
		return reader(f, value, same)
	case Field[[]string]:
		return reader(f, value, func(v []string) []string { return append([]string(nil), v...) })
	case Field[[]int]:
		return reader(f, value, func(v []int) []int { return append([]int(nil), v...) })
	case Field[map[string]string]:
		return member(p, f, value)
	case Field[map[string]any]:
		return member(p, f, value)
	case Field[sandrone.Raw]:
		return member(p, f, value)
	case Field[json.RawMessage]:
		return reader(f, value, func(v json.RawMessage) json.RawMessage { return bytes.Clone(v) })
	case Field[[]sandrone.Warning]:
		return reader(f, value, func(v []sandrone.Warning) []sandrone.Warning { return append([]sandrone.Warning(nil), v...) })
	}
	return nil, ErrType
}

func same[T any](v T) T { return v }

func isNull(value json.RawMessage) bool { return string(bytes.TrimSpace(value)) == "null" }

// decode is strict about members and about anything behind the value.
func decode(value json.RawMessage, to any) error {
	d := json.NewDecoder(bytes.NewReader(value))
	d.DisallowUnknownFields()
	d.UseNumber()
	if err := d.Decode(to); err != nil {
		return ErrType
	}
	if _, err := d.Token(); err != io.EOF {
		return ErrType
	}
	return nil
}

func reader[T any](f Field[T], value json.RawMessage, copied func(T) T) (func(*sandrone.Node), error) {
	var v T
	if err := decode(value, &v); err != nil {
		return nil, err
	}
	return func(n *sandrone.Node) { *f.Own(n) = copied(v) }, nil
}

// member reads a whole map, or one member of it.
func member[M ~map[string]V, V any](p Place, f Field[M], value json.RawMessage) (func(*sandrone.Node), error) {
	if p.key == "" {
		var v M
		if err := decode(value, &v); err != nil {
			return nil, err
		}
		if !plainMembers(v) {
			return nil, ErrType
		}
		return func(n *sandrone.Node) { *f.Own(n) = maps.Clone(v) }, nil
	}
	var v V
	if err := decode(value, &v); err != nil {
		return nil, err
	}
	one := M{p.key: v}
	if !plainMembers(one) {
		return nil, ErrType
	}
	v = one[p.key]
	return func(n *sandrone.Node) {
		place := f.Own(n)
		m := maps.Clone(*place)
		if m == nil {
			m = make(M, 1)
		}
		m[p.key] = v
		*place = m
	}, nil
}

// plainMembers gives the members of an open map the types that the model has
// there, and compacts raw JSON. It reports false for what has none.
func plainMembers(m any) bool {
	switch m := m.(type) {
	case map[string]any:
		for k, v := range m {
			w, ok := plain(v)
			if !ok {
				return false
			}
			m[k] = w
		}
	case sandrone.Raw:
		for k, v := range m {
			var b bytes.Buffer
			if json.Compact(&b, v) != nil {
				return false
			}
			m[k] = b.Bytes()
		}
	}
	return true
}

func plain(v any) (any, bool) {
	switch v := v.(type) {
	case string, bool:
		return v, true
	case json.Number:
		n, err := v.Int64()
		return int(n), err == nil
	case []any:
		list := make([]string, len(v))
		for i := range v {
			s, ok := v[i].(string)
			if !ok {
				return nil, false
			}
			list[i] = s
		}
		return list, true
	case map[string]any:
		m := make(map[string]string, len(v))
		for k := range v {
			s, ok := v[k].(string)
			if !ok {
				return nil, false
			}
			m[k] = s
		}
		return m, true
	}
	return nil, false
}

// Remove makes the node state nothing at p. Objects that it shares with other
// nodes are left alone.
func (p Place) Remove(n *sandrone.Node) {
	if p.leaf == nil {
		objects[p.Path](n)
		return
	}
	if p.Get(n) == nil {
		return // without creating the way there
	}
	switch f := p.leaf.typed.(type) {
	case Field[map[string]string]:
		remove(p, f, n)
	case Field[map[string]any]:
		remove(p, f, n)
	case Field[sandrone.Raw]:
		remove(p, f, n)
	case Field[string]:
		*f.Own(n) = ""
	case Field[sandrone.Type]:
		*f.Own(n) = ""
	case Field[bool]:
		*f.Own(n) = false
	case Field[int]:
		*f.Own(n) = 0
	case Field[uint16]:
		*f.Own(n) = 0
	case Field[sandrone.Tri]:
		*f.Own(n) = sandrone.Unset
	case Field[[]string]:
		*f.Own(n) = nil
	case Field[[]int]:
		*f.Own(n) = nil
	case Field[json.RawMessage]:
		*f.Own(n) = nil
	case Field[[]sandrone.Warning]:
		*f.Own(n) = nil
	}
}

func remove[M ~map[string]V, V any](p Place, f Field[M], n *sandrone.Node) {
	place := f.Own(n)
	if p.key == "" {
		*place = nil
		return
	}
	m := maps.Clone(*place)
	delete(m, p.key)
	if len(m) == 0 {
		m = nil
	}
	*place = m
}
