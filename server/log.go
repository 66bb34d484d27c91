package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/engine"
)

// ServeHTTP answers one request, writes its line to the access log, and keeps
// a panic of a handler from costing more than the request.
func (s *Server) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	start := time.Now()
	w := &answer{ResponseWriter: rw}
	s.metrics.inFlight.Inc()
	defer s.metrics.inFlight.Dec()
	defer func() {
		v := recover()
		if v != nil && v != http.ErrAbortHandler {
			err := engine.Recovered(v)
			if w.status == 0 {
				s.fail(w, r, sandrone.Errorf(sandrone.InternalError, "internal error").Because(err))
				v = nil
			} else {
				s.logCause(r, err)
			}
		}
		took := time.Since(start)
		s.logAccess(w, r, took)
		s.metrics.answered(w.route, r.Method, w.status, took)
		if w.status == http.StatusRequestEntityTooLarge {
			linger(rw, r)
		}
		if v != nil {
			panic(http.ErrAbortHandler) // the answer is cut: the client has to see it
		}
	}()
	s.answer(w, r)
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("X-Content-Type-Options", "nosniff")
	switch path := r.URL.Path; {
	case path == "/convert":
		header.Set("Cache-Control", "no-store")
		header.Set("Referrer-Policy", "no-referrer")
	case below(path, "/s"):
		header.Set("Cache-Control", "private, no-cache")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Content-Security-Policy", sandboxed)
	case s.access.protects(path):
		header.Set("Cache-Control", "no-store")
	}
	r = limitBodyTime(w, r, s.bodyTime(r))
	r, err := s.access.guard(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	path, ok := routePath(r.URL)
	if !ok {
		s.noRoute(w, r)
		return
	}
	// The router takes the path that it finds here over the request's own.
	routing := chi.NewRouteContext()
	routing.RoutePath = path
	s.mux.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), chi.RouteCtxKey, routing)))
}

// sandboxed is the policy of texts that are not the program's own: a browser
// that shows one runs and loads nothing.
const sandboxed = "sandbox; default-src 'none'"

// answer remembers what the access log and the metrics tell of a response.
type answer struct {
	http.ResponseWriter
	route  string // pattern; empty if the request found none
	status int
	bytes  int64
}

func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) Write(p []byte) (int, error) {
	if a.status == 0 {
		a.status = http.StatusOK
	}
	n, err := a.ResponseWriter.Write(p)
	a.bytes += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController reach the connection.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

func (s *Server) logAccess(a *answer, r *http.Request, took time.Duration) {
	level := slog.LevelDebug
	switch {
	case a.status >= 500:
		level = slog.LevelError
	case a.status >= 400:
		level = slog.LevelWarn
	}
	if !s.log.Enabled(r.Context(), level) {
		return
	}
	attrs := []slog.Attr{
		slog.String("method", shorten(r.Method, 32)),
		slog.String("path", shorten(maskPath(r.URL.Path), 512)),
		slog.Int("status", a.status),
		slog.Int64("duration_ms", took.Milliseconds()),
		slog.Int64("bytes", a.bytes),
		slog.String("remote_addr", r.RemoteAddr),
		slog.String("user_agent", shorten(r.UserAgent(), 256)),
	}
	if id := r.Header.Get("X-Request-Id"); id != "" {
		attrs = append(attrs, slog.String("request_id", shorten(id, 128)))
	}
	s.log.LogAttrs(r.Context(), level, "http request completed", attrs...)
}

// maskPath hides the id of a share, which is the secret of its address.
func maskPath(path string) string {
	for _, root := range []string{"/s/", "/v1/shares/"} {
		if len(path) > len(root) && strings.HasPrefix(path, root) {
			return root + "…"
		}
	}
	return path
}

// shorten bounds text from outside that goes to the log.
func shorten(text string, most int) string {
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// logCause records why a request failed for a reason that the client is not
// told. The text of an unknown error may quote a definition or an address, so
// only kinds whose text is known are written out; of the others, the type is.
func (s *Server) logCause(r *http.Request, err error) {
	s.logFault(r.Context(), shorten(maskPath(r.URL.Path), 512), err)
}

func (s *Server) logFault(ctx context.Context, path string, err error) {
	attrs := []slog.Attr{slog.String("path", path), slog.String("cause", causeText(err))}
	if p, ok := errors.AsType[*engine.PanicError](err); ok {
		attrs = append(attrs, slog.String("stack", string(p.Stack)))
	}
	s.log.LogAttrs(ctx, slog.LevelError, "internal error", attrs...)
}

func causeText(err error) string {
	if e, ok := errors.AsType[*engine.PanicError](err); ok {
		return e.Error()
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Op + ": " + causeText(e.Err)
	}
	if e, ok := errors.AsType[syscall.Errno](err); ok {
		return e.Error()
	}
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return fmt.Sprintf("%T", err)
		}
		err = inner
	}
}
