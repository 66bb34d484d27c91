package engine_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/engine"
)

const twoNodes = `ss://YWVzLTEyOC1nY206c2VjcmV0@192.0.2.1:8388#One\ntrojan://secret@b.example.com:443#Two`

func TestACompiledFileHasTheNodesOfItsSubscriptions(t *testing.T) {
	b := newWorkbench(t, nil)
	b.put(t, `{"name":"air","type":"local","content":"`+twoNodes+`"}`,
		`{"name":"far","type":"local","content":"trojan://secret@c.example.com:443#One"}`,
		`{"name":"both","type":"collection","inputs":[{"name":"x","type":"subscription","ref":{"kind":"subscription","name":"far"}}]}`)
	b.putFile(t, `{"name":"m.yaml","kind":"mihomo@1.19","render_cache_ttl_seconds":60,"source":{},"config":{"subscriptions":["air"," ","both"," air "]}}`)
	out := b.read(t, engine.FileRequest{Name: "m.yaml"})
	var d struct{ Proxies []struct{ Name string } }
	if err := yaml.Unmarshal(out.Body, &d); err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(d.Proxies), "[{One} {Two} {One 2} {One 3} {Two 2}]"; got != want {
		t.Errorf("got nodes %s, want %s", got, want)
	}
	if got, want := fmt.Sprint(out.Report.Dependencies), "[{subscription air} {subscription both} {subscription far}]"; got != want {
		t.Errorf("got dependencies %s, want %s", got, want)
	}
	if r := out.Report; r.SourceRefs[0].Kind != "builtin" || r.SourceRefs[0].Name != "mihomo-default" || r.Render.SuccessCount != 5 || out.ContentType != "application/yaml" || out.OneSource {
		t.Errorf("got %+v of type %s", r, out.ContentType)
	}
	for _, w := range out.Report.Warnings {
		if w.Code != sandrone.WarnNodeRenamed || w.Target != "mihomo-proxies@1.19" {
			t.Errorf("got warning %+v", w)
		}
	}
	if again := b.read(t, engine.FileRequest{Name: "m.yaml"}); !again.Cached {
		t.Error("the result was made again")
	}
	b.put(t, `{"name":"far","type":"local","content":"trojan://secret@c.example.com:443#Other"}`)
	if again := b.read(t, engine.FileRequest{Name: "m.yaml"}); again.Cached || !strings.Contains(string(again.Body), "Other") {
		t.Error("a changed subscription is not in the file")
	}
}

func TestStepsOfSubscriptionsSeeWhatTheFileIsAskedFor(t *testing.T) {
	b := newWorkbench(t, nil)
	script, err := json.Marshal(map[string]any{"name": "air", "type": "local", "content": strings.ReplaceAll(twoNodes, `\n`, "\n"), "processors": []any{
		map[string]any{"type": "script", "stage": "nodes", "params": map[string]any{"content": "function main(input) { input.nodes[0].name = [input.target, input.request.args.k, input.request.meta.m].join(' '); return input; }"}}}})
	if err != nil {
		t.Fatal(err)
	}
	b.put(t, string(script))
	b.putFile(t, `{"name":"m.yaml","kind":"mihomo","meta":{"m":"M"},"source":{},"config":{"subscriptions":["air"]}}`)
	out := b.read(t, engine.FileRequest{Name: "m.yaml", Args: map[string]string{"k": "K"}, Target: "phone"})
	if !strings.Contains(string(out.Body), `"phone K M"`) {
		t.Errorf("got\n%s", out.Body)
	}
}

func TestAFileOverWhatIsNotThereFails(t *testing.T) {
	b := newWorkbench(t, nil)
	b.putFile(t, `{"name":"m.yaml","kind":"mihomo","source":{},"config":{"subscriptions":["nobody"]}}`)
	_, err := b.ReadFile(t.Context(), engine.FileRequest{Name: "m.yaml"})
	if e := failure(t, err); e.Code != sandrone.NotFound || e.ResourceKind != "subscription" || e.ResourceName != "nobody" || e.File != "m.yaml" {
		t.Errorf("got %+v", e)
	}
}

