package value

import (
	"unicode/utf8"
	"unsafe"
)

// Classes of bytes in base64 text; smaller numbers are digits.
const (
	b64Space = 0x80
	b64Pad   = 0x81
	b64Bad   = 0xFF
)

// base64Digits takes both alphabets, the standard and the one for URLs.
var base64Digits = func() (t [256]byte) {
	for i := range t {
		t[i] = b64Bad
	}
	for i, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/") {
		t[c] = byte(i)
	}
	t['-'], t['_'] = 62, 63
	for _, c := range []byte(" \t\n\v\f\r") {
		t[c] = b64Space
	}
	t['='] = b64Pad
	return t
}()

// Base64 decodes s as generously as providers write it: ASCII white space is
// skipped, both alphabets are taken, even mixed, padding may be missing,
// partial or too much, and bits left over at the end do not matter. Any other
// byte, text after padding and a lone digit at the end are not understood.
// Only the result is allocated.
func Base64(s string) ([]byte, bool) {
	return decodeBase64(make([]byte, base64Room(s)), s)
}

// Base64Text is [Base64] for content that must be UTF-8. The result is the
// buffer that was decoded into, so a large body is held once.
func Base64Text(s string) (string, bool) {
	buf, ok := Base64(s)
	if !ok || !utf8.Valid(buf) {
		return "", false
	}
	// Nobody else has the buffer, so it is never written again.
	return unsafe.String(unsafe.SliceData(buf), len(buf)), true
}

// Base64Size returns how many bytes s decodes to, without decoding it.
func Base64Size(s string) (n int, ok bool) {
	digits, padded := 0, false
	for i := 0; i < len(s); i++ {
		switch c := base64Digits[s[i]]; {
		case c == b64Space:
		case c == b64Pad:
			padded = true
		case c == b64Bad || padded:
			return 0, false
		default:
			digits++
		}
	}
	if digits%4 == 1 {
		return 0, false
	}
	return digits * 3 / 4, true
}

// base64Room is how much s can decode to. Text that is clearly no base64 gets
// no large buffer.
func base64Room(s string) int {
	for i := 0; i < min(len(s), 64); i++ {
		if base64Digits[s[i]] == b64Bad {
			return 0
		}
	}
	return len(s)/4*3 + 3
}

// decodeBase64 decodes into dst, which has room for all of s unless s begins
// with what is no base64.
func decodeBase64(dst []byte, s string) ([]byte, bool) {
	i, n := 0, 0
	for {
		// Whole groups of four digits; anything else leaves this loop.
		for i+4 <= len(s) && n+3 <= len(dst) {
			in, out := s[i:i+4], dst[n:n+3]
			a, b, c, d := base64Digits[in[0]], base64Digits[in[1]], base64Digits[in[2]], base64Digits[in[3]]
			if (a|b|c|d)&0x80 != 0 {
				break
			}
			out[0], out[1], out[2] = a<<2|b>>4, b<<4|c>>2, c<<6|d
			i += 4
			n += 3
		}
		// One group with white space or padding in it, or the end.
		var group [4]byte
		digits := 0
		for ; i < len(s) && digits < 4; i++ {
			c := base64Digits[s[i]]
			if c == b64Space {
				continue
			}
			if c&0x80 != 0 {
				break
			}
			group[digits] = c
			digits++
		}
		if digits == 1 || digits > 1 && n+digits-1 > len(dst) {
			return nil, false
		}
		bytes := [3]byte{group[0]<<2 | group[1]>>4, group[1]<<4 | group[2]>>2, group[2]<<6 | group[3]}
		if digits > 1 {
			n += copy(dst[n:], bytes[:digits-1])
		}
		if digits < 4 {
			break
		}
	}
	for ; i < len(s); i++ {
		if c := base64Digits[s[i]]; c != b64Pad && c != b64Space {
			return nil, false
		}
	}
	return dst[:n], true
}
