package server

import (
	"context"
	"net/http"
	"time"

	"github.com/sandrone-gateway/sandrone/mcp"
)

func (s *Server) newMCP(extensions []mcp.Extension) *mcp.Endpoint {
	return mcp.New(mcp.Options{
		Engine:   s.engine,
		Catalog:  s.catalog,
		MayWrite: func(ctx context.Context) bool { return scopeOf(ctx) >= write },
		Called: func(tool string, ok bool) {
			s.metrics.add(1, "sandrone_mcp_calls_total", "result", okOrError(ok), "tool", tool)
		},
		Fault: func(ctx context.Context, err error) { s.logFault(ctx, s.engine.Settings().MCP.Path, err) },
	}, extensions...)
}

// postMCP hands a request to the MCP endpoint. What is wrong with it from here
// on is told in the protocol's own form.
func (s *Server) postMCP(w http.ResponseWriter, r *http.Request) error {
	s.mcp.ServeHTTP(&timedAnswer{w}, r)
	return nil
}

// timedAnswer gives an answer the time limit of all answers when it begins,
// however long it took to make.
type timedAnswer struct{ http.ResponseWriter }

func (a *timedAnswer) WriteHeader(status int) {
	a.limit()
	a.ResponseWriter.WriteHeader(status)
}

func (a *timedAnswer) Write(p []byte) (int, error) {
	a.limit()
	return a.ResponseWriter.Write(p)
}

func (a *timedAnswer) limit() {
	_ = http.NewResponseController(a.ResponseWriter).SetWriteDeadline(time.Now().Add(writeTimeout))
}

// Unwrap lets http.ResponseController reach the connection.
func (a *timedAnswer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
