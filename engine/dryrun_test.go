package engine_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/engine"
	"github.com/sandrone-gateway/sandrone/processors"
)

// diffText is a diff, one change a line.
func diffText(t testing.TB, diff []engine.Change) string {
	t.Helper()
	var b strings.Builder
	for _, c := range diff {
		b.WriteString(c.Op + " " + string(c.Path))
		if c.Before != nil {
			b.WriteString(" " + string(c.Before))
		}
		if c.After != nil {
			b.WriteString(" -> " + string(c.After))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func unmarshal[T any](t testing.TB, text string) *T {
	t.Helper()
	v := new(T)
	if err := json.Unmarshal([]byte(text), v); err != nil {
		t.Fatal(err)
	}
	return v
}

// dry makes a dry run and fails the test if it writes or asks the network.
func (b *bench) dry(t testing.TB, web *answers, definition string) *engine.DryRun {
	t.Helper()
	return untouched(t, b, web, func(ctx context.Context) (*engine.DryRun, error) {
		return b.DryRunSubscription(ctx, unmarshal[sandrone.Subscription](t, definition))
	})
}

func (b *bench) dryFile(t testing.TB, web *answers, definition string) *engine.DryRun {
	t.Helper()
	return untouched(t, b, web, func(ctx context.Context) (*engine.DryRun, error) {
		return b.DryRunFile(ctx, unmarshal[sandrone.FileSpec](t, definition))
	})
}

func untouched(t testing.TB, b *bench, web *answers, run func(context.Context) (*engine.DryRun, error)) *engine.DryRun {
	t.Helper()
	asked, written := web.total(), b.writes.Load()
	out, err := run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n := web.total() - asked; n != 0 {
		t.Errorf("%d requests of a dry run", n)
	}
	if n := b.writes.Load() - written; n != 0 {
		t.Errorf("%d writes of a dry run", n)
	}
	return out
}

// total counts all requests, also those for addresses that have no answer.
func (a *answers) total() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.requests
}

func TestDryRunOfANewDefinitionIsAllAdditions(t *testing.T) {
	web := &answers{}
	b := newWorkbench(t, web)
	out := b.dry(t, web, `{"name":"own","type":" LOCAL ","display_name":"Own","content":`+jsonText(t, link("a")+"\n"+link("b"))+`,"created_at":"2001-02-03T04:05:06Z"}`)
	want := `add /name -> "own"
add /display_name -> "Own"
add /type -> "local"
add /content -> ` + jsonText(t, link("a")+"\n"+link("b")) + "\n"
	if got := diffText(t, out.Diff); out.Exists || got != want {
		t.Errorf("exists %v, diff\n%swant\n%s", out.Exists, got, want)
	}
	if got := jsonText(t, out.Nodes); got != `{"before_count":0,"after_count":2}` || out.Bytes != nil || out.Error != nil || len(out.Warnings) != 0 {
		t.Errorf("got nodes %s, bytes %v, error %v, warnings %v", got, out.Bytes, out.Error, out.Warnings)
	}
	if _, err := b.Subscription(t.Context(), "own"); failure(t, err).Code != sandrone.NotFound {
		t.Errorf("got %v after a dry run", err)
	}
}

func TestDryRunComparesWithWhatIsStored(t *testing.T) {
	web := &answers{}
	b := newWorkbench(t, web)
	stored := `{"name":"own","type":"local","content":` + jsonText(t, link("a")+"\n"+link("b")) + `,
		"processors":[{"type":"sort"},{"type":"limit","params":{"count":5}}],"meta":{"a/b~c":"1","gone":"x"}}`
	b.put(t, stored)
	if out := b.dry(t, web, stored); !out.Exists || out.Diff == nil || len(out.Diff) != 0 {
		t.Errorf("got %v, %v for what is stored", out.Exists, out.Diff)
	}
	out := b.dry(t, web, `{"name":"own","type":"local","content":`+jsonText(t, link("a"))+`,
		"processors":[{"type":"shuffle"},{"type":"sort"},{"type":"limit","params":{"count":6}}],"meta":{"a/b~c":"2"},"render_cache_ttl_seconds":0}`)
	want := `replace /content ` + jsonText(t, link("a")+"\n"+link("b")) + ` -> ` + jsonText(t, link("a")) + `
replace /processors/0/type "sort" -> "shuffle"
replace /processors/1/type "limit" -> "sort"
remove /processors/1/params {"count":5}
add /processors/2 -> {"type":"limit","params":{"count":6}}
add /render_cache_ttl_seconds -> 0
replace /meta/a~1b~0c "1" -> "2"
remove /meta/gone "x"
`
	if got := diffText(t, out.Diff); got != want {
		t.Errorf("got diff\n%swant\n%s", got, want)
	}
	if got := jsonText(t, out.Nodes); got != `{"before_count":2,"after_count":1}` {
		t.Errorf("got nodes %s", got)
	}
	record, err := b.Subscription(t.Context(), "own")
	if err != nil || len(record.Definition.Processors) != 2 {
		t.Errorf("got %+v, %v, want what was stored", record, err)
	}
}

func TestDryRunDiffKeepsListsAlignedAtBothEnds(t *testing.T) {
	web := &answers{}
	for _, c := range []struct{ name, before, after, want string }{
		{"put in", `[{"type":"sort"},{"type":"shuffle"}]`, `[{"type":"sort"},{"type":"limit"},{"type":"shuffle"}]`, `add /processors/1 -> {"type":"limit"}` + "\n"},
		{"taken out", `[{"type":"sort"},{"type":"limit"},{"type":"shuffle"}]`, `[{"type":"shuffle"}]`, "remove /processors/1 {\"type\":\"limit\"}\nremove /processors/0 {\"type\":\"sort\"}\n"},
		{"repeated", `[{"type":"sort"},{"type":"sort"}]`, `[{"type":"sort"},{"type":"sort"},{"type":"sort"}]`, `add /processors/2 -> {"type":"sort"}` + "\n"},
		{"all gone", `[{"type":"sort"}]`, `[]`, `remove /processors [{"type":"sort"}]` + "\n"},
		{"order of members", `[{"type":"sort","params":{"a":1,"b":2}}]`, `[{"type":"sort","params":{"b":2,"a":1}}]`, `replace /processors/0/params {"a":1,"b":2} -> {"b":2,"a":1}` + "\n"},
		{"long numbers", `[{"type":"sort","params":{"a":12345678901234567890}}]`, `[{"type":"sort","params":{"a":12345678901234567891}}]`, `replace /processors/0/params/a 12345678901234567890 -> 12345678901234567891` + "\n"},
		{"kind of value", `[{"type":"sort","params":{"a":[1]}}]`, `[{"type":"sort","params":{"a":{"0":1}}}]`, `replace /processors/0/params/a [1] -> {"0":1}` + "\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newWorkbench(t, web)
			of := func(steps string) string { return `{"name":"x","type":"local","processors":` + steps + `}` }
			b.put(t, of(c.before))
			if got := diffText(t, b.dry(t, web, of(c.after)).Diff); got != c.want {
				t.Errorf("got\n%swant\n%s", got, c.want)
			}
		})
	}
}

func TestDryRunUsesHeldCopiesOfAnyAge(t *testing.T) {
	web := &answers{}
	web.set(air, answer{text: link("a") + "\n" + link("b")})
	web.set("https://scripts.example/s.js", answer{text: `function main(input) { input.nodes.pop(); return input }`})
	b := newWorkbench(t, web)
	definition := `{"name":"air","type":"remote","remote":{"url":"` + air + `"},"processors":[
		{"type":"script","stage":"nodes","params":{"source":{"type":"remote","remote":{"url":"https://scripts.example/s.js"}}}}]}`

	out := b.dry(t, web, definition)
	if e := out.Error; e == nil || e.Code != sandrone.FetchFailed || e.Source != "https://air.example" || e.ResourceName != "air" || out.Nodes != nil || len(out.Diff) == 0 {
		t.Errorf("got error %+v, nodes %v for a source that was never read", e, out.Nodes)
	}

	if _, err := b.Convert(t.Context(), engine.ConvertRequest{ToFormat: "uri-list", Remote: &engine.Remote{URL: air}}); err != nil {
		t.Fatal(err)
	}
	out = b.dry(t, web, definition)
	if e := out.Error; e == nil || e.Code != sandrone.FetchFailed || e.Processor != "script" {
		t.Errorf("got error %+v for a script that was never read", e)
	}

	b.put(t, definition)
	b.preview(t, "air")
	web.set(air, answer{err: sandrone.Errorf(sandrone.FetchFailed, "down")})
	b.now = b.now.Add(6 * 24 * time.Hour)
	out = b.dry(t, web, definition)
	if got := jsonText(t, out.Nodes); out.Error != nil || got != `{"before_count":1,"after_count":1}` || len(out.Warnings) != 0 {
		t.Errorf("got %+v, nodes %s, warnings %q", out.Error, got, warned(out.Warnings))
	}
	b.patch(t, `{"remote_defaults":{"stale_if_error_seconds":0}}`)
	if out = b.dry(t, web, definition); out.Error != nil {
		t.Errorf("got %+v for a copy that would not stand in for a failure", out.Error)
	}
	other := strings.Replace(definition, `"remote":{"url":"`+air, `"format":"sip008","remote":{"url":"`+air, 1)
	if out = b.dry(t, web, other); out.Error == nil || out.Error.Code == sandrone.FetchFailed {
		t.Errorf("got %+v for a copy of another format", out.Error)
	}
}

func TestDryRunKnowsOfNoCountWithoutACopyOfTheStoredSource(t *testing.T) {
	web := &answers{}
	b := newWorkbench(t, web)
	b.put(t, remoteAir("air"))
	out := b.dry(t, web, `{"name":"air","type":"local","content":"`+link("a")+`"}`)
	if got := jsonText(t, out.Nodes); got != `{"after_count":1}` || out.Error != nil {
		t.Errorf("got nodes %s, error %v", got, out.Error)
	}
}

func TestDryRunPassesOverStepsThatAskTheNetwork(t *testing.T) {
	web := &answers{}
	probed := false
	b := newWorkbenchWith(t, web, probeFunc(func() { probed = true }))
	out := b.dry(t, web, `{"name":"own","type":"local","content":"trojan://p@host.example:443#a","processors":[
		{"type":"probe","params":{"fail_mode":"drop"}},
		{"type":"resolve_domain","params":{"provider":"cloudflare","filter":"drop_failed"}},
		{"type":"script","stage":"nodes","params":{"source":{"type":"inline","content":
			"function main(input) { try { api.probe(input.nodes) } catch (e) { input.nodes[0].name = e.code } input.nodes.push(input.nodes[0]); return input }"}}},
		{"type":"filter","params":{"action":"keep","field":"name","match":"regex","pattern":"^probe_backend_unavailable$"}}]}`)
	if got := jsonText(t, out.Nodes); out.Error != nil || got != `{"before_count":0,"after_count":2}` || probed {
		t.Errorf("got %+v, nodes %s, probed %v", out.Error, got, probed)
	}
	var skipped []int
	for _, w := range out.Warnings {
		if w.Code == sandrone.WarnDryRunSkipped {
			skipped = append(skipped, *w.ProcessorIndex)
		}
	}
	if len(skipped) != 2 || skipped[0] != 0 || skipped[1] != 1 {
		t.Errorf("got warnings %q, want one for each of the first two steps", warned(out.Warnings))
	}
}

// probeFunc is told of every batch.
type probeFunc func()

func (f probeFunc) Probe(context.Context, []sandrone.Node, sandrone.ProbeOptions) (sandrone.ProbeAnswer, error) {
	f()
	return sandrone.ProbeAnswer{}, sandrone.Errorf(sandrone.ProbeTimeout, "no")
}

var _ processors.Prober = probeFunc(nil)

func TestDryRunMakesTheChecksOfAPut(t *testing.T) {
	web := &answers{}
	b := newWorkbench(t, web)
	for _, text := range []string{
		`{"name":"../x","type":"local"}`, `{"name":"x","type":"satellite"}`, `{"name":"x","type":"remote","remote":{"url":"ftp://x"}}`,
		`{"name":"x","type":"local","render_cache_ttl_seconds":-1}`,
	} {
		_, put := b.PutSubscription(t.Context(), unmarshal[sandrone.Subscription](t, text), noPrecondition)
		_, dry := b.DryRunSubscription(t.Context(), unmarshal[sandrone.Subscription](t, text))
		if put, dry := failure(t, put), failure(t, dry); *put != *dry {
			t.Errorf("%s: a put says %+v, a dry run %+v", text, put, dry)
		}
	}
	for _, text := range []string{`{"name":"x","kind":"static"}`, `{"name":"x","kind":"gopher","source":{}}`, `{"name":"x","kind":"static","source":{"type":"remote"}}`} {
		_, put := b.PutFile(t.Context(), unmarshal[sandrone.FileSpec](t, text), noPrecondition)
		_, dry := b.DryRunFile(t.Context(), unmarshal[sandrone.FileSpec](t, text))
		if put, dry := failure(t, put), failure(t, dry); *put != *dry {
			t.Errorf("%s: a put says %+v, a dry run %+v", text, put, dry)
		}
	}
	out := b.dry(t, web, `{"name":"x","type":"local","content":"`+link("a")+`","processors":[{"type":"sort"},{"type":"teleport"}]}`)
	if got := warned(out.Warnings); got != "processor_unknown processors[1].type" || out.Error == nil || out.Error.Code != sandrone.ProcessorUnknown {
		t.Errorf("got warnings %q, error %+v", got, out.Error)
	}
	out = b.dry(t, web, `{"name":"x","type":"collection","inputs":[{"name":"x","type":"subscription"}]}`)
	if out.Error == nil || out.Error.Code != sandrone.Conflict {
		t.Errorf("got %+v for a definition that needs itself", out.Error)
	}
}

func TestDryRunOfAFileTellsItsLength(t *testing.T) {
	web := &answers{}
	web.set("https://files.example/list", answer{text: "one\n"})
	b := newWorkbench(t, web)
	remote := `{"name":"notes","kind":"static","source":{"type":"remote","remote":{"url":"https://files.example/list"}}}`
	out := b.dryFile(t, web, remote)
	if out.Error == nil || out.Error.Code != sandrone.FetchFailed || out.Error.File != "notes" || out.Bytes != nil {
		t.Errorf("got error %+v, bytes %v for a source that was never read", out.Error, out.Bytes)
	}
	b.putFile(t, remote)
	b.read(t, engine.FileRequest{Name: "notes"})
	out = b.dryFile(t, web, `{"name":"notes","kind":"static","source":{"type":"inline","content":"é\n"}}`)
	if got := jsonText(t, out.Bytes); out.Error != nil || got != `{"before":4,"after":3}` || out.Nodes != nil {
		t.Errorf("got %+v, bytes %s, nodes %v", out.Error, got, out.Nodes)
	}
	want := "replace /source/type \"remote\" -> \"inline\"\nadd /source/content -> \"é\\n\"\nremove /source/remote {\"url\":\"https://files.example/list\"}\n"
	if got := diffText(t, out.Diff); got != want {
		t.Errorf("got diff\n%swant\n%s", got, want)
	}
}
