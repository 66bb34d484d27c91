package formats_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert"
	"github.com/sandrone-gateway/sandrone/convert/formats"
)

const corpus = "../../testdata/corpus"

// read is the walk from text to valid nodes.
func read(format, text string) ([]sandrone.Node, []sandrone.Warning, error) {
	batch, err := formats.Registry().Parse(format, text)
	if err != nil {
		return nil, batch.Warnings, err
	}
	warnings := append(batch.Warnings, convert.Normalise(batch.Nodes)...)
	nodes, _, dropped, err := convert.Validate(batch.Nodes, "normalized")
	return nodes, append(warnings, dropped...), err
}

// lines calls f with each object of a JSON lines file.
func lines[T any](t *testing.T, name string, f func(T)) {
	t.Helper()
	for _, v := range readLines[T](t, name) {
		f(v)
	}
}

// readLines returns the objects of a JSON lines file.
func readLines[T any](tb testing.TB, name string) (list []T) {
	tb.Helper()
	file, err := os.Open(filepath.Join(corpus, name))
	if err != nil {
		tb.Fatal(err)
	}
	defer file.Close()
	in := bufio.NewScanner(file)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var v T
		if err := json.Unmarshal(in.Bytes(), &v); err != nil {
			tb.Fatal(err)
		}
		list = append(list, v)
	}
	if in.Err() != nil {
		tb.Fatal(in.Err())
	}
	return list
}

// subset tells where got differs from what want states: null is absent or
// empty, a zero matches an absent member, lists match whole.
func subset(path string, want, got any) error {
	if want == nil {
		if !empty(got) {
			return fmt.Errorf("%s: got %v, want nothing", path, got)
		}
		return nil
	}
	if got == nil && empty(want) {
		return nil
	}
	switch want := want.(type) {
	case map[string]any:
		m, ok := got.(map[string]any)
		if !ok && got != nil { // an absent object has no member, which may be what is wanted
			return fmt.Errorf("%s: got %v, want an object", path, got)
		}
		for _, k := range slices.Sorted(maps.Keys(want)) {
			if err := subset(path+"."+k, want[k], m[k]); err != nil {
				return err
			}
		}
		return nil
	}
	if !reflect.DeepEqual(want, got) {
		return fmt.Errorf("%s: got %v, want %v", path, got, want)
	}
	return nil
}

func empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	case string:
		return v == ""
	case bool:
		return !v
	case float64:
		return v == 0
	case int:
		return v == 0
	}
	return false
}

