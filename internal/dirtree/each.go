package dirtree

import (
	"context"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"sort"
)

// Listing is one directory of a tree.
type Listing struct {
	Path string
	// Rel is the path relative to the root of the tree, "." for the root.
	Rel string
	// Entries are sorted by name.
	Entries []fs.DirEntry
	// Err is the error of reading the directory, which then has no Entries. It is nil
	// for the root.
	Err error
}

// Each returns the directories of the tree at root, each before those below it, in the
// order of their path elements. It keeps one listing for each level in memory, so a tree
// can have any size.
//
// If keep is not nil, a listing has only the directories and the other entries for which
// keep returns true. If limit is not 0, the sequence ends with a *LimitError after more
// than limit files and directories. It also ends with an error if root cannot be read or
// ctx is done.
func Each(ctx context.Context, root string, limit int, keep func(name string) bool) iter.Seq2[Listing, error] {
	return func(yield func(Listing, error) bool) {
		w := &walker{ctx: ctx, root: root, limit: limit, keep: keep, yield: yield}
		l := Listing{Path: root, Rel: "."}
		if err := w.read(&l); err != nil {
			yield(Listing{}, err)
			return
		}
		w.walk(l)
	}
}

// walker is one call of Each.
type walker struct {
	ctx          context.Context
	root         string
	count, limit int
	keep         func(string) bool
	yield        func(Listing, error) bool
}

// walk passes the listing l, and then those of all directories below it, to yield. It
// returns false at the end of the sequence.
func (w *walker) walk(l Listing) bool {
	path, rel := l.Path, l.Rel
	var below []string
	for _, e := range l.Entries {
		if e.IsDir() {
			below = append(below, e.Name())
		}
	}
	if !w.yield(l, nil) {
		return false
	}
	l = Listing{} // only the names in below are needed from here on
	for _, name := range below {
		l := Listing{Path: Join(path, name), Rel: filepath.Join(rel, name)}
		switch err := w.read(&l); {
		case err == nil:
		case w.ctx.Err() != nil || isLimit(err):
			w.yield(Listing{}, err)
			return false
		default:
			l.Err = err
		}
		if !w.walk(l) {
			return false
		}
	}
	return true
}

// read reads the entries of a directory.
func (w *walker) read(l *Listing) error {
	f, err := os.Open(l.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	var list []fs.DirEntry
	for {
		if w.ctx.Err() != nil {
			return context.Cause(w.ctx)
		}
		some, err := f.ReadDir(1024)
		for _, e := range some {
			if e.IsDir() || w.keep == nil || w.keep(e.Name()) {
				list = append(list, e)
			}
		}
		if w.count += len(some); w.limit > 0 && w.count > w.limit {
			return &LimitError{w.root, w.limit}
		}
		if err != nil && err != io.EOF {
			return err
		}
		if err != nil || len(some) == 0 {
			sort.Slice(list, func(i, j int) bool { return list[i].Name() < list[j].Name() })
			l.Entries = list
			return nil
		}
	}
}
