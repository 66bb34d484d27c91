package processors

import (
	"context"
	"sync"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/processors/pattern"
)

type uselessParams struct{ extra []string }

// uselessFilter drops the notices that providers write as nodes.
func uselessFilter() *processor[[]entry] {
	return define(Descriptor{
		Type:        "useless_filter",
		Description: "Drops nodes that are notices of a provider: by words in the name (expiry, traffic, website), by characters that no cipher, password or host has, and without a port.",
		ErrorCodes:  withPatterns,
		Examples:    []sandrone.ProcessorSpec{example("useless_filter", `{}`), example("useless_filter", `{"extra_patterns":["群组|频道"]}`)},
	}, params[uselessParams]{
		patternList("extra_patterns", "further regular expressions for names", 0, func(p *uselessParams) *[]string { return &p.extra }),
	}, func(p *uselessParams) (step[[]entry], error) {
		extra, err := compileAll("extra_patterns", p.extra)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context, _ *scope, in []entry) ([]entry, error) { return useful(ctx, in, extra) }, nil
	})
}

// notice finds the names of notices.
var notice = sync.OnceValue(func() *pattern.Pattern {
	p, err := pattern.Compile(`网址|流量|时间|应急|过期|到期|剩余|官网|(?i)bandwidth|expire|traffic|reset`)
	if err != nil {
		panic(err)
	}
	return p
})

func useful(ctx context.Context, in []entry, extra []*pattern.Pattern) ([]entry, error) {
	patterns := append([]*pattern.Pattern{notice()}, extra...)
	return kept(ctx, in, func(n *sandrone.Node) (bool, error) {
		if !ascii(n.Cipher) || !ascii(n.Password) || n.Transport != nil && !ascii(n.Transport.Host) || n.Port == 0 && needsPort(n) {
			return false, nil
		}
		i, err := firstMatch(patterns, n.Name)
		return i == len(patterns), err
	})
}

func ascii(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// needsPort reports whether a node without a port leads nowhere: some have a
// range of ports or peers instead, and some have no endpoint at all.
func needsPort(n *sandrone.Node) bool {
	switch {
	case !n.Type.HasEndpoint(), n.Type == sandrone.Mieru && n.Mieru != nil && n.Mieru.PortRange != "":
		return false
	case n.Type == sandrone.WireGuard && n.WireGuard != nil && len(n.WireGuard.Peers) > 1:
		return false
	}
	return true
}