// plain is a value as encoding/json reads it back.
func plain(t *testing.T, v any) any {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// asJSONNodes is what any other program reads in the json-nodes of some nodes.
func asJSONNodes(t *testing.T, nodes []sandrone.Node) (v any) {
	t.Helper()
	out, _, err := formats.Registry().Render("json-nodes", nodes, convert.RenderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out.Body, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func codes(warnings []sandrone.Warning) []string {
	set := map[string]bool{}
	for _, w := range warnings {
		set[w.Code] = true
	}
	return slices.Sorted(maps.Keys(set))
}

func TestVectors(t *testing.T) {
	type vector struct {
		ID, From, Input string
		Expect          map[string]any
		Warnings        []string
	}
	run := func(v vector) {
		t.Run(v.ID, func(t *testing.T) {
			nodes, warnings, err := read(v.From, v.Input)
			if want, ok := v.Expect["error"]; ok {
				if e, ok := errors.AsType[*sandrone.Error](err); !ok || string(e.Code) != want {
					t.Fatalf("error %v, want %v", err, want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want := []any{v.Expect}
			if list, ok := v.Expect["nodes"].([]any); ok {
				want = list
			}
			if len(nodes) != len(want) {
				t.Fatalf("%d nodes, want %d: %v", len(nodes), len(want), warnings)
			}
			for i := range want {
				if err := subset("node", want[i], plain(t, nodes[i])); err != nil {
					t.Error(err)
				}
			}
			if got, want := asJSONNodes(t, nodes), plain(t, nodes); !reflect.DeepEqual(got, want) {
				t.Errorf("as json-nodes the nodes are %s, were %s", show(got), show(want))
			}
			slices.Sort(v.Warnings)
			if got := codes(warnings); !slices.Equal(got, v.Warnings) {
				t.Errorf("warnings %v, want %v: %+v", got, v.Warnings, warnings)
			}
		})
	}
	lines(t, "uri-vectors.jsonl", run)
	lines(t, "more-vectors.jsonl", run) // of every format, a rule each
}

func TestClientFiles(t *testing.T) {
	for _, c := range []struct {
		file, format string
		nodes        int
		warnings     map[string]int
	}{
		{"mihomo-full.yaml", "mihomo", 36, map[string]int{"parse_proxy_skipped": 2, "node_validation_dropped": 1, "parse_unknown_field": 2}},
		{"mihomo-full.yaml", "auto", 36, map[string]int{"parse_proxy_skipped": 2, "node_validation_dropped": 1, "parse_unknown_field": 2}},
		{"stash.yaml", "mihomo", 6, map[string]int{}},
		{"stash.yaml", "stash", 6, map[string]int{}},
		{"stash.yaml", "auto", 6, map[string]int{}},
		{"sing-box-full.json", "sing-box", 26, map[string]int{"parse_outbound_skipped": 2, "parse_unknown_field": 2}},
		{"sing-box-full.json", "auto", 26, map[string]int{"parse_outbound_skipped": 2, "parse_unknown_field": 2}},
		{"sip008.json", "sip008", 3, map[string]int{"parse_outbound_skipped": 2, "parse_unknown_field": 1}},
		{"sip008.json", "auto", 3, map[string]int{"parse_outbound_skipped": 2, "parse_unknown_field": 1}},
	} {
		t.Run(c.file+" as "+c.format, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(corpus, "clients", c.file))
			if err != nil {
				t.Fatal(err)
			}
			nodes, warnings, err := read(c.format, string(text))
			if err != nil {
				t.Fatal(err)
			}
			if len(nodes) != c.nodes {
				t.Errorf("%d nodes, want %d", len(nodes), c.nodes)
			}
			got := map[string]int{}
			for _, w := range warnings {
				got[w.Code]++
			}
			if !maps.Equal(got, c.warnings) {
				t.Errorf("warnings %v, want %v", got, c.warnings)
				for _, w := range warnings {
					t.Logf("%s %s %s: %s", w.Code, w.Node, w.Field, w.Message)
				}
			}
			if t.Failed() {
				for _, n := range nodes {
					t.Log(n.Type, n.Name)
				}
			}
		})
	}
}

// TestClientFileDetails holds what EXPECTED.md of the corpus says of single
// nodes.
func TestClientFileDetails(t *testing.T) {
	for _, c := range []struct{ file, node, want string }{
		{"mihomo-full.yaml", "vless reality vision", `{"tls":{"reality":{"short_id":"0088"}}}`},
		{"mihomo-full.yaml", "wireguard one", `{"wireguard":{"address":["172.16.0.2/32","2001:db8:1::2/128"],"ip":"172.16.0.2"}}`},
		{"mihomo-full.yaml", "wireguard two peers", `{"wireguard":{"peers":[{"server":"wga.example.com","port":51820,"public_key":"Cr8hWlKvtDt7nrvf+f0brNQQzabAqrjfBvas9pmowjo=","allowed_ips":["10.0.0.0/8"]},{"server":"wgb.example.com","port":51821,"public_key":"nN1X0p+fFq3o7u2xVw8yZ6bT5sR4dC9eAaGhJkLmPQE=","allowed_ips":["0.0.0.0/0"],"reserved":[1,2,3]}]}}`},
		{"mihomo-full.yaml", "vless httpupgrade ech", `{"transport":{"type":"httpupgrade","host":"hu.example.com","path":"/hu","v2ray_http_upgrade_fast_open":true},"tls":{"ech":{"enabled":true,"config":["AEX+DQBBzQAgACA="]}}}`},
		{"mihomo-full.yaml", "ss 2022", `{"multiplex":{"enabled":true,"protocol":"h2mux","max_connections":4,"min_streams":4,"padding":true},"udp_over_tcp":{"enabled":true,"version":2}}`},
		{"mihomo-full.yaml", "trojan ss layer", `{"trojan":{"ss_enabled":true,"ss_method":"aes-128-gcm","ss_password":"inner"}}`},
		{"mihomo-full.yaml", "chained", `{"dialer":{"proxy":"trojan tcp","ip_version":"ipv4-prefer","interface":"eth1","routing_mark":233,"tfo":true,"mptcp":true}}`},
		{"mihomo-full.yaml", "tuic v4", `{"tls":{"disable_sni":true},"token":"tok-4"}`},
		{"mihomo-full.yaml", "tuic v5", `{"tuic":{"heartbeat":"10s","reduce_rtt":true,"congestion_control":"bbr"}}`},
		{"mihomo-full.yaml", "ss shadow-tls", `{"plugin":"shadow-tls","plugin_options":{"client-fingerprint":"chrome","version":3}}`},
		{"mihomo-full.yaml", "ss v2ray-plugin", `{"plugin_options":{"mux":1,"tls":true}}`},
		{"mihomo-full.yaml", "ssr one", `{"cipher":"none"}`},
		{"mihomo-full.yaml", "snell shadow-tls", `{"snell":{"version":4,"shadow_tls":{"host":"decoy.example.org","password":"stpw","version":3}}}`},
		{"mihomo-full.yaml", "hysteria v1", `{"port":36712,"hysteria":{"server_ports":["36712","40000-41000"],"up_mbps":30,"down_mbps":200,"obfs":"xplus","obfs_password":"hy-obfs"}}`},
		{"sing-box-full.json", "ss-st", `{"server":"st1.example.com","port":443,"plugin":"shadow-tls","plugin_options":{"host":"decoy.example.org","password":"st-pass","version":3,"client-fingerprint":"chrome"}}`},
		{"sing-box-full.json", "hy1-b64", `{"hysteria":{"auth_str":"hy-auth","up":"640 KBps","down_mbps":1000}}`},
		{"sing-box-full.json", "hy2", `{"hysteria":{"server_ports":["2080-3000","4000"],"hop_interval":"30"}}`},
		{"sing-box-full.json", "tor-a", `{"type":"tor","opaque":{"family":"sing-box","options":{"executable_path":"/usr/bin/tor"}}}`},
		{"stash.yaml", "st-hy", `{"hysteria":{"up_mbps":30,"down_mbps":200}}`},
		{"stash.yaml", "st-hy2", `{"password":"hy2-pass","dialer":{"tfo":true},"hysteria":{"up_mbps":50,"down_mbps":300}}`},
		{"stash.yaml", "st-tuic", `{"tls":{"fingerprint":"ba8845f0c1d2e3a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f9a0b1c2"}}`},
		{"stash.yaml", "st-wg", `{"wireguard":{"persistent_keepalive":25}}`},
		{"stash.yaml", "st-juicity", `{"type":"juicity","source_format":"mihomo","opaque":{"family":"mihomo"}}`},
		{"sip008.json", "London 01", `{"id":"7842c068-c667-41f2-8f7d-04feece3cb67","server":"2001:db8::21","plugin":"obfs","plugin_options":{"mode":"tls","host":"img.example.net"}}`},
		{"sip008.json", "2022", `{"plugin":"v2ray-plugin","plugin_options":{"mode":"websocket","tls":true,"host":"ws.example.net","path":"/ss"},"raw":{"sip008.note":"unknown member"}}`},
	} {
		t.Run(c.file+" "+c.node, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(corpus, "clients", c.file))
			if err != nil {
				t.Fatal(err)
			}
			nodes, _, err := read("auto", string(text))
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(nodes, func(n sandrone.Node) bool { return n.Name == c.node })
			if i < 0 {
				t.Fatal("no such node")
			}
			var want any
			if err := json.Unmarshal([]byte(c.want), &want); err != nil {
				t.Fatal(err)
			}
			if err := subset("node", want, plain(t, nodes[i])); err != nil {
				t.Error(err)
			}
		})
	}
}

// fieldCase is a case of the corpus' field-cases.jsonl that concerns a
// conversion alone.
type fieldCase struct {
	ID, Kind, From, To string
	Input              json.RawMessage
	Expect             map[string]any
}

var caseTargets = map[string]string{"mihomo": "mihomo-proxies", "sing-box": "sing-box-outbounds", "uri-list": "uri-list"}

func TestFieldCases(t *testing.T) {
	ran := 0
	lines(t, "field-cases.jsonl", func(c fieldCase) {
		var input string
		target := caseTargets[c.To]
		if json.Unmarshal(c.Input, &input) != nil || target == "" {
			return // a case of processors, files or the server
		}
		ran++
		t.Run(c.ID, func(t *testing.T) { c.run(t, input, target) })
	})
	if ran < 17 {
		t.Errorf("only %d conversion cases were found", ran)
	}
}

func (c *fieldCase) run(t *testing.T, input, target string) {
	nodes, warnings, err := read(c.From, input)
	if err != nil {
		t.Fatal(err)
	}
	out, _, err := formats.Registry().Render(target, nodes, convert.RenderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	warnings = append(warnings, out.Warnings...)
	text := string(out.Body)
	written := entries(t, target, out.Body)
	for key, want := range c.Expect {
		switch key {
		case "count":
			if got := float64(out.Count); got != want {
				t.Errorf("%v nodes, want %v: %v", got, want, warnings)
			}
		case "nodes":
			for i, w := range want.([]any) {
				w := w.(map[string]any)
				got := written[i]
				for _, e := range written {
					if w["name"] != nil && e["name"] == w["name"] || w["tag"] != nil && e["tag"] == w["tag"] {
						got = e
					}
				}
				if err := subset("node", w, got); err != nil {
					t.Error(err)
				}
			}
		case "absent":
			for _, k := range want.([]any) {
				for _, e := range written {
					if _, ok := e[k.(string)]; ok {
						t.Errorf("%v has %v", e["name"], k)
					}
				}
			}
		case "not_equal":
			for k, bad := range want.(map[string]any) {
				for _, e := range written {
					if slices.ContainsFunc(bad.([]any), func(v any) bool { return reflect.DeepEqual(v, e[k]) }) {
						t.Errorf("%v: %s is %v", e["name"], k, e[k])
					}
				}
			}
		case "string_scalars":
			for _, path := range want.([]any) {
				for _, e := range written {
					var v any = e
					for k := range strings.SplitSeq(path.(string), ".") {
						v = v.(map[string]any)[k]
					}
					if _, ok := v.(string); !ok {
						t.Errorf("%s is %T", path, v)
					}
				}
			}
		case "text_contains", "text_not_contains":
			for _, s := range want.([]any) {
				if strings.Contains(text, s.(string)) != (key == "text_contains") {
					t.Errorf("%s %q: %s", key, s, text)
				}
			}
		case "unique_names":
			seen := map[any]bool{}
			for _, e := range written {
				if seen[e["name"]] {
					t.Errorf("the name %v is there twice", e["name"])
				}
				seen[e["name"]] = true
			}
		case "warning":
			if !slices.ContainsFunc(warnings, func(w sandrone.Warning) bool {
				all := strings.ToLower(w.Node + " " + w.Message + " " + w.Field)
				return !slices.ContainsFunc(want.([]any), func(s any) bool { return !strings.Contains(all, strings.ToLower(s.(string))) })
			}) {
				t.Errorf("no warning has %v: %v", want, warnings)
			}
		case "query":
			_, query, _ := strings.Cut(text, "?")
			query, _, _ = strings.Cut(query, "#")
			got := map[string]any{}
			for part := range strings.SplitSeq(query, "&") {
				k, v, _ := strings.Cut(part, "=")
				got[k] = strings.ReplaceAll(strings.ReplaceAll(v, "%2F", "/"), "%2f", "/")
			}
			if err := subset("query", want, got); err != nil {
				t.Error(err)
			}
		default:
			t.Fatalf("the case asks for %s", key)
		}
	}
}

// entries are the proxies of a rendered document as its own readers see them.
func entries(t *testing.T, target string, body []byte) (list []map[string]any) {
	t.Helper()
	var file map[string][]map[string]any
	switch target {
	case "mihomo-proxies":
		var y map[string][]map[string]any
		if err := yaml.Unmarshal(body, &y); err != nil {
			t.Fatalf("%v\n%s", err, body)
		}
		for _, e := range y["proxies"] {
			list = append(list, plain(t, e).(map[string]any))
		}
		return list
	case "sing-box-outbounds":
		if err := json.NewDecoder(bytes.NewReader(body)).Decode(&file); err != nil {
			t.Fatalf("%v\n%s", err, body)
		}
		return append(file["outbounds"], file["endpoints"]...)
	}
	return make([]map[string]any, strings.Count(string(body), "\n")+1)
}
