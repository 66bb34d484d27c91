package engine

import (
	"context"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/store"
)

// ShareView is a share with what follows from its definition and what was seen
// of it, as far as the answer has them. Its JSON form is that of the API.
type ShareView struct {
	sandrone.Share
	*sandrone.ShareUse
	*sandrone.ShareFilenames
	Warning string `json:"warning,omitempty"` // the stored definition cannot be read
	ETag    string `json:"-"`
}

// Shares lists the stored shares by time of creation, with their use and file
// names.
func (e *Engine) Shares(ctx context.Context) ([]ShareView, error) { return nil, notPartOf("the store") }

// Share returns a stored share with its use: not_found if there is none.
func (e *Engine) Share(ctx context.Context, id string) (ShareView, error) {
	return ShareView{}, notPartOf("the store")
}

// PutShare checks and saves s, giving it an id if it has none, and returns it
// with its file names. Its target must exist, its format be known, its
// recipient a key. Errors: invalid_argument, not_found, precondition_failed,
// conflict.
func (e *Engine) PutShare(ctx context.Context, s *sandrone.Share, pre store.Precondition) (ShareView, error) {
	return ShareView{}, notPartOf("the store")
}

// DeleteShare revokes a share at once. Errors: not_found, precondition_failed.
func (e *Engine) DeleteShare(ctx context.Context, id string, pre store.Precondition) error {
	return notPartOf("the store")
}

// ShareAccesses returns the last requests of a share, newest first: not_found
// if there is no such share.
func (e *Engine) ShareAccesses(ctx context.Context, id string) ([]sandrone.ShareAccess, error) {
	return nil, notPartOf("the store")
}
