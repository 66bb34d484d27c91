package script_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/processors/script"
)

func TestDecodeReadsEveryParam(t *testing.T) {
	c, err := script.Decode([]byte(`{
		"source": {"type": " Remote ", "remote": {"url": "https://example.com/s.js", "user_agent": "u", "proxy": "p", "timeout_ms": 5, "cache_ttl_seconds": 6}, "sha256": "` + strings.Repeat("AB", 32) + `"},
		"engine": "js", "args": {"a": [1, null], "b": "x"}, "timeout_ms": 500, "id": " x ",
		"permissions": {"network": true, "resources": ["r"]}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := script.Remote{URL: "https://example.com/s.js", UserAgent: "u", Proxy: "p", TimeoutMS: 5, CacheTTLSeconds: 6}
	if c.Source.Type != "remote" || c.Source.Remote != want || c.Source.SHA256 != strings.Repeat("ab", 32) {
		t.Errorf("got source %+v", c.Source)
	}
	if string(c.Args["a"]) != "[1,null]" || string(c.Args["b"]) != `"x"` || c.Timeout != 500*time.Millisecond || c.ID != "x" {
		t.Errorf("got %+v", c)
	}
}

func TestDecodeOfTimeout(t *testing.T) {
	for text, want := range map[string]time.Duration{
		`0`: 2 * time.Second, `-5`: 2 * time.Second, `1`: time.Millisecond, `60000`: time.Minute, `60001`: time.Minute, `99999999999`: time.Minute,
	} {
		c, err := script.Decode([]byte(`{"content": "x", "timeout_ms": ` + text + `}`))
		if err != nil || c.Timeout != want {
			t.Errorf("%s: got %v, %v; want %v", text, c, err, want)
		}
	}
}

func TestDecodeTakesOlderForms(t *testing.T) {
	c, err := script.Decode([]byte(`{"content": "function main(){}"}`))
	if err != nil || c.Source.Type != "inline" || c.Source.Content == "" || c.ID != "<inline>" {
		t.Errorf("got %+v, %v", c, err)
	}
	c, err = script.Decode([]byte(`{"path": "s.js"}`))
	if err != nil || c.Source.Type != "file" || c.Source.Name != "s.js" {
		t.Errorf("got %+v, %v", c, err)
	}
}

func TestDecodeRefuses(t *testing.T) {
	const hash = "0000000000000000000000000000000000000000000000000000000000000000"
	for _, c := range []struct{ params, field string }{
		{``, "source"},
		{`{`, ""},
		{`[]`, ""},
		{`{"sauce": 1}`, "sauce"},
		{`{"content": "x", "content": "y"}`, "content"},
		{`{"content": "x", "path": "y"}`, "source"},
		{`{"content": "x", "source": {"type": "inline", "content": "x"}}`, "source"},
		{`{"content": " \n"}`, "content"},
		{`{"content": 5}`, "content"},
		{`{"path": ""}`, "path"},
		{`{"content": "x", "engine": "lua"}`, "engine"},
		{`{"content": "x", "engine": ""}`, "engine"},
		{`{"content": "x", "args": []}`, "args"},
		{`{"content": "x", "args": null}`, "args"},
		{`{"content": "x", "timeout_ms": "5"}`, "timeout_ms"},
		{`{"content": "x", "timeout_ms": 1.5}`, "timeout_ms"},
		{`{"content": "x", "id": 1}`, "id"},
		{`{"content": "x", "permissions": {"network": 1}}`, "permissions.network"},
		{`{"content": "x", "permissions": {"resources": ["a", 1]}}`, "permissions.resources[1]"},
		{`{"content": "x", "permissions": {"files": true}}`, "permissions.files"},
		{`{"source": "x"}`, "source"},
		{`{"source": {}}`, "source.type"},
		{`{"source": {"type": "module", "content": "x"}}`, "source.type"},
		{`{"source": {"type": "inline"}}`, "source.content"},
		{`{"source": {"type": "inline", "content": "x", "name": "y"}}`, "source.name"},
		{`{"source": {"type": "inline", "content": "x", "args": {}}}`, "source.args"},
		{`{"source": {"type": "inline", "content": "x", "code": 1}}`, "source.code"},
		{`{"source": {"type": "inline", "content": "x", "sha256": "00"}}`, "source.sha256"},
		{`{"source": {"type": "inline", "content": "x", "sha256": "` + hash + `"}}`, "source.sha256"},
		{`{"source": {"type": "file"}}`, "source.name"},
		{`{"source": {"type": "file", "name": "files/x"}}`, "source.name"},
		{`{"source": {"type": "file", "name": "/x"}}`, "source.name"},
		{`{"source": {"type": "file", "name": "../x"}}`, "source.name"},
		{`{"source": {"type": "file", "name": "a\\b"}}`, "source.name"},
		{`{"source": {"type": "file", "name": "a\u0000"}}`, "source.name"},
		{`{"source": {"type": "file", "name": "a", "args": null}}`, "source.args"},
		{`{"source": {"type": "file", "name": "a", "args": {"k": 1}}}`, "source.args.k"},
		{`{"source": {"type": "remote", "remote": {}}}`, "source.remote.url"},
		{`{"source": {"type": "remote", "remote": {"url": "ftp://x/y"}}}`, "source.remote.url"},
		{`{"source": {"type": "remote", "remote": {"url": "https:///y"}}}`, "source.remote.url"},
		{`{"source": {"type": "remote", "remote": {"url": "https://x/y", "timeout_ms": -1}}}`, "source.remote.timeout_ms"},
		{`{"source": {"type": "remote", "remote": {"url": "https://x/y"}, "content": "x"}}`, "source.content"},
		{`{"content": "` + strings.Repeat("x", script.MaxText+1) + `"}`, "content"},
	} {
		_, err := script.Decode([]byte(c.params))
		e, ok := errors.AsType[*sandrone.Error](err)
		if !ok || e.Code != sandrone.ProcessorConfigInvalid || e.Field != c.field || e.Processor != "script" {
			t.Errorf("%.80s: got %v (field %q), want field %q", c.params, err, sandrone.AsError(err).Field, c.field)
		}
	}
}
