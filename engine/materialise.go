package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert"
	"github.com/sandrone-gateway/sandrone/fetch"
	"github.com/sandrone-gateway/sandrone/processors"
	"github.com/sandrone-gateway/sandrone/store"
)

const (
	maxInputsAtOnce = 4
	maxNesting      = 100 // resources that need each other
	maxFileNesting  = 16  // of them files, whose scripts run inside each other
)

// request is one walk through stored resources: what holds for all of it, and
// what was made on the way, so that nothing is made twice.
type request struct {
	e       *Engine
	live    *live // of the beginning
	refresh bool
	meta    map[string]string // request.meta of every step

	// watch is told of each part of the way when it ends, nil: nobody. Then
	// nothing happens at the same time, so that the parts have an order.
	watch func(DiagnosedStage)

	// check is told of every validation, how many nodes it looked at and what
	// it found; nil as well.
	check func(input int, issues []sandrone.Issue)

	mu   sync.Mutex
	made map[needKey]*need
	logs []ScriptLog // of scripts that are steps of what was asked for
}

func (e *Engine) request(refresh bool, meta map[string]string) *request {
	return &request{e: e, live: e.live.Load(), refresh: refresh, meta: meta, made: make(map[needKey]*need)}
}

func (r *request) tell(s DiagnosedStage) {
	if r.watch != nil {
		r.watch(s)
	}
}

func (r *request) checked(input int, issues []sandrone.Issue) {
	if r.check != nil {
		r.check(input, issues)
	}
}

// product is what a subscription, an input or a file came to.
type product struct {
	label string // the source of warnings that name none

	base  []sandrone.Node // before the own steps
	nodes []sandrone.Node // final; never written to
	trace *chainTrace     // of the own steps, if asked for

	file        processors.File   // final
	contentType string            // of a file's source
	rendered    *convert.Rendered // what became of the nodes of a file, without the text

	fileSteps []processors.FileStep // of the own steps on a file, if asked for

	notes   []note // in the order in which they came up
	profile *SourceProfile
	issues  []sandrone.Issue
}

// note is what came up on the way to a product. The products below it are
// referred to and not copied, since many may share one.
type note struct {
	warnings []sandrone.Warning
	refs     []sandrone.SourceRef
	source   *processors.Source
	dep      *sandrone.ResourceRef
	below    *product
	quiet    bool // of below, only the dependencies and the state count
	partial  bool // an input was left out
	stale    int64
	isStale  bool
}

func (p *product) note(n note) { p.notes = append(p.notes, n) }

func (p *product) warn(warnings []sandrone.Warning) {
	if len(warnings) > 0 {
		p.note(note{warnings: warnings})
	}
}

// facts are the notes of a product and of all below it, each product once.
type facts struct {
	warnings []sandrone.Warning
	deps     []sandrone.ResourceRef
	refs     []sandrone.SourceRef // remote ones first
	sources  []processors.Source
	partial  bool
	stale    int64 // seconds
	isStale  bool
}

func (p *product) facts() facts {
	c := collector{seen: make(map[*product]bool), deps: make(map[sandrone.ResourceRef]bool), refs: make(map[sandrone.SourceRef]bool)}
	c.add(p, false)
	c.remote = append(c.remote, c.facts.refs...)
	c.facts.refs = c.remote
	return c.facts
}

type collector struct {
	facts
	remote []sandrone.SourceRef
	seen   map[*product]bool
	deps   map[sandrone.ResourceRef]bool
	refs   map[sandrone.SourceRef]bool
}

func (c *collector) add(p *product, quiet bool) {
	if c.seen[p] {
		return
	}
	c.seen[p] = true
	for _, n := range p.notes {
		if n.dep != nil && !c.deps[*n.dep] {
			c.deps[*n.dep] = true
			c.facts.deps = append(c.facts.deps, *n.dep)
		}
		if n.below != nil {
			c.add(n.below, quiet || n.quiet)
		}
		c.partial = c.partial || n.partial || n.isStale
		c.isStale = c.isStale || n.isStale
		c.stale = max(c.stale, n.stale)
		if quiet {
			continue
		}
		for _, w := range n.warnings {
			if w.Source == "" {
				w.Source = p.label
			}
			c.warnings = append(c.warnings, w)
		}
		for _, ref := range n.refs {
			if c.refs[ref] {
				continue
			}
			c.refs[ref] = true
			if ref.Kind == "remote" {
				c.remote = append(c.remote, ref)
			} else {
				c.facts.refs = append(c.facts.refs, ref)
			}
		}
		if n.source != nil {
			c.sources = append(c.sources, *n.source)
		}
	}
}

