package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sandrone-gateway/sandrone"
)

func (p *program) versionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Show the version",
		Args:  cobra.NoArgs,
	}
	asJSON := cmd.Flags().Bool("json", false, "as JSON")
	cmd.RunE = func(*cobra.Command, []string) error {
		if *asJSON {
			return p.writeJSON("", sandrone.ThisBuild())
		}
		_, err := fmt.Fprintln(p.stdout, "sandrone version "+versionText())
		return err
	}
	return cmd
}

// versionText is the version with the head of the revision, where known.
func versionText() string {
	b := sandrone.ThisBuild()
	if b.Revision == "" {
		return b.Version
	}
	return b.Version + " (" + b.Revision[:min(12, len(b.Revision))] + ")"
}
