package uri

import (
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/sandrone-gateway/sandrone/convert/doc"
	"github.com/sandrone-gateway/sandrone/convert/value"
)

// Limits of one link.
const (
	maxLink   = 256 << 10 // bytes, except ssd:// links, which are whole lists
	maxParams = 1024      // query parameters
)

// Reasons why a link is no node. Their texts name no part of it.
var (
	errTooLong     = errors.New("the link is too long")
	errParams      = errors.New("it has too many parameters")
	errUTF8        = errors.New("a part is not UTF-8 when decoded")
	errBase64      = errors.New("it is not base64")
	errUserinfo    = errors.New("the user part is neither plain nor base64")
	errNoPassword  = errors.New("the password is missing")
	errNoUUID      = errors.New("the user id is missing")
	errUnsupported = errors.New("this kind of link is not supported")
	errScheme      = errors.New("unknown scheme")
	errNoLink      = errors.New("not a share link")
	errNoObject    = errors.New("it is no JSON object")
)

// link is a link cut into parts, none of them decoded.
type link struct {
	scheme   string // lower case
	rest     string // everything between :// and query or fragment
	user     string // userinfo
	hasUser  bool
	host     string // host and port
	path     string // from the first slash after the authority
	query    string
	fragment string
}

// cutScheme splits a link after its scheme.
func cutScheme(s string) (scheme, rest string, ok bool) {
	const most = 32
	i := 0
	for i < len(s) && i <= most && isSchemeByte(s[i]) {
		i++
	}
	if i == 0 || i > most || !strings.HasPrefix(s[i:], "://") {
		return "", "", false
	}
	return strings.ToLower(s[:i]), s[i+3:], true
}

func isSchemeByte(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || c == '+' || c == '-' || c == '.'
}

// cut splits in the order fragment, query, path, userinfo. A later # belongs
// to the name, and an @ in the userinfo is not the last one.
func cut(scheme, s string) link {
	l := link{scheme: scheme}
	s, l.fragment, _ = strings.Cut(s, "#")
	l.rest, l.query, _ = strings.Cut(s, "?")
	authority := l.rest
	if i := strings.IndexByte(authority, '/'); i >= 0 {
		authority, l.path = authority[:i], authority[i:]
	}
	l.authority(authority)
	return l
}

func (l *link) authority(s string) {
	if i := strings.LastIndexByte(s, '@'); i >= 0 {
		l.user, l.hasUser, l.host = s[:i], true, s[i+1:]
	} else {
		l.host = s
	}
}

// slashInUser cuts again a link whose userinfo may be base64, which has
// slashes of its own.
func (l *link) slashInUser() {
	if l.hasUser || !strings.Contains(l.path, "@") {
		return
	}
	i := strings.LastIndexByte(l.rest, '@')
	l.user, l.hasUser = l.rest[:i], true
	l.host, l.path, _ = strings.Cut(l.rest[i+1:], "/")
}

// base64 decodes a link that is base64 as a whole. A slash at the end is an
// empty path: what links hold ends in a digit or a brace, and neither gives a
// slash as the last digit of base64.
func (l *link) base64() (string, bool) {
	return value.Base64Text(strings.TrimSuffix(value.Unescape(l.rest), "/"))
}

// unescape decodes a part that must be UTF-8.
func unescape(s string) (string, error) {
	s = value.Unescape(s)
	if !utf8.ValidString(s) {
		return "", errUTF8
	}
	return s, nil
}

// bareTrue are the parameters that mean true when they stand without a value.
func bareTrue(key string) bool {
	switch key {
	case "udp", "tfo", "ws", "fast-open", "insecure", "allowInsecure":
		return true
	}
	return false
}

// each calls f with every parameter of a query, decoded. A separator that was
// copied out of HTML is a separator too.
func each(query string, decode func(string) string, f func(key, v string) error) error {
	for n := 0; query != ""; n++ {
		if n == maxParams {
			return errParams
		}
		var part string
		part, query, _ = strings.Cut(query, "&")
		part = strings.TrimPrefix(part, "amp;")
		key, v, stated := strings.Cut(part, "=")
		if key == "" {
			continue
		}
		key, v = decode(key), decode(v)
		if !stated && bareTrue(key) {
			v = "1"
		}
		if !utf8.ValidString(key) {
			return errUTF8
		}
		if key[0] == '@' || key[0] == '#' {
			key = "?" + key // no parameter can pass for a part of the link
		}
		if err := f(key, v); err != nil {
			return err
		}
	}
	return nil
}

// add lays out a part of the link as an item. Empty text is as good as none.
func (p *parser) add(key, text string) {
	if text != "" {
		p.items.AddStr(key, text)
	}
}

// params lays out the query.
func (p *parser) params(query string) error {
	return each(query, value.Unescape, p.param)
}

func (p *parser) param(key, v string) error {
	if !utf8.ValidString(v) {
		switch key {
		case "remarks", "remark", "tag", "name":
			v = value.Latin1(v)
		case "auth": // Hysteria's authentication is bytes
		default:
			return errUTF8
		}
	}
	p.items.AddStr(key, v)
	return nil
}

// name lays out the fragment.
func (p *parser) name(fragment string) {
	p.add("#", value.Name(value.Unescape(fragment)))
}

// endpoint lays out host and port; without a port it takes fallback, and fails
// if that is empty.
func (p *parser) endpoint(s, fallback string) error {
	host, port, ok := value.SplitEndpoint(s)
	if !ok {
		return value.ErrHost
	}
	p.items.AddStr("@host", host)
	return p.port(port, fallback)
}

func (p *parser) port(port, fallback string) error {
	if port == "" {
		port = fallback
	}
	if port == "" {
		return value.ErrNoPort
	}
	if _, ok := value.Port(port); !ok {
		if strings.Trim(port, "0") == "" {
			return value.ErrPortZero
		}
		return value.ErrPort
	}
	p.items.AddStr("@port", port)
	return nil
}

// text returns the value of an item that has been laid out, or "".
func (p *parser) text(keys ...string) string {
	for _, key := range keys {
		for i := 1; i < len(p.items); i++ {
			if it := &p.items[i]; it.Key == key && it.Text != "" {
				return it.Text
			}
		}
	}
	return ""
}

// nest turns the value of a parameter that is a JSON object into a tree, which
// decode gets the JSON text of. A value that is none stays as it is.
func (p *parser) nest(key string, decode func(string) (string, bool)) {
	for i := 1; i < len(p.items); i++ {
		it := &p.items[i]
		if it.Key != key || it.Kind != doc.Str {
			continue
		}
		text, ok := decode(it.Text)
		if !ok || !strings.HasPrefix(strings.TrimSpace(text), "{") {
			return
		}
		tree, err := doc.ReadStrictJSON(nil, text)
		if err != nil || tree[0].Kind != doc.Map {
			return
		}
		it.Key, it.Text = "", ""
		p.items.AddTree(key, tree, 0)
		return
	}
}

func same(s string) (string, bool) { return s, true }
