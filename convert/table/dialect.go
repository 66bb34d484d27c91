package table

import (
	"math/bits"
	"slices"
	"strings"
	"sync"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert/field"
)

// Dialect is one client's notation of nodes. It is a package variable of its
// format, made of values; programs are compiled from it when first used, and
// it must not be changed after that.
type Dialect struct {
	Family    string             // "mihomo": the family of opaque options
	Raw       string             // prefix of its raw keys, "mihomo."
	Source    sandrone.SourceRef // the document that defines it
	Protocols []Protocol

	// Versions are the client versions that can be written for, ascending;
	// Default is the one written for when none is asked for.
	Versions []Version
	Default  Version

	// Sorted writes keys in alphabetical order, after those named in First.
	// Otherwise keys are written in table order.
	Sorted bool
	First  []string

	// Reserved are names that the client gives to its own policies; a node of
	// such a name is renamed.
	Reserved []string

	// Link is the tolerance of links: of a repeated key the first value wins
	// and another value goes to raw; aliases that disagree are no conflict.
	// Otherwise the last value of a repeated key wins, and aliases that
	// disagree give a parse_alias_conflict.
	Link bool

	// Lossless is the notation that is the node model itself: its raw member
	// holds raw keys as they are, and nothing is ever lost.
	Lossless bool

	// Repeats says that two nodes of a document may have one name.
	Repeats bool

	// NoType, if set, is the code of a second warning for a node whose type
	// the dialect does not have.
	NoType string

	mu       sync.Mutex
	programs map[programKey]*program
}

// Protocol is one protocol in a dialect.
type Protocol struct {
	Type sandrone.Type
	Rows []Row
	Also []Row // rows of a second document that some nodes need

	// AlsoRaw is the place of the second document's raw keys under the
	// dialect's prefix, "shadowtls.".
	AlsoRaw string

	Since, Until string                  // client versions that know the type
	Fold         func(key string) string // makes equal keys equal before they are looked up
	ReadOnly     bool                    // the client's current version no longer takes it
	WriteOnly    bool
}

type programKey struct {
	t     sandrone.Type
	v     Version
	write bool
}

// program is a protocol's rows compiled for one direction and version.
type program struct {
	rows       []step
	keys       map[string][]place // read: where a key leads
	fold       func(string) string
	also       *program
	alsoRaw    string
	always     turns   // rows whose turn comes with every node
	nested     turns   // write: objects, which may have raw keys alone
	turnsOf    []turns // write: the rows of a leaf, by its id; nil where the rows are few
	rest       bool    // unknown keys go to opaque
	applicable field.Set
	written    field.Set // leaves that a row writes in some node
	sections   map[string]bool
	raws       []string // write: prefixes of the raw keys that are the dialect's own
}

// turns is a set of rows of one program. Most rows of a protocol concern no one
// node, so both directions go from one member to the next and leave the others
// untouched, in memory too.
type turns [4]uint64

// fewRows is how many rows are asked one by one rather than by leaf.
const fewRows = 16

// maxRows is how many rows one object may have.
const maxRows = 64 * len(turns{})

func (t *turns) add(k int) { t[k>>6] |= 1 << (k & 63) }

func (t *turns) addAll(u *turns) {
	for i := range t {
		t[i] |= u[i]
	}
}

// after returns the first member from k on, or -1.
func (t *turns) after(k int) int {
	for i := k >> 6; i < len(t); i++ {
		w := t[i]
		if i == k>>6 {
			w &= ^uint64(0) << (k & 63)
		}
		if w != 0 {
			return i<<6 + bits.TrailingZeros64(w)
		}
	}
	return -1
}

// step is one compiled row.
type step struct {
	row
	mask  field.Set // fields that the row settles
	eager bool      // the row has its turn even where the node carries none of them
	prog  *program  // of a section
}

// rawPath is the raw prefix of a section that stands in one with prefix outer.
func (s *step) rawPath(outer string) string {
	if s.rawAs != "" {
		return s.rawAs
	}
	return outer + s.keys[0] + "."
}

