package processors_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert/nodetest"
	"github.com/sandrone-gateway/sandrone/processors"
)

// spec is a step of the nodes stage; params is JSON, "" for none.
func spec(kind, params string) sandrone.ProcessorSpec {
	s := sandrone.ProcessorSpec{Type: kind}
	if params != "" {
		s.Params = json.RawMessage(params)
	}
	return s
}

// named makes nodes that differ in their names only.
func named(names ...string) []sandrone.Node {
	nodes := make([]sandrone.Node, len(names))
	for i, name := range names {
		nodes[i] = sandrone.Node{Name: name, Type: sandrone.Shadowsocks, Server: "h.example", Port: 443, Cipher: "aes-128-gcm", Password: "p"}
	}
	return nodes
}

func namesOf(nodes []sandrone.Node) []string {
	names := []string{}
	for i := range nodes {
		names = append(names, nodes[i].Name)
	}
	return names
}

// run runs steps and fails the test if they fail.
func run(t *testing.T, nodes []sandrone.Node, specs ...sandrone.ProcessorSpec) processors.Result {
	t.Helper()
	res, err := registry.Nodes(t.Context(), processors.Run{}, specs, nodes)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func TestTraceTellsWhatEachStepDidToEachNode(t *testing.T) {
	specs := []sandrone.ProcessorSpec{
		{Type: "rename", Name: "tag", Params: json.RawMessage(`{"mode":"replace","pattern":"^HK","replacement":"Hong Kong"}`)},
		{Type: "filter", Disabled: true, Params: json.RawMessage(`"nonsense"`)},
		{Type: "merge", Stage: "file"},
		spec("filter", `{"action":"drop","field":"name","match":"regex","pattern":"US"}`),
		spec("flag", `{}`),
		spec("sort", `{"by":"-name"}`),
	}
	run := processors.Run{Trace: true, Services: processors.Services{Now: func() time.Time { return time.Unix(0, 0) }}}
	res, err := registry.Nodes(t.Context(), run, specs, named("HK 1", "US 1", "JP 1", "🏴‍☠️ x"))
	if err != nil {
		t.Fatal(err)
	}
	if got := namesOf(res.Nodes); !slices.Equal(got, []string{"🏴‍☠️ x", "🇯🇵 JP 1", "🇭🇰 Hong Kong 1"}) {
		t.Errorf("names %q", got)
	}
	want := `[{"index":0,"type":"rename","name":"tag","in":4,"out":4,"added":0,"modified":1,"removed":0,"duration_ms":0,"warning_count":0},` +
		`{"index":1,"type":"filter","disabled":true,"in":4,"out":4,"added":0,"modified":0,"removed":0,"duration_ms":0,"warning_count":0},` +
		`{"index":2,"type":"merge","skipped":true,"in":4,"out":4,"added":0,"modified":0,"removed":0,"duration_ms":0,"warning_count":0},` +
		`{"index":3,"type":"filter","in":4,"out":3,"added":0,"modified":0,"removed":1,"duration_ms":0,"warning_count":0},` +
		`{"index":4,"type":"flag","in":3,"out":3,"added":0,"modified":2,"removed":0,"duration_ms":0,"warning_count":0},` +
		`{"index":5,"type":"sort","in":3,"out":3,"added":0,"modified":0,"removed":0,"duration_ms":0,"warning_count":0}]`
	if got, _ := json.Marshal(res.Trace.Steps); string(got) != want {
		t.Errorf("steps %s", got)
	}
	wantNodes := `[{"changed_by":[0,4],"region":"hk","matched":"Hong Kong"},{"removed_by":3},{"changed_by":[4],"region":"jp","matched":"JP"},{}]`
	if got, _ := json.Marshal(res.Trace.Nodes); string(got) != wantNodes {
		t.Errorf("nodes %s", got)
	}
	var out []int
	for _, n := range res.Trace.Nodes {
		out = append(out, n.Out)
	}
	if !slices.Equal(out, []int{2, -1, 1, 0}) {
		t.Errorf("places %v", out)
	}
}

func TestAFailingStepEndsTheTraceAndSaysWhereItIs(t *testing.T) {
	specs := []sandrone.ProcessorSpec{
		spec("rename", `{"mode":"prefix","value":"x"}`),
		spec("regex_rename", `{"rules":[{"pattern":"a"},{"pattern":"("}]}`),
		spec("sort", ""),
	}
	res, err := registry.Nodes(t.Context(), processors.Run{Trace: true, Field: "subscription.processors"}, specs, named("a"))
	e := sandrone.AsError(err)
	if e.Code != sandrone.ProcessorConfigInvalid || e.Processor != "regex_rename" || *e.ProcessorIndex != 1 || e.Field != "subscription.processors[1].params.rules[1].pattern" {
		t.Errorf("error %+v", e)
	}
	if res.Nodes != nil || res.Warnings != nil || len(res.Trace.Steps) != 2 {
		t.Fatalf("result %+v", res)
	}
	last := res.Trace.Steps[1]
	if last.Error == nil || last.Error.Code != sandrone.ProcessorConfigInvalid || last.Error.ProcessorIndex != nil || last.In != 1 || last.Out != 0 {
		t.Errorf("last step %+v", last)
	}
}

func TestStagesAreResolvedBeforeAnyStepRuns(t *testing.T) {
	failing := spec("filter", `{}`) // would fail first if it were built first
	for _, c := range []struct {
		name  string
		spec  sandrone.ProcessorSpec
		code  sandrone.Code
		field string
		index int
	}{
		{"unknown type", spec("frobnicate", ""), sandrone.ProcessorUnknown, "processors[1].type", 1},
		{"type in another case", spec("Sort", ""), sandrone.ProcessorUnknown, "processors[1].type", 1},
		{"type of two stages", spec("script", ""), sandrone.ProcessorConfigInvalid, "processors[1].stage", 1},
		{"unknown stage", sandrone.ProcessorSpec{Type: "sort", Stage: "Nodes"}, sandrone.ProcessorConfigInvalid, "processors[1].stage", 1},
		// A stated stage is taken at its word until the step's turn comes.
		{"not of its stage", sandrone.ProcessorSpec{Type: "frobnicate", Stage: "nodes"}, sandrone.ProcessorConfigInvalid, "processors[0].params.action", 0},
		{"of the other stage", sandrone.ProcessorSpec{Type: "frobnicate", Stage: "file"}, sandrone.ProcessorConfigInvalid, "processors[0].params.action", 0},
	} {
		_, err := registry.Nodes(t.Context(), processors.Run{}, []sandrone.ProcessorSpec{failing, c.spec}, nil)
		if e := sandrone.AsError(err); e.Code != c.code || e.Field != c.field || *e.ProcessorIndex != c.index {
			t.Errorf("%s: got %+v", c.name, e)
		}
	}
	_, err := registry.Nodes(t.Context(), processors.Run{}, []sandrone.ProcessorSpec{{Type: "frobnicate", Stage: "nodes"}}, nil)
	if e := sandrone.AsError(err); e.Code != sandrone.ProcessorUnknown {
		t.Errorf("when its turn comes: %+v", e)
	}
}

func TestCheckWarnsOfWhatCouldNotRun(t *testing.T) {
	warnings := registry.Check(sandrone.NodesStage, "", []sandrone.ProcessorSpec{
		spec("sort", ""),
		spec("filter", `{"action":"keep"}`),
		spec("frobnicate", ""),
		{Type: "filter", Disabled: true},
		{Type: "frobnicate", Stage: "file"},
		{Type: "sort", Stage: "elsewhere"},
		spec("sort", `"by"`),
	})
	var got []string
	for _, w := range warnings {
		got = append(got, fmt.Sprintf("%d %s %s", *w.ProcessorIndex, w.Code, w.Field))
	}
	want := []string{
		"1 processor_config_invalid processors[1].params.field",
		"2 processor_unknown processors[2].type",
		"5 processor_config_invalid processors[5].stage",
		"6 processor_config_invalid processors[6].params",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

type failingProber struct{ err error }

func (p failingProber) Probe(context.Context, []sandrone.Node, sandrone.ProbeOptions) (sandrone.ProbeAnswer, error) {
	return sandrone.ProbeAnswer{}, p.err
}

func TestErrorsOfServicesKeepTheirCodeOrGetTheStepsOwn(t *testing.T) {
	specs := []sandrone.ProcessorSpec{spec("probe", "")}
	for _, c := range []struct {
		name string
		err  error
		code sandrone.Code
	}{
		{"coded", sandrone.Errorf(sandrone.ProbeCoreUnavailable, "no core").At("core"), sandrone.ProbeCoreUnavailable},
		{"wrapped", fmt.Errorf("x: %w", sandrone.Errorf(sandrone.Conflict, "cycle")), sandrone.Conflict},
		{"uncoded", errors.New("secret"), sandrone.NodeProcessorFailed},
	} {
		_, err := registry.Nodes(t.Context(), processors.Run{Services: processors.Services{Prober: failingProber{c.err}}}, specs, named("a"))
		e := sandrone.AsError(err)
		if e.Code != c.code || e.Processor != "probe" || e.Field != "" || strings.Contains(e.Message, "secret") {
			t.Errorf("%s: %+v", c.name, e)
		}
	}
	_, err := registry.Nodes(t.Context(), processors.Run{}, specs, named("a"))
	if e := sandrone.AsError(err); e.Code != sandrone.ProbeBackendUnavailable {
		t.Errorf("without a prober: %+v", e)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := registry.Nodes(ctx, processors.Run{}, []sandrone.ProcessorSpec{spec("sort", "")}, named("a")); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestEveryTypeDescribesItself(t *testing.T) {
	types := []string{"conditional_filter", "dedup", "duplicate_names", "filter", "flag", "limit", "node_patch", "probe", "quick_settings", "regex_delete",
		"regex_rename", "regex_sort", "region_filter", "rename", "resolve_domain", "script", "shuffle", "sort", "useless_filter"}
	if got := registry.Types(sandrone.NodesStage); !slices.Equal(got, types) {
		t.Errorf("types %q", got)
	}
	previous := ""
	for _, d := range registry.Descriptors() {
		if place := d.Stage + "/" + d.Type; place <= previous {
			t.Errorf("%s comes after %s", place, previous)
		} else {
			previous = place
		}
		if d.Description == "" || len(d.ErrorCodes) == 0 || len(d.Examples) == 0 {
			t.Errorf("%s: %+v", d.Type, d)
		}
		if registry.Descriptor(d.Stage, d.Type) != d {
			t.Errorf("%s is not found", d.Type)
		}
		if d.Type == "script" {
			continue
		}
		var schema jsonschema.Schema
		if err := json.Unmarshal(d.ParamsSchema, &schema); err != nil {
			t.Fatal(err)
		}
		resolved, err := schema.Resolve(nil)
		if err != nil {
			t.Fatalf("%s: %v", d.Type, err)
		}
		for _, example := range d.Examples {
			if example.Type != d.Type {
				t.Errorf("%s: example of %s", d.Type, example.Type)
			}
			var params any
			if err := json.Unmarshal(example.Params, &params); err != nil {
				t.Fatal(err)
			}
			if err := resolved.Validate(params); err != nil {
				t.Errorf("%s: example %s: %v", d.Type, example.Params, err)
			}
			if w := registry.Check(d.Stage, "", []sandrone.ProcessorSpec{example}); w != nil {
				t.Errorf("%s: example %s: %+v", d.Type, example.Params, w)
			}
		}
		if resolved.Validate(map[string]any{"patern": "x"}) == nil {
			t.Errorf("%s: the schema is not closed", d.Type)
		}
	}
}

func TestParamsAreStrict(t *testing.T) {
	for _, d := range registry.Descriptors() {
		if d.Type == "script" {
			continue
		}
		var schema struct {
			Properties map[string]struct{ Type string }
		}
		if err := json.Unmarshal(d.ParamsSchema, &schema); err != nil {
			t.Fatal(err)
		}
		wrong := []string{`"text"`, `[]`, `7`, `{"unknown":1}`}
		for name, p := range schema.Properties {
			for kind, value := range map[string]string{"string": `"\u0000"`, "array": `[{"x":[]}]`, "boolean": `true`, "integer": `1`, "object": `{"":1}`, "null": `null`} {
				if kind != p.Type {
					wrong = append(wrong, fmt.Sprintf(`{%q:%s}`, name, value))
				}
			}
		}
		for _, params := range wrong {
			if d.Type == "node_patch" && strings.HasPrefix(params, `{"match":`) || d.Type == "conditional_filter" {
				params = strings.Replace(params, "true", "7", 1)
			}
			w := registry.Check(d.Stage, "", []sandrone.ProcessorSpec{spec(d.Type, params)})
			if len(w) != 1 || w[0].Code != string(sandrone.ProcessorConfigInvalid) || !strings.HasPrefix(w[0].Field, "processors[0].params") {
				t.Errorf("%s: %s: %+v", d.Type, params, w)
			}
		}
	}
}

// chains are lists of steps that between them touch every field of a node.
func chains() [][]sandrone.ProcessorSpec {
	insecure := spec("quick_settings", `{"udp":"enabled","tfo":"disabled","allow_insecure":"enabled","vmess_aead":"enabled","reuse":"disabled","ip_version":"ipv6","ecn":"disabled","block_quic":"auto"}`)
	patch := spec("node_patch", `{"unset":["tls.alpn","transport","meta.group","raw","plugin_options","wireguard","hysteria.quic"],`+
		`"set":{"tls":{"reality":{"short_id":"ab"},"server_name":"x"},"meta.group":"g","headers":{"A":"b"},"plugin_options.mode":"tls","snell.version":3,"tags":["a"]}}`)
	return [][]sandrone.ProcessorSpec{
		{insecure, patch, spec("flag", ""), spec("duplicate_names", ""), spec("dedup", `{"strategy":"random_suffix"}`)},
		{spec("shuffle", `{"seed":1}`), spec("sort", `{"by":"port,-name"}`), spec("dedup", `{"strategy":"connection"}`), spec("limit", `{"count":2,"per":"type"}`)},
		{spec("useless_filter", ""), spec("rename", `{"trim":true,"mode":"template","value":"{name} {type}"}`), spec("regex_delete", `{"patterns":["[a-f]+"]}`), spec("regex_sort", `{"patterns":["x"],"order":"desc"}`)},
		{spec("resolve_domain", `{"provider":"system"}`), spec("probe", `{"annotate":true}`),
			spec("conditional_filter", `{"action":"drop","rule":{"any":[{"attr":"tls.enabled","op":"equals","value":true},{"attr":"transport.headers.Host","op":"exists"}]}}`)},
	}
}

func TestStepsNeverChangeTheirInput(t *testing.T) {
	rng := nodetest.Rand(1)
	for _, specs := range chains() {
		var nodes []sandrone.Node
		for _, kind := range sandrone.Types {
			nodes = append(nodes, nodetest.Full(rng, kind), nodetest.Full(rng, kind))
		}
		for i := range nodes {
			nodes[i].Name = fmt.Sprint(nodes[i].Name, i/2)
			if specs[1].Type == "probe" {
				nodes[i].Name = fmt.Sprint(i)
			}
		}
		before := make([]sandrone.Node, len(nodes))
		for i := range nodes {
			before[i] = nodetest.Clone(nodes[i])
		}
		services := processors.Services{Prober: allAlive{}, Network: everywhere{}}
		res, err := registry.Nodes(t.Context(), processors.Run{Trace: true, Services: services}, specs, nodes)
		if err != nil {
			t.Fatal(err)
		}
		for i := range nodes {
			if !reflect.DeepEqual(nodes[i], before[i]) {
				t.Errorf("%s of %s changed: %v", nodes[i].Type, specs[0].Type, nodetest.Diff(&nodes[i], &before[i]))
			}
		}
		// A node is modified when and only when a step says so.
		for i, n := range res.Trace.Nodes {
			if n.Out < 0 {
				continue
			}
			if changed := !reflect.DeepEqual(res.Nodes[n.Out], nodes[i]); changed && n.ChangedBy == nil {
				t.Errorf("%s: changed, and no step says so", nodes[i].Type)
			}
		}
	}
}

func TestFiveStepsOverTenThousandNodesAreQuick(t *testing.T) {
	nodes := manyNodes(10_000)
	specs := fiveSteps()
	start := time.Now()
	res, err := registry.Nodes(t.Context(), processors.Run{Trace: true}, specs, nodes)
	if err != nil || len(res.Nodes) < 5_000 {
		t.Fatal(len(res.Nodes), err)
	}
	// Far more than it takes, so that only a change of order shows.
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
}

func fiveSteps() []sandrone.ProcessorSpec {
	return []sandrone.ProcessorSpec{
		spec("filter", `{"action":"drop","field":"name","match":"regex","pattern":"(?i)expire|剩余|流量"}`),
		spec("regex_rename", `{"rules":[{"pattern":"(?i)\\[?iepl\\]?","replacement":""},{"pattern":"\\s+","replacement":" "}]}`),
		spec("flag", ""),
		spec("dedup", `{"strategy":"random_suffix"}`),
		spec("sort", ""),
	}
}

func manyNodes(n int) []sandrone.Node {
	nodes := make([]sandrone.Node, n)
	places := []string{"香港", "HK", "Frankfurt", "New Zealand", "美国 IEPL", "JP [IEPL]", "nowhere", "剩余流量"}
	for i := range nodes {
		nodes[i] = sandrone.Node{
			Name: fmt.Sprintf("%s  专线 %02d", places[i%len(places)], i%500), Type: sandrone.Trojan, Server: fmt.Sprintf("h%d.example", i), Port: 443, Password: "p",
			TLS: &sandrone.TLS{Enabled: true, ServerName: "a.example"},
		}
	}
	return nodes
}

func BenchmarkFiveSteps(b *testing.B) {
	nodes, specs := manyNodes(10_000), fiveSteps()
	for b.Loop() {
		if _, err := registry.Nodes(b.Context(), processors.Run{Trace: true}, specs, nodes); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkIdentity(b *testing.B) {
	nodes := manyNodes(1)
	for b.Loop() {
		processors.Identity(&nodes[0])
	}
}
