package resolve_test

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/sandrone-gateway/sandrone/processors/resolve"
)

// network connects every address to one on this machine.
type network struct {
	addr string
	udp  string
}

func (n network) DialContext(ctx context.Context, kind, addr string) (net.Conn, error) {
	to := n.addr
	if kind == "udp" {
		to = n.udp
	}
	if to == "" {
		return nil, errors.New("refused")
	}
	var d net.Dialer
	return d.DialContext(ctx, kind, to)
}

func (network) LookupNetIP(_ context.Context, kind, host string) ([]netip.Addr, error) {
	if host != "xn--fsqu00a.example" || kind != "ip4" {
		return nil, errors.New("no such host")
	}
	return []netip.Addr{netip.MustParseAddr("::ffff:192.0.2.2"), netip.MustParseAddr("192.0.2.1")}, nil
}

// answer replies to a question: two addresses behind an alias, out of order.
// Names tell what goes wrong.
func answer(t *testing.T, message []byte) []byte {
	t.Helper()
	var q dnsmessage.Message
	if err := q.Unpack(message); err != nil {
		t.Errorf("question: %v", err)
		return nil
	}
	r := dnsmessage.Message{Header: dnsmessage.Header{ID: q.ID, Response: true}, Questions: q.Questions}
	name := q.Questions[0].Name
	h := dnsmessage.ResourceHeader{Name: name, Class: dnsmessage.ClassINET, TTL: 60}
	switch host := name.String(); {
	case strings.HasPrefix(host, "gone."):
		r.RCode = dnsmessage.RCodeNameError
	case strings.HasPrefix(host, "fail."):
		r.RCode = dnsmessage.RCodeServerFailure
	case strings.HasPrefix(host, "other."):
		r.ID++
	case strings.HasPrefix(host, "empty."):
	default:
		r.Answers = append(r.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.CNAMEResource{CNAME: dnsmessage.MustNewName("alias.example.")}})
		for _, last := range []byte{9, 3, 9} {
			if q.Questions[0].Type == dnsmessage.TypeAAAA {
				r.Answers = append(r.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AAAAResource{AAAA: netip.MustParseAddr("2001:db8::1").As16()}})
			} else {
				r.Answers = append(r.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AResource{A: [4]byte{192, 0, 2, last}}})
			}
		}
	}
	packed, err := r.Pack()
	if err != nil {
		t.Error(err)
	}
	return packed
}

// want are the outcomes of names, however they are asked for.
var want = map[string]error{
	"fine.example":  nil,
	"fine.example.": nil,
	"gone.example":  resolve.ErrNoAddress,
	"empty.example": resolve.ErrNoAddress,
	"fail.example":  resolve.ErrServer,
	"":              resolve.ErrName,
	"a b":           resolve.ErrName,
	strings.Repeat("abcdefgh.", 40) + "example": resolve.ErrName,
}

func check(t *testing.T, c *resolve.Client, want map[string]error) {
	t.Helper()
	defer c.Close()
	for host, wantErr := range want {
		addrs, err := c.Lookup(t.Context(), host, false)
		if !errors.Is(err, wantErr) {
			t.Errorf("%q: got %v, %v, want %v", host, addrs, err, wantErr)
		}
		if wantErr == nil && !slices.Equal(addrs, []netip.Addr{netip.MustParseAddr("192.0.2.3"), netip.MustParseAddr("192.0.2.9")}) {
			t.Errorf("%q: got %v", host, addrs)
		}
	}
	if addrs, err := c.Lookup(t.Context(), "fine.example", true); err != nil || len(addrs) != 1 || !addrs[0].Is6() {
		t.Errorf("IPv6: got %v, %v", addrs, err)
	}
}

func server(t *testing.T, s string) resolve.Server {
	t.Helper()
	server, err := resolve.ParseServer(s)
	if err != nil {
		t.Fatal(err)
	}
	return server
}

