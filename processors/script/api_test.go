package script_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/processors/script"
)

func TestAPI(t *testing.T) {
	for expression, want := range map[string]string{
		`api.yaml.parse()`: "undefined",
		`JSON.stringify(api.yaml.parse("a: [1, 0x, 1e3, ~, yes, true]\n5: {b: '1'}"))`: `{"5":{"b":"1"},"a":[1,"0x",1000,null,"yes",true]}`,
		`JSON.stringify(api.yaml.parse("a: &x {b: 1}\nc: {<<: *x, d: 2}"))`:            `{"a":{"b":1},"c":{"d":2,"b":1}}`,
		`api.yaml.parse("")`:                    "null",
		`api.yaml.parse("__proto__: {x: 1}").x`: "undefined",
		`api.yaml.stringify()`:                  "",
		`api.yaml.stringify({a: 1, b: ["x", "yes"], c: {d: null, e: "a\nb"}, f: []})`:          "a: 1\nb: [x, \"yes\"]\nc:\n  d: null\n  e: \"a\\nb\"\nf: []\n",
		`api.yaml.stringify([{a: 1, b: {c: 2}}, "x"])`:                                         "- a: 1\n  b:\n    c: 2\n- x\n",
		`api.yaml.stringify("x")`:                                                              "x\n",
		`api.yaml.stringify(undefined)`:                                                        "null\n",
		`api.yaml.stringify({})`:                                                               "{}\n",
		`JSON.stringify(api.yaml.parse(api.yaml.stringify({p: [{n: "香港: 01", o: "\t'\""}]})))`: `{"p":[{"n":"香港: 01","o":"\t'\""}]}`,

		`api.json.parse()`:                 "undefined",
		`api.json.parse(" [1.5, -0] ")[0]`: "1.5",
		`JSON.stringify(api.json.parse('{"__proto__":{"x":1},"a":"\\ud83d\\ude00\\n"}'))`: `{"__proto__":{"x":1},"a":"😀\n"}`,
		`api.json.stringify()`:          "",
		`api.json.stringify(undefined)`: "null",
		`api.json.stringify({a: "<>&", b: [undefined, NaN, new Date(0)], c: undefined, d: new String("s"), e: new Number(1), f: new Boolean(false), g: 1e21, h: -0, i: 0.1})`: `{"a":"<>&","b":[null,null,"1970-01-01T00:00:00.000Z"],"d":"s","e":1,"f":false,"g":1e+21,"h":0,"i":0.1}`,
		`api.json.stringify("\ud800\u2028\u0000\u007f\\")`: "\"�\\u2028\\u0000\u007f\\\\\"",

		`api.ini.parse()`: "undefined",
		`JSON.stringify(api.ini.parse("# x\r\n[General]\r\nipv6 = false\r\n"))`: `{"bom":false,"newline":"\r\n","trailing_newline":true,"preamble":["# x"],"sections":[{"name":"General","lines":["ipv6 = false"]}]}`,
		`api.ini.stringify()`: "",
		`api.ini.stringify(api.ini.parse("\ufeffa\n[B]\n\n"))`:              "\ufeffa\n[B]\n\n",
		`api.ini.stringify({sections: [{name: "A", lines: ["x"]}]})`:        "[A]\nx",
		`api.ini.override("[A]\nx = 1\n", "[A]\nx = 2\n[+A]\ny\n", "more")`: "[A]\ny\nx = 2\n",

		`api.base64.encode()`:                   "",
		`api.base64.encode("añ香😀")`:             "YcOx6aaZ8J+YgA==",
		`api.base64.encode(12)`:                 "MTI=",
		`api.base64.decode()`:                   "",
		`api.base64.decode("YcOx6aaZ8J+YgA==")`: "añ香😀",
		`api.hash.sha256()`:                     "",
		`api.hash.sha256("abc")`:                "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
		`api.log()`:                             "undefined",
		`api.warn()`:                            "undefined",
		`api.warn(5)`:                           "undefined",
	} {
		runners(t, func(t *testing.T, r script.Runner) {
			if got := eval(t, script.Env{Runner: r}, expression); got != want {
				t.Errorf("%s:\ngot  %q\nwant %q", expression, got, want)
			}
		})
	}
}

