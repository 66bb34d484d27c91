package engine

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Change is one difference between two definitions. The changes of a diff are
// a JSON Patch (RFC 6902): applied in their order to the one definition, they
// make the other one of it.
type Change struct {
	Path   jsontext.Pointer `json:"path"`             // of the member or element
	Op     string           `json:"op"`               // "add", "remove", "replace"
	Before json.RawMessage  `json:"before,omitempty"` // absent for "add"
	After  json.RawMessage  `json:"after,omitempty"`  // absent for "remove"
}

// changes compares the JSON forms of two definitions, times aside. nil is a
// definition without members. There are none exactly if a put of next over
// former would write nothing.
func changes[T any](former, next *T) ([]Change, error) {
	before, err := definitionMembers(former)
	if err != nil {
		return nil, err
	}
	after, err := definitionMembers(next)
	if err != nil {
		return nil, err
	}
	d := diff{changes: []Change{}}
	d.members("", before, after)
	return d.changes, nil
}

func definitionMembers[T any](v *T) ([]member, error) {
	if v == nil {
		return nil, nil
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	list, _ := membersOf(bytes.TrimSpace(text.Bytes()))
	return slices.DeleteFunc(list, func(m member) bool { return m.name == "created_at" || m.name == "updated_at" }), nil
}

// member is one member of an object, its value as it is written.
type member struct {
	name  string
	value jsontext.Value
}

type diff struct{ changes []Change }

// value compares two values at a path. Both are compact texts of one encoder,
// so that values are equal if their texts are.
func (d *diff) value(at jsontext.Pointer, before, after jsontext.Value) {
	if bytes.Equal(before, after) {
		return
	}
	switch {
	case before.Kind() == '{' && after.Kind() == '{':
		// The order of members counts where a definition carries an object as
		// it was written: the old and the new one then differ as a whole.
		old, ok := membersOf(before)
		new, fine := membersOf(after)
		if ok && fine && sameOrder(old, new) {
			d.members(at, old, new)
			return
		}
	case before.Kind() == '[' && after.Kind() == '[':
		d.elements(at, elementsOf(before), elementsOf(after))
		return
	}
	d.changes = append(d.changes, Change{at, "replace", json.RawMessage(before), json.RawMessage(after)})
}

// members compares two objects: what is there now in its order, then what is
// gone.
func (d *diff) members(at jsontext.Pointer, before, after []member) {
	old := make(map[string]jsontext.Value, len(before))
	for _, m := range before {
		old[m.name] = m.value
	}
	for _, m := range after {
		path := at.AppendToken(m.name)
		if value, ok := old[m.name]; ok {
			d.value(path, value, m.value)
		} else {
			d.changes = append(d.changes, Change{Path: path, Op: "add", After: json.RawMessage(m.value)})
		}
		delete(old, m.name)
	}
	for _, m := range before {
		if _, gone := old[m.name]; gone {
			d.changes = append(d.changes, Change{Path: at.AppendToken(m.name), Op: "remove", Before: json.RawMessage(m.value)})
		}
	}
}

// elements compares two lists. What is equal at the beginning and at the end
// stays, so that an element that was put in or taken out is one change.
func (d *diff) elements(at jsontext.Pointer, before, after []jsontext.Value) {
	head := 0
	for head < len(before) && head < len(after) && bytes.Equal(before[head], after[head]) {
		head++
	}
	tail := 0
	for tail < len(before)-head && tail < len(after)-head && bytes.Equal(before[len(before)-1-tail], after[len(after)-1-tail]) {
		tail++
	}
	path := func(i int) jsontext.Pointer { return at.AppendToken(strconv.Itoa(i)) }
	old, new := len(before)-tail, len(after)-tail
	both := min(old, new)
	for i := head; i < both; i++ {
		d.value(path(i), before[i], after[i])
	}
	for i := both; i < new; i++ {
		d.changes = append(d.changes, Change{Path: path(i), Op: "add", After: json.RawMessage(after[i])})
	}
	for i := old - 1; i >= both; i-- { // from the end, since those behind move up
		d.changes = append(d.changes, Change{Path: path(i), Op: "remove", Before: json.RawMessage(before[i])})
	}
}

// sameOrder reports whether the members that both objects have are in one
// order.
func sameOrder(before, after []member) bool {
	place := make(map[string]int, len(before))
	for i, m := range before {
		place[m.name] = i
	}
	last := -1
	for _, m := range after {
		if i, ok := place[m.name]; ok {
			if i < last {
				return false
			}
			last = i
		}
	}
	return true
}

// membersOf takes an object apart. It is false for an object that has a name
// twice.
func membersOf(text jsontext.Value) (list []member, ok bool) {
	dec := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowInvalidUTF8(true))
	if _, err := dec.ReadToken(); err != nil {
		return nil, false
	}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, false
		}
		key := name.String()
		value, err := dec.ReadValue()
		if err != nil {
			return nil, false
		}
		list = append(list, member{key, value.Clone()})
	}
	return list, true
}

// elementsOf takes a list apart.
func elementsOf(text jsontext.Value) (list []jsontext.Value) {
	dec := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	if _, err := dec.ReadToken(); err != nil {
		return nil
	}
	for dec.PeekKind() != ']' {
		value, err := dec.ReadValue()
		if err != nil {
			break
		}
		list = append(list, value.Clone())
	}
	return list
}
