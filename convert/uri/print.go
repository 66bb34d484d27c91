package uri

import (
	"encoding/base64"
	"slices"
	"strings"

	"github.com/sandrone-gateway/sandrone/convert/doc"
)

// printer writes item trees as links. It holds scratch space and serves one
// goroutine.
type printer struct {
	d      doc.Items
	query  []int // items of the query
	pseudo struct{ scheme, user, pass, token, method, host, port, ports, path, name, json int }
	buf    []byte
}

// link appends the tree at index 0 as a link, its parameters in key order.
func (p *printer) link(dst []byte, d doc.Items) []byte {
	p.d, p.query = d, p.query[:0]
	s := &p.pseudo
	*s = struct{ scheme, user, pass, token, method, host, port, ports, path, name, json int }{}
	for i := 1; i < d.Next(0); i = d.Next(i) {
		switch d[i].Key {
		case "@scheme":
			s.scheme = i
		case "@user", "@token":
			s.user = i
		case "@pass":
			s.pass = i
		case "@method":
			s.method = i
		case "@host":
			s.host = i
		case "@port":
			s.port = i
		case "@ports":
			s.ports = i
		case "#":
			s.name = i
		case "@json":
			s.json = i
		default:
			p.query = append(p.query, i)
		}
	}
	slices.SortStableFunc(p.query, func(i, j int) int { return strings.Compare(d[i].Key, d[j].Key) })

	switch scheme := d[s.scheme].Text; {
	case s.scheme == 0: // only a VMess node in JSON says no scheme
		dst = append(dst, "vmess://"...)
		p.buf = doc.AppendJSON(p.buf[:0], d, s.json)
		dst = base64.StdEncoding.AppendEncode(dst, p.buf)
		// Its name is in the JSON. Readers that know no query here are the
		// rule, so there is one only for what came from one.
		return p.params(dst, "?")
	case scheme == "ssr":
		return p.ssr(dst)
	case scheme == "ss":
		dst = append(dst, "ss://"...)
		dst = append(p.methodAndPassword(dst), '@')
		return p.fragment(p.params(p.endpoint(dst), "/?"))
	default:
		dst = append(append(dst, scheme...), "://"...)
		dst = p.userinfo(dst, scheme)
		return p.fragment(p.params(p.endpoint(dst), "?"))
	}
}

func (p *printer) userinfo(dst []byte, scheme string) []byte {
	s := &p.pseudo
	if s.user == 0 && s.pass == 0 {
		return dst
	}
	if s.user > 0 {
		// Of hysteria2 a colon is part of the one secret, and readers that
		// look for user and password expect to see it.
		keep := ""
		if scheme == "hysteria2" {
			keep = ":"
		}
		dst = escape(dst, p.d[s.user].Text, keep)
	}
	if s.pass > 0 {
		dst = escape(append(dst, ':'), p.d[s.pass].Text, "")
	}
	return append(dst, '@')
}

// methodAndPassword writes the userinfo of Shadowsocks: base64, except for the
// ciphers of 2022, whose definition wants plain text.
func (p *printer) methodAndPassword(dst []byte) []byte {
	method, pass := p.d[p.pseudo.method].Text, ""
	if p.pseudo.pass > 0 {
		pass = p.d[p.pseudo.pass].Text
	}
	if strings.HasPrefix(method, "2022-") {
		dst = append(escape(dst, method, ""), ':')
		return escape(dst, pass, "")
	}
	p.buf = append(append(append(p.buf[:0], method...), ':'), pass...)
	return base64.RawURLEncoding.AppendEncode(dst, p.buf)
}

func (p *printer) endpoint(dst []byte) []byte {
	s := &p.pseudo
	dst = appendHost(dst, p.d[s.host].Text)
	switch {
	case s.ports > 0:
		dst = append(append(dst, ':'), p.d[s.ports].Text...)
	case s.port > 0:
		dst = append(append(dst, ':'), p.d[s.port].Text...)
	}
	return dst
}

func appendHost(dst []byte, host string) []byte {
	if !strings.Contains(host, ":") {
		return append(dst, host...)
	}
	address, zone, zoned := strings.Cut(host, "%")
	dst = append(append(dst, '['), address...)
	if zoned { // RFC 6874
		dst = append(append(dst, "%25"...), zone...)
	}
	return append(dst, ']')
}

// params writes the query, if there is one, after the given opening.
func (p *printer) params(dst []byte, open string) []byte {
	for k, i := range p.query {
		if k == 0 {
			dst = append(dst, open...)
		} else {
			dst = append(dst, '&')
		}
		it := &p.d[i]
		dst = append(escape(dst, it.Key, ""), '=')
		switch {
		case it.Kind != doc.Map && it.Kind != doc.List:
			dst = escape(dst, it.Text, "")
		case it.Key == "shadow-tls":
			p.buf = doc.AppendJSON(p.buf[:0], p.d, i)
			dst = base64.RawURLEncoding.AppendEncode(dst, p.buf)
		default:
			p.buf = doc.AppendJSON(p.buf[:0], p.d, i)
			dst = escape(dst, string(p.buf), "")
		}
	}
	return dst
}

func (p *printer) fragment(dst []byte) []byte {
	if p.pseudo.name == 0 || p.d[p.pseudo.name].Text == "" {
		return dst
	}
	return escape(append(dst, '#'), p.d[p.pseudo.name].Text, "")
}

// ssr writes ShadowsocksR, which is base64 as a whole and in its parts. An
// IPv6 address stands without brackets: readers count colons from the right,
// and hand the host on as it is.
func (p *printer) ssr(dst []byte) []byte {
	get := func(key string) string {
		for _, i := range p.query {
			if p.d[i].Key == key {
				return p.d[i].Text
			}
		}
		return ""
	}
	s := &p.pseudo
	b := append(p.buf[:0], p.d[s.host].Text...)
	for _, part := range []string{p.d[s.port].Text, get("@protocol"), p.d[s.method].Text, get("@obfs")} {
		b = append(append(b, ':'), part...)
	}
	b = append(b, ':')
	b = base64.RawURLEncoding.AppendEncode(b, []byte(p.d[s.pass].Text))
	open := "/?"
	param := func(key, text string) {
		b = append(append(append(b, open...), key...), '=')
		b = append(b, text...)
		open = "&"
	}
	for _, key := range []string{"obfsparam", "protoparam", "remarks", "group"} {
		if v := get(key); v != "" {
			param(key, base64.RawURLEncoding.EncodeToString([]byte(v)))
		}
	}
	for _, i := range p.query {
		switch key := p.d[i].Key; key {
		case "@protocol", "@obfs", "obfsparam", "protoparam", "remarks", "group":
		default:
			param(string(escape(nil, key, "")), string(escape(nil, p.d[i].Text, "")))
		}
	}
	p.buf = b
	return base64.RawURLEncoding.AppendEncode(append(dst, "ssr://"...), b)
}

// unreserved are the characters that RFC 3986 lets stand everywhere. All
// others are escaped, so that no reader can take one for a delimiter.
var unreserved = func() (t [256]bool) {
	for _, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~") {
		t[c] = true
	}
	return t
}()

// escape appends s percent-encoded, apart from the bytes in keep.
func escape(dst []byte, s, keep string) []byte {
	const hex = "0123456789ABCDEF"
	for i := 0; i < len(s); i++ {
		if c := s[i]; unreserved[c] || strings.IndexByte(keep, c) >= 0 {
			dst = append(dst, c)
		} else {
			dst = append(dst, '%', hex[c>>4], hex[c&15])
		}
	}
	return dst
}
