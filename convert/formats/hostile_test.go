package formats_test

import (
	"encoding/base64"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/sandrone-gateway/sandrone/convert"
	"github.com/sandrone-gateway/sandrone/convert/formats"
)

// repeat joins n pieces of text, each made from its number.
func repeat(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// TestHostileTextsCostLittle holds whole conversions to a time, and to memory
// and warnings that are a multiple of the text. What fails here takes minutes
// or gigabytes, not a little more than it may.
func TestHostileTextsCostLittle(t *testing.T) {
	const proxy = `{name: n%d, type: trojan, server: a.example.com, port: 1, password: p`
	outbound := func(more string) string {
		return `{"type":"trojan","tag":"n","server":"a.example.com","server_port":1,"password":"p"` + more + `}`
	}
	long := strings.Repeat("x", 1<<20)
	for _, c := range []struct {
		name, from, to, text string
		err                  string // what the error says; empty where nodes are written
	}{
		{"many unknown options of one proxy", "mihomo", "mihomo-proxies", "proxies:\n- {name: n, type: trojan, server: a.example.com, port: 1, password: p" + repeat(9_000, ", k%d: v") + "}\n", ""},
		{"many unknown options of one outbound", "sing-box", "sing-box-outbounds", `{"outbounds":[` + outbound(repeat(9_000, `,"k%d":1`)) + `]}`, ""},
		{"too many unknown options of one outbound", "sing-box", "uri-list", `{"outbounds":[` + outbound(repeat(200_000, `,"k%d":1`)) + `]}`, "it has too many unknown options"},
		{"unknown options of many outbounds", "sing-box", "uri-list", `{"outbounds":[` + strings.Repeat(outbound(repeat(9_000, `,"k%d":1`))+",", 35) + `]}`, "too many entries and options that cannot be read"},
		{"unknown options of many peers", "sing-box", "sing-box-outbounds", `{"endpoints":[{"type":"wireguard","tag":"n","address":["10.0.0.1/32"],"private_key":"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=","peers":[` +
			strings.Repeat(`{"address":"a.example.com","port":1,"public_key":"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=","allowed_ips":["0.0.0.0/0"],"odd":1},`, 5_000) + `]` + repeat(4_000, `,"k%d":1`) + `}]}`, ""},
		{"a long name with many warnings", "sing-box", "mihomo-proxies", `{"outbounds":[` + outbound(`,"tag":"`+long+`"`+repeat(2_000, `,"k%d":1`)) + `]}`, ""},
		{"a long name with many faults", "json-nodes", "uri-list", `[{"name":"` + long + `","type":"wireguard","server":"a.example.com","port":1,"wireguard":{"private_key":"AA","address":["10.0.0.1/32"],"peers":[` + strings.Repeat(`{},`, 5_000) + `{}]}}]`, "semantic validation"},
		{"entries that are none", "sing-box", "uri-list", `{"outbounds":[` + strings.Repeat("1,", 301_000) + outbound("") + `]}`, "too many entries and options that cannot be read"},
		{"proxies that are none", "mihomo", "uri-list", "proxies:\n" + strings.Repeat("- 1\n", 301_000), "too many entries and options that cannot be read"},
		{"servers that are none", "sip008", "uri-list", `{"version":1,"servers":[` + strings.Repeat("1,", 301_000) + `1]}`, "too many entries and options that cannot be read"},
		{"nodes that are none", "json-nodes", "uri-list", `[` + strings.Repeat("1,", 301_000) + `1]`, "too many entries and options that cannot be read"},
		{"a large ShadowTLS outbound that many go through", "sing-box", "mihomo-proxies", `{"outbounds":[` + strings.Repeat(`{"type":"shadowsocks","method":"aes-128-gcm","password":"p","detour":"st"},`, 5_000) +
			`{"type":"shadowtls","tag":"st","server":"a.example.com","server_port":1,"version":3,"password":"` + long + `","tls":{"enabled":true,"server_name":"b.example.com"}}]}`, "far more than the text"},
		{"a small ShadowTLS outbound that many go through", "sing-box", "sing-box-outbounds", `{"outbounds":[` + strings.Repeat(`{"type":"shadowsocks","method":"aes-128-gcm","password":"p","detour":"st"},`, 5_000) +
			`{"type":"shadowtls","tag":"st","server":"a.example.com","server_port":1,"version":3,"password":"st","tls":{"enabled":true,"server_name":"b.example.com"}}]}`, ""},
		{"common options of many servers", "ssd", "uri-list", "ssd://" + base64.StdEncoding.EncodeToString([]byte(`{"airport":"a","port":1,"encryption":"aes-128-gcm","password":"`+long+`","servers":[`+strings.Repeat(`{"server":"a.example.com"},`, 5_000)+`{"server":"a.example.com"}]}`)), "far more than the text"},
		{"a chain of many", "mihomo", "mihomo-proxies", "proxies:\n" + repeat(20_000, "- "+proxy+", dialer-proxy: m}\n") + "- {name: m, type: trojan, server: a.example.com, port: 1, password: p}\n", ""},
		{"a circle of many", "mihomo", "mihomo-proxies", "proxies:\n" + strings.Repeat("- {name: n, type: trojan, server: a.example.com, port: 1, password: p, dialer-proxy: n}\n", 20_000), "it leads back to itself"},
		{"one name for many", "mihomo", "mihomo-proxies", "proxies:\n" + strings.Repeat("- {name: n, type: trojan, server: a.example.com, port: 1, password: p}\n", 20_000), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			nodes, warnings, err := read(c.from, c.text)
			if err == nil {
				var out convert.Rendered
				out, _, err = formats.Registry().Render(c.to, nodes, convert.RenderOptions{})
				warnings = append(warnings, out.Warnings...)
			}
			took := time.Since(start)
			runtime.ReadMemStats(&after)
			if took > 20*time.Second {
				t.Errorf("%d bytes of text took %v", len(c.text), took)
			}
			if got, most := after.TotalAlloc-before.TotalAlloc, uint64(300*len(c.text)+128<<20); got > most {
				t.Errorf("%d bytes of text took %d bytes", len(c.text), got)
			}
			if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("error %v, want %q", err, c.err)
			}
			report := 0
			for _, w := range warnings {
				report += 2 * (len(w.Node) + len(w.Message) + len(w.Field)) // its least room in JSON
			}
			if report > 60*len(c.text)+1<<20 {
				t.Errorf("%d bytes of text gave %d bytes of warnings", len(c.text), report)
			}
		})
	}
}
