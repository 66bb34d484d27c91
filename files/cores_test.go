//go:build cores && unix

package files_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert/formats"
	"github.com/sandrone-gateway/sandrone/core"
	"github.com/sandrone-gateway/sandrone/files"
)

// TestTheClientAcceptsEveryFile has the real clients check what is compiled,
// over stand-ins of geo data. It skips where a client is absent; make cores
// builds it.
func TestTheClientAcceptsEveryFile(t *testing.T) {
	for _, c := range []struct {
		client, variable string
		kinds            []string
		lacks            []sandrone.Type // not built into the client
	}{
		{"mihomo", "SANDRONE_MIHOMO", []string{"mihomo", "mihomo@1.18"}, nil},
		{"sing-box", "SANDRONE_SING_BOX", []string{"sing-box", "sing-box@1.11", "sing-box@1.12"}, []sandrone.Type{sandrone.Naive, sandrone.Tailscale, sandrone.Tor}},
		{"sing-box-1.14", "SANDRONE_SING_BOX", []string{"sing-box", "sing-box@1.14"}, []sandrone.Type{sandrone.Naive, sandrone.Tailscale, sandrone.Tor, sandrone.WireGuard}},
	} {
		for _, name := range c.kinds {
			kind, version, err := files.Find(name)
			if err != nil {
				t.Fatal(err)
			}
			all := slices.DeleteFunc(everyType(), func(n sandrone.Node) bool { return slices.Contains(c.lacks, n.Type) })
			for settings, text := range map[string]string{"defaults": "", "custom": customs[kind.Name], "empty": empty} {
				for batch, nodes := range map[string][]sandrone.Node{"no nodes": nil, "one node": many(1), "every type": all, "10000 nodes": many(10_000)} {
					t.Run(c.client+"/"+name+"/"+settings+"/"+batch, func(t *testing.T) {
						cores := installed(t, c.client, c.variable)
						out, err := kind.Compile(files.Input{Registry: formats.Registry(), Kind: name, Base: kind.Base(version), Settings: json.RawMessage(text), Nodes: nodes})
						if err != nil {
							t.Fatal(err)
						}
						verdict, err := cores.Check(t.Context(), kind.Name, version, []byte(out.Content))
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

// installed returns cores of which the named client is a built one.
func installed(t *testing.T, client, variable string) *core.Cores {
	t.Helper()
	folder := os.Getenv("SANDRONE_CORES")
	if folder == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			t.Fatal(err)
		}
		folder = filepath.Join(cache, "sandrone", "cores")
	}
	path := filepath.Join(folder, client)
	if _, err := os.Stat(path); err != nil {
		if os.Getenv("CI") == "true" && client != "sing-box-1.14" {
			t.Fatalf("%s is not there; make cores builds it", client)
		}
		t.Skipf("%s is not there; make cores builds it", client)
	}
	return core.New(core.Options{Getenv: func(key string) string {
		if key == variable {
			return path
		}
		return ""
	}})
}
