package attach

import (
	"context"
	"errors"
	"unsafe"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/compact"
	"github.com/p20export/p20export/envelope/sequence"
	"github.com/p20export/p20export/finding"
)

// Limits of the runs that the view Compact compacts, in bytes of text. Longer ones are sent as
// they are.
const (
	// maxRunBytes limits a run, because it is read as a whole whenever its compacted form is
	// needed again.
	maxRunBytes = 8 << 20
	// maxFormBytes limits a compacted form. It is in memory as a whole while a reader takes
	// it, and each slow reader can take another one.
	maxFormBytes = 1 << 20
)

// compacted is a run for the view Compact.
//
// A run is compacted if it was ended, by the end of its stream or by the next run of its
// stream, before any event of another stream followed its RUN_STARTED. Whether it is can
// never change once it is known, and the compacted form depends on nothing but the run. So
// the ids of the form always mean the same events.
type compacted struct {
	last    Cursor // the id of the last event of the run
	settled int64  // the position of the entry that ended the run
	form    frames // empty if the run is sent as it is
}

func (c *compacted) size() int {
	return c.form.size() + int(unsafe.Sizeof(*c))
}

// compact sends the events of the thread after r.position and then after some events of the
// compacted form of the run that follows.
func (r *reader) compact(after Cursor) error {
	skip := after.Compacted
	for {
		p, err := r.next()
		if err != nil {
			return err
		}
		first := p.nextRun(0)
		if skip > 0 && first > 0 {
			return r.noForm(after)
		}
		if first == 0 {
			c, err := r.feed.compacted(r.ctx, p.after+1)
			if err != nil {
				return err
			}
			switch {
			case skip > 0 && (c == nil || after.Check != 0 && after.Check != c.last.Check):
				c.drop()
				return r.noForm(after)
			case skip > 0 && skip >= int64(len(c.form.ends)):
				c.drop()
				return ErrCursor
			}
			if c != nil && len(c.form.ends) > 0 && c.settled <= r.until {
				r.hold(c.form.part)
				if err := r.frames(&c.form, int(skip)); err != nil {
					return err
				}
				skip, r.position = 0, c.last.Position
				continue
			}
			c.drop()
			first = p.nextRun(1)
		}
		if err := r.send(p.to(p.after+int64(first)), everything); err != nil {
			return err
		}
	}
}

// noForm returns the error if no compacted form is at a place, or that of another run.
func (r *reader) noForm(after Cursor) error {
	if after.Check != 0 {
		return r.rewound()
	}
	return ErrCursor
}

// nextRun returns the index of the first RUN_STARTED that is not before an index, or the
// number of entries.
func (p *page) nextRun(from int) int {
	for i := from; i < len(p.entries); i++ {
		if p.entries[i].run == p.after+int64(i)+1 {
			return i
		}
	}
	return len(p.entries)
}

// compacted returns the run that starts at a position for the view Compact, or nil if it has
// not ended. It compacts a run once for all readers. The caller holds it.
func (f *feed) compacted(ctx context.Context, start int64) (_ *compacted, err error) {
	if c := f.known(start); c != nil {
		return c, nil
	}
	c, isCompact, err := f.scan(ctx, start)
	if err != nil || c == nil || !isCompact {
		return c, err
	}
	if err := f.compacting.begin(ctx); err != nil {
		return nil, err
	}
	defer func() { f.compacting.end(err) }()
	if c := f.known(start); c != nil {
		return c, nil
	}
	if c.form.part, err = f.memory.take(ctx, int(min(2*maxFormBytes, f.memory.limit/4))); err != nil {
		return nil, err
	}
	if err := enter(ctx, f.working); err != nil {
		c.drop()
		return nil, err
	}
	defer leave(f.working)
	if err := f.compact(ctx, start, c); err != nil {
		c.drop()
		return nil, err
	}
	c.form.part.resize(c.size())
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		c.drop()
		return nil, f.err
	}
	c.form.part.hold()
	f.runs[start] = c
	f.runBytes += c.size()
	for other, o := range f.runs {
		if f.runBytes <= f.limit {
			break
		}
		if other != start {
			f.runBytes -= o.size()
			o.drop()
			delete(f.runs, other)
		}
	}
	return c, nil
}

