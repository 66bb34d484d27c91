package engine_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/engine"
	"github.com/sandrone-gateway/sandrone/fetch"
)

func (b *bench) patch(t testing.TB, merge string) {
	t.Helper()
	if _, err := b.PatchSettings(t.Context(), []byte(merge), noPrecondition); err != nil {
		t.Fatal(err)
	}
}

func refNote(t testing.TB, r sandrone.Report) string {
	t.Helper()
	if len(r.SourceRefs) == 0 || r.SourceRefs[0].Kind != "remote" {
		t.Fatalf("no remote ref in %v", r.SourceRefs)
	}
	_, note, _ := strings.Cut(r.SourceRefs[0].Note, "sha256=")
	_, note, _ = strings.Cut(note, " ")
	return note
}

func TestFreshCopyIsUsedWithoutARequest(t *testing.T) {
	web := &answers{}
	web.set(air, answer{text: link("a")})
	b := newWorkbench(t, web)
	b.put(t, `{"name":"air","type":"remote","remote":{"url":"`+air+`#x","cache_ttl_seconds":60}}`)
	web.set(air+"#x", answer{text: link("a")})
	b.preview(t, "air")
	b.now = b.now.Add(59 * time.Second)
	p := b.preview(t, "air")
	if n := web.count(air + "#x"); n != 1 || refNote(t, p.Report) != "cache_hit=true" {
		t.Errorf("%d requests, note %q", n, refNote(t, p.Report))
	}
	b.now = b.now.Add(2 * time.Second)
	b.preview(t, "air")
	if n := web.count(air + "#x"); n != 2 {
		t.Errorf("%d requests after the copy was no longer fresh", n)
	}
	if _, err := b.PreviewSubscription(t.Context(), engine.PreviewRequest{Name: "air", Refresh: true}); err != nil || web.count(air+"#x") != 3 {
		t.Errorf("%d requests after a refresh, %v", web.count(air+"#x"), err)
	}
}

func TestHeldCopyIsRevalidated(t *testing.T) {
	web := &answers{}
	web.set(air, answer{text: link("a"), etag: `"1"`})
	b := newWorkbench(t, web)
	b.put(t, remoteAir("air"))
	b.preview(t, "air")
	p := b.preview(t, "air")
	if web.last.ETag != `"1"` || nodeNames(p.Nodes) != "a" || refNote(t, p.Report) != "cache_hit=true" {
		t.Errorf("asked with %q, got %q, %q", web.last.ETag, nodeNames(p.Nodes), refNote(t, p.Report))
	}
	if _, err := b.PreviewSubscription(t.Context(), engine.PreviewRequest{Name: "air", Refresh: true}); err != nil || web.last.ETag != "" {
		t.Errorf("a refresh asked with %q, %v", web.last.ETag, err)
	}
}

func TestLastGoodCopyStandsInForASourceThatFails(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer answer
		cause  sandrone.Code // empty: the copy is not used
		code   sandrone.Code
	}{
		{"status", answer{err: sandrone.Errorf(sandrone.FetchFailed, "remote returned status 502")}, sandrone.FetchFailed, ""},
		{"timeout", answer{err: sandrone.Errorf(sandrone.FetchTimeout, "too slow")}, sandrone.FetchTimeout, ""},
		{"web page", answer{text: "<html><body>pay your bill</body></html>"}, sandrone.ParseFailed, ""},
		{"empty", answer{text: " "}, sandrone.ParseFailed, ""},
		{"text of no format", answer{text: "come back later"}, sandrone.InvalidArgument, ""},
		{"forbidden address", answer{err: sandrone.Errorf(sandrone.FetchForbidden, "not publicly routable")}, "", sandrone.FetchForbidden},
		{"bad request", answer{err: sandrone.Errorf(sandrone.InvalidArgument, "bad proxy")}, "", sandrone.InvalidArgument},
	} {
		t.Run(c.name, func(t *testing.T) {
			web := &answers{}
			web.set(air, answer{text: link("a")})
			b := newWorkbench(t, web)
			b.put(t, remoteAir("air"))
			b.preview(t, "air")
			b.now = b.now.Add(2 * time.Hour)
			web.set(air, c.answer)
			for _, refresh := range []bool{false, true} {
				r, err := b.RenderSubscription(t.Context(), engine.RenderRequest{Name: "air", Format: "uri-list", Refresh: refresh})
				if c.cause == "" {
					if e := failure(t, err); e.Code != c.code {
						t.Errorf("got %v", e)
					}
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				w := r.Report.Warnings
				if len(w) != 1 || w[0].Code != sandrone.WarnRemoteStale || w[0].Cause != string(c.cause) || w[0].AgeSeconds != 7200 || w[0].Source != "air" {
					t.Errorf("got warnings %+v", w)
				}
				if r.Report.Status != sandrone.StatusPartial || r.Stale != 7200 || !strings.HasSuffix(string(r.Body), "#a") || refNote(t, r.Report) != "cache_hit=true stale=true" {
					t.Errorf("got %s, stale %d, %s, %q", r.Report.Status, r.Stale, r.Body, refNote(t, r.Report))
				}
			}
			p, err := b.PreviewSubscription(t.Context(), engine.PreviewRequest{Name: "air"})
			if c.cause != "" && (err != nil || !p.Stale) {
				t.Errorf("the preview does not say that it is stale: %v", err)
			}
		})
	}
}

