package engine

import (
	"context"

	"github.com/sandrone-gateway/sandrone/processors/pattern"
)

// PatternTrial asks what a regular expression does with texts. The JSON form
// is that of the API.
type PatternTrial struct {
	Pattern     string   `json:"pattern"`
	Replacement *string  `json:"replacement,omitempty"` // nil: nothing is replaced
	Texts       []string `json:"texts"`
}

// TryPattern runs a regular expression in the dialect of the steps and under
// their limits. One that cannot be used is a result; the error is an
// invalid_argument for what is over a limit, or that of ctx.
func (e *Engine) TryPattern(ctx context.Context, req PatternTrial) (pattern.Trial, error) {
	return pattern.Try(ctx, req.Pattern, req.Replacement, req.Texts)
}
