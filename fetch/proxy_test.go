package fetch_test

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/fetch"
)

// proxy is an HTTP and SOCKS proxy on loopback that sends everything to one
// server and records what it was asked for.
type proxy struct {
	name   string
	target string // host:port of the server

	mu    sync.Mutex
	asked []string // host:port, "user:password@" in front where the client logged in
}

func (p *proxy) ask(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, what)
}

func (p *proxy) take() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := strings.Join(p.asked, " ")
	p.asked = nil
	return all
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	login := ""
	if raw, ok := strings.CutPrefix(r.Header.Get("Proxy-Authorization"), "Basic "); ok {
		text, _ := base64.StdEncoding.DecodeString(raw)
		login = string(text) + "@"
	}
	p.ask(login + r.Host)
	if r.Method != http.MethodConnect {
		io.WriteString(w, "through "+p.name)
		return
	}
	w.WriteHeader(200)
	conn, buffered, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	p.splice(conn, buffered)
}

func (p *proxy) splice(client net.Conn, from io.Reader) {
	defer client.Close()
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		return
	}
	go func() {
		io.Copy(server, from)
		server.Close()
	}()
	io.Copy(client, server)
}

// serveSOCKS speaks SOCKS 5 with a login or without.
func (p *proxy) serveSOCKS(conn net.Conn) error {
	r := bufio.NewReader(conn)
	head := make([]byte, 2)
	if _, err := io.ReadFull(r, head); err != nil || head[0] != 5 {
		return errors.New("no SOCKS 5")
	}
	methods := make([]byte, head[1])
	if _, err := io.ReadFull(r, methods); err != nil {
		return err
	}
	login := ""
	if strings.Contains(string(methods), "\x02") {
		conn.Write([]byte{5, 2})
		r.ReadByte()
		for _, end := range []string{":", "@"} {
			size, _ := r.ReadByte()
			word := make([]byte, size)
			io.ReadFull(r, word)
			login += string(word) + end
		}
		conn.Write([]byte{1, 0})
	} else {
		conn.Write([]byte{5, 0})
	}
	request := make([]byte, 4)
	if _, err := io.ReadFull(r, request); err != nil {
		return err
	}
	var host string
	switch request[3] {
	case 1, 4:
		a := make([]byte, map[byte]int{1: 4, 4: 16}[request[3]])
		io.ReadFull(r, a)
		host = net.IP(a).String()
	case 3:
		size, _ := r.ReadByte()
		name := make([]byte, size)
		io.ReadFull(r, name)
		host = "name " + string(name)
	}
	port := make([]byte, 2)
	if _, err := io.ReadFull(r, port); err != nil {
		return err
	}
	p.ask(login + net.JoinHostPort(host, strconv.Itoa(int(binary.BigEndian.Uint16(port)))))
	conn.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
	p.splice(conn, r)
	return nil
}

// startProxy returns the host:port of a proxy for a scheme.
func startProxy(t *testing.T, p *proxy, scheme string) string {
	t.Helper()
	switch scheme {
	case "http":
		s := httptest.NewServer(p)
		t.Cleanup(s.Close)
		return s.Listener.Addr().String()
	case "https":
		s := httptest.NewTLSServer(p)
		t.Cleanup(s.Close)
		return s.Listener.Addr().String()
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				p.serveSOCKS(conn)
			}()
		}
	}()
	return l.Addr().String()
}

// systemDial makes a client dial for real, for proxies on loopback.
var systemDial = new(net.Dialer).DialContext

