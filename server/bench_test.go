package server_test

import (
	"bytes"
	"encoding/json"
	"net/http/httptest"
	"strconv"
	"testing"

	"github.com/sandrone-gateway/sandrone/tools/gensub/synth"
)

// BenchmarkConvertRequest is one POST /v1/convert of 200 links, without the
// connection.
func BenchmarkConvertRequest(b *testing.B) {
	nodes, err := synth.Build(synth.Options{Nodes: 200, Seed: 1})
	if err != nil {
		b.Fatal(err)
	}
	text, _, err := synth.Render(nodes, synth.Base64, synth.Layout{})
	if err != nil {
		b.Fatal(err)
	}
	body, err := json.Marshal(map[string]string{"content": string(text), "from_format": "base64", "to_format": "mihomo-proxies"})
	if err != nil {
		b.Fatal(err)
	}
	s := setup{}.server(b)
	b.ReportAllocs()
	for b.Loop() {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest("POST", "http://localhost/v1/convert", bytes.NewReader(body)))
		if w.Code != 200 {
			b.Fatal(w.Body)
		}
	}
}

// BenchmarkPreview is one preview of a draft with five steps, without the
// connection: how long it takes must grow as the nodes do.
func BenchmarkPreview(b *testing.B) {
	for _, n := range []int{5000, 10000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			nodes, err := synth.Build(synth.Options{Nodes: n, Seed: 1})
			if err != nil {
				b.Fatal(err)
			}
			text, _, err := synth.Render(nodes, synth.Base64, synth.Layout{})
			if err != nil {
				b.Fatal(err)
			}
			body, err := json.Marshal(map[string]any{"subscription": map[string]any{
				"name": "x", "type": "local", "content": string(text),
				"processors": []any{
					map[string]any{"type": "rename", "params": map[string]any{"mode": "prefix", "value": "EDGE "}},
					map[string]any{"type": "filter", "params": map[string]any{"action": "drop", "field": "name", "match": "regex", "pattern": "expired"}},
					map[string]any{"type": "dedup", "params": map[string]any{"strategy": "connection"}},
					map[string]any{"type": "flag", "params": map[string]any{}},
					map[string]any{"type": "sort", "params": map[string]any{}},
				},
			}})
			if err != nil {
				b.Fatal(err)
			}
			s := setup{}.server(b)
			b.ReportAllocs()
			for b.Loop() {
				w := httptest.NewRecorder()
				s.ServeHTTP(w, httptest.NewRequest("POST", "http://localhost/v1/preview/subscription", bytes.NewReader(body)))
				if w.Code != 200 {
					b.Fatal(w.Body)
				}
				b.ReportMetric(float64(w.Body.Len())/1e6, "MB/answer")
			}
		})
	}
}
