package mcp

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/closed"
	"github.com/sandrone-gateway/sandrone/engine"
)

const (
	defaultPage = 50
	maxPage     = 200
)

type listInput struct {
	Kind   string `json:"kind"`
	Cursor string `json:"cursor"`
	Limit  int    `json:"limit"`
}

// item is a stored definition in a list.
type item struct {
	engine.Item
	ResourceURI string `json:"resource_uri"`
}

type page struct {
	Items      []item `json:"items"`
	NextCursor string `json:"next_cursor,omitempty"`
}

func (e *Endpoint) addList(s *sdk.Server) {
	addTool(e, s, tool{
		name:   "sandrone_list_resources",
		title:  "List stored definitions",
		about:  "List the stored subscriptions and files, without their content. Pages follow the kind and name; pass next_cursor back with the same kind to go on.",
		effect: reads,
		in: object(nil, members{
			"kind":   oneOfWords("list one kind only", sandrone.KindSubscription, sandrone.KindFile),
			"cursor": textOf("next_cursor of the page before, as it came"),
			"limit":  upTo(integer("the most items of a page", 1), maxPage, "50"),
		}),
		out: schemaOf[page](),
	}, e.list)
}

func (e *Endpoint) list(ctx context.Context, in listInput) (page, error) {
	after, err := readCursor(in.Cursor, in.Kind)
	if err != nil {
		return page{}, err
	}
	var all []engine.Item
	for _, of := range []struct {
		kind string
		list func(context.Context) ([]engine.Item, error)
	}{
		{sandrone.KindFile, e.options.Engine.FileItems},
		{sandrone.KindSubscription, e.options.Engine.SubscriptionItems},
	} {
		if in.Kind != "" && in.Kind != of.kind {
			continue
		}
		items, err := of.list(ctx)
		if err != nil {
			return page{}, err
		}
		all = append(all, items...)
	}
	slices.SortFunc(all, func(a, b engine.Item) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Name, b.Name))
	})
	// The place is looked up in what is stored now, so a definition that came
	// or went meanwhile neither repeats nor hides another one.
	from, _ := slices.BinarySearchFunc(all, after, func(i engine.Item, after place) int {
		if cmp.Or(strings.Compare(i.Kind, after.Kind), strings.Compare(i.Name, after.Name)) > 0 {
			return 1
		}
		return -1
	})
	rest := all[from:]
	out := page{Items: []item{}}
	for _, i := range rest[:min(len(rest), cmp.Or(in.Limit, defaultPage))] {
		out.Items = append(out.Items, item{i, definitionURI(i.Kind, i.Name)})
	}
	if n := len(out.Items); n < len(rest) {
		out.NextCursor = writeCursor(in.Kind, place{rest[n-1].Kind, rest[n-1].Name})
	}
	return out, nil
}

// place is where a page ends. The zero value is before the first one.
type place struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

// cursor is what a client carries from page to page. It holds all there is to
// know, so that it outlives the process, and grants nothing, so that its check
// only has to find what was altered by accident or by hand.
type cursor struct {
	Version int    `json:"version"`
	Kind    string `json:"kind"` // that was asked for
	After   place  `json:"after"`
	Check   string `json:"check"`
}

func (c cursor) sum() string {
	c.Check = ""
	text, err := json.Marshal(c)
	if err != nil {
		panic(err) // strings and numbers always encode
	}
	sum := sha256.Sum256(append([]byte("sandrone resource cursor "), text...))
	return hex.EncodeToString(sum[:8])
}

var cursorText = base64.RawURLEncoding.Strict()

func writeCursor(kind string, after place) string {
	c := cursor{Version: 1, Kind: kind, After: after}
	c.Check = c.sum()
	text, err := json.Marshal(c)
	if err != nil {
		panic(err) // strings and numbers always encode
	}
	return cursorText.EncodeToString(text)
}

// readCursor returns the place of a cursor that was made for kind. An empty
// one is the start.
func readCursor(given, kind string) (place, error) {
	if given == "" {
		return place{}, nil
	}
	invalid := func(why string) error {
		return sandrone.Errorf(sandrone.InvalidArgument, "resource cursor is invalid: %s", why).At("cursor")
	}
	text, err := cursorText.DecodeString(given)
	var c cursor
	if err != nil || closed.Unmarshal("cursor", text, &c) != nil || c.Version != 1 || c.Check != c.sum() {
		return place{}, invalid("it must be a next_cursor as it came")
	}
	if c.Kind != kind {
		return place{}, invalid("it was made with another kind")
	}
	return c.After, nil
}
