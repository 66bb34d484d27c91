package script

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert/doc"
	"github.com/sandrone-gateway/sandrone/processors/script/internal/js"
)

// Host answers the calls that leave the sandbox. Each honours its context,
// which ends with the run, and carries it on: scripts that run inside of it
// must get it. Errors with a code keep it.
type Host interface {
	// Produce materialises a stored subscription, and renders it where a
	// target is given. A cycle on the way is code conflict, at once.
	Produce(ctx context.Context, name string, o ProduceOptions) (Produced, error)

	// Content returns the final text of a stored file. Outside of a file
	// rendering it is code invalid_argument.
	Content(ctx context.Context, name string, args map[string]string) (string, error)

	// Probe probes nodes, which are nodes of the batch.
	Probe(ctx context.Context, nodes []sandrone.Node, o ProbeOptions) (Probed, error)
}

// ProduceOptions are the options of [Host.Produce].
type ProduceOptions struct {
	Target string            // a render format, or empty for nodes
	Args   map[string]string // the complete args of the subscription's chain
}

// Produced is a subscription: nodes, or content where a target was given.
type Produced struct {
	Nodes   []sandrone.Node
	Content string
	Report  sandrone.Report
}

// ProbeOptions are the options of [Host.Probe]. What is zero is filled in from
// the settings.
type ProbeOptions struct {
	Method          string            `json:"method"`
	Core            string            `json:"core"`
	URL             string            `json:"url"`
	NTPServer       string            `json:"ntp_server"`
	ExpectedStatus  string            `json:"expected_status"`
	TimeoutMS       int               `json:"timeout_ms"`
	Attempts        int               `json:"attempts"`
	Concurrency     int               `json:"concurrency"`
	CacheTTLSeconds int               `json:"cache_ttl_seconds"`
	Meta            map[string]string `json:"meta"`
}

// Probed is what a probe found, as values that JSON is made of. The warnings
// of the report are added to those of the script.
type Probed struct {
	Results any // a list
	Report  any // an object
}

// maxCalls is how many subscriptions and files one run may ask for.
const maxCalls = 64

// bridge answers the calls of one run.
type bridge struct {
	name   string
	host   Host
	nodes  []*sandrone.Node
	pieces [][]byte
	calls  int
	logs   []string
}

func (b *bridge) Log(text string) {
	if len(b.logs) < js.MaxLogs {
		b.logs = append(b.logs, text)
	}
}

// Call answers a call. A panic of the host ends the call, not the program.
func (b *bridge) Call(ctx context.Context, method string, args []byte) (answer []byte, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = sandrone.Errorf(sandrone.InternalError, "internal error").Because(fmt.Errorf("panic in %s: %v", method, v))
		}
	}()
	d, err := readTree(nil, args)
	if err != nil || d[0].Kind != doc.List {
		return nil, sandrone.Errorf(sandrone.InvalidArgument, "the arguments are no JSON")
	}
	var at []int // of the arguments
	for i := 1; i < len(d); i = d.Next(i) {
		at = append(at, i)
	}
	// options fills v from the argument after the first; none and null leave
	// it empty.
	options := func(v any) error {
		if len(at) < 2 {
			return nil
		}
		if err := decodeJSON(doc.JSONOf(d, at[1]), v); err != nil {
			return sandrone.Errorf(sandrone.InvalidArgument, "options: %v", err)
		}
		return nil
	}
	if b.host == nil {
		return nil, sandrone.Errorf(sandrone.InvalidArgument, "api.%s is not available here", method)
	}
	if method == "probe" {
		return b.probe(ctx, d, at, options)
	}

	if b.calls++; b.calls > maxCalls {
		return nil, runtimeError(b.name, "more than "+strconv.Itoa(maxCalls)+" subscriptions and files were asked for")
	}
	name := ""
	if len(at) > 0 {
		name = strings.TrimSpace(d[at[0]].Text)
	}
	if name == "" {
		return nil, sandrone.Errorf(sandrone.InvalidArgument, "api.%s needs a name", method)
	}
	var o struct {
		Target string            `json:"target"`
		Args   map[string]string `json:"args"`
	}
	if err := options(&o); err != nil {
		return nil, err
	}
	switch method {
	case "subscription.produce":
		return b.produce(ctx, name, ProduceOptions{Target: strings.TrimSpace(o.Target), Args: o.Args})
	case "file.content":
		text, err := b.host.Content(ctx, name, o.Args)
		if err != nil {
			return nil, err
		}
		return encode(text)
	}
	return nil, sandrone.Errorf(sandrone.InvalidArgument, "no such method")
}

