package value

import (
	"crypto/sha1"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/sandrone-gateway/sandrone"
)

// UUID reads a UUID: 32 hexadecimal digits, with dashes, in braces or as
// "urn:uuid:…", and returns it in lower case with dashes.
func UUID(s string) (string, bool) {
	if canonicalUUID(s) {
		return s, true
	}
	digits := strings.TrimSpace(s)
	if len(digits) >= 9 && strings.EqualFold(digits[:9], "urn:uuid:") {
		digits = digits[9:]
	} else if inner, ok := strings.CutPrefix(digits, "{"); ok {
		if digits, ok = strings.CutSuffix(inner, "}"); !ok {
			return "", false
		}
	}
	if len(digits) == 36 {
		if digits[8] != '-' || digits[13] != '-' || digits[18] != '-' || digits[23] != '-' {
			return "", false
		}
		digits = digits[:8] + digits[9:13] + digits[14:18] + digits[19:23] + digits[24:]
	}
	if len(digits) != 32 {
		return "", false
	}
	id, err := hex.DecodeString(digits)
	if err != nil {
		return "", false
	}
	return uuidText([16]byte(id)), true
}

func canonicalUUID(s string) bool {
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return false
	}
	dashes := 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case '0' <= c && c <= '9' || 'a' <= c && c <= 'f':
		case c == '-':
			dashes++
		default:
			return false
		}
	}
	return dashes == 4
}

// UserID is [UUID] for VMess and VLESS, whose servers map any other text of 1
// to 30 bytes to a UUID of version 5 in the nil namespace.
func UserID(s string) (string, bool) {
	if id, ok := UUID(s); ok {
		return id, true
	}
	if len(s) == 0 || len(s) > 30 {
		return "", false
	}
	var nilSpace [16]byte
	sum := sha1.Sum(append(nilSpace[:], s...))
	id := [16]byte(sum[:16])
	id[6] = id[6]&0x0F | 0x50 // version 5
	id[8] = id[8]&0x3F | 0x80 // the variant of RFC 4122
	return uuidText(id), true
}

func uuidText(id [16]byte) string {
	var b [36]byte
	hex.Encode(b[:8], id[:4])
	hex.Encode(b[9:13], id[4:6])
	hex.Encode(b[14:18], id[6:8])
	hex.Encode(b[19:23], id[8:10])
	hex.Encode(b[24:], id[10:])
	b[8], b[13], b[18], b[23] = '-', '-', '-', '-'
	return string(b[:])
}

// Cipher folds the spellings of a cipher to the one of the node model: lower
// case with hyphens, without the prefix "aead-", and with the names that the
// protocol's own documents use. Unknown names stay as they are, apart from the
// folding. It serves ss, ssr and vmess; an empty vmess cipher is "auto".
func Cipher(t sandrone.Type, s string) string {
	s = strings.TrimSpace(s)
	folded := s
	if strings.IndexFunc(s, func(r rune) bool { return 'A' <= r && r <= 'Z' || r == '_' }) >= 0 {
		folded = strings.ReplaceAll(strings.ToLower(s), "_", "-")
	}
	folded = strings.TrimPrefix(folded, "aead-")
	switch t {
	case sandrone.VMess:
		switch folded {
		case "":
			return "auto"
		case "chacha20-ietf-poly1305":
			return "chacha20-poly1305"
		}
		return folded
	case sandrone.ShadowsocksR:
		if folded == "dummy" {
			return "none"
		}
	}
	if folded == "chacha20-poly1305" {
		return "chacha20-ietf-poly1305"
	}
	if t == sandrone.Shadowsocks && !shadowsocksCiphers[folded] {
		return s // a name that nobody knows is not ours to change
	}
	return folded
}

// shadowsocksCiphers are the methods that the clients' documents name.
var shadowsocksCiphers = func() map[string]bool {
	m := map[string]bool{}
	for _, s := range strings.Fields(`
		none plain table rc4 rc4-md5 rc4-md5-6 chacha20 chacha20-ietf xchacha20 salsa20 bf-cfb
		aes-128-cfb aes-192-cfb aes-256-cfb aes-128-ctr aes-192-ctr aes-256-ctr
		aes-128-cfb8 aes-192-cfb8 aes-256-cfb8 aes-128-ofb aes-192-ofb aes-256-ofb
		camellia-128-cfb camellia-192-cfb camellia-256-cfb cast5-cfb des-cfb idea-cfb rc2-cfb seed-cfb
		aes-128-gcm aes-192-gcm aes-256-gcm aes-128-ccm aes-192-ccm aes-256-ccm aes-128-gcm-siv aes-256-gcm-siv
		chacha20-ietf-poly1305 xchacha20-ietf-poly1305 chacha8-ietf-poly1305 xchacha8-ietf-poly1305
		lea-128-gcm lea-192-gcm lea-256-gcm rabbit128-poly1305 aegis-128l aegis-256 aez-384 deoxys-ii-256-128
		2022-blake3-aes-128-gcm 2022-blake3-aes-256-gcm 2022-blake3-aes-128-ccm 2022-blake3-aes-256-ccm
		2022-blake3-chacha20-poly1305 2022-blake3-chacha8-poly1305 2022-blake3-chacha12-poly1305`) {
		m[s] = true
	}
	return m
}()