func TestAPIThrows(t *testing.T) {
	for _, expression := range []string{
		`api.yaml.parse("a: [")`, `api.yaml.parse("[".repeat(100))`, `api.yaml.stringify({f() {}})`, `api.yaml.stringify(Symbol())`,
		`api.yaml.parse(Symbol.iterator.x.y)`,
		`api.json.parse("")`, `api.json.parse("{a: 1}")`, `api.json.parse("1 2")`, `api.json.parse("01")`, `api.json.parse('"\\x"')`, `api.json.parse("[".repeat(600) + "]".repeat(600))`,
		`api.json.parse(undefined)`, `api.json.stringify(() => 1)`, `(() => { const o = {}; o.o = o; return api.json.stringify(o) })()`,
		`api.ini.parse("[]")`, `api.ini.stringify(5)`, `api.ini.stringify({x: 1})`, `api.ini.stringify({bom: 1})`, `api.ini.stringify({newline: "\r"})`, `api.ini.stringify({newline: ""})`,
		`api.ini.stringify({preamble: "x"})`, `api.ini.stringify({sections: {}})`, `api.ini.stringify({sections: [1]})`, `api.ini.stringify({sections: [{name: "a", lines: [1]}]})`,
		`api.ini.stringify({sections: [{name: "a", extra: 1}]})`, `api.ini.stringify({sections: [{name: ""}]})`, `api.ini.stringify({trailing_newline: true})`,
		`api.ini.override("a")`, `api.ini.override("", "[+A-]")`,
		`api.base64.decode("YQ")`, `api.base64.decode("YR==")`, `api.base64.decode("YW\nJj")`, `api.base64.decode("/w==")`, `api.base64.decode("_-8=")`,
	} {
		runners(t, func(t *testing.T, r script.Runner) {
			env := script.Env{Runner: r}
			if got := eval(t, env, "(() => { try { "+expression+" } catch (e) { return e instanceof Error } return 'nothing thrown' })()"); got != "true" {
				t.Errorf("%s: got %s", expression, got)
			}
			_, _, err := runNodes(env, params("function main() { "+expression+" }"), script.Input{})
			if codeOf(err) != sandrone.ScriptRuntime {
				t.Errorf("%s: got %v", expression, err)
			}
		})
	}
}

func TestWarnings(t *testing.T) {
	runners(t, func(t *testing.T, r script.Runner) {
		_, out, err := runNodes(script.Env{Runner: r}, params(`function main(i, api) {
			api.warn({code: "c", message: "a\n  b", node: "n", node_index: 0, node_context: {name: "x", line: 3}, field: "f", source: "s", target: "t", path: "no", more: () => 1}, "extra");
			api.warn({message: 5}); api.warn([1]); api.warn("x"); api.warn(() => 1); api.warn({message() {}}); api.warn(null);
			api.warn({get code() { throw 1 }});
			api.warn({message: "x".repeat(1000)}) }`), script.Input{})
		if err != nil || len(out.Warnings) != 2 {
			t.Fatalf("got %+v, %v", out.Warnings, err)
		}
		w := out.Warnings[0]
		if w.Code != "c" || w.Message != "a b" || w.Node != "n" || w.NodeIndex == nil || *w.NodeIndex != 0 || w.NodeContext == nil || w.NodeContext.Line != 3 ||
			w.Field != "f" || w.Source != "s" || w.Target != "t" || w.Path != "" {
			t.Errorf("got %+v", w)
		}
		if w := out.Warnings[1]; w.Code != "script_warning" || len([]rune(w.Message)) != 200 {
			t.Errorf("got %+v", w)
		}
		_, out, err = runNodes(script.Env{Runner: r}, params(`function main() { for (let i = 0; i < 20000; i++) api.warn({code: "c" + i}) }`), script.Input{})
		if n := len(out.Warnings); err != nil || n != 10_001 || out.Warnings[n-1].Code != "script_warning" {
			t.Errorf("got %d warnings, %v", n, err)
		}
	})
}

