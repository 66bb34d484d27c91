package script

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert/doc"
)

// Limits of a step, fixed.
const (
	DefaultTimeout = 2 * time.Second
	MaxTimeout     = time.Minute
	MaxText        = 1 << 20 // bytes of a script
)

// Config are the params of a step.
type Config struct {
	Source  Source
	Args    map[string]json.RawMessage // base of input.args
	Timeout time.Duration              // of top level, main and their calls
	ID      string                     // name of an inline script in diagnostics
}

// Source says where the text of a script is. Exactly one of the kinds is
// stated.
type Source struct {
	Type    string            // "inline", "file" or "remote"
	Content string            // inline: the text
	Name    string            // file: a stored file, which is rendered
	Args    map[string]string // file: the complete request args of that rendering
	Remote  Remote            // remote
	SHA256  string            // lower-case hex of the text, or empty
}

// Remote is a text to fetch. What is zero is filled in from the settings.
type Remote struct {
	URL             string
	UserAgent       string
	Proxy           string
	TimeoutMS       int
	CacheTTLSeconds int
}

// Decode reads params strictly. The error has code processor_config_invalid
// and, as its field, the path below params.
func Decode(params json.RawMessage) (*Config, error) {
	if len(params) == 0 {
		params = json.RawMessage("{}")
	}
	d, err := doc.ReadStrictJSON(nil, string(params))
	if err != nil {
		return nil, invalid("", "params are %v", err)
	}
	r := reader{d: d}
	c := &Config{Timeout: DefaultTimeout, ID: "<inline>"}
	var source, content, path bool
	r.object(0, "", map[string]func(i int, at string){
		"source": func(i int, at string) { source = true; r.source(i, at, &c.Source) },
		"engine": func(i int, at string) {
			if s := r.text(i, at); s != "js" {
				r.fail(at, `only "js" is known`)
			}
		},
		"args": func(i int, at string) {
			c.Args = make(map[string]json.RawMessage)
			r.each(i, at, func(j int, at string) { c.Args[d[j].Key] = doc.JSONOf(d, j) })
		},
		"timeout_ms": func(i int, at string) {
			if ms := r.whole(i, at); ms > 0 {
				c.Timeout = min(time.Duration(min(ms, 1<<31))*time.Millisecond, MaxTimeout)
			}
		},
		"id": func(i int, at string) {
			if s := strings.TrimSpace(r.text(i, at)); s != "" {
				c.ID = s
			}
		},
		"permissions": func(i int, at string) {
			r.object(i, at, map[string]func(int, string){
				"network": func(i int, at string) { r.boolean(i, at) },
				"resources": func(i int, at string) {
					if d[i].Kind != doc.List {
						r.fail(at, "want a list of texts")
					}
					r.list(i, at, func(j int, at string) { r.text(j, at) })
				},
			})
		},
		"content": func(i int, at string) {
			content = true
			c.Source.Type, c.Source.Content = "inline", r.text(i, at)
		},
		"path": func(i int, at string) {
			path = true
			c.Source.Type, c.Source.Name = "file", r.text(i, at)
		},
	})
	if r.err != nil {
		return nil, r.err
	}
	switch count := btoi(source) + btoi(content) + btoi(path); {
	case count == 0:
		return nil, invalid("source", "a source is required")
	case count > 1:
		return nil, invalid("source", "source, content and path exclude each other")
	}
	field := "source."
	if !source {
		field = ""
	}
	if err := c.Source.check(field, content || path); err != nil {
		return nil, err
	}
	return c, nil
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func invalid(field, format string, args ...any) *sandrone.Error {
	e := sandrone.Errorf(sandrone.ProcessorConfigInvalid, format, args...).At(field)
	e.Processor = "script"
	return e
}

// check holds the rules of a decoded source. field is the path in front of its
// members.
func (s *Source) check(field string, legacy bool) error {
	switch s.Type {
	case "inline":
		if strings.TrimSpace(s.Content) == "" {
			return invalid(field+"content", "a script is required")
		}
		if len(s.Content) > MaxText {
			return invalid(field+"content", "the script is larger than 1 MiB")
		}
		return s.verify(s.Content)
	case "file":
		at := field + "name"
		if legacy {
			at = "path"
		}
		n := s.Name
		if strings.TrimSpace(n) == "" {
			return invalid(at, "the name of a file is required")
		}
		if strings.HasPrefix(n, "files/") || strings.HasPrefix(n, "/") || strings.Contains(n, "..") || strings.ContainsAny(n, "\\\x00") {
			return invalid(at, "want the name of a stored file, not a path")
		}
	case "remote":
		u, err := url.Parse(s.Remote.URL)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
			return invalid(field+"remote.url", "want an http or https address")
		}
	case "":
		return invalid(field+"type", "the type of the source is required")
	default:
		return invalid(field+"type", "want inline, file or remote")
	}
	return nil
}