func TestProxiesCarryTheRequestAndResolveItsName(t *testing.T) {
	secure := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "secure "+r.URL.Path+" "+r.Header.Get("Proxy-Authorization"))
	}))
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	t.Cleanup(secure.Close)
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "plain") }))
	t.Cleanup(plain.Close)
	roots := x509.NewCertPool()
	roots.AddCert(secure.Certificate())
	tests := []struct{ scheme, url, asked, body string }{
		{"http", "http://example.com/x", "us:p@ss@example.com", "through p"},
		{"http", "https://example.com/x", "us:p@ss@example.com:443", "secure /x "},
		{"http", "https://93.184.216.34:8443/x", "", ""}, // the certificate does not name it
		{"https", "http://example.com/x", "us:p@ss@example.com", "through p"},
		{"https", "https://example.com/x", "us:p@ss@example.com:443", "secure /x "},
		{"socks5", "https://Example.COM./x", "us:p@ss@name example.com:443", "secure /x "},
		{"socks5", "http://example.com:81/x", "us:p@ss@name example.com:81", "plain"},
		{"socks5", "http://8.8.2056/", "us:p@ss@8.8.8.8:80", "plain"},
	}
	for _, tt := range tests {
		t.Run(tt.scheme+" "+tt.url, func(t *testing.T) {
			p := &proxy{name: "p", target: plain.Listener.Addr().String()}
			if strings.HasPrefix(tt.url, "https") {
				p.target = secure.Listener.Addr().String()
			}
			var n internet // knows no name: a lookup would fail the fetch
			c := n.client(t, fetch.Options{
				Dial: systemDial, RootCAs: roots,
				Proxy: " " + strings.ToUpper(tt.scheme) + "://us:p%40ss@" + startProxy(t, p, tt.scheme) + "/ignored?x",
			})
			r, err := c.Get(t.Context(), fetch.Request{URL: tt.url, Policy: fetch.Managed})
			if tt.body == "" {
				e := wantCode(t, err, sandrone.FetchFailed)
				if !strings.Contains(e.Message, "certificate") {
					t.Errorf("got %q", e.Message)
				}
				return
			}
			if err != nil {
				t.Fatalf("%v: %v", err, errors.Unwrap(err))
			}
			if got := p.take(); got != tt.asked || string(r.Body) != tt.body {
				t.Errorf("the proxy was asked for %q, the body is %q; want %q, %q", got, r.Body, tt.asked, tt.body)
			}
		})
	}
}

func TestProxyOfRequestThenSettingsThenEnvironment(t *testing.T) {
	proxies := map[string]*proxy{}
	at := map[string]string{}
	for _, name := range []string{"request", "settings", "environment"} {
		proxies[name] = &proxy{name: name}
		at[name] = "http://" + startProxy(t, proxies[name], "http")
	}
	environment := func(u *url.URL) (*url.URL, error) {
		if u.Hostname() == "direct.example" {
			return nil, nil
		}
		return url.Parse(at["environment"])
	}
	var n internet
	n.serve(t, "a.example", publicAddr, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "direct") })
	n.add("direct.example", publicAddr, n.servers[publicAddr])
	tests := []struct {
		name, request, settings, url string
		policy                       fetch.Policy
		want                         string
	}{
		{"request", at["request"], at["settings"], "http://a.example/", fetch.Managed, "through request"},
		{"settings", "", at["settings"], "http://a.example/", fetch.Managed, "through settings"},
		{"environment", "", "", "http://a.example/", fetch.Managed, "through environment"},
		{"environment with an exception", "", "", "http://direct.example/", fetch.Managed, "direct"},
		{"public", "", at["settings"], "http://a.example/", fetch.Public, "direct"},
		{"public, environment", "", "", "http://a.example/", fetch.Public, "direct"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, p := range []string{"request", "settings", "environment"} {
				addr := strings.TrimPrefix(at[p], "http://")
				n.servers[addr] = addr
			}
			c := n.client(t, fetch.Options{Proxy: tt.settings, EnvProxy: environment, AllowHosts: []string{"127.0.0.1"}})
			r, err := c.Get(t.Context(), fetch.Request{URL: tt.url, Policy: tt.policy, Proxy: tt.request})
			if err != nil || string(r.Body) != tt.want {
				t.Errorf("got %v, %v, want %q", r, err, tt.want)
			}
		})
	}
}

func TestProxyFromEnvironmentThatCannotBeUsed(t *testing.T) {
	var n internet
	for _, env := range []func(*url.URL) (*url.URL, error){
		func(*url.URL) (*url.URL, error) { return nil, errors.New("invalid proxy address u:hunter2@p") },
		func(*url.URL) (*url.URL, error) { return url.Parse("socks4://u:hunter2@p.example") },
	} {
		_, err := n.client(t, fetch.Options{EnvProxy: env}).Get(t.Context(), fetch.Request{URL: "http://a.example", Policy: fetch.Managed})
		if e := wantCode(t, err, sandrone.InvalidArgument); e.Field != "proxy" || strings.Contains(e.Error(), "hunter2") {
			t.Errorf("got %+v", e)
		}
	}
}

