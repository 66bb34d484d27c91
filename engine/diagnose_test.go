package engine_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/engine"
	"github.com/sandrone-gateway/sandrone/store"
)

// stages writes the stages of a diagnosis, one a line.
func stages(d *engine.Diagnosis) string {
	var b strings.Builder
	for _, s := range d.Stages {
		fmt.Fprintf(&b, "%d %s %s %s %d>%d", s.Index, s.Scope, s.Kind, s.Type, s.InputCount, s.OutputCount)
		if s.Error != nil {
			b.WriteString(" " + string(s.Error.Code))
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestDiagnoseTellsEveryStage(t *testing.T) {
	e := workbench(t, func(o *engine.Options) { o.Fetcher = web{"https://air.example/": link("a") + "\n" + link("b")} })
	ctx := t.Context()
	child := local("child", link("c"), "trojan://hunter2@#broken")
	child.Processors = []sandrone.ProcessorSpec{{Type: "sort"}}
	put(t, e, child)
	put(t, e, &sandrone.Subscription{Name: "merged", Type: "collection",
		Inputs: []sandrone.NodeInput{
			{Name: "one", Type: "subscription", Ref: &sandrone.ResourceRef{Kind: "subscription", Name: "child"}},
			{Name: "two", Type: "remote", URL: "https://air.example/"},
			{Name: "none", Type: "subscription", Ref: &sandrone.ResourceRef{Kind: "subscription", Name: "absent"}},
		},
		Processors: []sandrone.ProcessorSpec{{Type: "sort"}, {Type: "filter", Params: json.RawMessage(`{"action":"keep","field":"name","match":"regex","pattern":"^a$"}`)}}})
	d, err := e.Diagnose(ctx, engine.DiagnoseRequest{Subscription: &engine.StoredOr[sandrone.Subscription]{Name: "merged"}})
	if err != nil {
		t.Fatal(err)
	}
	want := `1 input parse uri-list 1>1
2 subscription:child materialize  1>1
3 subscription:child processor sort 1>1
4 input parse uri-list 2>2
5 subscription:merged materialize  3>3
6 subscription:merged processor sort 3>3
7 subscription:merged processor filter 3>1
`
	if got := stages(d); got != want {
		t.Errorf("got stages\n%swant\n%s", got, want)
	}
	if d.Status != "partial" || d.Report.Kind != "diagnose" || d.Report.Status != "partial" || d.Error != nil || len(d.Nodes) != 1 {
		t.Errorf("got %+v", d)
	}
	if d.Input.Kind != "subscription" || d.Input.Name != "merged" {
		t.Errorf("got input %+v", d.Input)
	}
	var codes []string
	for _, w := range d.Warnings {
		codes = append(codes, w.Code)
	}
	if got := strings.Join(codes, " "); got != "parse_line_failed node_input_not_found" {
		t.Errorf("got warnings %q", got)
	}
}

func TestDiagnoseFindsOutWhatAContentIs(t *testing.T) {
	rows := []struct {
		name, content, kind, format string
		code                        sandrone.Code // of the error, if there is one
	}{
		{"one link", link("a"), "nodes", "uri", ""},
		{"two links", link("a") + "\n" + link("b"), "nodes", "uri-list", ""},
		{"a client file", `{"outbounds":[{"type":"trojan","tag":"a","server":"192.0.2.1","server_port":443,"password":"x"}]}`, "nodes", "sing-box", ""},
		{"a local subscription", `{"name":"air","type":"local","content":"` + link("a") + `"}`, "subscription", "", ""},
		{"a collection", `{"name":"all","type":"collection","inputs":[{"name":"x","type":"inline","format":"uri","content":"` + link("a") + `"}]}`, "subscription", "", ""},
		{"a file", `{"name":"f","kind":"static","source":{"type":"inline","content":"text"}}`, "file", "", ""},
		{"nodes in a collection", `{"name":"all","type":"collection","nodes":[{"name":"a","type":"trojan","server":"192.0.2.1","port":443,"password":"x","source_format":"uri"}]}`, "", "", sandrone.InputKindAmbiguous},
		{"an unknown member", `{"name":"air","type":"local","content":"x","magic":1}`, "", "", sandrone.InputKindUnrecognized},
		{"a web page", `<!DOCTYPE html><html><body>hello</body></html>`, "", "", sandrone.InputKindUnrecognized},
		{"a JSON error", `{"error":"no"}`, "", "", sandrone.InputKindUnrecognized},
		{"prose", `hello there`, "", "", sandrone.InputKindUnrecognized},
		{"nothing", ` `, "", "", sandrone.InputKindUnrecognized},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			d, err := workbench(t, nil).Diagnose(t.Context(), engine.DiagnoseRequest{Content: &row.content})
			if code(err) != row.code {
				t.Fatalf("got %v, want code %q", err, row.code)
			}
			if err != nil {
				return
			}
			if d.Input.Kind != row.kind || d.Input.Format != row.format || d.Status != "ok" {
				t.Errorf("got %+v, status %s, error %v, want kind %q, format %q", d.Input, d.Status, d.Error, row.kind, row.format)
			}
		})
	}
}

func TestDiagnoseFailsWithAnAnswer(t *testing.T) {
	broken := "trojan://hunter2@#a\nvmess://!!!"
	nodes := link("a")
	rows := []struct {
		name   string
		req    engine.DiagnoseRequest
		code   sandrone.Code
		stages string
	}{
		{"no usable node", engine.DiagnoseRequest{Content: &broken}, sandrone.ParseFailed, "1 input parse  0>0 parse_failed\n"},
		{"a source that is down", engine.DiagnoseRequest{Remote: &sandrone.RemoteInput{URL: "https://down.example/?token=hunter2"}}, sandrone.FetchFailed, "1 input parse  0>0 fetch_failed\n"},
		{"a step that cannot be", engine.DiagnoseRequest{Content: &nodes, Kind: "nodes", Processors: []sandrone.ProcessorSpec{{Type: "teleport"}}}, sandrone.ProcessorUnknown,
			"1 input parse uri-list 1>1\n2 input processor teleport 1>0 processor_unknown\n"},
		{"steps that leave nothing", engine.DiagnoseRequest{Content: &nodes, Kind: "nodes", Processors: []sandrone.ProcessorSpec{{Type: "filter", Params: json.RawMessage(`{"action":"keep","field":"name","match":"regex","pattern":"x"}`)}}}, sandrone.NodeProcessorFailed,
			"1 input parse uri-list 1>1\n2 input processor filter 1>0\n"},
		{"a draft that needs itself", engine.DiagnoseRequest{Subscription: &engine.StoredOr[sandrone.Subscription]{Draft: &sandrone.Subscription{Name: "me", Type: "collection",
			Inputs: []sandrone.NodeInput{{Name: "x", Type: "subscription", Ref: &sandrone.ResourceRef{Kind: "subscription", Name: "me"}}}}}}, sandrone.Conflict,
			"1 subscription:me materialize  0>0 conflict\n"},
		{"a file with a base of another syntax", engine.DiagnoseRequest{File: &engine.StoredOr[sandrone.FileSpec]{Draft: &sandrone.FileSpec{Name: "m", Kind: "mihomo", Source: &sandrone.FileSource{Type: "inline", Content: new("[a]")}}}}, sandrone.InvalidArgument,
			"1 file:m compile  0>0 invalid_argument\n"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			d, err := workbench(t, nil).Diagnose(t.Context(), row.req)
			if err != nil {
				t.Fatal(err)
			}
			if d.Status != "failed" || d.Report.Status != "failed" || d.Error == nil || d.Error.Code != row.code {
				t.Errorf("got status %s, error %v, want failed with %s", d.Status, d.Error, row.code)
			}
			if got := stages(d); got != row.stages {
				t.Errorf("got stages\n%swant\n%s", got, row.stages)
			}
			if d.Error != nil && strings.Contains(d.Error.Error(), "hunter2") {
				t.Errorf("the error shows a secret: %v", d.Error)
			}
		})
	}
}

