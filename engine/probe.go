package engine

import (
	"context"

	"github.com/sandrone-gateway/sandrone"
)

// ProbeRequest asks to probe the final nodes of a stored subscription.
type ProbeRequest struct {
	Name       string
	Options    sandrone.ProbeOptions
	Args       map[string]string
	Refresh    bool
	Identities []string // only the nodes with these; nil means all

	// Progress is called with every result as it comes, by one goroutine at a
	// time. index is the node's place in the batch of total nodes.
	Progress func(done, total, index int, identity string, r *sandrone.ProbeResult)
}

// ProbeSubscription probes the nodes of a stored subscription.
//
// Errors: those of a preview, and those of the probe service.
func (e *Engine) ProbeSubscription(ctx context.Context, req ProbeRequest) (*sandrone.ProbeAnswer, error) {
	return nil, sandrone.Errorf(sandrone.NotImplemented, "probing is not part of this build")
}
