package store

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/sandrone-gateway/sandrone"
)

const (
	keptRevisions    = 10   // a resource
	keptDeleted      = 1000 // deleted resources that have revisions
	maxRevisionPage  = 200
	revisionPage     = 50
	revisionSequence = "revision"
)

// FormerDefinitions are the revisions. Get them from a [Tx].
type FormerDefinitions struct{ tx *Tx }

// Revisions are the former definitions that overwriting and deleting left:
// the newest 10 of each resource, and of deleted resources the 1,000 that were
// deleted last.
func (tx *Tx) Revisions() FormerDefinitions { return FormerDefinitions{tx} }

// RevisionQuery selects revisions.
type RevisionQuery struct {
	Kind    string // required
	Name    string // of one resource; empty means all
	Deleted bool   // only of resources that no longer exist, the newest of each
	Limit   int    // 1–200; 0 means 50
	Cursor  string // where the page before ended
}

// keepRevision makes text, which was the definition of a resource, a revision.
// A text that is no JSON is no definition and is not kept.
func (tx *Tx) keepRevision(kind, name, op string, text []byte) error {
	if json.Valid(text) {
		sequence, err := tx.next(revisionSequence)
		if err != nil {
			return err
		}
		// The sequence orders revisions whatever the clock does; the rest keeps
		// an id from meaning another revision after a restore.
		random, err := tx.randomHex(8)
		if err != nil {
			return err
		}
		r := sandrone.Revision{ID: fmt.Sprintf("%016x", sequence) + random, Kind: kind, Name: name, Op: op, ReplacedAt: tx.now, Size: len(text)}
		if err := put(tx.kv, SpaceRevisionIndex, indexKey(r), r); err != nil {
			return err
		}
		r.Definition = text
		if err := put(tx.kv, SpaceRevisions, r.ID, r); err != nil {
			return err
		}
	}
	ids, err := tx.revisionsOf(kind, name)
	if err != nil {
		return err
	}
	for _, id := range ids[:max(0, len(ids)-keptRevisions)] {
		if err := tx.dropRevision(kind, name, id); err != nil {
			return err
		}
	}
	if op == sandrone.RevisionDelete {
		return tx.boundDeleted()
	}
	return nil
}

// boundDeleted drops the revisions of the resources that were deleted first.
func (tx *Tx) boundDeleted() error {
	var deleted []revisionRef
	for _, kind := range []string{sandrone.KindSubscription, sandrone.KindFile, sandrone.KindShare} {
		refs, err := tx.revisions(kind, "")
		if err != nil {
			return err
		}
		if refs, err = tx.newestOfDeleted(refs); err != nil {
			return err
		}
		deleted = append(deleted, refs...)
	}
	slices.SortFunc(deleted, newestFirst)
	for _, ref := range deleted[min(len(deleted), keptDeleted):] {
		if err := tx.Revisions().Purge(ref.kind, ref.name); err != nil {
			return err
		}
	}
	return nil
}

// revisionRef is what the key of the index says of a revision.
type revisionRef struct{ kind, name, id string }

func newestFirst(a, b revisionRef) int { return strings.Compare(b.id, a.id) }

func indexKey(r sandrone.Revision) string { return r.Kind + "/" + r.Name + "/" + r.ID }

// revisions lists those of a kind, or of one resource, grouped by resource and
// oldest first in each.
func (tx *Tx) revisions(kind, name string) (refs []revisionRef, err error) {
	prefix := kind + "/"
	if name != "" {
		prefix += name + "/"
	}
	err = tx.kv.Scan(SpaceRevisionIndex, prefix, func(key string, _ []byte) error {
		if parts := strings.Split(key, "/"); len(parts) == 3 {
			refs = append(refs, revisionRef{parts[0], parts[1], parts[2]})
		}
		return nil
	})
	return refs, err
}

