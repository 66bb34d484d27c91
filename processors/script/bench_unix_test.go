//go:build unix

package script_test

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/sandrone-gateway/sandrone/processors/script"
)

// BenchmarkRun reports the processor time of this process and, as its own
// metric, of workers that have ended.
func BenchmarkRun(b *testing.B) {
	for _, c := range []struct{ name, text string }{{"rename", renameScript}, {"spread", spreadScript}, {"filter", filterScript}} {
		for _, n := range []int{50, 1000, 10_000} {
			b.Run(fmt.Sprintf("%s/%d", c.name, n), func(b *testing.B) {
				p, err := script.NewPool(script.Options{})
				if err != nil {
					b.Fatal(err)
				}
				nodes := pointers(many(n))
				s, err := script.New(context.Background(), params(c.text), script.Env{Runner: p})
				if err != nil {
					b.Fatal(err)
				}
				// The first runs of a worker find its memory cold.
				for range 3 {
					_, _, _ = s.Nodes(context.Background(), script.Input{}, nodes)
				}
				before := cpu()
				for b.Loop() {
					if _, _, err := s.Nodes(context.Background(), script.Input{}, nodes); err != nil {
						b.Fatal(err)
					}
				}
				p.Close()
				b.ReportMetric(float64((cpu()-before).Microseconds())/1000/float64(b.N), "cpu-ms/op")
			})
		}
	}
}

// cpu is the processor time of this process and of children that were reaped.
func cpu() (total time.Duration) {
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if syscall.Getrusage(who, &u) == nil {
			total += time.Duration(u.Utime.Nano() + u.Stime.Nano())
		}
	}
	return total
}
