package script_test

import "syscall"

// childPeak is the largest resident memory that a reaped child had, in bytes.
func childPeak() int64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_CHILDREN, &u) != nil {
		return 0
	}
	return u.Maxrss << 10
}
