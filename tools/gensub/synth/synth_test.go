package synth_test

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"github.com/sandrone-gateway/sandrone/tools/gensub/synth"
)

// The bytes are a promise: benchmark figures and seeds in bug reports refer to
// them. The sums were taken from the generator's first implementation, a
// Python program, which this package equals byte for byte.
func TestRenderKeepsItsBytes(t *testing.T) {
	tests := []struct {
		name    string
		options synth.Options
		layout  synth.Layout
		sums    [5]string // links, base64, mihomo, sing-box, model
	}{
		{"200 nodes", synth.Options{Nodes: 200, Seed: 1}, synth.Layout{}, [5]string{"cf2da7ac07496f2f", "839d267c527ae5a5", "881eb6e431da027e", "83007c295971ccf4", "1f8cb888b62e352f"}},
		{"no node", synth.Options{Nodes: 0, Seed: 1}, synth.Layout{}, [5]string{"01ba4719c80b6fe9", "ea7f092ba4d5a2bd", "f48e4469d602d1e8", "fb520ec6c6f7a118", "e3b0c44298fc1c14"}},
		{"10,000 nodes", synth.Options{Nodes: 10_000, Seed: 9}, synth.Layout{}, [5]string{"1df420ee6153bf41", "f10b711b9d4b20de", "6b568cea525db75e", "0663440451791746", "b60f6e39ef87e609"}},
		{"negative seed", synth.Options{Nodes: 50, Seed: -5}, synth.Layout{}, [5]string{"f2b4508c71402641", "1e5e281dd6561ac2", "b62cd17d2d99f9a2", "ffc64a79b305cdc5", "dfa84daa4860ea11"}},
		{"whole client files in flow style", synth.Options{Nodes: 300, Seed: 2}, synth.Layout{Flow: true, Groups: true}, [5]string{"75019a3e6aa64c47", "1f2c1bea6207710b", "25ddae614ec0031d", "32a1e84902bb3c58", "37a2c2680416373d"}},
		{"repeated nodes and names", synth.Options{Nodes: 2000, Seed: 4, Dup: 0.3, RepeatNames: 0.2}, synth.Layout{}, [5]string{"cab783996c23c7f1", "5f4316ebd0bf28c4", "4ce6d87fcc308ecc", "a0076ca2bdbe95d7", "169b6d2f8f4c1ac0"}},
		{"few kinds", synth.Options{Nodes: 500, Seed: 1, Only: []synth.Kind{synth.Shadowsocks, synth.VMess, synth.Trojan}}, synth.Layout{}, [5]string{"ee02b307398921b1", "6cbb460e781d72e5", "e9d22106205ee6d1", "784403d5367271bf", "d49f87d8aba830dc"}},
		{"no WireGuard links", synth.Options{Nodes: 100, Seed: 1, Only: []synth.Kind{synth.WireGuard, synth.ShadowsocksR}}, synth.Layout{NoWireGuardLinks: true}, [5]string{"1e051dfa00b8ecf4", "065be36d41e3055c", "cdef3ff5d665d044", "25624d2a17d15b65", "e80af224cd776623"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			nodes, err := synth.Build(test.options)
			if err != nil {
				t.Fatal(err)
			}
			if len(nodes) != test.options.Nodes {
				t.Fatalf("built %d nodes, want %d", len(nodes), test.options.Nodes)
			}
			for i, f := range synth.Formats {
				text, _, err := synth.Render(nodes, f.Format, test.layout)
				if err != nil {
					t.Fatal(err)
				}
				sum := sha256.Sum256(text)
				if got := hex.EncodeToString(sum[:8]); got != test.sums[i] {
					t.Errorf("%s: got sum %s, want %s", f.Format, got, test.sums[i])
				}
			}
		})
	}
}

func TestRenderCountsWhatAFormatCannotCarry(t *testing.T) {
	nodes, err := synth.Build(synth.Options{Nodes: 40, Only: []synth.Kind{synth.ShadowsocksR, synth.WireGuard}})
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[synth.Kind]int{}
	for _, n := range nodes {
		kinds[n.Kind]++
	}
	if _, left, _ := synth.Render(nodes, synth.SingBox, synth.Layout{}); left != kinds[synth.ShadowsocksR] {
		t.Errorf("sing-box left %d out, want the %d of ShadowsocksR", left, kinds[synth.ShadowsocksR])
	}
	if _, left, _ := synth.Render(nodes, synth.Links, synth.Layout{NoWireGuardLinks: true}); left != kinds[synth.WireGuard] {
		t.Errorf("links left %d out, want the %d of WireGuard", left, kinds[synth.WireGuard])
	}
	if _, left, _ := synth.Render(nodes, synth.Mihomo, synth.Layout{}); left != 0 {
		t.Errorf("mihomo left %d out, want none", left)
	}
}

func TestBadOptionsAreErrors(t *testing.T) {
	for name, o := range map[string]synth.Options{
		"unknown kind":   {Nodes: 1, Only: []synth.Kind{"quantum"}},
		"negative nodes": {Nodes: -1},
		"share over one": {Nodes: 1, Dup: 1.5},
	} {
		if _, err := synth.Build(o); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
	if _, _, err := synth.Render(nil, "toml", synth.Layout{}); err == nil {
		t.Error("unknown format: got no error")
	}
}
