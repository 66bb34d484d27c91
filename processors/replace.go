package processors

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/processors/pattern"
)

type replaceRule struct {
	from, to string
	regex    bool
}

type replaceParams struct {
	rules []replaceRule
	count int
}

// replaceText replaces in the text of the document.
func replaceText() *processor[File] {
	return defineFile(Descriptor{
		Type:        "replace",
		Description: "Replaces in the text of the document by an ordered list of rules, literally or by patterns.",
		ErrorCodes:  []sandrone.Code{sandrone.ProcessorConfigInvalid, sandrone.FileProcessorFailed},
		Examples: []sandrone.ProcessorSpec{
			example("replace", `{"rules":[{"from":"https://raw.githubusercontent.com/MetaCubeX/meta-rules-dat/meta/","to":"https://cdn.jsdelivr.net/gh/MetaCubeX/meta-rules-dat@meta/"}]}`),
			example("replace", `{"rules":[{"from":"(?m)^log-level: .*$","to":"log-level: warning","regex":true}],"count":1}`),
		},
	}, params[replaceParams]{
		objects("rules", "replacements, in order; each sees what those before it made", 1, maxPatterns, func(p *replaceParams) *[]replaceRule { return &p.rules }, params[replaceRule]{
			text("from", "text to find, or a regular expression", func(r *replaceRule) *string { return &r.from }).state(),
			text("to", "text in its place, with $1, ${1}, ${name} and $$ behind a regular expression; absent removes", func(r *replaceRule) *string { return &r.to }),
			toggle("regex", "from is a regular expression", func(r *replaceRule) *bool { return &r.regex }).or(`false`),
		}),
		whole("count", "at most so many replacements a rule; absent means all", 1, 0, func(p *replaceParams) *int { return &p.count }),
	}, func(p *replaceParams) (step[File], error) {
		rules := make([]*pattern.Replacement, len(p.rules)) // nil for literal ones
		for i, r := range p.rules {
			at := fmt.Sprintf("rules[%d].", i)
			if r.from == "" {
				return nil, bad(at+"from", "from is required")
			}
			if r.regex {
				var err error
				if rules[i], err = replacing(at+"from", r.from, at+"to", r.to); err != nil {
					return nil, err
				}
			}
		}
		return func(ctx context.Context, _ *scope, in File) (File, error) {
			for i, r := range p.rules {
				var err error
				if rules[i] != nil {
					in.Content, err = rules[i].InDocument(ctx, in.Content, p.count, maxDocument)
				} else if err = ctx.Err(); err == nil {
					in.Content, err = r.literally(in.Content, p.count)
				}
				if err != nil {
					if ctx.Err() != nil {
						return File{}, ctx.Err()
					}
					if errors.Is(err, pattern.ErrResult) {
						err = fmt.Errorf("the document grows beyond %d bytes", maxDocument)
					}
					return File{}, sandrone.Errorf(sandrone.FileProcessorFailed, "%s", err).At(fmt.Sprintf("params.rules[%d]", i))
				}
			}
			return in, nil
		}, nil
	})
}

// literally replaces the first count places, all of them if count is 0.
func (r *replaceRule) literally(content string, count int) (string, error) {
	n := strings.Count(content, r.from)
	if count > 0 {
		n = min(n, count)
	}
	if len(content)+n*(len(r.to)-len(r.from)) > maxDocument {
		return "", pattern.ErrResult
	}
	return strings.Replace(content, r.from, r.to, n), nil
}