func TestDiagnoseRefusesRequestsThatMakeNoSense(t *testing.T) {
	text, page := link("a"), "{}"
	step := []sandrone.ProcessorSpec{{Type: "sort"}}
	stored := &engine.StoredOr[sandrone.Subscription]{Name: "absent"}
	file := `{"name":"f","kind":"static","source":{"type":"inline","content":"text"}}`
	rows := []struct {
		name  string
		req   engine.DiagnoseRequest
		code  sandrone.Code
		field string
	}{
		{"nothing", engine.DiagnoseRequest{}, sandrone.InvalidArgument, ""},
		{"two inputs", engine.DiagnoseRequest{Content: &text, Remote: &sandrone.RemoteInput{URL: "https://a.example/"}}, sandrone.InvalidArgument, ""},
		{"an unknown kind", engine.DiagnoseRequest{Content: &text, Kind: "magic"}, sandrone.InvalidArgument, "kind"},
		{"a kind of a stored one", engine.DiagnoseRequest{Subscription: stored, Kind: "nodes"}, sandrone.InvalidArgument, "kind"},
		{"an unknown format", engine.DiagnoseRequest{Content: &text, Format: "magic"}, sandrone.InvalidArgument, "format"},
		{"a format of a definition", engine.DiagnoseRequest{Content: &page, Kind: "file", Format: "uri"}, sandrone.InvalidArgument, "format"},
		{"steps on a stored one", engine.DiagnoseRequest{Subscription: stored, Processors: step}, sandrone.InvalidArgument, "processors"},
		{"steps on what turns out to be a file", engine.DiagnoseRequest{Content: &file, Processors: step}, sandrone.InvalidArgument, "processors"},
		{"args of nodes", engine.DiagnoseRequest{Content: &text, Args: map[string]string{"a": "b"}}, sandrone.InvalidArgument, "args"},
		{"a definition that is none", engine.DiagnoseRequest{Content: &text, Kind: "subscription"}, sandrone.InvalidArgument, "content"},
		{"a definition that lacks its type", engine.DiagnoseRequest{Content: &page, Kind: "subscription"}, sandrone.InvalidArgument, "type"},
		{"an address that is none", engine.DiagnoseRequest{Remote: &sandrone.RemoteInput{URL: "ftp://a"}}, sandrone.InvalidArgument, "remote.url"},
		{"a draft that can never be", engine.DiagnoseRequest{Subscription: &engine.StoredOr[sandrone.Subscription]{Draft: &sandrone.Subscription{Name: "a", Type: "magic"}}}, sandrone.InvalidArgument, "subscription.type"},
		{"an unknown subscription", engine.DiagnoseRequest{Subscription: stored}, sandrone.NotFound, ""},
		{"an unknown file", engine.DiagnoseRequest{File: &engine.StoredOr[sandrone.FileSpec]{Name: "absent"}}, sandrone.NotFound, ""},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			_, err := workbench(t, nil).Diagnose(t.Context(), row.req)
			if code(err) != row.code || sandrone.AsError(err).Field != row.field {
				t.Errorf("got %v at %q, want %s at %q", err, sandrone.AsError(err).Field, row.code, row.field)
			}
		})
	}
}

