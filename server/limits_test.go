package server_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/fetch"
	"github.com/sandrone-gateway/sandrone/server"
)

// The tests of time run in a bubble: its clock jumps when everything waits, so
// that a minute costs nothing. Connections are pipes, which the bubble knows.

// pipes is a listener whose connections are pipes.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return pipeAddr{} }

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "pipe" }

func (p *pipes) dial(t *testing.T) net.Conn {
	t.Helper()
	client, srv := net.Pipe()
	select {
	case p.conns <- srv:
	case <-p.closed:
		t.Fatal("the server does not accept")
	}
	return client
}

// served is a server that runs in the bubble.
type served struct {
	*pipes
	stop context.CancelFunc
	done chan error
}

func serveInBubble(t *testing.T, s *server.Server) *served {
	v := &served{pipes: newPipes(), done: make(chan error, 1)}
	ctx, stop := context.WithCancel(t.Context())
	v.stop = stop
	go func() { v.done <- s.Serve(ctx, v.pipes) }()
	return v
}

func (v *served) end(t *testing.T) {
	t.Helper()
	v.stop()
	if err := <-v.done; err != nil {
		t.Errorf("serve: %v", err)
	}
}

func (v *served) call(t *testing.T, c call) answer {
	t.Helper()
	conn := v.dial(t)
	defer conn.Close()
	go c.write(conn, "localhost")
	return c.read(t, conn)
}

func TestSlowRequestsRunOutOfTime(t *testing.T) {
	const head = " HTTP/1.1\r\nHost: localhost\r\n"
	for _, c := range []struct {
		name   string
		sent   string
		limit  time.Duration
		status int // 0: the connection is closed without an answer
	}{
		{"header", "GET /healthz" + head, 10 * time.Second, 0},
		{"body of a protected route", "POST /v1/convert" + head + "Content-Length: 50\r\n\r\n{", time.Minute, 400},
		{"body that a public route does not read", "GET /healthz" + head + "Content-Length: 50\r\n\r\n{", 10 * time.Second, 200},
		{"next request of a connection", "GET /healthz" + head + "\r\n", 30 * time.Second, 200},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v := serveInBubble(t, setup{}.server(t))
				conn := v.dial(t)
				start := time.Now()
				go io.WriteString(conn, c.sent)
				text, err := io.ReadAll(conn)
				if err != nil {
					t.Errorf("read: %v", err)
				}
				if took := time.Since(start); took < c.limit || took > c.limit+time.Second {
					t.Errorf("closed after %v, want %v", took, c.limit)
				}
				if want := fmt.Sprintf("HTTP/1.1 %d ", c.status); c.status != 0 && !strings.HasPrefix(string(text), want) {
					t.Errorf("got %q, want %q", text, want)
				}
				if c.status == 0 && len(text) > 0 && !strings.HasPrefix(string(text), "HTTP/1.1 408") {
					t.Errorf("got an answer %q, want none", text)
				}
				conn.Close()
				v.end(t)
			})
		})
	}
}

func TestSettingLimitsTheBodyTimeOfPublicRoutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := serveInBubble(t, setup{settings: func(s *sandrone.Settings) { s.HTTP.BodyTimeoutSeconds = 3 }}.server(t))
		conn := v.dial(t)
		start := time.Now()
		go io.WriteString(conn, "GET /convert HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50\r\n\r\n{")
		if _, err := io.ReadAll(conn); err != nil {
			t.Errorf("read: %v", err)
		}
		if took := time.Since(start); took != 3*time.Second {
			t.Errorf("closed after %v, want 3s", took)
		}
		conn.Close()
		v.end(t)
	})
}

func TestBodyDeadlineEndsWithTheBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(ctx context.Context, _ fetch.Request) (*fetch.Response, error) {
			select {
			case <-time.After(3 * time.Minute):
				return &fetch.Response{Body: []byte(link)}, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		v := serveInBubble(t, setup{fetch: slow}.server(t))
		a := v.call(t, call{method: "POST", path: "/v1/convert", body: `{"to_format":"json-nodes","remote":{"url":"https://a.example"}}`})
		if a.status != 200 {
			t.Errorf("got %d, want 200: the body was there at once, only the work took long", a.status)
		}
		v.end(t)
	})
}