// report is the report of an operation that ends with p.
func (f *facts) report(e *Engine, kind string, self ...sandrone.ResourceRef) sandrone.Report {
	report := sandrone.Report{Kind: kind, Status: sandrone.StatusOK, CreatedAt: e.now().UTC(),
		Dependencies: append(self, f.deps...), SourceRefs: f.refs, Warnings: f.warnings}
	if f.partial {
		report.Status = sandrone.StatusPartial
	}
	report.Refs = report.Dependencies
	return report
}

// frame is a resource in the making, on the way from what was asked for.
type frame struct {
	parent *frame
	kind   string // of the resource
	name   string
	need   *need
}

// inside reports whether a resource of the kind is on the way.
func (f *frame) inside(kind string) bool { return f.depth(kind) > 0 }

func (f *frame) depth(kind string) int {
	n := 0
	for ; f != nil; f = f.parent {
		if kind == "" || f.kind == kind {
			n++
		}
	}
	return n
}

// needKey tells apart what one request makes.
type needKey struct{ kind, name, how string }

// need is a resource that a request makes or has made.
type need struct {
	done    chan struct{}
	product *product
	err     error
	waits   map[*need]int // needs of others that it waits for
}

// reaches reports whether n waits for other, maybe by way of others.
func (n *need) reaches(other *need, seen map[*need]bool) bool {
	if n == other {
		return true
	}
	if seen[n] {
		return false
	}
	seen[n] = true
	for next := range n.waits {
		if next.reaches(other, seen) {
			return true
		}
	}
	return false
}

func cycle(kind, name string) *sandrone.Error {
	err := sandrone.Errorf(sandrone.Conflict, "%s dependency cycle at %q", kind, clip(name, 64))
	err.ResourceKind, err.ResourceName = kind, name
	return err
}

