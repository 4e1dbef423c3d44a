package atomicfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Move renames a file. If to exists, the error matches fs.ErrExist. If err is nil, left
// reports that the old name could not be removed, so the file has both names.
func Move(from, to string) (left bool, err error) {
	return mover{renameNew, os.Link, os.Remove, os.Lstat, os.Rename}.move(from, to)
}

// MoveIn is Move for names in the directory root.
func MoveIn(root *os.Root, from, to string) (left bool, err error) {
	dir, err := root.Open(".")
	if err != nil {
		return false, err
	}
	defer dir.Close()
	return mover{
		renameNew: func(from, to string) error { return renameNewIn(dir, from, to) },
		link:      func(from, to string) error { return Retry(func() error { return root.Link(from, to) }) },
		remove:    root.Remove,
		lstat: func(name string) (info fs.FileInfo, err error) {
			err = Retry(func() error { info, err = root.Lstat(name); return err })
			return info, err
		},
		rename: func(from, to string) error { return Retry(func() error { return root.Rename(from, to) }) },
	}.move(from, to)
}

// Retry repeats a call that a signal interrupts. On file systems such as NFS and FUSE any
// call can be interrupted. Most functions of package os repeat it themselves, but the
// methods Link, Lstat and Rename of os.Root do not in Go 1.26.
func Retry(call func() error) error {
	for {
		if err := call(); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// mover has the functions of the system that move uses. The function renameNew must fail
// if to exists.
type mover struct {
	renameNew, link func(from, to string) error
	remove          func(name string) error
	lstat           func(name string) (fs.FileInfo, error)
	rename          func(from, to string) error
}

// move is Move with the functions of m. If the file system supports neither renameNew nor
// link, move does not detect that another program creates to at the same time.
func (m mover) move(from, to string) (left bool, err error) {
	if err := m.renameNew(from, to); !unsupported(err) {
		return false, err
	}
	if err := m.link(from, to); err == nil {
		return m.remove(from) != nil, nil
	} else if !unsupported(err) {
		return false, err
	}
	if _, err := m.lstat(to); err == nil {
		return false, &fs.PathError{Op: "rename", Path: to, Err: fs.ErrExist}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	return false, m.rename(from, to)
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
		path := filepath.Join(dir, TemporaryName())
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
		if err != nil {
			return nil, "", err
		}
		if locked, err := TryLock(f); (locked || err != nil) && isAt(f, path) {
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

// removeStale removes temporary files that no program has locked. It ignores errors. It
// does nothing while another program publishes in the directory, because a file that is
// being replaced has a temporary name for a moment.
func (d *Directory) removeStale() {
	locked, err := TryLock(d.file)
	if err != nil || !locked {
		return
	}
	defer unlock(d.file)
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
		if locked, err := TryLock(f); locked && err == nil && isAt(f, path) {
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
// permissions of the old. If allow returns false, or another program changes the file
// while it is replaced, the error matches fs.ErrExist.
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
	existing, err := d.compareInfo(f.Name, f.Reader(), allow)
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
	return f.replaceChecked(filepath.Join(d.path, f.Name), existing, renameExchange)
}

// replaceChecked is like replace, but fails if the file at path is no longer the one that
// was checked. The function exchange must exchange the names of two files. If it is not
// supported, replaceChecked does not detect a change between its check and the renaming.
func (s *Staged) replaceChecked(path string, checked fs.FileInfo, exchange func(a, b string) error) error {
	if err := checkUnchanged(path, checked); err != nil {
		return errors.Join(err, s.discard())
	}
	err := exchange(s.temp, path)
	if unsupported(err) {
		return s.replace(path)
	}
	if err != nil {
		return errors.Join(&fs.PathError{Op: "replace", Path: path, Err: cause(err)}, s.discard())
	}
	if err = checkUnchanged(s.temp, checked); !errors.Is(err, fs.ErrExist) {
		// If the file cannot be read, it may be another one, and keeps its temporary name.
		if s.left = err != nil || os.Remove(s.temp) != nil; !s.left {
			s.temp = ""
		}
		return nil
	}
	// Another file was replaced: put it back.
	err = exchange(s.temp, path)
	if err == nil && isAt(s.file, s.temp) {
		return errors.Join(errChanged(path), s.discard())
	}
	other := s.temp
	s.temp = "" // it is not ours
	return errors.Join(fmt.Errorf("%w; the other file is now %s", errChanged(path), other), cause(err))
}

// checkUnchanged returns an error if path does not refer to the file that info describes,
// or the file was changed. The error matches fs.ErrNotExist if nothing has the name, and
// fs.ErrExist if it is another file.
func checkUnchanged(path string, info fs.FileInfo) error {
	now, err := os.Lstat(path)
	if err == nil && !(os.SameFile(info, now) && info.Size() == now.Size() && info.Mode() == now.Mode() && info.ModTime().Equal(now.ModTime())) {
		err = errChanged(path)
	}
	return err
}

func errChanged(path string) error {
	return fmt.Errorf("%s: %w and was changed by another program", path, fs.ErrExist)
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
