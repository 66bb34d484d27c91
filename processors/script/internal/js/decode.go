package js

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/dop251/goja"

	"github.com/sandrone-gateway/sandrone/convert/doc"
)

// decoder makes values of JSON text. Ten thousand nodes repeat the same keys
// and words, so short texts become values once.
type decoder struct {
	vm     *goja.Runtime
	object *goja.Object // Object.prototype

	// nested, if not nil, makes an object below the top of its place in the
	// text, or returns nil.
	nested func(start, end int) goja.Value

	s      string
	at     int
	depth  int
	values map[string]goja.Value
	keys   map[string]string
}

// newDecoder is called before a script can have changed what it takes from the
// runtime.
func newDecoder(vm *goja.Runtime) decoder {
	return decoder{vm: vm, object: vm.Get("Object").(*goja.Object).Get("prototype").(*goja.Object)}
}

// member is where a value stands in the text of its object.
type member struct {
	key        string
	start, end int32
}

var (
	errJSON    = errors.New("invalid JSON")
	errTooDeep = errors.New("nested too deeply")
)

const (
	maxInterned = 64      // bytes of a text that is kept
	maxInterns  = 1 << 14 // texts that are kept
)

// text decodes one JSON value.
func (d *decoder) text(s string) (goja.Value, error) {
	d.s, d.at, d.depth = s, 0, 0
	v, err := d.value()
	if err != nil {
		return nil, err
	}
	if d.space(); d.at != len(d.s) {
		return nil, errJSON
	}
	return v, nil
}

func (d *decoder) space() {
	for d.at < len(d.s) && (d.s[d.at] == ' ' || d.s[d.at] == '\n' || d.s[d.at] == '\r' || d.s[d.at] == '\t') {
		d.at++
	}
}

// next steps over c if it comes next.
func (d *decoder) next(c byte) bool {
	d.space()
	if d.at < len(d.s) && d.s[d.at] == c {
		d.at++
		return true
	}
	return false
}

func (d *decoder) value() (goja.Value, error) {
	d.space()
	if d.at == len(d.s) {
		return nil, errJSON
	}
	switch c := d.s[d.at]; {
	case c == '{':
		if d.nested != nil {
			end := skipValue(d.s, d.at)
			if v := d.nested(d.at, end); v != nil {
				d.at = end
				return v, nil
			}
		}
		o := d.vm.CreateObject(nil)
		if err := d.members(o); err != nil {
			return nil, err
		}
		return o, o.SetPrototype(d.object)
	case c == '[':
		return d.elements()
	case c == '"':
		text, err := d.str()
		if err != nil {
			return nil, err
		}
		return d.strValue(text), nil
	case c == '-' || '0' <= c && c <= '9':
		return d.number()
	}
	for word, v := range words {
		if strings.HasPrefix(d.s[d.at:], word) {
			d.at += len(word)
			return v(d.vm), nil
		}
	}
	return nil, errJSON
}

var words = map[string]func(vm *goja.Runtime) goja.Value{
	"true":  func(vm *goja.Runtime) goja.Value { return vm.ToValue(true) },
	"false": func(vm *goja.Runtime) goja.Value { return vm.ToValue(false) },
	"null":  func(*goja.Runtime) goja.Value { return goja.Null() },
}

func (d *decoder) enter() error {
	if d.depth++; d.depth > MaxValueDepth {
		return errTooDeep
	}
	return nil
}

// members decodes the members of an object, whose bracket comes next, into o.
// An object gets its prototype when it is full: an assignment before that calls
// no setter, which __proto__ is from the start and scripts can add.
func (d *decoder) members(o *goja.Object) error {
	if err := d.enter(); err != nil {
		return err
	}
	defer func() { d.depth-- }()
	if !d.next('{') {
		return errJSON
	}
	if d.next('}') {
		return nil
	}
	for {
		if d.space(); d.at == len(d.s) || d.s[d.at] != '"' {
			return errJSON
		}
		key, err := d.str()
		if err != nil {
			return err
		}
		key = intern(d, key)
		if !d.next(':') {
			return errJSON
		}
		v, err := d.value()
		if err != nil {
			return err
		}
		if err := o.Set(key, v); err != nil {
			return err
		}
		if d.next('}') {
			return nil
		}
		if !d.next(',') {
			return errJSON
		}
	}
}

