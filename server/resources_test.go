package server_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/fetch"
)

// as is a request with the owner token, and further headers.
func as(method, path, body string, header ...string) call {
	return call{method: method, path: path, header: append(bearer(token), header...), body: body}
}

// tagOf returns the ETag of what a request answers.
func tagOf(t *testing.T, address string, c call) string {
	t.Helper()
	a := c.do(t, address)
	tag := a.header.Get("ETag")
	if len(tag) != 34 || tag[0] != '"' {
		t.Fatalf("%s %s: got status %d and ETag %q: %s", c.method, c.path, a.status, tag, a.body)
	}
	return tag
}

const (
	local   = `{"name":"air","type":"local","display_name":" Air ","format":"uri-list","content":"trojan://hunter2@192.0.2.1:443#one\ntrojan://hunter2@192.0.2.2:443#two","processors":[{"type":"rename","params":{"mode":"prefix","value":"EDGE "}}],"meta":{"a":"b"}}`
	broken  = `{"type":"local","content":"` + link + `","processors":[{"type":"sort"},{"type":"filter","params":{"action":"keep","field":"name","match":"regex","pattern":"("}}]}`
	static  = `{"name":"hello.txt","kind":"static","source":{"type":"inline","content":"hello <world>\n"}}`
	remote  = `{"name":"far","type":"remote","remote":{"url":"https://u:hunter2@a.example/x?hunter2"}}`
	noStore = "Cache-Control: no-store"
	revalid = "Cache-Control: private, no-cache"
)

// usage answers fetches with one node and how much of a plan is used.
func usage(_ context.Context, req fetch.Request) (*fetch.Response, error) {
	return &fetch.Response{Status: 200, Body: []byte(link), Header: http.Header{
		"Subscription-Userinfo": {"upload=1; download=2; total=10; expire=1900000000"},
	}}, nil
}

