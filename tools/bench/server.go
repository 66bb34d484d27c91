//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/sandrone-gateway/sandrone/tools/gensub/synth"
)

const (
	serverNodes  = 200 // of one request
	serverBodies = 64  // different requests, so that answering equal ones once helps nobody
	serverGoal   = "≤ 2.5"
)

// server measures conversions over HTTP. The CPU of a request is that of the
// whole server process, start and stop included, over the number of requests.
func (b *bench) server(ctx context.Context) error {
	own, floor, err := serverRequests()
	if err != nil {
		return err
	}
	fmt.Printf("\n### Server: POST of %d base64 links → mihomo-proxies, %d requests a run\n\n", serverNodes, b.requests)
	fmt.Println("| clients | CPU a request | floor CPU a request | ratio (min–max) | goal | requests a second | peak | floor peak | failed |")
	fmt.Println("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
	failures := 0
	for _, clients := range []int{8, 64} {
		var sandrones, floors []usage
		var wall time.Duration
		failed := 0
		for i := range min(b.runs, 3) {
			progress("server, %d clients, run %d", clients, i+1)
			address, err := freeAddress()
			if err != nil {
				return err
			}
			data := filepath.Join(b.dir, fmt.Sprintf("data-%d-%d", clients, i))
			s := exec.Command(b.sandrone, "serve", "--listen", address, "--data-dir", data)
			u, took, bad, err := b.load(ctx, s, address, "/v1/convert", own, clients)
			if err != nil {
				return err
			}
			sandrones, wall, failed = append(sandrones, u), wall+took, failed+bad

			if address, err = freeAddress(); err != nil {
				return err
			}
			u, _, bad, err = b.load(ctx, exec.Command(b.floor, "serve", address), address, "/", floor, clients)
			if err != nil {
				return err
			}
			floors, failed = append(floors, u), failed+bad
		}
		each := func(list []usage) string {
			return fmt.Sprintf("%.0f µs", float64(cpu(list))/float64(b.requests)/1e3)
		}
		fmt.Printf("| %d | %s | %s | %s | %s | %.0f | %s | %s | %d |\n", clients, each(sandrones), each(floors), ratios(sandrones, floors),
			serverGoal, float64(b.requests*len(sandrones))/wall.Seconds(), mebibytes(peak(sandrones)), mebibytes(peak(floors)), failed)
		failures += failed
	}
	if failures > 0 {
		return fmt.Errorf("%d requests failed", failures)
	}
	return nil
}

// serverRequests makes the bodies for both servers, with the same content.
func serverRequests() (own, floor [][]byte, err error) {
	for i := range serverBodies {
		nodes, err := synth.Build(synth.Options{Nodes: serverNodes, Seed: i + 1})
		if err != nil {
			return nil, nil, err
		}
		text, _, err := synth.Render(nodes, synth.Base64, synth.Layout{})
		if err != nil {
			return nil, nil, err
		}
		request := map[string]string{"content": string(text)}
		small, err := json.Marshal(request)
		if err != nil {
			return nil, nil, err
		}
		request["from_format"], request["to_format"] = "base64", "mihomo-proxies"
		large, err := json.Marshal(request)
		if err != nil {
			return nil, nil, err
		}
		own, floor = append(own, large), append(floor, small)
	}
	return own, floor, nil
}

// load starts a server, sends it the requests from a number of clients at
// once, ends it and returns what it took. A request failed when its answer is
// not a success that holds every node.
func (b *bench) load(ctx context.Context, server *exec.Cmd, address, path string, bodies [][]byte, clients int) (u usage, took time.Duration, failed int, err error) {
	if err := server.Start(); err != nil {
		return u, 0, 0, err
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Wait() }()
	defer func() {
		if server.ProcessState == nil {
			server.Process.Kill()
			<-ended
		}
	}()
	transport := &http.Transport{MaxIdleConnsPerHost: clients}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: 30 * time.Second}
	if err := ready(ctx, address, ended); err != nil {
		return u, 0, 0, fmt.Errorf("%s: %w", filepath.Base(server.Path), err)
	}

	var next, bad atomic.Int64
	var all sync.WaitGroup
	began := time.Now()
	for range clients {
		all.Go(func() {
			for i := next.Add(1); i <= int64(b.requests) && ctx.Err() == nil; i = next.Add(1) {
				if !answered(ctx, client, "http://"+address+path, bodies[i%serverBodies]) {
					bad.Add(1)
				}
			}
		})
	}
	all.Wait()
	took = time.Since(began)
	if ctx.Err() != nil {
		return u, 0, 0, ctx.Err()
	}
	transport.CloseIdleConnections()

	server.Process.Signal(syscall.SIGTERM)
	select {
	case <-ended:
	case <-time.After(15 * time.Second):
		return u, 0, 0, errors.New("the server did not stop")
	}
	return usageAfter(server), took, int(bad.Load()), nil
}

func answered(ctx context.Context, client *http.Client, url string, body []byte) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return false
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := client.Do(request)
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return err == nil && answer.StatusCode == http.StatusOK && bytes.Count(text, []byte("  - name: ")) == serverNodes
}

// ready waits until the server takes connections.
func ready(ctx context.Context, address string, ended <-chan error) error {
	deadline := time.After(10 * time.Second)
	for {
		if conn, err := net.Dial("tcp", address); err == nil {
			return conn.Close()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ended:
			return errors.New("the server ended at once")
		case <-deadline:
			return errors.New("the server does not listen")
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// freeAddress returns a loopback address that nobody listens on right now.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}
