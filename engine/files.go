package engine

import (
	"cmp"
	"context"
	"mime"
	"strings"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/processors"
	"github.com/sandrone-gateway/sandrone/store"
)

// FileRequest asks for the text of a stored file, or of a draft.
type FileRequest struct {
	Name    string
	Draft   *sandrone.FileSpec // in place of Name; its own name may be empty
	Mode    string             // FileRender or FileSource; empty means FileRender
	Args    map[string]string  // request args of the steps
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

// ReadFile returns the text of a file. Only static files are made by this
// build; the other kinds are not_implemented, but their source can be read.
//
// Errors: not_found, conflict for a file that needs itself, those of its source
// and of its steps.
func (e *Engine) ReadFile(ctx context.Context, req FileRequest) (*Rendering, error) {
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
	oneSource := spec.Config != nil && len(spec.Config.Subscriptions) == 1
	var kept *keptRendering
	if req.Draft == nil && mode == FileRender {
		kept = e.keptRendering(ctx, r.live, store.FileRender, spec, spec.RenderCacheTTLSeconds, spec.Kind, req.Args)
		if hit := kept.read(ctx, req.Refresh); hit != nil {
			hit.Title, hit.OneSource = title, oneSource
			if req.Verify {
				verdict, err := e.verify(ctx, spec, hit.Body)
				if err != nil {
					return nil, ofFile(err, spec.Name)
				}
				hit.judged(verdict)
			}
			return hit, nil
		}
	}
	ctx, release, err := takeSlot(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	p, err := r.get(ctx, nil, sandrone.KindFile, spec.Name, how{Args: req.Args}, func(ctx context.Context, f *frame) (*product, error) {
		if mode == FileSource {
			return r.source(ctx, spec)
		}
		return r.compile(ctx, f, spec, req.Args, req.Draft != nil)
	})
	if err != nil {
		return nil, ofFile(err, spec.Name)
	}
	facts := p.facts()
	out := &Rendering{ContentType: p.contentType, Body: []byte(p.file.Content), Stale: facts.stale, Title: title, Name: p.file.Name, Profile: p.profile, OneSource: oneSource}
	out.Report = facts.report(e, "file")
	if req.Verify {
		verdict, err := e.verify(ctx, spec, out.Body)
		if err != nil {
			return nil, ofFile(err, spec.Name)
		}
		if verdict.OK {
			kept.write(ctx, out) // its report is for those too who asked for no check
		}
		out.judged(verdict)
		return out, nil
	}
	kept.write(ctx, out)
	return out, nil
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
	return &own
}

// file makes a stored file with its steps.
func (r *request) file(ctx context.Context, parent *frame, name string, args map[string]string) (*product, error) {
	return r.get(ctx, parent, sandrone.KindFile, name, how{Args: args}, func(ctx context.Context, f *frame) (*product, error) {
		spec, err := r.e.file(ctx, name)
		if err != nil {
			return nil, err
		}
		p, err := r.compile(ctx, f, spec, args, false)
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
	p := &product{label: spec.Name, contentType: sourceTypes[spec.BaseKind()]}
	p.file = processors.File{Name: spec.Name, Kind: spec.Kind, Meta: spec.Meta}
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
		return nil, sandrone.Errorf(sandrone.NotImplemented, "the built-in bases of client files are not part of this build")
	}
	return p, nil
}

// sourceTypes are the media types of the kinds' text.
var sourceTypes = map[string]string{
	sandrone.FileStatic:       "text/plain; charset=utf-8",
	sandrone.FileMihomo:       "application/yaml",
	sandrone.FileSingBox:      "application/json",
	sandrone.FileShadowrocket: "text/plain; charset=utf-8",
}

// compile makes the final text: the source, then the steps.
func (r *request) compile(ctx context.Context, f *frame, spec *sandrone.FileSpec, args map[string]string, draft bool) (*product, error) {
	if spec.BaseKind() != sandrone.FileStatic {
		return nil, sandrone.Errorf(sandrone.NotImplemented, "files of kind %s are not part of this build", spec.BaseKind())
	}
	p, err := r.source(ctx, spec)
	if err != nil {
		return nil, err
	}
	scope := "file:" + spec.Name
	r.tell(DiagnosedStage{Scope: scope, Kind: "compile", InputCount: len(p.file.Content), OutputCount: len(p.file.Content), Warnings: p.ownWarnings()})
	p.contentType = ""
	if r.e.steps == nil {
		if err := checkStepsOf(sandrone.FileStage, spec.Processors, "processors"); err != nil {
			return nil, err
		}
	} else if len(spec.Processors) > 0 {
		if err := r.fileChain(ctx, f, p, spec, args, draft); err != nil {
			return nil, err
		}
	}
	p.warn(p.file.Warnings)
	p.contentType = headerType(p.file.MediaType)
	return p, nil
}

func (r *request) fileChain(ctx context.Context, f *frame, p *product, spec *sandrone.FileSpec, args map[string]string, draft bool) error {
	s := &services{r: r, frame: f, logs: draft, index: -1}
	run := processors.Run{
		Target:   spec.Kind,
		Request:  processors.Request{Args: args, Meta: r.meta},
		Dry:      r.live.shut,
		Services: processors.Services{Network: r.live.network, Now: r.e.now},
	}
	if draft {
		run.Field = "file.processors"
	}
	if r.e.scripts != nil {
		run.Scripts = s
	}
	size := len(p.file.Content)
	res, err := r.e.steps.File(ctx, run, spec.Processors, p.file)
	p.notes = append(p.notes, s.taken()...)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		e := sandrone.AsError(err)
		r.tell(DiagnosedStage{Scope: "file:" + spec.Name, Kind: "processor", Type: e.Processor, Stage: sandrone.FileStage, InputCount: size, Error: e})
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

// headerType is a media type that a step set, if it can be a header.
func headerType(t string) string {
	const unknown = "application/octet-stream"
	if _, _, err := mime.ParseMediaType(t); err != nil || strings.ContainsFunc(t, func(r rune) bool { return r < ' ' || r > '~' }) {
		return unknown
	}
	return t
}
