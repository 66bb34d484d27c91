package engine

import (
	"context"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/store"
)

// DryRun is what a put would do.
type DryRun struct {
	Exists bool     `json:"exists"` // a definition of that name is stored
	Diff   []Change `json:"diff"`   // from the stored definition, or from none, to the new one, times aside; empty if they are equal

	// Nodes and Bytes compare what the definitions come to. Both are nil where
	// Error is set, Nodes also for a static file, and Bytes for a subscription.
	Nodes *NodeCounts `json:"nodes,omitempty"`
	Bytes *ByteCounts `json:"bytes,omitempty"`

	Error    *sandrone.Error    `json:"error,omitempty"`    // why the new definition comes to nothing
	Warnings []sandrone.Warning `json:"warnings,omitempty"` // those of the put, then those of making the nodes or the text
}

// NodeCounts count the final nodes. Before is 0 where no definition is stored,
// and nil where the stored one comes to nothing without the network.
type NodeCounts struct {
	Before *int `json:"before_count,omitempty"`
	After  int  `json:"after_count"`
}

// ByteCounts are the lengths of a file's final text; Before is as that of
// [NodeCounts].
type ByteCounts struct {
	Before *int `json:"before,omitempty"`
	After  int  `json:"after"`
}

// DryRunSubscription tells what [Engine.PutSubscription] would do with s, and
// how many nodes it would have. It stores nothing, caches included, and asks
// nobody: sources and remote scripts are their held copies, however old, and
// fetch_failed where none is held. Steps that ask the network pass their nodes
// through with the warning dry_run_step_skipped. A definition that comes to
// nothing is no error of the dry run but a member of its result.
//
// s is normalised. Errors are those of the put.
func (e *Engine) DryRunSubscription(ctx context.Context, s *sandrone.Subscription) (*DryRun, error) {
	warnings, err := e.checkSubscription(s)
	if err != nil {
		return nil, err
	}
	ctx, done, err := e.turns.take(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	out, before, after, err := dryRun(ctx, e, subscriptions, s.Name, s, func(s *sandrone.Subscription) (*product, error) {
		p, err := e.dryRequest(s.Meta).asked(ctx, s, how{}, chainOptions{})
		if err != nil {
			return nil, ofSubscription(err, s.Name)
		}
		return p, nil
	})
	if err != nil {
		return nil, err
	}
	out.Warnings = append(warnings, out.Warnings...)
	if after != nil {
		out.Nodes = &NodeCounts{before.size(nodesOf), len(after.nodes)}
	}
	return out, nil
}

// DryRunFile tells what [Engine.PutFile] would do with f, and how long its text
// would be, as [Engine.DryRunSubscription] does.
func (e *Engine) DryRunFile(ctx context.Context, f *sandrone.FileSpec) (*DryRun, error) {
	warnings, err := e.checkFile(f)
	if err != nil {
		return nil, err
	}
	out, before, after, err := dryRun(ctx, e, fileSpecs, f.Name, f, func(f *sandrone.FileSpec) (*product, error) {
		r := e.dryRequest(f.Meta)
		p, err := r.get(ctx, nil, sandrone.KindFile, f.Name, how{}, func(ctx context.Context, frame *frame) (*product, error) {
			return r.compile(ctx, frame, f, production{})
		})
		if err != nil {
			return nil, ofFile(err, f.Name)
		}
		return p, nil
	})
	if err != nil {
		return nil, err
	}
	out.Warnings = append(warnings, out.Warnings...)
	if after != nil {
		out.Bytes = &ByteCounts{before.size(textOfFile), len(after.file.Content)}
		if f.BaseKind() != sandrone.FileStatic {
			out.Nodes = &NodeCounts{before.size(nodesOf), len(after.nodes)}
		}
	}
	return out, nil
}

func nodesOf(p *product) int { return len(p.nodes) }

func textOfFile(p *product) int { return len(p.file.Content) }

// size is a number of p, nil for no product.
func (p *product) size(of func(*product) int) *int {
	if p == nil {
		return nil
	}
	n := of(p)
	return &n
}

// dryRun compares next with the stored definition of its name, and makes what
// the two come to. before is empty if nothing is stored, and nil if the stored
// one comes to nothing; after is nil if the next one does, which out tells.
func dryRun[T any](ctx context.Context, e *Engine, of collection[T], name string, next *T, make func(*T) (*product, error)) (out *DryRun, before, after *product, err error) {
	former, exists, err := of.former(ctx, e, name)
	if err != nil {
		return nil, nil, nil, err
	}
	out = &DryRun{Exists: exists}
	if out.Diff, err = changes(former, next); err != nil {
		return nil, nil, nil, err
	}
	switch {
	case !exists:
		before = &product{}
	case former != nil:
		before, _ = make(former) // an error of it is older than next, and no news
	}
	if ctx.Err() == nil {
		after, err = make(next)
	}
	switch {
	case ctx.Err() != nil:
		return nil, nil, nil, ctx.Err()
	case err != nil:
		out.Error = sandrone.AsError(err)
	default:
		out.Warnings = after.facts().warnings
	}
	return out, before, after, nil
}

// dryRequest is a request without a network.
func (e *Engine) dryRequest(meta map[string]string) *request {
	r := e.request(false, meta)
	lv := *r.live
	lv.prober, lv.network, lv.shut = nil, nil, true
	r.live = &lv
	return r
}

// former is the stored definition of a name: nil if there is none, or if it
// cannot be read, which keeps no put from replacing it.
func (of collection[T]) former(ctx context.Context, e *Engine, name string) (definition *T, exists bool, err error) {
	err = e.view(ctx, func(tx *store.Tx) (err error) {
		if exists, err = of(tx).Exists(name); err != nil || !exists {
			return err
		}
		if record, err := of(tx).Get(name); err == nil {
			definition = record.Definition
		}
		return nil
	})
	return definition, exists, err
}