const publicRemote = "/convert?to_format=json-nodes&url=https://a.example/"

// gate is a network whose answers wait to be let through.
type gate struct {
	open  chan struct{}
	calls atomic.Int32
	ended atomic.Int32 // calls whose context ended
}

func (g *gate) get(ctx context.Context, _ fetch.Request) (*fetch.Response, error) {
	g.calls.Add(1)
	select {
	case <-g.open:
		return &fetch.Response{Body: []byte(link)}, nil
	case <-ctx.Done():
		g.ended.Add(1)
		return nil, ctx.Err()
	}
}

func TestPublicConversionsBeyondTheLimitAreBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{open: make(chan struct{})}
		v := serveInBubble(t, setup{fetch: g.get, settings: func(s *sandrone.Settings) { s.PublicConvert.MaxConcurrent = 2 }}.server(t))
		var wg sync.WaitGroup
		for i := range 2 {
			wg.Go(func() {
				if a := v.call(t, call{method: "GET", path: publicRemote + fmt.Sprint(i)}); a.status != 200 {
					t.Errorf("running: got %d", a.status)
				}
			})
		}
		synctest.Wait()
		start := time.Now()
		a := v.call(t, call{method: "GET", path: publicRemote + "x"})
		if a.status != 503 || a.header.Get("Retry-After") != "1" || a.errorObject(t).Code != sandrone.Busy {
			t.Errorf("one more: got %d %v %s", a.status, a.header, a.body)
		}
		if took := time.Since(start); took != 2*time.Second {
			t.Errorf("one more waited %v, want 2s", took)
		}
		// One that waits gets the slot that becomes free in time.
		wg.Go(func() {
			if a := v.call(t, call{method: "GET", path: publicRemote + "y"}); a.status != 200 {
				t.Errorf("waiting: got %d", a.status)
			}
		})
		time.Sleep(time.Second) // of the bubble's clock
		close(g.open)
		wg.Wait()
		if n := g.calls.Load(); n != 3 {
			t.Errorf("got %d fetches, want 3", n)
		}
		v.end(t)
	})
}

func TestEqualPublicConversionsShareOneRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{open: make(chan struct{})}
		v := serveInBubble(t, setup{fetch: g.get, settings: func(s *sandrone.Settings) { s.PublicConvert.MaxConcurrent = 1 }}.server(t))
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				if a := v.call(t, call{method: "GET", path: publicRemote}); a.status != 200 || !strings.Contains(a.body, "one") {
					t.Errorf("got %d %s", a.status, a.body)
				}
			})
		}
		synctest.Wait()
		close(g.open)
		wg.Wait()
		if n := g.calls.Load(); n != 1 {
			t.Errorf("got %d runs, want 1", n)
		}
		// What is over is not shared.
		v.call(t, call{method: "GET", path: publicRemote})
		if n := g.calls.Load(); n != 2 {
			t.Errorf("got %d runs, want 2", n)
		}
		v.end(t)
	})
}

func TestARunEndsWhenNobodyWaitsForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{open: make(chan struct{})}
		v := serveInBubble(t, setup{fetch: g.get}.server(t))
		var conns []net.Conn
		for range 2 {
			conn := v.dial(t)
			conns = append(conns, conn)
			go fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", publicRemote)
		}
		synctest.Wait()
		conns[0].Close()
		synctest.Wait()
		if n := g.ended.Load(); n != 0 {
			t.Error("the run ended although one still waits")
		}
		conns[1].Close()
		synctest.Wait()
		if n := g.ended.Load(); n != 1 {
			t.Errorf("got %d ended runs, want 1", n)
		}
		v.end(t)
	})
}

