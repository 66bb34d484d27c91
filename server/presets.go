package server

import (
	"net/http"
	"strings"

	"github.com/sandrone-gateway/sandrone/catalog"
)

// getPresets answers with what editors of client files begin with. Like the
// rule sets it is made anew each time rather than kept.
func (s *Server) getPresets(w http.ResponseWriter, r *http.Request) error {
	query, err := readQuery(r)
	if err != nil {
		return err
	}
	set, err := s.catalog.Presets(strings.TrimSpace(query.Get("kind")), strings.TrimSpace(query.Get("locale")))
	if err != nil {
		return err
	}
	text, err := encode(set)
	if err != nil {
		return err
	}
	sendHashed(w, r, text)
	return nil
}

// addPreset answers with steps, and stores nothing.
func (s *Server) addPreset(w http.ResponseWriter, r *http.Request) error {
	var body catalog.AddPreset
	if err := decode(w, r, &body); err != nil {
		return err
	}
	out, err := s.catalog.AddPreset(body)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, out)
}

// groupByRegion answers with settings, and stores nothing.
func (s *Server) groupByRegion(w http.ResponseWriter, r *http.Request) error {
	var body catalog.GroupByRegion
	if err := decode(w, r, &body); err != nil {
		return err
	}
	out, err := s.catalog.GroupByRegion(body)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, out)
}
