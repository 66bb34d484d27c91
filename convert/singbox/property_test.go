package singbox_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert"
	"github.com/sandrone-gateway/sandrone/convert/field"
	"github.com/sandrone-gateway/sandrone/convert/nodetest"
	"github.com/sandrone-gateway/sandrone/convert/singbox"
	"github.com/sandrone-gateway/sandrone/convert/table"
)

// material is what a drawn node cannot have by chance: a certificate with its
// key and an SSH key, which the renderer looks into.
type material struct{ certificate, key, sshKey, sealedKey string }

var keys = sync.OnceValue(func() (m material) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	template := x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Unix(1<<32, 0)}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, private.Public(), private)
	must(err)
	m.certificate = block("CERTIFICATE", der)
	der, err = x509.MarshalPKCS8PrivateKey(private)
	must(err)
	m.key = block("PRIVATE KEY", der)
	_, identity, err := ed25519.GenerateKey(rand.Reader)
	must(err)
	open, err := ssh.MarshalPrivateKey(identity, "")
	must(err)
	m.sshKey = strings.TrimSpace(string(pem.EncodeToMemory(open)))
	sealed, err := ssh.MarshalPrivateKeyWithPassphrase(identity, "", []byte("open sesame"))
	must(err)
	m.sealedKey = strings.TrimSpace(string(pem.EncodeToMemory(sealed)))
	return m
})

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func block(kind string, der []byte) string {
	return strings.TrimSpace(string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})))
}

// genuine puts real keys in the place of drawn ones.
func genuine(n *sandrone.Node) {
	pair := func(certificate, key *string) {
		if strings.HasPrefix(*certificate, "-----") {
			*certificate, *key = keys().certificate, keys().key
		}
	}
	if t := n.TLS; t != nil {
		pair(&t.Certificate, &t.PrivateKey)
		if t.CA != "" {
			t.CA = keys().certificate
		}
	}
	if n.ShadowTLS != nil {
		pair(&n.ShadowTLS.Certificate, &n.ShadowTLS.PrivateKey)
	}
	if n.Snell != nil && n.Snell.ShadowTLS != nil {
		pair(&n.Snell.ShadowTLS.Certificate, &n.Snell.ShadowTLS.PrivateKey)
	}
	if s := n.SSH; s != nil && s.PrivateKey != "" {
		s.PrivateKey = keys().sshKey
		if s.PrivateKeyPassphrase != "" {
			s.PrivateKey, s.PrivateKeyPassphrase = keys().sealedKey, "open sesame"
		}
	}
}

// drawn returns a document of valid nodes of one type, with the node that all
// chains lead to.
func drawn(t sandrone.Type, count int, seed uint64) []sandrone.Node {
	rng := nodetest.Rand(seed)
	nodes := []sandrone.Node{{Name: nodetest.Front, Type: sandrone.HTTP, Server: "front.example.com", Port: 8080}}
	for range count {
		n := nodetest.Node(rng, t)
		genuine(&n)
		if t == sandrone.Direct && (n.Dialer == nil || n.Dialer.Interface == "") {
			continue // it may be read as the client's own way out, which is no node
		}
		nodes = append(nodes, n)
	}
	return nodes
}

