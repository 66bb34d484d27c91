// Package storetest is the contract of the store's backends: what every one of
// them, with the rules of the store above it, has to do.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/store"
)

// Fresh makes an empty backend for one test. The function it returns opens the
// same state each time it is called.
type Fresh func(t *testing.T) (open func() store.Backend)

// Run holds the backends that fresh makes to the contract.
func Run(t *testing.T, fresh Fresh) {
	for _, c := range []struct {
		name string
		test func(*testing.T, *fixture)
	}{
		{"an empty store has empty lists and default settings", emptyStore},
		{"a definition is read as it was put", putAndGet},
		{"a definition that cannot be right is refused", putRefuses},
		{"names are kept verbatim and listed in order", names},
		{"a put of the same writes nothing", putOfTheSame},
		{"a change sets the time of the update only", times},
		{"preconditions are checked before anything is written", preconditions},
		{"deleting needs a definition", deleting},
		{"a failed update leaves nothing behind", failedUpdate},
		{"a panic in an update leaves nothing behind", panicInUpdate},
		{"a cancelled context begins nothing", cancelledContext},
		{"concurrent updates are serialised", twoWriters},
		{"a reader sees the state of one moment", isolation},
		{"a store that was reopened has everything", reopening},
		{"a closed store fails", closed},
		{"a record that cannot be read is listed and can be replaced", unreadableRecords},
		{"records of older versions load", oldRecords},
		{"settings take defaults for what is missing", settings},
		{"settings that cannot be used are an error", badSettings},
		{"settings honour If-Match", settingsPreconditions},
		{"shares get an id that cannot be guessed", shareIDs},
		{"accesses are recorded beside the share", accesses},
		{"tokens are found by their secret until they expire", tokens},
		{"tokens are bounded, named once and deleted by id", tokenLimits},
		{"overwriting and deleting keep the former definition", revisions},
		{"ten revisions are kept", revisionsOfOneResource},
		{"revisions of a thousand deleted resources are kept", revisionsOfDeletedResources},
		{"revisions come in pages", revisionPages},
		{"a revision is restored under its name", restoreRevision},
		{"revisions can be purged", purgeRevisions},
		{"a cached value is fresh, then kept, then gone", cacheLife},
		{"a cached value without a life is not stored", cacheWithoutLife},
		{"what was not used for the longest time leaves the cache first", cacheBound},
		{"an entry over a quarter of the bound is not stored", cacheLargeEntry},
		{"sweeping removes what is of no use", cacheSweep},
		{"a change of definitions clears what was made from them", cacheClearing},
		{"an entry made before a clearing is dropped", cacheEpoch},
		{"a damaged cache entry is a miss", cacheDamage},
		{"a cache alone makes no store", cacheMakesNoStore},
		{"a store of another version is left alone", otherVersion},
		{"keys are scanned by prefix in byte order", scan},
		{"a reading transaction cannot write", readOnly},
		{"keys have limits", keyLimits},
		{"a restored backup is the state that was backed up", backup},
		{"a restore that fails changes nothing", failedRestore},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &fixture{T: t, open: fresh(t), now: time.Date(2026, 8, 1, 10, 0, 0, 123456789, time.UTC)}
			f.reopen()
			t.Cleanup(func() { f.Close() })
			c.test(t, f)
		})
	}
}

// fixture is a store with a clock that stands still.
type fixture struct {
	*testing.T
	*store.Store
	open    func() store.Backend
	backend store.Backend

	mu  sync.Mutex
	now time.Time
}

func (f *fixture) reopen() {
	f.Helper()
	if f.Store != nil {
		if err := f.Close(); err != nil {
			f.Fatal(err)
		}
	}
	f.backend = f.open()
	f.Store = store.New(f.backend, store.Options{Now: f.clock, CheckSettings: check})
}

func (f *fixture) clock() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now
}

func (f *fixture) advance(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = f.now.Add(d)
}

// check is a rule for settings, as the engine has many.
func check(s sandrone.Settings) (sandrone.Settings, error) {
	if s.CacheDefaults.CacheMaxBytes < 1<<20 {
		return s, sandrone.Errorf(sandrone.InvalidArgument, "must be at least 1 MiB").At("cache_defaults.cache_max_bytes")
	}
	s.Log.Level = strings.ToLower(s.Log.Level)
	return s, nil
}

func (f *fixture) update(fn func(tx *store.Tx) error) {
	f.Helper()
	if err := f.Update(context.Background(), fn); err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) view(fn func(tx *store.Tx) error) {
	f.Helper()
	if err := f.View(context.Background(), fn); err != nil {
		f.Fatal(err)
	}
}

// raw writes past the rules of the store.
func (f *fixture) raw(space store.Space, key, value string) {
	f.Helper()
	err := f.backend.Update(context.Background(), func(kv store.KV) error { return kv.Put(space, key, []byte(value)) })
	if err != nil {
		f.Fatal(err)
	}
}

func local(name, content string) *sandrone.Subscription {
	return &sandrone.Subscription{Name: name, Type: sandrone.SubscriptionLocal, Content: content}
}

func (f *fixture) put(v *sandrone.Subscription, pre store.Precondition) (w store.Written, err error) {
	err = f.Update(context.Background(), func(tx *store.Tx) error {
		w, err = tx.Subscriptions().Put(v, pre)
		return err
	})
	return w, err
}

func (f *fixture) mustPut(v *sandrone.Subscription) store.Written {
	f.Helper()
	w, err := f.put(v, store.Precondition{})
	if err != nil {
		f.Fatal(err)
	}
	return w
}

func (f *fixture) get(name string) (r store.Record[sandrone.Subscription], err error) {
	err = f.View(context.Background(), func(tx *store.Tx) error {
		r, err = tx.Subscriptions().Get(name)
		return err
	})
	return r, err
}

func (f *fixture) content(name string) string {
	f.Helper()
	r, err := f.get(name)
	if err != nil {
		f.Fatal(err)
	}
	return r.Definition.Content
}

func (f *fixture) deleteSubscription(name string, pre store.Precondition) error {
	return f.Update(context.Background(), func(tx *store.Tx) error { return tx.Subscriptions().Delete(name, pre) })
}

func (f *fixture) revisions(q store.RevisionQuery) (items []sandrone.Revision, next string) {
	f.Helper()
	f.view(func(tx *store.Tx) (err error) {
		items, next, err = tx.Revisions().List(q)
		return err
	})
	return items, next
}

func (f *fixture) wantCode(err error, code sandrone.Code) {
	f.Helper()
	e, ok := errors.AsType[*sandrone.Error](err)
	if !ok || e.Code != code {
		f.Fatalf("got error %v, want code %s", err, code)
	}
}

func emptyStore(t *testing.T, f *fixture) {
	f.view(func(tx *store.Tx) error {
		subscriptions, err := tx.Subscriptions().List()
		if err != nil || subscriptions == nil || len(subscriptions) != 0 {
			t.Errorf("subscriptions: got %v, %v", subscriptions, err)
		}
		files, err := tx.Files().List()
		if err != nil || files == nil || len(files) != 0 {
			t.Errorf("files: got %v, %v", files, err)
		}
		tokens, err := tx.Tokens().List()
		if err != nil || tokens == nil || len(tokens) != 0 {
			t.Errorf("tokens: got %v, %v", tokens, err)
		}
		items, next, err := tx.Revisions().List(store.RevisionQuery{Kind: sandrone.KindShare})
		if err != nil || items == nil || len(items) != 0 || next != "" {
			t.Errorf("revisions: got %v, %q, %v", items, next, err)
		}
		settings, tag, err := tx.Settings().Get()
		if err != nil || settings.HTTP.Listen != sandrone.DefaultSettings().HTTP.Listen || len(tag) != 34 {
			t.Errorf("settings: got %v, %s, %v", settings, tag, err)
		}
		if counts, err := tx.Counts(); err != nil || counts != (store.Counts{}) {
			t.Errorf("counts: got %v, %v", counts, err)
		}
		_, err = tx.Subscriptions().Get("air")
		f.wantCode(err, sandrone.NotFound)
		return nil
	})
	if err := f.Cache().Sweep(t.Context()); err != nil {
		t.Error(err)
	}
}

