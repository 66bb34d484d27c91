package store_test

import (
	"bytes"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/store"
)

func put(t *testing.T, s *store.Store, name, content string) error {
	t.Helper()
	return s.Update(t.Context(), func(tx *store.Tx) error {
		_, err := tx.Subscriptions().Put(&sandrone.Subscription{Name: name, Type: "local", Content: content}, store.Precondition{})
		return err
	})
}

func get(t *testing.T, s *store.Store, name string) (content string, err error) {
	t.Helper()
	err = s.View(t.Context(), func(tx *store.Tx) error {
		r, err := tx.Subscriptions().Get(name)
		if err == nil {
			content = r.Definition.Content
		}
		return err
	})
	return content, err
}

// wantInternal holds err to be a failure of the storage whose message has some
// words, and which shows dir nowhere.
func wantInternal(t *testing.T, err error, words, dir string) {
	t.Helper()
	e, ok := errors.AsType[*sandrone.Error](err)
	if !ok || e.Code != sandrone.InternalError || !strings.Contains(e.Message, words) {
		t.Fatalf("got %v, want an internal error with %q", err, words)
	}
	if cause := errors.Unwrap(err); strings.Contains(err.Error(), dir) || cause != nil && strings.Contains(cause.Error(), dir) {
		t.Errorf("a path is shown: %v, %v", err, cause)
	}
}

func TestReadingMakesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "data")
	s := store.Open(dir, store.Options{})
	if _, err := get(t, s, "air"); sandrone.AsError(err).Code != sandrone.NotFound {
		t.Errorf("got %v", err)
	}
	s.Cache().Get(t.Context(), store.Probe, store.KeyOf("a"))
	if err := s.Cache().Put(t.Context(), store.Probe, store.KeyOf("a"), store.Entry{}, store.Life{Fresh: time.Hour}); err != nil {
		t.Error(err)
	}
	if _, err := s.Backup(t.Context()); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Dir(dir)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("reading left a directory: %v", err)
	}
}

func TestOnlyTheOwnerCanReadTheStore(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no permission bits")
	}
	dir := filepath.Join(t.TempDir(), "data")
	file := filepath.Join(dir, "sandrone.db")
	s := store.Open(dir, store.Options{})
	if err := put(t, s, "air", "x"); err != nil {
		t.Fatal(err)
	}
	s.Close()
	check := func() {
		t.Helper()
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != 1 {
			t.Errorf("the directory holds %v, %v, want one file", entries, err)
		}
		for path, want := range map[string]fs.FileMode{dir: 0o700, file: 0o600} {
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
				t.Errorf("got mode %v, %v, want %v", info.Mode().Perm(), err, want)
			}
		}
	}
	check()
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	s = store.Open(dir, store.Options{})
	if got, err := get(t, s, "air"); got != "x" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	s.Close()
	check()
}

func TestAStoreInUseIsNamedAfterAShortWait(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := store.Open(dir, store.Options{})
	if err := first.Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	second := store.Open(dir, store.Options{})
	start := time.Now()
	_, err := get(t, second, "air")
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("waited %v", took)
	}
	if e := sandrone.AsError(err); e.Code != sandrone.InternalError || !strings.Contains(e.Message, dir) || !strings.Contains(e.Message, "another process") {
		t.Errorf("got %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := put(t, second, "air", "x"); err != nil {
		t.Errorf("the store is free, and got %v", err)
	}
	second.Close()
}

func TestTwoProcessesMayMakeTheStoreAtOnce(t *testing.T) {
	dir := t.TempDir()
	errs := make(chan error)
	for range 4 {
		go func() {
			s := store.Open(dir, store.Options{})
			errs <- errors.Join(s.Create(t.Context()), s.Close())
		}()
	}
	for range 4 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

func TestAnUnusableDataDirectoryIsAnErrorWithoutPaths(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(file, "data")
	s := store.Open(dir, store.Options{})
	wantInternal(t, put(t, s, "air", "x"), "the data directory cannot be", file)
	if _, err := s.Backup(t.Context()); err == nil {
		t.Error("a store that cannot be read was backed up")
	} else {
		wantInternal(t, err, "backup export failed", file)
	}
	s.Close()
}

// filled returns the bytes of a store's file with some pages of definitions.
func filled(t *testing.T) []byte {
	t.Helper()
	dir := t.TempDir()
	s := store.Open(dir, store.Options{ // the same bytes each time
		Now:  func() time.Time { return time.Unix(1_800_000_000, 0) },
		Rand: rand.NewChaCha8([32]byte{}),
	})
	err := s.Update(t.Context(), func(tx *store.Tx) error {
		for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
			for _, size := range []int{100, 5_000} {
				v := &sandrone.Subscription{Name: name, Type: "local", Content: strings.Repeat(name, size)}
				if _, err := tx.Subscriptions().Put(v, store.Precondition{}); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	content, err := os.ReadFile(filepath.Join(dir, "sandrone.db"))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func TestADamagedFileIsAnErrorAndNoCrash(t *testing.T) {
	whole := filled(t)
	for name, content := range map[string][]byte{
		"text":      []byte("this is no store"),
		"garbage":   bytes.Repeat([]byte{0xaa, 0x55}, 32_768),
		"zeros":     make([]byte, 65_536),
		"one page":  whole[:4096],
		"cut short": whole[:3*4096],
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "sandrone.db"), content, 0o600); err != nil {
			t.Fatal(err)
		}
		s := store.Open(dir, store.Options{})
		_, err := get(t, s, "a")
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		wantInternal(t, err, "damaged", dir)
		wantInternal(t, put(t, s, "a", "x"), "damaged", dir)
		if err := s.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if after, _ := os.ReadFile(filepath.Join(dir, "sandrone.db")); !bytes.Equal(after, content) {
			t.Errorf("%s: the file was changed, and could have been repaired", name)
		}
	}
}

func TestReadingDamagedPagesNeverPanics(t *testing.T) {
	whole := filled(t)
	random := rand.New(rand.NewPCG(1, 2))
	failed := 0
	for range 100 {
		dir := t.TempDir()
		content := bytes.Clone(whole)
		for range 1 + random.IntN(8) {
			// The heads of pages and the tables behind them do the most harm.
			page := 2 + random.IntN(len(content)/4096-2)
			content[page*4096+random.IntN(64)] ^= byte(1 + random.IntN(255))
		}
		if err := os.WriteFile(filepath.Join(dir, "sandrone.db"), content, 0o600); err != nil {
			t.Fatal(err)
		}
		s := store.Open(dir, store.Options{})
		err := s.View(t.Context(), func(tx *store.Tx) error {
			_, err := tx.Subscriptions().List()
			return err
		})
		_, backup := s.Backup(t.Context())
		if errors.Join(err, backup) != nil {
			failed++
		}
		s.Close()
	}
	if failed == 0 {
		t.Error("no damage was ever noticed")
	}
}