func (b *bridge) produce(ctx context.Context, name string, o ProduceOptions) ([]byte, error) {
	p, err := b.host.Produce(ctx, name, o)
	if err != nil {
		return nil, err
	}
	if o.Target != "" {
		return encode(struct {
			Kind    string          `json:"kind"`
			Target  string          `json:"target"`
			Content string          `json:"content"`
			Report  sandrone.Report `json:"report"`
		}{"content", o.Target, p.Content, p.Report})
	}
	nodes := p.Nodes
	if nodes == nil {
		nodes = []sandrone.Node{}
	}
	return encode(struct {
		Kind   string          `json:"kind"`
		Nodes  []sandrone.Node `json:"nodes"`
		Report sandrone.Report `json:"report"`
	}{"nodes", nodes, p.Report})
}

func (b *bridge) probe(ctx context.Context, d doc.Items, at []int, options func(any) error) ([]byte, error) {
	if len(at) == 0 || d[at[0]].Kind != doc.List {
		return nil, runtimeError(b.name, "api.probe needs an array of nodes")
	}
	picked, ok := b.pick(d, at[0])
	if !ok {
		return nil, runtimeError(b.name, "api.probe takes nodes of the input only, unchanged")
	}
	var o ProbeOptions
	if err := options(&o); err != nil {
		return nil, err
	}
	nodes := make([]sandrone.Node, len(picked))
	for i, n := range picked {
		nodes[i] = *b.nodes[n]
	}
	p, err := b.host.Probe(ctx, nodes, o)
	if err != nil {
		return nil, err
	}
	return encode(struct {
		Results any `json:"results"`
		Report  any `json:"report"`
	}{p.Results, p.Report})
}

// pick finds the input nodes that a script wants to probe; ok is false where
// it has one that is not of the input, or one more often than the input. A
// node goes by its index or is given in full.
func (b *bridge) pick(d doc.Items, list int) (picked []int, ok bool) {
	used := make(map[int]bool)
	exact := true
	for i := list + 1; i < d.Next(list); i = d.Next(i) {
		n, err := strconv.Atoi(d[i].Text)
		if d[i].Kind != doc.Num || err != nil || n < 0 || n >= len(b.nodes) || used[n] {
			exact = false
			break
		}
		used[n] = true
		picked = append(picked, n)
	}
	if exact {
		return picked, true
	}

	// The same content may stand at several places; each is taken once.
	places := make(map[string][]int, len(b.pieces))
	for i := range b.pieces {
		key := canonical(b.pieces[i])
		places[key] = append(places[key], i)
	}
	picked = picked[:0]
	for i := list + 1; i < d.Next(list); i = d.Next(i) {
		var form []byte
		if n, err := strconv.Atoi(d[i].Text); d[i].Kind == doc.Num {
			if err != nil || n < 0 || n >= len(b.pieces) {
				return nil, false
			}
			form = b.pieces[n]
		} else {
			form = doc.JSONOf(d, i)
		}
		key := canonical(form)
		if len(places[key]) == 0 {
			return nil, false
		}
		picked = append(picked, places[key][0])
		places[key] = places[key][1:]
	}
	return picked, true
}

// canonical returns a form of a JSON text that is the same for equal values:
// sorted keys, and numbers as JavaScript has them.
func canonical(text []byte) string {
	var v any
	if json.Unmarshal(text, &v) != nil {
		return ""
	}
	form, _ := json.Marshal(v)
	return string(form)
}
