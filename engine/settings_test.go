package engine_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/engine"
	"github.com/sandrone-gateway/sandrone/store"
)

// wholeSettings is the JSON text of the defaults, changed by edit.
func wholeSettings(t *testing.T, edit func(map[string]any)) []byte {
	t.Helper()
	text, err := json.Marshal(sandrone.DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	if edit != nil {
		edit(m)
	}
	if text, err = json.Marshal(m); err != nil {
		t.Fatal(err)
	}
	return text
}

func group(m map[string]any, name string) map[string]any { return m[name].(map[string]any) }

func TestPutSettingsTakesTheWholeObject(t *testing.T) {
	rows := []struct {
		name  string
		edit  func(map[string]any)
		field string // of the error, empty if it is saved
	}{
		{"as it was read", nil, ""},
		{"a group missing", func(m map[string]any) { delete(m, "metrics") }, "metrics"},
		{"a group null", func(m map[string]any) { m["metrics"] = nil }, "metrics"},
		{"a member missing", func(m map[string]any) { delete(group(m, "shares"), "requests_per_minute") }, ""},
		{"a member null", func(m map[string]any) { group(m, "public_convert")["enabled"] = nil }, "public_convert.enabled"},
		{"an unknown group", func(m map[string]any) { m["magic"] = map[string]any{} }, "magic"},
		{"an unknown member", func(m map[string]any) { group(m, "log")["file"] = "x" }, "log.file"},
		{"a member in other case", func(m map[string]any) { group(m, "log")["Level"] = "info" }, "log.Level"},
		{"a wrong type", func(m map[string]any) { group(m, "shares")["requests_per_minute"] = "many" }, "shares.requests_per_minute"},
		{"another schema", func(m map[string]any) { m["schema_version"] = 2 }, "schema_version"},
		{"a bad value", func(m map[string]any) { group(m, "cache_defaults")["cache_max_bytes"] = 1 }, "cache_defaults.cache_max_bytes"},
		{"a bad host", func(m map[string]any) { group(m, "remote_defaults")["allow_hosts"] = []string{"a b"} }, "remote_defaults.allow_hosts[0]"},
		{"a refresh of nothing", func(m map[string]any) { group(m, "scheduled_refresh")["enabled"] = true }, "scheduled_refresh.targets"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			e := workbench(t, nil)
			answer, err := e.PutSettings(t.Context(), wholeSettings(t, row.edit), store.Precondition{})
			if row.field == "" {
				if err != nil {
					t.Fatal(err)
				}
				if !reflect.DeepEqual(answer.Settings, sandrone.DefaultSettings()) {
					t.Errorf("got %+v, want the defaults", answer.Settings)
				}
				return
			}
			if code(err) != sandrone.InvalidArgument || sandrone.AsError(err).Field != row.field {
				t.Errorf("got %v at %q, want invalid_argument at %q", err, sandrone.AsError(err).Field, row.field)
			}
		})
	}
	for _, text := range []string{"", "[]", "null", "{", `{"http":{},"http":{}}`, "{} {}"} {
		if _, err := workbench(t, nil).PutSettings(t.Context(), []byte(text), store.Precondition{}); code(err) != sandrone.InvalidArgument {
			t.Errorf("%q: got %v, want invalid_argument", text, err)
		}
	}
}

