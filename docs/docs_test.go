// Package docs_test holds the documentation to the program.
//
// Every document is read as Markdown. What its fenced blocks say is checked by
// their language:
//
//   - console: a session. Lines that begin with "$ " are run in a shell, the
//     others are the expected output. "..." stands for any text within a line,
//     or for any lines where it stands alone. A command that fails is followed
//     by "$ echo $?". All sessions of a document share one folder and one
//     server, which "sandrone serve" starts; 127.0.0.1:1137 is its address.
//   - sh: commands that are not run here. Targets, packages and files that
//     they name must exist.
//   - go: an excerpt. The comment <!-- from: path --> before it names the file
//     that has its lines, in this order.
//   - text: a picture or a form, not checked.
//
// A block of any language behind <!-- file: name --> is written to that file
// of the sessions' folder.
package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// root is the folder of the module.
const root = ".."

// documents lists every Markdown file of the documentation, relative to root.
func documents(t *testing.T) []string {
	t.Helper()
	var found []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md"} {
		paths, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			rel, err := filepath.Rel(root, path)
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, filepath.ToSlash(rel))
		}
	}
	for _, must := range []string{"README.md", "README.zh-CN.md", "CONTRIBUTING.md", "docs/architecture.md"} {
		if !slices.Contains(found, must) {
			t.Fatalf("%s is missing", must)
		}
	}
	return found
}

func readText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// block is a fenced block of a document.
type block struct {
	language string
	mark     string // what the comment before it says, "from: x" or "file: x"
	lines    []string
	line     int // of the opening fence, from 1
}

var markComment = regexp.MustCompile(`^<!-- ((?:from|file): .*) -->$`)

// split parts a document into its fenced blocks and the prose around them.
func split(t *testing.T, path string) (blocks []block, prose []string) {
	t.Helper()
	var open *block
	mark := ""
	for i, line := range strings.Split(readText(t, path), "\n") {
		switch {
		case open == nil && strings.HasPrefix(line, "```"):
			open = &block{language: line[3:], mark: mark, line: i + 1}
		case open != nil && line == "```":
			blocks = append(blocks, *open)
			open = nil
		case open != nil:
			open.lines = append(open.lines, line)
		default:
			prose = append(prose, line)
			if m := markComment.FindStringSubmatch(line); m != nil {
				mark = m[1]
				continue // it holds for the next block
			}
			if strings.TrimSpace(line) == "" {
				continue
			}
		}
		mark = ""
	}
	if open != nil {
		t.Fatalf("%s:%d: the block has no end", path, open.line)
	}
	return blocks, prose
}

// marked returns the value of a block's mark of one kind.
func (b *block) marked(kind string) (string, bool) { return strings.CutPrefix(b.mark, kind+": ") }

func TestEveryBlockIsOfAKindThatIsChecked(t *testing.T) {
	for _, path := range documents(t) {
		blocks, _ := split(t, path)
		for _, b := range blocks {
			_, file := b.marked("file")
			_, from := b.marked("from")
			switch {
			case file, b.language == "console", b.language == "sh", b.language == "text":
			case b.language == "go" && from:
			case path == "docs/changes/README.md":
			default:
				t.Errorf("%s:%d: a block of language %q is not checked by anything", path, b.line, b.language)
			}
		}
	}
}

func TestExcerptsAreInTheTree(t *testing.T) {
	for _, path := range documents(t) {
		blocks, _ := split(t, path)
		for _, b := range blocks {
			from, ok := b.marked("from")
			if !ok {
				continue
			}
			rest := squeeze(strings.Split(readText(t, from), "\n"))
			for _, want := range squeeze(b.lines) {
				if want == "// ..." {
					continue
				}
				i := slices.Index(rest, want)
				if i < 0 {
					t.Errorf("%s:%d: %s has no line, or not in this order:\n%s", path, b.line, from, want)
					break
				}
				rest = rest[i+1:]
			}
		}
	}
}

// squeeze drops blank lines and makes runs of blanks one, since an excerpt
// need not be aligned with lines that it leaves out.
func squeeze(lines []string) []string {
	var out []string
	for _, line := range lines {
		if words := strings.Fields(line); len(words) > 0 {
			out = append(out, strings.Join(words, " "))
		}
	}
	return out
}

