package script

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert/field"
	"github.com/sandrone-gateway/sandrone/processors/script/internal/js"
)

// Env is what a step runs in.
type Env struct {
	Runner Runner
	Loader Loader // nil: only inline sources load
	Host   Host   // nil: no call leaves the sandbox
}

// Step is a script with its params, ready to run any number of times.
type Step struct {
	config *Config
	env    Env
}

// New makes a step of its params. An inline script is compiled here, so that a
// syntax error shows early. Errors have code processor_config_invalid (with the
// path below params as field) or script_runtime; a cancelled ctx gives its
// cause.
func New(ctx context.Context, params json.RawMessage, env Env) (*Step, error) {
	c, err := Decode(params)
	if err != nil {
		return nil, err
	}
	if c.Source.Type == "inline" {
		job := &js.Job{Name: c.id(), Text: c.Source.Content}
		if err := env.Runner.compile(ctx, job); err != nil {
			return nil, coded(err)
		}
	}
	return &Step{c, env}, nil
}

// Input is what a script is told besides the nodes or the file.
type Input struct {
	Target   string // render format or target of the request; the kind of a file
	Format   string // render_options.format
	Context  Context
	Request  Request
	Warnings []sandrone.Warning // input.warnings
}

// Context says where nodes come from. Files have none.
type Context struct {
	InputName    string                 `json:"input_name,omitempty"`
	Dependencies []sandrone.ResourceRef `json:"dependencies,omitempty"`
	Sources      []SourceContext        `json:"sources,omitempty"`
	Meta         map[string]string      `json:"meta,omitempty"`
}

// SourceContext is one source of a batch.
type SourceContext struct {
	Format     string               `json:"format"`
	SourceRefs []sandrone.SourceRef `json:"source_refs,omitempty"`
	Warnings   []sandrone.Warning   `json:"warnings,omitempty"`
}

// Request is the request that the step runs for.
type Request struct {
	TraceID string            `json:"trace_id,omitempty"`
	Args    map[string]string `json:"args,omitempty"`
	Meta    map[string]string `json:"meta,omitempty"`
}

// Document is a client file on its way through a chain.
type Document struct {
	Name      string             `json:"name"`
	Kind      string             `json:"kind"`
	MediaType string             `json:"media_type,omitempty"`
	Encoding  string             `json:"encoding,omitempty"`
	Content   string             `json:"content"`
	Meta      map[string]string  `json:"meta,omitempty"`
	Warnings  []sandrone.Warning `json:"warnings,omitempty"`
}

// Output is what a run leaves besides the nodes or the file. Logs are set
// after a failure too.
type Output struct {
	Warnings []sandrone.Warning // of the source, of the result, and those that the script gave
	Logs     []string           // of api.log
	Origins  []int              // of the returned nodes: their indexes in the batch, -1 for objects that are not of it
}

// envelope is input and result of a script, but for the nodes.
type envelope struct {
	Version       int                `json:"version"`
	Stage         string             `json:"stage"`
	Target        string             `json:"target,omitempty"`
	RenderOptions renderOptions      `json:"render_options"`
	Context       Context            `json:"context"`
	Request       Request            `json:"request"`
	Response      response           `json:"response"`
	Args          map[string]any     `json:"args,omitempty"`
	File          *Document          `json:"file,omitempty"`
	Warnings      []sandrone.Warning `json:"warnings,omitempty"`
}

type renderOptions struct {
	Format string `json:"format,omitempty"`
}

type response struct {
	Headers map[string]string `json:"headers,omitempty"`
	Status  int               `json:"status,omitempty"`
}

// Nodes runs the script on a batch. It writes through none of its nodes, and
// returns those that the script did not change. A script that returns nothing
// keeps the batch. The warnings of in are among those of the
// output if the script returned them, or nothing.
//
// Errors have the codes script_runtime, script_timeout, those of the loader,
// or of a call that failed and was not caught; a cancelled ctx gives its
// cause.
func (s *Step) Nodes(ctx context.Context, in Input, nodes []*sandrone.Node) ([]*sandrone.Node, Output, error) {
	pieces, err := encodeNodes(nodes)
	if err != nil {
		return nil, Output{}, err
	}
	b := &bridge{name: s.config.id(), host: s.env.Host, nodes: nodes, pieces: pieces}
	res, env, out, err := s.run(ctx, in, nil, pieces, b)
	if err != nil {
		return nil, out, err
	}
	if res.Kept {
		out.Warnings = slices.Concat(out.Warnings, in.Warnings, b.warnings(res.Warnings))
		out.Origins = make([]int, len(nodes))
		for i := range nodes {
			out.Origins[i] = i
		}
		return nodes, out, nil
	}
	result, kept, err := applyPatches(nodes, res.Nodes)
	if err != nil {
		return nil, Output{Logs: out.Logs}, runtimeError(b.name, err.Error())
	}
	out.Warnings = slices.Concat(out.Warnings, kept, env.Warnings, b.warnings(res.Warnings))
	out.Origins = make([]int, len(result))
	for i, p := range res.Nodes {
		out.Origins[i] = -1
		if p.Own {
			out.Origins[i] = p.Base
		}
	}
	return result, out, nil
}

