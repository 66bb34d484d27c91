package processors

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/processors/edit"
)

type patchOp struct {
	op, path string
	from     *string
	value    *edit.Document
}

// patch is yaml_patch and json_patch, by how a text is changed.
func patch(kind, description string, apply func(text string, ops []edit.Op) (string, error)) *processor[File] {
	path := text("path", "JSON Pointer; its first slash may be left out", func(o *patchOp) *string { return &o.path })
	from := text("from", "JSON Pointer, for move and copy", func(o *patchOp) *string {
		if o.from == nil {
			o.from = new(string)
		}
		return o.from
	})
	op := word("op", "what is done", func(o *patchOp) *string { return &o.op }, "add", "replace", "remove", "test", "move", "copy").need()
	value := param[patchOp]{name: "value", nullable: true, about: &jsonschema.Schema{Description: "any JSON value, for add, replace and test; null if absent"}, read: func(o *patchOp, raw json.RawMessage) (err error) {
		if o.value, err = edit.ReadJSON(string(raw)); err != nil {
			return bad("", "%s", err)
		}
		return nil
	}}
	path.required = true
	type config struct{ ops []patchOp }
	ops := objects("ops", "operations, in order, all or none", 1, maxList, func(c *config) *[]patchOp { return &c.ops }, params[patchOp]{op, path, from, value})
	return defineFile(Descriptor{
		Type:        kind,
		Description: description,
		ErrorCodes:  []sandrone.Code{sandrone.ProcessorConfigInvalid, sandrone.FileProcessorFailed},
		Examples:    []sandrone.ProcessorSpec{example(kind, `{"ops":[{"op":"add","path":"/mode","value":"rule"},{"op":"copy","from":"/mode","path":"/old"}]}`)},
	}, params[config]{ops}, func(c *config) (step[File], error) {
		list := make([]edit.Op, len(c.ops))
		for i, o := range c.ops {
			if o.value == nil {
				o.value, _ = edit.ReadJSON("null")
			}
			list[i] = edit.Op{Op: o.op, Path: o.path, Value: o.value}
			if o.op == "move" || o.op == "copy" {
				if o.from == nil {
					return nil, bad(fmt.Sprintf("ops[%d].from", i), "from is required")
				}
				list[i].From = *o.from
			}
		}
		return func(_ context.Context, _ *scope, in File) (File, error) {
			var err error
			if in.Content, err = apply(in.Content, list); err != nil {
				return File{}, fileFault(err, sandrone.FileProcessorFailed)
			}
			return in, nil
		}, nil
	})
}
