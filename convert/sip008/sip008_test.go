package sip008_test

import (
	"encoding/json"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert"
	"github.com/sandrone-gateway/sandrone/convert/field"
	"github.com/sandrone-gateway/sandrone/convert/nodetest"
	"github.com/sandrone-gateway/sandrone/convert/sip008"
)

var options = convert.RenderOptions{Target: "sip008"}

func codes(warnings []sandrone.Warning) (list []string) {
	for _, w := range warnings {
		list = append(list, w.Code+" "+w.Field)
	}
	return list
}

const first = `{"id": "27b8a625-4f4b-4428-9f0f-8a2317db7c79", "remarks": "Tokyo", "server": "2001:db8::21", "server_port": 8388, "password": "p\"w", "method": "aes-256-gcm"}`

func TestParseTakesEveryFormOfTheDocument(t *testing.T) {
	want := sandrone.Node{ID: "27b8a625-4f4b-4428-9f0f-8a2317db7c79", Name: "Tokyo", Type: "ss", Server: "2001:db8::21", Port: 8388, Password: `p"w`, Cipher: "aes-256-gcm"}
	for _, c := range []struct{ name, text string }{
		{"document", `{"version": 1, "username": "u", "bytes_used": 1, "servers": [` + first + `]}`},
		{"array", `[` + first + `]`},
		{"configs of the Windows client", `{"configs": [` + first + `], "index": 0}`},
		{"port in quotes", `[` + strings.Replace(first, "8388", `"8388"`, 1) + `]`},
		{"empty plugin", `[` + strings.Replace(first, `"method"`, `"plugin": "", "plugin_opts": "", "method"`, 1) + `]`},
	} {
		batch, err := sip008.Parser.Parse(c.text)
		if err != nil || len(batch.Nodes) != 1 || len(batch.Warnings) > 0 {
			t.Errorf("%s: got %+v, %v", c.name, batch, err)
			continue
		}
		if !reflect.DeepEqual(batch.Nodes[0], want) {
			t.Errorf("%s: got %q", c.name, nodetest.Diff(&batch.Nodes[0], &want))
		}
	}
}

