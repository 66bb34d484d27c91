package catalog

import (
	"slices"
	"strings"
)

// Features are switches of the page that only the server can know.
type Features struct {
	Features []Feature `json:"features"` // sorted by key
}

// Feature is one switch.
type Feature struct {
	Key          string   `json:"key"`
	Enabled      bool     `json:"enabled"`
	Reason       string   `json:"reason,omitempty"` // why it is off; only then
	Dependencies []string `json:"dependencies,omitempty"`
}

// NewFeatures makes the list for a process in which the named client cores
// ("mihomo", "sing-box", "xray") are installed or not.
func NewFeatures(cores map[string]bool) Features {
	f := Features{Features: []Feature{
		{Key: "probe.enabled", Reason: "probing is not part of this build"},
		{Key: "scheduler.enabled", Reason: "the scheduler is not part of this build"},
	}}
	for _, core := range []string{"mihomo", "sing-box", "xray"} {
		feature := Feature{Key: "core." + strings.ReplaceAll(core, "-", "_"), Enabled: cores[core]}
		if !feature.Enabled {
			feature.Reason = core + " is not installed"
		}
		f.Features = append(f.Features, feature)
	}
	slices.SortFunc(f.Features, func(a, b Feature) int { return strings.Compare(a.Key, b.Key) })
	return f
}
