// Package formats is the list of all notations. A new format is one package
// and one line here.
package formats

import (
	"sync"

	"github.com/sandrone-gateway/sandrone/convert"
	"github.com/sandrone-gateway/sandrone/convert/jsonnodes"
	"github.com/sandrone-gateway/sandrone/convert/mihomo"
)

// Registry returns the registry of every format of this build. It is shared
// and must not be changed.
var Registry = sync.OnceValue(func() *convert.Registry {
	return convert.NewRegistry(
		[]convert.Parser{jsonnodes.Parser, mihomo.Parser, mihomo.Stash},
		[]convert.Renderer{jsonnodes.Renderer, mihomo.Renderer},
	)
})
