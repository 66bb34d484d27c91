package processors

import (
	"context"
	"strings"

	"github.com/sandrone-gateway/sandrone"
)

// FileResult is what came out of a list of steps on a file.
type FileResult struct {
	File     File
	Warnings []sandrone.Warning
	Steps    []FileStep // only if Run.Trace is set; after an error too, up to the step that failed
}

// FileStep is what one step of a list did to a file.
type FileStep struct {
	Index        int             `json:"index"`
	Type         string          `json:"type"`
	Name         string          `json:"name,omitempty"`
	Disabled     bool            `json:"disabled,omitempty"`
	Skipped      bool            `json:"skipped,omitempty"` // it is of the other stage
	BytesIn      int             `json:"bytes_in"`
	BytesOut     int             `json:"bytes_out"`
	LinesChanged int             `json:"lines_changed"`
	DurationMS   int64           `json:"duration_ms"`
	WarningCount int             `json:"warning_count"`
	Error        *sandrone.Error `json:"error,omitempty"`
}

// File runs the file-stage steps of a list over a document. If a step fails,
// the error has its place, and nothing of the steps before it is given out.
func (r *Registry) File(ctx context.Context, run Run, specs []sandrone.ProcessorSpec, f File) (FileResult, error) {
	s := &scope{Run: &run}
	res := FileResult{}
	if run.Trace {
		res.Steps = []FileStep{}
	}
	out, warnings, err := walk(ctx, r, &run, sandrone.FileStage, r.file, specs, f, s, func(t StepTrace, before, after File) {
		if run.Trace {
			res.Steps = append(res.Steps, FileStep{t.Index, t.Type, t.Name, t.Disabled, t.Skipped, len(before.Content), len(after.Content),
				linesChanged(before.Content, after.Content), t.DurationMS, t.WarningCount, t.Error})
		}
	})
	if err != nil {
		return FileResult{Steps: res.Steps}, err
	}
	res.File, res.Warnings = out, warnings
	return res, nil
}

// linesChanged counts the lines that differ: how many of one text the other
// lacks, whichever are more. A line that only moved has not changed.
func linesChanged(before, after string) int {
	if before == after {
		return 0
	}
	count := make(map[string]int)
	for l := range strings.Lines(before) {
		count[l]++
	}
	added := 0
	for l := range strings.Lines(after) {
		if count[l]--; count[l] < 0 {
			added++
		}
	}
	removed := 0
	for _, n := range count {
		removed += max(n, 0)
	}
	return max(added, removed)
}