func TestDiagnoseOfACompiledFileShowsItsStages(t *testing.T) {
	b := newWorkbench(t, nil)
	b.put(t, `{"name":"air","type":"local","content":"`+twoNodes+`"}`)
	b.putFile(t, `{"name":"m.conf","kind":"shadowrocket","source":{},"config":{"subscriptions":["air"]}}`)
	d, err := b.Diagnose(t.Context(), engine.DiagnoseRequest{File: &engine.StoredOr[sandrone.FileSpec]{Name: "m.conf"}})
	if err != nil || d.Status != "ok" {
		t.Fatalf("got %+v, %v", d, err)
	}
	var stages []string
	for _, s := range d.Stages {
		stages = append(stages, s.Scope+" "+s.Kind)
	}
	if got, want := fmt.Sprint(stages), "[input parse subscription:air materialize file:m.conf compile]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if !strings.Contains(string(d.File.Content), "One=ss,") {
		t.Errorf("got\n%s", d.File.Content)
	}
}

// The groups of a template in another program's notation: "[]" before a name,
// a bare pattern for all nodes, the options of a test after its address.
func TestTemplateCaseOfTheField(t *testing.T) {
	text, err := os.ReadFile("testdata/field/template.json")
	if err != nil {
		t.Fatal(err)
	}
	var c struct {
		Input struct {
			Nodes  []string
			Config string
		}
		Expect struct {
			Groups map[string]struct {
				Type                string
				Proxies             []string
				Interval, Tolerance int
			}
			RulesLast string `json:"rules_last"`
		}
	}
	if err := json.Unmarshal(text, &c); err != nil {
		t.Fatal(err)
	}
	settings := templateSettings(t, c.Input.Config)
	b := newWorkbench(t, nil)
	content, _ := json.Marshal(strings.Join(c.Input.Nodes, "\n"))
	b.put(t, `{"name":"air","type":"local","content":`+string(content)+`}`)
	b.putFile(t, `{"name":"m.yaml","kind":"mihomo","source":{},"config":{"subscriptions":["air"],"settings":`+settings+`}}`)
	var d struct {
		Groups []struct {
			Name, Type, URL     string
			Proxies             []string
			Interval, Tolerance int
		} `yaml:"proxy-groups"`
		Rules []string
	}
	if err := yaml.Unmarshal(b.read(t, engine.FileRequest{Name: "m.yaml"}).Body, &d); err != nil {
		t.Fatal(err)
	}
	if len(d.Groups) != len(c.Expect.Groups) || len(d.Rules) == 0 || d.Rules[len(d.Rules)-1] != c.Expect.RulesLast {
		t.Errorf("got %+v", d)
	}
	for _, g := range d.Groups {
		want := c.Expect.Groups[g.Name]
		if g.Type != want.Type || fmt.Sprint(g.Proxies) != fmt.Sprint(want.Proxies) || g.Interval != want.Interval || g.Tolerance != want.Tolerance {
			t.Errorf("got %+v, want %+v", g, want)
		}
	}
}

