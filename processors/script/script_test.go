package script_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert/nodetest"
	"github.com/sandrone-gateway/sandrone/processors/script"
)

// stage runs a script on the sample and compares the names that come out.
func TestNodesStage(t *testing.T) {
	for _, c := range []struct {
		name, text, want string
		warnings         []string // code and node
	}{
		{"rename", `function main(i) { i.nodes.forEach(n => n.name += "!"); return i }`, "HK 01!,JP 02!,US 04!", nil},
		{"filter", `const main = i => ({nodes: i.nodes.filter(n => n.port === 443)})`, "JP 02,US 04", nil},
		{"reorder", `let main = function (i) { i.nodes.reverse(); return i }`, "US 04,JP 02,HK 01", nil},
		{"copy", `var main = i => ({nodes: i.nodes.concat(i.nodes[0])})`, "HK 01,JP 02,US 04,HK 01", nil},
		{"new node", `function main() { return {nodes: [{name: "n", type: "ss", nothing: 1}]} }`, "n", nil},
		{"empty object is no node", `function main() { return {} }`, "", nil},
		{"null nodes are none", `function main() { return {nodes: null} }`, "", nil},
		{"undefined keeps the input", `function main(i) { i.nodes.length = 0; api.warn({message: "kept"}) }`, "HK 01,JP 02,US 04", []string{"script_warning "}},
		{"null keeps the input", `function main(i) { i.nodes[0].name = "x"; return null }`, "HK 01,JP 02,US 04", nil},
		{"order of warnings", `function main(i, api) { api.warn({code: "c", node: "n"}); i.nodes[1].ext = {b: 1, a: 2}; i.warnings = [{code: "r", message: "m"}]; return i }`,
			"HK 01,JP 02,US 04", []string{"script_ext_field JP 02", "script_ext_field JP 02", "r ", "c n"}},
		{"api is global and this is undefined", `function main() { return {nodes: [{name: typeof this + typeof api.warn, type: "ss"}]} }`, "undefinedfunction", nil},
		{"toJSON is followed", `function main() { return {toJSON() { return {nodes: [{toJSON: () => ({name: "j", type: {toJSON: () => "ss"}})}]} }} }`, "j", nil},
		{"proxies are followed", `function main(i) { return new Proxy({nodes: new Proxy(i.nodes, {}).map(n => new Proxy(n, {}))}, {}) }`, "HK 01,JP 02,US 04", nil},
		{"frozen", `function main(i) { return Object.freeze({nodes: Object.freeze(i.nodes.map(Object.freeze))}) }`, "HK 01,JP 02,US 04", nil},
		{"a changed prototype is no trap", `function main(i) { Object.defineProperty(Object.prototype, "name", {set() { throw 1 }, configurable: true}); return i }`, "HK 01,JP 02,US 04", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			runners(t, func(t *testing.T, r script.Runner) {
				nodes, out, err := runNodes(script.Env{Runner: r}, params(c.text), script.Input{}, sample...)
				if err != nil || names(nodes) != c.want {
					t.Fatalf("got %q, %v; want %q", names(nodes), err, c.want)
				}
				var warnings []string
				for _, w := range out.Warnings {
					warnings = append(warnings, w.Code+" "+w.Node)
				}
				if !slices.Equal(warnings, c.warnings) {
					t.Errorf("got warnings %q, want %q", warnings, c.warnings)
				}
			})
		})
	}
}

func TestNodesKeepWhatIsNotTouched(t *testing.T) {
	before := slices.Clone(sample)
	runners(t, func(t *testing.T, r script.Runner) {
		for _, text := range []string{
			`function main(i) { i.nodes[2].name = "new"; return i }`,
			`function main(i) { i.nodes = i.nodes.map(n => ({...n})); i.nodes[2].name = "new"; return i }`,
		} {
			got, _, err := runNodes(script.Env{Runner: r}, params(text), script.Input{}, sample...)
			if err != nil {
				t.Fatal(err)
			}
			want := slices.Clone(before)
			want[2].Name = "new"
			// Numbers beyond those of JavaScript and their digits, too.
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(before, sample); d != "" {
				t.Error("the input was changed:", d)
			}
		}
	})
}

