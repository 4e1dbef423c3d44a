package attach

import (
	"bytes"
	"cmp"
	"context"
	"errors"

	"github.com/p20export/p20export/envelope/lineage"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/restore"
)

// joinable is a run that can be joined as of a position.
type joinable struct {
	known    int64 // the last position whose runs are known
	start    int64 // 0 if there is no run to join
	stream   string
	position int64
	check    uint32 // of the entry there
	prelude  frames
	ended    bool  // nothing follows the prelude
	terminal bool  // because the prelude has the last event of the run
	err      error // restore.ErrTooLarge, which does not go away; there is no prelude
}

// has reports whether an entry belongs to the run.
func (j *joinable) has(e *entry) bool { return e.run == j.start && e.stream == j.stream }

// joiner makes the preludes of a thread. It keeps the run that was joined last, and brings it
// up to date when a reader joins.
type joiner struct {
	turn   turn            // whose turn it is uses the rest
	thread *restore.Thread // nil if it has to be opened again
	live   *restore.Live   // that of start; nil if nothing follows the prelude
	part   *part           // the memory of thread and live
	joinable
}

// reset forgets everything.
func (j *joiner) reset() {
	j.part.drop()
	j.prelude.part.drop()
	j.thread, j.live, j.part, j.joinable = nil, nil, nil, joinable{}
}

// joinable returns the run that started last, if that was after joined, with all entries that
// the follower has. Readers that wait for the same prelude share it. The caller holds it.
func (f *feed) joinable(ctx context.Context, joined int64) (_ joinable, err error) {
	j := &f.joiner
	f.mu.Lock()
	// The client may have received this before. Its conversation must not go back.
	least := f.last
	f.mu.Unlock()
	if err := j.turn.begin(ctx); err != nil {
		return joinable{}, err
	}
	defer func() {
		j.turn.end(err)
		if f.failed() != nil {
			f.evict(true) // fail could not
		}
	}()
	f.mu.Lock()
	last, lastRun, err := f.last, f.lastRun, f.err
	f.used = f.memory.clock.Add(1)
	f.mu.Unlock()
	if err != nil {
		return joinable{}, err
	}
	if j.thread == nil || j.known < lastRun {
		if err := f.open(ctx); err != nil {
			return joinable{}, err
		}
	}
	var n *lineage.Node
	if j.thread != nil && len(j.thread.Graph.Nodes) > 0 {
		n = j.thread.Graph.Nodes[len(j.thread.Graph.Nodes)-1]
	}
	switch {
	case n == nil || n.Position <= joined:
		return joinable{known: j.known}, nil
	case n.Position != j.start:
		err = f.restore(ctx, n)
	case !j.ended && j.position < least:
		err = f.advance(ctx, last)
	}
	if errors.Is(err, restore.ErrTooLarge) {
		j.joinable = joinable{known: j.known, start: n.Position, ended: true, err: err}
	}
	if err = cmp.Or(err, j.err); err != nil {
		return joinable{}, err
	}
	j.prelude.part.hold()
	return j.joinable, nil
}

// open reads the runs of the thread.
func (f *feed) open(ctx context.Context) error {
	j := &f.joiner
	j.reset()
	t, err := restore.Open(ctx, f.log, f.key, f.restoring)
	if ignoreNoThread(err) != nil {
		return err
	}
	if err != nil {
		return nil
	}
	if j.part, err = f.memory.take(ctx, runBytes*len(t.Graph.Nodes)); err == nil {
		j.thread, j.known = t, t.Last
	}
	return err
}

// makingBytes is what it takes at most to make a prelude, for each byte of the thread. The
// events of most threads are much longer than what remains of them.
const makingBytes = 5

