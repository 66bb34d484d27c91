package singbox

import (
	"slices"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert"
	"github.com/sandrone-gateway/sandrone/convert/doc"
	f "github.com/sandrone-gateway/sandrone/convert/field"
	"github.com/sandrone-gateway/sandrone/convert/table"
	"github.com/sandrone-gateway/sandrone/convert/value"
)

// ShadowTLS is an outbound of its own in sing-box, through which another one
// dials. In the node model it is a part of that other node: the outbound
// becomes part of the node on read, and the node's second document on write.

const (
	wrapperRaw  = "shadowtls."
	wrapperName = "_shadowtls" // after the node's own name
)

// wrapped reports whether a node is inside ShadowTLS. Then its endpoint and
// its dial fields belong to the outer outbound.
func wrapped(n *sandrone.Node) bool {
	switch n.Type {
	case sandrone.Shadowsocks:
		return n.Plugin == value.PluginShadowTLS
	case sandrone.Snell:
		return n.Snell != nil && n.Snell.ShadowTLS != nil
	case sandrone.VMess, sandrone.VLESS, sandrone.Trojan, sandrone.SOCKS, sandrone.HTTP, sandrone.SSH, sandrone.AnyTLS:
		return n.ShadowTLS != nil
	}
	return false
}

// wrappable reports whether the model has a place for the ShadowTLS of a
// protocol.
func wrappable(t sandrone.Type) bool {
	return t == sandrone.Shadowsocks || t == sandrone.Snell || f.ShadowTLS.Host.For.Has(t)
}

// throughWrapper leads the inner outbound to the outer one.
var throughWrapper = table.Custom([]string{"detour"}, nil, func(w *table.Writer, key string) bool {
	w.Out.AddStr(key, w.SecondName(wrapperName))
	return true
}).Always().WriteWhen(wrapped)

// wrapper is the outer outbound, with the given options of ShadowTLS.
func wrapper(options []table.Row) []table.Row {
	return wrapperBy(options, flag(f.Dialer.TFO, "tcp_fast_open"))
}

func wrapperBy(options []table.Row, fastOpen table.Row) []table.Row {
	all := rows(
		table.Const("type", "shadowtls"),
		table.Custom([]string{"tag"}, nil, func(w *table.Writer, key string) bool {
			w.Out.AddStr(key, w.SecondName(wrapperName))
			return true
		}).Always(),
		key(f.Server, "server"), table.Port("server_port"),
		options,
		table.ViaProxy("detour"),
		connection(wrapped, fastOpen),
	)
	for i := range all {
		all[i] = all[i].WriteWhen(wrapped)
	}
	return all
}

// shadowTLS are the options of a ShadowTLS object. Where a node does not say
// the version, it is 2; for the client it would be 1.
func shadowTLS(t f.ShadowTLSFields) []table.Row {
	return rows(
		table.Custom([]string{"version"}, take(t.Version, table.Whole),
			func(w *table.Writer, key string) bool {
				version := *t.Version.At(w.Node)
				switch {
				case version == 0:
					version = 2
				case version < 0 || version > 3:
					return false // the client has no other
				}
				w.Out.AddInt(key, version)
				return true
			}, t.Version.Info).Always(),
		key(t.Password, "password"),
		in("tls", rows(
			on,
			key(t.Host, "server_name"),
			flag(t.Insecure, "insecure"),
			words(t.ALPN, "alpn"),
			pair(t.Certificate, t.PrivateKey),
			helloOf(t.ClientFingerprint, func(*sandrone.Node) bool { return false }),
		)...).Always(),
	)
}

// on is the switch of the outer TLS layer, without which there is none.
var on = table.Custom([]string{"enabled"},
	func(*table.Reader, int) bool { return true },
	func(w *table.Writer, key string) bool { w.Out.AddBool(key, true); return true }).Always()

