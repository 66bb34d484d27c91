package catalog_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/catalog"
	"github.com/sandrone-gateway/sandrone/convert"
	"github.com/sandrone-gateway/sandrone/convert/formats"
	"github.com/sandrone-gateway/sandrone/convert/table"
)

// small is a registry whose profile is known.
func small() *convert.Registry {
	entry := func(field string, protocol sandrone.Type, revision string) table.Entry {
		return table.Entry{Field: field, Protocol: protocol, Source: sandrone.SourceRef{Kind: "protocol", Name: "x", Revision: revision}}
	}
	profile := func() *table.Profile {
		return &table.Profile{
			Types: []sandrone.Type{sandrone.Trojan, sandrone.Shadowsocks},
			Fields: []table.Entry{
				entry("password", sandrone.Trojan, "v2"), entry("tls", sandrone.Trojan, "v1"),
				entry("cipher", sandrone.Shadowsocks, "v2"), entry("password", sandrone.Shadowsocks, ""),
			},
			Lossy: []table.Entry{entry("network", sandrone.Trojan, "")},
		}
	}
	empty := func() *table.Profile { return new(table.Profile) }
	return convert.NewRegistry(
		[]convert.Parser{{Name: "zebra", Profile: profile}, {Name: "json-nodes", Profile: empty}},
		[]convert.Renderer{{Name: "ape", Profile: profile, Versions: []table.Version{table.V("1.9"), table.V("1.11")}}},
	)
}

func TestIndex(t *testing.T) {
	const want = `{"items":[
		{"direction":"parse","format":"json-nodes","node_types":[],"reversible":true,
		 "field_counts":{"supported":0,"lossy":0,"raw_only":0},"revisions":[],"href":"/parse/json-nodes"},
		{"direction":"parse","format":"zebra","node_types":["ss","trojan"],"reversible":false,
		 "field_counts":{"supported":4,"lossy":1,"raw_only":0},"revisions":["v1","v2"],"href":"/parse/zebra"},
		{"direction":"render","format":"ape","node_types":["ss","trojan"],"reversible":false,
		 "field_counts":{"supported":4,"lossy":1,"raw_only":0},"revisions":["v1","v2"],"versions":["1.9","1.11"],"href":"/render/ape"}]}`
	c := catalog.New(small(), nil)
	got := encode(t, c.Index(func(direction, format string) string { return "/" + direction + "/" + format }))
	if got != strip(want) {
		t.Errorf("got  %s\nwant %s", got, strip(want))
	}
	if plain := encode(t, c.Index(nil)); strings.Contains(plain, "href") {
		t.Errorf("links that nobody asked for: %s", plain)
	}
}

