package mcp

import (
	"cmp"
	"context"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/engine"
	"github.com/sandrone-gateway/sandrone/store"
)

// fileSpec is the mode of a definition, besides those of the engine.
const fileSpec = "spec"

// fileAnswer has the members of the mode that was asked for.
type fileAnswer struct {
	*fileText
	Source      *fileSource        `json:"source,omitempty"`
	Spec        *sandrone.FileSpec `json:"spec,omitempty"`
	ResourceURI string             `json:"resource_uri,omitempty"`
}

type fileText struct {
	ContentType string `json:"content_type,omitempty"`
	body
	Cached bool            `json:"cached"`
	Report sandrone.Report `json:"report"`
}

// fileSource is the text that a file starts from.
type fileSource struct {
	Name      string             `json:"name"`
	Kind      string             `json:"kind"`
	MediaType string             `json:"media_type,omitempty"`
	Content   string             `json:"content"`
	Meta      map[string]string  `json:"meta,omitempty"`
	Warnings  []sandrone.Warning `json:"warnings,omitempty"`
}

type fileInput struct {
	File    string            `json:"file"`
	Mode    string            `json:"mode"`
	Target  string            `json:"target"`
	Args    map[string]string `json:"args"`
	Refresh bool              `json:"refresh"`
}

func (e *Endpoint) addFiles(s *sdk.Server) {
	modes := oneOfWords("render: the final text; source: the text before anything is done to it; spec: the definition", fileSpec, engine.FileSource, engine.FileRender)
	modes.Default = []byte(`"render"`)
	out := schemaOf[fileAnswer]()
	out.Required = nil // each mode has its own members
	addTool(e, s, tool{
		name:   "sandrone_get_file",
		title:  "Get a file",
		about:  "Render a stored file, or read its source or its definition. Look at report.warnings of a rendering; a body over the output limit is left out and its size is told.",
		effect: reaches,
		in: object([]string{"file"}, members{
			"file":    nameOf("the name of a stored file"),
			"mode":    modes,
			"target":  textOf("what the steps of the subscriptions see as their target"),
			"args":    texts(aboutArgs),
			"refresh": flag("read no cache"),
		}),
		out: out,
	}, e.getFile)

	addTool(e, s, tool{
		name:   "sandrone_put_file",
		title:  "Save a file",
		about:  aboutPut("file", filesURI),
		effect: manages,
		in:     withDryRun(e.options.Catalog.FileSpec()),
		out:    savedSchema(),
	}, func(ctx context.Context, in struct {
		sandrone.FileSpec
		DryRun bool `json:"dry_run"`
	}) (saved, error) {
		v := &in.FileSpec
		if in.DryRun {
			run, err := e.options.Engine.DryRunFile(ctx, v)
			return e.tried(ctx, sandrone.KindFile, v.Name, run, err)
		}
		put, err := e.options.Engine.PutFile(ctx, v, store.Precondition{})
		return saved{OK: true, ResourceURI: definitionURI(sandrone.KindFile, v.Name), Warnings: put.Warnings}, err
	})

	addTool(e, s, tool{
		name:   "sandrone_delete_file",
		title:  "Delete a file",
		about:  aboutDelete("file", filesURI),
		effect: manages,
		in:     object([]string{"name"}, members{"name": nameOf("of a stored file")}),
		out:    schemaOf[deleted](),
	}, func(ctx context.Context, in named) (deleted, error) {
		if err := sandrone.CheckName("name", in.Name); err != nil {
			return deleted{}, err
		}
		err := e.options.Engine.DeleteFile(ctx, in.Name, store.Precondition{})
		return deleted{true, true, definitionURI(sandrone.KindFile, in.Name)}, err
	})
}

func (e *Endpoint) getFile(ctx context.Context, in fileInput) (fileAnswer, error) {
	if err := sandrone.CheckName("file", in.File); err != nil {
		return fileAnswer{}, err
	}
	mode := cmp.Or(in.Mode, engine.FileRender)
	if mode == engine.FileRender {
		r, err := e.options.Engine.ReadFile(ctx, engine.FileRequest{Name: in.File, Mode: mode, Target: in.Target, Args: in.Args, Refresh: in.Refresh})
		if err != nil {
			return fileAnswer{}, err
		}
		return fileAnswer{fileText: &fileText{r.ContentType, e.bodyOf(r.Body), r.Cached, r.Report}}, nil
	}
	record, err := e.options.Engine.File(ctx, in.File)
	if err != nil {
		return fileAnswer{}, err
	}
	spec := record.Definition
	if mode == fileSpec {
		return fileAnswer{Spec: spec, ResourceURI: definitionURI(sandrone.KindFile, in.File)}, nil
	}
	r, err := e.options.Engine.ReadFile(ctx, engine.FileRequest{Name: in.File, Mode: mode})
	if err != nil {
		return fileAnswer{}, err
	}
	return fileAnswer{Source: &fileSource{spec.Name, spec.Kind, r.ContentType, string(r.Body), spec.Meta, r.Report.Warnings}}, nil
}
