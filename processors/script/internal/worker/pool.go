// Package worker runs scripts in processes that can be killed.
//
// A worker is this executable once more, started with an argument that makes
// it [Serve]. It does one run at a time and takes jobs and gives results in
// frames over its standard input and output. The parent watches clock and
// memory and kills a worker that goes over a limit, whatever the script is
// doing; the next one is there in a few milliseconds. Nothing that a worker
// says is trusted.
package worker

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/processors/script/internal/js"
)

// Argument is the one argument of a worker process.
const Argument = "sandrone-script-worker"

// Limits on a worker, fixed.
const (
	MaxGrowth = 256 << 20 // bytes that a run may add to the memory of its worker

	decodeFactor = 20               // bytes of memory for a byte of input, before the script starts
	objectFactor = 16               // and for the objects that it becomes where the script uses it
	decodeFree   = 64 << 20         // and for any input
	prepareLimit = 5 * time.Second  // to compile and to decode
	startLimit   = 10 * time.Second // to start a process
	settleLimit  = 5 * time.Second  // to clean up after a run
	interval     = 2 * time.Millisecond
	maxRuns      = 1000      // of a worker, then a fresh one takes its place
	maxRSS       = 128 << 20 // of a worker after a run, once memory went back to the system
	warm         = 2         // idle workers that are kept
	idleLimit    = 5 * time.Minute
)

// Pool starts, keeps and kills workers.
type Pool struct {
	log *slog.Logger

	mu       sync.Mutex
	idle     []*process // the last used one at the end
	starting int        // in the background
	busy     int        // with a job, or cleaning up after it
	closed   bool
	procs    sync.WaitGroup
}

// NewPool makes a pool. Processes are started when they are needed. log takes
// what happens to workers, at debug level, without anything of a script.
func NewPool(log *slog.Logger) *Pool { return &Pool{log: log} }

// ErrClosed is the error of a pool after Close.
var ErrClosed = errors.New("worker: the pool is closed")

// Close kills all workers and waits for their end. Runs fail.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	idle := p.idle
	p.idle = nil
	p.mu.Unlock()
	for _, w := range idle {
		w.kill()
	}
	p.procs.Wait()
}

// Compile reports whether the text of a job is a script. Errors are those of
// Run.
func (p *Pool) Compile(ctx context.Context, job *js.Job) error {
	_, err := p.do(ctx, kindCompile, job, nil)
	return err
}

// Run runs a job in a worker. Errors are those of [js.Run], and a
// [*sandrone.Error] where no worker can be had.
func (p *Pool) Run(ctx context.Context, job *js.Job, host js.Host) (*js.Result, error) {
	return p.do(ctx, kindRun, job, host)
}

func (p *Pool) do(ctx context.Context, kind byte, job *js.Job, host js.Host) (*js.Result, error) {
	f := putJob(job)
	if f.size > maxFrame {
		return nil, &js.Error{Kind: js.Runtime, Message: js.Message(job.Name, "the input is larger than 64 MiB")}
	}
	hash := js.Hash(job.Name, job.Text)
	for try := 0; ; try++ {
		w, err := p.take(ctx, hash)
		if err != nil {
			return nil, err
		}
		w.hash = hash
		d := drive{ctx: ctx, w: w, job: job, host: host, size: int64(f.size)}
		res, err := d.run(kind, f)
		if d.reusable {
			p.procs.Go(func() { p.settle(w) })
		} else {
			p.drop(w)
			p.log.Debug("script worker stopped", "cause", err, "runs", w.runs)
		}
		// An idle worker that the system killed is noticed by the job that it
		// does not begin. That job has done nothing yet.
		if !d.lost || try == warm {
			return res, err
		}
	}
}

// take returns an idle worker, one that has run the script by preference, or
// starts one.
func (p *Pool) take(ctx context.Context, hash [sha256.Size]byte) (*process, error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, ErrClosed
	}
	for len(p.idle) > 0 {
		at := len(p.idle) - 1
		for i, w := range p.idle {
			if w.hash == hash {
				at = i
			}
		}
		w := p.idle[at]
		p.idle = append(p.idle[:at], p.idle[at+1:]...)
		if w.stopTimer(); w.dead() {
			continue
		}
		p.busy++
		p.mu.Unlock()
		return w, nil
	}
	p.busy++
	p.procs.Add(1) // under the lock, so that Close waits for it
	p.mu.Unlock()
	w, err := p.start(ctx)
	if err != nil {
		p.drop(nil)
	}
	return w, err
}

// drop ends a busy worker, if there is one, and starts another in its place.
func (p *Pool) drop(w *process) {
	if w != nil {
		w.kill()
	}
	p.mu.Lock()
	p.busy--
	p.mu.Unlock()
	p.keepWarm()
}

// keepWarm starts workers in the background, up to the number that is kept. A
// busy one comes back in most cases.
func (p *Pool) keepWarm() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for !p.closed && len(p.idle)+p.starting+p.busy < warm {
		p.starting++
		p.procs.Add(2)
		go func() {
			defer p.procs.Done()
			w, err := p.start(context.Background())
			p.mu.Lock()
			defer p.mu.Unlock()
			p.starting--
			if err == nil {
				p.put(w)
			}
		}()
	}
}

