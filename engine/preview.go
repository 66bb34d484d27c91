package engine

import (
	"context"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/processors"
)

// PreviewRequest asks for the nodes of a subscription before and after its own
// steps: of the stored one of that name, or of a draft.
type PreviewRequest struct {
	Name    string
	Draft   *sandrone.Subscription // in place of Name; its own name may be empty
	Args    map[string]string      // request args of every step on the way
	Refresh bool                   // read no cache of fetches and probes
	Trace   bool                   // tell what each step did to each node
	Target  string                 // a render format: tell what each node would lose in it
}

// Preview is the answer, in the shape of the API.
type Preview struct {
	SubscriptionName string                 `json:"subscription_name"`
	Type             string                 `json:"type"`
	Format           string                 `json:"format,omitempty"`
	BeforeCount      int                    `json:"before_count"`
	AfterCount       int                    `json:"after_count"`
	StatusCounts     StatusCounts           `json:"status_counts"`
	Nodes            []PreviewNode          `json:"nodes"`
	Steps            []processors.StepTrace `json:"steps,omitzero"` // nil unless a trace was asked for
	Warnings         []sandrone.Warning     `json:"warnings"`
	Logs             []ScriptLog            `json:"logs,omitempty"`  // of a draft's scripts
	Stale            bool                   `json:"stale,omitempty"` // a last good copy was used

	// Report is what MCP and the schedule show in place of the warnings.
	Report sandrone.Report `json:"-"`
}

// StatusCounts counts the nodes of a preview by their status.
type StatusCounts struct {
	Added     int `json:"added"`
	Modified  int `json:"modified"`
	Removed   int `json:"removed"`
	Unchanged int `json:"unchanged"`
}

// PreviewNode is one node before and after the steps.
type PreviewNode struct {
	Identity    string            `json:"identity"`
	Status      string            `json:"status"` // a member of StatusCounts
	Before      *sandrone.Node    `json:"before,omitempty"`
	After       *sandrone.Node    `json:"after,omitempty"`
	TargetNames map[string]string `json:"target_names,omitempty"`
	ChangedBy   []int             `json:"changed_by,omitempty"` // steps, ascending
	RemovedBy   *int              `json:"removed_by,omitempty"`
	AddedBy     *int              `json:"added_by,omitempty"`
	Region      string            `json:"region,omitempty"` // as the last step that looked for one found it
	Matched     string            `json:"matched,omitempty"`
	Loss        *NodeLoss         `json:"loss,omitempty"`
}

// NodeLoss is what one node would lose in the target of a preview.
type NodeLoss struct {
	Status string      `json:"status"` // "ok", "lossy", "skipped"
	Name   string      `json:"name"`   // as written, empty if it is not
	Fields []LossField `json:"fields"`
}

// LossField is one thing that is lost or changed.
type LossField struct {
	Code    string `json:"code"`
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
}

// ScriptLog is one entry that a script step wrote with api.log.
type ScriptLog struct {
	Index int    `json:"index"` // of the step
	Text  string `json:"text"`
}

// StepError is a preview that failed at a step, with what the steps did until
// then.
type StepError struct {
	Err   *sandrone.Error
	Steps []processors.StepTrace
	Logs  []ScriptLog
}

func (e *StepError) Error() string { return e.Err.Error() }

func (e *StepError) Unwrap() error { return e.Err }

// PreviewSubscription shows the nodes of a subscription before and after its
// own steps. Nothing is stored but fetch and probe caches.
//
// Errors: not_found for an unknown name, conflict for a subscription that needs
// itself, those of its sources, and [*StepError] for a step that failed.
func (e *Engine) PreviewSubscription(ctx context.Context, req PreviewRequest) (*Preview, error) {
	return nil, sandrone.Errorf(sandrone.NotImplemented, "previews are not part of this build")
}
