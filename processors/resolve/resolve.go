// Package resolve asks for the addresses of host names: DNS servers over HTTPS
// (RFC 8484), TLS (RFC 7858) or UDP, or the system.
//
// It opens no connection by itself. The [Network] that it is given decides
// which servers may be reached.
package resolve

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"

	"golang.org/x/net/idna"
)

// Network is the guarded way out.
type Network interface {
	// DialContext connects to host:port over "tcp" or "udp".
	DialContext(ctx context.Context, network, addr string) (net.Conn, error)
	// LookupNetIP asks the system's resolver; network is "ip4" or "ip6".
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// The errors of a lookup. Their text names no host.
var (
	ErrName      = errors.New("the name cannot be asked for")
	ErrNoAddress = errors.New("the name has no address")
	ErrServer    = errors.New("no server gave a valid answer")
)

// serverError is ErrServer with its cause.
type serverError struct{ cause error }

func (e *serverError) Error() string   { return ErrServer.Error() }
func (e *serverError) Unwrap() []error { return []error{ErrServer, e.cause} }

// Server is a DNS server.
type Server struct {
	scheme string // "https", "tls", "udp"
	addr   string // host:port, for tls and udp
	host   string // name to verify, for tls
	url    string // for https
}

// Servers of well-known providers, by address, so that finding them needs no
// resolver.
var (
	Cloudflare = Server{scheme: "https", url: "https://1.1.1.1/dns-query"}
	Google     = Server{scheme: "https", url: "https://8.8.8.8/dns-query"}
	Ali        = Server{scheme: "https", url: "https://223.5.5.5/dns-query"}
)

// ParseServer reads a server: https://host/path, tls://host[:853] or
// udp://host[:53].
func ParseServer(s string) (Server, error) {
	u, err := url.Parse(strings.TrimSpace(s))
	if err != nil || u.Hostname() == "" || u.User != nil || u.Opaque != "" {
		return Server{}, errors.New("it is no address of a DNS server")
	}
	host, err := idna.Lookup.ToASCII(u.Hostname())
	if err != nil {
		if _, err := netip.ParseAddr(u.Hostname()); err != nil {
			return Server{}, errors.New("its host is no valid name")
		}
		host = u.Hostname()
	}
	switch u.Scheme {
	case "https":
		u.Fragment = ""
		return Server{scheme: "https", url: u.String()}, nil
	case "tls", "udp":
		if u.Path != "" && u.Path != "/" || u.RawQuery != "" {
			return Server{}, errors.New("it has more than a host and a port")
		}
		port := map[string]string{"tls": "853", "udp": "53"}[u.Scheme]
		return Server{scheme: u.Scheme, host: host, addr: net.JoinHostPort(host, cmp.Or(u.Port(), port))}, nil
	}
	return Server{}, errors.New("its scheme is not https, tls or udp")
}

// Client looks names up. Servers are asked in their order until one gives a
// valid answer; without servers the system is asked. It is safe for concurrent
// use; [Client.Close] ends its idle connections.
type Client struct {
	Network Network
	Servers []Server
	Subnet  netip.Addr     // client subnet to tell the servers (RFC 7871), its /24 or /56; the zero Addr tells none
	RootCAs *x509.CertPool // nil means the system's

	once sync.Once
	http *http.Transport
}

// Lookup returns the IPv4 or IPv6 addresses of a host, ascending and each once,
// so that the answer does not depend on the server's rotation. The error is one
// of this package's, or that of ctx.
func (c *Client) Lookup(ctx context.Context, host string, v6 bool) ([]netip.Addr, error) {
	name, err := idna.Lookup.ToASCII(strings.TrimSuffix(host, "."))
	if err != nil || name == "" || len(name) > 253 {
		return nil, ErrName
	}
	var addrs []netip.Addr
	if len(c.Servers) == 0 {
		network := "ip4"
		if v6 {
			network = "ip6"
		}
		addrs, err = c.Network.LookupNetIP(ctx, network, name)
		if err != nil {
			err = ErrServer
			if ctx.Err() != nil {
				err = ctx.Err()
			}
		}
	} else {
		addrs, err = c.ask(ctx, name, v6)
	}
	if err != nil {
		return nil, err
	}
	for i := range addrs {
		addrs[i] = addrs[i].Unmap()
	}
	addrs = slices.DeleteFunc(addrs, func(a netip.Addr) bool { return a.Is6() != v6 })
	slices.SortFunc(addrs, netip.Addr.Compare)
	addrs = slices.Compact(addrs)
	if len(addrs) == 0 {
		return nil, ErrNoAddress
	}
	return addrs, nil
}

// ask asks one server after the other. An answer that the name does not exist
// is an answer. The error of the last server is the hidden part of ErrServer.
func (c *Client) ask(ctx context.Context, name string, v6 bool) ([]netip.Addr, error) {
	var last error
	for _, s := range c.Servers {
		addrs, err := c.exchange(ctx, s, name, v6)
		if err == nil || errors.Is(err, ErrNoAddress) || errors.Is(err, ErrName) {
			return addrs, err
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		last = err
	}
	return nil, &serverError{last}
}

func (c *Client) exchange(ctx context.Context, s Server, name string, v6 bool) ([]netip.Addr, error) {
	q, err := newQuery(name, v6, c.Subnet, s.scheme == "https")
	if err != nil {
		return nil, ErrName
	}
	var reply []byte
	switch s.scheme {
	case "https":
		reply, err = c.overHTTPS(ctx, s.url, q.packed)
	case "tls":
		reply, err = c.overStream(ctx, s, q.packed)
	default:
		return c.overUDP(ctx, s, q)
	}
	if err != nil {
		return nil, err
	}
	addrs, _, err := q.read(reply)
	return addrs, err
}

// transport is made when the first server over HTTPS is asked.
func (c *Client) transport() *http.Transport {
	c.once.Do(func() {
		c.http = &http.Transport{
			DialContext:            c.Network.DialContext,
			TLSClientConfig:        c.tlsConfig(""),
			ForceAttemptHTTP2:      true,
			DisableCompression:     true,
			MaxResponseHeaderBytes: 64 << 10,
			MaxIdleConnsPerHost:    8,
		}
	})
	return c.http
}

func (c *Client) tlsConfig(host string) *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, ServerName: host, RootCAs: c.RootCAs}
}

// Close ends the connections that the client holds open.
func (c *Client) Close() { c.transport().CloseIdleConnections() }
