package engine

import (
	"context"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/store"
)

// Put is the outcome of a definition that was saved.
type Put struct {
	ETag     string             // of what is stored now
	Created  bool               // there was none of that name
	Changed  bool               // false when it was equal to the stored one
	Warnings []sandrone.Warning // steps that could not run as they are
}

func notPartOf(what string) error {
	return sandrone.Errorf(sandrone.NotImplemented, "%s is not part of this build", what)
}

// Subscriptions lists the stored subscriptions by name. One that cannot be
// read is listed without its definition.
func (e *Engine) Subscriptions(ctx context.Context) ([]store.Record[sandrone.Subscription], error) {
	return nil, notPartOf("the store")
}

// Subscription returns a stored subscription: not_found if there is none.
func (e *Engine) Subscription(ctx context.Context, name string) (store.Record[sandrone.Subscription], error) {
	return store.Record[sandrone.Subscription]{}, notPartOf("the store")
}

// PutSubscription normalises and saves s. Nothing is fetched, parsed or
// resolved; steps that could not run are warnings. Errors: invalid_argument,
// precondition_failed, conflict.
func (e *Engine) PutSubscription(ctx context.Context, s *sandrone.Subscription, pre store.Precondition) (Put, error) {
	return Put{}, notPartOf("the store")
}

// DeleteSubscription deletes a subscription. Errors: not_found,
// precondition_failed.
func (e *Engine) DeleteSubscription(ctx context.Context, name string, pre store.Precondition) error {
	return notPartOf("the store")
}

// Files lists the stored files by name, as Subscriptions does.
func (e *Engine) Files(ctx context.Context) ([]store.Record[sandrone.FileSpec], error) {
	return nil, notPartOf("the store")
}

// File returns the definition of a stored file: not_found if there is none.
func (e *Engine) File(ctx context.Context, name string) (store.Record[sandrone.FileSpec], error) {
	return store.Record[sandrone.FileSpec]{}, notPartOf("the store")
}

// PutFile saves f as PutSubscription does.
func (e *Engine) PutFile(ctx context.Context, f *sandrone.FileSpec, pre store.Precondition) (Put, error) {
	return Put{}, notPartOf("the store")
}

// DeleteFile deletes a file. Errors: not_found, precondition_failed.
func (e *Engine) DeleteFile(ctx context.Context, name string, pre store.Precondition) error {
	return notPartOf("the store")
}
