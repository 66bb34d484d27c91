package fetch

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/idna"

	"github.com/sandrone-gateway/sandrone"
)

// Display returns scheme://host of a web address, the form in which messages
// and logs may show it, or "" for anything else: what follows the scheme of a
// share link is its credential.
func Display(rawURL string) string {
	u := webAddress(rawURL)
	if u == nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// Redact returns a web address without fragment, user info and query, or ""
// for anything else.
func Redact(rawURL string) string {
	u := webAddress(rawURL)
	if u == nil {
		return ""
	}
	bare := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}
	return bare.String()
}

func webAddress(rawURL string) *url.URL {
	u, err := url.Parse(strings.TrimSpace(rawURL))
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil
	}
	return u
}

// parseTarget reads an address to fetch. Its errors are invalid_argument and
// show nothing of the address.
func parseTarget(rawURL string) (*url.URL, *sandrone.Error) {
	rawURL = strings.TrimSpace(rawURL)
	if rawURL == "" {
		return nil, sandrone.Errorf(sandrone.InvalidArgument, "remote url is required")
	}
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, sandrone.Errorf(sandrone.InvalidArgument, "remote url is not a valid address")
	}
	return u, canonical(u)
}

// canonical brings a parsed address, also that of a redirect, into the one
// form in which it is checked and sent.
func canonical(u *url.URL) *sandrone.Error {
	if u.Scheme != "http" && u.Scheme != "https" {
		return sandrone.Errorf(sandrone.InvalidArgument, "remote url scheme must be http or https")
	}
	if u.Hostname() == "" {
		return sandrone.Errorf(sandrone.InvalidArgument, "remote url needs a host")
	}
	if !canonicalAuthority(u) {
		return sandrone.Errorf(sandrone.InvalidArgument, "remote url host or port is not valid")
	}
	u.Fragment, u.RawFragment = "", ""
	u.RawQuery = escapeQuery(u.RawQuery)
	return nil
}

// parseProxy reads the address of a proxy; a blank one is none.
func parseProxy(raw string) (*url.URL, *sandrone.Error) {
	raw = strings.TrimSpace(raw)
	if raw == "" {
		return nil, nil
	}
	u, err := url.Parse(raw)
	if err != nil {
		return nil, sandrone.Errorf(sandrone.InvalidArgument, "remote proxy is not a valid address")
	}
	return u, checkProxy(u)
}

func checkProxy(u *url.URL) *sandrone.Error {
	switch u.Scheme {
	case "http", "https", "socks5":
	default:
		// A proxy written without a scheme, user:password@host, must not have
		// its user name shown as one.
		if u.Host == "" {
			return sandrone.Errorf(sandrone.InvalidArgument, "remote proxy needs a scheme and a host")
		}
		return sandrone.Errorf(sandrone.InvalidArgument, "unsupported remote proxy scheme %q", u.Scheme)
	}
	if u.Hostname() == "" {
		return sandrone.Errorf(sandrone.InvalidArgument, "remote proxy needs a host")
	}
	if !canonicalAuthority(u) {
		return sandrone.Errorf(sandrone.InvalidArgument, "remote proxy host or port is not valid")
	}
	return nil
}

// canonicalAuthority rewrites the host of u as canonicalHost does and reports
// whether host and port are usable.
func canonicalAuthority(u *url.URL) bool {
	host, ok := canonicalHost(u.Hostname())
	if !ok {
		return false
	}
	if strings.HasPrefix(u.Host, "[") != strings.Contains(u.Hostname(), ":") {
		return false
	}
	port := u.Port()
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	u.Host = host
	if port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return false
		}
		u.Host += ":" + strconv.FormatUint(n, 10)
	}
	return true
}

// port returns the port of u, the scheme's own if none is written.
func port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	if u.Scheme == "https" {
		return "443"
	}
	return "80"
}

// canonicalHost returns the one spelling under which a host is listed, checked
// and resolved: a name in lower case and ASCII without the root's dot, or an
// address in its usual form, whatever the spelling: resolvers take 127.1 and
// 0x7f000001 for 127.0.0.1, some of them on some systems, and a check must not
// depend on that. An address keeps its zone, for the caller to refuse.
func canonicalHost(host string) (string, bool) {
	for i := range len(host) {
		if host[i] >= 0x80 {
			var err error
			if host, err = idna.Lookup.ToASCII(host); err != nil {
				return "", false
			}
			break
		}
	}
	if a, err := netip.ParseAddr(host); err == nil {
		if a.Zone() == "" {
			a = a.Unmap()
		}
		return a.String(), true
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if len(host) > 253 {
		return "", false
	}
	labels := strings.Split(host, ".")
	for _, label := range labels {
		if label == "" || len(label) > 63 {
			return "", false
		}
		for i := range len(label) {
			switch b := label[i]; {
			case 'a' <= b && b <= 'z', '0' <= b && b <= '9', b == '-', b == '_':
			default:
				return "", false
			}
		}
	}
	if !numeric(labels[len(labels)-1]) {
		return host, true
	}
	a, ok := numericAddr(labels)
	return a.String(), ok
}

// numeric reports whether a host that ends in this label is an address: no
// top-level domain is a number.
func numeric(label string) bool {
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}

// numericAddr reads an IPv4 address of one to four numbers, each decimal,
// octal (0…) or hexadecimal (0x…), of which the last fills the bytes that are
// left.
func numericAddr(labels []string) (netip.Addr, bool) {
	if len(labels) > 4 {
		return netip.Addr{}, false
	}
	var sum uint64
	for i, label := range labels {
		bits := 8
		if i == len(labels)-1 {
			bits = 8 * (4 - i)
		}
		base, digits := 10, label
		if hex, ok := strings.CutPrefix(label, "0x"); ok {
			base, digits = 16, "0"+hex
		} else if len(label) > 1 && label[0] == '0' {
			base = 8
		}
		n, err := strconv.ParseUint(digits, base, bits)
		if err != nil {
			return netip.Addr{}, false
		}
		sum = sum<<bits | n
	}
	return netip.AddrFrom4([4]byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)}), true
}

// escapeQuery escapes the bytes that people paste into a query and that would
// break a request line. What is escaped already stays as it is.
func escapeQuery(query string) string {
	var b strings.Builder
	for i := range len(query) {
		if c := query[i]; c <= ' ' || c >= 0x7f || c == '"' || c == '<' || c == '>' {
			b.WriteByte('%')
			b.WriteByte("0123456789ABCDEF"[c>>4])
			b.WriteByte("0123456789ABCDEF"[c&15])
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// sameServer reports whether credentials for a may be sent to b: the same
// scheme, host and port, or the step from plain to TLS on the usual ports.
func sameServer(a, b *url.URL) bool {
	if a.Hostname() != b.Hostname() {
		return false
	}
	if a.Scheme == b.Scheme {
		return port(a) == port(b)
	}
	return a.Scheme == "http" && port(a) == "80" && port(b) == "443"
}
