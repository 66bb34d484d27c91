package server

import (
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/catalog"
	"github.com/sandrone-gateway/sandrone/engine"
)

// operation is what the OpenAPI document says of a route. A route without
// about is not in the document: it is no part of the API, or not built yet.
type operation struct {
	about   string
	query   []parameter
	body    any             // a value or the type of what the body decodes into, or a mediaType; nil for none
	mayOmit bool            // the body may be left out
	status  int             // of success; 0 means 200
	answer  any             // a value or the type of the answer, or a mediaType; nil for none
	tagged  bool            // the answer has an ETag, and a read may be answered by 304
	errors  []sandrone.Code // besides those that every route like it has
	example string          // JSON: of the body if there is one, else of the answer; a text is a string
}

// mediaType stands for a body that is not JSON of a type of ours.
type mediaType string

const anyMedia mediaType = "*/*"

// parameter is one parameter of a query.
type parameter struct {
	name, about string
	required    bool
}

// argParameter stands for every arg.<key>.
var argParameter = parameter{name: "arg.{key}", about: "a request arg for the steps; the last value of a key counts"}

// producing are the errors of whatever makes nodes or a file.
var producing = []sandrone.Code{
	sandrone.NotFound, sandrone.Conflict, sandrone.FetchForbidden, sandrone.FetchFailed, sandrone.FetchTimeout,
	sandrone.ParseFailed, sandrone.NodeValidationFailed, sandrone.RenderFailed,
	sandrone.ProcessorUnknown, sandrone.ProcessorConfigInvalid, sandrone.NodeProcessorFailed, sandrone.FileProcessorFailed,
	sandrone.ScriptTimeout, sandrone.ScriptRuntime,
	sandrone.ProbeInvalidTarget, sandrone.ProbeCoreUnavailable, sandrone.ProbeBackendUnavailable, sandrone.ProbeCoreStartFailed,
	sandrone.NotImplemented,
}

// writing are the errors of a write under preconditions.
var writing = []sandrone.Code{sandrone.PreconditionFailed, sandrone.Conflict}

// components are the types that have a schema of their own in the document.
var components = map[string]reflect.Type{
	"ConvertRequest":  reflect.TypeFor[engine.ConvertRequest](),
	"DiagnoseRequest": reflect.TypeFor[engine.DiagnoseRequest](),
	"Diagnosis":       reflect.TypeFor[engine.Diagnosis](),
	"Error":           reflect.TypeFor[sandrone.Error](),
	"Failure":         reflect.TypeFor[failure](),
	"FileStep":        reflect.TypeOf(engine.StepError{}.FileSteps).Elem(),
	"FileSpec":        reflect.TypeFor[sandrone.FileSpec](),
	"Node":            reflect.TypeFor[sandrone.Node](),
	"Preview":         reflect.TypeFor[engine.Preview](),
	"ProbeResult":     reflect.TypeFor[sandrone.ProbeResult](),
	"ProcessorSpec":   reflect.TypeFor[sandrone.ProcessorSpec](),
	"Report":          reflect.TypeFor[sandrone.Report](),
	"Revision":        reflect.TypeFor[sandrone.Revision](),
	"Settings":        reflect.TypeFor[sandrone.Settings](),
	"Share":           reflect.TypeFor[engine.ShareView](),
	"StepTrace":       reflect.TypeOf(engine.StepError{}.Steps).Elem(),
	"Subscription":    reflect.TypeFor[sandrone.Subscription](),
	"Token":           reflect.TypeFor[sandrone.Token](),
	"Warning":         reflect.TypeFor[sandrone.Warning](),
}

func componentRef(name string) *jsonschema.Schema {
	return &jsonschema.Schema{Ref: "#/components/schemas/" + name}
}

// document is the OpenAPI document in the making.
type openAPI struct {
	forms   map[reflect.Type]*jsonschema.Schema
	schemas map[string]*jsonschema.Schema
	err     error // the first one
}

