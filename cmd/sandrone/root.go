package main

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sandrone-gateway/sandrone/engine"
)

func (p *program) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "sandrone",
		Short:         "Turn proxy subscriptions into what another client reads",
		Args:          noWord,
		RunE:          showHelp,
		Version:       versionText(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetIn(p.stdin)
	root.SetOut(p.stdout)
	root.SetErr(p.stderr)
	root.SetVersionTemplate("sandrone version {{.Version}}\n")
	root.SuggestionsMinimumDistance = -1 // one line for an error, no guesses
	root.PersistentFlags().StringVar(&p.dataDir, "data-dir", "./data", "directory of the program's files (SANDRONE_DATA_DIR)")
	root.SetHelpCommand(helpCommand())
	root.AddCommand(
		p.convertCommand(),
		p.diagnoseCommand(),
		p.renderCommand(),
		p.inspectCommand(),
		p.capabilityCommand(),
		p.doctorCommand(),
		p.serveCommand(),
		p.backupCommand(),
		p.restoreCommand(),
		p.tokenCommand(),
		p.versionCommand(),
	)
	return root
}

// helpCommand shows the help of a command. Unlike the library's own it fails
// for a word that is none.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [command]",
		Short: "Show the help of a command",
		RunE: func(cmd *cobra.Command, args []string) error {
			found, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return errors.New("unknown command " + quote(strings.Join(args, " ")) + " for " + quote(cmd.Root().Name()))
			}
			return found.Help()
		},
	}
}

// showHelp is what a command that only groups others does by itself.
func showHelp(cmd *cobra.Command, _ []string) error { return cmd.Help() }

// noWord refuses an argument of a command that only groups others.
func noWord(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return errors.New("unknown command " + quote(args[0]) + " for " + quote(cmd.CommandPath()))
}

// setting returns the value of a flag, else of its environment variable, else
// the flag's default. An empty variable counts as unset.
func (p *program) setting(cmd *cobra.Command, flag, variable string) string {
	f := cmd.Flag(flag)
	if !f.Changed {
		if v := p.getenv(variable); v != "" {
			return v
		}
	}
	return f.Value.String()
}

// allowHostFlag adds the flag --allow-host to a command that fetches.
func allowHostFlag(cmd *cobra.Command) {
	cmd.Flags().StringArray("allow-host", nil, "host, *.suffix, address or CIDR that may be fetched although it is not public; repeatable (SANDRONE_ALLOW_HOSTS, comma list)")
}

// allowHosts is the flag or its variable as an override of the settings.
func (p *program) allowHosts(cmd *cobra.Command) []engine.Override {
	const path = "remote_defaults.allow_hosts"
	if f := cmd.Flag("allow-host"); f != nil && f.Changed {
		hosts, err := cmd.Flags().GetStringArray("allow-host")
		if err == nil {
			return []engine.Override{{Path: path, Value: strings.Join(hosts, ","), Source: engine.OverrideFlag}}
		}
	}
	if hosts := p.getenv("SANDRONE_ALLOW_HOSTS"); hosts != "" {
		return []engine.Override{{Path: path, Value: hosts, Source: engine.OverrideEnvironment}}
	}
	return nil
}
