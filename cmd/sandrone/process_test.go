package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// process is a running server.
type process struct {
	t       *testing.T
	cmd     *exec.Cmd
	address string
	token   string
	log     *logText
	ended   chan struct{}
}

// logText collects what a process writes to its standard error.
type logText struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// command is this program with arguments, under a name of the map in TestMain.
func command(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Args[0] = name
	cmd.Env = append(os.Environ(), "SANDRONE_DATA_DIR=", "SANDRONE_TOKEN=")
	return cmd
}

// startServer starts a server and returns when it listens.
func startServer(t *testing.T, name, dir, token string, args ...string) *process {
	t.Helper()
	p := &process{t: t, token: token, log: new(logText), ended: make(chan struct{})}
	p.cmd = command(t, name, append([]string{"serve", "--listen", "127.0.0.1:0", "--data-dir", dir}, args...)...)
	p.cmd.Env = append(p.cmd.Env, "SANDRONE_TOKEN="+token)
	out, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	listens := make(chan string, 1)
	go func() {
		defer close(p.ended)
		defer close(listens)
		for lines.Scan() {
			p.log.mu.Lock()
			p.log.text.WriteString(lines.Text() + "\n")
			p.log.mu.Unlock()
			if _, address, ok := strings.Cut(lines.Text(), `msg="starting HTTP API" listen=`); ok {
				listens <- address
			}
		}
		p.cmd.Wait()
	}()
	t.Cleanup(p.kill)
	var ok bool
	if p.address, ok = <-listens; !ok {
		t.Fatalf("the server did not start:\n%s", p.log)
	}
	return p
}

func (p *process) kill() {
	p.cmd.Process.Kill()
	<-p.ended
}

// stop ends the server in good order.
func (p *process) stop() {
	p.t.Helper()
	p.cmd.Process.Signal(os.Interrupt)
	<-p.ended
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		p.t.Errorf("the server ended with %d:\n%s", code, p.log)
	}
}

// send sends a request with the owner token and returns status and body; 0 if
// there was no answer.
func (p *process) send(method, path, body string) (int, string) {
	return p.sendAs(p.token, method, path, body)
}

