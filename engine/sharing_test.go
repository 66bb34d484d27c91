package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"filippo.io/age"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/engine"
	"github.com/sandrone-gateway/sandrone/fetch"
	"github.com/sandrone-gateway/sandrone/store"
)

func putShare(t *testing.T, e *engine.Engine, s sandrone.Share) engine.ShareView {
	t.Helper()
	view, err := e.PutShare(t.Context(), &s, store.Precondition{})
	if err != nil {
		t.Fatal(err)
	}
	return view
}

func putFile(t *testing.T, e *engine.Engine, name, text string) {
	t.Helper()
	f := &sandrone.FileSpec{Name: name, Kind: "static", Source: &sandrone.FileSource{Type: "inline", Content: &text}}
	if _, err := e.PutFile(t.Context(), f, store.Precondition{}); err != nil {
		t.Fatal(err)
	}
}

func TestPutShareChecksTargetFormatAndRecipient(t *testing.T) {
	rows := []struct {
		name  string
		share sandrone.Share
		code  sandrone.Code
		field string
	}{
		{"of a subscription", sandrone.Share{TargetKind: " Subscription ", TargetName: "air"}, "", ""},
		{"in a version", sandrone.Share{TargetKind: "subscription", TargetName: "air", TargetFormat: "sing-box-outbounds@1.11"}, "", ""},
		{"of a file", sandrone.Share{TargetKind: "file", TargetName: "notes"}, "", ""},
		{"in an unknown format", sandrone.Share{TargetKind: "subscription", TargetName: "air", TargetFormat: "magic"}, sandrone.InvalidArgument, "target_format"},
		{"in an unknown version", sandrone.Share{TargetKind: "subscription", TargetName: "air", TargetFormat: "sing-box-outbounds@0.1"}, sandrone.InvalidArgument, "target_format"},
		{"of a missing subscription", sandrone.Share{TargetKind: "subscription", TargetName: "notes"}, sandrone.NotFound, "target_name"},
		{"of a missing file", sandrone.Share{TargetKind: "file", TargetName: "air"}, sandrone.NotFound, "target_name"},
		{"of a token", sandrone.Share{TargetKind: "token", TargetName: "air"}, sandrone.InvalidArgument, "target_kind"},
		{"for a word", sandrone.Share{TargetKind: "file", TargetName: "notes", AgeRecipient: "age1magic"}, sandrone.InvalidArgument, "age_recipient"},
		{"for a secret key", sandrone.Share{TargetKind: "file", TargetName: "notes", AgeRecipient: "AGE-SECRET-KEY-1QQQ"}, sandrone.InvalidArgument, "age_recipient"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			e := workbench(t, nil)
			put(t, e, local("air", link("a")))
			putFile(t, e, "notes", "hello")
			view, err := e.PutShare(t.Context(), &row.share, store.Precondition{})
			if code(err) != row.code || err != nil && sandrone.AsError(err).Field != row.field {
				t.Fatalf("got %v, want %q at %q", err, row.code, row.field)
			}
			list, listErr := e.Shares(t.Context())
			if listErr != nil || (len(list) == 1) != (err == nil) {
				t.Fatalf("got %d shares, %v", len(list), listErr)
			}
			if err == nil && (view.ID == "" || view.ETag == "" || view.CreatedAt.IsZero() || view.PublicFilename == "" || view.ShareUse != nil) {
				t.Errorf("got %+v", view)
			}
		})
	}
}

