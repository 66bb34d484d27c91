package preset

import (
	"slices"
	"strings"

	"github.com/sandrone-gateway/sandrone"
)

// Where the collections are. Rule sets of mihomo and sing-box are files of one
// collection, those of Shadowrocket of another.
const (
	metaBase   = "https://raw.githubusercontent.com/MetaCubeX/meta-rules-dat/meta/geo"
	singBase   = "https://raw.githubusercontent.com/MetaCubeX/meta-rules-dat/sing/geo"
	rocketBase = "https://raw.githubusercontent.com/blackmatrix7/ios_rule_script/master/rule/Shadowrocket"
)

// What groups that test their members ask for.
const (
	testURL       = "https://cp.cloudflare.com"
	testInterval  = 300 // seconds
	testPeriod    = "5m"
	testTimeout   = 5  // seconds
	testTolerance = 50 // milliseconds
)

// allNodes is a member that expands to the names of all nodes.
const allNodes = "$nodes"

// settings are the parts of a file that a template fills. They are never nil:
// an absent part would be the built-in one.
type settings struct {
	Groups   []any `json:"groups"`
	RuleSets []any `json:"rule_sets"`
	Rules    []any `json:"rules"`
}

// The shapes of groups, rule sets and rules. What is open in the settings of a
// client has here the members that templates write.
type (
	mihomoGroup struct {
		Name          string   `json:"name"`
		Type          string   `json:"type"`
		Proxies       []string `json:"proxies,omitempty"`
		IncludeAll    bool     `json:"include-all-proxies,omitempty"`
		Filter        string   `json:"filter,omitempty"`
		ExcludeFilter string   `json:"exclude-filter,omitempty"`
		URL           string   `json:"url,omitempty"`
		Interval      int      `json:"interval,omitempty"`
		Tolerance     int      `json:"tolerance,omitempty"`
		Lazy          bool     `json:"lazy,omitempty"`
		Strategy      string   `json:"strategy,omitempty"`
	}
	mihomoSet struct {
		Name     string `json:"name"`
		Type     string `json:"type"`
		Behavior string `json:"behavior"`
		Format   string `json:"format"`
		Interval int    `json:"interval"`
		URL      string `json:"url"`
	}
	singboxGroup struct {
		Type      string   `json:"type"`
		Tag       string   `json:"tag"`
		Outbounds []string `json:"outbounds"`
		URL       string   `json:"url,omitempty"`
		Interval  string   `json:"interval,omitempty"`
		Tolerance int      `json:"tolerance,omitempty"`
	}
	singboxSet struct {
		Type           string `json:"type"`
		Tag            string `json:"tag"`
		Format         string `json:"format"`
		URL            string `json:"url"`
		UpdateInterval string `json:"update_interval"`
	}
	singboxRule struct {
		Port     int      `json:"port,omitempty"`
		RuleSet  []string `json:"rule_set,omitempty"`
		Action   string   `json:"action,omitempty"`
		Outbound string   `json:"outbound,omitempty"`
	}
	shadowrocketGroup struct {
		Name      string   `json:"name"`
		Type      string   `json:"type"`
		Proxies   []string `json:"proxies,omitempty"`
		Filter    string   `json:"policy-regex-filter,omitempty"`
		Interval  int      `json:"interval,omitempty"`
		Timeout   int      `json:"timeout,omitempty"`
		Tolerance int      `json:"tolerance,omitempty"`
	}
	shadowrocketSet struct {
		Name string `json:"name"`
		Type string `json:"type"`
		URL  string `json:"url"`
	}
)

func (c *client) templates() []Template {
	var list []Template
	for _, t := range templates {
		s := c.settings(t.modules)
		list = append(list, Template{
			ID: t.id, GroupCount: len(s.Groups), RuleSetCount: len(s.RuleSets), RuleCount: len(s.Rules),
			Settings: compact(s),
		})
	}
	return list
}

// settings makes the settings of some modules; nil stands for all.
func (c *client) settings(ids []string) settings {
	p := &plan{client: c, names: make(map[string]string), s: settings{[]any{}, []any{}, []any{}}}
	for _, m := range modules {
		if c.kind.Name == sandrone.FileShadowrocket && (m.id == autoModule || m.id == adModule) {
			continue // it blocks and tests in ways of its own
		}
		if ids == nil || slices.Contains(ids, m.id) {
			p.modules = append(p.modules, m)
			p.names[m.id] = m.name.In(c.locale)
		}
	}
	for _, m := range p.modules {
		p.group(m)
	}
	switch c.kind.Name {
	case sandrone.FileMihomo:
		p.mihomo()
	case sandrone.FileSingBox:
		p.singbox()
	case sandrone.FileShadowrocket:
		p.shadowrocket()
	}
	return p.s
}

// plan is a template in the making.
type plan struct {
	*client
	modules []module
	names   map[string]string // of groups, by module
	s       settings
}

// policies are the client's own policies: without a proxy, and not at all.
func (c *client) policies() (direct, reject string) {
	if c.kind.Name == sandrone.FileSingBox {
		return "direct", "block"
	}
	return "DIRECT", "REJECT"
}

