package fetch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"time"

	"github.com/sandrone-gateway/sandrone"
)

const (
	maxDials = 8                      // addresses of one name that are tried
	stagger  = 300 * time.Millisecond // head start of one address before the next
)

var errLookup = errors.New("host name has no address")

// route is the way that one connection takes.
type route struct {
	proxy   *url.URL // nil: straight to the target
	trusted bool     // the operator or the environment named the proxy, so it is dialled unchecked
}

// route chooses the way to u: the request's proxy, else the settings', else
// the environment's, which may depend on the target.
func (c *Client) route(j *job, u *url.URL) (route, *sandrone.Error) {
	switch {
	case j.policy != Managed:
		return route{}, nil
	case j.proxy != nil:
		return route{proxy: j.proxy}, nil
	case c.proxy != nil:
		return route{proxy: c.proxy, trusted: true}, nil
	}
	p, err := c.envProxy(u)
	if err != nil {
		return route{}, sandrone.Errorf(sandrone.InvalidArgument, "the environment's proxy is not a valid address").At("proxy")
	}
	if p == nil {
		return route{}, nil
	}
	own := *p
	if err := checkProxy(&own); err != nil {
		return route{}, err.At("proxy")
	}
	return route{proxy: &own, trusted: true}, nil
}

// dialChecked connects to an address of addr's host after all of them passed
// the rule. The addresses come from one lookup: a second one, by the dialler,
// could be answered differently. A refusal is the error that forbid makes.
func (c *Client) dialChecked(ctx context.Context, g *guard, network, addr string, forbid func(host string) *sandrone.Error) (net.Conn, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	var addrs []netip.Addr
	if a, err := netip.ParseAddr(host); err == nil {
		addrs = []netip.Addr{a}
	} else {
		addrs, err = c.resolver.LookupNetIP(ctx, "ip", host)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errLookup, err)
		}
	}
	if len(addrs) == 0 {
		return nil, errLookup
	}
	targets := make([]string, len(addrs))
	for i, a := range addrs {
		if !g.permits(host, a) {
			return nil, forbid(host)
		}
		targets[i] = net.JoinHostPort(a.Unmap().String(), port)
	}
	return c.dialFirst(ctx, network, targets[:min(len(targets), maxDials)])
}

// dialFirst connects to the first target that answers. The next one is tried
// when the last attempt failed or has had its head start, so that a dead
// address family costs a moment, not the whole time limit.
func (c *Client) dialFirst(ctx context.Context, network string, targets []string) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type attempt struct {
		conn net.Conn
		err  error
	}
	attempts := make(chan attempt, len(targets))
	running, next := 0, 0
	start := func() {
		target := targets[next]
		next++
		running++
		go func() {
			conn, err := c.dial(ctx, network, target)
			attempts <- attempt{conn, err}
		}()
	}
	start()
	head := time.NewTimer(stagger)
	defer head.Stop()
	var first error
	for running > 0 {
		select {
		case <-head.C:
		case a := <-attempts:
			running--
			if a.err == nil {
				// Attempts that succeed all the same must not stay open.
				go func() {
					for range running {
						if late := <-attempts; late.conn != nil {
							late.conn.Close()
						}
					}
				}()
				return a.conn, nil
			}
			if first == nil {
				first = a.err
			}
		}
		if next < len(targets) && ctx.Err() == nil {
			start()
			head.Reset(stagger)
		}
	}
	return nil, first
}
