package script

import (
	"bytes"
	"testing"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert/nodetest"
)

// Nodes are written as encoding/json writes them.
func TestEncodeNodes(t *testing.T) {
	nodes := nodetest.All(nodetest.Rand(11), 60)
	index := 3
	nodes = append(nodes, sandrone.Node{}, sandrone.Node{
		Name: "\"\\\x01\b\f\n\u2028\xff<&>", TLS: &sandrone.TLS{}, Meta: map[string]string{}, Tags: []string{},
		PluginOptions: map[string]any{"b": true, "a": []string{"x"}, "c": map[string]string{"k": "<v>"}, "n": 5, "": nil},
		Warnings:      []sandrone.Warning{{NodeIndex: &index, NodeContext: &sandrone.NodeContext{}}},
		Raw:           sandrone.Raw{"z": []byte(`{"b":[1e3]}`), "a": []byte(`null`)},
	})
	got, err := encodeNodes(nodes)
	if err != nil {
		t.Fatal(err)
	}
	for i := range nodes {
		want, err := encode(&nodes[i])
		// What is no UTF-8 is written as the character instead of its escape.
		want = bytes.ReplaceAll(want, []byte(`\ufffd`), []byte("\ufffd"))
		if err != nil || !bytes.Equal(got[i], want) {
			t.Errorf("node %d is\n%s\nwant\n%s (%v)", i, got[i], want, err)
		}
	}
	if _, err := encodeNodes([]sandrone.Node{{Raw: sandrone.Raw{"x": []byte(`{`)}}}); err == nil {
		t.Error("raw members that are no JSON passed")
	}
}