func (tx *Tx) revisionsOf(kind, name string) (ids []string, err error) {
	refs, err := tx.revisions(kind, name)
	for _, ref := range refs {
		ids = append(ids, ref.id)
	}
	return ids, err
}

// newestOfDeleted reduces refs, as revisions returns them, to one for each
// resource that no longer exists.
func (tx *Tx) newestOfDeleted(refs []revisionRef) (newest []revisionRef, err error) {
	for i, ref := range refs {
		if i+1 < len(refs) && refs[i+1].kind == ref.kind && refs[i+1].name == ref.name {
			continue
		}
		exists, err := tx.exists(ref.kind, ref.name)
		if err != nil {
			return nil, err
		}
		if !exists {
			newest = append(newest, ref)
		}
	}
	return newest, nil
}

func (tx *Tx) exists(kind, name string) (bool, error) {
	text, err := tx.kv.Get(SpaceResources, definitionKey(kind, name))
	return text != nil, err
}

// List returns a page of revisions without their definitions, newest first,
// and the cursor of the next page, empty at the end. A query that makes no
// sense is invalid_argument.
func (f FormerDefinitions) List(q RevisionQuery) ([]sandrone.Revision, string, error) {
	if err := checkKind(q.Kind); err != nil {
		return nil, "", err
	}
	if q.Name != "" {
		if err := sandrone.CheckName("name", q.Name); err != nil {
			return nil, "", err
		}
	}
	if q.Limit == 0 {
		q.Limit = revisionPage
	}
	if q.Limit < 1 || q.Limit > maxRevisionPage {
		return nil, "", sandrone.Errorf(sandrone.InvalidArgument, "limit must be 1 to %d", maxRevisionPage).At("limit")
	}
	if q.Cursor != "" && !isRevisionID(q.Cursor) {
		return nil, "", sandrone.Errorf(sandrone.InvalidArgument, "cursor is not one that was given out").At("cursor")
	}
	refs, err := f.tx.revisions(q.Kind, q.Name)
	if err != nil {
		return nil, "", err
	}
	if q.Deleted {
		if refs, err = f.tx.newestOfDeleted(refs); err != nil {
			return nil, "", err
		}
	}
	slices.SortFunc(refs, newestFirst)
	if q.Cursor != "" {
		refs = slices.DeleteFunc(refs, func(r revisionRef) bool { return r.id >= q.Cursor })
	}
	next := ""
	if len(refs) > q.Limit {
		refs = refs[:q.Limit]
		next = refs[q.Limit-1].id
	}
	items := make([]sandrone.Revision, 0, len(refs))
	for _, ref := range refs {
		text, err := f.tx.kv.Get(SpaceRevisionIndex, ref.kind+"/"+ref.name+"/"+ref.id)
		if err != nil {
			return nil, "", err
		}
		r := sandrone.Revision{}
		if json.Unmarshal(text, &r) != nil {
			r = sandrone.Revision{}
		}
		r.ID, r.Kind, r.Name = ref.id, ref.kind, ref.name
		if r.Exists, err = f.tx.exists(r.Kind, r.Name); err != nil {
			return nil, "", err
		}
		items = append(items, r)
	}
	return items, next, nil
}

// Get returns a revision with its definition: not_found if there is none.
func (f FormerDefinitions) Get(id string) (sandrone.Revision, error) {
	r := sandrone.Revision{}
	if !isRevisionID(id) {
		return r, notFound(sandrone.KindRevision, id)
	}
	text, err := f.tx.kv.Get(SpaceRevisions, id)
	if err != nil {
		return r, err
	}
	if text == nil {
		return r, notFound(sandrone.KindRevision, id)
	}
	if err := json.Unmarshal(text, &r); err != nil || checkKind(r.Kind) != nil || sandrone.CheckName("name", r.Name) != nil {
		return sandrone.Revision{}, about(internal("the stored revision cannot be read", err), sandrone.KindRevision, id)
	}
	r.ID = id
	r.Exists, err = f.tx.exists(r.Kind, r.Name)
	return r, err
}

