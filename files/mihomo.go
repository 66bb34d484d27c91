package files

import (
	"maps"
	"slices"
	"strings"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert/doc"
)

// mihomo makes the YAML files of mihomo.
// https://wiki.metacubex.one/en/config/
type mihomo struct{}

func (mihomo) adaptive() bool { return true }

func (mihomo) check(s *settings) error {
	names := map[string]bool{}
	err := s.each(groupsKey, doc.Map, func(i int, path string) error {
		name, err := s.named(i, path, "name", names)
		if err != nil {
			return err
		}
		if slices.Contains(mihomoPolicies, name) {
			return s.fail(below(path, "name"), " is the name of a built-in policy")
		}
		if err := s.strings(i, path, "proxies"); err != nil {
			return err
		}
		return s.strings(i, path, "use")
	})
	if err != nil {
		return err
	}
	names = map[string]bool{}
	err = s.each(ruleSetsKey, doc.Map, func(i int, path string) error {
		_, err := s.named(i, path, "name", names)
		return err
	})
	if err != nil {
		return err
	}
	if err := s.each(rulesKey, doc.Str, nil); err != nil {
		return err
	}
	if i := s.items.Find(0, adaptiveKey); i >= 0 {
		for j := i + 1; j < s.items.Next(i); j = s.items.Next(j) {
			if key := s.items[j].Key; key != "type" && key != "regions" {
				return s.fail(below(adaptiveKey, clip(key)), ": unknown field")
			}
		}
	}
	return nil
}

func (mihomo) base(string) string {
	return `mixed-port: 7890
allow-lan: false
mode: rule
log-level: info
proxies: []
proxy-groups: []
rule-providers: {}
rules: []
`
}

// testURL is what the default groups ask to see which node is alive. It answers
// anywhere with an empty 204.
const testURL = "https://cp.cloudflare.com"

// defaults leave the test groups out where there are no nodes, since the client
// refuses empty ones.
func (mihomo) defaults(_ string, nodes bool) string {
	groups := `[{"name":"Proxy","type":"select","proxies":["DIRECT"]}]`
	if nodes {
		groups = `[{"name":"Proxy","type":"select","proxies":["Auto","Fallback","$nodes","DIRECT"]},` +
			`{"name":"Auto","type":"url-test","proxies":["$nodes"],"url":"` + testURL + `","interval":300},` +
			`{"name":"Fallback","type":"fallback","proxies":["$nodes"],"url":"` + testURL + `","interval":300}]`
	}
	return `{"groups":` + groups + `,"rule_sets":[` +
		`{"name":"private","type":"inline","behavior":"classical","payload":["DOMAIN-SUFFIX,local","IP-CIDR,10.0.0.0/8,no-resolve","IP-CIDR,172.16.0.0/12,no-resolve","IP-CIDR,192.168.0.0/16,no-resolve"]},` +
		`{"name":"reject","type":"inline","behavior":"classical","payload":["DOMAIN-SUFFIX,invalid"]}],` +
		`"rules":["RULE-SET,private,DIRECT","RULE-SET,reject,REJECT","GEOIP,CN,DIRECT","MATCH,Proxy"]}`
}

// mihomoPolicies are the client's own. GLOBAL is made from all others, unless a
// group has that name; rules may name it and groups may not.
var mihomoPolicies = []string{"DIRECT", "REJECT", "REJECT-DROP", "COMPATIBLE", "PASS", "PASS-RULE"}

const mihomoGlobal = "GLOBAL"

// mihomoKeys are the members of a file that are the compiler's.
var mihomoKeys = []string{"proxies", "proxy-groups", "rule-providers", "rules"}

