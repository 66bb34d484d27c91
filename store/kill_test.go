package store_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/store"
)

// child makes the test program be another one: its value names which.
const child = "SANDRONE_STORE_TEST_CHILD"

var children = map[string]func(args []string) error{"hammer": hammer}

func TestMain(m *testing.M) {
	run, ok := children[os.Getenv(child)]
	if !ok {
		os.Exit(m.Run())
	}
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func childProcess(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), child+"="+name)
	return cmd
}

// step is write n of the hammer, on the store or on what should be in it. Each
// also writes its number into a file spec, in the same transaction.
func step(n int) (name, content string, deleted bool) {
	return fmt.Sprint("s", n%7), fmt.Sprint(n, strings.Repeat("-", n*997%9000)), n%5 == 4
}

// hammer writes without a pause, and says of each write that it was
// acknowledged. Its arguments are a directory and the number of the first
// write.
func hammer(args []string) error {
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	ctx := context.Background()
	fmt.Println("ready")
	s := store.Open(args[0], store.Options{})
	go func() { // caches write beside it
		body := make([]byte, 200_000)
		for i := 0; ; i++ {
			s.Cache().Put(ctx, store.RemoteFetch, store.KeyOf(fmt.Sprint(i%20)), store.Entry{Body: body[:i*7919%len(body)]}, store.Life{Fresh: time.Hour})
		}
	}()
	for ; ; n++ {
		name, content, deleted := step(n)
		err := s.Update(ctx, func(tx *store.Tx) error {
			text := fmt.Sprint(n)
			counter := &sandrone.FileSpec{Name: "counter", Kind: "static", Source: &sandrone.FileSource{Type: "inline", Content: &text}}
			if _, err := tx.Files().Put(counter, store.Precondition{}); err != nil {
				return err
			}
			if exists, err := tx.Subscriptions().Exists(name); err != nil {
				return err
			} else if deleted {
				if !exists {
					return nil
				}
				return tx.Subscriptions().Delete(name, store.Precondition{})
			}
			_, err := tx.Subscriptions().Put(&sandrone.Subscription{Name: name, Type: "local", Content: content}, store.Precondition{})
			return err
		})
		if err != nil {
			return err
		}
		fmt.Println(n)
	}
}

// Each round runs the hammer and kills it. SANDRONE_STORE_KILLS asks for more
// rounds than the usual ones.
func TestAKillLosesNoAcknowledgedWrite(t *testing.T) {
	t.Parallel()
	kills := 20
	if more := os.Getenv("SANDRONE_STORE_KILLS"); more != "" {
		n, err := strconv.Atoi(more)
		if err != nil {
			t.Fatal(err)
		}
		kills = n
	}
	random := rand.New(rand.NewPCG(20, 26))
	var dir string
	var model map[string]string
	written := -1 // the number of the last write that is in the store
	for round := range kills {
		if round%4 == 0 { // a new store, so that its making is hit too
			dir, model, written = filepath.Join(t.TempDir(), "data"), map[string]string{}, -1
		}
		acknowledged := killOne(t, dir, written, random)
		n := check(t, dir, func(n int) map[string]string {
			if n != acknowledged && n != acknowledged+1 {
				t.Fatalf("round %d: write %d is in the store, and %d was acknowledged", round, n, acknowledged)
			}
			for i := written + 1; i <= n; i++ {
				if name, content, deleted := step(i); deleted {
					delete(model, name)
				} else {
					model[name] = content
				}
			}
			return model
		})
		written = n
	}
	if written < 0 {
		t.Error("nothing was ever written")
	}
}

// killOne returns the last write that was acknowledged, which is written if
// none was.
func killOne(t *testing.T, dir string, written int, random *rand.Rand) int {
	t.Helper()
	cmd := childProcess("hammer", dir, strconv.Itoa(written+1))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	last := written
	read := func() bool {
		if !lines.Scan() {
			return false
		}
		if n, err := strconv.Atoi(lines.Text()); err == nil {
			last = n
		}
		return true
	}
	for range 1 + random.IntN(25) { // the first line says that it is ready
		if !read() {
			t.Fatal("the writer ended by itself")
		}
	}
	// Not in step with the writes.
	time.Sleep(time.Duration(random.IntN(3000)) * time.Microsecond)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for read() {
	}
	cmd.Wait()
	return last
}

// check compares the store with what want says should be in it after the last
// write that is, and returns the number of that write.
func check(t *testing.T, dir string, want func(n int) map[string]string) int {
	t.Helper()
	s := store.Open(dir, store.Options{})
	n := -1
	got := map[string]string{}
	err := s.View(t.Context(), func(tx *store.Tx) error {
		if counter, err := tx.Files().Get("counter"); err == nil {
			if n, err = strconv.Atoi(*counter.Definition.Source.Content); err != nil {
				return err
			}
		} else if sandrone.AsError(err).Code != sandrone.NotFound {
			return err
		}
		list, err := tx.Subscriptions().List()
		for _, r := range list {
			got[r.Name] = r.Definition.Content
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	model := want(n)
	if len(got) != len(model) {
		t.Errorf("after write %d: got %d subscriptions, want %d", n, len(got), len(model))
	}
	for name, content := range model {
		if got[name] != content {
			t.Errorf("after write %d: %s is %.20q, want %.20q", n, name, got[name], content)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "sandrone.db")); err != nil {
		return n // killed before it was made
	}
	db, err := bbolt.Open(filepath.Join(dir, "sandrone.db"), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = db.View(func(tx *bbolt.Tx) error {
		for err := range tx.Check() {
			t.Errorf("the file is inconsistent: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}
