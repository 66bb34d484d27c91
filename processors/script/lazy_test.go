package script_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/processors/script"
)

// uses are what a script can do with a node o. Nodes that nobody has touched
// are text behind a proxy: each use comes to the same with one of them as with
// an ordinary object.
var uses = []string{
	`o.name`, `[o.name, o.name, o.port]`, `o.nothing`, `o["\ufffd"]`, `o.toString()`, `"" + o`, `Object.prototype.toString.call(o)`, `typeof o`,
	`o.tls === o.tls`, `[o.tls.enabled, o.tls.alpn, o.tls.alpn === o.tls.alpn]`, `[o.raw["mihomo.k"].b, o.raw["mihomo.k"][2]]`,
	`o.name = "new"`, `o.name = o.name + "!"`, `o.cipher = "none"`, `o.name = undefined`, `o.port = 1e3`, `o.name = {toJSON() { return "made" }}`, `o.meta = o.meta`,
	`o.tls.server_name = "x"`, `o.tls.alpn.push("h3")`, `o.tls.nothing = 1`, `delete o.tls.alpn`, `o.tls = {enabled: true}`, `o.tls.reality.short_id += "00"`, `o.tls.reality = undefined`,
	`delete o.name`, `delete o.nothing`, `o.nothing = 1; delete o.nothing`, `delete o.name; o.name = "last"`, `o.tags[0] = "y"`, `o.tags = o.tags.concat("y")`,
	`"name" in o`, `["nothing" in o, "toString" in o, Symbol.iterator in o]`, `o.hasOwnProperty("name")`, `Object.hasOwn(o, "nothing")`, `o.propertyIsEnumerable("name")`,
	`Object.keys(o)`, `Object.values(o)`, `Object.entries(o)`, `Object.getOwnPropertyNames(o)`, `Reflect.ownKeys(o)`, `Object.keys(o.raw["mihomo.k"])`, `let s = ""; for (const k in o) s += k; return s`,
	`Object.getOwnPropertyDescriptor(o, "name")`, `Object.getOwnPropertyDescriptor(o, "nothing") === undefined`, `Object.getOwnPropertyDescriptors(o.raw)`,
	`Object.getPrototypeOf(o) === Object.prototype`, `o instanceof Object`, `o.constructor === Object`, `o.__proto__ === Object.prototype`, `Object.prototype.isPrototypeOf(o)`,
	`Object.setPrototypeOf(o, {extra: 5}); return [o.extra, o.name]`, `o.__proto__ = {extra: 5}; return o.extra`, `Object.setPrototypeOf(o, null); return Object.keys(o)`,
	`Object.freeze(o); try { o.name = 1 } catch (e) { return e.name }`, `[Object.isFrozen(o), Object.isFrozen(Object.freeze(o)), Object.isSealed(o)]`, `Object.seal(o); try { delete o.name } catch (e) { return e.name }`,
	`Object.preventExtensions(o); try { o.nothing = 1 } catch (e) { return [e.name, Object.isExtensible(o)] }`,
	`Object.defineProperty(o, "name", {enumerable: false}); return Object.keys(o)`, `Object.defineProperty(o, "name", {get() { return "got" }}); return o.name`,
	`Object.defineProperty(o, "x", {value: 1}); return [o.x, Object.keys(o)]`, `Reflect.defineProperty(o, "name", {value: "defined", writable: false}) && Reflect.set(o, "name", 1)`,
	`o[Symbol.for("s")] = 1; return [o[Symbol.for("s")], Reflect.ownKeys(o).length, o.name]`, `Object.defineProperty(o, Symbol.for("s"), {value: 2}); return Reflect.ownKeys(o).map(String)`, `delete o[Symbol.for("s")]`, `o[Symbol.toPrimitive] === undefined`,
	`({...o})`, `({...o, name: "copy"})`, `({name: "first", ...o.tls})`, `({...null, ...undefined, ..."ab", ...[1]})`, `const {name, ...rest} = o; return rest`, `Object.assign({}, o)`, `Object.assign(o, {name: 1, x: 2})`, `Object.fromEntries(Object.entries(o))`,
	`JSON.stringify(o)`, `JSON.stringify(o, ["name", "port"])`, `JSON.stringify(o, (k, v) => typeof v === "string" ? v.length : v)`, `JSON.parse(JSON.stringify(o)).name`, `api.json.stringify(o)`, `api.yaml.stringify(o)`, `o.tls.server_name; return api.json.stringify(o)`,
	`Reflect.get(o, "name", {})`, `const r = {}; return [Reflect.set(o, "name", 1, r), r, o.name]`, `const r = {}; return [Reflect.set(o, "nothing", 1, r), r]`,
	`const c = Object.create(o); c.name = "child"; return [c.name, o.name, Object.keys(c)]`, `const c = Object.create(o); return [c.name, "port" in c, c.nothing]`,
	`const p = new Proxy(o, {}); p.name = "through"; return [p.port, Object.keys(p)]`, `const m = new Map([[o, 1]]), w = new WeakMap([[o, 2]]); return [m.get(o), w.get(o)]`, `[o].includes(o) && [o].indexOf(o)`,
	`Object.prototype.extra = 7; const got = [o.extra, o.tls.extra]; delete Object.prototype.extra; return got`,
	`let set = 0; Object.defineProperty(Object.prototype, "trap", {set(v) { set = [v, this === o] }, configurable: true}); o.trap = 5; o.name = 6; delete Object.prototype.trap; return set`,
	`let set = 0; Object.defineProperty(Object.prototype, "name", {set(v) { set = v }, configurable: true}); o.name = 6; delete Object.prototype.name; return [set, Object.keys(o)]`,
	`Object.prototype.toJSON = function () { return "J" }; const got = [JSON.stringify(o), api.json.stringify([o])]; delete Object.prototype.toJSON; return got`,
	`o.toJSON = () => ({name: "J", type: "ss"})`, `o.tls.toJSON = () => ({enabled: false})`, `o.name = {toJSON() { o.port = 9; Object.keys(o); return "J" }}`,
	`[o.name, o.type, o.server, o.port, o.uuid, o.flow, o.encryption, o.tls.enabled, o.tags, o.meta, o.raw, o.source_format, Object.keys(o).length]`,
	`const t = o.tls; o.name; o.type; o.server; o.port; o.uuid; o.flow; o.encryption; o.tags; o.meta; t.server_name = "late"; return t === o.tls`,
	`o.raw["mihomo.k"].b = 2; o.raw["mihomo.k"]["1"] = 3; return Object.keys(o.raw["mihomo.k"])`, `o.raw["mihomo.same"].a`, `o.raw = {...o.raw, "x.y": o.tls}`, `o.ext = {a: 1}`,
	`let set = 0; Object.defineProperty(Object.prototype, "udp_relay", {set(v) { set = v }, configurable: true}); const got = o.dialer.udp_relay; delete Object.prototype.udp_relay; return [set, got, o.dialer.constructor === Object]`,
	`Object.defineProperty(o, "x", {get() { return 1 }}); return [o.x, Object.keys(o)]`, `Object.defineProperties(o.tls, {x: {get() { return 1 }, set() {}}, enabled: {get() { return false }, enumerable: true}}); return [o.tls.x, Reflect.ownKeys(o.tls)]`,
	`[Reflect.defineProperty(o, "x", {get() { return 1 }}), Reflect.defineProperty(o, "x", {value: 1})]`, `[Object.defineProperty.name, Object.defineProperty.length, String(Reflect.defineProperty)]`,
	`try { Object.setPrototypeOf(o, o) } catch (e) { return e.name }; return o.nothing`, `o.name; return [Reflect.setPrototypeOf(o, Object.create(o)), o.nothing]`, `Object.keys(o); return [Reflect.setPrototypeOf(o, Object.create(o)), o.nothing]`,
	`o.raw["mihomo.k"].toJSON = () => "J"`, `o.raw["mihomo.k"].toJSON = 2; return o.raw["mihomo.k"]`,
	`o.name = {toJSON() { o.port = 9; return "J" }}`, `o.tls = {enabled: true}; o.name = {toJSON() { o.type; o.flow = "late"; return "J" }}`, `o.flow = {toJSON() { o.name = "early"; return "J" }}; o.port`,
	`o.name = {toJSON() { delete o.tls; o.tags.push("late"); return "J" }}; o.tls; o.tags`, `let n = 0; o.name = {toJSON() { return "J" + n++ }}; o.tls = {server_name: "s", toJSON() { Object.keys(o); return undefined }}; o.meta = {toJSON() { return {n: "" + n} }}`,
	`let n = 0; o.tls.enabled = {toJSON() { n++; return undefined }}; o.tls.server_name = {toJSON() { return "x" + ++n }}`, `o.tls.enabled = undefined; o.tls.server_name = undefined; o.tls.reality = undefined`,
	`for (const k of ["b", "2", "1", "pad", "eA", "toJSON"]) o.raw["mihomo.k"][k] = undefined; return Object.keys(o.raw["mihomo.k"])`, `o.raw["mihomo.k"].b = {toJSON() {}}; o.raw["mihomo.k"][2] = {toJSON() {}}`,
	`o.__proto__x = 1`, `o["0"] = 1; return Object.keys(o)`, `o.valueOf() === o`, `Object.is(o, o)`, `structuredClone`, `o.name.length`, `o.tls?.alpn?.length`, `delete o.tls.reality; return JSON.stringify(o.tls)`,
}

