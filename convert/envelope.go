package convert

import (
	"iter"
	"regexp"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert/value"
)

// MaxText is the largest text in bytes that is parsed, from whatever door.
// Doors have smaller limits of their own.
const MaxText = 64 << 20

// open is the outer envelope: what is wrong with any text, whatever its
// format, ends here. It returns UTF-8 without a byte order mark.
func open(text string) (string, error) {
	if len(text) > MaxText {
		return "", sandrone.Errorf(sandrone.ParseFailed, "input is larger than %d MiB", MaxText>>20)
	}
	text, ok := toUTF8(text)
	switch {
	case !ok:
		return "", sandrone.Errorf(sandrone.ParseFailed, "input is not valid UTF-8")
	case blank(text):
		return "", sandrone.Errorf(sandrone.ParseFailed, "empty input")
	case webPage(text):
		return "", errWebPage()
	}
	return text, nil
}

func errWebPage() error {
	return sandrone.Errorf(sandrone.ParseFailed, "HTML page instead of a subscription")
}

// toUTF8 removes a byte order mark and transcodes UTF-16. Bytes that are no
// UTF-8 are let pass, as Latin-1, only where they are in the name of a node;
// anywhere else ok is false.
func toUTF8(text string) (_ string, ok bool) {
	switch {
	case strings.HasPrefix(text, "\xEF\xBB\xBF"):
		text = text[3:]
	case strings.HasPrefix(text, "\xFF\xFE"):
		return fromUTF16(text[2:], 1), true
	case strings.HasPrefix(text, "\xFE\xFF"):
		return fromUTF16(text[2:], 0), true
	}
	if utf8.ValidString(text) {
		return text, true
	}
	var b strings.Builder
	b.Grow(len(text) + len(text)/8)
	budget := maxStrayBytes
	for text != "" {
		line := text
		if i := strings.IndexByte(text, '\n'); i >= 0 {
			line = text[:i+1]
		}
		text = text[len(line):]
		if utf8.ValidString(line) {
			b.WriteString(line)
		} else if !latin1Names(&b, line, &budget) {
			return "", false
		}
	}
	return b.String(), true
}

// maxStrayBytes is how many bytes of a text may be no UTF-8. Each costs a look
// at what stands before it.
const maxStrayBytes = 1 << 14

// fromUTF16 transcodes; high is the index of a pair's more significant byte.
// An odd byte at the end is U+FFFD, as half a surrogate pair is.
func fromUTF16(s string, high int) string {
	b := make([]byte, 0, len(s))
	unit := func(i int) rune { return rune(s[i+high])<<8 | rune(s[i+1-high]) }
	for i := 0; i < len(s); i += 2 {
		if i+1 == len(s) {
			b = utf8.AppendRune(b, utf8.RuneError)
			break
		}
		r := unit(i)
		if utf16.IsSurrogate(r) {
			low := rune(0)
			if i+3 < len(s) {
				low = unit(i + 2)
			}
			if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
				i += 2
			}
		}
		b = utf8.AppendRune(b, r)
	}
	return string(b)
}

// nameBefore matches the part of a line before a stray byte when that byte is
// in the value of a name key, in YAML or JSON.
var nameBefore = regexp.MustCompile(`(?i)(?:^|[\s{,])["']?(?:name|tag|ps|remarks?)["']?\s*:\s*(?:"[^"]*|'[^']*|[^"',{}\[\]]*)$`)

// latin1Names appends a line and reads its stray bytes as Latin-1. They must
// all be in names: in the fragment of a link, before the equals sign of a
// profile's line, or in the value of a name key.
func latin1Names(b *strings.Builder, line string, budget *int) bool {
	const wayBack = 256 // bytes looked at before a stray one
	fragment, equals := len(line), strings.IndexByte(line, '=')
	if scheme := strings.Index(line, "://"); scheme >= 0 {
		if i := strings.IndexByte(line[scheme:], '#'); i >= 0 {
			fragment = scheme + i
		}
	}
	if before := line[:max(equals, 0)]; strings.ContainsAny(before, ":/{[") {
		equals = 0
	}
	for i := 0; i < len(line); {
		r, size := utf8.DecodeRuneInString(line[i:])
		if r == utf8.RuneError && size == 1 {
			if *budget--; *budget < 0 {
				return false
			}
			before := strings.ToValidUTF8(line[max(0, i-wayBack):i], "?")
			if i < fragment && i >= equals && !nameBefore.MatchString(before) {
				return false
			}
			r = rune(line[i])
		}
		b.WriteRune(r)
		i += size
	}
	return true
}

