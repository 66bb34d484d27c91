// Package skills_test holds the Agent Skill to the program: its front matter to
// the specification of Agent Skills (https://agentskills.io/specification), its
// script to a server that runs, its pages to the script.
package skills_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.yaml.in/yaml/v3"
)

const (
	skill = "sandrone"
	token = "correct-horse-battery"
	node  = "trojan://hunter2@192.0.2.1:443?security=tls#Osaka"
)

func TestFrontMatterIsThatOfAnAgentSkill(t *testing.T) {
	text := readText(t, filepath.Join(skill, "SKILL.md"))
	front, body, ok := strings.Cut(strings.TrimPrefix(text, "---\n"), "\n---\n")
	if !ok || !strings.HasPrefix(text, "---\n") {
		t.Fatal("SKILL.md does not begin with front matter")
	}
	var f struct {
		Name          string
		Description   string
		License       string
		Compatibility string
	}
	dec := yaml.NewDecoder(strings.NewReader(front))
	dec.KnownFields(true) // others would be no part of the specification
	if err := dec.Decode(&f); err != nil {
		t.Fatal(err)
	}
	if f.Name != skill || len(f.Name) > 64 || !regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`).MatchString(f.Name) {
		t.Errorf("name %q, want that of the folder", f.Name)
	}
	if n := len(f.Description); n == 0 || n > 1024 || !strings.Contains(f.Description, "Use when") {
		t.Errorf("the description has %d bytes, want 1 to 1024, and to say when the skill is of use", n)
	}
	if n := len(f.Compatibility); n > 500 {
		t.Errorf("compatibility has %d bytes, want at most 500", n)
	}
	if n := strings.Count(body, "\n"); n > 500 {
		t.Errorf("SKILL.md has %d lines, want at most 500", n)
	}
}

func TestPagesNameCommandsAndFilesThatExist(t *testing.T) {
	known := commands(t)
	named := 0
	for _, page := range pages(t) {
		text := readText(t, page)
		for _, m := range regexp.MustCompile(`sandrone\.py ([a-z-]+)`).FindAllStringSubmatch(text, -1) {
			if named++; m[1] != "--help" && !slices.Contains(known, m[1]) {
				t.Errorf("%s: no command %q", page, m[1])
			}
		}
		for _, m := range regexp.MustCompile("`((?:put|get|list|delete|render|preview|verify|probe|restore|file)-[a-z-]+)").FindAllStringSubmatch(text, -1) {
			if !slices.Contains(known, m[1]) {
				t.Errorf("%s: no command %q", page, m[1])
			}
		}
		for _, m := range regexp.MustCompile(`\]\(([^)#]+)\)`).FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), m[1])); err != nil {
				t.Errorf("%s: %v", page, err)
			}
		}
	}
	if named == 0 {
		t.Error("no page shows a command")
	}
}

// call is one run of the script. The zero status is success.
type call struct {
	args   string
	in     string   // standard input
	status int      // wanted
	want   []string // must stand in standard output, of a refusal in standard error
	route  string   // METHOD /path of the API; where the server has none, the command says so
}

