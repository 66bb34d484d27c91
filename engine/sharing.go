package engine

import (
	"context"
)

// ShareRequest is one public read of a share.
type ShareRequest struct {
	ID          string
	Filename    string // as in the path; checked if HasFilename
	HasFilename bool
	Format      string            // overrides the format of a share of a subscription
	Args        map[string]string // for the processors
	IfNoneMatch []string          // entity tags, or "*": an answer that has one of them is NotModified

	// From whom the request is, for the access record.
	ClientAddress string
	UserAgent     string

	// Slot bounds what no cache holds. It is called before such work, waits
	// for its turn and returns how to give it back, or an error, which becomes
	// the answer. nil does not bound.
	Slot func(ctx context.Context) (release func(), err error)
}

// Shared is the answer to a public read that succeeded.
type Shared struct {
	Body         []byte
	ContentType  string            // safe to show: never a document that a browser would run
	OriginalType string            // of the encrypted body; empty if it is not encrypted
	Filename     string            // canonical, with the extension of its format
	ETag         string            // strong; empty if encrypted
	NotModified  bool              // Body is empty, since the reader has it
	Header       map[string]string // what clients read of the subscription; ASCII, no line ends
	Stale        int64             // age in seconds of the last good copy that was used; 0 if none was
}

// SharedRead answers a public read of a share, and notes it in the access
// record. All that a stranger must not tell apart is not_found with one text:
// an id that is unknown, no longer or not yet valid, a target that is gone.
// Other errors have their code and a fixed text, and no other member.
func (e *Engine) SharedRead(ctx context.Context, req ShareRequest) (*Shared, error) {
	return nil, notPartOf("sharing")
}
