// Package diff finds the first difference between two files.
package diff

import "bytes"

// FirstDifference returns the index of the first byte that differs between a and b, or
// -1 if they are equal. If one is a prefix of the other, FirstDifference returns the
// length of the shorter.
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
