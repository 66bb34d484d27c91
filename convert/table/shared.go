package table

import (
	"encoding/base64"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert/doc"
	"github.com/sandrone-gateway/sandrone/convert/field"
	"github.com/sandrone-gateway/sandrone/convert/value"
)

// Rows that are the same in every dialect.

// Name is the row of the node's name. It writes the name that the renderer
// settled on, which may differ from the node's.
func Name(keys ...string) Row {
	row := Key(field.Name, keys...)
	row.always = true
	row.write = func(w *Writer, key string) bool { w.Out.AddStr(key, w.Name); return true }
	return row
}

// Port is the row of the node's port. On read a value that is no whole number
// from 0 to 65535 fails the entry.
func Port(keys ...string) Row {
	row := Key(field.Port, keys...)
	row.read = func(r *Reader, i int) bool {
		port, ok := readPort(r.Doc, i)
		if !ok {
			r.Fail(field.Port.Info, "the port is no number from 1 to 65535")
			return true
		}
		r.Node.Port = port
		return true
	}
	return row
}

// ViaProxy is the row of dialer.proxy. It writes the name that the other node
// got in this document.
func ViaProxy(keys ...string) Row {
	row := Key(field.Dialer.Proxy, keys...)
	row.write = func(w *Writer, key string) bool { w.Out.AddStr(key, w.ProxyName()); return true }
	return row
}

// vision is the one flow that VLESS has; the spelling with udp443 differs only
// in what the client does with UDP to port 443.
const (
	vision       = "xtls-rprx-vision"
	visionUDP443 = "xtls-rprx-vision-udp443"
)

// Flow is the row of the VLESS flow.
func Flow(keys ...string) Row {
	row := KeyAs(field.Flow, Among(vision), keys...)
	row.read = func(r *Reader, i int) bool {
		flow, ok := r.Doc.Scalar(i)
		if !ok {
			return false
		}
		if flow = strings.ToLower(flow); flow == visionUDP443 {
			r.KeepAs(r.path+r.Doc[i].Key, doc.JSONOf(r.Doc, i))
			flow = vision
		}
		set(field.Flow, r.Node, flow)
		return true
	}
	return row
}

// Carried is the head and body of a protocol whose options are carried in
// opaque: what the model names of it, and [Rest].
func Carried(t sandrone.Type, head ...Row) []Row {
	rows := Group(head)
	for _, c := range []struct {
		f   field.Field[string]
		key string
	}{{field.UUID, "uuid"}, {field.Username, "username"}, {field.Password, "password"}} {
		if c.f.For.Has(t) {
			rows = append(rows, Key(c.f, c.key))
		}
	}
	if field.Headers.For.Has(t) {
		rows = append(rows, Key(field.Headers, "headers"))
	}
	return append(rows, Rest())
}

// Key32 is a WireGuard key: 32 bytes in standard base64. Clients refuse a whole
// file for one that is not.
var Key32 = Codec[string]{Read: Text.Read, Only: "32 bytes in base64", Write: func(o *doc.Items, key, v string) bool {
	b, err := base64.StdEncoding.DecodeString(v)
	if err != nil || len(b) != 32 {
		return false
	}
	o.AddStr(key, v)
	return true
}}

// RealityKey is an X25519 public key in unpadded base64url, as REALITY has it.
var RealityKey = Codec[string]{Read: Text.Read, Only: "32 bytes in base64url", Write: func(o *doc.Items, key, v string) bool {
	b, err := base64.RawURLEncoding.DecodeString(v)
	if err != nil || len(b) != 32 {
		return false
	}
	o.AddStr(key, v)
	return true
}}

// HostKeys are SSH host keys, lines "algorithm base64". Clients refuse what is
// no key.
var HostKeys = Codec[[]string]{Read: Words.Read, Only: "SSH public keys", Write: func(o *doc.Items, key string, v []string) bool {
	for _, line := range v {
		if !value.HostKey(line) {
			return false
		}
	}
	o.AddStrings(key, v)
	return true
}}

// Durations are whole numbers of a unit in the client's spelling.
func Durations(unit time.Duration) Codec[string] {
	return Codec[string]{
		Only: "whole " + map[time.Duration]string{time.Second: "seconds", time.Millisecond: "milliseconds"}[unit],
		Read: func(d doc.Items, i int) (string, bool) {
			s, ok := d.Scalar(i)
			if !ok || s == "" {
				return "", ok
			}
			return value.Duration(s, unit)
		},
		Write: func(o *doc.Items, key, v string) bool {
			n, ok := value.DurationIn(v, unit)
			if ok {
				o.AddInt(key, int(n))
			}
			return ok
		},
	}
}

// HysteriaAuth is the authentication payload of hysteria 1 in base64, which
// need not be text. One that is goes to auth_str.
func HysteriaAuth(key string) Row {
	return Custom([]string{key},
		func(r *Reader, i int) bool {
			s, ok := r.Doc.Scalar(i)
			if !ok || s == "" {
				return ok
			}
			b, ok := value.Base64(s)
			if !ok {
				return false
			}
			if utf8.Valid(b) {
				Set(r, field.Hysteria.AuthStr, string(b))
			} else {
				Set(r, field.Hysteria.Auth, base64.StdEncoding.EncodeToString(b))
			}
			return true
		},
		func(w *Writer, key string) bool {
			b, ok := value.Base64(w.Node.Hysteria.Auth)
			if !ok || len(b) == 0 {
				return false
			}
			w.Out.AddStr(key, base64.StdEncoding.EncodeToString(b))
			return true
		}, field.Hysteria.Auth.Info).Only("base64")
}

// SS2022 leaves out a Shadowsocks 2022 node whose keys do not have the length
// of its cipher (SIP022), or that has several keys for a cipher with one.
var SS2022 = Refuse(field.Password.Info, func(n *sandrone.Node) string {
	kind, ok := strings.CutPrefix(n.Cipher, "2022-blake3-")
	if !ok {
		return ""
	}
	want, keys := 32, strings.Split(n.Password, ":")
	if kind == "aes-128-gcm" {
		want = 16
	}
	for _, k := range keys {
		if b, err := base64.StdEncoding.DecodeString(k); err != nil || len(b) != want {
			return "the key does not have the length of the cipher"
		}
	}
	if len(keys) > 1 && !strings.HasPrefix(kind, "aes-") {
		return "this cipher takes one key"
	}
	return ""
}).Only("with 2022 ciphers keys of their length")
