// Package diff finds where two files part.
package diff

import "bytes"

// FirstDifference returns the first byte at which a and b differ, or -1 when they are the
// same. Where one is the beginning of the other it is the length of the shorter.
func FirstDifference(a, b []byte) int {
	if bytes.Equal(a, b) {
		return -1
	}
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}
