package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/sandrone-gateway/sandrone/engine"
	"github.com/sandrone-gateway/sandrone/store"
)

// maxArchive is a little more than an archive may have, so that a larger one
// is refused by the one who knows the limit.
const maxArchive = 33 << 20 // bytes

func (p *program) backupCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "backup <path|->",
		Short: "Write an archive of all definitions and settings, with their secrets",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := p.door(cmd.Context(), cmd)
			if err != nil {
				return err
			}
			defer d.close()
			archive, err := d.do(cmd.Context(), "GET", "/v1/backup", nil)
			if err != nil {
				return err
			}
			return p.writePrivate(args[0], archive)
		},
	}
}

func (p *program) restoreCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "restore <path|->",
		Short: "Replace all definitions and settings by those of an archive",
		Long: `Replace all definitions and settings by those of an archive: what the archive
lacks is gone afterwards. Named tokens stay; former definitions, access records
and caches are dropped. Asks before, or needs --yes.`,
		Args: cobra.ExactArgs(1),
	}
	yes := cmd.Flags().Bool("yes", false, "do not ask")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		text, err := p.readUpTo(args[0], maxArchive)
		if err != nil {
			return err
		}
		// The archive is held against the rules here, so that the question is
		// about what it really holds.
		reader := store.New(store.Memory(), store.Options{CheckSettings: engine.CheckSettings})
		archive, err := reader.ReadArchive(strings.NewReader(text))
		if err != nil {
			return err
		}
		d, err := p.door(cmd.Context(), cmd)
		if err != nil {
			return err
		}
		defer d.close()
		if !*yes {
			present, err := count(cmd.Context(), d)
			if err != nil {
				return err
			}
			fmt.Fprintf(p.stderr, "archive of %s, version %s: %s\nreplaces: %s\n", archive.Manifest.CreatedAt.Format(time.RFC3339),
				archive.Manifest.AppVersion, countText(archive.Counts), countText(present))
			if err := p.confirm(args[0] == "-"); err != nil {
				return err
			}
		}
		if _, err := d.do(cmd.Context(), "POST", "/v1/backup/restore", strings.NewReader(text)); err != nil {
			return err
		}
		_, err = fmt.Fprintln(p.stdout, "restored "+countText(archive.Counts))
		return err
	}
	return cmd
}

// confirm asks on the terminal. Where there is none, nobody can agree.
func (p *program) confirm(inputTaken bool) error {
	f, ok := p.stdin.(*os.File)
	if !ok || inputTaken || !term.IsTerminal(int(f.Fd())) {
		return errors.New("nothing was restored: --yes is needed where nobody can be asked")
	}
	fmt.Fprint(p.stderr, "go on? [y/N] ")
	answer, _ := bufio.NewReader(f).ReadString('\n') // at the end of the input, nobody agreed
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return errors.New("nothing was restored")
}

// count counts what a restore would replace.
func count(ctx context.Context, d *door) (store.Counts, error) {
	var subscriptions, files struct{ Items []struct{} }
	var shares struct{ Shares []struct{} }
	err := errors.Join(
		d.call(ctx, "GET", "/v1/subscriptions", nil, &subscriptions),
		d.call(ctx, "GET", "/v1/files", nil, &files),
		d.call(ctx, "GET", "/v1/shares", nil, &shares),
	)
	return store.Counts{Subscriptions: len(subscriptions.Items), Files: len(files.Items), Shares: len(shares.Shares)}, err
}

func countText(c store.Counts) string {
	return plural(c.Subscriptions, "subscription") + ", " + plural(c.Files, "file") + ", " + plural(c.Shares, "share")
}