func TestDetailIsOrderedByProtocol(t *testing.T) {
	d, err := catalog.New(small(), nil).Detail("parse", "zebra")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range d.Fields {
		got = append(got, string(e.Protocol)+" "+e.Field)
	}
	if want := []string{"ss cipher", "ss password", "trojan password", "trojan tls"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if text := encode(t, d); !strings.Contains(text, `"raw_only":[]`) {
		t.Errorf("an empty list is not []: %s", text)
	}
}

func TestDetailOfAnUnknownPairIsAnInvalidArgument(t *testing.T) {
	c := catalog.New(small(), nil)
	for _, pair := range [][2]string{{"render", "zebra"}, {"Parse", "zebra"}, {"parse", "Zebra"}, {"parse", ""}, {"", ""}} {
		if _, err := c.Detail(pair[0], pair[1]); sandrone.AsError(err) == nil || sandrone.AsError(err).Code != sandrone.InvalidArgument {
			t.Errorf("%q: got %v", pair, err)
		}
	}
}

// TestCatalogOfThisBuild holds the promises that are for every format.
func TestCatalogOfThisBuild(t *testing.T) {
	c := catalog.New(formats.Registry(), nil)
	for _, item := range c.Index(nil).Items {
		name := item.Direction + " " + item.Format
		d, err := c.Detail(item.Direction, item.Format)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(d.Types) == 0 || len(d.Fields) == 0 {
			t.Errorf("%s: says nothing", name)
		}
		if item.Reversible != (item.Format == "json-nodes") {
			t.Errorf("%s: reversible is %v", name, item.Reversible)
		}
		if item.Reversible && len(d.Lossy) > 0 {
			t.Errorf("%s: is reversible and loses %s", name, d.Lossy[0].Field)
		}
		if item.Direction == "parse" && len(d.Lossy) > 0 || item.Direction == "render" && len(d.RawOnly) > 0 {
			t.Errorf("%s: has a list of the other direction", name)
		}
		in := make(map[[2]string]string)
		for status, list := range map[string][]table.Entry{"supported": d.Fields, "lossy": d.Lossy, "raw_only": d.RawOnly} {
			seen := make(map[[2]string]bool)
			for _, e := range list {
				key := [2]string{string(e.Protocol), e.Field}
				if e.Status != status {
					t.Errorf("%s: %v stands in %s with status %q", name, key, status, e.Status)
				}
				if seen[key] {
					t.Errorf("%s: %v stands twice in %s", name, key, status)
				}
				seen[key] = true
				if other, ok := in[key]; ok && e.Notes == "" && status != "raw_only" && other != "raw_only" {
					t.Errorf("%s: %v stands in %s and %s without a note", name, key, status, other)
				}
				in[key] = status
				if !slices.Contains(d.Types, e.Protocol) {
					t.Errorf("%s: %v is of a protocol that the format does not have", name, key)
				}
				if e.Field == "" || strings.Contains(e.Field, "*") || strings.Contains(e.Notes, "\n") || e.Source.Kind == "" || e.Source.Name == "" {
					t.Errorf("%s: %v is not well formed: %+v", name, key, e)
				}
			}
		}
	}
}

// TestCatalogNamesWhatIsEasilyForgotten holds leaves that a protocol has by the
// model only, or under another name than its client's.
func TestCatalogNamesWhatIsEasilyForgotten(t *testing.T) {
	c := catalog.New(formats.Registry(), nil)
	for _, w := range []struct{ direction, format, list, entries string }{
		{"render", "mihomo-proxies", "lossy", "ssr network, wireguard network, snell network, anytls network, mieru network, http network, ssh network, tuic tuic.zero_rtt_handshake"},
		{"render", "uri-list", "lossy", "ssr network, anytls network, wireguard network, snell network, mieru network, http network"},
		{"render", "sing-box-outbounds", "lossy", "http multiplex.enabled, tuic tuic.reduce_rtt"},
		{"render", "shadowrocket-proxies", "lossy", "socks headers, socks path, http network"},
		{"parse", "sing-box", "supported", "hysteria hysteria.obfs, tuic tuic.zero_rtt_handshake"},
		{"parse", "uri", "raw_only", "ssr uri.query.uot, vmess vmess.tls, vless uri.query.flow, vless uri.query.ed, hysteria2 uri.query.mport, anytls uri.query.type"},
	} {
		d, err := c.Detail(w.direction, w.format)
		if err != nil {
			t.Fatal(err)
		}
		list := map[string][]table.Entry{"supported": d.Fields, "lossy": d.Lossy, "raw_only": d.RawOnly}[w.list]
		for entry := range strings.SplitSeq(w.entries, ", ") {
			if !slices.ContainsFunc(list, func(e table.Entry) bool { return string(e.Protocol)+" "+e.Field == entry }) {
				t.Errorf("%s %s: %s is not %s", w.direction, w.format, entry, w.list)
			}
		}
	}
}

func TestFeaturesSayWhyTheyAreOff(t *testing.T) {
	for _, c := range []struct {
		name                string
		probing, scheduling bool
		want                string
	}{
		{"off", false, false, `
		{"key":"probe.enabled","enabled":false,"reason":"there is no way of probing"},
		{"key":"scheduler.enabled","enabled":false,"reason":"only a server runs the schedule"}`},
		{"on", true, true, `
		{"key":"probe.enabled","enabled":true},
		{"key":"scheduler.enabled","enabled":true}`},
	} {
		got := encode(t, catalog.NewFeatures(map[string]bool{"mihomo": true}, c.probing, c.scheduling))
		want := `{"features":[
		{"key":"core.mihomo","enabled":true},
		{"key":"core.sing_box","enabled":false,"reason":"sing-box is not installed"},
		{"key":"core.xray","enabled":false,"reason":"xray is not installed"},` + c.want + `]}`
		if got != strip(want) {
			t.Errorf("%s: got  %s\nwant %s", c.name, got, strip(want))
		}
	}
}

func encode(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// strip takes the line breaks out of JSON that is written to be read.
func strip(text string) string {
	return strings.NewReplacer("\n", "", "\t", "", " \"", "\"").Replace(text)
}
