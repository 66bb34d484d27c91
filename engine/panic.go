package engine

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// PanicError is a recovered panic, for the log: where it was, and what it said
// if that can be told.
type PanicError struct {
	Stack []byte
	value any
}

// Recovered makes an error of what recover returned. Called where it was
// recovered, it keeps the stack; a panic that was carried over from another
// goroutine keeps its first one.
func Recovered(v any) *PanicError {
	if e, ok := v.(*PanicError); ok {
		return e
	}
	return &PanicError{Stack: debug.Stack(), value: v}
}

// Error tells a fault of the Go runtime in words. The value of any other panic
// may hold a part of the input, so only its type is told.
func (e *PanicError) Error() string {
	if err, ok := e.value.(runtime.Error); ok {
		return "panic: " + err.Error()
	}
	return fmt.Sprintf("panic with a %T", e.value)
}
