//go:build unix

package main

import (
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
)

func init() { programs["sandrone-small-disk"] = onSmallDisk }

// onSmallDisk is the program on a disk of 1 MiB: the system refuses to make a
// file any larger, as it refuses on a disk that is full.
func onSmallDisk() {
	signal.Ignore(syscall.SIGXFSZ)
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	limit.Cur = 1 << 20
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	main()
}

func TestAFullDiskFailsWritesAndLeavesTheRestAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := startServer(t, "sandrone-small-disk", dir, "")
	content := strings.Repeat("-", 60_000)
	written := 0
	for {
		status, text := p.send("POST", "/v1/subscriptions", fmt.Sprintf(`{"name":"s%d","type":"local","content":"%s"}`, written, content))
		if status == http.StatusCreated {
			if written++; written > 100 {
				t.Fatal("the limit does not hold")
			}
			continue
		}
		if status != 500 || !strings.Contains(text, `"internal_error"`) || !strings.Contains(text, "file too large") || strings.Contains(text, dir) {
			t.Fatalf("got %d %s", status, text)
		}
		break
	}
	if written == 0 {
		t.Fatal("nothing was written")
	}
	check := func(p *process) {
		t.Helper()
		for i := range written {
			if text := p.must("GET", fmt.Sprint("/v1/subscriptions/s", i), ""); !strings.Contains(text, content) {
				t.Errorf("s%d is not as it was written", i)
			}
		}
		if n := strings.Count(p.must("GET", "/v1/subscriptions", ""), `"kind": "subscription"`); n != written {
			t.Errorf("%d definitions, want %d", n, written)
		}
	}
	check(p)
	if len(p.must("GET", "/v1/backup", "")) == 0 {
		t.Error("no backup")
	}
	if log := p.log.String(); !strings.Contains(log, "level=ERROR") || strings.Contains(log, content[:100]) || strings.Contains(log, dir) {
		t.Errorf("log:\n%s", log)
	}
	p.stop()

	// And makes room.
	p = startServer(t, "sandrone", dir, "")
	check(p)
	p.must("POST", "/v1/subscriptions", `{"name":"more","type":"local","content":"x"}`)
	p.stop()
}
