package server

import (
	"net/http"
	"strconv"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/store"
)

// getRevisions lists former definitions.
func (s *Server) getRevisions(w http.ResponseWriter, r *http.Request) error {
	query, err := readQuery(r)
	if err != nil {
		return err
	}
	q := store.RevisionQuery{Kind: query.Get("kind"), Name: query.Get("name"), Deleted: query.Get("deleted") == "1", Cursor: query.Get("cursor")}
	if text := query.Get("limit"); text != "" {
		if q.Limit, err = strconv.Atoi(text); err != nil || q.Limit < 1 {
			return sandrone.Errorf(sandrone.InvalidArgument, "limit must be 1 to 200").At("limit")
		}
	}
	page, err := s.engine.Revisions(r.Context(), q)
	if err != nil {
		return err
	}
	if page.Items == nil {
		page.Items = []sandrone.Revision{}
	}
	return reply(w, http.StatusOK, page)
}

type revisionAnswer struct {
	Revision sandrone.Revision `json:"revision"`
}

func (s *Server) getRevision(w http.ResponseWriter, r *http.Request) error {
	id, err := resourceName(r, "id")
	if err != nil {
		return err
	}
	revision, err := s.engine.Revision(r.Context(), id)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, revisionAnswer{revision})
}

type restored struct {
	OK   bool   `json:"ok"`
	Kind string `json:"kind"`
	Name string `json:"name"`
}

func (s *Server) restoreRevision(w http.ResponseWriter, r *http.Request) error {
	id, err := resourceName(r, "id")
	if err != nil {
		return err
	}
	result, err := s.engine.RestoreRevision(r.Context(), id, precondition(r))
	if err != nil {
		return err
	}
	tagged(w, result.ETag)
	return reply(w, http.StatusOK, restored{true, result.Kind, result.Name})
}

func (s *Server) deleteRevision(w http.ResponseWriter, r *http.Request) error {
	id, err := resourceName(r, "id")
	if err != nil {
		return err
	}
	if err := s.engine.DeleteRevision(r.Context(), id); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// purgeRevisions deletes all revisions of one resource, which both parameters
// name.
func (s *Server) purgeRevisions(w http.ResponseWriter, r *http.Request) error {
	query, err := readQuery(r)
	if err != nil {
		return err
	}
	for _, name := range []string{"kind", "name"} {
		if query.Get(name) == "" {
			return sandrone.Errorf(sandrone.InvalidArgument, "%s is required", name).At(name)
		}
	}
	if err := s.engine.PurgeRevisions(r.Context(), query.Get("kind"), query.Get("name")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
