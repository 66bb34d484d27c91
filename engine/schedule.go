package engine

import (
	"context"
	"time"
)

// ScheduleStatus is what is known of the scheduled refresh. It lives as long
// as the process.
type ScheduleStatus struct {
	Enabled          bool      `json:"enabled"`
	Running          bool      `json:"running"`
	NextRunAt        time.Time `json:"next_run_at,omitzero"`
	LastStartedAt    time.Time `json:"last_started_at,omitzero"`
	LastCompletedAt  time.Time `json:"last_completed_at,omitzero"`
	LastSuccessCount int       `json:"last_success_count"` // targets of the last finished run
	LastFailureCount int       `json:"last_failure_count"`
	SkippedCount     int       `json:"skipped_count"` // runs that were due while one was active
	LastSkippedAt    time.Time `json:"last_skipped_at,omitzero"`
}

// ScheduleStatus returns the state of the scheduled refresh.
func (e *Engine) ScheduleStatus() ScheduleStatus { return ScheduleStatus{} }

// Run does the background work of a server until ctx ends: the scheduled
// refresh, the sweep of the caches, the notes of accesses. It returns nil when
// all of that has stopped; a refresh that runs then has ten seconds.
func (e *Engine) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}
