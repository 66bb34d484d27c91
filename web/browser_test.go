//go:build browser && !noui

package web_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/sandrone-gateway/sandrone/web"
)

// shots keeps pictures of the page in its states, to look at.
var shots = flag.String("shots", "", "write screenshots into this directory")

// ---------------------------------------------------------------- the API behind the page

// stub answers like the server, without converting: each line of the content
// is the name of a node, and words in a name say what happens to it.
type stub struct {
	token string        // the bearer token wanted; empty: none
	delay chan struct{} // when set, a conversion waits for it
	gone  atomic.Bool   // conversions end without an answer

	mu    sync.Mutex
	calls []call
}

type call struct{ path, authorization, toFormat, fromFormat, content, url string }

func (s *stub) conversions() []call {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []call
	for _, c := range s.calls {
		if c.path == "/v1/convert" {
			out = append(out, c)
		}
	}
	return out
}

func (s *stub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var q struct {
		ToFormat   string `json:"to_format"`
		FromFormat string `json:"from_format"`
		Content    string `json:"content"`
		Remote     struct {
			URL string `json:"url"`
		} `json:"remote"`
	}
	if r.Method == http.MethodPost {
		json.NewDecoder(r.Body).Decode(&q)
	}
	s.mu.Lock()
	s.calls = append(s.calls, call{r.URL.Path, r.Header.Get("Authorization"), q.ToFormat, q.FromFormat, q.Content, q.Remote.URL})
	s.mu.Unlock()

	answer := func(status int, v any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		json.NewEncoder(w).Encode(v)
	}
	refuse := func(status int, e map[string]any) { answer(status, map[string]any{"error": e}) }
	if strings.HasPrefix(r.URL.Path, "/v1/") && s.token != "" && r.Header.Get("Authorization") != "Bearer "+s.token {
		w.Header().Set("WWW-Authenticate", "Bearer")
		refuse(401, map[string]any{"code": "unauthorized", "message": "a valid token is required"})
		return
	}
	switch r.URL.Path {
	case "/":
		web.Handler().ServeHTTP(w, r)
	case "/version":
		answer(200, map[string]any{"name": "sandrone", "version": "0.1.0", "revision": ""})
	case "/v1/inspect":
		answer(200, map[string]any{"formats": map[string]any{
			"parse":  []string{"base64", "json-nodes", "loon", "mihomo", "sing-box", "sip008", "surge", "uri", "uri-list", "xray"},
			"render": []string{"base64", "json-nodes", "mihomo-proxies", "shadowrocket-proxies", "sing-box-outbounds", "surge", "uri-list"},
		}, "scope": "owner"})
	case "/v1/capabilities/formats":
		answer(200, map[string]any{"items": []any{
			map[string]any{"direction": "render", "format": "mihomo-proxies", "versions": []string{"1.18", "1.19"}},
			map[string]any{"direction": "render", "format": "sing-box-outbounds", "versions": []string{"1.11", "1.12", "1.13", "1.14"}},
			map[string]any{"direction": "render", "format": "uri-list"},
		}})
	case "/v1/convert":
		if s.gone.Load() {
			panic(http.ErrAbortHandler)
		}
		if s.delay != nil {
			select {
			case <-s.delay:
			case <-r.Context().Done():
				return
			}
		}
		switch {
		case q.Remote.URL != "":
			q.Content = "Fetched one\nFetched two\n"
		case strings.Contains(q.Content, "no nodes here"):
			refuse(422, map[string]any{"code": "parse_failed", "message": "HTML page instead of a subscription", "field": "content", "line": 3, "column": 7})
			return
		}
		status, v := convertLines(q.Content, q.ToFormat)
		answer(status, v)
	default:
		refuse(404, map[string]any{"code": "route_not_found", "message": "no such path"})
	}
}

