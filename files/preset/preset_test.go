package preset_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/files"
	"github.com/sandrone-gateway/sandrone/files/preset"
	"github.com/sandrone-gateway/sandrone/files/ruleset"
)

var update = flag.Bool("update", false, "rewrite the golden files with what the code gives")

// kinds are all that there are presets for, in every version.
func kinds() (list []string) {
	for _, k := range files.Kinds() {
		if !k.Typed() {
			continue
		}
		list = append(list, k.Name)
		for _, v := range k.Versions {
			list = append(list, k.Name+"@"+v)
		}
	}
	return list
}

// each calls test with every set there is.
func each(t *testing.T, test func(t *testing.T, s *preset.Set, locale string)) {
	for _, kind := range kinds() {
		for _, locale := range []string{preset.English, preset.Chinese} {
			t.Run(kind+" "+locale, func(t *testing.T) {
				s, err := preset.For(kind, locale)
				if err != nil {
					t.Fatal(err)
				}
				test(t, s, locale)
			})
		}
	}
}

func base(kind string) string { name, _, _ := strings.Cut(kind, "@"); return name }

func TestASetIsAskedForByKindVersionAndLanguage(t *testing.T) {
	for _, c := range []struct{ kind, locale, field string }{
		{"static", "", "kind"}, {"", "", "kind"}, {"Mihomo", "", "kind"}, {"sing-box@1.10", "", "kind"},
		{"shadowrocket@1", "", "kind"}, {"mihomo", "fr", "locale"}, {"mihomo", "zh-cn", "locale"},
	} {
		_, err := preset.For(c.kind, c.locale)
		e := sandrone.AsError(err)
		if err == nil || e.Code != sandrone.InvalidArgument || e.Field != c.field {
			t.Errorf("%q %q: %v, want invalid_argument at %s", c.kind, c.locale, err, c.field)
		} else if strings.Contains(e.Message, "static") {
			t.Errorf("%q: %q offers a kind that has no set", c.kind, e.Message)
		}
	}
	s, err := preset.For("sing-box@1.11", "")
	if err != nil || s.Kind != "sing-box@1.11" {
		t.Errorf("kind is %q, %v; want it as asked", s.Kind, err)
	}
}

func TestWhatIsPublishedIsComplete(t *testing.T) {
	id := regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	each(t, func(t *testing.T, s *preset.Set, locale string) {
		var ids []string
		for _, item := range s.Items {
			ids = append(ids, item.ID)
		}
		for i, item := range s.Items {
			if !id.MatchString(item.ID) || slices.Contains(ids[:i], item.ID) {
				t.Errorf("bad or repeated id %q", item.ID)
			}
			if !slices.Contains([]string{"network", "platform", "tailscale"}, item.Category) {
				t.Errorf("%s: category %q", item.ID, item.Category)
			}
			for what, text := range map[string]preset.Text{"title": item.Title, "effect": item.Effect, "risk": item.Risk} {
				if text.English == "" || text.Chinese == "" {
					t.Errorf("%s: no %s in some language", item.ID, what)
				}
			}
			if (item.Needs.English == "") != (item.Needs.Chinese == "") {
				t.Errorf("%s: needs are told in one language only", item.ID)
			}
			for _, other := range slices.Concat(item.Dependencies, item.Conflicts) {
				if !slices.Contains(ids, other) || other == item.ID {
					t.Errorf("%s names %q, which is not offered", item.ID, other)
				}
			}
			for _, other := range s.Items {
				if slices.Contains(item.Conflicts, other.ID) && !slices.Contains(other.Conflicts, item.ID) {
					t.Errorf("%s conflicts with %s, but not the other way round", item.ID, other.ID)
				}
			}
			if len(item.Steps) != 1 || item.Steps[0].Stage != sandrone.FileStage || item.Steps[0].Name != item.Title.In(locale) {
				t.Errorf("%s: steps %+v", item.ID, item.Steps)
			}
			if s.Recognise(item.Steps[0]) != item.ID {
				t.Errorf("%s is not recognised", item.ID)
			}
			if !json.Valid(item.ArgsSchema) {
				t.Errorf("%s: args schema %s", item.ID, item.ArgsSchema)
			}
		}
		for _, r := range s.Regions {
			include, exclude := regexp.MustCompile(r.Pattern), regexp.MustCompile(r.Exclude)
			for _, name := range []string{r.Name.English, r.Name.Chinese, strings.ToUpper(r.ID) + "01"} {
				if r.ID == "uk" && name == "UK01" || r.ID != "uk" {
					if !include.MatchString(name) || r.Exclude != "" && exclude.MatchString(name) {
						t.Errorf("%s does not find %q", r.ID, name)
					}
				}
			}
		}
		if len(s.Regions) != 22 || len(s.Bases) != 1 || s.Bases[0].Content == "" {
			t.Errorf("%d regions, %d bases", len(s.Regions), len(s.Bases))
		}
	})
}

func TestPresetsOfEachClient(t *testing.T) {
	for kind, want := range map[string]string{
		"mihomo":        "+ntp-direct +sniffer +tun fake-ip-compat quic-fallback udp-p2p-eim linux-tun-acceleration windows-relaxed-route tailscale-native tailscale-external tailnet-share github-rule-source-mirror",
		"sing-box":      "+sniff +ntp-direct quic-fallback udp-p2p-eim linux-tun-acceleration windows-relaxed-route mptcp-direct tailscale-native tailscale-external github-rule-source-mirror",
		"sing-box@1.12": "+sniff +ntp-direct quic-fallback udp-p2p-eim linux-tun-acceleration windows-relaxed-route tailscale-external github-rule-source-mirror",
		"sing-box@1.11": "+sniff +ntp-direct quic-fallback udp-p2p-eim linux-tun-acceleration windows-relaxed-route tailscale-external github-rule-source-mirror",
		"shadowrocket":  "+ntp-direct tailscale-native tailscale-external github-rule-source-mirror",
	} {
		s, err := preset.For(kind, "")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, item := range s.Items {
			if item.DefaultOn {
				item.ID = "+" + item.ID
			}
			got = append(got, item.ID)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s offers %s\nwant %s", kind, strings.Join(got, " "), want)
		}
	}
}

