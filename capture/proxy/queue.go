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

// The blocks have two sizes, so that many slow streams need little memory and fast ones
// few writes. Blocks are used again by all recordings.
var (
	smallBlocks = newBlocks(smallBytes, 128)
	largeBlocks = newBlocks(largeBytes, 4096)
)

const (
	smallBytes = 8 << 10
	largeBytes = 256 << 10
)

// largeRead is the size from which the first read of a queue gets a large block.
const largeRead = smallBytes / 2

// arrivalBytes is the memory of a queued time of arrival.
const arrivalBytes = 32

// blocks is a pool of blocks of one size.
type blocks struct{ pool sync.Pool }

func newBlocks(bytes, arrivals int) *blocks {
	return &blocks{sync.Pool{New: func() any {
		return &block{make([]byte, 0, bytes), make([]capture.Arrival, 0, arrivals)}
	}}}
}

func (b *blocks) get() *block { return b.pool.Get().(*block) }

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

// free makes the block available to all recordings.
func (b *block) free() {
	pool := smallBlocks
	if cap(b.bytes) == largeBytes {
		pool = largeBlocks
	}
	b.bytes, b.arrivals = b.bytes[:0], b.arrivals[:0]
	pool.pool.Put(b)
}

// queue is a list of blocks.
type queue []*block

// add adds a read. It copies p.
func (q *queue) add(p []byte, at time.Time) {
	for len(p) > 0 {
		part := p[:min(len(p), largeBytes)] // the whole of a read of ReverseProxy
		if len(*q) == 0 || !(*q)[len(*q)-1].add(part, at) {
			next := largeBlocks
			if len(*q) == 0 && len(part) < largeRead {
				next = smallBlocks
			}
			b := next.get()
			b.add(part, at)
			*q = append(*q, b)
		}
		p = p[len(part):]
	}
}
