//go:build cores

// What a renderer writes is right when the program that reads it says so. The
// tests of this file ask the real clients.
package formats_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert"
	"github.com/sandrone-gateway/sandrone/convert/formats"
	"github.com/sandrone-gateway/sandrone/core/coretest"
	"github.com/sandrone-gateway/sandrone/tools/gensub/synth"
)

// client is a real client program and what is rendered for it.
type client struct {
	name    string // of the executable
	file    string // name of the file it checks
	check   []string
	targets []target

	// culprit finds the list and the index of the entry that a message of the
	// client is about.
	culprit *regexp.Regexp
	names   string // key under which an entry has its name
}

// target is an output format in the version that the client must read.
type target struct {
	name  string
	lacks []sandrone.Type // generated types that this version cannot express
}

var clients = []client{
	{
		name: "mihomo", file: "config.yaml", names: "name",
		check:   []string{"-t", "-d", ".", "-f", "config.yaml"},
		culprit: regexp.MustCompile(`(prox)y (\d+): `),
		targets: []target{
			{"mihomo-proxies@1.19", nil},
			{"mihomo-proxies@1.18", []sandrone.Type{sandrone.AnyTLS}},
		},
	},
	{
		name: "sing-box", file: "config.json", names: "tag",
		check:   []string{"check", "--disable-color", "-c", "config.json"},
		culprit: regexp.MustCompile(`(outbound|endpoint)s?\[(\d+)\]`),
		targets: []target{{"sing-box-outbounds@1.13", []sandrone.Type{sandrone.ShadowsocksR}}},
	},
	{
		name: "sing-box-1.14", file: "config.json", names: "tag",
		check:   []string{"check", "--disable-color", "-c", "config.json"},
		culprit: regexp.MustCompile(`(outbound|endpoint)s?\[(\d+)\]`),
		targets: []target{
			{"sing-box-outbounds@1.13", []sandrone.Type{sandrone.ShadowsocksR}}, // loads in 1.14 too
			{"sing-box-outbounds@1.14", []sandrone.Type{sandrone.ShadowsocksR}},
		},
	},
}

// leftOut lists the nodes that a client is known to refuse through no fault of
// the rendering. Each row must be needed: a client that takes one of its nodes
// fails the test.
var leftOut = []struct {
	client string // beginning of the name; empty: every client
	reason string
	match  func(s source) bool
}{
	{"", "the VLESS keys of the corpus are invented: no client takes them and the renderer passes them on as text",
		func(s source) bool { return s.label == "vless-026" || s.label == "vl-enc-pq" }},
	{"sing-box", "naive is not built into the core", isType(sandrone.Naive)},
	{"sing-box", "tailscale is not built into the core", isType(sandrone.Tailscale)},
	{"sing-box", "the check opens the private key, a file that is not there",
		func(s source) bool { return s.node.SSH != nil && s.node.SSH.PrivateKeyPath != "" }},
	{"sing-box", "the check opens the certificate, a file that is not there",
		func(s source) bool { return s.node.TLS != nil && strings.HasPrefix(s.node.TLS.Certificate, "./") }},
	{"sing-box-1.14", "WireGuard is not built into this core", isType(sandrone.WireGuard)},
}

func isType(t sandrone.Type) func(source) bool {
	return func(s source) bool { return s.node.Type == t }
}

// source is a node and where it came from.
type source struct {
	label string
	node  sandrone.Node
}

// maxRefusals bounds how many refusals of one document are looked for.
const maxRefusals = 40

func TestClientsAcceptEveryNodeOfTheCorpus(t *testing.T) {
	documents := corpusDocuments(t)
	forEachTarget(t, func(t *testing.T, c *client, to target) {
		for name, sources := range documents {
			t.Run(name, func(t *testing.T) {
				rendered := c.accepts(t, to.name, c.withoutLeftOut(t, to.name, sources))
				if rendered.Count == 0 {
					t.Error("no node was written")
				}
				for _, w := range rendered.Warnings {
					if w.Code == sandrone.WarnNodeSkipped {
						t.Logf("skipped %q: %s", w.Node, w.Message)
					}
				}
			})
		}
	})
}