func TestShareNames(t *testing.T) {
	long := strings.Repeat("名", 80)
	rows := []struct {
		name  string
		share sandrone.Share
		want  string
	}{
		{"cleaned, with the extension of the format", sandrone.Share{Name: "we:ird*na?me.yaml"}, "we_ird_na_me.txt"},
		{"the target's without one", sandrone.Share{}, "air.txt"},
		{"in another format", sandrone.Share{Name: "a.txt", TargetFormat: "mihomo-proxies"}, "a.yaml"},
		{"one extension only", sandrone.Share{Name: "a.yaml.json"}, "a.yaml.txt"},
		{"before that of age", sandrone.Share{Name: "a.yml.age"}, "a.txt"},
		{"nothing left of it", sandrone.Share{Name: ".yaml"}, "air.txt"},
		{"dots and blanks", sandrone.Share{Name: " . a b . "}, "a b.txt"},
		{"no extension that is known", sandrone.Share{Name: "v1.2"}, "v1.2.txt"},
		{"long", sandrone.Share{Name: long}, long + ".txt"},
		{"for a recipient", sandrone.Share{Name: "a.age", AgeRecipient: recipient}, "a.txt.age"},
		{"a file's keeps its extension", sandrone.Share{TargetKind: "file", TargetName: "my:notes.yaml"}, ""},
		{"a file's own", sandrone.Share{TargetKind: "file", TargetName: "notes.md"}, "notes.md"},
		{"a file's given", sandrone.Share{TargetKind: "file", TargetName: "notes.md", Name: "x/y.conf"}, ""},
		{"a file's renamed", sandrone.Share{TargetKind: "file", TargetName: "notes.md", Name: "x?y.conf"}, "x_y.conf"},
		{"a file's for a recipient", sandrone.Share{TargetKind: "file", TargetName: "notes.md", Name: "x.conf.AGE", AgeRecipient: recipient}, "x.conf.age"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			e := workbench(t, nil)
			put(t, e, local("air", link("a")))
			putFile(t, e, "notes.md", "hello")
			if row.share.TargetKind == "" {
				row.share.TargetKind, row.share.TargetName = "subscription", "air"
			}
			view, err := e.PutShare(t.Context(), &row.share, store.Precondition{})
			if row.want == "" {
				if err == nil {
					t.Errorf("got %+v, want an error", view)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if view.PublicFilename != row.want {
				t.Errorf("got %q, want %q", view.PublicFilename, row.want)
			}
			if got := len(view.FormatFilenames) > 0; got != (view.TargetKind == "subscription") {
				t.Errorf("got names by format %v", view.FormatFilenames)
			}
			shared, err := e.SharedRead(t.Context(), engine.ShareRequest{ID: view.ID, Filename: row.want, HasFilename: true})
			if err != nil || shared.Filename != row.want {
				t.Errorf("got %+v, %v when it is read by that name", shared, err)
			}
			if _, err := e.SharedRead(t.Context(), engine.ShareRequest{ID: view.ID, Filename: "other.txt", HasFilename: true}); code(err) != sandrone.InvalidArgument {
				t.Errorf("got %v for another name, want invalid_argument", err)
			}
		})
	}
}

func TestLongShareNamesAreCut(t *testing.T) {
	e := workbench(t, nil)
	put(t, e, local(strings.Repeat("x", 200), link("a")))
	view := putShare(t, e, sandrone.Share{TargetKind: "subscription", TargetName: strings.Repeat("x", 200)})
	if want := strings.Repeat("x", 128) + ".txt"; view.PublicFilename != want {
		t.Errorf("got %q, want %q", view.PublicFilename, want)
	}
}

// recipient is nobody's.
const (
	recipient = "age1lvyvwawkr0mcnnnncaghunadrqkmuf9e6507x9y920xxpp866cnql7dp2z"
)

func TestSharedReadHasOneAnswerForAllThatIsNotThere(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	e := workbench(t, func(o *engine.Options) { o.Now = func() time.Time { return now } })
	put(t, e, local("air", link("a")))
	put(t, e, local("gone", link("a")))
	put(t, e, &sandrone.Subscription{Name: "hollow", Type: "collection", Inputs: []sandrone.NodeInput{
		{Name: "x", Type: "subscription", Ref: &sandrone.ResourceRef{Kind: "subscription", Name: "absent"}, Required: true}}})
	ids := map[string]string{"unknown": "sh_00000000000000000000000000000000", "no id": "..", "empty": ""}
	ids["early"] = putShare(t, e, sandrone.Share{TargetKind: "subscription", TargetName: "air", ValidFrom: now.Add(time.Second)}).ID
	ids["late"] = putShare(t, e, sandrone.Share{TargetKind: "subscription", TargetName: "air", ValidUntil: now}).ID
	ids["without target"] = putShare(t, e, sandrone.Share{TargetKind: "subscription", TargetName: "gone"}).ID
	ids["without what the target needs"] = putShare(t, e, sandrone.Share{TargetKind: "subscription", TargetName: "hollow"}).ID
	ids["deleted"] = putShare(t, e, sandrone.Share{TargetKind: "subscription", TargetName: "air"}).ID
	if err := e.DeleteSubscription(t.Context(), "gone", store.Precondition{}); err != nil {
		t.Fatal(err)
	}
	if err := e.DeleteShare(t.Context(), ids["deleted"], store.Precondition{}); err != nil {
		t.Fatal(err)
	}
	for name, id := range ids {
		_, err := e.SharedRead(t.Context(), engine.ShareRequest{ID: id, Format: "uri-list"})
		if got := fmt.Sprintf("%+v", shown(err)); got != fmt.Sprintf("%+v", sandrone.Error{Code: "not_found", Message: "share not found"}) {
			t.Errorf("%s: got %s", name, got)
		}
	}
	from := putShare(t, e, sandrone.Share{TargetKind: "subscription", TargetName: "air", ValidFrom: now, ValidUntil: now.Add(time.Second)})
	if _, err := e.SharedRead(t.Context(), engine.ShareRequest{ID: from.ID}); err != nil {
		t.Errorf("got %v from its first moment on", err)
	}
}

// shown is what a caller sees of an error.
func shown(err error) sandrone.Error {
	e := *sandrone.AsError(err)
	return *e.Because(nil)
}

func TestSharedReadTellsStrangersNoMoreThanACode(t *testing.T) {
	e := workbench(t, nil)
	put(t, e, &sandrone.Subscription{Name: "down", Type: "remote", Remote: &sandrone.RemoteInput{URL: "https://down.example/?token=hunter2"}})
	broken := local("broken", link("a"))
	broken.Processors = []sandrone.ProcessorSpec{{Type: "teleport"}}
	put(t, e, broken)
	for target, want := range map[string]sandrone.Error{
		"down":   {Code: "fetch_failed", Message: "a source could not be fetched"},
		"broken": {Code: "processor_unknown", Message: "the share could not be made"},
	} {
		share := putShare(t, e, sandrone.Share{TargetKind: "subscription", TargetName: target})
		_, err := e.SharedRead(t.Context(), engine.ShareRequest{ID: share.ID, UserAgent: "clash"})
		if got := fmt.Sprintf("%+v", shown(err)); got != fmt.Sprintf("%+v", want) {
			t.Errorf("%s: got %s, want %+v", target, got, want)
		}
		accesses, err := e.ShareAccesses(t.Context(), share.ID)
		if err != nil || len(accesses) != 1 || accesses[0].Status != want.Code.Status() {
			t.Errorf("%s: got accesses %+v, %v", target, accesses, err)
		}
	}
	share := putShare(t, e, sandrone.Share{TargetKind: "subscription", TargetName: "down"})
	_, err := e.SharedRead(t.Context(), engine.ShareRequest{ID: share.ID, Format: "magic"})
	if got := shown(err); got.Code != sandrone.InvalidArgument || got.Field != "" || got.Message != "the request is not valid for this share" {
		t.Errorf("got %+v for an unknown format", got)
	}
}

func TestSharedReadAnswersWithItsTagAndType(t *testing.T) {
	e := workbench(t, nil)
	put(t, e, local("air", link("a")))
	putFile(t, e, "page.html", "<script>alert(1)</script>")
	share := putShare(t, e, sandrone.Share{TargetKind: "subscription", TargetName: "air", TargetFormat: "uri-list"})
	first, err := e.SharedRead(t.Context(), engine.ShareRequest{ID: share.ID, UserAgent: "one"})
	if err != nil || string(first.Body) != link("a") && !strings.Contains(string(first.Body), "192.0.2.1") || first.ETag == "" {
		t.Fatalf("got %+v, %v", first, err)
	}
	second, err := e.SharedRead(t.Context(), engine.ShareRequest{ID: share.ID, IfNoneMatch: []string{`"x"`, first.ETag}, UserAgent: "two"})
	if err != nil || !second.NotModified || second.Body != nil || second.ETag != first.ETag || second.Header["profile-title"] != "air" {
		t.Errorf("got %+v, %v, want the same headers without a body", second, err)
	}
	if weak, err := e.SharedRead(t.Context(), engine.ShareRequest{ID: share.ID, IfNoneMatch: []string{"W/" + first.ETag}}); err != nil || !weak.NotModified {
		t.Errorf("got %+v, %v for a tag that a proxy made weak", weak, err)
	}
	other, err := e.SharedRead(t.Context(), engine.ShareRequest{ID: share.ID, Format: "MIHOMO-proxies@1.18", IfNoneMatch: []string{first.ETag}})
	if err != nil || other.NotModified || other.ContentType != "application/yaml" || other.Filename != "air.yaml" {
		t.Errorf("got %+v, %v in another format", other, err)
	}
	view, err := e.Share(t.Context(), share.ID)
	if err != nil || view.AccessCount != 4 || view.LastUserAgent != "" || view.LastAccessAt.IsZero() {
		t.Errorf("got %+v, %v after four reads", view.ShareUse, err)
	}

	page := putShare(t, e, sandrone.Share{TargetKind: "file", TargetName: "page.html", ContentType: "text/HTML; charset=utf-8"})
	read, err := e.SharedRead(t.Context(), engine.ShareRequest{ID: page.ID})
	if err != nil || read.ContentType != "text/plain; charset=utf-8" || read.Header != nil {
		t.Errorf("got %+v, %v for a page", read, err)
	}
	for given, want := range map[string]string{
		"image/svg+xml": "text/plain; charset=utf-8", "application/xhtml+xml": "text/plain; charset=utf-8", "application/xml": "text/plain; charset=utf-8",
		"application/yaml": "application/yaml", "text/css": "text/css",
	} {
		share := putShare(t, e, sandrone.Share{TargetKind: "file", TargetName: "page.html", ContentType: given})
		if read, err := e.SharedRead(t.Context(), engine.ShareRequest{ID: share.ID}); err != nil || read.ContentType != want {
			t.Errorf("%s: got %+v, %v, want %s", given, read, err, want)
		}
	}
}

func TestSharedReadEncryptsForItsRecipient(t *testing.T) {
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	e := workbench(t, nil)
	put(t, e, local("air", link("a")))
	share := putShare(t, e, sandrone.Share{TargetKind: "subscription", TargetName: "air", TargetFormat: "mihomo-proxies", AgeRecipient: id.Recipient().String(), ContentType: "text/css"})
	read, err := e.SharedRead(t.Context(), engine.ShareRequest{ID: share.ID, IfNoneMatch: []string{"*"}})
	if err != nil {
		t.Fatal(err)
	}
	if read.ContentType != "application/age" || read.OriginalType != "application/yaml" || read.ETag != "" || read.NotModified || read.Header != nil || read.Filename != "air.yaml.age" {
		t.Errorf("got %+v", read)
	}
	if !bytes.HasPrefix(read.Body, []byte("age-encryption.org/v1\n")) {
		t.Fatalf("got %q", read.Body[:20])
	}
	r, err := age.Decrypt(bytes.NewReader(read.Body), id)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(r); err != nil || !strings.Contains(string(text), "192.0.2.1") {
		t.Errorf("got %q, %v", text, err)
	}
}

func TestSharedReadTellsClientsOfThePlan(t *testing.T) {
	header := http.Header{
		"Subscription-Userinfo":   {"upload=1024; download=2048; total=10240; expire=4102444800"},
		"Profile-Update-Interval": {"6"},
		"Profile-Web-Page-Url":    {"https://air.example/panel"},
	}
	e := workbench(t, func(o *engine.Options) {
		o.Fetcher = fetchFunc(func(_ context.Context, req fetch.Request) (*fetch.Response, error) {
			return &fetch.Response{Status: 200, Body: []byte(link("a")), Header: header, Ref: sandrone.SourceRef{Kind: "remote", URL: req.URL}}, nil
		})
	})
	put(t, e, &sandrone.Subscription{Name: "air", DisplayName: "航空", Type: "remote", Remote: &sandrone.RemoteInput{URL: "https://air.example/"}})
	share := putShare(t, e, sandrone.Share{TargetKind: "subscription", TargetName: "air"})
	read, err := e.SharedRead(t.Context(), engine.ShareRequest{ID: share.ID})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"profile-title":           "base64:6Iiq56m6",
		"profile-update-interval": "6",
		"subscription-userinfo":   "upload=1024; download=2048; total=10240; expire=4102444800",
		"profile-web-page-url":    "https://air.example/panel",
	}
	if fmt.Sprint(read.Header) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", read.Header, want)
	}
	named := putShare(t, e, sandrone.Share{Name: "mine", TargetKind: "subscription", TargetName: "air"})
	if read, err = e.SharedRead(t.Context(), engine.ShareRequest{ID: named.ID}); err != nil || read.Header["profile-title"] != "mine" {
		t.Errorf("got %v, %v, want the name of the share", read.Header, err)
	}

	// A local one has no plan, and comes back daily.
	put(t, e, local("own", link("a")))
	own := putShare(t, e, sandrone.Share{TargetKind: "subscription", TargetName: "own"})
	read, err = e.SharedRead(t.Context(), engine.ShareRequest{ID: own.ID})
	if err != nil || fmt.Sprint(read.Header) != fmt.Sprint(map[string]string{"profile-title": "own", "profile-update-interval": "24"}) {
		t.Errorf("got %v, %v", read.Header, err)
	}
}

