package fetch_test

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/fetch"
)

// internet is what a client under test can reach: names that resolve to what a
// test says, and addresses behind which a loopback server stands.
type internet struct {
	mu      sync.Mutex
	names   map[string]string // name: addresses, blank-separated
	servers map[string]string // address, with or without port: host:port of the server
	lookups []string
	dials   []string
}

const publicAddr = "93.184.216.34"

// serve puts h behind a public address and a name of its own.
func (n *internet) serve(t *testing.T, name, addr string, h http.HandlerFunc) {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	n.add(name, addr, s.Listener.Addr().String())
}

func (n *internet) add(name, addr, server string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.names == nil {
		n.names, n.servers = map[string]string{}, map[string]string{}
	}
	n.names[name] = addr
	n.servers[addr] = server
}

func (n *internet) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lookups = append(n.lookups, host)
	text, ok := n.names[host]
	if !ok {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	var addrs []netip.Addr
	for _, s := range strings.Fields(text) {
		addrs = append(addrs, netip.MustParseAddr(s))
	}
	return addrs, nil
}

func (n *internet) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	n.dials = append(n.dials, addr)
	server, ok := n.servers[addr]
	if !ok {
		server, ok = n.servers[host]
	}
	n.mu.Unlock()
	if !ok {
		return nil, fmt.Errorf("no route to %s", addr)
	}
	return new(net.Dialer).DialContext(ctx, network, server)
}

func (n *internet) dialed() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.dials)
}

// client makes a client on n; the environment has no proxy unless o says so.
func (n *internet) client(t testing.TB, o fetch.Options) *fetch.Client {
	t.Helper()
	if o.Resolver == nil {
		o.Resolver = n
	}
	if o.Dial == nil {
		o.Dial = n.dial
	}
	if o.EnvProxy == nil {
		o.EnvProxy = func(*url.URL) (*url.URL, error) { return nil, nil }
	}
	c, err := fetch.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// wantCode checks that err is an error with code, and returns it.
func wantCode(t testing.TB, err error, code sandrone.Code) *sandrone.Error {
	t.Helper()
	e, ok := errors.AsType[*sandrone.Error](err)
	if !ok {
		t.Fatalf("got error %v, want one with code %s", err, code)
	}
	if e.Code != code {
		t.Fatalf("got %v (cause %v), want code %s", e, e.Unwrap(), code)
	}
	return e
}

func TestGetSendsOnlyWhatIsNeeded(t *testing.T) {
	var n internet
	var got *http.Request
	n.serve(t, "sub.example.com", publicAddr, func(w http.ResponseWriter, r *http.Request) {
		got = r.Clone(context.Background())
		w.Header().Set("Subscription-Userinfo", "upload=1")
		http.SetCookie(w, &http.Cookie{Name: "id", Value: "1"})
		io.WriteString(w, "nodes")
	})
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600))
	c := n.client(t, fetch.Options{Clock: func() time.Time { return at }})
	for range 2 { // a cookie of the first answer would show in the second request
		r, err := c.Get(t.Context(), fetch.Request{URL: " http://us%65r:p%40ss@Sub.Example.COM./a%2Fb?token=é x&y=%20#frag ", Policy: fetch.Managed})
		if err != nil {
			t.Fatal(err)
		}
		if string(r.Body) != "nodes" || r.Status != 200 || r.NotModified || r.Header.Get("Subscription-Userinfo") != "upload=1" {
			t.Errorf("got %+v", r)
		}
		sum := fmt.Sprintf("%x", sha256.Sum256([]byte("nodes")))
		if r.SHA256 != sum {
			t.Errorf("got hash %s, want %s", r.SHA256, sum)
		}
		if !r.FetchedAt.Equal(at) || r.FetchedAt.Location() != time.UTC {
			t.Errorf("got time %v, want %v in UTC", r.FetchedAt, at)
		}
		const shown = "http://Sub.Example.COM./a%2Fb?token=é x&y=%20"
		if want := (sandrone.SourceRef{Kind: "remote", Name: shown, URL: shown, Note: "status=200 sha256=" + sum}); r.Ref != want {
			t.Errorf("got ref %+v, want %+v", r.Ref, want)
		}
	}
	if want := "/a%2Fb?token=%C3%A9%20x&y=%20"; got.RequestURI != want {
		t.Errorf("got request line %q, want %q", got.RequestURI, want)
	}
	if got.Host != "sub.example.com" {
		t.Errorf("got host %q", got.Host)
	}
	if user, password, _ := got.BasicAuth(); user != "user" || password != "p@ss" {
		t.Errorf("got login %q %q", user, password)
	}
	want := http.Header{
		"Accept-Encoding": {"gzip, br, deflate, zstd"},
		"Authorization":   got.Header["Authorization"],
		"Connection":      {"close"},
		"User-Agent":      {sandrone.UserAgent()},
	}
	if fmt.Sprint(got.Header) != fmt.Sprint(want) {
		t.Errorf("got header %v, want %v", got.Header, want)
	}
}

