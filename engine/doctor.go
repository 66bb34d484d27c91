package engine

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert"
	"github.com/sandrone-gateway/sandrone/core"
	"github.com/sandrone-gateway/sandrone/store"
)

// Health is the result of [Engine.Doctor].
type Health struct {
	OK              bool           `json:"ok"` // false if any check but that for cores failed
	DataDir         string         `json:"data_dir,omitempty"`
	DataDirWritable *bool          `json:"data_dir_writable,omitempty"`
	DataDirError    string         `json:"data_dir_error,omitempty"`
	StorageBackend  string         `json:"storage_backend,omitempty"` // "bbolt"
	StorageOK       *bool          `json:"storage_ok,omitempty"`
	StorageError    string         `json:"storage_error,omitempty"`
	Server          *RunningServer `json:"server,omitempty"` // nil: none answers
	ParseFormats    []FormatHealth `json:"parse_formats"`
	RenderFormats   []FormatHealth `json:"render_formats"`
	Cores           []core.Core    `json:"cores"` // a missing one is no failure
}

// RunningServer is the process that serves from the data directory, as somebody
// who asked it found it.
type RunningServer struct {
	Running bool   `json:"running"`
	Version string `json:"version"`

	StoreError error `json:"-"` // of its own look into the store, which nobody else can open
}

// FormatHealth says whether a format handled a minimal sample.
type FormatHealth struct {
	Name  string `json:"name"`
	OK    bool   `json:"ok"`
	Error string `json:"error,omitempty"`
}

// Doctor checks that the data directory can be created, written and cleaned,
// that the store in it can be read and one beside it written, and
// that every format handles a minimal sample, and says which cores are
// installed. The store is that of server, if it is not nil. Nothing stays
// behind.
func (e *Engine) Doctor(ctx context.Context, server *RunningServer) Health {
	h := Health{OK: true, Cores: e.cores.Probe(ctx)}
	if e.dataDir != "" {
		var stored error
		err := withDirectory(e.dataDir, func() error {
			if err := writeFile(e.dataDir); err != nil {
				return err
			}
			if server == nil {
				stored = checkStore(ctx, e.dataDir)
			}
			return nil
		})
		if server != nil {
			h.Server, stored = server, server.StoreError
		}
		h.dataDir(e.dataDir, err)
		if err == nil || server != nil {
			h.storage(stored)
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

func (h *Health) dataDir(dir string, err error) {
	writable := err == nil
	h.DataDir, h.DataDirWritable = dir, &writable
	if err != nil {
		h.OK, h.DataDirError = false, systemText(err)
	}
}

func (h *Health) storage(err error) {
	usable := err == nil
	h.StorageBackend, h.StorageOK = "bbolt", &usable
	if err != nil {
		h.OK, h.StorageError = false, sandrone.AsError(err).Message
	}
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

// checkStore reads the store in dir, and has another one, in a directory below
// it, take a definition, list it, give it back and forget it. The store itself
// is not written: what it holds is somebody's.
func checkStore(ctx context.Context, dir string) (err error) {
	own := store.Open(dir, store.Options{CheckSettings: CheckSettings})
	err = own.View(ctx, func(tx *store.Tx) error {
		_, unlisted := tx.Counts()
		_, _, unset := tx.Settings().Get()
		return errors.Join(unlisted, unset)
	})
	if err = errors.Join(err, own.Close()); err != nil {
		return err
	}
	beside, err := os.MkdirTemp(dir, ".doctor-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(beside)) }()
	s := store.Open(beside, store.Options{})
	defer func() { err = errors.Join(err, s.Close()) }()
	return roundTrip(ctx, s)
}

func roundTrip(ctx context.Context, s *store.Store) error {
	sample := sandrone.Subscription{Name: "sample", Type: sandrone.SubscriptionLocal, Content: samples["uri"]}
	err := s.Update(ctx, func(tx *store.Tx) error {
		_, err := tx.Subscriptions().Put(&sample, store.Precondition{})
		return err
	})
	if err != nil {
		return err
	}
	return s.Update(ctx, func(tx *store.Tx) error {
		list, err := tx.Subscriptions().List()
		if err != nil {
			return err
		}
		record, err := tx.Subscriptions().Get(sample.Name)
		if err != nil {
			return err
		}
		if len(list) != 1 || record.Definition.Content != sample.Content {
			return sandrone.Errorf(sandrone.InternalError, "the store did not give back what it took")
		}
		return tx.Subscriptions().Delete(sample.Name, store.Precondition{})
	})
}

// withDirectory calls fn when dir is there, and takes back the directories
// that it made for that.
func withDirectory(dir string, fn func() error) (err error) {
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
	return fn()
}

// writeFile writes a file in dir and removes it.
func writeFile(dir string) (err error) {
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
