//go:build !unix

package core

import (
	"io/fs"
	"os"
	"syscall"
)

type sysProcAttr = syscall.SysProcAttr

func group() *sysProcAttr { return nil }

func offline() *sysProcAttr { return nil }

func limitMemory(int, uint64) {}

func startTime(int) string { return "" }

func isOwn(fs.FileInfo) bool { return true }

func killGroup(pid int) error {
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return p.Kill()
}
