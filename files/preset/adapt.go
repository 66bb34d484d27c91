package preset

import (
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/sandrone-gateway/sandrone"
)

// Choice is which groups by region are wanted.
type Choice struct {
	Regions []string `json:"regions"` // ids; none takes the groups away that were made before
	Type    string   `json:"type"`    // how a group picks its node, in the client's word; empty means by testing

	// Nodes are the names of the file's nodes. sing-box has no groups by
	// pattern, so there the groups are made of them; for all clients they tell
	// whether a group would have the name of a node.
	Nodes []string `json:"nodes"`
}

// Problem is what stood in the way of a choice.
type Problem struct {
	Code  string `json:"code"`
	Group string `json:"group,omitempty"`
}

// maxGroups is how many groups may be there before.
const maxGroups = 1000

// The codes of problems. With one of the first four, nothing was changed.
const (
	AnchorMissing        = "anchor_missing"         // there is no group for the choice of a node
	AnchorDuplicate      = "anchor_duplicate"       // there are several
	AnchorTypeInvalid    = "anchor_type_invalid"    // it is no group to choose from
	AnchorMembersInvalid = "anchor_members_invalid" // its members are no list of names
	GroupNameConflict    = "group_name_conflict"    // another group has the name; the region is left out
	NodeNameConflict     = "node_name_conflict"     // a node has the name; the region is left out
	EmptyRegionsSkipped  = "empty_regions_skipped"  // no node is there; the region is left out
	ReferencedStaleGroup = "referenced_stale_group" // the group is not wanted any more, but used, and stays
)

// Adapt writes groups by region into settings and makes them members of the
// group for the choice of a node. Groups that an earlier call wrote, and nobody
// changed since, are replaced, and taken out where they are not wanted any more
// and nothing else refers to them. Everything else stays; the members of the
// objects that are written to come sorted.
//
// Settings without groups, which mean the built-in ones, are anchor_missing:
// the groups must stand there. An unknown region or type, and settings whose
// groups are no list of objects, are an invalid_argument error.
func (s *Set) Adapt(in json.RawMessage, choice Choice) (json.RawMessage, []Problem, error) {
	a, err := s.client.adaption(in, choice)
	if err != nil {
		return nil, nil, err
	}
	anchor, code := a.anchor()
	if code != "" {
		return in, []Problem{{Code: code}}, nil
	}
	out, problems := a.rewrite(anchor)
	return out, problems, nil
}

// adaption is a call of Adapt.
type adaption struct {
	*client
	settings map[string]json.RawMessage
	groups   []map[string]any
	rules    any
	choice   Choice
	wanted   []Region
	form     groupForm
}

// groupForm is how a client writes groups.
type groupForm struct {
	name, members     string
	choose            string   // the type that lets the user choose
	types             []string // of groups by region, the usual one first
	testing, balanced string   // of types: those with more members
}

func (c *client) groupForm() groupForm {
	if c.kind.Name == sandrone.FileSingBox {
		return groupForm{name: "tag", members: "outbounds", choose: "selector", types: []string{"urltest", "selector"}, testing: "urltest"}
	}
	return groupForm{name: "name", members: "proxies", choose: "select", types: []string{"url-test", "select", "load-balance"}, testing: "url-test", balanced: "load-balance"}
}

