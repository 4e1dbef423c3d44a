package verify

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/internal/dirtree"
	"github.com/p20export/p20export/project/record"
)

// tree lists a directory and its subdirectories, or an archive. A tree can have a million
// entries, so an entry is small.
type tree struct {
	folders []*folder // the root first, and each before the folders below it
}

// folder is a directory of a tree.
type folder struct {
	path  string
	files files
	// entries are all entries except directories that could be read, and below are
	// those directories. Both are sorted by name.
	entries []entry
	below   []*folder
	// isCapture means that the folder contains a manifest.
	isCapture bool
	// removed means that the removal of the folder, or of one above it, was interrupted.
	removed bool
}

// entry is an entry of a tree, or a single file.
type entry struct {
	name string
	in   *folder // nil for a single file, whose name is its path
	size int64
	more *details // nil for most entries
	mode fs.FileMode

	accounted bool // a row is about it or names it
	// listed means that the entry is the response that a capture.json lists.
	listed bool
	// outside means that the entry is not in the directory that is verified.
	outside bool
}

// details are what few entries have.
type details struct {
	err error // of reading the entry
	sum sum   // of its bytes, if err is nil
}

// path returns the path of the entry.
func (e *entry) path() string {
	if e.in == nil {
		return e.name
	}
	return dirtree.Join(e.in.path, e.name)
}

// files returns how to open the entry.
func (e *entry) files() files {
	if e.in == nil {
		return disk{}
	}
	return e.in.files
}

// err returns the error of reading the entry, if any.
func (e *entry) err() error {
	if e.more == nil {
		return nil
	}
	return e.more.err
}

// regular reports whether the entry exists, could be read and is a regular file.
func (e *entry) regular() bool { return e != nil && e.err() == nil && e.mode.IsRegular() }

// kind describes an entry that is not a regular file.
func (e *entry) kind() string { return (&dirtree.Entry{Mode: e.mode}).Kind() }

// isOutput reports whether the entry is named like one of the files of a frozen run, or of
// its signature. Such a file is never used as a raw capture, even if an envelope has the same
// bytes.
func (e *entry) isOutput() bool {
	return slices.ContainsFunc([]string{record.ArtifactSuffix, record.EnvelopeSuffix, record.Suffix, record.SignatureSuffix, record.TimestampSuffix},
		func(suffix string) bool { return strings.HasSuffix(e.name, suffix) })
}

// file returns the entry with the given name, unless it is a directory, or nil.
func (f *folder) file(name string) *entry {
	i, found := f.find(name)
	if !found || f.entries[i].mode.IsDir() {
		return nil
	}
	return &f.entries[i]
}

// regular returns the named regular file in the folder, or nil.
func (f *folder) regular(name string) *entry {
	if e := f.file(name); e.regular() {
		return e
	}
	return nil
}

// all returns the entries of the folder and of the folders below it, in the order of
// their path elements.
func (f *folder) all() iter.Seq[*entry] {
	return func(yield func(*entry) bool) { f.each(yield) }
}

// each calls yield for the entries of all until it returns false.
func (f *folder) each(yield func(*entry) bool) bool {
	below := f.below
	for i := range f.entries {
		for len(below) > 0 && below[0].name() < f.entries[i].name {
			if !below[0].each(yield) {
				return false
			}
			below = below[1:]
		}
		if !yield(&f.entries[i]) {
			return false
		}
	}
	for _, b := range below {
		if !b.each(yield) {
			return false
		}
	}
	return true
}

// name returns the last element of the folder's path.
func (f *folder) name() string { return filepath.Base(f.path) }

// walk lists a directory and its subdirectories.
func walk(ctx context.Context, root string, limit int) (*tree, error) {
	return newTree(dirtree.Each(ctx, root, limit, nil), disk{})
}

// newTree returns the tree of the listed directories, which are opened by from.
func newTree(listings iter.Seq2[dirtree.Listing, error], from files) (*tree, error) {
	t := new(tree)
	var above []*folder // the folders from the root to the last one
	var rels []string   // their paths relative to the root
	for l, err := range listings {
		if err != nil {
			return nil, err
		}
		for len(rels) > 0 && (l.Rel == "." || rels[len(rels)-1] != filepath.Dir(l.Rel)) {
			above, rels = above[:len(above)-1], rels[:len(rels)-1]
		}
		if errors.Is(l.Err, fs.ErrNotExist) {
			continue // it was removed after the directory above it was listed
		}
		if l.Err != nil {
			above[len(above)-1].add(entry{name: filepath.Base(l.Path), mode: fs.ModeDir, more: &details{err: l.Err}})
			continue
		}
		f := &folder{path: l.Path, files: from}
		t.folders = append(t.folders, f)
		f.removed = l.Rel != "." && capture.StateOf(l.Rel, func(string) bool { return false }) == capture.Removed
		if len(above) > 0 {
			f.removed = f.removed || above[len(above)-1].removed
			above[len(above)-1].below = append(above[len(above)-1].below, f)
		}
		above, rels = append(above, f), append(rels, l.Rel)
		f.list(l.Entries)
	}
	return t, nil
}

// list sets the entries of a folder to those of a listing that are not directories.
func (f *folder) list(listing []fs.DirEntry) {
	n := 0
	for _, d := range listing {
		if !d.IsDir() {
			n++
		}
	}
	f.entries = make([]entry, 0, n)
	for _, d := range listing {
		if d.IsDir() {
			continue
		}
		e := entry{name: intern(d.Name()), in: f, mode: d.Type()}
		if info, err := d.Info(); errors.Is(err, fs.ErrNotExist) {
			continue // it was removed after the directory was listed
		} else if err != nil {
			e.more = &details{err: err}
		} else {
			e.mode, e.size = info.Mode(), info.Size()
		}
		f.entries = append(f.entries, e)
	}
}

// add adds an entry at its place. No entry of the folder may be in use.
func (f *folder) add(e entry) {
	e.in = f
	i, _ := f.find(e.name)
	f.entries = slices.Insert(f.entries, i, e)
}

// find returns the index of the entry with the given name, or where it would be. It reads
// only names, so other goroutines may change entries at the same time.
func (f *folder) find(name string) (at int, found bool) {
	at = sort.Search(len(f.entries), func(i int) bool { return f.entries[i].name >= name })
	return at, at < len(f.entries) && f.entries[at].name == name
}

// intern returns a name of which there is only one copy in memory if it is that of a file
// of a capture.
func intern(name string) string {
	for _, known := range append(captureFiles(), capture.ManifestName) {
		if name == known {
			return known
		}
	}
	return name
}

// all returns the entries of the tree, in the order of their path elements.
func (t *tree) all() iter.Seq[*entry] { return t.folders[0].all() }
