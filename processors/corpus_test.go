package processors_test

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"reflect"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/processors"
)

// registry is the one of all tests here; scripts have a package of their own.
var registry = processors.New(processors.Options{})

// vector is a line of the corpus.
type vector struct {
	ID         string                   `json:"id"`
	Stage      string                   `json:"stage"`
	Processor  *sandrone.ProcessorSpec  `json:"processor"`
	Processors []sandrone.ProcessorSpec `json:"processors"`
	Input      struct {
		Nodes         []sandrone.Node        `json:"nodes"`
		Target        string                 `json:"target"`
		Context       processors.Context     `json:"context"`
		Request       processors.Request     `json:"request"`
		ProbeResults  []sandrone.ProbeResult `json:"probe_results"`
		ProbeWarnings []sandrone.Warning     `json:"probe_warnings"`
	} `json:"input"`
	Expect struct {
		Nodes       *[]sandrone.Node  `json:"nodes"`
		Names       *[]string         `json:"names"`
		NamesMatch  []string          `json:"names_match"`
		NamesUnique bool              `json:"names_unique"`
		Warnings    *[]map[string]any `json:"warnings"`
		MaxWallMS   int64             `json:"max_wall_ms"`
		Error       *struct {
			Code      string   `json:"code"`
			CodeIn    []string `json:"code_in"`
			Processor string   `json:"processor"`
		} `json:"error"`
	} `json:"expect"`
}

// stub is a prober that has its answer.
type stub struct{ sandrone.ProbeAnswer }

func (s stub) Probe(context.Context, []sandrone.Node, sandrone.ProbeOptions) (sandrone.ProbeAnswer, error) {
	return s.ProbeAnswer, nil
}

func TestCorpus(t *testing.T) {
	f, err := os.Open("testdata/corpus/processors.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	count := 0
	for lines.Scan() {
		var v vector
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		if v.Processor != nil {
			v.Processors = []sandrone.ProcessorSpec{*v.Processor}
		}
		if v.Stage != sandrone.NodesStage || v.Processors[0].Type == "script" && v.Processors[0].Stage != "" {
			continue
		}
		count++
		t.Run(v.ID, func(t *testing.T) { v.run(t) })
	}
	if err := lines.Err(); err != nil || count < 50 {
		t.Errorf("%d vectors, %v", count, err)
	}
}

func (v *vector) run(t *testing.T) {
	run := processors.Run{Target: v.Input.Target, Context: v.Input.Context, Request: v.Input.Request}
	if v.Input.ProbeResults != nil {
		var answer sandrone.ProbeAnswer
		answer.Results, answer.Report.Warnings = v.Input.ProbeResults, v.Input.ProbeWarnings
		run.Prober = stub{answer}
	}
	start := time.Now()
	res, err := registry.Nodes(t.Context(), run, v.Processors, v.Input.Nodes)
	if limit := v.Expect.MaxWallMS; limit > 0 && time.Since(start).Milliseconds() > limit {
		t.Errorf("took %v, want at most %d ms", time.Since(start), limit)
	}
	if want := v.Expect.Error; want != nil {
		e := sandrone.AsError(err)
		if err == nil || string(e.Code) != want.Code && !slices.Contains(want.CodeIn, string(e.Code)) || want.Processor != "" && e.Processor != want.Processor {
			t.Fatalf("got %+v, want %+v", e, want)
		}
		if e.ProcessorIndex == nil || e.Message == "" {
			t.Errorf("the error has no place or no message: %+v", e)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for i := range res.Nodes {
		names = append(names, res.Nodes[i].Name)
	}
	if want := v.Expect.Nodes; want != nil && !reflect.DeepEqual(plain(t, res.Nodes), plain(t, *want)) {
		t.Errorf("nodes: got %v, want %v", plain(t, res.Nodes), plain(t, *want))
	}
	if want := v.Expect.Names; want != nil && !slices.Equal(names, *want) {
		t.Errorf("names: got %q, want %q", names, *want)
	}
	for i, expr := range v.Expect.NamesMatch {
		if len(names) != len(v.Expect.NamesMatch) || !regexp.MustCompile(expr).MatchString(names[i]) {
			t.Errorf("names %q do not match %q", names, v.Expect.NamesMatch)
			break
		}
	}
	if v.Expect.NamesUnique {
		sorted := slices.Sorted(slices.Values(names))
		if len(slices.Compact(sorted)) != len(names) {
			t.Errorf("names %q are not unique", names)
		}
	}
	if want := v.Expect.Warnings; want != nil {
		if len(res.Warnings) != len(*want) {
			t.Fatalf("warnings: got %+v, want %v", res.Warnings, *want)
		}
		for i, listed := range *want {
			got := plain(t, res.Warnings[i]).(map[string]any)
			for key, value := range listed {
				if !reflect.DeepEqual(got[key], value) {
					t.Errorf("warning %d: %s is %v, want %v", i, key, got[key], value)
				}
			}
		}
	}
}

// plain is a value as its JSON form decodes.
func plain(t *testing.T, v any) (form any) {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &form); err != nil {
		t.Fatal(err)
	}
	return form
}
