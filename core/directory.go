package core

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Directory is a private directory for one run of a program, empty at first.
type Directory struct {
	Path string // mode 0700
	root string // holds Path and what is noted of the run
}

const (
	rootPattern = "sandrone-core-*" // in the system's directory for temporary files
	ownerFile   = "owner"           // process that made it
	coreFile    = "core"            // program that runs in it
	homeName    = "run"
)

// NewDirectory makes a private directory. Its owner calls Remove.
func NewDirectory() (*Directory, error) {
	root, err := os.MkdirTemp("", rootPattern)
	if err != nil {
		return nil, err
	}
	// Programs print the real name, which may differ where /tmp is a link.
	if real, err := filepath.EvalSymlinks(root); err == nil {
		root = real
	}
	d := &Directory{Path: filepath.Join(root, homeName), root: root}
	if err := errors.Join(d.write(ownerFile, os.Getpid()), os.Mkdir(d.Path, 0o700)); err != nil {
		d.Remove()
		return nil, err
	}
	return d, nil
}

// Write puts a file of mode 0600 into the directory and returns its path.
func (d *Directory) Write(name string, text []byte) (string, error) {
	path := filepath.Join(d.Path, name)
	return path, os.WriteFile(path, text, 0o600)
}

// Remove removes the directory and what a program has put into it. The program
// must have ended.
func (d *Directory) Remove() { _ = os.RemoveAll(d.root) }

// note remembers a program that runs in the directory, for the case that this
// one is killed.
func (d *Directory) note(pid int) { _ = d.write(coreFile, pid) }

func (d *Directory) forget() { _ = os.Remove(filepath.Join(d.root, coreFile)) }

// write names a process: its number and when it was started, since numbers are
// used again.
func (d *Directory) write(name string, pid int) error {
	return os.WriteFile(filepath.Join(d.root, name), []byte(strconv.Itoa(pid)+" "+startTime(pid)), 0o600)
}

// strayAge is how old a directory without an owner must be: one that is younger
// may be about to get its owner's name.
const strayAge = time.Minute

// RemoveLeftovers removes the private directories of processes that are gone,
// and ends programs that still run in them: those that the signal on the death
// of their parent did not reach, as with an executable that has file
// capabilities. Where the start of a process is not known, as outside Linux, it
// ends none. It tells how many directories it removed.
func RemoveLeftovers() (removed int) {
	roots, _ := filepath.Glob(filepath.Join(os.TempDir(), rootPattern))
	for _, root := range roots {
		// The directory is shared: what others have made there is not ours.
		info, err := os.Lstat(root)
		if err != nil || !info.IsDir() || !isOwn(info) {
			continue
		}
		switch _, state := readProcess(filepath.Join(root, ownerFile)); state {
		case running:
			continue
		case unknown:
			if time.Since(info.ModTime()) < strayAge {
				continue
			}
		}
		if pid, state := readProcess(filepath.Join(root, coreFile)); state == running && startTime(pid) != "" {
			_ = killGroup(pid)
		}
		if os.RemoveAll(root) == nil {
			removed++
		}
	}
	return removed
}

type processState int

const (
	unknown processState = iota // nothing is noted
	gone
	running
)

// readProcess reads what write wrote, and tells whether that very process is
// there.
func readProcess(file string) (pid int, state processState) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, unknown
	}
	number, start, _ := strings.Cut(string(text), " ")
	pid, err = strconv.Atoi(number)
	if err != nil || pid <= 1 {
		return 0, unknown
	}
	if now := startTime(pid); start != "" {
		if now == start {
			return pid, running
		}
		return pid, gone
	}
	p, err := os.FindProcess(pid)
	if err != nil {
		return pid, gone
	}
	if err := p.Signal(syscall.Signal(0)); err == nil || errors.Is(err, fs.ErrPermission) {
		return pid, running
	}
	return pid, gone
}
