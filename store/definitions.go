package store

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"github.com/sandrone-gateway/sandrone"
)

// Definitions are the stored resources of one kind. Get one from a [Tx].
type Definitions[T any] struct {
	tx   *Tx
	kind *kind[T]
}

// Record is one stored definition.
type Record[T any] struct {
	Name       string // of a share: its id
	Definition *T     // nil in a list if the stored text cannot be read
	Size       int    // bytes as stored
	ETag       string // strong entity tag, quotes included
}

// Written is the outcome of a write that succeeded.
type Written struct {
	ETag    string // of what is stored now
	Changed bool   // false when the definition was equal to the stored one
	Created bool   // there was none of that name
}

// Precondition is what a caller asks of the stored definition before it is
// changed. The zero value asks nothing: the last write wins.
type Precondition struct {
	IfMatch  []string // one of these entity tags, or "*" for any; else precondition_failed
	IfAbsent bool     // there is none; else conflict
}

// Subscriptions are the stored subscriptions, listed by name.
func (tx *Tx) Subscriptions() Definitions[sandrone.Subscription] {
	return Definitions[sandrone.Subscription]{tx, &subscriptions}
}

// Files are the stored file specs, listed by name.
func (tx *Tx) Files() Definitions[sandrone.FileSpec] {
	return Definitions[sandrone.FileSpec]{tx, &files}
}

// Shares are the stored shares, listed by time of creation and id. Put makes
// the id of a share that has none.
func (tx *Tx) Shares() Definitions[sandrone.Share] {
	return Definitions[sandrone.Share]{tx, &shares}
}

// kind is what differs from one kind of definition to the next.
type kind[T any] struct {
	name   string  // sandrone.KindSubscription, …
	clears []Layer // caches that a change makes stale

	id        func(*T) *string
	times     func(*T) (created, updated *time.Time)
	normalise func(*T) error
	complete  func(*T)                        // fills in what records of old versions lack; may be nil
	newID     func(tx *Tx, v *T) error        // names a new one; may be nil
	order     func(a, b Record[T]) int        // nil means by name
	deleted   func(tx *Tx, name string) error // clears what hangs on it; may be nil
	head      func(text []byte) (*T, error)   // reads all but the large members; nil means that there are none
}

var (
	subscriptions = kind[sandrone.Subscription]{
		name:      sandrone.KindSubscription,
		clears:    []Layer{SubscriptionTraffic, SubscriptionRender, FileRender},
		id:        func(s *sandrone.Subscription) *string { return &s.Name },
		times:     func(s *sandrone.Subscription) (*time.Time, *time.Time) { return &s.CreatedAt, &s.UpdatedAt },
		normalise: (*sandrone.Subscription).Normalise,
		head: func(text []byte) (*sandrone.Subscription, error) {
			var v struct {
				sandrone.Subscription
				Content skipped `json:"content"`
				Inputs  skipped `json:"inputs"`
				Nodes   skipped `json:"nodes"`
			}
			err := readJSON(text, &v)
			return &v.Subscription, err
		},
	}
	files = kind[sandrone.FileSpec]{
		name:      sandrone.KindFile,
		clears:    []Layer{SubscriptionRender, FileRender},
		id:        func(f *sandrone.FileSpec) *string { return &f.Name },
		times:     func(f *sandrone.FileSpec) (*time.Time, *time.Time) { return &f.CreatedAt, &f.UpdatedAt },
		normalise: (*sandrone.FileSpec).Normalise,
		complete: func(f *sandrone.FileSpec) {
			if f.Source == nil {
				f.Source = &sandrone.FileSource{}
			}
		},
	}
	shares = kind[sandrone.Share]{
		name:      sandrone.KindShare,
		id:        func(s *sandrone.Share) *string { return &s.ID },
		times:     func(s *sandrone.Share) (*time.Time, *time.Time) { return &s.CreatedAt, &s.UpdatedAt },
		normalise: (*sandrone.Share).Normalise,
		newID: func(tx *Tx, s *sandrone.Share) error {
			id, err := tx.randomHex(16) // 128 bits: whoever knows the id may read
			s.ID = "sh_" + id
			return err
		},
		order: func(a, b Record[sandrone.Share]) int {
			var at, bt time.Time
			if a.Definition != nil {
				at = a.Definition.CreatedAt
			}
			if b.Definition != nil {
				bt = b.Definition.CreatedAt
			}
			return cmp.Or(at.Compare(bt), cmp.Compare(a.Name, b.Name))
		},
		deleted: func(tx *Tx, id string) error { return tx.kv.Delete(SpaceAccesses, id) },
	}
)

