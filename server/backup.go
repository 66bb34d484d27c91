package server

import (
	"net/http"

	"github.com/sandrone-gateway/sandrone"
)

const maxBackup = 32 << 20 // bytes of an archive, compressed

// getBackup answers with an archive of everything that was defined.
func (s *Server) getBackup(w http.ResponseWriter, r *http.Request) error {
	archive, err := s.engine.Backup(r.Context())
	if err != nil {
		return err
	}
	name := "sandrone-backup-" + s.now().UTC().Format("20060102T150405Z") + ".zip"
	w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
	send(w, http.StatusOK, "application/zip", archive)
	return nil
}

// restoreBackup replaces everything that was defined by what an archive holds.
func (s *Server) restoreBackup(w http.ResponseWriter, r *http.Request) error {
	if r.ContentLength > maxBackup {
		return sandrone.Errorf(sandrone.BackupTooLarge, "the backup exceeds %d bytes", maxBackup)
	}
	// The engine looks at one byte more than an archive may have.
	if _, err := s.engine.Restore(r.Context(), http.MaxBytesReader(connection(w), r.Body, maxBackup+1)); err != nil {
		return err
	}
	return reply(w, http.StatusOK, done{OK: true})
}
