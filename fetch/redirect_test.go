package fetch_test

import (
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/fetch"
)

func TestRedirectsAreFollowedFiveTimes(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		var n internet
		n.serve(t, "a.example", publicAddr, func(w http.ResponseWriter, r *http.Request) {
			left, _ := strconv.Atoi(r.URL.Query().Get("left"))
			if left == 0 {
				io.WriteString(w, "end")
				return
			}
			w.Header().Set("Location", fmt.Sprintf("?left=%d#part", left-1))
			w.WriteHeader(status)
		})
		c := n.client(t, fetch.Options{})
		r, err := c.Get(t.Context(), fetch.Request{URL: "http://a.example/x?left=5"})
		if err != nil || string(r.Body) != "end" || r.Ref.URL != "http://a.example/x?left=5" {
			t.Errorf("%d: got %+v, %v", status, r, err)
		}
		_, err = c.Get(t.Context(), fetch.Request{URL: "http://a.example/x?left=6"})
		if e := wantCode(t, err, sandrone.FetchFailed); !strings.Contains(e.Message, "more than 5 times") {
			t.Errorf("%d: got %q", status, e.Message)
		}
	}
}

func TestRedirectTargetsAreChecked(t *testing.T) {
	tests := []struct {
		location string
		want     sandrone.Code
	}{
		{"http://127.0.0.1/", sandrone.FetchForbidden},
		{"//127.0.0.1/", sandrone.FetchForbidden},
		{"http://127.1:8080/", sandrone.FetchForbidden},
		{"http://169.254.169.254/latest/meta-data/", sandrone.FetchForbidden},
		{"http://[::1]/", sandrone.FetchForbidden},
		{"http://[::ffff:10.0.0.1]/", sandrone.FetchForbidden},
		{"http://private.example/", sandrone.FetchForbidden},
		{"https://private.example/", sandrone.FetchForbidden},
		{"file:///etc/passwd", sandrone.FetchFailed},
		{"gopher://127.0.0.1/", sandrone.FetchFailed},
		{"ftp://a.example/", sandrone.FetchFailed},
		{"javascript:alert(1)", sandrone.FetchFailed},
		{"http:///x", sandrone.FetchFailed},
		{"http://a.example:99999/", sandrone.FetchFailed},
		{"http://%zz/", sandrone.FetchFailed},
		{"http://nowhere.example/", sandrone.FetchFailed},
	}
	for _, tt := range tests {
		t.Run(tt.location, func(t *testing.T) {
			var n internet
			n.serve(t, "a.example", publicAddr, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Location", tt.location)
				w.WriteHeader(302)
			})
			n.names["private.example"] = "10.0.0.1"
			for _, policy := range []fetch.Policy{fetch.Public, fetch.Managed} {
				_, err := n.client(t, fetch.Options{}).Get(t.Context(), fetch.Request{URL: "http://a.example/", Policy: policy})
				if e := wantCode(t, err, tt.want); e.Source != "http://a.example" || e.Field != "" {
					t.Errorf("got source %q, field %q", e.Source, e.Field)
				}
			}
			if want := []string{publicAddr + ":80", publicAddr + ":80"}; !slices.Equal(n.dialed(), want) {
				t.Errorf("got dials %v", n.dialed())
			}
		})
	}
}

func TestRedirectLeavesNothingToAnotherHost(t *testing.T) {
	const login = "dXNlcjpwYXNz" // user:pass
	tests := []struct {
		name, from, to string
		keeps          string
	}{
		{"same host", "http://user:pass@a.example/jump", "/end", login},
		{"same host, absolute", "http://user:pass@a.example/jump", "http://A.example:80/end", login},
		{"other host", "http://user:pass@a.example/jump", "http://b.example/end", ""},
		{"sub-domain", "http://user:pass@a.example/jump", "http://sub.a.example/end", ""},
		{"other port", "http://user:pass@a.example/jump", "http://a.example:8080/end", ""},
		{"other host with its own", "http://user:pass@a.example/jump", "http://x:y@b.example/end", "eDp5"},
		{"back again", "http://user:pass@a.example/jump", "http://b.example/back", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var n internet
			var end http.Header
			handler := func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case "/jump":
					http.SetCookie(w, &http.Cookie{Name: "id", Value: "1"})
					w.Header().Set("Location", tt.to)
					w.WriteHeader(302)
				case "/back":
					w.Header().Set("Location", "http://a.example/end")
					w.WriteHeader(302)
				case "/end":
					end = r.Header.Clone()
				}
			}
			n.serve(t, "a.example", "1.1.1.1", handler)
			n.serve(t, "b.example", "1.1.1.2", handler)
			n.serve(t, "sub.a.example", "1.1.1.3", handler)
			if _, err := n.client(t, fetch.Options{}).Get(t.Context(), fetch.Request{URL: tt.from + "?token=s3cret"}); err != nil {
				t.Fatal(err)
			}
			if got := strings.TrimPrefix(end.Get("Authorization"), "Basic "); got != tt.keeps {
				t.Errorf("got login %q, want %q", got, tt.keeps)
			}
			if end.Get("Referer") != "" || end.Get("Cookie") != "" || strings.Contains(fmt.Sprint(end), "s3cret") {
				t.Errorf("got header %v", end)
			}
		})
	}
}

func TestLoginStaysThroughTheStepToTLS(t *testing.T) {
	var n internet
	secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		io.WriteString(w, user+" "+password)
	}))
	t.Cleanup(secure.Close)
	n.serve(t, "example.com", publicAddr, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://example.com/", http.StatusMovedPermanently)
	})
	n.servers[publicAddr+":443"] = secure.Listener.Addr().String()
	roots := x509.NewCertPool()
	roots.AddCert(secure.Certificate())
	r, err := n.client(t, fetch.Options{RootCAs: roots}).Get(t.Context(), fetch.Request{URL: "http://user:pass@example.com/"})
	if err != nil || string(r.Body) != "user pass" {
		t.Errorf("got %v, %v", r, err)
	}
}
