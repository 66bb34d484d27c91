package script_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/processors/script"
)

// workers returns the processes that this one has started as workers.
func workers(t *testing.T) (pids []int) {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if err != nil || len(fields) < 2 || string(fields[1]) != strconv.Itoa(os.Getpid()) || string(fields[0]) == "Z" {
			continue
		}
		if line, _ := os.ReadFile(filepath.Dir(path) + "/cmdline"); strings.HasSuffix(string(line), "\x00sandrone-script-worker\x00") {
			pids = append(pids, pid)
		}
	}
	return pids
}

func TestAKilledWorkerIsReplaced(t *testing.T) {
	p := newPool(t, 2)
	host := produceFunc(func(context.Context, string) (script.Produced, error) {
		for _, pid := range workers(t) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		return script.Produced{}, nil
	})
	for range 3 {
		_, out, err := runNodes(script.Env{Runner: p, Host: host}, params(`function main() { api.log("before"); api.subscription.produce("s"); for (;;) {} }`), script.Input{})
		if codeOf(err) != sandrone.ScriptRuntime || !strings.Contains(err.Error(), "out of resources") || len(out.Logs) != 1 {
			t.Fatalf("got %v, %q", err, out.Logs)
		}
		if got, _, err := runNodes(script.Env{Runner: p}, params(renameScript), script.Input{}, sample...); err != nil || len(got) != 3 {
			t.Fatalf("the next run: %v", err)
		}
	}
	// The pool of the other tests lost its workers as well.
	if got, _, err := runNodes(script.Env{Runner: pool}, params(renameScript), script.Input{}, sample...); err != nil || len(got) != 3 {
		t.Fatalf("a pool whose idle workers were killed: %v", err)
	}
}

func TestAWorkerHasNoEnvironmentAndNoFiles(t *testing.T) {
	t.Setenv("SECRET_OF_THE_HOST", "1")
	p := newPool(t, 1)
	checked := false
	host := produceFunc(func(context.Context, string) (script.Produced, error) {
		for _, pid := range workers(t) {
			dir := fmt.Sprintf("/proc/%d", pid)
			env, err := os.ReadFile(dir + "/environ")
			if os.IsNotExist(err) {
				continue // one that was started too many
			}
			if err != nil || strings.Contains(string(env), "SECRET") || strings.Contains(string(env), "PATH=") {
				t.Errorf("environment %q, %v", env, err)
			}
			// A worker that is just starting has files still.
			for deadline := time.Now().Add(5 * time.Second); !closed(dir); runtime.Gosched() {
				if time.Now().After(deadline) {
					t.Error("files can be opened")
					break
				}
			}
			fds, _ := os.ReadDir(dir + "/fd")
			for _, fd := range fds {
				if to, err := os.Readlink(dir + "/fd/" + fd.Name()); err == nil && !strings.HasPrefix(to, "pipe:") && to != "/dev/null" && !strings.HasSuffix(to, "/statm") && !strings.HasPrefix(to, "/sys/fs/cgroup/") && !strings.HasPrefix(to, "anon_inode:") {
					t.Errorf("open file %s", to)
				}
			}
			checked = true
		}
		return script.Produced{}, nil
	})
	if _, _, err := runNodes(script.Env{Runner: p, Host: host}, params(`function main() { api.subscription.produce("s") }`), script.Input{}); err != nil || !checked {
		t.Errorf("got %v, checked %v", err, checked)
	}
}

// closed tells whether a process can open no file. One that has ended cannot.
func closed(dir string) bool {
	limits, _ := os.ReadFile(dir + "/limits")
	for l := range strings.Lines(string(limits)) {
		if f := strings.Fields(l); strings.HasPrefix(l, "Max open files") && f[3] != "0" {
			return false
		}
	}
	return true
}

// No worker is left behind, however it ended.
func TestAClosedPoolLeavesNoProcess(t *testing.T) {
	others := len(workers(t))
	p, err := script.NewPool(script.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"function main() {}", "function main() { for (;;) {} }", "function main() { new Array(3e8).fill(1) }"} {
		_, _, _ = runNodes(script.Env{Runner: p}, params(text, "timeout_ms", 50), script.Input{})
	}
	p.Close()
	if n := len(workers(t)); n > others {
		t.Errorf("%d workers are left", n-others)
	}
}

// Memory is measured from where the input has been decoded: a large batch is
// not the script's growth.
func TestALargeBatchIsNoGrowth(t *testing.T) {
	if testing.Short() {
		t.Skip("takes its time")
	}
	if raced {
		t.Skip("the race detector multiplies the memory of a worker")
	}
	nodes := many(50_000)
	start := time.Now()
	got, _, err := runNodes(script.Env{Runner: pool}, params(renameScript, "timeout_ms", 60_000), script.Input{}, nodes...)
	if err != nil || len(got) != len(nodes) || got[49_999].Name != "EDGE "+nodes[49_999].Name {
		t.Fatalf("got %d nodes, %v", len(got), err)
	}
	t.Logf("50,000 nodes in %v", time.Since(start))
}
