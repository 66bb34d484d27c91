package processors

import (
	"context"
	"strings"

	"github.com/sandrone-gateway/sandrone"
)

type renameParams struct {
	strip                             []string
	trim                              bool
	mode, pattern, replacement, value string
}

// rename changes every name once: strip, then trim, then the mode.
func rename() *processor[[]entry] {
	return define(Descriptor{
		Type:        "rename",
		Description: "Changes the name of every node, in this order: removes fragments, trims white space, then replaces by pattern, adds a prefix or suffix, or fills a template.",
		ErrorCodes:  []sandrone.Code{sandrone.ProcessorConfigInvalid},
		Examples: []sandrone.ProcessorSpec{
			example("rename", `{"mode":"prefix","value":"EDGE "}`),
			example("rename", `{"mode":"replace","pattern":"(\\w+) (\\d+)","replacement":"$2/${1}"}`),
			example("rename", `{"strip":["[IEPL]"],"trim":true,"mode":"template","value":"{type}·{name}"}`),
		},
	}, params[renameParams]{
		texts("strip", "literal fragments to remove wherever they stand, in this order", func(p *renameParams) *[]string { return &p.strip }),
		toggle("trim", "remove white space at both ends", func(p *renameParams) *bool { return &p.trim }),
		word("mode", "replace needs pattern; the others need value", func(p *renameParams) *string { return &p.mode }, "replace", "prefix", "suffix", "template"),
		text("pattern", "regular expression whose matches are replaced, for replace", func(p *renameParams) *string { return &p.pattern }),
		text("replacement", "text for each match, with $1, ${1}, ${name} and $$, for replace", func(p *renameParams) *string { return &p.replacement }),
		text("value", "text to put before or behind the name; for template with {name}, {type}, {server} and {source_format}", func(p *renameParams) *string { return &p.value }),
	}, func(p *renameParams) (step[[]entry], error) {
		mode, err := p.renamer()
		if err != nil {
			return nil, err
		}
		strip := make([]string, 0, len(p.strip))
		for _, s := range p.strip {
			if s != "" {
				strip = append(strip, s)
			}
		}
		if mode == nil && !p.trim && len(strip) == 0 {
			return nil, bad("", "nothing to do: give strip, trim or mode")
		}
		return func(ctx context.Context, _ *scope, in []entry) ([]entry, error) {
			return edited(ctx, in, func(e entry) (*sandrone.Node, error) {
				name := e.node.Name
				for _, s := range strip {
					name = strings.ReplaceAll(name, s, "")
				}
				if p.trim {
					name = strings.TrimSpace(name)
				}
				if mode != nil {
					var err error
					if name, err = mode(e.node, name); err != nil {
						return nil, err
					}
				}
				return renamed(e.node, name)
			})
		}, nil
	})
}

// renamer returns what the mode does with a name, nil without a mode.
func (p *renameParams) renamer() (func(n *sandrone.Node, name string) (string, error), error) {
	if p.mode == "" {
		return nil, nil
	}
	if p.mode == "replace" {
		if p.pattern == "" {
			return nil, bad("pattern", "pattern is required")
		}
		re, err := replacing("pattern", p.pattern, "replacement", p.replacement)
		if err != nil {
			return nil, err
		}
		return func(_ *sandrone.Node, name string) (string, error) {
			name, err := re.In(name)
			return name, matching(err)
		}, nil
	}
	if p.value == "" {
		return nil, bad("value", "value is required")
	}
	switch p.mode {
	case "prefix":
		return func(_ *sandrone.Node, name string) (string, error) { return p.value + name, nil }, nil
	case "suffix":
		return func(_ *sandrone.Node, name string) (string, error) { return name + p.value, nil }, nil
	}
	return func(n *sandrone.Node, name string) (string, error) {
		return strings.NewReplacer("{name}", name, "{type}", string(n.Type), "{server}", n.Server, "{source_format}", n.SourceFormat).Replace(p.value), nil
	}, nil
}