func (c *client) adaption(in json.RawMessage, choice Choice) (*adaption, error) {
	a := &adaption{client: c, choice: choice, form: c.groupForm()}
	if len(in) > 0 {
		if err := json.Unmarshal(in, &a.settings); err != nil {
			return nil, sandrone.Errorf(sandrone.InvalidArgument, "settings must be an object").At("settings")
		}
	}
	if raw := a.settings["groups"]; raw != nil && json.Unmarshal(raw, &a.groups) != nil {
		return nil, sandrone.Errorf(sandrone.InvalidArgument, "groups must be a list of objects").At("settings.groups")
	}
	if len(a.groups) > maxGroups {
		return nil, sandrone.Errorf(sandrone.InvalidArgument, "there are more than %d groups", maxGroups).At("settings.groups")
	}
	if raw := a.settings["rules"]; raw != nil && json.Unmarshal(raw, &a.rules) != nil {
		return nil, sandrone.Errorf(sandrone.InvalidArgument, "rules must be a list").At("settings.rules")
	}
	if choice.Type == "" {
		a.choice.Type = a.form.types[0]
	}
	if !slices.Contains(a.form.types, a.choice.Type) {
		return nil, sandrone.Errorf(sandrone.InvalidArgument, "type must be one of %s", strings.Join(a.form.types, ", ")).At("type")
	}
	all := regions()
	for _, id := range choice.Regions {
		if !slices.ContainsFunc(all, func(r Region) bool { return r.ID == id }) {
			return nil, sandrone.Errorf(sandrone.InvalidArgument, "there is no region of that id").At("regions")
		}
	}
	for _, r := range all { // in the order of the table, each once
		if slices.Contains(choice.Regions, r.ID) {
			a.wanted = append(a.wanted, r)
		}
	}
	return a, nil
}

// anchor finds the group for the choice of a node: in the set's language, else
// in the other one.
func (a *adaption) anchor() (at int, problem string) {
	title := modules[0].name
	for _, name := range []string{title.In(a.locale), title.English, title.Chinese} {
		var found []int
		for i, g := range a.groups {
			if g[a.form.name] == name {
				found = append(found, i)
			}
		}
		switch {
		case len(found) == 0:
			continue
		case len(found) > 1:
			return 0, AnchorDuplicate
		case a.groups[found[0]]["type"] != a.form.choose:
			return 0, AnchorTypeInvalid
		}
		if _, ok := texts(a.groups[found[0]][a.form.members]); !ok {
			return 0, AnchorMembersInvalid
		}
		return found[0], ""
	}
	return 0, AnchorMissing
}

// texts are the items of a list of strings.
func texts(v any) (list []string, ok bool) {
	items, ok := v.([]any)
	for _, item := range items {
		text, is := item.(string)
		ok = ok && is
		list = append(list, text)
	}
	return list, ok
}

func (a *adaption) rewrite(anchor int) (json.RawMessage, []Problem) {
	var problems []Problem
	note := func(code, group string) { problems = append(problems, Problem{code, group}) }

	// What is there: groups of the user, and groups that were made here.
	managed := make(map[string]int)
	names := make(map[string]bool)
	for i, g := range a.groups {
		name, _ := g[a.form.name].(string)
		if i != anchor && a.managed(g) {
			managed[name] = i
		} else {
			names[name] = true
		}
	}
	var fresh []string
	var made []any
	for _, r := range a.wanted {
		name := r.Name.English
		switch group := a.group(r); {
		case names[name]:
			note(GroupNameConflict, name)
		case slices.Contains(a.choice.Nodes, name):
			note(NodeNameConflict, name)
		case group == nil:
			note(EmptyRegionsSkipped, name)
		default:
			fresh, made = append(fresh, name), append(made, group)
			names[name] = true
		}
	}
	// Made before and wanted no more.
	members, _ := texts(a.groups[anchor][a.form.members])
	var groups []any
	for i, g := range a.groups {
		name, _ := g[a.form.name].(string)
		if at, ok := managed[name]; !ok || at != i {
			groups = append(groups, g)
			continue
		}
		switch {
		case names[name]:
			// one of the fresh ones takes its place
		case a.used(name, anchor, managed):
			note(ReferencedStaleGroup, name)
			groups = append(groups, g)
		default:
			members = slices.DeleteFunc(members, func(m string) bool { return m == name })
		}
	}
	groups = append(groups, made...)
	for _, name := range fresh {
		if slices.Contains(members, name) {
			continue
		}
		at := slices.Index(members, allNodes)
		if at < 0 {
			at = len(members)
		}
		members = slices.Insert(members, at, name)
	}
	a.groups[anchor][a.form.members] = members
	a.settings["groups"] = compact(groups)
	return compact(a.settings), problems
}

