package value

import (
	"math"
	"math/bits"
	"strconv"
	"strings"
	"time"
)

// Rate is a hysteria bandwidth. Exactly one of Mbps and Text is set: Text is
// "<int> <unit>" where the rate is no whole number of Mbit/s.
type Rate struct {
	Mbps int
	Text string
	Bare bool // the source gave a number without a unit, which was taken as Mbit/s
}

// rateUnits are bits per second, in the spelling that hysteria documents;
// letter case tells bits from bytes.
var rateUnits = []struct {
	name string
	bits uint64
}{
	{"bps", 1}, {"Kbps", 1e3}, {"Mbps", 1e6}, {"Gbps", 1e9}, {"Tbps", 1e12},
	{"Bps", 8}, {"KBps", 8e3}, {"MBps", 8e6}, {"GBps", 8e9}, {"TBps", 8e12},
}

// ParseRate reads a positive whole number, alone or with one of the units bps
// to Tbps and Bps to TBps, with or without a space between.
func ParseRate(s string) (Rate, bool) {
	s = strings.TrimSpace(s)
	n, unit, ok := leadingInt(s)
	if !ok || n == 0 {
		return Rate{}, false
	}
	if unit = strings.TrimSpace(unit); unit == "" {
		r, ok := rateOf(n, "Mbps", 1e6)
		r.Bare = true
		return r, ok
	}
	for _, u := range rateUnits {
		if u.name == unit {
			return rateOf(n, u.name, u.bits)
		}
	}
	return Rate{}, false
}

// RateOfBytes is the rate of so many bytes per second, which is what a bare
// number means in sing-box; ok is false for 0.
func RateOfBytes(n uint64) (Rate, bool) {
	if n == 0 {
		return Rate{}, false
	}
	return rateOf(n, "Bps", 8)
}

func rateOf(n uint64, unit string, each uint64) (Rate, bool) {
	hi, total := bits.Mul64(n, each)
	if hi != 0 || total > math.MaxInt64 {
		return Rate{}, false
	}
	if total%1e6 == 0 {
		return Rate{Mbps: int(total / 1e6)}, true
	}
	return Rate{Text: strconv.FormatUint(n, 10) + " " + unit}, true
}

// RateBits is a rate as a node holds it, in bits per second: mbps if it is
// positive, otherwise text. ok is false when neither says a rate.
func RateBits(mbps int, text string) (uint64, bool) {
	if mbps > 0 {
		return uint64(mbps) * 1e6, true
	}
	n, unit, ok := leadingInt(text)
	if !ok || n == 0 {
		return 0, false
	}
	unit = strings.TrimSpace(unit)
	for _, u := range rateUnits {
		if u.name == unit || unit == "" && u.name == "Mbps" {
			hi, total := bits.Mul64(n, u.bits)
			return total, hi == 0
		}
	}
	return 0, false
}

// leadingInt splits s after the decimal number that it begins with.
func leadingInt(s string) (n uint64, rest string, ok bool) {
	i := 0
	for i < len(s) && '0' <= s[i] && s[i] <= '9' {
		i++
	}
	n, err := strconv.ParseUint(s[:i], 10, 64)
	return n, s[i:], err == nil
}

// Duration reads a Go duration, or a bare whole number of the given unit, and
// returns it as [time.Duration.String] writes it. Negative durations are not
// understood.
func Duration(s string, unit time.Duration) (string, bool) {
	d, ok := ParseDuration(s, unit)
	if !ok {
		return "", false
	}
	if d.String() == s { // does not allocate, since the text does not escape
		return s, true
	}
	return d.String(), true
}

// ParseDuration reads what [Duration] reads.
func ParseDuration(s string, unit time.Duration) (time.Duration, bool) {
	s = strings.TrimSpace(s)
	if n, rest, ok := leadingInt(s); ok && rest == "" {
		if n > uint64(math.MaxInt64/unit) {
			return 0, false
		}
		return time.Duration(n) * unit, true
	}
	d, err := time.ParseDuration(s)
	return d, err == nil && d >= 0
}

// DurationIn writes a Go duration as a whole number of units; ok is false when
// it is no duration or does not come out even.
func DurationIn(s string, unit time.Duration) (n int64, ok bool) {
	d, ok := ParseDuration(s, time.Second)
	if !ok || d%unit != 0 {
		return 0, false
	}
	return int64(d / unit), true
}

// HopInterval reads the interval of port hopping: seconds, or a range of
// seconds, each a number or a Go duration. It returns "30" or "15-30"; an
// interval with a part of a second stays as it stood, and 0, which leaves the
// choice to the client, is "".
func HopInterval(s string) (string, bool) {
	s = strings.TrimSpace(s)
	if n, rest, ok := leadingInt(s); ok && rest == "" {
		if n == 0 {
			return "", true
		}
		if s[0] == '0' {
			s = strconv.FormatUint(n, 10)
		}
		return s, true
	}
	from, to, isRange := strings.Cut(s, "-")
	a, ok := ParseDuration(from, time.Second)
	if !ok || a == 0 {
		return "", false
	}
	b := a
	if isRange {
		if b, ok = ParseDuration(to, time.Second); !ok || b < a {
			return "", false
		}
	}
	if a%time.Second != 0 || b%time.Second != 0 {
		return s, true
	}
	text := strconv.FormatInt(int64(a/time.Second), 10)
	if isRange {
		text += "-" + strconv.FormatInt(int64(b/time.Second), 10)
	}
	if text == s {
		return s, true
	}
	return text, true
}

// Range reads "N" or "A-B", ascending whole numbers from 0, as xhttp has them.
func Range(s string) (low, high uint64, ok bool) {
	low, rest, ok := leadingInt(s)
	if !ok || rest == "" {
		return low, low, ok
	}
	if rest[0] != '-' {
		return 0, 0, false
	}
	high, rest, ok = leadingInt(rest[1:])
	return low, high, ok && rest == "" && high >= low
}
