// Package convert turns text into nodes and nodes into text.
//
// Each notation is a sub-package with a [Parser], a [Renderer] or both, made
// from field tables (package table). This package holds what is the same for
// all of them: the envelope around a text, the detection of its notation, the
// normaliser and the validator that run between parsing and rendering.
package convert

import (
	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert/table"
)

// Limits of one input, fixed.
const (
	MaxNodes = 100_000 // nodes a source, and nodes of one conversion
	MaxDepth = 64      // nesting of JSON

	MaxWarnings = 3 * MaxNodes // of parsing one text; each costs many times what it warns of
)

// Batch is what a parser found: nodes in source order, and what it could not
// read. Node indexes of warnings count in Nodes.
type Batch struct {
	Nodes    []sandrone.Node
	Warnings []sandrone.Warning
}

// Parser reads one input format.
type Parser struct {
	Name     string // catalogue name, "mihomo"
	Source   string // what its nodes say in SourceFormat
	Envelope bool   // the text may be wrapped in base64 or percent-encoding

	// Detect tells from the structure of a text whether it is of this format,
	// without parsing it. It must be right about large texts of other formats
	// and cheap for them.
	Detect func(s *Shape) bool

	// Explicit: the format is read where it is named, never found by itself.
	Explicit bool

	// Parse reads a whole text that is valid UTF-8, not blank and no web page.
	// One bad entry costs a warning; the error is for a text with no node or
	// over a limit. It stops when it has found more than [MaxNodes]. Nodes are
	// as the source says, not yet normalised; an empty SourceFormat is filled
	// in by the registry.
	Parse func(text string) (Batch, error)

	Profile func() *table.Profile                      // what the catalogue says of it; made when asked for
	Sources func(t sandrone.Type) []sandrone.SourceRef // the documents behind its reading of a protocol
}

// Renderer writes one output format.
type Renderer struct {
	Name      string // catalogue name, "mihomo-proxies"
	MediaType string
	Extension string          // of share files, with the dot
	Versions  []table.Version // client versions, ascending; empty where there are none
	Default   table.Version

	// Render writes normalised, valid nodes. It never fails for a node: one
	// that the target cannot express is left out with a warning.
	Render func(nodes []sandrone.Node, o RenderOptions) Rendered

	Profile func() *table.Profile
}

// RenderOptions are the choices of one rendering.
type RenderOptions struct {
	Target  string                 // name as asked for, with @version; it goes into warnings
	Version table.Version          // client version to write for
	DropRaw bool                   // leave out members that the model does not know
	Exists  func(name string) bool // tells names a dialer.proxy may use besides the nodes of the batch; nil: none

	// Reserved are names that no node gets: those of other parts of the
	// document that it is written into.
	Reserved []string
}

// Rendered is the product of a rendering.
type Rendered struct {
	Body     []byte
	Names    []string // for each node the name that was written, "" where it was left out
	Count    int      // nodes written
	Warnings []sandrone.Warning
}
