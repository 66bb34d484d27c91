package mcp

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/catalog"
)

// The addresses of resources. They name definitions and documents, never a
// path of the host or a key of the store.
const (
	scheme           = "sandrone://"
	formatsURI       = scheme + "capabilities/formats"
	schemasURI       = scheme + "schemas"
	subscriptionsURI = scheme + "subscriptions/"
	filesURI         = scheme + "files/"
)

var schemaURIs = map[string]string{
	catalog.SchemaProcessors:   schemasURI + "/processors",
	catalog.SchemaFileKinds:    schemasURI + "/file-kinds",
	catalog.SchemaSubscription: schemasURI + "/subscription",
	catalog.SchemaFileSpec:     schemasURI + "/file-spec",
	catalog.SchemaScriptAPI:    schemasURI + "/script-api/v1",
}

func formatURI(direction, format string) string {
	return formatsURI + "/" + direction + "/" + url.PathEscape(format)
}

func processorURI(stage, kind string) string {
	return schemaURIs[catalog.SchemaProcessors] + "/" + stage + "/" + url.PathEscape(kind)
}

func fileKindURI(kind string) string {
	return schemaURIs[catalog.SchemaFileKinds] + "/" + url.PathEscape(kind)
}

// definitionURI is the address of a stored definition.
func definitionURI(kind, name string) string {
	if kind == sandrone.KindFile {
		return filesURI + url.PathEscape(name)
	}
	return subscriptionsURI + url.PathEscape(name)
}

// resource is a fixed resource, or a template whose variables are segments of
// its URI. read gets them decoded and checked.
type resource struct {
	uri, name, about string
	stored           bool // the answer follows the store, so nothing of it is kept
	compact          bool // not indented, which would make it twice as large
	read             func(ctx context.Context, vars []string) (any, error)
}

func (r *resource) isTemplate() bool { return strings.Contains(r.uri, "{") }

// has reports whether a URI is that of a fixed resource, or begins as those of
// a template do, well formed or not.
func (r *resource) has(uri string) bool {
	if before, _, isTemplate := strings.Cut(r.uri, "{"); isTemplate {
		return strings.HasPrefix(uri, before)
	}
	return uri == r.uri
}

// resources is the whole table.
func (e *Endpoint) resources() []*resource {
	c := e.options.Catalog
	document := func(value func() any) func(context.Context, []string) (any, error) {
		return func(context.Context, []string) (any, error) { return value(), nil }
	}
	return []*resource{
		{uri: formatsURI, name: "format-capabilities", about: "The node formats that are read and written, each with the URI of its details.", read: document(func() any { return e.formatIndex() })},
		{uri: schemasURI, name: "schemas", about: "The schema documents.", read: document(func() any { return e.schemaIndex() })},
		{uri: schemaURIs[catalog.SchemaProcessors], name: "processor-schemas", about: "The steps that transform nodes and files, each with the URI of its details.", read: document(func() any { return e.processorIndex() })},
		{uri: schemaURIs[catalog.SchemaFileKinds], name: "file-kind-schemas", about: "The kinds of stored files, each with the URI of its details.", read: document(func() any { return e.fileKindIndex() })},
		{uri: schemaURIs[catalog.SchemaSubscription], name: "subscription-schema", about: "The JSON Schema of the definition of a subscription.", read: document(func() any { return c.Subscription() })},
		{uri: schemaURIs[catalog.SchemaFileSpec], name: "file-spec-schema", about: "The JSON Schema of the definition of a file.", read: document(func() any { return c.FileSpec() })},
		{uri: schemaURIs[catalog.SchemaScriptAPI], name: "script-api-v1", compact: true, about: "What a user script gets, returns and may call.", read: document(func() any { return c.ScriptAPI() })},

		{uri: subscriptionsURI + "{name}", name: "subscriptions", about: "The definition of a stored subscription.", stored: true, read: func(ctx context.Context, vars []string) (any, error) {
			record, err := e.options.Engine.Subscription(ctx, vars[0])
			return record.Definition, err
		}},
		{uri: filesURI + "{name}", name: "files", about: "The definition of a stored file, not its text.", stored: true, read: func(ctx context.Context, vars []string) (any, error) {
			record, err := e.options.Engine.File(ctx, vars[0])
			return record.Definition, err
		}},
		{uri: formatsURI + "/{direction}/{format}", name: "format-capability", about: "What a format does with each field of a node.", read: func(_ context.Context, vars []string) (any, error) {
			return c.Detail(vars[0], vars[1])
		}},
		{uri: schemaURIs[catalog.SchemaProcessors] + "/{stage}/{type}", name: "processor-schema", about: "What a step takes and does, with examples.", read: func(_ context.Context, vars []string) (any, error) {
			return c.Processor(vars[0], vars[1])
		}},
		{uri: schemaURIs[catalog.SchemaFileKinds] + "/{kind}", name: "file-kind-schema", about: "What a kind of file is made from, with its settings, defaults, examples and presets.", read: func(_ context.Context, vars []string) (any, error) {
			return c.FileKind(vars[0])
		}},
	}
}

