package singbox_test

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert"
	"github.com/sandrone-gateway/sandrone/convert/goldentest"
	"github.com/sandrone-gateway/sandrone/convert/singbox"
	"github.com/sandrone-gateway/sandrone/convert/table"
	"github.com/sandrone-gateway/sandrone/tools/gensub/synth"
)

const ss = `{"type":"shadowsocks","tag":"a","server":"a.example.com","server_port":8388,"method":"aes-128-gcm","password":"x"}`

func TestParseTakesEveryShapeOfDocument(t *testing.T) {
	for name, text := range map[string]string{
		"file":         `{"log":{},"outbounds":[` + ss + `],"route":{"final":"a"}}`,
		"comments":     "// one\n{\"outbounds\": [ # two\n" + ss + ", /* three */ ], }",
		"one outbound": ss,
		"list":         "[" + ss + "]",
		"both lists":   `{"endpoints":null,"outbounds":[` + ss + `]}`,
		"string port":  strings.Replace(ss, "8388", `"8388"`, 1),
	} {
		t.Run(name, func(t *testing.T) {
			b, err := singbox.Parser.Parse(text)
			if err != nil || len(b.Nodes) != 1 || len(b.Warnings) != 0 {
				t.Fatalf("%d nodes, %v, %v", len(b.Nodes), err, b.Warnings)
			}
			if n := b.Nodes[0]; n.Name != "a" || n.Type != sandrone.Shadowsocks || n.Port != 8388 || n.Password != "x" {
				t.Errorf("got %+v", n)
			}
		})
	}
}

func TestParseRefusesTextsThatHoldNoList(t *testing.T) {
	for name, text := range map[string]string{
		"no JSON":         "outbounds: []",
		"cut off":         `{"outbounds":[` + ss,
		"no list":         `{"outbounds":{"a":1}}`,
		"too deep":        `{"outbounds":` + strings.Repeat("[", 70) + strings.Repeat("]", 70) + `}`,
		"text after":      `{"outbounds":[]} x`,
		"too many nodes":  `{"outbounds":[` + strings.Repeat(`{"type":"tor"},`, convert.MaxNodes+1) + `]}`,
		"bad key":         `{"outbounds":[{type:"http"}]}`,
		"control in text": "{\"outbounds\":[{\"type\":\"ht\ntp\"}]}",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := singbox.Parser.Parse(text)
			e, ok := errors.AsType[*sandrone.Error](err)
			if !ok || e.Code != sandrone.ParseFailed {
				t.Errorf("got %v, want parse_failed", err)
			}
		})
	}
}

func TestParseIgnoresWhatIsNoServer(t *testing.T) {
	b, err := singbox.Parser.Parse(`{"outbounds":[{"type":"selector","tag":"s"},{"type":"urltest","tag":"u"},{"type":"block","tag":"b"},{"type":"dns","tag":"d"},{"type":"direct","tag":"direct"},` + ss + `]}`)
	if err != nil || len(b.Nodes) != 1 || len(b.Warnings) != 0 {
		t.Errorf("%d nodes, %v, %v", len(b.Nodes), err, b.Warnings)
	}
}

func TestSkippedEntriesSayWhatIsKnownOfThem(t *testing.T) {
	b, err := singbox.Parser.Parse(`{"outbounds":[` + ss + `,{"type":"carrier","tag":"c","server":"c.example.com","server_port":7,"password":"s3cret"}]}`)
	if err != nil || len(b.Nodes) != 1 || len(b.Warnings) != 1 {
		t.Fatalf("%d nodes, %v, %v", len(b.Nodes), err, b.Warnings)
	}
	w := b.Warnings[0]
	want := sandrone.NodeContext{Format: "sing-box", Name: "c", Type: "carrier", Server: "c.example.com", Port: 7}
	if w.Code != sandrone.WarnOutboundSkipped || fmt.Sprintf("%+v", *w.NodeContext) != fmt.Sprintf("%+v", want) {
		t.Errorf("got %+v", w)
	}
	if strings.Contains(fmt.Sprintf("%+v", w), "s3cret") {
		t.Error("the warning holds a secret")
	}
}

