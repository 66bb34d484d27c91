package engine

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert"
)

// Health is the result of [Engine.Doctor].
type Health struct {
	OK              bool           `json:"ok"` // false if any check but that for cores failed
	DataDir         string         `json:"data_dir,omitempty"`
	DataDirWritable *bool          `json:"data_dir_writable,omitempty"`
	DataDirError    string         `json:"data_dir_error,omitempty"`
	ParseFormats    []FormatHealth `json:"parse_formats"`
	RenderFormats   []FormatHealth `json:"render_formats"`
	Cores           []Core         `json:"cores"` // a missing one is no failure
}

// FormatHealth says whether a format handled a minimal sample.
type FormatHealth struct {
	Name  string `json:"name"`
	OK    bool   `json:"ok"`
	Error string `json:"error,omitempty"`
}

// Doctor checks that the data directory can be created, written and cleaned
// and that every format handles a minimal sample, and says which cores are
// installed. It leaves nothing behind.
func (e *Engine) Doctor(ctx context.Context) Health {
	h := Health{OK: true, Cores: e.probedCores(ctx)}
	if e.dataDir != "" {
		err := checkWritable(e.dataDir)
		writable := err == nil
		h.DataDir, h.DataDirWritable = e.dataDir, &writable
		if err != nil {
			h.OK, h.DataDirError = false, systemText(err)
		}
	}
	for _, name := range e.registry.ParserNames() {
		h.ParseFormats = append(h.ParseFormats, h.format(name, e.checkParser(name)))
	}
	for _, name := range e.registry.RendererNames() {
		h.RenderFormats = append(h.RenderFormats, h.format(name, e.checkRenderer(name)))
	}
	return h
}

func (h *Health) format(name string, err error) FormatHealth {
	if err == nil {
		return FormatHealth{Name: name, OK: true}
	}
	h.OK = false
	return FormatHealth{Name: name, Error: sandrone.AsError(err).Message}
}

func (e *Engine) checkParser(name string) error {
	text, ok := samples[name]
	if !ok {
		return sandrone.Errorf(sandrone.InternalError, "no sample for this format")
	}
	in, err := e.parse(name, text)
	if err == nil && len(in.nodes) != 1 {
		err = sandrone.Errorf(sandrone.ParseFailed, "read %d nodes of a sample that holds one", len(in.nodes))
	}
	return err
}

func (e *Engine) checkRenderer(name string) error {
	node := sandrone.Node{Name: "sample", Type: sandrone.Shadowsocks, Server: "192.0.2.1", Port: 8388,
		Cipher: "aes-128-gcm", Password: "sample"}
	out, _, err := e.registry.Render(name, []sandrone.Node{node}, convert.RenderOptions{})
	if err == nil && (out.Count != 1 || len(out.Body) == 0) {
		err = sandrone.Errorf(sandrone.RenderFailed, "the sample was not written")
	}
	return err
}

// samples hold one node for each format that is read. Addresses are from the
// blocks reserved for documentation.
var samples = map[string]string{
	"base64":       "c3M6Ly9ZV1Z6TFRFeU9DMW5ZMjA2YzJGdGNHeGxAMTkyLjAuMi4xOjgzODgjc2FtcGxl",
	"json-nodes":   `[{"name":"sample","type":"ss","server":"192.0.2.1","port":8388,"cipher":"aes-128-gcm","password":"sample"}]`,
	"loon":         `sample = Shadowsocks,192.0.2.1,8388,aes-128-gcm,"sample"`,
	"mihomo":       `proxies: [{name: sample, type: ss, server: 192.0.2.1, port: 8388, cipher: aes-128-gcm, password: sample}]`,
	"quantumult-x": "shadowsocks=192.0.2.1:8388, method=aes-128-gcm, password=sample, tag=sample",
	"sing-box":     `{"outbounds":[{"tag":"sample","type":"shadowsocks","server":"192.0.2.1","server_port":8388,"method":"aes-128-gcm","password":"sample"}]}`,
	"sip008":       `{"version":1,"servers":[{"id":"27b8a625-4f4b-4428-9f0f-8a2317db7c79","remarks":"sample","server":"192.0.2.1","server_port":8388,"password":"sample","method":"aes-128-gcm"}]}`,
	"ssd":          "ssd://eyJhaXJwb3J0Ijoic2FtcGxlIiwicG9ydCI6ODM4OCwiZW5jcnlwdGlvbiI6ImFlcy0xMjgtZ2NtIiwicGFzc3dvcmQiOiJzYW1wbGUiLCJzZXJ2ZXJzIjpbeyJzZXJ2ZXIiOiIxOTIuMC4yLjEifV19",
	"stash":        `proxies: [{name: sample, type: ss, server: 192.0.2.1, port: 8388, cipher: aes-128-gcm, password: sample}]`,
	"surge":        "[Proxy]\nsample = ss, 192.0.2.1, 8388, encrypt-method=aes-128-gcm, password=sample",
	"uri":          "ss://YWVzLTEyOC1nY206c2FtcGxl@192.0.2.1:8388#sample",
	"uri-list":     "ss://YWVzLTEyOC1nY206c2FtcGxl@192.0.2.1:8388#sample",
	"xray":         `{"outbounds":[{"tag":"sample","protocol":"shadowsocks","settings":{"servers":[{"address":"192.0.2.1","port":8388,"method":"aes-128-gcm","password":"sample"}]}}]}`,
}

// checkWritable makes dir if it is missing, writes a file in it, and takes
// back what it made.
func checkWritable(dir string) (err error) {
	var made []string // deepest first
	for d := filepath.Clean(dir); ; d = filepath.Dir(d) {
		if _, err := os.Stat(d); !errors.Is(err, fs.ErrNotExist) || d == filepath.Dir(d) {
			break
		}
		made = append(made, d)
	}
	defer func() {
		for _, d := range made {
			if removed := os.Remove(d); err == nil && !errors.Is(removed, fs.ErrNotExist) {
				err = removed
			}
		}
	}()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".doctor-*")
	if err != nil {
		return err
	}
	defer func() {
		if removed := os.Remove(f.Name()); err == nil {
			err = removed
		}
	}()
	_, err = f.WriteString("sandrone")
	return errors.Join(err, f.Close())
}

// systemText is the system's own words without the path they are about.
func systemText(err error) string {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err.Error()
	}
	return "not usable"
}
