// Package atomicfile writes files that are there whole or not at all, and
// never replaces one.
//
// It knows files and directories, and nothing of what is in them.
package atomicfile

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Staged is a complete file under a temporary name in its final directory.
type Staged struct {
	dir, temp string
}

// Stage writes data to a temporary file in dir and syncs it. It is published
// or discarded by the caller. Who may read the file is for the umask to say.
func Stage(dir string, data []byte) (*Staged, error) {
	s := &Staged{dir: dir, temp: filepath.Join(dir, ".p20export-"+rand.Text()+".tmp")}
	f, err := os.OpenFile(s.temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		s.Discard()
		return nil, err
	}
	return s, nil
}

// Read returns the staged bytes.
func (s *Staged) Read() ([]byte, error) { return os.ReadFile(s.temp) }

// Discard removes the staged file. Discarding a published one does nothing.
func (s *Staged) Discard() {
	if s != nil && s.temp != "" {
		_ = os.Remove(s.temp)
		s.temp = ""
	}
}

// Publish gives the staged file its name and reports whether it made that file.
// A file of that name that is the same, as same tells by its path and the staged
// bytes, counts as published; any other is an error that matches fs.ErrExist.
// The directory is not synced: SyncDir does that once for many.
func (s *Staged) Publish(name string, same Same) (made bool, err error) {
	final := filepath.Join(s.dir, name)
	err = os.Link(s.temp, final)
	if linkUnsupported(err) {
		err = s.rename(final)
	}
	made = err == nil
	if errors.Is(err, fs.ErrExist) {
		err = s.compare(final, same)
	}
	if err == nil {
		s.Discard()
	}
	return made, err
}

// Same reports whether the file at path is the one that data would be. Holds is
// the plainest.
type Same func(path string, data []byte) (bool, error)

// rename publishes on a file system without hard links. Two programs that
// publish the same name at the same moment are then not told apart.
func (s *Staged) rename(final string) error {
	if _, err := os.Lstat(final); err == nil {
		return fs.ErrExist
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Rename(s.temp, final)
}

func linkUnsupported(err error) bool {
	return errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOTSUP) || errors.Is(err, syscall.ENOSYS) || errors.Is(err, syscall.EMLINK)
}

func (s *Staged) compare(final string, same Same) error {
	data, err := s.Read()
	if err != nil {
		return err
	}
	return Compare(final, data, same)
}

// Compare returns nil when the file at path is the same as data, an error that
// matches fs.ErrNotExist when nothing has that name, and one that matches
// fs.ErrExist when something else has: also a link or a directory.
func Compare(path string, data []byte, same Same) error {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s: %w and is not a regular file", path, fs.ErrExist)
	}
	ok, err := same(path, data)
	if err == nil && !ok {
		return fmt.Errorf("%s: %w with other bytes", path, fs.ErrExist)
	}
	return err
}

// Holds reports whether the file is a regular file of exactly these bytes.
// Anything else is not opened: opening a pipe waits for its writer.
func Holds(path string, data []byte) (bool, error) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() != int64(len(data)) {
		return false, err
	}
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	there, err := io.ReadAll(io.LimitReader(f, int64(len(data))+1))
	return bytes.Equal(there, data), err
}

// SyncDir makes the names published in dir durable.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// MakeDir makes dir and its parents, as far as they are not there, and returns
// those it made, outermost first.
func MakeDir(dir string) (made []string, err error) {
	if parent := filepath.Dir(dir); parent != dir {
		if _, err := os.Stat(parent); errors.Is(err, fs.ErrNotExist) {
			if made, err = MakeDir(parent); err != nil {
				return made, err
			}
		}
	}
	err = os.Mkdir(dir, 0o777)
	if err == nil {
		return append(made, dir), nil
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