func TestSubscriptionRoutes(t *testing.T) {
	address := setup{token: token, fetch: usage}.start(t)
	const list, one = "/v1/subscriptions", "/v1/subscriptions/air"
	runRows(t, address, []row{
		{name: "empty list", call: as("GET", list, ""), status: 200, has: []string{`"items": []`}, header: []string{noStore}},
		{name: "missing", call: as("GET", one, ""), status: 404, code: "not_found", header: []string{noStore}, has: []string{`"resource_kind": "subscription"`, `"resource_name": "air"`}},
		{name: "delete missing", call: as("DELETE", one, ""), status: 404, code: "not_found"},
		{name: "preview missing", call: as("POST", one+"/preview", ""), status: 404, code: "not_found"},
		{name: "render missing", call: as("POST", one+"/render", `{"format":"json-nodes"}`), status: 404, code: "not_found"},
		{name: "overwrite of what is not there", call: as("POST", list, local, "If-Match: *"), status: 412, code: "precondition_failed"},
		{name: "create", call: as("POST", list, local, "If-None-Match: *"), status: 201, has: []string{`"ok": true`}, hasNot: []string{"warnings", "hunter2"}, header: []string{revalid}},
		{name: "create again", call: as("POST", list, local, "If-None-Match: *"), status: 409, code: "conflict"},
		{name: "no name", call: as("POST", list, `{"type":"local"}`), status: 400, code: "invalid_argument", field: "name"},
		{name: "bad name", call: as("POST", list, `{"name":"a/b","type":"local"}`), status: 400, code: "invalid_argument", field: "name"},
		{name: "bad type", call: as("POST", list, `{"name":"x","type":"hunter2"}`), status: 400, code: "invalid_argument", field: "type"},
		{name: "remote without address", call: as("POST", list, `{"name":"x","type":"remote"}`), status: 400, code: "invalid_argument", field: "remote.url"},
		{name: "negative time", call: as("POST", list, `{"name":"x","type":"local","render_cache_ttl_seconds":-1}`), status: 400, code: "invalid_argument", field: "render_cache_ttl_seconds"},
		{name: "unknown member of an input", call: as("POST", list, `{"name":"x","type":"collection","inputs":[{"type":"ref","rev":1}]}`), status: 400, code: "invalid_argument", field: "inputs[0].rev"},
		{name: "times may come back", call: as("POST", list, `{"name":"dated","type":"local","created_at":"2020-01-01T00:00:00Z","updated_at":"2020-01-01T00:00:00.5+01:00"}`), status: 201},
		{name: "times of the server's own", call: as("GET", list+"/dated", ""), status: 200, hasNot: []string{"2020-01-01"}},
		{name: "bad time", call: as("POST", list, `{"name":"x","type":"local","created_at":"yesterday"}`), status: 400, code: "invalid_argument", field: "created_at"},
		{name: "warned", call: as("POST", list, `{"name":"warned","type":"local","processors":[{"type":"nothing"}]}`), status: 201, has: []string{`"code": "processor_unknown"`, `"field": "processors[0].type"`}},
		{name: "list", call: as("GET", list, ""), status: 200, has: []string{`"kind": "subscription"`, `"name": "air"`, `"display_name": "Air"`, `"size": `, `"format": "uri-list"`, `"meta"`}, hasNot: []string{"hunter2", "content"}},
		{name: "definition", call: as("GET", one, ""), status: 200, has: []string{`"content": "trojan://hunter2`, `"display_name": "Air"`}, header: []string{revalid}},
		{name: "definition by HEAD", call: as("HEAD", one, ""), status: 200, header: []string{revalid}},
		{name: "name in another case", call: as("GET", list+"/AIR", ""), status: 404, code: "not_found"},
		{name: "encoded separator", call: as("GET", list+"/a%2Fir", ""), status: 400, code: "invalid_argument", field: "name"},
		{name: "encoded dots", call: as("GET", list+"/%2e%2e", ""), status: 400, code: "invalid_argument", field: "name"},
		{name: "encoded backslash", call: as("DELETE", list+"/a%5Cir", ""), status: 400, code: "invalid_argument", field: "name"},
		{name: "blank name", call: as("GET", list+"/%20", ""), status: 400, code: "invalid_argument", field: "name"},
		{name: "preview takes no GET", call: as("GET", one+"/preview", ""), status: 405, code: "method_not_allowed", header: []string{"Allow: POST"}},
		{name: "one takes no POST", call: as("POST", one, ""), status: 405, code: "method_not_allowed", header: []string{"Allow: GET, HEAD, DELETE"}},
		{name: "list takes no DELETE", call: as("DELETE", list, ""), status: 405, code: "method_not_allowed", header: []string{"Allow: GET, HEAD, POST"}},
		{name: "unknown last segment", call: as("POST", one+"/nothing", ""), status: 404, code: "route_not_found"},
	})

	tag := tagOf(t, address, as("GET", one, ""))
	runRows(t, address, []row{
		{name: "reader has it", call: as("GET", one, "", "If-None-Match: "+tag), status: 304, header: []string{"ETag: " + tag, revalid}},
		{name: "reader has one of several", call: as("GET", one, "", `If-None-Match: "x", W/`+tag), status: 304},
		{name: "reader has another", call: as("GET", one, "", `If-None-Match: "x"`), status: 200, header: []string{"ETag: " + tag}},
		{name: "equal write", call: as("POST", list, local), status: 201, header: []string{"ETag: " + tag}},
		{name: "write upon another state", call: as("POST", list, `{"name":"air","type":"local"}`, `If-Match: "x"`), status: 412, code: "precondition_failed"},
		{name: "delete upon another state", call: as("DELETE", one, "", `If-Match: "x"`), status: 412, code: "precondition_failed"},

		{name: "preview", call: as("POST", one+"/preview", ""), status: 200,
			has: []string{`"before_count": 2`, `"after_count": 2`, `"modified": 2`, `"unchanged": 0`, `"steps": [`, `"warnings": []`, `"identity": "sha256:`, `"changed_by": [`}, header: []string{noStore}},
		{name: "preview without trace", call: as("POST", one+"/preview", `{"trace":false,"refresh":true}`), status: 200, hasNot: []string{`"steps"`, "changed_by"}},
		{name: "preview for a target", call: as("POST", one+"/preview?arg.x=1", `{"args":{"x":"2"},"target":"mihomo-proxies"}`), status: 200, has: []string{`"loss": {`, `"status": "ok"`, `"fields": []`}},
		{name: "preview for an unknown target", call: as("POST", one+"/preview", `{"target":"nothing"}`), status: 400, code: "invalid_argument", field: "target"},
		{name: "preview with a bad member", call: as("POST", one+"/preview", `{"Refresh":true}`), status: 400, code: "invalid_argument", field: "Refresh"},
		{name: "render", call: as("POST", one+"/render", `{"format":"json-nodes"}`), status: 200, has: []string{`"kind": "subscription_render"`, `"cached": false`, "EDGE one"}},
		{name: "render of a version", call: as("POST", one+"/render", `{"format":"sing-box-outbounds@1.11"}`), status: 200, has: []string{`"content_type": "application/json"`}},
		{name: "render without format", call: as("POST", one+"/render", `{"format":" "}`), status: 400, code: "invalid_argument", field: "format"},
		{name: "render in an unknown format", call: as("POST", one+"/render", `{"format":"nothing"}`), status: 400, code: "invalid_argument", field: "format"},
		{name: "bad query", call: as("POST", one+"/render?arg.x=%zz", `{"format":"json-nodes"}`), status: 400, code: "invalid_argument"},
		{name: "traffic of what has none", call: as("POST", one+"/traffic", ""), status: 400, code: "invalid_argument"},
		{name: "far", call: as("POST", list, remote), status: 201},
		{name: "traffic", call: as("POST", "/v1/subscriptions/far/traffic", `{"refresh":true}`), status: 200, has: []string{`"total_bytes": 10`, `"used_bytes": 3`}, hasNot: []string{"hunter2"}},

		{name: "draft", call: as("POST", "/v1/preview/subscription", `{"subscription":{"type":"local","content":"`+link+`","processors":[{"type":"sort"}]}}`), status: 200, has: []string{`"subscription_name": "draft"`, `"after_count": 1`}},
		{name: "draft that is none", call: as("POST", "/v1/preview/subscription", `{}`), status: 400, code: "invalid_argument", field: "subscription"},
		{name: "draft with a failing step", call: as("POST", "/v1/preview/subscription", `{"subscription":`+broken+`}`), status: 422, code: "processor_config_invalid", field: "subscription.processors[1].params.pattern",
			has: []string{`"processor": "filter"`, `"processor_index": 1`, `"steps": [`, `"type": "sort"`}},
		{name: "draft that nothing is read from", call: as("POST", "/v1/preview/subscription", `{"subscription":{"type":"local","format":"uri-list","content":"hunter2"}}`), status: 422, code: "parse_failed"},
		{name: "draft that needs itself", call: as("POST", "/v1/preview/subscription", `{"subscription":{"name":"air","type":"collection","inputs":[{"name":"x","type":"ref","ref":{"kind":"subscription","name":"air"},"required":true}]}}`), status: 409, code: "conflict"},
		{name: "nothing of it is stored", call: as("GET", list+"/draft", ""), status: 404, code: "not_found"},

		{name: "delete", call: as("DELETE", one, "", "If-Match: "+tag), status: 200, has: []string{`"ok": true`}},
		{name: "deleted", call: as("GET", one, ""), status: 404, code: "not_found"},
	})
}

