package proxy

import (
	"sync"
	"time"

	"github.com/p20export/p20export/capture"
)

// block is a part of what waits to be written. It has the bytes of whole reads.
type block struct {
	bytes    []byte
	arrivals []capture.Arrival
}

// Blocks have two sizes, so that many slow streams need little memory and fast ones few
// writes. A queue whose first read has largeRead bytes begins with a large one.
const (
	smallBytes = 8 << 10
	largeBytes = 256 << 10
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
		pool, bytes, arrivals = &s.large, largeBytes, 4096
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
