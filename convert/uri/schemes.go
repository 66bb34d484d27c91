package uri

import (
	"errors"
	"regexp"
	"strconv"
	"strings"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert"
	"github.com/sandrone-gateway/sandrone/convert/doc"
	f "github.com/sandrone-gateway/sandrone/convert/field"
	"github.com/sandrone-gateway/sandrone/convert/table"
	"github.com/sandrone-gateway/sandrone/convert/value"
)

// schemes are all schemes that are known. A reader lays out the parts of a
// link as items and has them read; the rows of the protocol do the rest.
var schemes map[string]func(p *parser, l *link) error

func init() { // here, since a list holds links that hold lists
	schemes = map[string]func(p *parser, l *link) error{
		"ss":          readSS,
		"ssr":         readSSR,
		"ssd":         readSSD,
		"vmess":       readVMess,
		"vmess1":      readVMess,
		"vless":       readVLESS,
		"trojan":      readTrojan,
		"trojan-go":   readTrojan,
		"hysteria":    readHysteria,
		"hy":          readHysteria,
		"hysteria2":   readHysteria2,
		"hy2":         readHysteria2,
		"tuic":        readTUIC,
		"anytls":      readAnyTLS,
		"wireguard":   readWireGuard,
		"wg":          readWireGuard,
		"snell":       readSnell,
		"socks":       readSOCKS,
		"socks5":      readSOCKS,
		"socks5h":     readSOCKS,
		"socks4":      readSOCKS,
		"socks4a":     readSOCKS,
		"socks+tls":   readSOCKS,
		"socks5+tls":  readSOCKS,
		"http":        readHTTP,
		"https":       readHTTP,
		"tg":          readTelegram,
		"ssh":         readSSH,
		"naive":       readNaive,
		"naive+https": readNaive,
		"naive+quic":  readNaive,
		"mierus":      readMieru,
		"juicity":     readJuicity,
		"mieru":       unsupported,
		"clash":       unsupported,
		"sub":         unsupported,
		"netch":       unsupported,
	}
}

func unsupported(*parser, *link) error { return errUnsupported }

// plain lays out name, endpoint and query, which most links have in the same
// places.
func (p *parser) plain(l *link, fallback string) error {
	p.name(l.fragment)
	if err := p.endpoint(l.host, fallback); err != nil {
		return err
	}
	return p.params(l.query)
}

// user lays out the whole userinfo as one text.
func (p *parser) user(l *link) error {
	user, err := unescape(l.user)
	p.add("@user", user)
	return err
}

// login lays out a userinfo of user name and password, either of which may be
// missing.
func (p *parser) login(userinfo string, decode func(string) (string, error)) error {
	user, pass, _ := strings.Cut(userinfo, ":")
	user, err := decode(user)
	if err != nil {
		return err
	}
	if pass, err = decode(pass); err != nil {
		return err
	}
	p.add("@user", user)
	p.add("@pass", pass)
	return nil
}

func decoded(s string) (string, error) { return s, nil }

func readSS(p *parser, l *link) error {
	l.slashInUser()
	p.name(l.fragment)
	if !l.hasUser {
		text, ok := l.base64()
		i := strings.LastIndexByte(text, '@')
		if !ok || i < 0 {
			return errBase64
		}
		host, query, _ := strings.Cut(text[i+1:], "?")
		if err := p.methodAndPassword(text[:i]); err != nil {
			return err
		}
		if err := p.endpoint(host, ""); err != nil {
			return err
		}
		if err := p.params(query); err != nil {
			return err
		}
		return p.readSS(l.query)
	}
	if err := p.endpoint(l.host, ""); err != nil {
		return err
	}
	user, err := unescape(l.user)
	if err != nil {
		return err
	}
	if !strings.Contains(user, ":") {
		var ok bool
		if user, ok = value.Base64Text(user); !ok {
			return errUserinfo
		}
	}
	if err := p.methodAndPassword(user); err != nil {
		return err
	}
	return p.readSS(l.query)
}

