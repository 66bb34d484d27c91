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
	"net/netip"
	"net/url"
	"sync"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/catalog"
	"github.com/sandrone-gateway/sandrone/engine"
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

	Now func() time.Time // nil means time.Now; the clock of the rate limits
}

// Server answers HTTP requests. It is an http.Handler; [Server.Serve] runs it
// on a listener with the time limits that it needs.
type Server struct {
	engine  *engine.Engine
	catalog *catalog.Catalog
	access  access
	ui      http.Handler
	log     *slog.Logger
	now     func() time.Time

	mux         *chi.Mux
	proxies     []netip.Prefix
	convertRate *rateTable
	productions *productions
	documents   sync.Map // path -> []byte, see document
}

// New makes a server for an engine's settings. A setting that cannot be used
// is an invalid_argument error with its path.
func New(o Options) (*Server, error) {
	settings := o.Engine.Settings()
	s := &Server{
		engine:  o.Engine,
		catalog: o.Catalog,
		access:  newAccess(o.Token, settings),
		ui:      o.UI,
		log:     o.Logger,
		now:     o.Now,

		convertRate: newRateTable(),
		productions: newProductions(settings.PublicConvert.MaxConcurrent),
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.now == nil {
		s.now = time.Now
	}
	for _, text := range settings.HTTP.TrustedProxies {
		prefix, err := engine.ParsePrefix(text)
		if err != nil {
			return nil, sandrone.Errorf(sandrone.InvalidArgument, "entry is no address or CIDR").At("http.trusted_proxies")
		}
		s.proxies = append(s.proxies, prefix)
	}
	s.mux = s.router()
	return s, nil
}

// Serve answers connections of ln until ctx ends. Then it stops accepting,
// gives running requests ten seconds, cancels the rest and returns nil.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	base, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
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
