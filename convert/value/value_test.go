package value_test

import (
	"bytes"
	"encoding/base64"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert/value"
)

// refused stands for a result with ok false in the tables.
const refused = "(refused)"

func text(s string, ok bool) string {
	if !ok {
		return refused
	}
	return s
}

// each runs a function of one text over pairs of input and wanted result.
func each(t *testing.T, f func(string) string, pairs ...[2]string) {
	t.Helper()
	for _, p := range pairs {
		if got := f(p[0]); got != p[1] {
			t.Errorf("%q: got %q, want %q", p[0], got, p[1])
		}
	}
}

func TestBoolTakesTheWordsOfTheContractOnly(t *testing.T) {
	for _, s := range []string{"1", "true", "TRUE", "yes", "Y", "on", " On "} {
		if v, ok := value.Bool(s); !v || !ok {
			t.Errorf("%q: got %v, %v, want true", s, v, ok)
		}
	}
	for _, s := range []string{"0", "false", "False", "no", "N", "off", "OFF"} {
		if v, ok := value.Bool(s); v || !ok {
			t.Errorf("%q: got %v, %v, want false", s, v, ok)
		}
	}
	for _, s := range []string{"", "2", "t", "tru", "truee", "enable", "-1", "是"} {
		if _, ok := value.Bool(s); ok {
			t.Errorf("%q is understood", s)
		}
	}
}

func TestBase64IsTolerant(t *testing.T) {
	each(t, func(s string) string { return text(value.Base64Text(s)) },
		[2]string{"", ""},
		[2]string{"aGVsbG8=", "hello"},
		[2]string{"aGVsbG8", "hello"},
		[2]string{"aGVsbG8====", "hello"},
		[2]string{"aGVs\r\nbG8 =\n=", "hello"},
		[2]string{" a G V s b G 8 ", "hello"},
		[2]string{"YWI", "ab"},
		[2]string{"YWI=", "ab"},
		[2]string{"YWJ=", "ab"},        // bits left over
		[2]string{"8J+Yiv_-", refused}, // decodes, but not to UTF-8
		[2]string{"8J-Yig", "😊"},
		[2]string{"8J+Yig==", "😊"},
		[2]string{"P7_/v-", refused},
		[2]string{"a", refused},
		[2]string{"aGVsb", refused},
		[2]string{"aGVs=bG8", refused},
		[2]string{"aGVs*", refused},
		[2]string{"aGVsbG8=#name", refused},
		[2]string{"ss://aGVsbG8", refused},
	)
	if b, ok := value.Base64("-_+/"); !ok || !bytes.Equal(b, []byte{0xfb, 0xff, 0xbf}) {
		t.Errorf("mixed alphabets: got %x, %v", b, ok)
	}
}

func TestBase64AllocatesOnlyItsResult(t *testing.T) {
	in := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("trojan://pw@example.com:443#name\n"), 1000))
	if n := testing.AllocsPerRun(20, func() { value.Base64Text(in) }); n > 1 {
		t.Errorf("got %v allocations, want 1", n)
	}
	if n := testing.AllocsPerRun(20, func() { value.Base64Size(in) }); n > 0 {
		t.Errorf("size: got %v allocations, want none", n)
	}
}

func TestUnescapeRemovesOneLayer(t *testing.T) {
	each(t, value.Unescape,
		[2]string{"plain+text", "plain+text"},
		[2]string{"a%20b+c", "a b+c"},
		[2]string{"100%", "100%"},
		[2]string{"100%25%20free", "100% free"},
		[2]string{"%zz%4", "%zz%4"},
		[2]string{"%e9%A6%99", "香"},
		[2]string{"%2525", "%25"},
		[2]string{"%%41", "%A"},
		[2]string{"%ff", "\xff"},
	)
	each(t, value.UnescapeForm, [2]string{"a+b%2B", "a b+"}, [2]string{"ab", "ab"}, [2]string{"%+", "% "})
	if n := testing.AllocsPerRun(20, func() { value.Unescape("no-escapes-in-this") }); n > 0 {
		t.Errorf("got %v allocations, want none", n)
	}
}

