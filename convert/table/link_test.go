package table_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert/doc"
	"github.com/sandrone-gateway/sandrone/convert/field"
	"github.com/sandrone-gateway/sandrone/convert/table"
)

// linking is a dialect of links: parameters, and an object among them whose
// raw keys have a prefix of their own.
func linking() *table.Dialect {
	fold := func(key string) string { return strings.ReplaceAll(key, "-", "_") }
	return &table.Dialect{Family: "test", Raw: "q.", Link: true, Repeats: true, Protocols: []table.Protocol{
		{Type: sandrone.VLESS, Fold: fold, Rows: table.Group(
			table.Name("#"),
			table.Key(field.Server, "server-name", "server_name", "host").Written("srv"),
			table.Key(field.Server, "server-name", "server_name", "host").ReadOnly(),
			table.In("extra",
				table.Key(field.Transport.XPaddingBytes, "padding"),
				table.RestOf(field.Transport.Extra),
			),
			table.In("json", table.Key(field.UUID, "id"), table.RawKey("known")).RawAs("j."),
		)},
		{Type: sandrone.Juicity, Rows: table.Group(table.Name("#"), table.Rest())},
	}}
}

// readLink reads parameters, "key=value" each; one in braces is JSON.
func readLink(t *testing.T, d *table.Dialect, typ sandrone.Type, params ...string) (sandrone.Node, []sandrone.Warning) {
	t.Helper()
	var items doc.Items
	items.Open("", doc.Map)
	for _, p := range params {
		key, v, _ := strings.Cut(p, "=")
		if !strings.HasPrefix(v, "{") {
			items.AddStr(key, v)
		} else if err := doc.AddJSON(&items, key, []byte(v)); err != nil {
			t.Fatal(err)
		}
	}
	items.Close(0)
	n := sandrone.Node{Type: typ}
	warnings, err := d.NewReader().Read(&n, items, 0)
	if err != nil {
		t.Fatal(err)
	}
	return n, warnings
}

func rawOf(n sandrone.Node) []string {
	var list []string
	for _, key := range slices.Sorted(maps.Keys(n.Raw)) {
		list = append(list, key+"="+string(n.Raw[key]))
	}
	return list
}

func TestLinkKeepsWhatItsRowsDoNotTake(t *testing.T) {
	n, warnings := readLink(t, linking(), sandrone.VLESS,
		"#=n", "server_name=one", "server-name=two", "server_name=one", "x=1", "x=2", "x=1", "empty=",
		`extra={"padding":"1","a":[1],"b":""}`, `json={"id":"i","known":true,"new":{"k":1},"id":"last"}`)
	if n.Server != "one" || n.UUID != "last" {
		t.Errorf("got server %q and id %q, want the first parameter and the last member", n.Server, n.UUID)
	}
	if got, want := rawOf(n), []string{`j.known=true`, `j.new={"k":1}`, `q.server-name="two"`, `q.x=["1","2"]`}; !slices.Equal(got, want) {
		t.Errorf("got raw %q, want %q", got, want)
	}
	if got := string(n.Transport.XHTTP.Extra["a"]); got != "[1]" || len(n.Transport.XHTTP.Extra) != 1 {
		t.Errorf("got extra %q, want the member that no row takes", n.Transport.XHTTP.Extra)
	}
	if len(warnings) != 4 {
		t.Errorf("got warnings %v, want one a raw key", warnings)
	}
}

func TestLinkWritesRawKeysWhereTheyCameFrom(t *testing.T) {
	d := linking()
	n, _ := readLink(t, d, sandrone.VLESS, "#=n", "host=a", "x=1", "x=2", `extra={"z":1,"b":2}`, `json={"id":"i","new":1.50}`)
	n.Raw["q.@port"], n.Raw["other.y"] = []byte(`"1"`), []byte(`1`)
	got, warnings := render(d, n, n)
	want := `{"#":"n","srv":"a","extra":{"b":2,"z":1},"json":{"id":"i","new":1.50},"x":"1","x":"2"}`
	if !slices.Equal(got, []string{want, want}) {
		t.Errorf("got %q, want %q twice under one name", got, want)
	}
	var lost []string
	for _, w := range warnings {
		lost = append(lost, w.Field)
	}
	if !slices.Equal(lost, []string{"other.y", "q.@port", "other.y", "q.@port"}) {
		t.Errorf("got warnings for %q, want those of keys that are not the dialect's or no parameter", lost)
	}
}

func TestCatalogueNamesRawKeysByTheirOwnPrefix(t *testing.T) {
	raw := linking().ParseProfile().RawOnly
	if len(raw) != 1 || raw[0].Field != "j.known" {
		t.Errorf("got %v, want j.known", raw)
	}
}

func TestCarriedLinkHasEachOptionOnce(t *testing.T) {
	n, _ := readLink(t, linking(), sandrone.Juicity, "#=n", "a=1", "a=2", "b=3")
	if got := string(n.Opaque.Options); got != `{"a":"1","b":"3"}` {
		t.Errorf("got options %s, want the first of each", got)
	}
	if got, want := rawOf(n), []string{`q.a="2"`}; !slices.Equal(got, want) {
		t.Errorf("got raw %q, want %q", got, want)
	}
}

func TestReadOnlyObjectIsNotWritten(t *testing.T) {
	d := &table.Dialect{Raw: "q.", Protocols: []table.Protocol{{Type: sandrone.VLESS, Rows: table.Group(
		table.Name("name"),
		table.In("extra", table.Key(field.Transport.XPaddingBytes, "padding"), table.RestOf(field.Transport.Extra)).ReadOnly(),
	)}}}
	n, _ := readLink(t, d, sandrone.VLESS, "name=n", `extra={"padding":"1","a":1}`)
	if n.Transport == nil || n.Transport.XHTTP.XPaddingBytes != "1" {
		t.Fatalf("got transport %v, want the object read", n.Transport)
	}
	n.Transport.Type = sandrone.TransportXHTTP
	got, warnings := render(d, n)
	if len(got) != 0 || len(warnings) != 1 || warnings[0].Code != sandrone.WarnNodeSkipped {
		t.Errorf("got %q and %v, want a node without its transport left out", got, warnings)
	}
	for _, e := range d.RenderProfile().Fields {
		if strings.HasPrefix(e.Field, "transport.") {
			t.Errorf("the catalogue says that %s is written", e.Field)
		}
	}
}
