//go:build unix

package store_test

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/store"
)

func init() { children["full"] = full }

// A limit on the size of files is a disk that is full: the system refuses the
// write. It holds for a process, so another one takes it.
func TestAFullDiskLeavesTheStoreReadable(t *testing.T) {
	out, err := childProcess("full", t.TempDir()).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "held") {
		t.Errorf("%v\n%s", err, out)
	}
}

func full(args []string) error {
	signal.Ignore(syscall.SIGXFSZ)
	var free syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &free); err != nil {
		return err
	}
	limited := free
	limited.Cur = 1 << 20
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limited); err != nil {
		return err
	}
	ctx := context.Background()
	s := store.Open(args[0], store.Options{})
	content := strings.Repeat("x", 60_000)
	write := func(n int) error {
		return s.Update(ctx, func(tx *store.Tx) error {
			v := &sandrone.Subscription{Name: fmt.Sprint(n), Type: "local", Content: content}
			_, err := tx.Subscriptions().Put(v, store.Precondition{})
			return err
		})
	}
	written := 0
	var failure error
	for ; failure == nil; written++ {
		if written > 100 {
			return errors.New("the limit does not hold")
		}
		failure = write(written)
	}
	written-- // the last one failed
	e, ok := errors.AsType[*sandrone.Error](failure)
	if !ok || e.Code != sandrone.InternalError || e.Message != "the store cannot be written: file too large" {
		return fmt.Errorf("got %w", failure)
	}
	if strings.Contains(errors.Unwrap(failure).Error(), args[0]) {
		return fmt.Errorf("the cause shows a path: %w", errors.Unwrap(failure))
	}
	check := func(want int) error {
		return s.View(ctx, func(tx *store.Tx) error {
			list, err := tx.Subscriptions().List()
			if err != nil {
				return err
			}
			if len(list) != want {
				return fmt.Errorf("%d definitions, want %d", len(list), want)
			}
			for _, r := range list {
				if r.Definition == nil || r.Definition.Content != content {
					return fmt.Errorf("%s is not as it was written", r.Name)
				}
			}
			return nil
		})
	}
	if err := check(written); err != nil {
		return err
	}
	// What is free within the file may still be taken, but no more.
	full := false
	for i := 0; i < 100 && !full; i++ {
		full = s.Cache().Put(ctx, store.Probe, store.KeyOf(fmt.Sprint(i)), store.Entry{Body: []byte(content)}, store.Life{Fresh: time.Hour}) != nil
	}
	if !full {
		return errors.New("there was room for a hundred bodies")
	}
	if err := check(written); err != nil {
		return err
	}
	if _, err := s.Backup(ctx); err != nil {
		return err
	}
	// The operator makes room.
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &free); err != nil {
		return err
	}
	if err := write(written); err != nil {
		return err
	}
	if err := s.Close(); err != nil {
		return err
	}
	s = store.Open(args[0], store.Options{})
	if err := check(written + 1); err != nil {
		return err
	}
	fmt.Println("held after", written)
	return s.Close()
}
