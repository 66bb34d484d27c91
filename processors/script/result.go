package script

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert/doc"
	"github.com/sandrone-gateway/sandrone/processors/script/internal/js"
)

// applyPatches makes the returned nodes, and the warnings about members that
// were kept as raw ones. The error says where a member has the wrong type; it
// never has a value in it.
func applyPatches(nodes []*sandrone.Node, patches []js.Patch) ([]*sandrone.Node, []sandrone.Warning, error) {
	out := make([]*sandrone.Node, len(patches))
	returned := make([]bool, len(nodes))
	var made []sandrone.Node // in few allocations
	var warnings []sandrone.Warning
	var items doc.Items
	members := membersOf(reflect.TypeFor[sandrone.Node]())
	for i, p := range patches {
		if p.Base >= 0 && len(p.Set) == 0 && len(p.Del) == 0 && !returned[p.Base] && named(nodes[p.Base]) {
			out[i], returned[p.Base] = nodes[p.Base], true
			continue
		}
		if len(made) == cap(made) {
			made = make([]sandrone.Node, 0, min(len(patches)-i, 256))
		}
		made = made[:len(made)+1]
		n := &made[len(made)-1]
		out[i] = n
		if p.Base >= 0 {
			*n = *nodes[p.Base]
		}
		v := reflect.ValueOf(n).Elem()
		for _, key := range p.Del {
			if at, ok := members[key]; ok {
				v.Field(at).SetZero()
			}
		}
		var ext []byte
		for _, m := range p.Set {
			if m.Key == "ext" {
				ext = m.Value
			}
			at, ok := members[m.Key]
			if !ok {
				continue
			}
			var err error
			if items, err = readTree(items[:0], m.Value); err != nil {
				return nil, nil, fmt.Errorf("nodes[%d].%s: %w", i, m.Key, err)
			}
			field := v.Field(at)
			field.SetZero() // a part of the old value would be kept
			if err := fill(items, 0, field); err != nil {
				return nil, nil, err.under(fmt.Sprintf("nodes[%d].%s", i, m.Key))
			}
		}
		if !named(n) {
			return nil, nil, fmt.Errorf("nodes[%d] needs a name and a type", i)
		}
		if ext != nil {
			w, err := keepExt(n, ext)
			if err != nil {
				return nil, nil, fmt.Errorf("nodes[%d].ext: %w", i, err)
			}
			warnings = append(warnings, w...)
		}
	}
	return out, warnings, nil
}

// named tells whether a node has what every node needs.
func named(n *sandrone.Node) bool { return n.Name != "" && n.Type != "" }

// keepExt moves the members of ext to the raw members of a node.
func keepExt(n *sandrone.Node, ext []byte) ([]sandrone.Warning, error) {
	d, err := readTree(nil, ext)
	if err != nil {
		return nil, err
	}
	if d[0].Kind == doc.Null {
		return nil, nil
	}
	if d[0].Kind != doc.Map {
		return nil, &shapeError{want: "an object"}
	}
	var warnings []sandrone.Warning
	n.Raw = maps.Clone(n.Raw) // it may be shared with the input
	for i := 1; i < len(d); i = d.Next(i) {
		if n.Raw == nil {
			n.Raw = make(sandrone.Raw)
		}
		key := d[i].Key
		n.Raw["script.ext."+key] = doc.JSONOf(d, i)
		warnings = append(warnings, sandrone.Warning{
			Code: warnExtField, Message: "a member that nodes do not have was kept among the raw ones",
			Node: n.Name, Field: key,
		})
	}
	return warnings, nil
}

// Warning codes of this package.
const (
	warnExtField = "script_ext_field"
	warnScript   = "script_warning"
)

// maxWarning is the length of a warning's message in characters.
const maxWarning = 200

// warnings reads what a script gave to api.warn. What is not shaped like a
// warning is ignored.
func (b *bridge) warnings(list [][]byte) []sandrone.Warning {
	var out []sandrone.Warning
	for _, form := range list {
		var w sandrone.Warning
		if decodeJSON(form, &w) != nil {
			continue
		}
		if w.Code == "" {
			w.Code = warnScript
		}
		w.Message = oneLine(w.Message)
		out = append(out, w)
	}
	return out
}

func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > maxWarning {
		return string(r[:maxWarning-1]) + "…"
	}
	return s
}

// maxValues bounds the values of one JSON text of a script. A tree takes some
// fifty bytes for each, so that a text of many small ones is far larger than
// it looks.
const maxValues = 1 << 19

// readTree reads JSON that a script made.
func readTree(dst doc.Items, text []byte) (doc.Items, error) {
	if len(text) > maxValues {
		values := 0
		for i, quoted := 0, false; i < len(text); i++ {
			switch c := text[i]; {
			case quoted && c == '\\':
				i++
			case c == '"':
				quoted = !quoted
			case !quoted && (c == ',' || c == '[' || c == '{'):
				values++
			}
		}
		if values > maxValues {
			return dst, doc.ErrTooLarge
		}
	}
	return doc.ReadStrictJSON(dst, string(text))
}

// shapeError is a value of the wrong type. It tells the place and what would
// be right there, not what is there.
type shapeError struct{ path, want string }

func (e *shapeError) Error() string {
	if e.path == "" {
		return "want " + e.want
	}
	return e.path + ": want " + e.want
}

func (e *shapeError) under(path string) *shapeError {
	switch {
	case e.path == "":
	case e.path[0] == '[':
		path += e.path
	default:
		path += "." + e.path
	}
	return &shapeError{path, e.want}
}

