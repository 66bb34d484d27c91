//go:build mcpconformance

//lint:file-ignore SA1019 the suite asks for sampling and roots, which the revision deprecates

package server_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sandrone-gateway/sandrone/mcp"
)

// The official conformance suite of the protocol, and what it runs on.
const (
	suite     = "@modelcontextprotocol/conformance@0.2.0-alpha.12"
	suiteNode = "node@22"

	// The scenarios that the revision requires of a server, and those besides
	// that are of no extension.
	scenarios = 37 + 3
)

// TestEndpointPassesTheConformanceSuite adds the fixtures that the suite asks
// for to the server as it is, guards included, and has the suite look at it.
func TestEndpointPassesTheConformanceSuite(t *testing.T) {
	npx, err := exec.LookPath("npx")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("no npx, which runs the suite")
		}
		t.Skip("no npx, which runs the suite")
	}
	address := setup{extensions: []mcp.Extension{fixtures()}}.start(t)
	out := t.TempDir()
	run := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), npx, append([]string{"-y", "-p", suiteNode, "-p", suite, "conformance", "server", "--url", "http://" + address + "/mcp", "-o", out}, args...)...)
		cmd.Dir = out
		text, err := cmd.CombinedOutput()
		if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return string(text)
	}
	said := run("--requirements", mcp.Version)
	results, err := filepath.Glob(filepath.Join(out, "*", "checks.json"))
	if err != nil {
		t.Fatal(err)
	}
	passed := 0
	for _, path := range results {
		scenario := filepath.Base(filepath.Dir(path))
		if strings.HasPrefix(scenario, "server-tasks-") {
			continue // of the extension for tasks, which is not offered
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var checks []struct{ ID, Status, ErrorMessage string }
		if err := json.Unmarshal(text, &checks); err != nil {
			t.Fatal(err)
		}
		fine := len(checks) > 0
		for _, c := range checks {
			if c.Status == "FAILURE" {
				fine = false
				t.Errorf("%s: %s: %s", scenario, c.ID, c.ErrorMessage)
			}
		}
		if fine {
			passed++
		}
	}
	if passed != scenarios {
		t.Errorf("%d scenarios passed, want %d; the suite said\n%s", passed, scenarios, said)
	}
}

// fixtures are the tools, resources and prompts whose names the suite knows.
func fixtures() mcp.Extension {
	return mcp.Extension{
		Configure: func(o *sdk.ServerOptions) {
			o.Capabilities.Completions = &sdk.CompletionCapabilities{}
			o.CompletionHandler = func(context.Context, *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
				return &sdk.CompleteResult{Completion: sdk.CompletionResultDetails{Values: []string{}}}, nil
			}
		},
		Register: func(s *sdk.Server) {
			contentTools(s)
			inputTools(s)
			fixtureResources(s)
			fixturePrompts(s)
		},
		Streamed: []string{"test_tool_with_progress"},
	}
}

type toolFunc func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error)

func fixtureTool(s *sdk.Server, name string, call toolFunc) {
	s.AddTool(&sdk.Tool{Name: name, Description: "A fixture of the conformance suite.", InputSchema: json.RawMessage(`{"type":"object"}`)}, sdk.ToolHandler(call))
}

func says(content ...sdk.Content) *sdk.CallToolResult { return &sdk.CallToolResult{Content: content} }

func text(format string, args ...any) sdk.Content {
	return &sdk.TextContent{Text: fmt.Sprintf(format, args...)}
}

// A picture of one dot, and a sound without samples.
func picture() []byte {
	data, _ := base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==")
	return data
}

var silence = []byte("RIFF\x24\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x80\x3e\x00\x00\x02\x00\x10\x00data\x00\x00\x00\x00")

func embedded(uri string) sdk.Content {
	return &sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: uri, MIMEType: "text/plain", Text: "an embedded text"}}
}

