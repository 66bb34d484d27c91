package engine_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert/formats"
	"github.com/sandrone-gateway/sandrone/engine"
	"github.com/sandrone-gateway/sandrone/fetch"
	"github.com/sandrone-gateway/sandrone/processors"
	"github.com/sandrone-gateway/sandrone/processors/script"
	"github.com/sandrone-gateway/sandrone/store"
)

// bench is an engine with everything behind it, and a clock that tests move.
type bench struct {
	*engine.Engine
	now    time.Time
	writes atomic.Int64 // transactions that write
}

// counted is a backend that counts its writers.
type counted struct {
	store.Backend
	writes *atomic.Int64
}

func (c counted) Update(ctx context.Context, fn func(store.KV) error) error {
	c.writes.Add(1)
	return c.Backend.Update(ctx, fn)
}

// newWorkbench makes an engine with a store in memory, all steps, and scripts
// in this process.
func newWorkbench(t testing.TB, f engine.Fetcher) *bench {
	t.Helper()
	return newWorkbenchWith(t, f, nil)
}

func newWorkbenchWith(t testing.TB, f engine.Fetcher, prober processors.Prober) *bench {
	t.Helper()
	b := &bench{now: time.Unix(1_800_000_000, 0)}
	clock := func() time.Time { return b.now }
	s := store.New(counted{store.Memory(), &b.writes}, store.Options{Now: clock, CheckSettings: engine.CheckSettings})
	if err := s.Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	runner := script.InProcess(script.Options{})
	t.Cleanup(func() { runner.Close(); s.Close() })
	var err error
	b.Engine, err = engine.New(engine.Options{
		Registry: formats.Registry(),
		Settings: sandrone.DefaultSettings(),
		Store:    s,
		Steps:    processors.New(processors.Options{Scripts: engine.ScriptType()}),
		Scripts:  runner,
		Fetcher:  f,
		Prober:   prober,
		Now:      clock,
		Getenv:   func(string) string { return "" },
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// put saves subscriptions, given as JSON.
func (b *bench) put(t testing.TB, definitions ...string) {
	t.Helper()
	for _, text := range definitions {
		var s sandrone.Subscription
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			t.Fatal(err)
		}
		if _, err := b.PutSubscription(t.Context(), &s, store.Precondition{}); err != nil {
			t.Fatal(err)
		}
	}
}

func (b *bench) putFile(t testing.TB, definitions ...string) {
	t.Helper()
	for _, text := range definitions {
		var f sandrone.FileSpec
		if err := json.Unmarshal([]byte(text), &f); err != nil {
			t.Fatal(err)
		}
		if _, err := b.PutFile(t.Context(), &f, store.Precondition{}); err != nil {
			t.Fatal(err)
		}
	}
}

// steps reads a list of steps.
func steps(text string) []sandrone.ProcessorSpec {
	var list []sandrone.ProcessorSpec
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		panic(err)
	}
	return list
}

// answers is a network whose answers tests change. It counts what is asked.
type answers struct {
	mu    sync.Mutex
	of    map[string]answer
	asked map[string]int
	last  fetch.Request

	requests int // all, also for what has no answer
}

type answer struct {
	text   string
	header map[string]string
	err    error
	etag   string // answers a request that has it with 304
}

func (a *answers) set(url string, to answer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.of == nil {
		a.of, a.asked = map[string]answer{}, map[string]int{}
	}
	a.of[url] = to
}

func (a *answers) count(url string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.asked[url]
}

func (a *answers) Get(_ context.Context, req fetch.Request) (*fetch.Response, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last = req
	a.requests++
	to, ok := a.of[req.URL]
	if !ok {
		return nil, sandrone.Errorf(sandrone.FetchFailed, "remote returned status 404")
	}
	a.asked[req.URL]++
	if to.err != nil {
		return nil, to.err
	}
	r := &fetch.Response{Status: 200, Header: http.Header{}, Ref: sandrone.SourceRef{Kind: "remote", Name: req.URL, URL: req.URL}}
	for k, v := range to.header {
		r.Header.Set(k, v)
	}
	if to.etag != "" {
		r.Header.Set("ETag", to.etag)
		if req.ETag == to.etag {
			r.Status, r.NotModified = 304, true
			return r, nil
		}
	}
	r.Body = []byte(to.text)
	sum := sha256.Sum256(r.Body)
	r.SHA256 = hex.EncodeToString(sum[:])
	return r, nil
}

const air = "https://air.example/sub?token=planted"

func remoteAir(name string) string {
	return `{"name":"` + name + `","type":"remote","remote":{"url":"` + air + `"}}`
}

func nodeNames(nodes []engine.PreviewNode) string {
	var names []string
	for _, n := range nodes {
		if n.After != nil {
			names = append(names, n.After.Name)
		}
	}
	return strings.Join(names, " ")
}

func warned(warnings []sandrone.Warning) string {
	var all []string
	for _, w := range warnings {
		all = append(all, strings.TrimRight(w.Code+" "+w.Field+" "+w.Source, " "))
	}
	return strings.Join(all, "; ")
}

func (b *bench) preview(t testing.TB, name string) *engine.Preview {
	t.Helper()
	p, err := b.PreviewSubscription(t.Context(), engine.PreviewRequest{Name: name, Trace: true})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func failure(t testing.TB, err error) *sandrone.Error {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	return sandrone.AsError(err)
}

func TestCollectionJoinsInputsInTheirOrder(t *testing.T) {
	web := &answers{}
	web.set(air, answer{text: link("r1") + "\n" + link("r2")})
	b := newWorkbench(t, web)
	b.putFile(t, `{"name":"list.txt","kind":"static","source":{"type":"inline","content":"`+link("f")+`"}}`)
	b.put(t, remoteAir("air"),
		`{"name":"own","type":"local","content":"`+link("l")+`"}`,
		`{"name":"all","type":"collection","inputs":[
			{"name":"one","type":"subscription","ref":{"kind":"subscription","name":"air"}},
			{"name":"own","type":"subscription"},
			{"name":"two","type":"ref","ref":{"kind":"subscription","name":"own"}},
			{"name":"three","type":"inline","format":"uri-list","content":"`+link("i")+`"},
			{"name":"four","type":"inline_nodes","nodes":[{"name":"n","type":"ss","server":"192.0.2.9","port":1,"cipher":"aes-128-gcm","password":"p"}]},
			{"name":"five","type":"local","path":"files/list.txt","format":"uri-list"},
			{"name":"six","type":"remote","url":"`+air+`"}]}`)
	p := b.preview(t, "all")
	if got := nodeNames(p.Nodes); got != "r1 r2 l l i n f r1 r2" {
		t.Errorf("got nodes %q", got)
	}
	var deps []string
	for _, d := range p.Report.Dependencies {
		deps = append(deps, d.Kind+":"+d.Name)
	}
	if got := strings.Join(deps, " "); got != "subscription:air subscription:own file:list.txt" {
		t.Errorf("got dependencies %q", got)
	}
	if p.Report.Status != sandrone.StatusOK || p.Report.Kind != "subscription_preview" || len(p.Report.SourceRefs) == 0 || p.Report.SourceRefs[0].Kind != "remote" {
		t.Errorf("got report %+v", p.Report)
	}
	if len(p.Warnings) != 0 {
		t.Errorf("got warnings %q", warned(p.Warnings))
	}
}

func TestCollectionGoesOnWithoutInputsThatMayFail(t *testing.T) {
	web := &answers{}
	web.set("https://down.example/x?token=planted", answer{err: sandrone.Errorf(sandrone.FetchTimeout, "remote did not answer in time")})
	web.set("https://page.example/", answer{text: "<!DOCTYPE html><html><body>sign in</body></html>"})
	b := newWorkbench(t, web)
	b.put(t,
		`{"name":"broken","type":"local","format":"uri-list","content":"nothing here"}`,
		`{"name":"most","type":"collection","inputs":[
			{"name":"down","type":"remote","url":"https://down.example/x?token=planted"},
			{"name":"page","type":"remote","url":"https://page.example/"},
			{"name":"gone","type":"subscription","path":"nobody"},
			{"name":"gonefile","type":"local","path":"nofile","format":"uri-list"},
			{"name":"bad","type":"subscription","path":"broken"},
			{"name":"good","type":"inline","format":"uri-list","content":"`+link("a")+`"}]}`)
	p := b.preview(t, "most")
	want := "fetch_timeout down https://down.example; parse_failed page https://page.example; " +
		"node_input_not_found gone nobody; node_input_not_found gonefile nofile; parse_failed bad broken"
	if got := warned(p.Warnings); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := nodeNames(p.Nodes); got != "a" || p.Report.Status != sandrone.StatusPartial {
		t.Errorf("got %q, %s", got, p.Report.Status)
	}
	if text := fmt.Sprint(p.Warnings); strings.Contains(text, "planted") {
		t.Errorf("a warning shows a query: %s", text)
	}
}

func TestCollectionFails(t *testing.T) {
	for _, c := range []struct {
		name, inputs string
		code         sandrone.Code
		part, source string
		message      string
		field        string
	}{
		{"required input", `{"name":"x","type":"subscription","path":"nobody","required":true},{"name":"y","type":"inline","format":"uri-list","content":"` + link("a") + `"}`,
			sandrone.NotFound, "x", "nobody", "", ""},
		{"bad request of an input", `{"name":"x","type":"remote","url":"https://bad.example/","required":true}`,
			sandrone.InvalidArgument, "x", "https://bad.example", "", "inputs[0].proxy"},
		{"bad name of a subscription", `{"name":"x","type":"subscription","path":"a/b","required":true}`,
			sandrone.InvalidArgument, "x", "a/b", "path must be a single path segment", "inputs[0].path"},
		{"bad name in a ref", `{"name":"x","type":"ref","ref":{"kind":"subscription","name":"a/b"},"required":true}`,
			sandrone.InvalidArgument, "x", "a/b", "ref.name must be a single path segment", "inputs[0].ref.name"},
		{"input named like no subscription", `{"name":"a/b","type":"subscription","required":true}`,
			sandrone.InvalidArgument, "a/b", "a/b", "name must be a single path segment", "inputs[0].name"},
		{"bad name of a file", `{"name":"x","type":"local","path":"files/a/b","format":"uri-list","required":true}`,
			sandrone.InvalidArgument, "x", "a/b", "path must be a single path segment", "inputs[0].path"},
		{"bad name of a file in a ref", `{"name":"x","type":"local","ref":{"kind":"file","name":"a/b"},"format":"uri-list","required":true}`,
			sandrone.InvalidArgument, "x", "a/b", "ref.name must be a single path segment", "inputs[0].ref.name"},
		{"all inputs", `{"name":"x","type":"remote","url":"https://down.example/"},{"name":"y","type":"subscription","path":"nobody"}`,
			sandrone.FetchFailed, "x", "https://down.example", "all 2 inputs failed", ""},
		{"cycle by itself", `{"name":"x","type":"subscription","path":"it"},{"name":"y","type":"inline","format":"uri-list","content":"` + link("a") + `"}`,
			sandrone.Conflict, "x", "it", `cycle at "it"`, ""},
		{"no input", ``, sandrone.InvalidArgument, "", "", "at least one input", "inputs"},
	} {
		t.Run(c.name, func(t *testing.T) {
			web := &answers{}
			web.set("https://bad.example/", answer{err: sandrone.Errorf(sandrone.InvalidArgument, "bad proxy").At("proxy")})
			b := newWorkbench(t, web)
			b.put(t, `{"name":"it","type":"collection","inputs":[`+c.inputs+`]}`)
			_, err := b.PreviewSubscription(t.Context(), engine.PreviewRequest{Name: "it"})
			e := failure(t, err)
			if e.Code != c.code || e.Part != c.part || e.Source != c.source || e.Field != c.field || !strings.Contains(e.Message, c.message) {
				t.Errorf("got %+v", e)
			}
		})
	}
}

func TestCycleOfTwoWaysIsFoundAtOnce(t *testing.T) {
	// Both ends are begun at the same time, so each may wait for the other.
	for range 50 {
		b := newWorkbench(t, nil)
		ref := func(name string) string { return `{"name":"` + name + `","type":"subscription","required":true}` }
		b.put(t, `{"name":"top","type":"collection","inputs":[`+ref("a")+`,`+ref("b")+`]}`,
			`{"name":"a","type":"collection","inputs":[`+ref("b")+`]}`,
			`{"name":"b","type":"collection","inputs":[`+ref("a")+`]}`)
		_, err := b.PreviewSubscription(t.Context(), engine.PreviewRequest{Name: "top"})
		if e := failure(t, err); e.Code != sandrone.Conflict {
			t.Fatalf("got %v", e)
		}
	}
}

func TestSubscriptionUsedTwiceIsMadeOnceAndWarnsOnce(t *testing.T) {
	web := &answers{}
	web.set(air, answer{text: link("a") + "\nss://broken\n"})
	b := newWorkbench(t, web)
	b.put(t, remoteAir("air"),
		`{"name":"l","type":"collection","inputs":[{"name":"air","type":"subscription"}]}`,
		`{"name":"r","type":"collection","inputs":[{"name":"air","type":"subscription"}]}`,
		`{"name":"top","type":"collection","inputs":[{"name":"l","type":"subscription"},{"name":"r","type":"subscription"}]}`)
	p := b.preview(t, "top")
	if got := nodeNames(p.Nodes); got != "a a" {
		t.Errorf("got %q", got)
	}
	if web.count(air) != 1 || len(p.Warnings) != 1 || p.Warnings[0].Source != "air" {
		t.Errorf("%d requests, warnings %q; want one each, of air", web.count(air), warned(p.Warnings))
	}
}

func TestNodesOfACollectionAreLimited(t *testing.T) {
	b := newWorkbench(t, nil)
	b.put(t, `{"name":"n0","type":"local","content":"`+link("a")+`"}`)
	for i := 1; i <= 17; i++ { // 2^17 nodes, of very few bytes
		ref := fmt.Sprintf(`{"name":"n%d","type":"subscription","required":true}`, i-1)
		b.put(t, fmt.Sprintf(`{"name":"n%d","type":"collection","inputs":[%s,%s]}`, i, ref, ref))
	}
	_, err := b.RenderSubscription(t.Context(), engine.RenderRequest{Name: "n17", Format: "uri-list"})
	if e := failure(t, err); e.Code != sandrone.ParseFailed {
		t.Errorf("got %v", e)
	}
}

func TestArgsMetaAndTargetReachNestedSteps(t *testing.T) {
	b := newWorkbench(t, nil)
	say := `{"type":"script","stage":"nodes","params":{"source":{"type":"inline","content":` +
		`"function main(i){ i.nodes[0].name += ' '+[i.args.k, i.target, i.context.input_name, i.context.meta.m, i.request.meta.m].join('/'); return i }"}}}`
	b.put(t, `{"name":"child","type":"local","content":"`+link("a")+`","meta":{"m":"own"},"processors":[`+say+`]}`,
		`{"name":"top","type":"collection","meta":{"m":"top"},"inputs":[{"name":"in","type":"subscription","path":"child","meta":{"m":"over"}}],"processors":[`+say+`]}`)
	r, err := b.RenderSubscription(t.Context(), engine.RenderRequest{Name: "top", Format: "json-nodes", Args: map[string]string{"k": "v"}})
	if err != nil {
		t.Fatal(err)
	}
	if want := `"a v/json-nodes/child/over/top v/json-nodes/top/top/top"`; !strings.Contains(string(r.Body), want) {
		t.Errorf("got %s\nwant %s", r.Body, want)
	}
}

func TestScriptsProduceOtherSubscriptions(t *testing.T) {
	script := func(body string) string {
		text, _ := json.Marshal("function main(input, api) { " + body + " return input }")
		return `{"type":"script","stage":"nodes","params":{"source":{"type":"inline","content":` + string(text) + `}}}`
	}
	b := newWorkbench(t, nil)
	b.put(t,
		`{"name":"spare","type":"local","content":"`+link("s")+`","processors":[`+script("input.nodes[0].name += ' ' + (input.args ? input.args.k : 'none');")+`]}`,
		`{"name":"top","type":"local","content":"`+link("a")+`","processors":[`+script(
			"input.nodes = input.nodes.concat(api.subscription.produce('spare').nodes, api.subscription.produce('spare', {args:{k:'w'}}).nodes);"+
				"input.nodes[0].name = api.subscription.produce('spare', {target:'uri-list'}).report.kind;")+`]}`,
		`{"name":"self","type":"local","content":"`+link("a")+`","processors":[`+script("api.subscription.produce('self');")+`]}`,
		`{"name":"file","type":"local","content":"`+link("a")+`","processors":[`+script("api.file.content('x');")+`]}`)
	p, err := b.PreviewSubscription(t.Context(), engine.PreviewRequest{Name: "top", Args: map[string]string{"k": "v"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := nodeNames(p.Nodes); got != "subscription_produce s none s w" {
		t.Errorf("got %q", got)
	}
	if deps := p.Report.Dependencies; len(deps) != 1 || deps[0].Name != "spare" {
		t.Errorf("got dependencies %v", deps)
	}
	for name, want := range map[string]sandrone.Code{"self": sandrone.Conflict, "file": sandrone.InvalidArgument} {
		_, err := b.PreviewSubscription(t.Context(), engine.PreviewRequest{Name: name, Trace: true})
		if e := failure(t, err); e.Code != want || e.Processor != "script" || *e.ProcessorIndex != 0 {
			t.Errorf("%s: got %+v", name, e)
		}
	}
}

func TestReadingIsSharedWithoutBeingChanged(t *testing.T) {
	// Steps and the normaliser behind them work on what others read, too.
	release := make(chan struct{})
	web := fetchFunc(func(ctx context.Context, req fetch.Request) (*fetch.Response, error) {
		<-release
		return &fetch.Response{Status: 200, Body: []byte(manyLinks(40)), Ref: sandrone.SourceRef{Kind: "remote", Name: req.URL}}, nil
	})
	b := newWorkbench(t, web)
	var list []string
	for i := range 8 {
		list = append(list, fmt.Sprintf("s%d", i))
		b.put(t, `{"name":"`+list[i]+`","type":"remote","remote":{"url":"https://a.example/"},"processors":[
			{"type":"node_patch","params":{"set":{"tls.server_name":"S`+fmt.Sprint(i)+`.example"}}}]}`)
	}
	var wg sync.WaitGroup
	for i, name := range list {
		wg.Go(func() {
			p, err := b.PreviewSubscription(t.Context(), engine.PreviewRequest{Name: name})
			if err != nil {
				t.Error(err)
				return
			}
			for _, n := range p.Nodes {
				if n.After != nil && !strings.EqualFold(n.After.TLS.ServerName, fmt.Sprintf("s%d.example", i)) {
					t.Errorf("%s got %s", name, n.After.TLS.ServerName)
				}
				if n.Before != nil && n.Before.TLS != nil && !strings.HasSuffix(n.Before.TLS.ServerName, "example.com") {
					t.Errorf("%s: a step of another changed the source", name)
				}
			}
		})
	}
	close(release)
	wg.Wait()
}

var noPrecondition store.Precondition

func jsonText(t testing.TB, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