func (p *parser) methodAndPassword(s string) error {
	method, pass, ok := strings.Cut(s, ":")
	if !ok {
		return errUserinfo
	}
	p.add("@method", method)
	p.add("@pass", pass)
	return nil
}

func (p *parser) readSS(query string) error {
	if err := p.params(query); err != nil {
		return err
	}
	p.nestExtra()
	return p.read(sandrone.Shadowsocks, nil)
}

func readSSR(p *parser, l *link) error {
	p.name(l.fragment)
	text, ok := l.base64()
	if !ok {
		return errBase64
	}
	head, query, found := strings.Cut(text, "/?")
	if !found {
		head, query, _ = strings.Cut(text, "?")
	}
	// From the right, since the host may be an IPv6 address.
	var fields [5]string // port, protocol, method, obfs, password
	for k := len(fields) - 1; k >= 0; k-- {
		i := strings.LastIndexByte(head, ':')
		if i < 0 {
			return errors.New("it has fewer than six fields")
		}
		head, fields[k] = head[:i], head[i+1:]
	}
	host, ok := value.Host(head)
	if !ok {
		return value.ErrHost
	}
	p.items.AddStr("@host", host)
	if err := p.port(fields[0], ""); err != nil {
		return err
	}
	pass := base64OrPlain(strings.TrimSuffix(fields[4], "/"))
	if pass == "" {
		return errNoPassword
	}
	p.add("@protocol", fields[1])
	p.add("@method", fields[2])
	p.add("@obfs", fields[3])
	p.add("@pass", pass)
	param := func(key, v string) error {
		switch key {
		case "obfsparam", "protoparam":
			v = strings.Join(strings.Fields(base64OrPlain(v)), "")
		case "remarks":
			v = value.Name(base64OrPlain(v))
		case "group":
			v = base64OrPlain(v)
		}
		return p.param(key, v)
	}
	for _, q := range []string{query, l.query} {
		if err := each(q, value.Unescape, param); err != nil {
			return err
		}
	}
	return p.read(sandrone.ShadowsocksR, nil)
}

// base64OrPlain decodes a value that ought to be base64. Many panels forget.
func base64OrPlain(s string) string {
	if text, ok := value.Base64Text(s); ok {
		return text
	}
	return s
}

func readVLESS(p *parser, l *link) error {
	l.slashInUser()
	p.name(l.fragment)
	if !l.hasUser {
		// Shadowrocket: base64 of user and endpoint.
		text, ok := l.base64()
		if !ok {
			return errNoUUID
		}
		l.authority(text)
		if _, id, ok := strings.Cut(l.user, ":"); ok {
			l.user = id // before it stands "auto" or "none"
		}
		p.add("@user", l.user)
	} else if err := p.user(l); err != nil {
		return err
	}
	if err := p.endpoint(l.host, "443"); err != nil {
		return err
	}
	if p.text("@user") == "" {
		return errNoUUID
	}
	if err := p.params(l.query); err != nil {
		return err
	}
	p.nestExtra()
	return p.read(sandrone.VLESS, nil)
}

func readTrojan(p *parser, l *link) error {
	if err := p.user(l); err != nil {
		return err
	}
	if err := p.plain(l, "443"); err != nil {
		return err
	}
	if p.text("@user") == "" {
		return errNoPassword
	}
	p.nestExtra()
	return p.read(sandrone.Trojan, nil)
}

func readHysteria(p *parser, l *link) error {
	if l.hasUser {
		return errors.New("it has a user part")
	}
	if err := p.plain(l, ""); err != nil {
		return err
	}
	return p.read(sandrone.Hysteria, nil)
}