func TestFileRoutes(t *testing.T) {
	address := setup{token: token}.start(t)
	const list, one = "/v1/files", "/v1/files/hello.txt"
	runRows(t, address, []row{
		{name: "empty list", call: as("GET", list, ""), status: 200, has: []string{`"items": []`}},
		{name: "missing", call: as("GET", one, ""), status: 404, code: "not_found"},
		{name: "create", call: as("POST", list, static, "If-None-Match: *"), status: 201, has: []string{`"ok": true`}, header: []string{revalid}},
		{name: "create again", call: as("POST", list, static, "If-None-Match: *"), status: 409, code: "conflict"},
		{name: "no kind", call: as("POST", list, `{"name":"x","source":{}}`), status: 400, code: "invalid_argument", field: "kind"},
		{name: "static without source", call: as("POST", list, `{"name":"x","kind":"static","source":{}}`), status: 400, code: "invalid_argument", field: "source.type"},
		{name: "static with config", call: as("POST", list, `{"name":"x","kind":"static","source":{"type":"inline"},"config":{}}`), status: 400, code: "invalid_argument", field: "config"},
		{name: "remote without address", call: as("POST", list, `{"name":"x","kind":"static","source":{"type":"remote"}}`), status: 400, code: "invalid_argument", field: "source.remote.url"},
		{name: "list", call: as("GET", list, ""), status: 200, has: []string{`"kind": "file"`, `"type": "inline"`, `"target": "static"`, `"name": "hello.txt"`}, hasNot: []string{"world"}},

		{name: "render", call: as("GET", one, ""), status: 200, has: []string{"hello <world>\n"}, header: []string{"Content-Type: application/octet-stream", "X-Sandrone-Cache: miss", "X-Content-Type-Options: nosniff", "Content-Security-Policy: sandbox; default-src 'none'", noStore}},
		{name: "render by HEAD", call: as("HEAD", one, ""), status: 200, header: []string{"Content-Type: application/octet-stream", "Content-Length: 14"}},
		{name: "render afresh", call: as("GET", one+"?refresh=T", ""), status: 200, header: []string{"X-Sandrone-Cache: bypass"}},
		{name: "render to keep", call: as("GET", one+"?download=1&arg.x=1", ""), status: 200, header: []string{"Content-Disposition: attachment; filename=hello.txt"}},
		{name: "render in an envelope", call: as("GET", one+"?response=JSON&mode=%20Render", ""), status: 200, has: []string{`"body": "hello \u003cworld\u003e\n"`, `"response": {}`, `"warnings": []`, `"cached": false`}, hasNot: []string{`"report"`, "X-Sandrone-Cache"}},
		{name: "render with its report", call: as("GET", one+"?response=json&report=1", ""), status: 200, has: []string{`"report": {`, `"kind": "file"`}},
		{name: "source", call: as("GET", one+"?mode=source", ""), status: 200, has: []string{"hello <world>\n"}, header: []string{"Content-Type: text/plain; charset=utf-8", "X-Content-Type-Options: nosniff"}},
		{name: "source in an envelope", call: as("GET", one+"?mode=source&response=json", ""), status: 200, has: []string{`"content_type": "text/plain; charset=utf-8"`}, hasNot: []string{"warnings"}},
		{name: "definition", call: as("GET", one+"?mode=SPEC", ""), status: 200, has: []string{`"kind": "static"`}, header: []string{revalid, "Content-Type: application/json"}},
		{name: "unknown mode", call: as("GET", one+"?mode=x", ""), status: 400, code: "invalid_argument", field: "mode"},
		{name: "refresh that is no boolean", call: as("GET", one+"?refresh=yes", ""), status: 400, code: "invalid_argument", field: "refresh"},
		{name: "encoded separator", call: as("GET", list+"/a%2Fb", ""), status: 400, code: "invalid_argument", field: "name"},

		{name: "typed", call: as("POST", list, `{"name":"m.yaml","kind":"mihomo","source":{}}`), status: 201},
		{name: "verify what no client checks", call: as("POST", one+"/verify", ""), status: 400, code: "invalid_argument", field: "kind"},
		{name: "verify with an unknown member", call: as("POST", one+"/verify", `{"kind":"mihomo"}`), status: 400, code: "invalid_argument", field: "kind"},
		{name: "verify nothing", call: as("POST", list+"/missing/verify", ""), status: 404, code: "not_found"},
		{name: "typed", call: as("GET", list+"/m.yaml", ""), status: 200, has: []string{"mixed-port: 7890\n", "- MATCH,Proxy\n"}, header: []string{"Content-Type: application/yaml"}},
		{name: "base of a typed", call: as("GET", list+"/m.yaml?mode=source", ""), status: 200, has: []string{"rules: []\n"}, header: []string{"Content-Type: application/yaml"}},
		{name: "unknown version", call: as("POST", list, `{"name":"m.yaml","kind":"mihomo@1.2","source":{}}`), status: 400, code: "invalid_argument", field: "kind", has: []string{"1.18, 1.19"}},
		{name: "unknown setting", call: as("POST", list, `{"name":"m.yaml","kind":"mihomo","source":{},"config":{"settings":{"dns":{}}}}`), status: 400, code: "invalid_argument", field: "config.settings.dns"},
		{name: "null setting", call: as("POST", list, `{"name":"m.yaml","kind":"mihomo","source":{},"config":{"settings":{"rules":null}}}`), status: 400, code: "invalid_argument", field: "config.settings.rules", has: []string{"must not be null"}},
		{name: "draft of nothing", call: as("POST", "/v1/preview/file", `{}`), status: 400, code: "invalid_argument", field: "file"},
		{name: "draft", call: as("POST", "/v1/preview/file", `{"file":{"kind":"sing-box@1.12","source":{}}}`), status: 200, has: []string{`"content_type": "application/json"`, `"steps": []`, `"cached": false`, `"kind": "file"`, `"name": "sing-box-default"`}},
		{name: "draft of its source", call: as("POST", "/v1/preview/file", `{"mode":"source","file":{"kind":"shadowrocket","source":{}}}`), status: 200, has: []string{`"body": "[General]\n"`}},
		{name: "draft that fails", call: as("POST", "/v1/preview/file", `{"file":{"kind":"mihomo","source":{},"config":{"settings":{"rules":[1]}}}}`), status: 400, code: "invalid_argument", field: "file.config.settings.rules[0]"},
		{name: "draft over nothing", call: as("POST", "/v1/preview/file", `{"file":{"kind":"mihomo","source":{},"config":{"subscriptions":["nobody"]}}}`), status: 404, code: "not_found", has: []string{`"resource_name": "nobody"`}},
		{name: "draft with a bad step", call: as("POST", "/v1/preview/file", `{"file":{"kind":"mihomo","source":{},"processors":[{"type":"teleport"}]}}`), status: 422, code: "processor_unknown", field: "file.processors[0].type", has: []string{`"steps": [`, `"bytes_in"`}},
		{name: "draft without token", call: call{method: "POST", path: "/v1/preview/file"}, status: 401, code: "unauthorized"},
		{name: "verify without token", call: call{method: "POST", path: one + "/verify"}, status: 401, code: "unauthorized"},
	})
	tag := tagOf(t, address, as("GET", one+"?mode=spec", ""))
	runRows(t, address, []row{
		{name: "reader has it", call: as("GET", one+"?mode=spec", "", "If-None-Match: "+tag), status: 304},
		{name: "non-ASCII name", call: as("POST", list, `{"name":"香港 1.txt","kind":"static","source":{"type":"inline","content":"x"}}`), status: 201},
		{name: "non-ASCII name to keep", call: as("GET", list+"/%E9%A6%99%E6%B8%AF%201.txt?download=1", ""), status: 200,
			header: []string{`Content-Disposition: attachment; filename="__ 1.txt"; filename*=UTF-8''%E9%A6%99%E6%B8%AF%201.txt`}},
		{name: "delete upon another state", call: as("DELETE", one, "", `If-Match: "x"`), status: 412, code: "precondition_failed"},
		{name: "delete", call: as("DELETE", one, "", "If-Match: "+tag), status: 200, has: []string{`"ok": true`}},
		{name: "delete again", call: as("DELETE", one, ""), status: 404, code: "not_found"},
	})
}

