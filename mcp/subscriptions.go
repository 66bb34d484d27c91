package mcp

import (
	"context"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/engine"
	"github.com/sandrone-gateway/sandrone/store"
)

const aboutArgs = "request args for the steps"

type previewed struct {
	SubscriptionName string               `json:"subscription_name"`
	Type             string               `json:"type,omitempty"`
	Format           string               `json:"format,omitempty"`
	BeforeCount      int                  `json:"before_count"`
	AfterCount       int                  `json:"after_count"`
	StatusCounts     engine.StatusCounts  `json:"status_counts"`
	Nodes            []engine.PreviewNode `json:"nodes"`
	Steps            any                  `json:"steps"` // of the preview
	Report           sandrone.Report      `json:"report"`
}

type rendered struct {
	ContentType string `json:"content_type"`
	body
	Cached bool            `json:"cached"`
	Report sandrone.Report `json:"report"`
}

func (e *Endpoint) addSubscriptions(s *sdk.Server) {
	out := schemaOf[previewed]()
	out.Properties["steps"] = listOf("", &jsonschema.Schema{Type: "object"})
	addTool(e, s, tool{
		name:   "sandrone_preview_subscription",
		title:  "Preview a subscription",
		about:  "Show the nodes of a stored subscription before and after its steps, and what each step did. The answer holds whole nodes with their credentials and may be large.",
		effect: reaches,
		in:     object([]string{"name"}, members{"name": nameOf("of a stored subscription"), "args": texts(aboutArgs)}),
		out:    out,
	}, func(ctx context.Context, in struct {
		Name string            `json:"name"`
		Args map[string]string `json:"args"`
	}) (previewed, error) {
		p, err := e.options.Engine.PreviewSubscription(ctx, engine.PreviewRequest{Name: in.Name, Args: in.Args, Trace: true})
		if err != nil {
			return previewed{}, err
		}
		return previewed{p.SubscriptionName, p.Type, p.Format, p.BeforeCount, p.AfterCount, p.StatusCounts, p.Nodes, p.Steps, p.Report}, nil
	})

	addTool(e, s, tool{
		name:   "sandrone_render_subscription",
		title:  "Render a subscription",
		about:  "Write the nodes of a stored subscription in a format. Look at report.warnings for what was lost; a body over the output limit is left out and its size is told.",
		effect: reaches,
		in: object([]string{"name", "format"}, members{
			"name":    nameOf("of a stored subscription"),
			"format":  e.renderFormat("what to write, with a client version where the format has some"),
			"args":    texts(aboutArgs),
			"refresh": flag("read no cache"),
		}),
		out: schemaOf[rendered](),
	}, func(ctx context.Context, in struct {
		Name    string            `json:"name"`
		Format  string            `json:"format"`
		Args    map[string]string `json:"args"`
		Refresh bool              `json:"refresh"`
	}) (rendered, error) {
		r, err := e.options.Engine.RenderSubscription(ctx, engine.RenderRequest{Name: in.Name, Format: in.Format, Args: in.Args, Refresh: in.Refresh})
		if err != nil {
			return rendered{}, err
		}
		return rendered{r.ContentType, e.bodyOf(r.Body), r.Cached, r.Report}, nil
	})

	addTool(e, s, tool{
		name:   "sandrone_get_subscription_traffic",
		title:  "Get the traffic of a subscription",
		about:  "Tell how much of its plan a stored remote subscription has used, as its source says.",
		effect: reaches,
		in:     object([]string{"name"}, members{"name": nameOf("of a stored remote subscription"), "refresh": flag("ask the source now")}),
		out:    schemaOf[engine.TrafficAnswer](),
	}, func(ctx context.Context, in struct {
		Name    string `json:"name"`
		Refresh bool   `json:"refresh"`
	}) (*engine.TrafficAnswer, error) {
		return e.options.Engine.Traffic(ctx, in.Name, in.Refresh)
	})

	addTool(e, s, tool{
		name:   "sandrone_put_subscription",
		title:  "Save a subscription",
		about:  aboutPut("subscription", subscriptionsURI),
		effect: manages,
		in:     withDryRun(e.options.Catalog.Subscription()),
		out:    savedSchema(),
	}, func(ctx context.Context, in struct {
		sandrone.Subscription
		DryRun bool `json:"dry_run"`
	}) (saved, error) {
		v := &in.Subscription
		if in.DryRun {
			run, err := e.options.Engine.DryRunSubscription(ctx, v)
			return e.tried(ctx, sandrone.KindSubscription, v.Name, run, err)
		}
		put, err := e.options.Engine.PutSubscription(ctx, v, store.Precondition{})
		return saved{OK: true, ResourceURI: definitionURI(sandrone.KindSubscription, v.Name), Warnings: put.Warnings}, err
	})

	addTool(e, s, tool{
		name:   "sandrone_delete_subscription",
		title:  "Delete a subscription",
		about:  aboutDelete("subscription", subscriptionsURI),
		effect: manages,
		in:     object([]string{"name"}, members{"name": nameOf("of a stored subscription")}),
		out:    schemaOf[deleted](),
	}, func(ctx context.Context, in named) (deleted, error) {
		if err := sandrone.CheckName("name", in.Name); err != nil {
			return deleted{}, err
		}
		err := e.options.Engine.DeleteSubscription(ctx, in.Name, store.Precondition{})
		return deleted{true, true, definitionURI(sandrone.KindSubscription, in.Name)}, err
	})
}

