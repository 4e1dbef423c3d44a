package restore

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"time"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/lineage"
	"github.com/p20export/p20export/envelope/reduce"
	"github.com/p20export/p20export/store"
)

// A Walker restores the conversation of a thread as of one position after another. Its results
// are those of Thread.At, but a step forward costs only the entries between, and a step back the
// entries since a checkpoint: a copy of the conversation as it was. A Walker goes on when the
// thread has grown.
//
// A Walker must not be used by several goroutines at once.
type Walker struct {
	log     store.Log
	key     store.Key
	options Options

	thread  *Thread // nil before the first moment, and after the log was rewound
	reader  *envelope.Reader
	objects map[int64]bool // whether requests that were read are JSON objects, by position
	now     *spot          // where the Walker is, or nil
	kept    checkpoints
	seed    maphash.Seed // of checks
	before  placed       // the entry before the one that was read last
}

// NewWalker returns a Walker for a thread, which need not exist yet. Its checkpoints take about
// maxBytes of memory; those that no longer fit are dropped.
func NewWalker(log store.Log, key store.Key, o Options, maxBytes int64) *Walker {
	return &Walker{log: log, key: key, options: o, kept: checkpoints{limit: maxBytes}, seed: maphash.MakeSeed()}
}

// Bytes returns about how much memory the Walker takes.
func (w *Walker) Bytes() int64 {
	n := w.kept.bytes
	if w.now != nil {
		n += w.now.memory(nil)
	}
	if w.thread != nil {
		n += int64(len(w.thread.runs)) * runBytes
	}
	return n
}

// runBytes is about what a run of a Thread takes.
const runBytes = 1024

// A Moment is the conversation of a thread as of a position. It never changes.
type Moment struct {
	// Entry is the entry at the position.
	Entry store.Entry
	// Last is the last position of the thread.
	Last int64
	// View has the messages and the state, and Before those before the entry: if the entry
	// begins a run, those of the run that it continues.
	View, Before *reduce.View

	result Result // without what View has
}

// Position returns the position.
func (m *Moment) Position() int64 { return m.Entry.Position }

// Run returns the run to which the conversation belongs, or nil. See Thread.At.
func (m *Moment) Run() *lineage.Node { return m.result.Run }

// Result returns what Thread.At returns.
func (m *Moment) Result() *Result {
	r := m.About()
	r.Messages, r.State = m.View.AppendMessages(nil), m.View.AppendState(nil)
	return r
}

// About is Result without the messages and the state, which can be large.
func (m *Moment) About() *Result {
	r := m.result
	return &r
}

// Moment moves to a position. The error is ErrPosition if the thread has no such position,
// store.ErrNoThread if it does not exist, store.ErrDeleted if it was deleted, and
// store.ErrRewound if it no longer has what the Walker has read of it; the next call then begins
// again. After any other error, such as that of ctx, the Walker is where it was, or at a
// checkpoint.
func (w *Walker) Moment(ctx context.Context, position int64) (*Moment, error) {
	m, err := w.moment(ctx, position)
	if errors.Is(err, store.ErrRewound) || errors.Is(err, store.ErrDeleted) || errors.Is(err, store.ErrNoThread) {
		w.reset()
	}
	return m, err
}

// Last returns the last position of the thread as it is now. The errors are those of Moment.
func (w *Walker) Last(ctx context.Context) (int64, error) {
	if err := w.refresh(ctx); err != nil {
		return 0, err
	}
	return w.thread.Last, nil
}

// reset forgets everything.
func (w *Walker) reset() {
	w.thread, w.reader, w.objects, w.now, w.kept = nil, nil, nil, nil, checkpoints{limit: w.kept.limit}
}

