package server

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/engine"
)

// maxQueryContent is the longest text that a query may carry, decoded.
const maxQueryContent = 65536 // bytes

// getConvert is the public conversion of a text or an address in the query.
func (s *Server) getConvert(w http.ResponseWriter, r *http.Request) error {
	settings := s.engine.Settings()
	if !settings.PublicConvert.Enabled {
		return noSuchPath()
	}
	if err := s.limitRate(w, r, s.convertRate, settings.PublicConvert.RequestsPerMinute); err != nil {
		return err
	}
	req, envelope, err := convertQuery(r.URL.RawQuery)
	if err != nil {
		return err
	}
	result, err := s.productions.do(r.Context(), convertKey(req), func(ctx context.Context) (engine.ConvertResult, error) {
		return s.engine.Convert(ctx, req)
	})
	if err != nil {
		return ofQuery(err)
	}
	if !envelope {
		send(w, http.StatusOK, result.ContentType, result.Body)
		return nil
	}
	return sendEnvelope(w, result.ContentType, result.Body, result.Report, false, false)
}

// ofQuery names the parameter of the query at fault, where the engine names
// the member of a body.
func ofQuery(err error) error {
	e, ok := errors.AsType[*sandrone.Error](err)
	if !ok || e.Field != "remote.url" {
		return err
	}
	plain := *e
	plain.Field = "url"
	return &plain
}

// convertQuery reads the closed query of /convert.
func convertQuery(raw string) (req engine.ConvertRequest, envelope bool, err error) {
	query, err := url.ParseQuery(raw)
	if err != nil {
		return req, false, sandrone.Errorf(sandrone.InvalidArgument, "invalid query")
	}
	for name, values := range query {
		if !slices.Contains([]string{"content", "url", "to_format", "from_format", "response"}, name) {
			return req, false, sandrone.Errorf(sandrone.InvalidArgument, "unknown parameter").At(shorten(name, maxFieldName))
		}
		if len(values) > 1 {
			return req, false, sandrone.Errorf(sandrone.InvalidArgument, "parameter given twice").At(name)
		}
	}
	req = engine.ConvertRequest{ToFormat: query.Get("to_format"), FromFormat: query.Get("from_format"), Public: true}
	content, address := query.Get("content"), strings.TrimSpace(query.Get("url"))
	if len(content) > maxQueryContent {
		return req, false, sandrone.Errorf(sandrone.InvalidArgument, "convert content is too large").At("content")
	}
	switch inline := strings.TrimSpace(content) != ""; {
	case inline == (address != ""):
		return req, false, sandrone.Errorf(sandrone.InvalidArgument, "exactly one of content and url is required")
	case inline:
		req.Content = &content
		if strings.TrimSpace(req.FromFormat) == "" {
			req.FromFormat = "uri-list"
		}
	default:
		req.Remote = &engine.Remote{URL: address}
	}
	return req, strings.EqualFold(query.Get("response"), "json"), nil
}

// convertKey tells which public conversions are equal.
func convertKey(req engine.ConvertRequest) productionKey {
	var content, address string
	if req.Content != nil {
		content = *req.Content
	} else {
		address = req.Remote.URL
	}
	h := sha256.New()
	for _, part := range []string{"convert", word(req.ToFormat), word(req.FromFormat), content, address} {
		var size [8]byte // so that no two lists of parts look the same
		binary.LittleEndian.PutUint64(size[:], uint64(len(part)))
		h.Write(size[:])
		h.Write([]byte(part))
	}
	return productionKey(h.Sum(nil))
}

func word(s string) string { return strings.ToLower(strings.TrimSpace(s)) }

// postConvert is the conversion for the operator, with a report.
func (s *Server) postConvert(w http.ResponseWriter, r *http.Request) error {
	var req engine.ConvertRequest
	if err := decode(w, r, &req); err != nil {
		return err
	}
	result, err := s.engine.Convert(r.Context(), req)
	if err != nil {
		return err
	}
	return sendReported(w, result.ContentType, result.Body, result.Report, false)
}
