package script_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/processors/script"
)

func newPool(t *testing.T, slots int) *script.Pool {
	t.Helper()
	p, err := script.NewPool(script.Options{Slots: slots})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// produceFunc is a host that produces by a function.
type produceFunc func(ctx context.Context, name string) (script.Produced, error)

func (f produceFunc) Produce(ctx context.Context, name string, _ script.ProduceOptions) (script.Produced, error) {
	return f(ctx, name)
}
func (produceFunc) Content(context.Context, string, map[string]string) (string, error) {
	return "", errors.New("not asked for")
}
func (produceFunc) Probe(context.Context, []sandrone.Node, script.ProbeOptions) (script.Probed, error) {
	return script.Probed{}, errors.New("not asked for")
}

func TestNothingSurvivesARun(t *testing.T) {
	runners(t, func(t *testing.T, r script.Runner) {
		s, err := script.New(t.Context(), params(`
			globalThis.count = (globalThis.count || 0) + 1;
			Array.prototype.more = (Array.prototype.more || 0) + 1;
			JSON.count = (JSON.count || 0) + 1;
			api.count = (api.count || 0) + 1;
			function main() { return {nodes: [{name: [count, [].more, JSON.count, api.count].join(), type: "ss"}]} }`), script.Env{Runner: r})
		if err != nil {
			t.Fatal(err)
		}
		for range 5 {
			if got, _, err := s.Nodes(t.Context(), script.Input{}, pointers(sample)); err != nil || names(values(got)) != "1,1,1,1" {
				t.Fatalf("got %q, %v", names(values(got)), err)
			}
		}
	})
}

func TestRunsAtTheSameTimeDoNotMix(t *testing.T) {
	runners(t, func(t *testing.T, r script.Runner) {
		s, err := script.New(t.Context(), params(`var mine; function main(i) { mine = i.args.n; for (let k = 0; k < 1000; k++) if (mine !== i.args.n) throw 1;
			api.log(mine); return {nodes: [{name: mine, type: "ss"}]} }`), script.Env{Runner: r})
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for n := range 8 {
			wg.Go(func() {
				for k := range 10 {
					want := fmt.Sprint(n, "-", k)
					got, out, err := s.Nodes(t.Context(), script.Input{Request: script.Request{Args: map[string]string{"n": want}}}, nil)
					if err != nil || names(values(got)) != want || len(out.Logs) != 1 || out.Logs[0] != want {
						t.Errorf("got %q %q, %v; want %q", names(values(got)), out.Logs, err, want)
					}
				}
			})
		}
		wg.Wait()
	})
}

func TestCancellationIsNoTimeout(t *testing.T) {
	runners(t, func(t *testing.T, r script.Runner) {
		cause := errors.New("the client is gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		host := produceFunc(func(inner context.Context, _ string) (script.Produced, error) {
			cancel(cause)
			<-inner.Done()
			return script.Produced{}, context.Cause(inner)
		})
		s, err := script.New(t.Context(), params(`function main() { api.subscription.produce("s"); for (;;) {} }`), script.Env{Runner: r, Host: host})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.Nodes(ctx, script.Input{}, nil); !errors.Is(err, cause) {
			t.Errorf("got %v", err)
		}
		// Nor is it what the call that was cancelled makes of it.
		ctx2, cancel2 := context.WithCancelCause(t.Context())
		bare := produceFunc(func(context.Context, string) (script.Produced, error) {
			cancel2(cause)
			return script.Produced{}, sandrone.Errorf(sandrone.FetchFailed, "no answer")
		})
		if s, err = script.New(t.Context(), params(`function main() { api.subscription.produce("s") }`), script.Env{Runner: r, Host: bare}); err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.Nodes(ctx2, script.Input{}, nil); !errors.Is(err, cause) {
			t.Errorf("of a call: got %v", err)
		}
		if _, _, err := s.Nodes(ctx, script.Input{}, nil); !errors.Is(err, cause) {
			t.Errorf("of a context that had ended: got %v", err)
		}
	})
}

