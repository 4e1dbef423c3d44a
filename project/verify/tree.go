package verify

import (
	"context"

	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/internal/dirtree"
)

// tree is what lies in a directory and below it.
type tree struct {
	folders []*folder
	entries []*entry // as in dirtree.Tree
}

// folder is a directory of a tree.
type folder struct {
	path string
	held map[string]*entry // what is in it and is no directory, by name
	// isCapture says that there is a manifest in it.
	isCapture bool
}

// entry is something in a tree, or a file alone.
type entry struct {
	*dirtree.Entry
	in   *folder // nil for a file alone
	sum  digest.Digest
	told bool // some row speaks of it
	// listed says that it is the response that a capture.json lists.
	listed bool
}

// regular reports whether the entry is there and a file that can be read without
// waiting or going elsewhere.
func (e *entry) regular() bool { return e != nil && e.Regular() }

// regular returns the regular file of that name in the folder, or nil.
func (f *folder) regular(name string) *entry {
	if e := f.held[name]; e.regular() {
		return e
	}
	return nil
}

// walk looks at all that lies in a directory and below it, as dirtree.Walk does.
func walk(ctx context.Context, root string, limit int) (*tree, error) {
	found, err := dirtree.Walk(ctx, root, limit)
	if err != nil {
		return nil, err
	}
	t := new(tree)
	of := make(map[*dirtree.Folder]*folder, len(found.Folders))
	for _, f := range found.Folders {
		of[f] = &folder{path: f.Path, held: make(map[string]*entry)}
		t.folders = append(t.folders, of[f])
	}
	for _, e := range found.Entries {
		one := &entry{Entry: e, in: of[e.Folder]}
		if !e.Mode.IsDir() {
			one.in.held[e.Name] = one
		}
		t.entries = append(t.entries, one)
	}
	return t, nil
}