// get makes a resource, unless it was made before or is being made. A resource
// that is on the way to itself is a conflict, at once, also where two on
// different ways wait for each other.
func (r *request) get(ctx context.Context, parent *frame, kind, name string, how any, make func(ctx context.Context, f *frame) (*product, error)) (*product, error) {
	for f := parent; f != nil; f = f.parent {
		if f.kind == kind && f.name == name {
			return nil, cycle(kind, name)
		}
	}
	if parent.depth("") >= maxNesting {
		return nil, sandrone.Errorf(sandrone.InvalidArgument, "resources refer to each other more than %d deep", maxNesting)
	}
	if kind == sandrone.KindFile && parent.depth(kind) >= maxFileNesting {
		return nil, sandrone.Errorf(sandrone.ScriptRuntime, "scripts need files more than %d deep", maxFileNesting)
	}
	variant, err := json.Marshal(how) // maps in order of their keys
	if err != nil {
		return nil, err
	}
	key := needKey{kind, name, string(variant)}
	for {
		r.mu.Lock()
		n, found := r.made[key]
		if !found {
			n = &need{done: newDone(), waits: map[*need]int{}}
			r.made[key] = n
		}
		if found && parent != nil && !n.finished() && n.reaches(parent.need, map[*need]bool{}) {
			r.mu.Unlock()
			return nil, cycle(kind, name)
		}
		if parent != nil {
			parent.need.waits[n]++
		}
		r.mu.Unlock()

		if !found {
			r.run(ctx, n, key, &frame{parent, kind, name, n}, make)
		}
		select {
		case <-n.done:
		case <-ctx.Done():
		}
		if parent != nil {
			r.mu.Lock()
			if parent.need.waits[n]--; parent.need.waits[n] == 0 {
				delete(parent.need.waits, n)
			}
			r.mu.Unlock()
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if n.err != nil && isContext(n.err) {
			continue // the other one's time was over, not ours
		}
		return n.product, n.err
	}
}

func newDone() chan struct{} { return make(chan struct{}) }

func (n *need) finished() bool {
	select {
	case <-n.done:
		return true
	default:
		return false
	}
}

func (r *request) run(ctx context.Context, n *need, key needKey, f *frame, make func(ctx context.Context, f *frame) (*product, error)) {
	finished := false
	defer func() {
		if !finished { // a panic, which goes on; those who wait must not
			n.err = sandrone.AsError(errors.New("panic in " + f.kind))
		}
		r.mu.Lock()
		if n.err != nil && isContext(n.err) {
			delete(r.made, key)
		}
		r.mu.Unlock()
		close(n.done)
	}()
	n.product, n.err = make(ctx, f)
	if n.err != nil && ctx.Err() != nil {
		n.err = ctx.Err()
	}
	finished = true
}

// isContext reports whether err is the end of a context and nothing else. A
// coded error may have one as its cause: a source that took too long.
func isContext(err error) bool { return err == context.Canceled || err == context.DeadlineExceeded }

// subscription loads a stored definition.
func (e *Engine) subscription(ctx context.Context, name string) (*sandrone.Subscription, error) {
	record, err := e.subscriptionRecord(ctx, name, store.Definitions[sandrone.Subscription].Get)
	return record.Definition, err
}

func (e *Engine) subscriptionRecord(ctx context.Context, name string, get func(store.Definitions[sandrone.Subscription], string) (store.Record[sandrone.Subscription], error)) (record store.Record[sandrone.Subscription], err error) {
	if err := sandrone.CheckName("name", name); err != nil {
		return record, err
	}
	if e.store == nil {
		return record, missing(sandrone.KindSubscription, name)
	}
	err = e.store.View(ctx, func(tx *store.Tx) (err error) {
		record, err = get(tx.Subscriptions(), name)
		return err
	})
	return record, err
}

func missing(kind, name string) error {
	err := sandrone.Errorf(sandrone.NotFound, "%s not found", kind)
	err.ResourceKind, err.ResourceName = kind, name
	return err
}

// ofSubscription says which subscription an error is about, if nothing nearer
// is said.
func ofSubscription(err error, name string) error { return about(err, sandrone.KindSubscription, name) }

func about(err error, kind, name string) error {
	var step *StepError
	if isContext(err) || errors.As(err, &step) && step.Err.ResourceName != "" {
		return err
	}
	own := *sandrone.AsError(err)
	if own.ResourceName == "" {
		own.ResourceKind, own.ResourceName = kind, name
	}
	if step != nil {
		return &StepError{&own, step.Steps, step.FileSteps, step.Logs}
	}
	return &own
}

// how is what may differ between two uses of one subscription in a request.
type how struct {
	Args   map[string]string `json:"args,omitempty"`
	Target string            `json:"target,omitempty"`
	Meta   map[string]string `json:"meta,omitempty"` // over the definition's own, for its steps
}

// stored makes a stored subscription.
func (r *request) stored(ctx context.Context, parent *frame, name string, h how) (*product, error) {
	return r.get(ctx, parent, sandrone.KindSubscription, name, h, func(ctx context.Context, f *frame) (*product, error) {
		s, err := r.e.subscription(ctx, name)
		if err != nil {
			return nil, err
		}
		p, err := r.materialise(ctx, f, s, h, chainOptions{})
		if err != nil {
			return nil, ofSubscription(err, name)
		}
		return p, nil
	})
}

// asked makes the subscription that the request is about: s, which may be a
// draft.
func (r *request) asked(ctx context.Context, s *sandrone.Subscription, h how, o chainOptions) (*product, error) {
	return r.get(ctx, nil, sandrone.KindSubscription, s.Name, h, func(ctx context.Context, f *frame) (*product, error) {
		return r.materialise(ctx, f, s, h, o)
	})
}

// chainOptions are the choices of a chain that is shown to somebody.
type chainOptions struct {
	trace bool
	field string // where the list stands; empty is "processors"
	logs  bool   // keep what scripts say
}

// materialise makes the nodes of a definition: its sources, then its steps.
func (r *request) materialise(ctx context.Context, f *frame, s *sandrone.Subscription, h how, o chainOptions) (*product, error) {
	p := &product{label: s.Name}
	scope := "subscription:" + s.Name
	var err error
	switch s.Type {
	case sandrone.SubscriptionRemote:
		if s.Remote == nil {
			return nil, sandrone.Errorf(sandrone.InvalidArgument, "remote url is required").At("remote.url")
		}
		epoch := r.e.usageEpoch(ctx, r.live, s.Name)
		var in *reading
		if in, err = r.remote(ctx, *s.Remote, s.Format, p); err == nil {
			r.noteUsage(ctx, s, epoch, in)
		} else {
			err = under(err, "remote")
		}
	case sandrone.SubscriptionLocal:
		err = r.local(s.Format, s.Content, p)
	case sandrone.SubscriptionCollection:
		err = r.collection(ctx, f, s, h, p)
	default:
		err = sandrone.Errorf(sandrone.InvalidArgument, "type must be one of remote, local, collection").At("type")
	}
	if err != nil {
		if !isContext(err) {
			r.tell(DiagnosedStage{Scope: scope, Kind: "materialize", Error: sandrone.AsError(err)})
		}
		return nil, err
	}
	p.base = p.nodes
	if r.watch != nil {
		stage := DiagnosedStage{Scope: scope, Kind: "materialize", InputCount: len(p.base), OutputCount: len(p.base)}
		if len(s.Inputs) > 0 { // else they are those of the parse stage
			stage.Warnings = p.ownWarnings()
		}
		r.tell(stage)
	}
	meta := overlay(s.Meta, h.Meta)
	return p, r.chain(ctx, f, p, chain{specs: s.Processors, scope: scope, input: s.Name, meta: meta, how: h, chainOptions: o})
}

func (p *product) ownWarnings() []sandrone.Warning {
	var all []sandrone.Warning
	for _, n := range p.notes {
		all = append(all, n.warnings...)
	}
	return all
}

func overlay(below, above map[string]string) map[string]string {
	if len(above) == 0 {
		return below
	}
	all := maps.Clone(below)
	if all == nil {
		all = make(map[string]string, len(above))
	}
	maps.Copy(all, above)
	return all
}

// remote reads the nodes of an address.
func (r *request) remote(ctx context.Context, remote sandrone.RemoteInput, format string, p *product) (*reading, error) {
	in, err := r.e.readSource(ctx, r.live, remote, format, r.refresh)
	if err != nil {
		return nil, err
	}
	r.read(in, p, remote.URL)
	return in, nil
}

// read puts a reading into a product. address is that of a remote one.
func (r *request) read(in *reading, p *product, address string) {
	p.nodes = in.nodes
	p.issues = in.issues
	source := &processors.Source{Format: in.format, Warnings: in.warnings}
	n := note{source: source}
	var usageWarnings []sandrone.Warning
	if t := in.from; t != nil {
		n.refs = []sandrone.SourceRef{t.ref()}
		if t.cause != nil {
			n.isStale, n.stale = true, t.age
			n.warnings = t.staleWarning(p.label)
		}
		u := usageOf(t, p.label, address)
		usageWarnings = u.Warnings
		p.profile = profileOf(t, u)
	}
	n.refs = append(n.refs, in.refs...)
	source.SourceRefs = n.refs
	n.warnings = slices.Concat(n.warnings, in.warnings, usageWarnings, in.dropped)
	p.note(n)
	r.checked(len(in.nodes)+len(in.dropped), in.issues)
	r.tell(DiagnosedStage{Scope: "input", Kind: "parse", Type: in.format,
		InputCount: len(in.nodes) + len(in.dropped), OutputCount: len(in.nodes), Warnings: n.warnings})
}

// noteUsage keeps what the answer for nodes says of the plan, so that asking
// for it needs no second request. All who shared the answer keep it once.
func (r *request) noteUsage(ctx context.Context, s *sandrone.Subscription, epoch uint64, in *reading) {
	if in.from == nil || !in.from.asked {
		return
	}
	if _, done := in.fed.LoadOrStore(s.Name, true); !done {
		r.e.holdUsage(ctx, r.live, s.Name, epoch, usageOf(in.from, s.Name, s.Remote.URL))
	}
}

// local reads nodes of a text that is part of a definition.
func (r *request) local(format, text string, p *product) error {
	in, err := r.e.parse(format, text)
	if err != nil {
		return err
	}
	r.read(in, p, "")
	return nil
}

// inline takes nodes that are part of a definition.
func (r *request) inline(nodes []sandrone.Node, p *product) error {
	nodes = slices.Clone(nodes)
	ownObjects(nodes)
	in := &reading{format: "json-nodes", warnings: convert.Normalise(nodes)}
	var err error
	if in.nodes, in.issues, in.dropped, err = convert.Validate(nodes, sandrone.StageNormalized); err != nil {
		return err
	}
	r.read(in, p, "")
	return nil
}

// collection joins the nodes of the inputs, in their order.
func (r *request) collection(ctx context.Context, f *frame, s *sandrone.Subscription, h how, p *product) error {
	if len(s.Inputs) == 0 {
		if len(s.Nodes) == 0 {
			return sandrone.Errorf(sandrone.InvalidArgument, "collection subscription requires at least one input").At("inputs")
		}
		return r.inline(s.Nodes, p)
	}
	type outcome struct {
		product *product
		err     error
		panic   *PanicError
	}
	outcomes := make([]outcome, len(s.Inputs))
	atOnce := maxInputsAtOnce
	if r.watch != nil {
		atOnce = 1
	}
	slots := make(chan struct{}, atOnce)
	var wg sync.WaitGroup
	for i := range s.Inputs {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() {
				if v := recover(); v != nil {
					outcomes[i].panic = Recovered(v)
				}
				<-slots
			}()
			if ctx.Err() == nil {
				outcomes[i].product, outcomes[i].err = r.input(ctx, f, &s.Inputs[i], "inputs["+strconv.Itoa(i)+"]", h)
			}
		})
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}

	var first error
	failed, total := 0, 0
	for i := range outcomes {
		o, in := &outcomes[i], &s.Inputs[i]
		if o.panic != nil {
			panic(o.panic)
		}
		if o.err == nil {
			total += len(o.product.nodes)
			n := note{below: o.product}
			if name := subscriptionOf(in); name != "" {
				n.dep = &sandrone.ResourceRef{Kind: sandrone.KindSubscription, Name: name}
			}
			p.note(n)
			continue
		}
		failure := *sandrone.AsError(o.err)
		failure.Part, failure.Source = in.Name, reference(in)
		if in.Required || failure.Code == sandrone.Conflict {
			return &failure
		}
		failed++
		if first == nil {
			first = &failure
		}
		p.note(note{partial: true, warnings: []sandrone.Warning{leftOut(in, &failure)}})
	}
	if failed == len(outcomes) {
		err := *sandrone.AsError(first)
		if failed > 1 {
			err.Message += " (all " + strconv.Itoa(failed) + " inputs failed)"
		}
		return &err
	}
	if total > convert.MaxNodes {
		return sandrone.Errorf(sandrone.ParseFailed, "the inputs together hold more than %d nodes", convert.MaxNodes).At("inputs")
	}
	p.nodes = make([]sandrone.Node, 0, total)
	for i := range outcomes {
		if outcomes[i].err == nil {
			p.nodes = append(p.nodes, outcomes[i].product.nodes...)
		}
	}
	return nil
}

