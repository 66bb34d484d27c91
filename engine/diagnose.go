package engine

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert"
)

// DiagnoseRequest asks what becomes of an input: exactly one of Content,
// Remote, Subscription and File. The JSON form is that of the API.
type DiagnoseRequest struct {
	Content *string `json:"content,omitempty"`
	Kind    string  `json:"kind,omitempty"` // of Content: "auto" (default), "nodes", "subscription", "file"

	Remote *sandrone.RemoteInput `json:"remote,omitempty"`

	Format     string                   `json:"format,omitempty"`     // of nodes
	Processors []sandrone.ProcessorSpec `json:"processors,omitempty"` // on nodes

	Subscription *StoredOr[sandrone.Subscription] `json:"subscription,omitempty"`
	File         *StoredOr[sandrone.FileSpec]     `json:"file,omitempty"`
	Args         map[string]string                `json:"args,omitempty"`
}

// StoredOr is a stored definition by its name, or a draft of one. In JSON it
// is a string or an object.
type StoredOr[T any] struct {
	Name  string
	Draft *T // nil: the stored one
}

// UnmarshalJSONFrom reads a string or, under the options of dec, an object.
func (s *StoredOr[T]) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() == '"' {
		s.Draft = nil
		return json.UnmarshalDecode(dec, &s.Name)
	}
	s.Name, s.Draft = "", new(T)
	return json.UnmarshalDecode(dec, s.Draft)
}

// Diagnosis is what became of an input, stage by stage.
type Diagnosis struct {
	Status       string                 `json:"status"` // ok, partial, failed
	Input        DiagnosedInput         `json:"input"`
	Stages       []DiagnosedStage       `json:"stages"`
	Nodes        []sandrone.Node        `json:"nodes,omitempty"`
	File         *DiagnosedFile         `json:"file,omitempty"`
	Counts       sandrone.IssueCounts   `json:"counts"`
	Issues       []sandrone.Issue       `json:"issues,omitempty"`
	Warnings     []sandrone.Warning     `json:"warnings,omitempty"`
	Dependencies []sandrone.ResourceRef `json:"dependencies,omitempty"`
	SourceRefs   []sandrone.SourceRef   `json:"source_refs,omitempty"`
	Report       sandrone.Report        `json:"report"`
	Error        *sandrone.Error        `json:"error,omitempty"`
}

// DiagnosedInput says what was looked at.
type DiagnosedInput struct {
	Kind   string `json:"kind"` // "auto" if it could not be told
	Name   string `json:"name,omitempty"`
	Format string `json:"format,omitempty"`
	Remote bool   `json:"remote,omitempty"`
}

// DiagnosedStage is one stage of the way.
type DiagnosedStage struct {
	Index       int                    `json:"index"` // one-based
	Scope       string                 `json:"scope"` // "input", "subscription:<name>", "file:<name>"
	Kind        string                 `json:"kind"`  // parse, materialize, compile, processor
	Type        string                 `json:"type,omitempty"`
	Name        string                 `json:"name,omitempty"`
	Stage       string                 `json:"stage,omitempty"` // of a processor: nodes or file
	InputCount  int                    `json:"input_count"`
	OutputCount int                    `json:"output_count"`
	Warnings    []sandrone.Warning     `json:"warnings,omitempty"`
	Probes      []sandrone.ProbeAnswer `json:"probes,omitempty"`
	Error       *sandrone.Error        `json:"error,omitempty"`
}

// DiagnosedFile is the file at the end of the way.
type DiagnosedFile struct {
	Name        string `json:"name"`
	Kind        string `json:"kind"`
	ContentType string `json:"content_type"`
	Content     []byte `json:"content"` // base64
}

// Diagnose runs the declared way of an input and tells what happened at each
// stage. It reads no cache of results, stores nothing and adds no probe. What
// fails on the way is in the Diagnosis; errors are those of a request that
// makes no sense, of an unknown stored name, and input_kind_ambiguous and
// input_kind_unrecognized.
func (e *Engine) Diagnose(ctx context.Context, req DiagnoseRequest) (*Diagnosis, error) {
	if err := e.checkDiagnose(&req); err != nil {
		return nil, err
	}
	d := &diagnosis{Diagnosis: Diagnosis{Stages: []DiagnosedStage{}}}
	way, err := e.way(ctx, &req, d)
	if err != nil {
		return nil, err
	}
	p, err := way(ctx)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return d.finish(e, p, err), nil
}

