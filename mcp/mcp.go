// Package mcp is the agents' door: an endpoint of the Model Context Protocol
// over HTTP, with tools, resources and prompts over the same methods that the
// HTTP API calls.
//
// A request passes, in this order: the guards of package server, the gate
// (gate.go), which holds what the protocol asks of a single message, the SDK,
// and a handler, which decodes, calls one method of the engine or the
// catalogue, and encodes.
package mcp

import (
	"context"
	"log/slog"
	"net/http"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/catalog"
	"github.com/sandrone-gateway/sandrone/engine"
)

// Version is the one revision of the protocol that is spoken.
const Version = "2026-07-28"

// Options make an [Endpoint]. Engine and Catalog are required.
type Options struct {
	Engine  *engine.Engine
	Catalog *catalog.Catalog

	// MayWrite reports whether the caller of a request may change what is
	// stored. ctx is that of the HTTP request. nil means that everyone may.
	MayWrite func(ctx context.Context) bool

	// Called counts a finished call of a tool. nil means that nobody counts.
	Called func(tool string, ok bool)

	// Fault is told the cause of a failure that the client is not told. nil
	// means that nobody is.
	Fault func(ctx context.Context, err error)
}

// Extension is what a build adds that is no part of Sandrone, such as the
// fixtures of a conformance suite.
type Extension struct {
	Configure func(*sdk.ServerOptions) // before the server is made; may be nil
	Register  func(*sdk.Server)        // adds tools, resources and prompts; may be nil
	Streamed  []string                 // its tools that answer with an event stream
}

// Endpoint answers MCP requests. It is an http.Handler and safe for concurrent
// use. What it serves is made at the first request and fixed from then on.
type Endpoint struct {
	options    Options
	extensions []Extension

	once      sync.Once
	identity  *sdk.Implementation
	server    *sdk.Server
	handler   http.Handler
	documents sync.Map // what a URI means -> string, of resources that never change
}

// New returns an endpoint. It looks at no token, host or origin: the handler
// around it does.
func New(o Options, extensions ...Extension) *Endpoint {
	if o.MayWrite == nil {
		o.MayWrite = func(context.Context) bool { return true }
	}
	if o.Called == nil {
		o.Called = func(string, bool) {}
	}
	if o.Fault == nil {
		o.Fault = func(context.Context, error) {}
	}
	return &Endpoint{options: o, extensions: extensions}
}

// ServeHTTP answers one request.
func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.once.Do(e.build)
	e.handler.ServeHTTP(w, r)
}

// Server is the server behind the endpoint, for other transports.
func (e *Endpoint) Server() *sdk.Server {
	e.once.Do(e.build)
	return e.server
}

func (e *Endpoint) build() {
	options := &sdk.ServerOptions{
		Instructions:              instructions,
		SupportedProtocolVersions: []string{Version},
		Capabilities: &sdk.ServerCapabilities{
			Tools:     &sdk.ToolCapabilities{},
			Resources: &sdk.ResourceCapabilities{},
			Prompts:   &sdk.PromptCapabilities{},
		},
		SetCacheable: setCacheable,
		Logger:       slog.New(slog.DiscardHandler),
	}
	for _, x := range e.extensions {
		if x.Configure != nil {
			x.Configure(options)
		}
	}
	e.identity = &sdk.Implementation{Name: "sandrone", Version: sandrone.ThisBuild().Version}
	e.server = sdk.NewServer(e.identity, options)
	e.addInspect(e.server)
	e.addList(e.server)
	e.addConvert(e.server)
	e.addSubscriptions(e.server)
	e.addFiles(e.server)
	e.addResources(e.server)
	e.addPrompts(e.server)
	streamed := make(map[string]bool)
	for _, x := range e.extensions {
		if x.Register != nil {
			x.Register(e.server)
		}
		for _, tool := range x.Streamed {
			streamed[tool] = true
		}
	}
	e.server.AddReceivingMiddleware(e.safely, e.prebuilt())
	plain, stream := transport(e.server, true), http.Handler(nil)
	if len(streamed) > 0 {
		stream = transport(e.server, false)
	}
	// The catalogue is fixed, so there are no changes to wait for.
	hidden := []string{"subscriptions/listen"}
	if options.CompletionHandler == nil {
		hidden = append(hidden, "completion/complete")
	}
	e.handler = &gate{hidden: hidden, next: func(method, name string) http.Handler {
		if method == "tools/call" && streamed[name] {
			return stream
		}
		return plain
	}}
}

const instructions = "Sandrone converts proxy subscriptions between client formats and serves stored subscriptions and files; begin with sandrone_inspect and read only the catalogues and schemas that the task needs."

func transport(s *sdk.Server, plainJSON bool) http.Handler {
	return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, &sdk.StreamableHTTPOptions{
		Stateless:                    true,
		JSONResponse:                 plainJSON,
		PropagateRequestCancellation: true,
		DisableLocalhostProtection:   true, // the guards around the endpoint know when a host is foreign
	})
}

// How long a client may keep an answer: lists until the process may have been
// replaced by another build, a resource not at all, since definitions change at
// any time. No cache that clients share may keep either.
var (
	fixed  = sdk.Cacheable{TTLMs: 300_000, CacheScope: "private"}
	stored = sdk.Cacheable{TTLMs: 0, CacheScope: "private"}
)

func setCacheable(_ context.Context, req sdk.Request, c *sdk.Cacheable) {
	*c = fixed
	if _, ok := req.(*sdk.ReadResourceRequest); ok {
		*c = stored
	}
}
