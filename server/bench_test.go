package server_test

import (
	"bytes"
	"encoding/json"
	"net/http/httptest"
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
