// Package core finds the client programs that are installed and runs them:
// mihomo, sing-box and Xray. They are separate programs of the operator, never
// linked in.
//
// [Cores] tells which there are and of which version, and has one of them check
// a file ([Cores.Check]). A run of a program is a [Process] in a private
// directory of its own, which is removed when the program has ended; what a
// killed server left of that, [RemoveLeftovers] takes away.
package core

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"time"

	"github.com/sandrone-gateway/sandrone"
)

// Core is an installed client program, or one that was looked for.
type Core struct {
	Name    string `json:"name"` // "mihomo", "sing-box", "xray"
	Path    string `json:"path,omitempty"`
	Version string `json:"version,omitempty"` // as the program spells it: "v1.19.28", "1.13.14"
	OK      bool   `json:"ok"`
	Error   string `json:"error,omitempty"`
}

// programs are what is looked for: the variable that names the executable, and
// the arguments that make it tell its version.
var programs = []struct {
	name, variable, version string
}{
	{"mihomo", "SANDRONE_MIHOMO", "-v"},
	{"sing-box", "SANDRONE_SING_BOX", "version"},
	{"xray", "SANDRONE_XRAY", "version"},
}

const (
	versionLimit  = 5 * time.Second
	versionOutput = 64 << 10 // bytes

	checkLimit = 20 * time.Second
)

// Options make [Cores].
type Options struct {
	// DataDir holds executables and geo data below "cores". Empty: none.
	DataDir string
	Getenv  func(string) string // nil means os.Getenv
	Limit   time.Duration       // of one check; 0 means 20 s
}

// Cores are the programs of this host. It is safe for concurrent use.
type Cores struct {
	held   string // directory of executables and geo data, or empty
	getenv func(string) string
	limit  time.Duration
	online bool // tests count what a client asks the network for

	mu       sync.Mutex
	versions map[string]knownVersion // by path
}

// knownVersion is what a program said. It holds for as long as the file is the
// same one.
type knownVersion struct {
	file    os.FileInfo
	version string
}

// New returns the cores of this host. Nothing is looked for yet.
func New(o Options) *Cores {
	c := &Cores{getenv: o.Getenv, limit: o.Limit, versions: make(map[string]knownVersion)}
	if o.DataDir != "" {
		// A core runs in a directory of its own, where a relative path would
		// lead elsewhere.
		if dir, err := filepath.Abs(filepath.Join(o.DataDir, "cores")); err == nil {
			c.held = dir
		}
	}
	if c.getenv == nil {
		c.getenv = os.Getenv
	}
	if c.limit <= 0 {
		c.limit = checkLimit
	}
	return c
}

// List looks for the cores without running them: the variable of a core wins,
// then PATH, then the data directory. Nothing that the network can write is
// asked. Version is left empty.
func (c *Cores) List() []Core {
	found := make([]Core, len(programs))
	for i, p := range programs {
		found[i].Name = p.name
		path, err := c.path(p.name, p.variable)
		if err != nil {
			found[i].Error = err.Error()
			continue
		}
		found[i].Path, found[i].OK = path, true
	}
	return found
}

func (c *Cores) path(name, variable string) (string, error) {
	if path := c.getenv(variable); path != "" {
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
	if c.held != "" {
		if path, err := exec.LookPath(filepath.Join(c.held, name)); err == nil {
			return path, nil
		}
	}
	return "", errors.New("not installed")
}

// Probe is List with each program asked for its version.
func (c *Cores) Probe(ctx context.Context) []Core {
	found := c.List()
	for i := range found {
		if !found[i].OK {
			continue
		}
		version, err := c.version(ctx, found[i].Path, programs[i].version)
		if err != nil {
			found[i].OK, found[i].Error = false, "does not tell its version"
			continue
		}
		found[i].Version = version
	}
	return found
}

// Find returns a core that can be run, with its version. The error is
// probe_core_unavailable.
func (c *Cores) Find(ctx context.Context, name string) (Core, error) {
	for _, p := range programs {
		if p.name != name {
			continue
		}
		path, err := c.path(p.name, p.variable)
		if err != nil {
			return Core{}, sandrone.Errorf(sandrone.ProbeCoreUnavailable, "%s cannot be used: %s", name, err)
		}
		version, err := c.version(ctx, path, p.version)
		if err != nil {
			if ctx.Err() != nil {
				return Core{}, ctx.Err()
			}
			return Core{}, sandrone.Errorf(sandrone.ProbeCoreUnavailable, "%s does not tell its version", name)
		}
		return Core{Name: name, Path: path, Version: version, OK: true}, nil
	}
	return Core{}, sandrone.Errorf(sandrone.ProbeCoreUnavailable, "there is no core %s", name)
}

// Compiled when it is first needed: most runs of the program never ask.
var versionText = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\bv?\d+\.\d+\.\d+[-+.\w]*`)
})

// version asks a program, or remembers what this very file said. A program that
// runs and tells no number has an empty version.
func (c *Cores) version(ctx context.Context, path, arg string) (string, error) {
	file, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	c.mu.Lock()
	known, ok := c.versions[path]
	c.mu.Unlock()
	if ok && os.SameFile(known.file, file) && known.file.Size() == file.Size() && known.file.ModTime().Equal(file.ModTime()) {
		return known.version, nil
	}
	ctx, cancel := context.WithTimeout(ctx, versionLimit)
	defer cancel()
	dir, err := NewDirectory()
	if err != nil {
		return "", err
	}
	defer dir.Remove()
	said := &transcript{head: versionOutput}
	p, err := Start(ctx, dir, Job{Path: path, Args: []string{arg}, Output: said, Offline: true})
	if err == nil {
		err = p.Wait()
	}
	if err != nil {
		return "", err
	}
	version := string(versionText().Find(said.first))
	c.mu.Lock()
	c.versions[path] = knownVersion{file, version}
	c.mu.Unlock()
	return version, nil
}
