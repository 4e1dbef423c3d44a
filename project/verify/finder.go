package verify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/dirtree"
	"github.com/p20export/p20export/project/record"
)

// finder searches directories for the captures that records state. It keeps the last few
// directories that it searched in memory. Several goroutines may use it.
type finder struct {
	jobs, limit int

	mu   sync.Mutex
	last []*searched // at most maxSearched, the last one first
}

// maxSearched is the number of directories that a finder keeps in memory.
const maxSearched = 4

// searched is a directory that was searched.
type searched struct {
	dir        string
	mu         sync.Mutex // guards the fields below
	begun      bool
	sources    *sources
	unreadable int // entries that could not be listed
	err        error
}

// search returns a directory, which the caller must unlock.
func (f *finder) search(ctx context.Context, dir string) *searched {
	f.mu.Lock()
	i := slices.IndexFunc(f.last, func(s *searched) bool { return s.dir == dir })
	if i < 0 {
		i = 0
		f.last = slices.Insert(f.last, 0, &searched{dir: dir})
		f.last = f.last[:min(len(f.last), maxSearched)]
	}
	s := f.last[i]
	f.mu.Unlock()
	s.mu.Lock()
	if s.begun {
		return s
	}
	s.begun = true
	t, err := walk(ctx, dir, f.limit)
	if s.err = err; err == nil {
		s.sources = newSources(f.jobs)
		s.sources.add(ctx, t, true)
		s.unreadable = countUnreadable(t)
	}
	return s
}

// countUnreadable counts the entries of a tree that could not be read.
func countUnreadable(t *tree) (n int) {
	for e := range t.all() {
		if e.err() != nil {
			n++
		}
	}
	return n
}

// onlyFile returns the path of the only file in a directory and its subdirectories that
// can be the plain file that a record states, according to its size, unless other such
// files are listed in a capture.json. It returns "" if there is none.
func (f *finder) onlyFile(ctx context.Context, dir string, want record.Source) string {
	if want.ManifestDigest != "" {
		return ""
	}
	s := f.search(ctx, dir)
	defer s.mu.Unlock()
	if s.err != nil {
		return ""
	}
	group := s.sources.group(want.Bytes)
	if group.read > 0 || len(group.files) == 0 || len(group.files[0]) != 1 {
		return ""
	}
	return group.files[0][0].path()
}

// lookUp returns the captures in a directory and its subdirectories that have the digest
// that a record states. If there are none, the error is the finding capture_absent.
func (f *finder) lookUp(ctx context.Context, dir string, want record.Source) (paths []string, err error) {
	s := f.search(ctx, dir)
	defer s.mu.Unlock()
	if _, ok := errors.AsType[*dirtree.LimitError](s.err); ok {
		return nil, finding.New(finding.CaptureAbsent, "the capture was not searched for: %s", finding.Escape(s.err.Error())).WithHint("%s", captureHint(want))
	}
	if s.err != nil {
		return nil, s.err
	}
	unreadable := s.unreadable
	found := s.sources.byManifest[sumOf(want.ManifestDigest)]
	if want.ManifestDigest == "" {
		if found, err = s.sources.withBytes(ctx, want.Bytes, sumOf(want.Digest)); err != nil {
			return nil, err
		}
		for _, files := range s.sources.group(want.Bytes).files {
			for _, e := range files {
				if e.err() != nil {
					unreadable++
				}
			}
		}
	}
	for _, one := range found {
		paths = append(paths, one.path())
	}
	if paths == nil {
		where := "in " + finding.Escape(dir) + " or its subdirectories"
		if unreadable > 0 {
			where += fmt.Sprintf(" (entries that could not be read: %d)", unreadable)
		}
		return nil, s.sources.notFound(want, where)
	}
	return paths, nil
}
