package fetch

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/sandrone-gateway/sandrone"
)

// guard is the address rule: public addresses, and what the operator listed.
// The zero value has no exceptions.
type guard struct {
	names    map[string]bool
	suffixes []string // with the leading dot
	prefixes []netip.Prefix
}

// newGuard reads the entries of remote_defaults.allow_hosts. The error's field
// is that of the bad entry, below remote_defaults; its message does not repeat
// the entry, which may be an address with credentials pasted by mistake.
func newGuard(entries []string) (guard, *sandrone.Error) {
	g := guard{names: make(map[string]bool)}
	for i, entry := range entries {
		if !g.add(strings.TrimSpace(entry)) {
			return guard{}, sandrone.Errorf(sandrone.InvalidArgument,
				"entry is not a host name, *.suffix, address or CIDR").At(fmt.Sprintf("allow_hosts[%d]", i))
		}
	}
	return g, nil
}

func (g *guard) add(entry string) bool {
	if p, err := netip.ParsePrefix(entry); err == nil {
		if p.Addr().Is4In6() && p.Bits() >= 96 {
			p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
		}
		g.prefixes = append(g.prefixes, p.Masked())
		return true
	}
	suffix, wild := strings.CutPrefix(entry, "*.")
	host, ok := canonicalHost(suffix)
	if !ok {
		return false
	}
	a, err := netip.ParseAddr(host)
	switch {
	case err == nil && (wild || a.Zone() != ""):
		return false
	case err == nil:
		g.prefixes = append(g.prefixes, netip.PrefixFrom(a, a.BitLen()))
	case wild:
		g.suffixes = append(g.suffixes, "."+host)
	default:
		g.names[host] = true
	}
	return true
}

// lists reports whether every address of a canonical name is allowed.
func (g *guard) lists(name string) bool {
	if g.names[name] {
		return true
	}
	for _, s := range g.suffixes {
		if strings.HasSuffix(name, s) {
			return true
		}
	}
	return false
}

// permits reports whether a connection to a may be made for the canonical
// host, be it a name or the address itself. An address with a zone names an
// interface of this machine and is never permitted.
func (g *guard) permits(host string, a netip.Addr) bool {
	if a.Zone() != "" {
		return false
	}
	a = a.Unmap()
	if public(a) || g.lists(host) {
		return true
	}
	for _, p := range g.prefixes {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// admits reports whether a canonical host may be asked for at all, before
// anything is resolved. A proxy resolves names by itself, out of reach of
// permits, so names that by their form belong to some local network are
// refused there.
func (g *guard) admits(host string, proxied bool) bool {
	if a, err := netip.ParseAddr(host); err == nil {
		return g.permits(host, a)
	}
	return !proxied || !local(host) || g.lists(host)
}

func local(name string) bool {
	if !strings.Contains(name, ".") || name == "home.arpa" {
		return true
	}
	for _, s := range [...]string{".localhost", ".local", ".internal", ".home.arpa"} {
		if strings.HasSuffix(name, s) {
			return true
		}
	}
	return false
}

// public reports whether an unmapped address is publicly routable. The table
// is that of the special-purpose registries of IANA, with the translation
// prefixes, behind which any IPv4 address may stand.
func public(a netip.Addr) bool {
	if !a.IsGlobalUnicast() {
		return false
	}
	// The rest of the IPv6 space is not assigned to global unicast.
	if a.Is6() && !globalUnicast6.Contains(a) {
		return false
	}
	for _, p := range nonPublic {
		if p.Contains(a) {
			return false
		}
	}
	return true
}

var globalUnicast6 = netip.MustParsePrefix("2000::/3")

var nonPublic = parsePrefixes(
	"0.0.0.0/8",       // this network
	"10.0.0.0/8",      // private
	"100.64.0.0/10",   // carrier-grade NAT
	"127.0.0.0/8",     // loopback
	"169.254.0.0/16",  // link-local, cloud metadata
	"172.16.0.0/12",   // private
	"192.0.0.0/24",    // protocol assignments
	"192.0.2.0/24",    // documentation
	"192.88.99.0/24",  // 6to4 relays
	"192.168.0.0/16",  // private
	"198.18.0.0/15",   // benchmarks, fake addresses of proxies
	"198.51.100.0/24", // documentation
	"203.0.113.0/24",  // documentation
	"224.0.0.0/4",     // multicast
	"240.0.0.0/4",     // reserved, broadcast

	"::/96",          // unspecified, loopback, IPv4-compatible
	"64:ff9b::/96",   // NAT64
	"64:ff9b:1::/48", // local NAT64
	"100::/64",       // discard
	"2001::/23",      // protocol assignments, Teredo
	"2001:db8::/32",  // documentation
	"2002::/16",      // 6to4
	"3fff::/20",      // documentation
	"5f00::/16",      // segment routing
	"fc00::/7",       // unique local
	"fe80::/10",      // link-local
	"fec0::/10",      // site-local
	"ff00::/8",       // multicast
)

func parsePrefixes(texts ...string) []netip.Prefix {
	prefixes := make([]netip.Prefix, len(texts))
	for i, s := range texts {
		prefixes[i] = netip.MustParsePrefix(s)
	}
	return prefixes
}
