package script

import (
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/processors/script/internal/js"
)

// encodeNodes writes each node as JSON of its own; nil for none. Package
// encoding/json would write the same and take four times as long, which is
// most of what a script on many nodes costs the server.
func encodeNodes(nodes []sandrone.Node) ([][]byte, error) {
	if len(nodes) == 0 {
		return nil, nil
	}
	var (
		w    = writer{out: make([]byte, 0, 512*len(nodes))}
		ends = make([]int, len(nodes))
	)
	for i := range nodes {
		if err := w.value(reflect.ValueOf(&nodes[i]).Elem()); err != nil {
			return nil, sandrone.Errorf(sandrone.InternalError, "internal error").Because(err)
		}
		ends[i] = len(w.out)
	}
	pieces, start := make([][]byte, len(nodes)), 0
	for i, end := range ends {
		pieces[i], start = w.out[start:end:end], end
	}
	return pieces, nil
}

// writer writes values of the node model as JSON.
type writer struct {
	out  []byte
	keys []string
}

// formMember is a member of a struct's JSON form.
type formMember struct {
	at    int
	kind  reflect.Kind
	key   string // in quotes, with its colon
	empty bool   // it is left out where it is empty
}

// forms are the members of the model's structs, by their types.
var forms sync.Map

func formOf(t reflect.Type) []formMember {
	if f, ok := forms.Load(t); ok {
		return f.([]formMember)
	}
	var form []formMember
	for i := range t.NumField() {
		name, options, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		form = append(form, formMember{i, t.Field(i).Type.Kind(), strconv.Quote(name) + ":", options != ""})
	}
	forms.Store(t, form)
	return form
}

var errRaw = errors.New("script: a raw member of a node is no JSON")

// value appends what is in v.
func (w *writer) value(v reflect.Value) error {
	switch v.Kind() {
	case reflect.String:
		w.out = js.AppendString(w.out, v.String())
	case reflect.Bool:
		w.out = strconv.AppendBool(w.out, v.Bool())
	case reflect.Int, reflect.Int64:
		w.out = strconv.AppendInt(w.out, v.Int(), 10)
	case reflect.Uint16:
		w.out = strconv.AppendUint(w.out, v.Uint(), 10)
	case reflect.Pointer:
		return w.value(v.Elem())
	case reflect.Struct:
		return w.members(v)
	case reflect.Slice:
		return w.elements(v)
	case reflect.Map:
		return w.entries(v)
	default: // a switch of three states, and what is in any
		text, err := encode(v.Interface())
		w.out = append(w.out, text...)
		return err
	}
	return nil
}

func (w *writer) members(v reflect.Value) error {
	w.out = append(w.out, '{')
	first := true
	for _, m := range formOf(v.Type()) {
		field := v.Field(m.at)
		if m.empty && isEmpty(field, m.kind) {
			continue
		}
		if !first {
			w.out = append(w.out, ',')
		}
		first = false
		w.out = append(w.out, m.key...)
		if m.kind == reflect.String {
			w.out = js.AppendString(w.out, field.String())
		} else if err := w.value(field); err != nil {
			return err
		}
	}
	w.out = append(w.out, '}')
	return nil
}

func isEmpty(v reflect.Value, kind reflect.Kind) bool {
	switch kind {
	case reflect.String, reflect.Slice, reflect.Map:
		return v.Len() == 0
	case reflect.Pointer:
		return v.IsNil()
	}
	return v.IsZero()
}

func (w *writer) elements(v reflect.Value) error {
	if v.Type() == rawType {
		return w.raw(v.Bytes())
	}
	w.out = append(w.out, '[')
	for i := range v.Len() {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		if err := w.value(v.Index(i)); err != nil {
			return err
		}
	}
	w.out = append(w.out, ']')
	return nil
}

var rawType = reflect.TypeFor[json.RawMessage]()

func (w *writer) raw(text []byte) error {
	if !json.Valid(text) {
		return errRaw
	}
	w.out = append(w.out, text...)
	return nil
}

// entries appends a map, in order of its keys.
func (w *writer) entries(v reflect.Value) error {
	switch m := v.Interface().(type) {
	case map[string]string:
		return sorted(w, m, func(text string) error {
			w.out = js.AppendString(w.out, text)
			return nil
		})
	case sandrone.Raw:
		return sorted(w, m, func(text json.RawMessage) error { return w.raw(text) })
	case map[string]any:
		return sorted(w, m, func(v any) error {
			text, err := encode(v)
			w.out = append(w.out, text...)
			return err
		})
	}
	return errors.New("script: no JSON of " + v.Type().String())
}

func sorted[M ~map[string]V, V any](w *writer, m M, value func(V) error) error {
	// Values have no maps of their own here: one list of keys does.
	w.keys = slices.AppendSeq(w.keys[:0], maps.Keys(m))
	slices.Sort(w.keys)
	w.out = append(w.out, '{')
	for i, key := range w.keys {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		w.out = append(js.AppendString(w.out, key), ':')
		if err := value(m[key]); err != nil {
			return err
		}
	}
	w.out = append(w.out, '}')
	return nil
}
