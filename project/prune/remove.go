package prune

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/internal/atomicfile"
)

// content is what a directory contains.
type content struct {
	names   []string // all entries, the manifest first
	bytes   int64
	changed time.Time // the last change to a file
	foreign string    // an entry that is not a file of a capture, or ""
}

// list returns the content of a directory.
func (p *pruner) list(rel string) (content, error) {
	var c content
	f, err := p.root.Open(rel)
	if err != nil {
		return c, err
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	if err != nil {
		return c, err
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || !capture.IsFileName(e.Name()) {
			c.foreign = e.Name()
			continue
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // a claim or a temporary file that was removed since
		}
		if err != nil {
			return c, err
		}
		c.bytes += info.Size()
		if info.ModTime().After(c.changed) {
			c.changed = info.ModTime()
		}
		c.names = append(c.names, e.Name())
	}
	// Without its manifest, nothing takes the rest for a capture.
	slices.SortFunc(c.names, func(a, b string) int {
		return rank(a) - rank(b)
	})
	return c, nil
}

// unlisted returns the name of a file that the manifest does not list, unless it is a
// temporary one, or "".
func (c content) unlisted(m *capture.Manifest) string {
	listed := []string{capture.ManifestName, capture.ClaimName, m.Framing.FileName()}
	if m.Files.Request != nil {
		listed = append(listed, capture.RequestName)
	}
	if m.Files.Arrivals != nil {
		listed = append(listed, capture.ArrivalsName)
	}
	for _, name := range c.names {
		if !slices.Contains(listed, name) && !atomicfile.IsTemporary(name) {
			return name
		}
	}
	return ""
}

func rank(name string) int {
	if name == capture.ManifestName {
		return 0
	}
	return 1
}

// remove removes a directory with the named files. It makes the new name of the directory
// durable before it removes a file, so that a crash leaves either the whole directory or
// one with a temporary name.
func (p *pruner) remove(d capture.Directory, names []string) error {
	rel := d.Rel
	if d.State != capture.Removed {
		rel = filepath.Join(filepath.Dir(d.Rel), atomicfile.TemporaryName())
		if err := atomicfile.Retry(func() error { return p.root.Rename(d.Rel, rel) }); err != nil {
			return err
		}
		if err := p.sync(filepath.Dir(rel)); err != nil {
			return err
		}
	}
	// Something else may have taken the place of the directory since it was listed.
	info, err := p.root.Lstat(rel)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is no longer a directory; it is now named %s", d.Path, filepath.Base(rel))
	}
	dir, err := p.root.OpenRoot(rel)
	if err != nil {
		return err
	}
	defer dir.Close()
	for i, name := range names {
		err := dir.Remove(name)
		switch {
		case err == nil || errors.Is(err, fs.ErrNotExist):
		case i == 0 && d.State != capture.Removed: // it is whole
			return errors.Join(err, p.putBack(d, rel))
		default:
			return fmt.Errorf("%w; the rest of %s is now in %s", err, d.Path, filepath.Base(rel))
		}
	}
	if err := p.root.Remove(rel); err != nil && !errors.Is(err, fs.ErrNotExist) {
		if errors.Is(err, syscall.ENOTEMPTY) {
			return fmt.Errorf("%s changed while it was removed; the rest is now in %s", d.Path, filepath.Base(rel))
		}
		return err
	}
	return nil
}

// putBack gives a directory its name again.
func (p *pruner) putBack(d capture.Directory, rel string) error {
	parent, err := p.root.OpenRoot(filepath.Dir(rel))
	if err == nil {
		_, err = atomicfile.MoveIn(parent, filepath.Base(rel), filepath.Base(d.Rel))
		err = errors.Join(err, parent.Close())
	}
	if err != nil {
		return fmt.Errorf("%s is now named %s: %w", d.Path, filepath.Base(rel), err)
	}
	return nil
}

// gone reports whether a directory does not exist.
func (p *pruner) gone(rel string) bool {
	_, err := p.root.Lstat(rel)
	return errors.Is(err, fs.ErrNotExist)
}

// sync makes the names in a directory durable.
func (p *pruner) sync(rel string) error {
	dir, err := p.root.OpenRoot(rel)
	if err != nil {
		return err
	}
	defer dir.Close()
	return atomicfile.SyncRoot(dir)
}