// members are those of a module's group: nothing twice, and never itself.
func (p *plan) members(m module) []string {
	direct, reject := p.policies()
	anchor, auto := p.names[anchorModule], p.names[autoModule]
	var all []string
	switch {
	case m.id == anchorModule && p.kind.Name == sandrone.FileShadowrocket:
		all = []string{"PROXY", allNodes, direct, reject}
	case m.id == anchorModule:
		all = []string{auto, allNodes, direct, reject}
	case m.mode == directFirst:
		all = []string{direct, anchor, auto, reject}
	case m.mode == rejectFirst:
		all = []string{reject, direct, anchor}
	case m.mode == testMode:
		all = []string{allNodes}
	default:
		all = []string{anchor, auto, direct, reject}
	}
	return slices.DeleteFunc(all, func(name string) bool { return name == "" })
}

func (p *plan) group(m module) {
	name, members, test := p.names[m.id], p.members(m), m.mode == testMode
	var g any
	switch p.kind.Name {
	case sandrone.FileMihomo:
		g = mihomoGroup{Name: name, Type: "select", Proxies: members}
		if test {
			g = mihomoGroup{Name: name, Type: "url-test", Proxies: members, URL: testURL, Interval: testInterval, Tolerance: testTolerance}
		}
	case sandrone.FileSingBox:
		g = singboxGroup{Type: "selector", Tag: name, Outbounds: members}
		if test {
			g = singboxGroup{Type: "urltest", Tag: name, Outbounds: members, URL: testURL, Interval: testPeriod}
		}
	case sandrone.FileShadowrocket:
		g = shadowrocketGroup{Name: name, Type: "select", Proxies: members}
	}
	p.s.Groups = append(p.s.Groups, g)
}

// sets calls with every rule set and its group, in the order of rules.
func (p *plan) sets(with func(id, group string)) {
	for _, id := range ruleOrder {
		if id == dohSet {
			with(dohSet, p.names[anchorModule])
			continue
		}
		i := slices.IndexFunc(p.modules, func(m module) bool { return m.id == id })
		if i < 0 {
			continue
		}
		for _, set := range p.modules[i].sets {
			with(set, p.names[id])
		}
	}
}

// address tells a set of addresses from one of domains, and returns its name in
// the collection.
func address(id string) (name string, ok bool) { return strings.CutSuffix(id, "-ip") }

func (p *plan) mihomo() {
	p.rule("DST-PORT,853," + p.names[anchorModule])
	var late []any
	p.sets(func(id, group string) {
		set := mihomoSet{Name: id, Type: "http", Behavior: "domain", Format: "mrs", Interval: 86400, URL: metaBase + "/geosite/" + id + ".mrs"}
		rule := "RULE-SET," + id + "," + group
		if name, ok := address(id); ok {
			set.Behavior, set.URL = "ipcidr", metaBase+"/geoip/"+name+".mrs"
			// Only the last resort for China may cost a look-up.
			if id != "cn-ip" {
				rule += ",no-resolve"
			}
			late = append(late, rule)
		} else {
			p.rule(rule)
		}
		p.s.RuleSets = append(p.s.RuleSets, set)
	})
	p.rule(late...)
	p.rule("MATCH," + p.names[finalModule])
}

func (p *plan) singbox() {
	p.rule(singboxRule{Port: 853, Outbound: p.names[anchorModule]})
	var late []any
	p.sets(func(id, group string) {
		set := singboxSet{Type: "remote", Tag: id, Format: "binary", URL: singBase + "/geosite/" + id + ".srs", UpdateInterval: "1d"}
		rule := singboxRule{RuleSet: []string{id}, Outbound: group}
		if name, ok := address(id); ok {
			set.URL = singBase + "/geoip/" + name + ".srs"
			late = append(late, rule)
		} else {
			p.rule(rule)
		}
		p.s.RuleSets = append(p.s.RuleSets, set)
	})
	p.rule(singboxRule{Action: "resolve"})
	p.rule(late...)
	p.rule(singboxRule{Outbound: p.names[finalModule]})
}

func (p *plan) shadowrocket() {
	p.rule("DST-PORT,853," + p.names[anchorModule])
	add := func(name, reference, url, group string) {
		p.s.RuleSets = append(p.s.RuleSets, shadowrocketSet{Name: name, Type: strings.ToLower(reference), URL: url})
		p.rule(reference + "," + name + "," + group)
	}
	list := func(name string) string {
		folder := strings.TrimSuffix(name, "_Domain")
		return rocketBase + "/" + folder + "/" + name + ".list"
	}
	p.sets(func(id, group string) {
		if _, ok := address(id); ok {
			return // the lists hold addresses too, and China's are a rule of its own
		}
		name, ok := shadowrocketLists[id]
		if !ok {
			as := id
			if id == "cn" {
				as = "cn-domain"
			}
			add(as, "DOMAIN-SET", metaBase+"/geosite/"+id+".list", group)
			return
		}
		add(id, "RULE-SET", list(name), group)
		if second := shadowrocketDomainLists[id]; second != "" {
			add(id+"-domain", "DOMAIN-SET", list(second), group)
		}
	})
	p.rule("GEOIP,CN," + p.names[cnModule])
	p.rule("FINAL," + p.names[finalModule])
}

func (p *plan) rule(rules ...any) { p.s.Rules = append(p.s.Rules, rules...) }
