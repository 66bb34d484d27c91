package fetch

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"syscall"

	"golang.org/x/net/http/httpguts"

	"github.com/sandrone-gateway/sandrone"
)

// read makes the one upstream request of j, with its redirects. When ctx ends,
// its cause is context.DeadlineExceeded for the time limit of the fetch.
func (c *Client) read(ctx context.Context, j *job) (*Response, *sandrone.Error) {
	u, login := j.url, j.login
	for redirects := 0; ; redirects++ {
		rt, fail := c.route(j, u)
		if fail != nil {
			return nil, fail
		}
		resp, err := c.send(ctx, j, rt, u, login)
		if err != nil {
			return nil, explain(ctx, j, rt, err)
		}
		next, fail := redirect(u, resp)
		if fail == nil && next == nil {
			r, err := c.answer(j, resp)
			resp.Body.Close()
			if err != nil {
				return nil, explain(ctx, j, rt, err)
			}
			return r, nil
		}
		resp.Body.Close()
		if fail != nil {
			return nil, fail
		}
		if redirects == maxRedirects {
			return nil, sandrone.Errorf(sandrone.FetchFailed, "remote redirected more than %d times", maxRedirects)
		}
		if !sameServer(u, next) {
			login = nil
		}
		if next.User != nil {
			login, next.User = next.User, nil
		}
		u = next
	}
}

// send makes one request on a connection of its own.
func (c *Client) send(ctx context.Context, j *job, rt route, u *url.URL, login *url.Userinfo) (*http.Response, error) {
	g := c.guard(j)
	if !g.admits(u.Hostname(), rt.proxy != nil) {
		return nil, j.forbid(u.Hostname())
	}
	header := http.Header{
		"User-Agent":      {j.agent},
		"Accept-Encoding": {acceptEncoding},
	}
	if j.etag != "" && httpguts.ValidHeaderFieldValue(j.etag) {
		header.Set("If-None-Match", j.etag)
	}
	if j.since != "" && httpguts.ValidHeaderFieldValue(j.since) {
		header.Set("If-Modified-Since", j.since)
	}
	req := (&http.Request{Method: http.MethodGet, URL: u, Host: u.Host, Header: header}).WithContext(ctx)
	if login != nil && login.String() != "" {
		password, _ := login.Password()
		req.SetBasicAuth(login.Username(), password)
	}
	forbid := j.forbid
	if rt.proxy != nil {
		forbid = j.forbidProxy
	}
	t := &http.Transport{
		Proxy: func(*http.Request) (*url.URL, error) { return rt.proxy, nil },
		// The transport's own context outlives the request, ctx does not.
		DialContext: func(_ context.Context, network, addr string) (net.Conn, error) {
			var conn net.Conn
			var err error
			if rt.trusted {
				conn, err = c.dial(ctx, network, addr)
			} else {
				conn, err = c.dialChecked(ctx, g, network, addr, forbid)
			}
			if err != nil {
				return nil, err
			}
			// Whatever the transport still does with it, no connection
			// outlives the fetch that it was checked for.
			context.AfterFunc(ctx, func() { conn.Close() })
			return conn, nil
		},
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: c.roots},
		ForceAttemptHTTP2:      true,
		DisableKeepAlives:      true,
		DisableCompression:     true, // readBody decodes, within limits
		MaxResponseHeaderBytes: maxHeaderBytes,
	}
	resp, err := t.RoundTrip(req)
	if err != nil {
		t.CloseIdleConnections()
	}
	return resp, err
}

// redirect returns the address that resp sends to, nil if it does not.
func redirect(from *url.URL, resp *http.Response) (*url.URL, *sandrone.Error) {
	switch resp.StatusCode {
	case 301, 302, 303, 307, 308:
	default:
		return nil, nil
	}
	location := resp.Header.Get("Location")
	if location == "" {
		return nil, nil
	}
	next, err := from.Parse(location)
	if err != nil {
		return nil, sandrone.Errorf(sandrone.FetchFailed, "remote redirected to an address that is not valid")
	}
	if err := canonical(next); err != nil {
		return nil, sandrone.Errorf(sandrone.FetchFailed, "bad redirect: %s", err.Message)
	}
	return next, nil
}