func TestNameTakesStrayBytesForLatin1(t *testing.T) {
	each(t, value.Name, [2]string{"香港", "香港"}, [2]string{"caf\xe9 1", "café 1"})
}

func TestLinkRemovesWhatCopyingLeaves(t *testing.T) {
	each(t, value.Link,
		[2]string{"  ss://a  ", "ss://a"},
		[2]string{"\ufeff\u200bss://a\u200d", "ss://a"},
		[2]string{`"ss://a"`, "ss://a"},
		[2]string{"'ss://a'", "ss://a"},
		[2]string{`"ss://a'`, `"ss://a'`},
		[2]string{"\u200b\"ss://a\"\t", "ss://a"},
		[2]string{`""ss://a""`, `"ss://a"`},
		[2]string{`"`, `"`},
	)
}

func TestListSplitsWhatPanelsWrite(t *testing.T) {
	each(t, func(s string) string { return strings.Join(value.List(s), "|") },
		[2]string{"h2,http/1.1", "h2|http/1.1"},
		[2]string{" h2 ; http/1.1,", "h2|http/1.1"},
		[2]string{"h2 http/1.1", "h2|http/1.1"},
		[2]string{`["h2","http/1.1",""]`, "h2|http/1.1"},
		[2]string{"[h2, http/1.1]", "h2|http/1.1"},
		[2]string{`"h2"`, "h2"},
		[2]string{",", ""},
	)
	if got := value.Commas("a b, c,,"); !reflect.DeepEqual(got, []string{"a b", "c"}) {
		t.Errorf("commas: got %q", got)
	}
}

func TestWordsLeavesTheSharedListAlone(t *testing.T) {
	list := []string{"h2", " ", " h3 "}
	if got := value.Words(list); !reflect.DeepEqual(got, []string{"h2", "h3"}) {
		t.Errorf("got %q", got)
	}
	if !reflect.DeepEqual(list, []string{"h2", " ", " h3 "}) {
		t.Errorf("the argument was changed: %q", list)
	}
	clean := []string{"h2"}
	if got := value.Words(clean); &got[0] != &clean[0] {
		t.Error("a clean list was copied")
	}
}

func TestEndpoint(t *testing.T) {
	rows := []struct {
		in       string
		fallback uint16
		host     string
		port     uint16
		err      error
	}{
		{"a.example.com:443", 0, "a.example.com", 443, nil},
		{"A.Example.com:443/", 0, "A.Example.com", 443, nil},
		{"192.0.2.1:1", 0, "192.0.2.1", 1, nil},
		{"[2001:db8::1]:8443", 0, "2001:db8::1", 8443, nil},
		{"[2001:db8::1]", 443, "2001:db8::1", 443, nil},
		{"[fe80::1%25eth0]:80", 0, "fe80::1%eth0", 80, nil},
		{"[fe80::1%eth0]:80", 0, "fe80::1%eth0", 80, nil},
		{"2001:db8::1:443", 0, "2001:db8::1", 443, nil},
		{"2001:db8:0:0:0:0:0:1", 443, "2001:db8:0:0:0:0:0:1", 443, nil},
		{"::1", 1080, "::1", 1080, nil},
		{"例え.example:80", 0, "例え.example", 80, nil},
		{"example.com", 1080, "example.com", 1080, nil},
		{"example.com", 0, "", 0, value.ErrNoPort},
		{"example.com:", 0, "", 0, value.ErrNoPort},
		{"example.com:0", 443, "", 0, value.ErrPortZero},
		{"example.com:00", 0, "", 0, value.ErrPortZero},
		{"example.com:65536", 0, "", 0, value.ErrPort},
		{"example.com:-1", 0, "", 0, value.ErrPort},
		{"example.com:4 3", 0, "", 0, value.ErrPort},
		{":443", 0, "", 0, value.ErrHost},
		{"", 443, "", 0, value.ErrHost},
		{"a b:443", 0, "", 0, value.ErrHost},
		{"a\x00b:443", 0, "", 0, value.ErrHost},
		{"user@host:443", 0, "", 0, value.ErrHost},
		{"ex%61mple.com:443", 0, "", 0, value.ErrHost},
		{"a:b:443", 0, "", 0, value.ErrHost},
		{"[::1", 443, "", 0, value.ErrHost},
		{"[::1]x", 443, "", 0, value.ErrHost},
		{"[example.com]:443", 0, "", 0, value.ErrHost},
		{"a\u200bb.com:443", 0, "", 0, value.ErrHost},
	}
	for _, r := range rows {
		host, port, err := value.Endpoint(r.in, r.fallback)
		if host != r.host || port != r.port || err != r.err {
			t.Errorf("%q: got %q %d %v, want %q %d %v", r.in, host, port, err, r.host, r.port, r.err)
		}
	}
	if host, port, ok := value.SplitEndpoint("h.example.com:443,5000-6000"); host != "h.example.com" || port != "443,5000-6000" || !ok {
		t.Errorf("a port set is not left to the caller: %q %q %v", host, port, ok)
	}
}

