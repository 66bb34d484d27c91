package main

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sandrone-gateway/sandrone"
)

// diagnoseRequest is the body of POST /v1/diagnose.
type diagnoseRequest struct {
	Content      *string               `json:"content,omitempty"`
	Kind         string                `json:"kind,omitempty"`
	Remote       *sandrone.RemoteInput `json:"remote,omitempty"`
	Format       string                `json:"format,omitempty"`
	Processors   json.RawMessage       `json:"processors,omitempty"`
	Subscription string                `json:"subscription,omitempty"`
	File         json.RawMessage       `json:"file,omitempty"` // a name or a definition
}

func (p *program) diagnoseCommand() *cobra.Command {
	group := &cobra.Command{
		Use:   "diagnose",
		Short: "Show what becomes of an input, stage by stage",
		Args:  noWord,
		RunE:  showHelp,
	}
	group.AddCommand(p.diagnoseInputCommand(), p.diagnoseURLCommand(), p.diagnoseSubscriptionCommand(), p.diagnoseFileCommand())
	return group
}

func (p *program) diagnoseInputCommand() *cobra.Command {
	var kind, format, processors string
	cmd := &cobra.Command{
		Use:     "input <path|->",
		Short:   "Diagnose a list of nodes, or a definition",
		Example: `  sandrone diagnose input nodes.txt --processors steps.json`,
		Args:    cobra.ExactArgs(1),
	}
	flags := cmd.Flags()
	flags.StringVar(&kind, "kind", "auto", "what the input is: auto, nodes, subscription or file")
	flags.StringVar(&format, "format", "", "input format of nodes; empty detects it")
	flags.StringVar(&processors, "processors", "", "JSON file with steps on the nodes, or - for standard input")
	output := outputFlag(cmd)
	allowHostFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if (format != "" || processors != "") && kind != "auto" && kind != "nodes" {
			return errors.New("--format and --processors are for --kind auto and nodes")
		}
		if args[0] == "-" && processors == "-" {
			return errors.New("input and processors cannot both be standard input")
		}
		text, err := p.readInput(args[0])
		if err != nil {
			return err
		}
		req := diagnoseRequest{Content: &text, Kind: kind, Format: format}
		if req.Processors, err = p.readSteps(processors); err != nil {
			return err
		}
		return p.diagnose(cmd, req, *output)
	}
	return cmd
}

func (p *program) diagnoseURLCommand() *cobra.Command {
	var (
		format, processors string
		userAgent, proxy   string
		timeout            time.Duration
	)
	cmd := &cobra.Command{
		Use:   "url <url>",
		Short: "Diagnose a list of nodes at an address",
		Args:  cobra.ExactArgs(1),
	}
	flags := cmd.Flags()
	flags.StringVar(&format, "format", "", "input format; empty detects it")
	flags.StringVar(&processors, "processors", "", "JSON file with steps on the nodes, or - for standard input")
	flags.StringVar(&userAgent, "user-agent", "", "user agent")
	flags.StringVar(&proxy, "proxy", "", "http, https or socks5 proxy")
	flags.DurationVar(&timeout, "remote-timeout", 0, "time limit, such as 5s; 0 or less means the default")
	output := outputFlag(cmd)
	allowHostFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		req := diagnoseRequest{
			Remote: &sandrone.RemoteInput{URL: args[0], UserAgent: userAgent, Proxy: proxy, TimeoutMS: roundUp(timeout)},
			Format: format,
		}
		if req.Processors, err = p.readSteps(processors); err != nil {
			return err
		}
		return p.diagnose(cmd, req, *output)
	}
	return cmd
}

func (p *program) diagnoseSubscriptionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "subscription <name>",
		Short: "Diagnose a stored subscription",
		Args:  cobra.ExactArgs(1),
	}
	output := outputFlag(cmd)
	allowHostFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return p.diagnose(cmd, diagnoseRequest{Subscription: args[0]}, *output)
	}
	return cmd
}

func (p *program) diagnoseFileCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "file <name-or-spec.json>",
		Short: "Diagnose a stored file, or one that a local definition describes",
		Args:  cobra.ExactArgs(1),
	}
	output := outputFlag(cmd)
	allowHostFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		name := args[0]
		if sandrone.CheckName("name", name) == nil {
			quoted, err := json.Marshal(name)
			if err != nil {
				return err
			}
			err = p.diagnose(cmd, diagnoseRequest{File: quoted}, *output)
			if err == nil || !isMissing(err, sandrone.KindFile, name) || !isLocalDefinition(name) {
				return err
			}
		}
		spec, err := p.readDefinition(name)
		if err != nil {
			return err
		}
		return p.diagnose(cmd, diagnoseRequest{File: spec}, *output)
	}
	return cmd
}

// readSteps reads a list of steps; no path is none.
func (p *program) readSteps(path string) (json.RawMessage, error) {
	if path == "" {
		return nil, nil
	}
	text, err := p.readDefinition(path)
	if err == nil && !strings.HasPrefix(strings.TrimSpace(string(text)), "[") {
		err = sandrone.Errorf(sandrone.InvalidArgument, "the processors must be a JSON array")
	}
	return text, err
}

func (p *program) diagnose(cmd *cobra.Command, req diagnoseRequest, output string) error {
	d, err := p.diagnoseDoor(cmd.Context(), cmd, &req)
	if err != nil {
		return err
	}
	defer d.close()
	var text json.RawMessage
	if err := d.call(cmd.Context(), "POST", "/v1/diagnose", req, &text); err != nil {
		return err
	}
	var result struct {
		Status string `json:"status"`
	}
	if err := json.Unmarshal(text, &result); err != nil {
		return err
	}
	if err := p.writePrivate(output, append(text, '\n')); err != nil {
		return err
	}
	if result.Status == sandrone.StatusFailed {
		return errors.New("diagnosis failed")
	}
	return nil
}

// diagnoseDoor is the door for a request. Nodes are looked at by this process,
// with its own flags and variables. What may name stored resources, as
// definitions and scripts do, is for the server that has the store.
func (p *program) diagnoseDoor(ctx context.Context, cmd *cobra.Command, req *diagnoseRequest) (*door, error) {
	running := p.runningServer(ctx, cmd)
	if running == nil {
		return p.door(ctx, cmd)
	}
	if req.Subscription != "" || req.File != nil || req.Content != nil && isDefinition(*req.Content) || runsScript(req.Processors) {
		return running, nil
	}
	running.close()
	settings, err := p.storedSettings(ctx, cmd)
	if err != nil {
		return nil, err
	}
	b, err := p.build(cmd, nil, settings, p.allowHosts(cmd), false)
	if err != nil {
		return nil, err
	}
	return b.door()
}

// isDefinition reports whether a text may be the definition of a subscription
// or of a file.
func isDefinition(text string) bool {
	var head struct {
		Type, Kind json.RawMessage
	}
	return json.Unmarshal([]byte(text), &head) == nil && (head.Type != nil || head.Kind != nil)
}

func runsScript(steps json.RawMessage) bool {
	var list []sandrone.ProcessorSpec
	return json.Unmarshal(steps, &list) == nil &&
		slices.ContainsFunc(list, func(s sandrone.ProcessorSpec) bool { return s.Type == "script" })
}
