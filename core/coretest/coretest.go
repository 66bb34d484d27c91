// Package coretest finds the client programs that make cores builds, for tests
// that ask the real ones. They are in the folder that SANDRONE_CORES names, else
// in sandrone/cores of the user's cache.
package coretest

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sandrone-gateway/sandrone/core"
)

// optional are clients that a machine may be unable to build.
var optional = []string{"sing-box-1.14", "xray"}

// variables name the client that a program is.
var variables = map[string]string{
	"mihomo":        "SANDRONE_MIHOMO",
	"sing-box":      "SANDRONE_SING_BOX",
	"sing-box-1.14": "SANDRONE_SING_BOX",
	"xray":          "SANDRONE_XRAY",
}

// Path returns the executable of a client: mihomo, sing-box, sing-box-1.14 or
// xray. Where it is absent the test is skipped; with CI=true it fails, unless
// the client is optional.
func Path(t testing.TB, client string) string {
	t.Helper()
	folder := os.Getenv("SANDRONE_CORES")
	if folder == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			t.Fatal(err)
		}
		folder = filepath.Join(cache, "sandrone", "cores")
	}
	path, err := filepath.Abs(filepath.Join(folder, client))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		if os.Getenv("CI") == "true" && !slices.Contains(optional, client) {
			t.Fatalf("%s is not there; make cores builds it", client)
		}
		t.Skipf("%s is not there; make cores builds it", client)
	}
	return path
}

// Cores returns cores of which the named client is a built one, and the only
// one. dataDir may be empty.
func Cores(t testing.TB, client, dataDir string) *core.Cores {
	t.Helper()
	path := Path(t, client)
	return core.New(core.Options{DataDir: dataDir, Getenv: func(key string) string {
		if key == variables[client] {
			return path
		}
		return ""
	}})
}
