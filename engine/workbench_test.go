package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert/formats"
	"github.com/sandrone-gateway/sandrone/engine"
	"github.com/sandrone-gateway/sandrone/processors"
	"github.com/sandrone-gateway/sandrone/store"
)

// workbench makes an engine with a store in memory. change may adjust what it
// is made from.
func workbench(t *testing.T, change func(*engine.Options)) *engine.Engine {
	t.Helper()
	now := func() time.Time { return time.Unix(1_800_000_000, 0) }
	o := engine.Options{
		Registry: formats.Registry(),
		Steps:    processors.New(processors.Options{}),
		Fetcher:  web{},
		Now:      now,
		Getenv:   func(string) string { return "" },
	}
	if change != nil {
		change(&o)
	}
	if o.Store == nil {
		o.Store = store.New(store.Memory(), store.Options{Now: o.Now, CheckSettings: engine.CheckSettings})
	}
	e, err := engine.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// local is a subscription that needs no network.
func local(name string, lines ...string) *sandrone.Subscription {
	return &sandrone.Subscription{Name: name, Type: "local", Format: "uri-list", Content: strings.Join(lines, "\n")}
}

func put(t *testing.T, e *engine.Engine, s *sandrone.Subscription) engine.Put {
	t.Helper()
	p, err := e.PutSubscription(t.Context(), s, store.Precondition{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func code(err error) sandrone.Code {
	if err == nil {
		return ""
	}
	return sandrone.AsError(err).Code
}

func TestPutWarnsOfStepsThatCouldNotRunAndSavesThem(t *testing.T) {
	e := workbench(t, nil)
	s := local("air", link("a"))
	s.Processors = []sandrone.ProcessorSpec{
		{Type: "sort"},
		{Type: "teleport"},
		{Type: "filter", Params: json.RawMessage(`{"pattern":"("}`)},
		{Type: "teleport", Disabled: true},
	}
	p := put(t, e, s)
	var got []string
	for _, w := range p.Warnings {
		got = append(got, w.Code+" "+w.Field)
	}
	if len(got) != 2 || got[0] != "processor_unknown processors[1].type" || !strings.HasPrefix(got[1], "processor_config_invalid processors[2].params") {
		t.Errorf("got warnings %q", got)
	}
	record, err := e.Subscription(t.Context(), "air")
	if err != nil || len(record.Definition.Processors) != 4 {
		t.Errorf("got %v, %v", record, err)
	}
}

func TestDefinitionsKeepPreconditions(t *testing.T) {
	e := workbench(t, nil)
	first := put(t, e, local("air", link("a")))
	if !first.Created || !first.Changed || first.ETag == "" {
		t.Errorf("got %+v for the first save", first)
	}
	if again := put(t, e, local("air", link("a"))); again.Changed || again.ETag != first.ETag {
		t.Errorf("got %+v for an equal save, want no change of %s", again, first.ETag)
	}
	ctx := t.Context()
	if _, err := e.PutSubscription(ctx, local("air", link("b")), store.Precondition{IfAbsent: true}); code(err) != sandrone.Conflict {
		t.Errorf("got %v, want conflict", err)
	}
	if _, err := e.PutSubscription(ctx, local("air", link("b")), store.Precondition{IfMatch: []string{`"other"`}}); code(err) != sandrone.PreconditionFailed {
		t.Errorf("got %v, want precondition_failed", err)
	}
	if err := e.DeleteSubscription(ctx, "air", store.Precondition{IfMatch: []string{first.ETag}}); err != nil {
		t.Error(err)
	}
	if err := e.DeleteSubscription(ctx, "air", store.Precondition{}); code(err) != sandrone.NotFound {
		t.Errorf("got %v, want not_found", err)
	}

	page, err := e.Revisions(ctx, store.RevisionQuery{Kind: "subscription"})
	if err != nil || len(page.Items) != 1 || page.Items[0].Op != sandrone.RevisionDelete {
		t.Fatalf("got %+v, %v, want the deleted one", page, err)
	}
	restored, err := e.RestoreRevision(ctx, page.Items[0].ID, store.Precondition{})
	if err != nil || restored.Kind != "subscription" || restored.Name != "air" || restored.ETag == "" {
		t.Errorf("got %+v, %v", restored, err)
	}
	if _, err := e.Subscription(ctx, "air"); err != nil {
		t.Error(err)
	}
	if err := e.DeleteRevision(ctx, page.Items[0].ID); err != nil {
		t.Error(err)
	}
	if err := e.DeleteRevision(ctx, page.Items[0].ID); code(err) != sandrone.NotFound {
		t.Errorf("got %v for a purged revision, want not_found", err)
	}
	if err := e.PurgeRevisions(ctx, "subscription", "air"); err != nil {
		t.Error(err)
	}
}

func TestFilesAreKeptWithWarningsOfTheirStage(t *testing.T) {
	e := workbench(t, nil)
	text := "hello"
	f := &sandrone.FileSpec{Name: "notes.txt", Kind: "static", Source: &sandrone.FileSource{Type: "inline", Content: &text},
		Processors: []sandrone.ProcessorSpec{{Type: "teleport"}}}
	p, err := e.PutFile(t.Context(), f, store.Precondition{})
	if err != nil || len(p.Warnings) != 1 || p.Warnings[0].Code != "processor_unknown" {
		t.Errorf("got %+v, %v", p, err)
	}
	list, err := e.Files(t.Context())
	if err != nil || len(list) != 1 || list[0].Name != "notes.txt" || list[0].Size == 0 {
		t.Errorf("got %+v, %v", list, err)
	}
	if record, err := e.File(t.Context(), "notes.txt"); err != nil || record.ETag != p.ETag {
		t.Errorf("got %+v, %v", record, err)
	}
	if err := e.DeleteFile(t.Context(), "notes.txt", store.Precondition{}); err != nil {
		t.Error(err)
	}
}

func TestTokensOpenUntilTheyExpireOrAreRevoked(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	e := workbench(t, func(o *engine.Options) { o.Now = func() time.Time { return now } })
	ctx := t.Context()
	token, secret, err := e.CreateToken(ctx, sandrone.Token{Name: "phone", Scope: "read", ExpiresAt: now.Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	if scope, ok := e.Authenticate(ctx, secret); !ok || scope != "read" {
		t.Errorf("got %q, %v for a fresh token", scope, ok)
	}
	if scope, ok := e.Authenticate(ctx, secret[:len(secret)-1]+"!"); ok || scope != "" {
		t.Errorf("got %q, %v for a wrong secret", scope, ok)
	}
	list, err := e.Tokens(ctx)
	if err != nil || len(list) != 1 || !list[0].LastUsedAt.Equal(now) {
		t.Errorf("got %+v, %v, want one that was used now", list, err)
	}
	now = now.Add(time.Hour)
	if _, ok := e.Authenticate(ctx, secret); ok {
		t.Error("an expired token opened")
	}
	_, second, err := e.CreateToken(ctx, sandrone.Token{Name: "desk", Scope: "write"})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := e.CreateToken(ctx, sandrone.Token{Name: "desk", Scope: "write"}); code(err) != sandrone.Conflict {
		t.Errorf("got %v for a taken name, want conflict", err)
	}
	list, _ = e.Tokens(ctx)
	for _, listed := range list {
		if err := e.DeleteToken(ctx, listed.ID); err != nil {
			t.Error(err)
		}
	}
	if _, ok := e.Authenticate(ctx, second); ok {
		t.Error("a revoked token opened")
	}
	if err := e.DeleteToken(ctx, token.ID); code(err) != sandrone.NotFound {
		t.Errorf("got %v, want not_found", err)
	}
}

func TestBackupMovesEverythingToAnotherStore(t *testing.T) {
	ctx := t.Context()
	from := workbench(t, nil)
	put(t, from, local("air", link("a")))
	share, err := from.PutShare(ctx, &sandrone.Share{TargetKind: "subscription", TargetName: "air"}, store.Precondition{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := from.PatchSettings(ctx, []byte(`{"shares":{"requests_per_minute":7}}`), store.Precondition{}); err != nil {
		t.Fatal(err)
	}
	archive, err := from.Backup(ctx)
	if err != nil {
		t.Fatal(err)
	}

	to := workbench(t, nil)
	put(t, to, local("old", link("b")))
	_, secret, err := to.CreateToken(ctx, sandrone.Token{Name: "phone", Scope: "read"})
	if err != nil {
		t.Fatal(err)
	}
	gone, cancel := context.WithCancel(ctx)
	cancel() // the client hangs up: the archive is valid, so it counts
	counts, err := to.Restore(gone, bytes.NewReader(archive))
	if err != nil || counts.Subscriptions != 1 || counts.Shares != 1 || !counts.Settings {
		t.Fatalf("got %+v, %v", counts, err)
	}
	list, _ := to.Subscriptions(ctx)
	if len(list) != 1 || list[0].Name != "air" {
		t.Errorf("got %+v, want the restored one alone", list)
	}
	if _, err := to.Share(ctx, share.ID); err != nil {
		t.Error(err)
	}
	if got := to.Settings().Shares.RequestsPerMinute; got != 7 {
		t.Errorf("got %d requests a minute in effect, want the restored 7", got)
	}
	if _, ok := to.Authenticate(ctx, secret); !ok {
		t.Error("a restore took a token")
	}

	if _, err := to.Restore(ctx, strings.NewReader("no archive")); code(err) != sandrone.BackupInvalid {
		t.Errorf("got %v, want backup_invalid", err)
	}
	if counts, err := to.StoreCounts(ctx); err != nil || counts.Subscriptions != 1 {
		t.Errorf("got %+v, %v after a refused restore", counts, err)
	}
}

func TestWithoutStoreUseCasesOfTheStoreSaySo(t *testing.T) {
	e := newEngine(t, web{})
	ctx := t.Context()
	calls := map[string]func() error{
		"list":     func() error { _, err := e.Subscriptions(ctx); return err },
		"put":      func() error { _, err := e.PutSubscription(ctx, local("a"), store.Precondition{}); return err },
		"dry run":  func() error { _, err := e.DryRunSubscription(ctx, local("a")); return err },
		"delete":   func() error { return e.DeleteFile(ctx, "a", store.Precondition{}) },
		"share":    func() error { _, err := e.SharedRead(ctx, engine.ShareRequest{ID: "sh_x"}); return err },
		"settings": func() error { _, err := e.SettingsView(ctx); return err },
		"patch":    func() error { _, err := e.PatchSettings(ctx, []byte("{}"), store.Precondition{}); return err },
		"token":    func() error { _, _, err := e.CreateToken(ctx, sandrone.Token{}); return err },
		"backup":   func() error { _, err := e.Backup(ctx); return err },
		"restore":  func() error { _, err := e.Restore(ctx, strings.NewReader("")); return err },
		"cache":    func() error { return e.ClearCache(ctx) },
		"run":      func() error { return e.Run(ctx) },
	}
	for _, name := range slices.Sorted(maps.Keys(calls)) {
		if err := calls[name](); code(err) != sandrone.NotImplemented {
			t.Errorf("%s: got %v, want not_implemented", name, err)
		}
	}
	if _, ok := e.Authenticate(ctx, "sdt_x"); ok {
		t.Error("a token opened where none can be")
	}
}
