package table

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert/doc"
	"github.com/sandrone-gateway/sandrone/convert/value"
)

// Codec is how a client spells values of one type.
type Codec[T any] struct {
	Read  func(d doc.Items, i int) (T, bool)                 // false: not understood, the item goes to raw
	Write func(o *doc.Items, key string, v T) (written bool) // false: not expressible, the field counts as lost
	Only  string                                             // the values that Write takes, for the catalogue; empty: all
}

// Text is the codec of plain strings.
var Text = Codec[string]{
	Read:  func(d doc.Items, i int) (string, bool) { return d.Scalar(i) },
	Write: func(o *doc.Items, key, v string) bool { o.AddStr(key, v); return true },
}

// Quoted is [Text] for values that readers of the client's syntax may take for
// a number, so that they are always quoted.
var Quoted = Codec[string]{
	Read:  Text.Read,
	Write: func(o *doc.Items, key, v string) bool { o.AddQuoted(key, v); return true },
}

// Lower is [Text] for words whose letter case means nothing.
var Lower = Codec[string]{
	Read: func(d doc.Items, i int) (string, bool) {
		s, ok := d.Scalar(i)
		return strings.ToLower(s), ok
	},
	Write: Text.Write,
}

// Flag is the codec of switches that are written only when they are on.
var Flag = Codec[bool]{
	Read: readBool,
	Write: func(o *doc.Items, key string, v bool) bool {
		if v {
			o.AddBool(key, true)
		}
		return v
	},
}

// Whole is the codec of whole numbers; text that is a number is accepted.
var Whole = Codec[int]{
	Read: readInt,
	Write: func(o *doc.Items, key string, v int) bool {
		o.AddInt(key, v)
		return true
	},
}

// Switch is the codec of three-state switches.
var Switch = Codec[sandrone.Tri]{
	Read: func(d doc.Items, i int) (sandrone.Tri, bool) {
		if d[i].Kind == doc.Null {
			return sandrone.Unset, true
		}
		b, ok := readBool(d, i)
		return sandrone.TriOf(b), ok
	},
	Write: func(o *doc.Items, key string, v sandrone.Tri) bool {
		b, stated := v.Bool()
		if stated {
			o.AddBool(key, b)
		}
		return stated
	},
}

// Words is the codec of lists of strings; a single string is a list of one.
var Words = Codec[[]string]{
	Read:  func(d doc.Items, i int) ([]string, bool) { return d.Strings(i) },
	Write: func(o *doc.Items, key string, v []string) bool { o.AddStrings(key, v); return true },
}

// Comma is a list written as one text with commas; on read a list is taken too.
var Comma = Codec[[]string]{
	Read: func(d doc.Items, i int) ([]string, bool) {
		list, ok := d.Strings(i)
		if !ok || d[i].Kind == doc.List {
			return list, ok
		}
		var out []string
		for _, s := range list {
			for part := range strings.SplitSeq(s, ",") {
				if part = strings.TrimSpace(part); part != "" {
					out = append(out, part)
				}
			}
		}
		return out, true
	},
	Write: func(o *doc.Items, key string, v []string) bool {
		o.AddStr(key, strings.Join(v, ","))
		return true
	},
}

// Mapped spells values by a word list: pairs of client's word and ours. The
// first pair of a word is the one that is written. Other words are not
// understood on read and not expressible on write.
func Mapped(pairs ...[2]string) Codec[string] {
	var ours []string
	for _, p := range pairs {
		if p[1] != "" && !slices.Contains(ours, p[1]) {
			ours = append(ours, p[1])
		}
	}
	return Codec[string]{
		Only: strings.Join(ours, ", "),
		Read: func(d doc.Items, i int) (string, bool) {
			s, ok := d.Scalar(i)
			if !ok || s == "" {
				return "", ok
			}
			for _, p := range pairs {
				if strings.EqualFold(s, p[0]) {
					return p[1], true
				}
			}
			return "", false
		},
		Write: func(o *doc.Items, key, v string) bool {
			for _, p := range pairs {
				if v == p[1] {
					o.AddStr(key, p[0])
					return true
				}
			}
			return false
		},
	}
}

// Among writes only the given words; other values are not expressible. It
// reads any text in lower case.
func Among(words ...string) Codec[string] {
	return Codec[string]{
		Only: strings.Join(words, ", "),
		Read: Lower.Read,
		Write: func(o *doc.Items, key, v string) bool {
			if !slices.Contains(words, v) {
				return false
			}
			o.AddStr(key, v)
			return true
		},
	}
}

