package convert

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert/value"
)

// Validate removes the nodes that cannot work from a normalised batch. stage
// is one of sandrone.StageNormalized and its like. The nodes are filtered in
// place: kept shares the array of nodes, which must not be used any more.
//
// Each removed node has its issues and one warning, whose field is that of the
// first issue; node indexes count in nodes. When no node of a batch is left,
// the error is a node_validation_failed; an empty batch is valid.
func Validate(nodes []sandrone.Node, stage string) (kept []sandrone.Node, issues []sandrone.Issue, warnings []sandrone.Warning, err error) {
	v := validator{stage: stage}
	kept = nodes[:0]
	for i := range nodes {
		n := &nodes[i]
		before := len(v.issues)
		v.check(n, i)
		if len(v.issues) == before {
			if len(kept) < i {
				kept = append(kept, *n)
			} else {
				kept = nodes[:i+1] // nothing removed yet: no copy
			}
			continue
		}
		first := v.issues[before]
		warnings = append(warnings, sandrone.Warning{
			Code:      sandrone.WarnValidationDropped,
			Message:   "invalid node removed: " + first.Message,
			Node:      n.Label(),
			NodeIndex: first.NodeIndex,
			NodeContext: &sandrone.NodeContext{
				Format: n.SourceFormat, Name: n.Name, Type: n.Type, Server: n.Server, Port: n.Port,
			},
			Field:  first.Field,
			Source: stage,
		})
	}
	clear(nodes[len(kept):])
	if len(kept) == 0 && len(nodes) > 0 {
		err = sandrone.Errorf(sandrone.NodeValidationFailed, "all %d node(s) failed semantic validation", len(nodes))
	}
	return kept, v.issues, warnings, err
}

type validator struct {
	stage  string
	issues []sandrone.Issue
	node   *sandrone.Node
	index  int
}

func (v *validator) add(code, field, message string) {
	index := v.index
	v.issues = append(v.issues, sandrone.Issue{
		Severity: sandrone.SeverityError, Stage: v.stage, Code: code, Message: message,
		NodeIndex: &index, NodeID: v.node.ID, NodeName: v.node.Label(), NodeType: v.node.Type, Field: field,
	})
}

func (v *validator) missing(field string) {
	v.add(sandrone.IssueRequired, field, field+" is required")
}

// bad adds an issue: field, a space and the reason.
func (v *validator) bad(field, reason string) {
	v.add(sandrone.IssueInvalid, field, field+" "+reason)
}

// require adds an issue if the text is empty.
func (v *validator) require(field, text string) {
	if text == "" {
		v.missing(field)
	}
}

func (v *validator) check(n *sandrone.Node, index int) {
	v.node, v.index = n, index
	v.require("name", n.Name)
	if n.Type == "" {
		v.missing("type")
	} else if n.Type.Index() < 0 {
		v.bad("type", "is no known protocol")
	}
	if n.Type.HasEndpoint() {
		v.endpoint(n)
	}
	if n.Network != "" && n.Network != "tcp" && n.Network != "udp" {
		v.bad("network", "is neither tcp nor udp")
	}
	v.protocol(n)
	if n.TLS != nil {
		v.tls("tls", n.TLS)
	}
	if t := n.Transport; t != nil && t.XHTTP != nil {
		v.xhttp(t.XHTTP)
	}
}

func (v *validator) endpoint(n *sandrone.Node) {
	manyPeers := n.Type == sandrone.WireGuard && n.WireGuard != nil && len(n.WireGuard.Peers) > 1
	switch {
	case n.Server == "":
		if !manyPeers {
			v.missing("server")
		}
	case !goodServer(n.Server):
		v.bad("server", "is neither a host name nor an address")
	}
	hasRange := n.Type == sandrone.Mieru && n.Mieru != nil && n.Mieru.PortRange != ""
	if n.Port == 0 && !hasRange && !manyPeers {
		v.missing("port")
	}
}

