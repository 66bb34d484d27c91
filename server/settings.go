package server

import (
	"context"
	"net/http"

	"github.com/sandrone-gateway/sandrone/engine"
	"github.com/sandrone-gateway/sandrone/store"
)

func (s *Server) getSettings(w http.ResponseWriter, r *http.Request) error {
	view, err := s.engine.SettingsView(r.Context())
	if err != nil {
		return err
	}
	return replyTagged(w, r, view.ETag, view)
}

func (s *Server) putSettings(w http.ResponseWriter, r *http.Request) error {
	return changeSettings(w, r, s.engine.PutSettings)
}

func (s *Server) patchSettings(w http.ResponseWriter, r *http.Request) error {
	return changeSettings(w, r, s.engine.PatchSettings)
}

func changeSettings(w http.ResponseWriter, r *http.Request, change func(context.Context, []byte, store.Precondition) (engine.SettingsAnswer, error)) error {
	body, err := readBody(w, r)
	if err != nil {
		return err
	}
	view, err := change(r.Context(), body, precondition(r))
	if err != nil {
		return err
	}
	tagged(w, view.ETag)
	return reply(w, http.StatusOK, view)
}

func (s *Server) getScheduleStatus(w http.ResponseWriter, r *http.Request) error {
	return reply(w, http.StatusOK, s.engine.ScheduleStatus())
}

func (s *Server) deleteCache(w http.ResponseWriter, r *http.Request) error {
	if err := s.engine.ClearCache(r.Context()); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
