package script

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"runtime"
	"sync/atomic"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/processors/script/internal/js"
	"github.com/sandrone-gateway/sandrone/processors/script/internal/worker"
)

// Runner runs scripts. [NewPool], [InProcess] and [NewRunner] make one; it
// serves any number of steps at the same time.
type Runner interface {
	// Close ends what runs and what waits. Later runs fail.
	Close() error

	compile(ctx context.Context, job *js.Job) error
	run(ctx context.Context, job *js.Job, host js.Host) (*js.Result, error)
}

// Options are the choices of a runner.
type Options struct {
	// Slots is how many scripts run at once; 0 stands for the number of CPUs,
	// at least two. Memory is bounded by slots × (256 MiB + input).
	Slots int

	// Log takes what happens to workers, at debug level; nil: nobody. Nothing
	// of a script or its data goes there.
	Log *slog.Logger
}

// hooked says that Main was called, so that this executable can be a worker.
var hooked atomic.Bool

// Main is the hook for worker processes. A program that uses a [Pool] calls it
// before anything else in main, a test in TestMain. In a worker it does not
// return; otherwise it returns at once.
func Main() {
	hooked.Store(true)
	if IsWorker(os.Args) {
		worker.Serve()
		os.Exit(0)
	}
}

// IsWorker reports whether a command line is that of a worker process.
func IsWorker(args []string) bool { return len(args) == 2 && args[1] == worker.Argument }

// ErrNoHook is the error of [NewPool] in a program that has not called [Main]:
// its workers would be copies of itself, which would start workers in turn.
var ErrNoHook = errors.New("script: Main was not called")

// NewRunner returns a pool where the program has called [Main], else a runner
// in this process.
func NewRunner(o Options) Runner {
	if p, err := NewPool(o); err == nil {
		return p
	}
	return InProcess(o)
}

// Pool runs scripts in worker processes. Its limits hold whatever a script
// does: a run is over in time, and takes no more than 256 MiB.
type Pool struct {
	gate
	workers *worker.Pool
}

// NewPool returns a pool. Workers are started when they are needed, and two
// are kept for five minutes.
func NewPool(o Options) (*Pool, error) {
	if !hooked.Load() {
		return nil, ErrNoHook
	}
	log := o.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Pool{gate: newGate(o), workers: worker.NewPool(log)}, nil
}

// Close kills all workers and waits for their end.
func (p *Pool) Close() error {
	p.gate.close()
	p.workers.Close()
	return nil
}

func (p *Pool) compile(ctx context.Context, job *js.Job) error {
	ctx, leave, err := p.enter(ctx, job.Name)
	if err != nil {
		return err
	}
	defer leave()
	return p.workers.Compile(ctx, job)
}

func (p *Pool) run(ctx context.Context, job *js.Job, host js.Host) (*js.Result, error) {
	ctx, leave, err := p.enter(ctx, job.Name)
	if err != nil {
		return nil, err
	}
	defer leave()
	return p.workers.Run(ctx, job, host)
}

// inProcess runs scripts in this process.
type inProcess struct {
	gate
	programs js.Programs
}

// InProcess returns a runner without worker processes. Limits of time, call
// depth and result size hold for what the interpreter itself does. A script
// that stays in a native built-in outlives its time, and one that wants memory
// gets it: use it for scripts that you trust.
func InProcess(o Options) Runner { return &inProcess{gate: newGate(o)} }

func (p *inProcess) Close() error {
	p.gate.close()
	return nil
}

func (p *inProcess) compile(ctx context.Context, job *js.Job) error {
	_, leave, err := p.enter(ctx, job.Name)
	if err != nil {
		return err
	}
	defer leave()
	return p.programs.Compile(job.Name, job.Text)
}

func (p *inProcess) run(ctx context.Context, job *js.Job, host js.Host) (*js.Result, error) {
	ctx, leave, err := p.enter(ctx, job.Name)
	if err != nil {
		return nil, err
	}
	defer leave()
	return js.Run(ctx, &p.programs, job, host, nil)
}

// maxNesting is how deep scripts may run inside of each other, through the
// subscriptions and files that they ask for.
const maxNesting = 16

// gate bounds how many scripts run at once.
type gate struct {
	slots   chan struct{}
	running atomic.Int64 // nested runs too
	closed  context.Context
	close   context.CancelFunc
}

func newGate(o Options) gate {
	n := o.Slots
	if n <= 0 {
		n = max(2, runtime.GOMAXPROCS(0))
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	return gate{slots: make(chan struct{}, n), closed: ctx, close: func() { cancel(errClosed) }}
}

var errClosed = errors.New("script: the runner is closed")

// level is the key of the depth at which a context runs scripts.
type level struct{}

// enter waits for a slot; leave gives it back. A script that runs inside of a
// call of another one takes over the slot of that one, which is waiting: were
// it to wait for a slot of its own, as many scripts as there are slots would
// wait for each other. The returned context says that it is inside, and ends
// when the runner is closed.
func (g *gate) enter(ctx context.Context, name string) (inside context.Context, leave func(), err error) {
	depth, _ := ctx.Value(level{}).(int)
	if depth >= maxNesting {
		return nil, nil, runtimeError(name, "scripts run inside of each other more than 16 levels deep")
	}
	if err := context.Cause(g.closed); err != nil {
		return nil, nil, err
	}
	if depth == 0 {
		select {
		case g.slots <- struct{}{}:
		case <-ctx.Done():
			return nil, nil, context.Cause(ctx)
		case <-g.closed.Done():
			return nil, nil, context.Cause(g.closed)
		}
	}
	if n := g.running.Add(1); n > int64(cap(g.slots)*maxNesting) {
		// Inputs of a collection are made several at a time, each with its
		// scripts: without a bound, levels would multiply.
		g.running.Add(-1)
		return nil, nil, sandrone.Errorf(sandrone.Busy, "too many scripts run inside of each other")
	}
	inside, cancel := context.WithCancelCause(context.WithValue(ctx, level{}, depth+1))
	stop := context.AfterFunc(g.closed, func() { cancel(context.Cause(g.closed)) })
	return inside, func() {
		stop()
		cancel(nil)
		g.running.Add(-1)
		if depth == 0 {
			<-g.slots
		}
	}, nil
}

func runtimeError(name, text string) *sandrone.Error {
	e := sandrone.Errorf(sandrone.ScriptRuntime, "%s", js.Message(name, text))
	e.Processor = "script"
	return e
}