// contentTools answer at once.
func contentTools(s *sdk.Server) {
	image := &sdk.ImageContent{Data: picture(), MIMEType: "image/png"}
	for name, content := range map[string][]sdk.Content{
		"test_simple_text":            {text("This is a simple text response for testing.")},
		"test_image_content":          {image},
		"test_audio_content":          {&sdk.AudioContent{Data: silence, MIMEType: "audio/wav"}},
		"test_embedded_resource":      {embedded("test://embedded-resource")},
		"test_multiple_content_types": {text("one of three"), image, embedded("test://mixed-content-resource")},
		"test_logging_tool":           {text("nothing is logged unasked")},
		"test_streaming_elicitation":  {text("nothing is asked on a stream")},
	} {
		fixtureTool(s, name, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) { return says(content...), nil })
	}
	fixtureTool(s, "test_error_handling", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		failed := says(text("This tool intentionally returns an error for testing"))
		failed.IsError = true
		return failed, nil
	})
	fixtureTool(s, "test_tool_with_progress", func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		for _, done := range []float64{0, 50, 100} {
			if err := r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: done, Total: 100}); err != nil {
				return nil, err
			}
		}
		return says(text("done")), nil
	})
	fixtureTool(s, "test_missing_capability", func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		if c := r.ClientCapabilities(); c != nil && c.Sampling != nil {
			return says(text("the client samples")), nil
		}
		data, err := json.Marshal(sdk.MissingRequiredClientCapabilityData{RequiredCapabilities: &sdk.ClientCapabilities{Sampling: &sdk.SamplingCapabilities{}}})
		if err != nil {
			return nil, err
		}
		return nil, &jsonrpc.Error{Code: sdk.CodeMissingRequiredClientCapabilities, Message: "sampling is needed", Data: data}
	})
	s.AddTool(&sdk.Tool{Name: "json_schema_2020_12_tool", Description: "A tool with much of JSON Schema.", InputSchema: json.RawMessage(`{
		"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",
		"$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},
		"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},"contactMethod":{"type":"string","enum":["phone","email"]},"phone":{"type":"string"},"email":{"type":"string"}},
		"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],
		"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},"then":{"required":["phone"]},"else":{"required":["email"]},
		"additionalProperties":false}`)},
		func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) { return says(text("ok")), nil })
	s.AddTool(&sdk.Tool{Name: "test_x_mcp_header", Description: "A tool with an argument that a header repeats.", InputSchema: json.RawMessage(`{
		"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"level":{"type":"integer"}}}`)},
		func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) { return says(text("ok")), nil })
}

// The questions of tools that need input.
func ask(member, kind string) *sdk.ElicitParams {
	return &sdk.ElicitParams{Message: "Please give " + member, RequestedSchema: &jsonschema.Schema{
		Type: "object", Properties: map[string]*jsonschema.Schema{member: {Type: kind}}, Required: []string{member}}}
}

func sample(question string) *sdk.CreateMessageParams {
	return &sdk.CreateMessageParams{MaxTokens: 50, Messages: []*sdk.SamplingMessage{{Role: "user", Content: text("%s", question)}}}
}

// accepted is a member of an answer that was given.
func accepted(answers sdk.InputResponseMap, key, member string) (any, bool) {
	answer, ok := answers[key].(*sdk.ElicitResult)
	if !ok || answer.Action != "accept" {
		return nil, false
	}
	value, ok := answer.Content[member]
	return value, ok
}

func sampled(answers sdk.InputResponseMap, key string) bool {
	_, ok := answers[key].(*sdk.CreateMessageWithToolsResult)
	return ok
}

func roots(answers sdk.InputResponseMap, key string) bool {
	_, ok := answers[key].(*sdk.ListRootsResult)
	return ok
}

// sign makes a state that shows when it was changed.
func sign(state string) string {
	mac := hmac.New(sha256.New, []byte("a key of the fixtures"))
	mac.Write([]byte(state))
	return state + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func opened(signed string) (state string, err error) {
	if signed == "" {
		return "", nil
	}
	at := strings.LastIndexByte(signed, '.')
	if at < 0 || !hmac.Equal([]byte(sign(signed[:at])), []byte(signed)) {
		return "", &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the request state was changed"}
	}
	return signed[:at], nil
}

// inputTools need answers of the client before they have a result.
func inputTools(s *sdk.Server) {
	tool := func(name string, call func(state string, r *sdk.CallToolRequest) *sdk.CallToolResult) {
		fixtureTool(s, "test_input_required_result_"+name, func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			state, err := opened(r.Params.RequestState)
			if err != nil {
				return nil, err
			}
			return call(state, r), nil
		})
	}
	needs := func(questions sdk.InputRequestMap, state string) *sdk.CallToolResult {
		r := &sdk.CallToolResult{InputRequests: questions}
		if state != "" {
			r.RequestState = sign(state)
		}
		return r
	}
	tool("elicitation", func(_ string, r *sdk.CallToolRequest) *sdk.CallToolResult {
		if name, ok := accepted(r.Params.InputResponses, "user_name", "name"); ok {
			return says(text("Hello, %v!", name))
		}
		return needs(sdk.InputRequestMap{"user_name": ask("name", "string")}, "")
	})
	tool("sampling", func(_ string, r *sdk.CallToolRequest) *sdk.CallToolResult {
		if sampled(r.Params.InputResponses, "capital_question") {
			return says(text("sampled"))
		}
		return needs(sdk.InputRequestMap{"capital_question": sample("What is the capital of France?")}, "")
	})
	tool("list_roots", func(_ string, r *sdk.CallToolRequest) *sdk.CallToolResult {
		if roots(r.Params.InputResponses, "client_roots") {
			return says(text("roots were listed"))
		}
		return needs(sdk.InputRequestMap{"client_roots": &sdk.ListRootsParams{}}, "")
	})
	for _, name := range []string{"request_state", "tampered_state"} {
		tool(name, func(state string, r *sdk.CallToolRequest) *sdk.CallToolResult {
			if _, ok := accepted(r.Params.InputResponses, "confirm", "ok"); ok && state == name {
				return says(text("state-ok"))
			}
			return needs(sdk.InputRequestMap{"confirm": ask("ok", "boolean")}, name)
		})
	}
	tool("multiple_inputs", func(state string, r *sdk.CallToolRequest) *sdk.CallToolResult {
		given := r.Params.InputResponses
		if name, ok := accepted(given, "user_name", "name"); ok && sampled(given, "greeting") && roots(given, "client_roots") && state == "multiple" {
			return says(text("Hello, %v!", name))
		}
		return needs(sdk.InputRequestMap{"user_name": ask("name", "string"), "greeting": sample("Generate a greeting"), "client_roots": &sdk.ListRootsParams{}}, "multiple")
	})
	tool("multi_round", func(state string, r *sdk.CallToolRequest) *sdk.CallToolResult {
		if _, ok := accepted(r.Params.InputResponses, "step2", "color"); ok && state == "second" {
			return says(text("two rounds are over"))
		}
		if _, ok := accepted(r.Params.InputResponses, "step1", "name"); ok && state == "first" {
			return needs(sdk.InputRequestMap{"step2": ask("color", "string")}, "second")
		}
		return needs(sdk.InputRequestMap{"step1": ask("name", "string")}, "first")
	})
	tool("capabilities", func(_ string, r *sdk.CallToolRequest) *sdk.CallToolResult {
		questions := sdk.InputRequestMap{}
		if c := r.ClientCapabilities(); c != nil && len(r.Params.InputResponses) == 0 {
			if c.Elicitation != nil {
				questions["user_name"] = ask("name", "string")
			}
			if c.Sampling != nil {
				questions["greeting"] = sample("Generate a greeting")
			}
			if c.RootsV2 != nil {
				questions["client_roots"] = &sdk.ListRootsParams{}
			}
		}
		if len(questions) == 0 {
			return says(text("nothing to ask"))
		}
		return needs(questions, "")
	})
}

