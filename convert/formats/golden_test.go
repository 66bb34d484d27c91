package formats_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert"
	"github.com/sandrone-gateway/sandrone/convert/formats"
	"github.com/sandrone-gateway/sandrone/convert/goldentest"
)

// TestGolden runs the cases of testdata through the walk of a conversion. A
// case is one text archive: a comment that says what it shows, and files that
// are steps or their results.
//
//	-- input: uri-list --         a text; it is parsed, normalised and validated
//	-- target: mihomo@1.18 --     what is written of the nodes of the input
//	-- warnings --                of the step before: code, node and field, one a line
//	-- error --                   of the step before
//
// What has neither warnings nor an error needs no file for them. With -update
// the results are written down as they are: a new case is an input and the
// titles of its targets.
func TestGolden(t *testing.T) {
	goldentest.Cases(t, func(t *testing.T, text string) string {
		archive := txtar.Parse([]byte(text))
		if len(bytes.TrimSpace(archive.Comment)) == 0 {
			t.Error("the case does not say what it shows")
		}
		runGolden(t, archive)
		return string(txtar.Format(archive))
	})
}

// runGolden replaces the results of a case by what the code gives.
func runGolden(t *testing.T, archive *txtar.Archive) {
	var (
		nodes    []sandrone.Node
		warnings []sandrone.Warning
		failure  error
		files    []txtar.File
		shown    map[string]bool // result files that the step has
	)
	results := func() {
		if len(warnings) > 0 || shown["warnings"] {
			files = append(files, txtar.File{Name: "warnings", Data: warningLines(warnings)})
		}
		if failure != nil {
			files = append(files, txtar.File{Name: "error", Data: fmt.Appendf(nil, "%v\n", failure)})
		}
	}
	for i, f := range archive.Files {
		kind, name, step := strings.Cut(f.Name, ":")
		if name = strings.TrimSpace(name); !step {
			continue
		}
		shown = make(map[string]bool)
		for _, next := range archive.Files[i+1:] {
			if strings.Contains(next.Name, ":") {
				break
			}
			shown[next.Name] = true
		}
		switch kind {
		case "input":
			nodes, warnings, failure = read(name, string(f.Data))
		case "target":
			var out convert.Rendered
			out, _, failure = formats.Registry().Render(name, nodes, convert.RenderOptions{})
			f.Data, warnings = out.Body, out.Warnings
		default:
			t.Fatalf("%q is no step", f.Name)
		}
		files = append(files, f)
		results()
	}
	archive.Files = files
}

func warningLines(warnings []sandrone.Warning) []byte {
	var b bytes.Buffer
	for _, w := range warnings {
		node := w.Node
		if node == "" {
			node = "-"
		}
		b.WriteString(strings.TrimRight(fmt.Sprintf("%s (%s) %s", w.Code, node, w.Field), " ") + "\n")
	}
	return b.Bytes()
}
