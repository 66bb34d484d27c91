// Package field is the registry of the node model's leaves.
//
// Each leaf is declared once, with its dotted path, its accessor, the
// protocols that can use it and what its loss means. A row of a format names
// the field and holds no accessor of its own; the capability catalogue, the
// loss report and the lossless notation are all derived from this one list.
package field

import (
	"math/bits"

	"github.com/sandrone-gateway/sandrone"
)

// ID is the place of a leaf in contract order. The same ids serve catalogue,
// warnings and sets.
type ID uint16

// Set is a set of leaves.
type Set [6]uint64

// Has reports whether id is in s.
func (s *Set) Has(id ID) bool { return s[id>>6]&(1<<(id&63)) != 0 }

// Add puts id into s.
func (s *Set) Add(id ID) { s[id>>6] |= 1 << (id & 63) }

// AddAll puts every member of t into s.
func (s *Set) AddAll(t Set) {
	for i := range s {
		s[i] |= t[i]
	}
}

// And returns the members of s that are in t.
func (s Set) And(t Set) Set {
	for i := range s {
		s[i] &= t[i]
	}
	return s
}

// Minus returns the members of s that are not in t.
func (s Set) Minus(t Set) Set {
	for i := range s {
		s[i] &^= t[i]
	}
	return s
}

// IsEmpty reports whether s has no member.
func (s Set) IsEmpty() bool { return s == Set{} }

// Meets reports whether s and t have a member in common. It is asked for every
// row of every node, hence without copies.
func (s *Set) Meets(t *Set) bool {
	return s[0]&t[0]|s[1]&t[1]|s[2]&t[2]|s[3]&t[3]|s[4]&t[4]|s[5]&t[5] != 0
}

// Each calls f for every member in contract order until f returns false.
func (s Set) Each(f func(ID) bool) {
	for i, w := range s {
		for w != 0 {
			if !f(ID(i<<6 + bits.TrailingZeros64(w))) {
				return
			}
			w &= w - 1
		}
	}
}

// SetOf returns the set of the given leaves.
func SetOf(infos ...*Info) (s Set) {
	for _, f := range infos {
		s.Add(f.ID)
	}
	return s
}

// Class says what a renderer does with a node when its target cannot hold a
// leaf.
type Class uint8

// The classes of loss.
const (
	Tuning   Class = iota // keep the node and warn
	Critical              // leave the node out: without the leaf it would be another connection
	Silent                // the leaf is not the target's business
)

// Info is what is known of one leaf, whatever its type.
type Info struct {
	ID    ID
	Path  string  // dotted path in the node, the catalogue's ir_field
	For   TypeSet // protocols that can use it
	Shown bool    // its value is a plain word that a message may show
	Note  string  // when the class depends on the node: how

	class   Class
	classOf func(*sandrone.Node) Class
	typed   any // the Field[T]
}

// Class returns what the loss of f means for node n.
func (f *Info) Class(n *sandrone.Node) Class {
	if f.classOf != nil {
		return f.classOf(n)
	}
	return f.class
}

// Usual returns the class that a catalogue states for f.
func (f *Info) Usual() Class { return f.class }

// Typed returns the Field[T] that f describes.
func (f *Info) Typed() any { return f.typed }

// Field is a leaf of type T.
type Field[T any] struct {
	*Info
	at func(*sandrone.Node, access) *T
}

// access is what may be done on the way to a leaf.
type access uint8

const (
	look   access = iota // nothing: absent parents stay absent
	create               // absent parents are made
	own                  // the same, and parents that exist are copied first
)

// At returns the place of the leaf in n, or nil when a parent object is
// absent. It never creates anything.
func (f Field[T]) At(n *sandrone.Node) *T { return f.at(n, look) }

// Make returns the place of the leaf in n and creates the parents it needs.
func (f Field[T]) Make(n *sandrone.Node) *T { return f.at(n, create) }

// Own is [Field.Make] for a node that shares its objects with another one:
// the parents are copied, so that a write changes n alone. A list or a map at
// the place itself is still shared and must be replaced as a whole.
func (f Field[T]) Own(n *sandrone.Node) *T { return f.at(n, own) }

// TypeSet is a set of protocols.
type TypeSet uint64

