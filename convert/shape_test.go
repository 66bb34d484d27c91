package convert_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sandrone-gateway/sandrone/convert"
)

func TestShapeKnowsTheMembersOfAnObject(t *testing.T) {
	s := convert.ShapeOf(`// a comment
	{ /* another */ "log": {"type": "x", "list": [1, {"a": "]}\""}]}, # and one more
	"version": 1, "flag":true, "none": null, "text": "a\"b}", "neg": -1.5,
	"outbounds": [ "odd", {"type": "a", "tag": "t", "inner": {"deep": 1}}, {"protocol": "b",}, ], "last": [],}`)
	if s.JSON() != '{' {
		t.Fatalf("got %q", s.JSON())
	}
	for key, want := range map[string]byte{
		"log": '{', "version": '0', "flag": 't', "none": 'n', "text": '"', "neg": '0', "outbounds": '[', "last": '[',
		"type": 0, "list": 0, "a": 0, "": 0,
	} {
		if got := s.Kind(key); got != want {
			t.Errorf("%s: got %q, want %q", key, got, want)
		}
	}
	if !s.Has("log", "last") || s.Has("log", "type") || !s.HasAny("type", "last") || s.HasAny("type", "deep") {
		t.Error("members are told wrongly")
	}
	first := s.First("outbounds")
	if !first.Has("type", "tag", "inner") || first.HasAny("deep", "protocol", "last") {
		t.Error("the first element is told wrongly")
	}
	var seen []string
	for e := range s.Elements("outbounds") {
		seen = append(seen, fmt.Sprint(e.Has("type"), e.Has("protocol"), e.Has("none")))
	}
	if !slices.Equal(seen, []string{"true false false", "false true false"}) {
		t.Errorf("elements: got %q", seen)
	}
	for range s.Elements("last") {
		t.Error("an empty list has an element")
	}
	for range s.Elements("log") {
		t.Error("an object has an element")
	}
}

func TestShapeKnowsTheFirstEntryOfAList(t *testing.T) {
	for text, want := range map[string]bool{
		"- name: a\n  type: b\n":                        true,
		"- server: a\n  type: b\n  name: c":             true,
		"# comment\n-\n  type: b\n\n  \"name\": c\n":    true,
		"  - type: b\n    name: c\n":                    true,
		"- {name: a, type: b}\n":                        true,
		"- {\"name\":\"a\",'type':'b'}\n":               true,
		"- {name: a}\n- {type: b}\n":                    false,
		"- name: a\ntype: b\n":                          false,
		"- trojan://p@name:1?type=ws#a\n":               false,
		"- {rename: a, prototype: b}\n":                 false,
		"- name:a, type:b\n":                            false,
		"name: a\ntype: b\n":                            false,
		"- a: name\n  b: type\n":                        false,
		"- " + strings.Repeat("x", 1<<20) + "\n  name:": false,
		"": false,
	} {
		if got := convert.ShapeOf(text).EntryHas("name", "type"); got != want {
			t.Errorf("%.60q: got %v, want %v", text, got, want)
		}
	}
	if !convert.ShapeOf("\n  proxies:\n  - a\n").TopKey("proxies") || convert.ShapeOf("a:\n  proxies:\n").TopKey("proxies") {
		t.Error("the top level of an indented document is told wrongly")
	}
}

func TestShapeKnowsArraysAndFlowStyle(t *testing.T) {
	s := convert.ShapeOf(`[{"outbounds": [{"protocol": "a"}]}, {"outbounds": []}]`)
	if s.JSON() != '[' || s.Has("outbounds") {
		t.Error("an array is told wrongly")
	}
	n := 0
	for e := range s.Elements("") {
		if n++; n == 1 && !e.First("outbounds").Has("protocol") {
			t.Error("the list in an element is not found")
		}
	}
	if n != 2 {
		t.Errorf("got %d elements", n)
	}
	flow := convert.ShapeOf(`{name: a#b, type: ss, path: /x//y, url: http://h, port: 1}`)
	if !flow.Has("name", "type", "path", "url", "port") {
		t.Error("flow style is told wrongly")
	}
}

