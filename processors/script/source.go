package script

import (
	"context"
	"net/url"
	"strings"

	"github.com/sandrone-gateway/sandrone"
)

// Loader gets the text of scripts that are not inline, anew for each run. It
// records dependencies and finds cycles.
type Loader interface {
	// File renders a stored file with exactly these request args.
	File(ctx context.Context, name string, args map[string]string) (Loaded, error)

	// Remote fetches a text through the guarded way out.
	Remote(ctx context.Context, r Remote) (Loaded, error)
}

// Loaded is the text of a script as it was fetched or rendered.
type Loaded struct {
	Text     string
	Warnings []sandrone.Warning // such as remote_stale
}

// id returns the name of a script in diagnostics.
func (c *Config) id() string {
	switch c.Source.Type {
	case "file":
		return c.Source.Name
	case "remote":
		u, err := url.Parse(c.Source.Remote.URL)
		if err != nil {
			return "<remote>"
		}
		return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
	}
	return c.ID
}

// load returns the text of the script. A coded error of the loader stays what
// it is.
func (c *Config) load(ctx context.Context, l Loader) (Loaded, error) {
	if c.Source.Type == "inline" {
		return Loaded{Text: c.Source.Content}, nil
	}
	failed := func() *sandrone.Error { return invalid("", "load script %s", c.id()) }
	if l == nil {
		return Loaded{}, failed()
	}
	var loaded Loaded
	var err error
	if c.Source.Type == "file" {
		loaded, err = l.File(ctx, c.Source.Name, c.Source.Args)
	} else {
		loaded, err = l.Remote(ctx, c.Source.Remote)
	}
	if cause := context.Cause(ctx); cause != nil {
		return Loaded{}, cause
	}
	if err != nil {
		if e := sandrone.AsError(err); e.Code != sandrone.InternalError {
			return Loaded{}, err
		}
		return Loaded{}, failed().Because(err)
	}
	if len(loaded.Text) > MaxText {
		return Loaded{}, invalid("", "load script %s: larger than 1 MiB", c.id())
	}
	if err := c.Source.verify(loaded.Text); err != nil {
		return Loaded{}, err
	}
	loaded.Text = strings.TrimPrefix(loaded.Text, "\ufeff")
	return loaded, nil
}
