package main

import (
	"bufio"
	"encoding/binary"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// cpuTime is what the process has used, in user and system mode.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// releaseCode takes the pages of the executable out of the memory of the
// process. It is a matter of thrift: what fails leaves them there.
//
// Only mappings that nobody has written to are released, since pages that were
// changed would be lost: code, and the constants of an executable at a fixed
// address, which no loader has to adjust.
func releaseCode() {
	executable, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	constants := isFixed("/proc/self/exe")
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return
	}
	defer maps.Close()
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		// 00400000-01a3f000 r-xp 00000000 fe:00 1234    /usr/bin/sandrone
		span, rest, _ := strings.Cut(lines.Text(), " ")
		mode, _, _ := strings.Cut(rest, " ")
		if !strings.HasSuffix(rest, " "+executable) || mode != "r-xp" && !(mode == "r--p" && constants) {
			continue
		}
		low, high, _ := strings.Cut(span, "-")
		from, err1 := strconv.ParseUint(low, 16, 64)
		to, err2 := strconv.ParseUint(high, 16, 64)
		if err1 == nil && err2 == nil {
			syscall.Syscall(syscall.SYS_MADVISE, uintptr(from), uintptr(to-from), syscall.MADV_DONTNEED)
		}
	}
}

// isFixed reports whether a file is an ELF executable that is loaded where it
// says.
func isFixed(file string) bool {
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	var head [18]byte // the identification and the type
	if _, err := io.ReadFull(f, head[:]); err != nil || string(head[:4]) != "\x7fELF" {
		return false
	}
	order := binary.ByteOrder(binary.LittleEndian)
	if head[5] == 2 {
		order = binary.BigEndian
	}
	const executable = 2 // ET_EXEC
	return order.Uint16(head[16:]) == executable
}
