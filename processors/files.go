package processors

import (
	"context"

	"github.com/sandrone-gateway/sandrone"
)

// FileResult is what came out of a list of steps on a file.
type FileResult struct {
	File     File
	Warnings []sandrone.Warning
}

// File runs the file-stage steps of a list over a document. If a step fails,
// the error has its place, and nothing of the steps before it is given out.
func (r *Registry) File(ctx context.Context, run Run, specs []sandrone.ProcessorSpec, f File) (FileResult, error) {
	s := &scope{Run: &run}
	out, warnings, err := walk(ctx, r, &run, sandrone.FileStage, r.file, specs, f, s, func(StepTrace, File, File) {})
	if err != nil {
		return FileResult{}, err
	}
	return FileResult{File: out, Warnings: warnings}, nil
}