func TestClientsAcceptEveryGeneratedNode(t *testing.T) {
	const count = 2000
	documents := map[string][]source{}
	for seed, format := range []synth.Format{synth.Base64, synth.Mihomo, synth.SingBox} {
		nodes, err := synth.Build(synth.Options{Nodes: count, Seed: seed + 1, RepeatNames: 0.01})
		if err != nil {
			t.Fatal(err)
		}
		text, left, err := synth.Render(nodes, format, synth.Layout{})
		if err != nil {
			t.Fatal(err)
		}
		sources := sourcesOf(t, string(format), string(text))
		if len(sources) != count-left {
			t.Fatalf("%s: read %d nodes, want %d", format, len(sources), count-left)
		}
		for i := range sources {
			sources[i].label = fmt.Sprintf("node %d", i)
		}
		documents[string(format)] = sources
	}
	forEachTarget(t, func(t *testing.T, c *client, to target) {
		for name, sources := range documents {
			t.Run(name, func(t *testing.T) {
				sources := c.withoutLeftOut(t, to.name, sources)
				want := 0
				for _, s := range sources {
					if !slices.Contains(to.lacks, s.node.Type) {
						want++
					}
				}
				if got := c.accepts(t, to.name, sources).Count; got != want {
					t.Errorf("%d of %d nodes written, want %d", got, len(sources), want)
				}
			})
		}
	})
}

// mihomo reads YAML 1.1 with additions of its own. A group that names an absent
// node is an error, so naming all of them in plain ASCII asks what it read.
func TestMihomoReadsBackAwkwardTexts(t *testing.T) {
	texts := []string{
		"81e3", "1e3", "0x1f", "0o17", "0b11", "0123", "0088", "08", "1_000", "12:30", "1:2:3", "190:20:30", "-1", "+1", "1.", ".5",
		".inf", "-.inf", ".nan", "NaN", "Infinity", "2001-12-14", "2001-12-14t21:59:43.10-05:00", "1.2.3.4", "::1", "2001:db8::1",
		"yes", "No", "on", "OFF", "y", "N", "true", "False", "null", "Null", "~", "<<", "=", "-", "--- ", "---", "...", "?", ":", "!", "!!str x",
		"*alias", "&anchor", "|", ">", "%TAG", "@at", "`tick`", "#hash", "a #b", "a: b # c", "a:", ":a", "- a", "? a", "[a]", "{a: b}", "a, b", ",",
		`"quoted"`, `'single'`, `it's`, `back\slash`, `\n`, `C:\x41`, "a\tb", "tab\t", "100%", "a=b&c", "$HOME", "(x)", "x^y",
		"🇭🇰 香港 01", "日本語", "ñandú", "e\u0301", "👩‍👩‍👧", "\u00a0nbsp", "right\u200fto left", "line\u2028separator", "next\u0085line", "del\x7f", "bell\a",
		strings.Repeat("long ", 60) + "end",
	}
	shortIDs := []string{"81e3", "0088", "00", "12345678", "1e10", "0123", "012345e7", "08", ""}
	var nodes []sandrone.Node
	for i, text := range texts {
		nodes = append(nodes, sandrone.Node{
			Name: text, Type: sandrone.Trojan, Server: "trojan.example.com", Port: 443, Password: text,
			TLS:    &sandrone.TLS{Enabled: true, ServerName: "www.example.com"},
			Dialer: &sandrone.Dialer{Proxy: texts[(i+1)%len(texts)]}, // another place where it looks a name up
		})
	}
	nodes[0].Dialer = nil // no ring of dialers
	for i, id := range shortIDs {
		nodes = append(nodes, sandrone.Node{
			Name: fmt.Sprintf("reality %d", i), Type: sandrone.VLESS, Server: "vless.example.com", Port: 443,
			UUID: "6f1c2b3a-0d4e-4f5a-8b6c-7d8e9fa0b1c2", Encryption: "none", Flow: "xtls-rprx-vision",
			TLS: &sandrone.TLS{Enabled: true, ServerName: "www.example.com", ClientFingerprint: "chrome",
				Reality: &sandrone.Reality{Enabled: true, PublicKey: "Zk3vQ0m9rT1xYb7uLc2sWn5aHd8jPe4gKf6iOq0tVyA", ShortID: id}},
		})
	}

	mihomo := &clients[0]
	program := coretest.Path(t, mihomo.name)
	rendered, _, err := formats.Registry().Render("mihomo-proxies", nodes, convert.RenderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, len(nodes))
	for i, n := range nodes {
		if names[i] = strconv.QuoteToASCII(n.Name); rendered.Names[i] != n.Name {
			t.Errorf("wrote the name %q for %q", rendered.Names[i], n.Name)
		}
	}
	config := func(names []string) []byte {
		return fmt.Appendf(nil, "%s\nproxy-groups:\n  - {name: G, type: select, proxies: [%s]}\n", rendered.Body, strings.Join(names, ", "))
	}
	if refusal := mihomo.ask(t, program, config(names)); refusal != "" {
		t.Errorf("refused: %s\n%s", refusal, rendered.Body)
	}
	if mihomo.ask(t, program, config(append(names, `"81e4"`))) == "" {
		t.Error("an absent name was accepted, so this test shows nothing")
	}
}

