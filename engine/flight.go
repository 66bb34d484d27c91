package engine

import (
	"context"
	"sync"
)

// flights lets work that several need at the same time be done once. The work
// ends early only when nobody waits for it any more.
type flights[K comparable, V any] struct {
	mu sync.Mutex
	m  map[K]*flight[V]
}

type flight[V any] struct {
	done    chan struct{}
	cancel  context.CancelFunc
	waiters int
	value   V
	err     error
	panic   *PanicError
}

// do returns what work returned, and whether it was another caller's work.
// The value is shared by all callers.
func (f *flights[K, V]) do(ctx context.Context, key K, work func(ctx context.Context) (V, error)) (value V, shared bool, err error) {
	f.mu.Lock()
	if f.m == nil {
		f.m = make(map[K]*flight[V])
	}
	c := f.m[key]
	if shared = c != nil; !shared {
		own, cancel := context.WithCancel(context.WithoutCancel(ctx))
		c = &flight[V]{done: make(chan struct{}), cancel: cancel}
		f.m[key] = c
		go f.run(own, key, c, work)
	}
	c.waiters++
	f.mu.Unlock()

	select {
	case <-c.done:
	case <-ctx.Done():
	}
	f.mu.Lock()
	if c.waiters--; c.waiters == 0 {
		c.cancel()
		// A flight that is being cancelled takes no new passengers.
		if f.m[key] == c {
			delete(f.m, key)
		}
	}
	f.mu.Unlock()
	select {
	case <-c.done:
	default:
		return value, shared, ctx.Err()
	}
	if c.panic != nil {
		panic(c.panic) // where the caller can catch it
	}
	return c.value, shared, c.err
}

func (f *flights[K, V]) run(ctx context.Context, key K, c *flight[V], work func(ctx context.Context) (V, error)) {
	defer func() {
		if v := recover(); v != nil {
			c.panic = Recovered(v)
		}
		f.mu.Lock()
		if f.m[key] == c {
			delete(f.m, key)
		}
		f.mu.Unlock()
		close(c.done)
	}()
	c.value, c.err = work(ctx)
}
