package mcp

import (
	"bytes"
	"context"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/engine"
)

// body is a text in an answer, or why it is left out.
type body struct {
	Body           *string `json:"body,omitempty"`
	BodyOmitted    bool    `json:"body_omitted,omitempty"`
	BodyBytes      int     `json:"body_bytes,omitempty"`
	MaxOutputBytes int     `json:"max_output_bytes,omitempty"`
}

// bodyOf is a text that is within the limit, or its size. It is never cut:
// half a file is worse than none.
func (e *Endpoint) bodyOf(text []byte) body {
	if !utf8.Valid(text) {
		text = bytes.ToValidUTF8(text, []byte("\uFFFD")) // JSON holds nothing else
	}
	if limit := e.options.Engine.Settings().MCP.MaxOutputBytes; len(text) > limit {
		return body{BodyOmitted: true, BodyBytes: len(text), MaxOutputBytes: limit}
	}
	whole := string(text)
	return body{Body: &whole}
}

type converted struct {
	ContentType string `json:"content_type"`
	body
	Report sandrone.Report `json:"report"`
}

func (e *Endpoint) addConvert(s *sdk.Server) {
	in := withSteps(object([]string{"to_format"}, members{
		"to_format":   e.renderFormat("what to write, with a client version where the format has some: sing-box-outbounds@1.11"),
		"from_format": e.parseFormat("what content is; auto finds out", "auto"),
		"content":     textOf("the nodes as text; needs from_format"),
		"remote":      remoteInput("where to fetch the nodes", nil),
		"remote_batch": object([]string{"sources"}, members{
			"sources": listOf("joined in this order, whichever comes first", remoteInput("", members{
				"name":   textOf("a label for warnings and results"),
				"format": e.parseFormat("", "auto"),
			})),
			"concurrency": upTo(integer("how many are fetched at once", 1), 8, "4"),
		}),
		"parse_processors":  steps("steps on the nodes as they were read"),
		"render_processors": steps("steps on the nodes before they are written"),
		"options": object(nil, members{
			"format":   e.renderFormat("equal to to_format"),
			"drop_raw": flag("leave out what only the source's format knows"),
		}),
		"meta": texts("context for the steps"),
	}))
	sources := in.Properties["remote_batch"].Properties["sources"]
	least, most := 1, 32
	sources.MinItems, sources.MaxItems = &least, &most
	in.OneOf = []*jsonschema.Schema{{Required: []string{"content"}}, {Required: []string{"remote"}}, {Required: []string{"remote_batch"}}}
	in.DependentRequired = map[string][]string{"content": {"from_format"}}
	addTool(e, s, tool{
		name:   "sandrone_convert",
		title:  "Convert nodes",
		about:  "Convert nodes from a text or from remote sources into another format. Nothing is stored. Look at report.warnings for what was lost; a body over the output limit is left out and its size is told.",
		effect: reaches,
		report: true,
		in:     in,
		out:    schemaOf[converted](),
	}, func(ctx context.Context, req engine.ConvertRequest) (converted, error) {
		result, err := e.options.Engine.Convert(ctx, req)
		if err != nil {
			return converted{}, err
		}
		return converted{result.ContentType, e.bodyOf(result.Body), result.Report}, nil
	})
}
