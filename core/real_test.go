//go:build cores && unix

// The tests of this file ask the real clients.
package core_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/core"
	"github.com/sandrone-gateway/sandrone/core/coretest"
)

// everyGeo is a file for mihomo that names geo data wherever it can.
const everyGeo = `
mode: rule
geodata-mode: MODE
geo-auto-update: true
geox-url: {geoip: "URL/geoip.dat", geosite: "URL/geosite.dat", mmdb: "URL/country.mmdb", asn: "URL/asn.mmdb"}
external-controller: 127.0.0.1:0
external-ui: ui
external-ui-url: "URL/ui.zip"
dns:
  enable: true
  nameserver: ["URL/dns-query"]
  fallback: ["URL/dns-query"]
  fallback-filter: {geoip: true, geoip-code: JP, geosite: [gfw]}
  fake-ip-filter: ["geosite:private"]
  nameserver-policy: {"geosite:apple,category-games@cn": "URL/dns-query"}
sniffer:
  enable: true
  skip-domain: ["geosite:netflix"]
  skip-src-address: ["geoip:kr"]
proxies:
  - {name: a, type: ss, server: example.invalid, port: 1, cipher: aes-128-gcm, password: hunter2}
proxy-providers:
  p: {type: http, url: "URL/provider", path: p.yaml, interval: 60, health-check: {enable: true, lazy: false, url: "URL/health", interval: 1}}
rule-providers:
  r: {type: http, behavior: domain, url: "URL/rules", path: r.yaml, interval: 60}
  i: {type: inline, behavior: classical, payload: ["GEOSITE,steam", "GEOIP,telegram"]}
proxy-groups:
  - {name: G, type: url-test, proxies: [a], use: [p], url: "URL/test", interval: 1, lazy: false}
sub-rules:
  s: ["GEOSITE,\x67itlab,G"]
rules:
  - "GEOSITE,youtube,G"
  - "GEOSITE,google@ads,G"
  - "GEOSITE,!cn,G"
  - "GEOIP,lan,DIRECT,no-resolve"
  - "GEOIP,US,G"
  - "SRC-GEOIP,DE,G"
  - "IP-ASN,13335,G"
  - "AND,((GEOSITE, github ),(NETWORK,UDP)),G"
  - "SUB-RULE,(NETWORK,TCP),s"
  - "RULE-SET,r,G"
  - "RULE-SET,i,G"
  - "MATCH,G"
`

func TestMihomoAcceptsStandInsAndAsksNobody(t *testing.T) {
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		http.NotFound(w, nil)
	}))
	defer server.Close()
	t.Setenv("HTTP_PROXY", server.URL)
	t.Setenv("HTTPS_PROXY", server.URL)
	for _, mode := range []string{"false", "true"} {
		for _, held := range []string{"nothing", "broken data"} {
			t.Run("geodata-mode "+mode+", held "+held, func(t *testing.T) {
				dataDir := t.TempDir()
				if held != "nothing" {
					if err := os.Mkdir(filepath.Join(dataDir, "cores"), 0o700); err != nil {
						t.Fatal(err)
					}
					for _, name := range []string{"GeoSite.dat", "geoip.dat", "Country.mmdb", "ASN.mmdb"} {
						if err := os.WriteFile(filepath.Join(dataDir, "cores", name), []byte("\x0a\x06\x0a\x04none"), 0o600); err != nil {
							t.Fatal(err)
						}
					}
				}
				text := strings.ReplaceAll(strings.ReplaceAll(everyGeo, "MODE", mode), "URL", server.URL)
				c := coretest.Cores(t, "mihomo", dataDir)
				core.KeepNetwork(c) // else nothing could ask, whatever the stand-ins are
				v, err := c.Check(t.Context(), "mihomo", "1.19", []byte(text))
				if err != nil || !v.OK {
					t.Fatalf("got %+v, %v", v, err)
				}
				if strings.Contains(v.Output, "ownload") {
					t.Errorf("the client tried to download:\n%s", v.Output)
				}
				if len(v.Warnings) != 3 || slices.ContainsFunc(v.Warnings, func(w sandrone.Warning) bool { return w.Code != sandrone.WarnVerifyGeoData }) {
					t.Errorf("got warnings %+v, want one for each of sites, addresses and systems", v.Warnings)
				}
			})
		}
	}
	if n := asked.Load(); n > 0 {
		t.Errorf("the client asked %d times", n)
	}
}

