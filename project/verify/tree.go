package verify

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/finding"
)

// maxTreeEntries is how many files and directories of one tree are looked at.
// Each is held in memory until the end.
const maxTreeEntries = 100_000

// tree is what lies in a directory and below it. Symbolic links in it are not
// followed.
type tree struct {
	root    string
	folders []*folder
	// entries are all that is no directory, and the directories that could not
	// be read, in the order of their paths name by name.
	entries []*entry
	count   int
	limit   int
}

// folder is a directory of a tree.
type folder struct {
	path string
	held map[string]*entry // what is in it and is no directory, by name
	// isCapture says that there is a manifest in it.
	isCapture bool
}

// entry is something in a tree.
type entry struct {
	path string
	name string
	in   *folder // nil for a directory that could not be read, and for a file alone
	mode fs.FileMode
	size int64
	err  error // why it could not be looked at or read
	sum  digest.Digest
	told bool // some row speaks of it
	// listed says that it is the response that a capture.json lists.
	listed bool
}

// regular reports whether the entry is a file that can be read without waiting
// or going elsewhere.
func (e *entry) regular() bool { return e != nil && e.err == nil && e.mode.IsRegular() }

// stem returns the entry's name less a suffix.
func (e *entry) stem(suffix string) (string, bool) { return strings.CutSuffix(e.name, suffix) }

// kind says what an entry that is no regular file is.
func (e *entry) kind() string {
	switch {
	case e.mode&fs.ModeSymlink != 0:
		return "a symbolic link, which is not followed"
	case e.mode&fs.ModeNamedPipe != 0:
		return "a named pipe, which is not read"
	case e.mode&fs.ModeSocket != 0:
		return "a socket, which is not read"
	case e.mode&fs.ModeDevice != 0:
		return "a device, which is not read"
	}
	return "no regular file"
}

// regular returns the regular file of that name in the folder, or nil.
func (f *folder) regular(name string) *entry {
	if e := f.held[name]; e.regular() {
		return e
	}
	return nil
}

// walk looks at all that lies in a directory and below it. The error is of the
// directory itself, the context's, or the finding tree_too_large; what could
// not be looked at below it is among the entries.
func walk(ctx context.Context, root string, limit int) (*tree, error) {
	t := &tree{root: root, limit: limit}
	list, err := t.list(ctx, root)
	if err == nil {
		err = t.add(ctx, root, list)
	}
	return t, err
}

// list reads a directory, sorted by name.
func (t *tree) list(ctx context.Context, path string) ([]fs.DirEntry, error) {
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
			return nil, finding.New(finding.TreeTooLarge, "%s holds more than %d files and directories", finding.Escape(t.root), t.limit)
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
func (t *tree) add(ctx context.Context, path string, list []fs.DirEntry) error {
	f := &folder{path: path, held: make(map[string]*entry)}
	t.folders = append(t.folders, f)
	for _, d := range list {
		if !d.IsDir() {
			e := newEntry(f, d)
			f.held[e.name] = e
			t.entries = append(t.entries, e)
			continue
		}
		below := joined(path, d.Name())
		list, err := t.list(ctx, below)
		if err == nil {
			err = t.add(ctx, below, list)
		}
		switch {
		case err == nil:
		case ctx.Err() != nil || errors.As(err, new(finding.Finding)):
			return err
		default:
			t.entries = append(t.entries, &entry{path: below, name: d.Name(), mode: fs.ModeDir, err: err})
		}
	}
	return nil
}

func newEntry(f *folder, d fs.DirEntry) *entry {
	e := &entry{path: joined(f.path, d.Name()), name: d.Name(), in: f, mode: d.Type()}
	info, err := d.Info()
	if err != nil {
		e.err = err
		return e
	}
	e.mode, e.size = info.Mode(), info.Size()
	return e
}

// joined returns the path of a name in a directory. It is never "-", which would
// be standard input.
func joined(dir, name string) string {
	if path := filepath.Join(dir, name); path != "-" {
		return path
	}
	return "." + string(filepath.Separator) + name
}