func TestLastGoodCopyIsKeptForItsTimeOnly(t *testing.T) {
	web := &answers{}
	web.set(air, answer{text: link("a")})
	b := newWorkbench(t, web)
	b.put(t, remoteAir("air"))
	b.preview(t, "air")
	web.set(air, answer{err: sandrone.Errorf(sandrone.FetchFailed, "down")})
	b.now = b.now.Add(7*24*time.Hour - time.Minute)
	b.preview(t, "air")
	b.patch(t, `{"remote_defaults":{"stale_if_error_seconds":0}}`)
	if _, err := b.PreviewSubscription(t.Context(), engine.PreviewRequest{Name: "air"}); failure(t, err).Code != sandrone.FetchFailed {
		t.Errorf("got %v with copies turned off", err)
	}
	b.patch(t, `{"remote_defaults":{"stale_if_error_seconds":null}}`)
	b.now = b.now.Add(2 * time.Minute)
	_, err := b.PreviewSubscription(t.Context(), engine.PreviewRequest{Name: "air"})
	if e := failure(t, err); e.Code != sandrone.FetchFailed || e.ResourceName != "air" || e.Source != "https://air.example" {
		t.Errorf("got %+v after a week", e)
	}
}

func TestBadAnswerDoesNotReplaceTheLastGoodCopy(t *testing.T) {
	web := &answers{}
	web.set(air, answer{text: link("a")})
	b := newWorkbench(t, web)
	b.put(t, remoteAir("air"))
	b.preview(t, "air")
	web.set(air, answer{text: "<html>", header: map[string]string{"Subscription-Userinfo": "total=5"}})
	if _, err := b.Traffic(t.Context(), "air", true); err != nil { // reads the page's header, not its body
		t.Fatal(err)
	}
	b.preview(t, "air")
	web.set(air, answer{err: sandrone.Errorf(sandrone.FetchFailed, "down")})
	if p := b.preview(t, "air"); nodeNames(p.Nodes) != "a" {
		t.Errorf("got %q", nodeNames(p.Nodes))
	}
}

func TestPublicConversionHasNoCopies(t *testing.T) {
	web := &answers{}
	web.set(air, answer{text: link("a")})
	b := newWorkbench(t, web)
	request := func(public bool) error {
		_, err := b.Convert(t.Context(), engine.ConvertRequest{ToFormat: "uri-list", Remote: &engine.Remote{URL: air}, Public: public})
		return err
	}
	if err := request(true); err != nil {
		t.Fatal(err)
	}
	web.set(air, answer{err: sandrone.Errorf(sandrone.FetchFailed, "down")})
	if err := request(false); failure(t, err).Code != sandrone.FetchFailed {
		t.Error("a public conversion left a copy")
	}
	web.set(air, answer{text: link("a")})
	if err := request(false); err != nil {
		t.Fatal(err)
	}
	web.set(air, answer{err: sandrone.Errorf(sandrone.FetchFailed, "down")})
	if err := request(false); err != nil {
		t.Errorf("the operator's conversion did not fall back on its copy: %v", err)
	}
	if err := request(true); failure(t, err).Code != sandrone.FetchFailed {
		t.Error("a public conversion used the operator's copy")
	}
}

