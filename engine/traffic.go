package engine

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/fetch"
	"github.com/sandrone-gateway/sandrone/store"
)

// Traffic is how much of a plan is used, as the source of a subscription tells
// it. Byte counts that are zero are left out.
type Traffic struct {
	UploadBytes    int64     `json:"upload_bytes,omitempty"`
	DownloadBytes  int64     `json:"download_bytes,omitempty"`
	UsedBytes      int64     `json:"used_bytes,omitempty"`
	TotalBytes     *int64    `json:"total_bytes,omitempty"`     // nil if it is not known
	RemainingBytes *int64    `json:"remaining_bytes,omitempty"` // may be negative
	ExpiresAt      time.Time `json:"expires_at,omitzero"`
	RemainingDays  *int64    `json:"remaining_days,omitempty"`
	ResetDay       *int64    `json:"reset_day,omitempty"`
	AppURL         string    `json:"app_url,omitempty"`
	PlanName       string    `json:"plan_name,omitempty"`
	SourceName     string    `json:"source_name,omitempty"`
	SourceURL      string    `json:"source_url,omitempty"` // without fragment, user info and query
	ObservedAt     time.Time `json:"observed_at,omitzero"` // of the fetch, in seconds
}

// TrafficAnswer is the answer of [Engine.Traffic], in the shape of the API.
type TrafficAnswer struct {
	SubscriptionName string             `json:"subscription_name"`
	Type             string             `json:"type"`
	Format           string             `json:"format,omitempty"`
	Cached           bool               `json:"cached,omitempty"`
	Stale            bool               `json:"stale,omitempty"`   // of a last good copy
	Traffic          *Traffic           `json:"traffic,omitempty"` // nil if the source does not tell
	Warnings         []sandrone.Warning `json:"warnings,omitempty"`
}

// Traffic asks the source of a stored remote subscription for its usage. The
// body of the answer is not parsed, and no step runs.
//
// Errors: not_found, invalid_argument for other types of subscription, and
// those of the fetch.
func (e *Engine) Traffic(ctx context.Context, name string, refresh bool) (*TrafficAnswer, error) {
	s, err := e.subscription(ctx, name)
	if err != nil {
		return nil, err
	}
	if s.Type != sandrone.SubscriptionRemote {
		return nil, ofSubscription(sandrone.Errorf(sandrone.InvalidArgument, "subscription traffic requires remote subscription"), name)
	}
	answer := &TrafficAnswer{SubscriptionName: name, Type: s.Type, Format: s.Format}
	if noUsage(s.Remote.URL) {
		return answer, nil
	}
	lv := e.live.Load()
	held, epoch, ok := e.heldUsage(ctx, lv, name)
	if ok && !refresh {
		answer.Traffic, answer.Warnings, answer.Cached = held.Traffic, held.Warnings, true
		return answer, nil
	}
	t, err := e.text(ctx, lv, wanted{remote: *s.Remote, refresh: refresh, peek: true})
	if err != nil {
		return nil, ofSubscription(err, name)
	}
	usage := usageOf(t, name, s.Remote.URL)
	answer.Traffic = usage.Traffic
	answer.Warnings = append(t.staleWarning(name), usage.Warnings...)
	answer.Cached, answer.Stale = !t.asked && t.cause == nil, t.cause != nil
	if t.asked {
		e.holdUsage(ctx, lv, name, epoch, usage)
	}
	return answer, nil
}

// usage is what a header says of a plan.
type usage struct {
	Traffic  *Traffic           `json:"traffic,omitempty"`
	Warnings []sandrone.Warning `json:"warnings,omitempty"`
}

func usageTTL(lv *live) time.Duration {
	return time.Duration(min(lv.settings.CacheDefaults.SubscriptionTrafficTTLSeconds, maxSeconds)) * time.Second
}

// heldUsage returns the cached usage of a subscription, if it is fresh, and the
// epoch under which a new one may be held.
func (e *Engine) heldUsage(ctx context.Context, lv *live, name string) (usage, uint64, bool) {
	if e.store == nil || usageTTL(lv) <= 0 {
		return usage{}, 0, false
	}
	entry, ok := e.store.Cache().Get(ctx, store.SubscriptionTraffic, store.KeyOf(name))
	var u usage
	ok = ok && entry.Fresh(e.now()) && json.Unmarshal(entry.Body, &u) == nil
	e.metrics.Cache(string(store.SubscriptionTraffic), ok)
	return u, entry.Epoch, ok
}

// usageEpoch is the epoch alone, for who is about to ask the source anyway.
func (e *Engine) usageEpoch(ctx context.Context, lv *live, name string) uint64 {
	if e.store == nil || usageTTL(lv) <= 0 {
		return 0
	}
	entry, _ := e.store.Cache().Get(ctx, store.SubscriptionTraffic, store.KeyOf(name))
	return entry.Epoch
}