func TestParseReadsThePlugin(t *testing.T) {
	for _, c := range []struct {
		name, members string
		plugin        string
		options       map[string]any
		warnings      []string
	}{
		{"obfs", `"plugin": "obfs-local", "plugin_opts": "obfs=tls;obfs-host=img.example.net"`, "obfs", map[string]any{"mode": "tls", "host": "img.example.net"}, nil},
		{"v2ray", `"plugin": "v2ray-plugin", "plugin_opts": "mode=websocket;tls;path=/s\\=s"`, "v2ray-plugin", map[string]any{"mode": "websocket", "tls": true, "path": "/s=s"}, nil},
		{"unknown", `"plugin": "qtun", "plugin_opts": "cert=a"`, "qtun", map[string]any{"raw": "cert=a"}, nil},
		{"no options", `"plugin": "qtun"`, "qtun", nil, nil},
		{"options without a plugin", `"plugin_opts": "x=1"`, "", nil, []string{"parse_unknown_field sip008.plugin_opts"}},
		{"text that is none", `"plugin": "obfs-local", "plugin_opts": "obfs=tls\\"`, "obfs", map[string]any{"raw": `obfs=tls\`}, []string{"parse_unknown_field plugin_options"}},
		{"options that are no text", `"plugin": "qtun", "plugin_opts": {"a": 1}`, "qtun", nil, []string{"parse_unknown_field sip008.plugin_opts"}},
		{"a plugin that is no text", `"plugin": ["x"]`, "", nil, []string{"parse_unknown_field sip008.plugin"}},
	} {
		batch, err := sip008.Parser.Parse(`[{"server": "a.example.com", "server_port": 1, "password": "x", "method": "none", ` + c.members + `}]`)
		if err != nil || len(batch.Nodes) != 1 {
			t.Errorf("%s: got %+v, %v", c.name, batch, err)
			continue
		}
		n := batch.Nodes[0]
		if n.Plugin != c.plugin || !reflect.DeepEqual(n.PluginOptions, c.options) || !reflect.DeepEqual(codes(batch.Warnings), c.warnings) {
			t.Errorf("%s: got %q %v with %v", c.name, n.Plugin, n.PluginOptions, codes(batch.Warnings))
		}
	}
}

func TestParseSkipsWhatIsNoServer(t *testing.T) {
	text := `{"version": 1, "servers": [
		{"remarks": "notice", "server": "a.example.com", "server_port": 0, "password": "secret-1", "method": "none"},
		{"remarks": "no port", "server": "a.example.com", "password": "secret-2", "method": "none"},
		{"remarks": "bad port", "server": "a.example.com", "server_port": 70000, "password": "secret-3", "method": "none"},
		{"remarks": "no server", "server_port": 1, "password": "secret-4", "method": "none"},
		{"remarks": "no method", "server": "a.example.com", "server_port": 1, "password": "secret-5"},
		"text", null, 7,
		` + first + `]}`
	batch, err := sip008.Parser.Parse(text)
	if err != nil || len(batch.Nodes) != 1 || batch.Nodes[0].Name != "Tokyo" {
		t.Fatalf("got %+v, %v", batch, err)
	}
	if len(batch.Warnings) != 8 {
		t.Fatalf("got %d warnings, want 8", len(batch.Warnings))
	}
	for i, w := range batch.Warnings {
		if w.Code != sandrone.WarnOutboundSkipped || w.NodeContext == nil || w.NodeContext.Format != "sip008" || !strings.HasPrefix(w.Message, "entry "+strconv.Itoa(i+1)+": ") {
			t.Errorf("warning %d: %+v", i, w)
		}
		if b, _ := json.Marshal(w); strings.Contains(string(b), "secret") {
			t.Errorf("a credential is in a warning: %s", b)
		}
	}
	if c := batch.Warnings[0].NodeContext; c.Name != "notice" || c.Server != "a.example.com" {
		t.Errorf("context: %+v", c)
	}
}

func TestParseFailsForWhatIsNoDocument(t *testing.T) {
	for _, c := range []struct{ name, text string }{
		{"broken JSON", `{"servers": [`},
		{"servers that are no list", `{"version": 1, "servers": {}}`},
	} {
		if _, err := sip008.Parser.Parse(c.text); err == nil || sandrone.AsError(err).Code != sandrone.ParseFailed {
			t.Errorf("%s: got %v, want %s", c.name, err, sandrone.ParseFailed)
		}
	}
}

func TestParseReadsTheExampleOfTheCorpus(t *testing.T) {
	text, err := os.ReadFile("../../testdata/corpus/clients/sip008.json")
	if err != nil {
		t.Fatal(err)
	}
	batch, err := sip008.Parser.Parse(string(text))
	if err != nil || len(batch.Nodes) != 3 {
		t.Fatalf("got %d nodes, %v", len(batch.Nodes), err)
	}
	want := []string{"parse_unknown_field sip008.note", "parse_outbound_skipped ", "parse_outbound_skipped "}
	if got := codes(batch.Warnings); !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := string(batch.Nodes[2].Raw["sip008.note"]); got != `"unknown member"` {
		t.Errorf("raw: got %s", got)
	}
}

func TestDetectKnowsItsDocumentsOnly(t *testing.T) {
	for _, c := range []struct {
		text string
		want bool
	}{
		{`{"version": 1, "servers": [` + first + `]}`, true},
		{`{"servers": [` + first + `]}`, false},
		{`{"version": "1", "servers": [` + first + `]}`, false},
		{`{"version": 1, "servers": []}`, false},
		{`{"version": 1, "servers": [{"server": "a"}]}`, false},
		{`[` + first + `]`, false},
		{`{"outbounds": [{"type": "shadowsocks", "server_port": 1, "method": "none"}]}`, false},
		{`ss://x`, false},
		{``, false},
	} {
		if got := sip008.Parser.Detect(convert.ShapeOf(c.text)); got != c.want {
			t.Errorf("%s: got %v, want %v", c.text, got, c.want)
		}
	}
}

func TestRenderWritesADocument(t *testing.T) {
	nodes := []sandrone.Node{
		{ID: "7842c068-c667-41f2-8f7d-04feece3cb67", Name: "東京", Type: "ss", Server: "2001:db8::21", Port: 8389, Password: "<pw>", Cipher: "aes-256-gcm", Plugin: "obfs", PluginOptions: map[string]any{"mode": "tls", "host": "img.example.net"}, Raw: sandrone.Raw{"sip008.note": json.RawMessage(`{"a":1}`)}},
		{Name: "open", Type: "ss", Server: "a.example.com", Port: 1, Cipher: "none"},
		{Name: "no", Type: "trojan", Server: "a.example.com", Port: 1, Password: "x"},
		{Name: "st", Type: "ss", Server: "a.example.com", Port: 1, Password: "x", Cipher: "none", Plugin: "shadow-tls", PluginOptions: map[string]any{"host": "b"}},
		{Name: "tfo", Type: "ss", Server: "a.example.com", Port: 1, Password: "x", Cipher: "none", Dialer: &sandrone.Dialer{TFO: true}},
	}
	const want = `{
  "version": 1,
  "servers": [
    {
      "id": "7842c068-c667-41f2-8f7d-04feece3cb67",
      "remarks": "東京",
      "server": "2001:db8::21",
      "server_port": 8389,
      "password": "<pw>",
      "method": "aes-256-gcm",
      "plugin": "obfs-local",
      "plugin_opts": "obfs=tls;obfs-host=img.example.net",
      "note": {
        "a": 1
      }
    },
    {
      "remarks": "open",
      "server": "a.example.com",
      "server_port": 1,
      "password": "",
      "method": "none"
    },
    {
      "remarks": "tfo",
      "server": "a.example.com",
      "server_port": 1,
      "password": "x",
      "method": "none"
    }
  ]
}
`
	out := sip008.Renderer.Render(nodes, options)
	if string(out.Body) != want {
		t.Errorf("got %s", out.Body)
	}
	warnings := []string{"render_node_skipped type", "render_node_skipped plugin", "render_lossy_field dialer.tfo"}
	if got := codes(out.Warnings); !reflect.DeepEqual(got, warnings) {
		t.Errorf("got %q, want %q", got, warnings)
	}
	if empty := sip008.Renderer.Render(nil, options); string(empty.Body) != "{\n  \"version\": 1,\n  \"servers\": []\n}\n" {
		t.Errorf("without nodes: got %q", empty.Body)
	}
}

// TestWhatIsWrittenIsReadBack draws nodes: each difference has a warning, or
// does not matter.
func TestWhatIsWrittenIsReadBack(t *testing.T) {
	rng := nodetest.Rand(1)
	written := 0
	for range 3000 {
		n := nodetest.Node(rng, sandrone.Shadowsocks)
		out := sip008.Renderer.Render([]sandrone.Node{n}, options)
		if out.Count == 0 {
			if w := out.Warnings; len(w) != 1 || w[0].Code != sandrone.WarnNodeSkipped {
				t.Fatalf("left out with %v", codes(w))
			}
			continue
		}
		written++
		batch, err := sip008.Parser.Parse(string(out.Body))
		if err != nil || len(batch.Nodes) != 1 || len(batch.Warnings) > 0 {
			t.Fatalf("%s\n%v, %v", out.Body, codes(batch.Warnings), err)
		}
		warned := map[string]bool{}
		for _, w := range out.Warnings {
			warned[w.Field] = true
		}
		inert := field.Inert(&n)
		nodetest.DiffEach(&batch.Nodes[0], &n, func(f *field.Info, difference string) {
			if !warned[f.Path] && !inert.Has(f.ID) && f.Usual() != field.Silent {
				t.Errorf("%s\n%s", difference, out.Body)
			}
		})
	}
	if written < 300 {
		t.Errorf("only %d nodes were written", written)
	}
}

func FuzzParse(f *testing.F) {
	text, err := os.ReadFile("../../testdata/corpus/clients/sip008.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(text))
	f.Add(`[` + first + `]`)
	f.Add(`{"configs": [null, {"plugin": 1, "plugin_opts": [], "server_port": "9"}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		batch, err := sip008.Parser.Parse(text)
		if err != nil || len(batch.Nodes) == 0 {
			return
		}
		out := sip008.Renderer.Render(batch.Nodes, options)
		again, err := sip008.Parser.Parse(string(out.Body))
		if err != nil || len(again.Nodes) != out.Count {
			t.Fatalf("%d nodes written, %d read back, %v", out.Count, len(again.Nodes), err)
		}
	})
}
