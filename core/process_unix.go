//go:build unix

package core

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

type sysProcAttr = syscall.SysProcAttr

// killGroup kills a program and its children. It has no error for one that is
// gone.
func killGroup(pid int) error {
	err := syscall.Kill(-pid, syscall.SIGKILL)
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}

// isOwn tells whether a file belongs to the user of this process.
func isOwn(file fs.FileInfo) bool {
	stat, ok := file.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}
