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

// failure is the body of an answer that says what went wrong.
type failure struct {
	Error  *sandrone.Error    `json:"error"`
	Report *sandrone.Report   `json:"report,omitempty"` // of a batch all of whose sources failed
	Steps  any                `json:"steps,omitempty"`  // of a preview, up to the step that failed
	Logs   []engine.ScriptLog `json:"logs,omitempty"`
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
	body := failure{Error: e}
	if failed, ok := errors.AsType[*engine.ReportError](err); ok {
		body.Report = &failed.Report
	}
	if failed, ok := errors.AsType[*engine.StepError](err); ok {
		body.Steps, body.Logs = failed.Steps, failed.Logs
		if failed.FileSteps != nil {
			body.Steps = failed.FileSteps
		}
	}
	if a, ok := w.(*answer); ok {
		s.metrics.refused(a.route, e.Code)
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

// maxHeld is how much of an answer is held before it is sent in pieces: many
// clients may wait for theirs at once.
const maxHeld = 256 << 10 // bytes

// sendText answers with a text and what is to be said of it: the JSON text
// head, which ends before a value, that value, and whether the text is a cached
// one. The text is nearly all of the answer: it is escaped once, straight into
// the buffer that is sent, and one too large for a buffer is sent in pieces.
func sendText(w http.ResponseWriter, contentType string, body []byte, head string, value []byte, cached bool) error {
	buf := buffers.Get().(*bytes.Buffer)
	buf.Grow(min(len(body)+len(body)/8+len(value)+256, maxHeld))
	text := buf.AvailableBuffer()
	defer func() { putBuffer(bytes.NewBuffer(text)) }()

	text = append(text, "{\n  \"content_type\": "...)
	text = appendText(text, contentType)
	text = append(text, ",\n  \"body\": \""...)
	sent := false
	for piece := range slices.Chunk(validText(body), maxHeld/4) {
		if len(text) > maxHeld/2 {
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
	text = append(text, ",\n  \"cached\": "...)
	text = strconv.AppendBool(text, cached)
	text = append(text, "\n}\n"...)
	if sent {
		_, _ = w.Write(text)
		return nil
	}
	send(w, http.StatusOK, jsonType, text)
	return nil
}

// reported is the shape of what sendReported writes.
type reported struct {
	ContentType string          `json:"content_type"`
	Body        string          `json:"body"`
	Report      sandrone.Report `json:"report"`
	Cached      bool            `json:"cached"`
}

// sendReported answers with a text and its report.
func sendReported(w http.ResponseWriter, contentType string, body []byte, report sandrone.Report, cached bool) error {
	value, err := indented(report)
	if err != nil {
		return err
	}
	return sendText(w, contentType, body, `"report": `, value, cached)
}

// sendEnvelope answers with a text, its warnings and, if it is wanted, its
// report, in the form of the public routes.
func sendEnvelope(w http.ResponseWriter, contentType string, body []byte, report sandrone.Report, whole, cached bool) error {
	warnings := report.Warnings
	if warnings == nil {
		warnings = []sandrone.Warning{}
	}
	value, err := indented(warnings)
	if err != nil {
		return err
	}
	if whole {
		text, err := indented(report)
		if err != nil {
			return err
		}
		value = append(append(value, ",\n  \"report\": "...), text...)
	}
	// "response" is a reserved object.
	return sendText(w, contentType, body, "\"response\": {},\n  \"warnings\": ", value, cached)
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
