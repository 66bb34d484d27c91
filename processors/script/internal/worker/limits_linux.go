package worker

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
)

// executable starts this very program, also after an upgrade has replaced its
// file.
func executable() (string, error) { return "/proc/self/exe", nil }

// rss reads the memory of a process. The file stays open: a read costs a few
// microseconds, and a worker cannot open anything later.
type rss struct{ statm *os.File }

// openRSS returns nil where the memory of a process cannot be read.
func openRSS(pid int) *rss {
	f, err := os.Open("/proc/" + strconv.Itoa(pid) + "/statm")
	if err != nil {
		return nil
	}
	return &rss{f}
}

// field returns a field of statm in bytes.
func (r *rss) field(i int) (int64, bool) {
	if r == nil {
		return 0, false
	}
	var buf [128]byte
	n, _ := r.statm.ReadAt(buf[:], 0)
	fields := bytes.Fields(buf[:n])
	if len(fields) <= i {
		return 0, false
	}
	pages, err := strconv.ParseInt(string(fields[i]), 10, 64)
	return pages * int64(os.Getpagesize()), err == nil
}

func (r *rss) resident() (int64, bool) { return r.field(1) }

func (r *rss) close() {
	if r != nil {
		r.statm.Close()
	}
}

// idleData is the data segment of the worker before its first job.
var idleData int64

// closeDoors takes from the worker what no script needs. Open files stay open.
func closeDoors() {
	for _, resource := range []int{syscall.RLIMIT_NOFILE, syscall.RLIMIT_CORE, syscall.RLIMIT_FSIZE} {
		_ = syscall.Setrlimit(resource, &syscall.Rlimit{})
	}
}

// limitData is the net below the parent's watch: one huge allocation fails
// before it touches memory. Growth in small steps passes it late and unevenly,
// so it is no measure.
func limitData(r *rss, frame int64) {
	if idleData == 0 {
		n, ok := r.field(5)
		if !ok {
			return
		}
		idleData = n
	}
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_DATA, &l) != nil {
		return
	}
	l.Cur = min(l.Max, uint64(idleData+MaxGrowth+frame*decodeFactor+128<<20))
	_ = syscall.Setrlimit(syscall.RLIMIT_DATA, &l)
}
