package engine_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/engine"
	"github.com/sandrone-gateway/sandrone/fetch"
	"github.com/sandrone-gateway/sandrone/store"
)

// background runs e until the test ends. It must be called within a bubble of
// synctest, whose clock is the engine's.
func background(t *testing.T, e *engine.Engine) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := e.Run(ctx); err != nil {
			t.Error(err)
		}
	}()
	synctest.Wait()
	return func() { cancel(); <-done }
}

func patch(t *testing.T, e *engine.Engine, text string) {
	t.Helper()
	if _, err := e.PatchSettings(t.Context(), []byte(text), store.Precondition{}); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
}

func realClock(o *engine.Options) { o.Now = time.Now }

func TestScheduleRunsAtItsTimesAndNotBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var fetches atomic.Int32
		e := workbench(t, func(o *engine.Options) {
			realClock(o)
			o.Fetcher = fetchFunc(func(_ context.Context, req fetch.Request) (*fetch.Response, error) {
				fetches.Add(1)
				if strings.Contains(req.URL, "down") {
					return nil, sandrone.Errorf(sandrone.FetchFailed, "remote returned status 500")
				}
				return &fetch.Response{Status: 200, Body: []byte(link("a")), FetchedAt: time.Now()}, nil
			})
		})
		put(t, e, &sandrone.Subscription{Name: "air", Type: "remote", Remote: &sandrone.RemoteInput{URL: "https://air.example/"}})
		put(t, e, &sandrone.Subscription{Name: "down", Type: "remote", Remote: &sandrone.RemoteInput{URL: "https://down.example/"}})
		putFile(t, e, "notes", "hello")
		stop := background(t, e)
		defer stop()
		start := time.Now()
		if s := e.ScheduleStatus(); s.Enabled || !s.NextRunAt.IsZero() {
			t.Errorf("got %+v before it is enabled", s)
		}

		patch(t, e, `{"scheduled_refresh":{"enabled":true,"schedule":"@every 10m","targets":[
			{"kind":"subscription","name":"air"},{"kind":"subscription","name":"down"},{"kind":"file","name":"notes"},{"kind":"subscription","name":"absent"}]}}`)
		if s := e.ScheduleStatus(); !s.Enabled || !s.NextRunAt.Equal(start.Add(10*time.Minute)) || !s.LastStartedAt.IsZero() {
			t.Errorf("got %+v, want the first run in ten minutes and none at once", s)
		}
		time.Sleep(9 * time.Minute)
		patch(t, e, `{"shares":{"requests_per_minute":5}}`) // which must not put the run off
		if n := fetches.Load(); n != 0 {
			t.Errorf("got %d fetches before the time", n)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		s := e.ScheduleStatus()
		if s.LastSuccessCount != 2 || s.LastFailureCount != 2 || s.Running || !s.LastStartedAt.Equal(start.Add(10*time.Minute)) || s.LastCompletedAt.IsZero() {
			t.Errorf("got %+v after the first run", s)
		}
		if n := fetches.Load(); n != 2 {
			t.Errorf("got %d fetches, want one for each source", n)
		}
		if want := start.Add(20 * time.Minute); !s.NextRunAt.Equal(want) {
			t.Errorf("got the next run at %v, want %v", s.NextRunAt, want)
		}

		patch(t, e, `{"scheduled_refresh":{"enabled":false}}`)
		s = e.ScheduleStatus()
		if s.Enabled || !s.NextRunAt.IsZero() || s.LastSuccessCount != 2 {
			t.Errorf("got %+v, want the history and no next run", s)
		}
		time.Sleep(time.Hour)
		if n := fetches.Load(); n != 2 {
			t.Errorf("got %d fetches of a schedule that is off", n)
		}
	})
}

func TestScheduleSkipsARunWhileOneIsActive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := workbench(t, func(o *engine.Options) {
			realClock(o)
			o.Fetcher = fetchFunc(func(ctx context.Context, _ fetch.Request) (*fetch.Response, error) {
				select {
				case <-time.After(90 * time.Second):
				case <-ctx.Done():
					return nil, ctx.Err()
				}
				return &fetch.Response{Status: 200, Body: []byte(link("a"))}, nil
			})
		})
		put(t, e, &sandrone.Subscription{Name: "slow", Type: "remote", Remote: &sandrone.RemoteInput{URL: "https://slow.example/"}})
		patch(t, e, `{"scheduled_refresh":{"enabled":true,"schedule":"@every 1m","targets":[{"kind":"subscription","name":"slow"}]}}`)
		stop := background(t, e)
		defer stop()
		time.Sleep(2*time.Minute + time.Second)
		synctest.Wait()
		if s := e.ScheduleStatus(); !s.Running || s.SkippedCount != 1 || s.LastSkippedAt.IsZero() || !s.LastCompletedAt.IsZero() {
			t.Errorf("got %+v while the first run is active", s)
		}
		time.Sleep(45 * time.Second)
		synctest.Wait()
		if s := e.ScheduleStatus(); s.Running || s.LastSuccessCount != 1 {
			t.Errorf("got %+v after it", s)
		}
	})
}

