// Package js runs one script over one envelope inside goja.
//
// A run has a runtime of its own with nothing of the host in it but the api
// object of [Job]'s stage. Nodes come in as JSON text, one piece a node, become
// objects where the script asks for more than a few of their members, and go
// out as patches: what it did not touch costs next to nothing either way.
//
// Time, call depth and the size of the result are limited here, by means of
// the interpreter. Those hold for scripts that mean no harm: native built-ins
// do not look at the clock and take the memory they like. Package worker puts
// a process around a run that can be killed.
package js

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/dop251/goja"
	"github.com/dop251/goja/parser"
)

// Limits of a run, fixed.
const (
	MaxResult     = 32 << 20 // bytes of JSON that a script may return
	MaxNodes      = 100_000  // nodes it may return
	MaxCallDepth  = 2000     // frames, then a RangeError
	MaxValueDepth = 512      // levels of a value that leaves the script
	MaxLogs       = 200      // entries of api.log, each of at most MaxLog bytes
	MaxLog        = 8 << 10
	MaxWarnings   = 10_000 // calls of api.warn that are kept, of at most MaxWarning bytes each
	MaxWarning    = 8 << 10

	maxWarningBytes = 4 << 20 // of all of them
)

// hardCallDepth stops what the depth guard does not see: text compiled by
// Function and eval. It ends the run.
const hardCallDepth = 4000

// Job is one run.
type Job struct {
	Name     string        // diagnostic id, stands in messages and stack traces
	Text     string        // the script
	Stage    string        // StageNodes or StageFile
	Timeout  time.Duration // of top level, main and the calls they make; 0: none
	Envelope []byte        // input as a JSON object, without nodes
	Nodes    [][]byte      // input.nodes, a JSON object each; nil leaves the member out
}

// The stages of a [Job].
const (
	StageNodes = "nodes"
	StageFile  = "file"
)

// Host answers the calls that leave the sandbox.
type Host interface {
	// Call runs the method ("subscription.produce", "file.content", "probe")
	// with its arguments, a JSON array, and returns its result as JSON. An
	// error with the code of a [*sandrone.Error] keeps it when the script does
	// not catch it; its message is shown to the script.
	Call(ctx context.Context, method string, args []byte) ([]byte, error)

	// Log takes an entry of api.log.
	Log(text string)
}

// Result is what a script returned.
type Result struct {
	Kept     bool     // main returned nothing: the input stands
	Envelope []byte   // the returned object without its nodes, JSON
	Nodes    []Patch  // its nodes, in the nodes stage
	Warnings [][]byte // of api.warn and of probes, a JSON object each, in order
}

// Patch is a returned node by what differs from an input node.
type Patch struct {
	Base int      // index of that node, or -1: Set is the whole node
	Own  bool     // it is the object of that node, not one that is much like it
	Set  []Member // members that are new or have another value
	Del  []string // members that are gone
}

// Member is a member of a node as JSON.
type Member struct {
	Key   string
	Value []byte
}

// Kind tells why a run failed.
type Kind uint8

// The kinds of an [Error].
const (
	Runtime  Kind = iota + 1 // the script, or what it returned, is wrong
	Timeout                  // it took too long
	HostCall                 // a failed call was not caught; Cause is its error
)

// Error is a script that failed.
type Error struct {
	Kind         Kind
	Message      string // names the script; at most 200 characters, no data
	Line, Column int    // one-based position in the script, 0 when not known
	Cause        error
}

func (e *Error) Error() string { return e.Message }
func (e *Error) Unwrap() error { return e.Cause }

// run is the state of one run.
type run struct {
	job    *Job
	host   Host
	outer  context.Context // the caller's
	ctx    context.Context // with the time limit of the run
	vm     *goja.Runtime
	decode decoder
	encode encoder

	newError, rangeError goja.Value
	failures             map[*goja.Object]error // host errors by the objects that scripts see
	answers              [][]byte               // what host calls returned, kept for masking
	answerBytes          int
	lazies               *lazies    // of the input nodes
	places               [][]member // of their members, by index, where they are known
	logs                 int
	warnings             [][]byte
	warningBytes         int
	deaf                 bool // no more warnings are kept
}