func TestManyRendersAtOnceAskTheSourceOnce(t *testing.T) {
	asked, release := make(chan struct{}, 200), make(chan struct{})
	web := fetchFunc(func(ctx context.Context, req fetch.Request) (*fetch.Response, error) {
		asked <- struct{}{}
		select {
		case <-release:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		return &fetch.Response{Status: 200, Body: []byte(link("a")), Ref: sandrone.SourceRef{Kind: "remote", Name: req.URL}}, nil
	})
	b := newWorkbench(t, web)
	b.put(t, `{"name":"air","type":"remote","remote":{"url":"https://a.example/","cache_ttl_seconds":60}}`)
	gone, leave := context.WithCancel(t.Context())
	first := make(chan error)
	go func() {
		_, err := b.RenderSubscription(gone, engine.RenderRequest{Name: "air"})
		first <- err
	}()
	<-asked
	var wg sync.WaitGroup
	for range 200 {
		wg.Go(func() {
			r, err := b.RenderSubscription(t.Context(), engine.RenderRequest{Name: "air"})
			if err != nil || !strings.HasSuffix(string(r.Body), "#a") {
				t.Errorf("got %v", err)
			}
		})
	}
	close(release)
	wg.Wait()
	leave()
	<-first
	if n := len(asked) + 1; n != 1 {
		t.Errorf("%d requests, want one", n)
	}
}

func TestSourceIsLeftAloneWhenNobodyWaits(t *testing.T) {
	asked, left := make(chan struct{}), make(chan struct{})
	web := fetchFunc(func(ctx context.Context, req fetch.Request) (*fetch.Response, error) {
		close(asked)
		<-ctx.Done()
		close(left)
		return nil, ctx.Err()
	})
	b := newWorkbench(t, web)
	b.put(t, remoteAir("air"))
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-asked; cancel() }()
	if _, err := b.RenderSubscription(ctx, engine.RenderRequest{Name: "air"}); err != context.Canceled {
		t.Errorf("got %v", err)
	}
	<-left
}

func TestSourceThatTakesTooLongIsAnErrorAndNoCancelledRequest(t *testing.T) {
	web := &answers{}
	web.set(air, answer{err: sandrone.Errorf(sandrone.FetchTimeout, "too slow").Because(context.DeadlineExceeded)})
	b := newWorkbench(t, web)
	b.put(t, remoteAir("air"), `{"name":"all","type":"collection","inputs":[{"name":"air","type":"subscription","required":true}]}`)
	if _, err := b.RenderSubscription(t.Context(), engine.RenderRequest{Name: "all"}); failure(t, err).Code != sandrone.FetchTimeout {
		t.Errorf("got %v", err)
	}
}

func TestPanicOfASourceReachesTheCaller(t *testing.T) {
	b := newWorkbench(t, fetchFunc(func(context.Context, fetch.Request) (*fetch.Response, error) { panic("broken fetcher") }))
	b.put(t, remoteAir("air"), `{"name":"all","type":"collection","inputs":[{"name":"air","type":"subscription"}]}`)
	for _, name := range []string{"air", "all"} {
		func() {
			defer func() {
				if _, ok := recover().(*engine.PanicError); !ok {
					t.Errorf("%s: the panic did not arrive", name)
				}
			}()
			b.PreviewSubscription(t.Context(), engine.PreviewRequest{Name: name})
		}()
	}
}

func TestTrafficReadsTheUsageHeader(t *testing.T) {
	i := func(n int64) *int64 { return &n }
	expiry := time.Unix(4102444800, 0).UTC()
	days := int64(expiry.Sub(time.Unix(1_800_000_000, 0)) / (24 * time.Hour))
	for _, c := range []struct {
		name, header, url string
		want              *engine.Traffic
		warnings          string
	}{
		{"example", "upload=1024; download=2048; total=10240; expire=4102444800", "",
			&engine.Traffic{UploadBytes: 1024, DownloadBytes: 2048, UsedBytes: 3072, TotalBytes: i(10240), RemainingBytes: i(7168), ExpiresAt: expiry, RemainingDays: &days}, ""},
		{"odd spelling", " Upload = 2.5;download=1e3;; upload=9;x;=1;expire=;reset_day=3", "",
			&engine.Traffic{UploadBytes: 2, DownloadBytes: 1000, UsedBytes: 1002, ResetDay: i(3)}, ""},
		{"overdrawn", "download=20;total=10;expire=0", "", &engine.Traffic{DownloadBytes: 20, UsedBytes: 20, TotalBytes: i(10), RemainingBytes: i(-10)}, ""},
		{"texts", "total=0;app_url=https://app.example;plan_name=base64:UHJv", "",
			&engine.Traffic{TotalBytes: i(0), RemainingBytes: i(0), AppURL: "https://app.example", PlanName: "Pro"}, ""},
		{"bad numbers", "upload=-1;download=0x10;total=inf;expire=99999999999999;reset_day=x", "", nil, "upload download total expire reset_day"},
		{"bad one of many", "upload=1;download=nan", "", &engine.Traffic{UploadBytes: 1, UsedBytes: 1}, "download"},
		{"overflow", "upload=9223372036854775807;download=1", "", nil, "used_bytes"},
		{"none", "", "", nil, ""},
		{"nothing known", "expire=4102444800", "", nil, ""},
		{"opted out", "total=5", "#a&NoFlow=TRUE", nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			web := &answers{}
			web.set(air+c.url, answer{text: "no nodes at all", header: map[string]string{"Subscription-Userinfo": c.header}})
			b := newWorkbench(t, web)
			b.put(t, `{"name":"air","type":"remote","remote":{"url":"`+air+c.url+`"}}`)
			got, err := b.Traffic(t.Context(), "air", false)
			if err != nil {
				t.Fatal(err)
			}
			var fields []string
			for _, w := range got.Warnings {
				if w.Code != "subscription_traffic_parse_failed" || w.Source != "air" {
					t.Errorf("got warning %+v", w)
				}
				fields = append(fields, w.Field)
			}
			if strings.Join(fields, " ") != c.warnings {
				t.Errorf("got warnings of %q", fields)
			}
			if c.want != nil {
				c.want.SourceName, c.want.SourceURL, c.want.ObservedAt = "air", "https://air.example/sub", b.now.UTC()
			}
			if g, w := jsonText(t, got.Traffic), jsonText(t, c.want); g != w {
				t.Errorf("got  %s\nwant %s", g, w)
			}
		})
	}
}

