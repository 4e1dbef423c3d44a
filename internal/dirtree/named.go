package dirtree

import (
	"context"
	"fmt"
)

// Named returns the paths of the files in a directory and below it whose names end with a
// suffix, sorted by path, component by component. It does not follow symbolic links. It
// returns an error if such an entry is no regular file, or if a directory cannot be read or
// has no such file.
func Named(ctx context.Context, dir, suffix string) (paths []string, err error) {
	tree, err := Walk(ctx, dir, MaxEntries)
	if err != nil {
		return nil, err
	}
	for _, e := range tree.Entries {
		_, named := e.CutSuffix(suffix)
		switch {
		case e.Err != nil && (named || e.Mode.IsDir()):
			return nil, e.Err
		case named && !e.Regular():
			return nil, fmt.Errorf("%q is %s", e.Path(), e.Kind())
		case named:
			paths = append(paths, e.Path())
		}
	}
	if paths == nil {
		return nil, fmt.Errorf("the directory %q contains no *%s", dir, suffix)
	}
	return paths, nil
}