// timedOut and cancelled are what ends a run through an interrupt.
type timedOut struct{}
type cancelled struct{ cause error }

// Run runs a job. started, if not nil, is called when the script is compiled
// and its input decoded, just before its clock starts.
//
// The error is a [*Error], or the cause of ctx's cancellation. A result that
// breaks a limit or cannot be JSON is an error of kind Runtime; whether it is
// an envelope is for the caller to judge.
func Run(ctx context.Context, programs *Programs, job *Job, host Host, started func()) (res *Result, err error) {
	defer func() {
		// Native functions of the engine can fail with errors of Go; they are
		// no better than what the script threw.
		if v := recover(); v != nil {
			fault := &Error{Kind: Runtime, Message: shown(job.Name, "internal fault of the engine")}
			if e, ok := v.(runtime.Error); ok {
				fault.Cause = e // anything else may hold data of the script
			}
			res, err = nil, fault
		}
	}()
	prg, err := programs.get(job.Name, job.Text)
	if err != nil {
		return nil, err
	}
	r := &run{job: job, host: host, outer: ctx, ctx: ctx, failures: make(map[*goja.Object]error)}
	input, err := r.prepare()
	if err != nil {
		return nil, err
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	if started != nil {
		started()
	}
	if job.Timeout > 0 {
		var end context.CancelFunc
		r.ctx, end = context.WithTimeout(ctx, job.Timeout)
		defer end()
		defer time.AfterFunc(job.Timeout, func() { r.vm.Interrupt(timedOut{}) }).Stop()
	}
	defer context.AfterFunc(ctx, func() { r.vm.Interrupt(cancelled{context.Cause(ctx)}) })()

	res = new(Result)
	if _, err := r.vm.RunProgram(prg); err != nil {
		return nil, r.failure(err)
	}
	if err := r.main(input, res); err != nil {
		return nil, r.failure(err)
	}
	res.Warnings = r.warnings
	return res, nil
}

// prepare makes the runtime, its api and the input object.
func (r *run) prepare() (*goja.Object, error) {
	vm := goja.New()
	r.vm = vm
	// Not for the script's text, which is parsed, but for eval and Function.
	vm.SetParserOptions(parser.WithDisableSourceMaps)
	vm.SetMaxCallStackSize(hardCallDepth)
	global := vm.GlobalObject()
	r.newError, r.rangeError = vm.Get("Error"), vm.Get("RangeError")
	r.decode = newDecoder(vm)
	r.encode = encoder{vm: vm, isArray: must(goja.AssertFunction(vm.Get("Array").(*goja.Object).Get("isArray")))}
	for _, err := range []error{
		global.Delete("GoError"), // an extension of the engine
		global.DefineDataProperty(depthGlobal, vm.ToValue(r.depthGuard()), goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_FALSE),
		global.DefineDataProperty(wholeGlobal, vm.ToValue(r.whole), goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_FALSE),
		global.DefineDataProperty("api", r.api(), goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_TRUE),
	} {
		if err != nil {
			return nil, err
		}
	}
	return r.input()
}

func must[T any](v T, ok bool) T {
	if !ok {
		panic("js: a built-in is missing")
	}
	return v
}

// input decodes the envelope and its nodes.
func (r *run) input() (*goja.Object, error) {
	v, err := r.decode.text(string(r.job.Envelope))
	if err != nil {
		return nil, err
	}
	input, ok := v.(*goja.Object)
	if !ok {
		return nil, errors.New("js: the envelope is no object")
	}
	if r.job.Nodes == nil {
		return input, nil
	}
	nodes, lazy := make([]any, len(r.job.Nodes)), make([]lazy, len(r.job.Nodes))
	r.lazies = newLazies(r.vm, len(nodes))
	r.encode.lazies = r.lazies
	for i, text := range r.job.Nodes {
		nodes[i] = r.lazies.init(&lazy[i], text, i)
	}
	return input, input.Set("nodes", r.vm.NewArray(nodes...))
}

// depthGuard returns the function that guardFunctions puts calls of.
func (r *run) depthGuard() func(goja.FunctionCall) goja.Value {
	frames := make([]goja.StackFrame, 0, MaxCallDepth+64)
	return func(goja.FunctionCall) goja.Value {
		if len(r.vm.CaptureCallStack(0, frames[:0])) > MaxCallDepth {
			panic(r.throwable(r.rangeError, "Maximum call stack size exceeded"))
		}
		return goja.Undefined()
	}
}

// whole fills its argument if that is a lazy object, and returns it.
func (r *run) whole(call goja.FunctionCall) goja.Value {
	v := call.Argument(0)
	if l := r.lazies.of(v); l != nil {
		r.lazies.fill(l)
	}
	return v
}

// main calls main and takes its result apart, all as one native function: so
// that what getters, traps and toJSON of the result do is under the same
// limits.
func (r *run) main(input *goja.Object, res *Result) error {
	call := func(goja.FunctionCall) goja.Value {
		main, ok := goja.AssertFunction(r.vm.Get("main"))
		if !ok {
			panic(r.throwable(r.newError, "main is not a function"))
		}
		v, err := main(goja.Undefined(), input, r.vm.Get("api"))
		if err != nil {
			panic(err)
		}
		r.result(v, res)
		return goja.Undefined()
	}
	f := must(goja.AssertFunction(r.vm.ToValue(call)))
	_, err := f(goja.Undefined())
	return err
}

// result takes apart what main returned. It panics with a JavaScript error.
func (r *run) result(v goja.Value, res *Result) {
	if v == nil || goja.IsUndefined(v) || goja.IsNull(v) {
		res.Kept = true
		return
	}
	o, ok := v.(*goja.Object)
	if ok {
		if _, callable := goja.AssertFunction(o); callable || r.encode.array(o) {
			ok = false
		}
	}
	if !ok {
		panic(r.throwable(r.newError, "main must return an object or nothing"))
	}
	if _, thenable := goja.AssertFunction(o.Get("then")); thenable {
		panic(r.throwable(r.newError, "main must not return a promise"))
	}
	if o, ok = r.encode.plain(o, "").(*goja.Object); !ok {
		panic(r.throwable(r.newError, "main must return an object or nothing"))
	}

	r.encode.reset(MaxResult)
	var nodes goja.Value
	r.encode.object(o, func(key string, v goja.Value) bool {
		if key == "nodes" && r.job.Stage == StageNodes {
			nodes = v
			return false
		}
		return true
	})
	res.Envelope = append([]byte(nil), r.encode.buf...)
	if nodes != nil && !goja.IsUndefined(nodes) && !goja.IsNull(nodes) {
		r.encode.limit = MaxResult - len(res.Envelope)
		res.Nodes = r.patches(nodes)
	}
}

// throwable makes an error object to panic with.
func (r *run) throwable(constructor goja.Value, text string) *goja.Object {
	o, err := r.vm.New(constructor, r.vm.ToValue(text))
	if err != nil {
		panic(err)
	}
	return o
}

// hostError makes the object that a script sees of a failed host call, and
// remembers the error behind it.
func (r *run) hostError(err error, code, text string) *goja.Object {
	o := r.throwable(r.newError, text)
	if code != "" {
		_ = o.DefineDataProperty("code", r.vm.ToValue(code), goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE)
	}
	r.failures[o] = err
	return o
}

// warn keeps a warning, a JSON object. Beyond the limit one more says that
// there were others.
func (r *run) warn(w []byte) {
	if r.deaf || len(w) > MaxWarning {
		return
	}
	if r.warningBytes += len(w); len(r.warnings) == MaxWarnings || r.warningBytes > maxWarningBytes {
		r.deaf = true
		w = []byte(`{"code":"script_warning","message":"further warnings of the script were left out"}`)
	}
	r.warnings = append(r.warnings, w)
}
