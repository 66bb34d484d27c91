package engine_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/engine"
)

// manyLinks are n links of several protocols.
func manyLinks(n int) string {
	var b strings.Builder
	for i := range n {
		switch i % 4 {
		case 0:
			fmt.Fprintf(&b, "trojan://pw%d@t%d.example.com:443?sni=s%d.example.com&type=ws&path=%%2Fx&host=h.example.com#HK %d\n", i, i, i, i)
		case 1:
			fmt.Fprintf(&b, "vless://11111111-2222-3333-4444-%012d@v%d.example.com:443?security=reality&pbk=Z84J2IelR9ch3k8VtlVhhs5ycBUlXA7wHBWcBrjqnAw&sid=6ba85179e30d4fc2&sni=s.example.com&fp=chrome&flow=xtls-rprx-vision#JP %d\n", i, i, i)
		case 2:
			fmt.Fprintf(&b, "hysteria2://pw%d@h%d.example.com:8443?sni=s.example.com&obfs=salamander&obfs-password=o#US %d\n", i, i, i)
		default:
			fmt.Fprintf(&b, "ss://YWVzLTEyOC1nY206cHc=@10.%d.%d.1:8388#SG %d\n", i/256%256, i%256, i)
		}
	}
	return b.String()
}

func fiveSteps() []sandrone.ProcessorSpec {
	return steps(`[{"type":"filter","params":{"action":"drop","field":"name","match":"regex","pattern":"7$"}},
		{"type":"rename","params":{"mode":"prefix","value":"A "}},
		{"type":"flag"},
		{"type":"quick_settings","params":{"udp":"enabled"}},
		{"type":"sort","params":{"by":"+name"}}]`)
}

func BenchmarkPreview(b *testing.B) {
	for _, n := range []int{5_000, 10_000, 20_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			e := newWorkbench(b, nil)
			draft := &sandrone.Subscription{Type: "local", Content: manyLinks(n), Processors: fiveSteps()}
			for b.Loop() {
				p, err := e.PreviewSubscription(b.Context(), engine.PreviewRequest{Draft: draft, Trace: true})
				if err != nil {
					b.Fatal(err)
				}
				if len(p.Nodes) != n {
					b.Fatal(len(p.Nodes))
				}
			}
		})
	}
}

// shape is a preview in few words: name and status of each item, and the steps
// that did it.
func shape(p *engine.Preview) string {
	var items []string
	for _, n := range p.Nodes {
		var names []string
		for _, node := range []*sandrone.Node{n.Before, n.After} {
			if node != nil {
				names = append(names, node.Name)
			}
		}
		item := strings.Join(slices.Compact(names), ">") + " " + n.Status
		for _, i := range n.ChangedBy {
			item += fmt.Sprintf(" c%d", i)
		}
		if n.RemovedBy != nil {
			item += fmt.Sprintf(" r%d", *n.RemovedBy)
		}
		if n.AddedBy != nil {
			item += fmt.Sprintf(" a%d", *n.AddedBy)
		}
		items = append(items, item)
	}
	return strings.Join(items, ", ")
}

func server(name, host string) string { return "trojan://p@" + host + ".example.com:443#" + name }

