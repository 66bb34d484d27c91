package formats_test

import (
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"testing"
	"time"

	"github.com/sandrone-gateway/sandrone/convert"
	"github.com/sandrone-gateway/sandrone/convert/formats"
)

// FuzzParsers holds, for each parser by its name, that no text makes it panic,
// hang or take more memory than a multiple of the text, and that the nodes it
// finds are the same after json-nodes.
func FuzzParsers(f *testing.F) {
	r := formats.Registry()
	parsers := r.Parsers()
	byName := func(name string) uint8 {
		for i := range parsers {
			if parsers[i].Name == name {
				return uint8(i)
			}
		}
		f.Fatalf("no parser %q", name)
		return 0
	}
	jsonNodes := byName("json-nodes")
	for _, v := range readLines[struct{ From, Input string }](f, "uri-vectors.jsonl") {
		nodes, _, err := read(v.From, v.Input)
		if v.From != convert.Auto {
			f.Add(v.Input, byName(v.From))
		}
		f.Add(v.Input, byName("uri-list"))
		if err == nil {
			out, _, err := r.Render("json-nodes", nodes, convert.RenderOptions{})
			if err != nil {
				f.Fatal(err)
			}
			f.Add(string(out.Body), jsonNodes)
		}
	}
	for file, format := range map[string]string{"mihomo-full.yaml": "mihomo", "stash.yaml": "stash", "sing-box-full.json": "sing-box", "sip008.json": "sip008"} {
		text, err := os.ReadFile(filepath.Join(corpus, "clients", file))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text), byName(format))
	}
	f.Fuzz(func(t *testing.T, text string, which uint8) {
		p := parsers[int(which)%len(parsers)]
		var before, after runtime.MemStats
		start := time.Now()
		runtime.ReadMemStats(&before)
		batch, err := r.Parse(p.Name, text)
		runtime.ReadMemStats(&after)
		if got, most := after.TotalAlloc-before.TotalAlloc, uint64(1<<21+1000*len(text)); got > most {
			t.Fatalf("%s: %d bytes of text took %d bytes", p.Name, len(text), got)
		}
		if took := time.Since(start); took > 10*time.Second {
			t.Fatalf("%s: %d bytes of text took %v", p.Name, len(text), took)
		}
		if err != nil {
			return
		}
		convert.Normalise(batch.Nodes)
		nodes, _, _, err := convert.Validate(batch.Nodes, "normalized")
		if err != nil {
			return
		}
		out, _, err := r.Render("json-nodes", nodes, convert.RenderOptions{})
		if err != nil || out.Count != len(nodes) {
			t.Fatalf("%d of %d nodes written: %v", out.Count, len(nodes), err)
		}
		again, _, err := read("json-nodes", string(out.Body))
		if err != nil {
			t.Fatalf("what was written is not read: %v\n%s", err, out.Body)
		}
		if want, got := plain(t, nodes), plain(t, again); !reflect.DeepEqual(want, got) {
			t.Fatalf("the nodes were %s\nand come back as %s", show(want), show(got))
		}
	})
}
