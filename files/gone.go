package files

import (
	"fmt"

	"github.com/sandrone-gateway/sandrone"
)

// gone are the names of the nodes that others took the place of. What still
// names them leads nowhere.
type gone map[string]bool

// without takes the names that are there after all out of g.
func (g gone) without(names []string) {
	for _, name := range names {
		delete(g, name)
	}
}

// leftOut warns of a group from which so many members were taken.
func (c *compilation) leftOut(group string, count int, path string) {
	c.warn(sandrone.WarnReferenceUnknown, fmt.Sprintf("group %q: %d of its members are nodes that are no longer in this file; they are left out", clip(group), count), path)
}

// emptied warns of a group that such nodes were all members of.
func (c *compilation) emptied(group, direct, path string) {
	c.warn(sandrone.WarnGroupEmpty, fmt.Sprintf("group %q has no members; %s takes their place", clip(group), direct), path)
}

// lostRule warns of a rule that led to such a node.
func (c *compilation) lostRule(name, path string) {
	c.warn(sandrone.WarnReferenceUnknown, fmt.Sprintf("the rule names the node %q, which is no longer in this file; the rule is left out", clip(name)), path)
}
