package capture

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Ready reports whether Create could begin a capture in dir with these settings:
// that their manifest can be written, and that the directory is vacant and can be
// made. It makes and changes nothing. What is not known yet may be missing: the
// kind of source and the framing.
func Ready(dir string, s Settings) error {
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
			return fmt.Errorf("%s is a link to nothing: %w", dir, fs.ErrExist)
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return err
		}
		dir = parent
	}
}

// Around returns the capture directory that a path is or lies in, or "". Nothing
// may be written there.
func Around(path string) (string, error) {
	at, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	for ; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ManifestName)); err == nil {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", nil
		}
	}
}