func TestUntouchedNodesAreOrdinaryObjects(t *testing.T) {
	pad := strings.Repeat("long", 40)
	node := sandrone.Node{
		Name: "香港 \"1\"", Type: sandrone.VLESS, Server: "hk.example.com", Port: 443, UUID: "6a1f3a52-6f5c-4e0e-9c43-1a2b3c4d0001",
		Flow: "xtls-rprx-vision", Encryption: "none", Tags: []string{"x"}, Dialer: &sandrone.Dialer{UDPRelay: sandrone.On}, Meta: map[string]string{"k": "v"}, SourceFormat: "mihomo",
		TLS: &sandrone.TLS{Enabled: true, ServerName: "hk.example.com", ALPN: []string{"h2", "http/1.1"}, ClientFingerprint: "chrome",
			Reality: &sandrone.Reality{Enabled: true, PublicKey: "mOSW0b5mJVvnJ0Zb8Ff1Xq9cJt4YyqTqT8uWc1qXb2s", ShortID: "0123456789abcdef", SpiderX: "/" + pad}},
		Raw: sandrone.Raw{
			"mihomo.k":    []byte(`{"b": 1, "2": "two", "1":[{}] , "pad":"` + pad + `","e\u0041":true,"toJSON":1}`),
			"mihomo.same": []byte(`{"a":1,"a":2,"pad":"` + pad + `"}`),
		},
	}
	for _, use := range uses {
		if !strings.ContainsAny(use, ";") {
			use = "return " + use
		}
		text := `function main(input, api) {
			const plain = JSON.parse(JSON.stringify(input.nodes[1]));
			const use = (o) => { ` + use + ` };
			for (const o of [input.nodes[0], plain]) {
				let v; try { v = use(o) } catch (e) { v = e.name + ": " + e.message }
				api.log(typeof v, JSON.stringify(v));
			}
			input.nodes[1] = plain;
			return input }`
		got, out, err := runNodes(script.Env{Runner: pool}, params(text), script.Input{}, node, node)
		if len(out.Logs) != 2 || out.Logs[0] != out.Logs[1] {
			t.Errorf("%s: got %q", use, out.Logs)
		}
		// A use that leaves no node leaves none of both, in this order.
		if err != nil {
			if !strings.Contains(err.Error(), "nodes[0]") {
				t.Errorf("%s: %v", use, err)
			}
			continue
		}
		if d := cmp.Diff(got[1], got[0], cmp.Transformer("value", func(text json.RawMessage) (v any) {
			_ = json.Unmarshal(text, &v)
			return v
		})); d != "" {
			t.Errorf("%s: the copy and the node differ: %s", use, d)
		}
	}
}