func TestUserAgentAndTimeoutOfRequestWinUnlessPublic(t *testing.T) {
	var n internet
	n.serve(t, "a.example", publicAddr, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, r.UserAgent())
	})
	tests := []struct {
		name, settings, request string
		policy                  fetch.Policy
		want                    string
	}{
		{"built in", "", "", fetch.Managed, sandrone.UserAgent()},
		{"settings", " clash.meta ", "", fetch.Managed, "clash.meta"},
		{"request", "clash.meta", " mine/1 ", fetch.Managed, "mine/1"},
		{"public", "clash.meta", "mine/1", fetch.Public, sandrone.UserAgent()},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := n.client(t, fetch.Options{UserAgent: tt.settings})
			// A nanosecond would fail if a public fetch took it.
			timeout := time.Duration(0)
			if tt.policy == fetch.Public {
				timeout = 1
			}
			r, err := c.Get(t.Context(), fetch.Request{URL: "http://a.example", Policy: tt.policy, UserAgent: tt.request, Timeout: timeout})
			if err != nil {
				t.Fatal(err)
			}
			if string(r.Body) != tt.want {
				t.Errorf("got user agent %q, want %q", r.Body, tt.want)
			}
		})
	}
}

func TestGetRefusesRequestsThatAreNotValid(t *testing.T) {
	tests := []struct {
		name  string
		r     fetch.Request
		field string
		words string
	}{
		{"empty url", fetch.Request{URL: "  "}, "url", "required"},
		{"no scheme", fetch.Request{URL: "example.com/sub"}, "url", "http or https"},
		{"file", fetch.Request{URL: "file:///etc/passwd"}, "url", "http or https"},
		{"ftp", fetch.Request{URL: "ftp://example.com/"}, "url", "http or https"},
		{"opaque", fetch.Request{URL: "http:example.com"}, "url", "host"},
		{"no host", fetch.Request{URL: "https:///sub"}, "url", "host"},
		{"port without host", fetch.Request{URL: "https://:443/sub"}, "url", "host"},
		{"port zero", fetch.Request{URL: "http://a.example:0/"}, "url", "port"},
		{"port too large", fetch.Request{URL: "http://a.example:65536/"}, "url", "port"},
		{"control character", fetch.Request{URL: "http://a.example/\r\nX: y"}, "url", "valid"},
		{"blank in host", fetch.Request{URL: "http://a b.example/"}, "url", "valid"},
		{"empty label", fetch.Request{URL: "http://a..example/"}, "url", "host"},
		{"two dots at the end", fetch.Request{URL: "http://a.example../"}, "url", "host"},
		{"number that is no address", fetch.Request{URL: "http://1.2.3.256/"}, "url", "host"},
		{"name that ends in a number", fetch.Request{URL: "http://a.example.1/"}, "url", "host"},
		{"five numbers", fetch.Request{URL: "http://1.2.3.4.5/"}, "url", "host"},
		{"address in brackets", fetch.Request{URL: "http://[127.0.0.1]/"}, "url", "valid"},
		{"name in brackets", fetch.Request{URL: "http://[a.example]/"}, "url", "valid"},
		{"percent-encoded host", fetch.Request{URL: "http://%31%32%37.0.0.1/"}, "url", "valid"},
		{"long label", fetch.Request{URL: "http://" + strings.Repeat("a", 64) + ".example/"}, "url", "host"},
		{"long name", fetch.Request{URL: "http://" + strings.Repeat("a.", 127) + "example/"}, "url", "host"},
		{"user agent", fetch.Request{URL: "http://a.example", Policy: fetch.Managed, UserAgent: "a\nb"}, "user_agent", "control"},
		{"proxy scheme", fetch.Request{URL: "http://a.example", Policy: fetch.Managed, Proxy: "socks4://p.example"}, "proxy", `unsupported remote proxy scheme "socks4"`},
		{"proxy without scheme", fetch.Request{URL: "http://a.example", Policy: fetch.Managed, Proxy: "user:hunter2@p.example"}, "proxy", "proxy"},
		{"proxy without host", fetch.Request{URL: "http://a.example", Policy: fetch.Managed, Proxy: "http://"}, "proxy", "host"},
		{"proxy of a public fetch", fetch.Request{URL: "http://a.example", Proxy: "http://p.example"}, "proxy", "no proxy"},
	}
	var n internet
	c := n.client(t, fetch.Options{})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := c.Get(t.Context(), tt.r)
			e := wantCode(t, err, sandrone.InvalidArgument)
			if e.Field != tt.field || !strings.Contains(e.Message, tt.words) {
				t.Errorf("got field %q message %q, want %q with %q", e.Field, e.Message, tt.field, tt.words)
			}
			if _, err := c.Key(tt.r); err == nil || err.Error() != e.Error() {
				t.Errorf("Key: got %v, want %v", err, e)
			}
		})
	}
	if d := n.dialed(); len(d) != 0 || len(n.lookups) != 0 {
		t.Errorf("dialled %v, looked up %v", d, n.lookups)
	}
}

