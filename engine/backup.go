package engine

import (
	"context"
	"io"

	"github.com/sandrone-gateway/sandrone/store"
)

// ClearCache empties all caches, last good copies too.
func (e *Engine) ClearCache(ctx context.Context) error {
	if e.store == nil {
		return noStore()
	}
	err := e.store.Cache().Clear(ctx)
	e.changes.Add(1) // who asks from now on wants it made anew
	return err
}

// Backup returns an archive of all definitions and settings, secrets in clear
// text.
func (e *Engine) Backup(ctx context.Context) ([]byte, error) {
	if e.store == nil {
		return nil, noStore()
	}
	return e.store.Backup(ctx)
}

// ReadBackup reads an archive and checks all of it. Errors: backup_invalid,
// backup_incompatible, backup_too_large.
func (e *Engine) ReadBackup(r io.Reader) (*store.Archive, error) {
	if e.store == nil {
		return nil, noStore()
	}
	return e.store.ReadArchive(r)
}

// Restore replaces everything that a backup covers by what an archive holds,
// and returns its counts. Errors: those of [Engine.ReadBackup], internal_error.
func (e *Engine) Restore(ctx context.Context, r io.Reader) (store.Counts, error) {
	a, err := e.ReadBackup(r)
	if err != nil {
		return store.Counts{}, err
	}
	return a.Counts, e.RestoreArchive(ctx, a)
}

// RestoreArchive is [Engine.Restore] for an archive that was read. The archive
// is valid, so the end of ctx does not stop it: a client that hangs up early
// would not know what it got. Settings take effect as after
// [Engine.PutSettings].
func (e *Engine) RestoreArchive(ctx context.Context, a *store.Archive) error {
	ctx = context.WithoutCancel(ctx)
	return e.changeSettings(ctx, func() error { return e.store.Restore(ctx, a) })
}

// StoreCounts counts what a backup would hold and a restore would replace.
func (e *Engine) StoreCounts(ctx context.Context) (counts store.Counts, err error) {
	err = e.view(ctx, func(tx *store.Tx) error {
		counts, err = tx.Counts()
		return err
	})
	return counts, err
}
