//go:build unix

// Command load starts the server on loopback with a subscription of 2,000
// nodes and holds clients on it: on a share whose rendering is cached, and on
// renders that are made anew for each request. For each it prints requests a
// second, the median and the 99th percentile of the time of a request, the
// server's own CPU time for one, which says more than the others where the
// machine has other work, the peak of resident memory and the number of
// failures, beside the goals; then the memory of a server that nobody asked
// anything, the time of a preview of 10,000 and of 20,000 nodes with five
// steps, and the CPU time, of server and workers, that a script which renames
// 10,000 nodes adds to a render. Run it from the module's root; make load does.
//
// The exit status is 1 when a request failed or something could not be
// measured, not when a goal is missed: figures depend on the machine.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/sandrone-gateway/sandrone/tools/gensub/synth"
)

const nodes = 2_000 // of the subscription under load

func main() {
	clients := flag.Int("clients", 64, "how many ask at once")
	length := flag.Duration("time", 10*time.Second, "how long each load is held")
	quick := flag.Bool("quick", false, "hold each load for 2 s")
	flag.Parse()
	if flag.NArg() > 0 || *clients < 1 {
		flag.Usage()
		os.Exit(2)
	}
	if *quick {
		*length = 2 * time.Second
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *clients, *length); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, clients int, length time.Duration) error {
	dir, err := os.MkdirTemp("", "sandrone-load-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "sandrone")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", program, "./cmd/sandrone") // as make build
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	build.Stdout, build.Stderr = os.Stderr, os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("building the program: %w", err)
	}

	fmt.Printf("%s/%s, %d CPUs, %s, %s; %d clients, %v each, %d nodes.\n\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version(),
		time.Now().UTC().Format(time.DateOnly), clients, length, nodes)
	fmt.Println("| load | requests a second | p50 | p99 | CPU | peak | goal | failed |")
	fmt.Println("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
	failed := 0
	for _, l := range []load{
		{"cached share", "64 MiB", "GET", "/s/load", "", 3600},
		{"uncached render", "100 MiB", "POST", "/v1/subscriptions/load/render", `{"format":"mihomo-proxies"}`, 0},
	} {
		n, err := l.hold(ctx, program, filepath.Join(dir, "data-"+l.method), clients, length)
		if err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
		failed += n
	}
	if err := idle(ctx, program, filepath.Join(dir, "data-idle")); err != nil {
		return err
	}
	if err := previews(ctx, program, filepath.Join(dir, "data-preview")); err != nil {
		return err
	}
	if err := scripts(ctx, program, filepath.Join(dir, "data-script")); err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%d requests failed", failed)
	}
	return nil
}

// load is one kind of request.
type load struct {
	name, goal         string // the goal is for the peak
	method, path, body string
	cacheSeconds       int // of the rendering
}

// hold has clients send the request for a while, and prints a row.
func (l *load) hold(ctx context.Context, program, dir string, clients int, length time.Duration) (failures int, err error) {
	s, err := start(ctx, program, dir, clients)
	if err != nil {
		return 0, err
	}
	defer s.stop()
	if err := s.store("load", nodes, l.cacheSeconds, "[]"); err != nil {
		return 0, err
	}
	if err := s.ask("PATCH", "/v1/settings", `{"shares":{"requests_per_minute":0}}`); err != nil {
		return 0, err
	}
	if err := s.ask("POST", "/v1/shares", `{"id":"load","target_kind":"subscription","target_name":"load","target_format":"mihomo-proxies"}`); err != nil {
		return 0, err
	}
	if err := s.ask(l.method, l.path, l.body); err != nil {
		return 0, err
	}

	var bad atomic.Int64
	var all sync.WaitGroup
	times := make([][]time.Duration, clients)
	began := time.Now()
	for i := range clients {
		all.Go(func() {
			for time.Since(began) < length && ctx.Err() == nil {
				start := time.Now()
				if err := s.ask(l.method, l.path, l.body); err != nil {
					bad.Add(1)
					continue
				}
				times[i] = append(times[i], time.Since(start))
			}
		})
	}
	all.Wait()
	took := time.Since(began)
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	if err := s.stop(); err != nil {
		return 0, err
	}
	sorted := slices.Sorted(slices.Values(slices.Concat(times...)))
	if len(sorted) == 0 {
		return int(bad.Load()), errors.New("no request succeeded")
	}
	cpu := (s.cmd.ProcessState.UserTime() + s.cmd.ProcessState.SystemTime()) / time.Duration(len(sorted))
	fmt.Printf("| %s | %.0f | %.1f ms | %.1f ms | %.1f ms | %s | %s | %d |\n", l.name, float64(len(sorted))/took.Seconds(),
		milliseconds(sorted[len(sorted)/2]), milliseconds(sorted[len(sorted)*99/100]), milliseconds(cpu), mebibytes(s.peak()), l.goal, bad.Load())
	return int(bad.Load()), nil
}