func TestNewNamesTheSettingAtFault(t *testing.T) {
	tests := []struct {
		name  string
		o     fetch.Options
		field string
	}{
		{"user agent", fetch.Options{UserAgent: "a\x00"}, "remote_defaults.user_agent"},
		{"proxy scheme", fetch.Options{Proxy: "ftp://p.example"}, "remote_defaults.proxy"},
		{"proxy host", fetch.Options{Proxy: "socks5://:1080"}, "remote_defaults.proxy"},
		{"blank entry", fetch.Options{AllowHosts: []string{"nas.lan", " "}}, "remote_defaults.allow_hosts[1]"},
		{"lone star", fetch.Options{AllowHosts: []string{"*"}}, "remote_defaults.allow_hosts[0]"},
		{"star without name", fetch.Options{AllowHosts: []string{"*."}}, "remote_defaults.allow_hosts[0]"},
		{"star before address", fetch.Options{AllowHosts: []string{"*.10.0.0.1"}}, "remote_defaults.allow_hosts[0]"},
		{"port", fetch.Options{AllowHosts: []string{"nas.lan:80"}}, "remote_defaults.allow_hosts[0]"},
		{"url", fetch.Options{AllowHosts: []string{"http://user:hunter2@nas.lan"}}, "remote_defaults.allow_hosts[0]"},
		{"bad cidr", fetch.Options{AllowHosts: []string{"10.0.0.0/33"}}, "remote_defaults.allow_hosts[0]"},
		{"zone", fetch.Options{AllowHosts: []string{"fe80::1%eth0"}}, "remote_defaults.allow_hosts[0]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := fetch.New(tt.o)
			e := wantCode(t, err, sandrone.InvalidArgument)
			if e.Field != tt.field {
				t.Errorf("got field %q, want %q", e.Field, tt.field)
			}
			if strings.Contains(e.Error(), "hunter2") {
				t.Errorf("the message shows the entry: %v", e)
			}
		})
	}
}

