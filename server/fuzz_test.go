package server

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/engine"
)

// FuzzText holds the string writer to the words of encoding/json.
func FuzzText(f *testing.F) {
	for _, s := range []string{"", "plain", `"\`, "<a href='x'>&", "\x00\x1f\x7f\t\r\n\b\f", "香港 🇭🇰", "\xff", "a\xe4\xb8"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var got string
		text := appendText(nil, validText([]byte(s)))
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatalf("%q: %v in %s", s, err, text)
		}
		if want := strings.ToValidUTF8(s, "\uFFFD"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if strings.ContainsAny(string(text), "<>&\n") {
			t.Errorf("%s is not safe in HTML", text)
		}
		for cut := range len(s) {
			if cut > 8 {
				break
			}
			if pieces := appendEscaped(appendEscaped(nil, s[:cut]), s[cut:]); string(pieces) != string(appendEscaped(nil, s)) {
				t.Errorf("%q in pieces is %q", s, pieces)
			}
		}
	})
}

// FuzzRoutePath holds that the path that is routed by says the same as the
// path that access is decided by.
func FuzzRoutePath(f *testing.F) {
	for _, s := range []string{"/", "/v1/inspect", "/%76%31/inspect", "/v1%2Finspect", "//v1", "/v1/", "/a%2F%2e%2e/b", "/é", "/%", "*"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		u, err := url.ParseRequestURI(s)
		if err != nil {
			t.Skip()
		}
		path, ok := routePath(u)
		if !ok {
			return
		}
		if strings.Contains(path, "//") || path != "/" && strings.HasSuffix(path, "/") {
			t.Errorf("%q is routed as %q", s, path)
		}
		decoded, err := url.PathUnescape(path)
		if err != nil || decoded != u.Path {
			t.Errorf("%q is routed as %q, which says %q; access is decided by %q", s, path, decoded, u.Path)
		}
	})
}

// FuzzDecode holds that a closed body is a stricter one, never another one.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{"", "{}", `{"to_format":"x","content":"y"}`, `{"remote_batch":{"sources":[{"url":"x"}]}}`,
		`{"Content":"x"}`, `{"content":"x","content":"y"}`, `{"meta":{"a":"b"},"parse_processors":[{"params":{"x":[1]}}]}`, `[`, "null", `{"content":"\ud800"}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var got, want engine.ConvertRequest
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(s))
		if err := decode(httptest.NewRecorder(), r, &got); err != nil {
			e := sandrone.AsError(err)
			if e.Code != sandrone.InvalidArgument || e.Field == "" && e.Line == 0 && strings.TrimSpace(s) != "" {
				t.Errorf("%q: got %+v", s, e)
			}
			return
		}
		if err := json.Unmarshal([]byte(s), &want); err != nil {
			t.Fatalf("%q is taken, and is no JSON: %v", s, err)
		}
		a, _ := json.Marshal(got)
		b, _ := json.Marshal(want)
		if string(a) != string(b) {
			t.Errorf("%q: got %s, want %s", s, a, b)
		}
	})
}

// FuzzRedact holds that no text around a secret brings it into the log.
func FuzzRedact(f *testing.F) {
	f.Add("", "")
	f.Add("x ", " y")
	f.Add(`Get "`, `": refused`)
	f.Add("https://", "/?a=b")
	f.Fuzz(func(t *testing.T, before, after string) {
		for _, planted := range []string{"trojan://hunter2@a.example:443", "https://u:hunter2@a.example/hunter2?x=hunter2", "Bearer hunter2", "sdt_hunter2", "/s/hunter2", "?x=hunter2"} {
			if text := redactText(before + " " + planted + " " + after); strings.Contains(text, "hunter2") && !strings.Contains(before+after, "hunter2") {
				t.Errorf("%q around %q is logged as %q", before, planted, text)
			}
		}
	})
}