// leftOut is the warning for an input that failed and may.
func leftOut(in *sandrone.NodeInput, err *sandrone.Error) sandrone.Warning {
	w := sandrone.Warning{Code: string(err.Code), Message: clip(err.Message, 200), Field: in.Name, Source: err.Source}
	switch {
	case !knownInput(in.Type):
		w.Code = "node_input_unsupported"
	case err.Code == sandrone.NotFound:
		w.Code = "node_input_not_found"
	}
	return w
}

func knownInput(kind string) bool {
	switch word(kind) {
	case sandrone.InputInlineNodes, sandrone.InputInline, sandrone.InputRemote, sandrone.InputLocal, sandrone.InputRef, sandrone.InputSubscription:
		return true
	}
	return false
}

// input makes one input of a collection. at is its place in the definition,
// which the fields of its errors begin with.
func (r *request) input(ctx context.Context, f *frame, in *sandrone.NodeInput, at string, h how) (*product, error) {
	if name := subscriptionOf(in); name != "" {
		if err := sandrone.CheckName(referenceField(in), name); err != nil {
			return nil, under(err, at)
		}
		// Fields of its errors are those of the other definition.
		return r.stored(ctx, f, name, how{Args: h.Args, Target: h.Target, Meta: in.Meta})
	}
	p := &product{label: in.Name}
	var err error
	switch word(in.Type) {
	case sandrone.InputInlineNodes:
		err = r.inline(in.Nodes, p)
	case sandrone.InputInline:
		switch {
		case len(in.Nodes) > 0:
			err = r.inline(in.Nodes, p)
		case explicit(in.Format):
			err = r.local(in.Format, in.Content, p)
		default:
			err = sandrone.Errorf(sandrone.InvalidArgument, "an inline input needs a format").At("format")
		}
	case sandrone.InputRemote:
		_, err = r.remote(ctx, in.Remote(), in.Format, p)
	case sandrone.InputLocal:
		err = r.storedText(ctx, in, p)
	case sandrone.InputRef, sandrone.InputSubscription:
		err = sandrone.Errorf(sandrone.InvalidArgument, "the input refers to no subscription").At("ref")
	default:
		err = sandrone.Errorf(sandrone.InvalidArgument, "unknown type of input").At("type")
	}
	if err != nil {
		return nil, under(err, at)
	}
	return p, nil
}