// blank reports whether a text has nothing but white space in it.
func blank(text string) bool {
	// Almost every text is told by its first byte.
	return text == "" || text[0] <= ' ' && strings.TrimSpace(text) == ""
}

// webPage reports whether a text begins like HTML or XML.
func webPage(text string) bool {
	text = strings.TrimLeft(text[:min(len(text), 4096)], " \t\r\n\f\v")
	if text == "" || text[0] != '<' {
		return false
	}
	head := strings.ToLower(text[:min(len(text), 16)])
	for _, tag := range []string{"<!doctype html", "<html", "<head", "<body", "<?xml", "<!--", "<script", "<meta", "<title"} {
		if strings.HasPrefix(head, tag) {
			return true
		}
	}
	return false
}

// jsonError returns the error for an answer such as {"error": "expired"}: a
// JSON object in which no format is recognised and which has a member that
// speaks of an error. Nil: it is none.
func jsonError(s *Shape) error {
	if s.JSON() != '{' || s.HasAny("outbounds", "outbound", "endpoints", "proxies", "Proxy", "servers", "configs", "nodes", "outboundDetour", "type", "protocol") {
		return nil
	}
	for _, key := range []string{"message", "msg", "error", "code", "ret"} {
		switch s.Kind(key) {
		case 0:
		case '"', '0':
			return sandrone.Errorf(sandrone.ParseFailed, "JSON answer instead of a subscription: %s %s", key, s.excerpt(key, 160))
		}
	}
	if s.HasAny("error", "message", "msg", "code", "ret") {
		return sandrone.Errorf(sandrone.ParseFailed, "JSON answer instead of a subscription: %s", clip(strings.TrimSpace(s.Text), 160))
	}
	return nil
}

// excerpt returns the first n characters of a member's value as it stands.
func (s *Shape) excerpt(key string, n int) string {
	at := s.find(key)
	text := s.Text[at:]
	if text[0] == '"' {
		text = text[:skipString(text, 0)]
	} else if i := strings.IndexAny(text, ",} \t\r\n"); i >= 0 {
		text = text[:i]
	}
	return clip(text, n)
}

// envelopes runs over what a text may be besides itself: percent-encoded as a
// whole, base64, and base64 that was percent-encoded. Nothing is decoded
// twice, and each only when the loop comes to it.
func envelopes(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		plain := text
		if strings.Contains(text, "%") {
			plain = value.Unescape(text)
		}
		if len(plain) < len(text) && utf8.ValidString(plain) && !strings.Contains(text, "://") && strings.Contains(plain, "://") {
			if !yield(plain) {
				return
			}
		}
		if inner, ok := value.Base64Text(text); ok && !yield(inner) {
			return
		}
		if len(plain) < len(text) {
			if inner, ok := value.Base64Text(plain); ok {
				yield(inner)
			}
		}
	}
}

// Links runs over the lines of a list of links. A text of one line that holds
// several links between spaces is split there, but only if every word begins
// with a scheme that is known: a name may hold spaces, and even "://".
func Links(text string, known func(scheme string) bool) iter.Seq[string] {
	trimmed := strings.TrimSpace(text)
	if strings.Count(trimmed, "://") < 2 || strings.ContainsAny(trimmed, "\r\n") {
		return Lines(text)
	}
	for word := range strings.FieldsSeq(trimmed) {
		scheme, _, ok := strings.Cut(word, "://")
		if !ok || !known(strings.ToLower(scheme)) {
			return Lines(text)
		}
	}
	return strings.FieldsSeq(trimmed)
}
