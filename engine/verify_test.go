//go:build unix

package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert"
)

// withClient makes an engine whose mihomo is a shell script. It is given the
// file as $5.
func withClient(t *testing.T, script string) *Engine {
	t.Helper()
	path := filepath.Join(t.TempDir(), "mihomo")
	text := "#!/bin/sh\n[ \"$1\" = -v ] && echo Mihomo Meta v1.19.28 && exit\n" + script + "\n"
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	e, err := New(Options{Registry: new(convert.Registry), Settings: sandrone.DefaultSettings(),
		Getenv: func(name string) string { return map[string]string{"SANDRONE_MIHOMO": path}[name] }})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func fileOf(kind string) *sandrone.FileSpec { return &sandrone.FileSpec{Name: "f", Kind: kind} }

func TestEqualTextsShareACheck(t *testing.T) {
	dir := t.TempDir()
	count, gate := filepath.Join(dir, "count"), filepath.Join(dir, "gate")
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Skip("no named pipes here:", err)
	}
	e := withClient(t, "echo run >>"+count+"; read line <"+gate)
	const callers = 5
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			v, err := e.verify(t.Context(), fileOf("mihomo"), []byte("mode: rule\n"))
			if err != nil || !v.OK || v.CoreVersion != "v1.19.28" {
				t.Errorf("got %+v, %v", v, err)
			}
		})
	}
	for waiting := 0; waiting < callers; runtime.Gosched() {
		e.checks.flights.mu.Lock()
		waiting = 0
		for _, f := range e.checks.flights.m {
			waiting += f.waiters
		}
		e.checks.flights.mu.Unlock()
	}
	open, err := os.OpenFile(gate, os.O_WRONLY, 0) // waits for the client
	if err != nil {
		t.Fatal(err)
	}
	_, err = open.WriteString("go\n")
	if err := errors.Join(err, open.Close()); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	if text, err := os.ReadFile(count); err != nil || string(text) != "run\n" {
		t.Errorf("the client ran: %q, %v", text, err)
	}
}

func TestTooManyTextsAreBusy(t *testing.T) {
	e := withClient(t, "exit 0")
	e.checks.texts.Store(checksAtOnce + checksWaiting)
	_, err := e.verify(t.Context(), fileOf("mihomo"), nil)
	if err == nil || sandrone.AsError(err).Code != sandrone.Busy {
		t.Errorf("got %v, want busy", err)
	}
	e.checks.texts.Add(-1)
	if v, err := e.verify(t.Context(), fileOf("mihomo"), nil); err != nil || !v.OK {
		t.Errorf("with a place: got %+v, %v", v, err)
	}
}

func TestAWaitingCheckEndsWithItsCaller(t *testing.T) {
	e := withClient(t, "exit 0")
	for range checksAtOnce {
		e.checks.running <- struct{}{}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.verify(ctx, fileOf("mihomo"), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestAFileIsCheckedForItsVersion(t *testing.T) {
	e := withClient(t, "exit 0")
	for kind, warnings := range map[string]int{"mihomo": 0, "mihomo@1.19": 0, "mihomo@1.18": 1} {
		v, err := e.verify(t.Context(), fileOf(kind), []byte(kind))
		if err != nil || len(v.Warnings) != warnings {
			t.Errorf("%s: got %+v, %v; want %d warnings", kind, v, err, warnings)
		}
	}
}

func TestWhatNoClientChecksIsSaidBeforeTheFileIsMade(t *testing.T) {
	e := withClient(t, "exit 0")
	t.Setenv("PATH", t.TempDir())
	for kind, code := range map[string]sandrone.Code{
		"static": sandrone.InvalidArgument, "shadowrocket": sandrone.InvalidArgument, "sing-box@1.13": sandrone.ProbeCoreUnavailable,
	} {
		spec := fileOf(kind)
		nothing := ""
		spec.Source = &sandrone.FileSource{Type: sandrone.FileInline, Content: &nothing}
		_, err := e.VerifyFile(t.Context(), FileRequest{Draft: spec})
		if err == nil || sandrone.AsError(err).Code != code {
			t.Errorf("%s: got %v, want %s", kind, err, code)
		}
	}
}

func TestAVerdictGoesIntoTheReport(t *testing.T) {
	long := strings.Repeat("é", 300)
	r := &Rendering{Report: sandrone.Report{Warnings: []sandrone.Warning{{Code: "first"}}}}
	r.judged(&sandrone.Verdict{Message: long, Output: long, Warnings: []sandrone.Warning{{Code: sandrone.WarnVerifyVersion}}})
	got := r.Report
	if got.Verify == nil || got.Verify.Output != "" || got.Verify.Message != long || r.Verdict.Output != long {
		t.Errorf("got %+v", got.Verify)
	}
	if len(got.Warnings) != 3 || got.Warnings[1].Code != sandrone.WarnVerifyVersion || got.Warnings[2].Code != sandrone.WarnVerifyFailed ||
		len([]rune(got.Warnings[2].Message)) != 200 {
		t.Errorf("got %+v", got.Warnings)
	}
}