// group is the group of a region, nil where it would have no member.
func (a *adaption) group(r Region) any {
	name, kind := r.Name.English, a.choice.Type
	switch a.kind.Name {
	case sandrone.FileSingBox:
		g := singboxGroup{Tag: name, Type: kind, Outbounds: r.matching(a.choice.Nodes)}
		if len(g.Outbounds) == 0 {
			return nil
		}
		if kind == a.form.testing {
			g.URL, g.Interval, g.Tolerance = testURL, testPeriod, testTolerance
		}
		return g
	case sandrone.FileShadowrocket:
		g := shadowrocketGroup{Name: name, Type: kind, Filter: r.single()}
		if kind != a.form.choose {
			g.Interval, g.Timeout, g.Tolerance = testInterval, testTimeout, testTolerance
		}
		return g
	}
	g := mihomoGroup{Name: name, Type: kind, IncludeAll: true, Filter: r.Pattern, ExcludeFilter: r.Exclude}
	if kind != a.form.choose {
		g.URL, g.Interval, g.Lazy = testURL, testInterval, true
	}
	switch kind {
	case a.form.testing:
		g.Tolerance = testTolerance
	case a.form.balanced:
		g.Strategy = "sticky-sessions"
	}
	return g
}

// managed reports whether a group is one that Adapt writes, for whatever region
// and type it was asked for. In sing-box its members depend on the nodes of the
// day.
func (a *adaption) managed(g map[string]any) bool {
	kind, _ := g["type"].(string)
	if !slices.Contains(a.form.types, kind) {
		return false
	}
	for _, r := range regions() {
		if g[a.form.name] != r.Name.English {
			continue
		}
		members, ok := texts(g[a.form.members])
		if a.kind.Name == sandrone.FileSingBox && !ok {
			return false
		}
		like := adaption{client: a.client, form: a.form, choice: Choice{Type: kind, Nodes: members}}
		if a.kind.Name == sandrone.FileSingBox && len(r.matching(members)) < len(members) {
			return false // somebody put a node in
		}
		return reflect.DeepEqual(plain(like.group(r)), plain(g))
	}
	return false
}

// plain is a value as JSON has it, so that two can be compared.
func plain(v any) (out any) {
	json.Unmarshal(compact(v), &out) //nolint:errcheck // it was just written
	return out
}

// used reports whether anything but the anchor refers to a group: another group
// that was not made here, or a rule.
func (a *adaption) used(name string, anchor int, managed map[string]int) bool {
	for i, g := range a.groups {
		own, _ := g[a.form.name].(string)
		if at, ok := managed[own]; i == anchor || ok && at == i {
			continue
		}
		members, _ := texts(g[a.form.members])
		if slices.Contains(members, name) {
			return true
		}
	}
	return mentions(a.rules, name)
}

// mentions reports whether a text in a value is a name, or has it as a part
// between commas, as rules have policies.
func mentions(v any, name string) bool {
	switch v := v.(type) {
	case string:
		for part := range strings.SplitSeq(v, ",") {
			if strings.TrimSpace(part) == name {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, func(item any) bool { return mentions(item, name) })
	case map[string]any:
		for _, item := range v {
			if mentions(item, name) {
				return true
			}
		}
	}
	return false
}

// matching are the names that belong to the region.
func (r Region) matching(names []string) (found []string) {
	include, exclude := regexp.MustCompile(r.Pattern), (*regexp.Regexp)(nil)
	if r.Exclude != "" {
		exclude = regexp.MustCompile(r.Exclude)
	}
	for _, name := range names {
		if include.MatchString(name) && (exclude == nil || !exclude.MatchString(name)) {
			found = append(found, name)
		}
	}
	return found
}

// single is the region as one pattern, for a client that has no second one to
// exclude with but knows look-around.
func (r Region) single() string {
	if r.Exclude == "" {
		return r.Pattern
	}
	const ignoreCase = "(?i)"
	return ignoreCase + "^(?!.*" + strings.TrimPrefix(r.Exclude, ignoreCase) + ")(?=.*" + strings.TrimPrefix(r.Pattern, ignoreCase) + ").*$"
}
