package table

import (
	"strconv"

	"github.com/sandrone-gateway/sandrone"
)

// names hands out the names of a document, each once.
type names struct {
	state map[string]nameState
	next  map[string]int // where the search for a free suffix goes on
	clean func(string) string
}

type nameState uint8

const (
	wanted nameState = 1 << iota // a node of the batch has it
	taken                        // it is given out
)

// reserve notes the names of a batch, so that a name that is made up never
// takes one that a later node brings. Nodes do not get the client's own names.
func reserve(nodes []sandrone.Node, clean func(string) string, own []string) *names {
	s := &names{state: make(map[string]nameState, len(nodes)+len(own)), clean: clean}
	for _, name := range own {
		s.state[name] = taken
	}
	for i := range nodes {
		s.state[s.fit(nodes[i].Name)] |= wanted
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
	if s.state[final]&taken != 0 {
		base := final
		k := max(s.next[base], 2)
		for ; ; k++ {
			final = base + " " + strconv.Itoa(k)
			if s.state[final] == 0 {
				break
			}
		}
		if s.next == nil {
			s.next = make(map[string]int)
		}
		s.next[base] = k
	}
	s.state[final] |= taken
	return final
}

// invent returns a name that no node of the batch has or wants.
func (s *names) invent(name string) string {
	base := s.fit(name)
	final := base
	for k := 2; s.state[final] != 0; k++ {
		final = base + " " + strconv.Itoa(k)
	}
	s.state[final] |= taken
	return final
}

// release gives a name back that turned out not to be written.
func (s *names) release(final string) { s.state[final] &^= taken }
