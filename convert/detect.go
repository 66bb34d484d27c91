package convert

import (
	"strings"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert/doc"
)

// Parse reads a text in the given format, or in the one that it is found to be
// for [Auto]. Byte order marks, UTF-16 and the envelopes that providers wrap
// lists of links in are removed first. Nodes come as their source states them:
// [Normalise] and [Validate] follow.
//
// Errors: parse_failed for a text with no node in it, a web page or a JSON
// error message instead of nodes, and a text over a limit; invalid_argument
// for an unknown format name and for a text that detection does not
// recognise. The warnings of the batch are those of what was read before.
func (r *Registry) Parse(format, text string) (Batch, error) {
	if canonicalName(format) == Auto {
		text, err := open(text)
		if err != nil {
			return Batch{}, err
		}
		return r.detect(text)
	}
	p, err := r.Parser(format)
	if err != nil {
		return Batch{}, err
	}
	if text, err = open(text); err != nil {
		return Batch{}, err
	}
	return p.read(text)
}

// read parses a text in a format that was named.
func (p *Parser) read(text string) (Batch, error) {
	s := ShapeOf(text)
	if p.Envelope && p.Detect != nil && !p.Detect(s) {
		for inner := range envelopes(text) {
			if webPage(inner) {
				return Batch{}, errWebPage()
			}
			if p.Detect(ShapeOf(inner)) {
				return p.parse(inner)
			}
		}
	}
	batch, err := p.parse(text)
	if err != nil && sandrone.AsError(err).Code == sandrone.ParseFailed {
		// What came instead of nodes says more than that there are none.
		if instead := jsonError(s); instead != nil {
			return batch, instead
		}
	}
	return batch, err
}

// detect finds the format of a text. The first format whose signal is there
// and that yields a node wins; a signal without a node is an error, since no
// other format would make more of the text.
func (r *Registry) detect(text string) (Batch, error) {
	s := ShapeOf(text)
	if p := r.recognise(s); p != nil {
		return p.parse(text)
	}
	if err := jsonError(s); err != nil {
		return Batch{}, err
	}
	for inner := range envelopes(text) {
		if webPage(inner) {
			return Batch{}, errWebPage()
		}
		s := ShapeOf(inner)
		if p := r.recognise(s); p != nil {
			return p.parse(inner)
		}
		if err := jsonError(s); err != nil {
			return Batch{}, err
		}
	}
	if s.deep() {
		return Batch{}, ParseError(doc.ErrTooDeep)
	}
	var tried []string
	for i := range r.parsers {
		if r.parsers[i].found() {
			tried = append(tried, r.parsers[i].Name)
		}
	}
	return Batch{}, sandrone.Errorf(sandrone.InvalidArgument, "the format of the input is not recognised (tried %s)", strings.Join(tried, ", "))
}

// found reports whether detection asks for the format at all.
func (p *Parser) found() bool { return p.Detect != nil && !p.Explicit }

func (r *Registry) recognise(s *Shape) *Parser {
	for i := range r.parsers {
		if p := &r.parsers[i]; p.found() && p.Detect(s) {
			return p
		}
	}
	return nil
}

// parse runs the parser and holds it to its word.
func (p *Parser) parse(text string) (Batch, error) {
	batch, err := p.Parse(text)
	switch {
	case err != nil:
		batch.Nodes = nil
		return batch, ParseError(err)
	case len(batch.Nodes) > MaxNodes:
		return Batch{}, ParseError(ErrTooManyNodes)
	case len(batch.Nodes) == 0:
		return batch, sandrone.Errorf(sandrone.ParseFailed, "no node in the input%s", firstReason(batch.Warnings))
	}
	for i := range batch.Nodes {
		if n := &batch.Nodes[i]; n.SourceFormat == "" {
			n.SourceFormat = p.Source
		}
	}
	return batch, nil
}
