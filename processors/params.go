package processors

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/sandrone-gateway/sandrone/processors/pattern"
)

// Limits of params. They are generous: their use is that no step can be made
// to hold or to do without end.
const (
	maxList = 1000    // items of a list
	maxText = 4 << 10 // bytes of a text
)

// params declares the params of a processor with the configuration C. It is
// the one source of decoding, validation, defaults and JSON Schema.
type params[C any] []param[C]

// param is one member of the params object.
type param[C any] struct {
	name     string
	about    *jsonschema.Schema
	required bool
	nullable bool // null is a value of it
	preset   func(*C)
	read     func(c *C, value json.RawMessage) error // a *fault, relative to the member
}

// fault is a params object that cannot be used: where and why. The reason never
// repeats a value.
type fault struct {
	path   string // below params: "rules[0].pattern"
	reason string
}

func (f *fault) Error() string { return f.reason }

func bad(path, format string, args ...any) error {
	return &fault{path, fmt.Sprintf(format, args...)}
}

// under puts a name in front of the path of a fault.
func under(name string, err error) error {
	f, ok := err.(*fault)
	if !ok {
		return err
	}
	switch {
	case f.path == "":
		return &fault{name, f.reason}
	case strings.HasPrefix(f.path, "["):
		return &fault{name + f.path, f.reason}
	}
	return &fault{name + "." + f.path, f.reason}
}

// need makes a member required; a blank text is no value.
func (p param[C]) need() param[C] {
	p.required = true
	read := p.read
	p.read = func(c *C, value json.RawMessage) error {
		var s string
		if json.Unmarshal(value, &s) == nil && strings.TrimSpace(s) == "" {
			return bad("", "%s is required", p.name)
		}
		return read(c, value)
	}
	return p
}

// state makes a member required whose value may be blank.
func (p param[C]) state() param[C] {
	p.required = true
	return p
}

// or states the default.
func (p param[C]) or(value string) param[C] {
	p.about.Default = json.RawMessage(value)
	read := p.read
	p.preset = func(c *C) {
		if err := read(c, json.RawMessage(value)); err != nil {
			panic("processors: default of " + p.name + ": " + err.Error())
		}
	}
	return p
}

// decode reads a params object into c: exact names, no unknown members, no
// wrong types. An absent object is an empty one. The error is a *fault.
func (ps params[C]) decode(raw json.RawMessage, c *C) error {
	for _, p := range ps {
		if p.preset != nil {
			p.preset(c)
		}
	}
	members, err := object(raw)
	if err != nil {
		return err
	}
	var unknown []string
	for name := range members {
		if !slices.ContainsFunc(ps, func(p param[C]) bool { return p.name == name }) {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) > 0 {
		slices.Sort(unknown)
		return bad(clip(unknown[0], 64), "unknown param %q", clip(unknown[0], 64))
	}
	for _, p := range ps {
		value, ok := members[p.name]
		if !ok {
			if p.required {
				return bad(p.name, "%s is required", p.name)
			}
			continue
		}
		if isNull(value) && !p.nullable {
			return bad(p.name, "%s is null", p.name)
		}
		if err := p.read(c, value); err != nil {
			return under(p.name, err)
		}
	}
	return nil
}

func object(raw json.RawMessage) (map[string]json.RawMessage, error) {
	if len(raw) == 0 || isNull(raw) {
		return nil, nil
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return nil, bad("", "it is no JSON object")
	}
	return members, nil
}

func isNull(value json.RawMessage) bool { return string(bytes.TrimSpace(value)) == "null" }

// clip makes text from outside fit for a message.
func clip(s string, n int) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7F {
			return -1
		}
		return r
	}, s)
	if r := []rune(s); len(r) > n {
		return string(r[:n])
	}
	return s
}

// schema returns the closed schema of the params object.
func (ps params[C]) schema() *jsonschema.Schema {
	s := &jsonschema.Schema{
		Type:                 "object",
		Properties:           make(map[string]*jsonschema.Schema, len(ps)),
		AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
	}
	for _, p := range ps {
		s.Properties[p.name] = p.about
		s.PropertyOrder = append(s.PropertyOrder, p.name)
		if p.required {
			s.Required = append(s.Required, p.name)
		}
	}
	return s
}

// word is one of some words, read without regard to outer blanks and letter
// case. A blank text is an absent one.
func word[C any](name, about string, at func(*C) *string, words ...string) param[C] {
	s := &jsonschema.Schema{Type: "string", Description: about}
	for _, w := range words {
		s.Enum = append(s.Enum, w)
	}
	return param[C]{name: name, about: s, read: func(c *C, value json.RawMessage) error {
		var v string
		if json.Unmarshal(value, &v) != nil {
			return bad("", "%s is no string", name)
		}
		v = strings.ToLower(strings.TrimSpace(v))
		if v == "" {
			return nil
		}
		if !slices.Contains(words, v) {
			return bad("", "%s is not one of %s", name, strings.Join(words, ", "))
		}
		*at(c) = v
		return nil
	}}
}

// text is a string as it is.
func text[C any](name, about string, at func(*C) *string) param[C] {
	longest := maxText
	return param[C]{name: name, about: &jsonschema.Schema{Type: "string", Description: about, MaxLength: &longest}, read: func(c *C, value json.RawMessage) error {
		if json.Unmarshal(value, at(c)) != nil {
			return bad("", "%s is no string", name)
		}
		if len(*at(c)) > maxText {
			return bad("", "%s is longer than %d bytes", name, maxText)
		}
		return nil
	}}
}

