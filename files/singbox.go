package files

import (
	"fmt"
	"maps"
	"slices"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert/doc"
)

// singbox makes the JSON files of sing-box.
// https://sing-box.sagernet.org/configuration/
type singbox struct{}

func (singbox) adaptive() bool { return false }

func (singbox) check(s *settings) error {
	tags := map[string]bool{}
	err := s.each(groupsKey, doc.Map, func(i int, path string) error {
		if _, err := s.named(i, path, "tag", tags); err != nil {
			return err
		}
		if err := s.strings(i, path, "outbounds"); err != nil {
			return err
		}
		return s.strings(i, path, "proxies")
	})
	if err != nil {
		return err
	}
	tags = map[string]bool{}
	err = s.each(ruleSetsKey, doc.Map, func(i int, path string) error {
		// From 1.14 on one entry may stand for several sets, with a list of tags.
		tag := s.items.Find(i, "tag")
		if tag < 0 || s.items[tag].Kind != doc.List {
			_, err := s.named(i, path, "tag", tags)
			return err
		}
		path = below(path, "tag")
		return s.elements(tag, path, doc.Str, func(i int, path string) error {
			name := s.items[i].Text
			if tags[name] {
				return s.fail(path, " is duplicated")
			}
			tags[name] = true
			return nil
		})
	})
	if err != nil {
		return err
	}
	return s.each(rulesKey, doc.Map, nil)
}

func (singbox) base(string) string {
	return `{
  "log": {
    "level": "info"
  },
  "inbounds": [],
  "outbounds": [],
  "route": {
    "rule_set": [],
    "rules": []
  }
}
`
}

// The outbounds that every file has besides groups and nodes.
const (
	singboxDirect = "direct"
	singboxBlock  = "block"
)

// The defaults are the same for all versions: rule actions came with 1.11, in
// which a rule with an outbound is as good as later, and block is an outbound
// that none of the versions refuses.
func (singbox) defaults(_ string, nodes bool) string {
	groups := `[{"type":"selector","tag":"Proxy","outbounds":["direct"]}]`
	if nodes {
		groups = `[{"type":"selector","tag":"Proxy","outbounds":["Auto","Fallback","$nodes","direct"],"default":"Auto"},` +
			`{"type":"urltest","tag":"Auto","outbounds":["$nodes"],"url":"` + testURL + `","interval":"5m"},` +
			`{"type":"selector","tag":"Fallback","outbounds":["$nodes"]}]`
	}
	return `{"groups":` + groups + `,"rule_sets":[` +
		`{"type":"inline","tag":"private","rules":[{"domain_suffix":["local"]},{"ip_cidr":["10.0.0.0/8","172.16.0.0/12","192.168.0.0/16"]}]},` +
		`{"type":"inline","tag":"reject","rules":[{"domain_suffix":["invalid"]}]}],` +
		`"rules":[{"rule_set":["private"],"outbound":"direct"},{"rule_set":["reject"],"outbound":"block"},` +
		`{"ip_is_private":true,"outbound":"direct"},{"outbound":"Proxy"}]}`
}

func (s singbox) compile(c *compilation) error {
	base, err := s.read(c)
	if err != nil {
		return err
	}
	c.readGroups("tag", "outbounds")
	for _, own := range []string{singboxDirect, singboxBlock} {
		c.policy[own] = true
	}
	kept := tags(base, "endpoints")
	if err := c.render(slices.Concat([]string{singboxDirect, singboxBlock}, c.groupNames(), kept)); err != nil {
		return err
	}
	nodes, err := s.nodes(c)
	if err != nil {
		return err
	}
	if len(nodes.endpoints) == 0 { // those of the base stay
		for _, tag := range kept {
			c.policy[tag] = true
		}
	}
	for _, tag := range nodes.seconds {
		c.policy[tag] = true
	}
	if err := c.fill(); err != nil {
		return err
	}
	outbounds := s.outbounds(c, nodes)
	sets, known := s.ruleSets(c)
	rules := s.rules(c, known)
	return s.write(c, base, nodes, outbounds, sets, rules)
}

