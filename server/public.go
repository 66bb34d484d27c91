package server

import (
	"net/http"
	"strconv"

	"github.com/sandrone-gateway/sandrone/engine"
)

// readShare answers anyone who knows the id of a share.
func (s *Server) readShare(w http.ResponseWriter, r *http.Request) error {
	return s.shared(w, r, "", false)
}

// readShareAs is readShare by the name of its file, which clients show. The
// engine knows which one is right, and notes the wrong ones.
func (s *Server) readShareAs(w http.ResponseWriter, r *http.Request) error {
	return s.shared(w, r, pathName(r, "filename"), true)
}

func (s *Server) shared(w http.ResponseWriter, r *http.Request, filename string, named bool) error {
	if err := s.limitRate(w, r, s.shareRate, s.engine.Settings().Shares.RequestsPerMinute); err != nil {
		return err
	}
	id, err := resourceName(r, "id")
	if err != nil {
		return err
	}
	query, err := readQuery(r)
	if err != nil {
		return err
	}
	result, err := s.engine.SharedRead(r.Context(), engine.ShareRequest{
		ID:            id,
		Filename:      filename,
		HasFilename:   named,
		Format:        query.Get("format"),
		Args:          argsOf(query),
		IfNoneMatch:   entityTags(r.Header.Values("If-None-Match")),
		ClientAddress: s.clientAddr(r).Unmap().WithZone("").String(),
		UserAgent:     r.UserAgent(),
		Slot:          s.slots.take,
	})
	if err != nil {
		return err
	}
	header := w.Header()
	for name, value := range result.Header {
		header.Set(name, value)
	}
	if result.OriginalType != "" {
		header.Set("X-Sandrone-Original-Content-Type", result.OriginalType)
	}
	if result.Stale > 0 {
		header.Set("X-Sandrone-Stale", strconv.FormatInt(result.Stale, 10))
	}
	how := "inline"
	if query.Get("download") == "1" {
		how = "attachment"
	}
	header.Set("Content-Disposition", disposition(how, result.Filename))
	tagged(w, result.ETag)
	if result.NotModified {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	send(w, http.StatusOK, result.ContentType, result.Body)
	return nil
}
