package uri

import (
	"errors"
	"strconv"
	"strings"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert"
	"github.com/sandrone-gateway/sandrone/convert/doc"
	"github.com/sandrone-gateway/sandrone/convert/jsonnodes"
	"github.com/sandrone-gateway/sandrone/convert/mihomo"
	"github.com/sandrone-gateway/sandrone/convert/table"
	"github.com/sandrone-gateway/sandrone/convert/value"
)

// parser reads links into a batch. It serves one call.
type parser struct {
	convert.Batch
	reader *table.Reader
	items  doc.Items // of the link being read
	json   doc.Items // scratch
	line   int       // of the link
	link   string    // its text
	first  string    // what is wrong with the first bad line
	bad    int       // entries that gave a warning
	spare  int       // bytes of common options that the servers of an ssd:// list may still get
	odd    int       // lines that looked like another format's node and were none
}

// skipped is a line that is no node on purpose.
type skipped struct {
	field, reason string
}

func (s skipped) Error() string { return s.reason }

var errWebPage = skipped{reason: "a web address, no proxy"}

func newParser(text string) *parser {
	p := &parser{reader: dialect.NewReader()}
	p.Nodes = make([]sandrone.Node, 0, min(strings.Count(text, "://"), strings.Count(text, "\n")+1, convert.MaxNodes))
	return p
}

func parseList(text string) (convert.Batch, error) {
	// Base64 that has yet to be decoded has no colon, and may have many lines.
	if !strings.Contains(text, ":") {
		return convert.Batch{}, sandrone.Errorf(sandrone.ParseFailed, "no node: %s", lineFault(1, "", errNoLink))
	}
	p := newParser(text)
	if err := p.lines(text, p.oneLine); err != nil {
		return p.Batch, convert.ParseError(err)
	}
	return p.Batch, p.verdict()
}

// parseOne reads exactly one link. Whatever is wrong with it is the error.
func parseOne(text string) (convert.Batch, error) {
	p := newParser(text)
	found := false
	err := p.lines(text, func(line string) error {
		if found {
			return errors.New("more than one link")
		}
		found = true
		return p.oneLine(line)
	})
	if err != nil {
		return p.Batch, convert.ParseError(err)
	}
	return p.Batch, p.verdict()
}

func parseSSD(text string) (convert.Batch, error) {
	p := newParser(text)
	err := p.lines(text, func(line string) error {
		if scheme, _, _ := cutScheme(line); scheme != "ssd" {
			if len(p.Warnings) > convert.MaxWarnings {
				return convert.ErrTooManyWarnings
			}
			p.link, p.items = excerpt(line), p.items[:0]
			return p.failed(scheme, errScheme)
		}
		return p.oneLine(line)
	})
	if err != nil {
		return p.Batch, convert.ParseError(err)
	}
	return p.Batch, p.verdict()
}

// verdict is the error of a text without a node.
func (p *parser) verdict() error {
	if len(p.Nodes) > 0 {
		return nil
	}
	if p.first == "" {
		p.first = errNoLink.Error()
	}
	return sandrone.Errorf(sandrone.ParseFailed, "no node: %s", p.first)
}

// lines calls f with every line that is not blank and no comment, and ends
// with its first error.
func (p *parser) lines(text string, f func(line string) error) error {
	for line := range convert.Links(text, known) {
		p.line++
		line = value.Link(line)
		if line == "" || line[0] == '#' || line[0] == ';' || strings.HasPrefix(line, "//") {
			continue
		}
		if err := f(line); err != nil {
			return err
		}
	}
	return nil
}

func known(scheme string) bool { return schemes[scheme] != nil }

// oneLine reads a line. What is wrong with it is a warning; the error is for a
// limit of the whole text.
func (p *parser) oneLine(line string) error {
	if len(p.Warnings) > convert.MaxWarnings {
		return convert.ErrTooManyWarnings
	}
	p.link, p.items = excerpt(line), p.items[:0]
	scheme, rest, ok := cutScheme(line)
	if !ok {
		return p.otherLine(line)
	}
	read := schemes[scheme]
	var err error
	switch {
	case read == nil:
		err = errScheme
	case len(line) > maxLink && scheme != "ssd":
		err = errTooLong
	default:
		l := cut(scheme, rest)
		p.begin()
		err = read(p, &l)
	}
	switch {
	case err == nil:
	case ofWholeText(err):
		return err
	default:
		return p.failed(scheme, err)
	}
	return nil
}

// ofWholeText reports whether an error is a limit of the whole text.
func ofWholeText(err error) bool {
	return errors.Is(err, convert.ErrTooManyNodes) || errors.Is(err, convert.ErrTooManyWarnings) || errors.Is(err, convert.ErrExpansion)
}

// failed notes that the line is no node.
func (p *parser) failed(scheme string, err error) error {
	if p.bad++; p.bad > convert.MaxNodes {
		return errors.New("too many lines that are no links")
	}
	w := sandrone.Warning{
		Code:        sandrone.WarnLineFailed,
		Message:     lineFault(p.line, scheme, err),
		NodeContext: p.context(scheme),
	}
	var s skipped
	var entry *table.EntryError
	switch {
	case errors.Is(err, value.ErrPortZero):
		w.Code, w.Field = sandrone.WarnLineSkipped, "port"
	case errors.As(err, &s):
		w.Code, w.Field = sandrone.WarnLineSkipped, s.field
	case errors.As(err, &entry):
		w.Field = entry.Field
	}
	w.Node = w.NodeContext.Name
	if p.first == "" {
		p.first = w.Message
	}
	p.Warnings = append(p.Warnings, w)
	return nil
}

