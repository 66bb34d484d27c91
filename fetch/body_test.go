package fetch_test

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/fetch"
)

// encode applies encodings in order, as a Content-Encoding header lists them.
func encode(t testing.TB, body []byte, encodings ...string) []byte {
	t.Helper()
	for _, e := range encodings {
		var out bytes.Buffer
		var w io.WriteCloser
		switch e {
		case "gzip":
			w = gzip.NewWriter(&out)
		case "br":
			w = brotli.NewWriterLevel(&out, 1)
		case "zlib":
			w = zlib.NewWriter(&out)
		case "raw deflate":
			w, _ = flate.NewWriter(&out, flate.DefaultCompression)
		case "zstd":
			w, _ = zstd.NewWriter(&out)
		default:
			t.Fatalf("no encoder for %q", e)
		}
		if _, err := w.Write(body); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		body = out.Bytes()
	}
	return body
}

// getBody fetches wire with a Content-Encoding header.
func getBody(t *testing.T, header string, wire []byte) (*fetch.Response, error) {
	t.Helper()
	var n internet
	n.serve(t, "a.example", publicAddr, func(w http.ResponseWriter, r *http.Request) {
		if header != "" {
			w.Header().Set("Content-Encoding", header)
		}
		w.Write(wire)
	})
	return n.client(t, fetch.Options{}).Get(t.Context(), fetch.Request{URL: "http://a.example/"})
}

func TestBodyIsDecoded(t *testing.T) {
	plain := []byte(strings.Repeat("trojan://pw@a.example:443#one\n", 500))
	tests := []struct {
		name, header string
		wire         []byte
		want         []byte
	}{
		{"plain", "", plain, plain},
		{"identity", "identity", plain, plain},
		{"none", "none", plain, plain},
		{"character set", "UTF-8", plain, plain},
		{"gzip", "gzip", encode(t, plain, "gzip"), plain},
		{"gzip in two members", "GZip", append(encode(t, plain[:30], "gzip"), encode(t, plain[30:], "gzip")...), plain},
		{"x-gzip", "x-gzip", encode(t, plain, "gzip"), plain},
		{"brotli", "br", encode(t, plain, "br"), plain},
		{"zstd", "zstd", encode(t, plain, "zstd"), plain},
		{"deflate with zlib header", "deflate", encode(t, plain, "zlib"), plain},
		{"deflate without header", "deflate", encode(t, plain, "raw deflate"), plain},
		{"two encodings", "gzip, br", encode(t, plain, "gzip", "br"), plain},
		{"four encodings", "deflate,zstd , gzip,br", encode(t, plain, "zlib", "zstd", "gzip", "br"), plain},
		{"nothing", "", nil, nil},
		{"nothing in gzip", "gzip", nil, nil},
		{"nothing in zstd", "br, zstd", nil, nil},
		{"gzip of nothing", "gzip", encode(t, nil, "gzip"), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := getBody(t, tt.header, tt.wire)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(r.Body, tt.want) || r.Body == nil {
				t.Errorf("got %d bytes %.40q, want %d", len(r.Body), r.Body, len(tt.want))
			}
			if h := r.Header; h.Get("Content-Encoding") != "" || h.Get("Content-Length") != "" {
				t.Errorf("the header still describes the encoded body: %v", h)
			}
		})
	}
}

