package fetch

import (
	"context"
	"net"
	"net/netip"

	"github.com/sandrone-gateway/sandrone"
)

// Network is the guarded way out for what speaks other protocols than HTTP,
// such as steps that ask DNS servers. It is under the address rule of managed
// fetches and takes no proxy.
type Network struct{ client *Client }

// Network returns the guarded way out below HTTP.
func (c *Client) Network() *Network { return &Network{c} }

// DialContext connects to host:port. Every address of the host must be allowed,
// else the error is fetch_forbidden.
func (n *Network) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	host, ok := canonicalHost(host)
	if !ok {
		return nil, sandrone.Errorf(sandrone.InvalidArgument, "the host to connect to is no valid name")
	}
	j := &job{policy: Managed}
	if !n.client.allowed.admits(host, false) {
		return nil, j.forbid(host)
	}
	return n.client.dialChecked(ctx, &n.client.allowed, network, net.JoinHostPort(host, port), j.forbid)
}

// LookupNetIP asks the resolver of the client. What it finds may be any
// address: finding is not reaching.
func (n *Network) LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error) {
	return n.client.resolver.LookupNetIP(ctx, network, host)
}
