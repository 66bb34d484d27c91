package fetch

import (
	"context"
	"fmt"
	"time"

	"github.com/sandrone-gateway/sandrone"
)

// flightKey tells which requests can share one answer.
type flightKey struct {
	policy      Policy
	source      string
	etag, since string
}

// flight is one upstream request and those who wait for it.
type flight struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	start  time.Time
	limit  time.Duration // the longest time limit of those who wait
	expiry *time.Timer

	waiters int // under Client.mu, as limit and expiry

	done chan struct{} // closed when resp or err is set
	resp *Response
	err  *sandrone.Error
}

// share waits for the flight that answers j, started if there is none.
func (c *Client) share(ctx context.Context, j *job) (*Response, *sandrone.Error) {
	if ctx.Err() != nil {
		return nil, cancelled(ctx.Err())
	}
	f := c.join(j)
	defer c.leave(j, f)
	limit := time.NewTimer(j.timeout)
	defer limit.Stop()
	select {
	case <-f.done:
	case <-limit.C:
		return nil, j.late()
	case <-ctx.Done():
		return nil, cancelled(ctx.Err())
	}
	// Copies, since callers complete what they get.
	if f.err != nil {
		e := *f.err
		return nil, &e
	}
	r := *f.resp
	return &r, nil
}

func (j *job) flightKey() flightKey { return flightKey{j.policy, j.key, j.etag, j.since} }

func (c *Client) join(j *job) *flight {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := j.flightKey()
	f := c.flights[key]
	if f != nil && f.ctx.Err() == nil {
		f.waiters++
		if j.timeout > f.limit {
			f.limit = j.timeout
			f.expiry.Reset(time.Until(f.start.Add(f.limit)))
		}
		return f
	}
	f = &flight{start: time.Now(), limit: j.timeout, waiters: 1, done: make(chan struct{})}
	f.ctx, f.cancel = context.WithCancelCause(context.Background())
	f.expiry = time.AfterFunc(f.limit, func() { f.cancel(context.DeadlineExceeded) })
	c.flights[key] = f
	go func() {
		defer func() {
			// This is not the caller's goroutine: a panic of a decoder would
			// end the program.
			if p := recover(); p != nil {
				f.err = sandrone.AsError(fmt.Errorf("fetch: panic: %v", p))
			}
			c.land(key, f)
		}()
		f.resp, f.err = c.read(f.ctx, j)
	}()
	return f
}

// land publishes the result of f and frees what it held.
func (c *Client) land(key flightKey, f *flight) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.flights[key] == f {
		delete(c.flights, key)
	}
	f.expiry.Stop()
	f.cancel(context.Canceled)
	close(f.done)
}

// leave ends one wait; the last one to leave stops the request.
func (c *Client) leave(j *job, f *flight) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f.waiters--
	if f.waiters > 0 {
		return
	}
	if key := j.flightKey(); c.flights[key] == f {
		delete(c.flights, key)
	}
	f.cancel(context.Canceled)
}
