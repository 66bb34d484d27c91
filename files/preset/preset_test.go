package preset_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert/formats"
	"github.com/sandrone-gateway/sandrone/files"
	"github.com/sandrone-gateway/sandrone/files/preset"
	"github.com/sandrone-gateway/sandrone/processors/script"
)

// each runs a test for every kind, version and locale.
func each(t *testing.T, test func(t *testing.T, k *files.Kind, s *preset.Set)) {
	for _, k := range files.Kinds() {
		if !k.Typed() {
			continue
		}
		names := []string{k.Name}
		for _, v := range k.Versions {
			names = append(names, k.Name+"@"+v)
		}
		for _, name := range names {
			for _, locale := range []string{preset.English, preset.Chinese} {
				t.Run(name+" "+locale, func(t *testing.T) {
					s, err := preset.For(name, locale)
					if err != nil {
						t.Fatal(err)
					}
					test(t, k, s)
				})
			}
		}
	}
}

func TestEveryTemplateIsGoodSettings(t *testing.T) {
	each(t, func(t *testing.T, k *files.Kind, s *preset.Set) {
		for _, template := range s.Templates {
			if err := k.CheckSettings(template.Settings); err != nil {
				t.Errorf("%s: %v", template.ID, err)
			}
		}
	})
}

func TestPresetsAreExplainedAndFitTogether(t *testing.T) {
	each(t, func(t *testing.T, k *files.Kind, s *preset.Set) {
		var ids []string
		for _, item := range s.Items {
			for _, text := range []preset.Text{item.Title, item.Effect, item.Risk} {
				if text.English == "" || text.Chinese == "" {
					t.Errorf("%s lacks a text", item.ID)
				}
			}
			for _, need := range item.Dependencies {
				if !slices.Contains(ids, need) {
					t.Errorf("%s needs %s, which does not stand before it", item.ID, need)
				}
			}
			for _, other := range item.Conflicts {
				if !slices.ContainsFunc(s.Items, func(i preset.Item) bool { return i.ID == other && slices.Contains(i.Conflicts, item.ID) }) {
					t.Errorf("%s conflicts with %s, and not the other way round", item.ID, other)
				}
			}
			if len(item.Steps) != 1 || s.Recognise(item.Steps[0]) != item.ID {
				t.Errorf("%s is not recognised", item.ID)
			}
			ids = append(ids, item.ID)
		}
	})
}

func TestScriptsOfPresetsDoTheirWorkOnce(t *testing.T) {
	registry := formats.Registry()
	runner := script.InProcess(script.Options{})
	defer runner.Close()
	each(t, func(t *testing.T, k *files.Kind, s *preset.Set) {
		out, err := k.Compile(files.Input{Registry: registry, Kind: s.Kind, Base: s.Bases[0].Content, Settings: s.Templates[0].Settings})
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range s.Items {
			if item.Steps[0].Type != "script" {
				continue
			}
			run := func(text string, args map[string]string) (string, error) {
				step, err := script.New(context.Background(), item.Steps[0].Params, script.Env{Runner: runner})
				if err != nil {
					return "", err
				}
				in := script.Input{}
				in.Request.Args = args
				got, _, err := step.File(context.Background(), in, script.Document{Name: "f", Kind: k.Name, Content: text})
				return got.Content, err
			}
			once, err := run(out.Content, nil)
			if err != nil {
				t.Errorf("%s: %v", item.ID, err)
				continue
			}
			if once == out.Content {
				t.Errorf("%s changed nothing", item.ID)
			}
			if twice, err := run(once, nil); err != nil || twice != once {
				t.Errorf("%s, run twice: %v; the texts are equal: %v", item.ID, err, twice == once)
			}
			if _, err := run(out.Content, map[string]string{"recipe": "x"}); sandrone.AsError(err) == nil || sandrone.AsError(err).Code != sandrone.ScriptRuntime {
				t.Errorf("%s lets a request set its recipe: %v", item.ID, err)
			}
		}
	})
}

func TestAddPutsDependenciesFirstAndTakesConflictsOut(t *testing.T) {
	s, err := preset.For("mihomo", "")
	if err != nil {
		t.Fatal(err)
	}
	own := sandrone.ProcessorSpec{Type: "merge", Params: json.RawMessage(`{"content":"a: 1"}`)}
	one, err := s.Add([]sandrone.ProcessorSpec{own}, "tailscale-native", preset.Args{AuthKey: "tskey-1"})
	if err != nil || strings.Join(one.Added, " ") != "tun tailscale-native" || len(one.Steps) != 3 {
		t.Fatalf("got %v, %v", one.Added, err)
	}
	two, err := s.Add(one.Steps, "tailnet-share", preset.Args{})
	if err != nil || strings.Join(two.Added, " ") != "tailscale-external tailnet-share" || strings.Join(two.Removed, " ") != "tailscale-native" {
		t.Errorf("got added %v, removed %v, %v", two.Added, two.Removed, err)
	}
}