// shadowTLSOfPlugin are the same options as a node of Shadowsocks holds them.
// One that cannot be written is the loss of the plugin.
var shadowTLSOfPlugin = rows(
	ofPlugin("version", func(o *doc.Items, key string, st *sandrone.ShadowTLS) { o.AddInt(key, st.Version) }),
	ofPlugin("password", func(o *doc.Items, key string, st *sandrone.ShadowTLS) { addText(o, key, st.Password) }),
	in("tls",
		on,
		ofPlugin("server_name", func(o *doc.Items, key string, st *sandrone.ShadowTLS) { addText(o, key, st.Host) }),
		ofPlugin("insecure", func(o *doc.Items, key string, st *sandrone.ShadowTLS) {
			table.Flag.Write(o, key, st.InsecureSkipVerify)
		}),
		ofPlugin("alpn", func(o *doc.Items, key string, st *sandrone.ShadowTLS) {
			if len(st.ALPN) > 0 {
				o.AddStrings(key, st.ALPN)
			}
		}),
		in("utls", ofPlugin("enabled", func(o *doc.Items, key string, st *sandrone.ShadowTLS) {
			if st.ClientFingerprint != "" {
				o.AddBool(key, true)
				o.AddStr("fingerprint", st.ClientFingerprint)
			}
		})),
	),
)

// ofPlugin writes one of the plugin's options.
func ofPlugin(key string, write func(o *doc.Items, key string, st *sandrone.ShadowTLS)) table.Row {
	return table.Custom([]string{key}, nil, func(w *table.Writer, key string) bool {
		st, ok := shadowTLSOptions(w.Node.PluginOptions)
		if ok {
			write(w.Out, key, &st)
		}
		return ok
	}, f.Plugin.Info, f.PluginOptions.Info).Only(plugins)
}

func addText(o *doc.Items, key, v string) {
	if v != "" {
		o.AddStr(key, v)
	}
}

// shadowTLSOptions reads the options of the plugin; ok is false for one that
// the client does not have.
func shadowTLSOptions(options map[string]any) (st sandrone.ShadowTLS, ok bool) {
	st.Version = 2
	for key, v := range options {
		switch key {
		case "host":
			st.Host, ok = v.(string)
		case "password":
			st.Password, ok = v.(string)
		case "version":
			st.Version, ok = v.(int)
			ok = ok && 1 <= st.Version && st.Version <= 3
		case "alpn":
			st.ALPN, ok = v.([]string)
		case "skip-cert-verify":
			st.InsecureSkipVerify, ok = v.(bool)
		case "client-fingerprint":
			st.ClientFingerprint, ok = v.(string)
			ok = ok && knownHello(st.ClientFingerprint)
		default:
			ok = false
		}
		if !ok {
			return st, false
		}
	}
	return st, true
}

// pluginOfShadowTLS is the way back.
func pluginOfShadowTLS(st *sandrone.ShadowTLS) map[string]any {
	options := map[string]any{"version": st.Version}
	for key, v := range map[string]string{"host": st.Host, "password": st.Password, "client-fingerprint": st.ClientFingerprint} {
		if v != "" {
			options[key] = v
		}
	}
	if len(st.ALPN) > 0 {
		options["alpn"] = st.ALPN
	}
	if st.InsecureSkipVerify {
		options["skip-cert-verify"] = true
	}
	return options
}

// outer reads shadowtls outbounds. Any protocol with a ShadowTLS object serves.
var outer = table.Dialect{
	Family: dialect.Family,
	Raw:    rawPrefix + wrapperRaw,
	Source: dialect.Source,
	Protocols: []table.Protocol{{Type: sandrone.VMess, Rows: rows(
		table.Ignore("type", "tag"),
		key(f.Server, "server"), table.Port("server_port"),
		shadowTLS(f.ShadowTLS),
		table.ViaProxy("detour"),
		connection(bare, flag(f.Dialer.TFO, "tcp_fast_open")),
	)}},
}

// shell is a shadowtls outbound that was found.
type shell struct {
	number int    // its place among the entries
	text   string // JSON, which takes less room than its tree
	used   bool   // some node goes through it
}

