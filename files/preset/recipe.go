package preset

import (
	"embed"
	"encoding/json"

	"github.com/sandrone-gateway/sandrone"
)

// The categories of presets. "privacy" is kept for later ones.
const (
	network   = "network"
	platform  = "platform"
	tailscale = "tailscale"
)

// recipe is a preset as it stands in the table of a client.
type recipe struct {
	id, category string
	on           bool
	needs        []string // dependencies
	against      []string // conflicts
	behind       []string // presets that would undo this one if they came after it

	title, effect, risk, require Text

	// One of these is what the step does.
	override string // merged into a YAML document
	script   script // done by the script of the client
	mirror   bool   // the rules of Args.Replacements, as text

	keyed bool // the script takes an auth key
}

// script is what the script of a client carries out: see the first lines of
// each.
type script map[string]any

//go:embed scripts
var scripts embed.FS

// recipes are the presets that the client's version can express. One that
// others depend on comes before them.
func (c *client) recipes() []recipe {
	var list []recipe
	switch c.kind.Name {
	case sandrone.FileMihomo:
		list = c.mihomoRecipes()
	case sandrone.FileSingBox:
		list = c.singboxRecipes()
	case sandrone.FileShadowrocket:
		list = c.shadowrocketRecipes()
	}
	return append(list, recipe{
		id: "github-rule-source-mirror", category: network, mirror: true,
		title:   Text{"Mirror of rule sources", "规则源镜像"},
		effect:  Text{"Fetches the rule sets of the two public collections from the jsDelivr mirror of GitHub.", "两个公开规则集合改由 jsDelivr 的 GitHub 镜像提供。"},
		risk:    Text{"The mirror may be a day behind, and its operator sees which rule sets are fetched.", "镜像可能滞后约一天,且镜像方能看到拉取了哪些规则集。"},
		require: Text{"Rule sets of MetaCubeX/meta-rules-dat or blackmatrix7/ios_rule_script.", "使用 MetaCubeX/meta-rules-dat 或 blackmatrix7/ios_rule_script 的规则集。"},
	})
}

// Args are what a user may say about a preset. The zero value is what
// [Item.Steps] has.
type Args struct {
	AuthKey      string      `json:"auth_key,omitempty"`     // of presets with a Tailscale node of their own
	Replacements [][2]string `json:"replacements,omitempty"` // of github-rule-source-mirror: texts and what takes their place; nil means the usual ones
}

var usualReplacements = [][2]string{
	{"https://raw.githubusercontent.com/MetaCubeX/meta-rules-dat/meta/", "https://cdn.jsdelivr.net/gh/MetaCubeX/meta-rules-dat@meta/"},
	{"https://raw.githubusercontent.com/MetaCubeX/meta-rules-dat/sing/", "https://cdn.jsdelivr.net/gh/MetaCubeX/meta-rules-dat@sing/"},
	{"https://raw.githubusercontent.com/blackmatrix7/ios_rule_script/master/", "https://cdn.jsdelivr.net/gh/blackmatrix7/ios_rule_script@master/"},
}

// argsSchema is the JSON Schema of the args. An auth key goes into the args of
// the script step, replacements are its rules.
func (r recipe) argsSchema() json.RawMessage {
	properties := make(map[string]any)
	if r.keyed {
		properties["auth_key"] = map[string]any{
			"type": "string", "maxLength": 256,
			"description": "auth key of the tailnet, params.args.auth_key of the step; without one the client shows an address to log in at",
		}
	}
	if r.mirror {
		properties["replacements"] = map[string]any{
			"type": "array", "minItems": 1, "default": usualReplacements,
			"items":       map[string]any{"type": "array", "minItems": 2, "maxItems": 2, "items": map[string]any{"type": "string", "minLength": 1}},
			"description": "texts and what takes their place, the rules of the step",
		}
	}
	return compact(map[string]any{"type": "object", "properties": properties, "additionalProperties": false})
}

// item is the preset as it is published.
func (c *client) item(r recipe) Item {
	return Item{
		ID: r.id, Category: r.category, DefaultOn: r.on,
		Dependencies: append([]string{}, r.needs...), Conflicts: append([]string{}, r.against...),
		Title: r.title, Effect: r.effect, Risk: r.risk, Needs: r.require,
		ArgsSchema: r.argsSchema(),
		Steps:      []sandrone.ProcessorSpec{c.step(r, Args{})},
	}
}

// scriptTime is for files of many thousands of nodes.
const scriptTime = 20000 // milliseconds

// step is what the preset inserts.
func (c *client) step(r recipe, a Args) sandrone.ProcessorSpec {
	s := sandrone.ProcessorSpec{Name: r.title.In(c.locale), Stage: sandrone.FileStage}
	switch {
	case r.override != "":
		s.Type = "merge"
		s.Params = compact(struct {
			Mode    string `json:"mode"`
			Content string `json:"content"`
		}{"yaml_override", r.override})
	case r.mirror:
		type rule struct {
			From string `json:"from"`
			To   string `json:"to"`
		}
		pairs := a.Replacements
		if pairs == nil {
			pairs = usualReplacements
		}
		rules := []rule{}
		for _, p := range pairs {
			rules = append(rules, rule{p[0], p[1]})
		}
		s.Type = "replace"
		s.Params = compact(map[string]any{"rules": rules})
	default:
		args := map[string]any{"preset_id": r.id, "recipe": r.script}
		if r.keyed && a.AuthKey != "" {
			args["auth_key"] = a.AuthKey
		}
		s.Type = "script"
		s.Params = compact(map[string]any{
			"id":         r.id,
			"source":     map[string]any{"type": "inline", "content": read(scripts, "scripts/"+c.kind.Name+".js")},
			"args":       args,
			"timeout_ms": scriptTime,
		})
	}
	return s
}
