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
// the input node that it is, or is likely to be a copy of.
func (r *run) patches(v goja.Value) []Patch {
	e := &r.encode
	list, ok := e.plain(v, "nodes").(*goja.Object)
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
		used   = make([]bool, len(r.members))
		next   = 0 // the input node after the last one that was found
		pieces []piece
		arena  []byte // values of many patches in few allocations
	)
	for i := range out {
		key := strconv.Itoa(i)
		o, ok := e.plain(list.Get(key), key).(*goja.Object)
		if !ok || callable(o) || e.array(o) {
			panic(r.throwable(r.newError, "nodes["+key+"] is not an object"))
		}
		e.reset(left)
		pieces = pieces[:0]
		e.each(o, func(key string, v goja.Value) {
			start := len(e.buf)
			e.value(v)
			if nodeMembers()[key] {
				pieces = append(pieces, piece{key, start, len(e.buf)})
			}
		})

		base, known := r.index[o]
		if !known {
			base = r.guess(next, pieces)
		}
		p := Patch{Base: int(base)}
		cost := 0
		if base >= 0 {
			next = int(base) + 1
			// A node that is returned again is as large as a new one.
			if used[base] {
				cost = len(e.buf)
			}
			used[base] = true
			p.Del = r.absent(base, pieces)
		}
		for _, m := range pieces {
			value := e.buf[m.start:m.end]
			if base >= 0 && r.same(base, m.key, value) {
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

// guessed are the members that make a copy of a node recognisable.
var guessed = []string{"server", "port", "password", "uuid"}

// guess finds the input node that a foreign object is a copy of, among the
// next ones in order. A wrong guess costs bytes, nothing else.
func (r *run) guess(next int, pieces []piece) int32 {
	for base := next; base < min(next+16, len(r.members)); base++ {
		matches := true
		for _, key := range guessed {
			if m := find(pieces, key); m != nil && !r.same(int32(base), key, r.encode.buf[m.start:m.end]) {
				matches = false
				break
			}
		}
		if matches {
			return int32(base)
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

// absent returns the members of an input node that a returned one lacks.
func (r *run) absent(base int32, pieces []piece) (gone []string) {
	for i, m := range r.members[base] {
		if i < len(pieces) && pieces[i].key == m.key || find(pieces, m.key) != nil {
			continue
		}
		gone = append(gone, m.key)
	}
	return gone
}

// same tells whether an input node has the member with this value.
func (r *run) same(base int32, key string, value []byte) bool {
	for _, m := range r.members[base] {
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
func stringLen(s []byte) int {
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
