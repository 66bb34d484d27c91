package main

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// write puts listings into files and returns their paths.
func write(t *testing.T, listings ...string) (paths []string) {
	t.Helper()
	dir := t.TempDir()
	for i, text := range listings {
		path := filepath.Join(dir, string(rune('a'+i))+".json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}

const (
	meta = `{
"mihomo":[
{"group":"geosite","name":"cn","rule_kind":"domain","url":"https://example.com/geosite/cn.mrs"},
{"group":"geoip","name":"cn","rule_kind":"ip","url":"https://example.com/geoip/cn.mrs"},
{"group":"geosite","name":"a!b","rule_kind":"domain","url":"https://example.com/geosite/a!b.mrs"}],
"sing-box":[{"group":"geosite","name":"cn","rule_kind":"domain","url":"https://example.com/geosite/cn.srs"}]}`
	rocket = `{"shadowrocket":[
{"name":"Lan","rule_kind":"mixed","reference_type":"RULE-SET","url":"https://example.com/Lan.list","category":"Lan"},
{"name":"Big","rule_kind":"domain","reference_type":"DOMAIN-SET","url":"https://example.com/Big.list"}]}`
)

func TestListingsBecomeOneSnapshot(t *testing.T) {
	out := filepath.Join(t.TempDir(), "snapshot.json.gz")
	var log bytes.Buffer
	if err := run(append([]string{"-o", out}, write(t, meta, rocket)...), &log); err != nil {
		t.Fatal(err)
	}
	if want := "mihomo: 3 rule sets\nsing-box: 1 rule sets\nshadowrocket: 2 rule sets\n"; log.String() != want {
		t.Errorf("got %q, want %q", &log, want)
	}
	packed, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"mihomo":[{"name":"a!b","url":"https://example.com/geosite/a!b.mrs","rule_kind":"domain"},{"name":"cn","url":"https://example.com/geosite/cn.mrs","rule_kind":"domain"},{"name":"cn-ip","url":"https://example.com/geoip/cn.mrs","rule_kind":"ip"}]
,"sing-box":[{"name":"cn","url":"https://example.com/geosite/cn.srs","rule_kind":"domain"}]
,"shadowrocket":[{"name":"Big","url":"https://example.com/Big.list","rule_kind":"domain","reference_type":"DOMAIN-SET"},{"name":"Lan","url":"https://example.com/Lan.list","rule_kind":"mixed","reference_type":"RULE-SET"}]
}
`
	if string(text) != want {
		t.Errorf("got %s", text)
	}
}

func TestABadListingMakesNoSnapshot(t *testing.T) {
	tests := []struct{ name, listing, words string }{
		{"no file", "", "name the listings"},
		{"not JSON", "x", "invalid character"},
		{"a client of no kind", `{"surge":[]}`, `unknown client "surge"`},
		{"a client that is missing", `{"mihomo":[{"name":"a","url":"https://example.com/a","rule_kind":"domain"}]}`, "sing-box: no rule sets"},
		{"an empty list", strings.Replace(meta, `"sing-box":[{"group":"geosite","name":"cn","rule_kind":"domain","url":"https://example.com/geosite/cn.srs"}]`, `"sing-box":[]`, 1), "sing-box: no rule sets"},
		{"a name that stands twice", strings.Replace(meta, `"a!b"`, `"cn"`, 1), `mihomo: rule set "cn" stands twice`},
		{"an address that stands twice", strings.Replace(meta, `geosite/a!b.mrs`, `geosite/cn.mrs`, 1), `stands twice`},
		{"plain http", strings.Replace(meta, "https://example.com/geosite/cn.srs", "http://example.com/geosite/cn.srs", 1), "no absolute https address"},
		{"a kind of another client", strings.Replace(meta, `"rule_kind":"ip"`, `"rule_kind":"mixed"`, 1), `unknown kind "mixed"`},
		{"a reference type that is not the kind's", strings.Replace(rocket, `"RULE-SET"`, `"DOMAIN-SET"`, 1), `kind mixed has reference type "DOMAIN-SET"`},
		{"no name", strings.Replace(rocket, `"Lan","rule`, `"","rule`, 1), "it has no name"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "snapshot.json.gz")
			args := []string{"-o", out}
			switch {
			case strings.Contains(test.listing, "shadowrocket"):
				args = append(args, write(t, meta, test.listing)...)
			case strings.Contains(test.listing, "sing-box"):
				args = append(args, write(t, test.listing, rocket)...)
			case test.listing != "":
				args = append(args, write(t, test.listing)...)
			}
			err := run(args, io.Discard)
			if err == nil || !strings.Contains(err.Error(), test.words) {
				t.Errorf("got %v, want an error with %q", err, test.words)
			}
			if _, err := os.Stat(out); err == nil {
				t.Error("a snapshot was written")
			}
		})
	}
}
