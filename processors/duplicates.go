package processors

import (
	"context"
	"strconv"
	"strings"

	"github.com/sandrone-gateway/sandrone"
)

type duplicateParams struct {
	action, link, position, digits string
	fields                         []string
}

// duplicateNames numbers the members of groups of equal nodes, or drops all but
// the first.
func duplicateNames() *processor[[]entry] {
	return define(Descriptor{
		Type:        "duplicate_names",
		Description: "Numbers the nodes that share a name (or other fields), from 1 in their order, with zeros in front up to the widest number; or drops all but the first.",
		Examples: []sandrone.ProcessorSpec{
			example("duplicate_names", `{}`),
			example("duplicate_names", `{"link":" ","digits":"⁰ ¹ ² ³ ⁴ ⁵ ⁶ ⁷ ⁸ ⁹"}`),
			example("duplicate_names", `{"action":"drop","fields":["server","port"]}`),
		},
	}, params[duplicateParams]{
		word("action", "number the nodes, or drop the later ones", func(p *duplicateParams) *string { return &p.action }, "rename", "drop").or(`"rename"`),
		texts("fields", "what makes nodes a group; fields as in dedup", func(p *duplicateParams) *[]string { return &p.fields }).or(`["name"]`),
		text("link", "text between name and number", func(p *duplicateParams) *string { return &p.link }).or(`"-"`),
		word("position", "where the number stands", func(p *duplicateParams) *string { return &p.position }, "back", "front").or(`"back"`),
		text("digits", "the ten digits, separated by spaces", func(p *duplicateParams) *string { return &p.digits }).or(`"0 1 2 3 4 5 6 7 8 9"`),
	}, func(p *duplicateParams) (step[[]entry], error) {
		if len(p.fields) == 0 {
			return nil, bad("fields", "fields needs at least one")
		}
		fields := make([]string, len(p.fields))
		for i, f := range p.fields {
			fields[i] = strings.ToLower(strings.TrimSpace(f))
		}
		digits := strings.Fields(p.digits)
		if len(digits) != 10 {
			return nil, bad("digits", "digits are %d and not ten", len(digits))
		}
		if p.action == "drop" {
			return unique(func(n *sandrone.Node) string { return keyOf(n, fields) }), nil
		}
		return func(ctx context.Context, _ *scope, in []entry) ([]entry, error) {
			keys := make([]string, len(in))
			size := make(map[string]int, len(in))
			largest := 0
			for i, e := range in {
				keys[i] = keyOf(e.node, fields)
				size[keys[i]]++
				largest = max(largest, size[keys[i]])
			}
			width := len(strconv.Itoa(largest))
			count := make(map[string]int)
			at := -1
			return edited(ctx, in, func(e entry) (*sandrone.Node, error) {
				at++
				key := keys[at]
				if size[key] < 2 {
					return nil, nil
				}
				count[key]++
				number := written(count[key], width, digits)
				if p.position == "front" {
					return renamed(e.node, number+p.link+e.node.Name)
				}
				return renamed(e.node, e.node.Name+p.link+number)
			})
		}, nil
	})
}

// written is n with zeros in front, in the given digits.
func written(n, width int, digits []string) string {
	s := strconv.Itoa(n)
	var b strings.Builder
	for range width - len(s) {
		b.WriteString(digits[0])
	}
	for _, d := range s {
		b.WriteString(digits[d-'0'])
	}
	return b.String()
}
