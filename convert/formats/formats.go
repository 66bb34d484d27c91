// Package formats is the list of all notations. A new format is one package
// and one line here.
package formats

import (
	"sync"

	"github.com/sandrone-gateway/sandrone/convert"
	"github.com/sandrone-gateway/sandrone/convert/jsonnodes"
	"github.com/sandrone-gateway/sandrone/convert/mihomo"
	"github.com/sandrone-gateway/sandrone/convert/shadowrocket"
	"github.com/sandrone-gateway/sandrone/convert/singbox"
	"github.com/sandrone-gateway/sandrone/convert/sip008"
	"github.com/sandrone-gateway/sandrone/convert/uri"
)

// Registry returns the registry of every format of this build. It is shared
// and must not be changed. Detection asks the parsers in this order.
var Registry = sync.OnceValue(func() *convert.Registry {
	return convert.NewRegistry(
		[]convert.Parser{sip008.Parser, singbox.Parser, jsonnodes.Parser, mihomo.Parser, mihomo.Stash, uri.Parser, uri.ListParser, uri.Base64Parser, uri.SSDParser},
		[]convert.Renderer{jsonnodes.Renderer, mihomo.Renderer, singbox.Renderer, shadowrocket.Renderer, uri.ListRenderer, uri.Base64Renderer, sip008.Renderer},
	)
})
