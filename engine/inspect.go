package engine

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

// StoreState says whether definitions are kept.
type StoreState struct {
	Configured bool `json:"configured"`
}

// Inspect tells what this build and this process can do.
func (e *Engine) Inspect() Inspection {
	return Inspection{
		Formats:    FormatNames{Parse: e.registry.ParserNames(), Render: e.registry.RendererNames()},
		Processors: ProcessorNames{Nodes: []string{}, File: []string{}},
		FileKinds:  []string{},
		Probe:      ProbeBackends{Methods: []string{}, Backends: []ProbeBackend{}},
	}
}