func TestBodyThatCannotBeDecodedIsFetchFailed(t *testing.T) {
	plain := []byte(strings.Repeat("trojan://pw@a.example:443#one\n", 500))
	flipped := encode(t, plain, "gzip")
	flipped[len(flipped)-6] ^= 1 // the checksum
	var wide bytes.Buffer
	w, err := zstd.NewWriter(&wide, zstd.WithWindowSize(16<<20))
	if err != nil {
		t.Fatal(err)
	}
	w.Write(plain)
	w.Flush() // a stream of unknown length declares its whole window
	w.Write(plain)
	w.Close()
	cut := func(b []byte) []byte { return b[:len(b)-9] }
	tests := []struct {
		name, header string
		wire         []byte
	}{
		{"unknown encoding", "exi", plain},
		{"compress", "compress", plain},
		{"five encodings", "gzip,gzip,gzip,gzip,gzip", encode(t, plain, "gzip", "gzip", "gzip", "gzip", "gzip")},
		{"no gzip", "gzip", plain},
		{"no brotli", "br", []byte("\xff\xff\xff\xffplain")},
		{"no zstd", "zstd", plain},
		{"no deflate", "deflate", []byte("\xff\xff\xff\xffplain")},
		{"gzip checksum", "gzip", flipped},
		{"gzip cut", "gzip", cut(encode(t, plain, "gzip"))},
		{"brotli cut", "br", cut(encode(t, plain, "br"))},
		{"zstd cut", "zstd", cut(encode(t, plain, "zstd"))},
		{"deflate cut", "deflate", cut(encode(t, plain, "zlib"))},
		{"zstd window over the limit", "zstd", wide.Bytes()},
		{"wrong order", "br, gzip", encode(t, plain, "gzip", "br")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := getBody(t, tt.header, tt.wire)
			e := wantCode(t, err, sandrone.FetchFailed)
			if strings.Contains(e.Message, "exceeds") {
				t.Errorf("got %q", e.Message)
			}
		})
	}
}

func TestBodyLimitHoldsAtEveryStage(t *testing.T) {
	zeros := make([]byte, fetch.MaxBody+1)
	fits := zeros[:fetch.MaxBody]
	// Endless members of nothing: large between two decoders, empty after them.
	nothing := bytes.Repeat(encode(t, nil, "gzip"), fetch.MaxBody/20)
	tests := []struct {
		name, header string
		wire         []byte
		size         int // -1: refused
	}{
		{"plain, as large as may be", "", fits, fetch.MaxBody},
		{"plain", "", zeros, -1},
		{"gzip, as large as may be", "gzip", encode(t, fits, "gzip"), fetch.MaxBody},
		{"gzip", "gzip", encode(t, zeros, "gzip"), -1},
		{"brotli, as large as may be", "br", encode(t, fits, "br"), fetch.MaxBody},
		{"brotli", "br", encode(t, zeros, "br"), -1},
		{"zstd, as large as may be", "zstd", encode(t, fits, "zstd"), fetch.MaxBody},
		{"zstd", "zstd", encode(t, zeros, "zstd"), -1},
		{"zlib, as large as may be", "deflate", encode(t, fits, "zlib"), fetch.MaxBody},
		{"zlib", "deflate", encode(t, zeros, "zlib"), -1},
		{"raw deflate", "deflate", encode(t, zeros, "raw deflate"), -1},
		{"gzip in gzip", "gzip, gzip", encode(t, zeros, "gzip", "gzip"), -1},
		{"gzip in brotli in zstd", "gzip, br, zstd", encode(t, zeros, "gzip", "br", "zstd"), -1},
		{"nothing, but large on the way", "gzip, br", encode(t, nothing, "br"), -1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := getBody(t, tt.header, tt.wire)
			if tt.size >= 0 {
				if err != nil || len(r.Body) != tt.size {
					t.Fatalf("got %v, want %d bytes", err, tt.size)
				}
				return
			}
			if e := wantCode(t, err, sandrone.FetchFailed); e.Message != "remote response exceeds 16777216 bytes" {
				t.Errorf("got %q", e.Message)
			}
		})
	}
}

func TestReadingStopsAtTheLimit(t *testing.T) {
	for _, encoding := range []string{"", "gzip"} {
		t.Run(fmt.Sprintf("%q", encoding), func(t *testing.T) {
			var n internet
			ended := make(chan bool)
			n.serve(t, "a.example", publicAddr, func(w http.ResponseWriter, r *http.Request) {
				var out io.Writer = w
				if encoding != "" {
					w.Header().Set("Content-Encoding", encoding)
					out = gzip.NewWriter(w)
				}
				chunk := make([]byte, 64<<10)
				for {
					if _, err := out.Write(chunk); err != nil {
						break
					}
				}
				close(ended)
			})
			_, err := n.client(t, fetch.Options{}).Get(t.Context(), fetch.Request{URL: "http://a.example/"})
			if e := wantCode(t, err, sandrone.FetchFailed); !strings.Contains(e.Message, "exceeds") {
				t.Errorf("got %q", e.Message)
			}
			<-ended // an endless answer ends because the connection was closed
		})
	}
}