// goodServer refuses what no client could dial: parts of a URL, white space,
// control characters, and a colon in what is no address.
func goodServer(s string) bool {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c <= ' ' || c == '/' || c == '?' || c == '#' || c == 0x7F:
			return false
		case c == ':':
			return value.IsIP(s)
		case c >= utf8.RuneSelf:
			return strings.IndexFunc(s, func(r rune) bool {
				return unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune("/?#:", r)
			}) < 0
		}
	}
	return true
}

func (v *validator) protocol(n *sandrone.Node) {
	switch n.Type {
	case sandrone.Shadowsocks:
		v.require("cipher", n.Cipher)
		switch {
		case n.Password == "":
			if n.Cipher != "none" && n.Cipher != "plain" {
				v.missing("password")
			}
		case strings.HasPrefix(n.Cipher, "2022-") && !goodKeys(n.Cipher, n.Password):
			v.bad("password", "is no key of the length that the cipher needs")
		}
	case sandrone.ShadowsocksR:
		v.require("cipher", n.Cipher)
		v.require("password", n.Password)
		if n.ShadowsocksR == nil {
			v.missing("shadowsocksr")
		}
	case sandrone.VMess, sandrone.VLESS:
		v.uuid(n.UUID)
		if n.Type == sandrone.VLESS && n.Flow != "" && n.Flow != "xtls-rprx-vision" {
			v.bad("flow", "is neither empty nor xtls-rprx-vision")
		}
	case sandrone.Trojan, sandrone.AnyTLS:
		v.require("password", n.Password)
	case sandrone.Snell:
		v.require("password", n.Password)
		if s := n.Snell; s != nil {
			if s.Version < 0 || s.Version > 6 {
				v.bad("snell.version", "is not from 1 to 6")
			}
			if s.Obfs != "" && s.ShadowTLS != nil {
				v.bad("snell.obfs", "does not go together with shadow_tls")
			}
			if s.Reuse == sandrone.On && (s.Version <= 1 || s.Version == 3) {
				v.bad("snell.reuse", "needs version 2 or from 4 on")
			}
		}
	case sandrone.Hysteria:
		v.needTLS(n)
	case sandrone.Hysteria2:
		v.needTLS(n)
		if h := n.Hysteria; h != nil && h.Obfs != "" && h.ObfsPassword == "" {
			v.missing("hysteria.obfs_password")
		}
	case sandrone.TUIC:
		v.tuic(n)
	case sandrone.Mieru:
		v.require("username", n.Username)
		v.require("password", n.Password)
		switch m := n.Mieru; {
		case m == nil || m.Transport == "":
			v.missing("mieru.transport")
		case n.Port != 0 && m.PortRange != "":
			v.bad("mieru.port_range", "does not go together with port")
		}
	case sandrone.SOCKS, sandrone.HTTP:
		if n.Password != "" && n.Username == "" {
			v.missing("username")
		}
	case sandrone.WireGuard:
		v.wireGuard(n.WireGuard)
	case sandrone.SSH:
		v.require("username", n.Username)
		if n.Password == "" && (n.SSH == nil || n.SSH.PrivateKey == "" && n.SSH.PrivateKeyPath == "") {
			v.missing("password")
		}
	}
}

func (v *validator) uuid(s string) {
	if s == "" {
		v.missing("uuid")
	} else if _, ok := value.UUID(s); !ok {
		v.bad("uuid", "is no UUID")
	}
}

func (v *validator) needTLS(n *sandrone.Node) {
	if n.TLS == nil || !n.TLS.Enabled {
		v.bad("tls.enabled", "must be on for this protocol")
	}
}

// goodKeys reports whether each part of a Shadowsocks 2022 password is base64
// of as many bytes as the cipher's key has.
func goodKeys(cipher, password string) bool {
	want := 32
	if strings.Contains(cipher, "-128-") {
		want = 16
	}
	for part := range strings.SplitSeq(password, ":") {
		if n, ok := value.Base64Size(part); !ok || n != want {
			return false
		}
	}
	return true
}

func (v *validator) tuic(n *sandrone.Node) {
	pair := n.UUID != "" && n.Password != ""
	switch {
	case n.Token != "" && pair:
		v.bad("token", "does not go together with uuid and password")
	case n.Token == "" && n.UUID == "":
		v.missing("uuid")
	case n.Token == "" && n.Password == "":
		v.missing("password")
	case n.UUID != "":
		v.uuid(n.UUID)
	}
	v.needTLS(n)
}