// idle prints the memory of a server with something stored that was asked
// nothing.
func idle(ctx context.Context, program, dir string) error {
	s, err := start(ctx, program, dir, 1)
	if err != nil {
		return err
	}
	defer s.stop()
	if err := s.store("load", nodes, 0, "[]"); err != nil {
		return err
	}
	if err := s.stop(); err != nil {
		return err
	}
	if s, err = start(ctx, program, dir, 1); err != nil {
		return err
	}
	defer s.stop()
	now := s.settled()
	if err := s.stop(); err != nil {
		return err
	}
	if now == 0 { // unknown
		now = s.peak()
	}
	fmt.Printf("\nIdle: %s (goal 20 MiB), %s at most while starting.\n", mebibytes(now), mebibytes(s.peak()))
	return nil
}

const steps = `[{"type":"regex_delete","params":{"patterns":["[0-9]+x"]}},{"type":"rename","params":{"mode":"prefix","value":"A "}},
	{"type":"flag","params":{"mode":"add"}},{"type":"sort","params":{"by":"+name"}},{"type":"dedup"}]`

// previews prints how long previews take. The best of a few counts, since what
// else runs on the machine only adds.
func previews(ctx context.Context, program, dir string) error {
	s, err := start(ctx, program, dir, 1)
	if err != nil {
		return err
	}
	defer s.stop()
	var best [2]time.Duration
	for i, n := range []int{10_000, 20_000} {
		name := "n" + strconv.Itoa(n)
		if err := s.store(name, n, 0, steps); err != nil {
			return err
		}
		for range 5 {
			start := time.Now()
			if err := s.ask("POST", "/v1/subscriptions/"+name+"/preview", `{}`); err != nil {
				return err
			}
			if took := time.Since(start); best[i] == 0 || took < best[i] {
				best[i] = took
			}
		}
	}
	fmt.Printf("\nPreview with five steps: %.0f ms for 10,000 nodes (goal 500 ms), %.0f ms for 20,000 (%.2f times, goal 2).\n",
		milliseconds(best[0]), milliseconds(best[1]), float64(best[1])/float64(best[0]))
	return s.stop()
}

const renames = `[{"type":"script","stage":"nodes","params":{"source":{"type":"inline","content":
	"function main(input) { for (const n of input.nodes) n.name = 'EDGE ' + n.name; return input }"}}}]`