// rewritten are the leaves that come back in another one or another form, and
// when. Nothing of them is lost.
func rewritten(f *field.Info, n *sandrone.Node) bool {
	relay := sandrone.Unset
	if n.Dialer != nil {
		relay = n.Dialer.UDPRelay
	}
	switch f.Path {
	case "server", "port": // those of the peers
		return n.Type == sandrone.WireGuard && len(n.WireGuard.Peers) > 1
	case "network": // a node that relays no UDP
		return n.Network == "" && relay == sandrone.Off
	case "dialer.udp_relay": // implied by the type and the network
		return true
	case "dialer.ip_version":
		return n.Dialer.IPVersion == "dual"
	case "tuic.reduce_rtt", "tuic.zero_rtt_handshake":
		return n.TUIC.ReduceRTT
	case "snell.version":
		return n.Snell.Version == 5
	case "wireguard.reserved", "wireguard.persistent_keepalive", "wireguard.peers.persistent_keepalive":
		return true
	case "wireguard.peers.allowed_ips":
		return len(n.WireGuard.Peers[0].AllowedIPs) == 0 || len(n.WireGuard.Peers) > 1
	case "shadow_tls.version":
		return n.ShadowTLS.Version == 0
	case "snell.shadow_tls.version":
		return n.Snell.ShadowTLS.Version == 0
	case "plugin_options":
		return n.Plugin == "shadow-tls"
	case "hysteria.protocol":
		return n.Hysteria.Protocol == "udp"
	case "transport.type":
		return n.Transport.Type == sandrone.TransportTCP
	}
	return false
}

// TestWhatIsWrittenIsReadBack holds that a leaf of a node that is written is
// either read back equal or named in exactly one warning.
func TestWhatIsWrittenIsReadBack(t *testing.T) {
	for _, version := range singbox.Renderer.Versions {
		for _, typ := range sandrone.Types {
			t.Run(fmt.Sprint(version, "/", typ), func(t *testing.T) {
				checkReadBack(t, drawn(typ, 150, uint64(version.Minor)), version)
			})
		}
	}
}

func checkReadBack(t *testing.T, nodes []sandrone.Node, version table.Version) {
	o := convert.RenderOptions{Target: "sing-box-outbounds", Version: version}
	out := singbox.Renderer.Render(nodes, o)
	if again := singbox.Renderer.Render(nodes, o); !bytes.Equal(out.Body, again.Body) {
		t.Fatal("the same nodes gave another text")
	}
	b, err := singbox.Parser.Parse(string(out.Body))
	if err != nil {
		t.Fatal(err)
	}
	if len(b.Nodes) != out.Count || len(b.Warnings) != 0 {
		t.Fatalf("%d nodes of %d read back, warnings %v", len(b.Nodes), out.Count, b.Warnings)
	}
	convert.Normalise(b.Nodes)
	back := map[string]*sandrone.Node{}
	for i := range b.Nodes {
		back[b.Nodes[i].Name] = &b.Nodes[i]
	}
	lost := make([][]string, len(nodes))
	for _, w := range out.Warnings {
		if w.Code != sandrone.WarnNodeRenamed {
			lost[*w.NodeIndex] = append(lost[*w.NodeIndex], w.Code+" "+w.Field)
		}
	}
	for i := range nodes {
		want, name := &nodes[i], out.Names[i]
		if slices.Sort(lost[i]); len(slices.Compact(slices.Clone(lost[i]))) != len(lost[i]) {
			t.Errorf("%q: a warning twice: %v", want.Name, lost[i])
		}
		skipped := len(lost[i]) == 1 && strings.HasPrefix(lost[i][0], sandrone.WarnNodeSkipped)
		if (name == "") != skipped {
			t.Errorf("%q: written as %q with warnings %v", want.Name, name, lost[i])
		}
		if name == "" {
			continue
		}
		inert, applicable := field.Inert(want), field.Applicable(want.Type)
		nodetest.DiffEach(back[name], want, func(f *field.Info, line string) {
			warned := slices.Contains(lost[i], sandrone.WarnLossyField+" "+f.Path)
			if warned || f.Path == "name" || inert.Has(f.ID) || !applicable.Has(f.ID) || rewritten(f, want) {
				return
			}
			t.Errorf("%q: %s", want.Name, line)
		})
		has := field.Populated(want)
		for _, w := range lost[i] {
			path := strings.TrimPrefix(w, sandrone.WarnLossyField+" ")
			if f := field.ByPath(path); f == nil || !has.Has(f.ID) {
				t.Errorf("%q: %s, which the node does not have", want.Name, w)
			}
		}
	}
}
