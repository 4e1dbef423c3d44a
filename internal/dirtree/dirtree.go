// Package dirtree lists a directory tree. It does not follow symbolic links, opens only
// directories, and stops at a limit.
package dirtree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// MaxEntries is the default maximum number of files and directories in a tree. It bounds
// the memory of Walk.
const MaxEntries = 100_000

// Tree is a directory tree.
type Tree struct {
	Root string
	// Folders are the root and the directories below it, each before its content.
	Folders []*Folder
	// Entries are all files that are not directories, and the directories that could
	// not be read, in the order of their path elements.
	Entries []*Entry

	count, limit int
}

// Folder is a directory of a tree.
type Folder struct {
	Path string
	// Rel is the path relative to the root of the tree, "." for the root.
	Rel   string
	Files map[string]*Entry // the entries that are not directories, by name
}

// Entry is an entry of a tree.
type Entry struct {
	Name   string
	Folder *Folder // nil for a single file, whose name is its path
	Mode   fs.FileMode
	Size   int64
	Err    error // the error of reading the entry, if any
}

// Path returns the path of the entry. It is not stored, to save memory.
func (e *Entry) Path() string {
	if e.Folder == nil {
		return e.Name
	}
	return Join(e.Folder.Path, e.Name)
}

// Regular reports whether the entry is a regular file, which can be read without
// following a link and without blocking.
func (e *Entry) Regular() bool { return e != nil && e.Err == nil && e.Mode.IsRegular() }

// CutSuffix returns the entry's name without suffix, and whether it has the suffix.
func (e *Entry) CutSuffix(suffix string) (string, bool) { return strings.CutSuffix(e.Name, suffix) }

// Kind returns a description of an entry that is not a regular file.
func (e *Entry) Kind() string {
	switch {
	case e.Mode&fs.ModeSymlink != 0:
		return "a symbolic link, which is not followed"
	case e.Mode&fs.ModeNamedPipe != 0:
		return "a named pipe, which is not read"
	case e.Mode&fs.ModeSocket != 0:
		return "a socket, which is not read"
	case e.Mode&fs.ModeDevice != 0:
		return "a device, which is not read"
	}
	return "not a regular file"
}

// Regular returns the regular file with the given name in the folder, or nil.
func (f *Folder) Regular(name string) *Entry {
	if e := f.Files[name]; e.Regular() {
		return e
	}
	return nil
}

// LimitError reports a tree with too many files and directories.
type LimitError struct {
	Root  string
	Limit int
}

// Error returns a message with the root of the tree and the limit.
func (e *LimitError) Error() string {
	return fmt.Sprintf("%s contains more than %d files and directories", e.Root, e.Limit)
}

func isLimit(err error) bool {
	_, ok := errors.AsType[*LimitError](err)
	return ok
}

// Walk returns the tree of the directory root. It fails if root cannot be read, if ctx is
// done, or, with a *LimitError, if there are more than limit files and directories. An
// entry below root that cannot be read is returned with its error.
func Walk(ctx context.Context, root string, limit int) (*Tree, error) {
	t := &Tree{Root: root, limit: limit}
	list, err := t.list(ctx, root)
	if err == nil {
		err = t.add(ctx, &Folder{Path: root, Rel: "."}, list)
	}
	return t, err
}

// list returns the entries of a directory, sorted by name.
func (t *Tree) list(ctx context.Context, path string) ([]fs.DirEntry, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var list []fs.DirEntry
	for {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		some, err := f.ReadDir(1024)
		list = append(list, some...)
		if t.count += len(some); t.count > t.limit {
			return nil, &LimitError{t.Root, t.limit}
		}
		if err != nil && err != io.EOF {
			return nil, err
		}
		if err != nil || len(some) == 0 {
			sort.Slice(list, func(i, j int) bool { return list[i].Name() < list[j].Name() })
			return list, nil
		}
	}
}

// add adds the folder f, with the entries in list, and all folders below it.
func (t *Tree) add(ctx context.Context, f *Folder, list []fs.DirEntry) error {
	f.Files = make(map[string]*Entry)
	t.Folders = append(t.Folders, f)
	for _, d := range list {
		if !d.IsDir() {
			e := newEntry(f, d)
			f.Files[e.Name] = e
			t.Entries = append(t.Entries, e)
			continue
		}
		below := &Folder{Path: Join(f.Path, d.Name()), Rel: filepath.Join(f.Rel, d.Name())}
		list, err := t.list(ctx, below.Path)
		if err == nil {
			err = t.add(ctx, below, list)
		}
		switch {
		case err == nil:
		case ctx.Err() != nil || isLimit(err):
			return err
		default:
			t.Entries = append(t.Entries, &Entry{Name: d.Name(), Folder: f, Mode: fs.ModeDir, Err: err})
		}
	}
	return nil
}

func newEntry(f *Folder, d fs.DirEntry) *Entry {
	e := &Entry{Name: d.Name(), Folder: f, Mode: d.Type()}
	info, err := d.Info()
	if err != nil {
		e.Err = err
		return e
	}
	e.Mode, e.Size = info.Mode(), info.Size()
	return e
}

// Join returns the path of name in the directory dir. The path is never "-", which
// would mean standard input.
func Join(dir, name string) string {
	if strings.Contains(dir, "..") { // filepath.Join would resolve link/.. differently than the system
		return strings.TrimSuffix(dir, string(filepath.Separator)) + string(filepath.Separator) + name
	}
	if path := filepath.Join(dir, name); path != "-" {
		return path
	}
	return "." + string(filepath.Separator) + name
}