func (d *decoder) elements() (goja.Value, error) {
	if err := d.enter(); err != nil {
		return nil, err
	}
	defer func() { d.depth-- }()
	d.at++
	var list []any
	if d.next(']') {
		return d.vm.NewArray(), nil
	}
	for {
		v, err := d.value()
		if err != nil {
			return nil, err
		}
		list = append(list, v)
		if d.next(']') {
			return d.vm.NewArray(list...), nil
		}
		if !d.next(',') {
			return nil, errJSON
		}
	}
}

// str decodes a string, whose quote comes next.
func (d *decoder) str() (string, error) {
	start := d.at + 1
	for i := start; i < len(d.s); i++ {
		switch c := d.s[i]; {
		case c == '"':
			d.at = i + 1
			return d.s[start:i], nil
		case c < ' ':
			return "", errJSON
		case c == '\\':
			return d.escaped(start, i)
		}
	}
	return "", errJSON
}

// escaped decodes a string with an escape at i.
func (d *decoder) escaped(start, i int) (string, error) {
	for ; i < len(d.s); i++ {
		switch d.s[i] {
		case '\\':
			i++
		case '"':
			d.at = i + 1
			var text string
			if err := json.Unmarshal([]byte(d.s[start-1:i+1]), &text); err != nil {
				return "", errJSON
			}
			return text, nil
		}
	}
	return "", errJSON
}

// intern returns the one string of a key.
func intern[T string | []byte](d *decoder, key T) string {
	if known, ok := d.keys[string(key)]; ok {
		return known
	}
	own := strings.Clone(string(key))
	if len(key) <= maxInterned && len(d.keys) < maxInterns {
		if d.keys == nil {
			d.keys = make(map[string]string)
		}
		d.keys[own] = own
	}
	return own
}

func (d *decoder) strValue(text string) goja.Value {
	if len(text) > maxInterned {
		return d.vm.ToValue(text)
	}
	v, ok := d.values[text]
	if !ok {
		v = d.vm.ToValue(text)
		if len(d.values) < maxInterns {
			if d.values == nil {
				d.values = make(map[string]goja.Value)
			}
			d.values[text] = v
		}
	}
	return v
}

func (d *decoder) number() (goja.Value, error) {
	start := d.at
	whole := true
	for ; d.at < len(d.s); d.at++ {
		c := d.s[d.at]
		if c == '.' || c == 'e' || c == 'E' || c == '+' {
			whole = false
		} else if c != '-' && (c < '0' || c > '9') {
			break
		}
	}
	return numberValue(d.vm, d.s[start:d.at], whole)
}

// numberValue makes a number of its JSON text.
func numberValue(vm *goja.Runtime, text string, whole bool) (goja.Value, error) {
	digits := strings.TrimPrefix(text, "-")
	if digits == "" || digits[0] == '.' || len(digits) > 1 && digits[0] == '0' && '0' <= digits[1] && digits[1] <= '9' {
		return nil, errJSON
	}
	// Up to here every whole number is exact as a number of JavaScript.
	if whole && len(digits) <= 15 && text != "-0" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, errJSON
		}
		return vm.ToValue(n), nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return nil, errJSON
	}
	return vm.ToValue(f), nil
}

// tree makes a value of the tree at index i, for what is not JSON.
func (d *decoder) tree(items doc.Items, i int) (goja.Value, error) {
	switch it := items[i]; it.Kind {
	case doc.Null:
		return goja.Null(), nil
	case doc.Bool:
		return d.vm.ToValue(strings.EqualFold(it.Text, "true")), nil
	case doc.Num:
		return numberValue(d.vm, it.Text, !strings.ContainsAny(it.Text, ".eE+"))
	case doc.List:
		var list []any
		for j := i + 1; j < items.Next(i); j = items.Next(j) {
			v, err := d.tree(items, j)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return d.vm.NewArray(list...), nil
	case doc.Map:
		o := d.vm.CreateObject(nil)
		for j := i + 1; j < items.Next(i); j = items.Next(j) {
			v, err := d.tree(items, j)
			if err != nil {
				return nil, err
			}
			if err := o.Set(items[j].Key, v); err != nil {
				return nil, err
			}
		}
		return o, o.SetPrototype(d.object)
	default:
		return d.strValue(it.Text), nil
	}
}