func (m mihomo) compile(c *compilation) error {
	base, err := m.read(c)
	if err != nil {
		return err
	}
	c.readGroups("name", "proxies")
	if err := c.render(c.groupNames()); err != nil {
		return err
	}
	c.names = c.written()
	for _, p := range mihomoPolicies {
		c.policy[p] = true
	}
	if err := c.fill(); err != nil {
		return err
	}
	providers := keys(base, "proxy-providers")
	groups := []byte("proxy-groups:\n")
	for i := range c.groups {
		groups = m.group(c, groups, i, providers)
	}
	if len(c.groups) == 0 {
		groups = []byte("proxy-groups: []\n")
	}
	sets, known := m.ruleSets(c)
	c.policy[mihomoGlobal] = true
	rules := m.rules(c, known, keys(base, subRulesKey))
	c.out.Content, err = doc.ReplaceYAML(c.base, []doc.Member{
		{Key: mihomoKeys[0], Text: c.body()}, {Key: mihomoKeys[1], Text: groups},
		{Key: mihomoKeys[2], Text: sets}, {Key: mihomoKeys[3], Text: rules},
	})
	if err != nil {
		return c.badBase("cannot be read as YAML: " + err.Error())
	}
	return nil
}

// read reads the base, of which only the owned parts are changed.
func (mihomo) read(c *compilation) (doc.Items, error) {
	base, err := doc.ReadYAML(nil, c.base)
	if err != nil {
		return nil, c.badBase("cannot be read as YAML: " + err.Error())
	}
	switch base[0].Kind {
	case doc.Map:
	case doc.Null:
		base = doc.Items{{Kind: doc.Map, End: 1}}
	default:
		return nil, c.badBase("is no mapping")
	}
	return base, nil
}

// keys are the members of the map under a top-level key.
func keys(d doc.Items, key string) map[string]bool {
	found := map[string]bool{}
	if i := d.Find(0, key); i >= 0 && d[i].Kind == doc.Map {
		for j := i + 1; j < d.Next(i); j = d.Next(j) {
			found[d[j].Key] = true
		}
	}
	return found
}

// group appends a group in block style, its members one on a line.
func (m mihomo) group(c *compilation, b []byte, index int, providers map[string]bool) []byte {
	g := c.groups[index]
	uses, dropped := m.uses(c, index, providers)
	if len(g.members) == 0 && len(uses) == 0 && !m.includesAll(g, providers) {
		c.notEmpty(index, "DIRECT")
	}
	first := true
	line := func() {
		if first {
			b = append(b, "  - "...)
		} else {
			b = append(b, "    "...)
		}
		first = false
	}
	var one doc.Items
	members := func(key string, names []string) {
		line()
		one = one[:0]
		root := one.Open("", doc.Map)
		one.AddStrings(key, names)
		one.Close(root)
		if len(names) == 0 {
			b = doc.AppendYAMLMember(b, one, root+1, 4)
			return
		}
		b = append(append(b, key...), ":\n"...)
		for i := root + 2; i < len(one); i++ {
			b = doc.AppendYAMLList(b, one, i, 6)
		}
	}
	names := make([]string, len(g.members))
	for i, m := range g.members {
		names[i] = m.name
	}
	for i := g.at + 1; i < g.items.Next(g.at); i = g.items.Next(i) {
		key := g.items[i].Key
		if g.items.Find(g.at, key) != i {
			continue // a later one counts
		}
		switch {
		case key == "proxies":
			members(key, names)
			names = nil
		case key == "use" && dropped:
			members(key, uses)
		case key == "empty-fallback" && !slices.Contains(mihomoPolicies, g.items[i].Text) && !slices.Contains(c.names, g.items[i].Text):
			c.warn(sandrone.WarnReferenceUnknown, "the policy of an empty group names nothing in this file and is left out", pointer(groupsKey, index, key))
		default:
			line()
			b = doc.AppendYAMLMember(b, g.items, i, 4)
		}
	}
	if len(names) > 0 {
		members("proxies", names)
	}
	return b
}

