package engine

import (
	"context"

	"github.com/sandrone-gateway/sandrone"
)

// Inspection is what this build and this process can do.
type Inspection struct {
	Formats    FormatNames    `json:"formats"`
	Processors ProcessorNames `json:"processors"`
	FileKinds  []string       `json:"file_kinds"`
	Probe      ProbeBackends  `json:"probe"`
	Store      StoreState     `json:"store"`
}

// FormatNames are the node formats that are read and written, sorted.
type FormatNames struct {
	Parse  []string `json:"parse"`
	Render []string `json:"render"`
}

// ProcessorNames are the public processors of each stage, sorted.
type ProcessorNames struct {
	Nodes []string `json:"nodes"`
	File  []string `json:"file"`
}

// ProbeBackends are the ways in which nodes can be probed.
type ProbeBackends struct {
	Methods  []string       `json:"methods"` // those with a backend, sorted
	Backends []ProbeBackend `json:"backends"`
}

// ProbeBackend is one registered way.
type ProbeBackend struct {
	Method  string `json:"method"`
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	Core    string `json:"core,omitempty"`
}

// StoreState says whether definitions are kept, and how many there are.
type StoreState struct {
	Configured    bool `json:"configured"`
	Subscriptions *int `json:"subscriptions,omitempty"` // nil without a store
	Files         *int `json:"files,omitempty"`
}

// Inspect tells what this build and this process can do. A store that cannot
// be counted is an error.
func (e *Engine) Inspect(ctx context.Context) (Inspection, error) {
	i := Inspection{
		Formats:    FormatNames{Parse: e.registry.ParserNames(), Render: e.registry.RendererNames()},
		Processors: ProcessorNames{Nodes: []string{}, File: []string{}},
		FileKinds:  []string{},
		Probe:      ProbeBackends{Methods: []string{}, Backends: []ProbeBackend{}},
	}
	if e.steps != nil {
		i.Processors.Nodes = e.steps.Types(sandrone.NodesStage)
		i.Processors.File = e.steps.Types(sandrone.FileStage)
	}
	if e.live.Load().prober != nil {
		i.Probe.Methods = []string{sandrone.ProbeTCP}
		i.Probe.Backends = []ProbeBackend{{Method: sandrone.ProbeTCP, Name: sandrone.ProbeTCP}}
	}
	if e.store == nil {
		return i, nil
	}
	i.FileKinds = []string{sandrone.FileStatic}
	counts, err := e.StoreCounts(ctx)
	if err != nil {
		return Inspection{}, err
	}
	i.Store = StoreState{Configured: true, Subscriptions: &counts.Subscriptions, Files: &counts.Files}
	return i, nil
}