func TestAccessesOfUnknownIdsAreNotNoted(t *testing.T) {
	e := workbench(t, nil)
	put(t, e, local("air", link("a")))
	share := putShare(t, e, sandrone.Share{TargetKind: "subscription", TargetName: "air"})
	const unknown = "sh_00000000000000000000000000000001"
	e.SharedRead(t.Context(), engine.ShareRequest{ID: unknown})
	e.SharedRead(t.Context(), engine.ShareRequest{ID: share.ID, ClientAddress: "192.0.2.7", UserAgent: strings.Repeat("u", 1000)})
	accesses, err := e.ShareAccesses(t.Context(), share.ID)
	if err != nil || len(accesses) != 1 || accesses[0].ClientAddress != "192.0.2.7" || len(accesses[0].UserAgent) != 256 || accesses[0].Status != 200 {
		t.Errorf("got %+v, %v", accesses, err)
	}
	if _, err := e.ShareAccesses(t.Context(), unknown); code(err) != sandrone.NotFound {
		t.Errorf("got %v, want not_found", err)
	}
	if _, err := e.PutShare(t.Context(), &sandrone.Share{ID: unknown, TargetKind: "subscription", TargetName: "air"}, store.Precondition{}); err != nil {
		t.Fatal(err)
	}
	if accesses, err = e.ShareAccesses(t.Context(), unknown); err != nil || len(accesses) != 0 {
		t.Errorf("got %+v, %v of a share that was not there when it was asked for", accesses, err)
	}
}