func TestHeldGeoDataIsUsed(t *testing.T) {
	dataDir := t.TempDir()
	cores := filepath.Join(dataDir, "cores")
	if err := os.Mkdir(cores, 0o700); err != nil {
		t.Fatal(err)
	}
	// Lists with CN and US, as any publisher writes them.
	list := func(item string) []byte {
		var b []byte
		for _, code := range []string{"CN", "US"} {
			entry := "\x0a\x02" + code + "\x12" + string(rune(len(item))) + item
			b = append(append(b, '\x0a', byte(len(entry))), entry...)
		}
		return b
	}
	for name, text := range map[string][]byte{
		"GeoSite.dat": list("\x08\x03\x12\x09a.invalid"), "GEOIP.DAT": list("\x0a\x04\xc0\x00\x02\x00\x10\x18"),
	} {
		if err := os.WriteFile(filepath.Join(cores, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := coretest.Cores(t, "mihomo", dataDir)
	for _, test := range []struct{ name, rules, warning string }{
		{"all codes held", "[GEOSITE,us,DIRECT], [GEOIP,us,DIRECT]", ""},
		{"a code that is not held", "[GEOSITE,us,DIRECT], [GEOSITE,gfw,DIRECT]", "the held geosite.dat lacks GFW; stand-ins took its place"},
	} {
		t.Run(test.name, func(t *testing.T) {
			rules := strings.NewReplacer("[", `"`, "]", `"`).Replace(test.rules)
			v, err := c.Check(t.Context(), "mihomo", "", []byte("geodata-mode: true\nrules: ["+rules+"]\n"))
			if err != nil || !v.OK {
				t.Fatalf("got %+v, %v", v, err)
			}
			var warned []string
			for _, w := range v.Warnings {
				warned = append(warned, w.Message)
			}
			if got := strings.Join(warned, "|"); got != test.warning {
				t.Errorf("got warnings %q, want %q", got, test.warning)
			}
		})
	}
}

func TestRealClientsGiveTheirVerdicts(t *testing.T) {
	for _, test := range []struct {
		name, client, kind, text string
		message                  string // part of it; empty: accepted
	}{
		{"unknown cipher", "mihomo", "mihomo", "proxies: [{name: a, type: ss, server: h, port: 1, cipher: nosuch, password: hunter2}]", "proxy 0: ss h:1 cipher: nosuch initialize error: unknown method: nosuch"},
		{"absent member", "mihomo", "mihomo", "proxy-groups: [{name: G, type: select, proxies: [b]}]", "'b' not found"},
		{"wrong type, with a secret", "mihomo", "mihomo", "authentication: {secret: hunter2-hunter2}\nport: [hunter2-hunter2]", "cannot unmarshal"},
		{"no YAML", "mihomo", "mihomo", "a: [", "yaml"},
		{"nothing", "mihomo", "mihomo", "", "configuration file config.yaml is empty"},
		{"unknown field", "sing-box", "sing-box", `{"outbounds":[{"type":"direct","tag":"d","nosuch":"hunter2"}]}`, `decode config at config.json: outbounds[0].nosuch: json: unknown field "nosuch"`},
		{"good", "sing-box", "sing-box", `{"outbounds":[{"type":"direct","tag":"d"}]}`, ""},
		{"remote rule set", "sing-box", "sing-box", `{"outbounds":[{"type":"direct","tag":"d"}],"route":{"rule_set":[{"type":"remote","tag":"r","url":"http://127.0.0.1:1/r.srs","format":"binary"}],"rules":[{"rule_set":"r","outbound":"d"}]}}`, ""},
		{"good", "sing-box-1.14", "sing-box", `{"outbounds":[{"type":"direct","tag":"d"}]}`, ""},
		{"good, with geo data", "xray", "xray", `{"outbounds":[{"protocol":"freedom","tag":"d"}],"routing":{"rules":[{"type":"field","domain":["geosite:google@ads","geosite:apple"],"outboundTag":"d"},{"type":"field","ip":["geoip:us","geoip:!cn"],"outboundTag":"d"}]}}`, ""},
		{"unknown protocol", "xray", "xray", `{"outbounds":[{"protocol":"nosuch"}]}`, "unknown config id: nosuch"},
	} {
		t.Run(test.client+"/"+test.name, func(t *testing.T) {
			v, err := coretest.Cores(t, test.client, "").Check(t.Context(), test.kind, "", []byte(test.text))
			if err != nil {
				t.Fatal(err)
			}
			if v.OK != (test.message == "") || !strings.Contains(v.Message, test.message) {
				t.Errorf("got %+v, want %q", v, test.message)
			}
			if strings.Contains(v.Message+v.Output, "hunter2") || strings.Contains(v.Message+v.Output, os.TempDir()) {
				t.Errorf("got %+v", v)
			}
			t.Log(v.CoreVersion, v.Message)
		})
	}
}