func newOpenAPI() *openAPI {
	d := &openAPI{forms: make(map[reflect.Type]*jsonschema.Schema), schemas: make(map[string]*jsonschema.Schema)}
	for name, t := range components {
		d.forms[t] = componentRef(name)
	}
	storedOr := func(name string) *jsonschema.Schema {
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "string"}, componentRef(name)}}
	}
	d.forms[reflect.TypeFor[engine.StoredOr[sandrone.Subscription]]()] = storedOr("Subscription")
	d.forms[reflect.TypeFor[engine.StoredOr[sandrone.FileSpec]]()] = storedOr("FileSpec")
	for name, t := range components {
		d.schemas[name] = d.schema(t)
	}
	// A share that is read alone lacks what follows from its definition, and
	// one that was just made what was seen of it.
	d.schemas["Share"].Required = []string{"id"}
	d.schemas["Failure"].Properties["steps"] = &jsonschema.Schema{Type: "array", Items: &jsonschema.Schema{AnyOf: []*jsonschema.Schema{componentRef("StepTrace"), componentRef("FileStep")}}}
	d.schemas["Node"].Required = nil
	body := d.schema(reflect.TypeFor[shareBody]())
	body.Required = []string{"target_kind", "target_name"}
	d.forms[reflect.TypeFor[shareBody]()] = body
	d.schemas["Subscription"].Properties["inputs"].Items.Required = []string{"type"}
	for _, name := range []string{"Subscription", "FileSpec"} {
		for _, at := range []string{"created_at", "updated_at"} {
			d.schemas[name].Properties[at].ReadOnly = true
		}
	}
	// What a write leaves out of a group takes its default.
	for _, group := range d.schemas["Settings"].Properties {
		group.Required = nil
	}
	return d
}

func (d *openAPI) schema(t reflect.Type) *jsonschema.Schema {
	schema, err := catalog.TypeSchema(t, d.forms)
	if err != nil && d.err == nil {
		d.err = err
	}
	return schema
}

// content describes a body: JSON of a type, or another media type.
func (d *openAPI) content(v any, example string) map[string]any {
	media, of := jsonType, map[string]any{}
	if other, ok := v.(mediaType); ok {
		media, of["schema"] = string(other), map[string]any{}
	} else {
		of["schema"] = d.schemaOf(v)
	}
	if example != "" {
		of["example"] = json.RawMessage(example)
	}
	return map[string]any{media: of}
}