func TestPreviewPairsNodesByTheirConnection(t *testing.T) {
	lines := strings.Join([]string{server("a", "h1"), server("b", "h2"), server("c", "h3"), server("d", "h4"), server("e", "h4")}, "\n")
	for _, c := range []struct{ name, steps, want string }{
		{"nothing", `[]`, "a unchanged, b unchanged, c unchanged, d unchanged, e unchanged"},
		{"rename", `[{"type":"rename","params":{"mode":"prefix","value":"X"}}]`,
			"a>Xa modified c0, b>Xb modified c0, c>Xc modified c0, d>Xd modified c0, e>Xe modified c0"},
		{"drop", `[{"type":"filter","params":{"action":"drop","field":"name","match":"in","values":["b","e"]}}]`,
			"a unchanged, b removed r0, c unchanged, d unchanged, e removed r0"},
		{"order", `[{"type":"sort","params":{"by":"-name"}}]`,
			"e unchanged, d unchanged, c unchanged, b unchanged, a unchanged"},
		{"another connection", `[{"type":"node_patch","params":{"match":{"attr":"name","op":"equals","value":"b"},"set":{"server":"z.example.com"}}}]`,
			"a unchanged, b added c0, b removed c0, c unchanged, d unchanged, e unchanged"},
		{"tags and meta do not count", `[{"type":"node_patch","params":{"set":{"tags":["x"],"meta.k":"v"}}}]`,
			"a unchanged c0, b unchanged c0, c unchanged c0, d unchanged c0, e unchanged c0"},
		{"dropped by the validation", `[{"type":"sort"},{"type":"node_patch","params":{"match":{"attr":"name","op":"equals","value":"c"},"set":{"port":0}}}]`,
			"a unchanged, b unchanged, c removed c1, d unchanged, e unchanged"},
		{"made by a script", `[{"type":"script","stage":"nodes","params":{"source":{"type":"inline","content":"function main(i){ i.nodes.splice(1, 4); i.nodes.push({name:'new',type:'ss',server:'n.example.com',port:1,cipher:'aes-128-gcm',password:'p'}); return i }"}}}]`,
			"a unchanged, new added a0, b removed r0, c removed r0, d removed r0, e removed r0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newWorkbench(t, nil)
			b.put(t, `{"name":"air","type":"local","content":`+jsonText(t, lines)+`,"processors":`+c.steps+`}`)
			p := b.preview(t, "air")
			if got := shape(p); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			counts := p.StatusCounts
			if counts.Added+counts.Modified+counts.Removed+counts.Unchanged != len(p.Nodes) || p.BeforeCount != 5 ||
				p.AfterCount != 5-counts.Removed+counts.Added {
				t.Errorf("got counts %+v of %d, %d to %d", counts, len(p.Nodes), p.BeforeCount, p.AfterCount)
			}
		})
	}
}

func TestPreviewOfManyNodesWithOneConnectionPairsEqualOnesFirst(t *testing.T) {
	var lines []string
	for i := range 3000 {
		lines = append(lines, server(fmt.Sprint("n", i), "same"))
	}
	b := newWorkbench(t, nil)
	b.put(t, `{"name":"air","type":"local","content":`+jsonText(t, strings.Join(lines, "\n"))+`,"processors":[
		{"type":"shuffle","params":{"seed":1}},
		{"type":"regex_rename","params":{"rules":[{"pattern":"^n7$","replacement":"seven"}]}}]}`)
	p := b.preview(t, "air")
	if p.StatusCounts != (engine.StatusCounts{Modified: 1, Unchanged: 2999}) {
		t.Errorf("got %+v", p.StatusCounts)
	}
	for _, n := range p.Nodes {
		if n.Status == "modified" && (n.Before.Name != "n7" || n.After.Name != "seven") {
			t.Errorf("paired %s with %s", n.Before.Name, n.After.Name)
		}
	}
}

func TestPreviewTellsWhatATargetLoses(t *testing.T) {
	b := newWorkbench(t, nil)
	b.put(t, `{"name":"air","type":"local","content":`+jsonText(t, "ssh://u:p@192.0.2.1:22#s\n"+link("a")+"\n"+link("a"))+`}`)
	p, err := b.PreviewSubscription(t.Context(), engine.PreviewRequest{Name: "air", Target: "Shadowrocket-Proxies"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, n := range p.Nodes {
		got = append(got, fmt.Sprintf("%s %q %v %q", n.Loss.Status, n.Loss.Name, len(n.Loss.Fields) > 0, n.TargetNames["shadowrocket"]))
	}
	if want := `skipped "" true ""|ok "a" false "a"|ok "a 2" true "a 2"`; strings.Join(got, "|") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, "|"), want)
	}
	if p.Steps != nil {
		t.Error("steps were told though no trace was asked for")
	}
	_, err = b.PreviewSubscription(t.Context(), engine.PreviewRequest{Name: "air", Target: "nothing"})
	if e := failure(t, err); e.Code != sandrone.InvalidArgument || e.Field != "target" {
		t.Errorf("got %+v", e)
	}
}

