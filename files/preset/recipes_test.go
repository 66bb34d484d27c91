package preset_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert/formats"
	"github.com/sandrone-gateway/sandrone/engine"
	"github.com/sandrone-gateway/sandrone/files/preset"
	"github.com/sandrone-gateway/sandrone/processors"
	"github.com/sandrone-gateway/sandrone/processors/script"
	"github.com/sandrone-gateway/sandrone/store"
)

// chain makes files of one kind through the whole program.
type chain struct {
	*engine.Engine
	spec sandrone.FileSpec
}

func newChain(t *testing.T, kind, base string, settings json.RawMessage) *chain {
	t.Helper()
	return &chain{newEngine(t), sandrone.FileSpec{Kind: kind, Source: &sandrone.FileSource{Type: sandrone.FileInline, Content: &base},
		Config: &sandrone.FileConfig{Subscriptions: []string{"air"}, Settings: settings}}}
}

// newEngine has a subscription air of three nodes.
func newEngine(t *testing.T) *engine.Engine {
	t.Helper()
	scripts := script.InProcess(script.Options{})
	t.Cleanup(func() { scripts.Close() })
	e, err := engine.New(engine.Options{
		Registry: formats.Registry(),
		Settings: sandrone.DefaultSettings(),
		Store:    store.New(store.Memory(), store.Options{}),
		Steps:    processors.New(processors.Options{Scripts: engine.ScriptType()}),
		Scripts:  scripts,
	})
	if err != nil {
		t.Fatal(err)
	}
	text := "trojan://secret@192.0.2.1:443?sni=a.example.com#香港 1\ntrojan://secret@192.0.2.2:443?sni=a.example.com#Tokyo\nss://YWVzLTEyOC1nY206cHc@192.0.2.3:8388#US"
	air := &sandrone.Subscription{Name: "air", Type: "local", Content: text}
	if _, err := e.PutSubscription(t.Context(), air, store.Precondition{}); err != nil {
		t.Fatal(err)
	}
	return e
}

func (c *chain) try(t *testing.T, steps []sandrone.ProcessorSpec, args map[string]string) (string, error) {
	t.Helper()
	draft := c.spec
	draft.Processors = steps
	made, err := c.ReadFile(t.Context(), engine.FileRequest{Draft: &draft, Args: args})
	if err != nil {
		return "", err
	}
	return string(made.Body), nil
}

