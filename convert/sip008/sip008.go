// Package sip008 reads and writes Shadowsocks servers in the JSON of SIP008,
// the online configuration of Shadowsocks.
//
// Parse takes the document, the bare array of its servers, and the document of
// the older Windows client, which has them under configs.
package sip008

import (
	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert"
	"github.com/sandrone-gateway/sandrone/convert/doc"
	"github.com/sandrone-gateway/sandrone/convert/table"
)

// Parser reads the servers of a document.
var Parser = convert.Parser{
	Name:    "sip008",
	Source:  "sip008",
	Detect:  detect,
	Parse:   parse,
	Profile: dialect.ParseProfile,
	Sources: dialect.Sources,
}

// Renderer writes a document with the members version and servers.
var Renderer = convert.Renderer{
	Name:      "sip008",
	MediaType: "application/json",
	Extension: ".json",
	Render:    render,
	Profile:   dialect.RenderProfile,
}

// listKeys are the members of a document that hold servers.
var listKeys = []string{"servers", "configs"}

// detect wants the version and a server: other files have a member servers
// too.
func detect(s *convert.Shape) bool {
	if s.JSON() != '{' || s.Kind("version") != '0' || s.Kind("servers") != '[' {
		return false
	}
	first := s.First("servers")
	return first.Has("server_port", "method")
}

type reader struct{ convert.Entries }

func parse(text string) (convert.Batch, error) {
	r := &reader{convert.Entries{Reader: dialect.NewReader(), Format: "sip008", Code: sandrone.WarnOutboundSkipped, Keys: entryKeys, Type: sandrone.Shadowsocks}}
	if _, err := doc.EachJSON(text, listKeys, r.Each(r.entry)); err != nil {
		return r.Batch, convert.ParseError(err)
	}
	return r.Batch, nil
}

func (r *reader) entry(e doc.Items) error {
	n := sandrone.Node{Type: sandrone.Shadowsocks}
	warnings, ok := r.Read(&n, e)
	switch {
	case !ok:
	case n.Server == "":
		r.Skip(e, "it has no server")
	case n.Port == 0: // providers write their notices like this
		r.Skip(e, "it has no port")
	case n.Cipher == "":
		r.Skip(e, "it has no method")
	default:
		return r.Keep(n, warnings)
	}
	return nil
}

var entryKeys = convert.EntryKeys{Name: "remarks", Server: "server", Port: "server_port"}

func render(nodes []sandrone.Node, o convert.RenderOptions) convert.Rendered {
	body := append(make([]byte, 0, 64+240*len(nodes)), "{\n  \"version\": 1,\n  \"servers\": ["...)
	first := true
	res := dialect.Render(nodes, table.Options(o), nil, func(_ *sandrone.Node, out doc.Items) {
		if !first {
			body = append(body, ',')
		}
		first = false
		body = append(body, "\n    "...)
		body = doc.AppendJSONIndent(body, out, 0, 2)
	})
	if !first {
		body = append(body, "\n  "...)
	}
	body = append(body, "]\n}\n"...)
	return convert.Rendered{Body: body, Names: res.Names, Count: res.Count, Warnings: res.Warnings}
}