func convertLines(content, target string) (int, any) {
	type node map[string]any
	var nodes []node
	var warnings []any
	var yaml strings.Builder
	yaml.WriteString("proxies:\n")
	written, lost := 0, 0
	for line, name := range strings.Split(strings.TrimSpace(content), "\n") {
		if strings.HasPrefix(name, "broken") {
			warnings = append(warnings, map[string]any{"code": "parse_line_failed", "message": fmt.Sprintf("line %d: vless link without a host", line+1),
				"node_context": map[string]any{"line": line + 1}})
			continue
		}
		i := len(nodes)
		server := fmt.Sprintf("node-%d.example.com", i+1)
		if strings.Contains(name, "v6") {
			server = "2001:db8::10"
		}
		nodes = append(nodes, node{"name": name, "type": []string{"ss", "vless", "trojan", "hysteria2"}[i%4], "server": server, "port": 443, "source_format": "uri"})
		warn := func(code, field, message string) {
			warnings = append(warnings, map[string]any{"code": code, "message": message, "node": name, "node_index": i, "field": field, "target": target})
		}
		if strings.Contains(name, "lossy") {
			lost++
			warn("render_lossy_field", "multiplex.padding", target+" has no padding for multiplexing")
		}
		if strings.Contains(name, "skip") {
			warn("render_node_skipped", "transport.type", target+" has no KCP transport")
			continue
		}
		written++
		fmt.Fprintf(&yaml, "  - {name: %q, type: ss, server: %q, port: 443, cipher: aes-128-gcm, password: \"sesame\", udp: true}\n", name, server)
	}
	contentType, body := "application/yaml", yaml.String()
	if target == "json-nodes" {
		b, _ := json.MarshalIndent(nodes, "", "  ")
		contentType, body = "application/json", string(b)
	}
	return 200, map[string]any{"content_type": contentType, "body": body, "cached": false, "report": map[string]any{
		"kind": "convert", "status": "ok", "lossy": lost > 0, "warnings": warnings,
		"render": map[string]any{"success_count": written, "lost_fields": lost},
	}}
}

// ---------------------------------------------------------------- the browser

var chromium = sync.OnceValue(func() (b struct {
	ctx  context.Context
	stop func()
	why  string
}) {
	var path string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "headless-shell"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		b.why = "no Chromium in PATH"
		return b
	}
	dir, err := os.MkdirTemp("", "sandrone-browser-")
	if err != nil {
		b.why = err.Error()
		return b
	}
	alloc, stopAlloc := chromedp.NewExecAllocator(context.Background(),
		chromedp.ExecPath(path), chromedp.UserDataDir(dir),
		chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true),
	)
	ctx, stopCtx := chromedp.NewContext(alloc)
	b.stop = func() {
		stopCtx()
		stopAlloc()
		os.RemoveAll(dir)
	}
	if err := chromedp.Do(ctx); err != nil {
		b.why = "Chromium does not start: " + err.Error()
		b.stop()
		b.stop = nil
		return b
	}
	b.ctx = ctx
	return b
})

func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	if b := chromium(); b.stop != nil {
		b.stop()
	}
	os.Exit(code)
}

type action = chromedp.Action[chromedp.Void]

// command is a command of the protocol as an action without a result.
func command[P, R any](c cdp.Command[P, R], params P) action {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, c, params)
		return err
	})
}

// tab is one page in a browser profile of its own.
type tab struct {
	t      *testing.T
	ctx    context.Context
	origin string
	api    *stub

	mu    sync.Mutex
	noise []string // what a quiet page does not have: console lines, exceptions, violations, other origins
}

// open loads the page over api. At the end of the test the page must have been
// quiet: no console line, no policy violation, no request to another origin.
// The console reports each refusal of the API; only those are let pass.
func open(t *testing.T, api *stub, before ...action) *tab {
	t.Helper()
	p := openOver(t, api, before...)
	p.api = api
	return p
}

