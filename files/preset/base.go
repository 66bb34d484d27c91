package preset

import (
	"embed"
	"strings"

	"github.com/sandrone-gateway/sandrone"
)

//go:embed bases
var bases embed.FS

// anchorMark stands in a base for the name of the anchor.
const anchorMark = "ANCHOR"

// base is the document for new files, in the form of the client's version:
// sing-box has had another notation for DNS servers since 1.12, and names the
// client that fetches rule sets since 1.14.
func (c *client) base() string {
	name := "mihomo.yaml"
	switch {
	case c.kind.Name == sandrone.FileShadowrocket:
		name = "shadowrocket.conf"
	case c.kind.Name != sandrone.FileSingBox:
	case c.from("1.14"):
		name = "sing-box-1.14.json"
	case c.from("1.12"):
		name = "sing-box-1.12.json"
	default:
		name = "sing-box-1.11.json"
	}
	return strings.ReplaceAll(read(bases, "bases/"+name), anchorMark, modules[0].name.In(c.locale))
}

// read returns an embedded file.
func read(dir embed.FS, path string) string {
	text, err := dir.ReadFile(path)
	if err != nil {
		panic(err) // it is part of the program
	}
	return string(text)
}