func fixtureResources(s *sdk.Server) {
	s.AddResource(&sdk.Resource{Name: "static-text", URI: "test://static-text", MIMEType: "text/plain"}, reads("text/plain", func(string) string { return "This is the content of the static text resource." }))
	s.AddResource(&sdk.Resource{Name: "static-binary", URI: "test://static-binary", MIMEType: "image/png"}, func(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: r.Params.URI, MIMEType: "image/png", Blob: picture()}}}, nil
	})
	s.AddResourceTemplate(&sdk.ResourceTemplate{Name: "template", URITemplate: "test://template/{id}/data", MIMEType: "application/json"}, reads("application/json", func(uri string) string {
		id := strings.TrimSuffix(strings.TrimPrefix(uri, "test://template/"), "/data")
		var b bytes.Buffer
		json.NewEncoder(&b).Encode(map[string]any{"id": id, "templateTest": true, "data": "Data for ID: " + id})
		return b.String()
	}))
}

func reads(mediaType string, of func(uri string) string) sdk.ResourceHandler {
	return func(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: r.Params.URI, MIMEType: mediaType, Text: of(r.Params.URI)}}}, nil
	}
}

func fixturePrompts(s *sdk.Server) {
	prompt := func(name string, arguments []string, messages func(given map[string]string) []sdk.Content) {
		p := &sdk.Prompt{Name: name, Description: "A fixture of the conformance suite."}
		for _, a := range arguments {
			p.Arguments = append(p.Arguments, &sdk.PromptArgument{Name: a, Required: true})
		}
		s.AddPrompt(p, func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			out := &sdk.GetPromptResult{}
			for _, c := range messages(r.Params.Arguments) {
				out.Messages = append(out.Messages, &sdk.PromptMessage{Role: "user", Content: c})
			}
			return out, nil
		})
	}
	prompt("test_simple_prompt", nil, func(map[string]string) []sdk.Content {
		return []sdk.Content{text("This is a simple prompt for testing.")}
	})
	prompt("test_prompt_with_arguments", []string{"arg1", "arg2"}, func(given map[string]string) []sdk.Content {
		return []sdk.Content{text("Prompt with arguments: arg1='%s', arg2='%s'", given["arg1"], given["arg2"])}
	})
	prompt("test_prompt_with_embedded_resource", []string{"resourceUri"}, func(given map[string]string) []sdk.Content {
		return []sdk.Content{embedded(given["resourceUri"]), text("Please process the resource above.")}
	})
	prompt("test_prompt_with_image", nil, func(map[string]string) []sdk.Content {
		return []sdk.Content{&sdk.ImageContent{Data: picture(), MIMEType: "image/png"}, text("Please look at the picture above.")}
	})
	s.AddPrompt(&sdk.Prompt{Name: "test_input_required_result_prompt", Description: "Asks for a context."}, func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		given, ok := accepted(r.Params.InputResponses, "user_context", "context")
		if !ok {
			return &sdk.GetPromptResult{InputRequests: sdk.InputRequestMap{"user_context": ask("context", "string")}}, nil
		}
		return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{{Role: "user", Content: text("Context: %v", given)}}}, nil
	})
}