// way says what is to be run for a request, and in d what it is for.
func (e *Engine) way(ctx context.Context, req *DiagnoseRequest, d *diagnosis) (func(context.Context) (*product, error), error) {
	var err error
	switch {
	case req.Content != nil:
		return e.contentWay(req, d)
	case req.Remote != nil:
		d.Input = DiagnosedInput{Kind: inputNodes, Format: req.Format, Remote: true}
		remote := &sandrone.Subscription{Name: inputScope, Type: sandrone.SubscriptionRemote, Format: req.Format, Remote: req.Remote, Processors: req.Processors}
		if err := remote.Normalise(); err != nil {
			return nil, err
		}
		return d.nodesWay(e, remote), nil
	case req.Subscription != nil:
		s, field := req.Subscription.Draft, "subscription.processors"
		if s == nil {
			field = ""
			if s, err = e.subscription(ctx, req.Subscription.Name); err != nil {
				return nil, err
			}
		} else if s, err = draftSubscription(*s); err != nil {
			return nil, below(err, "subscription")
		}
		return d.subscriptionWay(e, s, req.Args, field), nil
	default:
		file := FileRequest{Name: req.File.Name, Draft: req.File.Draft}
		spec, err := e.fileSpec(ctx, &file)
		if err != nil {
			return nil, err
		}
		return d.fileWay(e, spec, req.Args, file.Draft != nil), nil
	}
}

// The kinds of what is diagnosed.
const (
	inputAuto         = "auto"
	inputNodes        = "nodes"
	inputSubscription = sandrone.KindSubscription
	inputFile         = sandrone.KindFile
)

// inputScope is the scope of the stages of an input that is no resource.
const inputScope = "input"

func (e *Engine) checkDiagnose(req *DiagnoseRequest) error {
	inputs := 0
	for _, given := range []bool{req.Content != nil, req.Remote != nil, req.Subscription != nil, req.File != nil} {
		if given {
			inputs++
		}
	}
	if inputs != 1 {
		return sandrone.Errorf(sandrone.InvalidArgument, "exactly one of content, remote, subscription and file is required")
	}
	req.Kind = word(req.Kind)
	if req.Content == nil && req.Kind != "" {
		return sandrone.Errorf(sandrone.InvalidArgument, "kind is of content only").At("kind")
	}
	req.Kind = cmp.Or(req.Kind, inputAuto)
	if !slices.Contains([]string{inputAuto, inputNodes, inputSubscription, inputFile}, req.Kind) {
		return sandrone.Errorf(sandrone.InvalidArgument, "kind must be one of auto, nodes, subscription, file").At("kind")
	}
	nodes := req.Remote != nil || req.Content != nil && (req.Kind == inputAuto || req.Kind == inputNodes)
	if !nodes && strings.TrimSpace(req.Format) != "" {
		return sandrone.Errorf(sandrone.InvalidArgument, "format is of nodes only").At("format")
	}
	if !nodes && req.Processors != nil {
		return sandrone.Errorf(sandrone.InvalidArgument, "processors are of nodes only").At("processors")
	}
	if req.Subscription == nil && req.File == nil && req.Args != nil {
		return sandrone.Errorf(sandrone.InvalidArgument, "args are of a subscription or a file only").At("args")
	}
	if req.Format = strings.TrimSpace(req.Format); req.Format != "" {
		if err := e.registry.CheckFormat(req.Format); err != nil {
			return sandrone.AsError(err).At("format")
		}
	}
	return nil
}

// contentWay finds out what a text is.
func (e *Engine) contentWay(req *DiagnoseRequest, d *diagnosis) (func(context.Context) (*product, error), error) {
	text := *req.Content
	if len(text) > convert.MaxText {
		return nil, sandrone.Errorf(sandrone.RequestTooLarge, "the content exceeds %d bytes", convert.MaxText).At("content")
	}
	kind := req.Kind
	if kind == inputAuto && req.Format != "" && !strings.EqualFold(req.Format, convert.Auto) {
		kind = inputNodes // a format says so
	}
	var s *sandrone.Subscription
	var f *sandrone.FileSpec
	var err error
	switch kind {
	case inputSubscription:
		if s, err = readDefinition[sandrone.Subscription](text); err != nil {
			return nil, err
		}
	case inputFile:
		if f, err = readDefinition[sandrone.FileSpec](text); err != nil {
			return nil, err
		}
	case inputAuto:
		if kind, s, f, err = e.detect(text); err != nil {
			return nil, err
		}
		if kind != inputNodes && req.Processors != nil {
			return nil, sandrone.Errorf(sandrone.InvalidArgument, "the content is a %s, which has its own processors", kind).At("processors")
		}
	}
	switch kind {
	case inputSubscription:
		if s, err = draftSubscription(*s); err != nil {
			return nil, err
		}
		return d.subscriptionWay(e, s, nil, ""), nil
	case inputFile:
		spec, err := e.fileSpec(context.Background(), &FileRequest{Draft: f})
		if err != nil {
			return nil, err
		}
		return d.fileWay(e, spec, nil, true), nil
	}
	d.Input = DiagnosedInput{Kind: inputNodes, Format: req.Format}
	d.oneLine = !strings.Contains(strings.TrimSpace(text), "\n")
	local := &sandrone.Subscription{Name: inputScope, Type: sandrone.SubscriptionLocal, Format: req.Format, Content: text, Processors: req.Processors}
	return d.nodesWay(e, local), nil
}

