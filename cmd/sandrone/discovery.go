package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/catalog"
	"github.com/sandrone-gateway/sandrone/convert/formats"
)

func (p *program) inspectCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "inspect",
		Short: "Show what this program can do",
		Args:  cobra.NoArgs,
	}
	output := outputFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		e, err := p.engine(cmd, sandrone.DefaultSettings())
		if err != nil {
			return err
		}
		return p.writeJSON(*output, e.Inspect())
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
		Short: "Check the data directory, the formats and the installed client cores",
		Args:  cobra.NoArgs,
	}
	output := outputFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		e, err := p.engine(cmd, sandrone.DefaultSettings())
		if err != nil {
			return err
		}
		health := e.Doctor(cmd.Context())
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
