package main

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

func TestCodeThatIsReleasedIsReadAgain(t *testing.T) {
	before := filePages(t)
	releaseCode()
	after := filePages(t) // which itself reads some code again
	if after >= before {
		t.Errorf("%d KiB of files were in memory before, %d after", before, after)
	}
}

// filePages is how much of files the process has in memory, in KiB.
func filePages(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip(err)
	}
	_, rest, _ := strings.Cut(string(status), "RssFile:")
	line, _, _ := strings.Cut(rest, "kB")
	n, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Skipf("the system does not tell: %v", err)
	}
	return n
}
