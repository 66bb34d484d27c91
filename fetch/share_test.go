package fetch_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/fetch"
)

// waiting is a context that tells when Get begins to wait for its answer: only
// then does it ask for Done.
type waiting struct {
	context.Context
	begun func()
}

func (w waiting) Done() <-chan struct{} {
	w.begun()
	return w.Context.Done()
}

// gate is a server that holds its answers until it is opened.
type gate struct {
	requests atomic.Int32
	entered  chan struct{} // one for each request
	open     chan struct{}
	gone     chan struct{} // one for each client that went away
}

func newGate() *gate {
	return &gate{entered: make(chan struct{}, 1000), open: make(chan struct{}), gone: make(chan struct{}, 1000)}
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n := g.requests.Add(1)
	g.entered <- struct{}{}
	select {
	case <-g.open:
		fmt.Fprintf(w, "answer %d", n)
	case <-r.Context().Done():
		g.gone <- struct{}{}
	}
}

type outcome struct {
	r   *fetch.Response
	err error
}

// start runs Get and returns when it waits.
func start(ctx context.Context, c *fetch.Client, r fetch.Request) <-chan outcome {
	out := make(chan outcome, 1)
	begun := make(chan struct{})
	ctx = waiting{ctx, sync.OnceFunc(func() { close(begun) })}
	go func() {
		resp, err := c.Get(ctx, r)
		out <- outcome{resp, err}
	}()
	<-begun
	return out
}

func TestEqualRequestsAtOneTimeAreOneUpstream(t *testing.T) {
	var n internet
	g := newGate()
	n.serve(t, "a.example", publicAddr, g.ServeHTTP)
	c := n.client(t, fetch.Options{})
	var waits []<-chan outcome
	for i := range 200 {
		// The fragment is not part of the source.
		waits = append(waits, start(t.Context(), c, fetch.Request{URL: fmt.Sprintf("http://a.example/#%d", i), Policy: fetch.Managed}))
	}
	close(g.open)
	for i, wait := range waits {
		o := <-wait
		if o.err != nil || string(o.r.Body) != "answer 1" {
			t.Fatalf("got %v, %v", o.r, o.err)
		}
		// Each caller completes its own response.
		if o.r.Ref.Note == "mine" {
			t.Fatalf("response %d is shared", i)
		}
		o.r.Ref.Note = "mine"
	}
	if n := g.requests.Load(); n != 1 {
		t.Errorf("got %d requests, want 1", n)
	}
	r, err := c.Get(t.Context(), fetch.Request{URL: "http://a.example/", Policy: fetch.Managed})
	if err != nil || string(r.Body) != "answer 2" {
		t.Errorf("a later request: got %v, %v, want an answer of its own", r, err)
	}
}

func TestSharedFailureIsEachCallersOwn(t *testing.T) {
	var n internet
	g := newGate()
	n.serve(t, "a.example", publicAddr, func(w http.ResponseWriter, r *http.Request) {
		g.requests.Add(1)
		<-g.open
		w.WriteHeader(503)
	})
	c := n.client(t, fetch.Options{})
	one := start(t.Context(), c, fetch.Request{URL: "http://a.example/"})
	two := start(t.Context(), c, fetch.Request{URL: "http://a.example/"})
	close(g.open)
	first := wantCode(t, (<-one).err, sandrone.FetchFailed)
	first.Field = "mine"
	if e := wantCode(t, (<-two).err, sandrone.FetchFailed); e.Field != "" || e.Source != "http://a.example" || g.requests.Load() != 1 {
		t.Errorf("got %+v after %d requests", e, g.requests.Load())
	}
}

func TestDifferentRequestsAreNotShared(t *testing.T) {
	var n internet
	g := newGate()
	n.serve(t, "a.example", publicAddr, g.ServeHTTP)
	c := n.client(t, fetch.Options{})
	requests := []fetch.Request{
		{URL: "http://a.example/", Policy: fetch.Managed},
		{URL: "http://a.example/"},
		{URL: "http://a.example/?q", Policy: fetch.Managed},
		{URL: "http://u@a.example/", Policy: fetch.Managed},
		{URL: "http://a.example/", Policy: fetch.Managed, UserAgent: "other"},
		{URL: "http://a.example/", Policy: fetch.Managed, ETag: `"1"`},
		{URL: "http://a.example/", Policy: fetch.Managed, LastModified: "x"},
	}
	var waits []<-chan outcome
	for _, r := range requests {
		waits = append(waits, start(t.Context(), c, r))
	}
	for range requests {
		<-g.entered // each has its own request
	}
	close(g.open)
	for _, wait := range waits {
		if o := <-wait; o.err != nil {
			t.Error(o.err)
		}
	}
}

