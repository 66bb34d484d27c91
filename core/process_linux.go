package core

import (
	"bytes"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// group is the attributes of a child that leads a process group and dies with
// its parent.
func group() *sysProcAttr {
	return &sysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// offline is group in a network of its own, in which there is nothing. A user
// namespace is what lets an ordinary user make one; in it the program is who it
// was.
func offline() *sysProcAttr {
	a := group()
	a.Cloneflags = syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET
	a.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}}
	a.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}}
	return a
}

// limitMemory bounds the data of a process, which has just been started. It is
// a net, not a measure: a machine without it would be taken down by one file.
func limitMemory(pid int, limit uint64) {
	if limit > 0 {
		_ = unix.Prlimit(pid, unix.RLIMIT_DATA, &unix.Rlimit{Cur: limit, Max: limit}, nil)
	}
}

// startTime tells two processes with the same number apart: the 22nd field of
// proc_pid_stat(5), in ticks since boot. It is empty for a process that is
// gone.
func startTime(pid int) string {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return ""
	}
	// The second field is the name, in brackets, and may hold anything.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 20 {
		return ""
	}
	return string(fields[19])
}
