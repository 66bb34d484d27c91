package core

import (
	"context"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Job is what a core is started for.
type Job struct {
	Path   string
	Args   []string
	Env    []string  // besides PATH and HOME
	Output io.Writer // takes stdout and stderr, one write at a time; nil: nobody

	// Offline takes the network away from the program, loopback too, on
	// systems where an ordinary user can do that: Linux with user namespaces.
	Offline bool

	// Memory is how many bytes the program may have in data; 0 is no limit.
	// Only Linux holds it to that.
	Memory uint64
}

// pipeDelay is how long a program that has ended may keep its output open
// through children of its own.
const pipeDelay = time.Second

// Process is a running core. It ends with ctx of [Start], and with this
// program, however that ends; exceptions are named at [RemoveLeftovers].
type Process struct {
	cmd  *exec.Cmd
	done chan struct{}
	err  error
}

// Start runs a program in a private directory, which is its working directory
// and its HOME; of this program's environment it sees PATH only. It has a
// process group of its own, which is killed when ctx ends.
func Start(ctx context.Context, dir *Directory, job Job) (*Process, error) {
	if job.Offline {
		// Whether namespaces may be made is for the kernel, its settings and
		// the container to say, so it is tried.
		if attr := offline(); attr != nil {
			if p, err := start(ctx, dir, job, attr); err == nil || ctx.Err() != nil {
				return p, err
			}
		}
	}
	return start(ctx, dir, job, group())
}

func start(ctx context.Context, dir *Directory, job Job, attr *sysProcAttr) (*Process, error) {
	cmd := exec.CommandContext(ctx, job.Path, job.Args...)
	cmd.Dir = dir.Path
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir.Path}, job.Env...)
	cmd.Stdout, cmd.Stderr = job.Output, job.Output
	cmd.SysProcAttr = attr
	cmd.Cancel = func() error { return killGroup(cmd.Process.Pid) }
	cmd.WaitDelay = pipeDelay

	p := &Process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		// The signal on the death of the parent comes when the thread that
		// started the child ends, so the child has a thread of its own.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(p.done)
		err := cmd.Start()
		if err == nil {
			limitMemory(cmd.Process.Pid, job.Memory)
			dir.note(cmd.Process.Pid)
		}
		started <- err
		if err == nil {
			p.err = cmd.Wait()
			_ = killGroup(cmd.Process.Pid) // children that outlived it
			dir.forget()
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// Done is closed when the program has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait waits for the end of the program. Its error is that of
// [os/exec.Cmd.Wait].
func (p *Process) Wait() error {
	<-p.done
	return p.err
}

// transcript keeps the first and the last bytes of what a program says.
type transcript struct {
	head, tail int // bytes to keep

	first, last []byte
	lost        bool // there were more between the two
}

func (t *transcript) Write(p []byte) (int, error) {
	n := len(p)
	k := min(n, t.head-len(t.first))
	t.first, p = append(t.first, p[:k]...), p[k:]
	t.last = append(t.last, p...)
	if over := len(t.last) - t.tail; over > 0 {
		t.lost = true
		t.last = slices.Delete(t.last, 0, over)
	}
	return n, nil
}

// text is what was kept. What the gap has cut in two is left out, so that no
// half of a secret remains.
func (t *transcript) text() string {
	if !t.lost {
		return string(t.first) + string(t.last)
	}
	head, tail := string(t.first), string(t.last)
	head = head[:strings.LastIndexByte(head, '\n')+1]
	_, tail, _ = strings.Cut(tail, "\n")
	return head + "…\n" + tail
}