// scripts prints what a script step adds to a render. The CPU time of a server
// and of its workers is known when they have ended, so there is a server for
// the render with the step and one for the render without it.
func scripts(ctx context.Context, program, dir string) error {
	const renders = 20
	cpu := func(name, steps string) (time.Duration, error) {
		s, err := start(ctx, program, dir+name, 1)
		if err != nil {
			return 0, err
		}
		defer s.stop()
		if err := s.store(name, 10_000, 0, steps); err != nil {
			return 0, err
		}
		for range renders {
			if err := s.ask("POST", "/v1/subscriptions/"+name+"/render", `{"format":"uri-list"}`); err != nil {
				return 0, err
			}
		}
		if err := s.stop(); err != nil {
			return 0, err
		}
		return s.cmd.ProcessState.UserTime() + s.cmd.ProcessState.SystemTime(), nil
	}
	without, err := cpu("plain", "[]")
	if err != nil {
		return err
	}
	with, err := cpu("script", renames)
	if err != nil {
		return err
	}
	fmt.Printf("\nA script that renames 10,000 nodes adds %.0f ms of CPU to each of %d renders (goal 300 ms), which take %.0f ms without it.\n",
		milliseconds(with-without)/renders, renders, milliseconds(without)/renders)
	return nil
}

// server is a running server.
type server struct {
	cmd    *exec.Cmd
	url    string
	client *http.Client
	ended  chan error
}

func start(ctx context.Context, program, dir string, clients int) (*server, error) {
	cmd := exec.CommandContext(ctx, program, "serve", "--listen", "127.0.0.1:0", "--data-dir", dir)
	log, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		_, address, ok := strings.Cut(lines.Text(), `msg="starting HTTP API" listen=`)
		if !ok {
			continue
		}
		s := &server{
			cmd:    cmd,
			url:    "http://" + address,
			client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}, Timeout: time.Minute},
			ended:  make(chan error, 1),
		}
		go func() {
			io.Copy(io.Discard, log)
			s.ended <- cmd.Wait()
		}()
		return s, nil
	}
	return nil, errors.Join(errors.New("the server did not start"), cmd.Wait())
}

// stop ends the server in good order, once.
func (s *server) stop() error {
	if s.cmd.ProcessState != nil {
		return nil
	}
	s.client.CloseIdleConnections()
	s.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case err := <-s.ended:
		return err
	case <-time.After(15 * time.Second):
		s.cmd.Process.Kill()
		<-s.ended
		return errors.New("the server did not stop")
	}
}

// peak is the highest resident memory of the server, in bytes, after its end.
func (s *server) peak() int64 {
	r, ok := s.cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return int64(r.Maxrss)
	}
	return int64(r.Maxrss) << 10
}

// settled tells the resident memory of a server that has nothing to do, once it
// has stayed the same for two seconds. It is 0 where only other systems than
// Linux know.
func (s *server) settled() int64 {
	last := int64(-1)
	for range 30 {
		now := s.resident()
		if now == last {
			return now
		}
		last = now
		time.Sleep(2 * time.Second)
	}
	return last
}

func (s *server) resident() int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if kib, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			if n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(kib), " kB"), 10, 64); err == nil {
				return n << 10
			}
		}
	}
	return 0
}

// ask sends a request, whose answer must be a success that arrives as a whole.
func (s *server) ask(method, path, body string) error {
	req, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode < 300 {
		_, err = io.Copy(io.Discard, resp.Body)
		return err
	}
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 500))
	return fmt.Errorf("%s %s: status %d: %s", method, path, resp.StatusCode, text)
}

// store saves a subscription of n generated nodes.
func (s *server) store(name string, n, cacheSeconds int, steps string) error {
	list, err := synth.Build(synth.Options{Nodes: n, Seed: 1})
	if err != nil {
		return err
	}
	text, _, err := synth.Render(list, synth.Base64, synth.Layout{})
	if err != nil {
		return err
	}
	body, err := json.Marshal(map[string]any{"name": name, "type": "local", "content": string(text),
		"render_cache_ttl_seconds": cacheSeconds, "processors": json.RawMessage(steps)})
	if err != nil {
		return err
	}
	return s.ask("POST", "/v1/subscriptions", string(body))
}

func milliseconds(d time.Duration) float64 { return float64(d) / 1e6 }

func mebibytes(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }
