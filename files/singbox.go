package files

import (
	"encoding/json"

	"github.com/sandrone-gateway/sandrone"
)

type singbox struct{}

func (singbox) check(s *settings) error { return nil }

func (singbox) base(version string) string { return "" }

func (singbox) compile(c *compilation) error {
	return sandrone.Errorf(sandrone.NotImplemented, "files of kind %s are not part of this build", c.kind.Name)
}

func (singbox) addNodes(c *compilation, position string) error {
	return sandrone.Errorf(sandrone.NotImplemented, "files of kind %s are not part of this build", c.kind.Name)
}

func (singbox) schema() json.RawMessage { return nil }
