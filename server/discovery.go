package server

import (
	"net/http"
	"strings"

	"github.com/sandrone-gateway/sandrone/catalog"
	"github.com/sandrone-gateway/sandrone/engine"
)

const formatsPath = "/v1/capabilities/formats"

// inspection is what the engine says, and what only this door knows.
type inspection struct {
	engine.Inspection
	Catalogs map[string]string `json:"catalogs"`
	Scope    string            `json:"scope"` // of the caller
}

// getInspect tells what this process can do, and what the caller may.
func (s *Server) getInspect(w http.ResponseWriter, r *http.Request) error {
	found, err := s.engine.Inspect(r.Context())
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, inspection{
		Inspection: found,
		Catalogs: map[string]string{
			"formats":    formatsPath,
			"schemas":    schemasPath,
			"processors": schemaPaths[catalog.SchemaProcessors],
			"file_kinds": schemaPaths[catalog.SchemaFileKinds],
		},
		Scope: callerScope(r).String(),
	})
}

func (s *Server) getFormats(w http.ResponseWriter, r *http.Request) error {
	return s.document(w, formatsPath, func() (any, error) {
		return s.catalog.Index(formatPath), nil
	})
}

func formatPath(direction, format string) string { return formatsPath + "/" + direction + "/" + format }

func (s *Server) getFormat(w http.ResponseWriter, r *http.Request) error {
	direction, format := pathName(r, "direction"), pathName(r, "format")
	return s.document(w, formatPath(direction, format), func() (any, error) {
		return s.catalog.Detail(direction, format)
	})
}

func (s *Server) getFeatures(w http.ResponseWriter, r *http.Request) error {
	cores := make(map[string]bool)
	for _, core := range s.engine.Cores() {
		cores[core.Name] = core.OK
	}
	found, err := s.engine.Inspect(r.Context())
	if err != nil {
		return err
	}
	const scheduling = true // whoever serves runs the schedule too
	return reply(w, http.StatusOK, catalog.NewFeatures(cores, len(found.Probe.Methods) > 0, scheduling))
}

// getRuleSets lists the public rule sets for a client. The answer is large and
// seldom asked for, so it is made anew each time rather than kept.
func (s *Server) getRuleSets(w http.ResponseWriter, r *http.Request) error {
	query, err := readQuery(r)
	if err != nil {
		return err
	}
	sets, err := s.catalog.RuleSets(strings.TrimSpace(query.Get("target")))
	if err != nil {
		return err
	}
	text, err := encode(sets)
	if err != nil {
		return err
	}
	sendHashed(w, r, text)
	return nil
}
