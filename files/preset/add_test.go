package preset_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/files/preset"
)

// list makes steps of words: the id of a preset stands for its step, "=x" for a
// step of the user, "~id" for the step of a preset that was edited.
func list(t *testing.T, s *preset.Set, words string) (steps []sandrone.ProcessorSpec) {
	t.Helper()
	for _, word := range strings.Fields(words) {
		if name, ok := strings.CutPrefix(word, "="); ok {
			steps = append(steps, sandrone.ProcessorSpec{Type: "template", Name: name, Params: json.RawMessage(`{}`)})
			continue
		}
		id, edited := strings.CutPrefix(word, "~")
		i := slices.IndexFunc(s.Items, func(item preset.Item) bool { return item.ID == id })
		if i < 0 {
			t.Fatalf("no preset %q", id)
		}
		step := s.Items[i].Steps[0]
		if edited {
			step.Disabled = true
		}
		steps = append(steps, step)
	}
	return steps
}

// words is the way back.
func words(s *preset.Set, steps []sandrone.ProcessorSpec) string {
	var list []string
	for _, step := range steps {
		word := s.Recognise(step)
		switch {
		case word != "":
		case step.Disabled:
			step.Disabled = false
			word = "~" + s.Recognise(step)
		default:
			word = "=" + step.Name
		}
		list = append(list, word)
	}
	return strings.Join(list, " ")
}

func TestAddingAPreset(t *testing.T) {
	for _, c := range []struct{ name, kind, have, add, want, removed string }{
		{"to nothing", "mihomo", "", "sniffer", "sniffer", ""},
		{"behind the steps of the user", "mihomo", "=a =b", "tun", "=a =b tun", ""},
		{"after what it depends on", "mihomo", "=a", "linux-tun-acceleration", "=a tun linux-tun-acceleration", ""},
		{"after all that it depends on", "mihomo", "", "tailnet-share", "tun tailscale-external tailnet-share", ""},
		{"that is there", "mihomo", "tun =a", "tun", "tun =a", ""},
		{"whose dependency is there", "mihomo", "tun =a", "linux-tun-acceleration", "tun =a linux-tun-acceleration", ""},
		{"whose dependency was edited", "mihomo", "~tun", "linux-tun-acceleration", "~tun tun linux-tun-acceleration", ""},
		{"in place of what conflicts", "mihomo", "tun tailscale-native =a", "tailscale-external", "tun =a tailscale-external", "tailscale-native"},
		{"in place of what depends on a conflict", "mihomo", "tun tailscale-external tailnet-share =a", "tailscale-native", "tun =a tailscale-native", "tailscale-external tailnet-share"},
		{"beside an edited conflict", "mihomo", "tun ~tailscale-native", "tailscale-external", "tun ~tailscale-native tailscale-external", ""},
		{"before what would need it", "sing-box", "=a quic-fallback =b", "sniff", "=a sniff quic-fallback =b", ""},
		{"that would undo another", "mihomo", "windows-relaxed-route", "tun", "tun windows-relaxed-route", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := preset.For(c.kind, preset.English)
			if err != nil {
				t.Fatal(err)
			}
			have := list(t, s, c.have)
			got, err := s.Add(have, c.add, preset.Args{})
			if err != nil {
				t.Fatal(err)
			}
			if words(s, got.Steps) != c.want || strings.Join(got.Removed, " ") != c.removed {
				t.Errorf("steps %s, removed %v\nwant  %s, removed %s", words(s, got.Steps), got.Removed, c.want, c.removed)
			}
			if words(s, have) != c.have {
				t.Errorf("the list that was given is %s", words(s, have))
			}
			again, err := s.Add(got.Steps, c.add, preset.Args{})
			if err != nil || words(s, again.Steps) != c.want || len(again.Added)+len(again.Removed) > 0 {
				t.Errorf("a second time gives %s, %v", words(s, again.Steps), err)
			}
		})
	}
}

func TestAnAuthKeyDoesNotHideAPreset(t *testing.T) {
	s, err := preset.For("sing-box", preset.English)
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Add(nil, "tailscale-native", preset.Args{AuthKey: "tskey-1"})
	if err != nil || len(got.Steps) != 1 || s.Recognise(got.Steps[0]) != "tailscale-native" || !strings.Contains(string(got.Steps[0].Params), `"auth_key":"tskey-1"`) {
		t.Fatalf("%+v, %v", got, err)
	}
	got, err = s.Add(got.Steps, "tailscale-external", preset.Args{})
	if err != nil || words(s, got.Steps) != "tailscale-external" {
		t.Errorf("%s, %v: want it removed", words(s, got.Steps), err)
	}
}

func TestReplacementsOfTheMirrorAreTheUsers(t *testing.T) {
	s, err := preset.For("mihomo", preset.English)
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Add(nil, "github-rule-source-mirror", preset.Args{Replacements: [][2]string{{"a", "b"}}})
	if err != nil || string(got.Steps[0].Params) != `{"rules":[{"from":"a","to":"b"}]}` {
		t.Errorf("%+v, %v", got.Steps, err)
	}
	if s.Recognise(got.Steps[0]) != "" {
		t.Error("what the user has chosen is recognised")
	}
}

func TestAnUnknownPresetIsRefused(t *testing.T) {
	s, err := preset.For("shadowrocket", preset.English)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Add(nil, "tun", preset.Args{})
	if e := sandrone.AsError(err); err == nil || e.Code != sandrone.InvalidArgument || e.Field != "preset" {
		t.Errorf("%v, want invalid_argument at preset", err)
	}
}
