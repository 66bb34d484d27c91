package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/engine"
)

func (p *program) convertCommand() *cobra.Command {
	var (
		to, from, input, inputURL string
		userAgent, proxy          string
		timeout                   time.Duration
		report                    string
		dropRaw                   bool
	)
	cmd := &cobra.Command{
		Use:   "convert",
		Short: "Convert a list of nodes into another format",
		Example: `  sandrone convert --input nodes.txt --to mihomo-proxies --output proxies.yaml
  sandrone convert --input-url https://example.com/subscription --to sing-box-outbounds@1.12`,
		Args: cobra.NoArgs,
	}
	flags := cmd.Flags()
	flags.StringVar(&to, "to", "", "output format, with an optional @version (required)")
	flags.StringVar(&from, "from", "auto", "input format, or auto to detect it")
	flags.BoolVar(&dropRaw, "drop-raw", false, "leave out fields that this program does not model")
	flags.StringVar(&input, "input", "-", "file to read, or - for standard input")
	flags.StringVar(&inputURL, "input-url", "", "http or https address to read instead of a file")
	flags.StringVar(&userAgent, "user-agent", "", "user agent for --input-url")
	flags.StringVar(&proxy, "proxy", "", "http, https or socks5 proxy for --input-url")
	flags.DurationVar(&timeout, "remote-timeout", 0, "time limit for --input-url, such as 5s; 0 or less means the default")
	flags.StringVar(&report, "report-output", "", "file for the report as JSON")
	output := outputFlag(cmd)
	allowHostFlag(cmd)

	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if to == "" {
			return errors.New("--to is required")
		}
		if inputURL != "" && flags.Changed("input") {
			return errors.New("--input and --input-url are mutually exclusive")
		}
		if err := checkOutputs(*output, report); err != nil {
			return err
		}
		tuneMemory()
		settings, err := p.storedSettings(cmd.Context(), cmd)
		if err != nil {
			return err
		}
		b, err := p.build(cmd, nil, settings, p.allowHosts(cmd), false)
		if err != nil {
			return err
		}
		defer b.close()
		req := engine.ConvertRequest{ToFormat: to, FromFormat: from, Options: engine.ConvertOptions{DropRaw: dropRaw}}
		if inputURL != "" {
			req.Remote = &engine.Remote{URL: inputURL, UserAgent: userAgent, Proxy: proxy, TimeoutMS: roundUp(timeout)}
		} else {
			text, err := p.readInput(input)
			if err != nil {
				return err
			}
			req.Content = &text
		}
		result, err := b.engine.Convert(cmd.Context(), req)
		if err != nil {
			return inFlags(err)
		}
		if err := p.write(*output, result.Body); err != nil {
			return err
		}
		p.tellLoss(&result.Report, report)
		if report == "" {
			return nil
		}
		return p.writeJSON(report, result.Report)
	}
	return cmd
}

// tellLoss says in one line that something was lost, if it was, and where the
// details are.
func (p *program) tellLoss(r *sandrone.Report, path string) {
	nodes := 0
	for i := range r.Warnings {
		switch r.Warnings[i].Code {
		case sandrone.WarnNodeSkipped, sandrone.WarnNoShareLink, sandrone.WarnValidationDropped,
			sandrone.WarnLineFailed, sandrone.WarnProxySkipped, sandrone.WarnOutboundSkipped:
			nodes++
		}
	}
	var parts []string
	if nodes > 0 {
		parts = append(parts, plural(nodes, "node")+" left out")
	}
	if r.Render.LostFields > 0 {
		parts = append(parts, plural(r.Render.LostFields, "field")+" lost")
	}
	if parts == nil {
		return
	}
	where := "--report-output tells which"
	if path != "" {
		where = "the report tells which"
	}
	fmt.Fprintf(p.stderr, "%s; %s\n", strings.Join(parts, ", "), where)
}

func plural(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}

// inFlags takes the name of a request's member from an error about a format:
// the user wrote a flag, and the message says which format it is.
func inFlags(err error) error {
	e, ok := errors.AsType[*sandrone.Error](err)
	if !ok || e.Field != "from_format" && e.Field != "to_format" {
		return err
	}
	plain := *e
	plain.Field = ""
	return &plain
}

// roundUp is a time limit in milliseconds; a stated one stays a limit.
func roundUp(d time.Duration) int64 {
	if d <= 0 {
		return 0
	}
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}

// memoryLimit lets a conversion of 100,000 nodes do with one or two
// collections and stay below 300 MiB in all.
const memoryLimit = 250 << 20 // bytes

// tuneMemory makes one conversion cheap: the process ends before its garbage
// matters, so none is collected below the limit. Who sets the variables of the
// Go runtime knows better.
func tuneMemory() {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetGCPercent(-1)
		debug.SetMemoryLimit(memoryLimit)
		untune(4)
	}
}

// untune gives the limit up after some collections: what is in use does not
// fit below it, and the collector would do nothing but try.
func untune(collections int) {
	runtime.SetFinalizer(new([16]byte), func(*[16]byte) {
		if collections > 1 {
			untune(collections - 1)
			return
		}
		debug.SetGCPercent(50)
		debug.SetMemoryLimit(math.MaxInt64)
	})
}
