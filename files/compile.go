package files

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert"
	"github.com/sandrone-gateway/sandrone/convert/doc"
)

// compilation is one file in the making.
type compilation struct {
	registry *convert.Registry
	kind     *Kind
	target   string // render format, with the @version asked for
	version  string
	base     string
	settings *settings
	defaults doc.Items // settings for the parts that the definition leaves out
	nodes    []sandrone.Node

	groups []*group
	names  []string        // of the nodes, in the order of the document
	policy map[string]bool // what rules and members may name
	trims  bool            // blanks around a name do not belong to it

	out Output
}

// group is one group on its way into the file.
type group struct {
	name    string
	items   doc.Items
	at      int // its object in items
	key     string
	members []member
}

// member is one entry of a group, and its place in the list of the settings.
type member struct {
	name  string
	place int
}

// Compile makes a file. Nodes that share a name, or have that of a group or of
// one of the client's own policies, are renamed with a warning.
//
// Errors are invalid_argument, for settings as [Kind.CheckSettings] says and
// for a base that is no document of the kind, and the render_failed of the
// renderer.
func (k *Kind) Compile(in Input) (Output, error) {
	c, err := k.begin(in.Kind, in.Registry, in.Base, in.Nodes)
	if err != nil {
		return Output{}, err
	}
	if c.settings, err = k.settings(in.Settings); err == nil {
		err = k.driver.check(c.settings)
	}
	if err != nil {
		return Output{}, err
	}
	if err := doc.AddJSON(&c.defaults, "", json.RawMessage(k.driver.defaults(c.version, len(in.Nodes) > 0))); err != nil {
		return Output{}, err
	}
	if err := k.driver.compile(c); err != nil {
		return Output{}, err
	}
	return c.out, nil
}

// AddNodes writes nodes into a finished file, in place of its nodes or beside
// them. New nodes whose names are taken are renamed with a warning. Groups and
// rules stay as they are, but for what names a node that is no longer there: it
// is left out with a warning whose path leads into the file, since the client
// would refuse it.
//
// Errors are invalid_argument, for a static file, a document that is none of
// the kind and an unknown position, and the render_failed of the renderer.
func (k *Kind) AddNodes(in Addition) (Output, error) {
	switch in.Position {
	case Replace, Front, Back:
	default:
		return Output{}, sandrone.Errorf(sandrone.InvalidArgument, "position must be one of replace, front, back").At("position")
	}
	c, err := k.begin(in.Kind, in.Registry, in.Document, in.Nodes)
	if err != nil {
		return Output{}, err
	}
	if err := k.driver.addNodes(c, in.Position); err != nil {
		return Output{}, err
	}
	return c.out, nil
}

func (k *Kind) begin(name string, registry *convert.Registry, base string, nodes []sandrone.Node) (*compilation, error) {
	if k.driver == nil {
		return nil, sandrone.Errorf(sandrone.InvalidArgument, "a file of kind %s has no nodes", k.Name)
	}
	_, version, err := Find(name)
	if err != nil {
		return nil, err
	}
	c := &compilation{registry: registry, kind: k, target: k.NodeFormat, version: version, base: base, nodes: nodes, policy: map[string]bool{}}
	if name != k.Name {
		c.target += "@" + version
	}
	return c, nil
}

// part returns the list of one part: the settings', or the built-in one.
func (c *compilation) part(key string) (items doc.Items, list int) {
	if i := c.settings.items.Find(0, key); i >= 0 {
		return c.settings.items, i
	}
	return c.defaults, c.defaults.Find(0, key)
}

// elements returns the places of the elements of a list.
func elements(items doc.Items, list int) []int {
	var all []int
	for i := list + 1; i < items.Next(list); i = items.Next(i) {
		all = append(all, i)
	}
	return all
}

// text is the scalar of a member of a map, "" where there is none.
func text(items doc.Items, at int, key string) string {
	if i := items.Find(at, key); i >= 0 {
		s, _ := items.Scalar(i)
		return s
	}
	return ""
}

// render writes the nodes. None gets a name of reserved.
func (c *compilation) render(reserved []string) error {
	var err error
	c.out.Nodes, _, err = c.registry.Render(c.target, c.nodes, convert.RenderOptions{Reserved: reserved})
	return err
}

// body takes the text of the rendered nodes.
func (c *compilation) body() []byte {
	b := c.out.Nodes.Body
	c.out.Nodes.Body = nil
	return b
}

// written are the names of the nodes that were written, in order.
func (c *compilation) written() []string {
	return slices.DeleteFunc(slices.Clone(c.out.Nodes.Names), func(name string) bool { return name == "" })
}

func (c *compilation) warn(code, message, path string) {
	c.out.Warnings = append(c.out.Warnings, sandrone.Warning{Code: code, Message: message, Path: path})
}

// readGroups takes the groups from their part. Their names are policies.
func (c *compilation) readGroups(name, members string) {
	items, list := c.part(groupsKey)
	for _, at := range elements(items, list) {
		g := &group{name: text(items, at, name), items: items, at: at, key: members}
		if c.trims {
			g.name = strings.TrimSpace(g.name)
		}
		c.groups = append(c.groups, g)
		c.policy[g.name] = true
	}
}

