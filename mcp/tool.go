package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/catalog"
	"github.com/sandrone-gateway/sandrone/closed"
	"github.com/sandrone-gateway/sandrone/engine"
)

// What a tool touches, as its annotations say it.
type effect int

const (
	reads   effect = iota // what the process knows
	reaches               // reads, and may fetch or probe
	manages               // changes what is stored
)

func (e effect) annotations() *sdk.ToolAnnotations {
	open, destructive := e == reaches, e == manages
	a := &sdk.ToolAnnotations{ReadOnlyHint: e != manages, OpenWorldHint: &open}
	if e == manages {
		a.DestructiveHint, a.IdempotentHint = &destructive, true
	}
	return a
}

// tool is what is published of a tool.
type tool struct {
	name   string
	title  string
	about  string
	effect effect
	in     *jsonschema.Schema
	out    *jsonschema.Schema // of success
	report bool               // an error may come with a report
}

// addTool registers a tool. Arguments are held to the input schema, so what is
// published is what is checked; then they are decoded into In.
func addTool[In, Out any](e *Endpoint, s *sdk.Server, t tool, call func(context.Context, In) (Out, error)) {
	check := newChecker(t.in)
	handle := func(ctx context.Context, raw json.RawMessage) (json.RawMessage, error) {
		if t.effect == manages && !e.options.MayWrite(ctx) {
			return nil, sandrone.Errorf(sandrone.Forbidden, "this needs a token with scope write")
		}
		if len(raw) == 0 {
			raw = json.RawMessage("{}")
		}
		var v any
		if err := closed.Unmarshal("arguments", raw, &v); err != nil {
			return nil, err
		}
		if err := check.check(v); err != nil {
			return nil, err
		}
		var in In
		if err := closed.Unmarshal("arguments", raw, &in); err != nil {
			return nil, err
		}
		out, err := call(ctx, in)
		if err != nil {
			return nil, err
		}
		return encode(out)
	}
	s.AddTool(&sdk.Tool{
		Name:         t.name,
		Title:        t.title,
		Description:  t.about,
		Annotations:  t.effect.annotations(),
		InputSchema:  t.in,
		OutputSchema: union(t),
	}, func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		out, err := recovered(func() (json.RawMessage, error) { return handle(ctx, r.Params.Arguments) })
		e.options.Called(t.name, err == nil)
		if err != nil {
			return e.failed(ctx, err, t.report)
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: string(out)}}, StructuredContent: out}, nil
	})
}

// recovered turns a panic of fn into an error, so that it costs one call.
func recovered[T any](fn func() (T, error)) (v T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = engine.Recovered(p)
		}
	}()
	return fn()
}

// failure is the structured content of a call that failed.
type failure struct {
	Error  *sandrone.Error  `json:"error"`
	Report *sandrone.Report `json:"report,omitempty"`
}

func (e *Endpoint) failed(ctx context.Context, err error, withReport bool) (*sdk.CallToolResult, error) {
	content := failure{Error: e.shown(ctx, err)}
	if of, ok := errors.AsType[*engine.ReportError](err); ok && withReport {
		content.Report = &of.Report
	}
	out, err := encode(content)
	if err != nil {
		return nil, err
	}
	return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: content.Error.Error()}}, StructuredContent: out}, nil
}

// shown is what a client is told of an error.
func (e *Endpoint) shown(ctx context.Context, err error) *sandrone.Error {
	if errors.Is(err, context.Canceled) {
		return sandrone.Errorf(sandrone.Busy, "the request was cancelled")
	}
	own := *sandrone.AsError(err)
	switch {
	case own.Code == sandrone.InternalError:
		e.options.Fault(ctx, own.Unwrap())
		own.Message = "tool execution failed"
	case own.Code == sandrone.NotFound && own.ResourceKind != "":
		own.Message = "requested resource was not found"
	}
	return &own
}

// encode is the compact JSON form, in which texts stay readable.
func encode(v any) (json.RawMessage, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// union is the output schema of a tool: success or failure, never both. Both
// branches are closed, and only a failure has a member error.
func union(t tool) *jsonschema.Schema {
	bad := schemaOf[failure]()
	if !t.report {
		delete(bad.Properties, "report")
	}
	return &jsonschema.Schema{Type: "object", OneOf: []*jsonschema.Schema{t.out, bad}}
}

// schemaOf is the schema of an output. Parts whose shape is told elsewhere are
// named and not described, since the tool list has to stay small.
func schemaOf[T any]() *jsonschema.Schema {
	forms := make(map[reflect.Type]*jsonschema.Schema)
	for _, t := range []reflect.Type{
		reflect.TypeFor[sandrone.Node](), reflect.TypeFor[sandrone.Warning](), reflect.TypeFor[sandrone.SourceRef](),
		reflect.TypeFor[sandrone.RenderSummary](), reflect.TypeFor[sandrone.ProbeReport](), reflect.TypeFor[sandrone.SourceResult](),
		reflect.TypeFor[sandrone.ProcessorSpec](), reflect.TypeFor[engine.PreviewNode](), reflect.TypeFor[sandrone.FileSpec](),
	} {
		forms[t] = &jsonschema.Schema{Type: "object"}
	}
	schema, err := catalog.TypeSchema(reflect.TypeFor[T](), forms)
	if err != nil {
		panic(err) // a test makes every schema
	}
	return schema
}
