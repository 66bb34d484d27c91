package script_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/processors/script"
)

// fakeHost answers calls from what it is asked.
type fakeHost struct{}

func (fakeHost) Produce(ctx context.Context, name string, o script.ProduceOptions) (script.Produced, error) {
	switch name {
	case "missing":
		return script.Produced{}, &sandrone.Error{Code: sandrone.NotFound, Message: "no such subscription", ResourceKind: "subscription", ResourceName: name}
	case "loop":
		return script.Produced{}, sandrone.Errorf(sandrone.Conflict, "subscription dependency cycle at %q", name)
	case "uncoded":
		return script.Produced{}, errors.New("internal secret")
	case "panic":
		panic("internal secret")
	case "wait":
		<-ctx.Done()
		return script.Produced{}, context.Cause(ctx)
	}
	r := sandrone.Report{Kind: "subscription_produce", Status: sandrone.StatusOK}
	if o.Target != "" {
		return script.Produced{Content: fmt.Sprint("content of ", name, " as ", o.Target, " with ", o.Args), Report: r}, nil
	}
	return script.Produced{Nodes: []sandrone.Node{{Name: name + fmt.Sprint(o.Args), Type: "ss", Password: "produced-secret"}}, Report: r}, nil
}

func (fakeHost) Content(_ context.Context, name string, args map[string]string) (string, error) {
	if name == "outside" {
		return "", sandrone.Errorf(sandrone.InvalidArgument, "api.file.content works only while a file is rendered")
	}
	return fmt.Sprint("file ", name, args), nil
}

func (fakeHost) Probe(_ context.Context, nodes []sandrone.Node, o script.ProbeOptions) (script.Probed, error) {
	if o.Method == "bad" {
		return script.Probed{}, sandrone.Errorf(sandrone.ProbeCoreUnavailable, "no core")
	}
	results := []any{}
	for _, n := range nodes {
		results = append(results, map[string]any{"node_name": n.Name, "alive": true, "method": o.Method})
	}
	return script.Probed{Results: results, Report: map[string]any{"kind": "probe", "warnings": []sandrone.Warning{{Code: "probe_timeout", Message: "m"}}}}, nil
}

func TestCallsOfTheHost(t *testing.T) {
	for expression, want := range map[string]string{
		`JSON.stringify(api.subscription.produce("s"))`:                       `{"kind":"nodes","nodes":[{"name":"smap[]","type":"ss","password":"produced-secret"}],"report":{"kind":"subscription_produce","status":"ok","created_at":"0001-01-01T00:00:00Z","render":{"success_count":0,"lost_fields":0}}}`,
		`api.subscription.produce("s", {args: {a: "1"}, x: 5}).nodes[0].name`: `smap[a:1]`,
		`api.subscription.produce("s", null, 1).kind`:                         `nodes`,
		`api.subscription.produce("s", undefined).kind`:                       `nodes`,
		`api.subscription.produce("s", {target: "uri-list"}).content`:         `content of s as uri-list with map[]`,
		`api.subscription.produce("s", {target: "uri-list"}).kind`:            `content`,
		`api.subscription.produce("s", {target: "uri-list"}).target`:          `uri-list`,
		`api.file.content("f.yaml", {args: {a: "1"}})`:                        `file f.yamlmap[a:1]`,
		`api.file.content(5)`: `file 5map[]`,
		`(() => { try { api.subscription.produce("missing") } catch (e) { return e instanceof Error && e.code + ": " + e.message } })()`: `not_found: no such subscription`,
		`typeof api.probe`: `undefined`,
	} {
		runners(t, func(t *testing.T, r script.Runner) {
			if got := eval(t, script.Env{Runner: r, Host: fakeHost{}}, expression); got != want {
				t.Errorf("%s: got %s, want %s", expression, got, want)
			}
		})
	}
}

