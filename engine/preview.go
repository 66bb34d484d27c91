package engine

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert"
	"github.com/sandrone-gateway/sandrone/convert/field"
	"github.com/sandrone-gateway/sandrone/processors"
)

// PreviewRequest asks for the nodes of a subscription before and after its own
// steps: of the stored one of that name, or of a draft.
type PreviewRequest struct {
	Name    string
	Draft   *sandrone.Subscription // in place of Name; its own name may be empty
	Args    map[string]string      // request args of every step on the way
	Refresh bool                   // read no cache of fetches and probes
	Trace   bool                   // tell what each step did to each node
	Target  string                 // a render format: tell what each node would lose in it
}

// Preview is the answer, in the shape of the API.
type Preview struct {
	SubscriptionName string                 `json:"subscription_name"`
	Type             string                 `json:"type"`
	Format           string                 `json:"format,omitempty"`
	BeforeCount      int                    `json:"before_count"`
	AfterCount       int                    `json:"after_count"`
	StatusCounts     StatusCounts           `json:"status_counts"`
	Nodes            []PreviewNode          `json:"nodes"`
	Steps            []processors.StepTrace `json:"steps,omitzero"` // nil unless a trace was asked for
	Warnings         []sandrone.Warning     `json:"warnings"`
	Logs             []ScriptLog            `json:"logs,omitempty"`  // of a draft's scripts
	Stale            bool                   `json:"stale,omitempty"` // a last good copy was used

	// Report is what MCP and the schedule show in place of the warnings.
	Report sandrone.Report `json:"-"`
}