// tree is the entry as it was read.
func (s *shell) tree() doc.Items {
	items, _ := doc.ReadJSON(nil, s.text)
	return items
}

// shell collects the shadowtls outbounds.
func (r *reader) shell(_ string, e doc.Items) error {
	r.Count++
	tag := tagOf(e)
	if convert.Word(e, "type") == shadowTLSType && tag != "" && r.shells[tag] == nil && len(r.shells) < convert.MaxNodes {
		r.shells[tag] = &shell{number: r.Count, text: string(doc.JSONOf(e, 0))}
	}
	return nil
}

// isShell reports whether the entry at hand is one of those collected.
func (r *reader) isShell(e doc.Items) bool {
	s := r.shells[tagOf(e)]
	return s != nil && s.number == r.Count
}

func tagOf(e doc.Items) string {
	if e[0].Kind != doc.Map {
		return ""
	}
	tag := ""
	if i := e.Find(0, "tag"); i >= 0 {
		tag, _ = e.Scalar(i)
	}
	return tag
}

// looseShells notes the shadowtls outbounds that no node goes through.
func (r *reader) looseShells() {
	var loose []*shell
	for _, s := range r.shells {
		if !s.used {
			loose = append(loose, s)
		}
	}
	slices.SortFunc(loose, func(a, b *shell) int { return a.number - b.number })
	for _, s := range loose {
		r.Count = s.number
		r.Skip(s.tree(), "no outbound goes through this ShadowTLS")
	}
}

// fold makes the outbound that n goes through a part of n, which must be the
// node just read. Without such an outbound it does nothing. Many nodes may go
// through one, and each gets a copy; too much of that is
// [convert.ErrExpansion].
func (r *reader) fold(n *sandrone.Node) ([]sandrone.Warning, error) {
	if len(r.shells) == 0 || n.Dialer == nil || !wrappable(n.Type) {
		return nil, nil
	}
	s := r.shells[n.Dialer.Proxy]
	if s == nil {
		return nil, nil
	}
	s.used = true
	if r.spare -= len(s.text); r.spare < 0 {
		return nil, convert.ErrExpansion
	}
	if n.Plugin != "" || wrapped(n) {
		return nil, &table.EntryError{Field: f.Plugin.Path, Reason: "it has a plugin inside ShadowTLS"}
	}
	var out sandrone.Node
	out.Name, out.Type = n.Name, sandrone.VMess
	warnings, err := r.outer.Read(&out, s.tree(), len(r.Nodes))
	if err != nil {
		return nil, err
	}
	st := out.ShadowTLS
	if st == nil {
		st = new(sandrone.ShadowTLS)
	}
	if st.Version == 0 {
		st.Version = 1
	}
	switch n.Type {
	case sandrone.Shadowsocks:
		n.Plugin, n.PluginOptions = value.PluginShadowTLS, pluginOfShadowTLS(st)
		if st.Certificate != "" || st.PrivateKey != "" {
			return nil, &table.EntryError{Field: f.PluginOptions.Path, Reason: "its ShadowTLS has a client certificate"}
		}
	case sandrone.Snell:
		if n.Snell == nil {
			n.Snell = new(sandrone.SnellOptions)
		}
		n.Snell.ShadowTLS = st
	default:
		n.ShadowTLS = st
	}
	if n.TLS != nil && n.TLS.Enabled && n.TLS.ServerName == "" && n.Server != out.Server {
		n.TLS.ServerName = n.Server // what the inner TLS asks for
	}
	n.Server, n.Port = out.Server, out.Port
	relay := n.Dialer.UDPRelay
	if n.Dialer = out.Dialer; n.Dialer == nil && relay != sandrone.Unset {
		n.Dialer = new(sandrone.Dialer)
	}
	if relay != sandrone.Unset {
		n.Dialer.UDPRelay = relay
	}
	for key, v := range out.Raw {
		if n.Raw == nil {
			n.Raw = make(sandrone.Raw)
		}
		n.Raw[key] = v
	}
	return warnings, nil
}
