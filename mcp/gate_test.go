package mcp_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/mcp"
)

const (
	keyVersion      = "io.modelcontextprotocol/protocolVersion"
	keyClient       = "io.modelcontextprotocol/clientInfo"
	keyCapabilities = "io.modelcontextprotocol/clientCapabilities"
)

// metaWith is a good _meta with one member changed.
func metaWith(key string, value any) map[string]any {
	meta := goodMeta()
	meta[key] = value
	return map[string]any{"_meta": meta}
}

func TestMessagesAreRefusedInTheProtocolsOwnCodes(t *testing.T) {
	d := setup{token: token}.start(t)
	inspect := map[string]any{"name": "sandrone_inspect", "arguments": map[string]any{}}
	with := func(params map[string]any) map[string]any { // a call of inspect, changed
		for name, v := range inspect {
			if _, ok := params[name]; !ok {
				params[name] = v
			}
		}
		return params
	}
	for _, row := range []struct {
		name string
		request
		want string
	}{
		{"discover", request{method: "server/discover"}, "200"},
		{"call", request{method: "tools/call", params: inspect}, "200"},
		{"call without arguments", request{method: "tools/call", params: map[string]any{"name": "sandrone_inspect"}}, "200"},
		{"any accept", request{method: "tools/list", header: map[string]string{"Accept": ""}}, "200"},

		{"old initialize", request{body: `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}`, header: map[string]string{"Mcp-Protocol-Version": "", "Mcp-Method": ""}}, "400 -32022"},
		{"old initialize under a current header", request{method: "initialize", body: `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2026-07-28"}}`}, "400 -32022"},
		{"initialize without params", request{method: "initialize", body: `{"jsonrpc":"2.0","id":1,"method":"initialize"}`}, "400 -32022"},
		{"initialize with a current _meta", request{method: "initialize"}, "404 -32601"},
		{"header of another version", request{method: "tools/list", without: keyVersion, header: map[string]string{"Mcp-Protocol-Version": "2025-11-25"}}, "400 -32022"},
		{"header and _meta of another version", request{method: "tools/list", params: metaWith(keyVersion, "2025-11-25"), header: map[string]string{"Mcp-Protocol-Version": "2025-11-25"}}, "400 -32022"},
		{"header and _meta of a later version", request{method: "tools/list", params: metaWith(keyVersion, "2027-01-01"), header: map[string]string{"Mcp-Protocol-Version": "2027-01-01"}}, "400 -32022"},

		{"no version in a header", request{method: "tools/list", header: map[string]string{"Mcp-Protocol-Version": ""}}, "400 -32020"},
		{"no headers and no _meta", request{body: `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, header: map[string]string{"Mcp-Protocol-Version": "", "Mcp-Method": ""}}, "400 -32020"},
		{"versions differ", request{method: "tools/list", params: metaWith(keyVersion, "2025-11-25")}, "400 -32020"},
		{"no method in a header", request{method: "tools/list", header: map[string]string{"Mcp-Method": ""}}, "400 -32020"},
		{"methods differ", request{method: "tools/list", header: map[string]string{"Mcp-Method": "prompts/list"}}, "400 -32020"},
		{"method in another case", request{method: "tools/list", header: map[string]string{"Mcp-Method": "Tools/List"}}, "400 -32020"},
		{"no name in a header", request{method: "tools/call", params: inspect, header: map[string]string{"Mcp-Name": ""}}, "400 -32020"},
		{"names differ", request{method: "tools/call", params: inspect, header: map[string]string{"Mcp-Name": "sandrone_convert"}}, "400 -32020"},
		{"name in another case", request{method: "tools/call", params: inspect, header: map[string]string{"Mcp-Name": "Sandrone_inspect"}}, "400 -32020"},
		{"name of a prompt differs", request{method: "prompts/get", params: map[string]any{"name": "explain_report"}, header: map[string]string{"Mcp-Name": "x"}}, "400 -32020"},
		{"URI differs", request{method: "resources/read", params: map[string]any{"uri": "sandrone://schemas"}, header: map[string]string{"Mcp-Name": "sandrone://schemas/"}}, "400 -32020"},
		{"name in Base64", request{method: "tools/call", params: inspect, header: map[string]string{"Mcp-Name": "=?base64?" + base64.StdEncoding.EncodeToString([]byte("sandrone_inspect")) + "?="}}, "200"},
		{"another name in Base64", request{method: "tools/call", params: inspect, header: map[string]string{"Mcp-Name": "=?base64?" + base64.StdEncoding.EncodeToString([]byte("x")) + "?="}}, "400 -32020"},
		{"broken Base64", request{method: "tools/call", params: inspect, header: map[string]string{"Mcp-Name": "=?base64?c2Fu*?="}}, "400 -32020"},

		{"no version in _meta", request{method: "tools/list", without: keyVersion}, "400 -32602"},
		{"no capabilities in _meta", request{method: "tools/list", without: keyCapabilities}, "400 -32602"},
		{"no client in _meta", request{method: "tools/list", without: keyClient}, "200"},
		{"version is a number", request{method: "tools/list", params: metaWith(keyVersion, 1)}, "400 -32602"},
		{"client is a text", request{method: "tools/list", params: metaWith(keyClient, "x")}, "400 -32602"},
		{"client without version", request{method: "tools/list", params: metaWith(keyClient, map[string]any{"name": "x"})}, "400 -32602"},
		{"capabilities are a list", request{method: "tools/list", params: metaWith(keyCapabilities, []int{})}, "400 -32602"},
		{"_meta is a list", request{method: "tools/list", params: map[string]any{"_meta": []int{}}}, "400 -32602"},
		{"no params", request{method: "tools/list", body: `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`}, "400 -32602"},
		{"params are a list", request{method: "tools/list", body: `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[]}`}, "400 -32602"},
		{"name is a number", request{method: "tools/call", params: map[string]any{"name": 1}, header: map[string]string{"Mcp-Name": "1"}}, "400 -32602"},
		{"arguments are a list", request{method: "tools/call", params: with(map[string]any{"arguments": []int{}})}, "400 -32602"},
		{"state is a number", request{method: "tools/call", params: with(map[string]any{"requestState": 1})}, "400 -32602"},
		{"URI is an object", request{method: "resources/read", params: map[string]any{"uri": map[string]any{}}, header: map[string]string{"Mcp-Name": "x"}}, "400 -32602"},
		{"prompt argument is a number", request{method: "prompts/get", params: map[string]any{"name": "explain_report", "arguments": map[string]any{"report_json": 1}}}, "400 -32602"},
		{"cursor is a number", request{method: "tools/list", params: map[string]any{"cursor": 1}}, "400 -32602"},
		{"cursor of nobody", request{method: "tools/list", params: map[string]any{"cursor": "x"}}, "400 -32602"},
		{"unknown tool", request{method: "tools/call", params: map[string]any{"name": "nothing"}}, "400 -32602"},
		{"unknown prompt", request{method: "prompts/get", params: map[string]any{"name": "nothing"}}, "400 -32602"},

		{"unknown method", request{method: "nothing/at_all"}, "404 -32601"},
		{"ping", request{method: "ping"}, "404 -32601"},
		{"logging", request{method: "logging/setLevel", params: map[string]any{"level": "info"}}, "404 -32601"},
		{"completion", request{method: "completion/complete", params: map[string]any{"ref": map[string]any{"type": "ref/prompt", "name": "explain_report"}, "argument": map[string]any{"name": "focus", "value": "x"}}}, "404 -32601"},
		{"subscribe", request{method: "resources/subscribe", params: map[string]any{"uri": "sandrone://schemas"}}, "404 -32601"},
		{"listen", request{method: "subscriptions/listen", params: map[string]any{"notifications": map[string]any{"toolsListChanged": true}}}, "404 -32601"},

		{"no JSON", request{method: "x", body: `{"jsonrpc":`}, "400 -32700"},
		{"broken UTF-8", request{method: "x", body: "{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"x\"}"}, "400 -32700"},
		{"data after the message", request{method: "x", body: `{"jsonrpc":"2.0","id":1,"method":"tools/list"} {}`}, "400 -32700"},
		{"batch", request{method: "x", body: `[{"jsonrpc":"2.0","id":1,"method":"tools/list"}]`}, "400 -32600"},
		{"text", request{method: "x", body: `"tools/list"`}, "400 -32600"},
		{"response", request{method: "x", body: `{"jsonrpc":"2.0","id":1,"result":{}}`}, "400 -32600"},
		{"request and response", request{method: "x", body: `{"jsonrpc":"2.0","id":1,"method":"x","result":{}}`}, "400 -32600"},
		{"another JSON-RPC", request{method: "x", body: `{"jsonrpc":"1.0","id":1,"method":"x"}`}, "400 -32600"},
		{"method is a number", request{method: "x", body: `{"jsonrpc":"2.0","id":1,"method":1}`}, "400 -32600"},
		{"nested too deeply", request{method: "x", body: `{"jsonrpc":"2.0","id":1,"method":"x","params":` + strings.Repeat("[", 1200) + strings.Repeat("]", 1200) + `}`}, "400 -32600"},
		{"fractional id", request{method: "tools/list", id: "1.5"}, "400 -32600"},
		{"id with an exponent", request{method: "tools/list", id: "1e3"}, "400 -32600"},
		{"id is null", request{method: "tools/list", id: "null"}, "400 -32600"},
		{"id is a boolean", request{method: "tools/list", id: "true"}, "400 -32600"},
		{"id is a list", request{method: "tools/list", id: "[1]"}, "400 -32600"},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := *d
			d.t = t
			res := d.send(row.request)
			if res.code() != row.want {
				t.Errorf("got %s, want %s: %s", res.code(), row.want, res.body)
			}
			if ct := res.header.Get("Content-Type"); ct != "application/json" {
				t.Errorf("got Content-Type %q", ct)
			}
			if strings.HasSuffix(row.want, "-32022") {
				var data struct {
					Supported []string
					Requested *string
				}
				if err := json.Unmarshal(res.Error.Data, &data); err != nil || len(data.Supported) != 1 || data.Supported[0] != mcp.Version || data.Requested == nil {
					t.Errorf("got data %s", res.Error.Data)
				}
			}
		})
	}
}

func TestIDsComeBackAsTheyWereSent(t *testing.T) {
	d := setup{}.start(t)
	for _, id := range []string{
		`0`, `-0`, `-7`, `9007199254740993`, `123456789012345678901234567890`, `-` + strings.Repeat("9", 400),
		`""`, `"one"`, `"1"`, `"\u0061<&>é"`, `"\ud800"`, `"` + strings.Repeat("long ", 1000) + `"`, `"{\"jsonrpc\":\"2.0\",\"id\":1,"`,
	} {
		for _, r := range []request{{method: "server/discover", id: id}, {method: "nothing", id: id}, {method: "tools/list", id: id, without: keyCapabilities}} {
			if res := d.send(r); string(res.ID) != id {
				t.Errorf("%s: sent %.60s, got %.60s", r.method, id, res.ID)
			}
		}
	}
	for _, id := range []string{`1.5`, `{}`} {
		if res := d.send(request{method: "server/discover", id: id}); string(res.ID) != "null" {
			t.Errorf("%s: got %s", id, res.ID)
		}
	}
}

func TestNotificationsAreTakenWithoutAnswer(t *testing.T) {
	d := setup{}.start(t)
	for _, method := range []string{"notifications/cancelled", "notifications/initialized", "tools/call"} {
		res := d.send(request{method: method, body: `{"jsonrpc":"2.0","method":"` + method + `"}`})
		if res.status != 202 || len(res.body) != 0 {
			t.Errorf("%s: got %d %q", method, res.status, res.body)
		}
	}
	if res := d.send(request{method: "x", body: `{"jsonrpc":"2.0","method":"notifications/cancelled"}`}); res.code() != "400 -32020" {
		t.Errorf("got %s", res.code())
	}
}

func TestOnlyPostIsAnswered(t *testing.T) {
	d := setup{token: token}.start(t)
	for _, method := range []string{"GET", "DELETE", "PUT", "PATCH", "HEAD", "OPTIONS"} {
		req := d.httpRequest(context.Background(), request{method: "tools/list"})
		req.Method = method
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != 405 || res.Header.Get("Allow") != "POST" {
			t.Errorf("%s: got %d with Allow %q", method, res.StatusCode, res.Header.Get("Allow"))
		}
	}
}

func TestBodiesEndAtFourMiB(t *testing.T) {
	const limit = 4 << 20
	d := setup{}.start(t)
	call := request{method: "tools/call", params: map[string]any{"name": "sandrone_inspect", "arguments": map[string]any{}}}
	message := string(call.message(t))
	for _, row := range []struct {
		size   int
		status int
	}{{limit, 200}, {limit + 1, 413}} {
		for _, chunked := range []bool{false, true} {
			req := d.httpRequest(context.Background(), call)
			text := message + strings.Repeat(" ", row.size-len(message))
			req.Body, req.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
			if chunked {
				req.ContentLength = -1
			}
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			if got := d.read(res); got.status != row.status {
				t.Errorf("%d bytes, chunked %v: got %s", row.size, chunked, got.code())
			}
		}
	}
}

func TestThereIsNoSession(t *testing.T) {
	d := setup{}.start(t)
	res := d.send(request{method: "tools/list", header: map[string]string{"Mcp-Session-Id": "nobodys", "Last-Event-ID": "1"}})
	if res.status != 200 {
		t.Errorf("got %s", res.code())
	}
	if res.header.Values("Mcp-Session-Id") != nil {
		t.Errorf("got a session: %v", res.header)
	}
	if got := res.header.Get("Cache-Control"); got != "no-store" {
		t.Errorf("got Cache-Control %q", got)
	}
}

func TestTheGuardsOfProtectedRoutesHold(t *testing.T) {
	closed, open := setup{token: token}.start(t), setup{}.start(t)
	for _, row := range []struct {
		name   string
		door   *door
		header map[string]string
		host   string
		status int
	}{
		{"no token", closed, map[string]string{"Authorization": ""}, "", 401},
		{"wrong token", closed, map[string]string{"Authorization": "Bearer wrong"}, "", 401},
		{"foreign origin", closed, map[string]string{"Origin": "https://evil.example.com"}, "", 403},
		{"foreign host with a token", closed, nil, "proxy.example.com", 200},
		{"foreign host without one", open, nil, "rebound.example.com", 403},
		{"own host", open, nil, "", 200},
	} {
		req := row.door.httpRequest(context.Background(), request{method: "tools/list", header: row.header})
		if row.host != "" {
			req.Host = row.host
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		var e struct{ Error sandrone.Error }
		if err != nil || res.StatusCode != row.status || row.status != 200 && (json.Unmarshal(body, &e) != nil || e.Error.Code.Status() != row.status) {
			t.Errorf("%s: got %d %.200s", row.name, res.StatusCode, body)
		}
	}
}

func TestThePathOfTheSettingsIsServed(t *testing.T) {
	d := setup{settings: func(s *sandrone.Settings) { s.MCP.Path = "/agents/door" }}.start(t)
	if res := d.send(request{method: "tools/list"}); res.status != 200 {
		t.Errorf("got %s", res.code())
	}
	d.address = strings.TrimSuffix(d.address, "/agents/door") + "/mcp"
	if res, err := http.DefaultClient.Do(d.httpRequest(context.Background(), request{method: "tools/list"})); err != nil || res.StatusCode != 404 {
		t.Errorf("the former path: got %v, %v", res.StatusCode, err)
	}
}

func TestDiscoverOffersToolsResourcesAndPromptsOnly(t *testing.T) {
	res := setup{}.start(t).send(request{method: "server/discover"})
	var got struct {
		SupportedVersions []string
		Capabilities      map[string]map[string]any
		Instructions      string
		Meta              map[string]struct{ Name, Version string } `json:"_meta"`
		ResultType        string
	}
	if err := json.Unmarshal(res.Result, &got); err != nil {
		t.Fatal(err)
	}
	if len(got.SupportedVersions) != 1 || got.SupportedVersions[0] != mcp.Version || got.Instructions == "" || got.ResultType != "complete" {
		t.Errorf("got %s", res.Result)
	}
	if me := got.Meta["io.modelcontextprotocol/serverInfo"]; me.Name != "sandrone" || me.Version != sandrone.ThisBuild().Version {
		t.Errorf("got serverInfo %+v", me)
	}
	for _, name := range []string{"tools", "resources", "prompts"} {
		c, ok := got.Capabilities[name]
		if !ok {
			t.Errorf("%s are not offered", name)
		}
		for key, value := range c {
			if value != false {
				t.Errorf("%s: %s is %v", name, key, value)
			}
		}
		delete(got.Capabilities, name)
	}
	if len(got.Capabilities) > 0 {
		t.Errorf("also offered: %v", got.Capabilities)
	}
}

func TestAnswersSayHowLongTheyMayBeKept(t *testing.T) {
	d := setup{}.start(t)
	d.air()
	for _, row := range []struct {
		request
		ttl   any
		scope any
	}{
		{request{method: "server/discover"}, 300000.0, "private"},
		{request{method: "tools/list"}, 300000.0, "private"},
		{request{method: "prompts/list"}, 300000.0, "private"},
		{request{method: "resources/list"}, 300000.0, "private"},
		{request{method: "resources/templates/list"}, 300000.0, "private"},
		{request{method: "resources/read", params: map[string]any{"uri": "sandrone://schemas"}}, 0.0, "private"},
		{request{method: "resources/read", params: map[string]any{"uri": "sandrone://subscriptions/air"}}, 0.0, "private"},
		{request{method: "tools/call", params: map[string]any{"name": "sandrone_inspect"}}, nil, nil},
		{request{method: "prompts/get", params: map[string]any{"name": "explain_report", "arguments": map[string]string{"report_json": "{}"}}}, nil, nil},
	} {
		for range 2 { // the second answer comes from what the first one made
			res := d.send(row.request)
			var got map[string]any
			if err := json.Unmarshal(res.Result, &got); err != nil {
				t.Fatalf("%s: %s", row.method, res.body)
			}
			meta, _ := got["_meta"].(map[string]any)
			if got["ttlMs"] != row.ttl || got["cacheScope"] != row.scope || got["resultType"] != "complete" || meta["io.modelcontextprotocol/serverInfo"] == nil || got["nextCursor"] != nil {
				t.Errorf("%s: got %.300s", row.method, res.Result)
			}
		}
	}
}

func TestPanicsCostTheirCallOnly(t *testing.T) {
	var log strings.Builder
	d := setup{log: &log, extensions: []mcp.Extension{{Register: func(s *sdk.Server) {
		s.AddTool(&sdk.Tool{Name: "panics", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			panic("secret sesame")
		})
		s.AddTool(&sdk.Tool{Name: "fails", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return nil, io.ErrUnexpectedEOF
		})
	}}}}.start(t)
	for _, name := range []string{"panics", "fails"} {
		res := d.send(request{method: "tools/call", params: map[string]any{"name": name}})
		if res.Error == nil || res.Error.Code != -32603 || res.Error.Message != "internal error" {
			t.Errorf("%s: got %s", name, res.body)
		}
	}
	d.must("sandrone_inspect", `{}`)
}

func TestAnExtensionMayStream(t *testing.T) {
	d := setup{extensions: []mcp.Extension{{Streamed: []string{"slow"}, Register: func(s *sdk.Server) {
		s.AddTool(&sdk.Tool{Name: "slow", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "there"}}}, nil
		})
	}}}}.start(t)
	res, err := http.DefaultClient.Do(d.httpRequest(context.Background(), request{method: "tools/call", id: `"mine"`, params: map[string]any{"name": "slow"}}))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(res.Body)
	if res.Header.Get("Content-Type") != "text/event-stream" || !strings.Contains(string(body), `data: {"jsonrpc":"2.0","id":"mine",`) || !strings.Contains(string(body), "there") {
		t.Errorf("got %v %s", res.Header, body)
	}
}
