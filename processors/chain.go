package processors

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/sandrone-gateway/sandrone"
)

// StepTrace is what one step of a list did.
type StepTrace struct {
	Index        int             `json:"index"`
	Type         string          `json:"type"`
	Name         string          `json:"name,omitempty"`
	Disabled     bool            `json:"disabled,omitempty"`
	Skipped      bool            `json:"skipped,omitempty"` // it is of the other stage
	In           int             `json:"in"`                // nodes
	Out          int             `json:"out"`
	Added        int             `json:"added"`
	Modified     int             `json:"modified"`
	Removed      int             `json:"removed"`
	DurationMS   int64           `json:"duration_ms"`
	WarningCount int             `json:"warning_count"`
	Error        *sandrone.Error `json:"error,omitempty"`
}

// stages resolves the stage of every step before any of them runs. A disabled
// step is not looked at and has the stage "". The error is that of the first
// bad one.
func (r *Registry) stages(specs []sandrone.ProcessorSpec) (stages []string, bad int, err error) {
	stages = make([]string, len(specs))
	for i := range specs {
		if specs[i].Disabled {
			continue
		}
		if stages[i], err = r.stage(&specs[i]); err != nil {
			return nil, i, err
		}
	}
	return stages, 0, nil
}

// stage returns the stage of a spec: the stated one, or the only one of its
// type.
func (r *Registry) stage(spec *sandrone.ProcessorSpec) (string, error) {
	switch spec.Stage {
	case sandrone.NodesStage, sandrone.FileStage:
		return spec.Stage, nil
	case "":
	default:
		return "", sandrone.Errorf(sandrone.ProcessorConfigInvalid, "stage is neither nodes nor file").At("stage")
	}
	onNodes, onFile := r.nodes[spec.Type] != nil, r.file[spec.Type] != nil
	switch {
	case onNodes && onFile:
		return "", sandrone.Errorf(sandrone.ProcessorConfigInvalid, "stage is required: the type is of both stages").At("stage")
	case onNodes:
		return sandrone.NodesStage, nil
	case onFile:
		return sandrone.FileStage, nil
	}
	return "", unknownType()
}

func unknownType() error {
	return sandrone.Errorf(sandrone.ProcessorUnknown, "no processor of that type in this stage").At("type")
}

// walk runs the steps of one stage in their order. seen is told about every
// spec, with the values before and after; a step that did not run leaves its
// value as it is. The error is that of the first step that failed, with its
// place; nothing of the steps before it is given out then.
func walk[V any](ctx context.Context, r *Registry, run *Run, stage string, kinds map[string]*processor[V], specs []sandrone.ProcessorSpec, value V, s *scope,
	seen func(t StepTrace, before, after V)) (V, []sandrone.Warning, error) {
	var none V
	stages, first, err := r.stages(specs)
	if err != nil {
		e := run.place(err, &specs[first], first, stage)
		seen(StepTrace{Index: first, Type: specs[first].Type, Name: specs[first].Name, Error: bare(e)}, value, value)
		return none, nil, e
	}
	var warnings []sandrone.Warning
	for i := range specs {
		spec := &specs[i]
		t := StepTrace{Index: i, Type: spec.Type, Name: spec.Name, Disabled: spec.Disabled, Skipped: !spec.Disabled && stages[i] != stage}
		if t.Disabled || t.Skipped {
			seen(t, value, value)
			continue
		}
		s.index, s.warnings = i, nil
		start := run.now()
		out, err := apply(ctx, kinds[spec.Type], spec, s, value)
		t.DurationMS = max(0, run.now().Sub(start).Milliseconds())
		t.WarningCount = len(s.warnings)
		if err != nil {
			err = run.place(err, spec, i, stage)
			t.Error = bare(err)
			seen(t, value, value)
			return none, nil, err
		}
		warnings = append(warnings, s.warnings...)
		seen(t, value, out)
		value = out
	}
	return value, warnings, nil
}

// apply builds a step and runs it. Building is lazy, so that a bad step is
// found when its turn comes.
func apply[V any](ctx context.Context, kind *processor[V], spec *sandrone.ProcessorSpec, s *scope, in V) (out V, err error) {
	if kind == nil {
		return out, unknownType()
	}
	if err := ctx.Err(); err != nil {
		return out, err
	}
	run, err := kind.build(spec.Params)
	if err != nil {
		return out, err
	}
	return run(ctx, s, in)
}

// place gives an error the place of the step that it comes from. A coded error
// keeps its code; the end of ctx stays what it is, since it is no fault of the
// step.
func (run *Run) place(err error, spec *sandrone.ProcessorSpec, index int, stage string) error {
	field := run.Field
	if field == "" {
		field = "processors"
	}
	field = fmt.Sprintf("%s[%d]", field, index)
	var e sandrone.Error
	var f *fault
	if coded, ok := errors.AsType[*sandrone.Error](err); ok {
		e = *coded
		switch e.Field {
		case "", "type", "stage":
		default:
			// A step speaks of its params; what else it calls has its own words.
			if e.Code != sandrone.ProcessorConfigInvalid && !strings.HasPrefix(e.Field, "params.") {
				e.Field = ""
			}
		}
		if e.Field != "" {
			e.Field = field + "." + e.Field
		}
	} else if errors.As(err, &f) {
		e = *sandrone.Errorf(sandrone.ProcessorConfigInvalid, "%s", f.reason)
		e.Field = field + ".params"
		if f.path != "" {
			e.Field += "." + f.path
		}
	} else if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	} else {
		code := sandrone.NodeProcessorFailed
		if stage == sandrone.FileStage {
			code = sandrone.FileProcessorFailed
		}
		e = *sandrone.Errorf(code, "%s failed", clip(spec.Type, 64)).Because(err)
	}
	e.Processor = clip(spec.Type, 64)
	e.ProcessorIndex = &index
	return &e
}

// bare is an error as a trace shows it: its step is known there.
func bare(err error) *sandrone.Error {
	e := *sandrone.AsError(err)
	e.Processor, e.ProcessorIndex, e.Field = "", nil, ""
	return &e
}

// Check looks at the specs of one stage as far as that is possible without
// running them, and returns a warning for each that could not run: its type is
// unknown, its stage does not resolve, or its params cannot be used. A disabled
// step is not looked at. field is the path of the list, "processors" if empty.
func (r *Registry) Check(stage, field string, specs []sandrone.ProcessorSpec) []sandrone.Warning {
	run := Run{Field: field}
	var warnings []sandrone.Warning
	for i := range specs {
		if specs[i].Disabled {
			continue
		}
		err := r.check(stage, &specs[i])
		if err == nil {
			continue
		}
		e := sandrone.AsError(run.place(err, &specs[i], i, stage))
		warnings = append(warnings, sandrone.Warning{
			Code: string(e.Code), Message: e.Message, Field: e.Field, ProcessorIndex: e.ProcessorIndex,
		})
	}
	return warnings
}

func (r *Registry) check(stage string, spec *sandrone.ProcessorSpec) error {
	own, err := r.stage(spec)
	if err != nil || own != stage {
		return err
	}
	if stage == sandrone.FileStage {
		return buildable(r.file[spec.Type], spec)
	}
	return buildable(r.nodes[spec.Type], spec)
}

func buildable[V any](kind *processor[V], spec *sandrone.ProcessorSpec) error {
	if kind == nil {
		return unknownType()
	}
	_, err := kind.build(spec.Params)
	return err
}

// every returns ctx's error now and then, so that a long loop ends with its
// request and a short one does not pay for asking.
func every(ctx context.Context, i int) error {
	if i&63 == 0 {
		return ctx.Err()
	}
	return nil
}