// File runs the script on a file. Errors are those of Nodes.
func (s *Step) File(ctx context.Context, in Input, file Document) (Document, Output, error) {
	b := &bridge{name: s.config.id(), host: s.env.Host}
	res, env, out, err := s.run(ctx, in, &file, nil, b)
	if err != nil {
		return Document{}, out, err
	}
	if res.Kept {
		out.Warnings = slices.Concat(out.Warnings, in.Warnings, b.warnings(res.Warnings))
		return file, out, nil
	}
	out.Warnings = slices.Concat(out.Warnings, env.Warnings, b.warnings(res.Warnings))
	if got := env.File; got != nil {
		file.Content = got.Content
		for _, m := range []struct {
			to   *string
			from string
		}{{&file.Name, got.Name}, {&file.Kind, got.Kind}, {&file.MediaType, got.MediaType}, {&file.Encoding, got.Encoding}} {
			if m.from != "" {
				*m.to = m.from
			}
		}
		if got.Meta != nil {
			file.Meta = got.Meta
		}
		if got.Warnings != nil {
			file.Warnings = got.Warnings
		}
	}
	return file, out, nil
}

// run loads, runs, and reads the returned envelope.
func (s *Step) run(ctx context.Context, in Input, file *Document, pieces [][]byte, b *bridge) (*js.Result, *envelope, Output, error) {
	loaded, err := s.config.load(ctx, s.env.Loader)
	if err != nil {
		return nil, nil, Output{}, err
	}
	env := envelope{
		Version: 1, Stage: js.StageNodes, Target: in.Target,
		RenderOptions: renderOptions{in.Format},
		Context:       in.Context, Request: in.Request, Warnings: in.Warnings,
		Args: s.args(in.Request.Args),
	}
	if file != nil {
		env.Stage, env.Context, env.File = js.StageFile, Context{}, file
	}
	form, err := encode(env)
	if err != nil {
		return nil, nil, Output{}, err
	}
	job := &js.Job{
		Name: b.name, Text: loaded.Text, Stage: env.Stage, Timeout: s.config.Timeout,
		Envelope: form, Nodes: pieces,
	}
	res, err := s.env.Runner.run(ctx, job, b)
	out := Output{Warnings: loaded.Warnings, Logs: b.logs}
	if err != nil {
		return nil, nil, Output{Logs: b.logs}, coded(err)
	}
	var got envelope
	if !res.Kept {
		if err := decodeJSON(res.Envelope, &got); err != nil {
			return nil, nil, Output{Logs: b.logs}, runtimeError(b.name, err.Error())
		}
	}
	return res, &got, out, nil
}

// args returns the args of the envelope: those of the request win.
func (s *Step) args(request map[string]string) map[string]any {
	all := make(map[string]any, len(s.config.Args)+len(request))
	for key, value := range s.config.Args {
		all[key] = value
	}
	for key, value := range request {
		all[key] = value
	}
	return all
}

// coded gives an error of a run its code.
func coded(err error) error {
	e, ok := errors.AsType[*js.Error](err)
	if !ok {
		return err
	}
	if cause, ok := errors.AsType[*sandrone.Error](e.Cause); ok && e.Kind == js.HostCall {
		own := *cause
		if own.Line == 0 {
			own.Line, own.Column = e.Line, e.Column
		}
		return &own
	}
	out := &sandrone.Error{Code: sandrone.ScriptRuntime, Message: e.Message, Processor: "script", Line: e.Line, Column: e.Column}
	if e.Kind == js.Timeout {
		out.Code = sandrone.ScriptTimeout
	}
	return out.Because(e.Cause)
}

// encode writes JSON without the escapes for HTML, which a script's result
// does not have either.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, sandrone.Errorf(sandrone.InternalError, "internal error").Because(err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// encodeNodes writes each node as JSON of its own; nil for none.
func encodeNodes(nodes []*sandrone.Node) ([][]byte, error) {
	if len(nodes) == 0 {
		return nil, nil
	}
	all, ends := make([]byte, 0, 512*len(nodes)), make([]int, len(nodes))
	for i, n := range nodes {
		var err error
		if all, err = field.AppendJSON(all, n); err != nil {
			return nil, sandrone.Errorf(sandrone.InternalError, "internal error").Because(err)
		}
		ends[i] = len(all)
	}
	pieces, start := make([][]byte, len(nodes)), 0
	for i, end := range ends {
		pieces[i], start = all[start:end:end], end
	}
	return pieces, nil
}
