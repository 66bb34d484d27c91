package sandrone

import "time"

// Report sums one operation up: where content came from, what was read, what
// was lost. It is returned, never stored.
type Report struct {
	Kind          string         `json:"kind"`   // "convert", "subscription_render", …
	Status        string         `json:"status"` // StatusOK, StatusPartial, StatusFailed
	CreatedAt     time.Time      `json:"created_at"`
	Lossy         bool           `json:"lossy,omitempty"` // a field was lost or a node skipped in rendering
	Refs          []ResourceRef  `json:"refs,omitempty"`
	Dependencies  []ResourceRef  `json:"dependencies,omitempty"` // stored resources read, in order
	SourceRefs    []SourceRef    `json:"source_refs,omitempty"`
	Warnings      []Warning      `json:"warnings,omitempty"` // of all stages, in order of occurrence
	Render        RenderSummary  `json:"render"`
	Probe         *ProbeReport   `json:"probe,omitempty"`          // probe runs only
	Verify        *Verdict       `json:"verify,omitempty"`         // without output; only where a check by the client was asked for
	SourceResults []SourceResult `json:"source_results,omitempty"` // batch conversion only
}

// The states of a [Report] and of a [SourceResult].
const (
	StatusOK      = "ok"
	StatusPartial = "partial" // an input was left out, or a last good copy was used
	StatusFailed  = "failed"
)

// ResourceRef names a stored resource.
type ResourceRef struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

// SourceRef says where content or a mapping comes from.
type SourceRef struct {
	Kind     string `json:"kind"` // "remote", "inline", "protocol", "client-doc", "schema", "product"
	Name     string `json:"name"`
	URL      string `json:"url,omitempty"`
	Repo     string `json:"repo,omitempty"`
	Revision string `json:"revision,omitempty"`
	Path     string `json:"path,omitempty"`
	Lines    string `json:"lines,omitempty"`
	Note     string `json:"note,omitempty"`
}

// RenderSummary counts what a renderer wrote.
type RenderSummary struct {
	SuccessCount int       `json:"success_count"` // nodes written
	LostFields   int       `json:"lost_fields"`   // render_lossy_field warnings
	Warnings     []Warning `json:"warnings,omitempty"`
}

// SourceResult is the outcome of one source of a batch conversion.
type SourceResult struct {
	Index         int    `json:"index"`
	Name          string `json:"name,omitempty"`
	URL           string `json:"url"` // without fragment, user info and query
	Status        string `json:"status"`
	NodeCount     int    `json:"node_count"`
	WarningsCount int    `json:"warnings_count"`
	Error         *Error `json:"error,omitempty"`
}
