// Package singbox reads and writes the outbounds and endpoints of a sing-box
// file.
//
// Parse takes the text of a file, of its outbounds and endpoints, or of one
// outbound, and returns nodes in file order. Render is the way back, for the
// client versions from 1.11 on. What a node holds and sing-box cannot express
// comes back as a warning, never as a silent change; since the client refuses
// a whole file for one bad value, values that it does not take count as not
// expressible.
package singbox

import (
	"errors"
	"strings"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert"
	"github.com/sandrone-gateway/sandrone/convert/doc"
	"github.com/sandrone-gateway/sandrone/convert/table"
)

// Parser reads the outbounds and endpoints of a sing-box file.
var Parser = convert.Parser{
	Name:    "sing-box",
	Source:  "sing-box",
	Detect:  detect,
	Parse:   parse,
	Profile: dialect.ParseProfile,
	Sources: dialect.Sources,
}

// Renderer writes a file with the members outbounds and endpoints.
var Renderer = convert.Renderer{
	Name:      "sing-box-outbounds",
	MediaType: "application/json",
	Extension: ".json",
	Versions:  dialect.Versions,
	Default:   dialect.Default,
	Render:    render,
	Profile:   dialect.RenderProfile,
}

// listKeys are the members of a file that hold nodes.
var listKeys = []string{"outbounds", "endpoints"}

var entryKeys = convert.EntryKeys{Name: "tag", Type: "type", Server: "server", Port: "server_port"}

// noNode are outbounds that stand for no server.
var noNode = map[string]bool{"selector": true, "urltest": true, "block": true, "dns": true}

const shadowTLSType = "shadowtls"

type reader struct {
	convert.Entries
	outer  *table.Reader
	shells map[string]*shell // shadowtls outbounds by tag
	spare  int               // bytes of them that nodes may still get
}

// bytesANode is about what a node takes in a file that is written in lines.
const bytesANode = 360

func parse(text string) (convert.Batch, error) {
	r := &reader{Entries: convert.Entries{Reader: dialect.NewReader(), Format: "sing-box", Code: sandrone.WarnOutboundSkipped, Keys: entryKeys}}
	each := func(f func(key string, entry doc.Items) error) error {
		r.Count = 0
		found, err := doc.EachJSON(text, listKeys, f)
		if err != nil || len(found) > 0 {
			return err
		}
		one, err := doc.ReadJSON(nil, text) // a file without lists is one outbound
		if err != nil {
			return err
		}
		return f("", one)
	}
	// What goes through a shadowtls outbound may stand before it.
	if strings.Contains(text, shadowTLSType) {
		r.outer, r.shells, r.spare = outer.NewReader(), make(map[string]*shell), convert.Expansion(text)
		if err := each(r.shell); err != nil {
			return r.Batch, convert.ParseError(err)
		}
	}
	r.Nodes = make([]sandrone.Node, 0, min(1+len(text)/bytesANode, convert.MaxNodes))
	if err := each(r.Each(r.entry)); err != nil {
		return r.Batch, convert.ParseError(err)
	}
	r.looseShells()
	return r.Batch, nil
}

func (r *reader) entry(e doc.Items) error {
	word := convert.Word(e, "type")
	switch {
	case noNode[word]:
		return nil
	case word == "":
		r.Skip(e, "it has no type")
		return nil
	}
	t, ok := types[word]
	if !ok && word == shadowTLSType && r.isShell(e) {
		return nil
	}
	if !ok {
		r.Skip(e, "unknown type")
		return nil
	}
	n := sandrone.Node{Type: t}
	warnings, ok := r.Read(&n, e)
	if !ok {
		return nil
	}
	more, err := r.fold(&n)
	switch {
	case errors.Is(err, convert.ErrExpansion):
		return err
	case err != nil:
		r.Skip(e, err.Error())
		return nil
	}
	if t == sandrone.Direct && !convert.DialsSpecially(&n) {
		return nil // the client's own way out
	}
	return r.Keep(n, append(warnings, more...))
}

func render(nodes []sandrone.Node, o convert.RenderOptions) convert.Rendered {
	outbounds := make([]byte, 0, 64+400*len(nodes))
	var endpoints []byte
	res := dialect.Render(nodes, table.Options(o), nil, func(n *sandrone.Node, out doc.Items) {
		body := &outbounds
		if n.Type == sandrone.WireGuard || n.Type == sandrone.Tailscale {
			body = &endpoints
		}
		for i := 0; i < len(out); i = out.Next(i) {
			if len(*body) > 0 {
				*body = append(*body, ',')
			}
			*body = append(*body, "\n    "...)
			*body = doc.AppendJSONIndent(*body, out, i, 2)
		}
	})
	return convert.Rendered{Body: document(outbounds, endpoints), Names: res.Names, Count: res.Count, Warnings: res.Warnings}
}

// document puts the lists that have entries into a file; one of them is there
// in any case.
func document(outbounds, endpoints []byte) []byte {
	body := make([]byte, 0, len(outbounds)+len(endpoints)+64)
	body = append(body, '{')
	switch {
	case len(outbounds) > 0:
		body = appendList(body, "outbounds", outbounds)
		if len(endpoints) > 0 {
			body = append(body, ',')
		}
	case len(endpoints) == 0:
		body = append(body, "\n  \"outbounds\": []"...)
	}
	if len(endpoints) > 0 {
		body = appendList(body, "endpoints", endpoints)
	}
	return append(body, "\n}\n"...)
}

func appendList(body []byte, key string, entries []byte) []byte {
	body = append(append(append(body, "\n  \""...), key...), "\": ["...)
	return append(append(body, entries...), "\n  ]"...)
}

// detect finds a file whose outbounds or endpoints have a type, or are no list,
// which is a fault of the file, and one outbound.
func detect(s *convert.Shape) bool {
	if s.JSON() != '{' {
		return false
	}
	for _, key := range listKeys {
		switch s.Kind(key) {
		case 0, 'n':
			continue
		case '[':
		default:
			return true
		}
		for e := range s.Elements(key) {
			if e.Has("type") {
				return true
			}
		}
	}
	return s.Has("type") && s.HasAny("server_port", "tag")
}