// settle waits until a worker has cleaned up after a run, and keeps it if it
// is fit for another.
func (p *Pool) settle(w *process) {
	limit := time.NewTimer(settleLimit)
	defer limit.Stop()
	select {
	case f, ok := <-w.frames:
		size := packet{b: f.payload}
		if ok && f.kind == kindIdle && size.int()<<10 <= maxRSS && size.ok() && w.runs < maxRuns {
			p.mu.Lock()
			p.busy--
			p.put(w)
			p.mu.Unlock()
			p.keepWarm()
			return
		}
	case <-limit.C:
	}
	p.drop(w)
}

// put keeps an idle worker for a while. The lock is held.
func (p *Pool) put(w *process) {
	if p.closed || len(p.idle) >= warm {
		w.kill()
		return
	}
	p.idle = append(p.idle, w)
	w.timer = time.AfterFunc(idleLimit, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		for i, other := range p.idle {
			if other == w {
				p.idle = append(p.idle[:i], p.idle[i+1:]...)
				w.kill()
			}
		}
	})
}

// process is a running worker.
type process struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	frames chan frame    // closed at its end
	ended  chan struct{} // closed when it is reaped
	stop   sync.Once
	killed chan struct{}
	rss    *rss
	runs   int
	hash   [sha256.Size]byte
	timer  *time.Timer // while idle
}

// start starts a worker and waits for its hello. The caller has added one to
// p.procs for the process.
func (p *Pool) start(ctx context.Context) (*process, error) {
	w, err := p.launch()
	if err != nil {
		p.procs.Done()
		return nil, internal(err)
	}
	limit := time.NewTimer(startLimit)
	defer limit.Stop()
	select {
	case f, ok := <-w.frames:
		if ok && f.kind == kindHello && string(f.payload) == hello() {
			return w, nil
		}
		err = errors.New("worker: no hello of this build")
	case <-limit.C:
		err = errors.New("worker: no hello in time")
	case <-ctx.Done():
		w.kill()
		return nil, context.Cause(ctx)
	}
	w.kill()
	return nil, internal(err)
}

func internal(err error) error {
	return sandrone.Errorf(sandrone.InternalError, "internal error").Because(err)
}

func (p *Pool) launch() (*process, error) {
	path, err := executable()
	if err != nil {
		return nil, err
	}
	w := &process{
		cmd:    exec.Command(path, Argument),
		frames: make(chan frame),
		ended:  make(chan struct{}),
		killed: make(chan struct{}),
	}
	w.cmd.Dir = rootDir()
	// Without traces of its stacks: they print arguments.
	w.cmd.Env = []string{"GOTRACEBACK=none"}
	if tz, ok := os.LookupEnv("TZ"); ok {
		w.cmd.Env = append(w.cmd.Env, "TZ="+tz)
	}
	w.cmd.SysProcAttr = apart()
	if w.in, err = w.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := w.cmd.Start(); err != nil {
		return nil, err
	}
	w.rss = openRSS(w.cmd.Process.Pid)
	go func() {
		defer p.procs.Done()
		defer close(w.ended)
		w.read(bufio.NewReaderSize(out, 64<<10))
		_ = w.cmd.Wait()
		w.rss.close()
	}()
	return w, nil
}

// read passes the frames of a worker on until it ends.
func (w *process) read(out *bufio.Reader) {
	defer close(w.frames)
	for {
		f, err := readFrame(out)
		if err != nil {
			// A worker that breaks the protocol is of no use; one that is gone
			// does not mind.
			_ = w.cmd.Process.Kill()
			return
		}
		select {
		case w.frames <- f:
		case <-w.killed:
			return
		}
	}
}

// kill ends a worker at once. It may be called more than once.
func (w *process) kill() {
	w.stop.Do(func() {
		close(w.killed)
		_ = w.cmd.Process.Kill()
		_ = w.in.Close()
	})
}

func (w *process) dead() bool {
	select {
	case <-w.ended:
		return true
	default:
		return false
	}
}

func (w *process) stopTimer() {
	if w.timer != nil {
		w.timer.Stop()
	}
}

func (w *process) send(kind byte, payload []byte) error { return writeFrame(w.in, kind, payload) }

// drive is one run as its parent sees it.
type drive struct {
	ctx  context.Context
	w    *process
	job  *js.Job
	host js.Host
	size int64 // bytes of input

	reusable bool // the worker has ended the run by itself
	lost     bool // it was killed by others before the script began
	started  bool
	limit    int64 // resident memory over which the worker is killed
	logs     int
	failed   []error // of the calls, by their number
}

