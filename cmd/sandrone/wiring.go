package main

import (
	"context"
	"errors"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/catalog"
	"github.com/sandrone-gateway/sandrone/convert/formats"
	"github.com/sandrone-gateway/sandrone/engine"
	"github.com/sandrone-gateway/sandrone/processors"
	"github.com/sandrone-gateway/sandrone/processors/script"
	"github.com/sandrone-gateway/sandrone/server"
	"github.com/sandrone-gateway/sandrone/store"
	"github.com/sandrone-gateway/sandrone/web"
)

// parts are what a process works with. Some are left out by commands that have
// no use for them.
type parts struct {
	store   *store.Store
	scripts *script.Pool
	engine  *engine.Engine
	metrics *server.Metrics
	logs    *server.Logs
	steps   *processors.Registry
	level   *slog.LevelVar // of logs; set when the settings are known
	token   string
}

// directory is the data directory.
func (p *program) directory(cmd *cobra.Command) string {
	return p.setting(cmd, "data-dir", "SANDRONE_DATA_DIR")
}

// openStore returns the store in the data directory. Nothing is made before
// the first write.
func (p *program) openStore(cmd *cobra.Command) *store.Store {
	return store.Open(p.directory(cmd), store.Options{CheckSettings: engine.CheckSettings})
}

// build puts the parts together, with a store or without: then settings holds
// what is used. The log goes to standard error if it is shown at all.
func (p *program) build(cmd *cobra.Command, s *store.Store, settings sandrone.Settings, overrides []engine.Override, showLog bool) (*parts, error) {
	b := &parts{
		store: s,
		level: new(slog.LevelVar),
		steps: processors.New(processors.Options{Scripts: engine.ScriptType()}),
	}
	out := slog.Handler(slog.DiscardHandler)
	if showLog {
		out = slog.NewTextHandler(p.stderr, &slog.HandlerOptions{Level: b.level})
	}
	b.logs = server.NewLogs(out)
	log := slog.New(b.logs)
	var err error
	if b.scripts, err = script.NewPool(script.Options{Log: log}); err != nil {
		return nil, errors.Join(err, b.close())
	}
	o := engine.Options{
		Registry:  formats.Registry(),
		Settings:  settings,
		DataDir:   p.directory(cmd),
		Store:     s,
		Steps:     b.steps,
		Scripts:   b.scripts,
		Logger:    log,
		Overrides: overrides,
		Getenv:    p.getenv,
	}
	if s != nil { // one conversion counts nothing
		b.metrics = server.NewMetrics()
		o.Metrics = b.metrics
	}
	if b.engine, err = engine.New(o); err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

// server makes the HTTP door of the parts.
func (b *parts) server() (*server.Server, error) {
	return server.New(server.Options{
		Engine:  b.engine,
		Catalog: catalog.New(formats.Registry(), b.steps),
		Token:   b.token,
		UI:      web.Handler(),
		Logger:  slog.New(b.logs),
		Logs:    b.logs,
		Metrics: b.metrics,
	})
}

// close ends the workers and gives the store free.
func (b *parts) close() error {
	var errs []error
	if b.scripts != nil {
		errs = append(errs, b.scripts.Close())
	}
	if b.store != nil {
		errs = append(errs, b.store.Close())
	}
	return errors.Join(errs...)
}

// storedSettings are the settings for a command that needs nothing else of the
// store: of the running server, else of the store, else the defaults.
func (p *program) storedSettings(ctx context.Context, cmd *cobra.Command) (settings sandrone.Settings, err error) {
	if d := p.runningServer(ctx, cmd); d != nil {
		defer d.close()
		var answer engine.SettingsAnswer
		err = d.call(ctx, "GET", "/v1/settings", nil, &answer)
		return answer.Settings, err
	}
	s := p.openStore(cmd)
	defer s.Close()
	err = s.View(ctx, func(tx *store.Tx) error {
		settings, _, err = tx.Settings().Get()
		return err
	})
	return settings, err
}

// override is what a flag or its variable says for this process, if either
// does.
func (p *program) override(cmd *cobra.Command, path, flag, variable string) []engine.Override {
	f := cmd.Flag(flag)
	switch {
	case f == nil:
		return nil
	case f.Changed:
		return []engine.Override{{Path: path, Value: f.Value.String(), Source: engine.OverrideFlag}}
	case p.getenv(variable) != "":
		return []engine.Override{{Path: path, Value: p.getenv(variable), Source: engine.OverrideEnvironment}}
	}
	return nil
}
