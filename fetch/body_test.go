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
			w, _ = gzip.NewWriterLevel(&out, gzip.BestSpeed)
		case "br":
			w = brotli.NewWriterLevel(&out, 0)
		case "zlib":
			w, _ = zlib.NewWriterLevel(&out, zlib.BestSpeed)
		case "raw deflate":
			w, _ = flate.NewWriter(&out, flate.BestSpeed)
		case "zstd":
			w, _ = zstd.NewWriter(&out, zstd.WithEncoderLevel(zstd.SpeedFastest))
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
	fits, over := make([]byte, fetch.MaxBody), make([]byte, fetch.MaxBody+1)
	// Endless members of nothing: large between two decoders, empty after them.
	nothing := bytes.Repeat(encode(t, nil, "gzip"), fetch.MaxBody/20)
	tests := []struct {
		name, header string
		body         []byte
		encodings    []string
		refused      bool
	}{
		{"plain, as large as may be", "", fits, nil, false},
		{"plain", "", over, nil, true},
		{"gzip, as large as may be", "gzip", fits, []string{"gzip"}, false},
		{"gzip", "gzip", over, []string{"gzip"}, true},
		{"brotli, as large as may be", "br", fits, []string{"br"}, false},
		{"brotli", "br", over, []string{"br"}, true},
		{"zstd, as large as may be", "zstd", fits, []string{"zstd"}, false},
		{"zstd", "zstd", over, []string{"zstd"}, true},
		{"zlib", "deflate", over, []string{"zlib"}, true},
		{"raw deflate", "deflate", over, []string{"raw deflate"}, true},
		{"gzip in gzip", "gzip, gzip", over, []string{"gzip", "gzip"}, true},
		{"gzip in brotli in zstd", "gzip, br, zstd", over, []string{"gzip", "br", "zstd"}, true},
		{"nothing, but large on the way", "gzip, gzip", nothing, []string{"gzip"}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := getBody(t, tt.header, encode(t, tt.body, tt.encodings...))
			if !tt.refused {
				if err != nil || len(r.Body) != len(tt.body) {
					t.Fatalf("got %v, want %d bytes", err, len(tt.body))
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
					out, _ = gzip.NewWriterLevel(w, gzip.BestSpeed)
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
