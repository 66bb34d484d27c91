package docs_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/catalog"
	"github.com/sandrone-gateway/sandrone/convert/formats"
	"github.com/sandrone-gateway/sandrone/convert/table"
	"github.com/sandrone-gateway/sandrone/engine"
	"github.com/sandrone-gateway/sandrone/processors"
	"github.com/sandrone-gateway/sandrone/server"
	"github.com/sandrone-gateway/sandrone/web"
)

// tableBelow returns the cells of the first table below a line of a document.
func tableBelow(t *testing.T, path, line string) (rows [][]string) {
	t.Helper()
	_, rest, ok := strings.Cut(readText(t, path), "\n"+line+"\n")
	if !ok {
		t.Fatalf("%s has no line %q", path, line)
	}
	for line := range strings.SplitSeq(rest, "\n") {
		if !strings.HasPrefix(line, "|") {
			if rows != nil {
				break
			}
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		rows = append(rows, cells)
	}
	if len(rows) < 3 {
		t.Fatalf("%s has no table below %q", path, line)
	}
	return rows[2:] // without the head
}

// codes are the words of a cell that stand in backquotes.
func codes(cell string) (found []string) {
	for _, m := range codeWord.FindAllStringSubmatch(cell, -1) {
		found = append(found, m[1])
	}
	return found
}

// constants returns the text constants of a file of the root package whose
// declaration has the given type, or whose name has the given prefix.
func constants(t *testing.T, file, typ, prefix string) (values []string) {
	t.Helper()
	tree, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, file), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		ident, _ := spec.Type.(*ast.Ident)
		if typ != "" && (ident == nil || ident.Name != typ) || !strings.HasPrefix(spec.Names[0].Name, prefix) {
			return true
		}
		if lit, ok := spec.Values[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
			value, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			values = append(values, value)
		}
		return true
	})
	if len(values) == 0 {
		t.Fatalf("%s has no such constants", file)
	}
	return values
}

func TestEveryErrorCodeIsListedWithItsStatus(t *testing.T) {
	const page = "docs/reference/errors.md"
	listed := make(map[string]string)
	for _, below := range []string{"Codes of this build:", "Codes that belong to planned parts and have their status already:"} {
		for _, row := range tableBelow(t, page, below) {
			for _, code := range codes(row[0]) {
				listed[code] = row[1]
			}
		}
	}
	for _, code := range constants(t, "error.go", "Code", "") {
		if want := strconv.Itoa(sandrone.Code(code).Status()); listed[code] != want {
			t.Errorf("%s: status %q, want %s", code, listed[code], want)
		}
		delete(listed, code)
	}
	for code := range listed {
		t.Errorf("%s is no code", code)
	}
}

func TestEveryWarningCodeIsListed(t *testing.T) {
	var listed []string
	for _, row := range tableBelow(t, "docs/reference/errors.md", "## Warnings") {
		listed = append(listed, codes(row[0])...)
	}
	want := constants(t, "warning.go", "", "Warn")
	slices.Sort(listed)
	slices.Sort(want)
	if !slices.Equal(listed, want) {
		t.Errorf("got %v\nwant %v", listed, want)
	}
}

func TestTheFormatsAreThoseOfTheProgram(t *testing.T) {
	const page = "docs/reference/formats.md"
	registry := formats.Registry()

	var read []string
	for _, row := range tableBelow(t, page, "## Input") {
		name := codes(row[0])[0]
		read = append(read, name)
		p, err := registry.Parser(name)
		if err != nil {
			t.Error(err)
			continue
		}
		if found := strings.HasPrefix(row[2], "yes"); found != (p.Detect != nil && !p.Explicit) {
			t.Errorf("%s: found by auto: the page says %q", name, row[2])
		}
	}
	slices.Sort(read)
	if want := registry.ParserNames(); !slices.Equal(read, want) {
		t.Errorf("input formats: got %v, want %v", read, want)
	}

	var written []string
	for _, row := range tableBelow(t, page, "## Output") {
		name := codes(row[0])[0]
		written = append(written, name)
		target, err := registry.Target(name)
		if err != nil {
			t.Error(err)
			continue
		}
		var versions []string
		for _, v := range target.Versions {
			versions = append(versions, v.String())
		}
		var byDefault []string
		if target.Default != (table.Version{}) {
			byDefault = []string{target.Default.String()}
		}
		for _, cell := range []struct {
			what, text string
			want       []string
		}{
			{"media type", row[2], []string{target.MediaType}},
			{"versions", row[3], versions},
			{"default", row[4], byDefault},
		} {
			if got := codes(cell.text); !slices.Equal(got, cell.want) {
				t.Errorf("%s: %s: got %v, want %v", name, cell.what, got, cell.want)
			}
		}
	}
	slices.Sort(written)
	if want := registry.RendererNames(); !slices.Equal(written, want) {
		t.Errorf("output formats: got %v, want %v", written, want)
	}
}

