package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/engine"
)

// send writes a whole answer.
func send(w http.ResponseWriter, status int, contentType string, body []byte) {
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	start(w, status, contentType)
	_, _ = w.Write(body) // the client went away: nobody is left to tell
}

// start sends the head of an answer.
func start(w http.ResponseWriter, status int, contentType string) {
	w.Header().Set("Content-Type", contentType)
	// A client that stops reading must not hold the answer for ever. Where
	// there is no connection, there is nothing to limit.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout))
	w.WriteHeader(status)
}

const jsonType = "application/json"

// reply answers with v as JSON.
func reply(w http.ResponseWriter, status int, v any) error {
	body, err := encode(v)
	if err != nil {
		return err
	}
	send(w, status, jsonType, body)
	return nil
}

// encode is the one JSON form of this server: indented by two spaces, a line
// feed at the end, and safe to stand in HTML.
func encode(v any) ([]byte, error) {
	body, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return nil, err
	}
	return append(body, '\n'), nil
}

// document answers with the JSON form of a value that never changes in this
// process. It is encoded when it is first asked for.
func (s *Server) document(w http.ResponseWriter, key string, value func() (any, error)) error {
	if body, ok := s.documents.Load(key); ok {
		send(w, http.StatusOK, jsonType, body.([]byte))
		return nil
	}
	v, err := value()
	if err != nil {
		return err
	}
	body, err := encode(v)
	if err != nil {
		return err
	}
	s.documents.Store(key, body)
	send(w, http.StatusOK, jsonType, body)
	return nil
}

// fail answers with an error. Nothing may have been written before. An error
// without a code is an internal one: the client learns no more than that, and
// the cause goes to the log.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, context.Canceled) {
		// Either nobody listens any more or this server is stopping.
		err = sandrone.Errorf(sandrone.Busy, "the request was cancelled")
	}
	e := sandrone.AsError(err)
	var body struct {
		Error  *sandrone.Error  `json:"error"`
		Report *sandrone.Report `json:"report,omitempty"`
	}
	body.Error = e
	if failed, ok := errors.AsType[*engine.ReportError](err); ok {
		body.Report = &failed.Report
	}
	switch e.Code {
	case sandrone.Unauthorized:
		w.Header().Set("WWW-Authenticate", "Bearer")
	case sandrone.Busy:
		w.Header().Set("Retry-After", "1")
	case sandrone.InternalError:
		s.logCause(r, e.Unwrap())
	}
	if err := reply(w, e.Code.Status(), body); err != nil {
		panic(err) // strings and numbers always encode
	}
}

// indented is the JSON form of a value that is a member of the answer's object.
func indented(v any) ([]byte, error) { return json.MarshalIndent(v, "  ", "  ") }

// sendResult answers with a conversion's result and further members: the JSON
// text head, which ends before a value, and that value. The body is nearly all
// of the answer: it is escaped once, straight into the buffer that is sent, and
// one too large for a buffer is sent in pieces.
func sendResult(w http.ResponseWriter, result engine.ConvertResult, head string, value []byte) error {
	buf := buffers.Get().(*bytes.Buffer)
	buf.Grow(min(len(result.Body)+len(result.Body)/8+len(value)+256, maxKept))
	text := buf.AvailableBuffer()
	defer func() { putBuffer(bytes.NewBuffer(text)) }()

	text = append(text, "{\n  \"content_type\": "...)
	text = appendText(text, result.ContentType)
	text = append(text, ",\n  \"body\": \""...)
	sent := false
	for piece := range slices.Chunk(validText(result.Body), maxKept/4) {
		if len(text) > maxKept/2 {
			if !sent {
				sent = true
				start(w, http.StatusOK, jsonType)
			}
			if _, err := w.Write(text); err != nil {
				return nil // the client went away: nobody is left to tell
			}
			text = text[:0]
		}
		text = appendEscaped(text, piece)
	}
	text = append(text, "\",\n  "...)
	text = append(text, head...)
	text = append(text, value...)
	text = append(text, ",\n  \"cached\": false\n}\n"...)
	if sent {
		_, _ = w.Write(text)
		return nil
	}
	send(w, http.StatusOK, jsonType, text)
	return nil
}

// validText replaces what is no UTF-8, since JSON cannot hold it.
func validText(body []byte) []byte {
	if utf8.Valid(body) {
		return body
	}
	return bytes.ToValidUTF8(body, []byte("\uFFFD"))
}

// appendText appends the JSON string of a text.
func appendText[T string | []byte](dst []byte, text T) []byte {
	dst = append(dst, '"')
	dst = appendEscaped(dst, text)
	return append(dst, '"')
}

// appendEscaped appends the inside of the JSON string of a text, escaped as
// encode does it. It works byte by byte, so a text may come in pieces.
func appendEscaped[T string | []byte](dst []byte, text T) []byte {
	const hex = "0123456789abcdef"
	start := 0
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c >= ' ' && c != '"' && c != '\\' && c != '<' && c != '>' && c != '&' {
			continue
		}
		dst = append(dst, text[start:i]...)
		start = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	return append(dst, text[start:]...)
}