func (w *Walker) moment(ctx context.Context, position int64) (*Moment, error) {
	if err := w.refresh(ctx); err != nil {
		return nil, err
	}
	e, err := w.read(ctx, position)
	if err != nil {
		return nil, err
	}
	n := w.thread.owner(e)
	m := &Moment{Entry: *e, Last: w.thread.Last}
	before := n
	if n != nil && position == w.thread.runs[n.Index].Input {
		before = n.Parent
	}
	if err := w.move(ctx, before, position-1); err != nil {
		return nil, err
	}
	m.Before = w.now.reducer.View()
	switch {
	case n != before:
		if err := w.move(ctx, n, position); err != nil {
			return nil, err
		}
	case n != nil && e.Run == w.thread.runs[n.Index].Start:
		w.step(w.now, n, e, position)
	}
	m.View, m.result = w.now.reducer.View(), *w.now.about(n, position)
	m.result.StateKnown, m.result.Findings = m.View.HasState(), w.now.findingsOf()
	return m, nil
}

// refresh brings the thread up to date.
func (w *Walker) refresh(ctx context.Context) error {
	if w.thread != nil {
		about, err := w.log.Thread(ctx, w.key)
		switch {
		case err != nil:
			return err
		case !about.DeletedAt.IsZero():
			return store.ErrDeleted
		case about.Last < w.thread.Last:
			return store.ErrRewound
		case about.Last == w.thread.Last:
			return nil
		}
	}
	t, err := Open(ctx, w.log, w.key, w.options)
	if err != nil {
		return err
	}
	if w.thread == nil {
		w.reader, w.objects = envelope.NewReader(), make(map[int64]bool)
	} else if !t.continues(w.thread) {
		return store.ErrRewound
	}
	w.thread = t
	if w.now != nil {
		w.now.join(t)
	}
	w.kept.join(t)
	return nil
}

// continues reports whether a thread has the runs that it had earlier.
func (t *Thread) continues(earlier *Thread) bool {
	if t.Last < earlier.Last || len(t.runs) < len(earlier.runs) {
		return false
	}
	for i := range earlier.runs {
		a, b := &earlier.runs[i], &t.runs[i]
		if a.ID != b.ID || a.Parent != b.Parent || a.Stream != b.Stream || a.Input != b.Input || a.Start != b.Start || a.Last > b.Last || !a.StartedAt.Equal(b.StartedAt) {
			return false
		}
	}
	return true
}

// entry returns a copy of the entry at a position. The error is ErrPosition if there is none.
func (t *Thread) entry(ctx context.Context, position int64) (*store.Entry, error) {
	if position < 1 || position > t.Last {
		return nil, fmt.Errorf("%w: %d; the positions are 1 to %d", ErrPosition, position, t.Last)
	}
	for e, err := range t.log.Select(ctx, t.Key, store.At(position)) {
		if err != nil {
			return nil, err
		}
		return copyOf(e), nil
	}
	return nil, fmt.Errorf("%w: %d", ErrPosition, position)
}

func copyOf(e *store.Entry) *store.Entry {
	copied := *e
	copied.Data = slices.Clone(e.Data)
	return &copied
}

// read returns a copy of the entry at a position, and notes the check of the entry before.
func (w *Walker) read(ctx context.Context, position int64) (*store.Entry, error) {
	w.before = placed{}
	if position < 2 || position > w.thread.Last {
		return w.thread.entry(ctx, position)
	}
	for e, err := range w.log.Select(ctx, w.key, store.Selection{After: position - 2, To: position}) {
		if err != nil {
			return nil, err
		}
		if e.Position == position {
			return copyOf(e), nil
		}
		w.before = placed{e.Position, w.checkOf(e)}
	}
	return nil, fmt.Errorf("%w: %d", ErrPosition, position)
}

// move makes w.now the conversation of a run as of a position. A nil run has none.
func (w *Walker) move(ctx context.Context, n *lineage.Node, position int64) error {
	if n == nil {
		w.now = w.newSpot(base{first: -1})
		return nil
	}
	path := n.Path()
	from, err := w.first(ctx, path, position)
	if err != nil {
		return err
	}
	used := path[from:]
	b := w.thread.base(path, from, position)
	s := w.kept.nearest(b, used, position)
	stored, err := w.stored(ctx, b, used, position, s)
	if err != nil {
		return err
	}
	if stored != nil {
		s, w.now = stored, nil
	} else if w.now != nil && w.now.base == b && w.now.leadsTo(used, position) && (s == nil || w.now.entries >= s.entries) {
		s, w.now = w.now, nil
	} else if s != nil {
		s = s.copy()
	} else {
		s = w.newSpot(b)
		if from > 0 {
			request, err := w.thread.entry(ctx, w.thread.runs[b.first].Input)
			if err != nil {
				return err
			}
			if err := s.begin(ctx, path, from, position, request.Data, true); err != nil {
				return err
			}
		}
	}
	if err := w.fill(ctx, s, used, position); err != nil {
		return err
	}
	w.now = s
	return nil
}

