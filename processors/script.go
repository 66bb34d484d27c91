package processors

import (
	"context"
	"encoding/json"

	"github.com/sandrone-gateway/sandrone"
)

// ScriptType is what the registry must know of scripts; the sandbox itself is
// handed in with each run.
type ScriptType struct {
	ParamsSchema json.RawMessage
	// Check decodes params without loading or running anything. Its error is a
	// processor_config_invalid whose field begins with "params".
	Check func(params json.RawMessage) error
}

// ScriptRunner runs the user's JavaScript. Errors are coded. It does not write
// through the nodes that it gets, and may return them.
type ScriptRunner interface {
	RunNodes(ctx context.Context, c ScriptCall, nodes []*sandrone.Node) (ScriptNodes, error)
	RunFile(ctx context.Context, c ScriptCall, f File) (File, []sandrone.Warning, error)
}

// ScriptCall is one run of a script.
type ScriptCall struct {
	Params  json.RawMessage
	Index   int // of the step in its list
	Target  string
	Context Context
	Request Request
}

// ScriptNodes is what a script made of a batch.
type ScriptNodes struct {
	Nodes    []*sandrone.Node
	Origins  []int // for each node its index in the input, -1 where the runner does not know; nil if it knows none
	Warnings []sandrone.Warning
}

func (t *ScriptType) descriptor(effects Effects, description string) Descriptor {
	d := Descriptor{
		Type:         "script",
		Description:  description,
		ParamsSchema: json.RawMessage(`{"type":"object"}`),
		Effects:      effects,
		ErrorCodes:   []sandrone.Code{sandrone.ProcessorConfigInvalid, sandrone.ScriptTimeout, sandrone.ScriptRuntime},
	}
	if t != nil {
		d.ParamsSchema = t.ParamsSchema
	}
	return d
}

func (t *ScriptType) check(params json.RawMessage) error {
	if t == nil || t.Check == nil {
		return sandrone.Errorf(sandrone.NotImplemented, "this build runs no scripts")
	}
	return t.Check(params)
}

func (s *scope) script(params json.RawMessage) (ScriptRunner, ScriptCall, error) {
	if s.Scripts == nil {
		return nil, ScriptCall{}, sandrone.Errorf(sandrone.NotImplemented, "scripts cannot run here")
	}
	return s.Scripts, ScriptCall{Params: params, Index: s.index, Target: s.Target, Context: s.Context, Request: s.Request}, nil
}

// scriptNodes runs a script on the whole batch.
func scriptNodes(t *ScriptType) *processor[[]entry] {
	d := t.descriptor(Effects{Probes: true, RemoteReads: true, RunsScript: true}, "Runs a JavaScript function over the nodes, in a sandbox.")
	d.Examples = []sandrone.ProcessorSpec{{
		Type: "script", Stage: sandrone.NodesStage,
		Params: json.RawMessage(`{"source":{"type":"inline","content":"function main(input) { input.nodes.reverse(); return input; }"}}`),
	}}
	return &processor[[]entry]{Descriptor: d, build: func(params json.RawMessage) (step[[]entry], error) {
		if err := t.check(params); err != nil {
			return nil, err
		}
		return func(ctx context.Context, s *scope, in []entry) ([]entry, error) {
			runner, call, err := s.script(params)
			if err != nil {
				return nil, err
			}
			nodes := make([]*sandrone.Node, len(in))
			for i, e := range in {
				nodes[i] = e.node
			}
			res, err := runner.RunNodes(ctx, call, nodes)
			if err != nil {
				return nil, err
			}
			for _, w := range res.Warnings {
				s.warn(w)
			}
			return s.adopt(in, res), nil
		}, nil
	}}
}

// scriptFile runs a script on a document.
func scriptFile(t *ScriptType) *processor[File] {
	d := t.descriptor(Effects{RemoteReads: true, RunsScript: true}, "Runs a JavaScript function over the document, in a sandbox.")
	d.Examples = []sandrone.ProcessorSpec{{
		Type: "script", Stage: sandrone.FileStage,
		Params: json.RawMessage(`{"source":{"type":"inline","content":"function main(input) { input.file.content += '\\n'; return input; }"}}`),
	}}
	return &processor[File]{Descriptor: d, build: func(params json.RawMessage) (step[File], error) {
		if err := t.check(params); err != nil {
			return nil, err
		}
		return func(ctx context.Context, s *scope, in File) (File, error) {
			runner, call, err := s.script(params)
			if err != nil {
				return File{}, err
			}
			out, warnings, err := runner.RunFile(ctx, call, in)
			for _, w := range warnings {
				s.warn(w)
			}
			return out, err
		}, nil
	}}
}

// adopt makes entries of what a script returned: a node that is equal to one of
// the input is that one, a changed one keeps its trace.
func (s *scope) adopt(in []entry, res ScriptNodes) []entry {
	origins := originsOf(in, res)
	out := make([]entry, len(res.Nodes))
	for i, n := range res.Nodes {
		from := origins[i]
		if from < 0 {
			out[i] = entry{n, s.newID()}
			continue
		}
		out[i] = entry{n, in[from].id}
		if n != in[from].node && same(n, in[from].node) {
			out[i].node = in[from].node
		}
	}
	return out
}

// originsOf takes the origins that are known, and pairs the other nodes by name
// and endpoint, then by name, then by endpoint.
func originsOf(in []entry, res ScriptNodes) []int {
	var (
		out     = res.Nodes
		origins = make([]int, len(out))
		taken   = make([]bool, len(in))
		missing = 0
	)
	for i := range out {
		origins[i] = -1
		if i < len(res.Origins) {
			if from := res.Origins[i]; from >= 0 && from < len(in) && !taken[from] {
				origins[i], taken[from] = from, true
				continue
			}
		}
		missing++
	}
	if missing == 0 {
		return origins
	}
	for _, fields := range [][]string{{"name", "type", "server", "port"}, {"name"}, {"type", "server", "port", "uuid", "password"}} {
		free := make(map[string][]int)
		for i, e := range in {
			if !taken[i] {
				key := keyOf(e.node, fields)
				free[key] = append(free[key], i)
			}
		}
		for i := range out {
			if origins[i] >= 0 {
				continue
			}
			key := keyOf(out[i], fields)
			if list := free[key]; len(list) > 0 {
				origins[i], free[key] = list[0], list[1:]
				taken[list[0]] = true
			}
		}
	}
	return origins
}
