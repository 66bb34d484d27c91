package edit

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sandrone-gateway/sandrone/convert/doc"
)

func validJSON(text string) bool { return json.Valid([]byte(text)) }

// ReadJSON reads a text that is one JSON value. An error is a [*Fault].
func ReadJSON(text string) (*Document, error) {
	d := &Document{isJSON: true, misread: true}
	if err := d.begin(text); err != nil {
		return nil, err
	}
	var all json.RawMessage
	if err := json.Unmarshal([]byte(d.text), &all); err != nil {
		f := &Fault{Reason: "the document is no JSON"}
		if e, ok := errors.AsType[*json.SyntaxError](err); ok {
			before := d.text[:min(max(int(e.Offset)-1, 0), len(d.text))]
			f.Line = strings.Count(before, "\n") + 1
			f.Column = utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1
		}
		return nil, f
	}
	tokens := &jsonReader{in: json.NewDecoder(strings.NewReader(d.text)), text: d.text}
	tokens.in.UseNumber()
	var err error
	d.root, err = tokens.value(0)
	return d, err
}

// jsonReader reads tokens, each with its text.
type jsonReader struct {
	in   *json.Decoder
	text string
	at   int // end of the last token
}

func (r *jsonReader) next() (token json.Token, raw string, err error) {
	token, err = r.in.Token()
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, "", &Fault{Reason: "the document is no JSON"}
	}
	end := int(r.in.InputOffset())
	raw = strings.TrimLeft(r.text[r.at:end], " \t\r\n,:")
	r.at = end
	return token, raw, nil
}

func (r *jsonReader) value(depth int) (*node, error) {
	token, raw, err := r.next()
	if err != nil {
		return nil, err
	}
	n := &node{raw: raw, json: true}
	switch v := token.(type) {
	case nil:
		n.kind = null
	case bool:
		n.kind, n.text = boolean, raw
	case json.Number:
		n.kind, n.text = number, raw
	case string:
		n.kind, n.text = str, v
	case json.Delim:
		if depth >= MaxDepth {
			return nil, &Fault{Reason: "the document is nested too deeply"}
		}
		n.raw = ""
		n.kind = list
		if v == '{' {
			n.kind = object
		}
		for r.in.More() {
			if n.kind == object {
				token, raw, err := r.next()
				if err != nil {
					return nil, err
				}
				name, _ := token.(string)
				n.keys = append(n.keys, &key{text: name, raw: raw, json: true})
			}
			item, err := r.value(depth + 1)
			if err != nil {
				return nil, err
			}
			item.parent = n
			n.items = append(n.items, item)
		}
		if _, _, err := r.next(); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// JSON writes the document as JSON, two spaces a level, without a final line
// break. An error is a [*Fault]: YAML has numbers that JSON has not.
func (d *Document) JSON() (string, error) {
	w := jsonWriter{budget: maxBytes * 4}
	w.value(d.root, 1, 0)
	if w.err != nil {
		return "", w.err
	}
	return w.String(), nil
}

type jsonWriter struct {
	bytes.Buffer
	budget int
	err    error
}

func (w *jsonWriter) line(depth int) {
	w.WriteByte('\n')
	for range depth {
		w.WriteString("  ")
	}
}

func (w *jsonWriter) value(n *node, depth, step int) {
	n = n.resolve()
	if w.Len() > w.budget {
		w.err = errTooLarge
	}
	if w.err != nil {
		return
	}
	switch n.kind {
	case null, boolean, number, str:
		if err := writeJSONScalar(&w.Buffer, n); err != nil {
			w.err = err
		}
	case list:
		w.WriteByte('[')
		for i, item := range n.items {
			if i > 0 {
				w.WriteByte(',')
			}
			w.line(depth)
			w.value(item, depth+1, step)
		}
		if len(n.items) > 0 {
			w.line(depth - 1)
		}
		w.WriteByte(']')
	case object:
		w.WriteByte('{')
		first := true
		n.each(func(k *key, v *node) {
			if !first {
				w.WriteByte(',')
			}
			first = false
			w.line(depth)
			w.WriteString(jsonKey(k))
			w.WriteString(": ")
			w.value(v, depth+1, step)
		})
		if !first {
			w.line(depth - 1)
		}
		w.WriteByte('}')
	}
}

func jsonKey(k *key) string {
	if k.json {
		return k.raw
	}
	return string(doc.AppendJSONString(nil, k.text))
}

func writeJSONScalar(b *bytes.Buffer, n *node) error {
	switch {
	case n.json && n.raw != "":
		b.WriteString(n.raw)
	case n.kind == null:
		b.WriteString("null")
	case n.kind == boolean:
		b.WriteString(strings.ToLower(n.text))
	case n.kind == number:
		text, ok := jsonNumber(n.text)
		if !ok {
			return &Fault{Reason: "a number of the document has no form in JSON"}
		}
		b.WriteString(text)
	default:
		b.Write(doc.AppendJSONString(nil, n.text))
	}
	return nil
}

// jsonNumber returns a number of YAML in JSON's form. What is JSON stays as it
// is.
func jsonNumber(s string) (string, bool) {
	if validJSON(s) && strings.Trim(s, "0123456789+-.eE") == "" && s != "" {
		return s, true
	}
	if len(s) > 400 { // no number that anybody reads
		return "", false
	}
	plain := strings.ReplaceAll(s, "_", "")
	if i, ok := new(big.Int).SetString(plain, 0); ok {
		return i.String(), true
	}
	f, err := strconv.ParseFloat(plain, 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		return "", false
	}
	return strconv.FormatFloat(f, 'g', -1, 64), true
}
