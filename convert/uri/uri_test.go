package uri_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert"
	"github.com/sandrone-gateway/sandrone/convert/uri"
)

var registry = convert.NewRegistry(
	[]convert.Parser{uri.Parser, uri.ListParser, uri.Base64Parser, uri.SSDParser},
	[]convert.Renderer{uri.ListRenderer, uri.Base64Renderer},
)

const ssd = `{"airport":"Air","port":1,"encryption":"aes-128-gcm","password":"pw","servers":[{"server":"a.example.com"},{"server":"b.example.com"}]}`

func TestParsersTellHowMuchTheyTake(t *testing.T) {
	one := "trojan://pw@a.example.com#one"
	list := one + "\nfoo://x\n" + one
	wrapped := base64.StdEncoding.EncodeToString([]byte(list))
	servers := "ssd://" + base64.RawURLEncoding.EncodeToString([]byte(ssd))
	tests := []struct {
		name, format, text string
		nodes              int
		fault              string // words of the error
	}{
		{"one link", "uri", one, 1, ""},
		{"one link in base64", "uri", base64.RawURLEncoding.EncodeToString([]byte(one)), 1, ""},
		{"one link of several nodes", "uri", "mierus://u:p@a.example.com?port=1&protocol=TCP&port=2&protocol=UDP", 2, ""},
		{"two links for one", "uri", one + "\n" + one, 0, "more than one link"},
		{"a bad link", "uri", "trojan://@a.example.com", 0, "line 1 (scheme trojan): the password is missing"},
		{"a notice", "uri", "trojan://pw@a.example.com:0", 0, "the port is 0"},
		{"a list", "uri-list", list, 2, ""},
		{"a list on one line", "uri-list", one + "1 " + one + "2\tss://YWVzLTEyOC1nY206cHc@a.example.com:1", 3, ""},
		{"one name with spaces and a scheme", "uri-list", one + " see http://x and foo://y", 1, ""},
		{"lone CR", "uri-list", one + "\r" + one + "\r\n" + one + "\n\r\n", 3, ""},
		{"no link at all", "uri-list", "foo://bar\nbar", 0, "line 1 (scheme foo): unknown scheme"},
		{"only comments", "uri-list", "# a: b", 0, "not a share link"},
		{"base64", "base64", wrapped, 2, ""},
		{"base64 that is none", "base64", list, 2, ""},
		{"a list in base64", "uri-list", wrapped, 2, ""},
		{"percent-encoded", "uri-list", "trojan%3A%2F%2Fpw%40a.example.com", 1, ""},
		{"found by itself", "auto", "\n  " + one, 1, ""},
		{"base64 found by itself", "auto", wrapped, 2, ""},
		{"not found in prose", "auto", "see trojan://pw@a.example.com", 0, "not recognised"},
		{"ssd", "ssd", servers, 2, ""},
		{"ssd in a list", "uri-list", servers + "\n" + one, 3, ""},
		{"ssd that is another link", "ssd", one, 0, "unknown scheme"},
		{"ssd without JSON", "ssd", "ssd://e30", 0, "it has no servers"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b, err := registry.Parse(tt.format, tt.text)
			if tt.fault != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fault) {
					t.Fatalf("got error %v, want one that says %q", err, tt.fault)
				}
				return
			}
			if err != nil || len(b.Nodes) != tt.nodes {
				t.Fatalf("got %d nodes and error %v, want %d nodes", len(b.Nodes), err, tt.nodes)
			}
			for _, n := range b.Nodes {
				if n.SourceFormat != "uri" {
					t.Errorf("got source format %q, want uri", n.SourceFormat)
				}
			}
		})
	}
}

func TestFailedLineSaysWhatIsKnownOfIt(t *testing.T) {
	text := "trojan://ok@a.example.com\nvless://secret-id@b.example.com:70000?token=secret-query#Name%201"
	b, err := registry.Parse("uri-list", text)
	if err != nil || len(b.Warnings) != 1 {
		t.Fatalf("got warnings %v and error %v, want one warning", b.Warnings, err)
	}
	w := b.Warnings[0]
	want := sandrone.NodeContext{Format: "uri", Name: "Name 1", Type: "vless", Server: "b.example.com", RawLine: strings.Split(text, "\n")[1], Line: 2}
	if w.Code != sandrone.WarnLineFailed || !reflect.DeepEqual(*w.NodeContext, want) {
		t.Errorf("got %s %+v, want %+v", w.Code, *w.NodeContext, want)
	}
	if w.Message != "line 2 (scheme vless): the port is not a number from 1 to 65535" || w.Node != "Name 1" {
		t.Errorf("got message %q for %q", w.Message, w.Node)
	}
}