func TestFailedCallsKeepTheirCode(t *testing.T) {
	for _, c := range []struct {
		text    string
		code    sandrone.Code
		message string
	}{
		{`api.subscription.produce()`, sandrone.InvalidArgument, ""},
		{`api.subscription.produce("  ")`, sandrone.InvalidArgument, ""},
		{`api.file.content()`, sandrone.InvalidArgument, ""},
		{`api.file.content("outside")`, sandrone.InvalidArgument, "api.file.content works only while a file is rendered"},
		{`api.subscription.produce("missing")`, sandrone.NotFound, "no such subscription"},
		{`api.subscription.produce("loop")`, sandrone.Conflict, `subscription dependency cycle at "loop"`},
		{`api.subscription.produce("s", {args: {a: 5}})`, sandrone.InvalidArgument, ""},
		{`api.subscription.produce("s", {target: 5})`, sandrone.InvalidArgument, ""},
		{`api.subscription.produce("s", "x")`, sandrone.InvalidArgument, ""},
		{`api.subscription.produce("s", {f() {}})`, sandrone.ScriptRuntime, ""},
		{`api.subscription.produce("uncoded")`, sandrone.ScriptRuntime, ""},
		{`api.subscription.produce("panic")`, sandrone.InternalError, "internal error"},
		{`for (let i = 0; i < 65; i++) api.file.content("f")`, sandrone.ScriptRuntime, ""},
		{`try { api.subscription.produce("missing") } catch (e) { throw e }`, sandrone.NotFound, ""},
		{`try { api.subscription.produce("missing") } catch (e) { throw new Error(e.message) }`, sandrone.ScriptRuntime, ""},
		{`try { api.subscription.produce("missing") } catch {} api.subscription.produce("loop")`, sandrone.Conflict, ""},
		{`api.probe()`, sandrone.ScriptRuntime, ""},
		{`api.probe({})`, sandrone.ScriptRuntime, ""},
		{`api.probe([{name: "x", type: "ss"}])`, sandrone.ScriptRuntime, ""},
		{`api.probe([{...input.nodes[0], extra: 1}])`, sandrone.ScriptRuntime, ""},
		{`const n = input.nodes[0]; n.name += "!"; api.probe([n])`, sandrone.ScriptRuntime, ""},
		{`api.probe([input.nodes[0], input.nodes[0]])`, sandrone.ScriptRuntime, ""},
		{`api.probe([0])`, sandrone.ScriptRuntime, ""},
		{`api.probe([1e9])`, sandrone.ScriptRuntime, ""},
		{`api.probe(input.nodes, {timeout_ms: "x"})`, sandrone.InvalidArgument, ""},
		{`api.probe(input.nodes, {method: "bad"})`, sandrone.ProbeCoreUnavailable, "no core"},
	} {
		runners(t, func(t *testing.T, r script.Runner) {
			_, _, err := runNodes(script.Env{Runner: r, Host: fakeHost{}}, params("function main(input, api) {\n"+c.text+" }"), script.Input{}, sample...)
			e := sandrone.AsError(err)
			if codeOf(err) != c.code || c.message != "" && e.Message != c.message || strings.Contains(e.Message, "internal secret") {
				t.Errorf("%s: got %v, want %s", c.text, err, c.code)
			} else if e.Line != 2 {
				t.Errorf("%s: got line %d", c.text, e.Line)
			}
		})
	}
	if _, _, err := runNodes(script.Env{Runner: pool}, params(`function main() { api.file.content("f") }`), script.Input{}); codeOf(err) != sandrone.InvalidArgument {
		t.Errorf("without a host: got %v", err)
	}
}

func TestAFailedCallKeepsWhatItIsAbout(t *testing.T) {
	runners(t, func(t *testing.T, r script.Runner) {
		_, _, err := runNodes(script.Env{Runner: r, Host: fakeHost{}}, params(`function main() { api.subscription.produce("missing") }`), script.Input{})
		if e := sandrone.AsError(err); e == nil || e.ResourceKind != "subscription" || e.ResourceName != "missing" {
			t.Errorf("got %#v", err)
		}
	})
}

func TestProbeTakesNodesOfTheInput(t *testing.T) {
	twice := append(sample[:2:2], sample[0])
	for _, c := range []struct {
		nodes      []sandrone.Node
		text, want string
	}{
		{sample, `api.probe(input.nodes, {method: "tcp_connect", other: 1})`, "HK 01 tcp_connect,JP 02 tcp_connect,US 04 tcp_connect"},
		{sample, `api.probe([input.nodes[2], {...input.nodes[0]}], null)`, "US 04 ,HK 01 "},
		{sample, `api.probe([])`, ""},
		{twice, `api.probe([input.nodes[0], input.nodes[0]])`, "HK 01 ,HK 01 "},
		{twice, `api.probe([input.nodes[2], {...input.nodes[0]}])`, "HK 01 ,HK 01 "},
	} {
		runners(t, func(t *testing.T, r script.Runner) {
			got, out, err := runNodes(script.Env{Runner: r, Host: fakeHost{}}, params(`function main(input, api) {
				api.warn({code: "before"});
				const r = `+c.text+`;
				api.warn({code: "after"});
				if (r.report.kind !== "probe") throw new Error("report");
				return {nodes: r.results.map(n => ({name: n.node_name + " " + n.method, type: "ss"}))} }`), script.Input{}, c.nodes...)
			if err != nil || names(got) != c.want {
				t.Fatalf("%s: got %q, %v", c.text, names(got), err)
			}
			if len(out.Warnings) != 3 || out.Warnings[1].Code != "probe_timeout" || out.Warnings[2].Code != "after" {
				t.Errorf("%s: got warnings %v", c.text, out.Warnings)
			}
		})
	}
}

func TestACallThatTakesTooLongIsATimeout(t *testing.T) {
	runners(t, func(t *testing.T, r script.Runner) {
		_, _, err := runNodes(script.Env{Runner: r, Host: fakeHost{}}, params(`function main() { api.subscription.produce("wait") }`, "timeout_ms", 100), script.Input{})
		if codeOf(err) != sandrone.ScriptTimeout {
			t.Errorf("got %v", err)
		}
	})
}
