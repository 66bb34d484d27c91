// Package fetch is the one guarded way out to remote text: subscriptions,
// scripts and files are read through it and nothing else.
//
// A [Client] is made from the operator's settings; [Client.Get] reads one
// address on behalf of the operator ([Managed]) or of anyone ([Public]). What
// is fetched is hostile, and so is the address: a connection goes only to an
// address that is publicly routable, or that the operator listed, and that was
// checked after the name was resolved, for the first request and for every
// redirect. Each request has its own connection, which ends with it, so that
// nothing that one rule opened can be used under another.
//
// Get holds no cache. Equal requests that run at the same time share one
// answer; [Client.Key] names the source for a cache above.
package fetch

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http/httpguts"
	"golang.org/x/net/http/httpproxy"

	"github.com/sandrone-gateway/sandrone"
)

// Limits of one fetch.
const (
	MaxBody        = 16 << 20         // bytes, on the wire and after each decoding
	DefaultTimeout = 15 * time.Second // from connecting to the last byte

	maxRedirects   = 5
	maxHeaderBytes = 256 << 10
)

// Policy says on whose behalf a fetch is made. The zero value is the strict one.
type Policy int

const (
	// Public fetches are made by anyone: public addresses only, no proxy, and
	// this program's own user agent and timeout.
	Public Policy = iota
	// Managed fetches are made for the operator, whose settings apply.
	Managed
)

// Request is one address to read. Only URL is required. The members besides
// Policy and the validators count for managed fetches; a public one ignores
// UserAgent and Timeout and refuses Proxy.
type Request struct {
	URL          string // http or https; user info and query are used, the fragment is not sent
	Policy       Policy
	UserAgent    string        // empty means the settings' one
	Proxy        string        // http, https or socks5 address, itself under the address rule
	Timeout      time.Duration // zero or less means the settings' one
	ETag         string        // validator of a held body, as its answer gave it
	LastModified string        // the same
}

// Response is a successful answer. Body and Header are shared between the
// callers of equal requests and must not be changed.
type Response struct {
	Body        []byte             // decoded; nil if NotModified
	Status      int                // 200–299, or 304
	Header      http.Header        // without the members that described the encoded body
	SHA256      string             // hex, of Body; empty if NotModified
	Ref         sandrone.SourceRef // kind "remote"
	FetchedAt   time.Time          // UTC
	NotModified bool               // the held body that the validators describe is current
}

// Resolver finds the addresses of a host name; *net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Options are the settings of a [Client]. The zero value is ready to use.
type Options struct {
	UserAgent  string        // empty means sandrone/<version>
	Proxy      string        // trusted; empty means what EnvProxy says
	Timeout    time.Duration // zero or less means DefaultTimeout
	AllowHosts []string      // names, *.suffixes, addresses and CIDRs that managed fetches may reach although not public

	Resolver Resolver                                                          // nil means the system's
	Dial     func(ctx context.Context, network, addr string) (net.Conn, error) // nil means a net.Dialer; ctx ends with the call
	EnvProxy func(target *url.URL) (*url.URL, error)                           // nil means the proxies of the process environment
	RootCAs  *x509.CertPool                                                    // nil means the system's
	Clock    func() time.Time                                                  // nil means time.Now
}

// Client reads remote text within its rules. It is safe for concurrent use and
// holds no connection between fetches, so it needs no closing.
type Client struct {
	agent    string
	proxy    *url.URL
	timeout  time.Duration
	allowed  guard
	resolver Resolver
	dial     func(ctx context.Context, network, addr string) (net.Conn, error)
	envProxy func(*url.URL) (*url.URL, error)
	roots    *x509.CertPool
	clock    func() time.Time

	mu      sync.Mutex
	flights map[flightKey]*flight
}