func TestMessagesHoldNoSecret(t *testing.T) {
	const secret = "s3cr3t"
	b64 := base64.RawURLEncoding.EncodeToString
	lines := []string{
		"ss://" + secret + "@a.example.com:1", "ss://aes-128-gcm:" + secret + "@a b:1", "ssr://" + b64([]byte(secret)), "vmess://" + b64([]byte("{"+secret)),
		"vmess://" + b64([]byte("auto:"+secret+"@a.example.com:1")), "vless://" + secret + "@:1", "trojan://" + secret + "@a.example.com:x",
		"hysteria://" + secret + "@a.example.com:1", "hysteria2://" + secret + "@a.example.com:1-0", "tuic://" + secret + "@a.example.com:99999",
		"wireguard://" + secret + "@a.example.com", "socks5://u:" + secret + "@a.example.com:x", "https://" + secret + ".example.com/" + secret,
		"tg://proxy?secret=" + secret, "mierus://u:" + secret + "@a.example.com", secret + "://x", secret, "{" + secret, "name: " + secret + ", type: x",
		"ssd://" + b64([]byte(`{"servers":[{"server":"`+secret+` x"}]}`)), "trojan://" + secret + "@a.example.com:0",
	}
	for _, line := range lines {
		b, err := registry.Parse("uri-list", line)
		if err == nil {
			t.Errorf("%s: got a node", line)
			continue
		}
		for _, w := range b.Warnings {
			if strings.Contains(w.Message, secret) && !strings.HasPrefix(line, secret+"://") {
				t.Errorf("message %q shows the secret", w.Message)
			}
		}
		if strings.Contains(err.Error(), secret) && !strings.HasPrefix(line, secret+"://") {
			t.Errorf("error %q shows the secret", err)
		}
	}
}

