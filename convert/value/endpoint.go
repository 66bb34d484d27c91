package value

import (
	"errors"
	"net/netip"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Errors of an endpoint. Their texts name no part of the input.
var (
	ErrHost     = errors.New("the host is missing or malformed")
	ErrNoPort   = errors.New("the port is missing")
	ErrPort     = errors.New("the port is not a number from 1 to 65535")
	ErrPortZero = errors.New("the port is 0") // providers write notices as links to port 0
)

// Endpoint reads "host:port". Without a port it takes fallback, and fails with
// [ErrNoPort] if that is 0. A slash after the port is allowed. The host is
// what [SplitEndpoint] returns.
func Endpoint(s string, fallback uint16) (host string, port uint16, err error) {
	host, text, ok := SplitEndpoint(s)
	if !ok {
		return "", 0, ErrHost
	}
	if text == "" {
		if fallback == 0 {
			return "", 0, ErrNoPort
		}
		return host, fallback, nil
	}
	port, ok = Port(text)
	if ok {
		return host, port, nil
	}
	if strings.Trim(text, "0") == "" {
		return "", 0, ErrPortZero
	}
	return "", 0, ErrPort
}

// SplitEndpoint splits at the last colon and checks the host, but leaves the
// text of the port to the caller, since hysteria2 has port sets there; it is
// "" when there is none. A bare IPv6 address is taken when everything before
// the last colon is one, or, without a port, when the whole is one. The host
// comes without brackets; a zone stays, after a single "%".
func SplitEndpoint(s string) (host, port string, ok bool) {
	s = strings.TrimSuffix(s, "/")
	if strings.HasPrefix(s, "[") {
		end := strings.IndexByte(s, ']')
		if end < 0 {
			return "", "", false
		}
		host, port = s[1:end], s[end+1:]
		if port != "" {
			if port[0] != ':' {
				return "", "", false
			}
			port = port[1:]
		}
		// RFC 6874 writes the percent sign of a zone as %25.
		host = strings.Replace(host, "%25", "%", 1)
		if !strings.Contains(host, ":") {
			return "", "", false
		}
		host, ok = Host(host)
		return host, port, ok
	}
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		host, ok = Host(s)
		return host, "", ok
	}
	host, port = s[:i], s[i+1:]
	if strings.Contains(host, ":") {
		if !IsIP(host) {
			return s, "", IsIP(s)
		}
		return host, port, true
	}
	host, ok = Host(host)
	return host, port, ok
}

// Host checks a host name or address and returns it without brackets. It is
// refused when it is empty, holds white space, control characters, or one of
// / ? # @, a colon without being an IPv6 address, or % outside a zone. The
// letter case and international names stay as given.
func Host(s string) (string, bool) {
	if len(s) > 2 && s[0] == '[' && s[len(s)-1] == ']' {
		s = s[1 : len(s)-1]
		if !strings.Contains(s, ":") {
			return "", false
		}
	}
	if s == "" || len(s) > 255 {
		return "", false
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case ':', '%':
			return s, IsIP(s)
		case '/', '?', '#', '@', '[', ']', '\\', '<', '>', '"', 0x7F:
			return "", false
		default:
			if c <= ' ' {
				return "", false
			}
			if c >= utf8.RuneSelf {
				return s, cleanName(s)
			}
		}
	}
	return s, true
}

// cleanName is [Host] for names with characters beyond ASCII.
func cleanName(s string) bool {
	if !utf8.ValidString(s) || strings.ContainsAny(s, ":%/?#@[]\\<>\"") {
		return false
	}
	return strings.IndexFunc(s, func(r rune) bool {
		return r <= ' ' || r >= 0x7F && r <= 0xA0 || r >= 0x2000 && r <= 0x200F || r >= 0x2028 && r <= 0x202F || r == 0x3000 || r == 0xFEFF
	}) < 0
}

// IsIP reports whether s is an IP address without brackets; an IPv6 address
// may have a zone.
func IsIP(s string) bool {
	// Names are the usual case; they need no parser.
	if s == "" || hexDigit(s[0]) == 0xFF && s[0] != ':' {
		return false
	}
	_, err := netip.ParseAddr(s)
	return err == nil
}

