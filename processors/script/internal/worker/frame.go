package worker

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/sandrone-gateway/sandrone/processors/script/internal/js"
)

// A frame is a little-endian length, a kind and a payload of that length. The
// two sides are the same build; the version is for executables that were
// replaced while running.
const (
	protocol = 2
	maxFrame = 64 << 20 // bytes of a payload

	maxMembers = 128 // of a node, well above those of the model
)

// Kinds of frames.
const (
	// From the parent.
	kindRun     = 'R' // a job
	kindCompile = 'P' // a job that is only compiled
	kindAnswer  = 'A' // to a call

	// From the worker.
	kindHello   = 'H' // ready for the first job
	kindStarted = 'S' // compiled and decoded; the clock starts
	kindCall    = 'C' // a call that leaves the sandbox; the worker waits for its answer
	kindLog     = 'L' // an entry of api.log
	kindDone    = 'D' // a result
	kindError   = 'E' // the job failed
	kindIdle    = 'I' // cleaned up, ready for the next job
)

type frame struct {
	kind    byte
	payload []byte
}

var errFrame = errors.New("worker: bad frame")

func readFrame(r *bufio.Reader) (frame, error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return frame{}, err
	}
	n := binary.LittleEndian.Uint32(head[:])
	if n > maxFrame {
		return frame{}, errFrame
	}
	f := frame{kind: head[4], payload: make([]byte, n)}
	_, err := io.ReadFull(r, f.payload)
	return f, err
}

func writeFrame(w io.Writer, kind byte, payload []byte) error {
	if len(payload) > maxFrame {
		return errFrame
	}
	if _, err := w.Write(frameHead(kind, len(payload))); err != nil {
		return err
	}
	_, err := w.Write(payload)
	return err
}

func frameHead(kind byte, size int) []byte {
	return append(binary.LittleEndian.AppendUint32(make([]byte, 0, 5), uint32(size)), kind)
}

// Payloads are lists of numbers and of byte strings with their length.

func putInt(b []byte, n int) []byte { return binary.AppendUvarint(b, uint64(n)) }

func putBytes[T string | []byte](b []byte, s T) []byte { return append(putInt(b, len(s)), s...) }

// packet reads a payload. After the first fault everything is empty.
type packet struct {
	b   []byte
	bad bool
}

func (p *packet) int() int {
	n, size := binary.Uvarint(p.b)
	if size <= 0 || n > maxFrame {
		p.b, p.bad = nil, true
		return 0
	}
	p.b = p.b[size:]
	return int(n)
}

func (p *packet) bytes() []byte {
	n := p.int()
	if n > len(p.b) {
		p.b, p.bad = nil, true
		return nil
	}
	s := p.b[:n:n]
	p.b = p.b[n:]
	return s
}

// count reads the length of a list whose elements take a byte at least.
func (p *packet) count() int {
	n := p.int()
	if n > len(p.b) {
		p.b, p.bad = nil, true
		return 0
	}
	return n
}

// ok tells whether the payload was sound and is read to its end.
func (p *packet) ok() bool { return !p.bad && len(p.b) == 0 }

// jobFrame is a job as the payload of a frame. Nodes are most of it, and stay
// where they are.
type jobFrame struct {
	head  []byte
	nodes [][]byte
	size  int
}

func putJob(job *js.Job) jobFrame {
	b := putBytes(nil, job.Name)
	b = putBytes(b, job.Text)
	b = putBytes(b, job.Stage)
	b = putInt(b, int(job.Timeout.Milliseconds()))
	b = putBytes(b, job.Envelope)
	if job.Nodes == nil {
		b = putInt(b, 0)
	} else {
		b = putInt(b, 1+len(job.Nodes))
	}
	f := jobFrame{b, job.Nodes, len(b)}
	var length [binary.MaxVarintLen64]byte
	for _, n := range job.Nodes {
		f.size += binary.PutUvarint(length[:], uint64(len(n))) + len(n)
	}
	return f
}

