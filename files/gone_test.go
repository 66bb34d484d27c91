package files_test

import (
	"strings"
	"testing"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert/formats"
	"github.com/sandrone-gateway/sandrone/files"
)

// What names a node that others took the place of is left out, since the client
// would refuse the file; everything else stays.
func TestNothingNamesANodeThatIsReplaced(t *testing.T) {
	settings := map[string]string{
		"mihomo": `{"groups":[{"name":"Go","type":"select","proxies":["$nodes","Test","DIRECT"]},{"name":"Test","type":"url-test","proxies":["$nodes"],"url":"https://a.example/","interval":300,"empty-fallback":"old 1"},
			{"name":"All","type":"select","include-all-proxies":true,"proxies":["old 2"]}],
			"rules":["DOMAIN,a.example,old 1","DOMAIN,b.example,Go","MATCH,Go"]}`,
		"sing-box": `{"groups":[{"type":"selector","tag":"Go","outbounds":["$nodes","Test","direct"],"default":"old 2"},{"type":"urltest","tag":"Test","outbounds":["$nodes"],"interval":"5m"}],
			"rules":[{"domain":["a.example"],"outbound":"old 1"},{"domain":["b.example"],"outbound":"Go"}],
			"rule_sets":[{"type":"remote","tag":"set","format":"binary","url":"https://a.example/set.srs","download_detour":"old 1"}]}`,
		"shadowrocket": `{"groups":[{"name":"Go","type":"select","proxies":["$nodes","Test","DIRECT"],"hidden":true},{"name":"Test","type":"url-test","proxies":["$nodes"],"interval":300}],
			"rules":["DOMAIN,a.example,old 1","DOMAIN,b.example,Go","FINAL,Go"]}`,
	}
	bases := map[string]string{"mihomo": "sub-rules:\n  lan: ['DOMAIN,c.example,old 2', 'MATCH,DIRECT']\nmode: rule\n",
		"sing-box": `{"dns":{"servers":[{"type":"udp","tag":"far","server":"192.0.2.1","detour":"old 2"},{"type":"local","tag":"near"}],"final":"near"},"route":{"final":"old 1"}}`}
	for name, c := range map[string]struct {
		want, gone, warnings []string
	}{
		"mihomo": {
			want:     []string{"MATCH,DIRECT", "mode: rule\n", "Go", "Test", "DIRECT", "b.example,Go", "MATCH,Go", "include-all-proxies: true", "https://a.example/", "interval: 300"},
			gone:     []string{"old 2", "a.example,old 1", "empty-fallback"},
			warnings: []string{"file_reference_unknown /proxy-groups/0", "file_reference_unknown /proxy-groups/1", "file_group_empty /proxy-groups/1", "file_reference_unknown /proxy-groups/1", "file_reference_unknown /proxy-groups/2", "file_reference_unknown /rules/0", "file_reference_unknown /sub-rules/lan/0"},
		},
		"sing-box": {
			want:     []string{`"Go"`, `"Test"`, `"b.example"`, `"final": "Go"`, `"interval": "5m"`, `"detour": "Go"`, `"near"`, `"download_detour": "Go"`},
			gone:     []string{"old 2", `"a.example"`, "default"},
			warnings: []string{"file_reference_unknown /outbounds/0", "file_group_empty /outbounds/1", "file_reference_unknown /outbounds/1", "file_reference_unknown /route/rules/0", "file_reference_unknown /route/final", "file_reference_unknown /dns/servers/0/detour", "file_reference_unknown /route/rule_set/0/download_detour"},
		},
		"shadowrocket": {
			want:     []string{"Go = select,Test,DIRECT,hidden=1\n", "Test = url-test,DIRECT,interval=300\n", "DOMAIN,b.example,Go\n", "FINAL,Go\n"},
			gone:     []string{"old 2", "a.example,old"},
			warnings: []string{"file_reference_unknown /Proxy Group/0", "file_group_empty /Proxy Group/1", "file_reference_unknown /Proxy Group/1", "file_reference_unknown /Rule/0"},
		},
	} {
		kind, version, _ := files.Find(name)
		old, fresh := many(2), many(1)
		old[0].Name, old[1].Name, fresh[0].Name = "old 1", "old 2", "new"
		base, ok := bases[name]
		if !ok {
			base = kind.Base(version)
		}
		document := compile(t, name, &base, settings[name], old).Content
		out, err := kind.AddNodes(files.Addition{Registry: formats.Registry(), Kind: name, Document: document, Position: files.Replace, Nodes: fresh})
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range c.want {
			if !strings.Contains(out.Content, want) {
				t.Errorf("%s: there is no %q in\n%s", name, want, out.Content)
			}
		}
		for _, gone := range append(c.gone, "old 1") {
			if strings.Contains(out.Content, gone) {
				t.Errorf("%s: there is %q in\n%s", name, gone, out.Content)
			}
		}
		var warnings []string
		for _, w := range out.Warnings {
			warnings = append(warnings, w.Code+" "+w.Path)
		}
		if name == "shadowrocket" {
			readRocket(t, out.Content)
		}
		if got, want := strings.Join(warnings, "\n"), strings.Join(c.warnings, "\n"); !sameLines(got, want) {
			t.Errorf("%s: got the warnings\n%s\nwant\n%s", name, got, want)
		}
		again, err := kind.AddNodes(files.Addition{Registry: formats.Registry(), Kind: name, Document: out.Content, Position: files.Replace, Nodes: fresh})
		if err != nil || again.Content != out.Content || len(again.Warnings) > 0 {
			t.Errorf("%s: a second time changes something: %v %v\n%s", name, err, again.Warnings, again.Content)
		}
	}
}

