// Package uri reads and writes share links, one a line, as panels and clients
// pass nodes on.
//
// A link is cut by hand into scheme, authority, query and fragment, each part
// decoded exactly once, and laid out as an item tree: the query's parameters
// under their own names, what stands elsewhere under pseudo-keys that no
// parameter has (@user, @pass, @host, @port, # for the name). From there on a
// link is rows, like every other format. What a node holds and its link cannot
// express comes back as a warning, never as a silent change.
package uri

import (
	"encoding/base64"
	"strings"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert"
	"github.com/sandrone-gateway/sandrone/convert/doc"
	"github.com/sandrone-gateway/sandrone/convert/field"
	"github.com/sandrone-gateway/sandrone/convert/table"
)

// Parser reads one link. A link of which there is more than one, or none that
// can be read, is an error.
var Parser = convert.Parser{
	Name:     "uri",
	Source:   source,
	Envelope: true,
	Detect:   detect,
	Explicit: true,
	Parse:    parseOne,
	Profile:  dialect.ParseProfile,
	Sources:  dialect.Sources,
}

// ListParser reads a list of links, one a line.
var ListParser = convert.Parser{
	Name:     "uri-list",
	Source:   source,
	Envelope: true,
	Detect:   detect,
	Parse:    parseList,
	Profile:  dialect.ParseProfile,
	Sources:  dialect.Sources,
}

// Base64Parser is [ListParser] under the name of its usual envelope.
var Base64Parser = convert.Parser{
	Name:     "base64",
	Source:   source,
	Envelope: true,
	Detect:   detect,
	Explicit: true,
	Parse:    parseList,
	Profile:  dialect.ParseProfile,
	Sources:  dialect.Sources,
}

// SSDParser reads an ssd:// link, which holds several Shadowsocks nodes. The
// other parsers read such links too.
var SSDParser = convert.Parser{
	Name:     "ssd",
	Source:   source,
	Envelope: true,
	Detect:   detect,
	Explicit: true,
	Parse:    parseSSD,
	Profile:  ssdProfile,
	Sources:  dialect.Sources,
}

// ListRenderer writes one link a line, without a line break at the end.
var ListRenderer = convert.Renderer{
	Name:      "uri-list",
	MediaType: "text/plain",
	Extension: ".txt",
	Render:    renderList,
	Profile:   dialect.RenderProfile,
}

// Base64Renderer writes the same in standard base64 with padding.
var Base64Renderer = convert.Renderer{
	Name:      "base64",
	MediaType: "text/plain; charset=utf-8",
	Extension: ".txt",
	Render:    renderBase64,
	Profile:   dialect.RenderProfile,
}

// source is what the nodes of every parser here say in SourceFormat.
const source = "uri"

func ssdProfile() *table.Profile {
	all, ss := dialect.ParseProfile(), new(table.Profile)
	ss.Types = []sandrone.Type{sandrone.Shadowsocks}
	for _, list := range []struct{ from, to *[]table.Entry }{{&all.Fields, &ss.Fields}, {&all.RawOnly, &ss.RawOnly}} {
		for _, e := range *list.from {
			if e.Protocol == sandrone.Shadowsocks {
				*list.to = append(*list.to, e)
			}
		}
	}
	return ss
}

func renderList(nodes []sandrone.Node, o convert.RenderOptions) convert.Rendered {
	var p printer
	body := make([]byte, 0, 200*len(nodes))
	res := dialect.Render(nodes, table.Options(o), nil, func(_ *sandrone.Node, out doc.Items) {
		if len(body) > 0 {
			body = append(body, '\n')
		}
		body = p.link(body, out)
	})
	for i := range nodes {
		if n := &nodes[i]; n.Type == sandrone.Mieru && res.Names[i] != "" && !strings.HasSuffix(n.Name, mieruSuffix(n)) {
			res.Names[i] += mieruSuffix(n)
			res.Warnings = append(res.Warnings, sandrone.Warning{
				Code: sandrone.WarnNodeRenamed, Message: "readers of its link add port and protocol to the name",
				Node: n.Label(), NodeIndex: &i, Field: field.Name.Path, Target: o.Target,
			})
		}
	}
	return convert.Rendered{Body: body, Names: res.Names, Count: res.Count, Warnings: res.Warnings}
}

func renderBase64(nodes []sandrone.Node, o convert.RenderOptions) convert.Rendered {
	r := renderList(nodes, o)
	r.Body = base64.StdEncoding.AppendEncode(make([]byte, 0, base64.StdEncoding.EncodedLen(len(r.Body))), r.Body)
	return r
}
