package processors

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert/field"
)

type patchParams struct {
	match rule
	unset []field.Place
	set   []func(*sandrone.Node)
}

// nodePatch sets and removes fields.
func nodePatch() *processor[[]entry] {
	return define(Descriptor{
		Type:        "node_patch",
		Description: "Removes and sets fields of the nodes, or of those that satisfy a rule. An object is set member by member.",
		ErrorCodes:  withPatterns,
		Examples: []sandrone.ProcessorSpec{
			example("node_patch", `{"set":{"dialer.mptcp":true,"meta.group":"mine"},"unset":["tls.alpn"]}`),
			example("node_patch", `{"match":{"attr":"type","op":"equals","value":"trojan"},"set":{"tls.client_fingerprint":"chrome"}}`),
		},
	}, params[patchParams]{
		ruleParam("match", "only nodes that satisfy it are changed; absent means all", func(p *patchParams) *rule { return &p.match }),
		{
			name:  "set",
			about: &jsonschema.Schema{Type: "object", Description: "dotted path to value, each of the field's type; runs after unset"},
			read:  readSet,
		},
		{
			name:  "unset",
			about: &jsonschema.Schema{Type: "array", Items: &jsonschema.Schema{Type: "string"}, Description: "dotted paths of fields and objects to remove"},
			read:  readUnset,
		},
	}, func(p *patchParams) (step[[]entry], error) {
		if len(p.set) == 0 && len(p.unset) == 0 {
			return nil, bad("", "nothing to do: give set or unset")
		}
		return func(ctx context.Context, _ *scope, in []entry) ([]entry, error) {
			return edited(ctx, in, func(e entry) (*sandrone.Node, error) {
				if p.match != nil {
					if ok, err := p.match(e.node); err != nil || !ok {
						return nil, err
					}
				}
				n := *e.node
				for _, place := range p.unset {
					place.Remove(&n)
				}
				for _, put := range p.set {
					put(&n)
				}
				if same(&n, e.node) {
					return nil, nil
				}
				return &n, nil
			})
		}, nil
	})
}

func readUnset(p *patchParams, value json.RawMessage) error {
	var paths []string
	if json.Unmarshal(value, &paths) != nil {
		return bad("", "unset is no array of strings")
	}
	if len(paths) > maxList {
		return bad("", "unset has more than %d paths", maxList)
	}
	for _, path := range paths {
		place, err := lookup(path)
		if err != nil {
			return err
		}
		if path == "name" || path == "type" {
			return bad("", "%s may not become empty", path)
		}
		p.unset = append(p.unset, place)
	}
	return nil
}

func lookup(path string) (field.Place, error) {
	place, ok := field.Lookup(path)
	if !ok {
		return place, bad("", "a node has no field %q", clip(path, 64))
	}
	return place, nil
}

func readSet(p *patchParams, value json.RawMessage) error {
	members, err := object(value)
	if err != nil {
		return err
	}
	if len(members) > maxList {
		return bad("", "set has more than %d fields", maxList)
	}
	for _, path := range slices.Sorted(maps.Keys(members)) {
		if err := p.read(path, members[path]); err != nil {
			return under(clip(path, 64), err)
		}
	}
	return nil
}

// read adds the setting of one path; an object is set by its members.
func (p *patchParams) read(path string, value json.RawMessage) error {
	place, err := lookup(path)
	if err != nil {
		return err
	}
	if place.IsObject() {
		members, err := object(value)
		if err != nil || isNull(value) {
			return bad("", "it is no JSON object")
		}
		for _, name := range slices.Sorted(maps.Keys(members)) {
			if err := p.read(path+"."+name, members[name]); err != nil {
				return under(clip(name, 64), err)
			}
		}
		return nil
	}
	if path == "name" || path == "type" {
		var s string
		if json.Unmarshal(value, &s) == nil && strings.TrimSpace(s) == "" {
			return bad("", "%s may not become empty", path)
		}
		if path == "type" {
			kind := sandrone.TypeOf(strings.ToLower(strings.TrimSpace(s)))
			if kind == "" {
				return bad("", "it is no known protocol")
			}
			value, _ = json.Marshal(kind)
		}
	}
	put, err := place.Read(value)
	switch {
	case errors.Is(err, field.ErrType):
		return bad("", "the value is not of the type of %s", path)
	case err != nil:
		return err
	}
	p.set = append(p.set, put)
	return nil
}
