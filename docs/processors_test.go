package docs_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/engine"
	"github.com/sandrone-gateway/sandrone/processors"
)

// stepSchema is what the page of steps must tell of the schema of params.
type stepSchema struct {
	Properties map[string]struct {
		Default json.RawMessage
		Enum    []string
		Items   struct{ Properties map[string]any }
	}
	Required []string
}

func TestEveryStepIsDescribedWithItsParams(t *testing.T) {
	const page = "docs/reference/processors.md"
	registry := processors.New(processors.Options{Scripts: engine.ScriptType()})
	sections := map[string]string{}
	parts := strings.Split(readText(t, page), "\n### `")
	for _, part := range parts[1:] {
		name, text, _ := strings.Cut(part, "`\n")
		text, _, _ = strings.Cut(text, "\n## ")
		sections[name] = text
	}
	seen := map[string]bool{}
	for _, d := range registry.Descriptors() {
		section, ok := sections[d.Type]
		if !ok {
			t.Errorf("%s has no section %s", page, d.Type)
			continue
		}
		seen[d.Type] = true
		var schema stepSchema
		if err := json.Unmarshal(d.ParamsSchema, &schema); err != nil {
			t.Fatal(err)
		}
		checkParams(t, d, schema, section)
		if !strings.Contains(section, d.Description) && d.Type != "script" {
			t.Errorf("%s: the page does not say: %s", d.Type, d.Description)
		}
		checkExamples(t, registry, d, section)
	}
	for name := range sections {
		if !seen[name] {
			t.Errorf("%s: there is no step %s", page, name)
		}
	}
}

var paramRow = regexp.MustCompile("(?m)^\\| `([a-z0-9_]+)` \\| ([^|]*) \\| (.*) \\|$")

func checkParams(t *testing.T, d *processors.Descriptor, schema stepSchema, section string) {
	t.Helper()
	listed := map[string]bool{}
	for _, row := range paramRow.FindAllStringSubmatch(section, -1) {
		name, preset, meaning := row[1], row[2], row[3]
		p, ok := schema.Properties[name]
		if !ok {
			t.Errorf("%s has no param %s", d.Type, name)
			continue
		}
		listed[name] = true
		want := ""
		if p.Default != nil {
			want = "`" + string(p.Default) + "`"
			var text string
			if json.Unmarshal(p.Default, &text) == nil {
				want = "`" + text + "`"
			}
		}
		if preset != want {
			t.Errorf("%s: the default of %s is %s, not %s", d.Type, name, want, preset)
		}
		for _, word := range p.Enum {
			if !slices.Contains(codes(meaning), word) {
				t.Errorf("%s: %s may be %s", d.Type, name, word)
			}
		}
		if required := slices.Contains(schema.Required, name); required != strings.HasSuffix(meaning, "; required") {
			t.Errorf("%s: whether %s is required is %v", d.Type, name, required)
		}
		for member := range p.Items.Properties {
			if !strings.Contains(section, "`"+member+"`") {
				t.Errorf("%s: the members of %s have a %s", d.Type, name, member)
			}
		}
	}
	for name := range schema.Properties {
		if !listed[name] {
			t.Errorf("%s has a param %s", d.Type, name)
		}
	}
}

// checkExamples builds the examples, which stand on lines of their own.
func checkExamples(t *testing.T, registry *processors.Registry, d *processors.Descriptor, section string) {
	t.Helper()
	found := 0
	for line := range strings.SplitSeq(section, "\n") {
		if !strings.HasPrefix(line, "`{\"type\"") {
			continue
		}
		var spec sandrone.ProcessorSpec
		if err := json.Unmarshal([]byte(strings.Trim(line, "`")), &spec); err != nil || spec.Type != d.Type {
			t.Errorf("%s: an example cannot be read: %v", d.Type, err)
			continue
		}
		if spec.Stage != "" && spec.Stage != d.Stage {
			continue
		}
		found++
		if w := registry.Check(d.Stage, "", []sandrone.ProcessorSpec{spec}); len(w) > 0 {
			t.Errorf("%s: %s", d.Type, w[0].Message)
		}
	}
	if found == 0 {
		t.Errorf("%s has no example for the stage %s", d.Type, d.Stage)
	}
}
