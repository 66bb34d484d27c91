// Command gensub writes seeded synthetic subscriptions, the known input of
// tests and benchmarks.
//
//	gensub -nodes 200 -seed 1 -format base64 -out sub.txt
//	gensub -nodes 1000 -all-formats DIR      one file per format, DIR/sub-1000.b64 and so on
//	gensub -nodes 50 -format model           the drawn nodes as JSON lines
//
// The same options give the same bytes on every machine. Nodes that a format
// cannot carry are left out and counted on standard error.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/sandrone-gateway/sandrone/tools/gensub/synth"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "gensub:", err)
		os.Exit(1)
	}
}

func run() error {
	var o synth.Options
	var layout synth.Layout
	flag.IntVar(&o.Nodes, "nodes", 100, "number of `nodes`")
	flag.IntVar(&o.Seed, "seed", 1, "`number` that names the sequence")
	flag.Float64Var(&o.Dup, "dup", 0, "`share` of nodes that repeat an earlier node under another name")
	flag.Float64Var(&o.RepeatNames, "repeat-names", 0, "`share` of nodes that reuse an earlier name")
	only := flag.String("only", "", "comma-separated `kinds` to draw from, such as ss,vmess,trojan")
	format := flag.String("format", string(synth.Links), "one `format` of uri-list, base64, mihomo, sing-box, model")
	out := flag.String("out", "-", "output `file`; - is standard output")
	folder := flag.String("all-formats", "", "write sub-N.{txt,b64,yaml,json,jsonl} into this `folder`")
	style := flag.String("yaml-style", "block", "`style` of mihomo entries, block or flow")
	flag.BoolVar(&layout.Groups, "groups", false, "add proxy groups and rules: a whole client file")
	flag.BoolVar(&layout.NoWireGuardLinks, "no-wireguard-uri", false, "leave wireguard:// links out")
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flag.Arg(0))
	}
	switch *style {
	case "block":
	case "flow":
		layout.Flow = true
	default:
		return fmt.Errorf("unknown style %q", *style)
	}
	if *only != "" {
		for kind := range strings.SplitSeq(*only, ",") {
			o.Only = append(o.Only, synth.Kind(kind))
		}
	}

	nodes, err := synth.Build(o)
	if err != nil {
		return err
	}
	write := func(format synth.Format, path string) error {
		text, left, err := synth.Render(nodes, format, layout)
		if err != nil {
			return err
		}
		if left > 0 {
			fmt.Fprintf(os.Stderr, "%s: %d of %d nodes cannot be expressed and were left out\n", format, left, len(nodes))
		}
		if path == "-" {
			_, err = os.Stdout.Write(text)
			return err
		}
		return os.WriteFile(path, text, 0o644)
	}
	if *folder == "" {
		return write(synth.Format(*format), *out)
	}
	if err := os.MkdirAll(*folder, 0o755); err != nil {
		return err
	}
	for _, f := range synth.Formats {
		if err := write(f.Format, filepath.Join(*folder, fmt.Sprintf("sub-%d.%s", o.Nodes, f.Extension))); err != nil {
			return err
		}
	}
	return nil
}