func TestShapeKnowsProfilesAndYAML(t *testing.T) {
	s := convert.ShapeOf("# note\r\n\r\n[General]\r\nkey: value\r\n; x\n[ Proxy ]\nA = ss, h, 1\n  indented: 1\nmode:\n- name: x\nurl://x\n\"quoted\": 1\n")
	if s.JSON() != 0 {
		t.Error("a section is taken for JSON")
	}
	if !s.Section("general") || !s.Section("remote", " Proxy ") || s.Section("A") {
		t.Error("sections are told wrongly")
	}
	if !s.TopKey("key") || !s.TopKey("no", "mode") || !s.TopKey("quoted") || s.TopKey("indented", "url", "- name", "name") {
		t.Error("keys are told wrongly")
	}
	if got := s.FirstLine(); got != "[General]" {
		t.Errorf("first line: got %q", got)
	}
	if got := convert.ShapeOf("//x\n#y\n\n a = b\n").FirstLine(); got != "a = b" {
		t.Errorf("first line: got %q", got)
	}
}

func TestShapeOfBrokenTextIsWhatStandsBeforeTheFault(t *testing.T) {
	for _, text := range []string{"", "{", `{"a`, `{"a"`, `{"a":`, `{"a":}`, `{"a":1,,"b":2}`, `{]`, `[`, `[}`, `[{`, `[{"a":1}`, `[{"a":1}}{"b"`, `{"a":"\`, "/*", "//", "{:1}", `[{]}`} {
		s := convert.ShapeOf(text)
		s.Has("none")
		for e := range s.Elements("") {
			e.Has("none")
		}
		for range s.Elements("a") {
		}
	}
	s := convert.ShapeOf(`{"a": 1, "b": [{"c": 1}, {"d`)
	if !s.Has("a", "b") || !s.First("b").Has("c") {
		t.Error("what stands before the fault is not told")
	}
}

func TestLinesEndInAnyWay(t *testing.T) {
	got := slices.Collect(convert.Lines("a\nb\r\nc\rd\r\r\n\ne"))
	if want := []string{"a", "b", "c", "d", "", "", "e"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func FuzzShape(f *testing.F) {
	for _, s := range []string{`{"a":[{"b":1}]}`, `[{"a":"\""}]`, "a: 1\n[x]", `{"a":{"a":[`, "{a: b#c}", ":", `{"":[],"a":[{"b":1}]}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s := convert.ShapeOf(text)
		s.TopKey("a")
		s.FirstLine()
		for e := range s.Elements("a") {
			e.Has("b")
		}
		// Of sound JSON it must know exactly the members.
		var m map[string]json.RawMessage
		if json.Unmarshal([]byte(text), &m) != nil || strings.Contains(text, `\`) {
			return
		}
		for key := range m {
			if !s.Has(key) && len(m) < 1000 && strings.ToValidUTF8(key, "") == key && !strings.ContainsRune(key, '\uFFFD') {
				t.Fatalf("the member %q is not found", key)
			}
		}
		if s.Has("no such member") {
			t.Fatal("a member is found that is not there")
		}
	})
}

// document is a client file in JSON of n outbounds.
func document(n int) string {
	var b strings.Builder
	b.WriteString(`{"log": {"level": "info"}, "outbounds": [`)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"type": "vless", "tag": "node %d", "server": "s%d.example.com", "server_port": 443, "uuid": "6f1c2b3a-0d4e-4f5a-8b6c-7d8e9fa0b1c2", "flow": "xtls-rprx-vision", "tls": {"enabled": true, "server_name": "sni%d.example.com", "utls": {"enabled": true, "fingerprint": "chrome"}, "reality": {"enabled": true, "public_key": "sqE6bq1lUVhUM2aQmqqJZPl3rJR9sxGO6kFXHCMpV1s", "short_id": "0a1b2c3d"}}}`, i, i, i)
	}
	b.WriteString(`], "route": {}}`)
	return b.String()
}

func BenchmarkShape(b *testing.B) {
	text := document(10000)
	b.SetBytes(int64(len(text)))
	b.Run("a member that is not there", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			if convert.ShapeOf(text).Has("servers") {
				b.Fatal("found")
			}
		}
	})
	b.Run("the first element", func(b *testing.B) {
		for b.Loop() {
			if !convert.ShapeOf(text).First("outbounds").Has("type") {
				b.Fatal("not found")
			}
		}
	})
}
