package proxy

import (
	"bytes"
	"sync"
)

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
