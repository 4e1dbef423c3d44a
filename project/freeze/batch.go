package freeze

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/capture/inputs"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/hint"
	"github.com/p20export/p20export/internal/ordered"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/sign"
)

// BatchOptions configure Batch.
type BatchOptions struct {
	// Jobs is the number of captures that are frozen at the same time. 0 means
	// runtime.GOMAXPROCS(0); the Jobs of packages validate and verify are 1 by default.
	Jobs int
	// NameByDigest names files by the digest of the response, in 64 hex digits, and
	// writes all of them to Settings.Dir.
	NameByDigest bool
	// SkipExisting skips captures whose files exist. A capture directory is not read,
	// and a plain file is only hashed, unless it contains several runs: then all runs are
	// counted, because each needs its files.
	SkipExisting bool
	// Inline writes no files. The rows contain their texts instead, up to 512 MiB for
	// each capture, and their signatures. There are no time-stamps, which are not texts.
	Inline bool
}

// Batch freezes captures to files, several at a time, and returns the rows of each
// capture in the order of the captures. The files of a capture are written to the
// directory Input.RelDir in Settings.Dir.
//
// The captures are usually those of inputs.Source.All. An error in the sequence ends it,
// and is the last row, which names no capture.
//
// The files of up to 100 captures are made durable together. Rows are returned when
// their files are durable. A capture that fails does not affect the others.
//
// Batch takes inputs before it returns the rows of earlier ones, and closes every input
// that it has taken. The caller closes the source after the last row. If the caller stops
// before, the captures that were taken may have been frozen and their files written
// without a row, completely or not at all. When ctx is done, the sequence ends after the
// first interrupted capture.
//
// Captures that are only in memory are frozen with Reader, or as an archive that inputs.Tar
// reads.
//
// Batch calls Settings.Progress for several captures at the same time. It returns an error
// only for invalid settings.
func Batch(ctx context.Context, in iter.Seq2[*inputs.Input, error], s Settings, o BatchOptions) (iter.Seq[[]Row], error) {
	if err := s.Normalize(); err != nil {
		return nil, err
	}
	switch {
	case o.NameByDigest && s.Name != "":
		return nil, errors.New("the files cannot have a given name and be named by digest")
	case o.SkipExisting && s.Run != "":
		return nil, errors.New("existing files cannot be skipped if a run is selected: their names do not identify it")
	case o.SkipExisting && o.Inline:
		return nil, errors.New("existing files cannot be skipped if no files are written")
	case o.Inline && s.Sign != nil && s.Sign.Authority != "":
		return nil, errors.New("time-stamps are made only if files are written")
	case s.Dir == "" && !o.Inline:
		return nil, errors.New("there is no directory for the files")
	case o.Jobs < 0:
		return nil, fmt.Errorf("the number of jobs is %d", o.Jobs)
	}
	if o.Jobs == 0 {
		o.Jobs = runtime.GOMAXPROCS(0)
	}
	s.nameByDigest = o.NameByDigest
	return func(yield func([]Row) bool) {
		b := &batch{settings: s, options: o, inputs: in, backlog: newBacklog(maxBacklog)}
		if o.Inline {
			b.inline(ctx, yield)
		} else {
			b.write(ctx, yield)
		}
	}, nil
}

// batch freezes many captures.
type batch struct {
	settings Settings
	options  BatchOptions
	inputs   iter.Seq2[*inputs.Input, error]
	backlog  *backlog
}

// result is a frozen capture. Its files are not written yet.
type result struct {
	dir   string
	rows  []Row
	files *staging // nil if there are none
	bytes int      // about the memory of rows and files
}

// freezeAll freezes the captures and returns the results in order. It returns a result
// for every capture that was begun when ctx is done.
func (b *batch) freezeAll(ctx context.Context, freeze func(context.Context, *inputs.Input, Settings) *result) iter.Seq[*result] {
	type numbered struct {
		*inputs.Input
		number int
	}
	return ordered.Map(context.WithoutCancel(ctx), b.options.Jobs, func(yield func(numbered) bool) {
		number := 0
		for in, err := range b.inputs {
			if err != nil {
				in = inputs.Failed("", err)
			}
			if !yield(numbered{in, number}) || err != nil || ctx.Err() != nil {
				return
			}
			number++
		}
	}, func(_ int, in numbered) *result {
		defer in.Close()
		completed := false
		defer func() {
			if !completed { // a panic, after which no results are returned
				b.backlog.stop()
			}
		}()
		s, bytes := b.settings, 0
		s.onRow = func(n int) {
			b.backlog.add(in.number, n)
			bytes += n
		}
		r := freeze(ctx, in.Input, s)
		r.bytes = bytes
		completed = true
		return r
	})
}

// inline freezes the captures without writing files.
func (b *batch) inline(ctx context.Context, yield func([]Row) bool) {
	for r := range b.freezeAll(ctx, b.freezeInline) {
		if !b.yield(ctx, r, yield) {
			return
		}
	}
}

// yield passes the rows of a capture to the consumer, and reports whether to go on.
func (b *batch) yield(ctx context.Context, r *result, yield func([]Row) bool) (more bool) {
	defer func() {
		if !more {
			b.backlog.stop()
		}
	}()
	if last := isInterrupted(ctx, r); !yield(r.rows) || last {
		return false
	}
	b.backlog.remove(r.bytes)
	return true
}

