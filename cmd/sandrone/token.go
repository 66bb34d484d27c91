package main

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/sandrone-gateway/sandrone"
)

func (p *program) tokenCommand() *cobra.Command {
	group := &cobra.Command{
		Use:   "token",
		Short: "Make, list and revoke named tokens",
		Long: `Make, list and revoke named tokens. They count for a server that has an owner
token; without one, every caller on the machine is the owner.`,
		Args: noWord,
		RunE: showHelp,
	}
	group.AddCommand(p.createTokenCommand(), p.listTokensCommand(), p.revokeTokenCommand())
	return group
}

func (p *program) createTokenCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "create <name>",
		Short:   "Make a token and print its secret, which cannot be had again",
		Example: `  sandrone token create phone --scope read --expires 90d`,
		Args:    cobra.ExactArgs(1),
	}
	scope := cmd.Flags().String("scope", sandrone.ScopeRead, "read or write")
	expires := cmd.Flags().String("expires", "", "when it ends: a time such as 720h or 30d from now, or one like 2027-01-31T00:00:00Z; empty means never")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		until, err := expiry(*expires, time.Now())
		if err != nil {
			return err
		}
		d, err := p.door(cmd.Context(), cmd)
		if err != nil {
			return err
		}
		defer d.close()
		body := struct {
			Name      string    `json:"name"`
			Scope     string    `json:"scope"`
			ExpiresAt time.Time `json:"expires_at,omitzero"`
		}{args[0], *scope, until}
		var made struct {
			Token  sandrone.Token `json:"token"`
			Secret string         `json:"secret"`
		}
		if err := d.call(cmd.Context(), "POST", "/v1/tokens", body, &made); err != nil {
			return err
		}
		ends := "never"
		if !made.Token.ExpiresAt.IsZero() {
			ends = made.Token.ExpiresAt.Format(time.RFC3339)
		}
		fmt.Fprintf(p.stderr, "id %s, scope %s, expires %s\n", made.Token.ID, made.Token.Scope, ends)
		if p.getenv("SANDRONE_TOKEN") == "" {
			fmt.Fprintln(p.stderr, "note: it counts only while the server has an owner token")
		}
		_, err = fmt.Fprintln(p.stdout, made.Secret)
		return err
	}
	return cmd
}

// expiry reads a duration from now, in which d is a day, or a time.
func expiry(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil && n > 0 {
			return now.Add(time.Duration(n) * 24 * time.Hour).UTC(), nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return now.Add(d).UTC(), nil
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t.UTC(), nil
	}
	return time.Time{}, sandrone.Errorf(sandrone.InvalidArgument, "--expires must be a duration such as 720h or 30d, or a time such as 2027-01-31T00:00:00Z")
}

type tokenList struct {
	Items []sandrone.Token `json:"items"`
}

func (p *program) listTokensCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the tokens, without their secrets",
		Args:  cobra.NoArgs,
	}
	asJSON := cmd.Flags().Bool("json", false, "as JSON")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		d, err := p.door(cmd.Context(), cmd)
		if err != nil {
			return err
		}
		defer d.close()
		text, err := d.do(cmd.Context(), "GET", "/v1/tokens", nil)
		if err != nil {
			return err
		}
		if *asJSON {
			return p.write("", text)
		}
		var list tokenList
		if err := json.Unmarshal(text, &list); err != nil {
			return err
		}
		w := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "ID\tNAME\tSCOPE\tCREATED\tEXPIRES\tLAST USED")
		for _, t := range list.Items {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", t.ID, t.Name, t.Scope, shown(t.CreatedAt), shown(t.ExpiresAt), shown(t.LastUsedAt))
		}
		return w.Flush()
	}
	return cmd
}

func shown(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}

func (p *program) revokeTokenCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "revoke <id-or-name>",
		Short: "Revoke a token at once",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := p.door(cmd.Context(), cmd)
			if err != nil {
				return err
			}
			defer d.close()
			var list tokenList
			if err := d.call(cmd.Context(), "GET", "/v1/tokens", nil, &list); err != nil {
				return err
			}
			id := args[0]
			for _, t := range list.Items {
				if t.ID == args[0] {
					id = t.ID
					break
				}
				if t.Name == args[0] {
					id = t.ID
				}
			}
			if err := d.call(cmd.Context(), "DELETE", "/v1/tokens/"+url.PathEscape(id), nil, nil); err != nil {
				return err
			}
			_, err = fmt.Fprintln(p.stdout, "revoked "+id)
			return err
		},
	}
}
