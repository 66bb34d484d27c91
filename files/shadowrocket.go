package files

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert/doc"
	"github.com/sandrone-gateway/sandrone/processors/ini"
	"github.com/sandrone-gateway/sandrone/processors/region"
)

// shadowrocket makes the INI files of Shadowrocket. The client cannot be asked
// what it takes and skips a line that it does not understand, so that its
// settings are held to what is known of it.
type shadowrocket struct{}

// The sections of a file that are the compiler's.
const (
	proxySection = "Proxy"
	groupSection = "Proxy Group"
	ruleSection  = "Rule"
)

const regexFilter = "policy-regex-filter"

var (
	// rocketPolicies are what rules may name besides groups and nodes.
	rocketPolicies = []string{"PROXY", "DIRECT", "TAILSCALE", "REJECT", "REJECT-DICT", "REJECT-ARRAY", "REJECT-200", "REJECT-IMG",
		"REJECT-TINYGIF", "REJECT-DROP", "REJECT-NO-DROP"}
	// rocketMembers are those of them that a group may have.
	rocketMembers = []string{"PROXY", "DIRECT", "REJECT"}

	rocketTypes = []string{"select", "url-test", "fallback", "load-balance", "random"}
)

// rocketNumbers are the options of a group that are numbers, in the order in
// which they are written: seconds, seconds, milliseconds.
var rocketNumbers = []struct {
	key      string
	min, max int
}{{"interval", 1, 86400}, {"timeout", 1, 300}, {"tolerance", 0, 65535}}

func (shadowrocket) adaptive() bool { return true }

func (r shadowrocket) check(s *settings) error {
	if err := r.checkGroups(s); err != nil {
		return err
	}
	sets, err := r.checkRuleSets(s)
	if err != nil {
		return err
	}
	err = s.each(rulesKey, doc.Str, func(i int, path string) error {
		_, err := r.rule(s, path, s.items[i].Text, sets)
		return err
	})
	if err != nil {
		return err
	}
	return r.checkAdaptive(s)
}

func (r shadowrocket) checkGroups(s *settings) error {
	known := map[string]doc.Kind{"name": doc.Str, "type": doc.Str, "proxies": doc.List, regexFilter: doc.Str, "hidden": doc.Bool}
	for _, n := range rocketNumbers {
		known[n.key] = doc.Num
	}
	names := map[string]bool{}
	var list []*group
	err := s.each(groupsKey, doc.Map, func(i int, path string) error {
		if err := s.closed(i, path, known); err != nil {
			return err
		}
		name, err := s.named(i, path, "name", names)
		if err != nil {
			return err
		}
		if why := badGroupName(name); why != "" {
			return s.fail(below(path, "name"), " %s", why)
		}
		if err := s.oneOf(i, path, "type", rocketTypes); err != nil {
			return err
		}
		g := &group{name: name, items: s.items, at: i, key: "proxies"}
		list = append(list, g)
		return r.checkGroup(s, g, path)
	})
	if err != nil {
		return err
	}
	return circles(list, func(i int, _ member) error {
		return s.fail(index(groupsKey, i), " contains a reference cycle")
	})
}

func (shadowrocket) checkGroup(s *settings, g *group, path string) error {
	members, filter := s.items.Find(g.at, g.key), s.items.Find(g.at, regexFilter)
	switch {
	case members >= 0 && filter >= 0, members < 0 && filter < 0:
		return s.fail(path, " must have exactly one of proxies and "+regexFilter)
	case filter >= 0:
		switch pattern := strings.TrimSpace(s.items[filter].Text); {
		case pattern == "":
			return s.fail(below(path, regexFilter), " must not be empty")
		case strings.ContainsAny(pattern, ",\r\n"):
			return s.fail(below(path, regexFilter), " must not contain a comma or a line break")
		}
	default:
		seen := map[string]bool{}
		err := s.elements(members, below(path, g.key), doc.Str, func(i int, path string) error {
			name := strings.TrimSpace(s.items[i].Text)
			switch {
			case name == "":
				return s.fail(path, " must not be empty")
			case seen[name]:
				return s.fail(path, " is duplicated")
			}
			seen[name] = true
			g.members = append(g.members, member{name: name})
			return nil
		})
		if err != nil {
			return err
		}
	}
	for _, n := range rocketNumbers {
		i := s.items.Find(g.at, n.key)
		if i < 0 {
			continue
		}
		if v, err := strconv.Atoi(s.items[i].Text); err != nil || v < n.min || v > n.max {
			return s.fail(below(path, n.key), " must be an integer from %d to %d", n.min, n.max)
		}
	}
	return nil
}