// decodeJSON reads JSON into v, which points to a value of our model. Types
// must fit exactly; names match exactly; unknown members are ignored; null
// leaves a member empty.
//
// Package encoding/json would do, but for three things: it takes NAME for
// name, its errors quote numbers, and it makes floats of the numbers in a
// plugin's options, which are whole everywhere else.
func decodeJSON(text []byte, v any) error {
	d, err := readTree(nil, text)
	if err != nil {
		return fmt.Errorf("the result: %w", err)
	}
	if err := fill(d, 0, reflect.ValueOf(v).Elem()); err != nil {
		return err
	}
	return nil
}

// fill sets v, a zero value, from the tree at index i.
func fill(d doc.Items, i int, v reflect.Value) *shapeError {
	it := &d[i]
	if u, ok := v.Addr().Interface().(json.Unmarshaler); ok {
		raw := doc.JSONOf(d, i)
		if _, verbatim := u.(*json.RawMessage); verbatim {
			v.SetBytes(raw)
			return nil
		}
		if u.UnmarshalJSON(raw) != nil {
			return &shapeError{want: "true or false"}
		}
		return nil
	}
	if it.Kind == doc.Null {
		return nil
	}
	switch v.Kind() {
	case reflect.String:
		if it.Kind != doc.Str {
			return &shapeError{want: "a text"}
		}
		v.SetString(it.Text)
	case reflect.Bool:
		if it.Kind != doc.Bool {
			return &shapeError{want: "true or false"}
		}
		v.SetBool(it.Text == "true")
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(it.Text, 10, v.Type().Bits())
		if it.Kind != doc.Num || err != nil {
			return &shapeError{want: "a whole number"}
		}
		v.SetInt(n)
	case reflect.Uint16:
		n, err := strconv.ParseUint(it.Text, 10, 16)
		if it.Kind != doc.Num || err != nil {
			return &shapeError{want: "a whole number from 0 to 65535"}
		}
		v.SetUint(n)
	case reflect.Pointer:
		p := reflect.New(v.Type().Elem())
		if err := fill(d, i, p.Elem()); err != nil {
			return err
		}
		v.Set(p)
	case reflect.Interface:
		v.Set(reflect.ValueOf(plain(d, i)))
	case reflect.Slice:
		if it.Kind != doc.List {
			return &shapeError{want: "a list"}
		}
		list := reflect.MakeSlice(v.Type(), 0, 4)
		for j := i + 1; j < d.Next(i); j = d.Next(j) {
			e := reflect.New(v.Type().Elem()).Elem()
			if err := fill(d, j, e); err != nil {
				return err.under("[" + strconv.Itoa(list.Len()) + "]")
			}
			list = reflect.Append(list, e)
		}
		v.Set(list)
	case reflect.Map:
		if it.Kind != doc.Map {
			return &shapeError{want: "an object"}
		}
		v.Set(reflect.MakeMap(v.Type()))
		for j := i + 1; j < d.Next(i); j = d.Next(j) {
			e := reflect.New(v.Type().Elem()).Elem()
			if err := fill(d, j, e); err != nil {
				// The key is data.
				return err.under("*")
			}
			v.SetMapIndex(reflect.ValueOf(d[j].Key), e)
		}
	case reflect.Struct:
		if it.Kind != doc.Map {
			return &shapeError{want: "an object"}
		}
		members := membersOf(v.Type())
		for j := i + 1; j < d.Next(i); j = d.Next(j) {
			at, ok := members[d[j].Key]
			if !ok {
				continue
			}
			field := v.Field(at)
			field.SetZero()
			if err := fill(d, j, field); err != nil {
				return err.under(d[j].Key)
			}
		}
	default:
		panic("script: no reading for " + v.Type().String())
	}
	return nil
}

// plain makes the value of a free member: whole numbers are ints, and lists
// and maps of texts are that.
func plain(d doc.Items, i int) any {
	switch it := &d[i]; it.Kind {
	case doc.Str:
		return it.Text
	case doc.Bool:
		return it.Text == "true"
	case doc.Num:
		if n, err := strconv.Atoi(it.Text); err == nil {
			return n
		}
		f, _ := strconv.ParseFloat(it.Text, 64)
		return f
	case doc.List:
		if list, ok := texts(d, i); ok {
			return list
		}
		list := []any{}
		for j := i + 1; j < d.Next(i); j = d.Next(j) {
			list = append(list, plain(d, j))
		}
		return list
	case doc.Map:
		free, all := make(map[string]any), make(map[string]string)
		for j := i + 1; j < d.Next(i); j = d.Next(j) {
			free[d[j].Key] = plain(d, j)
			if d[j].Kind == doc.Str {
				all[d[j].Key] = d[j].Text
			}
		}
		if len(all) == len(free) {
			return all
		}
		return free
	}
	return nil
}

func texts(d doc.Items, i int) ([]string, bool) {
	list := []string{}
	for j := i + 1; j < d.Next(i); j = d.Next(j) {
		if d[j].Kind != doc.Str {
			return nil, false
		}
		list = append(list, d[j].Text)
	}
	return list, true
}

// membersOf returns the fields of a struct by their JSON names.
func membersOf(t reflect.Type) map[string]int {
	if m, ok := memberCache.Load(t); ok {
		return m.(map[string]int)
	}
	m := make(map[string]int, t.NumField())
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		m[name] = i
	}
	memberCache.Store(t, m)
	return m
}

var memberCache sync.Map