// schemaOf is the schema of a value or of a type.
func (d *openAPI) schemaOf(v any) *jsonschema.Schema {
	t, ok := v.(reflect.Type)
	if !ok {
		t = reflect.TypeOf(v)
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if schema := d.forms[t]; schema != nil {
		return schema
	}
	return d.schema(t)
}

func (d *openAPI) operation(r route) map[string]any {
	op := map[string]any{
		"operationId":      operationID(r),
		"summary":          r.about,
		"tags":             []string{routeTag(r.pattern)},
		"x-sandrone-scope": r.scope.String(),
	}
	codes := slices.Clone(r.errors)
	var parameters []any
	for _, name := range pathParameters(r.pattern) {
		parameters = append(parameters, map[string]any{"name": name, "in": "path", "required": true, "schema": map[string]any{"type": "string"}})
		codes = append(codes, sandrone.InvalidArgument)
	}
	for _, p := range r.query {
		parameters = append(parameters, map[string]any{"name": p.name, "in": "query", "required": p.required, "description": p.about, "schema": map[string]any{"type": "string"}})
		codes = append(codes, sandrone.InvalidArgument)
	}
	if parameters != nil {
		op["parameters"] = parameters
	}
	if r.body != nil {
		op["requestBody"] = map[string]any{"required": !r.mayOmit, "content": d.content(r.body, r.example)}
		codes = append(codes, sandrone.InvalidArgument, sandrone.RequestTooLarge)
	}
	if r.scope == public {
		op["security"] = []any{}
	} else {
		codes = append(codes, sandrone.Unauthorized, sandrone.Forbidden)
	}
	codes = append(codes, sandrone.InternalError, sandrone.Busy)
	op["responses"] = d.responses(r, codes)
	return op
}

func (d *openAPI) responses(r route, codes []sandrone.Code) map[string]any {
	status := r.status
	if status == 0 {
		status = http.StatusOK
	}
	success := map[string]any{"description": http.StatusText(status)}
	if r.answer != nil {
		example := r.example
		if r.body != nil {
			example = ""
		}
		success["content"] = d.content(r.answer, example)
	}
	all := map[string]any{strconv.Itoa(status): success}
	if r.tagged {
		success["headers"] = map[string]any{"ETag": map[string]any{"schema": map[string]any{"type": "string"}}}
		if r.method == http.MethodGet {
			all["304"] = map[string]any{"description": "the reader has it"}
		}
	}
	byStatus := make(map[string][]string)
	for _, code := range codes {
		key := strconv.Itoa(code.Status())
		byStatus[key] = append(byStatus[key], string(code))
	}
	for key, names := range byStatus {
		slices.Sort(names)
		all[key] = map[string]any{
			"description": strings.Join(slices.Compact(names), ", "),
			"content":     map[string]any{jsonType: map[string]any{"schema": componentRef("Failure")}},
		}
	}
	return all
}

// makeOpenAPI makes the document of the routes that have something to say.
func makeOpenAPI(routes []route) ([]byte, error) {
	d := newOpenAPI()
	paths := make(map[string]map[string]any)
	for _, r := range routes {
		if r.about == "" {
			continue
		}
		if paths[r.pattern] == nil {
			paths[r.pattern] = make(map[string]any)
		}
		paths[r.pattern][strings.ToLower(r.method)] = d.operation(r)
	}
	if d.err != nil {
		return nil, d.err
	}
	return encode(map[string]any{
		"openapi": "3.1.0",
		"info": map[string]any{
			"title":       "Sandrone",
			"version":     sandrone.ThisBuild().Version,
			"description": "The HTTP API of the gateway. HEAD works wherever GET does. The scope that a route needs is in x-sandrone-scope; each scope includes those before it: public, read, write, owner.",
		},
		"security": []any{map[string]any{"bearer": []string{}}},
		"paths":    paths,
		"components": map[string]any{
			"schemas":         d.schemas,
			"securitySchemes": map[string]any{"bearer": map[string]any{"type": "http", "scheme": "bearer"}},
		},
	})
}

// getOpenAPI answers with the description of this API.
func (s *Server) getOpenAPI(w http.ResponseWriter, r *http.Request) error {
	body, ok := s.documents.Load(openAPIPath)
	if !ok {
		made, err := makeOpenAPI(s.routes())
		if err != nil {
			return err
		}
		body, _ = s.documents.LoadOrStore(openAPIPath, made)
	}
	sendHashed(w, r, body.([]byte))
	return nil
}

const openAPIPath = "/v1/openapi.json"

// pathParameters are the names in braces of a pattern.
func pathParameters(pattern string) []string {
	var names []string
	for segment := range strings.SplitSeq(pattern, "/") {
		if name, ok := strings.CutPrefix(segment, "{"); ok {
			names = append(names, strings.TrimSuffix(name, "}"))
		}
	}
	return names
}

// operationID is a name made of the method and the words of the path.
func operationID(r route) string {
	var b strings.Builder
	b.WriteString(strings.ToLower(r.method))
	for word := range strings.FieldsFuncSeq(r.pattern, func(c rune) bool { return strings.ContainsRune("/{}-._", c) }) {
		if word != "v1" {
			b.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return b.String()
}

// routeTag is the first word of a path, which groups the operations.
func routeTag(pattern string) string {
	rest := strings.TrimPrefix(strings.TrimPrefix(pattern, "/v1"), "/")
	tag, _, _ := strings.Cut(rest, "/")
	if name, _, ok := strings.Cut(tag, "."); ok {
		tag = name
	}
	return tag
}
