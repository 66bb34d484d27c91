package catalog

import (
	"encoding/json"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/files/preset"
)

// Presets returns what editors of client files begin with, for a kind that may
// carry an @version, with names in a locale. Errors are those of [preset.For].
func (c *Catalog) Presets(kind, locale string) (*preset.Set, error) {
	return preset.For(kind, locale)
}

// AddPreset asks for a preset in a list of steps.
type AddPreset struct {
	Kind       string                   `json:"kind"`
	Locale     string                   `json:"locale,omitempty"` // of the name of the step; empty means English
	Preset     string                   `json:"preset"`
	Args       preset.Args              `json:"args,omitzero"`
	Processors []sandrone.ProcessorSpec `json:"processors,omitempty"`
}

// WithPreset are the steps with a preset among them.
type WithPreset struct {
	Processors []sandrone.ProcessorSpec `json:"processors"`
	Added      []string                 `json:"added"`   // presets, dependencies first
	Removed    []string                 `json:"removed"` // presets that could not stay beside them
}

// AddPreset puts a preset and what it depends on into a list of steps. Errors
// are those of [preset.For] and [preset.Set.Add].
func (c *Catalog) AddPreset(asked AddPreset) (WithPreset, error) {
	set, err := preset.For(asked.Kind, asked.Locale)
	if err != nil {
		return WithPreset{}, err
	}
	change, err := set.Add(asked.Processors, asked.Preset, asked.Args)
	if err != nil {
		return WithPreset{}, err
	}
	out := WithPreset{Processors: change.Steps, Added: change.Added, Removed: change.Removed}
	if out.Added == nil {
		out.Added = []string{}
	}
	if out.Removed == nil {
		out.Removed = []string{}
	}
	return out, nil
}

// GroupByRegion asks for groups by region in settings.
type GroupByRegion struct {
	Kind     string          `json:"kind"`
	Locale   string          `json:"locale,omitempty"` // in which the group for the choice of a node is named; empty means English
	Settings json.RawMessage `json:"settings"`
	Regions  []string        `json:"regions"`         // ids; none takes away what was made before
	Type     string          `json:"type,omitempty"`  // of the groups; empty means by testing
	Nodes    []string        `json:"nodes,omitempty"` // names, of which sing-box groups are made
}

// GroupedByRegion are the settings with the groups.
type GroupedByRegion struct {
	Settings json.RawMessage  `json:"settings"`
	Problems []preset.Problem `json:"problems"`
}

// GroupByRegion writes groups by region into settings. Errors are those of
// [preset.For] and [preset.Set.Adapt].
func (c *Catalog) GroupByRegion(asked GroupByRegion) (GroupedByRegion, error) {
	set, err := preset.For(asked.Kind, asked.Locale)
	if err != nil {
		return GroupedByRegion{}, err
	}
	settings, problems, err := set.Adapt(asked.Settings, preset.Choice{Regions: asked.Regions, Type: asked.Type, Nodes: asked.Nodes})
	if err != nil {
		return GroupedByRegion{}, err
	}
	if problems == nil {
		problems = []preset.Problem{}
	}
	return GroupedByRegion{settings, problems}, nil
}