func explicit(format string) bool {
	f := word(format)
	return f != "" && f != convert.Auto
}

// storedText reads nodes of the source of a stored file.
func (r *request) storedText(ctx context.Context, in *sandrone.NodeInput, p *product) error {
	if !explicit(in.Format) {
		return sandrone.Errorf(sandrone.InvalidArgument, "a local input needs a format").At("format")
	}
	name := storedFile(in)
	if err := sandrone.CheckName(referenceField(in), name); err != nil {
		return err
	}
	source, err := r.fileSource(ctx, name)
	if err != nil {
		return err
	}
	p.note(note{dep: &sandrone.ResourceRef{Kind: sandrone.KindFile, Name: name}, below: source})
	return r.local(in.Format, source.file.Content, p)
}

// storedFile is the name of the file that a local input reads.
func storedFile(in *sandrone.NodeInput) string {
	if path := strings.TrimSpace(in.Path); path != "" {
		return strings.TrimPrefix(path, "files/")
	}
	if in.Ref != nil {
		return in.Ref.Name
	}
	return ""
}

// subscriptionOf is the name of the subscription that an input refers to, empty
// if it is of another kind.
func subscriptionOf(in *sandrone.NodeInput) string {
	switch word(in.Type) {
	case sandrone.InputRef:
		if in.Ref != nil && in.Ref.Kind == sandrone.KindSubscription {
			return in.Ref.Name
		}
	case sandrone.InputSubscription:
		switch {
		case in.Ref != nil && in.Ref.Name != "":
			return in.Ref.Name
		case in.Path != "":
			return in.Path
		}
		return in.Name
	}
	return ""
}

