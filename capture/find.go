package capture

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/dirtree"
	"github.com/p20export/p20export/internal/hint"
)

// Found is a capture that Find found.
type Found struct {
	Path string
	// RelDir is the directory it lies in, relative to the one that was searched: "." for
	// one that lies directly in that, and for one that was named itself.
	RelDir string
}

// Under returns the directory below dir that lies there as the capture's does in
// the one that was searched.
func (f Found) Under(dir string) string {
	if f.RelDir == "." {
		return dir
	}
	// Join would make another path of link/.. than the system does.
	return strings.TrimSuffix(dir, string(filepath.Separator)) + string(filepath.Separator) + f.RelDir
}

// Find returns the captures that paths name. A directory that is no capture is
// searched, and stands for the captures in it and below it: every directory with a
// capture.json, every one that looks like a capture that was not closed, and every
// one that cannot be read, in the order of their paths name by name. Of the last
// two Open says what is wrong. Files are not taken for captures there: any file can
// be a response. Symbolic links in it are not followed. Every other path
// stands for itself.
//
// A directory without any capture is an error, and so is one with more than 100,000
// entries: the finding tree_too_large.
func Find(ctx context.Context, paths []string) ([]Found, error) {
	return find(ctx, paths, dirtree.MaxEntries)
}

// find is Find with a limit of the entries of each directory.
func find(ctx context.Context, paths []string, limit int) ([]Found, error) {
	var all []Found
	for _, path := range paths {
		if !IsSearchRoot(path) {
			all = append(all, Found{path, "."})
			continue
		}
		below, err := search(ctx, path, limit)
		if err != nil {
			return nil, err
		}
		all = append(all, below...)
	}
	return all, nil
}

// IsSearchRoot reports whether Find searches a path: it is of a directory that has no
// manifest.
func IsSearchRoot(path string) bool {
	if path == "-" {
		return false
	}
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return false
	}
	_, err := os.Lstat(filepath.Join(path, ManifestName))
	return errors.Is(err, fs.ErrNotExist)
}

// search finds the captures in a directory.
func search(ctx context.Context, dir string, limit int) ([]Found, error) {
	tree, err := dirtree.Walk(ctx, dir, limit)
	if _, ok := errors.AsType[*dirtree.LimitError](err); ok {
		err, _ = finding.FromError(err)
	}
	if err != nil {
		return nil, err
	}
	var all []Found
	for _, f := range tree.Folders {
		if f.Files[ManifestName] != nil || IsUnfinished(func(name string) bool { return f.Regular(name) != nil }) {
			all = append(all, Found{f.Path, filepath.Dir(f.Rel)})
		}
	}
	for _, e := range tree.Entries {
		if e.Mode.IsDir() { // which could not be read
			all = append(all, Found{e.Path(), e.Folder.Rel})
		}
	}
	if all == nil {
		return nil, fmt.Errorf("%s holds no capture: no directory there has a %s; %s", finding.Escape(dir), ManifestName, hint.NameResponses)
	}
	slices.SortFunc(all, func(a, b Found) int {
		return slices.Compare(elements(a.Path), elements(b.Path))
	})
	return all, nil
}

func elements(path string) []string {
	return strings.Split(path, string(filepath.Separator))
}

// IsUnfinished reports whether a directory that has no manifest looks like a capture
// that was not closed: it has a file that only a capture has. The function reports
// whether a file of that name is there.
func IsUnfinished(has func(name string) bool) bool {
	return slices.ContainsFunc([]string{
		ClaimName, ArrivalsName, SSE.FileName(), NDJSON.FileName(), JSON.FileName(),
	}, has)
}
