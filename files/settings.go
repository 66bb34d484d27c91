package files

import (
	"encoding/json"

	"github.com/sandrone-gateway/sandrone/convert/doc"
)

// settings are the settings of a definition as a tree, in which the members of
// open objects keep their order and numbers their text.
type settings struct {
	items doc.Items
}

func (k *Kind) settings(raw json.RawMessage) (*settings, error) {
	return &settings{}, nil
}
