package service

import (
	"context"
	"errors"
	"io"
	"iter"
	"log/slog"
	"path/filepath"
	"sync/atomic"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/capture/inputs"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/atomicfile"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/freeze"
)

// maxWaiting is the number of names of closed captures that a Freezer keeps. Captures past
// it are found in the directory later.
const maxWaiting = 1000

// Freezer freezes the captures of a store in the background: first those that are in it,
// then those that are closed. It freezes one capture at a time, to leave the processors to
// the traffic.
type Freezer struct {
	store *Store
	log   *slog.Logger
	count func(project.Verdict)
	rows  iter.Seq[[]freeze.Row]

	closed chan string
	scan   atomic.Bool   // whether the store may have captures that were not passed to Add
	last   chan struct{} // closed by Finish
	stop   context.CancelFunc
	ended  chan struct{}
}

// NewFreezer returns a Freezer for the captures of a store. It calls count with the verdict
// on each run, and on each capture without a run. An error is about the settings.
func NewFreezer(store *Store, s freeze.Settings, log *slog.Logger, count func(project.Verdict)) (*Freezer, error) {
	f := &Freezer{store: store, log: log, count: count, closed: make(chan string, maxWaiting), last: make(chan struct{}), ended: make(chan struct{})}
	f.scan.Store(true)
	ctx, stop := context.WithCancel(atomicfile.WithOnWait(context.Background(), func(dir string) {
		log.Warn("waiting for another program that is writing to the directory", "directory", dir)
	}))
	f.stop = stop
	var err error
	f.rows, err = freeze.Batch(ctx, f.captures(ctx), s, freeze.BatchOptions{Jobs: 1, SkipExisting: true})
	return f, err
}

// Add adds a closed capture. It never blocks. After Finish it may have no effect.
func (f *Freezer) Add(name string) {
	select {
	case f.closed <- name:
	default:
		f.scan.Store(true)
	}
}

// Start starts freezing in the background.
func (f *Freezer) Start() {
	go func() {
		defer close(f.ended)
		for rows := range f.rows {
			for _, row := range rows {
				f.report(row)
			}
		}
	}()
}

// Finish waits until all captures are frozen, or until ctx is done. It must be called once,
// after Start.
func (f *Freezer) Finish(ctx context.Context) {
	close(f.last)
	select {
	case <-f.ended:
	case <-ctx.Done():
		f.log.Warn("some captures may not be frozen yet; the next start freezes them")
		f.stop()
		<-f.ended
	}
	f.stop()
}

// captures returns the captures to freeze, in memory that does not depend on their number.
func (f *Freezer) captures(ctx context.Context) iter.Seq2[*inputs.Input, error] {
	return func(yield func(*inputs.Input, error) bool) {
		pass := func(name string) bool {
			return yield(inputs.File(filepath.Join(f.store.Path, name)), nil)
		}
		for last := f.last; ; {
			// When f.scan is set, the backlog is full; the backlog is taken first.
			select {
			case name := <-f.closed:
				if !pass(name) {
					return
				}
				continue
			default:
			}
			if f.scan.Swap(false) {
				if !f.search(ctx, pass) {
					return
				}
				continue
			}
			if last == nil {
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-last:
				last = nil // what was added before is still to be taken
			case name := <-f.closed:
				if !pass(name) {
					return
				}
			}
		}
	}
}

// search passes the names of the closed captures in the store to pass, and reports whether
// to go on.
func (f *Freezer) search(ctx context.Context, pass func(name string) bool) bool {
	dir, err := f.store.Root.Open(".")
	if err != nil {
		f.log.Error("cannot list the captures to freeze", "error", err)
		return true
	}
	defer dir.Close()
	for {
		entries, err := dir.ReadDir(256)
		for _, e := range entries {
			if !e.IsDir() {
				continue
			}
			manifest, err := f.store.Root.Lstat(filepath.Join(e.Name(), capture.ManifestName))
			if err != nil || !manifest.Mode().IsRegular() {
				continue // not closed yet, or not a capture
			}
			if ctx.Err() != nil || !pass(e.Name()) {
				return false
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return true
		case err != nil:
			f.log.Error("cannot list the captures to freeze", "error", err)
			return true
		}
	}
}

// report logs and counts the result for a run, or for a capture without a run. Captures
// that were frozen before have no result.
func (f *Freezer) report(row freeze.Row) {
	if row.Verdict == project.Skipped || finding.Has(row.Findings, finding.Interrupted) {
		return
	}
	f.count(row.Verdict)
	attrs := []any{"capture", filepath.Base(row.Capture), "verdict", string(row.Verdict)}
	if row.Run != nil {
		attrs = append(attrs, "run", *row.Run)
	}
	for _, why := range row.Findings {
		if why.Severity == finding.Error {
			attrs = append(attrs, "code", string(why.Code)) // its message may quote content
			break
		}
	}
	if row.Verdict == project.Frozen {
		f.log.Info("run frozen", attrs...)
		return
	}
	f.log.Warn("not frozen", attrs...)
}
