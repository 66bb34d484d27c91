package engine

import (
	"context"
	"time"

	"github.com/sandrone-gateway/sandrone"
)

// Item is a stored definition in a list.
type Item struct {
	Kind        string                   `json:"kind"`
	Type        string                   `json:"type,omitempty"` // of a subscription, or of a file's source
	Name        string                   `json:"name"`
	DisplayName string                   `json:"display_name,omitempty"`
	Size        int                      `json:"size"`             // bytes as stored
	Format      string                   `json:"format,omitempty"` // of a subscription
	Target      string                   `json:"target,omitempty"` // of a file: its kind
	Processors  []sandrone.ProcessorSpec `json:"processors,omitempty"`
	CreatedAt   time.Time                `json:"created_at,omitzero"`
	UpdatedAt   time.Time                `json:"updated_at,omitzero"`
	Meta        map[string]string        `json:"meta,omitempty"`
	Warning     string                   `json:"warning,omitempty"` // why there is no more to tell
}

const unreadable = "the stored definition cannot be read"

// SubscriptionItems lists the stored subscriptions by name.
func (e *Engine) SubscriptionItems(ctx context.Context) ([]Item, error) {
	records, err := e.Subscriptions(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]Item, 0, len(records))
	for _, record := range records {
		item := Item{Kind: sandrone.KindSubscription, Name: record.Name, Size: record.Size}
		if v := record.Definition; v != nil {
			item.Type, item.DisplayName, item.Format = v.Type, v.DisplayName, v.Format
			item.CreatedAt, item.UpdatedAt, item.Meta = v.CreatedAt, v.UpdatedAt, v.Meta
		} else {
			item.Warning = unreadable
		}
		list = append(list, item)
	}
	return list, nil
}

// FileItems lists the stored files by name.
func (e *Engine) FileItems(ctx context.Context) ([]Item, error) {
	records, err := e.Files(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]Item, 0, len(records))
	for _, record := range records {
		item := Item{Kind: sandrone.KindFile, Name: record.Name, Size: record.Size}
		if v := record.Definition; v != nil {
			if v.Source != nil {
				item.Type = v.Source.Type
			}
			item.Target, item.DisplayName, item.Processors = v.Kind, v.DisplayName, v.Processors
			item.CreatedAt, item.UpdatedAt, item.Meta = v.CreatedAt, v.UpdatedAt, v.Meta
		} else {
			item.Warning = unreadable
		}
		list = append(list, item)
	}
	return list, nil
}
