package processors

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/processors/pattern"
)

// maxPatterns bounds the patterns of one step.
const maxPatterns = 256

type regexRule struct{ pattern, replacement string }

type regexRenameParams struct {
	rules []regexRule
	trim  bool
}

// regexRename runs an ordered list of replacements over every name.
func regexRename() *processor[[]entry] {
	return define(Descriptor{
		Type:        "regex_rename",
		Description: "Replaces in every name by an ordered list of patterns.",
		ErrorCodes:  withPatterns,
		Examples: []sandrone.ProcessorSpec{
			example("regex_rename", `{"rules":[{"pattern":"(?i)\\bIEPL\\b","replacement":""},{"pattern":"\\s+","replacement":" "}]}`),
		},
	}, params[regexRenameParams]{
		objects("rules", "replacements, in order", 1, maxPatterns, func(p *regexRenameParams) *[]regexRule { return &p.rules }, params[regexRule]{
			text("pattern", "regular expression; all its matches are replaced", func(r *regexRule) *string { return &r.pattern }).need(),
			text("replacement", "text for each match, with $1, ${1}, ${name} and $$; absent removes", func(r *regexRule) *string { return &r.replacement }),
		}),
		toggle("trim", "remove white space at both ends after each rule", func(p *regexRenameParams) *bool { return &p.trim }).or(`true`),
	}, func(p *regexRenameParams) (step[[]entry], error) {
		rules := make([]*pattern.Replacement, len(p.rules))
		for i, r := range p.rules {
			at := fmt.Sprintf("rules[%d].", i)
			var err error
			if rules[i], err = replacing(at+"pattern", r.pattern, at+"replacement", r.replacement); err != nil {
				return nil, err
			}
		}
		return replaceNames(rules, p.trim), nil
	})
}

type regexDeleteParams struct{ patterns []string }

// regexDelete is regexRename with nothing as the replacement.
func regexDelete() *processor[[]entry] {
	return define(Descriptor{
		Type:        "regex_delete",
		Description: "Removes from every name what matches an ordered list of patterns, and the white space at both ends.",
		ErrorCodes:  withPatterns,
		Examples:    []sandrone.ProcessorSpec{example("regex_delete", `{"patterns":["\\[[^\\]]*\\]","(?i)premium"]}`)},
	}, params[regexDeleteParams]{
		patternList("patterns", "regular expressions, in order", 1, func(p *regexDeleteParams) *[]string { return &p.patterns }),
	}, func(p *regexDeleteParams) (step[[]entry], error) {
		rules := make([]*pattern.Replacement, len(p.patterns))
		for i, expr := range p.patterns {
			var err error
			if rules[i], err = replacing(fmt.Sprintf("patterns[%d]", i), expr, "", ""); err != nil {
				return nil, err
			}
		}
		return replaceNames(rules, true), nil
	})
}

// patternList is a list of regular expressions, none of them empty.
func patternList[C any](name, about string, low int, at func(*C) *[]string) param[C] {
	return list(name, about, low, maxPatterns, at, &jsonschema.Schema{Type: "string"}, func(value json.RawMessage) (s string, err error) {
		if isNull(value) || json.Unmarshal(value, &s) != nil {
			return "", bad("", "it is no string")
		}
		if s == "" {
			return "", bad("", "the pattern is empty")
		}
		return s, nil
	})
}

func replaceNames(rules []*pattern.Replacement, trim bool) step[[]entry] {
	return func(ctx context.Context, _ *scope, in []entry) ([]entry, error) {
		return edited(ctx, in, func(e entry) (*sandrone.Node, error) {
			name := e.node.Name
			for _, r := range rules {
				var err error
				if name, err = r.In(name); err != nil {
					return nil, matching(err)
				}
				if trim {
					name = strings.TrimSpace(name)
				}
			}
			return renamed(e.node, name)
		})
	}
}

type regexSortParams struct {
	patterns []string
	order    string
}

// regexSort puts nodes in the order of the patterns that they match.
func regexSort() *processor[[]entry] {
	return define(Descriptor{
		Type:        "regex_sort",
		Description: "Orders nodes by the first pattern of a list that their name matches; nodes that match none come last.",
		ErrorCodes:  withPatterns,
		Examples:    []sandrone.ProcessorSpec{example("regex_sort", `{"patterns":["香港|HK","日本|JP"],"order":"original"}`)},
	}, params[regexSortParams]{
		patternList("patterns", "regular expressions, the first rank first", 0, func(p *regexSortParams) *[]string { return &p.patterns }),
		word("order", "order of the nodes that match none: by name, or as they came", func(p *regexSortParams) *string { return &p.order }, "asc", "desc", "original").or(`"asc"`),
	}, func(p *regexSortParams) (step[[]entry], error) {
		patterns, err := compileAll("patterns", p.patterns)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context, _ *scope, in []entry) ([]entry, error) {
			ranks := make([][]entry, len(patterns)+1)
			for i, e := range in {
				if err := every(ctx, i); err != nil {
					return nil, err
				}
				rank, err := firstMatch(patterns, e.node.Name)
				if err != nil {
					return nil, err
				}
				ranks[rank] = append(ranks[rank], e)
			}
			rest := ranks[len(patterns)]
			slices.SortStableFunc(rest, func(a, b entry) int {
				switch p.order {
				case "asc":
					return strings.Compare(a.node.Name, b.node.Name)
				case "desc":
					return strings.Compare(b.node.Name, a.node.Name)
				}
				return 0
			})
			return slices.Concat(ranks...), nil
		}, nil
	})
}

func compileAll(name string, exprs []string) ([]*pattern.Pattern, error) {
	patterns := make([]*pattern.Pattern, len(exprs))
	for i, expr := range exprs {
		var err error
		if patterns[i], err = compile(fmt.Sprintf("%s[%d]", name, i), expr); err != nil {
			return nil, err
		}
	}
	return patterns, nil
}

// firstMatch returns the index of the first pattern that matches, or their
// number.
func firstMatch(patterns []*pattern.Pattern, text string) (int, error) {
	for i, p := range patterns {
		found, err := p.Match(text)
		if err != nil {
			return 0, matching(err)
		}
		if found {
			return i, nil
		}
	}
	return len(patterns), nil
}
