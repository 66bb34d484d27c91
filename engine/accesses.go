package engine

import (
	"context"
	"sync"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/store"
)

// maxNoted bounds the accesses that wait to be written. The one that reaches
// it writes them itself.
const maxNoted = 4096

// accessLog collects the accesses of shares, since a transaction for each
// would cost a write to the disk.
type accessLog struct {
	mu    sync.Mutex
	noted map[string][]sandrone.ShareAccess // by share id, in order
	count int

	writing sync.Mutex // held over a write, so that accesses stay in order
}

// noteAccess records an answered request of a share that exists.
func (e *Engine) noteAccess(ctx context.Context, id string, access sandrone.ShareAccess) {
	log := &e.accesses
	log.mu.Lock()
	if log.noted == nil {
		log.noted = make(map[string][]sandrone.ShareAccess)
	}
	log.noted[id] = append(log.noted[id], access)
	log.count++
	full := log.count >= maxNoted
	log.mu.Unlock()
	if full {
		e.flushAccesses(ctx)
	}
}

// flushAccesses writes what was noted. Accesses that cannot be written are
// lost: they are no part of what is promised to last.
func (e *Engine) flushAccesses(ctx context.Context) {
	log := &e.accesses
	log.writing.Lock()
	defer log.writing.Unlock()
	log.mu.Lock()
	noted := log.noted
	log.noted, log.count = nil, 0
	log.mu.Unlock()
	if len(noted) == 0 || e.store == nil {
		return
	}
	err := e.store.Update(context.WithoutCancel(ctx), func(tx *store.Tx) error {
		for id, accesses := range noted {
			if err := tx.Accesses().Add(id, accesses...); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		e.log.Warn("accesses of shares were not noted", "operation", "accesses", "error", sandrone.AsError(err).Message)
	}
}
