package probe

import (
	"context"
	"errors"
	"net"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/sandrone-gateway/sandrone"
)

// connectAll opens a connection to every node, some at a time.
func (s *Service) connectAll(ctx context.Context, nodes []sandrone.Node, o *sandrone.ProbeOptions) []sandrone.ProbeResult {
	results := make([]sandrone.ProbeResult, len(nodes))
	var mu sync.Mutex // one call of Progress at a time
	done := func(i int) {
		if o.Progress != nil {
			mu.Lock()
			defer mu.Unlock()
			o.Progress(i, &results[i])
		}
	}
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(o.Concurrency, len(nodes)) {
		wg.Go(func() {
			for i := range next {
				results[i] = s.connect(ctx, &nodes[i], o)
				done(i)
			}
		})
	}
	for i := range nodes {
		// Once ctx has ended, connect answers at once.
		next <- i
	}
	close(next)
	wg.Wait()
	return results
}

// connect tries one node until an attempt succeeds.
func (s *Service) connect(ctx context.Context, n *sandrone.Node, o *sandrone.ProbeOptions) (r sandrone.ProbeResult) {
	r = sandrone.ProbeResult{NodeID: n.ID, NodeName: n.Name, Method: sandrone.ProbeTCP, Backend: sandrone.ProbeTCP}
	defer func() {
		if recover() != nil {
			r.Alive, r.DurationMS, r.ErrorCode, r.Error = false, 0, sandrone.ProbeTCPFailed, "internal error"
		}
		r.CheckedAt = s.now().UTC()
	}()
	if n.Server == "" || n.Port == 0 || n.Type == sandrone.Direct {
		r.ErrorCode, r.Error = sandrone.ProbeNodeInvalid, "the node has no server and port to connect to"
		return r
	}
	r.Target = net.JoinHostPort(n.Server, strconv.Itoa(int(n.Port)))
	for range o.Attempts {
		took, err := s.attempt(ctx, r.Target, time.Duration(o.TimeoutMS)*time.Millisecond)
		if err == nil {
			// Rounded up: less than a millisecond is not nothing.
			r.Alive, r.DurationMS = true, max(1, (took+time.Millisecond-1).Milliseconds())
			r.ErrorCode, r.Error = "", ""
			return r
		}
		r.ErrorCode, r.Error = failure(ctx, err)
		if ctx.Err() != nil {
			break
		}
	}
	return r
}

func (s *Service) attempt(ctx context.Context, target string, timeout time.Duration) (time.Duration, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	start := s.now()
	conn, err := s.dial(ctx, "tcp", target)
	if err != nil {
		return 0, err
	}
	took := s.now().Sub(start)
	conn.Close()
	return took, nil
}

// failure names why an attempt failed. ctx is that of the batch.
func failure(ctx context.Context, err error) (code, text string) {
	switch {
	case ctx.Err() != nil:
		return sandrone.ProbeContextCanceled, "the request ended before the node was probed"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return sandrone.ProbeTimeout, "no connection in time"
	}
	// The cause alone: around it stands the address, which the target tells.
	if e, ok := errors.AsType[*net.OpError](err); ok && e.Err != nil {
		err = e.Err
	}
	if e, ok := errors.AsType[*net.DNSError](err); ok {
		if e.IsTimeout {
			return sandrone.ProbeTimeout, "the server's name was not resolved in time"
		}
		return sandrone.ProbeTCPFailed, "the server's name does not resolve"
	}
	if e, ok := errors.AsType[*os.SyscallError](err); ok {
		err = e.Err
	}
	return sandrone.ProbeTCPFailed, clip(err.Error(), 200)
}

func clip(s string, n int) string {
	if len(s) > n {
		return s[:n]
	}
	return s
}
