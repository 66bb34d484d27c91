package sandrone

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Token is what is known of a named token. Its secret is shown once, when it
// is made, and only its hash is stored.
type Token struct {
	ID         string    `json:"id"`
	Name       string    `json:"name"`  // unique
	Scope      string    `json:"scope"` // ScopeRead, ScopeWrite
	CreatedAt  time.Time `json:"created_at"`
	ExpiresAt  time.Time `json:"expires_at,omitzero"`   // zero means never
	LastUsedAt time.Time `json:"last_used_at,omitzero"` // noted at most once a minute
}

// The scopes of a [Token]. Write includes read.
const (
	ScopeRead  = "read"
	ScopeWrite = "write"
)

const maxTokenName = 64 // characters

// Normalise trims the name and checks the members that a caller chooses: name,
// scope and expiry, which must lie after now. The error is invalid_argument
// with the field.
func (t *Token) Normalise(now time.Time) error {
	t.Name = strings.TrimSpace(t.Name)
	t.ExpiresAt = utc(t.ExpiresAt)
	switch n := utf8.RuneCountInString(t.Name); {
	case n == 0:
		return invalid("name", "name is required")
	case n > maxTokenName:
		return invalid("name", "name must not be longer than 64 characters")
	case strings.ContainsFunc(t.Name, unicode.IsControl):
		return invalid("name", "name must not contain control characters")
	case t.Scope != ScopeRead && t.Scope != ScopeWrite:
		return invalid("scope", "scope must be read or write")
	case !t.ExpiresAt.IsZero() && !t.ExpiresAt.After(now):
		return invalid("expires_at", "expires_at is past")
	}
	return nil
}

// ExpiredAt reports whether the token is of no use at the time t.
func (t *Token) ExpiredAt(at time.Time) bool {
	return !t.ExpiresAt.IsZero() && !at.Before(t.ExpiresAt)
}
