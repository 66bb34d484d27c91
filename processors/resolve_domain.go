package processors

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert/field"
	"github.com/sandrone-gateway/sandrone/processors/resolve"
)

const maxServers = 8

type resolveParams struct {
	provider, family, filter       string
	servers                        []resolve.Server
	timeout, concurrency, cacheTTL int
	subnet                         netip.Addr
}

// resolveDomain puts addresses in the place of host names.
func resolveDomain() *processor[[]entry] {
	return define(Descriptor{
		Type:        "resolve_domain",
		Description: "Looks up the host name of every node and puts its first address in the place of it; the name stays as the server name of TLS and in meta (resolve.domain, with all addresses in resolve.ips). Nodes with meta no_resolve = true are left alone.",
		Effects:     Effects{RemoteReads: true},
		Examples: []sandrone.ProcessorSpec{
			example("resolve_domain", `{"provider":"cloudflare","filter":"drop_failed"}`),
			example("resolve_domain", `{"provider":"custom","servers":["tls://dns.example.com","udp://192.0.2.53"],"family":"ipv6"}`),
		},
	}, params[resolveParams]{
		word("provider", "who is asked: the system, a public resolver, or servers", func(p *resolveParams) *string { return &p.provider }, "system", "cloudflare", "google", "ali", "custom").need(),
		list("servers", "addresses of DNS servers, for custom: https://host/path, tls://host:853, udp://host:53; the next one is asked when one fails", 0, maxServers,
			func(p *resolveParams) *[]resolve.Server { return &p.servers }, &jsonschema.Schema{Type: "string"}, func(value json.RawMessage) (resolve.Server, error) {
				var s string
				if isNull(value) || json.Unmarshal(value, &s) != nil {
					return resolve.Server{}, bad("", "it is no string")
				}
				server, err := resolve.ParseServer(s)
				if err != nil {
					return server, bad("", "%s", err)
				}
				return server, nil
			}),
		word("family", "addresses to ask for; ip4p takes address and port out of an IPv6 answer", func(p *resolveParams) *string { return &p.family }, "ipv4", "ipv6", "ip4p").or(`"ipv4"`),
		word("filter", "nodes to drop afterwards: those that failed, or whose server is no (such) address", func(p *resolveParams) *string { return &p.filter }, "none", "drop_failed", "ip_only", "ipv4_only", "ipv6_only").or(`"none"`),
		whole("timeout_ms", "time for one name", 1, 60_000, func(p *resolveParams) *int { return &p.timeout }).or(`8000`),
		whole("concurrency", "names in flight", 1, 64, func(p *resolveParams) *int { return &p.concurrency }).or(`10`),
		{
			name:  "edns",
			about: &jsonschema.Schema{Type: "string", Description: "address whose network the servers are told, so that they answer for a client there"},
			read: func(p *resolveParams, value json.RawMessage) error {
				var s string
				if json.Unmarshal(value, &s) != nil {
					return bad("", "edns is no string")
				}
				if s = strings.TrimSpace(s); s == "" {
					return nil
				}
				var err error
				if p.subnet, err = netip.ParseAddr(s); err != nil || p.subnet.Zone() != "" {
					return bad("", "edns is no address")
				}
				return nil
			},
		},
		whole("cache_ttl_seconds", "how long answers are used again; 0 is not at all", 0, 30*24*3600, func(p *resolveParams) *int { return &p.cacheTTL }),
	}, func(p *resolveParams) (step[[]entry], error) {
		switch p.provider {
		case "cloudflare":
			p.servers = []resolve.Server{resolve.Cloudflare}
		case "google":
			p.servers = []resolve.Server{resolve.Google}
		case "ali":
			p.servers = []resolve.Server{resolve.Ali}
		case "system":
			p.servers = nil
		case "custom":
			if len(p.servers) == 0 {
				return nil, bad("servers", "custom needs at least one server")
			}
		}
		return p.run, nil
	})
}

// resolution is what became of one host name.
type resolution struct {
	Server netip.Addr   `json:"server"`
	Port   uint16       `json:"port,omitempty"` // ip4p only
	All    []netip.Addr `json:"all"`
	failed error
}