// read reads the document that is compiled into.
func (singbox) read(c *compilation) (doc.Items, error) {
	blank := doc.Items{{Kind: doc.Map, End: 1}}
	if isBlank(c.base) {
		return blank, nil
	}
	base, err := doc.ReadJSON(nil, c.base)
	if err != nil {
		return nil, c.badBase("cannot be read as JSON: " + err.Error())
	}
	if base[0].Kind != doc.Map {
		return nil, c.badBase("is no object")
	}
	if i := base.Find(0, "route"); i >= 0 && base[i].Kind != doc.Map && base[i].Kind != doc.Null {
		return nil, c.badBase("has a route that is no object")
	}
	return base, nil
}

// tags are the tags of the objects in a top-level list.
func tags(d doc.Items, key string) []string {
	list := d.Find(0, key)
	if list < 0 || d[list].Kind != doc.List {
		return nil
	}
	var all []string
	for _, at := range elements(d, list) {
		if tag := text(d, at, "tag"); tag != "" {
			all = append(all, tag)
		}
	}
	return all
}

// singboxNodes are the rendered nodes as entries of the lists of a file, each
// behind a line break, with commas between them.
type singboxNodes struct {
	outbounds, endpoints []byte
	seconds              []string // tags of outbounds that nodes need and are none
}

// nodes takes the rendered nodes apart and sets their names, outbounds before
// endpoints.
func (singbox) nodes(c *compilation) (singboxNodes, error) {
	written := make(map[string]bool, c.out.Nodes.Count)
	for _, name := range c.out.Nodes.Names {
		written[name] = name != ""
	}
	var n singboxNodes
	var endpoints []string
	body := c.body()
	n.outbounds = make([]byte, 0, len(body))
	_, err := doc.EachJSON(string(body), []string{"outbounds", "endpoints"}, func(key string, e doc.Items) error {
		tag := text(e, 0, "tag")
		if key == "endpoints" {
			n.endpoints = appendEntry(n.endpoints, e, 0)
			endpoints = append(endpoints, tag)
			return nil
		}
		n.outbounds = appendEntry(n.outbounds, e, 0)
		if written[tag] {
			c.names = append(c.names, tag)
		} else {
			n.seconds = append(n.seconds, tag)
		}
		return nil
	})
	c.names = append(c.names, endpoints...)
	return n, err
}

// appendEntry appends an element of a list that stands at the top level.
func appendEntry(b []byte, d doc.Items, i int) []byte { return appendElement(b, d, i, 2) }

// appendElement appends the element of a list, whose elements stand depth
// levels deep.
func appendElement(b []byte, d doc.Items, i, depth int) []byte {
	if len(b) > 0 {
		b = append(b, ',')
	}
	b = appendLine(b, depth)
	return doc.AppendJSONIndent(b, d, i, depth)
}

func appendLine(b []byte, depth int) []byte {
	b = append(b, '\n')
	for range depth {
		b = append(b, "  "...)
	}
	return b
}

// outbounds writes the groups, the ways that every file has, and the nodes.
func (s singbox) outbounds(c *compilation, nodes singboxNodes) []byte {
	b := make([]byte, 0, len(nodes.outbounds)+1<<10)
	for i := range c.groups {
		b = s.group(c, b, i)
	}
	for _, own := range []string{singboxDirect, singboxBlock} {
		if slices.ContainsFunc(c.groups, func(g *group) bool { return g.name == own }) {
			continue // the settings have one with options
		}
		var out doc.Items
		root := out.Open("", doc.Map)
		out.AddStr("type", own)
		out.AddStr("tag", own)
		out.Close(root)
		b = appendEntry(b, out, 0)
	}
	if len(nodes.outbounds) > 0 {
		b = append(append(b, ','), nodes.outbounds...)
	}
	return b
}

// isGroup tells the outbounds that have members from those that the settings
// have besides.
func isGroup(kind string) bool { return kind == "selector" || kind == "urltest" }