// TypesOf returns the set of the given protocols.
func TypesOf(types ...sandrone.Type) (s TypeSet) {
	for _, t := range types {
		s |= 1 << t.Index()
	}
	return s
}

// Has reports whether t is in s.
func (s TypeSet) Has(t sandrone.Type) bool {
	i := t.Index()
	return i >= 0 && s&(1<<i) != 0
}

// Len returns the number of leaves.
func Len() int { return len(paths) }

// ByID returns the leaf with the given id.
func ByID(id ID) *Info { return registry[id] }

// ByPath returns the leaf with the given dotted path, or nil.
func ByPath(path string) *Info {
	if id, ok := idOf[path]; ok {
		return registry[id]
	}
	return nil
}

// Applicable returns the leaves that protocol t can use.
func Applicable(t sandrone.Type) Set {
	i := t.Index()
	if i < 0 {
		return Set{}
	}
	return applicable[i]
}

var (
	idOf     = index()
	registry [len(paths)]*Info
	objects  = make(map[string]func(*sandrone.Node)) // path -> what removes it
)

func index() map[string]ID {
	m := make(map[string]ID, len(paths))
	for i, p := range paths {
		m[p] = ID(i)
	}
	return m
}

// option refines a declaration.
type option func(*Info)

// when makes the class depend on the node; usual is what the catalogue says,
// note explains.
func when(usual Class, note string, class func(*sandrone.Node) Class) option {
	return func(f *Info) { f.class, f.classOf, f.Note = usual, class, note }
}

func critical(f *Info) { f.class = Critical }
func silent(f *Info)   { f.class = Silent }
func shown(f *Info)    { f.Shown = true }

// only narrows the protocols of a leaf to fewer than its object has.
func only(types ...sandrone.Type) option {
	return func(f *Info) { f.For = TypesOf(types...) }
}

func declare[T any](path string, of TypeSet, at func(*sandrone.Node, access) *T, options []option) Field[T] {
	id, ok := idOf[path]
	if !ok {
		panic("field: the node model has no leaf " + path)
	}
	f := Field[T]{Info: &Info{ID: id, Path: path, For: of}, at: at}
	for _, o := range options {
		o(f.Info)
	}
	f.typed = f
	registry[id] = f.Info
	return f
}

// object is an object of the node model that holds leaves.
type object[P any] struct {
	path string
	of   TypeSet
	at   func(*sandrone.Node, access) *P
}

// top declares a leaf of the node itself.
func top[T any](path string, of TypeSet, at func(*sandrone.Node) *T, options ...option) Field[T] {
	return declare(path, of, func(n *sandrone.Node, _ access) *T { return at(n) }, options)
}

// child declares an object that hangs at a pointer of the node.
func child[P any](path string, of TypeSet, at func(*sandrone.Node) **P) object[P] {
	objects[path] = func(n *sandrone.Node) { *at(n) = nil }
	return object[P]{path, of, func(n *sandrone.Node, how access) *P {
		return reach(at(n), how)
	}}
}

// reach returns the object that hangs at p.
func reach[P any](p **P, how access) *P {
	switch {
	case *p == nil && how != look:
		*p = new(P)
	case *p != nil && how == own:
		copied := **p
		*p = &copied
	}
	return *p
}

// sub declares an object that hangs at a pointer of another object.
func sub[P, Q any](o object[P], name string, at func(*P) **Q) object[Q] {
	objects[o.path+"."+name] = func(n *sandrone.Node) {
		if parent := o.at(n, look); parent != nil && *at(parent) != nil {
			*at(o.at(n, own)) = nil
		}
	}
	return object[Q]{o.path + "." + name, o.of, func(n *sandrone.Node, how access) *Q {
		parent := o.at(n, how)
		if parent == nil {
			return nil
		}
		return reach(at(parent), how)
	}}
}

// leaf declares a leaf of an object.
func leaf[P, T any](o object[P], name string, at func(*P) *T, options ...option) Field[T] {
	return declare(o.path+"."+name, o.of, func(n *sandrone.Node, how access) *T {
		if p := o.at(n, how); p != nil {
			return at(p)
		}
		return nil
	}, options)
}
