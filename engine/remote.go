package engine

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert"
	"github.com/sandrone-gateway/sandrone/fetch"
)

// Remote is an address that holds nodes.
type Remote struct {
	URL             string `json:"url"`
	UserAgent       string `json:"user_agent,omitempty"`
	Proxy           string `json:"proxy,omitempty"`
	TimeoutMS       int64  `json:"timeout_ms,omitempty"` // 0 means the settings' one
	CacheTTLSeconds *int64 `json:"cache_ttl_seconds,omitempty"`
}

// RemoteBatch is a list of sources whose nodes are joined in its order.
type RemoteBatch struct {
	Sources     []BatchSource `json:"sources"`               // 1–32
	Concurrency int           `json:"concurrency,omitempty"` // 1–8, default 4
}

// BatchSource is one source of a batch.
type BatchSource struct {
	Remote
	Name   string `json:"name,omitempty"`   // label for warnings and results
	Format string `json:"format,omitempty"` // default: the request's FromFormat
}

const (
	maxBatchSources         = 32
	maxBatchConcurrency     = 8
	defaultBatchConcurrency = 4
)

// check holds the rules that need no network; field is where r stands.
func (r *Remote) check(field string) error {
	switch {
	case strings.TrimSpace(r.URL) == "":
		return sandrone.Errorf(sandrone.InvalidArgument, "remote url is required").At(field + ".url")
	case r.TimeoutMS < 0:
		return sandrone.Errorf(sandrone.InvalidArgument, "timeout_ms must not be negative").At(field + ".timeout_ms")
	case r.CacheTTLSeconds != nil && *r.CacheTTLSeconds < 0:
		return sandrone.Errorf(sandrone.InvalidArgument, "cache_ttl_seconds must not be negative").At(field + ".cache_ttl_seconds")
	}
	return nil
}

func (e *Engine) checkBatch(b *RemoteBatch) error {
	if len(b.Sources) < 1 || len(b.Sources) > maxBatchSources {
		return sandrone.Errorf(sandrone.InvalidArgument, "a batch has 1 to %d sources", maxBatchSources).At("remote_batch.sources")
	}
	if b.Concurrency == 0 {
		b.Concurrency = defaultBatchConcurrency
	}
	if b.Concurrency < 1 || b.Concurrency > maxBatchConcurrency {
		return sandrone.Errorf(sandrone.InvalidArgument, "concurrency must be 1 to %d", maxBatchConcurrency).At("remote_batch.concurrency")
	}
	for i := range b.Sources {
		field := sourceField(i)
		if err := b.Sources[i].check(field); err != nil {
			return err
		}
		if f := b.Sources[i].Format; strings.TrimSpace(f) != "" {
			if err := e.registry.CheckFormat(f); err != nil {
				return sandrone.AsError(err).At(field + ".format")
			}
		}
	}
	return nil
}

func sourceField(i int) string { return "remote_batch.sources[" + strconv.Itoa(i) + "]" }

// readRemote fetches one address and reads its nodes. A public request has no
// copies to fall back on, and leaves none.
func (e *Engine) readRemote(ctx context.Context, lv *live, r *Remote, format string, public bool, w *walk) ([]sandrone.Node, error) {
	if !public {
		in := sandrone.RemoteInput{URL: r.URL, UserAgent: r.UserAgent, Proxy: r.Proxy, TimeoutMS: r.TimeoutMS}
		if r.CacheTTLSeconds != nil {
			in.CacheTTLSeconds = *r.CacheTTLSeconds
		}
		reading, err := e.readSource(ctx, lv, in, format, false)
		if err != nil {
			return nil, under(err, "remote")
		}
		return w.read(reading), nil
	}
	resp, err := e.get(ctx, lv, fetch.Request{URL: r.URL, Policy: fetch.Public})
	if err != nil {
		return nil, under(err, "remote")
	}
	w.report.SourceRefs = append(w.report.SourceRefs, resp.Ref)
	reading, err := e.parse(format, textOf(resp.Body))
	if err != nil {
		err := *sandrone.AsError(err) // may be shared; the source is this request's
		err.Source = fetch.Display(r.URL)
		return nil, &err
	}
	return w.read(reading), nil
}

// textOf is the body as text without a copy: a fetched body is never written
// again.
func textOf(body []byte) string { return unsafe.String(unsafe.SliceData(body), len(body)) }

// under puts the field of a coded error, which is relative to an address, below
// its parent. Other errors, such as a cancelled context, pass.
func under(err error, parent string) error {
	coded, ok := err.(*sandrone.Error)
	if !ok || coded.Field == "" || strings.HasPrefix(coded.Field, "remote_defaults.") {
		return err
	}
	moved := *coded
	moved.Field = parent + "." + strings.TrimPrefix(coded.Field, "remote.")
	return &moved
}