// restore makes the prelude of a run.
func (f *feed) restore(ctx context.Context, n *lineage.Node) error {
	j := &f.joiner
	j.start = 0
	j.release()
	t, err := f.log.Thread(ctx, f.key)
	if err != nil {
		return err
	}
	making, err := f.memory.take(ctx, int(min(makingBytes*t.Bytes, f.memory.limit/4)))
	if err != nil {
		return err
	}
	defer making.drop()
	if err := enter(ctx, f.working); err != nil {
		return err
	}
	defer leave(f.working)
	live, err := j.thread.Live(ctx, n)
	if err != nil {
		return err
	}
	ended := live.Ended()
	if !ended && n.End != lineage.Open {
		if ended, err = f.isCut(ctx, n); err != nil {
			return err
		}
	}
	next := joinable{known: j.known, start: n.Position, stream: n.Source, position: j.known, ended: ended}
	if next.check, err = f.checkAt(ctx, j.known); err != nil {
		return err
	}
	j.live = live
	return j.set(making, next)
}

// isCut reports whether the stream of the last run had ended at the last known position. The
// log may know a later end already.
func (f *feed) isCut(ctx context.Context, n *lineage.Node) (bool, error) {
	s, err := f.log.Stream(ctx, f.key, n.Source)
	return s.Ended && s.Last <= f.joiner.known, err
}

// advance brings the prelude up to date with the entries up to a position. No run starts in
// them.
func (f *feed) advance(ctx context.Context, to int64) error {
	j := &f.joiner
	next := j.joinable
	j.start = 0 // until it is up to date
	size := len(next.prelude.text)
	j.prelude.part.drop()
	j.prelude, next.prelude = frames{}, frames{}
	making, err := f.memory.take(ctx, 2*size)
	if err != nil {
		return err
	}
	defer making.drop()
	for e, err := range f.log.Select(ctx, f.key, store.Selection{After: next.position, To: to, Bare: []store.Kind{store.Input}}) {
		if err != nil {
			return err
		}
		if next.position, next.check = e.Position, 0; e.Kind != store.Input {
			next.check = checkOf(e)
		}
		switch {
		case e.Run == next.start:
			j.live.Entry(e)
			next.ended = next.ended || isTerminal(e.Type)
		case e.Kind == store.End && e.Stream == next.stream:
			next.ended = true
		}
	}
	if next.check == 0 { // the data of the last entry was left out
		if next.check, err = f.checkAt(ctx, next.position); err != nil {
			return err
		}
	}
	return j.set(making, next)
}

// release forgets the run.
func (j *joiner) release() {
	j.prelude.part.drop()
	j.live, j.prelude = nil, frames{}
	if j.part != nil {
		j.part.resize(j.size())
	}
}

// What a restored run needs for each byte and each object of its prelude, and a
// restore.Thread for each run. The figures were measured, and are those of the worst cases.
const (
	liveBytes   = 3
	objectBytes = 300
	runBytes    = 1 << 10
)

// size returns the memory of thread and live.
func (j *joiner) size() int {
	n := 0
	if j.thread != nil {
		n += runBytes * len(j.thread.Graph.Nodes)
	}
	if j.live != nil {
		// In strings, quotes are escaped.
		n += liveBytes*len(j.prelude.text) + objectBytes*bytes.Count(j.prelude.text, []byte(`{"`))
	}
	return n
}

// set sets the run to join, and its prelude. The memory for that was taken as far as it was
// known, and goes back to others.
func (j *joiner) set(making *part, next joinable) error {
	events, err := j.live.Prelude()
	if err != nil {
		j.release()
		return err
	}
	size := 0
	for _, data := range events {
		size += len(data) + len("id: 9223372036854775807-01234567\ndata: \n\n")
	}
	next.prelude = frames{text: make([]byte, 0, size)}
	for i, data := range events {
		id := ""
		if i == len(events)-1 {
			id = Cursor{Position: next.position, Check: next.check}.String()
		}
		next.prelude.add(id, data)
	}
	next.terminal = j.live.Ended()
	j.joinable = next
	if j.ended {
		j.live = nil
	}
	m := making.memory
	making.resize(0)
	j.prelude.part = m.add(j.prelude.size())
	if j.part.resize(j.size()); m.over() {
		if m.evict(func() bool { return !m.over() }); m.over() {
			j.start = 0
			j.release()
			return ErrMemory
		}
	}
	return nil
}

// enter waits until it can put a value into a channel.
func enter(ctx context.Context, c chan struct{}) error {
	select {
	case c <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// leave takes a value out of a channel.
func leave(c chan struct{}) { <-c }
