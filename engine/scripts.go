package engine

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/processors"
	"github.com/sandrone-gateway/sandrone/processors/script"
	"github.com/sandrone-gateway/sandrone/store"
)

// ScriptType is what a registry of steps must know of scripts, for
// [processors.Options].
func ScriptType() *processors.ScriptType {
	schema, err := json.Marshal(script.ParamsSchema())
	if err != nil {
		panic("engine: schema of scripts: " + err.Error())
	}
	return &processors.ScriptType{
		ParamsSchema: schema,
		Check: func(params json.RawMessage) error {
			_, err := script.Decode(params)
			return underParams(err)
		},
	}
}

// underParams puts the path of a fault, which is relative to the params, below
// them.
func underParams(err error) error {
	e, ok := errors.AsType[*sandrone.Error](err)
	if !ok || e.Code != sandrone.ProcessorConfigInvalid {
		return err
	}
	own := *e
	own.Field = "params"
	if e.Field != "" {
		own.Field += "." + e.Field
	}
	return &own
}

// services are what the steps of one chain may do: run scripts, which may ask
// for other resources, and probe.
type services struct {
	r     *request
	frame *frame // of the resource whose steps they are; nil for none
	logs  bool   // keep what scripts say

	mu     sync.Mutex
	index  int                    // of the script step that runs; -1: none does
	notes  []note                 // what scripts needed
	probes []indexed[probeAnswer] // if somebody watches
}

type probeAnswer = sandrone.ProbeAnswer

type indexed[T any] struct {
	index int // of a script step, -1 for a step that probes by itself
	value T
}

// taken hands the notes over.
func (s *services) taken() []note {
	s.mu.Lock()
	defer s.mu.Unlock()
	notes := s.notes
	s.notes = nil
	return notes
}

func (s *services) note(n note) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notes = append(s.notes, n)
}

func (s *services) begin(index int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.index = index
}

// RunNodes runs a script step on nodes.
func (s *services) RunNodes(ctx context.Context, c processors.ScriptCall, nodes []*sandrone.Node) (processors.ScriptNodes, error) {
	s.begin(c.Index)
	defer s.begin(-1)
	step, err := script.New(ctx, c.Params, s.env())
	if err != nil {
		return processors.ScriptNodes{}, underParams(err)
	}
	start := s.r.e.now()
	out, said, err := step.Nodes(ctx, scriptInput(c), nodes)
	s.ran(c.Index, start, said.Logs, err)
	if err != nil {
		return processors.ScriptNodes{}, underParams(err)
	}
	return processors.ScriptNodes{Nodes: out, Origins: said.Origins, Warnings: said.Warnings}, nil
}

// RunFile runs a script step on a file.
func (s *services) RunFile(ctx context.Context, c processors.ScriptCall, f processors.File) (processors.File, []sandrone.Warning, error) {
	s.begin(c.Index)
	defer s.begin(-1)
	step, err := script.New(ctx, c.Params, s.env())
	if err != nil {
		return f, nil, underParams(err)
	}
	in := scriptInput(c)
	in.Target, in.Format = c.Target, ""
	start := s.r.e.now()
	out, said, err := step.File(ctx, in, script.Document(f))
	s.ran(c.Index, start, said.Logs, err)
	if err != nil {
		return f, nil, underParams(err)
	}
	return processors.File(out), said.Warnings, nil
}

func (s *services) env() script.Env {
	return script.Env{Runner: s.r.e.scripts, Loader: scriptLoader{s}, Host: scriptHost{s}}
}

// ran counts a run and keeps what the script said.
func (s *services) ran(index int, start time.Time, logs []string, err error) {
	result := "ok"
	if err != nil {
		result = "error"
		if sandrone.AsError(err).Code == sandrone.ScriptTimeout {
			result = "timeout"
		}
	}
	s.r.e.metrics.Script(result, s.r.e.now().Sub(start))
	if s.logs {
		s.r.mu.Lock()
		defer s.r.mu.Unlock()
		for _, text := range logs {
			s.r.logs = append(s.r.logs, ScriptLog{index, text})
		}
	}
}

