package engine_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/engine"
	"github.com/sandrone-gateway/sandrone/processors/region"
)

// fieldCase is a case of the corpus that runs steps on a document.
type fieldCase struct {
	ID     string
	Kind   string
	To     string
	Input  json.RawMessage
	Why    string
	Expect struct {
		Count           int
		Nodes           []struct{ Name string }
		Regions         []string
		TextNotContains []string `json:"text_not_contains"`
	}
}

// TestFieldCasesOfSteps runs what tools of this kind once got wrong in their
// steps, from the text to the text.
func TestFieldCasesOfSteps(t *testing.T) {
	text, err := os.ReadFile("../testdata/corpus/field-cases.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for line := range bytes.Lines(text) {
		var c fieldCase
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		var input struct {
			Document   string
			Processors []struct{ Type, Mode string }
		}
		if json.Unmarshal(c.Input, &input) != nil || len(input.Processors) == 0 {
			continue
		}
		ran++
		t.Run(c.ID, func(t *testing.T) {
			var list []sandrone.ProcessorSpec
			for _, p := range input.Processors {
				spec := sandrone.ProcessorSpec{Type: p.Type}
				if p.Mode != "default" { // which stands for the params that are silent
					spec.Params = json.RawMessage(`{"mode":"` + p.Mode + `"}`)
				}
				list = append(list, spec)
			}
			r, err := newWorkbench(t, nil).Convert(t.Context(), engine.ConvertRequest{ToFormat: "json-nodes", FromFormat: "auto", Content: &input.Document, ParseProcessors: list})
			if err != nil {
				t.Fatal(err)
			}
			var nodes []sandrone.Node
			if err := json.Unmarshal(r.Body, &nodes); err != nil {
				t.Fatal(err)
			}
			if len(nodes) != c.Expect.Count {
				t.Fatalf("got %d nodes, want %d: %s", len(nodes), c.Expect.Count, c.Why)
			}
			for i, n := range c.Expect.Nodes {
				if nodes[i].Name != n.Name {
					t.Errorf("got %q, want %q", nodes[i].Name, n.Name)
				}
			}
			for i, want := range c.Expect.Regions {
				flag, _, _ := strings.Cut(nodes[i].Name, " ")
				if flag != region.Flag(want) {
					t.Errorf("got %q, want the flag of %s: %s", nodes[i].Name, want, c.Why)
				}
			}
			for _, s := range c.Expect.TextNotContains {
				if strings.Contains(string(r.Body), s) {
					t.Errorf("the text has %s", s)
				}
			}
		})
	}
	if ran < 2 {
		t.Errorf("only %d cases were found", ran)
	}
}

// TestFieldCasesOfHeaders reads the usage headers that panels really send, and
// hands them on.
func TestFieldCasesOfHeaders(t *testing.T) {
	text, err := os.ReadFile("../testdata/corpus/field-cases.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for line := range bytes.Lines(text) {
		var c struct {
			ID, Kind, Why string
			Input         struct {
				Headers map[string]string `json:"upstream_headers"`
			}
			Expect struct {
				Traffic struct{ Upload, Download, Total, Expire *int64 }
			}
		}
		// Other cases have members of other types.
		if json.Unmarshal(line, &c) != nil || c.Kind != "header" {
			continue
		}
		ran++
		t.Run(c.ID, func(t *testing.T) {
			web := &answers{}
			web.set(air, answer{text: link("a"), header: c.Input.Headers})
			b := newWorkbench(t, web)
			b.put(t, remoteAir("air"))
			got, err := b.Traffic(t.Context(), "air", false)
			if err != nil {
				t.Fatal(err)
			}
			want := c.Expect.Traffic
			if u := got.Traffic; len(got.Warnings) != 0 || u == nil || u.UploadBytes != *want.Upload || u.DownloadBytes != *want.Download ||
				u.TotalBytes == nil || *u.TotalBytes != *want.Total || u.ExpiresAt.IsZero() != (want.Expire == nil) {
				t.Errorf("got %s: %s", jsonText(t, got), c.Why)
			}
			share := putShare(t, b.Engine, sandrone.Share{TargetKind: "subscription", TargetName: "air"})
			read, err := b.SharedRead(t.Context(), engine.ShareRequest{ID: share.ID})
			if err != nil {
				t.Fatal(err)
			}
			if usage := read.Header["subscription-userinfo"]; usage != fmt.Sprintf("upload=%d; download=%d; total=%d", *want.Upload, *want.Download, *want.Total) {
				t.Errorf("handed on as %q", usage)
			}
		})
	}
	if ran == 0 {
		t.Error("no case was found")
	}
}

func TestScriptSeesNothingOfTheHost(t *testing.T) {
	draft := &sandrone.Subscription{Type: "local", Content: link("S"), Processors: steps(`[{"type":"script","stage":"nodes","params":{"source":{"type":"inline","content":
		"function main(input) { input.nodes.forEach(n => n.name = [typeof process, typeof require, typeof fetch, typeof Function('return this')().process].join(',')); return input }"}}}]`)}
	p, err := newWorkbench(t, nil).PreviewSubscription(t.Context(), engine.PreviewRequest{Draft: draft})
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Nodes[0].After.Name; got != "undefined,undefined,undefined,undefined" {
		t.Errorf("got %q", got)
	}
}
