package capture

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/p20export/p20export/internal/atomicfile"
)

// directory is a capture directory being written. It remembers what was made, to
// undo it.
type directory struct {
	path  string
	dirs  []string // made, outermost first
	files []string // made, as names within path
	left  bool     // the claim was published, and its temporary name stays
}

var errNoName = errors.New("the capture directory has no name")

// occupiedError says that something is where a capture was to be made. It matches
// fs.ErrExist, whose text would only repeat that.
type occupiedError struct{ text string }

func (e *occupiedError) Error() string { return e.text }

func (e *occupiedError) Is(target error) bool { return target == fs.ErrExist }

// CheckEmpty reports whether Create could make a capture in dir: nil when dir does
// not exist or is an empty directory, and an error that matches fs.ErrExist
// when something is there.
func CheckEmpty(dir string) error {
	info, err := os.Stat(dir) // opening a named pipe would wait
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

// makeDirectory makes dir and its missing parents, or takes an empty directory.
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

// create makes a new file for writing. It never opens an existing one.
func (d *directory) create(name string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(d.path, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err == nil {
		d.files = append(d.files, name)
	}
	return f, err
}

// claim makes the claim, and refuses the directory when anything else is there by
// now: another writer may have come and gone since it was vacant.
func (d *directory) claim() (*os.File, error) {
	f, err := d.create(ClaimName)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(d.path)
	if err == nil && (len(entries) != 1 || entries[0].Name() != ClaimName) {
		err = &occupiedError{"the directory " + d.path + " is not empty any more"}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// publish gives the claim its name, which nothing may have.
func (d *directory) publish(name string) (err error) {
	d.left, err = atomicfile.Move(filepath.Join(d.path, ClaimName), filepath.Join(d.path, name))
	return err
}

// remove removes a file.
func (d *directory) remove(name string) error {
	if err := os.Remove(filepath.Join(d.path, name)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// undo removes what was made: all files, and the directories unless something
// else has come into them.
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
