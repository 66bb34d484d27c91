// Package store keeps what outlives the process: definitions of subscriptions,
// files and shares with their revisions, settings, tokens, access records, and
// caches, which may vanish at any time.
//
// A [Store] puts typed collections over a [Backend] of keys and values. [Open]
// makes one on a bbolt file in the data directory, [New] one over any backend,
// such as [Memory] for programs that embed the gateway without a disk. Work is
// done in transactions, one for each use case:
//
//	err := s.Update(ctx, func(tx *store.Tx) error {
//		_, err := tx.Subscriptions().Put(&definition, store.Precondition{})
//		return err
//	})
//
// An acknowledged Update survives a kill at any moment, a failed one leaves
// nothing behind. Nothing here assumes to be the only process, so a backend
// may be shared.
//
// Errors are [sandrone.Error] values; a storage that fails is internal_error
// with a text that holds no path, but for a data directory that another
// process has locked, which is named.
package store

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"io"
	"time"

	"github.com/sandrone-gateway/sandrone"
)

// Options make a [Store].
type Options struct {
	Now  func() time.Time // nil means time.Now
	Rand io.Reader        // source of ids and secrets; nil means crypto/rand

	// CheckSettings validates settings that are written, read or restored, and
	// returns them normalised. nil accepts every value that decodes.
	CheckSettings func(sandrone.Settings) (sandrone.Settings, error)
}

// Store keeps the state of the program. It is safe for concurrent use.
type Store struct {
	backend       Backend
	now           func() time.Time
	rand          io.Reader
	checkSettings func(sandrone.Settings) (sandrone.Settings, error)
	cache         *Cache
}

// Open returns the store in a data directory. Nothing is opened, read or made
// before the first transaction; see [Bolt].
func Open(dir string, o Options) *Store { return New(Bolt(dir), o) }

// New returns a store over a backend, which it then owns.
func New(b Backend, o Options) *Store {
	s := &Store{backend: b, now: o.Now, rand: o.Rand, checkSettings: o.CheckSettings}
	if s.now == nil {
		s.now = time.Now
	}
	if s.rand == nil {
		s.rand = rand.Reader
	}
	if s.checkSettings == nil {
		s.checkSettings = func(v sandrone.Settings) (sandrone.Settings, error) { return v, nil }
	}
	s.cache = newCache(s)
	return s
}

// Tx is a transaction. It must not be used after the function it was given to
// has returned.
type Tx struct {
	kv    KV
	store *Store
	now   time.Time
}

// The layout of the spaces. A store with another number is left alone.
const (
	schemaKey     = "schema_version"
	schemaVersion = "1"
)

// View calls fn with one consistent state. It must be short: a backend may
// hold back writers for as long. fn must not write, and must not begin another
// transaction.
func (s *Store) View(ctx context.Context, fn func(*Tx) error) error {
	return s.backend.View(ctx, func(kv KV) error {
		if _, err := isMade(kv); err != nil {
			return err
		}
		return fn(s.begin(kv))
	})
}

// Update calls fn as the only writer and makes all its changes durable, or
// none when it returns an error. fn must not begin another transaction.
func (s *Store) Update(ctx context.Context, fn func(*Tx) error) error {
	return s.backend.Update(ctx, func(kv KV) error {
		made, err := isMade(kv)
		if err != nil {
			return err
		}
		if !made {
			if err := kv.Put(SpaceCounters, schemaKey, []byte(schemaVersion)); err != nil {
				return err
			}
		}
		return fn(s.begin(kv))
	})
}

// Create makes the store if there is none. Whoever serves calls it first, so
// that the data directory is taken, and caches have a place before the first
// definition is written.
func (s *Store) Create(ctx context.Context) error {
	return s.Update(ctx, func(*Tx) error { return nil })
}

// Close waits for running transactions and gives the storage free.
func (s *Store) Close() error { return s.backend.Close() }

// Cache returns the caches of the store.
func (s *Store) Cache() *Cache { return s.cache }

func (s *Store) begin(kv KV) *Tx { return &Tx{kv: kv, store: s, now: s.time()} }

// time is the clock in the precision of stored times.
func (s *Store) time() time.Time { return s.now().UTC().Truncate(time.Millisecond) }

// isMade reports whether anything was ever written.
func isMade(kv KV) (bool, error) {
	version, err := kv.Get(SpaceCounters, schemaKey)
	if err != nil || version == nil {
		return false, err
	}
	if string(version) != schemaVersion {
		return false, sandrone.Errorf(sandrone.InternalError, "the store was written by another version of this program and is left alone")
	}
	return true, nil
}

// randomHex returns n random bytes in hex.
func (tx *Tx) randomHex(n int) (string, error) {
	b := make([]byte, n)
	if _, err := io.ReadFull(tx.store.rand, b); err != nil {
		return "", internal("no random numbers", err)
	}
	return hex.EncodeToString(b), nil
}

// encode writes the JSON text of a stored value: two spaces of indent, no
// HTML escapes, a line feed at the end.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		// The text of the error may quote the value.
		return nil, sandrone.Errorf(sandrone.InvalidArgument, "the definition has no JSON form")
	}
	return b.Bytes(), nil
}

func put(kv KV, space Space, key string, v any) error {
	text, err := encode(v)
	if err != nil {
		return err
	}
	return kv.Put(space, key, text)
}

func internal(text string, cause error) *sandrone.Error {
	return sandrone.Errorf(sandrone.InternalError, "%s", text).Because(cause)
}
