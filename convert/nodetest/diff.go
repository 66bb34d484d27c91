package nodetest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert/field"
)

// Diff returns the leaves in which got differs from want, each as one line
// "path: got …, want …", in contract order. An absent object has the same
// leaves as an empty one. Peers of wireguard are compared in order; those that
// only one node has make a line for wireguard.peers.
func Diff(got, want *sandrone.Node) []string {
	var lines []string
	DiffEach(got, want, func(f *field.Info, line string) { lines = append(lines, line) })
	return lines
}

// DiffEach calls report with every leaf in which got differs from want, so that
// a test can leave out what its format does not promise.
func DiffEach(got, want *sandrone.Node, report func(f *field.Info, line string)) {
	for id := range field.Len() {
		f := field.ByID(field.ID(id))
		switch {
		case strings.HasPrefix(f.Path, "meta."): // members of a leaf
		case strings.HasPrefix(f.Path, "wireguard.peers."):
			for i := range max(len(peers(got)), len(peers(want))) {
				compare(f, fmt.Sprintf("%s (peer %d)", f.Path, i), upTo(got, i), upTo(want, i), report)
			}
		default:
			compare(f, f.Path, got, want, report)
		}
	}
}

func peers(n *sandrone.Node) []sandrone.WireGuardPeer {
	if n.WireGuard == nil {
		return nil
	}
	return n.WireGuard.Peers
}

// upTo is n with peer i as its last one, which is the one that fields mean.
func upTo(n *sandrone.Node, i int) *sandrone.Node {
	if i >= len(peers(n)) {
		return &sandrone.Node{}
	}
	w := *n.WireGuard
	w.Peers = w.Peers[:i+1]
	return &sandrone.Node{WireGuard: &w}
}

func compare(f *field.Info, path string, got, want *sandrone.Node, report func(*field.Info, string)) {
	a, b := valueOf(f, got), valueOf(f, want)
	if !reflect.DeepEqual(a, b) {
		report(f, fmt.Sprintf("%s: got %s, want %s", path, text(a), text(b)))
	}
}

// valueOf returns the value of a leaf, nil for one that says nothing.
func valueOf(f *field.Info, n *sandrone.Node) any {
	switch f := f.Typed().(type) {
	case field.Field[string]:
		return scalar(f, n)
	case field.Field[bool]:
		return scalar(f, n)
	case field.Field[int]:
		return scalar(f, n)
	case field.Field[uint16]:
		return scalar(f, n)
	case field.Field[sandrone.Tri]:
		return scalar(f, n)
	case field.Field[sandrone.Type]:
		return scalar(f, n)
	case field.Field[[]string]:
		return list(f, n)
	case field.Field[[]int]:
		return list(f, n)
	case field.Field[[]sandrone.Warning]:
		return list(f, n)
	case field.Field[json.RawMessage]:
		if p := f.At(n); p != nil && len(*p) > 0 {
			return string(*p)
		}
	case field.Field[map[string]string]:
		return mapping(f, n)
	case field.Field[map[string]any]:
		return mapping(f, n)
	case field.Field[sandrone.Raw]:
		if p := f.At(n); p != nil && len(*p) > 0 {
			return *p
		}
	default:
		panic("nodetest: no way to compare a leaf of this type")
	}
	return nil
}

func scalar[T comparable](f field.Field[T], n *sandrone.Node) any {
	var zero T
	if p := f.At(n); p != nil && *p != zero {
		return *p
	}
	return nil
}

func list[T any](f field.Field[[]T], n *sandrone.Node) any {
	if p := f.At(n); p != nil && len(*p) > 0 {
		return *p
	}
	return nil
}

func mapping[T any](f field.Field[map[string]T], n *sandrone.Node) any {
	if p := f.At(n); p != nil && len(*p) > 0 {
		return *p
	}
	return nil
}

func text(v any) string {
	switch v := v.(type) {
	case nil:
		return "nothing"
	case string:
		return fmt.Sprintf("%q", v)
	case sandrone.Raw:
		return fmt.Sprintf("%q", v)
	}
	if b, ok := v.(json.Marshaler); ok {
		if out, err := b.MarshalJSON(); err == nil {
			return string(out)
		}
	}
	return fmt.Sprintf("%v", v)
}
