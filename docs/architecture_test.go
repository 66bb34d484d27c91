package docs_test

import (
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/sandrone-gateway/sandrone"

// arrow is a row of the table of imports: packages, and what they may import
// of this module. The root package is ".".
type arrow struct {
	packages, imports []string
}

var codeWord = regexp.MustCompile("`([^`]+)`")

// arrows reads the table below the heading "Arrows" of the architecture page.
func arrows(t *testing.T) []arrow {
	t.Helper()
	_, section, ok := strings.Cut(readText(t, "docs/architecture.md"), "\n## Arrows\n")
	if !ok {
		t.Fatal("the page has no section Arrows")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	var rows []arrow
	for line := range strings.SplitSeq(section, "\n") {
		cells := strings.Split(line, "|")
		if len(cells) != 4 || !strings.Contains(cells[1], "`") {
			continue
		}
		rows = append(rows, arrow{words(cells[1]), words(cells[2])})
	}
	if len(rows) == 0 {
		t.Fatal("the section Arrows has no table")
	}
	return rows
}

// words are the names in a cell, as import paths.
func words(cell string) (paths []string) {
	for _, m := range codeWord.FindAllStringSubmatch(cell, -1) {
		if m[1] == "." {
			paths = append(paths, module)
			continue
		}
		paths = append(paths, module+"/"+m[1])
	}
	return paths
}

// imports lists every package of the module with what it imports outside its
// tests.
func imports(t *testing.T) map[string][]string {
	t.Helper()
	cmd := exec.Command("go", "list", "-e", "-f", "{{.ImportPath}} {{join .Imports \" \"}}", "./...")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[string][]string)
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		found[fields[0]] = fields[1:]
	}
	return found
}

func ours(path string) bool { return path == module || strings.HasPrefix(path, module+"/") }

func TestThePackagesImportEachOtherAsTheArrowsSay(t *testing.T) {
	found := imports(t)
	stated := make(map[string][]string) // package -> what it may import
	for _, row := range arrows(t) {
		used := make(map[string]bool)
		for _, pkg := range row.packages {
			if _, twice := stated[pkg]; twice {
				t.Errorf("%s stands in two rows", pkg)
			}
			stated[pkg] = row.imports
			actual, exists := found[pkg]
			if !exists {
				t.Errorf("%s has a row and does not exist", pkg)
			}
			for _, path := range actual {
				used[path] = true
				if ours(path) && !slices.Contains(row.imports, path) {
					t.Errorf("%s imports %s, and there is no such arrow", pkg, path)
				}
			}
		}
		for _, path := range row.imports {
			if !used[path] {
				t.Errorf("no package of the row %v imports %s", row.packages, path)
			}
		}
	}
	for pkg := range found {
		if _, ok := stated[pkg]; !ok && pkg != module+"/docs" {
			t.Errorf("%s stands in no row of the arrows in docs/architecture.md", pkg)
		}
	}
}

// What a package is for decides which libraries it may need.
func TestOnlyTheDoorsKnowTheirLibraries(t *testing.T) {
	for library, rooms := range map[string][]string{
		"net/http":                         {"fetch", "engine", "mcp", "server", "web", "processors/resolve", "cmd/sandrone", "tools/bench", "tools/load"},
		"os/exec":                          {"core", "processors/script/internal/worker", "tools/bench", "tools/load"},
		"github.com/spf13/":                {"cmd/sandrone"},
		"github.com/go-chi/":               {"server"},
		"go.yaml.in/yaml/":                 {"convert/doc", "core", "processors/edit"},
		"github.com/chromedp/":             {},
		"github.com/modelcontextprotocol/": {"mcp"},
		"github.com/rogpeppe/":             {},
		"mvdan.cc/sh/":                     {},
	} {
		for pkg, paths := range imports(t) {
			for _, path := range paths {
				name := strings.TrimPrefix(pkg, module+"/")
				if (path == library || strings.HasSuffix(library, "/") && strings.HasPrefix(path, library)) && !slices.Contains(rooms, name) {
					t.Errorf("%s imports %s, which belongs to %v", pkg, path, rooms)
				}
			}
		}
	}
}