func (c *chain) run(t *testing.T, steps []sandrone.ProcessorSpec) string {
	t.Helper()
	text, err := c.try(t, steps, nil)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// fails checks that a step stops its file with script_runtime.
func (c *chain) fails(t *testing.T, what string, steps []sandrone.ProcessorSpec, args map[string]string) {
	t.Helper()
	if text, err := c.try(t, steps, args); err == nil || sandrone.AsError(err).Code != sandrone.ScriptRuntime || text != "" {
		t.Errorf("%s: got %v and %d bytes, want script_runtime and none", what, err, len(text))
	}
}

func minimal(t *testing.T, s *preset.Set) json.RawMessage {
	t.Helper()
	i := slices.IndexFunc(s.Templates, func(t preset.Template) bool { return t.ID == "minimal" })
	if i < 0 {
		t.Fatal("there is no minimal template")
	}
	return s.Templates[i].Settings
}

// recipe is what the script of a step is to carry out, nil for other steps.
func recipe(t *testing.T, step sandrone.ProcessorSpec) map[string]json.RawMessage {
	t.Helper()
	var params struct {
		Args struct {
			Recipe map[string]json.RawMessage `json:"recipe"`
		} `json:"args"`
	}
	if err := json.Unmarshal(step.Params, &params); err != nil {
		t.Fatal(err)
	}
	return params.Args.Recipe
}

func TestEveryPresetDoesItsWorkOnce(t *testing.T) {
	each(t, func(t *testing.T, s *preset.Set, _ string) {
		c := newChain(t, s.Kind, s.Bases[0].Content, minimal(t, s))
		for _, item := range s.Items {
			added, err := s.Add(nil, item.ID, preset.Args{})
			if err != nil {
				t.Fatal(err)
			}
			own := slices.IndexFunc(added.Steps, func(step sandrone.ProcessorSpec) bool { return s.Recognise(step) == item.ID })
			before, once := c.run(t, slices.Delete(slices.Clone(added.Steps), own, own+1)), c.run(t, added.Steps)
			if once == before {
				t.Errorf("%s changes nothing", item.ID)
			}
			if twice := c.run(t, append(slices.Clone(added.Steps), added.Steps[own])); twice != once {
				t.Errorf("%s changes its own work", item.ID)
			}
			if all := c.run(t, append(slices.Clone(added.Steps), added.Steps...)); !same(t, all, once) {
				t.Errorf("%s and what it depends on, run twice, come to something else", item.ID)
			}
			for _, arg := range []string{"preset_id", "recipe", "auth_key", "replacements", "rules", "content"} {
				text, err := c.try(t, added.Steps, map[string]string{arg: `{"first":["FINAL,REJECT"]}`})
				if err == nil && text != once || err != nil && sandrone.AsError(err).Code != sandrone.ScriptRuntime {
					t.Errorf("%s lets a request set its %s: %v", item.ID, arg, err)
				}
				if arg == "recipe" && item.Steps[0].Type == "script" && err == nil {
					t.Errorf("%s does not refuse a request that sets its recipe", item.ID)
				}
			}
		}
	})
}

// same reports whether two files say the same to their client.
func same(t *testing.T, a, b string) bool {
	t.Helper()
	if a == b {
		return true
	}
	var x, y any
	if yaml.Unmarshal([]byte(a), &x) != nil || yaml.Unmarshal([]byte(b), &y) != nil {
		return false
	}
	return reflect.DeepEqual(x, y)
}

func TestPresetsFailWhereTheirPlaceIsMissing(t *testing.T) {
	each(t, func(t *testing.T, s *preset.Set, _ string) {
		bare := newChain(t, s.Kind, s.Bases[0].Content, json.RawMessage(`{"rules":[]}`))
		var anchored, tunnelled int
		for _, item := range s.Items {
			added, err := s.Add(nil, item.ID, preset.Args{})
			if err != nil {
				t.Fatal(err)
			}
			r := recipe(t, item.Steps[0])
			if r["rules"] != nil {
				anchored++
				bare.fails(t, item.ID+" without a rule to stand before", added.Steps, nil)
			}
			if r["tun"] == nil && r["exclude"] == nil || base(s.Kind) != "sing-box" {
				continue
			}
			tunnelled++
			for what, inbounds := range map[string]string{
				"no TUN":                  `[{"type":"mixed","tag":"mixed-in","listen_port":2080}]`,
				"several TUNs":            `[{"type":"tun","tag":"a"},{"type":"tun","tag":"b"}]`,
				"a tun-in that is no TUN": `[{"type":"mixed","tag":"tun-in"},{"type":"tun","tag":"b"}]`,
			} {
				var document map[string]json.RawMessage
				if err := json.Unmarshal([]byte(s.Bases[0].Content), &document); err != nil {
					t.Fatal(err)
				}
				document["inbounds"] = json.RawMessage(inbounds)
				text, err := json.Marshal(document)
				if err != nil {
					t.Fatal(err)
				}
				newChain(t, s.Kind, string(text), minimal(t, s)).fails(t, item.ID+" with "+what, added.Steps, nil)
			}
		}
		if anchored < 1 || base(s.Kind) == "sing-box" && tunnelled < 3 {
			t.Errorf("%d presets with rules and %d with a TUN were looked at", anchored, tunnelled)
		}
	})
}

// Presets that new files begin with come to the same in whatever order a user
// picks them.
func TestTheOrderOfSteadyPresetsDoesNotMatter(t *testing.T) {
	each(t, func(t *testing.T, s *preset.Set, _ string) {
		c := newChain(t, s.Kind, s.Bases[0].Content, minimal(t, s))
		var steady []string
		for _, item := range s.Items {
			if item.DefaultOn {
				steady = append(steady, item.ID)
			}
		}
		want := ""
		permutations(steady, func(order []string) {
			var steps []sandrone.ProcessorSpec
			for _, id := range order {
				added, err := s.Add(steps, id, preset.Args{})
				if err != nil {
					t.Fatal(err)
				}
				steps = added.Steps
			}
			text := c.run(t, steps)
			if want == "" {
				want = text
			}
			if !same(t, text, want) {
				t.Errorf("in the order %v the file is another", order)
			}
		})
	})
}

func permutations(list []string, f func([]string)) {
	if len(list) < 2 {
		f(list)
		return
	}
	for i := range list {
		rest := slices.Delete(slices.Clone(list), i, i+1)
		permutations(rest, func(order []string) { f(append([]string{list[i]}, order...)) })
	}
}

func TestTheMirrorLeavesNoAddressBehind(t *testing.T) {
	each(t, func(t *testing.T, s *preset.Set, _ string) {
		c := newChain(t, s.Kind, s.Bases[0].Content, s.Templates[len(s.Templates)-1].Settings)
		added, err := s.Add(nil, "github-rule-source-mirror", preset.Args{})
		if err != nil {
			t.Fatal(err)
		}
		const raw, mirror = "https://raw.githubusercontent.com/", "https://cdn.jsdelivr.net/gh/"
		plain, mirrored := c.run(t, nil), c.run(t, added.Steps)
		if n := strings.Count(plain, raw); n == 0 || strings.Count(mirrored, mirror)-strings.Count(plain, mirror) != n || strings.Contains(mirrored, raw) {
			t.Errorf("of %d addresses %d were replaced", n, strings.Count(mirrored, mirror))
		}
	})
}
