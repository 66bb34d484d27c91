// Package files makes complete client files: a base document, in which the
// nodes of subscriptions and the groups, rule sets and rules of the settings
// take the places that are theirs.
//
// [Find] leads from the kind of a definition, "sing-box@1.11", to its [Kind].
// [Kind.Compile] makes a file, [Kind.AddNodes] changes the nodes of one that is
// there. Both write nodes with the renderers of a registry, so that this
// package knows what a file is made of and no protocol. What a client would
// refuse, an empty group or a name that leads nowhere, is repaired with a
// warning, because a source that loses a node must not take the file with it.
package files

import (
	"embed"
	"encoding/json"
	"slices"
	"strings"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert"
)

// Kind is one kind of file. Kinds are made once and never change.
type Kind struct {
	Name        string // canonical, "sing-box"
	Description string
	Syntax      string // "text", "yaml", "json" or "ini"
	MediaType   string // of a finished file
	Extension   string // with the dot

	// The rest is empty for static files, which are not compiled.

	NodeFormat     string   // the format in which its nodes are written
	Versions       []string // client versions, ascending; empty where there are none
	DefaultVersion string

	driver driver
}

// driver is what differs from one client to the next.
type driver interface {
	check(s *settings) error                    // beyond what all kinds have in common
	adaptive() bool                             // adaptive_groups may stand in the settings
	defaults(version string, nodes bool) string // settings, as JSON, for a file with nodes or without
	base(version string) string
	compile(c *compilation) error
	addNodes(c *compilation, position string) error
}

// Typed reports whether files of the kind are compiled, from subscriptions and
// settings.
func (k *Kind) Typed() bool { return k.driver != nil }

// Kinds lists the kinds in the order in which they are shown. The slice is the
// caller's, what it points to is not.
func Kinds() []*Kind { return slices.Clone(kinds) }

var kinds = []*Kind{
	{
		Name:        sandrone.FileStatic,
		Description: "A text that is passed on as it is, after its steps: a script, a rule list, a hand-written client file.",
		Syntax:      "text",
		MediaType:   "application/octet-stream",
		Extension:   ".txt",
	},
	{
		Name:           sandrone.FileMihomo,
		Description:    "A complete configuration of mihomo, with proxies, groups, rule providers and rules.",
		Syntax:         "yaml",
		MediaType:      "application/yaml",
		Extension:      ".yaml",
		NodeFormat:     "mihomo-proxies",
		Versions:       []string{"1.18", "1.19"},
		DefaultVersion: "1.19",
		driver:         mihomo{},
	},
	{
		Name:           sandrone.FileSingBox,
		Description:    "A complete configuration of sing-box, with outbounds, endpoints, groups, rule sets and rules.",
		Syntax:         "json",
		MediaType:      "application/json",
		Extension:      ".json",
		NodeFormat:     "sing-box-outbounds",
		Versions:       []string{"1.11", "1.12", "1.13", "1.14"},
		DefaultVersion: "1.13",
		driver:         singbox{},
	},
	{
		Name:        sandrone.FileShadowrocket,
		Description: "A complete configuration of Shadowrocket, with proxies, groups and rules.",
		Syntax:      "ini",
		MediaType:   "text/plain; charset=utf-8",
		Extension:   ".conf",
		NodeFormat:  "shadowrocket-proxies",
		driver:      shadowrocket{},
	},
}

// Find returns the kind that "name" or "name@version" means, and the version,
// which is the default one where none is given and empty where there are none.
// Names are exact. An unknown kind and an unknown version are an
// invalid_argument error at "kind", which names those that there are.
func Find(name string) (kind *Kind, version string, err error) {
	word, version, versioned := strings.Cut(name, "@")
	i := slices.IndexFunc(kinds, func(k *Kind) bool { return k.Name == word })
	if i < 0 {
		return nil, "", sandrone.Errorf(sandrone.InvalidArgument, "kind must be one of %s", kindNames()).At("kind")
	}
	k := kinds[i]
	switch {
	case !versioned:
		return k, k.DefaultVersion, nil
	case len(k.Versions) == 0:
		return nil, "", sandrone.Errorf(sandrone.InvalidArgument, "kind %s has no versions", k.Name).At("kind")
	case !slices.Contains(k.Versions, version):
		return nil, "", sandrone.Errorf(sandrone.InvalidArgument, "unknown version of kind %s (known: %s)", k.Name, strings.Join(k.Versions, ", ")).At("kind")
	}
	return k, version, nil
}

func kindNames() string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.Name
	}
	return strings.Join(names, ", ")
}

// CheckSettings returns an invalid_argument error with the path,
// "config.settings.groups[0].name", unless the settings are of the kind's
// shape. Nothing at all and an empty object are good. Whether what they name
// exists is seen when a file is compiled.
func (k *Kind) CheckSettings(raw json.RawMessage) error {
	if k.driver == nil {
		return nil
	}
	s, err := k.settings(raw)
	if err != nil {
		return err
	}
	return k.driver.check(s)
}

//go:embed schemas
var schemas embed.FS

// SettingsSchema returns the JSON Schema of the settings, nil for static
// files.
func (k *Kind) SettingsSchema() json.RawMessage {
	if k.driver == nil {
		return nil
	}
	text, err := schemas.ReadFile("schemas/" + k.Name + ".json")
	if err != nil {
		panic(err) // it is part of the build
	}
	return text
}

// DefaultSettings returns what the parts of a file are made of for which the
// settings say nothing, nil for static files.
func (k *Kind) DefaultSettings(version string) json.RawMessage {
	if k.driver == nil {
		return nil
	}
	return json.RawMessage(k.driver.defaults(version, true))
}

// Base returns the built-in base document, empty for static files.
func (k *Kind) Base(version string) string {
	if k.driver == nil {
		return ""
	}
	return k.driver.base(version)
}

// Input is what a file is made of.
type Input struct {
	Registry *convert.Registry // has the renderer of the kind's NodeFormat
	Kind     string            // as the definition says, with @version; the target of warnings
	Base     string            // the document to compile into
	Settings json.RawMessage   // an object, or nothing
	Nodes    []sandrone.Node   // normalised and valid, in order
}

// Output is a finished file.
type Output struct {
	Content  string
	Nodes    convert.Rendered   // what became of the nodes; without the body
	Warnings []sandrone.Warning // of the compile checks; their paths lead into the settings, those of AddNodes into the file
}

// Positions of nodes that are added to a file, besides those that it has.
const (
	Replace = "replace" // in their place
	Front   = "front"
	Back    = "back"
)

// Addition is what [Kind.AddNodes] needs.
type Addition struct {
	Registry *convert.Registry
	Kind     string // with @version
	Document string // a finished file of the kind
	Position string // Replace, Front or Back
	Nodes    []sandrone.Node
}