func TestPorts(t *testing.T) {
	each(t, func(s string) string {
		list, ok := value.Ports(s)
		return text(strings.Join(list, "|"), ok)
	},
		[2]string{"443", "443"},
		[2]string{"443,5000-6000", "443|5000-6000"},
		[2]string{" 443 ; 5000:6000 ;", "443|5000-6000"},
		[2]string{"7-7", "7"},
		[2]string{"", refused},
		[2]string{",", refused},
		[2]string{"0", refused},
		[2]string{"6000-5000", refused},
		[2]string{"1-65536", refused},
		[2]string{"1-2-3", refused},
		[2]string{"443,x", refused},
		[2]string{"-5", refused},
	)
	list := []string{"1-2", "3:4"}
	if got, ok := value.PortList(list); !ok || !reflect.DeepEqual(got, []string{"1-2", "3-4"}) || list[1] != "3:4" {
		t.Errorf("list: got %q, %v; the argument is now %q", got, ok, list)
	}
	if p := value.FirstPort([]string{"5000-6000", "443"}); p != 5000 {
		t.Errorf("first port: got %d", p)
	}
	each(t, value.ColonRange, [2]string{"5-6", "5:6"}, [2]string{"443", "443:443"})
}

func TestCIDRCompletesAddresses(t *testing.T) {
	each(t, func(s string) string { return text(value.CIDR(s)) },
		[2]string{"10.0.0.2", "10.0.0.2/32"},
		[2]string{"10.0.0.2/24", "10.0.0.2/24"},
		[2]string{"2001:db8::2", "2001:db8::2/128"},
		[2]string{"fe80::1%eth0", refused},
		[2]string{"10.0.0.2/33", refused},
		[2]string{"10.0.0", refused},
		[2]string{"", refused},
	)
}

func TestReservedReadsAllItsForms(t *testing.T) {
	for _, s := range []string{"[1,2,3]", "1,2,3", "1/2/3", " [ 1, 2, 3 ] ", "AQID"} {
		if got, ok := value.Reserved(s); !ok || !reflect.DeepEqual(got, []int{1, 2, 3}) {
			t.Errorf("%q: got %v, %v", s, got, ok)
		}
	}
	for _, s := range []string{"1,2", "1,2,3,4", "1,2,256", "-1,2,3", "[1,2,3", "AQIDBA==", "x"} {
		if got, ok := value.Reserved(s); ok {
			t.Errorf("%q: got %v, want refusal", s, got)
		}
	}
}

