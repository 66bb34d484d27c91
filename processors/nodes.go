package processors

import (
	"context"
	"strconv"

	"github.com/sandrone-gateway/sandrone"
)

// MaxName is the length in bytes that a step may make a name grow to.
const MaxName = 16 << 10

// Result is what came out of a list of steps.
type Result struct {
	Nodes    []sandrone.Node
	Warnings []sandrone.Warning
	Trace    *Trace // nil unless asked for
}

// Trace is what the steps did.
type Trace struct {
	Steps []StepTrace
	Nodes []NodeTrace // those of the input, in its order, then those that steps added
}

// NodeTrace is the way of one node. Its JSON form is that of the members that a
// preview adds to a node.
type NodeTrace struct {
	Out       int    `json:"-"`                    // index in the result, -1 if it is not there
	ChangedBy []int  `json:"changed_by,omitempty"` // steps, ascending
	RemovedBy *int   `json:"removed_by,omitempty"`
	AddedBy   *int   `json:"added_by,omitempty"`
	Region    string `json:"region,omitempty"`  // as the last step that looked for one found it
	Matched   string `json:"matched,omitempty"` // the text that it was found by
}

// entry is a node on its way: steps pass the same pointer on as long as they do
// not change the node, and never write through it.
type entry struct {
	node *sandrone.Node
	id   int // of the node's trace
}

// Nodes runs the nodes-stage steps of a list. The input is not changed; the
// result may share its objects, lists and maps. An empty result is no error. If
// a step fails, the error has its place, and of the result only the trace is
// set, up to the failing step.
func (r *Registry) Nodes(ctx context.Context, run Run, specs []sandrone.ProcessorSpec, nodes []sandrone.Node) (Result, error) {
	in := make([]entry, len(nodes))
	for i := range nodes {
		in[i] = entry{&nodes[i], i}
	}
	next := len(nodes)
	s := &scope{Run: &run, next: &next}
	var t *tracer
	if run.Trace {
		s.notes = make(map[int]note)
		t = &tracer{nodes: make([]NodeTrace, len(nodes))}
	}
	out, warnings, err := walk(ctx, r, &run, sandrone.NodesStage, r.nodes, specs, in, s, func(st StepTrace, before, after []entry) {
		if t != nil {
			t.step(st, before, after)
		}
	})
	if err != nil {
		return Result{Trace: t.result(nil, s.notes)}, err
	}
	res := Result{Nodes: make([]sandrone.Node, len(out)), Warnings: warnings, Trace: t.result(out, s.notes)}
	for i, e := range out {
		res.Nodes[i] = *e.node
	}
	return res, nil
}

// tracer compares the lists before and after each step.
type tracer struct {
	steps []StepTrace
	nodes []NodeTrace
	was   map[int]*sandrone.Node
}

func (t *tracer) step(st StepTrace, before, after []entry) {
	if st.In = len(before); st.Error == nil {
		st.Out = len(after)
	}
	defer func() { t.steps = append(t.steps, st) }()
	if st.Disabled || st.Skipped || st.Error != nil {
		return
	}
	index := st.Index
	if t.was == nil {
		t.was = make(map[int]*sandrone.Node, len(before))
	}
	clear(t.was)
	for _, e := range before {
		t.was[e.id] = e.node
	}
	for _, e := range after {
		for e.id >= len(t.nodes) {
			t.nodes = append(t.nodes, NodeTrace{})
		}
		old, known := t.was[e.id]
		switch {
		case !known:
			st.Added++
			t.nodes[e.id].AddedBy = &index
		case old != e.node:
			st.Modified++
			t.nodes[e.id].ChangedBy = append(t.nodes[e.id].ChangedBy, index)
		}
		delete(t.was, e.id)
	}
	st.Removed = len(t.was)
	for id := range t.was {
		t.nodes[id].RemovedBy = &index
	}
}

func (t *tracer) result(out []entry, notes map[int]note) *Trace {
	if t == nil {
		return nil
	}
	for i := range t.nodes {
		t.nodes[i].Out = -1
	}
	for i, e := range out {
		t.nodes[e.id].Out = i
	}
	for id, n := range notes {
		t.nodes[id].Region, t.nodes[id].Matched = n.region, n.matched
	}
	if t.steps == nil {
		t.steps = []StepTrace{}
	}
	return &Trace{t.steps, t.nodes}
}

// kept returns the entries that keep says yes to.
func kept(ctx context.Context, in []entry, keep func(n *sandrone.Node) (bool, error)) ([]entry, error) {
	out := make([]entry, 0, len(in))
	for i, e := range in {
		if err := every(ctx, i); err != nil {
			return nil, err
		}
		ok, err := keep(e.node)
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, e)
		}
	}
	return out, nil
}

// edited returns the entries with what change makes of each node: another node,
// or nil for no change.
func edited(ctx context.Context, in []entry, change func(e entry) (*sandrone.Node, error)) ([]entry, error) {
	out := make([]entry, len(in))
	copy(out, in)
	for i, e := range in {
		if err := every(ctx, i); err != nil {
			return nil, err
		}
		n, err := change(e)
		if err != nil {
			return nil, err
		}
		if n != nil {
			out[i].node = n
		}
	}
	return out, nil
}

// renamed returns n under another name, nil if it has that name already.
func renamed(n *sandrone.Node, name string) (*sandrone.Node, error) {
	if name == n.Name {
		return nil, nil
	}
	if len(name) > MaxName && len(name) > len(n.Name) {
		return nil, sandrone.Errorf(sandrone.NodeProcessorFailed, "a name grows beyond %d bytes", MaxName)
	}
	m := *n
	m.Name = name
	return &m, nil
}

// matching turns the error of a pattern in use into the step's.
func matching(err error) error {
	if err == nil {
		return nil
	}
	return sandrone.Errorf(sandrone.NodeProcessorFailed, "%s", err)
}

// textOf returns a field of a node as text, for steps that compare nodes by
// named fields. The name is lower-case; one that is not known is always empty.
func textOf(n *sandrone.Node, field string) string {
	switch field {
	case "name":
		return n.Name
	case "type":
		return string(n.Type)
	case "server":
		return n.Server
	case "port":
		if n.Port == 0 {
			return ""
		}
		return strconv.Itoa(int(n.Port))
	case "uuid":
		return n.UUID
	case "password":
		return n.Password
	case "username":
		return n.Username
	case "cipher":
		return n.Cipher
	}
	return ""
}
