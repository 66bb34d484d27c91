package processors

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert/field"
)

// Limits of a rule tree.
const (
	maxRuleDepth  = 16
	maxRuleLeaves = 256
)

// rule tells whether a node satisfies a tree of conditions.
type rule func(n *sandrone.Node) (bool, error)

var ruleOps = []string{"equals", "not_equals", "in", "contains", "starts_with", "ends_with", "regex", "exists", "gt", "lt"}

// ruleParam is the param that is a rule tree.
func ruleParam[C any](name, about string, at func(*C) *rule) param[C] {
	return param[C]{name: name, about: ruleSchema(about), read: func(c *C, value json.RawMessage) error {
		leaves := 0
		r, err := readRule(value, maxRuleDepth, &leaves)
		*at(c) = r
		return err
	}}
}

// ruleSchema describes a tree. It refers to itself as #/$defs/rule, where
// liftRules puts it.
func ruleSchema(about string) *jsonschema.Schema {
	closed := func() *jsonschema.Schema { return &jsonschema.Schema{Not: &jsonschema.Schema{}} }
	one := 1
	branch := func(name string, s *jsonschema.Schema) *jsonschema.Schema {
		return &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{name: s}, Required: []string{name}, AdditionalProperties: closed()}
	}
	again := func() *jsonschema.Schema { return &jsonschema.Schema{Ref: "#/$defs/rule"} }
	several := func() *jsonschema.Schema { return &jsonschema.Schema{Type: "array", Items: again(), MinItems: &one} }
	ops := make([]any, len(ruleOps))
	for i, op := range ruleOps {
		ops[i] = op
	}
	return &jsonschema.Schema{
		Description: about,
		OneOf: []*jsonschema.Schema{
			branch("all", several()),
			branch("any", several()),
			branch("not", again()),
			{
				Type: "object",
				Properties: map[string]*jsonschema.Schema{
					"attr":  {Type: "string", Description: "dotted path in the node, as tls.server_name or meta.group"},
					"op":    {Type: "string", Enum: ops},
					"value": {Description: "what to compare with: an array for in, a number for gt and lt, none for exists"},
				},
				PropertyOrder:        []string{"attr", "op", "value"},
				Required:             []string{"attr", "op"},
				AdditionalProperties: closed(),
			},
		},
	}
}

// readRule reads a tree of at most depth levels.
func readRule(raw json.RawMessage, depth int, leaves *int) (rule, error) {
	if depth == 0 {
		return nil, bad("", "the rule is deeper than %d levels", maxRuleDepth)
	}
	members, err := object(raw)
	if err != nil {
		return nil, err
	}
	for name, value := range members {
		switch name {
		case "all", "any", "not":
		default:
			continue
		}
		if len(members) > 1 {
			return nil, bad(name, "%s stands alone in its object", name)
		}
		if name == "not" {
			r, err := readRule(value, depth-1, leaves)
			if err != nil {
				return nil, under("not", err)
			}
			return func(n *sandrone.Node) (bool, error) {
				ok, err := r(n)
				return !ok && err == nil, err
			}, nil
		}
		return readBranch(name, value, depth-1, leaves)
	}
	if *leaves++; *leaves > maxRuleLeaves {
		return nil, bad("", "the rule has more than %d conditions", maxRuleLeaves)
	}
	return readLeaf(members)
}

func readBranch(name string, value json.RawMessage, depth int, leaves *int) (rule, error) {
	var raw []json.RawMessage
	if json.Unmarshal(value, &raw) != nil {
		return nil, bad(name, "%s is no array", name)
	}
	if len(raw) == 0 {
		return nil, bad(name, "%s needs at least one rule", name)
	}
	rules := make([]rule, 0, min(len(raw), maxRuleLeaves))
	for i := range raw {
		r, err := readRule(raw[i], depth, leaves)
		if err != nil {
			return nil, under(fmt.Sprintf("%s[%d]", name, i), err)
		}
		rules = append(rules, r)
	}
	until := name == "any" // the answer that ends the search
	return func(n *sandrone.Node) (bool, error) {
		for _, r := range rules {
			if ok, err := r(n); err != nil || ok == until {
				return ok, err
			}
		}
		return !until, nil
	}, nil
}

type leafParams struct {
	attr, op string
	value    json.RawMessage
}

func leafTable() params[leafParams] {
	return params[leafParams]{
		text("attr", "", func(p *leafParams) *string { return &p.attr }).need(),
		word("op", "", func(p *leafParams) *string { return &p.op }, ruleOps...).need(),
		{name: "value", read: func(p *leafParams, v json.RawMessage) error {
			p.value = v
			return nil
		}},
	}
}