// referenceField is the member of an input that names the stored resource it
// reads.
func referenceField(in *sandrone.NodeInput) string {
	switch {
	case word(in.Type) == sandrone.InputLocal && strings.TrimSpace(in.Path) != "":
		return "path"
	case in.Ref != nil && in.Ref.Name != "":
		return "ref.name"
	case in.Path != "":
		return "path"
	}
	return "name"
}

// reference is how a warning names what an input reads, without secrets.
func reference(in *sandrone.NodeInput) string {
	switch word(in.Type) {
	case sandrone.InputRemote:
		return fetch.Display(in.URL)
	case sandrone.InputLocal:
		return storedFile(in)
	case sandrone.InputInline, sandrone.InputInlineNodes:
		return word(in.Type)
	}
	return subscriptionOf(in)
}

// chain is one list of steps on the nodes of a product.
type chain struct {
	specs []sandrone.ProcessorSpec
	scope string
	stage string            // at which the result is validated; empty is StageProcessed
	input string            // context.input_name
	meta  map[string]string // context.meta
	how
	chainOptions
}

// chainTrace is what the steps did, and where the nodes of their result are
// after the validation: an index, or -1 for one that was dropped.
type chainTrace struct {
	*processors.Trace
	index []int
}

// chain runs steps on the nodes of p.
func (r *request) chain(ctx context.Context, f *frame, p *product, c chain) error {
	if r.e.steps == nil {
		if err := checkStepsOf(sandrone.NodesStage, c.specs, cmp.Or(c.field, "processors")); err != nil {
			return err
		}
	}
	if len(c.specs) == 0 || r.e.steps == nil {
		if c.trace {
			p.trace = &chainTrace{Trace: &processors.Trace{Steps: []processors.StepTrace{}}}
		}
		return nil
	}
	before := p.facts()
	s := &services{r: r, frame: f, logs: c.logs, index: -1}
	run := processors.Run{
		Target:   c.Target,
		Context:  processors.Context{InputName: c.input, Dependencies: before.deps, Sources: before.sources, Meta: c.meta},
		Request:  processors.Request{Args: c.Args, Meta: r.meta},
		Field:    c.field,
		Trace:    c.trace || r.watch != nil,
		Dry:      r.live.shut,
		Services: processors.Services{Network: r.live.network, Now: r.e.now},
	}
	if r.live.prober != nil {
		run.Prober = s
	}
	if r.e.scripts != nil {
		run.Scripts = s
	}
	if r.e.store != nil {
		run.Cache = r.e.bytes("resolve")
	}
	steps := func() (processors.Result, error) { return r.e.steps.Nodes(ctx, run, c.specs, p.nodes) }
	var res processors.Result
	var err error
	if waits(c.specs) {
		res, err = wait(ctx, steps)
	} else {
		res, err = steps()
	}
	p.notes = append(p.notes, s.taken()...)
	r.tellSteps(c, res, s)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if c.trace && res.Trace != nil {
			return &StepError{Err: sandrone.AsError(err), Steps: res.Trace.Steps, Logs: r.logged(c.logs)}
		}
		return err
	}
	p.warn(res.Warnings)
	ownObjects(res.Nodes)
	p.warn(convert.Normalise(res.Nodes))
	count := len(res.Nodes)
	kept, issues, dropped, err := convert.Validate(res.Nodes, cmp.Or(c.stage, sandrone.StageProcessed))
	p.warn(dropped)
	r.checked(count, issues)
	p.issues = append(slices.Clip(p.issues), issues...)
	if err != nil {
		return err
	}
	p.nodes = kept
	if c.trace {
		p.trace = &chainTrace{res.Trace, survivors(count, dropped)}
	}
	return nil
}

