//go:build cores

package formats_test

import (
	"fmt"
	"testing"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert/nodetest"
)

// TestClientsAcceptEveryDrawnNode fills fields at random, so that combinations
// come up which no subscription has.
func TestClientsAcceptEveryDrawnNode(t *testing.T) {
	const each = 40
	rng := nodetest.Rand(7)
	sources := []source{{"front", sandrone.Node{Name: nodetest.Front, Type: sandrone.Trojan, Server: "front.example.com", Port: 443, Password: "x", TLS: &sandrone.TLS{Enabled: true}}}}
	for _, typ := range sandrone.Types {
		if typ.Carried() {
			continue // what is carried is not ours to draw
		}
		for i := range each {
			n := nodetest.Node(rng, typ)
			withoutInvented(&n)
			sources = append(sources, source{fmt.Sprintf("%s %d", typ, i), n})
		}
	}
	forEachTarget(t, func(t *testing.T, c *client, to target) {
		rendered := c.accepts(t, to.name, c.withoutLeftOut(t, to.name, sources))
		t.Logf("%d of %d nodes written", rendered.Count, len(sources))
	})
}

// withoutInvented takes out what no client could take, since it names files
// that are not there or has a key that was made up.
func withoutInvented(n *sandrone.Node) {
	if n.Encryption != "" {
		n.Encryption = "none"
	}
	if t := n.TLS; t != nil {
		t.Certificate, t.PrivateKey, t.CA, t.CAPath = "", "", "", ""
	}
	if n.Snell != nil && n.Snell.ShadowTLS != nil {
		n.Snell.ShadowTLS.Certificate, n.Snell.ShadowTLS.PrivateKey = "", ""
	}
	if n.SSH != nil {
		n.SSH.PrivateKeyPath = ""
	}
}
