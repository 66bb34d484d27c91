package processors

import (
	"context"
	"crypto/rand"
	"io"
	"time"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/processors/resolve"
)

// Run is one walk along a list of steps: what was asked for, and what the steps
// may do.
type Run struct {
	Target  string // render format of the request, if any
	Context Context
	Request Request

	// Field is the path of the list in the request or definition, as errors
	// name it. Empty means "processors".
	Field string

	// Trace asks for what each step did to each node.
	Trace bool

	// Dry lets steps that exist to ask the network pass their input through,
	// with a warning each.
	Dry bool

	Services
}

// Context is what is known of the nodes at the start of a list.
type Context struct {
	InputName    string                 `json:"input_name,omitempty"`
	Dependencies []sandrone.ResourceRef `json:"dependencies,omitempty"`
	Sources      []Source               `json:"sources,omitempty"`
	Meta         map[string]string      `json:"meta,omitempty"`
}

// Source is where nodes came from.
type Source struct {
	Format     string               `json:"format"`
	SourceRefs []sandrone.SourceRef `json:"source_refs,omitempty"`
	Warnings   []sandrone.Warning   `json:"warnings,omitempty"`
}

// Request is what the caller gave along.
type Request struct {
	TraceID string            `json:"trace_id,omitempty"`
	Args    map[string]string `json:"args,omitempty"`
	Meta    map[string]string `json:"meta,omitempty"`
}

// Services are what steps may do beyond their input. A step whose service is
// absent fails.
type Services struct {
	Prober  Prober           // for probe
	Scripts ScriptRunner     // for script
	Nodes   NodeAdder        // for add_nodes
	Network resolve.Network  // for resolve_domain: the guarded way out
	Cache   Cache            // for resolve_domain; nil means none
	Random  io.Reader        // nil means the system's source
	Now     func() time.Time // nil means time.Now
}

// Prober probes a batch of nodes. The results are in the order of the nodes. A
// call that could run fails for no dead node; its errors are coded.
type Prober interface {
	Probe(ctx context.Context, nodes []sandrone.Node, o sandrone.ProbeOptions) (sandrone.ProbeAnswer, error)
}

// Cache keeps bytes for a while. A value that is gone or broken is a miss.
type Cache interface {
	Get(ctx context.Context, key string) ([]byte, bool)
	Put(ctx context.Context, key string, value []byte, ttl time.Duration) error
}

func (s *Services) random() io.Reader {
	if s.Random != nil {
		return s.Random
	}
	return rand.Reader
}

func (s *Services) now() time.Time {
	if s.Now != nil {
		return s.Now()
	}
	return time.Now()
}

// File is a document on its way through the file stage.
type File struct {
	Name      string             `json:"name"`
	Kind      string             `json:"kind"`
	MediaType string             `json:"media_type,omitempty"`
	Encoding  string             `json:"encoding,omitempty"`
	Content   string             `json:"content"`
	Meta      map[string]string  `json:"meta,omitempty"`
	Warnings  []sandrone.Warning `json:"warnings,omitempty"`
}

// scope is what one step sees of its run.
type scope struct {
	*Run
	index    int // of the step
	warnings []sandrone.Warning
	notes    map[int]note // by node id; nil unless a trace is asked for
	next     *int         // the id of the next new node
}

// note is what a step found out about a node.
type note struct{ region, matched string }

// warn adds a warning of this step.
func (s *scope) warn(w sandrone.Warning) {
	index := s.index
	w.ProcessorIndex = &index
	s.warnings = append(s.warnings, w)
}

// dry reports whether the step is to be passed over, and warns of it.
func (s *scope) dry() bool {
	if s.Dry {
		s.warn(sandrone.Warning{Code: sandrone.WarnDryRunSkipped, Message: "the step asks the network and was passed over by a dry run"})
	}
	return s.Dry
}

// newID returns the id of a node that the step made.
func (s *scope) newID() int {
	id := *s.next
	*s.next++
	return id
}
