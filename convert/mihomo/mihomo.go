// Package mihomo reads and writes the proxy list of a mihomo file.
//
// Parse takes the text of a file, of its proxies part, of a provider document
// or of one proxy, also in Stash's dialect, and returns nodes in file order.
// Render is the way back. What a node holds and mihomo cannot express comes
// back as a warning, never as a silent change.
package mihomo

import (
	"errors"
	"strconv"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert"
	"github.com/sandrone-gateway/sandrone/convert/doc"
	"github.com/sandrone-gateway/sandrone/convert/table"
)

// Parser reads the proxies of a mihomo or Stash file.
var Parser = convert.Parser{
	Name:    "mihomo",
	Source:  "mihomo",
	Detect:  detect,
	Parse:   parse,
	Profile: dialect.ParseProfile,
	Sources: dialect.Sources,
}

// Stash is the same reader under the name of the client whose files speak the
// same dialect.
var Stash = convert.Parser{
	Name:    "stash",
	Source:  "stash",
	Parse:   parse,
	Profile: dialect.ParseProfile,
	Sources: dialect.Sources,
}

// Renderer writes a file with the one member proxies.
var Renderer = convert.Renderer{
	Name:      "mihomo-proxies",
	MediaType: "application/yaml",
	Extension: ".yaml",
	Versions:  dialect.Versions,
	Default:   dialect.Default,
	Render:    render,
	Profile:   dialect.RenderProfile,
}

// listKeys are the members of a file that hold proxies; the second one is the
// spelling of old files.
var listKeys = []string{"proxies", "Proxy"}

// builtIn are types of a file that are policies and no proxies.
var builtIn = map[string]bool{"reject": true, "reject-drop": true, "pass": true, "dns": true, "compatible": true, "rematch": true}

type reader struct{ convert.Entries }

func parse(text string) (convert.Batch, error) {
	r := &reader{convert.Entries{Reader: dialect.NewReader(), Format: "mihomo", Code: sandrone.WarnProxySkipped, Keys: entryKeys}}
	each := r.Each(r.entry)
	r.Nodes = make([]sandrone.Node, 0, min(1+len(text)/bytesANode, convert.MaxNodes))
	found, err := doc.EachYAML(text, listKeys, each)
	if err == nil && len(found) == 0 && r.Count == 0 {
		err = r.single(text)
	}
	if syntax, ok := errors.AsType[*doc.SyntaxError](err); ok && len(r.Nodes) > 0 {
		// What was read before the fault is whole, and worth keeping.
		r.Warnings = append(r.Warnings, sandrone.Warning{
			Code:        sandrone.WarnProxySkipped,
			Message:     "the file could not be read to its end: " + syntax.Error(),
			NodeContext: &sandrone.NodeContext{Format: "mihomo", Line: syntax.Line},
		})
		err = nil
	}
	if err != nil {
		return r.Batch, convert.ParseError(err)
	}
	if line := doc.SecondDocument(text); line > 0 {
		r.Warnings = append(r.Warnings, sandrone.Warning{
			Code:        sandrone.WarnProxySkipped,
			Message:     "a second document begins on line " + strconv.Itoa(line) + ", which is not read",
			NodeContext: &sandrone.NodeContext{Format: "mihomo", Line: line},
		})
	}
	return r.Batch, nil
}

// single reads a document that is one proxy.
func (r *reader) single(text string) error {
	items, err := doc.ReadYAML(nil, text)
	if err != nil || items[0].Kind != doc.Map {
		return err
	}
	if items.Find(0, "type") < 0 || items.Find(0, "name") < 0 {
		return nil
	}
	return r.Each(r.entry)("", items)
}

func (r *reader) entry(e doc.Items) error {
	word := convert.Word(e, "type")
	if builtIn[word] {
		return nil
	}
	n := sandrone.Node{Type: sandrone.TypeOf(word)}
	switch {
	case word == "":
		r.Skip(e, "it has no type")
		return nil
	case !dialect.Reads(n.Type):
		r.Skip(e, "unknown type")
		return nil
	}
	warnings, ok := r.Read(&n, e)
	if !ok {
		return nil
	}
	if n.Type == sandrone.Direct && !convert.DialsSpecially(&n) {
		return nil // the client's own direct policy
	}
	return r.Keep(n, warnings)
}

func render(nodes []sandrone.Node, o convert.RenderOptions) convert.Rendered {
	body := make([]byte, 0, 64+280*len(nodes))
	body = append(body, "proxies:\n"...)
	res := dialect.Render(nodes, table.Options(o), nil, func(_ *sandrone.Node, out doc.Items) {
		body = doc.AppendYAMLList(body, out, 0, 2)
	})
	if res.Count == 0 {
		body = append(body[:0], "proxies: []\n"...)
	}
	return convert.Rendered{Body: body, Names: res.Names, Count: res.Count, Warnings: res.Warnings}
}

var entryKeys = convert.EntryKeys{Name: "name", Type: "type", Server: "server", Port: "port"}

// detect finds a mapping with a list of proxies, a mapping that is a proxy, or
// a list of proxies, in YAML or in JSON.
func detect(s *convert.Shape) bool {
	switch s.JSON() {
	case '{':
		return s.HasAny(listKeys...) || s.Has("name", "type")
	case '[':
		return s.First("").Has("name", "type")
	}
	return s.TopKey(listKeys...) || s.TopKey("name") && s.TopKey("type") || s.EntryHas("name", "type")
}

// bytesANode is about what a proxy takes in a file; it sizes the list of nodes,
// since growing that costs more than reading some of them.
const bytesANode = 280