// New makes a client. A setting that cannot be used is an invalid_argument
// error with its path below remote_defaults as the field.
func New(o Options) (*Client, error) {
	c := &Client{
		agent:    strings.TrimSpace(o.UserAgent),
		timeout:  o.Timeout,
		resolver: o.Resolver,
		dial:     o.Dial,
		envProxy: o.EnvProxy,
		roots:    o.RootCAs,
		clock:    o.Clock,
		flights:  make(map[flightKey]*flight),
	}
	if c.agent == "" {
		c.agent = sandrone.UserAgent()
	}
	if !httpguts.ValidHeaderFieldValue(c.agent) {
		return nil, sandrone.Errorf(sandrone.InvalidArgument, "user agent holds control characters").At("remote_defaults.user_agent")
	}
	if c.timeout <= 0 {
		c.timeout = DefaultTimeout
	}
	var err *sandrone.Error
	if c.proxy, err = parseProxy(o.Proxy); err != nil {
		return nil, err.At("remote_defaults.proxy")
	}
	if c.allowed, err = newGuard(o.AllowHosts); err != nil {
		return nil, err.At("remote_defaults." + err.Field)
	}
	if c.resolver == nil {
		c.resolver = net.DefaultResolver
	}
	if c.dial == nil {
		c.dial = new(net.Dialer).DialContext
	}
	if c.envProxy == nil {
		c.envProxy = httpproxy.FromEnvironment().ProxyFunc()
	}
	if c.clock == nil {
		c.clock = time.Now
	}
	return c, nil
}

// Get reads one address. Every error is a *[sandrone.Error] whose Source is
// the scheme and host of r.URL:
//
//   - invalid_argument, with the field "url", "proxy" or "user_agent";
//   - fetch_forbidden, an address outside the rules, on any redirect too;
//   - fetch_timeout, no whole answer in time;
//   - fetch_failed, anything else.
//
// If ctx ends first, the error matches ctx.Err() under errors.Is. Requests of
// equal policy, address, user agent, proxy and validators that overlap in time
// are one request upstream, which goes on until none of its callers waits.
func (c *Client) Get(ctx context.Context, r Request) (*Response, error) {
	j, err := c.job(r)
	if err == nil {
		var resp *Response
		if resp, err = c.share(ctx, j); err == nil {
			return resp, nil
		}
	}
	err.Source = Display(r.URL)
	return nil, err
}

// Key names the source that r reads: its address without fragment, effective
// user agent and effective proxy, as a hash that gives none of them away. It
// reads nothing; its errors are the invalid_argument ones of [Client.Get], so
// that it also checks a definition before it is saved.
func (c *Client) Key(r Request) (string, error) {
	j, err := c.job(r)
	if err != nil {
		err.Source = Display(r.URL)
		return "", err
	}
	return j.key, nil
}

// job is a request that was checked, with everything effective filled in.
type job struct {
	policy  Policy
	url     *url.URL // canonical, without user info
	login   *url.Userinfo
	ref     string // address for the source ref
	agent   string
	proxy   *url.URL // the request's own
	timeout time.Duration
	etag    string
	since   string
	key     string
}

func (c *Client) job(r Request) (*job, *sandrone.Error) {
	u, err := parseTarget(r.URL)
	if err != nil {
		return nil, err.At("url")
	}
	// The ref keeps the address as it was written, not in its canonical form.
	shown, _ := url.Parse(strings.TrimSpace(r.URL))
	shown.User, shown.Fragment, shown.RawFragment = nil, "", ""
	j := &job{
		policy:  r.Policy,
		url:     u,
		login:   u.User,
		ref:     shown.String(),
		agent:   sandrone.UserAgent(),
		timeout: DefaultTimeout,
		etag:    r.ETag,
		since:   r.LastModified,
	}
	u.User = nil
	if j.proxy, err = parseProxy(r.Proxy); err != nil {
		return nil, err.At("proxy")
	}
	if j.policy != Managed {
		if j.proxy != nil {
			return nil, sandrone.Errorf(sandrone.InvalidArgument, "a public fetch takes no proxy").At("proxy")
		}
	} else {
		j.agent, j.timeout = c.agent, c.timeout
		if agent := strings.TrimSpace(r.UserAgent); agent != "" {
			if !httpguts.ValidHeaderFieldValue(agent) {
				return nil, sandrone.Errorf(sandrone.InvalidArgument, "user agent holds control characters").At("user_agent")
			}
			j.agent = agent
		}
		if r.Timeout > 0 {
			j.timeout = r.Timeout
		}
	}
	route, err := c.route(j, u)
	if err != nil {
		return nil, err
	}
	// No part can hold a NUL, so the parts cannot run into each other.
	parts := []string{u.String(), "", j.agent, ""}
	if j.login != nil {
		parts[1] = j.login.String()
	}
	if route.proxy != nil {
		parts[3] = route.proxy.String()
	}
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	j.key = hex.EncodeToString(sum[:])
	return j, nil
}

// guard returns the exceptions from the address rule that j may use.
func (c *Client) guard(j *job) *guard {
	if j.policy == Managed {
		return &c.allowed
	}
	return &guard{}
}
