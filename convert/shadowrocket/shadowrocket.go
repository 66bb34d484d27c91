// Package shadowrocket writes the [Proxy] section of a Shadowrocket file.
//
// The client has many more protocols and options than its files have spellings
// for: most are set in links or by hand. What the documented lines cannot say
// is left out with a warning, and so is a node that would be another
// connection without it.
package shadowrocket

import (
	"strings"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert"
	"github.com/sandrone-gateway/sandrone/convert/doc"
	"github.com/sandrone-gateway/sandrone/convert/table"
)

// Renderer writes a [Proxy] section with one line for each node.
var Renderer = convert.Renderer{
	Name:      "shadowrocket-proxies",
	MediaType: "text/plain; charset=utf-8",
	Extension: ".conf",
	Render:    render,
	Profile:   dialect.RenderProfile,
}

// line is the client's syntax. Its files have no way to quote a value.
var line = doc.Line{Assign: "=", Comma: ","}

func render(nodes []sandrone.Node, o convert.RenderOptions) convert.Rendered {
	body := append(make([]byte, 0, 16+160*len(nodes)), "[Proxy]\n"...)
	res := dialect.Render(nodes, table.Options(o), clean, func(_ *sandrone.Node, out doc.Items) {
		body = append(line.Append(body, out, 0), '\n')
	})
	return convert.Rendered{Body: body, Names: res.Names, Count: res.Count, Warnings: res.Warnings}
}

// policies are the client's own; those that begin with REJECT- are too.
var policies = []string{"PROXY", "DIRECT", "REJECT", "TAILSCALE"}

// clean makes a name fit. Rules and groups find a policy whatever its letter
// case, so a name must differ by more than that from the client's own.
func clean(name string) string {
	name = doc.CleanLineName(name)
	if name == "" {
		return "node"
	}
	for _, policy := range policies {
		if strings.EqualFold(name, policy) {
			return name + " node"
		}
	}
	const prefix = "REJECT-"
	if len(name) > len(prefix) && strings.EqualFold(name[:len(prefix)], prefix) {
		return name + " node"
	}
	return name
}
