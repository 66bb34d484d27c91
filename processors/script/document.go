package script

import (
	"encoding/json"
	"reflect"
	"strings"
	"sync"

	"github.com/sandrone-gateway/sandrone"
)

// schema is a JSON Schema in the making.
type schema = map[string]any

// ParamsSchema returns the JSON Schema of a step's params. It must not be
// changed.
func ParamsSchema() map[string]any { return paramsSchema() }

var paramsSchema = sync.OnceValue(func() schema {
	text := func(description string) schema { return schema{"type": "string", "description": description} }
	natural := schema{"type": "integer", "minimum": 0}
	return closed(schema{
		"source": with(closed(schema{
			"type":    schema{"type": "string", "enum": []string{"inline", "file", "remote"}},
			"content": text("inline: the script"),
			"name":    text("file: name of a stored file, which is rendered to give the script"),
			"args":    schema{"type": "object", "additionalProperties": schema{"type": "string"}, "description": "file: the complete request args of that rendering"},
			"remote": with(closed(schema{
				"url":               text("http or https address of the script"),
				"user_agent":        schema{"type": "string"},
				"proxy":             schema{"type": "string"},
				"timeout_ms":        natural,
				"cache_ttl_seconds": natural,
			}), "required", []string{"url"}),
			"sha256": schema{"type": "string", "pattern": "^[0-9A-Fa-f]{64}$", "description": "SHA-256 that the script must have"},
		}), "required", []string{"type"}),
		"engine":     schema{"type": "string", "enum": []string{"js"}, "default": "js"},
		"args":       schema{"type": "object", "description": "base of input.args; request args of the same name win"},
		"timeout_ms": schema{"type": "integer", "minimum": 0, "default": DefaultTimeout.Milliseconds(), "description": "0 stands for the default; at most 60000 count"},
		"id":         schema{"type": "string", "default": "<inline>", "description": "name of an inline script in diagnostics"},
		"permissions": with(closed(schema{
			"network":   schema{"type": "boolean"},
			"resources": schema{"type": "array", "items": schema{"type": "string"}},
		}), "description", "reserved; grants nothing"),
		"content": text("older form of an inline source; excludes source and path"),
		"path":    text("older form of a file source; excludes source and content"),
	})
})

func closed(properties schema) schema {
	return schema{"type": "object", "properties": properties, "additionalProperties": false}
}

func with(s schema, key string, value any) schema {
	s[key] = value
	return s
}

// APIDocument returns the published description of the script API, version 1,
// as JSON: schemas of params and envelopes, methods, sources and limits.
func APIDocument() json.RawMessage { return apiDocument() }

var apiDocument = sync.OnceValue(func() json.RawMessage {
	form, err := json.Marshal(struct {
		Version   int               `json:"version"`
		Config    schema            `json:"config_schema"`
		Envelopes map[string]schema `json:"envelopes"`
		Methods   []method          `json:"methods"`
		Sources   []schema          `json:"sources"`
		Sandbox   schema            `json:"sandbox"`
	}{
		1, ParamsSchema(),
		map[string]schema{
			"nodes": {"input_schema": envelopeSchema("nodes", true), "output_schema": envelopeSchema("nodes", false)},
			"file":  {"input_schema": envelopeSchema("file", true), "output_schema": envelopeSchema("file", false)},
		},
		methods(),
		[]schema{
			{"type": "inline", "controlled": true, "description": "The script stands in source.content and is compiled when the step is made."},
			{"type": "file", "controlled": true, "description": "The stored file source.name is rendered with exactly source.args, and its text is the script. It is loaded for each run and recorded as a dependency; a cycle is a conflict."},
			{"type": "remote", "controlled": true, "description": "The script is fetched from source.remote.url for each run, through the guarded fetcher and its cache; source.sha256 pins its bytes."},
		},
		schema{
			"filesystem": false, "process": false,
			"network":        "None of its own. api.subscription.produce, api.file.content and api.probe reach what the service reaches for them.",
			"timeout":        "timeout_ms (2000 by default, at most 60000) over top level, main and their calls; the run is ended then, whatever it does. Memory growth 256 MiB, 2000 call frames, 64 calls of produce and content, result 32 MiB of JSON and 100000 nodes.",
			"logging":        "api.log only: 200 entries of 8 KiB, shown in draft previews, never in reports. There is no console.",
			"sensitive_data": "The envelope holds credentials, and nothing is hidden from the script. Keep them out of names, warnings and log entries.",
		},
	})
	if err != nil {
		panic("script: the API document is no JSON: " + err.Error())
	}
	return form
})

// shapes collects the schemas of structs as definitions.
type shapes struct{ defs schema }

