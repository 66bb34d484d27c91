package mcp

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	maxBody  = 4 << 20 // bytes of a request
	maxDepth = 1000    // of nested objects and lists, beyond which the SDK reads nothing
)

// gate holds what the protocol asks of a single message, and what the SDK
// would answer in another way: it speaks older revisions too, and would fall
// back to them. What passes is a request of [Version] whose headers repeat its
// body, with an id that is put back as it came.
type gate struct {
	next   func(method, name string) http.Handler
	hidden []string // methods that the SDK knows and this server does not offer
}

// message is one JSON-RPC message as it came.
type message struct {
	Version jsontext.Value `json:"jsonrpc"`
	ID      jsontext.Value `json:"id"`
	Method  jsontext.Value `json:"method"`
	Params  jsontext.Value `json:"params"`
	Result  jsontext.Value `json:"result"`
	Error   jsontext.Value `json:"error"`

	method string
	params params
}

// params are the members of a request's params that are looked at here.
type params struct {
	Meta    jsontext.Value `json:"_meta"`
	Name    jsontext.Value `json:"name"`
	URI     jsontext.Value `json:"uri"`
	Version jsontext.Value `json:"protocolVersion"` // of an initialize
}

// The names of members of _meta, as the protocol defines them.
const (
	metaVersion      = sdk.MetaKeyProtocolVersion
	metaClient       = sdk.MetaKeyClientInfo
	metaCapabilities = sdk.MetaKeyClientCapabilities
)

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		refuse(w, http.StatusMethodNotAllowed, nil, jsonrpc.CodeInvalidRequest, "only POST is answered", nil)
		return
	}
	body, err := readBody(w, r)
	if err != nil {
		status, text := http.StatusBadRequest, "the request body could not be read"
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			status, text = http.StatusRequestEntityTooLarge, "the request body exceeds "+strconv.Itoa(maxBody)+" bytes"
		}
		refuse(w, status, nil, jsonrpc.CodeInvalidRequest, text, nil)
		return
	}
	m, fault := decode(body)
	if fault == nil && m.ID == nil {
		// A notification asks for no answer, and there is none that this server
		// would act on.
		if fault = checkHeaders(r, m); fault == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
	}
	if fault == nil {
		fault = g.check(r, m)
	}
	if fault != nil {
		refuse(w, fault.status, m.ID, fault.Code, fault.Message, fault.Data)
		return
	}
	name, _ := headerName(r)
	next := r.Clone(r.Context())
	next.Header.Set("Content-Type", "application/json")
	next.Header.Set("Accept", "application/json, text/event-stream") // the answer is JSON whatever is asked for
	next.Header.Set("Mcp-Name", name)
	next.Header.Del("Last-Event-Id") // of a revision that could resume
	text := m.forward()
	next.Body, next.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	g.next(m.method, name).ServeHTTP(&answer{ResponseWriter: w, id: m.ID}, next)
}

func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.ContentLength > maxBody {
		return nil, &http.MaxBytesError{Limit: maxBody}
	}
	var buf bytes.Buffer
	if r.ContentLength > 0 {
		buf.Grow(int(r.ContentLength) + bytes.MinRead)
	}
	_, err := buf.ReadFrom(http.MaxBytesReader(w, r.Body, maxBody))
	return buf.Bytes(), err
}

// fault is why a message is refused.
type fault struct {
	jsonrpc.Error
	status int
}

func newFault(code int64, text string) *fault {
	return &fault{status: http.StatusBadRequest, Error: jsonrpc.Error{Code: code, Message: text}}
}

func badParams(text string) *fault { return newFault(jsonrpc.CodeInvalidParams, text) }

func mismatch(text string) *fault { return newFault(sdk.CodeHeaderMismatch, text) }

func unsupported(requested string) *fault {
	f := newFault(sdk.CodeUnsupportedProtocolVersion, "unsupported protocol version")
	f.Data, _ = json.Marshal(sdk.UnsupportedProtocolVersionData{Supported: []string{Version}, Requested: requested})
	return f
}

