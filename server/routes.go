package server

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/sandrone-gateway/sandrone"
)

// route is one method of one path. A GET route answers HEAD too.
type route struct {
	method  string
	pattern string
	scope   scope
	handle  handler
}

// handler answers a request, or returns the error to answer with, having
// written nothing.
type handler func(w http.ResponseWriter, r *http.Request) error

func (s *Server) routes() []route {
	routes := []route{
		{"GET", "/healthz", public, s.getHealth},
		{"GET", "/version", public, s.getVersion},
		{"POST", "/v1/convert", read, s.postConvert},
		{"GET", "/v1/inspect", read, s.getInspect},
		{"GET", "/v1/capabilities/formats", read, s.getFormats},
		{"GET", "/v1/capabilities/formats/{direction}/{format}", read, s.getFormat},
		{"GET", "/v1/capabilities/ui", read, s.getFeatures},
	}
	if s.engine.Settings().PublicConvert.Enabled {
		routes = append(routes, route{"GET", "/convert", public, s.getConvert})
	}
	if s.ui != nil {
		routes = append(routes, route{"GET", "/", public, s.getPage})
	}
	return routes
}

func (s *Server) router() *chi.Mux {
	mux := chi.NewMux()
	for _, route := range s.routes() {
		answer := func(w http.ResponseWriter, r *http.Request) {
			err := s.access.require(r, route.scope)
			if err == nil {
				err = route.handle(w, r)
			}
			if err != nil {
				s.fail(w, r, err)
			}
		}
		mux.Method(route.method, route.pattern, http.HandlerFunc(answer))
		if route.method == http.MethodGet {
			mux.Method(http.MethodHead, route.pattern, http.HandlerFunc(answer))
		}
	}
	mux.NotFound(s.noRoute)
	mux.MethodNotAllowed(s.noMethod)
	return mux
}

func (s *Server) getPage(w http.ResponseWriter, r *http.Request) error {
	s.ui.ServeHTTP(w, r)
	return nil
}

func (s *Server) noRoute(w http.ResponseWriter, r *http.Request) {
	s.fail(w, r, sandrone.Errorf(sandrone.RouteNotFound, "no such path"))
}

func (s *Server) noMethod(w http.ResponseWriter, r *http.Request) {
	path := chi.RouteContext(r.Context()).RoutePath
	var allowed []string
	for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"} {
		if s.mux.Match(chi.NewRouteContext(), method, path) {
			allowed = append(allowed, method)
		}
	}
	if allowed == nil { // a method that no server knows, of a path that is none
		s.noRoute(w, r)
		return
	}
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	s.fail(w, r, sandrone.Errorf(sandrone.MethodNotAllowed, "method not allowed"))
}

// routePath is the path to route by: each segment decoded once and encoded in
// one way. So /%76%31 is /v1, and %2F is part of a name and never a separator.
// ok is false for a path that no route may have: one with an empty segment.
func routePath(u *url.URL) (path string, ok bool) {
	if u.Path == "/" {
		return u.Path, true
	}
	rest, ok := strings.CutPrefix(u.EscapedPath(), "/")
	if !ok {
		return "", false
	}
	var b strings.Builder
	for segment := range strings.SplitSeq(rest, "/") {
		name, err := url.PathUnescape(segment)
		if err != nil || name == "" {
			return "", false
		}
		b.WriteByte('/')
		b.WriteString(url.PathEscape(name))
	}
	return b.String(), true
}

// pathName returns a named segment of the path, decoded.
func pathName(r *http.Request, key string) string {
	name, err := url.PathUnescape(chi.URLParam(r, key))
	if err != nil {
		return "" // routePath made it, so this cannot be
	}
	return name
}