// openOver is [open] over any server.
func openOver(t *testing.T, api http.Handler, before ...action) *tab {
	t.Helper()
	b := chromium()
	if b.ctx == nil {
		t.Skip("browser test skipped: " + b.why)
	}
	server := httptest.NewServer(api)
	ctx, stop := chromedp.NewContext(b.ctx, chromedp.WithNewBrowserContext())
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	p := &tab{t: t, ctx: ctx, origin: server.URL}
	t.Cleanup(func() {
		cancel()
		stop()
		server.CloseClientConnections()
		server.Close()
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, line := range p.noise {
			t.Errorf("the page is not quiet: %s", line)
		}
	})
	if err := chromedp.Listen(ctx, p.listen); err != nil {
		t.Fatal(err)
	}
	p.run(command(log.Enable, cdp.Empty{}), command(network.Enable, network.EnableParams{}), size(1280, 900))
	p.run(before...)
	p.run(chromedp.Navigate(p.origin + "/"))
	return p
}

func (p *tab) listen(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		p.noise = append(p.noise, fmt.Sprintf("console %s %v", e.Type, e.Args))
	case *runtime.EventExceptionThrown:
		text := e.ExceptionDetails.Text
		if e.ExceptionDetails.Exception != nil {
			text += " " + e.ExceptionDetails.Exception.Description
		}
		p.noise = append(p.noise, fmt.Sprintf("line %d: %s", e.ExceptionDetails.LineNumber+1, text))
	case *log.EventEntryAdded:
		if e.Entry.Source == log.EntrySourceNetwork && strings.HasPrefix(e.Entry.URL, p.origin+"/v1/") {
			return // a refusal of the API, which the page shows
		}
		p.noise = append(p.noise, fmt.Sprintf("%s %s: %s %s", e.Entry.Source, e.Entry.Level, e.Entry.Text, e.Entry.URL))
	case *network.EventRequestWillBeSent:
		u := e.Request.URL
		if !strings.HasPrefix(u, p.origin+"/") && !strings.HasPrefix(u, "data:") && !strings.HasPrefix(u, "blob:"+p.origin) {
			p.noise = append(p.noise, "request to "+u)
		}
	}
}

func (p *tab) run(actions ...action) {
	p.t.Helper()
	p.must(chromedp.Do(p.ctx, actions...))
}

func (p *tab) must(err error) {
	p.t.Helper()
	if err != nil {
		text, _ := chromedp.Run(p.ctx, chromedp.Evaluate[string](`document.body.innerText.slice(0, 600)`))
		p.t.Fatalf("%v; the page says:\n%s", err, text)
	}
}

// until waits for an expression of the page to become true.
func (p *tab) until(expression string) {
	p.t.Helper()
	p.run(chromedp.Poll[chromedp.Void](expression, chromedp.WithPollingInterval(20*time.Millisecond), chromedp.WithPollingTimeout(10*time.Second)))
}

// shows waits until the element shows each of the words.
func (p *tab) shows(selector string, words ...string) {
	p.t.Helper()
	for _, word := range words {
		p.until(fmt.Sprintf(`(document.querySelector(%q)?.innerText || '').includes(%q)`, selector, word))
	}
}

func value[T any](p *tab, expression string) T {
	p.t.Helper()
	v, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](expression))
	p.must(err)
	return v
}

func evaluate(expression string) action { return chromedp.Evaluate[chromedp.Void](expression) }

func (p *tab) click(selector string) {
	p.t.Helper()
	p.run(chromedp.Click(chromedp.CSS(selector), chromedp.NodeVisible))
}

// paste puts text into a field as pasting does: at once, with one input event.
func (p *tab) paste(selector, text string) {
	p.t.Helper()
	quoted, _ := json.Marshal(text)
	p.run(evaluate(fmt.Sprintf(`(() => { const e = document.querySelector(%q); e.focus(); e.value = %s; e.dispatchEvent(new Event('input')); })()`, selector, quoted)))
}

func (p *tab) choose(selector, option string) {
	p.t.Helper()
	p.run(evaluate(fmt.Sprintf(`(() => { const e = document.querySelector(%q); e.value = %q; e.dispatchEvent(new Event('change')); })()`, selector, option)))
	if got := value[string](p, fmt.Sprintf(`document.querySelector(%q).value`, selector)); got != option {
		p.t.Fatalf("%s: there is no option %q", selector, option)
	}
}