// templateSettings writes the lines of a template as settings.
func templateSettings(t *testing.T, config string) string {
	t.Helper()
	var groups []map[string]any
	var rules []string
	for line := range strings.Lines(config) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		switch {
		case !ok:
		case key == "custom_proxy_group":
			parts := strings.Split(value, "`")
			g := map[string]any{"name": parts[0], "type": parts[1]}
			var members []string
			for i, p := range parts[2:] {
				name, literal := strings.CutPrefix(p, "[]")
				switch u, err := url.Parse(p); {
				case literal:
					members = append(members, name)
				case p == ".*":
					members = append(members, "$nodes")
				case err == nil && u.Host != "":
					g["url"] = p
					var interval, tolerance int
					if _, err := fmt.Sscanf(parts[2+i+1], "%d,,%d", &interval, &tolerance); err != nil {
						t.Fatal(err)
					}
					g["interval"], g["tolerance"] = interval, tolerance
				}
			}
			g["proxies"] = members
			groups = append(groups, g)
		case key == "ruleset":
			policy, _, _ := strings.Cut(value, ",")
			rules = append(rules, "MATCH,"+policy)
		}
	}
	text, err := json.Marshal(map[string]any{"groups": groups, "rule_sets": []any{}, "rules": rules})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestNodesAreAddedToAFinishedFile(t *testing.T) {
	b := newWorkbench(t, nil)
	b.put(t, `{"name":"air","type":"local","content":"`+twoNodes+`"}`,
		`{"name":"far","type":"local","content":"trojan://secret@c.example.com:443#One"}`,
		`{"name":"named","type":"local","content":"trojan://secret@c.example.com:443#X","processors":[{"type":"script","stage":"nodes","params":{"content":
			"function main(input) { const args = input.request.args || {}; input.nodes[0].name = [args.a, args.b].join('.'); return input; }"}}]}`)
	for _, c := range []struct {
		name, kind, params, want string
	}{
		{"behind", "mihomo", `{"subscriptions":["far"],"position":"back"}`, `"name":"One".*"name":"Two".*"name":"One 2"`},
		{"in front", "mihomo@1.18", `{"subscriptions":["far"],"position":"front"}`, `"name":"One 2".*"name":"One".*"name":"Two"`},
		{"in place", "mihomo", `{"subscriptions":["far", "far"]}`, `^{[^\[]*"proxies":\[[^\]]*"name":"One"[^\]]*"name":"One 2"[^\]]*\]`},
		{"in sing-box", "sing-box", `{"subscriptions":["far"],"position":"back"}`, `"tag": "One 2"`},
		{"in Shadowrocket", "shadowrocket", `{"subscriptions":["far"],"position":"back"}`, `Two=trojan[^\n]*\nOne 2=trojan`},
		{"args of the request", "mihomo", `{"subscriptions":["named"],"position":"back"}`, `"name":"1.2"`},
		{"args of the step", "mihomo", `{"subscriptions":["named"],"position":"back","args":{"b":"3"}}`, `"name":".3"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			b.putFile(t, `{"name":"m","kind":"`+c.kind+`","source":{},"config":{"subscriptions":["air"]},"processors":[{"type":"add_nodes","params":`+c.params+`}]}`)
			out := b.read(t, engine.FileRequest{Name: "m", Args: map[string]string{"a": "1", "b": "2"}})
			text := string(out.Body)
			if strings.HasPrefix(c.kind, "mihomo") {
				var d map[string]any
				if err := yaml.Unmarshal(out.Body, &d); err != nil {
					t.Fatal(err)
				}
				flat, err := json.Marshal(map[string]any{"proxies": d["proxies"]})
				if err != nil {
					t.Fatal(err)
				}
				text = string(flat)
			}
			if !regexp.MustCompile(c.want).MatchString(text) {
				t.Errorf("got\n%s", text)
			}
			var deps []string
			for _, d := range out.Report.Dependencies {
				deps = append(deps, d.Name)
			}
			var step struct{ Subscriptions []string }
			if err := json.Unmarshal([]byte(c.params), &step); err != nil || !slices.Contains(deps, step.Subscriptions[0]) {
				t.Errorf("got dependencies %v", deps)
			}
		})
	}
}

func TestNodesThatCannotBeAdded(t *testing.T) {
	b := newWorkbench(t, nil)
	b.put(t, `{"name":"air","type":"local","content":"`+twoNodes+`"}`,
		`{"name":"round","type":"local","content":"`+twoNodes+`","processors":[{"type":"script","stage":"nodes","params":{"source":{"type":"file","name":"m"}}}]}`)
	for _, c := range []struct {
		name, kind, steps string
		code              sandrone.Code
		index             int
	}{
		{"no such subscription", "mihomo", `{"type":"add_nodes","params":{"subscriptions":["nobody"]}}`, sandrone.NotFound, 0},
		{"a circle", "mihomo", `{"type":"add_nodes","params":{"subscriptions":["round"]}}`, sandrone.Conflict, 0},
		{"a text that is no client file", "static", `{"type":"add_nodes","params":{"subscriptions":["air"]}}`, sandrone.ProcessorConfigInvalid, 0},
		{"a document that steps before have broken", "sing-box", `{"type":"merge","params":{"mode":"replace","content":"[1"}},{"type":"add_nodes","params":{"subscriptions":["air"]}}`, sandrone.FileProcessorFailed, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			b.putFile(t, `{"name":"m","kind":"`+c.kind+`","source":{"type":"inline","content":""},"processors":[`+c.steps+`]}`)
			_, err := b.ReadFile(t.Context(), engine.FileRequest{Name: "m"})
			if e := failure(t, err); e.Code != c.code || e.Processor != "add_nodes" || e.ProcessorIndex == nil || *e.ProcessorIndex != c.index || e.File != "m" {
				t.Errorf("got %+v", e)
			}
		})
	}
}
