package convert_test

import (
	"encoding/base64"
	"errors"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert"
	"github.com/sandrone-gateway/sandrone/convert/table"
)

var errNothing = errors.New("nothing to read")

func known(scheme string) bool { return scheme == "ss" || scheme == "trojan" }

// links is a list format as small as can be: "ss://server#name" lines.
func links(name string, explicit bool) convert.Parser {
	return convert.Parser{
		Name: name, Source: "uri", Envelope: true, Explicit: explicit,
		Detect: func(s *convert.Shape) bool {
			for line := range convert.Lines(s.Text) {
				if scheme, _, ok := strings.Cut(line, "://"); ok && known(strings.ToLower(strings.TrimSpace(scheme))) {
					return true
				}
			}
			return false
		},
		Parse: func(text string) (convert.Batch, error) {
			var b convert.Batch
			for line := range convert.Links(text, known) {
				if scheme, rest, ok := strings.Cut(line, "://"); ok && known(scheme) {
					server, name, _ := strings.Cut(rest, "#")
					b.Nodes = append(b.Nodes, sandrone.Node{Type: sandrone.Type(scheme), Server: server, Name: name})
				} else if line != "" {
					b.Warnings = append(b.Warnings, sandrone.Warning{Code: sandrone.WarnLineFailed, Message: "line failed"})
				}
			}
			if b.Nodes == nil {
				return b, errNothing
			}
			return b, nil
		},
	}
}

// marked is a format whose text has a mark that Detect finds; a text with
// "none" in it yields no node.
func marked(name string, detect func(*convert.Shape) bool) convert.Parser {
	return convert.Parser{
		Name: name, Source: name, Detect: detect,
		Parse: func(text string) (convert.Batch, error) {
			if strings.Contains(text, "none") {
				return convert.Batch{}, nil
			}
			return convert.Batch{Nodes: []sandrone.Node{{Name: text}}}, nil
		},
	}
}

func registry() *convert.Registry {
	writer := func(name string, versions ...table.Version) convert.Renderer {
		r := convert.Renderer{Name: name, MediaType: "text/" + name, Versions: versions}
		if len(versions) > 0 {
			r.Default = versions[0]
		}
		r.Render = func(nodes []sandrone.Node, o convert.RenderOptions) convert.Rendered {
			out := convert.Rendered{Body: []byte(o.Target + " for " + o.Version.String())}
			for i := range nodes {
				if nodes[i].Type == sandrone.Shadowsocks {
					out.Count++
					continue
				}
				out.Warnings = append(out.Warnings, sandrone.Warning{Code: sandrone.WarnNodeSkipped, Message: "not this one"})
			}
			return out
		}
		return r
	}
	return convert.NewRegistry(
		[]convert.Parser{
			marked("sing-box", func(s *convert.Shape) bool { return s.First("outbounds").Has("type") }),
			marked("mihomo", func(s *convert.Shape) bool { return s.Kind("proxies") == '[' || s.TopKey("proxies") }),
			marked("surge", func(s *convert.Shape) bool { return s.Section("proxy") }),
			links("uri-list", false),
			links("base64", true),
		},
		[]convert.Renderer{
			writer("clash-like", table.V("1.19"), table.V("1.18")),
			writer("plain"),
		},
	)
}

func utf16Text(s string, mark []byte) string {
	b := slices.Clone(mark)
	for _, u := range utf16.Encode([]rune(s)) {
		if mark[0] == 0xFF {
			b = append(b, byte(u), byte(u>>8))
		} else {
			b = append(b, byte(u>>8), byte(u))
		}
	}
	return string(b)
}

