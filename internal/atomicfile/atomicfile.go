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
	"strings"
	"syscall"
)

// Staged is a complete file under a temporary name in its final directory.
type Staged struct {
	dir, temp string
}

// Stage writes data to a temporary file in dir and syncs it. It is published
// or discarded by the caller. Who may read the file is for the umask to say.
func Stage(dir string, data []byte) (*Staged, error) {
	return Create(dir, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// Create is Stage for a file that write writes. When write fails nothing is
// left. Errors name the directory, not the temporary file.
func Create(dir string, write func(io.Writer) error) (*Staged, error) {
	// Where dir is link/.. the path is another than Join makes of it.
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	s := &Staged{dir: real, temp: filepath.Join(real, ".p20export-"+rand.Text()+".tmp")}
	f, err := os.OpenFile(s.temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, inDirectory(dir, err)
	}
	if err = write(f); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		s.Discard()
		return nil, inDirectory(dir, err)
	}
	return s, nil
}

// inDirectory names the directory in an error that has the name of a temporary
// file; none is the directory for temporary files.
func inDirectory(dir string, err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok && strings.HasPrefix(filepath.Base(p.Path), ".p20export-") {
		if dir == "" {
			return &TemporaryError{Dir: os.TempDir(), Err: p.Err}
		}
		return &fs.PathError{Op: "write a file in", Path: dir, Err: p.Err}
	}
	return err
}

// Open opens the staged file for reading.
func (s *Staged) Open() (*os.File, error) { return os.Open(s.temp) }

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
// A file of that name that is the same counts as published; any other is an
// error that matches fs.ErrExist. The directory is not synced: PublishAll does
// that once for many.
func (s *Staged) Publish(name string, same Same) (made bool, err error) {
	err = Move(s.temp, filepath.Join(s.dir, name), os.Link)
	made = err == nil
	if errors.Is(err, fs.ErrExist) {
		err = s.Compare(name, same)
	}
	if err == nil {
		s.Discard()
	}
	return made, err
}

// ReplaceFile writes a file whole, in place of what had its name, and makes it
// durable. It is for files that are no evidence.
func ReplaceFile(path string, data []byte) error {
	s, err := Stage(filepath.Dir(path), data)
	if err != nil {
		return err
	}
	defer s.Discard()
	return s.Replace(filepath.Base(path))
}

// Replace gives the staged file its name, in place of what had it, and makes it
// durable. It is for files that are no evidence.
func (s *Staged) Replace(name string) error {
	dir, err := os.Open(s.dir)
	if err != nil {
		return err
	}
	defer dir.Close()
	path := filepath.Join(s.dir, name)
	if err := os.Rename(s.temp, path); err != nil {
		if l, ok := errors.AsType[*os.LinkError](err); ok { // which names the temporary file
			err = &fs.PathError{Op: "replace", Path: path, Err: l.Err}
		}
		return err
	}
	s.temp = ""
	return dir.Sync()
}

// Named is a staged file with the name it is to have, and what counts as the
// same file.
type Named struct {
	*Staged
	Name string
	Same Same
}

// PublishAll publishes staged files of one directory in their order, and makes
// their names durable. When any of them is there already and is another, nothing
// is written: what this call named is taken back. Of two programs that publish
// in one directory one waits for the other, so that none counts as its own what
// the other takes back; a file system without locks has no such order.
func PublishAll(files ...Named) error {
	if len(files) == 0 {
		return nil
	}
	return PublishSets([][]Named{files})[0]
}

// PublishSets publishes several sets of files of one directory, each as
// PublishAll does, and syncs the directory once. It returns an error for each
// set, which says nothing of the others. No set may be empty.
func PublishSets(sets [][]Named) []error {
	errs := make([]error, len(sets))
	if len(sets) == 0 {
		return errs
	}
	dir, err := os.Open(sets[0][0].dir)
	if err == nil {
		defer dir.Close()
		lock(dir)
		for i, files := range sets {
			errs[i] = publishSet(files)
		}
		err = dir.Sync()
	}
	for i := range errs {
		if errs[i] == nil {
			errs[i] = err
		}
	}
	return errs
}

// publishSet publishes files in their order. When it fails, what it named is taken
// back.
func publishSet(files []Named) error {
	for _, f := range files {
		if err := f.Compare(f.Name, f.Same); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	var named []string
	for _, f := range files {
		made, err := f.Publish(f.Name, f.Same)
		if err != nil {
			for _, path := range named {
				_ = os.Remove(path)
			}
			return err
		}
		if made {
			named = append(named, filepath.Join(f.dir, f.Name))
		}
	}
	return nil
}

// Move gives the file at from the name to, which nothing may have: what has it
// is an error that matches fs.ErrExist. Where link, which is os.Link, finds a
// file system without hard links the file is renamed, and two programs that do
// so at the same moment are not told apart.
func Move(from, to string, link func(old, new string) error) error {
	err := link(from, to)
	switch {
	case err == nil:
		return os.Remove(from)
	case !linkUnsupported(err):
		return err
	}
	if _, err := os.Lstat(to); err == nil {
		return &fs.PathError{Op: "rename", Path: to, Err: fs.ErrExist}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Rename(from, to)
}

func linkUnsupported(err error) bool {
	return errors.Is(err, syscall.EPERM) || errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EMLINK)
}

// Same reports whether the file at there is the one that the file at staged
// would be. Equal is the plainest.
type Same func(there, staged string) (bool, error)

// Compare returns nil when the file of that name is the same as the staged one,
// an error that matches fs.ErrNotExist when nothing has the name, and one that
// matches fs.ErrExist when something else has: also a link or a directory.
func (s *Staged) Compare(name string, same Same) error {
	path := filepath.Join(s.dir, name)
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s: %w and is not a regular file", path, fs.ErrExist)
	}
	ok, err := same(path, s.temp)
	if err == nil && !ok {
		return fmt.Errorf("%s: %w with other bytes", path, fs.ErrExist)
	}
	return err
}

// Equal reports whether two regular files hold the same bytes. Anything else is
// not opened: opening a pipe waits for its writer.
func Equal(there, staged string) (bool, error) {
	a, err := os.Stat(there)
	if err != nil {
		return false, err
	}
	b, err := os.Stat(staged)
	if err != nil || !a.Mode().IsRegular() || a.Size() != b.Size() {
		return false, err
	}
	left, err := os.Open(there)
	if err != nil {
		return false, err
	}
	defer left.Close()
	right, err := os.Open(staged)
	if err != nil {
		return false, err
	}
	defer right.Close()
	return equal(left, right)
}

// equal compares what two readers hold.
func equal(a, b io.Reader) (bool, error) {
	var bufA, bufB [32 << 10]byte
	for {
		n, errA := io.ReadFull(a, bufA[:])
		m, errB := io.ReadFull(b, bufB[:])
		if !bytes.Equal(bufA[:n], bufB[:m]) {
			return false, nil
		}
		switch {
		case errA == nil && errB == nil:
		case ended(errA) && ended(errB):
			return true, nil
		case ended(errA):
			return false, errB
		default:
			return false, errA
		}
	}
}

func ended(err error) bool { return err == io.EOF || err == io.ErrUnexpectedEOF }

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
