package table

import (
	"strconv"

	"github.com/sandrone-gateway/sandrone"
)

// names hands out the names of a document, each once.
type names struct {
	taken map[string]bool
	next  map[string]int // where the search for a free suffix goes on
	clean func(string) string

	// A name that is made up must not take one that a later node brings. The
	// names of the batch are looked up only once one has to be made up.
	nodes  []sandrone.Node
	wanted map[string]bool
}

// reserve begins the names of a batch. Nodes do not get the client's own, nor
// those of other parts of the document.
func reserve(nodes []sandrone.Node, clean func(string) string, own, others []string) *names {
	s := &names{taken: make(map[string]bool, len(nodes)+len(own)+len(others)), clean: clean, nodes: nodes}
	for _, name := range own {
		s.taken[name] = true
	}
	for _, name := range others {
		s.taken[name] = true
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
	if s.take(final) {
		return final
	}
	base, k := final, max(s.next[final], 2)
	for ; ; k++ {
		final = base + " " + strconv.Itoa(k)
		if !s.isWanted(final) && s.take(final) {
			break
		}
	}
	if s.next == nil {
		s.next = make(map[string]int)
	}
	s.next[base] = k + 1
	return final
}

// invent returns a name that no node of the batch has or wants.
func (s *names) invent(name string) string {
	base := s.fit(name)
	final := base
	for k := 2; s.isWanted(final) || !s.take(final); k++ {
		final = base + " " + strconv.Itoa(k)
	}
	return final
}

// take gives a name out; false: it is gone.
func (s *names) take(name string) bool {
	n := len(s.taken)
	s.taken[name] = true
	return len(s.taken) > n
}

func (s *names) isWanted(name string) bool {
	if s.wanted == nil {
		s.wanted = make(map[string]bool, len(s.nodes))
		for i := range s.nodes {
			s.wanted[s.fit(s.nodes[i].Name)] = true
		}
	}
	return s.wanted[name]
}

// release gives a name back that turned out not to be written.
func (s *names) release(final string) { delete(s.taken, final) }
