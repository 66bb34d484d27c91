package engine

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert"
	"github.com/sandrone-gateway/sandrone/processors"
)

// ConvertRequest asks for a conversion of one source of nodes: exactly one of
// Content, Remote and RemoteBatch is set. The JSON form is that of the API.
type ConvertRequest struct {
	ToFormat         string                   `json:"to_format"`             // render format, with an optional @version
	FromFormat       string                   `json:"from_format,omitempty"` // parse format or "auto"; required with Content
	Content          *string                  `json:"content,omitempty"`
	Remote           *Remote                  `json:"remote,omitempty"`
	RemoteBatch      *RemoteBatch             `json:"remote_batch,omitempty"`
	ParseProcessors  []sandrone.ProcessorSpec `json:"parse_processors,omitempty"`
	RenderProcessors []sandrone.ProcessorSpec `json:"render_processors,omitempty"`
	Options          ConvertOptions           `json:"options,omitzero"`
	Meta             map[string]string        `json:"meta,omitempty"` // context for processors

	// Public says that the request is anyone's and not the operator's, so
	// that the strict fetch policy holds. It comes from the door, never from
	// a body.
	Public bool `json:"-"`
}

// ConvertOptions are the choices of one rendering.
type ConvertOptions struct {
	Format  string `json:"format,omitempty"` // empty, or equal to ToFormat
	DropRaw bool   `json:"drop_raw,omitempty"`
}

// ConvertResult is a finished conversion.
type ConvertResult struct {
	ContentType string
	Body        []byte
	Report      sandrone.Report
}

// ReportError is an operation that failed with a report to show beside the
// error: a batch all of whose sources failed.
type ReportError struct {
	Err    *sandrone.Error
	Report sandrone.Report
}

func (e *ReportError) Error() string { return e.Err.Error() }

func (e *ReportError) Unwrap() error { return e.Err }

// Convert reads nodes from a text or from remote sources and writes them in
// another format. What could not be carried over is in the report's warnings.
//
// Errors are [*sandrone.Error], or [*ReportError] when every source of a batch
// failed; a cancelled ctx is its own error.
func (e *Engine) Convert(ctx context.Context, req ConvertRequest) (ConvertResult, error) {
	if err := e.checkConvert(&req); err != nil {
		return ConvertResult{}, err
	}
	w := &walk{report: sandrone.Report{Kind: "convert", Status: sandrone.StatusOK, CreatedAt: e.now().UTC()}}
	result, err := e.convert(ctx, &req, w)
	to, _, _ := strings.Cut(word(req.ToFormat), "@")
	e.metrics.Conversion(word(req.FromFormat), to, err == nil)
	return result, err
}

func (e *Engine) convert(ctx context.Context, req *ConvertRequest, w *walk) (ConvertResult, error) {
	r := e.request(false, req.Meta)
	var nodes []sandrone.Node
	var err error
	switch {
	case req.Content != nil:
		var in *reading
		if in, err = e.parse(req.FromFormat, *req.Content); err == nil {
			nodes = w.read(in)
		}
	case req.Remote != nil:
		nodes, err = e.readRemote(ctx, r.live, req.Remote, req.FromFormat, req.Public, w)
	default:
		nodes, err = e.readBatch(ctx, r.live, req, w)
	}
	if err != nil {
		return ConvertResult{}, err
	}
	if err := ctx.Err(); err != nil {
		return ConvertResult{}, err
	}
	for _, list := range []chain{
		{specs: req.ParseProcessors, chainOptions: chainOptions{field: "parse_processors"}},
		{specs: req.RenderProcessors, chainOptions: chainOptions{field: "render_processors"}, stage: sandrone.StageRender},
	} {
		if nodes, err = r.steps(ctx, list, nodes, w); err != nil {
			return ConvertResult{}, err
		}
	}

	var out ConvertResult
	if out.Body, out.ContentType, err = e.write(req.ToFormat, nodes, req.Options.DropRaw, w); err != nil {
		return ConvertResult{}, err
	}
	out.Report = w.report
	return out, nil
}

// steps runs one list of a conversion.
func (r *request) steps(ctx context.Context, c chain, nodes []sandrone.Node, w *walk) ([]sandrone.Node, error) {
	if len(c.specs) == 0 {
		return nodes, nil
	}
	c.scope, c.meta = "input", r.meta
	source := &processors.Source{SourceRefs: w.report.SourceRefs, Warnings: w.report.Warnings}
	if len(nodes) > 0 {
		source.Format = nodes[0].SourceFormat
	}
	p := &product{nodes: nodes, notes: []note{{source: source}}}
	if err := r.chain(ctx, nil, p, c); err != nil {
		return nil, err
	}
	facts := p.facts()
	w.warn(facts.warnings)
	for _, ref := range facts.refs {
		w.report.SourceRefs = appendRef(w.report.SourceRefs, ref)
	}
	for _, dep := range facts.deps {
		if !slices.Contains(w.report.Dependencies, dep) {
			w.report.Dependencies = append(w.report.Dependencies, dep)
		}
	}
	if facts.partial {
		w.report.Status = sandrone.StatusPartial
	}
	return p.nodes, nil
}