// envelopeSchema describes the envelope of a stage. What every input has is
// required there; a result may leave anything out.
func envelopeSchema(stage string, input bool) schema {
	s := shapes{schema{}}
	properties := s.properties(reflect.TypeFor[envelope]())
	properties["version"] = schema{"const": 1}
	properties["stage"] = schema{"const": stage}
	properties["args"] = schema{"type": "object"}
	if stage == "nodes" {
		delete(properties, "file")
		properties["nodes"] = schema{"type": "array", "items": s.of(reflect.TypeFor[sandrone.Node]())}
		node := s.defs["node"].(schema)
		node["properties"].(schema)["ext"] = schema{"type": "object", "description": "free members; the result's are kept as raw ones"}
		if !input {
			node["required"] = []string{"name", "type"}
		}
	} else {
		properties["context"] = closed(schema{})
		if input {
			s.defs["document"].(schema)["required"] = []string{"name", "kind", "content"}
		}
	}
	out := closed(properties)
	if input {
		required := []string{"version", "stage", "render_options", "context", "request", "response"}
		if stage == "file" {
			required = append(required, "file")
		}
		out["required"] = required
	}
	out["$defs"] = s.defs
	return out
}

func (s shapes) properties(t reflect.Type) schema {
	out := schema{}
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		out[name] = s.of(t.Field(i).Type)
	}
	return out
}

// of returns the schema of a type. Structs become definitions, by the name of
// their type.
func (s shapes) of(t reflect.Type) schema {
	switch t {
	case reflect.TypeFor[sandrone.Tri]():
		return schema{"type": "boolean"}
	case reflect.TypeFor[json.RawMessage]():
		return schema{}
	}
	switch t.Kind() {
	case reflect.String:
		return schema{"type": "string"}
	case reflect.Bool:
		return schema{"type": "boolean"}
	case reflect.Int, reflect.Int64:
		return schema{"type": "integer"}
	case reflect.Uint16:
		return schema{"type": "integer", "minimum": 0, "maximum": 65535}
	case reflect.Pointer:
		return s.of(t.Elem())
	case reflect.Interface:
		return schema{}
	case reflect.Slice:
		return schema{"type": "array", "items": s.of(t.Elem())}
	case reflect.Map:
		if items := s.of(t.Elem()); len(items) > 0 {
			return schema{"type": "object", "additionalProperties": items}
		}
		return schema{"type": "object"}
	case reflect.Struct:
		name := strings.ToLower(t.Name())
		if _, ok := s.defs[name]; !ok {
			s.defs[name] = schema{} // ends a recursion
			s.defs[name] = closed(s.properties(t))
		}
		return schema{"$ref": "#/$defs/" + name}
	}
	panic("script: no schema for " + t.String())
}

// method is the description of an api method.
type method struct {
	Name        string     `json:"name"`
	Description string     `json:"description"`
	Stages      []string   `json:"stages"`
	Arguments   []argument `json:"arguments"`
	Arity       string     `json:"recommended_arity"`
	Ignored     bool       `json:"extra_arguments_ignored"`
	Zero        string     `json:"zero_arguments"`
	Runtime     string     `json:"runtime_requirement,omitempty"`
	Returns     schema     `json:"returns"`
	Codes       []string   `json:"error_codes"`
}

type argument struct {
	Position int    `json:"position"`
	Name     string `json:"name"`
	Schema   any    `json:"schema"`
	Required bool   `json:"required"`
	Variadic bool   `json:"variadic,omitempty"`
}

