package script_test

import (
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/processors/script"
)

// hostile are scripts that mean harm, by the expression or the statements that
// main consists of. Each ends by its time or memory limit or by one of the
// worker's own; which comes first is a matter of the machine.
var hostile = []struct{ name, text string }{
	{"loop", `for (;;) {}`},
	{"loop in catch", `try { throw 1 } catch { for (;;) {} }`},
	{"loop in finally", `try { throw 1 } finally { for (;;) {} }`},
	{"loop that catches", `for (;;) { try { for (;;) {} } catch {} finally { continue } }`},
	{"loop in Function", `Function("for (;;) {}")()`},
	{"loop in eval", `eval("for (;;) {}")`},
	{"loop in a getter", `({get x() { for (;;) {} }}).x`},
	{"loop in a trap", `new Proxy({}, {get() { for (;;) {} }}).x`},
	{"loop in a comparator", `[2, 1].sort(() => { for (;;) {} })`},
	{"loop in toJSON of the result", `return {nodes: [{toJSON() { for (;;) {} }}]}`},
	{"loop in keys of the result", `return new Proxy({}, {ownKeys() { for (;;) {} }})`},
	{"endless iterator", `for (const x of {[Symbol.iterator]() { return {next: () => ({value: 1, done: false})} }}) {}`},
	{"endless generator", `function* g() { for (;;) yield 1 } for (const x of g()) {}`},
	{"loop in a promise job", `Promise.resolve().then(() => { for (;;) {} })`},
	{"endless promise jobs", `const f = () => Promise.resolve().then(f); f()`},
	{"loop after await", `(async () => { await 1; for (;;) {} })()`},
	{"backtracking", `/^(?=.)(a+)+$/.test("a".repeat(40) + "!")`},
	{"backtracking by reference", `/^(a+)+\1$/.test("a".repeat(40) + "!")`},
	{"fill", `new Array(3e8).fill(1)`},
	{"repeat", `"x".repeat(4e8) + "y".repeat(4e8) + "z".repeat(4e8)`},
	{"repeat of more", `"x".repeat(4e9)`},
	{"pad", `let s = ""; for (;;) s = "x".padEnd(2e8) + s`},
	{"upper case", `let s = "ß".repeat(5e7); for (;;) s = s.toUpperCase() + s`},
	{"normalize", `let s = "é".repeat(5e7); for (;;) s = s.normalize("NFD") + s`},
	{"locale compare", `const s = "ä".repeat(5e7); for (;;) s.localeCompare(s + "b")`},
	{"doubling", `let s = "xxxxxxxx"; for (;;) s += s`},
	{"replaceAll", `let s = "a".repeat(1e6); for (;;) s = s.replaceAll("a", "aaaaaaaaaa")`},
	{"replace by pattern", `let s = "a".repeat(1e7); for (;;) s = s.replace(/a/g, "bb")`},
	{"split", `const all = []; for (;;) all.push("x".repeat(5e7).split(""))`},
	{"join", `new Array(1e9).join("xxxxxxxxxx")`},
	{"bytes", `const all = []; for (;;) all.push(new Uint8Array(1e8).fill(1))`},
	{"one huge buffer", `new Uint8Array(4e9)`},
	{"floats", `new Float64Array(3e8).fill(1)`},
	{"from a length", `Array.from({length: 1e9})`},
	{"indexOf over a length", `Array.prototype.indexOf.call({length: 2 ** 53 - 1}, 1)`},
	{"reverse of a sparse array", `const a = []; a[2 ** 32 - 2] = 1; a.reverse()`},
	{"push", `const a = []; for (;;) a.push({a: 1, b: [1, 2, 3]})`},
	{"map growth", `const m = new Map(); for (let i = 0;; i++) m.set(i, "v" + i)`},
	{"wide object", `const o = {}; for (let i = 0;; i++) o["k" + i] = i`},
	{"bind chain", `let f = () => 1; for (;;) f = f.bind(null, 1)`},
	{"power", `const b = 2n; b ** b ** 33n`},
	{"power in time", `let x = 3n; for (;;) x = x * x`},
	{"BigInt to text", `(3n ** 3000000n).toString(); for (;;) (3n ** 3000000n).toString()`},
	{"BigInt of a text", `BigInt("9".repeat(3e6)); for (;;) BigInt("9".repeat(3e6))`},
	{"stringify a DAG", `let o = {}; for (let i = 0; i < 60; i++) o = [o, o]; JSON.stringify(o)`},
	{"text of a DAG", `let o = []; for (let i = 0; i < 60; i++) o = [o, o]; "" + o`},
	{"result is a DAG", `let o = {}; for (let i = 0; i < 60; i++) o = {a: o, b: o}; return {nodes: [], x: o}`},
	{"stringify without end", `JSON.stringify({toJSON() { const p = new Proxy([], {get: (t, k) => k === "length" ? 2 ** 31 : {}}); return p }})`},
	{"random comparator", `const a = Array.from({length: 1e5}, (_, i) => i); for (;;) a.sort(() => Math.random() - 0.5)`},
	{"sort of many texts", `const a = []; for (let i = 0; i < 2e5; i++) a.push("x".repeat(50) + i); for (;;) a.sort()`},
	{"deep eval", `for (;;) eval("(".repeat(1e6))`},
	{"deep brackets in eval", `for (;;) eval("[".repeat(5e6))`},
	{"deep JSON", `for (;;) { try { JSON.parse("[".repeat(5e6)) } catch {} }`},
	{"cyclic flat", `const a = []; a[0] = a; a.flat(Infinity)`},
	{"nested yield", `function* g() { yield* g() } for (;;) { try { g().next() } catch {} }`},
	{"proxy chain", `let p = {}; for (let i = 0; i < 1e6; i++) p = new Proxy(p, {}); for (;;) p.x`},
	{"prototype chain", `let p = {}; for (let i = 0; i < 1e6; i++) p = Object.create(p); for (;;) p.x`},
	{"throw what loops", `for (;;) { try { throw {toString() { for (;;) {} }} } catch (e) { "" + e } }`},
	{"recursion in Function", `const f = Function("f", "for (;;) { try { f(f) } catch {} }"); f(f)`},
	{"recursion that catches", `const f = () => { try { f() } catch { f() } }; f()`},
	{"many warnings", `for (;;) api.warn({message: "x".repeat(8000)})`},
	{"many log entries", `for (;;) api.log("x".repeat(8000))`},
	{"yaml growth", `let s = "a: 1\n"; for (let i = 0;; i++) { s += s; api.yaml.parse(s.replaceAll("a", "k" + i)) }`},
	{"yaml aliases", `let s = "a: &a [x,x,x,x,x,x,x,x,x]\n"; for (let i = 0; i < 30; i++) s += "k" + i + ": &b" + i + " [*a,*a,*a,*a,*a,*a,*a]\n"; for (;;) { try { api.yaml.parse(s) } catch {} }`},
	{"base64 growth", `let s = "x"; for (;;) s = api.base64.encode(s + s)`},
	{"endless calls", `for (;;) { try { api.file.content("f") } catch {} }`},
}

