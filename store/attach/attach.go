// Package attach lets readers follow the threads of a log: the history and then each further
// event, none missing and none twice. What they get is text/event-stream, whose ids are
// positions, so that a reader that was interrupted can go on where it stopped. An id also has a
// check of its entry, so that the reader is told if the log went back meanwhile.
//
// A Hub has one follower for each thread with readers, however many there are. It encodes an
// event once, and all readers of the thread share the text. The last part of a thread is in
// memory, up to Settings.WindowBytes. Readers that are further behind read the log, also
// with shared memory, until they have caught up. So a slow reader delays no other one.
//
// The package knows logs and views of threads. It must not know who the readers are or how
// they are connected. What it sends is not evidence.
package attach

import (
	"context"
	"errors"
	"io"
	"iter"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/restore"
)

// Settings are the settings of a Hub. The zero value is ready to use.
type Settings struct {
	// WindowBytes limits the memory for the entries of one thread, and in addition that for
	// its compacted runs. One entry or run can exceed it. 0 means DefaultWindowBytes.
	WindowBytes int
	// MemoryBytes limits the memory for all threads together: entries, compacted runs, and
	// the restored conversations and preludes of Connect. What can be made again is dropped
	// when it is exceeded. A reader that then still needs more waits for others, and gets
	// ErrMemory after 10 seconds, or at once if it would need more than there is at all.
	// What is being read, restored or compacted, for four readers at a time, can come to
	// more than was expected. 0 means DefaultMemoryBytes.
	MemoryBytes int64
	// Idle is the time after which a reader that got nothing gets an empty text. 0 means
	// never.
	Idle time.Duration
	// Delivered, if not nil, is called after a reader that had caught up took a text, with
	// the time since the log passed on the first event of the text. It must not block.
	Delivered func(time.Duration)
	// Rewound, if not nil, is called when all readers of a thread get store.ErrRewound, or one
	// that came with a cursor. It must not block.
	Rewound func(store.Key)
	// Input says what requests are, for Connect. Empty means restore.Auto.
	Input restore.Input
	// Behind is restore.Options.Behind, for Connect.
	Behind func(key store.Key, o restore.Options, position int64)
}

// DefaultWindowBytes is the limit of a thread if Settings.WindowBytes is 0. It is enough for
// about five thousand events.
const DefaultWindowBytes = 1 << 20

// maxWorking is how many runs are compacted or restored at the same time.
const maxWorking = 4

// ErrClosed means that the Hub was closed.
var ErrClosed = errors.New("reading ended because the server stops")

// A Hub serves readers of the threads of a log. It is safe for concurrent use.
//
// Its methods return iterators. Each yields texts of whole server-sent events, and an empty
// text after Settings.Idle without an event. The caller must not change a text. Its
// memory counts until the next one. There is at most one error, as the last pair: that of ctx, ErrClosed, ErrCursor, ErrMemory,
// store.ErrKey, store.ErrDeleted, store.ErrRewound, or another error of the log. After the latter
// all readers of the thread have to begin again, each after its last position. After
// store.ErrRewound they have to begin with the first event.
type Hub struct {
	log      store.Log
	settings Settings
	stop     context.CancelFunc // ends all followers
	ctx      context.Context    // of the followers
	running  sync.WaitGroup     // the followers
	// working limits how many runs are compacted or restored at the same time, because that
	// takes memory.
	working chan struct{}
	// reading limits how many pages are read at the same time, because their size is not
	// known before.
	reading chan struct{}
	memory  *budget

	mu    sync.Mutex
	feeds map[store.Key]*feed // nil after Close
}

// New returns a Hub for a log. The caller closes the Hub before the log.
func New(log store.Log, s Settings) *Hub {
	if s.WindowBytes == 0 {
		s.WindowBytes = DefaultWindowBytes
	}
	if s.MemoryBytes == 0 {
		s.MemoryBytes = DefaultMemoryBytes
	}
	h := &Hub{log: log, settings: s, feeds: make(map[store.Key]*feed), working: make(chan struct{}, maxWorking), reading: make(chan struct{}, maxWorking)}
	h.memory = &budget{limit: s.MemoryBytes, evict: h.evict}
	h.ctx, h.stop = context.WithCancel(context.Background())
	return h
}

