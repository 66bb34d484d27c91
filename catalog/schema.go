package catalog

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/sandrone-gateway/sandrone"
)

// TypeSchema returns the JSON Schema (2020-12) of the JSON form of a Go type:
// closed objects, members without omitempty or omitzero required, no null. A
// type that is a key of forms has that schema, such as a reference to its own,
// unless it is t itself.
//
// It fails for a type that has no JSON form, which is a fault of the program.
func TypeSchema(t reflect.Type, forms map[reflect.Type]*jsonschema.Schema) (*jsonschema.Schema, error) {
	types := maps.Clone(ownForms)
	maps.Copy(types, forms)
	delete(types, t)
	schema, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: types})
	if err != nil {
		return nil, fmt.Errorf("schema of %v: %w", t, err)
	}
	withoutNull(schema)
	return schema, nil
}

// ownForms are the types that are not written as what they are made of.
var ownForms = map[reflect.Type]*jsonschema.Schema{
	reflect.TypeFor[sandrone.Tri]():    {Type: "boolean"},
	reflect.TypeFor[json.RawMessage](): {},
	reflect.TypeFor[[]byte]():          {Type: "string", ContentEncoding: "base64"},
}

// withoutNull takes null out of the types of a schema. Go's decoder takes null
// for a missing member, and its encoder writes it for a nil list; neither is
// part of the API.
func withoutNull(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if s.Types != nil {
		s.Types = slices.DeleteFunc(s.Types, func(t string) bool { return t == "null" || t == "" })
		if len(s.Types) == 1 {
			s.Type, s.Types = s.Types[0], nil
		} else if len(s.Types) == 0 {
			s.Types = nil
		}
	}
	withoutNull(s.Items)
	withoutNull(s.AdditionalProperties)
	for _, member := range s.Properties {
		withoutNull(member)
	}
	for _, one := range s.AnyOf {
		withoutNull(one)
	}
}

const draft = "https://json-schema.org/draft/2020-12/schema"

// definition is the schema of a stored definition that stands by itself. The
// members that the server sets may be sent, and are ignored.
func definition[T any](title string, required []string, describe map[string]string) *jsonschema.Schema {
	refs := map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[sandrone.Node]():          {Ref: "#/$defs/node"},
		reflect.TypeFor[sandrone.ProcessorSpec](): {Ref: "#/$defs/processor"},
	}
	schema := mustSchema(reflect.TypeFor[T](), refs)
	schema.Schema, schema.Title, schema.Required = draft, title, required
	schema.Defs = map[string]*jsonschema.Schema{"processor": mustSchema(reflect.TypeFor[sandrone.ProcessorSpec](), refs)}
	schema.Defs["processor"].Properties["params"].Type = "object"
	schema.Defs["processor"].Properties["stage"] = word(sandrone.NodesStage, sandrone.FileStage)
	if schema.Properties["nodes"] != nil {
		node := mustSchema(reflect.TypeFor[sandrone.Node](), refs)
		node.Required = []string{"type"}
		schema.Defs["node"] = node
	}
	for _, name := range []string{"created_at", "updated_at"} {
		at := schema.Properties[name]
		at.ReadOnly, at.Format = true, "date-time"
	}
	for name, text := range describe {
		schema.Properties[name].Description = text
	}
	notNegative(schema, "render_cache_ttl_seconds")
	return schema
}

// notNegative bounds those of the named members that an object has.
func notNegative(object *jsonschema.Schema, names ...string) {
	zero := 0.0
	for _, name := range names {
		if member := object.Properties[name]; member != nil {
			member.Minimum = &zero
		}
	}
}

// remote completes the schema of an address to fetch from.
func remote(s *jsonschema.Schema) {
	s.Required = []string{"url"}
	notNegative(s, "timeout_ms", "cache_ttl_seconds")
}

func mustSchema(t reflect.Type, refs map[reflect.Type]*jsonschema.Schema) *jsonschema.Schema {
	schema, err := TypeSchema(t, refs)
	if err != nil {
		panic(err) // a test makes every schema
	}
	return schema
}

// word is an enumeration of strings.
func word(values ...string) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	for _, v := range values {
		s.Enum = append(s.Enum, v)
	}
	return s
}

// newSubscriptionSchema makes the schema of a subscription; formats are those
// that are read.
func newSubscriptionSchema(formats []string) *jsonschema.Schema {
	s := definition[sandrone.Subscription]("Subscription", []string{"name", "type"}, map[string]string{
		"name":                     "one path segment of at most 255 bytes, used verbatim",
		"display_name":             "for people, in place of the name; trimmed",
		"type":                     "where the nodes come from; any case",
		"format":                   "input format; absent or auto means that it is detected. Not of a collection",
		"content":                  "the text of a local subscription",
		"remote":                   "the address of a remote subscription",
		"inputs":                   "the sources of a collection, joined in this order",
		"nodes":                    "inline nodes of a collection without inputs",
		"processors":               "steps on the nodes, in order",
		"render_cache_ttl_seconds": "how long a rendering may be used again; absent means the setting, 0 never",
		"meta":                     "free text for people and scripts",
		"created_at":               "set by the server",
		"updated_at":               "set by the server",
	})
	for _, kind := range []string{sandrone.SubscriptionRemote, sandrone.SubscriptionLocal, sandrone.SubscriptionCollection} {
		s.Properties["type"].Examples = append(s.Properties["type"].Examples, kind)
	}
	remote(s.Properties["remote"])
	input := s.Properties["inputs"].Items
	input.Required = []string{"type"}
	notNegative(input, "timeout_ms", "cache_ttl_seconds")
	formats = append([]string{"auto"}, formats...)
	for _, at := range []*jsonschema.Schema{s, input} {
		format := word(formats...)
		format.Description = at.Properties["format"].Description
		at.Properties["format"] = format
	}
	input.Properties["type"] = word(sandrone.InputInlineNodes, sandrone.InputInline, sandrone.InputLocal, sandrone.InputRemote, sandrone.InputRef, sandrone.InputSubscription)
	return s
}

func newFileSchema() *jsonschema.Schema {
	s := definition[sandrone.FileSpec]("FileSpec", []string{"name", "kind", "source"}, map[string]string{
		"name":                     "one path segment of at most 255 bytes, used verbatim",
		"display_name":             "for people, in place of the name; trimmed",
		"kind":                     "static, mihomo, sing-box or shadowrocket; mihomo and sing-box may carry a client version: sing-box@1.11",
		"source":                   "the text that the file starts from; {} is the built-in base of a client file",
		"config":                   "what a client file is compiled from; not of a static one",
		"processors":               "steps on the file, in order",
		"render_cache_ttl_seconds": "how long a rendering may be used again; absent means the setting, 0 never",
		"meta":                     "free text for people and scripts",
		"created_at":               "set by the server",
		"updated_at":               "set by the server",
	})
	s.Properties["kind"].Pattern = `^(static|shadowrocket|(mihomo|sing-box)(@.+)?)$`
	source := s.Properties["source"]
	source.Properties["type"] = word(sandrone.FileInline, sandrone.FileRemote)
	remote(source.Properties["remote"])
	s.Properties["config"].Properties["settings"].Type = "object"
	return s
}