// readBatch reads all sources at once and joins their nodes in the order of
// the list. A source that fails costs the others nothing.
func (e *Engine) readBatch(ctx context.Context, lv *live, req *ConvertRequest, w *walk) ([]sandrone.Node, error) {
	type outcome struct {
		walk  walk
		nodes []sandrone.Node
		err   error
		panic *PanicError
	}
	sources := req.RemoteBatch.Sources
	outcomes := make([]outcome, len(sources))
	slots := make(chan struct{}, req.RemoteBatch.Concurrency)
	var wg sync.WaitGroup
	for i := range sources {
		slots <- struct{}{}
		wg.Go(func() {
			o := &outcomes[i]
			defer func() {
				if v := recover(); v != nil {
					o.panic = Recovered(v) // raised again below, where the caller can catch it
				}
				<-slots
			}()
			format := sources[i].Format
			if strings.TrimSpace(format) == "" {
				format = req.FromFormat
			}
			o.nodes, o.err = e.readRemote(ctx, lv, &sources[i].Remote, format, req.Public, &o.walk)
		})
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}

	var nodes []sandrone.Node
	var refs []sandrone.SourceRef // of the formats; the remote ones come first
	var first *sandrone.Error
	report := &w.report
	report.SourceResults = make([]sandrone.SourceResult, len(sources))
	for i := range outcomes {
		o := &outcomes[i]
		if o.panic != nil {
			panic(o.panic)
		}
		label := sources[i].Name
		if label == "" {
			label = fetch.Display(sources[i].URL)
		}
		result := &report.SourceResults[i]
		*result = sandrone.SourceResult{Index: i, Name: sources[i].Name, URL: fetch.Redact(sources[i].URL),
			Status: sandrone.StatusOK, NodeCount: len(o.nodes), WarningsCount: len(o.walk.report.Warnings)}
		for _, ref := range o.walk.report.SourceRefs {
			if ref.Kind == "remote" {
				report.SourceRefs = append(report.SourceRefs, ref)
			} else {
				refs = appendRef(refs, ref)
			}
		}
		for _, warning := range o.walk.report.Warnings {
			if warning.Source == "" {
				warning.Source = label
			}
			report.Warnings = append(report.Warnings, warning)
		}
		if o.err != nil {
			failure := *sandrone.AsError(o.err)
			failure.Field = sourceField(i)
			result.Status, result.NodeCount, result.Error = sandrone.StatusFailed, 0, &failure
			report.Status = sandrone.StatusPartial
			if first == nil {
				first = &failure
			}
			continue
		}
		nodes = append(nodes, o.nodes...)
		o.nodes = nil
	}
	report.SourceRefs = append(report.SourceRefs, refs...)
	if first != nil && len(nodes) == 0 {
		report.Status = sandrone.StatusFailed
		return nil, &ReportError{Err: first, Report: *report}
	}
	if len(nodes) > convert.MaxNodes {
		return nil, sandrone.Errorf(sandrone.ParseFailed, "the sources together hold more than %d nodes", convert.MaxNodes).At("remote_batch.sources")
	}
	return nodes, nil
}

// refsKey asks for the documents behind one type of node in one format.
type refsKey struct {
	source string // as in sandrone.Node.SourceFormat
	typ    sandrone.Type
}

// formatRefs names the documents behind the mapping of a batch's nodes, each
// once, in the order of the nodes that need them.
func (e *Engine) formatRefs(batch convert.Batch) []sandrone.SourceRef {
	var refs []sandrone.SourceRef
	seen := make(map[refsKey]bool)
	var last refsKey
	for i := range batch.Nodes {
		key := refsKey{batch.Nodes[i].SourceFormat, batch.Nodes[i].Type}
		if key == last || seen[key] {
			continue
		}
		last, seen[key] = key, true
		for _, ref := range e.typeRefs(key) {
			refs = appendRef(refs, ref)
		}
	}
	return refs
}

func (e *Engine) typeRefs(key refsKey) []sandrone.SourceRef {
	if refs, ok := e.refs.Load(key); ok {
		return refs.([]sandrone.SourceRef)
	}
	var refs []sandrone.SourceRef
	for _, p := range e.registry.Parsers() {
		if p.Source == key.source && p.Sources != nil {
			refs = p.Sources(key.typ)
			break // parsers of one source share a table
		}
	}
	if refs != nil { // a node may claim any source: only known ones are kept
		e.refs.Store(key, refs)
	}
	return refs
}

func appendRef(refs []sandrone.SourceRef, ref sandrone.SourceRef) []sandrone.SourceRef {
	if slices.Contains(refs, ref) {
		return refs
	}
	return append(refs, ref)
}