func TestTrafficIsFedByTheFetchForNodes(t *testing.T) {
	web := &answers{}
	usage := func(total int) answer {
		return answer{text: link("a"), header: map[string]string{"Subscription-Userinfo": fmt.Sprintf("total=%d", total)}}
	}
	web.set(air, usage(1))
	b := newWorkbench(t, web)
	b.put(t, remoteAir("air"), `{"name":"own","type":"local","content":"`+link("a")+`"}`)
	b.preview(t, "air")
	got, err := b.Traffic(t.Context(), "air", false)
	if err != nil || !got.Cached || *got.Traffic.TotalBytes != 1 || web.count(air) != 1 {
		t.Fatalf("got %+v, %v, %d requests", got, err, web.count(air))
	}
	web.set(air, usage(2))
	if got, _ := b.Traffic(t.Context(), "air", true); got.Cached || *got.Traffic.TotalBytes != 2 {
		t.Errorf("a refresh got %+v", got)
	}
	b.now = b.now.Add(61 * time.Second)
	web.set(air, answer{err: sandrone.Errorf(sandrone.FetchFailed, "down")})
	got, err = b.Traffic(t.Context(), "air", false)
	if err != nil || !got.Stale || *got.Traffic.TotalBytes != 1 || got.Warnings[0].Code != sandrone.WarnRemoteStale {
		t.Errorf("got %+v, %v; want the usage of the last good copy", got, err)
	}
	for name, want := range map[string]sandrone.Code{"own": sandrone.InvalidArgument, "nobody": sandrone.NotFound} {
		if _, err := b.Traffic(t.Context(), name, false); failure(t, err).Code != want {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func FuzzUsageHeader(f *testing.F) {
	for _, header := range []string{"upload=1024; download=2048; total=10240; expire=4102444800", "total=1e400;upload=-0;expire=253402300800",
		"plan_name=base64:AA==;app_url=\x00;total=0x1p4", ";=;;a==b;reset_day=-9223372036854775808"} {
		f.Add(header, "Pro")
	}
	web := &answers{}
	b := newWorkbench(f, web)
	b.put(f, remoteAir("air"))
	f.Fuzz(func(t *testing.T, header, title string) {
		web.set(air, answer{header: map[string]string{"Subscription-Userinfo": header, "Profile-Title": title}})
		got, err := b.Traffic(t.Context(), "air", true)
		if err != nil {
			t.Fatal(err)
		}
		jsonText(t, got)
		tr := got.Traffic
		if tr == nil {
			return
		}
		if tr.UploadBytes < 0 || tr.DownloadBytes < 0 || tr.UsedBytes != tr.UploadBytes+tr.DownloadBytes || tr.UsedBytes < 0 {
			t.Errorf("got %+v", tr)
		}
		if strings.ContainsFunc(tr.PlanName+tr.AppURL, unicode.IsControl) {
			t.Errorf("got texts %q, %q", tr.PlanName, tr.AppURL)
		}
	})
}
