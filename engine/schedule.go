package engine

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/core"
)

const (
	refreshesAtOnce = 4                // targets of one run
	refreshStop     = 10 * time.Second // for a run that is active when the server stops
	leastInterval   = time.Minute      // of "@every"
	sweepInterval   = time.Hour        // of the caches
	accessInterval  = 5 * time.Second  // of the notes of accesses
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

// scheduler is the state of the scheduled refresh.
type scheduler struct {
	once    sync.Once
	changed chan struct{} // the settings changed; made by signal

	mu     sync.Mutex
	status ScheduleStatus // but Enabled, which the settings know
}

// signal is the channel that tells of a change.
func (s *scheduler) signal() chan struct{} {
	s.once.Do(func() { s.changed = make(chan struct{}, 1) })
	return s.changed
}

// wake makes the loop look at the settings again. It does not wait.
func (s *scheduler) wake() {
	select {
	case s.signal() <- struct{}{}:
	default:
	}
}

func (s *scheduler) update(fn func(*ScheduleStatus)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fn(&s.status)
}

// ScheduleStatus returns the state of the scheduled refresh.
func (e *Engine) ScheduleStatus() (status ScheduleStatus) {
	e.schedule.update(func(s *ScheduleStatus) { status = *s })
	status.Enabled = e.Settings().ScheduledRefresh.Enabled
	return status
}

// Run does the background work of a server until ctx ends: the scheduled
// refresh, the sweep of the caches, the notes of accesses. First it removes what
// client cores of a killed process left behind. It returns nil when
// all of that has stopped; a refresh that is active then has ten seconds.
func (e *Engine) Run(ctx context.Context) error {
	if e.store == nil {
		return noStore()
	}
	if n := core.RemoveLeftovers(); n > 0 {
		e.log.Info("removed what a killed process left behind", "directories", n)
	}
	var wg sync.WaitGroup
	wg.Go(func() { e.runSchedule(ctx) })
	wg.Go(func() {
		every(ctx, sweepInterval, func() {
			if err := e.store.Cache().Sweep(ctx); err != nil && ctx.Err() == nil {
				e.log.Warn("the caches were not swept", "operation", "sweep", "error", sandrone.AsError(err).Message)
			}
		})
	})
	wg.Go(func() { every(ctx, accessInterval, func() { e.flushAccesses(ctx) }) })
	wg.Wait()
	e.flushAccesses(context.WithoutCancel(ctx))
	return nil
}

// every calls fn each time an interval has passed, until ctx ends.
func every(ctx context.Context, interval time.Duration, fn func()) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			fn()
		case <-ctx.Done():
			return
		}
	}
}

// runSchedule starts a refresh at each time of the schedule. The next time is
// reckoned again only when the schedule itself changes, so that saving other
// settings does not put a refresh off.
func (e *Engine) runSchedule(ctx context.Context) {
	var active sync.WaitGroup
	defer active.Wait()
	running := make(chan struct{}, 1) // holds one element while a run is active

	var planned sandrone.RefreshSettings // what next belongs to
	var schedule cron.Schedule
	var next time.Time // zero: never
	for {
		settings := e.Settings().ScheduledRefresh
		if settings.Enabled != planned.Enabled || settings.Schedule != planned.Schedule {
			planned, schedule, next = settings, nil, time.Time{}
			if settings.Enabled {
				var err error
				if schedule, err = parseSchedule(settings.Schedule); err != nil {
					e.log.Error("the schedule cannot be used", "operation", "scheduled_refresh", "error", err.Error())
				} else {
					next = schedule.Next(e.now().Local())
				}
			}
		}
		e.schedule.update(func(s *ScheduleStatus) { s.NextRunAt = utcTime(next) })

		var due <-chan time.Time // nil: never
		stop := func() bool { return false }
		if !next.IsZero() {
			timer := time.NewTimer(next.Sub(e.now()))
			due, stop = timer.C, timer.Stop
		}
		select {
		case <-ctx.Done():
			stop()
			return
		case <-e.schedule.signal():
			stop()
		case <-due:
			from := e.now()
			if from.Before(next) { // a timer may be a little early
				from = next
			}
			next = schedule.Next(from.Local())
			select {
			case running <- struct{}{}:
				active.Go(func() {
					defer func() { <-running }()
					e.refresh(ctx, e.Settings().ScheduledRefresh.Targets)
				})
			default:
				now := e.now()
				e.schedule.update(func(s *ScheduleStatus) { s.SkippedCount++; s.LastSkippedAt = utcTime(now) })
				e.log.Warn("a scheduled refresh was due while one was active", "operation", "scheduled_refresh")
			}
		}
	}
}