func (v *validator) wireGuard(w *sandrone.WireGuardOptions) {
	if w == nil {
		v.missing("wireguard.private_key")
		return
	}
	v.require("wireguard.private_key", w.PrivateKey)
	if len(w.Address) == 0 {
		v.missing("wireguard.address")
	}
	for i, a := range w.Address {
		if full, ok := value.CIDR(a); !ok || full != a {
			v.bad("wireguard.address["+strconv.Itoa(i)+"]", "is no address with a prefix length")
		}
	}
	if len(w.Peers) == 0 {
		v.missing("wireguard.peers")
	}
	for i := range w.Peers {
		if w.Peers[i].PublicKey == "" {
			v.missing("wireguard.peers[" + strconv.Itoa(i) + "].public_key")
		}
	}
}

// tls looks at a layer that is on; off, none of it matters.
func (v *validator) tls(path string, t *sandrone.TLS) {
	if !t.Enabled {
		return
	}
	if f := t.ClientFingerprint; f != "" && !knownFingerprint(f) {
		v.bad(path+".client_fingerprint", "is no known profile")
	}
	if t.Certificate == "" && t.PrivateKey != "" {
		v.missing(path + ".certificate")
	}
	if t.Certificate != "" && t.PrivateKey == "" {
		v.missing(path + ".private_key")
	}
	if e := t.ECH; e != nil {
		switch e.ForceQuery {
		case "", "none", "half", "full":
		default:
			v.bad(path+".ech.force_query", "is not one of none, half, full")
		}
	}
	if r := t.Reality; r != nil && r.Enabled {
		if r.PublicKey == "" {
			v.missing(path + ".reality.public_key")
		}
		if !goodShortID(r.ShortID) {
			v.bad(path+".reality.short_id", "is not an even number of at most 16 hex digits")
		}
	}
}

func knownFingerprint(s string) bool {
	if s == "chrome" {
		return true
	}
	for _, f := range value.ClientFingerprints {
		if f == s {
			return true
		}
	}
	return false
}

func goodShortID(s string) bool {
	if len(s) > 16 || len(s)%2 != 0 {
		return false
	}
	for i := 0; i < len(s); i++ {
		if c := s[i] | 0x20; (s[i] < '0' || s[i] > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

func (v *validator) xhttp(x *sandrone.XHTTP) {
	const path = "transport.xhttp"
	v.rangeText(path, ".x_padding_bytes", x.XPaddingBytes)
	v.rangeText(path, ".sc_max_each_post_bytes", x.SCMaxEachPostBytes)
	v.rangeText(path, ".sc_min_posts_interval_ms", x.SCMinPostsIntervalMS)
	v.rangeText(path, ".sc_stream_up_server_secs", x.SCStreamUpServerSecs)
	v.reuse(path+".reuse_settings", x.ReuseSettings)
	if d := x.DownloadSettings; d != nil {
		// Without a server of its own the way down has the node's endpoint.
		if d.Server != "" && d.Port == 0 {
			v.missing(path + ".download_settings.port")
		}
		v.reuse(path+".download_settings.reuse_settings", d.ReuseSettings)
		if d.TLS != nil {
			v.tls(path+".download_settings.tls", d.TLS)
		}
	}
}

func (v *validator) reuse(path string, r *sandrone.XHTTPReuse) {
	if r == nil {
		return
	}
	v.rangeText(path, ".max_concurrency", r.MaxConcurrency)
	v.rangeText(path, ".max_connections", r.MaxConnections)
	v.rangeText(path, ".c_max_reuse_times", r.CMaxReuseTimes)
	v.rangeText(path, ".h_max_request_times", r.HMaxRequestTimes)
	v.rangeText(path, ".h_max_reusable_secs", r.HMaxReusableSecs)
}

// rangeText takes the field in two parts, so that good text costs no join.
func (v *validator) rangeText(path, name, s string) {
	if s == "" {
		return
	}
	if _, _, ok := value.Range(s); !ok {
		v.bad(path+name, "is neither a number nor an ascending range")
	}
}
