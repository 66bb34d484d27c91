package script_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/processors/script"
)

var pool *script.Pool

// The test binary is its own worker.
func TestMain(m *testing.M) {
	script.Main()
	var err error
	if pool, err = script.NewPool(script.Options{}); err != nil {
		panic(err)
	}
	code := m.Run()
	pool.Close()
	os.Exit(code)
}

// runners runs a test with both runners.
func runners(t *testing.T, test func(t *testing.T, r script.Runner)) {
	t.Run("pool", func(t *testing.T) { test(t, pool) })
	t.Run("in process", func(t *testing.T) {
		r := script.InProcess(script.Options{})
		defer r.Close()
		test(t, r)
	})
}

// params makes the params of an inline script.
func params(text string, more ...any) json.RawMessage {
	p := map[string]any{"source": map[string]any{"type": "inline", "content": text}}
	for i := 0; i < len(more); i += 2 {
		p[more[i].(string)] = more[i+1]
	}
	form, err := json.Marshal(p)
	if err != nil {
		panic(err)
	}
	return form
}

// runNodes makes a step and runs it on nodes.
func runNodes(env script.Env, p json.RawMessage, in script.Input, nodes ...sandrone.Node) ([]sandrone.Node, script.Output, error) {
	s, err := script.New(context.Background(), p, env)
	if err != nil {
		return nil, script.Output{}, err
	}
	got, out, err := s.Nodes(context.Background(), in, pointers(nodes))
	return values(got), out, err
}

func values(nodes []*sandrone.Node) (list []sandrone.Node) {
	for _, n := range nodes {
		list = append(list, *n)
	}
	return list
}

func pointers(nodes []sandrone.Node) []*sandrone.Node {
	list := make([]*sandrone.Node, len(nodes))
	for i := range nodes {
		list[i] = &nodes[i]
	}
	return list
}

// runFile makes a step and runs it on a file.
func runFile(env script.Env, p json.RawMessage, in script.Input, file script.Document) (script.Document, script.Output, error) {
	s, err := script.New(context.Background(), p, env)
	if err != nil {
		return script.Document{}, script.Output{}, err
	}
	return s.File(context.Background(), in, file)
}

// eval returns what an expression is in a script of the file stage, as text.
func eval(t *testing.T, env script.Env, expression string) string {
	t.Helper()
	doc, _, err := runFile(env, params("function main(input, api) { input.file.content = String("+expression+"); return input }"), script.Input{}, script.Document{Name: "f", Kind: "static"})
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return doc.Content
}

func codeOf(err error) sandrone.Code {
	if e, ok := errors.AsType[*sandrone.Error](err); ok {
		return e.Code
	}
	return ""
}

func names(nodes []sandrone.Node) string {
	var list []string
	for _, n := range nodes {
		list = append(list, n.Name)
	}
	return strings.Join(list, ",")
}

var sample = []sandrone.Node{
	{Name: "HK 01", Type: sandrone.Shadowsocks, Server: "hk1.example", Port: 8388, Cipher: "aes-128-gcm", Password: "p1-secret-word", SourceFormat: "uri"},
	{Name: "JP 02", Type: sandrone.Trojan, Server: "jp2.example", Port: 443, Password: "p2", TLS: &sandrone.TLS{Enabled: true, ServerName: "jp2.example", SessionTicket: sandrone.Off}},
	{Name: "US 04", Type: sandrone.VLESS, Server: "us4.example", Port: 443, UUID: "6a1f3a52-6f5c-4e0e-9c43-1a2b3c4d5e70",
		Raw: sandrone.Raw{"mihomo.x": json.RawMessage(`{"big":12345678901234567890,"f":1.50}`)}},
}

// many makes nodes of the usual size.
func many(n int) []sandrone.Node {
	nodes := make([]sandrone.Node, n)
	for i := range nodes {
		nodes[i] = sandrone.Node{
			Name: fmt.Sprintf("香港 IEPL %05d", i), Type: sandrone.VLESS, Server: fmt.Sprintf("hk%d.example.com", i), Port: 443,
			UUID: fmt.Sprintf("6a1f3a52-6f5c-4e0e-9c43-1a2b3c4d%04x", i), Flow: "xtls-rprx-vision", Encryption: "none",
			TLS: &sandrone.TLS{Enabled: true, ServerName: fmt.Sprintf("hk%d.example.com", i), ALPN: []string{"h2", "http/1.1"}, ClientFingerprint: "chrome",
				Reality: &sandrone.Reality{Enabled: true, PublicKey: "mOSW0b5mJVvnJ0Zb8Ff1Xq9cJt4YyqTqT8uWc1qXb2s", ShortID: "0123456789abcdef"}},
			Dialer:       &sandrone.Dialer{UDPRelay: sandrone.On},
			Raw:          sandrone.Raw{"mihomo.packet-addr": []byte("true")},
			SourceFormat: "mihomo",
		}
	}
	return nodes
}

const (
	renameScript = `function main(input) { for (const n of input.nodes) n.name = "EDGE " + n.name; return input }`
	spreadScript = `function main(input) { input.nodes = input.nodes.map(n => ({...n, name: "EDGE " + n.name})); return input }`
	filterScript = `function main(input) { input.nodes = input.nodes.filter(n => /[02468]$/.test(n.name)); return input }`
)
