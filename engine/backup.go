package engine

import (
	"context"
	"io"

	"github.com/sandrone-gateway/sandrone/store"
)

// ClearCache empties all caches, last good copies too.
func (e *Engine) ClearCache(ctx context.Context) error { return notPartOf("the store") }

// Backup returns an archive of all definitions and settings, secrets in clear
// text.
func (e *Engine) Backup(ctx context.Context) ([]byte, error) { return nil, notPartOf("the store") }

// ReadBackup reads an archive and checks all of it. Errors: backup_invalid,
// backup_incompatible, backup_too_large.
func (e *Engine) ReadBackup(r io.Reader) (*store.Archive, error) { return nil, notPartOf("the store") }

// Restore replaces everything that a backup covers by what an archive holds,
// and returns its counts. Once the archive is found valid, the end of ctx does
// not stop it. Errors: those of ReadBackup, internal_error.
func (e *Engine) Restore(ctx context.Context, r io.Reader) (store.Counts, error) {
	return store.Counts{}, notPartOf("the store")
}

// RestoreArchive is [Engine.Restore] for an archive that was read.
func (e *Engine) RestoreArchive(ctx context.Context, a *store.Archive) error {
	return notPartOf("the store")
}

// StoreCounts counts what a backup would hold and a restore would replace.
func (e *Engine) StoreCounts(ctx context.Context) (store.Counts, error) {
	return store.Counts{}, notPartOf("the store")
}