func TestHostileScriptsAreStopped(t *testing.T) {
	if testing.Short() {
		t.Skip("takes its time")
	}
	// Several at once, as an attacker would.
	const limit, atOnce = 500 * time.Millisecond, 3
	p, err := script.NewPool(script.Options{Slots: atOnce})
	if err != nil {
		t.Fatal(err)
	}
	benign := func() {
		t.Helper()
		got, _, err := runNodes(script.Env{Runner: p}, params(renameScript), script.Input{}, sample...)
		if err != nil || names(got) != "EDGE HK 01,EDGE JP 02,EDGE US 04" {
			t.Fatalf("a run between the others fails: %q, %v", names(got), err)
		}
	}
	benign()
	before := memory()
	var wg sync.WaitGroup
	turns := make(chan struct{}, atOnce)
	for i, c := range hostile {
		turns <- struct{}{}
		wg.Go(func() {
			defer func() { <-turns }()
			s, err := script.New(t.Context(), params("function main(input, api) { "+c.text+" }", "timeout_ms", limit.Milliseconds()), script.Env{Runner: p, Host: fakeHost{}})
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
				return
			}
			// A machine that is busy with something else can be late; a
			// script that escapes is late each time.
			var took time.Duration
			for try := 0; try == 0 || took > 2*limit && try < 3; try++ {
				start := time.Now()
				_, _, err = s.Nodes(t.Context(), script.Input{}, pointers(sample))
				took = time.Since(start)
			}
			if code := codeOf(err); code != sandrone.ScriptTimeout && code != sandrone.ScriptRuntime {
				t.Errorf("%s: got %v", c.name, err)
			}
			if took > 2*limit {
				t.Errorf("%s: ended after %v", c.name, took)
			}
			t.Logf("%s: %d ms: %v", c.name, took.Milliseconds(), err)
		})
		if i%10 == 9 {
			wg.Wait()
			benign()
		}
	}
	wg.Wait()
	benign()
	if grown := memory() - before; !raced && grown > 64<<20 {
		t.Errorf("this process has grown by %d MiB", grown>>20)
	}
	p.Close()
	// A run may add 256 MiB; what a worker has before it is small.
	if peak := childPeak(); !raced && peak > 384<<20 {
		t.Errorf("a worker came to %d MiB", peak>>20)
	}
}

