package capture

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/dirtree"
	"github.com/p20export/p20export/internal/hint"
)

// Found is a capture that Find found.
type Found struct {
	Path string
	// RelDir is the directory that contains the capture, relative to the searched
	// directory. It is "." for a capture directly in that directory, and for a
	// capture whose path was passed to Find.
	RelDir string
}

// Under returns the directory dir/RelDir.
func (f Found) Under(dir string) string {
	if f.RelDir == "." {
		return dir
	}
	// Join would resolve link/.. differently than the system.
	return strings.TrimSuffix(dir, string(filepath.Separator)) + string(filepath.Separator) + f.RelDir
}

// Find returns the captures at paths. A path that is a directory, but not a closed
// capture, is searched recursively for captures, in the order of the path elements.
// Find returns every directory with a capture.json, every directory that looks like
// an unfinished capture, and every directory that cannot be read; Open reports the
// faults of the latter two. A search ignores files, because any file could be a
// response, and does not follow symbolic links. Other paths are returned unchanged.
//
// Find fails if a searched directory contains no capture. It returns a finding
// tree_too_large if a searched directory has more than 100,000 entries.
func Find(ctx context.Context, paths []string) ([]Found, error) {
	return find(ctx, paths, dirtree.MaxEntries)
}

// find is Find with a limit for the entries of each searched directory.
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

// IsSearchRoot reports whether path is a directory without a manifest, which Find
// searches.
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
		if e.Mode.IsDir() { // a directory that could not be read
			all = append(all, Found{e.Path(), e.Folder.Rel})
		}
	}
	if all == nil {
		return nil, finding.New(finding.IOFailed, "%s contains no captures: no directory in it has a %s", finding.Escape(dir), ManifestName).WithHint("%s", hint.NameResponses)
	}
	sort.Slice(all, func(i, j int) bool {
		return slices.Compare(elements(all[i].Path), elements(all[j].Path)) < 0
	})
	return all, nil
}

func elements(path string) []string {
	return strings.Split(path, string(filepath.Separator))
}

// IsUnfinished reports whether a directory without a manifest looks like an
// unfinished capture, because it contains a file that only captures contain. It
// calls has, which must report whether the directory contains a file with the given
// name.
func IsUnfinished(has func(name string) bool) bool {
	return slices.ContainsFunc([]string{
		ClaimName, ArrivalsName, SSE.FileName(), NDJSON.FileName(), JSON.FileName(),
	}, has)
}
