package field_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert/field"
	"github.com/sandrone-gateway/sandrone/convert/nodetest"
)

// Nodes are written as encoding/json writes them.
func TestAppendJSON(t *testing.T) {
	nodes := nodetest.All(nodetest.Rand(11), 60)
	index := 3
	nodes = append(nodes, sandrone.Node{}, sandrone.Node{
		Name: "\"\\\x01\b\f\n\t\u2028<&>", TLS: &sandrone.TLS{}, Meta: map[string]string{}, Tags: []string{},
		PluginOptions: map[string]any{"b": true, "a": []string{"x"}, "c": map[string]string{"k": "<v>"}, "n": 5, "s": "text", "": nil},
		Opaque:        &sandrone.Opaque{Family: "uri", Options: []byte(`{"z":1,"a":2}`)},
		Warnings:      []sandrone.Warning{{NodeIndex: &index, NodeContext: &sandrone.NodeContext{}, AgeSeconds: 5}},
		Raw:           sandrone.Raw{"z": []byte(`{"b": [1e3, {}]}`), "a": []byte(`null`)},
		Dialer:        &sandrone.Dialer{UDPRelay: sandrone.Off, ECN: sandrone.On},
		WireGuard:     &sandrone.WireGuardOptions{Reserved: []int{1, 2}, Peers: []sandrone.WireGuardPeer{{Port: 1}, {}}},
	})
	for i := range nodes {
		var want bytes.Buffer
		e := json.NewEncoder(&want)
		e.SetEscapeHTML(false)
		if err := e.Encode(&nodes[i]); err != nil {
			t.Fatal(err)
		}
		got, err := field.AppendJSON([]byte("x"), &nodes[i])
		if err != nil || string(got) != "x"+want.String()[:want.Len()-1] {
			t.Errorf("node %d is\n%s\nwant\n%s (%v)", i, got, &want, err)
		}
		var lines bytes.Buffer
		if err := json.Indent(&lines, bytes.TrimSpace(want.Bytes()), "    ", "  "); err != nil {
			t.Fatal(err)
		}
		if got, err := field.AppendJSONIndent(nil, &nodes[i], 2); err != nil || string(got) != lines.String() {
			t.Errorf("node %d in lines is\n%s\nwant\n%s (%v)", i, got, &lines, err)
		}
	}
	for _, n := range []sandrone.Node{
		{Raw: sandrone.Raw{"x": []byte(`{`)}}, {Opaque: &sandrone.Opaque{Options: []byte("1 2")}}, {PluginOptions: map[string]any{"f": func() {}}},
	} {
		if got, err := field.AppendJSON(nil, &n); err == nil {
			t.Errorf("%s is no error", got)
		}
	}
}