func TestEveryCommandWorksOnARunningServer(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Subscription-Userinfo", "upload=1; download=2; total=30")
		io.WriteString(w, node+"\n")
	}))
	defer upstream.Close()
	s := start(t)
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	own := write("own.json", `{"name":"own","type":"local","content":"`+node+`","processors":[{"type":"sort"}]}`)
	air := write("air.json", `{"name":"air","type":"remote","remote":{"url":"`+upstream.URL+`/sub?token=planted"}}`)
	notes := write("notes.json", `{"name":"notes.txt","kind":"static","source":{"type":"inline","content":"hello\n"}}`)
	mihomo := write("mihomo.json", `{"name":"m.yaml","kind":"mihomo","source":{},"config":{"subscriptions":["own"]}}`)
	settings := write("settings.json", `{"kind":"mihomo","settings":{"groups":[{"name":"Proxy","type":"select","proxies":["$nodes"]}]},"regions":["hk"]}`)
	pattern, names := write("pattern.txt", "^(O)(.*)\n"), write("names.txt", "Osaka\nTokyo\n")
	out := filepath.Join(dir, "out.txt")

	covered := make(map[string]bool)
	api := s.routes(t)
	run := func(c call) (stdout, stderr string) {
		t.Helper()
		args := strings.Fields(c.args)
		covered[args[0]] = true
		stdout, stderr, status := s.run(t, c.in, args...)
		want, shown := c.status, stdout
		if c.route != "" && !api[c.route] {
			want, c.want = 1, []string{`"not_implemented"`}
		}
		if want != 0 {
			shown = stderr
		}
		if status != want {
			t.Errorf("%s: status %d, want %d\n%s%s", c.args, status, want, stdout, stderr)
			return stdout, stderr
		}
		for _, w := range c.want {
			if !strings.Contains(shown, w) {
				t.Errorf("%s: got\n%s\nwithout %s", c.args, shown, w)
			}
		}
		return stdout, stderr
	}
	all := func(calls ...call) {
		t.Helper()
		for _, c := range calls {
			run(c)
		}
	}

	all(
		call{args: "health", want: []string{`"ok": true`}},
		call{args: "version", want: []string{`"name": "sandrone"`}},
		call{args: "inspect", want: []string{`"scope": "owner"`}},
		call{args: "formats", want: []string{`"mihomo-proxies"`}},
		call{args: "formats render mihomo-proxies", want: []string{`"lossy": [`}},
		call{args: "formats render nonsense", status: 1, want: []string{`"invalid_argument"`}},
		call{args: "processors", want: []string{`"resolve_domain"`}},
		call{args: "processors nodes filter", want: []string{`"params_schema"`}},
		call{args: "file-kinds", want: []string{`"static"`}},
		call{args: "file-kinds static", want: []string{`"source_rules"`}},
		call{args: "schema", want: []string{`/v1/schemas/subscription`}},
		call{args: "schema subscription", want: []string{`"render_cache_ttl_seconds"`}},
		call{args: "schema file-spec", want: []string{`"config"`}},
		call{args: "schema script-api", want: []string{`"version"`}},
		call{args: "openapi", want: []string{`"openapi": "3.1`}},
		call{args: "presets mihomo --locale zh-CN", route: "get /v1/presets", want: []string{`"templates"`}},
		call{args: "add-preset -", route: "post /v1/presets/add", in: `{"kind":"mihomo","preset":"linux-tun-acceleration","processors":[{"type":"merge","name":"mine"}]}`, want: []string{`"added": [`, `"linux-tun-acceleration"`, `auto-redirect`, `"name": "mine"`}},
		call{args: "add-preset -", route: "post /v1/presets/add", in: `{"kind":"mihomo","preset":"nonsense"}`, status: 1, want: []string{`"field": "preset"`}},
		call{args: "group-by-region " + settings, route: "post /v1/presets/regions", want: []string{`"Hong Kong",`, `"problems": []`}},
		call{args: "group-by-region -", route: "post /v1/presets/regions", in: `{"kind":"mihomo","settings":{},"regions":["hk"]}`, want: []string{`"anchor_missing"`}},
		call{args: "rule-sets mihomo", route: "get /v1/rule-set-catalog", want: []string{`"rule_kind"`}},

		call{args: "put-subscription " + own + " --if-absent", want: []string{`"ok": true`}},
		call{args: "put-subscription " + own + " --if-absent", status: 1, want: []string{`"conflict"`}},
		call{args: "put-subscription -", in: readText(t, air), want: []string{`"ok": true`}},
		call{args: "put-subscription -", in: `{"name":"x","type":"local","content":"a","content":"b"}`, status: 1, want: []string{`"field": "content"`}},
		call{args: "list-subscriptions", want: []string{`"name": "own"`, `"name": "air"`}},
		call{args: "preview-subscription own --target sip008 --refresh --arg a=b", want: []string{`"after_count": 1`, `"loss"`, `"steps"`}},
		call{args: "preview-draft - --no-trace", in: readText(t, own), want: []string{`"after_count": 1`}},
		call{args: "render-subscription own mihomo-proxies", want: []string{`name: Osaka`}},
		call{args: "render-subscription own nonsense", status: 1, want: []string{`"field": "format"`}},
		call{args: "traffic air --refresh", want: []string{`"total_bytes": 30`}},
		call{args: "probe-subscription own --method tcp_connect --timeout-ms 1 --concurrency 1 --attempts 1", want: []string{`"summary"`}},
		call{args: "probe-subscription gone", status: 1, want: []string{`"not_found"`}},

		call{args: "put-file " + notes, want: []string{`"ok": true`}},
		call{args: "list-files", want: []string{`"name": "notes.txt"`}},
		call{args: "get-file notes.txt", want: []string{`"kind": "static"`}},
		call{args: "render-file notes.txt --refresh --arg a=b", want: []string{`"body": "hello\n"`, `"report"`}},
		call{args: "file-source notes.txt", want: []string{`"body": "hello\n"`}},
		call{args: "verify-file notes.txt", status: 1, route: "post /v1/files/{name}/verify", want: []string{`"invalid_argument"`}},
		call{args: "preview-file-draft " + mihomo + " --mode render", route: "post /v1/preview/file", want: []string{`Osaka`}},

		call{args: "convert --to uri-list --content -", in: node, want: []string{"hunter2@192.0.2.1:443", "#Osaka"}},
		call{args: "convert --to uri-list --from uri-list --content " + names, status: 1, want: []string{`"parse_failed"`}},
		call{args: "convert --to uri-list --url-file -", in: upstream.URL + "/x?token=planted\n", want: []string{"hunter2@192.0.2.1:443", "#Osaka"}},
		call{args: "convert --request -", in: `{"to_format":"uri-list","from_format":"auto","content":"` + node + `"}`, want: []string{"hunter2@192.0.2.1:443", "#Osaka"}},
		call{args: "convert --request - --to uri-list", in: "{}", status: 2, want: []string{`"usage"`}},
		call{args: "convert --to uri-list", status: 2, want: []string{`"usage"`}},
		call{args: "diagnose -", in: `{"subscription":"own"}`, want: []string{`"stages"`}},
		call{args: "diagnose -", in: `not json`, status: 2, want: []string{`"usage"`}},
		call{args: "test-regex " + pattern + " " + names + " --replacement $2$1", want: []string{`"replaced": "sakaO"`}},

		call{args: "list-shares", want: []string{`"shares"`}},
		call{args: "get-share sh_x", status: 1, want: []string{`"not_found"`}},
	)

	// A definition is read, written back with its tag, deleted and restored.
	_, said := run(call{args: "get-subscription own", want: []string{`"name": "own"`}})
	tag := strings.TrimSpace(strings.TrimPrefix(said, "etag:"))
	all(
		call{args: `put-subscription - --if-match "old"`, in: readText(t, own), status: 1, want: []string{`"precondition_failed"`}},
		call{args: "put-subscription - --if-match " + tag, in: strings.Replace(readText(t, own), "sort", "shuffle", 1), want: []string{`"ok": true`}},
		call{args: "delete-subscription own --if-match " + tag, status: 1, want: []string{`"precondition_failed"`}},
		call{args: "delete-subscription own", want: []string{`"ok": true`}},
		call{args: "delete-file notes.txt", want: []string{`"ok": true`}},
		call{args: "get-file notes.txt", status: 1, want: []string{`"not_found"`}},
	)
	listed, _ := run(call{args: "list-revisions subscription --name own --deleted --limit 1"})
	var page struct{ Items []struct{ ID string } }
	if err := json.Unmarshal([]byte(listed), &page); err != nil || len(page.Items) != 1 {
		t.Fatalf("got revisions %s, %v", listed, err)
	}
	all(
		call{args: "get-revision " + page.Items[0].ID, want: []string{`"op": "delete"`, `shuffle`}},
		call{args: "restore-revision " + page.Items[0].ID, want: []string{`"name": "own"`}},
	)

	shown, _ := run(call{args: "render-subscription own uri-list --output " + out, want: []string{`"bytes": `, `"report"`}})
	if strings.Contains(shown, "hunter2") || !strings.Contains(readText(t, out), "hunter2@192.0.2.1:443") {
		t.Errorf("got %s and the document %s", shown, readText(t, out))
	}
	if info, err := os.Stat(out); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("got %v, %v, want a document for its owner only", info.Mode(), err)
	}

	for _, name := range commands(t) {
		if !covered[name] {
			t.Errorf("no case runs %q", name)
		}
	}
}

