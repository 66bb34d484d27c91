package mihomo_test

import (
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert"
	"github.com/sandrone-gateway/sandrone/convert/mihomo"
)

const ss = "{name: a, type: ss, server: a.example.com, port: 8388, cipher: aes-128-gcm, password: "

func one(t *testing.T, text string) sandrone.Node {
	t.Helper()
	b, err := mihomo.Parser.Parse(text)
	if err != nil || len(b.Nodes) != 1 {
		t.Fatalf("%d nodes, %v, %v", len(b.Nodes), err, b.Warnings)
	}
	return b.Nodes[0]
}

func TestParseTakesEveryShapeOfDocument(t *testing.T) {
	for name, text := range map[string]string{
		"file":              "port: 7890\nproxies:\n  - " + ss + "x}\nrules: [MATCH]",
		"old spelling":      "Proxy:\n- " + ss + "x}",
		"list":              "- " + ss + "x}",
		"one proxy":         "name: a\ntype: ss\nserver: a.example.com\nport: 8388\ncipher: aes-128-gcm\npassword: x",
		"JSON":              `{"proxies":[{"name":"a","type":"ss","server":"a.example.com","port":"8388","cipher":"aes-128-gcm","password":"x"}]}`,
		"JSON list":         `[{"name":"a","type":"ss","server":"a.example.com","port":8388,"cipher":"aes-128-gcm","password":"x"}]`,
		"JSON, one proxy":   `{"name":"a","type":"ss","server":"a.example.com","port":8388,"cipher":"aes-128-gcm","password":"x"}`,
		"tabs":              "proxies:\n\t- name: a\n\t  type: ss\n\t  server: a.example.com\n\t  port: 8388\n\t  cipher: aes-128-gcm\n\t  password: x",
		"anchors and merge": "base: &b {type: ss, port: 8388, cipher: aes-128-gcm, password: x}\nproxies:\n  - {<<: *b, name: a, server: a.example.com}",
		"repeated key":      "proxies:\n  - {name: a, type: ss, server: b.example.com, server: a.example.com, port: 8388, cipher: aes-128-gcm, password: x}",
		"tag":               "proxies:\n  - {name: a, type: ss, server: a.example.com, port: 8388, cipher: aes-128-gcm, password: !<str> x}",
	} {
		t.Run(name, func(t *testing.T) {
			n := one(t, text)
			if n.Server != "a.example.com" || n.Port != 8388 || n.Password != "x" {
				t.Errorf("got %+v", n)
			}
		})
	}
}

func TestParseKeepsTheTextOfSecretsThatLookLikeNumbers(t *testing.T) {
	for _, secret := range []string{"0085142", "81e3", "1_000", "0x1f", "0o17", "12:30", "1e10", "00", "~x", "yes", "0123"} {
		if n := one(t, "proxies:\n  - "+ss+secret+"}"); n.Password != secret {
			t.Errorf("password %q became %q", secret, n.Password)
		}
	}
}

func TestOneBadEntryCostsNoOther(t *testing.T) {
	b, err := mihomo.Parser.Parse("proxies:\n  - " + ss + "x}\n  - 7\n  - {name: b, type: nosuch, server: s, port: 1}\n  - {name: c, type: trojan, server: s, port: 99999, password: p}\n  - {name: d}\n  - " + ss + "y}")
	if err != nil || len(b.Nodes) != 2 || len(b.Warnings) != 4 {
		t.Fatalf("%d nodes, %v, %v", len(b.Nodes), err, b.Warnings)
	}
	for _, w := range b.Warnings {
		if w.Code != sandrone.WarnProxySkipped || w.NodeContext == nil {
			t.Errorf("got %+v", w)
		}
	}
}

func TestASecondDocumentIsNotPassedOverInSilence(t *testing.T) {
	const one = "proxies: [{name: a, type: http, server: h, port: 1}]\n"
	batch, err := mihomo.Parser.Parse(one + "---\n" + one)
	if err != nil || len(batch.Nodes) != 1 || len(batch.Warnings) != 1 || batch.Warnings[0].NodeContext.Line != 2 {
		t.Errorf("got %d nodes, warnings %+v, %v; want one, and a warning about line 2", len(batch.Nodes), batch.Warnings, err)
	}
}

func TestHostileDocumentsFailWithAnError(t *testing.T) {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'k'; c++ {
		bomb += string(c) + ": &" + string(c) + " [" + strings.TrimSuffix(strings.Repeat("*"+string(c-1)+",", 9), ",") + "]\n"
	}
	for name, text := range map[string]string{
		"alias bomb":        bomb + "proxies: [*j]",
		"proxies no list":   "proxies: 7",
		"JSON too deep":     `{"proxies":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + "}",
		"alias to itself":   "proxies: &a\n  - *a",
		"no YAML":           "proxies: [",
		"nothing in a list": "proxies:\n",
	} {
		t.Run(name, func(t *testing.T) {
			if b, err := mihomo.Parser.Parse(text); err == nil && len(b.Nodes) > 0 {
				t.Errorf("%d nodes", len(b.Nodes))
			}
		})
	}
}

// FuzzParse holds that no text makes the reader panic, and that it takes no
// more memory than a small multiple of the text.
func FuzzParse(f *testing.F) {
	for _, name := range []string{"mihomo-full.yaml", "stash.yaml"} {
		text, err := os.ReadFile("../../testdata/corpus/clients/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
		for entry := range strings.SplitSeq(string(text), "\n  - ") {
			f.Add("proxies:\n  - " + entry)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		b, err := mihomo.Parser.Parse(text)
		runtime.ReadMemStats(&after)
		if got, most := after.TotalAlloc-before.TotalAlloc, uint64(1<<21+1000*len(text)); got > most {
			t.Fatalf("%d bytes of text took %d bytes", len(text), got)
		}
		if err != nil {
			return
		}
		convert.Normalise(b.Nodes)
		nodes, _, _, _ := convert.Validate(b.Nodes, "normalized")
		mihomo.Renderer.Render(nodes, convert.RenderOptions{Target: "mihomo-proxies"})
	})
}
