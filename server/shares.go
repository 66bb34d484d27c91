package server

import (
	"net/http"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/engine"
)

type shareAnswer struct {
	Share engine.ShareView `json:"share"`
}

type shareList struct {
	Shares []engine.ShareView `json:"shares"`
}

func (s *Server) getShares(w http.ResponseWriter, r *http.Request) error {
	list, err := s.engine.Shares(r.Context())
	if err != nil {
		return err
	}
	if list == nil {
		list = []engine.ShareView{}
	}
	return reply(w, http.StatusOK, shareList{list})
}

// shareBody is a share as a client may send it: what the server adds to an
// answer may come back, and is ignored.
type shareBody struct {
	sandrone.Share
	sandrone.ShareUse
	sandrone.ShareFilenames
}

func (s *Server) postShare(w http.ResponseWriter, r *http.Request) error {
	var body shareBody
	if err := decode(w, r, &body); err != nil {
		return err
	}
	view, err := s.engine.PutShare(r.Context(), &body.Share, precondition(r))
	if err != nil {
		return err
	}
	tagged(w, view.ETag)
	return reply(w, http.StatusCreated, shareAnswer{view})
}

func (s *Server) getShare(w http.ResponseWriter, r *http.Request) error {
	id, err := resourceName(r, "id")
	if err != nil {
		return err
	}
	view, err := s.engine.Share(r.Context(), id)
	if err != nil {
		return err
	}
	return replyTagged(w, r, view.ETag, shareAnswer{view})
}

type accessList struct {
	Items []sandrone.ShareAccess `json:"items"` // newest first
}

func (s *Server) getShareAccesses(w http.ResponseWriter, r *http.Request) error {
	id, err := resourceName(r, "id")
	if err != nil {
		return err
	}
	list, err := s.engine.ShareAccesses(r.Context(), id)
	if err != nil {
		return err
	}
	if list == nil {
		list = []sandrone.ShareAccess{}
	}
	return reply(w, http.StatusOK, accessList{list})
}

func (s *Server) deleteShare(w http.ResponseWriter, r *http.Request) error {
	id, err := resourceName(r, "id")
	if err != nil {
		return err
	}
	if err := s.engine.DeleteShare(r.Context(), id, precondition(r)); err != nil {
		return err
	}
	return reply(w, http.StatusOK, done{OK: true})
}
