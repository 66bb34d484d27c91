package server

import (
	"context"
	"crypto/sha256"
	"sync"
	"time"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/engine"
)

// slotWait is how long a public production waits for a free slot.
const slotWait = 2 * time.Second

// productions bounds the work that anyone can cause: so many runs at once,
// and equal ones only once.
type productions struct {
	slots chan struct{}

	mu   sync.Mutex
	runs map[productionKey]*production
}

// productionKey tells equal productions: a hash, so that the key of a large
// input is small.
type productionKey [sha256.Size]byte

type production struct {
	cancel  context.CancelFunc
	waiters int // under productions.mu

	done   chan struct{} // closed when result or err is set
	result engine.ConvertResult
	err    error
}

func newProductions(atOnce int) *productions {
	return &productions{slots: make(chan struct{}, atOnce), runs: make(map[productionKey]*production)}
}

// do returns what run returns, from a run that is already on its way if there
// is one with the same key. A run is cancelled when nobody waits for it any
// more. When no slot gets free in time the error is busy.
func (p *productions) do(ctx context.Context, key productionKey, run func(context.Context) (engine.ConvertResult, error)) (engine.ConvertResult, error) {
	p.mu.Lock()
	r := p.runs[key]
	if r == nil {
		var runCtx context.Context
		r = &production{done: make(chan struct{})}
		runCtx, r.cancel = context.WithCancel(context.WithoutCancel(ctx))
		p.runs[key] = r
		go p.run(runCtx, key, r, run)
	}
	r.waiters++
	p.mu.Unlock()

	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if r.waiters--; r.waiters == 0 {
			r.cancel()
			p.forget(key, r) // a cancelled run is nothing to join
		}
	}()
	select {
	case <-r.done:
		return r.result, r.err
	case <-ctx.Done():
		return engine.ConvertResult{}, ctx.Err()
	}
}

func (p *productions) run(ctx context.Context, key productionKey, r *production, run func(context.Context) (engine.ConvertResult, error)) {
	defer func() {
		// This is not the request's goroutine: a panic would end the program.
		if v := recover(); v != nil {
			r.err = sandrone.Errorf(sandrone.InternalError, "internal error").Because(engine.Recovered(v))
		}
		p.mu.Lock()
		p.forget(key, r)
		p.mu.Unlock()
		close(r.done)
	}()
	timer := time.NewTimer(slotWait)
	defer timer.Stop()
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	case <-timer.C:
		r.err = sandrone.Errorf(sandrone.Busy, "too many conversions at once")
		return
	case <-ctx.Done():
		r.err = ctx.Err()
		return
	}
	r.result, r.err = run(ctx)
}

// forget takes r out of the table; mu is held.
func (p *productions) forget(key productionKey, r *production) {
	if p.runs[key] == r {
		delete(p.runs, key)
	}
}
