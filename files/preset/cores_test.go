//go:build cores && unix

package preset_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/core/coretest"
	"github.com/sandrone-gateway/sandrone/engine"
	"github.com/sandrone-gateway/sandrone/files"
	"github.com/sandrone-gateway/sandrone/files/preset"
)

// TestTheClientAcceptsEveryBaseTemplateAndPreset has the real clients check
// what editors begin with: every base with every template and every preset
// beside what it depends on, and with all presets that are on from the start.
// It skips where a client is absent; make cores builds it.
func TestTheClientAcceptsEveryBaseTemplateAndPreset(t *testing.T) {
	e := newEngine(t)
	for _, c := range []struct {
		client string
		kinds  []string
		lacks  []string // presets for what is not built into the client
	}{
		{"mihomo", []string{"mihomo", "mihomo@1.18"}, nil},
		{"sing-box", []string{"sing-box", "sing-box@1.12", "sing-box@1.11"}, []string{"tailscale-native"}},
		{"sing-box-1.14", []string{"sing-box@1.14", "sing-box"}, []string{"tailscale-native"}},
	} {
		for _, kind := range c.kinds {
			for _, locale := range []string{preset.English, preset.Chinese} {
				s, err := preset.For(kind, locale)
				if err != nil {
					t.Fatal(err)
				}
				var steady []sandrone.ProcessorSpec
				sets := map[string][]sandrone.ProcessorSpec{"none": nil}
				for _, item := range s.Items {
					if slices.Contains(c.lacks, item.ID) {
						continue
					}
					alone, err := s.Add(nil, item.ID, preset.Args{})
					if err != nil {
						t.Fatal(err)
					}
					if locale == preset.English { // the other one differs in names only
						sets[item.ID] = alone.Steps
					}
					if item.DefaultOn {
						steady = append(steady, item.Steps...)
					}
				}
				sets["default"] = steady
				// The base for 1.11 has DNS servers in the notation of that version,
				// which 1.13 takes only with a word of its environment, and 1.14 not.
				sources := map[string]*sandrone.FileSource{"built-in": {}, "standard": {Type: sandrone.FileInline, Content: &s.Bases[0].Content}}
				if kind == "sing-box@1.11" {
					delete(sources, "standard")
				}
				for base, source := range sources {
					for _, template := range s.Templates {
						for name, steps := range sets {
							t.Run(c.client+"/"+kind+"/"+locale+"/"+base+"/"+template.ID+"/"+name, func(t *testing.T) {
								cores := coretest.Cores(t, c.client, "")
								draft := &sandrone.FileSpec{Name: "f", Kind: kind, Source: source, Processors: steps,
									Config: &sandrone.FileConfig{Subscriptions: []string{"air"}, Settings: template.Settings}}
								made, err := e.ReadFile(t.Context(), engine.FileRequest{Draft: draft})
								if err != nil {
									var failed *sandrone.Error
									if base == "built-in" && needsTUN(name) && errors.As(err, &failed) && failed.Code == sandrone.ScriptRuntime {
										return // there is none in it
									}
									t.Fatal(err)
								}
								k, version, err := files.Find(kind)
								if err != nil {
									t.Fatal(err)
								}
								verdict, err := cores.Check(t.Context(), k.Name, version, made.Body)
								if err != nil {
									t.Fatal(err)
								}
								if !verdict.OK {
									t.Errorf("%s", verdict.Message)
								}
							})
						}
					}
				}
			}
		}
	}
}

// needsTUN reports whether a preset of sing-box changes the TUN that must be
// there.
func needsTUN(id string) bool {
	return slices.Contains([]string{"udp-p2p-eim", "linux-tun-acceleration", "windows-relaxed-route", "mptcp-direct", "tailscale-external"}, id)
}