func lineFault(line int, scheme string, err error) string {
	if scheme == "" {
		return "line " + strconv.Itoa(line) + ": " + err.Error()
	}
	return "line " + strconv.Itoa(line) + " (scheme " + scheme + "): " + err.Error()
}

// context is what can be told of a line that is no node.
func (p *parser) context(scheme string) *sandrone.NodeContext {
	c := &sandrone.NodeContext{Format: source, Line: p.line, RawLine: p.link}
	if scheme == "" {
		return c
	}
	if schemes[scheme] != nil && scheme != "tg" && scheme != "ssd" {
		c.Type = sandrone.TypeOf(strings.TrimSuffix(scheme, "+tls"))
	}
	if len(p.items) > 0 {
		c.Name, c.Server = p.text("#"), p.text("@host")
		if port, ok := value.Port(p.text("@port")); ok {
			c.Port = port
		}
	}
	if c.Name == "" && len(p.link) <= mostRaw {
		if _, name, ok := strings.Cut(p.link, "#"); ok {
			c.Name = value.Name(value.Unescape(name))
		}
	}
	return c
}

// mostOdd bounds how often the parsers of other formats are asked in vain.
const mostOdd = 1000

// otherLine reads a line that is no link: one proxy of a mihomo file or of the
// node model, a status line, or nothing known.
func (p *parser) otherLine(line string) error {
	for _, prefix := range []string{"STATUS=", "REMARKS=", "upload=", "download="} {
		if len(line) >= len(prefix) && strings.EqualFold(line[:len(prefix)], prefix) {
			return p.failed("", skipped{reason: "a status line"})
		}
	}
	entry := strings.TrimSpace(strings.TrimPrefix(line, "- "))
	if strings.HasPrefix(entry, "name:") {
		entry = "{" + entry + "}"
	}
	if !strings.HasPrefix(entry, "{") || len(entry) > maxLink || p.odd > mostOdd {
		return p.failed("", errNoLink)
	}
	inner := &mihomo.Parser
	if jsonnodes.Parser.Detect(convert.ShapeOf(entry)) {
		inner = &jsonnodes.Parser
	} else {
		entry = "proxies:\n- " + entry // a list is what the fast reader knows
	}
	batch, err := inner.Parse(entry)
	if err != nil || len(batch.Nodes) == 0 {
		p.odd++
		return p.failed("", errNoLink)
	}
	if len(p.Nodes)+len(batch.Nodes) > convert.MaxNodes {
		return convert.ErrTooManyNodes
	}
	for _, w := range batch.Warnings {
		if w.NodeIndex != nil {
			index := len(p.Nodes) + *w.NodeIndex
			w.NodeIndex = &index
		}
		w.NodeContext = &sandrone.NodeContext{Line: p.line}
		p.Warnings = append(p.Warnings, w)
	}
	for _, n := range batch.Nodes {
		n.SourceFormat = inner.Source
		p.Nodes = append(p.Nodes, n)
	}
	return nil
}

// mostRaw is how much of a bad line is shown.
const mostRaw = 4096

func excerpt(line string) string {
	if len(line) > mostRaw {
		return strings.ToValidUTF8(line[:mostRaw], "") + "…"
	}
	return line
}

// begin starts the item tree of a link.
func (p *parser) begin() {
	p.items = p.items[:0]
	p.items.Open("", doc.Map)
}

// read makes a node of the items. fix, if not nil, sees it before it counts.
func (p *parser) read(t sandrone.Type, fix func(n *sandrone.Node) error) error {
	if len(p.Nodes) >= convert.MaxNodes {
		return convert.ErrTooManyNodes
	}
	p.items.Close(0)
	p.reader.Line = p.line
	// The node is made in its place, since nodes are large.
	p.Nodes = append(p.Nodes, sandrone.Node{Type: t, SourceFormat: source})
	n := &p.Nodes[len(p.Nodes)-1]
	warnings, err := p.reader.Read(n, p.items, len(p.Nodes)-1)
	if err == nil && fix != nil {
		err = fix(n)
	}
	if err != nil {
		p.Nodes = p.Nodes[:len(p.Nodes)-1]
		return err
	}
	p.Warnings = append(p.Warnings, warnings...)
	return nil
}

// detect looks for a line that begins with a known scheme.
func detect(s *convert.Shape) bool {
	text := s.Text
	for at := 0; ; {
		i := strings.Index(text[at:], "://")
		if i < 0 {
			return false
		}
		i += at
		at = i + 3
		start := i
		for start > 0 && i-start < 32 && isSchemeByte(text[start-1]) {
			start--
		}
		if schemes[strings.ToLower(text[start:i])] != nil && lineStart(text[:start]) {
			return true
		}
	}
}

// lineStart reports whether only white space, invisible characters and a quote
// stand between the end of before and the line break in front of it.
func lineStart(before string) bool {
	const most = 64
	cut := len(before) > most
	if cut {
		before = before[len(before)-most:]
	}
	if i := strings.LastIndexAny(before, "\r\n"); i >= 0 {
		before, cut = before[i+1:], false
	}
	return !cut && strings.Trim(before, " \t\"'`\u200B\u200C\u200D\uFEFF\u00A0\u3000") == ""
}
