package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/sandrone-gateway/sandrone"
)

const (
	boltFile = "sandrone.db"
	lockWait = 2 * time.Second // for another process to let go of the file
)

// Bolt returns the backend in a data directory: one bbolt file, sandrone.db,
// with a bucket for each space.
//
// The file is opened by the first transaction and locked from then on; if
// another process has it, transactions fail after two seconds with an error
// that names the directory. Without a file the store is empty. The first
// Update makes it, with mode 0600, and the directory with mode 0700.
func Bolt(dir string) Backend {
	return &bolt{dir: dir, writer: make(chan struct{}, 1)}
}

type bolt struct {
	dir    string
	writer chan struct{} // holds one element while there is a writer

	mu     sync.Mutex
	db     *bbolt.DB // nil until it is opened
	closed bool

	// Set for good: after a panic the library's locks are in an unknown state.
	damaged atomic.Bool
}

func (b *bolt) View(ctx context.Context, fn func(KV) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	db, err := b.open(false)
	if err != nil {
		return err
	}
	if db == nil {
		return fn(&memoryKV{})
	}
	return b.run(db, false, fn)
}

func (b *bolt) Update(ctx context.Context, fn func(KV) error) error {
	select {
	case b.writer <- struct{}{}:
		defer func() { <-b.writer }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	db, err := b.open(true)
	if err != nil {
		return err
	}
	return b.run(db, true, fn)
}

// run calls fn in a transaction, which ends with it.
func (b *bolt) run(db *bbolt.DB, writable bool, fn func(KV) error) (err error) {
	kv := &boltKV{b: b, writable: writable}
	// A page that the disk no longer gives is a fault in mapped memory, which
	// would end the process. It may come as late as when fn reads a value.
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(interface{ Addr() uintptr }); !ok {
				panic(r)
			}
			b.damaged.Store(true)
			err = errDamaged(fmt.Errorf("%v", r))
		}
	}()
	if err := kv.guard(func() (err error) { kv.tx, err = db.Begin(writable); return err }); err != nil {
		return err
	}
	defer func() {
		// After a commit it does nothing.
		if failed := kv.guard(kv.rollback); err == nil {
			err = failed
		}
	}()
	if err := fn(kv); err != nil {
		return err
	}
	if !kv.wrote {
		return nil // without a write to the disk
	}
	return kv.guard(kv.tx.Commit)
}

func (b *bolt) Close() error {
	b.writer <- struct{}{}
	defer func() { <-b.writer }()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	if b.db == nil || b.damaged.Load() {
		return nil
	}
	err := b.db.Close()
	b.db = nil
	return b.failure("the store cannot be closed", err)
}

// open returns the database, nil if there is no file and none is to be made.
func (b *bolt) open(create bool) (*bbolt.DB, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.closed:
		return nil, errClosed()
	case b.damaged.Load():
		return nil, errDamaged(nil)
	case b.db != nil:
		return b.db, nil
	}
	path := filepath.Join(b.dir, boltFile)
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		if !create {
			return nil, nil
		}
		if err := b.create(path); err != nil {
			return nil, b.failure("the data directory cannot be written", err)
		}
	} else if err != nil {
		return nil, b.failure("the data directory cannot be read", err)
	} else if info.Mode().Perm()&0o077 != 0 {
		if err := os.Chmod(path, 0o600); err != nil {
			return nil, b.failure("the store's file cannot be kept from other users", err)
		}
	}
	db, err := openBolt(path)
	if err != nil {
		return nil, b.openFailure(err)
	}
	b.db = db
	return db, nil
}

// create makes the file complete under another name first: a process killed
// half-way would otherwise leave one that no later start could open.
func (b *bolt) create(path string) error {
	if err := os.MkdirAll(b.dir, 0o700); err != nil {
		return err
	}
	temp, err := os.CreateTemp(b.dir, boltFile+".new-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name())
	if err := temp.Close(); err != nil {
		return err
	}
	db, err := openBolt(temp.Name())
	if err != nil {
		return err
	}
	if err := db.Close(); err != nil {
		return err
	}
	// Not a rename, which could replace a file that another process has just
	// made and is using.
	err = os.Link(temp.Name(), path)
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil
	case err != nil:
		// A file system without links. An exclusive open leaves only a kill
		// within the next moment uncovered.
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		f.Close()
		return nil
	}
	if d, err := os.Open(b.dir); err == nil {
		d.Sync() // so that the name survives a loss of power, where directories can be synced
		d.Close()
	}
	return nil
}

// openBolt opens an existing file and refuses what would fail later.
func openBolt(path string) (db *bbolt.DB, err error) {
	var file *os.File
	defer func() {
		if r := recover(); r != nil { // pages that make no sense
			file.Close()
			db, err = nil, bolterrors.ErrInvalid
		}
	}()
	db, err = bbolt.Open(path, 0o600, &bbolt.Options{
		Timeout:      lockWait,
		FreelistType: bbolt.FreelistMapType,
		NoStatistics: true,
		OpenFile: func(path string, flag int, mode os.FileMode) (_ *os.File, err error) {
			file, err = os.OpenFile(path, flag&^os.O_CREATE, mode)
			return file, err
		},
	})
	if err != nil {
		return nil, err
	}
	// A file that lost its end maps to memory that cannot be read.
	info, err := file.Stat()
	if err == nil {
		err = db.View(func(tx *bbolt.Tx) error {
			if info.Size() < tx.Size() {
				return bolterrors.ErrInvalid
			}
			return nil
		})
	}
	if err != nil {
		db.Close()
		return nil, err
	}
	return db, nil
}