func readLeaf(members map[string]json.RawMessage) (rule, error) {
	raw, err := json.Marshal(members)
	if err != nil {
		return nil, bad("", "it is no rule")
	}
	var p leafParams
	if err := leafTable().decode(raw, &p); err != nil {
		return nil, err
	}
	place, ok := field.Lookup(p.attr)
	if !ok {
		return nil, bad("attr", "a node has no field %q", clip(p.attr, 64))
	}
	if p.op == "exists" {
		if p.value != nil {
			return nil, bad("value", "exists takes no value")
		}
		return func(n *sandrone.Node) (bool, error) {
			if place.IsObject() {
				set := field.Populated(n).And(place.Set)
				return !set.IsEmpty(), nil
			}
			return place.Get(n) != nil, nil
		}, nil
	}
	if place.IsObject() {
		return nil, bad("attr", "an object takes only exists")
	}
	if p.value == nil {
		return nil, bad("value", "value is required")
	}
	test, err := readTest(p.op, p.value)
	if err != nil {
		return nil, under("value", err)
	}
	all := p.op == "not_equals" // of an array, every item must differ
	return func(n *sandrone.Node) (bool, error) {
		v := place.Get(n)
		if v == nil {
			return all, nil
		}
		for _, item := range items(v) {
			if ok, err := test(item); err != nil || ok != all {
				return ok, err
			}
		}
		return all, nil
	}, nil
}

// items are the values of a list, or the only value.
func items(v any) []any {
	var list []any
	switch v := v.(type) {
	case []string:
		for _, s := range v {
			list = append(list, s)
		}
	case []int:
		for _, n := range v {
			list = append(list, n)
		}
	default:
		list = []any{v}
	}
	return list
}

// scalar is a value as text, for comparison.
func scalar(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.RawMessage:
		var s string
		if json.Unmarshal(v, &s) == nil {
			return s
		}
		return string(v)
	case map[string]string, map[string]any, sandrone.Raw, []sandrone.Warning:
		text, _ := json.Marshal(v)
		return string(text)
	}
	return fmt.Sprint(v)
}

// readScalar reads a value to compare with. Numbers and switches compare by
// their text, so that 443 and "443" are one port.
func readScalar(raw json.RawMessage) (string, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return "", bad("", "it is no value")
	}
	switch v := v.(type) {
	case string:
		return v, nil
	case bool:
		return fmt.Sprint(v), nil
	case json.Number:
		if f, ok := number(v.String()); ok && f.IsInt() {
			return f.Num().String(), nil
		}
		return v.String(), nil
	}
	return "", bad("", "it is neither text nor number nor switch")
}

// number reads a text that is a number. Long ones are refused: their exponent
// alone could cost any amount of memory.
func number(s string) (*big.Rat, bool) {
	if len(s) > 32 || strings.ContainsAny(s, "/_xXbBoOpP") {
		return nil, false
	}
	if i := strings.IndexAny(s, "eE"); i >= 0 && len(s)-i > 5 {
		return nil, false
	}
	return new(big.Rat).SetString(s)
}

// readTest reads the value of a condition and returns what it asks of one item.
func readTest(op string, raw json.RawMessage) (func(v any) (bool, error), error) {
	plain := func(f func(have string) bool) func(any) (bool, error) {
		return func(v any) (bool, error) { return f(scalar(v)), nil }
	}
	if op == "in" {
		var list []json.RawMessage
		if json.Unmarshal(raw, &list) != nil {
			return nil, bad("", "in takes an array")
		}
		if len(list) == 0 || len(list) > maxList {
			return nil, bad("", "in takes 1 to %d values", maxList)
		}
		set := make(map[string]bool, len(list))
		for i := range list {
			s, err := readScalar(list[i])
			if err != nil {
				return nil, under(fmt.Sprintf("[%d]", i), err)
			}
			set[s] = true
		}
		return plain(func(have string) bool { return set[have] }), nil
	}
	want, err := readScalar(raw)
	if err != nil {
		return nil, err
	}
	switch op {
	case "equals":
		return plain(func(have string) bool { return have == want }), nil
	case "not_equals":
		return plain(func(have string) bool { return have != want }), nil
	case "contains":
		return plain(func(have string) bool { return strings.Contains(have, want) }), nil
	case "starts_with":
		return plain(func(have string) bool { return strings.HasPrefix(have, want) }), nil
	case "ends_with":
		return plain(func(have string) bool { return strings.HasSuffix(have, want) }), nil
	case "regex":
		re, err := compile("", want)
		if err != nil {
			return nil, err
		}
		return func(v any) (bool, error) {
			ok, err := re.Match(scalar(v))
			return ok, matching(err)
		}, nil
	}
	limit, ok := number(want)
	if !ok {
		return nil, bad("", "%s takes a number", op)
	}
	sign := 1
	if op == "lt" {
		sign = -1
	}
	return plain(func(have string) bool {
		n, ok := number(strings.TrimSpace(have))
		return ok && n.Cmp(limit) == sign
	}), nil
}

// liftRules moves the schema of a rule to where it can refer to itself.
func liftRules(s *jsonschema.Schema) {
	for name, r := range s.Properties {
		if len(r.OneOf) == 0 {
			continue
		}
		s.Properties[name] = &jsonschema.Schema{Description: r.Description, Ref: "#/$defs/rule"}
		s.Defs = map[string]*jsonschema.Schema{"rule": {OneOf: r.OneOf}}
	}
}
