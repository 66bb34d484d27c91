package processors

import (
	"context"
	"strings"

	"github.com/sandrone-gateway/sandrone"
)

// maxVariable bounds the value of one variable, in bytes.
const maxVariable = 64 << 10

type templateParams struct {
	vars        map[string]string
	open, close string
}

// template puts variables into the document.
func template() *processor[File] {
	vars := textMap(maxVariable, "vars", "variables; they come before those of the request's meta", func(p *templateParams) *map[string]string { return &p.vars })
	return defineFile(Descriptor{
		Type:        "template",
		Description: "Puts variables into the document, once, without reading what it put in.",
		ErrorCodes:  []sandrone.Code{sandrone.ProcessorConfigInvalid, sandrone.FileProcessorFailed},
		Examples:    []sandrone.ProcessorSpec{example("template", `{"vars":{"region":"HK"}}`)},
	}, params[templateParams]{
		vars,
		text("open", "what begins a place; empty means the default", func(p *templateParams) *string { return &p.open }).or(`"{{"`),
		text("close", "what ends a place; empty means the default", func(p *templateParams) *string { return &p.close }).or(`"}}"`),
	}, func(p *templateParams) (step[File], error) {
		if p.open == "" {
			p.open = "{{"
		}
		if p.close == "" {
			p.close = "}}"
		}
		return func(_ context.Context, s *scope, in File) (out File, err error) {
			in.Content, err = p.fill(in.Content, s.Request.Meta)
			return in, err
		}, nil
	})
}

func (p *templateParams) fill(content string, meta map[string]string) (string, error) {
	var b strings.Builder
	rest := content
	for {
		before, after, ok := strings.Cut(rest, p.open)
		b.WriteString(before)
		if !ok {
			return b.String(), nil
		}
		fail := func(reason string) (string, error) {
			done := content[:len(content)-len(after)-len(p.open)]
			e := sandrone.Errorf(sandrone.FileProcessorFailed, "%s", reason)
			e.Line = strings.Count(done, "\n") + 1
			e.Column = len([]rune(done[strings.LastIndexByte(done, '\n')+1:])) + 1
			return "", e
		}
		name, next, ok := strings.Cut(after, p.close)
		if !ok {
			return fail("a place of the template does not end")
		}
		name = strings.TrimSpace(name)
		value, ok := p.vars[name]
		if !ok {
			if value, ok = meta[name]; !ok {
				return fail("a variable of the template is not defined")
			}
		}
		if b.WriteString(value); b.Len()+len(next) > maxDocument {
			return fail("the document grows beyond its limit")
		}
		rest = next
	}
}
