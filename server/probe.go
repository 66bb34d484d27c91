package server

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/engine"
)

// probeBody asks to probe the nodes of a subscription.
type probeBody struct {
	Method          string            `json:"method,omitempty"`
	Core            string            `json:"core,omitempty"`
	URL             string            `json:"url,omitempty"`
	NTPServer       string            `json:"ntp_server,omitempty"`
	ExpectedStatus  string            `json:"expected_status,omitempty"`
	TimeoutMS       int               `json:"timeout_ms,omitempty"`
	Attempts        int               `json:"attempts,omitempty"`
	Concurrency     int               `json:"concurrency,omitempty"`
	CacheTTLSeconds int               `json:"cache_ttl_seconds,omitempty"`
	Args            map[string]string `json:"args,omitempty"`
	Refresh         bool              `json:"refresh,omitempty"`
	Identities      []string          `json:"identities,omitempty"` // only the nodes with these
}

// probeProgress is the line of one node.
type probeProgress struct {
	Done       int    `json:"done"`
	Total      int    `json:"total"`
	Index      int    `json:"index"`
	Node       string `json:"node"`
	Identity   string `json:"identity"`
	Alive      bool   `json:"alive"`
	DurationMS int64  `json:"duration_ms,omitempty"`
	ErrorCode  string `json:"error_code,omitempty"`
	Cached     bool   `json:"cached,omitempty"`
}

// probeSummary is the last line.
type probeSummary struct {
	Done    int                    `json:"done"`
	Total   int                    `json:"total"`
	Summary sandrone.Report        `json:"summary"`
	Results []sandrone.ProbeResult `json:"results"`
}

// probeSubscription answers with a line for each node as it was probed, and
// one at the end. What fails before the first line is an ordinary answer.
func (s *Server) probeSubscription(w http.ResponseWriter, r *http.Request) error {
	name, err := resourceName(r, "name")
	if err != nil {
		return err
	}
	var body probeBody
	if err := decodeOptional(w, r, &body); err != nil {
		return err
	}
	args, err := joinArgs(r, body.Args)
	if err != nil {
		return err
	}
	// A client that is gone or does not read needs no more probes.
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	lines := &lineWriter{w: w, conn: http.NewResponseController(w)}
	answer, err := s.engine.ProbeSubscription(ctx, engine.ProbeRequest{
		Name: name,
		Options: sandrone.ProbeOptions{
			Method: body.Method, Core: body.Core, URL: body.URL, NTPServer: body.NTPServer, ExpectedStatus: body.ExpectedStatus,
			TimeoutMS: body.TimeoutMS, Attempts: body.Attempts, Concurrency: body.Concurrency, CacheTTLSeconds: body.CacheTTLSeconds,
		},
		Args: args, Refresh: body.Refresh, Identities: body.Identities,
		Progress: func(done, total, index int, identity string, result *sandrone.ProbeResult) {
			if !lines.write(probeProgress{
				Done: done, Total: total, Index: index, Node: result.NodeName, Identity: identity,
				Alive: result.Alive, DurationMS: result.DurationMS, ErrorCode: result.ErrorCode, Cached: result.CacheHit,
			}) {
				cancel()
			}
		},
	})
	switch {
	case err == nil:
		n := len(answer.Results)
		lines.write(probeSummary{n, n, answer.Report, answer.Results})
	case !lines.begun():
		return err
	default:
		e := sandrone.AsError(err)
		if e.Code == sandrone.InternalError {
			s.logCause(r, e.Unwrap())
		}
		lines.write(failure{Error: e})
	}
	return nil
}

// lineWriter writes an answer of JSON lines, each sent at once.
type lineWriter struct {
	w    http.ResponseWriter
	conn *http.ResponseController

	mu     sync.Mutex
	began  bool
	broken bool
}

func (l *lineWriter) begun() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.began
}

// write reports whether the client still takes lines.
func (l *lineWriter) write(v any) bool {
	text, err := json.Marshal(v)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil || l.broken {
		return false
	}
	if !l.began {
		l.began = true
		start(l.w, http.StatusOK, "application/x-ndjson")
	}
	_ = l.conn.SetWriteDeadline(time.Now().Add(writeTimeout)) // where there is no connection, there is nothing to limit
	_, err = l.w.Write(append(text, '\n'))
	l.broken = err != nil || l.conn.Flush() != nil
	return !l.broken
}
