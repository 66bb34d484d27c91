package processors

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/processors/edit"
	"github.com/sandrone-gateway/sandrone/processors/ini"
)

// Limits of the file stage, in bytes.
const (
	maxOverlay  = 4 << 20
	maxDocument = 32 << 20
)

type mergeParams struct {
	mode, content, separator string
	include                  []string
}

var mergeModes = []string{"append", "replace", "yaml_overlay", "yaml_override", "json_overlay", "json_override", "ini_override"}

// merge lays a text over the document.
func merge() *processor[File] {
	mode := longText("mode", "how content is laid over the document", func(p *mergeParams) *string { return &p.mode })
	mode.about = &jsonschema.Schema{Type: "string", Description: "how content is laid over the document"}
	for _, m := range mergeModes {
		mode.about.Enum = append(mode.about.Enum, m)
	}
	mode.about.Default = json.RawMessage(`"append"`)
	return defineFile(Descriptor{
		Type:        "merge",
		Description: "Lays a text over the document: behind it, in its place, value by value (overlay), or by the operators of an override. A YAML override keeps comments, order and quotes of everything that it does not name.",
		ErrorCodes:  []sandrone.Code{sandrone.ProcessorConfigInvalid, sandrone.FileMergeFailed},
		Examples: []sandrone.ProcessorSpec{
			example("merge", `{"mode":"yaml_override","content":"+rules: [\"DOMAIN,a.example,DIRECT\"]\ndns: {ipv6: null}\n"}`),
			example("merge", `{"mode":"ini_override","content":"[General]\nipv6 = false\n"}`),
		},
	}, params[mergeParams]{
		mode,
		longText("content", "the text that is laid over the document", func(p *mergeParams) *string { return &p.content }),
		text("separator", "what append puts between; a line break if empty", func(p *mergeParams) *string { return &p.separator }),
		texts("include", "names of parts; not looked at where there is content", func(p *mergeParams) *[]string { return &p.include }),
	}, func(p *mergeParams) (step[File], error) {
		return func(_ context.Context, _ *scope, in File) (File, error) {
			out, err := p.over(in.Content)
			if err == nil && len(out) > maxDocument {
				err = sandrone.Errorf(sandrone.FileMergeFailed, "the document is larger than %d bytes", maxDocument)
			}
			in.Content = out
			return in, err
		}, nil
	})
}

func (p *mergeParams) over(current string) (string, error) {
	mode := strings.ToLower(strings.TrimSpace(p.mode))
	if mode != "" && !slices.Contains(mergeModes, mode) {
		return "", sandrone.Errorf(sandrone.FileMergeFailed, "mode is not one of %s", strings.Join(mergeModes, ", "))
	}
	if p.content == "" {
		e := sandrone.Errorf(sandrone.FileMergeFailed, "there is no content to lay over the document")
		e.Part = "overlay"
		return "", e
	}
	switch mode {
	case "", "append":
		separator := p.separator
		if separator == "" {
			separator = "\n"
		}
		return current + separator + p.content, nil
	case "replace":
		return p.content, nil
	case "ini_override":
		return ini.Override(current, p.content)
	}
	read := edit.ReadYAML
	if mode == "json_override" {
		read = edit.ReadJSON
	}
	above, err := read(p.content)
	if err != nil {
		return "", mergeFault(err, "overlay")
	}
	var refused error // of laying it over the document
	lay := func(below *edit.Document) error {
		if strings.HasSuffix(mode, "_overlay") {
			refused = below.Overlay(above)
		} else {
			refused = below.Override(above)
		}
		return refused
	}
	var out string
	if strings.HasPrefix(mode, "yaml_") {
		out, err = edit.ChangeYAML(current, above.Members(), lay)
	} else {
		var below *edit.Document
		if below, err = read(current); err == nil {
			err = lay(below)
		}
		switch {
		case err != nil:
		case mode == "json_override" && !below.Changed():
			out = strings.TrimRight(current, "\r\n") // an empty overlay lays nothing out anew
		default:
			out, err = below.JSON()
		}
	}
	switch {
	case refused != nil:
		return "", mergeFault(refused, "overlay")
	case err != nil:
		return "", mergeFault(err, "current")
	}
	return out, nil
}

func mergeFault(err error, part string) error {
	e := fileFault(err, sandrone.FileMergeFailed)
	e.Part = part
	return e
}

// fileFault gives a fault of a document a code.
func fileFault(err error, code sandrone.Code) *sandrone.Error {
	f, ok := errors.AsType[*edit.Fault](err)
	if !ok {
		return sandrone.AsError(err)
	}
	e := sandrone.Errorf(code, "%s", f.Reason)
	e.Path, e.Line, e.Column = f.Path, f.Line, f.Column
	return e
}

// longText is a string that may be a document.
func longText[C any](name, about string, at func(*C) *string) param[C] {
	longest := maxOverlay
	return param[C]{name: name, about: &jsonschema.Schema{Type: "string", Description: about, MaxLength: &longest}, read: func(c *C, value json.RawMessage) error {
		if json.Unmarshal(value, at(c)) != nil {
			return bad("", "%s is no string", name)
		}
		if len(*at(c)) > maxOverlay {
			return bad("", "%s is longer than %d bytes", name, maxOverlay)
		}
		return nil
	}}
}
