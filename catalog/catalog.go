// Package catalog is what the program says of itself: which formats it reads
// and writes, what each keeps, loses or only carries along, which steps there
// are, what a definition looks like, and which features the page may offer.
//
// Everything here is made from the live registries and types. There is no
// second list that could disagree with the code.
package catalog

import (
	"cmp"
	"slices"
	"sync"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert"
	"github.com/sandrone-gateway/sandrone/convert/table"
	"github.com/sandrone-gateway/sandrone/processors"
)

// Index is the list of all formats in both directions.
type Index struct {
	Items []Item `json:"items"`
}

// Item is one format in one direction.
type Item struct {
	Direction   string          `json:"direction"` // "parse" or "render"
	Format      string          `json:"format"`
	NodeTypes   []sandrone.Type `json:"node_types"`
	Reversible  bool            `json:"reversible"` // nothing of a node is lost
	FieldCounts FieldCounts     `json:"field_counts"`
	Revisions   []string        `json:"revisions"`          // of the documents behind the mapping, sorted
	Versions    []string        `json:"versions,omitempty"` // client versions that can be written for, ascending
	Href        string          `json:"href,omitempty"`     // over HTTP only
}

// FieldCounts are the lengths of the lists of a [Detail].
type FieldCounts struct {
	Supported int `json:"supported"`
	Lossy     int `json:"lossy"`
	RawOnly   int `json:"raw_only"`
}

// Detail is what one format in one direction does with each field.
type Detail struct {
	Format     string          `json:"format"`
	Direction  string          `json:"direction"`
	Types      []sandrone.Type `json:"types"`
	Reversible bool            `json:"reversible"`
	Fields     []table.Entry   `json:"fields"`
	Lossy      []table.Entry   `json:"lossy"`
	RawOnly    []table.Entry   `json:"raw_only"`
}

// Catalog answers from values that are made once, when they are first asked
// for. What it returns is shared and must not be changed.
type Catalog struct {
	steps *processors.Registry
	build func() (Index, map[[2]string]*Detail)
}

// New makes the catalogue of the formats of a registry, and of the steps of
// another, which may be nil: then there are none.
func New(r *convert.Registry, steps *processors.Registry) *Catalog {
	return &Catalog{steps: steps, build: sync.OnceValues(func() (Index, map[[2]string]*Detail) {
		index := Index{Items: []Item{}}
		details := make(map[[2]string]*Detail)
		add := func(direction, format string, profile *table.Profile, versions []table.Version) {
			d := newDetail(direction, format, profile)
			details[[2]string{direction, format}] = d
			index.Items = append(index.Items, newItem(d, versions))
		}
		for _, p := range r.Parsers() {
			add("parse", p.Name, p.Profile(), nil)
		}
		for _, w := range r.Renderers() {
			add("render", w.Name, w.Profile(), w.Versions)
		}
		slices.SortStableFunc(index.Items, func(a, b Item) int {
			return cmp.Or(cmp.Compare(a.Direction, b.Direction), cmp.Compare(a.Format, b.Format))
		})
		return index, details
	})}
}

// Index lists the formats: those that are read first, each direction by name.
// With link set, each item carries the address of its detail.
func (c *Catalog) Index(link func(direction, format string) string) Index {
	index, _ := c.build()
	if link == nil {
		return index
	}
	linked := Index{Items: slices.Clone(index.Items)}
	for i := range linked.Items {
		item := &linked.Items[i]
		item.Href = link(item.Direction, item.Format)
	}
	return linked
}

// Detail returns one format in one direction, "parse" or "render"; both names
// are exact. An unknown pair is an invalid_argument error.
func (c *Catalog) Detail(direction, format string) (*Detail, error) {
	if direction != "parse" && direction != "render" {
		return nil, sandrone.Errorf(sandrone.InvalidArgument, "direction must be parse or render")
	}
	_, details := c.build()
	if d := details[[2]string{direction, format}]; d != nil {
		return d, nil
	}
	return nil, sandrone.Errorf(sandrone.InvalidArgument, "format capability not found")
}

func newDetail(direction, format string, p *table.Profile) *Detail {
	if p == nil {
		p = &table.Profile{}
	}
	return &Detail{
		Format:    format,
		Direction: direction,
		Types:     byProtocol(p.Types, func(t sandrone.Type) sandrone.Type { return t }),
		// The neutral model's own notation is the only one without loss.
		Reversible: format == "json-nodes",
		Fields:     byProtocol(p.Fields, protocol),
		Lossy:      byProtocol(p.Lossy, protocol),
		RawOnly:    byProtocol(p.RawOnly, protocol),
	}
}

func protocol(e table.Entry) sandrone.Type { return e.Protocol }

// byProtocol orders a list by protocol and keeps the order of fields that the
// profile has.
func byProtocol[T any](list []T, of func(T) sandrone.Type) []T {
	sorted := append([]T{}, list...) // never nil: an empty list is [] and not null
	slices.SortStableFunc(sorted, func(a, b T) int { return cmp.Compare(of(a).Index(), of(b).Index()) })
	return sorted
}

func newItem(d *Detail, versions []table.Version) Item {
	item := Item{
		Direction:   d.Direction,
		Format:      d.Format,
		NodeTypes:   d.Types,
		Reversible:  d.Reversible,
		FieldCounts: FieldCounts{Supported: len(d.Fields), Lossy: len(d.Lossy), RawOnly: len(d.RawOnly)},
		Revisions:   []string{},
	}
	for _, list := range [][]table.Entry{d.Fields, d.Lossy, d.RawOnly} {
		for i := range list {
			if rev := list[i].Source.Revision; rev != "" {
				item.Revisions = append(item.Revisions, rev)
			}
		}
	}
	slices.Sort(item.Revisions)
	item.Revisions = slices.Compact(item.Revisions)
	for _, v := range versions {
		item.Versions = append(item.Versions, v.String())
	}
	return item
}
