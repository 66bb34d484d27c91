package processors

import (
	"context"

	"github.com/sandrone-gateway/sandrone"
)

type conditionalParams struct {
	action string
	rule   rule
}

// conditionalFilter keeps or drops nodes by a tree of conditions.
func conditionalFilter() *processor[[]entry] {
	return define(Descriptor{
		Type:        "conditional_filter",
		Description: "Keeps or drops the nodes that satisfy a tree of conditions on any of their fields. A field that a node lacks satisfies only not_equals.",
		ErrorCodes:  withPatterns,
		Examples: []sandrone.ProcessorSpec{
			example("conditional_filter", `{"action":"keep","rule":{"attr":"port","op":"lt","value":1024}}`),
			example("conditional_filter", `{"action":"drop","rule":{"all":[{"attr":"type","op":"in","value":["ss","ssr"]},{"not":{"attr":"tls","op":"exists"}}]}}`),
		},
	}, params[conditionalParams]{
		word("action", "keep the nodes that satisfy the rule, or drop them", func(p *conditionalParams) *string { return &p.action }, "keep", "drop").need(),
		ruleParam("rule", "a condition, or all, any, not of rules", func(p *conditionalParams) *rule { return &p.rule }).need(),
	}, func(p *conditionalParams) (step[[]entry], error) {
		return func(ctx context.Context, _ *scope, in []entry) ([]entry, error) {
			return kept(ctx, in, func(n *sandrone.Node) (bool, error) {
				ok, err := p.rule(n)
				return ok == (p.action == "keep"), err
			})
		}, nil
	})
}