// ownRaw reports whether a raw key came from this dialect.
func (p *program) ownRaw(key string) bool {
	for _, prefix := range p.raws {
		if strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return false
}

// place is a row and the rank of the key among the row's aliases.
type place struct {
	row  int32
	rank int32
}

// Reads reports whether the dialect has a reader for protocol t.
func (d *Dialect) Reads(t sandrone.Type) bool { return d.protocol(t, false, Version{}) != nil }

func (d *Dialect) protocol(t sandrone.Type, write bool, v Version) *Protocol {
	for i := range d.Protocols {
		p := &d.Protocols[i]
		if p.Type != t || write && (p.ReadOnly || !within(v, V(p.Since), V(p.Until))) || !write && p.WriteOnly {
			continue
		}
		return p
	}
	return nil
}

func within(v, since, until Version) bool {
	if v.IsZero() {
		return true
	}
	return (since.IsZero() || v.Compare(since) >= 0) && (until.IsZero() || v.Compare(until) < 0)
}

// programs are the programs of one call, so that most nodes need no lock.
type programs struct {
	d     *Dialect
	write bool
	v     Version
	known map[sandrone.Type]*program
}

func (d *Dialect) programsOf(write bool, v Version) *programs {
	return &programs{d: d, write: write, v: v, known: make(map[sandrone.Type]*program)}
}

func (s *programs) of(t sandrone.Type) *program {
	p, ok := s.known[t]
	if !ok {
		p = s.d.program(t, s.write, s.v)
		s.known[t] = p
	}
	return p
}

// program returns the compiled protocol, or nil when the dialect lacks it.
func (d *Dialect) program(t sandrone.Type, write bool, v Version) *program {
	key := programKey{t, v, write}
	d.mu.Lock()
	defer d.mu.Unlock()
	p, ok := d.programs[key]
	if ok {
		return p
	}
	if proto := d.protocol(t, write, v); proto != nil {
		p = d.compile(proto.Rows, proto.Fold, write, v)
		p.raws = append(p.raws, d.Raw)
		p.applicable = field.Applicable(t)
		if write && proto.Also != nil {
			p.also = d.compile(proto.Also, proto.Fold, write, v)
			p.raws = append(p.raws, p.also.raws...)
			p.alsoRaw = proto.AlsoRaw
		}
		p.written = p.settles()
		if p.also != nil {
			p.written.AddAll(p.also.settles())
		}
	}
	if d.programs == nil {
		d.programs = make(map[programKey]*program)
	}
	d.programs[key] = p
	return p
}

// settles returns the leaves that the rows can settle.
func (p *program) settles() (all field.Set) {
	for i := range p.rows {
		if k := p.rows[i].kind; k != refuse && k != limited {
			all.AddAll(p.rows[i].mask)
		}
	}
	return all
}

func (d *Dialect) compile(rows []Row, fold func(string) string, write bool, v Version) *program {
	p := &program{fold: fold}
	for _, r := range rows {
		row := *r.row
		s := step{row: row}
		if write && row.wcond != nil {
			s.row = *r.When(row.wcond).row
		}
		for _, f := range row.fields {
			s.mask.Add(f.ID)
		}
		if row.kind == section || row.kind == each {
			s.prog = d.compile(row.rows, fold, write, v)
			s.mask = s.prog.settles()
			if p.sections == nil {
				p.sections = make(map[string]bool)
			}
			p.sections[row.keys[0]] = true
			p.raws = append(p.raws, s.prog.raws...)
			if row.rawAs != "" {
				p.raws = append(p.raws, row.rawAs)
			}
		}
		if row.kind == restKind {
			p.rest = true
		}
		s.eager = row.always || row.kept != nil || row.kind == refuse
		if write {
			if !within(v, row.since, row.until) || row.write == nil && !row.kind.structural() || s.prog != nil && len(s.prog.rows) == 0 {
				continue
			}
		} else if row.kind == refuse || row.kind == limited || row.kind == noted && row.read == nil || row.kind == plain && row.read == nil {
			continue
		}
		p.rows = append(p.rows, s)
	}
	if len(p.rows) > maxRows {
		panic("table: more rows than one object can have")
	}
	if write {
		if d.Sorted {
			slices.SortStableFunc(p.rows, d.order)
		}
		if len(p.rows) > fewRows {
			p.turnsOf = make([]turns, field.Len())
		}
		for k := range p.rows {
			s := &p.rows[k]
			if s.eager {
				p.always.add(k)
			}
			if s.prog != nil {
				p.nested.add(k)
			}
			if p.turnsOf != nil {
				s.mask.Each(func(id field.ID) bool {
					p.turnsOf[id].add(k)
					return true
				})
			}
		}
		return p
	}
	for k := range p.rows {
		if p.rows[k].kind == noted {
			p.always.add(k)
		}
	}
	p.keys = make(map[string][]place)
	for i, s := range p.rows {
		if s.kind == raw {
			continue // its keys are left over, each of them
		}
		for rank, key := range s.keys {
			if fold != nil {
				key = fold(key)
			}
			if fold != nil && slices.ContainsFunc(p.keys[key], func(pl place) bool { return pl.row == int32(i) }) {
				continue // another spelling of a key that the row has already
			}
			p.keys[key] = append(p.keys[key], place{int32(i), int32(rank)})
		}
	}
	return p
}

// structural rows do their work without a writer of their own.
func (k kind) structural() bool { return k == section || k == each || k == restKind || k == limited }

// order puts rows without a key last, since they settle what others left.
func (d *Dialect) order(a, b step) int {
	return strings.Compare(d.sortKey(a), d.sortKey(b))
}

func (d *Dialect) sortKey(s step) string {
	if len(s.keys) == 0 {
		return "\xff"
	}
	if i := slices.Index(d.First, s.keys[0]); i >= 0 {
		return string(rune(i))
	}
	return s.keys[0]
}
