// Package processors holds the steps that transform nodes and files, and the
// chain that runs them.
//
// A [Registry] knows every type of step, by stage. It says of each what it does
// and which params it takes ([Descriptor]), checks definitions before they are
// saved ([Registry.Check]), and runs the steps of a list over a batch of nodes
// ([Registry.Nodes]). A step touches nothing but its input and what the [Run]
// hands it: whether it may probe, run scripts or ask the network is decided
// above this package.
//
// Each type is one file: its params as one table, from which decoding,
// validation, defaults and JSON Schema come, and the function that it makes of
// them.
package processors

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/processors/edit"
)

// Descriptor is what a type of step says of itself.
type Descriptor struct {
	Type         string                   `json:"type"`
	Stage        string                   `json:"stage"` // sandrone.NodesStage or sandrone.FileStage
	Description  string                   `json:"description"`
	ParamsSchema json.RawMessage          `json:"params_schema"` // closed; building a step is the final judge
	Effects      Effects                  `json:"effects"`
	Examples     []sandrone.ProcessorSpec `json:"examples"`
	ErrorCodes   []sandrone.Code          `json:"error_codes"`
}

// Effects are what a step does besides looking at its input.
type Effects struct {
	Probes      bool `json:"probes,omitempty"`
	RemoteReads bool `json:"remote_reads,omitempty"`
	RunsScript  bool `json:"runs_script,omitempty"`
}

// processor is one type of step on values of type V: a list of nodes or a file.
type processor[V any] struct {
	Descriptor
	build  func(params json.RawMessage) (step[V], error)
	schema func() json.RawMessage // nil where the descriptor has it
}

// step is a built processor. It returns its output and never writes to its
// input.
type step[V any] func(ctx context.Context, s *scope, in V) (V, error)

// Options are what a build adds to the steps of this package.
type Options struct {
	Scripts *ScriptType // nil: script steps are known, and fail when they are built
}

// Registry knows the types of steps. It is safe for concurrent use.
type Registry struct {
	nodes map[string]*processor[[]entry]
	file  map[string]*processor[File]

	described sync.Once // schemas are made when first asked for; most processes need none
}

// New makes the registry of all steps.
func New(o Options) *Registry {
	r := &Registry{nodes: make(map[string]*processor[[]entry]), file: make(map[string]*processor[File])}
	for _, p := range []*processor[[]entry]{
		filterNodes(), dedup(), rename(), sortNodes(), quickSettings(), probe(), scriptNodes(o.Scripts),
		regexRename(), regexDelete(), regexSort(), shuffle(), flag(), regionFilter(), uselessFilter(),
		conditionalFilter(), duplicateNames(), resolveDomain(), nodePatch(), limit(),
	} {
		p.Stage = sandrone.NodesStage
		r.nodes[p.Type] = p
	}
	for _, p := range []*processor[File]{
		scriptFile(o.Scripts), merge(), template(), replaceText(), addNodes(),
		patch("yaml_patch", "Applies JSON Patch operations to a YAML document and keeps everything else as it stands.", edit.PatchYAML),
		patch("json_patch", "Applies JSON Patch operations to a JSON document.", edit.PatchJSON),
	} {
		p.Stage = sandrone.FileStage
		r.file[p.Type] = p
	}
	return r
}

// Types lists the types of a stage, sorted.
func (r *Registry) Types(stage string) []string {
	if stage == sandrone.FileStage {
		return slices.Sorted(maps.Keys(r.file))
	}
	return slices.Sorted(maps.Keys(r.nodes))
}

// Descriptors lists all types: the file stage first, then nodes, each by type.
// What it returns is shared and must not be changed.
func (r *Registry) Descriptors() []*Descriptor {
	r.described.Do(func() {
		for _, p := range r.nodes {
			if p.schema != nil {
				p.ParamsSchema = p.schema()
			}
		}
		for _, p := range r.file {
			if p.schema != nil {
				p.ParamsSchema = p.schema()
			}
		}
	})
	var list []*Descriptor
	for _, p := range r.file {
		list = append(list, &p.Descriptor)
	}
	for _, p := range r.nodes {
		list = append(list, &p.Descriptor)
	}
	slices.SortFunc(list, func(a, b *Descriptor) int {
		return cmp.Or(cmp.Compare(a.Stage, b.Stage), cmp.Compare(a.Type, b.Type))
	})
	return list
}

// Descriptor returns the descriptor of a type in a stage, or nil.
func (r *Registry) Descriptor(stage, kind string) *Descriptor {
	for _, d := range r.Descriptors() {
		if d.Stage == stage && d.Type == kind {
			return d
		}
	}
	return nil
}

// define makes a nodes-stage processor of its params and of the function that
// turns them into a step.
func define[C any](d Descriptor, ps params[C], build func(*C) (step[[]entry], error)) *processor[[]entry] {
	return declare(d, ps, build)
}

// defineFile is define for the file stage.
func defineFile[C any](d Descriptor, ps params[C], build func(*C) (step[File], error)) *processor[File] {
	return declare(d, ps, build)
}

func declare[V, C any](d Descriptor, ps params[C], build func(*C) (step[V], error)) *processor[V] {
	if d.ErrorCodes == nil {
		d.ErrorCodes = []sandrone.Code{sandrone.ProcessorConfigInvalid}
	}
	return &processor[V]{
		Descriptor: d,
		build: func(raw json.RawMessage) (step[V], error) {
			var c C
			if err := ps.decode(raw, &c); err != nil {
				return nil, err
			}
			return build(&c)
		},
		schema: func() json.RawMessage {
			schema := ps.schema()
			liftRules(schema)
			text, err := json.Marshal(schema)
			if err != nil {
				panic("processors: schema of " + d.Type + ": " + err.Error())
			}
			return text
		},
	}
}

// example makes a spec of a descriptor's example. It panics on bad JSON, which
// a test of all examples would find.
func example(kind, params string) sandrone.ProcessorSpec {
	if !json.Valid([]byte(params)) {
		panic("processors: bad example of " + kind)
	}
	return sandrone.ProcessorSpec{Type: kind, Params: json.RawMessage(params)}
}

// withPatterns are the error codes of steps that match patterns, which may run
// into their time limit.
var withPatterns = []sandrone.Code{sandrone.ProcessorConfigInvalid, sandrone.NodeProcessorFailed}