func TestLookupOverHTTPS(t *testing.T) {
	var subnet []byte
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.URL.Path != "/dns-query" || r.Header.Get("Content-Type") != "application/dns-message" || r.UserAgent() != "" {
			t.Errorf("request %s %s %v", r.Method, r.URL, r.Header)
		}
		message, _ := io.ReadAll(r.Body)
		var q dnsmessage.Message
		if err := q.Unpack(message); err != nil || q.ID != 0 {
			t.Errorf("question %d, %v", q.ID, err)
		}
		subnet = nil
		if o := q.Additionals[0].Body.(*dnsmessage.OPTResource).Options; len(o) > 0 {
			subnet = append([]byte{byte(o[0].Code)}, o[0].Data...)
		}
		w.Header().Set("Content-Type", "application/dns-message")
		w.Write(answer(t, message))
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	roots := s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	client := func() *resolve.Client {
		return &resolve.Client{Network: network{addr: s.Listener.Addr().String()}, RootCAs: roots, Servers: []resolve.Server{server(t, "https://example.com/dns-query")}}
	}
	check(t, client(), want)

	for addr, option := range map[string][]byte{
		"198.51.100.77":        {8, 0, 1, 24, 0, 198, 51, 100},
		"2001:db8:1:2345::1":   {8, 0, 2, 56, 0, 0x20, 0x01, 0x0d, 0xb8, 0, 1, 0x23},
		"::ffff:198.51.100.77": {8, 0, 1, 24, 0, 198, 51, 100},
	} {
		c := client()
		c.Subnet = netip.MustParseAddr(addr)
		if _, err := c.Lookup(t.Context(), "fine.example", false); err != nil || !slices.Equal(subnet, option) {
			t.Errorf("%s: option %v, %v", addr, subnet, err)
		}
		c.Close()
	}
	untrusted := client()
	untrusted.RootCAs = nil
	if _, err := untrusted.Lookup(t.Context(), "fine.example", false); !errors.Is(err, resolve.ErrServer) {
		t.Errorf("a server without a known certificate: %v", err)
	}
}

func TestAnAnswerOverHTTPSThatIsNoneIsRefused(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"status": func(w http.ResponseWriter, r *http.Request) { http.Error(w, "no", 500) },
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://192.0.2.1/", http.StatusTemporaryRedirect)
		},
		"page": func(w http.ResponseWriter, r *http.Request) { w.Write([]byte("<html>")) },
		"junk": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/dns-message")
			w.Write([]byte("junk"))
		},
		"endless": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/dns-message")
			w.Write(make([]byte, 1<<20))
		},
	} {
		s := httptest.NewTLSServer(handler)
		c := &resolve.Client{
			Network: network{addr: s.Listener.Addr().String()}, RootCAs: s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs,
			Servers: []resolve.Server{server(t, "https://example.com/dns-query")},
		}
		if addrs, err := c.Lookup(t.Context(), "fine.example", false); !errors.Is(err, resolve.ErrServer) {
			t.Errorf("%s: got %v, %v", name, addrs, err)
		}
		c.Close()
		s.Close()
	}
}

// serveStream answers messages with a length in front until the test ends.
func serveStream(t *testing.T, l net.Listener) {
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				var size [2]byte
				if _, err := io.ReadFull(conn, size[:]); err != nil {
					return
				}
				message := make([]byte, binary.BigEndian.Uint16(size[:]))
				if _, err := io.ReadFull(conn, message); err != nil {
					return
				}
				reply := answer(t, message)
				conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(reply))), reply...))
			}()
		}
	}()
}

func TestLookupOverTLS(t *testing.T) {
	s := httptest.NewTLSServer(nil) // for its certificate
	defer s.Close()
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: s.TLS.Certificates})
	if err != nil {
		t.Fatal(err)
	}
	serveStream(t, l)
	roots := s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	check(t, &resolve.Client{Network: network{addr: l.Addr().String()}, RootCAs: roots, Servers: []resolve.Server{server(t, "tls://example.com")}}, want)
	wrong := &resolve.Client{Network: network{addr: l.Addr().String()}, RootCAs: roots, Servers: []resolve.Server{server(t, "tls://other.test")}}
	if _, err := wrong.Lookup(t.Context(), "fine.example", false); !errors.Is(err, resolve.ErrServer) {
		t.Errorf("a certificate of another name: %v", err)
	}
}

