package engine

import (
	"context"

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

// SettingsView returns the settings, stored and in effect.
func (e *Engine) SettingsView(ctx context.Context) (SettingsAnswer, error) {
	return SettingsAnswer{}, notPartOf("the store")
}

// PutSettings replaces the stored settings by a whole JSON object. A missing
// group is an error, a missing member of a group takes its default. What is
// not for the start takes effect at once. Errors: invalid_argument with the
// path, precondition_failed.
func (e *Engine) PutSettings(ctx context.Context, raw []byte, pre store.Precondition) (SettingsAnswer, error) {
	return SettingsAnswer{}, notPartOf("the store")
}

// PatchSettings applies a JSON merge patch to the stored settings; null is
// back to the default. Otherwise as [Engine.PutSettings].
func (e *Engine) PatchSettings(ctx context.Context, patch []byte, pre store.Precondition) (SettingsAnswer, error) {
	return SettingsAnswer{}, notPartOf("the store")
}
