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

// CheckCreate reports whether Create could begin a capture in dir with these settings:
// that their manifest can be written, and that the directory is vacant and can be
// made. It makes and changes nothing. What is not known yet may be missing: the
// kind of source and the framing.
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
	return makeable(filepath.Clean(dir))
}

// makeable reports whether the nearest thing that is there is a directory to
// write in.
func makeable(dir string) error {
	for {
		info, err := os.Stat(dir)
		switch {
		case err == nil && !info.IsDir():
			return &fs.PathError{Op: "mkdir", Path: dir, Err: syscall.ENOTDIR}
		case err == nil:
			return writable(dir)
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
		if _, err := os.Lstat(dir); err == nil {
			return &occupiedError{dir + " is a link to nothing"}
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return err
		}
		dir = parent
	}
}

// InsideError is about a path that is or lies in a capture directory, where
// nothing may be written.
type InsideError struct {
	Path, Capture string
}

// Error names both.
func (e *InsideError) Error() string {
	return fmt.Sprintf("%s lies in the capture %s, which nothing is written into", e.Path, e.Capture)
}

// CheckOutside reports whether something may be written to a path: an *InsideError
// when it is or lies in a capture, closed or not. Links are followed. The path need
// not be there.
func CheckOutside(path string) error {
	at := cmp.Or(path, ".")
	real, err := filepath.EvalSymlinks(at)
	for err != nil && at != "." && at != string(filepath.Separator) {
		// Dir would make another path of link/../name than the system does.
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
