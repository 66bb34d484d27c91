//go:build cores && unix

package files_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert/formats"
	"github.com/sandrone-gateway/sandrone/core"
	"github.com/sandrone-gateway/sandrone/core/coretest"
	"github.com/sandrone-gateway/sandrone/files"
)

// TestTheClientAcceptsEveryFile has the real clients check what is compiled,
// over stand-ins of geo data. It skips where a client is absent; make cores
// builds it.
func TestTheClientAcceptsEveryFile(t *testing.T) {
	for _, c := range []struct {
		client string
		kinds  []string
		lacks  []sandrone.Type // not built into the client
	}{
		{"mihomo", []string{"mihomo", "mihomo@1.18"}, nil},
		{"sing-box", []string{"sing-box", "sing-box@1.11", "sing-box@1.12"}, []sandrone.Type{sandrone.Naive, sandrone.Tailscale, sandrone.Tor}},
		{"sing-box-1.14", []string{"sing-box", "sing-box@1.14"}, []sandrone.Type{sandrone.Naive, sandrone.Tailscale, sandrone.Tor, sandrone.WireGuard}},
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
						cores := coretest.Cores(t, c.client, "")
						out, err := kind.Compile(files.Input{Registry: formats.Registry(), Kind: name, Base: kind.Base(version), Settings: json.RawMessage(text), Nodes: nodes})
						if err != nil {
							t.Fatal(err)
						}
						accepted(t, cores, kind.Name, version, out.Content)
					})
				}
			}
		}
	}
}

// accepted has the client check a file.
func accepted(t *testing.T, cores *core.Cores, kind, version, content string) {
	t.Helper()
	verdict, err := cores.Check(t.Context(), kind, version, []byte(content))
	if err != nil {
		t.Fatal(err)
	}
	if !verdict.OK {
		t.Errorf("%s", verdict.Message)
	}
}

// TestTheClientAcceptsFilesWithOtherNodes has the real clients check files to
// which nodes were added, and in which they took the place of those that groups
// and rules name.
func TestTheClientAcceptsFilesWithOtherNodes(t *testing.T) {
	lacking := []sandrone.Type{sandrone.Naive, sandrone.Tailscale, sandrone.Tor, sandrone.WireGuard}
	for _, c := range []struct{ client, name string }{{"mihomo", "mihomo"}, {"sing-box", "sing-box"}, {"sing-box-1.14", "sing-box@1.14"}} {
		kind, version, err := files.Find(c.name)
		if err != nil {
			t.Fatal(err)
		}
		all := everyType()
		if kind.Name != "mihomo" {
			all = slices.DeleteFunc(all, func(n sandrone.Node) bool { return slices.Contains(lacking, n.Type) })
		}
		for settings, text := range map[string]string{"defaults": "", "custom": customs[kind.Name]} {
			for from, old := range map[string][]sandrone.Node{"one": many(1), "every": all} {
				for to, fresh := range map[string][]sandrone.Node{"none": {}, "some": many(3)[1:], "every": all} {
					for _, position := range []string{files.Replace, files.Front, files.Back} {
						t.Run(c.client+"/"+settings+"/"+from+"/"+to+"/"+position, func(t *testing.T) {
							cores := coretest.Cores(t, c.client, "")
							document := compile(t, c.name, nil, text, old).Content
							out, err := kind.AddNodes(files.Addition{Registry: formats.Registry(), Kind: c.name, Document: document, Position: position, Nodes: fresh})
							if err != nil {
								t.Fatal(err)
							}
							accepted(t, cores, kind.Name, version, out.Content)
						})
					}
				}
			}
		}
	}
}
