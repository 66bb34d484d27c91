//go:build noui

package web_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sandrone-gateway/sandrone/web"
)

func TestWithoutAPageEveryPathIsNotFound(t *testing.T) {
	for _, method := range []string{"GET", "HEAD", "POST"} {
		w := httptest.NewRecorder()
		web.Handler().ServeHTTP(w, httptest.NewRequest(method, "/", nil))
		if w.Code != 404 || !strings.Contains(w.Body.String(), `"route_not_found"`) {
			t.Errorf("%s /: got %d %s, want 404 route_not_found", method, w.Code, w.Body)
		}
	}
}
