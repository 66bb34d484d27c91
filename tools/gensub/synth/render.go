package synth

import (
	"fmt"
	"strconv"
	"strings"
)

// Format is a notation that [Render] writes.
type Format string

// The formats.
const (
	Links   Format = "uri-list" // share links, one a line
	Base64  Format = "base64"   // the same in base64
	Mihomo  Format = "mihomo"   // YAML for mihomo 1.19
	SingBox Format = "sing-box" // JSON for sing-box 1.12 and later
	Model   Format = "model"    // the drawn nodes themselves, one JSON object a line
)

// Formats lists all formats with the usual extension of their files.
var Formats = []struct {
	Format    Format
	Extension string
}{{Links, "txt"}, {Base64, "b64"}, {Mihomo, "yaml"}, {SingBox, "json"}, {Model, "jsonl"}}

// Layout are the choices of [Render] that do not touch the nodes. The zero
// value is a plain list of nodes, YAML in block style.
type Layout struct {
	Flow             bool // mihomo: one line a node
	Groups           bool // mihomo, sing-box: a whole client file with groups and rules
	NoWireGuardLinks bool // uri-list, base64: leave wireguard:// links out; not every reader has them
}

// Render writes nodes in one format. left is the number of nodes that the
// format cannot carry: sing-box has no ShadowsocksR, and links may be told to
// leave WireGuard out.
func Render(nodes []Node, format Format, layout Layout) (text []byte, left int, err error) {
	switch format {
	case Links, Base64:
		var rows []string
		for i := range nodes {
			if nodes[i].Kind == WireGuard && layout.NoWireGuardLinks {
				left++
				continue
			}
			rows = append(rows, link(&nodes[i]))
		}
		list := []byte(strings.Join(rows, "\n") + "\n")
		if format == Base64 {
			return []byte(b64(list)), left, nil
		}
		return list, left, nil
	case Mihomo:
		return mihomoDocument(nodes, layout), 0, nil
	case SingBox:
		text, left = singboxDocument(nodes, layout)
		return text, left, nil
	case Model:
		for i := range nodes {
			text = append(appendFlow(text, model(&nodes[i]), jsonKey), '\n')
		}
		return text, 0, nil
	}
	return nil, 0, fmt.Errorf("synth: unknown format %q", format)
}

// object is a mapping that keeps its order. Values are string, int, bool,
// []string, []int, object and, in JSON, []object.
type object []member

type member struct {
	key   string
	value any
}

func (o *object) add(key string, value any) { *o = append(*o, member{key, value}) }

// addSet adds a text that is not empty.
func (o *object) addSet(key, value string) {
	if value != "" {
		o.add(key, value)
	}
}

// elements returns the elements of a list value; ok is false for anything else.
func elements(value any) (list []any, ok bool) {
	switch v := value.(type) {
	case []string:
		for _, x := range v {
			list = append(list, x)
		}
	case []int:
		for _, x := range v {
			list = append(list, x)
		}
	case []object:
		for _, x := range v {
			list = append(list, x)
		}
	default:
		return nil, false
	}
	return list, true
}

func jsonKey(dst []byte, key string) []byte { return appendText(dst, key) }

func yamlKey(dst []byte, key string) []byte { return append(dst, key...) }

// appendFlow writes a value on one line, which is JSON or YAML flow style by
// the way keys are written.
func appendFlow(dst []byte, value any, appendKey func([]byte, string) []byte) []byte {
	if o, ok := value.(object); ok {
		dst = append(dst, '{')
		for i, m := range o {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = appendKey(dst, m.key)
			dst = append(dst, ": "...)
			dst = appendFlow(dst, m.value, appendKey)
		}
		return append(dst, '}')
	}
	list, ok := elements(value)
	if !ok {
		return appendScalar(dst, value)
	}
	dst = append(dst, '[')
	for i, x := range list {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = appendFlow(dst, x, appendKey)
	}
	return append(dst, ']')
}

// appendBlock writes a mapping in YAML block style, each line after pad.
func appendBlock(dst []byte, o object, pad string) []byte {
	for i, m := range o {
		if i > 0 {
			dst = append(dst, '\n')
		}
		dst = append(dst, pad...)
		dst = append(dst, m.key...)
		if inner, ok := m.value.(object); ok {
			dst = append(dst, ":\n"...)
			dst = appendBlock(dst, inner, pad+"  ")
			continue
		}
		dst = append(dst, ": "...)
		dst = appendFlow(dst, m.value, yamlKey)
	}
	return dst
}

