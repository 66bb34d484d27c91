package catalog

import (
	"encoding/json"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/files"
	"github.com/sandrone-gateway/sandrone/files/preset"
	"github.com/sandrone-gateway/sandrone/files/ruleset"
	"github.com/sandrone-gateway/sandrone/processors"
	"github.com/sandrone-gateway/sandrone/processors/script"
)

// The names of the schema documents, in the order in which they are listed.
const (
	SchemaProcessors   = "processors"
	SchemaFileKinds    = "file_kinds"
	SchemaScriptAPI    = "script_api_v1"
	SchemaSubscription = "subscription"
	SchemaFileSpec     = "file_spec"
)

// SchemaIndex lists the schema documents.
type SchemaIndex struct {
	Schemas []SchemaItem `json:"schemas"`
}

// SchemaItem is one schema document, or one list of them.
type SchemaItem struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Href        string `json:"href,omitempty"` // over HTTP only
}

// Schemas lists the schema documents. link gives the address of one, by name.
func (c *Catalog) Schemas(link func(name string) string) SchemaIndex {
	index := SchemaIndex{Schemas: []SchemaItem{
		{Name: SchemaProcessors, Description: "The steps that transform nodes and files, with the schemas of their params."},
		{Name: SchemaFileKinds, Description: "The kinds of stored files."},
		{Name: SchemaScriptAPI, Description: "What a user script gets, returns and may call."},
		{Name: SchemaSubscription, Description: "The definition of a subscription."},
		{Name: SchemaFileSpec, Description: "The definition of a file."},
	}}
	for i := range index.Schemas {
		item := &index.Schemas[i]
		item.Href = link(item.Name)
	}
	return index
}

// ProcessorIndex lists the types of steps: those of the file stage first, each
// stage by type.
type ProcessorIndex struct {
	Processors []ProcessorItem `json:"processors"`
}

// ProcessorItem is one type of step.
type ProcessorItem struct {
	Type        string             `json:"type"`
	Stage       string             `json:"stage"`
	Description string             `json:"description"`
	Effects     processors.Effects `json:"effects"`
	Href        string             `json:"href,omitempty"` // over HTTP only
}

// Processors lists the types of steps. link gives the address of one.
func (c *Catalog) Processors(link func(stage, kind string) string) ProcessorIndex {
	index := ProcessorIndex{Processors: []ProcessorItem{}}
	if c.steps == nil {
		return index
	}
	for _, d := range c.steps.Descriptors() {
		index.Processors = append(index.Processors, ProcessorItem{d.Type, d.Stage, d.Description, d.Effects, link(d.Stage, d.Type)})
	}
	return index
}

// Processor returns what a type of step says of itself. Both names are exact;
// an unknown pair is an invalid_argument error.
func (c *Catalog) Processor(stage, kind string) (*processors.Descriptor, error) {
	if stage != sandrone.NodesStage && stage != sandrone.FileStage {
		return nil, sandrone.Errorf(sandrone.InvalidArgument, "processor stage must be nodes or file")
	}
	if c.steps != nil {
		if d := c.steps.Descriptor(stage, kind); d != nil {
			return d, nil
		}
	}
	return nil, schemaNotFound()
}

func schemaNotFound() error {
	return sandrone.Errorf(sandrone.InvalidArgument, "schema not found")
}

// FileKindIndex lists the kinds of files.
type FileKindIndex struct {
	FileKinds []FileKindItem `json:"file_kinds"`
}

// FileKindItem is one kind in the list.
type FileKindItem struct {
	Kind              string `json:"kind"`
	Description       string `json:"description"`
	SettingsSupported bool   `json:"settings_supported"`
	MediaType         string `json:"media_type"`
	Syntax            string `json:"syntax"`         // text, yaml, json, ini
	Href              string `json:"href,omitempty"` // over HTTP only
}

// FileKind is one kind with all that can be said of it.
type FileKind struct {
	Kind              string              `json:"kind"`
	Description       string              `json:"description"`
	SettingsSupported bool                `json:"settings_supported"`
	SettingsSchema    json.RawMessage     `json:"settings_schema,omitempty"`
	MediaType         string              `json:"media_type"`
	Syntax            string              `json:"syntax"`
	DefaultExtension  string              `json:"default_extension"`
	SourceRules       SourceRules         `json:"source_rules"`
	Versions          []string            `json:"versions,omitempty"` // of the client, ascending
	Defaults          map[string]any      `json:"defaults"`           // what stands for the members that a definition leaves out
	Examples          []sandrone.FileSpec `json:"examples"`
	Presets           []preset.Item       `json:"presets,omitempty"` // for the default version; none for a kind that is not compiled
}

