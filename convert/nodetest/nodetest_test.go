package nodetest_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert"
	"github.com/sandrone-gateway/sandrone/convert/field"
	"github.com/sandrone-gateway/sandrone/convert/nodetest"
)

func TestNodesAreNormalisedAndValid(t *testing.T) {
	rng := nodetest.Rand(1)
	for _, typ := range sandrone.Types {
		for range 300 {
			n := nodetest.Full(rng, typ)
			batch := []sandrone.Node{nodetest.Clone(n)}
			if w := convert.Normalise(batch); len(w) > 0 {
				t.Errorf("%s: the normaliser warns: %v", typ, w)
			}
			if lines := nodetest.Diff(&batch[0], &n); lines != nil {
				t.Fatalf("%s: the normaliser changes the node: %q", typ, lines)
			}
			if !reflect.DeepEqual(batch[0], n) {
				t.Fatalf("%s: the normaliser changes an object of the node\n got %+v\nwant %+v", typ, batch[0], n)
			}
			if _, issues, _, err := convert.Validate(batch, sandrone.StageNormalized); err != nil {
				t.Fatalf("%s: %v: %v", typ, err, issues)
			}
		}
	}
}

func TestEveryLeafOfAProtocolIsDrawn(t *testing.T) {
	rng := nodetest.Rand(2)
	for _, typ := range sandrone.Types {
		var seen field.Set
		for range 3000 {
			n := nodetest.Node(rng, typ)
			seen.AddAll(field.Populated(&n))
		}
		missing := field.Applicable(typ).Minus(seen)
		missing.Each(func(id field.ID) bool {
			if f := field.ByID(id); !strings.HasPrefix(f.Path, "meta.") {
				t.Errorf("%s: %s is never drawn", typ, f.Path)
			}
			return true
		})
		foreign := seen.Minus(field.Applicable(typ))
		foreign.Each(func(id field.ID) bool {
			// The switch alone is what carried protocols have of TLS.
			if f := field.ByID(id); !f.For.Has(typ) && !(typ.Carried() && f.Path == "tls.enabled") {
				t.Errorf("%s: %s is drawn, but the protocol has no such leaf", typ, f.Path)
			}
			return true
		})
	}
}

func TestTheSameSourceGivesTheSameNode(t *testing.T) {
	for _, typ := range sandrone.Types {
		a, b := nodetest.Full(nodetest.Rand(3), typ), nodetest.Full(nodetest.Rand(3), typ)
		if !reflect.DeepEqual(a, b) {
			t.Errorf("%s: got %+v, then %+v", typ, a, b)
		}
	}
}

func TestDiffNamesTheLeaf(t *testing.T) {
	n := sandrone.Node{Name: "a", TLS: &sandrone.TLS{Enabled: true}, WireGuard: &sandrone.WireGuardOptions{Peers: []sandrone.WireGuardPeer{{Port: 1}, {Port: 2}}}}
	for _, c := range []struct {
		name   string
		change func(n *sandrone.Node)
		want   string
	}{
		{"an empty object", func(n *sandrone.Node) { n.Dialer = &sandrone.Dialer{} }, ""},
		{"text", func(n *sandrone.Node) { n.Name = "b" }, `name: got "b", want "a"`},
		{"an object that is gone", func(n *sandrone.Node) { n.TLS = nil }, "tls.enabled: got nothing, want true"},
		{"the second peer", func(n *sandrone.Node) { n.WireGuard.Peers[1].Port = 3 }, "wireguard.peers.port (peer 1): got 3, want 2"},
		{"a peer that is gone", func(n *sandrone.Node) { n.WireGuard.Peers = n.WireGuard.Peers[:1] }, "wireguard.peers.port (peer 1): got nothing, want 2"},
	} {
		changed := nodetest.Clone(n)
		c.change(&changed)
		lines := nodetest.Diff(&changed, &n)
		switch {
		case c.want == "" && len(lines) == 0:
		case len(lines) != 1 || lines[0] != c.want:
			t.Errorf("%s: got %q, want %q", c.name, lines, c.want)
		}
	}
}
