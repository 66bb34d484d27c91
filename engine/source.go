package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert"
	"github.com/sandrone-gateway/sandrone/fetch"
	"github.com/sandrone-gateway/sandrone/store"
)

// keptHeaders are the members of an answer's header that are used after the
// fetch: what the source says of itself, and the validators of its body.
var keptHeaders = []string{"Subscription-Userinfo", "Profile-Web-Page-Url", "Profile-Update-Interval",
	"Profile-Title", "Plan-Name", "Etag", "Last-Modified"}

const (
	maxKeptHeader = 4 << 10 // bytes of one member

	// confirmEvery is how often the copy of a source that does not change, and
	// is asked each time, is written again to note that it is still good.
	confirmEvery = time.Minute
)

// remoteText is the answer of a source, from the network or from the cache.
// It is shared and must not be changed.
type remoteText struct {
	Status     int                `json:"status"`
	Header     map[string]string  `json:"header,omitempty"` // those of keptHeaders
	SHA256     string             `json:"sha256"`
	Ref        sandrone.SourceRef `json:"ref"`         // without the note
	AnsweredAt time.Time          `json:"answered_at"` // the last time that the source gave or confirmed it

	body   []byte
	cached bool            // no answer, or one that confirmed the held copy
	asked  bool            // the source answered just now
	age    int64           // seconds since AnsweredAt of a last good copy, at least 1
	cause  *sandrone.Error // why the last good copy is used; nil if it is none
}

// ref says where the text comes from.
func (t *remoteText) ref() sandrone.SourceRef {
	ref := t.Ref
	ref.Note = fmt.Sprintf("status=%d sha256=%s", t.Status, t.SHA256)
	if t.cached {
		ref.Note += " cache_hit=true"
	}
	if t.cause != nil {
		ref.Note += " stale=true"
	}
	return ref
}

// staleWarning is the warning for a last good copy, none for anything else.
func (t *remoteText) staleWarning(source string) []sandrone.Warning {
	if t.cause == nil {
		return nil
	}
	return []sandrone.Warning{{
		Code:       sandrone.WarnRemoteStale,
		Message:    clip("the source failed ("+t.cause.Message+"); its last good copy is used", 200),
		Source:     source,
		Cause:      string(t.cause.Code),
		AgeSeconds: t.age,
	}}
}

// clip cuts a message to at most n characters.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

// wanted is a need of a remote text on behalf of the operator.
type wanted struct {
	remote  sandrone.RemoteInput
	refresh bool // read no copy, but fall back on one

	// accept reads the text. Its error says that the answer is not what was
	// wanted, which is a failure of the source. nil accepts everything.
	accept func(*remoteText) error

	// peek leaves the held copy as it is, since nobody looked at the body.
	peek bool
}

