package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sandrone-gateway/sandrone"
)

// rendering is the part of an answer that the command line shows.
type rendering struct {
	Body   string          `json:"body"`
	Report json.RawMessage `json:"report"`

	local json.RawMessage // the definition, where it is not a stored one
}

func (p *program) renderCommand() *cobra.Command {
	group := &cobra.Command{
		Use:   "render",
		Short: "Write a stored subscription or file as its client reads it",
		Args:  noWord,
		RunE:  showHelp,
	}
	group.AddCommand(p.renderSubscriptionCommand(), p.renderFileCommand())
	return group
}

// renderFlags are common to both kinds.
type renderFlags struct {
	args           []string
	refresh        bool
	output, report string
}

func addRenderFlags(cmd *cobra.Command) *renderFlags {
	f := new(renderFlags)
	flags := cmd.Flags()
	flags.StringArrayVar(&f.args, "arg", nil, "request argument for the steps, as key=value; repeatable")
	flags.BoolVar(&f.refresh, "refresh", false, "read no cache")
	flags.StringVar(&f.output, "output", "", "file to write, or - for standard output")
	flags.StringVar(&f.report, "report-output", "", "file for the report as JSON")
	allowHostFlag(cmd)
	return f
}

// check looks at what can be wrong before any work, and returns the arguments.
func (f *renderFlags) check() (map[string]string, error) {
	if err := checkOutputs(f.output, f.report); err != nil {
		return nil, err
	}
	args := make(map[string]string, len(f.args))
	for _, arg := range f.args {
		key, value, ok := strings.Cut(arg, "=")
		if key = strings.TrimSpace(key); !ok || key == "" {
			return nil, errors.New("--arg must use a non-empty key=value")
		}
		args[key] = value
	}
	return args, nil
}

func (p *program) writeRendering(f *renderFlags, r *rendering) error {
	if err := p.write(f.output, []byte(r.Body)); err != nil {
		return err
	}
	if f.report == "" {
		return nil
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, r.Report, "", "  "); err != nil {
		return err
	}
	indented.WriteByte('\n')
	return p.write(f.report, indented.Bytes())
}

func (p *program) renderSubscriptionCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:     "subscription <name>",
		Short:   "Write the nodes of a stored subscription",
		Example: `  sandrone render subscription air --format mihomo-proxies --output proxies.yaml`,
		Args:    cobra.ExactArgs(1),
	}
	cmd.Flags().StringVar(&format, "format", "", "output format, with an optional @version (required)")
	f := addRenderFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, names []string) error {
		if format == "" {
			return errors.New("--format is required")
		}
		args, err := f.check()
		if err != nil {
			return err
		}
		d, err := p.door(cmd.Context(), cmd)
		if err != nil {
			return err
		}
		defer d.close()
		body := struct {
			Format  string            `json:"format"`
			Args    map[string]string `json:"args"`
			Refresh bool              `json:"refresh"`
		}{format, args, f.refresh}
		var result rendering
		path := "/v1/subscriptions/" + url.PathEscape(names[0]) + "/render"
		if err := d.call(cmd.Context(), "POST", path, body, &result); err != nil {
			return err
		}
		return p.writeRendering(f, &result)
	}
	return cmd
}

func (p *program) renderFileCommand() *cobra.Command {
	var verify bool
	cmd := &cobra.Command{
		Use:     "file <name-or-definition.json>",
		Short:   "Write a stored file, or one whose definition is in a local file",
		Example: `  sandrone render file phone.yaml --output config.yaml`,
		Args:    cobra.ExactArgs(1),
	}
	cmd.Flags().BoolVar(&verify, "verify", false, "have the installed client check the text")
	f := addRenderFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, names []string) error {
		args, err := f.check()
		if err != nil {
			return err
		}
		d, err := p.door(cmd.Context(), cmd)
		if err != nil {
			return err
		}
		defer d.close()
		result, err := p.renderFile(cmd, d, names[0], args, f.refresh)
		if err != nil {
			return err
		}
		// The text is written whatever the client says of it.
		var refused error
		if verify {
			refused = verifyFile(cmd.Context(), d, names[0], args, result)
		}
		if err := p.writeRendering(f, result); err != nil {
			return err
		}
		return refused
	}
	return cmd
}

