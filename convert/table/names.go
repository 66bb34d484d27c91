package table

import (
	"strconv"

	"github.com/sandrone-gateway/sandrone"
)

// names hands out the names of a document, each once.
type names struct {
	wanted map[string]int  // names of the batch, with how many nodes want them
	taken  map[string]bool // names given out
	next   map[string]int  // where the search for a free suffix goes on
	clean  func(string) string
}

// reserve notes the names of a batch, so that a name that is made up never
// takes one that a later node brings. Nodes do not get the client's own names.
func reserve(nodes []sandrone.Node, clean func(string) string, own []string) *names {
	s := &names{wanted: make(map[string]int, len(nodes)), taken: make(map[string]bool, len(nodes)), clean: clean}
	for _, name := range own {
		s.taken[name] = true
	}
	for i := range nodes {
		s.wanted[s.fit(nodes[i].Name)]++
	}
	return s
}

func (s *names) fit(name string) string {
	if s.clean != nil {
		return s.clean(name)
	}
	return name
}

// claim returns the name for a node: its own, or the first free one with a
// number behind it.
func (s *names) claim(name string) string {
	final := s.fit(name)
	if s.taken[final] {
		base := final
		k := max(s.next[base], 2)
		for ; ; k++ {
			final = base + " " + strconv.Itoa(k)
			if !s.taken[final] && s.wanted[final] == 0 {
				break
			}
		}
		if s.next == nil {
			s.next = make(map[string]int)
		}
		s.next[base] = k
	}
	s.taken[final] = true
	return final
}

// invent returns a name that no node of the batch has or wants.
func (s *names) invent(name string) string {
	base := s.fit(name)
	final := base
	for k := 2; s.taken[final] || s.wanted[final] > 0; k++ {
		final = base + " " + strconv.Itoa(k)
	}
	s.taken[final] = true
	return final
}

// release gives a name back that turned out not to be written.
func (s *names) release(final string) { delete(s.taken, final) }