func (p *resolveParams) run(ctx context.Context, s *scope, in []entry) ([]entry, error) {
	if s.dry() {
		return in, nil
	}
	if s.Network == nil {
		return nil, sandrone.Errorf(sandrone.NotImplemented, "names cannot be looked up here")
	}
	hosts := make(map[string]*resolution)
	var names []string
	for _, e := range in {
		if host, ok := resolvable(e.node); ok && hosts[host] == nil {
			hosts[host] = new(resolution)
			names = append(names, host)
		}
	}
	client := &resolve.Client{Network: s.Network, Servers: p.servers, Subnet: p.subnet}
	defer client.Close()
	var wg sync.WaitGroup
	free := make(chan struct{}, p.concurrency)
	for _, host := range names {
		if ctx.Err() != nil {
			break
		}
		free <- struct{}{}
		wg.Go(func() {
			defer func() { <-free }()
			*hosts[host] = p.lookup(ctx, s, client, host)
		})
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	out := make([]entry, 0, len(in))
	for i, e := range in {
		var failed error
		if host, ok := resolvable(e.node); ok {
			r := hosts[host]
			if failed = r.failed; failed == nil {
				e.node = r.into(e.node)
			} else {
				s.warn(sandrone.Warning{
					Code: "resolve_domain_failed", Message: "the server of the node was not resolved: " + reason(failed),
					Node: e.node.Name, NodeIndex: &i, Field: "server", Source: "resolve_domain",
				})
			}
		}
		if p.passes(e.node, failed) {
			out = append(out, e)
		}
	}
	return out, nil
}

// reason is why a lookup failed, for a person. A refusal of the guarded network
// says in its own words what would permit it.
func reason(err error) string {
	if e, ok := errors.AsType[*sandrone.Error](err); ok {
		return e.Message
	}
	for _, known := range []error{resolve.ErrName, resolve.ErrNoAddress, errResolveTime, errIP4P} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	return resolve.ErrServer.Error()
}

// resolvable returns the host name of a node that is to be looked up.
func resolvable(n *sandrone.Node) (string, bool) {
	if n.Server == "" || !n.Type.HasEndpoint() || n.Meta["no_resolve"] == "true" {
		return "", false
	}
	if _, err := netip.ParseAddr(n.Server); err == nil {
		return "", false
	}
	return strings.ToLower(n.Server), true
}

func (p *resolveParams) passes(n *sandrone.Node, failed error) bool {
	switch p.filter {
	case "none":
		return true
	case "drop_failed":
		return failed == nil
	}
	a, err := netip.ParseAddr(n.Server)
	switch {
	case err != nil:
		return !n.Type.HasEndpoint()
	case p.filter == "ipv4_only":
		return a.Unmap().Is4()
	case p.filter == "ipv6_only":
		return a.Is6() && !a.Is4In6()
	}
	return true
}

// lookup finds one name, in the cache if there is one.
func (p *resolveParams) lookup(ctx context.Context, s *scope, client *resolve.Client, host string) (r resolution) {
	key := ""
	if s.Cache != nil && p.cacheTTL > 0 {
		key = fmt.Sprintf("resolve_domain\x00%+v\x00%s\x00%s\x00%s", p.servers, p.family, p.subnet, host)
		if value, ok := s.Cache.Get(ctx, key); ok && json.Unmarshal(value, &r) == nil && r.Server.IsValid() {
			return r
		}
		r = resolution{}
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(p.timeout)*time.Millisecond)
	defer cancel()
	r.All, r.failed = client.Lookup(ctx, host, p.family != "ipv4")
	if r.failed != nil {
		if ctx.Err() != nil {
			r.failed = errResolveTime
		}
		return r
	}
	r.Server = r.All[0]
	if p.family == "ip4p" {
		if r.failed = r.unfold(); r.failed != nil {
			return r
		}
	}
	if key != "" {
		if value, err := json.Marshal(r); err == nil {
			// A cache that cannot be written costs a lookup, nothing else.
			_ = s.Cache.Put(ctx, key, value, time.Duration(p.cacheTTL)*time.Second)
		}
	}
	return r
}

var (
	errResolveTime = errors.New("no answer in time")
	errIP4P        = errors.New("no answer holds an IPv4 address and a port")
)

// unfold takes address and port out of the first answer of the form
// 2001::PPPP:AABB:CCDD.
func (r *resolution) unfold() error {
	for _, a := range r.All {
		b := a.As16()
		if [10]byte(b[:10]) == ([10]byte{0x20, 0x01}) {
			if port := uint16(b[10])<<8 | uint16(b[11]); port != 0 {
				r.Server, r.Port = netip.AddrFrom4([4]byte(b[12:])), port
				return nil
			}
		}
	}
	return errIP4P
}

// into is n with the address in the place of its host name.
func (r *resolution) into(n *sandrone.Node) *sandrone.Node {
	host := n.Server
	m := *n
	m.Server = r.Server.String()
	if r.Port != 0 {
		m.Port = r.Port
	}
	m.Meta = make(map[string]string, len(n.Meta)+2)
	for k, v := range n.Meta {
		m.Meta[k] = v
	}
	all := make([]string, len(r.All))
	for i, a := range r.All {
		all[i] = a.String()
	}
	m.Meta["resolve.domain"], m.Meta["resolve.ips"] = host, strings.Join(all, ",")
	// The certificate is still that of the name.
	if m.TLS != nil && m.TLS.Enabled && m.TLS.ServerName == "" {
		*field.TLS.ServerName.Own(&m) = host
	}
	return &m
}
