// Package preset is what editors of client files begin with: bases, templates
// of groups and rules, regions, and recipes that insert ordinary steps.
//
// [For] returns all of it for a kind, in the form that the asked client version
// takes and with names in the asked language; what that version cannot express
// is not in it. Everything is data, and has no life after it was copied into a
// definition. Two things are done with it besides: [Set.Add] puts a preset and
// what it depends on into a list of steps, [Adapt] writes groups by region into
// settings. Both are pure, so that a page may do the same in a browser.
package preset

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/files"
)

// Text is a text in the languages of the product.
type Text struct {
	English string `json:"en-US"`
	Chinese string `json:"zh-CN"`
}

// The locales, as requests name them.
const (
	English = "en-US"
	Chinese = "zh-CN"
)

// In returns the text in a locale: in English unless it is [Chinese].
func (t Text) In(locale string) string {
	if locale == Chinese {
		return t.Chinese
	}
	return t.English
}

// Set is everything for one kind.
type Set struct {
	Kind      string     `json:"kind"` // as asked, with its @version
	Items     []Item     `json:"items"`
	Templates []Template `json:"templates"`
	Regions   []Region   `json:"regions"`
	Bases     []Base     `json:"bases"`

	client  *client
	recipes []recipe // of Items, in their order
}

// Item is a preset: a recipe that inserts a step, which is the user's from then
// on.
type Item struct {
	ID           string                   `json:"id"`
	Category     string                   `json:"category"`     // network, platform, tailscale or privacy
	DefaultOn    bool                     `json:"default_on"`   // goes into newly made files, and means nothing else
	Dependencies []string                 `json:"dependencies"` // presets whose steps must stand before
	Conflicts    []string                 `json:"conflicts"`    // presets that must not be there
	Title        Text                     `json:"title"`
	Effect       Text                     `json:"effect"` // what it changes
	Risk         Text                     `json:"risk"`   // what may go wrong then
	Needs        Text                     `json:"needs"`  // what has to be there; empty for nothing
	ArgsSchema   json.RawMessage          `json:"args_schema"`
	Steps        []sandrone.ProcessorSpec `json:"steps"` // what is inserted with default args: one step
}

// Template is a set of groups, rule sets and rules, as settings of a file.
type Template struct {
	ID           string          `json:"id"` // minimal, standard, full
	GroupCount   int             `json:"group_count"`
	RuleSetCount int             `json:"rule_set_count"`
	RuleCount    int             `json:"rule_count"`
	Settings     json.RawMessage `json:"settings"`
}

// Base is a document for the source of a new file. It goes with the templates,
// whose anchor and rule sets it names.
type Base struct {
	ID      string `json:"id"` // standard
	Content string `json:"content"`
}

// For returns the set of a kind, which may carry an @version, in a locale;
// empty means [English]. An unknown kind, version or locale is an
// invalid_argument error, and so is a kind that is not compiled. Each call
// makes it anew, from tables and within some milliseconds.
func For(kind, locale string) (*Set, error) {
	// A kind that has no set is no better than one that is not there at all.
	word, _, _ := strings.Cut(kind, "@")
	if !slices.ContainsFunc(files.Kinds(), func(k *files.Kind) bool { return k.Name == word && k.Typed() }) {
		return nil, sandrone.Errorf(sandrone.InvalidArgument, "kind must be one of mihomo, sing-box, shadowrocket").At("kind")
	}
	k, version, err := files.Find(kind)
	if err != nil {
		return nil, err
	}
	switch locale {
	case "":
		locale = English
	case English, Chinese:
	default:
		return nil, sandrone.Errorf(sandrone.InvalidArgument, "locale must be en-US or zh-CN").At("locale")
	}
	c := &client{kind: k, version: version, locale: locale}
	s := &Set{
		Kind:      kind,
		Templates: c.templates(),
		Regions:   regions(),
		Bases:     []Base{{"standard", c.base()}},
		client:    c,
		recipes:   c.recipes(),
	}
	for _, r := range s.recipes {
		s.Items = append(s.Items, c.item(r))
	}
	return s, nil
}

// client is for whom a set is made.
type client struct {
	kind    *files.Kind
	version string // empty where the kind has none
	locale  string
}

// from reports whether the client's version is the given one or a later one.
func (c *client) from(version string) bool {
	for _, v := range c.kind.Versions { // ascending
		if v == version {
			return true
		}
		if v == c.version {
			return false
		}
	}
	return false
}

// compact is the JSON form of a value of this package. What stands in HTML is
// not escaped: scripts are meant to be read.
func compact(v any) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err) // texts, numbers and lists of them always encode
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