func TestStatusDecidesSuccess(t *testing.T) {
	tests := []struct {
		status int
		etag   string
		want   sandrone.Code
	}{
		{200, "", ""}, {204, "", ""}, {206, "", ""}, {299, "", ""},
		{300, "", sandrone.FetchFailed}, {302, "", sandrone.FetchFailed}, // without Location
		{304, "", sandrone.FetchFailed}, {304, `"v1"`, ""},
		{401, "", sandrone.FetchFailed}, {404, `"v1"`, sandrone.FetchFailed}, {500, "", sandrone.FetchFailed},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.status, tt.etag), func(t *testing.T) {
			var n internet
			n.serve(t, "a.example", publicAddr, func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(tt.status) })
			r, err := n.client(t, fetch.Options{}).Get(t.Context(), fetch.Request{URL: "http://a.example/", ETag: tt.etag})
			if tt.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				if r.Status != tt.status || r.NotModified != (tt.status == 304) || len(r.Body) != 0 {
					t.Errorf("got %+v", r)
				}
				return
			}
			if e := wantCode(t, err, tt.want); e.Message != fmt.Sprintf("remote returned status %d", tt.status) || e.Source != "http://a.example" {
				t.Errorf("got %q from %q", e.Message, e.Source)
			}
		})
	}
}

func TestValidatorsAreSentAndAnswered(t *testing.T) {
	var n internet
	n.serve(t, "a.example", publicAddr, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Subscription-Userinfo", "upload=2")
		if r.Header.Get("If-None-Match") == `W/"v1"` && r.Header.Get("If-Modified-Since") == "Thu, 01 Jan 2026 00:00:00 GMT" {
			w.WriteHeader(304)
			return
		}
		fmt.Fprint(w, r.Header)
	})
	r, err := n.client(t, fetch.Options{}).Get(t.Context(), fetch.Request{
		URL: "http://a.example/", Policy: fetch.Managed, ETag: `W/"v1"`, LastModified: "Thu, 01 Jan 2026 00:00:00 GMT",
	})
	if err != nil {
		t.Fatal(err)
	}
	if !r.NotModified || r.Status != 304 || r.Body != nil || r.SHA256 != "" || r.Header.Get("Subscription-Userinfo") != "upload=2" {
		t.Errorf("got %+v", r)
	}
}

