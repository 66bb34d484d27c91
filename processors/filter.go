package processors

import (
	"context"
	"strings"

	"github.com/sandrone-gateway/sandrone"
)

type filterParams struct {
	action, field, match, pattern string
	values                        []string
}

// filterNodes keeps or drops nodes by one of three fields.
func filterNodes() *processor[[]entry] {
	return define(Descriptor{
		Type:        "filter",
		Description: "Keeps or drops the nodes whose name, type or server matches a pattern or is one of a list.",
		Examples: []sandrone.ProcessorSpec{
			example("filter", `{"action":"drop","field":"name","match":"regex","pattern":"(?i)expire|剩余"}`),
			example("filter", `{"action":"keep","field":"type","match":"in","values":["vless","trojan"]}`),
		},
	}, params[filterParams]{
		word("action", "keep the matching nodes, or drop them", func(p *filterParams) *string { return &p.action }, "keep", "drop").need(),
		word("field", "field of the node that is looked at", func(p *filterParams) *string { return &p.field }, "name", "type", "server").need(),
		word("match", "regex searches pattern in the value; in looks the value up in values", func(p *filterParams) *string { return &p.match }, "regex", "in").need(),
		text("pattern", "regular expression, for regex", func(p *filterParams) *string { return &p.pattern }),
		texts("values", "values, for in; compared without outer blanks, types without letter case too", func(p *filterParams) *[]string { return &p.values }),
	}, func(p *filterParams) (step[[]entry], error) {
		matches, err := p.matcher()
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context, _ *scope, in []entry) ([]entry, error) {
			return kept(ctx, in, func(n *sandrone.Node) (bool, error) {
				found, err := matches(textOf(n, p.field))
				return found == (p.action == "keep"), err
			})
		}, nil
	})
}

func (p *filterParams) matcher() (func(string) (bool, error), error) {
	if p.match == "regex" {
		if p.pattern == "" {
			return nil, bad("pattern", "pattern is required")
		}
		re, err := compile("pattern", p.pattern)
		if err != nil {
			return nil, err
		}
		return func(s string) (bool, error) {
			found, err := re.Match(s)
			return found, matching(err)
		}, nil
	}
	fold := strings.TrimSpace
	if p.field == "type" {
		fold = func(s string) string { return strings.ToLower(strings.TrimSpace(s)) }
	}
	set := make(map[string]bool, len(p.values))
	for _, v := range p.values {
		if v = fold(v); v != "" {
			set[v] = true
		}
	}
	if len(set) == 0 {
		return nil, bad("values", "values needs at least one that is not blank")
	}
	return func(s string) (bool, error) { return set[fold(s)], nil }, nil
}
