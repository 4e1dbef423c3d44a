// Package service contains what servers of this program need besides their handlers: the
// directory that they store captures in, recovery after a crash, freezing in the
// background, and serving until a signal.
package service

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/internal/atomicfile"
)

// Store is a directory of captures.
type Store struct {
	// Path is the path of the directory as it was given.
	Path string
	// Root is the open directory.
	Root *os.Root

	shared *os.File // the directory, marked as used, or nil

	now     func() time.Time       // time.Now, except in tests
	write   func(dir string) error // writeUnnamed, except in tests
	written time.Time              // when Probe wrote last
	failed  error                  // of that time
}

// OpenStore opens the directory at path. If it does not exist, it is created, so that only
// its owner can use it. A symbolic link is refused, because it could point to another
// directory at the next start.
func OpenStore(path string) (*Store, error) {
	dir := filepath.Clean(path) // without a slash at the end, which would follow a link
	info, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		info, err = create(dir)
	}
	switch {
	case err != nil:
		return nil, err
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, fmt.Errorf("%s is a symbolic link, not a directory", path)
	case !info.IsDir():
		return nil, fmt.Errorf("%s is not a directory", path)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	opened, err := root.Stat(".")
	if err == nil && !os.SameFile(info, opened) {
		err = fmt.Errorf("%s was replaced while it was opened", path)
	}
	if err != nil {
		root.Close()
		return nil, err
	}
	return &Store{Path: path, Root: root, now: time.Now, write: writeUnnamed}, nil
}

// create creates a directory and its missing parents and makes them durable.
func create(dir string) (fs.FileInfo, error) {
	parent := filepath.Dir(dir)
	if _, err := atomicfile.MakeDir(parent); err != nil {
		return nil, err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	if err := atomicfile.SyncDir(parent); err != nil {
		return nil, err
	}
	return os.Lstat(dir)
}

// Share marks the directory as used by this program until it ends, and logs if another one
// uses it. That is allowed, and the captures of both are kept, but it may be a mistake.
func (s *Store) Share(log *slog.Logger) {
	dir, err := s.Root.Open(".")
	if err != nil {
		return // the directory is used without this check
	}
	s.shared = dir
	if others, err := atomicfile.Share(dir); err == nil && others {
		log.Warn("another proxy or serve is recording into the same directory of captures; each freezes what it finds there, and appends it to its event log", "directory", s.Path)
	}
}

// closed returns the names of the closed captures in the store that are not less than from.
// An error ends them.
func (s *Store) closed(from string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		dir, err := s.Root.Open(".")
		if err != nil {
			yield("", err)
			return
		}
		defer dir.Close()
		for {
			entries, err := dir.ReadDir(256)
			for _, e := range entries {
				if !e.IsDir() || e.Name() < from {
					continue
				}
				manifest, err := s.Root.Lstat(filepath.Join(e.Name(), capture.ManifestName))
				if err != nil || !manifest.Mode().IsRegular() {
					continue // not closed yet, or not a capture
				}
				if !yield(e.Name(), nil) {
					return
				}
			}
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield("", err)
				return
			}
		}
	}
}

const (
	// probeBytes is the size of the file that Probe writes.
	probeBytes = 64 << 10
	// probeInterval is the shortest time between two writes of Probe.
	probeInterval = 10 * time.Second
)

// Probe checks that the path still leads to the open directory, and that files can be
// written to it and made durable. It leaves nothing behind. If it wrote less than
// probeInterval ago, it writes nothing and returns the result of that time. It must not be
// called concurrently.
func (s *Store) Probe() error {
	dir := filepath.Clean(s.Path)
	there, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	opened, err := s.Root.Stat(".")
	if err != nil {
		return err
	}
	if !os.SameFile(there, opened) {
		return fmt.Errorf("%s is not the directory that was opened; captures still go to that one: restart p20export", s.Path)
	}
	if now := s.now(); s.written.IsZero() || now.Sub(s.written) >= probeInterval {
		s.written, s.failed = now, s.write(dir)
	}
	return s.failed
}

// writeUnnamed writes a file without a name to a directory and makes it durable.
func writeUnnamed(dir string) error {
	f, err := atomicfile.CreateUnnamed(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Write(make([]byte, probeBytes)); err != nil {
		return err
	}
	return f.Sync()
}

// Close closes the directory.
func (s *Store) Close() error {
	if s.shared != nil {
		s.shared.Close()
	}
	return s.Root.Close()
}