func TestScriptSaysWhatIsWrongWithoutTheToken(t *testing.T) {
	s := start(t)
	elsewhere := 0
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { elsewhere++ }))
	defer other.Close()
	odd := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/healthz" {
			http.Redirect(w, r, other.URL, http.StatusFound)
			return
		}
		w.WriteHeader(http.StatusBadGateway)
		io.WriteString(w, "<html>"+r.Header.Get("Authorization"))
	}))
	defer odd.Close()
	closed := httptest.NewServer(nil)
	closed.Close()
	for _, c := range []struct {
		name, url, token, args string
		status                 int
		want                   string
	}{
		{"no address", "", token, "health", 2, "SANDRONE_URL is not set"},
		{"address with a secret", "http://u:planted@127.0.0.1:1", token, "health", 2, "without user"},
		{"no address at all", "sandrone", token, "health", 2, "http or https address"},
		{"token of two lines", s.address, "planted\nx", "health", 2, "SANDRONE_TOKEN"},
		{"wrong token", s.address, "planted", "inspect", 1, `"code": "unauthorized"`},
		{"nobody there", closed.URL, token, "health", 3, `"code": "unreachable"`},
		{"redirect", odd.URL, token, "health", 1, `"code": "http_302"`},
		{"answer of a proxy", odd.URL, token, "inspect", 1, `"code": "http_502"`},
		{"unknown command", s.address, token, "teleport", 2, "invalid choice"},
		{"no command", s.address, token, "", 2, "usage:"},
		{"file that is not there", s.address, token, "put-file /nonexistent/x.json", 2, "cannot read"},
	} {
		t.Run(c.name, func(t *testing.T) {
			stdout, stderr, status := (&live{address: c.url, token: c.token}).run(t, "", strings.Fields(c.args)...)
			if status != c.status || !strings.Contains(stderr, c.want) {
				t.Errorf("got status %d and %s, want %d and %s", status, stderr, c.status, c.want)
			}
			if all := stdout + stderr; strings.Contains(all, token) || strings.Contains(all, "planted") {
				t.Errorf("a secret is shown: %s", all)
			}
		})
	}
	if elsewhere != 0 {
		t.Error("the script followed a redirect")
	}
}

