package main

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sandrone-gateway/sandrone"
)

// maxInput is the most that is read from a file or standard input: enough for
// 100,000 nodes.
const maxInput = 64 << 20 // bytes

func outputFlag(cmd *cobra.Command) *string {
	return cmd.Flags().String("output", "", "file to write, or - for standard output")
}

// readInput reads a file, or standard input for "-", as text.
func (p *program) readInput(path string) (string, error) {
	return p.readUpTo(path, maxInput)
}

// readUpTo is readInput with a limit of its own, in bytes.
func (p *program) readUpTo(path string, most int64) (string, error) {
	in := p.stdin
	var b strings.Builder
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return "", fileError("read", err)
		}
		defer f.Close()
		in = f
	}
	if f, ok := in.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			b.Grow(int(min(info.Size(), most)) + 1)
		}
	}
	n, err := io.Copy(&b, io.LimitReader(in, most+1))
	if err != nil {
		return "", fileError("read", err)
	}
	if n > most {
		return "", sandrone.Errorf(sandrone.ParseFailed, "the input exceeds %d bytes", most)
	}
	return b.String(), nil
}

// writePrivate is write for what holds credentials: only the owner may read the
// file, which is there as a whole or not at all.
func (p *program) writePrivate(path string, body []byte) (err error) {
	if isStdout(path) {
		return p.write(path, body)
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fileError("write", err)
	}
	f, err := os.CreateTemp(dir, ".sandrone-*") // of mode 0600
	if err != nil {
		return fileError("write", err)
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	_, err = f.Write(body)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fileError("write", err)
	}
	return fileError("write", os.Rename(f.Name(), path))
}

// write puts body into the file, whose directories are made where they are
// missing, or on standard output for "" and "-".
func (p *program) write(path string, body []byte) error {
	if isStdout(path) {
		_, err := p.stdout.Write(body)
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fileError("write", err)
	}
	return fileError("write", os.WriteFile(path, body, 0o644))
}

// writeJSON writes v in the form of the HTTP API.
func (p *program) writeJSON(path string, v any) error {
	body, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return p.write(path, append(body, '\n'))
}

func isStdout(path string) bool { return path == "" || path == "-" }

// checkOutputs refuses a report that would not end up in a file of its own. It
// is called before any work.
func checkOutputs(output, report string) error {
	if report == "-" {
		return errors.New("--report-output requires a file path other than -")
	}
	if report != "" && !isStdout(output) && sameFile(output, report) {
		return errors.New("--output and --report-output must refer to different files")
	}
	return nil
}

// sameFile reports whether two paths are one file, under whatever names, or
// would become one.
func sameFile(a, b string) bool {
	if infoA, err := os.Stat(a); err == nil {
		infoB, err := os.Stat(b)
		return err == nil && os.SameFile(infoA, infoB)
	}
	return resolve(a) == resolve(b)
}

// resolve is the absolute path of a file that need not exist, with the links
// among its existing directories followed.
func resolve(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		return real
	}
	if target, err := os.Readlink(abs); err == nil { // a link to a file that is not there yet
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(abs), target)
		}
		if target != abs {
			return filepath.Join(resolveDir(filepath.Dir(target)), filepath.Base(target))
		}
	}
	return filepath.Join(resolveDir(filepath.Dir(abs)), filepath.Base(abs))
}

func resolveDir(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	if parent := filepath.Dir(dir); parent != dir {
		return filepath.Join(resolveDir(parent), filepath.Base(dir))
	}
	return dir
}

// fileError keeps the system's words and the name that the user gave.
func fileError(verb string, err error) error {
	if err == nil {
		return nil
	}
	return errors.New("cannot " + verb + ": " + err.Error())
}

func quote(s string) string { return strconv.Quote(s) }
