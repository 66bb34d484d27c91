package table

import "github.com/sandrone-gateway/sandrone"

// Profile is what the capability catalogue says of one format in one
// direction: what it keeps, what it loses and what it only carries in raw.
type Profile struct {
	Types   []sandrone.Type
	Fields  []Entry // supported
	Lossy   []Entry // render only
	RawOnly []Entry // parse only
}

// Entry is one line of a [Profile].
type Entry struct {
	Field    string             `json:"ir_field"` // dotted path in the node, or a raw key
	Protocol sandrone.Type      `json:"protocol"`
	Status   string             `json:"status"` // "supported", "lossy", "raw_only"
	Source   sandrone.SourceRef `json:"source_ref"`
	Notes    string             `json:"notes,omitempty"`
}
