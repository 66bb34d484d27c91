package processors

import (
	"reflect"

	"github.com/sandrone-gateway/sandrone"
)

// same reports whether two nodes are equal in every member. It is for steps
// that cannot tell from their own work whether they changed anything.
func same(a, b *sandrone.Node) bool { return reflect.DeepEqual(a, b) }
