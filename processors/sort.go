package processors

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/sandrone-gateway/sandrone"
)

type sortParams struct{ by string }

// sortNodes orders nodes by fields, as text.
func sortNodes() *processor[[]entry] {
	return define(Descriptor{
		Type:        "sort",
		Description: "Orders nodes by fields, compared as text byte by byte; equal nodes keep their order.",
		Examples: []sandrone.ProcessorSpec{
			example("sort", `{}`),
			example("sort", `{"by":"-type,+name"}`),
		},
	}, params[sortParams]{
		text("by", "keys separated by commas, each a field with + (ascending) or - in front; fields as in dedup", func(p *sortParams) *string { return &p.by }).or(`"+name"`),
	}, func(p *sortParams) (step[[]entry], error) {
		type key struct {
			field string
			sign  int
		}
		var keys []key
		for item := range strings.SplitSeq(cmp.Or(p.by, "+name"), ",") {
			item = strings.ToLower(strings.TrimSpace(item))
			if item == "" {
				continue
			}
			k := key{item, 1}
			if rest, ok := strings.CutPrefix(item, "-"); ok {
				k = key{rest, -1}
			} else if rest, ok := strings.CutPrefix(item, "+"); ok {
				k.field = rest
			}
			if k.field = strings.TrimSpace(k.field); k.field == "" {
				return nil, bad("by", "a key is only a sign")
			}
			keys = append(keys, k)
		}
		if len(keys) == 0 {
			return nil, bad("by", "by has no key")
		}
		return func(ctx context.Context, _ *scope, in []entry) ([]entry, error) {
			out := slices.Clone(in)
			slices.SortStableFunc(out, func(a, b entry) int {
				for _, k := range keys {
					if c := strings.Compare(textOf(a.node, k.field), textOf(b.node, k.field)); c != 0 {
						return k.sign * c
					}
				}
				return 0
			})
			return out, nil
		}, nil
	})
}
