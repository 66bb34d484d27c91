package engine

import (
	"context"

	"filippo.io/age"

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
func (e *Engine) Shares(ctx context.Context) ([]ShareView, error) {
	e.flushAccesses(ctx)
	list := []ShareView{}
	err := e.view(ctx, func(tx *store.Tx) error {
		records, err := tx.Shares().List()
		if err != nil {
			return err
		}
		for _, record := range records {
			view := ShareView{Share: sandrone.Share{ID: record.Name}, ETag: record.ETag, Warning: "the stored share cannot be read"}
			if record.Definition != nil {
				view.Share, view.Warning = *record.Definition, ""
				view.ShareFilenames = e.shareFilenames(&view.Share)
			}
			accesses, err := tx.Accesses().Get(record.Name)
			if err != nil {
				return err
			}
			view.ShareUse = &accesses.ShareUse
			list = append(list, view)
		}
		return nil
	})
	return list, err
}

// Share returns a stored share with its use: not_found if there is none.
func (e *Engine) Share(ctx context.Context, id string) (view ShareView, err error) {
	e.flushAccesses(ctx)
	err = e.view(ctx, func(tx *store.Tx) error {
		record, err := tx.Shares().Get(id)
		if err != nil {
			return err
		}
		accesses, err := tx.Accesses().Get(id)
		view = ShareView{Share: *record.Definition, ShareUse: &accesses.ShareUse, ETag: record.ETag}
		return err
	})
	return view, err
}

// PutShare checks and saves s, giving it an id if it has none, and returns it
// with its file names. Its target must exist, its format be known, its
// recipient a key. Errors: invalid_argument, not_found, precondition_failed,
// conflict.
func (e *Engine) PutShare(ctx context.Context, s *sandrone.Share, pre store.Precondition) (ShareView, error) {
	if err := s.Normalise(); err != nil {
		return ShareView{}, err
	}
	if s.TargetKind == sandrone.KindSubscription {
		if err := e.registry.CheckTarget(s.TargetFormat); err != nil {
			return ShareView{}, sandrone.AsError(err).At("target_format")
		}
	}
	if s.AgeRecipient != "" {
		if _, err := age.ParseX25519Recipient(s.AgeRecipient); err != nil {
			return ShareView{}, sandrone.Errorf(sandrone.InvalidArgument, "age_recipient must be an age X25519 recipient").At("age_recipient")
		}
	}
	var written store.Written
	err := e.change(ctx, func(tx *store.Tx) error {
		exists, err := targetExists(tx, s)
		if err != nil {
			return err
		}
		if !exists {
			missing := sandrone.Errorf(sandrone.NotFound, "%s %q not found", s.TargetKind, s.TargetName).At("target_name")
			missing.ResourceKind, missing.ResourceName = s.TargetKind, s.TargetName
			return missing
		}
		written, err = tx.Shares().Put(s, pre)
		return err
	})
	if err != nil {
		return ShareView{}, err
	}
	return ShareView{Share: *s, ShareFilenames: e.shareFilenames(s), ETag: written.ETag}, nil
}

func targetExists(tx *store.Tx, s *sandrone.Share) (bool, error) {
	if s.TargetKind == sandrone.KindFile {
		return tx.Files().Exists(s.TargetName)
	}
	return tx.Subscriptions().Exists(s.TargetName)
}

// DeleteShare revokes a share at once. Errors: not_found, precondition_failed.
func (e *Engine) DeleteShare(ctx context.Context, id string, pre store.Precondition) error {
	return shares.delete(ctx, e, id, pre)
}

// ShareAccesses returns the last requests of a share, newest first: not_found
// if there is no such share.
func (e *Engine) ShareAccesses(ctx context.Context, id string) (list []sandrone.ShareAccess, err error) {
	e.flushAccesses(ctx)
	err = e.view(ctx, func(tx *store.Tx) error {
		exists, err := tx.Shares().Exists(id)
		if err != nil {
			return err
		}
		if !exists {
			return sandrone.Errorf(sandrone.NotFound, "share not found")
		}
		record, err := tx.Accesses().Get(id)
		list = record.Recent
		return err
	})
	return list, err
}

// shareFilenames derives the names under which a share is read.
func (e *Engine) shareFilenames(s *sandrone.Share) *sandrone.ShareFilenames {
	if s.TargetKind == sandrone.KindFile {
		name, _ := fileShareName(s, "")
		return &sandrone.ShareFilenames{PublicFilename: name}
	}
	names := &sandrone.ShareFilenames{FormatFilenames: make(map[string]string)}
	for _, r := range e.registry.Renderers() {
		names.FormatFilenames[r.Name] = subscriptionShareName(s, r.Extension)
	}
	// A format that this build does not know has no name to be read under.
	if target, err := e.registry.Target(s.TargetFormat); err == nil {
		names.PublicFilename = subscriptionShareName(s, target.Extension)
	}
	return names
}
