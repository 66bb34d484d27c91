package files

import (
	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert"
)

// compilation is one file in the making.
type compilation struct {
	registry *convert.Registry
	kind     *Kind
	target   string // render format, with @version
	version  string
	base     string
	settings *settings
	nodes    []sandrone.Node

	out Output
}

// Compile makes a file. Nodes that share a name, or have that of a group or of
// one of the client's own policies, are renamed with a warning.
//
// Errors are invalid_argument, for settings as [Kind.CheckSettings] says and
// for a base that is no document of the kind, and the render_failed of the
// renderer.
func (k *Kind) Compile(in Input) (Output, error) {
	c, err := k.begin(in.Kind, in.Registry, in.Base, in.Nodes)
	if err != nil {
		return Output{}, err
	}
	if c.settings, err = k.settings(in.Settings); err == nil {
		err = k.driver.check(c.settings)
	}
	if err != nil {
		return Output{}, err
	}
	if err := k.driver.compile(c); err != nil {
		return Output{}, err
	}
	return c.out, nil
}

// AddNodes writes nodes into a finished file, in place of its nodes or beside
// them. Groups and rules stay as they are. New nodes whose names are taken are
// renamed with a warning.
//
// Errors are invalid_argument, for a static file, a document that is none of
// the kind and an unknown position, and the render_failed of the renderer.
func (k *Kind) AddNodes(in Addition) (Output, error) {
	switch in.Position {
	case Replace, Front, Back:
	default:
		return Output{}, sandrone.Errorf(sandrone.InvalidArgument, "position must be one of replace, front, back").At("position")
	}
	c, err := k.begin(in.Kind, in.Registry, in.Document, in.Nodes)
	if err != nil {
		return Output{}, err
	}
	if err := k.driver.addNodes(c, in.Position); err != nil {
		return Output{}, err
	}
	return c.out, nil
}

func (k *Kind) begin(name string, registry *convert.Registry, base string, nodes []sandrone.Node) (*compilation, error) {
	if k.driver == nil {
		return nil, sandrone.Errorf(sandrone.InvalidArgument, "a file of kind %s has no nodes", k.Name)
	}
	_, version, err := Find(name)
	if err != nil {
		return nil, err
	}
	c := &compilation{registry: registry, kind: k, target: k.NodeFormat, version: version, base: base, nodes: nodes}
	if version != k.DefaultVersion {
		c.target += "@" + version
	}
	return c, nil
}
