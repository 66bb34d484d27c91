package sandrone

import (
	_ "embed"
	"runtime/debug"
	"strings"
	"sync"
)

// Set at link time with -ldflags "-X …sandrone.linkVersion=v1.2.3 -X …sandrone.linkRevision=<id>".
var (
	linkVersion  string
	linkRevision string
)

//go:embed VERSION
var versionFile string

// Build is the identity of this program.
type Build struct {
	Name     string `json:"name"`     // "sandrone"
	Version  string `json:"version"`  // without a leading v and without the revision; "dev" for a changed checkout
	Revision string `json:"revision"` // full git object id, or empty
}

// ThisBuild returns the identity that was linked in, else the version file
// and the checkout's revision as the Go tool recorded it.
var ThisBuild = sync.OnceValue(func() Build {
	b := Build{Name: "sandrone", Version: strings.TrimPrefix(strings.TrimSpace(linkVersion), "v"), Revision: linkRevision}
	if b.Version != "" {
		return b
	}
	b.Version = strings.TrimSpace(versionFile)
	info, _ := debug.ReadBuildInfo()
	if info == nil {
		return b
	}
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			b.Revision = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			return Build{Name: b.Name, Version: "dev"}
		}
	}
	return b
})

// UserAgent is what this program calls itself in requests: sandrone/<version>.
func UserAgent() string { return "sandrone/" + ThisBuild().Version }
