package engine

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/store"
)

// Override is what a flag or a variable of the environment says for this
// process. It stands above the stored settings and is never stored.
type Override struct {
	Path   string // "http.listen", "mcp.path", "mcp.max_output_bytes", "log.level", or "remote_defaults.allow_hosts"
	Value  string // of allow_hosts a comma list, which is added to the stored one
	Source string // OverrideFlag or OverrideEnvironment
}

// The sources of an [Override].
const (
	OverrideFlag        = "flag"
	OverrideEnvironment = "environment"
)

// SettingsAnswer are the settings as the API shows them.
type SettingsAnswer struct {
	Settings        sandrone.Settings `json:"settings"`         // stored, or the defaults
	Effective       sandrone.Settings `json:"effective"`        // in use by this process
	Overrides       map[string]string `json:"overrides"`        // path -> source
	RestartRequired []string          `json:"restart_required"` // paths of stored settings that take effect at the next start
	ETag            string            `json:"-"`                // of the stored settings
}

// startSettings is how this process departs from the stored settings.
type startSettings struct {
	mu        sync.Mutex // held over each change, so that effects come in the order of writes
	overrides []Override
	atStart   sandrone.Settings // what was in effect when the process started
}

// startFields are the settings that take effect at the start only: what
// listens and logs cannot be swapped under a running program.
var startFields = []settingField{
	fieldOf("http.listen", func(s *sandrone.Settings) *string { return &s.HTTP.Listen }),
	fieldOf("http.body_timeout_seconds", func(s *sandrone.Settings) *int { return &s.HTTP.BodyTimeoutSeconds }),
	fieldOf("mcp.path", func(s *sandrone.Settings) *string { return &s.MCP.Path }),
	fieldOf("mcp.max_output_bytes", func(s *sandrone.Settings) *int { return &s.MCP.MaxOutputBytes }),
	fieldOf("log.level", func(s *sandrone.Settings) *string { return &s.Log.Level }),
}

type settingField struct {
	path  string
	copy  func(to, from *sandrone.Settings)
	equal func(a, b *sandrone.Settings) bool
}

func fieldOf[T comparable](path string, of func(*sandrone.Settings) *T) settingField {
	return settingField{
		path:  path,
		copy:  func(to, from *sandrone.Settings) { *of(to) = *of(from) },
		equal: func(a, b *sandrone.Settings) bool { return *of(a) == *of(b) },
	}
}

// start puts the settings of a new engine into effect: the stored ones if
// there is a store, else given, under the overrides.
func (e *Engine) start(given sandrone.Settings, overrides []Override) error {
	settings := given
	if e.store != nil {
		var err error
		if settings, _, err = e.storedSettings(context.Background()); err != nil {
			return err
		}
	}
	e.process.overrides = overrides
	settings, err := overridden(settings, overrides)
	if err != nil {
		return err
	}
	if settings, err = CheckSettings(settings); err != nil {
		return err
	}
	e.process.atStart = settings
	return e.apply(settings)
}

// overridden returns s with what the overrides say.
func overridden(s sandrone.Settings, overrides []Override) (sandrone.Settings, error) {
	for _, o := range overrides {
		switch o.Path {
		case "http.listen":
			s.HTTP.Listen = o.Value
		case "mcp.path":
			s.MCP.Path = o.Value
		case "mcp.max_output_bytes":
			n, err := strconv.Atoi(strings.TrimSpace(o.Value))
			if err != nil {
				return s, sandrone.Errorf(sandrone.InvalidArgument, "%s must be an integer", o.Path).At(o.Path)
			}
			s.MCP.MaxOutputBytes = n
		case "log.level":
			s.Log.Level = o.Value
		case "remote_defaults.allow_hosts":
			hosts := slices.Clone(s.RemoteDefaults.AllowHosts)
			for host := range strings.SplitSeq(o.Value, ",") {
				if host = strings.TrimSpace(host); host != "" {
					hosts = append(hosts, host)
				}
			}
			s.RemoteDefaults.AllowHosts = hosts
		default:
			return s, sandrone.Errorf(sandrone.InvalidArgument, "%s cannot be set for one process", o.Path).At(o.Path)
		}
	}
	return s, nil
}