func TestLookupOverUDPAndOverTCPWhenTheAnswerDoesNotFit(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serveStream(t, l)
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	go func() {
		buffer := make([]byte, 4096)
		for {
			n, from, err := conn.ReadFrom(buffer)
			if err != nil {
				return
			}
			reply := answer(t, buffer[:n])
			// What anyone could send comes first and is ignored.
			forged := slices.Clone(reply)
			forged[0]++
			conn.WriteTo(forged, from)
			conn.WriteTo([]byte("junk"), from)
			if strings.Contains(string(buffer[:n]), "long") {
				reply = reply[:12+len("long.example")+2+4]
				reply[2] |= 2 // truncated
				copy(reply[6:12], make([]byte, 6))
			}
			conn.WriteTo(reply, from)
		}
	}()
	names := map[string]error{"long.example": nil}
	for host, err := range want {
		names[host] = err
	}
	check(t, &resolve.Client{Network: network{addr: l.Addr().String(), udp: conn.LocalAddr().String()}, Servers: []resolve.Server{server(t, "udp://192.0.2.53")}}, names)

	// Only forged replies: the question ends with its time.
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	c := &resolve.Client{Network: network{udp: conn.LocalAddr().String()}, Servers: []resolve.Server{server(t, "udp://192.0.2.53")}}
	if _, err := c.Lookup(ctx, "other.example", false); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("forged: %v", err)
	}
	// The second server is asked when the first fails.
	c = &resolve.Client{Network: network{udp: conn.LocalAddr().String()}, Servers: []resolve.Server{server(t, "tls://192.0.2.1"), server(t, "udp://192.0.2.53")}}
	if addrs, err := c.Lookup(t.Context(), "fine.example", false); err != nil || len(addrs) != 2 {
		t.Errorf("second server: %v, %v", addrs, err)
	}
}

func TestLookupAsksTheSystemWithoutServers(t *testing.T) {
	c := &resolve.Client{Network: network{}}
	addrs, err := c.Lookup(t.Context(), "例子.example", false)
	if err != nil || !slices.Equal(addrs, []netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")}) {
		t.Errorf("got %v, %v", addrs, err)
	}
	if _, err := c.Lookup(t.Context(), "gone.example", false); !errors.Is(err, resolve.ErrServer) {
		t.Errorf("gone: %v", err)
	}
}

func TestParseServer(t *testing.T) {
	for _, s := range []string{"https://dns.example.com/dns-query", "https://192.0.2.1/q?a=b", "tls://dns.example.com", "tls://192.0.2.1:8853", "udp://[2001:db8::1]:53", "udp://例子.example"} {
		if _, err := resolve.ParseServer(s); err != nil {
			t.Errorf("%s: %v", s, err)
		}
	}
	for _, s := range []string{"", "192.0.2.1", "http://dns.example.com/", "tcp://192.0.2.1", "https://user:secret@dns.example.com/", "tls://", "udp://192.0.2.1/path", "tls://a b", "https:dns"} {
		if _, err := resolve.ParseServer(s); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", s, err)
		}
	}
}

// conn is a connection on which one datagram waits, with the id of the question.
type conn struct {
	net.Conn
	id, reply []byte
}

func (c *conn) Write(b []byte) (int, error) {
	c.id = slices.Clone(b[:2])
	return len(b), nil
}

func (c *conn) Read(b []byte) (int, error) {
	if c.reply == nil {
		return 0, io.EOF
	}
	n := copy(b, append(c.id, c.reply...))
	c.reply = nil
	return n, nil
}

func (c *conn) Close() error { return nil }

type fixed struct {
	network
	reply []byte
}

func (f fixed) DialContext(_ context.Context, kind, _ string) (net.Conn, error) {
	if kind != "udp" {
		return nil, errors.New("refused")
	}
	return &conn{reply: f.reply}, nil
}

func FuzzReply(f *testing.F) {
	q := dnsmessage.Message{Questions: []dnsmessage.Question{{Name: dnsmessage.MustNewName("fine.example."), Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET}}}
	h := dnsmessage.ResourceHeader{Name: q.Questions[0].Name, Class: dnsmessage.ClassINET}
	q.Response = true
	q.Answers = []dnsmessage.Resource{{Header: h, Body: &dnsmessage.AResource{A: [4]byte{192, 0, 2, 1}}}}
	packed, err := q.Pack()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(packed[2:])
	f.Add([]byte("junk"))
	servers := []resolve.Server{{}}
	if servers[0], err = resolve.ParseServer("udp://192.0.2.53"); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, reply []byte) {
		c := resolve.Client{Network: fixed{reply: reply}, Servers: servers}
		addrs, err := c.Lookup(t.Context(), "fine.example", false)
		if (err == nil) != (len(addrs) > 0) || len(addrs) > 64 {
			t.Fatalf("%v, %v", addrs, err)
		}
		for _, a := range addrs {
			if !a.Is4() {
				t.Fatalf("%v is no IPv4 address", a)
			}
		}
	})
}