func TestNodesEditNestedMembers(t *testing.T) {
	runners(t, func(t *testing.T, r script.Runner) {
		got, _, err := runNodes(script.Env{Runner: r}, params(`function main(i) {
			const [a, b, c] = i.nodes;
			a.plugin = "obfs"; a.plugin_options = {mode: "tls", n: 5, list: ["a"]}; a.tags = ["x", "y"]; delete a.cipher;
			b.tls.alpn = ["h2"]; delete b.tls.session_ticket; b.dialer = {udp_relay: false};
			c.raw = {"mihomo.y": {z: 1.5}}; c.uuid = undefined; c.port = 65535; c.transport = {type: "grpc", headers: {}};
			return i }`), script.Input{}, sample...)
		if err != nil {
			t.Fatal(err)
		}
		want := slices.Clone(sample)
		want[0].Plugin, want[0].Tags, want[0].Cipher = "obfs", []string{"x", "y"}, ""
		want[0].PluginOptions = map[string]any{"mode": "tls", "n": 5, "list": []string{"a"}}
		want[1].TLS = &sandrone.TLS{Enabled: true, ServerName: "jp2.example", ALPN: []string{"h2"}}
		want[1].Dialer = &sandrone.Dialer{UDPRelay: sandrone.Off}
		want[2].Raw = sandrone.Raw{"mihomo.y": json.RawMessage(`{"z":1.5}`)}
		want[2].UUID, want[2].Port = "", 65535
		want[2].Transport = &sandrone.Transport{Type: "grpc", Headers: map[string]string{}}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
	})
}

func TestExtMovesToRaw(t *testing.T) {
	runners(t, func(t *testing.T, r script.Runner) {
		got, out, err := runNodes(script.Env{Runner: r}, params(`function main(i) { i.nodes[2].ext = {tier: 2, o: {a: null}}; i.nodes[0].ext = null; return i }`), script.Input{}, sample...)
		if err != nil {
			t.Fatal(err)
		}
		want := sandrone.Raw{"mihomo.x": sample[2].Raw["mihomo.x"], "script.ext.tier": json.RawMessage("2"), "script.ext.o": json.RawMessage(`{"a":null}`)}
		if d := cmp.Diff(want, got[2].Raw); d != "" || got[0].Raw != nil || len(sample[2].Raw) != 1 {
			t.Error(d, got[0].Raw, sample[2].Raw)
		}
		if len(out.Warnings) != 2 || out.Warnings[0].Field != "tier" || out.Warnings[1].Field != "o" || out.Warnings[0].Node != "US 04" {
			t.Errorf("got %+v", out.Warnings)
		}
	})
}

// Whatever a node holds comes back from a script that copies it by hand.
func TestAnyNodeSurvivesACopy(t *testing.T) {
	nodes := nodetest.All(nodetest.Rand(7), 20)
	want := make([]sandrone.Node, len(nodes))
	for i := range nodes {
		want[i] = nodetest.Clone(nodes[i])
	}
	for _, text := range []string{
		`function main(i) { i.nodes = JSON.parse(JSON.stringify(i.nodes)); return i }`,
		`function main(i) { i.nodes = JSON.parse(JSON.stringify(i.nodes.reverse())).reverse(); return i }`,
		`function main(i) { for (const n of i.nodes) n.ext = {}; return i }`,
	} {
		got, out, err := runNodes(script.Env{Runner: pool}, params(text), script.Input{}, nodes...)
		if err != nil || len(got) != len(want) || len(out.Warnings) > 0 {
			t.Fatalf("got %d nodes, %v, %v", len(got), out.Warnings, err)
		}
		for i := range got {
			if d := nodetest.Diff(&got[i], &want[i]); len(d) > 0 {
				t.Fatalf("%s: node %d: %v", text, i, d)
			}
		}
	}
}