func TestFailuresOfTheNetworkAreFetchFailed(t *testing.T) {
	var n internet
	secure := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	t.Cleanup(secure.Close)
	n.add("example.com", "1.1.1.1", secure.Listener.Addr().String())
	n.add("other.example", "1.1.1.2", secure.Listener.Addr().String())
	n.serve(t, "plain.example", "1.1.1.3", func(w http.ResponseWriter, r *http.Request) {})
	n.serve(t, "cut.example", "1.1.1.4", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "100")
		io.WriteString(w, "short")
	})
	n.serve(t, "headers.example", "1.1.1.5", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Big", strings.Repeat("x", 1<<20))
	})
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	n.add("closed.example", "1.1.1.6", closed.Addr().String())
	n.add("empty.example", "", "")

	roots := x509.NewCertPool()
	roots.AddCert(secure.Certificate())
	trusting := n.client(t, fetch.Options{RootCAs: roots})
	if _, err := trusting.Get(t.Context(), fetch.Request{URL: "https://example.com/"}); err != nil {
		t.Fatalf("a trusted certificate: %v", err)
	}
	tests := []struct{ name, url, words string }{
		{"unknown name", "http://nowhere.example/", "resolved"},
		{"name without address", "http://empty.example/", "resolved"},
		{"wrong certificate", "https://other.example/", "certificate"},
		{"no TLS", "https://plain.example/", ""},
		{"refused", "http://closed.example/", "refused"},
		{"cut short", "http://cut.example/", "ended early"},
		{"huge header", "http://headers.example/", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := trusting.Get(t.Context(), fetch.Request{URL: tt.url})
			e := wantCode(t, err, sandrone.FetchFailed)
			if !strings.Contains(e.Message, tt.words) {
				t.Errorf("got %q, want the word %q", e.Message, tt.words)
			}
			if e.Unwrap() == nil {
				t.Error("the cause is lost")
			}
		})
	}
	t.Run("untrusted certificate", func(t *testing.T) {
		_, err := n.client(t, fetch.Options{RootCAs: x509.NewCertPool()}).Get(t.Context(), fetch.Request{URL: "https://example.com/", Policy: fetch.Managed})
		if e := wantCode(t, err, sandrone.FetchFailed); !strings.Contains(e.Message, "certificate") {
			t.Errorf("got %q", e.Message)
		}
	})
	t.Run("old TLS", func(t *testing.T) {
		old := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		old.Config.ErrorLog = log.New(io.Discard, "", 0)
		old.TLS = &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}
		old.StartTLS()
		t.Cleanup(old.Close)
		n.add("example.com", "1.1.1.7", old.Listener.Addr().String())
		_, err := trusting.Get(t.Context(), fetch.Request{URL: "https://example.com/"})
		wantCode(t, err, sandrone.FetchFailed)
	})
}

func TestHTTP2IsSpokenAndItsConnectionEnds(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Write(encode(t, []byte(r.Proto+" "+r.UserAgent()), "gzip"))
	}))
	s.EnableHTTP2 = true
	ended := make(chan struct{})
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			close(ended)
		}
	}
	s.StartTLS()
	t.Cleanup(s.Close)
	var n internet
	n.add("example.com", publicAddr, s.Listener.Addr().String())
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	r, err := n.client(t, fetch.Options{RootCAs: roots}).Get(t.Context(), fetch.Request{URL: "https://example.com/"})
	if err != nil || string(r.Body) != "HTTP/2.0 "+sandrone.UserAgent() {
		t.Fatalf("got %v, %v", r, err)
	}
	<-ended
}

func TestErrorsShowNoSecrets(t *testing.T) {
	var n internet
	n.serve(t, "a.example", publicAddr, func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(500) })
	n.serve(t, "jump.example", "93.184.216.35", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", r.URL.Query().Get("to"))
		w.WriteHeader(302)
	})
	c := n.client(t, fetch.Options{})
	tests := []struct {
		name   string
		r      fetch.Request
		source string
	}{
		{"status", fetch.Request{URL: "http://u:S3CRET@a.example/S3CRET?S3CRET#S3CRET"}, "http://a.example"},
		{"name", fetch.Request{URL: "https://S3CRET@nowhere.example:8443/S3CRET"}, "https://nowhere.example:8443"},
		{"address", fetch.Request{URL: "http://u:S3CRET@127.0.0.1/S3CRET", Policy: fetch.Managed}, "http://127.0.0.1"},
		{"scheme", fetch.Request{URL: "vmess://S3CRET"}, ""},
		{"not an address", fetch.Request{URL: "http://u:S3CRET@a.example:x/"}, ""},
		{"bad escape", fetch.Request{URL: "http://a.example/%zzS3CRET"}, ""},
		{"proxy", fetch.Request{URL: "http://a.example/", Policy: fetch.Managed, Proxy: "http://S3CRET:S3CRET@p.example:1"}, "http://a.example"},
		{"bad proxy", fetch.Request{URL: "http://a.example/", Policy: fetch.Managed, Proxy: "S3CRET:S3CRET@p.example"}, "http://a.example"},
		{"bad redirect", fetch.Request{URL: "http://jump.example/?to=file:///S3CRET"}, "http://jump.example"},
		{"redirect to an address", fetch.Request{URL: "http://jump.example/?to=http://S3CRET@10.0.0.1/S3CRET"}, "http://jump.example"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := c.Get(t.Context(), tt.r)
			e, ok := errors.AsType[*sandrone.Error](err)
			if !ok {
				t.Fatalf("got %v", err)
			}
			shown, _ := json.Marshal(e)
			if strings.Contains(strings.ToLower(string(shown)+e.Error()), "s3cret") {
				t.Errorf("shows a secret: %s", shown)
			}
			if e.Source != tt.source {
				t.Errorf("got source %q, want %q", e.Source, tt.source)
			}
		})
	}
}

