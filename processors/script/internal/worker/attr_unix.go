//go:build unix

package worker

import "syscall"

// apart keeps signals of the terminal away from a worker: it ends with its
// parent's pipe.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// rootDir is a directory that is always there and keeps none busy.
func rootDir() string { return "/" }