// TestTheCommandLineDoesWhatTheOtherTestsSee holds the shared process of
// [live.run] to the script as it is started by an agent.
func TestTheCommandLineDoesWhatTheOtherTestsSee(t *testing.T) {
	s := start(t)
	closed := httptest.NewServer(nil)
	closed.Close()
	const definition = `{"name":"own","type":"local","content":"` + node + `"}`
	for _, c := range []struct {
		name, url, args, in string
		status              int
	}{
		{"help", "", "--help", "", 0},
		{"help on a command", "", "convert --help", "", 0},
		{"stored", s.address, "put-subscription -", definition, 0},
		{"answer and tag", s.address, "get-subscription own", "", 0},
		{"text that is not ASCII", s.address, "test-regex - " + filepath.Join(skill, "SKILL.md"), "香港|…", 0},
		{"refused", s.address, "put-subscription - --if-absent", definition, 1},
		{"used wrongly", s.address, "convert --to uri-list", "", 2},
		{"input that is not UTF-8", s.address, "convert --to uri-list --content -", "\xff", 2},
		{"unknown command", s.address, "teleport", "", 2},
		{"no command", s.address, "", "", 2},
		{"nobody there", closed.URL, "health", "", 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, args := &live{c.url, token}, strings.Fields(c.args)
			stdout, stderr, status := l.start(t, c.in, args...)
			if status != c.status || stdout+stderr == "" {
				t.Errorf("got status %d, want %d\n%s%s", status, c.status, stdout, stderr)
			}
			out, said, code := l.run(t, c.in, args...)
			if out != stdout || said != stderr || code != status {
				t.Errorf("started: status %d\n%s%s\nin the shared process: status %d\n%s%s", status, stdout, stderr, code, out, said)
			}
		})
	}
}

// live is a server that runs, as the script is told of it.
type live struct{ address, token string }

// run has the shared process run the script. What it prints and how it exits
// is what [live.start] does.
func (l *live) run(t testing.TB, in string, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	python(t)
	s, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"SANDRONE_URL": l.address, "SANDRONE_TOKEN": l.token}
	return s.run(t, in, append([]string{}, args...), env)
}

// host runs the script that its argument names, command after command. A
// command is a line of JSON: arguments, standard input in base64, environment.
// So is the answer: standard output, standard error, status.
const host = `
import base64, importlib.util, io, json, sys, traceback

spec = importlib.util.spec_from_file_location("script", sys.argv[1])
script = importlib.util.module_from_spec(spec)
spec.loader.exec_module(script)
commands, answers = sys.stdin.buffer, sys.stdout
for line in commands:
    args, given, environment = json.loads(line)
    files = [io.TextIOWrapper(io.BytesIO(b), encoding="utf-8") for b in (base64.b64decode(given), b"", b"")]
    sys.stdin, sys.stdout, sys.stderr = files
    try:
        status = script.main(args, environment)
    except SystemExit as e:
        status = e.code or 0
    except BaseException:
        traceback.print_exc()
        status = 1
    sys.stdin, sys.stdout, sys.stderr = sys.__stdin__, sys.__stdout__, sys.__stderr__
    said = []
    for f in files[1:]:
        f.flush()
        said.append(f.buffer.getvalue().decode("utf-8"))
    print(json.dumps(said + [status]), file=answers, flush=True)
`

// process is a Python that holds the script and runs it as often as it is
// asked to: starting one takes longer than most commands.
type process struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	answers *json.Decoder
}

