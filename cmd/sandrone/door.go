package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"sync"

	"github.com/spf13/cobra"

	"github.com/sandrone-gateway/sandrone"
)

// door leads to the HTTP API with the rights of the owner: that of a running
// server by the socket in its data directory, or one of this process by a
// pipe. So a command does the same thing beside a server and without one.
type door struct {
	client  *http.Client
	close   func()
	running bool // it is another process
}

// socketPath is the socket of a server in its data directory.
func socketPath(dir string) string { return filepath.Join(dir, "sandrone.sock") }

// runningServer is the door to the server that has the data directory, nil if
// there is none.
func (p *program) runningServer(ctx context.Context, cmd *cobra.Command) *door {
	path := socketPath(p.directory(cmd))
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}
	// A socket that a killed server left behind takes no connection.
	conn, err := dial(ctx, "", "")
	if err != nil {
		return nil
	}
	conn.Close()
	return newDoor(dial, func() {}, true)
}

// door is the door to the running server, else to a store of this process.
func (p *program) door(ctx context.Context, cmd *cobra.Command) (*door, error) {
	if d := p.runningServer(ctx, cmd); d != nil {
		return d, nil
	}
	b, err := p.build(cmd, p.openStore(cmd), sandrone.Settings{}, p.allowHosts(cmd), false)
	if err != nil {
		return nil, err
	}
	return b.door()
}

// door is the door to the parts of this process.
func (b *parts) door() (*door, error) {
	s, err := b.server()
	if err != nil {
		b.close()
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	ln := &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
	served := make(chan struct{})
	go func() {
		defer close(served)
		s.ServeOwner(ctx, ln)
	}()
	return newDoor(ln.dial, func() {
		cancel()
		<-served
		b.close()
	}, false), nil
}

func newDoor(dial func(ctx context.Context, network, address string) (net.Conn, error), done func(), running bool) *door {
	transport := &http.Transport{DialContext: dial, DisableCompression: true}
	return &door{
		client: &http.Client{
			Transport: transport,
			// The API never redirects.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		close: func() {
			transport.CloseIdleConnections()
			done()
		},
		running: running,
	}
}

// do sends a request and returns the body of its answer. An answer that is no
// success is the error that it holds.
func (d *door) do(ctx context.Context, method, path string, body io.Reader) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://localhost"+path, body)
	if err != nil {
		return nil, err
	}
	resp, err := d.client.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, sandrone.Errorf(sandrone.InternalError, "the server does not answer").Because(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, sandrone.Errorf(sandrone.InternalError, "the answer of the server is cut").Because(err)
	}
	if resp.StatusCode < 300 {
		return text, nil
	}
	var failed struct {
		Error *sandrone.Error `json:"error"`
	}
	if err := json.Unmarshal(text, &failed); err != nil || failed.Error == nil {
		return nil, sandrone.Errorf(sandrone.InternalError, "the server answered with status %d", resp.StatusCode)
	}
	return nil, failed.Error
}

// call sends a request with a JSON body, if in is not nil, and reads the
// answer into out, if that is not nil.
func (d *door) call(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(text)
	}
	text, err := d.do(ctx, method, path, body)
	if err != nil || out == nil {
		return err
	}
	if err := json.Unmarshal(text, out); err != nil {
		return sandrone.Errorf(sandrone.InternalError, "the answer of the server cannot be read").Because(err)
	}
	return nil
}

// pipeListener accepts connections from this process.
type pipeListener struct {
	conns  chan net.Conn
	once   sync.Once
	closed chan struct{}
}

func (l *pipeListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case l.conns <- far:
		return near, nil
	case <-l.closed:
	case <-ctx.Done():
	}
	near.Close()
	far.Close()
	return nil, net.ErrClosed
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return pipeAddr{} }

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "pipe" }