func readBool(d doc.Items, i int) (bool, bool) {
	s, ok := d.Scalar(i)
	if !ok {
		return false, false
	}
	if s == "" {
		return false, true
	}
	return value.Bool(s)
}

// maxInt is the largest whole number that every JSON reader takes exactly.
const maxInt = 1 << 53

func readInt(d doc.Items, i int) (int, bool) {
	s, ok := d.Scalar(i)
	if !ok {
		return 0, false
	}
	if s = strings.TrimSpace(s); s == "" {
		return 0, true
	}
	n, err := strconv.Atoi(s)
	if err != nil { // 1e3 and 30.0 are whole numbers too
		f, err := strconv.ParseFloat(s, 64)
		if err != nil || f != math.Trunc(f) || math.Abs(f) > maxInt {
			return 0, false
		}
		n = int(f)
	}
	return n, -maxInt <= n && n <= maxInt
}

func readPort(d doc.Items, i int) (uint16, bool) {
	n, ok := readInt(d, i)
	if !ok || n < 0 || n > 65535 {
		return 0, false
	}
	return uint16(n), true
}

var portCodec = Codec[uint16]{
	Read:  readPort,
	Write: func(o *doc.Items, key string, v uint16) bool { o.AddInt(key, int(v)); return true },
}

var typeCodec = Codec[sandrone.Type]{
	Read: func(d doc.Items, i int) (sandrone.Type, bool) {
		s, ok := d.Scalar(i)
		t := sandrone.TypeOf(strings.ToLower(s))
		return t, ok && t != ""
	},
	Write: func(o *doc.Items, key string, v sandrone.Type) bool { o.AddStr(key, string(v)); return true },
}

// Texts is the codec of maps from text to text, written in key order.
var Texts = Codec[map[string]string]{
	Read: func(d doc.Items, i int) (map[string]string, bool) {
		if d[i].Kind == doc.Null {
			return nil, true
		}
		if d[i].Kind != doc.Map {
			return nil, false
		}
		var m map[string]string
		for j := i + 1; j < d.Next(i); j = d.Next(j) {
			s, ok := d.Scalar(j)
			if !ok {
				list, one := d.Strings(j)
				if !one || len(list) != 1 {
					return nil, false
				}
				s = list[0]
			}
			if m == nil {
				m = make(map[string]string)
			}
			m[d[j].Key] = s
		}
		return m, true
	},
	Write: func(o *doc.Items, key string, v map[string]string) bool {
		i := o.Open(key, doc.Map)
		for _, k := range sortedKeys(v) {
			o.AddStr(k, v[k])
		}
		o.Close(i)
		return true
	},
}

// Bytes is the codec of short lists of small numbers, WireGuard's reserved
// bytes, always written as numbers.
var Bytes = Codec[[]int]{
	Read: func(d doc.Items, i int) ([]int, bool) {
		if d[i].Kind == doc.Null {
			return nil, true
		}
		if d[i].Kind == doc.List {
			list, ok := d.Strings(i)
			if !ok {
				return nil, false
			}
			return value.Reserved(strings.Join(list, ","))
		}
		s, ok := d.Scalar(i)
		if !ok {
			return nil, false
		}
		return value.Reserved(s)
	},
	Write: func(o *doc.Items, key string, v []int) bool {
		i := o.Open(key, doc.List)
		for _, n := range v {
			o.AddInt("", n)
		}
		o.Close(i)
		return true
	},
}

// OptionMap is the codec of open option maps: strings, booleans, whole numbers,
// lists of strings and maps of strings, written in key order.
var OptionMap = Codec[map[string]any]{
	Read: func(d doc.Items, i int) (map[string]any, bool) {
		if d[i].Kind == doc.Null {
			return nil, true
		}
		if d[i].Kind != doc.Map {
			return nil, false
		}
		var m map[string]any
		for j := i + 1; j < d.Next(i); j = d.Next(j) {
			v, ok := readOption(d, j)
			if !ok {
				return nil, false
			}
			if v == nil {
				continue
			}
			if m == nil {
				m = make(map[string]any)
			}
			m[d[j].Key] = v
		}
		return m, true
	},
	Write: func(o *doc.Items, key string, v map[string]any) bool {
		i := o.Open(key, doc.Map)
		for _, k := range sortedKeys(v) {
			AddOption(o, k, v[k])
		}
		o.Close(i)
		return true
	},
}

