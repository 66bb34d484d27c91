package js

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/dop251/goja"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert/doc"
	"github.com/sandrone-gateway/sandrone/processors/ini"
)

// api makes the api object. What stays inside of the sandbox is done here, so
// that its work counts against the limits of the run.
func (r *run) api() *goja.Object {
	api := r.vm.NewObject()
	group := func(name string) *goja.Object {
		o := r.vm.NewObject()
		_ = api.Set(name, o)
		return o
	}
	method := func(o *goja.Object, name string, f func(args []goja.Value) goja.Value) {
		_ = o.Set(name, func(call goja.FunctionCall) goja.Value { return f(call.Arguments) })
	}
	// text is a method of one text argument with a result for no argument.
	text := func(o *goja.Object, name string, none goja.Value, f func(text string) goja.Value) {
		method(o, name, func(args []goja.Value) goja.Value {
			if len(args) == 0 {
				return none
			}
			return f(args[0].String())
		})
	}
	str := func(s string) goja.Value { return r.vm.ToValue(s) }
	empty := str("")

	method(api, "log", r.log)
	method(api, "warn", func(args []goja.Value) goja.Value {
		if len(args) > 0 {
			r.warning(args[0])
		}
		return goja.Undefined()
	})

	yaml := group("yaml")
	text(yaml, "parse", goja.Undefined(), func(text string) goja.Value {
		items, err := doc.ReadYAML(nil, text)
		return r.parsed("YAML", err, func() (goja.Value, error) { return r.decode.tree(items, 0) })
	})
	method(yaml, "stringify", func(args []goja.Value) goja.Value {
		if len(args) == 0 {
			return empty
		}
		return str(yamlText(r.items(args[0])))
	})

	jsonGroup := group("json")
	text(jsonGroup, "parse", goja.Undefined(), func(text string) goja.Value {
		return r.parsed("JSON", nil, func() (goja.Value, error) { return r.decode.text(text) })
	})
	method(jsonGroup, "stringify", func(args []goja.Value) goja.Value {
		if len(args) == 0 {
			return empty
		}
		return str(r.json(args[0], MaxResult))
	})

	iniGroup := group("ini")
	text(iniGroup, "parse", goja.Undefined(), func(text string) goja.Value {
		d, err := ini.Parse(text)
		return r.parsed("INI", err, func() (goja.Value, error) {
			form, err := json.Marshal(d)
			if err != nil {
				return nil, err
			}
			return r.decode.text(string(form))
		})
	})
	method(iniGroup, "stringify", func(args []goja.Value) goja.Value {
		if len(args) == 0 {
			return empty
		}
		d, err := iniDocument(r.items(args[0]))
		if err != nil {
			panic(r.throwable(r.newError, err.Error()))
		}
		text, err := d.Text()
		if err != nil {
			panic(r.throwable(r.newError, sandrone.AsError(err).Message))
		}
		return str(text)
	})
	method(iniGroup, "override", func(args []goja.Value) goja.Value {
		if len(args) < 2 {
			panic(r.throwable(r.newError, "api.ini.override needs two texts"))
		}
		text, err := ini.Override(args[0].String(), args[1].String())
		if err != nil {
			e := sandrone.AsError(err)
			panic(r.throwable(r.newError, strings.TrimSpace(e.Part+" "+e.Path)+": "+e.Message))
		}
		return str(text)
	})

	base64Group := group("base64")
	text(base64Group, "encode", empty, func(text string) goja.Value {
		return str(base64.StdEncoding.EncodeToString([]byte(strings.ToValidUTF8(text, "\ufffd"))))
	})
	text(base64Group, "decode", empty, func(text string) goja.Value {
		// The decoder of the library passes over line breaks.
		b, err := base64.StdEncoding.Strict().DecodeString(text)
		if err != nil || strings.ContainsAny(text, "\r\n") {
			panic(r.throwable(r.newError, "invalid Base64"))
		}
		if !utf8.Valid(b) {
			panic(r.throwable(r.newError, "the decoded text is not UTF-8"))
		}
		return str(string(b))
	})
	text(group("hash"), "sha256", empty, func(text string) goja.Value {
		sum := sha256.Sum256([]byte(strings.ToValidUTF8(text, "\ufffd")))
		return str(hex.EncodeToString(sum[:]))
	})

	method(group("subscription"), "produce", func(args []goja.Value) goja.Value {
		return r.call("subscription.produce", r.named(args))
	})
	method(group("file"), "content", func(args []goja.Value) goja.Value {
		return r.call("file.content", r.named(args))
	})
	if r.job.Stage == StageNodes {
		method(api, "probe", func(args []goja.Value) goja.Value {
			return r.call("probe", r.probe(args))
		})
	}
	return api
}

