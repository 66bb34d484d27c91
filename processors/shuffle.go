package processors

import (
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/sandrone-gateway/sandrone"
)

type shuffleParams struct{ seed *int64 }

// shuffle puts nodes in a random order.
func shuffle() *processor[[]entry] {
	seed := param[shuffleParams]{
		name:  "seed",
		about: &jsonschema.Schema{Type: "integer", Description: "the same seed gives the same order of the same nodes; absent means another one each time"},
		read: func(p *shuffleParams, value json.RawMessage) error {
			if json.Unmarshal(value, &p.seed) != nil {
				return bad("", "seed is no integer")
			}
			return nil
		},
	}
	return define(Descriptor{
		Type:        "shuffle",
		Description: "Puts the nodes in a random order.",
		Examples:    []sandrone.ProcessorSpec{example("shuffle", `{}`), example("shuffle", `{"seed":42}`)},
	}, params[shuffleParams]{seed}, func(p *shuffleParams) (step[[]entry], error) {
		return func(_ context.Context, s *scope, in []entry) ([]entry, error) {
			var source rand.Source
			if p.seed != nil {
				source = rand.NewPCG(uint64(*p.seed), 0)
			} else {
				var seed [32]byte
				if _, err := io.ReadFull(s.random(), seed[:]); err != nil {
					return nil, err
				}
				source = rand.NewChaCha8(seed)
			}
			out := slices.Clone(in)
			rand.New(source).Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
			return out, nil
		}, nil
	})
}
