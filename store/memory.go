package store

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/sandrone-gateway/sandrone"
)

// Memory returns a backend without a disk, for programs that embed the gateway
// and for tests. Readers wait for writers.
func Memory() Backend { return &memory{spaces: make(map[Space]map[string][]byte)} }

type memory struct {
	mu     sync.RWMutex
	closed bool
	spaces map[Space]map[string][]byte
}

func (m *memory) View(ctx context.Context, fn func(KV) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.closed {
		return errClosed()
	}
	return fn(&memoryKV{spaces: m.spaces})
}

func (m *memory) Update(ctx context.Context, fn func(KV) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return errClosed()
	}
	kv := &memoryKV{spaces: m.spaces, writable: true}
	done := false
	defer func() {
		if !done { // an error, or a panic of fn
			kv.undo()
		}
	}()
	if err := fn(kv); err != nil {
		return err
	}
	done = true
	return nil
}

func (m *memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	return nil
}

type memoryKV struct {
	spaces   map[Space]map[string][]byte
	writable bool
	changes  []change
}

// change is what stood at a key before it was changed.
type change struct {
	space Space
	key   string
	value []byte // nil if nothing did
}

func (kv *memoryKV) undo() {
	for _, c := range slices.Backward(kv.changes) {
		kv.set(c.space, c.key, c.value)
	}
}

func (kv *memoryKV) set(space Space, key string, value []byte) {
	if value == nil {
		delete(kv.spaces[space], key)
		return
	}
	if kv.spaces[space] == nil {
		kv.spaces[space] = make(map[string][]byte)
	}
	kv.spaces[space][key] = value
}

func (kv *memoryKV) change(space Space, key string, value []byte) error {
	if !kv.writable {
		return errReadOnly()
	}
	kv.changes = append(kv.changes, change{space, key, kv.spaces[space][key]})
	kv.set(space, key, value)
	return nil
}

func (kv *memoryKV) Get(space Space, key string) ([]byte, error) {
	return kv.spaces[space][key], nil
}

func (kv *memoryKV) Put(space Space, key string, value []byte) error {
	if key == "" || len(key) > maxKey {
		return errKey()
	}
	// A copy, since it outlives the transaction, and never nil.
	return kv.change(space, key, append(make([]byte, 0, len(value)), value...))
}

func (kv *memoryKV) Delete(space Space, key string) error { return kv.change(space, key, nil) }

func (kv *memoryKV) Scan(space Space, prefix string, fn func(key string, value []byte) error) error {
	var keys []string
	for key := range kv.spaces[space] {
		if strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		if err := fn(key, kv.spaces[space][key]); err != nil {
			return err
		}
	}
	return nil
}

func (kv *memoryKV) Clear(space Space) error {
	for key := range kv.spaces[space] {
		if err := kv.change(space, key, nil); err != nil {
			return err
		}
	}
	return nil
}

func errClosed() error { return sandrone.Errorf(sandrone.InternalError, "the store is closed") }

func errReadOnly() error {
	return sandrone.Errorf(sandrone.InternalError, "the store was written to in a reading transaction")
}

func errKey() error { return sandrone.Errorf(sandrone.InternalError, "not a key of the store") }
