package store

import "context"

// Backend keeps keys and values. It is all that a database has to offer; the
// rules of definitions, revisions and caches are written once above it.
// Package storetest holds the contract.
//
// Transactions must not be nested: fn calls no method of the backend.
type Backend interface {
	// View calls fn with one consistent state, which writers do not disturb. A
	// backend to which nothing was ever written is empty, and View does not
	// make anything.
	View(ctx context.Context, fn func(KV) error) error

	// Update calls fn as the only writer. When fn returns nil, all its changes
	// are durable when Update returns, else none is visible. It returns fn's
	// error as it is. A context that ends before fn is called prevents it.
	Update(ctx context.Context, fn func(KV) error) error

	// Close waits for running transactions. Later ones fail.
	Close() error
}

// KV is the state within one transaction. Keys are not empty and at most
// [maxKey] bytes. Values must not be changed, neither those that were put nor
// those that were got, and the latter are valid until the transaction ends.
type KV interface {
	Get(space Space, key string) ([]byte, error) // nil if there is none
	Put(space Space, key string, value []byte) error
	Delete(space Space, key string) error // of a missing key does nothing

	// Scan calls fn for the keys with a prefix, in byte order, until fn returns
	// an error, which it returns. fn must not change the space.
	Scan(space Space, prefix string, fn func(key string, value []byte) error) error

	// Clear deletes every key of a space.
	Clear(space Space) error
}

// Space is a set of keys that are kept, cleared and backed up as one.
type Space string

// The spaces of a store.
const (
	// SpaceResources holds what a backup covers, under the logical keys of the
	// archive: subscriptions/<name>.json, files/<name>.json, shares/<id>.json,
	// settings.json, and whatever else a restored archive brought along.
	SpaceResources Space = "resources"

	SpaceRevisions     Space = "revisions"      // <id>
	SpaceRevisionIndex Space = "revision_index" // <kind>/<name>/<id>: a revision without its definition
	SpaceTokens        Space = "tokens"         // <id>
	SpaceAccesses      Space = "accesses"       // <share id>
	SpaceCacheValues   Space = "cache"          // <layer>/<key>
	SpaceCacheIndex    Space = "cache_index"    // <layer>/<key>: times and size of a value
	SpaceCounters      Space = "counters"       // the schema version and what is counted
)

const maxKey = 32768 // bytes