// logged returns what scripts said, if it is to be shown.
func (r *request) logged(show bool) []ScriptLog {
	if !show {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.logs
}

func scriptInput(c processors.ScriptCall) script.Input {
	in := script.Input{
		Target:  c.Target,
		Format:  c.Target,
		Context: script.Context{InputName: c.Context.InputName, Dependencies: c.Context.Dependencies, Meta: c.Context.Meta},
		Request: script.Request(c.Request),
	}
	for _, source := range c.Context.Sources {
		in.Context.Sources = append(in.Context.Sources, script.SourceContext(source))
	}
	return in
}

// scriptLoader gets the text of scripts that are not inline.
type scriptLoader struct{ s *services }

func (l scriptLoader) File(ctx context.Context, name string, args map[string]string) (script.Loaded, error) {
	p, err := l.s.r.file(ctx, l.s.frame, name, args)
	if err != nil {
		return script.Loaded{}, err
	}
	l.s.note(note{dep: &sandrone.ResourceRef{Kind: sandrone.KindFile, Name: name}, below: p, quiet: true})
	facts := p.facts()
	return script.Loaded{Text: p.file.Content, Warnings: facts.warnings}, nil
}

func (l scriptLoader) Remote(ctx context.Context, remote script.Remote) (script.Loaded, error) {
	in := sandrone.RemoteInput{URL: remote.URL, UserAgent: remote.UserAgent, Proxy: remote.Proxy,
		TimeoutMS: int64(remote.TimeoutMS), CacheTTLSeconds: int64(remote.CacheTTLSeconds)}
	t, err := l.s.r.e.text(ctx, l.s.r.live, wanted{remote: in, refresh: l.s.r.refresh})
	if err != nil {
		return script.Loaded{}, err
	}
	l.s.note(note{refs: []sandrone.SourceRef{t.ref()}, isStale: t.cause != nil, stale: t.age})
	return script.Loaded{Text: textOf(t.body), Warnings: t.staleWarning("script")}, nil
}

// scriptHost answers what scripts ask for.
type scriptHost struct{ s *services }

func (h scriptHost) Produce(ctx context.Context, name string, o script.ProduceOptions) (script.Produced, error) {
	r := h.s.r
	if err := sandrone.CheckName("name", name); err != nil {
		return script.Produced{}, err
	}
	if o.Target != "" {
		if err := r.e.registry.CheckTarget(o.Target); err != nil {
			return script.Produced{}, err
		}
	}
	p, err := r.stored(ctx, h.s.frame, name, how{Args: o.Args, Target: o.Target})
	if err != nil {
		return script.Produced{}, err
	}
	self := sandrone.ResourceRef{Kind: sandrone.KindSubscription, Name: name}
	h.s.note(note{dep: &self, below: p, quiet: true})
	facts := p.facts()
	out := script.Produced{Nodes: p.nodes, Report: facts.report(r.e, "subscription_produce", self)}
	if o.Target == "" {
		return out, nil
	}
	w := &walk{report: out.Report}
	body, _, err := r.e.write(o.Target, p.nodes, false, w)
	if err != nil {
		return script.Produced{}, err
	}
	return script.Produced{Content: string(body), Report: w.report}, nil
}

func (h scriptHost) Content(ctx context.Context, name string, args map[string]string) (string, error) {
	if !h.s.frame.inside(sandrone.KindFile) {
		return "", sandrone.Errorf(sandrone.InvalidArgument, "api.file.content works only while a file is rendered")
	}
	p, err := h.s.r.file(ctx, h.s.frame, name, args)
	if err != nil {
		return "", err
	}
	h.s.note(note{dep: &sandrone.ResourceRef{Kind: sandrone.KindFile, Name: name}, below: p, quiet: true})
	return p.file.Content, nil
}

func (h scriptHost) Probe(ctx context.Context, nodes []sandrone.Node, o script.ProbeOptions) (script.Probed, error) {
	answer, err := h.s.Probe(ctx, nodes, sandrone.ProbeOptions{
		Method: o.Method, Core: o.Core, URL: o.URL, NTPServer: o.NTPServer, ExpectedStatus: o.ExpectedStatus,
		TimeoutMS: o.TimeoutMS, Attempts: o.Attempts, Concurrency: o.Concurrency, CacheTTLSeconds: o.CacheTTLSeconds, Meta: o.Meta,
	})
	if err != nil {
		return script.Probed{}, err
	}
	return script.Probed{Results: answer.Results, Report: answer.Report}, nil
}

// Probe probes for steps and scripts.
func (s *services) Probe(ctx context.Context, nodes []sandrone.Node, o sandrone.ProbeOptions) (sandrone.ProbeAnswer, error) {
	if s.r.live.prober == nil {
		return sandrone.ProbeAnswer{}, sandrone.Errorf(sandrone.ProbeBackendUnavailable, "probing is not available here")
	}
	o.Refresh = s.r.refresh
	answer, err := s.r.live.prober.Probe(ctx, nodes, o)
	if err != nil {
		return answer, err
	}
	s.r.e.countProbe(&answer)
	if s.r.watch != nil {
		s.mu.Lock()
		s.probes = append(s.probes, indexed[probeAnswer]{s.index, answer})
		s.mu.Unlock()
	}
	return answer, nil
}

func (e *Engine) countProbe(a *sandrone.ProbeAnswer) {
	if p := a.Report.Probe; p != nil {
		e.metrics.Probed(p.Method, p.Core, p.SuccessCount, p.FailureCount)
	}
}

// probesOf returns the probes that a step made. A step of type probe makes one,
// unless it had nothing to probe.
func (s *services) probesOf(st *processors.StepTrace, warnings []sandrone.Warning) []sandrone.ProbeAnswer {
	var answers []sandrone.ProbeAnswer
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := 0; i < len(s.probes); i++ {
		p := s.probes[i]
		if p.index == st.Index && st.Type != "probe" {
			answers = append(answers, p.value)
		} else if p.index == -1 && st.Type == "probe" && st.In > 0 && !skippedProbe(warnings) {
			s.probes[i].index = -2
			return append(answers, p.value)
		}
	}
	return answers
}

func skippedProbe(warnings []sandrone.Warning) bool {
	for i := range warnings {
		if warnings[i].Code == "probe_skipped_duplicate_node_names" {
			return true
		}
	}
	return false
}

// keptBytes keeps what steps and probes want to use again, under one prefix of
// the cache layer of probes.
type keptBytes struct {
	e      *Engine
	prefix string
}

// bytes returns the cache of steps and probes.
func (e *Engine) bytes(prefix string) keptBytes { return keptBytes{e, prefix} }

func (k keptBytes) Get(ctx context.Context, key string) ([]byte, bool) {
	if k.e.store == nil {
		return nil, false
	}
	entry, ok := k.e.store.Cache().Get(ctx, store.Probe, store.KeyOf(k.prefix, key))
	ok = ok && entry.Fresh(k.e.now())
	k.e.metrics.Cache(string(store.Probe), ok)
	return entry.Body, ok
}

func (k keptBytes) Put(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	if k.e.store == nil {
		return nil
	}
	return k.e.store.Cache().Put(ctx, store.Probe, store.KeyOf(k.prefix, key), store.Entry{Body: value}, store.Life{Fresh: ttl})
}
