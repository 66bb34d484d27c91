package files_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert/formats"
	"github.com/sandrone-gateway/sandrone/files"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// compile makes a file of a kind; a nil base is the built-in one.
func compile(t *testing.T, name string, base *string, settings string, nodes []sandrone.Node) files.Output {
	t.Helper()
	kind, version, err := files.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	in := files.Input{Registry: formats.Registry(), Kind: name, Base: kind.Base(version), Settings: json.RawMessage(settings), Nodes: nodes}
	if base != nil {
		in.Base = *base
	}
	out, err := kind.Compile(in)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return out
}

func TestFilesOfEveryKindAndVersion(t *testing.T) {
	for _, kind := range files.Kinds() {
		if !kind.Typed() {
			continue
		}
		names := []string{kind.Name}
		for _, v := range kind.Versions {
			names = append(names, kind.Name+"@"+v)
		}
		for _, name := range names {
			for settings, text := range map[string]string{"defaults": "", "custom": customs[kind.Name], "empty": empty} {
				for batch, nodes := range map[string][]sandrone.Node{"none": nil, "one": many(1), "every": everyType()} {
					out := compile(t, name, nil, text, nodes)
					if again := compile(t, name, nil, text, nodes); again.Content != out.Content {
						t.Errorf("%s %s %s: not the same twice", name, settings, batch)
					}
					if batch == "every" && name != kind.Name {
						continue // the nodes are the renderers' business
					}
					path := filepath.Join("testdata", strings.NewReplacer("@", "-").Replace(name)+"-"+settings+"-"+batch+kind.Extension)
					if *update {
						if err := os.WriteFile(path, []byte(out.Content), 0o644); err != nil {
							t.Fatal(err)
						}
					}
					want, err := os.ReadFile(path)
					if err != nil {
						t.Fatal(err)
					}
					if out.Content != string(want) {
						t.Errorf("%s differs; -update rewrites it. Got:\n%s", path, out.Content)
					}
				}
			}
		}
	}
}

func warnings(out files.Output) string {
	var b strings.Builder
	for _, w := range out.Warnings {
		b.WriteString(w.Code + " " + w.Path + "\n")
	}
	return b.String()
}