func putAndGet(t *testing.T, f *fixture) {
	ttl := int64(0)
	s := &sandrone.Subscription{
		Name: "air", DisplayName: "  Air <&> ", Type: " Collection ", Format: "auto",
		Inputs:     []sandrone.NodeInput{{Name: "own", Type: "inline", Format: "uri-list", Content: "trojan://pw@a.example:443#own"}},
		Processors: []sandrone.ProcessorSpec{{Type: "dedup", Params: []byte(`{"a": 1, "b":"<"}`)}},
		Meta:       map[string]string{"tags": "a,b"}, RenderCacheTTLSeconds: &ttl,
		CreatedAt: time.Unix(1, 0),
	}
	w := f.mustPut(s)
	r, err := f.get("air")
	if err != nil {
		t.Fatal(err)
	}
	got := r.Definition
	if got.DisplayName != "Air <&>" || got.Type != "collection" || got.Format != "" || got.Inputs[0].Content != s.Inputs[0].Content ||
		string(got.Processors[0].Params) == "" || got.Meta["tags"] != "a,b" || *got.RenderCacheTTLSeconds != 0 {
		t.Errorf("got %+v", got)
	}
	want := time.Date(2026, 8, 1, 10, 0, 0, 123000000, time.UTC)
	if !got.CreatedAt.Equal(want) || !got.UpdatedAt.Equal(want) || !s.CreatedAt.Equal(want) {
		t.Errorf("times: got %v, %v, and %v in the caller's value, want %v", got.CreatedAt, got.UpdatedAt, s.CreatedAt, want)
	}
	if !w.Changed || !w.Created || w.ETag != r.ETag || len(r.ETag) != 34 || r.ETag[0] != '"' {
		t.Errorf("written: got %+v, read %s", w, r.ETag)
	}
	f.view(func(tx *store.Tx) error {
		head, err := tx.Subscriptions().Head("air")
		if v := head.Definition; err != nil || head.ETag != r.ETag || v.Inputs != nil || v.Name != "air" || v.DisplayName != "Air <&>" ||
			v.Meta["tags"] != "a,b" || *v.RenderCacheTTLSeconds != 0 || !v.CreatedAt.Equal(want) {
			t.Errorf("head: got %+v, %v", v, err)
		}
		_, err = tx.Subscriptions().Head("nobody")
		f.wantCode(err, sandrone.NotFound)
		return nil
	})
	err = f.backend.View(t.Context(), func(kv store.KV) error {
		text, err := kv.Get(store.SpaceResources, "subscriptions/air.json")
		if !strings.HasPrefix(string(text), "{\n  \"name\": \"air\",\n") || !strings.HasSuffix(string(text), "}\n") ||
			!strings.Contains(string(text), "Air <&>") || len(text) != r.Size {
			t.Errorf("stored text of %d bytes:\n%s", r.Size, text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func putRefuses(t *testing.T, f *fixture) {
	for field, s := range map[string]*sandrone.Subscription{
		"name":       {Name: "a/b", Type: "local"},
		"type":       {Name: "a", Type: "other"},
		"remote.url": {Name: "a", Type: "remote"},
	} {
		_, err := f.put(s, store.Precondition{})
		f.wantCode(err, sandrone.InvalidArgument)
		if got := sandrone.AsError(err).Field; got != field {
			t.Errorf("field: got %q, want %q", got, field)
		}
	}
	f.view(func(tx *store.Tx) error {
		if list, _ := tx.Subscriptions().List(); len(list) != 0 {
			t.Errorf("got %v", list)
		}
		_, err := tx.Files().Get("../settings")
		f.wantCode(err, sandrone.InvalidArgument)
		return nil
	})
}

func names(t *testing.T, f *fixture) {
	want := []string{" a", "A", "a", "a ", "a b", "a.json", "é", "日本"}
	for _, name := range want {
		f.mustPut(local(name, "of "+name))
	}
	// Keys that a restored archive may bring along and that are no names.
	f.raw(store.SpaceResources, "subscriptions/deep/er.json", "{}")
	f.raw(store.SpaceResources, "subscriptions/other.txt", "{}")
	f.view(func(tx *store.Tx) error {
		list, err := tx.Subscriptions().List()
		var got []string
		for _, r := range list {
			got = append(got, r.Name)
			if r.Definition.Name != r.Name || r.Definition.Content != "of "+r.Name {
				t.Errorf("%q: got %+v", r.Name, r.Definition)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		counts, _ := tx.Counts()
		if counts != (store.Counts{Subscriptions: len(want), Other: 2}) {
			t.Errorf("counts: got %+v", counts)
		}
		return err
	})
}

func putOfTheSame(t *testing.T, f *fixture) {
	first := f.mustPut(local("air", "x"))
	f.advance(time.Hour)
	again := local("air", "x")
	again.DisplayName = "  " // is the same when normalised
	second := f.mustPut(again)
	if second.Changed || second.Created || second.ETag != first.ETag {
		t.Errorf("got %+v, want the tag %s", second, first.ETag)
	}
	if again.UpdatedAt.Equal(f.clock()) || again.CreatedAt.IsZero() {
		t.Errorf("times: got %v, %v", again.CreatedAt, again.UpdatedAt)
	}
	if items, _ := f.revisions(store.RevisionQuery{Kind: sandrone.KindSubscription}); len(items) != 0 {
		t.Errorf("revisions: got %v", items)
	}
	_, err := f.put(local("air", "x"), store.Precondition{IfAbsent: true})
	f.wantCode(err, sandrone.Conflict)
	_, err = f.put(local("air", "x"), store.Precondition{IfMatch: []string{`"other"`}})
	f.wantCode(err, sandrone.PreconditionFailed)
}

func times(t *testing.T, f *fixture) {
	f.mustPut(local("air", "x"))
	created := f.clock().Truncate(time.Millisecond)
	f.advance(time.Hour)
	changed := local("air", "y")
	changed.CreatedAt = time.Unix(1, 0) // what a client sends is ignored
	if w := f.mustPut(changed); !w.Changed || w.Created {
		t.Errorf("got %+v", w)
	}
	r, err := f.get("air")
	if err != nil {
		t.Fatal(err)
	}
	if !r.Definition.CreatedAt.Equal(created) || !r.Definition.UpdatedAt.Equal(created.Add(time.Hour)) {
		t.Errorf("got %v, %v", r.Definition.CreatedAt, r.Definition.UpdatedAt)
	}
}

func preconditions(t *testing.T, f *fixture) {
	match := func(tags ...string) store.Precondition { return store.Precondition{IfMatch: tags} }
	_, err := f.put(local("air", "x"), match("*"))
	f.wantCode(err, sandrone.PreconditionFailed) // no such resource
	w, err := f.put(local("air", "x"), store.Precondition{IfAbsent: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		pre  store.Precondition
		code sandrone.Code
	}{
		{"another tag", match(`"00000000000000000000000000000000"`), sandrone.PreconditionFailed},
		{"no tag at all", match(), ""},
		{"an empty list", store.Precondition{IfMatch: []string{}}, sandrone.PreconditionFailed},
		{"a weak tag", match("W/" + w.ETag), sandrone.PreconditionFailed},
		{"absent", store.Precondition{IfAbsent: true}, sandrone.Conflict},
		{"one of several", match(`"x"`, "TAG"), ""},
		{"any", match("*"), ""},
	} {
		r, err := f.get("air")
		if err != nil {
			t.Fatal(err)
		}
		for i, tag := range c.pre.IfMatch {
			if tag == "TAG" {
				c.pre.IfMatch[i] = r.ETag
			}
		}
		_, err = f.put(local("air", c.name), c.pre)
		if c.code != "" {
			f.wantCode(err, c.code)
			if got := f.content("air"); got != r.Definition.Content {
				t.Errorf("%s: wrote %q", c.name, got)
			}
		} else if err != nil || f.content("air") != c.name {
			t.Errorf("%s: got %v", c.name, err)
		}
	}
	f.wantCode(f.deleteSubscription("air", match(w.ETag)), sandrone.PreconditionFailed) // an old tag
	r, _ := f.get("air")
	if err := f.deleteSubscription("air", match(r.ETag)); err != nil {
		t.Error(err)
	}
	f.wantCode(f.deleteSubscription("air", match(r.ETag)), sandrone.PreconditionFailed)
}

func deleting(t *testing.T, f *fixture) {
	f.wantCode(f.deleteSubscription("air", store.Precondition{}), sandrone.NotFound)
	f.mustPut(local("air", "x"))
	if err := f.deleteSubscription("air", store.Precondition{}); err != nil {
		t.Fatal(err)
	}
	_, err := f.get("air")
	f.wantCode(err, sandrone.NotFound)
	if e := sandrone.AsError(err); e.ResourceKind != "subscription" || e.ResourceName != "air" {
		t.Errorf("got %+v", e)
	}
	f.wantCode(f.deleteSubscription("air", store.Precondition{}), sandrone.NotFound)
	f.advance(time.Hour)
	f.mustPut(local("air", "x"))
	if r, _ := f.get("air"); !r.Definition.CreatedAt.Equal(f.clock().Truncate(time.Millisecond)) {
		t.Errorf("a definition of a deleted name kept the time of its creation: %v", r.Definition.CreatedAt)
	}
}

var errAbandoned = errors.New("abandoned")

func failedUpdate(t *testing.T, f *fixture) {
	f.mustPut(local("kept", "x"))
	f.mustPut(local("deleted", "x"))
	err := f.Update(t.Context(), func(tx *store.Tx) error {
		tx.Subscriptions().Put(local("kept", "y"), store.Precondition{})
		tx.Subscriptions().Put(local("new", "y"), store.Precondition{})
		tx.Subscriptions().Delete("deleted", store.Precondition{})
		if r, err := tx.Subscriptions().Get("new"); err != nil || r.Definition.Content != "y" {
			t.Errorf("a transaction does not see its own writes: %v", err)
		}
		return errAbandoned
	})
	if err != errAbandoned {
		t.Errorf("got %v, want the error as it was returned", err)
	}
	unchanged(t, f)
}

func unchanged(t *testing.T, f *fixture) {
	t.Helper()
	if f.content("kept") != "x" || f.content("deleted") != "x" {
		t.Error("a change is visible")
	}
	_, err := f.get("new")
	f.wantCode(err, sandrone.NotFound)
	if items, _ := f.revisions(store.RevisionQuery{Kind: sandrone.KindSubscription}); len(items) != 0 {
		t.Errorf("revisions: got %v", items)
	}
}

func panicInUpdate(t *testing.T, f *fixture) {
	f.mustPut(local("kept", "x"))
	f.mustPut(local("deleted", "x"))
	func() {
		defer func() {
			if r := recover(); r != "oh" {
				t.Errorf("got panic %v, want that of the function", r)
			}
		}()
		f.Update(t.Context(), func(tx *store.Tx) error {
			tx.Subscriptions().Put(local("new", "y"), store.Precondition{})
			tx.Subscriptions().Delete("deleted", store.Precondition{})
			panic("oh")
		})
	}()
	unchanged(t, f)
	f.mustPut(local("new", "z")) // the next writer is not kept waiting
}

func cancelledContext(t *testing.T, f *fixture) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	fail := func(*store.Tx) error { t.Error("the function was called"); return nil }
	if err := f.Update(ctx, fail); !errors.Is(err, context.Canceled) {
		t.Errorf("Update: got %v", err)
	}
	if err := f.View(ctx, fail); !errors.Is(err, context.Canceled) {
		t.Errorf("View: got %v", err)
	}
	f.mustPut(local("air", "x"))
	if _, ok := f.Cache().Get(ctx, store.Probe, store.KeyOf("a")); ok {
		t.Error("the cache answered")
	}
}

func twoWriters(t *testing.T, f *fixture) {
	const writers, writes = 4, 15
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for range writes {
				err := f.Update(t.Context(), func(tx *store.Tx) error {
					content := ""
					if r, err := tx.Subscriptions().Get("count"); err == nil {
						content = r.Definition.Content
					}
					_, err := tx.Subscriptions().Put(local("count", content+"x"), store.Precondition{})
					return err
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if got := len(f.content("count")); got != writers*writes {
		t.Errorf("got %d writes, want %d", got, writers*writes)
	}
}

func isolation(t *testing.T, f *fixture) {
	f.mustPut(local("a", "0"))
	f.mustPut(local("b", "0"))
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(stop)
		for i := range 20 {
			content := fmt.Sprint(i)
			err := f.Update(t.Context(), func(tx *store.Tx) error {
				for _, name := range []string{"a", "b"} {
					if _, err := tx.Subscriptions().Put(local(name, content), store.Precondition{}); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		}
	})
	for running := true; running; {
		select {
		case <-stop:
			running = false
		default:
		}
		f.view(func(tx *store.Tx) error {
			a, err := tx.Subscriptions().Get("a")
			if err != nil {
				return err
			}
			b, err := tx.Subscriptions().Get("b")
			if err == nil && a.Definition.Content != b.Definition.Content {
				t.Errorf("got %s and %s", a.Definition.Content, b.Definition.Content)
			}
			return err
		})
	}
	wg.Wait()
}

func reopening(t *testing.T, f *fixture) {
	w := f.mustPut(local("air", "x"))
	f.mustPut(local("air", "y"))
	var secret string
	f.update(func(tx *store.Tx) (err error) {
		_, secret, err = tx.Tokens().Create(sandrone.Token{Name: "phone", Scope: sandrone.ScopeRead})
		return err
	})
	key := store.KeyOf("k")
	if err := f.Cache().Put(t.Context(), store.RemoteFetch, key, store.Entry{Body: []byte("body")}, store.Life{Keep: time.Hour}); err != nil {
		t.Fatal(err)
	}
	f.reopen()
	if got := f.content("air"); got != "y" {
		t.Errorf("got %q", got)
	}
	if items, _ := f.revisions(store.RevisionQuery{Kind: sandrone.KindSubscription}); len(items) != 1 || items[0].Size == 0 {
		t.Errorf("revisions: got %v", items)
	}
	if r, _ := f.get("air"); r.ETag == w.ETag {
		t.Error("two definitions have one tag")
	}
	f.view(func(tx *store.Tx) error {
		if _, ok, err := tx.Tokens().Find(secret); !ok || err != nil {
			t.Errorf("the token was not found: %v", err)
		}
		return nil
	})
	if e, ok := f.Cache().Get(t.Context(), store.RemoteFetch, key); !ok || string(e.Body) != "body" {
		t.Errorf("cache: got %q, %v", e.Body, ok)
	}
}

func closed(t *testing.T, f *fixture) {
	f.mustPut(local("air", "x"))
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := f.get("air")
	f.wantCode(err, sandrone.InternalError)
	_, err = f.put(local("air", "y"), store.Precondition{})
	f.wantCode(err, sandrone.InternalError)
	if err := f.Close(); err != nil {
		t.Errorf("closing again: %v", err)
	}
	f.Store = nil
	f.reopen()
}

func unreadableRecords(t *testing.T, f *fixture) {
	f.mustPut(local("good", "x"))
	f.raw(store.SpaceResources, "subscriptions/broken.json", "{ not json hunter2")
	f.raw(store.SpaceResources, "subscriptions/wrong.json", `{"name":"wrong","type":7,"content":"hunter2"}`)
	f.raw(store.SpaceResources, "shares/sh_broken.json", "")
	f.view(func(tx *store.Tx) error {
		list, err := tx.Subscriptions().List()
		if err != nil || len(list) != 3 {
			t.Fatalf("got %v, %v", list, err)
		}
		for i, want := range []struct {
			name     string
			readable bool
		}{{"broken", false}, {"good", true}, {"wrong", false}} {
			if r := list[i]; r.Name != want.name || (r.Definition != nil) != want.readable || r.Size == 0 {
				t.Errorf("got %+v, want %+v", r, want)
			}
		}
		if list, err := tx.Shares().List(); err != nil || len(list) != 1 || list[0].Definition != nil {
			t.Errorf("shares: got %v, %v", list, err)
		}
		_, err = tx.Subscriptions().Get("wrong")
		f.wantCode(err, sandrone.InternalError)
		if strings.Contains(sandrone.AsError(err).Message, "hunter2") {
			t.Errorf("the error shows content: %v", err)
		}
		return nil
	})
	if w := f.mustPut(local("broken", "y")); w.Created || !w.Changed {
		t.Errorf("got %+v", w)
	}
	f.mustPut(local("wrong", "y"))
	if err := f.deleteSubscription("broken", store.Precondition{}); err != nil {
		t.Error(err)
	}
	items, _ := f.revisions(store.RevisionQuery{Kind: sandrone.KindSubscription})
	if len(items) != 2 || items[0].Name != "broken" || items[1].Name != "wrong" {
		t.Errorf("revisions: got %+v, want the readable text of broken, and what wrong was", items)
	}
	_, _, err := f.restoreRevision(items[1].ID, store.Precondition{})
	f.wantCode(err, sandrone.InternalError)
}

func (f *fixture) restoreRevision(id string, pre store.Precondition) (r sandrone.Revision, w store.Written, err error) {
	err = f.Update(context.Background(), func(tx *store.Tx) error {
		r, w, err = tx.Revisions().Restore(id, pre)
		return err
	})
	return r, w, err
}

func oldRecords(t *testing.T, f *fixture) {
	f.raw(store.SpaceResources, "subscriptions/air.json", `{"name":"other","type":"local","content":"x","gone":{"a":[1]}}`)
	f.raw(store.SpaceResources, "files/f.json", `{"kind":"mihomo"}`)
	r, err := f.get("air")
	if err != nil || r.Definition.Name != "air" || !r.Definition.CreatedAt.IsZero() {
		t.Fatalf("got %+v, %v", r.Definition, err)
	}
	if w := f.mustPut(local("air", "x")); w.Changed || w.ETag != r.ETag {
		t.Errorf("a put of the same: got %+v", w)
	}
	f.mustPut(local("air", "y"))
	if r, _ := f.get("air"); !r.Definition.CreatedAt.IsZero() || r.Definition.UpdatedAt.IsZero() {
		t.Errorf("an unknown time of creation became %v, and the update is of %v", r.Definition.CreatedAt, r.Definition.UpdatedAt)
	}
	f.view(func(tx *store.Tx) error {
		r, err := tx.Files().Get("f")
		if err != nil || r.Definition.Source == nil || r.Definition.Name != "f" {
			t.Errorf("got %+v, %v", r.Definition, err)
		}
		return nil
	})
}

func settings(t *testing.T, f *fixture) {
	f.raw(store.SpaceResources, "settings.json", `{"http":{"listen":"127.0.0.1:9","unknown":1},"remote_defaults":{"allow_hosts":null},"new_group":{}}`)
	f.view(func(tx *store.Tx) error {
		s, _, err := tx.Settings().Get()
		if err != nil || s.HTTP.Listen != "127.0.0.1:9" || s.HTTP.BodyTimeoutSeconds != 10 || s.SchemaVersion != 1 || s.RemoteDefaults.AllowHosts == nil {
			t.Errorf("got %+v, %v", s, err)
		}
		return nil
	})
	want := sandrone.DefaultSettings()
	want.Log.Level = "WARN"
	f.update(func(tx *store.Tx) error {
		tag, err := tx.Settings().Put(want, store.Precondition{})
		if got, again, _ := tx.Settings().Get(); again != tag || got.Log.Level != "warn" {
			t.Errorf("got level %q, tag %s after %s", got.Log.Level, again, tag)
		}
		return err
	})
}

func badSettings(t *testing.T, f *fixture) {
	for _, text := range []string{
		`{"http":{"listen":1}}`, `{} trailing`, `{"schema_version":2}`, ``, `[]`,
		`{"cache_defaults":{"cache_max_bytes":5}}`,
	} {
		f.raw(store.SpaceResources, "settings.json", text)
		err := f.View(t.Context(), func(tx *store.Tx) error { _, _, err := tx.Settings().Get(); return err })
		f.wantCode(err, sandrone.InternalError)
	}
	s := sandrone.DefaultSettings()
	s.CacheDefaults.CacheMaxBytes = 5
	err := f.Update(t.Context(), func(tx *store.Tx) error { _, err := tx.Settings().Put(s, store.Precondition{}); return err })
	f.wantCode(err, sandrone.InvalidArgument)
}

func settingsPreconditions(t *testing.T, f *fixture) {
	s := sandrone.DefaultSettings()
	var tag string
	f.view(func(tx *store.Tx) (err error) { _, tag, err = tx.Settings().Get(); return err })
	put := func(level string, tags ...string) error {
		s.Log.Level = level
		return f.Update(t.Context(), func(tx *store.Tx) error {
			_, err := tx.Settings().Put(s, store.Precondition{IfMatch: tags})
			return err
		})
	}
	if err := put("info", tag); err != nil { // the tag of the defaults, and the same after they are stored
		t.Error(err)
	}
	if err := put("debug", tag); err != nil {
		t.Error(err)
	}
	f.wantCode(put("warn", tag), sandrone.PreconditionFailed)
	if err := put("warn", "*"); err != nil {
		t.Error(err)
	}
}

func (f *fixture) share() sandrone.Share {
	f.Helper()
	s := sandrone.Share{TargetKind: "subscription", TargetName: "air"}
	f.update(func(tx *store.Tx) error { _, err := tx.Shares().Put(&s, store.Precondition{}); return err })
	return s
}

func shareIDs(t *testing.T, f *fixture) {
	a := f.share()
	b := f.share()
	if !strings.HasPrefix(a.ID, "sh_") || len(a.ID) != 35 || a.ID == b.ID || a.TargetFormat != "base64" || a.CreatedAt.IsZero() {
		t.Errorf("got %+v and %+v", a, b)
	}
	f.advance(time.Hour)
	first := sandrone.Share{ID: " 0 ", TargetKind: "File", TargetName: "f", TargetFormat: "base64"}
	f.update(func(tx *store.Tx) error {
		w, err := tx.Shares().Put(&first, store.Precondition{IfAbsent: true})
		if !w.Created || first.ID != "0" || first.TargetFormat != "" {
			t.Errorf("got %+v, %+v", w, first)
		}
		return err
	})
	f.view(func(tx *store.Tx) error {
		list, err := tx.Shares().List()
		var ids []string
		for _, r := range list {
			ids = append(ids, r.Name)
		}
		want := []string{min(a.ID, b.ID), max(a.ID, b.ID), "0"} // by time, then id
		if !slices.Equal(ids, want) {
			t.Errorf("got %q, want %q", ids, want)
		}
		_, err2 := tx.Shares().Get("sh_unknown")
		if strings.Contains(err2.Error(), "sh_unknown") {
			t.Errorf("the text of an error shows an id: %v", err2)
		}
		return err
	})
}

func accesses(t *testing.T, f *fixture) {
	s := f.share()
	at := f.clock()
	add := func(id string, accesses ...sandrone.ShareAccess) {
		t.Helper()
		f.update(func(tx *store.Tx) error { return tx.Accesses().Add(id, accesses...) })
	}
	for i := range 60 {
		add(s.ID, sandrone.ShareAccess{Time: at.Add(time.Duration(i) * time.Second), UserAgent: fmt.Sprint("ua", i), Status: 200, ClientAddress: "192.0.2.1"})
	}
	add(s.ID, sandrone.ShareAccess{Time: at, UserAgent: strings.Repeat("é", 300), Status: 404})
	add("sh_gone", sandrone.ShareAccess{Time: at, Status: 200})
	var before store.Record[sandrone.Share]
	f.view(func(tx *store.Tx) (err error) {
		a, err := tx.Accesses().Get(s.ID)
		if a.AccessCount != 60 || a.LastUserAgent != "ua59" || !a.LastAccessAt.Equal(at.Add(59*time.Second)) ||
			len(a.Recent) != 50 || a.Recent[0].Status != 404 || len(a.Recent[0].UserAgent) != 256 || a.Recent[1].UserAgent != "ua59" {
			t.Errorf("got %d, %+v, %v", len(a.Recent), a.ShareUse, err)
		}
		if gone, err := tx.Accesses().Get("sh_gone"); err != nil || gone.AccessCount != 0 || gone.Recent == nil {
			t.Errorf("got %+v, %v", gone, err)
		}
		before, err = tx.Shares().Get(s.ID)
		return err
	})
	if before.Definition.ID != s.ID {
		t.Errorf("got %+v", before)
	}
	s.Name = "new"
	f.update(func(tx *store.Tx) error { _, err := tx.Shares().Put(&s, store.Precondition{}); return err })
	f.view(func(tx *store.Tx) error {
		if a, _ := tx.Accesses().Get(s.ID); a.AccessCount != 60 {
			t.Errorf("overwriting dropped the record: %+v", a)
		}
		return nil
	})
	f.update(func(tx *store.Tx) error { return tx.Shares().Delete(s.ID, store.Precondition{}) })
	items, _ := f.revisions(store.RevisionQuery{Kind: sandrone.KindShare, Deleted: true})
	if _, _, err := f.restoreRevision(items[0].ID, store.Precondition{}); err != nil {
		t.Fatal(err)
	}
	f.view(func(tx *store.Tx) error {
		if a, _ := tx.Accesses().Get(s.ID); a.AccessCount != 0 {
			t.Errorf("deleting kept the record: %+v", a)
		}
		return nil
	})
}

func tokens(t *testing.T, f *fixture) {
	var token sandrone.Token
	var secret string
	f.update(func(tx *store.Tx) (err error) {
		token, secret, err = tx.Tokens().Create(sandrone.Token{Name: " phone ", Scope: "write", ExpiresAt: f.clock().Add(time.Hour)})
		return err
	})
	if !strings.HasPrefix(secret, "sdt_") || len(secret) != 47 || token.Name != "phone" || token.ID == "" {
		t.Errorf("got %+v, a secret of %d bytes", token, len(secret))
	}
	find := func(secret string) (token sandrone.Token, ok bool) {
		f.view(func(tx *store.Tx) (err error) { token, ok, err = tx.Tokens().Find(secret); return err })
		return token, ok
	}
	if got, ok := find(secret); !ok || got.ID != token.ID || got.Scope != "write" {
		t.Errorf("got %+v, %v", got, ok)
	}
	for _, other := range []string{"", "sdt_", secret[:46], secret + "x", "sdt_" + strings.Repeat("A", 43), token.ID} {
		if _, ok := find(other); ok {
			t.Errorf("%q opens", other)
		}
	}
	f.view(func(tx *store.Tx) error {
		list, err := tx.Tokens().List()
		if len(list) != 1 || list[0].Name != "phone" {
			t.Errorf("got %v", list)
		}
		return err
	})
	err := f.backend.View(t.Context(), func(kv store.KV) error {
		return kv.Scan(store.SpaceTokens, "", func(_ string, text []byte) error {
			if strings.Contains(string(text), secret[4:]) {
				t.Error("the secret is stored")
			}
			return nil
		})
	})
	if err != nil {
		t.Error(err)
	}
	use := func() { f.update(func(tx *store.Tx) error { return tx.Tokens().Used(token.ID) }) }
	use()
	first := f.clock().Truncate(time.Millisecond)
	f.advance(59 * time.Second)
	use()
	if got, _ := find(secret); !got.LastUsedAt.Equal(first) {
		t.Errorf("a second use within a minute was noted at %v", got.LastUsedAt)
	}
	f.advance(time.Second)
	use()
	if got, _ := find(secret); !got.LastUsedAt.Equal(first.Add(time.Minute)) {
		t.Errorf("got %v", got.LastUsedAt)
	}
	f.advance(time.Hour)
	if _, ok := find(secret); ok {
		t.Error("an expired token opens")
	}
}

func tokenLimits(t *testing.T, f *fixture) {
	create := func(v sandrone.Token) (token sandrone.Token, err error) {
		err = f.Update(t.Context(), func(tx *store.Tx) error { token, _, err = tx.Tokens().Create(v); return err })
		return token, err
	}
	for field, v := range map[string]sandrone.Token{
		"name":       {Name: strings.Repeat("é", 65), Scope: "read"},
		"scope":      {Name: "a", Scope: "owner"},
		"expires_at": {Name: "a", Scope: "read", ExpiresAt: f.clock().Add(-time.Second)},
	} {
		_, err := create(v)
		f.wantCode(err, sandrone.InvalidArgument)
		if got := sandrone.AsError(err).Field; got != field {
			t.Errorf("got field %q, want %q", got, field)
		}
	}
	f.update(func(tx *store.Tx) error {
		for i := range 100 {
			if _, _, err := tx.Tokens().Create(sandrone.Token{Name: fmt.Sprint(i), Scope: "read"}); err != nil {
				return err
			}
		}
		return nil
	})
	_, err := create(sandrone.Token{Name: "7", Scope: "read"})
	f.wantCode(err, sandrone.Conflict)
	_, err = create(sandrone.Token{Name: "more", Scope: "read"})
	f.wantCode(err, sandrone.Conflict)
	var list []sandrone.Token
	f.view(func(tx *store.Tx) (err error) { list, err = tx.Tokens().List(); return err })
	f.update(func(tx *store.Tx) error { return tx.Tokens().Delete(list[7].ID) })
	err = f.Update(t.Context(), func(tx *store.Tx) error { return tx.Tokens().Delete(list[7].ID) })
	f.wantCode(err, sandrone.NotFound)
	if _, err := create(sandrone.Token{Name: list[7].Name, Scope: "read"}); err != nil {
		t.Error(err)
	}
}

func revisions(t *testing.T, f *fixture) {
	f.mustPut(local("air", "1"))
	first, _ := f.get("air")
	f.advance(time.Minute)
	f.mustPut(local("air", "2"))
	f.mustPut(local("other", "x"))
	f.advance(time.Minute)
	if err := f.deleteSubscription("air", store.Precondition{}); err != nil {
		t.Fatal(err)
	}
	items, next := f.revisions(store.RevisionQuery{Kind: sandrone.KindSubscription, Name: "air"})
	if len(items) != 2 || next != "" {
		t.Fatalf("got %+v, %q", items, next)
	}
	at := f.clock().Truncate(time.Millisecond)
	if r := items[0]; r.Op != "delete" || r.Exists || !r.ReplacedAt.Equal(at) || len(r.ID) != 32 || r.Kind != "subscription" || r.Name != "air" || r.Definition != nil {
		t.Errorf("got %+v", r)
	}
	if r := items[1]; r.Op != "overwrite" || r.Size != first.Size || !r.ReplacedAt.Equal(at.Add(-time.Minute)) {
		t.Errorf("got %+v", r)
	}
	f.view(func(tx *store.Tx) error {
		r, err := tx.Revisions().Get(items[1].ID)
		if err != nil || !strings.Contains(string(r.Definition), `"1"`) || r.Exists {
			t.Errorf("got %+v, %v", r, err)
		}
		for _, id := range []string{"", "x", strings.Repeat("0", 32), "../" + strings.Repeat("0", 29)} {
			_, err := tx.Revisions().Get(id)
			f.wantCode(err, sandrone.NotFound)
		}
		for field, q := range map[string]store.RevisionQuery{
			"kind":   {Kind: "token"},
			"name":   {Kind: "file", Name: "a/b"},
			"limit":  {Kind: "file", Limit: 201},
			"cursor": {Kind: "file", Cursor: "x"},
		} {
			_, _, err := tx.Revisions().List(q)
			f.wantCode(err, sandrone.InvalidArgument)
			if got := sandrone.AsError(err).Field; got != field {
				t.Errorf("got field %q, want %q", got, field)
			}
		}
		return nil
	})
}

func revisionsOfOneResource(t *testing.T, f *fixture) {
	for i := range 14 {
		f.mustPut(local("air", fmt.Sprint(i)))
		f.mustPut(local("air2", fmt.Sprint(i%2)))
	}
	items, _ := f.revisions(store.RevisionQuery{Kind: sandrone.KindSubscription, Name: "air"})
	if len(items) != 10 {
		t.Fatalf("got %d", len(items))
	}
	f.view(func(tx *store.Tx) error {
		for i, item := range items {
			r, err := tx.Revisions().Get(item.ID)
			if want := fmt.Sprintf(`"%d"`, 12-i); err != nil || !strings.Contains(string(r.Definition), want) {
				t.Errorf("revision %d: got %s, %v, want the content %s", i, r.Definition, err, want)
			}
		}
		return nil
	})
	if n := f.size(store.SpaceRevisions); n != 20 {
		t.Errorf("%d definitions are stored", n)
	}
}

// size counts the keys of a space.
func (f *fixture) size(space store.Space) (n int) {
	f.Helper()
	err := f.backend.View(context.Background(), func(kv store.KV) error {
		return kv.Scan(space, "", func(string, []byte) error { n++; return nil })
	})
	if err != nil {
		f.Fatal(err)
	}
	return n
}

func revisionsOfDeletedResources(t *testing.T, f *fixture) {
	f.mustPut(local("kept", "1"))
	f.mustPut(local("kept", "2"))
	name := func(i int) string { return fmt.Sprintf("gone%04d", i) }
	f.update(func(tx *store.Tx) error {
		for i := range 1000 {
			if _, err := tx.Subscriptions().Put(local(name(i), "x"), store.Precondition{}); err != nil {
				return err
			}
		}
		return nil
	})
	f.update(func(tx *store.Tx) error {
		for i := range 5 {
			if err := tx.Subscriptions().Delete(name(i), store.Precondition{}); err != nil {
				return err
			}
		}
		return nil
	})
	f.deleted(name, 5, 1000)
	f.update(func(tx *store.Tx) error {
		s := sandrone.Share{TargetKind: "file", TargetName: "f"}
		if _, err := tx.Shares().Put(&s, store.Precondition{}); err != nil {
			return err
		}
		return tx.Shares().Delete(s.ID, store.Precondition{})
	})
	if items, _ := f.revisions(store.RevisionQuery{Kind: sandrone.KindSubscription, Name: name(0)}); len(items) != 0 {
		t.Errorf("the revisions of what was deleted first are kept: %v", items)
	}
	for _, kept := range []string{name(1), name(999), "kept"} {
		if items, _ := f.revisions(store.RevisionQuery{Kind: sandrone.KindSubscription, Name: kept}); len(items) != 1 {
			t.Errorf("%s: got %v", kept, items)
		}
	}
	if n := f.size(store.SpaceRevisions); n != 1001 {
		t.Errorf("%d revisions are stored, want those of 1,000 deleted resources and one", n)
	}
}

// deleted leaves what deleting the subscriptions from i to before end leaves,
// without the look at all of them that each deletion takes.
func (f *fixture) deleted(name func(int) string, i, end int) {
	f.Helper()
	err := f.backend.Update(context.Background(), func(kv store.KV) error {
		for ; i < end; i++ {
			id := fmt.Sprintf("%016x%016x", i+1000, 0)
			text := fmt.Appendf(nil, `{"id":%q,"kind":"subscription","name":%q,"op":"delete"}`, id, name(i))
			err := errors.Join(
				kv.Delete(store.SpaceResources, "subscriptions/"+name(i)+".json"),
				kv.Put(store.SpaceRevisionIndex, "subscription/"+name(i)+"/"+id, text),
				kv.Put(store.SpaceRevisions, id, text))
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		f.Fatal(err)
	}
}

func revisionPages(t *testing.T, f *fixture) {
	f.update(func(tx *store.Tx) error {
		for i := range 7 {
			for j := range 3 {
				if _, err := tx.Subscriptions().Put(local(fmt.Sprint("n", i), fmt.Sprint(j)), store.Precondition{}); err != nil {
					return err
				}
			}
		}
		for i := range 3 {
			if err := tx.Subscriptions().Delete(fmt.Sprint("n", i), store.Precondition{}); err != nil {
				return err
			}
		}
		return nil
	})
	var ids []string
	q := store.RevisionQuery{Kind: sandrone.KindSubscription, Limit: 5}
	for {
		items, next := f.revisions(q)
		for _, r := range items {
			ids = append(ids, r.ID)
		}
		if next == "" {
			break
		}
		if len(items) != 5 {
			t.Fatalf("a page of %d", len(items))
		}
		q.Cursor = next
	}
	sorted := slices.Clone(ids)
	slices.Sort(sorted)
	slices.Reverse(sorted)
	if len(ids) != 17 || !slices.Equal(ids, sorted) || len(slices.Compact(sorted)) != 17 {
		t.Errorf("got %d revisions: %v", len(ids), ids)
	}
	items, _ := f.revisions(store.RevisionQuery{Kind: sandrone.KindSubscription, Deleted: true})
	var names []string
	for _, r := range items {
		names = append(names, r.Name)
		if r.Op != "delete" || r.Exists {
			t.Errorf("got %+v", r)
		}
	}
	if !slices.Equal(names, []string{"n2", "n1", "n0"}) {
		t.Errorf("deleted: got %v", names)
	}
}

func restoreRevision(t *testing.T, f *fixture) {
	f.mustPut(local("air", "1"))
	created := f.clock().Truncate(time.Millisecond)
	f.advance(time.Hour)
	f.mustPut(local("air", "2"))
	now, _ := f.get("air")
	items, _ := f.revisions(store.RevisionQuery{Kind: sandrone.KindSubscription})
	id := items[0].ID
	_, _, err := f.restoreRevision(id, store.Precondition{IfAbsent: true})
	f.wantCode(err, sandrone.Conflict)
	_, _, err = f.restoreRevision(id, store.Precondition{IfMatch: []string{`"x"`}})
	f.wantCode(err, sandrone.PreconditionFailed)
	_, _, err = f.restoreRevision(strings.Repeat("0", 32), store.Precondition{})
	f.wantCode(err, sandrone.NotFound)
	f.advance(time.Hour)
	r, w, err := f.restoreRevision(id, store.Precondition{IfMatch: []string{now.ETag}})
	if err != nil || r.Kind != "subscription" || r.Name != "air" || !w.Changed {
		t.Fatalf("got %+v, %+v, %v", r, w, err)
	}
	got, err := f.get("air")
	if err != nil || got.Definition.Content != "1" || !got.Definition.CreatedAt.Equal(created) || !got.Definition.UpdatedAt.Equal(f.clock().Truncate(time.Millisecond)) || got.ETag != w.ETag {
		t.Errorf("got %+v, %v", got, err)
	}
	if items, _ := f.revisions(store.RevisionQuery{Kind: sandrone.KindSubscription}); len(items) != 2 {
		t.Errorf("what was there did not become a revision: %v", items)
	}
	if _, w, err := f.restoreRevision(id, store.Precondition{}); err != nil || w.Changed {
		t.Errorf("restoring the same again: got %+v, %v", w, err)
	}
	if err := f.deleteSubscription("air", store.Precondition{}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := f.restoreRevision(id, store.Precondition{IfAbsent: true}); err != nil || f.content("air") != "1" {
		t.Errorf("a deleted resource was not restored: %v", err)
	}
}

func purgeRevisions(t *testing.T, f *fixture) {
	for i := range 4 {
		f.mustPut(local("air", fmt.Sprint(i)))
		f.mustPut(local("air2", fmt.Sprint(i)))
	}
	items, _ := f.revisions(store.RevisionQuery{Kind: sandrone.KindSubscription, Name: "air"})
	drop := func(id string) error {
		return f.Update(t.Context(), func(tx *store.Tx) error { return tx.Revisions().Delete(id) })
	}
	if err := drop(items[1].ID); err != nil {
		t.Error(err)
	}
	f.wantCode(drop(items[1].ID), sandrone.NotFound)
	f.raw(store.SpaceRevisions, items[2].ID, "damaged")
	if err := drop(items[2].ID); err != nil {
		t.Error(err)
	}
	if left, _ := f.revisions(store.RevisionQuery{Kind: sandrone.KindSubscription, Name: "air"}); len(left) != 1 || left[0].ID != items[0].ID {
		t.Errorf("got %v", left)
	}
	f.update(func(tx *store.Tx) error { return tx.Revisions().Purge("subscription", "air") })
	f.update(func(tx *store.Tx) error { return tx.Revisions().Purge("subscription", "air") })
	if left, _ := f.revisions(store.RevisionQuery{Kind: sandrone.KindSubscription}); len(left) != 3 || left[0].Name != "air2" {
		t.Errorf("got %v", left)
	}
	if n := f.size(store.SpaceRevisions); n != 3 {
		t.Errorf("%d definitions are stored", n)
	}
}

func (f *fixture) cachePut(layer store.Layer, key, body string, life store.Life) {
	f.Helper()
	err := f.Cache().Put(context.Background(), layer, store.KeyOf(key), store.Entry{Info: []byte("info"), Body: []byte(body)}, life)
	if err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) cached(layer store.Layer, key string) bool {
	_, ok := f.Cache().Get(context.Background(), layer, store.KeyOf(key))
	return ok
}

func (f *fixture) create() {
	f.Helper()
	if err := f.Create(context.Background()); err != nil {
		f.Fatal(err)
	}
}

func cacheLife(t *testing.T, f *fixture) {
	f.create()
	stored := f.clock().Truncate(time.Millisecond)
	f.cachePut(store.RemoteFetch, "a", "body", store.Life{Fresh: time.Minute, Keep: time.Hour})
	f.advance(time.Minute - time.Millisecond)
	e, ok := f.Cache().Get(t.Context(), store.RemoteFetch, store.KeyOf("a"))
	if !ok || !e.Fresh(f.clock()) || string(e.Body) != "body" || string(e.Info) != "info" || !e.StoredAt.Equal(stored) {
		t.Errorf("got %+v, %v", e, ok)
	}
	f.advance(time.Millisecond)
	if e, ok := f.Cache().Get(t.Context(), store.RemoteFetch, store.KeyOf("a")); !ok || e.Fresh(f.clock()) {
		t.Errorf("got %+v, %v, want a copy that is not fresh", e, ok)
	}
	f.advance(time.Hour - time.Minute)
	if f.cached(store.RemoteFetch, "a") {
		t.Error("an entry outlived its time")
	}
	f.cachePut(store.Probe, "b", "", store.Life{Fresh: time.Duration(1<<63 - 1)})
	if !f.cached(store.Probe, "b") || f.cached(store.FileRender, "b") || f.cached(store.Probe, "c") {
		t.Error("an entry without an end, or another one, is not as it should be")
	}
	if store.KeyOf("a", "b") == store.KeyOf("ab") || store.KeyOf("a", "b") == store.KeyOf("a", "", "b") {
		t.Error("two lists of parts have one key")
	}
}

func cacheWithoutLife(t *testing.T, f *fixture) {
	f.create()
	f.cachePut(store.FileRender, "a", "body", store.Life{Fresh: 0})
	f.cachePut(store.FileRender, "b", "body", store.Life{Fresh: -time.Second, Keep: -time.Hour})
	f.cachePut(store.RemoteFetch, "c", "body", store.Life{Fresh: -time.Second, Keep: time.Hour})
	if f.cached(store.FileRender, "a") || f.cached(store.FileRender, "b") || f.size(store.SpaceCacheValues) != 1 {
		t.Error("an entry without a life is stored")
	}
	if e, ok := f.Cache().Get(t.Context(), store.RemoteFetch, store.KeyOf("c")); !ok || e.Fresh(f.clock()) {
		t.Errorf("got %+v, %v, want a copy that was never fresh", e, ok)
	}
}

func cacheBound(t *testing.T, f *fixture) {
	f.create()
	const limit = 100_000
	f.Cache().SetLimit(limit)
	body := strings.Repeat("x", limit/10)
	life := store.Life{Fresh: 24 * time.Hour}
	for i := range 9 {
		f.advance(time.Second)
		f.cachePut(store.Layers[i%len(store.Layers)], fmt.Sprint(i), body, life)
	}
	f.cachePut(store.Probe, "expired", "x", store.Life{Fresh: time.Second})
	f.advance(time.Second)
	if !f.cached(store.Layers[0], "0") { // a use makes it the last to go
		t.Fatal("an entry within the bound is gone")
	}
	f.advance(time.Second)
	f.cachePut(store.FileRender, "new", body, life)
	var gone []string
	for i := range 9 {
		if !f.cached(store.Layers[i%len(store.Layers)], fmt.Sprint(i)) {
			gone = append(gone, fmt.Sprint(i))
		}
	}
	if !slices.Equal(gone, []string{"1"}) || !f.cached(store.FileRender, "new") {
		t.Errorf("gone: %v", gone)
	}
	if got := f.size(store.SpaceCacheValues); got != 9 {
		t.Errorf("%d values are stored, want nine: the expired one goes first", got)
	}
	f.Cache().SetLimit(limit / 2)
	if err := f.Cache().Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := f.size(store.SpaceCacheValues); got != 4 {
		t.Errorf("%d values are stored below the smaller bound", got)
	}
}

func cacheLargeEntry(t *testing.T, f *fixture) {
	f.create()
	f.Cache().SetLimit(40_000)
	life := store.Life{Fresh: time.Hour}
	f.cachePut(store.RemoteFetch, "a", strings.Repeat("x", 9_000), life)
	if !f.cached(store.RemoteFetch, "a") {
		t.Error("an entry below a quarter is not stored")
	}
	f.cachePut(store.RemoteFetch, "a", strings.Repeat("x", 10_001), life)
	if f.cached(store.RemoteFetch, "a") {
		t.Error("the copy of an older answer is still there")
	}
}

func cacheSweep(t *testing.T, f *fixture) {
	f.create()
	for i := range 20 {
		f.cachePut(store.Probe, fmt.Sprint(i), "x", store.Life{Fresh: time.Duration(i+1) * time.Minute})
	}
	f.advance(10 * time.Minute)
	if err := f.Cache().Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if values, index := f.size(store.SpaceCacheValues), f.size(store.SpaceCacheIndex); values != 10 || index != 10 {
		t.Errorf("got %d values and %d in the index", values, index)
	}
}

func cacheClearing(t *testing.T, f *fixture) {
	air := sandrone.Share{TargetKind: "subscription", TargetName: "air"}
	content := "x"
	file := func(content string) *sandrone.FileSpec {
		return &sandrone.FileSpec{Name: "f", Kind: "static", Source: &sandrone.FileSource{Type: "inline", Content: &content}}
	}
	none := store.Precondition{}
	for _, c := range []struct {
		name   string
		change func(tx *store.Tx) error
		kept   string // layers, by their first letters
	}{
		{"subscription put", func(tx *store.Tx) error { _, err := tx.Subscriptions().Put(local("air", "x"), none); return err }, "rp"},
		{"subscription put of the same", func(tx *store.Tx) error { _, err := tx.Subscriptions().Put(local("air", "x"), none); return err }, "rptsf"},
		{"subscription delete", func(tx *store.Tx) error { return tx.Subscriptions().Delete("air", none) }, "rp"},
		{"file put", func(tx *store.Tx) error { _, err := tx.Files().Put(file(content), none); return err }, "rpt"},
		{"file delete", func(tx *store.Tx) error { return tx.Files().Delete("f", none) }, "rpt"},
		{"settings put", func(tx *store.Tx) error { _, err := tx.Settings().Put(sandrone.DefaultSettings(), none); return err }, "rpt"},
		{"share put", func(tx *store.Tx) error { _, err := tx.Shares().Put(&air, none); return err }, "rptsf"},
		{"share delete", func(tx *store.Tx) error { return tx.Shares().Delete(air.ID, none) }, "rptsf"},
		{"clearing one", func(tx *store.Tx) error { return tx.ClearCache(store.Probe) }, "rtsf"},
	} {
		f.create()
		letters := []string{"r", "p", "t", "s", "f"}
		for _, layer := range store.Layers {
			f.cachePut(layer, "k", "x", store.Life{Fresh: time.Hour})
		}
		f.update(c.change)
		kept := ""
		for i, layer := range store.Layers {
			if f.cached(layer, "k") {
				kept += letters[i]
			}
		}
		if kept != c.kept {
			t.Errorf("%s: kept %q, want %q", c.name, kept, c.kept)
		}
	}
	if err := f.Cache().Clear(t.Context()); err != nil || f.size(store.SpaceCacheValues) != 0 {
		t.Errorf("clearing all: %v", err)
	}
}

func cacheEpoch(t *testing.T, f *fixture) {
	f.create()
	key := store.KeyOf("k")
	life := store.Life{Fresh: time.Hour}
	miss, ok := f.Cache().Get(t.Context(), store.FileRender, key)
	if ok || miss.Epoch == 0 {
		t.Fatalf("got %+v, %v", miss, ok)
	}
	f.mustPut(local("air", "x")) // while the file is rendered
	if err := f.Cache().Put(t.Context(), store.FileRender, key, store.Entry{Body: []byte("old"), Epoch: miss.Epoch}, life); err != nil {
		t.Fatal(err)
	}
	miss, ok = f.Cache().Get(t.Context(), store.FileRender, key)
	if ok {
		t.Error("what was made from an old definition is cached")
	}
	if err := f.Cache().Put(t.Context(), store.FileRender, key, store.Entry{Body: []byte("new"), Epoch: miss.Epoch}, life); err != nil {
		t.Fatal(err)
	}
	if !f.cached(store.FileRender, "k") {
		t.Error("what was made from the present definition is not cached")
	}
}

func cacheDamage(t *testing.T, f *fixture) {
	f.create()
	life := store.Life{Fresh: time.Hour}
	for name, damage := range map[string]func(kv store.KV, key string) error{
		"index":         func(kv store.KV, key string) error { return kv.Put(store.SpaceCacheIndex, key, []byte("x")) },
		"value":         func(kv store.KV, key string) error { return kv.Put(store.SpaceCacheValues, key, []byte{200}) },
		"empty value":   func(kv store.KV, key string) error { return kv.Put(store.SpaceCacheValues, key, nil) },
		"missing value": func(kv store.KV, key string) error { return kv.Delete(store.SpaceCacheValues, key) },
	} {
		f.cachePut(store.Probe, "a", "body", life)
		var key string
		err := f.backend.Update(t.Context(), func(kv store.KV) error {
			err := kv.Scan(store.SpaceCacheIndex, "", func(k string, _ []byte) error { key = k; return nil })
			if err != nil {
				return err
			}
			return damage(kv, key)
		})
		if err != nil {
			t.Fatal(err)
		}
		if f.cached(store.Probe, "a") {
			t.Errorf("%s: a hit", name)
		}
		f.cachePut(store.Probe, "a", "body", life)
		if !f.cached(store.Probe, "a") {
			t.Errorf("%s: a new entry did not replace it", name)
		}
	}
}

func cacheMakesNoStore(t *testing.T, f *fixture) {
	f.cachePut(store.Probe, "a", "body", store.Life{Fresh: time.Hour})
	if f.cached(store.Probe, "a") || f.size(store.SpaceCounters) != 0 {
		t.Error("the cache made a store")
	}
	if err := f.Cache().Clear(t.Context()); err != nil || f.size(store.SpaceCounters) != 0 {
		t.Errorf("clearing made a store, or failed: %v", err)
	}
}

func otherVersion(t *testing.T, f *fixture) {
	f.create()
	f.raw(store.SpaceCounters, "schema_version", "2")
	_, err := f.get("air")
	f.wantCode(err, sandrone.InternalError)
	_, err = f.put(local("air", "x"), store.Precondition{})
	f.wantCode(err, sandrone.InternalError)
}

func scan(t *testing.T, f *fixture) {
	err := f.backend.Update(t.Context(), func(kv store.KV) error {
		for _, key := range []string{"b/2", "a", "b/10", "b", "b/", "b0", "é", "\xff"} {
			if err := kv.Put("s", key, []byte(key)); err != nil {
				return err
			}
		}
		if err := kv.Put("s", "empty", nil); err != nil {
			return err
		}
		return kv.Put("other", "b/3", nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	err = f.backend.View(t.Context(), func(kv store.KV) error {
		var got []string
		collect := func(key string, value []byte) error {
			if got = append(got, key); key != "empty" && string(value) != key {
				t.Errorf("%q: got %q", key, value)
			}
			return nil
		}
		if err := kv.Scan("s", "b/", collect); err != nil || !slices.Equal(got, []string{"b/", "b/10", "b/2"}) {
			t.Errorf("got %q, %v", got, err)
		}
		got = nil
		if err := kv.Scan("s", "", collect); err != nil || !slices.IsSorted(got) || len(got) != 9 {
			t.Errorf("got %q, %v", got, err)
		}
		if err := kv.Scan("s", "", func(string, []byte) error { return io.EOF }); err != io.EOF {
			t.Errorf("got %v, want the error of the function", err)
		}
		if v, err := kv.Get("s", "empty"); err != nil || v == nil || len(v) != 0 {
			t.Errorf("an empty value: got %v, %v", v, err)
		}
		if v, err := kv.Get("s", "missing"); err != nil || v != nil {
			t.Errorf("a missing value: got %v, %v", v, err)
		}
		if v, err := kv.Get("nowhere", "a"); err != nil || v != nil {
			t.Errorf("a missing space: got %v, %v", v, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	err = f.backend.Update(t.Context(), func(kv store.KV) error {
		return errors.Join(kv.Delete("s", "missing"), kv.Delete("nowhere", "a"), kv.Clear("nowhere"), kv.Clear("s"))
	})
	if err != nil || f.size("s") != 0 || f.size("other") != 1 {
		t.Errorf("clearing: %v", err)
	}
}

func readOnly(t *testing.T, f *fixture) {
	f.mustPut(local("air", "x"))
	err := f.View(t.Context(), func(tx *store.Tx) error { return tx.Subscriptions().Delete("air", store.Precondition{}) })
	f.wantCode(err, sandrone.InternalError)
	err = f.View(t.Context(), func(tx *store.Tx) error {
		_, err := tx.Subscriptions().Put(local("b", "x"), store.Precondition{})
		return err
	})
	f.wantCode(err, sandrone.InternalError)
	err = f.backend.View(t.Context(), func(kv store.KV) error { return kv.Clear(store.SpaceResources) })
	f.wantCode(err, sandrone.InternalError)
	if f.content("air") != "x" {
		t.Error("it was changed all the same")
	}
}

func keyLimits(t *testing.T, f *fixture) {
	err := f.backend.Update(t.Context(), func(kv store.KV) error {
		if kv.Put("s", "", nil) == nil || kv.Put("s", strings.Repeat("x", 32769), nil) == nil {
			t.Error("a key without a length, or a longer one, was taken")
		}
		return kv.Put("s", strings.Repeat("x", 32768), nil)
	})
	if err != nil {
		t.Error(err)
	}
}

func (f *fixture) fill() (secret string) {
	f.Helper()
	f.mustPut(local("air", "1"))
	f.mustPut(local("air", "2"))
	f.mustPut(local("日本", "x"))
	share := f.share()
	settings := sandrone.DefaultSettings()
	settings.Log.Level = "debug"
	f.update(func(tx *store.Tx) (err error) {
		if _, err = tx.Settings().Put(settings, store.Precondition{}); err != nil {
			return err
		}
		if err = tx.Accesses().Add(share.ID, sandrone.ShareAccess{Status: 200}); err != nil {
			return err
		}
		_, secret, err = tx.Tokens().Create(sandrone.Token{Name: "phone", Scope: "read"})
		return err
	})
	f.raw(store.SpaceResources, "custom/some.bin", "\x00\xff")
	f.raw(store.SpaceResources, "subscriptions/broken.json", "{")
	f.cachePut(store.RemoteFetch, "k", "x", store.Life{Fresh: time.Hour})
	return secret
}

// resources are all keys that a backup covers, with their values.
func (f *fixture) resources() map[string]string {
	f.Helper()
	all := make(map[string]string)
	err := f.backend.View(context.Background(), func(kv store.KV) error {
		return kv.Scan(store.SpaceResources, "", func(key string, value []byte) error {
			all[key] = string(value)
			return nil
		})
	})
	if err != nil {
		f.Fatal(err)
	}
	return all
}

func (f *fixture) restore(archive []byte) (*store.Archive, error) {
	a, err := f.ReadArchive(strings.NewReader(string(archive)))
	if err != nil {
		return nil, err
	}
	return a, f.Restore(context.Background(), a)
}

func backup(t *testing.T, f *fixture) {
	empty, err := f.Backup(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	secret := f.fill()
	before := f.resources()
	archive, err := f.Backup(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	f.mustPut(local("new", "x"))
	f.mustPut(local("air", "3"))
	f.update(func(tx *store.Tx) error {
		return tx.Subscriptions().Delete("日本", store.Precondition{})
	})
	a, err := f.restore(archive)
	if err != nil {
		t.Fatal(err)
	}
	if want := (store.Counts{Subscriptions: 3, Shares: 1, Settings: true, Other: 1}); a.Counts != want || a.Manifest.AppVersion == "" {
		t.Errorf("got %+v, %+v", a.Counts, a.Manifest)
	}
	after := f.resources()
	if len(after) != len(before) {
		t.Errorf("%d keys became %d", len(before), len(after))
	}
	for key, value := range before {
		if after[key] != value {
			t.Errorf("%s: got %q, want %q", key, after[key], value)
		}
	}
	for _, space := range []store.Space{store.SpaceRevisions, store.SpaceRevisionIndex, store.SpaceAccesses, store.SpaceCacheValues, store.SpaceCacheIndex} {
		if n := f.size(space); n != 0 {
			t.Errorf("%s: %d keys are left", space, n)
		}
	}
	known := func() {
		t.Helper()
		f.view(func(tx *store.Tx) error {
			if _, ok, err := tx.Tokens().Find(secret); !ok || err != nil {
				t.Errorf("the token is gone: %v", err)
			}
			return nil
		})
	}
	known()
	if _, err := f.restore(empty); err != nil || len(f.resources()) != 0 {
		t.Errorf("an archive with only a manifest: %v, %v", err, f.resources())
	}
	known()
	f.view(func(tx *store.Tx) error {
		if s, _, err := tx.Settings().Get(); err != nil || s.Log.Level != "info" {
			t.Errorf("got %+v, %v", s.Log, err)
		}
		return nil
	})
}

func failedRestore(t *testing.T, f *fixture) {
	f.fill()
	before := f.resources()
	_, err := f.restore([]byte("PK but no archive"))
	f.wantCode(err, sandrone.BackupInvalid)
	archive, err := f.Backup(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	a, err := f.ReadArchive(strings.NewReader(string(archive)))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.Restore(ctx, a); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if after := f.resources(); len(after) != len(before) || f.size(store.SpaceRevisions) == 0 {
		t.Error("something was changed")
	}
}