func TestShareRoutes(t *testing.T) {
	address := setup{token: token}.start(t)
	const list = "/v1/shares"
	always := []string{"Cache-Control: private, no-cache", "Referrer-Policy: no-referrer", "X-Content-Type-Options: nosniff", "Content-Security-Policy: sandbox; default-src 'none'"}
	share := `{"id":"secret-id","name":"phone","target_kind":"Subscription","target_name":"air","access_count":7,"last_user_agent":"x","public_filename":"y","format_filenames":{"a":"b"}}`
	runRows(t, address, []row{
		{name: "air", call: as("POST", "/v1/subscriptions", local), status: 201},
		{name: "empty list", call: as("GET", list, ""), status: 200, has: []string{`"shares": []`}},
		{name: "missing", call: as("GET", list+"/secret-id", ""), status: 404, code: "not_found"},
		{name: "accesses of a missing one", call: as("GET", list+"/secret-id/accesses", ""), status: 404, code: "not_found"},
		{name: "of nothing", call: as("POST", list, `{"target_kind":"file","target_name":"none"}`), status: 404, code: "not_found", field: "target_name"},
		{name: "in an unknown format", call: as("POST", list, `{"target_kind":"subscription","target_name":"air","target_format":"nothing"}`), status: 400, code: "invalid_argument", field: "target_format"},
		{name: "of an unknown kind", call: as("POST", list, `{"target_kind":"x","target_name":"air"}`), status: 400, code: "invalid_argument", field: "target_kind"},
		{name: "for nobody", call: as("POST", list, `{"target_kind":"subscription","target_name":"air","age_recipient":"hunter2"}`), status: 400, code: "invalid_argument", field: "age_recipient"},
		{name: "never valid", call: as("POST", list, `{"target_kind":"subscription","target_name":"air","valid_from":"2030-01-01T00:00:00Z","valid_until":"2029-01-01T00:00:00Z"}`), status: 400, code: "invalid_argument", field: "valid_from"},
		{name: "create", call: as("POST", list, share, "If-None-Match: *"), status: 201, has: []string{`"id": "secret-id"`, `"target_format": "base64"`, `"public_filename": "phone.txt"`, `"json-nodes": "phone.json"`}, header: []string{revalid}},
		{name: "create again", call: as("POST", list, share, "If-None-Match: *"), status: 409, code: "conflict"},
		{name: "without id", call: as("POST", list, `{"target_kind":"subscription","target_name":"air","name":"other"}`), status: 201, has: []string{`"id": "sh_`}},

		{name: "read", call: call{method: "GET", path: "/s/secret-id"}, status: 200, header: append(always, "Content-Type: text/plain; charset=utf-8", "Content-Disposition: inline; filename=phone.txt", "Profile-Title: phone")},
		{name: "read by HEAD", call: call{method: "HEAD", path: "/s/secret-id"}, status: 200, header: always},
		{name: "read by its name", call: call{method: "GET", path: "/s/secret-id/phone.txt?download=1"}, status: 200, header: append(always, "Content-Disposition: attachment; filename=phone.txt")},
		{name: "read in another format", call: call{method: "GET", path: "/s/secret-id?format=JSON-nodes"}, status: 200, has: []string{"EDGE one"}, header: append(always, "Content-Disposition: inline; filename=phone.json")},
		{name: "read with a token that is none", call: call{method: "GET", path: "/s/secret-id", header: bearer("wrong-token")}, status: 200},
		{name: "read by another name", call: call{method: "GET", path: "/s/secret-id/other.txt"}, status: 400, code: "invalid_argument", header: always, hasNot: []string{"phone"}},
		{name: "read in an unknown format", call: call{method: "GET", path: "/s/secret-id?format=nothing"}, status: 400, code: "invalid_argument", hasNot: []string{"air"}},
		{name: "read by a name with a separator", call: call{method: "GET", path: "/s/secret-id/a%2Fb"}, status: 400, code: "invalid_argument"},
		{name: "read of an unknown id", call: call{method: "GET", path: "/s/absent"}, status: 404, code: "not_found", header: always, hasNot: []string{"absent"}},
		{name: "no id", call: call{method: "GET", path: "/s/"}, status: 404, code: "route_not_found", header: always},
		{name: "no id and no slash", call: call{method: "GET", path: "/s"}, status: 404, code: "route_not_found", header: always},
		{name: "too many segments", call: call{method: "GET", path: "/s/secret-id/phone.txt/x"}, status: 404, code: "route_not_found"},
		{name: "empty name", call: call{method: "GET", path: "/s/secret-id/"}, status: 404, code: "route_not_found"},
		{name: "read takes no POST", call: call{method: "POST", path: "/s/secret-id"}, status: 405, code: "method_not_allowed", header: append(always, "Allow: GET, HEAD")},

		{name: "accesses", call: as("GET", list+"/secret-id/accesses", ""), status: 200, has: []string{`"status": 200`, `"status": 400`, `"client_address": "127.0.0.1"`}},
		{name: "one", call: as("GET", list+"/secret-id", ""), status: 200, has: []string{`"access_count": `, `"last_access_at"`}, hasNot: []string{"public_filename"}, header: []string{revalid}},
		{name: "list", call: as("GET", list, ""), status: 200, has: []string{`"public_filename": "phone.txt"`, `"access_count": `}},
		{name: "access record of nobody's making", call: as("GET", list+"/secret-id", ""), status: 200, hasNot: []string{`"access_count": 7,`, `"last_user_agent": "x"`}},
	})
	tag := tagOf(t, address, call{method: "GET", path: "/s/secret-id"})
	definition := tagOf(t, address, as("GET", list+"/secret-id", ""))
	runRows(t, address, []row{
		{name: "reader has it", call: call{method: "GET", path: "/s/secret-id", header: []string{"If-None-Match: " + tag}}, status: 304, header: append(always, "ETag: "+tag)},
		{name: "owner has it", call: as("GET", list+"/secret-id", "", "If-None-Match: "+definition), status: 304},
		{name: "revoke upon another state", call: as("DELETE", list+"/secret-id", "", `If-Match: "x"`), status: 412, code: "precondition_failed"},
		{name: "revoke", call: as("DELETE", list+"/secret-id", ""), status: 200, has: []string{`"ok": true`}},
		{name: "revoked", call: call{method: "GET", path: "/s/secret-id"}, status: 404, code: "not_found"},
		{name: "revoke again", call: as("DELETE", list+"/secret-id", ""), status: 404, code: "not_found"},
	})
	unknown := call{method: "GET", path: "/s/none"}.do(t, address)
	if revoked := (call{method: "GET", path: "/s/secret-id"}).do(t, address); revoked.body != unknown.body {
		t.Errorf("a revoked share answers %q, an unknown one %q", revoked.body, unknown.body)
	}
}