func TestScheduleRunsFourTargetsAtOnceInTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var active, most atomic.Int32
		e := workbench(t, func(o *engine.Options) {
			realClock(o)
			o.Fetcher = fetchFunc(func(context.Context, fetch.Request) (*fetch.Response, error) {
				n := active.Add(1)
				for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
				}
				time.Sleep(time.Second)
				active.Add(-1)
				return &fetch.Response{Status: 200, Body: []byte(link("a"))}, nil
			})
		})
		var targets []string
		for _, name := range strings.Split("abcdefghij", "") {
			put(t, e, &sandrone.Subscription{Name: name, Type: "remote", Remote: &sandrone.RemoteInput{URL: "https://" + name + ".example/"}})
			targets = append(targets, `{"kind":"subscription","name":"`+name+`"}`)
		}
		patch(t, e, `{"scheduled_refresh":{"enabled":true,"schedule":"@hourly","targets":[`+strings.Join(targets, ",")+`]}}`)
		stop := background(t, e)
		defer stop()
		time.Sleep(time.Hour + 5*time.Second)
		synctest.Wait()
		if s := e.ScheduleStatus(); s.LastSuccessCount != 10 || most.Load() != 4 {
			t.Errorf("got %+v with %d at once, want 10 in fours", s, most.Load())
		}
	})
}

func TestRunGivesAnActiveRefreshTenSeconds(t *testing.T) {
	for _, row := range []struct {
		takes time.Duration
		fails int
	}{{5 * time.Second, 0}, {time.Minute, 1}} {
		synctest.Test(t, func(t *testing.T) {
			e := workbench(t, func(o *engine.Options) {
				realClock(o)
				o.Fetcher = fetchFunc(func(ctx context.Context, _ fetch.Request) (*fetch.Response, error) {
					select {
					case <-time.After(row.takes):
						return &fetch.Response{Status: 200, Body: []byte(link("a"))}, nil
					case <-ctx.Done():
						return nil, ctx.Err()
					}
				})
			})
			put(t, e, &sandrone.Subscription{Name: "slow", Type: "remote", Remote: &sandrone.RemoteInput{URL: "https://slow.example/"}})
			patch(t, e, `{"scheduled_refresh":{"enabled":true,"schedule":"@every 1m","targets":[{"kind":"subscription","name":"slow"}]}}`)
			stop := background(t, e)
			time.Sleep(time.Minute)
			synctest.Wait()
			start := time.Now()
			stop()
			if took := time.Since(start); took != min(row.takes, 10*time.Second) {
				t.Errorf("stopping took %v of a refresh of %v", took, row.takes)
			}
			if s := e.ScheduleStatus(); s.Running || s.LastFailureCount != row.fails {
				t.Errorf("got %+v", s)
			}
		})
	}
}

func TestRunWritesAccessesEveryFiveSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := store.New(store.Memory(), store.Options{})
		e := workbench(t, func(o *engine.Options) { realClock(o); o.Store = s })
		put(t, e, local("air", link("a")))
		share := putShare(t, e, sandrone.Share{TargetKind: "subscription", TargetName: "air"})
		written := func() (n int64) {
			s.View(t.Context(), func(tx *store.Tx) error {
				record, err := tx.Accesses().Get(share.ID)
				n = record.AccessCount
				return err
			})
			return n
		}
		stop := background(t, e)
		read := func() {
			if _, err := e.SharedRead(t.Context(), engine.ShareRequest{ID: share.ID}); err != nil {
				t.Error(err)
			}
		}
		read()
		if n := written(); n != 0 {
			t.Errorf("got %d written at once", n)
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if n := written(); n != 1 {
			t.Errorf("got %d written after five seconds, want 1", n)
		}
		read()
		stop()
		if n := written(); n != 2 {
			t.Errorf("got %d written after the stop, want 2", n)
		}
	})
}

func TestManyAccessesDoNotFillTheMemory(t *testing.T) {
	s := store.New(store.Memory(), store.Options{})
	e := workbench(t, func(o *engine.Options) { o.Store = s })
	putFile(t, e, "notes", "hello")
	share := putShare(t, e, sandrone.Share{TargetKind: "file", TargetName: "notes"})
	const reads = 4096
	for range reads {
		if _, err := e.SharedRead(t.Context(), engine.ShareRequest{ID: share.ID, HasFilename: true, Filename: "x"}); code(err) != sandrone.InvalidArgument {
			t.Fatal(err)
		}
	}
	err := s.View(t.Context(), func(tx *store.Tx) error {
		record, err := tx.Accesses().Get(share.ID)
		if len(record.Recent) != 50 {
			t.Errorf("got %d accesses written without anybody asking, want the newest 50", len(record.Recent))
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