func (c *compilation) groupNames() []string {
	names := make([]string, len(c.groups))
	for i, g := range c.groups {
		names[i] = g.name
	}
	return names
}

// maxMembers is what the names of nodes in all groups may come to, in bytes: as
// much as a text may have that is made of them.
const maxMembers = 32 << 20

// memberMarks is what a text has around a name, in bytes.
const memberMarks = 8

// room is the render_failed error for groups that would have so many members
// that no file can hold them. A few bytes of settings ask for all nodes.
func (c *compilation) room() error {
	size := 0
	for _, name := range c.names {
		size += len(name) + memberMarks
	}
	spare := maxMembers
	for i, g := range c.groups {
		for at := g.at + 1; at < g.items.Next(g.at); at = g.items.Next(at) {
			if g.items[at].Kind != doc.List {
				continue
			}
			for _, m := range elements(g.items, at) {
				if name, _ := g.items.Scalar(m); strings.TrimSpace(name) != nodesMember {
					continue
				}
				if spare -= size; spare < 0 {
					return sandrone.Errorf(sandrone.RenderFailed, "the names of all nodes stand in so many groups that the file would be larger than %d bytes", maxMembers).
						At("config.settings." + groupsKey + "[" + strconv.Itoa(i) + "]")
				}
			}
		}
	}
	return nil
}

// fill gives the groups their members. Members that name nothing, and those
// that close a circle of groups, are left out with a warning.
func (c *compilation) fill() error {
	if err := c.room(); err != nil {
		return err
	}
	for _, name := range c.names {
		c.policy[name] = true
	}
	for i, g := range c.groups {
		list := g.items.Find(g.at, g.key)
		if list < 0 {
			continue
		}
		for place, at := range elements(g.items, list) {
			name, _ := g.items.Scalar(at)
			if c.trims {
				name = strings.TrimSpace(name)
			}
			switch {
			case name == nodesMember:
				g.members = slices.Grow(g.members, len(c.names))
				for _, n := range c.names {
					g.members = append(g.members, member{n, place})
				}
			case c.policy[name]:
				g.members = append(g.members, member{name, place})
			default:
				c.warn(sandrone.WarnReferenceUnknown, fmt.Sprintf("group %q: the member %q names nothing in this file and is left out", clip(g.name), clip(name)), pointer(groupsKey, i, g.key, place))
			}
		}
	}
	c.breakCycles()
	return nil
}

// breakCycles leaves out the members by which groups would contain themselves.
func (c *compilation) breakCycles() {
	circles(c.groups, func(i int, m member) error {
		c.warn(sandrone.WarnGroupCycle, fmt.Sprintf("group %q: by the member %q it would contain itself; the member is left out", clip(c.groups[i].name), clip(m.name)), pointer(groupsKey, i, c.groups[i].key, m.place))
		return nil
	})
}

// circles takes out the members by which groups would contain themselves,
// straight or by others. found is told of each; an error of it ends the search.
func circles(groups []*group, found func(i int, m member) error) error {
	byName := make(map[string]int, len(groups))
	for i, g := range groups {
		byName[g.name] = i
	}
	const (
		onWay = 1
		done  = 2
	)
	state := make([]uint8, len(groups))
	var walk func(i int) error
	walk = func(i int) error {
		state[i] = onWay
		g := groups[i]
		kept := g.members[:0]
		for _, m := range g.members {
			next, isGroup := byName[m.name]
			switch {
			case !isGroup || state[next] == done:
			case state[next] == onWay:
				if err := found(i, m); err != nil {
					return err
				}
				continue
			default:
				if err := walk(next); err != nil {
					return err
				}
			}
			kept = append(kept, m)
		}
		g.members = kept
		state[i] = done
		return nil
	}
	for i := range groups {
		if state[i] == 0 {
			if err := walk(i); err != nil {
				return err
			}
		}
	}
	return nil
}

// notEmpty gives a group without members one that leads out directly.
func (c *compilation) notEmpty(i int, direct string) {
	g := c.groups[i]
	g.members = append(g.members, member{direct, 0})
	c.warn(sandrone.WarnGroupEmpty, fmt.Sprintf("group %q has no members; %s takes their place", clip(g.name), direct), pointer(groupsKey, i))
}

// unknownRule notes a rule that is left out, because there is no what of the
// name.
func (c *compilation) unknownRule(i int, what, name string) {
	c.warn(sandrone.WarnReferenceUnknown, fmt.Sprintf("the rule names the %s %q, which is not in this file; the rule is left out", what, clip(name)), pointer(rulesKey, i))
}

// unreachable notes a rule behind one that matches everything.
func (c *compilation) unreachable(i int) {
	c.warn(sandrone.WarnRuleUnreachable, "a rule before this one matches everything", pointer(rulesKey, i))
}

// badBase is the error for a base that is no document of the kind.
func (c *compilation) badBase(why string) error {
	return sandrone.Errorf(sandrone.InvalidArgument, "the base document %s", why).At("source")
}

// isBlank tells that a document has nothing in it.
func isBlank(text string) bool { return strings.Trim(text, " \t\r\n\ufeff") == "" }
