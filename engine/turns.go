package engine

import (
	"context"
	"runtime"
	"sync"
)

// turns bound how many productions hold their nodes in memory at once. More at
// once than there are processors would not be done any sooner, and each takes
// megabytes. Who waits is served in order; a production that itself waits, for
// a source or a script, gives its turn away in the meantime, so that slow
// sources hold nobody up.
type turns chan struct{}

func newTurns() turns { return make(turns, max(2, runtime.GOMAXPROCS(0))) }

type turnKey struct{}

// turn is the turn of one production, all of whose branches share it.
type turn struct {
	of turns

	mu      sync.Mutex
	waiting int // branches that wait; the turn is given away while there are any
}

// take waits for a turn. What is done under the context that it returns is
// part of this production, and takes no turn of its own.
func (t turns) take(ctx context.Context) (within context.Context, done func(), err error) {
	if _, ok := ctx.Value(turnKey{}).(*turn); ok {
		return ctx, func() {}, nil
	}
	select {
	case t <- struct{}{}:
	case <-ctx.Done():
		return ctx, nil, ctx.Err()
	}
	return context.WithValue(ctx, turnKey{}, &turn{of: t}), func() { <-t }, nil
}

// wait calls fn, which waits for something else than the processor, without
// the turn of ctx.
func wait[T any](ctx context.Context, fn func() (T, error)) (T, error) {
	if own, ok := ctx.Value(turnKey{}).(*turn); ok {
		own.leave()
		defer own.enter()
	}
	return fn()
}

func (t *turn) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.waiting++; t.waiting == 1 {
		<-t.of
	}
}

// enter waits for a turn again. Other branches wait for it too, since there is
// nothing that they may do without.
func (t *turn) enter() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.waiting--; t.waiting == 0 {
		t.of <- struct{}{}
	}
}