func TestStopWaitsForRunningRequestsThenCancelsThem(t *testing.T) {
	for _, c := range []struct {
		name   string
		opens  time.Duration // after the stop
		wait   time.Duration // until Serve returns
		status int           // 0: cut
	}{
		{"in time", 4 * time.Second, 4 * time.Second, 200},
		{"too late", time.Hour, 10 * time.Second, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := &gate{open: make(chan struct{})}
				v := serveInBubble(t, setup{fetch: g.get}.server(t))
				conn := v.dial(t)
				go call{method: "GET", path: publicRemote}.write(conn, "x")
				status := make(chan int, 1)
				go func() {
					text, _ := io.ReadAll(conn)
					var n int
					fmt.Sscanf(string(text), "HTTP/1.1 %d", &n)
					status <- n
				}()
				synctest.Wait()
				start := time.Now()
				timer := time.AfterFunc(c.opens, func() { close(g.open) })
				v.end(t)
				// The server looks every now and then whether requests are done.
				if took := time.Since(start); took < c.wait || took > c.wait+time.Second {
					t.Errorf("stopped after %v, want %v", took, c.wait)
				}
				if got := <-status; got != c.status && !(c.status == 0 && got == 503) {
					t.Errorf("status: got %d, want %d", got, c.status)
				}
				timer.Stop()
				synctest.Wait()
				if c.status == 0 && g.ended.Load() != 1 {
					t.Error("the work goes on after the stop")
				}
				select {
				case v.conns <- nil:
					t.Error("the server still accepts")
				default:
				}
				conn.Close()
			})
		})
	}
}