func (singbox) group(c *compilation, b []byte, index int) []byte {
	g := c.groups[index]
	if isGroup(text(g.items, g.at, "type")) && len(g.members) == 0 {
		c.notEmpty(index, singboxDirect)
	}
	var out doc.Items
	root := out.Open("", doc.Map)
	missing := len(g.members) > 0
	add := func(key string) {
		missing = false
		list := out.Open(key, doc.List)
		for _, m := range g.members {
			out.AddStr("", m.name)
		}
		out.Close(list)
	}
	for i := g.at + 1; i < g.items.Next(g.at); i = g.items.Next(i) {
		key := g.items[i].Key
		if g.items.Find(g.at, key) != i {
			continue // a later one counts
		}
		switch {
		case key == g.key:
			add(key)
		case key == "proxies":
			list := out.Open(key, doc.List)
			for _, at := range elements(g.items, i) {
				if name := g.items[at].Text; name != nodesMember {
					out.AddStr("", name)
					continue
				}
				for _, name := range c.names {
					out.AddStr("", name)
				}
			}
			out.Close(list)
		case key == "default" && !g.has(g.items[i].Text):
			c.warn(sandrone.WarnReferenceUnknown, "the default of the group is none of its members and is left out", pointer(groupsKey, index, key))
		default:
			out.AddTree(key, g.items, i)
		}
	}
	if missing {
		add(g.key)
	}
	out.Close(root)
	return appendEntry(b, out, 0)
}

func (g *group) has(name string) bool {
	return slices.ContainsFunc(g.members, func(m member) bool { return m.name == name })
}

// ruleSets writes the rule sets and returns their tags.
func (singbox) ruleSets(c *compilation) ([]byte, map[string]bool) {
	items, list := c.part(ruleSetsKey)
	known := map[string]bool{}
	var b []byte
	for _, at := range elements(items, list) {
		if i := items.Find(at, "tag"); i >= 0 {
			names, _ := items.Strings(i)
			for _, name := range names {
				known[name] = true
			}
		}
		b = appendElement(b, items, at, 3)
	}
	return b, known
}

// rules writes the rules that lead somewhere.
func (s singbox) rules(c *compilation, sets map[string]bool) []byte {
	items, list := c.part(rulesKey)
	var b []byte
	matched := false
	for i, at := range elements(items, list) {
		if matched {
			c.unreachable(i)
		}
		if to := items.Find(at, "outbound"); to >= 0 && !c.policy[items[to].Text] {
			c.unknownRule(i, "outbound", items[to].Text)
			continue
		}
		if set, ok := unknownSet(items, at, sets); ok {
			c.unknownRule(i, "rule set", set)
			continue
		}
		matched = matched || matchesAll(items, at)
		b = appendElement(b, items, at, 3)
	}
	return b
}

// unknownSet returns the tag of a rule set that a rule, or one inside of it,
// asks for and that is not there.
func unknownSet(d doc.Items, rule int, sets map[string]bool) (string, bool) {
	if i := d.Find(rule, "rule_set"); i >= 0 {
		names, _ := d.Strings(i)
		for _, name := range names {
			if !sets[name] {
				return name, true
			}
		}
	}
	if i := d.Find(rule, "rules"); i >= 0 && d[i].Kind == doc.List {
		for _, at := range elements(d, i) {
			if name, ok := unknownSet(d, at, sets); ok {
				return name, true
			}
		}
	}
	return "", false
}

// singboxFinal are the actions after which no other rule is asked, with the
// members that belong to them and are no conditions.
var singboxFinal = map[string][]string{
	"":           {"outbound"},
	"route":      {"outbound"},
	"reject":     {"method", "no_drop"},
	"hijack-dns": nil,
}

// routeOptions are members of a rule that goes somewhere and says how.
var routeOptions = []string{
	"override_address", "override_port", "network_strategy", "network_type", "fallback_network_type", "fallback_delay",
	"udp_disable_domain_unmapping", "udp_connect", "udp_timeout", "tls_fragment", "tls_fragment_fallback_delay", "tls_record_fragment",
}

// matchesAll reports whether a rule has no condition and ends the search.
func matchesAll(d doc.Items, rule int) bool {
	own, final := singboxFinal[text(d, rule, "action")]
	if !final {
		return false
	}
	for i := rule + 1; i < d.Next(rule); i = d.Next(i) {
		key := d[i].Key
		if key == "action" || slices.Contains(own, key) || own != nil && own[0] == "outbound" && slices.Contains(routeOptions, key) {
			continue
		}
		return false
	}
	return true
}