// asGiven is how a message is taken apart: of a member that is given twice the
// last one counts, as for the SDK, and an id may be any JSON string.
var asGiven = jsonv2.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// decode reads one message. The message is never nil; its id is that to answer
// with, nil for none.
func decode(body []byte) (*message, *fault) {
	m := new(message)
	if !utf8.Valid(body) || !json.Valid(body) {
		return m, newFault(jsonrpc.CodeParseError, "the body is not JSON")
	}
	if tooDeep(body) {
		return m, newFault(jsonrpc.CodeInvalidRequest, "the body is nested too deeply")
	}
	if jsonv2.Unmarshal(body, m, asGiven) != nil {
		return m, newFault(jsonrpc.CodeInvalidRequest, "the body is not one JSON-RPC request")
	}
	if m.ID != nil && !isID(m.ID) {
		m.ID = nil
		return m, newFault(jsonrpc.CodeInvalidRequest, "the id must be a string or an integer")
	}
	version, _ := text(m.Version)
	method, isText := text(m.Method)
	if version != "2.0" || !isText || m.Result != nil || m.Error != nil {
		return m, newFault(jsonrpc.CodeInvalidRequest, "the body is not one JSON-RPC request")
	}
	m.method = method
	return m, nil
}

// check holds a request to what its headers and its _meta have to say.
func (g *gate) check(r *http.Request, m *message) *fault {
	isObject := m.Params != nil && m.Params.Kind() == '{'
	var meta map[string]jsontext.Value
	if isObject {
		if jsonv2.Unmarshal(m.Params, &m.params, asGiven) != nil {
			return badParams("params cannot be read")
		}
		if m.params.Meta != nil && jsonv2.Unmarshal(m.params.Meta, &meta, asGiven) != nil {
			return badParams("_meta must be an object")
		}
	}
	stated, isText := text(meta[metaVersion])
	if m.method == "initialize" && meta[metaVersion] == nil {
		asked, ok := text(m.params.Version)
		if !ok {
			asked = r.Header.Get("Mcp-Protocol-Version")
		}
		return unsupported(asked)
	}
	if meta[metaVersion] != nil && !isText {
		return badParams(metaVersion + " in _meta must be a string")
	}
	if isText && r.Header.Get("Mcp-Protocol-Version") != stated {
		return mismatch("the header Mcp-Protocol-Version must be the version in _meta")
	}
	if fault := checkHeaders(r, m); fault != nil {
		return fault
	}
	switch {
	case !isObject:
		return badParams("params must be an object")
	case !isText:
		return badParams(metaVersion + " is required in _meta")
	}
	if fault := checkMeta(meta); fault != nil {
		return fault
	}
	if slices.Contains(g.hidden, m.method) {
		return &fault{status: http.StatusNotFound, Error: jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "method not found"}}
	}
	return checkParams(r, m)
}

// checkHeaders compares the headers that every message has with the body.
func checkHeaders(r *http.Request, m *message) *fault {
	if version := r.Header.Values("Mcp-Protocol-Version"); len(version) != 1 {
		return mismatch("one header Mcp-Protocol-Version is required")
	} else if version[0] != Version {
		return unsupported(version[0])
	}
	if method := r.Header.Values("Mcp-Method"); len(method) != 1 || method[0] != m.method {
		return mismatch("the header Mcp-Method must be the method")
	}
	return nil
}

// checkParams refuses params that the SDK could not decode, and a header that
// names something else than they do.
func checkParams(r *http.Request, m *message) *fault {
	var into any
	named, member := m.params.Name, "name"
	switch m.method {
	case "tools/call":
		into = new(sdk.CallToolParamsRaw)
	case "prompts/get":
		into = new(sdk.GetPromptParams)
	case "resources/read":
		into, named, member = new(sdk.ReadResourceParams), m.params.URI, "uri"
	case "tools/list", "prompts/list", "resources/list", "resources/templates/list":
		into, named = new(sdk.ListToolsParams), nil
	default:
		return nil
	}
	if json.Unmarshal(m.Params, into) != nil {
		return badParams("params cannot be read")
	}
	if call, ok := into.(*sdk.CallToolParamsRaw); ok && call.Arguments != nil && jsontext.Value(call.Arguments).Kind() != '{' {
		return badParams("arguments must be an object")
	}
	if _, isList := into.(*sdk.ListToolsParams); isList {
		return nil
	}
	inHeader, ok := headerName(r)
	if !ok {
		return mismatch("one header Mcp-Name is required")
	}
	inBody, ok := text(named)
	switch {
	case !ok:
		return badParams(member + " is required and must be a string")
	case inHeader != inBody:
		return mismatch("the header Mcp-Name must be the " + member)
	}
	return nil
}