// forEachTarget runs a test for every target of every client.
func forEachTarget(t *testing.T, test func(*testing.T, *client, target)) {
	for i := range clients {
		c := &clients[i]
		t.Run(c.name, func(t *testing.T) {
			coretest.Path(t, c.name)
			for _, to := range c.targets {
				t.Run(to.name, func(t *testing.T) { test(t, c, to) })
			}
		})
	}
}

// ask has the client check one document and returns why it refused it, or "".
func (c *client) ask(t *testing.T, program string, document []byte) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, c.file), document, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, c.check...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}
	said, err := cmd.CombinedOutput()
	if err == nil {
		return ""
	}
	if ctx.Err() != nil {
		t.Fatalf("%s gave no answer in a minute", c.name)
	}
	for line := range strings.Lines(string(said)) {
		if _, reason, ok := strings.Cut(line, "level=error msg="); ok {
			return strings.TrimSpace(reason)
		}
		if _, reason, ok := strings.Cut(line, "FATAL"); ok {
			return strings.TrimSpace(reason)
		}
	}
	return fmt.Sprintf("%v: %.400s", err, said)
}

// accepts renders the nodes, reports every one that the client refuses, and
// returns the rendering of them all.
func (c *client) accepts(t *testing.T, target string, sources []source) convert.Rendered {
	t.Helper()
	program := coretest.Path(t, c.name)
	all := c.render(t, target, sources)
	rendered := all
	for range maxRefusals {
		if rendered.Count == 0 {
			return all
		}
		refusal := c.ask(t, program, rendered.Body)
		if refusal == "" {
			return all
		}
		i := c.refused(refusal, rendered)
		if i < 0 {
			i = c.byHalving(t, program, target, sources)
		}
		if i < 0 {
			t.Errorf("refused, and no single node is at fault: %s", refusal)
			return all
		}
		t.Errorf("%s %q (%s): %s", sources[i].label, sources[i].node.Name, sources[i].node.Type, refusal)
		sources = slices.Delete(slices.Clone(sources), i, i+1)
		rendered = c.render(t, target, sources)
	}
	t.Errorf("%d refusals; there may be more", maxRefusals)
	return all
}

func (c *client) render(t *testing.T, target string, sources []source) convert.Rendered {
	t.Helper()
	nodes := make([]sandrone.Node, len(sources))
	for i, s := range sources {
		nodes[i] = s.node
	}
	// sing-box refuses members that it does not know, and members of its own
	// format that we do not know are written back; mihomo lets them pass.
	o := convert.RenderOptions{DropRaw: strings.HasPrefix(c.name, "sing-box")}
	rendered, _, err := formats.Registry().Render(target, nodes, o)
	if e := sandrone.AsError(err); e != nil && e.Code != sandrone.RenderFailed {
		t.Fatal(err)
	}
	return rendered
}