func TestRates(t *testing.T) {
	rows := []struct {
		in   string
		want value.Rate
		ok   bool
		bits uint64
	}{
		{"50", value.Rate{Mbps: 50, Bare: true}, true, 50e6},
		{"100 Mbps", value.Rate{Mbps: 100}, true, 100e6},
		{"100Mbps", value.Rate{Mbps: 100}, true, 100e6},
		{"1 Gbps", value.Rate{Mbps: 1000}, true, 1e9},
		{"2000 Kbps", value.Rate{Mbps: 2}, true, 2e6},
		{"500Kbps", value.Rate{Text: "500 Kbps"}, true, 500e3},
		{"500 KBps", value.Rate{Mbps: 4}, true, 4e6},
		{"12 MBps", value.Rate{Mbps: 96}, true, 96e6},
		{"7 bps", value.Rate{Text: "7 bps"}, true, 7},
		{"1 TBps", value.Rate{Mbps: 8000000}, true, 8e12},
		{"0", value.Rate{}, false, 0},
		{"100 mbps", value.Rate{}, false, 0},
		{"100 Mb", value.Rate{}, false, 0},
		{"1.5 Mbps", value.Rate{}, false, 0},
		{"-5", value.Rate{}, false, 0},
		{"", value.Rate{}, false, 0},
		{"99999999999999999 TBps", value.Rate{}, false, 0},
		{"99999999999999999999", value.Rate{}, false, 0},
	}
	for _, r := range rows {
		got, ok := value.ParseRate(r.in)
		if ok != r.ok || ok && got != r.want {
			t.Errorf("%q: got %+v, %v, want %+v, %v", r.in, got, ok, r.want, r.ok)
			continue
		}
		if bits, ok := value.RateBits(got.Mbps, got.Text); ok != r.ok || bits != r.bits {
			t.Errorf("%q: got %d bits per second, want %d", r.in, bits, r.bits)
		}
	}
	if got, ok := value.RateOfBytes(125000); !ok || got.Mbps != 1 {
		t.Errorf("bytes: got %+v", got)
	}
	if got, ok := value.RateOfBytes(125001); !ok || got.Text != "125001 Bps" {
		t.Errorf("bytes: got %+v", got)
	}
}

func TestDurations(t *testing.T) {
	each(t, func(s string) string { return text(value.Duration(s, time.Second)) },
		[2]string{"30", "30s"}, [2]string{"30s", "30s"}, [2]string{"60", "1m0s"}, [2]string{"90s", "1m30s"},
		[2]string{"0", "0s"}, [2]string{"-1s", refused}, [2]string{"x", refused}, [2]string{"", refused},
		[2]string{"99999999999999", refused}, [2]string{"500ms", "500ms"},
	)
	each(t, func(s string) string { return text(value.Duration(s, time.Millisecond)) },
		[2]string{"10000", "10s"}, [2]string{"8s", "8s"}, [2]string{"1500", "1.5s"})
	if n, ok := value.DurationIn("1m30s", time.Millisecond); !ok || n != 90000 {
		t.Errorf("got %d, %v", n, ok)
	}
	if _, ok := value.DurationIn("1500ms", time.Second); ok {
		t.Error("half a second was lost")
	}
	if n := testing.AllocsPerRun(20, func() { value.Duration("1m0s", time.Second) }); n > 0 {
		t.Errorf("canonical text: got %v allocations, want none", n)
	}
}

func TestHopInterval(t *testing.T) {
	each(t, func(s string) string { return text(value.HopInterval(s)) },
		[2]string{"30", "30"}, [2]string{"15-30", "15-30"}, [2]string{"30s", "30"}, [2]string{"1m", "60"},
		[2]string{"15s-30s", "15-30"}, [2]string{"500ms", "500ms"}, [2]string{"0", ""}, [2]string{"007", "7"},
		[2]string{"30-15", refused}, [2]string{"-5", refused}, [2]string{"soon", refused}, [2]string{"", refused},
	)
}

func TestRange(t *testing.T) {
	for s, want := range map[string]bool{
		"0": true, "100-1000": true, "5-5": true, "": false, "-1": false, "10-5": false, "1-": false, "1-2-3": false, "a": false, "1-2x": false,
	} {
		if _, _, ok := value.Range(s); ok != want {
			t.Errorf("%q: got %v, want %v", s, ok, want)
		}
	}
}