func TestBase64IsTheListInBase64(t *testing.T) {
	b, err := registry.Parse("uri-list", "trojan://pw@a.example.com#one\ntrojan://pw@b.example.com#one")
	if err != nil {
		t.Fatal(err)
	}
	convert.Normalise(b.Nodes)
	list, _, err := registry.Render("uri-list", b.Nodes, convert.RenderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	wrapped, media, err := registry.Render("base64", b.Nodes, convert.RenderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	inner, err := base64.StdEncoding.DecodeString(string(wrapped.Body))
	if err != nil || string(inner) != string(list.Body) {
		t.Errorf("got %q (%v), want %q", inner, err, list.Body)
	}
	if want := "trojan://pw@a.example.com:443?security=tls&type=tcp#one\ntrojan://pw@b.example.com:443?security=tls&type=tcp#one"; string(list.Body) != want {
		t.Errorf("got %q, want %q", list.Body, want)
	}
	if media != "text/plain; charset=utf-8" || !reflect.DeepEqual(wrapped.Names, []string{"one", "one"}) {
		t.Errorf("got media type %q and names %q", media, wrapped.Names)
	}
	if out, _, err := registry.Render("uri-list", nil, convert.RenderOptions{}); err != nil || len(out.Body) != 0 {
		t.Errorf("got %q and error %v for no nodes, want an empty list", out.Body, err)
	}
}

func TestRawIsLeftOutWhenAsked(t *testing.T) {
	b, err := registry.Parse("uri-list", "trojan://pw@a.example.com?odd=1#n")
	if err != nil {
		t.Fatal(err)
	}
	convert.Normalise(b.Nodes)
	for drop, want := range map[bool]string{false: "odd=1&", true: ""} {
		out, _, err := registry.Render("uri-list", b.Nodes, convert.RenderOptions{DropRaw: drop})
		if want = "trojan://pw@a.example.com:443?" + want + "security=tls&type=tcp#n"; err != nil || string(out.Body) != want {
			t.Errorf("drop %v: got %q, want %q", drop, out.Body, want)
		}
		if drop != (len(out.Warnings) == 1) {
			t.Errorf("drop %v: got warnings %v", drop, out.Warnings)
		}
	}
}

func TestHostileTextsAreBounded(t *testing.T) {
	const (
		size = 1 << 20
		most = 256 << 20 // the warnings of as many bad lines as there may be are the largest part
	)
	b64 := base64.StdEncoding.EncodeToString
	texts := map[string]string{
		"lines":        strings.Repeat("x:\n", size/3),
		"schemes":      strings.Repeat("://", size/3),
		"empty links":  strings.Repeat("ss://\n", size/6),
		"parameters":   "trojan://pw@a.example.com?" + strings.Repeat("a=1&", size/4),
		"ports":        "hysteria2://pw@a.example.com:" + strings.Repeat("1,", size/2),
		"pairs":        "mierus://u:p@a.example.com?" + strings.Repeat("port=1&protocol=TCP&", size/20),
		"long name":    "trojan://pw@a.example.com#" + strings.Repeat("%41", size/3),
		"deep JSON":    "vmess://" + b64([]byte(strings.Repeat(`{"a":`, size/20))),
		"wide JSON":    "vmess://" + b64([]byte(`{"a":[`+strings.Repeat("0,", size/4)+"0]}")),
		"ssd":          "ssd://" + b64([]byte(`{"servers":[`+strings.Repeat("{},", size/5)+"{}]}")),
		"ssd of zeros": "ssd://" + b64([]byte(`{"servers":[`+strings.Repeat("0,", size/3)+"0]}")),
		"CR":           strings.Repeat("\r", size) + "\n" + strings.Repeat("a\r", 1000),
		"braces":       strings.Repeat("{name: x}\n", 20000),
	}
	for name, text := range texts {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := uri.ListParser.Parse(text)
			runtime.ReadMemStats(&after)
			if err == nil {
				t.Error("got nodes")
			}
			if spent := after.TotalAlloc - before.TotalAlloc; spent > most {
				t.Errorf("reading %d bytes allocated %d", len(text), spent)
			}
		})
	}
}

func TestTooManyNodesAreAnError(t *testing.T) {
	_, err := uri.ListParser.Parse(strings.Repeat("trojan://p@a\n", convert.MaxNodes+1))
	if !errors.Is(err, convert.ErrTooManyNodes) {
		t.Errorf("got %v, want %v", err, convert.ErrTooManyNodes)
	}
	var servers strings.Builder
	for range convert.MaxNodes + 1 {
		servers.WriteString(`{"server":"a"},`)
	}
	text := `{"port":1,"encryption":"none","servers":[` + servers.String() + `{"server":"a"}]}`
	if _, err := uri.SSDParser.Parse("ssd://" + base64.StdEncoding.EncodeToString([]byte(text))); !errors.Is(err, convert.ErrTooManyNodes) {
		t.Errorf("ssd: got %v, want %v", err, convert.ErrTooManyNodes)
	}
}

// seeds calls f with the links of the corpus and of the golden files.
func seeds(tb testing.TB, f func(link string)) {
	text, err := os.ReadFile("../../testdata/corpus/uri-vectors.jsonl")
	if err != nil {
		tb.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var v struct{ Input string }
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			tb.Fatal(err)
		}
		f(v.Input)
	}
	files, err := os.ReadDir("testdata")
	if err != nil {
		tb.Fatal(err)
	}
	for _, file := range files {
		if file.IsDir() {
			continue
		}
		text, err := os.ReadFile("testdata/" + file.Name())
		if err != nil {
			tb.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if strings.Contains(line, "://") {
				f(strings.TrimSpace(line))
			}
		}
	}
}

