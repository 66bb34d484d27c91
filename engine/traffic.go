package engine

import (
	"context"
	"time"

	"github.com/sandrone-gateway/sandrone"
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
	return nil, sandrone.Errorf(sandrone.NotImplemented, "subscriptions are not part of this build")
}
