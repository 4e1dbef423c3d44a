package freeze

import "sync"

// The limit of the memory for results that are not returned yet.
const (
	maxBacklog = 6 << 20
	rowBytes   = 8 << 10 // about the memory of a row with its findings
)

// backlog bounds the memory of the results of a batch. Captures are frozen while earlier
// ones are not returned, and one capture can have many runs. If the results need too much
// memory, only the first capture that is not returned goes on.
type backlog struct {
	mu      sync.Mutex
	changed sync.Cond
	limit   int // bytes
	bytes   int // of all results
	first   int // the number of the first capture that is not returned
	stopped bool
}

func newBacklog(limit int) *backlog {
	b := &backlog{limit: limit}
	b.changed.L = &b.mu
	return b
}

// add adds the memory of a row and its files to the results, when there is room for them
// or the capture with the given number is the first one.
func (b *backlog) add(number, bytes int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.bytes >= b.limit && number != b.first && !b.stopped {
		b.changed.Wait()
	}
	b.bytes += bytes
}

// remove subtracts the memory of the first capture, which was returned.
func (b *backlog) remove(bytes int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.bytes -= bytes
	b.first++
	b.changed.Broadcast()
}

// stop lets all captures go on, because no more results are returned.
func (b *backlog) stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stopped = true
	b.changed.Broadcast()
}