func (p *tab) key(keys string, modifiers ...chromedp.Modifier) {
	p.t.Helper()
	p.run(chromedp.KeyEvent(keys, chromedp.KeyModifiers(modifiers...)))
}

func (p *tab) shot(name string) {
	p.t.Helper()
	if *shots == "" {
		return
	}
	png, err := chromedp.Run(p.ctx, chromedp.FullScreenshot(100))
	p.must(err)
	if err := os.WriteFile(filepath.Join(*shots, name+".png"), png, 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// size sets the window; language and dark set what the page adapts to.
func size(width, height int64) action { return chromedp.EmulateViewport(width, height) }

func language(tag string) action {
	return command(emulation.SetUserAgentOverride, emulation.SetUserAgentOverrideParams{UserAgent: "Mozilla/5.0 Chrome", AcceptLanguage: tag})
}

func dark() action {
	return command(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}},
	})
}

const sample = "Harbour 01\nHarbour 02 lossy\nbroken line\nRidge skip\n<img src=x onerror=alert(1)> lossy\nRidge v6\n"

func ready(p *tab) { p.t.Helper(); p.until(`!document.querySelector('#to').disabled`) }

// ---------------------------------------------------------------- tests

func TestPageConvertsPastedTextAndShowsWarningsBesideTheirNodes(t *testing.T) {
	p := open(t, &stub{})
	ready(p)
	p.shot("empty-light")
	p.paste("#text", sample)
	p.click("#convert")
	p.shows("#headline", "4 of 5 nodes written")
	p.shows(".facts", "1 left out", "2 fields lost", "1 entry not read")
	p.shows("#output", "proxies:", `name: "Harbour 01"`)
	p.shows("#tab-warnings", "4")
	p.shows("#live", "4 of 5 nodes written")
	p.shot("output-light")
	if got := p.api.conversions(); len(got) != 1 || got[0].toFormat != "mihomo-proxies" || got[0].fromFormat != "auto" || got[0].content != sample {
		t.Fatalf("conversions before the list of nodes is asked for: %+v", got)
	}

	p.click("#tab-nodes")
	p.shows("#nodes", "Harbour 01", "[2001:db8::10]:443")
	row := func(n int) string { return fmt.Sprintf("#nodes [aria-label=Nodes] [aria-posinset='%d']", n) }
	p.shows(row(2), "Harbour 02 lossy", "Field lost", "multiplex.padding")
	p.shows(row(3), "Ridge skip", "Left out", "KCP")
	p.shows(row(4), "<img src=x onerror=alert(1)> lossy", "Field lost")
	if value[bool](p, fmt.Sprintf(`document.querySelector(%q).innerText.includes('lost')`, row(1))) {
		t.Error("the first node has a warning of another")
	}
	if value[int](p, `document.querySelectorAll('#nodes img').length`) != 0 {
		t.Error("a name became markup")
	}
	p.shows("#nodes .group", "Line not readable", "line 3: vless link without a host")
	p.shot("nodes-light")
	p.click("#only-warned")
	p.shows("output", "3 of 5 nodes")
	p.paste("#find", "ridge")
	p.shows("output", "1 of 5 nodes")

	p.click("#tab-warnings")
	p.shows("#warnings", "About the input as a whole", "About single nodes", "At 2 nodes")
	p.click("#warnings summary")
	p.shows("#warnings details", "Harbour 02 lossy", "<img src=x onerror=alert(1)> lossy")
	p.shot("warnings-light")

	// The list is kept while the input is the same, whatever the target.
	p.choose("#to", "uri-list")
	p.shows("#result .note", "has changed")
	p.click("#convert")
	p.shows("#output", "proxies:")
	p.click("#tab-nodes")
	p.shows("#nodes", "Harbour 01")
	var targets []string
	for _, c := range p.api.conversions() {
		targets = append(targets, c.toFormat)
	}
	if want := []string{"mihomo-proxies", "json-nodes", "uri-list"}; !slices.Equal(targets, want) {
		t.Errorf("conversions: got %v, want %v", targets, want)
	}
}

