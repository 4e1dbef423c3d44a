package capture

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// CheckCreate returns an error if Create would fail for dir and s: if the manifest
// cannot be encoded, or if the directory cannot be created or is not empty. It does
// not create or change anything. The kind of source and the framing may be empty.
func CheckCreate(dir string, s Settings) error {
	s.Source.Kind = cmp.Or(s.Source.Kind, KindFile)
	s.Framing = cmp.Or(s.Framing, SSE)
	m := newManifest(s, cmp.Or(s.StartedAt, time.Now()))
	if _, err := m.trial().Encode(); err != nil {
		return err
	}
	if dir == "" {
		return errNoName
	}
	if err := CheckEmpty(dir); err != nil {
		return err
	}
	if err := CheckOutside(dir); err != nil {
		return err
	}
	return checkParent(filepath.Clean(dir))
}

// checkParent returns an error if the nearest existing parent of dir, or dir itself,
// is not a directory that can be written to.
func checkParent(dir string) error {
	for {
		info, err := os.Stat(dir)
		switch {
		case err == nil && !info.IsDir():
			return &fs.PathError{Op: "mkdir", Path: dir, Err: syscall.ENOTDIR}
		case err == nil:
			return checkWritable(dir)
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
		if _, err := os.Lstat(dir); err == nil {
			return &occupiedError{dir + " is a broken symbolic link"}
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return err
		}
		dir = parent
	}
}

// InsideError reports a path that is a capture directory or is inside one. Nothing
// may be written there.
type InsideError struct {
	Path, Capture string
}

// Error returns a message with both paths.
func (e *InsideError) Error() string {
	return fmt.Sprintf("%s is inside the capture %s; nothing may be written there", e.Path, e.Capture)
}

// CheckOutside returns an *InsideError if path is a capture directory, closed or not,
// or is inside one. It follows symbolic links. The path need not exist.
func CheckOutside(path string) error {
	at := cmp.Or(path, ".")
	real, err := filepath.EvalSymlinks(at)
	for err != nil && at != "." && at != string(filepath.Separator) {
		// Dir would resolve link/../name differently than the system.
		parent, _ := filepath.Split(strings.TrimRight(at, string(filepath.Separator)))
		at = cmp.Or(parent, ".")
		real, err = filepath.EvalSymlinks(at)
	}
	if err != nil {
		return err
	}
	if real, err = filepath.Abs(real); err != nil {
		return err
	}
	for ; ; real = filepath.Dir(real) {
		for _, name := range []string{ManifestName, ClaimName} {
			if _, err := os.Lstat(filepath.Join(real, name)); err == nil {
				return &InsideError{path, real}
			}
		}
		if real == filepath.Dir(real) {
			return nil
		}
	}
}
