package mcp

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// The shapes of inputs. Each call makes a schema of its own, since the
// checker and the SDK keep them.

type members map[string]*jsonschema.Schema

// object is a closed object.
func object(required []string, of members) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "object", Required: required, Properties: of, AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}}}
}

func textOf(about string) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Description: about}
}

func nameOf(about string) *jsonschema.Schema {
	s := textOf(about)
	least := 1
	s.MinLength = &least
	return s
}

func flag(about string) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "boolean", Description: about}
}

func oneOfWords(about string, list ...string) *jsonschema.Schema {
	s := textOf(about)
	for _, v := range list {
		s.Enum = append(s.Enum, v)
	}
	return s
}

func integer(about string, least float64) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "integer", Description: about, Minimum: &least}
}

func upTo(s *jsonschema.Schema, most float64, byDefault string) *jsonschema.Schema {
	s.Maximum, s.Default = &most, json.RawMessage(byDefault)
	return s
}

func listOf(about string, item *jsonschema.Schema) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "array", Description: about, Items: item}
}

func texts(about string) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "object", Description: about, AdditionalProperties: &jsonschema.Schema{Type: "string"}}
}

// renderFormat is a format that is written, with a client version where it has
// some.
func (e *Endpoint) renderFormat(about string) *jsonschema.Schema {
	var plain, versioned []string
	for _, item := range e.options.Catalog.Index(nil).Items {
		switch {
		case item.Direction != "render":
		case item.Versions == nil:
			plain = append(plain, regexp.QuoteMeta(item.Format))
		default:
			versioned = append(versioned, regexp.QuoteMeta(item.Format))
		}
	}
	pattern := strings.Join(plain, "|")
	if versioned != nil {
		pattern += "|(" + strings.Join(versioned, "|") + ")(@[0-9.]+)?"
	}
	s := textOf(about)
	s.Pattern = "^(" + pattern + ")$"
	return s
}

func (e *Endpoint) parseFormat(about string, more ...string) *jsonschema.Schema {
	return oneOfWords(about, append(more, e.formats("parse")...)...)
}

// formats are the names of one direction, sorted.
func (e *Endpoint) formats(direction string) []string {
	var names []string
	for _, item := range e.options.Catalog.Index(nil).Items {
		if item.Direction == direction {
			names = append(names, item.Format)
		}
	}
	return names
}

func remoteInput(about string, more members) *jsonschema.Schema {
	of := members{
		"url":               nameOf("an http or https address"),
		"user_agent":        textOf(""),
		"proxy":             textOf("an http, https or socks5 address"),
		"timeout_ms":        integer("0 means the setting", 0),
		"cache_ttl_seconds": integer("how long the text may be used again", 0),
	}
	for name, s := range more {
		of[name] = s
	}
	s := object([]string{"url"}, of)
	s.Description = about
	return s
}

// steps are references to the definition of a step, which withSteps adds.
func steps(about string) *jsonschema.Schema {
	return listOf(about, &jsonschema.Schema{Ref: "#/$defs/processor"})
}

func withSteps(s *jsonschema.Schema) *jsonschema.Schema {
	s.Defs = members{"processor": object([]string{"type"}, members{
		"type":     nameOf("a type of sandrone://schemas/processors"),
		"stage":    oneOfWords("", "nodes", "file"),
		"name":     textOf("for people"),
		"params":   {Type: "object", Description: "as the params_schema of the type says"},
		"disabled": flag("leave the step out"),
	})}
	return s
}
