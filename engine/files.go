package engine

import (
	"cmp"
	"context"
	"errors"
	"mime"
	"slices"
	"strings"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert"
	"github.com/sandrone-gateway/sandrone/files"
	"github.com/sandrone-gateway/sandrone/processors"
	"github.com/sandrone-gateway/sandrone/store"
)

// FileRequest asks for the text of a stored file, or of a draft.
type FileRequest struct {
	Name    string
	Draft   *sandrone.FileSpec // in place of Name; its own name may be empty
	Mode    string             // FileRender or FileSource; empty means FileRender
	Args    map[string]string  // request args of the steps, those of the subscriptions too
	Target  string             // what the steps of the subscriptions see as their target
	Refresh bool               // read no cache
	Verify  bool               // have the installed client check the final text; a refused one is not cached
}

// The modes of a [FileRequest].
const (
	FileRender = "render" // the final text
	FileSource = "source" // the text before compile and steps
)

// maxFileText is the largest text of a file, in bytes: what its source may be,
// and what steps may make of it.
const maxFileText = 32 << 20

// ReadFile returns the text of a file: its source after the steps or, for a
// kind that is compiled, what its base, subscriptions and settings come to.
//
// Errors: not_found, conflict for a file that needs itself, invalid_argument
// for settings and a base that are not of the kind, those of its source, its
// subscriptions, the renderer and its steps.
func (e *Engine) ReadFile(ctx context.Context, req FileRequest) (*Rendering, error) {
	p, err := e.readFile(ctx, req, false)
	if err != nil {
		return nil, err
	}
	return p.Rendering, nil
}

