package files_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/files"
)

func TestSettingsAreRefusedWithTheirPath(t *testing.T) {
	group := func(rest string) string { return `{"groups":[{"name":"A","type":"select",` + rest + `}]}` }
	rules := func(rule string) string {
		text, _ := json.Marshal(rule)
		return `{"rules":[` + string(text) + `]}`
	}
	for _, c := range []struct {
		kind, settings, field, has string
	}{
		{"mihomo", `[]`, "config.settings", "must be an object"},
		{"mihomo", `{"dns":{}}`, "config.settings.dns", "config.settings.dns: unknown field"},
		{"mihomo", `{"groups":null}`, "config.settings.groups", "must not be null"},
		{"mihomo", `{"groups":{}}`, "config.settings.groups", "must be an array"},
		{"mihomo", `{"groups":["Proxy"]}`, "config.settings.groups[0]", "must be an object"},
		{"mihomo", `{"groups":[{"type":"select"}]}`, "config.settings.groups[0].name", "is required"},
		{"mihomo", `{"groups":[{"name":"A"},{"name":"A"}]}`, "config.settings.groups[1].name", "is duplicated"},
		{"mihomo", `{"groups":[{"name":"DIRECT"}]}`, "config.settings.groups[0].name", "built-in policy"},
		{"mihomo", `{"groups":[{"name":"A","proxies":"$nodes"}]}`, "config.settings.groups[0].proxies", "must be an array"},
		{"mihomo", `{"groups":[{"name":"A","proxies":["B",1]}]}`, "config.settings.groups[0].proxies[1]", "must be a string"},
		{"mihomo", `{"rule_sets":[{"type":"http"}]}`, "config.settings.rule_sets[0].name", "is required"},
		{"mihomo", `{"rule_sets":[{"name":" "}]}`, "config.settings.rule_sets[0].name", "must not be empty"},
		{"mihomo", `{"rule_sets":[{"name":"a"},{"name":" a "}]}`, "config.settings.rule_sets[1].name", "is duplicated"},
		{"mihomo", `{"rules":[1]}`, "config.settings.rules[0]", "must be a string"},
		{"mihomo", `{"adaptive_groups":{"mode":"x"}}`, "config.settings.adaptive_groups.mode", "unknown field"},
		{"mihomo", `{"adaptive_groups":null}`, "config.settings.adaptive_groups", "must not be null"},
		{"sing-box", `{"adaptive_groups":{}}`, "config.settings.adaptive_groups", "unknown field"},
		{"sing-box", `{"groups":[{"type":"selector"}]}`, "config.settings.groups[0].tag", "is required"},
		{"sing-box", `{"groups":[{"tag":"A","outbounds":{}}]}`, "config.settings.groups[0].outbounds", "must be an array"},
		{"sing-box", `{"rules":["MATCH"]}`, "config.settings.rules[0]", "must be an object"},
		{"sing-box", `{"rule_sets":[{"tag":"a"},{"tag":["b","a"]}]}`, "config.settings.rule_sets[1].tag[1]", "is duplicated"},
		{"shadowrocket", `{"groups":[{"name":"A","type":"select","proxies":[],"x":1}]}`, "config.settings.groups[0].x", "unknown field"},
		{"shadowrocket", `{"groups":[{"name":"A","proxies":[]}]}`, "config.settings.groups[0].type", "is required"},
		{"shadowrocket", `{"groups":[{"name":"A","type":"relay","proxies":[]}]}`, "config.settings.groups[0].type", "must be one of"},
		{"shadowrocket", `{"groups":[{"name":null,"type":"select","proxies":[]}]}`, "config.settings.groups[0].name", "must not be null"},
		{"shadowrocket", `{"groups":[{"name":"A,B","type":"select","proxies":[]}]}`, "config.settings.groups[0].name", "comma"},
		{"shadowrocket", `{"groups":[{"name":"#A","type":"select","proxies":[]}]}`, "config.settings.groups[0].name", "must not begin"},
		{"shadowrocket", `{"groups":[{"name":"$nodes","type":"select","proxies":[]}]}`, "config.settings.groups[0].name", "must not be $nodes"},
		{"shadowrocket", `{"groups":[{"name":"reject","type":"select","proxies":[]}]}`, "config.settings.groups[0].name", "built-in policy"},
		{"shadowrocket", `{"groups":[{"name":"REJECT-DROP","type":"select","proxies":[]}]}`, "config.settings.groups[0].name", "built-in policy"},
		{"shadowrocket", group(`"proxies":["x"],"policy-regex-filter":"y"`), "config.settings.groups[0]", "exactly one of"},
		{"shadowrocket", group(`"hidden":true`), "config.settings.groups[0]", "exactly one of"},
		{"shadowrocket", group(`"proxies":["x"," x "]`), "config.settings.groups[0].proxies[1]", "is duplicated"},
		{"shadowrocket", group(`"proxies":[" "]`), "config.settings.groups[0].proxies[0]", "must not be empty"},
		{"shadowrocket", group(`"policy-regex-filter":"a,b"`), "config.settings.groups[0].policy-regex-filter", "comma"},
		{"shadowrocket", group(`"proxies":[],"interval":0`), "config.settings.groups[0].interval", "1 to 86400"},
		{"shadowrocket", group(`"proxies":[],"timeout":1.5`), "config.settings.groups[0].timeout", "1 to 300"},
		{"shadowrocket", group(`"proxies":[],"tolerance":65536`), "config.settings.groups[0].tolerance", "0 to 65535"},
		{"shadowrocket", group(`"proxies":[],"hidden":1`), "config.settings.groups[0].hidden", "must be a boolean"},
		{"shadowrocket", `{"groups":[{"name":"A","type":"select","proxies":["B"]},{"name":"B","type":"select","proxies":["A"]}]}`, "config.settings.groups[1]", "contains a reference cycle"},
		{"shadowrocket", `{"rule_sets":[{"name":"a","type":"http","url":"https://a.example"}]}`, "config.settings.rule_sets[0].type", "must be one of"},
		{"shadowrocket", `{"rule_sets":[{"name":"a","type":"rule-set","url":"/etc/x"}]}`, "config.settings.rule_sets[0].url", "must be an http"},
		{"shadowrocket", rules(""), "config.settings.rules[0]", "must not be empty"},
		{"shadowrocket", rules("a\nb"), "config.settings.rules[0]", "one line"},
		{"shadowrocket", rules("[Rule]"), "config.settings.rules[0]", "must not begin with ["},
		{"shadowrocket", rules("FINAL"), "config.settings.rules[0]", "needs a policy"},
		{"shadowrocket", rules("domain,example.com"), "config.settings.rules[0]", "needs a value and a policy"},
		{"shadowrocket", rules("AND,((PROTOCOL,UDP),DIRECT"), "config.settings.rules[0]", "unbalanced"},
		{"shadowrocket", rules("RULE-SET,ads,REJECT"), "config.settings.rules[0]", "must name a rule set"},
		{"shadowrocket", `{"adaptive_groups":{"type":"fallback"}}`, "config.settings.adaptive_groups.type", "must be one of"},
		{"shadowrocket", `{"adaptive_groups":{"regions":["hk","xx"]}}`, "config.settings.adaptive_groups.regions[1]", "no known region"},
		{"shadowrocket", `{"adaptive_groups":{"regions":["hk","hk"]}}`, "config.settings.adaptive_groups.regions[1]", "is duplicated"},
	} {
		kind, _, err := files.Find(c.kind)
		if err != nil {
			t.Fatal(err)
		}
		e := sandrone.AsError(kind.CheckSettings(json.RawMessage(c.settings)))
		if e == nil || e.Code != sandrone.InvalidArgument || e.Field != c.field || !strings.Contains(e.Message, c.has) ||
			!strings.HasPrefix(e.Message, `file kind "`+c.kind+`" config.settings`) {
			t.Errorf("%s %s:\n got %v (%v)\nwant %s … %s", c.kind, c.settings, e, e != nil && e.Field != "", c.field, c.has)
		}
	}
}

