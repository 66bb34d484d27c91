package engine

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"time"
)

// Core is an installed client program.
type Core struct {
	Name    string `json:"name"` // "mihomo", "sing-box", "xray"
	Path    string `json:"path,omitempty"`
	Version string `json:"version,omitempty"`
	OK      bool   `json:"ok"`
	Error   string `json:"error,omitempty"`
}

// cores are the programs that are looked for: the variable that names the
// executable, and the arguments that make it tell its version.
var cores = []struct {
	name, variable string
	version        []string
}{
	{"mihomo", "SANDRONE_MIHOMO", []string{"-v"}},
	{"sing-box", "SANDRONE_SING_BOX", []string{"version"}},
	{"xray", "SANDRONE_XRAY", []string{"version"}},
}

const (
	coreVersionTime   = 5 * time.Second
	coreVersionOutput = 64 << 10 // bytes
)

var errNoCore = errors.New("not installed")

// Cores looks for the client cores without running them: the variable of a
// core wins, then PATH, then the data directory. Nothing that the network can
// write is asked. Version is left empty.
func (e *Engine) Cores() []Core {
	found := make([]Core, len(cores))
	for i, c := range cores {
		found[i].Name = c.name
		path, err := e.findCore(c.name, c.variable)
		if err != nil {
			found[i].Error = err.Error()
			continue
		}
		found[i].Path, found[i].OK = path, true
	}
	return found
}

func (e *Engine) findCore(name, variable string) (string, error) {
	if path := e.getenv(variable); path != "" {
		// An operator who names a program wants that one or none.
		path, err := exec.LookPath(path)
		if err != nil {
			return "", errors.New(variable + " names no executable")
		}
		return filepath.Abs(path)
	}
	if path, err := exec.LookPath(name); err == nil {
		return filepath.Abs(path)
	}
	if e.dataDir != "" {
		path, err := filepath.Abs(filepath.Join(e.dataDir, "cores", name))
		if err == nil {
			if _, err := exec.LookPath(path); err == nil {
				return path, nil
			}
		}
	}
	return "", errNoCore
}

// probedCores is Cores with each program asked for its version.
func (e *Engine) probedCores(ctx context.Context) []Core {
	found := e.Cores()
	for i := range found {
		if !found[i].OK {
			continue
		}
		version, err := coreVersion(ctx, found[i].Path, cores[i].version)
		if err != nil {
			found[i].OK, found[i].Error = false, "does not tell its version"
			continue
		}
		found[i].Version = version
	}
	return found
}

// Compiled when it is first needed: most runs of the program never ask.
var versionText = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\bv?(\d+\.\d+\.\d+[-+.\w]*)`)
})

// coreVersion runs a core with an environment of its own, which holds nothing
// of ours. A core that runs and tells no number has an empty version.
func coreVersion(ctx context.Context, path string, args []string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, coreVersionTime)
	defer cancel()
	out := &head{limit: coreVersionOutput}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	cmd.Dir = os.TempDir()
	cmd.Stdout = out
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		return "", err
	}
	if m := versionText().FindSubmatch(out.kept); m != nil {
		return string(m[1]), nil
	}
	return "", nil
}

// head keeps the first bytes written to it and swallows the rest.
type head struct {
	kept  []byte
	limit int
}

func (h *head) Write(p []byte) (int, error) {
	h.kept = append(h.kept, p[:min(len(p), h.limit-len(h.kept))]...)
	return len(p), nil
}