// uses are the proxy providers that a group takes and that are there.
func (mihomo) uses(c *compilation, index int, providers map[string]bool) (kept []string, dropped bool) {
	g := c.groups[index]
	list := g.items.Find(g.at, "use")
	if list < 0 {
		return nil, false
	}
	for place, at := range elements(g.items, list) {
		if name := g.items[at].Text; providers[name] {
			kept = append(kept, name)
			continue
		}
		dropped = true
		c.warn(sandrone.WarnReferenceUnknown, "the group uses a proxy provider that is not in this file and is left out", pointer(groupsKey, index, "use", place))
	}
	return kept, dropped
}

// includesAll reports whether the client fills the group by itself.
func (mihomo) includesAll(g *group, providers map[string]bool) bool {
	on := func(key string) bool { return text(g.items, g.at, key) == "true" }
	return on("include-all") || on("include-all-proxies") || on("include-all-providers") && len(providers) > 0
}

// ruleSets writes the rule providers and returns their names.
func (mihomo) ruleSets(c *compilation) ([]byte, map[string]bool) {
	items, list := c.part(ruleSetsKey)
	known := map[string]bool{}
	var out doc.Items
	root := out.Open("", doc.Map)
	sets := out.Open("rule-providers", doc.Map)
	for _, at := range elements(items, list) {
		name := strings.TrimSpace(text(items, at, "name"))
		known[name] = true
		set := out.Open(name, doc.Map)
		for i := at + 1; i < items.Next(at); i = items.Next(i) {
			if key := items[i].Key; key != "name" && items.Find(at, key) == i {
				out.AddTree(key, items, i)
			}
		}
		out.Close(set)
	}
	out.Close(sets)
	out.Close(root)
	return doc.AppendYAMLMember(nil, out, sets, 0), known
}

// rules writes the rules that lead somewhere.
func (m mihomo) rules(c *compilation, sets, subRules map[string]bool) []byte {
	items, list := c.part(rulesKey)
	b := []byte("rules:\n")
	none := true
	matched := false
	for i, at := range elements(items, list) {
		r := readMihomoRule(items[at].Text)
		if matched {
			c.unreachable(i)
		}
		switch set := r.unknownSet(sets); {
		case r.kind == "SUB-RULE" && !subRules[r.policy]:
			c.unknownRule(i, "sub-rule", r.policy)
			continue
		case r.kind != "SUB-RULE" && !c.policy[r.policy]:
			c.unknownRule(i, "policy", r.policy)
			continue
		case set != "":
			c.unknownRule(i, "rule set", set)
			continue
		}
		matched = matched || r.kind == "MATCH"
		if plainRule(items[at].Text) {
			b = append(append(append(b, "  - "...), items[at].Text...), '\n')
		} else {
			b = doc.AppendYAMLList(b, items, at, 2)
		}
		none = false
	}
	if none {
		return []byte("rules: []\n")
	}
	return b
}

// plainRule tells that a rule needs no quotes where nothing but a line break
// ends it, for which it is written as everybody does: it begins with a letter,
// has a comma, and nothing that YAML could take for its own.
func plainRule(s string) bool {
	return s != "" && ('A' <= s[0] && s[0] <= 'Z') && strings.Contains(s, ",") && !strings.ContainsFunc(s, func(r rune) bool {
		return !('A' <= r && r <= 'Z' || 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || strings.ContainsRune(",./_-", r))
	})
}

// mihomoRule is a line of rules, taken apart as the client does it.
type mihomoRule struct{ kind, payload, policy string }

func readMihomoRule(line string) mihomoRule {
	parts := strings.Split(line, ",")
	for i := range parts {
		parts[i] = strings.Trim(parts[i], " ")
	}
	r := mihomoRule{kind: strings.ToUpper(parts[0])}
	last := len(parts) - 1
	if last == 0 {
		return r
	}
	switch r.kind {
	case "MATCH":
		r.policy = parts[1]
	case "NOT", "OR", "AND", "SUB-RULE", "DOMAIN-REGEX", "PROCESS-NAME-REGEX", "PROCESS-PATH-REGEX":
		// A comma may stand in what these match, and nothing behind the policy.
		r.policy, r.payload = parts[last], strings.Join(parts[1:last], ",")
	default:
		r.payload = parts[1]
		if last > 1 {
			r.policy = parts[2]
		}
	}
	return r
}