// Results at the limit of their size are read without much memory.
func TestLargeResultsDoNotGrowTheParent(t *testing.T) {
	if testing.Short() {
		t.Skip("takes its time")
	}
	before := memory()
	for name, c := range map[string]struct {
		text string
		code sandrone.Code
	}{
		"small values":    {`i.nodes[0].raw = {a: new Array(6e5).fill(0)}`, sandrone.ScriptRuntime},
		"unknown members": {`for (let k = 0; k < 1e5; k++) i.nodes[0]["k" + k] = 0`, ""},
		"envelope":        {`i.args = {a: new Array(6e5).fill(0)}`, sandrone.ScriptRuntime},
		"warnings":        {`for (let k = 0; k < 1e4; k++) api.warn({message: "x".repeat(8000)})`, ""},
		"arguments":       {`try { api.subscription.produce("s", {args: {a: new Array(6e5).fill(0)}}) } catch (e) { api.log(e.code) }`, ""},
	} {
		_, _, err := runNodes(script.Env{Runner: pool, Host: fakeHost{}}, params("function main(i, api) { "+c.text+"; return i }", "timeout_ms", 20_000), script.Input{}, sample...)
		if codeOf(err) != c.code {
			t.Errorf("%s: got %v", name, err)
		}
	}
	runtime.GC()
	if grown := memory() - before; !raced && grown > 128<<20 {
		t.Errorf("this process has grown by %d MiB", grown>>20)
	}
}

// memory is what this process has from the system.
func memory() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys - m.HeapReleased)
}

// A script that cannot even be read is refused, or ends its worker, but not
// this process. Compiling has a limit of its own.
func TestHostileTextsAreRefused(t *testing.T) {
	if testing.Short() {
		t.Skip("takes its time")
	}
	main := "function main() {}\n"
	for name, text := range map[string]string{
		"brackets":    strings.Repeat("[", 1<<20),
		"parentheses": strings.Repeat("(", 1<<20),
		"braces":      strings.Repeat("{", 1<<20),
		"not":         strings.Repeat("!", 1<<20-1) + "1",
		"arrows":      strings.Repeat("a=>", 1<<20/3) + "a",
		"templates":   strings.Repeat("`${", 1<<20/3),
		"sum":         strings.Repeat("1+", 1<<19-100) + "1\n" + main,
		"functions":   strings.Repeat("function f(){", 1<<20/13),
		"constant":    "2n ** 2n ** 33n\n" + main, // the compiler computes it
	} {
		start := time.Now()
		_, err := script.New(t.Context(), params(text), script.Env{Runner: pool})
		if took := time.Since(start); took > 6*time.Second {
			t.Errorf("%s: took %v", name, took)
		}
		if err != nil && codeOf(err) != sandrone.ScriptRuntime {
			t.Errorf("%s: got %v", name, err)
		}
		if err == nil && name != "sum" {
			t.Errorf("%s: was taken for a script", name)
		}
	}
}

// The parser would read the file that such a comment names.
func TestSourceMapsAreNotFollowed(t *testing.T) {
	for _, comment := range []string{"file:///dev/zero", "/dev/zero", "data:application/json,{}"} {
		text := "function main(i) { eval('1\\n//# sourceMappingURL=" + comment + "'); return i }\n//# sourceMappingURL=" + comment
		if got, _, err := runNodes(script.Env{Runner: pool}, params(text), script.Input{}, sample...); err != nil || len(got) != 3 {
			t.Errorf("%s: got %v", comment, err)
		}
	}
}
