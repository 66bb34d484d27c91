package engine_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert/formats"
	"github.com/sandrone-gateway/sandrone/engine"
	"github.com/sandrone-gateway/sandrone/fetch"
	"github.com/sandrone-gateway/sandrone/store"
)

// internet is a network in which every name leads to one server, at an address
// that looks public until somebody says otherwise.
type internet struct {
	server string // where connections really go

	mu      sync.Mutex
	answers []string // of the resolver, in turn; the last one stays
	dialled []string
}

func (n *internet) LookupNetIP(_ context.Context, _, _ string) ([]netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	answer := n.answers[0]
	if len(n.answers) > 1 {
		n.answers = n.answers[1:]
	}
	return []netip.Addr{netip.MustParseAddr(answer)}, nil
}

func (n *internet) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	n.mu.Lock()
	n.dialled = append(n.dialled, addr)
	n.mu.Unlock()
	return new(net.Dialer).DialContext(ctx, network, n.server)
}

const publicAddress = "8.8.4.4" // nobody is asked there: every connection goes to the test's server

// upstream is an engine with the subscription "air" behind the guarded fetcher.
type upstream struct {
	*engine.Engine
	net *internet
	now time.Time
}

func newUpstream(t *testing.T, ttl int64, handler http.HandlerFunc) *upstream {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	u := &upstream{
		net: &internet{server: server.Listener.Addr().String(), answers: []string{publicAddress}},
		now: time.Unix(1_800_000_000, 0),
	}
	client, err := fetch.New(fetch.Options{
		Timeout:  5 * time.Second,
		Resolver: u.net,
		Dial:     u.net.dial,
		EnvProxy: func(*url.URL) (*url.URL, error) { return nil, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	u.Engine = storedAir(t, client, ttl, func() time.Time { return u.now })
	return u
}

// storedAir is an engine in whose store "air" is http://air.example/sub.
func storedAir(t *testing.T, f engine.Fetcher, ttl int64, now func() time.Time) *engine.Engine {
	t.Helper()
	e, err := engine.New(engine.Options{
		Registry: formats.Registry(),
		Store:    store.New(store.Memory(), store.Options{CheckSettings: engine.CheckSettings, Now: now}),
		Fetcher:  f,
		Now:      now,
		Getenv:   func(string) string { return "" },
	})
	if err != nil {
		t.Fatal(err)
	}
	air := &sandrone.Subscription{Name: "air", Type: sandrone.SubscriptionRemote,
		Remote: &sandrone.RemoteInput{URL: "http://air.example/sub?token=sesame", CacheTTLSeconds: ttl}}
	if _, err := e.PutSubscription(t.Context(), air, store.Precondition{}); err != nil {
		t.Fatal(err)
	}
	return e
}

func render(ctx context.Context, e *engine.Engine) (*engine.Rendering, error) {
	return e.RenderSubscription(ctx, engine.RenderRequest{Name: "air", Format: "uri-list"})
}

// renderAll renders from many callers at once and returns what went wrong.
func renderAll(ctx context.Context, e *engine.Engine, callers int) <-chan error {
	errs := make(chan error, callers)
	for range callers {
		go func() {
			r, err := render(ctx, e)
			if err == nil && !strings.Contains(string(r.Body), "#one") {
				err = fmt.Errorf("got %q", r.Body)
			}
			errs <- err
		}()
	}
	return errs
}

// The source answers when every caller waits for it.
func TestManyRendersAreOneRequestUpstream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const callers = 200
		var requests atomic.Int64
		answer := make(chan struct{})
		e := storedAir(t, fetchFunc(func(context.Context, fetch.Request) (*fetch.Response, error) {
			requests.Add(1)
			<-answer
			return &fetch.Response{Status: 200, Body: []byte(link("one"))}, nil
		}), 0, time.Now)
		errs := renderAll(t.Context(), e, callers)
		synctest.Wait()
		close(answer)
		for range callers {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		if n := requests.Load(); n != 1 {
			t.Errorf("%d requests upstream", n)
		}
	})
}

func TestManyRendersOfAFreshSourceAreOneRequestUpstream(t *testing.T) {
	const callers = 200
	var requests atomic.Int64
	u := newUpstream(t, 60, func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		io.WriteString(w, link("one"))
	})
	errs := renderAll(t.Context(), u.Engine, callers)
	for range callers {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if n := requests.Load(); n != 1 {
		t.Errorf("%d requests upstream", n)
	}
}

func TestSourceThatIsDownLeavesTheLastGoodCopy(t *testing.T) {
	down := false
	u := newUpstream(t, 0, func(w http.ResponseWriter, r *http.Request) {
		if down {
			http.Error(w, "gone", http.StatusBadGateway)
			return
		}
		io.WriteString(w, link("one"))
	})
	if _, err := render(t.Context(), u.Engine); err != nil {
		t.Fatal(err)
	}
	down = true
	u.now = u.now.Add(time.Hour)
	r, err := render(t.Context(), u.Engine)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(r.Report.Warnings, func(w sandrone.Warning) bool { return w.Code == sandrone.WarnRemoteStale })
	if i < 0 || r.Report.Warnings[i].Cause != string(sandrone.FetchFailed) || r.Report.Warnings[i].AgeSeconds != 3600 {
		t.Errorf("warnings: %+v", r.Report.Warnings)
	}
	if r.Stale != 3600 || r.Report.Status != sandrone.StatusPartial || !strings.Contains(string(r.Body), "#one") {
		t.Errorf("got %d, %s, %q", r.Stale, r.Report.Status, r.Body)
	}
	u.now = u.now.Add(8 * 24 * time.Hour)
	if _, err := render(t.Context(), u.Engine); sandrone.AsError(err).Code != sandrone.FetchFailed {
		t.Errorf("after a week: got %v", err)
	}
}

// zeros are as many zero bytes as are wanted.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestHostileAnswersAreClearErrors(t *testing.T) {
	redirect := func(to string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) }
	}
	var bomb bytes.Buffer // 1 MiB; a body of gzip members one after another is one text
	z := gzip.NewWriter(&bomb)
	io.Copy(z, io.LimitReader(zeros{}, 1<<20))
	z.Close()
	tests := []struct {
		name    string
		answer  http.HandlerFunc
		code    sandrone.Code
		message string
	}{
		{"web page", func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, "<!DOCTYPE html><html><body>Please log in</body></html>")
		}, sandrone.ParseFailed, "HTML page"},
		{"JSON error", func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, `{"error":"unknown token"}`)
		}, sandrone.ParseFailed, ""},
		{"nothing", func(w http.ResponseWriter, r *http.Request) {}, sandrone.ParseFailed, "empty"},
		{"status", func(w http.ResponseWriter, r *http.Request) { http.Error(w, "sesame", http.StatusServiceUnavailable) }, sandrone.FetchFailed, "status 503"},
		{"10 GiB", func(w http.ResponseWriter, r *http.Request) {
			io.Copy(w, io.LimitReader(zeros{}, 10<<30))
		}, sandrone.FetchFailed, "exceeds 16777216 bytes"},
		{"zip bomb", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			for range 1 << 10 {
				w.Write(bomb.Bytes())
			}
		}, sandrone.FetchFailed, "exceeds 16777216 bytes"},
		{"redirect to this machine", redirect("http://127.0.0.1:1/?sesame"), sandrone.FetchForbidden, "allow_hosts"},
		{"redirect to a metadata service", redirect("http://169.254.169.254/latest/meta-data/"), sandrone.FetchForbidden, "allow_hosts"},
		{"redirect to a file", redirect("file:///etc/passwd"), sandrone.FetchFailed, ""},
		{"redirects without end", redirect("/again"), sandrone.FetchFailed, "redirect"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			u := newUpstream(t, 0, tt.answer)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := render(t.Context(), u.Engine)
			runtime.ReadMemStats(&after)
			e := sandrone.AsError(err)
			if e == nil || e.Code != tt.code || !strings.Contains(e.Message, tt.message) {
				t.Fatalf("got %v", err)
			}
			if strings.Contains(fmt.Sprintf("%+v", *e), "sesame") {
				t.Errorf("the error shows a secret: %+v", *e)
			}
			// The answers are 1 GiB and more.
			if grown := after.TotalAlloc - before.TotalAlloc; grown > mayAllocate {
				t.Errorf("%d MiB were allocated", grown>>20)
			}
			for _, addr := range u.net.dialled {
				if addr != publicAddress+":80" {
					t.Errorf("a connection went to %s", addr)
				}
			}
		})
	}
}

// A name that is public when it is looked at and this machine when it is
// dialled would open every service of the machine.
func TestNameThatChangesIsCheckedWhereItIsDialled(t *testing.T) {
	u := newUpstream(t, 0, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, link("one")) })
	u.net.answers = []string{publicAddress, "127.0.0.1"}
	if _, err := render(t.Context(), u.Engine); err != nil {
		t.Fatalf("the first answer is public: %v", err)
	}
	_, err := render(t.Context(), u.Engine)
	if code := sandrone.AsError(err).Code; code != sandrone.FetchForbidden {
		t.Errorf("got %v", err)
	}
	if want := []string{publicAddress + ":80"}; !slices.Equal(u.net.dialled, want) {
		t.Errorf("connections went to %v", u.net.dialled)
	}
}
