package uri_test

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
	"github.com/sandrone-gateway/sandrone/convert/uri"
)

var update = flag.Bool("update", false, "rewrite the golden files with what the code gives")

// TestGolden runs the cases of testdata. A case is one file of sections, each
// with a title line "-- title --":
//
//	input      links, one a line
//	nodes      or nodes in JSON, one a line; after an input, what is read from it
//	links      what is written
//	warnings   after an input or links: code, field and node, one warning a line
func TestGolden(t *testing.T) {
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
			got := golden(t, sections(string(text)))
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

type section struct{ title, text string }

func sections(text string) (list []section) {
	for line := range strings.Lines(text) {
		if title, ok := strings.CutPrefix(line, "-- "); ok {
			list = append(list, section{title: strings.TrimSuffix(strings.TrimSpace(title), " --")})
			continue
		}
		if len(list) == 0 {
			list = append(list, section{}) // words about the case
		}
		list[len(list)-1].text += line
	}
	return list
}

// golden returns the case with every result as it is now.
func golden(t *testing.T, list []section) string {
	var (
		out      strings.Builder
		nodes    []sandrone.Node
		warnings []sandrone.Warning
		given    = true // whether nodes are part of the case
	)
	for _, s := range list {
		switch s.title {
		case "":
		case "input":
			b, err := uri.ListParser.Parse(s.text)
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
		case "links":
			r := uri.ListRenderer.Render(nodes, convert.RenderOptions{Target: "uri-list"})
			s.text, warnings = string(r.Body)+"\n", r.Warnings
		case "warnings":
			s.text = ""
			for _, w := range warnings {
				line := 0
				if w.NodeContext != nil {
					line = w.NodeContext.Line
				}
				if line > 0 {
					s.text += fmt.Sprint(line, ": ")
				}
				s.text += fmt.Sprintln(w.Code, w.Field, w.Node)
			}
		default:
			t.Fatalf("unknown section %q", s.title)
		}
		if s.title != "" {
			fmt.Fprintf(&out, "-- %s --\n", s.title)
		}
		out.WriteString(s.text)
	}
	return out.String()
}

func readNodes(t *testing.T, text string) []sandrone.Node {
	b, err := jsonnodes.Parser.Parse("[" + strings.Join(strings.Split(strings.TrimSpace(text), "\n"), ",") + "]")
	if err != nil || len(b.Warnings) > 0 {
		t.Fatal(err, b.Warnings)
	}
	nodes := b.Nodes
	convert.Normalise(nodes)
	return nodes
}

func writeNodes(t *testing.T, nodes []sandrone.Node) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	for i := range nodes {
		n := nodes[i]
		n.SourceFormat = ""
		if err := e.Encode(n); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}
