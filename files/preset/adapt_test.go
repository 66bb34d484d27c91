package preset_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/files"
	"github.com/sandrone-gateway/sandrone/files/preset"
)

// outline are the groups of settings in short, and what was noted.
func outline(t *testing.T, settings json.RawMessage, problems []preset.Problem) string {
	t.Helper()
	var lines []string
	for _, g := range read(t, preset.Template{Settings: settings}).groups {
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s: %s", g.name, g.kind, strings.Join(g.members, ", "))))
	}
	for _, p := range problems {
		lines = append(lines, strings.TrimSpace("! "+p.Code+" "+p.Group))
	}
	return strings.Join(lines, "\n")
}

const (
	hongKong  = `{"name":"Hong Kong","type":"select","include-all-proxies":true,"filter":"(?i)(?:香港|Hong Kong|HongKong|🇭🇰|\\bHK(?:\\b|\\d)|\\bHKG(?:\\b|\\d))"}`
	proxyOf   = `{"name":"Proxy","type":"select","proxies":[%s]}`
	rocketSet = `{"groups":[{"name":"Proxy","type":"select","proxies":["PROXY","$nodes"]}]}`
)

func TestGroupsByRegion(t *testing.T) {
	groups := func(list ...string) string { return `{"groups":[` + strings.Join(list, ",") + `]}` }
	proxy := func(members ...string) string {
		quoted := make([]string, len(members))
		for i, m := range members {
			quoted[i] = fmt.Sprintf("%q", m)
		}
		return fmt.Sprintf(proxyOf, strings.Join(quoted, ","))
	}
	box := `{"groups":[{"tag":"Proxy","type":"selector","outbounds":["$nodes","direct"]}]}`
	for _, c := range []struct {
		name, kind, settings string
		choice               preset.Choice
		want                 string
	}{
		{"are added in the order of the table and put before the nodes", "mihomo", groups(proxy("Auto", "$nodes", "DIRECT")), preset.Choice{Regions: []string{"jp", "hk"}},
			"Proxy select: Auto, Hong Kong, Japan, $nodes, DIRECT\nHong Kong url-test:\nJapan url-test:"},
		{"go to the end of an anchor without nodes", "mihomo", groups(proxy("DIRECT")), preset.Choice{Regions: []string{"us"}, Type: "load-balance"},
			"Proxy select: DIRECT, United States\nUnited States load-balance:"},
		{"find the anchor in the other language", "mihomo", groups(strings.Replace(proxy("$nodes"), "Proxy", "选择节点", 1)), preset.Choice{Regions: []string{"hk"}},
			"选择节点 select: Hong Kong, $nodes\nHong Kong url-test:"},
		{"replace what was made before", "mihomo", groups(proxy("Hong Kong", "$nodes"), hongKong), preset.Choice{Regions: []string{"hk"}},
			"Proxy select: Hong Kong, $nodes\nHong Kong url-test:"},
		{"go when they are not wanted", "mihomo", groups(proxy("Hong Kong", "$nodes"), hongKong), preset.Choice{},
			"Proxy select: $nodes"},
		{"stay while another group has them", "mihomo", groups(proxy("Hong Kong"), hongKong, `{"name":"G","type":"select","proxies":["Hong Kong"]}`), preset.Choice{},
			"Proxy select: Hong Kong\nHong Kong select:\nG select: Hong Kong\n! referenced_stale_group Hong Kong"},
		{"stay while a rule has them", "mihomo", `{"groups":[` + proxy("$nodes") + `,` + hongKong + `],"rules":["MATCH, Hong Kong"]}`, preset.Choice{},
			"Proxy select: $nodes\nHong Kong select:\n! referenced_stale_group Hong Kong"},
		{"leave a group of the user alone", "mihomo", groups(proxy("$nodes"), strings.Replace(hongKong, "HKG", "HKX", 1)), preset.Choice{Regions: []string{"hk"}},
			"Proxy select: $nodes\nHong Kong select:\n! group_name_conflict Hong Kong"},
		{"never have the name of a node", "mihomo", groups(proxy("$nodes")), preset.Choice{Regions: []string{"hk"}, Nodes: []string{"Hong Kong"}},
			"Proxy select: $nodes\n! node_name_conflict Hong Kong"},
		{"need an anchor", "mihomo", `{"groups":[]}`, preset.Choice{Regions: []string{"hk"}}, "! anchor_missing"},
		{"need one anchor", "mihomo", groups(proxy("a"), proxy("b")), preset.Choice{}, "Proxy select: a\nProxy select: b\n! anchor_duplicate"},
		{"need an anchor to choose from", "mihomo", groups(strings.Replace(proxy("a"), "select", "fallback", 1)), preset.Choice{}, "Proxy fallback: a\n! anchor_type_invalid"},
		{"need an anchor with members", "mihomo", `{"groups":[{"name":"Proxy","type":"select"}]}`, preset.Choice{}, "Proxy select:\n! anchor_members_invalid"},
		{"are made of nodes in sing-box", "sing-box", box, preset.Choice{Regions: []string{"hk", "us", "jp"}, Nodes: []string{"香港 1", "HK02", "美属维京群岛", "New York US"}},
			"Proxy selector: Hong Kong, United States, $nodes, direct\nHong Kong urltest: 香港 1, HK02\nUnited States urltest: New York US\n! empty_regions_skipped Japan"},
		{"are patterns in Shadowrocket", "shadowrocket", rocketSet, preset.Choice{Regions: []string{"hk"}, Type: "select"},
			"Proxy select: PROXY, Hong Kong, $nodes\nHong Kong select:"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := preset.For(c.kind, preset.English)
			if err != nil {
				t.Fatal(err)
			}
			got, problems, err := s.Adapt(json.RawMessage(c.settings), c.choice)
			if err != nil {
				t.Fatal(err)
			}
			if is := outline(t, got, problems); is != c.want {
				t.Errorf("got:\n%s\nwant:\n%s", is, c.want)
			}
			again, _, err := s.Adapt(got, c.choice)
			if err != nil || outline(t, again, problems) != c.want {
				t.Errorf("a second time gives:\n%s, %v", outline(t, again, problems), err)
			}
		})
	}
}

