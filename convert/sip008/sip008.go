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

type reader struct {
	convert.Batch
	*table.Reader
	count int // entries seen
}

func parse(text string) (convert.Batch, error) {
	r := &reader{Reader: dialect.NewReader()}
	if _, err := doc.EachJSON(text, listKeys, r.entry); err != nil {
		return r.Batch, convert.ParseError(err)
	}
	return r.Batch, nil
}

func (r *reader) entry(_ string, e doc.Items) error {
	r.count++
	if len(r.Warnings) > convert.MaxWarnings {
		return convert.ErrTooManyWarnings
	}
	if len(r.Nodes) >= convert.MaxNodes {
		return convert.ErrTooManyNodes
	}
	if e[0].Kind != doc.Map {
		r.skip(e, "it is no object")
		return nil
	}
	n := sandrone.Node{Type: sandrone.Shadowsocks}
	warnings, err := r.Read(&n, e, len(r.Nodes))
	switch {
	case err != nil:
		r.skip(e, err.Error())
	case n.Server == "":
		r.skip(e, "it has no server")
	case n.Port == 0: // providers write their notices like this
		r.skip(e, "it has no port")
	case n.Cipher == "":
		r.skip(e, "it has no method")
	default:
		r.Nodes = append(r.Nodes, n)
		r.Warnings = append(r.Warnings, warnings...)
	}
	return nil
}

// skip notes an entry that is no node. Whatever the entry says, it would have
// been a Shadowsocks server.
func (r *reader) skip(e doc.Items, reason string) {
	w := convert.SkippedEntry(sandrone.WarnOutboundSkipped, "sip008", r.count, reason, e, entryKeys)
	w.NodeContext.Type = sandrone.Shadowsocks
	r.Warnings = append(r.Warnings, w)
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
