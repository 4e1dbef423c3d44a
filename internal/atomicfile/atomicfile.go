// Package atomicfile writes files that are either complete or absent. It replaces a file
// only if the caller asks for it.
//
// If the system supports it, a file is written without a name, synced, and then linked
// to its name, so that a killed program leaves nothing behind. Otherwise the file has a
// temporary name and is locked. If the program is killed, the next program that writes
// in the directory removes the file.
//
// There are two ways to write files. Create and Stage write single files, which Publish
// gives their names. Prepare writes sets of files, and Commit makes many sets durable
// together and then gives the files their names.
//
// The package knows files and directories. It must not know their content.
package atomicfile

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Directory is a directory to write files in.
type Directory struct {
	name  string // the caller's path, for errors
	path  string // the path without symbolic links
	file  *os.File
	named bool // always use temporary names

	created    []string  // the directories that CreateDirectory created, outermost first
	unsynced   []string  // those of them whose names are not durable
	opened     time.Time // before any file was staged
	syncFailed bool      // syncFileSystem has returned an error
}

// OpOpenDirectory is the operation in the errors of OpenDirectory.
const OpOpenDirectory = "open the directory"

// OpenDirectory opens a directory to write files in. It removes temporary files in the
// directory that no program has locked. An error is an *fs.PathError with the operation
// OpOpenDirectory.
func OpenDirectory(dir string) (*Directory, error) {
	// filepath.Join would resolve link/.. differently than the system.
	path, err := filepath.EvalSymlinks(dir)
	var f *os.File
	if err == nil {
		f, err = os.Open(path)
	}
	if err != nil {
		return nil, &fs.PathError{Op: OpOpenDirectory, Path: dir, Err: cause(err)}
	}
	d := &Directory{name: dir, path: path, file: f, named: !canLink(f), opened: time.Now()}
	d.removeStale()
	return d, nil
}

// CreateDirectory is like OpenDirectory, but creates the directory and its missing
// parents. The first Commit makes them durable. Close removes those that are still empty.
func CreateDirectory(dir string) (*Directory, error) {
	created, err := makeDir(dir)
	if err != nil {
		RemoveEmpty(created)
		return nil, err
	}
	d, err := OpenDirectory(dir)
	if err != nil {
		RemoveEmpty(created)
		return nil, err
	}
	d.created, d.unsynced = created, created
	return d, nil
}

// Close closes the directory. The caller must discard staged files that were not
// published. Close on a nil Directory does nothing.
func (d *Directory) Close() error {
	if d == nil {
		return nil
	}
	RemoveEmpty(d.created)
	return d.file.Close()
}

// Staged is a complete file that has no name yet, or a temporary name.
type Staged struct {
	in   *Directory
	file *os.File // nil if discarded
	size int64
	mode fs.FileMode // the permissions that the file was created with
	temp string      // the temporary path, or ""
	left bool        // published, but temp could not be removed
}

// Stage writes data to a file without a name and syncs it. The caller must publish or
// discard the file. The umask determines its permissions.
func (d *Directory) Stage(data []byte) (*Staged, error) {
	return d.Create(writing(data))
}

// writing returns a function that writes data.
func writing(data []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	}
}

// Create is like Stage, but calls write to write the file. If write fails, Create
// leaves nothing behind. Errors name the directory, not the temporary file.
func (d *Directory) Create(write func(io.Writer) error) (*Staged, error) {
	return d.create(0o666, write)
}

// StagePrivate is like Stage, for a file that only its owner can read.
func (d *Directory) StagePrivate(data []byte) (*Staged, error) {
	return d.create(0o600, writing(data))
}

// CreateReplacement is like Create, for a file that may replace the file with the given
// name. If that file exists, the new file is never readable by anyone who cannot read the
// old one, even before it is complete.
func (d *Directory) CreateReplacement(name string, write func(io.Writer) error) (*Staged, error) {
	mode := fs.FileMode(0o666)
	if info, err := os.Lstat(filepath.Join(d.path, name)); err == nil {
		mode &= info.Mode()
	}
	return d.create(mode, write)
}

// create is Create with permissions, which the umask restricts.
func (d *Directory) create(mode fs.FileMode, write func(io.Writer) error) (*Staged, error) {
	s, err := d.createUnsynced(mode, write)
	if err != nil {
		return nil, err
	}
	if s.size, err = s.file.Seek(0, io.SeekCurrent); err == nil {
		err = s.file.Sync()
	}
	if err != nil {
		s.Discard()
		return nil, nameDirectory(d.name, d.path, err)
	}
	return s, nil
}

// createUnsynced is like create, but does not sync the file and does not set its size.
func (d *Directory) createUnsynced(mode fs.FileMode, write func(io.Writer) error) (*Staged, error) {
	s := &Staged{in: d, mode: mode}
	var err error
	if !d.named {
		s.file, err = openUnnamed(d.path, mode)
	}
	if d.named || err != nil {
		s.file, s.temp, err = createNamed(d.path, mode)
	}
	if err == nil {
		err = write(s.file)
	}
	if err != nil {
		s.Discard()
		return nil, nameDirectory(d.name, d.path, err)
	}
	return s, nil
}

// nameDirectory replaces the path in an error about a temporary or unnamed file in the
// directory path by the name of the directory. It returns other errors unchanged.
func nameDirectory(name, path string, err error) error {
	if p, ok := asTemporary(path, err); ok {
		return &fs.PathError{Op: "write a file in", Path: name, Err: p.Err}
	}
	return err
}

// asTemporary returns err as a path error, and reports whether the error is about a file
// in dir that has no name or a temporary name.
func asTemporary(dir string, err error) (*fs.PathError, bool) {
	p, ok := errors.AsType[*fs.PathError](err)
	return p, ok && (p.Path == dir || IsTemporary(filepath.Base(p.Path)))
}

