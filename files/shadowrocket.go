package files

import (
	"encoding/json"

	"github.com/sandrone-gateway/sandrone"
)

type shadowrocket struct{}

func (shadowrocket) check(s *settings) error { return nil }

func (shadowrocket) base(version string) string { return "" }

func (shadowrocket) compile(c *compilation) error {
	return sandrone.Errorf(sandrone.NotImplemented, "files of kind %s are not part of this build", c.kind.Name)
}

func (shadowrocket) addNodes(c *compilation, position string) error {
	return sandrone.Errorf(sandrone.NotImplemented, "files of kind %s are not part of this build", c.kind.Name)
}

func (shadowrocket) schema() json.RawMessage { return nil }
