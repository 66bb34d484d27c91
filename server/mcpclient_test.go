//go:build node

package server_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestJavaScriptClientUsesEverything has the official client in JavaScript list,
// read, prompt and call all that the endpoint offers.
func TestJavaScriptClientUsesEverything(t *testing.T) {
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			if os.Getenv("CI") == "true" {
				t.Fatalf("no %s, which runs the client", program)
			}
			t.Skipf("no %s, which runs the client", program)
		}
	}
	dir := t.TempDir() // so that no packages come to lie in the tree
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "client"))); err != nil {
		t.Fatal(err)
	}
	run := func(env []string, name string, args ...string) []byte {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
		return out
	}
	run(nil, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	address := setup{token: token}.start(t)
	out := run([]string{"SANDRONE_MCP=http://" + address + "/mcp", "SANDRONE_TOKEN=" + token}, "node", "client.mjs")
	var did struct{ Tools, Resources, Templates, Prompts int }
	if err := json.Unmarshal(out, &did); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if did.Tools != 11 || did.Resources != 7 || did.Templates != 5 || did.Prompts != 5 {
		t.Errorf("got %+v, want 11 tools, 7 resources, 5 templates and 5 prompts", did)
	}
}
