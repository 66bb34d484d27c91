package server

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/closed"
)

const (
	maxBody      = 16 << 20 // bytes of a JSON body
	maxKept      = 1 << 20  // a larger buffer is not kept for the next request
	maxFieldName = 200      // bytes of a member's path in an error
)

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

func putBuffer(b *bytes.Buffer) {
	if b.Cap() <= maxKept {
		b.Reset()
		buffers.Put(b)
	}
}

// decode reads the request's JSON body into v, a pointer to a struct. The body
// is closed: names match exactly and at most once, and a member that v does
// not have is an error that names its path. Nothing of v aliases a buffer.
func decode(w http.ResponseWriter, r *http.Request, v any) error {
	return decodeBody(w, r, v, true)
}

// decodeOptional is decode for a body that may be left out.
func decodeOptional(w http.ResponseWriter, r *http.Request, v any) error {
	return decodeBody(w, r, v, false)
}

func decodeBody(w http.ResponseWriter, r *http.Request, v any, required bool) error {
	buf := buffers.Get().(*bytes.Buffer)
	defer putBuffer(buf)
	if err := fill(buf, w, r); err != nil {
		return err
	}
	text := bytes.TrimLeft(buf.Bytes(), " \t\r\n")
	if len(text) == 0 {
		if !required {
			return nil
		}
		return bodyRequired()
	}
	if text[0] != '{' {
		return closed.Placed(sandrone.Errorf(sandrone.InvalidArgument, "invalid JSON body: an object is required"), buf.Bytes(), len(buf.Bytes())-len(text))
	}
	return closed.Unmarshal("JSON body", buf.Bytes(), v)
}

// readBody returns the request's body as it is, for an engine that has to see
// which members are there. It is not empty.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	var buf bytes.Buffer
	if err := fill(&buf, w, r); err != nil {
		return nil, err
	}
	if len(bytes.TrimLeft(buf.Bytes(), " \t\r\n")) == 0 {
		return nil, bodyRequired()
	}
	return buf.Bytes(), nil
}

func bodyRequired() error {
	return sandrone.Errorf(sandrone.InvalidArgument, "request body is required")
}

// fill reads the request's body, which has the limit of JSON bodies.
func fill(buf *bytes.Buffer, w http.ResponseWriter, r *http.Request) error {
	if r.ContentLength > maxBody {
		return tooLarge()
	}
	if r.ContentLength > 0 {
		buf.Grow(int(r.ContentLength) + bytes.MinRead)
	}
	if _, err := buf.ReadFrom(http.MaxBytesReader(connection(w), r.Body, maxBody)); err != nil {
		return bodyError(err)
	}
	return nil
}

// connection is the server's own writer, since [http.MaxBytesReader] has the
// server close the connection only if it sees that.
func connection(w http.ResponseWriter) http.ResponseWriter {
	if a, ok := w.(*answer); ok {
		return a.ResponseWriter
	}
	return w
}

func tooLarge() error {
	return sandrone.Errorf(sandrone.RequestTooLarge, "the request body exceeds %d bytes", maxBody)
}

// maxLinger is how much of a body is read after it was refused.
const maxLinger = 64 << 20 // bytes

// linger sends the answer to a body that was too large and reads on in that
// body, within the time that bodies have: most clients look for an answer only
// when they have sent everything, and a connection closed before takes the
// answer with it. A client that waits to be asked for the body is not asked.
func linger(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Expect") != "" || http.NewResponseController(w).Flush() != nil {
		return
	}
	_, _ = io.CopyN(io.Discard, r.Body, maxLinger)
}

func bodyError(err error) error {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return tooLarge()
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return sandrone.Errorf(sandrone.InvalidArgument, "the request body did not arrive in time")
	}
	return sandrone.Errorf(sandrone.InvalidArgument, "the request body could not be read")
}

// bodyTime is how long the body of r may take to arrive.
func (s *Server) bodyTime(r *http.Request) time.Duration {
	if s.access.protects(r.URL.Path) {
		return bodyTimeout
	}
	return time.Duration(s.engine.Settings().HTTP.BodyTimeoutSeconds) * time.Second
}

// limitBodyTime gives the body of r a deadline, which ends with the body. It
// holds too when no handler reads the body, since the server then waits for
// the rest before it answers.
func limitBodyTime(w http.ResponseWriter, r *http.Request, limit time.Duration) *http.Request {
	if r.Body == nil || r.Body == http.NoBody {
		return r
	}
	conn := http.NewResponseController(w)
	if conn.SetReadDeadline(time.Now().Add(limit)) != nil {
		return r // no connection of its own, as in a test without one
	}
	// A copy: the server looks at the body of its own request to decide
	// whether the rest is worth waiting for.
	timed := *r
	timed.Body = &timedBody{r.Body, conn}
	return &timed
}

// timedBody lifts the deadline at the end of the body. If it stayed, it would
// pass while the answer is made, and the server would take that for a lost
// client.
type timedBody struct {
	io.ReadCloser
	conn *http.ResponseController
}

func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		b.conn.SetReadDeadline(time.Time{})
	}
	return n, err
}
