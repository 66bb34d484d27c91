// Package value reads and writes single values as the clients and links spell
// them: base64, percent-encoding, switches, endpoints, port sets, rates,
// durations, user ids, ciphers and SIP003 plugin text.
//
// A value has one reader, which all formats share, so that a spelling that is
// understood in one of them is understood in all. Each function removes one
// layer and no more: a caller decodes exactly once. Unless stated otherwise,
// ok false means that the text is not understood and belongs into raw; text
// that already has its canonical form is returned as it is, without an
// allocation.
package value

import "strings"

// Bool reads a switch: 1, true, yes, y, on and 0, false, no, n, off in any
// letter case. A key without a value is the caller's matter.
func Bool(s string) (v, ok bool) {
	switch s = strings.TrimSpace(s); len(s) {
	case 1:
		switch s[0] {
		case '1', 'y', 'Y':
			return true, true
		case '0', 'n', 'N':
			return false, true
		}
	case 2:
		if strings.EqualFold(s, "on") {
			return true, true
		}
		return false, strings.EqualFold(s, "no")
	case 3:
		if strings.EqualFold(s, "yes") {
			return true, true
		}
		return false, strings.EqualFold(s, "off")
	case 4:
		ok = strings.EqualFold(s, "true")
		return ok, ok
	case 5:
		return false, strings.EqualFold(s, "false")
	}
	return false, false
}
