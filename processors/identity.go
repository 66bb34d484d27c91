package processors

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
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
	b := make([]byte, 0, 512)
	field.Populated(n).And(identityFields()).Each(func(id field.ID) bool {
		f := field.ByID(id)
		v := f.Get(n)
		if text, ok := v.(string); ok && f.Path == "server" {
			v = strings.ToLower(text)
		}
		b = appendValue(append(append(b, f.Path...), '='), v)
		return true
	})
	if w := n.WireGuard; w != nil && len(w.Peers) > 0 {
		b = appendValue(append(b, "wireguard.peers="...), w.Peers)
	}
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// appendValue appends a value as encoding/json has it, and a line feed. What
// most values are, a text that needs no escape or a number, costs nothing more
// than its bytes.
func appendValue(b []byte, v any) []byte {
	switch v := v.(type) {
	case string:
		if needsNoEscape(v) {
			b = append(append(b, '"'), v...)
			return append(b, '"', '\n')
		}
	case int:
		return append(strconv.AppendInt(b, int64(v), 10), '\n')
	case uint16:
		return append(strconv.AppendUint(b, uint64(v), 10), '\n')
	case bool:
		return append(strconv.AppendBool(b, v), '\n')
	}
	text, err := json.Marshal(v)
	if err != nil {
		// Raw JSON of a node made by hand: its text stands for itself.
		text = []byte("?")
	}
	return append(append(b, text...), '\n')
}

func needsNoEscape(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ', c > '~', c == '"', c == '\\', c == '<', c == '>', c == '&':
			return false
		}
	}
	return true
}
