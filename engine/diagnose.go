package engine

import (
	"context"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/sandrone-gateway/sandrone"
)

// DiagnoseRequest asks what becomes of an input: exactly one of Content,
// Remote, Subscription and File. The JSON form is that of the API.
type DiagnoseRequest struct {
	Content *string `json:"content,omitempty"`
	Kind    string  `json:"kind,omitempty"` // of Content: "auto" (default), "nodes", "subscription", "file"

	Remote *sandrone.RemoteInput `json:"remote,omitempty"`

	Format     string                   `json:"format,omitempty"`     // of nodes
	Processors []sandrone.ProcessorSpec `json:"processors,omitempty"` // on nodes

	Subscription *StoredOr[sandrone.Subscription] `json:"subscription,omitempty"`
	File         *StoredOr[sandrone.FileSpec]     `json:"file,omitempty"`
	Args         map[string]string                `json:"args,omitempty"`
}

// StoredOr is a stored definition by its name, or a draft of one. In JSON it
// is a string or an object.
type StoredOr[T any] struct {
	Name  string
	Draft *T // nil: the stored one
}

// UnmarshalJSONFrom reads a string or, under the options of dec, an object.
func (s *StoredOr[T]) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() == '"' {
		s.Draft = nil
		return json.UnmarshalDecode(dec, &s.Name)
	}
	s.Name, s.Draft = "", new(T)
	return json.UnmarshalDecode(dec, s.Draft)
}

// Diagnosis is what became of an input, stage by stage.
type Diagnosis struct {
	Status       string                 `json:"status"` // ok, partial, failed
	Input        DiagnosedInput         `json:"input"`
	Stages       []DiagnosedStage       `json:"stages"`
	Nodes        []sandrone.Node        `json:"nodes,omitempty"`
	File         *DiagnosedFile         `json:"file,omitempty"`
	Counts       sandrone.IssueCounts   `json:"counts"`
	Issues       []sandrone.Issue       `json:"issues,omitempty"`
	Warnings     []sandrone.Warning     `json:"warnings,omitempty"`
	Dependencies []sandrone.ResourceRef `json:"dependencies,omitempty"`
	SourceRefs   []sandrone.SourceRef   `json:"source_refs,omitempty"`
	Report       sandrone.Report        `json:"report"`
	Error        *sandrone.Error        `json:"error,omitempty"`
}

// DiagnosedInput says what was looked at.
type DiagnosedInput struct {
	Kind   string `json:"kind"` // "auto" if it could not be told
	Name   string `json:"name,omitempty"`
	Format string `json:"format,omitempty"`
	Remote bool   `json:"remote,omitempty"`
}

// DiagnosedStage is one stage of the way.
type DiagnosedStage struct {
	Index       int                    `json:"index"` // one-based
	Scope       string                 `json:"scope"` // "input", "subscription:<name>", "file:<name>"
	Kind        string                 `json:"kind"`  // parse, materialize, compile, processor
	Type        string                 `json:"type,omitempty"`
	Name        string                 `json:"name,omitempty"`
	Stage       string                 `json:"stage,omitempty"` // of a processor: nodes or file
	InputCount  int                    `json:"input_count"`
	OutputCount int                    `json:"output_count"`
	Warnings    []sandrone.Warning     `json:"warnings,omitempty"`
	Probes      []sandrone.ProbeAnswer `json:"probes,omitempty"`
	Error       *sandrone.Error        `json:"error,omitempty"`
}

// DiagnosedFile is the file at the end of the way.
type DiagnosedFile struct {
	Name        string `json:"name"`
	Kind        string `json:"kind"`
	ContentType string `json:"content_type"`
	Content     []byte `json:"content"` // base64
}

// Diagnose runs the declared way of an input and tells what happened at each
// stage. It reads no cache of results, stores nothing and adds no probe. What
// fails on the way is in the Diagnosis; errors are those of a request that
// makes no sense, of an unknown stored name, and input_kind_ambiguous and
// input_kind_unrecognized.
func (e *Engine) Diagnose(ctx context.Context, req DiagnoseRequest) (*Diagnosis, error) {
	return nil, sandrone.Errorf(sandrone.NotImplemented, "diagnose is not part of this build")
}
