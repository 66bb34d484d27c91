package engine

import (
	"context"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/store"
)

// RevisionPage is one page of revisions, newest first.
type RevisionPage struct {
	Items      []sandrone.Revision `json:"items"`
	NextCursor string              `json:"next_cursor,omitempty"`
}

// Restored is the outcome of a restored revision.
type Restored struct {
	Kind string
	Name string // of a share: its id
	ETag string // of what is stored now
}

// Revisions lists former definitions, without their texts. Errors:
// invalid_argument.
func (e *Engine) Revisions(ctx context.Context, q store.RevisionQuery) (page RevisionPage, err error) {
	err = e.view(ctx, func(tx *store.Tx) error {
		page.Items, page.NextCursor, err = tx.Revisions().List(q)
		return err
	})
	return page, err
}

// Revision returns one with its definition: not_found if there is none.
func (e *Engine) Revision(ctx context.Context, id string) (r sandrone.Revision, err error) {
	err = e.view(ctx, func(tx *store.Tx) error {
		r, err = tx.Revisions().Get(id)
		return err
	})
	return r, err
}

// RestoreRevision writes a former definition back under its name, whether or
// not what it refers to is still there. Errors: not_found,
// precondition_failed, conflict.
func (e *Engine) RestoreRevision(ctx context.Context, id string, pre store.Precondition) (restored Restored, err error) {
	err = e.change(ctx, func(tx *store.Tx) error {
		r, written, err := tx.Revisions().Restore(id, pre)
		restored = Restored{Kind: r.Kind, Name: r.Name, ETag: written.ETag}
		return err
	})
	if err != nil {
		return Restored{}, err
	}
	return restored, nil
}

// DeleteRevision purges one revision: not_found if there is none.
func (e *Engine) DeleteRevision(ctx context.Context, id string) error {
	if e.store == nil {
		return noStore()
	}
	return e.store.Update(ctx, func(tx *store.Tx) error { return tx.Revisions().Delete(id) })
}

// PurgeRevisions purges every revision of one resource, if there are any.
func (e *Engine) PurgeRevisions(ctx context.Context, kind, name string) error {
	if e.store == nil {
		return noStore()
	}
	return e.store.Update(ctx, func(tx *store.Tx) error { return tx.Revisions().Purge(kind, name) })
}