func TestEqualSharedReadsTakeOneSlotAndOneRun(t *testing.T) {
	var fetches, slots atomic.Int32
	begun, proceed := make(chan struct{}), make(chan struct{})
	e := workbench(t, func(o *engine.Options) {
		o.Fetcher = fetchFunc(func(context.Context, fetch.Request) (*fetch.Response, error) {
			if fetches.Add(1) == 1 {
				close(begun)
			}
			<-proceed
			return &fetch.Response{Status: 200, Body: []byte(link("a"))}, nil
		})
	})
	put(t, e, &sandrone.Subscription{Name: "air", Type: "remote", Remote: &sandrone.RemoteInput{URL: "https://air.example/"}})
	share := putShare(t, e, sandrone.Share{TargetKind: "subscription", TargetName: "air"})
	var held atomic.Int32
	slot := func(context.Context) (func(), error) {
		slots.Add(1)
		held.Add(1)
		return func() { held.Add(-1) }, nil
	}
	var wg sync.WaitGroup
	read := func() {
		if _, err := e.SharedRead(t.Context(), engine.ShareRequest{ID: share.ID, Slot: slot}); err != nil {
			t.Error(err)
		}
	}
	wg.Go(read)
	<-begun
	for range 20 {
		wg.Go(read)
	}
	close(proceed)
	wg.Wait()
	// Those that came after the first run had ended made one of their own.
	if f, s := fetches.Load(), slots.Load(); f != s || f < 1 || held.Load() != 0 {
		t.Errorf("got %d fetches in %d slots, %d of them still held", f, s, held.Load())
	}
}