// known returns the run that starts at a position if it was compacted, or nil.
func (f *feed) known(start int64) *compacted {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.runs[start]
	if c != nil {
		c.form.part.hold()
	}
	return c
}

// drop ends the hold of one holder. c may be nil.
func (c *compacted) drop() {
	if c != nil {
		c.form.part.drop()
	}
}

// scan finds out where the run that starts at a position ends, and whether it is compacted.
// It returns nil if the run has not ended.
func (f *feed) scan(ctx context.Context, start int64) (c *compacted, isCompact bool, err error) {
	c = new(compacted)
	stream, size := "", 0
	for at := start - 1; ; {
		p, _, err := f.page(ctx, at)
		if err != nil || len(p.entries) == 0 {
			return nil, false, err
		}
		p.part.drop() // the entries are used at once
		from := p.start
		for i := range p.entries {
			e := &p.entries[i]
			at++
			if at == start {
				stream = e.stream
			}
			switch isEvent := e.end > from; {
			case isEvent && e.run == start:
				c.last = Cursor{Position: at, Check: e.check}
				if size += e.end - from; size > maxRunBytes {
					return c, false, nil
				}
			case e.stream == stream && (isEvent || e.kind == kindEnd):
				c.settled = at
				return c, true, nil
			case isEvent:
				return c, false, nil
			}
			from = e.end
		}
	}
}

// Reasons why the compacted form of a run is not used.
var (
	errTooLong = errors.New("the compacted form is too long")
	errRefused = errors.New("a client refuses the compacted form")
)

// compact sets the compacted form of a run, unless it cannot be compacted: if an event is
// not valid, a limit is exceeded, or a client would refuse the form. It refuses that of a run
// that failed while a message was open, because the message then follows the end of the run.
func (f *feed) compact(ctx context.Context, start int64, c *compacted) error {
	var events [][]byte
	size := 0
	checker := sequence.New(sequence.Options{Client: true})
	compactor := compact.New(compact.Options{Mode: compact.ModeClient}, func(data []byte) error {
		e, err := envelope.ReadEvent(data)
		if err != nil {
			return err
		}
		if len(checker.Event(e)) > 0 {
			return errRefused
		}
		events = append(events, append([]byte(nil), data...))
		if size += len(data); size > maxFormBytes {
			return errTooLong
		}
		return nil
	})
	reader := envelope.NewReader()
	for at := start - 1; at < c.last.Position; {
		p, _, err := f.page(ctx, at)
		if err != nil {
			return err
		}
		p.part.drop() // the entries are used at once
		p = p.to(c.last.Position)
		at = p.last()
		from := p.start
		for i := range p.entries {
			e := &p.entries[i]
			if e.end > from {
				ev, err := reader.Read(dataOf(p.text[from:e.end]))
				if err == nil {
					err = compactor.Event(ev)
				}
				if err != nil {
					return ignoreFinding(err)
				}
			}
			from = e.end
		}
	}
	if err := compactor.End(); err != nil {
		return ignoreFinding(err)
	}
	for i, data := range events {
		id := Cursor{start - 1, int64(i) + 1, c.last.Check}
		if i == len(events)-1 {
			id = c.last
		}
		c.form.add(id.String(), data)
	}
	return nil
}

// ignoreFinding returns nil for an error that says why a run cannot be compacted.
func ignoreFinding(err error) error {
	if _, ok := finding.FromError(err); ok || errors.Is(err, errTooLong) || errors.Is(err, errRefused) {
		return nil
	}
	return err
}
