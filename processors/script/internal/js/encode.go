package js

import (
	"bytes"
	"math"
	"math/big"
	"reflect"
	"strconv"

	"github.com/dop251/goja"

	"github.com/sandrone-gateway/sandrone/convert/doc"
)

// encoder makes JSON text of values, as JSON.stringify does but for this: a
// function or a symbol anywhere is an error, and so are depth and size over a
// limit, which is what a cycle comes to. Its methods run getters, traps and
// toJSON of the script, and panic with what those throw; they must be called
// inside of a native function.
type encoder struct {
	vm      *goja.Runtime
	isArray goja.Callable
	lazies  *lazies // whose text is taken for them, or nil

	buf   []byte
	limit int
	depth int
}

func (e *encoder) reset(limit int) { e.buf, e.limit, e.depth = e.buf[:0], limit, 0 }

func (e *encoder) fail(text string) { panic(e.vm.NewTypeError(text)) }

// text encodes one value; it is "" for undefined.
func (e *encoder) text(v goja.Value, limit int) string {
	e.reset(limit)
	if v = e.plain(v, ""); v == nil || goja.IsUndefined(v) {
		return ""
	}
	e.value(v)
	return string(e.buf)
}

// array tells whether o is an array, or a proxy of one.
func (e *encoder) array(o *goja.Object) bool {
	switch o.ClassName() {
	case "Array":
		return true
	case "Object":
		// Only a proxy can look like an object and be an array.
		if o.ExportType() != proxyType {
			return false
		}
		v, err := e.isArray(goja.Undefined(), o)
		if err != nil {
			panic(err)
		}
		return v.ToBoolean()
	}
	return false
}

var proxyType = reflect.TypeFor[goja.Proxy]()

// plain returns what stands for v in JSON: the result of toJSON, or the
// primitive in a wrapper object.
func (e *encoder) plain(v goja.Value, key string) goja.Value {
	o, ok := v.(*goja.Object)
	if !ok || e.lazies.text(o) != nil {
		return v
	}
	if f, ok := goja.AssertFunction(o.Get("toJSON")); ok {
		r, err := f(o, e.vm.ToValue(key))
		if err != nil {
			panic(err)
		}
		if o, ok = r.(*goja.Object); !ok {
			return r
		}
	}
	switch o.ClassName() {
	case "String":
		return o.ToString()
	case "Number":
		return o.ToNumber()
	case "Boolean":
		return e.vm.ToValue(o.Export() == true)
	}
	return o
}

// value appends a value that plain has returned.
func (e *encoder) value(v goja.Value) {
	if len(e.buf) > e.limit {
		e.fail("the value is too large")
	}
	o, ok := v.(*goja.Object)
	if !ok {
		e.primitive(v)
		return
	}
	if e.depth++; e.depth > MaxValueDepth {
		e.fail("the value is cyclic or nested too deeply")
	}
	l := e.lazies.text(o)
	switch {
	case l != nil:
		e.spliced(l)
	case e.array(o):
		e.elements(o)
	case callable(o):
		e.fail("a function cannot be JSON")
	default:
		e.object(o, nil)
	}
	e.depth--
}

func callable(o *goja.Object) bool {
	_, ok := goja.AssertFunction(o)
	return ok
}

func (e *encoder) primitive(v goja.Value) {
	if v == nil {
		e.buf = append(e.buf, "null"...)
		return
	}
	if _, symbol := v.(*goja.Symbol); symbol {
		e.fail("a symbol cannot be JSON")
	}
	switch x := v.Export().(type) {
	case nil:
		e.buf = append(e.buf, "null"...)
	case string:
		e.buf = doc.AppendJSONString(e.buf, x)
	case int64:
		e.buf = strconv.AppendInt(e.buf, x, 10)
	case bool:
		e.buf = strconv.AppendBool(e.buf, x)
	case float64:
		switch {
		case math.IsNaN(x) || math.IsInf(x, 0):
			e.buf = append(e.buf, "null"...)
		case x == 0:
			e.buf = append(e.buf, '0') // also for -0
		default:
			e.buf = append(e.buf, v.String()...)
		}
	case *big.Int:
		e.fail("a BigInt cannot be JSON")
	default:
		e.fail("the value cannot be JSON")
	}
}

func (e *encoder) elements(o *goja.Object) {
	n := e.length(o)
	e.buf = append(e.buf, '[')
	for i := range n {
		if i > 0 {
			e.buf = append(e.buf, ',')
		}
		key := strconv.Itoa(i)
		e.value(e.plain(o.Get(key), key))
	}
	e.buf = append(e.buf, ']')
}

// spliced appends a lazy object: its text, but for what was touched.
func (e *encoder) spliced(l *lazy) {
	start, from := len(e.buf), 0
	e.changes(l, func(m member, v goja.Value) {
		if !goja.IsUndefined(v) {
			e.buf = append(e.buf, l.text[from:m.start]...)
			e.value(v)
			from = int(m.end)
			return
		}
		// With it goes the comma in front, or behind where it is the first.
		e.buf = append(e.buf, l.text[from:max(from, l.before(m.start))]...)
		from = int(m.end)
		if len(bytes.TrimSpace(e.buf[start:])) == 1 {
			if i := skipSpace(l.text, from); l.text[i] == ',' {
				from = i + 1
			}
		}
	})
	e.buf = append(e.buf, l.text[from:]...)
}

// length returns the length of an array, no more than could be JSON within
// the limit: an element takes two bytes at least.
func (e *encoder) length(o *goja.Object) int {
	v := o.Get("length")
	if v == nil {
		return 0
	}
	n := v.ToInteger()
	if n > int64(MaxResult) {
		e.fail("the value is too large")
	}
	return int(max(n, 0))
}

// object appends the own enumerable members of o for which want, if not nil,
// holds.
func (e *encoder) object(o *goja.Object, want func(key string, v goja.Value) bool) {
	e.buf = append(e.buf, '{')
	first := true
	e.each(o, func(key string, v goja.Value) {
		if want != nil && !want(key, v) {
			return
		}
		if !first {
			e.buf = append(e.buf, ',')
		}
		first = false
		e.buf = append(doc.AppendJSONString(e.buf, key), ':')
		e.value(v)
	})
	e.buf = append(e.buf, '}')
}

// each calls f for every member of o that JSON would have.
func (e *encoder) each(o *goja.Object, f func(key string, v goja.Value)) {
	for _, key := range o.Keys() {
		v := o.Get(key)
		if v == nil || goja.IsUndefined(v) {
			continue
		}
		if v = e.plain(v, key); goja.IsUndefined(v) {
			continue
		}
		f(key, v)
	}
}
