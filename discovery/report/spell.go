package report

import (
	"fmt"
	"strconv"
)

// bytesCount spells a byte count with thousands apart.
func bytesCount(n int64) string {
	if n == 1 {
		return "1 byte"
	}
	return grouped(n) + " bytes"
}

// plural spells a number with its noun.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return grouped(int64(n)) + " " + many
}

func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// spelled is a time since the request was sent.
func spelled(micros int64) string {
	return fmt.Sprintf("+%s.%03d ms", grouped(micros/1000), micros%1000)
}