func (b *bolt) openFailure(err error) error {
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return sandrone.Errorf(sandrone.InternalError, "the data directory %s is in use by another process", b.dir)
	case errors.Is(err, bolterrors.ErrInvalid), errors.Is(err, bolterrors.ErrChecksum), errors.Is(err, bolterrors.ErrVersionMismatch),
		strings.Contains(err.Error(), "file size too small"):
		// For good: it stays locked if the library panicked.
		b.damaged.Store(true)
		return errDamaged(err)
	}
	return b.failure("the store cannot be opened", err)
}

// failure makes an error of the storage one to show. The reason is shown if it
// is one that a person can do something about.
func (b *bolt) failure(text string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, bolterrors.ErrDatabaseNotOpen) {
		return errClosed()
	}
	// The library passes some reasons on as text only.
	for _, reason := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG, syscall.EROFS, syscall.EACCES, syscall.EPERM, syscall.ENOTDIR, syscall.EIO} {
		if errors.Is(err, reason) || strings.Contains(err.Error(), reason.Error()) {
			text += ": " + reason.Error()
			break
		}
	}
	return internal(text, pathless{err, b.dir})
}

// pathless is an error for the log whose text has no path of the store.
type pathless struct {
	error
	dir string
}

func (e pathless) Error() string {
	text := e.error.Error()
	if e.dir != "" && e.dir != "." && e.dir != string(filepath.Separator) {
		text = strings.ReplaceAll(text, filepath.Clean(e.dir)+string(filepath.Separator), "")
	}
	return text
}

func (e pathless) Unwrap() error { return e.error }

func errDamaged(cause error) error {
	return internal("the store is damaged; restore a backup into a new data directory", cause)
}

// boltKV is a transaction. It remembers whether there is something to commit.
type boltKV struct {
	b        *bolt
	tx       *bbolt.Tx
	writable bool
	wrote    bool
}

// guard calls the library, which panics when pages make no sense.
func (kv *boltKV) guard(call func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			kv.b.damaged.Store(true)
			err = errDamaged(fmt.Errorf("%v", r))
		}
	}()
	if err := call(); err != nil {
		if kv.writable {
			return kv.b.failure("the store cannot be written", err)
		}
		return kv.b.failure("the store cannot be read", err)
	}
	return nil
}

func (kv *boltKV) rollback() error {
	if kv.b.damaged.Load() {
		return nil
	}
	if err := kv.tx.Rollback(); err != nil && !errors.Is(err, bolterrors.ErrTxClosed) {
		return err
	}
	return nil
}

func (kv *boltKV) Get(space Space, key string) (value []byte, err error) {
	err = kv.guard(func() error {
		if bucket := kv.tx.Bucket([]byte(space)); bucket != nil {
			value = bucket.Get([]byte(key))
		}
		return nil
	})
	return value, err
}

func (kv *boltKV) Put(space Space, key string, value []byte) error {
	switch {
	case !kv.writable:
		return errReadOnly()
	case key == "" || len(key) > maxKey:
		return errKey()
	}
	kv.wrote = true
	return kv.guard(func() error {
		bucket, err := kv.tx.CreateBucketIfNotExists([]byte(space))
		if err != nil {
			return err
		}
		return bucket.Put([]byte(key), value)
	})
}

func (kv *boltKV) Delete(space Space, key string) error {
	if !kv.writable {
		return errReadOnly()
	}
	return kv.guard(func() error {
		bucket := kv.tx.Bucket([]byte(space))
		if bucket == nil || bucket.Get([]byte(key)) == nil {
			return nil
		}
		kv.wrote = true
		return bucket.Delete([]byte(key))
	})
}

func (kv *boltKV) Scan(space Space, prefix string, fn func(key string, value []byte) error) error {
	var cursor *bbolt.Cursor
	var key, value []byte
	err := kv.guard(func() error {
		if bucket := kv.tx.Bucket([]byte(space)); bucket != nil {
			cursor = bucket.Cursor()
			key, value = cursor.Seek([]byte(prefix))
		}
		return nil
	})
	for err == nil && key != nil && bytes.HasPrefix(key, []byte(prefix)) {
		if err := fn(string(key), value); err != nil {
			return err
		}
		err = kv.guard(func() error {
			last := key
			if key, value = cursor.Next(); key != nil && bytes.Compare(last, key) >= 0 {
				panic("keys out of order") // pages in a circle would never end
			}
			return nil
		})
	}
	return err
}

func (kv *boltKV) Clear(space Space) error {
	if !kv.writable {
		return errReadOnly()
	}
	return kv.guard(func() error {
		if kv.tx.Bucket([]byte(space)) == nil {
			return nil
		}
		kv.wrote = true
		return kv.tx.DeleteBucket([]byte(space))
	})
}
