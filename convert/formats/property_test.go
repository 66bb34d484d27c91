package formats_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert"
	"github.com/sandrone-gateway/sandrone/convert/field"
	"github.com/sandrone-gateway/sandrone/convert/formats"
	"github.com/sandrone-gateway/sandrone/convert/nodetest"
	"github.com/sandrone-gateway/sandrone/convert/table"
)

// readerOf names the format that reads what a renderer writes.
var readerOf = map[string]string{
	"json-nodes":         "json-nodes",
	"mihomo-proxies":     "mihomo",
	"sing-box-outbounds": "sing-box",
	"uri-list":           "uri-list",
	"base64":             "base64",
}

// leaves are the entries of a profile for one protocol, by path.
func leaves(entries []table.Entry, t sandrone.Type) map[string]table.Entry {
	m := make(map[string]table.Entry)
	for _, e := range entries {
		if e.Protocol == t {
			m[e.Field] = e
		}
	}
	return m
}

// at returns the value of a leaf in a node's JSON form; of peers, one a peer.
func at(v any, path string) any {
	head, rest, more := strings.Cut(path, ".")
	switch v := v.(type) {
	case map[string]any:
		if !more {
			return v[head]
		}
		return at(v[head], rest)
	case []any:
		list := []any{}
		for _, e := range v {
			list = append(list, at(e, path))
		}
		return list
	}
	return nil
}

// eachCase renders generated nodes of every type to every target.
func eachCase(t *testing.T, f func(t *testing.T, r *convert.Renderer, n sandrone.Node, out convert.Rendered)) {
	const nodes = 60
	for _, r := range formats.Registry().Renderers() {
		profile := r.Profile()
		r.Profile = func() *table.Profile { return profile }
		for _, typ := range profile.Types {
			t.Run(r.Name+"/"+string(typ), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(1, uint64(typ.Index())))
				for range nodes {
					n := nodetest.Node(rng, typ)
					if p, err := formats.Registry().Parser(readerOf[r.Name]); err == nil {
						n.SourceFormat = p.Source // a file of the client itself: silence means what it means there
					}
					out := r.Render([]sandrone.Node{n}, convert.RenderOptions{Target: r.Name, Version: r.Default, Exists: func(string) bool { return true }})
					f(t, &r, n, out)
					if t.Failed() {
						b, _ := json.MarshalIndent(n, "", "  ")
						t.Fatalf("the node was %s\nand is written\n%s", b, out.Body)
					}
				}
			})
		}
	}
}

func TestWarningsNameWhatTheCatalogueCallsLossy(t *testing.T) {
	eachCase(t, func(t *testing.T, r *convert.Renderer, n sandrone.Node, out convert.Rendered) {
		lossy := leaves(r.Profile().Lossy, n.Type)
		for _, w := range out.Warnings {
			if w.Code == sandrone.WarnNodeRenamed || strings.HasPrefix(w.Field, "dialer.proxy") {
				continue
			}
			if _, ok := n.Raw[w.Field]; ok {
				continue
			}
			e, ok := lossy[w.Field]
			if !ok {
				t.Errorf("%s for %s, which the catalogue does not call lossy: %s", w.Code, w.Field, w.Message)
			}
			if skip := w.Code == sandrone.WarnNodeSkipped; skip && !strings.HasPrefix(e.Notes, "skip:") {
				t.Errorf("the node is skipped for %s, but the catalogue says %q", w.Field, e.Notes)
			}
		}
	})
}

func TestEveryLossyFieldGivesItsWarning(t *testing.T) {
	eachCase(t, func(t *testing.T, r *convert.Renderer, n sandrone.Node, out convert.Rendered) {
		if out.Count == 0 {
			if len(out.Warnings) == 0 {
				t.Error("the node is gone without a warning")
			}
			return
		}
		supported, lossy := leaves(r.Profile().Fields, n.Type), leaves(r.Profile().Lossy, n.Type)
		field.Populated(&n).Minus(field.Inert(&n)).Each(func(id field.ID) bool {
			path := field.ByID(id).Path
			if _, ok := supported[path]; ok {
				return true
			}
			if _, ok := lossy[path]; ok && !slices.ContainsFunc(out.Warnings, func(w sandrone.Warning) bool { return w.Field == path }) {
				t.Errorf("%s is lost without a warning", path)
			}
			return true
		})
	})
}