// write writes the whole frame.
func (f jobFrame) write(to io.Writer, kind byte) error {
	w := bufio.NewWriterSize(to, 64<<10)
	_, _ = w.Write(frameHead(kind, f.size))
	_, _ = w.Write(f.head)
	var length [binary.MaxVarintLen64]byte
	for _, n := range f.nodes {
		_, _ = w.Write(length[:binary.PutUvarint(length[:], uint64(len(n)))])
		_, _ = w.Write(n)
	}
	return w.Flush() // with the first error
}

func takeJob(payload []byte) (*js.Job, error) {
	p := packet{b: payload}
	job := &js.Job{Name: string(p.bytes()), Text: string(p.bytes()), Stage: string(p.bytes())}
	job.Timeout = time.Duration(p.int()) * time.Millisecond
	job.Envelope = p.bytes()
	if n := p.int(); n > 0 && n-1 <= len(p.b) {
		job.Nodes = make([][]byte, n-1)
		for i := range job.Nodes {
			job.Nodes[i] = p.bytes()
		}
	}
	if !p.ok() {
		return nil, errFrame
	}
	return job, nil
}

func putResult(res *js.Result) []byte {
	kept := 0
	if res.Kept {
		kept = 1
	}
	b := putInt(nil, kept)
	b = putBytes(b, res.Envelope)
	b = putInt(b, len(res.Warnings))
	for _, w := range res.Warnings {
		b = putBytes(b, w)
	}
	b = putInt(b, len(res.Nodes))
	for _, n := range res.Nodes {
		// An own node is odd, so that -1, which never is, is 0.
		head := 2 * (n.Base + 1)
		if n.Own {
			head++
		}
		b = putInt(b, head)
		b = putInt(b, len(n.Set))
		for _, m := range n.Set {
			b = putBytes(putBytes(b, m.Key), m.Value)
		}
		b = putInt(b, len(n.Del))
		for _, key := range n.Del {
			b = putBytes(b, key)
		}
	}
	return b
}

// takeResult reads a result for a job with the given number of nodes.
func takeResult(payload []byte, nodes int) (*js.Result, error) {
	p := packet{b: payload}
	res := &js.Result{Kept: p.int() == 1, Envelope: p.bytes()}
	for range p.count() {
		res.Warnings = append(res.Warnings, p.bytes())
	}
	n := p.count()
	if n > js.MaxNodes || len(res.Warnings) > js.MaxWarnings+1 {
		return nil, errFrame
	}
	res.Nodes = make([]js.Patch, n)
	for i := range res.Nodes {
		patch := &res.Nodes[i]
		head := p.int()
		patch.Base, patch.Own = head/2-1, head%2 == 1
		if patch.Base >= nodes || patch.Own && patch.Base < 0 {
			return nil, errFrame
		}
		if n := p.count(); n > maxMembers {
			return nil, errFrame
		} else if n > 0 {
			patch.Set = make([]js.Member, n)
			for j := range patch.Set {
				patch.Set[j] = js.Member{Key: string(p.bytes()), Value: p.bytes()}
			}
		}
		for range min(p.count(), maxMembers+1) {
			patch.Del = append(patch.Del, string(p.bytes()))
		}
	}
	if !p.ok() {
		return nil, errFrame
	}
	return res, nil
}

// failure is the JSON form of an error of a run.
type failure struct {
	Kind    js.Kind `json:"kind"`
	Message string  `json:"message"`
	Line    int     `json:"line,omitempty"`
	Column  int     `json:"column,omitempty"`
	Call    int     `json:"call,omitempty"` // one-based: the failed call that was not caught
}

// reply is the JSON form of an answer to a call.
type reply struct {
	Value   json.RawMessage `json:"value,omitempty"`
	Code    string          `json:"code,omitempty"`
	Message string          `json:"message,omitempty"`
	Failed  bool            `json:"failed,omitempty"`
}
