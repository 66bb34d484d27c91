package table

import (
	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert/doc"
)

// chains is what is known, before anything is written, of the nodes that go
// through other nodes of the batch.
type chains struct {
	broken map[int]string    // nodes that must be left out, with the reason
	first  map[string]int    // for each name the node that it means: the first one that is written
	final  map[string]string // names that other nodes use: what they are in this document
}

// links looks through the chains of a batch. It is nil, and costs nothing,
// where no node has one. A node whose dialer.proxy leads nowhere in this
// document is broken: the name is not there, belongs to a node that is left
// out itself, or leads back to the node. Without its chain the node would leak
// its traffic, and clients refuse a file that names what is absent. In the
// lossless notation a chain is a name like any other: no client connects by it.
func (d *Dialect) links(nodes []sandrone.Node, o Options) *chains {
	if d.Lossless {
		return nil
	}
	chained := false
	for i := range nodes {
		chained = chained || proxyOf(&nodes[i]) != ""
	}
	if !chained {
		return nil
	}
	c := &chains{broken: make(map[int]string), first: make(map[string]int, len(nodes)), final: make(map[string]string)}
	for i := range nodes {
		if _, ok := c.first[nodes[i].Name]; !ok && d.expresses(&nodes[i], i, o) {
			c.first[nodes[i].Name] = i
		}
	}
	// Each walk follows a chain to a node that is settled, and settles those
	// it came by; so every node is walked over once.
	settled := make([]bool, len(nodes))
	onWalk := make(map[int]bool)
	var walk []int
	for i := range nodes {
		walk = walk[:0]
		clear(onWalk)
		clause := ""
		for at := i; !settled[at]; {
			walk, onWalk[at] = append(walk, at), true
			name := proxyOf(&nodes[at])
			if name == "" || o.Exists != nil && o.Exists(name) {
				break
			}
			next, ok := c.first[name]
			switch {
			case !ok:
				clause = "the node it goes through is not among those written"
			case onWalk[next]:
				clause = "it leads back to itself"
			case settled[next] && c.broken[next] != "":
				clause = "the node it goes through is left out"
			}
			if clause != "" {
				break
			}
			at = next
		}
		for k := len(walk) - 1; k >= 0; k-- {
			settled[walk[k]] = true
			if clause != "" {
				c.broken[walk[k]] = clause
				if clause != "it leads back to itself" {
					clause = "the node it goes through is left out"
				}
			}
		}
	}
	return c
}

// settle gives the nodes that others go through their names, before any other
// node can take them.
func (c *chains) settle(nodes []sandrone.Node, names *names, claimed []string) {
	for i := range nodes {
		name := proxyOf(&nodes[i])
		if _, done := c.final[name]; done || name == "" {
			continue
		}
		if to, ok := c.first[name]; ok && c.broken[to] == "" {
			c.final[name] = names.claim(name)
			claimed[to] = c.final[name]
		}
	}
}

func proxyOf(n *sandrone.Node) string {
	if n.Dialer == nil {
		return ""
	}
	return n.Dialer.Proxy
}

// expresses reports whether the dialect can write a node, chains aside.
func (d *Dialect) expresses(n *sandrone.Node, index int, o Options) bool {
	p := d.program(n.Type, true, o.Version)
	if p == nil {
		return false
	}
	var out doc.Items
	w := Writer{d: d, o: &o, Out: &out, Version: o.Version, Name: n.Name}
	w.node(p, n, index, nil)
	return w.why == nil
}