// SourceRules say what the source of a file may be.
type SourceRules struct {
	Required     bool     `json:"required"` // else the built-in base is there
	AllowedTypes []string `json:"allowed_types"`
}

func newFileKind(k *files.Kind) *FileKind {
	about := &FileKind{
		Kind:              k.Name,
		Description:       k.Description,
		SettingsSupported: k.Typed(),
		SettingsSchema:    k.SettingsSchema(),
		MediaType:         k.MediaType,
		Syntax:            k.Syntax,
		DefaultExtension:  k.Extension,
		SourceRules:       SourceRules{Required: !k.Typed(), AllowedTypes: []string{sandrone.FileInline, sandrone.FileRemote}},
		Versions:          k.Versions,
	}
	if !k.Typed() {
		hello := "# hello\n"
		about.Defaults = map[string]any{}
		about.Examples = []sandrone.FileSpec{
			{Name: "hello.txt", Kind: k.Name, Source: &sandrone.FileSource{Type: sandrone.FileInline, Content: &hello}},
			{Name: "list.txt", Kind: k.Name, Source: &sandrone.FileSource{Type: sandrone.FileRemote, Remote: &sandrone.RemoteInput{URL: "https://example.com/list.txt"}}},
		}
		return about
	}
	about.Defaults = map[string]any{"source": "built-in", "settings": map[string]any{}}
	about.Examples = []sandrone.FileSpec{
		{Name: "phone" + k.Extension, Kind: k.Name, Source: &sandrone.FileSource{}, Config: &sandrone.FileConfig{Subscriptions: []string{"air"}}},
		{Name: "router" + k.Extension, Kind: k.Name, Source: &sandrone.FileSource{}, Config: &sandrone.FileConfig{
			Subscriptions: []string{"air"}, Settings: json.RawMessage(exampleSettings[k.Name])}},
	}
	return about
}

// exampleSettings are settings of one group through which everything goes.
var exampleSettings = map[string]string{
	sandrone.FileMihomo:       `{"groups":[{"name":"Go","type":"select","proxies":["$nodes","DIRECT"]}],"rule_sets":[],"rules":["MATCH,Go"]}`,
	sandrone.FileSingBox:      `{"groups":[{"type":"selector","tag":"Go","outbounds":["$nodes","direct"]}],"rule_sets":[],"rules":[{"outbound":"Go"}]}`,
	sandrone.FileShadowrocket: `{"groups":[{"name":"Go","type":"select","proxies":["$nodes","DIRECT"]}],"rules":["FINAL,Go"]}`,
}

// FileKinds lists the kinds of files. link gives the address of one.
func (c *Catalog) FileKinds(link func(kind string) string) FileKindIndex {
	index := FileKindIndex{FileKinds: []FileKindItem{}}
	for _, k := range files.Kinds() {
		index.FileKinds = append(index.FileKinds, FileKindItem{k.Name, k.Description, k.Typed(), k.MediaType, k.Syntax, link(k.Name)})
	}
	return index
}

// FileKind returns one kind; the name is exact and has no version. An unknown
// one is an invalid_argument error.
func (c *Catalog) FileKind(kind string) (*FileKind, error) {
	i := slices.IndexFunc(files.Kinds(), func(k *files.Kind) bool { return k.Name == kind })
	if i < 0 {
		return nil, schemaNotFound()
	}
	about := newFileKind(files.Kinds()[i])
	if about.SettingsSupported {
		set, err := preset.For(kind, preset.English)
		if err != nil {
			return nil, err
		}
		about.Presets = set.Items
	}
	return about, nil
}

// ScriptAPI returns the description of the script API, version 1.
func (c *Catalog) ScriptAPI() json.RawMessage { return script.APIDocument() }

// Subscription returns the schema of the definition of a subscription.
func (c *Catalog) Subscription() *jsonschema.Schema {
	var formats []string
	index, _ := c.build()
	for _, item := range index.Items {
		if item.Direction == "parse" {
			formats = append(formats, item.Format)
		}
	}
	return newSubscriptionSchema(formats)
}

// FileSpec returns the schema of the definition of a file.
func (c *Catalog) FileSpec() *jsonschema.Schema { return newFileSchema() }

// RuleSets are the public rule sets that a client can use.
type RuleSets struct {
	Items []ruleset.Item `json:"items"` // by name
}

// RuleSets lists the public rule sets for a client; the name is exact. An
// unknown one is an invalid_argument error.
func (c *Catalog) RuleSets(target string) (RuleSets, error) {
	items, err := ruleset.Items(target)
	return RuleSets{items}, err
}
