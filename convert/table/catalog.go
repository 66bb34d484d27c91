package table

import (
	"slices"
	"strings"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert/field"
)

// ParseProfile returns the catalogue of the dialect's reader.
func (d *Dialect) ParseProfile() *Profile {
	p := new(Profile)
	for _, proto := range d.ordered() {
		prog := d.program(proto.Type, false, Version{})
		if prog == nil {
			continue
		}
		p.Types = append(p.Types, proto.Type)
		read := d.lines(prog, proto.Type, nil)
		for _, id := range read.ids() {
			e := read.entry(d, id, proto.Type, "supported")
			e.Notes = "" // limits of values and versions are the writer's
			p.Fields = append(p.Fields, e)
		}
		for _, key := range d.rawKeys(prog, d.Raw) {
			p.RawOnly = append(p.RawOnly, Entry{Field: key, Protocol: proto.Type, Status: "raw_only", Source: d.Source})
		}
	}
	return p
}

// RenderProfile returns the catalogue of the dialect's writer at its default
// version.
func (d *Dialect) RenderProfile() *Profile {
	p := new(Profile)
	for _, proto := range d.ordered() {
		prog := d.program(proto.Type, true, d.Default)
		if prog == nil {
			continue
		}
		p.Types = append(p.Types, proto.Type)
		written := d.lines(prog, proto.Type, nil)
		if prog.also != nil {
			d.lines(prog.also, proto.Type, written)
		}
		for _, id := range written.ids() {
			e := written.entry(d, id, proto.Type, "supported")
			if d.Lossless {
				e.Notes = "" // it has a form for every value
			}
			p.Fields = append(p.Fields, e)
		}
		if d.Lossless {
			continue
		}
		for id := range field.Len() {
			id := field.ID(id)
			f := field.ByID(id)
			only := written[id] != nil && written[id].notes != ""
			if !f.For.Has(proto.Type) || f.Usual() == field.Silent || written[id] != nil && !only {
				continue
			}
			e := Entry{Field: f.Path, Protocol: proto.Type, Status: "lossy", Source: d.Source}
			switch {
			case only && (f.Usual() == field.Critical || written[id].skips):
				e.Notes = "skip: only " + written[id].notes
			case only && f.Note != "": // what the loss means depends on the node
				e.Notes = f.Note + "; only " + written[id].notes
			case only:
				e.Notes = "only " + written[id].notes
			case f.Usual() == field.Critical:
				e.Notes = "skip: leaving it out would change the connection"
			default:
				e.Notes = f.Note
			}
			p.Lossy = append(p.Lossy, e)
		}
	}
	return p
}

// Sources returns the documents that define the dialect's rows for protocol t:
// its own, and those that single rows name.
func (d *Dialect) Sources(t sandrone.Type) []sandrone.SourceRef {
	proto := d.protocol(t, false, Version{})
	if proto == nil {
		return nil
	}
	return sources([]sandrone.SourceRef{d.Source}, proto.Rows)
}

func sources(refs []sandrone.SourceRef, rows []Row) []sandrone.SourceRef {
	for i := range rows {
		if r := rows[i].source; r != nil && !slices.Contains(refs, *r) {
			refs = append(refs, *r)
		}
		refs = sources(refs, rows[i].rows)
	}
	return refs
}

// ordered returns the protocols in catalogue order, each once.
func (d *Dialect) ordered() []Protocol {
	list := slices.Clone(d.Protocols)
	slices.SortStableFunc(list, func(a, b Protocol) int { return a.Type.Index() - b.Type.Index() })
	return slices.CompactFunc(list, func(a, b Protocol) bool { return a.Type == b.Type })
}

// lines are the leaves of a program, each with the row that settles it.
type lines map[field.ID]*row

func (d *Dialect) lines(p *program, t sandrone.Type, into lines) lines {
	if into == nil {
		into = lines{field.Type.ID: new(row)} // that there is a program says the type
	}
	restrict := make(map[field.ID]*step) // by rows that settle nothing themselves
	for i := range p.rows {
		s := &p.rows[i]
		switch {
		case s.kind == refuse || s.kind == limited:
			for _, f := range s.fields {
				restrict[f.ID] = s
			}
		case s.prog != nil:
			inner := d.lines(s.prog, t, make(lines))
			for id, row := range inner {
				if s.notes != "" && row.notes == "" {
					noted := *row
					noted.notes = s.notes
					row = &noted
				}
				into.add(id, row)
			}
		case s.kind == restKind:
			row := s.row
			row.notes = "the family " + d.Family
			for _, f := range s.fields {
				into.add(f.ID, &row)
			}
		default:
			for _, f := range s.fields {
				if f.For.Has(t) {
					into.add(f.ID, &s.row)
				}
			}
		}
	}
	for id, by := range restrict {
		if row := into[id]; row != nil {
			noted := *row
			noted.skips = by.kind == refuse
			if noted.notes == "" {
				noted.notes = by.notes
			}
			into[id] = &noted
		}
	}
	return into
}

// add keeps the row that carries the most of a leaf.
func (l lines) add(id field.ID, r *row) {
	if old := l[id]; old == nil || old.notes != "" && r.notes == "" {
		l[id] = r
	}
}

func (l lines) ids() []field.ID {
	ids := make([]field.ID, 0, len(l))
	for id := range l {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

func (l lines) entry(d *Dialect, id field.ID, t sandrone.Type, status string) Entry {
	row := l[id]
	e := Entry{Field: field.ByID(id).Path, Protocol: t, Status: status, Source: d.Source}
	if row.source != nil {
		e.Source = *row.source
	}
	var notes []string
	if row.notes != "" {
		notes = append(notes, "only "+row.notes)
	}
	if !row.since.IsZero() {
		notes = append(notes, "since "+row.since.String())
	}
	if !row.until.IsZero() {
		notes = append(notes, "until "+row.until.String())
	}
	e.Notes = strings.Join(notes, "; ")
	return e
}

func (d *Dialect) rawKeys(p *program, path string) []string {
	var keys []string
	for i := range p.rows {
		switch s := &p.rows[i]; {
		case s.kind == raw:
			for _, k := range s.keys {
				keys = append(keys, path+k)
			}
		case s.prog != nil:
			keys = append(keys, d.rawKeys(s.prog, s.rawPath(path))...)
		}
	}
	return slices.Compact(keys)
}