func TestSharedReadFromCacheTakesNoSlot(t *testing.T) {
	e := workbench(t, nil)
	minute := int64(60)
	s := local("air", link("a"))
	s.RenderCacheTTLSeconds = &minute
	put(t, e, s)
	share := putShare(t, e, sandrone.Share{TargetKind: "subscription", TargetName: "air"})
	full := func(context.Context) (func(), error) {
		return nil, sandrone.Errorf(sandrone.Busy, "too much at once")
	}
	_, err := e.SharedRead(t.Context(), engine.ShareRequest{ID: share.ID, Slot: full})
	if code(err) != sandrone.Busy {
		t.Errorf("got %v without a slot, want busy", err)
	}
	if _, err := e.SharedRead(t.Context(), engine.ShareRequest{ID: share.ID}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.SharedRead(t.Context(), engine.ShareRequest{ID: share.ID, Slot: full}); err != nil {
		t.Errorf("got %v for what the cache holds", err)
	}
}

func TestSharedReadAfterAWriteShowsTheWrite(t *testing.T) {
	begun, proceed := make(chan struct{}), make(chan struct{})
	var once sync.Once
	e := workbench(t, func(o *engine.Options) {
		o.Fetcher = fetchFunc(func(_ context.Context, req fetch.Request) (*fetch.Response, error) {
			if strings.Contains(req.URL, "old") {
				once.Do(func() { close(begun) })
				<-proceed
			}
			return &fetch.Response{Status: 200, Body: []byte(link(req.URL[len("https://"):len("https://old")]))}, nil
		})
	})
	put(t, e, &sandrone.Subscription{Name: "air", Type: "remote", Remote: &sandrone.RemoteInput{URL: "https://old.example/"}})
	share := putShare(t, e, sandrone.Share{TargetKind: "subscription", TargetName: "air", TargetFormat: "uri-list"})
	var wg sync.WaitGroup
	wg.Go(func() { e.SharedRead(t.Context(), engine.ShareRequest{ID: share.ID}) })
	<-begun
	put(t, e, &sandrone.Subscription{Name: "air", Type: "remote", Remote: &sandrone.RemoteInput{URL: "https://new.example/"}})
	read, err := e.SharedRead(t.Context(), engine.ShareRequest{ID: share.ID})
	close(proceed)
	wg.Wait()
	if err != nil || !strings.Contains(string(read.Body), "new") {
		t.Errorf("got %v, %v, want the nodes of what was written before the read", read, err)
	}
}

func TestSharedReadThatNobodyWaitsForIsNoAccess(t *testing.T) {
	e := workbench(t, nil)
	put(t, e, local("air", link("a")))
	share := putShare(t, e, sandrone.Share{TargetKind: "subscription", TargetName: "air"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.SharedRead(ctx, engine.ShareRequest{ID: share.ID}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the end of the context", err)
	}
	if accesses, err := e.ShareAccesses(t.Context(), share.ID); err != nil || len(accesses) != 0 {
		t.Errorf("got %+v, %v", accesses, err)
	}
}