func TestFailingStepOfAPreviewComesWithTheTrace(t *testing.T) {
	b := newWorkbench(t, nil)
	draft := &sandrone.Subscription{Type: "local", Content: link("a"), Processors: steps(`[
		{"type":"script","stage":"nodes","params":{"source":{"type":"inline","content":"function main(i, api){ api.log('seen', i.nodes.length); return i }"}}},
		{"type":"script","stage":"file","params":{}},
		{"type":"rename","disabled":true},
		{"type":"filter","params":{"action":"drop","field":"name","match":"regex","pattern":"("}},
		{"type":"sort"}]`)}
	_, err := b.PreviewSubscription(t.Context(), engine.PreviewRequest{Draft: draft, Trace: true})
	step, ok := errors.AsType[*engine.StepError](err)
	if !ok {
		t.Fatalf("got %v", err)
	}
	if step.Err.Field != "subscription.processors[3].params.pattern" || *step.Err.ProcessorIndex != 3 || step.Err.Processor != "filter" {
		t.Errorf("got %+v", step.Err)
	}
	if n := len(step.Steps); n != 4 || step.Steps[3].Error == nil || !step.Steps[1].Skipped || !step.Steps[2].Disabled {
		t.Errorf("got steps %+v", step.Steps)
	}
	if len(step.Logs) != 1 || step.Logs[0].Index != 0 || step.Logs[0].Text != "seen 1" {
		t.Errorf("got logs %+v", step.Logs)
	}
	if _, err := b.PreviewSubscription(t.Context(), engine.PreviewRequest{Draft: draft}); errors.As(err, &step) || failure(t, err).Code != sandrone.ProcessorConfigInvalid {
		t.Errorf("got %v without a trace", err)
	}
}

func TestDraftThatRefersToItselfIsAConflict(t *testing.T) {
	b := newWorkbench(t, nil)
	b.put(t, `{"name":"other","type":"collection","inputs":[{"name":"me","type":"subscription","required":true}]}`)
	draft := &sandrone.Subscription{Name: "me", Type: "Collection", Inputs: []sandrone.NodeInput{{Name: "other", Type: "subscription"}}}
	if _, err := b.PreviewSubscription(t.Context(), engine.PreviewRequest{Draft: draft}); failure(t, err).Code != sandrone.Conflict {
		t.Errorf("got %v", err)
	}
	draft.Type = "nothing"
	_, err := b.PreviewSubscription(t.Context(), engine.PreviewRequest{Draft: draft})
	if e := failure(t, err); e.Code != sandrone.InvalidArgument || e.Field != "subscription.type" {
		t.Errorf("got %+v", e)
	}
}

func TestPreviewIsWrittenAsTheUsualEncoderWouldWriteIt(t *testing.T) {
	b := newWorkbench(t, nil)
	for _, n := range []int{0, 1, 3, 3000} {
		content := manyLinks(n) + server("<nodes>: []&\u2028 \xff", "x") + "\nbroken://\n"
		steps := fiveSteps()
		if n == 0 {
			steps[0].Params = json.RawMessage(`{"action":"drop","field":"name","match":"regex","pattern":"."}`)
		}
		p, err := b.PreviewSubscription(t.Context(), engine.PreviewRequest{Trace: true, Target: "mihomo-proxies",
			Draft: &sandrone.Subscription{Name: `"nodes": []`, Type: "local", Content: content, Processors: steps}})
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.Indented()
		if err != nil {
			t.Fatal(err)
		}
		var want bytes.Buffer
		e := json.NewEncoder(&want)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		if err := e.Encode(p); err != nil {
			t.Fatal(err)
		}
		if string(got)+"\n" != want.String() {
			t.Errorf("%d nodes: %d bytes, want %d", n, len(got), want.Len())
		}
	}
}
