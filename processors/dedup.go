package processors

import (
	"context"
	"crypto/rand"
	"io"
	"math/big"
	"strconv"
	"strings"

	"github.com/sandrone-gateway/sandrone"
)

type dedupParams struct {
	strategy string
	fields   []string
}

// dedup removes nodes that repeat another one, or makes their names differ.
func dedup() *processor[[]entry] {
	return define(Descriptor{
		Type:        "dedup",
		Description: "Removes nodes that repeat an earlier one, or gives later holders of a name a random suffix.",
		Examples: []sandrone.ProcessorSpec{
			example("dedup", `{}`),
			example("dedup", `{"strategy":"identity"}`),
			example("dedup", `{"strategy":"fields","fields":["server","port"]}`),
		},
	}, params[dedupParams]{
		word("strategy", "what makes two nodes the same: name; identity (type, server, port, uuid and password only); connection (whatever defines the connection, transport and TLS too); fields (those listed). random_suffix removes nothing and makes names unique",
			func(p *dedupParams) *string { return &p.strategy }, "name", "identity", "connection", "fields", "random_suffix").or(`"name"`),
		texts("fields", "fields to compare, for fields: name, type, server, port, uuid, password, username, cipher; another name compares as empty",
			func(p *dedupParams) *[]string { return &p.fields }),
	}, func(p *dedupParams) (step[[]entry], error) {
		fields := make([]string, len(p.fields))
		for i, f := range p.fields {
			fields[i] = strings.ToLower(strings.TrimSpace(f))
		}
		switch p.strategy {
		case "random_suffix":
			return suffixed, nil
		case "name":
			fields = []string{"name"}
		case "identity":
			fields = []string{"type", "server", "port", "uuid", "password"}
		case "connection":
			return unique(Identity), nil
		case "fields":
			if len(fields) == 0 {
				return nil, bad("fields", "fields needs at least one")
			}
		}
		return unique(func(n *sandrone.Node) string { return keyOf(n, fields) }), nil
	})
}

// unique keeps the first node of every key.
func unique(key func(*sandrone.Node) string) step[[]entry] {
	return func(ctx context.Context, _ *scope, in []entry) ([]entry, error) {
		seen := make(map[string]bool, len(in))
		return kept(ctx, in, func(n *sandrone.Node) (bool, error) {
			k := key(n)
			first := !seen[k]
			seen[k] = true
			return first, nil
		})
	}
}

// keyOf joins fields so that no two lists of values give the same key.
func keyOf(n *sandrone.Node, fields []string) string {
	if len(fields) == 1 {
		return textOf(n, fields[0])
	}
	b := make([]byte, 0, 128)
	for _, f := range fields {
		s := textOf(n, f)
		b = append(append(strconv.AppendInt(b, int64(len(s)), 10), ':'), s...)
	}
	return string(b)
}

const suffixes = 10_000

// suffixed gives every later holder of a name a random suffix that no name of
// the batch has, old or new.
func suffixed(ctx context.Context, s *scope, in []entry) ([]entry, error) {
	names := make(map[string]bool, len(in))
	for _, e := range in {
		names[e.node.Name] = true
	}
	seen := make(map[string]bool, len(in))
	return edited(ctx, in, func(e entry) (*sandrone.Node, error) {
		name := e.node.Name
		if !seen[name] {
			seen[name] = true
			return nil, nil
		}
		other := append(make([]byte, 0, len(name)+5), name...)
		if name != "" {
			other = append(other, '-')
		}
		end := len(other)
		start, err := draw(s.random(), suffixes)
		if err != nil {
			return nil, err
		}
		// From a random place on the next free one, so that a crowded name
		// costs no more than a look at its suffixes.
		for i := range suffixes {
			n := (start + i) % suffixes
			other = append(other[:end], byte('0'+n/1000), byte('0'+n/100%10), byte('0'+n/10%10), byte('0'+n%10))
			if !names[string(other)] {
				names[string(other)] = true
				return renamed(e.node, string(other))
			}
		}
		return nil, sandrone.Errorf(sandrone.NodeProcessorFailed, "all %d suffixes of a name are taken", suffixes)
	})
}

// draw returns a uniform number below n.
func draw(random io.Reader, n int64) (int, error) {
	v, err := rand.Int(random, big.NewInt(n))
	if err != nil {
		return 0, err
	}
	return int(v.Int64()), nil
}