func TestDetect(t *testing.T) {
	for text, want := range map[string]bool{
		`{"outbounds":[{"type":"selector"}]}`:           true,
		`{"log":{},"endpoints":[{"type":"wireguard"}]}`: true,
		ss: true,
		`{"type":"ss","server":"a","cipher":"x"}`:            false,
		`{"outbounds":[{"protocol":"vmess"}]}`:               false,
		`{"proxies":[{"type":"ss","name":"a"}]}`:             false,
		`[{"type":"ss","name":"a","server":"a","port":1}]`:   false,
		"outbounds:\n  - type: http":                         false,
		`{"outbounds":[]}`:                                   false,
		`{"outbounds":null,"type":"x"}`:                      false,
		`{"outbounds":{"type":"http"}}`:                      true,
		`{"endpoints":5}`:                                    true,
		`{"outbounds":[1,{"tag":"a"},{"type":"http"}]}`:      true,
		"// a file\n{\"outbounds\": [{\"type\": \"http\"}]}": true,
	} {
		if got := singbox.Parser.Detect(convert.ShapeOf(text)); got != want {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
}

func TestRenderOfNothingIsAnEmptyDocument(t *testing.T) {
	got := string(singbox.Renderer.Render(nil, convert.RenderOptions{Target: "sing-box-outbounds"}).Body)
	if want := "{\n  \"outbounds\": []\n}\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestRenderGivesRepeatedTagsNumbers(t *testing.T) {
	n := sandrone.Node{Name: "a", Type: sandrone.HTTP, Server: "a.example.com", Port: 1}
	via := sandrone.Node{Name: "b", Type: sandrone.HTTP, Server: "b.example.com", Port: 1, Dialer: &sandrone.Dialer{Proxy: "a"}}
	out := singbox.Renderer.Render([]sandrone.Node{n, n, via}, convert.RenderOptions{Target: "sing-box-outbounds"})
	if want := []string{"a", "a 2", "b"}; !slices.Equal(out.Names, want) {
		t.Errorf("got %q, want %q", out.Names, want)
	}
	if !strings.Contains(string(out.Body), `"detour": "a"`) {
		t.Errorf("the chain is lost: %s", out.Body)
	}
	if len(out.Warnings) != 1 || out.Warnings[0].Code != sandrone.WarnNodeRenamed {
		t.Errorf("got warnings %v", out.Warnings)
	}
}

func TestRenderLeavesRawOutWhenAsked(t *testing.T) {
	n := sandrone.Node{Name: "a", Type: sandrone.SOCKS, Server: "a.example.com", Port: 1, Raw: sandrone.Raw{"sing-box.version": []byte(`"4a"`)}}
	for drop, want := range map[bool]bool{false: true, true: false} {
		out := singbox.Renderer.Render([]sandrone.Node{n}, convert.RenderOptions{Target: "sing-box-outbounds", DropRaw: drop})
		if got := strings.Contains(string(out.Body), `"version": "4a"`); got != want {
			t.Errorf("drop %v: written %v", drop, got)
		}
		if got := len(out.Warnings) == 0; got != want {
			t.Errorf("drop %v: warnings %v", drop, out.Warnings)
		}
	}
}

func TestProfilesSayWhatTheVersionWrites(t *testing.T) {
	render, parse := singbox.Renderer.Profile(), singbox.Parser.Profile()
	if slices.Contains(render.Types, sandrone.Snell) || !slices.Contains(parse.Types, sandrone.Snell) {
		t.Errorf("snell is read from every version and written since 1.14: %v, %v", parse.Types, render.Types)
	}
	for _, row := range []struct {
		typ        sandrone.Type
		field      string
		supported  bool
		lossy, raw bool
	}{
		{sandrone.Shadowsocks, "plugin_options", true, true, false}, // of some plugins
		{sandrone.VMess, "tls.fingerprint", false, true, false},
		{sandrone.VLESS, "encryption", true, true, false},
		{sandrone.Hysteria2, "hysteria.up_mbps", true, false, false},
		{sandrone.Hysteria2, "hysteria.cwnd", false, true, false},
		{sandrone.Hysteria2, "sing-box.realm", false, false, true},
		{sandrone.TUIC, "token", false, true, false},
		{sandrone.AnyTLS, "dialer.tfo", true, true, false}, // inside ShadowTLS only
		{sandrone.SOCKS, "tls.enabled", false, true, false},
		{sandrone.SOCKS, "sing-box.version", false, false, true},
		{sandrone.VMess, "sing-box.tls.ech.config_path", false, false, true},
		{sandrone.WireGuard, "sing-box.udp_timeout", false, false, true},
		{sandrone.WireGuard, "wireguard.amnezia", false, true, false},
		{sandrone.Naive, "naive.padding", false, true, false},
	} {
		in := func(list []entry) bool { return slices.Contains(list, entry{row.field, row.typ}) }
		if got := in(entries(render.Fields)); got != row.supported {
			t.Errorf("%s %s: supported %v", row.typ, row.field, got)
		}
		if got := in(entries(render.Lossy)); got != row.lossy {
			t.Errorf("%s %s: lossy %v", row.typ, row.field, got)
		}
		if got := in(entries(parse.RawOnly)); got != row.raw {
			t.Errorf("%s %s: raw only %v", row.typ, row.field, got)
		}
	}
}

// FuzzParse holds that no text makes the reader panic, that it takes no more
// memory than a small multiple of the text, and that what is written of it is
// read back.
func FuzzParse(f *testing.F) {
	text, err := os.ReadFile("../../testdata/corpus/clients/sing-box-full.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(text))
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSuffix(strings.TrimSpace(line), ","); strings.HasPrefix(line, `{ "type"`) {
			f.Add(line)
			f.Add(`{"endpoints":[` + line + `]}`)
		}
	}
	for _, text := range goldentest.Inputs(f) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		b, err := singbox.Parser.Parse(text)
		runtime.ReadMemStats(&after)
		if got, most := after.TotalAlloc-before.TotalAlloc, uint64(1<<21+1000*len(text)); got > most {
			t.Fatalf("%d bytes of text took %d bytes", len(text), got)
		}
		if err != nil {
			return
		}
		convert.Normalise(b.Nodes)
		nodes, _, _, _ := convert.Validate(b.Nodes, "normalized")
		out := singbox.Renderer.Render(nodes, convert.RenderOptions{Target: "sing-box-outbounds", DropRaw: true})
		back, err := singbox.Parser.Parse(string(out.Body))
		if err != nil {
			t.Fatalf("what was written is not read: %v\n%s", err, out.Body)
		}
		if len(back.Nodes) != out.Count {
			t.Fatalf("%d nodes written, %d read back\n%s", out.Count, len(back.Nodes), out.Body)
		}
	})
}

// subscription is a document of 10,000 ordinary nodes.
func subscription(b *testing.B) string {
	nodes, err := synth.Build(synth.Options{Nodes: 10_000, Seed: 1})
	if err != nil {
		b.Fatal(err)
	}
	text, _, err := synth.Render(nodes, synth.SingBox, synth.Layout{})
	if err != nil {
		b.Fatal(err)
	}
	return string(text)
}

func BenchmarkParse(b *testing.B) {
	text := subscription(b)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := singbox.Parser.Parse(text); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRender(b *testing.B) {
	batch, err := singbox.Parser.Parse(subscription(b))
	if err != nil {
		b.Fatal(err)
	}
	convert.Normalise(batch.Nodes)
	for b.Loop() {
		singbox.Renderer.Render(batch.Nodes, convert.RenderOptions{Target: "sing-box-outbounds"})
	}
}

type entry struct {
	field string
	typ   sandrone.Type
}

func entries(list []table.Entry) (all []entry) {
	for _, e := range list {
		all = append(all, entry{e.Field, e.Protocol})
	}
	return all
}