// freezeInline freezes a capture in memory.
func (b *batch) freezeInline(ctx context.Context, in *inputs.Input, s Settings) *result {
	c, failed := b.open(ctx, in)
	if failed != nil {
		return failed
	}
	defer c.Close()
	kept := &memory{limit: maxMemory}
	r := &result{rows: freeze(ctx, c, s, kept)}
	for i := range r.rows {
		row := &r.rows[i]
		if row.Verdict != project.Frozen {
			continue
		}
		files := kept.run(*row.Run).files
		if s.Sign != nil {
			made, err := s.Sign.Make(ctx, files.Record, sign.Files{})
			if err != nil {
				fault, _ := finding.FromError(err)
				row.fail(fault)
				continue
			}
			s.onRow(len(made.Envelope))
			row.SignatureJSON = new(string(made.Envelope))
		}
		texts := &[...]string{string(files.Artifact), string(files.Envelope), string(files.Record)}
		row.ArtifactJSON, row.EnvelopeNDJSON, row.RecordJSON = &texts[0], &texts[1], &texts[2]
	}
	return r
}

// open opens a capture, or returns why that failed.
func (b *batch) open(ctx context.Context, in *inputs.Input) (*capture.Capture, *result) {
	c, err := in.Open(ctx)
	if err == nil && b.settings.Name == "" && !b.options.NameByDigest && !isPlainName(c.Name()) {
		c.Close()
		err = finding.New(finding.IOFailed, "%s", (&NameError{Name: c.Name()}).Error()).WithHint(hint.NameByDigest)
	}
	if err != nil {
		return nil, &result{rows: []Row{failureRow(in.Path, err)}}
	}
	return c, nil
}

// freezeFiles freezes a capture whose files will be written.
func (b *batch) freezeFiles(ctx context.Context, in *inputs.Input, s Settings) *result {
	r := &result{dir: b.settings.Dir}
	if !b.options.NameByDigest {
		r.dir = in.Under(b.settings.Dir)
	}
	if b.options.SkipExisting {
		if r.rows = b.skip(ctx, in, r.dir); r.rows != nil {
			s.onRow(len(r.rows) * rowBytes)
			return r
		}
	}
	c, failed := b.open(ctx, in)
	if failed != nil {
		return failed
	}
	defer c.Close()
	r.files = &staging{dir: r.dir}
	r.rows = freeze(ctx, c, s, r.files)
	return r
}

// isInterrupted reports whether the end of ctx interrupted a capture.
func isInterrupted(ctx context.Context, r *result) bool {
	return ctx.Err() != nil && slices.ContainsFunc(r.rows, func(row Row) bool { return finding.Has(row.Findings, finding.Interrupted) })
}

// hintSkipExisting names the way to freeze the captures after an interrupted one.
func (r *result) hintSkipExisting() {
	for _, row := range r.rows {
		for i, f := range row.Findings {
			if f.Code == finding.Interrupted {
				row.Findings[i] = f.WithHint("%s", hint.SkipExisting)
			}
		}
	}
}

// write freezes the captures to files. One goroutine freezes them, with those of
// ordered.Map, one writes their files and one makes groups of them durable.
func (b *batch) write(ctx context.Context, yield func([]Row) bool) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	w := &batchWriter{frozen: make(chan *result), full: make(chan *group)}
	w.publishing, w.sign = b.settings.Publishing, b.settings.Sign
	switch {
	case b.options.NameByDigest:
		w.existsHint = hint.ChooseOutput
	case b.settings.Name == "":
		w.existsHint = hint.OtherNames
	}
	durable := make(chan *group)
	var running sync.WaitGroup
	var panicked any
	running.Go(func() {
		defer close(w.frozen)
		defer func() { panicked = recover() }()
		for r := range b.freezeAll(ctx, b.freezeFiles) {
			w.frozen <- r
		}
	})
	running.Go(func() { w.collect(ctx) })
	running.Go(func() {
		defer close(durable)
		for g := range w.full {
			w.commit(ctx, g)
			durable <- g
		}
	})
	stopped := false
	for g := range durable {
		for _, r := range g.done {
			if stopped {
				break
			}
			if isInterrupted(ctx, r) && b.settings.Run == "" {
				r.hintSkipExisting()
			}
			if !b.yield(ctx, r, yield) {
				stopped = true
				stop()
			}
		}
	}
	running.Wait()
	w.close()
	if panicked != nil {
		panic(panicked)
	}
}

// batchWriter writes the files of captures in groups.
type batchWriter struct {
	publisher
	frozen chan *result // captures whose files are not written
	full   chan *group  // groups whose files are not durable
}

// maxGroupAge is the time after which a group is committed although it is not full.
const maxGroupAge = 50 * time.Millisecond

// collect collects captures into groups. A group that is old enough grows while another
// one is committed.
func (w *batchWriter) collect(ctx context.Context) {
	defer close(w.full)
	g := newGroup()
	var old <-chan time.Time
	isOld := false
	next := func() { g, old, isOld = newGroup(), nil, false }
	for in := w.frozen; in != nil || len(g.done) > 0; {
		from, to := in, w.full
		switch {
		case g.isFull():
			from = nil
		case len(g.done) == 0, !isOld && in != nil:
			to = nil
		}
		select {
		case r, ok := <-from:
			if !ok {
				in = nil
				break
			}
			w.begin(r.rows)
			for i := range r.rows {
				if g.isFull() { // a capture with many runs
					w.full <- g
					next()
				}
				g.add(w.prepare(ctx, r.dir, &r.rows[i], r.files))
			}
			r.files.close()
			if g.done = append(g.done, r); old == nil {
				old = time.After(maxGroupAge)
			}
		case <-old:
			isOld = true
		case to <- g:
			next()
		}
	}
}