func TestPageCopiesAndDownloadsTheOutputAsItIs(t *testing.T) {
	p := open(t, &stub{})
	ready(p)
	// Longer than what the page lays out in one block, and one line without end.
	p.paste("#text", strings.Repeat("港湾 01\n", 300)+strings.Repeat("x", 30_000))
	_, answer := convertLines(value[string](p, `document.querySelector('#text').value`), "mihomo-proxies")
	want := answer.(map[string]any)["body"].(string)
	p.click("#convert")
	p.shows("#headline", "301 nodes written")
	if got := value[string](p, `document.querySelector('#output pre').textContent`); got != want {
		t.Errorf("shown: %d characters, want %d, equal but for cuts: %v", len(got), len(want), strings.ReplaceAll(got, "\n", "") == strings.ReplaceAll(want, "\n", ""))
	}

	profile := chromedp.FromContext(p.ctx).BrowserContextID
	_, err := chromedp.CallBrowser(p.ctx, browser.SetPermission, browser.SetPermissionParams{
		Permission: &browser.PermissionDescriptor{Name: "clipboard-read"}, Setting: browser.PermissionSettingGranted, Origin: p.origin, BrowserContextID: profile,
	})
	p.must(err)
	p.click("#copy")
	p.shows("#copy", "Copied")
	p.shows("#live", "Copied")
	got, err := chromedp.Run(p.ctx, chromedp.Evaluate[string](`navigator.clipboard.readText()`, chromedp.EvalAwaitPromise))
	p.must(err)
	if got != want {
		t.Errorf("copied %d bytes, want %d", len(got), len(want))
	}

	dir := t.TempDir()
	_, err = chromedp.CallBrowser(p.ctx, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{
		Behavior: browser.SetDownloadBehaviorBehaviorAllow, BrowserContextID: profile, DownloadPath: dir, EventsEnabled: new(true),
	})
	p.must(err)
	done := make(chan struct{}, 1)
	p.must(chromedp.ListenBrowser(p.ctx, func(event any) {
		if e, ok := event.(*browser.EventDownloadProgress); ok && e.State == browser.DownloadProgressStateCompleted {
			done <- struct{}{}
		}
	}))
	p.click("#download")
	select {
	case <-done:
	case <-p.ctx.Done():
		t.Fatal("the download does not end")
	}
	saved, err := os.ReadFile(filepath.Join(dir, "sandrone-mihomo-proxies.yaml"))
	if err != nil || string(saved) != want {
		t.Errorf("downloaded %d bytes, error %v; want %d bytes", len(saved), err, len(want))
	}
}

func TestPageFetchesAnAddressInAChosenVersion(t *testing.T) {
	p := open(t, &stub{})
	ready(p)
	p.paste("#text", "https://example.com/sub?token=x\n")
	p.click("#use-address")
	p.choose("#to", "sing-box-outbounds")
	p.choose("#version", "1.11")
	p.click("#convert")
	p.shows("#headline", "2 nodes written")
	got := p.api.conversions()
	if len(got) != 1 || got[0].url != "https://example.com/sub?token=x" || got[0].toFormat != "sing-box-outbounds@1.11" || got[0].fromFormat != "" || got[0].content != "" {
		t.Errorf("conversions: %+v", got)
	}
	p.shot("address-light")
}

func TestPageSwitchesItsLanguageAndRemembersIt(t *testing.T) {
	p := open(t, &stub{}, language("en"))
	ready(p)
	p.shows("h1", "Subscriptions in")
	p.paste("#text", sample)
	p.click("#convert")
	p.shows("#headline", "4 of 5 nodes written")
	p.click("#languages label:last-child")
	p.shows("h1", "订阅进")
	p.shows("#headline", "已写入 4 个节点，共 5 个")
	if got := value[string](p, `document.documentElement.lang`); got != "zh-CN" {
		t.Errorf("lang: got %s", got)
	}
	p.run(chromedp.Reload())
	p.shows("h1", "订阅进")
}

