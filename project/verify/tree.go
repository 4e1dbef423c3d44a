package verify

import (
	"context"

	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/internal/dirtree"
)

// tree lists a directory and its subdirectories.
type tree struct {
	folders []*folder
	entries []*entry // as in dirtree.Tree
}

// folder is a directory of a tree.
type folder struct {
	path  string
	files map[string]*entry // its entries except directories, by name
	// isCapture means that the folder contains a manifest.
	isCapture bool
}

// entry is an entry of a tree, or a single file.
type entry struct {
	*dirtree.Entry
	in        *folder // nil for a single file
	sum       digest.Digest
	accounted bool // a row is about it or names it
	// listed means that the entry is the response that a capture.json lists.
	listed bool
}

// regular reports whether the entry exists and is a regular file.
func (e *entry) regular() bool { return e != nil && e.Regular() }

// regular returns the named regular file in the folder, or nil.
func (f *folder) regular(name string) *entry {
	if e := f.files[name]; e.regular() {
		return e
	}
	return nil
}

// walk lists a directory and its subdirectories with dirtree.Walk.
func walk(ctx context.Context, root string, limit int) (*tree, error) {
	found, err := dirtree.Walk(ctx, root, limit)
	if err != nil {
		return nil, err
	}
	t := new(tree)
	of := make(map[*dirtree.Folder]*folder, len(found.Folders))
	for _, f := range found.Folders {
		of[f] = &folder{path: f.Path, files: make(map[string]*entry)}
		t.folders = append(t.folders, of[f])
	}
	for _, e := range found.Entries {
		one := &entry{Entry: e, in: of[e.Folder]}
		if !e.Mode.IsDir() {
			one.in.files[e.Name] = one
		}
		t.entries = append(t.entries, one)
	}
	return t, nil
}