// A node of the same name takes the place of the old one everywhere, so that
// nothing else of the file changes, comments of groups included.
func TestNodesOfTheSameNameKeepTheirPlaces(t *testing.T) {
	const document = "# mine\nproxies:\n  - {name: a, type: ss, server: a.example, port: 1, cipher: aes-128-gcm, password: x}\nproxy-groups: # all\n  - name: Go # first\n    type: select\n    proxies: [a]\nrules:\n  - MATCH,Go # rest\n"
	kind, _, _ := files.Find("mihomo")
	nodes := many(1)
	nodes[0].Name = "a"
	out, err := kind.AddNodes(files.Addition{Registry: formats.Registry(), Kind: "mihomo", Document: document, Position: files.Replace, Nodes: nodes})
	if err != nil || len(out.Warnings) > 0 {
		t.Fatalf("%v %v", err, out.Warnings)
	}
	_, rest, _ := strings.Cut(document, "proxy-groups")
	if _, got, _ := strings.Cut(out.Content, "proxy-groups"); got != rest || !strings.HasPrefix(out.Content, "# mine\n") {
		t.Errorf("got\n%s", out.Content)
	}
}

func TestAFileWithoutADirectWayGetsOneForAnEmptyGroup(t *testing.T) {
	kind, _, _ := files.Find("sing-box")
	out, err := kind.AddNodes(files.Addition{Registry: formats.Registry(), Kind: "sing-box", Position: files.Replace, Nodes: []sandrone.Node{},
		Document: `{"outbounds":[{"type":"selector","tag":"Go","outbounds":["a"]},{"type":"trojan","tag":"a","server":"a.example","server_port":1,"password":"x"}]}`})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(strings.Fields(out.Content), ""); got != `{"outbounds":[{"type":"selector","tag":"Go","outbounds":["direct"]},{"type":"direct","tag":"direct"}]}` {
		t.Errorf("got %s", got)
	}
}

func sameLines(a, b string) bool {
	count := map[string]int{}
	for l := range strings.SplitSeq(a, "\n") {
		count[l]++
	}
	for l := range strings.SplitSeq(b, "\n") {
		count[l]--
	}
	for _, n := range count {
		if n != 0 {
			return false
		}
	}
	return true
}
