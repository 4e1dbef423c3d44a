package attach

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sort"
	"sync"
	"sync/atomic"
	"time"
)

// DefaultMemoryBytes is the limit of a Hub if Settings.MemoryBytes is 0. It is enough to read
// the largest events, and to join a run whose conversation has 40 MB.
const DefaultMemoryBytes = 256 << 20

// ErrMemory means that what a reader needs did not fit into Settings.MemoryBytes, because of
// what other readers use. The reader can try again later.
var ErrMemory = errors.New("too much memory is in use for readers")

// memoryWait is how long a reader waits for memory.
const memoryWait = 10 * time.Second

// budget counts the memory of a Hub. What can be made again is evicted when there is not
// enough. What readers are taking cannot be evicted: the others wait for it.
type budget struct {
	limit int64
	// evict drops things that no reader is taking until the memory fits, if it can. The
	// caller must not hold the mutex of a feed.
	evict func(fits func() bool)

	used  atomic.Int64
	clock atomic.Uint64 // orders the uses of what can be evicted

	mu    sync.Mutex
	freed chan struct{} // closed when used shrinks; nil if nobody waits
}

// A turn lets one reader at a time do something that takes memory, while others wait for what
// it does. If there is no memory for it, those who wait are refused with it: they would wait
// in vain one after the other.
type turn struct {
	busy    chan struct{}
	refused time.Time // when there was no memory; only for the reader whose turn it is
}

func newTurn() turn { return turn{busy: make(chan struct{}, 1)} }

// begin waits for the turn of a reader.
func (t *turn) begin(ctx context.Context) error {
	came := time.Now()
	if err := enter(ctx, t.busy); err != nil {
		return err
	}
	if t.refused.After(came) {
		leave(t.busy)
		return ErrMemory
	}
	return nil
}

// end ends the turn of a reader, which succeeded or had an error.
func (t *turn) end(err error) {
	if errors.Is(err, ErrMemory) {
		t.refused = time.Now()
	}
	leave(t.busy)
}

// A part is memory that is counted until its last holder drops it. A nil part counts nothing.
type part struct {
	memory  *budget
	size    int64
	holders atomic.Int32
}

// add counts n bytes even if they do not fit. The caller holds the part.
func (m *budget) add(n int) *part {
	p := &part{memory: m, size: int64(n)}
	p.holders.Store(1)
	m.used.Add(p.size)
	return p
}

// limitOf returns the limit for something of n bytes. Pages of the usual size may use all
// memory, and anything larger three quarters, so that large conversations do not stop small
// threads.
func (m *budget) limitOf(n int) int64 {
	if n > smallBytes {
		return m.limit - m.limit/4
	}
	return m.limit
}

// fits reports whether n more bytes fit.
func (m *budget) fits(n int) bool { return m.used.Load()+int64(n) <= m.limitOf(n) }

// over reports whether more than the limit is in use.
func (m *budget) over() bool { return m.used.Load() > m.limit }

// try counts n bytes if they fit, perhaps after an eviction.
func (m *budget) try(n int) (*part, bool) {
	if !m.fits(n) {
		m.evict(func() bool { return m.fits(n + int(m.limit/16)) })
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.fits(n) {
		return nil, false
	}
	return m.add(n), true
}

// take is like try, but waits for a while if others have the memory. The error is ErrMemory.
func (m *budget) take(ctx context.Context, n int) (*part, error) {
	if p, ok := m.try(n); ok {
		return p, nil
	}
	if int64(n) > m.limitOf(n) {
		return nil, ErrMemory
	}
	timeout := time.NewTimer(memoryWait)
	defer timeout.Stop()
	for {
		m.mu.Lock()
		if m.freed == nil {
			m.freed = make(chan struct{})
		}
		freed := m.freed
		m.mu.Unlock()
		if p, ok := m.try(n); ok {
			return p, nil
		}
		select {
		case <-freed:
		case <-timeout.C:
			return nil, ErrMemory
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// resize changes the size of a part that is not shared, or whose other holders do not change
// it.
func (p *part) resize(n int) {
	change := int64(n) - p.size
	p.size = int64(n)
	if p.memory.used.Add(change); change < 0 {
		p.memory.wake()
	}
}

// hold returns p with one more holder. There is another one already.
func (p *part) hold() *part {
	if p != nil {
		p.holders.Add(1)
	}
	return p
}

// shared reports whether p has several holders.
func (p *part) shared() bool { return p.holders.Load() > 1 }

// drop ends the hold of one holder.
func (p *part) drop() {
	if p != nil && p.holders.Add(-1) == 0 {
		p.memory.used.Add(-p.size)
		p.memory.wake()
	}
}

// wake wakes those who wait for memory.
func (m *budget) wake() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.freed != nil {
		close(m.freed)
		m.freed = nil
	}
}

// evict drops what no reader is taking until the memory fits, beginning with the threads
// that were not used for the longest time.
func (h *Hub) evict(fits func() bool) {
	type use struct {
		feed *feed
		at   uint64
	}
	h.mu.Lock()
	uses := make([]use, 0, len(h.feeds))
	for _, f := range h.feeds {
		f.mu.Lock()
		uses = append(uses, use{f, f.used})
		f.mu.Unlock()
	}
	h.mu.Unlock()
	sort.Slice(uses, func(i, j int) bool { return uses[i].at < uses[j].at })
	for _, u := range uses {
		if fits() {
			return
		}
		u.feed.evict(false)
	}
}

// evict drops what can be made again: all, or what no reader is taking.
func (f *feed) evict(all bool) {
	f.mu.Lock()
	f.pages = slices.DeleteFunc(f.pages, func(p *cached) bool {
		if !all && p.part.shared() {
			return false
		}
		f.bytes -= p.size()
		p.part.drop()
		return true
	})
	maps.DeleteFunc(f.runs, func(_ int64, c *compacted) bool {
		if !all && c.form.part.shared() {
			return false
		}
		f.runBytes -= c.size()
		c.form.part.drop()
		return true
	})
	f.mu.Unlock()
	select {
	case f.joiner.turn.busy <- struct{}{}:
		f.joiner.reset()
		leave(f.joiner.turn.busy)
	default: // a reader uses it
	}
}
