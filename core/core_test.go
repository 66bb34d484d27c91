//go:build unix

package core_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/core"
)

// The test binary is every client: it is one when it is started by its name.
func TestMain(m *testing.M) {
	switch filepath.Base(os.Args[0]) {
	case "mihomo", "sing-box", "xray":
		syscall.Exit(client()) // os.Exit waits a second under the race detector
	case "server": // checks a file until it is killed
		_, _ = core.New(core.Options{DataDir: os.Args[1], Getenv: nothing}).Check(context.Background(), "mihomo", "", []byte("# hang "+os.Args[2]+"\n"))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// client behaves as the first line of its file says. Asked for its version, it
// says what the file beside it holds.
func client() int {
	if slices.Contains([]string{"-v", "version"}, os.Args[1]) {
		text, _ := os.ReadFile(os.Args[0] + ".version")
		fmt.Print(string(text))
		return 0
	}
	file := os.Args[len(os.Args)-1]
	text, err := os.ReadFile(file)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	first, rest, _ := strings.Cut(string(text), "\n")
	_, do, _ := strings.Cut(first, "# ")
	switch word, arg, _ := strings.Cut(do, " "); word {
	case "accept":
		fmt.Println("configuration file " + file + " test is successful")
		return 0
	case "refuse": // with the rest of the file as its words
		fmt.Print(strings.ReplaceAll(rest, "FILE", file))
		return 1
	case "silent":
		return 23
	case "environment":
		fmt.Println(strings.Join(os.Environ(), "\n"))
		wd, _ := os.Getwd()
		fmt.Println("WD=" + wd)
		info, _ := os.Stat(wd)
		fmt.Println("MODE=" + info.Mode().String())
		info, _ = os.Stat(file)
		fmt.Println("FILE=" + info.Mode().String())
		return 0
	case "flood":
		line := bytes.Repeat([]byte("x"), 1000)
		for range 20_000 {
			fmt.Println(string(line))
		}
		fmt.Println(`time="2026-01-01T00:00:00Z" level=error msg="after the flood"`)
		return 1
	case "hang": // with a child that has the output, and tells arg who they are
		child := exec.Command("sleep", "1000")
		child.Stdout = os.Stdout
		_ = child.Start()
		c, err := os.Open(arg)
		if err == nil {
			c.Close()
		}
		w, err := os.OpenFile(arg, os.O_WRONLY, 0)
		if err == nil {
			fmt.Fprintln(w, os.Getpid(), child.Process.Pid)
			w.Close()
		}
		select {}
	case "die":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "dial":
		conn, err := net.Dial("tcp", arg)
		if err != nil {
			fmt.Println("unreachable")
			return 0
		}
		conn.Close()
		fmt.Println("reached")
		return 0
	case "eat": // ever more memory, without touching it
		var eaten [][]byte
		for range 1 << 10 {
			eaten = append(eaten, make([]byte, 64<<20))
		}
		fmt.Println(len(eaten))
		return 0
	case "leave": // a child that outlives it
		child := exec.Command("sleep", "1000")
		child.Stdout = os.Stdout
		_ = child.Start()
		fmt.Println("child", child.Process.Pid)
		return 0
	}
	return 2
}

// installed makes the test binary a client below a data directory.
func installed(t *testing.T, name, version string) (dataDir string) {
	t.Helper()
	dataDir = t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cores := filepath.Join(dataDir, "cores")
	if err := errors.Join(os.Mkdir(cores, 0o700), os.Symlink(self, filepath.Join(cores, name)),
		os.WriteFile(filepath.Join(cores, name+".version"), []byte(version), 0o600)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("PATH", "/bin:/usr/bin")
	return dataDir
}

func nothing(string) string { return "" }

// empty tells what is left of runs.
func empty(t *testing.T) {
	t.Helper()
	left, err := os.ReadDir(os.TempDir())
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestCheckGivesTheVerdictOfTheClient(t *testing.T) {
	const mihomo, singbox, xray = "Mihomo Meta v1.19.28 linux amd64 with go1.26", "sing-box version 1.13.14\n\nTags: x", "Xray 26.3.27 (Xray, Penetrates Everything.)"
	for _, test := range []struct {
		name, kind, version, says, text string
		ok                              bool
		core, message                   string
		warning                         string
	}{
		{name: "accepted", kind: "mihomo", version: "1.19", says: mihomo, text: "# accept\n", ok: true, core: "v1.19.28"},
		{name: "accepted without a version asked for", kind: "mihomo", says: mihomo, text: "# accept\n", ok: true, core: "v1.19.28"},
		{name: "newer client", kind: "mihomo", version: "1.18", says: mihomo, text: "# accept\n", ok: true, core: "v1.19.28",
			warning: "the file is written for mihomo 1.18 and was checked by the newer v1.19.28"},
		{name: "older client", kind: "sing-box", version: "1.14", says: singbox, text: "# accept\n", ok: true, core: "1.13.14",
			warning: "the file is written for sing-box 1.14 and was checked by the older 1.13.14"},
		{name: "client without a number", kind: "mihomo", version: "1.19", says: "Mihomo Meta alpha-3f1c5f2", text: "# accept\n", ok: true},
		{name: "refused by mihomo", kind: "mihomo", says: mihomo, core: "v1.19.28",
			text: "# refuse\n" + `time="2026-11-30T22:41:37.235417398Z" level=info msg="Start"
time="2026-11-30T22:41:37.3Z" level=warning msg="old key"
time="2026-11-30T22:41:37.4Z" level=error msg="proxy group[0]: 'Auto': ` + "`use` or `proxies`" + ` missing"
configuration file FILE test failed
`,
			message: "proxy group[0]: 'Auto': `use` or `proxies` missing"},
		{name: "several lines in one", kind: "mihomo", says: mihomo, core: "v1.19.28",
			text:    "# refuse\n" + `time="x" level=error msg="yaml: unmarshal errors:\n  line 3: cannot unmarshal \"x\""` + "\n",
			message: `yaml: unmarshal errors: line 3: cannot unmarshal "x"`},
		{name: "refused by sing-box, in colour", kind: "sing-box", says: singbox, core: "1.13.14",
			text:    "# refuse\n\x1b[33mWARN\x1b[0m[0000] old\n\x1b[31mFATAL\x1b[0m[0000] decode config at FILE: outbounds[0].nosuch: json: unknown field \"nosuch\"\n",
			message: `decode config at config.json: outbounds[0].nosuch: json: unknown field "nosuch"`},
		{name: "refused by Xray", kind: "xray", says: xray, core: "26.3.27",
			text:    "# refuse\nXray 26.3.27\n2026/11/30 22:00:00.1 [Info] infra: reading FILE\nFailed to start: main: failed to load config files: [FILE] > unknown cipher: x\n",
			message: "Failed to start: main: failed to load config files: [config.json] > unknown cipher: x"},
		{name: "refused without an error line", kind: "mihomo", says: mihomo, core: "v1.19.28", text: "# refuse\nusage: mihomo\nbad flag\n", message: "bad flag"},
		{name: "refused without a word", kind: "xray", says: xray, core: "26.3.27", text: "# silent\n", message: "the client said nothing: exit status 23"},
		{name: "killed", kind: "mihomo", says: mihomo, core: "v1.19.28", text: "# die\n", message: "the client said nothing: signal: killed"},
		{name: "a flood", kind: "mihomo", says: mihomo, core: "v1.19.28", text: "# flood\n", message: "after the flood"},
	} {
		t.Run(test.name, func(t *testing.T) {
			cores := core.New(core.Options{DataDir: installed(t, test.kind, test.says), Getenv: nothing})
			v, err := cores.Check(t.Context(), test.kind, test.version, []byte(test.text))
			if err != nil {
				t.Fatal(err)
			}
			if v.OK != test.ok || v.Kind != test.kind || v.Core != test.kind || v.CoreVersion != test.core || v.Message != test.message || v.DurationMS < 1 || len(v.SHA256) != 64 {
				t.Errorf("got %+v, want ok %t, core %q, message %q", v, test.ok, test.core, test.message)
			}
			if len(v.Output) > 8<<10 || strings.Contains(v.Output, os.TempDir()) || strings.Contains(v.Output, "\x1b") || strings.Contains(v.Output, "2026-11") {
				t.Errorf("output of %d bytes: %.2000q", len(v.Output), v.Output)
			}
			var warned string
			for _, w := range v.Warnings {
				warned += w.Message
				if w.Code != sandrone.WarnVerifyVersion {
					t.Errorf("got warning %q", w.Code)
				}
			}
			if warned != test.warning {
				t.Errorf("got warnings %q, want %q", warned, test.warning)
			}
			empty(t)
		})
	}
}

func TestCheckRunsInAnEmptyPrivateDirectoryWithoutTheEnvironment(t *testing.T) {
	dataDir := installed(t, "sing-box", "1.13.14")
	t.Setenv("SANDRONE_TOKEN", "visible")
	t.Setenv("HTTP_PROXY", "http://192.0.2.1:1")
	v, err := core.New(core.Options{DataDir: dataDir, Getenv: nothing}).Check(t.Context(), "sing-box", "", []byte("# environment\n"))
	if err != nil {
		t.Fatal(err)
	}
	// The directory is the current one: its name is not shown.
	if want := "PATH=/bin:/usr/bin\nHOME=.\nWD=.\nMODE=drwx------\nFILE=-rw-------"; strings.Replace(v.Output, "PWD=.\n", "", 1) != want {
		t.Errorf("got %q, want %q", v.Output, want)
	}
}

func TestAClientHasNoNetworkWhereThatCanBeTakenAway(t *testing.T) {
	try := exec.Command("true")
	try.SysProcAttr = core.Offline()
	if err := try.Run(); try.SysProcAttr == nil || err != nil {
		t.Skip("no user namespaces here:", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, online := range []bool{true, false} {
		cores := core.New(core.Options{DataDir: installed(t, "mihomo", "v1.19.28"), Getenv: nothing})
		want := "unreachable"
		if online {
			core.KeepNetwork(cores)
			want = "reached"
		}
		v, err := cores.Check(t.Context(), "mihomo", "", []byte("# dial "+l.Addr().String()+"\n"))
		if err != nil || v.Output != want {
			t.Errorf("online %t: got %+v, %v; want %q", online, v, err, want)
		}
	}
}

func TestCheckRepeatsNoSecretOfTheFile(t *testing.T) {
	const said = `
time="2026-01-01T00:00:00Z" level=error msg="proxy 0: password 'hunter2-hunter2' of \"a\\\\b c\" pin pw, not power: key 12345, 3c8f1d2e-0000-4000-8000-000000000001 from https://u:p@example.com/feed?token=t0ken-value and ss://YWVzOnB3QDE5Mi4wLjIuMQ; cannot unmarshal !!str ` + "`averylo...`" + ` anchored-secret, me:mysecret, mysecret"
# - {name: pin, type: ss, password: hunter2-hunter2}
`
	for name, text := range map[string]string{
		"yaml": "# refuse" + said + `
proxies:
  - {name: pin, password: hunter2-hunter2, obfs-password: 'a\b c', psk: pw, token: 12345, uuid: 3c8f1d2e-0000-4000-8000-000000000001}
  - {name: b, auth-str: averylongsecret, private-key: *s}
x: &s anchored-secret
authentication: ["me:mysecret"]
`,
		// What the client cannot read either is searched line by line.
		"no yaml": "# refuse" + said + `
	password: hunter2-hunter2
	obfs-password: "a\b c"
	psk: pw
	token: 12345
	uuid = 3c8f1d2e-0000-4000-8000-000000000001
	auth-str: averylongsecret
	private-key: anchored-secret
	secret: mysecret
]`,
	} {
		t.Run(name, func(t *testing.T) {
			// The anchor stands above its alias.
			text = strings.Replace(text, "\nx: &s anchored-secret", "", 1)
			text = strings.Replace(text, "\nproxies:", "\nx: &s anchored-secret\nproxies:", 1)
			if name == "yaml" {
				text = strings.Replace(text, "\ntime=", "\n# time=", 1)
				text = strings.Replace(text, "# refuse\n# time", "# refuse\n#time", 1)
			}
			v, err := core.New(core.Options{DataDir: installed(t, "mihomo", "v1.19.28"), Getenv: nothing}).Check(t.Context(), "mihomo", "", []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			for _, secret := range []string{"hunter2", " pw,", "12345", "3c8f1d2e", "t0ken", "u:p", "YWVz", "averylo", "anchored-secret", "mysecret"} {
				if strings.Contains(v.Message, secret) || strings.Contains(v.Output, secret) {
					t.Errorf("%q is in %q or %q", secret, v.Message, v.Output)
				}
			}
			for _, word := range []string{"power", "https://example.com", "ss://…", "pin"} {
				if !strings.Contains(v.Output, word) {
					t.Errorf("%q is not in %q", word, v.Output)
				}
			}
		})
	}
}

func TestCheckEndsAClientThatDoesNotEndWithItsChildren(t *testing.T) {
	for _, test := range []struct {
		name   string
		limit  time.Duration
		cancel bool
	}{
		{"at the time limit", 300 * time.Millisecond, false},
		{"when the caller goes", time.Minute, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			dataDir := installed(t, "mihomo", "v1.19.28")
			pipe := filepath.Join(dataDir, "pids")
			if err := syscall.Mkfifo(pipe, 0o600); err != nil {
				t.Skip("no named pipes here:", err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			pids := make(chan []int, 1)
			go func() {
				// The client opens the pipe twice: for the one that only opens it
				// to read, this is the writer.
				w, err := os.OpenFile(pipe, os.O_RDWR, 0)
				if err != nil {
					pids <- nil
					return
				}
				defer w.Close()
				var p, c int
				_, _ = fmt.Fscan(w, &p, &c)
				pids <- []int{p, c}
				if test.cancel {
					cancel()
				}
			}()
			v, err := core.New(core.Options{DataDir: dataDir, Getenv: nothing, Limit: test.limit}).Check(ctx, "mihomo", "", []byte("# hang "+pipe+"\n"))
			if test.cancel {
				if !errors.Is(err, context.Canceled) {
					t.Errorf("got %v, %v", v, err)
				}
			} else if err != nil || v.OK || v.Message != "the check took longer than 300ms" {
				t.Errorf("got %+v, %v", v, err)
			}
			for _, pid := range <-pids {
				waitGone(t, pid)
			}
			empty(t)
		})
	}
}

func TestAClientEndsWithAKilledServer(t *testing.T) {
	if core.Offline() == nil {
		t.Skip("nothing ends a client with its parent here")
	}
	dataDir := installed(t, "mihomo", "v1.19.28")
	pipe, server := filepath.Join(dataDir, "pids"), filepath.Join(dataDir, "server")
	self, err := os.Executable()
	if err := errors.Join(err, syscall.Mkfifo(pipe, 0o600), os.Symlink(self, server)); err != nil {
		t.Fatal(err)
	}
	run := exec.Command(server, dataDir, pipe)
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	r, err := os.OpenFile(pipe, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var pid, child int
	if _, err := fmt.Fscan(r, &pid, &child); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Kill(child, syscall.SIGKILL) }() // which nobody but the next server looks for
	if err := run.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = run.Wait()
	waitGone(t, pid)
	if n := core.RemoveLeftovers(); n == 0 {
		t.Error("nothing was left to remove")
	}
	empty(t)
}

// waitGone returns when a process has ended, or is one that only waits to be
// collected.
func waitGone(t *testing.T, pid int) {
	t.Helper()
	for t.Context().Err() == nil {
		if err := syscall.Kill(pid, 0); err != nil {
			return
		}
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err == nil && bytes.Contains(stat, []byte(") Z ")) {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

func TestAClientThatTakesTooMuchMemoryIsRefused(t *testing.T) {
	if core.Offline() == nil {
		t.Skip("nothing bounds the memory of a client here")
	}
	v, err := core.New(core.Options{DataDir: installed(t, "mihomo", "v1.19.28"), Getenv: nothing}).Check(t.Context(), "mihomo", "", []byte("# eat\n"))
	if err != nil || v.OK || !strings.Contains(v.Message, "memory") && !strings.Contains(v.Message, "allocate") {
		t.Errorf("got %+v, %v", v, err)
	}
}

func TestChildrenOfAClientDoNotOutliveIt(t *testing.T) {
	v, err := core.New(core.Options{DataDir: installed(t, "mihomo", "v1.19.28"), Getenv: nothing}).Check(t.Context(), "mihomo", "", []byte("# leave\n"))
	if err != nil || !v.OK {
		t.Fatalf("got %+v, %v", v, err)
	}
	var pid int
	if _, err := fmt.Sscanf(v.Output, "child %d", &pid); err != nil {
		t.Fatalf("got %q", v.Output)
	}
	waitGone(t, pid)
	empty(t)
}

func TestCheckWithoutAClient(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	noProgram := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(noProgram, []byte("no program"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, kind, path string
		code             sandrone.Code
	}{
		{"not installed", "mihomo", "", sandrone.ProbeCoreUnavailable},
		{"variable of nothing", "mihomo", "/nowhere", sandrone.ProbeCoreUnavailable},
		{"variable of no program", "mihomo", noProgram, sandrone.ProbeCoreUnavailable},
		{"kind without a checker", "static", "", sandrone.InvalidArgument},
		{"another kind without a checker", "shadowrocket", "", sandrone.InvalidArgument},
	} {
		t.Run(test.name, func(t *testing.T) {
			cores := core.New(core.Options{DataDir: t.TempDir(), Getenv: func(string) string { return test.path }})
			_, err := cores.Check(t.Context(), test.kind, "", nil)
			e := sandrone.AsError(err)
			if err == nil || e.Code != test.code || strings.Contains(e.Message, "/") {
				t.Errorf("got %v, want %s", err, test.code)
			}
		})
	}
}

func TestTheVersionIsAskedOnceForAFile(t *testing.T) {
	dataDir := installed(t, "sing-box", "sing-box version 1.13.14")
	cores := core.New(core.Options{DataDir: dataDir, Getenv: nothing})
	program := filepath.Join(dataDir, "cores", "sing-box")
	version := func() string {
		found, err := cores.Find(t.Context(), "sing-box")
		if err != nil || found.Path != program {
			t.Fatalf("got %+v, %v", found, err)
		}
		return found.Version
	}
	if got := version(); got != "1.13.14" {
		t.Errorf("got %q", got)
	}
	if err := os.WriteFile(program+".version", []byte("sing-box version 1.14.1"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := version(); got != "1.13.14" {
		t.Errorf("the same file was asked again: %q", got)
	}
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Skip(err)
	}
	defer self.Close()
	if err := os.Remove(program); err != nil {
		t.Fatal(err)
	}
	next, err := os.OpenFile(program, os.O_CREATE|os.O_WRONLY, 0o700)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(next, self)
	if err := errors.Join(err, next.Close()); err != nil {
		t.Fatal(err)
	}
	if got := version(); got != "1.14.1" {
		t.Errorf("another file was not asked: %q", got)
	}
}

func TestLeftoversOfAKilledProcessAreRemoved(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	sleep := exec.Command("sleep", "1000")
	sleep.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := sleep.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- sleep.Wait() }()
	defer func() { _ = sleep.Process.Kill() }()
	start := startTime(sleep.Process.Pid)
	if start == "" {
		t.Skip("the start of a process is not known here")
	}
	pid := sleep.Process.Pid
	make := func(name string, files map[string]string) string {
		root := filepath.Join(os.TempDir(), name)
		if err := os.MkdirAll(filepath.Join(root, "run"), 0o700); err != nil {
			t.Fatal(err)
		}
		for file, text := range files {
			if err := os.WriteFile(filepath.Join(root, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return root
	}
	const gone = "999999999 1"
	make("sandrone-core-dead", map[string]string{"owner": gone})
	make("sandrone-core-running", map[string]string{"owner": gone, "core": fmt.Sprint(pid, " ", start)})
	kept := []string{
		make("sandrone-core-new", nil), // about to get its owner's name
		make("sandrone-core-ours", map[string]string{"owner": fmt.Sprint(os.Getpid(), " ", startTime(os.Getpid()))}),
		make("something-else", nil),
	}
	old := make("sandrone-core-old", nil)
	hourAgo := time.Now().Add(-time.Hour)
	if err := os.Chtimes(old, hourAgo, hourAgo); err != nil {
		t.Fatal(err)
	}
	// The number of a process that is gone is somebody else's now.
	make("sandrone-core-reused", map[string]string{"owner": fmt.Sprint(os.Getpid(), " 1"), "core": fmt.Sprint(os.Getpid(), " 1")})

	if n := core.RemoveLeftovers(); n != 4 {
		t.Errorf("removed %d directories, want 4", n)
	}
	<-ended // the program that ran on
	left, _ := filepath.Glob(filepath.Join(os.TempDir(), "*"))
	slices.Sort(kept)
	if !slices.Equal(left, kept) {
		t.Errorf("left %q, want %q", left, kept)
	}
}

func startTime(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	return strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))[19]
}

func TestCoresAreFoundByVariableThenPathThenDataDir(t *testing.T) {
	dir := t.TempDir()
	script := func(path, text string) string {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	named := script("elsewhere/mihomo-alpha", `[ "$1" = -v ] && [ -z "$SANDRONE_TOKEN" ] && echo "Mihomo Meta v1.19.28 linux amd64"`)
	script("bin/mihomo", "exit 1")
	onPath := script("bin/sing-box", "echo sing-box version 1.13.14")
	script("data/cores/sing-box", "exit 1")
	inData := script("data/cores/xray", "exit 3")
	t.Setenv("PATH", filepath.Join(dir, "bin")+":/bin:/usr/bin")
	t.Setenv("SANDRONE_TOKEN", "hunter2")

	cores := func(mihomo string) []core.Core {
		return core.New(core.Options{DataDir: filepath.Join(dir, "data"), Getenv: func(name string) string {
			return map[string]string{"SANDRONE_MIHOMO": mihomo}[name]
		}}).Probe(t.Context())
	}
	want := []core.Core{
		{Name: "mihomo", Path: named, Version: "v1.19.28", OK: true},
		{Name: "sing-box", Path: onPath, Version: "1.13.14", OK: true},
		{Name: "xray", Path: inData, OK: false, Error: "does not tell its version"},
	}
	if got := cores(named); !slices.Equal(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if got := cores(filepath.Join(dir, "missing"))[0]; got.OK || got.Path != "" || got.Error == "" {
		t.Errorf("a variable that names nothing: got %+v", got)
	}
}
