package mcp

import (
	"context"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sandrone-gateway/sandrone/catalog"
	"github.com/sandrone-gateway/sandrone/engine"
)

// inspection is what the engine says, and where more is to be read.
type inspection struct {
	engine.Inspection
	Catalogs map[string]string `json:"catalogs"`
}

func (e *Endpoint) addInspect(s *sdk.Server) {
	addTool(e, s, tool{
		name:   "sandrone_inspect",
		title:  "Inspect",
		about:  "Tell what this process can do: formats, steps, kinds of files, ways of probing, how much is stored, and the URIs of the catalogues that have the details. Begin here.",
		effect: reads,
		in:     object(nil, members{}),
		out:    schemaOf[inspection](),
	}, func(ctx context.Context, _ struct{}) (inspection, error) {
		found, err := e.options.Engine.Inspect(ctx)
		return inspection{found, map[string]string{
			"formats":    formatsURI,
			"schemas":    schemasURI,
			"processors": schemaURIs[catalog.SchemaProcessors],
			"file_kinds": schemaURIs[catalog.SchemaFileKinds],
		}}, err
	})
}