func TestWhatAClientWouldRefuseIsRepaired(t *testing.T) {
	const providers = "proxy-providers:\n  p: {type: file, path: ./p.yaml}\nsub-rules:\n  s: [\"MATCH,DIRECT\"]\n"
	for _, c := range []struct {
		name, kind, base, settings string
		has, hasNot                []string
		warnings                   string
	}{
		{"empty group", "mihomo", "", `{"groups":[{"name":"A","type":"select","proxies":["$nodes"]}],"rule_sets":[],"rules":[]}`,
			[]string{"proxies:\n      - DIRECT\n"}, nil, "file_group_empty /groups/0\n"},
		{"group filled by the client", "mihomo", providers, `{"groups":[{"name":"A","type":"select","use":["p","q"]},{"name":"B","type":"select","include-all":true},{"name":"C","type":"select","include-all-providers":true}],"rule_sets":[],"rules":[]}`,
			[]string{"use:\n      - p\n"}, []string{"DIRECT\n  -"}, "file_reference_unknown /groups/0/use/1\n"},
		{"providers that are not there", "mihomo", "", `{"groups":[{"name":"C","type":"select","include-all-providers":true}],"rule_sets":[],"rules":[]}`,
			[]string{"- DIRECT\n"}, nil, "file_group_empty /groups/0\n"},
		{"dangling member", "mihomo", "", `{"groups":[{"name":"A","type":"select","proxies":["gone","DIRECT","GLOBAL"]}],"rule_sets":[],"rules":[]}`,
			nil, []string{"gone", "GLOBAL"}, "file_reference_unknown /groups/0/proxies/0\nfile_reference_unknown /groups/0/proxies/2\n"},
		{"groups in a circle", "mihomo", "", `{"groups":[{"name":"A","type":"select","proxies":["B","A"]},{"name":"B","type":"select","proxies":["A"]}],"rule_sets":[],"rules":[]}`,
			nil, []string{"- A\n", "- B\n  - name: B\n    type: select\n    proxies:\n      - A"}, "file_group_cycle /groups/1/proxies/0\nfile_group_cycle /groups/0/proxies/1\nfile_group_empty /groups/1\n"},
		{"rules", "mihomo", providers, `{"groups":[],"rule_sets":[{"name":"ads","type":"inline"}],"rules":["RULE-SET,ads,DIRECT","RULE-SET,none,DIRECT","AND,((RULE-SET,none),(NETWORK,UDP)),DIRECT","DOMAIN,x,Proxy","SUB-RULE,(NETWORK,UDP),s","SUB-RULE,(NETWORK,UDP),z","nonsense","MATCH,GLOBAL","DOMAIN,y,DIRECT"]}`,
			[]string{"RULE-SET,ads,DIRECT", "SUB-RULE,(NETWORK,UDP),s", "MATCH,GLOBAL", "DOMAIN,y,DIRECT"}, []string{"none", "DOMAIN,x", "nonsense"},
			"file_reference_unknown /rules/1\nfile_reference_unknown /rules/2\nfile_reference_unknown /rules/3\nfile_reference_unknown /rules/5\nfile_reference_unknown /rules/6\nfile_rule_unreachable /rules/8\n"},
		{"default rules over other groups", "mihomo", "", `{"groups":[{"name":"Go","type":"select","proxies":["DIRECT"]}]}`,
			[]string{"GEOIP,CN,DIRECT"}, []string{"MATCH"}, "file_reference_unknown /rules/3\n"},
		{"sing-box members", "sing-box", "", `{"groups":[{"type":"selector","tag":"A","outbounds":["gone"],"default":"gone"},{"type":"urltest","tag":"B","outbounds":["$nodes"]}],"rule_sets":[],"rules":[]}`,
			[]string{`"final": "A"`}, []string{"gone", "default"}, "file_reference_unknown /groups/0/outbounds/0\nfile_group_empty /groups/0\nfile_reference_unknown /groups/0/default\nfile_group_empty /groups/1\n"},
		{"sing-box rules", "sing-box", "", `{"groups":[],"rule_sets":[{"type":"inline","tag":"a","rules":[]}],"rules":[{"rule_set":"a","outbound":"direct"},{"rule_set":["a","z"],"outbound":"direct"},{"type":"logical","mode":"or","rules":[{"rule_set":"z"}],"outbound":"direct"},{"port":1,"outbound":"gone"},{"action":"sniff"},{"outbound":"direct"},{"port":2,"outbound":"direct"}]}`,
			[]string{`"final": "direct"`, `"port": 2`}, []string{"gone", `"z"`}, "file_reference_unknown /rules/1\nfile_reference_unknown /rules/2\nfile_reference_unknown /rules/3\nfile_rule_unreachable /rules/6\n"},
		{"final of the base", "sing-box", `{"route":{"final":"nowhere","find_process":true}}`, "", []string{`"final": "Proxy"`, `"find_process": true`}, []string{"nowhere"}, "file_reference_unknown /route/final\n"},
		{"own direct", "sing-box", "", `{"groups":[{"type":"direct","tag":"direct","udp_fragment":true}],"rule_sets":[],"rules":[]}`, []string{"udp_fragment"}, []string{`"outbounds": [
        `}, ""},
		{"shadowrocket", "shadowrocket", "[General]\n", `{"groups":[{"name":"A","type":"select","proxies":["gone","PROXY"]},{"name":"B","type":"select","proxies":["$nodes"]},{"name":"C","type":"select","policy-regex-filter":"x"}],"rules":["DOMAIN,a.example,gone","FINAL,A","x-new,1"]}`,
			[]string{"A = select,PROXY\n", "B = select,DIRECT\n", "C = select,policy-regex-filter=x\n", "FINAL,A\nx-new,1\n"}, []string{"gone"},
			"file_reference_unknown /groups/0/proxies/0\nfile_group_empty /groups/1\nfile_reference_unknown /rules/0\nfile_rule_unreachable /rules/2\n"},
	} {
		out := compile(t, c.kind, &c.base, c.settings, nil)
		for _, has := range c.has {
			if !strings.Contains(out.Content, has) {
				t.Errorf("%s: %q is missing in\n%s", c.name, has, out.Content)
			}
		}
		for _, hasNot := range c.hasNot {
			if strings.Contains(out.Content, hasNot) {
				t.Errorf("%s: %q is in\n%s", c.name, hasNot, out.Content)
			}
		}
		if got := warnings(out); got != c.warnings {
			t.Errorf("%s: got warnings\n%swant\n%s", c.name, got, c.warnings)
		}
	}
}