func (p *process) sendAs(token, method, path, body string) (int, string) {
	req, err := http.NewRequest(method, "http://"+p.address+path, strings.NewReader(body))
	if err != nil {
		return 0, err.Error()
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(text)
}

// must is send for a request that has to succeed.
func (p *process) must(method, path, body string) string {
	p.t.Helper()
	status, text := p.send(method, path, body)
	if status < 200 || status > 299 {
		p.t.Fatalf("%s %s: %d %s", method, path, status, text)
	}
	return text
}

// callTool calls a tool of the MCP endpoint, whatever comes of it.
func (p *process) callTool(name, arguments string) {
	p.t.Helper()
	req, err := http.NewRequest("POST", "http://"+p.address+"/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+name+`","arguments":`+arguments+`,
		"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"plant-client","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`))
	if err != nil {
		p.t.Fatal(err)
	}
	for key, value := range map[string]string{"Authorization": "Bearer " + p.token, "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": name} {
		req.Header.Set(key, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != 200 {
		text, _ := io.ReadAll(resp.Body)
		p.t.Errorf("%s: %d %s", name, resp.StatusCode, text)
	}
}

// Each round has clients write without a pause and kills the server. What it
// acknowledged is there afterwards. SANDRONE_KILLS asks for more rounds.
func TestAKilledServerLosesNoAcknowledgedWrite(t *testing.T) {
	t.Parallel()
	kills := 4
	if more := os.Getenv("SANDRONE_KILLS"); more != "" {
		n, err := strconv.Atoi(more)
		if err != nil {
			t.Fatal(err)
		}
		kills = n
	}
	const clients = 4
	random := rand.New(rand.NewPCG(3, 26))
	dir := filepath.Join(t.TempDir(), "data")
	var written [clients]atomic.Int64 // the last acknowledged write of each client
	definition := func(client int, n int64) string {
		return fmt.Sprintf(`{"name":"s%d","type":"local","content":"%d%s"}`, client, n, strings.Repeat("-", int(n*997%5000)))
	}
	for round := range kills {
		p := startServer(t, "sandrone", dir, "")
		for client := range clients {
			last := written[client].Load()
			if last == 0 {
				continue
			}
			var found struct{ Content string }
			if err := json.Unmarshal([]byte(p.must("GET", fmt.Sprint("/v1/subscriptions/s", client), "")), &found); err != nil {
				t.Fatal(err)
			}
			n, err := strconv.ParseInt(strings.TrimRight(found.Content, "-"), 10, 64)
			// One more may have been written and not acknowledged.
			if err != nil || n != last && n != last+1 || len(found.Content) != len(strconv.FormatInt(n, 10))+int(n*997%5000) {
				t.Fatalf("round %d: client %d: write %d is in the store, and %d was acknowledged", round, client, n, last)
			}
			written[client].Store(n)
		}
		var all sync.WaitGroup
		enough := make(chan struct{}, 1000)
		for client := range clients {
			all.Go(func() {
				for n := written[client].Load() + 1; ; n++ {
					if status, _ := p.send("POST", "/v1/subscriptions", definition(client, n)); status != http.StatusCreated {
						return // killed
					}
					written[client].Store(n)
					select {
					case enough <- struct{}{}:
					default:
					}
				}
			})
		}
		for range 1 + random.IntN(20) {
			<-enough
		}
		time.Sleep(time.Duration(random.IntN(3000)) * time.Microsecond) // not in step with the writes
		p.kill()
		all.Wait()
	}
}

// Everything that is secret has the word "plant" in it, or was made by the
// server. None of that may stand in the log of a run that uses every part, nor
// in the entries that the API shows, nor in the metrics.
func TestNothingSecretIsLogged(t *testing.T) {
	t.Parallel()
	down := atomic.Bool{}
	source := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if down.Load() {
			http.Error(w, "plant-upstream-text", 500)
			return
		}
		w.Header().Set("Subscription-Userinfo", "upload=plant-usage; total=10")
		io.WriteString(w, "trojan://plant-remote-password@192.0.2.1:443#one\ntrojan://plant-broken@:x\n")
	}))
	defer source.Close()
	host := strings.TrimPrefix(source.URL, "http://")
	address := "http://plant-user:plant-pass@" + host + "/plant-path?token=plant-query#plant-fragment"

	p := startServer(t, "sandrone", t.TempDir(), "plant-owner-token", "--log-level", "debug", "--allow-host", "127.0.0.1")
	post := func(path, body string) (int, string) { return p.send("POST", path, body) }

	p.must("POST", "/v1/subscriptions", `{"name":"air","type":"remote","remote":{"url":"`+address+`","user_agent":"plant-agent"}}`)
	p.must("POST", "/v1/subscriptions", `{"name":"own","type":"local","content":"trojan://plant-password@192.0.2.1:443?plant=1#one","processors":[{"type":"script","stage":"nodes","params":{"source":{"type":"inline","content":"function main(i, api){ api.log('plant-said', i.nodes[0].password); if (i.args.fail) throw new Error('plant-thrown ' + i.nodes[0].password); return i }"},"args":{"key":"plant-script-arg"}}}]}`)
	p.must("POST", "/v1/subscriptions", `{"name":"all","type":"collection","inputs":[{"name":"air","type":"subscription"},{"name":"gone","type":"remote","url":"http://127.0.0.1:1/?plant-input"},{"name":"own","type":"subscription"}]}`)
	p.must("POST", "/v1/files", `{"name":"note","kind":"static","source":{"type":"inline","content":"plant-file-text"}}`)
	p.must("POST", "/v1/files", `{"name":"far","kind":"static","source":{"type":"remote","remote":{"url":"`+address+`"}}}`)
	p.must("POST", "/v1/files", `{"name":"phone","kind":"mihomo","source":{},"config":{"subscriptions":["own"]},"processors":[
		{"type":"merge","params":{"mode":"yaml_override","content":"secret: plant-controller"}},
		{"type":"template","params":{"values":{"a":"plant-value"}}},
		{"type":"replace","params":{"rules":[{"from":"plant-from","to":"plant-to"}]}}]}`)
	p.must("PATCH", "/v1/settings", `{"remote_defaults":{"proxy":""}}`)
	p.send("PATCH", "/v1/settings", `{"remote_defaults":{"proxy":"ftp://plant-proxy:plant-pass@127.0.0.1:1"}}`)

	var token struct{ Secret string }
	if err := json.Unmarshal([]byte(p.must("POST", "/v1/tokens", `{"name":"reader","scope":"read"}`)), &token); err != nil {
		t.Fatal(err)
	}
	var share struct{ Share struct{ ID string } }
	if err := json.Unmarshal([]byte(p.must("POST", "/v1/shares", `{"target_kind":"subscription","target_name":"all"}`)), &share); err != nil {
		t.Fatal(err)
	}
	p.must("POST", "/v1/shares", `{"id":"plant-share","target_kind":"subscription","target_name":"air"}`)
	p.must("POST", "/v1/shares", `{"id":"plant-file","target_kind":"file","target_name":"far"}`)

	work := func() {
		for _, name := range []string{"air", "own", "all"} {
			base := "/v1/subscriptions/" + name
			post(base+"/preview?arg.plant=plant-arg", `{"refresh":true,"target":"mihomo-proxies"}`)
			post(base+"/render", `{"format":"sing-box-outbounds@1.11","args":{"fail":"plant-arg"}}`)
			post(base+"/render", `{"format":"uri-list"}`)
			post(base+"/traffic", `{"refresh":true}`)
			post(base+"/probe", `{"method":"tcp_connect","timeout_ms":1}`)
			post("/v1/diagnose", `{"subscription":"`+name+`"}`)
		}
		for _, id := range []string{"plant-share", "plant-file", share.Share.ID, "plant-unknown"} {
			p.sendAs("", "GET", "/s/"+id+"?arg.x=plant-arg", "")
			p.sendAs("", "GET", "/s/"+id+"/plant-name.txt", "")
			p.send("GET", "/v1/shares/"+id, "")
			p.send("GET", "/v1/shares/"+id+"/accesses", "")
			p.send("GET", "/v1/revisions?kind=share&name="+id, "")
		}
		for _, path := range []string{"/v1/files/note?arg.x=plant-arg", "/v1/files/far", "/v1/files/far?mode=source", "/v1/backup", "/v1/settings",
			"/v1/tokens", "/v1/openapi.json", "/metrics", "/v1/nothing?plant-query",
			"/convert?to_format=uri-list&content=" + url.QueryEscape("trojan://plant-public@192.0.2.1:443#x"),
			"/convert?to_format=uri-list&url=" + url.QueryEscape(address), "/convert?plant-parameter=1",
			"/v1/logs?q=plant-search"} {
			p.send("GET", path, "")
		}
		p.send("GET", "/v1/files/phone?arg.x=plant-arg&refresh=1", "")
		post("/v1/files/phone/verify", `{"args":{"x":"plant-arg"}}`)
		post("/v1/preview/file", `{"file":{"name":"plant-draft","kind":"sing-box","source":{"type":"inline","content":"{plant-base"}}}`)
		post("/v1/diagnose", `{"file":"phone"}`)
		for tool, arguments := range map[string]string{
			"sandrone_convert":              `{"to_format":"uri-list","remote":{"url":"` + address + `"}}`,
			"sandrone_preview_subscription": `{"name":"own","args":{"fail":"plant-arg"}}`,
			"sandrone_get_file":             `{"file":"phone"}`,
			"sandrone_put_file":             `{"name":"x","kind":"static","source":{"type":"inline","content":"plant-file"},"dry_run":true}`,
			"sandrone_delete_file":          `{"name":"plant-nothing"}`,
		} {
			p.callTool(tool, arguments)
		}
		post("/v1/convert", `{"to_format":"mihomo-proxies","remote":{"url":"`+address+`"}}`)
		post("/v1/convert", `{"to_format":"mihomo-proxies","from_format":"auto","content":"plant-nonsense"}`)
		post("/v1/convert", `{"to_format":"mihomo-proxies","plant-member":1`)
		post("/v1/preview/subscription", `{"subscription":{"name":"x","type":"local","content":"trojan://plant-draft@192.0.2.1:443#x","processors":[{"type":"filter","params":{"pattern":"plant-("}}]}}`)
		post("/v1/regex/test", `{"pattern":"plant-(","texts":["plant"]}`)
		post("/v1/backup/restore", "plant-archive")
		post("/v1/tokens", `{"name":"plant-name","scope":"plant-scope"}`)
		p.sendAs("plant-wrong-token", "GET", "/v1/inspect", "")
		p.sendAs(token.Secret, "GET", "/v1/inspect", "")
		p.sendAs(token.Secret, "DELETE", "/v1/cache", "")
	}
	work()
	down.Store(true)
	work()

	shown := p.must("GET", "/v1/logs?limit=1000", "")
	metrics := p.must("GET", "/metrics", "")
	p.stop()
	if n := strings.Count(p.log.String(), "http request completed"); n < 100 {
		t.Fatalf("the log has %d requests", n)
	}
	for name, text := range map[string]string{"log": p.log.String(), "shown log": shown, "metrics": metrics} {
		for line := range strings.Lines(text) {
			for _, secret := range []string{"plant", token.Secret, share.Share.ID} {
				if strings.Contains(line, secret) {
					t.Errorf("%s: %s", name, line)
				}
			}
		}
	}
}