// write puts the parts into the base, in which all else stays in its order.
func (s singbox) write(c *compilation, base doc.Items, nodes singboxNodes, outbounds, sets, rules []byte) error {
	w := &objectWriter{base: base}
	final := s.final(c, base)
	w.open()
	w.members(0, 1, func(i int, key string) bool {
		switch {
		case key == "outbounds":
			w.list(key, 1, outbounds)
		case key == "endpoints" && len(nodes.endpoints) > 0:
			w.list(key, 1, nodes.endpoints)
		case key == "route":
			w.route(i, final, sets, rules)
		default:
			return false
		}
		return true
	})
	if !w.done["outbounds"] {
		w.list("outbounds", 1, outbounds)
	}
	if !w.done["endpoints"] && len(nodes.endpoints) > 0 {
		w.list("endpoints", 1, nodes.endpoints)
	}
	if !w.done["route"] {
		w.route(-1, final, sets, rules)
	}
	w.close(0)
	c.out.Content = string(append(w.b, '\n'))
	return nil
}

// final is where what no rule takes goes. The client does not start with one
// that is not there.
func (singbox) final(c *compilation, base doc.Items) string {
	if route := base.Find(0, "route"); route >= 0 {
		switch name := text(base, route, "final"); {
		case name == "":
		case c.policy[name]:
			return name
		default:
			c.warn(sandrone.WarnReferenceUnknown, "route.final of the base names nothing in this file and is replaced", "/route/final")
		}
	}
	switch {
	case c.policy["Proxy"]:
		return "Proxy"
	case len(c.groups) > 0:
		return c.groups[0].name
	}
	return singboxDirect
}

// objectWriter prints an object with some of its members replaced.
type objectWriter struct {
	b     []byte
	base  doc.Items
	first bool
	done  map[string]bool // top-level members that were written
}

func (w *objectWriter) open() {
	w.b = append(w.b, '{')
	w.first, w.done = true, map[string]bool{}
}

func (w *objectWriter) close(depth int) {
	if !w.first {
		w.b = appendLine(w.b, depth)
	}
	w.b = append(w.b, '}')
	w.first = false
}

// key begins a member.
func (w *objectWriter) key(key string, depth int) {
	if !w.first {
		w.b = append(w.b, ',')
	}
	w.first = false
	w.b = appendLine(w.b, depth)
	w.b = doc.AppendJSON(w.b, doc.Items{{Kind: doc.Str, Text: key, End: 1}}, 0)
	w.b = append(w.b, ": "...)
	if depth == 1 {
		w.done[key] = true
	}
}

// members prints the members of a map of the base; those that write takes are
// its own business. Of a repeated one the last counts.
func (w *objectWriter) members(at, depth int, write func(i int, key string) bool) {
	for i := at + 1; i < w.base.Next(at); i = w.base.Next(i) {
		key := w.base[i].Key
		if w.base.Find(at, key) != i || write(i, key) {
			continue
		}
		w.key(key, depth)
		w.b = doc.AppendJSONIndent(w.b, w.base, i, depth)
	}
}

// list prints a list of entries.
func (w *objectWriter) list(key string, depth int, entries []byte) {
	w.key(key, depth)
	w.b = append(append(w.b, '['), entries...)
	if len(entries) > 0 {
		w.b = appendLine(w.b, depth)
	}
	w.b = append(w.b, ']')
}

// route prints the route; at is that of the base or negative.
func (w *objectWriter) route(at int, final string, sets, rules []byte) {
	w.key("route", 1)
	w.b = append(w.b, '{')
	w.first = true
	written := map[string]bool{}
	put := func(key string) bool {
		switch key {
		case "rule_set":
			w.list(key, 2, sets)
		case "rules":
			w.list(key, 2, rules)
		case "final":
			w.key(key, 2)
			w.b = doc.AppendJSON(w.b, doc.Items{{Kind: doc.Str, Text: final, End: 1}}, 0)
		default:
			return false
		}
		written[key] = true
		return true
	}
	if at >= 0 && w.base[at].Kind == doc.Map {
		w.members(at, 2, func(_ int, key string) bool { return put(key) })
	}
	for _, key := range []string{"rule_set", "rules", "final"} {
		if !written[key] {
			put(key)
		}
	}
	w.close(1)
}

// noNode are the outbounds of a file that are no nodes.
var noNode = map[string]bool{"selector": true, "urltest": true, "direct": true, "block": true, "dns": true}