func TestEnvelope(t *testing.T) {
	in := script.Input{
		Target: "mihomo-proxies", Format: "f",
		Context: script.Context{InputName: "air", Dependencies: []sandrone.ResourceRef{{Kind: "subscription", Name: "air"}},
			Sources: []script.SourceContext{{Format: "uri-list", SourceRefs: []sandrone.SourceRef{{Kind: "remote", Name: "n"}}}}, Meta: map[string]string{"m": "1"}},
		Request:  script.Request{TraceID: "t", Args: map[string]string{"tag": "#", "b": "2"}, Meta: map[string]string{"k": "v"}},
		Warnings: []sandrone.Warning{{Code: "w", Message: "m"}},
	}
	dump := func(r script.Runner, nodes ...sandrone.Node) string {
		got, _, err := runNodes(script.Env{Runner: r}, params(`function main(i) { const n = i.nodes; delete i.nodes; return {nodes: [{name: JSON.stringify(i) + (n === undefined), type: "ss"}]} }`,
			"args", map[string]any{"tag": "!", "other": []int{1}}), in, nodes...)
		if err != nil {
			t.Fatal(err)
		}
		return got[0].Name
	}
	want := `{"version":1,"stage":"nodes","target":"mihomo-proxies","render_options":{"format":"f"},` +
		`"context":{"input_name":"air","dependencies":[{"kind":"subscription","name":"air"}],"sources":[{"format":"uri-list","source_refs":[{"kind":"remote","name":"n"}]}],"meta":{"m":"1"}},` +
		`"request":{"trace_id":"t","args":{"b":"2","tag":"#"},"meta":{"k":"v"}},"response":{},"args":{"b":"2","other":[1],"tag":"#"},"warnings":[{"code":"w","message":"m"}]}`
	runners(t, func(t *testing.T, r script.Runner) {
		if got := dump(r, sample[0]); got != want+"false" {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if got := dump(r); !strings.HasSuffix(got, "}true") {
			t.Error("an empty batch has nodes")
		}
		got := eval(t, script.Env{Runner: r}, `JSON.stringify(input)`)
		want := `{"version":1,"stage":"file","render_options":{},"context":{},"request":{},"response":{},"file":{"name":"f","kind":"static","content":""}}`
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}

func TestFileStage(t *testing.T) {
	file := script.Document{Name: "n", Kind: "mihomo", MediaType: "application/yaml", Content: "a: 1\n", Meta: map[string]string{"k": "v"}, Warnings: []sandrone.Warning{{Code: "c", Message: "m"}}}
	other := file
	other.Content, other.MediaType, other.Name, other.Kind, other.Encoding = "x", "text/x", "n2", "k2", "e2"
	bare := file
	bare.Content, bare.Meta, bare.Warnings = "", map[string]string{}, []sandrone.Warning{}
	changed := file
	changed.Content = "y"
	for _, c := range []struct {
		name, text string
		want       script.Document
	}{
		{"content", `function main(i) { i.file.content = "y"; return i }`, changed},
		{"all texts", `function main(i) { Object.assign(i.file, {content: "x", media_type: "text/x", name: "n2", kind: "k2", encoding: "e2"}); return i }`, other},
		{"empty texts keep, empty meta and warnings replace", `function main() { return {file: {name: "", kind: "", meta: {}, warnings: []}} }`, bare},
		{"null meta and warnings keep", `function main(i) { i.file.meta = i.file.warnings = null; i.file.content = "y"; return i }`, changed},
		{"no file", `function main() { return {nodes: 5, other: "x"} }`, file},
		{"nothing", `function main(i) { i.file.content = "z" }`, file},
	} {
		t.Run(c.name, func(t *testing.T) {
			runners(t, func(t *testing.T, r script.Runner) {
				got, _, err := runFile(script.Env{Runner: r}, params(c.text), script.Input{Target: "mihomo"}, file)
				if err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(c.want, got); d != "" {
					t.Error(d)
				}
			})
		})
	}
}

func TestErrors(t *testing.T) {
	long := strings.Repeat("long ", 100)
	for _, c := range []struct {
		name, text   string
		code         sandrone.Code
		message      string
		line, column int
	}{
		{"throw", "function main() {\n  throw new Error('boom')\n}", sandrone.ScriptRuntime, "script clean: Error: boom", 2, 9},
		{"throw at top level", "\n\nthrow new TypeError('top')", sandrone.ScriptRuntime, "script clean: TypeError: top", 3, 7},
		{"throw in a helper", "function f() { null.x }\nfunction main() { f() }", sandrone.ScriptRuntime, "", 1, 0},
		{"throw a text", "function main() { throw 'text' }", sandrone.ScriptRuntime, "script clean: text", 1, 0},
		{"throw an object", "function main(i) { throw i.nodes[0] }", sandrone.ScriptRuntime, "script clean: an object was thrown", 1, 0},
		{"throw nothing", "function main() { throw undefined }", sandrone.ScriptRuntime, "", 1, 0},
		{"syntax", "function main() {\n  return ]\n}", sandrone.ScriptRuntime, "script clean: SyntaxError: Unexpected token ]", 2, 10},
		{"end of input", "function main() {", sandrone.ScriptRuntime, "", 1, 0},
		{"strict mode", "function main() { with (Math) {} }", sandrone.ScriptRuntime, "", 1, 0},
		{"assignment to an unknown name", "function main() { x = 1 }", sandrone.ScriptRuntime, "script clean: ReferenceError: x is not defined", 1, 0},
		{"module", "import 'x'; function main() {}", sandrone.ScriptRuntime, "", 1, 0},
		{"export", "export function main() {}", sandrone.ScriptRuntime, "", 1, 0},
		{"no main", "var x = 1", sandrone.ScriptRuntime, "script clean: Error: main is not a function", 0, 0},
		{"main is a value", "var main = 1", sandrone.ScriptRuntime, "script clean: Error: main is not a function", 0, 0},
		{"array", "function main() { return [] }", sandrone.ScriptRuntime, "", 0, 0},
		{"text", "function main() { return 'x' }", sandrone.ScriptRuntime, "", 0, 0},
		{"number", "function main() { return 5 }", sandrone.ScriptRuntime, "", 0, 0},
		{"function", "function main() { return main }", sandrone.ScriptRuntime, "", 0, 0},
		{"promise", "async function main() { return {} }", sandrone.ScriptRuntime, "script clean: Error: main must not return a promise", 0, 0},
		{"thenable", "function main() { return {then() {}} }", sandrone.ScriptRuntime, "script clean: Error: main must not return a promise", 0, 0},
		{"function inside", "function main(i) { i.x = {f() {}}; return i }", sandrone.ScriptRuntime, "script clean: TypeError: a function cannot be JSON", 0, 0},
		{"symbol inside", "function main(i) { i.nodes[0].x = Symbol(); return i }", sandrone.ScriptRuntime, "", 0, 0},
		{"big number inside", "function main(i) { i.nodes[0].port = 1n; return i }", sandrone.ScriptRuntime, "", 0, 0},
		{"cycle", "function main(i) { i.nodes[0].raw = {n: i}; return i }", sandrone.ScriptRuntime, "", 0, 0},
		{"nodes are no array", "function main() { return {nodes: {}} }", sandrone.ScriptRuntime, "", 0, 0},
		{"node is no object", "function main() { return {nodes: ['x']} }", sandrone.ScriptRuntime, "script clean: Error: nodes[0] is not an object", 0, 0},
		{"hole in nodes", "function main(i) { delete i.nodes[1]; return i }", sandrone.ScriptRuntime, "script clean: Error: nodes[1] is not an object", 0, 0},
		{"port is a text", "function main(i) { i.nodes[1].port = '80'; return i }", sandrone.ScriptRuntime, "script clean: nodes[1].port: want a whole number from 0 to 65535", 0, 0},
		{"port is too large", "function main(i) { i.nodes[1].port = 65536; return i }", sandrone.ScriptRuntime, "", 0, 0},
		{"port is a fraction", "function main(i) { i.nodes[1].port = 1.5; return i }", sandrone.ScriptRuntime, "", 0, 0},
		{"nested type", "function main(i) { i.nodes[1].tls.alpn = ['a', 5]; return i }", sandrone.ScriptRuntime, "script clean: nodes[1].tls.alpn[1]: want a text", 0, 0},
		{"key of a map is data", "function main(i) { i.nodes[1].meta = {secret: 5}; return i }", sandrone.ScriptRuntime, "script clean: nodes[1].meta.*: want a text", 0, 0},
		{"switch with three states", "function main(i) { i.nodes[1].dialer = {ecn: 'yes'}; return i }", sandrone.ScriptRuntime, "script clean: nodes[1].dialer.ecn: want true or false", 0, 0},
		{"ext is no object", "function main(i) { i.nodes[1].ext = [1]; return i }", sandrone.ScriptRuntime, "script clean: nodes[1].ext: want an object", 0, 0},
		{"no name", "function main(i) { delete i.nodes[1].name; return i }", sandrone.ScriptRuntime, "script clean: nodes[1] needs a name and a type", 0, 0},
		{"empty type", "function main(i) { i.nodes[1].type = ''; return i }", sandrone.ScriptRuntime, "", 0, 0},
		{"envelope of wrong type", "function main(i) { i.warnings = 'x'; return i }", sandrone.ScriptRuntime, "script clean: warnings: want a list", 0, 0},
		{"too many nodes", "function main(i) { return {nodes: new Array(100001).fill(i.nodes[0])} }", sandrone.ScriptRuntime, "script clean: Error: more than 100000 nodes returned", 0, 0},
		{"too large", "function main() { return {nodes: [{name: 'x'.repeat(33<<20), type: 'ss'}]} }", sandrone.ScriptRuntime, "script clean: TypeError: the value is too large", 0, 0},
		{"too large by copies", "function main(i) { i.nodes[0].path = 'x'.repeat(1<<20); return {nodes: new Array(40).fill(i.nodes[0])} }", sandrone.ScriptRuntime, "", 0, 0},
		{"recursion", "function f() { f() } function main() { f() }", sandrone.ScriptRuntime, "script clean: RangeError: Maximum call stack size exceeded", 1, 0},
		{"time", "function main() {\n for (let i = 0;; i++) { i |= 0 }\n}", sandrone.ScriptTimeout, "script clean: ran longer than 300 ms", 2, 0},
		{"time at top level", "for (;;) {}", sandrone.ScriptTimeout, "", 1, 0},
		{"time in a getter of the result", "function main() { return {get nodes() { for (;;) {} }} }", sandrone.ScriptTimeout, "", 1, 0},
		{"time in a message", "function main() { const e = new Error(); Object.defineProperty(e, 'message', {get() { for (;;) {} }}); throw e }", sandrone.ScriptTimeout, "script clean: ran longer than 300 ms", 1, 0},
		{"message that throws", "function main() { const e = new Error(); Object.defineProperty(e, 'message', {get() { throw e }}); throw e }", sandrone.ScriptRuntime, "script clean: Error", 1, 0},
		{"long message", "function main() { throw new Error('" + long + "') }", sandrone.ScriptRuntime, "", 1, 0},
		{"very long message", "function main() { throw new Error('x'.repeat(1e6)) }", sandrone.ScriptRuntime, "script clean: Error: (a message of 1000000 bytes)", 1, 0},
		{"message of several lines", "function main() { throw new Error('a\\nb\\u0000c') }", sandrone.ScriptRuntime, "script clean: Error: a b c", 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			runners(t, func(t *testing.T, r script.Runner) {
				limit := 300
				if !strings.HasPrefix(c.name, "time") {
					limit = 10_000
				}
				_, _, err := runNodes(script.Env{Runner: r}, params(c.text, "id", "clean", "timeout_ms", limit), script.Input{}, sample...)
				e, ok := errors.AsType[*sandrone.Error](err)
				if !ok || e.Code != c.code || e.Processor != "script" {
					t.Fatalf("got %v, want %s", err, c.code)
				}
				if c.message != "" && e.Message != c.message || !strings.HasPrefix(e.Message, "script clean: ") || len([]rune(e.Message)) > 200 || strings.ContainsAny(e.Message, "\n\x00") {
					t.Errorf("got message %q, want %q", e.Message, c.message)
				}
				if e.Line != c.line || c.column > 0 && e.Column != c.column {
					t.Errorf("got position %d:%d, want %d:%d", e.Line, e.Column, c.line, c.column)
				}
			})
		})
	}
}

func TestMessagesHoldNoData(t *testing.T) {
	in := script.Input{Request: script.Request{Args: map[string]string{"key": "arg-secret-1"}}}
	file := script.Document{Name: "n", Kind: "mihomo", Content: "proxies:\n  - {name: a, password: content-secret-2}\n"}
	for _, text := range []string{
		"throw new Error('bad ' + input.args.key)",
		"throw input.args.key",
		"throw new Error(JSON.stringify(input))",
		"throw new Error(input.file ? api.yaml.parse(input.file.content).proxies[0].password : input.nodes[0].password)",
		"throw new Error('x' + (input.file ? input.file.content : input.nodes[0].password))",
		"const e = new Error(); e.name = input.args.key; throw e",
		"throw new Error(input.file ? input.file.content.slice(33, 45) : input.nodes[0].password.slice(0, 11))",
		"api.json.parse(input.args.key)",
		"JSON.parse(input.args.key)",
		"api.yaml.parse('[' + input.args.key)",
		"api.ini.parse('[' + input.args.key + '[]')",
		"api.ini.override('', '[+' + input.args.key + '+]')",
		"api.base64.decode(input.args.key)",
		"new RegExp('(' + input.args.key)",
		"input.args.key.x.y",
		"input.args.key()",
		"null[input.args.key]",
		"eval('var ' + input.args.key)",
		"globalThis[input.args.key].x",
		"throw new Error(api.subscription.produce('s').nodes[0].password)",
		"input.response = {status: input.args.key}; return input",
		"input.response = {headers: {[input.args.key]: 5}}; return input",
	} {
		p := params("function main(input, api) { " + text + " }")
		env := script.Env{Runner: pool, Host: fakeHost{}}
		_, _, err1 := runNodes(env, p, in, sample...)
		_, _, err2 := runFile(env, p, in, file)
		for _, err := range []error{err1, err2} {
			if err == nil {
				t.Errorf("%s: no error", text)
				continue
			}
			for _, secret := range []string{"arg-secret", "content-secret", "p1-secret-word", "p1-secret-w", "produced-secret"} {
				if strings.Contains(err.Error(), secret) {
					t.Errorf("%s: %v holds %s", text, err, secret)
				}
			}
		}
	}
}

func TestMessagesKeepTheScriptsOwnWords(t *testing.T) {
	_, _, err := runNodes(script.Env{Runner: pool}, params("function main(i) { throw new Error('no usable password for vless in line 5') }"), script.Input{}, sample...)
	if e := sandrone.AsError(err); e == nil || e.Message != "script <inline>: Error: no usable password for vless in line 5" {
		t.Errorf("got %v", err)
	}
}

// loader is a Loader with fixed texts.
type loader map[string]string

func (l loader) File(_ context.Context, name string, args map[string]string) (script.Loaded, error) {
	text, ok := l[name+args["v"]]
	if !ok {
		return script.Loaded{}, sandrone.Errorf(sandrone.NotFound, "no such file")
	}
	return script.Loaded{Text: text}, nil
}

func (l loader) Remote(_ context.Context, r script.Remote) (script.Loaded, error) {
	text, ok := l[r.URL]
	if !ok {
		return script.Loaded{}, errors.New("broken: secret")
	}
	return script.Loaded{Text: text, Warnings: []sandrone.Warning{{Code: sandrone.WarnRemoteStale, Message: "old"}}}, nil
}

func TestSources(t *testing.T) {
	const text = "function main() { return {nodes: [{name: 'loaded', type: 'ss'}]} }"
	sum := sha256.Sum256([]byte(text))
	hash := hex.EncodeToString(sum[:])
	l := loader{
		"f.js": text, "f.js2": text, "bad.js": "function main() {\n ] }", "huge.js": strings.Repeat(" ", script.MaxText+1),
		"https://u:pw@example.com/s.js?token=q": text, "https://example.com/bom.js": "\ufeff" + text, "https://example.com/bad.js": "x(",
	}
	for _, c := range []struct {
		source string
		code   sandrone.Code
		words  string // of the message
	}{
		{`{"type":"file","name":"f.js"}`, "", ""},
		{`{"type":"file","name":"f.js","args":{"v":"2"}}`, "", ""},
		{`{"type":"file","name":"f.js","sha256":"` + strings.ToUpper(hash) + `"}`, "", ""},
		{`{"type":"file","name":"f.js","args":{"v":"3"}}`, sandrone.NotFound, "no such file"},
		{`{"type":"file","name":"bad.js"}`, sandrone.ScriptRuntime, "script bad.js: SyntaxError"},
		{`{"type":"file","name":"huge.js"}`, sandrone.ProcessorConfigInvalid, "load script huge.js"},
		{`{"type":"remote","remote":{"url":"https://u:pw@example.com/s.js?token=q"}}`, "", ""},
		{`{"type":"remote","remote":{"url":"https://u:pw@example.com/s.js?token=q"},"sha256":"` + hash + `"}`, "", ""},
		{`{"type":"remote","remote":{"url":"https://u:pw@example.com/s.js?token=q"},"sha256":"` + strings.Repeat("0", 64) + `"}`, sandrone.ProcessorConfigInvalid, hash},
		{`{"type":"remote","remote":{"url":"https://example.com/bom.js"}}`, "", ""},
		{`{"type":"remote","remote":{"url":"https://example.com/bad.js?q=1"}}`, sandrone.ProcessorConfigInvalid, "load script https://example.com/bad.js"},
		{`{"type":"remote","remote":{"url":"https://u:pw@example.com/missing.js?token=q#f"}}`, sandrone.ProcessorConfigInvalid, "load script https://example.com/missing.js"},
	} {
		nodes, out, err := runNodes(script.Env{Runner: pool, Loader: l}, json.RawMessage(`{"source":`+c.source+`}`), script.Input{}, sample...)
		if c.code == "" {
			if err != nil || names(nodes) != "loaded" {
				t.Errorf("%s: got %q, %v", c.source, names(nodes), err)
			}
			if strings.Contains(c.source, "remote") && (len(out.Warnings) != 1 || out.Warnings[0].Code != sandrone.WarnRemoteStale) {
				t.Errorf("%s: the source's warning is lost: %v", c.source, out.Warnings)
			}
			continue
		}
		if codeOf(err) != c.code || !strings.Contains(err.Error(), c.words) || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "token=") || strings.Contains(err.Error(), "pw") {
			t.Errorf("%s: got %v, want %s %q", c.source, err, c.code, c.words)
		}
	}
	if _, _, err := runNodes(script.Env{Runner: pool}, json.RawMessage(`{"path":"f.js"}`), script.Input{}); codeOf(err) != sandrone.ProcessorConfigInvalid {
		t.Errorf("without a loader: %v", err)
	}
}

func TestSyntaxOfAnInlineScriptIsCheckedWhenTheStepIsMade(t *testing.T) {
	runners(t, func(t *testing.T, r script.Runner) {
		_, err := script.New(context.Background(), params("function main( {"), script.Env{Runner: r})
		if codeOf(err) != sandrone.ScriptRuntime {
			t.Errorf("got %v", err)
		}
		if _, err := script.New(context.Background(), params("throw new Error('not run yet')"), script.Env{Runner: r}); err != nil {
			t.Errorf("got %v", err)
		}
	})
}

// The cases are chains of one step; what they say of chains is not checked
// here.
func TestCorpus(t *testing.T) {
	data, err := os.ReadFile("testdata/processors.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for l := range bytes.Lines(data) {
		var c struct {
			ID, Stage string
			Processor *sandrone.ProcessorSpec
			Input     struct {
				Nodes   []sandrone.Node
				File    script.Document
				Request script.Request
			}
			Expect struct {
				Names       []string
				Nodes       []sandrone.Node
				Warnings    []map[string]any
				ContentJSON any `json:"content_json"`
				Error       *struct{ Code, Processor string }
			}
		}
		if err := json.Unmarshal(l, &c); err != nil {
			t.Fatal(err)
		}
		if c.Processor == nil {
			continue
		}
		t.Run(c.ID, func(t *testing.T) {
			runners(t, func(t *testing.T, r script.Runner) {
				var nodes []sandrone.Node
				var out script.Output
				var err error
				in := script.Input{Request: c.Input.Request}
				if c.Stage == "nodes" {
					nodes, out, err = runNodes(script.Env{Runner: r}, c.Processor.Params, in, c.Input.Nodes...)
				} else {
					var file script.Document
					file, out, err = runFile(script.Env{Runner: r}, c.Processor.Params, in, c.Input.File)
					var content any
					if json.Unmarshal([]byte(file.Content), &content) != nil || !reflect.DeepEqual(content, c.Expect.ContentJSON) {
						t.Errorf("got %s, %v", file.Content, err)
					}
				}
				if c.Expect.Error != nil {
					if e := sandrone.AsError(err); e == nil || string(e.Code) != c.Expect.Error.Code || e.Processor != c.Expect.Error.Processor {
						t.Errorf("got %v", err)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if c.Expect.Names != nil && names(nodes) != strings.Join(c.Expect.Names, ",") {
					t.Errorf("got %s", names(nodes))
				}
				if c.Expect.Nodes != nil {
					if d := cmp.Diff(c.Expect.Nodes, nodes); d != "" {
						t.Error(d)
					}
				}
				if c.Expect.Warnings != nil && len(out.Warnings) != len(c.Expect.Warnings) {
					t.Fatalf("got %v", out.Warnings)
				}
				for i, want := range c.Expect.Warnings {
					form, _ := json.Marshal(out.Warnings[i])
					var got map[string]any
					_ = json.Unmarshal(form, &got)
					for key, value := range want {
						if got[key] != value {
							t.Errorf("warning %d: %s is %v, want %v", i, key, got[key], value)
						}
					}
				}
			})
		})
	}
}
