package store

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Layer is one of the caches. Together they share one bound.
type Layer string

// The layers. What a key must cover is the caller's to know.
const (
	RemoteFetch         Layer = "remote_fetch" // also the last good copies, which are kept longer than they are fresh
	Probe               Layer = "probe"
	SubscriptionTraffic Layer = "subscription_traffic"
	SubscriptionRender  Layer = "subscription_render"
	FileRender          Layer = "file_render"
)

// Layers lists every layer in the order in which they are cleared. It must not
// be changed.
var Layers = []Layer{RemoteFetch, Probe, SubscriptionTraffic, SubscriptionRender, FileRender}

// Key tells the entries of a layer apart.
type Key [sha256.Size]byte

// KeyOf returns the key that covers parts in their order; no two lists of
// parts share one. Nothing of the parts, which may be secret, can be read from
// it.
func KeyOf(parts ...string) Key {
	h := sha256.New()
	var length [8]byte
	for _, part := range parts {
		binary.BigEndian.PutUint64(length[:], uint64(len(part)))
		h.Write(length[:])
		h.Write([]byte(part))
	}
	return Key(h.Sum(nil))
}

// Entry is a cached value: a body, and what is to be known of it.
type Entry struct {
	Info, Body []byte

	// Epoch counts the clearings of the layer. Get sets it, also on a miss, and
	// Put drops an entry whose epoch is past: its value was made from what has
	// since been changed. Zero asks for no such check.
	Epoch uint64

	StoredAt   time.Time // set by Get
	FreshUntil time.Time // set by Get
}

// Fresh reports whether the entry may be used at the time t without asking its
// source.
func (e Entry) Fresh(t time.Time) bool { return t.Before(e.FreshUntil) }

// Life is how long an entry is of use. An entry that is to be kept longer than
// it is fresh is a last good copy in the meantime.
type Life struct {
	Fresh time.Duration // 0 or less: never fresh
	Keep  time.Duration // at least Fresh
}

const (
	defaultCacheLimit = 256 << 20 // bytes
	maxUses           = 4096      // uses that are noted in memory before they are written
	entryOverhead     = 256       // bytes of keys and index that an entry costs
	cacheBytes        = "cache_bytes"
)

// Cache holds values that may vanish at any time. Entries that are no longer
// of use are removed by Sweep and before others; when the bound is reached,
// those that were not used for the longest time go first, whatever their
// layer.
//
// A cache must not fail what it serves: Get has no error, and callers log
// those of the other methods and go on.
type Cache struct {
	store *Store
	limit atomic.Int64
	made  atomic.Bool // the store exists

	evicted func(layer Layer, entries int) // nil: nobody is told

	mu   sync.Mutex
	uses map[string]int64 // index key -> Unix milliseconds of the last Get, not yet written
}

func newCache(s *Store) *Cache {
	c := &Cache{store: s, uses: make(map[string]int64)}
	c.limit.Store(defaultCacheLimit)
	return c
}

// SetLimit bounds all layers together, in bytes. A smaller bound takes effect
// with the next Put or Sweep.
func (c *Cache) SetLimit(bytes int64) { c.limit.Store(bytes) }

// OnEvict sets who is told of entries that are removed to make room. It must be
// set before the cache is used, and must not use the store.
func (c *Cache) OnEvict(told func(layer Layer, entries int)) { c.evicted = told }

