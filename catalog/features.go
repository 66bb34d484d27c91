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
// ("mihomo", "sing-box", "xray") are installed or not, that has a way of
// probing or not, and runs the schedule or not.
func NewFeatures(cores map[string]bool, probing, scheduling bool) Features {
	f := Features{Features: []Feature{
		newFeature("probe.enabled", probing, "there is no way of probing"),
		newFeature("scheduler.enabled", scheduling, "only a server runs the schedule"),
	}}
	for _, core := range []string{"mihomo", "sing-box", "xray"} {
		f.Features = append(f.Features, newFeature("core."+strings.ReplaceAll(core, "-", "_"), cores[core], core+" is not installed"))
	}
	slices.SortFunc(f.Features, func(a, b Feature) int { return strings.Compare(a.Key, b.Key) })
	return f
}

func newFeature(key string, enabled bool, reason string) Feature {
	if enabled {
		reason = ""
	}
	return Feature{Key: key, Enabled: enabled, Reason: reason}
}