func TestLogs(t *testing.T) {
	runners(t, func(t *testing.T, r script.Runner) {
		_, out, err := runNodes(script.Env{Runner: r}, params(`function main(i, api) {
			api.log("a", 1, null, undefined, {b: [2]}, new Error("e"));
			const o = {}; o.o = o; api.log(o); api.log({f() {}});
			api.log("香".repeat(5000));
			for (let i = 0; i < 300; i++) api.log(i);
			throw new Error("x") }`), script.Input{})
		if codeOf(err) != sandrone.ScriptRuntime {
			t.Errorf("got %v", err)
		}
		// A run that failed shows what it logged, most of all.
		if len(out.Logs) != 200 {
			t.Fatalf("got %d entries", len(out.Logs))
		}
		if got := out.Logs[0]; got != `a 1 null undefined {"b":[2]} Error: e` {
			t.Errorf("got %q", got)
		}
		if got := out.Logs[3]; len(got) > 8<<10 || strings.Trim(got, "香") != "" || len(got) < 8000 {
			t.Errorf("got %d bytes", len(got))
		}
	})
}

func TestNothingOfTheHostIsThere(t *testing.T) {
	for _, name := range []string{
		"require", "module", "exports", "process", "setTimeout", "setInterval", "setImmediate", "queueMicrotask", "fetch", "XMLHttpRequest",
		"console", "WebAssembly", "Deno", "Bun", "window", "self", "global", "Buffer", "GoError", "WebSocket", "Worker", "importScripts", "URL", "print",
	} {
		if got := eval(t, script.Env{Runner: pool}, "typeof "+name); got != "undefined" {
			t.Errorf("%s is a %s", name, got)
		}
	}
	for expression, want := range map[string]string{
		`typeof Date + typeof Math + typeof JSON + typeof RegExp + typeof Map + typeof Symbol + typeof BigInt`: "functionobjectobjectfunctionfunctionfunctionfunction",
		`eval("typeof process + typeof api")`:                                                                    "undefinedobject",
		`Function("return typeof require + typeof this")()`:                                                      "undefinedobject",
		`JSON.stringify(Object.keys(globalThis))`:                                                                `["api","main"]`,
		`api.log.constructor("return typeof process")()`:                                                         "undefined",
		`(function f() { try { return f() + 1 } catch (e) { return e instanceof RangeError ? 1 : e } })() > 100`: "true",
	} {
		if got := eval(t, script.Env{Runner: pool}, expression); got != want {
			t.Errorf("%s: got %s, want %s", expression, got, want)
		}
	}
}

