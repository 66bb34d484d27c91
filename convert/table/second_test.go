package table_test

import (
	"slices"
	"testing"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert/doc"
	"github.com/sandrone-gateway/sandrone/convert/field"
	"github.com/sandrone-gateway/sandrone/convert/table"
)

// wrapping writes a second document for nodes that have a ShadowTLS host, and
// names it after the node.
func wrapping() *table.Dialect {
	wrapped := func(n *sandrone.Node) bool { return n.ShadowTLS != nil }
	return &table.Dialect{Family: "test", Raw: "test.", Protocols: []table.Protocol{{
		Type: sandrone.HTTP,
		Rows: table.Group(
			table.Name("name"),
			table.Key(field.Server, "server").WriteWhen(table.Not(wrapped)),
			table.Custom([]string{"via"}, nil, func(w *table.Writer, key string) bool {
				w.Out.AddStr(key, w.SecondName("-outer"))
				return true
			}).Always().When(wrapped),
			table.Key(field.Port, "port"),
		),
		Also: table.Group(
			table.Key(field.Server, "server").When(wrapped),
			table.Key(field.ShadowTLS.Host, "host").When(wrapped),
		),
		AlsoRaw: "outer.",
	}}}
}

func render(d *table.Dialect, nodes ...sandrone.Node) (documents []string, warnings []sandrone.Warning) {
	res := d.Render(nodes, table.Options{Target: "test"}, nil, func(_ *sandrone.Node, out doc.Items) {
		for i := 0; i < len(out); i = out.Next(i) {
			documents = append(documents, string(doc.JSONOf(out, i)))
		}
	})
	return documents, res.Warnings
}

func TestRenderWritesASecondDocumentUnderANameOfItsOwn(t *testing.T) {
	got, warnings := render(wrapping(),
		sandrone.Node{Name: "a", Type: sandrone.HTTP, Server: "one", Port: 1, ShadowTLS: &sandrone.ShadowTLS{Host: "decoy"},
			Raw: sandrone.Raw{"test.x": []byte("1"), "test.outer.y": []byte("2")}},
		sandrone.Node{Name: "a-outer", Type: sandrone.HTTP, Server: "two", Port: 2})
	want := []string{
		`{"name":"a","via":"a-outer 2","port":1,"x":1}`, `{"server":"one","host":"decoy","y":2}`,
		`{"name":"a-outer","server":"two","port":2}`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if len(warnings) != 0 {
		t.Errorf("got warnings %v, want none", warnings)
	}
}

func TestRenderMakesNoDocumentOfRawKeysAlone(t *testing.T) {
	got, warnings := render(wrapping(), sandrone.Node{Name: "a", Type: sandrone.HTTP, Server: "one", Port: 1,
		Raw: sandrone.Raw{"test.outer.y": []byte("2")}})
	if want := []string{`{"name":"a","server":"one","port":1}`}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if len(warnings) != 1 || warnings[0].Code != sandrone.WarnLossyField || warnings[0].Field != "test.outer.y" {
		t.Errorf("got warnings %v, want one for the raw key", warnings)
	}
}

func TestWriteWhenLeavesReadingAlone(t *testing.T) {
	d := &table.Dialect{Raw: "test.", Protocols: []table.Protocol{{Type: sandrone.HTTP, Rows: table.Group(
		table.Key(field.Path, "path").WriteWhen(func(n *sandrone.Node) bool { return n.Port == 1 }),
	)}}}
	items, err := doc.ReadJSON(nil, `{"path":"/p"}`)
	if err != nil {
		t.Fatal(err)
	}
	n := sandrone.Node{Type: sandrone.HTTP}
	if _, err := d.NewReader().Read(&n, items, 0); err != nil || n.Path != "/p" {
		t.Fatalf("read path %q, error %v", n.Path, err)
	}
	if got, _ := render(d, n); len(got) != 0 {
		t.Errorf("wrote %q, want nothing", got)
	}
}
