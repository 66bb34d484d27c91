package server

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/engine"
)

// scope is what a caller may do, or what a route asks for. Each includes those
// before it.
type scope int

const (
	public scope = iota
	read
	write
	owner
)

func (s scope) String() string { return [...]string{"public", "read", "write", "owner"}[s] }

type scopeKey struct{}

// callerScope is the scope of the one who sent r, as the guard found it.
func callerScope(r *http.Request) scope { return scopeOf(r.Context()) }

func scopeOf(ctx context.Context) scope {
	s, _ := ctx.Value(scopeKey{}).(scope)
	return s
}

type ownedKey struct{} // set in the context of connections that only the owner can make

// access decides who may pass.
type access struct {
	token  [sha256.Size]byte // of the owner token; hashes, so that equal lengths are compared
	open   bool              // no owner token: every caller is owner
	engine *engine.Engine    // knows the settings in effect, and the named tokens
}

func newAccess(token string, e *engine.Engine) access {
	return access{token: sha256.Sum256([]byte(token)), open: token == "", engine: e}
}

// protects reports whether a decoded path needs a token. It is asked before
// routing, so that a path below /v1 that does not exist needs one too.
func (a *access) protects(path string) bool {
	switch {
	case below(path, "/v1"):
		return true
	case path == "/metrics":
		return !a.engine.Settings().Metrics.Public
	}
	return below(path, a.engine.Settings().MCP.Path)
}

func below(path, root string) bool {
	rest, ok := strings.CutPrefix(path, root)
	return ok && (rest == "" || rest[0] == '/')
}

// guard lets r pass with its caller's scope, or says why not.
func (a *access) guard(r *http.Request) (*http.Request, error) {
	if owned, _ := r.Context().Value(ownedKey{}).(bool); owned {
		return withScope(r, owner), nil
	}
	if !a.protects(r.URL.Path) {
		return r, nil
	}
	caller := a.callerOf(r)
	if caller == public {
		return r, sandrone.Errorf(sandrone.Unauthorized, "a valid token is required")
	}
	if a.open && !isLoopbackHost(r.Host) {
		// A page on the web whose name resolves to this machine would get
		// owner rights otherwise.
		return r, sandrone.Errorf(sandrone.Forbidden, "without a token only loopback hosts are served")
	}
	for _, from := range r.Header.Values("Origin") {
		if !sameOrigin(from, r.Host) && !a.isPublicOrigin(from) {
			return r, sandrone.Errorf(sandrone.Forbidden, "requests from other origins are refused")
		}
	}
	return withScope(r, caller), nil
}

func withScope(r *http.Request, s scope) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), scopeKey{}, s))
}

// isPublicOrigin reports whether an Origin is that of the address under which
// people reach this server.
func (a *access) isPublicOrigin(from string) bool {
	address := origin(a.engine.Settings().HTTP.PublicURL)
	return address != "" && strings.EqualFold(from, address)
}

// callerOf returns the scope that r proves; public if it proves none.
func (a *access) callerOf(r *http.Request) scope {
	if a.open {
		return owner
	}
	given := r.Header.Values("Authorization")
	if len(given) != 1 {
		return public
	}
	token, ok := strings.CutPrefix(given[0], "Bearer ")
	if !ok {
		return public
	}
	hash := sha256.Sum256([]byte(token))
	if subtle.ConstantTimeCompare(hash[:], a.token[:]) == 1 {
		return owner
	}
	name, ok := a.engine.Authenticate(r.Context(), token)
	switch {
	case !ok:
		return public
	case name == sandrone.ScopeWrite:
		return write
	case name == sandrone.ScopeRead:
		return read
	}
	return public
}

// require refuses a caller whose scope is smaller than the route's.
func (a *access) require(r *http.Request, needed scope) error {
	if callerScope(r) >= needed || !a.protects(r.URL.Path) {
		return nil
	}
	return sandrone.Errorf(sandrone.Forbidden, "this needs a token with scope %s", needed)
}

// sameOrigin compares an Origin with the request's own host and port. The
// scheme is not compared: behind a proxy this server does not know its own.
func sameOrigin(from, host string) bool {
	u, err := url.Parse(from)
	if err != nil || u.Host == "" || u.Path != "" || u.User != nil {
		return false
	}
	port := map[string]string{"http": "80", "https": "443"}[u.Scheme]
	return port != "" && strings.EqualFold(withPort(u.Host, port), withPort(host, port))
}

// withPort adds a port to a host that has none.
func withPort(host, port string) string {
	if strings.LastIndexByte(host, ':') > strings.LastIndexByte(host, ']') {
		return host
	}
	return host + ":" + port
}

func isLoopbackHost(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return IsLoopback(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"))
}

// IsLoopback reports whether a host, without port and brackets, is this
// machine by name or address: localhost, 127.0.0.0/8 or ::1.
func IsLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}