// addNodes keeps groups and the like in their places and puts nodes in front of
// the first node or behind the last entry. Endpoints are replaced only by
// endpoints, since some of them are no nodes.
func (s singbox) addNodes(c *compilation, position string) error {
	base, err := s.read(c)
	if err != nil {
		return err
	}
	taken, lost := map[string]bool{}, gone{}
	node := func(at int) bool { return !noNode[text(base, at, "type")] }
	list := base.Find(0, "outbounds")
	var entries []int
	if list >= 0 && base[list].Kind == doc.List {
		entries = elements(base, list)
	}
	for _, at := range entries {
		if tag := text(base, at, "tag"); position == Replace && node(at) {
			lost[tag] = true
		} else {
			taken[tag] = true
		}
	}
	kept := tags(base, "endpoints")
	for _, tag := range kept {
		taken[tag] = true
	}
	if err := c.render(slices.Sorted(maps.Keys(taken))); err != nil {
		return err
	}
	nodes, err := s.nodes(c)
	if err != nil {
		return err
	}
	hasNew := len(nodes.endpoints) > 0
	if position == Replace && hasNew {
		for _, tag := range kept {
			lost[tag] = true
		}
	}
	lost.without(slices.Concat(c.names, nodes.seconds))
	release := s.releasing(c, base, entries, lost)
	var outbounds []byte
	put := func() {
		if len(outbounds) > 0 && len(nodes.outbounds) > 0 {
			outbounds = append(outbounds, ',')
		}
		outbounds = append(outbounds, nodes.outbounds...)
		nodes.outbounds = nil
	}
	for i, at := range entries {
		if node(at) && position != Back {
			put()
		}
		if node(at) && position == Replace {
			continue
		}
		outbounds = release.outbound(outbounds, i, at)
	}
	outbounds = append(outbounds, release.own...)
	put()
	var endpoints []byte
	if i := base.Find(0, "endpoints"); i >= 0 && base[i].Kind == doc.List && position != Replace {
		for _, at := range elements(base, i) {
			endpoints = appendEntry(endpoints, base, at)
		}
	}
	if len(endpoints) > 0 && len(nodes.endpoints) > 0 {
		if position == Front {
			endpoints, nodes.endpoints = nodes.endpoints, endpoints
		}
		endpoints = append(endpoints, ',')
	}
	endpoints = append(endpoints, nodes.endpoints...)
	w := &objectWriter{base: base}
	w.open()
	w.members(0, 1, func(i int, key string) bool {
		switch {
		case key == "outbounds":
			w.list(key, 1, outbounds)
		case key == "endpoints" && hasNew:
			w.list(key, 1, endpoints)
		case key == "route" && base[i].Kind == doc.Map && len(lost) > 0:
			release.route(w, i)
		case key == "dns" && base[i].Kind == doc.Map && len(lost) > 0:
			release.dns(w, i)
		default:
			return false
		}
		return true
	})
	if !w.done["outbounds"] {
		w.list("outbounds", 1, outbounds)
	}
	if !w.done["endpoints"] && hasNew {
		w.list("endpoints", 1, endpoints)
	}
	w.close(0)
	c.out.Content = string(append(w.b, '\n'))
	return nil
}

// singboxRelease writes the parts of a file that name nodes which are lost.
type singboxRelease struct {
	c      *compilation
	base   doc.Items
	lost   gone
	direct string // the outbound that leads out directly
	final  string // the group that takes the place of a lost node where there must be one
	own    []byte // the direct outbound, if a group needs one and there is none
}

func (singbox) releasing(c *compilation, base doc.Items, entries []int, lost gone) *singboxRelease {
	r := &singboxRelease{c: c, base: base, lost: lost}
	for _, at := range entries {
		switch kind, tag := text(base, at, "type"), text(base, at, "tag"); {
		case kind == "direct" && r.direct == "":
			r.direct = tag
		case isGroup(kind) && (r.final == "" || tag == "Proxy"):
			r.final = tag
		}
	}
	return r
}

// way is the outbound that leads out directly, which is made where it is not.
func (r *singboxRelease) way() string {
	if r.direct == "" {
		r.direct = singboxDirect
		var out doc.Items
		root := out.Open("", doc.Map)
		out.AddStr("type", "direct")
		out.AddStr("tag", r.direct)
		out.Close(root)
		r.own = appendEntry([]byte{','}, out, 0)[1:]
	}
	return r.direct
}

