package preset

import (
	"encoding/json"
	"reflect"
	"slices"

	"github.com/sandrone-gateway/sandrone"
)

// Change is what became of a list of steps.
type Change struct {
	Steps   []sandrone.ProcessorSpec
	Added   []string // presets, in the order in which they were put in
	Removed []string // presets, in the order of their steps
}

// Add puts a preset into a list of steps, after the presets that it depends on,
// which are put in where they are missing. Recognised steps of presets that
// conflict with any of them are taken out, and with them the recognised presets
// that depended on those. A preset that is there already stays as it is.
//
// A step is recognised only if it is what the preset inserts, whatever its
// name and auth key are: one that was edited or switched off is the user's, and
// is neither moved nor taken out. steps is not written to. An unknown preset is
// an invalid_argument error.
func (s *Set) Add(steps []sandrone.ProcessorSpec, id string, args Args) (Change, error) {
	wanted := s.recipe(id)
	if wanted == nil {
		return Change{}, sandrone.Errorf(sandrone.InvalidArgument, "there is no preset of that name for %s", s.Kind).At("preset")
	}
	want := s.withNeeds(nil, wanted)
	gone := s.conflicting(want)

	var c Change
	var ids []string // of c.Steps; empty for a step that is not recognised
	for _, step := range steps {
		is := s.Recognise(step)
		if is != "" && slices.Contains(gone, is) {
			c.Removed = append(c.Removed, is)
			continue
		}
		c.Steps, ids = append(c.Steps, step), append(ids, is)
	}
	for _, r := range want {
		if slices.Contains(ids, r.id) {
			continue
		}
		at := s.place(ids, r)
		a := Args{}
		if r.id == id {
			a = args
		}
		c.Steps = slices.Insert(c.Steps, at, s.client.step(*r, a))
		ids = slices.Insert(ids, at, r.id)
		c.Added = append(c.Added, r.id)
	}
	return c, nil
}

// Recognise returns the preset whose step a step is, or "" if it is none.
func (s *Set) Recognise(step sandrone.ProcessorSpec) string {
	if step.Disabled {
		return ""
	}
	got, ok := params(step.Params, false)
	if !ok {
		return ""
	}
	for i := range s.recipes {
		r := &s.recipes[i]
		made := s.client.step(*r, Args{})
		if step.Type != made.Type || step.Stage != made.Stage && (step.Stage != "" || made.Type == "script") {
			continue
		}
		want, _ := params(made.Params, false)
		if reflect.DeepEqual(got, want) {
			return r.id
		}
		if r.keyed {
			if bare, ok := params(step.Params, true); ok && reflect.DeepEqual(bare, want) {
				return r.id
			}
		}
	}
	return ""
}

// params decodes the params of a step, if asked without the auth key.
func params(raw json.RawMessage, keyless bool) (v map[string]any, ok bool) {
	if json.Unmarshal(raw, &v) != nil {
		return nil, false
	}
	if args, is := v["args"].(map[string]any); is && keyless {
		if _, text := args["auth_key"].(string); text {
			delete(args, "auth_key")
		}
	}
	return v, true
}

func (s *Set) recipe(id string) *recipe {
	i := slices.IndexFunc(s.recipes, func(r recipe) bool { return r.id == id })
	if i < 0 {
		return nil
	}
	return &s.recipes[i]
}

// withNeeds appends what a preset depends on, and then the preset.
func (s *Set) withNeeds(list []*recipe, r *recipe) []*recipe {
	for _, id := range r.needs {
		list = s.withNeeds(list, s.recipe(id))
	}
	if !slices.Contains(list, r) {
		list = append(list, r)
	}
	return list
}

// conflicting are the presets that cannot be beside some others: those that
// either side says it conflicts with, and those that depend on one of them.
func (s *Set) conflicting(with []*recipe) (gone []string) {
	for i := range s.recipes {
		r := &s.recipes[i]
		if slices.ContainsFunc(with, func(w *recipe) bool {
			return slices.Contains(w.against, r.id) || slices.Contains(r.against, w.id)
		}) {
			gone = append(gone, r.id)
		}
	}
	for i := range s.recipes {
		r := &s.recipes[i]
		for _, need := range s.withNeeds(nil, r) {
			if need != r && slices.Contains(gone, need.id) && !slices.Contains(gone, r.id) {
				gone = append(gone, r.id)
			}
		}
	}
	return gone
}

// place is where the step of a preset goes: before the first one of a preset
// that depends on it, or that it would undo, else to the end; but never before
// what it depends on itself.
func (s *Set) place(ids []string, r *recipe) int {
	at := slices.IndexFunc(ids, func(id string) bool {
		other := s.recipe(id)
		return other != nil && (slices.Contains(other.behind, r.id) || slices.Contains(s.withNeeds(nil, other), r))
	})
	if at < 0 {
		return len(ids)
	}
	for _, need := range s.withNeeds(nil, r) {
		if i := slices.Index(ids, need.id); need != r && i >= at {
			at = i + 1
		}
	}
	return at
}
