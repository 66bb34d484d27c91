package field_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert/field"
	"github.com/sandrone-gateway/sandrone/convert/nodetest"
)

func TestLookupKnowsLeavesObjectsAndMembersOfMaps(t *testing.T) {
	for _, c := range []struct {
		path       string
		ok, object bool
	}{
		{"tls.server_name", true, false},
		{"tls", true, true},
		{"tls.reality", true, true},
		{"meta", true, false},
		{"meta.group", true, false},
		{"meta.probe.alive", true, false},
		{"raw.mihomo.ws-opts.x", true, false},
		{"transport.headers.Host", true, false},
		{"plugin_options.mode", true, false},
		{"", false, false},
		{"tls.", false, false},
		{"meta.", false, false},
		{"tls.server_name.x", false, false},
		{"nope", false, false},
		{"wireguard.peers.server", false, false},
	} {
		p, ok := field.Lookup(c.path)
		if ok != c.ok || ok && p.IsObject() != c.object {
			t.Errorf("%q: found %v, object %v", c.path, ok, ok && p.IsObject())
		}
	}
}

// What a node's JSON form says at a path is what Get returns, for every leaf of
// random nodes.
func TestGetIsWhatTheNodeSaysInJSON(t *testing.T) {
	rng := nodetest.Rand(7)
	for _, kind := range sandrone.Types {
		n := nodetest.Full(rng, kind)
		text, err := json.Marshal(n)
		if err != nil {
			t.Fatal(err)
		}
		var form map[string]any
		if err := json.Unmarshal(text, &form); err != nil {
			t.Fatal(err)
		}
		for id := range field.Len() {
			path := field.ByID(field.ID(id)).Path
			p, ok := field.Lookup(path)
			if !ok {
				continue
			}
			var want any = form
			for key := range strings.SplitSeq(path, ".") {
				m, _ := want.(map[string]any)
				want = m[key]
			}
			var got any
			if v := p.Get(&n); v != nil {
				text, _ := json.Marshal(v)
				if err := json.Unmarshal(text, &got); err != nil {
					t.Fatal(err)
				}
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s of %s: got %v, want %v", path, kind, got, want)
			}
		}
	}
}

// A value read from one node's JSON and put into an empty node is there again,
// and taking it away leaves the node as it was.
func TestReadPutsAndRemoveTakesAway(t *testing.T) {
	rng := nodetest.Rand(8)
	for _, kind := range sandrone.Types {
		n := nodetest.Full(rng, kind)
		for id := range field.Len() {
			p, ok := field.Lookup(field.ByID(field.ID(id)).Path)
			if !ok || p.Get(&n) == nil {
				continue
			}
			var text bytes.Buffer
			e := json.NewEncoder(&text)
			e.SetEscapeHTML(false)
			if err := e.Encode(p.Get(&n)); err != nil {
				t.Fatal(err)
			}
			value := json.RawMessage(text.Bytes())
			put, err := p.Read(value)
			if err != nil {
				t.Fatalf("%s = %s: %v", p.Path, value, err)
			}
			var m sandrone.Node
			put(&m)
			if !reflect.DeepEqual(p.Get(&m), p.Get(&n)) {
				t.Errorf("%s: got %v, want %v", p.Path, p.Get(&m), p.Get(&n))
			}
			p.Remove(&m)
			if got := p.Get(&m); got != nil && got != false {
				t.Errorf("%s: still %v after it was removed", p.Path, got)
			}
		}
	}
}

func TestReadIsStrict(t *testing.T) {
	for path, values := range map[string][]string{
		"port":                 {`"443"`, `70000`, `-1`, `null`, `1.5`, `1 2`},
		"tls.enabled":          {`"true"`, `1`, `null`},
		"dialer.udp_relay":     {`"yes"`, `null`},
		"tls.alpn":             {`"h2"`, `[1]`, `{}`},
		"meta":                 {`{"a":1}`, `[]`},
		"meta.a":               {`1`, `{}`},
		"plugin_options.mux":   {`1.5`, `[1]`, `{"a":1}`, `null`},
		"wireguard.reserved":   {`["1"]`},
		"name":                 {`1`, `null`, `["a"]`},
		"transport.xhttp.mode": {`{}`},
	} {
		p, ok := field.Lookup(path)
		if !ok {
			t.Fatalf("%s is no path", path)
		}
		for _, v := range values {
			if _, err := p.Read(json.RawMessage(v)); !errors.Is(err, field.ErrType) {
				t.Errorf("%s = %s: got %v, want %v", path, v, err, field.ErrType)
			}
		}
	}
	p, _ := field.Lookup("tls")
	if _, err := p.Read(json.RawMessage(`{}`)); !errors.Is(err, field.ErrObject) {
		t.Errorf("an object: got %v", err)
	}
}

func TestWritesLeaveANodeAloneThatSharesItsObjects(t *testing.T) {
	rng := nodetest.Rand(9)
	for _, kind := range sandrone.Types {
		n := nodetest.Full(rng, kind)
		before := nodetest.Clone(n)
		for id := range field.Len() {
			path := field.ByID(field.ID(id)).Path
			p, ok := field.Lookup(path)
			if !ok {
				continue
			}
			m := n
			p.Remove(&m)
			for _, v := range []string{`"x"`, `7`, `true`, `["x"]`, `[7]`, `{"x":"x"}`} {
				if put, err := p.Read(json.RawMessage(v)); err == nil {
					m = n
					put(&m)
				}
			}
			if i := strings.LastIndexByte(path, '.'); i > 0 {
				if o, ok := field.Lookup(path[:i]); ok {
					m = n
					o.Remove(&m)
				}
			}
		}
		if !reflect.DeepEqual(n, before) {
			t.Errorf("%s: the original changed: %v", kind, nodetest.Diff(&n, &before))
		}
	}
}
