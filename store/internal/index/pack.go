package index

import "github.com/p20export/p20export/store"

// WorthPacking reports whether a log packs successive entries of a size, in a thread of which it
// has packed entries of another size. Both sizes are the bytes of the data and one more for each
// entry, so that entries without data count too.
func WorthPacking(size, packed int64) bool {
	return size >= store.MinPackBytes || size >= packed
}
