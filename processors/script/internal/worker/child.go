package worker

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/processors/script/internal/js"
)

// Limits of a worker on itself. What is not dependable about them is made up
// for by the parent, who watches and kills.
const (
	maxStack     = 64 << 20  // Go stack of native recursion; over it the process dies
	gcPercent    = 400       // garbage is cheap in a process this short of live data
	gcHeadroom   = 192 << 20 // above it the collector works as hard as it has to
	ownLimit     = MaxGrowth + 32<<20
	ownInterval  = 5 * time.Millisecond
	exitMemory   = 77
	restRSS      = 32 << 20         // above it memory goes back to the system when no other run follows
	restAfter    = 10 * time.Second // which is known then
	politeMargin = 10 * time.Millisecond
)

// Serve is the life of a worker process: jobs come in on stdin, one at a time,
// until it is closed. It does not return.
func Serve() {
	debug.SetMaxStack(maxStack)
	debug.SetGCPercent(gcPercent)
	// Loaded while files can still be opened.
	_ = time.Now().Local().String()
	c := &child{rss: openRSS(os.Getpid()), answers: make(chan []byte, 1)}
	c.out = bufio.NewWriterSize(os.Stdout, 64<<10)
	jobs := make(chan frame, 1)
	go c.read(jobs)
	c.warm()
	closeDoors()
	c.send(kindHello, []byte(hello()))
	rest := time.NewTimer(restAfter)
	for {
		select {
		case f := <-jobs:
			c.serve(f)
			rest.Reset(restAfter)
		case <-rest.C:
			if c.size() > restRSS {
				debug.FreeOSMemory()
			}
		}
	}
}

// hello is what a worker says first. A parent and a worker of different builds
// do not work together.
func hello() string {
	b := sandrone.ThisBuild()
	return string(putInt([]byte(b.Version+" "+b.Revision+" "), protocol))
}

type child struct {
	out      *bufio.Writer
	answers  chan []byte
	programs js.Programs
	rss      *rss
}

// read takes the frames of the parent. A parent that is gone takes the worker
// with it, whatever the script is doing.
func (c *child) read(jobs chan<- frame) {
	in := bufio.NewReaderSize(os.Stdin, 64<<10)
	for {
		f, err := readFrame(in)
		if err != nil {
			os.Exit(0)
		}
		if f.kind == kindAnswer {
			c.answers <- f.payload
		} else {
			jobs <- f
		}
	}
}

func (c *child) send(kind byte, payload []byte) {
	if writeFrame(c.out, kind, payload) != nil || c.out.Flush() != nil {
		os.Exit(0)
	}
}

// warm runs a small job, so that the first real one finds the engine's pages
// in memory.
func (c *child) warm() {
	node := []byte(`{"name":"n","type":"ss","server":"192.0.2.1","port":1,"tls":{"enabled":true}}`)
	_, _ = js.Run(context.Background(), &js.Programs{}, &js.Job{
		Name: "warm", Stage: js.StageNodes, Envelope: []byte(`{"version":1}`), Nodes: [][]byte{node},
		Text: `function main(input) { input.nodes = input.nodes.map(n => ({...n, name: n.name.replace(/n/, "m")})); return input }`,
	}, nil, nil)
}

// serve does one job.
func (c *child) serve(f frame) {
	job, err := takeJob(f.payload)
	if err != nil {
		os.Exit(1)
	}
	size := int64(len(f.payload))
	debug.SetMemoryLimit(inUse() + size*decodeFactor + 64<<20)
	limitData(c.rss, size)
	calls := &calls{child: c}
	stop := func() {}
	var res *js.Result
	if f.kind == kindCompile {
		err = c.programs.Compile(job.Name, job.Text)
		res = &js.Result{Kept: true}
	} else {
		// Plain loops end politely, with the place where they were; what does
		// not look is killed a moment later.
		job.Timeout -= min(politeMargin, job.Timeout/4)
		f.payload = nil
		res, err = js.Run(context.Background(), &c.programs, job, calls, func() {
			used := inUse()
			debug.SetMemoryLimit(used + size*objectFactor + gcHeadroom)
			stop = c.watch(used + size*objectFactor + ownLimit)
			c.send(kindStarted, nil)
		})
	}
	stop()
	if err != nil {
		c.send(kindError, calls.failure(err))
	} else {
		c.send(kindDone, putResult(res))
	}
	res, job, calls = nil, nil, nil

	size = c.size()
	if size > maxRSS {
		debug.FreeOSMemory()
		size = c.size()
	}
	c.send(kindIdle, putInt(nil, int(size>>10)))
}

// size is the resident memory of the process, or what stands for it.
func (c *child) size() int64 {
	if n, ok := c.rss.resident(); ok {
		return n
	}
	return inUse()
}

// watch ends the process when a script has taken more memory than limit, in
// bytes: where the parent cannot look, and where it is slow. It watches until
// stop is called.
func (c *child) watch(limit int64) (stop func()) {
	ticker, done := time.NewTicker(ownInterval), make(chan struct{})
	go func() {
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				if inUse() > limit {
					os.Exit(exitMemory)
				}
			}
		}
	}()
	return func() { close(done) }
}

// inUse returns the memory that the process has from the system.
func inUse() int64 {
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64()) - int64(s[1].Value.Uint64())
}

// calls are the calls of one run, passed on to the parent.
type calls struct {
	*child
	failed []*sandrone.Error
}

func (c *calls) Call(_ context.Context, method string, args []byte) ([]byte, error) {
	payload := putBytes(putBytes(nil, method), args)
	if len(payload) > maxFrame {
		return nil, &sandrone.Error{Code: sandrone.ScriptRuntime, Message: "the arguments are too large"}
	}
	c.send(kindCall, payload)
	var r reply
	if err := json.Unmarshal(<-c.answers, &r); err != nil {
		os.Exit(1)
	}
	e := &sandrone.Error{Code: sandrone.Code(r.Code), Message: r.Message}
	if !r.Failed {
		e = nil
	}
	c.failed = append(c.failed, e)
	if e != nil {
		return nil, e
	}
	return r.Value, nil
}

func (c *calls) Log(text string) { c.send(kindLog, []byte(text)) }

// failure is the payload of an error. A failed call goes by its number: the
// parent has the error itself.
func (c *calls) failure(err error) []byte {
	f := failure{Kind: js.Runtime, Message: "fault of the engine"}
	if e, ok := err.(*js.Error); ok {
		f = failure{Kind: e.Kind, Message: e.Message, Line: e.Line, Column: e.Column}
		if cause, ok := errors.AsType[*sandrone.Error](e.Cause); ok && e.Kind == js.HostCall {
			for i, failed := range c.failed {
				if failed == cause {
					f.Call = i + 1
				}
			}
		}
	}
	payload, err := json.Marshal(f)
	if err != nil {
		os.Exit(1)
	}
	return payload
}