func TestCallerThatLeavesDoesNotStopTheOthers(t *testing.T) {
	var n internet
	g := newGate()
	n.serve(t, "a.example", publicAddr, g.ServeHTTP)
	c := n.client(t, fetch.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	one := start(ctx, c, fetch.Request{URL: "http://a.example/"})
	two := start(t.Context(), c, fetch.Request{URL: "http://a.example/"})
	<-g.entered
	cancel()
	err := (<-one).err
	wantCode(t, err, sandrone.FetchFailed)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want one that is context.Canceled", err)
	}
	close(g.open)
	if o := <-two; o.err != nil || string(o.r.Body) != "answer 1" {
		t.Errorf("got %v, %v", o.r, o.err)
	}
}

func TestRequestStopsWhenNobodyWaits(t *testing.T) {
	var n internet
	g := newGate()
	n.serve(t, "a.example", publicAddr, g.ServeHTTP)
	c := n.client(t, fetch.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	one := start(ctx, c, fetch.Request{URL: "http://a.example/"})
	two := start(ctx, c, fetch.Request{URL: "http://a.example/"})
	<-g.entered
	cancel()
	<-one
	<-two
	<-g.gone
	// The next caller does not get the stopped one's failure.
	close(g.open)
	if r, err := c.Get(t.Context(), fetch.Request{URL: "http://a.example/"}); err != nil || string(r.Body) != "answer 2" {
		t.Errorf("got %v, %v", r, err)
	}
}

func TestEndedCallerStartsNothing(t *testing.T) {
	var n internet
	c := n.client(t, fetch.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := c.Get(ctx, fetch.Request{URL: "http://8.8.8.8/"})
	if wantCode(t, err, sandrone.FetchFailed); !errors.Is(err, context.Canceled) || len(n.dialed()) != 0 {
		t.Errorf("got %v, dials %v", err, n.dialed())
	}
}

func TestTimeLimitCoversEveryStage(t *testing.T) {
	hang := make(chan struct{})
	t.Cleanup(func() { close(hang) })
	tests := []struct {
		name    string
		handler http.HandlerFunc
		dial    func(context.Context, string, string) (net.Conn, error)
	}{
		{name: "dialling", dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}},
		{name: "header", handler: func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }},
		{name: "body", handler: func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, "half")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}},
		{name: "second answer", handler: func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/" {
				http.Redirect(w, r, "/next", http.StatusFound)
				return
			}
			<-r.Context().Done()
		}},
	}
	for _, tt := range tests {
		for _, from := range []string{"request", "settings"} {
			t.Run(tt.name+" "+from, func(t *testing.T) {
				var n internet
				if tt.handler != nil {
					n.serve(t, "a.example", publicAddr, tt.handler)
				} else {
					n.add("a.example", publicAddr, "")
				}
				o, r := fetch.Options{Dial: tt.dial}, fetch.Request{URL: "http://a.example/", Policy: fetch.Managed}
				if from == "request" {
					r.Timeout = 50 * time.Millisecond
				} else {
					o.Timeout = 50 * time.Millisecond
				}
				_, err := n.client(t, o).Get(t.Context(), r)
				if e := wantCode(t, err, sandrone.FetchTimeout); e.Source != "http://a.example" {
					t.Errorf("got source %q", e.Source)
				}
			})
		}
	}
	t.Run("TLS handshake", func(t *testing.T) {
		mute, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer mute.Close()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			if conn, err := mute.Accept(); err == nil {
				io.Copy(io.Discard, conn) // until the client closes
			}
		}()
		var n internet
		n.add("a.example", publicAddr, mute.Addr().String())
		_, err = n.client(t, fetch.Options{}).Get(t.Context(), fetch.Request{URL: "https://a.example/", Policy: fetch.Managed, Timeout: 50 * time.Millisecond})
		wantCode(t, err, sandrone.FetchTimeout)
		<-ended
	})
	t.Run("deadline of the caller", func(t *testing.T) {
		var n internet
		g := newGate()
		n.serve(t, "a.example", publicAddr, g.ServeHTTP)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err := n.client(t, fetch.Options{}).Get(ctx, fetch.Request{URL: "http://a.example/"})
		if wantCode(t, err, sandrone.FetchTimeout); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

func TestLongerTimeLimitOfAnotherCallerHolds(t *testing.T) {
	var n internet
	g := newGate()
	n.serve(t, "a.example", publicAddr, g.ServeHTTP)
	c := n.client(t, fetch.Options{})
	short := start(t.Context(), c, fetch.Request{URL: "http://a.example/", Policy: fetch.Managed, Timeout: 400 * time.Millisecond})
	long := start(t.Context(), c, fetch.Request{URL: "http://a.example/", Policy: fetch.Managed, Timeout: time.Minute})
	wantCode(t, (<-short).err, sandrone.FetchTimeout)
	close(g.open)
	if o := <-long; o.err != nil || string(o.r.Body) != "answer 1" {
		t.Errorf("got %v, %v", o.r, o.err)
	}
}