// text gets a remote text: a held copy that is fresh, else the source's answer,
// else the last good copy.
func (e *Engine) text(ctx context.Context, lv *live, w wanted) (*remoteText, error) {
	settings := &lv.settings
	ttl := time.Duration(min(cmp.Or(w.remote.CacheTTLSeconds, settings.CacheDefaults.RemoteFetchTTLSeconds), maxSeconds)) * time.Second
	staleFor := time.Duration(min(settings.RemoteDefaults.StaleIfErrorSeconds, maxSeconds)) * time.Second
	req := fetch.Request{URL: w.remote.URL, Policy: fetch.Managed, UserAgent: w.remote.UserAgent,
		Proxy: w.remote.Proxy, Timeout: milliseconds(w.remote.TimeoutMS)}
	accept := w.accept
	if accept == nil {
		accept = func(*remoteText) error { return nil }
	}

	key, err := sourceKey(lv, req)
	if err != nil {
		return nil, err
	}
	now := e.now()
	held, entry := e.heldText(ctx, key)
	if lv.shut {
		if held == nil {
			return nil, sandrone.Errorf(sandrone.FetchFailed, "no copy of the source is held, and a dry run asks nobody")
		}
		return held, accept(held)
	}
	if held != nil && !w.refresh {
		if ttl > 0 && entry.Fresh(now) {
			if accept(held) == nil {
				e.metrics.Cache(string(store.RemoteFetch), true)
				return held, nil
			}
		} else {
			req.ETag, req.LastModified = held.Header["Etag"], held.Header["Last-Modified"]
		}
	}
	e.metrics.Cache(string(store.RemoteFetch), false)

	got, err := e.ask(ctx, lv, req, held)
	if err == nil {
		if err = accept(got); err == nil {
			same := held != nil && held.SHA256 == got.SHA256
			if !w.peek && !(same && ttl <= 0 && now.Sub(entry.StoredAt) < confirmEvery) {
				e.holdText(ctx, key, entry.Epoch, got, store.Life{Fresh: ttl, Keep: max(ttl, staleFor)})
			}
			return got, nil
		}
	} else if code := sandrone.AsError(err).Code; code == sandrone.InvalidArgument || code == sandrone.FetchForbidden {
		return nil, err // nothing of the source's: a copy would hide it for ever
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if held == nil || staleFor <= 0 || now.Sub(held.AnsweredAt) >= staleFor {
		return nil, err
	}
	copied := *held
	copied.cause, copied.age = sandrone.AsError(err), max(1, int64(now.Sub(held.AnsweredAt)/time.Second))
	if accept(&copied) != nil {
		return nil, err
	}
	e.metrics.Fetch("stale", 0, 0)
	return &copied, nil
}

// ask makes the request. An answer that confirms the held copy is that copy,
// with what the header says now.
func (e *Engine) ask(ctx context.Context, lv *live, req fetch.Request, held *remoteText) (*remoteText, error) {
	resp, err := e.get(ctx, lv, req)
	if err != nil {
		return nil, err
	}
	got := &remoteText{Status: resp.Status, Header: kept(resp.Header), SHA256: resp.SHA256, Ref: resp.Ref,
		AnsweredAt: e.now().UTC(), body: resp.Body, asked: true}
	if !resp.NotModified {
		return got, nil
	}
	if held == nil {
		return nil, sandrone.Errorf(sandrone.FetchFailed, "remote returned status %d", resp.Status)
	}
	got.Status, got.SHA256, got.Ref, got.body, got.cached = held.Status, held.SHA256, held.Ref, held.body, true
	for name, value := range held.Header {
		if _, ok := got.Header[name]; !ok {
			got.Header[name] = value
		}
	}
	return got, nil
}

// get is every request to the outside, counted.
func (e *Engine) get(ctx context.Context, lv *live, req fetch.Request) (*fetch.Response, error) {
	start := e.now()
	resp, err := lv.fetcher.Get(ctx, req)
	took := e.now().Sub(start)
	said := []any{"operation", "fetch", "source", fetch.Display(req.URL), "duration_ms", took.Milliseconds()}
	if err != nil {
		if ctx.Err() == nil {
			e.log.Warn("source failed", append(said, "error", sandrone.AsError(err).Error())...)
		}
		result := "failed"
		switch sandrone.AsError(err).Code {
		case sandrone.FetchForbidden:
			result = "forbidden"
		case sandrone.FetchTimeout:
			result = "timeout"
		}
		e.metrics.Fetch(result, took, 0)
		return nil, err
	}
	e.log.Debug("source answered", append(said, "status", resp.Status, "bytes", len(resp.Body))...)
	if resp.NotModified {
		e.metrics.Fetch("not_modified", took, 0)
	} else {
		e.metrics.Fetch("ok", took, len(resp.Body))
	}
	return resp, nil
}

func kept(h http.Header) map[string]string {
	members := make(map[string]string)
	for _, name := range keptHeaders {
		if v := h.Get(name); v != "" && len(v) <= maxKeptHeader {
			members[name] = v
		}
	}
	return members
}

// sourceKey names a source for the cache. Nothing of it can be read back.
func sourceKey(lv *live, req fetch.Request) (store.Key, error) {
	if f, ok := lv.fetcher.(interface {
		Key(fetch.Request) (string, error)
	}); ok {
		key, err := f.Key(req)
		return store.KeyOf(key), err
	}
	address, _, _ := strings.Cut(strings.TrimSpace(req.URL), "#")
	return store.KeyOf(address, req.UserAgent, req.Proxy), nil
}

// heldText returns the copy of a source, nil if there is none. The entry has
// the epoch in both cases.
func (e *Engine) heldText(ctx context.Context, key store.Key) (*remoteText, store.Entry) {
	if e.store == nil {
		return nil, store.Entry{}
	}
	entry, ok := e.store.Cache().Get(ctx, store.RemoteFetch, key)
	if !ok {
		return nil, entry
	}
	t := &remoteText{}
	if json.Unmarshal(entry.Info, t) != nil {
		return nil, entry
	}
	t.body, t.cached = entry.Body, true
	return t, entry
}

func (e *Engine) holdText(ctx context.Context, key store.Key, epoch uint64, t *remoteText, life store.Life) {
	if e.store == nil {
		return
	}
	info, err := json.Marshal(t)
	if err == nil {
		err = e.store.Cache().Put(ctx, store.RemoteFetch, key, store.Entry{Info: info, Body: t.body, Epoch: epoch}, life)
	}
	if err != nil {
		e.cacheFailed(err)
	}
}

// CacheBytes tells how much each layer of the caches holds.
func (e *Engine) CacheBytes(ctx context.Context) (map[store.Layer]int64, error) {
	if e.store == nil {
		return nil, nil
	}
	return e.store.Cache().Sizes(ctx)
}

// cacheFailed logs what must not fail an operation.
func (e *Engine) cacheFailed(err error) {
	if !errors.Is(err, context.Canceled) {
		e.log.Warn("cache not written", "error", err)
	}
}

// maxSeconds bounds times from outside, so that they fit a Duration: a century.
const maxSeconds = 100 * 366 * 24 * 3600

// reading are the nodes of one text, normalised and valid, and all that was
// noticed on the way. It is shared and must not be changed.
type reading struct {
	nodes    []sandrone.Node
	warnings []sandrone.Warning // of the parser and the normaliser
	dropped  []sandrone.Warning // of the validation
	issues   []sandrone.Issue
	refs     []sandrone.SourceRef // the documents behind the format
	format   string               // the name of the parser, as far as it is known
	from     *remoteText          // nil for a text that was given

	fed sync.Map // subscription name -> true: its usage was noted
}

// parse is the first half of every way: text to valid nodes.
func (e *Engine) parse(format, text string) (*reading, error) {
	batch, err := e.registry.Parse(cmp.Or(strings.TrimSpace(format), convert.Auto), text)
	if err != nil {
		return nil, err
	}
	r := &reading{refs: e.formatRefs(batch), format: word(format)}
	if len(batch.Nodes) > 0 && !explicit(format) {
		r.format = e.parserOf(batch.Nodes[0].SourceFormat)
	}
	r.warnings = append(batch.Warnings, convert.Normalise(batch.Nodes)...)
	r.nodes, r.issues, r.dropped, err = convert.Validate(batch.Nodes, sandrone.StageNormalized)
	if err != nil {
		return nil, err
	}
	return r, nil
}

// parserOf is the name of the parser that detection chose for nodes with this
// SourceFormat.
func (e *Engine) parserOf(source string) string {
	for _, p := range e.registry.Parsers() {
		if p.Source == source && !p.Explicit {
			return p.Name
		}
	}
	return source
}

// readingKey tells readings apart that may be shared while they are made.
type readingKey struct {
	live    *live
	source  store.Key
	format  string
	ttl     int64
	timeout int64
	refresh bool
}

// readSource gets a remote text and reads its nodes. All who need them at the
// same time share one fetch and one reading.
func (e *Engine) readSource(ctx context.Context, lv *live, remote sandrone.RemoteInput, format string, refresh bool) (*reading, error) {
	source, err := sourceKey(lv, fetch.Request{URL: remote.URL, Policy: fetch.Managed, UserAgent: remote.UserAgent, Proxy: remote.Proxy})
	if err != nil {
		return nil, err
	}
	key := readingKey{lv, source, word(format), remote.CacheTTLSeconds, remote.TimeoutMS, refresh}
	shared := false
	work := func(ctx context.Context) (*reading, error) {
		var r *reading
		t, err := e.text(ctx, lv, wanted{remote: remote, refresh: refresh, accept: func(t *remoteText) (err error) {
			r, err = e.parse(format, textOf(t.body))
			return err
		}})
		if err != nil {
			own := *sandrone.AsError(err)
			if own.Source == "" {
				own.Source = fetch.Display(remote.URL)
			}
			if own.Code == sandrone.InternalError && ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return nil, &own
		}
		r.from = t
		return r, nil
	}
	r, err := wait(ctx, func() (r *reading, err error) {
		r, shared, err = e.readings.do(ctx, key, work)
		return r, err
	})
	if shared {
		e.metrics.FetchShared()
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// noUsage reports whether the fragment of an address says that nothing is to be
// asked for how much of a plan is used.
func noUsage(address string) bool {
	_, fragment, _ := strings.Cut(address, "#")
	for part := range strings.FieldsFuncSeq(fragment, func(r rune) bool { return r == '&' || r == ';' }) {
		name, value, _ := strings.Cut(part, "=")
		if !strings.EqualFold(strings.TrimSpace(name), "noflow") {
			continue
		}
		if unescaped, err := url.QueryUnescape(value); err == nil {
			value = unescaped
		}
		switch word(value) {
		case "", "1", "true", "yes", "on":
			return true
		}
	}
	return false
}
