package docs_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"
)

// documented is the address that documents give the server.
const documented = "127.0.0.1:1137"

// buildDir is where the program is built; it ends with the tests.
var buildDir string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "sandrone-docs-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	buildDir = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// program builds the program, once, and returns its path.
var program = sync.OnceValues(func() (string, error) {
	path := filepath.Join(buildDir, "sandrone")
	out, err := exec.Command("go", "build", "-C", root, "-o", path, "./cmd/sandrone").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, nil
})

func TestSessionsShowWhatHappens(t *testing.T) {
	for _, path := range documents(t) {
		blocks, _ := split(t, path)
		if !slices.ContainsFunc(blocks, func(b block) bool { return b.language == "console" }) {
			continue
		}
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			s := newSession(t)
			for _, b := range blocks {
				if name, ok := b.marked("file"); ok {
					s.writeFile(name, b.lines)
				}
				if b.language == "console" {
					s.run(path, b)
				}
			}
		})
	}
}

// session is the shell of one document.
type session struct {
	t       *testing.T
	dir     string
	program string
	shell   *interp.Runner
	output  transcript // of the running command, both streams
	server  *process
}

// transcript collects what the processes of a command line print.
type transcript struct {
	mu   sync.Mutex
	text []byte
}

func (o *transcript) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text = append(o.text, p...)
	return len(p), nil
}

func (o *transcript) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.text)
}

func (o *transcript) set(text string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text = []byte(text)
}

func newSession(t *testing.T) *session {
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	s := &session{t: t, dir: t.TempDir(), program: path}
	// Nothing of the machine's own settings may change what an example shows.
	env := []string{"HOME=" + s.dir, "PATH=" + s.dir}
	s.shell, err = interp.New(
		interp.Dir(s.dir),
		interp.Env(expand.ListEnviron(env...)),
		interp.StdIO(nil, &s.output, &s.output),
		interp.ExecHandlers(func(interp.ExecHandlerFunc) interp.ExecHandlerFunc { return s.exec }),
	)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.stop)
	return s
}

