package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/sandrone-gateway/sandrone/processors/script"
)

// programs are what this executable is by the name under which it is started.
var programs = map[string]func(){"sandrone": main}

func TestMain(m *testing.M) {
	script.Main() // the program's workers are this executable
	testscript.Main(m, programs)
}

// TestCommands runs the scripts of testdata through the whole program.
func TestCommands(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			address, err := freeAddress()
			env.Setenv("ADDRESS", address)
			return err
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"http": callHTTP,
		},
	})
}

// freeAddress is an address of loopback at which nobody listens.
func freeAddress() (string, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer ln.Close()
	return ln.Addr().String(), nil
}

// callHTTP is the script command "http status method path [token [body]]". It
// waits for a server that starts. The body is its standard output, the media
// type its standard error.
func callHTTP(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: http status method path [token [body]]")
	}
	args = append(args, "", "")
	deadline := time.Now().Add(10 * time.Second)
	for {
		req, err := http.NewRequest(args[1], "http://"+ts.Getenv("ADDRESS")+args[2], strings.NewReader(args[4]))
		ts.Check(err)
		if args[3] != "" {
			req.Header.Set("Authorization", "Bearer "+args[3])
		}
		req.Close = true
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			if time.Now().After(deadline) {
				ts.Fatalf("no answer: %v", err)
			}
			time.Sleep(5 * time.Millisecond) // the process is starting, and has no other way to say so
			continue
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		ts.Check(err)
		fmt.Fprintln(ts.Stderr(), resp.Header.Get("Content-Type"))
		ts.Stdout().Write(body)
		if got := fmt.Sprint(resp.StatusCode); got != args[0] {
			ts.Fatalf("status %s, want %s: %s", got, args[0], body)
		}
		return
	}
}

// TestSecondSignalEndsAtOnce has a request that never ends keep the server from
// stopping in good order.
func TestSecondSignalEndsAtOnce(t *testing.T) {
	address, err := freeAddress()
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "serve", "--listen", address, "--data-dir", t.TempDir())
	cmd.Args[0] = "sandrone" // the name by which this executable is the program
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	text := make([]byte, 4096)
	n, _ := log.Read(text) // the start line
	if !strings.Contains(string(text[:n]), "starting HTTP API") {
		t.Fatalf("log: %s", text[:n])
	}
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	// A body that does not come keeps a request running.
	fmt.Fprintf(conn, "POST /v1/convert HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n")
	if _, err := conn.Read(text); err != nil { // the handler reads: it runs
		t.Fatal(err)
	}
	start := time.Now()
	cmd.Process.Signal(syscall.SIGTERM)
	for cmd.ProcessState == nil && time.Since(start) < 8*time.Second {
		// The first signal has been seen when nobody listens any more.
		probe, err := net.Dial("tcp", address)
		if err != nil {
			break
		}
		probe.Close()
	}
	cmd.Process.Signal(syscall.SIGTERM)
	err = cmd.Wait()
	if took := time.Since(start); took > 8*time.Second {
		t.Errorf("ended after %v", took)
	}
	if err == nil {
		t.Error("exit code 0 although the work was cut")
	}
}
