package mcp_test

import "testing"

func TestSmoke(t *testing.T) {
	d := setup{token: token}.start(t)
	d.air()
	d.hello("hi")
	for _, c := range [][2]string{
		{"sandrone_inspect", `{}`},
		{"sandrone_list_resources", `{}`},
		{"sandrone_convert", `{"to_format":"uri-list","from_format":"auto","content":"` + link + `"}`},
		{"sandrone_preview_subscription", `{"name":"air"}`},
		{"sandrone_render_subscription", `{"name":"air","format":"sing-box-outbounds@1.11"}`},
		{"sandrone_get_subscription_traffic", `{"name":"air"}`},
		{"sandrone_get_file", `{"file":"hello.txt"}`},
		{"sandrone_get_file", `{"file":"hello.txt","mode":"source"}`},
		{"sandrone_get_file", `{"file":"hello.txt","mode":"spec"}`},
		{"sandrone_put_subscription", `{"name":"air","type":"local","content":"x","dry_run":true}`},
		{"sandrone_put_file", `{"name":"air","kind":"static","source":{"type":"inline","content":"x"},"dry_run":true}`},
		{"sandrone_delete_file", `{"name":"hello.txt"}`},
		{"sandrone_delete_subscription", `{"name":"air"}`},
		{"sandrone_delete_subscription", `{"name":"air"}`},
	} {
		t.Logf("%s: %s", c[0], d.call(c[0], c[1]).Structured)
	}
	t.Log(len(d.send(request{method: "tools/list"}).body), len(d.resource("sandrone://schemas/script-api/v1")))
	for _, m := range []string{"server/discover", "prompts/list", "resources/list", "resources/templates/list", "ping", "logging/setLevel", "completion/complete", "resources/subscribe", "subscriptions/listen", "initialize", "nothing", "roots/list", "resources/unsubscribe"} {
		r := d.send(request{method: m})
		t.Logf("%s %s %.300s", m, r.code(), r.body)
	}
	t.Logf("%s", d.send(request{method: "prompts/get", params: map[string]any{"name": "explain_report", "arguments": map[string]string{"report_json": "{}"}}}).body)
}
