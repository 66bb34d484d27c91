// Package jsonnodes reads and writes the node model itself as JSON, without
// any loss: an array of nodes, an object with a member nodes, or one node.
//
// Its table is the registry of fields, so a new field of the model is in this
// notation without a line here.
package jsonnodes

import (
	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert"
	"github.com/sandrone-gateway/sandrone/convert/doc"
	"github.com/sandrone-gateway/sandrone/convert/table"
)

// Parser reads nodes.
var Parser = convert.Parser{
	Name:    "json-nodes",
	Source:  "json-nodes",
	Detect:  detect,
	Parse:   parse,
	Profile: dialect.ParseProfile,
	Sources: dialect.Sources,
}

// Renderer writes an array of nodes.
var Renderer = convert.Renderer{
	Name:      "json-nodes",
	MediaType: "application/json",
	Extension: ".json",
	Render:    render,
	Profile:   dialect.RenderProfile,
}

// own are members that no other notation gives to an entry with type and
// server, so that a text with them can only be this one.
var own = []string{"source_format", "alter_id", "plugin_options", "udp_over_tcp", "dialer", "shadow_tls", "shadowsocksr", "wireguard", "opaque", "meta", "packet_encoding", "transport", "tls"}

// detect asks every element for type and server and a member of our own: the
// format is named as a rule, and found only where there is no doubt.
func detect(s *convert.Shape) bool {
	key := ""
	if s.JSON() == '{' {
		if s.Has("type", "server") {
			return mine(s)
		}
		key = "nodes"
	}
	count := 0
	for e := range s.Elements(key) {
		if count++; !e.Has("type", "server") || !mine(e) {
			return false
		}
	}
	return count > 0
}

func mine(s *convert.Shape) bool {
	return s.HasAny(own...) && !s.HasAny("server_port", "tag") && (!s.Has("tls") || s.Kind("tls") == '{')
}

type reader struct{ convert.Entries }

var entryKeys = convert.EntryKeys{Name: "name", Type: "type", Server: "server", Port: "port"}

func parse(text string) (convert.Batch, error) {
	r := &reader{convert.Entries{Reader: dialect.NewReader(), Format: "json-nodes", Code: sandrone.WarnOutboundSkipped, Keys: entryKeys}}
	r.Nodes = make([]sandrone.Node, 0, min(1+len(text)/bytesANode, convert.MaxNodes))
	each := r.Each(r.entry)
	found, err := doc.EachJSON(text, []string{"nodes"}, each)
	if err == nil && len(found) == 0 && r.Count == 0 {
		var items doc.Items
		if items, err = doc.ReadJSON(nil, text); err == nil && items[0].Kind == doc.Map {
			err = each("", items)
		}
	}
	if err != nil {
		return r.Batch, convert.ParseError(err)
	}
	return r.Batch, nil
}

func (r *reader) entry(e doc.Items) error {
	n := sandrone.Node{Type: sandrone.TypeOf(convert.Word(e, "type"))}
	if n.Type == "" {
		r.Skip(e, "unknown type")
		return nil
	}
	warnings, ok := r.Read(&n, e)
	if !ok {
		return nil
	}
	return r.Keep(n, warnings)
}

func render(nodes []sandrone.Node, o convert.RenderOptions) convert.Rendered {
	body := append(make([]byte, 0, 16+640*len(nodes)), '[')
	first := true
	res := dialect.Render(nodes, table.Options(o), nil, func(_ *sandrone.Node, out doc.Items) {
		if !first {
			body = append(body, ',')
		}
		first = false
		body = append(body, "\n  "...)
		body = doc.AppendJSONIndent(body, out, 0, 1)
	})
	if !first {
		body = append(body, '\n')
	}
	body = append(body, ']')
	return convert.Rendered{Body: body, Names: res.Names, Count: res.Count, Warnings: res.Warnings}
}

// bytesANode is about what a node takes in this notation; it sizes the list of
// nodes, since growing that costs more than reading some of them.
const bytesANode = 480
