// Package humanize spells numbers for people.
package humanize

import "strconv"

// Bytes spells a byte count with thousands apart.
func Bytes(n int64) string {
	if n == 1 {
		return "1 byte"
	}
	return Grouped(n) + " bytes"
}

// Grouped spells a number that is not negative with thousands apart.
func Grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
