// Package dirtree lists what lies in a directory and below it, whatever that may be:
// it follows no symbolic link, opens nothing but directories, and stops at a bound.
package dirtree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// MaxEntries is how many files and directories of one tree are listed. Each is held
// in memory.
const MaxEntries = 100_000

// Tree is what lies in a directory and below it.
type Tree struct {
	Root string
	// Folders are the directory and those below it, each before what it holds.
	Folders []*Folder
	// Entries are all that is no directory, and the directories that could not be
	// read, in the order of their paths name by name.
	Entries []*Entry

	count, limit int
}

// Folder is a directory of a tree.
type Folder struct {
	Path string
	// Rel is its path from the root of the tree, "." for the root.
	Rel   string
	Files map[string]*Entry // what is in it and is no directory, by name
}

// Entry is something in a tree.
type Entry struct {
	Name   string
	Folder *Folder // nil for a file alone, whose name is its path
	Mode   fs.FileMode
	Size   int64
	Err    error // why it could not be looked at or read
}

// Path returns the path of the entry. It is not kept: many entries can lie deep.
func (e *Entry) Path() string {
	if e.Folder == nil {
		return e.Name
	}
	return Join(e.Folder.Path, e.Name)
}

// Regular reports whether the entry is a file that can be read without waiting
// or going elsewhere.
func (e *Entry) Regular() bool { return e != nil && e.Err == nil && e.Mode.IsRegular() }

// CutSuffix returns the entry's name less a suffix.
func (e *Entry) CutSuffix(suffix string) (string, bool) { return strings.CutSuffix(e.Name, suffix) }

// Kind says what an entry that is no regular file is.
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
	return "no regular file"
}

// Regular returns the regular file of that name in the folder, or nil.
func (f *Folder) Regular(name string) *Entry {
	if e := f.Files[name]; e.Regular() {
		return e
	}
	return nil
}

// LimitError is about a tree that holds more files and directories than are listed.
type LimitError struct {
	Root  string
	Limit int
}

// Error names the tree.
func (e *LimitError) Error() string {
	return fmt.Sprintf("%s holds more than %d files and directories", e.Root, e.Limit)
}

func isLimit(err error) bool {
	_, ok := errors.AsType[*LimitError](err)
	return ok
}

// Walk lists all that lies in a directory and below it. The error is of the
// directory itself, the context's, or a *LimitError, when more than limit files and
// directories are there; what could not be looked at below it is
// among the entries.
func Walk(ctx context.Context, root string, limit int) (*Tree, error) {
	t := &Tree{Root: root, limit: limit}
	list, err := t.list(ctx, root)
	if err == nil {
		err = t.add(ctx, &Folder{Path: root, Rel: "."}, list)
	}
	return t, err
}

// list reads a directory, sorted by name.
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
			slices.SortFunc(list, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
			return list, nil
		}
	}
}

// add takes in what lies in one directory and below it.
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

// Join returns the path of a name in a directory. It is never "-", which would
// be standard input.
func Join(dir, name string) string {
	if strings.Contains(dir, "..") { // of a link, that is not the directory before it
		return strings.TrimSuffix(dir, string(filepath.Separator)) + string(filepath.Separator) + name
	}
	if path := filepath.Join(dir, name); path != "-" {
		return path
	}
	return "." + string(filepath.Separator) + name
}
