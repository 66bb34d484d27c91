//go:build !noui

package web_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sandrone-gateway/sandrone/web"
)

func get(t *testing.T, method, target string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	web.Handler().ServeHTTP(w, httptest.NewRequest(method, target, nil))
	return w
}

func TestHandlerServesOnlyTheRoot(t *testing.T) {
	for _, row := range []struct {
		name, method, target string
		status               int
		code, allow          string
	}{
		{"page", "GET", "/", 200, "", ""},
		{"page with query", "GET", "/?x=1", 200, "", ""},
		{"head", "HEAD", "/", 200, "", ""},
		{"post", "POST", "/", 405, "method_not_allowed", "GET, HEAD"},
		{"options", "OPTIONS", "/", 405, "method_not_allowed", "GET, HEAD"},
		{"delete", "DELETE", "/", 405, "method_not_allowed", "GET, HEAD"},
		{"file name", "GET", "/index.html", 404, "route_not_found", ""},
		{"source", "GET", "/dist/index.html", 404, "route_not_found", ""},
		{"two slashes", "GET", "//", 404, "route_not_found", ""},
		{"encoded slash", "GET", "/%2F", 404, "route_not_found", ""},
		{"dot", "GET", "/.", 404, "route_not_found", ""},
		{"dots", "GET", "/../", 404, "route_not_found", ""},
		{"icon", "GET", "/favicon.ico", 404, "route_not_found", ""},
		{"post elsewhere", "POST", "/x", 404, "route_not_found", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := get(t, row.method, row.target)
			if w.Code != row.status {
				t.Fatalf("status: got %d, want %d", w.Code, row.status)
			}
			if got := w.Header().Get("Allow"); got != row.allow {
				t.Errorf("Allow: got %q, want %q", got, row.allow)
			}
			for k, want := range map[string]string{
				"Cache-Control":          "no-store",
				"Referrer-Policy":        "no-referrer",
				"X-Content-Type-Options": "nosniff",
			} {
				if got := w.Header().Get(k); got != want {
					t.Errorf("%s: got %q, want %q", k, got, want)
				}
			}
			if row.code == "" {
				return
			}
			if got := w.Header().Get("Content-Type"); got != "application/json" {
				t.Errorf("Content-Type: got %q", got)
			}
			var body struct {
				Error struct{ Code, Message string }
			}
			if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
				t.Fatalf("body %q: %v", w.Body, err)
			}
			if body.Error.Code != row.code || body.Error.Message == "" {
				t.Errorf("error: got %+v, want code %s and a message", body.Error, row.code)
			}
			if strings.Contains(w.Body.String(), row.target) && len(row.target) > 2 {
				t.Errorf("the path comes back in %q", w.Body)
			}
		})
	}
}

var noncePattern = regexp.MustCompile(`'nonce-([^']*)'`)

func TestPolicyLetsOnlyThePagesOwnPartsIn(t *testing.T) {
	w := get(t, "GET", "/")
	got := noncePattern.ReplaceAllString(w.Header().Get("Content-Security-Policy"), "'nonce-X'")
	want := "default-src 'none'; script-src 'nonce-X'; style-src 'nonce-X'; connect-src 'self'; img-src data:; " +
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
	if got != want {
		t.Errorf("policy\ngot  %s\nwant %s", got, want)
	}
	for k, want := range map[string]string{
		"Content-Type":                 "text/html; charset=utf-8",
		"Cross-Origin-Opener-Policy":   "same-origin",
		"Cross-Origin-Resource-Policy": "same-origin",
		"Permissions-Policy":           "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
		"Etag":                         "",
		"Last-Modified":                "",
		"Access-Control-Allow-Origin":  "",
	} {
		if got := w.Header().Get(k); got != want {
			t.Errorf("%s: got %q, want %q", k, got, want)
		}
	}
}

func TestNonceIsNewInEachAnswerAndOnScriptAndStyle(t *testing.T) {
	seen := map[string]bool{}
	for range 50 {
		w := get(t, "GET", "/")
		found := noncePattern.FindAllStringSubmatch(w.Header().Get("Content-Security-Policy"), -1)
		if len(found) != 2 || found[0][1] != found[1][1] {
			t.Fatalf("nonces of the policy: %v", found)
		}
		nonce := found[0][1]
		if !regexp.MustCompile(`^[A-Za-z0-9_-]{22}$`).MatchString(nonce) {
			t.Fatalf("nonce %q is not 128 bits of base64", nonce)
		}
		if seen[nonce] {
			t.Fatalf("nonce %q came twice", nonce)
		}
		seen[nonce] = true
		body := w.Body.String()
		for _, tag := range []string{`<script nonce="` + nonce + `">`, `<style nonce="` + nonce + `">`} {
			if strings.Count(body, tag) != 1 {
				t.Errorf("%d times %s", strings.Count(body, tag), tag)
			}
		}
		if strings.Contains(body, "{{") {
			t.Error("a placeholder is left")
		}
	}
}

