package uri_test

import (
	"testing"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert"
	"github.com/sandrone-gateway/sandrone/convert/goldentest"
	"github.com/sandrone-gateway/sandrone/convert/uri"
)

// TestGolden reads links and writes them under the title "links".
func TestGolden(t *testing.T) {
	goldentest.Run(t, goldentest.Notation{
		Parser: uri.ListParser,
		Render: func(title string, nodes []sandrone.Node) (convert.Rendered, bool) {
			if title != "links" {
				return convert.Rendered{}, false
			}
			return uri.ListRenderer.Render(nodes, convert.RenderOptions{Target: "uri-list"}), true
		},
	})
}
