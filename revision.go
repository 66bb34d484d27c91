package sandrone

import (
	"encoding/json"
	"time"
)

// Revision is a former definition of a subscription, file or share. It is no
// resource: nothing can refer to it.
type Revision struct {
	ID         string          `json:"id"` // 32 hex digits; later revisions have greater ids
	Kind       string          `json:"kind"`
	Name       string          `json:"name"` // of a share: its id
	Op         string          `json:"op"`   // RevisionOverwrite, RevisionDelete: what ended it
	ReplacedAt time.Time       `json:"replaced_at"`
	Size       int             `json:"size"`                 // bytes of the definition as it was stored
	Exists     bool            `json:"exists"`               // a resource of that name exists now
	Definition json.RawMessage `json:"definition,omitempty"` // only where one revision is read
}

// What ended the time of a [Revision].
const (
	RevisionOverwrite = "overwrite"
	RevisionDelete    = "delete"
)
