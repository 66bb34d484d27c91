package engine_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert/formats"
	"github.com/sandrone-gateway/sandrone/engine"
	"github.com/sandrone-gateway/sandrone/store"
)

func fuzzEngine(f *testing.F) *engine.Engine {
	f.Helper()
	e, err := engine.New(engine.Options{
		Registry: formats.Registry(),
		Store:    store.New(store.Memory(), store.Options{CheckSettings: engine.CheckSettings}),
		Fetcher:  web{},
	})
	if err != nil {
		f.Fatal(err)
	}
	return e
}

// A patch is refused with a coded error, or leaves settings that can be put
// back as they are read.
func FuzzPatchSettings(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"log":null}`, `{"log":{"level":"debug"}}`, `{"remote_defaults":{"allow_hosts":["10.0.0.0/8",null]}}`,
		`{"scheduled_refresh":{"enabled":true,"schedule":"@every 1h","targets":[{"kind":"file","name":"a"}]}}`,
		`{"scheduled_refresh":{"schedule":"*/5 0 1,2 jan-mar mon"}}`, `{"schema_version":null}`, `[`, `{"a":1,"a":2}`,
	} {
		f.Add([]byte(seed))
	}
	e := fuzzEngine(f)
	f.Fuzz(func(t *testing.T, patch []byte) {
		answer, err := e.PatchSettings(t.Context(), patch, store.Precondition{})
		if err != nil {
			if code(err) != sandrone.InvalidArgument {
				t.Fatalf("got %v, want invalid_argument", err)
			}
			return
		}
		text, err := json.Marshal(answer.Settings)
		if err != nil {
			t.Fatal(err)
		}
		again, err := e.PutSettings(t.Context(), text, store.Precondition{IfMatch: []string{answer.ETag}})
		if err != nil || !reflect.DeepEqual(again.Settings, answer.Settings) || again.ETag != answer.ETag {
			t.Errorf("got %+v, %v when the settings were put back, want %+v", again, err, answer)
		}
	})
}

// Whatever a share is called, its file can be saved under its name.
func FuzzShareName(f *testing.F) {
	for _, seed := range []string{"a", "we:ird*na?me.yaml", ".age", "a.yaml.age", " . ", "名.txt", "a\u00a0", "con.\u0085", strings.Repeat("x", 300)} {
		f.Add(seed, true)
		f.Add(seed, false)
	}
	e := fuzzEngine(f)
	text := "hello"
	if _, err := e.PutFile(f.Context(), &sandrone.FileSpec{Name: "notes", Kind: "static", Source: &sandrone.FileSource{Type: "inline", Content: &text}}, store.Precondition{}); err != nil {
		f.Fatal(err)
	}
	if _, err := e.PutSubscription(f.Context(), local("notes", link("a")), store.Precondition{}); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, name string, encrypted bool) {
		for _, kind := range []string{"file", "subscription"} {
			share := sandrone.Share{ID: "sh_fuzz", Name: name, TargetKind: kind, TargetName: "notes"}
			if encrypted {
				share.AgeRecipient = recipient
			}
			view, err := e.PutShare(t.Context(), &share, store.Precondition{})
			if err != nil {
				return // a name that no resource can have
			}
			got := view.PublicFilename
			if got == "" || !utf8.ValidString(got) || utf8.RuneCountInString(got) > 128+16+len(".age") ||
				strings.ContainsAny(got, `<>:"/\|?*`) || strings.ContainsFunc(got, unicode.IsControl) ||
				strings.Trim(got, ". ") != got || strings.HasSuffix(strings.ToLower(got), ".age.age") {
				t.Errorf("got the name %q for %q", got, name)
			}
			if encrypted && !strings.HasSuffix(got, ".age") {
				t.Errorf("got the name %q of an encrypted share", got)
			}
		}
	})
}