func (d *drive) run(kind byte, job jobFrame) (*js.Result, error) {
	w := d.w
	w.runs++
	ctx, cancel := context.WithCancel(d.ctx)
	defer cancel() // before a kill, so that calls under way end first
	go func() { _ = job.write(w.in, kind) }()

	clock := time.NewTimer(prepareLimit)
	defer clock.Stop()
	var watch <-chan time.Time
	if used, ok := w.rss.resident(); ok {
		d.limit = used + d.size*decodeFactor + decodeFree
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		watch = ticker.C
	}
	var answered chan reply
	for {
		select {
		case <-d.ctx.Done():
			return nil, context.Cause(d.ctx)

		case <-clock.C:
			if !d.started {
				return nil, d.fault("took too long to compile")
			}
			return nil, d.timeout(0, 0)

		case <-watch:
			if used, ok := w.rss.resident(); ok && used > d.limit {
				return nil, d.memory()
			}

		case r := <-answered:
			answered = nil
			answer, err := json.Marshal(r)
			if err != nil || len(answer) > maxFrame {
				answer, _ = json.Marshal(reply{Failed: true, Code: string(sandrone.ScriptRuntime), Message: "the answer is too large"})
				d.failed[len(d.failed)-1] = sandrone.Errorf(sandrone.ScriptRuntime, "the answer is too large")
			}
			go func() { _ = w.send(kindAnswer, answer) }()

		case f, ok := <-w.frames:
			// What a cancellation made of a call is not the script's fault.
			if err := context.Cause(d.ctx); err != nil {
				return nil, err
			}
			if !ok {
				return nil, d.crash()
			}
			switch f.kind {
			case kindStarted:
				if d.started || kind != kindRun {
					return nil, d.broken()
				}
				d.started = true
				clock.Reset(d.job.Timeout)
				if used, ok := w.rss.resident(); ok {
					d.limit = used + MaxGrowth + d.size*objectFactor
				}
			case kindLog:
				if d.logs++; !d.started || d.logs > js.MaxLogs || len(f.payload) > js.MaxLog {
					return nil, d.broken()
				}
				d.host.Log(string(f.payload))
			case kindCall:
				p := packet{b: f.payload}
				method, args := string(p.bytes()), p.bytes()
				if !d.started || answered != nil || !p.ok() {
					return nil, d.broken()
				}
				answered = make(chan reply, 1)
				d.failed = append(d.failed, nil)
				go d.call(ctx, method, args, answered, &d.failed[len(d.failed)-1])
			case kindDone:
				res, err := takeResult(f.payload, len(d.job.Nodes))
				if err != nil || !d.started && kind == kindRun || answered != nil {
					return nil, d.broken()
				}
				d.reusable = true
				return res, nil
			case kindError:
				err := d.failure(f.payload)
				d.reusable = err != nil && answered == nil
				if !d.reusable {
					return nil, d.broken()
				}
				return nil, err
			default:
				return nil, d.broken()
			}
		}
	}
}

// call makes a call for the script. failed takes its error, before the answer
// is given.
func (d *drive) call(ctx context.Context, method string, args []byte, answered chan<- reply, failed *error) {
	value, err := d.host.Call(ctx, method, args)
	if err == nil {
		answered <- reply{Value: value}
		return
	}
	*failed = err
	r := reply{Failed: true, Message: method + " failed"}
	if e, ok := errors.AsType[*sandrone.Error](err); ok {
		r.Code, r.Message = string(e.Code), e.Message
	}
	answered <- r
}

// failure reads the error of a run; nil for one that makes no sense.
func (d *drive) failure(payload []byte) error {
	var f failure
	if json.Unmarshal(payload, &f) != nil {
		return nil
	}
	switch f.Kind {
	case js.Timeout:
		return d.timeout(f.Line, f.Column)
	case js.HostCall:
		if f.Call < 1 || f.Call > len(d.failed) || d.failed[f.Call-1] == nil {
			return nil
		}
		cause := d.failed[f.Call-1]
		return &js.Error{Kind: js.HostCall, Message: js.Message(d.job.Name, "a call failed"), Line: max(f.Line, 0), Column: max(f.Column, 0), Cause: cause}
	case js.Runtime:
		// The name is in front already; the second time makes sure of length
		// and of characters only.
		e := d.fault("")
		e.Message, e.Line, e.Column = js.Clean(f.Message), max(f.Line, 0), max(f.Column, 0)
		return e
	}
	return nil
}

func (d *drive) fault(text string) *js.Error {
	return &js.Error{Kind: js.Runtime, Message: js.Message(d.job.Name, text)}
}

func (d *drive) timeout(line, column int) *js.Error {
	return &js.Error{Kind: js.Timeout, Message: js.TimeoutMessage(d.job), Line: max(line, 0), Column: max(column, 0)}
}

func (d *drive) memory() *js.Error {
	if !d.started {
		return d.fault("takes too much memory to compile")
	}
	return d.fault(fmt.Sprintf("needs more than %d MiB of memory", MaxGrowth>>20))
}

func (d *drive) broken() *js.Error { return d.fault("the worker broke the protocol") }

// crash is the error of a run whose worker ended without being told to: a
// stack or memory limit of its own, or the system's.
func (d *drive) crash() *js.Error {
	select {
	case <-d.w.ended:
		switch code := d.w.cmd.ProcessState.ExitCode(); {
		case code == exitMemory:
			return d.memory()
		case code < 0 && !d.started: // a signal; what a script does to itself exits
			d.lost = true
		}
	case <-time.After(100 * time.Millisecond):
	}
	return d.fault("stopped: out of resources")
}
