package server

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sandrone-gateway/sandrone"
)

const (
	maxEntries    = 2000    // entries of the log that are kept
	maxEntryText  = 8 << 10 // bytes of a message or of an attribute that are kept
	maxEntryAttrs = 32
	maxStreams    = 16 // clients that follow the log at once
	maxLogQuery   = 4096
	heartbeat     = 15 * time.Second // of a stream in which nothing happens
)

// Logs is the handler of the program's log. It hides secrets, keeps the last
// 2,000 entries in memory for the API, and passes each on, hidden parts and
// all, to the handler that writes them.
type Logs struct {
	next   slog.Handler
	kept   *keptLog
	prefix string      // of the keys: the open groups, each with a dot
	attrs  []slog.Attr // of WithAttrs, redacted, with their whole keys
}

// NewLogs returns a handler before next, which decides what is logged at all.
func NewLogs(next slog.Handler) *Logs {
	return &Logs{next: next, kept: &keptLog{changed: make(chan struct{})}}
}

// Enabled reports whether the next handler takes a level.
func (l *Logs) Enabled(ctx context.Context, level slog.Level) bool { return l.next.Enabled(ctx, level) }

// Handle keeps a record and passes it on.
func (l *Logs) Handle(ctx context.Context, r slog.Record) error {
	out := slog.NewRecord(r.Time, r.Level, redactText(r.Message), r.PC)
	attrs := l.attrs[:len(l.attrs):len(l.attrs)]
	r.Attrs(func(a slog.Attr) bool {
		a = redactAttr(a)
		out.AddAttrs(a)
		attrs = append(attrs, slog.Attr{Key: l.prefix + a.Key, Value: a.Value})
		return true
	})
	l.kept.add(out, attrs)
	return l.next.Handle(ctx, out)
}

// WithAttrs returns a handler that adds attributes to each record.
func (l *Logs) WithAttrs(attrs []slog.Attr) slog.Handler {
	with := *l
	with.attrs = l.attrs[:len(l.attrs):len(l.attrs)]
	hidden := make([]slog.Attr, 0, len(attrs))
	for _, a := range attrs {
		a = redactAttr(a)
		hidden = append(hidden, a)
		with.attrs = append(with.attrs, slog.Attr{Key: l.prefix + a.Key, Value: a.Value})
	}
	with.next = l.next.WithAttrs(hidden)
	return &with
}

// WithGroup returns a handler that puts attributes into a group.
func (l *Logs) WithGroup(name string) slog.Handler {
	if name == "" {
		return l
	}
	with := *l
	with.prefix += name + "."
	with.next = l.next.WithGroup(name)
	return &with
}

// logEntry is one entry, as the API shows it.
type logEntry struct {
	ID      uint64         `json:"id"`
	Time    time.Time      `json:"time"`
	Level   string         `json:"level"`
	Message string         `json:"message"`
	Attrs   map[string]any `json:"attrs"` // strings, numbers and booleans; groups by dotted keys

	level slog.Level
}

// keptLog is a ring of the last entries. Ids grow by one, beginning with one.
type keptLog struct {
	mu      sync.Mutex
	ring    []logEntry
	last    uint64        // id of the newest entry, 0 for none
	changed chan struct{} // closed and replaced when an entry comes
	streams int
}