// Finish ends the iterations that wait for further entries with ErrClosed, each when it has the
// entries that its thread has now. Those of a thread that the log cannot tell about, or of which
// it was not asked before ctx was done, go on. Call Close after it.
func (h *Hub) Finish(ctx context.Context) {
	h.mu.Lock()
	feeds := slices.Collect(maps.Values(h.feeds))
	h.mu.Unlock()
	for _, f := range feeds {
		if t, err := h.log.Thread(ctx, f.key); ignoreNoThread(err) == nil {
			f.finish(t.Last)
		}
	}
}

// Close ends all iterations with ErrClosed. A second call does nothing.
func (h *Hub) Close() {
	h.mu.Lock()
	feeds := h.feeds
	h.feeds = nil
	h.mu.Unlock()
	for _, f := range feeds {
		f.fail(ErrClosed)
	}
	h.stop()
	h.running.Wait()
}

// Stats describes what a Hub does at a moment.
type Stats struct {
	// Threads and Readers count the threads with readers, and the readers.
	Threads, Readers int
	// Bytes is the memory that Settings.MemoryBytes limits.
	Bytes int64
}

// Stats returns what h does.
func (h *Hub) Stats() Stats {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := Stats{Threads: len(h.feeds), Bytes: h.memory.used.Load()}
	for _, f := range h.feeds {
		s.Readers += f.readers
	}
	return s
}

// View is a form of the events of a thread.
type View string

const (
	// Raw has every event exactly as it was sent.
	Raw View = "raw"
	// Compact has runs that have ended in their compacted form.
	Compact View = "compact"
)

// EventOptions select events of a thread.
type EventOptions struct {
	// After is the last event that the reader has. The zero Cursor is before the first.
	After Cursor
	// View is the form of the events. Empty means Raw.
	View View
	// Follow waits for further events. Without it, the iteration ends with the last event
	// that the thread had when the iteration began.
	Follow bool
}

// Events returns the events of a thread, also those that the program itself added
// (store.Closing), in order. The thread need not exist yet.
func (h *Hub) Events(ctx context.Context, key store.Key, o EventOptions) iter.Seq2[[]byte, error] {
	return h.iterate(ctx, key, func(r *reader) error {
		if o.After.Compacted > 0 && o.View != Compact {
			return ErrCursor
		}
		if err := r.begin(o.After); err != nil {
			return err
		}
		if !o.Follow {
			t, err := h.log.Thread(ctx, key)
			switch {
			case err != nil:
				return ignoreNoThread(err)
			case !t.DeletedAt.IsZero():
				return store.ErrDeleted
			}
			r.until = t.Last
		}
		if o.View == Compact {
			return r.compact(o.After)
		}
		for {
			p, err := r.next()
			if err != nil {
				return err
			}
			if err := r.send(p, everything); err != nil {
				return err
			}
		}
	})
}

// Verify returns store.ErrRewound if the log no longer has what a client got at a place. Events
// does that, too.
func (h *Hub) Verify(ctx context.Context, key store.Key, after Cursor) (err error) {
	for _, err = range h.iterate(ctx, key, func(r *reader) error { return r.begin(after) }) {
	}
	return err
}

// Stream returns the events of one stream after a position, until the stream ends. The
// stream need not exist yet.
func (h *Hub) Stream(ctx context.Context, key store.Key, id string, after int64) iter.Seq2[[]byte, error] {
	return h.iterate(ctx, key, func(r *reader) error {
		s, err := h.log.Stream(ctx, key, id)
		if err != nil {
			return err
		}
		if r.position = max(after, s.First-1); s.Ended {
			r.until = s.Last
		}
		for {
			p, err := r.next()
			if err != nil {
				return err
			}
			end := false
			for i := range p.entries {
				if e := &p.entries[i]; e.kind == kindEnd && e.stream == id {
					p.entries, end = p.entries[:i+1], true
					break
				}
			}
			if err := r.send(p, func(e *entry) bool { return e.stream == id }); err != nil || end {
				return err
			}
		}
	})
}

// iterate returns an iterator over what read sends. The error io.EOF ends it.
func (h *Hub) iterate(ctx context.Context, key store.Key, read func(*reader) error) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		r := &reader{ctx: ctx, hub: h, key: key, until: math.MaxInt64, yield: yield}
		defer r.close()
		switch err := read(r); err {
		case nil, io.EOF, errStopped:
		default:
			yield(nil, err)
		}
	}
}

// ignoreNoThread returns nil for store.ErrNoThread, and any other error as it is.
func ignoreNoThread(err error) error {
	if errors.Is(err, store.ErrNoThread) {
		return nil
	}
	return err
}