// kindPrefix is where the definitions of a kind are in [Definitions].
func kindPrefix(kind string) string { return kind + "s/" }

func definitionKey(kind, name string) string { return kindPrefix(kind) + name + ".json" }

// nameOf returns the resource that a key below the prefix of a kind stands
// for. A restored archive may hold other keys there.
func nameOf(kind, key string) (string, bool) {
	name, ok := strings.CutSuffix(strings.TrimPrefix(key, kindPrefix(kind)), ".json")
	return name, ok && sandrone.CheckName("name", name) == nil
}

// skipped is a member that is passed over.
type skipped struct{}

func (skipped) UnmarshalJSON([]byte) error { return nil }

// etag is the entity tag of a stored text.
func etag(text []byte) string {
	sum := sha256.Sum256(text)
	return `"` + hex.EncodeToString(sum[:16]) + `"`
}

// decode reads a stored definition. Members that this version does not know
// are ignored. The name is that of the key, whatever the text says.
func (k *kind[T]) decode(name string, text []byte) (*T, error) {
	return k.read(name, text, func(text []byte) (*T, error) {
		v := new(T)
		err := readJSON(text, v)
		return v, err
	})
}

// readJSON is Unmarshal of encoding/json in a third of the time.
func readJSON(text []byte, v any) error {
	return jsonv2.Unmarshal(text, v, jsonv1.DefaultOptionsV1())
}

func (k *kind[T]) read(name string, text []byte, of func(text []byte) (*T, error)) (*T, error) {
	v, err := of(text)
	if err != nil {
		return nil, err
	}
	*k.id(v) = name
	if k.complete != nil {
		k.complete(v)
	}
	return v, nil
}

// Get returns a definition: not_found if there is none, internal_error if the
// stored text cannot be read.
func (d Definitions[T]) Get(name string) (Record[T], error) { return d.get(name, d.kind.decode) }

// Head is Get without the members that may be large: texts, nodes and inputs.
// It is for who waits with a definition in hand, among many.
func (d Definitions[T]) Head(name string) (Record[T], error) {
	if d.kind.head == nil {
		return d.Get(name)
	}
	return d.get(name, func(name string, text []byte) (*T, error) { return d.kind.read(name, text, d.kind.head) })
}

func (d Definitions[T]) get(name string, decode func(name string, text []byte) (*T, error)) (Record[T], error) {
	text, err := d.text(name)
	if err != nil {
		return Record[T]{}, err
	}
	if text == nil {
		return Record[T]{}, notFound(d.kind.name, name)
	}
	v, err := decode(name, text)
	if err != nil {
		return Record[T]{}, about(internal("the stored "+d.kind.name+" cannot be read", err), d.kind.name, name)
	}
	return Record[T]{Name: name, Definition: v, Size: len(text), ETag: etag(text)}, nil
}

// Exists reports whether there is a definition of that name, readable or not.
func (d Definitions[T]) Exists(name string) (bool, error) {
	text, err := d.text(name)
	return text != nil, err
}

// List returns every definition in order. One that cannot be read is listed
// without its members.
func (d Definitions[T]) List() ([]Record[T], error) {
	list := []Record[T]{}
	err := d.tx.kv.Scan(SpaceResources, kindPrefix(d.kind.name), func(key string, text []byte) error {
		name, ok := nameOf(d.kind.name, key)
		if !ok {
			return nil
		}
		v, err := d.kind.decode(name, text)
		if err != nil {
			v = nil
		}
		list = append(list, Record[T]{Name: name, Definition: v, Size: len(text), ETag: etag(text)})
		return nil
	})
	if err != nil {
		return nil, err
	}
	order := d.kind.order
	if order == nil {
		// Not the order of keys, in which the suffix counts.
		order = func(a, b Record[T]) int { return cmp.Compare(a.Name, b.Name) }
	}
	slices.SortFunc(list, order)
	return list, nil
}

// Put normalises v and writes it in place of the definition of that name,
// which becomes a revision. Its times become the stored ones: the first save
// sets the time of creation, each change that of the update. A definition that
// is equal but for the times writes nothing. Errors: invalid_argument,
// precondition_failed, conflict.
func (d Definitions[T]) Put(v *T, pre Precondition) (Written, error) {
	if err := d.kind.normalise(v); err != nil {
		return Written{}, err
	}
	if id := d.kind.id(v); *id == "" && d.kind.newID != nil {
		if err := d.kind.newID(d.tx, v); err != nil {
			return Written{}, err
		}
	}
	return d.write(v, pre, false)
}

