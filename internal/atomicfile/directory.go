package atomicfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// MakeDir makes dir and its parents, as far as they are not there, makes them
// durable, and returns those it made, outermost first.
func MakeDir(dir string) (made []string, err error) {
	parent := filepath.Dir(dir)
	if parent != dir {
		if _, err := os.Stat(parent); errors.Is(err, fs.ErrNotExist) {
			if made, err = MakeDir(parent); err != nil {
				return made, err
			}
		}
	}
	err = os.Mkdir(dir, 0o777)
	if err == nil {
		return append(made, dir), SyncDir(parent)
	}
	if info, statErr := os.Stat(dir); statErr == nil && info.IsDir() {
		return made, nil
	}
	return made, err
}

// RemoveEmpty removes directories that MakeDir made, as far as they are empty.
func RemoveEmpty(made []string) {
	for i := len(made) - 1; i >= 0; i-- {
		_ = os.Remove(made[i])
	}
}

// UnsyncedError is about files that are written and have their names, while it is
// not known whether a crash of the system would lose the names.
type UnsyncedError struct {
	Dir string
	Err error
}

// Error says that the files are written.
func (e *UnsyncedError) Error() string {
	return fmt.Sprintf("written, durability unknown: %s could not be synced: %v", e.Dir, e.Err)
}

// Unwrap returns why the directory could not be synced.
func (e *UnsyncedError) Unwrap() error { return e.Err }

// WrapUnsynced makes an error of syncing a directory, in which files got their names,
// an *UnsyncedError.
func WrapUnsynced(dir string, err error) error {
	if err == nil {
		return nil
	}
	return &UnsyncedError{dir, cause(err)}
}

// SyncDir makes the entries of a directory durable, where its file system has a
// way to.
func SyncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return syncDir(f)
}

// syncDir tolerates file systems that have no directories to sync: they answer
// EINVAL or ENOTSUP, and Windows syncs nothing that is open for reading.
func syncDir(f *os.File) error {
	err := f.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) || runtime.GOOS == "windows" {
		return nil
	}
	return err
}

const (
	lockPoll   = 20 * time.Millisecond // between two tries to lock a directory
	lockSilent = time.Second           // of waiting before OnWait's function is called
)

type waitKey struct{}

// WithOnWait returns a context with which Publish calls waiting, with the name of the
// directory, once it has waited for another program for a second.
func WithOnWait(ctx context.Context, waiting func(dir string)) context.Context {
	return context.WithValue(ctx, waitKey{}, waiting)
}

// lock takes the directory for this program, where its file system has locks.
func (d *Directory) lock(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	begun := time.Now()
	told, _ := ctx.Value(waitKey{}).(func(string))
	for {
		if taken, err := tryLock(d.file); taken || err != nil {
			return nil
		}
		if told != nil && time.Since(begun) >= lockSilent {
			told(d.name)
			told = nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(lockPoll):
		}
	}
}
