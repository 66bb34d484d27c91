package processors_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/processors"
)

// allAlive finds every node alive, the later ones quicker.
type allAlive struct{}

func (allAlive) Probe(_ context.Context, nodes []sandrone.Node, o sandrone.ProbeOptions) (a sandrone.ProbeAnswer, _ error) {
	for i := range nodes {
		a.Results = append(a.Results, sandrone.ProbeResult{NodeName: nodes[i].Name, Method: o.Method, Alive: true, DurationMS: int64(len(nodes) - i)})
	}
	return a, nil
}

// everywhere resolves every name, but for those that begin with "gone".
type everywhere struct{}

func (everywhere) DialContext(context.Context, string, string) (net.Conn, error) {
	return nil, errors.New("no connections in this test")
}

func (everywhere) LookupNetIP(_ context.Context, network, host string) ([]netip.Addr, error) {
	switch {
	case strings.HasPrefix(host, "gone"):
		return nil, errors.New("no such host")
	case network == "ip6" && host == "folded.example":
		return []netip.Addr{netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001::1f90:c000:0207")}, nil
	case network == "ip6":
		return []netip.Addr{netip.MustParseAddr("2001:db8::2"), netip.MustParseAddr("2001:db8::1")}, nil
	}
	return []netip.Addr{netip.MustParseAddr("192.0.2.9"), netip.MustParseAddr("192.0.2.10"), netip.MustParseAddr("192.0.2.9")}, nil
}

func TestStepsOnNames(t *testing.T) {
	for _, c := range []struct {
		name, kind, params string
		in, want           []string
	}{
		{"rules run in order and trim", "regex_rename", `{"rules":[{"pattern":"a","replacement":"b"},{"pattern":"b","replacement":" c "}]}`, []string{"xa", "b"}, []string{"x c", "c"}},
		{"without trimming", "regex_rename", `{"rules":[{"pattern":"a","replacement":" "}],"trim":false}`, []string{"a", "x"}, []string{" ", "x"}},
		{"look-ahead in a rule", "regex_rename", `{"rules":[{"pattern":"^(?!US)(..)","replacement":"[$1]"}]}`, []string{"HK 1", "US 1"}, []string{"[HK] 1", "US 1"}},
		{"deletes in order", "regex_delete", `{"patterns":["\\[.*?\\]","x"]}`, []string{"[a] HKx [b]"}, []string{"HK"}},

		{"ranked first, the rest by name", "regex_sort", `{"patterns":["JP","HK"]}`, []string{"US", "HK 2", "DE", "JP", "HK 1"}, []string{"JP", "HK 2", "HK 1", "DE", "US"}},
		{"the rest backwards", "regex_sort", `{"patterns":["JP"],"order":"desc"}`, []string{"A", "JP", "B"}, []string{"JP", "B", "A"}},
		{"the rest as it came", "regex_sort", `{"patterns":["JP"],"order":"original"}`, []string{"B", "A", "JP"}, []string{"JP", "B", "A"}},
		{"no patterns", "regex_sort", `{}`, []string{"B", "A"}, []string{"A", "B"}},

		{"flags", "flag", `{}`, []string{"HK 1", "🇯🇵 HK", "what", "🇺🇸", "台湾", "🏴‍☠️ JP"}, []string{"🇭🇰 HK 1", "🇯🇵 HK", "🏴‍☠️ what", "🇺🇸", "🇹🇼 台湾", "🇯🇵 JP"}},
		{"flags of protocol words", "flag", `{}`, []string{"TW-01 · SS", "US-01 · SS", "Belarus 03", "New Zealand 1"}, []string{"🇹🇼 TW-01 · SS", "🇺🇸 US-01 · SS", "🇧🇾 Belarus 03", "🇳🇿 New Zealand 1"}},
		{"taiwan", "flag", `{"taiwan":"ws"}`, []string{"台湾", "HK"}, []string{"🇼🇸 台湾", "🇭🇰 HK"}},
		{"no flags", "flag", `{"mode":"remove"}`, []string{"🇭🇰 HK 1", "A 🇭🇰 B", "x"}, []string{"HK 1", "A B", "x"}},
		{"a region of one's own", "flag", `{"extra_regions":[{"id":"moon","flag":"🌙","terms":["Luna"]},{"id":"hk","terms":["Lantau"]}]}`, []string{"luna 1", "Lantau", "🌙 luna 2"}, []string{"🌙 luna 1", "🇭🇰 Lantau", "🌙 luna 2"}},

		{"keeps regions", "region_filter", `{"action":"keep","regions":["HK","uk"]}`, []string{"HK", "London", "JP", "what"}, []string{"HK", "London"}},
		{"drops regions", "region_filter", `{"action":"drop","regions":["hk"]}`, []string{"HK", "what"}, []string{"what"}},
		{"keeps regions of one's own", "region_filter", `{"action":"keep","regions":["moon"],"extra_regions":[{"id":"Moon","codes":["LN"]}]}`, []string{"LN 1", "HK"}, []string{"LN 1"}},

		{"notices", "useless_filter", `{}`, []string{"剩余流量 5", "Expire 1", "官网", "HK", "Traffic Reset", "时间"}, []string{"HK"}},
		{"further notices", "useless_filter", `{"extra_patterns":["频道"]}`, []string{"频道 a", "HK"}, []string{"HK"}},

		{"numbers", "duplicate_names", `{}`, []string{"a", "b", "a"}, []string{"a-1", "b", "a-2"}},
		{"numbers in front", "duplicate_names", `{"position":"front","link":" "}`, []string{"a", "a"}, []string{"1 a", "2 a"}},
		{"other digits, one width", "duplicate_names", `{"digits":"⁰ ¹ ² ³ ⁴ ⁵ ⁶ ⁷ ⁸ ⁹","link":""}`,
			[]string{"a", "a", "a", "a", "a", "a", "a", "a", "a", "a", "b", "b"}, []string{"a⁰¹", "a⁰²", "a⁰³", "a⁰⁴", "a⁰⁵", "a⁰⁶", "a⁰⁷", "a⁰⁸", "a⁰⁹", "a¹⁰", "b⁰¹", "b⁰²"}},
		{"drops later ones", "duplicate_names", `{"action":"drop"}`, []string{"a", "b", "a"}, []string{"a", "b"}},
		{"by other fields", "duplicate_names", `{"fields":["Server","PORT"]}`, []string{"a", "b"}, []string{"a-1", "b-2"}},

		{"first of all", "limit", `{"count":2}`, []string{"a", "b", "c"}, []string{"a", "b"}},
		{"a number with a zero fraction is an integer", "limit", `{"count":2.0}`, []string{"a", "b", "c"}, []string{"a", "b"}},
		{"first of each region", "limit", `{"count":1,"per":"region"}`, []string{"HK 1", "JP 1", "HK 2", "what", "who"}, []string{"HK 1", "JP 1", "what"}},
		{"first of each type", "limit", `{"count":1,"per":"type"}`, []string{"a", "b"}, []string{"a"}},

		{"by name twice, a third free", "dedup", `{}`, []string{"a", "a", "b"}, []string{"a", "b"}},
		{"by connection", "dedup", `{"strategy":"connection"}`, []string{"a", "b"}, []string{"a"}},
		{"unknown field is empty", "dedup", `{"strategy":"fields","fields":["nope"]}`, []string{"a", "b"}, []string{"a"}},
		{"empty by is the default", "sort", `{"by":""}`, []string{"b", "a"}, []string{"a", "b"}},
		{"useless first", "quick_settings", `{"useless":"enabled"}`, []string{"到期 1", "HK"}, []string{"HK"}},
	} {
		if got := namesOf(run(t, named(c.in...), spec(c.kind, c.params)).Nodes); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestBadParams(t *testing.T) {
	deep := strings.Repeat(`{"not":`, 16) + `{"attr":"name","op":"exists"}` + strings.Repeat(`}`, 16)
	wide := `{"any":[` + strings.Repeat(`{"attr":"name","op":"exists"},`, 256) + `{"attr":"name","op":"exists"}]}`
	for _, c := range []struct{ kind, params, field string }{
		{"regex_rename", `{"rules":[]}`, "rules"},
		{"regex_rename", `{"rules":[{"replacement":"x"}]}`, "rules[0].pattern"},
		{"regex_rename", `{"rules":[{"pattern":"x","flags":"i"}]}`, "rules[0].flags"},
		{"regex_delete", `{"patterns":[""]}`, "patterns[0]"},
		{"regex_delete", `{"patterns":["a","("]}`, "patterns[1]"},
		{"regex_sort", `{"order":"random"}`, "order"},
		{"region_filter", `{"action":"keep","regions":["hk","nowhere"]}`, "regions[1]"},
		{"region_filter", `{"action":"keep","regions":[]}`, "regions"},
		{"region_filter", `{"action":"keep","regions":["hk"],"extra_regions":[{"flag":"x"}]}`, "extra_regions[0].id"},
		{"flag", `{"extra_regions":[{"id":"x","codes":["1"]}]}`, "extra_regions[0].codes[0]"},
		{"flag", `{"taiwan":"us"}`, "taiwan"},
		{"limit", `{}`, "count"},
		{"limit", `{"count":0}`, "count"},
		{"limit", `{"count":1.5}`, "count"},
		{"shuffle", `{"seed":"1"}`, "seed"},
		{"duplicate_names", `{"digits":"0 1"}`, "digits"},
		{"duplicate_names", `{"fields":[]}`, "fields"},
		{"resolve_domain", `{}`, "provider"},
		{"resolve_domain", `{"provider":"custom"}`, "servers"},
		{"resolve_domain", `{"provider":"custom","servers":["ftp://a"]}`, "servers[0]"},
		{"resolve_domain", `{"provider":"system","concurrency":65}`, "concurrency"},
		{"resolve_domain", `{"provider":"system","edns":"a"}`, "edns"},
		{"conditional_filter", `{"action":"keep"}`, "rule"},
		{"conditional_filter", `{"action":"keep","rule":{"attr":"tls.sni","op":"exists"}}`, "rule.attr"},
		{"conditional_filter", `{"action":"keep","rule":{"attr":"name","op":"like","value":"x"}}`, "rule.op"},
		{"conditional_filter", `{"action":"keep","rule":{"attr":"name","op":"exists","value":1}}`, "rule.value"},
		{"conditional_filter", `{"action":"keep","rule":{"attr":"name","op":"equals"}}`, "rule.value"},
		{"conditional_filter", `{"action":"keep","rule":{"attr":"name","op":"in","value":"x"}}`, "rule.value"},
		{"conditional_filter", `{"action":"keep","rule":{"attr":"name","op":"in","value":["x",[]]}}`, "rule.value[1]"},
		{"conditional_filter", `{"action":"keep","rule":{"attr":"port","op":"gt","value":"many"}}`, "rule.value"},
		{"conditional_filter", `{"action":"keep","rule":{"attr":"name","op":"regex","value":"("}}`, "rule.value"},
		{"conditional_filter", `{"action":"keep","rule":{"attr":"tls","op":"equals","value":1}}`, "rule.attr"},
		{"conditional_filter", `{"action":"keep","rule":{"all":[]}}`, "rule.all"},
		{"conditional_filter", `{"action":"keep","rule":{"all":[{"attr":"name","op":"exists"},{"any":[{}]}]}}`, "rule.all[1].any[0].attr"},
		{"conditional_filter", `{"action":"keep","rule":{"not":{"attr":"name","op":"exists"},"attr":"x"}}`, "rule.not"},
		{"conditional_filter", `{"action":"keep","rule":` + deep + `}`, "rule" + strings.Repeat(".not", 16)},
		{"conditional_filter", `{"action":"keep","rule":` + wide + `}`, "rule.any[256]"},
		{"node_patch", `{}`, ""},
		{"node_patch", `{"set":{"port":"443"}}`, "set.port"},
		{"node_patch", `{"set":{"tls":{"nope":1}}}`, "set.tls.nope"},
		{"node_patch", `{"set":{"name":" "}}`, "set.name"},
		{"node_patch", `{"set":{"type":"pigeon"}}`, "set.type"},
		{"node_patch", `{"set":{"dialer":null}}`, "set.dialer"},
		{"node_patch", `{"unset":["type"]}`, "unset"},
		{"node_patch", `{"unset":["nope"]}`, "unset"},
		{"quick_settings", `{"ip_version":"ipv5"}`, "ip_version"},
		{"probe", `{"timeout_ms":-1}`, "timeout_ms"},
		{"sort", `{"by":"name,-"}`, "by"},
	} {
		w := registry.Check(sandrone.NodesStage, "", []sandrone.ProcessorSpec{spec(c.kind, c.params)})
		field := "processors[0].params"
		if c.field != "" {
			field += "." + c.field
		}
		if len(w) != 1 || w[0].Code != string(sandrone.ProcessorConfigInvalid) || w[0].Field != field {
			t.Errorf("%s %.80s: got %+v, want field %s", c.kind, c.params, w, field)
		}
	}
	fits := strings.Replace(wide, `{"attr":"name","op":"exists"},`, "", 1)
	if w := registry.Check(sandrone.NodesStage, "", []sandrone.ProcessorSpec{spec("conditional_filter", `{"action":"keep","rule":`+fits+`}`)}); w != nil {
		t.Errorf("256 leaves: %+v", w)
	}
}

func TestConditions(t *testing.T) {
	node := sandrone.Node{
		Name: "HK 1", Type: sandrone.VLESS, Server: "h.example", Port: 8443, UUID: "u",
		TLS:       &sandrone.TLS{Enabled: true, ServerName: "Sni.example", ALPN: []string{"h2", "http/1.1"}},
		Transport: &sandrone.Transport{Type: "websocket", Headers: map[string]string{"Host": "x"}},
		Meta:      map[string]string{"rate": "1.5", "probe.alive": "true"},
		Raw:       sandrone.Raw{"mihomo.a.b": json.RawMessage(`"v"`)},
	}
	for rule, want := range map[string]bool{
		`{"attr":"name","op":"equals","value":"HK 1"}`:                                                      true,
		`{"attr":"name","op":"equals","value":"hk 1"}`:                                                      false,
		`{"attr":"name","op":"not_equals","value":"x"}`:                                                     true,
		`{"attr":"port","op":"equals","value":8443}`:                                                        true,
		`{"attr":"port","op":"equals","value":"8443"}`:                                                      true,
		`{"attr":"port","op":"gt","value":1024}`:                                                            true,
		`{"attr":"port","op":"lt","value":"1024"}`:                                                          false,
		`{"attr":"port","op":"gt","value":8443}`:                                                            false,
		`{"attr":"port","op":"in","value":[443,8443]}`:                                                      true,
		`{"attr":"meta.rate","op":"gt","value":1}`:                                                          true,
		`{"attr":"name","op":"gt","value":0}`:                                                               false,
		`{"attr":"name","op":"lt","value":0}`:                                                               false,
		`{"attr":"meta.probe.alive","op":"equals","value":"true"}`:                                          true,
		`{"attr":"meta.probe.alive","op":"equals","value":true}`:                                            true,
		`{"attr":"tls.enabled","op":"equals","value":true}`:                                                 true,
		`{"attr":"tls.server_name","op":"contains","value":"Sni"}`:                                          true,
		`{"attr":"tls.server_name","op":"starts_with","value":"sni"}`:                                       false,
		`{"attr":"tls.server_name","op":"ends_with","value":".example"}`:                                    true,
		`{"attr":"tls.server_name","op":"regex","value":"(?i)^sni"}`:                                        true,
		`{"attr":"tls.server_name","op":"regex","value":"^(?!x)S"}`:                                         true,
		`{"attr":"tls.alpn","op":"equals","value":"h2"}`:                                                    true,
		`{"attr":"tls.alpn","op":"not_equals","value":"h2"}`:                                                false,
		`{"attr":"tls.alpn","op":"not_equals","value":"h3"}`:                                                true,
		`{"attr":"tls.alpn","op":"in","value":["h3","http/1.1"]}`:                                           true,
		`{"attr":"transport.headers.Host","op":"equals","value":"x"}`:                                       true,
		`{"attr":"transport.headers.Other","op":"exists"}`:                                                  false,
		`{"attr":"raw.mihomo.a.b","op":"equals","value":"v"}`:                                               true,
		`{"attr":"tls","op":"exists"}`:                                                                      true,
		`{"attr":"tls.reality","op":"exists"}`:                                                              false,
		`{"attr":"dialer","op":"exists"}`:                                                                   false,
		`{"attr":"flow","op":"not_equals","value":"x"}`:                                                     true,
		`{"attr":"flow","op":"equals","value":""}`:                                                          false,
		`{"attr":"flow","op":"contains","value":""}`:                                                        false,
		`{"attr":"flow","op":"exists"}`:                                                                     false,
		`{"not":{"attr":"flow","op":"exists"}}`:                                                             true,
		`{"all":[{"attr":"name","op":"exists"},{"attr":"flow","op":"exists"}]}`:                             false,
		`{"any":[{"attr":"flow","op":"exists"},{"attr":"name","op":"exists"}]}`:                             true,
		`{"any":[{"attr":"flow","op":"exists"},{"all":[{"not":{"attr":"type","op":"in","value":["x"]}}]}]}`: true,
	} {
		for action, kept := range map[string]bool{"keep": want, "drop": !want} {
			res := run(t, []sandrone.Node{node}, spec("conditional_filter", fmt.Sprintf(`{"action":%q,"rule":%s}`, action, rule)))
			if got := len(res.Nodes) == 1; got != kept {
				t.Errorf("%s %s: kept %v", action, rule, got)
			}
		}
	}
}

func TestNodePatch(t *testing.T) {
	base := sandrone.Node{
		Name: "a", Type: sandrone.Trojan, Server: "h.example", Port: 443, Password: "p",
		TLS:  &sandrone.TLS{Enabled: true, ALPN: []string{"h2"}, Reality: &sandrone.Reality{Enabled: true, ShortID: "ab"}},
		Meta: map[string]string{"group": "g"},
	}
	for _, c := range []struct{ name, params, want string }{
		{"sets and unsets", `{"set":{"port":8443,"dialer.mptcp":true,"meta.x":"y"},"unset":["tls.alpn","meta.group"]}`,
			`{"name":"a","type":"trojan","server":"h.example","port":8443,"password":"p","tls":{"enabled":true,"reality":{"enabled":true,"short_id":"ab"}},"dialer":{"mptcp":true},"meta":{"x":"y"}}`},
		{"unsets objects", `{"unset":["tls.reality","meta","dialer"]}`,
			`{"name":"a","type":"trojan","server":"h.example","port":443,"password":"p","tls":{"enabled":true,"alpn":["h2"]}}`},
		{"sets objects by their members", `{"unset":["tls"],"set":{"tls":{"server_name":"x","reality":{"public_key":"k"}}}}`,
			`{"name":"a","type":"trojan","server":"h.example","port":443,"password":"p","tls":{"enabled":false,"server_name":"x","reality":{"public_key":"k"}},"meta":{"group":"g"}}`},
		{"unsets before it sets", `{"set":{"tls.alpn":["h3"]},"unset":["tls.alpn"]}`,
			`{"name":"a","type":"trojan","server":"h.example","port":443,"password":"p","tls":{"enabled":true,"alpn":["h3"],"reality":{"enabled":true,"short_id":"ab"}},"meta":{"group":"g"}}`},
		{"knows spellings of types", `{"set":{"type":" Socks5 "},"unset":["tls","meta","password"]}`,
			`{"name":"a","type":"socks","server":"h.example","port":443}`},
		{"only where it matches", `{"match":{"attr":"type","op":"equals","value":"vless"},"set":{"port":1}}`,
			`{"name":"a","type":"trojan","server":"h.example","port":443,"password":"p","tls":{"enabled":true,"alpn":["h2"],"reality":{"enabled":true,"short_id":"ab"}},"meta":{"group":"g"}}`},
	} {
		res := run(t, []sandrone.Node{base}, spec("node_patch", c.params))
		if got, _ := json.Marshal(res.Nodes[0]); string(got) != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
	res, err := registry.Nodes(t.Context(), processors.Run{Trace: true}, []sandrone.ProcessorSpec{spec("node_patch", `{"set":{"port":443},"unset":["dialer"]}`)}, []sandrone.Node{base})
	if err != nil || res.Trace.Steps[0].Modified != 0 {
		t.Errorf("a patch that changes nothing: %+v, %v", res.Trace, err)
	}
}

func TestUselessFilterKnowsNodesWithoutAPort(t *testing.T) {
	nodes := []sandrone.Node{
		{Name: "no port", Type: sandrone.Trojan, Server: "h.example", Password: "p"},
		{Name: "direct", Type: sandrone.Direct},
		{Name: "range", Type: sandrone.Mieru, Server: "h.example", Mieru: &sandrone.MieruOptions{PortRange: "1-2"}},
		{Name: "cipher", Type: sandrone.Shadowsocks, Server: "h.example", Port: 1, Cipher: "官"},
		{Name: "password", Type: sandrone.Shadowsocks, Server: "h.example", Port: 1, Password: "密码"},
		{Name: "host", Type: sandrone.VMess, Server: "h.example", Port: 1, Transport: &sandrone.Transport{Host: "例子"}},
		{Name: "fine", Type: sandrone.VMess, Server: "例子.example", Port: 1},
	}
	if got := namesOf(run(t, nodes, spec("useless_filter", "")).Nodes); !slices.Equal(got, []string{"direct", "range", "fine"}) {
		t.Errorf("kept %q", got)
	}
}

func TestDedupByConnectionLooksAtTransportAndTLS(t *testing.T) {
	node := func(name, path, sni string) sandrone.Node {
		return sandrone.Node{Name: name, Type: sandrone.VLESS, Server: "h.example", Port: 443, UUID: "u",
			TLS: &sandrone.TLS{Enabled: true, ServerName: sni}, Transport: &sandrone.Transport{Type: "websocket", Path: path}}
	}
	upper := node("upper", "/", "a")
	upper.Server = "H.example"
	upper.Dialer = &sandrone.Dialer{TFO: true}
	upper.Meta = map[string]string{"x": "y"}
	nodes := []sandrone.Node{node("a", "/", "a"), node("b", "/b", "a"), node("c", "/", "c"), upper}
	if got := namesOf(run(t, nodes, spec("dedup", `{"strategy":"connection"}`)).Nodes); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("by connection %q", got)
	}
	if got := namesOf(run(t, nodes[:3], spec("dedup", `{"strategy":"identity"}`)).Nodes); !slices.Equal(got, []string{"a"}) {
		t.Errorf("by identity %q", got)
	}
	if id := processors.Identity(&nodes[0]); len(id) != 7+64 || !strings.HasPrefix(id, "sha256:") {
		t.Errorf("identity %q", id)
	}
}

func TestRandomSuffixesEndWhenAllAreTaken(t *testing.T) {
	nodes := named(slices.Repeat([]string{"x"}, 10_001)...)
	res, err := registry.Nodes(t.Context(), processors.Run{}, []sandrone.ProcessorSpec{spec("dedup", `{"strategy":"random_suffix"}`)}, nodes)
	if err != nil {
		t.Fatal(err)
	}
	names := namesOf(res.Nodes)
	slices.Sort(names)
	if len(slices.Compact(names)) != 10_001 {
		t.Error("names are not unique")
	}
	_, err = registry.Nodes(t.Context(), processors.Run{}, []sandrone.ProcessorSpec{spec("dedup", `{"strategy":"random_suffix"}`)}, append(nodes, nodes[0]))
	if e := sandrone.AsError(err); e.Code != sandrone.NodeProcessorFailed {
		t.Errorf("one more: %v", err)
	}
	empty := namesOf(run(t, named("", "", "0000"), spec("dedup", `{"strategy":"random_suffix"}`)).Nodes)
	if empty[0] != "" || len(empty[1]) != 4 || empty[1] == "0000" {
		t.Errorf("empty names: %q", empty)
	}
}

func TestRandomComesFromTheRun(t *testing.T) {
	order := func(params string, random byte) []string {
		run := processors.Run{Services: processors.Services{Random: bytes.NewReader(bytes.Repeat([]byte{random}, 64))}}
		res, err := registry.Nodes(t.Context(), run, []sandrone.ProcessorSpec{spec("shuffle", params)}, named(strings.Split("abcdefghijklmnop", "")...))
		if err != nil {
			t.Fatal(err)
		}
		return namesOf(res.Nodes)
	}
	if !slices.Equal(order(`{"seed":5}`, 1), order(`{"seed":5}`, 2)) || slices.Equal(order(`{"seed":5}`, 1), order(`{"seed":-5}`, 1)) {
		t.Error("the order does not come from the seed")
	}
	if !slices.Equal(order(``, 1), order(``, 1)) || slices.Equal(order(``, 1), order(``, 2)) {
		t.Error("the order does not come from the source")
	}
}

func TestANameCannotGrowWithoutEnd(t *testing.T) {
	double := spec("rename", `{"mode":"template","value":"{name}{name}{name}{name}"}`)
	_, err := registry.Nodes(t.Context(), processors.Run{}, slices.Repeat([]sandrone.ProcessorSpec{double}, 12), named("abcd"))
	if e := sandrone.AsError(err); e.Code != sandrone.NodeProcessorFailed || e.Processor != "rename" {
		t.Errorf("got %v", err)
	}
}

func TestQuickSettingsOfEveryVersionOfSnell(t *testing.T) {
	for _, c := range []struct {
		version int
		value   string
		reuse   sandrone.Tri
		warns   bool
	}{
		{0, "enabled", sandrone.Unset, true}, {1, "enabled", sandrone.Unset, true}, {2, "enabled", sandrone.On, false},
		{3, "enabled", sandrone.Unset, true}, {4, "enabled", sandrone.On, false}, {5, "enabled", sandrone.On, false}, {6, "enabled", sandrone.Unset, true},
		{0, "disabled", sandrone.Unset, false}, {1, "disabled", sandrone.Unset, false}, {2, "disabled", sandrone.On, true},
		{3, "disabled", sandrone.Unset, false}, {4, "disabled", sandrone.Off, false}, {5, "disabled", sandrone.Off, false}, {6, "disabled", sandrone.Unset, true},
		{4, "default", sandrone.Unset, false},
	} {
		nodes := []sandrone.Node{{Name: "s", Type: sandrone.Snell, Server: "h.example", Port: 1, Password: "p", Snell: &sandrone.SnellOptions{Version: c.version}}}
		res := run(t, nodes, spec("quick_settings", fmt.Sprintf(`{"reuse":%q}`, c.value)))
		if got := res.Nodes[0].Snell.Reuse; got != c.reuse || (len(res.Warnings) == 1) != c.warns {
			t.Errorf("version %d %s: reuse %v, warnings %v", c.version, c.value, got, res.Warnings)
		}
	}
}

func TestQuickSettings(t *testing.T) {
	nodes := []sandrone.Node{
		{Name: "v", Type: sandrone.VMess, Server: "h.example", Port: 1, AlterID: 4},
		{Name: "s", Type: sandrone.Shadowsocks, Server: "h.example", Port: 1, TLS: &sandrone.TLS{Enabled: true, InsecureSkipVerify: true}},
	}
	for params, want := range map[string]string{
		`{"udp":"disabled"}`:                             `{"dialer":{"udp_relay":false}} {"dialer":{"udp_relay":false}}`,
		`{"tfo":"enabled"}`:                              `{"dialer":{"tfo":true}} {"dialer":{"tfo":true}}`,
		`{"allow_insecure":"enabled"}`:                   `{"tls":{"enabled":true,"insecure_skip_verify":true}} {}`,
		`{"allow_insecure":"disabled"}`:                  `{} {"tls":{"enabled":true}}`,
		`{"vmess_aead":"enabled"}`:                       `{"alter_id":null} {}`,
		`{"ip_version":"ipv6-prefer","block_quic":"on"}`: `{"dialer":{"block_quic":"on","ip_version":"ipv6-prefer"}} {"dialer":{"block_quic":"on","ip_version":"ipv6-prefer"}}`,
		`{"ecn":"enabled"}`:                              `{"dialer":{"ecn":true}} {"dialer":{"ecn":true}}`,
		`{"udp":"default","tfo":"","useless":"default"}`: `{} {}`,
	} {
		res := run(t, nodes, spec("quick_settings", params))
		var changes []string
		for i := range nodes {
			before, after := plain(t, nodes[i]).(map[string]any), plain(t, res.Nodes[i]).(map[string]any)
			change := map[string]any{}
			for key := range before {
				if after[key] == nil {
					change[key] = nil
				}
			}
			for key, v := range after {
				if fmt.Sprint(v) != fmt.Sprint(before[key]) {
					change[key] = v
				}
			}
			text, _ := json.Marshal(change)
			changes = append(changes, string(text))
		}
		if got := strings.Join(changes, " "); got != want {
			t.Errorf("%s: got %s, want %s", params, got, want)
		}
	}
}

func TestProbeStep(t *testing.T) {
	results := []sandrone.ProbeResult{{Alive: true, DurationMS: 9}, {ErrorCode: sandrone.ProbeTimeout}, {Alive: true, DurationMS: 3}}
	for _, c := range []struct {
		params string
		want   []string
	}{
		{`{}`, []string{"a", "b", "c"}},
		{`{"fail_mode":"drop"}`, []string{"a", "c"}},
		{`{"sort":"duration"}`, []string{"c", "a", "b"}},
	} {
		answer := sandrone.ProbeAnswer{Results: results, Report: sandrone.Report{Warnings: []sandrone.Warning{{Code: sandrone.ProbeTimeout, Node: "b"}}}}
		res, err := registry.Nodes(t.Context(), processors.Run{Services: processors.Services{Prober: stub{answer}}}, []sandrone.ProcessorSpec{spec("probe", c.params)}, named("a", "b", "c"))
		if err != nil || !slices.Equal(namesOf(res.Nodes), c.want) {
			t.Errorf("%s: got %q, %v", c.params, namesOf(res.Nodes), err)
		}
		if len(res.Warnings) != 1 || *res.Warnings[0].ProcessorIndex != 0 {
			t.Errorf("%s: warnings %+v", c.params, res.Warnings)
		}
	}
	run := processors.Run{Services: processors.Services{Prober: stub{}}}
	_, err := registry.Nodes(t.Context(), run, []sandrone.ProcessorSpec{spec("probe", "")}, named("a"))
	if e := sandrone.AsError(err); e.Code != sandrone.NodeProcessorFailed {
		t.Errorf("no results: %v", err)
	}
	if res, err := registry.Nodes(t.Context(), run, []sandrone.ProcessorSpec{spec("probe", "")}, nil); err != nil || len(res.Nodes) != 0 {
		t.Errorf("no nodes: %v", err)
	}
}

func TestResolveDomain(t *testing.T) {
	nodes := func() []sandrone.Node {
		list := named("a", "gone", "ip", "six", "kept", "again")
		list[0].Server = "A.example"
		list[0].TLS = &sandrone.TLS{Enabled: true}
		list[1].Server = "gone.example"
		list[2].Server = "198.51.100.1"
		list[3].Server = "2001:db8::9"
		list[4].Meta = map[string]string{"no_resolve": "true"}
		list[5].Server = "a.example"
		list[5].TLS = &sandrone.TLS{Enabled: true, ServerName: "sni"}
		return list
	}
	for _, c := range []struct {
		params string
		want   string // name=server:port
	}{
		{`{"provider":"system"}`, "a=192.0.2.9 gone=gone.example ip=198.51.100.1 six=2001:db8::9 kept=h.example again=192.0.2.9"},
		{`{"provider":"system","family":"ipv6"}`, "a=2001:db8::1 gone=gone.example ip=198.51.100.1 six=2001:db8::9 kept=h.example again=2001:db8::1"},
		{`{"provider":"system","filter":"drop_failed"}`, "a=192.0.2.9 ip=198.51.100.1 six=2001:db8::9 kept=h.example again=192.0.2.9"},
		{`{"provider":"system","filter":"ip_only"}`, "a=192.0.2.9 ip=198.51.100.1 six=2001:db8::9 again=192.0.2.9"},
		{`{"provider":"system","filter":"ipv4_only"}`, "a=192.0.2.9 ip=198.51.100.1 again=192.0.2.9"},
		{`{"provider":"system","filter":"ipv6_only"}`, "six=2001:db8::9"},
	} {
		res, err := registry.Nodes(t.Context(), processors.Run{Services: processors.Services{Network: everywhere{}}}, []sandrone.ProcessorSpec{spec("resolve_domain", c.params)}, nodes())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, n := range res.Nodes {
			got = append(got, n.Name+"="+n.Server)
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: got %s, want %s", c.params, s, c.want)
		}
		if len(res.Warnings) != 1 || res.Warnings[0].Code != "resolve_domain_failed" || res.Warnings[0].Node != "gone" {
			t.Errorf("%s: warnings %+v", c.params, res.Warnings)
		}
		if n := res.Nodes[0]; n.Name == "a" {
			if n.TLS.ServerName != "A.example" || n.Meta["resolve.domain"] != "A.example" || !strings.Contains(n.Meta["resolve.ips"], ",") {
				t.Errorf("%s: %+v %+v", c.params, n.TLS, n.Meta)
			}
			if last := res.Nodes[len(res.Nodes)-1]; last.TLS.ServerName != "sni" {
				t.Errorf("%s: server name %q", c.params, last.TLS.ServerName)
			}
		}
	}
	folded := named("f", "g")
	folded[0].Server, folded[1].Server = "folded.example", "plain.example"
	res, err := registry.Nodes(t.Context(), processors.Run{Services: processors.Services{Network: everywhere{}}}, []sandrone.ProcessorSpec{spec("resolve_domain", `{"provider":"system","family":"ip4p"}`)}, folded)
	if err != nil || res.Nodes[0].Server != "192.0.2.7" || res.Nodes[0].Port != 8080 || res.Nodes[1].Server != "plain.example" || len(res.Warnings) != 1 {
		t.Errorf("ip4p: %+v, %v, %v", res.Nodes, res.Warnings, err)
	}
}

// guarded refuses every connection, in the words of the guard.
type guarded struct{ everywhere }

func (guarded) DialContext(context.Context, string, string) (net.Conn, error) {
	return nil, sandrone.Errorf(sandrone.FetchForbidden, "not publicly routable")
}

func TestARefusedServerIsNamedAsTheReason(t *testing.T) {
	for _, server := range []string{"https://dns.example.com/dns-query", "tls://192.0.2.1", "udp://192.0.2.1"} {
		step := spec("resolve_domain", fmt.Sprintf(`{"provider":"custom","servers":[%q]}`, server))
		res, err := registry.Nodes(t.Context(), processors.Run{Services: processors.Services{Network: guarded{}}}, []sandrone.ProcessorSpec{step}, named("a"))
		if err != nil || len(res.Warnings) != 1 || !strings.HasSuffix(res.Warnings[0].Message, ": not publicly routable") {
			t.Errorf("%s: %+v, %v", server, res.Warnings, err)
		}
	}
}

type memory struct {
	mu     sync.Mutex
	values map[string][]byte
	ttl    time.Duration
}

func (m *memory) Get(_ context.Context, key string) ([]byte, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok := m.values[key]
	return v, ok
}

func (m *memory) Put(_ context.Context, key string, value []byte, ttl time.Duration) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.values[key], m.ttl = value, ttl
	return nil
}

func TestResolveDomainUsesItsCacheWhenAskedTo(t *testing.T) {
	cache := &memory{values: make(map[string][]byte)}
	resolve := func(network bool, params string) string {
		services := processors.Services{Cache: cache, Network: everywhere{}}
		nodes := named("a")
		nodes[0].Server = "a.example"
		if !network {
			services.Network = nowhere{}
		}
		res, err := registry.Nodes(t.Context(), processors.Run{Services: services}, []sandrone.ProcessorSpec{spec("resolve_domain", params)}, nodes)
		if err != nil {
			t.Fatal(err)
		}
		return res.Nodes[0].Server
	}
	if resolve(true, `{"provider":"system"}`); len(cache.values) != 0 {
		t.Error("cached without being asked to")
	}
	resolve(true, `{"provider":"system","cache_ttl_seconds":60}`)
	if got := resolve(false, `{"provider":"system","cache_ttl_seconds":60}`); got != "192.0.2.9" || cache.ttl != time.Minute {
		t.Errorf("from the cache: %q, %v", got, cache.ttl)
	}
	if got := resolve(false, `{"provider":"system","cache_ttl_seconds":60,"family":"ipv6"}`); got != "a.example" {
		t.Errorf("another question: %q", got)
	}
	for key := range cache.values {
		cache.values[key] = []byte("broken")
	}
	if got := resolve(true, `{"provider":"system","cache_ttl_seconds":60}`); got != "192.0.2.9" {
		t.Errorf("broken: %q", got)
	}
}

// nowhere reaches nothing.
type nowhere struct{ everywhere }

func (nowhere) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return nil, errors.New("no network")
}

// scripted is a script runner that has its answer.
type scripted struct {
	processors.ScriptRunner
	change func(nodes []*sandrone.Node) processors.ScriptNodes
}

func (s scripted) RunNodes(_ context.Context, _ processors.ScriptCall, nodes []*sandrone.Node) (processors.ScriptNodes, error) {
	return s.change(nodes), nil
}

func TestNodesOfAScriptKeepTheirTrace(t *testing.T) {
	registry := processors.New(processors.Options{Scripts: &processors.ScriptType{
		ParamsSchema: json.RawMessage(`{"type":"object"}`),
		Check:        func(json.RawMessage) error { return nil },
	}})
	runner := scripted{change: func(nodes []*sandrone.Node) processors.ScriptNodes {
		first, second := *nodes[0], *nodes[1]
		fresh := named("new")[0]
		fresh.Server = "elsewhere.example"
		first.Password = "changed"
		second.Name = "renamed"
		second.Server = "b.example"
		equal := *nodes[3]
		return processors.ScriptNodes{Nodes: []*sandrone.Node{&fresh, &equal, &second, &first}}
	}}
	nodes := named("a", "b", "c", "d")
	nodes[1].Server = "b.example"
	res, err := registry.Nodes(t.Context(), processors.Run{Trace: true, Services: processors.Services{Scripts: runner}},
		[]sandrone.ProcessorSpec{{Type: "script", Stage: "nodes"}}, nodes)
	if err != nil {
		t.Fatal(err)
	}
	st := res.Trace.Steps[0]
	if st.Added != 1 || st.Modified != 2 || st.Removed != 1 {
		t.Errorf("step %+v", st)
	}
	got, _ := json.Marshal(res.Trace.Nodes)
	if want := `[{"changed_by":[0]},{"changed_by":[0]},{"removed_by":0},{},{"added_by":0}]`; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if nodes[0].Password != "p" {
		t.Error("the script changed its input")
	}
	_, err = processors.New(processors.Options{}).Nodes(t.Context(), processors.Run{}, []sandrone.ProcessorSpec{{Type: "script", Stage: "nodes"}}, nodes)
	if e := sandrone.AsError(err); e.Code != sandrone.NotImplemented {
		t.Errorf("without scripts: %v", err)
	}
}

// A runner that knows where nodes come from is believed, as far as it can be
// right; the others are paired by what they say.
func TestNodesOfAScriptAreThoseThatTheRunnerSays(t *testing.T) {
	registry := processors.New(processors.Options{Scripts: &processors.ScriptType{
		ParamsSchema: json.RawMessage(`{"type":"object"}`),
		Check:        func(json.RawMessage) error { return nil },
	}})
	for _, c := range []struct {
		name    string
		origins []int
		want    string
	}{
		{"known", []int{0}, `[{"changed_by":[0]},{"removed_by":0}]`},
		{"not known", nil, `[{"removed_by":0},{}]`},
		{"not of the input", []int{2}, `[{"removed_by":0},{}]`},
		{"none", []int{-1}, `[{"removed_by":0},{}]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			runner := scripted{change: func(nodes []*sandrone.Node) processors.ScriptNodes {
				first := *nodes[0]
				first.Name = "b" // what the second one is called
				return processors.ScriptNodes{Nodes: []*sandrone.Node{&first}, Origins: c.origins}
			}}
			res, err := registry.Nodes(t.Context(), processors.Run{Trace: true, Services: processors.Services{Scripts: runner}},
				[]sandrone.ProcessorSpec{{Type: "script", Stage: "nodes"}}, named("a", "b"))
			if err != nil {
				t.Fatal(err)
			}
			if got, _ := json.Marshal(res.Trace.Nodes); string(got) != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}