func TestNodesDoNotGetTheNamesOfOthers(t *testing.T) {
	for _, kind := range []string{"mihomo", "sing-box", "shadowrocket"} {
		nodes := many(5)
		for i, name := range []string{"Proxy", "Proxy", "DIRECT", "direct", "HK"} {
			nodes[i].Name = name
		}
		out := compile(t, kind, nil, "", nodes)
		seen := map[string]bool{"Proxy": true, "": true}
		for _, name := range out.Nodes.Names {
			if seen[name] || strings.EqualFold(name, "direct") && kind != "mihomo" && name == "direct" {
				t.Errorf("%s: got the names %q", kind, out.Nodes.Names)
			}
			seen[name] = true
		}
		if n := len(slices.DeleteFunc(out.Nodes.Warnings, func(w sandrone.Warning) bool { return w.Code != sandrone.WarnNodeRenamed })); n < 3 {
			t.Errorf("%s: %d nodes renamed, want at least 3", kind, n)
		}
	}
}

func TestTheRestOfABaseStays(t *testing.T) {
	yamlBase := "# head\nanchors:\n  - &a {x: 1}   # one\nrules: # old\n  - MATCH,DIRECT\n  # of the rules\n\n# DNS\ndns:\n  enable: true # on\n  list: [ 'a',\"b\" ]\nproxies:\n- {name: x}\n# tail\n"
	out := compile(t, "mihomo", &yamlBase, empty, nil)
	want := "# head\nanchors:\n  - &a {x: 1}   # one\nrules: []\n\n# DNS\ndns:\n  enable: true # on\n  list: [ 'a',\"b\" ]\nproxies: []\n# tail\nproxy-groups: []\nrule-providers: {}\n"
	if out.Content != want {
		t.Errorf("got\n%s\nwant\n%s", out.Content, want)
	}
	jsonBase := "{\"z\": 12345678901234567890, // note\n\"outbounds\": [1], \"dns\": {\"b\": 1, \"a\": [2.50]}}"
	out = compile(t, "sing-box", &jsonBase, empty, nil)
	var keys []string
	for _, key := range []string{`"z": 12345678901234567890`, `"outbounds"`, `"dns"`, `"b"`, `"a"`, "2.50", `"route"`} {
		keys = append(keys, key)
		if !inOrder(out.Content, keys) {
			t.Fatalf("%v are not in this order in\n%s", keys, out.Content)
		}
	}
	iniBase := "# top\r\n[General]\r\nipv6 = true\r\n[rule]\r\nold\r\n[Host]\r\na = 1  \r\n[Rule]\r\nolder\r\n"
	out = compile(t, "shadowrocket", &iniBase, `{"groups":[],"rules":["FINAL,DIRECT"]}`, nil)
	want = "# top\r\n[General]\r\nipv6 = true\r\n[rule]\r\nFINAL,DIRECT\r\n[Host]\r\na = 1  \r\n[Proxy]\r\n[Proxy Group]\r\n"
	if out.Content != want {
		t.Errorf("got\n%q\nwant\n%q", out.Content, want)
	}
}

func inOrder(s string, parts []string) bool {
	for _, p := range parts {
		i := strings.Index(s, p)
		if i < 0 {
			return false
		}
		s = s[i+len(p):]
	}
	return true
}

func TestABaseOfAnotherSyntaxIsRefused(t *testing.T) {
	for kind, bases := range map[string][]string{
		"mihomo":       {"[a]", "text", "a: [", "a: 1\n b: 2"},
		"sing-box":     {"[]", "{", `"x"`, `{"route":[]}`, "proxies: []"},
		"shadowrocket": {"[]\n", "[a[b]\n"},
	} {
		k, _, _ := files.Find(kind)
		for _, base := range bases {
			_, err := k.Compile(files.Input{Registry: formats.Registry(), Kind: kind, Base: base})
			if e := sandrone.AsError(err); e == nil || e.Code != sandrone.InvalidArgument || e.Field != "source" {
				t.Errorf("%s %q: got %v, want invalid_argument at source", kind, base, err)
			}
		}
	}
}

