// Package ini reads, writes and overrides the INI-like files of proxy clients.
//
// Such files are lists of lines under [section] headers; sections repeat,
// comments and blank lines matter, and most lines are records rather than
// key=value. A [Document] is the simple model of such a text, which scripts
// see. [Override] applies a patch to a text without touching the lines that
// the patch does not name.
package ini

import (
	"strings"

	"github.com/sandrone-gateway/sandrone"
)

// Document is a text taken apart. Its JSON form is what scripts see.
type Document struct {
	BOM             bool      `json:"bom"`
	Newline         string    `json:"newline"` // "\n" or "\r\n": the first one of the text
	TrailingNewline bool      `json:"trailing_newline"`
	Preamble        []string  `json:"preamble"` // lines before the first header
	Sections        []Section `json:"sections"` // in the order of the text, repeated ones too
}

// Section is a header and the lines below it, up to the next header.
type Section struct {
	Name  string   `json:"name"`
	Lines []string `json:"lines"`
}

const bom = "\ufeff"

// Parse takes a text apart. The error is for a header without a usable name;
// it gives the line and never quotes the text.
func Parse(text string) (Document, error) {
	t, err := read(text)
	if err != nil {
		return Document{}, err
	}
	d := Document{
		BOM:             t.bom,
		Newline:         t.newline,
		TrailingNewline: t.trailing,
		Preamble:        texts(t.preamble),
		Sections:        make([]Section, len(t.sections)),
	}
	for i, s := range t.sections {
		d.Sections[i] = Section{Name: s.name, Lines: texts(s.body)}
	}
	return d, nil
}

// Text puts a document together. What Parse would not give back the same way
// is an error: a foreign newline, a name that is no header's, a line that is
// none or looks like a header, a final newline after nothing.
func (d Document) Text() (string, error) {
	newline := d.Newline
	switch newline {
	case "":
		newline = "\n"
	case "\n", "\r\n":
	default:
		return "", fault(`newline must be "\n" or "\r\n"`)
	}
	var lines []string
	add := func(list []string) error {
		for _, l := range list {
			if strings.ContainsAny(l, "\r\n") {
				return fault("a line must not contain a line break")
			}
			if _, ok := header(l); ok {
				return fault("a line must not look like a section header")
			}
			lines = append(lines, l)
		}
		return nil
	}
	if err := add(d.Preamble); err != nil {
		return "", err
	}
	for _, s := range d.Sections {
		if s.Name == "" || s.Name != strings.TrimSpace(s.Name) || strings.ContainsAny(s.Name, "[]\r\n") {
			return "", fault("a section name must be trimmed, not empty, and without brackets and line breaks")
		}
		lines = append(lines, "["+s.Name+"]")
		if err := add(s.Lines); err != nil {
			return "", err
		}
	}
	if d.TrailingNewline && len(lines) == 0 {
		return "", fault("a final newline needs a line before it")
	}
	text := strings.Join(lines, newline)
	if d.TrailingNewline {
		text += newline
	}
	if d.BOM {
		text = bom + text
	}
	return text, nil
}

// line is one line with the line break that ended it, "" for the last one and
// for lines that were added.
type line struct{ text, end string }

// section is a section as it stands in a text.
type section struct {
	name   string
	header line
	body   []line
}

// text is a text in lines that keep every byte.
type text struct {
	bom      bool
	newline  string
	trailing bool
	preamble []line
	sections []section
}

func read(s string) (text, *sandrone.Error) {
	t := text{newline: "\n"}
	s, t.bom = strings.CutPrefix(s, bom)
	t.trailing = strings.HasSuffix(s, "\n")
	number := 0
	for l := range strings.Lines(s) {
		number++
		content := strings.TrimSuffix(strings.TrimSuffix(l, "\n"), "\r")
		if !strings.HasSuffix(l, "\n") {
			content = l
		}
		cut := line{content, l[len(content):]}
		if number == 1 && cut.end != "" {
			t.newline = cut.end
		}
		name, ok := header(content)
		switch {
		case ok && name == "":
			return text{}, fault("line %d: empty section header", number)
		case ok && strings.ContainsAny(name, "[]"):
			return text{}, fault("line %d: invalid section header", number)
		case ok:
			t.sections = append(t.sections, section{name: name, header: cut})
		case len(t.sections) == 0:
			t.preamble = append(t.preamble, cut)
		default:
			last := &t.sections[len(t.sections)-1]
			last.body = append(last.body, cut)
		}
	}
	return t, nil
}

// header returns the trimmed name of a line that is a section header.
func header(l string) (name string, ok bool) {
	l = strings.TrimSpace(l)
	if len(l) < 2 || l[0] != '[' || l[len(l)-1] != ']' {
		return "", false
	}
	return strings.TrimSpace(l[1 : len(l)-1]), true
}

// text prints the text. Lines without a line break of their own get the
// text's, and the last one has one where the text had.
func (t text) text() string {
	lines := append([]line(nil), t.preamble...)
	for _, s := range t.sections {
		lines = append(append(lines, s.header), s.body...)
	}
	var b strings.Builder
	if t.bom {
		b.WriteString(bom)
	}
	for i, l := range lines {
		b.WriteString(l.text)
		switch last := i == len(lines)-1; {
		case last && !t.trailing:
		case l.end == "":
			b.WriteString(t.newline)
		default:
			b.WriteString(l.end)
		}
	}
	return b.String()
}

func texts(lines []line) []string {
	list := make([]string, len(lines))
	for i, l := range lines {
		list[i] = l.text
	}
	return list
}

func fault(format string, args ...any) *sandrone.Error {
	return sandrone.Errorf(sandrone.FileMergeFailed, format, args...)
}
