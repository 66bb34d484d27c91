package js

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/dop251/goja"
)

// lazy is an object of the input that stays JSON text for as long as a script
// reads and replaces a few of its members only. Most scripts do no more than
// that with most nodes, and objects of the engine are dear: with their tables
// of members they take ten times the space of the text.
//
// The script sees a proxy. Until it is filled, its traps answer from the text;
// then they are gone but for one, and the proxy passes everything on to an
// ordinary object with all the members. So hardly anything but the time tells
// the two apart.
type lazy struct {
	traps         goja.ProxyTrapConfig
	text          []byte // an object as JSON
	node          int32  // the index of the input node that it is, or -1
	filled        bool
	proxy, target *goja.Object
	touched       []touched // by their places in the text, until it is filled
}

// touched is a member that a script has read or replaced.
type touched struct {
	member
	value goja.Value
	set   bool // it was replaced
}

// maxTouched is how many members are looked up in the text of a lazy object
// before it is filled.
const maxTouched = 8

// minLazy is the size of a text from which on an object in a node is lazy, too:
// proxies take space of their own.
const minLazy = 128

// lazies makes lazy objects and knows them by their targets.
type lazies struct {
	vm      *goja.Runtime
	decode  decoder
	known   map[*goja.Object]*lazy
	traps   goja.ProxyTrapConfig
	array   *goja.Object // Array.prototype
	toJSON  goja.Value   // that text
	reflect map[string]goja.Callable
}

// newLazies is called before a script can have changed what it takes from the
// runtime.
func newLazies(vm *goja.Runtime, nodes int) *lazies {
	s := &lazies{
		vm:      vm,
		known:   make(map[*goja.Object]*lazy, nodes),
		decode:  newDecoder(vm),
		array:   vm.Get("Array").(*goja.Object).Get("prototype").(*goja.Object),
		toJSON:  vm.ToValue("toJSON"),
		reflect: make(map[string]goja.Callable),
	}
	r := vm.Get("Reflect").(*goja.Object)
	for _, name := range []string{"defineProperty", "deleteProperty", "get", "getOwnPropertyDescriptor", "has", "ownKeys", "preventExtensions", "set"} {
		s.reflect[name] = must(goja.AssertFunction(r.Get(name)))
	}
	s.traps = goja.ProxyTrapConfig{
		GetPrototypeOf: func(*goja.Object) *goja.Object { return s.decode.object },
		SetPrototypeOf: s.setPrototypeOf,
		PreventExtensions: func(target *goja.Object) bool {
			return s.do("preventExtensions", target).ToBoolean()
		},
		GetOwnPropertyDescriptor: func(target *goja.Object, key string) goja.PropertyDescriptor {
			d, ok := s.do("getOwnPropertyDescriptor", target, vm.ToValue(key)).(*goja.Object)
			if !ok {
				return goja.PropertyDescriptor{}
			}
			// Nobody can have made it another one yet.
			return goja.PropertyDescriptor{Value: d.Get("value"), Writable: goja.FLAG_TRUE, Enumerable: goja.FLAG_TRUE, Configurable: goja.FLAG_TRUE}
		},
		DefineProperty: func(target *goja.Object, key string, d goja.PropertyDescriptor) bool {
			return s.do("defineProperty", target, vm.ToValue(key), s.descriptor(d)).ToBoolean()
		},
		Has: func(target *goja.Object, key string) bool {
			return s.do("has", target, vm.ToValue(key)).ToBoolean()
		},
		HasSym: func(target *goja.Object, key *goja.Symbol) bool {
			return s.do("has", target, key).ToBoolean()
		},
		Get: s.get,
		GetSym: func(target *goja.Object, key *goja.Symbol, receiver goja.Value) goja.Value {
			return s.do("get", target, key, receiver)
		},
		Set: s.set,
		SetSym: func(target *goja.Object, key *goja.Symbol, v, receiver goja.Value) bool {
			return s.do("set", target, key, v, receiver).ToBoolean()
		},
		DeleteProperty: func(target *goja.Object, key string) bool {
			return s.do("deleteProperty", target, vm.ToValue(key)).ToBoolean()
		},
		OwnKeys: func(target *goja.Object) *goja.Object { return s.do("ownKeys", target).(*goja.Object) },
	}
	s.fillFirst("Object", "defineProperty", 3)
	s.fillFirst("Object", "defineProperties", 2)
	s.fillFirst("Reflect", "defineProperty", 3)
	return s
}