// appendIndented writes JSON with one member or element a line.
func appendIndented(dst []byte, value any, pad string) []byte {
	inner := pad + "  "
	if o, ok := value.(object); ok {
		dst = append(dst, '{')
		for i, m := range o {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(dst, inner...)
			dst = appendText(dst, m.key)
			dst = append(dst, ": "...)
			dst = appendIndented(dst, m.value, inner)
		}
		dst = append(dst, pad...)
		return append(dst, '}')
	}
	list, ok := elements(value)
	if !ok {
		return appendScalar(dst, value)
	}
	if len(list) == 0 {
		return append(dst, "[]"...)
	}
	dst = append(dst, '[')
	for i, x := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, inner...)
		dst = appendIndented(dst, x, inner)
	}
	dst = append(dst, pad...)
	return append(dst, ']')
}

func appendScalar(dst []byte, value any) []byte {
	switch v := value.(type) {
	case string:
		return appendText(dst, v)
	case int:
		return strconv.AppendInt(dst, int64(v), 10)
	case bool:
		return strconv.AppendBool(dst, v)
	}
	panic(fmt.Sprintf("synth: no notation for %T", value))
}

// appendText writes a JSON string. The texts of this package hold no control
// characters, so quotes and backslashes are all there is to escape.
func appendText(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for i := range len(s) {
		if s[i] == '"' || s[i] == '\\' {
			dst = append(dst, '\\')
		}
		dst = append(dst, s[i])
	}
	return append(dst, '"')
}

// model lists the fields that the kind of n sets.
func model(n *Node) object {
	o := object{{"name", n.Name}, {"kind", string(n.Kind)}, {"server", n.Server}, {"port", n.Port}}
	switch n.Kind {
	case Shadowsocks:
		return append(o, object{{"method", n.Method}, {"password", n.Password}}...)
	case ShadowsocksR:
		return append(o, object{{"method", n.Method}, {"password", n.Password}, {"protocol", n.Protocol}, {"obfs", n.Obfs},
			{"obfs_param", n.ObfsParam}, {"protocol_param", n.ProtocolParam}}...)
	case VMess:
		return append(o, object{{"uuid", n.UUID}, {"net", n.Net}, {"tls", n.TLS}, {"sni", n.SNI}, {"path", n.Path}}...)
	case VLESSReality:
		return append(o, object{{"uuid", n.UUID}, {"sni", n.SNI}, {"pbk", n.PublicKey}, {"sid", n.ShortID},
			{"fp", n.Fingerprint}, {"flow", n.Flow}}...)
	case VLESSWS:
		return append(o, object{{"uuid", n.UUID}, {"sni", n.SNI}, {"path", n.Path}, {"fp", n.Fingerprint}}...)
	case VLESSGRPC:
		return append(o, object{{"uuid", n.UUID}, {"sni", n.SNI}, {"service", n.Service}, {"fp", n.Fingerprint}}...)
	case Trojan:
		return append(o, object{{"password", n.Password}, {"sni", n.SNI}, {"net", n.Net}, {"insecure", n.Insecure}, {"path", n.Path}}...)
	case Hysteria2:
		return append(o, object{{"password", n.Password}, {"sni", n.SNI}, {"insecure", n.Insecure}, {"obfs", n.Obfs}, {"ports", n.Ports}}...)
	case TUIC:
		return append(o, object{{"uuid", n.UUID}, {"password", n.Password}, {"sni", n.SNI}, {"cc", n.Congestion}, {"udp_mode", n.UDPMode}}...)
	case AnyTLS:
		return append(o, object{{"password", n.Password}, {"sni", n.SNI}, {"insecure", n.Insecure}, {"fp", n.Fingerprint}}...)
	case WireGuard:
		return append(o, object{{"private", n.PrivateKey}, {"public", n.PeerKey}, {"psk", n.PSK}, {"ip", n.IP}, {"ip6", n.IP6},
			{"mtu", n.MTU}, {"reserved", n.Reserved}}...)
	}
	return o
}