// texts is a list of strings as they are.
func texts[C any](name, about string, at func(*C) *[]string) param[C] {
	return list(name, about, 0, maxList, at, &jsonschema.Schema{Type: "string"}, func(value json.RawMessage) (v string, err error) {
		if isNull(value) || json.Unmarshal(value, &v) != nil {
			return "", bad("", "it is no string")
		}
		if len(v) > maxText {
			return "", bad("", "it is longer than %d bytes", maxText)
		}
		return v, nil
	})
}

// list is an array of at least low and at most high items that read reads. It
// is required if it needs items.
func list[C, T any](name, about string, low, high int, at func(*C) *[]T, item *jsonschema.Schema, read func(json.RawMessage) (T, error)) param[C] {
	s := &jsonschema.Schema{Type: "array", Description: about, Items: item, MaxItems: &high}
	if low > 0 {
		s.MinItems = &low
	}
	return param[C]{name: name, about: s, required: low > 0, read: func(c *C, value json.RawMessage) error {
		var raw []json.RawMessage
		if json.Unmarshal(value, &raw) != nil {
			return bad("", "%s is no array", name)
		}
		if len(raw) < low {
			return bad("", "%s needs at least %d", name, low)
		}
		if len(raw) > high {
			return bad("", "%s has more than %d", name, high)
		}
		items := make([]T, len(raw))
		for i := range raw {
			var err error
			if items[i], err = read(raw[i]); err != nil {
				return under(fmt.Sprintf("[%d]", i), err)
			}
		}
		*at(c) = items
		return nil
	}}
}

// objects is an array of closed objects with members of their own.
func objects[C, T any](name, about string, low, high int, at func(*C) *[]T, members params[T]) param[C] {
	return list(name, about, low, high, at, members.schema(), func(value json.RawMessage) (v T, err error) {
		if isNull(value) {
			return v, bad("", "it is no JSON object")
		}
		return v, members.decode(value, &v)
	})
}

// toggle is true or false.
func toggle[C any](name, about string, at func(*C) *bool) param[C] {
	return param[C]{name: name, about: &jsonschema.Schema{Type: "boolean", Description: about}, read: func(c *C, value json.RawMessage) error {
		if json.Unmarshal(value, at(c)) != nil {
			return bad("", "%s is neither true nor false", name)
		}
		return nil
	}}
}

// whole is an integer from low to high; without an upper bound, high is 0.
func whole[C any](name, about string, low, high int64, at func(*C) *int) param[C] {
	least, most := float64(low), float64(high)
	s := &jsonschema.Schema{Type: "integer", Description: about, Minimum: &least}
	if high > 0 {
		s.Maximum = &most
	} else {
		high = 1 << 31
	}
	return param[C]{name: name, about: s, read: func(c *C, value json.RawMessage) error {
		v, ok := integer(value)
		if !ok {
			return bad("", "%s is no integer", name)
		}
		if v < low || v > high {
			return bad("", "%s is not from %d to %d", name, low, high)
		}
		*at(c) = int(v)
		return nil
	}}
}

// integer reads a whole number. JSON knows one kind of numbers only, so 1.0 is
// 1, as JSON Schema has it.
func integer(value json.RawMessage) (v int64, ok bool) {
	if json.Unmarshal(value, &v) == nil {
		return v, !isNull(value)
	}
	const exact = 1 << 53 // from here on a float64 skips integers
	var f float64
	if json.Unmarshal(value, &f) != nil || f != math.Trunc(f) || math.Abs(f) > exact {
		return 0, false
	}
	return int64(f), true
}

// textMap is an object of strings, each of at most so many bytes.
func textMap[C any](longest int, name, about string, at func(*C) *map[string]string) param[C] {
	most := maxList
	s := &jsonschema.Schema{Type: "object", Description: about, MaxProperties: &most,
		AdditionalProperties: &jsonschema.Schema{Type: "string", MaxLength: &longest}}
	return param[C]{name: name, about: s, read: func(c *C, value json.RawMessage) error {
		var members map[string]json.RawMessage
		if json.Unmarshal(value, &members) != nil {
			return bad("", "%s is no object", name)
		}
		if len(members) > maxList {
			return bad("", "%s has more than %d", name, maxList)
		}
		read := make(map[string]string, len(members))
		for _, key := range slices.Sorted(maps.Keys(members)) {
			var v string
			if isNull(members[key]) || json.Unmarshal(members[key], &v) != nil {
				return bad(clip(key, 64), "it is no string")
			}
			if len(v) > longest {
				return bad(clip(key, 64), "it is longer than %d bytes", longest)
			}
			read[key] = v
		}
		*at(c) = read
		return nil
	}}
}

// compile compiles the pattern at a path of the params.
func compile(path, expr string) (*pattern.Pattern, error) {
	p, err := pattern.Compile(expr)
	if err != nil {
		return nil, bad(path, "%s", err)
	}
	return p, nil
}

// replacing compiles a pattern with its replacement.
func replacing(patternPath, expr, replacementPath, replacement string) (*pattern.Replacement, error) {
	p, err := compile(patternPath, expr)
	if err != nil {
		return nil, err
	}
	r, err := p.Replacement(replacement)
	if err != nil {
		return nil, bad(replacementPath, "%s", err)
	}
	return r, nil
}
