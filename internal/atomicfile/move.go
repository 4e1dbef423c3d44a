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

// Move renames a file. If to exists, the error matches fs.ErrExist. If err is nil, left
// reports that the old name could not be removed, so the file has both names.
func Move(from, to string) (left bool, err error) { return move(from, to, renameNew, os.Link) }

// move is Move with the given functions. The function rename must fail if to exists. If
// the file system supports neither function, move does not detect that another program
// creates to at the same time.
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

// unsupported reports whether err means that renaming or linking is not supported by the
// system or in this directory. EPERM is the error of file systems without hard links,
// and of directories from which files cannot be removed.
func unsupported(err error) bool {
	return errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EMLINK)
}

// createNamed creates a file with a temporary name and locks it, so that no other
// program removes it.
func createNamed(dir string, mode fs.FileMode) (*os.File, string, error) {
	for {
		path := filepath.Join(dir, temporaryPrefix+rand.Text()+temporarySuffix)
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
		if err != nil {
			return nil, "", err
		}
		if locked, err := tryLock(f); (locked || err != nil) && isAt(f, path) {
			return f, path, nil
		}
		f.Close() // it was removed before it was locked
	}
}

// isAt reports whether path refers to the open file f.
func isAt(f *os.File, path string) bool {
	is, err := f.Stat()
	if err != nil {
		return false
	}
	at, err := os.Lstat(path)
	return err == nil && os.SameFile(is, at)
}

// removeStale removes temporary files that no program has locked. It ignores errors.
func (d *Directory) removeStale() {
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
		if locked, err := tryLock(f); locked && err == nil && isAt(f, path) {
			_ = os.Remove(path)
		}
		f.Close()
	}
}

// ReplaceFile replaces the file at path, or creates it, and makes it durable. It
// overwrites any file, so it must not be used for evidence.
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

// Replace is like Publish for one file, but replaces a different regular file that has
// the name, if allow returns true. It calls allow with the existing and the staged file,
// while the directory is locked. The replacement is atomic, and the new file gets the
// permissions of the old. If allow returns false, the error matches fs.ErrExist.
func (d *Directory) Replace(ctx context.Context, f Named, allow SameFunc) error {
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
	if err := d.compare(f.Name, f.Reader(), allow); err != nil {
		return err
	}
	path := filepath.Join(d.path, f.Name)
	existing, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if f.temp == "" { // a file without a name cannot replace one
		f.mode = existing.Mode().Perm()
		if err := f.copyNamed(); err != nil {
			return err
		}
	}
	if err := f.chmod(existing.Mode().Perm()); err != nil {
		return errors.Join(nameDirectory(d.name, d.path, err), f.discard())
	}
	return f.replace(path)
}

// chmod sets the permissions of the file, unless it already has them.
func (s *Staged) chmod(mode fs.FileMode) error {
	info, err := s.file.Stat()
	if err == nil && info.Mode().Perm() != mode {
		err = s.file.Chmod(mode)
	}
	return err
}

// replace renames a file with a temporary name to path, which may exist. If that fails,
// it discards the file.
func (s *Staged) replace(path string) error {
	if err := os.Rename(s.temp, path); err != nil {
		if l, ok := errors.AsType[*os.LinkError](err); ok { // it contains the temporary name
			err = &fs.PathError{Op: "replace", Path: path, Err: l.Err}
		}
		return errors.Join(err, s.discard())
	}
	s.temp = ""
	return nil
}
