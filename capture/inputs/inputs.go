// Package inputs enumerates captures: those at paths and below directories, in lists of
// paths, and in archives. It needs the same memory for any number of captures, except up
// to 32 bytes for each name in an archive.
//
// The package does not depend on what is done with the captures.
package inputs

import (
	"context"
	"errors"
	"iter"
	"sync/atomic"

	"github.com/p20export/p20export/capture"
)

// Input is a capture that can be opened.
type Input struct {
	// Path is the path as it was given, or the path in the archive.
	Path string
	// Name is the name for output files, as returned by Capture.Name.
	Name string
	// RelDir is the directory of the capture relative to the searched directory or the
	// archive, "." if there is none.
	RelDir string

	err     error         // why the input cannot be opened
	member  *member       // nil if the capture is on disk
	place   capture.Place // on disk
	release func()        // nil if there is nothing to release
}

// File returns the input for a path, which is not searched.
func File(path string) *Input { return newInput(capture.LookUp(path), ".") }

func newInput(p capture.Place, relDir string) *Input {
	return &Input{Path: p.Path(), Name: p.Name(), RelDir: relDir, place: p}
}

// Failed returns an input that cannot be opened because of err.
func Failed(path string, err error) *Input {
	in := File(path)
	in.err = err
	return in
}

// Open opens the capture, like capture.Open. If the input cannot be a capture, for
// example because it is a link in an archive, Open returns the reason. Open may be called
// several times, also while the source is still used.
func (in *Input) Open(ctx context.Context) (*capture.Capture, error) {
	switch {
	case in.err != nil:
		return nil, in.err
	case in.member != nil:
		return capture.OpenFS(ctx, in.member, in.Path, "")
	}
	return in.place.Open(ctx, "")
}

// Identify returns what tells the capture from others, as capture.Identify does. It may be
// called before or after Open, but fails for standard input, which can be read only once.
func (in *Input) Identify(ctx context.Context) (capture.Identity, error) {
	switch {
	case in.err != nil:
		return capture.Identity{}, in.err
	case in.member != nil:
		return capture.IdentifyFS(ctx, in.member, in.Path)
	case in.Path == "-":
		return capture.Identity{}, errors.New("standard input can be read only once")
	}
	return capture.Identify(ctx, in.Path)
}

// IsPath reports whether Path is a path on disk, or "-" for standard input, and not the
// name of a member of an archive.
func (in *Input) IsPath() bool { return in.member == nil }

// Under returns the directory dir/RelDir.
func (in *Input) Under(dir string) string { return capture.Found{RelDir: in.RelDir}.Under(dir) }

// Close releases the memory and the temporary space of a capture in an archive. Captures
// that were opened must be closed before. Close may be called more than once.
func (in *Input) Close() {
	if in.release != nil {
		in.release()
		in.release = nil
	}
}

// Source is a sequence of captures.
type Source struct {
	all         func(ctx context.Context, yield func(*Input, error) bool)
	close       func() error
	done, total atomic.Int64
	bytes       bool
}

// All returns the captures. If the source cannot be read to its end, the last element is
// the error. An error of a single capture is returned by its Open.
//
// Each input must be closed. If the captures of an archive that are not closed need too
// much temporary space, the sequence waits until one of them is closed.
//
// Only the captures of paths can be enumerated more than once.
func (s *Source) All(ctx context.Context) iter.Seq2[*Input, error] {
	return func(yield func(*Input, error) bool) {
		s.all(ctx, func(in *Input, err error) bool {
			if !s.bytes && err == nil {
				s.done.Add(1)
			}
			return yield(in, err) && err == nil
		})
	}
}

// Progress returns how much of the source All has passed, and the total, or 0 if it is
// not known. They are numbers of captures, or for an archive bytes. Progress may be called
// at any time from any goroutine.
func (s *Source) Progress() (done, total int64) { return s.done.Load(), s.total.Load() }

// InBytes reports whether Progress returns bytes.
func (s *Source) InBytes() bool { return s.bytes }

// Close closes the file of the source, and removes its temporary file. It must be called
// after the last input was closed.
func (s *Source) Close() error {
	if s.close == nil {
		return nil
	}
	return s.close()
}
