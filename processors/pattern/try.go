package pattern

import (
	"context"
	"fmt"

	"github.com/sandrone-gateway/sandrone"
)

// Limits of one trial.
const (
	maxTexts = 2000
	maxText  = 4096 // bytes
)

// Trial is what a pattern does with texts, for the people who write it.
type Trial struct {
	Valid   bool         `json:"valid"`
	Engine  Engine       `json:"engine,omitempty"`
	Error   string       `json:"error,omitempty"` // why it is not valid: it does not compile, or a limit was reached
	Matched int          `json:"matched"`         // texts with a match
	Items   []TrialMatch `json:"items"`           // those texts
}

// TrialMatch is one text with a match.
type TrialMatch struct {
	Index    int      `json:"index"`
	Spans    [][2]int `json:"spans"` // all matches, in UTF-16 units
	Replaced *string  `json:"replaced,omitempty"`
}

// Try runs a pattern on texts, and puts the replacement in if there is one. A
// pattern that cannot be used is a result. The error is an invalid_argument for
// what is over a limit, or that of ctx.
func Try(ctx context.Context, expr string, replacement *string, texts []string) (Trial, error) {
	if len(expr) > MaxPattern {
		return Trial{}, sandrone.Errorf(sandrone.InvalidArgument, "pattern is longer than %d bytes", MaxPattern).At("pattern")
	}
	if replacement != nil && len(*replacement) > MaxPattern {
		return Trial{}, sandrone.Errorf(sandrone.InvalidArgument, "replacement is longer than %d bytes", MaxPattern).At("replacement")
	}
	if len(texts) > maxTexts {
		return Trial{}, sandrone.Errorf(sandrone.InvalidArgument, "there are more than %d texts", maxTexts).At("texts")
	}
	for i, text := range texts {
		if len(text) > maxText {
			return Trial{}, sandrone.Errorf(sandrone.InvalidArgument, "the text is longer than %d bytes", maxText).At(fmt.Sprintf("texts[%d]", i))
		}
	}
	failed := func(err error) Trial { return Trial{Error: err.Error(), Items: []TrialMatch{}} }
	p, err := Compile(expr)
	if err != nil {
		return failed(err), nil
	}
	var with *Replacement
	if replacement != nil {
		if with, err = p.Replacement(*replacement); err != nil {
			return failed(err), nil
		}
	}
	trial := Trial{Valid: true, Engine: p.Engine(), Items: []TrialMatch{}}
	for i, text := range texts {
		if err := ctx.Err(); err != nil {
			return Trial{}, err
		}
		spans, err := p.Spans(text)
		if err != nil {
			return failed(err), nil
		}
		if len(spans) == 0 {
			continue
		}
		item := TrialMatch{Index: i, Spans: spans}
		if with != nil {
			replaced, err := with.In(text)
			if err != nil {
				return failed(err), nil
			}
			item.Replaced = &replaced
		}
		trial.Items = append(trial.Items, item)
	}
	trial.Matched = len(trial.Items)
	return trial, nil
}
