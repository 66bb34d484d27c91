package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// safely is the outermost handler. The SDK runs it outside of the net under
// panics that HTTP has, and sends the text of any error to the client.
func (e *Endpoint) safely(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		out, err := recovered(func() (sdk.Result, error) { return next(ctx, method, req) })
		if err == nil {
			return out, nil
		}
		if told, ok := errors.AsType[*jsonrpc.Error](err); ok {
			return nil, told
		}
		e.options.Fault(ctx, err)
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "internal error"}
	}
}

// encodedResult is a result that was encoded before.
type encodedResult struct {
	sdk.ResultBase
	text json.RawMessage
}

func (r *encodedResult) MarshalJSON() ([]byte, error) { return r.text, nil }

// prebuilt answers the lists, which never change, from their encoded form.
// Each is made by the first request for it.
func (e *Endpoint) prebuilt() sdk.Middleware {
	var lists sync.Map // method -> *encodedResult
	return func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			if !isWholeList(req) {
				return next(ctx, method, req)
			}
			if kept, ok := lists.Load(method); ok {
				// A result of its own, since the SDK writes to it.
				return &encodedResult{text: kept.(*encodedResult).text}, nil
			}
			out, err := next(ctx, method, req)
			if err != nil {
				return nil, err
			}
			made, err := e.encodeResult(out)
			if err != nil {
				return nil, err
			}
			lists.Store(method, &encodedResult{text: made.text})
			return made, nil
		}
	}
}

// isWholeList reports whether a request asks for a list from its start.
func isWholeList(req sdk.Request) bool {
	switch r := req.(type) {
	case *sdk.ListToolsRequest:
		return r.Params == nil || r.Params.Cursor == ""
	case *sdk.ListPromptsRequest:
		return r.Params == nil || r.Params.Cursor == ""
	case *sdk.ListResourcesRequest:
		return r.Params == nil || r.Params.Cursor == ""
	case *sdk.ListResourceTemplatesRequest:
		return r.Params == nil || r.Params.Cursor == ""
	}
	return false
}

// encodeResult encodes a result with what the SDK would add to it on its way
// out.
func (e *Endpoint) encodeResult(out sdk.Result) (*encodedResult, error) {
	text, err := encode(out)
	if err != nil {
		return nil, err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		return nil, err
	}
	if members["_meta"], err = encode(map[string]any{sdk.MetaKeyServerInfo: e.identity}); err != nil {
		return nil, err
	}
	members["resultType"] = json.RawMessage(`"complete"`)
	if text, err = encode(members); err != nil {
		return nil, err
	}
	return &encodedResult{text: text}, nil
}
