package engine_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/engine"
)

// Scripts of files see the finished document with its kind, without the version
// as their target, and write it back in its own syntax.
func TestScriptsChangeCompiledFiles(t *testing.T) {
	b := newWorkbench(t, nil)
	b.put(t, `{"name":"air","type":"local","content":"`+twoNodes+`"}`)
	for _, c := range []struct{ kind, change, sees, want, contentType string }{
		{"mihomo@1.18", `const d = api.yaml.parse(input.file.content); d.mode = d.proxies.map(p => p.name).join(); input.file.content = api.yaml.stringify(d)`,
			"mihomo application/yaml K M", "mode: \"One,Two\"\n", "application/yaml"},
		{"sing-box@1.12", `const d = api.json.parse(input.file.content); d.log.level = d.outbounds[5].tag; input.file.content = api.json.stringify(d)`,
			"sing-box application/json K M", `"level":"One"`, "application/json"},
		{"shadowrocket", `const d = api.ini.parse(input.file.content); d.sections.find(s => s.name === "General").lines.push("ipv6 = false"); input.file.content = api.ini.stringify(d)`,
			"shadowrocket text/plain; charset=utf-8 K M", "[General]\nipv6 = false\n", "text/plain; charset=utf-8"},
		{"shadowrocket", `input.file.media_type = "text/x-conf"`,
			"shadowrocket text/plain; charset=utf-8 K M", "[Proxy]\nOne=ss", "text/x-conf"},
	} {
		params, err := json.Marshal(map[string]any{"content": `function main(input, api) {
			api.log([input.target, input.file.media_type, input.request.args.k, input.request.meta.m].join(" ")); ` + c.change + `; return input }`})
		if err != nil {
			t.Fatal(err)
		}
		p, err := b.PreviewFile(t.Context(), engine.FileRequest{Args: map[string]string{"k": "K"}, Draft: unmarshal[sandrone.FileSpec](t,
			`{"name":"f","kind":"`+c.kind+`","source":{},"meta":{"m":"M"},"config":{"subscriptions":["air"]},"processors":[{"type":"script","stage":"file","params":`+string(params)+`}]}`)})
		if err != nil {
			t.Errorf("%s: %+v", c.kind, sandrone.AsError(err))
			continue
		}
		if !strings.Contains(string(p.Body), c.want) || p.ContentType != c.contentType {
			t.Errorf("%s: got %s of\n%s", c.kind, p.ContentType, p.Body)
		}
		if got := jsonText(t, p.Logs); !strings.Contains(got, c.sees) {
			t.Errorf("%s: the script saw %s, want %s", c.kind, got, c.sees)
		}
	}
}

func TestAStepThatAddsNodesTellsWhatItDid(t *testing.T) {
	web := &answers{}
	b := newWorkbench(t, web)
	b.put(t, `{"name":"air","type":"local","content":"`+twoNodes+`"}`,
		`{"name":"far","type":"local","content":"trojan://secret@c.example.com:443#Two\ntrojan://secret@d.example.com:443#Three"}`, remoteAir("remote"))
	file := func(subscription string) string {
		return `{"name":"m","kind":"mihomo","source":{},"config":{"subscriptions":["air"]},"processors":[
			{"type":"replace","params":{"rules":[{"from":"log-level: info","to":"log-level: error"}]}},{"type":"add_nodes","params":{"subscriptions":["` + subscription + `"]}}]}`
	}
	p, err := b.PreviewFile(t.Context(), engine.FileRequest{Draft: unmarshal[sandrone.FileSpec](t, file("far"))})
	if err != nil {
		t.Fatal(err)
	}
	if text := string(p.Body); strings.Contains(text, "One") || !strings.Contains(text, "      - Two\n      - DIRECT\n") || !strings.Contains(text, "name: Three") || !strings.Contains(text, "log-level: error") {
		t.Errorf("got\n%s", text)
	}
	if len(p.Steps) != 2 || p.Steps[1].Type != "add_nodes" || p.Steps[1].WarningCount != 3 || p.Steps[1].LinesChanged == 0 {
		t.Errorf("got steps %s", jsonText(t, p.Steps))
	}
	for _, w := range p.Report.Warnings {
		if w.Code != sandrone.WarnReferenceUnknown || w.ProcessorIndex == nil || *w.ProcessorIndex != 1 || !strings.HasPrefix(w.Path, "/proxy-groups/") {
			t.Errorf("got warning %s", jsonText(t, w))
		}
	}
	out := b.dryFile(t, web, file("far"))
	if out.Error != nil || out.Bytes == nil || out.Bytes.After != len(p.Body) {
		t.Errorf("a dry run says %s", jsonText(t, out))
	}
	out = b.dryFile(t, web, file("remote"))
	if e := out.Error; e == nil || e.Code != sandrone.FetchFailed || e.Processor != "add_nodes" || e.ProcessorIndex == nil || *e.ProcessorIndex != 1 || e.ResourceName != "remote" {
		t.Errorf("a dry run over what was never read says %s", jsonText(t, out.Error))
	}
	b.putFile(t, file("far"))
	d, err := b.Diagnose(t.Context(), engine.DiagnoseRequest{File: &engine.StoredOr[sandrone.FileSpec]{Name: "m"}})
	if err != nil || d.Status == "failed" {
		t.Fatalf("got %+v, %v", d, err)
	}
	if got := jsonText(t, d.Stages); !strings.Contains(got, "subscription:far") {
		t.Errorf("got stages %s", got)
	}
}
