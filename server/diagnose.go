package server

import (
	"net/http"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/engine"
)

// postDiagnose tells what becomes of an input, stage by stage. What fails on
// the way is part of the answer.
func (s *Server) postDiagnose(w http.ResponseWriter, r *http.Request) error {
	var body engine.DiagnoseRequest
	if err := decode(w, r, &body); err != nil {
		return err
	}
	result, err := s.engine.Diagnose(r.Context(), body)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, result)
}

// testPattern tries a regular expression on texts. A pattern that cannot be
// used is an answer.
func (s *Server) testPattern(w http.ResponseWriter, r *http.Request) error {
	var body struct { // as engine.PatternTrial, but what is missing is told from what is empty
		Pattern     *string   `json:"pattern"`
		Replacement *string   `json:"replacement"`
		Texts       *[]string `json:"texts"`
	}
	if err := decode(w, r, &body); err != nil {
		return err
	}
	switch {
	case body.Pattern == nil:
		return sandrone.Errorf(sandrone.InvalidArgument, "pattern is required").At("pattern")
	case body.Texts == nil:
		return sandrone.Errorf(sandrone.InvalidArgument, "texts is required").At("texts")
	}
	result, err := s.engine.TryPattern(r.Context(), engine.PatternTrial{Pattern: *body.Pattern, Replacement: body.Replacement, Texts: *body.Texts})
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, result)
}
