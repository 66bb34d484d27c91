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
	"time"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert/formats"
	"github.com/sandrone-gateway/sandrone/core"
	"github.com/sandrone-gateway/sandrone/fetch"
	"github.com/sandrone-gateway/sandrone/store"
)

// withClient makes an engine whose mihomo is a shell script. It is given the
// file as $5.
func withClient(t *testing.T, source Fetcher, script string) *Engine {
	t.Helper()
	path := filepath.Join(t.TempDir(), "mihomo")
	text := "#!/bin/sh\n[ \"$1\" = -v ] && echo Mihomo Meta v1.19.28 && exit\n" + script + "\n"
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	e, err := New(Options{Registry: formats.Registry(), Settings: sandrone.DefaultSettings(), Store: store.New(store.Memory(), store.Options{}), Fetcher: source,
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
	e := withClient(t, nil, "echo run >>"+count+"; read line <"+gate)
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
	e := withClient(t, nil, "exit 0")
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
	e := withClient(t, nil, "exit 0")
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
	e := withClient(t, nil, "exit 0")
	for kind, warnings := range map[string]int{"mihomo": 0, "mihomo@1.19": 0, "mihomo@1.18": 1} {
		v, err := e.verify(t.Context(), fileOf(kind), []byte(kind))
		if err != nil || len(v.Warnings) != warnings {
			t.Errorf("%s: got %+v, %v; want %d warnings", kind, v, err, warnings)
		}
	}
}

func TestWhatNoClientChecksIsSaidBeforeTheFileIsMade(t *testing.T) {
	e := withClient(t, nil, "exit 0")
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

// changingSource is a source whose text is changed by a test.
type changingSource struct{ text string }

func (r *changingSource) Get(context.Context, fetch.Request) (*fetch.Response, error) {
	return &fetch.Response{Body: []byte(r.text), Status: 200, SHA256: r.text, FetchedAt: time.Now()}, nil
}

func TestARefusedTextDoesNotReplaceAGoodOne(t *testing.T) {
	source := &changingSource{text: "mode: rule # good\n"}
	e := withClient(t, source, `if grep -q bad "$5"; then echo 'time="x" level=error msg="it is bad"'; exit 1; fi`)
	hour := int64(3600)
	err := e.store.Update(t.Context(), func(tx *store.Tx) error {
		_, err := tx.Files().Put(&sandrone.FileSpec{Name: "m.yaml", Kind: "mihomo", RenderCacheTTLSeconds: &hour,
			Source: &sandrone.FileSource{Type: sandrone.FileRemote, Remote: &sandrone.RemoteInput{URL: "https://a.example/base.yaml"}}}, store.Precondition{})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	read := func() *Rendering {
		t.Helper()
		out, err := e.ReadFile(t.Context(), FileRequest{Name: "m.yaml"})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	refresh := func() error {
		return e.refreshTarget(t.Context(), sandrone.ResourceRef{Kind: sandrone.KindFile, Name: "m.yaml"})
	}
	settings := e.Settings()
	settings.ScheduledRefresh.Verify = true
	if err := e.apply(settings); err != nil {
		t.Fatal(err)
	}

	read()
	if err := refresh(); err != nil {
		t.Errorf("a good text: %v", err)
	}
	good := read()
	if !good.Cached || good.Report.Verify != nil || !strings.Contains(string(good.Body), "good") {
		t.Errorf("got %t, %+v, %q", good.Cached, good.Report.Verify, good.Body)
	}
	source.text = "mode: rule # bad\n"
	if err := refresh(); err == nil || sandrone.AsError(err).Code != sandrone.WarnVerifyFailed || sandrone.AsError(err).Message != "it is bad" {
		t.Errorf("a refused text: got %v", err)
	}
	if out := read(); !out.Cached || string(out.Body) != string(good.Body) {
		t.Errorf("got %t, %q", out.Cached, out.Body)
	}
	v, err := e.VerifyFile(t.Context(), FileRequest{Name: "m.yaml"})
	if err != nil || !v.OK {
		t.Errorf("the cached text: got %+v, %v", v, err)
	}
	v, err = e.VerifyFile(t.Context(), FileRequest{Name: "m.yaml", Refresh: true})
	if err != nil || v.OK || v.Message != "it is bad" {
		t.Errorf("the text of now: got %+v, %v", v, err)
	}
	if out := read(); !out.Cached || string(out.Body) != string(good.Body) {
		t.Errorf("after a check: got %t, %q", out.Cached, out.Body)
	}

	// Without a client a refresh is as good as it can be.
	t.Setenv("PATH", t.TempDir())
	e.cores = core.New(core.Options{Getenv: func(string) string { return "" }})
	if err := refresh(); err != nil {
		t.Errorf("without a client: %v", err)
	}
	if out := read(); !out.Cached || !strings.Contains(string(out.Body), "bad") {
		t.Errorf("without a client: got %t, %q", out.Cached, out.Body)
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