// checkConvert refuses what can be refused before anything is fetched or
// parsed, and fills in defaults.
func (e *Engine) checkConvert(req *ConvertRequest) error {
	if err := e.registry.CheckTarget(req.ToFormat); err != nil {
		return sandrone.AsError(err).At("to_format")
	}
	if f := strings.TrimSpace(req.Options.Format); f != "" && !strings.EqualFold(f, strings.TrimSpace(req.ToFormat)) {
		return sandrone.Errorf(sandrone.InvalidArgument, "options.format must equal to_format").At("options.format")
	}
	inputs := 0
	for _, given := range []bool{req.Content != nil, req.Remote != nil, req.RemoteBatch != nil} {
		if given {
			inputs++
		}
	}
	if inputs != 1 {
		return sandrone.Errorf(sandrone.InvalidArgument, "exactly one of content, remote and remote_batch is required")
	}
	if strings.TrimSpace(req.FromFormat) == "" {
		if req.Content != nil {
			return sandrone.Errorf(sandrone.InvalidArgument, "node input format is required").At("from_format")
		}
		req.FromFormat = "auto"
	}
	if err := e.registry.CheckFormat(req.FromFormat); err != nil {
		return sandrone.AsError(err).At("from_format")
	}
	if req.Remote != nil {
		if err := req.Remote.check("remote"); err != nil {
			return err
		}
	}
	if req.RemoteBatch != nil {
		if err := e.checkBatch(req.RemoteBatch); err != nil {
			return err
		}
	}
	if e.steps != nil {
		return nil // the lists are judged when they run
	}
	if err := checkStepsOf(sandrone.NodesStage, req.ParseProcessors, "parse_processors"); err != nil {
		return err
	}
	return checkStepsOf(sandrone.NodesStage, req.RenderProcessors, "render_processors")
}

// checkStepsOf refuses a list with a step to run in the given stage, for an
// engine without a registry of steps. Disabled steps and those of the other
// stage are never run.
func checkStepsOf(stage string, steps []sandrone.ProcessorSpec, list string) error {
	for i, step := range steps {
		field := list + "[" + strconv.Itoa(i) + "]"
		if step.Disabled {
			continue
		}
		var err *sandrone.Error
		switch {
		case step.Stage != "" && step.Stage != sandrone.NodesStage && step.Stage != sandrone.FileStage:
			err = sandrone.Errorf(sandrone.ProcessorConfigInvalid, "stage must be nodes or file").At(field + ".stage")
		case step.Stage != "" && step.Stage != stage:
			continue
		case step.Stage == "" && step.Type == "script":
			err = sandrone.Errorf(sandrone.ProcessorConfigInvalid, "script must state its stage").At(field + ".stage")
		default:
			err = sandrone.Errorf(sandrone.NotImplemented, "this engine runs no processors").At(field)
		}
		err.Processor, err.ProcessorIndex = step.Type, &i
		return err
	}
	return nil
}

// walk is what one operation collects on its way from text to text.
type walk struct {
	report sandrone.Report
}

// read puts a reading on the way and returns its nodes.
func (w *walk) read(in *reading) []sandrone.Node {
	if t := in.from; t != nil {
		w.report.SourceRefs = append(w.report.SourceRefs, t.ref())
		if stale := t.staleWarning(""); stale != nil {
			w.warn(stale)
			w.report.Status = sandrone.StatusPartial
		}
	}
	w.warn(in.warnings)
	w.report.SourceRefs = append(w.report.SourceRefs, in.refs...)
	w.warn(in.dropped)
	return in.nodes
}

func (w *walk) warn(warnings []sandrone.Warning) {
	w.report.Warnings = append(w.report.Warnings, warnings...)
}

// rendered is the last step: what the renderer wrote and lost.
func (w *walk) rendered(out convert.Rendered) {
	w.warn(out.Warnings)
	w.summarise(out)
}

// summarise counts what the renderer wrote and lost.
func (w *walk) summarise(out convert.Rendered) {
	w.report.Render = sandrone.RenderSummary{SuccessCount: out.Count, Warnings: out.Warnings}
	for i := range out.Warnings {
		switch out.Warnings[i].Code {
		case sandrone.WarnLossyField:
			w.report.Render.LostFields++
			w.report.Lossy = true
		case sandrone.WarnNodeSkipped, sandrone.WarnNoShareLink:
			w.report.Lossy = true
		}
	}
}