// Reader returns a reader of the staged file.
func (s *Staged) Reader() *io.SectionReader { return io.NewSectionReader(s.file, 0, s.size) }

// Discard removes the staged file, unless it was published. Discarding it again does
// nothing. A temporary file that cannot be removed remains.
func (s *Staged) Discard() { _ = s.discard() }

func (s *Staged) discard() (err error) {
	if s == nil || s.file == nil {
		return nil
	}
	if s.temp != "" && !s.left {
		if err = os.Remove(s.temp); err != nil {
			err = fmt.Errorf("the temporary file %s could not be removed: %w", s.temp, cause(err))
		}
	}
	s.file.Close() // releases the lock of a temporary file
	s.file = nil
	return err
}

// Named is a staged file with its final name, and a function that compares it with an
// existing file of that name.
type Named struct {
	*Staged
	Name string
	Same SameFunc
}

// Has reports whether the directory already has a file with the given name for which
// same, called with the file and data, returns true. Then the file need not be staged.
// Has waits like Publish, because another program could still remove a file that it
// published.
func (d *Directory) Has(ctx context.Context, name string, data []byte, same SameFunc) (bool, error) {
	if err := d.lock(ctx); err != nil {
		return false, err
	}
	defer unlock(d.file)
	return d.has(name, data, same), nil
}

// has is Has for a locked directory.
func (d *Directory) has(name string, data []byte, same SameFunc) bool {
	return d.compare(name, io.NewSectionReader(bytes.NewReader(data), 0, int64(len(data))), same) == nil
}

// Publish gives the staged files their names, in order. If one of them fails, Publish
// removes the files it has published, so that all files are published or none. If a
// file with the name exists and is the same, it is used; if it is not the same, the
// error matches fs.ErrExist. If a published file cannot be removed, the error says so.
//
// If another program is publishing in the directory, Publish waits for it, until ctx is
// done, so that it never uses a file that the other program removes. File systems
// without locks do not have this guarantee.
//
// The names are not durable before Sync.
func (d *Directory) Publish(ctx context.Context, files ...Named) error {
	if err := d.lock(ctx); err != nil {
		return err
	}
	defer unlock(d.file)
	return d.publishAll(files)
}

// publishAll is Publish for a locked directory.
func (d *Directory) publishAll(files []Named) error {
	for _, f := range files {
		if err := d.compare(f.Name, f.Reader(), f.Same); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	var named []string
	for _, f := range files {
		created, err := d.publish(f)
		if err != nil {
			return errors.Join(err, removeAll(named))
		}
		if created {
			named = append(named, filepath.Join(d.path, f.Name))
		}
	}
	return nil
}

// publish gives a file its name. It reports whether it created the name. If it did not
// and err is nil, an existing file is the same.
func (d *Directory) publish(f Named) (created bool, err error) {
	to := filepath.Join(d.path, f.Name)
	if f.temp == "" {
		if err = link(f.file, to); unsupported(err) {
			err = f.copyNamed()
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
	if l, ok := errors.AsType[*os.LinkError](err); ok { // it contains the temporary name
		err = &fs.PathError{Op: "create", Path: to, Err: l.Err}
	}
	return false, err
}

// copyNamed replaces a file without a name by a copy with a temporary name. It is for
// file systems that have files without names but cannot link them.
func (s *Staged) copyNamed() error {
	f, temp, err := createNamed(s.in.path, s.mode)
	if err != nil {
		return nameDirectory(s.in.name, s.in.path, err)
	}
	named := &Staged{in: s.in, file: f, temp: temp, size: s.size, mode: s.mode}
	_, err = io.Copy(f, s.Reader())
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		named.Discard()
		return nameDirectory(s.in.name, s.in.path, err)
	}
	s.Discard()
	*s = *named
	return nil
}

// removeAll removes files that were published.
func removeAll(paths []string) error {
	var errs []error
	for _, path := range paths {
		if err := os.Remove(path); err != nil {
			errs = append(errs, &leftError{path, err})
		}
	}
	return errors.Join(errs...)
}

// leftError reports a published file that could not be removed.
type leftError struct {
	path string
	err  error
}

func (e *leftError) Error() string {
	return e.path + " was already published and could not be removed: " + cause(e.err).Error()
}

func (e *leftError) Unwrap() error { return e.err }

// cause returns err without the paths of a path error or link error.
func cause(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	if l, ok := errors.AsType[*os.LinkError](err); ok {
		return l.Err
	}
	return err
}

// LeftoverNames returns the temporary names of published files that could not be
// removed, for example because the directory only allows adding files.
func LeftoverNames(files ...Named) (names []string) {
	for _, f := range files {
		if f.Staged != nil && f.left {
			names = append(names, f.temp)
		}
	}
	return names
}

// Sync makes the names of published files durable. The error is an *UnsyncedError.
func (d *Directory) Sync() error { return WrapUnsynced(d.name, syncDir(d.file)) }

const (
	temporaryPrefix = ".p20export-"
	temporarySuffix = ".tmp"
	randomLength    = 26                                 // of a text of crypto/rand.Text
	base32          = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567" // its letters
)

// TemporaryName returns a temporary name that nothing else has.
func TemporaryName() string { return temporaryPrefix + rand.Text() + temporarySuffix }

// IsTemporary reports whether name is a temporary name of this package: the prefix, the
// text of crypto/rand.Text, and the suffix.
func IsTemporary(name string) bool {
	name, isTemp := strings.CutPrefix(name, temporaryPrefix)
	text, hasSuffix := strings.CutSuffix(name, temporarySuffix)
	return isTemp && hasSuffix && len(text) == randomLength && strings.Trim(text, base32) == ""
}