// unknownSet returns the name of a rule set that the rule asks for, itself or
// inside of it, and that is not there.
func (r mihomoRule) unknownSet(sets map[string]bool) string {
	switch r.kind {
	case "RULE-SET":
		if !sets[r.payload] {
			return r.payload
		}
	case "AND", "OR", "NOT", "SUB-RULE":
		for part := range strings.SplitSeq(r.payload, "(") {
			part, _, _ = strings.Cut(part, ")")
			kind, rest, _ := strings.Cut(part, ",")
			if !strings.EqualFold(strings.Trim(kind, " "), "RULE-SET") {
				continue
			}
			name, _, _ := strings.Cut(rest, ",")
			if name = strings.Trim(name, " "); !sets[name] {
				return name
			}
		}
	}
	return ""
}

func (m mihomo) addNodes(c *compilation, position string) error {
	var old []byte
	taken, lost := map[string]bool{}, gone{}
	_, err := doc.EachYAML(c.base, []string{"proxies", "proxy-groups"}, func(key string, e doc.Items) error {
		if e[0].Kind != doc.Map {
			return nil
		}
		if key == "proxies" && position == Replace {
			lost[text(e, 0, "name")] = true
			return nil
		}
		taken[text(e, 0, "name")] = true
		if key == "proxies" {
			old = doc.AppendYAMLList(old, e, 0, 2)
		}
		return nil
	})
	if err != nil {
		return c.badBase("cannot be read as YAML: " + err.Error())
	}
	if err := c.render(slices.Sorted(maps.Keys(taken))); err != nil {
		return err
	}
	body := c.body()
	switch head := []byte("proxies:\n"); {
	case len(old) == 0:
	case c.out.Nodes.Count == 0:
		body = append(head, old...)
	case position == Front:
		body = append(body, old...)
	default:
		body = append(append(head, old...), body[len(head):]...)
	}
	lost.without(slices.Concat(c.written(), mihomoPolicies, slices.Collect(maps.Keys(taken))))
	members, err := m.release(c, lost)
	if err != nil {
		return c.badBase("cannot be read as YAML: " + err.Error())
	}
	if c.out.Content, err = doc.ReplaceYAML(c.base, append(members, doc.Member{Key: "proxies", Text: body})); err != nil {
		return c.badBase("cannot be read as YAML: " + err.Error())
	}
	return nil
}

// release writes the groups and the rules anew if they name nodes that are
// lost.
func (m mihomo) release(c *compilation, lost gone) (changed []doc.Member, err error) {
	if len(lost) == 0 {
		return nil, nil
	}
	groups, rules := []byte("proxy-groups:\n"), []byte("rules:\n")
	var group, rule, left, released int
	_, err = doc.EachYAML(c.base, []string{"proxy-groups", "rules"}, func(key string, e doc.Items) error {
		if key == "rules" {
			if r := readMihomoRule(e[0].Text); e[0].Kind == doc.Str && r.kind != "SUB-RULE" && lost[r.policy] {
				c.lostRule(r.policy, pointer(key, rule))
			} else {
				rules = doc.AppendYAMLList(rules, e, 0, 2)
				left++
			}
			rule++
			return nil
		}
		kept, n := m.releaseGroup(c, e, group, lost)
		groups = appendGroup(groups, kept)
		group, released = group+1, released+n
		return nil
	})
	if err != nil {
		return nil, err
	}
	if released > 0 {
		changed = append(changed, doc.Member{Key: "proxy-groups", Text: groups})
	}
	switch {
	case left == rule:
	case left == 0:
		changed = append(changed, doc.Member{Key: "rules", Text: []byte("rules: []\n")})
	default:
		changed = append(changed, doc.Member{Key: "rules", Text: rules})
	}
	if strings.Contains(c.base, subRulesKey) {
		sub, err := m.releaseSubRules(c, lost)
		if err != nil {
			return nil, err
		}
		changed = append(changed, sub...)
	}
	return changed, nil
}