func (e *Engine) readFile(ctx context.Context, req FileRequest, trace bool) (*FilePreview, error) {
	mode := cmp.Or(word(req.Mode), FileRender)
	if mode != FileRender && mode != FileSource {
		return nil, sandrone.Errorf(sandrone.InvalidArgument, "mode must be render or source").At("mode")
	}
	spec, err := e.fileSpec(ctx, &req)
	if err != nil {
		return nil, err
	}
	if req.Verify {
		if mode != FileRender {
			return nil, sandrone.Errorf(sandrone.InvalidArgument, "only the final text of a file can be verified").At("mode")
		}
		if err := e.canVerify(ctx, spec); err != nil {
			return nil, err
		}
	}
	r := e.request(req.Refresh, spec.Meta)
	title := cmp.Or(spec.DisplayName, spec.Name)
	oneSource := len(subscriptionsOf(spec)) == 1
	var kept *keptRendering
	if req.Draft == nil && mode == FileRender {
		kept = e.keptRendering(ctx, r.live, store.FileRender, spec, spec.RenderCacheTTLSeconds, req.Target, req.Args)
		if hit := kept.read(ctx, req.Refresh); hit != nil {
			hit.Title, hit.OneSource = title, oneSource
			if req.Verify {
				verdict, err := e.verify(ctx, spec, hit.Body)
				if err != nil {
					return nil, ofFile(err, spec.Name)
				}
				hit.judged(verdict)
			}
			return &FilePreview{Rendering: hit}, nil
		}
	}
	ctx, release, err := takeSlot(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	ctx, done, err := e.turns.take(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	how := production{how: how{Args: req.Args, Target: req.Target}, draft: req.Draft != nil, trace: trace}
	p, err := r.get(ctx, nil, sandrone.KindFile, spec.Name, how.how, func(ctx context.Context, f *frame) (*product, error) {
		if mode == FileSource {
			return r.source(ctx, spec)
		}
		return r.compile(ctx, f, spec, how)
	})
	if err != nil {
		return nil, ofFile(err, spec.Name)
	}
	out := e.fileRendering(p)
	out.Title, out.OneSource = title, oneSource
	preview := &FilePreview{Rendering: out, Steps: p.fileSteps, Logs: r.logged(how.draft)}
	if req.Verify {
		verdict, err := wait(ctx, func() (*sandrone.Verdict, error) { return e.verify(ctx, spec, out.Body) })
		if err != nil {
			return nil, ofFile(err, spec.Name)
		}
		if verdict.OK {
			kept.write(ctx, out) // its report is for those too who asked for no check
		}
		out.judged(verdict)
		return preview, nil
	}
	kept.write(ctx, out)
	return preview, nil
}

// fileRendering is the text of a file with its report.
func (e *Engine) fileRendering(p *product) *Rendering {
	facts := p.facts()
	out := &Rendering{ContentType: p.contentType, Body: []byte(p.file.Content), Stale: facts.stale, Name: p.file.Name, Profile: p.profile}
	w := &walk{report: facts.report(e, "file")}
	if p.rendered != nil {
		w.summarise(*p.rendered)
	}
	out.Report = w.report
	return out
}

// production is how a file is made.
type production struct {
	how
	draft bool // of a definition that is not stored
	trace bool // keep what the steps did
}

// subscriptionsOf are the names of the subscriptions that a file is made from.
func subscriptionsOf(spec *sandrone.FileSpec) []string {
	if spec.Config == nil {
		return nil
	}
	var names []string
	for _, name := range spec.Config.Subscriptions {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// checkKind looks at what the definition itself cannot know: the version of
// its kind, its settings, and that there is a renderer for its nodes.
func (e *Engine) checkKind(spec *sandrone.FileSpec) error {
	kind, _, err := files.Find(spec.Kind)
	if err != nil || !kind.Typed() {
		return err
	}
	if err := e.registry.CheckTarget(kind.NodeFormat); err != nil {
		return sandrone.AsError(err).At("kind")
	}
	if spec.Config == nil {
		return nil
	}
	return kind.CheckSettings(spec.Config.Settings)
}

func (e *Engine) fileSpec(ctx context.Context, req *FileRequest) (*sandrone.FileSpec, error) {
	if req.Draft == nil {
		return e.file(ctx, req.Name)
	}
	draft := *req.Draft
	draft.Name = cmp.Or(draft.Name, draftName)
	if err := draft.Normalise(); err != nil {
		return nil, below(err, "file")
	}
	if err := e.checkKind(&draft); err != nil {
		return nil, below(err, "file")
	}
	return &draft, nil
}

// draftName is the name of a draft that has none.
const draftName = "draft"

// file loads a stored definition.
func (e *Engine) file(ctx context.Context, name string) (*sandrone.FileSpec, error) {
	if err := sandrone.CheckName("name", name); err != nil {
		return nil, err
	}
	if e.store == nil {
		return nil, missing(sandrone.KindFile, name)
	}
	var f *sandrone.FileSpec
	err := e.store.View(ctx, func(tx *store.Tx) error {
		record, err := tx.Files().Get(name)
		f = record.Definition
		return err
	})
	return f, err
}

// ofFile says which file an error is about, if nothing nearer is said.
func ofFile(err error, name string) error {
	if isContext(err) {
		return err
	}
	own := *sandrone.AsError(about(err, sandrone.KindFile, name))
	own.File = cmp.Or(own.File, name)
	if step, ok := errors.AsType[*StepError](err); ok {
		return &StepError{&own, step.Steps, step.FileSteps, step.Logs}
	}
	return &own
}

// FileStep is what one step did to a file.
type FileStep = processors.FileStep

// FilePreview is what a draft of a file comes to, and what its steps did.
type FilePreview struct {
	*Rendering
	Steps []processors.FileStep
	Logs  []ScriptLog // of its scripts
}

// PreviewFile makes a draft of a file, of which nothing is stored but fetch and
// probe caches. In mode source there are no steps.
//
// Errors are those of [Engine.ReadFile]; a step that fails gives a [*StepError].
func (e *Engine) PreviewFile(ctx context.Context, req FileRequest) (*FilePreview, error) {
	if req.Draft == nil {
		return nil, sandrone.Errorf(sandrone.InvalidArgument, "file is required").At("file")
	}
	return e.readFile(ctx, req, true)
}

// file makes a stored file with its steps.
func (r *request) file(ctx context.Context, parent *frame, name string, args map[string]string) (*product, error) {
	return r.get(ctx, parent, sandrone.KindFile, name, how{Args: args}, func(ctx context.Context, f *frame) (*product, error) {
		spec, err := r.e.file(ctx, name)
		if err != nil {
			return nil, err
		}
		p, err := r.compile(ctx, f, spec, production{how: how{Args: args}})
		if err != nil {
			return nil, ofFile(err, name)
		}
		return p, nil
	})
}

// fileSource reads the source of a stored file. It needs nothing that could
// lead back to it.
func (r *request) fileSource(ctx context.Context, name string) (*product, error) {
	spec, err := r.e.file(ctx, name)
	if err != nil {
		return nil, err
	}
	p, err := r.source(ctx, spec)
	if err != nil {
		return nil, ofFile(err, name)
	}
	return p, nil
}

// source reads the text that a file starts from.
func (r *request) source(ctx context.Context, spec *sandrone.FileSpec) (*product, error) {
	kind, version, err := files.Find(spec.Kind)
	if err != nil {
		return nil, err
	}
	p := &product{label: spec.Name, contentType: kind.MediaType}
	p.file = processors.File{Name: spec.Name, Kind: spec.Kind, Meta: spec.Meta}
	if !kind.Typed() {
		p.contentType = "text/plain; charset=utf-8" // until a step says otherwise
	}
	switch source := spec.Source; {
	case source.Type == sandrone.FileInline:
		if source.Content != nil {
			p.file.Content = *source.Content
		}
		p.note(note{refs: []sandrone.SourceRef{{Kind: "inline", Name: spec.Name}}})
	case source.Type == sandrone.FileRemote && source.Remote != nil:
		t, err := r.e.text(ctx, r.live, wanted{remote: *source.Remote, refresh: r.refresh})
		if err != nil {
			return nil, under(err, "source.remote")
		}
		p.file.Content = strings.ToValidUTF8(textOf(t.body), "�")
		p.note(note{refs: []sandrone.SourceRef{t.ref()}, warnings: t.staleWarning(spec.Name), isStale: t.cause != nil, stale: t.age})
	default:
		p.file.Content = kind.Base(version)
		p.note(note{refs: []sandrone.SourceRef{{Kind: "builtin", Name: kind.Name + "-default"}}})
	}
	return p, nil
}

// compile makes the final text: the source, then what the settings and the
// subscriptions make of it, then the steps.
func (r *request) compile(ctx context.Context, f *frame, spec *sandrone.FileSpec, how production) (*product, error) {
	kind, _, err := files.Find(spec.Kind)
	if err != nil {
		return nil, err
	}
	p, err := r.source(ctx, spec)
	if err != nil {
		return nil, err
	}
	p.contentType = ""
	stage := DiagnosedStage{Scope: "file:" + spec.Name, Kind: "compile", InputCount: len(p.file.Content)}
	if kind.Typed() {
		if err := r.fill(ctx, f, kind, spec, p, how); err != nil {
			return nil, err
		}
	}
	stage.OutputCount, stage.Warnings = len(p.file.Content), p.ownWarnings()
	r.tell(stage)
	if r.e.steps == nil {
		if err := checkStepsOf(sandrone.FileStage, spec.Processors, "processors"); err != nil {
			return nil, err
		}
	} else if len(spec.Processors) > 0 {
		steps := func() (struct{}, error) { return struct{}{}, r.fileChain(ctx, f, p, spec, how) }
		if waits(spec.Processors) {
			_, err = wait(ctx, steps)
		} else {
			_, err = steps()
		}
		if err != nil {
			return nil, err
		}
	}
	p.warn(p.file.Warnings)
	p.contentType = headerType(p.file.MediaType)
	return p, nil
}

// fill compiles nodes and settings into the base that p holds.
func (r *request) fill(ctx context.Context, f *frame, kind *files.Kind, spec *sandrone.FileSpec, p *product, how production) error {
	if err := r.e.checkKind(spec); err != nil { // before anything is fetched
		return inDraft(err, how.draft)
	}
	nodes, err := r.nodesOf(ctx, f, subscriptionsOf(spec), p, how.how)
	if err != nil {
		return err
	}
	in := files.Input{Registry: r.e.registry, Kind: spec.Kind, Base: p.file.Content, Nodes: nodes}
	if spec.Config != nil {
		in.Settings = spec.Config.Settings
	}
	out, err := kind.Compile(in)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return inDraft(err, how.draft)
	}
	if len(out.Content) > maxFileText {
		return sandrone.Errorf(sandrone.RenderFailed, "the file is larger than %d bytes", maxFileText)
	}
	p.warn(out.Nodes.Warnings)
	p.warn(out.Warnings)
	p.nodes, p.rendered = nodes, &out.Nodes
	r.e.metrics.Rendered(kind.NodeFormat, out.Nodes.Count, len(nodes)-out.Nodes.Count)
	p.file.Content, p.file.MediaType = out.Content, kind.MediaType
	return nil
}

// inDraft puts the place of a fault below the member of a request that has the
// draft.
func inDraft(err error, draft bool) error {
	if e := sandrone.AsError(err); draft && e.Field != "" {
		return below(err, "file")
	}
	return err
}

// nodesOf joins the nodes of subscriptions in their order. One that is named
// twice gives its nodes twice.
func (r *request) nodesOf(ctx context.Context, f *frame, names []string, p *product, h how) ([]sandrone.Node, error) {
	var nodes []sandrone.Node
	for _, name := range names {
		made, err := r.stored(ctx, f, name, h)
		if err != nil {
			return nil, err
		}
		p.note(note{dep: &sandrone.ResourceRef{Kind: sandrone.KindSubscription, Name: name}, below: made})
		if len(nodes)+len(made.nodes) > convert.MaxNodes {
			return nil, sandrone.Errorf(sandrone.ParseFailed, "the subscriptions together hold more than %d nodes", convert.MaxNodes).At("config.subscriptions")
		}
		if nodes == nil {
			nodes = slices.Clip(made.nodes) // theirs, until more come
		} else {
			nodes = append(nodes, made.nodes...)
		}
		if len(names) == 1 {
			p.profile = made.profile
		}
	}
	return nodes, nil
}

func (r *request) fileChain(ctx context.Context, f *frame, p *product, spec *sandrone.FileSpec, how production) error {
	s := &services{r: r, frame: f, logs: how.draft, index: -1}
	adder := &nodeAdder{r: r, frame: f, p: p, how: how.how}
	run := processors.Run{
		Target:   spec.BaseKind(),
		Request:  processors.Request{Args: how.Args, Meta: r.meta},
		Dry:      r.live.shut,
		Services: processors.Services{Network: r.live.network, Nodes: adder, Now: r.e.now},
	}
	if how.draft {
		run.Field = "file.processors"
	}
	if r.e.scripts != nil {
		run.Scripts = s
	}
	run.Trace = how.trace
	size := len(p.file.Content)
	res, err := r.e.steps.File(ctx, run, spec.Processors, p.file)
	p.notes = append(p.notes, s.taken()...)
	p.fileSteps = res.Steps
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		e := sandrone.AsError(err)
		r.tell(DiagnosedStage{Scope: "file:" + spec.Name, Kind: "processor", Type: e.Processor, Stage: sandrone.FileStage, InputCount: size, Error: e})
		if how.trace {
			return &StepError{Err: e, FileSteps: res.Steps, Logs: r.logged(how.draft)}
		}
		return err
	}
	if len(res.File.Content) > maxFileText {
		return sandrone.Errorf(sandrone.FileProcessorFailed, "the file is larger than %d bytes", maxFileText)
	}
	r.tell(DiagnosedStage{Scope: "file:" + spec.Name, Kind: "processor", Stage: sandrone.FileStage, InputCount: size, OutputCount: len(res.File.Content), Warnings: res.Warnings})
	p.warn(res.Warnings)
	p.file = res.File
	return nil
}

// nodeAdder puts the nodes of subscriptions into a file whose steps run. What
// they depend on is noted in the product of the file.
type nodeAdder struct {
	r     *request
	frame *frame
	p     *product
	how   how
}

func (a *nodeAdder) AddNodes(ctx context.Context, c processors.NodesCall, f processors.File) (processors.File, []sandrone.Warning, error) {
	kind, _, err := files.Find(f.Kind)
	if err != nil || !kind.Typed() {
		return f, nil, sandrone.Errorf(sandrone.ProcessorConfigInvalid, "a file of this kind has no place for nodes").At("type")
	}
	h := a.how
	h.Args = c.Args
	profile := a.p.profile // that of the subscription of the settings stays
	nodes, err := a.r.nodesOf(ctx, a.frame, c.Subscriptions, a.p, h)
	a.p.profile = profile
	if err != nil {
		return f, nil, err
	}
	out, err := kind.AddNodes(files.Addition{Registry: a.r.e.registry, Kind: f.Kind, Document: f.Content, Position: c.Position, Nodes: nodes})
	if err != nil {
		if e := sandrone.AsError(err); e.Code == sandrone.InvalidArgument {
			err = sandrone.Errorf(sandrone.FileProcessorFailed, "%s", strings.Replace(e.Message, "the base document", "the document", 1)).Because(err)
		}
		return f, nil, err
	}
	a.r.e.metrics.Rendered(kind.NodeFormat, out.Nodes.Count, len(nodes)-out.Nodes.Count)
	f.Content = out.Content
	return f, append(out.Nodes.Warnings, out.Warnings...), nil
}

// headerType is a media type that a step set, if it can be a header.
func headerType(t string) string {
	const unknown = "application/octet-stream"
	if _, _, err := mime.ParseMediaType(t); err != nil || strings.ContainsFunc(t, func(r rune) bool { return r < ' ' || r > '~' }) {
		return unknown
	}
	return t
}