func readHysteria2(p *parser, l *link) error {
	if err := p.user(l); err != nil {
		return err
	}
	p.name(l.fragment)
	host, ports, ok := value.SplitEndpoint(l.host)
	if !ok {
		return value.ErrHost
	}
	p.items.AddStr("@host", host)
	if strings.ContainsAny(ports, ",;-") {
		set, ok := value.Ports(ports)
		if !ok {
			return errors.New("the ports are no set of ports")
		}
		p.add("@ports", ports)
		ports = strconv.Itoa(int(value.FirstPort(set)))
	}
	if err := p.port(ports, "443"); err != nil {
		return err
	}
	if err := p.params(l.query); err != nil {
		return err
	}
	return p.read(sandrone.Hysteria2, nil)
}

func readTUIC(p *parser, l *link) error {
	user, err := unescape(l.user)
	if err != nil {
		return err
	}
	id, pass, v5 := strings.Cut(user, ":") // an escaped colon counts too
	if err := p.plain(l, "443"); err != nil {
		return err
	}
	if !v5 && p.text("token") == "" {
		p.add("@token", user)
	} else {
		p.add("@user", id)
		p.add("@pass", pass)
	}
	return p.read(sandrone.TUIC, nil)
}

func readAnyTLS(p *parser, l *link) error {
	if err := p.user(l); err != nil {
		return err
	}
	if err := p.plain(l, "443"); err != nil {
		return err
	}
	if p.text("@user") == "" {
		return errNoPassword
	}
	return p.read(sandrone.AnyTLS, nil)
}

func readWireGuard(p *parser, l *link) error {
	l.slashInUser()
	if err := p.user(l); err != nil {
		return err
	}
	if err := p.plain(l, "51820"); err != nil {
		return err
	}
	return p.read(sandrone.WireGuard, func(n *sandrone.Node) error {
		w := n.WireGuard
		switch {
		case w == nil || w.PrivateKey == "":
			return &table.EntryError{Field: f.WireGuard.PrivateKey.Path, Reason: "the private key is missing"}
		case len(w.Peers) == 0 || w.Peers[0].PublicKey == "":
			return &table.EntryError{Field: f.Peer.PublicKey.Path, Reason: "the peer's public key is missing"}
		case len(w.Address) == 0:
			return &table.EntryError{Field: f.WireGuard.Address.Path, Reason: "the address is missing"}
		}
		return nil
	})
}

func readSnell(p *parser, l *link) error {
	l.slashInUser()
	p.name(l.fragment)
	if !l.hasUser {
		text, ok := l.base64()
		if !ok {
			return errNoPassword
		}
		l.authority(text)
		p.add("@user", strings.TrimPrefix(l.user, "chacha20-ietf-poly1305:"))
	} else if err := p.user(l); err != nil {
		return err
	}
	if err := p.endpoint(l.host, ""); err != nil {
		return err
	}
	if p.text("@user") == "" {
		return errNoPassword
	}
	if err := p.params(l.query); err != nil {
		return err
	}
	p.nest("shadow-tls", value.Base64Text)
	return p.read(sandrone.Snell, nil)
}

func readSOCKS(p *parser, l *link) error {
	p.items.AddStr("@scheme", l.scheme)
	p.name(l.fragment)
	decode := unescape
	if l.scheme == "socks" {
		l.slashInUser()
		if l.hasUser && !strings.Contains(l.user, ":") {
			if text, ok := value.Base64Text(value.Unescape(l.user)); ok && strings.Contains(text, ":") {
				l.user, decode = text, decoded
			}
		}
	}
	if !l.hasUser && !strings.Contains(l.host, ":") {
		if l.inBase64() {
			decode = decoded
		}
	}
	if err := p.login(l.user, decode); err != nil {
		return err
	}
	if err := p.endpoint(l.host, "1080"); err != nil {
		return err
	}
	if err := p.params(l.query); err != nil {
		return err
	}
	return p.read(sandrone.SOCKS, nil)
}

