package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert"
	"github.com/sandrone-gateway/sandrone/store"
)

// RenderRequest asks for the nodes of a stored subscription in a format.
type RenderRequest struct {
	Name    string
	Format  string // render format, with an optional @version; empty means uri-list
	Args    map[string]string
	Refresh bool // read no cache
}

// Rendering is finished text: of a subscription or of a file.
type Rendering struct {
	ContentType string
	Body        []byte
	Report      sandrone.Report
	Cached      bool  // the whole result is a cached one
	Stale       int64 // age in seconds of the oldest last good copy used, 0 for none

	Title   string         // the display name of what was rendered, or its name
	Name    string         // of a file: its final name
	Profile *SourceProfile // what the source says of itself; remote subscriptions only

	Verdict *sandrone.Verdict // of a file, if a check was asked for

	OneSource bool // of a file: its nodes are those of one subscription
}

// SourceProfile is what a remote source says of itself in the headers of its
// answer.
type SourceProfile struct {
	Traffic             *Traffic `json:"traffic,omitempty"`
	UpdateIntervalHours int      `json:"update_interval_hours,omitempty"` // 0 if it does not say
	WebPage             string   `json:"web_page,omitempty"`              // an http or https address, or empty
}

// RenderSubscription makes the nodes of a stored subscription and writes them.
// A result that is still fresh is given again.
//
// Errors: invalid_argument for an unknown format, before anything is fetched;
// not_found; conflict; those of sources and steps; render_failed.
func (e *Engine) RenderSubscription(ctx context.Context, req RenderRequest) (*Rendering, error) {
	target, err := e.registry.Target(cmp.Or(strings.TrimSpace(req.Format), "uri-list"))
	if err != nil {
		return nil, sandrone.AsError(err).At("format")
	}
	// Many may wait for a turn, so they wait without the texts of what they
	// are going to make.
	head, err := e.subscriptionRecord(ctx, req.Name, store.Definitions[sandrone.Subscription].Head)
	if err != nil {
		return nil, err
	}
	s := head.Definition
	r := e.request(req.Refresh, s.Meta)
	kept := e.keptRendering(ctx, r.live, store.SubscriptionRender, head.ETag, s.RenderCacheTTLSeconds, target.Name, req.Args)
	title := cmp.Or(s.DisplayName, s.Name)
	if hit := kept.read(ctx, req.Refresh); hit != nil {
		hit.Title = title
		return hit, nil
	}
	ctx, release, err := takeSlot(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	ctx, done, err := e.turns.take(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	whole, err := e.subscriptionRecord(ctx, req.Name, store.Definitions[sandrone.Subscription].Get)
	if err != nil {
		return nil, err
	}
	if whole.ETag != head.ETag { // it was changed meanwhile
		s, kept = whole.Definition, nil
		r, title = e.request(req.Refresh, s.Meta), cmp.Or(s.DisplayName, s.Name)
	}
	s = whole.Definition
	p, err := r.asked(ctx, s, how{Args: req.Args, Target: target.Name}, chainOptions{})
	if err != nil {
		return nil, ofSubscription(err, s.Name)
	}
	facts := p.facts()
	w := &walk{report: facts.report(e, "subscription_render", sandrone.ResourceRef{Kind: sandrone.KindSubscription, Name: s.Name})}
	out := &Rendering{Title: title, Stale: facts.stale, Profile: p.profile}
	if out.Body, out.ContentType, err = e.write(target.Name, p.nodes, false, w); err != nil {
		return nil, ofSubscription(err, s.Name)
	}
	out.Report = w.report
	kept.write(ctx, out)
	return out, nil
}

// write is the last part of every way: nodes to text.
func (e *Engine) write(target string, nodes []sandrone.Node, dropRaw bool, w *walk) (body []byte, mediaType string, err error) {
	out, mediaType, err := e.registry.Render(target, nodes, convert.RenderOptions{DropRaw: dropRaw})
	if err != nil {
		return nil, "", err
	}
	w.rendered(out)
	name, _, _ := strings.Cut(word(target), "@")
	e.metrics.Rendered(name, out.Count, len(nodes)-out.Count)
	return out.Body, mediaType, nil
}

const (
	maxKeptBody = 16 << 20 // bytes of a result that is worth keeping
	partialTTL  = time.Minute
)

// keptRendering is the place of one result in a cache. A nil one keeps nothing.
type keptRendering struct {
	e     *Engine
	layer store.Layer
	key   store.Key
	ttl   time.Duration
	epoch uint64
}

// keptRendering names the place of what a definition is rendered to. The key
// covers the program, the whole definition, which may be given by its entity
// tag, and what was asked for.
func (e *Engine) keptRendering(ctx context.Context, lv *live, layer store.Layer, definition any, seconds *int64, target string, args map[string]string) *keptRendering {
	ttl := lv.settings.CacheDefaults.SubscriptionRenderTTLSeconds
	if layer == store.FileRender {
		ttl = lv.settings.CacheDefaults.FileRenderTTLSeconds
	}
	if seconds != nil {
		ttl = *seconds
	}
	if e.store == nil || ttl <= 0 {
		return nil
	}
	text, err := json.Marshal(definition)
	if err != nil {
		return nil
	}
	given, err := json.Marshal(args) // in order of the keys
	if err != nil {
		return nil
	}
	build := sandrone.ThisBuild()
	return &keptRendering{e: e, layer: layer, ttl: time.Duration(min(ttl, maxSeconds)) * time.Second,
		key: store.KeyOf(build.Version, build.Revision, string(text), target, string(given))}
}

// keptInfo is what is kept of a [Rendering] besides its body.
type keptInfo struct {
	ContentType string          `json:"content_type"`
	Name        string          `json:"name,omitempty"`
	Report      sandrone.Report `json:"report"`
	Stale       int64           `json:"stale,omitempty"`
	Profile     *SourceProfile  `json:"profile,omitempty"`
}

// read returns the kept result if it is fresh. After a refresh it only learns
// the epoch, under which a new one may be kept.
func (k *keptRendering) read(ctx context.Context, refresh bool) *Rendering {
	if k == nil {
		return nil
	}
	entry, ok := k.e.store.Cache().Get(ctx, k.layer, k.key)
	k.epoch = entry.Epoch
	if refresh {
		return nil
	}
	var info keptInfo
	ok = ok && entry.Fresh(k.e.now()) && json.Unmarshal(entry.Info, &info) == nil
	k.e.metrics.Cache(string(k.layer), ok)
	if !ok {
		return nil
	}
	return &Rendering{ContentType: info.ContentType, Body: entry.Body, Report: info.Report, Cached: true,
		Stale: info.Stale, Name: info.Name, Profile: info.Profile}
}

// write keeps a result. What an input or a source is missing from is kept for a
// short time only.
func (k *keptRendering) write(ctx context.Context, out *Rendering) {
	if k == nil || len(out.Body) > maxKeptBody {
		return
	}
	ttl := k.ttl
	if out.Report.Status == sandrone.StatusPartial {
		ttl = min(ttl, partialTTL)
	}
	info, err := json.Marshal(keptInfo{out.ContentType, out.Name, out.Report, out.Stale, out.Profile})
	if err == nil {
		err = k.e.store.Cache().Put(ctx, k.layer, k.key, store.Entry{Info: info, Body: out.Body, Epoch: k.epoch}, store.Life{Fresh: ttl})
	}
	if err != nil {
		k.e.cacheFailed(err)
	}
}