func TestNodesAreAddedToAFinishedFile(t *testing.T) {
	for _, name := range []string{"mihomo", "sing-box", "shadowrocket"} {
		kind, _, _ := files.Find(name)
		old := many(2)
		old[0].Name, old[1].Name = "old 1", "old 2"
		document := compile(t, name, nil, "", old).Content
		for position, want := range map[string][]string{
			files.Front:   {"new", "old 1 2", "old 1", "old 2"},
			files.Back:    {"old 1", "old 2", "new", "old 1 2"},
			files.Replace: {"new", "old 1"},
		} {
			nodes := many(2)
			nodes[0].Name, nodes[1].Name = "new", "old 1"
			out, err := kind.AddNodes(files.Addition{Registry: formats.Registry(), Kind: name, Document: document, Position: position, Nodes: nodes})
			if err != nil {
				t.Fatal(err)
			}
			if got := nodeNames(t, name, out.Content); !slices.Equal(got, want) {
				t.Errorf("%s %s: got %q, want %q in\n%s", name, position, got, want, out.Content)
			}
		}
	}
}

// nodeNames reads the names of the nodes of a file with readers of its own.
func nodeNames(t *testing.T, kind, text string) (names []string) {
	t.Helper()
	if kind == "shadowrocket" {
		_, text, _ = strings.Cut(text, "[Proxy]\n")
		text, _, _ = strings.Cut(text, "[")
		for l := range strings.Lines(text) {
			name, _, _ := strings.Cut(l, "=")
			names = append(names, name)
		}
		return names
	}
	var d struct {
		Proxies   []struct{ Name string }
		Outbounds []struct{ Tag, Type string }
	}
	if err := yaml.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	for _, p := range d.Proxies {
		names = append(names, p.Name)
	}
	for _, o := range d.Outbounds {
		if o.Type == "trojan" {
			names = append(names, o.Tag)
		}
	}
	return names
}

// readRocket is a strict reader of Shadowrocket files: every line belongs to a
// section that stands once, and what rules and groups name is there.
func readRocket(t *testing.T, text string) map[string][]string {
	t.Helper()
	sections := map[string][]string{}
	current := ""
	for l := range strings.Lines(text) {
		l = strings.TrimRight(l, "\r\n")
		if strings.HasPrefix(l, "[") && strings.HasSuffix(l, "]") {
			current = l[1 : len(l)-1]
			if _, twice := sections[current]; twice {
				t.Errorf("section %q stands twice", current)
			}
			sections[current] = nil
			continue
		}
		if l != "" && current == "" {
			t.Errorf("line %q is in no section", l)
		}
		sections[current] = append(sections[current], l)
	}
	policies := map[string]bool{"PROXY": true, "DIRECT": true, "REJECT": true, "REJECT-DROP": true}
	for _, section := range []string{"Proxy", "Proxy Group"} {
		for _, l := range sections[section] {
			name, rest, ok := strings.Cut(l, "=")
			name = strings.TrimSpace(name)
			if !ok || name == "" || rest == "" || policies[name] {
				t.Errorf("[%s]: %q is no line, or has a name that is taken", section, l)
			}
			policies[name] = true
		}
	}
	for _, l := range sections["Proxy Group"] {
		_, rest, _ := strings.Cut(l, "=")
		members := 0
		for i, part := range strings.Split(strings.TrimSpace(rest), ",") {
			switch {
			case i == 0 && !slices.Contains([]string{"select", "url-test", "fallback", "load-balance", "random"}, part):
				t.Errorf("group %q has the type %q", l, part)
			case i == 0:
			case strings.HasPrefix(part, "policy-regex-filter="):
				members++
			case strings.Contains(part, "=") && slices.Contains([]string{"interval", "timeout", "tolerance", "hidden"}, part[:strings.Index(part, "=")]):
			case policies[part]:
				members++
			default:
				t.Errorf("group %q names %q", l, part)
			}
		}
		if members == 0 {
			t.Errorf("group %q is empty", l)
		}
	}
	for _, l := range sections["Rule"] {
		depth, policy, parts := 0, "", 1
		for _, r := range l {
			switch {
			case r == '(':
				depth++
			case r == ')':
				depth--
			case r == ',' && depth == 0:
				if parts == 2 && strings.HasPrefix(l, "FINAL") || parts == 3 {
					break
				}
				parts, policy = parts+1, ""
				continue
			}
			policy += string(r)
		}
		policy, _, _ = strings.Cut(policy, ",")
		if depth != 0 || !policies[policy] {
			t.Errorf("rule %q names %q", l, policy)
		}
	}
	return sections
}

