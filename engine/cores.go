package engine

import "github.com/sandrone-gateway/sandrone/core"

// Cores tells which client programs are installed, without running them.
func (e *Engine) Cores() []core.Core { return e.cores.List() }
