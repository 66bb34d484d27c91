package files

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert/doc"
)

// The members of settings. All kinds share the first three.
const (
	groupsKey   = "groups"
	ruleSetsKey = "rule_sets"
	rulesKey    = "rules"
	adaptiveKey = "adaptive_groups"
)

// nodesMember stands in a list of members for the names of all nodes.
const nodesMember = "$nodes"

// settings are the settings of a definition as a tree, in which the members of
// open objects keep their order and numbers their text.
type settings struct {
	kind  string
	items doc.Items
}

// settings reads raw and holds its top level to the keys that the kind knows.
func (k *Kind) settings(raw json.RawMessage) (*settings, error) {
	s := &settings{kind: k.Name}
	text := strings.TrimSpace(string(raw))
	if text == "" {
		text = "{}"
	}
	if err := doc.AddJSON(&s.items, "", json.RawMessage(text)); err != nil {
		return nil, s.fail("", " is not valid: %s", err.Error())
	}
	if s.items[0].Kind != doc.Map {
		return nil, s.fail("", " must be an object")
	}
	known := map[string]doc.Kind{groupsKey: doc.List, ruleSetsKey: doc.List, rulesKey: doc.List}
	if k.driver.adaptive() {
		known[adaptiveKey] = doc.Map
	}
	return s, s.closed(0, "", known)
}

// fail is the error for the value at a path below the settings; what follows
// the path in the message begins with a space or a colon.
func (s *settings) fail(path, format string, args ...any) *sandrone.Error {
	path = strings.TrimSuffix("config.settings."+path, ".")
	return sandrone.Errorf(sandrone.InvalidArgument, "file kind %q %s"+format, append([]any{s.kind, path}, args...)...).At(path)
}

var kindWords = [...]string{doc.Null: "null", doc.Str: "a string", doc.Num: "a number", doc.Bool: "a boolean", doc.List: "an array", doc.Map: "an object"}

// closed checks the members of map at: none is unknown, none is null, each is
// of its kind. Of repeated members each is looked at.
func (s *settings) closed(at int, path string, known map[string]doc.Kind) error {
	for i := at + 1; i < s.items.Next(at); i = s.items.Next(i) {
		member := below(path, clip(s.items[i].Key))
		kind, ok := known[s.items[i].Key]
		if !ok {
			return s.fail(member, ": unknown field")
		}
		if err := s.is(i, member, kind); err != nil {
			return err
		}
	}
	return nil
}

// is checks the kind of one value.
func (s *settings) is(i int, path string, kind doc.Kind) error {
	switch s.items[i].Kind {
	case kind:
		return nil
	case doc.Null:
		return s.fail(path, " must not be null")
	}
	return s.fail(path, " must be %s", kindWords[kind])
}

// each calls f with the elements of the list at a top-level key, all of which
// are of one kind.
func (s *settings) each(key string, kind doc.Kind, f func(i int, path string) error) error {
	list := s.items.Find(0, key)
	if list < 0 {
		return nil
	}
	return s.elements(list, key, kind, f)
}

// elements is [settings.each] for any list.
func (s *settings) elements(list int, path string, kind doc.Kind, f func(i int, path string) error) error {
	n := 0
	for i := list + 1; i < s.items.Next(list); i = s.items.Next(i) {
		element := index(path, n)
		if err := s.is(i, element, kind); err != nil {
			return err
		}
		if f != nil {
			if err := f(i, element); err != nil {
				return err
			}
		}
		n++
	}
	return nil
}

// named checks the name of an object: it is there, is a string and says
// something, and no other one of the list has it. It returns the name trimmed.
func (s *settings) named(at int, path, key string, seen map[string]bool) (string, error) {
	path = below(path, key)
	i := s.items.Find(at, key)
	if i < 0 {
		return "", s.fail(path, " is required")
	}
	if err := s.is(i, path, doc.Str); err != nil {
		return "", err
	}
	name := strings.TrimSpace(s.items[i].Text)
	switch {
	case name == "":
		return "", s.fail(path, " must not be empty")
	case seen[name]:
		return "", s.fail(path, " is duplicated")
	}
	seen[name] = true
	return name, nil
}

// strings checks that a member of an open object, if it is there, is a list of
// strings.
func (s *settings) strings(at int, path, key string) error {
	i := s.items.Find(at, key)
	if i < 0 {
		return nil
	}
	path = below(path, key)
	if err := s.is(i, path, doc.List); err != nil {
		return err
	}
	return s.elements(i, path, doc.Str, nil)
}

func below(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func index(path string, n int) string { return path + "[" + strconv.Itoa(n) + "]" }

// clip is what a message repeats of a key that somebody wrote.
func clip(s string) string {
	var b strings.Builder
	for _, r := range s {
		if b.Len() >= 64 {
			break
		}
		if r >= ' ' && (r < 0x7F || r >= 0xA0) && r != 0x2028 && r != 0x2029 {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// pointer is a JSON Pointer into the settings.
func pointer(parts ...any) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteByte('/')
		b.WriteString(strings.NewReplacer("~", "~0", "/", "~1").Replace(fmt.Sprint(p)))
	}
	return b.String()
}

// oneOf checks that a member is there and one of the given words.
func (s *settings) oneOf(at int, path, key string, words []string) error {
	path = below(path, key)
	i := s.items.Find(at, key)
	if i < 0 {
		return s.fail(path, " is required")
	}
	if !slices.Contains(words, s.items[i].Text) {
		return s.fail(path, " must be one of %s", strings.Join(words, ", "))
	}
	return nil
}