// fillFirst has a built-in function fill its first argument. The engine refuses
// a trap that has defined an accessor that stays as it is, although the
// accessor is the right one: it must not come to the trap.
func (s *lazies) fillFirst(of, name string, length int) {
	holder := s.vm.Get(of).(*goja.Object)
	f := must(goja.AssertFunction(holder.Get(name)))
	filling := s.vm.ToValue(func(call goja.FunctionCall) goja.Value {
		if l := s.of(call.Argument(0)); l != nil {
			s.fill(l)
		}
		v, err := f(call.This, call.Arguments...)
		if err != nil {
			panic(err)
		}
		return v
	}).(*goja.Object)
	_ = filling.DefineDataProperty("name", s.vm.ToValue(name), goja.FLAG_FALSE, goja.FLAG_TRUE, goja.FLAG_FALSE)
	_ = filling.DefineDataProperty("length", s.vm.ToValue(length), goja.FLAG_FALSE, goja.FLAG_TRUE, goja.FLAG_FALSE)
	_ = holder.DefineDataProperty(name, filling, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE)
}

// setPrototypeOf is the one trap of a filled object, too: the engine does not
// see that a chain of prototypes that comes back to the proxy is a circle, and
// would follow it without end.
func (s *lazies) setPrototypeOf(target, proto *goja.Object) bool {
	l := s.known[target]
	for p := proto; p != nil; p = p.Prototype() {
		if p == l.proxy {
			return false
		}
	}
	return s.full(target).SetPrototype(proto) == nil
}

// init makes l the lazy object of a text.
func (s *lazies) init(l *lazy, text []byte, node int) *goja.Object {
	l.text, l.node, l.traps = text, int32(node), s.traps
	l.target = s.vm.CreateObject(nil)
	l.proxy = s.vm.ToValue(s.vm.NewProxy(l.target, &l.traps)).(*goja.Object)
	s.known[l.target] = l
	return l.proxy
}

// full returns the target of a lazy object with all its members.
func (s *lazies) full(target *goja.Object) *goja.Object {
	s.fill(s.known[target])
	return target
}

func (s *lazies) fill(l *lazy) {
	if l.filled {
		return
	}
	l.filled, l.traps = true, goja.ProxyTrapConfig{SetPrototypeOf: s.setPrototypeOf}
	d := s.reader(l, 0)
	d.s = string(l.text)
	if err := d.members(l.target); err != nil {
		panic(s.vm.NewTypeError("a node: " + err.Error()))
	}
	for _, t := range l.touched {
		_ = l.target.Set(t.key, t.value)
	}
	l.touched = nil
	_ = l.target.SetPrototype(s.decode.object)
}

// reader returns a decoder of a part of l's text, from an offset on. Objects
// in it become lazy ones.
func (s *lazies) reader(l *lazy, from int) *decoder {
	d := &s.decode
	d.at, d.depth = 0, 0
	d.nested = func(start, end int) goja.Value {
		if end-start < minLazy {
			return nil
		}
		return s.init(new(lazy), l.text[from+start:from+end], -1)
	}
	return d
}

// do fills a lazy object and does with its target what a function of Reflect
// does.
func (s *lazies) do(name string, target *goja.Object, args ...goja.Value) goja.Value {
	v, err := s.reflect[name](goja.Undefined(), append([]goja.Value{s.full(target)}, args...)...)
	if err != nil {
		panic(err)
	}
	return v
}

func (s *lazies) descriptor(d goja.PropertyDescriptor) goja.Value {
	o := s.vm.CreateObject(nil)
	for _, m := range []struct {
		key string
		v   goja.Value
	}{{"value", d.Value}, {"get", d.Getter}, {"set", d.Setter}} {
		if m.v != nil {
			_ = o.Set(m.key, m.v)
		}
	}
	for _, m := range []struct {
		key  string
		flag goja.Flag
	}{{"writable", d.Writable}, {"enumerable", d.Enumerable}, {"configurable", d.Configurable}} {
		if m.flag != goja.FLAG_NOT_SET {
			_ = o.Set(m.key, m.flag.Bool())
		}
	}
	return o
}

func (s *lazies) get(target *goja.Object, key string, receiver goja.Value) goja.Value {
	if t := s.touch(s.known[target], key, true); t != nil {
		return t.value
	}
	return s.do("get", target, s.vm.ToValue(key), receiver)
}

func (s *lazies) set(target *goja.Object, key string, v, receiver goja.Value) bool {
	l := s.known[target]
	// A member that is there is an ordinary one, so that no prototype matters.
	if receiver == l.proxy {
		if t := s.touch(l, key, false); t != nil {
			t.value, t.set = v, true
			return true
		}
	}
	return s.do("set", target, s.vm.ToValue(key), v, receiver).ToBoolean()
}

// touch returns a member of a lazy object, with its value if it is wanted; nil
// for one that its text does not have, and where the object should be filled.
func (s *lazies) touch(l *lazy, key string, want bool) *touched {
	if l.filled {
		return nil
	}
	for i := range l.touched {
		if l.touched[i].key == key {
			return &l.touched[i]
		}
	}
	// Texts with halves of characters look like that, too. And a member toJSON
	// that is replaced can be a method, which JSON calls.
	if len(l.touched) == maxTouched || key == "toJSON" || strings.ContainsRune(key, utf8.RuneError) {
		return nil
	}
	m, ok := l.find(key)
	if !ok {
		return nil
	}
	t := touched{member: m}
	if want {
		d := s.reader(l, int(m.start))
		d.s = string(l.text[m.start:m.end])
		var err error
		if t.value, err = d.value(); err != nil {
			return nil
		}
	}
	at := 0
	for at < len(l.touched) && l.touched[at].start < m.start {
		at++
	}
	l.touched = slices.Insert(l.touched, at, t)
	return &l.touched[at]
}

