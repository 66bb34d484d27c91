package engine

import (
	"context"
	"crypto/sha256"
	"sync/atomic"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/core"
	kinds "github.com/sandrone-gateway/sandrone/files"
	"github.com/sandrone-gateway/sandrone/store"
)

const (
	checksAtOnce  = 2  // clients that run
	checksWaiting = 16 // texts that wait for one; more are busy
)

// checks are the checks by clients that are on their way.
type checks struct {
	flights flights[store.Key, *sandrone.Verdict] // equal texts share one
	running chan struct{}
	texts   atomic.Int64 // being checked or waiting
}

func newChecks() checks { return checks{running: make(chan struct{}, checksAtOnce)} }

// VerifyFile makes a file as [Engine.ReadFile] does and has the installed
// client check the text. A refusal is a verdict and no error.
//
// Errors: invalid_argument for a kind that no client checks,
// probe_core_unavailable without its client, busy, and those of ReadFile.
func (e *Engine) VerifyFile(ctx context.Context, req FileRequest) (*sandrone.Verdict, error) {
	req.Mode, req.Verify = FileRender, true
	out, err := e.ReadFile(ctx, req)
	if err != nil {
		return nil, err
	}
	return out.Verdict, nil
}

// canVerify returns an error if no client can check a file, before the file is
// made.
func (e *Engine) canVerify(ctx context.Context, spec *sandrone.FileSpec) error {
	if err := core.CheckKind(spec.BaseKind()); err != nil {
		return err
	}
	_, err := e.cores.Find(ctx, core.ForKind(spec.BaseKind()))
	return err
}

// verify has the client of a file check its text.
func (e *Engine) verify(ctx context.Context, spec *sandrone.FileSpec, text []byte) (*sandrone.Verdict, error) {
	kind, version, err := kinds.Find(spec.Kind)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(text)
	// The verdict is shared, so nobody changes it.
	v, _, err := e.checks.flights.do(ctx, store.KeyOf(kind.Name, version, string(sum[:])), func(ctx context.Context) (*sandrone.Verdict, error) {
		defer e.checks.texts.Add(-1)
		if e.checks.texts.Add(1) > checksAtOnce+checksWaiting {
			return nil, sandrone.Errorf(sandrone.Busy, "too many files are being checked")
		}
		select {
		case e.checks.running <- struct{}{}:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		defer func() { <-e.checks.running }()
		return e.cores.Check(ctx, kind.Name, version, text)
	})
	return v, err
}

// judged adds a verdict to a rendering and its report.
func (r *Rendering) judged(v *sandrone.Verdict) {
	r.Verdict = v
	short := *v
	short.Output = ""
	r.Report.Verify = &short
	r.Report.Warnings = append(r.Report.Warnings[:len(r.Report.Warnings):len(r.Report.Warnings)], v.Warnings...)
	if !v.OK {
		r.Report.Warnings = append(r.Report.Warnings, sandrone.Warning{Code: sandrone.WarnVerifyFailed, Message: warningText(v.Message)})
	}
}

// warningText is as much of a text as a warning holds.
func warningText(text string) string {
	const most = 200 // characters
	n := 0
	for i := range text {
		if n++; n == most {
			return text[:i] + "…"
		}
	}
	return text
}

// refreshFile makes a file of the schedule anew. With verify, the client checks
// the text, and a refused one is an error; where there is no client for it, it
// counts as good.
func (e *Engine) refreshFile(ctx context.Context, name string, verify bool) error {
	req := FileRequest{Name: name, Mode: FileRender, Refresh: true}
	if verify {
		spec, err := e.file(ctx, name)
		if err != nil {
			return err
		}
		if core.CheckKind(spec.BaseKind()) == nil {
			err := e.canVerify(ctx, spec)
			if req.Verify = err == nil; err != nil {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				e.log.Warn("a file was refreshed without a check", "operation", "scheduled_refresh",
					"kind", sandrone.KindFile, "name", name, "code", string(sandrone.AsError(err).Code), "error", sandrone.AsError(err).Message)
			}
		}
	}
	out, err := e.ReadFile(ctx, req)
	if err == nil && out.Verdict != nil && !out.Verdict.OK {
		err = &sandrone.Error{Code: sandrone.WarnVerifyFailed, Message: out.Verdict.Message}
	}
	return err
}
