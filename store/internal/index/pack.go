package index

import "github.com/p20export/p20export/store"

// WorthPacking reports whether a log packs successive entries whose data has a size in bytes, in a
// thread of which it has packed others already. Each entry counts one byte more, so that empty
// ones count too.
func WorthPacking(entries, bytes, packedEntries, packedBytes int64) bool {
	size := entries + bytes
	return size >= store.MinPackBytes || size >= packedEntries+packedBytes
}