func TestOwnProxyIsUnderTheAddressRule(t *testing.T) {
	for _, scheme := range []string{"http", "https", "socks5"} {
		p := &proxy{name: "p"}
		addr := startProxy(t, p, scheme)
		var n internet
		n.add("proxy.example", "127.0.0.1", addr)
		for _, address := range []string{addr, "proxy.example:3128", "127.1:3128", "[::1]:1080"} {
			own := fetch.Request{URL: "http://a.example/", Policy: fetch.Managed, Proxy: scheme + "://" + address}
			_, err := n.client(t, fetch.Options{}).Get(t.Context(), own)
			if e := wantCode(t, err, sandrone.FetchForbidden); e.Field != "proxy" || !strings.Contains(e.Message, "remote_defaults.allow_hosts") {
				t.Errorf("%s: got %+v", own.Proxy, e)
			}
		}
		if d := n.dialed(); len(d) != 0 {
			t.Errorf("dialled %v", d)
		}
	}
}

func TestLocalTargetsAreNotLeftToAProxy(t *testing.T) {
	tests := []struct {
		host, allow string
		open        bool
	}{
		{"a.example", "", true},
		{"127.0.0.1.nip.example", "", true}, // what a name means there is the proxy's affair
		{"8.8.8.8", "", true},
		{"[2606:2800:220::1]", "", true},
		{"127.0.0.1", "", false},
		{"2130706433", "", false},
		{"127.1", "", false},
		{"10.1.2.3", "", false},
		{"[::1]", "", false},
		{"[::ffff:169.254.169.254]", "", false},
		{"localhost", "", false},
		{"LocalHost.", "", false},
		{"a.localhost", "", false},
		{"router", "", false},
		{"printer.local", "", false},
		{"metadata.google.internal", "", false},
		{"nas.home.arpa", "", false},
		{"home.arpa", "", false},
		{"nothome.arpa", "", true},
		{"local.example", "", true},
		{"router", "router", true},
		{"printer.local", "*.local", true},
		{"localhost", "127.0.0.0/8", false}, // nobody here knows what it resolves to there
		{"127.0.0.1", "127.0.0.0/8", true},
		{"10.1.2.3", "10.1.2.3", true},
	}
	for _, tt := range tests {
		t.Run(tt.host+" "+tt.allow, func(t *testing.T) {
			p := &proxy{name: "p"}
			var n internet
			o := fetch.Options{Dial: systemDial, Proxy: "http://" + startProxy(t, p, "http")}
			if tt.allow != "" {
				o.AllowHosts = []string{tt.allow}
			}
			_, err := n.client(t, o).Get(t.Context(), fetch.Request{URL: "http://" + tt.host + "/", Policy: fetch.Managed})
			if tt.open {
				if err != nil {
					t.Error(err)
				}
				return
			}
			wantCode(t, err, sandrone.FetchForbidden)
			if asked := p.take(); asked != "" {
				t.Errorf("the proxy was asked for %q", asked)
			}
		})
	}
}

func TestRedirectThroughAProxyIsChecked(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "http://169.254.169.254/")
		w.WriteHeader(302)
	}))
	t.Cleanup(s.Close)
	var n internet
	_, err := n.client(t, fetch.Options{Dial: systemDial, Proxy: s.URL}).Get(t.Context(), fetch.Request{URL: "http://a.example/", Policy: fetch.Managed})
	wantCode(t, err, sandrone.FetchForbidden)
}

func TestProxyFailures(t *testing.T) {
	denying := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(407) }))
	t.Cleanup(denying.Close)
	old := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	old.Config.ErrorLog = log.New(io.Discard, "", 0)
	old.TLS = &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}
	old.StartTLS()
	t.Cleanup(old.Close)
	roots := x509.NewCertPool()
	roots.AddCert(old.Certificate())
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { other.Close() })
	go func() {
		if conn, err := other.Accept(); err == nil {
			io.WriteString(conn, "220 mail.example ready\r\n")
			conn.Close()
		}
	}()
	tests := []struct{ name, proxy, url, words string }{
		{"login wanted, plain", denying.URL, "http://a.example/", "407"},
		{"login wanted, tunnel", denying.URL, "https://a.example/", "proxy"},
		{"not there", "http://" + closed.Addr().String(), "http://a.example/", "proxy"},
		{"TLS below 1.2", old.URL, "http://a.example/", ""},
		{"not a SOCKS proxy", "socks5://" + other.Addr().String(), "http://a.example/", "proxy"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var n internet
			c := n.client(t, fetch.Options{Dial: systemDial, Proxy: tt.proxy, RootCAs: roots})
			_, err := c.Get(t.Context(), fetch.Request{URL: tt.url, Policy: fetch.Managed})
			if e := wantCode(t, err, sandrone.FetchFailed); !strings.Contains(e.Message, tt.words) {
				t.Errorf("got %q, want the word %q", e.Message, tt.words)
			}
		})
	}
}
