//go:build race

package engine_test

// mayAllocate is what a hostile answer may cost in all, in bytes: growing to the
// limit of 16 MiB takes about four times as much, and twice that here, where the
// race detector keeps the compiler from growing a slice in place.
const mayAllocate = 160 << 20
