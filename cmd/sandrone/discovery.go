package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/catalog"
	"github.com/sandrone-gateway/sandrone/convert/formats"
	"github.com/sandrone-gateway/sandrone/engine"
)

func (p *program) inspectCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "inspect",
		Short: "Show what this program can do",
		Args:  cobra.NoArgs,
	}
	output := outputFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		d, err := p.door(cmd.Context(), cmd)
		if err != nil {
			return err
		}
		defer d.close()
		// Without what concerns callers over HTTP only.
		var result engine.Inspection
		if err := d.call(cmd.Context(), "GET", "/v1/inspect", nil, &result); err != nil {
			return err
		}
		return p.writeJSON(*output, result)
	}
	return cmd
}

func (p *program) capabilityCommand() *cobra.Command {
	group := &cobra.Command{
		Use:   "capability",
		Short: "Show what each format keeps and loses",
		Args:  noWord,
		RunE:  showHelp,
	}

	list := &cobra.Command{
		Use:   "formats",
		Short: "List the formats in both directions",
		Args:  cobra.NoArgs,
	}
	listOutput := outputFlag(list)
	list.RunE = func(*cobra.Command, []string) error {
		return p.writeJSON(*listOutput, catalog.New(formats.Registry(), nil).Index(nil))
	}

	detail := &cobra.Command{
		Use:   "format <parse|render> <format>",
		Short: "Show what one format does with each field",
		Args:  cobra.ExactArgs(2),
	}
	detailOutput := outputFlag(detail)
	detail.RunE = func(_ *cobra.Command, args []string) error {
		d, err := catalog.New(formats.Registry(), nil).Detail(args[0], args[1])
		if err != nil {
			return err
		}
		return p.writeJSON(*detailOutput, d)
	}

	group.AddCommand(list, detail)
	return group
}

func (p *program) doctorCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check the data directory, the store, the formats and the installed client cores",
		Args:  cobra.NoArgs,
	}
	output := outputFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		b, err := p.build(cmd, nil, sandrone.DefaultSettings(), nil, false)
		if err != nil {
			return err
		}
		defer b.close()
		health := b.engine.Doctor(cmd.Context(), p.askServer(cmd.Context(), cmd))
		if err := p.writeJSON(*output, health); err != nil {
			return err
		}
		if !health.OK {
			return errors.New("doctor checks failed")
		}
		return nil
	}
	return cmd
}

// askServer is the state of the running server, nil if there is none.
func (p *program) askServer(ctx context.Context, cmd *cobra.Command) *engine.RunningServer {
	d := p.runningServer(ctx, cmd)
	if d == nil {
		return nil
	}
	defer d.close()
	var build sandrone.Build
	if err := d.call(ctx, "GET", "/version", nil, &build); err != nil {
		return &engine.RunningServer{StoreError: err}
	}
	// It counts what is stored, so its store is read.
	return &engine.RunningServer{Running: true, Version: build.Version, StoreError: d.call(ctx, "GET", "/v1/inspect", nil, nil)}
}
