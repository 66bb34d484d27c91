package store_test

import (
	"context"
	"testing"

	"github.com/sandrone-gateway/sandrone/store"
	"github.com/sandrone-gateway/sandrone/store/storetest"
)

func TestBoltKeepsTheContract(t *testing.T) {
	storetest.Run(t, func(t *testing.T) func() store.Backend {
		dir := t.TempDir()
		return func() store.Backend { return store.Bolt(dir) }
	})
}

func TestMemoryKeepsTheContract(t *testing.T) {
	storetest.Run(t, func(t *testing.T) func() store.Backend {
		var b store.Backend = store.Memory()
		return func() store.Backend { return &keptOpen{Backend: b} }
	})
}

// keptOpen is a handle of a backend that outlives it: memory has nowhere else
// to be reopened from.
type keptOpen struct {
	store.Backend
	closed store.Backend
}

func (k *keptOpen) Close() error {
	if k.closed == nil {
		k.closed = store.Memory()
		k.closed.Close()
	}
	return nil
}

func (k *keptOpen) View(ctx context.Context, fn func(store.KV) error) error {
	return k.now().View(ctx, fn)
}

func (k *keptOpen) Update(ctx context.Context, fn func(store.KV) error) error {
	return k.now().Update(ctx, fn)
}

func (k *keptOpen) now() store.Backend {
	if k.closed != nil {
		return k.closed
	}
	return k.Backend
}
