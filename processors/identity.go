package processors

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"sync"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert/field"
)

// identityPaths are the leaves and objects that define a connection.
var identityPaths = strings.Fields(`
	type server port network username password uuid cipher flow encryption token packet_encoding
	plugin plugin_options headers path shadowsocksr snell anytls
	transport.type transport.method transport.path transport.host transport.hosts transport.headers transport.service_name transport.xhttp
	hysteria.protocol hysteria.server_ports hysteria.auth hysteria.auth_str hysteria.obfs hysteria.obfs_password
	tuic mieru wireguard.private_key wireguard.address wireguard.ip wireguard.ipv6
	tls.server_name tls.reality.public_key tls.reality.short_id udp_over_tcp`)

// identityFields is made when it is first asked for.
var identityFields = sync.OnceValue(func() (s field.Set) {
	for _, path := range identityPaths {
		p, ok := field.Lookup(path)
		if !ok {
			panic("processors: the node model has no " + path)
		}
		s.AddAll(p.Set)
	}
	return s
})

// Identity returns "sha256:" and the hash of what defines the connection of a
// node: endpoint, credentials, transport, the names and keys of TLS. The
// display name, tags, meta, dialer and multiplex are no part of it, so a
// renamed node keeps its identity.
func Identity(n *sandrone.Node) string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	write := func(path string, v any) {
		b.WriteString(path)
		b.WriteByte('=')
		if err := encoder.Encode(v); err != nil {
			// Raw JSON of a node made by hand: its text stands for itself.
			b.WriteString("?\n")
		}
	}
	field.Populated(n).And(identityFields()).Each(func(id field.ID) bool {
		f := field.ByID(id)
		switch v := f.Get(n).(type) {
		case string:
			if f.Path == "server" {
				v = strings.ToLower(v)
			}
			write(f.Path, v)
		default:
			write(f.Path, v)
		}
		return true
	})
	if w := n.WireGuard; w != nil && len(w.Peers) > 0 {
		write("wireguard.peers", w.Peers)
	}
	sum := sha256.Sum256(b.Bytes())
	return "sha256:" + hex.EncodeToString(sum[:])
}