func TestPatchSettingsMergesAndNullIsTheDefault(t *testing.T) {
	rows := []struct {
		name, patch string
		field       string
		want        func(*sandrone.Settings)
	}{
		{"nothing", `{}`, "", func(*sandrone.Settings) {}},
		{"a member", `{"shares":{"requests_per_minute":3}}`, "", func(s *sandrone.Settings) { s.Shares.RequestsPerMinute = 3 }},
		{"a member back", `{"metrics":{"public":null}}`, "", func(s *sandrone.Settings) { s.Metrics.Public = false }},
		{"a group back", `{"metrics":null}`, "", func(s *sandrone.Settings) { s.Metrics.Public = false }},
		{"a list", `{"remote_defaults":{"allow_hosts":["10.0.0.1","*.lan"]}}`, "", func(s *sandrone.Settings) {
			s.RemoteDefaults.AllowHosts = []string{"10.0.0.1", "*.lan"}
		}},
		{"an unknown member that is null", `{"log":{"file":null}}`, "log.file", nil},
		{"an unknown group that is null", `{"magic":null}`, "magic", nil},
		{"a group that is none", `{"log":"info"}`, "log", nil},
		{"a bad value", `{"log":{"level":"loud"}}`, "log.level", nil},
		{"a bad schedule", `{"scheduled_refresh":{"schedule":"@every 1s"}}`, "scheduled_refresh.schedule", nil},
		{"a schedule of seconds", `{"scheduled_refresh":{"schedule":"* * * * * *"}}`, "scheduled_refresh.schedule", nil},
		{"a schedule with a zone", `{"scheduled_refresh":{"schedule":"TZ=UTC * * * * *"}}`, "scheduled_refresh.schedule", nil},
		{"a target twice", `{"scheduled_refresh":{"targets":[{"kind":"file","name":"a"},{"kind":"file","name":" a"}]}}`, "scheduled_refresh.targets[1]", nil},
		{"a target without a kind", `{"scheduled_refresh":{"targets":[{"name":"a"}]}}`, "scheduled_refresh.targets[0].kind", nil},
		{"a schedule", `{"scheduled_refresh":{"enabled":true,"schedule":" @daily ","targets":[{"kind":"subscription","name":"air"}]}}`, "", func(s *sandrone.Settings) {
			s.ScheduledRefresh = sandrone.RefreshSettings{Enabled: true, Schedule: "@daily", Targets: []sandrone.ResourceRef{{Kind: "subscription", Name: "air"}}}
		}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			e := workbench(t, nil)
			ctx := t.Context()
			if _, err := e.PatchSettings(ctx, []byte(`{"metrics":{"public":true}}`), store.Precondition{}); err != nil {
				t.Fatal(err)
			}
			answer, err := e.PatchSettings(ctx, []byte(row.patch), store.Precondition{})
			if row.want == nil {
				if code(err) != sandrone.InvalidArgument || sandrone.AsError(err).Field != row.field {
					t.Fatalf("got %v at %q, want invalid_argument at %q", err, sandrone.AsError(err).Field, row.field)
				}
				if !e.Settings().Metrics.Public {
					t.Error("a refused patch changed the settings")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want := sandrone.DefaultSettings()
			want.Metrics.Public = true
			row.want(&want)
			if !reflect.DeepEqual(answer.Settings, want) || !reflect.DeepEqual(e.Settings(), want) {
				t.Errorf("got stored %+v, in effect %+v, want %+v", answer.Settings, e.Settings(), want)
			}
		})
	}
}

func TestSettingsHonourTheirETag(t *testing.T) {
	e := workbench(t, nil)
	ctx := t.Context()
	before, err := e.SettingsView(ctx)
	if err != nil {
		t.Fatal(err)
	}
	patch := []byte(`{"metrics":{"public":true}}`)
	after, err := e.PatchSettings(ctx, patch, store.Precondition{IfMatch: []string{before.ETag}})
	if err != nil || after.ETag == before.ETag {
		t.Fatalf("got %q, %v, want another tag than %q", after.ETag, err, before.ETag)
	}
	if _, err := e.PatchSettings(ctx, patch, store.Precondition{IfMatch: []string{before.ETag}}); code(err) != sandrone.PreconditionFailed {
		t.Errorf("got %v, want precondition_failed", err)
	}
}

func TestStartSettingsWaitForTheNextStart(t *testing.T) {
	s := store.New(store.Memory(), store.Options{CheckSettings: engine.CheckSettings})
	overrides := []engine.Override{
		{Path: "log.level", Value: "debug", Source: engine.OverrideFlag},
		{Path: "remote_defaults.allow_hosts", Value: "10.0.0.1, nas.lan", Source: engine.OverrideEnvironment},
	}
	e := workbench(t, func(o *engine.Options) { o.Store, o.Overrides = s, overrides })
	ctx := t.Context()
	answer, err := e.PatchSettings(ctx, []byte(`{"http":{"listen":"127.0.0.1:9"},"log":{"level":"error"},"remote_defaults":{"allow_hosts":["a.lan"],"timeout_ms":9}}`), store.Precondition{})
	if err != nil {
		t.Fatal(err)
	}
	if got := answer.Effective.HTTP.Listen; got != "127.0.0.1:1137" {
		t.Errorf("got %q to listen on, want it as it was at the start", got)
	}
	if got := answer.Effective.Log.Level; got != "debug" {
		t.Errorf("got level %q, want that of the flag", got)
	}
	if got := strings.Join(answer.Effective.RemoteDefaults.AllowHosts, " "); got != "a.lan 10.0.0.1 nas.lan" {
		t.Errorf("got allowed hosts %q, want the stored ones and those of the environment", got)
	}
	if got := strings.Join(answer.Settings.RemoteDefaults.AllowHosts, " "); got != "a.lan" {
		t.Errorf("got stored hosts %q, want those that were saved", got)
	}
	if got := answer.Effective.RemoteDefaults.TimeoutMS; got != 9 {
		t.Errorf("got a timeout of %d, want the saved one at once", got)
	}
	if got := strings.Join(answer.RestartRequired, " "); got != "http.listen" {
		t.Errorf("got %q to restart for, want http.listen: the level is fixed by the flag", got)
	}
	want := map[string]string{"log.level": "flag", "remote_defaults.allow_hosts": "environment"}
	if !reflect.DeepEqual(answer.Overrides, want) {
		t.Errorf("got overrides %v, want %v", answer.Overrides, want)
	}

	next := workbench(t, func(o *engine.Options) { o.Store = s })
	answer, err = next.SettingsView(ctx)
	if err != nil || answer.Effective.HTTP.Listen != "127.0.0.1:9" || answer.Effective.Log.Level != "error" || len(answer.RestartRequired) != 0 {
		t.Errorf("got %+v, %v after the next start", answer, err)
	}
}

func TestNewRefusesOverridesThatCannotBe(t *testing.T) {
	for _, o := range []engine.Override{
		{Path: "mcp.max_output_bytes", Value: "many"},
		{Path: "mcp.max_output_bytes", Value: "-1"},
		{Path: "log.level", Value: "loud"},
		{Path: "shares.requests_per_minute", Value: "1"},
	} {
		_, err := engine.New(engine.Options{Settings: sandrone.DefaultSettings(), Overrides: []engine.Override{o}})
		if code(err) != sandrone.InvalidArgument || sandrone.AsError(err).Field != o.Path {
			t.Errorf("%+v: got %v, want invalid_argument", o, err)
		}
	}
}

func TestSettingsCanBeReadWhileTheyChange(t *testing.T) {
	e := workbench(t, nil)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for range 20 {
				patch := `{"shares":{"requests_per_minute":` + string(rune('1'+i)) + `}}`
				if _, err := e.PatchSettings(t.Context(), []byte(patch), store.Precondition{}); err != nil {
					t.Error(err)
				}
				_ = e.Settings().Shares.RequestsPerMinute
			}
		})
	}
	wg.Wait()
	answer, err := e.SettingsView(t.Context())
	if err != nil || answer.Settings.Shares != answer.Effective.Shares {
		t.Errorf("got %+v stored and %+v in effect, %v: the last write must win in both", answer.Settings.Shares, answer.Effective.Shares, err)
	}
}
