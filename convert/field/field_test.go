package field_test

import (
	"reflect"
	"testing"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert/field"
)

func TestEveryLeafOfTheModelIsDeclared(t *testing.T) {
	for id := range field.Len() {
		f := field.ByID(field.ID(id))
		if f == nil {
			t.Errorf("leaf %d of the model is not declared; run go generate and see fields.go", id)
			continue
		}
		if f.ID != field.ID(id) || field.ByPath(f.Path) != f {
			t.Errorf("%s: id %d, want %d", f.Path, f.ID, id)
		}
	}
}

// fill sets the leaf to some value of its type.
func fill(f *field.Info, n *sandrone.Node) bool {
	switch f := f.Typed().(type) {
	case field.Field[string]:
		*f.Make(n) = "x"
	case field.Field[sandrone.Type]:
		*f.Make(n) = sandrone.VMess
	case field.Field[int]:
		*f.Make(n) = 7
	case field.Field[uint16]:
		*f.Make(n) = 7
	case field.Field[bool]:
		*f.Make(n) = true
	case field.Field[sandrone.Tri]:
		*f.Make(n) = sandrone.Off
	default:
		p := reflect.ValueOf(f).MethodByName("Make").Call([]reflect.Value{reflect.ValueOf(n)})[0].Elem()
		switch p.Kind() {
		case reflect.Slice:
			p.Set(reflect.MakeSlice(p.Type(), 1, 1))
		case reflect.Map:
			p.Set(reflect.MakeMap(p.Type()))
			p.SetMapIndex(reflect.ValueOf("k"), reflect.New(p.Type().Elem()).Elem())
		default:
			return false
		}
	}
	return true
}

func TestOneFilledLeafGivesOneMember(t *testing.T) {
	for id := range field.Len() {
		f := field.ByID(field.ID(id))
		var n sandrone.Node
		if len(f.Path) > 5 && f.Path[:5] == "meta." {
			n.Meta = map[string]string{f.Path[5:]: "x"}
		} else if !fill(f, &n) {
			t.Fatalf("%s: no way to fill it", f.Path)
		}
		var got []string
		field.Populated(&n).Each(func(id field.ID) bool {
			got = append(got, field.ByID(id).Path)
			return true
		})
		want := []string{f.Path}
		if len(f.Path) > 5 && f.Path[:5] == "meta." {
			want = []string{"meta", f.Path}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("only %s is filled, but Populated says %v", f.Path, got)
		}
	}
}

func TestLossOfWhatDoesNotMatterIsNoLoss(t *testing.T) {
	for _, c := range []struct {
		name  string
		node  sandrone.Node
		inert string
		want  bool
	}{
		{"server name with TLS off", sandrone.Node{TLS: &sandrone.TLS{ServerName: "a"}}, "tls.server_name", true},
		{"server name with TLS on", sandrone.Node{TLS: &sandrone.TLS{Enabled: true, ServerName: "a"}}, "tls.server_name", false},
		{"path on plain tcp", sandrone.Node{Transport: &sandrone.Transport{Type: "tcp", Path: "/x"}}, "transport.path", true},
		{"path on websocket", sandrone.Node{Transport: &sandrone.Transport{Type: "websocket", Path: "/x"}}, "transport.path", false},
		{"type of an unknown transport", sandrone.Node{Transport: &sandrone.Transport{Type: "pigeon", Path: "/x"}}, "transport.type", false},
		{"plain tcp itself", sandrone.Node{Transport: &sandrone.Transport{Type: "tcp"}}, "transport.type", true},
		{"multiplex that is off", sandrone.Node{Multiplex: &sandrone.Multiplex{Protocol: "smux"}}, "multiplex.protocol", true},
		{"encryption none", sandrone.Node{Encryption: "none"}, "encryption", true},
		{"post-quantum encryption", sandrone.Node{Encryption: "mlkem768x25519plus.native.0rtt.x"}, "encryption", false},
	} {
		set := field.Inert(&c.node)
		if got := set.Has(field.ByPath(c.inert).ID); got != c.want {
			t.Errorf("%s: inert = %v, want %v", c.name, got, c.want)
		}
	}
}
