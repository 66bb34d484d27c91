// Package server is the HTTP door: routing, access, limits, and one file a
// resource. A handler decodes, calls one method of the engine or the
// catalogue, and encodes; what the answer means is decided there and not here.
//
// A request passes, in this order: the access log and the net under panics
// (log.go), the guards (access.go), the router (routes.go), its handler.
package server

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/sandrone-gateway/sandrone/catalog"
	"github.com/sandrone-gateway/sandrone/engine"
	"github.com/sandrone-gateway/sandrone/mcp"
)

// The time limits of connections. The body of a public request has its own in
// the settings.
const (
	headerTimeout = 10 * time.Second
	bodyTimeout   = 60 * time.Second
	idleTimeout   = 30 * time.Second
	writeTimeout  = 5 * time.Minute // of one answer, for clients that stop reading
	stopTimeout   = 10 * time.Second
)

// maxHeader has room for the longest query that /convert looks at: 64 KiB of
// content, each byte in percent-encoding.
const maxHeader = 512 << 10 // bytes

// Options make a [Server]. Engine and Catalog are required.
type Options struct {
	Engine  *engine.Engine
	Catalog *catalog.Catalog
	Token   string       // owner token; empty means that every caller is owner
	UI      http.Handler // answers GET /; nil means no page
	Logger  *slog.Logger // nil means no log
	Logs    *Logs        // the handler of Logger, whose entries the API shows; nil means that it shows none
	Metrics *Metrics     // nil means counters that nobody else has

	MCPExtensions []mcp.Extension // what the MCP endpoint has besides the program's own

	Now func() time.Time // nil means time.Now; the clock of rate limits and file names
}

// Server answers HTTP requests. It is an http.Handler; [Server.Serve] runs it
// on a listener with the time limits that it needs.
type Server struct {
	engine  *engine.Engine
	catalog *catalog.Catalog
	access  access
	ui      http.Handler
	log     *slog.Logger
	logs    *Logs
	metrics *Metrics
	mcp     *mcp.Endpoint
	now     func() time.Time

	mux         *chi.Mux
	convertRate *rateTable
	shareRate   *rateTable
	slots       *slots
	productions *productions
	documents   sync.Map // path -> []byte, see document

	stopping chan struct{} // closed when the server begins to stop
	stopOnce sync.Once
}

// New makes a server for an engine. It follows the engine's settings.
func New(o Options) (*Server, error) {
	s := &Server{
		engine:  o.Engine,
		catalog: o.Catalog,
		access:  newAccess(o.Token, o.Engine),
		ui:      o.UI,
		log:     o.Logger,
		logs:    o.Logs,
		metrics: o.Metrics,
		now:     o.Now,

		convertRate: newRateTable(),
		shareRate:   newRateTable(),
		slots:       newSlots(func() int { return o.Engine.Settings().PublicConvert.MaxConcurrent }),
		stopping:    make(chan struct{}),
	}
	s.productions = newProductions(s.slots)
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.logs == nil {
		s.logs = NewLogs(slog.DiscardHandler)
	}
	if s.metrics == nil {
		s.metrics = NewMetrics()
	}
	if s.now == nil {
		s.now = time.Now
	}
	s.mcp = s.newMCP(o.MCPExtensions)
	s.mux = s.router()
	return s, nil
}

// Serve answers connections of ln until ctx ends. Then it stops accepting,
// gives running requests ten seconds, cancels the rest and returns nil.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error { return s.serve(ctx, ln, false) }

// ServeOwner is [Server.Serve] for a listener that only the owner of the
// process can reach, such as a socket in its directory: every caller is owner,
// and no token, host or origin is looked at.
func (s *Server) ServeOwner(ctx context.Context, ln net.Listener) error {
	return s.serve(ctx, ln, true)
}

func (s *Server) serve(ctx context.Context, ln net.Listener, owned bool) error {
	base, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	if owned {
		base = context.WithValue(base, ownedKey{}, true)
	}
	srv := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		BaseContext:       func(net.Listener) context.Context { return base },
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),

		// "OPTIONS *" is no route, and gets the answer of all that are none.
		DisableGeneralOptionsHandler: true,
	}
	stopped := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(stopped)
		s.stopOnce.Do(func() { close(s.stopping) }) // streams have no other end
		limit, done := context.WithTimeout(base, stopTimeout)
		defer done()
		if srv.Shutdown(limit) != nil {
			cancel()
			srv.Close()
		}
	})
	err := srv.Serve(ln)
	if stop() { // Serve ended by itself: the listener is broken
		return err
	}
	<-stopped
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// origin returns the scheme and host of an address, as browsers write them in
// Origin.
func origin(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return ""
	}
	return u.Scheme + "://" + u.Host
}