// parsed returns what read makes of a text, and throws where the text or its
// depth is wrong. The messages of the readers never quote a text.
func (r *run) parsed(syntax string, err error, read func() (goja.Value, error)) goja.Value {
	var v goja.Value
	if err == nil {
		v, err = read()
	}
	if err != nil {
		text := err.Error()
		if e, ok := errors.AsType[*sandrone.Error](err); ok {
			text = e.Message
		}
		panic(r.throwable(r.newError, "invalid "+syntax+": "+text))
	}
	return v
}

// encoder returns an encoder of its own for an api call, which may come from a
// toJSON in the middle of another encoding. Scripts see what it writes: in the
// engine's own form and order, whoever has touched it.
func (r *run) encoder() *encoder { return &encoder{vm: r.vm, isArray: r.encode.isArray} }

// json encodes an argument. What JSON has no form for at the top is null.
func (r *run) json(v goja.Value, limit int) string {
	if text := r.encoder().text(v, limit); text != "" {
		return text
	}
	return "null"
}

// items returns an argument as a tree.
func (r *run) items(v goja.Value) doc.Items {
	items, err := doc.ReadStrictJSON(nil, r.json(v, MaxResult))
	if err != nil {
		panic(r.throwable(r.newError, "the value is "+err.Error()))
	}
	for i := range items {
		items[i].Quoted = false // that they were in quotes is JSON's way, not a wish
	}
	return items
}

// yamlText prints a document. The printer knows elements of lists: a document
// is one without its dash and the two spaces that follow from it.
func yamlText(items doc.Items) string {
	list := doc.AppendYAMLList(nil, items, 0, 0)
	out := list[:0]
	for l := range bytes.Lines(list) {
		out = append(out, l[min(2, len(l)):]...)
	}
	return string(out)
}

// iniDocument reads the document model strictly.
func iniDocument(d doc.Items) (ini.Document, error) {
	var out ini.Document
	if d[0].Kind != doc.Map {
		return out, errors.New("an INI document must be an object")
	}
	// lines reads a list of texts; ok tells whether it is one.
	lines := func(i int) ([]string, bool) {
		list := []string{}
		for j := i + 1; j < d.Next(i); j = d.Next(j) {
			if d[j].Kind != doc.Str {
				return nil, false
			}
			list = append(list, d[j].Text)
		}
		return list, d[i].Kind == doc.List
	}
	for i := 1; i < len(d); i = d.Next(i) {
		ok := false
		switch d[i].Key {
		case "bom":
			out.BOM, ok = d[i].Text == "true", d[i].Kind == doc.Bool
		case "newline":
			out.Newline, ok = d[i].Text, d[i].Kind == doc.Str && d[i].Text != ""
		case "trailing_newline":
			out.TrailingNewline, ok = d[i].Text == "true", d[i].Kind == doc.Bool
		case "preamble":
			out.Preamble, ok = lines(i)
		case "sections":
			ok = d[i].Kind == doc.List
			for j := i + 1; ok && j < d.Next(i); j = d.Next(j) {
				var s ini.Section
				if ok = d[j].Kind == doc.Map; !ok {
					break
				}
				for k := j + 1; ok && k < d.Next(j); k = d.Next(k) {
					switch d[k].Key {
					case "name":
						s.Name, ok = d[k].Text, d[k].Kind == doc.Str
					case "lines":
						s.Lines, ok = lines(k)
					default:
						return out, errors.New("an INI section has an unknown member")
					}
				}
				out.Sections = append(out.Sections, s)
			}
		default:
			return out, errors.New("an INI document has an unknown member")
		}
		if !ok {
			return out, errors.New("member " + d[i].Key + " of an INI document has the wrong type")
		}
	}
	return out, nil
}

// log sends an entry to the host. Objects are shown as JSON.
func (r *run) log(args []goja.Value) goja.Value {
	if r.logs >= MaxLogs {
		return goja.Undefined()
	}
	var b strings.Builder
	for i, v := range args {
		if i > 0 {
			b.WriteByte(' ')
		}
		if b.Len() > MaxLog {
			break
		}
		o, ok := v.(*goja.Object)
		if !ok || callable(o) || o.ClassName() == "Error" {
			b.WriteString(v.String())
			continue
		}
		// A value over the limit is shown as far as it was encoded.
		e := r.encoder()
		if ex := r.vm.Try(func() { e.text(o, MaxLog) }); ex != nil && len(e.buf) == 0 {
			b.WriteString(o.ClassName())
			continue
		}
		b.Write(e.buf)
	}
	if len(args) > 0 {
		r.logs++
		r.host.Log(clip(b.String(), MaxLog))
	}
	return goja.Undefined()
}