func TestPageFollowsTheBrowsersLanguage(t *testing.T) {
	p := open(t, &stub{}, language("zh-TW,zh;q=0.9,en;q=0.8"), dark())
	ready(p)
	p.shows("h1", "订阅进")
	p.shot("empty-dark-zh")
	p.paste("#text", sample)
	p.click("#convert")
	p.shows("#headline", "已写入 4 个节点")
	p.click("#tab-nodes")
	p.shows("#nodes", "字段丢失")
	p.shot("nodes-dark-zh")
}

func TestPageShowsAStructuredError(t *testing.T) {
	p := open(t, &stub{})
	ready(p)
	p.paste("#text", "a\nb\nno nodes here\nd\n")
	p.click("#convert")
	p.shows(".fail", "No node could be read", "HTML page instead of a subscription", "parse_failed", "422", "content", "Show line 3")
	p.shows("#live", "No node could be read")
	p.shot("error-light")
	p.click("#to-line")
	if got := value[string](p, `(e => e.value.slice(e.selectionStart, e.selectionEnd))(document.querySelector('#text'))`); got != "no nodes here" {
		t.Errorf("selected %q, want the line at fault", got)
	}
	p.paste("#text", "good\n")
	p.click("#retry")
	p.shows("#headline", "1 node written")
}

func TestPageNamesWhatIsMissingBeforeItAsksTheServer(t *testing.T) {
	p := open(t, &stub{})
	ready(p)
	p.click("#convert")
	p.shows("#text-problem", "Paste some nodes first")
	if !value[bool](p, `document.activeElement.id === 'text' && document.activeElement.getAttribute('aria-invalid') === 'true'`) {
		t.Error("the field at fault is not focused and marked")
	}
	if got := p.api.conversions(); len(got) != 0 {
		t.Errorf("asked the server: %+v", got)
	}
}

func TestPageAsksForATokenAndKeepsItInMemoryOnly(t *testing.T) {
	api := &stub{token: "right-token"}
	p := open(t, api)
	p.until(`document.querySelector('#token').open`)
	if value[bool](p, `!document.querySelector('#token-value-problem').hidden`) {
		t.Error("the first question already complains")
	}
	p.shot("token-light")
	p.paste("#token-value", "wrong-token")
	p.click("#token-form .main")
	p.shows("#token-value-problem", "not accepted")
	p.paste("#token-value", "right-token")
	p.click("#token-form .main")
	p.until(`!document.querySelector('#token').open`)
	ready(p)
	p.paste("#text", "one\n")
	p.key(kb.Enter, kb.ModifierCtrl)
	p.shows("#headline", "1 node written")
	if got := p.api.conversions(); len(got) != 1 || got[0].authorization != "Bearer right-token" {
		t.Errorf("conversions: %+v", got)
	}
	if got := value[string](p, `JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie, location.href])`); strings.Contains(got, "right-token") {
		t.Errorf("the token is kept: %s", got)
	}

	// A reload forgets it; asked to, the tab keeps it, and only the tab.
	p.run(chromedp.Reload())
	p.until(`document.querySelector('#token').open`)
	p.paste("#token-value", "right-token")
	p.click("#token-keep")
	p.click("#token-form .main")
	ready(p)
	p.run(chromedp.Reload())
	ready(p)
	if value[bool](p, `JSON.stringify({...localStorage}).includes('right-token') || document.querySelector('#token').open`) {
		t.Error("the kept token is not used, or kept in the wrong place")
	}

	p.click("#forget")
	if got := value[int](p, `sessionStorage.length`); got != 0 {
		t.Error("the token is still there after it was forgotten")
	}
	p.paste("#text", "two\n")
	p.click("#convert")
	p.until(`document.querySelector('#token').open`)
	p.click("#token-cancel")
	p.shows("#result", "A token is needed")
	p.click("#unlock")
	p.until(`document.querySelector('#token').open`)
	p.paste("#token-value", "right-token")
	p.click("#token-form .main")
	p.shows("#headline", "1 node written")
}

