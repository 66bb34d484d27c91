package server

import (
	"net/http"
	"time"

	"github.com/sandrone-gateway/sandrone"
)

type tokenList struct {
	Items []sandrone.Token `json:"items"` // by time of creation
}

func (s *Server) getTokens(w http.ResponseWriter, r *http.Request) error {
	list, err := s.engine.Tokens(r.Context())
	if err != nil {
		return err
	}
	if list == nil {
		list = []sandrone.Token{}
	}
	return reply(w, http.StatusOK, tokenList{list})
}

// tokenBody is what a client chooses of a token.
type tokenBody struct {
	Name      string    `json:"name"`
	Scope     string    `json:"scope"`
	ExpiresAt time.Time `json:"expires_at,omitzero"`
}

type newToken struct {
	Token  sandrone.Token `json:"token"`
	Secret string         `json:"secret"` // not to be had again
}

func (s *Server) postToken(w http.ResponseWriter, r *http.Request) error {
	var body tokenBody
	if err := decode(w, r, &body); err != nil {
		return err
	}
	made, secret, err := s.engine.CreateToken(r.Context(), sandrone.Token{Name: body.Name, Scope: body.Scope, ExpiresAt: body.ExpiresAt})
	if err != nil {
		return err
	}
	return reply(w, http.StatusCreated, newToken{made, secret})
}

func (s *Server) deleteToken(w http.ResponseWriter, r *http.Request) error {
	id, err := resourceName(r, "id")
	if err != nil {
		return err
	}
	if err := s.engine.DeleteToken(r.Context(), id); err != nil {
		return err
	}
	return reply(w, http.StatusOK, done{OK: true})
}