func TestDiagnosedFileCarriesItsText(t *testing.T) {
	e := workbench(t, nil)
	text := "hello"
	if _, err := e.PutFile(t.Context(), &sandrone.FileSpec{Name: "notes", Kind: "static", Source: &sandrone.FileSource{Type: "inline", Content: &text}}, store.Precondition{}); err != nil {
		t.Fatal(err)
	}
	d, err := e.Diagnose(t.Context(), engine.DiagnoseRequest{File: &engine.StoredOr[sandrone.FileSpec]{Name: "notes"}})
	if err != nil || d.Status != "ok" || d.File == nil || string(d.File.Content) != "hello" || d.Nodes != nil {
		t.Errorf("got %+v, %v", d, err)
	}
}

func TestDiagnoseRequestTakesANameOrADraft(t *testing.T) {
	var req engine.DiagnoseRequest
	closed := jsonv2.RejectUnknownMembers(true)
	if err := jsonv2.Unmarshal([]byte(`{"subscription":"air"}`), &req, closed); err != nil || req.Subscription.Name != "air" || req.Subscription.Draft != nil {
		t.Errorf("got %+v, %v", req.Subscription, err)
	}
	if err := jsonv2.Unmarshal([]byte(`{"file":{"name":"f","kind":"static","source":{}}}`), &req, closed); err != nil || req.File.Draft == nil || req.File.Draft.Kind != "static" {
		t.Errorf("got %+v, %v", req.File, err)
	}
	if err := jsonv2.Unmarshal([]byte(`{"file":{"name":"f","magic":1}}`), &req, closed); err == nil {
		t.Error("a draft with an unknown member was taken")
	}
	if err := jsonv2.Unmarshal([]byte(`{"file":7}`), &req, closed); err == nil {
		t.Error("a number was taken for a file")
	}
}