func TestHeadIsGetWithoutBody(t *testing.T) {
	server := httptest.NewServer(web.Handler())
	defer server.Close()
	for _, path := range []string{"/", "/missing"} {
		got, err := http.Get(server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		got.Body.Close()
		head, err := http.Head(server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		head.Body.Close()
		if head.StatusCode != got.StatusCode || head.ContentLength != got.ContentLength || head.ContentLength <= 0 {
			t.Errorf("%s: HEAD %d with length %d, GET %d with %d", path, head.StatusCode, head.ContentLength, got.StatusCode, got.ContentLength)
		}
		if w := get(t, "HEAD", path); path == "/" && w.Body.Len() != 0 {
			t.Errorf("HEAD wrote %d bytes", w.Body.Len())
		}
	}
}

// source is the page as it is embedded.
func source(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("dist/index.html")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestPageIsSelfContained(t *testing.T) {
	page := source(t)
	if got := get(t, "GET", "/").Body.Len(); got < len(page) {
		t.Errorf("the embedded page has %d bytes, the file %d", got, len(page))
	}
	for _, row := range []struct{ why, pattern string }{
		{"loads from elsewhere", `(?i)(src|action|formaction|poster|srcset)\s*=`},
		{"has a style attribute, which the policy refuses", `(?i)<[a-z][^>]*\sstyle\s*=`},
		{"has an inline handler, which the policy refuses", `(?i)<[a-z][^>]*\son[a-z]+\s*=\s*["']`},
		{"fetches a style or font", `(?i)@import|@font-face|\burl\(`},
		{"writes text as markup", `innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|createContextualFragment|srcdoc`},
		{"runs text as code", `\beval\(|new Function|setTimeout\(\s*['"]|javascript:`},
		{"keeps a token beyond the tab", `localStorage\.setItem\([^)]*token`},
	} {
		if m := regexp.MustCompile(row.pattern).FindString(page); m != "" {
			t.Errorf("page %s: %q", row.why, m)
		}
	}
	for _, m := range regexp.MustCompile(`(?i)<(?:link|a|use)[^>]*href="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if !strings.HasPrefix(m[1], "#") && !strings.HasPrefix(m[1], "data:image/svg+xml,") {
			t.Errorf("page leads to %q", m[1])
		}
	}
}

// A message is a text, or texts by plural category.
func catalogue(t *testing.T, page string) map[string]map[string]json.RawMessage {
	t.Helper()
	m := regexp.MustCompile(`(?s)<script type="application/json" id="messages">(.*?)</script>`).FindStringSubmatch(page)
	if m == nil {
		t.Fatal("no messages in the page")
	}
	var out map[string]map[string]json.RawMessage
	if err := json.Unmarshal([]byte(m[1]), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestBothLanguagesSayEverythingThatThePageAsksFor(t *testing.T) {
	page := source(t)
	messages := catalogue(t, page)
	en, zh := messages["en"], messages["zh-CN"]
	if len(messages) != 2 || len(en) == 0 {
		t.Fatalf("got %d languages, want en and zh-CN", len(messages))
	}
	holes := regexp.MustCompile(`\{\w+\}`)
	for key, text := range en {
		other, ok := zh[key]
		if !ok {
			t.Errorf("zh-CN lacks %q", key)
			continue
		}
		a, b := holes.FindAllString(string(text), -1), holes.FindAllString(string(other), -1)
		slices.Sort(a)
		slices.Sort(b)
		if !slices.Equal(slices.Compact(a), slices.Compact(b)) {
			t.Errorf("%s: values %v in en, %v in zh-CN", key, a, b)
		}
		if (text[0] == '{') != (other[0] == '{') {
			t.Errorf("%s: a plural in one language only", key)
		}
	}
	for key := range zh {
		if _, ok := en[key]; !ok {
			t.Errorf("en lacks %q", key)
		}
	}
	asked := regexp.MustCompile(`data-t(?:-placeholder)?="([^"]+)"|\bt\('([^']+)'|problem\('[^']+', '([^']+)'|\['(label\.[^']+)'`).FindAllStringSubmatch(page, -1)
	if len(asked) < 100 {
		t.Fatalf("found only %d uses of messages", len(asked))
	}
	for _, m := range asked {
		key := strings.Join(m[1:], "")
		if _, ok := en[key]; !ok {
			t.Errorf("the page asks for %q, which no language has", key)
		}
	}
}
