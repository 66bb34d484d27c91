package js

import (
	"bytes"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"github.com/dop251/goja"

	"github.com/sandrone-gateway/sandrone"
)

// piece is a member of a returned node in the encoder's buffer.
type piece struct {
	key        string
	start, end int
}

// nodeMembers are the members that a node can have. Any other is ignored, once
// it is known to be JSON, so that a node costs its receiver no more than it is
// worth.
var nodeMembers = sync.OnceValue(func() map[string]bool {
	known := map[string]bool{"ext": true}
	for f := range reflect.TypeFor[sandrone.Node]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		known[name] = true
	}
	return known
})

// patches takes the returned nodes apart. Each is encoded and compared with
// the input node that it is, or is likely to be a copy of. v is what stands for
// the list in JSON.
func (r *run) patches(v goja.Value) []Patch {
	e := &r.encode
	list, ok := v.(*goja.Object)
	if !ok || !e.array(list) {
		panic(r.throwable(r.newError, "nodes must be an array"))
	}
	n := e.length(list)
	if n > MaxNodes {
		panic(r.throwable(r.newError, "more than "+strconv.Itoa(MaxNodes)+" nodes returned"))
	}
	var (
		left   = e.limit
		out    = make([]Patch, n)
		used   = make([]bool, len(r.job.Nodes))
		next   = 0 // the input node after the last one that was found
		pieces []piece
		arena  []byte // values of many patches in few allocations
	)
	for i := range out {
		key := strconv.Itoa(i)
		v := list.Get(key)
		e.reset(left)
		p := Patch{Base: -1}
		var touched bool
		if pieces, p.Del, touched = r.touched(v, pieces[:0]); touched {
			p.Base, p.Own = r.lazies.node(v), true
		} else {
			o, ok := e.plain(v, key).(*goja.Object)
			if !ok || callable(o) || e.array(o) {
				panic(r.throwable(r.newError, "nodes["+key+"] is not an object"))
			}
			pieces = r.all(o, pieces[:0])
			if p.Base = r.lazies.node(o); p.Base < 0 {
				p.Base = r.guess(next, pieces)
			} else {
				p.Own = true
			}
			p.Del = r.absent(p.Base, pieces)
		}
		cost := 0
		if p.Base >= 0 {
			next = p.Base + 1
			// A node that is returned again is as large as a new one.
			if used[p.Base] {
				cost = max(len(e.buf), len(r.job.Nodes[p.Base]))
			}
			used[p.Base] = true
		}
		for _, m := range pieces {
			value := e.buf[m.start:m.end]
			if !touched && r.same(p.Base, m.key, value) {
				continue
			}
			cost += len(m.key) + len(value)
			if cap(arena)-len(arena) < len(value) {
				arena = make([]byte, 0, max(len(value), 64<<10))
			}
			from := len(arena)
			arena = append(arena, value...)
			p.Set = append(p.Set, Member{m.key, arena[from:len(arena):len(arena)]})
		}
		if left -= cost; left < 0 {
			e.fail("the value is too large")
		}
		out[i] = p
	}
	return out
}

// all encodes the members of a node.
func (r *run) all(o *goja.Object, pieces []piece) []piece {
	r.encode.each(o, func(key string, v goja.Value) { pieces = r.piece(pieces, key, v) })
	return pieces
}

// touched encodes the members of a lazy node that have changed, and tells which
// are gone; ok is false for any other object.
func (r *run) touched(v goja.Value, pieces []piece) (_ []piece, gone []string, ok bool) {
	e := &r.encode
	l := e.lazies.text(v)
	if l == nil || l.node < 0 {
		return pieces, nil, false
	}
	e.changes(l, func(m member, v goja.Value) {
		if goja.IsUndefined(v) {
			gone = append(gone, m.key)
			return
		}
		pieces = r.piece(pieces, m.key, v)
		// Mostly it was set to what it was, or only looked at.
		if i := len(pieces) - 1; i >= 0 && pieces[i].key == m.key && sameJSON(e.buf[pieces[i].start:pieces[i].end], l.text[m.start:m.end]) {
			pieces = pieces[:i]
		}
	})
	return pieces, gone, true
}