// detect tells the kind of a text. A definition must have the members that
// make it one, and be well formed.
func (e *Engine) detect(text string) (kind string, s *sandrone.Subscription, f *sandrone.FileSpec, err error) {
	var kinds []string
	if v, err := readDefinition[sandrone.FileSpec](text); err == nil && isFileKind(v.BaseKind()) {
		f, kinds = v, append(kinds, inputFile)
	}
	if v, err := readDefinition[sandrone.Subscription](text); err == nil && v.Name != "" && hasPayload(v) {
		s, kinds = v, append(kinds, inputSubscription)
	}
	switch _, err := e.registry.Parse(convert.Auto, text); {
	case err == nil:
		kinds = append(kinds, inputNodes)
	case len(kinds) == 0 && sandrone.AsError(err).Code == sandrone.ParseFailed && looksLikeLinks(text):
		kinds = append(kinds, inputNodes) // whose fault is worth telling
	}
	switch len(kinds) {
	case 0:
		return "", nil, nil, sandrone.Errorf(sandrone.InputKindUnrecognized, "the content is no nodes, no subscription and no file").At("content")
	case 1:
		return kinds[0], s, f, nil
	}
	return "", nil, nil, sandrone.Errorf(sandrone.InputKindAmbiguous, "the content could be of kind %s: state the kind", strings.Join(kinds, " or ")).At("content")
}

func isFileKind(kind string) bool {
	return slices.Contains([]string{sandrone.FileStatic, sandrone.FileMihomo, sandrone.FileSingBox, sandrone.FileShadowrocket}, kind)
}

// hasPayload reports whether a subscription has what its type needs.
func hasPayload(s *sandrone.Subscription) bool {
	switch word(s.Type) {
	case sandrone.SubscriptionRemote:
		return s.Remote != nil && s.Remote.URL != ""
	case sandrone.SubscriptionLocal:
		return s.Content != ""
	case sandrone.SubscriptionCollection:
		return len(s.Inputs) > 0 || len(s.Nodes) > 0
	}
	return false
}

// looksLikeLinks reports whether a text that has no usable node is at least
// no document of another sort.
func looksLikeLinks(text string) bool {
	text = strings.TrimSpace(text)
	return strings.Contains(text, "://") && !strings.ContainsAny(text[:1], "{[<")
}

// readDefinition reads the JSON text of one definition, in its closed form.
func readDefinition[T any](text string) (*T, error) {
	v := new(T)
	if err := json.Unmarshal([]byte(text), v, json.RejectUnknownMembers(true)); err != nil {
		e := sandrone.Errorf(sandrone.InvalidArgument, "the content is not the definition that its kind says").At("content")
		if semantic, ok := errors.AsType[*json.SemanticError](err); ok && semantic.JSONPointer != "" {
			e.Path = string(semantic.JSONPointer)
		}
		return nil, e
	}
	return v, nil
}

func draftSubscription(s sandrone.Subscription) (*sandrone.Subscription, error) {
	s.Name = cmp.Or(s.Name, draftName)
	return &s, s.Normalise()
}

// diagnosis is a Diagnosis in the making.
type diagnosis struct {
	Diagnosis
	oneLine bool // the content is

	mu sync.Mutex
}

// request is a walk whose parts are noted.
func (d *diagnosis) request(e *Engine, meta map[string]string) *request {
	r := e.request(false, meta)
	r.watch = func(s DiagnosedStage) {
		d.mu.Lock()
		defer d.mu.Unlock()
		s.Index = len(d.Stages) + 1
		d.Stages = append(d.Stages, s)
	}
	r.check = func(input int, issues []sandrone.Issue) {
		d.mu.Lock()
		defer d.mu.Unlock()
		invalid := make(map[int]bool)
		for _, issue := range issues {
			if issue.NodeIndex != nil {
				invalid[*issue.NodeIndex] = true
			}
			if issue.Severity == sandrone.SeverityError {
				d.Counts.Error++
			} else {
				d.Counts.Warning++
			}
		}
		d.Counts.Input += input
		d.Counts.Invalid += len(invalid)
		d.Counts.Valid += input - len(invalid)
		d.Issues = append(d.Issues, issues...)
	}
	return r
}

