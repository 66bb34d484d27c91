package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/engine"
	"github.com/sandrone-gateway/sandrone/fetch"
)

func (b *bench) render(t testing.TB, req engine.RenderRequest) *engine.Rendering {
	t.Helper()
	r, err := b.RenderSubscription(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (b *bench) read(t testing.TB, req engine.FileRequest) *engine.Rendering {
	t.Helper()
	r, err := b.ReadFile(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRenderReportsTheWholeWalk(t *testing.T) {
	b := newWorkbench(t, nil)
	b.put(t, `{"name":"in","type":"local","content":`+jsonText(t, link("a")+"\nssh://u:p@192.0.2.1:22#s")+`}`,
		`{"name":"top","type":"collection","inputs":[{"name":"in","type":"subscription"}]}`)
	r := b.render(t, engine.RenderRequest{Name: "top", Format: "shadowrocket-proxies"})
	rep := r.Report
	if rep.Kind != "subscription_render" || rep.Status != sandrone.StatusOK || !rep.Lossy || rep.Render.SuccessCount != 1 ||
		jsonText(t, rep.Dependencies) != `[{"kind":"subscription","name":"top"},{"kind":"subscription","name":"in"}]` {
		t.Errorf("got report %+v", rep)
	}
	if r.ContentType != "text/plain; charset=utf-8" || !strings.Contains(string(r.Body), "a=trojan") || r.Cached {
		t.Errorf("got %s, %s", r.ContentType, r.Body)
	}
}

func TestRenderRefusesAnUnknownFormatBeforeItFetches(t *testing.T) {
	web := &answers{}
	web.set(air, answer{text: link("a")})
	b := newWorkbench(t, web)
	b.put(t, remoteAir("air"))
	_, err := b.RenderSubscription(t.Context(), engine.RenderRequest{Name: "air", Format: "x"})
	if e := failure(t, err); e.Code != sandrone.InvalidArgument || e.Field != "format" || !strings.Contains(e.Message, `unsupported render format "x"`) || web.count(air) != 0 {
		t.Errorf("got %+v after %d requests", e, web.count(air))
	}
	if _, err := b.RenderSubscription(t.Context(), engine.RenderRequest{Name: "nobody"}); failure(t, err).Code != sandrone.NotFound {
		t.Errorf("got %v", err)
	}
}

func TestEmptyResultIsTheEmptyDocument(t *testing.T) {
	b := newWorkbench(t, nil)
	b.put(t, `{"name":"air","type":"local","content":"`+link("a")+`","processors":[{"type":"filter","params":{"action":"drop","field":"name","match":"regex","pattern":"."}}]}`,
		`{"name":"ssh","type":"local","content":"ssh://u:p@192.0.2.1:22#s"}`)
	if r := b.render(t, engine.RenderRequest{Name: "air", Format: "json-nodes"}); strings.TrimSpace(string(r.Body)) != "[]" {
		t.Errorf("got %s", r.Body)
	}
	if _, err := b.RenderSubscription(t.Context(), engine.RenderRequest{Name: "ssh", Format: "shadowrocket-proxies"}); failure(t, err).Code != sandrone.RenderFailed {
		t.Errorf("got %v", err)
	}
}

func TestRenderIsKeptForItsTime(t *testing.T) {
	web := &answers{}
	web.set(air, answer{text: link("a"), header: map[string]string{"Subscription-Userinfo": "total=5", "Profile-Update-Interval": "12", "Profile-Web-Page-Url": "https://home.example/"}})
	b := newWorkbench(t, web)
	definition := `{"name":"air","type":"remote","remote":{"url":"` + air + `"},"render_cache_ttl_seconds":300}`
	b.put(t, definition)
	req := engine.RenderRequest{Name: "air", Format: "uri-list"}
	first := b.render(t, req)
	b.now = b.now.Add(299 * time.Second)
	hit := b.render(t, req)
	if !hit.Cached || string(hit.Body) != string(first.Body) || jsonText(t, hit.Report) != jsonText(t, first.Report) || web.count(air) != 1 {
		t.Errorf("got %+v after %d requests", hit, web.count(air))
	}
	if p := hit.Profile; p == nil || *p.Traffic.TotalBytes != 5 || p.UpdateIntervalHours != 12 || p.WebPage != "https://home.example/" {
		t.Errorf("got profile %+v", p)
	}
	for name, other := range map[string]engine.RenderRequest{
		"args":    {Name: "air", Format: "uri-list", Args: map[string]string{"k": "v"}},
		"format":  {Name: "air", Format: "base64"},
		"refresh": {Name: "air", Format: "uri-list", Refresh: true},
	} {
		if b.render(t, other).Cached {
			t.Errorf("other %s got the kept result", name)
		}
	}
	if !b.render(t, req).Cached {
		t.Error("the refreshed result was not kept")
	}
	b.put(t, strings.Replace(definition, `"name"`, `"display_name":"Air","name"`, 1))
	if b.render(t, req).Cached {
		t.Error("a result of the former definition was given")
	}
	b.now = b.now.Add(301 * time.Second)
	if b.render(t, req).Cached {
		t.Error("a result was given after its time")
	}
}

func TestRenderWithAMissingInputIsKeptForAMinute(t *testing.T) {
	b := newWorkbench(t, &answers{})
	b.put(t, `{"name":"top","type":"collection","render_cache_ttl_seconds":3600,"inputs":[{"name":"gone","type":"subscription"},{"name":"x","type":"inline","format":"uri-list","content":"`+link("a")+`"}]}`)
	req := engine.RenderRequest{Name: "top"}
	b.render(t, req)
	b.now = b.now.Add(59 * time.Second)
	if r := b.render(t, req); !r.Cached || r.Report.Status != sandrone.StatusPartial {
		t.Errorf("got %+v within the minute", r)
	}
	b.now = b.now.Add(2 * time.Second)
	if b.render(t, req).Cached {
		t.Error("a partial result was given after a minute")
	}
}

func TestRenderThatADefinitionOvertookIsNotKept(t *testing.T) {
	var b *bench
	changes := true
	b = newWorkbench(t, fetchFunc(func(_ context.Context, req fetch.Request) (*fetch.Response, error) {
		if changes { // while the render is on its way, and maybe past the child
			changes = false
			b.put(t, `{"name":"child","type":"local","content":"`+link("new")+`"}`)
		}
		return &fetch.Response{Status: 200, Body: []byte(link("r")), Ref: sandrone.SourceRef{Kind: "remote", Name: req.URL}}, nil
	}))
	b.put(t, `{"name":"child","type":"local","content":"`+link("old")+`"}`,
		`{"name":"top","type":"collection","render_cache_ttl_seconds":3600,"inputs":[{"name":"child","type":"subscription"},
			{"name":"slow","type":"remote","url":"https://slow.example/"}]}`)
	b.render(t, engine.RenderRequest{Name: "top"})
	if r := b.render(t, engine.RenderRequest{Name: "top"}); r.Cached || !strings.Contains(string(r.Body), "#new") {
		t.Errorf("got %s, cached: %v", r.Body, r.Cached)
	}
}

func TestStaticFilePassesItsSourceOn(t *testing.T) {
	web := &answers{}
	web.set(air, answer{text: "remote \xff text"})
	b := newWorkbench(t, web)
	b.putFile(t, `{"name":"a.txt","kind":"static","source":{"type":"inline","content":"héllo\n"}}`,
		`{"name":"r.txt","kind":"static","source":{"type":"remote","remote":{"url":"`+air+`"}}}`,
		`{"name":"m.yaml","kind":"mihomo","source":{"type":"inline","content":"proxies: []\n"},"config":{"settings":{"groups":[],"rule_sets":[],"rules":[]}}}`,
		`{"name":"n.conf","kind":"shadowrocket","source":{}}`)
	for _, c := range []struct {
		req         engine.FileRequest
		body, ctype string
		code        sandrone.Code
	}{
		{engine.FileRequest{Name: "a.txt"}, "héllo\n", "application/octet-stream", ""},
		{engine.FileRequest{Name: "a.txt", Mode: " Source"}, "héllo\n", "text/plain; charset=utf-8", ""},
		{engine.FileRequest{Name: "r.txt"}, "remote � text", "application/octet-stream", ""},
		{engine.FileRequest{Name: "m.yaml", Mode: "source"}, "proxies: []\n", "application/yaml", ""},
		{engine.FileRequest{Name: "m.yaml"}, "proxies: []\nproxy-groups: []\nrule-providers: {}\nrules: []\n", "application/yaml", ""},
		{engine.FileRequest{Name: "n.conf", Mode: "source"}, "[General]\n", "text/plain; charset=utf-8", ""},
		{engine.FileRequest{Name: "nobody"}, "", "", sandrone.NotFound},
		{engine.FileRequest{Name: "a.txt", Mode: "spec"}, "", "", sandrone.InvalidArgument},
		{engine.FileRequest{Name: "../x"}, "", "", sandrone.InvalidArgument},
	} {
		r, err := b.ReadFile(t.Context(), c.req)
		if c.code != "" {
			if failure(t, err).Code != c.code {
				t.Errorf("%v: got %v, want %s", c.req, err, c.code)
			}
			continue
		}
		if err != nil || string(r.Body) != c.body || r.ContentType != c.ctype || r.Report.Kind != "file" || len(r.Report.SourceRefs) != 1 {
			t.Errorf("%v: got %+v, %v", c.req, r, err)
		}
	}
}

func TestStepsOfAFileMayUseSubscriptionsAndOtherFiles(t *testing.T) {
	script := func(body string) string {
		return `[{"type":"script","stage":"file","params":{"source":{"type":"inline","content":` + jsonText(t, "function main(i, api) { "+body+" return i }") + `}}}]`
	}
	b := newWorkbench(t, nil)
	b.put(t, `{"name":"air","type":"local","content":"`+link("a")+`"}`)
	b.putFile(t,
		`{"name":"part","kind":"static","source":{"type":"inline","content":"part "},"processors":`+script("i.file.content += (i.args ? i.args.k : '-');")+`}`,
		`{"name":"top","kind":"static","meta":{"m":"meta"},"source":{"type":"inline","content":"top "},"processors":`+script(
			"i.file.media_type = 'text/x-own'; i.file.content += [api.file.content('part'), api.file.content('part', {args:{k:'w'}}), api.subscription.produce('air').nodes[0].name, i.request.meta.m, i.args.k].join('|');")+`}`,
		`{"name":"code.js","kind":"static","source":{"type":"inline","content":"function main(i) { i.file.content += i.file.kind; return i }"}}`,
		`{"name":"by-file","kind":"static","source":{"type":"inline","content":"x "},"processors":[{"type":"script","stage":"file","params":{"source":{"type":"file","name":"code.js"}}}]}`,
		`{"name":"self","kind":"static","source":{"type":"inline","content":""},"processors":`+script("api.file.content('self');")+`}`,
		`{"name":"evil","kind":"static","source":{"type":"inline","content":""},"processors":`+script(`i.file.media_type = "text/html\r\nSet-Cookie: a=b";`)+`}`)
	top := b.read(t, engine.FileRequest{Name: "top", Args: map[string]string{"k": "v"}})
	if got := string(top.Body); got != "top part -|part w|a|meta|v" || top.ContentType != "text/x-own" {
		t.Errorf("got %q, %s", got, top.ContentType)
	}
	if got := jsonText(t, top.Report.Dependencies); got != `[{"kind":"file","name":"part"},{"kind":"subscription","name":"air"}]` {
		t.Errorf("got dependencies %s", got)
	}
	byFile := b.read(t, engine.FileRequest{Name: "by-file"})
	if got := jsonText(t, byFile.Report.Dependencies); string(byFile.Body) != "x static" || got != `[{"kind":"file","name":"code.js"}]` {
		t.Errorf("got %q, dependencies %s", byFile.Body, got)
	}
	_, err := b.ReadFile(t.Context(), engine.FileRequest{Name: "self"})
	if e := failure(t, err); e.Code != sandrone.Conflict || e.Processor != "script" || e.File != "self" {
		t.Errorf("got %+v", e)
	}
	if r := b.read(t, engine.FileRequest{Name: "evil"}); r.ContentType != "application/octet-stream" {
		t.Errorf("got a media type %q", r.ContentType)
	}
}

func TestScriptsThroughFilesAreNestedToALimit(t *testing.T) {
	b := newWorkbench(t, nil)
	for i := range 20 {
		next := jsonText(t, "function main(i, api) { i.file.content = api.file.content('f"+string(rune('a'+i+1))+"'); return i }")
		b.putFile(t, `{"name":"f`+string(rune('a'+i))+`","kind":"static","source":{"type":"inline","content":""},"processors":[{"type":"script","stage":"file","params":{"timeout_ms":60000,"source":{"type":"inline","content":`+next+`}}}]}`)
	}
	b.putFile(t, `{"name":"fu","kind":"static","source":{"type":"inline","content":"end"}}`)
	if _, err := b.ReadFile(t.Context(), engine.FileRequest{Name: "fa"}); failure(t, err).Code != sandrone.ScriptRuntime {
		t.Errorf("got %v", err)
	}
	if r := b.read(t, engine.FileRequest{Name: "fh"}); string(r.Body) != "end" {
		t.Errorf("got %q", r.Body)
	}
}

func TestConversionRunsItsSteps(t *testing.T) {
	b := newWorkbench(t, nil)
	b.put(t, `{"name":"air","type":"local","content":"`+link("s")+`"}`)
	text := link("a") + "\n" + link("b")
	r, err := b.Convert(t.Context(), engine.ConvertRequest{ToFormat: "json-nodes", FromFormat: "auto", Content: &text, Meta: map[string]string{"m": "M"},
		ParseProcessors: steps(`[{"type":"filter","params":{"action":"keep","field":"name","match":"in","values":["b"]}},
			{"type":"script","stage":"nodes","params":{"source":{"type":"inline","content":"function main(i, api) { i.nodes[0].name += i.context.meta.m; i.nodes.push(api.subscription.produce('air').nodes[0]); return i }"}}}]`),
		RenderProcessors: steps(`[{"type":"rename","params":{"mode":"suffix","value":"!"}},{"type":"script","stage":"file"}]`)})
	if err != nil {
		t.Fatal(err)
	}
	if body := string(r.Body); !strings.Contains(body, `"bM!"`) || !strings.Contains(body, `"s!"`) || strings.Contains(body, `"a`) {
		t.Errorf("got %s", body)
	}
	if got := jsonText(t, r.Report.Dependencies); got != `[{"kind":"subscription","name":"air"}]` {
		t.Errorf("got dependencies %s", got)
	}
	for list, want := range map[string]sandrone.Code{
		`[{"type":"teleport"}]`:               sandrone.ProcessorUnknown,
		`[{"type":"script","params":{}}]`:     sandrone.ProcessorConfigInvalid,
		`[{"type":"sort"},{"type":"rename"}]`: sandrone.ProcessorConfigInvalid,
	} {
		_, err := b.Convert(t.Context(), engine.ConvertRequest{ToFormat: "uri-list", FromFormat: "auto", Content: &text, RenderProcessors: steps(list)})
		if e := failure(t, err); e.Code != want || !strings.HasPrefix(e.Field, "render_processors[") {
			t.Errorf("%s: got %+v", list, e)
		}
	}
}

// lines answers probes: nodes whose name begins with "dead" are.
type lines struct{ asked int }

func (l *lines) Probe(_ context.Context, nodes []sandrone.Node, o sandrone.ProbeOptions) (sandrone.ProbeAnswer, error) {
	l.asked++
	a := sandrone.ProbeAnswer{Report: sandrone.Report{Kind: "probe", Probe: &sandrone.ProbeReport{Method: o.Method}}}
	for i := range nodes {
		r := sandrone.ProbeResult{NodeName: nodes[i].Name, Alive: !strings.HasPrefix(nodes[i].Name, "dead"), DurationMS: 5}
		a.Results = append(a.Results, r)
		if o.Progress != nil {
			o.Progress(i, &r)
		}
	}
	return a, nil
}

func TestProbeOfASubscriptionTellsEachNodeByItsIdentity(t *testing.T) {
	prober := &lines{}
	b := newWorkbenchWith(t, nil, prober)
	b.put(t, `{"name":"air","type":"local","content":`+jsonText(t, server("one", "h1")+"\n"+server("dead", "h2"))+`,
		"processors":[{"type":"rename","params":{"mode":"suffix","value":"!"}}]}`)
	identity := b.preview(t, "air").Nodes[1].Identity
	for _, c := range []struct {
		only []string
		want string
	}{
		{nil, "1/2 0 one! true, 2/2 1 dead! false"},
		{[]string{identity}, "1/1 0 dead! false"},
		{[]string{"sha256:other"}, ""},
	} {
		var got []string
		answer, err := b.ProbeSubscription(t.Context(), engine.ProbeRequest{Name: "air", Identities: c.only,
			Progress: func(done, total, index int, id string, r *sandrone.ProbeResult) {
				if !strings.HasPrefix(id, "sha256:") {
					t.Errorf("got identity %q", id)
				}
				got = append(got, fmt.Sprintf("%d/%d %d %s %v", done, total, index, r.NodeName, r.Alive))
			}})
		if err != nil || len(answer.Results) != len(got) || strings.Join(got, ", ") != c.want {
			t.Errorf("%q: got %q, %v", c.only, got, err)
		}
	}
	if _, err := b.ProbeSubscription(t.Context(), engine.ProbeRequest{Name: "nobody"}); failure(t, err).Code != sandrone.NotFound {
		t.Errorf("got %v", err)
	}
}

func TestStepsAndScriptsProbe(t *testing.T) {
	prober := &lines{}
	b := newWorkbenchWith(t, nil, prober)
	b.put(t, `{"name":"air","type":"local","content":`+jsonText(t, server("one", "h1")+"\n"+server("dead", "h2")+"\n"+server("two", "h3"))+`,
		"processors":[{"type":"script","stage":"nodes","params":{"source":{"type":"inline","content":
			"function main(i, api) { const r = api.probe(i.nodes.slice(1)).results; i.nodes[0].name += r.map(x => x.alive).join(); return i }"}}},
			{"type":"probe","params":{"fail_mode":"drop"}}]}`)
	if got := nodeNames(b.preview(t, "air").Nodes); got != "onefalse,true two" || prober.asked != 2 {
		t.Errorf("got %q with %d probes", got, prober.asked)
	}
}