func TestUUIDReadsEveryForm(t *testing.T) {
	const want = "6f1c2b3a-0d4e-4f5a-8b6c-7d8e9fa0b1c2"
	each(t, func(s string) string { return text(value.UUID(s)) },
		[2]string{want, want},
		[2]string{strings.ToUpper(want), want},
		[2]string{strings.ReplaceAll(want, "-", ""), want},
		[2]string{"{" + want + "}", want},
		[2]string{"urn:uuid:" + want, want},
		[2]string{"URN:UUID:" + want, want},
		[2]string{"{" + want, refused},
		[2]string{want[:35] + "g", refused},
		[2]string{want[:35], refused},
		[2]string{strings.Replace(want, "-", "_", 1), refused},
		[2]string{"", refused},
	)
	if n := testing.AllocsPerRun(20, func() { value.UUID(want) }); n > 0 {
		t.Errorf("canonical text: got %v allocations, want none", n)
	}
}

func TestUserIDMapsShortTextToVersion5(t *testing.T) {
	each(t, func(s string) string { return text(value.UserID(s)) },
		[2]string{"my-secret-id", "a1213b1d-b410-5d14-b92a-c11b053baefd"},
		[2]string{"6F1C2B3A0D4E4F5A8B6C7D8E9FA0B1C2", "6f1c2b3a-0d4e-4f5a-8b6c-7d8e9fa0b1c2"},
		[2]string{"", refused},
		[2]string{strings.Repeat("x", 31), refused},
	)
	if id, ok := value.UserID(strings.Repeat("x", 30)); !ok || len(id) != 36 {
		t.Errorf("30 bytes: got %q, %v", id, ok)
	}
}

func TestCipherFoldsSpellings(t *testing.T) {
	rows := []struct {
		t        sandrone.Type
		in, want string
	}{
		{"ss", "AES-128-GCM", "aes-128-gcm"},
		{"ss", "AEAD_CHACHA20_POLY1305", "chacha20-ietf-poly1305"},
		{"ss", "aead-aes-256-gcm", "aes-256-gcm"},
		{"ss", "chacha20-poly1305", "chacha20-ietf-poly1305"},
		{"ss", "2022-blake3-aes-128-gcm", "2022-blake3-aes-128-gcm"},
		{"ss", "Odd_Cipher", "Odd_Cipher"},
		{"ss", "", ""},
		{"ssr", "dummy", "none"},
		{"ssr", "RC4_MD5", "rc4-md5"},
		{"vmess", "", "auto"},
		{"vmess", "chacha20-ietf-poly1305", "chacha20-poly1305"},
		{"vmess", "AUTO", "auto"},
	}
	for _, r := range rows {
		if got := value.Cipher(r.t, r.in); got != r.want {
			t.Errorf("%s %q: got %q, want %q", r.t, r.in, got, r.want)
		}
	}
}

func TestTransportWords(t *testing.T) {
	rows := []struct {
		in           string
		http1        bool
		kind, header string
		ok           bool
	}{
		{"ws", false, "websocket", "", true},
		{"WebSocket", false, "websocket", "", true},
		{"http", false, "http", "", true},
		{"http", true, "tcp", "http", true},
		{"h2", true, "http", "", true},
		{"raw", false, "tcp", "", true},
		{"original", false, "tcp", "", true},
		{"splithttp", false, "xhttp", "", true},
		{"mKCP", false, "kcp", "", true},
		{"gun", false, "grpc", "", true},
		{"httpupgrade", false, "httpupgrade", "", true},
		{"carrier-pigeon", false, "", "", false},
		{"", false, "", "", false},
	}
	for _, r := range rows {
		kind, header, ok := value.Transport(r.in, r.http1)
		if kind != r.kind || header != r.header || ok != r.ok {
			t.Errorf("%q: got %q %q %v", r.in, kind, header, ok)
		}
	}
}

