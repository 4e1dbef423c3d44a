package attach

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/p20export/p20export/envelope/reduce"
	"github.com/p20export/p20export/internal/eventnames"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/restore"
)

// reader is one iteration over a thread.
type reader struct {
	ctx  context.Context
	hub  *Hub
	key  store.Key
	feed *feed // nil until it is needed
	// position is that of the last entry that was sent or passed over. The iteration ends
	// when it is until.
	position, until int64
	yield           func([]byte, error) bool
	idle            *time.Timer // nil if Settings.Idle is 0; reset when something is sent
	caughtUp        bool        // it had all entries of the thread at some time
	held            *part       // what the reader is taking
}

// hold holds a part, which the caller holds, in place of the one before it.
func (r *reader) hold(p *part) {
	r.held.drop()
	r.held = p
}

// errStopped means that the caller of an iteration stopped it.
var errStopped = errors.New("the iteration was stopped")

// next returns the next entries, and sends an empty text whenever the reader was idle. The
// error is io.EOF at the end. The entries are valid until the reader takes something else.
func (r *reader) next() (page, error) {
	r.hold(nil)
	for {
		if r.position >= r.until {
			return page{}, io.EOF
		}
		if err := r.ctx.Err(); err != nil {
			return page{}, err
		}
		if r.feed == nil {
			if err := r.join(); err != nil {
				return page{}, err
			}
		}
		p, changed, err := r.feed.page(r.ctx, r.position)
		if err != nil {
			return page{}, err
		}
		if len(p.entries) > 0 {
			r.hold(p.part)
			return p.to(r.until), nil
		}
		if err := r.wait(changed); err != nil {
			return page{}, err
		}
	}
}

// wait waits until a channel is closed or ctx is done, or sends an empty text if the reader
// was idle for long enough.
func (r *reader) wait(changed <-chan struct{}) error {
	r.caughtUp = true
	var idle <-chan time.Time
	if r.idle != nil {
		idle = r.idle.C
	}
	select {
	case <-changed:
	case <-r.ctx.Done():
	case <-idle:
		return r.text(nil)
	}
	return nil
}

// send sends the texts of the entries that match, as few as possible, and moves on to the
// last entry.
func (r *reader) send(p page, match func(*entry) bool) error {
	from, to := p.start, p.start
	var came time.Time // the first event of the text
	for i := range p.entries {
		e := &p.entries[i]
		switch {
		case e.end == to: // it has no text
		case !match(e):
			if err := r.some(p.text[from:to:to], came); err != nil {
				return err
			}
			from = e.end
		case from == to:
			came = e.came
		}
		to = e.end
	}
	r.position = p.last()
	return r.some(p.text[from:to:to], came)
}

// everything matches all entries.
func everything(*entry) bool { return true }

// some sends a text, whose first event came at a time, unless it is empty.
func (r *reader) some(text []byte, came time.Time) error {
	if len(text) == 0 {
		return nil
	}
	err := r.text(text)
	if delivered := r.hub.settings.Delivered; delivered != nil && r.caughtUp && !came.IsZero() {
		delivered(time.Since(came))
	}
	return err
}

// text sends a text.
func (r *reader) text(text []byte) error {
	if !r.yield(text, nil) {
		return errStopped
	}
	if r.idle != nil {
		r.idle.Reset(r.hub.settings.Idle)
	}
	return nil
}

// join makes r a reader of its thread. The first one starts the follower.
func (r *reader) join() error {
	h := r.hub
	h.mu.Lock()
	f := h.feeds[r.key]
	h.mu.Unlock()
	if f != nil {
		switch rewound, err := f.rewound(r.ctx); {
		case err != nil:
			return err
		case rewound:
			h.end(f, store.ErrRewound)
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.feeds == nil {
		return ErrClosed
	}
	f = h.feeds[r.key]
	if f == nil {
		f = &feed{
			log: h.log, key: r.key, limit: h.settings.WindowBytes, memory: h.memory, reading: h.reading, loading: newTurn(), last: unknown, final: unknown,
			runs: make(map[int64]*compacted), compacting: newTurn(), working: h.working,
			joiner: joiner{turn: newTurn()}, restoring: restore.Options{Input: h.settings.Input, Dialect: reduce.Client, Behind: h.settings.Behind},
		}
		h.feeds[r.key] = f
		var ctx context.Context
		ctx, f.stop = context.WithCancel(h.ctx)
		h.running.Go(func() {
			h.end(f, f.follow(ctx))
		})
	}
	f.readers++
	r.feed = f
	if h.settings.Idle > 0 {
		r.idle = time.NewTimer(h.settings.Idle)
	}
	return nil
}

// begin makes a place that of the reader. The error is store.ErrRewound if the log has something
// else there than the client got.
func (r *reader) begin(c Cursor) error {
	r.position = c.Position
	if c.Compacted == 0 && c.Check == 0 {
		return nil
	}
	if err := r.catchUp(); err != nil || c.Check == 0 {
		return err
	}
	at := c.Position
	if c.Compacted > 0 {
		at++ // compact compares the run that begins there
	}
	p, missing, err := r.feed.page(r.ctx, at-1)
	p.part.drop() // the entry is used at once
	check := c.Check
	if err == nil && missing == nil && c.Compacted == 0 {
		check, err = r.feed.checkOf(r.ctx, &p)
	}
	if err == nil && (missing != nil || check != c.Check) {
		err = r.rewound()
	}
	return err
}

// rewound returns store.ErrRewound for a reader whose client got something else at its place.
func (r *reader) rewound() error {
	if r.hub.settings.Rewound != nil {
		r.hub.settings.Rewound(r.key)
	}
	return store.ErrRewound
}

// catchUp waits until the follower has what the log has now. Another process may have sent
// the client of the reader what the follower of this one does not have yet.
func (r *reader) catchUp() error {
	if err := r.join(); err != nil {
		return err
	}
	t, err := r.hub.log.Thread(r.ctx, r.key)
	if err != nil || t.Last == 0 {
		return ignoreNoThread(err)
	}
	for {
		p, changed, err := r.feed.after(t.Last - 1)
		p.part.drop()
		if err != nil || changed == nil {
			return err
		}
		if err := r.wait(changed); err != nil {
			return err
		}
		if err := r.ctx.Err(); err != nil {
			return err
		}
	}
}

// close ends the iteration. The last reader of a thread ends its follower.
func (r *reader) close() {
	r.hold(nil)
	if r.idle != nil {
		r.idle.Stop()
	}
	if r.feed == nil {
		return
	}
	h := r.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if r.feed.readers--; r.feed.readers == 0 {
		h.forget(r.feed)
		r.feed.stop()
	}
}

// end ends all readers of a feed with an error. The next reader starts another follower.
func (h *Hub) end(f *feed, err error) {
	h.mu.Lock()
	h.forget(f)
	h.mu.Unlock()
	f.stop()
	if f.fail(err) && h.settings.Rewound != nil && errors.Is(err, store.ErrRewound) {
		h.settings.Rewound(f.key)
	}
}

// forget makes the next reader of a thread start another follower. The caller holds h.mu.
func (h *Hub) forget(f *feed) {
	if h.feeds[f.key] == f {
		delete(h.feeds, f.key)
	}
}

// isTerminal reports whether an event of a type ends its run.
func isTerminal(eventType string) bool {
	return eventType == eventnames.RunFinished || eventType == eventnames.RunError
}
