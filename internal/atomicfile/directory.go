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

// MakeDir creates dir and its missing parents and makes them durable. It returns the
// directories it created, outermost first.
func MakeDir(dir string) (created []string, err error) {
	if created, err = makeDir(dir); err != nil {
		return created, err
	}
	return created, syncParents(created)
}

// syncParents makes the names of directories durable.
func syncParents(dirs []string) error {
	for _, dir := range dirs {
		if err := SyncDir(filepath.Dir(dir)); err != nil {
			return err
		}
	}
	return nil
}

// makeDir is like MakeDir, but does not make the directories durable.
func makeDir(dir string) (created []string, err error) {
	parent := filepath.Dir(dir)
	if parent != dir {
		if _, err := os.Stat(parent); errors.Is(err, fs.ErrNotExist) {
			if created, err = makeDir(parent); err != nil {
				return created, err
			}
		}
	}
	err = os.Mkdir(dir, 0o777)
	if err == nil {
		return append(created, dir), nil
	}
	if info, statErr := os.Stat(dir); statErr == nil && info.IsDir() {
		return created, nil
	}
	return created, err
}

// RemoveEmpty removes the empty directories among those that MakeDir returned.
func RemoveEmpty(dirs []string) {
	for i := len(dirs) - 1; i >= 0; i-- {
		_ = os.Remove(dirs[i])
	}
}

// UnsyncedError reports a directory that could not be synced. Its files are written, but
// a system crash might lose their names.
type UnsyncedError struct {
	Dir string
	Err error
}

// Error returns a message which says that the files are written.
func (e *UnsyncedError) Error() string {
	return fmt.Sprintf("written, durability unknown: %s could not be synced: %v", e.Dir, e.Err)
}

// Unwrap returns the cause.
func (e *UnsyncedError) Unwrap() error { return e.Err }

// WrapUnsynced returns an *UnsyncedError for an error of syncing dir, or nil if err is
// nil.
func WrapUnsynced(dir string, err error) error {
	if err == nil {
		return nil
	}
	return &UnsyncedError{dir, cause(err)}
}

// SyncDir makes the entries of a directory durable, if the file system supports it.
func SyncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return syncDir(f)
}

// SyncRoot is SyncDir for an open directory.
func SyncRoot(root *os.Root) error {
	f, err := root.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	return syncDir(f)
}

// syncDir syncs an open directory. It ignores the errors of file systems that cannot
// sync directories: EINVAL or ENOTSUP, and all errors on Windows, which cannot sync a
// file that is open for reading.
func syncDir(f *os.File) error {
	err := f.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) || runtime.GOOS == "windows" {
		return nil
	}
	return err
}

const (
	lockPoll   = 20 * time.Millisecond // time between two attempts to lock a directory
	lockSilent = time.Second           // waiting time before the function of WithOnWait is called
)

type waitKey struct{}

// WithOnWait returns a context that makes Publish call waiting with the name of the
// directory when it has waited for another program for a second.
func WithOnWait(ctx context.Context, waiting func(dir string)) context.Context {
	return context.WithValue(ctx, waitKey{}, waiting)
}

// lock locks the directory, if the file system has locks.
func (d *Directory) lock(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	start := time.Now()
	waiting, _ := ctx.Value(waitKey{}).(func(string))
	for {
		if locked, err := TryLock(d.file); locked || err != nil {
			return nil
		}
		if waiting != nil && time.Since(start) >= lockSilent {
			waiting(d.name)
			waiting = nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(lockPoll):
		}
	}
}
