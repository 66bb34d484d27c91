package sandrone

// Issue is one finding of validation: a field of a node that is missing or
// cannot be right. Its text never holds the value, which may be a secret.
type Issue struct {
	Severity  string `json:"severity"` // SeverityError
	Stage     string `json:"stage,omitempty"`
	Code      string `json:"code"` // IssueRequired or IssueInvalid
	Message   string `json:"message"`
	NodeIndex *int   `json:"node_index,omitempty"` // zero-based in the batch
	NodeID    string `json:"node_id,omitempty"`
	NodeName  string `json:"node_name,omitempty"`
	NodeType  Type   `json:"node_type,omitempty"`
	Field     string `json:"field,omitempty"` // dotted path in [Node]
	Target    string `json:"target,omitempty"`
}

// SeverityError is the severity of an issue that makes its node unusable.
const SeverityError = "error"

// The codes of an [Issue].
const (
	IssueRequired = "node_validation_required" // a field is missing
	IssueInvalid  = "node_validation_invalid"  // a field has a value that cannot be right
)

// The stages at which nodes are validated.
const (
	StageNormalized = "normalized" // after parsing
	StageProcessed  = "processed"  // after a chain of processors
	StageRender     = "render"
	StageProbe      = "probe"
)

// IssueCounts sums up the validation of one batch.
type IssueCounts struct {
	Input   int `json:"input"` // nodes looked at
	Valid   int `json:"valid"`
	Invalid int `json:"invalid"`
	Error   int `json:"error"` // issues of that severity
	Warning int `json:"warning"`
}
