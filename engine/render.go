package engine

import (
	"context"

	"github.com/sandrone-gateway/sandrone"
)

// RenderRequest asks for the nodes of a stored subscription in a format.
type RenderRequest struct {
	Name    string
	Format  string // render format, with an optional @version; empty means uri-list
	Args    map[string]string
	Refresh bool // read no cache
}

// Rendering is finished text: of a subscription or of a file.
type Rendering struct {
	ContentType string
	Body        []byte
	Report      sandrone.Report
	Cached      bool  // the whole result is a cached one
	Stale       int64 // age in seconds of the oldest last good copy used, 0 for none

	Name    string         // of a file: its final name
	Profile *SourceProfile // what the source says of itself; remote subscriptions only
}

// SourceProfile is what a remote source says of itself in the headers of its
// answer.
type SourceProfile struct {
	Traffic             *Traffic `json:"traffic,omitempty"`
	UpdateIntervalHours int      `json:"update_interval_hours,omitempty"` // 0 if it does not say
	WebPage             string   `json:"web_page,omitempty"`              // an http or https address, or empty
}

// RenderSubscription makes the nodes of a stored subscription and writes them.
//
// Errors: invalid_argument for an unknown format, before anything is fetched;
// not_found; conflict; those of sources and steps; render_failed.
func (e *Engine) RenderSubscription(ctx context.Context, req RenderRequest) (*Rendering, error) {
	return nil, sandrone.Errorf(sandrone.NotImplemented, "subscriptions are not part of this build")
}