func (k *keptLog) add(r slog.Record, attrs []slog.Attr) {
	e := logEntry{
		Time:    r.Time.UTC(),
		Level:   strings.ToLower(r.Level.String()),
		Message: shorten(r.Message, maxEntryText),
		Attrs:   make(map[string]any, len(attrs)),
		level:   r.Level,
	}
	for _, a := range attrs {
		e.set(a.Key, a.Value)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.last++
	e.ID = k.last
	if len(k.ring) < maxEntries {
		k.ring = append(k.ring, e)
	} else {
		k.ring[(e.ID-1)%maxEntries] = e
	}
	close(k.changed)
	k.changed = make(chan struct{})
}

func (e *logEntry) set(key string, v slog.Value) {
	if v.Kind() == slog.KindGroup {
		for _, member := range v.Group() {
			if key == "" {
				e.set(member.Key, member.Value) // slog inlines a group without a name
			} else {
				e.set(key+"."+member.Key, member.Value)
			}
		}
		return
	}
	if len(e.Attrs) >= maxEntryAttrs {
		return
	}
	if v.Kind() == slog.KindString {
		e.Attrs[key] = shorten(v.String(), maxEntryText)
		return
	}
	if v.Kind() == slog.KindFloat64 {
		if _, err := json.Marshal(v.Float64()); err != nil {
			e.Attrs[key] = v.String() // NaN and the infinities are no JSON
			return
		}
	}
	e.Attrs[key] = v.Any()
}

// after returns the entries with a greater id, oldest first, the id of the
// oldest and of the newest entry that is kept, and what is closed when there
// are more.
func (k *keptLog) after(id uint64) (list []logEntry, oldest, newest uint64, changed <-chan struct{}) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.last > 0 {
		oldest = k.last - uint64(len(k.ring)) + 1
	}
	for i := max(id+1, oldest, 1); i <= k.last; i++ {
		list = append(list, k.ring[(i-1)%maxEntries])
	}
	return list, oldest, k.last, k.changed
}

// open counts a stream, unless there are too many.
func (k *keptLog) open() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.streams >= maxStreams {
		return false
	}
	k.streams++
	return true
}

func (k *keptLog) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.streams--
}

// logFilter is what a client wants to see of the log.
type logFilter struct {
	level     slog.Level
	word      string         // in lower case; empty means everything
	expr      *regexp.Regexp // in place of word
	sinceID   uint64         // exclusive
	sinceTime time.Time      // exclusive
}

func readLogFilter(query url.Values) (f logFilter, err error) {
	bad := func(name, text string) (logFilter, error) {
		return f, sandrone.Errorf(sandrone.InvalidArgument, "%s", text).At(name)
	}
	switch level := query.Get("level"); level {
	case "", "info":
		f.level = slog.LevelInfo
	case "debug":
		f.level = slog.LevelDebug
	case "warn":
		f.level = slog.LevelWarn
	case "error":
		f.level = slog.LevelError
	default:
		return bad("level", "level must be debug, info, warn or error")
	}
	q := query.Get("q")
	if len(q) > maxLogQuery {
		return bad("q", fmt.Sprintf("q must not be longer than %d bytes", maxLogQuery))
	}
	if len(q) > 2 && q[0] == '/' && q[len(q)-1] == '/' {
		if f.expr, err = regexp.Compile(q[1 : len(q)-1]); err != nil {
			return bad("q", "q is no regular expression")
		}
	} else {
		f.word = strings.ToLower(q)
	}
	f, err = f.since(query.Get("since"))
	if err != nil {
		return bad("since", "since must be an id or an RFC 3339 time")
	}
	return f, nil
}

// since returns f for the entries after text, an id or a time.
func (f logFilter) since(text string) (logFilter, error) {
	var err error
	if text == "" {
		return f, nil
	}
	if f.sinceID, err = strconv.ParseUint(text, 10, 64); err != nil {
		f.sinceID = 0
		f.sinceTime, err = time.Parse(time.RFC3339, text)
	}
	return f, err
}

func (f *logFilter) takes(e *logEntry) bool {
	if e.level < f.level || e.ID <= f.sinceID || !f.sinceTime.IsZero() && !e.Time.After(f.sinceTime) {
		return false
	}
	if f.expr == nil && f.word == "" || f.finds(e.Message) {
		return true
	}
	for key, value := range e.Attrs {
		if f.finds(key) || f.finds(fmt.Sprint(value)) {
			return true
		}
	}
	return false
}

