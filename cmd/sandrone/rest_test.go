package main

import (
	"strings"
	"testing"
	"time"
)

func TestAServerRestsWhenItHasWorkedAndIsQuiet(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		name string
		used []time.Duration // when it last rested, and after each pause
		want string          // R for each pause after which it rests
	}{
		{"after work", []time.Duration{0, 500 * ms, 900 * ms, 901 * ms, 902 * ms}, "..R."},
		{"not for little work", []time.Duration{0, 10 * ms, 20 * ms, 30 * ms}, "..."},
		{"when little has become much", []time.Duration{0, 40 * ms, 80 * ms, 120 * ms, 121 * ms}, "...R"},
		{"not where the time is not known", []time.Duration{0, 0, 0, 0}, "..."},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWatch(c.used[0])
			var got strings.Builder
			for _, used := range c.used[1:] {
				if !w.due(used) {
					got.WriteByte('.')
					continue
				}
				got.WriteByte('R')
				w = newWatch(used)
			}
			if got.String() != c.want {
				t.Errorf("got %s, want %s", got.String(), c.want)
			}
		})
	}
}
