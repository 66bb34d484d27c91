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
				if err := ctx.Err(); err != nil {
					return File{}, err
				}
				if rules[i] == nil {
					count := strings.Count(in.Content, r.from)
					if p.count > 0 {
						count = min(count, p.count)
					}
					if len(in.Content)+count*(len(r.to)-len(r.from)) > maxDocument {
						return File{}, errLargeDocument()
					}
					in.Content = strings.Replace(in.Content, r.from, r.to, count)
					continue
				}
				content, err := rules[i].Some(in.Content, p.count, maxDocument)
				switch {
				case errors.Is(err, pattern.ErrResult):
					return File{}, errLargeDocument()
				case err != nil:
					return File{}, sandrone.Errorf(sandrone.FileProcessorFailed, "rules[%d].from: %s", i, err)
				}
				in.Content = content
			}
			return in, nil
		}, nil
	})
}

func errLargeDocument() error {
	return sandrone.Errorf(sandrone.FileProcessorFailed, "the document would be larger than %d bytes", maxDocument)
}
