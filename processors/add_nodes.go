package processors

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/sandrone-gateway/sandrone"
)

// maxSubscriptions bounds the subscriptions of one step.
const maxSubscriptions = 64

// NodeAdder puts the nodes of stored subscriptions into a client file. Errors
// are coded.
type NodeAdder interface {
	AddNodes(ctx context.Context, c NodesCall, f File) (File, []sandrone.Warning, error)
}

// NodesCall is which nodes go into a file, and where.
type NodesCall struct {
	Subscriptions []string          // names, in order
	Position      string            // replace, front or back
	Args          map[string]string // request args of their steps
}

type addNodesParams struct {
	subscriptions []string
	position      string
	args          map[string]string // nil: those of the request
}

// addNodes puts nodes of subscriptions into a client file.
func addNodes() *processor[File] {
	return defineFile(Descriptor{
		Type:        "add_nodes",
		Description: "Puts the nodes of stored subscriptions into a mihomo, sing-box or Shadowrocket file, in place of its nodes or beside them. Groups and rules stay as they are; what names a node that is gone is left out with a warning.",
		Effects:     Effects{RemoteReads: true},
		ErrorCodes:  []sandrone.Code{sandrone.ProcessorConfigInvalid, sandrone.NotFound, sandrone.Conflict, sandrone.RenderFailed},
		Examples: []sandrone.ProcessorSpec{
			example("add_nodes", `{"subscriptions":["home"]}`),
			example("add_nodes", `{"subscriptions":["home","spare"],"position":"back","args":{"region":"hk"}}`),
		},
	}, params[addNodesParams]{
		list("subscriptions", "names of stored subscriptions, in order", 1, maxSubscriptions, func(p *addNodesParams) *[]string { return &p.subscriptions },
			&jsonschema.Schema{Type: "string"}, func(value json.RawMessage) (name string, err error) {
				if json.Unmarshal(value, &name) != nil {
					return "", bad("", "it is no string")
				}
				if name = strings.TrimSpace(name); name == "" {
					return "", bad("", "the name is empty")
				}
				return name, nil
			}),
		word("position", "in place of the nodes of the file, in front of them or behind", func(p *addNodesParams) *string { return &p.position }, "replace", "front", "back").or(`"replace"`),
		textMap(maxText, "args", "request args of the subscriptions' steps, complete; absent means those of the request", func(p *addNodesParams) *map[string]string { return &p.args }),
	}, func(p *addNodesParams) (step[File], error) {
		return func(ctx context.Context, s *scope, in File) (File, error) {
			kind, _, _ := strings.Cut(in.Kind, "@")
			if kind == sandrone.FileStatic {
				return File{}, sandrone.Errorf(sandrone.ProcessorConfigInvalid, "a file of kind %s has no place for nodes", kind).At("type")
			}
			if s.Nodes == nil {
				return File{}, sandrone.Errorf(sandrone.NotImplemented, "there are no subscriptions here")
			}
			args := p.args
			if args == nil {
				args = s.Request.Args
			}
			out, warnings, err := s.Nodes.AddNodes(ctx, NodesCall{p.subscriptions, p.position, args}, in)
			if err != nil {
				return File{}, err
			}
			for _, w := range warnings {
				s.warn(w)
			}
			return out, nil
		}, nil
	})
}
