package singbox_test

import (
	"testing"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert"
	"github.com/sandrone-gateway/sandrone/convert/goldentest"
	"github.com/sandrone-gateway/sandrone/convert/singbox"
	"github.com/sandrone-gateway/sandrone/convert/table"
)

// TestGolden reads documents and writes them under the client version that is
// the title, such as 1.13.
func TestGolden(t *testing.T) {
	goldentest.Run(t, goldentest.Notation{
		Parser: singbox.Parser,
		Render: func(title string, nodes []sandrone.Node) (convert.Rendered, bool) {
			v := table.V(title)
			if v.IsZero() {
				return convert.Rendered{}, false
			}
			return singbox.Renderer.Render(nodes, convert.RenderOptions{Target: "sing-box-outbounds@" + title, Version: v}), true
		},
	})
}
