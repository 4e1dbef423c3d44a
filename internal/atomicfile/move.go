package atomicfile

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Move gives the file at from the name to, which nothing may have: what has it
// is an error that matches fs.ErrExist. After success the file has the name; left
// reports that it has the old one as well, which could not be removed.
func Move(from, to string) (left bool, err error) { return move(from, to, renameNew, os.Link) }

// move is Move by these ways of renaming a file to a name that nothing has, and of
// giving it a second name. On a file system with neither, two programs that move
// files to one name at the same moment are not told apart.
func move(from, to string, rename, link func(from, to string) error) (left bool, err error) {
	if err := rename(from, to); !unsupported(err) {
		return false, err
	}
	if err := link(from, to); err == nil {
		return os.Remove(from) != nil, nil
	} else if !unsupported(err) {
		return false, err
	}
	if _, err := os.Lstat(to); err == nil {
		return false, &fs.PathError{Op: "rename", Path: to, Err: fs.ErrExist}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	return false, os.Rename(from, to)
}

// unsupported reports whether a way of renaming or linking is not there, or not
// in this directory. EPERM is both what file systems without hard links answer and
// directories from which nothing can be taken.
func unsupported(err error) bool {
	return errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EMLINK)
}

// createNamed creates a file under a temporary name and locks it, so that no
// other program removes it.
func createNamed(dir string) (*os.File, string, error) {
	for {
		path := filepath.Join(dir, temporaryPrefix+rand.Text()+temporarySuffix)
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
		if err != nil {
			return nil, "", err
		}
		if taken, err := tryLock(f); (taken || err != nil) && isAt(f, path) {
			return f, path, nil
		}
		f.Close() // it was removed before it was locked
	}
}

// isAt reports whether a file has a path.
func isAt(f *os.File, path string) bool {
	is, err := f.Stat()
	if err != nil {
		return false
	}
	at, err := os.Lstat(path)
	return err == nil && os.SameFile(is, at)
}

// reap removes temporary files that no program holds. What cannot be removed
// stays.
func (d *Directory) reap() {
	entries, _ := os.ReadDir(d.path)
	for _, e := range entries {
		if !IsTemporary(e.Name()) || !e.Type().IsRegular() {
			continue
		}
		path := filepath.Join(d.path, e.Name())
		f, err := os.Open(path)
		if err != nil {
			continue
		}
		if free, err := tryLock(f); free && err == nil && isAt(f, path) {
			_ = os.Remove(path)
		}
		f.Close()
	}
}

// ReplaceFile writes a file whole, in place of what had its name, and makes it
// durable. It is for files that are no evidence.
func ReplaceFile(path string, data []byte) error {
	dir, name := filepath.Split(path)
	d, err := OpenDirectory(filepath.Clean(dir))
	if err != nil {
		return err
	}
	defer d.Close()
	d.named = true // a file without a name cannot replace one
	s, err := d.Stage(data)
	if err != nil {
		return err
	}
	defer s.Discard()
	if err := s.replace(filepath.Join(d.path, name)); err != nil {
		return err
	}
	return d.Sync()
}

// Replace gives a staged file its name as Publish does, or puts it in place of another
// regular file that has the name, if may allows that. It calls may with the file there
// and the staged one while the directory is locked. The name has the old file or the
// new one at any moment; the new one has the permissions of the old. A file that may
// not be replaced is an error that matches fs.ErrExist.
func (d *Directory) Replace(ctx context.Context, f Named, may SameFunc) error {
	if err := d.lock(ctx); err != nil {
		return err
	}
	defer unlock(d.file)
	err := d.compare(f.Name, f.Reader(), f.Same)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		_, err = d.publish(f)
		return err
	case !errors.Is(err, fs.ErrExist):
		return err
	}
	if err := d.compare(f.Name, f.Reader(), may); err != nil {
		return err
	}
	path := filepath.Join(d.path, f.Name)
	there, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if f.temp == "" { // a file without a name cannot replace one
		if err := f.takeName(); err != nil {
			return err
		}
	}
	if err := f.chmod(there.Mode().Perm()); err != nil {
		return errors.Join(inDirectory(d.name, d.path, err), f.discard())
	}
	return f.replace(path)
}

// chmod gives the file these permissions, unless it has them.
func (s *Staged) chmod(mode fs.FileMode) error {
	info, err := s.file.Stat()
	if err == nil && info.Mode().Perm() != mode {
		err = s.file.Chmod(mode)
	}
	return err
}

// replace puts a file with a temporary name in place of the one at path. If that fails
// the file is discarded.
func (s *Staged) replace(path string) error {
	if err := os.Rename(s.temp, path); err != nil {
		if l, ok := errors.AsType[*os.LinkError](err); ok { // which names the temporary file
			err = &fs.PathError{Op: "replace", Path: path, Err: l.Err}
		}
		return errors.Join(err, s.discard())
	}
	s.temp = ""
	return nil
}