func TestRenderingIsStable(t *testing.T) {
	eachCase(t, func(t *testing.T, r *convert.Renderer, n sandrone.Node, out convert.Rendered) {
		again := r.Render([]sandrone.Node{n}, convert.RenderOptions{Target: r.Name, Version: r.Default, Exists: func(string) bool { return true }})
		if !bytes.Equal(out.Body, again.Body) || !reflect.DeepEqual(out.Warnings, again.Warnings) {
			t.Errorf("a second rendering differs:\n%s", again.Body)
		}
	})
}

func TestJSONNodesHoldEveryMember(t *testing.T) {
	for _, typ := range sandrone.Types {
		rng := nodetest.Rand(uint64(typ.Index()))
		for range 60 {
			n := nodetest.Node(rng, typ)
			if got, want := asJSONNodes(t, []sandrone.Node{n}), plain(t, []sandrone.Node{n}); !reflect.DeepEqual(got, want) {
				t.Fatalf("a node is written as %s, was %s", show(got), show(want))
			}
		}
	}
}

func TestWhatIsSupportedBothWaysComesBack(t *testing.T) {
	eachCase(t, func(t *testing.T, r *convert.Renderer, n sandrone.Node, out convert.Rendered) {
		format := readerOf[r.Name]
		assumed(&n)
		if format == "" || out.Count == 0 || n.Type == sandrone.Direct && (!convert.DialsSpecially(&n) || len(out.Warnings) > 0) {
			return
		}
		nodes, warnings, err := read(format, string(out.Body))
		if err != nil || len(nodes) != 1 {
			t.Errorf("reading back gives %d nodes: %v %v", len(nodes), err, warnings)
			return
		}
		reads, writes := leaves(readProfile(t, format).Fields, n.Type), leaves(r.Profile().Fields, n.Type)
		assumed(&nodes[0])
		want, got := plain(t, n), plain(t, nodes[0])
		for path := range writes {
			if _, ok := reads[path]; !ok || path == "source_format" {
				continue
			}
			if slices.ContainsFunc(out.Warnings, func(w sandrone.Warning) bool { return w.Field == path }) || inert(&n, path) {
				continue // a value that the catalogue excludes
			}
			if a, b := at(want, path), at(got, path); !reflect.DeepEqual(a, b) && !(empty(a) && empty(b)) {
				t.Errorf("%s comes back as %v, was %v", path, show(b), show(a))
			}
		}
	})
}

// assumed folds what clients and formats hold for equal: a node that relays no
// UDP is one for tcp, an address family that is not stated is any, allowed
// addresses that are not stated are all of them, reserved bytes and the
// keepalive of the interface are those of its peers, and TUIC's early data has
// two names.
func assumed(n *sandrone.Node) {
	if d := n.Dialer; d != nil {
		if d.UDPRelay == sandrone.Off && n.Network == "" {
			n.Network = "tcp"
		}
		if d.IPVersion == "dual" {
			d.IPVersion = ""
		}
	}
	if w := n.WireGuard; w != nil {
		if len(w.Peers) > 1 { // each has an endpoint of its own
			n.Server, n.Port = "", 0
		}
		for i := range w.Peers {
			p := &w.Peers[i]
			if len(p.AllowedIPs) == 0 {
				p.AllowedIPs = []string{"0.0.0.0/0", "::/0"}
			}
			if len(p.Reserved) == 0 {
				p.Reserved = w.Reserved
			}
			if p.PersistentKeepalive == 0 {
				p.PersistentKeepalive = w.PersistentKeepalive
			}
		}
		w.Reserved, w.PersistentKeepalive = nil, 0
	}
	if n.Type == sandrone.Mieru && (n.Dialer == nil || n.Dialer.UDPRelay == sandrone.Unset) { // its link means UDP
		if n.Dialer == nil {
			n.Dialer = new(sandrone.Dialer)
		}
		n.Dialer.UDPRelay = sandrone.On
	}
	if t := n.TUIC; t != nil && (t.ReduceRTT || t.ZeroRTTHandshake) {
		t.ReduceRTT, t.ZeroRTTHandshake = true, true
	}
}

var readProfiles = map[string]*table.Profile{}

func readProfile(t *testing.T, format string) *table.Profile {
	t.Helper()
	if readProfiles[format] == nil {
		p, err := formats.Registry().Parser(format)
		if err != nil {
			t.Fatal(err)
		}
		readProfiles[format] = p.Profile()
	}
	return readProfiles[format]
}

func show(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}

func inert(n *sandrone.Node, path string) bool {
	f := field.ByPath(path)
	if f == nil {
		return false
	}
	set := field.Inert(n)
	return set.Has(f.ID)
}