// effective returns the settings of this process when stored is what is
// stored: those for the start stay as they are.
func (e *Engine) effective(stored sandrone.Settings) (sandrone.Settings, error) {
	s, err := overridden(stored, e.process.overrides)
	if err != nil {
		return s, err
	}
	for _, field := range startFields {
		field.copy(&s, &e.process.atStart)
	}
	return CheckSettings(s)
}

func (e *Engine) storedSettings(ctx context.Context) (s sandrone.Settings, tag string, err error) {
	err = e.view(ctx, func(tx *store.Tx) error {
		s, tag, err = tx.Settings().Get()
		return err
	})
	return s, tag, err
}

// changeSettings calls write, which changes the stored settings, and puts what
// is stored then into effect.
func (e *Engine) changeSettings(ctx context.Context, write func() error) error {
	if e.store == nil {
		return noStore()
	}
	e.process.mu.Lock()
	defer e.process.mu.Unlock()
	if err := write(); err != nil {
		return err
	}
	e.changes.Add(1)
	// It is stored: that the caller is gone must not keep it from effect.
	stored, _, err := e.storedSettings(context.WithoutCancel(ctx))
	if err != nil {
		return err
	}
	settings, err := e.effective(stored)
	if err != nil {
		return err
	}
	if err := e.apply(settings); err != nil {
		return err
	}
	e.schedule.wake()
	return nil
}

// SettingsView returns the settings, stored and in effect.
func (e *Engine) SettingsView(ctx context.Context) (SettingsAnswer, error) {
	stored, tag, err := e.storedSettings(ctx)
	if err != nil {
		return SettingsAnswer{}, err
	}
	answer := SettingsAnswer{
		Settings:        stored,
		Effective:       e.Settings(),
		Overrides:       make(map[string]string),
		RestartRequired: []string{},
		ETag:            tag,
	}
	for _, o := range e.process.overrides {
		answer.Overrides[o.Path] = o.Source
	}
	for _, field := range startFields {
		if _, fixed := answer.Overrides[field.path]; !fixed && !field.equal(&answer.Settings, &answer.Effective) {
			answer.RestartRequired = append(answer.RestartRequired, field.path)
		}
	}
	return answer, nil
}

// PutSettings replaces the stored settings by a whole JSON object. A missing
// group is an error, a missing member of a group takes its default. What is
// not for the start takes effect at once. Errors: invalid_argument with the
// path, precondition_failed.
func (e *Engine) PutSettings(ctx context.Context, raw []byte, pre store.Precondition) (SettingsAnswer, error) {
	if err := isWhole(raw); err != nil {
		return SettingsAnswer{}, err
	}
	return e.saveSettings(ctx, pre, func(sandrone.Settings) (sandrone.Settings, error) { return decodeSettings(raw) })
}

// PatchSettings applies a JSON merge patch to the stored settings; null is
// back to the default. Otherwise as [Engine.PutSettings].
func (e *Engine) PatchSettings(ctx context.Context, patch []byte, pre store.Precondition) (SettingsAnswer, error) {
	// The patch has the shape of settings, so it is held against it: merging
	// would lose an unknown member that is null, and the place of others.
	if _, err := decodeSettings(patch); err != nil {
		return SettingsAnswer{}, err
	}
	return e.saveSettings(ctx, pre, func(stored sandrone.Settings) (sandrone.Settings, error) {
		text, err := json.Marshal(stored)
		if err != nil {
			return stored, err
		}
		if text, err = jsonpatch.MergePatch(text, patch); err != nil {
			return stored, sandrone.Errorf(sandrone.InvalidArgument, "the body is no JSON merge patch")
		}
		return decodeSettings(text)
	})
}

