package convert

import (
	"slices"
	"strings"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert/table"
)

// Auto is the name that asks [Registry.Parse] to find the format by itself.
const Auto = "auto"

// Registry is the set of formats of a build. It is read-only once made, and
// safe for concurrent use.
type Registry struct {
	parsers       []Parser
	renderers     []Renderer
	parserNames   []string
	rendererNames []string
}

// NewRegistry makes a registry. Detection asks the parsers in the given order,
// so a format whose signal is narrow stands before one that takes more. It
// panics when a name is given twice.
func NewRegistry(parsers []Parser, renderers []Renderer) *Registry {
	r := &Registry{parsers: slices.Clone(parsers), renderers: slices.Clone(renderers)}
	for _, p := range parsers {
		r.parserNames = append(r.parserNames, p.Name)
	}
	for _, p := range renderers {
		r.rendererNames = append(r.rendererNames, p.Name)
	}
	slices.Sort(r.parserNames)
	slices.Sort(r.rendererNames)
	for _, names := range [][]string{r.parserNames, r.rendererNames} {
		if len(slices.Compact(slices.Clone(names))) != len(names) {
			panic("convert: a format is registered twice")
		}
	}
	return r
}

// ParserNames returns the names of the input formats, sorted. [Auto] is not
// among them.
func (r *Registry) ParserNames() []string { return slices.Clone(r.parserNames) }

// RendererNames returns the names of the output formats, sorted.
func (r *Registry) RendererNames() []string { return slices.Clone(r.rendererNames) }

// Parsers returns the parsers in the order of detection. The slice must not be
// changed.
func (r *Registry) Parsers() []Parser { return r.parsers }

// Renderers returns the renderers in the order in which they were registered.
// The slice must not be changed.
func (r *Registry) Renderers() []Renderer { return r.renderers }

// Parser finds an input format by its name; outer blanks and letter case do
// not matter. An unknown name, [Auto] too, is an invalid_argument.
func (r *Registry) Parser(name string) (*Parser, error) {
	word := canonicalName(name)
	for i := range r.parsers {
		if r.parsers[i].Name == word {
			return &r.parsers[i], nil
		}
	}
	return nil, sandrone.Errorf(sandrone.InvalidArgument, "unsupported parse format %q", quoted(name))
}

// CheckFormat returns an invalid_argument unless name is [Auto] or an input
// format.
func (r *Registry) CheckFormat(name string) error {
	if canonicalName(name) == Auto {
		return nil
	}
	_, err := r.Parser(name)
	return err
}

// Target is an output format, for one version of its client.
type Target struct {
	*Renderer
	Name    string        // as asked for, with the @version if there was one
	Version table.Version // the one asked for, or the default
}

// Target finds an output format by "name" or "name@version"; outer blanks and
// letter case do not matter. An unknown name, an unknown version, and a
// version of a format that has none are an invalid_argument, which names the
// versions that there are.
func (r *Registry) Target(name string) (Target, error) {
	word, version, versioned := strings.Cut(canonicalName(name), "@")
	i := slices.IndexFunc(r.renderers, func(p Renderer) bool { return p.Name == word })
	if i < 0 {
		return Target{}, sandrone.Errorf(sandrone.InvalidArgument, "unsupported render format %q", quoted(name))
	}
	p := &r.renderers[i]
	if !versioned {
		return Target{p, p.Name, p.Default}, nil
	}
	for _, v := range p.Versions {
		if v.String() == version {
			return Target{p, p.Name + "@" + version, v}, nil
		}
	}
	if len(p.Versions) == 0 {
		return Target{}, sandrone.Errorf(sandrone.InvalidArgument, "format %s has no versions", p.Name)
	}
	known := make([]string, len(p.Versions))
	for i, v := range p.Versions {
		known[i] = v.String()
	}
	return Target{}, sandrone.Errorf(sandrone.InvalidArgument, "unsupported version %q of format %s (known: %s)",
		quoted(version), p.Name, strings.Join(known, ", "))
}

// CheckTarget returns the error of [Registry.Target], if any.
func (r *Registry) CheckTarget(name string) error {
	_, err := r.Target(name)
	return err
}

// Render writes nodes, which are normalised and valid, as "name" or
// "name@version", and returns the media type with them. Target and Version of
// the options are set here. An empty batch is written as the target's empty
// document; a batch of which no node can be written is a render_failed, with
// the warnings that say why.
func (r *Registry) Render(target string, nodes []sandrone.Node, o RenderOptions) (out Rendered, mediaType string, err error) {
	t, err := r.Target(target)
	if err != nil {
		return Rendered{}, "", err
	}
	o.Target, o.Version = t.Name, t.Version
	out = t.Renderer.Render(nodes, o)
	if out.Count == 0 && len(nodes) > 0 {
		e := sandrone.Errorf(sandrone.RenderFailed, "none of %d node(s) can be written as %s%s", len(nodes), t.Name, firstReason(out.Warnings))
		e.Target = t.Name
		return Rendered{Warnings: out.Warnings}, "", e
	}
	return out, t.MediaType, nil
}

// firstReason is what the first warning says, as the end of an error message.
// Messages of warnings hold no secrets.
func firstReason(warnings []sandrone.Warning) string {
	if len(warnings) == 0 || warnings[0].Message == "" {
		return ""
	}
	return ": " + warnings[0].Message
}

func canonicalName(s string) string { return strings.ToLower(strings.TrimSpace(s)) }

// quoted is what a message repeats of a name that a caller gave.
func quoted(s string) string { return clip(strings.TrimSpace(s), 64) }

// clip cuts s to n characters and removes control characters.
func clip(s string, n int) string {
	var b strings.Builder
	for _, r := range s {
		if n == 0 {
			break
		}
		if r < ' ' || r >= 0x7F && r < 0xA0 || r == 0x2028 || r == 0x2029 {
			continue
		}
		b.WriteRune(r)
		n--
	}
	return b.String()
}