// badGroupName says why a group cannot have a name, "" if it can.
func badGroupName(name string) string {
	switch {
	case strings.ContainsAny(name, "\r\n=,"):
		return "must not contain a line break, an equals sign or a comma"
	case strings.ContainsRune("#;[", rune(name[0])):
		return "must not begin with #, ; or ["
	case name == nodesMember:
		return "must not be " + nodesMember
	case slices.Contains(rocketPolicies, name), strings.EqualFold(name, "DIRECT"), strings.EqualFold(name, "REJECT"):
		return "is the name of a built-in policy"
	}
	return ""
}

// rocketSet is a name that rules have for an address.
type rocketSet struct{ kind, url string }

func (shadowrocket) checkRuleSets(s *settings) (map[string]rocketSet, error) {
	known := map[string]doc.Kind{"name": doc.Str, "type": doc.Str, "url": doc.Str}
	names := map[string]bool{}
	sets := map[string]rocketSet{}
	err := s.each(ruleSetsKey, doc.Map, func(i int, path string) error {
		if err := s.closed(i, path, known); err != nil {
			return err
		}
		name, err := s.named(i, path, "name", names)
		if err != nil {
			return err
		}
		if strings.ContainsAny(name, ",\r\n") {
			return s.fail(below(path, "name"), " must not contain a comma or a line break")
		}
		if err := s.oneOf(i, path, "type", []string{"rule-set", "domain-set"}); err != nil {
			return err
		}
		address := strings.TrimSpace(text(s.items, i, "url"))
		if !isAddress(address) {
			return s.fail(below(path, "url"), " must be an http or https address without a comma")
		}
		sets[name] = rocketSet{text(s.items, i, "type"), address}
		return nil
	})
	return sets, err
}

// isAddress reports whether s is an absolute address that can stand in a rule.
func isAddress(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && !strings.ContainsAny(s, ", \r\n")
}

// rocketRule is a rule, ready to be written.
type rocketRule struct {
	line   string
	kind   string // upper case
	policy string // "" where the kind is not known
}

// valueRules are the kinds whose second part is what they match and whose third
// is the policy.
var valueRules = []string{"DOMAIN-SUFFIX", "DOMAIN-KEYWORD", "DOMAIN-WILDCARD", "DOMAIN", "USER-AGENT", "URL-REGEX", "IP-CIDR", "IP-ASN",
	"RULE-SET", "DOMAIN-SET", "SCRIPT", "DST-PORT", "GEOIP", "AND", "NOT", "OR"}

// rule reads a rule and puts the addresses of rule sets in place of their
// names.
func (shadowrocket) rule(s *settings, path, line string, sets map[string]rocketSet) (rocketRule, error) {
	line = strings.TrimSpace(line)
	switch {
	case line == "":
		return rocketRule{}, s.fail(path, " must not be empty")
	case strings.ContainsAny(line, "\r\n"):
		return rocketRule{}, s.fail(path, " must be one line")
	case line[0] == '[':
		return rocketRule{}, s.fail(path, " must not begin with [")
	}
	parts, balanced := splitRule(line)
	r := rocketRule{kind: strings.ToUpper(parts[0])}
	part := func(n int) string {
		if n < len(parts) {
			return parts[n]
		}
		return ""
	}
	switch {
	case r.kind == "FINAL" || r.kind == "MATCH":
		if r.policy = part(1); r.policy == "" {
			return r, s.fail(path, " needs a policy")
		}
	case slices.Contains(valueRules, r.kind):
		logic := r.kind == "AND" || r.kind == "OR" || r.kind == "NOT"
		if logic && !balanced {
			return r, s.fail(path, " has unbalanced parentheses")
		}
		r.policy = part(2)
		if part(1) == "" || r.policy == "" {
			return r, s.fail(path, " needs a value and a policy")
		}
		if kind := strings.ToLower(r.kind); (kind == "rule-set" || kind == "domain-set") && !isAddress(parts[1]) {
			set, ok := sets[parts[1]]
			if !ok || set.kind != kind {
				return r, s.fail(path, " must name a rule set of type %s, or an address", kind)
			}
			parts[1] = set.url
		}
	}
	r.line = strings.Join(parts, ",")
	return r, nil
}

