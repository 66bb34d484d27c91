package server

import (
	"net/http"

	"github.com/sandrone-gateway/sandrone"
)

type health struct {
	OK bool `json:"ok"`
}

// getHealth says that the process answers. It touches nothing else.
func (s *Server) getHealth(w http.ResponseWriter, r *http.Request) error {
	return s.document(w, "/healthz", func() (any, error) {
		return health{true}, nil
	})
}

func (s *Server) getVersion(w http.ResponseWriter, r *http.Request) error {
	return s.document(w, "/version", func() (any, error) { return sandrone.ThisBuild(), nil })
}