// Restore writes a revision back under its name; the definition that is there
// becomes a revision first. The time of creation is the revision's own. The
// preconditions are about the definition that is there. It returns the
// revision and what was written.
func (f FormerDefinitions) Restore(id string, pre Precondition) (sandrone.Revision, Written, error) {
	r, err := f.Get(id)
	if err != nil {
		return r, Written{}, err
	}
	var w Written
	switch r.Kind {
	case sandrone.KindSubscription:
		w, err = restoreRevision(f.tx.Subscriptions(), r, pre)
	case sandrone.KindFile:
		w, err = restoreRevision(f.tx.Files(), r, pre)
	case sandrone.KindShare:
		w, err = restoreRevision(f.tx.Shares(), r, pre)
	}
	return r, w, err
}

// restoreRevision does not normalise: what an older version took is written
// back as it was.
func restoreRevision[T any](d Definitions[T], r sandrone.Revision, pre Precondition) (Written, error) {
	v, err := d.kind.decode(r.Name, r.Definition)
	if err != nil {
		return Written{}, about(internal("the stored revision cannot be read", err), sandrone.KindRevision, r.ID)
	}
	return d.write(v, pre, true)
}

// Delete purges one revision, readable or not: not_found if there is none.
func (f FormerDefinitions) Delete(id string) error {
	if !isRevisionID(id) {
		return notFound(sandrone.KindRevision, id)
	}
	text, err := f.tx.kv.Get(SpaceRevisions, id)
	if err != nil {
		return err
	}
	if text == nil {
		return notFound(sandrone.KindRevision, id)
	}
	var indexed []string
	err = f.tx.kv.Scan(SpaceRevisionIndex, "", func(key string, _ []byte) error {
		if strings.HasSuffix(key, "/"+id) {
			indexed = append(indexed, key)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, key := range indexed {
		if err := f.tx.kv.Delete(SpaceRevisionIndex, key); err != nil {
			return err
		}
	}
	return f.tx.kv.Delete(SpaceRevisions, id)
}

// Purge deletes every revision of a resource, if there are any.
func (f FormerDefinitions) Purge(kind, name string) error {
	if err := checkKind(kind); err != nil {
		return err
	}
	if err := sandrone.CheckName("name", name); err != nil {
		return err
	}
	ids, err := f.tx.revisionsOf(kind, name)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := f.tx.dropRevision(kind, name, id); err != nil {
			return err
		}
	}
	return nil
}

func (tx *Tx) dropRevision(kind, name, id string) error {
	if err := tx.kv.Delete(SpaceRevisions, id); err != nil {
		return err
	}
	return tx.kv.Delete(SpaceRevisionIndex, kind+"/"+name+"/"+id)
}

func checkKind(kind string) error {
	switch kind {
	case sandrone.KindSubscription, sandrone.KindFile, sandrone.KindShare:
		return nil
	}
	return sandrone.Errorf(sandrone.InvalidArgument, "kind must be one of subscription, file, share").At("kind")
}

func isRevisionID(id string) bool {
	b, err := hex.DecodeString(id)
	return err == nil && len(b) == 16 && strings.ToLower(id) == id
}

// next counts a counter up, beginning with 1.
func (tx *Tx) next(counter string) (uint64, error) {
	n, err := tx.count(counter)
	if err != nil {
		return 0, err
	}
	return n + 1, tx.setCount(counter, n+1)
}

// count returns a counter that was never set as 0.
func (tx *Tx) count(counter string) (uint64, error) {
	b, err := tx.kv.Get(SpaceCounters, counter)
	if err != nil || len(b) != 8 {
		return 0, err
	}
	return binary.BigEndian.Uint64(b), nil
}

func (tx *Tx) setCount(counter string, n uint64) error {
	return tx.kv.Put(SpaceCounters, counter, binary.BigEndian.AppendUint64(nil, n))
}
