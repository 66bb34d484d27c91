package server

import (
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/engine"
)

func (s *Server) getFiles(w http.ResponseWriter, r *http.Request) error {
	items, err := s.engine.FileItems(r.Context())
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, itemList{items})
}

func (s *Server) postFile(w http.ResponseWriter, r *http.Request) error {
	var v sandrone.FileSpec
	if err := decode(w, r, &v); err != nil {
		return err
	}
	put, err := s.engine.PutFile(r.Context(), &v, precondition(r))
	if err != nil {
		return err
	}
	tagged(w, put.ETag)
	return reply(w, http.StatusCreated, done{OK: true, Warnings: put.Warnings})
}

func (s *Server) deleteFile(w http.ResponseWriter, r *http.Request) error {
	name, err := resourceName(r, "name")
	if err != nil {
		return err
	}
	if err := s.engine.DeleteFile(r.Context(), name, precondition(r)); err != nil {
		return err
	}
	return reply(w, http.StatusOK, done{OK: true})
}

// The modes of getFile: those of the engine, and the definition.
const fileSpec = "spec"

// getFile answers with a file: its definition, its text before anything was
// done to it, or its final text.
func (s *Server) getFile(w http.ResponseWriter, r *http.Request) error {
	name, err := resourceName(r, "name")
	if err != nil {
		return err
	}
	query, err := readQuery(r)
	if err != nil {
		return err
	}
	switch mode := word(query.Get("mode")); mode {
	case fileSpec:
		record, err := s.engine.File(r.Context(), name)
		if err != nil {
			return err
		}
		return replyTagged(w, r, record.ETag, record.Definition)
	case "", engine.FileRender:
		return s.renderFile(w, r, name, query)
	case engine.FileSource:
		return s.fileSource(w, r, name, query)
	}
	return sandrone.Errorf(sandrone.InvalidArgument, "mode must be render, source or spec").At("mode")
}

func (s *Server) renderFile(w http.ResponseWriter, r *http.Request, name string, query url.Values) error {
	refresh, err := queryBool(query, "refresh")
	if err != nil {
		return err
	}
	result, err := s.engine.ReadFile(r.Context(), engine.FileRequest{Name: name, Mode: engine.FileRender, Args: argsOf(query), Refresh: refresh})
	if err != nil {
		return err
	}
	if strings.EqualFold(query.Get("response"), "json") {
		return sendEnvelope(w, result.ContentType, result.Body, result.Report, query.Get("report") == "1", result.Cached)
	}
	switch header := w.Header(); {
	case refresh:
		header.Set("X-Sandrone-Cache", "bypass")
	case result.Cached:
		header.Set("X-Sandrone-Cache", "hit")
	default:
		header.Set("X-Sandrone-Cache", "miss")
	}
	sendFile(w, result, name, query)
	return nil
}

type verifyBody struct {
	Args    map[string]string `json:"args,omitempty"`
	Refresh bool              `json:"refresh,omitempty"`
}

// verifyFile answers with the verdict of the client, also when that is no.
func (s *Server) verifyFile(w http.ResponseWriter, r *http.Request) error {
	name, err := resourceName(r, "name")
	if err != nil {
		return err
	}
	var body verifyBody
	if err := decodeOptional(w, r, &body); err != nil {
		return err
	}
	args, err := joinArgs(r, body.Args)
	if err != nil {
		return err
	}
	verdict, err := s.engine.VerifyFile(r.Context(), engine.FileRequest{Name: name, Args: args, Refresh: body.Refresh})
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, verdict)
}

// fileDraft asks for the preview of a file that is not stored.
type fileDraft struct {
	File    *sandrone.FileSpec `json:"file"`
	Args    map[string]string  `json:"args,omitempty"`
	Refresh bool               `json:"refresh,omitempty"`
	Mode    string             `json:"mode,omitempty"` // render (default) or source
	Verify  bool               `json:"verify,omitempty"`
}

// fileTrial is what a draft of a file comes to.
type fileTrial struct {
	ContentType string             `json:"content_type"`
	Body        string             `json:"body"`
	Response    struct{}           `json:"response"`
	Warnings    []sandrone.Warning `json:"warnings"`
	Cached      bool               `json:"cached"` // always false
	Report      sandrone.Report    `json:"report"`
	Steps       []engine.FileStep  `json:"steps"`
	Logs        []engine.ScriptLog `json:"logs,omitempty"`
	Verify      *sandrone.Verdict  `json:"verify,omitempty"`
}

func (s *Server) previewFile(w http.ResponseWriter, r *http.Request) error {
	var body fileDraft
	if err := decode(w, r, &body); err != nil {
		return err
	}
	p, err := s.engine.PreviewFile(r.Context(), engine.FileRequest{Draft: body.File, Args: body.Args, Refresh: body.Refresh, Mode: body.Mode, Verify: body.Verify})
	if err != nil {
		return err
	}
	answer := fileTrial{ContentType: p.ContentType, Body: string(validText(p.Body)), Warnings: p.Report.Warnings, Report: p.Report, Steps: p.Steps, Logs: p.Logs, Verify: p.Verdict}
	if answer.Warnings == nil {
		answer.Warnings = []sandrone.Warning{}
	}
	if answer.Steps == nil {
		answer.Steps = []engine.FileStep{}
	}
	return reply(w, http.StatusOK, answer)
}

type sourceText struct {
	ContentType string `json:"content_type"`
	Body        string `json:"body"`
}

func (s *Server) fileSource(w http.ResponseWriter, r *http.Request, name string, query url.Values) error {
	result, err := s.engine.ReadFile(r.Context(), engine.FileRequest{Name: name, Mode: engine.FileSource, Args: argsOf(query)})
	if err != nil {
		return err
	}
	if strings.EqualFold(query.Get("response"), "json") {
		return reply(w, http.StatusOK, sourceText{result.ContentType, string(validText(result.Body))})
	}
	sendFile(w, result, name, query)
	return nil
}

// sendFile answers with the bytes of a file. They are somebody else's: a
// browser that shows them must not run them with the rights of this origin.
func sendFile(w http.ResponseWriter, result *engine.Rendering, name string, query url.Values) {
	header := w.Header()
	header.Set("Content-Security-Policy", sandboxed)
	if result.Stale > 0 {
		header.Set("X-Sandrone-Stale", strconv.FormatInt(result.Stale, 10))
	}
	if query.Get("download") == "1" {
		if result.Name != "" {
			name = result.Name
		}
		header.Set("Content-Disposition", disposition("attachment", name))
	}
	send(w, http.StatusOK, result.ContentType, result.Body)
}

// disposition says how to keep an answer and under which name. A name that is
// not ASCII is given twice: for clients that know RFC 6266, and for the rest.
func disposition(how, filename string) string {
	ascii := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '_'
		}
		return r
	}, filename)
	text := mime.FormatMediaType(how, map[string]string{"filename": ascii})
	if ascii == filename {
		return text
	}
	return text + "; filename*=UTF-8''" + percentEncoded(filename)
}

// percentEncoded writes a text as the value of an extended parameter.
func percentEncoded(text string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(text) {
		switch c := text[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("!#$&+-.^_`|~", c) >= 0:
			b.WriteByte(c)
		default:
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		}
	}
	return b.String()
}