// waits reports whether there are steps that wait for other processes or hosts.
func waits(specs []sandrone.ProcessorSpec) bool {
	return slices.ContainsFunc(specs, func(s sandrone.ProcessorSpec) bool {
		return !s.Disabled && slices.Contains([]string{"script", "probe", "resolve_domain", "add_nodes"}, s.Type)
	})
}

// survivors maps the places in a batch to those after the validation.
func survivors(count int, dropped []sandrone.Warning) []int {
	index := make([]int, count)
	for _, w := range dropped {
		if w.NodeIndex != nil && *w.NodeIndex < count {
			index[*w.NodeIndex] = -1
		}
	}
	next := 0
	for i := range index {
		if index[i] == 0 {
			index[i] = next
			next++
		}
	}
	return index
}

// tellSteps reports every step that ran to who watches.
func (r *request) tellSteps(c chain, res processors.Result, s *services) {
	if r.watch == nil || res.Trace == nil {
		return
	}
	for _, st := range res.Trace.Steps {
		if st.Disabled || st.Skipped {
			continue
		}
		stage := DiagnosedStage{Scope: c.scope, Kind: "processor", Type: st.Type, Name: st.Name, Stage: sandrone.NodesStage,
			InputCount: st.In, OutputCount: st.Out, Error: st.Error}
		for _, w := range res.Warnings {
			if w.ProcessorIndex != nil && *w.ProcessorIndex == st.Index {
				stage.Warnings = append(stage.Warnings, w)
			}
		}
		stage.Probes = s.probesOf(&st, stage.Warnings)
		r.watch(stage)
	}
}

// objectFields are the members of a node that point to objects.
var objectFields = sync.OnceValue(func() []int { return pointersOf(reflect.TypeFor[sandrone.Node]()) })

func pointersOf(t reflect.Type) []int {
	var fields []int
	for i := range t.NumField() {
		if f := t.Field(i).Type; f.Kind() == reflect.Pointer && f.Elem().Kind() == reflect.Struct {
			fields = append(fields, i)
		}
	}
	return fields
}

// ownObjects gives nodes objects that no other node refers to, because the
// normaliser writes into them. Lists and maps stay shared: it replaces those.
func ownObjects(nodes []sandrone.Node) {
	for i := range nodes {
		v := reflect.ValueOf(&nodes[i]).Elem()
		for _, f := range objectFields() {
			ownObject(v.Field(f))
		}
	}
}

func ownObject(p reflect.Value) {
	if p.IsNil() {
		return
	}
	own := reflect.New(p.Type().Elem())
	own.Elem().Set(p.Elem())
	p.Set(own)
	fields, ok := nestedObjects.Load(p.Type())
	if !ok {
		fields, _ = nestedObjects.LoadOrStore(p.Type(), pointersOf(p.Type().Elem()))
	}
	for _, f := range fields.([]int) {
		ownObject(own.Elem().Field(f))
	}
}

var nestedObjects sync.Map // pointer type -> []int
