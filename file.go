package sandrone

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"
)

// FileSpec is the stored definition of one text file: a static one passes its
// source on, the other kinds are compiled for a client from subscriptions and
// settings.
type FileSpec struct {
	Name                  string            `json:"name"`
	DisplayName           string            `json:"display_name,omitempty"`
	Kind                  string            `json:"kind"`             // exact; FileMihomo and FileSingBox may carry an @version
	Source                *FileSource       `json:"source"`           // never nil after Normalise or when read from a store
	Config                *FileConfig       `json:"config,omitempty"` // not of static files
	Processors            []ProcessorSpec   `json:"processors,omitempty"`
	RenderCacheTTLSeconds *int64            `json:"render_cache_ttl_seconds,omitempty"` // nil means the project's default, 0 off
	Meta                  map[string]string `json:"meta,omitempty"`
	CreatedAt             time.Time         `json:"created_at,omitzero"` // set by the store; zero on records of old versions
	UpdatedAt             time.Time         `json:"updated_at,omitzero"` // set by the store
}

// The kinds of a [FileSpec].
const (
	FileStatic       = "static"
	FileMihomo       = "mihomo"
	FileSingBox      = "sing-box"
	FileShadowrocket = "shadowrocket"
)

// FileSource is the text that a file starts from. The zero value is the
// built-in base of a client file.
type FileSource struct {
	Type    string       `json:"type,omitempty"`    // FileInline, FileRemote
	Content *string      `json:"content,omitempty"` // of an inline source; nil is the same as empty
	Remote  *RemoteInput `json:"remote,omitempty"`  // of a remote source
}

// The types of a [FileSource].
const (
	FileInline = "inline"
	FileRemote = "remote"
)

// FileConfig says what a client file is compiled from.
type FileConfig struct {
	Subscriptions []string        `json:"subscriptions,omitempty"` // their nodes are joined in this order
	Settings      json.RawMessage `json:"settings,omitempty"`      // an object, of the kind's own shape
}

// BaseKind returns the kind without its @version.
func (f *FileSpec) BaseKind() string {
	kind, _, _ := strings.Cut(f.Kind, "@")
	return kind
}

// Normalise brings f into the form in which it is stored: the display name
// trimmed, the type of the source folded and the other payload dropped. What
// can never be right is an invalid_argument error with the field; f may then
// be changed in part. The shape of the settings and the versions of a kind are
// known to the compiler of the kind and not looked at, nor are processors.
func (f *FileSpec) Normalise() error {
	f.DisplayName = strings.TrimSpace(f.DisplayName)
	if err := CheckName("name", f.Name); err != nil {
		return err
	}
	kind, version, versioned := strings.Cut(f.Kind, "@")
	switch kind {
	case FileMihomo, FileSingBox:
		if versioned && version == "" {
			return invalid("kind", "the version of the kind is missing")
		}
	case FileStatic, FileShadowrocket:
		if versioned {
			return invalid("kind", "kind %s has no versions", kind)
		}
	case "":
		return invalid("kind", "kind is required")
	default:
		return invalid("kind", "kind must be one of static, mihomo, sing-box, shadowrocket")
	}
	if f.Source == nil {
		return invalid("source", "source is required")
	}
	if err := f.Source.normalise(kind); err != nil {
		return err
	}
	if f.Config != nil {
		if kind == FileStatic {
			return invalid("config", "a static file has no config")
		}
		if s := bytes.TrimSpace(f.Config.Settings); len(s) > 0 && s[0] != '{' {
			return invalid("config.settings", "config.settings must be an object")
		}
	}
	return checkTTL(f.RenderCacheTTLSeconds)
}

func (s *FileSource) normalise(kind string) error {
	s.Type = word(s.Type)
	switch s.Type {
	case FileInline:
		s.Remote = nil
	case FileRemote:
		s.Content = nil
		if s.Remote == nil {
			return invalid("source.remote.url", "remote url is required")
		}
		return s.Remote.check("source.remote.")
	case "":
		if kind == FileStatic || s.Content != nil || s.Remote != nil {
			return invalid("source.type", "the type of the source is required")
		}
	default:
		return invalid("source.type", "the type of the source must be inline or remote")
	}
	return nil
}
