package sandrone

import (
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Subscription is the stored definition of where nodes come from and how they
// are processed. It never holds what was fetched.
type Subscription struct {
	Name                  string            `json:"name"`
	DisplayName           string            `json:"display_name,omitempty"`
	Type                  string            `json:"type"`                               // SubscriptionRemote, SubscriptionLocal, SubscriptionCollection
	Format                string            `json:"format,omitempty"`                   // input format; empty or "auto" means detect; not of a collection
	Content               string            `json:"content,omitempty"`                  // of a local one
	Remote                *RemoteInput      `json:"remote,omitempty"`                   // of a remote one
	Inputs                []NodeInput       `json:"inputs,omitempty"`                   // of a collection
	Nodes                 []Node            `json:"nodes,omitempty"`                    // of a collection without inputs
	Processors            []ProcessorSpec   `json:"processors,omitempty"`               // steps on nodes, in order
	RenderCacheTTLSeconds *int64            `json:"render_cache_ttl_seconds,omitempty"` // nil means the project's default, 0 off
	Meta                  map[string]string `json:"meta,omitempty"`
	CreatedAt             time.Time         `json:"created_at,omitzero"` // set by the store; zero on records of old versions
	UpdatedAt             time.Time         `json:"updated_at,omitzero"` // set by the store
}

// The types of a [Subscription].
const (
	SubscriptionRemote     = "remote"
	SubscriptionLocal      = "local"
	SubscriptionCollection = "collection"
)

// RemoteInput is an address to fetch from. A zero member means the setting of
// the same name.
type RemoteInput struct {
	URL             string `json:"url"` // http or https
	UserAgent       string `json:"user_agent,omitempty"`
	Proxy           string `json:"proxy,omitempty"` // http, https or socks5 address
	TimeoutMS       int64  `json:"timeout_ms,omitempty"`
	CacheTTLSeconds int64  `json:"cache_ttl_seconds,omitempty"`
}

// NodeInput is one source of a collection. Which members count depends on its
// type; the others are kept and ignored.
type NodeInput struct {
	Name            string            `json:"name"`
	Type            string            `json:"type"`
	Ref             *ResourceRef      `json:"ref,omitempty"`
	Format          string            `json:"format,omitempty"`
	Target          string            `json:"target,omitempty"` // reserved
	Nodes           []Node            `json:"nodes,omitempty"`
	Content         string            `json:"content,omitempty"`
	Path            string            `json:"path,omitempty"` // name of a stored file, also as files/<name>
	URL             string            `json:"url,omitempty"`
	UserAgent       string            `json:"user_agent,omitempty"`
	Proxy           string            `json:"proxy,omitempty"`
	TimeoutMS       int64             `json:"timeout_ms,omitempty"`
	CacheTTLSeconds int64             `json:"cache_ttl_seconds,omitempty"`
	Required        bool              `json:"required,omitempty"` // its failure fails the collection
	Meta            map[string]string `json:"meta,omitempty"`     // merged over that of a subscription it refers to
}

// The types of a [NodeInput].
const (
	InputInlineNodes  = "inline_nodes" // Nodes
	InputInline       = "inline"       // Nodes, else Content in Format
	InputRemote       = "remote"       // URL and the members of RemoteInput
	InputLocal        = "local"        // the source text of the stored file Path, or Ref.Name
	InputRef          = "ref"          // the subscription Ref.Name
	InputSubscription = "subscription" // the subscription Ref.Name, else Path, else Name
)

// Remote returns the members that say how to fetch.
func (in *NodeInput) Remote() RemoteInput {
	return RemoteInput{in.URL, in.UserAgent, in.Proxy, in.TimeoutMS, in.CacheTTLSeconds}
}

// Normalise brings s into the form in which it is stored: words folded, the
// display name trimmed, members that its type has no use for dropped. What can
// never be right is an invalid_argument error with the field; s may then be
// changed in part. Formats, processors and references are not looked at.
func (s *Subscription) Normalise() error {
	s.DisplayName = strings.TrimSpace(s.DisplayName)
	s.Type = word(s.Type)
	if err := CheckName("name", s.Name); err != nil {
		return err
	}
	switch s.Type {
	case SubscriptionRemote:
		s.Content, s.Inputs, s.Nodes = "", nil, nil
		if s.Remote == nil {
			return invalid("remote.url", "remote url is required")
		}
		if err := s.Remote.check("remote."); err != nil {
			return err
		}
	case SubscriptionLocal:
		s.Remote, s.Inputs, s.Nodes = nil, nil, nil
	case SubscriptionCollection:
		s.Remote, s.Content, s.Format = nil, "", ""
		for i := range s.Inputs {
			if err := s.Inputs[i].normalise("inputs[" + strconv.Itoa(i) + "]."); err != nil {
				return err
			}
		}
	case "":
		return invalid("type", "type is required")
	default:
		return invalid("type", "type must be one of remote, local, collection")
	}
	return checkTTL(s.RenderCacheTTLSeconds)
}

func checkTTL(seconds *int64) error {
	if seconds != nil && *seconds < 0 {
		return invalid("render_cache_ttl_seconds", "render_cache_ttl_seconds must not be negative")
	}
	return nil
}

// normalise checks one input; at is the path of its members.
func (in *NodeInput) normalise(at string) error {
	in.Type = word(in.Type)
	if strings.TrimSpace(in.Name) == "" {
		return invalid(at+"name", "the input's name is required")
	}
	ref := ResourceRef{}
	if in.Ref != nil {
		ref = *in.Ref
	}
	switch in.Type {
	case InputInlineNodes, InputSubscription:
	case InputInline:
		if format := word(in.Format); len(in.Nodes) == 0 && (format == "" || format == "auto") {
			return invalid(at+"format", "an inline input needs a format")
		}
	case InputRemote:
		remote := in.Remote()
		return remote.check(at)
	case InputLocal:
		if strings.TrimSpace(in.Path) == "" && strings.TrimSpace(ref.Name) == "" {
			return invalid(at+"path", "a local input needs the name of a stored file")
		}
	case InputRef:
		if ref.Kind != KindSubscription {
			return invalid(at+"ref.kind", `the kind of a ref must be "subscription"`)
		}
		if strings.TrimSpace(ref.Name) == "" {
			return invalid(at+"ref.name", "the name of a ref is required")
		}
	case "":
		return invalid(at+"type", "the input's type is required")
	default:
		return invalid(at+"type", "unknown type of input")
	}
	if in.TimeoutMS < 0 {
		return invalid(at+"timeout_ms", "timeout_ms must not be negative")
	}
	if in.CacheTTLSeconds < 0 {
		return invalid(at+"cache_ttl_seconds", "cache_ttl_seconds must not be negative")
	}
	return nil
}

// check refuses what no fetch could ever use; the fetcher has the finer rules.
// Addresses carry credentials, so no text of an error shows them.
func (r *RemoteInput) check(at string) error {
	if strings.TrimSpace(r.URL) == "" {
		return invalid(at+"url", "remote url is required")
	}
	u, err := url.Parse(strings.TrimSpace(r.URL))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return invalid(at+"url", "remote url must be an http or https address with a host")
	}
	if proxy := strings.TrimSpace(r.Proxy); proxy != "" {
		u, err := url.Parse(proxy)
		if err != nil || u.Hostname() == "" {
			return invalid(at+"proxy", "remote proxy must be an address with scheme and host")
		}
		if u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "socks5" {
			return invalid(at+"proxy", "unsupported remote proxy scheme %q", u.Scheme)
		}
	}
	if r.TimeoutMS < 0 {
		return invalid(at+"timeout_ms", "timeout_ms must not be negative")
	}
	if r.CacheTTLSeconds < 0 {
		return invalid(at+"cache_ttl_seconds", "cache_ttl_seconds must not be negative")
	}
	return nil
}
