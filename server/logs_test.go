package server_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sandrone-gateway/sandrone/server"
)

func TestLogsHideWhatMustNotBeSaid(t *testing.T) {
	for _, c := range []struct {
		name    string
		log     func(*slog.Logger)
		says    string
		saysNot string
	}{
		{"address", func(l *slog.Logger) { l.Info("fetch https://u:hunter2@a.example/hunter2?token=hunter2 failed") }, "https://a.example", "hunter2"},
		{"address in an attribute", func(l *slog.Logger) { l.Info("x", "source", "https://a.example:8443/hunter2") }, "https://a.example:8443", "hunter2"},
		{"node link", func(l *slog.Logger) { l.Info("x", "line", "trojan://hunter2@a.example:443#name") }, "trojan://…", "hunter2"},
		{"encoded node link", func(l *slog.Logger) { l.Info("x", "line", "vmess://aHVudGVyMg==") }, "vmess://…", "aHVudGVyMg"},
		{"error", func(l *slog.Logger) { l.Info("x", "err", errors.New(`Get "https://a.example/?hunter2=1": refused`)) }, "refused", "hunter2"},
		{"query", func(l *slog.Logger) { l.Info("x", "path", "/convert?content=hunter2") }, "/convert?…", "hunter2"},
		{"bearer", func(l *slog.Logger) { l.Info("Authorization: Bearer hunter2") }, "Bearer …", "hunter2"},
		{"named token", func(l *slog.Logger) { l.Info("x", "what", "sdt_hunter2") }, "sdt_…", "hunter2"},
		{"id of a share", func(l *slog.Logger) { l.Info("x", "what", "sh_hunter2") }, "sh_…", "hunter2"},
		{"path of a share", func(l *slog.Logger) { l.Info("x", "path", "/s/hunter2/name.txt") }, "/s/…", "hunter2"},
		{"path of a definition of a share", func(l *slog.Logger) { l.Info("x", "path", "/v1/shares/hunter2") }, "/v1/shares/…", "hunter2"},
		{"attribute that is a secret by its name", func(l *slog.Logger) { l.Info("x", "owner_token", "hunter2", "Password", 4711) }, "owner_token", "hunter2"},
		{"group", func(l *slog.Logger) { l.Info("x", slog.Group("g", "password", "hunter2", "n", 1)) }, "g.n", "hunter2"},
		{"attributes of the logger", func(l *slog.Logger) { l.WithGroup("g").With("secret", "hunter2", "n", 1).Info("x") }, "g.n", "hunter2"},
		{"value of any type", func(l *slog.Logger) { l.Info("x", "v", []string{"sdt_hunter2"}) }, "[sdt_…]", "hunter2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var written bytes.Buffer
			o := setup{token: token, log: &written}
			logs := server.NewLogs(slog.NewTextHandler(&written, nil))
			o.logs = logs
			c.log(slog.New(logs))
			a := as("GET", "/v1/logs", "").do(t, o.start(t))
			for where, text := range map[string]string{"API": a.body, "text": written.String()} {
				if !strings.Contains(text, c.says) || strings.Contains(text, c.saysNot) {
					t.Errorf("%s: got %s", where, text)
				}
			}
		})
	}
}

func TestLogsAreFiltered(t *testing.T) {
	logs := server.NewLogs(slog.NewTextHandler(io.Discard, nil)) // takes info and above
	log := slog.New(logs)
	log.Debug("unseen")
	for i, level := range []slog.Level{slog.LevelInfo, slog.LevelWarn, slog.LevelError} {
		log.Log(context.Background(), level, fmt.Sprintf("entry %d", i+1), "kind", "Apple", "ok", true, "ratio", 0.5)
	}
	address := setup{token: token, logs: logs}.start(t)
	get := func(query string) call { return as("GET", "/v1/logs?"+query, "") }
	runRows(t, address, []row{
		{name: "all", call: get(""), status: 200, has: []string{`"id": 1,`, `"id": 3,`, `"oldest_id": 1`, `"newest_id": 3`, `"level": "warn"`, `"ok": true`, `"ratio": 0.5`}, hasNot: []string{"unseen"}, header: []string{noStore}},
		{name: "level", call: get("level=warn"), status: 200, has: []string{"entry 2", "entry 3"}, hasNot: []string{"entry 1"}},
		{name: "word of a message", call: get("q=ENTRY%202"), status: 200, has: []string{"entry 2"}, hasNot: []string{"entry 1"}},
		{name: "word of an attribute", call: get("q=apple"), status: 200, has: []string{"entry 1"}},
		{name: "word that is not there", call: get("q=pear"), status: 200, has: []string{`"items": []`, `"newest_id": 3`}},
		{name: "expression", call: get("q=/entry%20[13]/"), status: 200, has: []string{"entry 1", "entry 3"}, hasNot: []string{"entry 2"}},
		{name: "since an id", call: get("since=2"), status: 200, has: []string{"entry 3"}, hasNot: []string{"entry 2"}},
		{name: "since a time", call: get("since=2999-01-01T00:00:00Z"), status: 200, has: []string{`"items": []`}},
		{name: "before an id", call: get("before=2"), status: 200, has: []string{"entry 1"}, hasNot: []string{"entry 2"}},
		{name: "the newest", call: get("limit=1"), status: 200, has: []string{"entry 3"}, hasNot: []string{"entry 2"}},
		{name: "unknown level", call: get("level=loud"), status: 400, code: "invalid_argument", field: "level"},
		{name: "level in another case", call: get("level=WARN"), status: 400, code: "invalid_argument", field: "level"},
		{name: "bad expression", call: get("q=/(hunter2/"), status: 400, code: "invalid_argument", field: "q"},
		{name: "bad time", call: get("since=yesterday"), status: 400, code: "invalid_argument", field: "since"},
		{name: "bad id", call: get("before=x"), status: 400, code: "invalid_argument", field: "before"},
		{name: "limit too small", call: get("limit=0"), status: 400, code: "invalid_argument", field: "limit"},
		{name: "limit too large", call: get("limit=1001"), status: 400, code: "invalid_argument", field: "limit"},
		{name: "stream by HEAD", call: as("HEAD", "/v1/logs/stream", ""), status: 200, header: []string{"Content-Type: text/event-stream"}},
		{name: "stream with a bad filter", call: as("GET", "/v1/logs/stream?q=/(/", ""), status: 400, code: "invalid_argument", field: "q"},
		{name: "stream after what is no id", call: as("GET", "/v1/logs/stream", "", "Last-Event-ID: x"), status: 400, code: "invalid_argument"},
	})
}