// write is Put for a definition that is normalised. A restored one keeps its
// own time of creation.
func (d Definitions[T]) write(v *T, pre Precondition, restored bool) (Written, error) {
	name := *d.kind.id(v)
	old, err := d.text(name)
	if err != nil {
		return Written{}, err
	}
	if err := pre.check(d.kind.name, name, old != nil, old); err != nil {
		return Written{}, err
	}
	created, updated := d.kind.times(v)
	var former *T // nil if there is none or it cannot be read
	if old != nil {
		former, _ = d.kind.decode(name, old)
	}
	if former != nil {
		same, err := d.kind.equal(*former, *v)
		if err != nil {
			return Written{}, err
		}
		formerCreated, formerUpdated := d.kind.times(former)
		if same {
			*created, *updated = *formerCreated, *formerUpdated
			return Written{ETag: etag(old)}, nil
		}
		if !restored {
			*created = *formerCreated
		}
	} else if !restored {
		*created = d.tx.now
	}
	*updated = d.tx.now
	text, err := encode(v)
	if err != nil {
		return Written{}, err
	}
	if old != nil {
		if err := d.tx.keepRevision(d.kind.name, name, sandrone.RevisionOverwrite, old); err != nil {
			return Written{}, err
		}
	}
	if err := d.tx.kv.Put(SpaceResources, definitionKey(d.kind.name, name), text); err != nil {
		return Written{}, err
	}
	return Written{ETag: etag(text), Changed: true, Created: old == nil}, d.tx.ClearCache(d.kind.clears...)
}

// Delete removes a definition, which becomes a revision. What refers to it is
// left alone. Errors: not_found, precondition_failed.
func (d Definitions[T]) Delete(name string, pre Precondition) error {
	old, err := d.text(name)
	if err != nil {
		return err
	}
	pre.IfAbsent = false
	if err := pre.check(d.kind.name, name, old != nil, old); err != nil {
		return err
	}
	if old == nil {
		return notFound(d.kind.name, name)
	}
	if err := d.tx.kv.Delete(SpaceResources, definitionKey(d.kind.name, name)); err != nil {
		return err
	}
	if d.kind.deleted != nil {
		if err := d.kind.deleted(d.tx, name); err != nil {
			return err
		}
	}
	if err := d.tx.keepRevision(d.kind.name, name, sandrone.RevisionDelete, old); err != nil {
		return err
	}
	return d.tx.ClearCache(d.kind.clears...)
}

// text returns the stored text of a definition, nil if there is none.
func (d Definitions[T]) text(name string) ([]byte, error) {
	field := "name"
	if d.kind.name == sandrone.KindShare {
		field = "id"
	}
	if err := sandrone.CheckName(field, name); err != nil {
		return nil, err
	}
	return d.tx.kv.Get(SpaceResources, definitionKey(d.kind.name, name))
}

// equal compares what would be stored, times aside. The members of raw
// objects count in their order, which may mean something to a client.
func (k *kind[T]) equal(a, b T) (bool, error) {
	for _, v := range []*T{&a, &b} {
		created, updated := k.times(v)
		*created, *updated = time.Time{}, time.Time{}
	}
	x, err := encode(a)
	if err != nil {
		return false, err
	}
	y, err := encode(b)
	return bytes.Equal(x, y), err
}

// check holds the stored text against p.
func (p Precondition) check(kind, name string, exists bool, text []byte) error {
	if p.IfMatch != nil && !(exists && (slices.Contains(p.IfMatch, "*") || slices.Contains(p.IfMatch, etag(text)))) {
		return about(sandrone.Errorf(sandrone.PreconditionFailed, "the stored %s is not the one that was asked for", kind), kind, name)
	}
	if p.IfAbsent && exists {
		return about(sandrone.Errorf(sandrone.Conflict, "a %s of that name exists", kind), kind, name)
	}
	return nil
}

// notFound names the resource in its members only: the id of a share is a
// secret, and texts reach the log.
func notFound(kind, name string) *sandrone.Error {
	text := kind + " not found"
	if kind == sandrone.KindSubscription || kind == sandrone.KindFile {
		return about(sandrone.Errorf(sandrone.NotFound, "%s %q not found", kind, name), kind, name)
	}
	return about(sandrone.Errorf(sandrone.NotFound, "%s", text), kind, name)
}

func about(e *sandrone.Error, kind, name string) *sandrone.Error {
	e.ResourceKind, e.ResourceName = kind, name
	return e
}
