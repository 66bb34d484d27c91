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

// Revisions lists former definitions. Errors: invalid_argument.
func (e *Engine) Revisions(ctx context.Context, q store.RevisionQuery) (RevisionPage, error) {
	return RevisionPage{}, notPartOf("the store")
}

// Revision returns one with its definition: not_found if there is none.
func (e *Engine) Revision(ctx context.Context, id string) (sandrone.Revision, error) {
	return sandrone.Revision{}, notPartOf("the store")
}

// RestoreRevision writes a former definition back under its name. Errors:
// not_found, precondition_failed, conflict.
func (e *Engine) RestoreRevision(ctx context.Context, id string, pre store.Precondition) (Restored, error) {
	return Restored{}, notPartOf("the store")
}

// DeleteRevision purges one revision: not_found if there is none.
func (e *Engine) DeleteRevision(ctx context.Context, id string) error { return notPartOf("the store") }

// PurgeRevisions purges every revision of one resource, if there are any.
func (e *Engine) PurgeRevisions(ctx context.Context, kind, name string) error {
	return notPartOf("the store")
}