// verifyFile has the installed client check a rendering of a file, and adds the
// verdict to its report. A bad verdict is an error.
func verifyFile(ctx context.Context, d *door, name string, args map[string]string, r *rendering) error {
	verdict, err := verdictOn(ctx, d, name, args, r)
	if err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(r.Body))
	if verdict.SHA256 != hex.EncodeToString(sum[:]) {
		return errors.New("verify: the file came out different when it was made again to be checked")
	}
	verdict.Output = ""
	var report sandrone.Report
	if err := json.Unmarshal(r.Report, &report); err != nil {
		return err
	}
	report.Verify = &verdict
	text, err := json.Marshal(report)
	if err != nil {
		return err
	}
	r.Report = text
	if !verdict.OK {
		return errors.New("verify: " + verdict.Message)
	}
	return nil
}

func verdictOn(ctx context.Context, d *door, name string, args map[string]string, r *rendering) (sandrone.Verdict, error) {
	if r.local == nil {
		body := struct {
			Args map[string]string `json:"args"`
		}{args}
		var verdict sandrone.Verdict
		err := d.call(ctx, "POST", "/v1/files/"+url.PathEscape(name)+"/verify", body, &verdict)
		return verdict, err
	}
	var again struct {
		Verify sandrone.Verdict `json:"verify"`
	}
	err := d.call(ctx, "POST", "/v1/preview/file", localFile{File: r.local, Args: args, Verify: true}, &again)
	return again.Verify, err
}

// localFile asks for a file whose definition is not stored.
type localFile struct {
	File    json.RawMessage   `json:"file"`
	Args    map[string]string `json:"args,omitempty"`
	Refresh bool              `json:"refresh,omitempty"`
	Verify  bool              `json:"verify,omitempty"`
}

// renderFile renders the stored file of a name, or else the definition in a
// local file of that name.
func (p *program) renderFile(cmd *cobra.Command, d *door, name string, args map[string]string, refresh bool) (*rendering, error) {
	var result rendering
	if sandrone.CheckName("name", name) == nil {
		query := url.Values{"response": {"json"}, "report": {"1"}}
		if refresh {
			query.Set("refresh", "1")
		}
		for key, value := range args {
			query.Set("arg."+key, value)
		}
		err := d.call(cmd.Context(), "GET", "/v1/files/"+url.PathEscape(name)+"?"+query.Encode(), nil, &result)
		if err == nil || !isMissing(err, sandrone.KindFile, name) || !isLocalDefinition(name) {
			return &result, err
		}
	}
	definition, err := p.readDefinition(name)
	if err != nil {
		return nil, err
	}
	result.local = definition
	return &result, d.call(cmd.Context(), "POST", "/v1/preview/file", localFile{File: definition, Args: args, Refresh: refresh}, &result)
}

// isMissing reports whether an error says that this resource is not stored,
// and not one that it needs.
func isMissing(err error, kind, name string) bool {
	e, ok := errors.AsType[*sandrone.Error](err)
	return ok && e.Code == sandrone.NotFound &&
		(e.ResourceName == "" || e.ResourceKind == kind && e.ResourceName == name)
}

// isLocalDefinition reports whether there is a definition of that path.
func isLocalDefinition(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && strings.HasSuffix(path, ".json")
}

// readDefinition reads a JSON file, or standard input for "-". What it may
// hold is for the receiver to judge.
func (p *program) readDefinition(path string) (json.RawMessage, error) {
	if path != "-" && !strings.HasSuffix(path, ".json") {
		return nil, sandrone.Errorf(sandrone.InvalidArgument, "a local definition must be a .json file")
	}
	text, err := p.readInput(path)
	if err != nil {
		return nil, err
	}
	if !json.Valid([]byte(text)) {
		return nil, sandrone.Errorf(sandrone.InvalidArgument, "the definition is not a single JSON value")
	}
	return json.RawMessage(text), nil
}
