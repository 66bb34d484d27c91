package files

import (
	"encoding/json"

	"github.com/sandrone-gateway/sandrone"
)

type mihomo struct{}

func (mihomo) check(s *settings) error { return nil }

func (mihomo) base(version string) string { return "" }

func (mihomo) compile(c *compilation) error {
	return sandrone.Errorf(sandrone.NotImplemented, "files of kind %s are not part of this build", c.kind.Name)
}

func (mihomo) addNodes(c *compilation, position string) error {
	return sandrone.Errorf(sandrone.NotImplemented, "files of kind %s are not part of this build", c.kind.Name)
}

func (mihomo) schema() json.RawMessage { return nil }