func readOption(d doc.Items, i int) (any, bool) {
	switch it := d[i]; it.Kind {
	case doc.Null:
		return nil, true
	case doc.Bool:
		b, ok := value.Bool(it.Text)
		return b, ok
	case doc.Num:
		if n, ok := readInt(d, i); ok {
			return n, true
		}
		return it.Text, true
	case doc.Str:
		return it.Text, true
	case doc.List:
		return d.Strings(i)
	}
	return Texts.Read(d, i)
}

// AddOption appends a value of an open option map.
func AddOption(o *doc.Items, key string, v any) {
	switch v := v.(type) {
	case string:
		o.AddStr(key, v)
	case bool:
		o.AddBool(key, v)
	case int:
		o.AddInt(key, v)
	case []string:
		o.AddStrings(key, v)
	case map[string]string:
		Texts.Write(o, key, v)
	}
}

// rawMap is the codec of maps of verbatim JSON.
var rawMap = Codec[sandrone.Raw]{
	Read: func(d doc.Items, i int) (sandrone.Raw, bool) {
		if d[i].Kind == doc.Null {
			return nil, true
		}
		if d[i].Kind != doc.Map {
			return nil, false
		}
		var m sandrone.Raw
		for j := i + 1; j < d.Next(i); j = d.Next(j) {
			if m == nil {
				m = make(sandrone.Raw)
			}
			m[d[j].Key] = doc.JSONOf(d, j)
		}
		return m, true
	},
	Write: func(o *doc.Items, key string, v sandrone.Raw) bool {
		i := o.Open(key, doc.Map)
		for _, k := range sortedKeys(v) {
			doc.AddJSON(o, k, v[k])
		}
		o.Close(i)
		return true
	},
}

// rawValue is the codec of one verbatim JSON value.
var rawValue = Codec[json.RawMessage]{
	Read: func(d doc.Items, i int) (json.RawMessage, bool) {
		if d[i].Kind == doc.Null {
			return nil, true
		}
		return doc.JSONOf(d, i), true
	},
	Write: func(o *doc.Items, key string, v json.RawMessage) bool {
		return doc.AddJSON(o, key, v) == nil
	},
}

// codecOf returns the usual codec of a type.
func codecOf[T any]() Codec[T] {
	var zero T
	var c any
	switch any(zero).(type) {
	case string:
		c = Text
	case bool:
		c = Flag
	case int:
		c = Whole
	case uint16:
		c = portCodec
	case sandrone.Tri:
		c = Switch
	case sandrone.Type:
		c = typeCodec
	case []string:
		c = Words
	case []int:
		c = Bytes
	case map[string]string:
		c = Texts
	case map[string]any:
		c = OptionMap
	case sandrone.Raw:
		c = rawMap
	case json.RawMessage:
		c = rawValue
	default:
		panic("table: no codec for this type of field")
	}
	return c.(Codec[T])
}

func isZero[T any](v *T) bool {
	switch v := any(v).(type) {
	case *string:
		return *v == ""
	case *bool:
		return !*v
	case *int:
		return *v == 0
	case *uint16:
		return *v == 0
	case *sandrone.Tri:
		return *v == sandrone.Unset
	case *sandrone.Type:
		return *v == ""
	case *[]string:
		return len(*v) == 0
	case *[]int:
		return len(*v) == 0
	case *map[string]string:
		return len(*v) == 0
	case *map[string]any:
		return len(*v) == 0
	case *sandrone.Raw:
		return len(*v) == 0
	case *json.RawMessage:
		return len(*v) == 0
	}
	return false
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// warningsCodec carries a node's own diagnostics through the lossless notation.
var warningsCodec = Codec[[]sandrone.Warning]{
	Read: func(d doc.Items, i int) ([]sandrone.Warning, bool) {
		var list []sandrone.Warning
		err := json.Unmarshal(doc.JSONOf(d, i), &list)
		return list, err == nil
	},
	Write: func(o *doc.Items, key string, v []sandrone.Warning) bool {
		b, err := json.Marshal(v)
		return err == nil && doc.AddJSON(o, key, b) == nil
	},
}
