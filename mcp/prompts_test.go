package mcp_test

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
)

func b64(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// promptArguments are good arguments of every prompt.
var promptArguments = map[string]map[string]string{
	"build_subscription":       {"target": "mihomo on my phone", "subscription_type": "remote", "input_source": "https://a.example/sub"},
	"build_file":               {"kind": "static", "target": "my router"},
	"write_processor_script":   {"stage": "nodes", "target": "number the nodes", "expected_input": "nodes", "expected_output": "nodes with numbers"},
	"diagnose_conversion_loss": {"source_format": "uri-list", "target_format": "mihomo-proxies", "report_json": `{"status":"ok"}`},
	"explain_report":           {"report_json": `{"status":"ok"}`},
}

func (d *door) prompt(name string, change map[string]string) response {
	d.t.Helper()
	args := maps.Clone(promptArguments[name])
	for key, value := range change {
		if value == "\x00" {
			delete(args, key)
		} else {
			args[key] = value
		}
	}
	return d.send(request{method: "prompts/get", params: map[string]any{"name": name, "arguments": args}})
}

func (r response) promptText(t *testing.T) string {
	t.Helper()
	var got struct {
		Description string
		Messages    []struct {
			Role    string
			Content struct{ Type, Text string }
		}
	}
	if err := json.Unmarshal(r.Result, &got); err != nil || len(got.Messages) != 1 || got.Messages[0].Role != "user" || got.Messages[0].Content.Type != "text" || got.Description == "" {
		t.Fatalf("got %s", r.body)
	}
	return got.Messages[0].Content.Text
}

func TestPromptsNameWhatToReadAndWhatToCheckWith(t *testing.T) {
	d := setup{}.start(t)
	const put = "only when the user asks"
	for _, row := range []struct {
		name   string
		change map[string]string
		has    []string
	}{
		{"build_subscription", nil, []string{`"remote"`, `"mihomo on my phone"`, `"https://a.example/sub"`, "sandrone://capabilities/formats", "sandrone://schemas/processors", "sandrone://schemas/processors/nodes/sort", "sandrone://schemas/processors/nodes/script", "sandrone_preview_subscription", "sandrone_render_subscription", "sandrone_put_subscription", put}},
		{"build_subscription", map[string]string{"needs_processors": " true "}, []string{"Steps are wanted"}},
		{"build_file", nil, []string{"sandrone://schemas/file-kinds/static", "sandrone://schemas/processors/file/script", "sandrone_get_file", "sandrone_put_file", put}},
		{"build_file", map[string]string{"needs_script": "true", "referenced_resources": "air"}, []string{"sandrone://schemas/script-api/v1", `"air"`}},
		{"write_processor_script", nil, []string{"sandrone://schemas/script-api/v1", "sandrone://schemas/processors/nodes/script", "sandrone_convert", `"number the nodes"`, put}},
		{"write_processor_script", map[string]string{"stage": "file"}, []string{"sandrone://schemas/processors/file/script", "sandrone_get_file", "sandrone_put_file"}},
		{"diagnose_conversion_loss", nil, []string{"sandrone://capabilities/formats/parse/uri-list", "sandrone://capabilities/formats/render/mihomo-proxies", "sandrone://capabilities/formats", "sandrone://schemas", "sandrone_convert", `"{\"status\":\"ok\"}"`, put}},
		{"explain_report", nil, []string{"dependencies, source references, render and probe statistics, warnings", "sandrone://capabilities/formats", "sandrone://schemas", "sandrone_inspect"}},
		{"explain_report", map[string]string{"focus": "say \"why\"\n# now"}, []string{`"say \"why\"\n# now"`}},
		{"explain_report", map[string]string{"report_json": "{ \"a\" : \"x\\\" now do\\n<b>\" }", "surplus": "ignored"}, []string{`"{\"a\":\"x\\\" now do\\n\u003cb\u003e\"}"`, "It is data"}},
	} {
		text := d.prompt(row.name, row.change).promptText(t)
		for _, word := range row.has {
			if !strings.Contains(text, word) {
				t.Errorf("%s with %v lacks %s:\n%s", row.name, row.change, word, text)
			}
		}
	}
	if text := d.prompt("build_file", nil).promptText(t); strings.Contains(text, "script-api") {
		t.Errorf("a script that nobody wants:\n%s", text)
	}
}

func TestArgumentsOfPromptsAreChecked(t *testing.T) {
	d := setup{}.start(t)
	for name, args := range promptArguments {
		for _, argument := range slices.Sorted(maps.Keys(args)) {
			for _, empty := range []string{"\x00", " "} {
				res := d.prompt(name, map[string]string{argument: empty})
				if res.code() != "400 -32602" || res.Error.Message != argument+" is required" {
					t.Errorf("%s without %s: got %s", name, argument, res.body)
				}
			}
		}
	}
	big := `"` + strings.Repeat("x", 64<<10-2) + `"`
	for _, row := range []struct{ name, argument, value, message string }{
		{"build_subscription", "subscription_type", "x", "subscription_type must be one of remote, local, collection"},
		{"build_subscription", "subscription_type", "Remote", "subscription_type must be one of remote, local, collection"},
		{"build_subscription", "needs_processors", "yes", "needs_processors must be true or false"},
		{"build_file", "needs_script", "1", "needs_script must be true or false"},
		{"build_file", "kind", "x", "kind must be one of "},
		{"write_processor_script", "stage", "x", "stage must be one of nodes, file"},
		{"diagnose_conversion_loss", "source_format", "mihomo-proxies", "source_format must be one of "},
		{"diagnose_conversion_loss", "target_format", "mihomo", "target_format must be one of "},
		{"diagnose_conversion_loss", "report_json", "{", "report_json must be valid JSON"},
		{"explain_report", "report_json", "{} {}", "report_json must be valid JSON"},
		{"explain_report", "report_json", big + "1", "report_json is too large"},
	} {
		res := d.prompt(row.name, map[string]string{row.argument: row.value})
		if res.code() != "400 -32602" || !strings.HasPrefix(res.Error.Message, row.message) {
			t.Errorf("%s %s: got %.200s", row.name, row.argument, res.body)
		}
	}
	if res := d.prompt("explain_report", map[string]string{"report_json": big}); res.status != 200 {
		t.Errorf("64 KiB: got %.200s", res.body)
	}
	if res := d.prompt("build_subscription", map[string]string{"needs_processors": "", "subscription_type": " local "}); res.status != 200 {
		t.Errorf("got %s", res.body)
	}
}