// inBase64 looks whether the authority is base64 of another one, with a port,
// and if so takes that.
func (l *link) inBase64() bool {
	text, ok := l.base64()
	if !ok {
		return false
	}
	var inner link
	inner.authority(text)
	if _, _, err := value.Endpoint(inner.host, 0); err != nil {
		return false
	}
	l.user, l.hasUser, l.host, l.path = inner.user, inner.hasUser, inner.host, ""
	return true
}

func readHTTP(p *parser, l *link) error {
	if !l.hasUser {
		switch strings.ToLower(l.host) {
		case "t.me", "telegram.me", "www.t.me", "www.telegram.me":
			return readTelegram(p, l)
		}
		if len(l.path) > 1 && (strings.Contains(l.host, ":") || !l.inBase64()) {
			return errWebPage
		}
	}
	p.items.AddStr("@scheme", l.scheme)
	p.name(l.fragment)
	decode := unescape
	if !l.hasUser && !strings.Contains(l.host, ":") && l.inBase64() {
		decode = decoded
	}
	if err := p.login(l.user, decode); err != nil {
		return err
	}
	fallback := "80"
	if l.scheme == "https" {
		fallback = "443"
	}
	if err := p.endpoint(l.host, fallback); err != nil {
		return err
	}
	if err := p.params(l.query); err != nil {
		return err
	}
	return p.read(sandrone.HTTP, nil)
}

// readTelegram reads what Telegram calls a proxy: everything is in the query.
func readTelegram(p *parser, l *link) error {
	kind := strings.Trim(l.path, "/")
	if l.scheme == "tg" {
		kind = strings.ToLower(strings.Trim(l.rest, "/"))
	}
	t, fallback := sandrone.SOCKS, "1080"
	switch kind {
	case "socks":
	case "http":
		t, fallback = sandrone.HTTP, "80"
	case "proxy":
		return errUnsupported
	default:
		if l.scheme == "tg" {
			return errUnsupported
		}
		return errWebPage
	}
	var server, port string
	err := each(l.query, value.Unescape, func(key, v string) error {
		switch key {
		case "server", "host":
			if server == "" {
				server = v
			}
			return nil
		case "port":
			port = v
			return nil
		case "user", "username":
			key = "@user"
		case "pass", "password":
			key = "@pass"
		}
		return p.param(key, v)
	})
	if err != nil {
		return err
	}
	p.name(l.fragment)
	host, ok := value.Host(server)
	if !ok {
		return value.ErrHost
	}
	p.items.AddStr("@host", host)
	if err := p.port(port, fallback); err != nil {
		return err
	}
	return p.read(t, nil)
}

func readSSH(p *parser, l *link) error {
	if err := p.login(l.user, unescape); err != nil {
		return err
	}
	if err := p.plain(l, "22"); err != nil {
		return err
	}
	return p.read(sandrone.SSH, func(n *sandrone.Node) error {
		if n.Username == "" && (n.Password != "" || n.SSH != nil && n.SSH.PrivateKey != "") {
			n.Username = "root"
		}
		return nil
	})
}

func readNaive(p *parser, l *link) error {
	p.items.AddStr("@scheme", l.scheme)
	if err := p.login(l.user, unescape); err != nil {
		return err
	}
	if err := p.plain(l, "443"); err != nil {
		return err
	}
	return p.read(sandrone.Naive, nil)
}