// FuzzParse holds that no text makes the parser panic, and that what it reads
// is written so that it is read again as the same.
func FuzzParse(f *testing.F) {
	seeds(f, func(link string) { f.Add(link) })
	f.Fuzz(func(t *testing.T, text string) {
		first := valid(t, text)
		if len(first) == 0 {
			return
		}
		out := uri.ListRenderer.Render(first, convert.RenderOptions{Target: "uri-list"})
		if out.Count == 0 {
			return
		}
		second := valid(t, string(out.Body))
		if len(second) != out.Count {
			t.Fatalf("wrote %d nodes, read back %d:\n%s", out.Count, len(second), out.Body)
		}
		// What stood in raw may be gone by now, since a link says a parameter
		// once. What is left stays.
		again := uri.ListRenderer.Render(second, convert.RenderOptions{Target: "uri-list"})
		if third := valid(t, string(again.Body)); !reflect.DeepEqual(second, third) {
			t.Fatalf("wrote\n%s\nand, read again,\n%s", out.Body, again.Body)
		}
	})
}

func valid(t *testing.T, text string) []sandrone.Node {
	if strings.ToValidUTF8(text, "") != text {
		return nil
	}
	b, err := uri.ListParser.Parse(text)
	if err != nil {
		return nil
	}
	convert.Normalise(b.Nodes)
	nodes, _, _, err := convert.Validate(b.Nodes, "normalized")
	if err != nil {
		return nil
	}
	return nodes
}

// links is a list of n links as panels write them.
func links(n int) string {
	var b strings.Builder
	for i := range n {
		id := fmt.Sprintf("6f1c2b3a-0d4e-4f5a-8b6c-%012x", i)
		switch i % 5 {
		case 0:
			fmt.Fprintf(&b, "ss://%s@s%d.example.com:8388#%%E9%%A6%%99%%E6%%B8%%AF%%20%d\n", base64.RawURLEncoding.EncodeToString([]byte("aes-128-gcm:password"+fmt.Sprint(i))), i, i)
		case 1:
			v := fmt.Sprintf(`{"v":"2","ps":"node %d","add":"v%d.example.com","port":"443","id":"%s","aid":"0","scy":"auto","net":"ws","type":"none","host":"cdn.example.com","path":"/ray","tls":"tls","sni":"sni.example.com"}`, i, i, id)
			fmt.Fprintf(&b, "vmess://%s\n", base64.StdEncoding.EncodeToString([]byte(v)))
		case 2:
			fmt.Fprintf(&b, "vless://%s@l%d.example.com:443?encryption=none&flow=xtls-rprx-vision&security=reality&sni=www.example.org&fp=chrome&pbk=Zk3vQ0m9rT1xYb7uLc2sWn5aHd8jPe4gKf6iOq0tVyA&sid=6ba85179e30d4fc2&type=tcp#node%%20%d\n", id, i, i)
		case 3:
			fmt.Fprintf(&b, "trojan://password%d@t%d.example.com:443?security=tls&sni=sni.example.com&type=ws&host=cdn.example.com&path=%%2Fws#node%%20%d\n", i, i, i)
		case 4:
			fmt.Fprintf(&b, "hysteria2://password%d@h%d.example.com:443/?insecure=1&obfs=salamander&obfs-password=gw&sni=real.example.com#node%%20%d\n", i, i, i)
		}
	}
	return b.String()
}

func TestMemoryOfALargeListIsASmallMultiple(t *testing.T) {
	text := links(20_000)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	b, err := uri.ListParser.Parse(text)
	runtime.ReadMemStats(&after)
	if err != nil || len(b.Nodes) != 20_000 || len(b.Warnings) != 0 {
		t.Fatalf("got %d nodes, %d warnings, error %v", len(b.Nodes), len(b.Warnings), err)
	}
	if spent := after.TotalAlloc - before.TotalAlloc; spent > 12*uint64(len(text)) {
		t.Errorf("a list of %d bytes took %d", len(text), spent)
	}
}

func BenchmarkParse(b *testing.B) {
	text := links(10_000)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := uri.ListParser.Parse(text); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseBase64(b *testing.B) {
	text := base64.StdEncoding.EncodeToString([]byte(links(10_000)))
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := registry.Parse("base64", text); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRender(b *testing.B) {
	batch, err := uri.ListParser.Parse(links(10_000))
	if err != nil {
		b.Fatal(err)
	}
	convert.Normalise(batch.Nodes)
	b.ReportAllocs()
	for b.Loop() {
		uri.ListRenderer.Render(batch.Nodes, convert.RenderOptions{Target: "uri-list"})
	}
}
