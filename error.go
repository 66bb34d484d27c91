package sandrone

import (
	"errors"
	"fmt"
)

// Error is an operation that failed, as every door shows it. Its text never
// holds a storage path, a credential, or the query of an address. The cause,
// reachable by errors.Unwrap, is for the log only and is never serialised.
type Error struct {
	Code           Code   `json:"code"`
	Message        string `json:"message"`
	Field          string `json:"field,omitempty"` // dotted path of the input at fault
	ResourceKind   string `json:"resource_kind,omitempty"`
	ResourceName   string `json:"resource_name,omitempty"`
	Source         string `json:"source,omitempty"` // input name, or scheme://host of an address
	Target         string `json:"target,omitempty"` // output format, with the @version asked for
	File           string `json:"file,omitempty"`
	Part           string `json:"part,omitempty"`
	Processor      string `json:"processor,omitempty"`
	ProcessorIndex *int   `json:"processor_index,omitempty"`
	Path           string `json:"path,omitempty"`   // JSON Pointer, or "/<section>"
	Line           int    `json:"line,omitempty"`   // one-based
	Column         int    `json:"column,omitempty"` // one-based

	cause error
}

// Code is the stable machine code of an [Error].
type Code string

// The error codes. A code has one HTTP status, whatever caused it.
const (
	InvalidArgument         Code = "invalid_argument"
	Unauthorized            Code = "unauthorized"
	Forbidden               Code = "forbidden"
	FetchForbidden          Code = "fetch_forbidden"
	NotFound                Code = "not_found"
	RouteNotFound           Code = "route_not_found"
	MethodNotAllowed        Code = "method_not_allowed"
	Conflict                Code = "conflict"
	PreconditionFailed      Code = "precondition_failed"
	RequestTooLarge         Code = "request_too_large"
	BackupTooLarge          Code = "backup_too_large"
	BackupInvalid           Code = "backup_invalid"
	BackupIncompatible      Code = "backup_incompatible"
	ParseFailed             Code = "parse_failed"
	NodeValidationFailed    Code = "node_validation_failed"
	RenderFailed            Code = "render_failed"
	ProcessorUnknown        Code = "processor_unknown"
	ProcessorConfigInvalid  Code = "processor_config_invalid"
	NodeProcessorFailed     Code = "node_processor_failed"
	FileProcessorFailed     Code = "file_processor_failed"
	FileMergeFailed         Code = "file_merge_failed"
	ScriptTimeout           Code = "script_timeout"
	ScriptRuntime           Code = "script_runtime"
	InputKindAmbiguous      Code = "input_kind_ambiguous"
	InputKindUnrecognized   Code = "input_kind_unrecognized"
	ProbeInvalidTarget      Code = "probe_invalid_target"
	RateLimited             Code = "rate_limited"
	InternalError           Code = "internal_error"
	NotImplemented          Code = "not_implemented"
	FetchFailed             Code = "fetch_failed"
	Busy                    Code = "busy"
	ProbeCoreUnavailable    Code = "probe_core_unavailable"
	ProbeBackendUnavailable Code = "probe_backend_unavailable"
	ProbeCoreStartFailed    Code = "probe_core_start_failed"
	FetchTimeout            Code = "fetch_timeout"
)

// Status returns the HTTP status that belongs to c; 500 for a code that this
// build does not know.
func (c Code) Status() int {
	switch c {
	case InvalidArgument, BackupInvalid:
		return 400
	case Unauthorized:
		return 401
	case Forbidden, FetchForbidden:
		return 403
	case NotFound, RouteNotFound:
		return 404
	case MethodNotAllowed:
		return 405
	case Conflict:
		return 409
	case PreconditionFailed:
		return 412
	case RequestTooLarge, BackupTooLarge:
		return 413
	case ParseFailed, NodeValidationFailed, RenderFailed, ProcessorUnknown, ProcessorConfigInvalid,
		NodeProcessorFailed, FileProcessorFailed, FileMergeFailed, ScriptTimeout, ScriptRuntime,
		InputKindAmbiguous, InputKindUnrecognized, BackupIncompatible, ProbeInvalidTarget:
		return 422
	case RateLimited:
		return 429
	case NotImplemented:
		return 501
	case FetchFailed:
		return 502
	case Busy, ProbeCoreUnavailable, ProbeBackendUnavailable, ProbeCoreStartFailed:
		return 503
	case FetchTimeout:
		return 504
	}
	return 500
}

// Errorf makes an error with a code and a formatted message. A %w verb keeps
// its operand as the cause for the log; use it only for operands whose text
// may be shown, since the message contains it.
func Errorf(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Message: err.Error(), cause: errors.Unwrap(err)}
}

// Because sets the hidden cause of e and returns e. The cause reaches the log
// and errors.Is, never a caller.
func (e *Error) Because(cause error) *Error {
	e.cause = cause
	return e
}

// At sets the dotted path of the input at fault and returns e.
func (e *Error) At(field string) *Error {
	e.Field = field
	return e
}

func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

func (e *Error) Unwrap() error { return e.cause }

// AsError returns the [Error] that err is or wraps. An error without a code
// becomes [InternalError] with the fixed message "internal error" and err as
// its hidden cause; nil stays nil.
func AsError(err error) *Error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{Code: InternalError, Message: "internal error", cause: err}
}
