package processors

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/processors/region"
)

// extraRegions is the param by which three steps take a user's own regions.
func extraRegions[C any](at func(*C) *[]region.Extra) param[C] {
	return objects("extra_regions", "regions of your own: each adds to the region of its id, or makes a new one", 0, region.MaxExtra, at, params[region.Extra]{
		text("id", "id of the region", func(r *region.Extra) *string { return &r.ID }).need(),
		text("flag", "emoji", func(r *region.Extra) *string { return &r.Flag }),
		texts("terms", "texts that name it, in any letter case", func(r *region.Extra) *[]string { return &r.Terms }),
		texts("codes", "tokens of letters that name it, in any letter case", func(r *region.Extra) *[]string { return &r.Codes }),
		texts("exclude", "texts that say that it is another one", func(r *region.Extra) *[]string { return &r.Exclude }),
	})
}

// regionTable is the table of all countries with a user's own regions.
func regionTable(extra []region.Extra) (*region.Table, error) {
	table, err := region.Default().With(extra)
	var e *region.ExtraError
	if errors.As(err, &e) {
		if e.Member == "" {
			return nil, bad("extra_regions", "%s", e.Reason)
		}
		return nil, bad(fmt.Sprintf("extra_regions[%d].%s", e.Index, e.Member), "%s", e.Reason)
	}
	return table, err
}

// locate finds a node's region, nil if there is none, and notes it for the
// trace.
func (s *scope) locate(t *region.Table, e entry) *region.Region {
	m, ok := t.Detect(e.node.Name)
	if !ok {
		return nil
	}
	if s.notes != nil {
		s.notes[e.id] = note{m.Region.ID, m.Text}
	}
	return m.Region
}

type flagParams struct {
	mode, taiwan string
	extra        []region.Extra
}

// flag puts the flag of a node's region in front of its name, or removes flags.
func flag() *processor[[]entry] {
	return define(Descriptor{
		Type:        "flag",
		Description: "Puts the flag of the region in front of every name, in place of those that are there; 🏴‍☠️ where the region is unknown. Or removes flags.",
		Examples: []sandrone.ProcessorSpec{
			example("flag", `{}`),
			example("flag", `{"mode":"remove"}`),
			example("flag", `{"extra_regions":[{"id":"hk","terms":["Lantau"]}]}`),
		},
	}, params[flagParams]{
		word("mode", "add or remove flags", func(p *flagParams) *string { return &p.mode }, "add", "remove").or(`"add"`),
		word("taiwan", "flag for Taiwan: 🇹🇼, 🇨🇳 or 🇼🇸", func(p *flagParams) *string { return &p.taiwan }, "tw", "cn", "ws").or(`"tw"`),
		extraRegions(func(p *flagParams) *[]region.Extra { return &p.extra }),
	}, func(p *flagParams) (step[[]entry], error) {
		table, err := regionTable(p.extra)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context, s *scope, in []entry) ([]entry, error) {
			return edited(ctx, in, func(e entry) (*sandrone.Node, error) {
				bare := region.WithoutFlags(e.node.Name)
				if p.mode == "remove" {
					return renamed(e.node, bare)
				}
				flag := region.Unknown
				if r := s.locate(table, e); r != nil {
					flag = cmp.Or(r.Flag, region.Unknown)
					if r.ID == "tw" && p.taiwan != "tw" {
						flag = region.Flag(strings.ToUpper(p.taiwan))
					}
					// A flag of the user's own may be no flag to others.
					bare = strings.TrimSpace(strings.TrimPrefix(bare, flag))
				}
				return renamed(e.node, strings.TrimSpace(flag+" "+bare))
			})
		}, nil
	})
}

type regionFilterParams struct {
	action  string
	regions []string
	extra   []region.Extra
}

// regionFilter keeps or drops nodes by their region.
func regionFilter() *processor[[]entry] {
	return define(Descriptor{
		Type:        "region_filter",
		Description: "Keeps or drops the nodes of some regions, which are read from the names. A node whose region is unknown is of none.",
		Examples: []sandrone.ProcessorSpec{
			example("region_filter", `{"action":"keep","regions":["hk","tw","jp"]}`),
		},
	}, params[regionFilterParams]{
		word("action", "keep the nodes of the regions, or drop them", func(p *regionFilterParams) *string { return &p.action }, "keep", "drop").need(),
		texts("regions", "ids: two letters of the country, uk for GB, or one of extra_regions", func(p *regionFilterParams) *[]string { return &p.regions }).need(),
		extraRegions(func(p *regionFilterParams) *[]region.Extra { return &p.extra }),
	}, func(p *regionFilterParams) (step[[]entry], error) {
		table, err := regionTable(p.extra)
		if err != nil {
			return nil, err
		}
		if len(p.regions) == 0 {
			return nil, bad("regions", "regions needs at least one")
		}
		wanted := make(map[*region.Region]bool, len(p.regions))
		for i, id := range p.regions {
			r := table.Region(strings.TrimSpace(id))
			if r == nil {
				return nil, bad(fmt.Sprintf("regions[%d]", i), "unknown region %q", clip(id, 32))
			}
			wanted[r] = true
		}
		return func(ctx context.Context, s *scope, in []entry) ([]entry, error) {
			out := make([]entry, 0, len(in))
			for i, e := range in {
				if err := every(ctx, i); err != nil {
					return nil, err
				}
				r := s.locate(table, e)
				if (r != nil && wanted[r]) == (p.action == "keep") {
					out = append(out, e)
				}
			}
			return out, nil
		}, nil
	})
}

type limitParams struct {
	count int
	per   string
	extra []region.Extra
}

// limit keeps the first nodes, of all or of each bucket.
func limit() *processor[[]entry] {
	return define(Descriptor{
		Type:        "limit",
		Description: "Keeps the first nodes: of all, of each region (those of unknown region are one) or of each type.",
		Examples:    []sandrone.ProcessorSpec{example("limit", `{"count":100}`), example("limit", `{"count":3,"per":"region"}`)},
	}, params[limitParams]{
		whole("count", "nodes to keep", 1, 0, func(p *limitParams) *int { return &p.count }).need(),
		word("per", "what the count is of", func(p *limitParams) *string { return &p.per }, "none", "region", "type").or(`"none"`),
		extraRegions(func(p *limitParams) *[]region.Extra { return &p.extra }),
	}, func(p *limitParams) (step[[]entry], error) {
		table, err := regionTable(p.extra)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context, s *scope, in []entry) ([]entry, error) {
			count := make(map[string]int)
			out := make([]entry, 0, min(len(in), p.count))
			for i, e := range in {
				if err := every(ctx, i); err != nil {
					return nil, err
				}
				bucket := ""
				switch p.per {
				case "type":
					bucket = string(e.node.Type)
				case "region":
					if r := s.locate(table, e); r != nil {
						bucket = r.ID
					}
				}
				if count[bucket] < p.count {
					count[bucket]++
					out = append(out, e)
				}
			}
			return out, nil
		}, nil
	})
}