func (f *logFilter) finds(text string) bool {
	if f.expr != nil {
		return f.expr.MatchString(text)
	}
	return strings.Contains(strings.ToLower(text), f.word)
}

// logPage is a part of the log.
type logPage struct {
	Items    []logEntry `json:"items"`     // oldest first
	OldestID uint64     `json:"oldest_id"` // of all that are kept; 0 if there are none
	NewestID uint64     `json:"newest_id"`
}

// getLogs answers with the newest entries that a filter takes.
func (s *Server) getLogs(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	filter, err := readLogFilter(query)
	if err != nil {
		return err
	}
	before, limit := uint64(0), 200
	if text := query.Get("before"); text != "" {
		if before, err = strconv.ParseUint(text, 10, 64); err != nil {
			return sandrone.Errorf(sandrone.InvalidArgument, "before must be an id").At("before")
		}
	}
	if text := query.Get("limit"); text != "" {
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 || limit > 1000 {
			return sandrone.Errorf(sandrone.InvalidArgument, "limit must be 1 to 1000").At("limit")
		}
	}
	page := logPage{Items: []logEntry{}}
	var all []logEntry
	all, page.OldestID, page.NewestID, _ = s.logs.kept.after(filter.sinceID)
	for _, e := range all {
		if (before == 0 || e.ID < before) && filter.takes(&e) {
			page.Items = append(page.Items, e)
		}
	}
	page.Items = page.Items[max(0, len(page.Items)-limit):]
	return reply(w, http.StatusOK, page)
}

// streamLogs follows the log as server-sent events until the client or the
// server ends.
func (s *Server) streamLogs(w http.ResponseWriter, r *http.Request) error {
	filter, err := readLogFilter(r.URL.Query())
	if err != nil {
		return err
	}
	if id := r.Header.Get("Last-Event-ID"); id != "" {
		// What the client saw last wins over where it once began.
		filter.sinceTime = time.Time{}
		if filter.sinceID, err = strconv.ParseUint(id, 10, 64); err != nil {
			return sandrone.Errorf(sandrone.InvalidArgument, "Last-Event-ID must be an id")
		}
	}
	if !s.logs.kept.open() {
		return sandrone.Errorf(sandrone.Busy, "too many log streams")
	}
	defer s.logs.kept.close()
	start(w, http.StatusOK, "text/event-stream")
	if r.Method == http.MethodHead {
		return nil
	}
	conn := http.NewResponseController(w)
	write := func(text []byte) bool {
		_ = conn.SetWriteDeadline(time.Now().Add(writeTimeout)) // where there is no connection, there is nothing to limit
		_, err := w.Write(text)
		return err == nil && conn.Flush() == nil
	}

	timer := time.NewTicker(heartbeat)
	defer timer.Stop()
	if _, _, newest, _ := s.logs.kept.after(0); filter.sinceID > newest {
		filter.sinceID = 0 // an id of a former process: all of this one's are new
	}
	seen := filter.sinceID
	if !write([]byte(": following\n\n")) {
		return nil
	}
	for {
		list, oldest, newest, changed := s.logs.kept.after(seen)
		var text []byte
		if seen > 0 && oldest > seen+1 {
			text = fmt.Appendf(text, "event: gap\ndata: {\"dropped\":%d}\n\n", oldest-seen-1)
		}
		for _, e := range list {
			if !filter.takes(&e) {
				continue
			}
			data, err := json.Marshal(e)
			if err != nil {
				continue
			}
			text = fmt.Appendf(text, "event: log\nid: %d\ndata: %s\n\n", e.ID, data)
		}
		seen = newest
		if len(text) > 0 && !write(text) {
			return nil
		}
		select {
		case <-changed:
		case <-timer.C:
			if !write([]byte(": nothing new\n\n")) {
				return nil
			}
		case <-r.Context().Done():
			return nil
		case <-s.stopping:
			return nil
		}
	}
}
