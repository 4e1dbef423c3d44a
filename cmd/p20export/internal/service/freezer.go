package service

import (
	"context"
	"iter"
	"log/slog"
	"path/filepath"
	"sync"

	"github.com/p20export/p20export/capture/inputs"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/atomicfile"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/freeze"
)

const (
	// maxWaiting is the number of closed captures that a Freezer, or a Logger, keeps in
	// memory, and of threads that a Sealer does. Those past it are found in the directory, or
	// in the log, later.
	maxWaiting = 1000
	// maxBatch is the number of captures after which a Freezer opens the directory for
	// the files again. Someone may have moved it away.
	maxBatch = 1000
)

// Freezer freezes the captures of a store in the background: first those that are in it,
// then those that are closed. It freezes one capture at a time, to leave the processors to
// the traffic. Captures in the store that it has refused are not tried again, unless they,
// the settings or the program have changed.
type Freezer struct {
	store    *Store
	settings freeze.Settings
	log      *slog.Logger
	count    func(project.Verdict)
	refused  *refusals

	mu      sync.Mutex
	waiting []string
	scan    bool // whether the store may have captures that are not in waiting

	wake  chan struct{} // something is waiting
	last  chan struct{} // closed by Finish
	ctx   context.Context
	stop  context.CancelFunc
	ended chan struct{}
}

// NewFreezer returns a Freezer for the captures of a store. It calls count with the verdict
// on each run, and on each capture without a run. An error is about the settings.
func NewFreezer(store *Store, s freeze.Settings, log *slog.Logger, count func(project.Verdict)) (*Freezer, error) {
	f := &Freezer{
		store: store, settings: s, log: log, count: count, scan: true,
		wake: make(chan struct{}, 1), last: make(chan struct{}), ended: make(chan struct{}),
	}
	f.ctx, f.stop = context.WithCancel(atomicfile.WithOnWait(context.Background(), func(dir string) {
		log.Warn("waiting for another program that is writing to the directory", "directory", dir)
	}))
	if _, err := f.batch(nil); err != nil {
		return nil, err
	}
	f.refused = newRefusals(store, s, log)
	return f, nil
}

// batch freezes captures.
func (f *Freezer) batch(captures iter.Seq2[*inputs.Input, error]) (iter.Seq[[]freeze.Row], error) {
	return freeze.Batch(f.ctx, captures, f.settings, freeze.BatchOptions{Jobs: 1, SkipExisting: true})
}

// Add adds a closed capture. It never blocks. After Finish it may have no effect.
func (f *Freezer) Add(name string) {
	f.mu.Lock()
	if len(f.waiting) < maxWaiting {
		f.waiting = append(f.waiting, name)
	} else {
		f.scan = true
	}
	f.mu.Unlock()
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// Start starts freezing in the background.
func (f *Freezer) Start() { go f.run() }

func (f *Freezer) run() {
	defer close(f.ended)
	defer f.refused.close()
	for last := false; ; {
		for f.hasWork() && f.ctx.Err() == nil {
			rows, err := f.batch(f.captures())
			if err != nil { // NewFreezer has checked the settings
				f.log.Error("cannot freeze", "error", err)
				return
			}
			for rows := range rows {
				for _, row := range rows {
					f.report(row)
				}
				f.refused.add(rows)
			}
		}
		if last {
			return
		}
		select {
		case <-f.ctx.Done():
			return
		case <-f.wake:
		case <-f.last:
			last = true // what was added before is still to be taken
		}
	}
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

func (f *Freezer) hasWork() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.scan || len(f.waiting) > 0
}

// captures returns captures to freeze, until there are none or a batch is full. Those of a
// full backlog come before those that had no room in it.
func (f *Freezer) captures() iter.Seq2[*inputs.Input, error] {
	return func(yield func(*inputs.Input, error) bool) {
		pass := func(name string) bool {
			return f.ctx.Err() == nil && yield(inputs.File(filepath.Join(f.store.Path, name)), nil)
		}
		for range maxBatch {
			f.mu.Lock()
			name, search := "", false
			if len(f.waiting) > 0 {
				name, f.waiting = f.waiting[0], f.waiting[1:]
			} else {
				search, f.scan = f.scan, false
			}
			f.mu.Unlock()
			switch {
			case name != "" && !pass(name):
				return
			case name == "" && (!search || !f.search(pass)):
				return
			}
		}
	}
}

// search passes the names of the closed captures in the store to pass, without those that
// were refused, and reports whether to go on.
func (f *Freezer) search(pass func(name string) bool) bool {
	refused := 0
	defer func() {
		if refused > 0 {
			f.log.Info("captures that were refused before are not frozen again", "captures", refused, "file", f.refused.path)
		}
	}()
	for name, err := range f.store.closed("") {
		if err != nil {
			f.log.Error("cannot list the captures to freeze", "error", err)
			return true
		}
		if f.refused.has(name) {
			refused++
			continue
		}
		if !pass(name) {
			return false
		}
	}
	return true
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