// addResources registers the resources and answers reads of them: the SDK's
// own matching takes an empty name for one, and a broken percent-encoding for
// a resource that does not exist.
func (e *Endpoint) addResources(s *sdk.Server) {
	table := e.resources()
	for _, r := range table {
		read := func(_ context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			return nil, sdk.ResourceNotFoundError(req.Params.URI) // the middleware has answered
		}
		if r.isTemplate() {
			s.AddResourceTemplate(&sdk.ResourceTemplate{URITemplate: r.uri, Name: r.name, Description: r.about, MIMEType: "application/json"}, read)
			continue
		}
		s.AddResource(&sdk.Resource{URI: r.uri, Name: r.name, Description: r.about, MIMEType: "application/json"}, read)
	}
	s.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			read, ok := req.(*sdk.ReadResourceRequest)
			if !ok {
				return next(ctx, method, req)
			}
			for _, r := range table {
				if r.has(read.Params.URI) {
					return e.readResource(ctx, r, read.Params.URI)
				}
			}
			return next(ctx, method, req)
		}
	})
}

func (e *Endpoint) readResource(ctx context.Context, r *resource, uri string) (sdk.Result, error) {
	text, err := e.resourceText(ctx, r, uri)
	if err != nil {
		return nil, e.unread(ctx, uri, err)
	}
	out := &sdk.ReadResourceResult{Cacheable: stored, Contents: []*sdk.ResourceContents{{URI: uri, MIMEType: "application/json", Text: text}}}
	return e.encodeResult(out) // since the SDK completes only the results of its own handlers
}

func (e *Endpoint) resourceText(ctx context.Context, r *resource, uri string) (string, error) {
	vars, err := r.match(uri)
	if err != nil {
		return "", err
	}
	// A URI may be spelled in many ways; what it means is kept once.
	key := r.uri + "\x00" + strings.Join(vars, "\x00")
	if text, ok := e.documents.Load(key); ok {
		return text.(string), nil
	}
	v, err := recovered(func() (any, error) { return r.read(ctx, vars) })
	if err != nil {
		return "", err
	}
	text, err := r.encode(v)
	if err != nil {
		return "", err
	}
	if !r.stored {
		e.documents.Store(key, text)
	}
	return text, nil
}

func (r *resource) encode(v any) (string, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if !r.compact {
		enc.SetIndent("", "  ")
	}
	err := enc.Encode(v)
	return strings.TrimSuffix(b.String(), "\n"), err
}

// match returns the variables of a template in a URI: segments, each decoded
// once, that could be a name.
func (r *resource) match(uri string) ([]string, error) {
	pattern, given := strings.Split(r.uri, "/"), strings.Split(uri, "/")
	if len(pattern) != len(given) {
		return nil, sandrone.Errorf(sandrone.InvalidArgument, "the URI must have a single segment for each variable")
	}
	var vars []string
	for i, segment := range pattern {
		if !strings.HasPrefix(segment, "{") {
			continue
		}
		what := strings.Trim(segment, "{}")
		value, err := url.PathUnescape(given[i])
		if err != nil {
			return nil, sandrone.Errorf(sandrone.InvalidArgument, "%s is not percent-encoded as it must be", what)
		}
		if err := sandrone.CheckName(what, value); err != nil {
			return nil, err
		}
		vars = append(vars, value)
	}
	return vars, nil
}

// unread is a failed read as the protocol tells it.
func (e *Endpoint) unread(ctx context.Context, uri string, err error) error {
	own := e.shown(ctx, err)
	out := &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: own.Message}
	if own.Code != sandrone.InvalidArgument && own.Code != sandrone.NotFound {
		out.Code, out.Message = jsonrpc.CodeInternalError, "the resource cannot be read"
		own.Code = sandrone.InternalError
	}
	out.Data, _ = json.Marshal(map[string]string{"uri": uri, "code": string(own.Code)})
	return out
}

// The indexes, with the addresses of this door.

type formatItem struct {
	catalog.Item
	ResourceURI string `json:"resource_uri"`
}

func (e *Endpoint) formatIndex() any {
	var index struct {
		Items []formatItem `json:"items"`
	}
	for _, i := range e.options.Catalog.Index(nil).Items {
		index.Items = append(index.Items, formatItem{i, formatURI(i.Direction, i.Format)})
	}
	return index
}

type schemaItem struct {
	catalog.SchemaItem
	ResourceURI string `json:"resource_uri"`
}

func (e *Endpoint) schemaIndex() any {
	var index struct {
		Schemas []schemaItem `json:"schemas"`
	}
	for _, i := range e.options.Catalog.Schemas(func(string) string { return "" }).Schemas {
		index.Schemas = append(index.Schemas, schemaItem{i, schemaURIs[i.Name]})
	}
	return index
}

type processorItem struct {
	catalog.ProcessorItem
	ResourceURI string `json:"resource_uri"`
}

func (e *Endpoint) processorIndex() any {
	index := struct {
		Processors []processorItem `json:"processors"`
	}{[]processorItem{}}
	for _, i := range e.processors() {
		index.Processors = append(index.Processors, processorItem{i, processorURI(i.Stage, i.Type)})
	}
	return index
}

func (e *Endpoint) processors() []catalog.ProcessorItem {
	return e.options.Catalog.Processors(func(string, string) string { return "" }).Processors
}

type fileKindItem struct {
	catalog.FileKindItem
	ResourceURI string `json:"resource_uri"`
}

func (e *Endpoint) fileKindIndex() any {
	var index struct {
		FileKinds []fileKindItem `json:"file_kinds"`
	}
	for _, i := range e.options.Catalog.FileKinds(func(string) string { return "" }).FileKinds {
		index.FileKinds = append(index.FileKinds, fileKindItem{i, fileKindURI(i.Kind)})
	}
	return index
}