type named struct {
	Name string `json:"name"`
}

// saved is the answer to a put, or to a dry run of one.
type saved struct {
	OK          bool               `json:"ok"`
	ResourceURI string             `json:"resource_uri"`
	Warnings    []sandrone.Warning `json:"warnings,omitempty"`
	*tried
}

// tried is what a dry run adds.
type tried struct {
	DryRun bool               `json:"dry_run"`
	Exists bool               `json:"exists"`
	Diff   []engine.Change    `json:"diff"`
	Nodes  *engine.NodeCounts `json:"nodes,omitempty"`
	Bytes  *engine.ByteCounts `json:"bytes,omitempty"`
	Error  *sandrone.Error    `json:"error,omitempty"`
}

// savedSchema is the schema of saved, in which only a dry run has the members
// of tried.
func savedSchema() *jsonschema.Schema {
	s := schemaOf[saved]()
	s.Required = []string{"ok", "resource_uri"}
	return s
}

func (e *Endpoint) tried(ctx context.Context, kind, name string, run *engine.DryRun, err error) (saved, error) {
	if err != nil {
		return saved{}, err
	}
	t := &tried{true, run.Exists, run.Diff, run.Nodes, run.Bytes, run.Error}
	if t.Error != nil {
		t.Error = e.shown(ctx, t.Error)
	}
	return saved{OK: true, ResourceURI: definitionURI(kind, name), Warnings: run.Warnings, tried: t}, nil
}

type deleted struct {
	OK          bool   `json:"ok"`
	Deleted     bool   `json:"deleted"`
	ResourceURI string `json:"resource_uri"`
}

func aboutPut(kind, uri string) string {
	return "Save the whole definition of a " + kind + ". One of the same name is overwritten at once, without asking and for good, so read " + uri + "{name} first, try it with dry_run, and write only what the user authorised."
}

func aboutDelete(kind, uri string) string {
	return "Delete a stored " + kind + " at once, without asking and for good. Read " + uri + "{name} first, and delete only what the user authorised."
}

// withDryRun is a schema of a definition as the input of a put.
func withDryRun(s *jsonschema.Schema) *jsonschema.Schema {
	s.Properties["dry_run"] = flag("store nothing and ask no source: tell what would change, and how many nodes or bytes there would be")
	return s
}