func (d *diagnosis) subscriptionWay(e *Engine, s *sandrone.Subscription, args map[string]string, field string) func(context.Context) (*product, error) {
	d.Input = DiagnosedInput{Kind: inputSubscription, Name: s.Name, Format: s.Format}
	r := d.request(e, s.Meta)
	return func(ctx context.Context) (*product, error) {
		return r.asked(ctx, s, how{Args: args}, chainOptions{field: field})
	}
}

func (d *diagnosis) fileWay(e *Engine, spec *sandrone.FileSpec, args map[string]string, draft bool) func(context.Context) (*product, error) {
	d.Input = DiagnosedInput{Kind: inputFile, Name: spec.Name}
	r := d.request(e, spec.Meta)
	return func(ctx context.Context) (*product, error) {
		return r.get(ctx, nil, sandrone.KindFile, spec.Name, how{Args: args}, func(ctx context.Context, f *frame) (*product, error) {
			p, err := r.compile(ctx, f, spec, production{how: how{Args: args}, draft: draft})
			if err != nil && !isContext(err) && !slices.ContainsFunc(d.Stages, func(s DiagnosedStage) bool { return s.Error != nil }) {
				r.tell(DiagnosedStage{Scope: "file:" + spec.Name, Kind: "compile", Error: sandrone.AsError(err)})
			}
			return p, err
		})
	}
}

// nodesWay reads the source of s, which is no resource, and runs its steps.
func (d *diagnosis) nodesWay(e *Engine, s *sandrone.Subscription) func(context.Context) (*product, error) {
	r := d.request(e, nil)
	return func(ctx context.Context) (*product, error) {
		p := &product{label: inputScope}
		var err error
		if s.Remote != nil {
			_, err = r.remote(ctx, *s.Remote, s.Format, p)
		} else {
			err = r.local(s.Format, s.Content, p)
		}
		if err != nil {
			if !isContext(err) {
				r.tell(DiagnosedStage{Scope: inputScope, Kind: "parse", Type: s.Format, Error: sandrone.AsError(err)})
			}
			return nil, err
		}
		return p, r.chain(ctx, nil, p, chain{specs: s.Processors, scope: inputScope, input: inputScope})
	}
}

// finish judges what came out.
func (d *diagnosis) finish(e *Engine, p *product, err error) *Diagnosis {
	facts := facts{}
	if p != nil {
		facts = p.facts()
	}
	if err != nil {
		// There is no product that could tell what was noticed until then.
		facts.warnings = nil
		for _, s := range d.Stages {
			facts.warnings = append(facts.warnings, s.Warnings...)
		}
		d.Error = sandrone.AsError(err)
	} else if d.Input.Kind == inputFile {
		d.File = &DiagnosedFile{Name: p.file.Name, Kind: p.file.Kind, ContentType: p.contentType, Content: []byte(p.file.Content)}
	} else if d.Nodes = p.nodes; len(d.Nodes) == 0 {
		d.Error = sandrone.Errorf(sandrone.NodeProcessorFailed, "no node is left at the end")
	}
	if d.Input.Kind == inputNodes {
		d.Input.Format = d.readFormat()
	}
	d.Warnings, d.Dependencies, d.SourceRefs = facts.warnings, facts.deps, facts.refs
	switch {
	case d.Error != nil:
		d.Status = sandrone.StatusFailed
	case facts.partial || len(d.Warnings) > 0 || len(d.Issues) > 0 || slices.ContainsFunc(d.Stages, worrying):
		d.Status = sandrone.StatusPartial
	default:
		d.Status = sandrone.StatusOK
	}
	d.Report = facts.report(e, "diagnose")
	d.Report.Status = d.Status
	return &d.Diagnosis
}

// readFormat is the format that the input was read as, if it was. A list of
// links that is a single one is called a link.
func (d *diagnosis) readFormat() string {
	for _, s := range d.Stages {
		if s.Kind == "parse" && s.Type != "" {
			if d.oneLine && d.Input.Format == "" && s.Type == "uri-list" {
				return "uri"
			}
			return s.Type
		}
	}
	return d.Input.Format
}

// worrying reports whether a stage gives reason to look closer: it failed, it
// lost nodes, or a node that it probed is dead.
func worrying(s DiagnosedStage) bool {
	ofNodes := s.Kind != "compile" && s.Stage != sandrone.FileStage
	if s.Error != nil || ofNodes && s.OutputCount < s.InputCount {
		return true
	}
	for _, probe := range s.Probes {
		if slices.ContainsFunc(probe.Results, func(r sandrone.ProbeResult) bool { return !r.Alive }) {
			return true
		}
	}
	return false
}