var flagLine = regexp.MustCompile(`(?m)^ +(?:-\w, )?(--[a-z-]+)`)

// Every flag of a command stands in its section or among the common ones, and
// the page names no other.
func TestTheFlagsAreThoseOfTheProgram(t *testing.T) {
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	text := readText(t, "docs/reference/cli.md")
	_, sections, _ := strings.Cut(text, "\n## Common rules\n")
	common, _, _ := strings.Cut(sections, "\n## ")
	known := []string{"--help", "--json"}
	for _, args := range [][]string{{"convert"}, {"diagnose", "input"}, {"diagnose", "url"}, {"diagnose", "subscription"}, {"diagnose", "file"},
		{"render", "subscription"}, {"render", "file"}, {"backup"}, {"restore"}, {"token", "create"}, {"token", "list"}, {"token", "revoke"}, {"capability", "formats"}, {"capability", "format"}, {"inspect"}, {"doctor"}, {"serve"}, {"version"}} {
		help, err := exec.Command(path, append(args, "--help")...).Output()
		if err != nil {
			t.Fatal(err)
		}
		_, section, ok := strings.Cut(text, "\n## "+args[0]+"\n")
		if !ok {
			t.Errorf("there is no section for %s", args[0])
		}
		section, _, _ = strings.Cut(section, "\n## ")
		for _, m := range flagLine.FindAllStringSubmatch(string(help), -1) {
			known = append(known, m[1])
			if m[1] != "--help" && !strings.Contains(section, m[1]) && !strings.Contains(common, "`"+m[1]+"`") {
				t.Errorf("%v: %s is not described", args, m[1])
			}
		}
	}
	for _, m := range regexp.MustCompile("`(--[a-z-]+)").FindAllStringSubmatch(text, -1) {
		if !slices.Contains(known, m[1]) {
			t.Errorf("%s is no flag", m[1])
		}
	}
}

func TestTheVariablesAreThoseOfTheProgram(t *testing.T) {
	variable := regexp.MustCompile(`\bSANDRONE_[A-Z_]+`)
	read := make(map[string]bool)
	for _, dir := range []string{"cmd/sandrone", "core"} {
		files, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range variable.FindAllString(string(text), -1) {
				read[name] = true
			}
		}
	}
	listed := make(map[string]bool)
	for _, row := range tableBelow(t, "docs/reference/cli.md", "## Common rules") {
		for _, name := range variable.FindAllString(row[1], -1) {
			listed[name] = true
		}
	}
	if !maps.Equal(listed, read) {
		t.Errorf("got %v\nwant %v", slices.Sorted(maps.Keys(listed)), slices.Sorted(maps.Keys(read)))
	}
}

// The server describes the routes that it answers, but for the page.
func TestTheRoutesAreThoseOfTheServer(t *testing.T) {
	e, err := engine.New(engine.Options{Registry: formats.Registry(), Settings: sandrone.DefaultSettings()})
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.New(server.Options{Engine: e, Catalog: catalog.New(formats.Registry(), nil), UI: web.Handler()})
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest("GET", "/v1/openapi.json", nil)
	r.Host = documented
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	var described struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(w.Body.Bytes(), &described); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"GET /": "public"}
	for path, methods := range described.Paths {
		for method, text := range methods {
			var operation struct {
				Scope string `json:"x-sandrone-scope"`
			}
			if json.Unmarshal(text, &operation) == nil && operation.Scope != "" {
				want[strings.ToUpper(method)+" "+path] = operation.Scope
			}
		}
	}
	listed := make(map[string]string)
	for _, row := range tableBelow(t, "docs/reference/http.md", "## Routes") {
		listed[row[0]+" "+codes(row[1])[0]] = row[2]
	}
	for route, scope := range want {
		if listed[route] != scope {
			t.Errorf("%s: scope %q, want %q", route, listed[route], scope)
		}
		delete(listed, route)
	}
	for route := range listed {
		t.Errorf("%s is no route", route)
	}
}

func TestEveryStepIsInTheReference(t *testing.T) {
	const path = "docs/reference/processors.md"
	registry := processors.New(processors.Options{})
	for stage, heading := range map[string]string{sandrone.NodesStage: "## Nodes", sandrone.FileStage: "## Files"} {
		var listed []string
		for _, row := range tableBelow(t, path, heading) {
			listed = append(listed, codes(row[0])...)
		}
		slices.Sort(listed)
		if known := registry.Types(stage); !slices.Equal(listed, known) {
			t.Errorf("stage %s: the page lists %v, the program has %v", stage, listed, known)
		}
	}
}
