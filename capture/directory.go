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
	path   string
	root   *os.Root
	mode   fs.FileMode  // of the files, restricted by the umask
	remove func() error // removes the directories that were created, if they are empty
	files  []string     // names of created files
	left   []string     // temporary names that could not be removed
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
func makeDirectory(dir string) (*directory, error) {
	if dir == "" {
		return nil, errNoName
	}
	if err := CheckEmpty(dir); err != nil {
		return nil, err
	}
	d := &directory{path: filepath.Clean(dir), mode: 0o666}
	created, err := atomicfile.MakeDir(d.path)
	d.remove = func() error {
		var errs []error
		for i := len(created) - 1; i >= 0 && CheckEmpty(created[i]) == nil; i-- {
			errs = append(errs, os.Remove(created[i]))
		}
		return errors.Join(errs...)
	}
	if err == nil {
		d.root, err = os.OpenRoot(d.path)
	}
	if err != nil {
		return nil, errors.Join(err, d.remove())
	}
	return d, nil
}

// makeDirectoryIn creates the directory name in parent, which must not exist. Only the
// owner has access to it.
func makeDirectoryIn(parent *os.Root, name string) (*directory, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	if err := parent.Mkdir(name, 0o700); err != nil {
		return nil, err
	}
	d := &directory{path: filepath.Join(parent.Name(), name), mode: 0o600}
	d.remove = func() error { return parent.Remove(name) }
	var err error
	if d.root, err = openChild(parent, name); err == nil {
		err = atomicfile.SyncRoot(parent)
	}
	if err != nil {
		if d.root != nil {
			d.root.Close()
		}
		return nil, errors.Join(err, d.remove())
	}
	return d, nil
}

// create creates a file for writing. It fails if the file exists.
func (d *directory) create(name string) (*os.File, error) {
	f, err := d.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, d.mode)
	if err == nil {
		d.files = append(d.files, name)
	}
	return f, err
}

// claim creates and locks the file ClaimName. It fails if the directory has other
// entries, because another writer may have used the directory since CheckEmpty.
func (d *directory) claim() (*os.File, error) {
	f, err := d.create(ClaimName)
	if err != nil {
		return nil, err
	}
	err = d.lockClaim(f)
	var entries []fs.DirEntry
	if err == nil {
		entries, err = fs.ReadDir(d.root.FS(), ".")
	}
	if err == nil && (len(entries) != 1 || entries[0].Name() != ClaimName) {
		err = &occupiedError{"the directory " + d.path + " is no longer empty"}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// lockClaim locks the new file ClaimName. If Recover has set it aside before it was locked,
// lockClaim gives it its name again.
func (d *directory) lockClaim(f *os.File) error {
	_ = atomicfile.Lock(f) // without locks, Recover refuses the capture
	aside := ClaimName + RemainderSuffix
	if checkIs(d.root, aside, f) == nil {
		if left, err := atomicfile.MoveIn(d.root, aside, ClaimName); left || err != nil {
			return errors.Join(err, d.removeFile(aside))
		}
	}
	return checkIs(d.root, ClaimName, f)
}

// publish writes a file under a temporary name, makes its content durable, and then
// gives it its name. It returns the entry of the file. If the name exists, the error matches fs.ErrExist. The name is not
// durable before sync.
func (d *directory) publish(name string, content io.Reader) (*File, error) {
	temp := atomicfile.TemporaryName()
	s, err := d.store(temp)
	if err != nil {
		return nil, err
	}
	err = s.copy(content)
	file, closeErr := s.close()
	err = errors.Join(err, closeErr)
	var left bool
	if err == nil {
		left, err = atomicfile.MoveIn(d.root, temp, name)
	}
	switch {
	case err != nil:
		return nil, errors.Join(err, d.removeFile(temp))
	case left:
		d.left = append(d.left, temp)
	}
	d.files = append(d.files, name)
	return file, nil
}

// removeFile removes a file if it exists.
func (d *directory) removeFile(name string) error {
	if err := d.root.Remove(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// close closes the directory.
func (d *directory) close() error { return d.root.Close() }

// undo removes the created files, and the created directories that are empty.
func (d *directory) undo() error {
	var errs []error
	for _, name := range d.files {
		errs = append(errs, d.removeFile(name))
	}
	errs = append(errs, d.close(), d.remove())
	return errors.Join(errs...)
}

func (d *directory) sync() error { return atomicfile.SyncRoot(d.root) }