func TestSharesHaveARateLimitOfTheirOwn(t *testing.T) {
	address := setup{token: token, settings: func(s *sandrone.Settings) { s.Shares.RequestsPerMinute = 2 }}.start(t)
	for i, want := range []int{404, 404, 429} {
		a := call{method: "GET", path: "/s/none"}.do(t, address)
		if a.status != want {
			t.Errorf("request %d: got status %d, want %d", i, a.status, want)
		}
	}
	a := call{method: "GET", path: "/s/none"}.do(t, address)
	if e := a.errorObject(t); e.Code != sandrone.RateLimited || a.header.Get("Retry-After") == "" {
		t.Errorf("got %s and Retry-After %q", e.Code, a.header.Get("Retry-After"))
	}
	if a := (call{method: "GET", path: "/convert?to_format=json-nodes&content=x"}).do(t, address); a.status == 429 {
		t.Error("the limit of shares holds for conversions")
	}
}

func TestSettingsRoutes(t *testing.T) {
	address := setup{token: token}.start(t)
	const path = "/v1/settings"
	whole, err := json.Marshal(sandrone.DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	tag := tagOf(t, address, as("GET", path, ""))
	runRows(t, address, []row{
		{name: "read", call: as("GET", path, ""), status: 200, has: []string{`"settings": {`, `"effective": {`, `"overrides": {`, `"restart_required": [`, `"theme_mode": "system"`}, hasNot: []string{token}, header: []string{revalid, "ETag: " + tag}},
		{name: "reader has it", call: as("GET", path, "", "If-None-Match: "+tag), status: 304},
		{name: "patch upon another state", call: as("PATCH", path, `{}`, `If-Match: "x"`), status: 412, code: "precondition_failed"},
		{name: "patch", call: as("PATCH", path, `{"appearance":{"locale":"zh-CN"}}`, "If-Match: "+tag), status: 200, has: []string{`"locale": "zh-CN"`}, header: []string{revalid}},
		{name: "patch back", call: as("PATCH", path, `{"appearance":{"locale":null}}`), status: 200, has: []string{`"locale": "auto"`}},
		{name: "patch to what is none", call: as("PATCH", path, `{"appearance":{"locale":"hunter2"}}`), status: 400, code: "invalid_argument", field: "appearance.locale"},
		{name: "patch of what is none", call: as("PATCH", path, `{"appearance":{"colour":"x"}}`), status: 400, code: "invalid_argument", field: "appearance.colour"},
		{name: "put", call: as("PUT", path, string(whole)), status: 200, has: []string{`"restart_required": [`}, header: []string{revalid}},
		{name: "put without a group", call: as("PUT", path, `{"schema_version":1}`), status: 400, code: "invalid_argument", field: "http"},
		{name: "blank", call: as("PUT", path, " \n"), status: 400, code: "invalid_argument", has: []string{"request body is required"}},
		{name: "needs a restart", call: as("PATCH", path, `{"log":{"level":"error"}}`), status: 200, has: []string{`"log.level"`}},
		{name: "status of the schedule", call: as("GET", path+"/scheduled-refresh-status", ""), status: 200, has: []string{`"enabled": false`, `"running": false`, `"skipped_count": 0`}},

		{name: "metrics are the owner's", call: call{method: "GET", path: "/metrics"}, status: 401, code: "unauthorized"},
		{name: "open metrics", call: as("PATCH", path, `{"metrics":{"public":true}}`), status: 200},
		{name: "metrics are everybody's at once", call: call{method: "GET", path: "/metrics"}, status: 200, has: []string{"sandrone_build_info{"}},
		{name: "switch conversion off", call: as("PATCH", path, `{"public_convert":{"enabled":false}}`), status: 200},
		{name: "conversion is off at once", call: call{method: "GET", path: "/convert?to_format=json-nodes&content=x"}, status: 404, code: "route_not_found"},
		{name: "origin of another", call: as("GET", path, "", "Origin: https://proxy.example.net"), status: 403, code: "forbidden"},
		{name: "state the address", call: as("PATCH", path, `{"http":{"public_url":"https://proxy.example.net/x"}}`), status: 200},
		{name: "origin of its own at once", call: as("GET", path, "", "Origin: https://proxy.example.net"), status: 200},
	})
}

func TestRevisionRoutes(t *testing.T) {
	address := setup{token: token}.start(t)
	runRows(t, address, []row{
		{name: "first", call: as("POST", "/v1/subscriptions", local), status: 201},
		{name: "second", call: as("POST", "/v1/subscriptions", `{"name":"air","type":"local","content":"second"}`), status: 201},
		{name: "third", call: as("DELETE", "/v1/subscriptions/air", ""), status: 200},
	})
	var page struct{ Items []sandrone.Revision }
	a := as("GET", "/v1/revisions?kind=subscription&name=air", "").do(t, address)
	if err := json.Unmarshal([]byte(a.body), &page); err != nil || len(page.Items) != 2 {
		t.Fatalf("got %v: %s", err, a.body)
	}
	newest, oldest := "/v1/revisions/"+page.Items[0].ID, "/v1/revisions/"+page.Items[1].ID
	runRows(t, address, []row{
		{name: "list", call: as("GET", "/v1/revisions?kind=subscription", ""), status: 200, has: []string{`"op": "overwrite"`, `"op": "delete"`, `"exists": false`}, hasNot: []string{"hunter2", "definition"}, header: []string{noStore}},
		{name: "page", call: as("GET", "/v1/revisions?kind=subscription&limit=1", ""), status: 200, has: []string{`"next_cursor": "`}},
		{name: "deleted", call: as("GET", "/v1/revisions?kind=subscription&deleted=1", ""), status: 200, has: []string{`"op": "delete"`}, hasNot: []string{`"overwrite"`}},
		{name: "none", call: as("GET", "/v1/revisions?kind=file", ""), status: 200, has: []string{`"items": []`}},
		{name: "no kind", call: as("GET", "/v1/revisions", ""), status: 400, code: "invalid_argument", field: "kind"},
		{name: "bad limit", call: as("GET", "/v1/revisions?kind=file&limit=0", ""), status: 400, code: "invalid_argument", field: "limit"},
		{name: "limit that is no number", call: as("GET", "/v1/revisions?kind=file&limit=x", ""), status: 400, code: "invalid_argument", field: "limit"},
		{name: "one", call: as("GET", oldest, ""), status: 200, has: []string{`"revision": {`, `"definition": {`}},
		{name: "unknown", call: as("GET", "/v1/revisions/none", ""), status: 404, code: "not_found"},
		{name: "restore unknown", call: as("POST", "/v1/revisions/none/restore", ""), status: 404, code: "not_found"},
		{name: "restore upon what is gone", call: as("POST", oldest+"/restore", "", "If-Match: *"), status: 412, code: "precondition_failed"},
		{name: "restore", call: as("POST", oldest+"/restore", "", "If-None-Match: *"), status: 200, has: []string{`"ok": true`, `"kind": "subscription"`, `"name": "air"`}, header: []string{revalid}},
		{name: "restore again", call: as("POST", oldest+"/restore", "", "If-None-Match: *"), status: 409, code: "conflict"},
		{name: "restored", call: as("GET", "/v1/subscriptions/air", ""), status: 200, has: []string{"hunter2"}},
		{name: "purge one", call: as("DELETE", newest, ""), status: 204},
		{name: "purge it again", call: as("DELETE", newest, ""), status: 404, code: "not_found"},
		{name: "purge without a name", call: as("DELETE", "/v1/revisions?kind=subscription", ""), status: 400, code: "invalid_argument", field: "name"},
		{name: "purge without a kind", call: as("DELETE", "/v1/revisions?name=air", ""), status: 400, code: "invalid_argument", field: "kind"},
		{name: "purge all", call: as("DELETE", "/v1/revisions?kind=subscription&name=air", ""), status: 204},
		{name: "purged", call: as("GET", "/v1/revisions?kind=subscription", ""), status: 200, has: []string{`"items": []`}},
		{name: "purge nothing", call: as("DELETE", "/v1/revisions?kind=subscription&name=air", ""), status: 204},
	})
}

func TestTokenRoutes(t *testing.T) {
	address := setup{token: token}.start(t)
	reader := makeToken(t, address, "read")
	writer := makeToken(t, address, "write")
	a := as("GET", "/v1/tokens", "").do(t, address)
	var list struct{ Items []sandrone.Token }
	if err := json.Unmarshal([]byte(a.body), &list); err != nil || len(list.Items) != 2 {
		t.Fatalf("got %v: %s", err, a.body)
	}
	made := slices.IndexFunc(list.Items, func(t sandrone.Token) bool { return t.Name == "read" })
	if made < 0 {
		t.Fatalf("the token is not listed: %s", a.body)
	}
	with := func(secret, method, path, body string) call {
		return call{method: method, path: path, header: bearer(secret), body: body}
	}
	runRows(t, address, []row{
		{name: "list", call: as("GET", "/v1/tokens", ""), status: 200, has: []string{`"scope": "read"`, `"scope": "write"`}, hasNot: []string{reader, writer, "sdt_"}},
		{name: "name taken", call: as("POST", "/v1/tokens", `{"name":"read","scope":"read"}`), status: 409, code: "conflict", field: "name"},
		{name: "no name", call: as("POST", "/v1/tokens", `{"scope":"read"}`), status: 400, code: "invalid_argument", field: "name"},
		{name: "unknown scope", call: as("POST", "/v1/tokens", `{"name":"x","scope":"owner"}`), status: 400, code: "invalid_argument", field: "scope"},
		{name: "past", call: as("POST", "/v1/tokens", `{"name":"x","scope":"read","expires_at":"2020-01-01T00:00:00Z"}`), status: 400, code: "invalid_argument", field: "expires_at"},
		{name: "reader reads", call: with(reader, "GET", "/v1/inspect", ""), status: 200, has: []string{`"scope": "read"`}},
		{name: "reader converts", call: with(reader, "POST", "/v1/convert", convertBody("")), status: 200},
		{name: "reader writes", call: with(reader, "POST", "/v1/subscriptions", local), status: 403, code: "forbidden", has: []string{"scope write"}, hasNot: []string{reader}},
		{name: "writer writes", call: with(writer, "POST", "/v1/subscriptions", local), status: 201},
		{name: "writer owns nothing", call: with(writer, "GET", "/v1/backup", ""), status: 403, code: "forbidden", has: []string{"scope owner"}},
		{name: "writer from elsewhere", call: call{method: "GET", path: "/v1/inspect", header: append(bearer(writer), "Origin: https://evil.example.net")}, status: 403, code: "forbidden"},
		{name: "revoke unknown", call: as("DELETE", "/v1/tokens/none", ""), status: 404, code: "not_found"},
		{name: "revoke", call: as("DELETE", "/v1/tokens/"+list.Items[made].ID, ""), status: 200, has: []string{`"ok": true`}},
		{name: "revoked at once", call: with(reader, "GET", "/v1/inspect", ""), status: 401, code: "unauthorized", hasNot: []string{reader}},
	})
}

func TestBackupRoutes(t *testing.T) {
	at := time.Date(2026, 8, 1, 10, 0, 0, 0, time.UTC)
	address := setup{token: token, now: func() time.Time { return at }}.start(t)
	empty := as("GET", "/v1/backup", "").do(t, address)
	if empty.status != 200 || empty.header.Get("Content-Type") != "application/zip" ||
		empty.header.Get("Content-Disposition") != `attachment; filename="sandrone-backup-20260801T100000Z.zip"` {
		t.Errorf("got status %d and %v", empty.status, empty.header)
	}
	if a := as("POST", "/v1/subscriptions", local).do(t, address); a.status != 201 {
		t.Fatal(a.body)
	}
	full := as("GET", "/v1/backup", "").do(t, address)
	if _, err := zip.NewReader(bytes.NewReader([]byte(full.body)), int64(len(full.body))); err != nil {
		t.Errorf("the backup is no archive: %v", err)
	}
	runRows(t, address, []row{
		{name: "restore nothing", call: as("POST", "/v1/backup/restore", ""), status: 400, code: "backup_invalid", header: []string{noStore}},
		{name: "restore what is no archive", call: as("POST", "/v1/backup/restore", "hunter2"), status: 400, code: "backup_invalid", header: []string{noStore}},
		{name: "restore the empty one", call: as("POST", "/v1/backup/restore", empty.body), status: 200, has: []string{`"ok": true`}, header: []string{noStore}},
		{name: "gone", call: as("GET", "/v1/subscriptions/air", ""), status: 404, code: "not_found"},
		{name: "restore the full one", call: as("POST", "/v1/backup/restore", full.body), status: 200},
		{name: "there again", call: as("GET", "/v1/subscriptions/air", ""), status: 200},
		{name: "clear caches", call: as("DELETE", "/v1/cache", ""), status: 204, header: []string{noStore}},
		{name: "caches take no GET", call: as("GET", "/v1/cache", ""), status: 405, code: "method_not_allowed", header: []string{"Allow: DELETE"}},
	})
}

func TestDiagnoseAndPatternRoutes(t *testing.T) {
	address := setup{token: token}.start(t)
	texts := func(n, size int) string {
		list, _ := json.Marshal(strings.Split(strings.Repeat(strings.Repeat("x", size)+",", n)[:n*(size+1)-1], ","))
		return `{"pattern":"x","texts":` + string(list) + `}`
	}
	const test = "/v1/regex/test"
	runRows(t, address, []row{
		{name: "diagnose", call: as("POST", "/v1/diagnose", `{"content":"`+link+`","format":"uri-list","processors":[{"type":"sort"}]}`), status: 200, has: []string{`"stages": [`, `"kind": "diagnose"`}},
		{name: "diagnose what fails", call: as("POST", "/v1/diagnose", `{"content":"nothing","kind":"nodes","format":"uri-list"}`), status: 200, has: []string{`"status": "failed"`, `"error": {`}},
		{name: "diagnose nothing", call: as("POST", "/v1/diagnose", `{}`), status: 400, code: "invalid_argument"},
		{name: "diagnose two things", call: as("POST", "/v1/diagnose", `{"content":"x","subscription":"air"}`), status: 400, code: "invalid_argument"},
		{name: "diagnose what is not stored", call: as("POST", "/v1/diagnose", `{"subscription":"air"}`), status: 404, code: "not_found"},
		{name: "diagnose a draft", call: as("POST", "/v1/diagnose", `{"subscription":{"name":"x","type":"local","content":"`+link+`"}}`), status: 200, has: []string{`"subscription:x"`}},
		{name: "diagnose a draft with a member too many", call: as("POST", "/v1/diagnose", `{"subscription":{"name":"x","type":"local","x":1}}`), status: 400, code: "invalid_argument", field: "subscription.x"},

		{name: "pattern", call: as("POST", test, `{"pattern":"^(?!US)(..)","replacement":"[$1]","texts":["HK 1","US 1"]}`), status: 200,
			has: []string{`"valid": true`, `"engine": "backtracking"`, `"matched": 1`, `"replaced": "[HK] 1"`}},
		{name: "pattern of RE2", call: as("POST", test, `{"pattern":"k","texts":["HK"]}`), status: 200, has: []string{`"engine": "re2"`, `"matched": 0`, `"items": []`}},
		{name: "pattern that is none", call: as("POST", test, `{"pattern":"(hunter2","texts":["x"]}`), status: 200, has: []string{`"valid": false`, `"error": "`, `"items": []`}, hasNot: []string{"hunter2"}},
		{name: "no pattern", call: as("POST", test, `{"texts":[]}`), status: 400, code: "invalid_argument", field: "pattern"},
		{name: "an empty pattern", call: as("POST", test, `{"pattern":"","texts":["a"]}`), status: 200, has: []string{`"valid": true`}},
		{name: "no texts", call: as("POST", test, `{"pattern":"a"}`), status: 400, code: "invalid_argument", field: "texts"},
		{name: "pattern too long", call: as("POST", test, `{"pattern":"`+strings.Repeat("x", 4097)+`","texts":[]}`), status: 400, code: "invalid_argument", field: "pattern"},
		{name: "too many texts", call: as("POST", test, texts(2001, 1)), status: 400, code: "invalid_argument", field: "texts"},
		{name: "text too long", call: as("POST", test, texts(1, 4097)), status: 400, code: "invalid_argument", field: "texts[0]"},
	})
}

func TestSchemaRoutes(t *testing.T) {
	const root = "/v1/schemas"
	h := setup{token: token}.start(t)
	const sets = "/v1/rule-set-catalog?target="
	tag := tagOf(t, h, as("GET", sets+"mihomo", ""))
	const presets = "/v1/presets?kind="
	presetsTag := tagOf(t, h, as("GET", presets+"mihomo", ""))
	runRows(t, h, []row{
		{name: "list", call: as("GET", root, ""), status: 200, has: []string{`"href": "/v1/schemas/script-api/v1"`}, header: []string{noStore}},
		{name: "processors", call: as("GET", root+"/processors", ""), status: 200, has: []string{`"href": "/v1/schemas/processors/nodes/sort"`, `"runs_script": true`}},
		{name: "processor", call: as("GET", root+"/processors/nodes/sort", ""), status: 200, has: []string{`"params_schema": {`, `"examples": [`, `"error_codes": [`, `"effects": {}`}},
		{name: "processor of no stage", call: as("GET", root+"/processors/x/sort", ""), status: 400, code: "invalid_argument", has: []string{"processor stage must be nodes or file"}},
		{name: "unknown processor", call: as("GET", root+"/processors/nodes/x", ""), status: 400, code: "invalid_argument", has: []string{"schema not found"}},
		{name: "file kinds", call: as("GET", root+"/file-kinds", ""), status: 200, has: []string{`"kind": "static"`, `"href": "/v1/schemas/file-kinds/static"`}},
		{name: "file kind", call: as("GET", root+"/file-kinds/static", ""), status: 200, has: []string{`"default_extension": ".txt"`, `"required": true`}},
		{name: "unknown file kind", call: as("GET", root+"/file-kinds/x", ""), status: 400, code: "invalid_argument"},
		{name: "script API", call: as("GET", root+"/script-api/v1", ""), status: 200, has: []string{`"version": 1`, `"envelopes": {`, `"sandbox": {`}},
		{name: "another script API", call: as("GET", root+"/script-api/v2", ""), status: 404, code: "route_not_found"},
		{name: "beyond the script API", call: as("GET", root+"/script-api/v1/x", ""), status: 404, code: "route_not_found"},
		{name: "subscription", call: as("GET", root+"/subscription", ""), status: 200, has: []string{`"additionalProperties": false`, `"readOnly": true`}},
		{name: "file", call: as("GET", root+"/file-spec", ""), status: 200, has: []string{`"additionalProperties": false`, `"readOnly": true`}},
		{name: "presets", call: as("GET", presets+"mihomo", ""), status: 200, has: []string{`"kind": "mihomo"`, `"id": "tun"`, `"id": "minimal"`, `"id": "hk"`, `"content": "mixed-port: 7890`, `"name": "Proxy"`}, header: []string{revalid, "ETag: " + presetsTag}},
		{name: "presets, held", call: as("GET", presets+"mihomo", "", "If-None-Match: "+presetsTag), status: 304},
		{name: "presets in Chinese", call: as("GET", presets+"mihomo&locale=zh-CN", "", "If-None-Match: "+presetsTag), status: 200, has: []string{"选择节点"}},
		{name: "presets of a version", call: as("GET", presets+"sing-box@1.11", ""), status: 200, has: []string{`"kind": "sing-box@1.11"`}, hasNot: []string{"tailscale-native"}},
		{name: "presets of no version", call: as("GET", presets+"sing-box@1.10", ""), status: 400, code: "invalid_argument", field: "kind"},
		{name: "presets of static files", call: as("GET", presets+"static", ""), status: 400, code: "invalid_argument", field: "kind"},
		{name: "presets of no kind", call: as("GET", "/v1/presets", ""), status: 400, code: "invalid_argument", field: "kind"},
		{name: "presets in no language", call: as("GET", presets+"mihomo&locale=fr", ""), status: 400, code: "invalid_argument", field: "locale"},
		{name: "add a preset", call: as("POST", "/v1/presets/add", `{"kind":"mihomo","preset":"linux-tun-acceleration"}`), status: 200, has: []string{`"tun"`, `"removed": []`, `auto-redirect`}, header: []string{noStore}},
		{name: "add no preset", call: as("POST", "/v1/presets/add", `{"kind":"mihomo","preset":"x"}`), status: 400, code: "invalid_argument", field: "preset"},
		{name: "add to no list", call: as("POST", "/v1/presets/add", `{"kind":"mihomo","preset":"tun","processors":{}}`), status: 400, code: "invalid_argument", field: "processors"},
		{name: "add, too large", call: as("POST", "/v1/presets/add", strings.Repeat(" ", 16<<20)+"{}"), status: 413, code: "request_too_large"},
		{name: "add without token", call: call{method: "POST", path: "/v1/presets/add", body: "{}"}, status: 401, code: "unauthorized"},
		{name: "group by region", call: as("POST", "/v1/presets/regions", `{"kind":"mihomo","settings":{"groups":[{"name":"Proxy","type":"select","proxies":["$nodes"]}]},"regions":["hk"]}`), status: 200, has: []string{`"include-all-proxies": true`, `"problems": []`, `"Hong Kong",`}, header: []string{noStore}},
		{name: "group without an anchor", call: as("POST", "/v1/presets/regions", `{"kind":"mihomo","settings":{},"regions":["hk"]}`), status: 200, has: []string{`"code": "anchor_missing"`}},
		{name: "group by no region", call: as("POST", "/v1/presets/regions", `{"kind":"mihomo","settings":{},"regions":["xx"]}`), status: 400, code: "invalid_argument", field: "regions"},
		{name: "group with an unknown member", call: as("POST", "/v1/presets/regions", `{"kind":"mihomo","setting":{}}`), status: 400, code: "invalid_argument", field: "setting"},
		{name: "group without token", call: call{method: "POST", path: "/v1/presets/regions", body: "{}"}, status: 401, code: "unauthorized"},
		{name: "presets without token", call: call{method: "GET", path: "/v1/presets?kind=mihomo"}, status: 401, code: "unauthorized"},
		{name: "rule sets", call: as("GET", sets+"mihomo", ""), status: 200, has: []string{`"name": "cn-ip"`, `"rule_kind": "ip"`, ".mrs"}, hasNot: []string{"reference_type", "shadowrocket"}, header: []string{revalid, "ETag: " + tag}},
		{name: "rule sets, held", call: as("GET", sets+"mihomo", "", "If-None-Match: "+tag), status: 304},
		{name: "rule sets of another client", call: as("GET", sets+"%20shadowrocket%20", "", "If-None-Match: "+tag), status: 200, has: []string{`"reference_type": "DOMAIN-SET"`, `"rule_kind": "mixed"`}},
		{name: "rule sets of sing-box", call: as("GET", sets+"sing-box", ""), status: 200, has: []string{".srs"}},
		{name: "rule sets of no client", call: as("GET", sets+"Mihomo", ""), status: 400, code: "invalid_argument", field: "target"},
		{name: "rule sets without a client", call: as("GET", "/v1/rule-set-catalog", ""), status: 400, code: "invalid_argument", field: "target"},
		{name: "rule sets without token", call: call{method: "GET", path: sets + "mihomo"}, status: 401, code: "unauthorized"},
	})
}

// deadOrAlive probes nodes by what their names say.
type deadOrAlive struct{}

func (deadOrAlive) Probe(_ context.Context, nodes []sandrone.Node, o sandrone.ProbeOptions) (sandrone.ProbeAnswer, error) {
	if o.Method == "url_test" {
		return sandrone.ProbeAnswer{}, sandrone.Errorf(sandrone.ProbeCoreUnavailable, "no core is installed")
	}
	a := sandrone.ProbeAnswer{Report: sandrone.Report{Kind: "probe", Status: sandrone.StatusOK, Probe: &sandrone.ProbeReport{}}}
	for i, n := range nodes {
		result := sandrone.ProbeResult{NodeName: n.Name, Method: "tcp_connect", Alive: strings.HasSuffix(n.Name, "one"), CheckedAt: time.Unix(0, 0).UTC()}
		if result.Alive {
			result.DurationMS = 83
		} else {
			result.ErrorCode = sandrone.ProbeTimeout
		}
		a.Results = append(a.Results, result)
		if o.Progress != nil {
			o.Progress(i, &result)
		}
	}
	return a, nil
}

func TestProbeAnswersALineForEachNode(t *testing.T) {
	address := setup{token: token, prober: deadOrAlive{}}.start(t)
	const path = "/v1/subscriptions/air/probe"
	runRows(t, address, []row{
		{name: "missing", call: as("POST", path, ""), status: 404, code: "not_found"},
		{name: "air", call: as("POST", "/v1/subscriptions", local), status: 201},
		{name: "no core", call: as("POST", path, `{"method":"url_test"}`), status: 503, code: "probe_core_unavailable"},
		{name: "unknown member", call: as("POST", path, `{"methods":"x"}`), status: 400, code: "invalid_argument", field: "methods"},
	})
	a := as("POST", path, `{"method":"tcp_connect"}`).do(t, address)
	lines := strings.Split(strings.TrimSuffix(a.body, "\n"), "\n")
	if a.status != 200 || a.header.Get("Content-Type") != "application/x-ndjson" || len(lines) != 3 {
		t.Fatalf("got status %d, %v: %s", a.status, a.header, a.body)
	}
	for i, want := range []string{`"node":"EDGE one","identity":"sha256:`, `"alive":false,"error_code":"probe_timeout"`, `"done":2,"total":2,"summary":{"kind":"probe"`} {
		if !strings.Contains(lines[i], want) {
			t.Errorf("line %d: got %s, want %s", i, lines[i], want)
		}
	}
	if !strings.HasPrefix(lines[0], fmt.Sprintf(`{"done":%d,"total":%d,"index":%d,`, 1, 2, 0)) {
		t.Errorf("got %s", lines[0])
	}
}
