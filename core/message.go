package core

import (
	"cmp"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

const (
	maxMessage = 1 << 10 // bytes
	maxOutput  = 8 << 10

	hidden      = "***"
	shortSecret = 6 // bytes; a secret with fewer is hidden only where it stands alone
)

type outputPatterns struct {
	escape, clock, elapsed, address, failed, logged *regexp.Regexp
}

var compileOutput = sync.OnceValue(func() outputPatterns {
	return outputPatterns{
		escape: regexp.MustCompile(`\x1b\[[0-9;?]*[ -/]*[@-~]`),
		// mihomo, sing-box, Xray.
		clock:   regexp.MustCompile(`(?m)^(?:time="[^"]*" |(?:[+-]\d{4} )?\d{4}[-/]\d\d[-/]\d\d \d\d:\d\d:\d\d(?:\.\d+)? )`),
		elapsed: regexp.MustCompile(`(?m)^([A-Z]+)\[\d+\]`),
		address: regexp.MustCompile(`\b[a-zA-Z][a-zA-Z0-9+.-]*://[^\s"'<>\\` + "`" + `]+`),
		failed:  regexp.MustCompile(`(?m)^(?:level=(?:error|fatal|panic) .*|(?:ERROR|FATAL|PANIC)\b.*|Failed to start: .*|panic: .*|fatal error: .*)$`),
		logged:  regexp.MustCompile(`^level=\w+ msg=("(?:[^"\\]|\\.)*"|.*)$`),
	}
})

// cleaner takes from what a client says what nobody is to read: colours and
// times, paths of this host, and secrets of the file.
type cleaner struct {
	patterns outputPatterns
	paths    *strings.Replacer
	secrets  *strings.Replacer
	short    []string // secrets that are likely to be part of a word
}

func newCleaner(d *document, paths map[string]string) *cleaner {
	c := &cleaner{patterns: compileOutput()}
	var pairs []string
	for _, path := range slices.SortedFunc(keys(paths), longest) {
		if path != "" {
			pairs = append(pairs, path, paths[path])
		}
	}
	c.paths = strings.NewReplacer(pairs...)
	spellings := make(map[string]bool)
	for secret := range d.secrets {
		for _, s := range []string{secret, inner(strconv.Quote(secret)), inner(strconv.QuoteToASCII(secret)), url.QueryEscape(secret), url.PathEscape(secret)} {
			spellings[s] = true
		}
		// A YAML reader repeats the beginning of a value that it cannot take.
		if len(secret) > 10 {
			spellings[secret[:7]+"..."] = true
		}
	}
	// One pass for all of them: a file may have a hundred thousand.
	pairs = nil
	for _, s := range slices.SortedFunc(keys(spellings), longest) {
		if len(s) >= shortSecret {
			pairs = append(pairs, s, hidden)
		} else {
			c.short = append(c.short, s)
		}
	}
	c.secrets = strings.NewReplacer(pairs...)
	return c
}

func inner(quoted string) string { return quoted[1 : len(quoted)-1] }

func keys[V any](m map[string]V) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func longest(a, b string) int {
	return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
}

// clean works on a text of any length; secrets that the cut of a long text has
// halved are for the caller not to cut.
func (c *cleaner) clean(text string) string {
	text = strings.ToValidUTF8(text, "�")
	text = c.patterns.escape.ReplaceAllString(text, "")
	text = strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0x7f {
			return -1
		}
		return r
	}, text)
	text = c.patterns.clock.ReplaceAllString(text, "")
	text = c.patterns.elapsed.ReplaceAllString(text, "$1")
	text = c.paths.Replace(text)
	text = c.secrets.Replace(text)
	for _, secret := range c.short {
		text = hide(text, secret)
	}
	return c.patterns.address.ReplaceAllStringFunc(text, shortAddress)
}

// hide replaces a secret where it is no part of a word.
func hide(text, secret string) string {
	if !strings.Contains(text, secret) {
		return text
	}
	var b strings.Builder
	for from := 0; ; {
		i := strings.Index(text[from:], secret)
		if i < 0 {
			b.WriteString(text[from:])
			return b.String()
		}
		i += from
		end := i + len(secret)
		b.WriteString(text[from:i])
		if (i > 0 && isWord(text[i-1])) || (end < len(text) && isWord(text[end])) {
			b.WriteString(secret)
		} else {
			b.WriteString(hidden)
		}
		from = end
	}
}

func isWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c >= utf8.RuneSelf
}

// shortAddress leaves scheme and host of an address. Of a share link, whose
// host may be the whole node in base64, it leaves the scheme.
func shortAddress(address string) string {
	scheme, _, _ := strings.Cut(address, "://")
	u, err := url.Parse(address)
	switch strings.ToLower(scheme) {
	case "http", "https", "ws", "wss", "tls", "tcp", "udp", "quic", "h3", "dhcp":
		if err == nil {
			return u.Scheme + "://" + u.Host
		}
	}
	return scheme + "://…"
}

// message is the first error in a cleaned output, or its last line.
func (c *cleaner) message(output string) string {
	line := c.patterns.failed.FindString(output)
	if line == "" {
		line = strings.TrimSpace(output)
		line = line[strings.LastIndexByte(line, '\n')+1:]
	}
	if m := c.patterns.logged.FindStringSubmatch(line); m != nil {
		line = m[1]
		if plain, err := strconv.Unquote(line); err == nil {
			line = plain
		}
	}
	for _, level := range []string{"ERROR", "FATAL", "PANIC"} {
		line = strings.TrimPrefix(line, level)
	}
	return cut(strings.Join(strings.Fields(line), " "), maxMessage)
}

// cut keeps the beginning of a text that is too long.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit-len("…")], "") + "…"
}

// ends keeps beginning and end of a text that is too long.
func ends(text string, limit int) string {
	const gap = "\n…\n"
	if len(text) <= limit {
		return text
	}
	half := (limit - len(gap)) / 2
	return strings.ToValidUTF8(text[:half], "") + gap + strings.ToValidUTF8(text[len(text)-half:], "")
}