func TestAStrictReaderTakesEveryShadowrocketFile(t *testing.T) {
	for _, settings := range []string{"", customs["shadowrocket"], empty} {
		for _, nodes := range [][]sandrone.Node{nil, many(1), everyType(), many(10_000)} {
			out := compile(t, "shadowrocket", nil, settings, nodes)
			if got := len(readRocket(t, out.Content)["Proxy"]); got != out.Nodes.Count {
				t.Errorf("got %d nodes, want %d", got, out.Nodes.Count)
			}
		}
	}
}

// twentyGroups are groups that all have all nodes.
func twentyGroups(name string) string {
	group := map[string]string{"mihomo": `{"type":"select","name":"G`, "sing-box": `{"type":"selector","tag":"G`, "shadowrocket": `{"type":"select","name":"G`}[name]
	list := map[string]string{"mihomo": "proxies", "sing-box": "outbounds", "shadowrocket": "proxies"}[name]
	var groups []string
	for i := range 20 {
		groups = append(groups, group+string(rune('a'+i))+`","`+list+`":["$nodes"]}`)
	}
	return `{"groups":[` + strings.Join(groups, ",") + `],"rule_sets":[],"rules":[]}`
}

// A file of ten thousand nodes in twenty groups takes well below the 200 MB
// that it may.
func TestAFewBytesOfSettingsMakeNoHugeFile(t *testing.T) {
	nodes := many(10_000)
	for kind, group := range map[string]string{
		"mihomo":       `{"name":"G%d","type":"select","proxies":["$nodes","$nodes"]}`,
		"sing-box":     `{"tag":"G%d","type":"selector","outbounds":["direct"],"proxies":["$nodes","$nodes"]}`,
		"shadowrocket": `{"name":"G%d","type":"select","proxies":[" $nodes "]}`,
	} {
		var groups []string
		for i := range 2000 {
			groups = append(groups, fmt.Sprintf(group, i))
		}
		k, version, err := files.Find(kind)
		if err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err = k.Compile(files.Input{Registry: formats.Registry(), Kind: kind, Base: k.Base(version), Nodes: nodes,
			Settings: json.RawMessage(`{"groups":[` + strings.Join(groups, ",") + `]}`)})
		runtime.ReadMemStats(&after)
		if e := sandrone.AsError(err); err == nil || e.Code != sandrone.RenderFailed || !strings.HasPrefix(e.Field, "config.settings.groups[") {
			t.Errorf("%s: %v, want render_failed at a group", kind, err)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 64<<20 {
			t.Errorf("%s: %d MiB were allocated to say so", kind, took>>20)
		}
	}
}

func TestALargeFileTakesLittleMemory(t *testing.T) {
	nodes := many(10_000)
	for _, name := range []string{"mihomo", "sing-box", "shadowrocket"} {
		compile(t, name, nil, "", many(1)) // tables are made once
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		out := compile(t, name, nil, twentyGroups(name), nodes)
		runtime.ReadMemStats(&after)
		if n := strings.Count(out.Content, "HK 00001"); n < 21 {
			t.Errorf("%s: a node is named %d times, want 21", name, n)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 200<<20 {
			t.Errorf("%s: %d MiB were allocated", name, took>>20)
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	nodes := many(10_000)
	for _, name := range []string{"mihomo", "sing-box", "shadowrocket"} {
		kind, version, _ := files.Find(name)
		in := files.Input{Registry: formats.Registry(), Kind: name, Base: kind.Base(version), Settings: json.RawMessage(twentyGroups(name)), Nodes: nodes}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := kind.Compile(in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