// splitRule cuts a rule at the commas outside of parentheses. A backslash takes
// the meaning from the character behind it.
func splitRule(line string) (parts []string, balanced bool) {
	depth, from := 0, 0
	balanced = true
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
		case '(':
			depth++
		case ')':
			if depth--; depth < 0 {
				depth, balanced = 0, false
			}
		case ',':
			if depth == 0 {
				parts = append(parts, strings.TrimSpace(line[from:i]))
				from = i + 1
			}
		}
	}
	return append(parts, strings.TrimSpace(line[from:])), balanced && depth == 0
}

// checkAdaptive looks at the record of an editor, of which nothing is made.
func (shadowrocket) checkAdaptive(s *settings) error {
	at := s.items.Find(0, adaptiveKey)
	if at < 0 {
		return nil
	}
	if err := s.closed(at, adaptiveKey, map[string]doc.Kind{"type": doc.Str, "regions": doc.List}); err != nil {
		return err
	}
	if s.items.Find(at, "type") >= 0 {
		if err := s.oneOf(at, adaptiveKey, "type", []string{"select", "url-test", "load-balance"}); err != nil {
			return err
		}
	}
	list := s.items.Find(at, "regions")
	if list < 0 {
		return nil
	}
	seen := map[string]bool{}
	return s.elements(list, below(adaptiveKey, "regions"), doc.Str, func(i int, path string) error {
		id := s.items[i].Text
		switch known := region.Default().Region(id); {
		case known == nil || !known.Popular || known.ID != id:
			return s.fail(path, " is no known region")
		case seen[id]:
			return s.fail(path, " is duplicated")
		}
		seen[id] = true
		return nil
	})
}

func (shadowrocket) base(string) string { return "[General]\n" }

func (shadowrocket) defaults(_ string, _ bool) string {
	return `{"groups":[{"name":"Proxy","type":"select","proxies":["$nodes","DIRECT"]}],"rule_sets":[],` +
		`"rules":["IP-CIDR,10.0.0.0/8,DIRECT,no-resolve","IP-CIDR,172.16.0.0/12,DIRECT,no-resolve","IP-CIDR,192.168.0.0/16,DIRECT,no-resolve",` +
		`"GEOIP,CN,DIRECT","FINAL,Proxy"]}`
}

func (r shadowrocket) compile(c *compilation) error {
	c.trims = true
	c.readGroups("name", "proxies")
	if err := c.render(slices.Concat(rocketPolicies, c.groupNames())); err != nil {
		return err
	}
	c.names = c.written()
	for _, p := range rocketMembers {
		c.policy[p] = true
	}
	if err := c.fill(); err != nil {
		return err
	}
	patch := []byte("[" + proxySection + "!]\n")
	_, lines, _ := strings.Cut(string(c.body()), "\n")
	patch = append(patch, lines...)
	patch = append(patch, "["+groupSection+"!]\n"...)
	for i := range c.groups {
		patch = r.group(c, patch, i)
	}
	patch = append(patch, "["+ruleSection+"!]\n"...)
	for _, p := range rocketPolicies {
		c.policy[p] = true
	}
	patch, err := r.rules(c, patch)
	if err != nil {
		return err
	}
	return r.write(c, string(patch))
}

// group appends the line of a group.
func (shadowrocket) group(c *compilation, b []byte, i int) []byte {
	g := c.groups[i]
	filter := strings.TrimSpace(text(g.items, g.at, regexFilter))
	if len(g.members) == 0 && filter == "" {
		c.notEmpty(i, "DIRECT")
	}
	b = append(append(append(b, g.name...), " = "...), text(g.items, g.at, "type")...)
	if filter != "" {
		b = append(append(b, ","+regexFilter+"="...), filter...)
	}
	seen := make(map[string]bool, len(g.members))
	for _, m := range g.members {
		if !seen[m.name] {
			seen[m.name] = true
			b = append(append(b, ','), m.name...)
		}
	}
	for _, n := range rocketNumbers {
		if v := text(g.items, g.at, n.key); v != "" {
			b = append(append(b, ","+n.key+"="...), v...)
		}
	}
	switch text(g.items, g.at, "hidden") {
	case "true":
		b = append(b, ",hidden=1"...)
	case "false":
		b = append(b, ",hidden=0"...)
	}
	return append(b, '\n')
}

// rules appends the lines of the rules that lead somewhere.
func (r shadowrocket) rules(c *compilation, b []byte) ([]byte, error) {
	sets, err := r.checkRuleSets(c.settings)
	if err != nil {
		return nil, err
	}
	items, list := c.part(rulesKey)
	matched := false
	for i, at := range elements(items, list) {
		rule, err := r.rule(c.settings, index(rulesKey, i), items[at].Text, sets)
		if err != nil {
			return nil, err
		}
		if matched {
			c.unreachable(i)
		}
		if rule.policy != "" && !c.policy[rule.policy] {
			c.unknownRule(i, "policy", rule.policy)
			continue
		}
		matched = matched || rule.kind == "FINAL" || rule.kind == "MATCH"
		b = append(append(b, rule.line...), '\n')
	}
	return b, nil
}