func TestPageShowsThatItIsConvertingAndCanBeStopped(t *testing.T) {
	api := &stub{delay: make(chan struct{})}
	p := open(t, api)
	ready(p)
	p.paste("#text", "one\n")
	p.click("#convert")
	p.until(`document.querySelector('#result').getAttribute('aria-busy') === 'true'`)
	p.click("#stop")
	p.shows("#result", "Nothing converted yet")
	p.click("#convert")
	p.until(`document.querySelector('#result').getAttribute('aria-busy') === 'true'`)
	close(api.delay)
	p.shows("#headline", "1 node written")
}

func TestPageStaysQuickWithThousandsOfLongNames(t *testing.T) {
	var text strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&text, "%-70s%05d lossy\n", strings.Repeat("港湾-Long·", 7), i)
	}
	p := open(t, &stub{})
	ready(p)
	p.paste("#text", text.String())
	p.click("#convert")
	p.shows("#headline", "5,000 nodes written")
	p.click("#tab-nodes")
	p.shows("output", "5,000 nodes")
	p.shows("#nodes", "港湾")
	// What keeps it quick is that rows far from view do not exist.
	if rows := value[int](p, `document.querySelectorAll('#nodes [role=listitem]').length`); rows == 0 || rows > 500 {
		t.Errorf("%d rows were made at once, want a screenful", rows)
	}
	p.shot("many-light")
	p.until(`(() => { document.querySelector('#nodes').scrollTop = 1e9; return [...document.querySelectorAll('#nodes [aria-posinset="5000"]')].length === 1; })()`)
	p.click("#tab-warnings")
	p.shows("#warnings", "At 5,000 nodes")
	p.click("#tab-output")
	p.shows("#output", "proxies:")
}

func TestPageWorksByKeyboardAlone(t *testing.T) {
	p := open(t, &stub{})
	ready(p)
	p.paste("#text", sample)
	p.key(kb.Enter, kb.ModifierCtrl)
	p.shows("#headline", "4 of 5 nodes written")
	p.run(chromedp.Focus(chromedp.CSS("#tab-output")))
	p.key(kb.ArrowRight)
	p.until(`document.activeElement.id === 'tab-nodes' && document.activeElement.getAttribute('aria-selected') === 'true'`)
	p.key(kb.End)
	p.until(`document.activeElement.id === 'tab-warnings'`)
	unnamed := value[string](p, `[...document.querySelectorAll('input, select, textarea, button')].filter(e => e.id !== 'file' && !e.closest('[aria-hidden]') && !(e.labels?.length || e.getAttribute('aria-label') || e.innerText.trim() || e.textContent.trim())).map(e => e.outerHTML).join()`)
	if unnamed != "" {
		t.Errorf("controls without a name: %s", unnamed)
	}
}

func TestPageFitsANarrowScreenInBothLanguages(t *testing.T) {
	for _, tag := range []string{"en", "zh-CN"} {
		t.Run(tag, func(t *testing.T) {
			p := open(t, &stub{}, language(tag), size(360, 740))
			ready(p)
			fits := func(state string) {
				t.Helper()
				if got := value[int](p, `document.documentElement.scrollWidth`); got > 360 {
					t.Errorf("%s: the page is %d wide", state, got)
				}
				p.shot("narrow-" + state + "-" + tag)
			}
			fits("empty")
			p.paste("#text", sample+strings.Repeat("W", 80)+" lossy\n")
			p.click("#convert")
			p.until(`Boolean(document.querySelector('#headline'))`)
			fits("output")
			p.click("#tab-nodes")
			p.shows("#nodes", "WWWWWW")
			fits("nodes")
			p.click("#tab-warnings")
			p.until(`Boolean(document.querySelector('#warnings .group'))`)
			fits("warnings")
			p.paste("#text", "no nodes here")
			p.click("#convert")
			p.shows(".fail", "parse_failed")
			fits("error")
		})
	}
}

func TestPageSaysThatTheServerIsGone(t *testing.T) {
	p := open(t, &stub{})
	ready(p)
	p.paste("#text", "one\n")
	p.api.gone.Store(true)
	p.click("#convert")
	p.shows(".fail", "cannot be reached", "Nothing you entered is lost")
	p.api.gone.Store(false)
	p.click("#retry")
	p.shows("#headline", "1 node written")
}
