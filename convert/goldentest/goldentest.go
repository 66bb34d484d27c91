// Package goldentest runs tests whose cases are files: what goes in, and what
// comes out of it. A report of a fault becomes such a file before it becomes a
// fix. With -update the results are written down as they are.
package goldentest

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert"
	"github.com/sandrone-gateway/sandrone/convert/jsonnodes"
)

var update = flag.Bool("update", false, "rewrite the golden files with what the code gives")

// Cases runs every file of testdata/*.txt: rerun returns the case with every
// result as it is now, which must be the file.
func Cases(t *testing.T, rerun func(t *testing.T, text string) string) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := rerun(t, string(text))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != string(text) {
				t.Errorf("got:\n%s\nwant:\n%s", got, text)
			}
		})
	}
}

// Notation is one format under test.
type Notation struct {
	Parser convert.Parser

	// Render writes the nodes for the section with the given title; ok is
	// false for a title that means nothing.
	Render func(title string, nodes []sandrone.Node) (out convert.Rendered, ok bool)
}

// Run runs the cases of one format. A case is one file of sections, each with
// a title line "-- title --":
//
//	input      a text of the format
//	nodes      or nodes in JSON, one a line; after an input, what is read from it
//	<title>    what Render writes
//	warnings   after an input or a rendering: line, code, field and node, one a line
//
// Words before the first title are about the case, and so is a section comment.
func Run(t *testing.T, n Notation) {
	t.Helper()
	Cases(t, n.rerun)
}

type section struct{ title, text string }

func sections(text string) (list []section) {
	for line := range strings.Lines(text) {
		if title, ok := strings.CutPrefix(line, "-- "); ok {
			list = append(list, section{title: strings.TrimSuffix(strings.TrimSpace(title), " --")})
			continue
		}
		if len(list) == 0 {
			list = append(list, section{})
		}
		list[len(list)-1].text += line
	}
	return list
}

// Inputs returns the texts of the input sections of all cases, to begin a fuzz
// test with.
func Inputs(t testing.TB) (texts []string) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range sections(string(text)) {
			if s.title == "input" {
				texts = append(texts, s.text)
			}
		}
	}
	return texts
}

func (n Notation) rerun(t *testing.T, text string) string {
	var (
		out      strings.Builder
		nodes    []sandrone.Node
		warnings []sandrone.Warning
		given    = true // whether nodes are part of the case
	)
	for _, s := range sections(text) {
		switch s.title {
		case "", "comment":
		case "input":
			b, err := n.Parser.Parse(s.text)
			if err != nil {
				t.Fatal(err)
			}
			warnings = append(b.Warnings, convert.Normalise(b.Nodes)...)
			nodes, given = b.Nodes, false
		case "nodes":
			if given {
				nodes = readNodes(t, s.text)
			} else {
				s.text = writeNodes(t, nodes)
			}
		case "warnings":
			s.text = Warnings(warnings)
		default:
			r, ok := n.Render(s.title, nodes)
			if !ok {
				t.Fatalf("unknown section %q", s.title)
			}
			s.text, warnings = strings.TrimSuffix(string(r.Body), "\n")+"\n", r.Warnings
		}
		if s.title != "" {
			fmt.Fprintf(&out, "-- %s --\n", s.title)
		}
		out.WriteString(s.text)
	}
	return out.String()
}

// Warnings writes warnings one a line: the line of the input where there is
// one, the code, the field and the node.
func Warnings(warnings []sandrone.Warning) string {
	var b strings.Builder
	for _, w := range warnings {
		if w.NodeContext != nil && w.NodeContext.Line > 0 {
			fmt.Fprint(&b, w.NodeContext.Line, ": ")
		}
		fmt.Fprintln(&b, w.Code, w.Field, w.Node)
	}
	return b.String()
}

func readNodes(t *testing.T, text string) []sandrone.Node {
	t.Helper()
	b, err := jsonnodes.Parser.Parse("[" + strings.Join(strings.Split(strings.TrimSpace(text), "\n"), ",") + "]")
	if err != nil || len(b.Warnings) > 0 {
		t.Fatal(err, b.Warnings)
	}
	nodes := b.Nodes
	convert.Normalise(nodes)
	return nodes
}

func writeNodes(t *testing.T, nodes []sandrone.Node) string {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	for _, n := range nodes {
		n.SourceFormat = "" // the registry's word
		if err := e.Encode(n); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}
