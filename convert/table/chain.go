package table

import (
	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert/doc"
)

// brokenChains returns the nodes whose dialer.proxy leads nowhere in this
// document, with the reason: a name that is not there, that belongs to a node
// which is left out itself, or that leads back to the node. A node without its
// chain would leak its traffic, and clients refuse a file that names what is
// absent. A batch without chains costs nothing.
func (d *Dialect) brokenChains(nodes []sandrone.Node, o Options) map[int]string {
	var chained []int
	for i := range nodes {
		if dialer := nodes[i].Dialer; dialer != nil && dialer.Proxy != "" {
			chained = append(chained, i)
		}
	}
	if chained == nil {
		return nil
	}
	byName := make(map[string]int, len(nodes)) // the first node of a name is the one that is named
	for i := range nodes {
		if _, ok := byName[nodes[i].Name]; !ok && d.expresses(&nodes[i], i, o) {
			byName[nodes[i].Name] = i
		}
	}
	broken := make(map[int]string)
	for changed := true; changed; {
		changed = false
		for _, i := range chained {
			if broken[i] != "" {
				continue
			}
			name := nodes[i].Dialer.Proxy
			if o.Exists != nil && o.Exists(name) {
				continue
			}
			to, ok := byName[name]
			switch {
			case !ok:
				broken[i] = "the node it goes through is not among those written"
			case broken[to] != "":
				broken[i] = "the node it goes through is left out"
			case circular(nodes, byName, i):
				broken[i] = "it leads back to itself"
			default:
				continue
			}
			changed = true
		}
	}
	return broken
}

func circular(nodes []sandrone.Node, byName map[string]int, from int) bool {
	at := from
	for range len(nodes) {
		d := nodes[at].Dialer
		if d == nil || d.Proxy == "" {
			return false
		}
		next, ok := byName[d.Proxy]
		if !ok {
			return false
		}
		if at = next; at == from {
			return true
		}
	}
	return true
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