func (s *session) writeFile(name string, lines []string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, filepath.Base(name)), []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// run runs the commands of a block and compares what they print.
func (s *session) run(path string, b block) {
	s.t.Helper()
	failed := ""
	for i := 0; i < len(b.lines); {
		line := b.line + 1 + i
		command, ok := strings.CutPrefix(b.lines[i], "$ ")
		if !ok {
			s.t.Fatalf("%s:%d: output of no command", path, line)
		}
		for i++; strings.HasSuffix(command, `\`) && i < len(b.lines); i++ {
			command += "\n" + b.lines[i]
		}
		var want []string
		for ; i < len(b.lines) && !strings.HasPrefix(b.lines[i], "$ "); i++ {
			want = append(want, b.lines[i])
		}

		status := command == "echo $?"
		if failed != "" && !status {
			s.t.Fatalf("%s:%d: the command fails, and the document does not say so: %s\n%s", path, line, failed, s.output.String())
		}
		if !status {
			failed = ""
		}
		if status && failed != "" {
			s.output.set(failed)
			failed = ""
		} else if code := s.command(command); code != 0 {
			failed = fmt.Sprint(code)
		}
		if got := s.printed(); !expected(want).MatchString(got) {
			s.t.Errorf("%s:%d: %s\ngot:\n%s\nwant:\n%s", path, line, command, head(got), strings.Join(want, "\n"))
		}
	}
	if failed != "" {
		s.t.Fatalf("%s:%d: the last command fails with %s, and the document does not say so\n%s", path, b.line, failed, s.output.String())
	}
}

// command runs one command line and returns its exit status. Its output is in
// s.output.
func (s *session) command(text string) int {
	s.t.Helper()
	s.output.set("")
	file, err := syntax.NewParser().Parse(strings.NewReader(text), "")
	if err != nil {
		s.t.Fatalf("%s: %v", text, err)
	}
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	err = s.shell.Run(ctx, file)
	if status, ok := errors.AsType[interp.ExitStatus](err); ok {
		return int(status)
	}
	if err != nil {
		s.t.Fatalf("%s: %v", text, err)
	}
	return 0
}

// head is as much of a text as a message shows.
func head(text string) string {
	const most = 4000
	if len(text) > most {
		return text[:most] + "\n(and more)"
	}
	return text
}

// printed is the output of the last command as the document would show it.
func (s *session) printed() string {
	text := s.output.String()
	if s.server != nil {
		text = strings.ReplaceAll(text, s.server.address, documented)
	}
	text = strings.ReplaceAll(text, "\r\n", "\n")
	return strings.TrimRight(text, "\n")
}

// expected turns lines of a document into what must match the whole output.
func expected(lines []string) *regexp.Regexp {
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	var b strings.Builder
	b.WriteString(`\A`)
	for i, line := range lines {
		if line == "..." {
			b.WriteString(`(?:.*\n)*?`)
			if i == len(lines)-1 {
				b.WriteString(`.*`)
			}
			continue
		}
		for j, part := range strings.Split(line, "...") {
			if j > 0 {
				b.WriteString(`.*`)
			}
			b.WriteString(regexp.QuoteMeta(part))
		}
		if i < len(lines)-1 {
			b.WriteString(`\n`)
		}
	}
	b.WriteString(`\z`)
	return regexp.MustCompile(b.String())
}

// exec runs the programs that documents use: this one, also as "go run", and
// the part of curl that the examples need.
func (s *session) exec(ctx context.Context, args []string) error {
	if s.server != nil {
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], documented, s.server.address)
		}
	}
	hc := interp.HandlerCtx(ctx)
	switch {
	case len(args) >= 3 && args[0] == "go" && args[1] == "run" && args[2] == "./cmd/sandrone":
		args = args[2:]
		fallthrough
	case args[0] == "sandrone":
		if len(args) > 1 && args[1] == "serve" && !slices.Contains(args, "--help") {
			return s.serve(hc, args[1:])
		}
		cmd := exec.CommandContext(ctx, s.program, args[1:]...)
		cmd.Dir, cmd.Env = hc.Dir, environment(hc)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = hc.Stdin, hc.Stdout, hc.Stderr
		err := cmd.Run()
		if e, ok := errors.AsType[*exec.ExitError](err); ok {
			return interp.ExitStatus(e.ExitCode())
		}
		return err
	case args[0] == "curl":
		return curl(ctx, hc, args[1:])
	case args[0] == "cat" && len(args) == 2:
		text, err := os.ReadFile(filepath.Join(hc.Dir, args[1]))
		if err != nil {
			return err
		}
		_, err = hc.Stdout.Write(text)
		return err
	}
	return fmt.Errorf("the documents may not use %s", args[0])
}

func environment(hc interp.HandlerContext) (env []string) {
	hc.Env.Each(func(name string, v expand.Variable) bool {
		if v.Exported && v.Kind == expand.String {
			env = append(env, name+"="+v.Str)
		}
		return true
	})
	return env
}

// process is a running "sandrone serve".
type process struct {
	cmd     *exec.Cmd
	address string
	done    chan error
}

// serve starts the server on a free port in place of the one before, and
// prints what it logs at its start. One that refuses to start fails.
func (s *session) serve(hc interp.HandlerContext, args []string) error {
	s.stop()
	cmd := exec.Command(s.program, args...)
	cmd.Dir, cmd.Env = hc.Dir, environment(hc)
	if !slices.Contains(args, "--listen") {
		cmd.Env = append(cmd.Env, "SANDRONE_LISTEN=127.0.0.1:0")
	}
	log, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	started := &process{cmd: cmd, done: make(chan error, 1)}
	lines := bufio.NewReader(log)
	for {
		line, err := lines.ReadString('\n')
		io.WriteString(hc.Stderr, line)
		if err != nil {
			if e, ok := errors.AsType[*exec.ExitError](cmd.Wait()); ok {
				return interp.ExitStatus(e.ExitCode())
			}
			return errors.New("the server ended before it listened")
		}
		if _, address, ok := strings.Cut(line, " listen="); ok && strings.Contains(line, "starting HTTP API") {
			started.address = strings.TrimSpace(address)
			break
		}
	}
	s.server = started
	go func() {
		io.Copy(io.Discard, lines)
		started.done <- cmd.Wait()
	}()
	return nil
}

// stop ends the server as an operator does, which must succeed.
func (s *session) stop() {
	if s.server == nil {
		return
	}
	s.server.cmd.Process.Signal(os.Interrupt)
	if err := <-s.server.done; err != nil {
		s.t.Errorf("the server ended with %v", err)
	}
	s.server = nil
}

// curl is as much of that program as the documents use, so that their examples
// are checked on machines without it.
func curl(ctx context.Context, hc interp.HandlerContext, args []string) error {
	var (
		method, address string
		header          = http.Header{}
		data            []string
		get, head       bool
	)
	for i := 0; i < len(args); i++ {
		value := func() string {
			if i++; i == len(args) {
				return ""
			}
			return args[i]
		}
		switch arg := args[i]; arg {
		case "-s":
		case "-i", "-si":
			head = true
		case "-sG", "-G":
			get = true
		case "-siG":
			get, head = true, true
		case "-X":
			method = value()
		case "-H":
			name, v, _ := strings.Cut(value(), ":")
			header.Set(name, strings.TrimSpace(v))
		case "-d":
			text := value()
			if name, ok := strings.CutPrefix(text, "@"); ok {
				body, err := os.ReadFile(filepath.Join(hc.Dir, name))
				if err != nil {
					return err
				}
				text = strings.NewReplacer("\r", "", "\n", "").Replace(string(body))
			}
			data = append(data, text)
		case "--data-urlencode":
			name, v, _ := strings.Cut(value(), "=")
			data = append(data, name+"="+url.QueryEscape(v))
		default:
			if strings.HasPrefix(arg, "-") || address != "" {
				return fmt.Errorf("the documents may not use curl %s", arg)
			}
			address = arg
		}
	}
	body := strings.Join(data, "&")
	switch {
	case get && body != "":
		address += "?" + body
		body = ""
	case body != "" && method == "":
		method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(body))
	if err != nil {
		return err
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for name, values := range header {
		req.Header[name] = values
	}
	resp, err := new(http.Transport).RoundTrip(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if head {
		fmt.Fprintf(hc.Stdout, "%s %s\r\n", resp.Proto, resp.Status)
		resp.Header.Write(hc.Stdout)
		io.WriteString(hc.Stdout, "\r\n")
	}
	_, err = io.Copy(hc.Stdout, resp.Body)
	return err
}
