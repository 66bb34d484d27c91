package engine

import (
	"context"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/store"
)

// Tokens lists the named tokens by time of creation.
func (e *Engine) Tokens(ctx context.Context) (list []sandrone.Token, err error) {
	err = e.view(ctx, func(tx *store.Tx) error {
		list, err = tx.Tokens().List()
		return err
	})
	return list, err
}

// CreateToken makes a token from its name, scope and expiry, and returns it
// with its secret, which cannot be had again. Errors: invalid_argument,
// conflict.
func (e *Engine) CreateToken(ctx context.Context, want sandrone.Token) (token sandrone.Token, secret string, err error) {
	if e.store == nil {
		return token, "", noStore()
	}
	err = e.store.Update(ctx, func(tx *store.Tx) error {
		token, secret, err = tx.Tokens().Create(want)
		return err
	})
	if err != nil {
		return sandrone.Token{}, "", err
	}
	return token, secret, nil
}

// DeleteToken revokes a token at once: not_found if there is none of that id.
func (e *Engine) DeleteToken(ctx context.Context, id string) error {
	if e.store == nil {
		return noStore()
	}
	return e.store.Update(ctx, func(tx *store.Tx) error { return tx.Tokens().Delete(id) })
}

// Authenticate returns the scope of the named token with a secret, if there is
// one that has not expired. Its use is noted at most once a minute.
func (e *Engine) Authenticate(ctx context.Context, secret string) (scope string, ok bool) {
	if e.store == nil {
		return "", false
	}
	var token sandrone.Token
	due := false
	err := e.store.View(ctx, func(tx *store.Tx) (err error) {
		if token, ok, err = tx.Tokens().Find(secret); ok {
			due = tx.Tokens().UseIsDue(token)
		}
		return err
	})
	if err != nil {
		e.log.Error("tokens cannot be read", "operation", "authenticate", "error", sandrone.AsError(err).Message)
		return "", false
	}
	if !ok {
		return "", false
	}
	if due {
		// A use that cannot be noted, as on a full disk, must not lock anyone
		// out.
		if err := e.store.Update(ctx, func(tx *store.Tx) error { return tx.Tokens().Used(token.ID) }); err != nil {
			e.log.Warn("the use of a token was not noted", "operation", "authenticate", "error", sandrone.AsError(err).Message)
		}
	}
	return token.Scope, true
}
