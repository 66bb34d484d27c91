//go:build unix && !linux

package core

// group is the attributes of a child that leads a process group. Nothing here
// ends it with its parent.
func group() *sysProcAttr { return &sysProcAttr{Setpgid: true} }

// offline is nil: an ordinary user cannot take the network away.
func offline() *sysProcAttr { return nil }

// limitMemory does nothing: the memory of another process cannot be bounded.
func limitMemory(int, uint64) {}

// startTime is not known.
func startTime(int) string { return "" }
