//go:build cores

package singbox_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert"
	"github.com/sandrone-gateway/sandrone/convert/singbox"
	"github.com/sandrone-gateway/sandrone/convert/table"
	"github.com/sandrone-gateway/sandrone/core/coretest"
)

// TestClientAcceptsEveryDrawnNode asks the real client whether it takes what is
// written of nodes that have every option there is, also in combinations that
// no list of cases thinks of. It skips where the client is absent; make cores
// builds it.
func TestClientAcceptsEveryDrawnNode(t *testing.T) {
	for _, c := range []struct {
		core, version string
		lacks         []sandrone.Type // not built into the core
	}{
		{"sing-box", "1.13", []sandrone.Type{sandrone.Naive, sandrone.Tailscale}},
		{"sing-box", "1.12", []sandrone.Type{sandrone.Naive, sandrone.Tailscale}}, // loads there too
		{"sing-box-1.14", "1.13", []sandrone.Type{sandrone.Naive, sandrone.Tailscale, sandrone.WireGuard}},
		{"sing-box-1.14", "1.14", []sandrone.Type{sandrone.Naive, sandrone.Tailscale, sandrone.WireGuard}},
	} {
		c.lacks = append(c.lacks, sandrone.Tor) // its drawn options are not the client's
		for i, typ := range singbox.Renderer.Profile().Types {
			t.Run(fmt.Sprint(c.core, "@", c.version, "/", typ), func(t *testing.T) {
				for _, lacks := range c.lacks {
					if typ == lacks {
						t.Skip("not built into the core")
					}
				}
				nodes := drawn(typ, 200, uint64(i))
				for i := range nodes {
					withoutFiles(&nodes[i])
				}
				out := singbox.Renderer.Render(nodes, convert.RenderOptions{Target: "sing-box-outbounds", Version: table.V(c.version)})
				if refusal := check(t, c.core, out.Body); refusal != "" {
					t.Error(refusal)
				}
			})
		}
	}
}

// withoutFiles takes out the paths of files, which the check opens.
func withoutFiles(n *sandrone.Node) {
	if t := n.TLS; t != nil {
		t.CAPath = ""
		if !strings.HasPrefix(t.Certificate, "-----") {
			t.Certificate, t.PrivateKey = "", ""
		}
	}
	if n.SSH != nil {
		n.SSH.PrivateKeyPath = ""
	}
}

// check returns why the client refuses a document, or "".
func check(t *testing.T, core string, document []byte) string {
	t.Helper()
	program := coretest.Path(t, core)
	file := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(file, document, 0o600); err != nil {
		t.Fatal(err)
	}
	said, err := exec.CommandContext(t.Context(), program, "check", "--disable-color", "-c", file).CombinedOutput()
	if err == nil {
		return ""
	}
	return fmt.Sprintf("%v: %.400s", err, said)
}
