package sandrone

import "encoding/json"

// ProcessorSpec is one step of a chain that transforms nodes or files.
type ProcessorSpec struct {
	Name     string          `json:"name,omitempty"`
	Type     string          `json:"type"`
	Stage    string          `json:"stage,omitempty"` // "nodes" or "file"
	Params   json.RawMessage `json:"params,omitempty"`
	Disabled bool            `json:"disabled,omitempty"`
}

// The stages of a [ProcessorSpec].
const (
	NodesStage = "nodes"
	FileStage  = "file"
)