// verify compares a text with the stated hash, if there is one.
func (s *Source) verify(text string) error {
	if s.SHA256 == "" {
		return nil
	}
	sum := sha256.Sum256([]byte(text))
	if actual := hex.EncodeToString(sum[:]); actual != s.SHA256 {
		return invalid("source.sha256", "the script's SHA-256 is %s, expected %s", actual, s.SHA256)
	}
	return nil
}

// reader reads params and keeps the first fault.
type reader struct {
	d   doc.Items
	err error
}

func (r *reader) fail(at, why string) {
	if r.err == nil {
		r.err = invalid(at, "%s", why)
	}
}

// object reads a closed object member by member.
func (r *reader) object(i int, at string, members map[string]func(i int, at string)) {
	seen := make(map[string]bool)
	r.each(i, at, func(j int, at string) {
		key := r.d[j].Key
		read, ok := members[key]
		switch {
		case !ok:
			r.fail(at, "unknown param")
		case seen[key]:
			r.fail(at, "stated twice")
		default:
			seen[key] = true
			read(j, at)
		}
	})
}

func (r *reader) each(i int, at string, f func(j int, at string)) {
	if r.d[i].Kind != doc.Map {
		r.fail(at, "want an object")
		return
	}
	if at != "" {
		at += "."
	}
	for j := i + 1; j < r.d.Next(i) && r.err == nil; j = r.d.Next(j) {
		f(j, at+r.d[j].Key)
	}
}

func (r *reader) list(i int, at string, f func(j int, at string)) {
	n := 0
	for j := i + 1; j < r.d.Next(i) && r.err == nil; j = r.d.Next(j) {
		f(j, at+"["+strconv.Itoa(n)+"]")
		n++
	}
}

func (r *reader) text(i int, at string) string {
	if r.d[i].Kind != doc.Str {
		r.fail(at, "want a text")
	}
	return r.d[i].Text
}

func (r *reader) boolean(i int, at string) {
	if r.d[i].Kind != doc.Bool {
		r.fail(at, "want true or false")
	}
}

func (r *reader) whole(i int, at string) int {
	n, err := strconv.Atoi(r.d[i].Text)
	if r.d[i].Kind != doc.Num || err != nil {
		r.fail(at, "want a whole number")
	}
	return n
}

func (r *reader) natural(i int, at string) int {
	n := r.whole(i, at)
	if n < 0 {
		r.fail(at, "must not be negative")
	}
	return n
}

func (r *reader) source(i int, at string, s *Source) {
	stated := make(map[string]string) // member → its path
	note := func(f func(i int, at string)) func(int, string) {
		return func(i int, at string) {
			stated[r.d[i].Key] = at
			f(i, at)
		}
	}
	r.object(i, at, map[string]func(int, string){
		"type":    func(i int, at string) { s.Type = strings.ToLower(strings.TrimSpace(r.text(i, at))) },
		"content": note(func(i int, at string) { s.Content = r.text(i, at) }),
		"name":    note(func(i int, at string) { s.Name = r.text(i, at) }),
		"args": note(func(i int, at string) {
			s.Args = make(map[string]string)
			r.each(i, at, func(j int, at string) { s.Args[r.d[j].Key] = r.text(j, at) })
		}),
		"remote": note(func(i int, at string) {
			r.object(i, at, map[string]func(int, string){
				"url":               func(i int, at string) { s.Remote.URL = strings.TrimSpace(r.text(i, at)) },
				"user_agent":        func(i int, at string) { s.Remote.UserAgent = r.text(i, at) },
				"proxy":             func(i int, at string) { s.Remote.Proxy = r.text(i, at) },
				"timeout_ms":        func(i int, at string) { s.Remote.TimeoutMS = r.natural(i, at) },
				"cache_ttl_seconds": func(i int, at string) { s.Remote.CacheTTLSeconds = r.natural(i, at) },
			})
		}),
		"sha256": func(i int, at string) {
			s.SHA256 = strings.ToLower(r.text(i, at))
			if b, err := hex.DecodeString(s.SHA256); err != nil || len(b) != sha256.Size {
				r.fail(at, "want 64 hex digits")
			}
		},
	})
	own := map[string][]string{"inline": {"content"}, "file": {"name", "args"}, "remote": {"remote"}}[s.Type]
	if own == nil {
		return
	}
	for _, member := range []string{"content", "name", "args", "remote"} {
		at, ok := stated[member]
		if ok && member != own[0] && (len(own) < 2 || member != own[1]) {
			r.fail(at, "does not belong to a source of type "+s.Type)
		}
	}
}