// saveSettings stores what edit makes of the stored settings, in one
// transaction, and puts it into effect.
func (e *Engine) saveSettings(ctx context.Context, pre store.Precondition, edit func(sandrone.Settings) (sandrone.Settings, error)) (SettingsAnswer, error) {
	err := e.changeSettings(ctx, func() error {
		return e.store.Update(ctx, func(tx *store.Tx) error {
			stored, _, err := tx.Settings().Get()
			if err != nil {
				return err
			}
			next, err := edit(stored)
			if err != nil {
				return err
			}
			if next, err = CheckSettings(next); err != nil {
				return err
			}
			// What cannot take effect beside the overrides is not saved
			// either.
			if _, err := e.effective(next); err != nil {
				return err
			}
			_, err = tx.Settings().Put(next, store.Precondition{IfMatch: pre.IfMatch})
			return err
		})
	})
	if err != nil {
		return SettingsAnswer{}, err
	}
	return e.SettingsView(context.WithoutCancel(ctx))
}

// decodeSettings reads a JSON object over the defaults. It is closed; null is
// a default here too.
func decodeSettings(text []byte) (sandrone.Settings, error) {
	s := sandrone.DefaultSettings()
	if err := isObject(text); err != nil {
		return s, err
	}
	if err := json.Unmarshal(text, &s, json.RejectUnknownMembers(true)); err != nil {
		return s, settingsError(err)
	}
	return s, nil
}

func isObject(text []byte) error {
	if text = bytes.TrimLeft(text, " \t\r\n"); len(text) == 0 || text[0] != '{' {
		return sandrone.Errorf(sandrone.InvalidArgument, "the settings must be a JSON object")
	}
	return nil
}

// isWhole refuses an object that lacks a group of settings, or holds a null,
// which decoding would take for a zero.
func isWhole(text []byte) error {
	if err := isObject(text); err != nil {
		return err
	}
	var given map[string]jsontext.Value
	if err := json.Unmarshal(text, &given); err != nil {
		return settingsError(err)
	}
	whole, err := json.Marshal(sandrone.DefaultSettings())
	if err != nil {
		return err
	}
	dec := jsontext.NewDecoder(bytes.NewReader(whole)) // for the groups in their order
	for dec.ReadToken(); dec.PeekKind() == '"'; dec.SkipValue() {
		name, err := dec.ReadToken()
		if err != nil {
			return err
		}
		if _, ok := given[name.String()]; !ok && name.String() != "schema_version" {
			return sandrone.Errorf(sandrone.InvalidArgument, "%s is missing", name.String()).At(name.String())
		}
	}
	for dec := jsontext.NewDecoder(bytes.NewReader(text)); ; {
		token, err := dec.ReadToken()
		if err != nil {
			return nil // the end; what is no JSON was found above
		}
		if token.Kind() == 'n' {
			return settingsFault("must not be null", dec.StackPointer())
		}
	}
}

// settingsError says where a text is not settings. The library's own text may
// quote a value.
func settingsError(err error) error {
	if e, ok := errors.AsType[*json.SemanticError](err); ok {
		if errors.Is(e.Err, json.ErrUnknownName) {
			return settingsFault("is not a setting", e.JSONPointer)
		}
		return settingsFault("has the wrong type", e.JSONPointer)
	}
	if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok && errors.Is(e.Err, jsontext.ErrDuplicateName) {
		return settingsFault("is given twice", e.JSONPointer)
	}
	return sandrone.Errorf(sandrone.InvalidArgument, "the settings are not valid JSON")
}

const maxSettingPath = 200 // bytes of a path in an error

// settingsFault is an error whose field is the dotted path of a place.
func settingsFault(rule string, at jsontext.Pointer) error {
	var path strings.Builder
	for token := range at.Tokens() {
		if _, err := strconv.ParseUint(token, 10, 32); err == nil && path.Len() > 0 {
			path.WriteString("[" + token + "]")
			continue
		}
		if path.Len() > 0 {
			path.WriteByte('.')
		}
		path.WriteString(token)
	}
	field := path.String()
	if len(field) > maxSettingPath {
		field = strings.ToValidUTF8(field[:maxSettingPath], "") + "…"
	}
	return sandrone.Errorf(sandrone.InvalidArgument, "%s %s", field, rule).At(field)
}