func TestListsOfTheResultHaveTheirToJSONCalledOnce(t *testing.T) {
	node := func(name string) sandrone.Node {
		return sandrone.Node{Name: name, Type: sandrone.Shadowsocks, Server: "hk.example", Port: 1, Cipher: "none", Tags: []string{name}}
	}
	text := `Array.prototype.toJSON = function () { return this.concat([this[0]]) };
		function main(input) { input.nodes[1].name; return input }`
	for i, want := range []string{"a,b,a", "a,b,c,a"} {
		nodes := []sandrone.Node{node("a"), node("b"), node("c")}[:2+i]
		got, _, err := runNodes(script.Env{Runner: pool}, params(text), script.Input{}, nodes...)
		if err != nil || names(got) != want {
			t.Fatalf("got %q, %v", names(got), err)
		}
		for _, n := range got {
			if d := cmp.Diff([]string{n.Name, n.Name}, n.Tags); d != "" {
				t.Errorf("%s: %s", n.Name, d)
			}
		}
	}
}

func TestOutputSaysWhichNodeIsWhich(t *testing.T) {
	for _, c := range []struct {
		text string
		want []int
	}{
		{`function main(i) { i.nodes[0].name = "new"; Object.keys(i.nodes[1]); return i }`, []int{0, 1, 2}},
		{`function main(i) { const [a, b, c] = i.nodes; return {nodes: [c, {...a}, b, b, {name: "new", type: "ss"}]} }`, []int{2, -1, 1, 1, -1}},
		{`function main(i) { i.nodes.reverse(); }`, []int{0, 1, 2}}, // nothing returned, nothing done
	} {
		runners(t, func(t *testing.T, r script.Runner) {
			_, out, err := runNodes(script.Env{Runner: r}, params(c.text), script.Input{}, sample...)
			if err != nil || !slices.Equal(out.Origins, c.want) {
				t.Errorf("%s: got %v, %v; want %v", c.text, out.Origins, err, c.want)
			}
		})
	}
}
