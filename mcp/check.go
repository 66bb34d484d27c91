package mcp

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/closed"
)

// checker holds values to a schema and says which member is at fault, which
// the schema library does not tell. It knows the words that the schemas of the
// tools use, and a test holds that they use no others.
type checker struct {
	root     *jsonschema.Schema
	patterns map[string]*regexp.Regexp
}

func newChecker(root *jsonschema.Schema) *checker {
	c := &checker{root, make(map[string]*regexp.Regexp)}
	c.compile(root)
	return c
}

func (c *checker) compile(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if s.Pattern != "" {
		c.patterns[s.Pattern] = regexp.MustCompile(s.Pattern)
	}
	c.compile(s.Items)
	c.compile(s.AdditionalProperties)
	for _, list := range []map[string]*jsonschema.Schema{s.Properties, s.Defs} {
		for _, member := range list {
			c.compile(member)
		}
	}
}

// check returns an invalid_argument error for the first member of v, in the
// order of names, that is not as the schema says.
func (c *checker) check(v any) error {
	if err := c.value("", c.root, v); err != nil {
		return err // not nil in an interface
	}
	return nil
}

func at(path, format string, args ...any) *sandrone.Error {
	what := path
	if what == "" {
		what = "the input"
	}
	return sandrone.Errorf(sandrone.InvalidArgument, "%s %s", closed.Shorten(what), fmt.Sprintf(format, args...)).At(closed.Shorten(path))
}

func (c *checker) value(path string, s *jsonschema.Schema, v any) *sandrone.Error {
	if s.Ref != "" {
		s = c.root.Defs[strings.TrimPrefix(s.Ref, "#/$defs/")]
	}
	if s.Type != "" && !isType(s.Type, v) {
		article := "a"
		if strings.ContainsRune("aio", rune(s.Type[0])) {
			article = "an"
		}
		return at(path, "must be %s %s", article, s.Type)
	}
	switch v := v.(type) {
	case string:
		if s.Enum != nil && !slices.Contains(s.Enum, any(v)) {
			return at(path, "must be one of %s", words(s.Enum))
		}
		if s.Pattern != "" && !c.patterns[s.Pattern].MatchString(v) {
			return at(path, "must match %s", s.Pattern)
		}
		if s.MinLength != nil && utf8.RuneCountInString(v) < *s.MinLength {
			return at(path, "must not be empty")
		}
	case float64:
		if s.Minimum != nil && v < *s.Minimum {
			return at(path, "must be at least %v", *s.Minimum)
		}
		if s.Maximum != nil && v > *s.Maximum {
			return at(path, "must be at most %v", *s.Maximum)
		}
	case []any:
		if s.MinItems != nil && len(v) < *s.MinItems {
			return at(path, "must have at least %d items", *s.MinItems)
		}
		if s.MaxItems != nil && len(v) > *s.MaxItems {
			return at(path, "must have at most %d items", *s.MaxItems)
		}
		if s.Items == nil {
			return nil
		}
		for i, item := range v {
			if err := c.value(path+"["+strconv.Itoa(i)+"]", s.Items, item); err != nil {
				return err
			}
		}
	case map[string]any:
		return c.object(path, s, v)
	}
	return nil
}

func (c *checker) object(path string, s *jsonschema.Schema, v map[string]any) *sandrone.Error {
	for _, name := range s.Required {
		if _, ok := v[name]; !ok {
			return at(closed.Member(path, name), "is required")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		of, ok := s.Properties[name]
		if !ok {
			of = s.AdditionalProperties
		}
		if of == nil {
			continue // an open object
		}
		if of.Not != nil { // what the library writes as false
			return sandrone.Errorf(sandrone.InvalidArgument, "unknown member").At(closed.Shorten(closed.Member(path, name)))
		}
		if err := c.value(closed.Member(path, name), of, v[name]); err != nil {
			return err
		}
	}
	if s.OneOf != nil {
		return oneOf(path, s.OneOf, v)
	}
	return nil
}

// oneOf holds an object to exactly one of some members.
func oneOf(path string, branches []*jsonschema.Schema, v map[string]any) *sandrone.Error {
	var names []string
	given := 0
	for _, branch := range branches {
		name := branch.Required[0]
		names = append(names, name)
		if _, ok := v[name]; ok {
			given++
		}
	}
	if given == 1 {
		return nil
	}
	last := len(names) - 1
	return sandrone.Errorf(sandrone.InvalidArgument, "exactly one of %s and %s is required", strings.Join(names[:last], ", "), names[last]).At(path)
}

func isType(name string, v any) bool {
	switch v := v.(type) {
	case string:
		return name == "string"
	case bool:
		return name == "boolean"
	case float64:
		return name == "number" || name == "integer" && v == math.Trunc(v)
	case []any:
		return name == "array"
	case map[string]any:
		return name == "object"
	}
	return false
}

func words(enum []any) string {
	var list []string
	for _, v := range enum {
		list = append(list, fmt.Sprint(v))
	}
	return strings.Join(list, ", ")
}
