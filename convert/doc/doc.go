// Package doc is the one tree between a syntax and a field table.
//
// A YAML map, a JSON object, the query of a link and the options of a line are
// all read into the same flat list of [Items] and printed from it, so a table
// knows keys and values but no syntax. Scalars keep their text as it stood: a
// short id written 08 stays "08", whatever a YAML library would make of it.
package doc

// Kind is what an item is.
type Kind uint8

// The kinds of an [Item].
const (
	Null Kind = iota
	Str
	Num // Text is a JSON number
	Bool
	List
	Map
)

// Item is one node of the tree. Its children, if any, are the items that
// follow it, up to but not including End.
type Item struct {
	Key    string // member name; empty for the root and for list elements
	Text   string // scalar as it stood in the source
	End    int32  // index after the last descendant
	Kind   Kind
	Quoted bool // read: the scalar was quoted; write: always quote it
}

// Items is a tree in pre-order in one slice, which is reused from one node to
// the next. Index 0 is the root where there is one.
type Items []Item

// Next returns the index of the sibling after i, which is the end of the
// parent when i is the last child.
func (d Items) Next(i int) int { return int(d[i].End) }

// Find returns the index of the last child of map m with the given key, or -1.
// Of a repeated key the last one counts, as YAML and JSON readers do.
func (d Items) Find(m int, key string) int {
	found := -1
	if d[m].Kind != Map {
		return found
	}
	for i := m + 1; i < int(d[m].End); i = d.Next(i) {
		if d[i].Key == key {
			found = i
		}
	}
	return found
}

// Scalar returns the text of item i, which is "" for null; ok is false for a
// list or a map.
func (d Items) Scalar(i int) (text string, ok bool) {
	if k := d[i].Kind; k == List || k == Map {
		return "", false
	}
	return d[i].Text, true
}

// Strings returns the scalars of a list, or a single scalar as a list of one;
// null is an empty list. ok is false for a map and for nested lists.
func (d Items) Strings(i int) (list []string, ok bool) {
	switch d[i].Kind {
	case Null:
		return nil, true
	case Map:
		return nil, false
	case List:
	default:
		return []string{d[i].Text}, true
	}
	for j := i + 1; j < int(d[i].End); j = d.Next(j) {
		text, ok := d.Scalar(j)
		if !ok {
			return nil, false
		}
		list = append(list, text)
	}
	return list, true
}

// Add appends a scalar item.
func (d *Items) Add(key string, kind Kind, text string) {
	*d = append(*d, Item{Key: key, Text: text, Kind: kind, End: int32(len(*d) + 1)})
}

// AddStr appends a string item; printers quote it where its text needs it.
func (d *Items) AddStr(key, text string) { d.Add(key, Str, text) }

// AddQuoted appends a string item that YAML printers always quote.
func (d *Items) AddQuoted(key, text string) {
	d.Add(key, Str, text)
	(*d)[len(*d)-1].Quoted = true
}

// AddInt appends a whole number.
func (d *Items) AddInt(key string, n int) { d.Add(key, Num, itoa(n)) }

// AddBool appends a boolean.
func (d *Items) AddBool(key string, b bool) {
	if b {
		d.Add(key, Bool, "true")
		return
	}
	d.Add(key, Bool, "false")
}

// AddStrings appends a list of strings.
func (d *Items) AddStrings(key string, list []string) {
	i := d.Open(key, List)
	for _, s := range list {
		d.AddStr("", s)
	}
	d.Close(i)
}

// Open appends a list or map and returns its index for [Items.Close].
func (d *Items) Open(key string, kind Kind) int {
	d.Add(key, kind, "")
	return len(*d) - 1
}

// Close ends the list or map that was opened at i: what was added since are
// its children.
func (d *Items) Close(i int) { (*d)[i].End = int32(len(*d)) }

// AddTree appends a copy of the tree at index i of src under another key.
func (d *Items) AddTree(key string, src Items, i int) {
	base := int32(len(*d)) - int32(i)
	for j := i; j < src.Next(i); j++ {
		it := src[j]
		it.End += base
		*d = append(*d, it)
	}
	(*d)[int(base)+i].Key = key
}