// write puts sections into the base.
func (shadowrocket) write(c *compilation, patch string) error {
	base := c.base
	if isBlank(base) {
		base = ""
	}
	text, err := ini.Override(base, patch)
	if err != nil {
		return c.badBase("cannot be read: " + sandrone.AsError(err).Message)
	}
	if base == "" {
		text += "\n"
	}
	c.out.Content = text
	return nil
}

func (r shadowrocket) addNodes(c *compilation, position string) error {
	document, err := ini.Parse(c.base)
	if err != nil {
		return c.badBase("cannot be read: " + sandrone.AsError(err).Message)
	}
	taken, lost := map[string]bool{}, gone{}
	for _, p := range rocketPolicies {
		taken[p] = true
	}
	for _, s := range document.Sections {
		isProxy := strings.EqualFold(s.Name, proxySection)
		if !isProxy && !strings.EqualFold(s.Name, groupSection) {
			continue
		}
		for _, l := range s.Lines {
			name, _, ok := strings.Cut(l, "=")
			switch name = strings.TrimSpace(name); {
			case !ok:
			case isProxy && position == Replace:
				lost[name] = true
			default:
				taken[name] = true
			}
		}
	}
	if err := c.render(slices.Sorted(maps.Keys(taken))); err != nil {
		return err
	}
	lost.without(slices.Concat(c.written(), slices.Collect(maps.Keys(taken))))
	header := map[string]string{Replace: "[" + proxySection + "!]\n", Front: "[+" + proxySection + "]\n", Back: "[" + proxySection + "+]\n"}[position]
	_, lines, _ := strings.Cut(string(c.body()), "\n")
	return r.write(c, header+lines+r.release(c, document, groupSection, lost, r.releaseGroup)+r.release(c, document, ruleSection, lost, r.releaseRule))
}

// release is the patch of a section whose lines name nodes that are lost, empty
// if none does. line returns a line without them, or false if it goes.
func (shadowrocket) release(c *compilation, document ini.Document, section string, lost gone, line func(c *compilation, l string, lost gone, path string) (string, bool)) string {
	if len(lost) == 0 {
		return ""
	}
	patch := []byte("[" + section + "!]\n")
	changed := false
	n := 0
	for _, s := range document.Sections {
		if !strings.EqualFold(s.Name, section) {
			continue
		}
		for _, l := range s.Lines {
			l = strings.TrimRight(l, "\r\n")
			kept, keep := l, true
			if t := strings.TrimSpace(l); t != "" && !strings.ContainsRune("#;", rune(t[0])) {
				kept, keep = line(c, l, lost, pointer(section, n))
				n++
			}
			if changed = changed || !keep || kept != l; keep {
				patch = append(append(patch, kept...), '\n')
			}
		}
	}
	if !changed {
		return ""
	}
	return string(patch)
}

func (shadowrocket) releaseGroup(c *compilation, l string, lost gone, path string) (string, bool) {
	name, rest, ok := strings.Cut(l, "=")
	if !ok {
		return l, true
	}
	parts := strings.Split(rest, ",")
	members, count := 0, 0
	kept := parts[:1]
	for _, part := range parts[1:] {
		if lost[strings.TrimSpace(part)] {
			count++
			continue
		}
		key, _, option := strings.Cut(part, "=")
		if !option || strings.TrimSpace(key) == regexFilter {
			members++
		}
		kept = append(kept, part)
	}
	if count == 0 {
		return l, true
	}
	group := strings.TrimSpace(name)
	if members == 0 {
		kept = slices.Insert(kept, 1, "DIRECT")
		c.emptied(group, "DIRECT", path)
	}
	c.leftOut(group, count, path)
	return name + "=" + strings.Join(kept, ","), true
}

func (shadowrocket) releaseRule(c *compilation, l string, lost gone, path string) (string, bool) {
	parts, _ := splitRule(l)
	policy := 2
	if kind := strings.ToUpper(parts[0]); kind == "FINAL" || kind == "MATCH" {
		policy = 1
	}
	if len(parts) <= policy || !lost[parts[policy]] {
		return l, true
	}
	c.lostRule(parts[policy], path)
	return "", false
}
