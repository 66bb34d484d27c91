//go:build unix

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"time"
)

// usage is what one process took.
type usage struct {
	cpu  time.Duration // user and system
	peak int64         // bytes of resident memory
}

// usageOf runs a program to its end and returns what it took. The error holds
// what it said.
func usageOf(ctx context.Context, program string, args ...string) (usage, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		return usage{}, fmt.Errorf("%s %s: %w: %.500s", filepath.Base(program), args[0], err, said.Bytes())
	}
	return usageAfter(cmd), nil
}

// usageAfter reads the usage of a command that has ended.
func usageAfter(cmd *exec.Cmd) usage {
	u := usage{cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
	if r, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		u.peak = int64(r.Maxrss)
		if runtime.GOOS != "darwin" { // everywhere else the unit is KiB
			u.peak <<= 10
		}
	}
	return u
}

// conversion is one walk of the command line, with the floor that stands
// beside it.
type conversion struct {
	from, to string
	floor    string // command of the floor program; empty: measured alone
	goals    map[int]string
	growth   string // goal for the CPU a node
}

var conversions = []conversion{
	{"base64", "mihomo-proxies", "floor", map[int]string{10_000: "≤ 1.2", 100_000: "≤ 1.5, 300 MiB"}, "≤ 1.1"},
	{"mihomo", "sing-box-outbounds", "floor2", map[int]string{10_000: "≤ 0.35", 100_000: "≤ 0.35"}, "≤ 1.1"},
	{"sing-box", "uri-list", "", nil, "≤ 1.1"},
}

// row is what one conversion took at one size.
type row struct {
	nodes    int
	sandrone []usage
	floor    []usage // as many, or none
}

func (b *bench) conversion(ctx context.Context, c conversion) error {
	fmt.Printf("\n### %s → %s\n\n", c.from, c.to)
	fmt.Println("| nodes | CPU | floor CPU | ratio (min–max) | goal | peak | floor peak | CPU a node |")
	fmt.Println("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
	rows := make([]row, 0, len(b.sizes))
	for _, n := range b.sizes {
		r, err := b.pairs(ctx, c, n)
		if err != nil {
			return err
		}
		r.print(c.goals[n])
		rows = append(rows, r)
	}

	// How CPU grows with the input: plainly, and with the cost of the smallest
	// input, which is mostly that of starting, taken off.
	perNode := func(r row, start time.Duration, nodes int) float64 {
		return float64(cpu(r.sandrone)-start) / float64(nodes)
	}
	small, last := rows[1], rows[len(rows)-1]
	start := cpu(rows[0].sandrone)
	fmt.Printf("\nCPU a node at %d against %d nodes: %.2f (goal %s); with the %d-node run taken off both: %.2f.\n",
		last.nodes, small.nodes, perNode(last, 0, last.nodes)/perNode(small, 0, small.nodes), c.growth, b.sizes[0],
		perNode(last, start, last.nodes-b.sizes[0])/perNode(small, start, small.nodes-b.sizes[0]))
	return nil
}

// pairs measures one conversion at one size. A first pair warms the caches of
// the file system and does not count.
func (b *bench) pairs(ctx context.Context, c conversion, n int) (row, error) {
	progress("%s → %s, %d nodes", c.from, c.to, n)
	r := row{nodes: n}
	input, err := b.input(ctx, c.from, n)
	if err != nil {
		return r, err
	}
	out := filepath.Join(b.dir, "out")
	for i := range b.runs + 1 {
		var own, floor usage
		convert := func() (err error) {
			own, err = usageOf(ctx, b.sandrone, "convert", "--from", c.from, "--to", c.to, "--input", input, "--output", out)
			if err != nil {
				return err
			}
			if info, err := os.Stat(out); err != nil || info.Size() < int64(20*n) {
				return fmt.Errorf("%s → %s, %d nodes: the output is missing or too short", c.from, c.to, n)
			}
			return os.Remove(out)
		}
		beside := func() (err error) {
			if c.floor != "" {
				floor, err = usageOf(ctx, b.floor, c.floor, input, filepath.Join(b.dir, "floor-out"))
			}
			return err
		}
		// Who goes first changes from pair to pair.
		first, second := convert, beside
		if i%2 == 1 {
			first, second = beside, convert
		}
		if err := first(); err != nil {
			return r, err
		}
		if err := second(); err != nil {
			return r, err
		}
		if i == 0 {
			continue
		}
		r.sandrone = append(r.sandrone, own)
		if c.floor != "" {
			r.floor = append(r.floor, floor)
		}
	}
	return r, nil
}

func (r row) print(goal string) {
	floorCPU, ratio, floorPeak := "–", "–", "–"
	if len(r.floor) > 0 {
		floorCPU, floorPeak = milliseconds(cpu(r.floor)), mebibytes(peak(r.floor))
		ratio = ratios(r.sandrone, r.floor)
	}
	if goal == "" {
		goal = "–"
	}
	fmt.Printf("| %d | %s | %s | %s | %s | %s | %s | %.2f µs |\n", r.nodes, milliseconds(cpu(r.sandrone)), floorCPU, ratio, goal,
		mebibytes(peak(r.sandrone)), floorPeak, float64(cpu(r.sandrone))/float64(r.nodes)/1e3)
}

// ratios shows the median and the range of CPU over the pairs.
func ratios(own, floor []usage) string {
	list := make([]float64, len(own))
	for i := range own {
		list[i] = float64(own[i].cpu) / float64(floor[i].cpu)
	}
	return fmt.Sprintf("**%.2f** (%.2f–%.2f)", median(list), slices.Min(list), slices.Max(list))
}

// cpu is the median CPU time.
func cpu(list []usage) time.Duration {
	times := make([]time.Duration, len(list))
	for i, u := range list {
		times[i] = u.cpu
	}
	return median(times)
}

// peak is the highest resident memory.
func peak(list []usage) (bytes int64) {
	for _, u := range list {
		bytes = max(bytes, u.peak)
	}
	return bytes
}

func median[T time.Duration | float64](list []T) T {
	sorted := slices.Sorted(slices.Values(list))
	half := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[half]
	}
	return (sorted[half-1] + sorted[half]) / 2
}

func milliseconds(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d)/1e6) }

func mebibytes(n int64) string { return fmt.Sprintf("%d MiB", (n+1<<19)>>20) }
