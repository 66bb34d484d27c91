//go:build browser && !noui

package web_test

import (
	"testing"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/catalog"
	"github.com/sandrone-gateway/sandrone/convert/formats"
	"github.com/sandrone-gateway/sandrone/engine"
	"github.com/sandrone-gateway/sandrone/server"
	"github.com/sandrone-gateway/sandrone/web"
)

// TestPageWorksWithTheRealServer walks the main job through the whole program:
// the page, the server, the engine and the formats.
func TestPageWorksWithTheRealServer(t *testing.T) {
	e, err := engine.New(engine.Options{Registry: formats.Registry(), Settings: sandrone.DefaultSettings()})
	if err != nil {
		t.Fatal(err)
	}
	const token = "the-owners-token"
	s, err := server.New(server.Options{Engine: e, Catalog: catalog.New(formats.Registry(), nil), Token: token, UI: web.Handler()})
	if err != nil {
		t.Fatal(err)
	}
	p := openOver(t, s)

	// The server wants its token before it tells its formats.
	p.until(`document.querySelector('#token').open`)
	p.paste("#token-value", token)
	p.click("#token-form .main")
	ready(p)

	p.paste("#text", "vless://0f3c9a11-5b7d-4e21-9c40-7a6d2e81b011@xh.example.com:443?security=tls&type=xhttp&mode=packet-up&path=%2Fin#XH\n"+
		"trojan://maple@ok.example.com:443?sni=ok.example.com&shiny=1#香港 01\n"+
		"foo://bar\n")
	p.choose("#to", "sing-box-outbounds")
	p.click("#convert")
	p.shows("#headline", "1 of 2 nodes written")
	p.shows("#output", `"outbounds"`, `"tag": "香港 01"`)
	p.shot("real-output")
	p.click("#tab-nodes")
	p.shows("#nodes", "XH", "xhttp", "香港 01", "uri.query.shiny")
	p.shot("real-nodes")

	p.paste("#text", "<!doctype html><title>Sign in</title>")
	p.click("#convert")
	p.shows("#result", "parse_failed")
	p.shot("real-error")
}
