package fetch

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"io"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"github.com/sandrone-gateway/sandrone"
)

const (
	acceptEncoding = "gzip, br, deflate, zstd"
	maxEncodings   = 4
	maxZstdWindow  = 8 << 20 // what the registration of the content coding allows
)

// layer reads at most MaxBody bytes of one stage of decoding and remembers how
// the stage ended. Every stage is bounded, not the last one alone: a middle one
// can be endless and still decode to nothing.
type layer struct {
	r    io.Reader
	left int
	err  error
	over bool
}

func newLayer(r io.Reader) *layer { return &layer{r: r, left: MaxBody} }

func (l *layer) Read(p []byte) (int, error) {
	if l.err != nil {
		return 0, l.err
	}
	// One byte more than is left tells a full body from a longer one.
	if len(p) > l.left+1 {
		p = p[:l.left+1]
	}
	n, err := l.r.Read(p)
	if n > l.left {
		l.over = true
		n, err = l.left, io.ErrShortBuffer
	}
	l.left -= n
	l.err = err
	return n, err
}

// readBody reads a body through the encodings that its header lists in the
// order in which they were applied. An error that is not a *sandrone.Error is
// that of the connection.
func readBody(wire io.Reader, header []string) ([]byte, error) {
	encodings, fail := contentEncodings(header)
	if fail != nil {
		return nil, fail
	}
	bottom := newLayer(wire)
	layers := []*layer{bottom}
	buffered := bufio.NewReader(bottom)
	if _, err := buffered.Peek(1); err == io.EOF {
		return []byte{}, nil // an empty body is not encoded, whatever the header says
	}
	var top io.Reader = buffered
	var err error
	for i := len(encodings) - 1; i >= 0 && err == nil; i-- {
		var r io.Reader
		if r, err = decoder(encodings[i], top); err != nil {
			break
		}
		if c, ok := r.(*zstd.Decoder); ok {
			defer c.Close()
		}
		l := newLayer(r)
		layers = append(layers, l)
		top = l
	}
	var body bytes.Buffer
	if err == nil {
		_, err = body.ReadFrom(top)
	}
	if err == nil {
		return body.Bytes(), nil
	}
	for _, l := range layers {
		if l.over {
			return nil, sandrone.Errorf(sandrone.FetchFailed, "remote response exceeds %d bytes", MaxBody)
		}
	}
	if bottom.err != nil && bottom.err != io.EOF {
		return nil, bottom.err
	}
	return nil, sandrone.Errorf(sandrone.FetchFailed, "remote response is not valid %s", strings.Join(encodings, ", ")).Because(err)
}

// contentEncodings returns the encodings of a Content-Encoding header that
// have a decoder.
func contentEncodings(header []string) ([]string, *sandrone.Error) {
	var found []string
	for _, word := range strings.Split(strings.Join(header, ","), ",") {
		switch word = strings.ToLower(strings.TrimSpace(word)); word {
		// Some servers put a character set or "none" here and encode nothing.
		case "", "identity", "none", "utf-8":
		case "x-gzip":
			found = append(found, "gzip")
		case "gzip", "br", "deflate", "zstd":
			found = append(found, word)
		default:
			return nil, sandrone.Errorf(sandrone.FetchFailed, "remote response has an unsupported content encoding")
		}
	}
	if len(found) > maxEncodings {
		return nil, sandrone.Errorf(sandrone.FetchFailed, "remote response has more than %d content encodings", maxEncodings)
	}
	return found, nil
}

func decoder(encoding string, r io.Reader) (io.Reader, error) {
	switch encoding {
	case "gzip":
		return gzip.NewReader(r)
	case "br":
		return brotli.NewReader(r), nil
	case "zstd":
		return zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxZstdWindow))
	}
	// deflate means zlib; some servers send the bare stream.
	b := bufio.NewReader(r)
	if h, err := b.Peek(2); err == nil && h[0]&15 == 8 && (int(h[0])<<8|int(h[1]))%31 == 0 {
		return zlib.NewReader(b)
	}
	return flate.NewReader(b), nil
}
