package proxy

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"time"
)

// timeInName returns the time with which the name of a capture begins. The names of captures
// are in the order of their times.
func timeInName(at time.Time) string { return at.UTC().Format("20060102T150405.000000Z") }

// namesRead is the number of names that are read at a time.
const namesRead = 1024

// Names returns the names in a directory of captures whose time of the request is from one time
// to another, sorted. Only the names count; the directory can have other files, and captures
// that are not finished.
func Names(ctx context.Context, root *os.Root, from, to time.Time) (list []string, err error) {
	dir, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	first, last := timeInName(from), timeInName(to)
	for ctx.Err() == nil {
		names, err := dir.Readdirnames(namesRead)
		for _, name := range names {
			if len(name) > len(first) && name >= first && name[:len(last)] <= last {
				list = append(list, name)
			}
		}
		if errors.Is(err, io.EOF) {
			slices.Sort(list)
			return list, nil
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, context.Cause(ctx)
}