func TestCommandsThatAreNotRunNameWhatExists(t *testing.T) {
	makefile := readText(t, "Makefile")
	fuzzTarget := regexp.MustCompile(`Fuzz\w+`)
	for _, path := range documents(t) {
		blocks, _ := split(t, path)
		for _, b := range blocks {
			if b.language != "sh" {
				continue
			}
			for _, line := range b.lines {
				line, _, _ = strings.Cut(line, " #")
				words := strings.Fields(line)
				if len(words) == 0 {
					continue
				}
				switch words[0] {
				case "git", "cd":
					continue
				case "make":
					for _, target := range words[1:] {
						if !strings.Contains(target, "=") && !strings.Contains(makefile, "\n"+target+":") {
							t.Errorf("%s:%d: no target %s", path, b.line, target)
						}
					}
					continue
				case "go", "gofmt", "tools/cores/build-cores.sh", ".ci/run":
				default:
					t.Errorf("%s:%d: %q is neither run nor checked", path, b.line, line)
				}
				for _, word := range words {
					if dir, ok := strings.CutPrefix(word, "./"); ok && word != "./..." {
						if _, err := os.Stat(filepath.Join(root, strings.TrimSuffix(dir, "/..."))); err != nil {
							t.Errorf("%s:%d: no package %s", path, b.line, word)
						}
						if name := fuzzTarget.FindString(line); name != "" && !hasTest(t, dir, name) {
							t.Errorf("%s:%d: no target %s in %s", path, b.line, name, word)
						}
					}
				}
			}
		}
	}
}

func hasTest(t *testing.T, dir, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(files, func(path string) bool {
		text, err := os.ReadFile(path)
		return err == nil && strings.Contains(string(text), "func "+name+"(")
	})
}

var (
	inlineLink  = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	htmlLink    = regexp.MustCompile(`(?:src|srcset|href)="([^"]+)"`)
	codeSpan    = regexp.MustCompile("`[^`]*`")
	headingLine = regexp.MustCompile(`^#{1,6} (.+)$`)
)

func TestLinksLeadSomewhere(t *testing.T) {
	for _, path := range documents(t) {
		_, prose := split(t, path)
		text := codeSpan.ReplaceAllString(strings.Join(prose, "\n"), "")
		links := append(inlineLink.FindAllStringSubmatch(text, -1), htmlLink.FindAllStringSubmatch(text, -1)...)
		for _, link := range links {
			target, anchor, _ := strings.Cut(link[1], "#")
			if strings.HasPrefix(target, "https://") {
				continue // the tests reach no network
			}
			file := path
			if target != "" {
				file = filepath.ToSlash(filepath.Join(filepath.Dir(path), target))
			}
			if _, err := os.Stat(filepath.Join(root, file)); err != nil {
				t.Errorf("%s: the link to %s leads nowhere", path, link[1])
				continue
			}
			if anchor != "" && !slices.Contains(anchors(t, file), anchor) {
				t.Errorf("%s: %s has no heading for #%s", path, file, anchor)
			}
		}
	}
}

// anchors are the names that a forge gives to the headings of a document.
func anchors(t *testing.T, path string) []string {
	t.Helper()
	_, prose := split(t, path)
	var found []string
	for _, line := range prose {
		if m := headingLine.FindStringSubmatch(line); m != nil {
			name := strings.Map(func(r rune) rune {
				switch {
				case r == ' ':
					return '-'
				case r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 0x80 && !strings.ContainsRune("，。：；？！（）「」、", r):
					return r
				}
				return -1
			}, strings.ToLower(m[1]))
			found = append(found, name)
		}
	}
	return found
}

func TestTheReadmesHaveTheSameCommands(t *testing.T) {
	commands := func(path string) (out []string) {
		blocks, _ := split(t, path)
		for _, b := range blocks {
			for _, line := range b.lines {
				if b.language == "sh" {
					line, _, _ = strings.Cut(line, " #") // the comment is in the reader's language
					out = append(out, strings.TrimSpace(line))
				}
				if b.language == "console" || b.language == "go" {
					out = append(out, line)
				}
			}
		}
		return out
	}
	english, chinese := commands("README.md"), commands("README.zh-CN.md")
	if !slices.Equal(english, chinese) {
		t.Errorf("README.md:\n%s\n\nREADME.zh-CN.md:\n%s", strings.Join(english, "\n"), strings.Join(chinese, "\n"))
	}
	if !slices.Contains(english, "go test ./...") {
		t.Error("the README does not say how the tests are run")
	}
}

// Names of hosts and addresses that documentation may use, by RFC 2606 and
// RFC 5737, and the program's own.
var (
	address     = regexp.MustCompile(`[a-z][a-z0-9+.]*://(?:[^\s/@'"<>` + "`" + `]*@)?([^\s/:?#'"()<>\]` + "`" + `]+|\[[0-9a-f:]+\])`)
	exampleHost = regexp.MustCompile(`^(127\.0\.0\.1|192\.0\.2\.\d+|198\.51\.100\.\d+|203\.0\.113\.\d+|\[2001:db8:[0-9a-f:]*\]|([a-z0-9-]+\.)*example\.(com|net|org)|\.\.\.)$`)
)

func TestExamplesNameOnlyHostsForDocumentation(t *testing.T) {
	for _, path := range documents(t) {
		blocks, _ := split(t, path)
		for _, b := range blocks {
			if b.language == "sh" || b.language == "go" {
				continue // commands on this tree, and excerpts of it
			}
			for _, m := range address.FindAllStringSubmatch(strings.Join(b.lines, "\n"), -1) {
				if !exampleHost.MatchString(m[1]) {
					t.Errorf("%s:%d: %s is somebody's host", path, b.line, m[0])
				}
			}
		}
	}
}