func encode(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

func TestParseOpensEnvelopes(t *testing.T) {
	const list = "ss://a.example.com#A\ntrojan://b.example.com#B\n"
	rows := []struct {
		name, format, text string
		source, names      string // of the nodes, or
		code, message      string // words of the error
	}{
		{"a list as it is", "auto", list, "uri", "A B", "", ""},
		{"named in any case", " URI-List ", list, "uri", "A B", "", ""},
		{"byte order mark", "auto", "\uFEFF" + list, "uri", "A B", "", ""},
		{"UTF-16, little end first", "auto", utf16Text("ss://a#香港 😊", []byte{0xFF, 0xFE}), "uri", "香港 😊", "", ""},
		{"UTF-16, big end first", "auto", utf16Text("ss://a#香港", []byte{0xFE, 0xFF}), "uri", "香港", "", ""},
		{"a Latin-1 name in a link", "auto", "ss://a.example.com#caf\xe9\r\n", "uri", "café", "", ""},
		{"a stray byte elsewhere", "auto", "ss://caf\xe9.example.com#A", "", "", "parse_failed", "not valid UTF-8"},
		{"CR alone ends lines", "auto", "ss://a#A\rss://b#B", "uri", "A B", "", ""},
		{"links between spaces", "auto", " ss://a#A  trojan://b#B ", "uri", "A B", "", ""},
		{"a name with a space", "auto", "ss://a#A B", "uri", "A B", "", ""},
		{"a name with a link of another scheme", "auto", "ss://a#A web://b", "uri", "A web://b", "", ""},
		{"base64", "auto", encode(list), "uri", "A B", "", ""},
		{"base64, named by its content", "uri-list", encode(list), "uri", "A B", "", ""},
		{"base64, named", "base64", encode(list), "uri", "A B", "", ""},
		{"named base64, but plain", "base64", list, "uri", "A B", "", ""},
		{"base64 in lines without padding", "auto", "c3M6Ly9hI0EKdHJv\r\namFuOi8vYiNC\r\nCg\r\n", "uri", "A B", "", ""},
		{"base64 of a document", "auto", encode("proxies:\n- x\n"), "mihomo", "proxies:\n- x\n", "", ""},
		{"base64 that was percent-encoded", "auto", url.QueryEscape(encode(list + "#")), "uri", "A B", "", ""},
		{"percent-encoded as a whole", "auto", url.QueryEscape(list), "uri", "A B", "", ""},
		{"base64 twice is opened once", "auto", encode(encode(list)), "", "", "invalid_argument", "tried sing-box, mihomo, surge, uri-list)"},
		{"empty", "auto", "", "", "", "parse_failed", "empty input"},
		{"blank", "uri-list", "\uFEFF \r\n\t", "", "", "parse_failed", "empty input"},
		{"a web page", "auto", "\n <!DOCTYPE HTML><html>", "", "", "parse_failed", "HTML page instead of a subscription"},
		{"a web page where a format is named", "mihomo", "<html>proxies:", "", "", "parse_failed", "HTML page"},
		{"XML", "auto", "<?xml version='1.0'?>", "", "", "parse_failed", "HTML page"},
		{"a web page in base64", "auto", encode("<html><body>expired</body></html>"), "", "", "parse_failed", "HTML page"},
		{"a web page in base64 where lists are named", "base64", encode("<html><body>expired</body></html>"), "", "", "parse_failed", "HTML page"},
		{"a JSON error", "auto", `{"code":403,"message":"plan\u0020expired"}`, "", "", "parse_failed", `message "plan\u0020expired"`},
		{"a JSON error where a list is named", "uri-list", `{"error":"gone"}`, "", "", "parse_failed", `error "gone"`},
		{"a JSON error in parts", "auto", `{"error":{"why":"gone"}}`, "", "", "parse_failed", `{"error":{"why":"gone"}}`},
		{"a long JSON error", "auto", `{"msg":"` + strings.Repeat("x", 500) + `"}`, "", "", "parse_failed", strings.Repeat("x", 150)},
		{"JSON with a message and nodes", "auto", `{"message":"hi","proxies":[{"name":"x"}]}`, "mihomo", `{"message":"hi","proxies":[{"name":"x"}]}`, "", ""},
		{"a signal without a node", "auto", "proxies: [none]\nx: ss://a", "", "", "parse_failed", "no node"},
		{"a list without a link", "uri-list", "hello\n", "", "", "parse_failed", "nothing to read"},
		{"nothing that is known", "auto", "hello\n", "", "", "invalid_argument", "tried sing-box, mihomo, surge, uri-list)"},
		{"base64 of nothing that is known", "auto", "Q%3A", "", "", "invalid_argument", "not recognised"},
		{"an unknown format", "klash", list, "", "", "invalid_argument", `unsupported parse format "klash"`},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			batch, err := registry().Parse(r.format, r.text)
			if r.code != "" {
				e := sandrone.AsError(err)
				if err == nil || string(e.Code) != r.code || !strings.Contains(e.Message, r.message) {
					t.Fatalf("got %v, %d nodes, want %s with %q", err, len(batch.Nodes), r.code, r.message)
				}
				if len([]rune(e.Message)) > 250 {
					t.Errorf("the message has %d characters", len([]rune(e.Message)))
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, n := range batch.Nodes {
				names = append(names, n.Name)
				if n.SourceFormat != r.source {
					t.Errorf("source: got %q, want %q", n.SourceFormat, r.source)
				}
			}
			if got := strings.Join(names, " "); got != r.names {
				t.Errorf("got %q, want %q", got, r.names)
			}
		})
	}
}

func TestParseLetsLatin1PassInNamesOnly(t *testing.T) {
	r := registry()
	for text, want := range map[string]bool{
		"proxies:\n- name: caf\xe9\n":                               true,
		"proxies:\n- {name: \"caf\xe9 1\", server: a}\n":            true,
		"proxies:\n- {server: a, \"name\": 'caf\xe9', port: 1}\n":   true,
		`{"proxies":[{"server":"a","name":"caf` + "\xe9\"}]}":       true,
		"[Proxy]\ncaf\xe9 = ss, a, 1\n":                             true,
		"[Proxy]\ncaf\xe9 \xe8\xe9 = ss, a, 1\n":                    true,
		"proxies:\n- {name: a, password: caf\xe9}\n":                false,
		"proxies:\n- password: caf\xe9\n":                           false,
		"[Proxy]\na = ss, a, 1, password=caf\xe9\n":                 false,
		"proxies:\n- name: " + strings.Repeat("\xe9", 1<<15) + "\n": false,
	} {
		_, err := r.Parse("auto", text)
		if (err == nil) != want {
			t.Errorf("%.60q: got %v", text, err)
		}
	}
}

func TestParseHoldsParsersToTheLimits(t *testing.T) {
	many := convert.Parser{Name: "many", Source: "many", Parse: func(string) (convert.Batch, error) {
		return convert.Batch{Nodes: make([]sandrone.Node, convert.MaxNodes+1)}, nil
	}}
	r := convert.NewRegistry([]convert.Parser{many}, nil)
	_, err := r.Parse("many", "x")
	if e := sandrone.AsError(err); e == nil || e.Code != sandrone.ParseFailed || !strings.Contains(e.Message, "100000 nodes") {
		t.Errorf("nodes: got %v", err)
	}
	_, err = r.Parse("many", strings.Repeat("x", convert.MaxText+1))
	if e := sandrone.AsError(err); e == nil || e.Code != sandrone.ParseFailed || !strings.Contains(e.Message, "64 MiB") {
		t.Errorf("text: got %v", err)
	}
}

func TestParseKeepsTheSourceThatANodeStates(t *testing.T) {
	p := convert.Parser{Name: "nodes", Source: "nodes", Parse: func(string) (convert.Batch, error) {
		return convert.Batch{Nodes: []sandrone.Node{{SourceFormat: "uri"}, {}}}, nil
	}}
	b, err := convert.NewRegistry([]convert.Parser{p}, nil).Parse("nodes", "x")
	if err != nil || b.Nodes[0].SourceFormat != "uri" || b.Nodes[1].SourceFormat != "nodes" {
		t.Errorf("got %+v, %v", b.Nodes, err)
	}
}

func TestParseDecodesALargeBodyIntoOneBuffer(t *testing.T) {
	list := strings.Repeat("ss://server.example.com#name\n", 1<<16)
	text := encode(list)
	p := links("base64", true)
	p.Parse = func(text string) (convert.Batch, error) {
		return convert.Batch{Nodes: []sandrone.Node{{Name: text[len(text)-6:]}}}, nil
	}
	r := convert.NewRegistry([]convert.Parser{p}, nil)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := r.Parse("base64", text); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > uint64(len(list))*5/4 {
		t.Errorf("got %d bytes allocated for %d bytes of content", got, len(list))
	}
}

func TestTargetsHaveVersions(t *testing.T) {
	r := registry()
	for in, want := range map[string]string{
		"clash-like":        "clash-like for 1.19",
		" Clash-Like@1.18 ": "clash-like@1.18 for 1.18",
		"plain":             "plain for 0.0",
	} {
		out, media, err := r.Render(in, nil, convert.RenderOptions{})
		if err != nil || string(out.Body) != want || !strings.HasPrefix(media, "text/") {
			t.Errorf("%q: got %q %q, %v", in, out.Body, media, err)
		}
	}
	for in, want := range map[string]string{
		"":                        `unsupported render format ""`,
		"klash":                   `unsupported render format "klash"`,
		"klash@1.18":              "unsupported render format",
		"clash-like@2":            `unsupported version "2" of format clash-like (known: 1.19, 1.18)`,
		"clash-like@":             "known: 1.19, 1.18",
		"plain@1.0":               "format plain has no versions",
		"a\nb\u2028c":             `unsupported render format "abc"`,
		strings.Repeat("x", 9000): "unsupported render format",
	} {
		e := sandrone.AsError(r.CheckTarget(in))
		if e == nil || e.Code != sandrone.InvalidArgument || !strings.Contains(e.Message, want) || len(e.Message) > 200 {
			t.Errorf("%.20q: got %v, want %q", in, e, want)
		}
	}
	if err := r.CheckFormat("AUTO"); err != nil {
		t.Errorf("auto: %v", err)
	}
	if got := r.ParserNames(); !slices.Equal(got, []string{"base64", "mihomo", "sing-box", "surge", "uri-list"}) {
		t.Errorf("names: got %q", got)
	}
	if got := r.RendererNames(); !slices.Equal(got, []string{"clash-like", "plain"}) {
		t.Errorf("names: got %q", got)
	}
}

func TestRenderFailsOnlyWhenNothingOfABatchIsLeft(t *testing.T) {
	r := registry()
	ss, vless := sandrone.Node{Type: sandrone.Shadowsocks}, sandrone.Node{Type: sandrone.VLESS}
	out, _, err := r.Render("plain", []sandrone.Node{vless, ss}, convert.RenderOptions{})
	if err != nil || out.Count != 1 || len(out.Warnings) != 1 {
		t.Errorf("one of two: got %+v, %v", out, err)
	}
	out, _, err = r.Render("clash-like@1.18", []sandrone.Node{vless, vless}, convert.RenderOptions{})
	e := sandrone.AsError(err)
	if e == nil || e.Code != sandrone.RenderFailed || e.Target != "clash-like@1.18" || !strings.Contains(e.Message, "none of 2") || !strings.Contains(e.Message, "not this one") {
		t.Errorf("none of two: got %v", err)
	}
	if out.Body != nil || len(out.Warnings) != 2 {
		t.Errorf("none of two: got %+v", out)
	}
}

func TestRegistryRefusesANameTwice(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a second format of the same name is accepted")
		}
	}()
	convert.NewRegistry([]convert.Parser{{Name: "a"}, {Name: "a"}}, nil)
}

func FuzzParse(f *testing.F) {
	r := registry()
	for _, s := range []string{
		"ss://a#b", encode("ss://a#b"), "proxies:\n- a", `{"outbounds":[{"type":"x"}]}`, `{"error":"x"}`, "\xFF\xFEs\x00s\x00",
		"<html>", "ss%3A%2F%2Fa", "[Proxy]\na = b", "caf\xe9 = ss", `{a: "\`, "/* {", "{\"a\"://x\n1,#\n}",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		batch, err := r.Parse("auto", s)
		if err != nil {
			if code := sandrone.AsError(err).Code; code != sandrone.ParseFailed && code != sandrone.InvalidArgument {
				t.Fatalf("got %v", err)
			}
			return
		}
		if len(batch.Nodes) == 0 {
			t.Fatal("no node and no error")
		}
	})
}