// answer judges the last answer of a fetch and reads its body.
func (c *Client) answer(j *job, resp *http.Response) (*Response, error) {
	r := &Response{
		Status: resp.StatusCode,
		Header: resp.Header,
		Ref:    sandrone.SourceRef{Kind: "remote", Name: j.ref, URL: j.ref},
	}
	switch {
	case r.Status == http.StatusNotModified && (j.etag != "" || j.since != ""):
		r.NotModified = true
		r.Ref.Note = "status=304"
	case r.Status >= 200 && r.Status <= 299:
		body, err := readBody(resp.Body, resp.Header.Values("Content-Encoding"))
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(body)
		r.Body, r.SHA256 = body, hex.EncodeToString(sum[:])
		r.Ref.Note = fmt.Sprintf("status=%d sha256=%s", r.Status, r.SHA256)
		r.Header.Del("Content-Encoding")
		r.Header.Del("Content-Length")
	default:
		return nil, sandrone.Errorf(sandrone.FetchFailed, "remote returned status %d", r.Status)
	}
	r.FetchedAt = c.clock().UTC()
	return r, nil
}

func (j *job) forbid(host string) *sandrone.Error {
	if j.policy != Managed {
		// What a name resolves to here is nothing for everyone to ask.
		return sandrone.Errorf(sandrone.FetchForbidden, "the remote address is not publicly routable")
	}
	return sandrone.Errorf(sandrone.FetchForbidden,
		"the address of %q is not publicly routable; remote_defaults.allow_hosts can permit it", host)
}

func (j *job) forbidProxy(host string) *sandrone.Error {
	return sandrone.Errorf(sandrone.FetchForbidden,
		"the address of proxy %q is not publicly routable; remote_defaults.allow_hosts can permit it", host).At("proxy")
}

// explain gives a failed request its code and a fixed message. What the
// network says may hold addresses and text of the remote, so it is kept as the
// hidden cause only.
func explain(ctx context.Context, j *job, rt route, err error) *sandrone.Error {
	if e, ok := errors.AsType[*sandrone.Error](err); ok {
		return e
	}
	if cause := context.Cause(ctx); errors.Is(cause, context.DeadlineExceeded) {
		return j.late()
	} else if cause != nil {
		return cancelled(cause)
	}
	text := "the request to the remote failed"
	_, isCertificate := errors.AsType[*tls.CertificateVerificationError](err)
	_, isAlert := errors.AsType[tls.AlertError](err)
	_, isRecord := errors.AsType[tls.RecordHeaderError](err)
	switch {
	case errors.Is(err, errLookup):
		text = "the remote host name could not be resolved"
	case isCertificate:
		text = "the server certificate could not be verified"
	case isAlert, isRecord:
		text = "the TLS handshake with the remote failed"
	case rt.proxy != nil:
		text = "the request through the proxy failed"
	case errors.Is(err, syscall.ECONNREFUSED):
		text = "the remote refused the connection"
	case errors.Is(err, io.ErrUnexpectedEOF):
		text = "the remote response ended early"
	}
	return sandrone.Errorf(sandrone.FetchFailed, "%s", text).Because(err)
}

// late is the error of a fetch or of a wait that reached the time limit.
func (j *job) late() *sandrone.Error {
	return sandrone.Errorf(sandrone.FetchTimeout, "remote did not answer within %v", j.timeout).Because(context.DeadlineExceeded)
}

// cancelled is the error of a caller that went away: cause is its context's.
func cancelled(cause error) *sandrone.Error {
	if errors.Is(cause, context.DeadlineExceeded) {
		return sandrone.Errorf(sandrone.FetchTimeout, "the time of the request ended before the remote answered").Because(cause)
	}
	return sandrone.Errorf(sandrone.FetchFailed, "the fetch was cancelled").Because(cause)
}