// headerName is the Mcp-Name of a request, decoded.
func headerName(r *http.Request) (string, bool) {
	values := r.Header.Values("Mcp-Name")
	if len(values) != 1 {
		return "", false
	}
	encoded, ok := strings.CutPrefix(values[0], "=?base64?")
	if ok {
		encoded, ok = strings.CutSuffix(encoded, "?=")
	}
	if !ok {
		return values[0], true
	}
	name, err := base64.StdEncoding.Strict().DecodeString(encoded)
	return string(name), err == nil && utf8.Valid(name)
}

// checkMeta looks at what a client says of itself. Its name may be missing:
// clients have to send it, and a server has to serve those that do not.
func checkMeta(meta map[string]jsontext.Value) *fault {
	if info := meta[metaClient]; info != nil {
		var client struct {
			Name    *string `json:"name"`
			Version *string `json:"version"`
		}
		if info.Kind() != '{' || jsonv2.Unmarshal(info, &client) != nil || client.Name == nil || client.Version == nil {
			return badParams(metaClient + " in _meta must be an object with name and version")
		}
	}
	var capabilities sdk.ClientCapabilities
	if given := meta[metaCapabilities]; given == nil || given.Kind() != '{' || json.Unmarshal(given, &capabilities) != nil {
		return badParams(metaCapabilities + " is required in _meta and must be an object")
	}
	return nil
}

// text is the value of a JSON string.
func text(v jsontext.Value) (s string, ok bool) {
	if v == nil || v.Kind() != '"' {
		return "", false
	}
	return s, json.Unmarshal(v, &s) == nil
}

// isID reports whether an id can be given back: a string or an integer, of any
// length.
func isID(v jsontext.Value) bool {
	switch v.Kind() {
	case '"':
		return true
	case '0':
		return !bytes.ContainsAny(v, ".eE")
	}
	return false
}

// tooDeep reports whether a JSON text is nested beyond what the SDK reads.
func tooDeep(body []byte) bool {
	depth, quoted := 0, false
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}

// The SDK reads an id as a floating-point number or a Go string, and neither
// holds every id. So it is given this one, and the client's own is put back
// into the answer.
const (
	ownID    = `1`
	idBefore = `{"jsonrpc":"2.0","id":`
	idAfter  = `,`
)

// forward is the message as the SDK gets it.
func (m *message) forward() []byte {
	b := make([]byte, 0, len(m.Params)+len(m.Method)+64)
	b = append(b, idBefore+ownID+idAfter+`"method":`...)
	b = append(b, m.Method...)
	b = append(append(b, `,"params":`...), m.Params...)
	return append(b, '}')
}

// answer puts the client's id into the one response that the SDK writes.
type answer struct {
	http.ResponseWriter
	id      []byte
	started bool
	done    bool // the id is in
}

func (a *answer) WriteHeader(status int) {
	a.start()
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) start() {
	if !a.started {
		a.started = true
		a.Header().Set("Cache-Control", "no-store")
	}
}

func (a *answer) Write(p []byte) (int, error) {
	a.start()
	if !a.done {
		before, after, found := bytes.Cut(p, []byte(idBefore+ownID+idAfter))
		if found {
			a.done = true
			head := append(append(append(bytes.Clone(before), idBefore...), a.id...), idAfter...)
			if _, err := a.ResponseWriter.Write(head); err != nil {
				return 0, err
			}
			n, err := a.ResponseWriter.Write(after)
			return len(p) - len(after) + n, err
		}
	}
	return a.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController reach the connection.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// refuse answers with an error of the protocol. id is nil for a message whose
// id is not known.
func refuse(w http.ResponseWriter, status int, id []byte, code int64, text string, data json.RawMessage) {
	if id == nil {
		id = []byte("null")
	}
	body, err := json.Marshal(struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   jsonrpc.Error   `json:"error"`
	}{"2.0", json.RawMessage("0"), jsonrpc.Error{Code: code, Message: text, Data: data}})
	if err != nil {
		panic(err) // strings and numbers always encode
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	// The id is not encoded again, so that it goes out as it came.
	head, tail, _ := bytes.Cut(body, []byte(`"id":0`))
	_, _ = w.Write(bytes.Join([][]byte{head, []byte(`"id":`), id, tail}, nil))
}
