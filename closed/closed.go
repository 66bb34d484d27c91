// Package closed decodes the JSON that clients send. It is closed: names match
// exactly and at most once, and a member that is not expected is an error. What
// an error says of the text is where it is, never what stands there.
package closed

import (
	"bytes"
	"errors"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/sandrone-gateway/sandrone"
)

const maxField = 200 // bytes of a member's path in an error

// Unmarshal decodes text into v, a pointer. Nothing of v aliases the text. An
// error is invalid_argument, calls the text what, and has the path of the
// member at fault, or the place of what is no JSON.
func Unmarshal(what string, text []byte, v any) error {
	err := json.Unmarshal(text, v, json.RejectUnknownMembers(true))
	if err == nil {
		return nil
	}
	// The library's own text is not used, since it may quote a value.
	if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		if errors.Is(e.Err, jsontext.ErrDuplicateName) {
			return invalid(what, ": member given twice").At(fieldPath(e.JSONPointer))
		}
		return Placed(invalid(what, ""), text, int(e.ByteOffset))
	}
	if e, ok := errors.AsType[*json.SemanticError](err); ok {
		fault := ": wrong type of value"
		if errors.Is(e.Err, json.ErrUnknownName) {
			fault = ": unknown member"
		}
		return invalid(what, fault).At(fieldPath(e.JSONPointer))
	}
	return invalid(what, "").Because(err)
}

func invalid(what, fault string) *sandrone.Error {
	return sandrone.Errorf(sandrone.InvalidArgument, "invalid %s%s", what, fault)
}

// Placed adds the line and column of a byte offset in text, both counted from
// one; a column counts bytes.
func Placed(e *sandrone.Error, text []byte, offset int) *sandrone.Error {
	before := text[:min(max(offset, 0), len(text))]
	e.Line = 1 + bytes.Count(before, []byte("\n"))
	e.Column = len(before) - bytes.LastIndexByte(before, '\n')
	return e
}

// fieldPath writes a JSON Pointer as the dotted path of a field: /a/0/b is
// a[0].b.
func fieldPath(p jsontext.Pointer) string {
	path := ""
	for token := range p.Tokens() {
		if _, err := strconv.ParseUint(token, 10, 32); err == nil && path != "" {
			path += "[" + token + "]"
		} else {
			path = Member(path, token)
		}
		if len(path) > maxField {
			break
		}
	}
	return Shorten(path)
}

// Member is the path of a member of the object at path; an empty path is the
// whole.
func Member(path, name string) string {
	if name == "" {
		name = `""` // a member without a name is one too
	}
	if path == "" {
		return name
	}
	return path + "." + name
}

// Shorten bounds a path whose names come from outside.
func Shorten(path string) string {
	if len(path) > maxField {
		return strings.ToValidUTF8(path[:maxField], "") + "…"
	}
	return path
}
