package doc_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sandrone-gateway/sandrone/convert/doc"
)

// dump shows a tree with the kind of each scalar: strings as they are, in
// quotes if they stood in quotes, n(1), b(true), null.
func dump(d doc.Items, i int) string {
	it := d[i]
	switch it.Kind {
	case doc.Null:
		return "null"
	case doc.Num:
		return "n(" + it.Text + ")"
	case doc.Bool:
		return "b(" + it.Text + ")"
	case doc.Str:
		if it.Quoted {
			return fmt.Sprintf("%q", it.Text)
		}
		return it.Text
	}
	var parts []string
	for j := i + 1; j < int(it.End); j = d.Next(j) {
		part := dump(d, j)
		if it.Kind == doc.Map {
			part = d[j].Key + ":" + part
		}
		parts = append(parts, part)
	}
	if it.Kind == doc.Map {
		return "{" + strings.Join(parts, " ") + "}"
	}
	return "[" + strings.Join(parts, " ") + "]"
}

// collector gathers what a reader of entries calls it with.
type collector struct{ entries []string }

func (c *collector) add(key string, entry doc.Items) error {
	c.entries = append(c.entries, key+"="+dump(entry, 0))
	return nil
}

func (c *collector) String() string { return strings.Join(c.entries, "\n") }

// entries makes n map entries of the shape that lists have, in one of the
// notations "block", "flow" and "json".
func entries(n int, notation string) string {
	var b strings.Builder
	if notation == "json" {
		b.WriteString(`{"log":{"level":"info"},"proxies":[`)
	} else {
		b.WriteString("mixed-port: 7890\nproxies:\n")
	}
	for i := range n {
		name := fmt.Sprintf("🇭🇰 香港 %05d | IEPL #限速", i)
		host := fmt.Sprintf("hk%d.node%d.example.com", i%97, i)
		id := fmt.Sprintf("9d50f116-0000-4000-8000-%012x", i)
		switch notation {
		case "block":
			fmt.Fprintf(&b, "  - name: %q\n    type: vless\n    server: %s\n    port: %d\n    uuid: %s\n    udp: true\n"+
				"    tls: true\n    servername: www.example.com\n    flow: xtls-rprx-vision\n    client-fingerprint: chrome\n"+
				"    reality-opts:\n      public-key: Zk3vQ0m9rT1xYb7uLc2sWn5aHd8jPe4gKf6iOq0tVyA\n      short-id: \"0088\"\n", name, host, 1000+i%60000, id)
		case "flow":
			fmt.Fprintf(&b, "  - {name: %q, type: vless, server: %s, port: %d, uuid: %s, udp: true, "+
				"tls: true, servername: www.example.com, flow: xtls-rprx-vision, client-fingerprint: chrome, "+
				"reality-opts: {public-key: Zk3vQ0m9rT1xYb7uLc2sWn5aHd8jPe4gKf6iOq0tVyA, short-id: \"0088\"}}\n", name, host, 1000+i%60000, id)
		case "json":
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `{"name":%q,"type":"vless","server":%q,"port":%d,"uuid":%q,"udp":true,`+
				`"tls":{"enabled":true,"server_name":"www.example.com","utls":{"enabled":true,"fingerprint":"chrome"},`+
				`"reality":{"enabled":true,"public_key":"Zk3vQ0m9rT1xYb7uLc2sWn5aHd8jPe4gKf6iOq0tVyA","short_id":"0088"}},"flow":"xtls-rprx-vision"}`,
				name, host, 1000+i%60000, id)
		}
	}
	if notation == "json" {
		b.WriteString("]}")
	} else {
		b.WriteString("proxy-groups:\n  - {name: \"x\", type: select, proxies: [DIRECT]}\nrules:\n  - MATCH,x\n")
	}
	return b.String()
}

func BenchmarkRead10000Entries(b *testing.B) {
	nothing := func(string, doc.Items) error { return nil }
	keys := []string{"proxies"}
	for _, notation := range []string{"block", "flow", "json"} {
		text := entries(10_000, notation)
		b.Run(notation, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				var err error
				if notation == "json" {
					_, err = doc.EachJSON(text, keys, nothing)
				} else {
					_, err = doc.EachYAML(text, keys, nothing)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	text := "base: &b {}\n" + entries(10_000, "block")
	b.Run("library", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := doc.EachByLibrary(text, keys, nothing); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkWrite10000Entries(b *testing.B) {
	var all doc.Items
	list := all.Open("", doc.List)
	_, err := doc.EachYAML(entries(10_000, "block"), []string{"proxies"}, func(_ string, entry doc.Items) error {
		all.AddTree("", entry, 0)
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	all.Close(list)
	for i := range all {
		all[i].Quoted = false
	}
	for name, write := range map[string]func(dst []byte, d doc.Items, i int) []byte{
		"yaml":        func(dst []byte, d doc.Items, i int) []byte { return doc.AppendYAMLList(dst, d, i, 2) },
		"json":        doc.AppendJSON,
		"json-indent": func(dst []byte, d doc.Items, i int) []byte { return doc.AppendJSONIndent(dst, d, i, 2) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var dst []byte
			for b.Loop() {
				dst = dst[:0]
				for i := 1; i < len(all); i = all.Next(i) {
					dst = write(dst, all, i)
				}
			}
			b.SetBytes(int64(len(dst)))
		})
	}
}