func methods() []method {
	var (
		both    = []string{"nodes", "file"}
		none    = []string{}
		failing = []string{string(sandrone.ScriptRuntime)}
		text    = schema{"type": "string"}
		void    = schema{"kind": "void"}
		stored  = []string{string(sandrone.InvalidArgument), string(sandrone.NotFound), string(sandrone.Conflict), string(sandrone.ScriptRuntime)}
		strs    = schema{"type": "object", "additionalProperties": text}
	)
	returns := func(kind string, s any) schema { return schema{"kind": kind, "schema": s} }
	arg := func(name string, s any, required bool) argument {
		return argument{Name: name, Schema: s, Required: required}
	}
	options := func(properties schema) schema {
		return schema{"type": []string{"object", "null"}, "properties": properties}
	}
	report := schema{"type": "object"}
	list := []method{
		{Name: "api.log", Description: "Adds a line to the run's log: texts as they are, other values as JSON.", Stages: both,
			Arguments: []argument{{Name: "values", Schema: true, Variadic: true}}, Arity: "0+",
			Zero: "returns void without adding an entry", Returns: void, Codes: none},
		{Name: "api.warn", Description: "Adds a warning to the result. Read are code, message, node, node_index, node_context, field, source and target; without code it is script_warning. Anything else is ignored.", Stages: both,
			Arguments: []argument{arg("warning", true, false)}, Arity: "0-1",
			Zero: "returns void without adding a warning", Returns: void, Codes: none},
		helper("api.yaml.parse", "Reads the first document of a YAML text. Keys become texts.", "text", text, "undefined", returns("value_or_void", true), failing),
		helper("api.yaml.stringify", "Writes a value as YAML, with a newline at the end.", "value", true, "the empty text", returns("value", text), failing),
		helper("api.json.parse", "Reads JSON.", "text", text, "undefined", returns("value_or_void", true), failing),
		helper("api.json.stringify", "Writes a value as compact JSON. A function in it is an error.", "value", true, "the empty text", returns("value", text), failing),
		helper("api.ini.parse", "Takes an INI text apart: bom, newline, trailing_newline, preamble, sections.", "text", text, "undefined", returns("value_or_void", iniSchema()), failing),
		helper("api.ini.stringify", "Puts an INI document together, strictly.", "document", iniSchema(), "the empty text", returns("value", text), failing),
		{Name: "api.ini.override", Description: "Applies an INI patch to a text line by line, as the merge mode ini_override does.", Stages: both,
			Arguments: []argument{arg("base", text, true), arg("patch", text, true)}, Arity: "2",
			Zero: "throws: two texts are needed", Returns: returns("value", text), Codes: failing},
		helper("api.base64.encode", "Encodes the UTF-8 form of a text as standard Base64 with padding.", "text", text, "the empty text", returns("value", text), none),
		helper("api.base64.decode", "Decodes standard Base64 with padding to a text, strictly.", "text", text, "the empty text", returns("value", text), failing),
		helper("api.hash.sha256", "Returns the SHA-256 of the UTF-8 form of a text in lower-case hex.", "text", text, "the empty text", returns("value", text), none),
		{Name: "api.subscription.produce", Description: "Materialises a stored subscription with exactly the given args. Without target it returns nodes, with one the rendered content.", Stages: both,
			Arguments: []argument{arg("name", text, true), arg("options", options(schema{"target": text, "args": strs}), false)}, Arity: "1-2",
			Zero: "throws invalid_argument",
			Returns: returns("value", schema{"oneOf": []schema{
				{"type": "object", "required": []string{"kind", "nodes", "report"}, "properties": schema{"kind": schema{"const": "nodes"}, "nodes": schema{"type": "array"}, "report": report}},
				{"type": "object", "required": []string{"kind", "target", "content", "report"}, "properties": schema{"kind": schema{"const": "content"}, "target": text, "content": text, "report": report}},
			}}), Codes: stored},
		{Name: "api.file.content", Description: "Returns the final text of another stored file, rendered with exactly the given args.", Stages: both,
			Arguments: []argument{arg("name", text, true), arg("options", options(schema{"args": strs}), false)}, Arity: "1-2",
			Zero: "throws invalid_argument", Runtime: "works only while a file is rendered", Returns: returns("value", text), Codes: stored},
		{Name: "api.probe", Description: "Probes nodes of the input. Warnings of the report are added to those of the script; the time counts.", Stages: []string{"nodes"},
			Arguments: []argument{
				arg("nodes", schema{"type": "array", "description": "nodes of input.nodes, unchanged, none more often than there"}, true),
				arg("options", options(schema{
					"method": text, "core": text, "url": text, "ntp_server": text, "expected_status": text,
					"timeout_ms": schema{"type": "integer", "minimum": 0}, "attempts": schema{"type": "integer", "minimum": 0},
					"concurrency": schema{"type": "integer", "minimum": 0}, "cache_ttl_seconds": schema{"type": "integer", "minimum": 0}, "meta": strs,
				}), false),
			}, Arity: "1-2",
			Zero:    "throws script_runtime",
			Returns: returns("value", schema{"type": "object", "required": []string{"results", "report"}, "properties": schema{"results": schema{"type": "array"}, "report": report}}),
			Codes: []string{string(sandrone.InvalidArgument), "probe_backend_unavailable", "probe_core_unavailable", "probe_core_start_failed", "probe_core_api_failed",
				"probe_invalid_target", "probe_timeout", "probe_tcp_failed", "probe_udp_ntp_failed", string(sandrone.ScriptRuntime)}},
	}
	for i := range list {
		list[i].Ignored = list[i].Name != "api.log"
		for j := range list[i].Arguments {
			list[i].Arguments[j].Position = j
		}
	}
	return list
}

// helper describes a method of one argument that stays in the sandbox.
func helper(name, description, argumentName string, s any, zero string, returns schema, codes []string) method {
	return method{
		Name: name, Description: description, Stages: []string{"nodes", "file"},
		Arguments: []argument{{Name: argumentName, Schema: s}}, Arity: "0-1",
		Zero: "returns " + zero, Returns: returns, Codes: codes,
	}
}

func iniSchema() schema {
	lines := schema{"type": "array", "items": schema{"type": "string"}}
	return closed(schema{
		"bom": schema{"type": "boolean"}, "newline": schema{"enum": []string{"\n", "\r\n"}},
		"trailing_newline": schema{"type": "boolean"}, "preamble": lines,
		"sections": schema{"type": "array", "items": closed(schema{"name": schema{"type": "string"}, "lines": lines})},
	})
}
