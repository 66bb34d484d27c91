//go:build !noui

package web

import _ "embed"

//go:embed dist/index.html
var page []byte