// shared starts the process of all tests.
var shared = sync.OnceValues(func() (*process, error) {
	p := &process{cmd: exec.Command(interpreter(), "-S", "-c", host, filepath.Join(skill, "scripts", "sandrone.py"))}
	p.cmd.Env = environment()
	p.cmd.Stderr = os.Stderr
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.in, p.answers = in, json.NewDecoder(out)
	return p, p.cmd.Start()
})

// run runs one command; only one does so at a time.
func (p *process) run(t testing.TB, in string, args []string, env map[string]string) (stdout, stderr string, status int) {
	t.Helper()
	if err := json.NewEncoder(p.in).Encode([]any{args, []byte(in), env}); err != nil {
		t.Fatal(err)
	}
	if err := p.answers.Decode(&[]any{&stdout, &stderr, &status}); err != nil {
		t.Fatal(err)
	}
	return stdout, stderr, status
}

// environment is that of the tests without the settings of a server.
func environment() []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "SANDRONE_") })
	return append(env, "PYTHONDONTWRITEBYTECODE=1")
}

// start runs the script as a process of its own.
func (l *live) start(t testing.TB, in string, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	// -S: no packages of the machine, which also saves most of the start.
	cmd := exec.CommandContext(t.Context(), python(t), append([]string{"-S", filepath.Join(skill, "scripts", "sandrone.py")}, args...)...)
	cmd.Env = append(environment(), "SANDRONE_URL="+l.address, "SANDRONE_TOKEN="+l.token)
	var out, said bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(in), &out, &said
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return out.String(), said.String(), cmd.ProcessState.ExitCode()
}

// routes are the routes of the server, as "method /path".
func (l *live) routes(t testing.TB) map[string]bool {
	t.Helper()
	text, said, status := l.run(t, "", "openapi")
	var doc struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal([]byte(text), &doc); err != nil || status != 0 {
		t.Fatalf("no OpenAPI document: %v, %s", err, said)
	}
	found := make(map[string]bool)
	for path, methods := range doc.Paths {
		for method := range methods {
			found[method+" "+path] = true
		}
	}
	return found
}

// interpreter is the path of a Python that the script can use, or empty.
var interpreter = sync.OnceValue(func() string {
	for _, name := range []string{"python3", "python"} {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		// What is in the path may be a script that looks for the interpreter.
		if own, err := exec.Command(path, "-c", "import sys; sys.version_info < (3, 8) or print(sys.executable)").Output(); err == nil && len(own) > 0 {
			return strings.TrimSpace(string(own))
		}
	}
	return ""
})

// python skips the test where there is no interpreter, and fails it where
// everything must be there.
func python(t testing.TB) string {
	t.Helper()
	path := interpreter()
	if path == "" {
		const reason = "no Python 3.8 or newer, which the script of the skill needs"
		if os.Getenv("CI") == "true" {
			t.Fatal(reason)
		}
		t.Skip(reason)
	}
	return path
}

// commands are those that the help of the script lists.
func commands(t testing.TB) []string {
	t.Helper()
	help, said, status := new(live).run(t, "", "--help")
	_, list, ok := strings.Cut(help, "\ncommands:\n")
	if status != 0 || !ok {
		t.Fatalf("no list of commands: %s%s", help, said)
	}
	var names []string
	for _, m := range regexp.MustCompile(`(?m)^    ([a-z][a-z-]*)\b`).FindAllStringSubmatch(list, -1) {
		names = append(names, m[1])
	}
	if len(names) == 0 {
		t.Fatalf("no commands in %s", help)
	}
	return names
}

// built is the directory of the program, which ends with the tests.
var built string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "sandrone-skill-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	built = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// program builds the program, once, and returns its path.
var program = sync.OnceValues(func() (string, error) {
	path := filepath.Join(built, "sandrone")
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	out, err := exec.Command("go", "build", "-C", "..", "-tags", "noui", "-o", path, "./cmd/sandrone").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, nil
})

// start serves from an empty directory until the test ends.
func start(t *testing.T) *live {
	t.Helper()
	python(t)
	program, err := program()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "serve", "--listen", "127.0.0.1:0", "--data-dir", t.TempDir(), "--allow-host", "127.0.0.1")
	cmd.Env = append(os.Environ(), "SANDRONE_TOKEN="+token)
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		if _, address, ok := strings.Cut(lines.Text(), `msg="starting HTTP API" listen=`); ok {
			go io.Copy(io.Discard, log)
			return &live{"http://" + address, token}
		}
	}
	t.Fatal("the server did not start")
	return nil
}

// pages are the texts of the skill.
func pages(t testing.TB) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(skill, func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".md") {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil || len(paths) < 3 {
		t.Fatal(fmt.Sprint(paths, err))
	}
	return paths
}

func readText(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