// outbound appends the outbound that stands at a place of the list.
func (r *singboxRelease) outbound(b []byte, place, at int) []byte {
	list := r.base.Find(at, "outbounds")
	if !isGroup(text(r.base, at, "type")) || list < 0 || r.base[list].Kind != doc.List ||
		!slices.ContainsFunc(elements(r.base, list), func(i int) bool { return r.lost[r.base[i].Text] }) {
		return appendEntry(b, r.base, at)
	}
	name, path := text(r.base, at, "tag"), pointer("outbounds", place)
	count, left := 0, 0
	var out doc.Items
	root := out.Open("", doc.Map)
	for i := at + 1; i < r.base.Next(at); i = r.base.Next(i) {
		key := r.base[i].Key
		switch {
		case r.base.Find(at, key) != i: // a later one counts
		case key == "default" && r.lost[r.base[i].Text]:
		case key == "outbounds":
			members := out.Open(key, doc.List)
			for _, m := range elements(r.base, i) {
				if r.lost[r.base[m].Text] {
					count++
					continue
				}
				out.AddTree("", r.base, m)
				left++
			}
			if left == 0 {
				out.AddStr("", r.way())
				r.c.emptied(name, r.way(), path)
			}
			out.Close(members)
		default:
			out.AddTree(key, r.base, i)
		}
	}
	out.Close(root)
	r.c.leftOut(name, count, path)
	return appendEntry(b, out, 0)
}

// route prints the route of the file.
func (r *singboxRelease) route(w *objectWriter, at int) {
	w.key("route", 1)
	w.b = append(w.b, '{')
	w.first = true
	w.members(at, 2, func(i int, key string) bool {
		switch {
		case key == "rules" && r.base[i].Kind == doc.List:
			var rules []byte
			for n, rule := range elements(r.base, i) {
				if to := text(r.base, rule, "outbound"); r.lost[to] {
					r.c.lostRule(to, pointer("route", "rules", n))
					continue
				}
				rules = appendElement(rules, r.base, rule, 3)
			}
			w.list(key, 2, rules)
		case key == "rule_set" && r.base[i].Kind == doc.List:
			w.list(key, 2, r.detours(i, "download_detour", "route", key))
		case key == "final" && r.lost[r.base[i].Text]:
			r.c.warn(sandrone.WarnReferenceUnknown, "route.final is a node that is no longer in this file and is replaced", "/route/final")
			if r.final == "" {
				r.final = r.direct
			}
			if r.final == "" {
				return true // the client takes its first outbound
			}
			w.key(key, 2)
			w.b = doc.AppendJSON(w.b, doc.Items{{Kind: doc.Str, Text: r.final, End: 1}}, 0)
		default:
			return false
		}
		return true
	})
	w.close(1)
}

// dns prints the DNS of the file.
func (r *singboxRelease) dns(w *objectWriter, at int) {
	w.key("dns", 1)
	w.b = append(w.b, '{')
	w.first = true
	w.members(at, 2, func(i int, key string) bool {
		if key != "servers" || r.base[i].Kind != doc.List {
			return false
		}
		w.list(key, 2, r.detours(i, "detour", "dns", key))
		return true
	})
	w.close(1)
}

// detours prints the elements of a list. One that is reached by a lost node is
// reached by a group from now on.
func (r *singboxRelease) detours(list int, by string, path ...any) []byte {
	var b []byte
	for n, at := range elements(r.base, list) {
		way := text(r.base, at, by)
		if !r.lost[way] {
			b = appendElement(b, r.base, at, 3)
			continue
		}
		r.c.warn(sandrone.WarnReferenceUnknown, fmt.Sprintf("the %s is the node %q, which is no longer in this file; %q takes its place", by, clip(way), clip(r.final)), pointer(append(path, n, by)...))
		var out doc.Items
		root := out.Open("", doc.Map)
		for i := at + 1; i < r.base.Next(at); i = r.base.Next(i) {
			switch key := r.base[i].Key; {
			case r.base.Find(at, key) != i: // a later one counts
			case key != by:
				out.AddTree(key, r.base, i)
			case r.final != "":
				out.AddStr(by, r.final)
			}
		}
		out.Close(root)
		b = appendElement(b, out, 0, 3)
	}
	return b
}
