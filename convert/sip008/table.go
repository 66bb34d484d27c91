package sip008

import (
	"github.com/sandrone-gateway/sandrone"
	f "github.com/sandrone-gateway/sandrone/convert/field"
	"github.com/sandrone-gateway/sandrone/convert/table"
	"github.com/sandrone-gateway/sandrone/convert/value"
)

var dialect = table.Dialect{
	Family: "sip008",
	Raw:    "sip008.",
	Source: sandrone.SourceRef{Kind: "protocol", Name: "SIP008", URL: "https://shadowsocks.org/doc/sip008.html", Revision: "spec"},

	// The id tells servers apart, and names may repeat.
	Repeats: true,

	Protocols: []table.Protocol{{Type: sandrone.Shadowsocks, Rows: server}},
}

var server = table.Group(
	table.Key(f.NodeID, "id"),
	table.Name("remarks"),
	table.Key(f.Server, "server"),
	table.Port("server_port"),
	table.KeyAs(f.Password, table.Text, "password").Always(),
	table.Key(f.Cipher, "method"),
	plugin,
)

// plugin is the SIP003 plugin and the text of its options. The document names
// a program that the client starts: ShadowTLS and restls have none that takes
// such a text.
var plugin = table.Custom([]string{"plugin"},
	func(r *table.Reader, i int) bool {
		name, ok := r.Doc.Scalar(i)
		if !ok || name == "" {
			return ok
		}
		r.Node.Plugin = value.Plugin(name)
		j, found := r.Find("plugin_opts")
		if !found {
			return true
		}
		text, ok := r.Doc.Scalar(j)
		if !ok {
			return true // the options are kept in raw
		}
		r.Use(j)
		if r.Node.PluginOptions, ok = value.PluginOptions(r.Node.Plugin, text); !ok {
			r.Warn(sandrone.WarnUnknownField, f.PluginOptions.Path, "kept in raw: "+f.PluginOptions.Path)
		}
		return true
	},
	func(w *table.Writer, key string) bool {
		n := w.Node
		name := n.Plugin
		switch name {
		case "", value.PluginShadowTLS, value.PluginRestls:
			return false
		case value.PluginObfs:
			name = "obfs-local"
		}
		text, ok := value.PluginText(n.Plugin, n.PluginOptions)
		if !ok {
			return false
		}
		w.Out.AddStr(key, name)
		if text != "" {
			w.Out.AddStr("plugin_opts", text)
		}
		return true
	}, f.Plugin.Info, f.PluginOptions.Info).Only("plugins other than shadow-tls and restls")
