package seal

import (
	"github.com/p20export/p20export/store"
)

// batchBytes is the size of leaves that are hashed at a time.
const batchBytes = 256 << 10

// hashing hashes entries while further ones are read.
type hashing struct {
	full  chan batch
	empty chan batch
	done  chan struct{}
	next  batch

	sizes []int64 // whose roots are wanted, sorted
	roots map[int64]Hash
	count int64
	err   error
}

// batch has leaves one after another, and where each ends.
type batch struct {
	data []byte
	ends []int
}

// startHashing begins to compute the roots of trees of the given sizes, which are sorted.
func startHashing(sizes []int64) *hashing {
	h := &hashing{full: make(chan batch), empty: make(chan batch, 2), done: make(chan struct{}), sizes: sizes, roots: make(map[int64]Hash)}
	h.empty <- batch{}
	go h.run()
	return h
}

// add adds the next entry, which may change afterwards.
func (h *hashing) add(e *store.Entry) {
	h.next.data = AppendLeaf(h.next.data, e)
	h.next.ends = append(h.next.ends, len(h.next.data))
	if len(h.next.data) >= batchBytes {
		h.full <- h.next
		h.next = <-h.empty
	}
}

// end returns the roots of the sizes that exist, and the number of entries.
func (h *hashing) end() (map[int64]Hash, int64, error) {
	h.full <- h.next
	h.stop()
	return h.roots, h.count, h.err
}

// stop ends the hashing. A second call does nothing.
func (h *hashing) stop() {
	if h.full != nil {
		close(h.full)
		h.full = nil
	}
	<-h.done
}

func (h *hashing) run() {
	defer close(h.done)
	all := factory().NewEmptyRange(0)
	for b := range h.full {
		start := 0
		for _, end := range b.ends {
			if h.err == nil {
				h.err = all.Append(hashLeaf(b.data[start:end]), nil)
			}
			start = end
			if h.count++; len(h.sizes) > 0 && h.sizes[0] == h.count && h.err == nil {
				h.roots[h.count], h.err = rootOf(all)
				h.sizes = h.sizes[1:]
			}
		}
		if cap(b.data) > 2*batchBytes {
			b.data = nil
		}
		h.empty <- batch{b.data[:0], b.ends[:0]}
	}
}
