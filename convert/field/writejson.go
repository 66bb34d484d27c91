package field

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert/doc"
)

// AppendJSON appends the JSON form of a node: the one that encoding/json makes
// of it, without escapes for HTML, at a small part of the cost. The error is a
// raw member that is no JSON, or a plugin option that has none; dst is then of
// no use.
func AppendJSON(dst []byte, n *sandrone.Node) ([]byte, error) {
	w := writer{b: dst, depth: compact}
	w.node(n)
	return w.b, w.err
}

// AppendJSONIndent is [AppendJSON] in lines, each indented by two spaces a
// level. The node is a value at a depth of that many levels.
func AppendJSONIndent(dst []byte, n *sandrone.Node, depth int) ([]byte, error) {
	w := writer{b: dst, depth: depth}
	w.node(n)
	return w.b, w.err
}

var errRaw = errors.New("field: a raw member of a node is no JSON")

// compact is the depth of a writer that writes all in one line. It is so low
// that no level takes it up to 0.
const compact = -1 << 20

// writer writes the structs of the model. What stands in an object or a list
// has a comma in front of it; the first one becomes its bracket.
type writer struct {
	b     []byte
	depth int
	keys  []string
	err   error // the first one
}

// begin begins an object or a list; end and endList get its result.
func (w *writer) begin() (start int) {
	w.depth++
	return len(w.b)
}

func (w *writer) end(start int)     { w.close(start, '{', '}') }
func (w *writer) endList(start int) { w.close(start, '[', ']') }

func (w *writer) close(start int, first, last byte) {
	w.depth--
	if len(w.b) == start {
		w.b = append(w.b, first, last)
		return
	}
	w.b[start] = first
	w.line()
	w.b = append(w.b, last)
}

// next begins a member or an element.
func (w *writer) next() {
	w.b = append(w.b, ',')
	w.line()
}

func (w *writer) line() {
	if w.depth < 0 {
		return
	}
	w.b = append(w.b, '\n')
	for range w.depth {
		w.b = append(w.b, "  "...)
	}
}

// key begins a member; it comes in quotes and with its colon.
func (w *writer) key(key string) {
	w.next()
	w.b = append(w.b, key...)
	if w.depth >= 0 {
		w.b = append(w.b, ' ')
	}
}

// The methods below write a member.

func (w *writer) text(key, s string) {
	w.key(key)
	w.b = doc.AppendJSONString(w.b, s)
}

func (w *writer) integer(key string, n int64) {
	w.key(key)
	w.b = strconv.AppendInt(w.b, n, 10)
}

func (w *writer) boolean(key string, b bool) {
	w.key(key)
	w.b = strconv.AppendBool(w.b, b)
}

func (w *writer) texts(key string, list []string) {
	elements(w, key, list, func(s *string) { w.b = doc.AppendJSONString(w.b, *s) })
}

func (w *writer) integers(key string, list []int) {
	elements(w, key, list, func(n *int) { w.b = strconv.AppendInt(w.b, int64(*n), 10) })
}

// elements writes a list.
func elements[E any](w *writer, key string, list []E, value func(*E)) {
	w.key(key)
	start := w.begin()
	for i := range list {
		w.next()
		value(&list[i])
	}
	w.endList(start)
}

func (w *writer) raw(key string, text json.RawMessage) {
	w.key(key)
	w.rawValue(text)
}

func (w *writer) rawValue(text json.RawMessage) {
	if !json.Valid(text) {
		w.fail(errRaw)
		return
	}
	w.verbatim(text)
}

// verbatim writes JSON that is sound.
func (w *writer) verbatim(text []byte) {
	out := bytes.NewBuffer(w.b)
	if w.depth < 0 {
		_ = json.Compact(out, text)
	} else {
		_ = json.Indent(out, text, strings.Repeat("  ", w.depth), "  ")
	}
	w.b = out.Bytes()
}

func (w *writer) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// value writes what can be in a map of options.
func (w *writer) value(v any) {
	switch v := v.(type) {
	case string:
		w.b = doc.AppendJSONString(w.b, v)
	case bool:
		w.b = strconv.AppendBool(w.b, v)
	case int:
		w.b = strconv.AppendInt(w.b, int64(v), 10)
	default:
		var text bytes.Buffer
		e := json.NewEncoder(&text)
		e.SetEscapeHTML(false)
		if err := e.Encode(v); err != nil {
			w.fail(err)
			return
		}
		w.verbatim(bytes.TrimSuffix(text.Bytes(), []byte("\n")))
	}
}

func (w *writer) stringMap(key string, m map[string]string) {
	entries(w, key, m, func(s string) { w.b = doc.AppendJSONString(w.b, s) })
}

func (w *writer) valueMap(key string, m map[string]any) { entries(w, key, m, w.value) }

func (w *writer) rawMap(key string, m sandrone.Raw) { entries(w, key, m, w.rawValue) }

// entries writes a map in order of its keys.
func entries[M ~map[string]V, V any](w *writer, key string, m M, value func(V)) {
	// No value has a map of its own that comes here: one list of keys does.
	w.keys = slices.AppendSeq(w.keys[:0], maps.Keys(m))
	slices.Sort(w.keys)
	w.key(key)
	start := w.begin()
	for _, k := range w.keys {
		w.next()
		w.b = append(doc.AppendJSONString(w.b, k), ':')
		if w.depth >= 0 {
			w.b = append(w.b, ' ')
		}
		value(m[k])
	}
	w.end(start)
}
