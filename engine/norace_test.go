//go:build !race

package engine_test

// mayAllocate is what a hostile answer may cost in all, in bytes: growing to the
// limit of 16 MiB takes about four times as much.
const mayAllocate = 100 << 20