// find returns the place of a member in the text. Where a key stands more than
// once, the last one counts; nodes have no such.
func (l *lazy) find(key string) (found member, ok bool) {
	for m, name := range memberText(l.text) {
		if string(name) == key {
			m.key = key
			found, ok = m, true
			if l.node >= 0 {
				break
			}
		}
	}
	return found, ok
}

// of returns the lazy object that the script knows as v, or nil.
func (s *lazies) of(v goja.Value) *lazy {
	o, ok := v.(*goja.Object)
	if s == nil || !ok || o.ExportType() != proxyType {
		return nil
	}
	return s.known[o.Export().(goja.Proxy).Target()]
}

// text returns the lazy object that v is if JSON has of it what its text says,
// and of what was touched: if it is not filled, and no toJSON came to all
// objects or to all lists.
func (s *lazies) text(v goja.Value) *lazy {
	l := s.of(v)
	if l == nil || l.filled || s.array.Prototype() != s.decode.object || s.decode.object.Prototype() != nil {
		return nil
	}
	// The one prototype has the other in its chain. To ask is better than to
	// get, which would call a getter.
	if v, err := s.reflect["has"](goja.Undefined(), s.array, s.toJSON); err != nil || v.ToBoolean() {
		return nil
	}
	return l
}

// changes calls f for every member of l that can be another one than in its
// text, with what stands for it in JSON: undefined if it is gone. l is one that
// text has returned. Methods of the script that are called on the way may touch
// and fill it: as with any other object, the members are those from before, and
// each is taken when it is its turn.
func (e *encoder) changes(l *lazy, f func(m member, v goja.Value)) {
	call := func(m member, v goja.Value) {
		if v == nil {
			v = goja.Undefined()
		}
		f(m, e.plain(v, m.key))
	}
	end := int32(0) // of what was looked at
	for !l.filled {
		i := slices.IndexFunc(l.touched, func(t touched) bool { return t.start >= end })
		if i < 0 {
			return
		}
		t := l.touched[i]
		end = t.end
		if t.changeable() {
			call(t.member, t.value)
		}
	}
	for m, key := range memberText(l.text) {
		if m.start >= end {
			m.key = string(key)
			call(m, l.proxy.Get(m.key))
		}
	}
}

// before returns the end of the member in front of the one whose value begins
// at start, or of the bracket.
func (l *lazy) before(start int32) int {
	end := skipSpace(l.text, 0) + 1
	for m := range memberText(l.text) {
		if m.start == start {
			break
		}
		end = int(m.end)
	}
	return end
}

// node returns the index of the input node that v is, or -1.
func (s *lazies) node(v goja.Value) int {
	if l := s.of(v); l != nil {
		return int(l.node)
	}
	return -1
}

// changeable tells whether the member can be another one than in the text.
func (t *touched) changeable() bool {
	_, object := t.value.(*goja.Object)
	return t.set || object
}

// memberText yields the members of a JSON object, without their keys, and the
// text of the keys.
func memberText(text []byte) func(yield func(member, []byte) bool) {
	return func(yield func(member, []byte) bool) {
		i := skipSpace(text, 0) + 1 // the bracket
		for {
			i = skipSpace(text, i)
			if i < len(text) && text[i] == ',' {
				i = skipSpace(text, i+1)
			}
			if i >= len(text) || text[i] != '"' {
				return
			}
			end := i + stringLen(text[i:])
			key := text[i+1 : max(end-1, i+1)]
			if bytes.IndexByte(key, '\\') >= 0 {
				var decoded string
				if json.Unmarshal(text[i:end], &decoded) != nil {
					return
				}
				key = []byte(decoded)
			}
			i = skipSpace(text, skipSpace(text, end)+1) // the colon
			start := i
			if i = skipValue(text, i); i > len(text) || !yield(member{start: int32(start), end: int32(i)}, key) {
				return
			}
		}
	}
}

func skipSpace[T string | []byte](text T, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\n' || text[i] == '\r' || text[i] == '\t') {
		i++
	}
	return i
}

// skipValue returns the end of the value at i of a text that is sound.
func skipValue[T string | []byte](text T, i int) int {
	for depth := 0; i < len(text); {
		switch text[i] {
		case '"':
			i += stringLen(text[i:])
			if depth == 0 {
				return i
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth < 0 {
				return i
			}
			if depth == 0 {
				return i + 1
			}
		case ',', ' ', '\n', '\r', '\t':
			if depth == 0 {
				return i
			}
		}
		i++
	}
	return i
}
