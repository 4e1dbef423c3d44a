// Package humanize formats numbers for people.
package humanize

import "strconv"

// Bytes formats a number of bytes, with commas between groups of three digits.
func Bytes(n int64) string {
	if n == 1 {
		return "1 byte"
	}
	return Grouped(n) + " bytes"
}

// Grouped formats a number, which must not be negative, with commas between groups of
// three digits.
func Grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