func TestKeyNamesTheEffectiveSource(t *testing.T) {
	var n internet
	c := n.client(t, fetch.Options{UserAgent: "mine", Proxy: "http://10.0.0.1:3128"})
	key := func(r fetch.Request) string {
		t.Helper()
		k, err := c.Key(r)
		if err != nil {
			t.Fatal(err)
		}
		if len(k) != 64 {
			t.Fatalf("got key %q", k)
		}
		return k
	}
	base := key(fetch.Request{URL: "http://u:p@a.example/?q#f", Policy: fetch.Managed})
	for _, r := range []fetch.Request{
		{URL: "http://u:p@a.example/?q#other", Policy: fetch.Managed},
		{URL: " http://u:p@A.example/?q", Policy: fetch.Managed, UserAgent: "mine", ETag: "x", Timeout: 1},
		{URL: "http://u:p@a.example/?q", Policy: fetch.Managed, Proxy: "http://10.0.0.1:3128"},
	} {
		if key(r) != base {
			t.Errorf("%+v: another key", r)
		}
	}
	for _, r := range []fetch.Request{
		{URL: "http://u:p@a.example/?q"}, // public: no proxy, own agent
		{URL: "http://u:p2@a.example/?q", Policy: fetch.Managed},
		{URL: "http://a.example/?q", Policy: fetch.Managed},
		{URL: "http://u:p@a.example/?Q", Policy: fetch.Managed},
		{URL: "https://u:p@a.example/?q", Policy: fetch.Managed},
		{URL: "http://u:p@a.example/?q", Policy: fetch.Managed, UserAgent: "other"},
		{URL: "http://u:p@a.example/?q", Policy: fetch.Managed, Proxy: "http://10.0.0.2:3128"},
	} {
		if key(r) == base {
			t.Errorf("%+v: the same key", r)
		}
	}
}

func TestDisplayAndRedact(t *testing.T) {
	tests := []struct{ in, display, redact string }{
		{" HTTPS://u:p@Sub.example:8443/a%2Fb/c?token=1#noflow ", "https://Sub.example:8443", "https://Sub.example:8443/a%2Fb/c"},
		{"http://[2001:db8::1]/", "http://[2001:db8::1]", "http://[2001:db8::1]/"},
		{"http://h", "http://h", "http://h"},
		{"ftp://u@h/x", "", ""},
		{"trojan://password@h:443?sni=x", "", ""},
		{"vmess://eyJwcyI6Im5vZGUi", "", ""},
		{"u:p@h/x", "", ""},
		{"http:token?x", "", ""},
		{"//u:p@h/x", "", ""},
		{"http://u:p@h:x/", "", ""},
		{"", "", ""},
	}
	for _, tt := range tests {
		if got := fetch.Display(tt.in); got != tt.display {
			t.Errorf("Display(%q): got %q, want %q", tt.in, got, tt.display)
		}
		if got := fetch.Redact(tt.in); got != tt.redact {
			t.Errorf("Redact(%q): got %q, want %q", tt.in, got, tt.redact)
		}
	}
}