// stored returns the spot of a checkpoint that is kept in the log, if that is much nearer than what
// the Walker has: where it is, or a checkpoint of its own, which may be nil.
func (w *Walker) stored(ctx context.Context, b base, used []*lineage.Node, position int64, own *spot) (*spot, error) {
	at := w.thread.runs[b.first].Start
	if own != nil {
		at = own.applied
	}
	if w.now != nil && w.now.base == b && w.now.leadsTo(used, position) {
		at = max(at, w.now.applied)
	}
	least := int64(w.options.spaced().entries)
	if position-at < 2*least {
		return nil, nil
	}
	s, e, err := w.thread.nearest(ctx, b, used, position, at+least, position)
	if s != nil {
		s.check, s.reader = w.checkOf(e), w.reader
	}
	return s, err
}

func (w *Walker) newSpot(b base) *spot {
	return &spot{base: b, replay: replay{Thread: w.thread, reader: w.reader, reducer: reduce.New(reduce.Options{Dialect: w.options.Dialect})}}
}

// first is Thread.first without the request.
func (w *Walker) first(ctx context.Context, path []*lineage.Node, position int64) (int, error) {
	for i := len(path) - 1; i > 0; i-- {
		r := &w.thread.runs[path[i].Index]
		if r.Input == 0 || r.Input > position || !w.thread.isFull(path[i]) {
			continue
		}
		is, known := w.objects[r.Input]
		if !known {
			request, err := w.thread.entry(ctx, r.Input)
			if err != nil {
				return 0, err
			}
			is = isObject(request.Data)
			w.objects[r.Input] = is
		}
		if is {
			return i, nil
		}
	}
	return 0, nil
}

// fill applies the entries between a spot and a position, and adds checkpoints on the way.
func (w *Walker) fill(ctx context.Context, s *spot, used []*lineage.Node, position int64) error {
	s.used = used
	plan := w.thread.plan(used[s.runIn(used):], position)
	if s.last != nil {
		plan = s.rest(plan)
		if w.before == (placed{s.applied, s.check}) {
			plan = plan[1:] // the entry was read just now
		}
	}
	applied := s.entries
	err := w.thread.read(ctx, plan, func(n *lineage.Node, e *store.Entry) error {
		if n == nil {
			if w.checkOf(e) != s.check {
				return store.ErrRewound
			}
			return nil
		}
		w.step(s, n, e, position)
		return nil
	})
	s.through = position
	w.thread.applied(used[len(used)-1], s.entries-applied)
	return err
}

// step applies an entry of a run, on the way to a position.
func (w *Walker) step(s *spot, n *lineage.Node, e *store.Entry, position int64) {
	s.step(n, e, position)
	s.check = w.checkOf(e)
	w.kept.add(s)
	if len(e.Data) > largeEntry {
		*w.reader = *envelope.NewReader() // the one before refers to the entry
	}
}

// largeEntry is the size in bytes above which an entry is forgotten at once. Smaller ones take little
// memory until others are read.
const largeEntry = 64 << 10

// placed is a position and the check of its entry.
type placed struct {
	position int64
	check
}

// check says which entry there was at a position. An agent that runs again can send the same
// event at the same position, but not at the same time.
type check struct {
	stream  string
	arrived time.Time
	data    uint64 // a hash
}

func (w *Walker) checkOf(e *store.Entry) check {
	return check{e.Stream, e.Arrived, maphash.Bytes(w.seed, e.Data)}
}