// piece encodes a member of a node.
func (r *run) piece(pieces []piece, key string, v goja.Value) []piece {
	e := &r.encode
	start := len(e.buf)
	e.value(v)
	if nodeMembers()[key] {
		pieces = append(pieces, piece{key, start, len(e.buf)})
	}
	return pieces
}

// guessed are the members that make a copy of a node recognisable.
var guessed = []string{"server", "port", "password", "uuid"}

// guess finds the input node that a foreign object is a copy of, among the
// next ones in order. A wrong guess costs bytes, nothing else.
func (r *run) guess(next int, pieces []piece) int {
	for base := next; base < min(next+16, len(r.job.Nodes)); base++ {
		matches := true
		for _, key := range guessed {
			if m := find(pieces, key); m != nil && !r.same(base, key, r.encode.buf[m.start:m.end]) {
				matches = false
				break
			}
		}
		if matches {
			return base
		}
	}
	return -1
}

func find(pieces []piece, key string) *piece {
	for i := range pieces {
		if pieces[i].key == key {
			return &pieces[i]
		}
	}
	return nil
}

// members returns where the members of an input node stand in its text; none
// for an index below 0.
func (r *run) members(base int) []member {
	if base < 0 {
		return nil
	}
	if r.places == nil {
		r.places = make([][]member, len(r.job.Nodes))
	}
	if r.places[base] == nil {
		list := make([]member, 0, 16)
		for m, key := range memberText(r.job.Nodes[base]) {
			m.key = intern(&r.lazies.decode, key)
			list = append(list, m)
		}
		r.places[base] = list
	}
	return r.places[base]
}

// absent returns the members of an input node that a returned one lacks.
func (r *run) absent(base int, pieces []piece) (gone []string) {
	for i, m := range r.members(base) {
		if i < len(pieces) && pieces[i].key == m.key || find(pieces, m.key) != nil {
			continue
		}
		gone = append(gone, m.key)
	}
	return gone
}

// same tells whether an input node has the member with this value.
func (r *run) same(base int, key string, value []byte) bool {
	for _, m := range r.members(base) {
		if m.key == key {
			return sameJSON(value, r.job.Nodes[base][m.start:m.end])
		}
	}
	return false
}

// sameJSON compares two JSON texts that differ at most in how numbers are
// written: 1e3 is 1000, and what is more than a number of JavaScript holds is
// the nearest one. So a number that a script did not touch keeps its digits.
func sameJSON(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	for i, j := 0, 0; ; {
		if i == len(a) || j == len(b) {
			return i == len(a) && j == len(b)
		}
		switch {
		case a[i] == '"':
			end := i + stringLen(a[i:])
			if end-i > len(b)-j || !bytes.Equal(a[i:end], b[j:j+end-i]) {
				return false
			}
			j += end - i
			i = end
		case numeric(a[i]) && numeric(b[j]):
			n, m := numberLen(a[i:]), numberLen(b[j:])
			if !bytes.Equal(a[i:i+n], b[j:j+m]) {
				x, err1 := strconv.ParseFloat(string(a[i:i+n]), 64)
				y, err2 := strconv.ParseFloat(string(b[j:j+m]), 64)
				if err1 != nil || err2 != nil || x != y {
					return false
				}
			}
			i += n
			j += m
		case a[i] != b[j]:
			return false
		default:
			i++
			j++
		}
	}
}

func numeric(c byte) bool { return c == '-' || '0' <= c && c <= '9' }

func numberLen(s []byte) int {
	for i, c := range s {
		if !numeric(c) && c != '.' && c != 'e' && c != 'E' && c != '+' {
			return i
		}
	}
	return len(s)
}

// stringLen returns the length of the string literal at the start of s.
func stringLen[T string | []byte](s T) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(s)
}
