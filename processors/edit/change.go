package edit

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sandrone-gateway/sandrone/convert/doc"
)

// ChangeYAML reads a YAML document, has it changed, and writes it. keys are the
// top-level members that the change may touch or look at; nil stands for all.
//
// It is what [ReadYAML] and [Document.YAML] do, and saves the time for long
// lists that are not among keys: those are passed on as they stand, after a
// faster reader has found that they are lists. change may be called twice, each
// time with a document of its own. Errors are those of ReadYAML, change and
// YAML.
func ChangeYAML(text string, keys []string, change func(*Document) error) (string, error) {
	return changeAbridged(text, keys, longList, change)
}

func changeAbridged(text string, keys []string, long int, change func(*Document) error) (string, error) {
	if short, kept, ok := abridge(text, keys, long); ok {
		// Whatever does not work out is seen again, or not, in the whole text.
		if out, err := changeYAML(short, change); err == nil {
			if out, ok := kept.restore(out); ok {
				return out, nil
			}
		}
	}
	return changeYAML(text, change)
}

func changeYAML(text string, change func(*Document) error) (string, error) {
	d, err := ReadYAML(text)
	if err != nil {
		return "", err
	}
	if err := change(d); err != nil {
		return "", err
	}
	return d.YAML()
}

// Members lists the top-level members of a document that laying d over it may
// touch: nil where that is anything.
func (d *Document) Members() []string {
	if d.root.kind != object {
		return nil
	}
	names := []string{}
	for _, k := range d.root.keys {
		name, _ := operator(k.text)
		names = append(names, k.text, name)
	}
	return names
}

// PatchYAML applies operations to a YAML document and keeps everything else as
// it stands, line breaks at its end aside. Errors are a [*Fault].
func PatchYAML(text string, ops []Op) (string, error) {
	return ChangeYAML(text, patched(ops), func(d *Document) error { return d.Patch(ops) })
}

// PatchJSON applies operations to a JSON document. Errors are a [*Fault].
func PatchJSON(text string, ops []Op) (string, error) {
	d, err := ReadJSON(text)
	if err != nil {
		return "", err
	}
	if err := d.Patch(ops); err != nil {
		return "", err
	}
	return d.JSON()
}

// patched lists the top-level members that a patch touches: nil where that is
// anything.
func patched(ops []Op) []string {
	names := []string{}
	for _, op := range ops {
		pointers := []string{op.Path}
		if op.Op == "move" || op.Op == "copy" {
			pointers = append(pointers, op.From)
		}
		for _, pointer := range pointers {
			path := tokens(pointer)
			if len(path) == 0 {
				return nil
			}
			names = append(names, path[0])
		}
	}
	return names
}

// longList is the text from which on a list is worth to be left out, in bytes.
const longList = 16 << 10

// leftOut is what was cut out of a text, by the item that stands in for it.
type leftOut map[string]string

// abridge cuts the rest of block lists of at least so many bytes behind their first item out of a
// text, unless they are lists of members among keys, and puts an item in their
// place by which they are found again. It is about lines: what only looks like
// a list, in a quoted text for example, is either no YAML any more when it is
// cut, or text that is put together again.
func abridge(text string, keys []string, long int) (short string, kept leftOut, ok bool) {
	const mark = "\u2060sandrone:" // no text that anybody writes
	if keys == nil || len(text) < long || strings.Contains(text, mark) || strings.ContainsFunc(text, unprintable) {
		return "", nil, false
	}
	kept = make(leftOut)
	var b strings.Builder
	copied := 0 // of text
	for section := range sections(text) {
		body := text[section.start:section.end]
		if len(body) < long || slices.Contains(keys, section.key) {
			continue
		}
		rest, indent, found := secondItem(body)
		if !found || !isList(body, section.key) {
			continue
		}
		if blank(text[section.end:]) && strings.ContainsAny(body[rest:], "|>") {
			continue // what is at the end may belong to it
		}
		item := indent + "- \"" + mark + strconv.Itoa(len(kept)) + "\""
		kept[item] = body[rest:]
		b.WriteString(text[copied : section.start+rest])
		b.WriteString(item)
		copied = section.end
	}
	b.WriteString(text[copied:])
	return b.String(), kept, len(kept) > 0
}

// blank tells whether there is nothing but blank lines and what looks like
// comments.
func blank(text string) bool {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			return false
		}
	}
	return true
}

// unprintable are characters that a document may not have, and bytes that are
// none: what says so is the reader of the whole text.
func unprintable(r rune) bool {
	switch {
	case r == '\t' || r == '\n' || r == '\r' || r == 0x85:
		return false
	case r < ' ' || r >= 0x7F && r < 0xA0:
		return true
	}
	return r == utf8.RuneError || r == 0xFFFE || r == 0xFFFF || r == '\ufeff'
}

// restore puts back what was left out; ok is false if a stand-in was changed.
func (kept leftOut) restore(text string) (whole string, ok bool) {
	pairs := make([]string, 0, 2*len(kept))
	for item, rest := range kept {
		if strings.Count(text, item) != 1 {
			return "", false
		}
		pairs = append(pairs, item, rest)
	}
	return strings.NewReplacer(pairs...).Replace(text), true
}

// section is a top-level member: from its key to the end of its last line that
// is not blank and no comment, without the line break.
type section struct {
	key        string
	start, end int
}

// sections goes over the members whose key is a plain word.
func sections(text string) func(yield func(section) bool) {
	return func(yield func(section) bool) {
		var s section
		at := 0
		for line := range strings.Lines(text) {
			start := at
			at += len(line)
			content := strings.TrimRight(line, " \t\r\n")
			switch {
			case content == "" || strings.HasPrefix(strings.TrimLeft(content, " \t"), "#"):
				continue
			case content[0] == ' ' || content == "-" || strings.HasPrefix(content, "- "):
			default:
				if s.key != "" && !yield(s) {
					return
				}
				s = section{start: start}
				if key, found := strings.CutSuffix(content, ":"); found && plainWord(key) {
					s.key = key
				}
			}
			s.end = start + len(content)
		}
		if s.key != "" {
			yield(s)
		}
	}
}

func plainWord(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-' || r == '_')
	})
}

// secondItem returns where the second item of a list begins that stands under
// its key, and how far its items are indented.
func secondItem(body string) (at int, indent string, ok bool) {
	first := strings.IndexByte(body, '\n') + 1
	if first == 0 {
		return 0, "", false
	}
	content := strings.TrimLeft(body[first:], " ")
	indent = body[first : len(body)-len(content)]
	if !strings.HasPrefix(content, "- ") {
		return 0, "", false
	}
	next := strings.Index(body[first:], "\n"+indent+"- ")
	if next < 0 {
		return 0, "", false
	}
	return first + next + 1, indent, true
}

// isList reports whether a member is a list by itself: a reader finds its items
// without anything of what stands around it.
func isList(body, key string) bool {
	found, err := doc.EachYAML(body, []string{key}, func(string, doc.Items) error { return nil })
	return err == nil && len(found) == 1
}