const subRulesKey = "sub-rules"

// releaseSubRules writes the lists of rules anew that rules may lead to.
func (mihomo) releaseSubRules(c *compilation, lost gone) ([]doc.Member, error) {
	base, err := doc.ReadYAML(nil, c.base)
	if err != nil {
		return nil, err
	}
	at := base.Find(0, subRulesKey)
	if at < 0 || base[at].Kind != doc.Map {
		return nil, nil
	}
	changed := false
	var out doc.Items
	root := out.Open("", doc.Map)
	sub := out.Open(subRulesKey, doc.Map)
	for i := at + 1; i < base.Next(at); i = base.Next(i) {
		key := base[i].Key
		if base[i].Kind != doc.List {
			out.AddTree(key, base, i)
			continue
		}
		list := out.Open(key, doc.List)
		for n, rule := range elements(base, i) {
			if r := readMihomoRule(base[rule].Text); r.kind != "SUB-RULE" && lost[r.policy] {
				c.lostRule(r.policy, pointer(subRulesKey, key, n))
				changed = true
				continue
			}
			out.AddTree("", base, rule)
		}
		out.Close(list)
	}
	out.Close(sub)
	out.Close(root)
	if !changed {
		return nil, nil
	}
	return []doc.Member{{Key: subRulesKey, Text: doc.AppendYAMLMember(nil, out, sub, 0)}}, nil
}

// appendGroup appends a group as it stands, in block style, its members one on
// a line.
func appendGroup(b []byte, e doc.Items) []byte {
	if e[0].Kind != doc.Map || e.Next(0) == 1 {
		return doc.AppendYAMLList(b, e, 0, 2)
	}
	for i := 1; i < e.Next(0); i = e.Next(i) {
		if i == 1 {
			b = append(b, "  - "...)
		} else {
			b = append(b, "    "...)
		}
		if e[i].Key != "proxies" || e[i].Kind != doc.List || e.Next(i) == i+1 {
			b = doc.AppendYAMLMember(b, e, i, 4)
			continue
		}
		b = append(b, "proxies:\n"...)
		for _, at := range elements(e, i) {
			b = doc.AppendYAMLList(b, e, at, 6)
		}
	}
	return b
}

// releaseGroup returns a group without the nodes that are lost, and how many
// places have changed.
func (m mihomo) releaseGroup(c *compilation, e doc.Items, index int, lost gone) (doc.Items, int) {
	if e[0].Kind != doc.Map {
		return e, 0
	}
	var out doc.Items
	count, left, fallback := 0, 0, 0
	name, path := text(e, 0, "name"), pointer("proxy-groups", index)
	root := out.Open("", doc.Map)
	for i := 1; i < e.Next(0); i = e.Next(i) {
		key := e[i].Key
		switch {
		case e.Find(0, key) != i: // a later one counts
		case key == "empty-fallback" && lost[e[i].Text]:
			c.warn(sandrone.WarnReferenceUnknown, "the policy of an empty group is a node that is no longer in this file and is left out", path)
			fallback++
		case key == "proxies" && e[i].Kind == doc.List:
			list := out.Open(key, doc.List)
			for _, at := range elements(e, i) {
				if lost[e[at].Text] {
					count++
					continue
				}
				out.AddTree("", e, at)
				left++
			}
			if count > 0 && left == 0 && e.Find(0, "use") < 0 && !m.includesAll(&group{items: e}, nil) {
				out.AddStr("", "DIRECT")
				c.emptied(name, "DIRECT", path)
			}
			out.Close(list)
		default:
			out.AddTree(key, e, i)
		}
	}
	out.Close(root)
	if count > 0 {
		c.leftOut(name, count, path)
	}
	return out, count + fallback
}
