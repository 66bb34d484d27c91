package engine

import (
	"context"

	"github.com/sandrone-gateway/sandrone"
)

// Tokens lists the named tokens by time of creation.
func (e *Engine) Tokens(ctx context.Context) ([]sandrone.Token, error) {
	return nil, notPartOf("the store")
}

// CreateToken makes a token from its name, scope and expiry, and returns it
// with its secret, which cannot be had again. Errors: invalid_argument,
// conflict.
func (e *Engine) CreateToken(ctx context.Context, want sandrone.Token) (sandrone.Token, string, error) {
	return sandrone.Token{}, "", notPartOf("the store")
}

// DeleteToken revokes a token at once: not_found if there is none of that id.
func (e *Engine) DeleteToken(ctx context.Context, id string) error { return notPartOf("the store") }

// Authenticate returns the scope of the named token with a secret, if there is
// one that has not expired.
func (e *Engine) Authenticate(ctx context.Context, secret string) (scope string, ok bool) {
	return "", false
}