// readMieru makes a node of each pair of port and protocol. Its query is
// form-encoded, by the definition of these links.
func readMieru(p *parser, l *link) error {
	var ports, protocols []string
	var profile string
	err := each(l.query, value.UnescapeForm, func(key, v string) error {
		switch {
		case key == "port":
			ports = append(ports, v)
		case key == "protocol":
			protocols = append(protocols, v)
		case key == "profile" && profile == "":
			profile = v
		default:
			return p.param(key, v)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(ports) == 0 || len(ports) != len(protocols) {
		return errors.New("every port needs a protocol")
	}
	if err := p.login(l.user, unescape); err != nil {
		return err
	}
	host, port, ok := value.SplitEndpoint(l.host)
	if !ok || port != "" {
		return value.ErrHost
	}
	p.items.AddStr("@host", host)
	base := value.Name(value.Unescape(l.fragment))
	if base == "" {
		base = value.Name(profile)
	}
	if base == "" {
		base = host
	}
	// All pairs are looked at before the first node counts, so that a link is
	// read as a whole or not at all.
	for i, port := range ports {
		switch _, _, ok := value.PortItem(port); {
		case strings.Trim(port, "0") == "":
			return value.ErrPortZero
		case !ok:
			return value.ErrPort
		}
		if up := strings.ToUpper(protocols[i]); up != "TCP" && up != "UDP" {
			return errors.New("the protocol is neither TCP nor UDP")
		}
	}
	common := len(p.items)
	for i, port := range ports {
		p.items = p.items[:common]
		protocol := strings.ToUpper(protocols[i])
		p.items.AddStr("#", base+":"+port+"/"+protocol)
		p.items.AddStr("port", port)
		p.items.AddStr("protocol", protocol)
		if err := p.read(sandrone.Mieru, nil); err != nil {
			return err
		}
	}
	return nil
}

func readJuicity(p *parser, l *link) error {
	user, err := unescape(l.user)
	if err != nil {
		return err
	}
	id, pass, _ := strings.Cut(user, ":")
	p.add("@user", id)
	p.add("@pass", pass)
	if err := p.plain(l, ""); err != nil {
		return err
	}
	return p.read(sandrone.Juicity, nil)
}

// readSSD reads a list of Shadowsocks servers with common defaults. A server
// that cannot be read costs the others nothing.
func readSSD(p *parser, l *link) error {
	const mostJSON = 8 << 20
	text, ok := l.base64()
	if !ok {
		return errBase64
	}
	if len(text) > mostJSON {
		return errTooLong
	}
	d, err := doc.ReadStrictJSON(nil, text)
	if err != nil || d[0].Kind != doc.Map {
		return errNoObject
	}
	servers := d.Find(0, "servers")
	if servers < 0 || d[servers].Kind != doc.List && d[servers].Kind != doc.Map {
		return errors.New("it has no servers")
	}
	p.spare = convert.Expansion(text)
	for i := servers + 1; i < d.Next(servers); i = d.Next(i) {
		err := p.ssdServer(d, i)
		if err == nil {
			continue
		}
		if ofWholeText(err) {
			return err
		}
		if err := p.failed(l.scheme, err); err != nil {
			return err
		}
	}
	return nil
}

func (p *parser) ssdServer(d doc.Items, at int) error {
	if d[at].Kind != doc.Map {
		return errors.New("a server is no object")
	}
	get := func(key string) string {
		for _, m := range []int{at, 0} {
			if i := d.Find(m, key); i >= 0 {
				if s, ok := d.Scalar(i); ok && (s != "" || m == at) {
					if m != at {
						p.spare -= len(s)
					}
					return s
				}
			}
		}
		return ""
	}
	own := func(key string) string {
		if i := d.Find(at, key); i >= 0 {
			s, _ := d.Scalar(i)
			return s
		}
		return ""
	}
	p.begin()
	p.add("#", own("remarks"))
	host, ok := value.Host(own("server"))
	if !ok {
		return value.ErrHost
	}
	p.items.AddStr("@host", host)
	if err := p.port(get("port"), ""); err != nil {
		return err
	}
	p.add("@method", get("encryption"))
	p.add("@pass", get("password"))
	plugin := get("plugin")
	p.add("plugin", plugin)
	if plugin != "" {
		p.add("plugin-opts", get("plugin_options"))
	}
	p.items.AddTree("@ssd", d, at)
	airport := ""
	if i := d.Find(0, "airport"); i >= 0 {
		airport, _ = d.Scalar(i)
	}
	if p.spare -= len(airport); p.spare < 0 {
		return convert.ErrExpansion
	}
	return p.read(sandrone.Shadowsocks, func(n *sandrone.Node) error {
		if airport != "" {
			n.Meta = map[string]string{"group": airport}
		}
		return nil
	})
}

// Forms of VMess links.
var (
	formC = regexp.MustCompile(`^\s*[^=,]*=\s*vmess\s*,`)
	formE = regexp.MustCompile(`^(tcp|kcp|ws|http|quic)(\+tls)?:(.*)-([0-9]+)$`)
	token = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)
)

// readVMess tells the forms of VMess links apart by their shape.
func readVMess(p *parser, l *link) error {
	if strings.Contains(l.rest, "@") {
		return p.vmessURL(l)
	}
	text, ok := l.base64()
	if !ok {
		if i := strings.IndexByte(l.rest, '/'); i >= 0 { // a path nobody needs
			text, ok = value.Base64Text(value.Unescape(l.rest[:i]))
		}
		if !ok {
			return errBase64
		}
	}
	switch {
	case strings.HasPrefix(strings.TrimSpace(text), "{"):
		return p.vmessJSON(l, text)
	case formC.MatchString(text):
		return p.vmessLine(l, text)
	case strings.Contains(text, "{"):
		return errNoObject
	}
	return p.vmessBase64(l, text)
}

// vmessURL reads the forms that are URLs: AEAD links, v2fly's draft, and
// Kitsunebi's.
func (p *parser) vmessURL(l *link) error {
	p.name(l.fragment)
	user, err := unescape(l.user)
	if err != nil {
		return err
	}
	if m := formE.FindStringSubmatch(user); m != nil {
		p.add("type", m[1])
		if m[2] != "" {
			p.add("security", "tls")
		}
		user = m[3]
		p.add("alterId", m[4])
	}
	if user == "" {
		return errNoUUID
	}
	p.add("@user", user)
	if err := p.endpoint(l.host, ""); err != nil {
		return err
	}
	if l.scheme == "vmess1" && len(l.path) > 1 {
		path, err := unescape(l.path)
		if err != nil {
			return err
		}
		p.add("path", path)
	}
	if err := p.params(l.query); err != nil {
		return err
	}
	p.nestExtra()
	return p.read(sandrone.VMess, nil)
}

// vmessBase64 reads Shadowrocket's form: cipher:uuid@host:port in base64.
func (p *parser) vmessBase64(l *link, text string) error {
	p.name(l.fragment)
	l.authority(text)
	cipher, id, ok := strings.Cut(l.user, ":")
	if !ok || !token.MatchString(cipher) {
		return errors.New("it holds neither JSON nor cipher, user id and endpoint")
	}
	if _, ok := value.UUID(id); !ok {
		return errors.New("the user id is no UUID")
	}
	p.add("encryption", cipher)
	p.add("@user", id)
	if err := p.endpoint(l.host, ""); err != nil {
		return err
	}
	if err := p.params(l.query); err != nil {
		return err
	}
	return p.read(sandrone.VMess, nil)
}

// vmessJSON reads v2rayN's form, whose members have rows of their own.
func (p *parser) vmessJSON(l *link, text string) error {
	d, err := doc.ReadStrictJSON(p.json[:0], text)
	p.json = d
	if err != nil || d[0].Kind != doc.Map {
		return errNoObject
	}
	get := func(keys ...string) string {
		for _, key := range keys {
			if i := d.Find(0, key); i >= 0 {
				if s, ok := d.Scalar(i); ok && s != "" {
					return strings.TrimSpace(s)
				}
			}
		}
		return ""
	}
	p.name(l.fragment)
	if p.text("#") == "" {
		p.add("#", get("ps", "name", "remarks"))
	}
	host, ok := value.Host(get("add"))
	if !ok {
		return value.ErrHost
	}
	p.items.AddStr("@host", host)
	if err := p.port(get("port"), ""); err != nil {
		return err
	}
	if get("id", "uuid") == "" {
		return errNoUUID
	}
	if err := p.params(l.query); err != nil {
		return err
	}
	at := p.items.Open("@json", doc.Map)
	for i := 1; i < d.Next(0); i = d.Next(i) {
		// The options of xhttp may be an object, or one in a string.
		if d[i].Key == "extra" && d[i].Kind == doc.Str {
			if tree, err := doc.ReadStrictJSON(nil, d[i].Text); err == nil && tree[0].Kind == doc.Map {
				p.items.AddTree("extra", tree, 0)
				continue
			}
		}
		p.items.AddTree(d[i].Key, d, i)
	}
	p.items.Close(at)
	return p.read(sandrone.VMess, nil)
}

// vmessLine reads Quantumult's form: a line of its profile in base64.
func (p *parser) vmessLine(l *link, text string) error {
	name, rest, _ := strings.Cut(text, "=")
	parts := splitLine(rest)
	if len(parts) < 5 {
		return errors.New("it has fewer than five fields")
	}
	p.name(l.fragment)
	p.add("remarks", strings.TrimSpace(name))
	host, ok := value.Host(parts[1])
	if !ok {
		return value.ErrHost
	}
	p.items.AddStr("@host", host)
	if err := p.port(parts[2], ""); err != nil {
		return err
	}
	p.add("encryption", parts[3])
	if parts[4] == "" {
		return errNoUUID
	}
	p.add("@user", parts[4])
	for _, part := range parts[5:] {
		key, v, _ := strings.Cut(part, "=")
		key, v = strings.TrimSpace(key), unquote(strings.TrimSpace(v))
		switch key {
		case "":
			continue
		case "over-tls":
			key = "security"
		case "tls-host":
			key = "sni"
		case "certificate", "tls-verification":
			key = "verify"
		case "obfs-path":
			key = "path"
		case "obfs-header":
			p.headers(v)
			continue
		case "udp-relay":
			key = "udp"
		case "obfs":
			if strings.EqualFold(v, "wss") {
				p.add("tls", "1")
				v = "ws"
			}
		}
		if key[0] == '@' || key[0] == '#' {
			key = "?" + key
		}
		p.add(key, v)
	}
	if err := p.params(l.query); err != nil {
		return err
	}
	return p.read(sandrone.VMess, nil)
}

// lineBreak is how Quantumult writes one between headers.
var lineBreak = regexp.MustCompile(`\[Rr\]\[Nn\]|\r?\n`)

func (p *parser) headers(text string) {
	var other [][2]string
	for _, line := range lineBreak.Split(text, -1) {
		key, v, ok := strings.Cut(line, ":")
		key, v = strings.TrimSpace(key), strings.TrimSpace(v)
		switch {
		case !ok || key == "" || v == "":
		case strings.EqualFold(key, "host"):
			p.add("host", v)
		default:
			other = append(other, [2]string{key, v})
		}
	}
	if other == nil {
		return
	}
	at := p.items.Open("@headers", doc.Map)
	for _, h := range other {
		p.items.AddStr(h[0], h[1])
	}
	p.items.Close(at)
}

// splitLine splits at commas outside quotes; fields are trimmed, a field that
// is quoted as a whole loses its quotes.
func splitLine(s string) []string {
	var parts []string
	start, quoted := 0, false
	for i := 0; i <= len(s); i++ {
		switch {
		case i < len(s) && s[i] == '"':
			quoted = !quoted
		case i == len(s) || s[i] == ',' && !quoted:
			parts = append(parts, unquote(strings.TrimSpace(s[start:i])))
			start = i + 1
		}
	}
	return parts
}

func unquote(s string) string {
	if len(s) >= 2 && s[0] == '"' && s[len(s)-1] == '"' {
		return s[1 : len(s)-1]
	}
	return s
}

// nestExtra makes the options of xhttp a tree, if the link is of xhttp.
func (p *parser) nestExtra() {
	if kind, _, _ := value.Transport(p.text("type", "net", "network", "transport", "obfs"), false); kind == sandrone.TransportXHTTP {
		p.nest("extra", same)
	}
}
