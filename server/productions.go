package server

import (
	"context"
	"crypto/sha256"
	"slices"
	"sync"
	"time"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/engine"
)

// slotWait is how long a public production waits for a free slot.
const slotWait = 2 * time.Second

// slots bound how much work that anyone can cause runs at once. The bound may
// change at any time; what runs then is not stopped.
type slots struct {
	bound func() int

	mu      sync.Mutex
	used    int
	waiting []chan struct{} // closed one after another, in the order in which they came
}

func newSlots(bound func() int) *slots { return &slots{bound: bound} }

// take returns how to give a slot back. When none gets free in time the error
// is busy.
func (s *slots) take(ctx context.Context) (release func(), err error) {
	s.mu.Lock()
	if s.used < s.bound() && len(s.waiting) == 0 {
		s.used++
		s.mu.Unlock()
		return s.give, nil
	}
	turn := make(chan struct{})
	s.waiting = append(s.waiting, turn)
	s.mu.Unlock()

	timer := time.NewTimer(slotWait)
	defer timer.Stop()
	select {
	case <-turn:
		return s.give, nil
	case <-timer.C:
		err = sandrone.Errorf(sandrone.Busy, "too many conversions at once")
	case <-ctx.Done():
		err = ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.waiting, turn); i >= 0 {
		s.waiting = slices.Delete(s.waiting, i, i+1)
		return nil, err
	}
	return s.give, nil // its turn came at the last moment
}

func (s *slots) give() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used--
	for s.used < s.bound() && len(s.waiting) > 0 {
		s.used++
		close(s.waiting[0])
		s.waiting = s.waiting[1:]
	}
}

// productions runs equal public work only once.
type productions struct {
	slots *slots

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

func newProductions(s *slots) *productions {
	return &productions{slots: s, runs: make(map[productionKey]*production)}
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
	release, err := p.slots.take(ctx)
	if err != nil {
		r.err = err
		return
	}
	defer release()
	r.result, r.err = run(ctx)
}

// forget takes r out of the table; mu is held.
func (p *productions) forget(key productionKey, r *production) {
	if p.runs[key] == r {
		delete(p.runs, key)
	}
}