// clip cuts a text to n bytes, at a character, and makes it valid UTF-8.
func clip(s string, n int) string {
	if len(s) > n {
		s = s[:n]
		for len(s) > 0 && !utf8.RuneStart(s[len(s)-1]) {
			s = s[:len(s)-1]
		}
		if r, size := utf8.DecodeLastRuneInString(s); r == utf8.RuneError && size == 1 {
			s = s[:len(s)-1]
		}
	}
	return strings.ToValidUTF8(s, "\ufffd")
}

// warningFields are the members of a warning that scripts can state.
var warningFields = map[string]bool{
	"code": true, "message": true, "node": true, "node_index": true,
	"node_context": true, "field": true, "source": true, "target": true,
}

// warning keeps a warning. What is no object with JSON members is ignored, and
// so is, by the receiver, one whose members have wrong types.
func (r *run) warning(v goja.Value) {
	o, ok := v.(*goja.Object)
	if !ok || callable(o) {
		return
	}
	e := r.encoder()
	e.reset(MaxWarning)
	ex := r.vm.Try(func() {
		if !e.array(o) {
			e.object(o, func(key string, _ goja.Value) bool { return warningFields[key] })
		}
	})
	if ex == nil && len(e.buf) > 0 {
		r.warn(e.buf)
	}
}

// named encodes the arguments of a call with a name and options.
func (r *run) named(args []goja.Value) string {
	if len(args) == 0 {
		return "[]"
	}
	form := append([]byte{'['}, doc.AppendJSONString(nil, args[0].String())...)
	if len(args) > 1 {
		form = append(append(form, ','), r.json(args[1], MaxResult)...)
	}
	return string(append(form, ']'))
}

// probe encodes the arguments of a probe. A node of the input that was not
// touched goes by its index, so that it need not be compared.
func (r *run) probe(args []goja.Value) string {
	var list *goja.Object
	if len(args) > 0 {
		list, _ = args[0].(*goja.Object)
	}
	e := r.encoder()
	e.lazies = r.lazies
	if list == nil || !e.array(list) {
		panic(r.throwable(r.newError, "api.probe needs an array of nodes"))
	}
	n := e.length(list)
	if n > MaxNodes {
		panic(r.throwable(r.newError, "api.probe got too many nodes"))
	}
	e.reset(MaxResult)
	e.buf = append(e.buf, "[["...)
	for i := range n {
		if i > 0 {
			e.buf = append(e.buf, ',')
		}
		key := itoa(i)
		o, ok := e.plain(list.Get(key), key).(*goja.Object)
		if !ok {
			panic(r.throwable(r.newError, "api.probe needs an array of nodes"))
		}
		start := len(e.buf)
		e.value(o)
		if base := r.lazies.node(o); base >= 0 && sameJSON(e.buf[start:], r.job.Nodes[base]) {
			e.buf = append(e.buf[:start], itoa(base)...)
		}
	}
	e.buf = append(e.buf, ']')
	if len(args) > 1 {
		e.buf = append(append(e.buf, ','), r.json(args[1], MaxResult)...)
	}
	return string(append(e.buf, ']'))
}

// maxAnswers is how many bytes of answers are kept to keep their values out of
// messages. A script that got more shows no messages of its own.
const maxAnswers = 16 << 20

// call makes a call that leaves the sandbox.
func (r *run) call(method, args string) goja.Value {
	answer, err := r.host.Call(r.ctx, method, []byte(args))
	if err != nil {
		if e, ok := errors.AsType[*sandrone.Error](err); ok {
			panic(r.hostError(err, string(e.Code), e.Message))
		}
		panic(r.hostError(err, "", method+" failed"))
	}
	r.answerBytes += len(answer)
	if r.answerBytes <= maxAnswers {
		r.answers = append(r.answers, answer)
	}
	if method == "probe" {
		var form struct {
			Report struct{ Warnings []json.RawMessage }
		}
		if json.Unmarshal(answer, &form) == nil {
			for _, w := range form.Report.Warnings {
				r.warn(w)
			}
		}
	}
	v, err := r.decode.text(string(answer))
	if err != nil {
		panic(r.throwable(r.newError, method+" returned too deep a value"))
	}
	return v
}