func TestTemplatesPassTheChecksOfTheirKind(t *testing.T) {
	each(t, func(t *testing.T, s *preset.Set, _ string) {
		k, _, err := files.Find(s.Kind)
		if err != nil {
			t.Fatal(err)
		}
		for _, template := range s.Templates {
			if err := k.CheckSettings(template.Settings); err != nil {
				t.Errorf("%s: %v", template.ID, err)
			}
		}
	})
}

func TestTemplatesNameNothingThatIsNotThere(t *testing.T) {
	each(t, func(t *testing.T, s *preset.Set, _ string) {
		known := make(map[string]bool)
		items, err := ruleset.Items(base(s.Kind))
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range items {
			known[item.URL] = true
		}
		for _, template := range s.Templates {
			p := read(t, template)
			if len(p.groups) != template.GroupCount || len(p.sets) != template.RuleSetCount || len(p.rules) != template.RuleCount {
				t.Errorf("%s: counts are wrong", template.ID)
			}
			for name, url := range p.sets {
				// For Shadowrocket there are domain lists of the other collection.
				if !known[url] && !strings.HasPrefix(url, "https://raw.githubusercontent.com/MetaCubeX/meta-rules-dat/meta/geo/geosite/") {
					t.Errorf("%s: %s is not in the catalogue: %s", template.ID, name, url)
				}
			}
			for _, g := range p.groups {
				for _, m := range g.members {
					if !p.isPolicy(m) && m != "$nodes" {
						t.Errorf("%s: group %s has the member %s", template.ID, g.name, m)
					}
					if m == g.name {
						t.Errorf("%s: group %s is in itself", template.ID, m)
					}
				}
			}
			for _, r := range p.rules {
				if r.set != "" && p.sets[r.set] == "" {
					t.Errorf("%s: no rule set %s", template.ID, r.set)
				}
				if r.policy != "" && !p.isPolicy(r.policy) {
					t.Errorf("%s: no policy %s", template.ID, r.policy)
				}
			}
		}
	})
}

// parts are settings, whatever the client.
type parts struct {
	groups []group
	sets   map[string]string // addresses by name
	rules  []rule
}

type group struct {
	name, kind string
	members    []string
}

type rule struct{ text, set, policy string }

func (p *parts) isPolicy(name string) bool {
	return slices.Contains(strings.Fields("DIRECT REJECT PROXY direct block"), name) ||
		slices.ContainsFunc(p.groups, func(g group) bool { return g.name == name })
}

// read takes settings apart.
func read(t *testing.T, template preset.Template) *parts {
	t.Helper()
	var s struct {
		Groups []struct {
			Name, Tag, Type    string
			Proxies, Outbounds []string
		}
		RuleSets []struct{ Name, Tag, URL string } `json:"rule_sets"`
		Rules    []json.RawMessage
	}
	if err := json.Unmarshal(template.Settings, &s); err != nil {
		t.Fatal(err)
	}
	p := &parts{sets: make(map[string]string)}
	for _, g := range s.Groups {
		p.groups = append(p.groups, group{g.Name + g.Tag, g.Type, append(g.Proxies, g.Outbounds...)})
	}
	for _, set := range s.RuleSets {
		p.sets[set.Name+set.Tag] = set.URL
	}
	for _, raw := range s.Rules {
		var text string
		if json.Unmarshal(raw, &text) == nil {
			part := strings.Split(text, ",")
			switch part[0] {
			case "MATCH", "FINAL":
				p.rules = append(p.rules, rule{text: text, policy: part[1]})
			case "RULE-SET", "DOMAIN-SET":
				p.rules = append(p.rules, rule{text, part[1], part[2]})
			default:
				p.rules = append(p.rules, rule{text: text, policy: part[2]})
			}
			continue
		}
		var o struct {
			RuleSet  []string `json:"rule_set"`
			Outbound string
		}
		if err := json.Unmarshal(raw, &o); err != nil {
			t.Fatal(err)
		}
		p.rules = append(p.rules, rule{string(raw), strings.Join(o.RuleSet, " "), o.Outbound})
	}
	return p
}

func TestTemplates(t *testing.T) {
	var b strings.Builder
	for _, kind := range []string{"mihomo", "sing-box", "shadowrocket"} {
		for _, locale := range []string{preset.English, preset.Chinese} {
			s, err := preset.For(kind, locale)
			if err != nil {
				t.Fatal(err)
			}
			for _, template := range s.Templates {
				p := read(t, template)
				fmt.Fprintf(&b, "## %s, %s, %s: %d groups, %d rule sets, %d rules\n", kind, locale, template.ID, template.GroupCount, template.RuleSetCount, template.RuleCount)
				if locale == preset.Chinese && template.ID != "minimal" {
					continue
				}
				for _, g := range p.groups {
					fmt.Fprintf(&b, "%s = %s: %s\n", g.name, g.kind, strings.Join(g.members, ", "))
				}
				for _, r := range p.rules {
					fmt.Fprintf(&b, "- %s\n", r.text)
					if url := p.sets[r.set]; url != "" {
						fmt.Fprintf(&b, "  %s\n", strings.TrimPrefix(url, "https://raw.githubusercontent.com/"))
					}
				}
			}
		}
	}
	golden(t, "testdata/templates.txt", b.String())
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is not what the code gives; -update shows the difference", file)
	}
}