// refresh renews the targets. When ctx ends it goes on for ten seconds.
func (e *Engine) refresh(ctx context.Context, targets []sandrone.ResourceRef) {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		limit := time.NewTimer(refreshStop)
		defer limit.Stop()
		select {
		case <-limit.C:
			cancel()
		case <-work.Done():
		}
	})()

	start := e.now()
	e.schedule.update(func(s *ScheduleStatus) { s.Running, s.LastStartedAt = true, utcTime(start) })
	failed := make([]bool, len(targets))
	slots := make(chan struct{}, refreshesAtOnce)
	var wg sync.WaitGroup
	for i, target := range targets {
		slots <- struct{}{} // in the order of the list
		wg.Go(func() {
			defer func() { <-slots }()
			err := e.refreshTarget(work, target)
			failed[i] = err != nil
			e.metrics.RefreshTarget(err == nil)
			if err != nil {
				e.log.Warn("a target was not refreshed", "operation", "scheduled_refresh",
					"kind", target.Kind, "name", target.Name, "code", string(sandrone.AsError(err).Code), "error", sandrone.AsError(err).Message)
			}
		})
	}
	wg.Wait()

	end, failures := e.now(), 0
	for _, f := range failed {
		if f {
			failures++
		}
	}
	e.schedule.update(func(s *ScheduleStatus) {
		s.Running, s.LastCompletedAt = false, utcTime(end)
		s.LastSuccessCount, s.LastFailureCount = len(targets)-failures, failures
	})
	if failures == 0 {
		e.metrics.RefreshDone(end)
	}
	e.log.Info("scheduled refresh completed", "operation", "scheduled_refresh",
		"succeeded", len(targets)-failures, "failed", failures, "duration_ms", end.Sub(start).Milliseconds())
}

func (e *Engine) refreshTarget(ctx context.Context, target sandrone.ResourceRef) (err error) {
	defer func() {
		// One bad target must not end the program, nor the others.
		if v := recover(); v != nil {
			panicked := Recovered(v)
			e.log.Error("a refresh panicked", "operation", "scheduled_refresh", "error", panicked.Error(), "stack", string(panicked.Stack))
			err = sandrone.Errorf(sandrone.InternalError, "internal error").Because(panicked)
		}
	}()
	if target.Kind == sandrone.KindFile {
		return e.refreshFile(ctx, target.Name, e.Settings().ScheduledRefresh.Verify)
	}
	_, err = e.PreviewSubscription(ctx, PreviewRequest{Name: target.Name, Refresh: true})
	return err
}

func utcTime(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.UTC()
}

// cronParser reads five fields or a descriptor.
var cronParser = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor)

const scheduleRule = "must be five cron fields, @hourly and its like, or @every with at least 1m"

// parseSchedule reads the schedule of the settings. The text of the error is
// the rule that it breaks.
func parseSchedule(text string) (cron.Schedule, error) {
	rule := errors.New(scheduleRule)
	if strings.HasPrefix(text, "TZ=") || strings.HasPrefix(text, "CRON_TZ=") {
		return nil, rule // the zone is the server's
	}
	schedule, err := cronParser.Parse(text)
	if err != nil {
		return nil, rule
	}
	if interval, ok := schedule.(cron.ConstantDelaySchedule); ok && interval.Delay < leastInterval {
		return nil, rule
	}
	return schedule, nil
}

// refresh checks the settings of the scheduled refresh.
func (c *settingsCheck) refresh(r *sandrone.RefreshSettings) {
	const group = "scheduled_refresh."
	r.Schedule = strings.TrimSpace(r.Schedule)
	_, err := parseSchedule(r.Schedule)
	c.require(err == nil, group+"schedule", scheduleRule)
	targets := make([]sandrone.ResourceRef, 0, len(r.Targets))
	seen := make(map[sandrone.ResourceRef]bool)
	for i, target := range r.Targets {
		at := group + "targets[" + strconv.Itoa(i) + "]"
		target = sandrone.ResourceRef{Kind: word(target.Kind), Name: strings.TrimSpace(target.Name)}
		c.oneOf(target.Kind, at+".kind", sandrone.KindSubscription, sandrone.KindFile)
		c.require(target.Name != "", at+".name", "is required")
		c.require(!seen[target], at, "is listed twice")
		seen[target] = true
		targets = append(targets, target)
	}
	r.Targets = targets
	c.require(!r.Enabled || len(targets) > 0, group+"targets", "must not be empty when the refresh is enabled")
}
