package inputs

import (
	"context"

	"github.com/p20export/p20export/capture"
)

// Paths returns the captures at paths, as capture.Find does, but without a limit for the
// number of entries of a directory. Paths fails if a searched directory cannot be read or
// contains no capture.
func Paths(ctx context.Context, paths []string) (*Source, error) {
	s := &Source{all: func(ctx context.Context, yield func(*Input, error) bool) {
		for _, path := range paths {
			if !each(ctx, path, yield) {
				return
			}
		}
	}}
	searched := false
	for _, path := range paths {
		if !capture.IsSearchRoot(path) {
			continue
		}
		searched = true
		for _, err := range capture.Search(ctx, path) {
			if err != nil {
				return nil, err
			}
			break // one is enough
		}
	}
	if !searched {
		s.total.Store(int64(len(paths)))
	}
	return s, nil
}

// each passes the captures at path to yield. It returns false at the end of the sequence.
func each(ctx context.Context, path string, yield func(*Input, error) bool) bool {
	place := capture.LookUp(path)
	if !place.IsSearchRoot() {
		return yield(newInput(place, "."), nil)
	}
	for f, err := range capture.Search(ctx, path) {
		if err != nil {
			return yield(nil, err)
		}
		if !yield(newInput(capture.LookUp(f.Path), f.RelDir), nil) {
			return false
		}
	}
	return true
}