// Transport folds a source's word for a transport to [sandrone.Transport]'s
// type and header type. http1 says what the word "http" means: HTTP/2 in links
// and sing-box, the HTTP/1.1 header over tcp in mihomo's network and in the
// obfs options of lines.
func Transport(word string, http1 bool) (kind, header string, ok bool) {
	word = strings.TrimSpace(word)
	for _, t := range transports {
		if !strings.EqualFold(word, t.word) {
			continue
		}
		if t.word == "http" && http1 {
			return sandrone.TransportTCP, "http", true
		}
		return t.kind, "", true
	}
	return "", "", false
}

var transports = []struct{ word, kind string }{
	{"ws", sandrone.TransportWebSocket},
	{"websocket", sandrone.TransportWebSocket},
	{"tcp", sandrone.TransportTCP},
	{"grpc", sandrone.TransportGRPC},
	{"raw", sandrone.TransportTCP},
	{"none", sandrone.TransportTCP},
	{"original", sandrone.TransportTCP},
	{"gun", sandrone.TransportGRPC},
	{"h2", sandrone.TransportHTTP},
	{"http", sandrone.TransportHTTP},
	{"httpupgrade", sandrone.TransportHTTPUpgrade},
	{"xhttp", sandrone.TransportXHTTP},
	{"splithttp", sandrone.TransportXHTTP},
	{"quic", sandrone.TransportQUIC},
	{"kcp", sandrone.TransportKCP},
	{"mkcp", sandrone.TransportKCP},
}

// EarlyDataHeader is the header of websocket early data where the size stands
// in the path.
const EarlyDataHeader = "Sec-WebSocket-Protocol"

// EarlyData takes the "ed" item out of the query of a websocket path: how many
// bytes may travel with the handshake. Other items stay, in their order. ok is
// false, and rest the whole path, when there is no positive number to take.
func EarlyData(path string) (rest string, n int, ok bool) {
	before, query, found := strings.Cut(path, "?")
	if !found || !strings.Contains(query, "ed=") {
		return path, 0, false
	}
	start := 0
	for start < len(query) {
		end := len(query)
		if i := strings.IndexByte(query[start:], '&'); i >= 0 {
			end = start + i
		}
		if text, is := strings.CutPrefix(query[start:end], "ed="); is {
			v, tail, good := leadingInt(text)
			if !good || tail != "" || v == 0 || v > 1<<30 {
				return path, 0, false
			}
			kept := strings.Trim(query[:start]+strings.TrimPrefix(query[end:], "&"), "&")
			if kept != "" {
				before += "?" + kept
			}
			return before, int(v), true
		}
		start = end + 1
	}
	return path, 0, false
}

// ClientFingerprints are the uTLS profiles of [sandrone.TLS.ClientFingerprint].
// It must not be changed.
var ClientFingerprints = []string{
	"chrome", "firefox", "edge", "safari", "360", "qq", "ios", "android", "random", "randomized",
	"chrome_psk", "chrome_psk_shuffle", "chrome_padding_psk_shuffle", "chrome_pq", "chrome_pq_psk",
}

// ClientFingerprint folds the name of a uTLS profile: lower case, and "" for
// none and unsafe. Names that are no profile stay, for validation to find.
func ClientFingerprint(s string) string {
	if slices.Contains(ClientFingerprints, s) {
		return s
	}
	switch s = strings.ToLower(strings.TrimSpace(s)); s {
	case "none", "unsafe":
		return ""
	}
	return s
}

// IPVersion folds the clients' words for an address family to
// [sandrone.Dialer.IPVersion].
func IPVersion(word string) (string, bool) {
	switch strings.ToLower(strings.TrimSpace(word)) {
	case "dual":
		return "dual", true
	case "ipv4", "v4-only", "ipv4_only":
		return "ipv4", true
	case "ipv6", "v6-only", "ipv6_only":
		return "ipv6", true
	case "ipv4-prefer", "prefer-v4", "prefer_ipv4":
		return "ipv4-prefer", true
	case "ipv6-prefer", "prefer-v6", "prefer_ipv6":
		return "ipv6-prefer", true
	}
	return "", false
}

// ShadowTLSVersion reads the version of ShadowTLS, 1 to 3, with or without a
// leading v.
func ShadowTLSVersion(s string) (int, bool) {
	s = strings.TrimSpace(s)
	if len(s) == 2 && (s[0] == 'v' || s[0] == 'V') {
		s = s[1:]
	}
	if len(s) != 1 || s[0] < '1' || s[0] > '3' {
		return 0, false
	}
	return int(s[0] - '0'), true
}
