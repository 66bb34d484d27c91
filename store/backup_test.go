package store_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/store"
)

const manifest = `{"format":"sandrone-store-backup","storage_schema_version":1,"created_at":"2026-08-01T10:00:00Z","app_version":"0.1.0"}`

// member is a file of an archive.
type member struct {
	name, content string
	mode          fs.FileMode // 0 means 0600
	stored        bool        // not compressed
}

func archive(t testing.TB, members ...member) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, m := range members {
		h := &zip.FileHeader{Name: m.name, Method: zip.Deflate}
		if m.stored {
			h.Method = zip.Store
		}
		if m.mode == 0 {
			m.mode = 0o600
		}
		h.SetMode(m.mode)
		w, err := z.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(m.name, "/") {
			continue
		}
		if _, err := io.WriteString(w, m.content); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// with is an archive of a good manifest and more.
func with(t testing.TB, members ...member) []byte {
	t.Helper()
	return archive(t, append([]member{{name: "manifest.json", content: manifest}}, members...)...)
}

func data(key string) member { return member{name: "data/" + key, content: "{}"} }

func manifested(t testing.TB, text string) []byte {
	t.Helper()
	return archive(t, member{name: "manifest.json", content: text})
}

func TestArchivesAreCheckedAsAWhole(t *testing.T) {
	swap := func(old, new string) []byte { return manifested(t, strings.Replace(manifest, old, new, 1)) }
	long := strings.Repeat("x", 300)
	damaged := with(t, member{name: "data/files/a.json", content: strings.Repeat("hunter2", 100), stored: true})
	damaged[bytes.Index(damaged, []byte("hunter2"))] = 'H' // the checksum no longer holds
	encrypted := with(t, data("files/a.json"))
	for _, signature := range []string{"PK\x03\x04", "PK\x01\x02"} {
		at := bytes.LastIndex(encrypted, []byte(signature))
		encrypted[at+map[string]int{"PK\x03\x04": 6, "PK\x01\x02": 8}[signature]] |= 1
	}
	method := with(t, data("files/a.json"))
	method[bytes.LastIndex(method, []byte("PK\x01\x02"))+10] = 99

	many := make([]member, 0, 10_002)
	many = append(many, member{name: "manifest.json", content: manifest})
	for i := range 10_001 {
		many = append(many, member{name: fmt.Sprint("data/k/", i), stored: true})
	}
	huge := strings.Repeat("x", 1<<20)
	var unpacked []member
	for i := range 64 {
		unpacked = append(unpacked, member{name: fmt.Sprint("data/k/", i), content: huge})
	}

	for _, c := range []struct {
		name string
		text []byte
		code sandrone.Code // empty: it is valid
	}{
		{"only a manifest", with(t), ""},
		{"definitions, settings and other keys", with(t, data("subscriptions/a.json"), data("settings.json"), data("x"), data("caches/a"), data("my/cache")), ""},
		{"the manifest last", archive(t, data("files/a.json"), member{name: "manifest.json", content: manifest}), ""},
		{"a definition that means nothing", with(t, member{name: "data/files/a.json", content: "{"}), ""},
		{"a key like another with a suffix", with(t, data("a"), data("a-b"), data("a.b"), data("ab/c")), ""},
		{"10,000 entries", archive(t, many[:10_001]...), ""},

		{"nothing", nil, sandrone.BackupInvalid},
		{"text", []byte("no archive at all"), sandrone.BackupInvalid},
		{"cut short", with(t, data("files/a.json"))[:100], sandrone.BackupInvalid},
		{"a wrong checksum", damaged, sandrone.BackupInvalid},
		{"an encrypted member", encrypted, sandrone.BackupInvalid},
		{"an unknown compression", method, sandrone.BackupInvalid},

		{"a directory", with(t, member{name: "data/files/"}), sandrone.BackupInvalid},
		{"a directory by its mode", with(t, member{name: "data/files", mode: fs.ModeDir | 0o700}), sandrone.BackupInvalid},
		{"a symbolic link", with(t, member{name: "data/files/a.json", content: "/etc/passwd", mode: fs.ModeSymlink | 0o777}), sandrone.BackupInvalid},
		{"a named pipe", with(t, member{name: "data/files/a.json", mode: fs.ModeNamedPipe | 0o600}), sandrone.BackupInvalid},
		{"a member elsewhere", with(t, member{name: "files/a.json"}), sandrone.BackupInvalid},
		{"a member like the manifest", with(t, member{name: "Manifest.json"}), sandrone.BackupInvalid},

		{"no manifest", archive(t, data("files/a.json")), sandrone.BackupInvalid},
		{"an empty archive", archive(t), sandrone.BackupInvalid},
		{"two manifests", with(t, member{name: "manifest.json", content: manifest}), sandrone.BackupInvalid},
		{"a manifest that is no object", manifested(t, "[]"), sandrone.BackupInvalid},
		{"a manifest that is cut short", manifested(t, manifest[:len(manifest)-1]), sandrone.BackupInvalid},
		{"a manifest with more after it", manifested(t, manifest+"{}"), sandrone.BackupInvalid},
		{"a manifest with a member more", swap("{", `{"x":1,`), sandrone.BackupInvalid},
		{"a manifest with a member twice", swap("{", `{"app_version":"1",`), sandrone.BackupInvalid},
		{"a manifest with other case", swap(`"format"`, `"Format"`), sandrone.BackupInvalid},
		{"a manifest with a null", swap(`"0.1.0"`, "null"), sandrone.BackupInvalid},
		{"a manifest with an empty version", swap(`"0.1.0"`, `" "`), sandrone.BackupInvalid},
		{"a manifest without a time", swap(`"created_at":"2026-08-01T10:00:00Z",`, ""), sandrone.BackupInvalid},
		{"a manifest with a bad time", swap("2026-08-01T", "2026-08-01 "), sandrone.BackupInvalid},
		{"a manifest with a local time", swap("00Z", "00+08:00"), sandrone.BackupInvalid},
		{"a manifest of another format", swap("sandrone-store", "other-store"), sandrone.BackupInvalid},
		{"a manifest with a version in words", swap(":1,", `:"1",`), sandrone.BackupInvalid},
		{"a manifest of half a version", swap(":1,", `:1.5,`), sandrone.BackupInvalid},
		{"a manifest without end", manifested(t, `{"x":"`+strings.Repeat("x", 1<<20)), sandrone.BackupInvalid},
		{"another schema version", swap(":1,", `:2,`), sandrone.BackupIncompatible},
		{"another schema version with a member more", swap(":1,", `:2,"new":1,`), sandrone.BackupIncompatible},

		{"an empty key", with(t, data("")), sandrone.BackupInvalid},
		{"a key upwards", with(t, data("files/../a")), sandrone.BackupInvalid},
		{"a key with a dot segment", with(t, data("./a")), sandrone.BackupInvalid},
		{"a key with an empty segment", with(t, data("a//b")), sandrone.BackupInvalid},
		{"a key from the root", with(t, data("/etc/passwd")), sandrone.BackupInvalid},
		{"a key with a backslash", with(t, data(`a\b`)), sandrone.BackupInvalid},
		{"a key with a zero byte", with(t, data("a\x00b")), sandrone.BackupInvalid},
		{"a key with a drive", with(t, data("c:a")), sandrone.BackupInvalid},
		{"a key too long", with(t, data(strings.Repeat(long+"/", 120)+"a")), sandrone.BackupInvalid},
		{"a cache", with(t, data("cache/probe/x.json")), sandrone.BackupInvalid},
		{"a revision", with(t, data("revisions/x.json")), sandrone.BackupInvalid},
		{"a token", with(t, data("tokens/x.json")), sandrone.BackupInvalid},
		{"an access record", with(t, data("access/x.json")), sandrone.BackupInvalid},
		{"a key equal to a prefix", with(t, data("tokens")), sandrone.BackupInvalid},
		{"a key twice", with(t, data("a"), data("a")), sandrone.BackupInvalid},
		{"a key below another", with(t, data("a/b"), data("a-b"), data("a")), sandrone.BackupInvalid},
		{"a key far below another", with(t, data("a/b/c/d"), data("a/b")), sandrone.BackupInvalid},

		{"settings that are no JSON", with(t, member{name: "data/settings.json", content: "{} x"}), sandrone.BackupInvalid},
		{"settings of a wrong type", with(t, member{name: "data/settings.json", content: `{"http":[]}`}), sandrone.BackupInvalid},
		{"settings of another version", with(t, member{name: "data/settings.json", content: `{"schema_version":2}`}), sandrone.BackupInvalid},
		{"settings with a bad value", with(t, member{name: "data/settings.json", content: `{"log":{"level":"loud"}}`}), sandrone.BackupInvalid},

		{"10,001 entries", archive(t, many...), sandrone.BackupTooLarge},
		{"64 MiB and a manifest", with(t, unpacked...), sandrone.BackupTooLarge},
		{"64 MiB less one", with(t, unpacked[1:]...), ""},
		{"32 MiB and a byte", make([]byte, 32<<20+1), sandrone.BackupTooLarge},
		{"a directory of a hundred thousand members", bytes.Repeat([]byte("PK\x01\x02"), 100_000), sandrone.BackupTooLarge},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := store.New(store.Memory(), store.Options{CheckSettings: func(v sandrone.Settings) (sandrone.Settings, error) {
				if v.Log.Level != "info" {
					return v, errors.New("no level: hunter2")
				}
				return v, nil
			}})
			a, err := s.ReadArchive(bytes.NewReader(c.text))
			if c.code == "" {
				if err != nil || !a.Manifest.CreatedAt.Equal(time.Date(2026, 8, 1, 10, 0, 0, 0, time.UTC)) {
					t.Errorf("got %v", err)
				}
				return
			}
			e, ok := errors.AsType[*sandrone.Error](err)
			if !ok || e.Code != c.code {
				t.Fatalf("got %v, want %s", err, c.code)
			}
			if strings.Contains(e.Message, "hunter2") || strings.Contains(e.Message, "passwd") {
				t.Errorf("the message shows content: %s", e.Message)
			}
		})
	}
}