func TestLogsKeepTheLastTwoThousandEntries(t *testing.T) {
	logs := server.NewLogs(slog.NewTextHandler(io.Discard, nil))
	log := slog.New(logs)
	for range 2003 {
		log.Info("x")
	}
	a := as("GET", "/v1/logs?limit=1000", "").do(t, setup{token: token, logs: logs}.start(t))
	var page struct {
		Items    []struct{ ID int }
		OldestID int `json:"oldest_id"`
		NewestID int `json:"newest_id"`
	}
	if err := json.Unmarshal([]byte(a.body), &page); err != nil {
		t.Fatal(err)
	}
	if page.OldestID != 4 || page.NewestID != 2003 || len(page.Items) != 1000 || page.Items[0].ID != 1004 || page.Items[999].ID != 2003 {
		t.Errorf("got %d items of %d to %d", len(page.Items), page.OldestID, page.NewestID)
	}
}

// stream is a client that follows the log.
type stream struct {
	lines *bufio.Scanner
	end   func()
}

func follow(t *testing.T, v *served, path string, header ...string) *stream {
	t.Helper()
	conn := v.dial(t)
	go as("GET", path, "", header...).write(conn, "localhost")
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != 200 {
		t.Fatalf("got status %d", resp.StatusCode)
	}
	return &stream{bufio.NewScanner(resp.Body), func() { conn.Close() }}
}

// next returns the next line that is not empty, and "" at the end.
func (s *stream) next() string {
	for s.lines.Scan() {
		if s.lines.Text() != "" {
			return s.lines.Text()
		}
	}
	return ""
}

func (s *stream) wants(t *testing.T, lines ...string) {
	t.Helper()
	for _, want := range lines {
		if got := s.next(); !strings.HasPrefix(got, want) {
			t.Fatalf("got line %q, want %q", got, want)
		}
	}
}

func TestLogStreamFollowsTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		logs := server.NewLogs(slog.NewTextHandler(io.Discard, nil))
		log := slog.New(logs)
		for range 2001 {
			log.Info("old")
		}
		v := serveInBubble(t, setup{token: token, logs: logs}.server(t))
		s := follow(t, v, "/v1/logs/stream?since=2000")
		s.wants(t, ": ", "event: log", "id: 2001", `data: {"id":2001,`)
		log.Info("new", "secret", "hunter2")
		s.wants(t, "event: log", "id: 2002", `data: {"id":2002,`)

		start := time.Now()
		s.wants(t, ": ")
		if waited := time.Since(start); waited != 15*time.Second {
			t.Errorf("the first sign of life came after %v", waited)
		}

		// The entries up to 2 are gone; 1 was the last that the client saw.
		again := follow(t, v, "/v1/logs/stream?since=2002", "Last-Event-ID: 1")
		again.wants(t, ": ", "event: gap", `data: {"dropped":1}`, "event: log", "id: 3")
		again.end()

		former := follow(t, v, "/v1/logs/stream?level=info&q=new", "Last-Event-ID: 999999")
		former.wants(t, ": ", "event: log", "id: 2002")
		former.end()

		start = time.Now()
		last := make(chan string)
		go func() { last <- s.next() }()
		v.end(t)
		if took := time.Since(start); took > time.Second {
			t.Errorf("the server stopped after %v, with a stream open", took)
		}
		if line := <-last; line != "" {
			t.Errorf("got %q from a server that has stopped", line)
		}
		s.end()
	})
}

func TestLogStreamsAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := serveInBubble(t, setup{token: token}.server(t))
		streams := make([]*stream, 16)
		for i := range streams {
			streams[i] = follow(t, v, "/v1/logs/stream?level=error")
			streams[i].wants(t, ": ")
		}
		one := as("GET", "/v1/logs/stream", "")
		if a := v.call(t, one); a.status != 503 || a.errorObject(t).Code != "busy" || a.header.Get("Retry-After") == "" {
			t.Errorf("got status %d: %s", a.status, a.body)
		}
		streams[0].end()
		synctest.Wait()
		s := follow(t, v, "/v1/logs/stream?level=error")
		s.wants(t, ": ")
		for _, s := range append(streams, s) {
			s.end()
		}
		v.end(t)
	})
}