// A run waits for a slot as long as its context allows.
func TestWaitingForASlotHonoursTheContext(t *testing.T) {
	p := newPool(t, 1)
	waiting, done := make(chan error, 1), make(chan struct{})
	free, err := script.New(t.Context(), params(`function main() {}`), script.Env{Runner: p})
	if err != nil {
		t.Fatal(err)
	}
	host := produceFunc(func(context.Context, string) (script.Produced, error) {
		defer close(done)
		// From another request, whose context knows nothing of this run.
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		_, _, err := free.Nodes(ctx, script.Input{}, nil)
		waiting <- err
		return script.Produced{}, nil
	})
	if _, _, err := runNodes(script.Env{Runner: p, Host: host}, params(`function main() { api.subscription.produce("s") }`), script.Input{}); err != nil {
		t.Fatal(err)
	}
	<-done
	if err := <-waiting; !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if _, _, err := free.Nodes(t.Context(), script.Input{}, nil); err != nil {
		t.Errorf("the slot was not given back: %v", err)
	}
}

// A script inside of a call of another one takes over its slot, 16 levels
// deep.
func TestNestedScripts(t *testing.T) {
	for name, r := range map[string]script.Runner{"pool": newPool(t, 1), "in process": script.InProcess(script.Options{Slots: 1})} {
		t.Run(name, func(t *testing.T) {
			const text = `function main(i, api) { const n = +i.args.n; return n ? {nodes: api.subscription.produce(String(n - 1)).nodes.concat({name: "n" + n, type: "ss"})} : {nodes: []} }`
			var host produceFunc
			run := func(ctx context.Context, n string) ([]sandrone.Node, error) {
				s, err := script.New(ctx, params(text, "timeout_ms", 30_000), script.Env{Runner: r, Host: host})
				if err != nil {
					return nil, err
				}
				nodes, _, err := s.Nodes(ctx, script.Input{Request: script.Request{Args: map[string]string{"n": n}}}, nil)
				return values(nodes), err
			}
			host = func(ctx context.Context, name string) (script.Produced, error) {
				nodes, err := run(ctx, name)
				return script.Produced{Nodes: nodes}, err
			}
			nodes, err := run(t.Context(), "15")
			if err != nil || len(nodes) != 15 {
				t.Errorf("16 levels: got %d nodes, %v", len(nodes), err)
			}
			_, err = run(t.Context(), "16")
			if codeOf(err) != sandrone.ScriptRuntime || !strings.Contains(err.Error(), "16 levels") {
				t.Errorf("17 levels: got %v", err)
			}
		})
	}
}

func TestACloseEndsWhatRuns(t *testing.T) {
	for name, r := range map[string]script.Runner{"pool": newPool(t, 2), "in process": script.InProcess(script.Options{})} {
		t.Run(name, func(t *testing.T) {
			host := produceFunc(func(context.Context, string) (script.Produced, error) {
				go r.Close()
				return script.Produced{}, nil
			})
			start := time.Now()
			_, _, err := runNodes(script.Env{Runner: r, Host: host}, params(`function main() { api.subscription.produce("s"); for (;;) {} }`, "timeout_ms", 60_000), script.Input{})
			if err == nil || codeOf(err) == sandrone.ScriptTimeout || time.Since(start) > 30*time.Second {
				t.Errorf("got %v", err)
			}
			if _, err := script.New(t.Context(), params("function main() {}"), script.Env{Runner: r}); err == nil {
				t.Error("a closed runner works")
			}
		})
	}
}

func TestOnlyTheHiddenArgumentMakesAWorker(t *testing.T) {
	for _, args := range [][]string{nil, {"x"}, {"sandrone", "serve"}, {"sandrone", "sandrone-script-worker", "x"}, {"sandrone-script-worker"}} {
		if script.IsWorker(args) {
			t.Errorf("%q is a worker", args)
		}
	}
	if !script.IsWorker([]string{"sandrone", "sandrone-script-worker"}) {
		t.Error("a worker is none")
	}
}
