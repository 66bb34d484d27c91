package sandrone

import (
	"mime"
	"strings"
	"time"
	"unicode/utf8"
)

// Share is the stored definition of a public address, /s/<id>. The id is the
// secret that opens it.
type Share struct {
	ID           string            `json:"id"` // made by the store when empty
	Name         string            `json:"name,omitempty"`
	TargetKind   string            `json:"target_kind"` // KindSubscription, KindFile
	TargetName   string            `json:"target_name"`
	TargetFormat string            `json:"target_format,omitempty"` // render format of a subscription, with an optional @version
	ContentType  string            `json:"content_type,omitempty"`  // in place of the target's own
	ValidFrom    time.Time         `json:"valid_from,omitzero"`     // inclusive; zero means always
	ValidUntil   time.Time         `json:"valid_until,omitzero"`    // exclusive; zero means for ever
	AgeRecipient string            `json:"age_recipient,omitempty"` // whom the answer is encrypted to
	Meta         map[string]string `json:"meta,omitempty"`
	CreatedAt    time.Time         `json:"created_at,omitzero"` // set by the store
	UpdatedAt    time.Time         `json:"updated_at,omitzero"` // set by the store
}

// DefaultShareFormat is what a share of a subscription is rendered as when
// nothing else is said.
const DefaultShareFormat = "base64"

// Normalise brings s into the form in which it is stored: fields trimmed,
// words folded, times in UTC, the default format filled in. What can never be
// right is an invalid_argument error with the field; s may then be changed in
// part. An empty id is left for the store. Whether the target exists, the
// format is known and the recipient is a key, is not looked at.
func (s *Share) Normalise() error {
	for _, field := range []*string{&s.ID, &s.Name, &s.TargetName, &s.ContentType, &s.AgeRecipient} {
		*field = strings.TrimSpace(*field)
	}
	s.TargetKind, s.TargetFormat = word(s.TargetKind), word(s.TargetFormat)
	for _, name := range []struct{ field, text string }{{"id", s.ID}, {"name", s.Name}} {
		if name.text != "" {
			if err := CheckName(name.field, name.text); err != nil {
				return err
			}
		}
	}
	switch s.TargetKind {
	case KindSubscription:
		if s.TargetFormat == "" {
			s.TargetFormat = DefaultShareFormat
		}
	case KindFile:
		s.TargetFormat = ""
	case "":
		return invalid("target_kind", "target_kind is required")
	default:
		return invalid("target_kind", "target_kind must be file or subscription")
	}
	if err := CheckName("target_name", s.TargetName); err != nil {
		return err
	}
	if s.ContentType != "" {
		// It becomes a header, so it must be one.
		if _, _, err := mime.ParseMediaType(s.ContentType); err != nil || strings.ContainsFunc(s.ContentType, notHeader) {
			return invalid("content_type", "content_type must be a media type")
		}
	}
	s.ValidFrom, s.ValidUntil = utc(s.ValidFrom), utc(s.ValidUntil)
	if !s.ValidFrom.IsZero() && !s.ValidUntil.IsZero() && !s.ValidFrom.Before(s.ValidUntil) {
		return invalid("valid_from", "valid_from must be before valid_until")
	}
	return nil
}

func notHeader(r rune) bool { return r < ' ' || r > '~' }

// utc keeps the zero time zero.
func utc(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC()
}

// ValidAt reports whether the share answers at the time t.
func (s *Share) ValidAt(t time.Time) bool {
	return (s.ValidFrom.IsZero() || !t.Before(s.ValidFrom)) && (s.ValidUntil.IsZero() || t.Before(s.ValidUntil))
}

// ShareFilenames are the members of a share that follow from its definition.
// They are served and never stored.
type ShareFilenames struct {
	PublicFilename  string            `json:"public_filename"`
	FormatFilenames map[string]string `json:"format_filenames,omitempty"` // by render format; subscriptions only
}

// ShareAccess is one answered request of a share.
type ShareAccess struct {
	Time          time.Time `json:"time"`
	ClientAddress string    `json:"client_address"`
	UserAgent     string    `json:"user_agent"` // at most 256 bytes
	Status        int       `json:"status"`     // of the answer
}

// ShareUse sums up the answered requests of a share. It is kept beside the
// definition, and is part of neither its ETag nor its revisions.
type ShareUse struct {
	AccessCount   int64     `json:"access_count"`
	LastAccessAt  time.Time `json:"last_access_at,omitzero"`
	LastUserAgent string    `json:"last_user_agent,omitempty"`
}

const (
	maxAccesses  = 50  // a share
	maxUserAgent = 256 // bytes
)

// ShareAccesses is the access record of a share.
type ShareAccesses struct {
	ShareUse
	Recent []ShareAccess `json:"recent"` // newest first, at most 50
}

// Add records one access. Only answers 200 and 304 are counted; the list holds
// every one. A long User-Agent is cut.
func (a *ShareAccesses) Add(access ShareAccess) {
	access.Time = access.Time.UTC()
	access.UserAgent = cut(strings.ToValidUTF8(access.UserAgent, "�"), maxUserAgent)
	if access.Status == 200 || access.Status == 304 {
		a.AccessCount++
		a.LastAccessAt, a.LastUserAgent = access.Time, access.UserAgent
	}
	a.Recent = append([]ShareAccess{access}, a.Recent[:min(len(a.Recent), maxAccesses-1)]...)
}

// cut shortens s to at most n bytes of whole characters.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
