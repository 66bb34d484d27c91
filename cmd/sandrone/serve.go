package main

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"sync"

	"github.com/spf13/cobra"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/engine"
	"github.com/sandrone-gateway/sandrone/server"
)

func (p *program) serveCommand() *cobra.Command {
	defaults := sandrone.DefaultSettings()
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the HTTP API, the MCP endpoint and the page",
		Long: `Serve the HTTP API, the MCP endpoint and the page on one address, refresh what
the schedule names, and answer the other commands by a socket in the data
directory.`,
		Args: cobra.NoArgs,
		RunE: p.serve,
	}
	flags := cmd.Flags()
	flags.String("listen", defaults.HTTP.Listen, "host:port to listen on (SANDRONE_LISTEN)")
	flags.String("token", "", "owner token; needed unless listening on loopback (SANDRONE_TOKEN, which process lists do not show)")
	flags.String("log-level", defaults.Log.Level, "debug, info, warn or error (SANDRONE_LOG_LEVEL)")
	flags.String("path", defaults.MCP.Path, "path of the MCP endpoint (SANDRONE_MCP_PATH)")
	flags.Int("max-output-bytes", defaults.MCP.MaxOutputBytes, "largest body that an MCP tool returns; 0 means the default (SANDRONE_MCP_MAX_OUTPUT_BYTES)")
	allowHostFlag(cmd)
	return cmd
}

// startOverrides are what flags and variables say instead of the stored
// settings.
func (p *program) startOverrides(cmd *cobra.Command) (list []engine.Override) {
	for _, o := range []struct{ path, flag, variable string }{
		{"http.listen", "listen", "SANDRONE_LISTEN"},
		{"mcp.path", "path", "SANDRONE_MCP_PATH"},
		{"mcp.max_output_bytes", "max-output-bytes", "SANDRONE_MCP_MAX_OUTPUT_BYTES"},
		{"log.level", "log-level", "SANDRONE_LOG_LEVEL"},
	} {
		list = append(list, p.override(cmd, o.path, o.flag, o.variable)...)
	}
	return append(list, p.allowHosts(cmd)...)
}

func (p *program) serve(cmd *cobra.Command, _ []string) (err error) {
	b, err := p.build(cmd, p.openStore(cmd), sandrone.Settings{}, p.startOverrides(cmd), true)
	if err != nil {
		return err
	}
	defer func() {
		if closed := b.close(); err == nil {
			err = closed
		}
	}()
	settings := b.engine.Settings()
	if err := b.setLevel(settings.Log.Level); err != nil {
		return err
	}
	b.token = p.setting(cmd, "token", "SANDRONE_TOKEN")
	host, _, err := net.SplitHostPort(settings.HTTP.Listen)
	if err != nil {
		return err
	}
	if b.token == "" && !server.IsLoopback(host) {
		return sandrone.Errorf(sandrone.InvalidArgument, "binding HTTP to a non-local address requires --token")
	}
	s, err := b.server()
	if err != nil {
		return err
	}
	ln, err := net.Listen("tcp", settings.HTTP.Listen)
	if err != nil {
		return err
	}
	// Nothing is written for a server that cannot start.
	if err := b.store.Create(cmd.Context()); err != nil {
		ln.Close()
		return err
	}
	log := slog.New(b.logs)
	socket, err := listenSocket(socketPath(p.directory(cmd)))
	if err != nil {
		log.Warn("commands cannot reach this server", "operation", "socket", "error", systemText(err))
	}
	log.Info("starting HTTP API", "listen", ln.Addr().String())
	return b.run(cmd.Context(), s, ln, socket)
}

func (b *parts) setLevel(name string) error {
	var level slog.Level
	if err := level.UnmarshalText([]byte(name)); err != nil {
		return err
	}
	b.level.Set(level)
	return nil
}

// run serves both listeners and does the work in the background until ctx
// ends, or one of them fails. socket may be nil.
func (b *parts) run(ctx context.Context, s *server.Server, ln, socket net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		work   sync.WaitGroup
		mu     sync.Mutex
		failed error
	)
	start := func(fn func() error) {
		work.Go(func() {
			defer cancel()
			err := fn()
			mu.Lock()
			defer mu.Unlock()
			failed = errors.Join(failed, err)
		})
	}
	start(func() error { return s.Serve(ctx, ln) })
	if socket != nil {
		start(func() error { return s.ServeOwner(ctx, socket) })
	}
	start(func() error { return b.engine.Run(ctx) })
	work.Go(func() { rest(ctx) })
	work.Wait()
	return failed
}

// listenSocket listens for the owner of the process. The store is locked, so a
// socket that is there already belongs to no process any more. It is removed
// when the listener is closed.
func listenSocket(path string) (net.Listener, error) {
	if info, err := os.Lstat(path); err == nil && info.Mode().Type() == fs.ModeSocket {
		os.Remove(path)
	}
	ln, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	// Nobody is answered before this.
	if err := os.Chmod(path, 0o600); err != nil {
		ln.Close()
		return nil, err
	}
	return ln, nil
}

// systemText is the system's own words without the path they are about.
func systemText(err error) string {
	if e, ok := errors.AsType[*os.SyscallError](err); ok {
		return e.Error()
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err.Error()
	}
	return "it cannot be made"
}
