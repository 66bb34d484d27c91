package jsonnodes

import (
	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert/doc"
	f "github.com/sandrone-gateway/sandrone/convert/field"
	"github.com/sandrone-gateway/sandrone/convert/table"
	"github.com/sandrone-gateway/sandrone/convert/value"
)

var dialect = table.Dialect{
	Family:    "json-nodes",
	Raw:       "json-nodes.",
	Source:    sandrone.SourceRef{Kind: "schema", Name: "Sandrone node model", Revision: "v1"},
	Lossless:  true,
	Repeats:   true,
	Protocols: protocols(),
}

// protocols are one list of rows for all: a node may hold any field.
func protocols() []table.Protocol {
	rows := table.Mirror(map[string]func(table.Row) table.Row{
		"port":           instead(table.Port("port")),
		"flow":           instead(table.Flow("flow")),
		"anytls":         func(r table.Row) table.Row { return r.Kept(isAnyTLS) },
		"tls.enabled":    instead(table.KeyAs(f.TLS.Enabled, stated, "enabled").Always()),
		"tls":            func(r table.Row) table.Row { return r.Kept(hasTLS) },
		"hysteria.up":    instead(rate("up", f.Hysteria.UpMbps, f.Hysteria.Up)),
		"hysteria.down":  instead(rate("down", f.Hysteria.DownMbps, f.Hysteria.Down)),
		"transport.type": instead(table.KeyAs(f.Transport.Type, transportWord, "type")),

		// A host that the headers repeat is written in both places, although
		// the copy counts as nothing elsewhere.
		"transport.headers": func(r table.Row) table.Row { return r.Always().WriteWhen(hasHeaders) },

		// HTTP upgrade was a switch of the websocket transport once.
		"transport.v2ray_http_upgrade": instead(table.Custom([]string{"v2ray_http_upgrade"}, func(r *table.Reader, i int) bool {
			on, ok := table.Flag.Read(r.Doc, i)
			if on {
				*f.Transport.Type.Make(r.Node) = sandrone.TransportHTTPUpgrade
			}
			return ok
		}, nil)),
	})
	var list []table.Protocol
	for _, t := range sandrone.Types {
		list = append(list, table.Protocol{Type: t, Rows: rows})
	}
	return list
}

func instead(row table.Row) func(table.Row) table.Row {
	return func(table.Row) table.Row { return row }
}

func hasTLS(n *sandrone.Node) bool { return n.TLS != nil }
func hasHeaders(n *sandrone.Node) bool {
	return n.Transport != nil && len(n.Transport.Headers) > 0
}
func isAnyTLS(n *sandrone.Node) bool { return n.AnyTLS != nil }

// stated writes a switch in both positions.
var stated = table.Codec[bool]{Read: table.Flag.Read, Write: func(o *doc.Items, key string, v bool) bool {
	o.AddBool(key, v)
	return true
}}

// transportWord folds the words that clients use, for nodes made by hand.
var transportWord = table.Codec[string]{
	Read: func(d doc.Items, i int) (string, bool) {
		s, ok := d.Scalar(i)
		if !ok || s == "" {
			return "", ok
		}
		if kind, header, known := value.Transport(s, false); known && header == "" {
			return kind, true
		}
		return "", false
	},
	Write: table.Text.Write,
}

// rate reads a rate that may be a bare number, as older nodes have it.
func rate(key string, whole f.Field[int], other f.Field[string]) table.Row {
	row := table.Key(other, key)
	return table.Custom([]string{key}, func(r *table.Reader, i int) bool {
		s, ok := r.Doc.Scalar(i)
		if !ok || s == "" {
			return ok
		}
		v, ok := value.ParseRate(s)
		if ok {
			table.Set(r, other, v.Text)
			if v.Mbps > 0 {
				table.Set(r, whole, v.Mbps)
			}
		}
		return ok
	}, row.Writer(), other.Info)
}
