package convert

import (
	"errors"
	"strconv"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert/doc"
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

// SkippedEntry is the warning for an entry of a list that is no node: its
// place, counted from 1, the reason, and what can be told of it.
func SkippedEntry(code, format string, number int, reason string, e doc.Items, keys EntryKeys) sandrone.Warning {
	c := &sandrone.NodeContext{Format: format}
	if e[0].Kind == doc.Map {
		text := func(key string) string {
			if i := e.Find(0, key); i >= 0 {
				s, _ := e.Scalar(i)
				return s
			}
			return ""
		}
		c.Name, c.Server = text(keys.Name), text(keys.Server)
		c.Type = sandrone.Type(text(keys.Type))
		if port, err := strconv.ParseUint(text(keys.Port), 10, 16); err == nil {
			c.Port = uint16(port)
		}
	}
	return sandrone.Warning{Code: code, Message: "entry " + strconv.Itoa(number) + ": " + reason, Node: c.Name, NodeContext: c}
}

// DialsSpecially reports whether a direct node does anything that the client's
// own direct policy does not do.
func DialsSpecially(n *sandrone.Node) bool {
	d := n.Dialer
	return d != nil && (d.Interface != "" || d.IPVersion != "" || d.RoutingMark != 0 || d.Proxy != "")
}
