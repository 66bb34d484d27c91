package preset_test

import (
	"context"
	"testing"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert/formats"
	"github.com/sandrone-gateway/sandrone/files"
	"github.com/sandrone-gateway/sandrone/files/preset"
	"github.com/sandrone-gateway/sandrone/processors/script"
)

func TestScriptsOfPresetsDoTheirWorkOnce(t *testing.T) {
	registry := formats.Registry()
	runner := script.InProcess(script.Options{})
	defer runner.Close()
	each(t, func(t *testing.T, s *preset.Set, _ string) {
		k, _, err := files.Find(s.Kind)
		if err != nil {
			t.Fatal(err)
		}
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
