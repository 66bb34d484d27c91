package server

import (
	"fmt"
	"log/slog"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// What must not stand in a log although somebody wrote it there: addresses
// beyond their host, queries, tokens, ids of shares.
var (
	addressText = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://[^\s"'<>]+`)
	queryText   = regexp.MustCompile(`\?[^\s"'<>]*=[^\s"'<>]*`)
	bearerText  = regexp.MustCompile(`(?i)\bbearer\s+[^\s"'<>]+`)
	tokenText   = regexp.MustCompile(`\b(sdt|sh)_[A-Za-z0-9_-]+`)
	sharePath   = regexp.MustCompile(`(/s|/v1/shares)/[^\s"'<>/?…]+`)
	secretKey   = regexp.MustCompile(`(?i)(token|secret|password|passwd|authorization|cookie|credential|private_?key|query|uuid)$`)
)

// masked is what stands in the place of a secret.
const masked = "…"

// redactText hides what a text of the log must not say. Most texts are short
// and have none of it, so an expression runs only where it may match. Of an http address the
// scheme and the host stay; of a node link only the scheme, since everything
// after it may be the credential.
func redactText(text string) string {
	if text == "" {
		return text
	}
	if strings.Contains(text, "://") {
		text = addressText.ReplaceAllStringFunc(text, func(address string) string {
			scheme, _, _ := strings.Cut(address, "://")
			switch strings.ToLower(scheme) {
			case "http", "https":
				if u, err := url.Parse(address); err == nil {
					return scheme + "://" + u.Host
				}
			}
			return scheme + "://" + masked
		})
	}
	if strings.Contains(text, "?") {
		text = queryText.ReplaceAllString(text, "?"+masked)
	}
	text = bearerText.ReplaceAllString(text, "Bearer "+masked)
	if strings.Contains(text, "_") {
		text = tokenText.ReplaceAllString(text, "${1}_"+masked)
	}
	if strings.Contains(text, "/s") {
		text = sharePath.ReplaceAllString(text, "${1}/"+masked)
	}
	return text
}

// redactAttr hides what an attribute of the log must not say, and makes its
// value one that JSON and text show alike: a string, a number or a boolean.
// Groups are left as they are, with redacted members.
func redactAttr(a slog.Attr) slog.Attr {
	v := a.Value.Resolve()
	if v.Kind() == slog.KindGroup {
		members := make([]slog.Attr, 0, len(v.Group()))
		for _, member := range v.Group() {
			members = append(members, redactAttr(member))
		}
		return slog.Attr{Key: a.Key, Value: slog.GroupValue(members...)}
	}
	if secretKey.MatchString(a.Key) {
		return slog.String(a.Key, masked)
	}
	switch v.Kind() {
	case slog.KindBool, slog.KindInt64, slog.KindUint64, slog.KindFloat64:
		return slog.Attr{Key: a.Key, Value: v}
	case slog.KindTime:
		return slog.String(a.Key, v.Time().UTC().Format(time.RFC3339Nano))
	case slog.KindString:
		return slog.String(a.Key, redactText(v.String()))
	case slog.KindDuration:
		return slog.String(a.Key, v.Duration().String())
	}
	return slog.String(a.Key, redactText(fmt.Sprint(v.Any())))
}
