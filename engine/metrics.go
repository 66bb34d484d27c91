package engine

import "time"

// Metrics is told what the engine does, to be counted. Its methods are called
// by many goroutines and must not wait. No argument holds a name, a host or an
// id.
type Metrics interface {
	// Fetch is one need of a remote text. result is "ok", "not_modified",
	// "stale", "forbidden", "failed" or "timeout".
	Fetch(result string, took time.Duration, bytes int)
	FetchShared() // a need that another one's answer served

	Conversion(from, to string, ok bool)
	Rendered(to string, nodes, skipped int)
	Cache(layer string, hit bool)
	CacheEvicted(layer string, entries int)
	Script(result string, took time.Duration) // "ok", "timeout", "error"
	Probed(method, core string, alive, dead int)
	RefreshTarget(ok bool)
	RefreshDone(at time.Time) // a run of the schedule in which no target failed
}

// noMetrics is told and forgets.
type noMetrics struct{}

func (noMetrics) Fetch(string, time.Duration, int) {}
func (noMetrics) FetchShared()                     {}
func (noMetrics) Conversion(string, string, bool)  {}
func (noMetrics) Rendered(string, int, int)        {}
func (noMetrics) Cache(string, bool)               {}
func (noMetrics) CacheEvicted(string, int)         {}
func (noMetrics) Script(string, time.Duration)     {}
func (noMetrics) Probed(string, string, int, int)  {}
func (noMetrics) RefreshTarget(bool)               {}
func (noMetrics) RefreshDone(time.Time)            {}
