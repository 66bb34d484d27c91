package main

import (
	"errors"
	"log/slog"
	"net"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/catalog"
	"github.com/sandrone-gateway/sandrone/convert/formats"
	"github.com/sandrone-gateway/sandrone/server"
	"github.com/sandrone-gateway/sandrone/web"
)

func (p *program) serveCommand() *cobra.Command {
	defaults := sandrone.DefaultSettings()
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the HTTP API and the page",
		Args:  cobra.NoArgs,
		RunE:  p.serve,
	}
	flags := cmd.Flags()
	flags.String("listen", defaults.HTTP.Listen, "host:port to listen on (SANDRONE_LISTEN)")
	flags.String("token", "", "owner token; needed unless listening on loopback (SANDRONE_TOKEN, which process lists do not show)")
	flags.String("log-level", defaults.Log.Level, "debug, info, warn or error (SANDRONE_LOG_LEVEL)")
	flags.String("path", defaults.MCP.Path, "path of the MCP endpoint (SANDRONE_MCP_PATH)")
	flags.Int("max-output-bytes", defaults.MCP.MaxOutputBytes, "output limit of MCP tools; 0 means the default (SANDRONE_MCP_MAX_OUTPUT_BYTES)")
	allowHostFlag(cmd)
	return cmd
}

func (p *program) serve(cmd *cobra.Command, _ []string) error {
	settings := sandrone.DefaultSettings()
	settings.HTTP.Listen = p.setting(cmd, "listen", "SANDRONE_LISTEN")
	settings.Log.Level = p.setting(cmd, "log-level", "SANDRONE_LOG_LEVEL")
	settings.MCP.Path = p.setting(cmd, "path", "SANDRONE_MCP_PATH")
	limit, err := strconv.Atoi(p.setting(cmd, "max-output-bytes", "SANDRONE_MCP_MAX_OUTPUT_BYTES"))
	if err != nil {
		return errors.New("SANDRONE_MCP_MAX_OUTPUT_BYTES must be an integer")
	}
	settings.MCP.MaxOutputBytes = limit

	e, err := p.engine(cmd, settings)
	if err != nil {
		return err
	}
	settings = e.Settings()
	token := p.setting(cmd, "token", "SANDRONE_TOKEN")
	host, _, err := net.SplitHostPort(settings.HTTP.Listen)
	if err != nil {
		return err
	}
	if token == "" && !server.IsLoopback(host) {
		return sandrone.Errorf(sandrone.InvalidArgument, "binding HTTP to a non-local address requires --token")
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(settings.Log.Level)); err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(p.stderr, &slog.HandlerOptions{Level: level}))
	s, err := server.New(server.Options{
		Engine:  e,
		Catalog: catalog.New(formats.Registry(), nil),
		Token:   token,
		UI:      web.Handler(),
		Logger:  log,
	})
	if err != nil {
		return err
	}
	ln, err := net.Listen("tcp", settings.HTTP.Listen)
	if err != nil {
		return err
	}
	log.Info("starting HTTP API", "listen", ln.Addr().String())
	return s.Serve(cmd.Context(), ln)
}
