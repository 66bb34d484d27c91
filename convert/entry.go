package convert

import (
	"errors"
	"strconv"
	"strings"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert/doc"
	"github.com/sandrone-gateway/sandrone/convert/table"
)

// ErrTooManyNodes stops a parser that has found [MaxNodes] nodes.
var ErrTooManyNodes = errors.New("more than " + strconv.Itoa(MaxNodes) + " nodes")

// ErrTooManyWarnings stops a parser that has more than [MaxWarnings] to say.
var ErrTooManyWarnings = errors.New("too many entries and options that cannot be read")

// ErrExpansion stops a parser when what several nodes of a text have in common,
// which each of them gets, comes to more than [Expansion] allows.
var ErrExpansion = errors.New("what the nodes share comes to far more than the text")

// Expansion returns how many bytes the nodes of a text may get beyond what
// each has of its own: ten times the text, and something for a short one.
func Expansion(text string) int { return 10*len(text) + 1<<20 }

// ParseError turns what a reader says of a whole text into the error of the
// operation, with the place where it is known.
func ParseError(err error) *sandrone.Error {
	if e, ok := errors.AsType[*sandrone.Error](err); ok {
		return e
	}
	e := sandrone.Errorf(sandrone.ParseFailed, "%w", err)
	if syntax, ok := errors.AsType[*doc.SyntaxError](err); ok {
		e.Message, e.Line, e.Column = syntax.Msg, syntax.Line, syntax.Column
	}
	return e
}

// EntryKeys are the keys under which a notation holds what identifies a node.
type EntryKeys struct{ Name, Type, Server, Port string }

// Entries gathers the nodes of a document that is a list of entries: it counts
// them, holds the limits, and says of each entry that is no node why not.
type Entries struct {
	Batch
	Reader *table.Reader
	Format string // in warnings
	Code   string // of the warning for an entry that is left out
	Keys   EntryKeys
	Type   sandrone.Type // of all entries, where the notation has only one
	Count  int           // entries seen
}

// Each returns f for use by a reader of lists: f is called with the entries
// that are objects, after the limit on warnings.
func (r *Entries) Each(f func(e doc.Items) error) func(key string, e doc.Items) error {
	return func(_ string, e doc.Items) error {
		r.Count++
		switch {
		case len(r.Warnings) > MaxWarnings:
			return ErrTooManyWarnings
		case e[0].Kind != doc.Map:
			r.Skip(e, "it is no object")
			return nil
		}
		return f(e)
	}
}

// Word returns the scalar under a key of an entry, in lower case; "" where
// there is none, and where the entry is no object.
func Word(e doc.Items, key string) string {
	if e[0].Kind != doc.Map {
		return ""
	}
	if i := e.Find(0, key); i >= 0 {
		word, _ := e.Scalar(i)
		return strings.ToLower(word)
	}
	return ""
}

// Read fills a node from an entry. Where the entry cannot be read it is
// skipped, and ok is false.
func (r *Entries) Read(n *sandrone.Node, e doc.Items) (warnings []sandrone.Warning, ok bool) {
	warnings, err := r.Reader.Read(n, e, len(r.Nodes))
	if err != nil {
		r.Skip(e, err.Error())
	}
	return warnings, err == nil
}

// Keep takes a node into the batch, with what there was to say of it. The
// error is [ErrTooManyNodes].
func (r *Entries) Keep(n sandrone.Node, warnings []sandrone.Warning) error {
	if len(r.Nodes) >= MaxNodes {
		return ErrTooManyNodes
	}
	r.Nodes = append(r.Nodes, n)
	r.Warnings = append(r.Warnings, warnings...)
	return nil
}

// Skip notes the present entry as no node: its place, counted from 1, the
// reason, and what can be told of it.
func (r *Entries) Skip(e doc.Items, reason string) {
	r.Warnings = append(r.Warnings, r.skipped(e, reason))
}

func (r *Entries) skipped(e doc.Items, reason string) sandrone.Warning {
	c := &sandrone.NodeContext{Format: r.Format, Type: r.Type}
	if e[0].Kind == doc.Map {
		text := func(key string) string {
			if i := e.Find(0, key); i >= 0 {
				s, _ := e.Scalar(i)
				return s
			}
			return ""
		}
		c.Name, c.Server = text(r.Keys.Name), text(r.Keys.Server)
		if r.Type == "" {
			c.Type = sandrone.Type(text(r.Keys.Type))
		}
		if port, err := strconv.ParseUint(text(r.Keys.Port), 10, 16); err == nil {
			c.Port = uint16(port)
		}
	}
	return sandrone.Warning{Code: r.Code, Message: "entry " + strconv.Itoa(r.Count) + ": " + reason, Node: c.Name, NodeContext: c}
}

// DialsSpecially reports whether a direct node does anything that the client's
// own direct policy does not do.
func DialsSpecially(n *sandrone.Node) bool {
	d := n.Dialer
	return d != nil && (d.Interface != "" || d.IPVersion != "" || d.RoutingMark != 0 || d.Proxy != "")
}