// Every way of calling a function counts, and what is thrown can be caught.
func TestRecursionIsARangeError(t *testing.T) {
	for name, text := range map[string]string{
		"function":             `function f() { f() }`,
		"arrow":                `const f = () => f()`,
		"block arrow":          `const f = () => { f() }`,
		"map":                  `function f() { [1].map(f) }`,
		"sort":                 `function f() { [2, 1].sort(f) }`,
		"replace":              `function f() { return "a".replace(/a/, f) }`,
		"getter":               `const o = {get x() { return this.x }}; const f = () => o.x`,
		"setter":               `const o = {set x(v) { this.x = v }}; const f = () => { o.x = 1 }`,
		"proxy":                `const p = new Proxy({}, {get() { return p.x }}); const f = () => p.x`,
		"constructor":          `function C() { new C() } const f = () => new C()`,
		"class":                `class C { constructor() { new C() } } const f = () => new C()`,
		"derived":              `class B {} class C extends B { constructor() { super(); new C() } } const f = () => new C()`,
		"field":                `class C { x = new C() } const f = () => new C()`,
		"static":               `class C { static m() { C.m() } } const f = () => C.m()`,
		"default":              `function f(x = f()) {}`,
		"destructured default": `function f({x = f({})}) { } const g = f; f = () => g({})`,
		"toJSON":               `const o = {toJSON() { return JSON.stringify(o) }}; const f = () => JSON.stringify(o)`,
		"toString":             `const o = {toString() { return "" + o }}; const f = () => "" + o`,
		"generator":            `function* g() { for (const x of g()) yield x } const f = () => [...g()]`,
		"async":                `async function f() { f(); throw new RangeError() }`,
		"bound":                `let b; function f() { b() } b = f.bind(null)`,
		"tagged":               "function f() { f`x` }",
		"api":                  "const o = {toJSON() { return api.json.stringify(o) }}; const f = () => api.json.stringify(o)",
	} {
		runners(t, func(t *testing.T, r script.Runner) {
			got, _, err := runNodes(script.Env{Runner: r}, params("var caught = 'nothing';\n"+text+"\nfunction main() { try { f() } catch (e) { caught = e instanceof RangeError ? 'RangeError' : String(e) } return {nodes: [{name: caught, type: 'ss'}]} }", "timeout_ms", 10_000), script.Input{})
			if name == "async" {
				return // the error is the promise's
			}
			if err != nil || names(got) != "RangeError" {
				t.Errorf("%s: got %q, %v", name, names(got), err)
			}
		})
	}
	deep := `function f(n) { return n ? f(n - 1) : "deep" } function main() { return {nodes: [{name: f(%d), type: "ss"}]} }`
	runners(t, func(t *testing.T, r script.Runner) {
		if got, _, err := runNodes(script.Env{Runner: r}, params(fmt.Sprintf(deep, 1900)), script.Input{}); err != nil || names(got) != "deep" {
			t.Errorf("1,900 frames: got %q, %v", names(got), err)
		}
		if _, _, err := runNodes(script.Env{Runner: r}, params(fmt.Sprintf(deep, 2001)), script.Input{}); codeOf(err) != sandrone.ScriptRuntime {
			t.Errorf("2,001 frames: got %v", err)
		}
	})
}

// The rewriting of the tree shows neither in the text of a function, nor in
// its name, nor in what it computes.
func TestRewritingDoesNotShow(t *testing.T) {
	for expression, want := range map[string]string{
		`(function (a, b = 2) { return a }).toString()`: `function (a, b = 2) { return a }`,
		`(x => x + 1).toString()`:                       `x => x + 1`,
		`(() => { class C { f = () => 1; g = class {}; h = 5 } const c = new C(); return c.f.name + c.g.name + c.h })()`: `fg5`,
		`(() => { class C { static x = 3; static { this.y = this.x + 1 } } return C.y })()`:                              `4`,
		`((a, b = a * 2, {c = b} = {}, ...d) => [a, b, c, d.length].join())(1)`:                                          `1,2,2,0`,
		`(() => { function* g() { const x = yield 1; yield x } const i = g(); i.next(); return i.next(7).value })()`:     `7`,
		`(function () { return arguments.length })(1, 2)`:                                                                `2`,
		`(function () { "use strict"; return this })()`:                                                                  `undefined`,
		`(() => { label: for (const x of [1, 2]) { for (;;) continue label } return "ok" })()`:                           `ok`,
		`new (class A { constructor() { this.t = new.target.name } })().t`:                                               `A`,
		`(() => ({a: 1}))().a`: `1`,
	} {
		if got := eval(t, script.Env{Runner: pool}, expression); got != want {
			t.Errorf("%s: got %s, want %s", expression, got, want)
		}
	}
}