func TestPanicCostsOneRequest(t *testing.T) {
	for _, path := range []string{"public", "protected", "batch"} {
		t.Run(path, func(t *testing.T) {
			var log syncBuffer
			address := setup{log: &log, fetch: func(context.Context, fetch.Request) (*fetch.Response, error) {
				panic("hunter2 leaks here")
			}}.start(t)
			c := call{method: "GET", path: publicRemote}
			switch path {
			case "protected":
				c = call{method: "POST", path: "/v1/convert", body: `{"to_format":"json-nodes","remote":{"url":"https://a.example/hunter2"}}`}
			case "batch":
				c = call{method: "POST", path: "/v1/convert", body: `{"to_format":"json-nodes","remote_batch":{"sources":[{"url":"https://a.example/hunter2"}]}}`}
			}
			a := c.do(t, address)
			if e := a.errorObject(t); a.status != 500 || e.Code != sandrone.InternalError || e.Message != "internal error" {
				t.Errorf("got %d %v", a.status, e)
			}
			if a := (call{method: "GET", path: "/healthz"}).do(t, address); a.status != 200 {
				t.Errorf("after it: got %d", a.status)
			}
			if text := log.String(); !strings.Contains(text, "panic with a string") || !strings.Contains(text, "limits_test.go") {
				t.Errorf("log lacks the panic and where it was: %s", text)
			} else if strings.Contains(text, "hunter2") {
				t.Errorf("log holds what the panic said: %s", text)
			}
		})
	}
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func TestUnknownErrorsAreInternalAndKeptFromTheClient(t *testing.T) {
	var log syncBuffer
	s := setup{log: &log, fetch: func(context.Context, fetch.Request) (*fetch.Response, error) {
		return nil, fmt.Errorf("reading /var/lib/x: %w", errors.New("hunter2"))
	}}.server(t)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest("GET", publicRemote, nil))
	if w.Code != 500 || strings.Contains(w.Body.String(), "hunter2") || strings.Contains(w.Body.String(), "/var") {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
	if text := log.String(); strings.Contains(text, "hunter2") || strings.Contains(text, "/var") || !strings.Contains(text, "cause=*errors.errorString") {
		t.Errorf("log: %s", text)
	}
}

func TestRateLimit(t *testing.T) {
	type step struct {
		after     time.Duration
		from      string
		forwarded string
		status    int
		retry     string
	}
	for _, c := range []struct {
		name    string
		proxies []string
		steps   []step
	}{
		{name: "three a minute, then one each twenty seconds", steps: []step{
			{from: "192.0.2.1:1", status: 200},
			{from: "192.0.2.1:2", status: 200},
			{from: "192.0.2.1:3", status: 200},
			{from: "192.0.2.1:4", status: 429, retry: "20"},
			{from: "192.0.2.2:4", status: 200},
			{after: 5 * time.Second, from: "192.0.2.1:5", status: 429, retry: "15"},
			{after: 15 * time.Second, from: "192.0.2.1:5", status: 200},
			{from: "192.0.2.1:5", status: 429, retry: "20"},
			{after: time.Hour, from: "192.0.2.1:5", status: 200},
			{from: "192.0.2.1:5", status: 200},
			{from: "192.0.2.1:5", status: 200},
			{from: "192.0.2.1:5", status: 429, retry: "20"},
		}},
		{name: "IPv6 clients are networks", steps: []step{
			{from: "[2001:db8:1:2::1]:1", status: 200},
			{from: "[2001:db8:1:2::2]:1", status: 200},
			{from: "[2001:db8:1:2:ffff::]:1", status: 200},
			{from: "[2001:db8:1:2::4]:1", status: 429, retry: "20"},
			{from: "[2001:db8:1:3::1]:1", status: 200},
		}},
		{name: "a mapped address is the IPv4 client", steps: []step{
			{from: "192.0.2.1:1", status: 200},
			{from: "[::ffff:192.0.2.1]:1", status: 200},
			{from: "192.0.2.1:1", status: 200},
			{from: "[::ffff:192.0.2.1]:1", status: 429, retry: "20"},
			{from: "[::ffff:192.0.2.2]:1", status: 200},
		}},
		{name: "the header of a client that is no proxy does not count", steps: []step{
			{from: "192.0.2.1:1", forwarded: "198.51.100.1", status: 200},
			{from: "192.0.2.1:1", forwarded: "198.51.100.2", status: 200},
			{from: "192.0.2.1:1", forwarded: "198.51.100.3", status: 200},
			{from: "192.0.2.1:1", forwarded: "198.51.100.4", status: 429, retry: "20"},
		}},
		{name: "behind proxies the last entry that is none counts", proxies: []string{"10.0.0.0/8", "2001:db8::5"}, steps: []step{
			{from: "10.0.0.1:1", forwarded: "198.51.100.1", status: 200},
			{from: "10.0.0.2:1", forwarded: "203.0.113.9, 198.51.100.1", status: 200},
			{from: "[2001:db8::5]:1", forwarded: "198.51.100.1:4711,10.0.0.7", status: 200},
			{from: "10.0.0.1:1", forwarded: "203.0.113.7, 198.51.100.1", status: 429, retry: "20"},
			{from: "10.0.0.1:1", forwarded: "198.51.100.1, nonsense", status: 200},
			{from: "10.0.0.1:1", forwarded: "198.51.100.2", status: 200},
			{from: "10.0.0.1:1", status: 200},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			now := time.Unix(1_800_000_000, 0)
			s := setup{now: func() time.Time { return now }, settings: func(s *sandrone.Settings) {
				s.PublicConvert.RequestsPerMinute = 3
				s.HTTP.TrustedProxies = c.proxies
			}}.server(t)
			for i, step := range c.steps {
				now = now.Add(step.after)
				r := httptest.NewRequest("GET", "/convert?to_format=json-nodes&content=trojan%3A%2F%2Fpw%40192.0.2.1%3A443%23one", nil)
				r.RemoteAddr = step.from
				if step.forwarded != "" {
					r.Header.Set("X-Forwarded-For", step.forwarded)
				}
				w := httptest.NewRecorder()
				s.ServeHTTP(w, r)
				if w.Code != step.status || w.Header().Get("Retry-After") != step.retry {
					t.Errorf("step %d: got %d, retry after %q; want %d, %q", i, w.Code, w.Header().Get("Retry-After"), step.status, step.retry)
				}
				if w.Header().Get("Cache-Control") != "no-store" {
					t.Errorf("step %d: no Cache-Control", i)
				}
			}
		})
	}
}

func TestRateLimitRemembersABoundedNumberOfClients(t *testing.T) {
	s := setup{settings: func(s *sandrone.Settings) { s.PublicConvert.RequestsPerMinute = 1 }}.server(t)
	get := func(from string) int {
		r := httptest.NewRequest("GET", "/convert", nil) // refused after the limit was asked
		r.RemoteAddr = from
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w.Code
	}
	if a, b := get("192.0.2.1:1"), get("192.0.2.1:1"); a != 400 || b != http.StatusTooManyRequests {
		t.Fatalf("got %d and %d, want 400 and 429", a, b)
	}
	for i := range 4096 {
		get(fmt.Sprintf("10.%d.%d.%d:1", i>>16, i>>8&255, i&255))
	}
	if got := get("192.0.2.1:1"); got != 400 {
		t.Errorf("the client seen longest ago: got %d, want to be forgotten", got)
	}
	if got := get("10.0.15.255:1"); got != http.StatusTooManyRequests {
		t.Errorf("the client seen last: got %d, want to be remembered", got)
	}
}

func TestAccessLog(t *testing.T) {
	for _, c := range []struct {
		name   string
		call   call
		has    []string
		hasNot []string
	}{
		{name: "answered", call: call{method: "GET", path: "/healthz", header: []string{"User-Agent: curl/8", "X-Request-Id: abc"}},
			has: []string{"level=DEBUG", `msg="http request completed"`, "method=GET", "path=/healthz", "status=200", "duration_ms=", "bytes=17", "remote_addr=127.0.0.1:", "user_agent=curl/8", "request_id=abc"}},
		{name: "refused", call: call{method: "GET", path: "/v1/%69nspect?secret=hunter2", header: bearer("wrong-token")},
			has: []string{"level=WARN", "status=401", "path=/v1/inspect "}, hasNot: []string{"hunter2", "wrong-token", "request_id"}},
		{name: "failed", call: call{method: "GET", path: publicRemote + "?hunter2"}, has: []string{"level=ERROR", "status=502", "path=/convert "}, hasNot: []string{"hunter2", "a.example/"}},
		{name: "share", call: call{method: "GET", path: "/s/sh_hunter2/name.yaml"}, has: []string{"status=404", "path=/s/… "}, hasNot: []string{"hunter2", "name.yaml"}},
		{name: "share definition", call: call{method: "GET", path: "/v1/shares/sh_hunter2", header: bearer(token)}, has: []string{"status=404", "path=/v1/shares/… "}, hasNot: []string{"hunter2", token}},
		{name: "body", call: call{method: "POST", path: "/v1/convert", header: bearer(token), body: convertBody("")}, has: []string{"status=200"}, hasNot: []string{"hunter2", token}},
		{name: "line break in the path", call: call{method: "GET", path: "/a%0Alevel=INFO"}, has: []string{`path="/a\nlevel=INFO"`}},
		{name: "long values", call: call{method: "GET", path: "/" + strings.Repeat("p", 3000), header: []string{"User-Agent: " + strings.Repeat("u", 3000)}}, has: []string{"…"}, hasNot: []string{strings.Repeat("p", 600), strings.Repeat("u", 300)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var log syncBuffer
			s := setup{token: token, log: &log}.server(t)
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			done := make(chan error)
			go func() { done <- s.Serve(ctx, ln) }()
			c.call.do(t, ln.Addr().String())
			stop()
			<-done // the line is written when the request has ended
			text := log.String()
			if n := strings.Count(text, "http request completed"); n != 1 {
				t.Errorf("got %d lines, want 1: %s", n, text)
			}
			for _, word := range c.has {
				if !strings.Contains(text, word) {
					t.Errorf("log lacks %q: %s", word, text)
				}
			}
			for _, word := range c.hasNot {
				if strings.Contains(text, word) {
					t.Errorf("log holds %q: %s", word, text)
				}
			}
		})
	}
}