// A member may hold more than its head says.
func TestAnArchiveCannotLieAboutItsSize(t *testing.T) {
	text := with(t, member{name: "data/a", content: strings.Repeat("x", 1<<20)})
	at := bytes.LastIndex(text, []byte("PK\x01\x02"))
	copy(text[at+24:], []byte{10, 0, 0, 0}) // the size in the directory
	_, err := store.New(store.Memory(), store.Options{}).ReadArchive(bytes.NewReader(text))
	if sandrone.AsError(err).Code != sandrone.BackupInvalid {
		t.Errorf("got %v", err)
	}
}

func TestABodyThatFailsKeepsItsError(t *testing.T) {
	late := sandrone.Errorf(sandrone.RequestTooLarge, "late")
	s := store.New(store.Memory(), store.Options{})
	if _, err := s.ReadArchive(io.MultiReader(strings.NewReader("PK"), failing{late})); sandrone.AsError(err).Code != sandrone.RequestTooLarge {
		t.Errorf("got %v", err)
	}
	if _, err := s.ReadArchive(failing{errors.New("reset")}); sandrone.AsError(err).Code != sandrone.BackupInvalid {
		t.Errorf("got %v", err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func TestABackupIsAnArchiveInOrder(t *testing.T) {
	s := store.New(store.Memory(), store.Options{Now: func() time.Time { return time.Date(2026, 8, 1, 10, 0, 0, 5e8, time.UTC) }})
	for _, name := range []string{"b", "a b", "a"} {
		if err := put(t, s, name, "x"); err != nil {
			t.Fatal(err)
		}
	}
	err := s.Update(t.Context(), func(tx *store.Tx) error {
		_, err := tx.Settings().Put(sandrone.DefaultSettings(), store.Precondition{})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	text, err := s.Backup(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	again, _ := s.Backup(t.Context())
	if !bytes.Equal(text, again) {
		t.Error("two backups of one state differ")
	}
	z, err := zip.NewReader(bytes.NewReader(text), int64(len(text)))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range z.File {
		names = append(names, f.Name)
		if f.Mode() != 0o600 || f.Method != zip.Deflate {
			t.Errorf("%s: mode %v, method %d", f.Name, f.Mode(), f.Method)
		}
	}
	want := "manifest.json,data/settings.json,data/subscriptions/a b.json,data/subscriptions/a.json,data/subscriptions/b.json"
	if got := strings.Join(names, ","); got != want {
		t.Errorf("got %s", got)
	}
	f, err := z.File[0].Open()
	if err != nil {
		t.Fatal(err)
	}
	got, _ := io.ReadAll(f)
	wantManifest := "{\n  \"format\": \"sandrone-store-backup\",\n  \"storage_schema_version\": 1,\n  \"created_at\": \"2026-08-01T10:00:00Z\",\n  \"app_version\": \"" + sandrone.ThisBuild().Version + "\"\n}\n"
	if string(got) != wantManifest {
		t.Errorf("got %s", got)
	}
}

// FuzzReadArchive holds that any bytes are refused with a code of their own,
// or restore to a state whose backup is read again.
func FuzzReadArchive(f *testing.F) {
	f.Add(with(f))
	f.Add(with(f, data("subscriptions/a.json"), data("settings.json"), data("x/y")))
	f.Add(with(f, member{name: "data/files/a", content: "stored", stored: true}))
	f.Add([]byte("PK\x05\x06" + strings.Repeat("\x00", 18)))
	f.Fuzz(func(t *testing.T, text []byte) {
		s := store.New(store.Memory(), store.Options{})
		a, err := s.ReadArchive(bytes.NewReader(text))
		if err != nil {
			switch sandrone.AsError(err).Code {
			case sandrone.BackupInvalid, sandrone.BackupIncompatible, sandrone.BackupTooLarge:
				return
			}
			t.Fatalf("got %v", err)
		}
		if err := s.Restore(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		again, err := s.Backup(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		b, err := s.ReadArchive(bytes.NewReader(again))
		if err != nil || b.Counts != a.Counts {
			t.Errorf("got %v, %+v, want %+v", err, b, a.Counts)
		}
	})
}
