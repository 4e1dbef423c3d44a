package capture

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/p20export/p20export/internal/atomicfile"
)

// directory is a capture directory that is being written. It records what it
// created, for undo.
type directory struct {
	path  string
	dirs  []string // created directories, outermost first
	files []string // names of created files
	left  bool     // the claim was published, but its temporary name remains
}

var errNoName = errors.New("the capture directory has no name")

// occupiedError reports that a capture cannot be created because something exists at
// its path. It matches fs.ErrExist, but its text does not include that of
// fs.ErrExist.
type occupiedError struct{ text string }

func (e *occupiedError) Error() string { return e.text }

func (e *occupiedError) Is(target error) bool { return target == fs.ErrExist }

// CheckEmpty returns nil if dir does not exist or is an empty directory. If dir is a
// file or a directory that is not empty, the error matches fs.ErrExist.
func CheckEmpty(dir string) error {
	info, err := os.Stat(dir) // opening a named pipe would block
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return &occupiedError{dir + " is not a directory"}
	}
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	switch _, err := f.Readdirnames(1); err {
	case io.EOF:
		return nil
	case nil:
		return &occupiedError{"the directory " + dir + " is not empty"}
	default:
		return err
	}
}

// makeDirectory creates dir and its missing parents. If dir exists, it must be an
// empty directory.
func makeDirectory(dir string) (_ *directory, err error) {
	if dir == "" {
		return nil, errNoName
	}
	if err := CheckEmpty(dir); err != nil {
		return nil, err
	}
	d := &directory{path: filepath.Clean(dir)}
	if d.dirs, err = atomicfile.MakeDir(d.path); err != nil {
		return nil, errors.Join(err, d.undo())
	}
	return d, nil
}

// create creates a file for writing. It fails if the file exists.
func (d *directory) create(name string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(d.path, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err == nil {
		d.files = append(d.files, name)
	}
	return f, err
}

// claim creates the file ClaimName. It fails if the directory has other entries,
// because another writer may have used the directory since CheckEmpty.
func (d *directory) claim() (*os.File, error) {
	f, err := d.create(ClaimName)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(d.path)
	if err == nil && (len(entries) != 1 || entries[0].Name() != ClaimName) {
		err = &occupiedError{"the directory " + d.path + " is no longer empty"}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// publish renames the claim to name. It fails if name exists.
func (d *directory) publish(name string) (err error) {
	d.left, err = atomicfile.Move(filepath.Join(d.path, ClaimName), filepath.Join(d.path, name))
	return err
}

// remove removes a file if it exists.
func (d *directory) remove(name string) error {
	if err := os.Remove(filepath.Join(d.path, name)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// undo removes the created files, and the created directories that are empty.
func (d *directory) undo() error {
	var errs []error
	for _, name := range d.files {
		errs = append(errs, d.remove(name))
	}
	for i := len(d.dirs) - 1; i >= 0; i-- {
		if CheckEmpty(d.dirs[i]) != nil {
			break
		}
		errs = append(errs, os.Remove(d.dirs[i]))
	}
	return errors.Join(errs...)
}

func (d *directory) sync() error { return atomicfile.SyncDir(d.path) }