// Sizes returns what each layer holds, in bytes.
func (c *Cache) Sizes(ctx context.Context) (map[Layer]int64, error) {
	sizes := make(map[Layer]int64, len(Layers))
	err := c.store.View(ctx, func(tx *Tx) error {
		for _, layer := range Layers {
			sizes[layer] = 0
			err := tx.kv.Scan(SpaceCacheIndex, string(layer)+"/", func(_ string, meta []byte) error {
				if m, ok := decodeEntryMeta(meta); ok {
					sizes[layer] += m.size
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	return sizes, err
}

// Get returns an entry that is kept, fresh or not. Whatever prevents that is a
// miss.
func (c *Cache) Get(ctx context.Context, layer Layer, key Key) (Entry, bool) {
	var e Entry
	found := false
	id := entryKey(layer, key)
	now := c.store.time()
	err := c.store.View(ctx, func(tx *Tx) error {
		epoch, err := tx.count(epochCounter(layer))
		if err != nil {
			return err
		}
		e.Epoch = epoch + 1
		meta, err := tx.kv.Get(SpaceCacheIndex, id)
		if err != nil {
			return err
		}
		m, ok := decodeEntryMeta(meta)
		if !ok || m.keep <= now.UnixMilli() {
			return nil
		}
		value, err := tx.kv.Get(SpaceCacheValues, id)
		if err != nil {
			return err
		}
		if e.Info, e.Body, found = decodeValue(value); found {
			e.StoredAt, e.FreshUntil = time.UnixMilli(m.stored).UTC(), time.UnixMilli(m.fresh).UTC()
		}
		return nil
	})
	if err != nil || !found {
		return Entry{Epoch: e.Epoch}, false
	}
	c.mu.Lock()
	if _, noted := c.uses[id]; noted || len(c.uses) < maxUses {
		c.uses[id] = now.UnixMilli()
	}
	c.mu.Unlock()
	return e, true
}

// Put stores an entry for a time that begins now, in place of the former one.
// Nothing is stored that is of no use for any time, is larger than a quarter
// of the bound, or has a past epoch; nor is a store made for a cache alone.
// Body and Info must not be changed until Put returns.
func (c *Cache) Put(ctx context.Context, layer Layer, key Key, e Entry, life Life) error {
	life.Keep = max(life.Keep, life.Fresh)
	if life.Keep <= 0 || !c.exists(ctx) {
		return nil
	}
	id := entryKey(layer, key)
	size := int64(len(e.Info)+len(e.Body)) + entryOverhead
	limit := c.limit.Load()
	return c.store.Update(ctx, func(tx *Tx) error {
		epoch, err := tx.count(epochCounter(layer))
		if err != nil || e.Epoch != 0 && e.Epoch != epoch+1 {
			return err
		}
		// Also when the new one is not stored: the last good copy must be that
		// of the last answer.
		if err := tx.dropEntry(id); err != nil {
			return err
		}
		if size > limit/4 {
			return nil
		}
		now := tx.now.UnixMilli()
		m := entryMeta{stored: now, fresh: after(now, life.Fresh), keep: after(now, life.Keep), used: now, size: size}
		if err := tx.kv.Put(SpaceCacheIndex, id, m.encode()); err != nil {
			return err
		}
		if err := tx.kv.Put(SpaceCacheValues, id, encodeValue(e)); err != nil {
			return err
		}
		total, err := tx.count(cacheBytes)
		if err != nil {
			return err
		}
		total += uint64(size)
		if err := tx.setCount(cacheBytes, total); err != nil {
			return err
		}
		if int64(total) > limit || c.usesFull() {
			return c.sweep(tx, limit)
		}
		return nil
	})
}

// Sweep removes the entries that are no longer of use, brings the rest below
// the bound, and notes uses. It is to be called at least hourly.
func (c *Cache) Sweep(ctx context.Context) error {
	if !c.exists(ctx) {
		return nil
	}
	return c.store.Update(ctx, func(tx *Tx) error { return c.sweep(tx, c.limit.Load()) })
}

// Clear empties layers, all of them if none is named.
func (c *Cache) Clear(ctx context.Context, layers ...Layer) error {
	if !c.exists(ctx) {
		return nil
	}
	if len(layers) == 0 {
		layers = Layers
	}
	return c.store.Update(ctx, func(tx *Tx) error { return tx.ClearCache(layers...) })
}

// exists reports whether there is a store to keep entries in. Reading commands
// must not leave a data directory behind.
func (c *Cache) exists(ctx context.Context) bool {
	if c.made.Load() {
		return true
	}
	err := c.store.View(ctx, func(tx *Tx) error {
		made, err := isMade(tx.kv)
		c.made.Store(made)
		return err
	})
	return err == nil && c.made.Load()
}

// ClearCache empties layers within a transaction, so that what they were made
// from and they change as one.
func (tx *Tx) ClearCache(layers ...Layer) error {
	for _, layer := range layers {
		var ids []string
		err := tx.kv.Scan(SpaceCacheIndex, string(layer)+"/", func(id string, _ []byte) error {
			ids = append(ids, id)
			return nil
		})
		if err != nil {
			return err
		}
		for _, id := range ids {
			if err := tx.dropEntry(id); err != nil {
				return err
			}
		}
		// Also of an empty layer, since an entry may be in the making.
		if _, err := tx.next(epochCounter(layer)); err != nil {
			return err
		}
	}
	return nil
}

// dropEntry removes an entry if there is one.
func (tx *Tx) dropEntry(id string) error {
	meta, err := tx.kv.Get(SpaceCacheIndex, id)
	if err != nil || meta == nil {
		return err
	}
	if m, ok := decodeEntryMeta(meta); ok {
		total, err := tx.count(cacheBytes)
		if err != nil {
			return err
		}
		if err := tx.setCount(cacheBytes, total-min(total, uint64(m.size))); err != nil {
			return err
		}
	}
	if err := tx.kv.Delete(SpaceCacheIndex, id); err != nil {
		return err
	}
	return tx.kv.Delete(SpaceCacheValues, id)
}

// sweep brings the caches to at most limit bytes.
func (c *Cache) sweep(tx *Tx, limit int64) error {
	type indexed struct {
		id string
		entryMeta
	}
	uses := c.takeUses()
	now := tx.now.UnixMilli()
	var kept []indexed
	var gone []string
	total := int64(0)
	err := tx.kv.Scan(SpaceCacheIndex, "", func(id string, meta []byte) error {
		m, ok := decodeEntryMeta(meta)
		if !ok || m.keep <= now {
			gone = append(gone, id)
			return nil
		}
		total += m.size
		kept = append(kept, indexed{id, m})
		return nil
	})
	if err != nil {
		return err
	}
	for i := range kept {
		m := &kept[i]
		if used := uses[m.id]; used > m.used {
			m.used = used
			if err := tx.kv.Put(SpaceCacheIndex, m.id, m.encode()); err != nil {
				return err
			}
		}
	}
	if total > limit {
		slices.SortFunc(kept, func(a, b indexed) int { return cmp.Or(cmp.Compare(a.used, b.used), strings.Compare(a.id, b.id)) })
		// A little below the bound, so that not every Put that follows has to
		// look at all entries again.
		evicted := make(map[Layer]int)
		for _, m := range kept {
			if total <= limit-limit/16 {
				break
			}
			total -= m.size
			gone = append(gone, m.id)
			layer, _, _ := strings.Cut(m.id, "/")
			evicted[Layer(layer)]++
		}
		for layer, entries := range evicted {
			if c.evicted != nil {
				c.evicted(layer, entries)
			}
		}
	}
	for _, id := range gone {
		if err := tx.dropEntry(id); err != nil {
			return err
		}
	}
	if counted, err := tx.count(cacheBytes); err != nil || counted == uint64(total) {
		return err
	}
	return tx.setCount(cacheBytes, uint64(total))
}

// takeUses hands the noted uses over. They are lost if the transaction fails,
// which costs no more than a worse choice of what goes first.
func (c *Cache) takeUses() map[string]int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	uses := maps.Clone(c.uses)
	clear(c.uses)
	return uses
}

func (c *Cache) usesFull() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.uses) >= maxUses
}

func entryKey(layer Layer, key Key) string { return string(layer) + "/" + hex.EncodeToString(key[:]) }

func epochCounter(layer Layer) string { return "cache_epoch/" + string(layer) }

// after adds a duration of any size to a time.
func after(now int64, d time.Duration) int64 {
	return now + max(0, min(d.Milliseconds(), math.MaxInt64-now))
}

// entryMeta stands apart from the value, so that noting a use does not write a
// body again. Times are Unix milliseconds.
type entryMeta struct{ stored, fresh, keep, used, size int64 }

func (m entryMeta) encode() []byte {
	b := make([]byte, 0, 40)
	for _, v := range []int64{m.stored, m.fresh, m.keep, m.used, m.size} {
		b = binary.BigEndian.AppendUint64(b, uint64(v))
	}
	return b
}

func decodeEntryMeta(b []byte) (m entryMeta, ok bool) {
	if len(b) != 40 {
		return m, false
	}
	for i, v := range []*int64{&m.stored, &m.fresh, &m.keep, &m.used, &m.size} {
		*v = int64(binary.BigEndian.Uint64(b[8*i:]))
	}
	return m, m.size >= 0
}

// A value is the length of Info, Info, Body: bodies are large, and a text form
// of them would cost more than all else that a hit does.
func encodeValue(e Entry) []byte {
	b := make([]byte, 0, binary.MaxVarintLen64+len(e.Info)+len(e.Body))
	b = binary.AppendUvarint(b, uint64(len(e.Info)))
	return append(append(b, e.Info...), e.Body...)
}

// decodeValue copies, since b ends with the transaction.
func decodeValue(b []byte) (info, body []byte, ok bool) {
	n, used := binary.Uvarint(b)
	if used <= 0 || n > uint64(len(b)-used) {
		return nil, nil, false
	}
	b = slices.Clone(b[used:])
	return b[:n:n], b[n:], true
}
