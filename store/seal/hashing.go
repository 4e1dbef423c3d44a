package seal

import (
	"slices"

	"github.com/transparency-dev/merkle/compact"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/p20export/p20export/store"
)

// batchBytes is the size of leaves that are hashed at a time.
const batchBytes = 256 << 10

// hashing computes roots of the tree of a thread while its entries are read: one goroutine
// hashes leaves, and another hashes nodes.
type hashing struct {
	full    chan batch
	empty   chan batch
	leaves  chan []Hash
	done    chan struct{}
	stopped bool
	next    batch
	added   int64 // the number of entries that were added

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
	h := &hashing{
		full: make(chan batch), empty: make(chan batch, 3), leaves: make(chan []Hash, 1), done: make(chan struct{}),
		sizes: sizes, roots: make(map[int64]Hash),
	}
	h.empty <- batch{}
	h.empty <- batch{}
	go h.hashLeaves()
	go h.hashNodes()
	return h
}

// add adds the next entry, which may change afterwards.
func (h *hashing) add(e *store.Entry) {
	h.next.data = AppendLeaf(h.next.data, e)
	h.next.ends = append(h.next.ends, len(h.next.data))
	h.added++
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
	if !h.stopped {
		h.stopped = true
		close(h.full)
	}
	<-h.done
}

func (h *hashing) hashLeaves() {
	defer close(h.leaves)
	for b := range h.full {
		hashes, start := make([]Hash, len(b.ends)), 0
		for i, end := range b.ends {
			hashes[i] = tlog.RecordHash(b.data[start:end])
			start = end
		}
		h.leaves <- hashes
		if cap(b.data) > 2*batchBytes {
			b.data = nil
		}
		h.empty <- batch{b.data[:0], b.ends[:0]}
	}
}

func (h *hashing) hashNodes() {
	defer close(h.done)
	blocks := factory().NewEmptyRange(0) // whose leaves are blocks
	block := make([]Hash, 0, store.BlockEntries)
	for hashes := range h.leaves {
		for len(hashes) > 0 && h.err == nil {
			n := min(len(hashes), store.BlockEntries-len(block))
			block, hashes = append(block, hashes[:n]...), hashes[n:]
			h.count += int64(n)
			if len(block) < store.BlockEntries {
				break
			}
			if h.err = h.wanted(blocks, block); h.err == nil {
				root := rootOfBlock(block)
				h.err = blocks.Append(root[:], nil)
			}
			block = block[:0]
		}
	}
	if h.err == nil {
		h.err = h.wanted(blocks, block)
	}
}

// wanted computes the roots that are wanted of the sizes that end in a block, or in the part
// of one that exists.
func (h *hashing) wanted(blocks *compact.Range, block []Hash) error {
	before := int64(blocks.End()) * store.BlockEntries
	if len(h.sizes) == 0 || h.sizes[0] > before+int64(len(block)) {
		return nil
	}
	r, err := factory().NewRange(0, uint64(before), slices.Clone(blocks.Hashes()))
	for i := 0; i < len(block) && err == nil && len(h.sizes) > 0; i++ {
		if err = r.Append(block[i][:], nil); err == nil && int64(r.End()) == h.sizes[0] {
			h.roots[h.sizes[0]], err = rootOf(r)
			h.sizes = h.sizes[1:]
		}
	}
	return err
}

// rootOfBlock returns the hash of a whole block, and destroys the hashes of its leaves.
func rootOfBlock(block []Hash) Hash {
	for n := len(block); n > 1; n /= 2 {
		for i := range n / 2 {
			block[i] = tlog.NodeHash(block[2*i], block[2*i+1])
		}
	}
	return block[0]
}
