// Package atomicfile writes files that are there whole or not at all. It replaces
// a file only where the caller asks for that.
//
// A file is written under no name where the system has such files, synced, and
// then given its name in one step. A killed program leaves nothing there. Where
// it needs a temporary name, the file is locked, and the next program that
// writes in the directory removes it.
//
// It knows files and directories, and nothing of what is in them.
package atomicfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Directory is a directory that files are written in.
type Directory struct {
	name  string // as the caller named it, for errors
	path  string // without links
	file  *os.File
	named bool // files get temporary names at once; for tests
}

// OpenDirectory opens a directory to write files in, and removes the temporary
// files there that no program holds any more.
func OpenDirectory(dir string) (*Directory, error) {
	// Where dir is link/.. the path is another than Join makes of it.
	path, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	d := &Directory{name: dir, path: path, file: f}
	d.reap()
	return d, nil
}

// Close closes the directory. What was staged and not published is discarded
// by the caller. Closing no directory does nothing.
func (d *Directory) Close() error {
	if d == nil {
		return nil
	}
	return d.file.Close()
}

// Staged is a complete file that has no name yet, or a temporary one.
type Staged struct {
	in   *Directory
	file *os.File // nil when it was discarded
	size int64
	temp string // the path; empty without a name
	left bool   // it was published, and temp could not be removed
}