func TestGroupsByRegionPassTheChecksOfTheirKind(t *testing.T) {
	for kind, types := range map[string][]string{"mihomo": {"select", "url-test", "load-balance"}, "sing-box": {"selector", "urltest"}, "shadowrocket": {"select", "url-test", "load-balance"}} {
		s, err := preset.For(kind, preset.English)
		if err != nil {
			t.Fatal(err)
		}
		k, _, err := files.Find(kind)
		if err != nil {
			t.Fatal(err)
		}
		var all, nodes []string
		for _, r := range s.Regions {
			all, nodes = append(all, r.ID), append(nodes, r.Name.Chinese+" 01")
		}
		for _, word := range types {
			for _, template := range s.Templates {
				got, problems, err := s.Adapt(template.Settings, preset.Choice{Regions: all, Type: word, Nodes: nodes})
				if err == nil {
					err = k.CheckSettings(got)
				}
				if err != nil || len(problems) > 0 {
					t.Errorf("%s, %s, %s: %v, %v", kind, word, template.ID, problems, err)
				}
				back, problems, err := s.Adapt(got, preset.Choice{})
				if err != nil || len(problems) > 0 || outline(t, back, nil) != outline(t, template.Settings, nil) {
					t.Errorf("%s, %s, %s: taken back they leave\n%s", kind, word, template.ID, outline(t, back, problems))
				}
			}
		}
	}
}

func TestWhatCannotBeAdaptedIsRefused(t *testing.T) {
	s, err := preset.For("sing-box", preset.English)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		settings string
		choice   preset.Choice
		field    string
	}{
		{`[]`, preset.Choice{}, "settings"},
		{`{"groups":{}}`, preset.Choice{}, "settings.groups"},
		{`{"groups":[1]}`, preset.Choice{}, "settings.groups"},
		{`{"groups":[` + strings.Repeat("{},", 1000) + `{}]}`, preset.Choice{}, "settings.groups"},
		{`{}`, preset.Choice{Regions: []string{"xx"}}, "regions"},
		{`{}`, preset.Choice{Type: "url-test"}, "type"},
	} {
		_, _, err := s.Adapt(json.RawMessage(c.settings), c.choice)
		if e := sandrone.AsError(err); err == nil || e.Code != sandrone.InvalidArgument || e.Field != c.field {
			t.Errorf("%.40s: %v, want invalid_argument at %s", c.settings, err, c.field)
		}
	}
}
