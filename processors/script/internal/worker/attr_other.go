//go:build !unix

package worker

import "syscall"

func apart() *syscall.SysProcAttr { return nil }

// rootDir leaves a worker where its parent is.
func rootDir() string { return "" }
