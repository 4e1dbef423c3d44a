package capture

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/atomicfile"
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
		for f, err := range search(ctx, path, limit) {
			if err != nil {
				return nil, err
			}
			all = append(all, f)
		}
	}
	return all, nil
}

// IsSearchRoot reports whether path is a directory without a manifest, which Find
// searches.
func IsSearchRoot(path string) bool { return LookUp(path).IsSearchRoot() }

// Search returns the captures that Find returns for the searched directory dir, in the
// same order. It needs memory for one directory at each level, and has no limit for the
// number of entries. If dir cannot be read to its end or contains no capture, the
// sequence ends with the error.
func Search(ctx context.Context, dir string) iter.Seq2[Found, error] { return search(ctx, dir, 0) }

// search is Search with a limit for the entries, unless it is 0.
func search(ctx context.Context, dir string, limit int) iter.Seq2[Found, error] {
	return func(yield func(Found, error) bool) {
		any := false
		for d, err := range directories(ctx, dir, limit) {
			if err != nil {
				yield(Found{}, err)
				return
			}
			if d.Err == nil && d.State != Closed && d.State != Unfinished {
				continue
			}
			any = true
			if !yield(Found{d.Path, filepath.Dir(d.Rel)}, nil) {
				return
			}
		}
		if !any {
			yield(Found{}, finding.New(finding.IOFailed, "%s contains no captures: no directory in it has a %s", finding.Escape(dir), ManifestName).WithHint("%s", hint.NameResponses))
		}
	}
}

// RemainderSuffix is appended to the names of files that Recover sets aside, so that they
// no longer look like the files of a capture.
const RemainderSuffix = ".unfinished"

// State is the state of a directory of a store, as the names of its files show it.
type State int

// The states.
const (
	NoCapture  State = iota
	Closed           // it has a manifest
	Unfinished       // it has no manifest, but a file that only captures have
	SetAside         // it has files of an unfinished capture that Recover set aside
	Removed          // it was a capture whose removal was interrupted
)

// Directory is a directory of a store.
type Directory struct {
	Path string
	// Rel is the path relative to the searched directory, which is ".".
	Rel   string
	State State
	// Temporary are the names of the temporary files in a Closed directory, sorted.
	// They were left by a crash, unless the capture is just being closed.
	Temporary []string
	// Err is the error of reading the directory, if any.
	Err error
}

// Directories returns dir and the directories below it whose state is not NoCapture, and
// those that cannot be read. It does not search below directories that are being removed.
// Otherwise it is like Search.
func Directories(ctx context.Context, dir string) iter.Seq2[Directory, error] {
	return directories(ctx, dir, 0)
}

// directories is Directories with a limit for the entries, unless it is 0.
func directories(ctx context.Context, dir string, limit int) iter.Seq2[Directory, error] {
	return func(yield func(Directory, error) bool) {
		removed := ""
		for l, err := range dirtree.Each(ctx, dir, limit, IsFileName) {
			if _, ok := errors.AsType[*dirtree.LimitError](err); ok {
				err, _ = finding.FromError(err)
			}
			if err != nil {
				yield(Directory{}, err)
				return
			}
			if removed != "" && strings.HasPrefix(l.Rel, removed) {
				continue
			}
			d := Directory{Path: l.Path, Rel: l.Rel, State: stateOf(l), Err: l.Err}
			if d.State == Closed {
				d.Temporary = temporaryIn(l)
			}
			if d.State == Removed {
				removed = l.Rel + string(filepath.Separator)
			}
			if (d.State != NoCapture || d.Err != nil) && !yield(d, nil) {
				return
			}
		}
	}
}

// stateOf returns the state of a listed directory.
func stateOf(l dirtree.Listing) State {
	files := make(map[string]fs.FileMode, len(l.Entries))
	for _, e := range l.Entries {
		files[e.Name()] = e.Type()
	}
	if t, ok := files[ManifestName]; ok && !t.IsDir() && !isRemoved(l.Rel) {
		return Closed // or a link in place of the manifest, which Open reports
	}
	return StateOf(l.Rel, func(name string) bool { t, ok := files[name]; return ok && t.IsRegular() })
}

// temporaryIn returns the names of temporary files in a listed directory.
func temporaryIn(l dirtree.Listing) (names []string) {
	for _, e := range l.Entries {
		if e.Type().IsRegular() && (e.Name() == ClaimName || atomicfile.IsTemporary(e.Name())) {
			names = append(names, e.Name())
		}
	}
	return names
}

// StateOf returns the state of the directory with the given path or name. It calls has,
// which must report whether the directory contains a regular file with the given name.
func StateOf(path string, has func(name string) bool) State {
	switch {
	case isRemoved(path):
		return Removed
	case has(ManifestName):
		return Closed
	case IsUnfinished(has):
		return Unfinished
	case slices.ContainsFunc(FileNames(), func(name string) bool { return has(name + RemainderSuffix) }):
		return SetAside
	}
	return NoCapture
}

// isRemoved reports whether a directory has the name of one that is being removed.
func isRemoved(path string) bool { return atomicfile.IsTemporary(filepath.Base(path)) }

// IsUnfinished reports whether a directory without a manifest looks like an
// unfinished capture, because it contains a file that only captures contain. It
// calls has, which must report whether the directory contains a file with the given
// name.
func IsUnfinished(has func(name string) bool) bool {
	return slices.ContainsFunc(unfinishedNames(), has)
}

// FileNames returns the names of all files that a capture directory can have, finished
// or not.
func FileNames() []string { return append(unfinishedNames(), ManifestName, RequestName) }

// IsFileName reports whether a Writer or Recover gives files the name.
func IsFileName(name string) bool {
	name = strings.TrimSuffix(name, RemainderSuffix)
	return slices.Contains(FileNames(), name) || atomicfile.IsTemporary(name)
}

func unfinishedNames() []string {
	return []string{ClaimName, ArrivalsName, SSE.FileName(), NDJSON.FileName(), JSON.FileName(), Opaque.FileName()}
}