// Port reads a decimal port, 1 to 65535.
func Port(s string) (uint16, bool) {
	if s == "" || len(s) > 8 {
		return 0, false
	}
	n := 0
	for i := 0; i < len(s); i++ {
		c := s[i] - '0'
		if c > 9 {
			return 0, false
		}
		n = n*10 + int(c)
	}
	if n < 1 || n > 65535 {
		return 0, false
	}
	return uint16(n), true
}

// PortItem reads one item of a port set, "N", "A-B" or "A:B", ascending, and
// returns it with a hyphen. A range of one port is that port.
func PortItem(s string) (item string, first uint16, ok bool) {
	s = strings.TrimSpace(s)
	i := strings.IndexAny(s, "-:")
	if i < 0 {
		first, ok = Port(s)
		return s, first, ok
	}
	a, b := strings.TrimSpace(s[:i]), strings.TrimSpace(s[i+1:])
	first, ok1 := Port(a)
	last, ok2 := Port(b)
	switch {
	case !ok1 || !ok2 || first > last:
		return "", 0, false
	case first == last:
		return a, first, true
	case s[i] == '-' && len(a)+len(b)+1 == len(s):
		return s, first, true
	}
	return a + "-" + b, first, true
}

// Ports reads a port set: items as of [PortItem] separated by comma or
// semicolon. One bad item spoils the set.
func Ports(s string) (items []string, ok bool) {
	for s != "" {
		part := s
		if i := strings.IndexAny(s, ",;"); i >= 0 {
			part, s = s[:i], s[i+1:]
		} else {
			s = ""
		}
		if strings.TrimSpace(part) == "" {
			continue
		}
		item, _, ok := PortItem(part)
		if !ok || len(items) >= maxPortItems {
			return nil, false
		}
		items = append(items, item)
	}
	return items, len(items) > 0
}

// maxPortItems bounds a port set; there are no more ports than that.
const maxPortItems = 65535

// PortList is [Ports] for a set that is a list already. A list whose items are
// canonical is returned as it is.
func PortList(list []string) (items []string, ok bool) {
	items = list
	for i, s := range list {
		item, _, ok := PortItem(s)
		if !ok {
			return nil, false
		}
		if item != s && &items[0] == &list[0] {
			items = append([]string(nil), list...)
		}
		if item != s {
			items[i] = item
		}
	}
	return items, true
}

// FirstPort is the first port of the first item of a port set, or 0.
func FirstPort(items []string) uint16 {
	if len(items) == 0 {
		return 0
	}
	_, first, _ := PortItem(items[0])
	return first
}

// ColonRange writes an item of a port set as "A:B". A single port becomes a
// range of one, because sing-box refuses an item without a colon.
func ColonRange(item string) string {
	if a, b, ok := strings.Cut(item, "-"); ok {
		return a + ":" + b
	}
	return item + ":" + item
}

// CIDR completes an address with its full prefix length: "10.0.0.2" becomes
// "10.0.0.2/32". An address that has one is checked and returned as it is.
func CIDR(s string) (string, bool) {
	if strings.Contains(s, "/") {
		_, err := netip.ParsePrefix(s)
		return s, err == nil
	}
	a, err := netip.ParseAddr(s)
	if err != nil || a.Zone() != "" {
		return "", false
	}
	return s + "/" + strconv.Itoa(a.BitLen()), true
}

// Reserved reads WireGuard's three reserved bytes: "[1,2,3]", "1,2,3",
// "1/2/3", or base64 of three bytes. Empty text is no bytes.
func Reserved(s string) ([]int, bool) {
	s = strings.TrimSpace(s)
	if s == "" {
		return nil, true
	}
	if n, ok := Base64Size(s); ok && n == 3 && len(s) == 4 {
		b, _ := Base64(s)
		return []int{int(b[0]), int(b[1]), int(b[2])}, true
	}
	if inner, ok := strings.CutPrefix(s, "["); ok {
		if s, ok = strings.CutSuffix(inner, "]"); !ok {
			return nil, false
		}
	}
	sep := ","
	if strings.Contains(s, "/") {
		sep = "/"
	}
	out := make([]int, 0, 3)
	for part := range strings.SplitSeq(s, sep) {
		n, err := strconv.ParseUint(strings.TrimSpace(part), 10, 8)
		if err != nil || len(out) == 3 {
			return nil, false
		}
		out = append(out, int(n))
	}
	return out, len(out) == 3
}
