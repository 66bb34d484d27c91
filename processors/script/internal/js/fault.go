package js

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"unicode"

	"github.com/dop251/goja"
)

func itoa(n int) string { return strconv.Itoa(n) }

// maxMessage is the length of a message in characters.
const maxMessage = 200

// shown makes the message of an error: one line that names the script.
func shown(name, text string) string {
	const maxName = 80
	return cut("script "+cut(name, maxName)+": "+text, maxMessage)
}

// cut makes one line of at most limit characters.
func cut(s string, limit int) string {
	list := make([]rune, 0, min(len(s), limit+1))
	for _, c := range s {
		if !unicode.IsPrint(c) {
			c = ' '
		}
		if list = append(list, c); len(list) > limit {
			list[limit-1] = '…'
			return string(list[:limit])
		}
	}
	return string(list)
}

// Clean makes a text that a worker says is a message fit to be one.
func Clean(text string) string { return cut(text, maxMessage) }

// Message makes the message of an error about the script with this name, for
// what is found outside of a run.
func Message(name, text string) string { return shown(name, text) }

// failure turns what a run ended with into its error.
func (r *run) failure(err error) error {
	// By type, not by errors.As: the chain of an exception goes through errors
	// of the host, which may well have been made by another run.
	switch e := err.(type) {
	case *goja.InterruptedError:
		if c, ok := e.Value().(cancelled); ok {
			return c.cause
		}
		f := &Error{Kind: Timeout, Message: TimeoutMessage(r.job)}
		f.Line, f.Column = r.position(e.Stack())
		return f
	case *goja.StackOverflowError:
		f := &Error{Kind: Runtime, Message: shown(r.job.Name, "RangeError: Maximum call stack size exceeded")}
		f.Line, f.Column = r.position(e.Stack())
		return f
	case *goja.Exception:
		f := &Error{Kind: Runtime}
		f.Line, f.Column = r.position(e.Stack())
		if o, ok := e.Value().(*goja.Object); ok && r.failures[o] != nil {
			// The call may have failed because the run is over.
			if err := context.Cause(r.outer); err != nil {
				return err
			}
			if r.ctx.Err() != nil {
				f.Kind, f.Message = Timeout, TimeoutMessage(r.job)
				return f
			}
			f.Kind, f.Cause = HostCall, r.failures[o]
			f.Message = shown(r.job.Name, "a call failed")
			return f
		}
		text, err := r.describe(e.Value())
		if err != nil {
			return r.failure(err)
		}
		f.Message = shown(r.job.Name, text)
		return f
	}
	return &Error{Kind: Runtime, Message: shown(r.job.Name, "fault of the engine")}
}

// TimeoutMessage is the message of a job that took too long.
func TimeoutMessage(job *Job) string {
	return shown(job.Name, "ran longer than "+itoa(int(job.Timeout.Milliseconds()))+" ms")
}

// position returns the place of the innermost frame that is in the script.
func (r *run) position(stack []goja.StackFrame) (line, column int) {
	for _, f := range stack {
		if f.SrcName() == r.job.Name {
			if p := f.Position(); p.Line > 0 {
				return p.Line, p.Column
			}
		}
	}
	return 0, 0
}

// describe returns the text of a thrown value, without what the script was
// given. Name and message of an error can be getters: they run under the
// limits of the run, which are still on; the error is for a limit that they
// come to. Any other object has no text; it may be a whole node.
func (r *run) describe(v goja.Value) (string, error) {
	name, text := "", ""
	read := func(goja.FunctionCall) goja.Value {
		o, ok := v.(*goja.Object)
		switch {
		case !ok:
			text = v.String()
		case o.ClassName() != "Error":
			name = "an object was thrown"
		default:
			name, text = primitive(o.Get("name")), primitive(o.Get("message"))
		}
		return goja.Undefined()
	}
	f := must(goja.AssertFunction(r.vm.ToValue(read)))
	if v == nil {
		return "Error", nil
	}
	switch _, err := f(goja.Undefined()); err.(type) {
	case nil:
	case *goja.InterruptedError, *goja.StackOverflowError:
		return "", err
	default: // thrown by a getter
		return "Error", nil
	}
	const maxText = 1 << 10
	if len(name) > 64 {
		name = "Error"
	}
	// A long text is no message but a dump of something.
	if len(text) > maxText {
		text = "(a message of " + itoa(len(text)) + " bytes)"
	}
	name, text = r.masked(name), r.masked(text)
	switch {
	case text == "":
		return name, nil
	case name == "":
		return text, nil
	}
	return name + ": " + text, nil
}

// primitive returns the text of a value that is not an object.
func primitive(v goja.Value) string {
	if _, ok := v.(*goja.Object); ok || v == nil || goja.IsUndefined(v) {
		return ""
	}
	return v.String()
}

// mask takes the place of data in a message.
const mask = "…"

// public are members whose values are words of the domain.
var public = map[string]bool{
	"type": true, "network": true, "cipher": true, "source_format": true, "format": true,
	"stage": true, "target": true, "kind": true, "media_type": true, "encoding": true, "code": true,
}

// masked takes out of a message what stands in the input or in an answer of
// the host: texts of four bytes and more as a whole, and words of eight bytes
// and more that are a part of one.
func (r *run) masked(msg string) string {
	if len(msg) < 4 {
		return msg
	}
	total := len(r.job.Envelope) + r.answerBytes
	for _, n := range r.job.Nodes {
		total += len(n)
	}
	if total > 2*maxAnswers {
		return "(message left out)"
	}
	words := strings.FieldsFunc(msg, func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune("_-+/=.:@", c)
	})
	look := func(key, value string) {
		if public[key] {
			return
		}
		if len(value) >= 4 {
			msg = strings.ReplaceAll(msg, value, mask)
		}
		for _, w := range words {
			if len(w) >= 8 && len(w) < len(value) && contains(value, w) {
				msg = strings.ReplaceAll(msg, w, mask)
			}
		}
	}
	eachText(r.job.Envelope, look)
	for _, n := range r.job.Nodes {
		eachText(n, look)
	}
	for _, a := range r.answers {
		eachText(a, look)
	}
	return msg
}

// contains tells whether word stands in text other than as a key, as in the
// documents that file scripts work on.
func contains(text, word string) bool {
	for {
		i := strings.Index(text, word)
		if i < 0 {
			return false
		}
		text = text[i+len(word):]
		rest := strings.TrimLeft(text, " \t\"'")
		if rest == "" || rest[0] != ':' && rest[0] != '=' {
			return true
		}
	}
}

// eachText calls f for every string in a JSON text that is no member's name,
// with the name before it.
func eachText(s []byte, f func(key, value string)) {
	key := ""
	for i := 0; i < len(s); i++ {
		if s[i] != '"' {
			continue
		}
		n := stringLen(s[i:])
		literal := s[i : i+n]
		i += n - 1
		text := string(literal[1:max(1, n-1)])
		if strings.IndexByte(text, '\\') >= 0 && json.Unmarshal(literal, &text) != nil {
			continue
		}
		j := i + 1
		for j < len(s) && (s[j] == ' ' || s[j] == '\n') {
			j++
		}
		if j < len(s) && s[j] == ':' {
			key = text
		} else {
			f(key, text)
		}
	}
}