// Stage writes data to a file without a name and syncs it. It is published or
// discarded by the caller. Who may read the file is for the umask to say.
func (d *Directory) Stage(data []byte) (*Staged, error) {
	return d.Create(func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// Create is Stage for a file that write writes. When write fails nothing is
// left. Errors name the directory, not the temporary file.
func (d *Directory) Create(write func(io.Writer) error) (*Staged, error) {
	s := &Staged{in: d}
	var err error
	if !d.named {
		s.file, err = openLinkable(d.path)
	}
	if d.named || err != nil {
		s.file, s.temp, err = createNamed(d.path)
	}
	if err == nil {
		err = write(s.file)
	}
	if err == nil {
		s.size, err = s.file.Seek(0, io.SeekCurrent)
	}
	if err == nil {
		err = s.file.Sync()
	}
	if err != nil {
		s.Discard()
		return nil, inDirectory(d.name, d.path, err)
	}
	return s, nil
}

// inDirectory names the directory in an error about a file in it that has no
// name, or a temporary one.
func inDirectory(name, path string, err error) error {
	if p, ok := ofTemporary(path, err); ok {
		return &fs.PathError{Op: "write a file in", Path: name, Err: p.Err}
	}
	return err
}

// ofTemporary reports whether an error is about a file without a name in a
// directory, or about one with a temporary name.
func ofTemporary(dir string, err error) (*fs.PathError, bool) {
	p, ok := errors.AsType[*fs.PathError](err)
	return p, ok && (p.Path == dir || IsTemporary(filepath.Base(p.Path)))
}

// Reader returns a reader of the staged file.
func (s *Staged) Reader() *io.SectionReader { return io.NewSectionReader(s.file, 0, s.size) }

// Discard removes the staged file, unless it was published. Discarding again does
// nothing. A temporary file that cannot be removed stays.
func (s *Staged) Discard() { _ = s.discard() }

func (s *Staged) discard() (err error) {
	if s == nil || s.file == nil {
		return nil
	}
	if s.temp != "" && !s.left {
		if err = os.Remove(s.temp); err != nil {
			err = fmt.Errorf("the temporary file %s stays there: %w", s.temp, cause(err))
		}
	}
	s.file.Close() // which holds the lock of a temporary name
	s.file = nil
	return err
}

// Named is a staged file with the name it is to have, and what counts as the
// same file.
type Named struct {
	*Staged
	Name string
	Same SameFunc
}

// Has reports whether the directory has a file of that name that is the same as
// one with this data would be: then it need not be staged. It waits as Publish
// does, so that what another program may take back is not counted.
func (d *Directory) Has(ctx context.Context, name string, data []byte, same SameFunc) (bool, error) {
	if err := d.lock(ctx); err != nil {
		return false, err
	}
	defer unlock(d.file)
	return d.compare(name, io.NewSectionReader(bytes.NewReader(data), 0, int64(len(data))), same) == nil, nil
}

// Publish gives staged files of the directory their names, in their order, or
// none of them: when any of the names is taken by another file, or a name
// cannot be given, those given before are taken back. A file that is there and
// is the same counts as published; any other is an error that matches
// fs.ErrExist. What cannot be taken back stays, and the error says so.
//
// Of two programs that publish in a directory one waits for the other, so that
// neither counts as its own what the other takes back; a file system without
// locks has no such order. Waiting ends with the context.
//
// The names are not durable before Sync.
func (d *Directory) Publish(ctx context.Context, files ...Named) error {
	if err := d.lock(ctx); err != nil {
		return err
	}
	defer unlock(d.file)
	for _, f := range files {
		if err := d.compare(f.Name, f.Reader(), f.Same); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	var named []string
	for _, f := range files {
		made, err := d.publish(f)
		if err != nil {
			return errors.Join(err, takeBack(named))
		}
		if made {
			named = append(named, filepath.Join(d.path, f.Name))
		}
	}
	return nil
}

// publish gives a file its name and reports whether it made that file.
func (d *Directory) publish(f Named) (made bool, err error) {
	to := filepath.Join(d.path, f.Name)
	if f.temp == "" {
		if err = link(f.file, to); unsupported(err) {
			err = f.takeName()
		}
	}
	if f.temp != "" {
		f.left, err = Move(f.temp, to)
	}
	switch {
	case err == nil:
		if f.temp != "" && !f.left {
			f.temp = ""
		}
		return true, nil
	case errors.Is(err, fs.ErrExist):
		return false, d.compare(f.Name, f.Reader(), f.Same)
	}
	if l, ok := errors.AsType[*os.LinkError](err); ok { // which names the temporary file
		err = &fs.PathError{Op: "create", Path: to, Err: l.Err}
	}
	return false, err
}

// takeName copies a file without a name into one with a temporary name, for a file
// system that has the one and cannot link it.
func (s *Staged) takeName() error {
	f, temp, err := createNamed(s.in.path)
	if err != nil {
		return inDirectory(s.in.name, s.in.path, err)
	}
	named := &Staged{in: s.in, file: f, temp: temp, size: s.size}
	_, err = io.Copy(f, s.Reader())
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		named.Discard()
		return inDirectory(s.in.name, s.in.path, err)
	}
	s.Discard()
	*s = *named
	return nil
}

// takeBack removes files that were published.
func takeBack(paths []string) error {
	var errs []error
	for _, path := range paths {
		if err := os.Remove(path); err != nil {
			errs = append(errs, &leftError{path, err})
		}
	}
	return errors.Join(errs...)
}

// leftError is about a published file that could not be taken back.
type leftError struct {
	path string
	err  error
}

func (e *leftError) Error() string {
	return e.path + " was written before that and stays there: " + cause(e.err).Error()
}

func (e *leftError) Unwrap() error { return e.err }

// cause returns the error of the system in one that names a path.
func cause(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}

// LeftoverNames returns the temporary names of published files that could not be removed,
// as in a directory that files can only be added to.
func LeftoverNames(files ...Named) (names []string) {
	for _, f := range files {
		if f.Staged != nil && f.left {
			names = append(names, f.temp)
		}
	}
	return names
}

// Sync makes the names of published files durable. Its error is an
// *UnsyncedError.
func (d *Directory) Sync() error { return WrapUnsynced(d.name, syncDir(d.file)) }

const (
	temporaryPrefix = ".p20export-"
	temporarySuffix = ".tmp"
)

// IsTemporary reports whether files that are being written have such names.
func IsTemporary(name string) bool {
	return strings.HasPrefix(name, temporaryPrefix) && strings.HasSuffix(name, temporarySuffix)
}