func (e *Engine) holdUsage(ctx context.Context, lv *live, name string, epoch uint64, u usage) {
	ttl := usageTTL(lv)
	if e.store == nil || ttl <= 0 {
		return
	}
	body, err := json.Marshal(u)
	if err == nil {
		err = e.store.Cache().Put(ctx, store.SubscriptionTraffic, store.KeyOf(name), store.Entry{Body: body, Epoch: epoch}, store.Life{Fresh: ttl})
	}
	if err != nil {
		e.cacheFailed(err)
	}
}

// usageOf reads the usage header of an answer. name is the subscription that it
// is shown for.
func usageOf(t *remoteText, name, address string) usage {
	var u usage
	header := t.Header["Subscription-Userinfo"]
	if strings.TrimSpace(header) == "" || noUsage(address) {
		return u
	}
	bad := func(field, message string) {
		u.Warnings = append(u.Warnings, sandrone.Warning{Code: warnTraffic, Message: message, Field: field, Source: name})
	}
	values := make(map[string]string)
	for pair := range strings.SplitSeq(header, ";") {
		key, value, ok := strings.Cut(pair, "=")
		key, value = word(key), strings.TrimSpace(value)
		if _, known := values[key]; !ok || key == "" || known {
			continue
		}
		values[key] = value
	}
	number := func(key string) (int64, bool) {
		text := values[key]
		if text == "" {
			return 0, false
		}
		n, ok := wholeNumber(text)
		if !ok {
			bad(key, key+" is no number of a usable size")
		}
		return n, ok
	}

	tr := &Traffic{SourceName: name, SourceURL: fetch.Redact(address), ObservedAt: t.AnsweredAt.Truncate(time.Second)}
	up, hasUp := number("upload")
	down, hasDown := number("download")
	total, hasTotal := number("total")
	if expire, ok := number("expire"); ok && expire > 0 {
		if expire > maxExpiry {
			bad("expire", "expire is no time of a usable size")
		} else {
			tr.ExpiresAt = time.Unix(expire, 0).UTC()
			days := int64(tr.ExpiresAt.Sub(t.AnsweredAt) / (24 * time.Hour))
			tr.RemainingDays = &days
		}
	}
	if text := values["reset_day"]; text != "" {
		if day, err := strconv.ParseInt(text, 10, 32); err == nil {
			tr.ResetDay = &day
		} else {
			bad("reset_day", "reset_day is no number")
		}
	}
	if !hasUp && !hasDown && !hasTotal {
		return u
	}
	if up > math.MaxInt64-down {
		bad("used_bytes", "the used bytes are more than can be counted")
		return u
	}
	tr.UploadBytes, tr.DownloadBytes, tr.UsedBytes = up, down, up+down
	if hasTotal {
		remaining := total - tr.UsedBytes
		tr.TotalBytes, tr.RemainingBytes = &total, &remaining
	}
	tr.AppURL = headerText(cmp.Or(values["app_url"], t.Header["Profile-Web-Page-Url"]))
	tr.PlanName = headerText(cmp.Or(values["plan_name"], t.Header["Plan-Name"], t.Header["Profile-Title"]))
	u.Traffic = tr
	return u
}

// warnTraffic is the code of a bad usage value.
const warnTraffic = "subscription_traffic_parse_failed"

// maxExpiry is the end of the year 9999, which JSON can still write.
const maxExpiry = 253402300799

// wholeNumber reads a number that is not negative, with decimals or an exponent
// as some sources write it, and cuts off what is behind the point.
func wholeNumber(text string) (int64, bool) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, n >= 0
	}
	// A float, since precision is the source's own matter then. Hexadecimal
	// digits and words such as inf are no number here.
	if strings.Trim(text, "0123456789.eE+-") != "" {
		return 0, false
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f < 0 || f >= math.MaxInt64 {
		return 0, false
	}
	return int64(f), true
}

// headerText reads a text of a header that may be in base64, since headers hold
// ASCII. What is not printable is left out.
func headerText(s string) string {
	s = strings.TrimSpace(s)
	if rest, ok := strings.CutPrefix(s, "base64:"); ok {
		decoded, err := base64.StdEncoding.DecodeString(rest)
		if err != nil {
			decoded, err = base64.RawStdEncoding.DecodeString(rest)
		}
		if err != nil || !utf8.Valid(decoded) {
			return ""
		}
		s = strings.TrimSpace(string(decoded))
	}
	s = strings.ToValidUTF8(s, "")
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, s)
}

// profileOf is what the header of an answer says of the subscription.
func profileOf(t *remoteText, u usage) *SourceProfile {
	p := &SourceProfile{Traffic: u.Traffic}
	if hours, err := strconv.Atoi(strings.TrimSpace(t.Header["Profile-Update-Interval"])); err == nil && hours > 0 {
		p.UpdateIntervalHours = hours
	}
	page := strings.TrimSpace(t.Header["Profile-Web-Page-Url"])
	if address, err := url.Parse(page); err == nil && isHTTP(address) && address.Hostname() != "" {
		p.WebPage = page
	}
	return p
}