func TestGoodSettingsPass(t *testing.T) {
	for _, kind := range files.Kinds() {
		for _, settings := range []string{"", "{}", empty, customs[kind.Name], string(kind.DefaultSettings(kind.DefaultVersion))} {
			if err := kind.CheckSettings(json.RawMessage(settings)); err != nil {
				t.Errorf("%s %s: %v", kind.Name, settings, err)
			}
		}
	}
	for _, name := range []string{"mihomo", "shadowrocket"} {
		kind, _, _ := files.Find(name)
		if err := kind.CheckSettings(json.RawMessage(`{"adaptive_groups":{"type":"url-test","regions":["hk","jp"]}}`)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestKindsAndVersionsAreFoundByTheirExactNames(t *testing.T) {
	for name, want := range map[string]string{
		"static": "", "mihomo": "1.19", "mihomo@1.18": "1.18", "sing-box": "1.13", "sing-box@1.14": "1.14", "shadowrocket": "",
		"Mihomo": "error", "clash": "error", "": "error", "mihomo@": "error", "mihomo@1.20": "error", "static@1": "error", "sing-box@1.10": "error",
	} {
		_, version, err := files.Find(name)
		if want == "error" {
			if e := sandrone.AsError(err); e == nil || e.Code != sandrone.InvalidArgument || e.Field != "kind" {
				t.Errorf("%q: got %v, want invalid_argument at kind", name, err)
			}
		} else if err != nil || version != want {
			t.Errorf("%q: got %q, %v; want %q", name, version, err, want)
		}
	}
}
