package main

import (
	"context"
	"runtime/debug"
	"time"
)

// A server is quiet for most of its life. These say when it rests: having
// worked for busy since it last did, and for less than calm in the last pause.
// Both are CPU time.
const (
	pause = time.Second
	busy  = 100 * time.Millisecond
	calm  = 10 * time.Millisecond
)

// rest gives memory back to the system, what the start has left first, and then
// whenever the process has worked and is quiet again, until ctx ends.
func rest(ctx context.Context) {
	releaseMemory()
	w := newWatch(cpuTime())
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if w.due(cpuTime()) {
			releaseMemory()
			*w = *newWatch(cpuTime())
		}
	}
}

// watch knows when a process ought to rest, from the CPU time that it had used
// at the last pause and when it last rested.
type watch struct{ last, rest time.Duration }

func newWatch(used time.Duration) *watch { return &watch{used, used} }

// due reports whether it is time now; it is asked after each pause.
func (w *watch) due(used time.Duration) bool {
	quiet := used-w.last < calm
	w.last = used
	return quiet && used-w.rest >= busy
}

// releaseMemory gives back what the collector has freed, and the pages of the
// executable: most of those that are in memory only the start has needed, and
// the system still has what is read again.
func releaseMemory() {
	debug.FreeOSMemory()
	releaseCode()
}
