package engine

import (
	"context"

	"github.com/sandrone-gateway/sandrone"
)

// FileRequest asks for the text of a stored file, or of a draft.
type FileRequest struct {
	Name    string
	Draft   *sandrone.FileSpec // in place of Name; its own name may be empty
	Mode    string             // FileRender or FileSource; empty means FileRender
	Args    map[string]string  // request args of the steps
	Refresh bool               // read no cache
}

// The modes of a [FileRequest].
const (
	FileRender = "render" // the final text
	FileSource = "source" // the text before compile and steps
)

// ReadFile returns the text of a file. Only static files are made by this
// build; the other kinds are not_implemented, but their source can be read.
//
// Errors: not_found, conflict for a file that needs itself, those of its source
// and of its steps.
func (e *Engine) ReadFile(ctx context.Context, req FileRequest) (*Rendering, error) {
	return nil, sandrone.Errorf(sandrone.NotImplemented, "files are not part of this build")
}