// Indented is the JSON form of the preview as [encoding/json.MarshalIndent]
// writes it, with two spaces, but without escapes for HTML. A large preview is
// mostly its nodes, so they are written by all processors at once.
func (p *Preview) Indented() ([]byte, error) {
	const empty = "\n  \"nodes\": []" // text has no line feeds, so it is that member
	rest := *p
	rest.Nodes = []PreviewNode{}
	text, err := jsonv2.Marshal(&rest, jsonv1.DefaultOptionsV1(), jsontext.EscapeForHTML(false), jsontext.WithIndent("  "))
	if err != nil || len(p.Nodes) == 0 {
		return text, err
	}
	head, tail, found := bytes.Cut(text, []byte(empty))
	if !found {
		return nil, errors.New("engine: a preview without the member nodes")
	}
	parts := make([][]byte, workersFor(len(p.Nodes)))
	errs := make([]error, len(parts))
	var wg sync.WaitGroup
	for w := range parts {
		nodes := p.Nodes[len(p.Nodes)*w/len(parts) : len(p.Nodes)*(w+1)/len(parts)]
		wg.Go(func() {
			var b []byte
			for i := range nodes {
				if i == 16 { // by now it is known about how long one is
					b = slices.Grow(b, len(nodes)/15*len(b))
				}
				if b, errs[w] = nodes[i].appendTo(append(b, ",\n    "...)); errs[w] != nil {
					return
				}
			}
			parts[w] = b
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	parts[0] = parts[0][1:] // no comma before the first
	all := append([][]byte{head, []byte("\n  \"nodes\": [")}, parts...)
	return slices.Concat(append(all, []byte("\n  ]"), tail)...), nil
}

// StatusCounts counts the nodes of a preview by their status.
type StatusCounts struct {
	Added     int `json:"added"`
	Modified  int `json:"modified"`
	Removed   int `json:"removed"`
	Unchanged int `json:"unchanged"`
}

// PreviewNode is one node before and after the steps.
type PreviewNode struct {
	Identity    string            `json:"identity"`
	Status      string            `json:"status"` // a member of StatusCounts
	Before      *sandrone.Node    `json:"before,omitempty"`
	After       *sandrone.Node    `json:"after,omitempty"`
	TargetNames map[string]string `json:"target_names,omitempty"`
	ChangedBy   []int             `json:"changed_by,omitempty"` // steps, ascending
	RemovedBy   *int              `json:"removed_by,omitempty"`
	AddedBy     *int              `json:"added_by,omitempty"`
	Region      string            `json:"region,omitempty"` // as the last step that looked for one found it
	Matched     string            `json:"matched,omitempty"`
	Loss        *NodeLoss         `json:"loss,omitempty"`

	before, after int // places in the two lists, -1 for none
}

// appendTo appends the JSON form of n, indented as an element of a preview's
// nodes.
func (n *PreviewNode) appendTo(b []byte) ([]byte, error) {
	// What is there besides the two nodes stands in front of them and behind.
	rest := *n
	rest.Before, rest.After = nil, nil
	text, err := jsonv2.Marshal(&rest, jsonv1.DefaultOptionsV1(), jsontext.EscapeForHTML(false), jsontext.WithIndentPrefix("    "), jsontext.WithIndent("  "))
	if err != nil {
		return nil, err
	}
	// Neither identity nor status has a line feed.
	end := 0
	for range 3 {
		end += bytes.IndexByte(text[end:], '\n') + 1
	}
	head, tail := bytes.TrimSuffix(text[:end-1], []byte(",")), text[end-1:]
	b = append(b, head...)
	for _, m := range []struct {
		key  string
		node *sandrone.Node
	}{{"before", n.Before}, {"after", n.After}} {
		if m.node == nil {
			continue
		}
		b = append(append(append(b, ",\n      \""...), m.key...), "\": "...)
		if b, err = field.AppendJSONIndent(b, m.node, 3); err != nil {
			return nil, err
		}
	}
	if len(head) < end-1 {
		b = append(b, ',')
	}
	return append(b, tail...), nil
}

// NodeLoss is what one node would lose in the target of a preview.
type NodeLoss struct {
	Status string      `json:"status"` // "ok", "lossy", "skipped"
	Name   string      `json:"name"`   // as written, empty if it is not
	Fields []LossField `json:"fields"`
}

// LossField is one thing that is lost or changed.
type LossField struct {
	Code    string `json:"code"`
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
}

// ScriptLog is one entry that a script step wrote with api.log.
type ScriptLog struct {
	Index int    `json:"index"` // of the step
	Text  string `json:"text"`
}

// StepError is a preview that failed at a step, with what the steps did until
// then.
type StepError struct {
	Err       *sandrone.Error
	Steps     []processors.StepTrace
	FileSteps []processors.FileStep // of a file, in place of Steps
	Logs      []ScriptLog
}

func (e *StepError) Error() string { return e.Err.Error() }

func (e *StepError) Unwrap() error { return e.Err }

// PreviewSubscription shows the nodes of a subscription before and after its
// own steps. Nothing is stored but fetch and probe caches.
//
// Errors: not_found for an unknown name, conflict for a subscription that needs
// itself, those of its sources, and [*StepError] for a step that failed.
func (e *Engine) PreviewSubscription(ctx context.Context, req PreviewRequest) (*Preview, error) {
	var target *convert.Target
	if strings.TrimSpace(req.Target) != "" {
		t, err := e.registry.Target(req.Target)
		if err != nil {
			return nil, sandrone.AsError(err).At("target")
		}
		target = &t
	}
	o := chainOptions{trace: true}
	var s *sandrone.Subscription
	var err error
	if req.Draft != nil {
		draft := *req.Draft
		draft.Name = cmp.Or(draft.Name, draftName)
		if err := draft.Normalise(); err != nil {
			return nil, below(err, "subscription")
		}
		s, o.field, o.logs = &draft, "subscription.processors", true
	}

	ctx, done, err := e.turns.take(ctx) // before the definition is in memory
	if err != nil {
		return nil, err
	}
	defer done()
	if s == nil {
		if s, err = e.subscription(ctx, req.Name); err != nil {
			return nil, err
		}
	}
	r := e.request(req.Refresh, s.Meta)
	p, err := r.asked(ctx, s, how{Args: req.Args}, o)
	if err != nil {
		if !req.Trace {
			if step, ok := errors.AsType[*StepError](err); ok {
				err = step.Err
			}
		}
		if req.Draft != nil {
			return nil, err
		}
		return nil, ofSubscription(err, s.Name)
	}
	facts := p.facts()
	out := &Preview{
		SubscriptionName: s.Name, Type: s.Type, Format: s.Format,
		BeforeCount: len(p.base), AfterCount: len(p.nodes),
		Warnings: facts.warnings,
		Logs:     r.logged(o.logs),
		Stale:    facts.isStale,
		Report:   facts.report(e, "subscription_preview"),
	}
	if out.Warnings == nil {
		out.Warnings = []sandrone.Warning{}
	}
	var names []string
	var wg sync.WaitGroup
	var panicked *PanicError
	wg.Go(func() {
		defer func() {
			if v := recover(); v != nil {
				panicked = Recovered(v)
			}
		}()
		names = e.shadowrocketNames(p.nodes)
	})
	out.Nodes, err = compare(ctx, p.base, p.nodes, p.trace.origins(len(p.nodes)))
	wg.Wait()
	if panicked != nil {
		panic(panicked) // where the caller can catch it
	}
	if err != nil {
		return nil, err
	}
	for i := range out.Nodes {
		if j := out.Nodes[i].after; j >= 0 && j < len(names) {
			out.Nodes[i].TargetNames = map[string]string{"shadowrocket": names[j]}
		}
	}
	if target != nil {
		showLoss(out.Nodes, p.nodes, *target)
	}
	if req.Trace {
		out.Steps = p.trace.Steps
		showTrace(out.Nodes, p.trace)
	}
	for i := range out.Nodes {
		switch out.Nodes[i].Status {
		case statusAdded:
			out.StatusCounts.Added++
		case statusModified:
			out.StatusCounts.Modified++
		case statusRemoved:
			out.StatusCounts.Removed++
		default:
			out.StatusCounts.Unchanged++
		}
	}
	return out, nil
}

const (
	statusAdded     = "added"
	statusModified  = "modified"
	statusRemoved   = "removed"
	statusUnchanged = "unchanged"
)

// below puts the field of an error below the member of the request that holds
// the definition.
func below(err error, member string) error {
	own := *sandrone.AsError(err)
	if own.Field == "" {
		own.Field = member
	} else {
		own.Field = member + "." + own.Field
	}
	return &own
}

// compare pairs the nodes before and after the steps by the connection that
// they make: equal nodes first, then those of equal identity, in their order.
// The result is in the order of after; a removed node stands before the next
// pair that followed it. origins are the places in before of what the steps
// made the nodes of after from, -1 where that is not known.
func compare(ctx context.Context, before, after []sandrone.Node, origins []int) ([]PreviewNode, error) {
	beforeIDs := identitiesOf(before)
	afterIDs := identities(after, func(j int) string {
		// Most steps leave the connection alone, and seeing that costs far
		// less than an identity.
		if i := origins[j]; i >= 0 && sameConnection(&before[i], &after[j]) {
			return beforeIDs[i]
		}
		return processors.Identity(&after[j])
	})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	partner := make([]int, len(after)) // in before, or -1
	equal := make([]bool, len(after))
	taken := make([]bool, len(before))

	groups := make(map[string][]int, len(before)) // by identity
	for i, id := range beforeIDs {
		groups[id] = append(groups[id], i)
	}
	// A group is searched node by node while it is small; many nodes of one
	// identity are found by all that they say.
	const small = 8
	contents := make(map[string]map[string][]int)
	for j := range after {
		partner[j] = -1
		id := afterIDs[j]
		group := groups[id]
		if len(group) <= small {
			for _, i := range group {
				if !taken[i] && sameNode(&before[i], &after[j]) {
					partner[j], equal[j], taken[i] = i, true, true
					break
				}
			}
			continue
		}
		content := contents[id]
		if content == nil {
			content = make(map[string][]int, len(group))
			for _, i := range group {
				key := contentOf(&before[i])
				content[key] = append(content[key], i)
			}
			contents[id] = content
		}
		key := contentOf(&after[j])
		if free := content[key]; len(free) > 0 {
			partner[j], equal[j], taken[free[0]] = free[0], true, true
			content[key] = free[1:]
		}
	}
	for j := range after {
		if partner[j] >= 0 {
			continue
		}
		group := groups[afterIDs[j]]
		for len(group) > 0 && taken[group[0]] {
			group = group[1:]
		}
		if len(group) > 0 {
			partner[j], taken[group[0]] = group[0], true
			group = group[1:]
		}
		groups[afterIDs[j]] = group
	}

	nodes := make([]PreviewNode, 0, len(before)+len(after))
	next := 0 // of before: everything ahead of it is listed
	removed := func(until int) {
		for ; next < until; next++ {
			if !taken[next] {
				nodes = append(nodes, PreviewNode{Identity: beforeIDs[next], Status: statusRemoved, Before: &before[next], before: next, after: -1})
			}
		}
	}
	for j := range after {
		n := PreviewNode{Identity: afterIDs[j], Status: statusAdded, After: &after[j], before: -1, after: j}
		if i := partner[j]; i >= 0 {
			removed(i)
			n.Before, n.before, n.Status = &before[i], i, statusModified
			if equal[j] {
				n.Status = statusUnchanged
			}
		}
		nodes = append(nodes, n)
	}
	removed(len(before))
	return nodes, nil
}

func identitiesOf(nodes []sandrone.Node) []string {
	return identities(nodes, func(i int) string { return processors.Identity(&nodes[i]) })
}

// workersFor is how many processors so many nodes are worth.
func workersFor(nodes int) int { return min(runtime.GOMAXPROCS(0), nodes/256+1) }

// identities is the most work of a preview, so it takes all processors.
func identities(nodes []sandrone.Node, of func(i int) string) []string {
	ids := make([]string, len(nodes))
	workers := workersFor(len(nodes))
	var wg sync.WaitGroup
	for w := range workers {
		from, to := len(nodes)*w/workers, len(nodes)*(w+1)/workers
		wg.Go(func() {
			for i := from; i < to; i++ {
				ids[i] = of(i)
			}
		})
	}
	wg.Wait()
	return ids
}

// sameConnection reports whether two nodes have one identity for the simple
// reason that they differ in nothing but what is no part of it.
func sameConnection(a, b *sandrone.Node) bool {
	x, y := shown(a), shown(b)
	x.Name, y.Name = "", ""
	x.Dialer, y.Dialer, x.Multiplex, y.Multiplex = nil, nil, nil, nil
	return reflect.DeepEqual(&x, &y)
}

// origins tells for each of n nodes after the steps where it was before them,
// -1 if a step made it.
func (t *chainTrace) origins(n int) []int {
	origins := make([]int, n)
	if len(t.Nodes) == 0 { // no step ran
		for j := range origins {
			origins[j] = j
		}
		return origins
	}
	for j := range origins {
		origins[j] = -1
	}
	for i := range t.Nodes {
		if t.Nodes[i].AddedBy != nil {
			break // those stand behind the nodes of the input
		}
		if out := t.Nodes[i].Out; out >= 0 && out < len(t.index) && t.index[out] >= 0 {
			origins[t.index[out]] = i
		}
	}
	return origins
}

// shown is a node without what does not count as a change.
func shown(n *sandrone.Node) sandrone.Node {
	m := *n
	m.ID, m.Tags, m.Meta, m.Lossy, m.Warnings, m.SourceFormat = "", nil, nil, false, nil, ""
	if m.Hysteria != nil && reflect.ValueOf(*m.Hysteria).IsZero() {
		m.Hysteria = nil
	}
	return m
}

func sameNode(a, b *sandrone.Node) bool {
	x, y := shown(a), shown(b)
	return reflect.DeepEqual(&x, &y)
}

// contentOf is the same text for nodes that sameNode calls equal.
func contentOf(n *sandrone.Node) string {
	m := shown(n)
	text, err := field.AppendJSON(nil, &m)
	if err != nil {
		return fmt.Sprintf("%p", n) // equal to nothing but itself
	}
	return string(text)
}

// shadowrocketNames is what each node is called in a Shadowrocket file, where
// names are changed the most.
func (e *Engine) shadowrocketNames(nodes []sandrone.Node) []string {
	t, err := e.registry.Target("shadowrocket-proxies")
	if err != nil {
		return nil
	}
	return t.Render(nodes, convert.RenderOptions{Target: t.Name, Version: t.Version}).Names
}

// showLoss says what each node would lose in a target.
func showLoss(items []PreviewNode, after []sandrone.Node, t convert.Target) {
	out := t.Render(after, convert.RenderOptions{Target: t.Name, Version: t.Version})
	fields := make([][]LossField, len(after))
	for i := range out.Warnings {
		w := &out.Warnings[i]
		if w.NodeIndex != nil && *w.NodeIndex >= 0 && *w.NodeIndex < len(after) {
			fields[*w.NodeIndex] = append(fields[*w.NodeIndex], LossField{w.Code, w.Field, w.Message})
		}
	}
	for i := range items {
		j := items[i].after
		if j < 0 {
			continue
		}
		loss := &NodeLoss{Status: "ok", Fields: fields[j]}
		if j < len(out.Names) {
			loss.Name = out.Names[j]
		}
		if loss.Name == "" {
			loss.Status = "skipped"
		} else if slices.ContainsFunc(loss.Fields, func(f LossField) bool { return f.Code == sandrone.WarnLossyField }) {
			loss.Status = "lossy"
		}
		if loss.Fields == nil {
			loss.Fields = []LossField{}
		}
		items[i].Loss = loss
	}
}

// showTrace says which steps did what to each node.
func showTrace(items []PreviewNode, t *chainTrace) {
	ofAfter := make(map[int]*processors.NodeTrace, len(t.Nodes))
	for i := range t.Nodes {
		if out := t.Nodes[i].Out; out >= 0 && out < len(t.index) && t.index[out] >= 0 {
			ofAfter[t.index[out]] = &t.Nodes[i]
		}
	}
	for i := range items {
		item := &items[i]
		var n *processors.NodeTrace
		if item.after >= 0 {
			n = ofAfter[item.after]
		} else if item.before < len(t.Nodes) {
			n = &t.Nodes[item.before]
		}
		if n == nil {
			continue
		}
		item.ChangedBy, item.Region, item.Matched = n.ChangedBy, n.Region, n.Matched
		if item.after >= 0 {
			item.AddedBy = n.AddedBy
		} else {
			item.RemovedBy = n.RemovedBy
		}
	}
}
