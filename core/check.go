package core

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/sandrone-gateway/sandrone"
)

// checkers are the kinds of files that a client can check.
var checkers = map[string]struct {
	core, file string
	args       func(dir, file string) []string
	geoData    bool   // names codes of geo data
	geoDir     string // variable that tells where geo data is; empty: in the working directory
}{
	"mihomo": {core: "mihomo", file: "config.yaml", geoData: true,
		args: func(dir, file string) []string { return []string{"-t", "-d", dir, "-f", file} }},
	"sing-box": {core: "sing-box", file: "config.json",
		args: func(dir, file string) []string { return []string{"check", "--disable-color", "-D", dir, "-c", file} }},
	"xray": {core: "xray", file: "config.json", geoData: true, geoDir: "XRAY_LOCATION_ASSET",
		args: func(_, file string) []string { return []string{"run", "-test", "-c", file} }},
}

// What is kept of what a client says, in bytes. The error is at the end for
// most of them, and a flood pushes it out of a beginning.
const (
	// A file of 10,000 nodes takes a tenth of it.
	checkMemory = 2 << 30

	headKept = 16 << 10
	tailKept = 16 << 10
)

// CheckKind returns an invalid_argument error for a kind of files that no
// client checks. The kind is without @version.
func CheckKind(kind string) error {
	if _, ok := checkers[kind]; !ok {
		return sandrone.Errorf(sandrone.InvalidArgument, "there is no client that checks files of kind %s", kind).At("kind")
	}
	return nil
}

// ForKind returns the name of the core that checks files of a kind, or "".
func ForKind(kind string) string { return checkers[kind].core }

// Check has the client of a kind check a text. The version is the one that the
// text is written for, such as "1.13"; empty if that is not known. A refusal is
// a verdict and no error.
//
// The client runs in an empty private directory for at most 20 s, after which
// the verdict is a refusal. It has no network where the system can take that
// away; geo data that the text names and that is not held below the data
// directory is replaced by stand-ins, so that the client asks for none. Message
// and output are without paths of this host and without the secrets of the
// text.
//
// Errors: invalid_argument for a kind without a checker, probe_core_unavailable
// without its client, probe_core_start_failed if that does not start, and that
// of ctx.
func (c *Cores) Check(ctx context.Context, kind, version string, text []byte) (*sandrone.Verdict, error) {
	if err := CheckKind(kind); err != nil {
		return nil, err
	}
	checker := checkers[kind]
	core, err := c.Find(ctx, checker.core)
	if err != nil {
		return nil, err
	}
	dir, err := NewDirectory()
	if err != nil {
		return nil, err
	}
	defer dir.Remove()

	sum := sha256.Sum256(text)
	v := &sandrone.Verdict{Kind: kind, Core: core.Name, CoreVersion: core.Version, SHA256: hex.EncodeToString(sum[:]), Warnings: []sandrone.Warning{}}
	if w, ok := otherVersion(core, version); ok {
		v.Warnings = append(v.Warnings, w)
	}
	doc := readDocument(text)
	job := Job{Path: core.Path, Offline: !c.online, Memory: checkMemory}
	if checker.geoData {
		warnings, err := c.geoData(dir, doc)
		if err != nil {
			return nil, err
		}
		v.Warnings = append(v.Warnings, warnings...)
		if checker.geoDir != "" {
			job.Env = []string{checker.geoDir + "=" + dir.Path}
		}
	}
	file, err := dir.Write(checker.file, text)
	if err != nil {
		return nil, err
	}
	job.Args = checker.args(dir.Path, file)
	said := &transcript{head: headKept, tail: tailKept}
	job.Output = said

	limited, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	began := time.Now()
	p, err := Start(limited, dir, job)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, sandrone.Errorf(sandrone.ProbeCoreStartFailed, "%s could not be started", core.Name).Because(err)
	}
	err = p.Wait()
	v.DurationMS = max(1, time.Since(began).Milliseconds())
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}

	clean := newCleaner(doc, map[string]string{
		dir.Path + string(filepath.Separator): "", dir.Path: ".", dir.root: "", core.Path: core.Name, c.held: "cores"})
	output := clean.clean(said.text())
	v.Output = ends(strings.TrimSpace(output), maxOutput)
	switch {
	case limited.Err() != nil:
		v.Message = fmt.Sprintf("the check took longer than %s", c.limit)
	case err == nil || errors.Is(err, exec.ErrWaitDelay):
		v.OK = true
	default:
		if v.Message = clean.message(output); v.Message == "" {
			v.Message = "the client said nothing: " + ending(err)
		}
	}
	return v, nil
}

// ending says how a program ended.
func ending(err error) string {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ProcessState.String()
	}
	return "it could not be waited for"
}

// otherVersion warns of a core that is older or newer than the text. A core
// that tells no number passes.
func otherVersion(core Core, wanted string) (w sandrone.Warning, other bool) {
	have, ok := minor(core.Version)
	want, known := minor(wanted)
	if !ok || !known || have == want {
		return w, false
	}
	age := "newer"
	if have[0] < want[0] || have[0] == want[0] && have[1] < want[1] {
		age = "older"
	}
	return sandrone.Warning{Code: sandrone.WarnVerifyVersion,
		Message: fmt.Sprintf("the file is written for %s %s and was checked by the %s %s", core.Name, wanted, age, core.Version)}, true
}

// minor reads the first two numbers of a version.
func minor(version string) (v [2]int, ok bool) {
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	if len(parts) < 2 {
		return v, false
	}
	for i := range v {
		n, err := strconv.Atoi(parts[i])
		if err != nil {
			return v, false
		}
		v[i] = n
	}
	return v, true
}
