//go:build race

package script_test

// raced tells that the race detector is compiled in: its shadow multiplies the
// resident memory of a worker, so that a measure of memory says nothing.
const raced = true
