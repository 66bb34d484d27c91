package engine

import (
	"context"
	"slices"

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
	s, err := e.subscription(ctx, req.Name)
	if err != nil {
		return nil, err
	}
	r := e.request(req.Refresh, s.Meta)
	if r.live.prober == nil {
		return nil, sandrone.Errorf(sandrone.ProbeBackendUnavailable, "probing is not available here")
	}
	p, err := r.asked(ctx, s, how{Args: req.Args}, chainOptions{})
	if err != nil {
		return nil, ofSubscription(err, s.Name)
	}
	nodes := make([]sandrone.Node, 0, len(p.nodes))
	var identities []string
	for i, id := range identitiesOf(p.nodes) {
		if len(req.Identities) == 0 || slices.Contains(req.Identities, id) {
			nodes, identities = append(nodes, p.nodes[i]), append(identities, id)
		}
	}
	o := req.Options
	o.Refresh = req.Refresh
	if req.Progress != nil {
		done := 0
		o.Progress = func(index int, result *sandrone.ProbeResult) {
			done++
			req.Progress(done, len(nodes), index, identities[index], result)
		}
	}
	answer, err := r.live.prober.Probe(ctx, nodes, o)
	if err != nil {
		return nil, err
	}
	e.countProbe(&answer)
	facts := p.facts()
	answer.Report.Dependencies = append([]sandrone.ResourceRef{{Kind: sandrone.KindSubscription, Name: s.Name}}, facts.deps...)
	return &answer, nil
}