func TestEarlyDataLeavesThePath(t *testing.T) {
	rows := []struct {
		in, rest string
		n        int
	}{
		{"/p?ed=2048", "/p", 2048},
		{"/a?x=1&ed=1024", "/a?x=1", 1024},
		{"/a?ed=1024&x=1", "/a?x=1", 1024},
		{"/a?x=1&ed=1024&y=2", "/a?x=1&y=2", 1024},
		{"?ed=5", "", 5},
		{"/p", "/p", 0},
		{"/p?ed=", "/p?ed=", 0},
		{"/p?ed=0", "/p?ed=0", 0},
		{"/p?ed=12x", "/p?ed=12x", 0},
		{"/p?speed=9", "/p?speed=9", 0},
		{"/p?ed=99999999999999999999", "/p?ed=99999999999999999999", 0},
	}
	for _, r := range rows {
		rest, n, ok := value.EarlyData(r.in)
		if rest != r.rest || n != r.n || ok != (r.n > 0) {
			t.Errorf("%q: got %q %d %v, want %q %d", r.in, rest, n, ok, r.rest, r.n)
		}
	}
}

func TestSmallWords(t *testing.T) {
	each(t, value.ClientFingerprint,
		[2]string{"Chrome", "chrome"}, [2]string{"none", ""}, [2]string{"UNSAFE", ""}, [2]string{"netscape", "netscape"}, [2]string{"360", "360"})
	each(t, func(s string) string { return text(value.IPVersion(s)) },
		[2]string{"prefer_ipv4", "ipv4-prefer"}, [2]string{"v6-only", "ipv6"}, [2]string{"DUAL", "dual"}, [2]string{"both", refused})
	for s, want := range map[string]int{"3": 3, "v2": 2, "0": 0, "4": 0, "": 0, "33": 0} {
		if n, ok := value.ShadowTLSVersion(s); n != want || ok != (want > 0) {
			t.Errorf("%q: got %d, %v", s, n, ok)
		}
	}
}

func FuzzBase64(f *testing.F) {
	for _, s := range []string{"aGVsbG8=", "-_+/", "a", "====", "YW\nI", "ss://x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, ok := value.Base64(s)
		n, sized := value.Base64Size(s)
		if ok != sized || ok && n != len(got) {
			t.Fatalf("decoded %d bytes (%v), size says %d (%v)", len(got), ok, n, sized)
		}
		// Text that the standard library takes must come out the same.
		for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
			if want, err := enc.DecodeString(s); err == nil && !strings.ContainsAny(s, "=") && (!ok || !bytes.Equal(got, want)) {
				t.Fatalf("got %x, %v, want %x", got, ok, want)
			}
		}
		if ok {
			if back, ok := value.Base64(base64.RawURLEncoding.EncodeToString(got)); !ok || !bytes.Equal(back, got) {
				t.Fatalf("does not come back: %x", back)
			}
		}
	})
}

func FuzzUnescape(f *testing.F) {
	for _, s := range []string{"%20", "%", "%zz", "a+b", "%e9%a6%99"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got := value.Unescape(s); len(got) > len(s) || !strings.Contains(s, "%") && got != s {
			t.Fatalf("got %q", got)
		}
		if !utf8.ValidString(value.Name(value.Unescape(s))) {
			t.Fatal("the name is no UTF-8")
		}
	})
}

func FuzzEndpoint(f *testing.F) {
	for _, s := range []string{"a:1", "[::1]:2", "::1:443", "[fe80::1%25e]:1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		host, _, err := value.Endpoint(s, 443)
		if err != nil {
			return
		}
		if again, ok := value.Host(host); !ok || again != host {
			t.Fatalf("the host %q is refused when it is read again", host)
		}
	})
}

func BenchmarkBase64Text(b *testing.B) {
	in := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("trojan://pw@example.com:443#name\n"), 1<<16))
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		if _, ok := value.Base64Text(in); !ok {
			b.Fatal("not decoded")
		}
	}
}
