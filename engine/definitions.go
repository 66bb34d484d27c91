package engine

import (
	"context"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/store"
)

// view calls fn with one consistent state of the store.
func (e *Engine) view(ctx context.Context, fn func(*store.Tx) error) error {
	if e.store == nil {
		return noStore()
	}
	return e.store.View(ctx, fn)
}

// change calls fn as the only writer of definitions or settings. What is being
// made from the former ones is no longer joined by those who come later.
func (e *Engine) change(ctx context.Context, fn func(*store.Tx) error) error {
	if e.store == nil {
		return noStore()
	}
	err := e.store.Update(ctx, fn)
	e.changes.Add(1)
	return err
}

func noStore() error {
	return sandrone.Errorf(sandrone.NotImplemented, "there is no store in this process")
}

// Put is the outcome of a definition that was saved.
type Put struct {
	ETag     string             // of what is stored now
	Created  bool               // there was none of that name
	Changed  bool               // false when it was equal to the stored one
	Warnings []sandrone.Warning // steps that could not run as they are
}

// collection picks the definitions of one kind from a transaction.
type collection[T any] func(*store.Tx) store.Definitions[T]

var (
	subscriptions collection[sandrone.Subscription] = (*store.Tx).Subscriptions
	fileSpecs     collection[sandrone.FileSpec]     = (*store.Tx).Files
	shares        collection[sandrone.Share]        = (*store.Tx).Shares
)

func (of collection[T]) list(ctx context.Context, e *Engine) (list []store.Record[T], err error) {
	err = e.view(ctx, func(tx *store.Tx) error {
		list, err = of(tx).List()
		return err
	})
	return list, err
}

func (of collection[T]) get(ctx context.Context, e *Engine, name string) (record store.Record[T], err error) {
	err = e.view(ctx, func(tx *store.Tx) error {
		record, err = of(tx).Get(name)
		return err
	})
	return record, err
}

func (of collection[T]) put(ctx context.Context, e *Engine, v *T, pre store.Precondition) (Put, error) {
	var written store.Written
	err := e.change(ctx, func(tx *store.Tx) (err error) {
		written, err = of(tx).Put(v, pre)
		return err
	})
	return Put{ETag: written.ETag, Created: written.Created, Changed: written.Changed}, err
}

func (of collection[T]) delete(ctx context.Context, e *Engine, name string, pre store.Precondition) error {
	return e.change(ctx, func(tx *store.Tx) error { return of(tx).Delete(name, pre) })
}

// Subscriptions lists the stored subscriptions by name. One that cannot be
// read is listed without its definition.
func (e *Engine) Subscriptions(ctx context.Context) ([]store.Record[sandrone.Subscription], error) {
	return subscriptions.list(ctx, e)
}

// Subscription returns a stored subscription: not_found if there is none.
func (e *Engine) Subscription(ctx context.Context, name string) (store.Record[sandrone.Subscription], error) {
	return subscriptions.get(ctx, e, name)
}

// PutSubscription normalises and saves s. Nothing is fetched, parsed or
// resolved; steps that could not run are warnings. Errors: invalid_argument,
// precondition_failed, conflict.
func (e *Engine) PutSubscription(ctx context.Context, s *sandrone.Subscription, pre store.Precondition) (Put, error) {
	warnings, err := e.checkSubscription(s)
	if err != nil {
		return Put{}, err
	}
	put, err := subscriptions.put(ctx, e, s, pre)
	put.Warnings = warnings
	return put, err
}

// checkSubscription is all that a put looks at besides what is stored.
func (e *Engine) checkSubscription(s *sandrone.Subscription) ([]sandrone.Warning, error) {
	if err := s.Normalise(); err != nil {
		return nil, err
	}
	return e.checkStored(sandrone.NodesStage, s.Processors), nil
}

// DeleteSubscription deletes a subscription. Errors: not_found,
// precondition_failed.
func (e *Engine) DeleteSubscription(ctx context.Context, name string, pre store.Precondition) error {
	return subscriptions.delete(ctx, e, name, pre)
}

// Files lists the stored files by name, as [Engine.Subscriptions] does.
func (e *Engine) Files(ctx context.Context) ([]store.Record[sandrone.FileSpec], error) {
	return fileSpecs.list(ctx, e)
}

// File returns the definition of a stored file: not_found if there is none.
func (e *Engine) File(ctx context.Context, name string) (store.Record[sandrone.FileSpec], error) {
	return fileSpecs.get(ctx, e, name)
}

// PutFile saves f as [Engine.PutSubscription] does. The version of the kind and
// the settings are checked too; nothing is compiled.
func (e *Engine) PutFile(ctx context.Context, f *sandrone.FileSpec, pre store.Precondition) (Put, error) {
	warnings, err := e.checkFile(f)
	if err != nil {
		return Put{}, err
	}
	put, err := fileSpecs.put(ctx, e, f, pre)
	put.Warnings = warnings
	return put, err
}

// checkFile is all that a put looks at besides what is stored.
func (e *Engine) checkFile(f *sandrone.FileSpec) ([]sandrone.Warning, error) {
	if err := f.Normalise(); err != nil {
		return nil, err
	}
	if err := e.checkKind(f); err != nil {
		return nil, err
	}
	return e.checkStored(sandrone.FileStage, f.Processors), nil
}

// DeleteFile deletes a file. Errors: not_found, precondition_failed.
func (e *Engine) DeleteFile(ctx context.Context, name string, pre store.Precondition) error {
	return fileSpecs.delete(ctx, e, name, pre)
}

// checkStored tells which steps of a saved list could not run. They are no
// error, so that definitions outlive changes of the program.
func (e *Engine) checkStored(stage string, steps []sandrone.ProcessorSpec) []sandrone.Warning {
	if e.steps == nil {
		return nil
	}
	return e.steps.Check(stage, "processors", steps)
}
