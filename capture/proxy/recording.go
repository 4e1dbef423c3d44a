package proxy

import (
	"bytes"
	"sync"
	"time"

	"github.com/p20export/p20export/capture"
)

// Recording records one exchange. Write and End never wait for the disk: a goroutine
// writes what is queued.
type Recording struct {
	recorder *Recorder
	settings capture.Settings
	request  *RequestBody
	failed   func(error)

	mu       sync.Mutex
	queue    queue
	accepted int64       // bytes that were ever queued
	end      capture.End // "" while the capture is open

	wake  chan struct{} // something is queued
	full  chan struct{} // a lot is queued
	ended chan struct{} // closed when end is set
	over  chan struct{} // closed when the exchange is over

	events    *counter // of the capture, once it was created
	abandoned error    // why nothing is stored, or nil
	exchange  Exchange // valid when over is closed
}

// Write queues p, which arrived at the given time. It returns ErrStorage if the capture
// ended because it could not be stored. Once Settings.MaxBytes is reached, Write discards p
// and returns nil.
func (g *Recording) Write(p []byte, at time.Time) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.end != "" {
		if g.end == capture.EndStorage {
			return ErrStorage
		}
		return nil
	}
	limited := false
	if limit := g.recorder.settings.MaxBytes; limit > 0 && g.accepted+int64(len(p)) > limit {
		p, limited = p[:limit-g.accepted], true
	}
	if len(p) > 0 {
		if !g.recorder.reserve(int64(len(p)) + arrivalBytes) {
			g.stopLocked(capture.EndStorage)
			g.recorder.closing.Go(func() { g.recorder.report(errQueueFull) }) // which may write to a log
			return ErrStorage
		}
		g.accepted += int64(len(p))
		g.queue.add(p, at, &g.recorder.spare)
		if len(g.queue) > 1 {
			signal(g.full)
		}
	}
	if limited {
		g.stopLocked(capture.EndLimit)
	}
	return nil
}

// Wake makes the recording write what is queued. A caller can pass the bytes on between
// Write and Wake.
func (g *Recording) Wake() { signal(g.wake) }

// stop ends the capture, unless it has ended.
func (g *Recording) stop(end capture.End) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stopLocked(end)
}

func (g *Recording) stopLocked(end capture.End) {
	if g.end == "" {
		g.end = end
		close(g.ended)
	}
}

// End ends the response. The recording closes its capture.
func (g *Recording) End(end capture.End) { g.stop(end) }

// Finish must be called once, after End, when the exchange is over. The observer receives
// x with what is known of the capture.
func (g *Recording) Finish(x Exchange) {
	g.exchange = x
	close(g.over)
}

// take returns what is queued. The recording uses the given list for what comes next.
func (g *Recording) take(empty queue) queue {
	g.mu.Lock()
	defer g.mu.Unlock()
	q := g.queue
	g.queue = empty[:0]
	return q
}

// signal sends to a channel with a buffer of one, unless it is full.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// block is a part of what waits to be written. It has the bytes of whole reads.
type block struct {
	bytes    []byte
	arrivals []capture.Arrival
}

// Blocks have two sizes, so that many slow streams need little memory and fast ones few
// writes. A queue whose first read has largeRead bytes begins with a large one.
const (
	smallBytes = 8 << 10
	largeBytes = 64 << 10
	largeRead  = smallBytes / 2
)

// arrivalBytes is the memory of a queued time of arrival.
const arrivalBytes = 32

// recordingBytes is about the memory of a recording beside its queue. It counts like what
// waits to be written, because recordings wait for their files too.
const recordingBytes = 4 << 10

// blocks has blocks that recordings can use again.
type blocks struct{ small, large sync.Pool }

func (s *blocks) get(large bool) *block {
	pool, bytes, arrivals := &s.small, smallBytes, 128
	if large {
		pool, bytes, arrivals = &s.large, largeBytes, 1024
	}
	if b, ok := pool.Get().(*block); ok {
		return b
	}
	return &block{make([]byte, 0, bytes), make([]capture.Arrival, 0, arrivals)}
}

func (s *blocks) put(b *block) {
	b.bytes, b.arrivals = b.bytes[:0], b.arrivals[:0]
	if cap(b.bytes) == smallBytes {
		s.small.Put(b)
	} else {
		s.large.Put(b)
	}
}

// add adds a read, unless the block has too little room.
func (b *block) add(p []byte, at time.Time) bool {
	if len(b.bytes)+len(p) > cap(b.bytes) || len(b.arrivals) == cap(b.arrivals) {
		return false
	}
	b.bytes = append(b.bytes, p...)
	b.arrivals = append(b.arrivals, capture.Arrival{Bytes: len(p), At: at})
	return true
}

// size returns the memory for which the block counts in the queue.
func (b *block) size() int64 { return int64(len(b.bytes)) + arrivalBytes*int64(len(b.arrivals)) }

// queue is a list of blocks.
type queue []*block

// add adds a copy of a read to the queue.
func (q *queue) add(p []byte, at time.Time, spare *blocks) {
	for len(p) > 0 {
		part := p[:min(len(p), largeBytes)] // reads of ReverseProxy are smaller
		if last := len(*q) - 1; last < 0 || !(*q)[last].add(part, at) {
			b := spare.get(last >= 0 || len(part) >= largeRead)
			b.add(part, at)
			*q = append(*q, b)
		}
		p = p[len(part):]
	}
}

// RequestBody keeps a request body in memory while it is passed on. A nil *RequestBody
// keeps nothing.
type RequestBody struct {
	recorder *Recorder

	mu       sync.Mutex
	kept     bytes.Buffer
	reserved int64
	complete bool
	full     bool // the body did not fit into the queue; nothing is kept
	released bool
}

// NewRequestBody returns an empty RequestBody.
func (r *Recorder) NewRequestBody() *RequestBody { return &RequestBody{recorder: r} }

// smallRequest is the size up to which a request may take the last room of the queue.
const smallRequest = 64 << 10

// fits reports whether a request of n bytes may wait in the queue. A client can keep its
// request open as long as it likes, so a large one must leave as much room as it takes.
func (r *Recorder) fits(n int64) bool {
	return n <= smallRequest || n <= r.settings.QueueBytes-r.queued.Load()
}

// Add adds the next bytes of the body. It returns ErrStorage if there is no room for the
// body.
func (b *RequestBody) Add(p []byte) error {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.released:
		return nil
	case b.full:
		return ErrStorage
	case len(p) == 0: // needs no room, even in a queue that is full
		return nil
	case !b.recorder.fits(b.reserved+int64(len(p))) || !b.recorder.reserve(int64(len(p))):
		b.full = true
		b.drop()
		return ErrStorage
	}
	b.reserved += int64(len(p))
	b.kept.Write(p)
	return nil
}

// Complete marks the end of the body.
func (b *RequestBody) Complete() {
	if b != nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.complete = true
	}
}

// known returns the body as far as it was read, or nil if it is empty, and whether this is
// all of it.
func (b *RequestBody) known() (body []byte, complete bool) {
	if b == nil {
		return nil, false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.kept.Len() == 0 {
		return nil, b.complete && !b.full
	}
	return b.kept.Bytes(), b.complete && !b.full
}

// dropped reports whether there was no room for the body.
func (b *RequestBody) dropped() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.full
}

// release frees the memory.
func (b *RequestBody) release() {
	if b != nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.released = true
		b.drop()
	}
}

func (b *RequestBody) drop() {
	b.recorder.release(b.reserved)
	b.reserved, b.kept = 0, bytes.Buffer{}
}