// refused returns the index of the node that a refusal names, or -1.
func (c *client) refused(refusal string, rendered convert.Rendered) int {
	found := c.culprit.FindStringSubmatch(refusal)
	if found == nil {
		return -1
	}
	var document map[string][]map[string]any // JSON is YAML
	if yaml.Unmarshal(rendered.Body, &document) != nil {
		return -1
	}
	list := document[map[string]string{"prox": "proxies", "outbound": "outbounds", "endpoint": "endpoints"}[found[1]]]
	i, err := strconv.Atoi(found[2])
	if err != nil || i >= len(list) {
		return -1
	}
	name, _ := list[i][c.names].(string)
	if at := slices.Index(rendered.Names, name); at >= 0 {
		return at
	}
	// An entry without a node of its own belongs to the one that dials by it.
	for _, entry := range list {
		if entry["detour"] == name {
			owner, _ := entry[c.names].(string)
			return slices.Index(rendered.Names, owner)
		}
	}
	return -1
}

// byHalving finds a node that is refused alone, or returns -1.
func (c *client) byHalving(t *testing.T, program, target string, sources []source) int {
	t.Helper()
	refuses := func(part []source) bool {
		rendered := c.render(t, target, part)
		return rendered.Count > 0 && c.ask(t, program, rendered.Body) != ""
	}
	low, high := 0, len(sources)
	for high-low > 1 {
		switch middle := (low + high) / 2; {
		case refuses(sources[low:middle]):
			high = middle
		case refuses(sources[middle:high]):
			low = middle
		default:
			return -1
		}
	}
	return low
}

// withoutLeftOut takes the nodes of the table above out, after seeing that the
// client does refuse them.
func (c *client) withoutLeftOut(t *testing.T, target string, sources []source) []source {
	t.Helper()
	var kept []source
	seen := map[int]bool{} // one node a row is enough
	for _, s := range sources {
		row := -1
		for i, r := range leftOut {
			if strings.HasPrefix(c.name, r.client) && r.match(s) {
				row = i
				break
			}
		}
		if row < 0 {
			kept = append(kept, s)
			continue
		}
		if seen[row] {
			continue
		}
		seen[row] = true
		rendered := c.render(t, target, []source{s})
		if rendered.Count > 0 && c.ask(t, coretest.Path(t, c.name), rendered.Body) == "" {
			t.Errorf("%s %q is accepted and need not be left out (%s)", s.label, s.node.Name, leftOut[row].reason)
		}
	}
	return kept
}

// sourcesOf reads a text into nodes that are ready to be rendered.
func sourcesOf(t *testing.T, format, text string) []source {
	t.Helper()
	nodes, _, err := read(format, text)
	if err != nil {
		t.Errorf("%s: %v", format, err)
	}
	sources := make([]source, len(nodes))
	for i, n := range nodes {
		sources[i] = source{"the node", n}
	}
	return sources
}

// corpusDocuments reads every document of the corpus in a format of this
// build: the client files, each a document of its own so that chains of nodes
// hold, and the links as one.
func corpusDocuments(t *testing.T) map[string][]source {
	t.Helper()
	documents := map[string][]source{}
	for file, format := range map[string]string{
		"mihomo-full.yaml": "mihomo", "stash.yaml": "stash", "sing-box-full.json": "sing-box", "xray-config.json": "xray",
		"sip008.json": "sip008", "surge.conf": "surge", "loon.conf": "loon", "quantumult-x.conf": "quantumult-x",
	} {
		if !slices.Contains(formats.Registry().ParserNames(), format) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(corpus, "clients", file))
		if err != nil {
			t.Fatal(err)
		}
		documents[file] = sourcesOf(t, format, string(text))
	}
	type vector struct {
		ID, From, Input string
		Expect          map[string]any
	}
	link := func(v vector) {
		if v.Expect["error"] != nil {
			return
		}
		for _, s := range sourcesOf(t, v.From, v.Input) {
			s.label = v.ID
			documents["links"] = append(documents["links"], s)
		}
	}
	lines(t, "uri-vectors.jsonl", link)
	lines(t, "more-vectors.jsonl", link)
	if len(documents["links"]) < 100 || len(documents) < 4 {
		t.Fatalf("the corpus has %d documents and %d links", len(documents), len(documents["links"]))
	}
	return documents
}
